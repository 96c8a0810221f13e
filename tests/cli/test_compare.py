"""``glassine compare``: the page, the command that it recommends, and what becomes of a killed run."""

from __future__ import annotations

import html
import importlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Category, Certificate, Domain, load_model
from glassine.cli.compare import fit_command_line
from glassine.cli.options import PublicOptions, RecordsFileOptions
from glassine.cli.training import TrainingFile
from glassine.comparison import CANDIDATES, Row, Shape, Task
from glassine.comparison.seeded_splits import ClassTarget
from glassine.errors import PrivacyLeakWarning
from glassine.formats.json import to_dict
from tests.cli.running import Run, attributes, listing, people
from tests.formats.reading import read_cells

COMPARE = ("compare", "people.csv", "--target", "ill", "--epsilon", "1,4", "--max-depth", "2", "--splits", "2")
PEOPLE = TrainingFile(path=Path("people.csv"), written=RecordsFileOptions())
SECONDS = r'data-label="CPU s">[^<]+'  # All else is the same in every run.
KNOWN = (*COMPARE, "--domain", "domain.json", "--models", "tree,cart,constant")


def test_a_comparison_and_the_command_that_it_recommends(run: Run, folder: Path) -> None:
    before = set(listing(folder))
    done = run(*KNOWN, "-o", "page.html", cwd=folder)
    assert done.status == 0, done.err
    assert set(listing(folder)) - before == {"page.html"}
    assert "Fit the private tree at epsilon 1." in done.out
    assert done.out.endswith("Page: page.html\n")
    page = (folder / "page.html").read_text()
    commands = [line.strip() for line in done.out.splitlines() if line.startswith("  glassine fit ")]
    (command,) = commands
    assert command in html.unescape(re.sub(r"</?span>", "", page))
    program, *words = shlex.split(command)
    assert program == "glassine"
    fitted = run(*words, cwd=folder)
    assert fitted.status == 0, fitted.err
    model = read_cells(folder / "private-tree.json")
    assert model.guarantee is not None
    assert model.guarantee.epsilon == 1
    assert max(len(cell.inside) for cell in model.cells) <= 2
    assert Certificate.from_json((folder / "private-tree.certificate.json").read_text()).holds


@pytest.mark.parametrize("name", [name for name, candidate in CANDIDATES.items() if candidate.private])
def test_the_command_of_every_private_learner_runs(run: Run, folder: Path, name: str) -> None:
    (folder / "people.csv").rename(folder / "old people.csv")
    row = Row(model=name, epsilon=0.5, status="measured")
    command = fit_command_line(
        row,
        Task(max_depth=2, max_rules=2, delta=1e-5),
        file=TrainingFile(path=Path("old people.csv"), written=RecordsFileOptions()),
        target="ill",
        public=PublicOptions(classes="no,yes", infer_domain=True),
    )
    done = run(*shlex.split(command)[1:], cwd=folder)
    assert done.status == 0, (command, done.err)
    model = load_model(folder / f"private-{name}.json")
    assert model.guarantee is not None
    assert (model.guarantee.epsilon, model.guarantee.delta) == (0.5, 1e-5 if name in ("additive", "scorecard") else 0)


@pytest.mark.parametrize("name", [name for name, candidate in CANDIDATES.items() if candidate.private])
def test_the_command_fits_what_was_compared(run: Run, folder: Path, name: str) -> None:
    task = Task(max_depth=2, max_rules=2, delta=1e-5)
    row = Row(model=name, epsilon=0.5, status="measured")
    public = PublicOptions(domain=Path("domain.json"))
    command = fit_command_line(row, task, file=PEOPLE, target="ill", public=public)
    done = run(*shlex.split(command)[1:], "--seed", "7", cwd=folder)
    assert done.status == 0, done.err
    names = ["age", "smoker"]
    known = Domain(attributes()).restrict(names)
    learner = CANDIDATES[name].make(
        Shape(domain=known, target=ClassTarget((0, 1)), max_depth=2, max_rules=2, delta=1e-5), 0.5, 7
    )
    frame = people()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        learner.fit(frame.select(names), (frame["ill"] == "yes").to_numpy().astype(int))
    assert learnt(load_model(folder / f"private-{name}.json")) == learnt(learner.model_)


