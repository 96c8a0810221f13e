"""Messages in the words of the command line."""

from __future__ import annotations

import ast
import pickle
import re
import shlex
from pathlib import Path
from typing import Any, Literal

import pytest
import typer

from glassine.auditing.criterion import Check
from glassine.auditing.facts import Case, Kind
from glassine.auditing.judging import advise
from glassine.cli.entry import application
from glassine.cli.naming import as_command, in_options
from glassine.errors import BudgetExceededError, InvalidParameterError, Text, parameter, worded
from tests.auditing.test_criteria import EVERY, KINDS
from tests.cli.running import Run
from tests.repo.code_blocks import ROOT

SOURCE = ROOT / "src" / "glassine"
# The desk runs commands, each in a process.
LIBRARY = [path for path in SOURCE.rglob("*.py") if not {"cli", "desk"} & {*path.relative_to(SOURCE).parts}]

NAMES = {
    "delta": "--delta",
    "algorithm": "--algorithm",
    "random_state": "--seed",
    "same_labels=False": "--other-labels",
}


@pytest.mark.parametrize(
    ("message", "python", "command"),
    [
        (f"{parameter('delta')} is needed.", "delta is needed.", "--delta is needed."),
        (f"Use {parameter('algorithm', 'penalized')}.", "Use algorithm='penalized'.", "Use --algorithm penalized."),
        (f"Use {parameter('algorithm=')}.", "Use algorithm=.", "Use --algorithm."),
        (f"Give {parameter('same_labels', False)}.", "Give same_labels=False.", "Give --other-labels."),
        (f"{parameter('gamma', 2)} is odd.", "gamma=2 is odd.", "gamma=2 is odd."),
        ("delta, random_state and 'algorithm' are columns.", *["delta, random_state and 'algorithm' are columns."] * 2),
    ],
)
def test_parameters_that_a_text_marks_become_options(message: str, python: str, command: str) -> None:
    assert str(Text(message)) == python
    assert worded(Text(message), NAMES) == command
    with pytest.raises(InvalidParameterError) as raised, in_options(NAMES):
        raise InvalidParameterError(message)
    assert str(raised.value) == command


def test_the_kind_of_error_and_its_attributes_stay() -> None:
    with (
        pytest.raises(InvalidParameterError, match=r"^--seed must be 0\. Leave --delta out\.$") as raised,
        in_options(NAMES),
    ):
        raise InvalidParameterError(
            f"{parameter('random_state')} must be 0.", remedy=f"Leave {parameter('delta')} out."
        )
    assert (raised.value.parameter, raised.value.remedy) == ("random_state", "Leave --delta out.")
    with pytest.raises(KeyError), in_options(NAMES):
        raise KeyError("delta")
    assert issubclass(BudgetExceededError, ValueError)


def test_a_parameter_with_a_value_of_the_caller_is_not_reworded() -> None:
    column = "delta must be"
    with pytest.raises(InvalidParameterError, match="'delta must be' is not --delta"), in_options(NAMES):
        raise InvalidParameterError(f"{column!r} is not {parameter('delta')}.")


def test_errors_can_be_pickled_with_their_marks() -> None:
    error = pickle.loads(pickle.dumps(InvalidParameterError(f"{parameter('delta')} is 2.", remedy="Take less.")))
    assert (str(error), error.parameter, error.remedy) == ("delta is 2. Take less.", "delta", "Take less.")
    assert str(error.word(NAMES)) == "--delta is 2. Take less."


def test_a_place_stands_before_what_happened() -> None:
    error = InvalidParameterError(f"{parameter('delta')} is 2.", remedy="Take less.").within("model.json")
    assert str(error.word(NAMES)) == "model.json: --delta is 2. Take less."
    assert str(error.advise("Take more.")) == "model.json: --delta is 2. Take more."


OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def test_the_library_names_no_option() -> None:
    named = []
    for path in LIBRARY:
        text = path.read_text()
        if "--" not in text:
            continue
        nodes = list(ast.walk(ast.parse(text)))
        documented = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in documented:
                continue
            if OPTION.search(node.value):
                named.append((path.relative_to(SOURCE).as_posix(), node.lineno, node.value))
    assert LIBRARY
    assert not named


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
    commands = typer.main.get_command(application())
    checks = tuple(
        Check(rule=criterion.name, limit=1, measured=None, status=status, meaning="") for criterion in EVERY.criteria
    )
    for remedy in advise(EVERY, Case(kind=kind, has_domain=False), checks):
        for step in re.findall("`((?:glassine|--)[^`]*)`", as_command(remedy).text):
            command: Any = commands
            words = shlex.split(step.removeprefix("glassine ") if step.startswith("glassine") else f"audit {step}")
            while words and hasattr(command, "commands"):
                command = command.commands[words.pop(0)]
            known = {option for param in command.params for option in param.opts}
            assert {word for word in words if word.startswith("--")} <= known, step


def test_what_was_stated_is_not_asked_for_again(folder: Path, run: Run) -> None:
    """A tree without counts: the options that were given, and those that a sentence above names, are left out."""
    text = "|--- age <= 60.00\n|   |--- class: no\n|--- age >  60.00\n|   |--- class: yes\n"
    (folder / "labels.txt").write_text(text)
    given, lines = list[str](), []
    for option in (["--stated-leaf", "10"], ["--one-record-per-person"], ["--unweighted"]):
        given += option
        done = run("audit", "labels.txt", "--domain", "domain.json", *given, cwd=folder)
        said = " ".join(done.out.split()).partition("Pass what the publisher answers: ")[2].partition(". ")[0]
        lines.append(said)
        assert not any(f"`{one}" in said for one in given if one.startswith("--"))
    assert lines[0] == "`--stated-step N`, `--one-record-per-person`, `--unweighted` and `--public-cuts`"
    assert "--public-cuts" in lines[-1]
