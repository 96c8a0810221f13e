"""``glassine edit``: every option, the log, the page, and refusals."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from glassine.formats import write_model
from glassine.models import AdditiveModel, Term
from glassine.models.editing import flatten, monotone, set_score, smooth, undo, zero
from tests.cli.running import Run
from tests.formats.reading import read_additive
from tests.models.additive_models import income_model, simple_model


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Make a folder with a model and an edited one."""
    write_model(income_model(), tmp_path / "model.json", overwrite=True)
    write_model(monotone(zero(income_model(), "gain"), "age", reason="lore"), tmp_path / "edited.json", overwrite=True)
    (tmp_path / "rules.txt").write_text("if [age <= 40] then [a] (3 examples)\nelse [b] (5 examples)\n")
    return tmp_path


def test_every_kind_of_edit(run: Run, models: Path) -> None:
    done = run(
        *("edit", "model.json", "--monotone", "hours:increasing", "--set", "age:<= 20=-0.5", "--zero", "gain"),
        *("--set", "hours & married:38 to 42 & 1=.25", "--set", "job:missing or other=0", "--flatten", "age:15..20"),
        *("--smooth", "age:20 to 23..29 to 32", "--monotone", "age:0..4:decreasing", "--strength", "0.25"),
        *("--passes", "2", "--reason", "trade lore", "-o", "out.json"),
        cwd=models,
    )
    assert (done.status, done.err) == (0, "")
    expected = zero(income_model(), "gain", reason="trade lore")
    expected = set_score(expected, "age", 0, -0.5, reason="trade lore")
    expected = set_score(expected, "hours & married", (3, 1), 0.25, reason="trade lore")
    expected = set_score(expected, "job", "missing or other", 0.0, reason="trade lore")
    expected = flatten(expected, "age", (15, 20), reason="trade lore")
    expected = smooth(expected, "age", (1, 4), strength=0.25, passes=2, reason="trade lore")
    expected = monotone(expected, "hours", reason="trade lore")
    expected = monotone(expected, "age", "decreasing", (0, 4), reason="trade lore")
    assert read_additive(models / "out.json") == expected
    assert "made: 8. No budget is spent." in done.out


def test_undo_revert_and_the_log(run: Run, models: Path) -> None:
    done = run("edit", "edited.json", "--log", cwd=models)
    assert done.out.splitlines() == [
        f"1. zero gain: {len(read_additive(models / 'edited.json').edits[0].cells)} scores",
        f"2. monotone age, first 0, last 20, direction increasing: "
        f"{len(read_additive(models / 'edited.json').edits[1].cells)} scores (lore)",
    ]
    assert run("edit", "edited.json", "--undo", "1", "-o", "one.json", cwd=models).status == 0
    assert read_additive(models / "one.json") == undo(read_additive(models / "edited.json"))
    done = run("edit", "edited.json", "--revert", "--log", "-o", "none.json", cwd=models)
    assert done.out.splitlines()[0] == "no edit"
    assert read_additive(models / "none.json") == income_model()


def test_json_tells_the_log_and_the_files(run: Run, models: Path) -> None:
    done = run(
        "edit",
        "edited.json",
        "--undo",
        "1",
        "--flatten",
        "job",
        "-o",
        "o.json",
        "--page",
        "p.html",
        "--json",
        cwd=models,
    )
    told = json.loads(done.out)
    assert (told["undone"], told["made"], told["file"], told["page"]) == (1, 1, "o.json", "p.html")
    assert [edit["action"] for edit in told["edits"]] == ["zero", "flatten"]
    page = (models / "p.html").read_text()
    assert "Model of income" in page
    assert len(page.encode()) < 300_000


