"""Trees as R and as C4.5, C5.0 and Weka print them."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from glassine.domain import Category, Domain, Integer, OneOf
from glassine.errors import InvalidDataError, InvalidModelError, UnsupportedModelError
from glassine.formats import load_model, tree_from_c45, tree_from_rpart
from glassine.formats.printed.randomforest import tree_from_randomforest
from glassine.models import Branch, DecisionTree, Evidence, Node
from tests.formats.reading import read_cells
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
    tree = read_cells(FILES / "rpart_regression.txt")
    assert [str(cell) for cell in tree.cells] == ["Price.type in {a, b, large one}", "Price.type = c"]
    assert [(c.evidence.total, c.evidence.value, c.evidence.error_rate) for c in tree.cells] == [
        (4, 9000.0, 0.0),
        (56, 13000.5, None),
    ]


SURVIVAL = """\
1) root 228 307.928100 1.0000000
2) ph.ecog< 1.5 177 226.199100 0.8672487
4) sex>=1.5 69  79.663710 0.6067812 *
5) sex< 1.5 108 137.162900 1.0783590 *
3) ph.ecog>=1.5 51  68.457430 1.6740470
6) age>=62.5 33  52.275960 1.3375730
12) age< 69.5 11   7.426056 0.8303355 *
13) age>=69.5 22  39.570560 1.9211110
26) sex>=1.5 11  10.847360 0.9643523 *
27) sex< 1.5 11  13.704450 4.6253700 *
7) age< 62.5 18  11.235080 2.5182650 *
"""
SURVIVAL_OF_ONE_SPLIT = """\
1) root 228 307.92810 1.0000000
2) ph.ecog< 1.5 177 226.19910 0.8672487 *
3) ph.ecog>=1.5 51  68.45743 1.6740470 *
"""
COUNTED_EVENTS = """\
1) root 720 6855.6900  4.965278
2) Opening=L,M 480 1803.1630  1.912500
4) Mask=A1.5,A3,B3 360  718.0670  1.036111 *
5) Mask=B6 120  599.6246  4.541667 *
3) Opening=S 240 2543.1740 11.070830
6) Mask=A1.5,A3 120  596.4945  4.550000 *
7) Mask=B3,B6 120  962.4160 17.591670
14) Solder=Thick 60  256.9234 10.416670 *
15) Solder=Thin 60  343.8734 24.766670 *
"""
WEIGHTED = """\
1) root 60 1673113000 12619.130
2) Weight< 2980 36  487710600 10513.370
4) Weight< 2462.5 13   42293650  7963.967 *
5) Weight>=2462.5 23  186000000 12070.710
10) Disp.>=128.5 15   42610550 11620.600 *
11) Disp.< 128.5 8  126158000 13014.530 *
3) Weight>=2980 24  439223700 15936.620
6) Disp.>=180.5 14   94706020 14553.920 *
7) Disp.< 180.5 10  232807700 17884.620 *
"""
WEIGHTED_SHORTLY = """\
1) root 60 1.67e+09 12600
2) Weight< 2.98e+03 36 4.88e+08 10500
4) Weight< 2.46e+03 13 4.23e+07  7960 *
5) Weight>=2.46e+03 23 1.86e+08 12100
10) Disp.>=128 15 4.26e+07 11600 *
11) Disp.< 128 8 1.26e+08 13000 *
3) Weight>=2.98e+03 24 4.39e+08 15900
6) Disp.>=180 14 9.47e+07 14600 *
7) Disp.< 180 10 2.33e+08 17900 *
"""
OF_RECORDS = """\
1) root 5000 11220.150  0.7400600
2) a< -0.06967717 2255  3555.915 -0.1510865 *
3) a>=-0.06967717 2745  4402.318  1.4721310 *
"""
"""Trees of lung, solder.balance and car.test.frame of rpart, with weights or a few digits, and of random records."""


@pytest.mark.parametrize("lines", [SURVIVAL, SURVIVAL_OF_ONE_SPLIT, COUNTED_EVENTS, "1) root 228 307.9281 1 *\n"])
def test_rpart_of_events_is_no_regression(lines: str) -> None:
    with pytest.raises(UnsupportedModelError, match="no sums of squares"):
        tree_from_rpart(HEAD.replace("loss", "deviance").replace(", (yprob)", "") + lines)


@pytest.mark.parametrize("lines", [WEIGHTED, WEIGHTED_SHORTLY, OF_RECORDS])
def test_rpart_of_weighted_and_plain_means_is_a_regression(lines: str) -> None:
    tree = tree_from_rpart(HEAD.replace("loss", "deviance").replace(", (yprob)", "") + lines)
    assert len(tree.cells) == lines.count("*")
    assert tree.classes is None


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
        (HEAD + "1) root 5 0 a *\n", "shares of classes"),
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
        "outlook = rainy and windy = True",
        "outlook = rainy and windy = False",
    ]
    assert [cell.evidence.counts for cell in tree.cells] == [(0, 2), (3, 0), (0, 4), (2, 0), None]
    # An error may be of a class that no leaf predicts.
    assert tree.cells[4].evidence.size == 3


def test_c45_of_fractions_and_estimates_tells_the_rate_only() -> None:
    text = "physician fee freeze = n: democrat (253.4/3.8)\nphysician fee freeze = y: republican (145.7/4)\n"
    cells = tree_from_c45(text).cells
    assert [cell.evidence.size for cell in cells] == [None, None]
    assert cells[0].evidence.error_rate == pytest.approx(3.8 / 253.4)


def test_three_classes_one_class_and_lists() -> None:
    text = "a in {x, y}: one (5/2)\na = z\n|   b <= 1.5: two (4)\n|   b > 1.5: three (3/1)\n"
    tree = tree_from_c45(text, Domain({"a": Category(("x", "y", "z")), "b": Integer(0, 9)}))
    assert tree.classes == ("one", "three", "two")
    assert [(c.evidence.size, c.evidence.error_rate) for c in tree.cells] == [(5, 0.4), (4, None), (3, 1 / 3)]
    assert tree.cells[1].evidence.counts == (0, 0, 4)
    alone = tree_from_c45(": yes (14.0/5.0)\n")
    assert (alone.classes, alone.cells[0].evidence.counts) == (("yes", "not yes"), (9, 5))
    assert tree_from_c45(": 1 (14.0)\n").classes == (1,)


def test_what_weka_prints_around_a_tree_is_left_out() -> None:
    pasted = load_model(FILES / "j48_pasted.txt")
    assert isinstance(pasted, DecisionTree)
    bare = (FILES / "j48_pasted.txt").read_text().split("------------------\n\n")[1].split("\n\nNumber")[0]
    assert [cell.inside for cell in pasted.cells] == [cell.inside for cell in tree_from_c45(bare).cells]
    assert pasted.classes == ("yes", "no")
    assert [cell.evidence.counts for cell in pasted.cells] == [(2, 0), (0, 3), (4, 0), (0, 2), (3, 0)]


MATRIX = "\n\n\t   (a)   (b)   (c)    <-classified as\n\t  ----  ----  ----\n\t    17     2          (a): class mild\n"
ROWS = "\t     1    14          (b): class none\n\t     4     2          (c): class severe\n"


def test_classes_are_those_of_the_confusion_matrix() -> None:
    text = "age <= 40: mild (22/5)\nage > 40: none (18/4)\n"
    three = tree_from_c45(text + "\nEvaluation on training data (40 cases):" + MATRIX + ROWS)
    assert three.classes == ("mild", "none", "severe")
    assert [cell.evidence.counts for cell in three.cells] == [None, None]
    assert three.cells[0].evidence.error_rate == 5 / 22
    two = " a  b   <-- classified as\n 17 5 |  a = none\n 4 14 |  b = mild\n"
    certain = tree_from_c45(f"{text}\n=== Confusion Matrix ===\n\n{two}")
    assert certain.classes == ("none", "mild")
    assert [cell.evidence.counts for cell in certain.cells] == [(5, 17), (14, 4)]
    # Without a matrix, or with half of one, a third class may exist.
    for part in (text, text + "\nEvaluation on training data (40 cases):" + MATRIX):
        assert [cell.evidence.counts for cell in tree_from_c45(part).cells] == [None, None]
    with pytest.raises(InvalidModelError, match="confusion matrix does not list"):
        tree_from_c45(f"{text.replace('none', 'odd')}\n=== Confusion Matrix ===\n\n{two}")


def test_attributes_that_are_named_like_a_tail_are_attributes() -> None:
    text = "Time = 1: x (1)\nTime = 2: y (1)\nTime = 3: y (2)\nTime: 0.0 secs\n"
    assert [str(cell) for cell in tree_from_c45(text).cells] == ["Time = 1", "Time = 2", "Time = 3"]
    steps = "a = 1:\n:...Time <= 3: x (1)\n:   Time > 3: y (1)\na = 2: x (5)\n\nTime: 0.0 secs\n"
    assert len(tree_from_c45(steps).cells) == 3


def test_c50_is_indented_by_steps() -> None:
    tree = read_cells(FILES / "c50.txt")
    assert [str(cell) for cell in tree.cells] == [
        "TSH <= 6",
        "TSH > 6 and FTI <= 65.1 and thyroid surgery = t and FTI <= 36.1",
        "TSH > 6 and FTI <= 65.1 and thyroid surgery = t and FTI > 36.1",
        "TSH > 6 and FTI <= 65.1 and thyroid surgery = f and TT4 <= 61",
        "TSH > 6 and FTI <= 65.1 and thyroid surgery = f and TT4 > 61",
        "TSH > 6 and FTI > 65.1",
    ]
    assert (tree.cells[0].evidence.total, tree.cells[0].evidence.error_rate) == (2472, 2 / 2472)
    assert tree.cells[3].evidence.size is None


def test_c45_with_all_that_it_prints() -> None:
    tree = read_cells(FILES / "c45.txt")
    assert tree.classes == ("Don't Play", "Play")
    assert tree.cells[1].evidence.counts == (0, 2)


def test_ctree_prints_shares_of_errors() -> None:
    tree = read_cells(FILES / "ctree.txt")
    assert [str(cell) for cell in tree.cells] == [
        "Petal.Width <= 0.6",
        "Petal.Width > 0.6 and Petal.Width <= 1.7",
        "Petal.Width > 0.6 and Petal.Width > 1.7",
    ]
    assert [(c.evidence.size, c.evidence.error_rate) for c in tree.cells] == [(50, None), (54, 5 / 54), (46, 1 / 46)]
    two = "Fitted party:\n[1] root\n|   [2] job in a, b c: no (n = 50, err = 4.0%)\n"
    listed = tree_from_c45(two + "|   [3] job in d: yes (n = 4600, err = 2.2%)\n")
    assert str(listed.cells[0]) == "job in {a, b c}"
    assert (listed.cells[0].evidence.size, listed.cells[0].evidence.counts) == (50, None)
    # One digit of a percent of 4600 records leaves several numbers of errors.
    assert (listed.cells[1].evidence.size, listed.cells[1].evidence.error_rate) == (None, None)
    alone = tree_from_c45("Fitted party:\n[1] root: yes (n = 50, err = 14.0%)\n")
    assert alone.cells[0].evidence.counts == (43, 7)


def test_the_records_that_reptree_prunes_with_are_not_mixed_with_the_others() -> None:
    tree = tree_from_c45(
        "REPTree\n=======\n\na < 4 : no (10/2) [5/1]\na >= 4 : yes (12/0) [6/2]\n\nSize of the tree : 3\n"
    )
    assert [cell.evidence.label for cell in tree.cells] == [0, 1]
    assert all(cell.evidence.size is None for cell in tree.cells)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PART decision list\n----\n\na <= 1: x (1)\n\n: y (2)\n", "rules and stumps of Weka"),
        ("JRIP rules:\n====\n\n(a >= 80) => b=no (3.0/0.0)\n", "rules and stumps of Weka"),
        ("RandomTree\n===\n\na < 1 : 22.5 (12/3.1)\na >= 1 : 3.25 (2/0)\n", "printed regression trees"),
        ("Decision tree:\n\na = 1: x (1)\na = 2: y (1)\n\nDecision tree:\n\n: x (1)\n", "holds 2 printed trees"),
        ("Fitted party:\n[1] root\n|   [2] x <= 1: 3 (w = 5.5, err = 14.2)\n", "weighted trees are not read"),
        ("Fitted party:\n[1] root\n|   x <= 1: 3 (n = 5, err = 14.2%)\n", "number of a node"),
    ],
)
def test_other_prints_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "tree.txt"
    path.write_text(text)
    with pytest.raises((InvalidModelError, UnsupportedModelError), match=message):
        load_model(path)


def test_r_package_tree() -> None:
    text = (FILES / "r_tree.txt").read_text()
    tree = read_cells(FILES / "r_tree.txt")
    assert [str(cell) for cell in tree.cells] == [
        f"Petal.Length <= {math.nextafter(2.45, 0)}",
        f"Petal.Length > {math.nextafter(2.45, 0)}",
    ]
    assert [cell.evidence.counts for cell in tree.cells] == [(50, 0, 0), (0, 50, 50)]
    for shares in ("-0.5 1.0 0.5", "-1 1 0"):
        with pytest.raises(InvalidModelError, match="negative share"):
            tree_from_rpart(text.replace("0.00000 0.50000 0.50000", shares))
    # A deviance of other counts: the figures are weighted.
    weighted = tree_from_rpart(text.replace("138.600", "150.000"))
    assert weighted.cells[1].evidence.counts is None
    assert weighted.cells[1].evidence.total == 100


@pytest.mark.parametrize(
    "start", ["Classification tree:\nrpart(formula = y ~ x)\n", "Call:\nrpart(formula = y ~ x)\n n= 8\n"]
)
def test_what_else_r_tells_of_rpart_is_refused_with_the_remedy(tmp_path: Path, start: str) -> None:
    path = tmp_path / "tree.txt"
    path.write_text(start)
    with pytest.raises(UnsupportedModelError, match=r"summary and printcp.*print\(fit\)"):
        load_model(path)


def test_answers_behind_the_prompt_are_left_out() -> None:
    text = (FILES / "rpart.txt").read_text()
    assert tree_from_rpart(text + "> printcp(fit)\n\nClassification tree:\n1) nonsense\n") == tree_from_rpart(text)


def test_get_tree_of_random_forest() -> None:
    tree = read_cells(FILES / "gettree.txt")
    assert [str(cell) for cell in tree.cells] == [
        "Petal.Length <= 2.6",
        "Petal.Length > 2.6 and Petal.Width <= 1.65",
        "Petal.Length > 2.6 and Petal.Width > 1.65",
    ]
    assert [cell.evidence.label for cell in tree.cells] == [0, 1, 2]
    head = "  left daughter right daughter split var split point status prediction\n"
    regression = tree_from_randomforest(head + "1 2 3 Wind 5.1 -3 42.1\n2 0 0 <NA> 0 -1 96.5\n3 0 0 <NA> 0 -1 3\n")
    assert [cell.evidence.value for cell in regression.cells] == [96.5, 3.0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "no rows"),
        ("1 2 3 4 5.1 1 <NA>\n2 0 0 0 0 -1 a\n3 0 0 0 0 -1 b\n", "labelVar"),
        ("1 2 3 a 5.1 1\n", "row of getTree"),
        ("1 2 3 a 5.1 1 <NA>\n2 0 0 <NA> 0 -1 x\n", "node 3"),
        ("1 2 3 c 5.1 1 <NA>\n2 0 0 <NA> 0 -1 x\n3 0 0 <NA> 0 -1 y\n", "is a category"),
        ("1 2 3 m 5.1 1 <NA>\n2 0 0 <NA> 0 -1 x\n3 0 0 <NA> 0 -1 y\n", "where missing values go"),
    ],
)
def test_bad_tables_are_refused(rows: str, message: str) -> None:
    head = "left daughter right daughter split var split point status prediction\n"
    domain = Domain({"a": Integer(0, 9), "c": Category(("x", "y")), "m": Integer(0, 9, missing=True)})
    with pytest.raises((InvalidModelError, UnsupportedModelError), match=message):
        tree_from_randomforest(head + rows, domain)


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
        ("a <= one: x (1)\na > one: y (1)\n", "whose order is not known"),
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


def test_where_gaps_are_not_told_the_ways_out_are_those_that_there_are() -> None:
    gaps = Domain({"a": Integer(0, 3, missing=True)})
    complete = 'if it was fitted on complete records, drop "missing" from the domain'
    with pytest.raises(InvalidModelError, match="From R, save it as PMML") as caught:
        tree_from_rpart(
            f"{HEAD}1) root 9 3 n (0.6666667 0.3333333)\n2) a< 2 5 0 n (1 0) *\n3) a>=2 4 1 y (0.25 0.75) *", gaps
        )
    assert complete in str(caught.value)
    with pytest.raises(InvalidModelError, match="where missing values go") as caught:
        tree_from_c45("a <= 1: n (5.0)\na > 1: y (4.0)\n", gaps)
    assert "estimator" not in str(caught.value)
    assert complete.capitalize()[:40] in str(caught.value)


def test_a_gap_that_meets_no_branch_is_told_without_its_value() -> None:
    tree = load_model(FILES / "rpart.txt")
    assert isinstance(tree, DecisionTree)
    columns = {"Age": np.array([10.0, 10.0]), "Start": np.array([5.0, np.nan])}
    with pytest.raises(InvalidDataError, match=r"Declare it: missing = true.* Or leave these records out") as caught:
        tree.apply(columns)
    assert "1 record satisfies no branch on 'Start': a value is missing there" in str(caught.value)
    assert "nan" not in str(caught.value)
    lone = {"Age": np.array([1.5, 1.5]), "Colour": np.array(["mauve", "mauve"], dtype=object)}
    odd = DecisionTree(
        (
            Node(branches=(Branch(OneOf("Colour", ("red",)), 1), Branch(OneOf("Colour", ("blue",)), 2))),
            *(Node(evidence=Evidence(label=i)) for i in (0, 1)),
        ),
        ("Age", "Colour"),
        (0, 1),
    )
    with pytest.raises(
        InvalidDataError, match="2 records satisfy no branch on 'Colour': the model does not know"
    ) as caught:
        odd.apply(lone)
    assert "mauve" not in str(caught.value)


def test_a_column_of_get_dummies_is_recognized() -> None:
    text = "smoker_yes <= 0.5: n (5.0)\nsmoker_yes > 0.5: y (4.0)\n"
    domain = Domain({"smoker": Category(("no", "yes")), "age": Integer(0, 9)})
    with pytest.raises(
        InvalidModelError, match=r"'smoker_yes', which the domain lacks: a column made by get_dummies\?"
    ):
        tree_from_c45(text, domain)
    with pytest.raises(InvalidModelError, match=r"which the domain lacks\. Did you mean 'smoker'"):
        tree_from_c45(text.replace("_yes", "_si"), domain)


ORDERED = "Decision tree:\n\nstage in [early-middle]: no (30/3)\nstage = late: yes (12/2)\n"


def test_levels_of_an_ordered_factor() -> None:
    domain = Domain({"stage": Category(("early", "mid-early", "middle", "late"))})
    assert str(tree_from_c45(ORDERED, domain).cells[0]) == "stage in {early, mid-early, middle}"
    # Names with hyphens are told apart by the domain.
    assert tree_from_c45(ORDERED.replace("early-", "mid-early-"), domain).literals[0].values == ("mid-early", "middle")  # type: ignore[union-attr]
    # Levels may lie between the two that are printed.
    with pytest.raises(UnsupportedModelError, match="Give a domain with the levels of 'stage' in order"):
        tree_from_c45(ORDERED)
    with pytest.raises(InvalidModelError, match="List the levels"):
        tree_from_c45(ORDERED.replace("early-middle", "middle-early"), domain)


def test_levels_of_an_ordered_factor_of_partykit() -> None:
    text = (
        "Fitted party:\n[1] root\n|   [2] stage {}: no (n = 30, err = 0.0%)\n"
        "|   [3] stage {}: yes (n = 12, err = 0.0%)\n"
    )
    domain = Domain({"stage": Category(("early", "middle", "late"))})
    for pair in (("<= middle", "> middle"), ("< late", ">= late")):
        tree = tree_from_c45(text.format(*pair), domain)
        assert [str(cell) for cell in tree.cells] == ["stage in {early, middle}", "stage = late"]
    with pytest.raises(UnsupportedModelError, match="Give a domain with the levels of 'stage' in order"):
        tree_from_c45(text.format("<= middle", "> middle"))
    with pytest.raises(UnsupportedModelError, match="'mid', whose order"):
        tree_from_c45(text.format("<= mid", "> mid"), domain)


def test_a_regression_of_partykit() -> None:
    text = (
        "Fitted party:\n[1] root\n|   [2] Temp <= 82: 26.544 (n = 79, err = 42531.6)\n"
        "|   [3] Temp > 82: -5.5 (n = 7, err = 0.0)\n\nNumber of inner nodes:    1\nNumber of terminal nodes: 2\n"
    )
    tree = tree_from_c45(text)
    assert tree.classes is None
    assert [(cell.evidence.value, cell.evidence.size) for cell in tree.cells] == [(26.544, 79), (-5.5, 7)]
    assert [cell.evidence.error_rate for cell in tree.cells] == [None, 0.0]
