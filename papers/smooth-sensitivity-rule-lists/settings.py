"""The records and pools of rules of the paper's experiments (section V-A), and a made-up one for trials.

Bins, and the rules that are kept by their support, are read from the records, as in the paper. A guarantee does not
cover that: in real use thresholds and rules come from public knowledge alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import numpy as np  # noqa: E402 - after the path is set
import numpy.typing as npt  # noqa: E402
import polars as pl  # noqa: E402
import public_data  # noqa: E402

from glassine import Domain  # noqa: E402
from glassine.counting.logic import RuleLogic  # noqa: E402
from glassine.domain import (  # noqa: E402
    AtMostOne,
    ExactlyOne,
    Literal,
    OneOf,
)
from glassine.domain.groups import Group  # noqa: E402

Antecedent = tuple[Literal, ...]
Columns = dict[str, npt.NDArray[np.bool_]]

SUPPORT = 0.05
"""A column is a rule if more than this share of the records satisfies it."""

GERMAN_NUMBERS = ("duration", "amount", "rate", "residence", "age", "credits", "dependants")
JUVENILE = ("juv_fel_count", "juv_misd_count", "juv_other_count")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One dataset as the experiments use it.

    Attributes
    ----------
    name, title : str
        Key in the results, and name on the plots.
    columns : dict of str to ndarray of bool, shape (n,)
        The Boolean attributes.
    labels : ndarray of int, shape (n,)
        Classes, 0 or 1.
    rules : tuple of tuple of Literal
        The pool.
    groups : tuple of Group
        Ties between the attributes, known without the records. Only our own learners are told of them.
    min_support : float
        The paper's lambda.
    """

    name: str
    title: str
    columns: Columns
    labels: npt.NDArray[np.int64]
    rules: tuple[Antecedent, ...]
    groups: tuple[Group, ...]
    min_support: float

    @property
    def n_records(self) -> int:
        """Number of records n."""
        return len(self.labels)

    def domain(self, *, tied: bool) -> Domain:
        """Return the domain of the attributes and the class, with the groups or without."""
        return Domain.binary([*self.columns, TARGET], groups=self.groups if tied else ())


TARGET = "class of the record"
"""Name of the attribute that holds the class."""


def one_hot(attribute: str, values: Iterable[Any], names: Mapping[Any, str] | None = None) -> Columns:
    """Return one column per value of a category."""
    array = np.array(list(values))
    label = names or {}
    return {f"{attribute}={label.get(value, value)}": array == value for value in sorted(set(array.tolist()))}


def quantile_bins(attribute: str, values: npt.ArrayLike, n_bins: int, *, closed: str = "right") -> Columns:
    """Return one column per quantile bin of a number; equal quantiles make one bin.

    The paper does not say on which side a bin is closed. ``right`` is what pandas' ``qcut`` does, ``left`` what
    scikit-learn's ``KBinsDiscretizer`` does.
    """
    numbers = np.asarray(values, dtype=float)
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, n_bins + 1)))
    right = closed == "right"
    index = np.searchsorted(edges[1:-1], numbers, side="left" if right else "right")
    columns: Columns = {}
    for i, (lo, hi) in enumerate(pairwise(edges)):
        opening = "(" if right and i > 0 else "["
        closing = "]" if right or i == len(edges) - 2 else ")"
        columns[f"{attribute} in {opening}{lo:g}, {hi:g}{closing}"] = index == i
    return columns


def holds(name: str) -> Literal:
    """Return the literal that says that a column is 1."""
    return OneOf(name, (1,))


def fails(name: str) -> Literal:
    """Return the literal that says that a column is 0."""
    return OneOf(name, (0,))


def truth(columns: Columns, rule: Antecedent) -> npt.NDArray[np.bool_]:
    """Return which records satisfy a rule."""
    out = np.ones(len(next(iter(columns.values()))), dtype=bool)
    for literal in rule:
        out &= literal.holds(columns[literal.attribute].astype(np.int64))
    return out


def frequent(columns: Columns, rules: Iterable[Antecedent], least: float = SUPPORT) -> tuple[Antecedent, ...]:
    """Return the rules that more than a share of the records satisfies, and not all."""
    return tuple(rule for rule in rules if least < truth(columns, rule).mean() < 1)


def without(columns: Columns, *prefixes: str) -> Columns:
    """Return the columns whose names start with none of some prefixes."""
    return {name: column for name, column in columns.items() if not name.startswith(prefixes)}


def varying(columns: Columns) -> Columns:
    """Return the columns that are not the same for all records."""
    return {name: column for name, column in columns.items() if 0 < column.mean() < 1}


def categories(columns: Columns, separators: tuple[str, ...] = ("=", " in ")) -> tuple[Group, ...]:
    """Return the ties of one-hot columns: exactly one of an attribute's columns is 1."""
    members: dict[str, list[str]] = {}
    for name in columns:
        for separator in separators:
            if separator in name:
                members.setdefault(name.split(separator)[0], []).append(name)
                break
    return tuple(ExactlyOne(tuple(names)) for names in members.values() if len(names) > 1)


def pairs(rules: Iterable[Antecedent]) -> list[Antecedent]:
    """Return the conjunctions of two rules of one literal on different attributes."""
    return [one + two for one, two in combinations(rules, 2) if one[0].attribute != two[0].attribute]


