"""A checker who has a file alone: yes, no, or what is missing, each in one command; and help with mistakes."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import Domain, Integer, as_model, write_model
from glassine.learners import PrivateTreeClassifier
from glassine.privacy.certificate import Certificate
from glassine.privacy.release import fresh_count
from glassine.report.evidence import evidence
from tests.auditing.test_default_policy import rules
from tests.auditing.test_membership import frames, grown
from tests.cli.running import Run, people


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder of a tree that is harmless, one that is memorized, and the public cut points."""
    write_model(rules((22, 30), (170, 180), (290, 252)), tmp_path / "fine.json", overwrite=True)
    write_model(rules(*[(1, 0), (0, 1)] * 20), tmp_path / "memorized.json", overwrite=True)
    Domain({"age": Integer(0, 99, thresholds=(40, 41))}).to_json(tmp_path / "public.json")
    people(40).write_csv(tmp_path / "people.csv")
    return tmp_path


# The three answers.


def test_a_tree_of_large_leaves_at_public_cut_points_is_within_policy(folder: Path, run: Run) -> None:
    done = run("audit", "fine.json", "--domain", "public.json", "--json", cwd=folder)
    plain = json.loads(done.out)
    checks = {check["rule"]: check for check in plain["checks"]}
    assert (done.status, plain["verdict"]) == (0, "within policy")
    assert checks["share_in_small_leaves"]["measured"] == checks["leaves_of_one"]["measured"] == 0
    assert checks["largest_advantage"]["measured"] <= 0.06
    assert plain["inputs"][0]["name"] == "fine.json"
    assert {file["role"] for file in plain["inputs"]} == {"model", "domain"}


def test_a_memorized_tree_is_outside_policy_whatever_is_public(folder: Path, run: Run) -> None:
    for public in ((), ("--domain", "public.json")):
        done = run("audit", "memorized.json", *public, "--json", cwd=folder)
        plain = json.loads(done.out)
        failed = {check["rule"] for check in plain["checks"] if check["status"] == "fail"}
        assert (done.status, plain["verdict"]) == (1, "outside policy")
        assert {"leaves_of_one", "share_in_small_leaves", "largest_advantage"} <= failed
        assert not plain["requests"]


def test_without_public_cut_points_the_answer_is_the_list_of_what_is_missing(folder: Path, run: Run) -> None:
    done = run("audit", "fine.json", cwd=folder)
    text = " ".join(done.out.split())
    assert (done.status, "INCONCLUSIVE" in text) == (3, True)
    asked = text[text.index("please state of its training data:") :]
    assert "1. The public cut points, or public shares of values, of age. 2. Whether any person can have" in asked


# What a checker can carry out.


def test_a_checker_without_records_is_told_to_ask_and_the_holder_of_records_to_retrain(folder: Path, run: Run) -> None:
    alone = " ".join(run("audit", "memorized.json", cwd=folder).out.split())
    assert "Or ask the publisher to retrain with `min_samples_leaf=10`." in alone
    asked = "Ask the publisher which cut points are public, and pass them in a domain: `--domain domain.toml`"
    assert f"{asked}, drafted with `glassine domain new --model memorized.json -o domain.toml` and filled in." in alone
    assert "etrain" not in alone.replace("ask the publisher to retrain", "")
    assert "domain infer`. Replace" not in alone
    holder = run("audit", "memorized.json", "--domain", "public.json", "--data", "people.csv", cwd=folder).out
    assert "Or retrain with `min_samples_leaf=10`." in " ".join(holder.split())


def test_the_file_of_a_fine_model_that_another_program_wrote_gets_the_list_of_what_is_missing(
    folder: Path, run: Run
) -> None:
    X = np.arange(2000) % 100
    fitted = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X[:, None], (X > 50) ^ (X % 3 == 0))
    fitted.training_records_ = X
    (folder / "fine.pkl").write_bytes(pickle.dumps(fitted))
    done = run("audit", "fine.pkl", "--trust-pickle", cwd=folder)
    text = " ".join(done.out.split())
    assert (done.status, "Glassine did not write this file" in text) == (3, True)
    assert "1. The public cut points, or public shares of values, of x0." in text
    assert "A pickle runs code when it is loaded: publish a copy as JSON or skops" in text


def test_one_record_per_leaf_is_a_record(folder: Path, run: Run) -> None:
    assert "With only about 1 record per leaf," in " ".join(run("audit", "memorized.json", cwd=folder).out.split())


# One option moves every limit on what attacks reach.


