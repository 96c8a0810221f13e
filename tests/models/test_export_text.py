"""The text of ``sklearn.tree.export_text``."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text

from glassine.domain import Domain, Integer, Real
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats import tree_from_export_text, tree_from_sklearn
from glassine.models import DecisionTree
from tests.models.fuzzing import damaged, read_or_refused
from tests.models.test_scikit import NAMES, make_data

FULL = Domain({name: Real(-9, 9) for name in NAMES})
ODD = ["age (years)", "a <= b", "|--- x", "class: z"]


def export(fitted: Any, **options: Any) -> str:
    return str(export_text(fitted, **({"feature_names": list(NAMES), "max_depth": 99, "decimals": 20} | options)))


def same_shape(read: DecisionTree, true: DecisionTree) -> None:
    assert [[b.child for b in node.branches] for node in read.nodes] == [
        [b.child for b in node.branches] for node in true.nodes
    ]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("spacing", [1, 3, 6])
def test_a_text_with_all_decimals_is_the_tree(classes: int, spacing: int) -> None:
    frame, target = make_data(classes=classes)
    fitted = DecisionTreeClassifier(max_depth=7, random_state=0).fit(frame, target)
    true = tree_from_sklearn(fitted, FULL)
    read = tree_from_export_text(export(fitted, show_weights=True, spacing=spacing))
    same_shape(read, true)
    assert read.literals == true.literals
    assert [c.evidence for c in read.cells] == [c.evidence for c in true.cells]
    assert read.classes == true.classes
    bare = tree_from_export_text(export(fitted, spacing=spacing))
    assert [c.evidence.label for c in bare.cells] == [c.evidence.label for c in true.cells]
    assert all(c.evidence.size is None for c in bare.cells)


def test_rounded_thresholds_are_as_printed() -> None:
    fitted = DecisionTreeClassifier(max_depth=1, random_state=0).fit(*make_data())
    literal = tree_from_export_text(export(fitted, decimals=2)).literals[0]
    assert str(literal).endswith(f"<= {round(float(fitted.tree_.threshold[0]), 2)}")


def test_odd_names() -> None:
    frame, target = make_data()
    fitted = DecisionTreeClassifier(max_depth=5, random_state=0).fit(frame.to_numpy(), target)
    read = tree_from_export_text(export(fitted, feature_names=ODD, class_names=["not ok <= 5", "y: z"]))
    same_shape(read, tree_from_sklearn(fitted))
    assert set(read.attributes) == {ODD[i] for i in fitted.tree_.feature if i >= 0}
    assert read.classes == ("not ok <= 5", "y: z")


def test_made_up_names_are_those_of_the_domain() -> None:
    frame, target = make_data()
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame.to_numpy(), target)
    domain = Domain({name: Real(-9, 9) for name in NAMES})
    text = export(fitted, feature_names=None)
    assert tree_from_export_text(text, domain).literals == tree_from_sklearn(fitted, domain).literals
    with pytest.raises(InvalidModelError, match="the domain has 1 attributes"):
        tree_from_export_text(text, domain.restrict(["age"]))
    with pytest.raises(InvalidModelError, match="which the domain lacks"):
        tree_from_export_text(export(fitted), Domain({"other": Real(0, 1)}))


def test_regression() -> None:
    frame, target = make_data()
    fitted = DecisionTreeRegressor(max_depth=4, random_state=0).fit(frame, target * 1.5)
    read = tree_from_export_text(export(fitted))
    assert read.classes is None
    expected = [c.evidence.value for c in tree_from_sklearn(fitted).cells]
    assert [c.evidence.value for c in read.cells] == pytest.approx(expected)


def test_weights_that_are_not_whole_are_no_counts() -> None:
    fitted = DecisionTreeClassifier(max_depth=3, class_weight={0: 1.3}, random_state=0).fit(*make_data())
    read = tree_from_export_text(export(fitted, show_weights=True, decimals=3))
    assert all(cell.evidence.counts is None for cell in read.cells)


def test_a_single_leaf() -> None:
    read = tree_from_export_text("|--- weights: [3.00, 1.00] class: 0\n")
    assert len(read.cells) == 1
    assert read.cells[0].evidence.counts == (3, 1)


def test_a_class_that_no_leaf_predicts_gets_a_name() -> None:
    left = "|--- a <= 1.00\n|   |--- weights: [3.00, 1.00, 0.00] class: x\n"
    text = left + "|--- a >  1.00\n|   |--- weights: [0.00, 1.00, 3.00] class: z\n"
    assert tree_from_export_text(text).classes == ("x", "class 1", "z")


def test_truncated_branches_are_refused() -> None:
    fitted = DecisionTreeClassifier(random_state=0).fit(*make_data())
    with pytest.raises(UnsupportedModelError, match="larger max_depth"):
        tree_from_export_text(export(fitted, max_depth=2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least one line"),
        ("hello", "does not start"),
        ("|--- class: 0\n|--- class: 1\n", "complete before"),
        ("|--- a <= 1.0\n|   |--- class: 0\n", "inside a branch"),
        ("|--- a <= 1.0\n|   |--- class: 0\n|--- b >  1.0\n|   |--- class: 0\n", "'a >  1.0' is expected"),
        ("|--- a <= nan\n|   |--- class: 0\n|--- a >  nan\n|   |--- class: 0\n", "is not a number"),
        ("|--- a <= inf\n|   |--- class: 0\n|--- a >  inf\n|   |--- class: 0\n", "must be a finite number"),
        ("|--- a <= 1.0\n|   |   |--- class: 0\n", "neither a condition"),
        ("|--- value: [1.0, 2.0]\n", "one value"),
        ("|--- a <= 1\n|   |--- value: [1.0]\n|--- a >  1\n|   |--- class: 0\n", "leaves with classes and"),
        (
            "|--- a <= 1\n|   |--- weights: [1, 2] class: 0\n|--- a >  1\n|   |--- weights: [1, 2] class: 1\n",
            "not that of the largest",
        ),
    ],
)
def test_bad_texts(text: str, message: str) -> None:
    with pytest.raises((UnsupportedModelError, InvalidModelError), match=message):
        tree_from_export_text(text)


def test_an_attribute_that_can_be_missing_is_refused() -> None:
    text = "|--- a <= 1.0\n|   |--- class: 0\n|--- a >  1.0\n|   |--- class: 1\n"
    with pytest.raises(InvalidModelError, match="where missing values go"):
        tree_from_export_text(text, Domain({"a": Integer(0, 3, missing=True)}))


TEXT = export(DecisionTreeClassifier(max_depth=3, random_state=0).fit(*make_data(n=60)), show_weights=True, decimals=2)


@given(damaged(TEXT))
def test_damaged_text_raises_only_our_errors(text: str) -> None:
    read_or_refused(lambda: tree_from_export_text(text))


@pytest.mark.slow
def test_a_very_deep_tree() -> None:
    depth = 3000
    down = "".join(f"{'|   ' * i}|--- x <= {depth - i}.5\n" for i in range(depth))
    up = "".join(
        f"{'|   ' * i}|--- x >  {depth - i}.5\n{'|   ' * (i + 1)}|--- class: 1\n" for i in reversed(range(depth))
    )
    read = tree_from_export_text(f"{down}{'|   ' * depth}|--- class: 0\n{up}")
    assert len(read.cells) == depth + 1
    assert read.depth == depth


def test_weights_without_decimals_may_be_rounded() -> None:
    x, y = make_data(2)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, y, sample_weight=[1.4] * len(y))
    whole = export_text(tree, show_weights=True, decimals=0)
    assert tree_from_export_text(whole).approximate
    plain = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, y)
    assert not tree_from_export_text(export_text(plain, show_weights=True)).approximate
