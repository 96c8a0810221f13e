"""``glassine audit --only disclosure``."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from glassine import Category, Domain, Integer, __version__, infer_sensitive, write_model
from glassine.attacks import Adversary
from glassine.learners import MultiwayTreeClassifier
from glassine.report.wording import CHECKER_ONLY
from tests.cli.running import Done, Run

COMMAND = ("audit", "tree.json", "--only", "disclosure", "--data", "people.csv", "--sensitive", "level")


def told(done: Done) -> dict[str, Any]:
    """Return what was found of the attribute, the details beside the rest."""
    assert done.status == 0, done.err
    plain = json.loads(done.out)
    measured = plain["measured"]["disclosure"]
    return {**plain, **measured, **measured["details"]}


def records(n: int = 240, *, levels: tuple[str, ...] = ("low", "high")) -> pl.DataFrame:
    """Return people whose level depends on age and town, with some noise."""
    rng = np.random.default_rng(0)
    age, town = rng.integers(18, 60, n), rng.choice(["a", "b", "c"], n)
    high = (age > 40) ^ (town == "a") ^ (rng.random(n) < 0.15)
    level = np.where(high, levels[-1], rng.choice(levels[:-1], n))
    return pl.DataFrame({"age": age, "town": town, "level": level})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder of a tree, the people it was learnt from, and their domain."""
    frame = records()
    tree = MultiwayTreeClassifier(min_samples_split=80).fit(frame.drop("level"), frame["level"].to_numpy())
    write_model(tree.model_, tmp_path / "tree.json", overwrite=True)
    frame.write_csv(tmp_path / "people.csv")
    Domain({"age": Integer(18, 60, thresholds=(30, 40)), "town": Category(("a", "b", "c"))}).to_json(
        tmp_path / "domain.json"
    )
    return tmp_path


def test_it_tells_what_each_reader_learns(folder: Path, run: Run) -> None:
    done = run(*COMMAND, "--criterion", "gini", "-o", "page.html", cwd=folder)
    assert done.status == 0, done.err
    assert "Assumed, because the model does not state how its splits were selected" in " ".join(done.out.split())
    assert "bits per record about level" in " ".join(done.out.split())
    assert "The leaves and the internal nodes" in done.out
    assert "the global optimum" in done.out
    assert "Report: page.html" in done.out
    page = (folder / "page.html").read_text()
    assert "people.csv" in page
    assert "What can be done" not in page


def test_json_holds_the_same_figures_as_the_estimate(folder: Path, run: Run) -> None:
    from glassine.formats import load_model

    plain = told(run(*COMMAND, "--criterion", "gini", "--json", "--show-small-counts", cwd=folder))
    assert plain["schema"] == "glassine.findings/12"
    assert plain["audience"] == "checker"
    frame = records()
    found = infer_sensitive(load_model(folder / "tree.json"), frame, "level", Adversary())
    assert plain["n_internal"] == found.counts.internal > 0
    assert plain["readers"][-1]["entropy"] == pytest.approx(found.entropy / np.log(2), abs=1e-9)
    assert plain["truth"]["mean"] == pytest.approx(found.d_overall(frame["level"].to_numpy()) / np.log(2), abs=1e-9)
    least, best = plain["readers"][0]["entropy"], plain["readers"][-1]["entropy"]
    assert plain["learned_mean"] == pytest.approx(least - best, abs=1e-6)
    assert plain["learned_most"] >= plain["learned_mean"]
    assert plain["number"] == 240
    assert [file["role"] for file in plain["inputs"]] == ["model", "data"]


def test_without_the_sensitive_column_there_is_no_truth(folder: Path, run: Run) -> None:
    records().drop("level").write_csv(folder / "people.csv")
    done = run(*COMMAND, "--target", "level", cwd=folder)
    assert done.status == 0, done.err
    assert "D_overall" not in done.out
    done = run(*COMMAND, "--target", "level", "--truth", cwd=folder)
    assert done.status == 2
    assert "the data lack the sensitive column 'level'" in done.err


