"""Signing and releasing: copies of approved bytes with their record, written beside the submitted files."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from glassine import __version__
from glassine.desk.acro import RESULTS, as_results, shape_of
from glassine.desk.desk import Desk
from glassine.desk.events import DeskEvent, Person
from glassine.desk.folder import read_own
from glassine.desk.form_values import text_of, texts_of
from glassine.desk.heads import chain_of, envelope, exported
from glassine.desk.phrases import PHRASES
from glassine.desk.state import DECISIONS, NO_CERTIFICATE, DeskState, Signing
from glassine.errors import DeskError, RefusedActionError, quoted
from glassine.files import json_text

FIELDS = ("recipient", "purpose", "conditions", "review_by")
SCHEMA = "glassine.desk-record/1"
LIMITS = PHRASES["record"]["limits"]

WRITTEN = (RESULTS, "record.json", "record.html", "record.signed.json")
"""What a release holds beside the files that were signed."""

Render = Callable[[Mapping[str, Any]], str]


def sign(desk: Desk, asked: Mapping[str, Any]) -> int:
    """Record the sign-off of files, and return its number.

    Raises
    ------
    RefusedActionError
        If the person is no checker, or the author of a file; a file is not ready, has changed or has a name that no
        release can hold; or a statement is missing.
    """
    stated = {name: text_of(asked, name) for name in FIELDS}
    chosen = texts_of(asked, "files")
    if desk.person.role != "checker":
        raise RefusedActionError("only checkers sign.", remedy="This desk was opened for an analyst.")
    if not chosen:
        raise RefusedActionError("a sign-off needs at least one file.", field="files")
    for name in ("recipient", "purpose"):
        if not stated[name]:
            raise RefusedActionError(f"a sign-off needs a {name}.", remedy="Fill it in.", field=name)
    if stated["review_by"]:
        try:
            date.fromisoformat(stated["review_by"])
        except ValueError:
            raise RefusedActionError("the day of review must be a day such as 2027-11-29.", field="review_by") from None
    if not asked.get("looked"):
        raise RefusedActionError(
            "confirm that you have looked at what the files hold.", remedy="Tick the box.", field="looked"
        )
    with desk.writing() as log:
        ready = {f"{file.id}:{file.now.sha256}": file for file in desk.ready()}
        files, blocked = [], desk.blocked()
        for one in chosen:
            file = ready.get(one)
            if file is None:
                raise RefusedActionError("a file is no longer ready to be signed.", stale=True)
            if file.name in blocked:
                raise RefusedActionError(f"{file.name} is marked DO_NOT_RELEASE and cannot be signed.", field="files")
            _check_name(file.name)
            desk.check_not_author(file.now)
            if desk.person.account == file.now.author and not file.now.stated_authors():
                raise RefusedActionError(f"{file.name} belongs to your account: another checker signs it.")
            files.append({"file": file.id, "name": file.name, "sha256": file.now.sha256, "acro": file.now.acro})
        body: dict[str, Any] = {**stated, "files": files, "head": log.head}
        if desk.key is not None:
            made = envelope(desk, json.dumps(body, sort_keys=True))
            body["signature"] = {name: made[name] for name in ("public_key", "signature")}
        return desk.append(log, "signed", body).number


def _check_name(name: str) -> None:
    """Raise if a release could not hold a file of a name: what is signed can be written."""
    try:
        name.encode()
    except UnicodeEncodeError:
        why = "its name is no text in UTF-8"
    else:
        if name.casefold() not in WRITTEN:
            return
        why = "the record of a release has this name"
    raise RefusedActionError(
        f"{quoted(name)} cannot be released: {why}.", remedy="Have it sent under another name.", field="files"
    )


def release(desk: Desk, number: int, render: Render) -> Path:
    """Write the copies of a sign-off and their record, and return the folder.

    The bytes are hashed as they are copied; a file that is not the one that was signed ends the release, and nothing
    of it stays. The folder appears whole under its name; a process that is killed before leaves nothing of it.

    Raises
    ------
    RefusedActionError
        If the person is no checker, there is no such sign-off, or it was written already.
    DeskError
        If a file changed since it was signed, or cannot be copied.
    """
    if desk.person.role != "checker":
        raise RefusedActionError("only checkers write a release.", remedy="This desk was opened for an analyst.")
    state = desk.refresh()
    desk.check_settings()
    signing = state.signings.get(number)
    if signing is None or number in state.written:
        raise RefusedActionError("there is no such sign-off to write.", stale=True)
    place = sorted(state.signings).index(number) + 1
    target = desk.folder.path / f"release-{place}"
    private = desk.folder.path / f"checkers-{place}"
    temporary = desk.own / f"release-{os.urandom(8).hex()}"
    kept = desk.own / f"{temporary.name}-checkers"
    try:
        _write(desk, state, signing, temporary, render)
        notes = record_of(state, desk, "checkers", signing)
        kept.mkdir()
        _write_new(kept / "record.json", json_text(notes))
        _write_new(kept / "record.html", render(notes))
        _write_new(kept / "chain.json", exported(desk, chain_of(desk)))
        # A killed process may have left a folder without the event: it is as it would be written now. Another folder
        # of this name can hold files without an approval.
        if os.path.lexists(target):
            if _content(target) != _content(temporary):
                raise DeskError(
                    f"{target} exists and is not this release.", remedy="Move it away, then write it.", path=target
                )
        else:
            temporary.rename(target)
        if not os.path.lexists(private):
            kept.rename(private)
        elif _signed_off(private) != notes["sign_off"]:
            raise DeskError(
                f"{private} exists and is not of this release.", remedy="Move it away, then write it.", path=private
            )
    finally:
        for left in (temporary, kept):
            shutil.rmtree(left, ignore_errors=True)
    body = {"signing": number, "folder": target.name, "files": [dict(one, acro=None) for one in signing.body["files"]]}
    if number not in desk.refresh().written:
        desk.record("released", body)
    return target


def _write(desk: Desk, state: DeskState, signing: Signing, target: Path, render: Render) -> None:
    target.mkdir()
    (target / "checksums").mkdir()
    entries = []
    for one in signing.body["files"]:
        name = one["name"]
        if desk.folder.copy(name, target / name) != one["sha256"]:
            raise DeskError(
                f"{name} is not the file that was signed: it changed since. Nothing was released.",
                remedy="Check the new version as any other.",
                path=desk.folder.path / name,
            )
        _write_new(target / "checksums" / f"{name}.txt", one["sha256"])
        file = state.files[one["file"]]
        version = next(v for v in file.versions if v.sha256 == one["sha256"])
        reasons = [vote.reason for vote in version.votes_of(version.turn) if vote.reason]
        # Of the bytes that are released, not of those that lay there when ACRO's record was read.
        shape = shape_of(target / name)
        said = {"reason": " ".join(reasons), "at": signing.at}
        entries.append({"name": name, "acro": one["acro"], "shape": shape, **said})
    public = record_of(state, desk, "public", signing)
    _write_new(target / "results.json", json_text(as_results(entries)))
    _write_new(target / "record.json", json_text(public))
    if desk.key is not None:
        _write_new(target / "record.signed.json", exported(desk, public))
    _write_new(target / "record.html", render(public))


def _content(folder: Path) -> dict[str, str | None]:
    """Return the SHA-256 of every regular file under a folder, by its path; None for what is no such file."""
    digests: dict[str, str | None] = {}
    for place, folders, names in os.walk(folder):
        for name in (*names, *folders):
            path = Path(place, name)
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                digests[str(path.relative_to(folder))] = Desk.folder_digest(path)
            elif not stat.S_ISDIR(status.st_mode):
                digests[str(path.relative_to(folder))] = None
    return digests if not folder.is_symlink() else {"": None}


def _signed_off(folder: Path) -> object:
    """Return the sign-off that the record in a folder is of; None if it holds none."""
    try:
        return json.loads(read_own(folder / "record.json"))["sign_off"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_new(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def record_of(state: DeskState, desk: Desk, audience: str, signing: Signing | None = None) -> dict[str, Any]:
    """Return the record of a desk, or of one release, as plain values.

    The public one holds decisions: who decided what on which bytes, when and for which published reason. It holds
    neither notes, nor questions, nor verdicts and digests of audits, which may depend on records. Each decision has the
    policy that it was made under. That of a release states the settings under which it was signed.
    """
    settings = desk.settings.body() if signing is None else state.settings_at(signing.number)
    about = None if signing is None else {(one["file"], one["sha256"]) for one in signing.body["files"]}
    events, policy = [], dict[str, Any]()
    for event in state.events:
        if event.kind == "settled":
            policy = {name: event.body[name] for name in POLICY}
        event_shown = _public_event(event, state, desk.person, audience, about, settings["needed"])
        if event_shown is not None:
            events.append(event_shown | (policy if event.kind in ("voted", "accepted") else {}))
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "audience": audience,
        "glassine": __version__,
        "title": desk.title,
        # That of a desk is of many decisions: each has the policy that it was made under.
        **({} if signing is None else {name: settings[name] for name in POLICY}),
        "needed": settings["needed"],
        "limits": LIMITS,
        "events": events,
    }
    if signing is not None:
        record["sign_off"] = {
            "who": signing.person.name,
            "role": signing.person.role,
            "account": signing.person.account,
            "day": signing.at[:10],
            **{name: signing.body[name] for name in FIELDS},
            "files": [{"name": one["name"], "sha256": one["sha256"]} for one in signing.body["files"]],
        }
    if audience == "checkers":
        record["chain"] = chain_of(desk)
    return record


POLICY = ("policy", "policy_sha256")
"""What a record says of the policy of a decision."""
PUBLIC = ("accepted", "voted", "signed", "released", "returned", "withdrawn")


def _public_event(
    event: DeskEvent,
    state: DeskState,
    person: Person,
    audience: str,
    about: set[tuple[str, str]] | None,
    needed: int,
) -> dict[str, Any] | None:
    """Return what a record shows of an event, None for nothing."""
    body = event.body
    if about is not None and not _concerns(body, about):
        return None
    if audience == "public" and event.kind not in PUBLIC:
        return None
    base: dict[str, Any] = {
        "at": event.at,
        "kind": event.kind,
        "who": event.person.name,
        "account": event.person.account,
    }
    if audience == "checkers":
        base = {"number": event.number, **base, "role": event.person.role, "hash": event.hash}
    file = state.files.get(body.get("file", ""))
    if file is not None:
        base |= {"file": file.name, "sha256": body.get("sha256", "")}
    if event.kind == "voted":
        version = state.version(body)
        counted = version is not None and version.are_in(body["turn"], needed)
        if not counted and event.person != person:
            # That another person voted is no secret; how is one, until all votes of the turn are in.
            return base | {"decision": "hidden until all votes are in"} if audience == "checkers" else None
        if audience == "public" and not counted:
            return None
        base |= {"turn": body["turn"], "decision": DECISIONS[body["decision"]], "reason": body["reason"]}
        return base | {"note": body["note"]} if audience == "checkers" else base
    if event.kind == "accepted":
        base |= {"decision": "guarantee accepted" if body["accepted"] else "guarantee no longer accepted"}
        if body["accepted"]:
            base["certificate"] = body.get("certificate", NO_CERTIFICATE)
        return base | {"reason": body["reason"]}
    if event.kind in ("signed", "released"):
        named = [{"name": one["name"], "sha256": one["sha256"]} for one in body["files"]]
        stated = {name: body[name] for name in FIELDS if name in body}
        return base | {"files": named} | stated
    if audience == "checkers":
        kept = (
            "verdict",
            "policy",
            "items",
            "text",
            "stated",
            "reason",
            "column",
            "domain",
            "records",
            "turn",
            "dataset",
            "epsilon",
            "charge",
            "phase",
            "note",
        )
        base |= {name: body[name] for name in kept if name in body}
    return base


def _concerns(body: Mapping[str, Any], about: set[tuple[str, str]]) -> bool:
    named: Sequence[Mapping[str, Any]] = body.get("files") or [body]
    return any((one.get("file"), one.get("sha256")) in about for one in named)
