"""Hyperparameters that a fitted estimator states: what its publisher says of how it was trained, not what was done."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from glassine.formats.sklearn.pipelines import end_of

Value: TypeAlias = int | float | bool | str | None

LEAST: Mapping[str, str] = {
    "DecisionTreeClassifier": "min_samples_leaf",
    "DecisionTreeRegressor": "min_samples_leaf",
    "RandomForestClassifier": "min_samples_leaf",
    "BaseSTreeDSolver": "min_leaf_node_size",
    "DL85Classifier": "min_sup",
    "DL85Predictor": "min_sup",
    "OptimalRuleListClassifier": "min_samples_leaf",
    "OptimalTreeClassifier": "min_samples_leaf",
    "OptimalTreeRegressor": "min_samples_leaf",
}
"""By class, the parameter below which no leaf may hold training records. LightGBM's and C4.5's are not listed: theirs
bound an estimate, and two of the branches of a split."""
SIZES = ("max_depth", "min_samples_leaf", "min_samples_split", "max_features", "max_leaf_nodes", "n_estimators",
         "bootstrap", "splitter", "criterion", "min_leaf_node_size", "min_sup", "max_num_nodes",
         "max_rules")  # fmt: skip
WORDS = frozenset({"best", "random", "sqrt", "log2", "gini", "entropy", "log_loss", "squared_error"})
"""Texts that are repeated: any other text of a file may be anything."""
FORESTS = ("RandomForestClassifier",)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedParameters:
    """Hyperparameters that a fitted estimator states.

    They are a statement: an estimator's parameters can be set after it was fitted, and a file can be edited.
    """

    values: Mapping[str, Value]  # Those that bound the size of a model, by name
    least: str = ""  # The one that bounds the records of every leaf from below; empty where none does
    # That bound, in records; None where none is stated, or it is a share of unknown size.
    smallest_leaf: int | None = None

    @property
    def stated_leaf(self) -> str:
        """The bound on leaves as the estimator writes it, such as ``min_samples_leaf=5``."""
        return f"{self.least}={self.values[self.least]}"


def stated_parameters(obj: object) -> StatedParameters | None:
    """Return the hyperparameters that a fitted estimator states; None for what is no tree or forest with parameters.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> stated = stated_parameters(DecisionTreeClassifier(min_samples_leaf=5))
    >>> stated.smallest_leaf, stated.stated_leaf
    (5, 'min_samples_leaf=5')
    """
    obj = end_of(obj)
    names = {kind.__name__ for kind in type(obj).__mro__}
    least = next((parameter for kind, parameter in LEAST.items() if kind in names), None)
    if least is None:
        return None
    attributes = vars(obj) if hasattr(obj, "__dict__") else {}
    values = {name: _plain(attributes[name]) for name in SIZES if name in attributes}
    # The trees of a bootstrap hold draws, not records.
    bounds = least in values and not names.intersection(FORESTS)
    return StatedParameters(
        values=values,
        least=least if bounds else "",
        smallest_leaf=_records(values[least], attributes) if bounds else None,
    )


def _plain(value: object) -> Value:
    """Return a parameter as a plain value, texts that name no known choice left out."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else "not finite"
    return value if isinstance(value, str) and value in WORDS else "other"


def _records(value: Value, attributes: Mapping[str, object]) -> int | None:
    """Return a least number of records, of which a share of all may be stated; None where it says nothing."""
    # A share becomes a number as its own learner makes it one: scikit-learn's by floating point, ours by its decimals.
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return None
    if isinstance(value, int):
        return value
    if not value < 1:
        return None
    sizes: Sequence[int] = getattr(attributes.get("tree_"), "n_node_samples", ())
    if len(sizes):
        return math.ceil(value * int(sizes[0]))
    n = getattr(attributes.get("model_"), "n_records", None)
    return math.ceil(Fraction(str(value)) * n) if isinstance(n, int) else None
