"""Records made to conform to a domain: numbers clipped, unknown categories set apart, one record at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from glassine.data.conform_values import Outside, conformed, declared_numbers, from_objects, plain_arrays
from glassine.data.table import Frame, Table, collect, open_native, read_only
from glassine.domain.attributes import GAP_TEXTS, Attribute, Binary, Category, Integer, Prefix, Real, prefixes
from glassine.domain.domain import Domain
from glassine.errors import InvalidDataError, first_of, parameter
from glassine.records.arrays import AnyArray, Array
from glassine.records.columns import GAP, Columns, checked_columns, code_type, columns_of, is_column, values_of

__all__ = [
    "GAP",
    "Columns",
    "Outside",
    "are_rows",
    "as_columns",
    "checked_columns",
    "collect",
    "conform",
    "expressions",
    "number",
    "open_frame",
    "rows_as_objects",
    "unmasked",
]

Loose: TypeAlias = tuple[Sequence[Any] | Array, AnyArray | None]
"""Python objects or doubles, and where in them each record's value stands if they are not one per record."""

MOST_COMPARED = 64
"""Most values with which a category of a lazy Polars frame is compared one by one: to look values up, Polars takes the
whole column into memory."""


def conform(
    data: object, domain: Domain, names: Iterable[str] | None = None, *, outside: Outside = Outside.REFUSE
) -> Columns:
    """Return the attributes of a domain as columns, values outside the domain brought into it record by record.

    - A number is clipped to the attribute's bounds. It is neither rounded to a whole number nor to the resolution:
      every literal is decided by the number itself, and rounding would let the choice of a direction decide instead.
    - A category that is not declared, and a value of a :class:`Binary` that is neither 0 nor 1, become the missing
      value, whether or not the attribute allows missing values. Values are declared if Python finds them equal:
      1, 1.0 and True are one value.
    - A number and the texts that write it ("1", "1.0", "01", "true") are one value, unless the attribute declares that
      very text, or prefixes. A library or a file may give either, depending on the other records. Two declared texts of
      one number ("1" and "01") are distinguished in columns of text alone.
    - A text that is not listed is read as the longest prefix that it begins with; a number begins with none.
    - Missing values are kept where the attribute allows them; so are the texts of :data:`GAP_TEXTS` that it does not
      declare. An infinite number is then clipped.
    - Unless ``outside`` refuses, nothing is refused because of a value: see :class:`~glassine.data.conform.Outside`. An
      infinite number is then also clipped.

    Ties between attributes (the domain's groups) are not enforced.

    Guarantee
    ---------
    Each row of the result depends on the same row of the data and on the domain alone: nothing is inferred from other
    records, and no record changes how another is read. The column types of pandas, which follow from the records, and
    the objects of a list play no part. Those of other libraries do: they are a public schema. Only the refusals below
    look at all records; unless ``outside`` refuses, they follow from the schema and the number of records.

    Parameters
    ----------
    data : data frame, mapping of str to ndarray, ndarray, or list
        The records: a frame of any library that narwhals reads (pandas, polars, Arrow, DuckDB and so on), arrays of
        shape (n,) by name, one array of shape (n, d) or a list of rows with the attributes in order, a structured
        array, or a list of mappings. Other columns are ignored.
        A lazy frame is collected, the named columns only.
    domain : Domain
        The public domain.
    names : iterable of str, optional
        The attributes to return, at least one; all by default.
    outside : Outside, default=Outside.REFUSE
        What becomes of values outside the domain.

    Returns
    -------
    Columns
        The attributes in the order of ``names``. Numbers are held in double precision, so that whole numbers beyond
        2**53 are rounded to a neighbour; a category takes 1, 2 or 4 bytes per record.

    Raises
    ------
    InvalidDataError
        If ``names`` is empty or a column is absent; if the type of its column in Polars, Arrow or an engine cannot
        hold values of its attribute (dates for a number, fractions for categories that are words); or, if ``outside``
        refuses, if a value cannot be read as a number, or is missing, NaN or infinite in an attribute that allows no
        missing values. The message names the column, never a record or a value.
    InvalidDomainError
        If a name is not an attribute.
    """
    attributes = {name: domain[name] for name in (domain if names is None else names)}
    if not attributes:
        raise InvalidDataError(
            f"{parameter('names')} must hold at least one attribute, got none.",
            remedy="Leave it out to read all of them.",
        )
    if not isinstance(data, Table):
        return checked_columns(attributes, _arrays_of(data, attributes, outside))
    kept, present = data.conformed, set(data.names)
    fresh = {
        name: attribute
        for name, attribute in attributes.items()
        if name not in present or (name, attribute, outside) not in kept
    }
    if fresh:
        columns = checked_columns(fresh, _arrays_of(data, fresh, outside))
        kept.update({(name, attribute, outside): read_only(columns.array(name)) for name, attribute in fresh.items()})
    return columns_of(attributes, {name: kept[name, attribute, outside] for name, attribute in attributes.items()})


