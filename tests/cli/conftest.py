"""Fixtures of the command line's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from glassine import Domain, Ledger
from tests.cli.running import Done, Run, attributes, one_after_another, people


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Run commands in this process."""
    with one_after_another() as command:

        def call(*arguments: str, cwd: Path) -> Done:
            capsys.readouterr()
            status = command(*arguments, cwd=cwd)
            printed = capsys.readouterr()
            return Done(status=status, out=printed.out, err=printed.err)

        yield call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder of records as CSV and Parquet, their domain, and a ledger that allows epsilon 1."""
    people().write_csv(tmp_path / "people.csv")
    people().write_parquet(tmp_path / "people.parquet")
    Domain(attributes()).to_json(tmp_path / "domain.json")
    Ledger(tmp_path / "budget.sqlite").budget("people", 1)
    return tmp_path
