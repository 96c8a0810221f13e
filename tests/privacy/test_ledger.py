"""The ledger: never above its budget, and never without a charge that it acknowledged."""

from __future__ import annotations

import dataclasses
import os
import pickle
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.kills import killed
from glassine.errors import BudgetExceededError, InvalidBudgetError, LedgerError
from glassine.privacy.certificate import Certificate
from glassine.privacy.exact import decimal
from glassine.privacy.ledger import Ledger
from glassine.privacy.ledger_log import CHARGE
from glassine.privacy.unit import RECORD, PrivacyUnit

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and limits are POSIX")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "budget.sqlite")
    made.budget("patients", 1)
    return made


def test_ten_tenths_fit_and_an_eleventh_does_not(ledger: Ledger) -> None:
    for i in range(10):
        ledger.charge("patients", 0.1, note=f"tree {i}")
    assert ledger.spent("patients") == 1.0
    assert ledger.remaining("patients") == 0.0
    with pytest.raises(BudgetExceededError, match="Nothing was charged") as caught:
        ledger.charge("patients", 1e-300)
    assert caught.value.dataset == "patients"
    assert caught.value.remaining == 0
    assert caught.value.requested == 1e-300
    assert [entry.note for entry in ledger.entries("patients")] == [f"tree {i}" for i in range(10)]


def test_thirds_are_exact(ledger: Ledger) -> None:
    for _ in range(3):
        ledger.charge("patients", Fraction(1, 3))
    assert ledger.account("patients").remaining_epsilon == 0
    assert ledger.spent("patients") == 1.0


def test_a_charge_over_the_budget_records_nothing(ledger: Ledger) -> None:
    ledger.charge("patients", 0.7)
    for refused in (ledger.charge, ledger.check):
        with pytest.raises(BudgetExceededError):
            refused("patients", 0.3000000001)
    ledger.check("patients", 0.3)
    assert len(ledger.entries("patients")) == 1
    assert ledger.charge("patients", np.float64(0.3)).number == 2


def test_remaining_can_be_charged(ledger: Ledger) -> None:
    ledger.charge("patients", Fraction(2, 3))
    left = ledger.remaining("patients")
    assert decimal(left, "left") <= Fraction(1, 3)
    ledger.charge("patients", left)
    assert ledger.spent("patients") == 1.0


def test_delta_is_a_budget_of_its_own(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceededError, match="delta"):
        ledger.charge("patients", 0.1, 1e-9)
    ledger.budget("patients", 1, 1e-6)
    ledger.charge("patients", 0.1, 1e-6)
    with pytest.raises(BudgetExceededError) as caught:
        ledger.charge("patients", 0.1, 1e-12)
    assert caught.value.remaining_delta == 0
    assert ledger.account("patients").spent_delta == Fraction(1, 10**6)


def test_budgets_are_raised_and_never_lowered_below_what_is_spent(ledger: Ledger) -> None:
    ledger.charge("patients", 0.5)
    ledger.budget("patients", 2)
    ledger.budget("patients", 0.5)
    with pytest.raises(InvalidBudgetError, match="must not fall below what was spent"):
        ledger.budget("patients", 0.4999999)
    assert ledger.account("patients").epsilon == Fraction(1, 2)


def test_data_sets_do_not_share(ledger: Ledger) -> None:
    ledger.budget("a 'quoted' name\u00e9", 3)
    ledger.charge("patients", 1)
    assert ledger.remaining("a 'quoted' name\u00e9") == 3
    assert ledger.datasets() == ("a 'quoted' name\u00e9", "patients")


def test_entries_say_what_was_charged(ledger: Ledger) -> None:
    entry = ledger.charge("patients", 0.25, note="a tree")
    assert ledger.entries("patients") == (entry,)
    assert (entry.epsilon, entry.delta, entry.note) == (Fraction(1, 4), Fraction(0), "a tree")
    assert entry.at.endswith("+00:00")


AMOUNTS: list[Any] = [0, -1, float("nan"), float("inf"), True, "1", None, Fraction(1, 10**500), 10**301]


