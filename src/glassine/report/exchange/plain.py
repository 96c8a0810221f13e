"""Findings as the plain values of a report's first page, for programs that draw them themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from glassine.auditing.findings import Findings
from glassine.report.blocks import Block, Columns, Fold, Points
from glassine.report.rendering import page_of
from glassine.report.sections.policy import checked


def as_plain(findings: Findings, name: str) -> dict[str, Any]:
    """Return what a report says first: the verdict, every check with figure and limit, what to do and what to ask.

    Every text is cleaned; texts may hold code between backticks.
    """
    # name: name of the model, the title.
    page = page_of(findings, title=name)
    steps = [block for block in _flat(page.details) if isinstance(block, Points) and block.style == "advice"]
    advice = [{"text": str(one), "action": one.action, "parameters": dict(one.parameters)} for one in findings.advice]
    return {
        "schema": "glassine.page/1",
        "tone": page.tone,
        "headline": page.headline,
        "sentence": page.sentence,
        "caveat": page.caveat,
        "described": page.described,
        "kind": findings.subject.kind,
        "notes": [str(note) for note in page.notes],
        "checks": [asdict(one) for one in checked(findings)],
        "steps": [text for block in steps if block.title for text in block.items],
        "advice": advice,
        "requests": list(findings.requests),
        "sections": [section.title for section in page.sections],
        "version": findings.version,
    }


def _flat(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        if isinstance(block, Columns):
            for column in block.columns:
                yield from _flat(column)
        elif isinstance(block, Fold):
            yield from _flat(block.blocks)
        else:
            yield block
