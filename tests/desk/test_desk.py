"""Votes, sign-offs and releases: bound to bytes, by two people, and nothing else is recorded."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from glassine import desk as desk_room
from glassine.desk import Desk, Person, stated
from glassine.desk.folder import Folder, kind_of
from glassine.desk.heads import RECORD, chain_of, check_head, exported
from glassine.desk.releasing import record_of, release, sign
from glassine.desk.screens import environment
from glassine.desk.state import DECISIONS, DeskState, folded
from glassine.errors import DamagedDeskError, DeskError, RefusedActionError, SignatureError
from glassine.privacy.signing import make_keys
from tests.conftest import ROOT
from tests.desk.desks import BERG, LIND, OKAFOR, RULES, SMALL_RULES, approve, bound, look


def render(record: Any) -> str:
    return environment().get_template("record_page.html").render(record=record)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "study"
    place.mkdir()
    (place / "rules.txt").write_text(RULES)
    return place


@pytest.fixture
def desks(folder: Path) -> tuple[Desk, Desk]:
    first = Desk(folder, OKAFOR)
    look(first)
    second = Desk(folder, BERG)
    second.scan()
    return first, second


STATED = {"recipient": "the ministry", "purpose": "a report", "looked": "1"}


def ready(desk: Desk) -> list[str]:
    return [f"{file.id}:{file.now.sha256}" for file in desk.ready()]


def test_two_equal_votes_a_sign_off_and_the_released_bytes(desks: tuple[Desk, Desk], folder: Path) -> None:
    first, second = desks
    approve(first, "rules.txt")
    assert first.ready() == []
    approve(second, "rules.txt", note="figure 12 is exact")
    first.refresh()
    written = release(first, sign(first, {**STATED, "files": ready(first)}), render)
    assert written == folder / "release-1"
    assert (written / "rules.txt").read_bytes() == (folder / "rules.txt").read_bytes()
    record = json.loads((written / "record.json").read_text())
    assert [one["decision"] for one in record["events"] if one["kind"] == "voted"] == [DECISIONS["approve"]] * 2
    assert {path.name for path in written.iterdir()} == {
        *("rules.txt", "results.json", "record.json", "record.html", "checksums")
    }
    assert not any("figure 12" in path.read_text() for path in written.rglob("*") if path.is_file())
    assert "figure 12 is exact" in (folder / "checkers-1" / "record.json").read_text()
    assert first.refresh().written
    with pytest.raises(RefusedActionError, match="no such sign-off"):
        release(first, next(iter(first.state.signings)), render)


def test_votes_are_hidden_until_all_are_in(desks: tuple[Desk, Desk]) -> None:
    first, second = desks
    approve(first, "rules.txt", note="hidden thought", reason="hidden reason")
    second.refresh()
    seen = json.dumps(record_of(second.state, second, "checkers"))
    assert "hidden until all votes are in" in seen
    assert "hidden thought" not in seen
    assert "hidden reason" not in seen
    assert "voted" not in json.dumps(record_of(second.state, second, "public")["events"])
    approve(second, "rules.txt")
    assert "hidden thought" in json.dumps(record_of(second.state, second, "checkers"))
    assert "hidden thought" not in json.dumps(record_of(second.state, second, "public"))


def test_unequal_votes_are_a_conflict_that_a_new_turn_settles(desks: tuple[Desk, Desk]) -> None:
    first, second = desks
    approve(first, "rules.txt")
    second.refresh()
    identity, asked = bound(second, "rules.txt", decision="reject", reason="no purpose is stated")
    second.vote(identity, asked)
    assert second.file(identity).now.status(2) == "conflict"
    second.turn(*bound(second, "rules.txt", action="again"))
    for desk in desks:
        approve(desk, "rules.txt")
    first.refresh()
    assert len(first.ready()) == 1


def test_the_rules_of_a_vote(desks: tuple[Desk, Desk], folder: Path) -> None:
    first, second = desks
    identity, asked = bound(first, "rules.txt", decision="approve")
    for wrong, match in (
        ({"decision": "perhaps"}, "needs a decision"),
        ({"decision": "reject"}, "reason is needed with a rejection"),
        ({"decision": "changes", "reason": "  "}, "reason is needed with a request"),
        ({"sha256": "0" * 64}, "changed this file"),
        ({"changed": 0}, "changed this file"),
        ({"reason": "x" * 20_000}, "at most 10,000"),
    ):
        with pytest.raises(RefusedActionError, match=match):
            first.vote(identity, {**asked, **wrong})
    first.vote(identity, asked)
    with pytest.raises(RefusedActionError, match="voted on this version already"):
        first.vote(identity, asked)
    same_account = Desk(folder, Person(account="okafor", name="Somebody Else", role="checker"))
    same_account.scan()
    with pytest.raises(RefusedActionError, match="account of the operating system"):
        same_account.vote(identity, asked)
    analyst = Desk(folder, LIND)
    analyst.scan()
    with pytest.raises(RefusedActionError, match="only checkers vote"):
        analyst.vote(identity, asked)
    assert len(second.refresh().files[identity].now.votes) == 1


def test_an_approval_against_the_verdict_needs_a_reason(folder: Path) -> None:
    (folder / "small.txt").write_text(SMALL_RULES)
    desk = Desk(folder, OKAFOR)
    look(desk)
    with pytest.raises(RefusedActionError, match="reason is needed against the verdict") as caught:
        approve(desk, "small.txt")
    assert caught.value.field == "reason"
    approve(desk, "small.txt", reason="one record of a public register")


def test_an_approval_of_a_file_that_can_hold_records_needs_a_reason(folder: Path) -> None:
    desk = Desk(folder, OKAFOR)
    look(desk, foreign=True)
    with pytest.raises(RefusedActionError, match="it can hold records beside its model") as caught:
        approve(desk, "rules.txt")
    assert caught.value.field == "reason"
    approve(desk, "rules.txt", reason="looked through: it holds comments alone")


def test_the_author_does_not_check_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassine.desk.desk.account_of", lambda number: "lind")
    analyst = Desk(folder, LIND)
    look(analyst)
    turned = Desk(folder, Person(account="lind", name="M. Lind", role="checker"))
    turned.scan()
    with pytest.raises(RefusedActionError, match="author does not check it"):
        approve(turned, "rules.txt", author="Somebody")


def test_the_owner_of_a_copy_names_its_author(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassine.desk.desk.account_of", lambda number: "okafor")
    desk = Desk(folder, OKAFOR)
    look(desk)
    with pytest.raises(RefusedActionError, match="belongs to your account") as caught:
        approve(desk, "rules.txt")
    assert caught.value.field == "author"
    approve(desk, "rules.txt", author="M. Lind")
    assert desk.refresh().events[-1].body["author"] == "M. Lind"


def test_a_changed_file_loses_its_votes(desks: tuple[Desk, Desk], folder: Path) -> None:
    for desk in desks:
        approve(desk, "rules.txt")
    (folder / "rules.txt").write_text(RULES.replace("520", "521"))
    look(desks[0])
    (file,) = desks[0].state.files.values()
    assert (len(file.versions), file.now.votes, desks[0].ready()) == (2, [], [])


def test_a_file_swapped_after_the_votes_is_not_released(desks: tuple[Desk, Desk], folder: Path) -> None:
    first, second = desks
    for desk in desks:
        approve(desk, "rules.txt")
    first.refresh()
    number = sign(first, {**STATED, "files": ready(first)})
    (folder / "rules.txt").write_text(SMALL_RULES)
    with pytest.raises(DeskError, match="not the file that was signed"):
        release(first, number, render)
    assert not (folder / "release-1").exists()
    assert not any(path.name.startswith("release") for path in (folder / ".glassine").iterdir())
    assert second.refresh().written == {}


def test_a_sign_off_states_what_it_must(desks: tuple[Desk, Desk]) -> None:
    first, _ = desks
    for desk in desks:
        approve(desk, "rules.txt")
    files = (first.refresh(), ready(first))[1]
    for missing, match in (
        ({"recipient": ""}, "needs a recipient"),
        ({"looked": ""}, "looked at what"),
        ({"review_by": "soon"}, "a day such as"),
        ({"files": []}, "at least one file"),
        ({"files": ["0:0"]}, "no longer ready"),
    ):
        with pytest.raises(RefusedActionError, match=match):
            sign(first, {**STATED, "files": files, **missing})
    first.ask(*bound(first, "rules.txt", text="Is one person one record?"))
    with pytest.raises(RefusedActionError, match="no longer ready"):
        sign(first, {**STATED, "files": files})
    first.answer(*bound(first, "rules.txt", text="yes"))


def test_answers_go_to_the_audit_and_need_a_new_one(desks: tuple[Desk, Desk]) -> None:
    first, _ = desks
    first.ask(*bound(first, "rules.txt", items=["How many?"]))
    with pytest.raises(RefusedActionError, match="whole number") as caught:
        first.answer(*bound(first, "rules.txt", stated_leaf="many"))
    assert caught.value.field == "stated_leaf"
    first.answer(*bound(first, "rules.txt", stated_leaf="12", one_record_per_person="1"))
    (file,) = first.state.files.values()
    assert file.now.answers == {"stated_leaf": 12, "one_record_per_person": True}
    assert first.audit(file.now) is None
    with pytest.raises(RefusedActionError, match="not looked at this file yet"):
        approve(first, "rules.txt")


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


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("needed = 0", "at least 1"),
        ("checkers = 3", "a list of accounts"),
        ("colour = 1", "unknown setting"),
        ("needed = [", "cannot read"),
        ('policy = "../p.toml"', "beside it"),
        ('policy = "none.toml"', "cannot read the policy"),
        ('checkers = ["berg"]', "not one of the checkers"),
    ],
)
def test_settings_that_cannot_be_used(folder: Path, text: str, match: str) -> None:
    (folder / ".glassine").mkdir()
    (folder / ".glassine" / "desk.toml").write_text(text)
    with pytest.raises(DeskError, match=match):
        Desk(folder, OKAFOR)


def test_one_account_supplies_two_checkers_only_where_the_settings_say_so(folder: Path) -> None:
    (folder / ".glassine").mkdir()
    (folder / ".glassine" / "desk.toml").write_text("shared_account = true")
    people = [Person(account="shared", name=name, role="checker") for name in ("One", "Two")]
    desks = [Desk(folder, person) for person in people]
    for desk in desks:
        look(desk)
        approve(desk, "rules.txt")
    voted = [event.body["verified"] for event in desks[0].refresh().events if event.kind == "voted"]
    assert voted == [False, False]
    assert len(desks[0].ready()) == 1


def test_the_names_of_a_folder_are_regular_files_of_one_component(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}")
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    (folder / ".hidden").write_text("x")
    os.mkfifo(folder / "pipe.json")
    desk = Desk(folder, OKAFOR)
    assert [one.name for one in desk.folder.files()] == ["rules.txt"]
    for name in ("link.json", "pipe.json", "../secret.json", "/etc/passwd", "", "none.json"):
        with pytest.raises(DeskError):
            desk.folder.read(name, 10)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"schema": "glassine.domain/1"}', "domain"),
        (' {"a": [{"b": 1}], "schema" : "glassine.domain/1"}', "domain"),
        ('{"schema": "glassine.model/2", "schema": "glassine.domain/1"}', "model"),
        ('{"a": {"schema": "glassine.domain/1"}}', "model"),
        ('{"a": ["schema", "glassine.domain/1"]}', "model"),
        ('{"a": "} \\"schema\\": \\"glassine.domain/1\\""}', "model"),
        ('[{"schema": "glassine.domain/1"}]', "model"),
        ('if [x] then [y] "schema": "glassine.domain/1"', "model"),
    ],
)
def test_a_file_is_what_its_own_schema_says(text: str, kind: str) -> None:
    assert kind_of("file.json", text.encode(), len(text)) == kind


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
        # What the audit found on the records of each data set.
        audit = desks[0].state.events[-1].body | {"verdict": verdict, "result": note * 64}
        desks[0].record("audited", audit)
        for desk in desks:
            desk.scan()
            approve(desk, "rules.txt", reason="agreed", note=f"exact figure {note}")
        desks[0].refresh()
        written = release(desks[0], sign(desks[0], {**STATED, "files": ready(desks[0])}), render)
        assert file.id
        return {str(p.relative_to(written)): p.read_bytes() for p in written.rglob("*") if p.is_file()}

    assert released("a", "1", "within policy") == released("b", "2", "inconclusive")


def released_with_acro(folder: Path) -> Path:
    """Release a model and a table of ACRO, whose record is of an older version, and return the folder."""
    folder.mkdir()
    (folder / "rules.txt").write_text(RULES)
    (folder / "table.csv").write_text("group,n\nsmokers,3\n")
    entry = {
        "uid": "output_0",
        "status": "fail",
        "type": "table",
        "summary": "fail; threshold: 1 cells; ",
        "files": [{"name": "table.csv", "sdc": {"cells": {"threshold": [[0, 0]]}}}, {"name": "../rules.txt"}],
        "comments": ["a comment of the analyst"],
        "exception": "an exception of the analyst",
    }
    session = {"uid": "session_summary", "files": [{"name": "secret.txt"}], "summary": "DO_NOT_RELEASE"}
    (folder / "secret.txt").write_text("the session")
    results = {"output_0": entry, "session_summary": session}
    (folder / "results.json").write_text(json.dumps({"version": "0.4.11", "results": results}))
    (folder / "checksums").mkdir()
    (folder / "checksums" / "table.csv.txt").write_text("0" * 64)
    first, second = Desk(folder, OKAFOR), Desk(folder, BERG)
    look(first)
    second.scan()
    for desk in (first, second):
        for name in ("rules.txt", "table.csv"):
            approve(desk, name, reason="looked at")
    first.refresh()
    return release(first, sign(first, {**STATED, "files": ready(first)}), render)


def test_acro_goes_in_and_out_by_an_allow_list(tmp_path: Path) -> None:
    before = tmp_path / "study"
    written = released_with_acro(before)
    desk = Desk(before, OKAFOR)
    desk.scan()
    files = {file.name: file.now.acro for file in desk.state.files.values()}
    table, secret = files["table.csv"], files["secret.txt"]
    assert table is not None
    assert (table["checksum"], table["cells"]) == ("differs", {"threshold": [[0, 0]]})
    assert files["rules.txt"] is None
    assert secret is not None
    assert secret["blocked"]
    with pytest.raises(RefusedActionError, match="DO_NOT_RELEASE"):
        approve(desk, "secret.txt", reason="why not")
    text = (written / "results.json").read_text()
    results = json.loads(text)["results"]
    assert list(results) == ["rules.txt", "output_0"]
    assert results["output_0"]["files"][0]["sdc"]["cells"] == {"threshold": [[0, 0]]}
    assert not any(word in text for word in ("session_summary", "DO_NOT_RELEASE", "of the analyst", "secret"))
    # The submitted record and its checksums are as they were.
    assert (before / "checksums" / "table.csv.txt").read_text() == "0" * 64
    assert [path.name for path in (before / "checksums").iterdir()] == ["table.csv.txt"]


KILLED = """
import json, os, shutil, signal, sys
from pathlib import Path
from glassine.desk import Desk
from glassine.desk.releasing import release, sign
from glassine.privacy import chained_log
from tests.desk.desks import BERG, OKAFOR, RULES, approve, look
from tests.desk.test_desk import STATED, ready, render

