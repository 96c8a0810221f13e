"""``glassine rebuild``."""

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
SECOND = "if [a] and [b] then [true] ([3 ; 4] examples)\nelse [false] ([6 ; 3] examples)\n"
OTHER = "if [b] then [true] ([3 ; 5] examples)\nelse [false] ([2 ; 6] examples)\n"
CLASH = "if [a] then [true] ([2 ; 5] examples)\nelse [false] ([7 ; 2] examples)\n"


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
    for name, text in (("rules", RULES), ("second", SECOND), ("clash", CLASH), ("other", OTHER)):
        (tmp_path / f"{name}.txt").write_text(text)
    Domain.binary(["a", "b", "c"]).to_json(tmp_path / "three.json")
    a, b = [1] * 8 + [0] * 8, [1] * 7 + [0] * 9
    pl.DataFrame({"a": a, "b": b, "c": [0, 1] * 8}).write_csv(tmp_path / "both.csv")
    Domain.binary(names).to_json(tmp_path / "domain.json")
    Domain.binary(["a"]).to_json(tmp_path / "small.json")
    records.write_csv(tmp_path / "records.csv")
    return tmp_path


@pytest.mark.slow
def test_a_forest_gives_its_records_back(folder: Path, run: Run) -> None:
    done = run(
        *("rebuild", "forest.pkl", "--trust-pickle", "--domain", "domain.json", "--data", "records.csv"),
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
    done = run("rebuild", "rules.txt", "--domain", "small.json", "-o", "rows.csv", cwd=folder)
    assert done.status == 0, done.err
    assert "16 rows that meet every count" in done.out
    rows = pl.read_csv(folder / "rows.csv")
    assert rows["a"].sum() == 8


def test_two_models_tell_the_bits_and_the_groups_first(folder: Path, run: Run) -> None:
    arguments = ("rebuild", "rules.txt", "second.txt", "--domain", "three.json")
    done = run(*arguments, cwd=folder)
    assert done.status == 1, done.err
    assert "Verdict on the models together: outside policy." in done.out
    assert "16 records. Bits learned about each, of 3.00:" in done.out
    assert "  rules.txt: 1.0000" in done.out
    assert "together: " in done.out
    assert "1 record, class True" in done.out
    assert "rows that meet" not in done.out
    plain = json.loads(run(*arguments, "--data", "both.csv", "--json", cwd=folder).out)
    assert plain["schema"] == "glassine.joint/1"
    assert plain["status"] == "consistent"
    assert max(plain["bits_alone"]) <= plain["bits"][0] <= plain["bits"][1] <= plain["bits_aligned"] + 1e-9
    assert plain["small_groups"][0]["label"] is True
    assert plain["rows"] is None


def test_two_models_give_rows_where_they_are_asked_for(folder: Path, run: Run) -> None:
    arguments = ("rebuild", "rules.txt", "second.txt", "--domain", "three.json", "--data", "both.csv")
    done = run(*arguments, "-o", "rows.csv", cwd=folder)
    assert done.status == 1, done.err
    assert "16 rows that meet every count of the models" in done.out
    rows = pl.read_csv(folder / "rows.csv")
    assert (rows["a"].sum(), (rows["a"] * rows["b"]).sum()) == (8, 7)
    plain = json.loads(run(*arguments, "--rows", "--json", cwd=folder).out)
    assert plain["rows"]["records"] == 16
    assert plain["rows"]["error"] is not None


def test_one_model_without_rows_tells_its_bits(folder: Path, run: Run) -> None:
    done = run("rebuild", "rules.txt", "--domain", "small.json", "--no-rows", cwd=folder)
    assert done.status == 0, done.err
    assert "  rules.txt: 1.0000" in done.out
    assert "That is one model, so there is nothing to put together." in done.out
    assert "together:" not in done.out
    assert "Verdict" not in done.out
    assert "Groups" not in done.out


def test_models_of_other_records_exit_with_2(folder: Path, run: Run) -> None:
    done = run("rebuild", "rules.txt", "clash.txt", "--domain", "three.json", "-o", "rows.csv", cwd=folder)
    assert done.status == 2
    assert "not trained on the same records, or the domain excludes some of them" in done.out
    assert not (folder / "rows.csv").exists()
    assert "give --other-labels" in run("rebuild", "rules.txt", "other.txt", "--domain", "three.json", cwd=folder).out
    apart = ("rebuild", "rules.txt", "other.txt", "--domain", "three.json", "--other-labels")
    assert run(*apart, cwd=folder).status == 1
    (folder / "free.toml").write_text("smallest_group = false\nlargest_bits_per_record = 10\n")
    assert run(*apart, "--policy", "free.toml", cwd=folder).status == 0
    plain = json.loads(run("rebuild", "rules.txt", "clash.txt", "--domain", "three.json", "--json", cwd=folder).out)
    assert plain["status"] == "inconsistent"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rules.txt", "second.txt", "--domain", "small.json"), "'b'"),
        (("rules.txt", "second.txt", "--domain", "three.json", "--smallest-group", "0"), "--smallest-group"),
        (("rules.txt", "second.txt", "--domain", "three.json", "--no-rows", "-o", "r.csv"), "--no-rows"),
        (("rules.txt", "--domain", "three.json", "-o", "rules.txt"), "read or written already"),
        (("forest.pkl", "--domain", "domain.json"), "trust"),
        (("forest.pkl", "--trust-pickle", "--domain", "small.json"), "a0"),
        (("rules.txt", "--domain", "small.json", "--time-limit", "nan"), "--time-limit"),
        (("rules.txt", "--domain", "small.json", "--seed", "-1"), "--seed"),
        (("rules.txt", "second.txt", "--domain", "three.json", "--count-from-data"), "--count-from-data needs --data"),
        (("rules.txt", "second.txt", "--domain", "three.json", "--policy", "nowhere.toml"), "neither a named policy"),
        (("rules.txt", "--domain", "small.json", "--data", "nowhere.csv"), "cannot read"),
        (("records.csv", "--domain", "domain.json"), "records.csv"),
    ],
)
def test_bad_input_is_one_line(folder: Path, run: Run, arguments: tuple[str, ...], said: str) -> None:
    done = run("rebuild", *arguments, cwd=folder)
    assert done.status == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_model_with_noisy_counts_gives_intervals_and_no_figure(folder: Path, run: Run) -> None:
    (folder / "noisy.json").write_text(json.dumps(noisy_model(8.0)))
    done = run("rebuild", "noisy.json", "--domain", "small.json", cwd=folder)
    assert done.status == 0, done.err
    assert "carry geometric noise of scale 8 records. With 0.99 confidence" in done.out
    assert "training records: 0 to " in done.out
    assert "rows that meet" not in done.out
    plain = json.loads(run("rebuild", "noisy.json", "--domain", "small.json", "--json", cwd=folder).out)
    assert plain["schema"] == "glassine.reconstruction-estimate/1"
    assert plain["confidence"] == 0.99
    assert plain["n_records"][0] < 16 < plain["n_records"][1]
    assert plain["noise"] == {"kind": "geometric", "scale": 8.0}
    wider = run("rebuild", "noisy.json", "--domain", "small.json", "--json", "--confidence", "0.999", cwd=folder)
    assert json.loads(wider.out)["n_records"][1] > plain["n_records"][1]
    refused = run("rebuild", "noisy.json", "--domain", "small.json", "--confidence", "1", cwd=folder)
    assert refused.status == 2
    assert "--confidence must be a number in (0, 1)" in refused.err


