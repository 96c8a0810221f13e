"""What evidence rests on, and the kinds of answers: a figure with its method, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import wraps
from typing import Any, TypeAlias

from glassine.attacks.outcome import About, Below
from glassine.auditing.describe import bounds_of
from glassine.auditing.findings import Check
from glassine.auditing.policy import Policy
from glassine.models import Guarantee
from glassine.privacy.certificate import Certificate
from glassine.report import wording
from glassine.report.figures import FigureReading
from glassine.report.sections.policy import worded


@dataclass(frozen=True, slots=True)
class EvidenceFigure:
    """A figure and how it was measured, or where it is proved."""

    text: str
    method: str


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no figure: what follows "not measured, because"."""

    reason: str


Answer: TypeAlias = EvidenceFigure | Missing


class NoFigureError(Exception):
    """What a figure needs is missing, for the reason that the message gives: the answer ends with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What evidence rests on."""

    findings: Mapping[str, Any] | None = None
    certificate: Certificate | None = None

    @property
    def report(self) -> Mapping[str, Any]:
        """The findings; raises :class:`NoFigureError` without a report."""
        if self.findings is None:
            raise NoFigureError(NO_REPORT.reason)
        return self.findings

    @property
    def stated(self) -> Certificate:
        """The certificate; raises :class:`NoFigureError` without one."""
        if self.certificate is None:
            raise NoFigureError(NO_CERTIFICATE.reason)
        return self.certificate

    @property
    def parts(self) -> list[Mapping[str, Any]]:
        """The parts of the model; raises :class:`NoFigureError` where the audit has none."""
        return list(self.figures("parts")["parts"])

    @property
    def bounds(self) -> Sequence[Mapping[str, Any]] | Missing:
        """What follows from the guarantee that the report states, else from that of the certificate."""
        if self.findings is not None:
            guarantee = self.findings["guarantee"]
            if guarantee is None:
                return Missing("the model claims no differential privacy")
            void = guarantee["caveats"] if not guarantee["bounds"] else ()
            bounds: Sequence[Mapping[str, Any]] = guarantee["bounds"]
        elif self.certificate is None or self.certificate.epsilon is None:
            return NO_REPORT
        else:
            void = self.certificate.caveats
            bounds = () if void else [asdict(bound) for bound in bounds_of(_claimed(self.certificate))]
        return Missing(f"the guarantee does not hold: {'; '.join(void)}") if void else bounds

    def measured(self, name: str) -> Mapping[str, Any] | Missing:
        """Return what an audit measured under a name, or why it did not."""
        if self.findings is None:
            return NO_REPORT
        outcome = self.findings["measured"].get(name)
        if outcome is None:
            return Missing("this audit does not measure it of such a subject")
        # What several models reveal together has a status of its own, and then no reason.
        if outcome["status"] in ("not applicable", "failed", "unmeasured"):
            return Missing(str(outcome.get("reason", "no model publishes exact counts")).rstrip("."))
        values: Mapping[str, Any] = outcome
        return values

    def figures(self, name: str, lead: str = "") -> Mapping[str, Any]:
        """Return what an audit measured under a name; raise :class:`NoFigureError`, with a lead, if it did not."""
        outcome = self.measured(name)
        if isinstance(outcome, Missing):
            raise NoFigureError(f"{lead}{outcome.reason}")
        return outcome

    def source(self, name: str) -> object:
        """Return what a declared figure reads: see :func:`declare`."""
        whole, _, field = name.partition(".")
        if whole == "certificate":
            return self.stated
        if whole == "report":
            return self.report[field] if field else self.report
        return self.figures(name)

    def check(self, name: str) -> Mapping[str, Any] | None:
        """Return the check of a criterion, if the audit made it."""
        checks = () if self.findings is None else self.findings["checks"]
        return next((check for check in checks if check["rule"] == name), None)


NO_REPORT = Missing("no report of an audit was given")
NO_CERTIFICATE = Missing("no certificate was given")