@pytest.mark.parametrize("amount", AMOUNTS)
def test_impossible_amounts_are_refused(ledger: Ledger, amount: Any) -> None:
    with pytest.raises(InvalidBudgetError):
        ledger.charge("patients", amount)
    with pytest.raises(InvalidBudgetError):
        ledger.budget("patients", amount)
    assert ledger.entries("patients") == ()


@pytest.mark.parametrize("delta", [-1e-9, 1, float("nan"), "0"])
def test_impossible_deltas_are_refused(ledger: Ledger, delta: Any) -> None:
    with pytest.raises(InvalidBudgetError, match=r"delta must be in \[0, 1\)"):
        ledger.charge("patients", 0.1, delta)


@pytest.mark.parametrize("name", ["", None, 3, "\ud800"])
def test_impossible_names_are_refused(ledger: Ledger, name: Any) -> None:
    for call in (ledger.spent, ledger.entries, lambda x: ledger.charge(x, 1), lambda x: ledger.budget(x, 1)):
        with pytest.raises(InvalidBudgetError):
            call(name)


def test_unknown_data_sets_and_missing_files_are_errors(ledger: Ledger, tmp_path: Path) -> None:
    calls: list[Callable[[Ledger], object]] = [
        lambda ledger: ledger.spent("x"),
        lambda ledger: ledger.remaining("x"),
        lambda ledger: ledger.entries("x"),
        lambda ledger: ledger.charge("x", 1),
    ]
    for call in calls:
        with pytest.raises(LedgerError, match="must hold a budget for 'x'"):
            call(ledger)
        with pytest.raises(LedgerError, match="there is no ledger at"):
            call(Ledger(tmp_path / "other.sqlite"))
    assert not (tmp_path / "other.sqlite").exists()
    with pytest.raises(LedgerError, match="cannot use the ledger"):
        Ledger(tmp_path / "no folder" / "x").budget("x", 1)


@POSIX
def test_the_file_is_its_owners(ledger: Ledger) -> None:
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert [path.name for path in ledger.path.parent.iterdir()] == ["budget.sqlite"]


PER_PERSON = PrivacyUnit.person(3)
CONVERSIONS: dict[str, tuple[PrivacyUnit, PrivacyUnit, float, str]] = {
    "records to persons": (
        PER_PERSON,
        RECORD,
        0.0,
        r"Make the release in .*epsilon 0.3 in 'person, at most 3 records each': for a ",
    ),
    "persons to records": (
        RECORD,
        PER_PERSON,
        0.0,
        r"Make the release in .*epsilon 0.2 in 'record': a guarantee for persons bounds",
    ),
    "other persons": (
        PER_PERSON,
        PrivacyUnit.person(5),
        1e-6,
        r"Make the release in .*epsilon 0.1 in 'person, .*: both bound all",
    ),
    "with a delta": (PER_PERSON, RECORD, 1e-6, r"with a delta, the guarantee in 'person, at mos"),
}


@pytest.mark.parametrize("kind", CONVERSIONS)
def test_a_charge_in_another_unit_is_refused_with_the_conversion(tmp_path: Path, kind: str) -> None:
    of_the_budget, of_the_charge, delta, advice = CONVERSIONS[kind]
    ledger = Ledger(tmp_path / "b.sqlite")
    ledger.budget("visits", 1, 1e-3, unit=of_the_budget)
    for refused in (ledger.charge, ledger.check):
        with pytest.raises(InvalidBudgetError, match=rf"in the unit of its budget, '{of_the_budget}'.*{advice}"):
            refused("visits", 0.1, delta, unit=of_the_charge)
    assert ledger.spent("visits") == 0
    assert ledger.charge("visits", 0.1, delta, unit=of_the_budget).unit == of_the_budget


