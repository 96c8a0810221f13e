"""``glassine merge``: models of sites from CSV to one model with a certificate."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glassine import AdditiveModel, Certificate, Domain, Integer, load_model
from glassine.domain import Category
from glassine.learners.additive.merging import DISJOINT
from tests.cli.running import Run


@pytest.fixture
def hospitals(tmp_path: Path, run: Run) -> Path:
    Domain({"age": Integer(18, 90), "ill": Category(("no", "yes"))}).to_json(tmp_path / "domain.json")
    for seed, name in enumerate(("north", "east", "south")):
        rng = np.random.default_rng(seed)
        age = rng.integers(18, 91, 800)
        ill = np.where(rng.random(800) < age / 100, "yes", "no")
        pl.DataFrame({"age": age, "ill": ill}).write_csv(tmp_path / f"{name}.csv")
        kind = ("summarize",) if name == "south" else ("fit", "additive")
        given = (f"{name}.csv", "--target", "ill", "--domain", "domain.json", "--epsilon", "2", "-o", f"{name}.json")
        done = run(*kind, *given, cwd=tmp_path)
        assert done.status == 0, done.err
    return tmp_path


def test_three_hospitals_become_one_model(hospitals: Path, run: Run) -> None:
    done = run("merge", "north.json", "east.json", "south.json", "-o", "all.json", cwd=hospitals)
    assert done.status == 0, done.err
    assert "Guarantee: epsilon 6" in done.out
    assert run("certificate", "verify", "all.json", "all.certificate.json", cwd=hospitals).status == 0
    model = load_model(hospitals / "all.json")
    assert isinstance(model, AdditiveModel)
    young, old = model.predict_proba(pl.DataFrame({"age": [20, 88]}))[:, 1]
    assert young < old
    given = ("--disjoint-persons", "--json", "-o", "apart.json")
    apart = run("merge", "north.json", "east.json", *given, cwd=hospitals)
    assert json.loads(apart.out)["epsilon"] == 2.0
    certificate = Certificate.from_json((hospitals / "apart.certificate.json").read_text())
    assert DISJOINT in certificate.assumptions
    assert certificate.holds
    # Merged again, it is the same model.
    assert run("merge", "north.json", "east.json", "--disjoint-persons", "-o", "b.json", cwd=hospitals).status == 0
    assert (hospitals / "apart.json").read_bytes() == (hospitals / "b.json").read_bytes()
    audited = run("audit", "apart.json", "--domain", "domain.json", cwd=hospitals)
    assert audited.status in (0, 1, 3), audited.err


def test_what_cannot_be_merged_is_refused(hospitals: Path, run: Run) -> None:
    refused = run("merge", "north.json", "-o", "all.json", cwd=hospitals)
    assert (refused.status, "2 to 1,000 sites" in refused.err) == (2, True)
    one = run(
        "merge",
        "north.json",
        "east.json",
        "--site-certificate",
        "north.certificate.json",
        "-o",
        "a.json",
        cwd=hospitals,
    )
    assert (one.status, "--site-certificate is given 1 times for 2 models" in one.err) == (2, True)
    (hospitals / "east.certificate.json").unlink()
    lost = run("merge", "north.json", "east.json", "-o", "all.json", cwd=hospitals)
    assert (lost.status, "east.certificate.json" in lost.err) == (2, True)
    assert not (hospitals / "all.json").exists()


def test_summaries_of_one_plan_become_one_summary(hospitals: Path, run: Run) -> None:
    given = ("--target", "ill", "--domain", "domain.json", "--epsilon", "2")
    for name in ("north", "east"):
        done = run(
            "summarize", f"{name}.csv", *given, "--follows", "south.json", "-o", f"{name}-sums.json", cwd=hospitals
        )
        assert done.status == 0, done.err
    sites = ("south.json", "north-sums.json", "east-sums.json")
    done = run("merge", *sites, "--disjoint-persons", "-o", "sums.json", cwd=hospitals)
    assert done.status == 0, done.err
    assert "Summary of 3 sites: tables added." in done.out
    assert "epsilon 2" in done.out
    assert (
        run("fit", "tree", "--summary", "sums.json", "--max-depth", "1", "-o", "tree.json", cwd=hospitals).status == 0
    )
    tree = load_model(hospitals / "tree.json")
    assert tree.guarantee is not None
    assert tree.guarantee.epsilon == 2.0
    assert run("audit", "sums.json", cwd=hospitals).status in (0, 1, 3)
    # Without one plan, additive models of the summaries are averaged.
    run("summarize", "north.csv", *given, "-o", "apart.json", cwd=hospitals)
    done = run("merge", "south.json", "apart.json", "-o", "averaged.json", cwd=hospitals)
    assert "Additive model" in done.out
    assert isinstance(load_model(hospitals / "averaged.json"), AdditiveModel)
    refused = run("summarize", "north.csv", *given, "--follows", "north.json", "-o", "other.json", cwd=hospitals)
    assert (refused.status, "is no summary" in refused.err) == (2, True)
