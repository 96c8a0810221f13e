"""``glassine reconstruct``."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier

from glassine import Domain
from tests.cli.running import Run

RULES = "if [a] then [true] ([3 ; 5] examples)\nelse [false] ([6 ; 2] examples)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder of a forest, a rule list, their domain and the records of the forest."""
    rng = np.random.default_rng(0)
    names = [f"a{i}" for i in range(6)]
    X = rng.integers(0, 2, (16, 6))
    y = (X[:, 0] + X[:, 1] + rng.integers(0, 2, 16) > 1).astype(int)
    records = pl.DataFrame(X, schema=names)
    forest = RandomForestClassifier(30, bootstrap=False, random_state=0).fit(records.to_pandas(), y)
    (tmp_path / "forest.pkl").write_bytes(pickle.dumps(forest))
    (tmp_path / "rules.txt").write_text(RULES)
    Domain.binary(names).to_json(tmp_path / "domain.json")
    Domain.binary(["a"]).to_json(tmp_path / "small.json")
    records.write_csv(tmp_path / "records.csv")
    return tmp_path


def test_a_forest_gives_its_records_back(folder: Path, run: Run) -> None:
    done = run(
        *("reconstruct", "forest.pkl", "--trust-pickle", "--domain", "domain.json", "--data", "records.csv"),
        *("-o", "rows.csv", "--json"),
        cwd=folder,
    )
    assert done.status == 0, done.err
    plain = json.loads(done.out)
    assert plain["schema"] == "glassine.rows/1"
    assert plain["error"] < plain["error_of_random_records"] / 2
    rows = pl.read_csv(folder / "rows.csv")
    assert len(rows) == 16
    assert set(rows.columns) >= {"a0", "a5", "class"}


def test_a_rule_list_gives_rows_that_meet_its_counts(folder: Path, run: Run) -> None:
    done = run("reconstruct", "rules.txt", "--domain", "small.json", "-o", "rows.csv", cwd=folder)
    assert done.status == 0, done.err
    assert "16 rows that meet every count" in done.out
    rows = pl.read_csv(folder / "rows.csv")
    assert rows["a"].sum() == 8


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("forest.pkl", "--domain", "domain.json"), "trust"),
        (("forest.pkl", "--trust-pickle", "--domain", "small.json"), "a0"),
        (("rules.txt", "--domain", "small.json", "--time-limit", "nan"), "time_limit"),
        (("rules.txt", "--domain", "small.json", "--seed", "-1"), "--seed"),
        (("rules.txt", "--domain", "small.json", "-o", "rules.txt"), "read or written already"),
        (("rules.txt", "--domain", "small.json", "--data", "nowhere.csv"), "cannot read"),
        (("records.csv", "--domain", "domain.json"), "records.csv"),
    ],
)
def test_bad_input_is_one_line(folder: Path, run: Run, arguments: tuple[str, ...], said: str) -> None:
    done = run("reconstruct", *arguments, cwd=folder)
    assert done.status == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1