def test_the_truth_can_be_left_out(folder: Path, run: Run) -> None:
    plain = told(run(*COMMAND, "--no-truth", "--json", cwd=folder))
    assert plain["truth"] is None
    assert all(reader["d_overall"] is None for reader in plain["readers"])


def test_readers_who_are_told_less_learn_less(folder: Path, run: Run) -> None:
    left = [
        told(run(*COMMAND, *options, "--json", cwd=folder))["readers"][-1]["entropy"]
        for options in ((), ("--no-internal-nodes",), ("--leaves", "labels", "--no-internal-nodes"))
    ]
    assert left == sorted(left)
    assert left[2] > left[0] + 0.1


def test_small_counts_are_hidden(tmp_path: Path, run: Run) -> None:
    frame = pl.DataFrame({"town": ["a", "a", "a", "b", "b"], "level": [0, 0, 1, 1, 1]})
    tree = MultiwayTreeClassifier().fit(frame.select("town"), frame["level"].to_numpy())
    write_model(tree.model_, tmp_path / "tree.json", overwrite=True)
    frame.write_csv(tmp_path / "people.csv")
    plain = told(run(*COMMAND, "--json", cwd=tmp_path))
    assert plain["number"] == plain["k"] == {"below": 10}
    assert plain["active"] == []
    # Three people, of whom two have class 0: two thirds would tell it.
    assert {person["probability"] for person in plain["exposed"]} == {1.0, 0.65}
    assert all(set(person) == {"row", "probability"} for person in plain["exposed"])
    shown = told(run(*COMMAND, "--json", "--show-small-counts", cwd=tmp_path))
    assert (shown["number"], shown["k"]) == (5, 2)


def test_outputs_by_their_ending(folder: Path, run: Run) -> None:
    for name in ("a.json", "a.txt", "a.html"):
        assert run(*COMMAND, "-o", name, cwd=folder).status == 0
    assert json.loads((folder / "a.json").read_text())["sensitive"] == "level"
    lines = (folder / "a.txt").read_text().splitlines()
    assert lines[0] == CHECKER_ONLY
    assert lines[1].startswith(f"Glassine {__version__}: The tree removes ")
    assert (folder / "a.html").read_text().lstrip().startswith("<!DOCTYPE html>")


@pytest.mark.slow
def test_remedies_are_printed_and_drawn(folder: Path, run: Run) -> None:
    done = run(*COMMAND, "--remedies", "--domain", "domain.json", "-o", "page.html", cwd=folder)
    assert done.status == 0, done.err
    assert "private tree, epsilon 1" in done.out.lower()
    page = (folder / "page.html").read_text()
    assert 'id="trade-title"' in page
    plain = told(run(*COMMAND, "--remedies", "--json", cwd=folder))
    by_kind = {row["kind"]: row for row in plain["remedies"]}
    assert by_kind["none"]["d_overall"] <= by_kind["merge"]["d_overall"]
    assert by_kind["private"]["status"] == "not measured"
    assert "domain" in by_kind["private"]["reason"]


def test_remedies_take_no_longer_than_allowed_and_a_folder_keeps_those_that_are_measured(
    folder: Path, run: Run
) -> None:
    late = told(run(*COMMAND, "--remedies", "--time-limit", "1e-9", "--resume", "rows", "--json", cwd=folder))
    assert {row["reason"] for row in late["remedies"]} >= {"not measured in 1e-09 s."}
    assert {row["status"] for row in late["remedies"]} == {"not measured"}
    assert sorted(path.name for path in (folder / "rows").iterdir()) == ["remedies.json", "results.jsonl"]
    kept = told(run(*COMMAND, "--remedies", "--resume", "rows", "--json", cwd=folder))
    assert "optimal" in {row["status"] for row in kept["remedies"]}
    lines = (folder / "rows" / "results.jsonl").read_text().splitlines()
    assert told(run(*COMMAND, "--remedies", "--resume", "rows", "--json", cwd=folder)) == kept
    assert (folder / "rows" / "results.jsonl").read_text().splitlines() == lines
    assert len(lines) == len(kept["remedies"])
    for option in (("--time-limit", "5"), ("--resume", "rows")):
        refused = run(*COMMAND, *option, cwd=folder)
        assert refused.status == 2
        assert f"{option[0]} is for --remedies" in refused.err


