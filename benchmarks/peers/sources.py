"""The datasets of ratios.py as arrays that every environment can read, with what is publicly known of them.

``standin=True`` gives records of the same shape, drawn from the domain alone, whose accuracies mean nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import additive_data, public_data
from glassine import Binary, Category, Domain, Integer, Real
from glassine.counting.logic import LiteralLogic
from glassine.domain import ExactlyOne
from glassine.domain.grid import public_grid
from glassine.learners.antecedents import declared
from glassine.records.undeclared import read_checked

CALIFORNIA_SIZE, ADULT_SIZE, COMPAS_SIZE = 20_640, 32_561, 7_214
MATRICES = {"COMPAS": (COMPAS_SIZE, 27), "Adult, dummies": (48_842, 24), "Adult, 76 literals": (ADULT_SIZE, 76)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Arrays of a dataset, settings that every work on it needs, and its public domain where one is used."""

    arrays: dict[str, Any]
    settings: dict[str, Any]
    domain: Domain | None = None


def drawn(domain: Domain, n: int) -> dict[str, Any]:
    """Return independent records of a domain, column by column."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {}
    for name in domain:
        attribute = domain[name]
        if isinstance(attribute, Category):
            columns[name] = np.array(list(map(str, attribute.values)))[rng.integers(len(attribute.values), size=n)]
        elif isinstance(attribute, Binary):
            columns[name] = rng.integers(2, size=n)
        else:
            columns[name] = np.floor(rng.uniform(attribute.lo, attribute.hi, n))
    return columns


def texts(values: Any) -> Any:
    """Return an array that can be stored without Python objects; a missing category becomes "?"."""
    array = np.asarray(values)
    return np.array(["?" if value is None else str(value) for value in array]) if array.dtype == object else array


ADDITIVE = {
    "Adult": (ADULT_SIZE, additive_data.ADULT),
    "Telco": (7_043, additive_data.TELCO),
    "COMPAS": (COMPAS_SIZE, additive_data.COMPAS),
    "California": (CALIFORNIA_SIZE, additive_data.CALIFORNIA),
}
"""Records and public attributes of the datasets that are given with all of their attributes."""


def additive(name: str, *, standin: bool) -> Source:
    """Return a dataset with all of its attributes: two classes, or California's numbers."""
    rng = np.random.default_rng(1)
    if standin:
        n, attributes = ADDITIVE[name]
        domain = Domain(attributes)
        columns = drawn(domain, n)
        first = next(iter(columns[column] for column in domain if not isinstance(domain[column], Category)))
        steep = first + rng.normal(0, first.std(), len(first))
        target = np.where(steep > np.median(steep), ">50K", "<=50K")
        known: dict[str, Any] = {"classes": ["<=50K", ">50K"]}
        if name == "California":
            target = np.clip(200_000 + 40_000 * (steep - steep.mean()), 14_999, 500_001)
            known = {"target_range": [14_999.0, 500_001.0]}
    else:
        data = additive_data.LOADERS[name.lower()]()
        domain, target = data.domain, data.target
        columns = {column: texts(data.frame[column].to_numpy()) for column in data.frame.columns}
        known = (
            {"target_range": list(data.target_range)} if data.target_range is not None else {"classes": data.classes}
        )
    kinds = {i: domain[i] for i in domain}
    bounds = {i: (float(one.lo), float(one.hi)) for i, one in kinds.items() if isinstance(one, Integer | Real)}
    bounds |= {i: (0.0, 1.0) for i in domain if isinstance(domain[i], Binary)}
    for name, (low, _) in bounds.items():
        # What a new customer of Telco was charged so far is empty in the file.
        columns[name] = np.nan_to_num(np.asarray(columns[name], dtype=np.float64), nan=low)
    cuts = {i: [*public_grid(domain[i])] or [0.5] for i in bounds}
    if "target_range" in known:
        cuts[""] = [*public_grid(Real(*known["target_range"]))]
    categories = {i: [*map(str, one.values)] for i, one in kinds.items() if isinstance(one, Category)}
    return Source(
        arrays={f"column {column}": values for column, values in columns.items()} | {"y": texts(target)},
        settings={"names": list(domain), "bounds": bounds, "cuts": cuts, "categories": categories, **known},
        domain=domain,
    )


