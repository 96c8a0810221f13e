"""The result of an audit of any subject, and what a person states of it: one class, one JSON schema, exit statuses."""

from __future__ import annotations

import dataclasses
import math
import os
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from importlib import import_module
from typing import Any, Literal, TypeAlias

from glassine.attacks.outcome import (
    Audience,
    Failed,
    Hidden,
    Measured,
    NotApplicable,
    Outcome,
    Question,
    RecordNote,
    for_checker,
    for_public,
)
from glassine.auditing.criterion import Check
from glassine.auditing.findings.guarantee import GuaranteeFinding
from glassine.auditing.findings.policies import PolicyFinding
from glassine.auditing.findings.values import (
    DomainSummary,
    LazyTuple,
    ModelSummary,
    ReleaseSummary,
    SeveralSummary,
    Verdict,
)
from glassine.auditing.policy import Policy
from glassine.auditing.remedy import Remedy
from glassine.errors import InvalidParameterError, parameter
from glassine.exports import Displayed
from glassine.files import read_text, write_json
from glassine.formats.canonical import FileForm

LONGEST = 2000
"""Most characters of a statement: a page of text."""
DAYS = ("day", "review_by")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOff:
    """What a person states of a release. Glassine never fills a field itself.

    Attributes
    ----------
    who, role : str
        Who decided, and as what.
    decision : str
        What was decided, such as ``released`` or ``refused``.
    day, review_by : str
        When, and until when it holds: days as ``2026-11-23``.
    purpose, recipient, conditions : str
        What for, for whom, and under which conditions.

    Raises
    ------
    InvalidParameterError
        If a statement is no text of at most 2,000 characters, or a day is none.

    Examples
    --------
    >>> SignOff(who="A. Checker", decision="released", day="2026-11-23").empty
    ('role', 'review_by', 'purpose', 'recipient', 'conditions')
    """

    who: str = ""
    role: str = ""
    decision: str = ""
    day: str = ""
    review_by: str = ""
    purpose: str = ""
    recipient: str = ""
    conditions: str = ""

    def __post_init__(self) -> None:
        for name in self.names():
            value: object = getattr(self, name)
            if not isinstance(value, str) or len(value) > LONGEST:
                raise InvalidParameterError(
                    f"{parameter(name)} must be a text of at most {LONGEST:,} characters.", remedy="Shorten it."
                )
            if name in DAYS and value and not _is_day(value):
                raise InvalidParameterError(
                    f"{parameter(name)} must be a day, got {value!r}.", remedy="Write it as 2026-11-23."
                )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the fields, in the order of a form."""
        return tuple(entry.name for entry in dataclasses.fields(cls))

    @property
    def empty(self) -> tuple[str, ...]:
        """The fields that are not filled."""
        return tuple(name for name in self.names() if not getattr(self, name).strip())

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> SignOff:
        """Read the statements of a TOML file: one key for each field, days as text or as dates.

        Raises
        ------
        UnreadableFileError
            If the file cannot be read.
        InvalidParameterError
            If it is not TOML, or names another field.
        """
        name = os.fspath(path)
        try:
            entries = tomllib.loads(read_text(path))
        except (ValueError, RecursionError):
            raise InvalidParameterError(
                f"{name} is not valid TOML.", remedy='Write one field a line, such as: who = "A. Checker".'
            ) from None
        for key in entries:
            if key not in cls.names():
                raise InvalidParameterError(
                    f"{name} states {key!r}, which is no field of a sign-off.", remedy=f"Use {', '.join(cls.names())}."
                )
        return cls(**{key: value.isoformat() if type(value) is date else value for key, value in entries.items()})


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


SCHEMA = "glassine.findings/12"

EXIT_STATUS: dict[Verdict, int] = {"within policy": 0, "outside policy": 1, "inconclusive": 3}
"""Exit statuses of the command line; 2 is bad input."""

SubjectSummary: TypeAlias = ModelSummary | ReleaseSummary | SeveralSummary

NOT_ASKED = NotApplicable("this audit was not asked for it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file that was audited or judged with, so that a verdict can be tied to it.

    Attributes
    ----------
    role : str
        ``model``, ``domain``, ``data`` or ``policy``.
    name : str
        Its name, without the folder.
    sha256 : str or None
        SHA-256 of the bytes that were parsed, hexadecimal; None for records. An attacker who has all records but one
        could find the last one by their digest.
    """

    role: str
    name: str
    sha256: str | None = None


