"""Messages in the words of the command line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, Literal

import pytest
import typer

from glassine.auditing.criterion import Check
from glassine.auditing.evidence import Evidence, Kind
from glassine.auditing.judging import advise
from glassine.cli.entry import app
from glassine.cli.naming import as_command, as_options, in_options
from glassine.errors import BudgetExceededError, InvalidParameterError
from tests.auditing.test_criteria import EVERY, KINDS
from tests.cli.running import Run

NAMES = {
    "delta": "--delta",
    "max_depth": "--max-depth",
    "algorithm": "--algorithm",
    "classes": "--classes",
    "bins": "--bins",
    "monotone": "--monotone",
    "random_state": "--seed",
}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("delta is needed with a ledger.", "--delta is needed with a ledger."),
        ("a mechanism needs delta, a probability.", "a mechanism needs --delta, a probability."),
        ("it is private without a delta.", "it is private without a delta."),
        ("max_depth must be 1 to 8, got 9.", "--max-depth must be 1 to 8, got 9."),
        ("Lower max_depth.", "Lower --max-depth."),
        ("widest max_depths and my_max_depth", "widest max_depths and my_max_depth"),
        ("Use algorithm='penalized'.", "Use --algorithm penalized."),
        ("Declare them with classes=.", "Declare them with --classes."),
        ("the classes are public", "the classes are public"),
        ("bins of 'age' must increase.", "--bins of 'age' must increase."),
        ("monotone['age'] must be", "--monotone['age'] must be"),
        ("random_state=3 is odd", "--seed 3 is odd"),
        ("the column 'max_depth' is absent", "the column 'max_depth' is absent"),
    ],
)
def test_parameters_become_options(message: str, expected: str) -> None:
    assert as_options(message, NAMES) == expected


def test_the_kind_of_error_and_its_attributes_stay() -> None:
    with pytest.raises(InvalidParameterError, match=r"^--seed must"), in_options(NAMES):
        raise InvalidParameterError("random_state must be 0.")
    with pytest.raises(KeyError), in_options(NAMES):
        raise KeyError("max_depth")
    assert issubclass(BudgetExceededError, ValueError)


def test_a_drafted_domain_is_not_replaced_unasked(folder: Path, run: Run) -> None:
    before = (folder / "domain.json").read_bytes()
    done = run("domain", "infer", "people.csv", "-o", "domain.json", cwd=folder)
    assert done.status == 2
    assert "it exists. Name another file, or give --overwrite." in done.err
    assert (folder / "domain.json").read_bytes() == before
    assert run("domain", "infer", "people.csv", "-o", "domain.json", "--overwrite", cwd=folder).status == 0
    assert (folder / "domain.json").read_bytes() != before


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("audit", "t.json", "-o", "x.pdf"), "reports are written as HTML, JSON or text"),
        (("edit", "t.json", "--page", "x.pdf"), "an editor page is HTML"),
        (("rebuild", "t.json", "--domain", "domain.json", "-o", "x.xlsx"), "rows are written as CSV"),
        (
            ("audit", "t.json", "--only", "disclosure", "--data", "people.csv", "--sensitive", "ill", "-o", "x.pdf"),
            "reports are written as HTML",
        ),
    ],
)
def test_a_name_that_promises_another_form_is_refused(
    folder: Path, run: Run, command: tuple[str, ...], said: str
) -> None:
    done = run(*command, cwd=folder)
    assert done.status == 2
    assert said in done.err
    assert not list(folder.glob("x.*"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", ["fail", "unknown"])
def test_every_step_that_an_audit_advises_is_a_command_with_such_options(
    kind: Kind, status: Literal["fail", "unknown"]
) -> None:
    commands = typer.main.get_command(app)
    checks = tuple(
        Check(rule=criterion.name, limit=1, measured=None, status=status, meaning="") for criterion in EVERY.criteria
    )
    for remedy in advise(EVERY, Evidence(kind=kind, has_domain=False), checks):
        for step in re.findall("`((?:glassine|--)[^`]*)`", as_command(remedy).text):
            command: Any = commands
            words = shlex.split(step.removeprefix("glassine ") if step.startswith("glassine") else f"audit {step}")
            while words and hasattr(command, "commands"):
                command = command.commands[words.pop(0)]
            known = {option for param in command.params for option in param.opts}
            assert {word for word in words if word.startswith("--")} <= known, step
