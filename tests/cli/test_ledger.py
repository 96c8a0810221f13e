"""``glassine ledger``: budgets set, charged and shown."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from glassine import Certificate, Ledger
from tests.cli.running import Run, listing


def test_a_budget_is_set_charged_and_shown(tmp_path: Path, run: Run) -> None:
    made = run("ledger", "budget", "b.sqlite", "people", "1", "--delta", "1e-6", cwd=tmp_path)
    assert made.status == 0, made.err
    assert made.out == "people: epsilon 0 of 1 spent, 1 left; delta 0 of 1e-06 spent, 1e-06 left. Unit: record.\n"
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
        "unit": "record",
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
    "no such dataset": (("show", "budget.sqlite", "--dataset", "cats"), "a budget for 'cats'"),
    "a charge to no dataset": (("charge", "budget.sqlite", "cats", "0.1", "--note", "n"), "'cats'"),
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
    # As a process leaves it that is killed between making the file and setting the budget.
    Ledger(tmp_path / "b.sqlite")._file.create()
    done = run("ledger", "show", "b.sqlite", cwd=tmp_path)
    assert done.status == 0
    assert "glassine ledger budget" in done.out


def test_a_budget_for_persons_is_set_charged_and_shown(tmp_path: Path, run: Run) -> None:
    person = ("--records-per-person", "3")
    made = run("ledger", "budget", "b.sqlite", "visits", "1", *person, cwd=tmp_path)
    assert made.out == "visits: epsilon 0 of 1 spent, 1 left. Unit: person, at most 3 records each.\n"
    charge = ("ledger", "charge", "b.sqlite", "visits", "0.1", "--note", "a table")
    refused = run(*charge, cwd=tmp_path)
    assert refused.status == 2
    assert "must be in the unit of its budget, 'person, at most 3 records each', got 'record'" in refused.err
    assert "charge it without the fit, with epsilon 0.3 in 'person, at most 3 records each'" in refused.err
    assert run(*charge, *person, cwd=tmp_path).status == 0
    # A budget that is raised keeps its unit.
    raised = run("ledger", "budget", "b.sqlite", "visits", "2", "--json", cwd=tmp_path)
    assert json.loads(raised.out)["unit"] == "person, at most 3 records each"
    assert (
        "a budget keeps its unit"
        in run("ledger", "budget", "b.sqlite", "visits", "3", "--records-per-person", "4", cwd=tmp_path).err
    )
    shown = run("ledger", "show", "b.sqlite", cwd=tmp_path).out.splitlines()
    assert shown[0] == "visits: epsilon 0.1 of 2 spent, 1.9 left. Unit: person, at most 3 records each."
    none = run("ledger", "budget", "b.sqlite", "visits", "3", "--records-per-person", "0", cwd=tmp_path)
    assert none.status == 2
    assert none.err.startswith("glassine: --records-per-person must be a whole number")


def certified(folder: Path, name: str, epsilon: float) -> Path:
    """Charge a release to the ledger of a folder, and write its certificate."""
    receipt = Ledger(folder / "b.sqlite").charge("claims", epsilon, note=f"a tree, {name}").receipt
    path = folder / f"{name}.certificate.json"
    path.write_text(Certificate(epsilon=epsilon, events=(), receipt=receipt).to_json())
    return path


@pytest.fixture
def paid(tmp_path: Path) -> Path:
    """Return a folder with a ledger, two certificates that it paid for, and a charge without a certificate."""
    Ledger(tmp_path / "b.sqlite").budget("claims", 1)
    for name in ("first", "second"):
        certified(tmp_path, name, 0.25)
    Ledger(tmp_path / "b.sqlite").charge("claims", 0.125, note="a table")
    return tmp_path


VERIFY = ("ledger", "verify", "b.sqlite")


def test_a_whole_ledger_is_verified_with_the_certificates_that_it_paid_for(paid: Path, run: Run) -> None:
    alone = run(*VERIFY, cwd=paid)
    assert (alone.status, alone.err) == (0, "")
    assert alone.out.splitlines()[0] == "b.sqlite is whole: 3 charges."
    files = ("first.certificate.json", "second.certificate.json")
    for paths in (files, (".",)):
        done = run(*VERIFY, "--certificates", *paths, cwd=paid)
        assert (done.status, done.err) == (0, "")
        lines = done.out.splitlines()
        assert [line.strip() for line in lines if "paid for" in line] == [f"paid for {name}" for name in files]
        assert lines[-1].endswith("a table  (claims)")
    result = json.loads(run(*VERIFY, "--certificates", ".", "--json", cwd=paid).out)
    assert result["whole"] is True
    assert [charge["certificates"] for charge in result["charges"]] == [[files[0]], [files[1]], []]
    assert [certificate["status"] for certificate in result["certificates"]] == ["paid", "paid"]


def test_an_older_copy_is_found_by_the_certificate_of_a_later_release(paid: Path, run: Run) -> None:
    older = (paid / "b.sqlite").read_bytes()
    certified(paid, "third", 0.25)
    (paid / "b.sqlite").write_bytes(older)
    assert run(*VERIFY, cwd=paid).status == 0
    done = run(*VERIFY, "--certificates", ".", cwd=paid)
    assert done.status == 1
    assert done.out.splitlines()[-1].startswith("FAULT  third.certificate.json: It was paid for by charge 4, and this")


def test_a_damaged_ledger_is_status_one_and_names_the_charge(paid: Path, run: Run) -> None:
    with closing(sqlite3.connect(paid / "b.sqlite")) as connection:
        connection.execute("UPDATE log SET epsilon = '1/100' WHERE number = 3")
        connection.commit()
    done = run(*VERIFY, cwd=paid)
    assert (done.status, done.err) == (1, "")
    assert "is damaged: entry 3 (charge 2) was changed" in done.out
    result = json.loads(run(*VERIFY, "--json", cwd=paid).out)
    assert result["whole"] is False
    # Nothing else works on it.
    assert run("ledger", "show", "b.sqlite", cwd=paid).status == 2
    assert run("ledger", "charge", "b.sqlite", "claims", "0.01", "--note", "n", cwd=paid).status == 2


def test_a_certificate_without_a_receipt_is_status_three_and_bad_input_two(paid: Path, run: Run) -> None:
    (paid / "unpaid.json").write_text(Certificate(epsilon=1, events=()).to_json())
    (paid / "folder").mkdir()
    done = run(*VERIFY, "--certificates", "unpaid.json", cwd=paid)
    assert done.status == 3
    assert done.out.splitlines()[-1] == (
        "UNKNOWN  unpaid.json: The certificate has no receipt of a charge: its release was made without a ledger, or "
        "charged by hand. See that a charge covers it."
    )
    for words, message in (
        (("ledger", "verify", "none.sqlite"), "there is no ledger"),
        ((*VERIFY, "unpaid.json"), "Put --certificates before it"),
        ((*VERIFY, "--certificates", "folder"), "holds no file that ends in .certificate.json"),
        ((*VERIFY, "--certificates", "b.sqlite"), "is not UTF-8 text"),
        ((*VERIFY, "--certificates", "none.json"), "cannot read none.json"),
    ):
        refused = run(*words, cwd=paid)
        assert refused.status == 2
        assert message in refused.err
        assert refused.err.count("\n") == 1


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
    named = "claims" if "claims" in words else "NAME"
    made_by = (
        f"Make it: glassine ledger budget none.sqlite {named} EPSILON, with --delta D if releases have a delta, as "
        "those of additive models, and --records-per-person M if it counts persons\n"
    )
    assert done.err.endswith(made_by)
