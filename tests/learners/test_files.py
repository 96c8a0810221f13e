"""A private fit on a file: its header is read before the charge, its records afterwards, each line alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pyarrow import parquet

from glassine import Category, Domain, Integer, Ledger
from glassine.errors import (
    BudgetExceededError,
    CostLimitError,
    InvalidDataError,
    ReleaseFailedError,
    UnreadableFileError,
)
from glassine.learners import PrivateTreeClassifier
from glassine.records import files, schema
from glassine.records.headers import RecordsFile
from glassine.resources import Budget
from glassine.sealed import ingest
from glassine.sealed.store import HeldIntake

DOMAIN = Domain({"age": Integer(18, 90, thresholds=(40,)), "job": Category(("a", "b")), "ill": Category(("no", "yes"))})
ROWS = 'age,job,ill,extra\n30,a,no,x\n"61",b,yes\n?,b,yes,y,z\n45,zz,no,"open\n50,a,\xff,q\n'


def tree(**more: Any) -> PrivateTreeClassifier:
    return PrivateTreeClassifier(1, epsilon=0.5, domain=DOMAIN, random_state=1, **more)


def file_of(path: Path, text: str = ROWS) -> RecordsFile:
    path.write_bytes(text.encode("latin-1"))
    declared = {name: DOMAIN[name] for name in DOMAIN}
    return RecordsFile(path=path, declared=declared, columns=("age", "job", "ill"))


def test_a_file_is_opened_once_and_after_the_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, opened = file_of(tmp_path / "x.csv"), list[Path]()
    read = files.contents

    def counted(path: Path) -> bytes:
        opened.append(path)
        return read(path)

    monkeypatch.setattr(files, "contents", counted)
    ledger = Ledger(tmp_path / "budget.sqlite")
    ledger.budget("people", 0.6)
    with pytest.raises(BudgetExceededError):
        tree(ledger=ledger, dataset="people").set_params(epsilon=1.0).fit(file, "ill")
    assert opened == []
    fitted = tree(ledger=ledger, dataset="people").fit(file, "ill")
    assert opened == [file.path]
    rows = {
        "age": ["30", "61", None, "45", "50"],
        "job": ["a", "b", "b", "zz", "a"],
        "ill": ["no", "yes", "yes", "no", "?"],
    }
    assert fitted.model_.nodes == tree().fit(pl.DataFrame(rows), "ill").model_.nodes


def test_what_is_wrong_below_the_header_is_one_error_after_the_charge(tmp_path: Path) -> None:
    """Of a page without a checksum, what is wrong with its values is seen when they are read."""
    file = parquet_of(tmp_path / "x.parquet")
    damage_page(file.path, header=False)
    with pytest.raises(ReleaseFailedError) as raised:
        tree().fit(file, "ill")
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def parquet_of(path: Path, n: int = 40, long: str = "zz", **options: Any) -> RecordsFile:
    """Write records as Parquet, of which one may have a long text."""
    rows = {
        "age": [30 + i % 20 for i in range(n)],
        "job": [long, *"ab" * (n // 2)][:n],
        "ill": ["no", "yes"] * (n // 2),
    }
    parquet.write_table(pl.DataFrame(rows).to_arrow(), path, **options)
    return RecordsFile(path=path, declared={name: DOMAIN[name] for name in DOMAIN})


def damage_page(path: Path, *, header: bool) -> None:
    """Change bytes of the first page of the first column: of its header, or the last of what it holds."""
    column = parquet.read_metadata(path).row_group(0).column(0)
    start = column.dictionary_page_offset or column.data_page_offset
    end = start + column.total_compressed_size
    data = bytearray(path.read_bytes())
    place = slice(start, start + 8) if header else slice(end - 4, end)
    data[place] = bytes(255 - byte for byte in data[place])
    path.write_bytes(data)


def csv_of(path: Path, n: int = 40, long: str = "zz") -> RecordsFile:
    lines = (f"{30 + i % 20},{long if i == 0 else 'ab'[i % 2]},{('no', 'yes')[i % 2]}" for i in range(n))
    return file_of(path, "age,job,ill\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("wrong", ["header", "checksum", "rows of Parquet", "rows of CSV"])
def test_what_size_and_form_of_a_file_say_is_refused_before_the_charge(tmp_path: Path, wrong: str) -> None:
    ledger = Ledger(tmp_path / "budget.sqlite")
    ledger.budget("people", 0.6)
    if wrong == "rows of CSV":
        file = csv_of(tmp_path / "x.csv", 20_000)
    else:
        file = parquet_of(tmp_path / "x.parquet", 20_000, write_page_checksum=wrong == "checksum")
    limit = 200_000 if wrong.startswith("rows") else 4e9
    if not wrong.startswith("rows"):
        damage_page(file.path, header=wrong == "header")
    expected = CostLimitError if wrong.startswith("rows") else UnreadableFileError
    with Budget(memory=limit).applied(), pytest.raises(expected) as raised:
        tree(ledger=ledger, dataset="people").fit(file, "ill")
    assert "20,000" not in str(raised.value)
    assert ledger.spent("people") == 0


@pytest.mark.parametrize("kind", ["CSV", "Parquet", "Parquet without a dictionary"])
def test_one_long_text_fails_no_private_fit(tmp_path: Path, kind: str) -> None:
    """It is one record's: with and without it, a fit of a small memory limit has the same outcome."""
    options = {"use_dictionary": False} if kind != "Parquet" else {}
    for long in ("zz", "z" * 3_000_000):
        if kind == "CSV":
            file = csv_of(tmp_path / "x.csv", long=long)
        else:
            file = parquet_of(tmp_path / "x.parquet", long=long, **options)
        with Budget(memory=1e6).applied():
            assert tree().fit(file, "ill").model_ is not None


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("job,ill\na,no\n", InvalidDataError, "lack the column 'age'"),
        ("x,y\n1,2\n", UnreadableFileError, "none of the columns that the domain declares"),
        ("age,age,job,ill\n", UnreadableFileError, "two columns"),
    ],
)
def test_a_header_is_refused_before_the_charge(tmp_path: Path, text: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        tree().fit(file_of(tmp_path / "x.csv", text), "ill")


def test_a_pipe_cannot_be_read_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableFileError, match="no file on a disk"):
        schema(RecordsFile(path=tmp_path / "pipe"))


def test_identifiers_are_of_the_pass_that_reads_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of a lazy frame come back in another order each time; each person still has their own."""
    n, passes, seen = 600, list[int](), dict[str, Any]()
    frame = pl.DataFrame({"id": [f"p{i % 20}" for i in range(n)], "age": [18 + i % 20 for i in range(n)], "y": [0] * n})

    def shuffled(part: pl.DataFrame) -> pl.DataFrame:
        passes.append(len(part))
        return part.sample(fraction=1.0, shuffle=True, seed=len(passes))

    def intake(**values: Any) -> HeldIntake:
        seen.update(values)
        return HeldIntake(**values)

    monkeypatch.setattr(ingest, "HeldIntake", intake)
    learner = PrivateTreeClassifier(1, epsilon=1.0, domain=Domain({"age": Integer(18, 37)}), classes=(0, 1))
    learner.set_params(records_per_person=1).fit(frame.lazy().map_batches(shuffled), "y", persons="id")
    ages = seen["columns"].numbers["age"]
    assert [whose.decode().lstrip("t") for whose in seen["persons"].identifiers] == [f"p{int(a) - 18}" for a in ages]
    counted = np.bincount((ages - 18).astype(int), weights=seen["multiplicities"])
    assert counted.max() <= 1