def learnt(model: Any) -> dict[str, Any]:
    """Return all of a model but the names of its classes, and where it came from."""
    return {name: value for name, value in to_dict(model).items() if name not in ("classes", "source", "target")}


def test_json_holds_all_figures(run: Run, folder: Path) -> None:
    done = run(*KNOWN, "--json", "-o", "found.json", cwd=folder)
    assert done.status == 0, done.err
    plain = json.loads(done.out)
    assert plain == json.loads((folder / "found.json").read_text())
    assert plain["schema"] == "glassine.comparison/3"
    assert plain["private"] is False
    assert [(row["model"], row["epsilon"]) for row in plain["rows"]] == [
        ("tree", 1.0),
        ("tree", 4.0),
        ("cart", None),
        ("constant", None),
    ]
    assert all(len(row["accuracy"]["values"]) == 2 for row in plain["rows"])
    assert plain["recommendation"]["chosen"]["model"] == "tree"
    assert plain["recommendation"]["chosen"]["command"].startswith("glassine fit tree people.csv")
    assert [file["role"] for file in plain["inputs"]] == ["data", "domain"]


def test_without_a_domain_it_is_refused_with_the_remedy(run: Run, folder: Path) -> None:
    done = run(*COMPARE, "--models", "tree,constant", cwd=folder)
    assert done.status == 2
    assert "glassine domain infer" in done.err
    assert "--infer-domain" in done.err
    owned = run(*COMPARE, "--models", "tree,constant", "--infer-domain", "--infer-classes", cwd=folder)
    assert owned.status == 0, owned.err
    assert "The domain was taken from the data" in owned.out
    assert "--infer-domain --infer-classes" in owned.out
    ordinary = run(*COMPARE, "--models", "cart,constant", cwd=folder)
    assert ordinary.status == 0, ordinary.err
    assert "No private model was measured" in ordinary.out


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (("--epsilon", "0.1;1"), "--epsilon must be numbers separated by commas"),
        (("--epsilon", "0"), "--epsilon must be positive numbers"),
        (("--epsilon", "nan"), "--epsilon must be positive numbers"),
        (("--models", "tree,forest"), "which is not a model type. There are "),
        (("--splits", "0"), "--splits must be a whole number"),
        (("--seed", "-1"), "--seed must be at least 0, got -1"),
        (("--test-share", "1"), "--test-share must be a number above 0"),
        (("--measure", "rmse"), "--measure rmse is for numbers"),
        (("--target", "nobody"), "the classes of the target 'nobody' must be public"),
        (("-o", "people.csv"), "it is read or written already"),
        (("-o", "page.pdf"), "reports are written as HTML, JSON or text"),
        (("--resume", "people.csv"), "cannot use the folder people.csv"),
        (("--resume", "."), "is not a folder of results"),
    ],
)
def test_bad_input_is_told_before_any_work(run: Run, folder: Path, changed: tuple[str, ...], message: str) -> None:
    before = listing(folder)
    done = run(*KNOWN, *changed, cwd=folder)
    assert done.status == 2
    assert message in done.err, done.err
    assert done.err.startswith("glassine: ")
    assert listing(folder) == before


def test_results_of_changed_records_are_refused(run: Run, folder: Path) -> None:
    kept = (*COMPARE, "--domain", "domain.json", "--models", "constant,logistic", "--resume", "results")
    assert run(*kept, cwd=folder).status == 0
    frame = pl.read_csv(folder / "people.csv")
    frame.with_columns(age=pl.col("age").shuffle(seed=1)).write_csv(folder / "people.csv")
    done = run(*kept, cwd=folder)
    assert done.status == 2
    assert "results holds the results of other records: logistic on split 1 comes out differently" in done.err


