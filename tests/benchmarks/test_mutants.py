"""Mutants are single changes of what the code does, and every judgement speaks of one that is tried."""

from __future__ import annotations

import ast
import importlib
from typing import Any

import pytest

mutants: Any = importlib.import_module("benchmarks.mutants")


def changes(text: str) -> set[str]:
    """Return what becomes of the expressions of a module, without the names of module and function."""
    return {mutant.change.partition(": ")[2] for mutant in mutants.mutants("m.py", text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b <= c", {"a < b <= c -> a <= b <= c", "a < b <= c -> a < b < c"}),
        ("a is None", {"a is None -> a is not None"}),
        ("a and b", {"a and b -> a or b"}),
        ("a + b // c", {"a + b // c -> a - b // c", "b // c -> b * c"}),
        ("a -= b", {"a -= b -> a += b"}),
        ("not a", {"not a -> a"}),
        ("if f(a): pass", {"f(a) -> not f(a)"}),
        ("if a == b: pass", {"a == b -> a != b"}),
        ("x = [True, 7, 0.5, 'a', None]", {"True -> False", "7 -> 8", "0.5 -> 1.0"}),
        ("x: int | None = f(0)", {"0 -> 1"}),
        ("T: TypeAlias = int | None", set()),
        ("isinstance(a, int | float)", set()),
        ('f"{a + b}"', set()),
        ("@decorated(slots=True)\ndef f(a: int = 3) -> int | None: ...", {"3 -> 4"}),
    ],
)
def test_operators_conditions_and_constants_change_and_what_describes_them_does_not(
    text: str, expected: set[str]
) -> None:
    assert changes(text) == expected


def test_a_change_leaves_every_other_character_alone() -> None:
    text = 'def f(a):  # "é" takes two bytes\n    return (a  <  1, "é") if a else 1\n'
    found = {mutant.change: mutant for mutant in mutants.mutants("m.py", text)}
    assert set(found) == {
        "m.py f: a < 1 -> a <= 1",
        "m.py f: a -> not a",
        "m.py f: 1 -> 2",
        "m.py f: 1 -> 2 (2)",
    }
    assert found["m.py f: a < 1 -> a <= 1"].text == text.replace("a  <  1", "(a <= 1)")
    assert found["m.py f: a -> not a"].text == text.replace("if a", "if (not a)")
    assert found["m.py f: 1 -> 2 (2)"].text == text.replace("else 1", "else (2)")
    assert {mutant.line for mutant in found.values()} == {2}


@pytest.mark.slow
def test_102_changes_over_17_modules_are_tried_and_each_is_python() -> None:
    chosen = [mutant for module in mutants.TESTS for mutant in mutants.chosen(module)]
    assert (len(mutants.TESTS), len(chosen)) == (17, 102)
    assert len({mutant.change for mutant in chosen}) == 102
    for mutant in chosen:
        ast.parse(mutant.text)
        assert mutant.text != (mutants.PACKAGE / mutant.module).read_text()
    named = [mutants.ROOT / "tests" / test for tests in mutants.TESTS.values() for test in tests]
    assert all(path.exists() for path in named)


@pytest.mark.slow
def test_every_judgement_speaks_of_a_change_and_gives_a_reason() -> None:
    every = {
        m.change for module in mutants.TESTS for m in mutants.mutants(module, (mutants.PACKAGE / module).read_text())
    }
    judged = mutants.judged()
    assert set(judged) <= every
    assert all(len(reason.split()) > 3 for reason in judged.values())


@pytest.mark.slow
def test_a_change_that_a_test_notices_is_told_from_one_that_none_does(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "counting/logic.py"
    monkeypatch.setitem(mutants.TESTS, module, ())
    text = (mutants.PACKAGE / module).read_text()
    broken = mutants.Mutant(module, 1, "broken", text + "\nassert 1 == 2\n")
    assert mutants.tried(broken, module, tmp_path, 60)[0] == "caught"
    harmless = mutants.Mutant(
        module,
        1,
        "harmless",
        text + '\ndef more() -> int:\n    """Return 1.\n\n    >>> more()\n    1\n    """\n    return 1\n',
    )
    assert mutants.tried(harmless, module, tmp_path, 60)[0] == "survived"
