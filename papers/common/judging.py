"""Statements of a paper judged by results: a verdict follows from the figures alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from papers.common.results import Row, read

CONFIRMED, REFUTED, PARTLY = "confirmed", "refuted", "in part"

Evidence = TypeVar("Evidence")
Judgement = tuple[str, str]
"""A verdict, and the figures that it follows from."""


def verdict(holds: bool, but: bool = False) -> str:
    """Return the verdict on what holds, or holds but for something."""
    return PARTLY if holds and but else CONFIRMED if holds else REFUTED


def judged(statements: Path, judges: Sequence[Callable[[Evidence], Judgement]], found: Evidence) -> list[Row]:
    """Return the statements of a file, each judged by the judge that it names."""
    named = {judge.__name__: judge for judge in judges}
    rows = []
    for claim in read(statements):
        told, figures = named[claim["judge"]](found)
        shown = {"where": claim["where"], "claim": claim["claim"], "verdict": told, "here": figures}
        rows.append(shown | {"reason": claim["reason"]})
    return rows


__all__ = ["CONFIRMED", "PARTLY", "REFUTED", "Judgement", "judged", "verdict"]
