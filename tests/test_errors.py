"""Errors say what happened, which parameter is at fault, and what to do; each is an attribute."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import glassine
from glassine import Binary, Domain, Integer
from glassine.attacks.outcome import NotApplicable
from glassine.auditing.findings.root import plain_value
from glassine.domain import Between
from glassine.errors import (
    GlassineError,
    InvalidDataError,
    LedgerError,
    Text,
    UnreadableFileError,
    marked,
    parameter,
    spoken_by,
    worded,
)
from glassine.files import write_text
from glassine.models import Branch, DecisionTree, Evidence, Node

DOMAIN = Domain({"age": Integer(18, 99, thresholds=(40,)), "smoker": Binary()})
FRAME = pl.DataFrame({"age": [20, 50, 60], "smoker": [0, 1, 1]})
TREE = DecisionTree(
    nodes=(
        Node(branches=(Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2))),
        Node(evidence=Evidence(counts=(1, 3))),
        Node(evidence=Evidence(counts=(4, 0))),
    ),
    attributes=("age",),
    classes=(0, 1),
)
FAULTS: dict[str, tuple[Callable[[], object], str]] = {
    "a depth": (lambda: glassine.learners.OptimalTreeClassifier(-1, domain=DOMAIN).fit(FRAME, [0, 1, 1]), "max_depth"),
    "a budget": (
        lambda: glassine.learners.PrivateTreeClassifier(2, epsilon=-1.0, domain=DOMAIN, classes=(0, 1)).fit(
            FRAME, [0, 1, 1]
        ),
        "epsilon",
    ),
    "a split": (lambda: glassine.comparison.Task(n_splits=0), "n_splits"),
    "a policy": (lambda: glassine.Policy(smallest_leaf=-1), "smallest_leaf"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_error_names_the_parameter_at_fault(fault: str) -> None:
    call, name = FAULTS[fault]
    with pytest.raises(GlassineError) as raised:
        call()
    assert raised.value.parameter == name
    assert str(raised.value).startswith(name)
    assert worded(raised.value.text, {name: "--here"}).startswith("--here")


def test_what_to_do_is_an_attribute_and_the_end_of_the_message() -> None:
    with pytest.raises(InvalidDataError) as raised:
        TREE.predict(FRAME.drop("age"))
    assert raised.value.remedy == "Add or rename it."
    assert str(raised.value) == "data lack the column 'age', which the model tests. Add or rename it."
    assert raised.value.message == "data lack the column 'age', which the model tests."


def test_errors_with_attributes_of_their_own_have_these_too() -> None:
    error = LedgerError("there is no ledger.", path="x", remedy="Make it.")
    assert (str(error), error.path, error.remedy, error.parameter) == (
        "there is no ledger. Make it.",
        "x",
        "Make it.",
        None,
    )


def test_an_unreadable_file_keeps_its_path() -> None:
    with pytest.raises(UnreadableFileError, match=r"^cannot read nothing\.json"):
        glassine.load_model("nothing.json")


def test_a_text_that_cannot_be_written_is_refused_without_what_stands_around_the_fault(tmp_path: Path) -> None:
    with pytest.raises(
        UnreadableFileError, match=r"holds '\\ud800', which is half a character pair\. Rename it\."
    ) as caught:
        write_text("secret \ud800", tmp_path / "model.json")
    assert "secret" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_text_is_resolved_where_it_is_made() -> None:
    constant = Text(f"It needs the records (`{parameter('data=')}`).")
    with spoken_by({"data": "--data"}):
        made, outcome = Text(f"Give {parameter('data=')}."), NotApplicable(constant)
        within = f"No: {constant}"
        with pytest.raises(GlassineError, match=r"^Give data=\.$"):
            raise GlassineError(f"Give {parameter('data=')}.")
    assert (made, outcome.reason, within) == (
        "Give --data.",
        "It needs the records (`--data`).",
        "No: It needs the records (`--data`).",
    )
    # No names are left to be resolved where JSON, a page or a text is made.
    assert plain_value(outcome)["reason"] == "It needs the records (`--data`)."
    assert constant == "It needs the records (`data=`)."
    assert pickle.loads(pickle.dumps(made)).marked == made.marked


def test_texts_within_texts_keep_their_marks() -> None:
    inner = Text(f"{parameter('counts', 'data')} needs data.")
    outer = Text(f"no rows: {marked(inner)}")
    assert outer == "no rows: counts='data' needs data."
    assert worded(outer, {"counts='data'": "--count-from-data"}) == "no rows: --count-from-data needs data."
    assert worded(str(inner) + "", {"counts='data'": "--count-from-data"}) == inner
