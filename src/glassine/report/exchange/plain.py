"""Findings as the plain values of a report's first page, for programs that draw them themselves."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from glassine.auditing.findings import Findings
from glassine.auditing.trying import remedies_to_try
from glassine.report import wording
from glassine.report.rendering import page_of
from glassine.report.sections.policy import checked

SCHEMA = "glassine.page/1"


def as_plain(findings: Findings, name: str) -> dict[str, Any]:
    """Return what a report says first: the verdict, every check with figure and limit, what to do and what to ask.

    What to do is in plain words, for people without a shell; ``tries`` has the places of those that make a copy.
    """
    # name: name of the model, the title.
    page = page_of(findings, title=name)
    tried = {id(one) for one in remedies_to_try(findings.advice)}
    return {
        "schema": SCHEMA,
        "tone": page.tone,
        "headline": page.headline,
        "sentence": page.sentence,
        "caveat": page.caveat,
        "described": page.described,
        "kind": findings.subject.kind,
        "notes": [str(note) for note in page.notes],
        "checks": [asdict(one) for one in checked(findings)],
        "steps": [wording.clean(one.plain) for one in findings.advice],
        "tries": [place for place, one in enumerate(findings.advice) if id(one) in tried],
        "requests": list(findings.requests),
        "version": findings.version,
    }