at, count = 0, 0
def step():
    global count
    count += 1
    if count == at:
        os.kill(os.getpid(), signal.SIGKILL)
def traced(original):
    def call(*arguments, **options):
        step()
        result = original(*arguments, **options)
        step()
        return result
    return call
chained_log.ChainedLog._write = traced(chained_log.ChainedLog._write)
os.rename, Path.rename, Path.mkdir = traced(os.rename), traced(Path.rename), traced(Path.mkdir)

def work(folder):
    first = Desk(folder, OKAFOR)
    look(first)
    second = Desk(folder, BERG)
    second.scan()
    for desk in (first, second):
        desk.refresh()
        (file,) = desk.state.files.values()
        if not file.now.ended and not any(vote.person == desk.person for vote in file.now.votes):
            approve(desk, "rules.txt")
    first.refresh()
    if not first.state.signings:
        sign(first, {**STATED, "files": ready(first)})
    (number,) = first.refresh().signings
    if number not in first.state.written:
        release(first, number, render)

def child(folder, when):
    global at, count
    number = os.fork()
    if number:
        return os.waitpid(number, 0)[1]
    at, count = when, 0
    work(folder)
    os._exit(0)

def events(folder):
    return [event.kind for event in Desk(folder, OKAFOR).refresh().events]

