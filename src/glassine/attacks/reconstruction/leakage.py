"""What an attacker learns about a part of a model, an attribute or a subgroup, and what is odd about a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from glassine.attacks.reconstruction.possible import PossibleRecords, Worlds
from glassine.data.labels import subgroups
from glassine.data.record_table import as_table
from glassine.errors import InvalidDataError, UndefinedMeasureError
from glassine.models import Cell, DecisionTree, RuleList
from glassine.models.records import counted_records
from glassine.records.arrays import Array, Indices


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


MOST_QUOTED = 100
"""Notes on leaves or rules that quote their conditions: of thousands, those that are read come first."""


def oddities(model: DecisionTree | RuleList, possible: Worlds) -> list[str]:
    """Return what is odd about a model in a domain: shadowed rules, empty defaults, contradictions, holes."""
    out, unreadable = list[str](), list[str]()
    if possible.regions.covered < possible.space.total:
        out.append("some possible records satisfy no branch of a split")
    noun = "leaf" if isinstance(model, DecisionTree) else "rule"
    for i, (cell, count) in enumerate(zip(model.cells, possible.regions.counts, strict=True), start=1):
        if count:
            continue
        last = noun == "rule" and i == len(model.cells)
        quoted = f" ({cell})" if len(out) + len(unreadable) < MOST_QUOTED else ""
        what = "the default rule" if last else f"{noun} {i}{quoted}"
        if cell.evidence.size and model.counts_are_exact:
            unreadable.append(what)
        elif cell.outside:
            out.append(f"{what} can capture nothing: earlier rules cover it")
        else:
            out.append(f"{what} can hold nothing: its conditions exclude each other")
    if unreadable:
        of_them = (
            f"{unreadable[0]} and {len(unreadable) - 1:,} more hold"
            if len(unreadable) > 1
            else f"{unreadable[0]} holds"
        )
        # What contradicts comes before what is merely odd.
        out.insert(
            0,
            f"{of_them} records, but the domain leaves no possible record there: the domain contradicts the model. "
            "Widen its bounds, or state which values are missing",
        )
    return out


class ExposedRecords(PossibleRecords):
    """The possible records of a model, and the bits that an attacker learns about those in the training data."""

    def bits_learned(self, *, domain_aware: bool = False) -> tuple[float, ...]:
        """Return the bits that an attacker learns about each record of each leaf or rule, in order.

        These are ``log2(domain / region)``, defined over a continuum too; infinite where the region is empty. Under the
        domain's shares they are ``-log2 Q(region)``, Q being their product.
        """
        return self._worlds_of(domain_aware, by_shares=True).bits_learned

    def bits_per_record(self, *, domain_aware: bool = False) -> float:
        """Return the mean number of bits that an attacker learns about a training record.

        Raises
        ------
        UndefinedMeasureError
            If counts are not published, or a region that holds records is empty.
        """
        self._require_possible(domain_aware)
        learned = self.bits_learned(domain_aware=domain_aware)
        return math.fsum(s * b for s, b in zip(self.supports, learned, strict=True) if s) / self.n_records

    def exposure_curve(self, *, domain_aware: bool = False) -> list[tuple[float, float]]:
        """Return the exposure curve: against the share of records, the most exposed first, the bits learned.

        This is the paper's Figure 4 with bits in place of ratios, so that it is also defined over a continuum.

        Returns
        -------
        list of (float, float)
            Share of the training records in (0, 1], and the bits learned about each of those that this step adds;
            bits never increase.

        Raises
        ------
        UndefinedMeasureError
            As for :meth:`bits_per_record`.
        """
        self._require_possible(domain_aware)
        learned = self.bits_learned(domain_aware=domain_aware)
        return exposure_steps(sorted(zip(learned, self.supports, strict=True), reverse=True), self.n_records)

    def by_cell(self, *, domain_aware: bool = False) -> list[CellLeakage]:
        """Return what the model reveals about each leaf or rule; sizes if exact."""
        finite = not self._continua
        possible = self._worlds_of(domain_aware)
        return [
            CellLeakage(
                cell=cell,
                size=cell.evidence.size if self._inexact() is None else None,
                worlds=int(measure) if finite else None,
                bits_learned=bits,
            )
            for cell, measure, bits in zip(
                self.model.cells, possible.regions.measures, self.bits_learned(domain_aware=domain_aware), strict=True
            )
        ]

    def by_attribute(self, *, domain_aware: bool = False) -> list[AttributeLeakage]:
        """Return what the model reveals about each attribute, in the domain's order.

        Raises
        ------
        UndefinedMeasureError
            As for :meth:`bits_per_record`.
        """
        self._require_possible(domain_aware)
        possible, supports, n = self._worlds_of(domain_aware, by_shares=True), self.supports, self.n_records
        mean = dict.fromkeys(self.domain, 0.0)
        largest = dict.fromkeys(self.domain, 0.0)
        for size, name, learned in possible.learned(supports):
            mean[name] += size * learned / n
            largest[name] = max(largest[name], learned)
        return [
            AttributeLeakage(attribute=name, bits_learned=mean[name], bits_largest=largest[name])
            for name in self.domain
        ]

    def by_subgroup(
        self,
        data: object,
        attributes: str | Sequence[str],
        *,
        domain_aware: bool = False,
        parts: Indices | None = None,
    ) -> list[SubgroupLeakage]:
        """Return what the model reveals about subgroups of records, most exposed first.

        Parameters
        ----------
        data : data frame
            The training records, with every attribute that the model tests. A table that knows its persons is counted
            by person.
        attributes : str or sequence of str
            Columns whose values define the subgroups. Numbers with more than ten values are cut at their quartiles.
        domain_aware : bool, default=False
            Whether the domain's groups count.
        parts : ndarray of int, shape (n,), optional
            The leaf or rule of each record, where it is known.
        """
        table = as_table(data).by({name: self.domain[name] for name in self.domain})
        values = table.arrays
        parts = self._parts_of(table) if parts is None else parts
        bits = np.array(self.bits_learned(domain_aware=domain_aware))[parts]
        out = []
        for name in [attributes] if isinstance(attributes, str) else attributes:
            if name not in values:
                raise InvalidDataError(
                    f"data lack the column {name!r} that defines subgroups.", remedy="Add it or drop the name."
                )
            for value, rows in subgroups(values[name]).items():
                out.append(
                    SubgroupLeakage(
                        attribute=name,
                        value=value,
                        size=table.number_of(rows),
                        bits_mean=table.mean(bits, rows),
                        bits_largest=float(bits[rows].max()),
                    )
                )
        return sorted(out, key=lambda group: -group.bits_mean)

    def by_label(self, *, domain_aware: bool = False) -> list[SubgroupLeakage]:
        """Return what the model reveals about each class's attributes, most exposed first."""
        self._require_possible(domain_aware)
        counts = [cell.evidence.counts for cell in self.model.cells]
        classes = self.model.classes
        if classes is None or any(c is None for c in counts):
            raise UndefinedMeasureError(
                "the model does not publish the class counts of all its parts.",
                remedy="Ask the publisher for the counts of each class.",
            )
        learned = self.bits_learned(domain_aware=domain_aware)
        out = []
        for k, name in enumerate(classes):
            learned_of_label = [(c[k], bits) for c, bits in zip(counts, learned, strict=True) if c is not None and c[k]]
            size = sum(count for count, _ in learned_of_label)
            if size:
                mean = math.fsum(count * bits for count, bits in learned_of_label) / size
                largest = max(bits for _, bits in learned_of_label)
                out.append(
                    SubgroupLeakage(attribute="class", value=str(name), size=size, bits_mean=mean, bits_largest=largest)
                )
        return sorted(out, key=lambda group: -group.bits_mean)

    def record_bits(self, data: object, *, domain_aware: bool = False) -> Array:
        """Return the bits that an attacker learns about each given record, in row order.

        Parameters
        ----------
        data : data frame
            Training records, shape (n, at least the tested attributes).
        domain_aware : bool, default=False
            Whether the domain's groups count.
        """
        learned = np.array(self.bits_learned(domain_aware=domain_aware))
        return np.asarray(learned[self._parts_of(data)])

    def _parts_of(self, records: object) -> Indices:
        """Return the leaf or rule of each record as the domain reads it, shape (n,); none is refused."""
        recipe = {name: self.domain[name] for name in self.model.tested}
        return self.model.apply(counted_records(records, recipe))


def exposure_steps(parts: Iterable[tuple[float, int]], n_records: int) -> list[tuple[float, float]]:
    """Return the share of the records up to each value, of values and records in the order of the curve."""
    steps: dict[float, int] = {}
    for value, size in parts:
        if size:
            steps[value] = steps.get(value, 0) + size
    shares = accumulate(steps.values())
    return [(seen / n_records, value) for seen, value in zip(shares, steps, strict=True)]
