"""The records that a published tree or rule list leaves possible, and what must be known before they are measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from glassine.attacks.disclosure.noise import CountNoise
from glassine.counting import MAX_STEPS, Measure, Region, RegionCounter, Space
from glassine.counting.leaves import LeafRegions
from glassine.counting.regions import RuleRegions
from glassine.counting.space import Part
from glassine.domain import Domain, Real
from glassine.errors import InvalidParameterError, Text, UndefinedMeasureError, parameter
from glassine.models import DecisionTree, RuleList
from glassine.records.arrays import AnyArray, Indices


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
        paths = [cell.inside for cell in model.cells]
        # Leaves of a tree do not meet; of rules the first one takes a record.
        self.regions: LeafRegions | RuleRegions
        if isinstance(model, DecisionTree):
            self.regions = LeafRegions(self.space, paths)
        else:
            self.regions = RuleRegions([*map(self.space.box, paths)], self.counter)
        self.leaves = self.regions if isinstance(self.regions, LeafRegions) else None

    @cached_property
    def bits_learned(self) -> tuple[float, ...]:
        """log2 of the domain over each part: what an attacker learns about a record there; infinite where it is empty.

        By shares it is ``-log2 Q(R_j)``, Q being their product.
        """
        if self.leaves is not None:
            return tuple(log2_ratio(self.leaves.total, count) for count in self.leaves.counts)
        parts = zip(self.regions, self.regions.measures, strict=True)
        return tuple(log2_ratio(1, self.counter.share(region)) if some else math.inf for region, some in parts)

    @cached_property
    def prior_entropy(self) -> float:
        """Entropy of one record before the model is read, in bits: of a finite space."""
        return math.fsum(
            self._surprise(factor, _shares(part.weights)) for factor, part in enumerate(self.space.factors)
        )

    def entropy(self, region: Region) -> float:
        """Return the entropy of one record of a region that is not empty, in bits."""
        # log2 Q(R) - E[log2 q(x)] over the records x of the region: their probabilities are q(x) / Q(R), and log2 q
        # adds up over factors. Where all records weigh the same, it is log2 of how many there are.
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
            weight = self.space.weight(factor, region.inside.get(factor, self.space.full[factor]))
            return {part.attributes[0]: int(weight)}
        possible = [bool(measure) for measure in self.counter.marginal(region, factor)]
        if len(part.attributes) == 1:
            return {part.attributes[0]: sum(int(w) for w, some in zip(part.weights, possible, strict=True) if some)}
        out = {}
        for name in part.attributes:
            shares = [share for share, some in zip(part.holds_one(name), possible, strict=True) if some]
            out[name] = any(share > 0 for share in shares) + any(share < 1 for share in shares)
        return out

    def values_left(self) -> Iterator[dict[str, int]]:
        """Yield for each part how many values of the attributes that it tests some record has; none if it is empty."""
        for at, measure in enumerate(self.regions.measures):
            if self.leaves is None or not measure:
                region = self.regions[at] if measure else Region({})
                yield {
                    name: left
                    for factor in self.touched(region)
                    for name, left in self.n_values(region, factor).items()
                }
                continue
            left_of: dict[str, int] = {}
            for factor, part in self.leaves.parts[at].items():
                names = self.space.factors[factor].attributes
                left_of |= (
                    {names[0]: int(self.space.weight(factor, part))}
                    if len(names) == 1
                    else self.n_values(Region({factor: self.space.mask(factor, part)}), factor)
                )
            yield left_of

    def learned(self, sizes: Sequence[int]) -> Iterator[tuple[int, str, float]]:
        """Yield the bits learned about each attribute in the parts that hold records, with their number.

        They are the relative entropy from before to after.
        """
        # Parts that leave the same of an attribute, and where nothing else matters, are one.
        together: dict[tuple[int, Part], int] = {}
        for at, size in enumerate(sizes):
            if not size:
                continue
            if self.leaves is not None:
                for left in self.leaves.parts[at].items():
                    together[left] = together.get(left, 0) + size
                continue
            region = self.regions[at]
            for factor in self.touched(region):
                if self.counter.is_free(region, factor):
                    left = factor, region.inside.get(factor, self.space.full[factor])
                    together[left] = together.get(left, 0) + size
                    continue
                for name, bits in self._learned(factor, self.counter.marginal(region, factor)).items():
                    yield size, name, bits
        for (factor, allowed), size in together.items():
            for name, bits in self._learned_of(factor, allowed).items():
                yield size, name, bits

    def _learned_of(self, factor: int, allowed: Part) -> Mapping[str, float]:
        """Return the bits learned about each attribute of a factor of which these atoms are left."""
        part = self.space.factors[factor]
        if len(part.attributes) == 1:
            own, whole = (
                (self.space.weight(factor, allowed), self.space.totals[factor])
                if self.leaves is None
                else self.leaves.scaled(factor, allowed)
            )
            return {part.attributes[0]: log2_ratio(whole, own)}
        mask = self.space.mask(factor, allowed)
        return self._learned(factor, [w if mask >> atom & 1 else 0 for atom, w in enumerate(part.weights)])

    def _learned(self, factor: int, marginal: Sequence[Measure]) -> dict[str, float]:
        part = self.space.factors[factor]
        after, before = _shares(marginal), _shares(part.weights)
        if len(part.attributes) == 1:
            return {part.attributes[0]: _relative_entropy(after, before)}
        out = {}
        for name in part.attributes:
            ones = part.holds_one(name)
            p = sum((a * share for a, share in zip(after, ones, strict=True)), start=Fraction(0))
            q = sum((b * share for b, share in zip(before, ones, strict=True)), start=Fraction(0))
            out[name] = _relative_entropy([p, 1 - p], [q, 1 - q])
        return out

    def draw_cells(self, sizes: Sequence[int], rng: np.random.Generator) -> dict[str, AnyArray]:
        """Draw so many records from each region, the first region's first."""
        atoms = [self.counter.sample(r, int(s), rng) for s, r in zip(sizes, self.regions, strict=True) if s]
        return self.draw(np.concatenate(atoms), rng)

    def draw(self, atoms: Indices, rng: np.random.Generator) -> dict[str, AnyArray]:
        """Draw one record within each row of atoms."""
        columns: dict[str, AnyArray] = {}
        for factor, part in enumerate(self.space.factors):
            columns |= part.draw(atoms[:, factor], rng)
        return {name: columns[name] for name in self.domain}


