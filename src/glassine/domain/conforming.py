"""Records made to conform to a domain: numbers clipped, unknown categories set apart, one record at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from glassine.domain.attributes import LARGEST, Attribute, Binary, Category, Integer, Real, Scalar
from glassine.domain.domain import Domain, _some
from glassine.domain.literals import Between, Literal
from glassine.errors import InvalidDataError

__all__ = ["Columns", "conform"]

Frame: TypeAlias = nw.DataFrame[Any] | nw.LazyFrame[Any]

Loose: TypeAlias = tuple[Sequence[Any] | npt.NDArray[np.float64], npt.NDArray[Any] | None]
"""Python objects or doubles, and where in them each record's value stands if they are not one per record."""

UNDECLARED = -2
"""Code of a category that is not declared, where it is told apart from a missing one."""

GAP = -3
"""Code of a missing value that the attribute does not allow; it never leaves this module."""

WIDE = (nw.UInt64, nw.Int128, nw.UInt128)
"""Whole numbers that do not fit into 64 bits with a sign."""

MOST_COMPARED = 64
"""Most values with which a category of a lazy Polars frame is compared one by one: to look values up, Polars takes the
whole column into memory."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Columns:
    """Records that conform to a domain, column by column.

    Attributes
    ----------
    attributes : mapping of str to Attribute
        The public attribute of each column, in order.
    numbers : mapping of str to ndarray of float64, shape (n,)
        The :class:`Integer` and :class:`Real` attributes; a missing value is NaN.
    codes : mapping of str to ndarray of int, shape (n,)
        The :class:`Category` and :class:`Binary` attributes: the index into the attribute's values (0 and 1 for a
        :class:`Binary`), or -1 where a value is missing or not declared; -2 where it is not declared, if that was asked
        for.

    Examples
    --------
    >>> domain = Domain({"age": Integer(18, 99), "job": Category(("clerk", "baker"))})
    >>> data = {"age": np.array([17, 30, 120]), "job": np.array(["baker", "pope", "clerk"])}
    >>> columns = conform(data, domain)
    >>> columns.numbers["age"].tolist(), columns.codes["job"].tolist()
    ([18.0, 30.0, 99.0], [1, -1, 0])
    >>> columns.holds(Between("age", hi=40)).tolist()
    [True, True, False]
    """

    attributes: Mapping[str, Attribute]
    numbers: Mapping[str, npt.NDArray[np.float64]]
    codes: Mapping[str, npt.NDArray[np.signedinteger[Any]]]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(self.attributes)

    @property
    def n_records(self) -> int:
        """Number of records n."""
        return len(self.array(self.names[0]))

    def __repr__(self) -> str:
        return f"<Columns of {len(self.attributes)} attributes: {_some(self.names)}>"

    def array(self, name: str) -> npt.NDArray[Any]:
        """Return the numbers or codes of a column, shape (n,)."""
        if name in self.numbers:
            return self.numbers[name]
        if name in self.codes:
            return self.codes[name]
        raise InvalidDataError(f"the records lack the column {name!r}; they have {_some(self.names)}. Read it too.")

    def values(self, name: str) -> npt.NDArray[Any]:
        """Return the values of a column, shape (n,): numbers, or declared values with None for what is not declared."""
        array = self.array(name)
        return array if name in self.numbers else _decoder(self.attributes[name])[np.maximum(array, -1)]

    def restrict(self, names: Iterable[str]) -> Columns:
        """Return some of the columns, in the given order."""
        arrays = {name: self.array(name) for name in names}
        return _columns({name: self.attributes[name] for name in arrays}, arrays)

    def take(self, rows: npt.NDArray[Any]) -> Columns:
        """Return some of the records, by index or as a Boolean selection."""
        return _columns(self.attributes, {name: self.array(name)[rows] for name in self.attributes})

    def holds(self, literal: Literal) -> npt.NDArray[np.bool_]:
        """Return where the records satisfy a literal, shape (n,), as ``literal.holds`` says of :meth:`values`.

        A value that is not declared counts as missing, so that of a literal and its negation exactly one holds.

        Parameters
        ----------
        literal : Between or OneOf
            A condition on one of the columns.

        Raises
        ------
        InvalidDataError
            If there is no such column, or a threshold is put to an attribute that declares strings.
        """
        array = self.array(literal.attribute)
        if literal.attribute in self.codes:
            # The last entry, that of None, is the one at index -1.
            truths = literal.holds(_decoder(self.attributes[literal.attribute]))
            return np.asarray(truths[np.maximum(array, -1)])
        inside = _inside(literal, array)
        if literal.negated:
            np.logical_not(inside, out=inside)
        if literal.negated != literal.missing:
            inside[np.isnan(array)] = literal.missing
        return inside


def conform(data: Any, domain: Domain, names: Iterable[str] | None = None, *, apart: bool = False) -> Columns:
    """Return the attributes of a domain as columns, values outside the domain brought into it record by record.

    - A number is clipped to the attribute's bounds. It is neither rounded to a whole number nor to the resolution:
      every literal is decided by the number itself, and rounding would let the choice of a direction decide instead.
    - A category that is not declared, and a value of a :class:`Binary` that is neither 0 nor 1, become the missing
      value, whether or not the attribute allows missing values. Values are declared if Python finds them equal:
      1, 1.0 and True are one value, "1" is another.
    - Missing values are kept where the attribute allows them. An infinite number is then clipped.

    Ties between attributes (the domain's groups) are not enforced.

    Guarantee
    ---------
    Each row of the result depends on the same row of the data and on the domain alone: nothing is learnt from other
    records, and no record changes how another is read. Only the refusals below look at all records.

    Parameters
    ----------
    data : data frame, mapping of str to ndarray, or ndarray
        The records: a frame of any library that narwhals reads (pandas, polars, Arrow, DuckDB and so on), arrays of
        shape (n,) by name, or one array of shape (n, d) with the attributes in order. Other columns are ignored.
        A lazy frame is collected, the named columns only.
    domain : Domain
        The public domain.
    names : iterable of str, optional
        The attributes to return, at least one; all by default.
    apart : bool, default=False
        Whether categories that are not declared get a code of their own, -2, and not that of missing ones.

    Returns
    -------
    Columns
        The attributes in the order of ``names``. Numbers are held in double precision, so that whole numbers beyond
        2**53 are rounded to a neighbour; a category takes 1, 2 or 4 bytes per record.

    Raises
    ------
    InvalidDataError
        If ``names`` is empty or a column is absent; if its type cannot hold values of its attribute (text for a
        number, numbers for categories that are all strings); or if a value is missing, NaN or infinite in an
        attribute that allows no missing values. The message names the column, never a record or a value.
    InvalidDomainError
        If a name is not an attribute.
    """
    attributes = {name: domain[name] for name in (domain if names is None else names)}
    if not attributes:
        raise InvalidDataError("names must hold at least one attribute, got none. Leave it out to read all of them.")
    frame, loose = open_frame(data, attributes)
    arrays = {name: _from_objects(name, attributes[name], *column, apart=apart) for name, column in loose.items()}
    plain = {name: attribute for name, attribute in attributes.items() if name not in loose}
    if plain:
        collected = collect(frame.select(*expressions(frame, plain, apart=apart)))
        arrays |= {name: collected[key].to_numpy() for name, key in zip(plain, collected.columns, strict=True)}
    return checked_columns(attributes, arrays)


def open_frame(data: Any, attributes: Mapping[str, Attribute]) -> tuple[Frame, dict[str, Loose]]:
    """Return data as a frame that expressions can read, and the columns that they cannot read as they should."""
    wanted = tuple(attributes)
    if isinstance(data, np.ndarray):
        if data.ndim != 2 or data.shape[1] != len(wanted):
            raise InvalidDataError(
                f"an array of records must have shape (n, {len(wanted)}), one column per attribute in order, "
                f"got {data.shape}. Pass a data frame to name the columns."
            )
        data = dict(zip(wanted, data.T, strict=True))
    if isinstance(data, Mapping):
        return _open_arrays({name: data[name] for name in wanted if _present(name, data)})
    try:
        frame: Frame = nw.from_native(data)
    except nw.exceptions.NarwhalsError as error:
        raise InvalidDataError(f"data cannot be read: {str(error).splitlines()[0]} Name every column once.") from None
    except TypeError:
        raise InvalidDataError(
            f"data must be a data frame, got {type(data).__name__}. Use pandas, polars, Arrow or DuckDB."
        ) from None
    schema = frame.collect_schema()
    kinds = {name: schema[name] for name in wanted if _present(name, schema)}
    if isinstance(frame, nw.LazyFrame):
        return frame, {}
    found = {name: _loose(frame[name], kind, attributes[name]) for name, kind in kinds.items()}
    return frame, {name: loose for name, loose in found.items() if loose is not None}


def _present(name: str, columns: Iterable[object]) -> bool:
    if name not in columns:
        raise InvalidDataError(f"data lack the column {name!r} of the domain. Add it, or drop the attribute.")
    return True


def _loose(column: nw.Series[Any], kind: nw.dtypes.DType, attribute: Attribute) -> Loose | None:
    """Return a column of coded values, of Python objects or of nothing at all; None for one of numbers or text."""
    native: Any = column.to_native()
    if kind.is_integer() and isinstance(attribute, Integer | Real) and not column.implementation.is_polars():
        # Arrow refuses to convert a whole number that no double equals; NumPy takes a neighbour.
        return np.asarray(column.to_numpy(), dtype=np.float64), None
    if kind in (nw.Categorical, nw.Enum):
        if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas
            return [*native.cat.categories.tolist(), None], native.cat.codes.to_numpy()
        values = column.unique().drop_nulls().to_list()
        objects = not values or not all(isinstance(value, str) for value in values)
    elif kind == nw.String:
        # An object column without any value is taken for text, whatever it was meant to hold.
        objects = str(getattr(native, "dtype", None)) == "object" and bool(column.is_null().all())
    else:
        objects = kind in (nw.Object, nw.Unknown)
    if not objects:
        return None
    values = column.to_list()
    for i in np.flatnonzero(column.is_null().to_numpy()).tolist():
        values[i] = None
    return values, None


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
            loose[name] = array.tolist(), None
        else:
            raise InvalidDataError(f"column {name!r} holds {array.dtype}, not numbers, Booleans or text. Convert it.")
    return nw.from_native(pl.DataFrame(plain)), loose


def collect(frame: Frame) -> nw.DataFrame[Any]:
    """Return a frame in memory; polars works through a lazy one in pieces, as DuckDB does."""
    if isinstance(frame, nw.DataFrame):
        return frame
    return frame.collect(engine="streaming") if frame.implementation.is_polars() else frame.collect()


def expressions(frame: Frame, attributes: Mapping[str, Attribute], *, apart: bool = False) -> list[nw.Expr]:
    """Return the conforming of each attribute as an expression, named ``k0``, ``k1`` and so on.

    Numbers are doubles, null where they are missing; categories are codes with :data:`GAP` for a forbidden gap.
    """
    schema = frame.collect_schema()
    streamed = isinstance(frame, nw.LazyFrame) and frame.implementation.is_polars()
    out = []
    for i, (name, attribute) in enumerate(attributes.items()):
        if isinstance(attribute, Integer | Real):
            value = _clipped(name, attribute, schema[name])
        else:
            value = _coded(name, attribute, schema[name], UNDECLARED if apart else -1, compared=streamed)
        out.append(value.alias(f"k{i}"))
    return out


def number(name: str, kind: nw.dtypes.DType) -> nw.Expr:
    """Return a column as double, or refuse it when its type does not hold numbers."""
    if not (kind.is_numeric() or kind == nw.Boolean):
        raise InvalidDataError(f"column {name!r} must hold numbers, got the type {kind}. Convert it to a numeric type.")
    return nw.col(name).cast(nw.Float64)


def _clipped(name: str, attribute: Integer | Real, kind: nw.dtypes.DType) -> nw.Expr:
    value = number(name, kind)
    # Some engines take NaN for the largest number: it must be set apart before anything is compared.
    usable = ~value.is_nan() if attribute.missing else value.is_finite()
    return nw.when(usable).then(value.clip(float(attribute.lo), float(attribute.hi)))


def _coded(name: str, attribute: Category | Binary, kind: nw.dtypes.DType, unknown: int, *, compared: bool) -> nw.Expr:
    values = _values(attribute)
    column = nw.col(name)
    usable = ~column.is_null()
    known: dict[Any, int] = {}
    if kind in (nw.String, nw.Categorical, nw.Enum):
        column = column.cast(nw.String)
        known = {value: code for code, value in enumerate(values) if isinstance(value, str)}
        matching = any(isinstance(value, str) for value in values)
    elif kind.is_integer() or kind == nw.Boolean:
        # Dask turns no gap into a whole number; which values are gaps is known already.
        whole_or_false = column.fill_null(False) if kind == nw.Boolean else column.fill_null(0)
        column = whole_or_false.cast(nw.String if kind in WIDE else nw.Int64)
        for code, value in enumerate(values):
            if not isinstance(value, str) and value == int(value):
                whole = int(value)
                if kind in WIDE:
                    known[str(whole)] = code
                elif -(2**63) <= whole < 2**63:
                    known[whole] = code
        matching = any(not isinstance(value, str) for value in values)
    elif kind.is_numeric():
        column = column.cast(nw.Float64)
        usable = column.is_finite()
        # Arrow looks values up by their bits, in which -0.0 differs from 0.0.
        column = nw.when(column == 0).then(nw.lit(0.0)).otherwise(column)
        known = {float(v): code for code, v in enumerate(values) if not isinstance(v, str) and float(v) == v}
        matching = any(not isinstance(value, str) for value in values)
    else:
        matching = False
    if not matching:
        raise InvalidDataError(
            f"column {name!r} has the type {kind}, which holds none of the values of its attribute: "
            f"{_some([str(value) for value in values])}. Convert the column, or declare its values as they are."
        )
    size = _TYPES[_code_type(attribute)]
    found: nw.Expr = nw.lit(unknown)
    if compared and len(known) <= MOST_COMPARED:
        for value, code in known.items():
            found = found + (column == nw.lit(value)).fill_null(False).cast(nw.Int64) * (code - unknown)
    elif known:
        found = column.replace_strict(list(known), list(known.values()), default=nw.lit(unknown), return_dtype=nw.Int64)
    usual: nw.Expr = nw.when(usable).then(found).otherwise(nw.lit(-1 if attribute.missing else GAP))
    return usual.cast(size)


_TYPES: dict[Any, Any] = {np.int8: nw.Int8, np.int16: nw.Int16, np.int32: nw.Int32}


def _code_type(attribute: Category | Binary) -> type[np.signedinteger[Any]]:
    n_values = len(_values(attribute))
    return np.int8 if n_values < 2**7 else np.int16 if n_values < 2**15 else np.int32


def _values(attribute: Attribute) -> tuple[Scalar, ...]:
    return attribute.values if isinstance(attribute, Category) else (0, 1)


def _decoder(attribute: Attribute) -> npt.NDArray[Any]:
    """Return the values that codes stand for, with None at the end."""
    return np.array([*_values(attribute), None], dtype=object)


def _is_gap(value: object) -> bool:
    # pandas' NA and NaT are recognised by name, so that pandas need not be there.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and not math.isfinite(value)


def _from_objects(
    name: str,
    attribute: Attribute,
    values: Sequence[Any] | npt.NDArray[np.float64],
    index: npt.NDArray[Any] | None,
    *,
    apart: bool,
) -> npt.NDArray[Any]:
    """Return what :func:`expressions` would, of a column of Python objects."""
    if isinstance(attribute, Integer | Real):
        array: npt.NDArray[Any] = values.copy() if isinstance(values, np.ndarray) else _floats(name, values)
        if not attribute.missing:
            array[np.isinf(array)] = np.nan
        array = np.clip(array, float(attribute.lo), float(attribute.hi))
    else:
        lookup = {value: code for code, value in enumerate(_values(attribute))}
        unknown = UNDECLARED if apart else -1
        try:
            array = np.fromiter(map(lookup.get, values, repeat(unknown)), _code_type(attribute), len(values))
        except TypeError:
            raise InvalidDataError(
                f"column {name!r} must hold numbers, Booleans or strings, got nested values. Split it into columns."
            ) from None
        if apart or not attribute.missing:
            gaps = [i for i in np.flatnonzero(array == unknown).tolist() if _is_gap(values[i])]
            array[gaps] = -1 if attribute.missing else GAP
    return array if index is None else array[index]


def _floats(name: str, values: Sequence[Any]) -> npt.NDArray[np.float64]:
    """Return Python objects as doubles, NaN for a gap; text is not read as a number."""
    kinds = set(map(type, values))
    for kind in kinds:
        if not (issubclass(kind, int | float | np.number | np.bool_) or _is_gap_type(kind)):
            raise InvalidDataError(
                f"column {name!r} must hold numbers, got {kind.__name__} among its values. "
                "Convert it to a numeric type."
            )
    if any(map(_is_gap_type, kinds)):
        values = [math.nan if _is_gap_type(type(value)) else value for value in values]
    try:
        return np.fromiter(values, dtype=np.float64, count=len(values))
    except OverflowError:
        return np.array([float(min(max(v, -LARGEST), LARGEST)) if isinstance(v, int) else float(v) for v in values])


def _is_gap_type(kind: type) -> bool:
    return kind is type(None) or kind.__name__ in ("NAType", "NaTType")


def checked_columns(attributes: Mapping[str, Attribute], arrays: Mapping[str, npt.NDArray[Any]]) -> Columns:
    """Return collected columns, or refuse those with a gap that their attribute does not allow."""
    out: dict[str, npt.NDArray[Any]] = {}
    for name, attribute in attributes.items():
        if isinstance(attribute, Integer | Real):
            # Adding zero turns -0.0 into 0.0, so that equal numbers have equal bytes.
            out[name] = np.asarray(arrays[name], dtype=np.float64) + 0.0
            gaps = np.isnan(out[name])
        else:
            out[name] = np.asarray(arrays[name], dtype=_code_type(attribute))
            gaps = out[name] == GAP
        if not attribute.missing and gaps.any():
            raise InvalidDataError(
                f"column {name!r} holds a missing value, NaN or infinity, which its attribute does not allow. "
                "Declare the attribute with missing=True, or replace these values."
            )
    return _columns(attributes, out)


def _columns(attributes: Mapping[str, Attribute], arrays: Mapping[str, npt.NDArray[Any]]) -> Columns:
    numeric = {name for name, attribute in attributes.items() if isinstance(attribute, Integer | Real)}
    return Columns(
        attributes=dict(attributes),
        numbers={name: arrays[name] for name in attributes if name in numeric},
        codes={name: arrays[name] for name in attributes if name not in numeric},
    )


def _inside(literal: Literal, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return where numbers satisfy a literal before negation; NaN does not."""
    if isinstance(literal, Between):
        if literal.lo == -math.inf:
            return numbers <= literal.hi
        return numbers > literal.lo if literal.hi == math.inf else (numbers > literal.lo) & (numbers <= literal.hi)
    listed = []
    for value in literal.values:
        # A whole number that no double equals cannot be the value of any record.
        if not isinstance(value, str) and abs(value) <= LARGEST and float(value) == value:
            listed.append(float(value))
    return np.isin(numbers, listed)
