"""Small files that R, Weka and sklearn2pmml made, which tests cannot run: they are read as these programs predict."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.corpus import KEPT, NAMES, SMALL, worded
from glassine.errors import UnsupportedModelError
from glassine.files import FileContent
from glassine.formats import load_model
from glassine.models import DecisionTree


def read(name: str) -> DecisionTree:
    model = load_model(KEPT / name)
    assert isinstance(model, DecisionTree)
    return model


def asked(name: str) -> tuple[dict[str, Any], list[str]]:
    """Return records, and what the program predicts of each."""
    rows = list(csv.DictReader((KEPT / f"{name}.csv").read_text().splitlines()))
    x0, x1, codes = (np.array([float(row[column]) for row in rows]) for column in NAMES)
    return dict(zip(NAMES, (x0, x1, worded(codes)), strict=True)), [row["answer"] for row in rows]


@pytest.mark.parametrize("name", sorted(SMALL.values()))
def test_a_file_is_read_as_its_program_predicts(name: str) -> None:
    records, answers = asked(name)
    predicted = read(name).predict(records)
    assert len(set(answers)) > 1
    if predicted.dtype.kind == "f":
        assert np.allclose(predicted, np.array(answers, dtype=float), rtol=1e-6, atol=1e-6)
    else:
        assert [str(value) for value in predicted.tolist()] == answers


def test_there_is_a_file_of_every_name() -> None:
    kept = {path.name.removesuffix(".csv") for path in KEPT.iterdir()}
    assert kept == set(SMALL.values())


@pytest.mark.parametrize("name", [name for name in SMALL.values() if name.endswith(".pmml")])
def test_shares_that_jpmml_writes_as_counts_are_no_sizes(name: str) -> None:
    model = read(name)
    if "number" not in name:
        assert 'recordCount="1"' in (KEPT / name).read_text()
    assert all(cell.evidence.size is None and cell.evidence.counts is None for cell in model.cells)


def test_counts_of_one_are_sizes_where_the_tree_has_others() -> None:
    text = (KEPT / "sklearn2pmml.pmml").read_text()
    more = text.replace('recordCount="1"', 'recordCount="2"', 1)
    model = load_model(FileContent(path=Path("model.pmml"), data=more.encode()))
    assert isinstance(model, DecisionTree)
    assert {cell.evidence.size for cell in model.cells} >= {1}


def test_leaves_of_a_tree_that_was_pruned_with_other_records_have_no_sizes() -> None:
    assert all(cell.evidence.size is None for cell in read("j48_pruned_by_errors.txt").cells)
    assert sum(cell.evidence.size or 0 for cell in read("j48.txt").cells) == 600


def test_a_leaf_without_records_of_a_random_tree_is_refused() -> None:
    text = (KEPT / "j48.txt").read_text().replace("J48 pruned tree", "RandomTree")
    leaf = next(line for line in text.splitlines() if line.endswith(")") and ": c" in line and "|" in line)
    empty = text.replace(leaf, f"{leaf[: leaf.rindex('(')]}(0/0)")
    with pytest.raises(UnsupportedModelError, match=r"a leaf without records, \(0/0\), prints a class"):
        load_model(FileContent(path=Path("model.txt"), data=empty.encode()))
