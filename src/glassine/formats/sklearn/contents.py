"""What fitted estimators hold beside the model: attributes that no model of their class needs, and fitted statistics.

Allowed are the attributes of known classes of scikit-learn, each checked for type and size, or recomputed from the
model. Of objects of other packages those attributes are needed that their reader asks for. All else is other content.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain import Binary, Category, Domain
from glassine.errors import GlassineError
from glassine.formats.contents import (
    LONGEST_NAME,
    FittedValues,
    OtherContent,
    Statistic,
    named_values,
    shown_name,
    size_of,
    tracked,
    unread,
)
from glassine.formats.sklearn.encodings import Column, Number
from glassine.formats.sklearn.pipelines import selected_columns, sklearn_names, through
from glassine.formats.sklearn.tree import TREES, first_columns, tree_from_sklearn

LARGEST_WHOLE = 2**63
NEAR = 1e-9
"""By how much a recomputed figure may miss the stored one, as a share of it."""
OPTION = re.compile(r"[a-z][a-z0-9_-]{0,19}")
"""A word that an estimator takes as a parameter."""

Others = Iterator[OtherContent]


def _other(where: str, value: object, kind: str = "attribute") -> OtherContent:
    """Return a value as other content; a value without letters takes a byte at least."""
    return OtherContent(where, kind, max(1, size_of(value)))


def _is_number(value: object) -> bool:
    """Return whether a value is a number, a truth value or nothing, of the size of one."""
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return True
    if type(value) in (bool, float) or value is None:
        return True
    return type(value) is int and abs(value) < LARGEST_WHOLE


def _is_array(value: object, shape: tuple[int, ...], kinds: str = "biuf") -> bool:
    """Return whether a value is a plain array of numbers of a shape, with nothing attached to it."""
    if type(value) is not np.ndarray or value.shape != shape:
        return False
    return value.dtype.kind in kinds and not value.dtype.metadata


# Trees of scikit-learn.


def _beside_tree(estimator: Any, where: str) -> Others:
    """Yield what the arrays of a tree hold that its nodes do not need."""
    tree = estimator.tree_
    state = tree.__getstate__()
    nodes, values = state["nodes"], np.asarray(state["values"], dtype=float)
    for name in state.keys() - {"max_depth", "node_count", "nodes", "values"}:
        yield _other(f"{where}, tree_.{shown_name(name)}", state[name])
    left, right = nodes["left_child"], nodes["right_child"]
    reached, depth = np.zeros(len(nodes), dtype=bool), 0
    stack = [(0, 0)]
    while stack:
        node, level = stack.pop()
        if reached[node]:
            continue
        reached[node], depth = True, max(depth, level)
        if left[node] != -1:
            stack += [(int(left[node]), level + 1), (int(right[node]), level + 1)]
    spare = int((~reached).sum())
    yield OtherContent(
        f"{where}, nodes that the root does not lead to", "array", spare * (nodes.dtype.itemsize + 8 * values[0].size)
    )
    leaf = reached & (left == -1)
    odd = {name: int((nodes[name][leaf] != -2).sum()) for name in ("feature", "threshold")}
    yield OtherContent(f"{where}, tests of leaves", "array", 8 * sum(odd.values()))
    if int(state["max_depth"]) != depth:
        yield OtherContent(f"{where}, tree_.max_depth", "field", 8)
    impurity = nodes["impurity"][reached]
    if "DecisionTreeClassifier" in sklearn_names(estimator):
        due = _impurity(values[reached, 0, :], str(estimator.criterion))
        wrong = len(impurity) if due is None else int((~(np.abs(impurity - due) <= NEAR + 1e-6 * due)).sum())
        yield OtherContent(f"{where}, impurities that no count explains", "array", 8 * wrong)
        return
    # A spread of zero is part of the model; others reveal more of the outcomes of a small node than its mean.
    yield OtherContent(f"{where}, spread of the outcomes in each node", "array", 8 * int((impurity != 0).sum()))
    weighted = nodes["weighted_n_node_samples"][reached] != nodes["n_node_samples"][reached]
    yield OtherContent(f"{where}, weights of nodes", "array", 8 * int(weighted.sum()))


def _impurity(values: npt.NDArray[np.float64], criterion: str) -> npt.NDArray[np.float64] | None:
    """Return the impurity of each node, shape (n,), from the weights of its classes; None for another criterion."""
    shares = values / values.sum(axis=1, keepdims=True)
    if criterion == "gini":
        return np.asarray(1 - (shares**2).sum(axis=1))
    if criterion in ("entropy", "log_loss"):
        return np.asarray(-(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=1))
    return None


# Parameters.


def _options(estimator: object, name: str) -> set[str]:
    """Return the words that scikit-learn takes for a parameter."""
    out: set[str] = set()
    listed = getattr(type(estimator), "_parameter_constraints", {}).get(name, ())
    for constraint in listed if isinstance(listed, list | tuple) else ():
        options = getattr(constraint, "options", ())
        out |= {option for option in options if isinstance(option, str)}
    return out


def _is_parameter(estimator: object, name: str, value: object, classes: Sequence[object]) -> bool:
    """Return whether a parameter can hold nothing but what it is for."""
    if _is_number(value) or isinstance(value, type):
        return True
    if isinstance(value, np.dtype):
        return not value.metadata
    if type(value) is str:
        free = name == "fill_value" and len(value) <= LONGEST_NAME
        return free or value in _options(estimator, name)
    if isinstance(value, tuple | list):
        return len(value) <= 2 and all(map(_is_number, value))
    if name == "class_weight" and type(value) is dict:
        labels = {str(label) for label in classes}
        return all(str(key) in labels and _is_number(weight) for key, weight in value.items())
    width = getattr(estimator, "n_features_in_", 0)
    if name in ("monotonic_cst", "n_bins"):
        return _is_array(np.asarray(value), (width,), "iu")
    return callable(value) and str(getattr(value, "__module__", "")).split(".")[0] in ("sklearn", "numpy")


# What parts of a pipeline learned from the data.

COUNTS = (
    *("n_features_in_", "n_outputs_", "n_classes_", "max_features_", "_n_features", "n_features_", "sparse_output_"),
    *("_n_samples", "_n_samples_bootstrap"),
)
"""Fitted attributes of any estimator that are one number."""
STATISTICS: Mapping[str, Mapping[str, Statistic]] = {
    "MinMaxScaler": {"data_min_": "extremes", "data_max_": "extremes"},
    "MaxAbsScaler": {"max_abs_": "extremes"},
    "StandardScaler": {"mean_": "averages", "var_": "spreads"},
    "RobustScaler": {"center_": "averages", "scale_": "spreads"},
    "SimpleImputer": {"statistics_": "averages"},
    "OneHotEncoder": {"categories_": "categories"},
    "OrdinalEncoder": {"categories_": "categories"},
    "KBinsDiscretizer": {"bin_edges_": "bin edges"},
    "VarianceThreshold": {"variances_": "spreads"},
    "SelectorMixin": {"scores_": "scores", "pvalues_": "scores"},
}
"""By class, the fitted attributes that hold one value or list of values of the data for each column."""
DERIVED: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "MinMaxScaler": {
        "data_range_": lambda s: s.data_max_ - s.data_min_,
        "scale_": lambda s: (s.feature_range[1] - s.feature_range[0]) / _no_zero(s.data_max_ - s.data_min_),
        "min_": lambda s: s.feature_range[0] - s.data_min_ * s.scale_,
    },
    "MaxAbsScaler": {"scale_": lambda s: _no_zero(s.max_abs_)},
    "StandardScaler": {"scale_": lambda s: None if s.var_ is None else _no_zero(np.sqrt(s.var_))},
    "KBinsDiscretizer": {"n_bins_": lambda s: np.array([len(edges) - 1 for edges in s.bin_edges_])},
}
"""By class, the fitted attributes that follow from others, and how."""
INDEXES = (
    *("features_", "_infrequent_indices", "_default_to_infrequent_mappings", "_n_features_outs", "_missing_indices"),
    *("drop_idx_", "_drop_idx_after_grouping", "_infrequent_enabled", "n_samples_seen_", "_precomputed"),
    *("_columns", "_transformer_to_input_indices", "output_indices_", "_remainder"),
    *("_name_to_fitted_passthrough", "_fit_dtype", "_fill_dtype"),
)
"""Fitted attributes that count, or point to, columns, categories, steps and records."""


def _no_zero(values: object) -> Any:
    """Return scales as scikit-learn takes them: one in place of zero."""
    out = np.array(values, dtype=float)
    out[np.abs(out) < 10 * np.finfo(float).eps] = 1.0
    return out


def _points(value: object, names: set[str], room: list[int]) -> bool:
    """Return whether a value only counts or names columns, categories or steps; ``room`` is how many more it may."""
    room[0] -= 1
    if room[0] < 0:
        return False
    if value is None or type(value) is bool or isinstance(value, np.dtype):
        return not getattr(value, "metadata", None)
    if isinstance(value, int | np.integer):
        return -1 <= int(value) < 2**40
    if isinstance(value, float | np.floating):  # records are counted in floats where they are weighted
        return float(value).is_integer() and 0 <= float(value) < 2**40
    if type(value) is str:
        return value in names
    if type(value) is slice:
        return all(_points(part, names, room) for part in (value.start, value.stop, value.step))
    if type(value) is np.ndarray:
        return all(_points(part, names, room) for part in value.tolist())
    # Not of a subclass, which may hold more than its parts.
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return all(_points(part, names, room) for part in value)
    if type(value) is dict:
        return all(_points(part, names, room) for pair in value.items() for part in pair)
    return False


class _Walk:
    """What is found on the way through an estimator."""

    def __init__(self, domain: Domain | None, named: Mapping[str, set[str]]) -> None:
        self.domain = domain
        self.names = {"passthrough", "drop", "remainder", *(domain or ())}
        self.named = named
        # Categories that an encoder which was not fitted may list: those of its fitted copy.
        self.due: dict[int, Any] = {}
        self.others: list[OtherContent] = []
        self.fitted: list[FittedValues] = []

    def add(self, estimator: Any, where: str, columns: list[Column] | None, handled: Iterable[str] = ()) -> None:
        """Account for the attributes of one estimator; those that are handled elsewhere aside."""
        kinds, state = sklearn_names(estimator), dict(vars(estimator))
        parameters = set(type(estimator)._get_param_names()) if hasattr(type(estimator), "_get_param_names") else set()
        classes = np.ravel(state.get("classes_", ())).tolist()
        width = int(getattr(estimator, "n_features_in_", 0))
        for name in handled:
            state.pop(name, None)
        for kind in kinds:
            for name, statistic in STATISTICS.get(kind, {}).items():
                if name in state and state[name] is not None:
                    self._statistic(estimator, where, name, state.pop(name), statistic, columns)
            for name, follows in DERIVED.get(kind, {}).items():
                if name in state and self._follows(estimator, state[name], follows):
                    del state[name]
        for name, value in state.items():
            if value is None:
                continue
            if name in parameters:
                fine = _is_parameter(estimator, name, value, classes)
                if name == "categories" and not isinstance(value, str):
                    due: Any = getattr(estimator, "categories_", self.due.get(id(estimator)))
                    fine = isinstance(value, list) and isinstance(due, list)
                    fine = fine and [np.ravel(a).tolist() for a in value] == [np.ravel(a).tolist() for a in due]
            elif name == "feature_names_in_":
                fine = self._names(value, width)
            elif name == "_sklearn_output_config":
                fine = value in ({}, *({"transform": form} for form in ("default", "pandas", "polars")))
            elif name in COUNTS:
                fine = _is_number(value)
            elif name == "estimator_params":
                fine = set(value) <= set(estimator.estimators_[0].get_params())
            elif name == "classes_":
                fine = type(value) is np.ndarray and value.ndim == 1 and not value.dtype.metadata
            elif name in INDEXES:
                n_categories = sum(len(listed) for listed in getattr(estimator, "categories_", None) or ())
                fine = _points(value, self.names, [64 + 16 * (width + n_categories)])
            else:
                fine = False
            if not fine:
                self.others.append(_other(f"{where}, {shown_name(name)}", value))

    def _names(self, value: object, width: int) -> bool:
        if type(value) is not np.ndarray or value.shape != (width,) or value.dtype.kind not in "OU":
            return False
        if not all(type(name) is str and len(name) <= LONGEST_NAME for name in value.tolist()):
            return False
        self.names.update(value.tolist())
        return True

    @staticmethod
    def _follows(estimator: object, value: object, follows: Callable[[Any], Any]) -> bool:
        try:
            due = follows(estimator)
            if due is None or value is None:
                return due is value
            due = np.asarray(due)
            if not _is_array(np.asarray(value), due.shape):
                return False
            return bool(np.allclose(np.asarray(value, dtype=float), due, rtol=1e-6, atol=0, equal_nan=True))
        except (TypeError, ValueError, AttributeError, IndexError):
            return False

    def _statistic(
        self, estimator: Any, where: str, name: str, value: Any, statistic: Statistic, columns: list[Column] | None
    ) -> None:
        """Account for one value, or list of values, a column."""
        width = int(getattr(estimator, "n_features_in_", 0))
        if type(value) not in (np.ndarray, list) or len(value) != width:
            self.others.append(_other(f"{where}, {shown_name(name)}", value))
            return
        constant = getattr(estimator, "strategy", "") == "constant" and name == "statistics_"
        for i, entry in enumerate(value):
            listed = np.ravel(entry).tolist()
            if constant and all(part == estimator.fill_value or part in (0, "missing_value") for part in listed):
                continue
            texts = [text for text in listed if isinstance(text, str) and len(text) > LONGEST_NAME]
            plain = all(isinstance(part, str) or _is_number(part) for part in listed)
            if texts or not plain or (statistic not in ("categories", "bin edges") and len(listed) != 1):
                self.others.append(_other(f"{where}, {shown_name(name)}", entry))
                continue
            column = columns[i] if columns is not None and i < len(columns) else None
            attribute = column.attribute if column is not None else f"column {i}"
            if statistic == "categories":
                declared = self.named.get(attribute, set())
                listed = [part for part in listed if str(part) not in declared]
                if not listed:
                    continue
            private = None
            if statistic in ("averages", "spreads", "scores"):
                private = len(listed)
            elif self.domain is not None:
                private = sum(not self._public(column, part) for part in listed)
            self.fitted.append(
                FittedValues(
                    part=where, attribute=attribute, statistic=statistic, n_values=len(listed), n_private=private
                )
            )

    def _public(self, column: Column | None, value: object) -> bool:
        """Return whether the domain declares a value of a column: as a category, a bound or a cut point."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return True
        if self.domain is None or not isinstance(column, Number) or column.steps or column.attribute not in self.domain:
            return False
        attribute = self.domain[column.attribute]
        if attribute.inferred:
            return False
        if isinstance(attribute, Category):
            return value in attribute.values or str(value) in map(str, attribute.values)
        if isinstance(attribute, Binary):
            return value in (0, 1, "0", "1")
        return value in (attribute.lo, attribute.hi, *attribute.thresholds)

    def step(self, step: Any, columns: list[Column] | None, where: str) -> list[Column] | None:
        """Account for a step of a pipeline and those in it; return its columns, None where they are not known."""
        if step is None or isinstance(step, str):
            return columns
        kinds, here = sklearn_names(step), f"{where} ({type(step).__name__})"
        if "Pipeline" in kinds or "FeatureUnion" in kinds:
            listed = "steps" if "Pipeline" in kinds else "transformer_list"
            self._listed(getattr(step, listed), here)
            self.add(step, here, columns, handled=(listed,))
            inner = columns
            for name, one in getattr(step, listed):
                after = self.step(one, inner, f"{where}, {shown_name(name)}")
                inner = after if "Pipeline" in kinds else columns
        elif "ColumnTransformer" in kinds:
            self._listed([entry[:2] for entry in (*step.transformers, *step.transformers_)], here)
            fitted = {name: one for name, one, _ in step.transformers_}
            inputs = list(map(str, getattr(step, "feature_names_in_", ())))
            for name, one, chosen in step.transformers:
                self.due[id(one)] = getattr(fitted.get(name), "categories_", None)
                self.step(one, None, f"{where}, {shown_name(name)} as it was before the fit")
                if not _points(chosen, self.names.union(inputs), [10_000]):
                    self.others.append(_other(f"{here}, transformers", chosen))
            for name, one, chosen in step.transformers_:
                if not _points(chosen, self.names.union(inputs), [10_000]):
                    self.others.append(_other(f"{here}, transformers_", chosen))
                inner = None
                if columns is not None and not callable(chosen):
                    with suppress(GlassineError, ValueError, IndexError, TypeError):
                        inner = selected_columns(chosen, columns, inputs, here)
                self.step(one, inner, f"{where}, {shown_name(name)}")
            self.add(step, here, columns, handled=("transformers", "transformers_"))
        else:
            handled = ["indicator_", "_encoder"] if {"SimpleImputer", "KBinsDiscretizer"} & set(kinds) else []
            for name in handled:
                if getattr(step, name, None) is not None:
                    self.step(getattr(step, name), columns, f"{where}, {name}")
            handled += ["tree_"] if hasattr(step, "tree_") else []
            if "tree_" in handled:
                self.others += _beside_tree(step, here)
            self.add(step, here, columns, handled=handled)
        if columns is None:
            return None
        try:
            return through(step, columns, where)
        except GlassineError:
            return None

    def _listed(self, entries: Iterable[Any], where: str) -> None:
        """Account for the names of steps."""
        for entry in entries:
            name = entry[0]
            if type(name) is not str or len(name) > LONGEST_NAME or len(entry) != 2:
                self.others.append(_other(f"{where}, names of steps", name))
            else:
                self.names.add(name)


