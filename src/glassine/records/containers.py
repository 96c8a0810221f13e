"""Containers of records of every kind: the names and declared types of their columns, and the columns in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import numpy as np

from glassine.errors import InvalidDataError, parameter
from glassine.records.arrays import AnyArray
from glassine.records.cells import SHORT, Coded, FlagArray, Plain
from glassine.records.columns import ConformedColumns, is_column
from glassine.records.files import batches_of_file
from glassine.records.headers import RecordsFile, columns_of_file
from glassine.records.scalars import FOREIGN
from glassine.records.schemas import Schema

if TYPE_CHECKING:
    import polars as pl
else:
    from glassine.records import frames as pl

Frame: TypeAlias = "nw.DataFrame[Any] | nw.LazyFrame[Any]"

BATCH = 2**17
"""Records that an engine hands over at once: a batch of thirty columns takes a few dozen megabytes."""


class Opened(ABC):
    """What holds its records in a container of another kind, and may keep what was read of them."""

    __slots__ = ()

    @property
    @abstractmethod
    def container(self) -> object:
        """The container."""

    @property
    def kept(self) -> dict[Any, tuple[AnyArray, FlagArray]] | None:
        """What was read so far, by name and attribute; None where nothing is kept."""
        return None


def schema(container: object) -> Schema:
    """Return the columns of a container and their declared types.

    Examples
    --------
    >>> schema(pl.DataFrame({"age": [20], "job": ["clerk"]})).kinds
    {'age': Int64, 'job': String}
    >>> schema([[20, "clerk"]]).names is None
    True

    Raises
    ------
    InvalidDataError
        If it is no container of records, or two columns have one name.
    UnreadableFileError
        If the header of a file cannot be read.
    """
    container = _opened(container)
    if isinstance(container, RecordsFile):
        names, kinds = columns_of_file(container)
        return Schema(names=names, kinds=kinds)
    if isinstance(container, ConformedColumns):
        return Schema(names=container.names)
    if isinstance(container, Mapping):
        return Schema(names=tuple(container))
    if isinstance(container, np.ndarray):
        return Schema(names=container.dtype.names)
    if isinstance(container, list | tuple):
        if are_mappings(container):
            keys = dict.fromkeys(key for row in container if isinstance(row, Mapping) for key in row)
            return Schema(names=tuple(keys))
        return Schema(names=None)
    frame = opened_frame(container)
    if frame.implementation.is_pandas_like():
        return Schema(names=tuple(frame.columns))
    kinds = dict(frame.collect_schema())
    return Schema(names=tuple(kinds), kinds=kinds)


def batches(container: object, names: Sequence[str]) -> Iterator[dict[str, Plain]]:
    """Yield some columns of a container, in the given order, a batch of records at a time; at least one batch.

    A frame, an array or a list is one batch. A lazy frame of Polars or DuckDB is streamed in its own order. A short row
    of a list has gaps, and so has a mapping without a key. What a column holds is not looked at.

    Parameters
    ----------
    container : data frame, mapping of str to array, ndarray, list, RecordsFile, ConformedColumns, or Opened
        The records: a frame of any library that narwhals reads, arrays of shape (n,) by name, one array of shape (n, d)
        or a list of rows with exactly these columns in order, a structured array, a list of mappings, or a file, each
        line of which is read alone.
    names : sequence of str
        The columns; others are ignored.

    Raises
    ------
    InvalidDataError
        If a column is absent, columns differ in length, an array has another number of columns, or an engine fails.
    """
    container = _opened(container)
    if isinstance(container, RecordsFile):
        yield from batches_of_file(
            container, [name for name in names if is_column(name, schema(container).names or ())]
        )
    elif isinstance(container, ConformedColumns):
        yield {name: container.values(name) for name in names}
    elif isinstance(container, Mapping):
        yield of_one_length({name: plain_column(container[name]) for name in names if is_column(name, container)})
    elif isinstance(container, np.ndarray):
        yield _of_array(container, names)
    elif isinstance(container, list | tuple):
        yield _of_rows(container, names)
    else:
        yield from _of_frame(opened_frame(container), names)


def opened_frame(data: Any) -> Frame:
    """Return a data frame as narwhals wraps it, a lazy one lazy, and refuse anything else."""
    try:
        opened: Frame = nw.from_native(data)
    except nw.exceptions.NarwhalsError as error:
        raise InvalidDataError(f"data cannot be read: {str(error).splitlines()[0]} Name every column once.") from None
    except TypeError:
        raise InvalidDataError(
            f"{parameter('data')} must be a data frame, got {type(data).__name__}.",
            remedy="Read the file first, for example with polars.read_csv(path)."
            if isinstance(data, str) or hasattr(data, "__fspath__")
            else "Use pandas, polars, Arrow or DuckDB.",
        ) from None
    return opened


def is_lazy(data: object) -> bool:
    """Return whether data are a frame whose engine computes only when asked: Polars, DuckDB, Dask, Spark and so on."""
    # Without data nothing of narwhals is asked, so that an audit of a model alone does not import it.
    return data is not None and isinstance(_frame_in(data), nw.LazyFrame)


def is_distributed(data: object) -> bool:
    """Return whether data are a lazy frame that may lie on several machines: one of Dask or Spark."""
    frame = _frame_in(data)
    if not isinstance(frame, nw.LazyFrame):
        return False
    return frame.implementation.is_dask() or frame.implementation.is_spark_like()


def lazy_frame(data: object) -> nw.LazyFrame[Any]:
    """Return the lazy frame that data are, or hold."""
    frame = _frame_in(data)
    if not isinstance(frame, nw.LazyFrame):
        raise TypeError(f"a lazy frame was expected, got {type(data).__name__}.")
    return frame


def _frame_in(data: object) -> Any:
    try:
        return nw.from_native(_opened(data), pass_through=True)
    except nw.exceptions.NarwhalsError:
        return None


def are_rows(data: object) -> bool:
    """Return whether records are a list of rows of any type."""
    return isinstance(data, list | tuple) and any(is_row(row) for row in data)


def are_mappings(data: object) -> bool:
    """Return whether records are a list of mappings, some of which may be none."""
    return isinstance(data, list | tuple) and any(isinstance(row, Mapping) for row in data)


def check_width(records: AnyArray, width: int) -> None:
    """Raise InvalidDataError unless an array has one column for each of so many attributes."""
    if records.ndim != 2 or records.shape[1] != width:
        raise InvalidDataError(
            f"an array of records must have shape (n, {width}), one column per attribute in order, got "
            f"{records.shape}.",
            remedy="Pass a data frame to name the columns.",
        )


def plain_column(values: Any) -> Plain:
    """Return one column of any library in a form that :class:`~glassine.records.cells.Reader` reads."""
    if isinstance(values, np.ndarray | pl.Series | Coded | list | tuple):
        return values
    if nw.dependencies.is_pandas_series(values):
        return _of_pandas(values)
    arrow = nw.dependencies.get_pyarrow()
    if arrow is not None and isinstance(values, arrow.Array | arrow.ChunkedArray):
        return _of_arrow(values)
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        native = series.to_native()
        return series.to_list() if native is values and not isinstance(native, pl.Series) else plain_column(native)
    # The cells of a frame would be its names, those of bytes their numbers; a set has no order.
    listed = isinstance(values, Sequence) and not isinstance(values, str | bytes | bytearray)
    if not listed and getattr(values, "ndim", 0) != 1:
        raise InvalidDataError(f"a column of records must be an array or a list, got {type(values).__name__}.")
    return list(values)


def _opened(container: Any) -> Any:
    while isinstance(container, Opened):
        container = container.container
    return container


def is_row(row: object) -> bool:
    """Return whether one record is a row of values, and no text or mapping."""
    return isinstance(row, Iterable) and not isinstance(row, str | bytes | Mapping)


def of_one_length(columns: dict[str, Plain]) -> dict[str, Plain]:
    """Return columns, or refuse those that are not of one length."""
    shapes = {name: one.shape if isinstance(one, np.ndarray) else (len(one),) for name, one in columns.items()}
    for name, shape in shapes.items():
        if len(shape) != 1 or shape != next(iter(shapes.values())):
            raise InvalidDataError(f"columns must be arrays of one length, but {name!r} has shape {shape}.")
    return columns


def _of_array(records: AnyArray, names: Sequence[str]) -> dict[str, Plain]:
    if records.dtype.names is not None and records.ndim == 1:
        return of_one_length({name: records[name] for name in names if is_column(name, records.dtype.names)})
    check_width(records, len(names))
    if not isinstance(records, np.ma.MaskedArray):
        records = np.asarray(records)
    return {name: records[:, j] for j, name in enumerate(names)}


def _of_rows(rows: Sequence[Any], names: Sequence[str]) -> dict[str, Plain]:
    if are_mappings(rows):
        records = [row if isinstance(row, Mapping) else {} for row in rows]
        for name in names:
            if not any(name in record for record in records):
                raise InvalidDataError(f"no record has a value for {name!r}.", remedy="Add it, or drop the attribute.")
        return {name: [record.get(name) for record in records] for name in names}
    if rows and not are_rows(rows):
        opened_frame(rows)
    cells = [list(row) if is_row(row) else [] for row in rows]
    widths = set(map(len, cells))
    if len(widths) == 1 and widths != {len(names)}:
        raise InvalidDataError(
            f"rows must have {len(names)} values, one per attribute in order, got {widths.pop()}.",
            remedy="Pass a data frame to name the columns.",
        )
    return {name: [row[j] if j < len(row) else None for row in cells] for j, name in enumerate(names)}


def _of_frame(frame: Frame, names: Sequence[str]) -> Iterator[dict[str, Plain]]:
    present = frame.columns if isinstance(frame, nw.DataFrame) else frame.collect_schema().names()
    listed = [name for name in names if is_column(name, present)]
    if isinstance(frame, nw.DataFrame):
        native: Any = frame.to_native()
        if frame.implementation.is_pyarrow():
            yield {name: _of_arrow(native.column(name)) for name in listed}
        else:
            yield {name: plain_column(native[name]) for name in listed}
        return
    empty = True
    for part in streamed(frame.select(listed)):
        empty = False
        yield part
    if empty:
        yield {name: pl.Series(name, [], dtype=pl.Null) for name in listed}


def streamed(frame: nw.LazyFrame[Any]) -> Iterator[dict[str, Plain]]:
    """Yield the records of a lazy frame in batches; an engine's own words, which may quote a record, are not shown."""
    try:
        native: Any = frame.to_native()
        if frame.implementation.is_polars():
            for part in native.collect_batches(chunk_size=BATCH, maintain_order=True):
                yield part.to_dict()
        elif frame.implementation.is_duckdb():
            for batch in signed_relation(native).to_arrow_reader(BATCH):
                # Of some types, such as intervals, Polars makes no column.
                yield dict(zip(batch.schema.names, map(_of_arrow, batch.columns), strict=True))
        else:
            yield frame.collect(backend="polars").to_native().to_dict()
    except (MemoryError, GeneratorExit):
        raise
    except Exception as error:
        raise InvalidDataError(
            f"the engine of the lazy frame failed with {type(error).__name__}.",
            remedy="Collect the frame to see why: the engine's message may quote a record.",
        ) from None


