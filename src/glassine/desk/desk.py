"""The desk: what people may do, checked and recorded in one transaction each."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from glassine import __version__
from glassine.desk.acro import RESULTS, AcroEntry, read_acro
from glassine.desk.desk_record import DeskRecord, utc_now
from glassine.desk.events import Person, account_of, alike, is_called
from glassine.desk.folder import RECORDS, FolderFile, open_regular
from glassine.desk.form_values import digest_of, text_of, texts_of
from glassine.desk.state import DECISIONS, NO_CERTIFICATE, DeskState, FileState, Verified, Version, file_id
from glassine.desk.stated import stated_of
from glassine.errors import DeskError, RefusedActionError

STALE = "Another person changed this file since the page was shown. Look at it again; what you wrote is kept."


class Desk(DeskRecord):
    """Decisions on the files of one folder.

    Guarantee
    ---------
    None of privacy. What was acknowledged is recorded, and nothing else: each action is one transaction of a chained
    log, whenever a process is killed. See ``privacy/ledger_log.md`` for what a chain shows, and what it does not.

    Assumptions
    -----------
    Accounts are those of the operating system. A person who can write to the folder can rewrite the whole record; only
    a head that is kept elsewhere shows it.

    Parameters
    ----------
    path : path-like
        The folder.
    person : Person
        Who acts.
    clock : callable, optional
        Returns the time, with a zone; the system's in UTC by default.
    key : path-like, optional
        Private Ed25519 key, PEM, that signs what is exported and signed off.

    Raises
    ------
    DeskError
        If the folder, the record or the settings cannot be used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        person: Person,
        *,
        clock: Callable[[], datetime] = utc_now,
        key: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(path, person, clock=clock, key=key)
        self._digests: dict[str, tuple[FolderFile, str]] = {}
        self.left_out: dict[str, str] = {}  # Why an entry of the folder is not listed, by name
        self._acro: tuple[tuple[object, ...], dict[str, AcroEntry]] = ((), {})
        self._acro_recorded: dict[str, AcroEntry] | None = None

    # Reading

    @property
    def audience(self) -> str:
        """For whom the records are that this desk shows: notes are for checkers."""
        return "checkers" if self.person.role == "checker" else "public"

    @staticmethod
    def folder_digest(path: Path) -> str:
        """Return the SHA-256 of a file that the desk wrote; empty if it is not there."""
        try:
            with os.fdopen(open_regular(path), "rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:
            return ""

    def present(self) -> dict[str, FolderFile]:
        """Return the files of the folder by id, as the last :meth:`scan` found them."""
        return {file_id(name): entry for name, (entry, _) in self._digests.items()}

    # Writing

    def scan(self) -> int:
        """Look at the folder, record what is new or has changed, and return how many files that were."""
        listed, left_out = self.folder.listing()
        files = {one.name: one for one in listed}
        acro = self._read_acro(files)
        digests: dict[str, tuple[FolderFile, str]] = {}
        for name, one in files.items():
            if self.person.role == "analyst" and name.lower().endswith(RECORDS):
                continue  # An analyst's tables are records: they are opened when a press of the workbench asks for it
            old = self._digests.get(name)
            if old is not None and old[0] == one:
                digests[name] = old
                continue
            try:
                digests[name] = (one, self.folder.digest(name)[0])
            except (DeskError, OSError) as error:
                left_out[name] = str(error).rstrip(".")
        made = {name for one in self._state.written.values() for name in (one, one.replace("release", "checkers"))}
        self.left_out = {name: why for name, why in left_out.items() if name not in made}
        # Bytes that came back are news to a record in which another desk has others by now.
        state, changed = self.refresh(), acro is not self._acro_recorded
        fresh = {name: one for name, one in digests.items() if changed or self._digests.get(name) != one}
        bodies = [self._received(one, digest, acro.get(name)) for name, (one, digest) in fresh.items()]
        new = [body for body in bodies if self._is_news(state, body)]
        if new:
            with self.writing() as log:
                for body in new:
                    # Another desk may have been faster.
                    if self._is_news(self._state, body):
                        self.append(log, "received", body)
        # After the commit: what could not be recorded is new at the next look.
        self._digests, self._acro_recorded = digests, acro
        return len(new)

    @staticmethod
    def _is_news(state: DeskState, body: Mapping[str, Any]) -> bool:
        """Return whether bytes, or what ACRO says of them, are not the last that were recorded of a file."""
        file = state.files.get(body["file"])
        if file is None or file.now.sha256 != body["sha256"]:
            return True
        # An entry that is gone stays: it may be marked DO_NOT_RELEASE.
        return "acro" in body and body["acro"] != file.now.acro

    def blocked(self) -> set[str]:
        """Return the names of files whose bytes ACRO marks DO_NOT_RELEASE, as recorded or as the folder has it now."""
        files = {one.name: one for one in self.folder.files()}
        named = {name for name, entry in self._read_acro(files).items() if entry.blocked}
        every = self._state.files.values()
        marked = {one.sha256 for file in every for one in file.versions if (one.acro or {}).get("blocked")}
        # The same bytes under another name are what was marked.
        marked |= {file.now.sha256 for file in every if file.name in named}
        return named | {file.name for file in every if file.now.sha256 in marked}

    def vote(self, identity: str, asked: Mapping[str, Any]) -> None:
        """Record a vote on the version that the page showed.

        Raises
        ------
        RefusedActionError
            If the person may not vote, voted in this turn, or shows an earlier state; or a reason is missing.
        """
        decision, reason, note = (text_of(asked, name) for name in ("decision", "reason", "note"))
        with self.writing() as log:
            file, version = self._current(identity, asked)
            self.check_voter(version)
            if decision not in DECISIONS:
                raise RefusedActionError("a vote needs a decision.", remedy="Choose one.", field="decision")
            self._check_open(file, version)
            audit = self.audit(version)
            verdict = "" if audit is None else audit.verdict
            foreign = audit is not None and audit.foreign
            trusted = version.accepted is not None
            if not reason and (decision != "approve" or verdict != "within policy" or foreign or trusted):
                why = "against the verdict" if verdict == "outside policy" else "without a verdict"
                if verdict == "within policy":
                    why = "because Glassine did not write the file, so that it can hold records beside its model"
                if verdict == "within policy" and trusted:
                    why = "because the verdict rests on a guarantee that a checker accepted"
                why = {"changes": "with a request for changes", "reject": "with a rejection"}.get(decision, why)
                raise RefusedActionError(
                    f"a reason is needed {why}.", remedy="Write one sentence for the analyst.", field="reason"
                )
            if decision == "approve" and audit is not None and audit.closed:
                raise RefusedActionError(
                    "this file cannot be approved: the desk cannot say what it holds.",
                    remedy="Ask for changes, or reject it.",
                    field="decision",
                )
            if decision == "approve" and file.name in self.blocked():
                raise RefusedActionError(
                    "this entry is marked DO_NOT_RELEASE and cannot be approved.", field="decision"
                )
            author = self._stated_author(version, asked)
            body = {
                **self._on(file, version),
                "turn": version.turn,
                "decision": decision,
                "reason": reason,
                "note": note,
                "verified": not self.settings.shared_account,
                "policy_sha256": self.settings.policy_digest,
                "verdict": verdict,
            }
            self.append(log, "voted", body | author)

    def check_voter(self, version: Version) -> None:
        """Raise if the person may not vote on a version."""
        person = self.person
        if person.role != "checker":
            raise RefusedActionError("only checkers vote.", remedy="This desk was opened for an analyst.")
        self.check_not_author(version)
        for vote in version.votes_of(version.turn):
            same = vote.person.account == person.account
            if same and (alike(vote.person.name, person.name) or not self.settings.shared_account):
                raise RefusedActionError(
                    "this account has voted on this version already.",
                    remedy="The second checker needs an account of the operating system of their own.",
                )

    def check_not_author(self, version: Version) -> None:
        """Raise if the person sent a version, or a checker named the person as its author: neither votes nor signs."""
        sent = any(
            event.body.get("sent") and event.body.get("sha256") == version.sha256
            for event in self._state.events
            if event.kind == "received" and event.person.account == self.person.account
        )
        if sent:
            raise RefusedActionError("you sent this file: its author does not check it.")
        if any(is_called(self.person, name) for name in version.stated_authors()):
            raise RefusedActionError("another checker named you as the author of this file, who does not check it.")

    def _stated_author(self, version: Version, asked: Mapping[str, Any]) -> dict[str, str]:
        """Return what an event says of the author whom the person named; one must be of a file of the own account.

        Raises
        ------
        RefusedActionError
            If one is missing, or is the person, or a checker who has voted.
        """
        author = text_of(asked, "author")
        if version.author == self.person.account and not author:
            raise RefusedActionError(
                "this file belongs to your account.",
                remedy="Name its author, if you only copied it here; authors do not check their own files.",
                field="author",
            )
        if is_called(self.person, author):
            raise RefusedActionError(
                "you named yourself as the author: authors do not check their own files.",
                remedy="Leave the file to other checkers.",
                field="author",
            )
        if any(is_called(vote.person, author) for vote in version.votes_of(version.turn)):
            raise RefusedActionError(
                "the author whom you named has voted on this version: authors do not check their own files.",
                remedy="Talk to each other, then have the file withdrawn and sent again.",
                field="author",
            )
        return {"author": author} if author else {}

    def accept(self, identity: str, asked: Mapping[str, Any], verified: Verified | None = None) -> None:
        """Record that a checker trusts the guarantee of a version, or does no longer; it is audited again.

        The record names the certificate that was verified against the bytes, or says that there was none.

        Raises
        ------
        RefusedActionError
            If the person is no checker or the author, the reason is missing, or the state does not allow it.
        """
        accepted, reason = text_of(asked, "accepted") == "yes", text_of(asked, "trust")
        if self.person.role != "checker":
            raise RefusedActionError("only checkers accept a guarantee.", remedy="Wait for their decision.")
        if accepted and not reason:
            raise RefusedActionError(
                "a reason is needed: no audit can verify a guarantee.",
                remedy="Write how you checked the certificate and the training.",
                field="trust",
            )
        with self.writing() as log:
            file, version = self._current(identity, asked)
            self.check_not_author(version)
            author = self._stated_author(version, asked) if accepted else {}
            open_ = version.status(self.settings.needed) in ("waiting", "conflict")
            if not open_ or accepted == (version.accepted is not None):
                raise RefusedActionError("this is not possible in the present state.", stale=True)
            body = {**self._on(file, version), "accepted": accepted, "reason": reason, **author}
            if accepted:
                body["certificate"] = NO_CERTIFICATE if verified is None else verified.body()
            self.append(log, "accepted", body)

    def ask(self, identity: str, asked: Mapping[str, Any]) -> None:
        """Record a question to the analyst; its items are those that were ticked."""
        items = texts_of(asked, "items")
        text = text_of(asked, "text")
        if not items and not text:
            raise RefusedActionError("a question needs a text.", remedy="Tick one, or write it.", field="text")
        if self.person.role != "checker":
            raise RefusedActionError("only checkers ask.", remedy="This desk was opened for an analyst.")
        with self.writing() as log:
            file, version = self._current(identity, asked)
            self.append(log, "asked", {**self._on(file, version), "items": items, "text": text})

    def remark(self, identity: str, asked: Mapping[str, Any]) -> None:
        """Record what an analyst says of a file of their own, for those who check it.

        Raises
        ------
        RefusedActionError
            If the text is missing, the file is another account's, or it is to an earlier state.
        """
        text = text_of(asked, "text")
        if not text:
            raise RefusedActionError("a note needs a text.", remedy="Write it.", field="text")
        with self.writing() as log:
            file, version = self._current(identity, asked)
            if self.person.role != "analyst" or version.author != self.person.account:
                raise RefusedActionError("only the analyst whose file it is writes a note on it.")
            self.append(log, "remarked", {**self._on(file, version), "text": text})

    def answer(self, identity: str, asked: Mapping[str, Any]) -> None:
        """Record an answer to all open questions of a version, and what it states of the training data.

        Raises
        ------
        RefusedActionError
            If no question is open, the answer is empty, or it is to an earlier state.
        """
        text, stated = text_of(asked, "text"), stated_of(asked, self.folder)
        if not text and not stated:
            raise RefusedActionError("an answer needs a statement or a text.", field="text")
        with self.writing() as log:
            file, version = self._current(identity, asked)
            numbers = [question.number for question in version.open_questions()]
            if not numbers:
                # What is stated changes the verdict: a checker has to have asked for it.
                raise RefusedActionError("no question is open on this file.", remedy="A checker asks first.")
            body = {**self._on(file, version), "questions": numbers, "text": text, "stated": stated}
            self.append(log, "answered", body)

    def turn(self, identity: str, asked: Mapping[str, Any]) -> None:
        """Vote again after unequal votes, return a file to its analyst, or withdraw it: one event.

        Raises
        ------
        RefusedActionError
            If the person is neither a checker nor, to withdraw, the author, or the state does not allow it.
        """
        action = text_of(asked, "action")
        with self.writing() as log:
            file, version = self._current(identity, asked)
            if self.person.role != "checker" and (action, self.person.account) != ("withdraw", version.author):
                raise RefusedActionError(
                    "only checkers vote again or return a file, and only they and its author withdraw it."
                )
            status = version.status(self.settings.needed)
            body = self._on(file, version)
            if action == "again" and status in ("conflict", "approved", "changes", "rejected", "returned"):
                self.append(log, "reopened", {**body, "turn": version.turn + 1})
            elif action == "return" and status in ("changes", "rejected"):
                self.append(log, "returned", {**body, "turn": version.turn})
            elif action == "withdraw" and status in ("waiting", "conflict", "returned"):
                self.append(log, "withdrawn", {**body, "turn": version.turn, "reason": text_of(asked, "reason")})
            else:
                raise RefusedActionError("this is not possible in the present state.", stale=True)

    def audited(self, identity: str, sha256: str, body: Mapping[str, Any]) -> None:
        """Record an audit of the desk."""
        self.record("audited", {"file": identity, "sha256": sha256, "glassine": __version__, **body})

    def verdict(self, version: Version) -> str:
        """Return the verdict of the last audit under the present policy and answers; empty if there is none."""
        audit = self.audit(version)
        return audit.verdict if audit is not None else ""

    def audit(self, version: Version) -> Any:
        """Return the last audit by this Glassine under the present policy and answers, None if there is none.

        For a checker it ran at the desk of a checker: what the desk of an analyst says of a model is the analyst's.
        """
        now = (self.settings.policy_digest, digest_of(version.inputs), __version__)
        roles = ("checker", self.person.role)
        return next(
            (
                a
                for a in reversed(version.audits)
                if (a.policy_digest, a.answers, a.glassine) == now and a.role in roles
            ),
            None,
        )

    def ready(self) -> list[FileState]:
        """Return the files that can be signed: approvals that hold, every question closed, the bytes in the folder."""
        present = self.present()
        return [
            file
            for file in self._state.files.values()
            if file.id in present
            and file.now.status(self.settings.needed) == "approved"
            and not file.now.open_questions()
            and self.votes_hold(file.now)
        ]

    def votes_hold(self, version: Version) -> bool:
        """Return whether the present settings would let the votes be given, on this verdict or a less favorable one."""
        verdict, settings = self.verdict(version), self.settings
        return all(
            vote.policy_digest == settings.policy_digest
            and settings.lets_check(vote.person.account)
            and (vote.verified or settings.shared_account)
            and verdict in ("within policy", vote.verdict)
            for vote in version.votes_of(version.turn)
        )

    # Inside

    def _current(self, identity: str, asked: Mapping[str, Any]) -> tuple[FileState, Version]:
        """Return the version that a page showed, if it is the present one."""
        file = self.file(identity)
        version = file.now
        if asked.get("sha256") != version.sha256 or asked.get("changed") not in (version.changed, str(version.changed)):
            raise RefusedActionError(STALE, stale=True)
        return file, version

    def _check_open(self, file: FileState, version: Version) -> None:
        if version.status(self.settings.needed) != "waiting":
            raise RefusedActionError("the votes on this version are in.", stale=True)
        entry = self._digests.get(file.name)
        if entry is None or entry[1] != version.sha256:
            raise RefusedActionError("the file in the folder is not the one that was audited.", stale=True)
        if self.audit(version) is None:
            raise RefusedActionError("the desk has not looked at this file yet.", remedy="Wait for its verdict.")

    @staticmethod
    def _on(file: FileState, version: Version) -> dict[str, Any]:
        return {"file": file.id, "sha256": version.sha256}

    def _received(self, file: FolderFile, digest: str, entry: AcroEntry | None) -> dict[str, Any]:
        body: dict[str, Any] = {
            "file": file_id(file.name),
            "name": file.name,
            "size": file.size,
            "sha256": digest,
            "author": account_of(file.owner),
        }
        if entry is not None:
            body["acro"] = entry.body(digest)
        if self.person.role == "analyst" and body["author"] == self.person.account:
            body["sent"] = True
        return body

    def _read_acro(self, files: Mapping[str, FolderFile]) -> dict[str, AcroEntry]:
        key = tuple(files[name] for name in (RESULTS,) if name in files)
        seen, entries = self._acro
        if seen != key:
            entries = read_acro(self.folder) if key else {}
            self._acro = (key, entries)
        return entries
