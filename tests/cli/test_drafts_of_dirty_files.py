"""Codes for missing values and numbers of people in a file: what a draft prints can be run as it is."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glassine import Category, Domain, Integer
from glassine.domain import Prefix
from tests.cli.running import Run


def test_codes_are_stated_by_the_options_that_a_draft_prints(tmp_path: Path, run: Run) -> None:
    values = [1, 2, 3] * 20 + [99] * 10
    frame = pl.DataFrame({"with, comma": values, "two words": values, "x": [*range(20, 35)] * 4 + [999] * 10})
    frame.write_csv(tmp_path / "people.csv")
    said = run("domain", "infer", "people.csv", cwd=tmp_path).err
    (line,) = (line for line in said.splitlines() if "To state these codes" in line)
    printed = shlex.split(line.partition(" missing: ")[2])
    done = run("domain", "infer", "people.csv", "-o", "domain.json", *printed, cwd=tmp_path)
    assert (done.status, "COLUMN=" in done.err) == (0, False), done.err
    drafted = Domain.read(tmp_path / "domain.json")
    assert [getattr(drafted[name], "hi", None) for name in frame.columns] == [3, 3, 34]


def test_columns_of_one_kind_are_stated_together(tmp_path: Path, run: Run) -> None:
    scale, words = [1, 2, 3, 4, 5] * 20 + [9] * 10, ["A1", "A2", "B"] * 34 + ["9"] * 8
    frame = {f"Frage {i}": scale for i in (1, 2, 3)} | {"code_a": scale, "code_b": [*words[4:], *["9"] * 4]}
    frame |= {"q1": scale, "q2": [1, 2, 3, 4, 5] * 22}
    pl.DataFrame(frame).write_csv(tmp_path / "people.csv")
    said = run("domain", "infer", "people.csv", cwd=tmp_path).err
    assert "code_b: 9, among texts." in said
    (line,) = (line for line in said.splitlines() if "To state these codes" in line)
    assert line.endswith(" missing: '--missing=Frage *=9,code_*=9,q1=9'")
    for printed in shlex.split(line.partition(" missing: ")[2]), ["--missing", "Frage *=9, code_*=9, q1=9"]:
        done = run("domain", "infer", "people.csv", "-o", "d.json", "--overwrite", *printed, cwd=tmp_path)
        assert (done.status, "COLUMN=" in done.err) == (0, False), done.err
        drafted = Domain.read(tmp_path / "d.json")
        assert [name for name in drafted if drafted[name].missing] == [*list(frame)[:5], "q1"]


def test_codes_beside_prefixes_are_missing_in_every_command(tmp_path: Path, run: Run) -> None:
    rng = np.random.default_rng(0)
    codes = rng.choice(["A1", "A2", "B7", "C", "9"], 400)
    outcome = np.where(np.char.startswith(codes, "A") | (rng.random(400) < 0.1), "yes", "no")
    pl.DataFrame({"code_a": codes, "Frage 1": rng.choice([1, 2, 3, 9], 400), "ill": outcome}).write_csv(
        tmp_path / "people.csv"
    )
    Domain(
        {
            "code_a": Category((Prefix("A"), Prefix("")), missing=True),
            "Frage 1": Integer(1, 3, missing=True),
            "ill": Category(("no", "yes")),
        }
    ).to_json(tmp_path / "domain.json")
    stated = ("--missing", "Frage *=9, code_*=9")
    check = run("domain", "check", "domain.json", "--data", "people.csv", *stated, cwd=tmp_path)
    assert (check.status, "All 400 records fit" in check.out) == (0, True)
    fit = ("fit", "tree", "people.csv", "--target", "ill", "--domain", "domain.json", "--epsilon", "50", "-o", "m.json")
    done = run(*fit, "--max-depth", "1", *stated, cwd=tmp_path)
    assert done.status == 0, done.err
    assert re.search(r"code_a (=|!=|in|not in) .*A\*", done.out)
    done = run("fit", "rule-list", *fit[2:-1], "r.json", *stated, cwd=tmp_path)
    assert done.status == 0, done.err


def test_texts_for_missing_values_are_given_one_by_one_or_together(tmp_path: Path, run: Run) -> None:
    Domain({"x": Integer(0, 9, missing=True), "y": Integer(0, 9, missing=True)}).to_json(tmp_path / "domain.json")
    (tmp_path / "people.csv").write_text("x,y\n99,1\n3,77\nnone,5\n")
    check = ("domain", "check", "domain.json", "--data", "people.csv")
    apart = run(*check, "--missing=x=99", "--missing", "y=77", "--missing=none", cwd=tmp_path)
    together = run(*check, "--missing=x=99,y=77,none", cwd=tmp_path)
    assert (apart.status, apart.out, apart.err) == (together.status, together.out, together.err)
    assert (apart.status, "All 3 records fit" in apart.out) == (0, True)


@pytest.mark.parametrize(
    ("numbers", "pointed_out"),
    [
        ([100_000 + 7 * (i % 90) for i in range(180)], True),
        ([10_000 + 7 * (i % 90) for i in range(180)], False),
        ([99_990 + 7 * (i % 90) for i in range(180)], False),
        ([20_190_101 + i % 28 for i in range(180)], False),
        ([100_000 + i % 3 for i in range(180)], False),
    ],
)
def test_long_numbers_of_one_length_that_recur_may_be_those_of_people(
    numbers: list[int], pointed_out: bool, tmp_path: Path, run: Run
) -> None:
    pl.DataFrame({"Kartei": numbers, "x": [0, 1] * 90}).write_csv(tmp_path / "people.csv")
    done = run("domain", "infer", "people.csv", cwd=tmp_path)
    assert (done.status, "Kartei: 90 different values in 180 records" in done.err) == (0, pointed_out), done.err


def test_columns_that_identify_people_are_found_by_their_values_before_their_names(tmp_path: Path, run: Run) -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    client = rng.integers(100, 2 * 10**8, 12_000)[rng.integers(0, 12_000, n)]
    frame = pl.DataFrame(
        {
            "client_nbr": client,
            "ticket": client[::-1],
            "intake_type_id": rng.integers(1, 9, n),
            "weight": rng.lognormal(10, 0.5, n).astype(int),
            "age": rng.integers(18, 99, n),
        }
    )
    frame.write_csv(tmp_path / "people.csv")
    done = run("domain", "infer", "people.csv", cwd=tmp_path)
    kept = [entry["name"] for entry in json.loads(done.out)["attributes"]]
    assert kept == ["intake_type_id", "weight", "age"]
    assert "intake_type_id" not in done.err
