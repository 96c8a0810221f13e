"""Fitted scikit-learn preprocessing, read as columns of the original attributes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, TypeAlias

import numpy as np

from glassine.errors import GlassineError, InvalidModelError, UnsupportedModelError
from glassine.formats.conditions import kinds_of, scalar
from glassine.formats.sklearn.encodings import Coded, Column, Number, Stepped, coded, is_gap

Columns: TypeAlias = list[Column]


def sklearn_names(obj: object) -> list[str]:
    """Return the names of the scikit-learn classes that an object is an instance of, most special first."""
    return kinds_of(obj, "sklearn")


def _unlike(reason: str) -> InvalidModelError:
    return InvalidModelError(reason, remedy="Fit the pipeline again.")


def end_of(obj: object) -> Any:
    """Return the estimator at the end of pipelines and searches: the best one of a search, once it is fitted."""
    kinds = sklearn_names(obj)
    if "BaseSearchCV" in kinds:
        return end_of(getattr(obj, "best_estimator_", getattr(obj, "estimator", None)))
    steps = getattr(obj, "steps", None) if "Pipeline" in kinds else None
    return end_of(steps[-1][1]) if steps else obj


def _array(values: Any, n: int, default: float, what: str) -> list[float]:
    """Return one finite number a column; None stands for the default everywhere."""
    out = [default] * n if values is None else [float(v) for v in np.ravel(values)]
    if len(out) != n or not all(math.isfinite(v) for v in out):
        raise _unlike(f"{what} must hold {n} finite numbers, got {len(out)}.")
    return out


def _scales(step: Any, n: int, where: str) -> list[float]:
    values = _array(step.scale_, n, 1, f"{where}: scale_")
    if not all(v > 0 for v in values):
        raise _unlike(f"{where}: scale_ must be positive, got {min(values)}.")
    return values


def _unscaled(column: Column, where: str) -> Number:
    if not isinstance(column, Number) or column.steps:
        raise UnsupportedModelError(f"{where} encodes a column that was encoded or scaled.", remedy="Encode it first.")
    return column


def _shift_and_scale(step: Any, columns: Columns, where: str) -> Columns:
    n, kind = len(columns), sklearn_names(step)
    if "MinMaxScaler" in kind:
        scales = _scales(step, n, where)
        shifts = _array(step.min_, n, 0, f"{where}: min_")
        out: Columns = [c.then(("mul", a), ("add", b)) for c, a, b in zip(columns, scales, shifts, strict=True)]
        if getattr(step, "clip", False):
            low, high = step.feature_range
            out = [c.then(("at least", float(low)), ("at most", float(high))) for c in out]
        return out
    centers = None
    if "StandardScaler" in kind and step.with_mean:
        centers = step.mean_
    elif "RobustScaler" in kind:
        centers = step.center_
    shifts = _array(centers, n, 0, f"{where}: the centers")
    scales = _scales(step, n, where)
    return [c.then(("sub", b), ("div", a)) for c, a, b in zip(columns, scales, shifts, strict=True)]


def _groups(categories: list[object], infrequent: Any) -> list[int]:
    """Return the number of each category when the infrequent ones share the last number."""
    rare = set() if infrequent is None else {str(v) for v in infrequent}
    frequent = [str(v) not in rare for v in categories]
    numbers = np.cumsum(frequent) - 1
    return [int(number) if often else int(sum(frequent)) for number, often in zip(numbers, frequent, strict=True)]


def _infrequent(step: object, n: int) -> list[Any]:
    return list(getattr(step, "infrequent_categories_", None) or [None] * n)


def _one_hot(step: Any, columns: Columns, where: str) -> Columns:
    out: Columns = []
    drops = [None] * len(columns) if step.drop_idx_ is None else list(step.drop_idx_)
    for column, categories, rare, drop in zip(
        columns, step.categories_, _infrequent(step, len(columns)), drops, strict=True
    ):
        source, listed = _unscaled(column, where), list(categories)
        groups = _groups(listed, rare)
        dropped = None if drop is None else groups[int(drop)]
        unknown = None if step.handle_unknown == "error" else -1
        if step.handle_unknown in ("infrequent_if_exist", "warn") and rare is not None:
            unknown = max(groups)
        for dummy in range(max(groups) + 1):
            if dummy != dropped:
                codes = [float(group == dummy) for group in groups]
                out.append(coded(source, listed, codes, None if unknown is None else float(unknown == dummy)))
    return out


def _ordinal(step: Any, columns: Columns, where: str) -> Columns:
    out: Columns = []
    other = None if step.handle_unknown == "error" else float(step.unknown_value)
    for column, categories, rare in zip(columns, step.categories_, _infrequent(step, len(columns)), strict=True):
        # Only NaN is missing to this encoder; None is a category like others.
        missing = [isinstance(v, float | np.floating) and math.isnan(v) for v in categories]
        present = [v for v, gap in zip(categories, missing, strict=True) if not gap]
        codes = [float(group) for group in _groups(present, rare)] + [float(step.encoded_missing_value)] * sum(missing)
        listed = [*present, *([math.nan] * sum(missing))]
        out.append(coded(_unscaled(column, where), listed, codes, other))
    return out


def _indicators(step: Any, columns: Columns) -> Columns:
    out: Columns = []
    for i in step.features_:
        column = columns[int(i)]
        if isinstance(column, Number):
            gap = 1.0 if column.fill is None else 0.0
            out.append(Coded(column.attribute, (), gap, 0.0))
        elif isinstance(column, Coded):
            marked = column.mapped(lambda code: float(math.isnan(code)))
            out.append(replace(marked, knows_gaps=True, also_missing=()))
        else:
            out.append(Coded(column.attribute, (), 0.0, 0.0))
    return out


def _impute(step: Any, columns: Columns, where: str) -> Columns:
    if not is_gap(step.missing_values):
        raise UnsupportedModelError(
            f"{where} replaces {step.missing_values!r}, not missing values.",
            remedy="Mark gaps as NaN before the pipeline.",
        )
    if len(step.statistics_) != len(columns):
        raise InvalidModelError(f"{where} was fitted on {len(step.statistics_)} columns, but gets {len(columns)}.")
    out: Columns = []
    for column, value in zip(columns, step.statistics_, strict=True):
        if is_gap(value):
            if getattr(step, "keep_empty_features", False):
                out.append(column.filled(0))
            continue
        out.append(column.filled(scalar(value, f"{where}: a fill value")))
    return out + (_indicators(step.indicator_, columns) if step.indicator_ is not None else [])


def _bins(step: Any, columns: Columns, where: str) -> Columns:
    out: Columns = []
    for column, edges in zip(columns, step.bin_edges_, strict=True):
        source = _unscaled(column, where)
        # A value on an inner edge belongs to the bin above it.
        tops = (*(math.nextafter(float(edge), -math.inf) for edge in edges[1:-1]), math.inf)
        coding = range(len(tops))
        filled = None if source.fill is None else float(np.searchsorted(edges[1:-1], float(source.fill), side="right"))
        if step.encode == "ordinal":
            out.append(Stepped(source.attribute, tops, tuple(float(k) for k in coding), filled))
            continue
        for dummy in coding:
            gap = None if filled is None else float(filled == dummy)
            out.append(Stepped(source.attribute, tops, tuple(float(k == dummy) for k in coding), gap))
    return out


def _binarized(step: Any, columns: Columns, where: str) -> Columns:
    out: Columns = []
    for column in columns:
        source = column if isinstance(column, Number) else _unscaled(column, where)
        gap = None if source.fill is None else float(float(source.fill) > step.threshold)
        end = source.pulled_back(float(step.threshold), rounded=False)
        out.append(source.stepped((end, math.inf), (0.0, 1.0), gap))
    return out


def _identity(step: Any, columns: Columns, where: str) -> Columns:
    if step.func is not None:
        name = getattr(step.func, "__name__", "a function")
        raise UnsupportedModelError(
            f"{where} applies {name!r}, which cannot be inverted from outside.",
            remedy="Apply it before the pipeline, and declare its result as the attribute.",
        )
    return columns


def selected_columns(selection: Any, columns: Columns, names: list[str], where: str) -> Columns:
    """Return the columns that a ColumnTransformer's entry selects."""
    if isinstance(selection, str | int | np.integer):
        selection = [selection]
    if isinstance(selection, slice):
        bounds = [
            names.index(b) + (which == "stop") if isinstance(b, str) else b
            for which, b in (("start", selection.start), ("stop", selection.stop))
        ]
        return columns[bounds[0] : bounds[1] : selection.step]
    if callable(selection):
        raise UnsupportedModelError(f"{where} selects its columns by a function.", remedy="List their names instead.")
    chosen = list(np.ravel(selection)) if not isinstance(selection, list) else selection
    if chosen and all(isinstance(c, bool | np.bool_) for c in chosen):
        return [column for column, keep in zip(columns, chosen, strict=True) if keep]
    return [columns[names.index(str(c)) if isinstance(c, str) else int(c)] for c in chosen]


