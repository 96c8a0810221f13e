"""Bits learned: the two readings of Dist_G, the exposure curve, and bars per attribute and subgroup."""

from __future__ import annotations

import math
from dataclasses import dataclass

from glassine.attacks.outcome import Measured
from glassine.auditing.findings import Findings
from glassine.report import wording

__all__ = ["Bar", "Reading", "attribute_bars", "curve", "curve_note", "readings", "share_unit", "subgroup_bars"]

MOST_BARS = 25
EXPOSED_SUBGROUPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Dist_G in one reading.

    Attributes
    ----------
    name, short : str
        Which reading.
    left : float or None
        Dist_G: the share of uncertainty that is left.
    value, before, after : str
        Dist_G, and bits for all records before and after reading the model, as text.
    """

    name: str
    short: str
    left: float | None
    value: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bar: its name, the text of its value, its length and that of its largest value as shares of the longest."""

    group: str
    name: str
    note: str
    value: str
    largest: str
    share: float
    share_largest: float


def readings(findings: Findings) -> tuple[Reading, ...]:
    """Return Dist_G with attributes independent, and with the domain's groups if it has any; none if not measured."""
    if not isinstance(findings.measured["reconstruction"], Measured):
        return ()
    found = findings.measured["reconstruction"].value

    def quantity(value: float | None) -> str:
        return "not defined" if value is None else f"{wording.amount(value)} bits"

    def ratio(value: float | None) -> str:
        return "not defined" if value is None else f"{value:.3f}"

    independent = Reading(
        name="Attributes independent (as in the paper)",
        short="with attributes independent",
        left=found.dist_g,
        value=ratio(found.dist_g),
        before=quantity(found.prior_bits),
        after=quantity(found.entropy_bits),
    )
    grouped = Reading(
        name="With the domain's groups",
        short="with the domain's groups",
        left=found.dist_g_domain_aware,
        value=ratio(found.dist_g_domain_aware),
        before=quantity(found.prior_bits_domain_aware),
        after=quantity(found.entropy_bits_domain_aware),
    )
    tied = findings.domain is None or findings.domain.n_groups > 0
    return (independent, grouped) if tied else (independent,)


def share_unit(findings: Findings) -> float:
    """Return the step to which shares of the records are rounded: one percent, or as many records as are suppressed."""
    n = findings.model.n_records
    return max(0.01, findings.policy.suppress_below / n) if n else 0.01


def curve(findings: Findings) -> tuple[tuple[float, float], ...]:
    """Return the exposure curve, its shares rounded up to the unit; the larger bits stand where two steps meet.

    Bits are rounded to one decimal, so that the drawing is no more precise than its table.
    """
    if not isinstance(findings.measured["reconstruction"], Measured):
        return ()
    unit = share_unit(findings)
    out: list[tuple[float, float]] = []
    for share, bits in findings.measured["reconstruction"].value.exposure_curve:
        end = min(math.ceil(share / unit - 1e-9) * unit, 1.0)
        if not out or end > out[-1][0]:
            out.append((end, round(bits, 1)))
    return tuple(out)


def curve_note(findings: Findings) -> str:
    """Return that the curve starts below the most exposed record, where it does; empty otherwise."""
    points = curve(findings)
    found = findings.value("reconstruction")
    largest = None if found is None else found.bits_largest
    if not points or largest is None or round(largest, 1) <= points[0][1]:
        return ""
    noun = "rules" if findings.model.kind == "rule list" else "leaves"
    return (
        f"The most exposed record lies higher than the curve, at {wording.bits(largest)} bits: {noun} of too few "
        f"records to be shown apart are merged, so the first step stands at their mean, {wording.bits(points[0][1])}."
    )


def _length(value: float, top: float) -> float:
    return min(max(value / top, 0.0), 1.0) if top > 0 else 0.0


def attribute_bars(findings: Findings) -> tuple[tuple[Bar, ...], int]:
    """Return the attributes about which something is learned, most first, and the number left out."""
    if not isinstance(findings.measured["reconstruction"], Measured):
        return (), 0
    found = sorted(findings.measured["reconstruction"].value.attributes, key=lambda a: -a.bits_learned)
    found = [a for a in found if a.bits_largest > 0]
    top = max((a.bits_largest for a in found), default=0.0)
    bars = tuple(
        Bar(
            group="",
            name=wording.clean(a.attribute),
            note="",
            value=_fine(a.bits_learned),
            largest=_fine(a.bits_largest),
            share=_length(a.bits_learned, top),
            share_largest=_length(a.bits_largest, top),
        )
        for a in found[:MOST_BARS]
    )
    return bars, len(found) - len(bars)


def subgroup_bars(findings: Findings) -> tuple[tuple[Bar, ...], tuple[Bar, ...], int]:
    """Return the subgroups to show, the other ones, and the number left out.

    Shown are those of the sensitive attribute, then the five with the most bits learned on average.
    """
    if not isinstance(findings.measured["subgroups"], Measured):
        return (), (), 0
    found = findings.measured["subgroups"].value
    top = max((g.bits_largest for g in found if math.isfinite(g.bits_largest)), default=0.0)
    asked = [g for g in found if g.attribute == findings.sensitive]
    others = [g for g in found if g.attribute != findings.sensitive]
    others.sort(key=lambda g: (-g.bits_mean, -g.bits_largest))
    bars = tuple(
        Bar(
            group=wording.clean(g.attribute),
            name=wording.clean(g.value),
            note=wording.plural(g.size, "record") if isinstance(g.size, int) else f"{g.size} records",
            value=_fine(g.bits_mean),
            largest=_fine(g.bits_largest),
            share=_length(g.bits_mean, top),
            share_largest=_length(g.bits_largest, top),
        )
        for g in [*asked, *others][:MOST_BARS]
    )
    first = len(asked) + EXPOSED_SUBGROUPS
    return bars[:first], bars[first:], len(found) - len(bars)


def _fine(value: float) -> str:
    return wording.bits(value) if value >= 0.1 or value <= 0 else "under 0.1"
