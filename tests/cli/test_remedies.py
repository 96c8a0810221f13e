"""Remedies as commands: what an audit advises can be pasted, and one copy meets every check."""

from __future__ import annotations

import json
import pickle
import re
import shlex
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from glassine import Domain, Integer, as_model, write_model
from tests.cli.running import Run


def test_one_command_does_what_all_remedies_that_scrub_ask_for(run: Run, tmp_path: Path) -> None:
    """The commands of three remedies named one output, so that the second was refused."""
    rng = np.random.default_rng(0)
    ages, heights = rng.integers(18, 90, 400), rng.integers(150, 200, 400)
    ill = np.where(ages + rng.normal(0, 15, 400) > 60, "yes", "no")
    tree = DecisionTreeClassifier(max_depth=6, random_state=0).fit(np.column_stack([ages, heights]), ill)
    domain = Domain({"x0": Integer(0, 120, thresholds=(40, 50, 60, 70)), "x1": Integer(100, 230, thresholds=(170,))})
    domain.to_json(tmp_path / "domain.json")
    write_model(as_model(tree, domain), tmp_path / "tree.json", overwrite=True)
    done = run("audit", "tree.json", "--domain", "domain.json", cwd=tmp_path)
    said = " ".join(done.out.split())
    commands = [part for part in said.split("`") if part.startswith("glassine scrub")]
    assert (done.status, len(commands), said.count(": the step above also does this.")) == (1, 1, 3)
    assert "Without the training records (`--data FILE`), the verdict on the copy can be inconclusive." in said
    assert "--smallest-leaf 10" in commands[0]
    assert "--largest-advantage 0.07" in commands[0]
    # Thresholds move, so that without records the sizes of leaves are no longer known.
    assert run(*shlex.split(commands[0])[1:], cwd=tmp_path).status == 3
    again = run("audit", "scrubbed.json", "--domain", "domain.json", cwd=tmp_path)
    assert "[fail]" not in again.out
    advice = json.loads(run("audit", "tree.json", "--domain", "domain.json", "--json", cwd=tmp_path).out)["advice"]
    # Each step is whole for a program that reads only one of them.
    assert {one["command"] for one in advice if one["action"] == "scrub"} == {f"`{commands[0]}`"}


def test_a_request_for_a_domain_names_the_command_that_drafts_it(run: Run, tmp_path: Path) -> None:
    rules = "if [age < 40] then [true] ([152 ; 160] examples)\nelse [false] ([170 ; 180] examples)\n"
    (tmp_path / "rules.txt").write_text(rules)
    done = run("audit", "rules.txt", cwd=tmp_path)
    assert "`glassine domain new --model rules.txt -o domain.toml`" in " ".join(done.out.split())


