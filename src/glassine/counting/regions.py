"""Exact measures of regions: a box less a union of boxes.

The j-th rule of a rule list captures ``f_j and not f_1 ... and not f_(j-1)``: a box less j - 1 others. Counting it is
counting the models of a formula in conjunctive normal form over many-valued variables. The published recursion
(Probabilistic Dataset Reconstruction from Interpretable Models, equation 13) visits every subset of rules; here the
formula is split into components that share no factor, each component branches on the classes of atoms that its clauses
distinguish, and measures of components are cached (model counting by DPLL with component caching).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TypeAlias, overload

import numpy as np

from glassine.counting.space import Box, Measure, Space, bits
from glassine.domain.domain import product
from glassine.errors import CountingLimitError, UndefinedMeasureError, parameter
from glassine.records.arrays import Array, Indices
from glassine.resources import current

Clause: TypeAlias = tuple[tuple[int, int], ...]
"""A box to leave out, as sorted pairs of factor and mask; each mask a proper part of what is allowed."""

BETWEEN = 1024
"""Steps between two looks at the clock."""

CLAUSES = 32
"""Clauses that are looked at in one step: a branching of more counts as several."""

# In the worst case the count takes exponentially many steps: beyond these it is refused.
MAX_STEPS = 300_000


@dataclass(frozen=True, slots=True)
class Region:
    """The records inside one box and outside some others.

    Attributes
    ----------
    inside : Box
        The box.
    outside : tuple of Box
        The boxes left out.
    """

    inside: Box
    outside: tuple[Box, ...] = ()


def measured_in_order(boxes: Iterable[Box], counter: RegionCounter) -> Iterator[tuple[Region, Measure]]:
    """Yield what each box holds outside those before it, with its measure; boxes that others cover are not left out."""
    before: dict[frozenset[int], list[Box]] = {}
    for box in boxes:
        region = Region(box, tuple(chain.from_iterable(before.values())))
        measure = counter.measure(region)
        yield region, measure
        # Of many rules most hold nothing, as earlier ones do: what they hold is left out by those.
        if measure:
            same = before.setdefault(frozenset(box), [])
            same[:] = [other for other in same if any(mask & ~box[factor] for factor, mask in other.items())]
            same.append(box)


class RegionCounter:
    """Measures, marginals and samples of regions of one space.

    Parameters
    ----------
    space : Space
        The space.
    max_steps : int, default=300,000
        Branchings allowed over the counter's life; counting is #P-hard, so a limit keeps hard inputs from hanging.
    """

    def __init__(self, space: Space, *, max_steps: int = MAX_STEPS) -> None:
        self._space = space
        self._max_steps = max_steps
        self._steps = 0
        self._cache: dict[tuple[frozenset[Clause], tuple[int, ...]], Measure] = {}
        # Measured regions over what they constrain, by identity, with the region so that none other gets it.
        self._by_identity: dict[int, tuple[Region, Measure]] = {}
        self._ranked: frozenset[Clause] = (
            frozenset()
        )  # The clauses whose factors are ranked when the first is asked for
        self._ranks: dict[int, int] | None = None
        self._chances: dict[tuple[int, int], tuple[Indices, Array]] = {}

    def measure(self, region: Region) -> Measure:
        """Return the number of records of a region, or its volume, exactly."""
        space, bound = self._space, self._bound(region)
        count = self._measure(region, bound)
        self._by_identity[id(region)] = region, count
        if bound == space.tested:
            return count * space.untested
        return count * product([total for factor, total in enumerate(space.totals) if factor not in bound])

    def share(self, region: Region) -> Fraction:
        """Return the share of the space that a region is, exactly.

        Factors that nothing constrains cancel, and are never multiplied.
        """
        bound = self._bound(region)
        count = self._by_identity[id(region)][1] if id(region) in self._by_identity else self._measure(region, bound)
        return Fraction(count) / product([self._space.totals[factor] for factor in bound])

    def _bound(self, region: Region) -> frozenset[int]:
        """Return the factors that a literal of the space or a box of the region constrains."""
        return self._space.tested.union(region.inside, *region.outside)

    def _measure(self, region: Region, factors: Iterable[int]) -> Measure:
        """Measure of a region over some factors, all that it constrains among them."""
        clauses = self._clauses(region)
        if clauses is None:
            return 0
        # One order for all branches, so that equal subproblems meet in the cache.
        self._ranked, self._ranks = clauses, None
        used = _factors(clauses)
        free = [self._space.weight(f, region.inside.get(f, self._space.full[f])) for f in factors if f not in used]
        return product(free) * self._count(clauses, region.inside)

    def marginal(self, region: Region, factor: int) -> list[Fraction]:
        """Return the share of the space that lies in a region and on each atom of a factor."""
        space = self._space
        out = [Fraction(0)] * len(space.factors[factor].weights)
        allowed = region.inside.get(factor, space.full[factor])
        masks = [box[factor] for box in region.outside if factor in box]
        for part in _parts(allowed, masks):
            weight = space.weight(factor, part)
            if not weight:
                continue
            each = self.share(Region({**region.inside, factor: part}, region.outside)) / weight
            for atom in bits(part):
                out[atom] = each * space.factors[factor].weights[atom]
        return out

    def is_free(self, region: Region, factor: int) -> bool:
        """Return whether a region leaves a factor uniform on its box for any other factors."""
        return not any(factor in box for box in region.outside)

    def sample(self, region: Region, size: int, rng: np.random.Generator) -> Indices:
        """Return independent draws from the uniform distribution on a region.

        Parameters
        ----------
        region : Region
            A region of positive measure.
        size : int
            Number of draws.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        ndarray of int, shape (size, number of factors)
            The atom of each draw on each factor.

        Raises
        ------
        UndefinedMeasureError
            If the region is empty.
        """
        space = self._space
        out = np.full((size, len(space.factors)), -1, dtype=np.intp)
        clauses = self._clauses(region)
        # A box alone, as a leaf is, was found not to be empty; its factors are drawn one by one.
        if clauses is None or (clauses and not self._measure(region, self._bound(region))):
            raise UndefinedMeasureError("the region is empty, so there is no record to draw.")
        if clauses and size:
            self._sample(clauses, region.inside, np.arange(size), out, rng)
        for factor in range(len(space.factors)):
            rows = np.flatnonzero(out[:, factor] < 0)
            if len(rows):
                out[rows, factor] = self._draw_atoms(
                    factor, region.inside.get(factor, space.full[factor]), len(rows), rng
                )
        return out

    def _clauses(self, region: Region) -> frozenset[Clause] | None:
        """Return the boxes to leave out, reduced to the inside; None when nothing is left."""
        if any(not self._space.weight(factor, mask) for factor, mask in region.inside.items()):
            return None
        clauses: set[Clause] = set()
        for box in region.outside:
            clause = []
            for factor, mask in sorted(box.items()):
                allowed = region.inside.get(factor, self._space.full[factor])
                # A factor on which the box leaves out all that is allowed does not narrow it.
                if mask & allowed != allowed:
                    clause.append((factor, mask & allowed))
            if not clause:
                return None
            # A box that misses the inside somewhere leaves out nothing.
            if all(mask for _, mask in clause):
                clauses.add(tuple(clause))
        return _uncovered(frozenset(clauses)) if clauses else frozenset()

    def _count(self, clauses: frozenset[Clause], inside: Box) -> Measure:
        """Measure, over the factors of the clauses alone, of what no clause covers."""
        product: Measure = 1
        # Parts that share no factor are independent: their measures multiply.
        for component in _components(clauses):
            product *= self._count_component(component, inside)
            if not product:
                break
        return product

    def _count_component(self, clauses: frozenset[Clause], inside: Box) -> Measure:
        used = sorted(_factors(clauses))
        # What is allowed of the factors decides the count, not how the region came about.
        key = (clauses, tuple(inside.get(factor, self._space.full[factor]) for factor in used))
        cached = self._cache.get(key)
        if cached is not None:
            return cached
        before, self._steps = self._steps, self._steps + 1 + len(clauses) // CLAUSES
        if self._steps // BETWEEN > before // BETWEEN:
            current().ask_time("counting regions")
        if self._steps > self._max_steps:
            raise CountingLimitError(
                f"counting the region took more than {self._max_steps:,} steps.",
                remedy=f"Use fewer or narrower rules, or raise {parameter('max_steps')}.",
                max_steps=self._max_steps,
            )
        total: Measure = 0
        if any(len(clause) == 1 for clause in clauses):
            left, narrower = self._narrowed(clauses, inside)
            open_factors = _factors(left)
            total = product(
                [self._space.weight(f, narrower.get(f, self._space.full[f])) for f in used if f not in open_factors]
            )
            if total:
                total *= self._count(left, narrower)
        else:
            for _, weight, rest, freed in self._branches(clauses, inside):
                part = weight
                for factor in freed:
                    part *= self._space.weight(factor, inside.get(factor, self._space.full[factor]))
                if part:
                    total += part * self._count(rest, inside)
        self._cache[key] = total
        return total

    def _narrowed(self, clauses: frozenset[Clause], inside: Box) -> tuple[frozenset[Clause], Box]:
        """Return what is left of clauses outside those of one factor, and the box without them."""
        # What a clause of one factor covers is no longer allowed of it (unit propagation): others may become shorter.
        left, box = clauses, dict(inside)
        while True:
            covered: dict[int, int] = {}
            for clause in left:
                if len(clause) == 1:
                    ((factor, mask),) = clause
                    covered[factor] = covered.get(factor, 0) | mask
            if not covered:
                return _uncovered(left), box
            for factor, mask in covered.items():
                box[factor] = box.get(factor, self._space.full[factor]) & ~mask
                if not box[factor]:
                    return frozenset(), box
            shorter = set[Clause]()
            for clause in left:
                own = tuple(
                    (factor, mask & box[factor] if factor in covered else mask)
                    for factor, mask in clause
                    if factor not in covered or mask & box[factor] != box[factor]
                )
                if all(mask for _, mask in own):
                    if not own:
                        return frozenset(), {**box, clause[0][0]: 0}
                    shorter.add(own)
            left = frozenset(shorter)

    def _branches(
        self, clauses: frozenset[Clause], inside: Box
    ) -> Iterator[tuple[tuple[int, int], Measure, frozenset[Clause], set[int]]]:
        """Yield for each class of atoms of one factor: factor and class, measure, clauses left, factors freed."""
        factor = self._branching_factor(clauses)
        masks = [mask for clause in clauses for index, mask in clause if index == factor]
        used = _factors(clauses) - {factor}
        for part in _parts(inside.get(factor, self._space.full[factor]), masks):
            rest: list[Clause] = []
            covered = False
            for clause in clauses:
                own = next((mask for index, mask in clause if index == factor), None)
                if own is None:
                    rest.append(clause)
                elif own & part:
                    shorter = tuple(pair for pair in clause if pair[0] != factor)
                    if not shorter:
                        covered = True
                        break
                    rest.append(shorter)
            if not covered:
                left = frozenset(rest)
                yield (factor, part), self._space.weight(factor, part), left, used - _factors(left)

    def _branching_factor(self, clauses: Iterable[Clause]) -> int:
        """Return the factor of a clause that it alone decides, else the factor of highest rank."""
        # It needs no branching: only the part outside it remains.
        single = min((clause[0][0] for clause in clauses if len(clause) == 1), default=None)
        if single is not None:
            return single
        if self._ranks is None:
            self._ranks = _elimination_ranks(self._ranked)
        return max(_factors(clauses), key=self._ranks.__getitem__)

    def _sample(
        self, clauses: frozenset[Clause], inside: Box, rows: Indices, out: Indices, rng: np.random.Generator
    ) -> None:
        for component in _components(clauses):
            options = []
            for branch, weight, rest, freed in self._branches(component, inside):
                part = weight
                for factor in freed:
                    part *= self._space.weight(factor, inside.get(factor, self._space.full[factor]))
                part = part * self._count(rest, inside) if part else part
                if part:
                    options.append((branch, rest, part))
            total = sum((part for *_, part in options), start=Fraction(0))
            chances = np.array([float(part / total) for *_, part in options])
            # All rows at once: how many take each branch, then which.
            sizes = rng.multinomial(len(rows), chances / chances.sum())
            shuffled = rng.permutation(rows)
            start = 0
            for ((factor, mask), rest, _), size in zip(options, sizes, strict=True):
                mine = shuffled[start : start + size]
                start += size
                if size:
                    out[mine, factor] = self._draw_atoms(factor, mask, int(size), rng)
                    self._sample(rest, inside, mine, out, rng)

    def _draw_atoms(self, factor: int, mask: int, size: int, rng: np.random.Generator) -> Indices:
        if (factor, mask) not in self._chances:
            weights = self._space.factors[factor].weights
            atoms = np.array([atom for atom in bits(mask) if weights[atom]], dtype=np.intp)
            total = self._space.weight(factor, mask)
            cumulated = np.cumsum([float(weights[atom] / total) for atom in atoms])
            self._chances[factor, mask] = atoms, cumulated / cumulated[-1]
        atoms, cumulated = self._chances[factor, mask]
        return np.asarray(atoms[np.searchsorted(cumulated, rng.random(size), side="right")])


class RuleRegions(Sequence[Region]):
    """The regions of rules, in order: of the rules whose box holds a record, the first takes it.

    They have the figures of :class:`~glassine.counting.leaves.LeafRegions`, and are counted when one is asked for.
    """

    def __init__(self, boxes: Sequence[Box], counter: RegionCounter) -> None:
        self._boxes, self._counter = boxes, counter

    @cached_property
    def _measured(self) -> list[tuple[Region, Measure]]:
        return [*measured_in_order(self._boxes, self._counter)]

    @cached_property
    def measures(self) -> list[Measure]:
        """Number of possible records of each rule, or their volume."""
        return [measure for _, measure in self._measured]

    @property
    def counts(self) -> list[Measure]:
        """What is 0 of a rule that can hold no record: its measure."""
        return self.measures

    @property
    def covered(self) -> Measure:
        """Measure of all rules together."""
        return sum(self.measures, start=0)

    def __len__(self) -> int:
        return len(self._boxes)

    @overload
    def __getitem__(self, index: int) -> Region: ...
    @overload
    def __getitem__(self, index: slice) -> list[Region]: ...
    def __getitem__(self, index: int | slice) -> Region | list[Region]:
        if isinstance(index, slice):
            return [region for region, _ in self._measured[index]]
        return self._measured[index][0]


def _uncovered(clauses: frozenset[Clause]) -> frozenset[Clause]:
    """Return the clauses without those that another one on the same factors covers."""
    groups: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for clause in clauses:
        groups.setdefault(tuple(factor for factor, _ in clause), []).append(tuple(mask for _, mask in clause))
    if len(groups) == len(clauses):
        return clauses
    out = set[Clause]()
    for factors, boxes in groups.items():
        kept: list[tuple[int, ...]] = []
        # Larger boxes come first, so that one pass finds what they cover.
        for box in sorted(boxes, key=lambda masks: -sum(mask.bit_count() for mask in masks)):
            if not any(all(a & ~b == 0 for a, b in zip(box, other, strict=True)) for other in kept):
                kept.append(box)
        out |= {tuple(zip(factors, box, strict=True)) for box in kept}
    return frozenset(out)


def _factors(clauses: Iterable[Clause]) -> set[int]:
    return {factor for clause in clauses for factor, _ in clause}


def _elimination_ranks(clauses: Iterable[Clause]) -> dict[int, int]:
    """Rank factors by a min-fill elimination order of the graph that joins the factors of each clause."""
    # Branching on the highest rank first splits the clauses along the separators of a tree decomposition.
    near: dict[int, set[int]] = {}
    for clause in clauses:
        touched = {factor for factor, _ in clause}
        for factor in touched:
            near.setdefault(factor, set()).update(touched - {factor})

    def fill(factor: int) -> int:
        around = near[factor]
        return sum(len(around - near[other]) - 1 for other in around) // 2

    ranks: dict[int, int] = {}
    costs = {factor: fill(factor) for factor in near}
    while costs:
        factor = min(costs, key=lambda f: (costs[f], len(near[f]), f))
        ranks[factor] = len(ranks)
        del costs[factor]
        around = near.pop(factor)
        for other in around:
            near[other] |= around - {other}
            near[other].discard(factor)
        # Only where an edge was added can the number of missing edges have changed.
        stale = around.union(*(near[other] for other in around)) if around else set()
        for other in stale:
            costs[other] = fill(other)
    return ranks


def _components(clauses: frozenset[Clause]) -> list[frozenset[Clause]]:
    """Split clauses into sets that share no factor."""
    groups: list[tuple[set[int], list[Clause]]] = []
    for clause in clauses:
        touched = {factor for factor, _ in clause}
        members = [clause]
        untouched = []
        for factors, others in groups:
            if factors & touched:
                touched |= factors
                members += others
            else:
                untouched.append((factors, others))
        groups = [*untouched, (touched, members)]
    return [frozenset(members) for _, members in groups]


def _parts(allowed: int, masks: Sequence[int]) -> list[int]:
    """Split a set of atoms into the classes that masks distinguish."""
    parts = [allowed] if allowed else []
    for mask in dict.fromkeys(masks):
        parts = [piece for part in parts for piece in (part & mask, part & ~mask) if piece]
    return parts
