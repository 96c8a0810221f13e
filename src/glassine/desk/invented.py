"""Invented records of a domain, in a worker: what a private model makes of them shows what its noise costs."""

from __future__ import annotations

import csv
import sys
from typing import Any

import numpy as np

from glassine.desk.simulation import COLUMNS, DOMAIN, FOLLOWED, RECORDS, TESTED
from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.errors import InvalidDomainError
from glassine.records.arrays import Array


def main() -> None:
    """Write the records of each rule, and their domain with the column to predict.

    Arguments: a domain, the column to predict, how many records a model is trained on, and the classes, none where the
    domain declares them. No file of records is read.
    """
    place, target, n_records, *classes = sys.argv[1:]
    domain = with_target(Domain.read(place), target, classes)
    domain.to_json(DOMAIN)
    for number, name in enumerate(RECORDS):
        columns = invent(domain, target, int(n_records), number)
        with open(name, "x", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))


def with_target(domain: Domain, target: str, classes: list[str]) -> Domain:
    """Return the columns of a domain, with the one to predict as a category.

    Raises
    ------
    InvalidDomainError
        If its classes are stated nowhere, or there is no other column.
    """
    columns = {name: domain[name] for name in domain if name != target}
    stated = domain[target] if target in domain and not classes else None
    if classes:
        stated = Category(tuple(classes))
    if not columns or not isinstance(stated, Category | Binary):
        raise InvalidDomainError(
            "records are invented of a domain with other columns than the one to predict, whose classes are public.",
            remedy="Write its classes, or choose a domain that declares them.",
        )
    return Domain({**columns, target: stated})


def invent(domain: Domain, target: str, n_records: int, number: int) -> dict[str, list[Any]]:
    """Return columns that are uniform and independent within their public bounds, and classes that follow a rule.

    The rule adds up a few columns, and cuts the sum into classes of equal numbers of records. It is drawn from its
    number, and so are the records: nothing else than the arguments has an effect.
    """
    random = np.random.default_rng(number)
    n = n_records + TESTED
    columns: dict[str, list[Any]] = {}
    positions: list[Array] = []
    for name in domain:
        if name != target:
            columns[name], position = _column(domain[name], n, random)
            positions.append(position)
    used = random.permutation(len(positions))[:COLUMNS]
    score = sum((positions[at] * random.choice((-1.0, 1.0)) for at in used), np.zeros(n))
    stated = domain[target]
    classes = list(stated.values) if isinstance(stated, Category) else [0, 1]
    # Ties are broken by chance, so that classes are of equal numbers where the sum has few values.
    ranks = np.argsort(np.lexsort((random.random(n), score)))
    follow = random.random(n) < FOLLOWED
    labels = np.where(follow, ranks * len(classes) // n, random.integers(len(classes), size=n))
    columns[target] = [classes[label] for label in labels]
    return columns


def _column(
    attribute: Integer | Real | Category | Binary, n: int, random: np.random.Generator
) -> tuple[list[Any], Array]:
    """Return values of a column, and where each lies between 0 and 1 for a rule."""
    if isinstance(attribute, Category | Binary):
        values = list(attribute.values) if isinstance(attribute, Category) else [0, 1]
        drawn = random.integers(len(values), size=n)
        return [values[at] for at in drawn], random.permutation(np.linspace(0.0, 1.0, len(values)))[drawn]
    if isinstance(attribute, Integer):
        whole = random.integers(attribute.lo, attribute.hi, size=n, endpoint=True)
        return whole.tolist(), (whole - attribute.lo) / max(attribute.hi - attribute.lo, 1)
    share: Array = random.random(n)
    if attribute.resolution:
        steps = int((attribute.hi - attribute.lo) / attribute.resolution)
        whole = random.integers(steps, size=n, endpoint=True)
        share = np.asarray(whole * attribute.resolution / (attribute.hi - attribute.lo), dtype=float)
    return (attribute.lo + share * (attribute.hi - attribute.lo)).tolist(), share


if __name__ == "__main__":
    main()
