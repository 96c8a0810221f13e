"""Columns of odd types, the cells that each holds, and what is no column at all."""

from __future__ import annotations

import array
import datetime
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

Make = Callable[[Sequence[Any]], Any]
TIMES = 8
"""How often cells are repeated: few cells are read one by one."""

DAY = datetime.date(2020, 1, 1)


class Miles(pa.ExtensionType):  # type: ignore[misc]  # PyArrow is not typed
    """A type of Arrow that stores whole numbers."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "miles")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: Any, serialized: bytes) -> Miles:
        return cls()


def of_pandas(dtype: Any) -> Make:
    return lambda cells: pd.DataFrame({"x": pd.Series(list(cells), dtype=dtype)})


def of_polars(dtype: Any) -> Make:
    return lambda cells: pl.DataFrame({"x": pl.Series(list(cells), dtype=dtype)})


def of_arrow(dtype: Any) -> Make:
    return lambda cells: pa.table({"x": pa.array(list(cells), dtype)})


def in_dictionary(dtype: Any) -> Make:
    return lambda cells: pa.table({"x": pa.array(list(cells), dtype).dictionary_encode()})


def extended(dtype: Any) -> Make:
    """Return what makes a column of an extension type, in two chunks."""

    def make(cells: Sequence[Any]) -> Any:
        halves = [pa.array(list(half), dtype.storage_type) for half in (cells[:2], cells[2:])]
        return pa.table({"x": pa.chunked_array([pa.ExtensionArray.from_storage(dtype, half) for half in halves])})

    return make


def of_duckdb(*literals: str) -> Make:
    """Return what makes a column of DuckDB of literals of SQL, one for each cell."""
    listed = ", ".join(f"({i}, {literal})" for i, literal in enumerate(literals * TIMES))
    return lambda cells: duckdb.connect().sql(f"SELECT x FROM (VALUES {listed}) t(i, x) ORDER BY i")  # noqa: S608 - our own text


def masked(cells: Sequence[Any]) -> Any:
    """Return a masked array with its mask set in single rows."""
    numbers = np.array([7 if cell is None else cell for cell in cells])
    return np.ma.masked_array(numbers, [cell is None for cell in cells])[:, None]


def odd(cells: Sequence[Any], make: Make) -> tuple[list[Any], Make]:
    return [*cells] * TIMES, make


NUMBERS, FRACTIONS, WORDS = (1, 2, None), (Decimal("1.00"), Decimal("0.50"), None), ("a", "1", None)

ODD_TYPES: dict[str, tuple[list[Any], Make]] = {
    "periods": odd((pd.Period("2020-01"), None), of_pandas("period[M]")),
    "durations": odd((pd.Timedelta(1), None), of_pandas("timedelta64[ns]")),
    "instants": odd((pd.Timestamp(1, tz="UTC"), None), of_pandas("datetime64[ns, UTC]")),
    "intervals": odd((pd.Interval(0, 1), None), of_pandas("interval")),
    "categories of numbers": odd((0.5, 1, None), of_pandas("category")),
    "categories of intervals": odd((pd.Interval(0, 1), None), of_pandas("category")),
    "sparse truths": odd((True, False), of_pandas(pd.SparseDtype(bool, False))),
    "arrow decimals of pandas": odd(FRACTIONS, of_pandas(pd.ArrowDtype(pa.decimal128(5, 2)))),
    "arrow lists of pandas": odd(([1], None), of_pandas(pd.ArrowDtype(pa.list_(pa.int64())))),
    "decimals": odd(FRACTIONS, of_polars(pl.Decimal(5, 2))),
    "enumerated": odd(WORDS, of_polars(pl.Enum(["a", "1"]))),
    "lists": odd(([1], None), of_polars(pl.List(pl.Int64))),
    "structures": odd(({"a": 1}, None), of_polars(pl.Struct({"a": pl.Int64}))),
    "days": odd((DAY, None), of_polars(pl.Date)),
    "bytes": odd((b"1", None), of_polars(pl.Binary)),
    "large": odd((1, 2**100, None), of_polars(pl.Int128)),
    "dictionary of decimals": odd(FRACTIONS, in_dictionary(pa.decimal128(5, 2))),
    "dictionary of days": odd((DAY, None), in_dictionary(pa.date32())),
    "dictionary of long texts": odd(WORDS, in_dictionary(pa.large_string())),
    "wide decimals": odd(FRACTIONS, of_arrow(pa.decimal256(50, 2))),
    "views of texts": odd(WORDS, of_arrow(pa.string_view())),
    "months, days and seconds": odd(((1, 2, 3), None), of_arrow(pa.month_day_nano_interval())),
    "mappings": odd(([("a", 1)], None), of_arrow(pa.map_(pa.string(), pa.int64()))),
    "truths in bytes": odd((1, 0, None), extended(pa.bool8())),
    "JSON": odd(WORDS, extended(pa.json_())),
    "numbers of another type": odd(NUMBERS, extended(Miles())),
    "DuckDB's large": odd((1, 2**100, None), of_duckdb("1::HUGEINT", f"{2**100}::HUGEINT", "NULL")),
    "DuckDB's unsigned": odd(
        (1, 2**127, 2**128 - 1, None), of_duckdb("1::UHUGEINT", f"{2**127}", f"{2**128 - 1}", "NULL")
    ),
    "DuckDB's enumerated": odd(WORDS, of_duckdb("'a'::ENUM('a', '1')", "'1'", "NULL")),
    "DuckDB's identifiers": odd(("00000000-0000-0000-0000-000000000001",), of_duckdb(f"'{'0' * 31}1'::UUID")),
    "DuckDB's intervals": odd(([1], None), of_duckdb("INTERVAL 1 DAY", "NULL")),
    "DuckDB's union": odd(([1], None), of_duckdb("union_value(a := 1)", "NULL")),
    "DuckDB's singles": odd((0.5, math.inf, None), of_duckdb("0.5::FLOAT", "'inf'::FLOAT", "'nan'::FLOAT")),
}
"""Columns of one type."""

UNNAMED: dict[str, tuple[list[Any], Make]] = {
    "masked array": odd((1, None, 0), masked),
    "rows of a masked array": odd((1, None, 0), lambda cells: [[*row] for row in masked(cells)]),
    "the other end first": odd((1, 0), lambda cells: np.array(cells, dtype=">f8")[:, None]),
    "texts of any length": odd(("a", "1"), lambda cells: np.array(cells, dtype=np.dtypes.StringDType())[:, None]),
    "a range": ([*range(24)], lambda cells: {"x": range(24)}),
    "an index": odd((1, 2), lambda cells: {"x": pd.Index(cells)}),
    "an array of Python": odd((1.0, 0.5), lambda cells: {"x": array.array("d", cells)}),
    "numbers of another type, alone": odd(NUMBERS, lambda cells: {"x": extended(Miles())(cells)["x"].combine_chunks()}),
}
"""Containers that name no columns, or have no types."""

NO_COLUMNS: dict[str, Any] = {
    "a text": {"x": "abc"},
    "bytes": {"x": b"123"},
    "a set": {"x": {1, 2}},
    "a mapping": {"x": {1: 2}},
    "a generator": {"x": (i for i in range(3))},
    "a frame": {"x": pd.DataFrame({"y": [1, 2]})},
    "a number": {"x": np.array(1)},
    "two columns": np.array([([1, 2],), ([3, 4],)], dtype=[("x", int, (2,))]),
}
"""What no column can be made of."""