def test_remedies_need_the_truth(folder: Path, run: Run) -> None:
    records().drop("level").write_csv(folder / "people.csv")
    done = run(*COMMAND, "--target", "level", "--remedies", cwd=folder)
    assert done.status == 2
    assert "which the truth and remedies need" in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--leaves", "all"), "--leaves must be one of counts, error-rates, labels"),
        (("--criterion", "chi2"), "--criterion must be one of gini"),
        (("--seed", "-1"), "--seed must be at least 0"),
        (("--min-samples-leaf", "0"), "--min-samples-leaf must be"),
        (("--domain", "absent.json"), "absent.json"),
        (("-o", "people.csv"), "read or written already"),
    ],
)
def test_bad_options_are_one_line(folder: Path, run: Run, options: tuple[str, ...], said: str) -> None:
    done = run(*COMMAND, *options, cwd=folder)
    assert done.status == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_bad_people_are_one_line(folder: Path, run: Run) -> None:
    frame = records()
    swapped = frame.with_columns(level=pl.col("level").reverse())
    for bad, said in (
        (frame.head(0), "at least one record"),
        (frame.head(100), "published with"),
        (frame.drop("age", "town"), ""),
        (swapped, "other class counts"),
        (frame.with_columns(level=pl.lit("middle")), "no class of it"),
    ):
        bad.write_csv(folder / "people.csv")
        done = run(*COMMAND, cwd=folder)
        assert done.status == 2, said
        assert said in done.err
        assert len(done.err.strip().splitlines()) == 1


def test_a_contradiction_names_node_and_candidate(tmp_path: Path, run: Run) -> None:
    # The root splits by what is useless, although the other attribute would have been right for everybody.
    frame = pl.DataFrame({"a": ["x", "y"] * 40, "b": (["u"] * 2 + ["v"] * 2) * 20, "level": [0, 0, 1, 1] * 20})
    from glassine import DecisionTree
    from glassine.domain import OneOf
    from glassine.models import Branch, Evidence, Node

    def leaf(*counts: int) -> Node:
        return Node(evidence=Evidence(counts=counts))

    def split(attribute: str, values: str, *children: int) -> Node:
        literals = [OneOf(attribute, (value,)) for value in values]
        return Node(branches=tuple(Branch(lit, child) for lit, child in zip(literals, children, strict=True)))

    nodes = (
        split("a", "xy", 1, 2),
        split("b", "uv", 3, 4),
        split("b", "uv", 5, 6),
        *(leaf(*counts) for counts in ((20, 0), (0, 20), (20, 0), (0, 20))),
    )
    write_model(DecisionTree(nodes, ("a", "b"), classes=(0, 1)), tmp_path / "tree.json", overwrite=True)
    frame.write_csv(tmp_path / "people.csv")
    options = ("--criterion", "gini", "--splits", "multiway")
    for truth in ("--truth", "--no-truth"):
        done = run(*COMMAND, *options, truth, cwd=tmp_path)
        assert done.status == 2
        assert "node 0 against a split by b" in done.err
        assert len(done.err.strip().splitlines()) == 1
    for fewer in (["--no-internal-nodes"], ["--criterion", "gini"], []):
        assert run(*COMMAND, *fewer, cwd=tmp_path).status == 0


def test_rule_lists_are_refused(folder: Path, run: Run) -> None:
    (folder / "rules.txt").write_text("if age <= 30 then low else high\n")
    done = run("audit", "rules.txt", *COMMAND[2:], cwd=folder)
    assert done.status == 2
    assert len(done.err.strip().splitlines()) == 1


