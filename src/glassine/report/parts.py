"""Leaves and rules as rows: each figure as the findings give it, and a level of exposure to colour it by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from glassine.attacks.outcome import Below, Hidden, Measured, ShownCount
from glassine.auditing.findings import Findings, Part, PartsFinding
from glassine.auditing.judging import flag_labels
from glassine.auditing.policy import Policy
from glassine.report import wording

__all__ = ["LEVELS", "PartRow", "Scale", "part_rows", "parts_of", "ranked", "sizes_are_counted"]

LEVELS = 5
MOST_CLASSES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Levels of exposure: five equal steps, or four up to the policy's limit and one beyond it.

    Attributes
    ----------
    limit : float or None
        The policy's limit.
    top : float
        Bits at the full width of a bar.
    """

    limit: float | None
    top: float

    @classmethod
    def of(cls, findings: Findings) -> Scale:
        """Return the scale for the findings' parts."""
        limit = findings.policy.largest_bits_per_record
        largest = max((p.bits_learned for p in parts_of(findings).parts if p.bits_learned is not None), default=0.0)
        return cls(limit=limit, top=max(math.ceil(largest), math.ceil(limit or 0.0), 1))

    def level(self, bits: float | None) -> int | None:
        """Return the level, from 0 to 4, or None where bits are not known."""
        if bits is None:
            return None
        if self.limit is None:
            return min(int(bits / self.top * LEVELS), LEVELS - 1)
        return LEVELS - 1 if bits > self.limit else min(int(bits / self.limit * (LEVELS - 1)), LEVELS - 2)

    def share(self, bits: float | None) -> float | None:
        """Return bits as a share of the scale."""
        return None if bits is None else min(max(bits / self.top, 0.0), 1.0)

    @property
    def legend(self) -> tuple[tuple[int, str], ...]:
        """The levels in words."""
        if self.limit is None:
            edges = [self.top * i / LEVELS for i in range(LEVELS + 1)]
            return tuple((i, f"{edges[i]:.3g} to {edges[i + 1]:.3g} bits") for i in range(LEVELS))
        edges = [self.limit * i / (LEVELS - 1) for i in range(LEVELS)]
        steps = [(i, f"{edges[i]:.3g} to {edges[i + 1]:.3g} bits") for i in range(LEVELS - 1)]
        return (*steps, (LEVELS - 1, f"more than {self.limit:g} bits, the limit"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow:
    """A leaf or a rule in words.

    Attributes
    ----------
    number : int
        Its number, from 1.
    lead : str
        ``if``, ``else if`` or ``else`` for a rule; empty for a leaf.
    condition : str
        When it captures a record.
    size, classes, prediction, purity, bits : str
        The figures as text; empty where there is nothing to say.
    share : float or None
        Bits learned as a share of the scale.
    level : int or None
        Level of exposure; None where it is not known.
    flags : tuple of str
        The limits that it breaks, in words.
    weight : float or None
        Records for drawing: the size where it is shown, one constant where it is suppressed, None where unknown.
    """

    number: int
    lead: str
    condition: str
    size: str
    classes: str
    prediction: str
    purity: str
    bits: str
    share: float | None
    level: int | None
    flags: tuple[str, ...]
    weight: float | None


def parts_of(findings: Findings) -> PartsFinding:
    """Return the leaves or rules, and the shape of a tree; nothing where they were not looked at."""
    outcome = findings.measured["parts"]
    return outcome.value if isinstance(outcome, Measured) else PartsFinding(parts=(), nodes=())


def sizes_are_counted(findings: Findings) -> bool:
    """Return whether sizes were counted in the data because the model does not publish them exactly."""
    if any("counted in the data" in note for note in findings.notes):
        return True
    sizes = [part.size for part in parts_of(findings).parts]
    return findings.model.n_records is None and bool(sizes) and None not in sizes


def part_rows(findings: Findings, scale: Scale) -> tuple[PartRow, ...]:
    """Return the rows, in the model's order."""
    listed = findings.model.kind == "rule list"
    last, labels = len(parts_of(findings).parts), flag_labels(findings.policy)
    counted = sizes_are_counted(findings)
    out = []
    for part in parts_of(findings).parts:
        lead = "" if not listed else "else" if part.number == last else "if" if part.number == 1 else "else if"
        out.append(
            PartRow(
                number=part.number,
                lead=lead,
                condition=wording.clean(part.condition),
                size=_size(part.size, noisy=findings.model.count_scale is not None)
                + (", counted in the data" if counted and _is_counted(part, findings.model.approximate) else ""),
                classes=_classes(part.counts, findings.model.classes),
                prediction="" if part.prediction is None else wording.clean(part.prediction),
                purity=_purity(part),
                bits="no possible record"
                if "empty" in part.flags
                else wording.bits(part.bits_learned, beyond=scale.limit),
                share=scale.share(part.bits_learned),
                level=scale.level(part.bits_learned),
                flags=tuple(labels.get(flag, flag) for flag in part.flags),
                weight=_weight(part.size, findings.policy),
            )
        )
    return tuple(out)


def _size(size: ShownCount | None, *, noisy: bool) -> str:
    if size is None:
        return "size not published"
    if noisy and isinstance(size, int):
        return f"{wording.plural(size, 'record')} by a noisy count"
    if isinstance(size, int):
        return "no record" if size == 0 else wording.plural(size, "record")
    return f"{size} records" if isinstance(size, Below) else f"size {size}"


def _is_counted(part: Part, approximate: bool) -> bool:
    """Return whether the size that is shown is not the model's own."""
    published = part.counts is not None or part.purity is not None
    return part.size not in (None, Hidden()) and (approximate or not published)


def _weight(size: ShownCount | None, policy: Policy) -> float | None:
    if size is None:
        return None
    return float(size) if isinstance(size, int) else max(policy.suppress_below / 2, 1.0)


def _classes(counts: tuple[ShownCount, ...] | None, classes: tuple[str, ...] | None) -> str:
    """Return the most frequent classes with their counts."""
    if counts is None or classes is None:
        return ""
    shown = [(count, name) for count, name in zip(counts, classes, strict=True) if isinstance(count, int) and count]
    shown.sort(key=lambda pair: -pair[0])
    texts = [f"{count:,} {wording.clean(name)}" for count, name in shown[:MOST_CLASSES]]
    rest = sum(count for count, _ in shown[MOST_CLASSES:])
    return ", ".join([*texts, f"{rest:,} of other classes"] if rest else texts)


def _purity(part: Part) -> str:
    if part.purity is None:
        return ""
    exact = part.counts is not None or part.purity == 1
    return f"{'' if exact else 'at least '}{wording.percent(part.purity)} one outcome"


def ranked(parts: Sequence[Part]) -> list[int]:
    """Return the numbers of the parts, those to look at first in front: most flags, then most bits."""
    order = sorted(parts, key=lambda p: (-len(p.flags), -(p.bits_learned or 0.0), p.number))
    return [part.number for part in order]
