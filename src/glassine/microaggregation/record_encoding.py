"""Records as numbers and codes of categories, from arrays, frames and domains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from glassine.data.record_table import RecordTable, as_table, frame_of
from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.domain.attributes import LARGEST, Scalar
from glassine.domain.refusals import refuse_codes, refuse_prefixes
from glassine.errors import InvalidDataError, parameter
from glassine.records.arrays import AnyArray, Array, Bools
from glassine.records.cells import ANY_NUMBER, Flag, Reader
from glassine.records.columns import values_of
from glassine.records.undeclared import read_checked

MOST_VALUES = 1000
"""Most values of a category: the dissimilarities of all pairs are kept."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Unscaled:
    """Records before they are scaled."""

    names: tuple[str, ...]  # The attributes, in order
    numeric: Bools  # Which of them are numbers; shape (d,)
    numbers: Array  # The numbers, in order; NaN for a missing one; shape (n, p)
    # The values of each other attribute; the last is None where one may be missing.
    values: tuple[tuple[Scalar | None, ...], ...]
    codes: npt.NDArray[np.int32]  # Index of each record's value; shape (n, q)
    bounds: Array | None = None  # Public bounds of the numbers, if a domain declares them; shape (2, p), or None

    def reorder(self, names: tuple[str, ...]) -> Unscaled:
        """Return the same attributes in another order."""
        numbers = [name for name, numeric in zip(self.names, self.numeric, strict=True) if numeric]
        categories = [name for name in self.names if name not in numbers]
        first = [numbers.index(name) for name in names if name in numbers]
        second = [categories.index(name) for name in names if name in categories]
        return Unscaled(
            names=names,
            numeric=np.array([name in numbers for name in names]),
            numbers=self.numbers[:, first],
            values=tuple(self.values[j] for j in second),
            codes=self.codes[:, second],
            bounds=None if self.bounds is None else self.bounds[:, first],
        )


def read_unscaled(
    X: object,
    *,
    domain: Domain | None,
    categorical: bool,
    categories: Mapping[str, Sequence[Scalar | None]],
    names: Sequence[str] = (),
) -> Unscaled:
    """Read records."""
    # Shapes: X (n, d), or data frame.
    if sparse.issparse(X):
        raise InvalidDataError(f"{parameter('X')} must be dense, got a sparse matrix.", remedy="Call its toarray().")
    if np.ma.isMaskedArray(X):
        raise InvalidDataError(
            f"{parameter('X')} must hold a value everywhere, got a masked array.",
            remedy="Fill it, or drop these records.",
        )
    if domain is not None:
        return _conformed(X, domain, categorical=categorical, categories=categories)
    table = _opened(X)
    if table is None:
        array = _as_array(X, objects=categorical)
        width = array.shape[1]
        names = tuple(names) if len(names) == width else tuple(f"x{i}" for i in range(width))
        if array.dtype != object and not categories:
            return _of_numbers(names, array)
        arrays = dict(zip(names, array.T, strict=True))
        booleans: set[str] = set()
    else:
        arrays = table.arrays
        schema = table.frame.collect_schema()
        booleans = {name for name in arrays if schema[name] == nw.Boolean}
    absent = [name for name in categories if name not in arrays]
    if absent:
        raise InvalidDataError(
            f"data lack the column {absent[0]!r}, whose values are given.", remedy="Add or rename it."
        )
    return _of_columns(arrays, booleans, categorical=categorical, categories=categories)


def _opened(X: object) -> RecordTable | None:
    """Return a frame with named columns as a table, or None for anything else."""
    if frame_of(X) is None:
        return None
    table = as_table(X)
    return table if not table.names or any(isinstance(name, str) for name in table.names) else None


