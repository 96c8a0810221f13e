"""Printed models out of what they were pasted with: fences, prompts, and marks before each line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from glassine.errors import UnsupportedModelError
from glassine.formats import load_model
from glassine.models import DecisionTree

FILES = Path(__file__).parent / "files"
EXPORTED = "|--- age <= 40.50\n|   |--- class: no\n|--- age >  40.50\n|   |--- class: yes\n"
RULES = "IF age > 60 AND NOT smoker THEN high\nELSE low\n"
PRINTS = {
    "export_text": EXPORTED,
    "rules": RULES,
    **{name: (FILES / f"{name}.txt").read_text() for name in ("rpart", "c50", "ctree", "j48", "gettree")},
}


def marked(mark: str) -> Callable[[str], str]:
    return lambda text: "".join(f"{mark}{line}\n" for line in text.splitlines())


PASTES: dict[str, Callable[[str], str]] = {
    "a fence": lambda text: f"```\n{text}```\n",
    "a fence in prose": lambda text: f"Our tree:\n\n~~~text\n{text}~~~\n\nIt was fitted in 2020.\n",
    "the second fence": lambda text: f"```r\nprint(fit)\n```\n\n```\n{text}\n```\n",
    "knitr": marked("## "),
    "knitr with its code": lambda text: f"print(fit)\n\n{marked('## ')(text)}",
    "reprex": marked("#> "),
    "mail": marked("> "),
    "a fence of knitr": lambda text: f"```\n{marked('## ')(text)}```\n",
    "Windows": lambda text: f"```\n{text}```\n".replace("\n", "\r\n"),
}


@pytest.mark.parametrize("paste", PASTES)
@pytest.mark.parametrize("name", PRINTS)
def test_a_pasted_print_is_the_same_model(name: str, paste: str, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text(PRINTS[name])
    (tmp_path / "pasted").write_bytes(PASTES[paste](PRINTS[name]).encode())
    assert load_model(tmp_path / "pasted") == load_model(tmp_path / "plain")


@pytest.mark.parametrize("prompt", ["In[3]: print(text)\n", "In [3]:\n", ">>> print(text)\n", "$ cat tree.txt\n"])
def test_a_prompt_is_no_line_of_the_tree(prompt: str, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text(EXPORTED)
    (tmp_path / "pasted").write_text(prompt + EXPORTED.replace("   ", "\u00a0\u00a0 "))
    assert load_model(tmp_path / "pasted") == load_model(tmp_path / "plain")


def test_lines_keep_their_numbers_and_comments_their_meaning(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("Our rules:\n\n```\nIF age > 60 THEN high\nELSE IF age > 60,5 THEN low\n```\n")
    with pytest.raises(UnsupportedModelError, match="line 5"):
        load_model(tmp_path / "m")
    (tmp_path / "m").write_text(f"## IF age > 70 THEN highest\n{RULES}")
    (tmp_path / "plain").write_text(RULES)
    assert load_model(tmp_path / "m") == load_model(tmp_path / "plain")


@pytest.mark.parametrize("between", ["", "\n\n"])
@pytest.mark.parametrize("name", ["export_text", "rpart", "c50"])
def test_two_trees_in_one_text_are_not_read_as_one(name: str, between: str, tmp_path: Path) -> None:
    (tmp_path / "m").write_text(PRINTS[name] + between + PRINTS[name])
    with pytest.raises(UnsupportedModelError, match=r"Give the lines of one\."):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (EXPORTED.replace("age", ""), "names no attribute"),
        ("IF age between 40 and 60 THEN high\nELSE low\n", "its ends belong"),
        ("Decision tree:\n\nsex in {a, ...}: no (9)\nsex = b: yes (9)\n", r"cut short by '\.\.\.'"),
        ("Decision tree:\n\nage <= 39 (40.5): no (9)\nage >= 42 (40.5): yes (9)\n", "fuzzyThreshold = FALSE"),
        ("Decision tree:\n\nage = N/A: no (2)\nage <= 39: no (9)\nage > 39: yes (9)\n", "Leave N/A of 'age' out"),
        ("Decision tree:\n\njob = a: stage: one (2)\njob = b: stage: two (9)\n", "Print the confusion matrix"),
        ("IF age <= 40,5 THEN yes\nELSE no\n", r"Write 40\.5, with a decimal point"),
        (
            "Fitted party:\n[1] root\n|   [2] a <= 3: 2093.000 (n = 248)\n|   [3] a > 3: Inf (n = 1)\n",
            "time of survival",
        ),
    ],
)
def test_what_names_no_attribute_or_is_cut_is_no_condition(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "m").write_text(text)
    with pytest.raises(UnsupportedModelError, match=why):
        load_model(tmp_path / "m")


def test_words_of_the_notation_may_be_capitals_and_names_may_hold_them(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("IF sex IN {f, x} AND NOT old THEN a\nELSE IF Not applicable = yes THEN a\nELSE b\n")
    said = [str(cell) for cell in load_model(tmp_path / "m").cells]  # type: ignore[union-attr]
    assert said == ["sex in {f, x} and not old", "Not applicable = yes", "otherwise"]


def test_a_tree_of_c50_may_be_one_leaf(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("Decision tree:\n no (100/20)\n\n\nEvaluation on training data (100 cases):\n")
    (cell,) = load_model(tmp_path / "m").cells  # type: ignore[union-attr]
    assert cell.evidence.counts == (80, 20)


def test_a_class_may_hold_a_colon_where_the_confusion_matrix_lists_it(tmp_path: Path) -> None:
    lines = ["age <= 40: stage: one (60/5)", "age > 40:", ":...job = a: b: stage: two (20/2)", "    job = c: two (17)"]
    matrix = [
        "\t   (a)   (b)   (c)    <-classified as",
        *(f"    1  ({a}): class {c}" for a, c in zip("abc", ("stage: one", "stage: two", "two"), strict=True)),
    ]
    (tmp_path / "m").write_text(
        "\n".join(["Decision tree:", "", *lines, "", "", "Evaluation on training data (97 cases):", "", *matrix, ""])
    )
    model = load_model(tmp_path / "m")
    assert isinstance(model, DecisionTree)
    assert model.classes == ("stage: one", "stage: two", "two")
    found = [(str(cell), cell.evidence.label) for cell in model.cells]
    assert found[0] == ("age <= 40", 0)
    assert [label for _, label in found] == [0, 1, 2]
    assert "a: b" in found[1][0]
