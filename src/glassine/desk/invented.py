"""Private models of invented records, in a worker: what they make of them shows what their noise costs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassine.comparison import CANDIDATES, Shape
from glassine.comparison.comparison_results import Measure
from glassine.comparison.seeded_splits import ClassTarget, NumberTarget, Target
from glassine.desk.simulation import COLUMNS, DIAL, FOLLOWED, LONGEST, TESTED
from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.errors import PLAIN, GlassineError, InvalidDomainError, InvalidParameterError
from glassine.records.arrays import AnyArray, Array


def main() -> None:
    """Print the figures of models at each epsilon of the dial, as JSON.

    Arguments: a domain, the kind of the model, the column to predict, how many records a model is trained on, and what
    is stated of the column. No file of records is read or written.
    """
    place, kind, target, n_records, said = sys.argv[1:]
    stated = json.loads(said)
    public = Domain.read(place)
    columns = usable_domain(public, target)
    predicted = target_of(public, target, stated["classes"], stated["target_range"])
    sys.stdout.write(json.dumps(simulated(columns, predicted, kind, int(n_records), stated["n_rules"])))


def usable_domain(domain: Domain, target: str) -> Domain:
    """Return the columns of a domain that a model can use.

    Raises
    ------
    InvalidDomainError
        If there is none.
    """
    names = [name for name in domain if name != target]
    if not names:
        raise InvalidDomainError(
            "records are invented of a domain with other columns than the one to predict.",
            remedy="Choose a domain that describes them.",
        )
    return domain.restrict(names)


def target_of(domain: Domain, target: str, classes: Sequence[str], target_range: Sequence[float] | None) -> Target:
    """Return what is predicted: by what is stated, else as the domain declares it.

    Raises
    ------
    InvalidDomainError
        If neither says so.
    """
    declared = domain[target] if target in domain else None  # noqa: SIM401 - a domain is no mapping
    if classes:
        return ClassTarget(tuple(classes))
    if target_range is not None:
        return NumberTarget(*target_range)
    if isinstance(declared, Category | Binary):
        return ClassTarget(declared.values if isinstance(declared, Category) else (0, 1))
    if isinstance(declared, Integer | Real):
        return NumberTarget(float(declared.lo), float(declared.hi))
    raise InvalidDomainError(
        "it is not public what the column to predict can be.",
        remedy="Write its classes or its range, or choose a domain that declares them.",
    )


def simulated(domain: Domain, target: Target, kind: str, n_records: int, n_rules: int) -> dict[str, Any]:
    """Return the lowest and the highest figure of the rules at each epsilon, and what the rules and a guess reach.

    Raises
    ------
    InvalidParameterError
        If models of the kind do not predict such a target.
    """
    candidate = CANDIDATES[kind]
    if target.kind not in candidate.predicts:
        raise InvalidParameterError(
            f"a {candidate.title} predicts classes, and the column is a number.", remedy="Choose another kind."
        )
    shape = Shape(domain=domain, target=target, time_limit=LONGEST)
    measure: Measure = "accuracy" if isinstance(target, ClassTarget) else "mae"
    rows: list[dict[str, Any]] = [{"epsilon": epsilon, "values": [], "refusal": ""} for epsilon in DIAL]
    bests, guesses = [], []
    for number in range(n_rules):
        columns, truth, rule = invent(domain, target, n_records, number)
        members = {name: values[:n_records] for name, values in columns.items()}
        others = {name: values[n_records:] for name, values in columns.items()}
        best, guess = _ends(target, truth[n_records:], rule[n_records:])
        bests.append(best)
        guesses.append(guess)
        for row in rows:
            if row["refusal"]:
                continue
            try:
                model = candidate.make(shape, row["epsilon"], number).fit(members, truth[:n_records])
                row["values"].append(target.scores(model, others, truth[n_records:])[measure])
            except GlassineError as error:
                row["refusal"] = PLAIN.spelled(error.text)
    return {
        "measure": measure,
        "rules": n_rules,
        "best": float(np.mean(bests)),
        "guess": float(np.mean(guesses)),
        "rows": [
            {"epsilon": row["epsilon"], "refusal": row["refusal"]}
            | ({} if row["refusal"] else {"low": min(row["values"]), "high": max(row["values"])})
            for row in rows
        ],
    }


def _ends(target: Target, truth: AnyArray, rule: AnyArray) -> tuple[float, float]:
    """Return the figure of a model that knows the rule, and of one that knows nothing."""
    if isinstance(target, ClassTarget):
        n_classes = len(target.names)
        return FOLLOWED + (1 - FOLLOWED) / n_classes, 1 / n_classes
    return float(np.mean(np.abs(truth - rule))), float(np.mean(np.abs(truth - truth.mean())))


def invent(domain: Domain, target: Target, n_records: int, number: int) -> tuple[dict[str, Any], AnyArray, AnyArray]:
    """Return columns that are uniform and independent within their public bounds, targets, and what the rule says.

    The rule adds up a few columns, and spreads the ranks of the sums over the classes, in equal numbers, or over the
    range. It is drawn from its number, and so are the records: nothing else than the arguments has an effect. Targets
    are the places of classes, or numbers; each array has ``n_records + TESTED`` entries.
    """
    random = np.random.default_rng(number)
    n = n_records + TESTED
    columns: dict[str, Any] = {}
    positions: list[Array] = []
    for name in domain:
        columns[name], position = _column(domain[name], n, random)
        positions.append(position)
    used = random.permutation(len(positions))[:COLUMNS]
    score = sum((positions[at] * random.choice((-1.0, 1.0)) for at in used), np.zeros(n))
    # Ties are broken by chance, so that classes are of equal numbers where the sum has few values.
    ranks = np.argsort(np.lexsort((random.random(n), score)))
    follow = random.random(n) < FOLLOWED
    if isinstance(target, ClassTarget):
        rule: AnyArray = ranks * len(target.names) // n
        return columns, np.where(follow, rule, random.integers(len(target.names), size=n)), rule
    rule = target.low + (target.high - target.low) * (ranks + 0.5) / n
    return columns, np.where(follow, rule, random.uniform(target.low, target.high, n)), rule


def _column(attribute: Integer | Real | Category | Binary, n: int, random: np.random.Generator) -> tuple[Any, Array]:
    """Return values of a column, and where each lies between 0 and 1 for a rule."""
    if isinstance(attribute, Category | Binary):
        values = np.array(attribute.values if isinstance(attribute, Category) else [0, 1])
        drawn = random.integers(len(values), size=n)
        return values[drawn], random.permutation(np.linspace(0.0, 1.0, len(values)))[drawn]
    if isinstance(attribute, Integer):
        whole = random.integers(attribute.lo, attribute.hi, size=n, endpoint=True)
        return whole, (whole - attribute.lo) / max(attribute.hi - attribute.lo, 1)
    share: Array = random.random(n)
    if attribute.resolution:
        steps = int((attribute.hi - attribute.lo) / attribute.resolution)
        whole = random.integers(steps, size=n, endpoint=True)
        share = np.asarray(whole * attribute.resolution / (attribute.hi - attribute.lo), dtype=float)
    return attribute.lo + share * (attribute.hi - attribute.lo), share


if __name__ == "__main__":
    main()
