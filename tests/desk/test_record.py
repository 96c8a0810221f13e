"""The record of a desk: checked, exported, signed, and whole after a kill at any step."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from glassine.desk import Desk
from glassine.desk.events import KINDS
from glassine.desk.heads import RECORD, chain_of, check_head, exported
from glassine.desk.releasing import record_of, release, sign
from glassine.errors import DamagedDeskError, DeskError, SignatureError
from glassine.privacy.signing import make_keys
from tests.desk.desks import BERG, OKAFOR, RULES, SIGNED_FOR, approve, bound, look, ready, render


def test_the_record_is_checked_and_its_form_is_known(folder: Path, desks: tuple[Desk, Desk]) -> None:
    approve(desks[0], "rules.txt", note="a secret note")
    path = folder / ".glassine" / "desk.db"
    data = bytearray(path.read_bytes())
    at = data.rindex(b"a secret note")
    data[at : at + 1] = b"A"
    path.write_bytes(data)
    with pytest.raises(DamagedDeskError, match="was changed"):
        Desk(folder, OKAFOR)
    path.write_bytes(b"SQLite format 3\0" + bytes(100))
    with pytest.raises(DeskError):
        Desk(folder, OKAFOR)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("body", [{}, {"key": ["a"]}, {"files": [1]}, {"file": "", "sha256": ""}])
def test_an_event_that_no_desk_writes_is_named(folder: Path, kind: str, body: dict[str, Any]) -> None:
    desk = Desk(folder, OKAFOR)
    look(desk)
    if "file" in body:
        identity, asked = bound(desk, "rules.txt")
        body = {"file": identity, "sha256": asked["sha256"]}
    number = len(desk.state.events) + 1
    with contextlib.suppress(DeskError), desk.writing() as log:
        log.append(kind, OKAFOR, desk.now(), body)
    needed = {"received", "signed", "released", "charged"}
    needed |= {"audited", "asked", "answered", "remarked", "accepted", "voted", "reopened"} if "file" in body else set()
    if kind in needed:
        with pytest.raises(DeskError, match=f"entry {number} of .* is not what a desk of this version writes"):
            Desk(folder, OKAFOR)
    else:
        assert len(Desk(folder, OKAFOR).state.events) >= number


def test_public_records_of_two_data_sets_are_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassine.desk.desk.account_of", lambda number: "lind")

    def clock() -> datetime:
        return datetime(2026, 11, 29, 10, 41, tzinfo=UTC)

    def released(name: str, note: str, verdict: str) -> dict[str, bytes]:
        place = tmp_path / name / "study"
        place.mkdir(parents=True)
        (place / "rules.txt").write_text(RULES)
        desks = [Desk(place, person, clock=clock) for person in (OKAFOR, BERG)]
        look(desks[0])
        (file,) = desks[0].state.files.values()
        # Checkers ask and measure as the records of each data set suggest; the questions and answers are theirs.
        desks[0].ask(*bound(desks[0], "rules.txt", text=f"is {note} right?"))
        desks[0].answer(*bound(desks[0], "rules.txt", text=f"it is {note}"))
        desks[0].record("seen", {"model": "rules.txt", "records": f"{name}.csv"})
        # What the audit found on the records of each data set.
        audit = desks[0].state.events[-1].body | {"verdict": verdict, "result": note * 64}
        desks[0].record("audited", audit)
        for desk in desks:
            desk.scan()
            approve(desk, "rules.txt", reason="agreed", note=f"exact figure {note}")
        desks[0].refresh()
        written = release(desks[0], sign(desks[0], {**SIGNED_FOR, "files": ready(desks[0])}), render)
        assert file.id
        assert f"exact figure {note}" in json.dumps(record_of(desks[0].refresh(), desks[0], "checkers"))
        whole = exported(desks[0], record_of(desks[0].state, desks[0], "public"))
        files = {str(p.relative_to(written)): p.read_bytes() for p in written.rglob("*") if p.is_file()}
        return {**files, "the record of the desk": whole.encode()}

    assert released("a", "1", "within policy") == released("b", "2", "inconclusive")


KILLED = """
import json, os, shutil, signal, sys
from pathlib import Path
from glassine.desk import Desk, Person
from glassine.desk.heads import exported
from glassine.desk.releasing import release, sign
from glassine.privacy import chained_log
from tests.desk.desks import BERG, OKAFOR, RULES, bound, look
from tests.desk.killing import Steps
from tests.desk.test_desk import SIGNED_FOR, ready, render

