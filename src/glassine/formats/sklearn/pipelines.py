"""Fitted scikit-learn preprocessing, read as columns of the original attributes."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Any, TypeAlias

import numpy as np

from glassine.domain.attributes import Scalar
from glassine.domain.prefixes import GAP_TEXTS
from glassine.errors import GlassineError, InvalidModelError, UnsupportedModelError
from glassine.formats.conditions import kinds_of, scalar
from glassine.formats.sklearn.encodings import Coded, Column, Number, Stepped, coded, is_gap

Columns: TypeAlias = list[Column]


def sklearn_names(obj: object) -> list[str]:
    """Return the names of the scikit-learn classes that an object is an instance of, most special first."""
    return kinds_of(obj, "sklearn")


def overrides(obj: object, method: str) -> bool:
    """Return whether a class from elsewhere replaces a method of the scikit-learn class that it is derived from."""
    for cls in type(obj).__mro__:
        if cls.__module__.split(".")[0] == "sklearn":
            return False
        if method in vars(cls):
            return True
    return False


def _unlike(reason: str) -> InvalidModelError:
    return InvalidModelError(reason, remedy="Fit the pipeline again.")


def steps_of(pipeline: Any) -> list[tuple[str, Any]]:
    """Return the steps of a pipeline, with those of a pipeline at its end."""
    steps = list(pipeline.steps)
    while steps and "Pipeline" in sklearn_names(steps[-1][1]):
        steps[-1:] = steps[-1][1].steps
    return steps


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


def _coded(column: Column, categories: list[Any], codes: list[float], other: float | None, where: str) -> Column:
    """Return a column of codes, given those of an encoder's categories."""
    if isinstance(column, Number):
        if column.steps:
            raise UnsupportedModelError(f"{where} encodes a column that was scaled.", remedy="Encode it first.")
        return coded(column, categories, codes, other)
    of = {float(category): code for category, code in zip(categories, codes, strict=True)}
    if not of.keys() >= set(column.numbers) and other is None:
        raise UnsupportedModelError(f"{where} refuses codes of the step before it.", remedy="Fit the pipeline again.")
    return column.mapped(lambda code: of.get(code, math.nan if other is None else other))


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
    if "MaxAbsScaler" in kind and getattr(step, "clip", False):
        scaled = [c.then(("div", a)) for c, a in zip(columns, _scales(step, n, where), strict=True)]
        return [c.then(("at least", -1.0), ("at most", 1.0)) for c in scaled]
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
        listed = list(categories)
        groups = _groups(listed, rare)
        dropped = None if drop is None else groups[int(drop)]
        unknown = None if step.handle_unknown == "error" else -1
        if step.handle_unknown in ("infrequent_if_exist", "warn") and rare is not None:
            unknown = max(groups)
        for dummy in range(max(groups) + 1):
            if dummy != dropped:
                codes = [float(group == dummy) for group in groups]
                out.append(_coded(column, listed, codes, None if unknown is None else float(unknown == dummy), where))
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
        out.append(_coded(column, listed, codes, other, where))
    return out


def _mark(step: Any, where: str) -> Scalar | None:
    """Return the value that a step takes for a gap, None for those that are missing."""
    return None if is_gap(step.missing_values) else scalar(step.missing_values, f"{where}: what is missing")


def _indicators(step: Any, columns: Columns, where: str) -> Columns:
    out: Columns = []
    mark = _mark(step, where)
    for i in step.features_:
        column = columns[int(i)]
        if isinstance(column, Number) and mark is not None:
            own = () if column.steps or column.mark else ((mark, 1.0),)
            out.append(Coded(column.attribute, own, None, 0.0, mark in GAP_TEXTS))
        elif isinstance(column, Number):
            gap = 1.0 if column.fill is None else 0.0
            out.append(Coded(column.attribute, (), gap, 0.0))
        elif mark is not None:
            out.append(column.mapped(lambda code: float(code == mark)))
        elif isinstance(column, Coded):
            marked = column.mapped(lambda code: float(math.isnan(code)))
            out.append(replace(marked, knows_gaps=True, also_missing=()))
        else:
            out.append(Coded(column.attribute, (), 0.0, 0.0))
    return out


def _impute(step: Any, columns: Columns, where: str) -> Columns:
    mark = _mark(step, where)
    if len(step.statistics_) != len(columns):
        raise InvalidModelError(f"{where} was fitted on {len(step.statistics_)} columns, but gets {len(columns)}.")
    out: Columns = []
    for column, value in zip(columns, step.statistics_, strict=True):
        if is_gap(value):
            if getattr(step, "keep_empty_features", False):
                out.append(column.filled(0) if mark is None else column.replaced(mark, 0))
            continue
        fill = scalar(value, f"{where}: a fill value")
        out.append(column.filled(fill) if mark is None else column.replaced(mark, fill))
    return out + (_indicators(step.indicator_, columns, where) if step.indicator_ is not None else [])


def _bins(step: Any, columns: Columns, where: str) -> Columns:
    out: Columns = []
    for column, edges in zip(columns, step.bin_edges_, strict=True):
        # A value on an inner edge belongs to the bin above it.
        inner = [float(edge) for edge in edges[1:-1]]
        binned = _stepped(column, inner, partial(bisect_right, inner))
        if step.encode == "ordinal":
            out.append(binned)
        else:
            out += [binned.mapped(partial(_equal, k)) for k in range(len(inner) + 1)]
    return out


def _equal(code: float, other: float) -> float:
    return float(code == other)


def _binarized(step: Any, columns: Columns, where: str) -> Columns:
    above = [math.nextafter(float(step.threshold), math.inf)]
    return [_stepped(column, above, lambda code: float(code > step.threshold)) for column in columns]


def _stepped(column: Column, edges: Sequence[float], change: Callable[[float], float]) -> Coded | Stepped:
    """Return a column behind a step that is constant between edges, each the least of the values above it."""
    if not isinstance(column, Number):
        return column.mapped(lambda code: code if math.isnan(code) else change(code))
    ends = (*(column.pulled_back(float(edge), rounded=False, below=True) for edge in edges), math.inf)
    gap = None if column.fill is None else change(float(column.fill))
    return column.stepped(ends, tuple(float(k) for k in range(len(ends))), gap)


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
        out += _weighed(step, name, through(inner, picked, f"{where}, {name!r}"), where) if picked else []
    return out


def _weighed(step: Any, name: str, columns: Columns, where: str) -> Columns:
    """Return the columns of a transformer times its weight."""
    weight = float((getattr(step, "transformer_weights", None) or {}).get(name, 1.0))
    if weight == 1:
        return columns
    if not 0 < weight < math.inf and any(isinstance(column, Number) for column in columns):
        raise UnsupportedModelError(
            f"{where} gives {name!r} the weight {weight:g}, so that larger values are not larger afterwards.",
            remedy="Use positive weights, or none.",
        )
    return [column.then(("mul", weight)) for column in columns]


def _sequence(step: Any, columns: Columns, where: str) -> Columns:
    for name, inner in step.steps:
        columns = through(inner, columns, f"{where}, {name!r}")
    return columns


def _union(step: Any, columns: Columns, where: str) -> Columns:
    out: Columns = []
    for name, inner in step.transformer_list:
        if not (isinstance(inner, str) and inner == "drop"):
            out += _weighed(step, name, through(inner, columns, f"{where}, {name!r}"), where)
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
    "MissingIndicator": _indicators,
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
    if not kinds or overrides(step, "transform"):
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
