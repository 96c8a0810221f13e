"""Regressions at the command line: what is stated, and what a scrubbed copy changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from glassine import write_model
from glassine.formats import load_file
from glassine.formats.canonical import as_written
from glassine.formats.judged import as_ensemble
from glassine.models import RegressionModel
from tests.auditing.test_several_regressions import frame, tables
from tests.auditing.test_subjects import FIRST, additive
from tests.cli.running import Run
from tests.formats.test_regressions import DOMAIN, FILES


def test_scrub_says_how_many_coefficients_were_rounded(tmp_path: Path, run: Run) -> None:
    DOMAIN.to_json(tmp_path / "domain.json")
    done = run("scrub", str(FILES / "r_logit.txt"), "--domain", "domain.json", "-o", "copy.json", cwd=tmp_path)
    assert done.status == 0
    assert "Coefficients rounded: 7; rows of a baseline dropped: 0." in done.out
    assert load_file(tmp_path / "copy.json", DOMAIN).form.canonical


def test_statements_settle_a_table_of_coefficients(tmp_path: Path, run: Run) -> None:
    table = str(FILES / "broom_logit.csv")
    assert run("audit", table, cwd=tmp_path).status == 3
    stated = ("--n", "200", "--family", "binomial", "--errors", "model")
    # How far a number reaches is for the domain to say: one person's may be as large as all others together.
    alone = run("audit", table, *stated, cwd=tmp_path)
    assert alone.status == 3
    said = " ".join(alone.out.split())
    assert "a domain that declares its values" in said
    assert "What to do 1. Declare the values that each column can have in a domain: `--domain domain.toml`" in said
    assert "Pass what the publisher answers: `--one-record-per-person`." in said
    DOMAIN.to_json(tmp_path / "domain.json")
    assert run("audit", table, *stated, "--domain", "domain.json", cwd=tmp_path).status == 0
    refused = run("audit", table, "--family", "logistic", cwd=tmp_path).err
    assert "must be one of gaussian" in refused
    assert refused.endswith("A logistic regression is binomial, a linear one gaussian.\n")


def test_a_cox_regression_has_no_intercept(tmp_path: Path, run: Run) -> None:
    done = run("audit", str(FILES / "r_cox.txt"), "-o", "report.html", cwd=tmp_path)
    assert "(Intercept)" not in done.out + (tmp_path / "report.html").read_text()


def test_tables_are_audited_together_at_the_command_line(tmp_path: Path, run: Run) -> None:
    for name, model in zip(("all.json", "few.json"), tables(0, 1), strict=True):
        write_model(model, tmp_path / name)
    frame().write_csv(tmp_path / "people.csv")
    command = ("audit", "all.json", "few.json", "--together")
    done = run(*command, cwd=tmp_path)
    assert done.status == 1, done.err
    assert "--samples COLUMN" in done.out.replace("\n", " ")
    counted = run(*command, "--data", "people.csv", "--samples", "all", "--samples", "few", cwd=tmp_path)
    assert counted.status == 1, counted.err
    assert "Outcomes of single records follow" in counted.out.replace("\n    ", " ")
    assert "of several tables" in run("audit", "all.json", "--samples", "all", cwd=tmp_path).err
    assert "of several tables" in run("audit", "all.json", "few.json", "--samples", "all", cwd=tmp_path).err
    one = run(*command, "--data", "people.csv", "--samples", "all", cwd=tmp_path)
    assert one.err.startswith("glassine: --samples must be one of each model"), one.err
    twice = ("audit", str(FILES / "r_lm.txt"), str(FILES / "r_lm.txt"), "--together")
    assert "(--same-records)" in run(*twice, cwd=tmp_path).out
    same = run(*twice, "--same-records", cwd=tmp_path)
    assert "have the same number of records" not in same.out
    assert "--clean-copy" not in same.out
    assert "of several tables" in run("audit", "all.json", "--same-records", cwd=tmp_path).err
    for ignored in (("--event", "x2"), ("--shadows", "8"), ("--sensitive", "town"), ("--tree", "0")):
        refused = run(*command, *ignored, cwd=tmp_path)
        assert (refused.status, f"{ignored[0]} has no meaning" in refused.err) == (2, True), refused.err


STATED = {
    "smallest_leaf": ("--stated-leaf", "5"),
    "rounded_to": ("--stated-step", "5"),
    "unweighted": ("--unweighted",),
    "public_cuts": ("--public-cuts",),
    "n_records": ("--n", "100"),
    "family": ("--family", "cox"),
    "errors": ("--errors", "model"),
    "learning_rate": ("--learning-rate", "0.1"),
    "base_rate": ("--base-rate", "0.1"),
    "event": ("--event", "died"),
}


def test_each_statement_without_meaning_for_a_kind_is_noted(tmp_path: Path, run: Run) -> None:
    leaf = RandomForestClassifier(3, min_samples_leaf=20, random_state=0)
    points = np.random.default_rng(0).normal(size=(100, 2))
    write_model(as_written(as_ensemble(leaf.fit(points, points[:, 0] > 0))), tmp_path / "forest.json")
    write_model(FIRST, tmp_path / "tree.json")
    write_model(additive(), tmp_path / "additive.json")
    cox = load_file(FILES / "r_cox.txt", DOMAIN).model
    assert isinstance(cox, RegressionModel)
    fit = replace(cox.fit, n_records=None, errors="", baseline=())
    write_model(replace(cox, fit=fit), tmp_path / "cox.json")
    read = {
        "forest.json": {"n_records", "base_rate", "unweighted", "public_cuts"},
        "tree.json": {"smallest_leaf", "rounded_to", "unweighted", "public_cuts"},
        "additive.json": {"unweighted", "public_cuts"},
        "cox.json": {"n_records", "family", "errors", "event"},
    }
    for name, own in read.items():
        for stated, words in STATED.items():
            done = run("audit", name, *words, cwd=tmp_path)
            noted = f"{words[0]} was not used" in done.out.replace("\n    ", " ")
            refused = done.status == 2 and words[0] in done.err and "contradicts" not in done.err
            assert (noted or refused) == (stated not in own), (name, stated, done.out + done.err)
        assert "was not used" not in run("audit", name, "--one-record-per-person", cwd=tmp_path).out
