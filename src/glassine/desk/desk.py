"""The desk: what people may do, checked and recorded in one transaction each."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from glassine import __version__
from glassine.desk.acro import RESULTS, AcroEntry, read_acro
from glassine.desk.events import DeskEvent, DeskLog, Person
from glassine.desk.folder import OWN, RECORDS, Folder, FolderFile, open_regular
from glassine.desk.locking import locked
from glassine.desk.settings import DeskSettings, read_settings
from glassine.desk.state import DECISIONS, DeskState, FileState, Version, file_id, folded
from glassine.desk.stated import stated_of
from glassine.errors import DeskError, RefusedActionError
from glassine.privacy.chained_file import ChainedFile

WAIT = 15.0
"""Seconds to wait for another desk that writes."""
TRAINED = "trained"
"""Folder with one for each private training: its worker writes there what was paid for."""
SHARED = ("audits", "held", TRAINED)
"""Folders of the desk's own, which every account of the desk writes to."""
LONGEST_TEXT = 10_000
"""Characters of a reason, a note, a question or an answer."""
STALE = "Another person changed this file since the page was shown. Look at it again; what you wrote is kept."


def _now() -> datetime:
    return datetime.now(UTC)


class Desk:
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
        clock: Callable[[], datetime] = _now,
        key: str | os.PathLike[str] | None = None,
    ) -> None:
        self.folder = Folder(path)
        self.person = person
        self.key = key
        self._clock = clock
        self.own = self.folder.path / OWN
        self._make_own()
        self.settings: DeskSettings = read_settings(self.own)
        self._file = ChainedFile(self.own / "desk.db", WAIT, DeskLog)
        if not os.path.lexists(self._file.path):
            self._file.create()
            self._share(self._file.path)
        if self.settings.checkers and person.role == "checker" and person.account not in self.settings.checkers:
            raise DeskError(
                f"the account {person.account!r} is not one of the checkers of this desk.",
                remedy="Open it with --analyst, or add the account to checkers in .glassine/desk.toml.",
                path=self.own,
            )
        self._digests: dict[str, tuple[FolderFile, str]] = {}
        self.left_out: dict[str, str] = {}  # Why an entry of the folder is not listed, by name
        self._acro: tuple[tuple[object, ...], dict[str, AcroEntry]] = ((), {})
        self._acro_recorded: dict[str, AcroEntry] | None = None
        self._stamp: tuple[int, ...] = ()
        # The watch over the folder and the presses run on two threads.
        self._lock = threading.RLock()
        self._state = DeskState()
        self.head = self._identity = ""
        self.refresh()
        if self._state.settings != self.settings.body():
            self.record("settled", self.settings.body())

    # Reading

    @property
    def state(self) -> DeskState:
        """What the record comes to, as of the last :meth:`refresh`."""
        return self._state

    def refresh(self) -> DeskState:
        """Read the record if it changed, checked whole."""
        with self._lock:
            stamp = self._stamp_now()
            if stamp != self._stamp:
                with self._file.transaction(write=False) as log:
                    self._take(log)
                self._stamp = stamp
            return self._state

    @property
    def identity(self) -> str:
        """64 hexadecimal digits that no other desk's record has."""
        return self._identity

    @property
    def title(self) -> str:
        """Title of the desk: that of its settings, or the name of the folder."""
        return self.settings.title or self.folder.path.name

    @staticmethod
    def folder_digest(path: Path) -> str:
        """Return the SHA-256 of a file that the desk wrote; empty if it is not there."""
        try:
            with os.fdopen(open_regular(path), "rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:
            return ""

    def file(self, identity: str) -> FileState:
        """Return a file by its id.

        Raises
        ------
        RefusedActionError
            If no file has it.
        """
        file = self._state.files.get(identity)
        if file is None:
            raise RefusedActionError("there is no such file.", remedy="Look at the list again.")
        return file

    def present(self) -> dict[str, FolderFile]:
        """Return the files of the folder by id, as the last :meth:`scan` found them."""
        return {file_id(name): entry for name, (entry, _) in self._digests.items()}

    # Writing

    @contextmanager
    def writing(self) -> Iterator[DeskLog]:
        """Open the record for one transaction; one desk writes at a time."""
        # SQLite's locks do not hold on every network share; a file that is made exclusively does.
        with self._lock, locked(self.own, self.person.account, WAIT):
            with self._file.transaction(write=True) as log:
                self._take(log)
                yield log
            self._take(log)
            # Before another desk can write: its events would be taken for read.
            self._stamp = self._stamp_now()

    def record(self, kind: str, body: Mapping[str, Any]) -> DeskEvent:
        """Append one event that needs no check."""
        with self.writing() as log:
            return self._append(log, kind, body)

    def now(self) -> str:
        """Return the time as events have it: UTC, to the second."""
        return self._clock().astimezone(UTC).isoformat(timespec="seconds")

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
        state, changed = self._state, acro is not self._acro_recorded
        fresh = {name: one for name, one in digests.items() if changed or self._digests.get(name) != one}
        bodies = [self._received(one, digest, acro.get(name)) for name, (one, digest) in fresh.items()]
        new = [body for body in bodies if self._is_news(state, body)]
        if new:
            with self.writing() as log:
                for body in new:
                    # Another desk may have been faster.
                    if self._is_news(self._state, body):
                        self._append(log, "received", body)
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
        """Return the names of files that ACRO marks DO_NOT_RELEASE, as recorded or as the folder has it now."""
        files = {one.name: one for one in self.folder.files()}
        recorded = {file.name for file in self._state.files.values() if (file.now.acro or {}).get("blocked")}
        return recorded | {name for name, entry in self._read_acro(files).items() if entry.blocked}

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
            self._append(log, "voted", body | author)

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
        """Raise if the person sent a version, or another checker named the person as its author."""
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

    def accept(self, identity: str, asked: Mapping[str, Any]) -> None:
        """Record that a checker trusts the guarantee of a version, or does no longer; it is audited again.

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
            self._append(log, "accepted", body)

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
            self._append(log, "asked", {**self._on(file, version), "items": items, "text": text})

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
            self._append(log, "answered", body)

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
                self._append(log, "reopened", {**body, "turn": version.turn + 1})
            elif action == "return" and status in ("changes", "rejected"):
                self._append(log, "returned", {**body, "turn": version.turn})
            elif action == "withdraw" and status in ("waiting", "conflict", "returned"):
                self._append(log, "withdrawn", {**body, "turn": version.turn, "reason": text_of(asked, "reason")})
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
        """Return the last audit under the present policy and answers, None if there is none."""
        now = (self.settings.policy_digest, digest_of(version.inputs))
        return next((a for a in reversed(version.audits) if (a.policy_digest, a.answers) == now), None)

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
        """Return whether the votes were given under the present policy, and on this verdict or a less favorable one."""
        verdict, policy = self.verdict(version), self.settings.policy_digest
        favorable = verdict == "within policy"
        votes = version.votes_of(version.turn)
        return all(vote.policy_digest == policy and (favorable or vote.verdict == verdict) for vote in votes)

    # Inside

    def _take(self, log: DeskLog) -> None:
        """Fold a record, unless its head is that of the present state, and put the new state in its place."""
        # Never into the present one: another thread may be reading it, and a record that was replaced by a longer one
        # does not continue it.
        if (log.head, log.identity) != (self.head, self._identity):
            self._state = folded(log.events)
            self.head, self._identity = log.head, log.identity

    def _stamp_now(self) -> tuple[int, ...]:
        status = self._file.path.lstat()
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _append(self, log: DeskLog, kind: str, body: Mapping[str, Any]) -> DeskEvent:
        event = log.append(kind, self.person, self.now(), body)
        # Rolled back with the transaction: the state is folded anew from the log.
        return event

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

    def _make_own(self) -> None:
        try:
            for path in (self.own, *(self.own / name for name in SHARED)):
                # Before anything is made in it: a link leads to a folder of another place.
                if path.is_symlink():
                    raise DeskError(f"{path} is a link.", remedy="Remove it.", path=path)
                if not path.is_dir():
                    path.mkdir()
                    self._share(path)
        except OSError as error:
            raise DeskError(
                f"cannot write to {self.own}, where the desk keeps its record: {error.strerror}.",
                remedy="Have your account given the right to write to the folder, or open a copy of it.",
                path=self.own,
            ) from None

    def _share(self, path: Path) -> None:
        """Let the group that can write to the folder also write to the desk's own files."""
        status = self.folder.path.stat()
        mode = stat.S_IMODE(path.stat().st_mode) & 0o700
        group = status.st_mode & 0o070
        # What one account paid for, no other one moves away.
        mode |= stat.S_ISVTX if path.name == TRAINED else 0
        with suppress(OSError):
            os.chown(path, -1, status.st_gid)
            path.chmod(mode | (group if path.is_dir() else group & 0o060))


def text_of(asked: Mapping[str, Any], name: str) -> str:
    """Return a text of a request, without spaces around it.

    Raises
    ------
    RefusedActionError
        If it is no text, or too long.
    """
    value = asked.get(name, "")
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise RefusedActionError(f"{name} must be a text of at most {LONGEST_TEXT:,} characters.", field=name)
    # Line breaks and tabs are text; other control characters are none, and lone halves of pairs cannot be written.
    return "".join(char for char in value if char in "\n\t" or (char.isprintable())).strip()


def texts_of(asked: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts of a request by one name: none, one, or several.

    Raises
    ------
    RefusedActionError
        If they are no texts.
    """
    value = asked.get(name)
    several = value if isinstance(value, list) else [] if value is None else [value]
    return [text for one in several if (text := text_of({name: one}, name))]


def alike(name: str, other: str) -> bool:
    """Return whether two names are the same but for case, spaces and the form of their characters."""
    one, two = ("".join(unicodedata.normalize("NFKC", text).casefold().split()) for text in (name, other))
    return one == two


def is_called(person: Person, name: str) -> bool:
    """Return whether a name is that of a person, or of the person's account."""
    return alike(name, person.name) or alike(name, person.account)


def digest_of(value: object) -> str:
    """Return the SHA-256 of plain values, hexadecimal."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def account_of(number: int) -> str:
    """Return the name of an account of the operating system by its number."""
    try:
        import pwd

        return pwd.getpwuid(number).pw_name
    except (ImportError, KeyError):
        return f"account {number}"