def beside_estimator(
    estimator: Any, domain: Domain | None, member: int | None = None
) -> list[OtherContent | FittedValues]:
    """Return what a tree of scikit-learn, a pipeline, search or forest holds beside the tree that was read of it."""
    kinds, where = sklearn_names(estimator), "the estimator"
    # A tree alone has no encoder, whose categories its conditions could name.
    alone = member is not None or bool(set(TREES) & set(kinds))
    walk = _Walk(domain, {} if alone else named_values(tree_from_sklearn(estimator, domain)))
    while "BaseSearchCV" in kinds:
        walk.others += [
            _other(f"{where} ({type(estimator).__name__}), {shown_name(name)}", value)
            for name, value in vars(estimator).items()
            if name != "best_estimator_" and value is not None
        ]
        estimator, where = estimator.best_estimator_, "best_estimator_"
        kinds = sklearn_names(estimator)
    last = estimator.steps[-1][1] if "Pipeline" in kinds else estimator
    if hasattr(last, "estimators_"):
        for i, one in enumerate(last.estimators_):
            if i == member:
                walk.step(one, None, f"tree {i}")
            else:
                walk.others.append(_other("trees that were not read", vars(one) | one.tree_.__getstate__()))
        walk.add(last, f"{where} ({type(last).__name__})", None, handled=("estimators_", "estimator_", "estimator"))
        return [*walk.others, *walk.fitted]
    walk.step(estimator, first_columns(estimator, domain), where)
    return [*walk.others, *walk.fitted]