@pytest.mark.slow
def test_killed_and_run_again_it_gives_the_same_page(run: Run, folder: Path) -> None:
    command = (*COMPARE, "--domain", "domain.json", "--splits", "3", "--resume", "results", "-o", "resumed.html")
    results = folder / "results" / "results.jsonl"
    process = subprocess.Popen([sys.executable, "-m", "glassine", *command], cwd=folder, env={**os.environ})
    deadline = time.monotonic() + 120
    while not (results.exists() and results.read_bytes().count(b"\n") >= 5):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=30) == -signal.SIGKILL
    kept = results.read_bytes()
    whole = kept[: kept.rfind(b"\n") + 1]
    assert not (folder / "resumed.html").exists()
    assert run(*command, cwd=folder).status == 0
    assert results.read_bytes().startswith(whole)
    assert 5 <= whole.count(b"\n") < results.read_bytes().count(b"\n") == 3 * (5 * 2 + 11)
    straight = (*COMPARE, "--domain", "domain.json", "--splits", "3", "-o", "straight.html")
    assert run(*straight, cwd=folder).status == 0
    resumed, timed = re.subn(SECONDS, "", (folder / "resumed.html").read_text())
    assert timed == 5 * 2 + 11
    assert resumed == re.sub(SECONDS, "", (folder / "straight.html").read_text())


@pytest.mark.slow
@pytest.mark.data
def test_adult_with_all_learners(data_dir: Path, tmp_path: Path) -> None:
    assert data_dir.is_dir()
    adult: Any = importlib.import_module("benchmarks.public_data").adult()
    adult.frame.with_columns(income=pl.Series(adult.labels)).write_csv(tmp_path / "adult.csv")
    Domain({**{n: adult.domain[n] for n in adult.domain}, "income": Category(adult.classes)}).to_json(
        tmp_path / "adult.json"
    )
    before = os.times()
    command = ("compare", "adult.csv", "--target", "income", "--domain", "adult.json", "--epsilon", "0.1,1", "--json")
    done = subprocess.run(
        [sys.executable, "-m", "glassine", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    after = os.times()
    assert done.returncode == 0, done.stderr
    # Of one core, whatever else the machine does.
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    assert spent < 300
    plain = json.loads(done.stdout)
    assert all(row["status"] == "measured" for row in plain["rows"])
    # The rule in a few lines of its own.
    rows = {(row["model"], row["epsilon"]): row for row in plain["rows"]}
    private = [row for row in plain["rows"] if row["epsilon"] is not None]
    best = max(private, key=lambda row: row["accuracy"]["value"])
    floor = best["accuracy"]["value"] - np.std(best["accuracy"]["values"], ddof=1) / 5**0.5
    base = np.array(rows["constant", None]["accuracy"]["values"])
    kept = [
        row
        for row in private
        if row["accuracy"]["value"] >= floor
        and (apart := np.array(row["accuracy"]["values"]) - base).mean() > apart.std(ddof=1) / 5**0.5
    ]
    least = min(kept, key=lambda row: (row["epsilon"], row["bits"]["value"] if row["bits"] else np.inf))
    chosen = plain["recommendation"]["chosen"]
    assert (chosen["model"], chosen["epsilon"]) == (least["model"], least["epsilon"])
    assert rows["boosting", None]["accuracy"]["value"] > best["accuracy"]["value"] > 0.84


def test_budgets_of_private_learners_are_stated(run: Run, folder: Path) -> None:
    words = ("compare", "people.csv", "--target", "ill", "--domain", "domain.json", "--splits", "1", "--json")
    for named in ((), ("--models", "tree,constant")):
        done = run(*words, *named, cwd=folder)
        assert done.status == 2
        assert "--epsilon is needed" in done.err
    ordinary = run(*words, "--models", "cart,constant", cwd=folder)
    assert ordinary.status == 0, ordinary.err
    assert {row["epsilon"] for row in json.loads(ordinary.out)["rows"]} == {None}


@pytest.mark.slow
def test_numbers_are_compared_and_the_command_fits_what_was_recommended(run: Run, folder: Path) -> None:
    frame = pl.read_csv(folder / "people.csv").with_columns(cost=2.0 * pl.col("age") + 10 * pl.col("smoker"))
    frame.write_csv(folder / "costs.csv")
    words = ("costs.csv", "--target", "cost", "--epsilon", "2", "--max-depth", "2", "--splits", "2")
    known = ("--domain", "domain.json", "--target-range", "0,300", "--models", "tree,cart,constant")
    done = run("compare", *words, *known, "-o", "page.html", cwd=folder)
    assert done.status == 0, done.err
    assert "Fit the private tree at epsilon 2." in done.out
    assert "RMSE" in done.out
    (command,) = (line.strip() for line in done.out.splitlines() if line.startswith("  glassine fit "))
    fitted = run(*shlex.split(command)[1:], cwd=folder)
    assert fitted.status == 0, fitted.err
    model = read_cells(folder / "private-tree.json")
    assert model.classes is None
    assert model.guarantee is not None
    assert all(0 <= value <= 300 for cell in model.cells if (value := cell.evidence.value) is not None)
    plain = json.loads(run("compare", *words, *known, "--json", cwd=folder).out)
    assert (plain["measure"], plain["target_range"], plain["classes"]) == ("rmse", [0.0, 300.0], [])
    assert all(len(row["rmse"]["values"]) == 2 for row in plain["rows"])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--measure", "accuracy"), "--measure accuracy is for classes"),
        (("--models", "rule-list"), "predicts classes, and the target is a number"),
        (("--classes", "a,b"), "--classes and --infer-classes are for a target of classes"),
        (("--target-range", "3,1"), "--target-range must be LO,HI with LO below HI"),
    ],
)
def test_what_contradicts_a_number_is_refused(run: Run, folder: Path, option: tuple[str, ...], message: str) -> None:
    known = ("--domain", "domain.json", "--target-range", "0,300", "--epsilon", "1")
    done = run("compare", "people.csv", "--target", "other", *known, *option, cwd=folder)
    assert done.status == 2
    assert message in " ".join(done.err.split())


