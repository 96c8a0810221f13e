"""The possible worlds of a model's parts, in a space with or without the domain's groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.counting import Measure, Region, RegionCounter, Space
from glassine.domain import Domain
from glassine.models import DecisionTree, RuleList

__all__ = ["Worlds", "log2_ratio"]


class Worlds:
    """The model's regions in one space: with or without the domain's groups, by numbers of values or by shares."""

    def __init__(
        self,
        model: DecisionTree | RuleList,
        domain: Domain,
        domain_aware: bool,
        max_steps: int,
        *,
        by_shares: bool = False,
    ) -> None:
        self.domain = domain
        self.space = Space(domain, model.literals, domain_aware=domain_aware, by_shares=by_shares)
        self.counter = RegionCounter(self.space, max_steps=max_steps)
        boxes = {conjunction: self.space.box(conjunction) for cell in model.cells for conjunction in cell.outside}
        self.regions = [
            Region(self.space.box(cell.inside), tuple(boxes[c] for c in cell.outside)) for cell in model.cells
        ]

    @cached_property
    def measures(self) -> list[Measure]:
        """Number of possible records of each part, or their volume."""
        return [self.counter.measure(region) for region in self.regions]

    @cached_property
    def bits_learned(self) -> tuple[float, ...]:
        """log2 of the domain over each part: what a reader learns about a record there; infinite where it is empty.

        By shares it is ``-log2 Q(R_j)``, Q being their product.
        """
        return tuple(log2_ratio(1, self.counter.share(region)) for region in self.regions)

    @cached_property
    def prior_entropy(self) -> float:
        """Entropy of one record before the model is read, in bits: of a finite space."""
        return math.fsum(
            self._surprise(factor, _shares(part.weights)) for factor, part in enumerate(self.space.factors)
        )

    def entropy(self, region: Region) -> float:
        """Return the entropy of one record of a region that is not empty, in bits.

        ``log2 Q(R) - E[log2 q(x)]`` over the records x of the region: their probabilities are q(x) / Q(R), and log2 q
        adds up over factors. Where all records weigh the same, it is log2 of how many there are.
        """
        left = self.prior_entropy
        for factor in self.touched(region):
            part = self.space.factors[factor]
            before, after = _shares(part.weights), _shares(self.counter.marginal(region, factor))
            left += self._surprise(factor, after) - self._surprise(factor, before)
        return left - log2_ratio(1, self.counter.share(region))

    def _surprise(self, factor: int, chances: Sequence[Fraction]) -> float:
        """Return the mean of -log2 of a value's share, where atoms have these chances and values in them the same."""
        part, total = self.space.factors[factor], self.space.totals[factor]
        pairs = zip(chances, part.weights, part.sizes, strict=True)
        return math.fsum(float(chance) * log2_ratio(total * size, weight) for chance, weight, size in pairs if chance)

    def touched(self, region: Region) -> list[int]:
        """Return the factors on which a region may differ from the whole space."""
        return sorted({factor for box in (region.inside, *region.outside) for factor in box})

    def n_values(self, region: Region, factor: int) -> dict[str, int]:
        """Return for each attribute of a factor how many of its values some record of a region has."""
        part = self.space.factors[factor]
        if len(part.attributes) == 1 and self.counter.is_free(region, factor):
            weight = self.space.weight(factor, region.inside.get(factor, self.space.full(factor)))
            return {part.attributes[0]: int(weight)}
        possible = [bool(measure) for measure in self.counter.marginal(region, factor)]
        if len(part.attributes) == 1:
            return {part.attributes[0]: sum(int(w) for w, some in zip(part.weights, possible, strict=True) if some)}
        out = {}
        for name in part.attributes:
            shares = [share for share, some in zip(part.holds_one(name), possible, strict=True) if some]
            out[name] = any(share > 0 for share in shares) + any(share < 1 for share in shares)
        return out

    def learned(self, region: Region, factor: int) -> dict[str, float]:
        """Return the bits learned about each attribute of a factor: relative entropy from before to after."""
        part = self.space.factors[factor]
        if len(part.attributes) == 1 and self.counter.is_free(region, factor):
            left = self.space.weight(factor, region.inside[factor])
            return {part.attributes[0]: log2_ratio(self.space.totals[factor], left)}
        after = _shares(self.counter.marginal(region, factor))
        before = _shares(part.weights)
        if len(part.attributes) == 1:
            return {part.attributes[0]: _relative_entropy(after, before)}
        out = {}
        for name in part.attributes:
            ones = part.holds_one(name)
            p = sum((a * share for a, share in zip(after, ones, strict=True)), start=Fraction(0))
            q = sum((b * share for b, share in zip(before, ones, strict=True)), start=Fraction(0))
            out[name] = _relative_entropy([p, 1 - p], [q, 1 - q])
        return out

    def draw_cells(self, sizes: Sequence[int], rng: np.random.Generator) -> dict[str, npt.NDArray[Any]]:
        """Draw so many records from each region, the first region's first."""
        atoms = [self.counter.sample(r, int(s), rng) for s, r in zip(sizes, self.regions, strict=True) if s]
        return self.draw(np.concatenate(atoms), rng)

    def draw(self, atoms: npt.NDArray[np.intp], rng: np.random.Generator) -> dict[str, npt.NDArray[Any]]:
        """Draw one record within each row of atoms."""
        columns: dict[str, npt.NDArray[Any]] = {}
        for factor, part in enumerate(self.space.factors):
            columns |= part.draw(atoms[:, factor], rng)
        return {name: columns[name] for name in self.domain}


def log2_ratio(whole: Measure, part: Measure) -> float:
    """Return log2 of whole over part, infinite where the part is empty."""
    if not part:
        return math.inf
    ratio = Fraction(whole) / Fraction(part)
    return math.log2(ratio.numerator) - math.log2(ratio.denominator)


def _shares(measures: Sequence[Measure]) -> list[Fraction]:
    total = Fraction(sum(measures, start=0))
    return [Fraction(m) / total for m in measures]


def _relative_entropy(after: Sequence[Fraction], before: Sequence[Fraction]) -> float:
    terms = (float(a) * log2_ratio(a, b) for a, b in zip(after, before, strict=True) if a)
    return max(0.0, math.fsum(terms))