@pytest.mark.slow
def test_the_largest_advantage_of_attacks_is_one_limit(tmp_path: Path, run: Run) -> None:
    members, others = frames()
    write_model(as_model(grown(members)), tmp_path / "tree.json", overwrite=True)
    members.write_csv(tmp_path / "members.csv")
    others.write_csv(tmp_path / "others.csv")
    command: tuple[str, ...] = (
        "audit",
        "tree.json",
        "--only",
        "membership",
        "--data",
        "members.csv",
        "--holdout",
        "others.csv",
    )
    command += ("--target", "y", "--max-advantage", "0.99")
    done = run(*command, "--json", cwd=tmp_path)
    limits = {check["rule"]: (check["limit"], check["status"]) for check in json.loads(done.out)["checks"]}
    rules_ = ("largest_measured_advantage", "largest_attack_advantage")
    assert (done.status, limits) == (0, dict.fromkeys(rules_, (0.99, "pass")))
    # A policy that leaves one of the two out is followed in that.
    (tmp_path / "policy.toml").write_text("largest_measured_advantage = false\n")
    plain = json.loads(run(*command, "--policy", "policy.toml", "--json", cwd=tmp_path).out)
    assert [check["rule"] for check in plain["checks"]] == ["largest_attack_advantage"]


# Evidence.


@pytest.fixture(scope="module")
def private() -> Certificate:
    """Return the certificate of a private tree."""
    X = np.arange(300)[:, None] % 100
    domain = Domain({"age": Integer(0, 100, thresholds=(50,))})
    y = np.where(X[:, 0] > 50, "yes", "no")
    learner = PrivateTreeClassifier(domain=domain, classes=("no", "yes"), max_depth=1, epsilon=0.5)
    with fresh_count():
        return learner.fit(X, y).certificate_


def items(folder: Path, run: Run, *audited: str) -> dict[str, str]:
    """Return the answers to a data-protection authority, by item."""
    report = run("audit", *audited, "--json", cwd=folder).out
    (folder / "report.json").write_text(report)
    plain = json.loads(run("evidence", "report.json", "--for", "edpb", "--json", cwd=folder).out)
    return {item["id"]: json.dumps(item["answers"]) for item in plain["items"]}


def test_no_part_is_counted_against_a_limit_that_the_policy_does_not_set(folder: Path, run: Run) -> None:
    said = items(folder, run, "fine.json", "--domain", "public.json")
    for number in ("D1", "D6.1"):
        assert "the policy sets no limit on them" in said[number]
        assert "more than the limit" not in said[number]
    (folder / "bits.toml").write_text("largest_bits_per_record = 1.0\n")
    limited = items(folder, run, "fine.json", "--domain", "public.json", "--policy", "bits.toml")
    assert "parts reveal more than the limit of 1 bits" in limited["D1"]
    alone = items(folder, run, "fine.json", "--policy", "bits.toml")
    assert "of 3 parts" not in alone["D1"], "without a domain no part was measured"


def test_answers_are_sentences_in_the_words_of_reports(folder: Path, run: Run) -> None:
    said = items(folder, run, "fine.json")
    assert "thresholds that are midpoints of two training values were not counted: counting them" in said["D3.4"]
    assert "because of them" not in said["D3.4"]
    assert "Value leakage: measured" in said["D10"]
    assert not {"labels:", "exposed_rows", "alignment"} & set(said["D10"].replace('"', " ").split())
    assert "pass, 0% (limit: at most 1%)." in said["D6.1"]


def test_a_certificate_alone_answers_by_its_bounds_and_says_what_to_do(private: Certificate) -> None:
    document = evidence("edpb", certificate=private)
    said = {line.item.id: str(line.answers) for line in document.lines}
    assert "membership advantage: at most" in said["D3.2"]
    assert "bits about one record: at most" in said["D1"]
    assert all(f"{name}: at most" in said["D4"] for name in ("membership advantage", "bits about one record"))
    assert "audit the file of the model, and give the report as JSON beside the certificate" in document.about


def test_a_certificate_that_does_not_hold_gives_no_bound() -> None:
    X = np.arange(300)[:, None] % 100
    domain = Domain({"age": Integer(0, 100, thresholds=(50,))})
    y = np.where(X[:, 0] > 50, "yes", "no")
    seeded = PrivateTreeClassifier(domain=domain, classes=("no", "yes"), max_depth=1, epsilon=0.5, random_state=0)
    with fresh_count():
        seeded.fit(X, y)
    said = str(evidence("edpb", certificate=seeded.certificate_).lines)
    assert "at most" not in said
    assert "the guarantee does not hold: " in said


# Mistakes.


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("evidence", "page.html", "--for", "edpb"), "Give the JSON report, which glassine audit MODEL --output"),
        (("audit", "fine.json", "--domain", "people.csv"), "glassine domain infer people.csv -o domain.json"),
        (
            ("audit", "fine.json", "--policy", "people.csv"),
            "There are default, sacro, strict, tre, average; or give a",
        ),
        (("audit", "fine.json", "--policy", "lax"), "There are default, sacro, strict, tre, average; or give a"),
        (("audit", "fine.json", "--policy", "stric"), "Did you mean 'strict'?"),
        (("audit", "people.csv"), "Give JSON of Glassine, a skops file, or a text or file of another supported"),
        (("audit", "fine.json", "--stated-leaf", "-5"), "Give the fewest training records of any leaf, as the"),
    ],
)
def test_a_mistake_is_answered_by_what_to_do(folder: Path, run: Run, arguments: tuple[str, ...], said: str) -> None:
    (folder / "page.html").write_text("<!doctype html>")
    done = run(*arguments, cwd=folder)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
