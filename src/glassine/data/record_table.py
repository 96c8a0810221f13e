"""Records that were opened once: handed on in place of their frame, nothing is read or converted again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import narwhals as nw
import numpy as np
import numpy.typing as npt

from glassine.data.person_counts import Persons, stated_persons
from glassine.domain.attributes import Attribute
from glassine.errors import InvalidDataError, parameter
from glassine.records.alignment import check_alignment
from glassine.records.arrays import AnyArray, Array, Bools, Indices, Ints
from glassine.records.cells import Coded, FlagArray, Plain
from glassine.records.columns import read_only
from glassine.records.containers import (
    Opened,
    are_mappings,
    are_rows,
    batches,
    is_distributed,
    opened_frame,
    schema,
    signed_relation,
)
from glassine.records.lines import LineFlags
from glassine.records.values import as_declared, as_they_are

if TYPE_CHECKING:
    import polars as pl
else:
    from glassine.records import frames as pl

NO_RECORDS = "data must hold at least one record, got none. Check the file and its filters."

Frame: TypeAlias = "nw.DataFrame[Any] | nw.LazyFrame[Any]"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ParsedFile:
    """The file that records were parsed from.

    Guarantee
    ---------
    None: the digest reveals a record to an attacker who has all others, so that it is neither printed nor written.
    """

    path: Path  # The file
    digest: str  # SHA-256 of the bytes that were parsed, hexadecimal
    typed: bool  # Whether the file says the types of its columns: a Parquet file does
    encoding: str | None = None  # The encoding of a text; None for other files
    # What stands between two fields of a text. It is stated or follows from the header, and from no record.
    separator: str | None = None
    nested: tuple[str, ...] = ()  # Columns of lists or structures, which are not read

    def __repr__(self) -> str:
        return f"<Source {self.path.name}>"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class RecordTable(Opened):
    """Records in memory, accepted like a data frame; a conversion is made only once.

    A frame that is changed after it was opened may be seen as it was before.

    Attributes
    ----------
    frame : narwhals.DataFrame
        The records as they were opened, shape (n, d).
    source : ParsedFile or None
        The file that they were parsed from.
    values, plain : dict of str to ndarray
        The columns that :attr:`arrays` has made so far, and the same before an attribute read them.
    kept : dict
        What :func:`glassine.records.read` has read of single columns, by name and attribute.
    persons : Persons or None
        Whose record each is, where that is stated: then people are counted, else records.
    declared : mapping of str to Attribute
        The attributes by which :attr:`arrays` reads columns; other columns are as they are.
    lines : ndarray of uint8, shape (n,), or None
        What is odd about the line of each, a ``LineFlag``; None where none is odd.

    Examples
    --------
    >>> import polars as pl
    >>> table = as_table(pl.DataFrame({"age": [20, 41], "job": ["clerk", None]}))
    >>> table.arrays["age"].tolist(), table.restrict(["job"]).arrays["job"] is table.arrays["job"]
    ([20, 41], True)
    """

    frame: nw.DataFrame[Any]
    source: ParsedFile | None = None
    values: dict[str, AnyArray] = field(default_factory=dict)
    kept: dict[tuple[str, Attribute], tuple[AnyArray, FlagArray]] = field(default_factory=dict)
    persons: Persons | None = None
    declared: Mapping[str, Attribute] = field(default_factory=dict)
    plain: dict[str, AnyArray] = field(default_factory=dict)
    lines: LineFlags | None = None

    @property
    def container(self) -> nw.DataFrame[Any]:
        """The frame."""
        return self.frame

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(self.frame.columns)

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        return f"<Table of {len(self.names)} columns>"

    @property
    def arrays(self) -> dict[str, AnyArray]:
        """The values, each column of shape (n,): gaps are NaN in numbers and None elsewhere.

        Whole numbers without gaps and Booleans are int64, other numbers float64, everything else Python objects. A
        column with an attribute is read by it: a number is not clipped, what is no number is NaN, a category is the
        declared value, and one that is not declared stays unchanged.
        """
        if len(self.frame) == 0:
            raise InvalidDataError(NO_RECORDS)
        names = self.frame.columns
        lacking = dict.fromkeys(name for name in names if name not in self.values)
        if lacking and not self.plain:
            self.plain.update(_together(self.frame))
        if lacking.keys() - self.plain.keys():
            # One walk: to look a column up by its name takes some frames a walk over all of them.
            for name, series in zip(names, self.frame.iter_columns(), strict=True):
                if not isinstance(name, str):
                    raise InvalidDataError(f"columns must be named by strings, got {name!r}.", remedy="Rename it.")
                if name in lacking and name not in self.plain:
                    self.plain[name] = as_they_are(series)
        for name in lacking:
            plain, attribute = self.plain[name], self.declared.get(name)
            self.values[name] = plain if attribute is None else as_declared(self, name, attribute, plain)
        return {name: self.values[name] for name in names}

    # People where persons are stated, else records: what findings count.

    @property
    def number(self) -> int:
        """How many people there are, or records where no persons are stated."""
        return len(self.frame) if self.persons is None else self.persons.number

    @property
    def whose(self) -> Ints:
        """The person of each record, or its own number, shape (n,)."""
        return np.arange(len(self.frame)) if self.persons is None else self.persons.codes

    @property
    def weights(self) -> Array:
        """What each record counts, shape (n,): all records of a person together as much as one person."""
        return np.ones(len(self.frame)) if self.persons is None else self.persons.weights

    def counts(self, by: npt.NDArray[np.integer], n: int) -> Ints:
        """Return how many people, or records, lie in each part.

        Parameters
        ----------
        by : ndarray of int, shape (len(self),)
            The part of each record, in [0, n), or -1 for none. A person counts once in each part with their records.
        n : int
            Number of parts.
        """
        if self.persons is not None:
            return self.persons.counts(by, n)
        return np.bincount(by[by >= 0], minlength=n)

    def number_of(self, rows: Indices) -> int:
        """Return how many people have one of some different rows, or how many rows they are."""
        return len(rows) if self.persons is None else len(np.unique(self.persons.codes[rows]))

    def largest(self, values: npt.NDArray[np.floating]) -> Array:
        """Return the largest value of each person, or that of each record, shape (number,)."""
        return np.asarray(values, dtype=float) if self.persons is None else self.persons.largest(values)

    def mean(self, values: npt.NDArray[np.floating], rows: Indices) -> float:
        """Return the mean over the people, or records, of some rows, of what a person's rows are on average."""
        if self.persons is None:
            return float(values[rows].mean())
        return float(self.persons.take(rows).mean(values[rows]).mean())

    def first_of_each(self, rows: Indices) -> Indices:
        """Return the first row of each person among some rows, in their order; of records, all of them."""
        return rows[np.sort(np.unique(self.whose[rows], return_index=True)[1])]

    def take(self, rows: Bools) -> RecordTable:
        """Return some of the records; all of them are the same table."""
        if rows.all():
            return self
        persons = None if self.persons is None else self.persons.take(rows)
        frame = self.frame[np.flatnonzero(rows).tolist()]
        lines = None if self.lines is None else self.lines[rows]
        return RecordTable(frame, self.source, persons=persons, declared=self.declared, lines=lines)

    @property
    def of_header(self) -> RecordTable:
        """The records whose lines are as the header of their file says."""
        return self if self.lines is None else self.take(self.lines == 0)

    def at(self, rows: Indices) -> RecordTable:
        """Return the records of some rows, whose columns keep the types that they have in this table."""
        values, plain = ({name: column[rows] for name, column in of.items()} for of in (self.values, self.plain))
        persons = None if self.persons is None else self.persons.take(rows)
        own = replace(self, frame=self.frame[rows.tolist()], values=values, plain=plain, kept={}, persons=persons)
        return own if self.lines is None else replace(own, lines=self.lines[rows])

    def restrict(self, names: Iterable[str]) -> RecordTable:
        """Return some of the columns, in the given order, with what was made of them."""
        chosen = list(names)
        return self if chosen == self.frame.columns else replace(self, frame=self.frame.select(chosen))

    def by(self, attributes: Mapping[str, Attribute]) -> RecordTable:
        """Return the same records, whose values are read by some attributes; those that were declared before stay."""
        own = {name: attributes[name] for name in self.names if name in attributes and name not in self.declared}
        values = {name: column for name, column in self.values.items() if name not in own}
        return replace(self, values=values, declared={**self.declared, **own}) if own else self


