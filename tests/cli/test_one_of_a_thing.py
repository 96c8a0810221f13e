"""One of a thing is told in the singular, whatever command tells it."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from glassine import Domain, Integer
from tests.cli.running import Run

RULES = (
    "classes: [no] [yes]\n"
    "if [age <= 33] then [yes] ([1 ; 20] examples)\n"
    "else if [age <= 50] then [no] ([29 ; 1] examples)\n"
    "else [no] ([30 ; 10] examples)\n"
)
MANY = (
    r"(?<![\d.,<])1 (are|were|lie|break|stand|attributes|bins|bits|categories|classes|columns|conditions|constraints|"
    r"cuts|draws|groups|leaves|lines|models|nodes|people|queries|records|rows|rules|splits|terms|thresholds|trees|values)\b"
    r"|\b1 of \d+ \w+ (are|were)\b"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.txt").write_text(RULES)
    Domain({"age": Integer(18, 60, thresholds=(30, 50))}).to_json(tmp_path / "domain.json")
    frame = pl.DataFrame({"age": [20] * 21 + [40] * 30 + [55] * 39 + [61], "ill": (["no"] * 30 + ["yes"] * 61)})
    frame.write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text("smallest_leaf = 25\npurest_leaf = 0.96\nthresholds_off_grid = 0\n")
    return tmp_path


AUDIT = ("audit", "rules.txt", "--domain", "domain.json", "--policy", "policy.toml", "--show-small-counts")
FIT = (
    "fit",
    "tree",
    "people.csv",
    "--target",
    "ill",
    "--classes",
    "no,yes",
    "--domain",
    "domain.json",
    "--epsilon",
    "20",
)


@pytest.mark.parametrize(
    "command",
    [
        AUDIT,
        (*AUDIT, "--json"),
        (*AUDIT, "--data", "people.csv"),
        (*AUDIT, "--data", "people.csv", "--json"),
        ("scrub", "rules.txt", "--domain", "domain.json", "-o", "copy.json", "--policy", "policy.toml"),
        ("domain", "check", "domain.json", "--data", "people.csv"),
        ("domain", "infer", "people.csv", "-o", "draft.json"),
        ("rebuild", "rules.txt", "--domain", "domain.json"),
        (*FIT, "--max-depth", "1", "-o", "tree.json"),
    ],
    ids=lambda command: " ".join(command[:1] + command[7:]),
)
def test_no_plural_of_one(folder: Path, run: Run, command: tuple[str, ...]) -> None:
    done = run(*command, cwd=folder)
    told = " ".join((done.out + done.err).split())
    assert done.out, done.err
    assert re.search(MANY, told) is None, told


def test_verbs_agree(folder: Path, run: Run) -> None:
    told = " ".join(run(*AUDIT, "--data", "people.csv", cwd=folder).out.split())
    assert "Of 2 thresholds, 1 is not a public cut point" in told
    assert "age: 1 record lies outside the domain, which declares" in told
    checks = run(*AUDIT, "--json", cwd=folder).out
    assert "1 of 3 rules holds fewer than 25 records." in checks
    assert "1 of 2 thresholds is not a public cut point, so it can reveal training values." in checks