def signed_relation(relation: Any) -> Any:
    """Return a relation of DuckDB without unsigned whole numbers of 128 bits: the upper half would turn negative."""
    named = zip(relation.columns, map(str, relation.types), strict=True)
    large = ['"' + name.replace('"', '""') + '"' for name, kind in named if kind == "UHUGEINT"]
    # The largest signed one is beyond every bound as well.
    most = f"{2**127 - 1}::UHUGEINT)::HUGEINT END AS"
    parts = ", ".join(f"CASE WHEN {name} IS NOT NULL THEN least({name}, {most} {name}" for name in large)
    return relation.project(f"* REPLACE ({parts})") if large else relation


def _of_pandas(series: Any) -> Plain:
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biufcO":
        array: AnyArray = series.to_numpy()
        return array
    if len(series) <= SHORT:
        return list(series.tolist())
    if hasattr(series, "cat") and hasattr(series.cat, "codes"):
        return Coded(values=series.cat.categories.tolist(), places=series.cat.codes.to_numpy())
    if hasattr(series.array, "__arrow_array__") and hasattr(dtype, "pyarrow_dtype") | (_storage(dtype) == "pyarrow"):
        return _of_arrow(series.array.__arrow_array__())
    if type(dtype).__name__ == "SparseDtype":
        return np.asarray(series.array)
    if isinstance(getattr(dtype, "numpy_dtype", None), np.dtype) and dtype.numpy_dtype.kind in "biuf":
        mask = series.isna().to_numpy()
        return np.ma.masked_array(series.to_numpy(dtype=dtype.numpy_dtype, na_value=0), mask)
    return list(series.tolist())


