"""Graphs of export_graphviz say what the tree says."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_graphviz

from glassine.domain import Domain, Integer, Real
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats import as_model
from glassine.formats.printed.dot import is_dot_text, tree_from_dot
from glassine.models import DecisionTree
from tests.formats.reading import read_cells
from tests.models.fuzzing import damaged, read_or_refused

FILES = Path(__file__).parent / "files"
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.integers(18, 90, 60), RNG.normal(size=60).round(2)]).astype(np.float32).astype(float)
Y = np.where(X[:, 0] > 50, 'sick <bad> & "x"', "well: fine").astype(object)
Y[:6] = "a\\nb = c"
FITTED = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
TRUTH = as_model(FITTED)
NAMES = [["a", "b"], ["age in years <= 3", 'größe "q" & <b>'], ["node #3", "gini = 4"]]


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("classes", [None, True, ["A", "B <= 2", "C = 3"]])
def test_every_way_to_export_says_the_same(names: list[str], classes: Any) -> None:
    for special, rounded, ids, impurity, proportion in itertools.product([False, True], repeat=5):
        text = export_graphviz(
            FITTED,
            feature_names=names,
            class_names=classes,
            precision=17,
            special_characters=special,
            rounded=rounded,
            filled=rounded,
            node_ids=ids,
            impurity=impurity,
            proportion=proportion,
        )
        tree = tree_from_dot(text)
        assert set(tree.attributes) <= set(names)
        columns = {name: X[:, i] for i, name in enumerate(names)}
        assert tree.apply(columns).tolist() == TRUTH.apply({"x0": X[:, 0], "x1": X[:, 1]}).tolist()
        assert [c.evidence.prediction for c in tree.cells] == [c.evidence.prediction for c in TRUTH.cells]
        counts = [None if proportion else cell.evidence.counts for cell in TRUTH.cells]
        assert [cell.evidence.counts for cell in tree.cells] == counts


def test_files() -> None:
    domain = Domain({"age": Integer(18, 90), "dose": Real(-9, 9)})
    plain, marked = (read_cells(FILES / name, domain) for name in ("tree.dot", "tree_marked.dot"))
    assert [cell.evidence for cell in plain.cells] == [cell.evidence for cell in marked.cells]
    assert plain.classes == ("well", "ill")
    assert isinstance(plain, DecisionTree)
    assert plain.n_records == 120


def test_a_regression_and_weights() -> None:
    fitted = DecisionTreeRegressor(max_depth=2).fit(X, X[:, 1])
    tree = tree_from_dot(export_graphviz(fitted))
    assert tree.classes is None
    assert [cell.evidence.total for cell in tree.cells] == [
        int(fitted.tree_.n_node_samples[cell.node]) for cell in as_model(fitted).cells
    ]
    weighted = DecisionTreeClassifier(max_depth=2, class_weight="balanced").fit(X, Y)
    told = tree_from_dot(export_graphviz(weighted))
    assert all(cell.evidence.counts is None and cell.evidence.weighted for cell in told.cells)


def test_what_hides_a_part_of_the_tree_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="label='all'"):
        tree_from_dot(export_graphviz(FITTED, label="none"))
    with pytest.raises(UnsupportedModelError, match="cannot be read"):
        tree_from_dot(export_graphviz(FITTED, max_depth=1))
    with pytest.raises(UnsupportedModelError, match="no node"):
        tree_from_dot("digraph Tree {\n}\n")
    with pytest.raises(InvalidModelError, match="branches"):
        tree_from_dot("\n".join(line for line in TEXT.splitlines() if "0 -> 1" not in line))
    gaps = Domain({"age": Integer(18, 90, missing=True), "dose": Real(-9, 9)})
    with pytest.raises(InvalidModelError, match="where missing values go"):
        tree_from_dot(TEXT, gaps)
    assert not is_dot_text("graph {")


TEXT = (FILES / "tree.dot").read_text()


@pytest.mark.parametrize("reference", [f"&#{'9' * 5000};", f"&#x{'f' * 5000};", f"&#{'0' * 5000}1"])
def test_a_character_of_thousands_of_digits_is_refused(reference: str) -> None:
    text = (FILES / "tree_marked.dot").read_text().replace("&le;", reference, 1)
    with pytest.raises(InvalidModelError, match="names no character"):
        tree_from_dot(text)


@settings(max_examples=60)
@given(st.sampled_from(["tree.dot", "tree_marked.dot"]), st.data())
def test_damaged_graphs_raise_only_our_errors(name: str, data: st.DataObject) -> None:
    text = data.draw(damaged((FILES / name).read_text()))
    read_or_refused(lambda: tree_from_dot(text))
