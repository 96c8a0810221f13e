"""``glassine fit --model additive``: classes and numbers, what is written, what is refused."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from glassine import AdditiveModel, Certificate, Domain, Ledger, Real
from tests.cli.running import Run, attributes, listing, people, process
from tests.formats.reading import read_additive

FIT = ("fit", "additive", "people.csv", "--target", "ill", "--domain", "domain.json", "-o", "a.json")
NUMBER = ("fit", "additive", "numbers.csv", "--target", "pressure", "-o", "a.json", "--epsilon", "4")
OTHERS = ("--domain", "others.json")


def additive(path: Path) -> AdditiveModel:
    return read_additive(path)


@pytest.fixture
def numbers(folder: Path) -> Path:
    """Add records with a number to predict, and a domain without it and one with it."""
    frame = people(1000)
    noise = np.random.default_rng(0).normal(0, 5, 1000)
    frame.with_columns(pressure=100 + pl.col("age") / 2 + pl.Series(noise)).drop("ill").write_csv(
        folder / "numbers.csv"
    )
    known = {name: attribute for name, attribute in attributes().items() if name != "ill"}
    Domain(known).to_json(folder / "others.json")
    Domain({**known, "pressure": Real(60, 220)}).to_json(folder / "all.json")
    return folder


def test_a_classifier_is_learnt_charged_and_written_with_its_report(folder: Path, run: Run) -> None:
    # Of 300 records, noise makes all scores of the age equal in one fit of 30, and the model then lacks its term.
    people(3000).write_csv(folder / "people.csv")
    Ledger(folder / "budget.sqlite").budget("more", 2, 1e-5)
    done = run(
        *(*FIT, "--epsilon", "1", "--ledger", "budget.sqlite", "--dataset", "more", "--report", "r.html"),
        *("--monotone", "age:increasing"),
        cwd=folder,
    )
    assert done.status == 0, done.err
    model = additive(folder / "a.json")
    certificate = Certificate.from_json((folder / "a.certificate.json").read_text())
    assert (certificate.epsilon, certificate.delta, certificate.holds) == (1.0, 1e-6, True)
    assert certificate.public["monotone"] == {"age": "increasing"}
    assert (np.diff(model.term("age").scores[:-1, 0]) >= 0).all()
    (entry,) = Ledger(folder / "budget.sqlite").entries("more")
    assert (float(entry.epsilon), float(entry.delta)) == (1.0, 1e-6)
    assert "Guarantee: epsilon 1, delta 1e-06" in done.out
    assert "If an outcome is rare, judge and compare models by AUROC" in done.out
    assert "AUROC on" not in done.out
    assert "Columns left out, as they are not declared by the domain: id." in done.out
    page = (folder / "r.html").read_text()
    assert "<svg" in page
    assert "age" in page


def test_boosting_with_the_accounting_of_the_paper(folder: Path, run: Run) -> None:
    more = ("--algorithm", "boosting", "--accounting", "classic")
    done = run(*FIT, "--epsilon", "2", "--delta", "1e-5", *more, "--json", cwd=folder)
    assert done.status == 0, done.err
    written = json.loads(done.out)
    assert written["certificate"]["public"]["algorithm"] == "boosting"
    assert written["certificate"]["delta"] == 1e-5
    assert written["model"]["kind"] == "additive"
    assert written["error_rate"] is None


@pytest.mark.parametrize("declared", [True, False])
def test_a_number_is_learnt_within_its_public_range(numbers: Path, run: Run, declared: bool) -> None:
    public = ("--domain", "all.json") if declared else (*OTHERS, "--target-range", "60,220")
    done = run(*NUMBER, *public, cwd=numbers)
    assert done.status == 0, done.err
    model = additive(numbers / "a.json")
    assert (model.link, model.target_bounds, model.target) == ("identity", (60.0, 220.0), "pressure")
    assert 115 < model.intercept[0] < 140
    assert Certificate.from_json((numbers / "a.certificate.json").read_text()).holds


def test_what_is_taken_from_the_data_voids_the_guarantee(numbers: Path, run: Run) -> None:
    done = run(*NUMBER, *OTHERS, "--infer-range", cwd=numbers)
    assert done.status == 0, done.err
    assert "range of the target taken from the data" in " ".join(done.out.split())
    assert not Certificate.from_json((numbers / "a.certificate.json").read_text()).holds


def test_the_same_fit_without_noise_has_a_certificate_of_no_guarantee(folder: Path, run: Run) -> None:
    done = run(*FIT, "--not-private", "--interactions", "1", cwd=folder)
    assert done.status == 0, done.err
    model = additive(folder / "a.json")
    assert (model.guarantee, len(model.terms)) == (None, 3)
    assert all(term.errors is None for term in model.terms)
    weights = model.term("age").weights
    assert weights is not None
    assert weights.sum() == pl.read_csv(folder / "people.csv").height
    assert not Certificate.from_json((folder / "a.certificate.json").read_text()).holds
    assert done.out.startswith("Additive model of 3 terms on 2 attributes, fitted without noise: not private.")
    assert "No guarantee" in done.out
    frame = pl.read_csv(folder / "people.csv")
    ill = frame["ill"].to_numpy()
    chances = model.predict_proba(frame)
    assert f"AUROC on the training records: {roc_auc_score(ill, chances[:, 1]):.4f}; chance: 0.5000." in done.out
    assert f"Log loss on the training records: {log_loss(ill, chances):.4f}; the base rates alone: " in done.out
    common = max((ill == name).mean() for name in set(ill.tolist()))
    assert f"{(model.predict(frame) == ill).mean():.4f}; the largest class alone: {common:.4f}." in done.out
    (shown,) = (line for line in done.out.splitlines() if line.startswith("smoker "))
    assert shown.split()[1] == str(len(model.term("smoker").labels))
    scores = model.term("smoker").scores
    assert f"{scores.min():+.3g} at " in shown
    assert f"{scores.max():+.3g} at " in shown


def test_a_number_without_privacy_states_its_error_beside_that_of_the_mean(numbers: Path, run: Run) -> None:
    order = (*NUMBER[:-2], "--not-private", "--domain")
    done = run(*order, "all.json", cwd=numbers)
    assert done.status == 0, done.err
    assert "RMSE on the training records: " in done.out
    wide = additive(numbers / "a.json")
    assert wide.target_bounds == (60.0, 220.0)
    done = run(*order, "others.json", "--infer-range", "--overwrite", cwd=numbers)
    assert done.status == 0, done.err
    pressure = pl.read_csv(numbers / "numbers.csv")["pressure"]
    assert additive(numbers / "a.json").target_bounds == (pressure.min(), pressure.max())


def test_bins_of_a_file_are_kept(folder: Path, run: Run) -> None:
    (folder / "bins.json").write_text('{"age": [30, 60], "smoker": [[0, 1]]}')
    done = run(*FIT, "--epsilon", "1", "--bins", "bins.json", cwd=folder)
    assert done.status == 0, done.err
    assert additive(folder / "a.json").term("age").bins[0].labels[:3] == ("<= 30", "30 to 60", "> 60")


@pytest.mark.parametrize("wish", ["age & smoker", "1"])
def test_pairs_of_attributes_get_a_term(folder: Path, run: Run, wish: str) -> None:
    done = run(*FIT, "--epsilon", "8", "--interactions", wish, cwd=folder)
    assert done.status == 0, done.err
    model = additive(folder / "a.json")
    assert [len(term.bins) for term in model.terms] == [1, 1, 2]
    assert model.terms[2].name == "age & smoker"


def test_the_model_can_be_exported_edited_and_audited(folder: Path, run: Run) -> None:
    assert run(*FIT, "--epsilon", "1", cwd=folder).status == 0
    done = run("export", "a.json", "--to", "sql", cwd=folder)
    assert done.status == 0, done.err
    assert "CASE" in done.out
    done = run("edit", "a.json", "--flatten", "smoker", "-o", "b.json", cwd=folder)
    assert done.status == 0, done.err
    edited = additive(folder / "b.json")
    assert [edit.action for edit in edited.edits] == ["flatten"]
    assert edited.guarantee == additive(folder / "a.json").guarantee
    (folder / "p.toml").write_text("accept_guarantee = true\n")
    done = run("audit", "b.json", "--domain", "domain.json", "--policy", "p.toml", cwd=folder)
    assert done.status == 0, done.out + done.err


@pytest.mark.slow
def test_a_run_of_its_own_gives_a_model_that_predicts(folder: Path) -> None:
    done = process("", *FIT, "--epsilon", "8", cwd=folder)
    assert done.returncode == 0, done.stderr
    model = additive(folder / "a.json")
    old, smoker = model.term("age"), model.term("smoker")
    assert old.scores[:-1, 0][-1] > old.scores[0, 0]
    assert smoker.scores[1, 0] > smoker.scores[0, 0]


BAD: dict[str, tuple[tuple[str, ...], str]] = {
    "no epsilon": ((), "--epsilon is needed"),
    "epsilon too small": (("--epsilon", "0.0001"), "--epsilon must be"),
    "delta NaN": (("--epsilon", "1", "--delta", "nan"), "--delta must be"),
    "accounting of lists": (("--epsilon", "1", "--accounting", "strict"), "--accounting must be one of"),
    "option of trees": (("--epsilon", "1", "--max-depth", "3"), "fit additive has no option --max-depth"),
    "time limit": (("--epsilon", "1", "--time-limit", "9"), "fit additive has no option --time-limit"),
    "budget of what is not private": (
        ("--not-private", "--epsilon", "1"),
        "--epsilon does not apply to an additive model without privacy",
    ),
    "accounting of what is not private": (("--not-private", "--accounting", "gdp"), "--accounting does not apply"),
    "search of what is not private": (("--not-private", "--search", "algorithm=penalized,boosting"), "--search does"),
    "range of classes": (("--epsilon", "1", "--target-range", "0,1"), "which is no number"),
    "range of one number": (("--epsilon", "1", "--target-range", "5"), "must be two numbers"),
    "range the wrong way": (("--epsilon", "1", "--target-range", "5,5"), "LO below HI"),
    "range NaN": (("--epsilon", "1", "--target-range", "nan,5"), "LO below HI"),
    "range and classes": (
        ("--epsilon", "1", "--target-range", "0,1", "--infer-classes"),
        "--classes and --infer-classes are for",
    ),
    "range twice": (("--epsilon", "1", "--target-range", "0,1", "--infer-range"), "contradict each other"),
    "monotone without direction": (("--epsilon", "1", "--monotone", "age"), "--monotone must be NAME:increasing"),
    "monotone twice": (
        ("--epsilon", "1", "--monotone", "age:increasing", "--monotone", "age:decreasing"),
        "names 'age' twice",
    ),
    "monotone category": (("--epsilon", "1", "--monotone", "smoker:increasing"), "--monotone names 'smoker'"),
    "no bins": (("--epsilon", "1", "--bins", "none.json"), "cannot read none.json"),
    "bins of nothing": (("--epsilon", "1", "--bins", "list.json"), "must map attributes to cut points"),
    "bins of a stranger": (("--epsilon", "1", "--bins", "stranger.json"), "--bins name 'height'"),
    "a pair without its mark": (("--epsilon", "1", "--interactions", "age,smoker"), "or 'NAME & NAME'"),
    "a pair of a stranger": (("--epsilon", "1", "--interactions", "age & height"), "--interactions must name pairs"),
    "too many pairs": (("--epsilon", "1", "--interactions", "31"), "--interactions must be a number in [0, 30]"),
    "too little memory": (("--epsilon", "1", "--memory-limit", "1000"), "more memory than --memory-limit 1 kB"),
    "report of another form": (
        ("--epsilon", "1", "--report", "r.pdf"),
        "Let the name end in .html, .htm, .json or .txt",
    ),
    "over budget": (("--epsilon", "2", "--ledger", "budget.sqlite", "--dataset", "people"), "left"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_spends_and_writes_nothing(folder: Path, run: Run, kind: str) -> None:
    arguments, said = BAD[kind]
    (folder / "list.json").write_text("[1]")
    (folder / "stranger.json").write_text('{"height": [1]}')
    before = listing(folder)
    done = run(*FIT, *arguments, cwd=folder)
    assert done.status == 2, done.out
    assert said in done.err
    assert "Traceback" not in done.err
    assert listing(folder) == before


def test_a_target_of_which_nothing_is_public_is_refused(numbers: Path, run: Run) -> None:
    done = run(*NUMBER, *OTHERS, cwd=numbers)
    assert done.status == 2
    assert "--target-range LO,HI for a number" in done.err
    done = run(*NUMBER, "--domain", "all.json", "--classes", "a,b", cwd=numbers)
    assert done.status == 2
    assert "declares the target 'pressure'" in done.err
    done = run(*NUMBER, "--domain", "all.json", "--target-range", "0,1", cwd=numbers)
    assert done.status == 2
    assert "and so its range" in done.err
    done = run(*NUMBER, *OTHERS, "--target", "ill", "--target-range", "0,1", cwd=numbers)
    assert done.status == 2
    assert "--target names 'ill', which is not a column" in done.err


def test_options_of_additive_models_do_not_apply_to_trees(folder: Path, run: Run) -> None:
    tree = ("fit", "tree", "people.csv", "--target", "ill", "--epsilon", "1", "--domain", "domain.json", "-o", "t.json")
    for option in (("--algorithm", "penalized"), ("--monotone", "age:increasing"), ("--infer-range",)):
        done = run(*tree, *option, cwd=folder)
        assert done.status == 2
        assert f"fit tree has no option {option[0]}" in done.err


def test_a_budget_without_delta_is_raised_by_the_command_that_the_refusal_names(folder: Path, run: Run) -> None:
    fit = (*FIT, "--epsilon", "1", "--ledger", "new.sqlite", "--dataset", "my claims")
    missing = run(*fit, cwd=folder)
    made_by = (
        "Make it: glassine ledger budget new.sqlite 'my claims' EPSILON, with --delta D if releases have a delta, as "
        "those of additive models, and --records-per-person M if it counts persons\n"
    )
    assert missing.err.endswith(made_by)
    Ledger(folder / "new.sqlite").budget("my claims", 1)
    done = run(*fit, cwd=folder)
    assert done.status == 2
    command = done.err[done.err.index("glassine ledger budget") :].rstrip()
    assert command == "glassine ledger budget new.sqlite 'my claims' 1 --delta 1e-06"
    assert run(*shlex.split(command)[1:], cwd=folder).status == 0
    assert run(*fit, cwd=folder).status == 0