def _arrays_of(data: object, attributes: Mapping[str, Attribute], outside: Outside) -> dict[str, AnyArray]:
    """Return the columns of some attributes, converted; forbidden gaps are still in them."""
    frame, loose = open_frame(data, attributes)
    arrays = {name: from_objects(name, attributes[name], *column, outside=outside) for name, column in loose.items()}
    if isinstance(frame, nw.DataFrame):
        rest = {name: attribute for name, attribute in attributes.items() if name not in loose}
        arrays |= _from_numbers(frame, rest, outside)
    plain = {name: attribute for name, attribute in attributes.items() if name not in arrays}
    if plain:
        collected = collect(frame.select(*expressions(frame, plain, outside=outside)))
        arrays |= {name: collected[key].to_numpy() for name, key in zip(plain, collected.columns, strict=True)}
    return arrays


def open_frame(data: Any, attributes: Mapping[str, Attribute]) -> tuple[Frame, dict[str, Loose]]:
    """Return data as a frame that expressions can read, and the columns that they cannot read as they should."""
    wanted = tuple(attributes)
    data = as_columns(data, wanted)
    if are_rows(data):
        data = rows_as_objects(data)
    if isinstance(data, np.ndarray):
        check_width(data, len(wanted))
        data = dict(zip(wanted, data.T, strict=True))
    if isinstance(data, Mapping):
        return _open_arrays({name: data[name] for name in wanted if is_column(name, data)})
    frame = open_native(data)
    schema = frame.collect_schema()
    kinds = {name: schema[name] for name in wanted if is_column(name, schema)}
    if isinstance(frame, nw.LazyFrame):
        return frame, {}
    laid_out = {
        name: _loose(frame[name], kind, attributes[name])
        for name, kind in kinds.items()
        if not _is_plain(kind, attributes[name])
    }
    return frame, {name: loose for name, loose in laid_out.items() if loose is not None}


def check_width(records: AnyArray, width: int) -> None:
    """Raise InvalidDataError unless an array has one column for each of so many attributes."""
    if records.ndim != 2 or records.shape[1] != width:
        raise InvalidDataError(
            f"an array of records must have shape (n, {width}), one column per attribute in order, got "
            f"{records.shape}.",
            remedy="Pass a data frame to name the columns.",
        )


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


def are_rows(X: object) -> bool:
    """Return whether records are a list of rows of any type."""
    return isinstance(X, list | tuple) and any(_is_row(row) for row in X)


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


def _is_plain(kind: nw.dtypes.DType, attribute: Attribute) -> bool:
    """Return whether every column of a type can be read by expressions."""
    whole = kind.is_integer() and not isinstance(attribute, Integer | Real)
    return whole or kind.is_float() or kind == nw.Boolean


def _loose(column: nw.Series[Any], kind: nw.dtypes.DType, attribute: Attribute) -> Loose | None:
    """Return a column of coded values or of Python objects; None for one that expressions can read."""
    native: Any = column.to_native()
    if kind.is_integer() and isinstance(attribute, Integer | Real) and not column.implementation.is_polars():
        # Arrow refuses to convert a whole number that no double equals; NumPy takes a neighbour.
        return np.asarray(column.to_numpy(), dtype=np.float64), None
    if kind in (nw.Categorical, nw.Enum) and hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas
        return [*native.cat.categories.tolist(), None], native.cat.codes.to_numpy()
    if kind in (nw.String, nw.Categorical, nw.Enum):
        # pandas' objects are taken for text if the first hundred are, and whether a column of pandas is of texts or of
        # numbers follows from its records. Dictionaries may hold anything.
        objects = column.implementation.is_pandas_like() or not _plain_words(attribute)
        if kind != nw.String:
            values = column.unique().drop_nulls().to_list()
            objects = objects or not values or not all(isinstance(value, str) for value in values)
    else:
        objects = kind in (nw.Object, nw.Unknown) or (column.implementation.is_pandas_like() and not kind.is_numeric())
    return (column.to_list(), None) if objects else None