@pytest.mark.parametrize("classes", [(True, False), (1, 0), ("01", "1"), ("", "yes")])
def test_classes_keep_their_kind(tmp_path: Path, run: Run, classes: tuple[object, object]) -> None:
    frame = pl.DataFrame({"a": ["01", "02", "01", "02"]})
    level = [classes[0], classes[1]] * 2
    write_model(MultiwayTreeClassifier().fit(frame, np.array(level)).model_, tmp_path / "tree.json", overwrite=True)
    for name in ("people.csv", "people.parquet"):
        whole = frame.with_columns(level=pl.Series(level))
        (whole.write_csv if name.endswith("csv") else whole.write_parquet)(tmp_path / name)
        done = run(*COMMAND[:5], name, *COMMAND[6:], "--show-small-counts", "--json", cwd=tmp_path)
        assert done.status == 0, done.err
        assert told(done)["truth"]["mean"] == pytest.approx(0, abs=1e-9)


def test_a_missing_class_is_refused(folder: Path, run: Run) -> None:
    frame = records()
    frame.with_columns(level=pl.when(pl.int_range(pl.len()) > 0).then("level")).write_csv(folder / "people.csv")
    done = run(*COMMAND, cwd=folder)
    assert done.status == 2
    assert "missing value" in done.err
    assert run(*COMMAND, "--no-truth", cwd=folder).status == 0


def test_a_superset_is_read_as_one(folder: Path, run: Run) -> None:
    everybody = pl.concat([records(), records(60)])
    everybody.write_csv(folder / "people.csv")
    done = run(*COMMAND, "--training", "sample", "-o", "page.html", cwd=folder)
    assert done.status == 0, done.err
    assert "Who was in the training sample: 80%" in " ".join(done.out.split())
    assert "Who was in the training sample" in (folder / "page.html").read_text()
    plain = told(run(*COMMAND, "--training", "sample", "--json", "--show-small-counts", cwd=folder))
    assert plain["sample"]["fraction"] == pytest.approx(240 / 300)
    assert 0 < plain["sample"]["lowest"] <= 0.8 <= plain["sample"]["highest"] <= 1
    for options, said in (
        (("--training", "sample", "--sampling-fraction", "0.2"), "no sample of the fraction 0.2"),
        (("--training", "sample", "--sampling-fraction", "2"), "(0, 1]"),
        (("--sampling-fraction", "0.8"), "--training sample"),
        (("--training", "some"), "training must be one of"),
        (("--training", "sample", "--remedies"), "--training known"),
        (("--training", "known"), "published with"),
    ):
        done = run(*COMMAND, *options, cwd=folder)
        assert done.status == 2
        assert said in done.err
        assert len(done.err.strip().splitlines()) == 1


def test_a_truth_that_has_too_few_of_a_class_is_refused(folder: Path, run: Run) -> None:
    everybody = pl.concat([records(), records(60)]).with_columns(level=pl.lit("low"))
    everybody.write_csv(folder / "people.csv")
    done = run(*COMMAND, "--training", "sample", cwd=folder)
    assert done.status == 2
    assert "other class counts" in done.err


@pytest.mark.slow
def test_held_out_records_stand_beside_the_training_records(folder: Path, run: Run) -> None:
    records(500)[240:].write_csv(folder / "held.csv")
    done = run(*COMMAND, "--remedies", "--holdout", "held.csv", "-o", "page.html", cwd=folder)
    assert done.status == 0, done.err
    assert "of those held out" in done.out
    page = (folder / "page.html").read_text()
    assert "accuracy on held-out records" in page
    assert "held.csv" in page
    plain = told(run(*COMMAND, "--remedies", "--holdout", "held.csv", "--json", cwd=folder))
    assert plain["remedies"][0]["holdout_accuracy"] is not None
    assert run(*COMMAND, "--holdout", "held.csv", cwd=folder).status == 2
    records(500)[240:].drop("level").write_csv(folder / "held.csv")
    done = run(*COMMAND, "--remedies", "--holdout", "held.csv", cwd=folder)
    assert done.status == 2
    assert "the held-out records lack the sensitive column" in done.err


