"""A checker accepts the guarantee of one file: who, when and why is recorded, and the verdict rests on it."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import pytest

from glassine.desk import Desk
from glassine.desk.auditing import Audits
from glassine.desk.releasing import record_of
from glassine.desk.state import ACCEPTED
from glassine.errors import RefusedActionError
from tests.desk.desks import BERG, LIND, OKAFOR, Served, approve, bound, look, render, within
from tests.desk.submission import write_private, write_submission

WHY = "trained by the registry, and its ledger holds the charge"


def verdict(served: Served) -> str:
    file = next(one for one in served.app.desk.refresh().files.values() if one.name == "additive.json")
    return str((served.app.audits.result(file.now) or {}).get("verdict", ""))


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["", "accept_guarantee = false\nsmallest_leaf = 5\n"])
def test_the_verdict_rests_on_a_guarantee_that_a_checker_accepts(folder: Path, policy: str) -> None:
    write_private(folder / "additive.json")
    (folder / ".glassine").mkdir()
    if policy:
        (folder / ".glassine" / "own.toml").write_text(policy)
        (folder / ".glassine" / "desk.toml").write_text('policy = "own.toml"\n')
    served = Served(folder, OKAFOR)
    try:
        served.audited("additive.json")
        assert verdict(served) == "inconclusive"
        identity, asked = bound(served.app.desk, "additive.json", accepted="yes", author="M. Lind")
        assert "Accept the guarantee of this file" in served.ask("GET", f"/api/queue/{identity}")[1]
        status, body, _ = served.ask("POST", f"/api/files/{identity}/accept", asked)
        assert (status, "no audit can verify" in body) == (422, True)
        assert served.ask("POST", f"/api/files/{identity}/accept", {**asked, "trust": WHY})[0] == 200
        within(lambda: verdict(served) == "within policy")
        page = served.ask("GET", f"/api/queue/{identity}")[1]
        assert WHY in page
        assert "Accept the guarantee of this file" not in page
        # An approval says why: the verdict is not all that speaks for it.
        _, asked = bound(served.app.desk, "additive.json", decision="approve", author="M. Lind")
        status, body, _ = served.ask("POST", f"/api/files/{identity}/vote", asked)
        assert (status, "rests on a guarantee" in body) == (422, True)
        _, asked = bound(served.app.desk, "additive.json", accepted="no")
        assert served.ask("POST", f"/api/files/{identity}/accept", asked)[0] == 200
        within(lambda: verdict(served) == "inconclusive")
        assert served.ask("POST", f"/api/files/{identity}/accept", asked)[0] == 409
        shown = record_of(served.app.desk.refresh(), served.app.desk, "public")["events"]
        assert [(one["decision"], one["reason"]) for one in shown] == [
            ("guarantee accepted", WHY),
            ("guarantee no longer accepted", ""),
        ]
    finally:
        served.stop()


def test_only_checkers_who_did_not_send_the_file_accept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassine.desk.desk.account_of", lambda number: "lind")
    analyst = Desk(folder, LIND)
    analyst.scan()
    identity, asked = bound(analyst, "rules.txt", accepted="yes", trust=WHY)
    with pytest.raises(RefusedActionError, match="only checkers"):
        analyst.accept(identity, asked)
    checker = Desk(folder, type(LIND)(account="lind", name="M. Lind", role="checker"))
    with pytest.raises(RefusedActionError, match="its author does not check it"):
        checker.accept(identity, asked)
    other = Desk(folder, BERG)
    other.accept(identity, asked)
    accepted = other.file(identity).now.accepted
    assert accepted is not None
    assert (accepted.person, accepted.reason) == (BERG, WHY)
    # What was accepted of these bytes says nothing of others.
    (folder / "rules.txt").write_text("if [a] then [b] ([30 ; 1] examples)\n")
    other.scan()
    assert other.file(identity).now.accepted is None


@pytest.mark.parametrize("act", ["accept", "vote"])
def test_nobody_checks_a_file_as_whose_author_they_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    monkeypatch.setattr("glassine.desk.desk.account_of", lambda number: "okafor")
    desk = Desk(folder, OKAFOR)
    look(desk)

    def press(desk: Desk, author: str) -> None:
        desk.refresh()
        asked = {"accepted": "yes", "trust": WHY, "decision": "approve", "reason": WHY, "author": author}
        identity, body = bound(desk, "rules.txt", **asked)
        (desk.accept if act == "accept" else desk.vote)(identity, body)

    with pytest.raises(RefusedActionError, match="belongs to your account"):
        press(desk, "")
    for own in ("R. Okafor", " r.  OKAFOR", "R. \uff2fkafor", "Okafor", "ok\u00adafor"):
        with pytest.raises(RefusedActionError, match="named yourself"):
            press(desk, own)
    press(desk, "s. berg")
    named = Desk(folder, BERG)
    named.scan()
    look(named)
    with pytest.raises(RefusedActionError, match="named you as the author"):
        press(named, "")


def test_a_checker_who_has_voted_is_not_named_as_the_author(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassine.desk.desk.account_of", lambda number: "okafor")
    desk, other = Desk(folder, OKAFOR), Desk(folder, BERG)
    look(desk)
    other.scan()
    approve(other, "rules.txt")
    with pytest.raises(RefusedActionError, match="has voted on this version"):
        approve(desk, "rules.txt", author="Berg")


@pytest.mark.slow
@pytest.mark.parametrize(("beside", "looked"), [(True, True), (True, False), (False, True)])
def test_the_record_names_the_certificate_that_was_verified_or_says_that_there_was_none(
    folder: Path, beside: bool, looked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_submission(folder)
    if not beside:
        (folder / "additive.certificate.json").unlink()
    if not looked:
        certified = hashlib.sha256((folder / "additive.certificate.json").read_bytes()).hexdigest()
        true = Audits.result
        monkeypatch.setattr(
            Audits, "result", lambda made, version: None if version.sha256 == certified else true(made, version)
        )
    served = Served(folder, OKAFOR)
    try:
        served.audited("additive.json", *(["additive.certificate.json"] if beside and looked else []))
        identity, asked = bound(served.app.desk, "additive.json", accepted="yes", author="M. Lind", trust=WHY)
        warned = "No certificate lies beside this model." in served.ask("GET", f"/api/queue/{identity}")[1]
        assert warned is not beside
        assert served.ask("POST", f"/api/files/{identity}/accept", asked)[0] == 200
        (event,) = (one for one in served.app.desk.refresh().events if one.kind == "accepted")
        name = "additive.certificate.json"
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest() if beside else ""
        said = {"name": name, "sha256": digest, "verified": "whole"} if beside else "none"
        assert event.body["certificate"] == said
        for audience in ("public", "checkers"):
            shown = record_of(served.app.desk.state, served.app.desk, audience)["events"]
            assert [one["certificate"] for one in shown if one["kind"] == "accepted"] == [said]
        page = served.ask("GET", f"/api/queue/{identity}")[1]
        assert (digest[:16] in page) if beside else ("No certificate was verified." in page)
        assert (digest[:12] if beside else "none") in served.ask("GET", "/api/record")[1]
        assert (digest if beside else "Certificate: <bdi>none") in render(
            record_of(served.app.desk.state, served.app.desk, "public")
        )
    finally:
        served.stop()


@pytest.mark.slow
def test_a_certificate_that_contradicts_the_bytes_is_no_ground_to_accept(folder: Path) -> None:
    write_private(folder / "additive.json")
    (folder / "additive.certificate.json").write_text('{"schema": "glassine.certificate/1"}')
    served = Served(folder, OKAFOR)
    try:
        served.audited("additive.json", "additive.certificate.json")
        identity, asked = bound(served.app.desk, "additive.json", accepted="yes", author="M. Lind", trust=WHY)
        status, body, _ = served.ask("POST", f"/api/files/{identity}/accept", asked)
        assert (status, "does not hold for these bytes" in body) == (422, True)
        assert served.app.desk.refresh().files[identity].now.accepted is None
    finally:
        served.stop()


@pytest.mark.parametrize(
    "own",
    [
        "smallest_leaf = 5\n",
        '"accept_guarantee"=false\nsmallest_leaf = 5',
        "smallest_leaf = 5\naccept_guarantee = true #",
    ],
)
def test_a_policy_of_one_file_accepts_and_keeps_its_limits(folder: Path, own: str) -> None:
    (folder / ".glassine").mkdir()
    (folder / ".glassine" / "own.toml").write_text(own)
    (folder / ".glassine" / "desk.toml").write_text('policy = "own.toml"\n')
    audits = Audits(Desk(folder, OKAFOR))
    name, gives = audits.limits({ACCEPTED: True})
    assert tomllib.loads(gives[name].decode()) == {"accept_guarantee": True, "smallest_leaf": 5}
    assert audits.limits({})[1][name] == own.encode()
