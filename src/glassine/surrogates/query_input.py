"""Records and single queries, read in a domain and handed on to a black box in the form that it takes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from glassine.data.inference import infer_domain
from glassine.data.person_counts import Persons, stated_persons
from glassine.data.record_table import as_table, frame_of, table_of, with_persons
from glassine.domain import Attribute, Binary, Category, Domain, Integer, Real
from glassine.domain.attributes import LARGEST, Scalar
from glassine.errors import InvalidDataError, InvalidParameterError, parameter
from glassine.records.arrays import AnyArray, Bools
from glassine.records.cells import ANY_NUMBER, Flag, Reader
from glassine.records.columns import ConformedColumns, is_column, values_of
from glassine.records.containers import are_rows, schema
from glassine.records.files import check_before_charge
from glassine.records.flags import Flags, settled
from glassine.records.headers import RecordsFile
from glassine.records.object_columns import rows_as_objects
from glassine.records.schemas import check_types
from glassine.records.undeclared import read_checked

Record: TypeAlias = dict[str, Scalar | None]
Query: TypeAlias = Any
"""One record as a user has it: a mapping, a sequence in the order of the attributes, or one row."""

EAGER = ("pandas", "polars", "pyarrow", "modin", "cudf")
"""Libraries of frames in which a black box can be asked; those of other engines are asked in Arrow."""

COARSE = 20
"""About how many steps of an inferred range are distinguished in its published bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The form in which a black box takes records."""

    names: tuple[str, ...]  # The attributes, in order
    backend: str | None = None  # Library of the data frame, as narwhals names it; None for an array

    def build(self, domain: Domain, records: Sequence[Record]) -> Any:
        """Return records in this form."""
        columns = {name: [record[name] for record in records] for name in self.names}
        if self.backend is not None and {type(value) for own in columns.values() for value in own} == {float}:
            # One array: a frame of columns costs a black box that is asked about one record more than its answer.
            numbers = np.array(list(columns.values())).T
            library: Any = self.backend
            return nw.from_numpy(numbers, schema=list(self.names), backend=library).to_native()
        if self.backend is not None:
            library = self.backend
            typed = {name: _column(name, domain[name], columns[name], library) for name in self.names}
            return nw.from_dict(typed, backend=library).to_native()
        words = _have_texts(domain[name] for name in self.names)
        out = np.empty((len(records), len(self.names)), dtype=object if words else float)
        for i, name in enumerate(self.names):
            out[:, i] = [math.nan if value is None and not words else value for value in columns[name]]
        return out

    def of_columns(self, columns: ConformedColumns) -> Any:
        """Return records in this form, in types that follow from their domain alone; numbers are doubles."""
        arrays = {name: columns.values(name) for name in self.names}
        if self.backend is not None:
            typed = [_typed_column(name, columns.attributes[name], arrays[name], self.backend) for name in self.names]
            return typed[0].to_frame().with_columns(*typed[1:]).to_native()
        words = _have_texts(columns.attributes.values())
        return np.column_stack(list(arrays.values())).astype(object if words else float)


def _typed_column(name: str, attribute: Attribute, values: AnyArray, library: Any) -> nw.Series[Any]:
    """Return a column of the type that its attribute has, for any values."""
    # Where the attribute declares texts and numbers, it is one of objects in pandas, and of texts elsewhere.
    if not _have_texts([attribute]):
        return nw.new_series(name, values.astype(float), nw.Float64(), backend=library)
    listed = values.tolist()
    if library != "pandas":
        listed = [None if value is None else str(value) for value in listed]
    texts = library != "pandas" or _are_texts(attribute)
    return nw.new_series(name, listed, nw.String() if texts else nw.Object(), backend=library)


def _column(name: str, attribute: Attribute, values: list[Scalar | None], library: Any) -> Any:
    """Return a column; one of a single missing value would have no type otherwise."""
    if None not in values:
        return values
    if not isinstance(attribute, Category):
        if library == "pandas":
            return [math.nan if value is None else value for value in values]
        return nw.new_series(name, values, nw.Float64(), backend=library)
    if _are_texts(attribute):
        return nw.new_series(name, values, nw.String(), backend=library)
    return values


def _have_texts(attributes: Iterable[Attribute]) -> bool:
    """Return whether a text is a value of any attribute."""
    return any(isinstance(one, Category) and any(isinstance(value, str) for value in one.values) for one in attributes)


def _are_texts(attribute: Attribute) -> bool:
    return isinstance(attribute, Category) and all(isinstance(value, str) for value in attribute.values)


def open_records(X: Any, domain: Domain | None) -> tuple[Layout, Any, Any]:
    """Return the form of records, the records as the black box takes them, and as :func:`read` does."""
    table = None if frame_of(X) is None else as_table(X)
    frame = None if table is None else table.frame
    if table is not None and frame is not None and any(isinstance(name, str) for name in frame.columns):
        if any(not isinstance(name, str) for name in frame.columns) or not len(frame):
            raise InvalidDataError(
                "records must be at least one, in columns named by strings.", remedy="Check the data."
            )
        names = tuple(n for n in (frame.columns if domain is None else domain) if is_column(n, frame.columns))
        # The black box sees the attributes alone, here as with single queries.
        table = table.restrict(names)
        return Layout(names=names, backend=frame.implementation.name.lower()), table.frame.to_native(), table
    if domain is not None and are_rows(X):
        X = _typed(rows_as_objects(X), domain)
    own = schema(X).names if isinstance(X, np.ndarray | list | tuple | Mapping) else None
    if own is not None:
        # The black box takes an array, as in a private fit, which does not look at the types of columns.
        own = own if domain is None else domain.names
        columns = table_of(X, own).arrays.values()
        X = np.column_stack([column.astype(object) for column in columns])
        X = np.column_stack(list(columns)) if domain is None else _typed(X, domain)
    array = _array(X if frame is None else frame.to_numpy())
    if domain is not None and array.shape[1] != len(domain):
        raise InvalidDataError(
            f"records must have one column per attribute, {len(domain)} in order, got {array.shape[1]}.",
            remedy="Pass a data frame to name the columns.",
        )
    names = domain.names if domain is not None else own or tuple(f"x{i}" for i in range(array.shape[1]))
    return Layout(names=names), array, {name: array[:, i] for i, name in enumerate(names)}


def of_persons(X: Any, persons: Any, domain: Domain | None, k: int) -> tuple[Any, Domain | None, Persons]:
    """Return records without the column of identifiers, a domain without it, and whose the records are."""
    if frame_of(X) is not None:
        table = with_persons(X, persons)
        X, whose = table, table.persons
    else:
        if isinstance(persons, str):
            raise InvalidDataError(
                f"{parameter('persons')} names the column {persons!r}, and an array has none.",
                remedy="Pass a data frame.",
            )
        whose = stated_persons(persons, len(next(iter(X.values()))) if isinstance(X, Mapping) else len(X), "data")
    if whose is None or not k <= whose.number:
        number = 0 if whose is None else whose.number
        raise InvalidParameterError(
            f"{parameter('k')} must be at most the number of people, {number}, got {k}.",
            remedy=f"Use a smaller {parameter('k')}.",
        )
    if domain is not None and whose.column in domain:
        domain = domain.restrict([name for name in domain if name != whose.column])
    return X, domain, whose


def layout_of(X: object, domain: Domain) -> Layout:
    """Return the form of records by their schema; no value is looked at.

    Raises
    ------
    InvalidDataError
        If an attribute is no column, or the declared type of a column cannot hold its values.
    """
    if isinstance(X, list | tuple):
        # What rows hold is theirs: their keys and types are not looked at.
        return Layout(names=domain.names)
    columns = schema(X)
    if columns.names is not None:
        for name in domain:
            is_column(name, columns.names)
    elif len(shape := getattr(X, "shape", (0, len(domain)))) != 2 or shape[1] != len(domain):
        raise InvalidDataError(
            f"records without names must have {len(domain)} columns, those of the domain, got the shape {shape}.",
            remedy="Give the columns of the domain, in its order.",
        )
    check_types(columns, {name: domain[name] for name in domain})
    if isinstance(X, RecordsFile):
        check_before_charge(X)
        return Layout(names=domain.names, backend="polars")
    frame = None if isinstance(X, Mapping) else frame_of(X)
    if frame is None or not any(isinstance(name, str) for name in frame.collect_schema().names()):
        return Layout(names=domain.names)
    library = frame.implementation.name.lower()
    return Layout(names=domain.names, backend=library if library in EAGER else "pyarrow")


def described(cells: ConformedColumns, flags: Flags, domain: Domain) -> tuple[ConformedColumns, Bools]:
    """Return records that were read one by one, settled, and which of them the domain describes.

    A value that is not declared, no number, or missing where none may be, refuses nothing: it is read as
    :func:`glassine.records.read_settled` does. The domain does not describe its record, so that a black box need
    not know what to answer.

    Guarantee
    ---------
    What a record is read as follows from that record and the domain alone: see `surrogates/private_trees.md`.
    """
    columns, flags = cells.restrict(domain.names), flags.restrict(domain.names)
    inside = np.ones(columns.n_records, dtype=bool)
    for name in domain:
        inside &= ~flags.where(name, Flag.UNDECLARED)
        if not domain[name].missing:
            inside &= ~flags.where(name, Flag.MISSING)
        if name in columns.codes:
            inside &= ~flags.where(name, Flag.INFINITE)
    return settled(columns, flags), inside


def _typed(cells: npt.NDArray[np.object_], domain: Domain) -> AnyArray:
    """Return rows as doubles where the domain has numbers alone, so that no record changes the type of the others."""
    if _have_texts(domain[name] for name in domain) or cells.shape[1] != len(domain):
        return cells
    return np.column_stack([ANY_NUMBER.column(column)[0] for column in cells.T])


def _array(X: object) -> AnyArray:
    try:
        array = np.asarray(X)
        if array.dtype.kind == "U" and not isinstance(X, np.ndarray):
            array = np.array(X, dtype=object)
    except (ValueError, TypeError):
        raise InvalidDataError(
            "records must form a rectangle, got rows of different lengths.", remedy="Check the data."
        ) from None
    if array.ndim != 2 or not array.shape[0] or not array.shape[1]:
        raise InvalidDataError(
            f"records must have shape (n, d) with n and d at least 1, got {array.shape}.", remedy="Reshape."
        )
    if array.dtype.kind not in "biufOU":
        raise InvalidDataError(f"records must be numbers, Booleans or text, got {array.dtype}.", remedy="Convert them.")
    return array


def coarse_domain(data: object) -> Domain:
    """Return a domain inferred from records, its bounds moved outward to round numbers."""
    # The bounds are not public. They are multiples of 1, 2 or 5 times a power of ten, about a twentieth of the range
    # apart, and the outermost values are no finer than that, except whole numbers with a range of up to 20. Names of
    # categories are those of the data.
    inferred = infer_domain(_frame(data) if isinstance(data, dict) else data)
    return Domain({name: _coarse(inferred[name]) for name in inferred})


def _frame(columns: Mapping[str, AnyArray]) -> Any:
    import polars as pl

    try:
        return pl.DataFrame(
            {
                name: pl.Series(name, column.tolist() if column.dtype.kind in "OU" else column, strict=False)
                for name, column in columns.items()
            }
        )
    except (TypeError, pl.exceptions.PolarsError):
        raise InvalidDataError(
            "records mix kinds of values in a column.", remedy="Convert them, or declare a domain."
        ) from None


def _coarse(attribute: Attribute) -> Attribute:
    if isinstance(attribute, Category) and len(attribute.values) == 1 and isinstance(attribute.values[0], float):
        middle = attribute.values[0]
        return Real(middle - 0.5, middle + 0.5, missing=attribute.missing, inferred=True)
    if not isinstance(attribute, Integer | Real) or attribute.lo == attribute.hi:
        return attribute
    lo, hi = Fraction(attribute.lo), Fraction(attribute.hi)
    least = (hi - lo) / COARSE
    step = min(one for one in round_numbers(least) if one >= least)
    if isinstance(attribute, Integer):
        step = max(step, Fraction(1))
    low, high = math.floor(lo / step) * step, math.ceil(hi / step) * step
    if isinstance(attribute, Integer):
        return Integer(int(low), int(high), missing=attribute.missing, inferred=True)
    return Real(float(low), float(high), missing=attribute.missing, inferred=True)


def round_numbers(near: Fraction) -> list[Fraction]:
    """Return 1, 2 and 5 times the powers of ten around a positive number."""
    power = math.floor(math.log10(near))
    return [Fraction(10) ** (power + shift) * lead for shift in (-1, 0, 1) for lead in (1, 2, 5)]


def read(data: object, domain: Domain, *, refuse_outside: bool) -> ConformedColumns:
    """Return records as columns of a domain."""
    attributes = {name: domain[name] for name in domain}
    unbound = {
        name: Real(-LARGEST, LARGEST, missing=attribute.missing) if isinstance(attribute, Integer | Real) else attribute
        for name, attribute in attributes.items()
    }
    columns = read_checked(data, Domain(unbound))
    for name, codes in columns.codes.items():
        if not domain[name].missing and (codes < 0).any():
            raise InvalidDataError(
                f"the records hold a value of {name!r} that the domain does not declare.",
                remedy="Declare it or recode it.",
            )
    numbers = dict(columns.numbers)
    for name, attribute in attributes.items():
        if isinstance(attribute, Integer | Real) and not attribute.inferred:
            numbers[name] = np.clip(columns.numbers[name], float(attribute.lo), float(attribute.hi))
            # A missing number is neither below nor above.
            outside = (columns.numbers[name] < numbers[name]) | (columns.numbers[name] > numbers[name])
            if refuse_outside and outside.any():
                raise InvalidDataError(
                    f"records lie outside the domain in {name!r}.", remedy="Clip or drop them, or widen the bounds."
                )
    return ConformedColumns(attributes=attributes, numbers=numbers, codes=columns.codes)


def read_rows(records: Sequence[Record], domain: Domain) -> ConformedColumns:
    """Return records of a domain as columns."""
    names = list(domain)
    columns = {name: np.array([record[name] for record in records], dtype=object) for name in names}
    return read(columns, domain, refuse_outside=False)


def row(columns: ConformedColumns, index: int) -> Record:
    """Return one record of columns as plain values."""
    out: Record = {}
    for name in columns.names:
        if name in columns.numbers:
            number = float(columns.numbers[name][index])
            whole = isinstance(columns.attributes[name], Integer) and number.is_integer()
            out[name] = None if math.isnan(number) else int(number) if whole else number
        else:
            code = int(columns.codes[name][index])
            attribute = columns.attributes[name]
            values = values_of(attribute)
            out[name] = None if code < 0 else values[code]
    return out


def query_of(x: Query, domain: Domain) -> Record:
    """Return one query as plain values, checked against the domain."""
    named = _named(x, domain)
    for name in named:
        if name not in domain:
            raise InvalidDataError(
                f"the query has {_short(name)}, which is not an attribute.", remedy="Leave it out or rename it."
            )
    for name in domain:
        if name not in named:
            raise InvalidDataError(
                f"the query lacks the attribute {name!r}.", remedy="Give a value for each attribute."
            )
    return {name: _value(name, domain[name], named[name]) for name in domain}


def _named(x: Query, domain: Domain) -> Mapping[Any, Any]:
    if isinstance(x, Mapping):
        return x
    if not isinstance(x, np.ndarray | list | tuple | str | bytes):
        try:
            frame = nw.from_native(x, allow_series=True)
        except (TypeError, nw.exceptions.NarwhalsError):
            frame = None
        if isinstance(frame, nw.DataFrame):
            if len(frame) != 1:
                raise InvalidDataError(
                    f"a query is one record, got {len(frame)}.", remedy="Use explain_many for several."
                )
            return {name: frame[name].to_list()[0] for name in frame.columns if name in domain}
        if frame is not None and hasattr(x, "to_dict"):
            by_label: dict[Any, Any] = x.to_dict()
            if all(isinstance(label, str) for label in by_label):
                return by_label
            x = list(by_label.values())
    if isinstance(x, str | bytes) or not isinstance(x, np.ndarray | Sequence):
        raise InvalidDataError(f"a query must be a mapping or a sequence of values, got {type(x).__name__}.")
    values = list(x.ravel().tolist()) if isinstance(x, np.ndarray) and x.shape[:1] == (1,) else list(x)
    if len(values) != len(domain):
        raise InvalidDataError(
            f"a query needs {len(domain)} values, one per attribute in order, got {len(values)}.",
            remedy="Pass one for each.",
        )
    return dict(zip(domain.names, values, strict=True))


def _short(value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float | bool | np.generic) else type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."


def _value(name: str, attribute: Attribute, value: object) -> Scalar | None:
    """Return a value as a plain scalar of its attribute, or refuse it."""
    number = not isinstance(attribute, Category | Binary)
    read, flag = ANY_NUMBER.cell(value) if number else Reader(attribute).cell(value)
    if flag is Flag.MISSING:
        if not attribute.missing:
            raise InvalidDataError(f"the query has no value for {name!r}, which cannot be missing.", remedy="Give one.")
        return None
    if isinstance(attribute, Category | Binary):
        values: tuple[Scalar, ...] = values_of(attribute)
        if flag is Flag.OK:
            return values[int(read)]
        some = ", ".join(map(repr, values[:8])) + (" and others" if len(values) > 8 else "")
        raise InvalidDataError(f"{name!r} must be one of {some}, got {_short(value)}.")
    if flag is not Flag.OK:
        text = "a number beyond 1e300" if flag is Flag.CLIPPED else _short(value)
        raise InvalidDataError(f"{name!r} must be a finite number, got {text}.")
    if not attribute.inferred:
        if not attribute.lo <= read <= attribute.hi:
            raise InvalidDataError(f"{name!r} must lie in [{attribute.lo}, {attribute.hi}], got {_short(value)}.")
        if isinstance(attribute, Integer) and read != int(read):
            raise InvalidDataError(f"{name!r} must be a whole number, got {_short(value)}.")
    whole = isinstance(attribute, Integer) and read == int(read)
    return int(read) if whole else float(read)