def _as_array(X: object, *, objects: bool) -> AnyArray:
    try:
        # Without a common type, numbers beside text stay numbers.
        array = np.asarray(X) if isinstance(X, np.ndarray) or not objects else np.array(X, dtype=object)
        if array.ndim == 1 and any(isinstance(row, list | tuple) for row in array.tolist()):
            raise ValueError("rows of several lengths")
    except ValueError:
        raise InvalidDataError(
            f"{parameter('X')} must have as many values in each row, got rows of several lengths.", remedy="Fill them."
        ) from None
    if array.ndim != 2:
        raise InvalidDataError(
            f"{parameter('X')} must be a table of shape (n, d), got {array.ndim} dimension(s).",
            remedy="Reshape one attribute with X[:, None].",
        )
    if 0 in array.shape:
        raise InvalidDataError(
            f"{parameter('X')} must hold at least one record and one attribute, got shape {array.shape}.",
            remedy="Check it.",
        )
    if array.dtype.kind in "OUS" and objects:
        return array.astype(object)
    if array.dtype.kind == "O":
        array = np.column_stack([_numbers_of(f"x{i}", array[:, i]) for i in range(array.shape[1])])
    if array.dtype.kind not in "biuf":
        raise InvalidDataError(
            f"{parameter('X')} must hold numbers, got {array.dtype}.",
            remedy=f"Code it as numbers, or use {parameter('distance', 'gower')} for categories.",
        )
    return array


def _of_numbers(names: tuple[str, ...], array: AnyArray) -> Unscaled:
    numbers = np.ascontiguousarray(array, dtype=np.float64)
    for j, name in enumerate(names):
        _check_finite(name, numbers[:, j])
    return Unscaled(
        names=names,
        numeric=np.ones(len(names), dtype=bool),
        numbers=numbers + 0.0,
        values=(),
        codes=np.empty((len(numbers), 0), dtype=np.int32),
    )


def _check_finite(name: str, column: Array) -> None:
    # Neither the value nor its record is named.
    if (np.abs(column) > LARGEST).any():
        raise InvalidDataError(
            f"column {name!r} holds infinity or a number beyond 1e300.", remedy="Replace or drop these records."
        )


def _numbers_of(name: str, column: AnyArray) -> Array:
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    numbers, flags = ANY_NUMBER.column(column)
    if (flags == Flag.UNDECLARED).any():
        raise InvalidDataError(
            f"column {name!r} holds something else than numbers, and a Euclidean distance needs numbers.",
            remedy=f"Code it as numbers, or use {parameter('distance', 'gower')} or a SemanticDistance.",
        )
    # A number beyond the largest is refused, as in a column of numbers.
    return np.where((flags == Flag.CLIPPED) | (flags == Flag.INFINITE), math.inf, numbers)


def _of_columns(
    arrays: Mapping[str, AnyArray],
    booleans: set[str],
    *,
    categorical: bool,
    categories: Mapping[str, Sequence[Scalar | None]],
) -> Unscaled:
    numbers, codes, values, numeric = [], [], [], []
    for name, column in arrays.items():
        is_category = name in categories or (categorical and (name in booleans or _holds_words(column)))
        numeric.append(not is_category)
        if not is_category:
            numbers.append(_numbers_of(name, column))
            _check_finite(name, numbers[-1])
            continue
        # Booleans without gaps are read as 0 and 1.
        listed = column.astype(bool).tolist() if name in booleans and column.dtype.kind == "i" else column.tolist()
        codes.append(_codes_of(name, listed, categories.get(name)))
        values.append(codes[-1][1])
    n = len(next(iter(arrays.values())))
    return Unscaled(
        names=tuple(arrays),
        numeric=np.array(numeric, dtype=bool),
        numbers=np.column_stack(numbers) + 0.0 if numbers else np.empty((n, 0)),
        values=tuple(values),
        codes=np.column_stack([each for each, _ in codes]) if codes else np.empty((n, 0), dtype=np.int32),
    )


def _holds_words(column: AnyArray) -> bool:
    """Return whether a column that nothing declares is a category: it holds truth values, or what is no number."""
    if column.dtype.kind in "biuf":
        return False
    truths = any(issubclass(kind, bool | np.bool_) for kind in set(map(type, column.tolist())))
    return truths or bool((ANY_NUMBER.column(column)[1] == Flag.UNDECLARED).any())


