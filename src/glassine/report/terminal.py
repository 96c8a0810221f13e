"""The report as text: a summary to paste into a mail, and the same with colour for a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from glassine.auditing.findings import Findings
from glassine.report import wording
from glassine.report.summary import Summary, summarize

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["render_rich", "render_text"]

WIDTH = 88
MOST_ATTRIBUTES = 3
LONGEST_NAME = 50


def render_text(findings: Findings) -> str:
    """Return the findings as some 30 lines of plain text, at most 88 characters wide.

    Parameters
    ----------
    findings : Findings
        The result of an audit.

    Returns
    -------
    str
        The text, with a line feed at its end.
    """
    return "\n".join(_lines(summarize(findings))) + "\n"


def render_rich(findings: Findings) -> Text:
    """Return the text of :func:`render_text` with colours, for a terminal.

    Parameters
    ----------
    findings : Findings
        The result of an audit.

    Returns
    -------
    rich.text.Text
        Colour is added to words, never instead of them.
    """
    from rich.text import Text

    text = Text(render_text(findings).rstrip("\n"))
    verdict = findings.verdict.upper()
    colour = {"within policy": "cyan", "outside policy": "red", "inconclusive": "yellow"}[findings.verdict]
    at = text.plain.find(verdict)
    text.stylize(f"bold {colour}", at, at + len(verdict))
    text.highlight_regex(r"(?m)^  \[fail\]", "bold red")
    text.highlight_regex(r"(?m)^  \[(pass|accepted)\]", "cyan")
    text.highlight_regex(r"(?m)^  \[(unknown|not applicable|not accepted|too weak|does not hold)\]", "bold yellow")
    text.highlight_regex(r"(?m)^[A-Z][^\n:.]*$", "bold")
    return text


def _lines(summary: Summary) -> list[str]:
    lines = [wording.HOLDER_ONLY] if summary.holder_only else []
    lines.append(f"Glassine {summary.version}: {summary.verdict.upper()}")
    for note in summary.notes:
        lines += textwrap.wrap(f"Note: {note}", WIDTH, subsequent_indent="      ", break_on_hyphens=False)
    lines += [*_wrap(summary.described), *_wrap(summary.short_sentence), *_inputs(summary)]
    lines += _guarantee(summary)
    lines += ["", "Policy"]
    for check in summary.checks:
        lines += _wrap(f"[{check.status}] {check.label}: {check.measured} (limit: {check.limit})", hang="    ")
    if not summary.checks:
        lines.append("  The policy holds no rule.")
    who = "" if summary.membership is None else summary.membership.sentence
    told = [
        summary.rebuilt,
        summary.narrowed,
        summary.label_sentence,
        summary.value_sentence,
        who,
        "" if summary.exposure is None else summary.exposure.sentence,
        "" if summary.additive is None else summary.additive.sentence,
        _attributes(summary),
    ]
    lines += ["", "What a reader learns"] if any(told) else []
    for sentence in told:
        lines += _wrap(sentence, hang="    ") if sentence else []
    missing = [m for m in summary.measures if m.state != "measured"]
    if missing:
        lines += ["", "What was not measured"]
        for measure in missing:
            lines += _wrap(f"{measure.name} ({measure.state}): {measure.reason}", hang="    ")
    if summary.advice:
        lines += ["", "What to do next"]
        for number, advice in enumerate(summary.advice, start=1):
            lines += _wrap(f"{number}. {advice}", hang="     ")
    return lines


def _guarantee(summary: Summary) -> list[str]:
    found = summary.guarantee
    if found is None:
        return []
    lines = ["", "Guarantee", *_wrap(f"[{found.status}] {found.sentence}", hang="    ")]
    for caveat in found.caveats:
        lines += _wrap(f"Caveat: {caveat}", hang="    ")
    for bound in found.bounds:
        lines += _wrap(f"{bound.name}: {bound.value}", hang="    ")
    return lines


def _inputs(summary: Summary) -> list[str]:
    named = [(file.role, wording.shorten(file.name, LONGEST_NAME), file.sha256) for file in summary.inputs]
    roles, names = (max((len(entry[i] or "") for entry in named), default=0) for i in (0, 1))
    return [
        f"{role:{roles}}  {name:{names}}  {'no digest: records' if digest is None else f'sha256 {digest[:12]}…'}"
        for role, name, digest in named
    ]


def _attributes(summary: Summary) -> str:
    named = [f"{wording.shorten(bar.name, 30)} ({bar.value})" for bar in summary.attributes[:MOST_ATTRIBUTES]]
    return f"Attributes most revealed, in bits per record: {', '.join(named)}." if named else ""


def _wrap(text: str, hang: str | None = None) -> list[str]:
    first, rest = ("", "") if hang is None else ("  ", hang)
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
