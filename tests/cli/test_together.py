"""``glassine rebuild`` of several models: what is left out, what is counted, and the verdict."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from glassine import Domain, Integer, write_model
from glassine.domain import Between
from glassine.models import Branch, DecisionTree, Evidence, Guarantee, Node
from tests.cli.running import Run

DOMAIN = ("--domain", "domain.json")


def stump(cut: float, *sizes: int, guarantee: Guarantee | None = None, name: str = "age") -> DecisionTree:
    """Return a tree with one split, with or without sizes."""
    sides = Branch(Between(name, hi=cut), 1), Branch(Between(name, lo=cut), 2)
    leaves = [Evidence(total=size, label=i) for i, size in enumerate(sizes)] or [Evidence(label=i) for i in (0, 1)]
    nodes = (Node(branches=sides), *(Node(evidence=entry) for entry in leaves))
    return DecisionTree(nodes, (name,), (0, 1), guarantee=guarantee)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder of trees of the same hundred records."""
    noisy = {name: Guarantee(epsilon=e, count_scale=1.0) for name, e in (("half", 0.5), ("more", 0.6), ("less", 0.3))}
    models = {
        "first": stump(40, 50, 50),
        "near": stump(41, 51, 49),
        "far": stump(60, 70, 30),
        "across": stump(150, 40, 60, name="height"),
        "bare": stump(41),
        "bare_far": stump(60),
        "rounded": replace(stump(60, 60, 30), approximate=True),
        **{name: stump(50, 60, 40, guarantee=claim) for name, claim in noisy.items()},
    }
    for name, model in models.items():
        write_model(model, tmp_path / f"{name}.json", overwrite=True)
    Domain({"age": Integer(0, 99), "height": Integer(100, 199)}).to_json(tmp_path / "domain.json")
    ages, heights = [10] * 50 + [41] + [50] * 19 + [70] * 30, [140] * 40 + [170] * 60
    pl.DataFrame({"age": ages, "height": heights}).write_csv(tmp_path / "data.csv")
    (tmp_path / "accept.toml").write_text("accept_guarantee = true\n")
    (tmp_path / "no_claims.toml").write_text("accept_guarantee = true\nmax_epsilon = false\n")
    (tmp_path / "two_bits.toml").write_text("largest_bits_per_record = 1.0\n")
    return tmp_path


def test_models_without_counts_are_told_from_noisy_ones(folder: Path, run: Run) -> None:
    done = run("rebuild", "bare.json", "bare_far.json", *DOMAIN, "--data", "data.csv", cwd=folder)
    assert done.status == 2
    assert "bare.json does not publish how many records" in done.err
    assert "The same holds for bare_far.json" in done.err
    assert "an attacker learns the regions and labels" in done.err
    assert "use --data and --count-from-data." in done.err
    assert "nois" not in done.err
    assert "guarantee" not in done.err


def test_counts_are_taken_from_the_data_on_request(folder: Path, run: Run) -> None:
    arguments = ("rebuild", "first.json", "bare.json", *DOMAIN, "--data", "data.csv")
    without = run(*arguments, cwd=folder)
    assert without.status == 3
    assert "Left out: bare.json does not publish" in without.out
    assert "who also knows their numbers of records: --count-from-data." in without.out
    assert "Only first.json is left, so there is nothing to put together." in without.out
    assert "  together:" not in without.out
    assert "What bare.json adds was not measured." in without.out
    done = run(*arguments, "--count-from-data", cwd=folder)
    assert done.status == 1, done.err
    assert "Counted in the data, without classes: bare.json." in done.out
    assert "[fail] Smallest intersection: 1 record (limit: at least 10 records)." in done.out
    assert "intersections of the models" in done.out
    plain = json.loads(run(*arguments, "--count-from-data", "--json", cwd=folder).out)
    assert plain["counted_from_data"] == ["bare.json"]
    assert plain["verdict"] == "outside policy"
    rounded = ("first.json", "rounded.json", *DOMAIN, "--data", "data.csv", "--count-from-data", "--rows")
    assert "100 rows that meet every count" in run("rebuild", *rounded, cwd=folder).out


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("first.json", "near.json"), 1, "[fail] Smallest intersection: 1 record (limit: at least 10 records)."),
        (("first.json", "far.json"), 0, "[pass] Smallest intersection: 20 records (limit: at least 10 records)."),
        (("first.json", "across.json"), 3, "--data may prove it."),
        (
            ("first.json", "across.json", "--data", "data.csv"),
            0,
            "[pass] Smallest intersection: 10 records (limit: at least 10 records).",
        ),
        (
            ("first.json", "far.json", "--data", "data.csv", "--policy", "two_bits.toml"),
            1,
            "Proven: the models reveal",
        ),
        (("half.json", "more.json"), 1, "[fail] Epsilon of the guarantee: 1.1 (limit: at most 1)."),
        (("half.json", "less.json"), 3, "the policy does not accept such claims"),
        (
            ("half.json", "less.json", "--policy", "accept.toml"),
            0,
            "[pass] Epsilon of the guarantee: 0.8 (limit: at most 1).",
        ),
        (("first.json", "half.json", "--policy", "accept.toml"), 0, "Only first.json is left"),
        (("first.json", "half.json", "--policy", "no_claims.toml"), 3, "What half.json adds was not measured."),
        (("half.json", "bare.json", "--policy", "accept.toml"), 3, "What bare.json adds was not measured."),
    ],
)
def test_the_verdict_is_the_exit_status(
    folder: Path, run: Run, arguments: tuple[str, ...], status: int, said: str
) -> None:
    done = run("rebuild", *arguments, *DOMAIN, cwd=folder)
    assert done.status == status, done.err
    assert said in done.out
    verdict = {0: "within policy", 1: "outside policy", 3: "inconclusive"}[status]
    assert f"Verdict on the models together: {verdict}." in done.out
    plain = json.loads(run("rebuild", *arguments, *DOMAIN, "--json", cwd=folder).out)
    assert plain["verdict"] == verdict


def test_epsilons_of_private_models_add(folder: Path, run: Run) -> None:
    done = run("rebuild", "half.json", "more.json", *DOMAIN, cwd=folder)
    assert "Epsilons add: 0.5 + 0.6 = 1.1 (the claims of both, half.json, more.json; add-or-remove-one)." in done.out
    assert "no bits and no groups were measured" in done.out
    rows = run("rebuild", "half.json", "more.json", *DOMAIN, "--rows", cwd=folder)
    assert rows.status == 2
    assert "no rows: no model has exact counts" in rows.err


@pytest.mark.parametrize("data", [(), ("--data", "data.csv")])
def test_an_audit_of_models_without_counts_names_the_command_that_judges_them(
    folder: Path, run: Run, data: tuple[str, ...]
) -> None:
    done = run("audit", "bare.json", "bare_far.json", "--together", *DOMAIN, *data, cwd=folder)
    assert done.status == 3, done.err
    command = "glassine rebuild bare.json bare_far.json --domain domain.json"
    command += f" --data {'data.csv' if data else 'FILE'} --count-from-data"
    assert f"`{command}`" in " ".join(done.out.split())
    assert "counts='data'" not in done.out
    words = command.replace("FILE", "data.csv").split()[1:]
    assert "Verdict on the models together: within policy." in run(*words, cwd=folder).out


def test_no_command_counts_what_a_guarantee_protects(folder: Path, run: Run) -> None:
    done = run("audit", "half.json", "less.json", "--together", *DOMAIN, cwd=folder)
    assert "--count-from-data" not in done.out
