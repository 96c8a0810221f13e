"""How reports show what was measured: by functions of ``report/sections``, one a measurement, that :func:`shows` marks.

No other module need list it: see "How to add an attack" in docs/contributing.md.
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


def shows(
    measurement: str, *, lacking: Callable[[Any, Findings], str] = _nothing, rank: int = LAST
) -> Callable[[Callable[[F, Findings], Section]], MeasuredSection[F]]:
    """Mark the function that returns the section of a measurement."""
    return lambda section: MeasuredSection(measurement=measurement, section=section, lacking=lacking, rank=rank)


HOMES = {
    **dict.fromkeys(("reconstruction", "alignment", "subgroups", "exposed_rows"), "reconstruction"),
    **dict.fromkeys(("labels", "values"), "outcomes"),
    **{name: name for name in ("disclosure", "membership")},
    "released": "guarantee",
    **dict.fromkeys(("parts", "terms", "rows", "joint"), ""),
}
"""Modules of common measurements, so that an audit imports no others; empty for those that the page itself shows."""


@cache
def shown(measurement: str) -> MeasuredSection[Any] | None:
    """Return the section of a measurement; None if it has none."""
    package = importlib.import_module("glassine.report.sections")
    names = [one.name for one in pkgutil.iter_modules(package.__path__)]
    if (home := HOMES.get(measurement)) is not None:
        names = [home] if home else []
    for name in names:
        for one in vars(importlib.import_module(f"{package.__name__}.{name}")).values():
            if isinstance(one, MeasuredSection) and one.measurement == measurement:
                return one
    return None


def sections_of(findings: Findings, *, least: int = 0, below: int = LAST + 1) -> Iterator[Section]:
    """Yield the sections of what was measured, those of a range of ranks, in the order of a report."""
    made = {name: outcome for name, outcome in findings.measured.items() if isinstance(outcome, Measured)}
    known = [one for one in map(shown, made) if one is not None and least <= one.rank < below]
    for one in sorted(known, key=lambda one: one.rank):
        section = one.section(made[one.measurement].value, findings)
        for_checker = one.measurement in findings.measured.for_checker
        yield replace(section, audience="checker") if for_checker else section