@pytest.mark.parametrize("noise", ["rounded", "5", "rounded:x", "uniform:2", "laplace:-1", "laplace:nan"])
def test_bad_noise_is_one_line(folder: Path, run: Run, noise: str) -> None:
    done = run(*COMMAND, "--noise", noise, cwd=folder)
    assert done.status == 2
    assert len(done.err.strip().splitlines()) == 1


def test_subgroups_are_reported(folder: Path, run: Run) -> None:
    done = run(*COMMAND, "-o", "page.html", cwd=folder)
    assert "Subgroups, the most exposed first" in done.out
    assert 'id="subgroups"' in (folder / "page.html").read_text()
    plain = told(run(*COMMAND, "--json", "--show-small-counts", cwd=folder))
    town = [group for group in plain["subgroups"] if group["attribute"] == "town"]
    mean = sum(group["size"] * group["d_overall"] for group in town) / sum(group["size"] for group in town)
    assert mean == pytest.approx(plain["truth"]["mean"], abs=1e-9)
    distances = [group["d_overall"] for group in plain["subgroups"]]
    assert distances == sorted(distances)


def test_a_domain_may_declare_more_than_the_tree_knows(folder: Path, run: Run) -> None:
    before = run(*COMMAND, "--domain", "domain.json", cwd=folder)
    assert before.status == 0
    domain = Domain(
        {
            "age": Integer(18, 60, thresholds=(30, 40)),
            "town": Category(("a", "b", "c")),
            "level": Category(("high", "low")),
            "ward": Category(("x", "y")),
        }
    )
    domain.to_json(folder / "domain.json")
    assert run(*COMMAND, "--domain", "domain.json", cwd=folder).out == before.out


def test_splits_that_were_not_selected_say_nothing(folder: Path, run: Run) -> None:
    drawn = run(*COMMAND, "--criterion", "none", "--json", cwd=folder)
    assert told(drawn)["readers"] == told(run(*COMMAND, "--no-internal-nodes", "--json", cwd=folder))["readers"]


def test_a_misspelt_sensitive_column_is_remarked_on(folder: Path, run: Run) -> None:
    done = run(*COMMAND[:-1], "levl", cwd=folder)
    assert done.status == 2
    assert done.err.endswith("Did you mean 'level'?\n")
    assert len(done.err.strip().splitlines()) == 1


def test_a_tree_that_is_not_known_to_predict_the_sensitive_column_is_refused(folder: Path, run: Run) -> None:
    frame = records()
    other = np.random.default_rng(1).choice(["low", "high"], len(frame))
    frame.with_columns(mood=pl.Series(other)).write_csv(folder / "people.csv")
    asked = (*COMMAND[:-1], "mood")
    for options in ((), ("--leaves", "labels"), ("--no-truth",), ("--no-internal-nodes",)):
        done = run(*asked, *options, cwd=folder)
        assert done.status == 2, options
        assert "other class counts" in done.err
    done = run(*asked, "--target", "level", cwd=folder)
    assert done.status == 2
    assert "the tree predicts level, not mood" in done.err
    frame.drop("level").write_csv(folder / "people.csv")
    done = run(*COMMAND, cwd=folder)
    assert done.status == 2
    assert "add --target level" in done.err
    domain = Domain({"age": Integer(18, 60), "town": Category(("a", "b", "c")), "level": Category(("high", "low"))})
    domain.to_json(folder / "wider.json")
    for options in (("--target", "level"), ("--domain", "wider.json")):
        assert run(*COMMAND, *options, cwd=folder).status == 0, options


