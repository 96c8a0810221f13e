"""A private fit on a file: its header is read before the charge, its records afterwards, each line alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Category, Domain, Integer, Ledger
from glassine.errors import BudgetExceededError, InvalidDataError, ReleaseFailedError, UnreadableFileError
from glassine.learners import PrivateTreeClassifier
from glassine.records import files, schema
from glassine.records.headers import RecordsFile
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
    file = file_of(tmp_path / "x.csv")
    pl.DataFrame({"age": [30], "job": ["a"], "ill": ["no"]}).write_parquet(tmp_path / "x.parquet")
    data = bytearray((tmp_path / "x.parquet").read_bytes())
    data[4:40] = bytes(36)
    (tmp_path / "x.parquet").write_bytes(data)
    with pytest.raises(ReleaseFailedError) as raised:
        tree().fit(RecordsFile(path=tmp_path / "x.parquet", declared=file.declared), "ill")
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


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