steps = Steps(0)
chained_log.ChainedLog._write = steps.traced(chained_log.ChainedLog._write)
os.rename, Path.rename, Path.mkdir = map(steps.traced, (os.rename, Path.rename, Path.mkdir))

def done(desk, kind, name=""):
    # Whether an event is recorded already, of a file or at all.
    number = next((file.id for file in desk.state.files.values() if file.name == name), None)
    return any(one.kind == kind and one.body.get("file") == number for one in desk.refresh().events)

def vote(desks, name, *decisions):
    for desk, decision in zip(desks, decisions):
        desk.refresh()
        identity, asked = bound(desk, name, decision=decision, reason="looked at")
        version = desk.file(identity).now
        if not any(vote.person == desk.person for vote in version.votes_of(version.turn)):
            desk.vote(identity, asked)

def act(desk, kind, name, do, **more):
    if not done(desk, kind, name):
        desk.refresh()
        identity, asked = bound(desk, name, **more)
        do(identity, asked)

def work(folder):
    first = Desk(folder, OKAFOR)
    look(first)
    second = Desk(folder, BERG)
    second.scan()
    desks = first, second
    for kind, body in (("seen", {"column": "age"}), ("stated", {"domain": "d"}), ("charged", {"key": "k"})):
        if not done(first, kind):
            first.record(kind, body)
    mine = Desk(folder, Person(account=first.file(bound(first, "c.txt")[0]).now.author, name="M. Lind", role="analyst"))
    mine.scan()
    act(mine, "remarked", "c.txt", mine.remark, text="a rule list")
    # A file that is returned after a conflict, one that is withdrawn, and one that is asked about and released.
    if not done(first, "reopened", "b.txt"):
        vote(desks, "b.txt", "approve", "reject")
    act(first, "reopened", "b.txt", first.turn, action="again")
    if not done(first, "returned", "b.txt"):
        vote(desks, "b.txt", "changes", "changes")
    act(first, "returned", "b.txt", first.turn, action="return")
    act(first, "accepted", "c.txt", first.accept, accepted="yes", trust="checked")
    look(first)  # What is accepted changes what an audit is told
    act(first, "withdrawn", "c.txt", first.turn, action="withdraw")
    act(first, "asked", "rules.txt", first.ask, text="one record per person?")
    act(first, "answered", "rules.txt", first.answer, text="yes")
    first.refresh()
    if not first.state.signings:
        vote(desks, "rules.txt", "approve", "approve")
        first.refresh()
        sign(first, {**SIGNED_FOR, "files": ready(first)})
    (number,) = first.refresh().signings
    if number not in first.state.written:
        release(first, number, render)
    if not done(first, "exported"):
        exported(first, {})
        first.record("exported", {"audience": "public"})

def child(folder, when):
    number = os.fork()
    if number:
        return os.waitpid(number, 0)[1]
    steps.last, steps.count = when, 0
    work(folder)
    os._exit(0)

def events(folder):
    return [event.kind for event in Desk(folder, OKAFOR).refresh().events]

def new(name):
    folder = Path(sys.argv[1]) / name
    os.mkdir(folder)
    for file in ("b.txt", "c.txt", "rules.txt"):
        (folder / file).write_text(RULES)
    return folder

whole = new("whole")
work(whole)
found = []
for when in range(1, steps.count + 1):
    folder = new(f"killed-{when}")
    killed = child(folder, when)
    before = events(folder) if (folder / ".glassine" / "desk.db").exists() else []
    again = child(folder, 0)
    copy = (folder / "release-1" / "rules.txt").read_text() == RULES and (folder / "checkers-1").is_dir()
    found.append([killed, before, again, events(folder), copy])
