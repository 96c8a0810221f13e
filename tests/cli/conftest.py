"""Fixtures of the command line's tests."""

from __future__ import annotations

import shutil
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


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make what :func:`folder` copies, once."""
    made = tmp_path_factory.mktemp("stored")
    people().write_csv(made / "people.csv")
    people().write_parquet(made / "people.parquet")
    Domain(attributes()).to_json(made / "domain.json")
    Ledger(made / "budget.sqlite").budget("people", 1)
    return made


@pytest.fixture
def folder(stored: Path, tmp_path: Path) -> Path:
    """Make a folder of records as CSV and Parquet, their domain, and a ledger that allows epsilon 1."""
    return shutil.copytree(stored, tmp_path, dirs_exist_ok=True)
