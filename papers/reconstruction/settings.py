"""The records of the paper, their splits into training and test sets, and what is publicly known about them."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.model_selection import train_test_split

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import public_data

from glassine import Domain

Ints = npt.NDArray[np.int64]

DATA_SETS = ("compas", "adult")
NAMES = {"compas": "COMPAS", "adult": "Adult"}
SEEDS = ("0", "1", "2", "3", "4")
SUPPORTS = ("0.01", "0.02", "0.03", "0.04", "0.05")
DEPTHS = tuple(str(depth) for depth in range(1, 11))
SAMPLE_SEED = 0
"""The paper does not say which tenth of Adult it takes; ours is drawn without replacement by this seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """A dataset: attributes and labels of 0 and 1, and its domain with all that ties the attributes."""

    name: str
    X: Ints
    y: Ints
    domain: Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Training and test records of a seed."""

    domain: Domain
    X: Ints
    y: Ints
    X_out: Ints
    y_out: Ints

    def frame(self) -> pd.DataFrame:
        """Return the training records as a data frame."""
        return pd.DataFrame(self.X, columns=list(self.domain.names))

    def columns(self, out: bool = False) -> dict[str, Ints]:
        """Return training or test records by attribute."""
        return dict(zip(self.domain.names, (self.X_out if out else self.X).T, strict=True))

    def in_a_leaf(self, support: str) -> int:
        """Return the least number of records of a leaf, rounded down as published."""
        return int(float(support) * len(self.y))

    def in_a_rule(self, support: str) -> int:
        """Return the least number of records of a rule: its share is not below the support."""
        return -int(-(Fraction(support) * len(self.y)) // 1)


@cache
def records(name: str) -> Records:
    """Return a dataset: all of COMPAS, a tenth of Adult."""
    if not public_data.DATA.is_dir():
        raise SystemExit(f"the datasets are not in {public_data.DATA}; GLASSINE_DATA names their folder")
    found = public_data.compas() if name == "compas" else public_data.adult_binarised()
    X, y = found.frame.to_numpy().astype(np.int64), np.asarray(found.labels, dtype=np.int64)
    if name == "adult":
        rows = np.sort(np.random.default_rng(SAMPLE_SEED).choice(len(y), len(y) // 10, replace=False))
        X, y = X[rows], y[rows]
    return Records(name=name, X=X, y=y, domain=found.domain)


@cache
def split(name: str, seed: str) -> Split:
    """Return the training and test records of a seed, drawn as by the paper."""
    whole = records(name)
    X, X_out, y, y_out = train_test_split(whole.X, whole.y, test_size=0.2, random_state=int(seed))
    return Split(domain=whole.domain, X=X, y=y, X_out=X_out, y_out=y_out)


def published(folder: Path, learner: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the published rows of a learner on COMPAS by seed, support and depth; none if they are not here."""
    path = folder / "reconstruction" / f"{learner}_compas.csv"
    if not path.exists():
        return {}
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    return {(row["random_state_value"], f"{float(row['min_support']):.2f}", row["max_depth"]): row for row in rows}


__all__ = ["DATA_SETS", "DEPTHS", "NAMES", "SAMPLE_SEED", "SEEDS", "SUPPORTS", "Ints", "Records", "Split", "published",
           "records", "split"]  # fmt: skip
