"""Records made to conform to a domain: numbers clipped, unknown categories set apart, one record at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Flag, auto
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.data.table import collect
from glassine.domain.domain import Domain
from glassine.errors import InvalidDataError
from glassine.records.arrays import AnyArray
from glassine.records.columns import Columns
from glassine.records.containers import are_rows, check_width
from glassine.records.reading import read_checked, read_settled

__all__ = [
    "Outside",
    "are_rows",
    "as_columns",
    "check_width",
    "collect",
    "conform",
    "rows_as_objects",
    "unmasked",
]


class Outside(Flag):
    """What becomes of a value that lies outside its attribute. A number beyond its bounds is clipped in any case.

    Attributes
    ----------
    CLIP
        Nothing is refused because of a value. What no number can be read from becomes missing, and a missing number
        that the attribute does not allow its lower bound. A category that is not declared becomes missing.
    REFUSE
        A value that is missing or no number, where the attribute asks for one, is an error.
    KEEP_UNDECLARED
        As the others, and a category that is not declared has its own code, -2. May be joined: ``REFUSE |
        KEEP_UNDECLARED``.
    """

    CLIP = 0
    REFUSE = auto()
    KEEP_UNDECLARED = auto()

    @property
    def refuses(self) -> bool:
        """Whether a value can be refused."""
        return Outside.REFUSE in self


def conform(
    data: object, domain: Domain, names: Iterable[str] | None = None, *, outside: Outside = Outside.REFUSE
) -> Columns:
    """Return the attributes of a domain as columns, values outside the domain brought into it record by record."""
    take = read_checked if outside.refuses else read_settled
    return take(data, domain, names, keep_undeclared=Outside.KEEP_UNDECLARED in outside)


def as_columns(X: object, names: Iterable[str] | None) -> Any:
    """Return a list of mappings or a structured array as a frame of these columns."""
    # Anything else is returned unchanged.
    #
    # Values stay the objects that they are. Without names all keys are columns. A record without a key has a missing
    # value there.
    import polars as pl

    if isinstance(X, np.ndarray) and isinstance(X, np.ma.MaskedArray):
        return unmasked(X)
    if isinstance(X, np.ndarray) and X.dtype.names is not None and X.ndim == 1:
        return pl.DataFrame([_series(name, X[name]) for name in X.dtype.names])
    if not isinstance(X, list | tuple) or not X or not all(isinstance(row, Mapping) for row in X):
        return X
    keys = dict.fromkeys(key for row in X for key in row)
    names = keys if names is None else names
    for name in names:
        if name not in keys:
            raise InvalidDataError(f"no record has a value for {name!r}.", remedy="Add it, or drop the attribute.")
    return pl.DataFrame({name: pl.Series([row.get(name) for row in X], dtype=pl.Object) for name in names})


def unmasked(values: np.ma.MaskedArray[Any, Any]) -> npt.NDArray[np.object_]:
    """Return the values of a masked array as objects, None where they are masked."""
    out = np.asarray(np.ma.getdata(values)).astype(object)
    out[np.ma.getmaskarray(values)] = None
    return out


def _series(name: str, column: AnyArray) -> Any:
    import polars as pl

    if column.dtype.kind == "O":
        return pl.Series(name, column.tolist(), dtype=pl.Object)
    return pl.Series(name, column)


def _is_row(row: object) -> bool:
    return isinstance(row, Iterable) and not isinstance(row, str | bytes | Mapping)


def rows_as_objects(rows: Sequence[Any]) -> npt.NDArray[np.object_]:
    """Return rows as an array of their own values: NumPy would seek a type that all of them have in common."""
    cells = [list(row) if _is_row(row) else [] for row in rows]
    width = len(cells[0])
    if any(len(row) != width for row in cells):
        raise InvalidDataError("the rows of X must have one length.", remedy="Fill in None where a value is missing.")
    out = np.empty((len(cells), width), dtype=object)
    for i, row in enumerate(cells):
        for j, value in enumerate(row):
            out[i, j] = value
    return out
