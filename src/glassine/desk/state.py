"""The state of a desk: its events folded to files, their versions, questions and votes."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from glassine.desk.events import DeskEvent, Person
from glassine.desk.phrases import PHRASES

Decision = Literal["approve", "changes", "reject"]
DECISIONS = PHRASES["decisions"]

Status = Literal[
    "waiting", "conflict", "approved", "changes", "rejected", "signed", "released", "returned", "withdrawn"
]
WORDS = PHRASES["statuses"]


class InvalidEventError(Exception):
    """An event does not hold what a desk writes in one of its kind; its argument is the number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One vote."""

    person: Person
    turn: int
    decision: str
    reason: str  # For the analyst, published with the decision
    note: str  # For checkers only
    at: str
    stated_author: str  # Whom the checker named as the author, where the file is of the checker's account
    policy_digest: str  # Of the policy that the verdict was under
    verdict: str  # Of the desk when the vote was given
    verified: bool  # Whether no other checker could have the account


@dataclass(slots=True, kw_only=True)
class Asking:
    """A question about one version, and its answer."""

    number: int  # Of the event
    person: Person
    items: tuple[str, ...]
    text: str
    at: str
    answer: str = ""
    answered_by: Person | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What an analyst says of a version, for those who check it; no verdict depends on it."""

    person: Person
    text: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """One audit of a version by the desk."""

    policy_digest: str
    answers: str  # Digest of the answers that it used, and of whether a guarantee was accepted
    verdict: str  # The verdict, or why there is none: ``not audited``
    result: str  # SHA-256 of the stored result
    closed: bool  # Whether it cannot be approved: the desk cannot say what the file holds
    foreign: bool  # Whether the file is not what Glassine writes of its model, so that it can hold records beside it
    at: str
    role: str  # Of the person at whose desk it ran
    glassine: str  # Version that ran it


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A certificate that the desk verified against the bytes of a model."""

    name: str
    sha256: str  # Of the certificate
    whole: bool  # Whether everything in it could be verified

    def body(self) -> dict[str, Any]:
        """Return what the record says of it."""
        return {"name": self.name, "sha256": self.sha256, "verified": "whole" if self.whole else "in part"}


NO_CERTIFICATE = "none"
"""What the record says where no certificate was verified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """That a checker trusts the guarantee that a version claims, which no audit can verify."""

    person: Person
    reason: str
    at: str
    stated_author: str  # Whom the checker named as the author, where the file is of the checker's account
    certificate: Verified | None  # The one that was verified when it was accepted


ACCEPTED = "accept_guarantee"
"""What an audit takes beside the answers: a key of policies."""


@dataclass(slots=True, kw_only=True)
class Version:
    """The bytes of a file that were seen, and what was decided on them."""

    sha256: str
    size: int
    at: str
    author: str  # Account that owns or sent the file; empty if not known
    acro: dict[str, Any] | None
    turn: int = 1
    remarks: list[Remark] = field(default_factory=list)
    audits: list[Audit] = field(default_factory=list)
    questions: list[Asking] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)  # What the analyst stated, by option
    accepted: Acceptance | None = None
    votes: list[Vote] = field(default_factory=list)
    ended: Literal["", "returned", "withdrawn", "signed", "released"] = ""
    changed: int = 0  # Number of the last event on it that is no vote of the present turn

    @property
    def inputs(self) -> dict[str, Any]:
        """What an audit of it takes: the answers, and whether its guarantee is accepted."""
        return self.answers | ({} if self.accepted is None else {ACCEPTED: True})

    def votes_of(self, turn: int) -> list[Vote]:
        """Return the votes of one turn."""
        return [vote for vote in self.votes if vote.turn == turn]

    def stated_authors(self) -> set[str]:
        """Return whom checkers named as the author."""
        said = (*self.votes, *(() if self.accepted is None else (self.accepted,)))
        return {one.stated_author for one in said} - {""}

    def open_questions(self) -> list[Asking]:
        """Return the questions without an answer."""
        return [question for question in self.questions if question.answered_by is None]

    def are_in(self, turn: int, needed: int) -> bool:
        """Return whether all votes of a turn are in; what followed on them stays decided if more are needed later."""
        followed = turn < self.turn or self.ended in ("signed", "released", "returned")
        return followed or len(self.votes_of(turn)) >= needed

    def shows(self, vote: Vote, person: Person, needed: int) -> bool:
        """Return whether a person may see a vote: votes of a turn are hidden until all are in, but for one's own."""
        return vote.person == person or self.are_in(vote.turn, needed)

    def status(self, needed: int) -> Status:
        """Return how far it is."""
        if self.ended:
            return self.ended
        votes = self.votes_of(self.turn)
        if len(votes) < needed:
            return "waiting"
        said = {vote.decision for vote in votes}
        if len(said) > 1:
            return "conflict"
        decided: dict[str, Status] = {"approve": "approved", "changes": "changes", "reject": "rejected"}
        return decided[said.pop()]


@dataclass(slots=True, kw_only=True)
class FileState:
    """A file by its name, with every version that was seen."""

    id: str
    name: str
    versions: list[Version]

    @property
    def now(self) -> Version:
        """The version that was seen last."""
        return self.versions[-1]

    @property
    def before(self) -> Version | None:
        """The version before it, if there is one."""
        return self.versions[-2] if len(self.versions) > 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """A sign-off: what was stated, and the files with their hashes."""

    number: int
    person: Person
    at: str
    body: dict[str, Any]


