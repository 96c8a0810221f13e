"""Counting where the records lie: the reader goes to an engine's batches or partitions, and distinct records come back.

A lazy frame of Polars or DuckDB is streamed through the reader on this machine. Dask and Spark run the reader inside
their partitions, so that a table larger than one machine stays where it is. Either way, what leaves a batch is distinct
coded records and how often each occurs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from math import prod
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from glassine.domain.attributes import Attribute, Integer, Real
from glassine.errors import InvalidDataError, parameter
from glassine.records.arrays import AnyArray, Array, Bools, Ints
from glassine.records.cells import Coded, Flag, Plain, Reader
from glassine.records.columns import ConformedColumns, columns_of
from glassine.records.containers import batches, lazy_frame, plain_column, schema
from glassine.records.cuts import Cuts
from glassine.records.flags import Flags, settled
from glassine.records.keys import LARGEST_KEY, Keys
from glassine.records.schemas import check_types
from glassine.records.undeclared import outside, reasons, refuse, wide

# Weights of rows: how many records each row of a dataset stands for.


MAX_WEIGHT = 2**32
"""Largest multiplicity that one row may state, so that sums over two billion rows stay within 64 bits."""

WEIGHT = Real(-1.0, float(MAX_WEIGHT + 1), missing=True)
"""What a weight is read as: bounds that no valid weight reaches, so that the others can be recognized."""


def valid(weights: Array) -> Bools:
    """Return which weights are whole numbers in the allowed range; NaN is none."""
    return np.asarray((weights >= 0) & (weights <= MAX_WEIGHT) & (weights == np.floor(weights)))


def check_weights(n_invalid: int, name: str) -> None:
    """Raise InvalidDataError if a weight of a column was not valid."""
    if n_invalid:
        raise InvalidDataError(
            f"{parameter('weights')} must be whole numbers in [0, {MAX_WEIGHT}], but {name!r} holds others.",
            remedy="Give the number of records that each row stands for.",
        )


PART = 2**20
"""Groups whose keys are taken apart at once, where there may be as many of them as records."""

GROUPED = 2**20
"""Records that are grouped at once."""

MERGED = 2**21
"""Groups of batches that are put aside before they are merged."""

MOST_KEPT = 64
"""Most values of a kept column with which it shares a key."""

TOGETHER = 8
"""Partitions of Dask whose groups are merged in one task."""


# What is made of a batch, on whatever machine it lies. Both can be sent to another process.


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Distinct:
    """The distinct coded records of a batch, and how often each occurs."""

    keys: Keys
    checked: Mapping[str, Attribute] = field(default_factory=dict)  # Attributes whose cells may be refused
    keep_undeclared: bool = False
    keep: str | None = None  # A further column that distinguishes records, unchanged
    required: Mapping[str, Attribute] = field(default_factory=dict)  # A record that lacks a value of these is left out
    weights: str | None = None  # A column of weights
    share: tuple[int, int] = (0, 1)  # Which part of the keys, and of how many

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        further = [name for name in (self.keep, self.weights) if name is not None]
        return list(dict.fromkeys([*self.keys.attributes, *self.checked, *self.required, *further]))

    @property
    def by(self) -> list[str]:
        """What rows are grouped by."""
        return [*self.keys.names, "one", *(["kept"] if self.keep is not None else [])]

    sums = ("n",)
    most = ("refused", "invalid")

    def __call__(self, batch: Mapping[str, Plain]) -> pl.DataFrame:
        """Return the keys of a batch, a row for each record."""
        read = {name: Reader(attribute).column(batch[name]) for name, attribute in self._read.items()}
        attributes = self.keys.attributes
        columns = columns_of(attributes, {name: read[name][0] for name in attributes})
        flags = Flags(attributes=attributes, arrays={name: read[name][1] for name in attributes})
        n_records = len(next(iter(batch.values())))
        frame: dict[str, Any] = {"one": np.zeros(n_records, dtype=np.int8)}
        if attributes:
            frame |= self.keys.pack(settled(columns, flags, keep_undeclared=self.keep_undeclared))
        if self.keep is not None:
            frame["kept"] = _unchanged(batch[self.keep])
        weights, good = np.ones(n_records), np.ones(n_records, dtype=bool)
        if self.weights is not None:
            weights, _ = Reader(WEIGHT).column(batch[self.weights])
            good = valid(weights)
        refused = np.zeros(n_records, dtype=np.int64)
        for place, (name, attribute) in enumerate(self.checked.items()):
            own = read[name][1]
            if own.any():
                # One record in the place of all with the same reason; the first attribute in order is named.
                here = (refused == 0) & _refusable(attribute)[own]
                refused[here] = len(Flag) * (len(self.checked) - place) + own[here]
        frame["n"] = np.where(good, weights, 0.0).astype(np.int64)
        frame["refused"], frame["invalid"] = refused, ~good
        out = pl.DataFrame(frame).with_columns(pl.col("invalid").cast(pl.Int64))
        for name, attribute in self.required.items():
            values, _ = Reader(attribute).column(batch[name])
            out = out.filter(pl.Series(values >= 0 if values.dtype.kind == "i" else ~np.isnan(values)))
        if self.share[1] > 1:
            out = out.filter(pl.col("w0") % self.share[1] == self.share[0])
        return out

    def first(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the groups of rows that stand for one record each."""
        # One array of whole numbers is sorted much faster than rows of several columns are grouped.
        plain = self.weights is None and len(self.keys.words) == 1 and not self.keys.loose and len(rows) > 0
        if not plain or rows["refused"].max() or rows["invalid"].max():
            return merged([rows], self)
        width = prod(n_codes for _, n_codes in self.keys.words[0])
        kept = rows["kept"].unique() if self.keep is not None else pl.Series([0])
        if len(kept) > MOST_KEPT or width * len(kept) > LARGEST_KEY:
            return merged([rows], self)
        keys = rows["w0"].to_numpy()
        for code, value in enumerate(kept.to_list()) if len(kept) > 1 else ():
            keys = keys + rows["kept"].eq_missing(value).to_numpy() * np.int64(code * width)
        distinct, counts = np.unique(keys, return_counts=True)
        out = pl.DataFrame({"w0": distinct % width}).with_columns(
            pl.lit(0, dtype=pl.Int8).alias("one"),
            *([kept.gather(distinct // width).alias("kept")] if self.keep is not None else []),
            pl.Series("n", counts.astype(np.int64)),
            pl.lit(0, dtype=pl.Int64).alias("refused"),
            pl.lit(0, dtype=pl.Int64).alias("invalid"),
        )
        return out.select([*self.by, "n", "refused", "invalid"])

    @property
    def _read(self) -> dict[str, Attribute]:
        return {**self.keys.attributes, **self.checked}

    def refuse(self, reason: int) -> None:
        """Raise InvalidDataError for the largest reason that a batch gave, in the words for a column in memory."""
        if reason:
            place, flag = len(self.checked) - reason // len(Flag), reason % len(Flag)
            name, attribute = list(self.checked.items())[place]
            one = Reader(attribute).column([None])[0]
            flags = Flags(attributes={name: attribute}, arrays={name: np.array([flag], dtype=np.uint8)})
            refuse(columns_of({name: attribute}, {name: one}), flags)


def _unchanged(column: Plain) -> pl.Series:
    """Return a column unchanged, of the types that an engine's columns have."""
    if isinstance(column, pl.Series):
        return column
    if isinstance(column, Coded):
        cells = [column.values[place] if place >= 0 else None for place in column.places.tolist()]
    else:
        cells = column.tolist() if isinstance(column, np.ma.MaskedArray) else list(column)
    return pl.Series(cells, strict=False)


def _refusable(attribute: Attribute) -> Bools:
    """Return for each flag whether an ordinary fit refuses it, as :func:`~glassine.records.undeclared.refuse` does."""
    out = np.zeros(len(Flag), dtype=bool)
    out[Flag.UNDECLARED] = isinstance(attribute, Integer | Real)
    out[[Flag.MISSING, Flag.INFINITE]] = not attribute.missing
    return out


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Outside:
    """How many cells of each column of a batch lie outside their attribute, by reason."""

    attributes: Mapping[str, Attribute]

    by = ("one",)
    most = ()

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return list(self.attributes)

    @property
    def sums(self) -> tuple[str, ...]:
        """What is added up: a number for each attribute and reason."""
        return tuple(f"f{i}_{j}" for i, one in enumerate(self.attributes.values()) for j in range(len(reasons(one))))

    def __call__(self, batch: Mapping[str, Plain]) -> pl.DataFrame:
        """Return one row of numbers."""
        row: list[int] = []
        for name, attribute in self.attributes.items():
            column = batch[name]
            values, flags = Reader(wide(attribute)).column(column)
            why = outside(attribute, values, flags, partial(batch.__getitem__, name))
            row += np.bincount(why, minlength=len(reasons(attribute)) + 1)[1:].tolist()
        return pl.DataFrame({"one": [0], **{name: [n] for name, n in zip(self.sums, row, strict=True)}}).with_columns(
            pl.col("one").cast(pl.Int8)
        )

    def first(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the numbers of several batches together."""
        return merged([rows], self)


class Gathering:
    """The groups of batches, one after the other: rows are grouped when there are many, groups merged when they are."""

    def __init__(self, question: Distinct | Outside) -> None:
        self._question = question
        self._rows: list[pl.DataFrame] = []
        self._groups: list[pl.DataFrame] = []
        self._merged = 0

    def add(self, batch: Mapping[str, Plain]) -> None:
        """Take the records of a batch in."""
        self._rows.append(self._question(batch))
        if sum(map(len, self._rows)) >= GROUPED:
            self._group()

    def _group(self) -> None:
        rows = self._rows[0] if len(self._rows) == 1 else pl.concat(self._rows, how="vertical_relaxed")
        self._rows = []
        self._groups.append(self._question.first(rows))
        if sum(map(len, self._groups)) > self._merged + MERGED:
            self._groups = [merged(self._groups, self._question)]
            self._merged = len(self._groups[0])

    def whole(self) -> pl.DataFrame:
        """Return the groups of all batches; there must be one."""
        if self._rows:
            self._group()
        return self._groups[0] if len(self._groups) == 1 else merged(self._groups, self._question)


def merged(parts: Sequence[pl.DataFrame], question: Distinct | Outside) -> pl.DataFrame:
    """Return the groups of several batches together."""
    whole = parts[0] if len(parts) == 1 else pl.concat(parts, how="vertical_relaxed")
    return whole.group_by(list(question.by)).agg(
        *(pl.col(name).sum() for name in question.sums), *(pl.col(name).max() for name in question.most)
    )


# How engines are asked.


def ask(frame: nw.LazyFrame[Any], question: Distinct | Outside) -> pl.DataFrame:
    """Return what a question makes of all records of a lazy frame."""
    names = question.columns
    if not names:
        # A frame without columns would have no rows.
        names = frame.collect_schema().names()[:1]
    native: Any = frame.select(list(names)).to_native() if set(names) <= set(frame.collect_schema()) else None
    if native is not None and frame.implementation.is_dask():
        return _of_dask(native, question, names)
    if native is not None and frame.implementation.is_spark_like() and hasattr(native, "mapInArrow"):
        return _of_spark(native, question, names)
    gathering = Gathering(question)
    for batch in batches(frame, names):
        gathering.add(batch)
    return gathering.whole()


def _of_dask(native: Any, question: Distinct | Outside, names: Sequence[str]) -> pl.DataFrame:
    """Ask each partition in the process that holds it; answers are merged in a tree, which no scheduler can outgrow."""
    dask: Any = import_module("dask")
    delayed = dask.delayed
    try:
        parts = [delayed(_of_partition)(part, question, names) for part in native.to_delayed()]
        while len(parts) > 1:
            parts = [delayed(merged)(parts[i : i + TOGETHER], question) for i in range(0, len(parts), TOGETHER)]
        answer: pl.DataFrame = dask.compute(parts[0])[0]
    except (MemoryError, InvalidDataError):
        raise
    except Exception as error:
        raise _failure(error) from None
    return answer


def _of_partition(part: Any, question: Distinct | Outside, names: Sequence[str]) -> pl.DataFrame:
    return question.first(question({name: plain_column(part[name]) for name in names}))


def _of_spark(native: Any, question: Distinct | Outside, names: Sequence[str]) -> pl.DataFrame:
    """Ask each partition in Spark's own Python processes, and let Spark add up the groups."""
    try:
        kept = getattr(question, "keep", None)
        kinds = dict.fromkeys((*question.by, *question.sums, *question.most), "long")
        kinds |= {name: "double" for name in question.by if name.startswith("x")}
        if kept is not None:
            kinds["kept"] = native.schema[kept].dataType.simpleString()
        declared = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        answers = native.mapInArrow(partial(_of_spark_batches, question=question, names=list(names)), declared)
        frame: Any = nw.from_native(answers)
        sums = [nw.col(name).sum() for name in question.sums]
        grouped = frame.group_by(list(question.by)).agg(*sums, *(nw.col(name).max() for name in question.most))
        whole = grouped.collect(backend="polars").to_native()
    except (MemoryError, InvalidDataError):
        raise
    except Exception as error:
        if "No module named 'glassine'" in str(error):
            raise InvalidDataError(
                "the Python processes of Spark lack Glassine, which reads the records there.",
                remedy="Install it on each machine, or name its Python in PYSPARK_PYTHON before the session is made.",
            ) from None
        raise _failure(error) from None
    return merged([whole], question)


def _of_spark_batches(parts: Iterable[Any], *, question: Distinct | Outside, names: Sequence[str]) -> Iterator[Any]:
    """Yield the groups of one partition, as batches of Arrow."""
    gathering, empty = Gathering(question), True
    for part in parts:
        gathering.add({name: plain_column(part.column(name)) for name in names})
        empty = False
    if not empty:
        whole = gathering.whole()
        order = [*question.by, *question.sums, *question.most]
        wide = [pl.col(name).cast(pl.Int64) for name in order if name[0] != "x" and name != "kept"]
        yield from whole.with_columns(*wide).select(order).to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()


def _failure(error: Exception) -> InvalidDataError:
    """Return the error of an engine without its words, which may quote values."""
    return InvalidDataError(
        f"the engine of the lazy frame failed with {type(error).__name__}.",
        remedy="Collect the frame to see why: the engine's message may quote a record.",
    )


# The questions that fits, tables and audits have.


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Groups:
    """Distinct coded records, in no order."""

    columns: ConformedColumns  # The records, m rows; without any column where no attribute distinguished them
    counts: Ints  # Number of records of each; a weight may be 0; shape (m,)
    kept: AnyArray  # The column that was kept unchanged, if one was; shape (m,) or (0,)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LazyTable:
    """Records that stay with the engine of a lazy frame: each question is a pass, and only groups come into memory."""

    frame: Any  # The records; lazy frame
    strict: bool = True  # Whether a value that is none of its attribute is refused, as by an ordinary fit
    typed: bool = True  # Whether a column is refused whose declared type cannot hold values of its attribute
    keep_undeclared: bool = False  # Whether a category that is not declared has a code of its own
    keep: str | None = None  # A further column that distinguishes records, unchanged
    required: Mapping[str, Attribute] = field(default_factory=dict)  # A record that lacks a value of these is left out

    def group(
        self, attributes: Mapping[str, Attribute], *, cuts: Cuts | None = None, weights: str | None = None
    ) -> Groups:
        """Count the distinct records.

        Raises
        ------
        InvalidDataError
            If a column is absent, its type cannot hold the values of its attribute, or the engine fails; if a value is
            refused; if a weight is no whole number in [0, 2**32].
        """
        keys = Keys.of(attributes, cuts or {})
        grouped = self._asked(keys, attributes, weights=weights)
        if weights is not None:
            # Of a column of whole numbers polars says no type.
            check_weights(int(grouped["invalid"].max() or 0), weights)  # type: ignore[arg-type]
        return self._groups(keys, grouped)

    def parts(self, attributes: Mapping[str, Attribute], *, cuts: Cuts, queries: int = 1) -> Iterator[Groups]:
        """Yield what :meth:`group` returns a part at a time: until then each distinct record takes few bytes."""
        # With several queries each asks for some of the keys, so that not all groups are held at once.
        keys = Keys.of(attributes, cuts)
        queries = queries if keys.words else 1
        for query in range(queries):
            grouped = self._asked(keys, attributes, share=(query, queries))
            # Of no record there is one part, without rows.
            for start in range(0, max(len(grouped), 1), PART):
                yield self._groups(keys, grouped[start : start + PART])

    def totals(self, attributes: Mapping[str, Attribute]) -> tuple[AnyArray, Ints]:
        """Return the values of :attr:`keep`, 0 without it, and their numbers, after a look at all attributes."""
        grouped = self._asked(Keys.of({}, {}), attributes)
        return grouped["one" if self.keep is None else "kept"].to_numpy(), _whole(grouped["n"])

    def bins(self, name: str, attribute: Integer | Real, cuts: Array) -> Ints:
        """Return how many records lie in each bin of a number, and how many have none, shape (k + 2,).

        Bin i holds the numbers above cut i - 1 up to cut i. Shapes: ``cuts`` (k,), increasing.

        Examples
        --------
        >>> lazy = pl.LazyFrame({"age": [20, 41, 42, None]})
        >>> table = LazyTable(frame=lazy)
        >>> table.bins("age", Integer(0, 99, missing=True), np.array([20.0, 41.0])).tolist()
        [1, 1, 1, 1]
        """
        groups = replace(self, keep=None).group({name: attribute}, cuts={name: cuts.tolist()})
        return binned(groups.columns.numbers[name], groups.counts, cuts)

    def outside(self, attributes: Mapping[str, Attribute]) -> dict[str, dict[str, int]]:
        """Return how many cells of each column lie outside their attribute, by reason; only those above zero."""
        if not attributes:
            return {}
        row = iter(ask(lazy_frame(self.frame), Outside(attributes=dict(attributes))).drop("one").row(0))
        rows = {name: {why: next(row) for why in reasons(attribute)} for name, attribute in attributes.items()}
        kept = {name: {why: n for why, n in own.items() if n} for name, own in rows.items()}
        return {name: own for name, own in kept.items() if own}

    def _asked(
        self,
        keys: Keys,
        looked_at: Mapping[str, Attribute],
        *,
        weights: str | None = None,
        share: tuple[int, int] = (0, 1),
    ) -> pl.DataFrame:
        """Return the distinct records, or a share of them, and how often each occurs."""
        frame = lazy_frame(self.frame)
        if self.typed:
            check_types(schema(frame), dict(looked_at))
        question = Distinct(
            keys=keys,
            checked=dict(looked_at) if self.strict else {},
            keep_undeclared=self.keep_undeclared,
            keep=self.keep,
            required=dict(self.required),
            weights=weights,
            share=share,
        )
        grouped = ask(frame, question)
        # As above: a whole number.
        question.refuse(int(grouped["refused"].max() or 0))  # type: ignore[arg-type]
        return grouped

    def _groups(self, keys: Keys, grouped: pl.DataFrame) -> Groups:
        return Groups(
            columns=keys.unpack(grouped),
            counts=_whole(grouped["n"]),
            kept=np.zeros(0) if self.keep is None else grouped["kept"].to_numpy(),
        )


def binned(numbers: Array, counts: Ints, cuts: Array) -> Ints:
    """Return how many records lie in each bin of some distinct numbers, and how many have none, shape (k + 2,)."""
    out = np.zeros(len(cuts) + 2, dtype=np.int64)
    places = np.where(np.isnan(numbers), len(cuts) + 1, np.searchsorted(cuts, numbers, side="left"))
    np.add.at(out, places, counts)
    return out


def _whole(series: pl.Series) -> Ints:
    return series.to_numpy().astype(np.int64)