def new(name):
    folder = Path(sys.argv[1]) / name
    os.mkdir(folder)
    (folder / "rules.txt").write_text(RULES)
    return folder

whole = new("whole")
work(whole)
steps, found = count, []
for when in range(1, steps + 1):
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
    assert expected == ["settled", "received", "audited", "voted", "voted", "signed", "released"]
    assert len(found) > 15
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
    written = release(first, sign(first, {**STATED, "files": ready(first)}), render)
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


@pytest.mark.parametrize(
    "path", sorted(Path(desk_room.__file__).parent.glob("templates/*.html")), ids=lambda one: one.name
)
def test_no_field_hides_what_the_scripts_ask_a_form_for(path: Path) -> None:
    # In a browser, form.dataset is the field of this name where there is one.
    names = re.findall(r'\bname="([a-z_]+)', path.read_text()) + re.findall(
        r'{{ (?:line|area)\("([a-z_]+)', path.read_text()
    )
    scripts = "".join(one.read_text() for one in path.parents[1].glob("assets/*.js"))
    asked = set(re.findall(r"\bform\.(\w+)", scripts)) | {"dataset", "elements", "closest", "contains"}
    assert not asked & set(names)


def test_a_folder_that_somebody_prepared_is_no_release(desks: tuple[Desk, Desk], folder: Path) -> None:
    for desk in desks:
        approve(desk, "rules.txt")
    first = desks[0]
    first.refresh()
    number = sign(first, {**STATED, "files": ready(first)})
    # The approved bytes lie in it, and beside them what nobody approved.
    prepared = folder / "release-1"
    prepared.mkdir()
    (prepared / "rules.txt").write_bytes((folder / "rules.txt").read_bytes())
    (prepared / "secret.csv").write_text("name,illness\n")
    with pytest.raises(DeskError, match="exists and is not this release"):
        release(first, number, render)
    assert first.refresh().written == {}
    shutil.rmtree(prepared)
    prepared.symlink_to(folder / "elsewhere")
    with pytest.raises(DeskError, match="exists and is not this release"):
        release(first, number, render)
    prepared.unlink()
    assert release(first, number, render) == prepared


