"""A fit that is too large: which columns cost most, what fits, and columns that are left out."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glassine import Binary, Category, Domain, Integer
from glassine.formats import load_model
from tests.cli.running import Run, listing

FIT = ("--target", "ill", "--domain", "wide.json", "--epsilon", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make records of which two columns have many cut points."""
    rng = np.random.default_rng(0)
    n = 200
    frame = pl.DataFrame(
        {
            "age": rng.integers(0, 100, n),
            "income": rng.integers(0, 1000, n),
            "smoker": rng.integers(0, 2, n),
            "ward": rng.choice(["a", "b", "c"], n),
            "ill": rng.choice(["no", "yes"], n),
        }
    )
    # Limits of the tests are small, so that what fits them is quick.
    frame.write_csv(tmp_path / "wide.csv")
    Domain(
        {
            "smoker": Binary(),
            "age": Integer(0, 99, thresholds=tuple(range(1, 99, 2))),
            "ward": Category(("a", "b", "c")),
            "income": Integer(0, 999, thresholds=tuple(range(2, 998, 10))),
            "ill": Category(("no", "yes")),
        }
    ).to_json(tmp_path / "wide.json")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(("model", "size"), [("tree", "--max-depth"), ("rule-list", "--max-rules")])
def test_a_fit_that_is_too_large_says_which_columns_cost_most_and_what_fits(
    model: str, size: str, folder: Path, run: Run
) -> None:
    words = ("fit", model, "wide.csv", *FIT, size, "5", "--time-limit", "0.01", "-o", "m.json")
    before = listing(folder)
    done = run(*words, cwd=folder)
    assert done.status == 2
    assert listing(folder) == before
    found = re.search(
        r"The columns that cost most: 'income', 'age', .*\. It fits with (.*), or with (.*)\.\n", done.err
    )
    assert found is not None, done.err
    for way in found.groups():
        again = run(*words, "--leaf-counts-share", "0.1", *shlex.split(way), "--overwrite", cwd=folder)
        assert again.status == 0, again.err


def test_columns_that_are_left_out_are_in_no_model(folder: Path, run: Run) -> None:
    words = ("fit", "tree", "wide.csv", *FIT, "--max-depth", "2", "-o", "m.json")
    assert run(*words, "--exclude", "income", "--exclude", "age", cwd=folder).status == 0
    assert set(load_model(folder / "m.json").attributes) <= {"smoker", "ward"}
    for name, said in (("ill", "which is the target"), ("agee", "Did you mean 'age'?")):
        done = run(*words, "--exclude", name, "--overwrite", cwd=folder)
        assert done.status == 2
        assert said in done.err


def test_columns_are_left_out_of_a_domain_that_is_inferred(folder: Path, run: Run) -> None:
    words = ("fit", "tree", "wide.csv", "--target", "ill", "--infer-domain", "--infer-classes", "--epsilon", "1")
    done = run(*words, "--max-depth", "1", "--exclude", "income", "--exclude", "age", "-o", "m.json", cwd=folder)
    assert done.status == 0, done.err
    assert set(load_model(folder / "m.json").attributes) <= {"smoker", "ward"}
