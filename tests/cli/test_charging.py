"""Every command that charges a ledger: nothing is released before the charge, and nothing is lost after it."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from glassine import Domain, Ledger
from glassine.formats import write_model
from glassine.learners import PrivateSummary
from tests.cli.running import Run, attributes, listing, people

RECORDS = ("people.csv", "--target", "ill", "--domain", "domain.json")
BOX = "def decide(X):\n    return ['yes' if age > 50 else 'no' for age in X['age']]\n"

COMMANDS = {
    "tree": ("fit", "tree", *RECORDS, "--max-depth", "1"),
    "rule list": ("fit", "rule-list", *RECORDS, "--max-rules", "1"),
    "greedy": ("fit", "greedy-rule-list", *RECORDS),
    "additive": ("fit", "additive", *RECORDS),
    "scorecard": ("fit", "scorecard", *RECORDS),
    "summary": ("summarize", *RECORDS),
    "measure": ("summarize", *RECORDS[:3], "--summary", "s.json", "--measure", "t.json"),
    "explain": (
        *("explain", "make", *RECORDS, "--black-box", "box:decide", "--labels", "true", "--partition", "public"),
        *("-k", "50"),
    ),
}


@pytest.fixture
def charged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make what all commands need, and a ledger that allows each of them."""
    Ledger(folder / "b.sqlite").budget("more", 4, 1e-4)
    frame, known = people(), attributes()
    domain = Domain({name: known[name] for name in ("age", "smoker")})
    summary = PrivateSummary(epsilon=8.0, domain=domain, classes=("no", "yes"), random_state=0)
    summary.fit(frame.select("age", "smoker"), frame["ill"]).write(folder / "s.json")
    write_model(summary.tree(1), folder / "t.json", overwrite=True)
    (folder / "box.py").write_text(BOX)
    monkeypatch.syspath_prepend(str(folder))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_full_disk_refuses_after_the_charge_is_printed(
    command: str, charged: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen = Ledger.charge, []

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def charge(self: Ledger, *args: Any, **kwargs: Any) -> Any:
        entry = real(self, *args, **kwargs)
        seen.append(listing(charged))
        monkeypatch.setattr("os.fsync", full)
        return entry

    monkeypatch.setattr(Ledger, "charge", charge)
    before = listing(charged)
    spent = ("--epsilon", "2", "--ledger", "b.sqlite", "--dataset", "more", "-o", "out.json")
    done = run(*COMMANDS[command], *spent, cwd=charged)
    assert (done.status, len(seen)) == (2, 1), done.err
    # A process that is killed here has released nothing.
    held = seen[0]
    assert {name: data for name, data in held.items() if name.partition(".")[0] not in ("b", "box")} == {
        name: data for name, data in before.items() if name.partition(".")[0] not in ("b", "box")
    }
    assert listing(charged) == held, "nothing is written in part"
    assert Ledger(charged / "b.sqlite").spent("more") == 2
    assert "No space left on device" in done.err
    assert "on standard output instead: save" in done.err
    assert "entry 1 of b.sqlite stays charged: epsilon 2 is spent." in done.err
    assert isinstance(json.loads(done.out), dict)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_note_is_added_to_that_of_the_charge_and_is_for_no_other(command: str, charged: Path, run: Run) -> None:
    spent = ("--epsilon", "2", "-o", "out.json", "--note", "study 1207")
    alone = run(*COMMANDS[command], *spent, cwd=charged)
    assert (alone.status, "--note is for the charge to a ledger" in alone.err) == (2, True), alone.err
    done = run(*COMMANDS[command], *spent, "--ledger", "b.sqlite", "--dataset", "more", cwd=charged)
    assert done.status == 0, done.err
    (entry,) = Ledger(charged / "b.sqlite").entries("more")
    own, _, added = entry.note.rpartition("; ")
    assert (bool(own), added) == (True, "study 1207")


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "explain"])
def test_epsilon_is_asked_for_before_records_are_opened(command: str, charged: Path, run: Run) -> None:
    (charged / "people.csv").unlink()
    before = listing(charged)
    charge = ("--ledger", "b.sqlite", "--dataset", "more", "-o", "new.json")
    done = run(*COMMANDS[command], *charge[: 4 if command == "measure" else 6], cwd=charged)
    assert done.status == 2
    assert "--epsilon" in done.err
    assert "people.csv" not in done.err
    assert listing(charged) == before
    assert not Ledger(charged / "b.sqlite").entries("more")


@pytest.mark.parametrize("labels", ["black-box", "true"])
@pytest.mark.parametrize("partition", ["public", "microaggregation"])
def test_a_private_explanation_asks_for_public_classes_before_records_are_opened(
    labels: str, partition: str, charged: Path, run: Run
) -> None:
    known = attributes()
    Domain({name: known[name] for name in ("age", "smoker")}).to_json(charged / "attributes.json")
    make = (
        "explain",
        "make",
        "people.csv",
        "--target",
        "ill",
        "--black-box",
        "box:decide",
        "-k",
        "50",
        "-o",
        "new.json",
    )
    private = ("--labels", labels, "--partition", partition, "--epsilon", "1")
    (charged / "people.csv").rename(charged / "away.csv")
    done = run(*make, *private, "--domain", "attributes.json", cwd=charged)
    assert done.status == 2
    assert "--classes" in done.err
    assert "--answer" in done.err
    assert "people.csv" not in done.err
    (charged / "away.csv").rename(charged / "people.csv")
    # A domain that declares the target does as well, and so do listed classes.
    for number, public in enumerate((("domain.json",), ("attributes.json", "--classes", "no,yes"))):
        told = run(*make[:-1], f"{number}.json", *private, "--domain", *public, cwd=charged)
        assert told.status == 0, told.err