def _plain_words(attribute: Attribute) -> bool:
    """Return whether an attribute declares texts alone, none of which writes a number."""
    if not isinstance(attribute, Category) or declared_numbers(attribute) or prefixes(attribute.values):
        return False
    return all(isinstance(value, str) for value in attribute.values)


def _open_arrays(arrays: Mapping[str, Any]) -> tuple[Frame, dict[str, Loose]]:
    import polars as pl

    plain: dict[str, pl.Series] = {}
    loose: dict[str, Loose] = {}
    for name, given in arrays.items():
        array = given if isinstance(given, np.ndarray) else np.array(given, dtype=object)
        if array.ndim != 1 or len(array) != len(next(iter(arrays.values()))):
            raise InvalidDataError(f"columns must be arrays of one length, but {name!r} has shape {array.shape}.")
        if array.dtype.kind == "f":
            plain[name] = pl.Series(array.astype(np.float64, copy=False))
        elif array.dtype.kind in "biu":
            plain[name] = pl.Series(array.astype(array.dtype.newbyteorder("="), copy=False))
        elif array.dtype.kind in "OU":
            # Objects stay what they are: to NumPy, some are lists of numbers.
            loose[name] = list(array) if array.dtype.kind == "O" else array.tolist(), None
        else:
            raise InvalidDataError(
                f"column {name!r} holds {array.dtype}, not numbers, Booleans or text.", remedy="Convert it."
            )
    return nw.from_native(pl.DataFrame(plain)), loose


def expressions(
    frame: Frame, attributes: Mapping[str, Attribute], *, outside: Outside = Outside.REFUSE
) -> list[nw.Expr]:
    """Return the conforming of each attribute as an expression, named ``k0``, ``k1`` and so on."""
    # Numbers are doubles, null where they are missing; categories are codes with GAP for a forbidden gap.
    schema = frame.collect_schema()
    streamed = isinstance(frame, nw.LazyFrame) and frame.implementation.is_polars()
    out = []
    for i, (name, attribute) in enumerate(attributes.items()):
        if isinstance(attribute, Integer | Real):
            value = _clipped(name, attribute, schema[name], refuse=outside.refuses)
        else:
            unknown, gap = outside.codes(attribute)
            # The types of pandas' columns follow from the records: where no value is refused, no type is.
            public = outside.refuses or not frame.implementation.is_pandas_like()
            codes = _known_codes(name, attribute, schema[name], refuse=public)
            value = _coded(name, attribute, schema[name], codes, (unknown, gap), compared=streamed)
        out.append(value.alias(f"k{i}"))
    return out


def number(name: str, kind: nw.dtypes.DType) -> nw.Expr:
    """Return a column as double, or refuse it when its type does not hold numbers."""
    if not (kind.is_numeric() or kind == nw.Boolean):
        raise InvalidDataError(
            f"column {name!r} must hold numbers, got the type {kind}.", remedy="Convert it to a numeric type."
        )
    return nw.col(name).cast(nw.Float64)


def _clipped(name: str, attribute: Integer | Real, kind: nw.dtypes.DType, *, refuse: bool) -> nw.Expr:
    value = number(name, kind)
    # Some engines take NaN for the largest number: it must be set apart before anything is compared.
    usable = value.is_finite() if refuse and not attribute.missing else ~value.is_nan()
    clipped = nw.when(usable).then(value.clip(float(attribute.lo), float(attribute.hi)))
    # Without a value to compare, some engines find neither: a null is no NaN for them.
    return clipped if refuse or attribute.missing else clipped.otherwise(None).fill_null(float(attribute.lo))


def _is_wide(kind: nw.dtypes.DType) -> bool:
    """Return whether a column has whole numbers that may not fit into 64 bits with a sign."""
    return kind in (nw.UInt64, nw.Int128, nw.UInt128)