def test_rounded_counts_need_the_step(folder: Path, run: Run) -> None:
    (folder / "rounded.txt").write_text(
        "counts: rounded\n" + RULES.replace("3 ; 5", "10 ; 10").replace("6 ; 2", "20 ; 0")
    )
    done = run("rebuild", "rounded.txt", "--domain", "small.json", cwd=folder)
    assert done.status == 2
    assert "State it, as in --noise rounded:10" in done.err
    known = run("rebuild", "rounded.txt", "--domain", "small.json", "--noise", "rounded:10", cwd=folder)
    assert known.status == 0, known.err
    assert "training records: 25 to 56" in known.out
    for more in (("-o", "rows.csv"), ("--rows",), ("rules.txt",)):
        together = run("rebuild", "rounded.txt", *more, "--domain", "small.json", "--noise", "rounded:10", cwd=folder)
        assert together.status == 2
        assert "--noise gives intervals of what one model reveals" in together.err


def noisy_model(scale: float) -> dict[str, object]:
    """Return the JSON of a rule list whose counts carry noise."""
    return {
        "schema": "glassine.model/1",
        "kind": "rule-list",
        "attributes": ["a"],
        "classes": [False, True],
        "rules": [{"if": [{"attribute": "a", "values": [1]}], "counts": [3, 5]}, {"if": [], "counts": [6, 2]}],
        "guarantee": {"epsilon": 1.0, "neighboring": "add-or-remove-one", "count_scale": scale},
    }