def test_the_copy_is_audited_with_the_records_that_the_model_was_audited_with(run: Run, tmp_path: Path) -> None:
    """Without them the copy was inconclusive; a file with semicolons or of persons could not be read as before."""
    rng = np.random.default_rng(1)
    ages = rng.integers(18, 90, 400)
    ill = np.where(ages + rng.normal(0, 15, 400) > 60, "yes", "no")
    tree = DecisionTreeClassifier(max_depth=6, random_state=0).fit(ages.reshape(-1, 1), ill)
    write_model(as_model(tree), tmp_path / "tree.json", overwrite=True)
    lines = [f"{age}:{said}:p{i // 2}" for i, (age, said) in enumerate(zip(ages, ill, strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(["x0:ill:who", *lines]) + "\n")
    (tmp_path / "limits.toml").write_text("smallest_leaf = 12\n")
    given = ("--data", "people.csv", "--target", "ill", "--person", "who", "--policy", "limits.toml", "--separator=:")
    done = run("audit", "tree.json", *given, cwd=tmp_path)
    draft, scrub = (part for part in " ".join(done.out.split()).split("`") if part.startswith("glassine "))
    assert scrub.endswith(
        "--data people.csv --target ill --person who --policy limits.toml --separator=: -o scrubbed.json"
    )
    # In this order: the domain comes before the copy that needs it.
    assert run(*shlex.split(draft)[1:], cwd=tmp_path).status == 0
    declared = (
        (tmp_path / "domain.json")
        .read_text()
        .replace(', "inferred": true', "")
        .replace(',\n      "inferred": true', "")
    )
    (tmp_path / "domain.json").write_text(declared)
    copied = run(*shlex.split(scrub)[1:], cwd=tmp_path)
    assert (copied.status, "WITHIN POLICY" in copied.out) == (0, True)
    # A copy of the copy has another name, and what is for the public names no file of records.
    shown = run("audit", "scrubbed.json", "--domain", "domain.json", *given, "--audience", "public", cwd=tmp_path)
    assert "people.csv" not in shown.out
    small = [*given[:-3], "--policy", "strict", given[-1]]
    again = run("audit", "tree.json", "--domain", "domain.json", *small, "--audience", "public", cwd=tmp_path)
    assert "people.csv" not in again.out
    assert "--policy strict -o scrubbed.json" in " ".join(again.out.split())
    of_copy = run("audit", "scrubbed.json", "--domain", "domain.json", *small, cwd=tmp_path)
    assert "-o scrubbed-again.json`" in " ".join(of_copy.out.split())


def test_a_command_is_on_one_line_and_names_how_the_model_was_read(run: Run, tmp_path: Path) -> None:
    """A shell ends a command where a line breaks; and a pickle was refused by the command that drafts its domain."""
    ages = np.arange(100).reshape(-1, 1)
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(ages, np.arange(100) % 7 < 3)
    (tmp_path / "a model with a long name.pkl").write_bytes(pickle.dumps(tree))
    done = run("audit", "a model with a long name.pkl", "--trust-pickle", cwd=tmp_path)
    draft, scrub, *_ = re.findall("`(glassine [^`\n]*)`", done.out)
    assert shlex.split(draft)[1:6] == ["domain", "new", "--model", "a model with a long name.pkl", "--trust-pickle"]
    assert "--trust-pickle -o scrubbed.json" in scrub
    assert run(*shlex.split(draft)[1:], cwd=tmp_path).status == 0
    filled = (tmp_path / "domain.toml").read_text().replace('lo = "?"', "lo = 0").replace('hi = "?"', "hi = 120")
    (tmp_path / "domain.toml").write_text(filled)
    assert run(*shlex.split(scrub)[1:], cwd=tmp_path).status == 3


def test_records_that_do_not_match_are_not_asked_for_as_if_there_were_none(run: Run, tmp_path: Path) -> None:
    ages = np.arange(100)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(ages.reshape(-1, 1), ages > 50)
    write_model(as_model(tree), tmp_path / "tree.json", overwrite=True)
    (tmp_path / "other.csv").write_text("x0\n" + "\n".join(map(str, ages[:70])) + "\n")
    said = " ".join(run("audit", "tree.json", "--data", "other.csv", cwd=tmp_path).out.split())
    assert "Pass exactly the records that the model was trained on: `--data FILE`." in said
    assert "so that they can be counted" not in said


def test_answers_of_the_publisher_have_their_options(run: Run, tmp_path: Path) -> None:
    rules = "if [smoker] then [true]\nelse [false]\n"
    (tmp_path / "rules.txt").write_text(rules)
    bare = run("audit", "rules.txt", cwd=tmp_path)
    said = "`--stated-leaf N`, `--stated-step N`, `--one-record-per-person`, `--unweighted`"
    assert (bare.status, said in " ".join(bare.out.split())) == (3, True)
    counted = "if [smoker] then [true] ([160 ; 160] examples)\nelse [false] ([170 ; 180] examples)\n"
    (tmp_path / "rules.txt").write_text(counted)
    done = run("audit", "rules.txt", cwd=tmp_path)
    assert (done.status, said in " ".join(done.out.split())) == (0, False)
    assert "The audit of this model counts records. To count people" in done.out