def _known_codes(name: str, attribute: Category | Binary, kind: nw.dtypes.DType, *, refuse: bool) -> dict[Any, int]:
    """Return the codes of the values that a column of a type can hold, by the values as it holds them."""
    values = values_of(attribute)
    codes: dict[Any, int] = {}
    if kind in (nw.String, nw.Categorical, nw.Enum):
        # A lazy frame's engine reads no numbers from texts: they would have to be among the declared values.
        texts = {value: code for code, value in enumerate(values) if isinstance(value, str)}
        matching = len(texts) == len(values)
        codes = {value: code for value, code in texts.items() if not isinstance(value, Prefix)}
        if attribute.missing:
            codes = dict.fromkeys(GAP_TEXTS, -1) | codes
    elif kind.is_integer() or kind == nw.Boolean:
        numbers = declared_numbers(attribute)
        matching = bool(numbers)
        for value, code in numbers.items():
            if value == int(value):
                whole = int(value)
                if _is_wide(kind):
                    codes[str(whole)] = code
                elif -(2**63) <= whole < 2**63:
                    codes[whole] = code
    elif kind.is_numeric():
        numbers = declared_numbers(attribute)
        matching = bool(numbers)
        codes = {float(value): code for value, code in numbers.items() if float(value) == value}
    else:
        matching = False
    if not matching and refuse:
        raise InvalidDataError(
            f"column {name!r} has the type {kind}, which cannot hold the values of its attribute: "
            f"{first_of([repr(str(value)) for value in values], 8)}.",
            remedy="Convert the column, or declare its values as they are.",
        )
    return codes


def _coded(
    name: str,
    attribute: Category | Binary,
    kind: nw.dtypes.DType,
    codes_of: Mapping[Any, int],
    absent: tuple[int, int],
    *,
    compared: bool,
) -> nw.Expr:
    unknown, gap = absent
    column = nw.col(name)
    usable = ~column.is_null()
    if kind in (nw.String, nw.Categorical, nw.Enum):
        column = column.cast(nw.String)
    elif kind.is_integer() or kind == nw.Boolean:
        # Dask turns no gap into a whole number; which values are gaps is known already.
        whole_or_false = column.fill_null(False) if kind == nw.Boolean else column.fill_null(0)
        column = whole_or_false.cast(nw.String if _is_wide(kind) else nw.Int64)
    else:
        column = column.cast(nw.Float64)
        # Infinity is undeclared, unless gaps are to be refused with it.
        usable = column.is_finite() if gap == GAP else ~column.is_nan()
        # Arrow looks values up by their bits, in which -0.0 differs from 0.0.
        column = nw.when(column == 0).then(nw.lit(0.0)).otherwise(column)
    size = {np.int8: nw.Int8, np.int16: nw.Int16, np.int32: nw.Int32}[code_type(attribute)]
    coded = _looked_up(column, codes_of, unknown, compared=compared)
    if isinstance(attribute, Category) and kind in (nw.String, nw.Categorical, nw.Enum):
        # From the shortest start to the longest, and last what is listed, so that each goes before those that it begins
        # with.
        asked: list[tuple[nw.Expr, Mapping[Any, int]]] = [
            (column.str.slice(0, length), starts) for length, starts in reversed(attribute.places)
        ]
        if asked:
            coded = nw.lit(unknown)
            asked.append((column, dict.fromkeys(GAP_TEXTS, unknown) | dict(codes_of)))
        for texts, codes in asked:
            begun = _looked_up(texts, codes, NO_PLACE, compared=compared)
            coded = nw.when(begun != NO_PLACE).then(begun).otherwise(coded)
    usual: nw.Expr = nw.when(usable).then(coded).otherwise(nw.lit(gap))
    return usual.cast(size)


NO_PLACE = -4
"""Stands for the code of a text that is not looked up; below every code."""


def _looked_up(column: nw.Expr, codes: Mapping[Any, int], absent: int, *, compared: bool) -> nw.Expr:
    """Return the codes of the values of a column, and one for all others."""
    if not codes:
        return nw.lit(absent)
    if not compared or len(codes) > MOST_COMPARED:
        return column.replace_strict(list(codes), list(codes.values()), default=nw.lit(absent), return_dtype=nw.Int64)
    coded: nw.Expr = nw.lit(absent)
    for value, code in codes.items():
        coded = coded + (column == nw.lit(value)).fill_null(False).cast(nw.Int64) * (code - absent)
    return coded


def _from_numbers(
    frame: nw.DataFrame[Any], attributes: Mapping[str, Attribute], outside: Outside
) -> dict[str, AnyArray]:
    """Return what :func:`expressions` would, of the columns that are arrays of numbers already."""
    arrays_of: dict[str, AnyArray] = {}
    for name, array in plain_arrays(frame, attributes).items():
        column = conformed(array, attributes[name], outside)
        if column is not None:
            arrays_of[name] = column
    return arrays_of