print(json.dumps([events(whole), found]))
"""


@pytest.mark.slow
def test_a_kill_at_any_step_loses_and_invents_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    expected, found = json.loads(done.stdout)
    assert set(expected) == set(KINDS)
    assert len(found) > 2 * len(expected)
    for killed, before, again, after, copied in found:
        assert killed == signal.SIGKILL
        # What was there before is never lost; what was not done is never there.
        assert before == expected[: len(before)]
        assert (again, after, copied) == (0, expected, True)


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, str]:
    private = tmp_path / "key.pem"
    return private, make_keys(private, tmp_path / "public.pem")


def test_exports_and_sign_offs_are_signed_with_a_key_and_a_kept_head_shows_a_rewriting(
    folder: Path, tmp_path: Path, keys: tuple[Path, str]
) -> None:
    private, public = keys
    first, second = Desk(folder, OKAFOR, key=private), Desk(folder, BERG)
    look(first)
    second.scan()
    for desk in (first, second):
        approve(desk, "rules.txt")
    first.refresh()
    written = release(first, sign(first, {**SIGNED_FOR, "files": ready(first)}), render)
    (signed,) = [event for event in first.state.events if event.kind == "signed"]
    assert signed.body["signature"]["public_key"] == public
    opened = RECORD.open(written / "record.signed.json", public)
    assert opened.values == json.loads((written / "record.json").read_text())
    kept = folder / "checkers-1" / "chain.json"
    assert RECORD.open(kept, public).values["identity"] == first.identity
    assert "continues the one that was exported" in check_head(second, kept, public)
    with pytest.raises(SignatureError, match="another key"):
        check_head(second, kept, make_keys(tmp_path / "b.pem", tmp_path / "c.pem"))
    changed = tmp_path / "changed.json"
    changed.write_text(kept.read_text().replace(first.identity, "0" * 64))
    with pytest.raises(SignatureError, match="does not hold"):
        check_head(second, changed)
    # An older copy of the record, to which something else was appended.
    again = tmp_path / "again"
    shutil.copytree(folder, again)
    (again / ".glassine" / "desk.db").unlink()
    with pytest.raises(DeskError, match="record of another desk"):
        check_head(Desk(again, OKAFOR), kept)
    shutil.rmtree(again)
    older = tmp_path / "older"
    older.mkdir()
    (older / "rules.txt").write_text(RULES)
    early = Desk(older, OKAFOR)
    shutil.copytree(older, again)
    look(early)
    head = tmp_path / "head.json"
    head.write_text(exported(early, chain_of(early)))
    rewritten = Desk(again, OKAFOR)
    with pytest.raises(DeskError, match="is missing"):
        check_head(rewritten, head)
    for _ in range(5):
        rewritten.record("exported", {"audience": "public"})
    with pytest.raises(DeskError, match="differs"):
        check_head(rewritten, head)
    head.write_text("{}")
    with pytest.raises(DeskError, match="holds no head"):
        check_head(early, head)


def test_a_longer_record_in_the_place_of_the_first_is_read_anew(folder: Path, tmp_path: Path) -> None:
    desk = Desk(folder, OKAFOR)
    shutil.copytree(folder, tmp_path / "copy")
    other = Desk(tmp_path / "copy", BERG)
    for one, times in ((desk, 1), (other, 4)):
        for _ in range(times):
            one.record("exported", {"audience": "public"})
    (tmp_path / "copy" / ".glassine" / "desk.db").replace(folder / ".glassine" / "desk.db")
    assert {event.person for event in desk.refresh().events[-4:]} == {BERG}
    assert len(desk.state.events) == len(other.state.events)


def test_what_is_signed_is_in_no_file_that_another_account_can_replace(
    folder: Path, tmp_path: Path, keys: tuple[Path, str]
) -> None:
    desk = Desk(folder, OKAFOR, key=keys[0])
    chain = chain_of(desk)
    shutil.rmtree(desk.own)
    kept = tmp_path / "kept.json"
    kept.write_text(exported(desk, chain))
    assert RECORD.open(kept, keys[1]).values == chain


@pytest.mark.parametrize("wrong", [{"entries": 0, "head": ""}, {"entries": 99, "head": ""}, {"entries": -1}])
def test_a_head_of_no_entry_shows_nothing(folder: Path, tmp_path: Path, wrong: dict[str, Any]) -> None:
    desk = Desk(folder, OKAFOR)
    head = tmp_path / "head.json"
    head.write_text(json.dumps(chain_of(desk) | wrong))
    with pytest.raises(DeskError, match="holds no head"):
        check_head(desk, head)


@pytest.mark.parametrize("statement", ["UPDATE log SET name = 'S. Berg'", "DELETE FROM log", "DROP TRIGGER no_update"])
def test_events_are_neither_changed_nor_deleted(folder: Path, desks: tuple[Desk, Desk], statement: str) -> None:
    connection = sqlite3.connect(folder / ".glassine" / "desk.db", isolation_level=None)
    if not statement.startswith("DROP"):
        with pytest.raises(sqlite3.IntegrityError, match="never changed or deleted"):
            connection.execute(statement)
        # Whoever removes the trigger first changes what the record is checked to be.
        connection.execute("DROP TRIGGER no_delete")
    else:
        connection.execute(statement)
    connection.close()
    with pytest.raises(DamagedDeskError, match="tables are not those"):
        Desk(folder, BERG)