def test_a_budget_declares_its_unit_and_keeps_it(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.sqlite")
    ledger.budget("visits", 1, unit=PER_PERSON)
    ledger.budget("visits", 2)
    assert ledger.account("visits").unit == PER_PERSON
    for other in (RECORD, PrivacyUnit.person(4)):
        with pytest.raises(InvalidBudgetError, match="a budget keeps its unit"):
            ledger.budget("visits", 3, unit=other)
    assert ledger.account("visits").epsilon == 2
    ledger.budget("patients", 1)
    assert ledger.account("patients").unit == RECORD
    unit: Any = "person"
    with pytest.raises(InvalidBudgetError, match="unit must be a PrivacyUnit"):
        ledger.budget("others", 1, unit=unit)


def test_texts_that_are_too_long_are_refused(ledger: Ledger) -> None:
    with pytest.raises(InvalidBudgetError, match="at most 1,000 characters"):
        ledger.budget("x" * 1001, 1)
    with pytest.raises(InvalidBudgetError, match="at most 1,000,000 characters"):
        ledger.charge("patients", 0.1, note="x" * 1_000_001)
    longest = "\U0001f600" * 1_000_000
    assert ledger.charge("patients", 0.1, note=longest).note == ledger.entries("patients")[0].note == longest


def test_names_of_spaces_are_refused(ledger: Ledger) -> None:
    with pytest.raises(InvalidBudgetError, match="non-empty name"):
        ledger.budget(" \t\n", 1)


@pytest.fixture
def certificates(ledger: Ledger) -> list[Certificate]:
    """Return certificates of releases that the ledger paid for, in order."""
    return [release(ledger, 0.25), release(ledger, 0.5), release(ledger, 0.125)]


def release(ledger: Ledger, epsilon: float) -> Certificate:
    receipt = ledger.charge("patients", epsilon, note="a tree").receipt
    return Certificate(epsilon=epsilon, events=(), receipt=receipt)


def test_certificates_name_the_charges_that_paid_for_them(ledger: Ledger, certificates: list[Certificate]) -> None:
    unpaid = ledger.charge("patients", 0.125, note="a table")
    verification = ledger.verify(certificates)
    assert verification.holds
    assert [payment.entry.number for payment in verification.payments if payment.entry] == [1, 2, 3]
    assert verification.entries == ledger.entries("patients")
    assert verification.entries[3] == unpaid
    assert verification.ledger == unpaid.receipt.ledger
    read_back = [Certificate.from_json(certificate.to_json()) for certificate in certificates]
    assert ledger.verify(read_back) == verification
    assert ledger.verify().holds


def test_a_later_certificate_finds_an_older_copy_and_one_that_was_charged_again(
    ledger: Ledger, certificates: list[Certificate], monkeypatch: pytest.MonkeyPatch
) -> None:
    # All in the same second.
    monkeypatch.setattr("glassine.privacy.ledger._now", lambda: "2026-01-01T00:00:00+00:00")
    older = ledger.path.read_bytes()
    later = release(ledger, 0.0625)
    ledger.path.write_bytes(older)
    assert ledger.verify(certificates).holds
    (payment,) = ledger.verify([later]).payments
    assert payment.status == "fault"
    assert "charge 4, and this ledger ends with charge 3: it is an older copy" in payment.reason
    again = release(ledger, 0.0625)
    first, second = ledger.verify([later, again]).payments
    assert (first.status, second.status) == ("fault", "paid")
    assert "an older copy that was charged again" in first.reason


def test_certificates_that_a_ledger_did_not_pay_for_are_faults(
    ledger: Ledger, certificates: list[Certificate], tmp_path: Path
) -> None:
    other = Ledger(tmp_path / "other.sqlite")
    other.budget("patients", 1)
    first = certificates[0]
    wrong = {
        "another ledger": release(other, 0.25),
        "paid for another certificate": dataclasses.replace(first, assumptions=("running time is not observed",)),
        "It claims epsilon 0.3": dataclasses.replace(first, epsilon=0.3),
        "and delta 1e-06, and charge 1": dataclasses.replace(first, delta=1e-6),
    }
    for reason, certificate in wrong.items():
        payment = ledger.verify([first, certificate]).payments[1]
        assert payment.status == "fault"
        assert reason in payment.reason
    # The same certificate twice is one release; one that claims less than was charged was paid for.
    assert ledger.verify([first, first]).holds
    assert ledger.verify([dataclasses.replace(first, epsilon=0.2)]).holds
    unit, neighboring = PrivacyUnit.person(2), "add-or-remove-one-person"
    persons = dataclasses.replace(first, unit=unit, neighboring=neighboring)
    for payment in ledger.verify([persons]).payments:
        assert (payment.status, "privacy unit" in payment.reason) == ("fault", True)
    without = ledger.verify([dataclasses.replace(first, receipt=None)])
    assert not without.holds
    assert without.payments[0].status == "unknown"


def test_a_receipt_says_nothing_that_can_be_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ledgers with equal entries at the same second give receipts that have only the number in common."""
    monkeypatch.setattr("glassine.privacy.ledger._now", lambda: "2026-01-01T00:00:00+00:00")
    receipts = []
    for name in ("a", "b"):
        made = Ledger(tmp_path / name)
        made.budget("patients", 1)
        receipts.append(made.charge("patients", 0.1).receipt)
    first, second = receipts
    assert first.charge == second.charge == 1
    assert first.ledger != second.ledger
    assert first.hash != second.hash


@pytest.mark.slow
def test_a_charge_takes_time_in_proportion_to_the_entries(ledger: Ledger) -> None:
    """Ten thousand entries are read and checked in less than a second per charge."""
    with ledger._file.transaction(write=True) as log:
        account = log.accounts["patients"]
        for number in range(1, 10_001):
            spent = Fraction(number, 20_000)
            account = dataclasses.replace(account, charges=number, spent_epsilon=spent)
            log.append(CHARGE, account, (Fraction(1, 20_000), Fraction(0)), "a tree", "2026-01-01T00:00:00+00:00")
    assert ledger.spent("patients") == 0.5
    start = time.process_time()
    assert ledger.charge("patients", 0.5).number == 10_001
    assert time.process_time() - start < 1
    assert ledger.remaining("patients") == 0


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no database" * 1000)
    with pytest.raises(LedgerError, match="is not a database"):
        Ledger(text).budget("x", 1)
    other = tmp_path / "other"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(LedgerError, match="but not a ledger"):
        Ledger(other).budget("x", 1)
    empty = tmp_path / "empty"
    empty.touch()
    with pytest.raises(LedgerError, match="but not a ledger"):
        Ledger(empty).budget("x", 1)
    with pytest.raises(LedgerError, match="must be a file"):
        Ledger(tmp_path).budget("x", 1)


def test_a_symbolic_link_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(ledger.path)
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    for path in (link, dangling):
        with pytest.raises(LedgerError, match="must not be a symbolic link"):
            Ledger(path).budget("x", 1)
    assert not (tmp_path / "nowhere").exists()


def test_every_change_of_a_budget_is_recorded(ledger: Ledger) -> None:
    ledger.budget("patients", 5)
    ledger.budget("patients", 5.0)
    ledger.budget("others", 2)
    with pytest.raises(InvalidBudgetError):
        ledger.budget("patients", -1)
    ledger.budget("patients", 5, 1e-6)
    found = [
        (change.old_epsilon, change.epsilon, change.old_delta, change.delta) for change in ledger.changes("patients")
    ]
    one, five, none = Fraction(1), Fraction(5), Fraction(0)
    assert found == [(None, one, None, none), (one, five, none, none), (five, five, none, Fraction(1, 10**6))]
    assert all(len(change.at) == 25 for change in ledger.changes("patients"))
    assert len(ledger.changes("others")) == 1


def test_a_budget_that_is_refused_leaves_no_change(ledger: Ledger) -> None:
    ledger.charge("patients", 0.5)
    with pytest.raises(InvalidBudgetError, match="must not fall below"):
        ledger.budget("patients", 0.4)
    assert len(ledger.changes("patients")) == 1


def test_a_lock_that_is_held_too_long_is_an_error(ledger: Ledger) -> None:
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match=r"another process held it for more than 0\.05 s"):
            Ledger(ledger.path, timeout=0.05).charge("patients", 0.1)
        connection.execute("ROLLBACK")
    assert ledger.spent("patients") == 0
    for timeout in (-1, float("nan")):
        with pytest.raises(LedgerError, match="timeout must be"):
            Ledger(ledger.path, timeout=timeout)


@pytest.mark.parametrize(
    ("pragma", "reason"), [("query_only = ON", "it is read-only"), ("max_page_count = 1", "the disk is full")]
)
def test_a_file_that_cannot_grow_or_be_written_is_an_error(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, pragma: str, reason: str
) -> None:
    connect = sqlite3.connect

    def limited(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.execute(f"PRAGMA {pragma}")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", limited)
        with pytest.raises(LedgerError, match=reason):
            ledger.charge("patients", 0.1, note="x" * 100_000)
    assert ledger.entries("patients") == ()


@POSIX
def test_a_write_that_fails_half_way_records_nothing(ledger: Ledger) -> None:
    ledger.charge("patients", 0.1)
    code = f"""
import os, resource
from glassine.errors import LedgerError
from glassine.privacy.ledger import Ledger
size = os.path.getsize({str(ledger.path)!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try:
    Ledger({str(ledger.path)!r}).charge("patients", 0.1, note="x" * 10 * size)
except LedgerError as error:
    print("refused", error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("refused"), done.stderr
    assert len(ledger.entries("patients")) == 1
    ledger.charge("patients", 0.9)


def test_it_pickles_to_its_path(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    relative = Ledger("budget.sqlite", timeout=7)
    data = pickle.dumps(relative)
    monkeypatch.chdir("/")
    clone = pickle.loads(data)
    assert (clone.path, clone.timeout) == (ledger.path, 7)
    with clone as entered:
        entered.charge("patients", 1)
    assert ledger.remaining("patients") == relative.remaining("patients") == 0


def test_the_constructor_touches_nothing(tmp_path: Path) -> None:
    assert "nothing" in repr(Ledger(tmp_path / "nothing"))
    assert list(tmp_path.iterdir()) == []


def test_threads_share_a_ledger(ledger: Ledger) -> None:
    refused: list[BudgetExceededError] = []

    def work() -> None:
        for _ in range(10):
            try:
                ledger.charge("patients", Fraction(1, 25))
            except BudgetExceededError as error:
                refused.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.account("patients").remaining_epsilon == 0
    assert len(refused) == 15


@POSIX
def test_a_process_killed_before_its_commit_records_nothing(ledger: Ledger) -> None:
    code = """
import os, signal, sys
from fractions import Fraction
from glassine.privacy.ledger import Ledger
from glassine.privacy.ledger_log import CHARGE
with Ledger(sys.argv[1])._file.transaction(write=True) as log:
    log._connection.execute("PRAGMA cache_size = 1")
    for _ in range(50):
        log.append(CHARGE, log.accounts["patients"], (Fraction(1), Fraction(0)), "x" * 5000, "")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code, str(ledger.path)], check=False)
    assert done.returncode == -signal.SIGKILL
    # The cache was too small, so the file holds a part of it until the journal is rolled back.
    assert ledger.path.with_name("budget.sqlite-journal").exists()
    assert ledger.entries("patients") == ()
    ledger.charge("patients", 1)


@POSIX
@pytest.mark.slow
@pytest.mark.parametrize(("charges", "count", "kills", "seed"), [(60, 3, 1, 61), (500, 8, 6, 2)])
def test_processes_that_are_killed_leave_the_books_right(
    ledger: Ledger, charges: int, count: int, kills: int, seed: int
) -> None:
    found = killed(ledger, charges, count, kills, seed)
    assert [found[name] for name in ("lost", "doubled", "granted beyond", "left")] == [0, 0, 0, 0]
    assert found["acknowledged"] >= charges - kills
    assert ledger.account("patients").remaining_epsilon == 0


@pytest.mark.slow
@POSIX
def test_processes_that_create_the_ledger_at_once_agree(tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    code = f"""
import sys
from glassine.privacy.ledger import Ledger
ledger = Ledger({str(path)!r})
print("ready", flush=True)
sys.stdin.readline()
ledger.budget("d" + sys.argv[1], 1)
ledger.charge("d" + sys.argv[1], 1)
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(i)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for i in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0] * 3
    ledger = Ledger(path)
    assert ledger.datasets() == ("d0", "d1", "d2")
    assert [ledger.spent(name) for name in ledger.datasets()] == [1.0] * 3


def test_a_budget_in_another_unit_is_refused_without_the_advice_to_forget_what_was_spent(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.sqlite")
    ledger.budget("visits", 1)
    with pytest.raises(InvalidBudgetError, match=r"Leave the unit out and give epsilon in 'record'") as caught:
        ledger.budget("visits", 2, unit=PER_PERSON)
    assert "use another ledger" not in str(caught.value)
