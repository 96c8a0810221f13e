"""What stands beside records: whether a target, persons or weights are a column of them, and in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from numbers import Integral
from typing import Any

import narwhals as nw
import numpy as np

from glassine.errors import InvalidDataError, NotAlignedWarning, parameter, warn_caller
from glassine.records.containers import Opened, is_lazy


def one_column(X: object, y: Any, name: str) -> Any:
    """Return a target or identifiers as a column's name or as one column of known length; no value is looked at.

    Parameters
    ----------
    X : object
        The records beside it.
    y : object
        A name, a column, or a frame of one column; None and NumPy arrays of any shape are returned as they are.
    name : str
        The parameter that ``y`` was passed as, for errors.

    Raises
    ------
    InvalidDataError
        If ``y`` is none of these; or is a column, and ``X`` a lazy frame, whose records have no order.
    """
    if y is None or isinstance(y, str):
        return y
    if is_lazy(X):
        raise InvalidDataError(
            f"records of a lazy frame have no order that {parameter(name)} could follow.",
            remedy="Pass the name of its column.",
        )
    if hasattr(y, "__array__") and not hasattr(y, "__len__"):
        return np.asarray(y)
    formless = (nw.DataFrame, nw.LazyFrame, Mapping, bytes)
    with suppress(nw.exceptions.DuplicateError):
        frame = nw.from_native(y, pass_through=True, allow_series=True)
        if isinstance(frame, nw.DataFrame) and len(frame.columns) == 1:
            return frame[:, 0].to_native()
        if hasattr(y, "__len__") and hasattr(y, "__getitem__") and not isinstance(frame, formless):
            return y
    raise InvalidDataError(
        f"{parameter(name)} must be a list, an array, a series or the name of a column, got {type(y).__name__}.",
        remedy="Pass one column.",
    )


def check_alignment(records: object, **aligned: object) -> None:
    """Raise unless a target, persons or weights that have an index are in the order of the records.

    Guarantee
    ---------
    What is said follows from lengths and indexes, which are a part of what a table is, and from no value of a record.
    It does not quote them.

    Parameters
    ----------
    records : data frame, array-like or Opened
        The records. Only a container with an index, such as one of pandas, has an order to compare.
    **aligned : series, array-like, str or None
        What belongs to the records, by the name of its parameter. A column's name, or nothing, is always aligned.

    Raises
    ------
    InvalidDataError
        If both have an index and both hold the same labels, but in another order; or if labels differ and
        neither index is a default range, from 0 in steps of 1.

    Warns
    -----
    NotAlignedWarning
        If labels differ and one index is a default range: they go by position.

    Examples
    --------
    >>> import pandas as pd
    >>> X, y = pd.DataFrame({"age": [20, 30]}, index=[7, 3]), pd.Series([0, 1], index=[3, 7])
    >>> check_alignment(X, y=y.to_numpy())
    >>> check_alignment(X, y=y)
    Traceback (most recent call last):
        ...
    glassine.errors.InvalidDataError: y has the index of the records in another order. Sort it as they are, \
for example with y.loc[X.index], or pass y.to_numpy() if it is in their order.
    """
    order = _index(records)
    if order is None:
        return
    for name, values in aligned.items():
        other = _index(values)
        if other is None or len(other) != len(order) or _equal(order, other):
            # That lengths differ is said by the reader, which knows what it counts.
            continue
        own, its, spelled = _labels(order), _labels(other), parameter(name)
        if (count := Counter(own)) == Counter(its):
            sort = "Sort it as they are" if len(count) == len(own) else "Give each record a label that no other has"
            way = f", for example with {name}.loc[X.index]" if len(count) == len(own) else ""
            raise InvalidDataError(
                f"{spelled} has the index of the records in another order.",
                remedy=f"{sort}{way}, or pass {name}.to_numpy() if it is in their order.",
            )
        if [*range(len(own))] not in (own, its):
            raise InvalidDataError(
                f"{spelled} has another index than the records.",
                remedy=f"Give both one index, or pass {name}.to_numpy() if it is in the order of the records.",
            )
        warn_caller(
            f"{name} has another index than the records, and one of the two is a default range: they go by position.",
            NotAlignedWarning,
        )


def _index(values: Any) -> Sequence[Any] | None:
    """Return the labels of what has some, as it holds them; None of everything else, and of what is not in memory."""
    while isinstance(values, Opened):
        values = values.container
    native = getattr(values, "to_native", None)
    values = native() if callable(native) else values
    index = getattr(values, "index", None)
    # A list has a method of that name, and a lazy frame an index that is not there yet.
    lazy = index is None or callable(index) or hasattr(index, "compute") or not hasattr(index, "__len__")
    return None if lazy or isinstance(values, str) else index


def _labels(index: Any) -> list[Hashable]:
    """Return the labels of an index as plain values: 7 is 7 in an index of any type."""
    return [*map(_label, index.tolist() if hasattr(index, "tolist") else index)]


def _label(label: Any) -> Any:
    if isinstance(label, tuple):
        return tuple(map(_label, label))
    # What a foreign type calls equal may be no truth value, and it may have no hash.
    return label if isinstance(label, str | float | Integral) and label == label else repr(label)


def _equal(one: Any, other: Any) -> bool:
    return one is other or (hasattr(one, "equals") and bool(one.equals(other))) or _labels(one) == _labels(other)


def target_name(y: object) -> str:
    """Return the name of a target, which is a name itself or may have one; empty without."""
    name = y if isinstance(y, str) else getattr(y, "name", None)
    return name if isinstance(name, str) else ""


def holds_booleans(y: object) -> bool:
    """Return whether the type of a target is public and allows truth values alone."""
    # An array, Polars and Arrow have a type before they have records. A list has none, and pandas derives it from them.
    if isinstance(y, np.ndarray):
        return bool(y.dtype.kind == "b")
    series = nw.from_native(y, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series) or series.implementation.is_pandas_like():
        return False
    return bool(series.dtype == nw.Boolean)


def listed(values: Any, name: str = "persons") -> Sequence[Any]:
    """Return identifiers or classes as Python objects, each as it stands in its container."""
    if isinstance(values, list | tuple):
        return values
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise InvalidDataError(
                f"{parameter(name)} must have shape (n,), got {values.shape}.", remedy="Pass one column."
            )
        out: list[Any] = values.tolist()
        return out
    try:
        return list(nw.from_native(values, series_only=True).to_list())
    except TypeError:
        raise InvalidDataError(
            f"{parameter(name)} must be a list, an array, a series or the name of a column, got "
            f"{type(values).__name__}."
        ) from None