def _column_transformer(step: Any, columns: Columns, where: str) -> Columns:
    names = [str(name) for name in getattr(step, "feature_names_in_", [])]
    out: Columns = []
    for name, inner, selection in step.transformers_:
        if isinstance(inner, str) and inner == "drop":
            continue
        picked = selected_columns(selection, columns, names, f"{where}, {name!r}")
        out += through(inner, picked, f"{where}, {name!r}") if picked else []
    return out


def _sequence(step: Any, columns: Columns, where: str) -> Columns:
    for name, inner in step.steps:
        columns = through(inner, columns, f"{where}, {name!r}")
    return columns


def _union(step: Any, columns: Columns, where: str) -> Columns:
    out: Columns = []
    for name, inner in step.transformer_list:
        out += [] if isinstance(inner, str) and inner == "drop" else through(inner, columns, f"{where}, {name!r}")
    return out


READERS: dict[str, Callable[[Any, Columns, str], Columns]] = {
    "Pipeline": _sequence,
    "ColumnTransformer": _column_transformer,
    "FeatureUnion": _union,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "StandardScaler": _shift_and_scale,
    "MinMaxScaler": _shift_and_scale,
    "MaxAbsScaler": _shift_and_scale,
    "RobustScaler": _shift_and_scale,
    "SimpleImputer": _impute,
    "MissingIndicator": lambda step, columns, where: _indicators(step, columns),
    "KBinsDiscretizer": _bins,
    "Binarizer": _binarized,
    "FunctionTransformer": _identity,
    "SelectorMixin": lambda step, columns, where: list(compress(columns, step.get_support())),
}
SUPPORTED: Sequence[str] = [name for name in READERS if name != "SelectorMixin"] + ["feature selection", "passthrough"]


def through(step: object, columns: Columns, where: str) -> Columns:
    """Return the columns that a fitted transformer makes of columns."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return columns
    kinds = [name for name in sklearn_names(step) if name in READERS]
    if not kinds:
        raise UnsupportedModelError(
            f"{where} is a {type(step).__name__}, whose columns are not functions of one attribute each, or which is "
            "not known.",
            remedy=f"Fit the tree without it, or use {', '.join(SUPPORTED)}.",
        )
    width = getattr(step, "n_features_in_", None)
    if width is not None and int(width) != len(columns):
        raise _unlike(f"{where} was fitted on {width} columns, but gets {len(columns)}.")
    try:
        return READERS[kinds[0]](step, columns, where)
    except AttributeError as error:
        raise InvalidModelError(f"{where} is not fitted: {error}.", remedy="Fit the pipeline first.") from None
    except GlassineError:
        raise
    except (TypeError, IndexError, OverflowError, ValueError) as error:
        raise InvalidModelError(f"{where} holds values that it cannot have: {error}.") from None