def adult_domain() -> Domain:
    """Return the public domain of eight attributes of Adult, with 76 literals."""
    categories = {name: Category(tuple(values)) for name, values in public_data.ADULT_CATEGORIES.items()}
    return Domain({**public_data.ADULT_NUMBERS, **categories})


def adult_columns(*, standin: bool) -> tuple[dict[str, Any], Any]:
    """Return eight attributes of Adult and its classes, coded 0 and 1."""
    if standin:
        columns = drawn(adult_domain(), ADULT_SIZE)
        odds = columns["education-num"] + np.random.default_rng(2).normal(0, 4, ADULT_SIZE)
        return columns, (odds > 11).astype(np.int64)
    data = public_data.adult()
    columns = {name: texts(data.frame[name].to_numpy()) for name in data.frame.columns}
    return columns, (data.labels == data.classes[1]).astype(np.int64)


def adult(*, standin: bool) -> Source:
    """Return eight attributes of Adult as numbers and dummies, with what is publicly known of them."""
    columns, y = adult_columns(standin=standin)
    whole = adult_domain()
    attributes: dict[str, Any] = {name: whole[name] for name in public_data.ADULT_NUMBERS}
    parts = [columns[name] for name in attributes]
    lower = [float(attribute.lo) for attribute in attributes.values()]
    upper = [float(attribute.hi) for attribute in attributes.values()]
    groups = []
    for name, values in public_data.ADULT_CATEGORIES.items():
        dummies = tuple(f"{name}={value}" for value in values)
        attributes |= dict.fromkeys(dummies, Binary())
        groups.append(ExactlyOne(dummies))
        parts += [columns[name] == value for value in values]
    n_dummies = len(parts) - len(lower)
    return Source(
        arrays={"Z": np.column_stack(parts).astype(np.float64), "y": y},
        settings={"lower": lower + [0.0] * n_dummies, "upper": upper + [1.0] * n_dummies, "classes": [0, 1]},
        domain=Domain(attributes, groups=groups),
    )


def matrix(name: str, *, standin: bool) -> Source:
    """Return a dataset of dummies, with classes coded 0 and 1; every side gets the same matrix and nothing more."""
    if standin:
        n, p = MATRICES[name]
        rng = np.random.default_rng(3)
        X = (rng.random((n, p)) < rng.uniform(0.05, 0.95, p)).astype(np.uint8)
        y = ((X[:, 0] & X[:, 1]) ^ (rng.random(n) < 0.2)).astype(np.int64)
    elif name == "Adult, 76 literals":
        data = public_data.adult()
        columns = read_checked(data.frame, data.domain)
        literals = LiteralLogic.of(data.domain, declared(data.domain, data.domain.names), up_to_negation=True).literals
        X = np.column_stack([columns.holds(literal) for literal in literals]).astype(np.uint8)
        y = (data.labels == data.classes[1]).astype(np.int64)
    else:
        data = public_data.compas() if name == "COMPAS" else public_data.adult_binarised()
        X, y = data.frame.to_numpy().astype(np.uint8), np.asarray(data.labels).astype(np.int64)
    if X.shape != MATRICES[name]:
        raise ValueError(f"{name} must have the shape {MATRICES[name]}, got {X.shape}. Use the files that it names.")
    return Source(arrays={"X": X, "y": y}, settings={})


def rule_lists(n_rules: int, n_attributes: int = 100, width: int = 3, n_lists: int = 7) -> Source:
    """Return random rule lists over binary attributes, as rows of literals."""
    rng = np.random.default_rng(n_rules)
    lists = np.array(
        [
            [(1 + rng.permutation(n_attributes)[:width]) * rng.choice((-1, 1), width) for _ in range(n_rules)]
            for _ in range(n_lists)
        ]
    )
    return Source(arrays={"lists": lists}, settings={"n_attributes": n_attributes})
