"""Several model files, audited one by one: verdicts, and the worst status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glassine.attacks.outcome import Audience
    from glassine.auditing.findings import Findings

WORST_FIRST = (2, 1, 3, 0)
"""Exit statuses from bad input to within policy: an open check is better than a failed one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVerdict:
    """What was found of one file."""

    path: Path  # The file
    findings: Findings | None = None  # What was found; None where it could not be audited
    error: str = ""  # Why not
    status: int = 2  # Exit status of its audit
    skipped: str = ""  # Schema of a file that holds no model and was not audited; else empty


def worst_status(verdicts: Sequence[FileVerdict]) -> int:
    """Return the worst exit status: bad input, outside policy, inconclusive, within policy."""
    return min((verdict.status for verdict in verdicts if not verdict.skipped), key=WORST_FIRST.index)


def plain_verdicts(verdicts: Sequence[FileVerdict]) -> dict[str, Any]:
    """Return the verdicts as plain JSON values, each with its findings."""
    return {
        "schema": "glassine.verdicts/2",
        "status": worst_status(verdicts),
        "models": [
            {
                "file": str(verdict.path),
                "status": verdict.status,
                "error": verdict.error or None,
                "findings": None if verdict.findings is None else verdict.findings.to_dict(),
            }
            for verdict in verdicts
            if not verdict.skipped
        ],
        "skipped": [{"file": str(verdict.path), "schema": verdict.skipped} for verdict in verdicts if verdict.skipped],
    }


def verdict_table(verdicts: Sequence[FileVerdict], audience: Audience) -> str:
    """Return a table of the files, worst first, with the checks that failed or could not run."""
    from glassine.report.wording import NOTICES

    ordered = sorted(verdicts, key=lambda verdict: (bool(verdict.skipped), WORST_FIRST.index(verdict.status)))
    rows = [(str(verdict.path), _verdict(verdict), _against(verdict)) for verdict in ordered]
    widths = [max(len(row[i]) for row in rows) for i in (0, 1)]
    lines = (f"{name.ljust(widths[0])}  {said.ljust(widths[1])}  {why}".rstrip() for name, said, why in rows)
    return "\n".join([NOTICES[audience], *lines])


def _verdict(verdict: FileVerdict) -> str:
    if verdict.skipped:
        return "SKIPPED"
    return "BAD INPUT" if verdict.findings is None else verdict.findings.verdict.upper()


def _against(verdict: FileVerdict) -> str:
    if verdict.findings is None:
        return f"no model, but of schema {verdict.skipped}" if verdict.skipped else verdict.error
    said = [
        f"{check.status}: {check.rule}"
        for status in ("fail", "unknown")
        for check in verdict.findings.checks
        if check.status == status
    ]
    return ", ".join(said)