def frame_of(data: object) -> Frame | None:
    """Return a data frame as narwhals wraps it, a lazy one lazy; None for anything else."""
    if isinstance(data, RecordTable):
        return data.frame
    if isinstance(data, np.ndarray | list | tuple):
        return None
    try:
        opened: Frame = nw.from_native(data)
    except nw.exceptions.NarwhalsError as error:
        raise InvalidDataError(f"data cannot be read: {str(error).splitlines()[0]} Name every column once.") from None
    except TypeError:
        return None
    return opened


def as_table(data: object, names: Sequence[str] | None = None) -> RecordTable:
    """Return records as a table; a lazy frame is collected, a table stays the same.

    Columns of an array or of rows have no names: they are ``names``, in this order.
    """
    if isinstance(data, RecordTable):
        return data
    if isinstance(data, np.ndarray | Mapping) or are_rows(data) or are_mappings(data):
        own = schema(data).names or names
        if own is None:
            raise InvalidDataError(
                f"the columns of {type(data).__name__} have no names.", remedy="Pass a data frame, or arrays by name."
            )
        return table_of(data, own)
    return RecordTable(collect(opened_frame(data)))


def table_of(records: object, names: Sequence[str]) -> RecordTable:
    """Return records that are no frame as a table of some columns: an array, arrays by name, rows or mappings."""
    import polars as pl

    (columns,) = batches(records, names)
    return RecordTable(nw.from_native(pl.DataFrame({name: _series(column) for name, column in columns.items()})))


