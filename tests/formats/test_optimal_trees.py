"""Fitted trees of pystreed and pydl8.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from glassine.domain import Binary, Category, Domain, Integer
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats import as_model, tree_from_streed, tree_or_rules
from glassine.models import DecisionTree


def made() -> tuple[pd.DataFrame, npt.NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.integers(0, 50, 200), "town": rng.choice(list("abcd"), 200), "smoker": rng.integers(0, 2, 200)}
    )
    target = ((frame["age"] > 20) & (frame["town"] == "a") | (frame["smoker"] == 1)).to_numpy().astype(np.int64)
    return frame, target


FRAME, TARGET = made()
COLUMNS: dict[str, npt.NDArray[Any]] = {str(name): FRAME[name].to_numpy() for name in FRAME}


@pytest.mark.parametrize("kept", [None, 4])
def test_a_tree_of_pystreed_is_the_tree(kept: int | None) -> None:
    pystreed = pytest.importorskip("pystreed")
    fitted = pystreed.STreeDClassifier(max_depth=3, n_categories=3, max_num_binary_features=kept).fit(FRAME, TARGET)
    tree = as_model(fitted)
    assert isinstance(tree, DecisionTree)
    assert tree.predict(COLUMNS).tolist() == fitted.predict(FRAME).tolist()
    assert set(tree.attributes) == {"smoker", "town", "age"}
    where = tree.apply(COLUMNS)
    for i, cell in enumerate(tree.cells):
        assert cell.evidence.counts == tuple(int((TARGET[where == i] == c).sum()) for c in (0, 1))
    domain = Domain({"age": Integer(0, 50), "town": Category(tuple("abcd")), "smoker": Binary()})
    assert as_model(fitted, domain).apply(COLUMNS).tolist() == where.tolist()


@pytest.mark.parametrize("labels", [(3, 7), (False, True)])
def test_labels_of_pystreed_are_the_classes(labels: tuple[int, int]) -> None:
    pystreed = pytest.importorskip("pystreed")
    target = np.array(labels)[TARGET]
    fitted = pystreed.STreeDClassifier(max_depth=2, n_categories=3).fit(FRAME, target)
    tree = as_model(fitted)
    assert tree.classes == labels
    assert tree.predict(COLUMNS).tolist() == fitted.predict(FRAME).tolist()
    where = tree.apply(COLUMNS)
    for i, cell in enumerate(tree.cells):
        assert cell.evidence.counts == tuple(int((target[where == i] == c).sum()) for c in labels)


def test_bare_arrays_and_regressions_of_pystreed() -> None:
    pystreed = pytest.importorskip("pystreed")
    bits = np.column_stack([TARGET, FRAME["smoker"].to_numpy()])
    columns = {"x0": bits[:, 0], "x1": bits[:, 1]}
    classified = pystreed.STreeDClassifier(max_depth=2).fit(bits, TARGET)
    assert as_model(classified).predict(columns).tolist() == TARGET.tolist()
    valued = pystreed.STreeDRegressor(max_depth=2).fit(bits, 1.5 * bits[:, 0] + bits[:, 1])
    tree = as_model(valued, Domain({"a": Binary(), "b": Binary()}))
    found = tree.predict({"a": bits[:, 0], "b": bits[:, 1]}).astype(float)
    assert found == pytest.approx(1.5 * bits[:, 0] + bits[:, 1], abs=1e-6)
    assert all(cell.evidence.total is None for cell in tree.cells)
    numbers = FRAME[["age"]].to_numpy().astype(float)
    cut = pystreed.STreeDClassifier(max_depth=1).fit(numbers, TARGET)
    assert as_model(cut).predict({"x0": numbers[:, 0]}).tolist() == cut.predict(numbers).tolist()


def test_what_pystreed_cannot_give() -> None:
    pystreed = pytest.importorskip("pystreed")
    with pytest.raises(InvalidModelError, match="not fitted"):
        as_model(pystreed.STreeDClassifier())

    class BaseSTreeDSolver:
        """Of another task."""

    with pytest.raises(UnsupportedModelError, match="classifiers and regressors"):
        tree_from_streed(BaseSTreeDSolver())
    fitted = pystreed.STreeDClassifier(max_depth=1).fit(FRAME[["smoker"]], FRAME["smoker"])
    with pytest.raises(InvalidModelError, match="where missing values go"):
        as_model(fitted, Domain({"smoker": Binary(missing=True)}))
    with pytest.raises(InvalidModelError, match="domain lacks"):
        as_model(fitted, Domain({"other": Binary()}))


class DL85Classifier:
    """A fitted classifier as pydl8.5 leaves it: the left branch is that of the value 1."""

    def __init__(self, tree: Any, **stored: Any) -> None:
        self.tree_ = tree
        self.classes_ = np.array([0, 1])
        for name, value in stored.items():
            setattr(self, name, value)


TREE: dict[str, Any] = {
    "feat": 0,
    "left": {"feat": 2, "left": {"value": 1, "error": 3}, "right": {"value": 0, "error": 2}},
    "right": {"value": 0, "error": 3},
    "proba": [0.675, 0.325],
}


def test_a_tree_of_pydl85_is_the_tree() -> None:
    tree = tree_or_rules(as_model(DL85Classifier(TREE)))
    assert [str(cell) for cell in tree.cells] == ["x0 and x2", "x0 and not x2", "not x0"]
    assert [cell.evidence.label for cell in tree.cells] == [1, 0, 0]
    assert tree.attributes == ("x0", "x1", "x2")
    named = tree_or_rules(as_model(DL85Classifier(TREE), Domain({name: Binary() for name in "abcd"})))
    assert [str(cell) for cell in named.cells] == ["a and c", "a and not c", "not a"]


def test_shares_and_errors_of_pydl85_give_away_the_size() -> None:
    (cell,) = tree_or_rules(
        as_model(DL85Classifier({"value": 0, "error": 26, "proba": [0.675, 0.325]}, n_features_in_=4))
    ).cells
    assert cell.evidence.total == 80
    assert cell.evidence.error_rate == pytest.approx(0.325)
    (cell,) = tree_or_rules(
        as_model(DL85Classifier({"value": 1, "error": 0.0, "proba": [0.0, 1.0]}, n_features_in_=4))
    ).cells
    assert (cell.evidence.total, cell.evidence.error_rate) == (None, 0.0)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (None, "not fitted"),
        ({"feat": 9, "left": {"value": 0}, "right": {"value": 1}}, "feature 9"),
        ({"feat": "x", "left": {"value": 0}, "right": {"value": 1}}, "feature 'x'"),
        ({"feat": 0, "left": {"value": 0}}, "no dictionary"),
        ({"value": 7}, "none of the classes"),
    ],
)
def test_bad_trees_of_pydl85(tree: Any, message: str) -> None:
    with pytest.raises(InvalidModelError, match=message):
        as_model(DL85Classifier(tree, n_features_in_=4))