Measure: TypeAlias = Callable[[Basis], Iterator[Answer]]
ANSWERS: dict[str, Measure] = {}
"""Each figure by the name that the table of items uses."""


def answer(function: Measure) -> Measure:
    """Register a figure under the name of its function; what it lacks is its last answer."""

    @wraps(function)
    def answers(basis: Basis) -> Iterator[Answer]:
        try:
            yield from function(basis)
        except NoFigureError as error:
            yield Missing(str(error))

    ANSWERS[function.__name__.removeprefix("_")] = answers
    return answers


def declare(text: str) -> None:
    """Register the figures of a table, one a line: ``answer | source | figure | method | why there is none``.

    Figure and method are templates, as in :mod:`glassine.report.figures`. The source is ``certificate``, ``report``, a
    field of the report after a dot, or the name of a measurement. A figure of which a field has no value is not
    measured for the reason of its line; without a reason nothing is said.
    """
    lines: dict[str, list[list[str]]] = {}
    for line in text.strip().splitlines():
        name, *parts = map(str.strip, line.split("|"))
        lines.setdefault(name, []).append([*parts, ""][:4])
    for name, figures in lines.items():

        def answers(basis: Basis, figures: list[list[str]] = figures) -> Iterator[Answer]:
            for source, figure, method, reason in figures:
                reading = FigureReading(basis.source(source))
                if said := reading.said(figure, ""):
                    yield EvidenceFigure(said, reading.said(method))
                elif reason:
                    yield Missing(reason)

        answers.__name__ = name
        answer(answers)


def display(value: Any) -> str:
    """Return a count as it may be shown, a share or an amount."""
    if value is None:
        return "not shown"
    if isinstance(value, Mapping):
        return f"fewer than {value['below']}" if "below" in value else f"about {value['about']:,}"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def limited(basis: Basis, name: str, what: str) -> Iterator[Answer]:
    """Yield how a check of the policy was judged."""
    check = basis.check(name)
    if basis.findings is None:
        yield NO_REPORT
    elif check is None:
        on = basis.findings["policy"].get(name) is not None
        yield Missing(f"{what} is not judged of such a subject" if on else f"the policy has no limit on {what}")
    elif check["status"] == "unknown":
        yield Missing(str(check["meaning"]).rstrip("."))
    elif check["basis"] == "guarantee":
        yield EvidenceFigure(check["meaning"], "by the guarantee that the policy accepts, not by counting")
    else:
        yield EvidenceFigure(in_words(basis, check), "check of the policy")


def in_words(basis: Basis, check: Mapping[str, Any]) -> str:
    """Return a check of a report in the words of every report."""
    figure = check["measured"]
    if isinstance(figure, Mapping):
        figure = Below(figure["below"]) if "below" in figure else About(figure["about"])
    with wording.counting(basis.report["counted"]):
        row = worded(Check(**{**check, "measured": figure}), Policy(), basis.report["subject"]["kind"])
    return f"{row.label}: {row.status}, {row.sentence}"


def judged(basis: Basis, *names: str) -> Iterator[Answer]:
    """Yield how those checks were judged that the audit made."""
    for name in names:
        if basis.check(name) is not None:
            yield from limited(basis, name, name.replace("_", " "))


def bound_of(basis: Basis, name: str) -> EvidenceFigure | None:
    """Return a bound that follows from the guarantee, if it holds."""
    bounds = basis.bounds
    listed = () if isinstance(bounds, Missing) else bounds
    return next((bounded(bound) for bound in listed if bound["name"].startswith(name)), None)


def bounded(bound: Mapping[str, Any]) -> EvidenceFigure:
    """Return a bound as a figure with its proof."""
    return EvidenceFigure(f"{bound['name']}: at most {bound['value']:.4g}. {bound['statement']}", bound["method"])


def _claimed(certificate: Certificate) -> Guarantee:
    """Return the guarantee that a certificate states."""
    return Guarantee(
        epsilon=certificate.epsilon or 0.0,
        delta=certificate.delta or 0.0,
        neighboring=certificate.neighboring,
        records_per_person=certificate.unit.records_per_person,
    )