@pytest.mark.parametrize("suffix", ["pkl", "skops"])
def test_a_pipeline_in_a_file_states_its_candidates(tmp_path: Path, run: Run, suffix: str) -> None:
    frame = records(400)
    encoder = make_column_transformer((OneHotEncoder(drop="first"), ["town"]), remainder="passthrough")
    tree = DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=8, random_state=0)
    fitted = make_pipeline(encoder, tree).fit(frame.drop("level").to_pandas(), frame["level"].to_numpy())
    path = tmp_path / f"tree.{suffix}"
    if suffix == "pkl":
        path.write_bytes(pickle.dumps(fitted))
    else:
        pytest.importorskip("skops.io").dump(fitted, path)
    frame.write_csv(tmp_path / "people.csv")
    command = ("audit", path.name, *COMMAND[2:], "--trust-pickle", "--json", "--show-small-counts")
    done = run(*command, cwd=tmp_path)
    assert done.status == 0, done.err
    plain = told(done)
    found = infer_sensitive(fitted, frame.drop("level"), truth=frame["level"].to_numpy())
    assert plain["knowledge"] == "leaf counts and internal nodes (entropy)"
    assert plain["n_internal"] == found.counts.internal > 0
    assert plain["unused"] == ""
    assert plain["readers"][-1]["entropy"] == pytest.approx(found.entropy / np.log(2), abs=1e-9)
    Domain({"age": Integer(18, 60), "town": Category(("a", "b", "c"))}).to_json(tmp_path / "domain.json")
    options = ("--data", "people.csv", "--domain", "domain.json", "--sensitive", "level", "--trust-pickle", "--json")
    audited = run("audit", path.name, *options, cwd=tmp_path)
    assert json.loads(audited.out)["measured"]["disclosure"]["n_internal"] == plain["n_internal"]


def test_without_a_criterion_the_leaves_alone_are_read_and_the_reason_is_said(folder: Path, run: Run) -> None:
    plain = told(run(*COMMAND, "--json", cwd=folder))
    assert "does not state how its splits were selected" in plain["unused"]
    assert "--criterion" in plain["unused"]
    assert plain["n_internal"] == 0
    alone = told(run(*COMMAND, "--no-internal-nodes", "--json", cwd=folder))
    assert alone["readers"] == plain["readers"]
    assert alone["unused"] == ""
    done = run(*COMMAND, cwd=folder)
    assert "not used" in done.out


@pytest.mark.parametrize(
    ("limit", "options", "status"),
    [
        (0, ("--criterion", "gini"), 1),
        (240, ("--criterion", "gini"), 0),
        (240, ("--leaves", "labels", "--no-internal-nodes"), 3),
        (240, (), 3),
    ],
)
def test_the_exit_status_is_that_of_the_policy_and_weaker_attackers_prove_nothing(
    folder: Path, run: Run, limit: int, options: tuple[str, ...], status: int
) -> None:
    frame = records()
    tree = MultiwayTreeClassifier().fit(frame.drop("level"), frame["level"].to_numpy())
    write_model(tree.model_, folder / "tree.json", overwrite=True)
    (folder / "policy.toml").write_text(f"most_certain = {limit}\n")
    done = run(*COMMAND, *options, "--policy", "policy.toml", cwd=folder)
    assert done.status == status, done.err
    assert "Sensitive values that can be inferred" in done.out


def test_an_assumption_in_a_whole_audit_replaces_what_the_tree_states(folder: Path, run: Run) -> None:
    whole = ("audit", "tree.json", *COMMAND[4:], "--domain", "domain.json", "--json")
    measured = [
        json.loads(run(*whole, *options, cwd=folder).out)["measured"]["disclosure"]
        for options in ((), ("--leaves", "labels", "--no-internal-nodes"))
    ]
    assert measured[0]["details"] is None
    assert measured[1]["details"] is not None
    assert measured[1]["readers"][-1]["entropy"] > measured[0]["readers"][-1]["entropy"] + 0.1


def test_what_is_asked_for_alone_and_cannot_be_measured_is_an_error(folder: Path, run: Run) -> None:
    for only, said in (("membership", "membership cannot be measured"), ("tea", "--only names 'tea'")):
        done = run("audit", "tree.json", "--only", only, cwd=folder)
        assert (done.status, done.out) == (2, "")
        assert said in done.err
        assert done.err.count("\n") == 1
