"""Contract of Parquet files: of two that differ in one record, every other record is read the same."""

from __future__ import annotations

import datetime
import decimal
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from glassine.data.sources import read_table
from glassine.domain import Attribute, Category, Domain, Integer, Real
from glassine.errors import UnreadableFileError
from glassine.records import Reader, read
from glassine.records.headers import RecordsFile
from glassine.records.purpose import Purpose

LAYOUTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no dictionary": {"use_dictionary": False},
    "small row groups": {"row_group_size": 7},
    "small pages": {"data_page_size": 16, "write_batch_size": 3},
    "first version": {"version": "1.0"},
    "second pages": {"data_page_version": "2.0"},
    "compressed": {"compression": "gzip"},
    "no statistics": {"write_statistics": False},
    "old timestamps": {"use_deprecated_int96_timestamps": True},
    "page index": {"write_page_index": True},
}

DAY = datetime.date(2020, 2, 29)
COLUMNS: dict[str, tuple[pa.DataType, list[Any], list[Any]]] = {
    "texts": (pa.string(), ["a", "b", "01", None], [None, "", "z", "\0", "?", "x" * 100_000, "é"]),
    "large texts": (pa.large_string(), ["a", "1", "01"], [None, "", "1e999"]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", "1"], [None, "z"]),
    "whole": (pa.int64(), [0, 1, 7, None], [None, 2**63 - 1, -(2**63), 3]),
    "unsigned": (pa.uint64(), [0, 1, 7], [None, 2**64 - 1]),
    "small": (pa.int8(), [0, 1, 7], [None, -128]),
    "doubles": (pa.float64(), [0.0, 1.0, 2.5, None], [None, math.nan, math.inf, -math.inf, 1e308, -0.0, 5e-324]),
    "singles": (pa.float32(), [0.0, 1.0, 2.5], [None, math.nan, math.inf]),
    "truths": (pa.bool_(), [True, False, None], [None, True]),
    "decimals": (pa.decimal128(38, 4), [decimal.Decimal("1.5"), decimal.Decimal(0)], [None, decimal.Decimal("9" * 34)]),
    "days": (pa.date32(), [DAY], [None, datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]),
    "moments": (pa.timestamp("ms"), [datetime.datetime(2020, 1, 1)], [None, datetime.datetime(9999, 12, 31)]),
    "bytes": (pa.binary(), [b"a", b"1"], [None, b"\xff", b""]),
    "nothing": (pa.null(), [None], [None]),
}
ATTRIBUTES: dict[str, Attribute] = {
    "whole": Integer(0, 9, missing=True),
    "real": Real(0.0, 9.0),
    "words": Category(("a", "b", "01", "1"), missing=True),
    "numbers": Category((0, 1, 7)),
}
N, AT = 40, 23


def written(kind: str, odd: Any, layout: str, path: Path, *, with_odd: bool) -> None:
    """Write a column of many plain cells, and an odd one among them."""
    dtype, plain, _ = COLUMNS[kind]
    cells = [plain[i % len(plain)] for i in range(N)]
    column = pa.array([*cells[:AT], odd, *cells[AT:]] if with_odd else cells, dtype)
    pq.write_table(pa.table({"x": column, "y": pa.array(range(len(column)))}), path, **LAYOUTS[layout])


def opened(path: Path, attribute: Attribute) -> tuple[list[Any], list[int], list[Any]]:
    """Return what a private fit reads, its flags, and what an audit reads."""
    file, domain = RecordsFile(path=path, declared={"x": attribute}), Domain({"x": attribute})
    columns, flags = read(file, domain)
    audited, _ = read(read_table(file, Purpose.AUDIT, domain), domain)
    return columns.array("x").tolist(), flags.arrays["x"].tolist(), audited.array("x").tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", COLUMNS)
def test_one_record_of_a_parquet_file_changes_how_no_other_is_read(kind: str, layout: str, tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    for odd in COLUMNS[kind][2]:
        for attribute in ATTRIBUTES.values():
            written(kind, odd, layout, path, with_odd=False)
            before = opened(path, attribute)
            written(kind, odd, layout, path, with_odd=True)
            for one, other in zip(before, opened(path, attribute), strict=True):
                assert len(other) == N + 1
                np.testing.assert_array_equal([*other[:AT], *other[AT + 1 :]], one)
            if kind in ("texts", "large texts", "dictionary", "whole", "unsigned", "small", "doubles", "truths"):
                value, flag = Reader(attribute).cell(odd)
                private, flags, audited = opened(path, attribute)
                np.testing.assert_array_equal([private[AT], audited[AT], flags[AT]], [value, value, flag])


def test_texts_of_a_parquet_file_that_are_no_utf8_are_refused_by_name(tmp_path: Path) -> None:
    """No reader of Parquet gives such a column: the file is none, and a rehearsal by `domain check` says why."""
    cells = [b"a", b"\xff", b"b"]
    ends = np.cumsum([0, *map(len, cells)]).astype("i4")
    column = pa.Array.from_buffers(
        pa.string(), len(cells), [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(cells))]
    )
    pq.write_table(pa.table({"x": column}), tmp_path / "records.parquet")
    with pytest.raises(UnreadableFileError, match="invalid UTF-8") as raised:
        read_table(RecordsFile(path=tmp_path / "records.parquet"), Purpose.AUDIT)
    assert "Write its texts in UTF-8" in str(raised.value)
