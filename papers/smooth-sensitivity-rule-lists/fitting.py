"""The methods under comparison, and one fit on the distinct records of a 70/30 split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from settings import SETTINGS, TARGET, Setting

from glassine.data.count_table import CountTable
from glassine.learners import PrivateRuleListClassifier
from glassine.learners.greedy.ordinary_lists import GreedyRuleListClassifier
from glassine.learners.greedy.private_lists import PrivateGreedyRuleListClassifier
from glassine.models import RuleList

MAX_RULES = 5
TRAINING_SHARE = 0.7
CONFIDENCE = 0.99

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One way of learning a rule list.

    Attributes
    ----------
    name : str
        The paper's name of it, or ours.
    make : callable
        Makes the estimator from a setting, an epsilon (None without privacy) and a seed.
    tied : bool
        Whether the learner is told of the ties between dummies. The paper's are not.
    private : bool
        Whether it needs an epsilon.
    """

    name: str
    make: Callable[[Setting, float | None, int], Any]
    tied: bool = False
    private: bool = True


def greedy(
    mechanism: str | None, accounting: str = "published", *, tied: bool = False, max_rules: int = MAX_RULES
) -> Callable[..., Any]:
    """Return a factory of greedy rule lists."""

    def make(setting: Setting, epsilon: float | None, seed: int) -> Any:
        usual: dict[str, Any] = {
            "max_rules": max_rules,
            "min_support": setting.min_support,
            "domain": setting.domain(tied=tied),
            "pool": setting.rules,
        }
        if mechanism is None or epsilon is None:
            return GreedyRuleListClassifier(**usual)
        return PrivateGreedyRuleListClassifier(
            **usual,
            mechanism=mechanism,
            epsilon=epsilon,
            accounting=accounting,
            confidence=CONFIDENCE,
            random_state=seed,
        )

    return make


def exponential(setting: Setting, epsilon: float | None, seed: int) -> Any:
    """Return a draw from all rule lists: over the same rules, or over single literals where the rules are many."""
    domain = setting.domain(tied=True)
    single = tuple(rule for rule in setting.rules if len(rule) == 1)
    return PrivateRuleListClassifier(MAX_RULES, epsilon=epsilon or 0.0, domain=domain, pool=single, random_state=seed)


MECHANISMS = {
    "GreedyRL": None,
    "sm-Laplace": "smooth-laplace",
    "sm-Cauchy": "smooth-cauchy",
    "gl-Laplace": "global-laplace",
    "gl-Gaussian": "global-gaussian",
    "gl-Exponential": "global-exponential",
    "noisy counts": "noisy-counts",
}
"""The paper's methods."""


def as_published(name: str, max_rules: int = MAX_RULES) -> Method:
    """Return one of the paper's methods with the paper's accounting."""
    mechanism = MECHANISMS[name]
    return Method(name=name, make=greedy(mechanism, max_rules=max_rules), private=mechanism is not None)


PAPER = tuple(as_published(name) for name in MECHANISMS)

OURS = (
    Method(name="counted-gini, strict", make=greedy("counted-gini", "strict", tied=True), tied=True),
    Method(name="exponential rule list", make=exponential, tied=True),
)
"""Learners that the paper does not have; their guarantees are pure and hold."""

METHODS = {method.name: method for method in (*PAPER, *OURS)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """The distinct records of a setting: all that counting learners and accuracies need.

    Attributes
    ----------
    setting : Setting
        Where they come from.
    columns : dict of str to ndarray of int64, shape (m,)
        The attributes of each distinct record.
    labels : ndarray of int64, shape (m,)
        Its class.
    index : ndarray of int64, shape (n,)
        Distinct record of each record.
    """

    setting: Setting
    columns: dict[str, Counts]
    labels: Counts
    index: Counts

    @classmethod
    def of(cls, setting: Setting) -> Cells:
        """Return the distinct records of a setting."""
        rows = np.column_stack([*setting.columns.values(), setting.labels]).astype(np.uint8)
        distinct, index = np.unique(rows, axis=0, return_inverse=True)
        return cls(
            setting=setting,
            columns={name: distinct[:, i].astype(np.int64) for i, name in enumerate(setting.columns)},
            labels=distinct[:, -1].astype(np.int64),
            index=index.reshape(-1).astype(np.int64),
        )

    def split(self, seed: int) -> tuple[Counts, Counts]:
        """Return how often each distinct record is in a seeded training and test set."""
        order = np.random.default_rng(seed).permutation(len(self.index))
        cut = int(TRAINING_SHARE * len(order))
        return self._counts(order[:cut]), self._counts(order[cut:])

    def _counts(self, rows: npt.NDArray[np.int64]) -> Counts:
        return np.bincount(self.index[rows], minlength=len(self.labels)).astype(np.int64)

    def table(self, counts: Counts, *, tied: bool) -> CountTable:
        """Return some records as a table with the class as its last attribute."""
        frame = {**self.columns, TARGET: self.labels}
        return CountTable.from_frame(frame, self.setting.domain(tied=tied), weights=counts)

    def ceiling(self) -> float:
        """Return the largest share of all records that any classifier of these attributes gets right."""
        rows = np.column_stack(list(self.columns.values()))
        group = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
        counts = np.bincount(self.index, minlength=len(self.labels))
        per_class = [np.bincount(group, weights=counts * (self.labels == label)) for label in (0, 1)]
        return float(np.maximum(*per_class).sum() / counts.sum())


@lru_cache(maxsize=2)
def cells_of(name: str) -> Cells:
    """Return the distinct records of a named setting."""
    return Cells.of(SETTINGS[name]())


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """One seeded split, with the tables that learners take."""

    train: Counts
    test: Counts
    tables: dict[bool, CountTable]


@lru_cache(maxsize=128)
def split_of(name: str, seed: int) -> Split:
    """Return a seeded split of a named setting."""
    cells = cells_of(name)
    train, test = cells.split(seed)
    return Split(train=train, test=test, tables={tied: cells.table(train, tied=tied) for tied in (False, True)})


def predictions(model: RuleList, columns: dict[str, Counts]) -> Counts:
    """Return the class that a rule list gives to each record."""
    labels = np.array([cell.evidence.prediction for cell in model.cells])
    classes = np.array(model.classes)
    return np.asarray(classes[labels[model.apply(columns)]], dtype=np.int64)


def accuracy(model: RuleList, cells: Cells, counts: Counts) -> float:
    """Return the share of some records that a rule list gets right."""
    return float(counts[predictions(model, cells.columns) == cells.labels].sum() / counts.sum())


def fit(name: str, method: Method, epsilon: float | None, seed: int) -> Any:
    """Return an estimator fitted to the training records of a seeded split."""
    estimator = method.make(cells_of(name).setting, epsilon, seed)
    return estimator.fit(split_of(name, seed).tables[method.tied], TARGET)


__all__ = [
    "MAX_RULES",
    "MECHANISMS",
    "METHODS",
    "OURS",
    "PAPER",
    "Cells",
    "Method",
    "accuracy",
    "as_published",
    "cells_of",
    "fit",
    "predictions",
    "split_of",
]
