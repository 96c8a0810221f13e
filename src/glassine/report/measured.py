"""How reports show what was measured: one object for each measurement, beside the section that it is about.

A module of ``report/sections`` holds them under the name ``SECTIONS``. No other module lists them: see "How to
add an attack" in docs/contributing.md.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Generic, TypeVar

from glassine.attacks.outcome import Measured
from glassine.auditing.findings import Findings
from glassine.report.section import Section

F = TypeVar("F")

MODEL, LAST = 20, 99
"""Ranks: where a report shows the model itself; that of a section that states no place."""


def _nothing(finding: object, findings: Findings) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class MeasuredSection(Generic[F]):
    """How reports show one measurement."""

    measurement: str  # The name of the measurement
    section: Callable[[F, Findings], Section]  # Returns the section, of what was measured and all findings
    # Returns what the measurement still lacks, in a sentence; empty where it is whole.
    lacking: Callable[[F, Findings], str] = _nothing
    rank: int = LAST  # Its place: sections stand in the order of their ranks


@cache
def measured_sections() -> dict[str, MeasuredSection[Any]]:
    """Return the section of each measurement that has one, in the order of a report."""
    package = importlib.import_module("glassine.report.sections")
    out: list[MeasuredSection[Any]] = []
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        out += getattr(importlib.import_module(module.name), "SECTIONS", ())
    return {one.measurement: one for one in sorted(out, key=lambda one: one.rank)}


def sections_of(findings: Findings, *, least: int = 0, below: int = LAST + 1) -> Iterator[Section]:
    """Yield the sections of what was measured, those of a range of ranks."""
    for name, one in measured_sections().items():
        outcome = findings.measured[name]
        if least <= one.rank < below and isinstance(outcome, Measured):
            section = one.section(outcome.value, findings)
            for_checker = name in findings.measured.for_checker
            yield replace(section, audience="checker") if for_checker else section