def test_one_class_of_several(run: Run, tmp_path: Path) -> None:
    term = simple_model([1.0, 0.0, 2.0]).terms[0]
    model = AdditiveModel(
        attributes=("x",),
        terms=(Term(bins=term.bins, scores=np.repeat(term.scores, 3, axis=1)),),
        intercept=(0.0, 0.0, 0.0),
        link="softmax",
        classes=("a", 2, "c"),
    )
    write_model(model, tmp_path / "m.json", overwrite=True)
    assert run("edit", "m.json", "--monotone", "x:increasing", "--class", "2", "-o", "o.json", cwd=tmp_path).status == 0
    assert read_additive(tmp_path / "o.json") == monotone(model, "x", output=1)
    done = run("edit", "m.json", "--zero", "x", "--class", "z", "--log", cwd=tmp_path)
    assert done.status == 2
    assert "a class that has its own score, got 'z'. The model has a, 2, c." in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--zero", "age"], "goes nowhere"),
        (["--zero", "agee", "--log"], "must begin with the name of a term"),
        (["--set", "age=1", "--log"], "needs TERM:BIN=SCORE"),
        (["--set", "age:3", "--log"], "needs TERM:BIN=SCORE"),
        (["--set", "age:3=x", "--log"], "needs a number"),
        (["--set", "age:3=nan", "--log"], "finite number"),
        (["--set", "age:99=1", "--log"], "has no BIN or FIRST..LAST '99'"),
        (["--set", "age:-1=1", "--log"], "has no BIN or FIRST..LAST '-1'"),
        (["--set", "hours & married:3=1", "--log"], "has no BIN & BIN '3'"),
        (["--flatten", "age:1..99", "--log"], "has no BIN"),
        (["--flatten", "age:5..1", "--log"], "in order"),
        (["--smooth", "job", "--log"], "no order"),
        (["--smooth", "age", "--strength", "0", "--log"], "strength must lie"),
        (["--smooth", "age", "--strength", "nan", "--log"], "strength"),
        (["--monotone", "age", "--log"], "must begin with the name of a term"),
        (["--monotone", "age:up", "--log"], "direction must be"),
        (["--undo", "3", "--log"], "0 to 2 edits"),
        (["--undo", "-1", "--log"], "0 to 2 edits"),
        (["--undo", "1", "--revert", "--log"], "Give one of them"),
        (["--class", "a", "--log"], "one score for all"),
        (["-o", "edited.json"], "read or written already"),
        (["-o", "a.json", "--page", "a.json"], "read or written already"),
        (["--page", "nowhere/p.html"], "folder does not exist"),
    ],
)
def test_refusals_write_nothing(run: Run, models: Path, arguments: list[str], message: str) -> None:
    before = sorted(models.iterdir())
    done = run("edit", "edited.json", *arguments, cwd=models)
    assert done.status == 2
    assert message in done.err
    assert done.out == ""
    assert sorted(models.iterdir()) == before


def test_a_log_that_lies_and_other_files_are_refused(run: Run, models: Path) -> None:
    data = json.loads((models / "edited.json").read_text())
    data["edits"][1]["parameters"]["direction"] = "decreasing"
    (models / "lie.json").write_text(json.dumps(data))
    done = run("edit", "lie.json", "--log", cwd=models)
    assert (done.status, "in another way" in done.err) == (2, True)
    done = run("edit", "rules.txt", "--log", cwd=models)
    assert (done.status, "Only additive models can be edited" in done.err) == (2, True)


def test_additive_models_are_exported(run: Run, models: Path) -> None:
    for form in ("sql", "python", "text"):
        done = run("export", "edited.json", "--to", form, "-o", f"model.{form}", cwd=models)
        assert (done.status, done.err.count("cannot record")) == (0, 1)
    query = run("export", "edited.json", "--to", "sql", "--table", "people", cwd=models).out
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE people (age REAL, hours REAL, gain REAL, job TEXT, married REAL)")
        connection.execute("INSERT INTO people VALUES (50, 40, 0, 'manager', 1)")
        assert connection.execute(query).fetchone()[-1] in ("<=50K", ">50K")
    done = run("export", "edited.json", "--to", "sklearn", "-o", "model.pkl", cwd=models)
    assert (done.status, "is not written as a scikit-learn pipeline" in done.err) == (2, True)


def test_names_and_reasons_of_a_file_steer_no_terminal(tmp_path: Path, run: Run) -> None:
    """A text in a model of strangers could clear the screen, and write another verdict on it."""
    steering = set("\x1b\x9b\r\u200f\u202e")
    hostile = "as discussed\x1b[2J\x9b31m\rPASS \u200f\u202edeyned"
    write_model(zero(income_model(), "gain", reason=hostile), tmp_path / "model.json", overwrite=True)
    said = run("edit", "model.json", "--log", cwd=tmp_path)
    assert (said.status, said.err) == (0, "")
    assert "as discussed" in said.out
    assert not steering & set(said.out)
    plain = run("edit", "model.json", "--log", "--json", cwd=tmp_path).out
    assert not steering & set(plain)
    assert json.loads(plain)["edits"][0]["reason"] == hostile
    # An export to a pipe is the model, to the last character.
    assert "\x9b" in run("export", "model.json", "--to", "json", cwd=tmp_path).out