def german_columns(closed: str = "right") -> tuple[Columns, npt.NDArray[np.int64]]:
    """Return the columns of the German credit records, age left out, and whether the credit was bad."""
    lines = (public_data.DATA / "german" / "german.data").read_text().splitlines()
    rows = [line.split() for line in lines if line.strip()]
    raw = dict(zip(public_data.GERMAN_COLUMNS, zip(*rows, strict=True), strict=True))
    columns: Columns = {}
    for attribute in public_data.GERMAN_COLUMNS[:-1]:
        if attribute in GERMAN_NUMBERS:
            columns |= quantile_bins(attribute, np.array(raw[attribute], dtype=float), 2, closed=closed)
        else:
            columns |= one_hot(attribute, raw[attribute])
    return without(varying(columns), "age"), (np.array(raw["class"]) == "2").astype(np.int64)


def compas_frame() -> pl.DataFrame:
    """Return ProPublica's records after ProPublica's filter: 6,172."""
    raw = pl.read_csv(
        public_data.DATA / "compas" / "compas-scores-two-years.csv", infer_schema_length=None, null_values=[""]
    )
    return raw.filter(
        pl.col("days_b_screening_arrest").is_between(-30, 30)
        & (pl.col("is_recid") != -1)
        & (pl.col("c_charge_degree") != "O")
        & (pl.col("score_text") != "N/A")
    )


def compas_columns(closed: str = "right") -> tuple[Columns, npt.NDArray[np.int64]]:
    """Return the columns of the COMPAS records, race left out, and who was arrested again within two years."""
    frame = compas_frame()
    columns = quantile_bins("age", frame["age"].to_numpy(), 5, closed=closed)
    columns |= quantile_bins("priors", frame["priors_count"].to_numpy(), 5, closed=closed)
    for attribute in JUVENILE:
        # More than four fifths have none, so that all quantiles but the last are 0: none against some.
        columns |= one_hot(attribute, frame[attribute].to_numpy() > 0, {False: "0", True: "more"})
    columns |= one_hot("charge", frame["c_charge_degree"].to_list())
    columns |= one_hot("sex", frame["sex"].to_list())
    return columns, frame["two_year_recid"].to_numpy().astype(np.int64)


def adult_columns() -> tuple[Columns, npt.NDArray[np.int64], tuple[Group, ...]]:
    """Return the 24 dummies of Adult, the class, and the ties of the dummies."""
    data = public_data.adult_binarised()
    columns = {name: data.frame[name].to_numpy() == 1 for name in data.frame.columns}
    return columns, data.labels.astype(np.int64), data.domain.groups


def german() -> Setting:
    """Return the German credit setting: 49 rules, one per column of more than a twentieth of the records."""
    columns, labels = german_columns()
    return Setting(
        name="german",
        title="German credit",
        columns=columns,
        labels=labels,
        rules=frequent(columns, [(holds(name),) for name in columns]),
        groups=categories(columns),
        min_support=0.12,
    )


def compas() -> Setting:
    """Return the COMPAS setting: 18 rules, one per column of more than a twentieth of the records."""
    columns, labels = compas_columns()
    return Setting(
        name="compas",
        title="COMPAS",
        columns=columns,
        labels=labels,
        rules=frequent(columns, [(holds(name),) for name in columns]),
        groups=categories(columns),
        min_support=0.05,
    )


def adult() -> Setting:
    """Return the Adult setting of 47 rules: the 23 frequent ones of 24 columns, and the negations of all 24."""
    columns, labels, groups = adult_columns()
    return Setting(
        name="adult",
        title="Adult, 24 attributes, 47 rules",
        columns=columns,
        labels=labels,
        rules=(*frequent(columns, [(holds(name),) for name in columns]), *((fails(name),) for name in columns)),
        groups=groups,
        min_support=0.05,
    )


def adult_pairs() -> Setting:
    """Return Adult without gender and age, with conjunctions of up to two literals; of two names of one fact, one."""
    everything, labels, groups = adult_columns()
    twins = [group.attributes[1] for group in groups if isinstance(group, ExactlyOne) and len(group.attributes) == 2]
    columns = without(everything, "gender", "age", *twins)
    single = [(sign(name),) for name in columns for sign in (holds, fails)]
    ties = tuple(
        AtMostOne(names)
        for group in groups
        if isinstance(group, AtMostOne) and len(names := tuple(n for n in group.attributes if n in columns)) > 1
    )
    different = RuleLogic.of(Domain.binary(list(columns), groups=ties), [*single, *pairs(single)]).antecedents
    return Setting(
        name="adult-pairs",
        title="Adult, 20 attributes, conjunctions of two",
        columns=columns,
        labels=labels,
        rules=frequent(columns, different),
        groups=ties,
        min_support=0.05,
    )


def toy() -> Setting:
    """Return 900 made-up records of six attributes, for trials without the data."""
    rng = np.random.default_rng(0)
    columns = {f"x{i}": rng.random(900) < 0.2 + 0.1 * i for i in range(6)}
    chance = 0.1 + 0.7 * (columns["x0"] | (columns["x3"] & columns["x4"]))
    return Setting(
        name="toy",
        title="Made-up records",
        columns=columns,
        labels=(rng.random(900) < chance).astype(np.int64),
        rules=frequent(columns, [(sign(name),) for name in columns for sign in (holds, fails)]),
        groups=(),
        min_support=0.05,
    )


SETTINGS: dict[str, Callable[[], Setting]] = {
    "german": german,
    "compas": compas,
    "adult": adult,
    "adult-pairs": adult_pairs,
    "toy": toy,
}
"""The settings by name."""

__all__ = [
    "SETTINGS",
    "SUPPORT",
    "TARGET",
    "Antecedent",
    "Columns",
    "Setting",
    "adult_columns",
    "compas_columns",
    "compas_frame",
    "fails",
    "frequent",
    "german_columns",
    "holds",
    "pairs",
    "quantile_bins",
    "truth",
    "varying",
    "without",
]