# Objects of other packages.


def beside_object(obj: object, read: Callable[[Any], object]) -> Others:
    """Yield attributes of an object that its reader does not ask for, nor are numbers or words of its parameters."""
    try:
        probe, asked = _probed(obj, read)
    except Exception:
        yield _other(f"the {type(obj).__name__}, which cannot be looked into", vars(obj))
        return
    try:
        parameters = set(signature(type(obj).__init__).parameters)
    except (TypeError, ValueError):
        parameters = set()
    for name, value in vars(obj).items():
        where = f"the {type(obj).__name__}, {shown_name(name)}"
        if name in asked:
            for other in unread(probe[name]):
                yield OtherContent(f"{where}.{other.where}", other.kind, other.n_bytes)
        elif not _is_number(value) and not (
            name in parameters and type(value) is str and OPTION.fullmatch(value) is not None
        ):
            yield _other(where, value)


def _probed(obj: object, read: Callable[[Any], object]) -> tuple[dict[str, Any], set[str]]:
    """Read a copy of an object that notes which attributes are asked for; return what they held, and their names."""
    asked: set[str] = set()
    tracked_values = {name: tracked(value) for name, value in vars(obj).items()}

    class Probe(type(obj)):  # type: ignore[misc]  # the class is known when it runs
        def __getattribute__(self, name: str) -> Any:
            if name in tracked_values:
                asked.add(name)
            return super().__getattribute__(name)

    Probe.__module__ = type(obj).__module__
    probe = copy.copy(obj)
    object.__getattribute__(probe, "__dict__").update(tracked_values)
    object.__setattr__(probe, "__class__", Probe)
    read(probe)
    return tracked_values, asked
