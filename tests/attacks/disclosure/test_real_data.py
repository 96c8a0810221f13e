"""The paper's setting on its own data, and a CART with thresholds on all records."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine.attacks.disclosure import Adversary, Disclosure, infer_sensitive
from glassine.learners.greedy.impurity import CRITERIA, Criterion
from glassine.learners.multiway_tree import MultiwayTreeClassifier

pytestmark = pytest.mark.data

QUASI = ["workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country", "income"]
COLUMNS = ["age", "workclass", "fnlwgt", "education", "education-num", *QUASI[1:6], "capital-gain", "capital-loss"]
COLUMNS += ["hours-per-week", *QUASI[6:]]
NUMBERS = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]


def read(folder: Path) -> list[dict[str, str]]:
    with (folder / "adult" / "adult.data").open(newline="") as stream:
        rows = [[value.strip() for value in row] for row in csv.reader(stream)]
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows if len(row) == len(COLUMNS)]


def check(disclosure: Disclosure, truth: list[Any]) -> npt.NDArray[np.float64]:
    """Check what must hold of every estimate with counts; return the truth as a table."""
    table = disclosure.true_probabilities(truth) * disclosure.people.sizes[:, None]
    estimate = disclosure.quasi_probabilities * disclosure.people.sizes[:, None]
    assert disclosure.constraints.violations(table) == ()
    assert disclosure.constraints.violations(estimate) == ()
    assert disclosure.status == "optimal"
    assert disclosure.gap < 1e-6
    assert disclosure.residual < 1e-5
    return table


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_papers_setting(data_dir: Path, criterion: Criterion) -> None:
    rows = [row for row in read(data_dir) if "?" not in row.values()]
    frame = pl.DataFrame({name: [row[name] for row in rows] for name in QUASI})
    truth = [row["education"] for row in rows]
    assert len(rows) == 30_162
    tree = MultiwayTreeClassifier(criterion=criterion, min_samples_split=8).fit(frame, truth).model_
    disclosure = infer_sensitive(tree, frame, adversary=Adversary(criterion=criterion))
    check(disclosure, truth)
    assert disclosure.counts.quasi_identifiers == 4480
    assert disclosure.counts.rate * 15 == disclosure.counts.label
    assert disclosure.counts.active > 0
    readers = disclosure.compare(truth)
    assert readers[2].d_overall is not None
    assert readers[1].d_overall is not None
    assert readers[2].d_overall < readers[1].d_overall


def test_a_cart_of_500_leaves(data_dir: Path) -> None:
    rows = read(data_dir)
    frame = pl.DataFrame({name: [int(row[name]) for row in rows] for name in NUMBERS})
    truth = [row["income"] for row in rows]
    tree = DecisionTreeClassifier(max_leaf_nodes=500, random_state=0).fit(frame.to_pandas(), truth)
    disclosure = infer_sensitive(tree, frame)
    check(disclosure, truth)
    assert disclosure.counts.internal > 100_000
    assert disclosure.counts.active > 5
