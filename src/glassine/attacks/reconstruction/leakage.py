"""What an attacker learns about a part of a model, an attribute or a subgroup, and what is odd about a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from glassine.attacks.reconstruction.possible import Worlds
from glassine.models import Cell, DecisionTree, RuleList


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A number between two bounds, which are proved or hold at a stated confidence.

    Attributes
    ----------
    lower, upper : float
        The bounds, both included.
    """

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """Distance of the bounds."""
        return self.upper - self.lower

    @property
    def middle(self) -> float:
        """Number half-way between the bounds."""
        return (self.lower + self.upper) / 2

    def to_list(self) -> list[float | None]:
        """Return both bounds as plain values; None for one that is infinite."""
        return [bound if math.isfinite(bound) else None for bound in (self.lower, self.upper)]

    def __str__(self) -> str:
        return f"{self.lower:.4f} to {self.upper:.4f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconstructionEstimate:
    """Intervals of what depends on the true counts of a model.

    Attributes
    ----------
    confidence : float
        Probability, over the noise in the counts, that all intervals hold together; 1 for rounded and exact counts.
    supports : tuple of Interval
        Number of training records of each leaf or rule, in order.
    n_records : Interval
        Number of training records.
    bits_per_record : Interval
        Mean number of bits learned about a training record.
    dist : Interval or None
        Dist; None over a continuum, or where the domain allows one record only.
    dist_g : Interval or None
        Dist_G; None as for ``dist``.
    """

    confidence: float
    supports: tuple[Interval, ...]
    n_records: Interval
    bits_per_record: Interval
    dist: Interval | None
    dist_g: Interval | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values of the schema ``glassine.reconstruction-estimate/1``, lower bounds first."""
        return {
            "schema": "glassine.reconstruction-estimate/1",
            "confidence": self.confidence,
            "supports": [interval.to_list() for interval in self.supports],
            "n_records": self.n_records.to_list(),
            "bits_per_record": self.bits_per_record.to_list(),
            "dist": None if self.dist is None else self.dist.to_list(),
            "dist_g": None if self.dist_g is None else self.dist_g.to_list(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CellLeakage:
    """What an attacker learns about the records of one leaf or rule.

    Attributes
    ----------
    cell : Cell
        The leaf or rule.
    size : int or None
        Number of training records captured, if published exactly.
    worlds : int or None
        Number of possible records in its region; None over a continuum.
    bits_learned : float
        log2 of the share of the domain that the region rules out per record; infinite for an empty region.
    """

    cell: Cell
    size: int | None
    worlds: int | None
    bits_learned: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeLeakage:
    """What an attacker learns about one attribute, averaged over the training records.

    Attributes
    ----------
    attribute : str
        The attribute.
    bits_learned : float
        Mean relative entropy, in bits per record, from what was known before to what is known after.
    bits_largest : float
        The same in the leaf or rule where it is largest.
    """

    attribute: str
    bits_learned: float
    bits_largest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupLeakage:
    """What an attacker learns about the records of one subgroup.

    Attributes
    ----------
    attribute : str
        The attribute that defines the subgroup.
    value : str
        Its value there.
    size : int
        Number of records in the subgroup.
    bits_mean, bits_largest : float
        Bits learned per record: mean and largest.
    """

    attribute: str
    value: str
    size: int
    bits_mean: float
    bits_largest: float


def oddities(model: DecisionTree | RuleList, possible: Worlds) -> list[str]:
    """Return what is odd about a model in a domain: shadowed rules, empty defaults, contradictions, holes."""
    out, without = [], []
    if sum(possible.measures, start=0) < possible.space.total:
        out.append("some possible records satisfy no branch of a split")
    noun = "leaf" if isinstance(model, DecisionTree) else "rule"
    for i, (cell, measure) in enumerate(zip(model.cells, possible.measures, strict=True), start=1):
        if measure:
            continue
        last = noun == "rule" and i == len(model.cells)
        what = "the default rule" if last else f"{noun} {i} ({cell})"
        if cell.evidence.size and model.counts_are_exact:
            without.append(what)
        elif cell.outside:
            out.append(f"{what} can capture nothing: earlier rules cover it")
        else:
            out.append(f"{what} can hold nothing: its conditions exclude each other")
    if without:
        of_them = f"{without[0]} and {len(without) - 1:,} more hold" if len(without) > 1 else f"{without[0]} holds"
        # What contradicts comes before what is merely odd.
        out.insert(
            0,
            f"{of_them} records, but the domain leaves no possible record there: the domain contradicts the model. "
            "Widen its bounds, or state which values are missing",
        )
    return out