class Outcomes(Mapping[str, Outcome[Any]]):
    """What was measured, by name; what the audit was not asked for is not applicable.

    Parameters
    ----------
    outcomes : mapping of str to Outcome
        The outcomes.
    questions : sequence of Question
        What is asked of such a subject, in the words of a report, whether this audit was asked for it or not.
    for_checker : collection of str
        Names of what is measured on records, so that it is for the checker only.
    """

    __slots__ = ("_outcomes", "for_checker", "questions")

    def __init__(
        self,
        outcomes: Mapping[str, Outcome[Any]],
        questions: Sequence[Question] = (),
        for_checker: Collection[str] = (),
    ) -> None:
        self._outcomes = dict(outcomes)
        self.questions = tuple(questions)
        self.for_checker = frozenset(for_checker)

    def updated(self, outcomes: Mapping[str, Outcome[Any]]) -> Outcomes:
        """Return these outcomes and others, which replace those of the same names."""
        return Outcomes({**self._outcomes, **outcomes}, self.questions, self.for_checker)

    def public(self) -> Outcomes:
        """Return them without what is for the checker only."""
        outcomes = {name: for_public(outcome) for name, outcome in self.items() if name not in self.for_checker}
        return Outcomes(
            {name: outcome for name, outcome in outcomes.items() if outcome is not None},
            [asked for asked in self.questions if asked.name not in self.for_checker],
        )

    def __getitem__(self, name: str) -> Outcome[Any]:
        return self._outcomes.get(name, NOT_ASKED)

    def __iter__(self) -> Iterator[str]:
        return iter(self._outcomes)

    def __len__(self) -> int:
        return len(self._outcomes)

    def __contains__(self, name: object) -> bool:
        return name in self._outcomes

    def __repr__(self) -> str:
        return repr(self._outcomes)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Findings(Displayed):
    """The result of an audit: of a model, of a release of explanations, or of several models of the same records.

    Attributes
    ----------
    subject : ModelSummary, ReleaseSummary or SeveralSummary
        What was audited.
    verdict : str
        ``within policy``, ``outside policy`` or ``inconclusive``.
    checks : tuple of Check
        The checks of the policy.
    measured : Outcomes
        Each measurement by its name: measured, not applicable or failed, with the reason. Small counts are suppressed.
    policy : Policy
        The limits.
    notes : tuple of str
        What is odd.
    advice : tuple of Remedy
        What to do next.
    policies : tuple of PolicyFinding
        How each named policy judges the same facts; none where the audit was asked for one measurement alone.
    requests : tuple of str
        What to ask the publisher for, where the model alone leaves checks open: sentences to paste into a message.
    policy_source : str
        Which policy it is, and where its limits come from.
    version : str
        Version of Glassine.
    domain : DomainSummary or None
        In what domain, where one was given or inferred.
    guarantee : GuaranteeFinding or None
        The differential privacy that is claimed for the subject.
    sensitive : str or None
        The attribute that was looked at more closely.
    counted : str
        ``records``, or ``people`` where persons were stated.
    inputs : tuple of InputFile
        The files that were read; none when the audit was called from Python.
    files : tuple of FileForm
        The files that hold the subject, and what of each may be released; none where no file was audited.
    sign_off : SignOff
        What a person states of the release; a field without a statement is empty.
    audience : str
        ``checker``, or ``public`` where what is for the checker only was left out: see :meth:`public`.
    holder : Findings or None
        What records that were given beside a subject with an accepted guarantee add, for the checker only. All other
        fields, the verdict among them, then do not depend on the records.
    """

    subject: SubjectSummary
    verdict: Verdict
    checks: tuple[Check, ...]
    measured: Outcomes
    policy: Policy
    notes: tuple[str, ...]
    advice: tuple[Remedy, ...]
    version: str
    policies: tuple[PolicyFinding, ...] = ()
    requests: tuple[str, ...] = ()
    policy_source: str = ""
    domain: DomainSummary | None = None
    guarantee: GuaranteeFinding | None = None
    sensitive: str | None = None
    counted: Literal["records", "people"] = "records"
    inputs: tuple[InputFile, ...] = ()
    files: tuple[FileForm, ...] = ()
    sign_off: SignOff = field(default_factory=SignOff)
    audience: Audience = "checker"
    holder: Findings | None = field(default=None, metadata=for_checker())

    @property
    def model(self) -> ModelSummary:
        """The subject, where it is one model; raises TypeError otherwise."""
        if not isinstance(self.subject, ModelSummary):
            raise TypeError(f"these are findings on a {self.subject.kind}, not on one model. Use subject.")
        return self.subject

    @property
    def release(self) -> ReleaseSummary:
        """The subject, where it is a release of explanations; raises TypeError otherwise."""
        if not isinstance(self.subject, ReleaseSummary):
            raise TypeError(f"these are findings on a {self.subject.kind}, not on a release. Use subject.")
        return self.subject

    @property
    def decision(self) -> str:
        """What the verdict means for the release, in one sentence."""
        what = {"release": "these explanations", "several models": "these models together"}.get(
            self.subject.kind, f"this {self.subject.kind}"
        )
        statuses = [check.status for check in self.checks]
        failed, unknown, passed = (statuses.count(status) for status in ("fail", "unknown", "pass"))
        judged = failed + unknown + passed
        checks = "1 check" if judged == 1 else f"{judged} checks"
        if failed:
            aside = f", and {unknown} could not run" if unknown else ""
            return f"The policy does not allow the release of {what}: {failed} of {checks} failed{aside}."
        if unknown:
            aside = f"; the other {passed} passed" if passed > 1 else "; the other passed" if passed else ""
            return f"The policy does not allow the release of {what} yet: {unknown} of {checks} could not run{aside}."
        if not statuses:
            return f"The policy does not decide on the release of {what}: it has no check for it."
        silent = len(statuses) - judged
        aside = f"; {silent} {'does' if silent == 1 else 'do'} not apply" if silent else ""
        all_passed = f"{'all ' if judged > 1 else ''}{checks} passed" if judged else "no check applies"
        return f"The policy allows the release of {what}: {all_passed}{aside if judged else ''}.{self._only_copies}"

    @property
    def _only_copies(self) -> str:
        """Which copy alone may be released, after a sentence; empty where the files themselves may."""
        foreign = sum(not file.canonical for file in self.files)
        return f" Release only the clean {'copy' if foreign == 1 else 'copies'}." if foreign else ""

    @property
    def exit_status(self) -> int:
        """0 within policy, 1 outside policy, 3 inconclusive."""
        return EXIT_STATUS[self.verdict]

    def value(self, name: str) -> Any:
        """Return what a measurement found; None where it was not made, for a reason in ``measured[name]``."""
        outcome = self.measured[name]
        return outcome.value if isinstance(outcome, Measured) else None

    def public(self) -> Findings:
        """Return what may be published: without measurements, notes and files of records.

        Checks stay, those that were judged on records included: the verdict rests on them.

        **Guarantee**: for a subject whose guarantee is accepted, the result does not depend on the records.
        """
        bare = {entry.name: entry.metadata["public"] for entry in dataclasses.fields(self) if entry.metadata}
        return replace(
            self,
            audience="public",
            measured=self.measured.public(),
            advice=tuple(remedy.public() for remedy in self.advice),
            policies=tuple(entry.public() for entry in self.policies),
            notes=tuple(note for note in self.notes if not isinstance(note, RecordNote)),
            inputs=tuple(file for file in self.inputs if file.sha256 is not None),
            **bare,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain JSON values, schema ``glassine.findings/12``; the audience stands first."""
        names = [entry.name for entry in dataclasses.fields(self) if entry.name not in ("audience", "holder")]
        return {
            "audience": self.audience,
            "schema": SCHEMA,
            "decision": self.decision,
            **{name: plain_value(getattr(self, name)) for name in names},
            "holder": None if self.holder is None else self.holder.to_dict(),
        }

    def show(self, audience: Audience = "public") -> Any:
        """Return what a notebook shows of them: as the public may see it by default, as a checker sees it if asked."""
        return import_module("glassine.plots").show(self, audience)

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the findings to a JSON file, whole or not at all."""
        write_json(self.to_dict(), path)

    def __repr__(self) -> str:
        failed = [check.rule for check in self.checks if check.status == "fail"]
        detail = f"; failed: {', '.join(failed)}" if failed else ""
        return f"<Findings on {self.subject}: {self.verdict}{detail}>"


def plain_value(value: object) -> Any:
    """Return findings as plain JSON values; an outcome has a status, what is infinite or NaN is None."""
    if isinstance(value, Measured):
        inner = plain_value(value.value)
        return {"status": "measured", **inner} if isinstance(inner, dict) else {"status": "measured", "value": inner}
    if isinstance(value, NotApplicable):
        return {"status": "not applicable", "reason": value.reason}
    if isinstance(value, Failed):
        return {"status": "failed", "reason": value.reason}
    if isinstance(value, Hidden):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: plain_value(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain_value(item) for name, item in value.items()}
    if isinstance(value, tuple | list | LazyTuple):
        return [plain_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
