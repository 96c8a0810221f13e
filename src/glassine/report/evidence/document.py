"""Evidence: what authorities and checkers ask of a published model, item by item, and what answers it."""

from __future__ import annotations

import importlib.resources
import re
import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from glassine import __version__
from glassine.attacks.outcome import Audience
from glassine.auditing.copies import Origin, edited
from glassine.auditing.findings.root import SCHEMA as FINDINGS
from glassine.auditing.policy import Policy
from glassine.auditing.schema import fault
from glassine.errors import InvalidParameterError, InvalidPolicyError, check_choice, parameter, quoted
from glassine.privacy.certificate import Certificate
from glassine.report import wording
from glassine.report.evidence import measured, stated
from glassine.report.evidence.basis import ANSWERS, NO_REPORT, Answer, Basis, EvidenceFigure, Missing

SCHEMA = "glassine.evidence/1"
WIDTH = 100
PERSON = "Only a person can state this"
EMPTY = "____________________"
AUDIT_IT = (
    "Items on the model itself need its audit: audit the file of the model, and give the report as JSON beside the "
    "certificate."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceItem:
    """One thing that is asked of a published model."""

    id: str  # Its number in the table
    list: str  # Who asks
    asked: str  # What is asked
    source: str  # Document and section; empty where it was not seen
    heading: str = ""  # The name that the source gives it, if it has one
    figures: tuple[str, ...] = ()  # Names of the figures that answer it
    unmeasured: str = ""  # Why no figure answers it, or what figures leave open
    unseen: str = ""  # Which source was not read, so that the item is not confirmed
    person: tuple[str, ...] = ()  # What only a person can state
    remark: bool = False  # Whether nothing is asked: it says what a source is worth, and has no answer


CODE = re.compile(r"\\`(-*[A-Za-z]+(?:[- ][A-Za-z]+)*)\\`")
"""A command or an option as texts quote it, escaped: letters, hyphens and spaces alone, which are no markup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceLine:
    """An item with its answers."""

    item: EvidenceItem  # What is asked
    answers: tuple[Answer, ...]  # Figures with their methods, and why there are no others
    # What only a person can state, and what the sign-off of the report states of it; empty without a statement.
    person: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceDocument:
    """The answers to one list of items."""

    list: str  # Name of the list, such as ``nist``
    title: str  # Whose questions they are
    about: str  # What is answered for
    audience: Audience  # ``checker`` or ``public``, as the report that the figures come from
    lines: tuple[EvidenceLine, ...]  # One for each item, in the order of the table
    version: str  # Version of Glassine

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; what only a person can state has an empty text."""
        return {
            "schema": SCHEMA,
            "audience": self.audience,
            "list": self.list,
            "title": self.title,
            "about": self.about,
            "version": self.version,
            "items": [
                {
                    "id": line.item.id,
                    "heading": line.item.heading,
                    "asked": line.item.asked,
                    "source": line.item.source,
                    "remark": line.item.remark,
                    "answers": [_plain(answer) for answer in line.answers],
                    "person": {name: wording.clean(text) for name, text in line.person},
                }
                for line in self.lines
            ],
        }

    def said(self, line: EvidenceLine) -> tuple[str, ...]:
        """Return the answers of a line in words; what an earlier line said in full is only named, with its item."""
        before: dict[Answer, str] = {}
        for earlier in self.lines[: self.lines.index(line)]:
            before = dict.fromkeys(earlier.answers, earlier.item.id) | before
        said = (_referred(answer, before[answer]) if answer in before else _sentence(answer) for answer in line.answers)
        return tuple(dict.fromkeys(said))

    def markdown(self) -> str:
        """Return a page of Markdown."""
        out = [f"# {self.title}", "", f"{_escaped(self.about)} For: {self.audience}. Glassine {self.version}.", ""]
        for line in self.lines:
            out += [f"## {_title(line.item)}", "", line.item.asked, "", f"*Source: {_source(line.item)}.*", ""]
            out += [f"- {_escaped(said)}" for said in self.said(line)]
            out += [f"- {PERSON}: {name}: {_escaped(wording.clean(text)) or EMPTY}" for name, text in line.person]
            out.append("")
        return "\n".join(out)

    def text(self) -> str:
        """Return plain text."""

        def wrapped(text: str, first: str) -> str:
            return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first))

        out = [self.title, "=" * len(self.title), "", wrapped(f"{self.about} For: {self.audience}.", ""), ""]
        for line in self.lines:
            out += [_title(line.item), wrapped(line.item.asked, "  "), wrapped(f"Source: {_source(line.item)}.", "  ")]
            out += [wrapped(said, "  - ") for said in self.said(line)]
            out += [wrapped(f"{PERSON}: {name}: {wording.clean(text) or EMPTY}", "  - ") for name, text in line.person]
            out.append("")
        return "\n".join(out)


