"""Who decides, under which settings, and on whose verdict: the same for a vote, an acceptance and a sign-off."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassine.desk import Desk, Person
from glassine.desk.auditing import Audits
from glassine.desk.form_values import digest_of
from glassine.desk.releasing import record_of, release, sign
from glassine.desk.workers import Done
from glassine.errors import RefusedActionError
from tests.desk.desks import BERG, LIND, OKAFOR, SIGNED_FOR, SMALL_RULES, Served, approve, bound, look, ready, render

VOSS = Person(account="voss", name="T. Voss", role="checker")
WHY = "trained by the registry"


def press(desk: Desk, act: str) -> None:
    """Decide on the file in one of the ways in which checkers do."""
    desk.scan()
    if act == "sign":
        sign(desk, {**SIGNED_FOR, "files": ready(desk)})
        return
    identity, asked = bound(desk, "rules.txt", decision="approve", accepted="yes", trust=WHY)
    (desk.vote if act == "vote" else desk.accept)(identity, asked)


def opened(folder: Path, person: Person) -> Desk:
    desk = Desk(folder, person)
    look(desk)
    return desk


def set_desk(folder: Path, text: str) -> None:
    (folder / ".glassine" / "desk.toml").write_text(text)


@pytest.mark.parametrize("act", ["vote", "accept", "sign"])
@pytest.mark.parametrize("way", ["sent", "named", "named by account"])
def test_an_author_decides_in_no_way(folder: Path, monkeypatch: pytest.MonkeyPatch, way: str, act: str) -> None:
    monkeypatch.setattr("glassine.desk.desk.account_of", lambda number: "lind" if way == "sent" else "okafor")
    author = VOSS
    if way == "sent":
        Desk(folder, LIND).scan()
        author = Person(account="lind", name="M. Lind", role="checker")
    okafor = opened(folder, OKAFOR)
    # That another checker names the author correctly makes no other person of the author.
    approve(okafor, "rules.txt", author={"sent": "M. Lind", "named": "t. voss"}.get(way, "Voss"))
    if act == "sign":
        approve(opened(folder, BERG), "rules.txt")
    with pytest.raises(RefusedActionError, match=r"its author does not check it|the author of this file"):
        press(Desk(folder, author), act)
    if act == "sign":
        press(Desk(folder, BERG), act)


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("", 'checkers = ["okafor"]\n'),
        ("shared_account = true\n", ""),
        ("", 'policy = "strict"\n'),
    ],
)
def test_votes_count_that_the_present_settings_would_let_be_given(folder: Path, then: str, now: str) -> None:
    Desk(folder, OKAFOR)
    set_desk(folder, then)
    other = Person(account="okafor", name="T. Voss", role="checker") if then else BERG
    for person in (OKAFOR, other):
        approve(opened(folder, person), "rules.txt")
    assert len(ready(opened(folder, OKAFOR))) == 1
    set_desk(folder, now)
    desk = opened(folder, OKAFOR)
    assert ready(desk) == []
    # What was decided counts again under the settings that it was decided under.
    set_desk(folder, then)
    assert len(ready(opened(folder, OKAFOR))) == 1


def _of(desk: Desk) -> tuple[str, str]:
    identity, asked = bound(desk, "rules.txt")
    return identity, asked["sha256"]


def test_the_record_of_a_release_states_the_settings_that_it_was_signed_under(folder: Path) -> None:
    for person in (OKAFOR, BERG):
        approve(opened(folder, person), "rules.txt")
    desk = opened(folder, BERG)
    number = sign(desk, {**SIGNED_FOR, "files": ready(desk)})
    # The desk ended before it wrote the release.
    set_desk(folder, 'policy = "strict"\nneeded = 3\n')
    later = opened(folder, BERG)
    record = json.loads((release(later, number, render) / "record.json").read_text())
    assert (record["policy"], record["needed"]) == ("default", 2)
    assert [one["kind"] for one in record["events"]] == ["voted", "voted", "signed"]
    assert record["policy_sha256"] == desk.settings.policy_digest
    # Nor does the record of the desk hide again what was decided, or state it under the policy of today.
    public = record_of(later.refresh(), later, "public")
    shown = public["events"]
    assert [one["kind"] for one in shown] == ["voted", "voted", "signed", "released"]
    digest = desk.settings.policy_digest
    assert [(one["policy"], one["policy_sha256"]) for one in shown[:2]] == [("default", digest)] * 2
    assert "policy" not in public
    assert render(public).count("Policy: <bdi>default</bdi>") == 2


@pytest.mark.parametrize("foreign", ["role", "glassine"])
def test_the_verdict_of_a_checker_is_of_no_analysts_desk_and_no_other_version(
    folder: Path, monkeypatch: pytest.MonkeyPatch, foreign: str
) -> None:
    (folder / "rules.txt").write_text(SMALL_RULES)
    theirs = Desk(folder, LIND if foreign == "role" else BERG)
    theirs.scan()
    identity, sha256 = _of(theirs)
    body = {
        "policy_sha256": theirs.settings.policy_digest,
        **{"policy": "default", "answers": digest_of({}), "verdict": "within policy", "result": "0" * 64},
    }
    if foreign == "glassine":
        monkeypatch.setattr("glassine.desk.desk.__version__", "0.0.1")
    theirs.audited(identity, sha256, body)
    assert theirs.verdict(theirs.file(identity).now) == "within policy"
    monkeypatch.undo()
    mine = Desk(folder, OKAFOR)
    mine.scan()
    with pytest.raises(RefusedActionError, match="has not looked at this file yet"):
        approve(mine, "rules.txt")
    look(mine)
    assert mine.verdict(mine.file(identity).now) == "outside policy"


def test_only_checkers_write_a_release(folder: Path) -> None:
    for person in (OKAFOR, BERG):
        approve(opened(folder, person), "rules.txt", note="thought in private")
    desk = opened(folder, BERG)
    number = sign(desk, {**SIGNED_FOR, "files": ready(desk)})
    with pytest.raises(RefusedActionError, match="only checkers write a release"):
        release(Desk(folder, LIND), number, render)
    assert not list(folder.glob("*-1"))


ENTRY = {
    "output": {
        **{"uid": "output", "status": "fail", "type": "table", "properties": {}, "outcome": {}, "command": "x"},
        **{"summary": "fail", "timestamp": "2024-01-01", "comments": ["DO_NOT_RELEASE"], "exception": ""},
        "files": [{"name": "rules.txt", "sdc": {}}],
    }
}


def _copied(folder: Path) -> str:
    (folder / "copy.txt").write_bytes((folder / "rules.txt").read_bytes())
    return "copy.txt"


def _copied_alone(folder: Path) -> str:
    (folder / "rules.txt").rename(folder / "copy.txt")
    (folder / "results.json").unlink()
    return "copy.txt"


def _changed_and_back(folder: Path) -> str:
    data = (folder / "rules.txt").read_bytes()
    (folder / "results.json").unlink()
    (folder / "rules.txt").write_bytes(data + b"\n")
    look(Desk(folder, BERG))
    (folder / "rules.txt").write_bytes(data)
    return "rules.txt"


@pytest.mark.parametrize("move", [_copied, _copied_alone, _changed_and_back])
def test_bytes_that_are_marked_stay_so_under_every_name(folder: Path, move: Callable[[Path], str]) -> None:
    (folder / "results.json").write_text(json.dumps({"version": "0.4.8", "results": ENTRY}))
    desk = opened(folder, OKAFOR)
    assert desk.blocked() == {"rules.txt"}
    name = move(folder)
    look(desk)
    with pytest.raises(RefusedActionError, match="DO_NOT_RELEASE"):
        approve(desk, name)


@pytest.mark.parametrize("status", [-1, 1, 2, 139])
def test_only_a_verification_that_ended_is_ground_to_accept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    desk = Desk(folder, OKAFOR)
    (folder / "rules.certificate.json").write_text('{"schema": "glassine.certificate/1"}')
    served = Served(folder, OKAFOR)

    async def verified(audits: Audits, *of: Any) -> Done:
        return Done(status=status, out="", message="it took too much memory.")

    monkeypatch.setattr(Audits, "certificate", verified)
    try:
        served.audited("rules.txt", "rules.certificate.json")
        identity, asked = bound(served.app.desk, "rules.txt", accepted="yes", author="M. Lind", trust=WHY)
        answer, body, _ = served.ask("POST", f"/api/files/{identity}/accept", asked)
        assert answer == 422
        assert ("could not be verified" if status < 0 else "does not hold for these bytes") in body
    finally:
        served.stop()
    assert desk.refresh().files[identity].now.accepted is None
