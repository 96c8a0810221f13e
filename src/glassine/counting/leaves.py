"""The regions of a tree's leaves: boxes that do not meet, measured by sums over neighboring atoms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import overload

from glassine.counting.regions import BETWEEN, Region
from glassine.counting.space import Measure, NumberFactor, Part, Space
from glassine.domain import Literal
from glassine.resources import current

BYTES = 500
"""Memory of a leaf over ten factors."""


class LeafRegions(Sequence[Region]):
    """The regions of leaves, in order; each is made when it is asked for.

    A tree of many leaves cuts a number into thousands of atoms, so that a bit mask takes kilobytes. The thresholds on a
    path leave neighbors, whose measure is the difference of two sums.

    Parameters
    ----------
    space : Space
        The space, with the literals of the tree.
    paths : iterable of sequence of Literal
        The conjunction of each leaf. Leaves that follow one another share the beginning of their paths.

    Attributes
    ----------
    parts : list of mapping of int to Part
        What each leaf allows of each factor that its path tests.
    counts : list of int
        Measure of each leaf over the tested factors, times the product of their scales.
    total : int
        Measure of the whole space, as in ``counts``.
    """

    def __init__(self, space: Space, paths: Iterable[Sequence[Literal]]) -> None:
        self._space = space
        # Of each tested factor: whole numbers whose differences are the measures of neighbors, and their divisor.
        self._sums: dict[int, tuple[list[int], int]] = {}
        for factor in sorted(space.tested):
            before = space.sums_before(factor)
            scale = math.lcm(*{Fraction(each).denominator for each in before})
            self._sums[factor] = [int(each * scale) for each in before], scale
        self.parts: list[dict[int, Part]] = []
        self.counts: list[int] = []
        self.total = math.prod(sums[-1] for sums, _ in self._sums.values())
        paths = list(paths)
        current().ask_memory(BYTES * len(paths), f"the regions of {len(paths):,} leaves")
        last: Sequence[Literal] = ()
        states: list[tuple[dict[int, Part], int]] = [({}, self.total)]
        for number, path in enumerate(paths):
            if number % BETWEEN == 0:
                current().ask_time("counting regions")
            # From the end, where one or two conditions differ: paths are long.
            shared = min(len(path), len(last))
            while shared and (path[shared - 1] is not last[shared - 1] or path[:shared] != last[:shared]):
                shared -= 1
            del states[shared + 1 :]
            for literal in path[shared:]:
                states.append(self._narrowed(*states[-1], literal))
            parts, count = states[-1]
            self.parts.append(parts)
            self.counts.append(count)
            last = path

    def _narrowed(self, parts: dict[int, Part], count: int, literal: Literal) -> tuple[dict[int, Part], int]:
        """Return what a condition leaves of some parts, and of their measure: it changes one factor of the product."""
        index = self._space.factor_of[literal.attribute]
        factor, old = self._space.factors[index], parts.get(index)
        new = factor.stretch(literal) if isinstance(factor, NumberFactor) and not isinstance(old, int) else None
        if new is not None:
            first, last, gap = old if isinstance(old, tuple) else (0, new[1], True)
            first, last = max(first, new[0]), min(last, new[1])
            left: Part = (first, max(first, last), gap and new[2])
        else:
            mask = factor.mask(literal)
            left = mask if old is None else mask & self._space.mask(index, old)
        if count:
            before = self._sums[index][0]
            whole = before[-1] if old is None else self._scaled(index, old)
            count = count // whole * self._scaled(index, left)
        return {**parts, index: left}, count

    def _scaled(self, factor: int, part: Part) -> int:
        before, scale = self._sums[factor]
        if isinstance(part, int):
            return int(self._space.weight(factor, part) * scale)
        first, last, gap = part
        return before[last] - before[first] + (before[-1] - before[-2] if gap else 0)

    def scaled(self, factor: int, part: Part) -> tuple[int, int]:
        """Return the measures of a part of a factor, and of the factor, as whole numbers of the same scale."""
        return self._scaled(factor, part), self._sums[factor][0][-1]

    @cached_property
    def _unit(self) -> Measure:
        """Measure of one of :attr:`counts`."""
        scale = math.prod(scale for _, scale in self._sums.values())
        return self._space.untested if scale == 1 else Fraction(self._space.untested) / scale

    @cached_property
    def measures(self) -> list[Measure]:
        """Number of records of each leaf, or its volume."""
        return [count * self._unit for count in self.counts]

    @cached_property
    def covered(self) -> Measure:
        """Measure of all leaves together."""
        return sum(self.counts) * self._unit

    def __len__(self) -> int:
        return len(self.parts)

    @overload
    def __getitem__(self, index: int) -> Region: ...
    @overload
    def __getitem__(self, index: slice) -> list[Region]: ...
    def __getitem__(self, index: int | slice) -> Region | list[Region]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return Region({factor: self._space.mask(factor, part) for factor, part in self.parts[index].items()})
