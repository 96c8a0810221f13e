"""Trees as R's rpart and as C4.5 and J48 print them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings

from glassine.domain import Category, Domain, Integer
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.models import DecisionTree
from glassine.models.formats import load_model, tree_from_c45, tree_from_rpart
from tests.models.fuzzing import damaged, read_or_refused

FILES = Path(__file__).parent / "files"
RPART, J48 = (FILES / "rpart.txt").read_text(), (FILES / "j48.txt").read_text()
HEAD = "node), split, n, loss, yval, (yprob)\n"


def test_rpart_tells_the_class_counts_of_every_node() -> None:
    tree = load_model(FILES / "rpart.txt", Domain({"Age": Integer(1, 220), "Start": Integer(1, 18)}))
    assert isinstance(tree, DecisionTree)
    assert tree.classes == ("absent", "present")
    assert [str(cell) for cell in tree.cells] == [
        "Start > 8 and Start > 14",
        "Start > 8 and Start <= 14 and Age <= 54",
        "Start > 8 and Start <= 14 and Age > 54 and Age > 110",
        "Start > 8 and Start <= 14 and Age > 54 and Age <= 110",
        "Start <= 8",
    ]
    assert [cell.evidence.counts for cell in tree.cells] == [(29, 0), (12, 0), (12, 2), (3, 4), (8, 11)]
    assert tree.nodes[0].evidence.counts == (64, 17)


def test_rpart_of_a_regression_and_of_categories() -> None:
    tree = load_model(FILES / "rpart_regression.txt")
    assert [str(cell) for cell in tree.cells] == ["Price.type in {a, b, large one}", "Price.type = c"]
    assert [(c.evidence.total, c.evidence.value, c.evidence.error_rate) for c in tree.cells] == [
        (4, 9000.0, 0.0),
        (56, 13000.5, None),
    ]


def test_rpart_values_with_commas_are_those_of_the_domain() -> None:
    text = HEAD + "1) root 4 2 x (0.5 0.5)\n 2) place=a, b,c 2 0 x (1 0) *\n 3) place=d 2 0 y (0 1) *\n"
    domain = Domain({"place": Category(("a, b", "c", "d"))})
    assert [str(cell) for cell in tree_from_rpart(text, domain).cells] == ["place in {a, b, c}", "place = d"]
    with pytest.raises(InvalidModelError, match="not a value of 'place'"):
        tree_from_rpart(text, Domain({"place": Category(("c", "d"))}))


def test_rpart_figures_that_are_no_counts_tell_the_size_only() -> None:
    # With priors the shares are not those of the records.
    text = HEAD + "1) root 10 5 a (0.5 0.5)\n 2) x< 1 5 1.4 a (0.72 0.28) *\n 3) x>=1 5 0 b (0 1) *\n"
    tree = tree_from_rpart(text)
    assert [(c.evidence.counts, c.evidence.total) for c in tree.cells] == [(None, 5), ((0, 5), None)]
    assert tree.cells[0].evidence.weighted


def test_rpart_classes_with_blanks_and_numbers() -> None:
    text = HEAD + "1) root 9 4 not here (0.5555556 0.4444444)\n 2) x< 1 5 0 not here (1 0) *\n 3) x>=1 4 0 7 (0 1) *\n"
    assert tree_from_rpart(text).classes == ("not here", 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lacks the line"),
        (HEAD, "lacks its root"),
        (HEAD + "2) x< 1 5 0 a (1 0) *\n", "lacks its root"),
        (HEAD + "1) root 5 0 a (1 0)\n", "lacks a branch"),
        (HEAD + "1) root 5 0 a (1 0) *\n1) root 5 0 a (1 0) *\n", "two nodes 1"),
        (HEAD + "1) root five 0 a (1 0) *\n", "line 2"),
        (HEAD + "1) root 5 0 a *\n", "share of each class"),
        (HEAD + "1) root 5 0 a (1 0) *\n 2) x< 1 5 0 a (1 0) *\n", "stand apart"),
        (HEAD + "1) root 5 0 a (1 0)\n 2) x< 1 5 0 a (1 0) *\n 3) x>=2 0 0 a (1 0) *\n", "no opposites"),
        (HEAD + "1) root 5 0 a (1 0)\n 2) x=a 5 0 a (1 0) *\n 3) x=a 0 0 a (1 0) *\n", "share a value"),
        (HEAD + "1) root 5 0 a (1 0)\n 2) x is 5 0 a (1 0) *\n 3) y no 0 0 a (1 0) *\n", "cannot be read"),
        (HEAD.replace("loss", "deviance") + "1) root 5 0 many *\n", "no number"),
    ],
)
def test_bad_rpart_is_refused(text: str, message: str) -> None:
    with pytest.raises((InvalidModelError, UnsupportedModelError), match=message):
        tree_from_rpart(text)


def test_j48_tells_covered_records_and_errors() -> None:
    tree = load_model(FILES / "j48.txt")
    assert isinstance(tree, DecisionTree)
    assert tree.classes == ("no", "yes")
    assert [str(cell) for cell in tree.cells] == [
        "outlook = sunny and humidity <= 75",
        "outlook = sunny and humidity > 75",
        "outlook = overcast",
        "outlook = rainy and windy",
        "outlook = rainy and windy = False",
    ]
    assert [cell.evidence.counts for cell in tree.cells] == [(0, 2), (3, 0), (0, 4), (2, 0), (1, 2)]


def test_c45_of_fractions_and_estimates_tells_the_rate_only() -> None:
    text = "physician fee freeze = n: democrat (253.4/3.8)\nphysician fee freeze = y: republican (145.7/4)\n"
    cells = tree_from_c45(text).cells
    assert [cell.evidence.size for cell in cells] == [None, None]
    assert cells[0].evidence.error_rate == pytest.approx(3.8 / 253.4)


def test_three_classes_one_class_and_lists() -> None:
    text = "a in {x, y}: one (5/2)\na = z\n|   b <= 1.5: two (4)\n|   b > 1.5: three (3/1)\n"
    tree = tree_from_c45(text, Domain({"a": Category(("x", "y", "z")), "b": Integer(0, 9)}))
    assert tree.classes == ("one", "three", "two")
    assert [(c.evidence.total, c.evidence.error_rate) for c in tree.cells] == [(5, 0.4), (4, 0.0), (3, 1 / 3)]
    alone = tree_from_c45(": yes (14.0/5.0)\n")
    assert (alone.classes, alone.cells[0].evidence.counts) == (("yes", "not yes"), (9, 5))
    assert tree_from_c45(": 1 (14.0)\n").classes == (1,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least one line"),
        ("a <= 1: x (1)\n", "only branch"),
        ("a <= 1: x (1)\na > 2: y (1)\n", "no opposites"),
        ("a <= 1: x (1)\nb > 1: y (1)\n", "several attributes"),
        ("a = 1: x (1)\na = 1: y (1)\n", "do not belong together"),
        ("a = 1: x (1)\na <= 1: y (1)\n", "do not belong together"),
        ("a = 1: x (1/2)\na = 2: y (1)\n", "more errors"),
        ("a = 1: x (1)\n|   b = 2: y (1)\n", "below a leaf"),
        ("a = 1\n|   |   b = 2: y (1)\n", "indented 2 deep"),
        ("a = 1: x (1)\na = 2\n", "neither a class"),
        ("a = 1: x (1)\na = 2 [S1]\n", "printed apart"),
        ("a <= one: x (1)\na > one: y (1)\n", "not a finite number"),
        ("a: x (1)\nb: y (1)\n", "not a condition"),
    ],
)
def test_bad_c45_is_refused(text: str, message: str) -> None:
    with pytest.raises((InvalidModelError, UnsupportedModelError), match=message):
        tree_from_c45(text)


def test_attributes_that_can_be_missing_are_refused() -> None:
    gaps = Domain({"a": Integer(0, 3, missing=True)})
    with pytest.raises(InvalidModelError, match="where missing values go"):
        tree_from_c45("a <= 1: x (1)\na > 1: y (1)\n", gaps)
    with pytest.raises(InvalidModelError, match="where missing values go"):
        tree_from_rpart(HEAD + "1) root 2 1 x (0.5 0.5)\n2) a< 1 1 0 x (1 0) *\n3) a>=1 1 0 y (0 1) *\n", gaps)


@settings(max_examples=50)
@given(damaged(RPART))
def test_damaged_rpart_raises_only_our_errors(text: str) -> None:
    read_or_refused(lambda: tree_from_rpart(text))


@settings(max_examples=50)
@given(damaged(J48))
def test_damaged_j48_raises_only_our_errors(text: str) -> None:
    read_or_refused(lambda: tree_from_c45(text))


@pytest.mark.parametrize(
    "text", ["|" * 5000 + "a = 1", "a" * 50_000 + " " * 50_000 + ": x (1)", ":" * 60_000, "\n" * 300_000]
)
def test_long_lines_take_no_time(text: str) -> None:
    for read in (tree_from_c45, tree_from_rpart):
        start = time.process_time()
        with pytest.raises((InvalidModelError, UnsupportedModelError)):
            read(HEAD + text if read is tree_from_rpart else text)
        assert time.process_time() - start < 2
