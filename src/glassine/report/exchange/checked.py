"""Checks as other tools show them: label, status, and one sentence with the figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glassine.auditing.findings import Findings, ModelSummary
from glassine.report import wording
from glassine.report.sections.policy import worded

__all__ = ["Checked", "checked", "escaped", "kind_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A check in words.

    Attributes
    ----------
    rule : str
        Name of the rule.
    label : str
        The rule in words.
    status : str
        ``pass``, ``fail``, ``unknown`` or ``not applicable``.
    figure, limit : str
        What was measured, and the limit.
    meaning : str
        What it says.
    """

    rule: str
    label: str
    status: str
    figure: str
    limit: str
    meaning: str

    @property
    def sentence(self) -> str:
        """Figure, limit and meaning together."""
        return f"{self.figure} (limit: {self.limit}). {self.meaning}"


def kind_of(findings: Findings) -> str:
    """Return the kind of subject, by which rules are worded."""
    return findings.subject.kind if isinstance(findings.subject, ModelSummary) else str(findings.subject.kind)


def checked(findings: Findings) -> Sequence[Checked]:
    """Return the checks of findings in words, counts in the unit of the findings."""
    with wording.counting(findings.counted):
        rows = [(check, worded(check, findings.policy, kind_of(findings))) for check in findings.checks]
    return tuple(
        Checked(
            rule=check.rule,
            label=row.label,
            status=check.status,
            figure=row.measured,
            limit=row.limit,
            meaning=row.meaning,
        )
        for check, row in rows
    )


def escaped(text: str) -> str:
    """Return a text that Markdown and HTML show unchanged."""
    plain = wording.clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{c}" if c in "\\*_[]`|" else c for c in plain)