@pytest.mark.slow
def test_columns_that_are_left_out_are_in_no_model_and_no_command(run: Run, folder: Path) -> None:
    few = ("--models", "tree,cart", "--splits", "1", "--json")
    without = run(*COMPARE, *few, "--domain", "domain.json", "--exclude", "age", cwd=folder)
    assert without.status == 0, without.err
    plain = json.loads(without.out)
    assert plain["n_attributes"] == 1
    command = shlex.split(plain["recommendation"]["chosen"]["command"])
    assert "--exclude=age" in command
    assert run(*command[1:], cwd=folder).status == 0
    assert set(load_model(folder / "private-tree.json").attributes) <= {"smoker"}
    # The same as of a file that never had the column.
    people().drop("age").write_csv(folder / "people.csv")
    Domain(attributes()).restrict(["smoker", "ill"]).to_json(folder / "few.json")
    never = json.loads(run(*COMPARE, *few, "--domain", "few.json", cwd=folder).out)
    same = ("rows", "n_attributes", "caveats")
    assert without_seconds({name: never[name] for name in same}) == without_seconds(
        {name: plain[name] for name in same}
    )


def without_seconds(plain: dict[str, Any]) -> dict[str, Any]:
    for row in plain["rows"]:
        row.pop("seconds")
    return plain


@pytest.mark.parametrize(
    ("excluded", "more", "said"),
    [
        ("ill", (), "which is the target"),
        ("smokr", ("--domain", "domain.json"), "which is not in the domain. Did you mean 'smoker'?"),
        ("smokr", ("--infer-domain", "--infer-classes"), "not a column of people.csv. Did you mean 'smoker'?"),
        ("smoker", ("--summary", "s.json"), "cannot be combined with --summary"),
    ],
)
def test_only_attributes_are_left_out(excluded: str, more: tuple[str, ...], said: str, run: Run, folder: Path) -> None:
    words = ("compare",) if "--summary" in more else (*COMPARE, "--models", "tree")
    done = run(*words, *more, "--exclude", excluded, cwd=folder)
    assert (done.status, said in done.err) == (2, True), done.err