LISTS: tuple[str, ...] = ("tre", "tehdas", "edpb", "nist", "iso27559", "hipaa")
"""Names of the lists."""


@cache
def _table() -> Mapping[str, Any]:
    text = importlib.resources.files("glassine.report.evidence").joinpath("items.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def items() -> tuple[EvidenceItem, ...]:
    """Return every item of the table, in its order."""
    return tuple(
        EvidenceItem(**{**entry, "list": which, **{name: tuple(entry.get(name, ())) for name in ("figures", "person")}})
        for which in LISTS
        for entry in _table()[which]
    )


FIGURES = (measured, stated)
"""The modules that register figures by name."""


def evidence(
    which: str,
    *,
    findings: Mapping[str, Any] | None = None,
    certificate: Certificate | None = None,
    origin: Origin | None = None,
) -> EvidenceDocument:
    r"""Return what a report and a certificate answer to a list of items.

    Parameters
    ----------
    which : {"tre", "tehdas", "edpb", "nist", "iso27559", "hipaa"}
        Whose items: checkers of trusted research environments, the European health data space, European
        data-protection authorities, NIST SP 800-226, ISO/IEC 27559, or HIPAA's expert determination.
    findings : mapping, optional
        The JSON of an audit's findings.
    certificate : Certificate, optional
        The certificate of the model.
    origin : Origin, optional
        How the audited model follows from that of the certificate, if it is a copy: see
        :func:`glassine.auditing.copies.follow`.

    Raises
    ------
    InvalidParameterError
        If the list is unknown, there is neither report nor certificate, the findings are of another schema, or the
        certificate is of another model or file than they are.

    Examples
    --------
    >>> from glassine import audit, parse_rules
    >>> rules = parse_rules("if [a] then [true] ([3 ; 41] examples)\nelse [false] ([52 ; 9] examples)")
    >>> document = evidence("tre", findings=audit(rules).to_dict())
    >>> document.lines[0].item.id, document.lines[0].answers[-1].text
    ('T1', '0 of 2 parts are below the limit')
    """
    check_choice(which, "which", LISTS)
    if findings is None and certificate is None:
        raise InvalidParameterError(
            "evidence needs the findings of an audit, a certificate, or both.", remedy="Pass what you have of them."
        )
    if findings is not None:
        _check(findings)
    if findings is not None and certificate is not None:
        origin = origin or _edited(findings, certificate)
        _check_same(findings, certificate, origin)
    basis = Basis(findings=findings, certificate=certificate)
    return EvidenceDocument(
        list=which,
        title=_table()["lists"][which],
        about=" ".join(filter(None, (_about(basis), "" if origin is None else origin.text))),
        audience="public" if findings is None else findings["audience"],
        lines=tuple(_line(item, basis) for item in items() if item.list == which),
        version=__version__,
    )


def _check_same(findings: Mapping[str, Any], certificate: Certificate, origin: Origin | None) -> None:
    """Raise if a certificate is not that of the audited model, as far as both state what they are of."""
    claim = findings["guarantee"]
    files = {file["sha256"] for file in findings["inputs"] if file["role"] in ("model", "release")} - {None}
    same = claim is not None and (claim["epsilon"], claim["delta"]) == (certificate.epsilon, certificate.delta)
    other = origin is None and certificate.file is not None and files and certificate.file not in files
    if not same or other:
        raise InvalidParameterError(
            "the report and the certificate are of different models or files.",
            remedy="Audit the file that the certificate was written with, or say how the audited one follows from it.",
        )


def _edited(findings: Mapping[str, Any], certificate: Certificate) -> Origin | None:
    """Return the origin of an edited additive model, if it is that of the certificate without its edits.

    The audit took them back, as the log of the model holds what they replaced.
    """
    terms = findings["measured"].get("terms") or {}
    if certificate.model is None or terms.get("released") != certificate.model:
        return None
    return edited(terms["n_edits"])


def _check(findings: Mapping[str, Any]) -> None:
    schema = findings.get("schema")
    odd = None if schema == FINDINGS else f"got {quoted(schema)}"
    if odd is None and (place := fault(findings)) is not None:
        odd = f"and {wording.clean(place)} is not as it says"
    if odd is None:
        try:
            Policy(**findings["policy"])
        except InvalidPolicyError as error:
            odd = f"and its policy cannot be: {error}"
    if odd is not None:
        raise InvalidParameterError(
            f"{parameter('findings')} must be of schema {FINDINGS!r}, {odd}.",
            remedy="Write the report of an audit as JSON with this version.",
        )


def _about(basis: Basis) -> str:
    if basis.findings is None:
        return f"About the model of a certificate. {AUDIT_IT}"
    subject = basis.findings["subject"]
    name = next((file["name"] for file in basis.findings["inputs"] if file["role"] in ("model", "release")), "")
    kind = wording.clean(subject["kind"])
    return f"About {wording.clean(name)}, {kind}." if name else f"About a {kind}."


def _line(item: EvidenceItem, basis: Basis) -> EvidenceLine:
    signed = {} if basis.findings is None else basis.findings["sign_off"]
    stated = {name: signed.get(_table()["statements"].get(name, ""), "") for name in item.person}
    return EvidenceLine(item=item, answers=_answers(item, basis), person=tuple(stated.items()))


def _answers(item: EvidenceItem, basis: Basis) -> tuple[Answer, ...]:
    out = [Missing(f"the source of this item was not seen: {item.unseen}")] if item.unseen else []
    said: list[Answer] = [*out]
    for name in item.figures:
        said += ANSWERS[name](basis)
    if item.unmeasured:
        said.append(Missing(item.unmeasured))
    if not said and not item.person and not item.remark:
        said.append(NO_REPORT)
    return tuple(dict.fromkeys(said))


def _plain(answer: Answer) -> dict[str, str]:
    if isinstance(answer, EvidenceFigure):
        return {"figure": wording.clean(answer.text), "method": wording.clean(answer.method)}
    return {"not_measured_because": wording.clean(answer.reason)}


def _sentence(answer: Answer) -> str:
    plain = _plain(answer)
    if "figure" in plain:
        return f"{plain['figure'].rstrip('.')}. Method: {plain['method'].rstrip('.')}."
    return f"Not measured: {plain['not_measured_because'].rstrip('.')}."


def _referred(answer: Answer, item: str) -> str:
    """Return an answer in brief, with the item under which it stands in full."""
    if isinstance(answer, Missing):
        return f"Not measured: the reason is under {item}."
    return f"{wording.clean(answer.text).partition('. ')[0].rstrip('.')}. More under {item}."


def _title(item: EvidenceItem) -> str:
    return f"{item.id} {item.heading}".strip()


def _source(item: EvidenceItem) -> str:
    return item.source or "not confirmed"


def _escaped(text: str) -> str:
    """Return a text that Markdown shows unchanged: no tag, no emphasis from names; commands and options stay code."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = "".join(f"\\{c}" if c in "\\*_[]`|" else c for c in plain)
    return CODE.sub(r"`\1`", escaped)