def _storage(dtype: object) -> object:
    return getattr(dtype, "storage", None)


def _of_arrow(column: Any) -> Plain:
    """Return a column of Arrow; a type that has no cells is not converted."""
    import pyarrow as pa

    kind, types = column.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _of_arrow(column.cast(kind.storage_type))
    if types.is_run_end_encoded(kind):
        import pyarrow.compute as pc

        return _of_arrow(pc.run_end_decode(column))
    if types.is_dictionary(kind) and not types.is_string(kind.value_type):
        return _of_arrow(column.cast(kind.value_type))
    if types.is_float16(kind):
        return _of_arrow(column.cast(pa.float32()))
    texts = types.is_string(kind) or types.is_large_string(kind)
    if texts and isinstance(column, pa.ChunkedArray):
        # Arrow takes each text once in a third of the time that converting all of them takes.
        coded = column.dictionary_encode().unify_dictionaries().combine_chunks()
        return Coded(values=coded.dictionary.to_pylist(), places=coded.indices.fill_null(-1).to_numpy())
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    supported = texts or number or types.is_null(kind) or types.is_dictionary(kind) or types.is_decimal128(kind)
    if supported or types.is_string_view(kind):
        read: Any = pl.from_arrow(column)
        return pl.Series(read)
    if types.is_decimal(kind):
        cells: list[Any] = column.to_pylist()
        return cells
    return Coded(values=[FOREIGN], places=np.where(column.is_null().to_numpy(zero_copy_only=False), -1, 0))