@pytest.mark.parametrize("name", sorted(stated.STATED))
def test_every_statement_is_an_option_of_the_audit_and_nothing_else_is_taken(folder: Path, name: str) -> None:
    field, opened = stated.STATED[name], Folder(folder)
    assert f"  {field.option} " in (ROOT / "docs" / "reference" / "cli.md").read_text()
    values = {"flag": "1", "number": "12", "share": "0.1", "choice": (*field.choices, "")[0], "file": "rules.txt"}
    assert name in stated.stated_of({name: values[field.kind]}, opened)
    assert stated.stated_of({name: ""}, opened) == {}
    if field.kind != "flag":
        with pytest.raises(RefusedActionError) as caught:
            stated.stated_of({name: "none of these"}, opened)
        assert caught.value.field == name


def test_a_vote_counts_once_though_two_threads_read_the_record(
    desks: tuple[Desk, Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = desks
    approve(second, "rules.txt")

    def slow(*read: Any) -> DeskState:
        time.sleep(0.05)  # Where the other thread goes on
        return folded(*read)

    monkeypatch.setattr("glassine.desk.desk.folded", slow)
    before = first.state
    watch = threading.Thread(target=first.refresh)
    watch.start()
    first.record("exported", {"audience": "public"})
    watch.join()
    (file,) = first.state.files.values()
    assert [vote.person for vote in file.now.votes] == [BERG]
    assert [event.number for event in first.state.events] == list(range(1, len(first.state.events) + 1))
    # Who was reading the state that was replaced still reads it.
    assert before.events == first.state.events[: len(before.events)]
    assert len(before.events) == len(first.state.events) - 2


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


def test_a_statement_needs_a_question_and_a_question_a_checker(desks: tuple[Desk, Desk], folder: Path) -> None:
    first, _ = desks
    analyst = Desk(folder, LIND)
    analyst.scan()
    for person in (analyst, first):
        with pytest.raises(RefusedActionError, match="no question is open"):
            person.answer(*bound(person, "rules.txt", public_cuts="1"))
    with pytest.raises(RefusedActionError, match="only checkers ask"):
        analyst.ask(*bound(analyst, "rules.txt", text="May I?"))
    first.ask(*bound(first, "rules.txt", text="Were the cut points public?"))
    analyst.refresh()
    analyst.answer(*bound(analyst, "rules.txt", public_cuts="1"))
    assert analyst.file(bound(analyst, "rules.txt")[0]).now.answers == {"public_cuts": True}


def test_an_analyst_neither_opens_a_new_turn_nor_withdraws_the_file_of_another(
    desks: tuple[Desk, Desk], folder: Path
) -> None:
    analyst = Desk(folder, LIND)
    analyst.scan()
    author = Desk(
        folder, Person(account=analyst.file(bound(analyst, "rules.txt")[0]).now.author, name="A", role="analyst")
    )
    with pytest.raises(RefusedActionError, match="only they and its author"):
        analyst.turn(*bound(analyst, "rules.txt", action="withdraw"))
    for desk in desks:
        desk.refresh()
        desk.vote(*bound(desk, "rules.txt", decision="reject", reason="no purpose is stated"))
    for action in ("again", "return"):
        for person in (analyst, author):
            person.refresh()
            with pytest.raises(RefusedActionError, match="only checkers vote again"):
                person.turn(*bound(person, "rules.txt", action=action))
    desks[1].turn(*bound(desks[1], "rules.txt", action="again"))
    author.refresh()
    author.turn(*bound(author, "rules.txt", action="withdraw"))
    assert author.file(bound(author, "rules.txt")[0]).now.ended == "withdrawn"


def entry_of(name: str, **more: Any) -> str:
    return json.dumps({"version": "1", "results": {"a": {"type": "table", "files": [{"name": name}], **more}}})


def test_an_entry_of_acro_that_lands_after_its_file_is_recorded_and_blocks(
    desks: tuple[Desk, Desk], folder: Path
) -> None:
    first, second = desks
    for desk in desks:
        approve(desk, "rules.txt")
    files = (first.refresh(), ready(first))[1]
    (folder / "results.json").write_text(entry_of("rules.txt", summary="DO_NOT_RELEASE"))
    # Before the desk has recorded it, too.
    with pytest.raises(RefusedActionError, match="DO_NOT_RELEASE"):
        sign(first, {**STATED, "files": files})
    third = Desk(folder, Person(account="third", name="T", role="checker"))
    assert first.scan() == 2
    second.refresh()
    assert [second.scan(), first.scan()] == [0, 0]
    third.refresh()
    assert (third.file(bound(third, "rules.txt")[0]).now.acro or {})["blocked"]
    (folder / "results.json").unlink()
    first.scan()
    with pytest.raises(RefusedActionError, match="DO_NOT_RELEASE"):
        sign(first, {**STATED, "files": ready(first)})


def test_the_longest_entry_loses_no_other_file_and_a_failed_write_is_tried_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(folder, OKAFOR)
    long = "\N{GRINNING FACE}" * 3_000
    cells = {rule: [[999_999 - n, 999_999] for n in range(20_000)] for rule in ("threshold", "p-ratio")}
    more = dict.fromkeys(("uid", "type", "status", "exception"), long) | {"comments": [long] * 60}
    files = [{"name": "rules.txt", "sdc": {"cells": cells}}]
    (folder / "results.json").write_text(entry_of("", **more, files=files, summary=f"DO_NOT_RELEASE {long}"))
    (folder / "other.txt").write_text("other")

    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Desk, "_append", fail)
        with pytest.raises(DeskError, match="disk is full"):
            desk.scan()
    assert desk.scan() == 3
    recorded = desk.file(bound(desk, "rules.txt")[0]).now.acro or {}
    assert (recorded["blocked"], len(recorded["comments"][0])) == (True, 2000)
    assert desk.scan() == 0


def test_a_column_is_seen_under_every_name_of_a_model(folder: Path) -> None:
    desk = Desk(folder, LIND)
    desk.record("seen", {"domain": "rules.txt", "column": "age", "records": "records.csv"})
    desk.record("seen", {"domain": "d.json", "model": "rules.txt", "records": "records.csv"})
    assert list(desk.state.seen) == ["age"]
