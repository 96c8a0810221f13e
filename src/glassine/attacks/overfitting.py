"""Distributional overfitting and vulnerability: how far the leaves, rules or answers of members differ from others'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from glassine.attacks.membership.confidence_intervals import Estimate, check_confidence
from glassine.attacks.membership.gap import known_sides, read_sides
from glassine.attacks.membership.outputs import (
    LabelledRecords,
    answers,
    as_fitted,
    asking,
    attempt,
    generator,
    published,
)
from glassine.attacks.membership.result import chance
from glassine.attacks.outcome import Outcome
from glassine.attacks.variation import Counted, LabelOverfitting
from glassine.data.labels import Sample
from glassine.data.labels import subgroups as split_by_value
from glassine.errors import InvalidDataError, InvalidParameterError, UnsupportedModelError, check_whole, parameter
from glassine.exports import DisplayedToCheckers
from glassine.models import DecisionTree, RuleList
from glassine.records.arrays import AnyArray, Indices

Over = Literal["auto", "parts", "predictions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupVulnerability:
    """Vulnerability of a subgroup.

    Attributes
    ----------
    attribute, value : str
        What defines the subgroup.
    n_members, n_nonmembers : int
        Numbers of records.
    vulnerability : Estimate
        V of the subgroup.
    control : float
        Mean V of permuted membership; large in a small subgroup.
    p_value : float
        Chance of such a V where membership makes no difference.
    """

    attribute: str
    value: str
    n_members: int
    n_nonmembers: int
    vulnerability: Estimate
    control: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Vulnerability(DisplayedToCheckers):
    """Vulnerability of a model to membership inference.

    Attributes
    ----------
    vulnerability : Estimate
        V = 1/2 + 1/2 sum over y of P[y] tau(y), as published. It is what guesses of membership from the part of the
        model, knowing the class, could reach on these very records, so that even a model that has nothing to do with
        the data exceeds 1/2. The interval is that of V of the population.
    control : float
        Mean V of permuted membership: what V is where there is nothing to find.
    p_value : float
        Chance of such a V where membership makes no difference.
    n_permutations : int
        Number of permutations.
    labels : tuple of LabelOverfitting
        tau(y) of each class that members and non-members have.
    over : str
        What distinguishes the records: "leaves", "rules" or "predictions".
    n_parts : int
        Number of different leaves, rules or predictions among the records.
    subgroups : tuple of SubgroupVulnerability
        V of subgroups, if asked for.
    """

    vulnerability: Estimate
    control: float
    p_value: float
    n_permutations: int
    labels: tuple[LabelOverfitting, ...]
    over: str
    n_parts: int
    subgroups: tuple[SubgroupVulnerability, ...]

    @property
    def excess(self) -> float:
        """V less its control."""
        return self.vulnerability.value - self.control

    @property
    def verdict(self) -> str:
        """What the figures say, in sentences."""
        level = 1 - self.vulnerability.confidence
        words = "more than" if self.p_value <= level else "no more than"
        return (
            f"Vulnerability over {self.n_parts} {self.over}: {self.vulnerability}. Where there is nothing to find, it "
            f"would be {self.control:.3f} on so many records; it is {words} chance explains ({chance(self.p_value)})."
        )

    def __repr__(self) -> str:
        return f"<Vulnerability {self.vulnerability.value:.3f}, control {self.control:.3f}>"


def vulnerability(
    model: object,
    members: Sample | LabelledRecords,
    nonmembers: Sample | LabelledRecords,
    *,
    over: Over = "auto",
    by: object = (),
    n_permutations: int = 999,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> Outcome[Vulnerability]:
    r"""Return the vulnerability of a model: how far members and non-members of a class fall into different parts of it.

    tau(y) is half the sum over the parts r of ``|P[r | y, member] - P[r | y, non-member]|``. For a published model, or
    a scikit-learn tree, the parts are its rules or leaves; of a black box they are its predictions.

    Parameters
    ----------
    model : fitted classifier, DecisionTree or RuleList
        The model under attack.
    members, nonmembers : Sample
        Training records, and records that were not used for training, with their classes.
    over : {"auto", "parts", "predictions"}, default="auto"
        Whether to distinguish records by leaf or rule, or by the predicted class; auto takes leaves or rules where the
        model shows them.
    by : str or sequence of str, or mapping of str to pair of arrays, default=()
        Columns that define subgroups, or for each name the values of the members and of the non-members. Numbers with
        more than ten values are cut at their quartiles.
    n_permutations : int, default=999
        Number of permutations of membership within each class.
    confidence : float, default=0.95
        Confidence of the intervals, in (0, 1).
    random_state : int, numpy.random.Generator or None, default=None
        Makes permutations repeatable.

    Returns
    -------
    Measured of Vulnerability, NotApplicable or Failed
        Not applicable to a regression, and where no class has both members and non-members.

    Raises
    ------
    InvalidDataError
        If the data cannot be read, or a subgroup's column is missing.
    InvalidParameterError
        If a parameter lies outside its range.

    Notes
    -----
    The measured V exceeds that of the population on average, as the sum of absolute values of noisy figures does; the
    control shows by how much where there is nothing to find. The interval reaches from V less the mean absolute noise,
    as the bootstrap gives it, and less its own sampling error, to V plus its sampling error. It is conservative.

    References
    ----------
    Ly et al.: Smooth sensitivity for learning differentially-private yet accurate rule lists, 2024, section V-E;
    Yaghini, Kulynych, Troncoso: Disparate vulnerability, 2019.

    Examples
    --------
    >>> from glassine import parse_rules
    >>> rules = parse_rules("if [a] then [true] ([0 ; 2] examples)\nelse [false] ([2 ; 0] examples)")
    >>> members, others = Sample([[1], [1], [0], [0]], [1, 1, 0, 0]), Sample([[1], [0], [0], [0]], [1, 1, 0, 0])
    >>> found = vulnerability(rules, members, others)
    >>> [label.tau for label in found.value.labels], found.value.vulnerability.value
    ([0.0, 0.5], 0.625)
    """
    confidence, rng = check_confidence(confidence), generator(random_state)
    check_whole(n_permutations, "n_permutations", 1)
    if over not in ("auto", "parts", "predictions"):
        raise InvalidParameterError(f"{parameter('over')} must be auto, parts or predictions, got {over!r}.")
    inside, outside = read_sides(members, nonmembers)
    groups = _groups(by, inside, outside)

    def work() -> Vulnerability:
        sides = known_sides(model, inside, outside)
        parts, kind = _parts(model, *sides, over)
        target = np.concatenate([side.target for side in sides])
        names, labels = _codes(target)
        member = np.arange(len(target)) < len(inside.target)
        by_person = inside.persons is not None and outside.persons is not None
        whose = inside.join(outside).whose if by_person else None
        records = Counted(labels, parts, member, whose)
        table = records.table
        if not table.weights.any():
            raise UnsupportedModelError(
                "no class has both members and non-members.", remedy="Give holdout records of each class."
            )
        result = table.estimate(confidence, n_permutations, rng)
        subgroups = tuple(
            _subgroup(name, value, records.take(rows), confidence, n_permutations, rng)
            for name, value, rows in groups
            if records.take(rows).table.weights.any()
        )
        return Vulnerability(
            vulnerability=result[0],
            control=result[1],
            p_value=result[2],
            n_permutations=n_permutations,
            labels=table.described(names),
            over=kind,
            n_parts=len(np.unique(parts)),
            subgroups=subgroups,
        )

    return attempt(work)


def _subgroup(
    name: str, value: str, records: Counted, confidence: float, n_permutations: int, rng: np.random.Generator
) -> SubgroupVulnerability:
    estimate, control, p_value = records.table.estimate(confidence, n_permutations, rng)
    return SubgroupVulnerability(
        attribute=name,
        value=value,
        n_members=records.number(records.member),
        n_nonmembers=records.number(~records.member),
        vulnerability=estimate,
        control=control,
        p_value=p_value,
    )


def _parts(model: object, inside: LabelledRecords, outside: LabelledRecords, over: Over) -> tuple[Indices, str]:
    """Return the part of the model, or the prediction, of each record, members first."""
    if over != "predictions":
        cells = [_cells(model, side) for side in (inside, outside)]
        if cells[0] is not None and cells[1] is not None:
            return np.concatenate([cells[0][0], cells[1][0]]), cells[0][1]
        if over == "parts":
            raise UnsupportedModelError(
                f"{type(model).__name__} does not show its leaves or rules.",
                remedy=f"Use {parameter('over', 'predictions')}.",
            )
    predictions = [answers(model, side).predicted for side in (inside, outside)]
    return np.concatenate(predictions), "predictions"


def _cells(model: Any, records: LabelledRecords) -> tuple[Indices, str] | None:
    """Return the leaf or rule of each record, and what it is; None for a black box."""
    own = getattr(model, "model_", None)
    if isinstance(own, DecisionTree | RuleList) and callable(getattr(model, "apply", None)):
        _require_classes(own)
        with asking(type(model).__name__):
            return np.asarray(model.apply(as_fitted(model, records.native))), "rules" if isinstance(
                own, RuleList
            ) else "leaves"
    fitted = getattr(model, "best_estimator_", model)
    last = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted
    if hasattr(last, "tree_") and hasattr(last, "classes_"):
        native = as_fitted(fitted, records.native)
        with asking(type(fitted).__name__):
            if last is not fitted and len(fitted.steps) > 1:
                native = fitted[:-1].transform(native)
            return np.asarray(last.apply(native)), "leaves"
    plain = published(model)
    if plain is None:
        return None
    _require_classes(plain)
    return records.leaves(plain), "rules" if isinstance(plain, RuleList) else "leaves"


def _require_classes(model: DecisionTree | RuleList) -> None:
    if model.classes is None:
        raise UnsupportedModelError(
            "the model predicts a number; vulnerability is defined for classes.", remedy="Pass a classifier."
        )


def _codes(target: AnyArray) -> tuple[list[str], Indices]:
    if target.dtype.kind in "biuf":
        own, codes = np.unique(target, return_inverse=True)
        return [str(value) for value in own.tolist()], codes
    values = target.tolist()
    try:
        values_in_order = sorted(set(values))
    except TypeError:
        values_in_order = sorted(set(values), key=str)
    where = {value: i for i, value in enumerate(values_in_order)}
    return [str(value) for value in values_in_order], np.array([where[value] for value in values], dtype=np.intp)


def _groups(by: Any, inside: LabelledRecords, outside: LabelledRecords) -> list[tuple[str, str, Indices]]:
    """Return attribute, value and rows of each subgroup, members' rows first."""
    columns: dict[str, AnyArray] = {}
    if isinstance(by, Mapping):
        for name, pair in by.items():
            sides = [np.asarray(side) for side in pair]
            if [len(side) for side in sides] != [len(inside.target), len(outside.target)]:
                raise InvalidDataError(
                    f"subgroups by {name!r} need one value for each member and each non-member.",
                    remedy="Pass as many as there are records on each side.",
                )
            columns[str(name)] = np.concatenate(sides)
    else:
        asked = (by,) if isinstance(by, str) else tuple(by)
        if asked:
            joined = inside.join(outside)
            inputs = joined.columns(joined.names or tuple(f"x{i}" for i in range(joined.width)))
            for name in asked:
                if name not in inputs:
                    raise InvalidDataError(
                        f"the records lack the column {name!r} of the subgroups.", remedy="Add or rename it."
                    )
                columns[name] = inputs[name]
    return [(name, value, rows) for name, column in columns.items() for value, rows in split_by_value(column).items()]
