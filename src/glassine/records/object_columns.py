"""Records of rows, mappings and masked arrays as columns of the objects that they hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidDataError
from glassine.records.cells import Coded, Plain
from glassine.records.containers import is_row, of_one_length, plain_column

if TYPE_CHECKING:
    pass
else:
    pass


def as_columns(X: object, names: Iterable[str] | None) -> Any:
    """Return a list of mappings, a structured array or a mapping of columns as a frame of these columns."""
    # Anything else is returned unchanged.
    #
    # Values stay the objects that they are. Without names all keys are columns. A record without a key has a missing
    # value there.
    import polars as pl

    if isinstance(X, np.ma.MaskedArray) and X.dtype.names is None:
        return unmasked(X)
    if isinstance(X, np.ndarray) and X.dtype.names is not None and X.ndim == 1:
        return pl.DataFrame([_series(name, X[name]) for name in X.dtype.names])
    # A sparse matrix by its entries is a dict, too, and is refused as every sparse matrix is.
    if isinstance(X, Mapping) and not hasattr(X, "columns") and not hasattr(X, "tocsr"):
        columns = {name: plain_column(X[name]) for name in (X if names is None else names) if name in X}
        return pl.DataFrame([_series(name, column) for name, column in of_one_length(columns).items()])
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


def _series(name: str, column: Plain) -> Any:
    import polars as pl

    if isinstance(column, pl.Series):
        return column.alias(name)
    if isinstance(column, np.ndarray) and column.dtype.kind != "O" and not isinstance(column, np.ma.MaskedArray):
        return pl.Series(name, column)
    if isinstance(column, Coded):
        cells = [column.values[place] if place >= 0 else None for place in column.places.tolist()]
    else:
        cells = unmasked(column).tolist() if isinstance(column, np.ma.MaskedArray) else list(column)
    return pl.Series(name, cells, dtype=pl.Object)


def rows_as_objects(rows: Sequence[Any]) -> npt.NDArray[np.object_]:
    """Return rows as an array of their own values: NumPy would seek a type that all of them have in common."""
    cells = [list(row) if is_row(row) else [] for row in rows]
    width = len(cells[0])
    if any(len(row) != width for row in cells):
        raise InvalidDataError("the rows of X must have one length.", remedy="Fill in None where a value is missing.")
    out = np.empty((len(cells), width), dtype=object)
    for i, row in enumerate(cells):
        for j, value in enumerate(row):
            out[i, j] = value
    return out
