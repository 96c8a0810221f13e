"""``glassine audit --only membership``, and the attacks of a whole audit."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassine import as_model, write_model
from tests.auditing.test_membership import DOMAIN, frames, grown
from tests.cli.running import Done, Run

RECORDS = ("--data", "members.csv", "--holdout", "others.csv", "--target", "y")
COMMAND = ("audit", "tree.json", "--only", "membership", *RECORDS)
ONE_LIMIT = ("--policy", "policy.toml")
"""A policy without the default limit on what attacks surely reach, so that the limit of the option is judged alone."""


def attacked(done: Done) -> dict[str, Any]:
    """Return what the attacks found."""
    assert done.status in (0, 1, 3), done.err
    plain = json.loads(done.out)
    return {**plain, **plain["measured"]["membership"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder of a tree, its training records and a holdout."""
    members, others = frames()
    write_model(as_model(grown(members)), tmp_path / "tree.json", overwrite=True)
    members.write_csv(tmp_path / "members.csv")
    others.write_csv(tmp_path / "others.csv")
    DOMAIN.to_json(tmp_path / "domain.json")
    (tmp_path / "policy.toml").write_text("largest_measured_advantage = false\n")
    return tmp_path


@pytest.mark.slow
def test_attack_tells_what_each_attack_found(folder: Path, run: Run) -> None:
    done = run(*COMMAND, "-o", "attack.html", cwd=folder)
    assert done.status == 1, done.err
    assert "[fail] Membership inference: 0.42 (limit: at most 0.1)" in done.out
    assert "[found members] Gap attack" in done.out
    assert "Report: attack.html" in done.out
    page = (folder / "attack.html").read_text()
    assert "True positive rate against false positive rate" in page
    assert "members.csv" in page


@pytest.mark.slow
def test_attack_as_json_can_be_repeated(folder: Path, run: Run) -> None:
    plain = attacked(run(*COMMAND, "--json", cwd=folder))
    assert plain["schema"] == "glassine.findings/12"
    assert plain["audience"] == "checker"
    attacks = {attack["attack"]: attack for attack in plain["attacks"]}
    assert attacks["gap attack"]["detected"] is True
    assert attacks["online likelihood-ratio attack"]["status"] == "not applicable"
    assert plain["details"] is None
    assert [file["role"] for file in plain["inputs"]] == ["model", "data", "holdout"]
    assert attacked(run(*COMMAND, "--json", cwd=folder)) == plain


@pytest.mark.slow
def test_details_are_told_only_when_asked_for(folder: Path, run: Run) -> None:
    members, others = frames(n=6)
    members.write_csv(folder / "members.csv")
    others.write_csv(folder / "others.csv")
    for arguments, few in ((("--json",), '"below": 10'), ((), "fewer than 10")):
        told = run(*COMMAND, *arguments, cwd=folder).out
        assert few in told
        assert "6 non-members" not in told
    plain = attacked(run(*COMMAND, "--json", "--show-small-counts", cwd=folder))
    assert plain["n_members"] == 6
    assert plain["details"]["n_members"] == 6


@pytest.mark.slow
def test_shadow_models_are_of_the_models_size(folder: Path, run: Run) -> None:
    plain = attacked(run(*COMMAND, "--json", "--shadows", "8", "--show-small-counts", cwd=folder))
    assert plain["details"]["lira_online"]["status"] == "measured"
    assert plain["details"]["lira_online"]["value"]["advantage"]["value"] > 0.1


@pytest.mark.slow
def test_members_as_their_own_holdout_are_not_safe(folder: Path, run: Run) -> None:
    frames()[0].write_csv(folder / "others.csv")
    done = run(*COMMAND, *ONE_LIMIT, "--max-advantage", "0.3", "--json", cwd=folder)
    assert done.status == 3, done.err
    (check,) = attacked(done)["checks"]
    assert (check["rule"], check["limit"], check["status"]) == ("largest_attack_advantage", 0.3, "unknown")
    assert "overlaps with the training data" in check["meaning"]


@pytest.mark.slow
def test_a_forest_is_attacked_as_a_whole(folder: Path, run: Run) -> None:
    from sklearn.ensemble import RandomForestClassifier

    members, _ = frames()
    forest = RandomForestClassifier(10, random_state=0)
    forest.fit(members.select("a", "b").to_pandas(), members["y"].to_numpy())
    (folder / "forest.pkl").write_bytes(pickle.dumps(forest))
    done = run("audit", "forest.pkl", "--trust-pickle", *COMMAND[2:], "--json", cwd=folder)
    assert attacked(done)["attacks"][0]["detected"] is True


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "status"), [("0.05", 1), ("0.99", 0), ("0.4", 3)])
def test_a_limit_makes_the_exit_status(folder: Path, run: Run, limit: str, status: int) -> None:
    done = run(*COMMAND, *ONE_LIMIT, "--max-advantage", limit, cwd=folder)
    assert done.status == status, done.err
    assert f"(limit: at most {limit})" in " ".join(done.out.split())