def _codes_of(
    name: str, column: list[Any], values: Sequence[Scalar | None] | None
) -> tuple[npt.NDArray[np.int32], tuple[Scalar | None, ...]]:
    """Return codes and values, None the last of them where one is missing."""
    inferred = values is None
    if values is None:
        plain = {value.item() if isinstance(value, np.generic) else value for value in column if _is_plain(value)}
        present = [value for value in plain if value == value]
        if len({isinstance(value, str) for value in present}) > 1:
            raise InvalidDataError(f"column {name!r} holds both text and numbers.", remedy="Convert all of it to text.")
        values = tuple(sorted(present))
    listed = [value for value in values if value is not None]
    codes, flags = Reader(Category(tuple(listed) or (0,), missing=True)).column(column)
    odd = int((flags > Flag.MISSING).sum())
    if odd and inferred:
        raise InvalidDataError(
            f"column {name!r} holds values that are no text, number or truth value: {odd} records.",
            remedy="Convert them to strings.",
        )
    if odd:
        raise InvalidDataError(
            f"column {name!r} holds values that its taxonomy, or the records of the groups, do not have: {odd} "
            "records.",
            remedy="Add them to the taxonomy, or drop the records.",
        )
    if (flags == Flag.MISSING).any() and None not in values:
        values = (*values, None)
    if len(values) > MOST_VALUES:
        raise InvalidDataError(
            f"column {name!r} has {len(values)} different values, more than {MOST_VALUES}: an identifier? "
            "Leave it out, or merge rare values."
        )
    # A missing value has the code -1, and so the last place.
    places = [place for place, value in enumerate(values) if value is not None]
    gap = list(values).index(None) if None in values else -1
    return np.array([*places, gap], dtype=np.int32)[codes], tuple(values)


def _is_plain(value: object) -> bool:
    # A foreign type may say of itself that it is another.
    return issubclass(type(value), str | int | float | np.bool_ | np.number)


def _conformed(
    X: object, domain: Domain, *, categorical: bool, categories: Mapping[str, Sequence[Scalar | None]]
) -> Unscaled:
    if not isinstance(domain, Domain):
        raise InvalidDataError(
            f"{parameter('domain')} must be a Domain or None, got {type(domain).__name__}.", remedy="Declare one."
        )
    refuse_prefixes(domain, "microaggregation")
    refuse_codes(domain, "microaggregation")
    columns = read_checked(X, domain)
    if columns.n_records == 0:
        raise InvalidDataError(f"{parameter('X')} must hold at least one record, got none.", remedy="Check the data.")
    absent = [name for name in categories if name not in domain]
    if absent:
        raise InvalidDataError(
            f"the domain lacks the attribute {absent[0]!r}, whose values are given.", remedy="Declare it."
        )
    numbers, bounds, codes, values, numeric = [], [], [], [], []
    for name in columns.names:
        attribute, array = domain[name], columns.array(name)
        gaps = array < 0 if name in columns.codes else np.isnan(array)
        if gaps.any() and not attribute.missing:
            raise InvalidDataError(
                f"column {name!r} holds a missing or undeclared value.", remedy="Declare or drop it."
            )
        is_category = isinstance(attribute, Category | Binary) and (categorical or isinstance(attribute, Category))
        if is_category and not categorical:
            raise InvalidDataError(
                f"the attribute {name!r} is a category, and a Euclidean distance needs numbers.",
                remedy=f"Use {parameter('distance', 'gower')} or a SemanticDistance.",
            )
        numeric.append(not (is_category or name in categories))
        if numeric[-1]:
            numbers.append(np.where(gaps, np.nan, array))
            bounds.append((attribute.lo, attribute.hi) if isinstance(attribute, Integer | Real) else (0.0, 1.0))
        else:
            declared: tuple[Scalar, ...] = values_of(attribute)
            listed, own = columns.values(name).tolist(), categories.get(name, declared)
            # Whether some record lacks a value or none: a later one may.
            coded = _codes_of(name, listed, (*own, None) if attribute.missing and None not in own else own)
            codes.append(coded[0])
            values.append(coded[1])
    n = columns.n_records
    return Unscaled(
        names=columns.names,
        numeric=np.array(numeric, dtype=bool),
        numbers=np.column_stack(numbers) if numbers else np.empty((n, 0)),
        values=tuple(values),
        codes=np.column_stack(codes) if codes else np.empty((n, 0), dtype=np.int32),
        bounds=np.array(bounds, dtype=np.float64).reshape(-1, 2).T,
    )
