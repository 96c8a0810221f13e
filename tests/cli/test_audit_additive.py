"""``glassine audit`` and ``glassine scrub`` on explainable boosting machines."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Domain, Real
from tests.cli.running import Done, Run
from tests.formats.reading import read_additive

glassbox = pytest.importorskip("interpret.glassbox")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the machine, its records, a domain and a policy as files."""
    folder = tmp_path_factory.mktemp("ebm")
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"height": rng.normal(170, 9, 400).round(1), "weight": rng.normal(70, 12, 400).round(1)})
    frame = frame.with_columns(ill=(frame["height"] - frame["weight"] + rng.normal(0, 9, 400) < 95).cast(pl.Int64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ebm: Any = glassbox.ExplainableBoostingClassifier(
            interactions=0, outer_bags=1, max_rounds=30, n_jobs=1, random_state=0
        )
        ebm.fit(frame.select("height", "weight").to_pandas(), frame["ill"].to_numpy())
        ebm.to_json(str(folder / "ebm.json"))
    frame.write_csv(folder / "data.csv")
    Domain({"height": Real(100, 240), "weight": Real(20, 200)}).to_json(folder / "domain.json")
    (folder / "policy.toml").write_text("largest_bits_per_record = false\n", encoding="utf-8")
    return {path.stem: path for path in folder.iterdir()}


def call(run: Run, cwd: Path, *arguments: object) -> Done:
    return run(*map(str, arguments), cwd=cwd)


def test_an_ebm_is_audited(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    done = call(run, tmp_path, "audit", files["ebm"], "--domain", files["domain"], "-o", report, "--json")
    assert done.status == 1, done.err
    found = json.loads(done.out)
    assert found["subject"]["kind"] == "additive model"
    assert "histogram_weights" in files["ebm"].read_text(encoding="utf-8"), "counts of values, beside the model"
    (file,) = found["files"]
    assert not file["canonical"]
    assert file["clean_copy"] is not None, "which has none of them"
    assert {entry["n_rebuilt"] > 100 for entry in found["measured"]["terms"]["attributes"]} == {True}
    assert "<svg" in report.read_text(encoding="utf-8")


def test_an_ebm_is_scrubbed_and_then_within_policy(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "scrubbed.json"
    options = ["--domain", files["domain"], "--data", files["data"], "--policy", files["policy"]]
    done = call(
        run, tmp_path, "scrub", files["ebm"], *options, "--target", "ill", "--smallest-leaf", "10", "-o", copy, "--json"
    )
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert (found["before"]["verdict"], found["after"]["verdict"]) == ("outside policy", "within policy")
    assert found["quality"]["accuracy"]["after"] > found["quality"]["accuracy"]["before"] - 0.05
    assert found["changes"]["rounded"] > 100
    assert all(term.weights is None for term in read_additive(copy).terms)
    again = call(run, tmp_path, "audit", copy, *options)
    assert again.status == 0, again.err
    told = call(run, tmp_path, "scrub", files["ebm"], *options, "--smallest-leaf", "10", "-o", copy, "--overwrite")
    assert "bins merged" in told.out


def test_a_damaged_ebm_ends_with_one_line(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    data = json.loads(files["ebm"].read_text(encoding="utf-8"))
    data["ebm"]["terms"][0]["scores"] = "none"
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(data), encoding="utf-8")
    done = call(run, tmp_path, "audit", bad)
    assert (done.status, done.out) == (2, "")
    assert len(done.err.strip().splitlines()) == 1
    assert "bad.json" in done.err