@pytest.mark.slow
def test_audit_attacks_where_a_holdout_is_given(folder: Path, run: Run) -> None:
    arguments = ("--data", "members.csv", "--holdout", "others.csv", "--target", "y", "--json")
    done = run("audit", "tree.json", "--domain", "domain.json", *arguments, cwd=folder)
    plain = json.loads(done.out)
    assert plain["measured"]["membership"]["status"] == "measured"
    assert plain["measured"]["membership"]["attacks"][0]["detected"] is True
    assert [file["role"] for file in plain["inputs"]] == ["model", "domain", "data", "holdout"]


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (("--shadows", "-1"), "--shadows must be at least 0"),
        (("--shadows", "2"), "--shadows must be"),
        (("--seed", "-1"), "--seed must be at least 0"),
        (("--confidence", "1.5"), "confidence must lie strictly between 0 and 1"),
        (("--confidence", "nan"), "confidence must lie strictly between 0 and 1"),
        (("--max-advantage", "2"), "--max-advantage is"),
        (("--max-advantage", "nan"), "--max-advantage is"),
        (("--target", "income"), "--target names 'income', which is not a column"),
        (("-o", "others.csv"), "is read or written already"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(folder: Path, run: Run, extra: tuple[str, ...], said: str) -> None:
    before = sorted(folder.iterdir())
    done = run(*COMMAND, *extra, cwd=folder)
    assert done.status == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert sorted(folder.iterdir()) == before


def test_a_holdout_that_is_not_there_is_one_line(folder: Path, run: Run) -> None:
    done = run(*("nowhere.csv" if word == "others.csv" else word for word in COMMAND), cwd=folder)
    assert (done.status, "cannot read nowhere.csv" in done.err) == (2, True)
    assert len(done.err.strip().splitlines()) == 1


@pytest.mark.slow
def test_a_holdout_without_the_tested_column_is_refused(folder: Path, run: Run) -> None:
    _, others = frames()
    others.drop("a").write_csv(folder / "others.csv")
    done = run(*COMMAND, cwd=folder)
    assert done.status == 2
    assert "'a'" in done.err


def test_an_empty_holdout_is_refused(folder: Path, run: Run) -> None:
    _, others = frames()
    others.head(0).write_csv(folder / "others.csv")
    assert run(*COMMAND, cwd=folder).status == 2


def test_of_a_regression_tree_losses_and_leaves_are_attacked(folder: Path, run: Run) -> None:
    from sklearn.tree import DecisionTreeRegressor

    members, _ = frames()
    tree = DecisionTreeRegressor(random_state=0, max_depth=2)
    tree.fit(members.select("a", "b").to_pandas(), members["y"].to_numpy())
    write_model(as_model(tree), folder / "tree.json", overwrite=True)
    done = run(*COMMAND, cwd=folder)
    assert done.status == 0
    assert "best-loss threshold" in done.out


def test_audit_needs_the_target_for_a_holdout(folder: Path, run: Run) -> None:
    done = run("audit", "tree.json", "--data", "members.csv", "--holdout", "others.csv", cwd=folder)
    assert done.status == 2
    assert "--target" in done.err


def test_classes_of_text_and_categories_of_text_are_attacked(tmp_path: Path, run: Run) -> None:
    members, others = (
        frame.select(
            pl.col("a"),
            pl.when(pl.col("b") > 0).then(pl.lit("high")).otherwise(pl.lit("low")).alias("level"),
            pl.when(pl.col("y") == 1).then(pl.lit("yes")).otherwise(pl.lit("no")).alias("y"),
        )
        for frame in frames()
    )
    (tmp_path / "rules.txt").write_text(
        "if [level = high] then [yes] ([40 ; 60] examples)\nelse [no] ([90 ; 10] examples)\n"
    )
    members.write_csv(tmp_path / "members.csv")
    others.write_csv(tmp_path / "others.csv")
    done = run("audit", "rules.txt", *COMMAND[2:], "--json", cwd=tmp_path)
    assert done.status in (0, 2), done.err
