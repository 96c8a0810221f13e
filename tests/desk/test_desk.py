"""Votes, sign-offs and releases: bound to bytes, by two people, and nothing else is recorded."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from glassine import desk as desk_room
from glassine.desk import Desk, Person, stated
from glassine.desk.auditing import Audits
from glassine.desk.desk_record import UNDER_SETTINGS
from glassine.desk.events import KINDS
from glassine.desk.folder import OWN, Folder, kind_of
from glassine.desk.releasing import record_of, release, sign
from glassine.desk.state import DECISIONS, DeskState, folded
from glassine.errors import DeskError, LogError, RefusedActionError
from tests.conftest import ROOT
from tests.desk.desks import (
    BERG,
    LIND,
    OKAFOR,
    RULES,
    SIGNED_FOR,
    SMALL_RULES,
    Served,
    approve,
    bound,
    look,
    ready,
    render,
    within,
)


def test_two_equal_votes_a_sign_off_and_the_released_bytes(desks: tuple[Desk, Desk], folder: Path) -> None:
    first, second = desks
    approve(first, "rules.txt")
    assert first.ready() == []
    approve(second, "rules.txt", note="figure 12 is exact")
    first.refresh()
    written = release(first, sign(first, {**SIGNED_FOR, "files": ready(first)}), render)
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
    number = sign(first, {**SIGNED_FOR, "files": ready(first)})
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
            sign(first, {**SIGNED_FOR, "files": files, **missing})
    first.ask(*bound(first, "rules.txt", text="Is one person one record?"))
    with pytest.raises(RefusedActionError, match="no longer ready"):
        sign(first, {**SIGNED_FOR, "files": files})
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["needed = 1\n", "needed = [", 'checkers = ["berg"]\n', ""])
def test_nothing_is_decided_under_settings_that_changed_since(folder: Path, kind: str, text: str) -> None:
    desk = Desk(folder, OKAFOR)
    if not text:
        # Changed, read by another desk, and changed back: the record states the others last.
        (desk.own / "desk.toml").write_text("needed = 3\n")
        Desk(folder, BERG)
        desk.refresh()
    (desk.own / "desk.toml").write_text(text)
    body = {"key": "k", "column": "age", "phase": "begun"}
    if kind in UNDER_SETTINGS:
        with pytest.raises(RefusedActionError, match="settings of this desk changed"):
            desk.record(kind, body)
        assert [event.kind for event in desk.refresh().events if event.kind == kind] == []
    elif kind in ("seen", "stated", "charged"):
        # What happens, and nobody decides, is recorded all the same: a charge that was paid, say.
        assert desk.record(kind, body).kind == kind
    if text == "needed = 1\n":
        again = Desk(folder, OKAFOR)
        look(again)
        approve(again, "rules.txt")
        assert len(again.ready()) == 1


def test_a_title_is_no_setting_that_decides(folder: Path) -> None:
    desk = Desk(folder, OKAFOR)
    (desk.own / "desk.toml").write_text('title = "study"\nsingle_keys = false\n')
    desk.check_settings()


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
    number = sign(first, {**SIGNED_FOR, "files": ready(first)})
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

    monkeypatch.setattr("glassine.desk.desk_record.folded", slow)
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


def test_a_note_is_of_the_analyst_whose_file_it_is_and_changes_no_verdict(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassine.desk.desk.account_of", lambda number: "lind")
    analyst, checker = Desk(folder, LIND), Desk(folder, OKAFOR)
    for desk in (analyst, checker):
        look(desk)
    identity, asked = bound(analyst, "rules.txt", text="the rules of table 3")
    other = Desk(folder, Person(account="other", name="O. Other", role="analyst"))
    for desk, text in ((checker, "mine"), (other, "mine"), (analyst, " ")):
        desk.refresh()
        with pytest.raises(RefusedActionError, match=r"only the analyst|needs a text"):
            desk.remark(identity, {**asked, "text": text})
    analyst.remark(identity, asked)
    version = checker.refresh().files[identity].now
    assert [(one.person, one.text) for one in version.remarks] == [(LIND, "the rules of table 3")]
    assert checker.audit(version).verdict == "within policy"
    # A page that was drawn before does not show it yet.
    with pytest.raises(RefusedActionError, match="changed this file"):
        checker.vote(identity, {**asked, "decision": "approve"})
    assert [one["kind"] for one in record_of(checker.state, checker, "public")["events"]] == []


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


def test_a_column_is_seen_under_every_name_of_a_model(folder: Path) -> None:
    desk = Desk(folder, LIND)
    desk.record("seen", {"domain": "rules.txt", "column": "age", "records": "records.csv"})
    desk.record("seen", {"domain": "d.json", "model": "rules.txt", "records": "records.csv"})
    assert list(desk.state.seen) == ["age"]


def test_what_a_folder_has_and_a_desk_does_not_list_is_said_with_the_reason(folder: Path, tmp_path: Path) -> None:
    long = f"{'x' * 220}.json"
    (folder / long).write_text("{}")
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    (folder / ".hidden").write_text("x")
    (folder / "later").mkdir()
    (folder / "checksums").mkdir()
    os.mkfifo(folder / "pipe.json")
    desk = Desk(folder, OKAFOR)
    desk.scan()
    assert {name: why.partition(",")[0] for name, why in desk.left_out.items()} == {
        long: "its name has 225 bytes",
        "link.json": "it is a link",
        ".hidden": "its name begins with a dot",
        "later": "it is a folder",
        "pipe.json": "it is no file",
    }
    # Every entry is either listed or said to be left out.
    listed = {one.name for one in desk.folder.files()}
    assert listed | set(desk.left_out) | {OWN, "checksums"} == {path.name for path in folder.iterdir()}
    served = Served(folder)
    try:
        within(lambda: served.app.desk.present())
        page = served.ask("GET", "/api/queue")[1]
        assert "5 entries of the folder are not listed" in page
        assert "200 are the most" in page
        before = json.loads(served.ask("GET", "/api/desk")[1])["head"]
        (folder / "another.json").symlink_to(tmp_path)
        within(lambda: json.loads(served.ask("GET", "/api/desk")[1])["head"] != before)
    finally:
        served.stop()


def test_what_cannot_be_opened_is_said_to_be_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: Folder, name: str) -> tuple[str, int]:
        raise DeskError(f"cannot open '{name}': Permission denied.", path=folder.path / name)

    monkeypatch.setattr(Folder, "digest", refuse)
    desk = Desk(folder, OKAFOR)
    desk.scan()
    assert desk.left_out == {"rules.txt": "cannot open 'rules.txt': Permission denied"}


@contextmanager
def without_rights(folder: Path) -> Iterator[None]:
    """Take from this account the right to write to a folder; root gives itself that of nobody meanwhile."""
    for path in (folder, folder / ".glassine"):
        if path.exists():
            path.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for path in (folder, folder / ".glassine"):
            if path.exists():
                path.chmod(0o755)


NOBODY = 65534


def test_a_folder_that_an_account_can_only_read_is_told_and_decides_nothing() -> None:
    with tempfile.TemporaryDirectory() as place:  # The folder of a test is its account's alone
        Path(place).chmod(0o755)
        new, known = Path(place, "new"), Path(place, "known")
        for folder in (new, known):
            folder.mkdir()
            (folder / "rules.txt").write_text(RULES)
        look(Desk(known, OKAFOR))
        for path in (known / ".glassine").rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        with without_rights(new), pytest.raises(DeskError, match="Have your account given the right to write"):
            Desk(new, BERG)
        with without_rights(known):
            desk = Desk(known, BERG)
            before = len(desk.state.events)
            identity, asked = bound(desk, "rules.txt", decision="approve", reason="small", author="M. Lind")
            with pytest.raises(DeskError, match="Nothing can be recorded in the folder"):
                desk.vote(identity, asked)
            assert len(desk.refresh().events) == before


@pytest.mark.parametrize("kind", ["link", "pipe"])
@pytest.mark.parametrize("name", ["", "audits", "held", "trained", "desk.toml", "texts.toml", "own.toml", "desk.db"])
def test_nothing_of_the_desk_itself_is_a_link_or_a_pipe(folder: Path, tmp_path: Path, name: str, kind: str) -> None:
    place = folder / ".glassine" / name
    place.parent.mkdir(exist_ok=True)
    if name == "own.toml":
        (folder / ".glassine" / "desk.toml").write_text('policy = "own.toml"\n')
    outside = tmp_path / "outside"
    outside.mkdir()
    if kind == "link":
        place.symlink_to(outside)
    else:
        os.mkfifo(place)
    with pytest.raises((DeskError, LogError), match=r"link|no regular file|cannot write|and .* is none"):
        Desk(folder, OKAFOR)
    assert list(outside.iterdir()) == []


def test_a_lock_that_is_a_pipe_is_not_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(folder, OKAFOR)
    monkeypatch.setattr("glassine.desk.desk_record.WAIT", 0.05)
    os.mkfifo(desk.own / "desk.lock")
    with pytest.raises(DeskError, match="it does not say which"):
        look(desk)


def test_a_stored_audit_that_became_a_pipe_is_none(folder: Path) -> None:
    desk = Desk(folder, OKAFOR)
    look(desk)
    os.mkfifo(desk.own / "audits" / f"{'0' * 64}.json")
    assert Audits(desk).result(desk.file(bound(desk, "rules.txt")[0]).now) is None


def test_a_disk_that_stays_full_costs_a_desk_no_descriptor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(folder, OKAFOR)

    def full(handle: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    n_open = len(os.listdir("/dev/fd"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for _ in range(5):
            with pytest.raises(OSError, match="No space"):
                desk.scan()
    assert len(os.listdir("/dev/fd")) == n_open
    assert desk.scan() == 1


@pytest.mark.parametrize("change", ["policy", "verdict"])
def test_votes_under_another_policy_or_a_better_verdict_sign_nothing(folder: Path, change: str) -> None:
    desk, other = Desk(folder, OKAFOR), Desk(folder, BERG)
    for one in (desk, other):
        look(one)
        approve(one, "rules.txt")
    desk.refresh()
    chosen = ready(desk)
    assert len(chosen) == 1
    if change == "policy":
        (folder / OWN / "desk.toml").write_text('policy = "strict"\n')
        desk = Desk(folder, OKAFOR)
        look(desk)
    else:
        file = desk.file(bound(desk, "rules.txt")[0])
        audit = desk.audit(file.now)
        body = {"policy": "default", "policy_sha256": audit.policy_digest, "answers": audit.answers, "result": "1" * 64}
        desk.audited(file.id, file.now.sha256, {**body, "verdict": "outside policy"})
    assert ready(desk) == []
    with pytest.raises(RefusedActionError, match="no longer ready"):
        sign(desk, {**SIGNED_FOR, "files": chosen})
    # They vote again, on what they see now.
    desk.turn(*bound(desk, "rules.txt", action="again"))
    other = Desk(folder, BERG)
    for one in (desk, other):
        one.scan()
        approve(one, "rules.txt", reason="looked at")
    desk.refresh()
    assert ready(desk) == chosen
