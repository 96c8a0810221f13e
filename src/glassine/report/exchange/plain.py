"""Findings as the plain values of a report's first page, for programs that draw them themselves."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from glassine.auditing.findings import Findings
from glassine.auditing.remedy import Remedy
from glassine.auditing.trying import remedies_to_try
from glassine.report import wording
from glassine.report.rendering import page_of
from glassine.report.sections.policy import checked

SCHEMA = "glassine.page/1"


def as_plain(findings: Findings, name: str) -> dict[str, Any]:
    """Return what a report says first: the verdict, every check with figure and limit, what to do and what to ask.

    What to do is in plain words, for people without a shell; ``tries`` has the places of those that make a copy,
    ``replies`` what of it the publisher does, as a checker writes it to them, ``measures`` whether one passes records,
    and ``accepts`` whether one is to accept the guarantee.
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
        "replies": [reply for one in findings.advice if (reply := wording.clean(_reply(one)))],
        "tries": [place for place, one in enumerate(findings.advice) if id(one) in tried],
        "measures": any({"data", "holdout"} & set(one.parameters) for one in findings.advice if one.action == "audit"),
        "accepts": any(one.action == "accept" for one in findings.advice),
        "requests": list(findings.requests),
        "version": findings.version,
    }


DONE_BY_PUBLISHERS = ("scrub", "fit", "disclose", "explain")
ASKING = {"Ask the publisher to ": "Please ", "Ask the publisher for ": "Please send ", "ask the publisher to ": ""}
"""How a remedy asks for what the publisher does, and how a letter to the publisher says it."""


def _reply(one: Remedy) -> str:
    """Return what a remedy asks the publisher to do; empty where the person who audits does it."""
    text = one.plain
    if one.action not in DONE_BY_PUBLISHERS and not text.startswith(
        ("Ask the publisher to ", "Ask the publisher for ")
    ):
        return ""
    if one.action in ("audit", "domain"):
        return ""  # What is missing is asked for by the questions
    for words, said in ASKING.items():
        text = text.replace(words, said)
    return text
