"""Contract of files for private fits: of two files that differ in one line, every other record is read the same."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassine.data.csv_records import texts_of
from glassine.data.sources import read_table
from glassine.domain import Domain, Integer
from glassine.records import Reader, lines
from glassine.records.headers import CsvDialect, RecordsFile, open_text
from glassine.records.lines import LineFlag
from glassine.records.purpose import Purpose

ENCODINGS = (None, "utf-8", "windows-1252", "shift_jis", "gb18030", "euc_jp")
SEPARATORS = (",", ", ", ";", "|", "\t")
N_LINES = 2_500

PIECES = [
    *(b"5", b"n", b"p", b"", b'"', b'""', b'","', b',"a"', b'"b",', b' "', b"'", b",", b",,,,", b"|", b";", b"\t"),
    *(b"\x1b$B", b"~{", b"~", b"+AOk", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\x00", b"\xed\xa0\x80", b"\x8f"),
    *(b"\x83|", b"\x83", b"\x81\x30", b"\xc3", "é".encode(), b"1e999", b"-inf", b"nan", b"9" * 400, b"\r", b"\\"),
    *(b"#", b" ", b"  ", b", ", b"sep=;", b"\x1a", b"\x85", b"\xe2\x80\xa8", b"\x0b", b"\x0c"),
]


def odd_line(rng: random.Random, mark: bytes, width: int) -> bytes:
    """Return a line of any kind: pieces of all sorts, a row that is too long or short, or one that is cut off."""
    kind = rng.random()
    if kind < 0.5:
        return b"".join(rng.choices(PIECES, k=rng.randint(0, 6)))
    fields = rng.choices([b"12", b'"x"', b'"a,b"', b'"say ""no"""', b"", b" y", b'" z"', b"\xe9", b"x\ry"], k=width)
    if kind < 0.7:
        fields = fields[: rng.randint(0, width)] if rng.random() < 0.5 else fields * 2
    line = mark.join(fields)
    return line if kind < 0.85 else line[: rng.randint(0, len(line))]


def read(
    body: list[bytes], encoding: str | None, separator: str, width: int
) -> list[tuple[tuple[str | None, ...], int]]:
    """Return the records of a file with these lines, each with its flag."""
    names = tuple(f"c{i}" for i in range(width))
    dialect = CsvDialect(names=names, separator=separator, encoding=encoding)
    data = b"".join(line + b"\n" for line in body)
    text = open_text(RecordsFile(path=Path("a.csv"), dialect=dialect), data, {}, purpose=Purpose.PRIVATE)
    blocks = list(text.blocks())
    rows = [row for frame, _ in blocks for row in frame.rows()]
    flags = [int(flag) for _, block in blocks for flag in block]
    assert len(rows) == len(flags)
    assert texts_of(text).rows() == rows
    return list(zip(rows, flags, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_of_two_files_that_differ_in_one_line_every_other_record_reads_the_same(
    encoding: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(str(encoding))
    n = 0
    while n < N_LINES // len(ENCODINGS) + 1:
        # Blocks of a few bytes end anywhere among the lines.
        monkeypatch.setattr(lines, "BLOCK", rng.choice([60, 2**23]))
        separator, width = rng.choice(SEPARATORS), rng.randint(1, 4)
        mark = separator[0].encode()
        plain = [mark.join(rng.choices([b"7", b'"q"', b"word"], k=width)) for _ in range(rng.randint(1, 12))]
        before = read(plain, encoding, separator, width)
        assert [flag for _, flag in before] == [0] * len(plain)
        for _ in range(4):
            line, at = odd_line(rng, mark, width), rng.randint(0, len(plain))
            alone = read([line], encoding, separator, width)
            after = read([*plain[:at], line, *plain[at:]], encoding, separator, width)
            assert after == [*before[:at], *alone, *before[at:]], (line, separator, width)
            assert len(alone) == (0 if line in (b"", b"\r") and width > 1 else 1)
            n += 1


def audited(body: list[bytes], encoding: str | None, folder: Path) -> tuple[list[tuple[Any, ...]], list[int]]:
    """Return the records of an audit, the first column declared, and which lines are odd."""
    path = folder / "a.csv"
    path.write_bytes(b"c0,c1,c2\n" + b"".join(line + b"\n" for line in body))
    file = RecordsFile(path=path, dialect=CsvDialect(separator=",", encoding=encoding))
    table = read_table(file, Purpose.AUDIT, Domain({"c0": Integer(0, 9)}))
    # A declared column is one of texts if some text of it is no number; a text is read as the same value.
    rows = [(Reader(Integer(0, 9)).cell(first)[0], *rest) for first, *rest in table.frame.rows()]
    return rows, [] if table.lines is None else np.flatnonzero(table.lines).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "windows-1252", "shift_jis", "gb18030"])
def test_an_audit_reads_every_other_record_the_same_and_with_the_same_types(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that is not as the header says changes neither another value nor the type of a column."""
    rng = random.Random(encoding)
    for _ in range(200):
        monkeypatch.setattr(lines, "BLOCK", rng.choice([60, 2**23]))
        plain = [b",".join([b"%d" % rng.randint(0, 9), b"%d" % i, rng.choice([b'"q"', b"w"])]) for i in range(9)]
        before, none = audited(plain, encoding, tmp_path)
        # A carriage return ends a record of CSV, and pairs of quotes may take in others.
        line, at = odd_line(rng, b",", 3).replace(b"\r", b""), rng.randint(0, len(plain))
        after, odd = audited([*plain[:at], line, *plain[at:]], encoding, tmp_path)
        assert none == []
        if odd:
            assert odd == [at]
            assert [*after[:at], *after[at + 1 :]] == before, line


@pytest.mark.slow
@pytest.mark.parametrize("encoding", [None, "shift_jis"])
def test_the_fast_way_and_the_reader_of_csv_have_one_answer(encoding: str | None) -> None:
    rng = random.Random(7)
    for _ in range(150):
        separator, width = rng.choice(SEPARATORS), rng.randint(2, 4)
        body = [odd_line(rng, separator[0].encode(), width).replace(b"\r", b"") or b"x" for _ in range(8)]
        for line, (row, flag) in zip(body, read(body, encoding, separator, width), strict=True):
            if flag & LineFlag.REPAIRED:
                continue
            made = csv.reader(
                (line.decode(encoding or "utf-8"),), delimiter=separator[0], skipinitialspace=separator[1:] == " "
            )
            fields = next(made)
            assert row == (*fields[:width], *[None] * (width - len(fields))), line
            assert bool(flag & LineFlag.RAGGED) == (len(fields) < width or any(fields[width:]))


@pytest.mark.slow
def test_a_whole_text_that_is_decoded_at_once_breaks_the_contract() -> None:
    """The contract can fail: what was done before it, decoding all and cutting then, is found by one record."""
    for encoding, odd in (("utf-16-le", "5,f\n".encode("utf-16-le")[:-3]), ("iso2022_jp", b"5,\x1b$B\n")):
        rest = "7,m\n8,f\n".encode(encoding)
        with_odd = (odd + rest).decode(encoding, errors="replace").split("\n")
        assert with_odd[-3:] != rest.decode(encoding).split("\n")[-3:]