@dataclass(slots=True)
class DeskState:
    """What the events of a desk come to."""

    files: dict[str, FileState] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    signings: dict[int, Signing] = field(default_factory=dict)
    written: dict[int, str] = field(default_factory=dict)  # Folder of a signing's released copies
    # Columns seen in the data, and when; of the whole desk, as one model can lie in it under many names.
    seen: dict[str, str] = field(default_factory=dict)
    charges: dict[str, dict[str, Any]] = field(default_factory=dict)  # By key of one press
    events: list[DeskEvent] = field(default_factory=list)

    def unended(self, running: Collection[str]) -> list[dict[str, Any]]:
        """Return the trainings that began and neither ended nor run, such as those of a desk that was killed."""
        return [one for key, one in self.charges.items() if one["phase"] == "begun" and key not in running]

    def settings_at(self, number: int) -> dict[str, Any]:
        """Return the settings under which an event happened, by its number."""
        before = (event.body for event in reversed(self.events[:number]) if event.kind == "settled")
        return next(before, {})

    def version(self, body: dict[str, Any]) -> Version | None:
        """Return the version that an event is about."""
        file = self.files.get(body.get("file", ""))
        return next((one for one in file.versions if one.sha256 == body.get("sha256")), None) if file else None

    def apply(self, event: DeskEvent) -> None:
        """Take in the next event."""
        self.events.append(event)
        body, person = event.body, event.person
        if event.kind == "settled":
            self.settings = body
        elif event.kind == "received":
            self._receive(event)
        elif event.kind == "signed":
            self.signings[event.number] = Signing(number=event.number, person=person, at=event.at, body=body)
            self._end(event, "signed")
        elif event.kind == "released":
            self.written[body["signing"]] = body["folder"]
            self._end(event, "released")
        elif event.kind == "seen":
            if "column" in body:
                self.seen.setdefault(body["column"], event.at)
        elif event.kind == "charged":
            earlier = self.charges.get(body["key"], {"at": event.at, "account": person.account})
            self.charges[body["key"]] = {**earlier, **body}
        elif (version := self.version(body)) is not None:
            self._change(version, event)

    def _receive(self, event: DeskEvent) -> None:
        body = event.body
        new = Version(
            sha256=body["sha256"],
            size=body["size"],
            at=event.at,
            author=body["author"],
            acro=body.get("acro"),
            changed=event.number,
        )
        file = self.files.setdefault(body["file"], FileState(id=body["file"], name=body["name"], versions=[]))
        # Bytes that come back are the version that they were: its votes are of these bytes.
        old = next((one for one in file.versions if one.sha256 == new.sha256), None)
        if old is not None:
            file.versions.remove(old)
            # What ACRO said of bytes stays said of them, until it says something else.
            old.acro, old.changed = new.acro or old.acro, event.number
        file.versions.append(old or new)

    def _end(self, event: DeskEvent, how: Literal["signed", "released"]) -> None:
        for one in event.body["files"]:
            if (version := self.version(one)) is not None:
                version.ended, version.changed = how, event.number

    def _change(self, version: Version, event: DeskEvent) -> None:
        """Take in an event on one version."""
        body, person = event.body, event.person
        if event.kind == "voted":
            vote = Vote(
                person=person,
                turn=body["turn"],
                decision=body["decision"],
                reason=body["reason"],
                note=body["note"],
                at=event.at,
                stated_author=body.get("author", ""),
                policy_digest=body.get("policy_sha256", ""),
                verdict=body.get("verdict", ""),
                verified=body.get("verified", True),
            )
            version.votes.append(vote)
            return
        if event.kind != "audited":
            version.changed = event.number
        else:
            audit = Audit(
                policy_digest=body["policy_sha256"],
                answers=body["answers"],
                verdict=body["verdict"],
                result=body["result"],
                closed=body.get("closed", False),
                foreign=body.get("foreign", False),
                at=event.at,
                role=person.role,
                glassine=body.get("glassine", ""),
            )
            said = [one.verdict for one in version.audits if one.answers == audit.answers][-1:]
            # A second desk that comes to the same verdict changes nothing for who decides.
            if said != [audit.verdict]:
                version.changed = event.number
            version.audits.append(audit)
        if event.kind == "asked":
            items = tuple(body["items"])
            version.questions.append(
                Asking(number=event.number, person=person, items=items, text=body["text"], at=event.at)
            )
        elif event.kind == "remarked":
            version.remarks.append(Remark(person=person, text=body["text"], at=event.at))
        elif event.kind == "answered":
            for question in version.questions:
                if question.number in body["questions"]:
                    question.answer, question.answered_by = body["text"], person
            version.answers |= body["stated"]
        elif event.kind == "accepted":
            made = Acceptance(
                person=person,
                reason=body["reason"],
                at=event.at,
                stated_author=body.get("author", ""),
                certificate=_verified(body.get("certificate", NO_CERTIFICATE)),
            )
            version.accepted = made if body["accepted"] else None
        elif event.kind == "reopened":
            version.turn, version.ended = body["turn"], ""
        elif event.kind in ("returned", "withdrawn"):
            version.ended = "returned" if event.kind == "returned" else "withdrawn"


def _verified(said: Any) -> Verified | None:
    """Return the certificate that an event names, None if it says that there was none."""
    if said == NO_CERTIFICATE:
        return None
    return Verified(name=said["name"], sha256=said["sha256"], whole=said["verified"] == "whole")


def folded(events: Iterable[DeskEvent]) -> DeskState:
    """Return what the events of a record come to.

    Raises
    ------
    InvalidEventError
        If one does not hold what a desk writes in an event of its kind.
    """
    state = DeskState()
    for event in events:
        try:
            state.apply(event)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InvalidEventError(event.number) from None
    return state


def file_id(name: str) -> str:
    """Return the id of a file by its name: 16 hexadecimal digits, which pages and requests use."""
    return hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()[:16]
