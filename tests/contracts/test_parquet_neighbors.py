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
from pyarrow.parquet.encryption import CryptoFactory, EncryptionConfiguration, KmsClient, KmsConnectionConfig

from glassine.data.record_table import columns
from glassine.data.sources import read_table
from glassine.domain import Attribute, Category, Domain, Integer, Real
from glassine.errors import UnreadableFileError
from glassine.records import Reader, read, schema
from glassine.records.columns import values_of
from glassine.records.headers import CsvDialect, RecordsFile, columns_of_file
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
    written(kind, None, layout, path, with_odd=False)
    before = {name: opened(path, attribute) for name, attribute in ATTRIBUTES.items()}
    for odd in COLUMNS[kind][2]:
        written(kind, odd, layout, path, with_odd=True)
        for name, attribute in ATTRIBUTES.items():
            after = opened(path, attribute)
            for one, other in zip(before[name], after, strict=True):
                assert len(other) == N + 1
                np.testing.assert_array_equal([*other[:AT], *other[AT + 1 :]], one)
            if kind in ("texts", "large texts", "dictionary", "whole", "unsigned", "small", "doubles", "truths"):
                value, flag = Reader(attribute).cell(odd)
                private, flags, audited = after
                np.testing.assert_array_equal([private[AT], audited[AT], flags[AT]], [value, value, flag])


def texts_of(cells: list[bytes | None], kind: pa.DataType) -> pa.Array:
    """Return a column that says that it holds texts, whatever its bytes are."""
    dtype, layout = (pa.large_string(), "i8") if kind == pa.large_string() else (pa.string(), "i4")
    ends = np.cumsum([0, *(len(cell or b"") for cell in cells)]).astype(layout)
    gaps = pa.array([cell is not None for cell in cells]).buffers()[1]
    column = pa.Array.from_buffers(
        dtype, len(cells), [gaps, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(cell or b"" for cell in cells))]
    )
    return column.dictionary_encode() if pa.types.is_dictionary(kind) else column


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
@pytest.mark.parametrize("schema", [True, False])
def test_a_text_that_is_no_utf8_is_one_record_alone(
    kind: pa.DataType, layout: str, schema: bool, tmp_path: Path
) -> None:
    """Engines refuse the whole column then: a private fit would fail after its charge, and one record would show."""
    path, plain = tmp_path / "records.parquet", [b"a", b"01", None, b"b", b"caf\xc3\xa9"]
    cells = [plain[i % len(plain)] for i in range(N)]
    attributes: tuple[Attribute, ...] = (
        Category(("a", "b", "01", "caf\xe9"), missing=True),
        Integer(0, 9, missing=True),
    )

    def write(all_cells: list[bytes | None]) -> None:
        others = {"y": pa.array(range(len(all_cells))), "z": pa.array(["é"] * len(all_cells))}
        table = pa.table({"z": others["z"], "x": texts_of(all_cells, kind), "y": others["y"]})
        pq.write_table(table, path, store_schema=schema, **LAYOUTS[layout])

    write(cells)
    before = [opened(path, attribute) for attribute in attributes]
    for odd in (b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\x001\xfe"):
        write([*cells[:AT], odd, *cells[AT:]])
        for attribute, all_before in zip(attributes, before, strict=True):
            after = opened(path, attribute)
            for one, other in zip(all_before, after, strict=True):
                np.testing.assert_array_equal([*other[:AT], *other[AT + 1 :]], one)
            value, flag = Reader(attribute).cell(odd.decode(errors="replace"))
            np.testing.assert_array_equal([after[0][AT], after[2][AT], after[1][AT]], [value, value, flag])
    table = read_table(RecordsFile(path=path), Purpose.AUDIT)
    assert list(columns(table)) == ["z", "x", "y"]


@pytest.mark.parametrize("stated", [(), ("1", "a", "7")])
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_text_that_is_no_utf8_changes_no_column_beside_it(kind: str, stated: tuple[str, ...], tmp_path: Path) -> None:
    """Whether texts are stated to be missing or not, and however they are stored."""
    path, (dtype, plain, _) = tmp_path / "records.parquet", COLUMNS[kind]
    column = pa.array([plain[i % len(plain)] for i in range(N)], dtype)
    for attribute in ATTRIBUTES.values():
        both = []
        for last in (b"c", b"\xff"):
            pq.write_table(pa.table({"x": column, "w": texts_of([*[b"c"] * (N - 1), last], pa.string())}), path)
            file = RecordsFile(path=path, declared={"x": attribute}, dialect=CsvDialect(missing=stated))
            domain = Domain({"x": attribute, "w": Category(("c", "d"))})
            for container in (file, read_table(file, Purpose.AUDIT, domain)):
                columns, flags = read(container, domain)
                both.append([columns.array("x"), flags.arrays["x"]])
        for other in both[1:]:
            np.testing.assert_array_equal(other, both[0])
        if kind == "dictionary" and stated:
            cells = [
                None if cell in stated and cell not in values_of(attribute) else cell for cell in column.to_pylist()
            ]
            np.testing.assert_array_equal(both[0], np.transpose([Reader(attribute).cell(cell) for cell in cells]))


@pytest.mark.parametrize("plaintext", [True, False])
def test_an_encrypted_file_is_named_before_a_charge(plaintext: bool, tmp_path: Path) -> None:
    """With a footer in plain bytes or not."""
    path = tmp_path / "records.parquet"
    made = CryptoFactory(lambda config: Keys())
    how = EncryptionConfiguration(footer_key="f", column_keys={"c": ["x"]}, plaintext_footer=plaintext)
    properties = made.file_encryption_properties(KmsConnectionConfig(), how)
    table = pa.table({"x": [1, 2], "y": [1, 2]})
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    file = RecordsFile(path=path, declared={"x": Integer(0, 9)})
    for opening in (lambda: schema(file), lambda: read_table(file, Purpose.AUDIT)):
        with pytest.raises(UnreadableFileError, match="encrypted"):
            opening()


class Keys(KmsClient):  # type: ignore[misc]  # pyarrow ships no types
    """Keys that are wrapped in nothing."""

    def wrap_key(self, key: bytes, master: str) -> str:
        return key.hex()

    def unwrap_key(self, wrapped: str, master: str) -> bytes:
        return bytes.fromhex(wrapped)


def test_ordinary_fits_refuse_texts_that_are_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    pq.write_table(pa.table({"x": texts_of([b"a", b"\xff", b"b"], pa.string())}), path)
    with pytest.raises(UnreadableFileError, match="invalid UTF-8") as raised:
        read_table(RecordsFile(path=path), Purpose.ORDINARY)
    assert "Write its texts in UTF-8" in str(raised.value)


def test_a_damaged_footer_is_said_as_such_before_a_private_fit_is_charged(tmp_path: Path) -> None:
    """Engines pass over some damage that the check for encrypted columns meets."""
    path = tmp_path / "records.parquet"
    pq.write_table(pa.table({"x": ["a", "b"] * 50, "y": range(100)}), path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    size, refused = int.from_bytes(whole[-8:-4], "little"), 0
    for _ in range(400):
        damaged = bytearray(whole)
        damaged[len(whole) - 8 - int(rng.integers(1, size))] = int(rng.integers(256))
        path.write_bytes(damaged)
        try:
            columns_of_file(RecordsFile(path=path))
        except UnreadableFileError as error:
            refused += "footer" in str(error)
    assert refused > 0
