"""``glassine ledger``: budgets set, charged and shown."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from glassine import Ledger
from tests.cli.running import Run, listing


def test_a_budget_is_set_charged_and_shown(tmp_path: Path, run: Run) -> None:
    made = run("ledger", "budget", "b.sqlite", "people", "1", "--delta", "1e-6", cwd=tmp_path)
    assert made.status == 0, made.err
    assert made.out == "people: epsilon 0 of 1 spent, 1 left; delta 0 of 1e-06 spent, 1e-06 left.\n"
    for _ in range(3):
        done = run("ledger", "charge", "b.sqlite", "people", "0.1", "--note", "a table", cwd=tmp_path)
        assert done.status == 0, done.err
    # A float counts as the decimal that it prints as: three times 0.1 is 0.3.
    assert Ledger(tmp_path / "b.sqlite").account("people").spent_epsilon == Fraction(3, 10)
    shown = run("ledger", "show", "b.sqlite", cwd=tmp_path).out.splitlines()
    assert shown[0].startswith("people: epsilon 0.3 of 1 spent, 0.7 left;")
    assert [line.split()[0] for line in shown[1:]] == ["1", "2", "3"]
    assert all(line.endswith("epsilon 0.1  a table") for line in shown[1:])


def test_json(tmp_path: Path, run: Run) -> None:
    first = run("ledger", "budget", "b.sqlite", "a", "2", "--json", cwd=tmp_path)
    account = json.loads(first.out)
    assert account == {
        "dataset": "a",
        "epsilon": 2.0,
        "delta": 0.0,
        "spent_epsilon": 0.0,
        "spent_delta": 0.0,
        "remaining_epsilon": 2.0,
        "remaining_delta": 0.0,
    }
    run("ledger", "budget", "b.sqlite", "b", "1", cwd=tmp_path)
    charged = json.loads(
        run("ledger", "charge", "b.sqlite", "a", "0.5", "--note", "a mean", "--json", cwd=tmp_path).out
    )
    assert charged == {**account, "spent_epsilon": 0.5, "remaining_epsilon": 1.5, "charge": 1}
    shown = json.loads(run("ledger", "show", "b.sqlite", "--json", cwd=tmp_path).out)
    assert shown["ledger"] == "b.sqlite"
    assert [entry["dataset"] for entry in shown["datasets"]] == ["a", "b"]
    (entry,) = shown["datasets"][0]["charges"]
    assert {key: entry[key] for key in ("number", "epsilon", "delta", "note")} == {
        "number": 1,
        "epsilon": 0.5,
        "delta": 0.0,
        "note": "a mean",
    }
    one = json.loads(run("ledger", "show", "b.sqlite", "--dataset", "b", "--json", cwd=tmp_path).out)
    assert [entry["dataset"] for entry in one["datasets"]] == ["b"]


def test_names_and_notes_cannot_forge_lines(tmp_path: Path, run: Run) -> None:
    Ledger(tmp_path / "b.sqlite").budget("a\nb", 1)
    Ledger(tmp_path / "b.sqlite").charge("a\nb", 0.5, note="x\x1b[2J\ny")
    shown = run("ledger", "show", "b.sqlite", cwd=tmp_path).out
    assert shown.count("\n") == 2
    assert "\x1b" not in shown


BAD = {
    "no ledger": (("show", "none.sqlite"), "there is no ledger"),
    "a charge to no ledger": (("charge", "none.sqlite", "people", "0.1", "--note", "n"), "there is no ledger"),
    "no such data set": (("show", "budget.sqlite", "--dataset", "cats"), "a budget for 'cats'"),
    "a charge to no data set": (("charge", "budget.sqlite", "cats", "0.1", "--note", "n"), "'cats'"),
    "over budget": (("charge", "budget.sqlite", "people", "1.5", "--note", "n"), "Nothing was charged"),
    "a charge of nothing": (("charge", "budget.sqlite", "people", "0", "--note", "n"), "epsilon must be"),
    "a charge that is no number": (("charge", "budget.sqlite", "people", "nan", "--note", "n"), "epsilon must be"),
    "an infinite budget": (("budget", "budget.sqlite", "people", "inf"), "epsilon must be"),
    "a delta of one": (("budget", "budget.sqlite", "people", "2", "--delta", "1"), "delta must be"),
    "a budget below what was spent": (("budget", "budget.sqlite", "spender", "0.1"), "must not fall below"),
    "a name of nothing": (("budget", "budget.sqlite", "", "1"), "non-empty name"),
    "data for a ledger": (("show", "people.csv"), "not a database"),
    "a folder": (("show", "."), "must be a file"),
}
MISUSED = {
    "no command": ("ledger",),
    "a charge without a note": ("ledger", "charge", "budget.sqlite", "people", "0.1"),
    "text for a number": ("ledger", "budget", "budget.sqlite", "people", "much"),
    "an unknown command": ("ledger", "refund", "budget.sqlite"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_clear_line(folder: Path, run: Run, kind: str) -> None:
    book = Ledger(folder / "budget.sqlite")
    book.budget("spender", 1)
    book.charge("spender", 0.5, note="a tree")
    before = listing(folder)
    arguments, message = BAD[kind]
    done = run("ledger", *arguments, cwd=folder)
    assert done.status == 2, done.out
    assert done.err.startswith("glassine: ")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""
    assert listing(folder) == before


@pytest.mark.parametrize("kind", MISUSED)
def test_misuse_changes_nothing(folder: Path, run: Run, kind: str) -> None:
    before = listing(folder)
    done = run(*MISUSED[kind], cwd=folder)
    assert done.status == 2
    assert "Traceback" not in done.err
    assert listing(folder) == before


def test_an_empty_ledger_says_what_to_do(tmp_path: Path, run: Run) -> None:
    Ledger(tmp_path / "b.sqlite").budget("a", 1)
    import sqlite3

    connection = sqlite3.connect(tmp_path / "b.sqlite")
    connection.execute("DELETE FROM budgets")
    connection.commit()
    connection.close()
    done = run("ledger", "show", "b.sqlite", cwd=tmp_path)
    assert done.status == 0
    assert "glassine ledger budget" in done.out


def test_a_misspelt_data_set_is_recognized(tmp_path: Path, run: Run) -> None:
    run("ledger", "budget", "b.sqlite", "people", "1", cwd=tmp_path)
    charge = ("ledger", "charge", "b.sqlite", "peple", "0.1", "--note", "a table")
    for command in (charge, ("ledger", "show", "b.sqlite", "--dataset", "peple")):
        done = run(*command, cwd=tmp_path)
        assert done.status == 2
        assert done.err.endswith(" Did you mean 'people'?\n")
    assert Ledger(tmp_path / "b.sqlite").spent("people") == 0


def test_changes_of_a_budget_are_shown(tmp_path: Path, run: Run) -> None:
    for epsilon, more in (("1", ()), ("5", ()), ("5", ()), ("5", ("--delta", "1e-6"))):
        assert run("ledger", "budget", "b.sqlite", "claims", epsilon, *more, cwd=tmp_path).status == 0
    lines = run("ledger", "show", "b.sqlite", cwd=tmp_path).out.splitlines()
    assert [line.split()[0] for line in lines] == ["claims:", "budget", "budget"]
    assert lines[1].endswith("  epsilon 1 to 5")
    assert lines[2].endswith("  delta 0 to 1e-06")
    (account,) = json.loads(run("ledger", "show", "b.sqlite", "--json", cwd=tmp_path).out)["datasets"]
    assert [(change["from"], change["to"]) for change in account["changes"]] == [
        (None, {"epsilon": 1.0, "delta": 0.0}),
        ({"epsilon": 1.0, "delta": 0.0}, {"epsilon": 5.0, "delta": 0.0}),
        ({"epsilon": 5.0, "delta": 0.0}, {"epsilon": 5.0, "delta": 1e-6}),
    ]


def test_a_charge_that_does_not_fit_names_the_command_that_makes_it_fit(tmp_path: Path, run: Run) -> None:
    run("ledger", "budget", "b.sqlite", "claims", "0.3", cwd=tmp_path)
    run("ledger", "charge", "b.sqlite", "claims", "0.2", "--note", "a table", cwd=tmp_path)
    charge = ("ledger", "charge", "b.sqlite", "claims", "0.2", "--delta", "1e-5", "--note", "a tree")
    done = run(*charge, cwd=tmp_path)
    assert done.status == 2
    assert "raise the budget: glassine ledger budget b.sqlite claims 0.4 --delta 1e-05" in done.err
    words = done.err[done.err.index("glassine ledger budget") :].split()[1:]
    assert run(*words, cwd=tmp_path).status == 0
    assert run(*charge, cwd=tmp_path).status == 0


@pytest.mark.parametrize(
    "words", [("show",), ("show", "--dataset", "claims"), ("charge", "claims", "1", "--note", "n")]
)
def test_a_missing_ledger_names_the_command_that_makes_it(words: tuple[str, ...], tmp_path: Path, run: Run) -> None:
    done = run("ledger", words[0], "none.sqlite", *words[1:], cwd=tmp_path)
    assert done.status == 2
    assert done.err.endswith("Make it: glassine ledger budget none.sqlite NAME EPSILON\n")