def log2_ratio(whole: Measure, part: Measure) -> float:
    """Return log2 of whole over part, infinite where the part is empty."""
    if not part:
        return math.inf
    if isinstance(whole, int) and isinstance(part, int):  # as exact as fractions, and several times as fast
        common = math.gcd(whole, part)
        return math.log2(whole // common) - math.log2(part // common)
    ratio = Fraction(whole) / Fraction(part)
    return math.log2(ratio.numerator) - math.log2(ratio.denominator)


def _shares(measures: Sequence[Measure]) -> list[Fraction]:
    total = Fraction(sum(measures, start=0))
    return [Fraction(m) / total for m in measures]


def _relative_entropy(after: Sequence[Fraction], before: Sequence[Fraction]) -> float:
    terms = (float(a) * log2_ratio(a, b) for a, b in zip(after, before, strict=True) if a)
    return max(0.0, math.fsum(terms))


class PossibleRecords:
    """The regions of a model in a domain, their exact measures, and the published counts.

    Attributes
    ----------
    model : DecisionTree or RuleList
        The published model.
    domain : Domain
        The public domain.
    noise : CountNoise or None
        How the published counts differ from the true ones, where that is stated.
    """

    def __init__(
        self,
        model: DecisionTree | RuleList,
        domain: Domain,
        *,
        noise: CountNoise | None = None,
        max_steps: int = MAX_STEPS,
    ) -> None:
        self.model = model
        self.domain = domain
        if noise is not None and noise.kind == "rounded" and model.guarantee and model.guarantee.count_scale:
            raise InvalidParameterError(
                "the model's counts carry noise, so rounding does not bound the true ones.",
                remedy="Leave noise out, or take the model before its counts were rounded.",
            )
        # A guarantee states the noise, unless counts were changed further.
        scale = None if model.guarantee is None or model.approximate else model.guarantee.count_scale
        self.noise = noise if noise is not None or scale is None else CountNoise("geometric", scale)
        self._max_steps = max_steps
        self._worlds: dict[tuple[bool, bool], Worlds] = {}
        self._worlds_of(False)  # an attribute or a value that the domain lacks is an error here

    def _worlds_of(self, domain_aware: bool, *, by_shares: bool = False) -> Worlds:
        """Return the regions by numbers of records, or by the domain's shares: where none are declared, the same."""
        key = domain_aware and bool(self.domain.groups), by_shares and bool(self.domain.shares)
        if key not in self._worlds:
            self._worlds[key] = Worlds(self.model, self.domain, key[0], self._max_steps, by_shares=key[1])
        return self._worlds[key]

    @cached_property
    def supports(self) -> tuple[int, ...]:
        """Number of training records of each leaf or rule, in order."""
        if (reason := self._inexact()) is not None:
            raise UndefinedMeasureError(reason)
        sizes = [cell.evidence.size for cell in self.model.cells]
        if any(size is None for size in sizes):
            raise UndefinedMeasureError(
                "the model does not publish how many records each part captured.",
                remedy="Ask the publisher for the counts, or audit the model with its training records.",
            )
        return tuple(size or 0 for size in sizes)

    @cached_property
    def n_records(self) -> int:
        """Number of training records.

        Raises
        ------
        UndefinedMeasureError
            If it is zero or not published, or counts are noisy or rounded.
        """
        n = sum(self.supports)
        if not n:
            raise UndefinedMeasureError(
                "the model's counts are all zero: it describes no record.",
                remedy="Pass a model that was trained on records.",
            )
        return n

    def worlds(self, *, domain_aware: bool = False) -> tuple[int, ...]:
        """Return the exact number of possible records of each leaf or rule, in order.

        Raises
        ------
        UndefinedMeasureError
            If an attribute is a continuum: declare its resolution.
        """
        self._require_finite()
        return tuple(int(m) for m in self._worlds_of(domain_aware).regions.measures)

    def _inexact(self) -> str | None:
        """Return why published counts are not those of the records; None where they are, or none are published."""
        if all(cell.evidence.size is None for cell in self.model.cells):
            return None
        if self.noise is None and self.model.counts_are_exact:
            return None
        if self.noise is None:
            stated = parameter('noise=CountNoise("rounded", 10)')
            return Text(
                "the published counts were rounded or changed, and the model does not state how, so what depends on "
                f"them is not known. State it, as in {stated}, or take the exact model."
            )
        blurred = (
            f"were rounded to multiples of {self.noise.scale:g}"
            if self.noise.kind == "rounded"
            else f"carry noise of scale {self.noise.scale:g} records"
        )
        return f"the published counts {blurred}, so what depends on them is not known exactly. Use estimate()."

    @cached_property
    def _continua(self) -> list[str]:
        """The attributes whose values are a continuum."""
        attributes = {name: self.domain[name] for name in self.domain}
        return [name for name, each in attributes.items() if isinstance(each, Real) and each.resolution is None]

    def _require_finite(self) -> None:
        if self._continua:
            raise UndefinedMeasureError(
                f"{self._continua[0]!r} has no declared resolution, so possible records cannot be counted.",
                remedy="Declare one in the domain.",
            )

    def _require_possible(self, domain_aware: bool) -> None:
        counts = self._worlds_of(domain_aware).regions.counts
        for i, (size, count) in enumerate(zip(self.supports, counts, strict=True), start=1):
            if size and not count:
                raise UndefinedMeasureError(
                    f"part {i} of the model holds records where the domain allows none.",
                    remedy="Widen the domain's bounds, or mend its groups.",
                )