def _series(column: Plain) -> Any:
    """Return a column of a type that all of its cells have; others stay the objects that they are."""
    import polars as pl

    if isinstance(column, pl.Series):
        return column
    if isinstance(column, Coded):
        column = [column.values[place] if place >= 0 else None for place in column.places.tolist()]
    plain = isinstance(column, np.ndarray) and column.dtype.kind in "biuf" and not isinstance(column, np.ma.MaskedArray)
    cells: Any = column if plain or not isinstance(column, np.ndarray) else column.tolist()
    kinds = set() if plain else set(map(type, cells)) - {type(None)}
    try:
        if plain or any(kinds <= alike for alike in ({str}, {bool}, {int}, {int, float})):
            return pl.Series(cells, strict=not kinds)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        # Whole numbers beyond 128 bits, numbers beyond doubles, halves of characters.
        pass
    return pl.Series(list(cells), dtype=pl.Object)


def with_persons(data: object, persons: object, what: str = "data") -> RecordTable:
    """Return records as a table that knows its persons, without the column of identifiers."""
    # Shapes: persons (n,).
    check_alignment(data, persons=persons)
    table = as_table(data)
    column = persons if isinstance(persons, str) else getattr(persons, "name", None)
    if isinstance(persons, str) and persons not in table.names:
        raise InvalidDataError(
            f"{parameter('persons')} names the column {persons!r}, which the {what} lack.",
            remedy="Pass records that have it, or one identifier for each record.",
        )
    column = column if column in table.names else None
    values = table.frame[persons] if isinstance(persons, str) else persons
    whose = stated_persons(values, len(table), what, column)
    kept = table if column is None else table.restrict(name for name in table.names if name != column)
    return replace(kept, persons=whose)


def eager(frame: object) -> nw.DataFrame[Any]:
    """Return any frame as an eager narwhals frame with at least one row."""
    data = as_table(frame).frame
    if len(data) == 0:
        raise InvalidDataError(NO_RECORDS)
    return data


def _together(frame: nw.DataFrame[Any]) -> dict[str, AnyArray]:
    """Return the columns of numbers without gaps of a frame that has more columns than records, by type.

    To look at one column takes ten times as long as its numbers. Of other frames, and libraries, there are none.
    """
    native, out = frame.to_native(), dict[str, AnyArray]()
    if not isinstance(native, pl.DataFrame) or native.width <= native.height:
        return out
    gaps = native.null_count().row(0)
    for kind, stored in ((pl.Int64, np.int64), (pl.Float64, np.float64)):
        own = zip(native.schema.items(), gaps, strict=True)
        names = [name for (name, of), count in own if of == kind and not count]
        if names:
            alike = native if len(names) == native.width else native.select(names)
            rows = np.ascontiguousarray(alike.to_numpy().T, dtype=stored)
            out |= zip(names, map(read_only, rows), strict=True)
    return out


def columns(frame: object) -> dict[str, AnyArray]:
    """Return the columns of any frame as NumPy arrays, shape (n,); gaps are NaN in numbers and None elsewhere."""
    read = isinstance(frame, dict) and all(type(column) is np.ndarray for column in frame.values())
    return cast("dict[str, AnyArray]", frame) if read else as_table(frame).arrays


def collect(frame: Frame) -> nw.DataFrame[Any]:
    """Return a frame in memory; polars works through a lazy one in pieces, as DuckDB does."""
    if isinstance(frame, nw.DataFrame):
        return frame
    try:
        if frame.implementation.is_duckdb():
            signed: nw.LazyFrame[Any] = nw.from_native(signed_relation(frame.to_native()))
            return signed.collect()
        return frame.collect(engine="streaming") if frame.implementation.is_polars() else frame.collect()
    except MemoryError:
        raise
    except Exception as error:
        # Without the engine's own words, which quote values that cannot be read.
        raise InvalidDataError(
            f"the engine of the lazy frame failed with {type(error).__name__}.",
            remedy="Collect the frame to see why: the engine's message may quote a record.",
        ) from None


def collected(frame: Frame) -> nw.DataFrame[Any]:
    """Return a frame in memory: a lazy one of this machine is collected, a distributed one is refused."""
    if is_distributed(frame):
        raise InvalidDataError(
            "a frame of a distributed engine is not collected, because it may be larger than memory.",
            remedy="Pass a domain "
            "and the name of the target's column, so that it is counted where it lies, or collect it before.",
        )
    return collect(frame)
