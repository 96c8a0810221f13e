"""Trees and rule lists from expected records: splits are weighed by the counts of each region."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal as Choice
from typing import TypeAlias

import numpy as np

from glassine.domain import Between, Binary, Domain, Literal, OneOf
from glassine.domain.literals import complement
from glassine.learners.additive.grids import Axis, coded_cells
from glassine.learners.summaries.junction_tree import Distribution
from glassine.records.arrays import Array, Bools

Measure: TypeAlias = Choice["errors", "gini", "log_loss", "squared_error"]

TIE = 1e-3
"""Weight of the Gini cost beside errors: errors alone are often equal for all splits of a region until one below it."""

LEAST_GAIN = 1e-4
"""Least gain of a split, relative to the cost of all records."""

Region: TypeAlias = Mapping[int, Array]
"""Of the attributes that a region constrains the share of each bin that is in it, shape (bins,)."""


def costs(counts: Array, measure: Measure, levels: Array | None = None) -> Array:
    """Return the cost of predicting the class rates of cells, in records; class counts stand along the first axis.

    Of levels of a number it is the squared error of their mean.

    Examples
    --------
    >>> costs(np.array([[3.0, 2.0], [1.0, 2.0]]), "errors").tolist()
    [1.0, 2.0]
    """
    totals = np.maximum(counts.sum(axis=0), 1e-12)
    if measure == "errors":
        return np.asarray(counts.sum(axis=0) - counts.max(axis=0))
    if levels is not None:
        return np.asarray(levels**2 @ counts - (levels @ counts) ** 2 / totals)
    if measure == "gini":
        return np.asarray(counts.sum(axis=0) - (counts**2).sum(axis=0) / totals)
    return np.asarray(-(counts * np.log(np.maximum(counts, 1e-12) / totals)).sum(axis=0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplitNode:
    """A region that is divided, or a leaf: class counts, and the literal of the true side with both parts."""

    counts: Array
    literal: Literal | None = None
    true: SplitNode | None = None
    false: SplitNode | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Split:
    """The better of all splits of a region: its cost, the bins of the true side, and the literal that says so."""

    cost: float
    attribute: int
    bins: Bools
    literal: Literal
    inside: Array
    outside: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Growth:
    """What greedy growth reads: expected records, and the public bins of its attributes."""

    tree: Distribution  # The expected records
    axes: tuple[Axis, ...]  # The bins of each attribute
    domain: Domain  # The public attributes
    measure: Measure  # What a split is to lower
    least: float  # Least expected number of records of either side: below it noise decides
    levels: Array | None = None  # What stands for the classes where the target is a number

    def grow(self, depth: int) -> SplitNode:
        """Return a tree of at most some depth, each split the one that lowers the cost of its region most (CART)."""
        whole = self.tree.masses([None] * len(self.axes))[0]
        return self.grown({}, whole, depth)

    def grown(self, region: Region, counts: Array, depth: int) -> SplitNode:
        """Return a tree of at most some depth of a region with these class counts, as :meth:`grow` does."""
        best = self._best(region) if depth else None
        if best is None or not self._cost(counts) - best.cost >= self._least_gain:
            return SplitNode(counts=counts)
        inside, outside = self.parts(region, best.attribute, best.bins)
        true = self.grown(inside, best.inside, depth - 1)
        false = self.grown(outside, best.outside, depth - 1)
        return SplitNode(counts=counts, literal=best.literal, true=true, false=false)

    def rules(self, number: int) -> tuple[list[tuple[Literal, Array]], Array]:
        """Return at most so many rules with the class counts of what each captures, and those of what is left."""
        # Each rule is the better split of what remains; it captures the side with the lower cost for each record.
        region: Region = {}
        rest = self.tree.masses([None] * len(self.axes))[0]
        out: list[tuple[Literal, Array]] = []
        while len(out) < number:
            best = self._best(region)
            if best is None or not self._cost(rest) - best.cost >= self._least_gain:
                break
            inside, outside = self.parts(region, best.attribute, best.bins)
            sides = [(best.literal, best.inside, outside, best.outside)]
            other = complement(best.literal, missing=self.domain[best.literal.attribute].missing)
            sides.append((other, best.outside, inside, best.inside))
            literal, captured, region, rest = min(
                sides, key=lambda side: self._cost(side[1]) / max(float(side[1].sum()), 1e-12)
            )
            out.append((literal, captured))
        return out, rest

    def candidates(self) -> Iterator[tuple[int, Bools, Literal]]:
        """Yield the splits of all records: attribute, bins of the true side, and the literal that holds there."""
        for k, table in enumerate(self.tree.tables([None] * len(self.axes))):
            present = self.present(k)
            for bins, literal in self._candidates(k, table[:, 0]):
                if (bins & present).any() and (~bins & present).any():
                    yield k, bins, literal

    def present(self, attribute: int) -> Bools:
        """Return which bins of an attribute have other than missing values: each side of a split needs one of them."""
        axis = self.axes[attribute]
        if not self.domain[axis.grid.attribute].missing:
            return np.ones(axis.n_bins, dtype=np.bool_)
        if axis.ordered:
            return np.isin(np.arange(axis.n_bins), axis.bin_of[:-1])
        out = np.zeros(axis.n_bins, dtype=np.bool_)
        for group, to in zip(axis.grid.groups or (), axis.bin_of[:-1], strict=True):
            out[to] |= any(value is not None for value in group)
        return out

    def parts(self, region: Region, attribute: int, bins: Bools) -> tuple[Region, Region]:
        """Return what of a region is in some bins of an attribute, and what is not."""
        share = region.get(attribute, np.ones(len(bins)))
        return {**region, attribute: share * bins}, {**region, attribute: share * ~bins}

    @property
    def _least_gain(self) -> float:
        return LEAST_GAIN * self._cost(self.tree.masses([None] * len(self.axes))[0])

    def _cost(self, counts: Array) -> float:
        tie = TIE * float(costs(counts, "gini")) if self.measure == "errors" else 0.0
        return float(costs(counts, self.measure, self.levels)) + tie

    def _best(self, region: Region) -> _Split | None:
        """Return the split of least cost, the first among equals; None where there is none."""
        weights = [None if k not in region else region[k][None, None] for k in range(len(self.axes))]
        best: _Split | None = None
        for k, table in enumerate(self.tree.tables(weights)):
            present = self.present(k)
            if k in region:
                present &= region[k] > 0
            for bins, literal in self._candidates(k, table[:, 0]):
                inside = table[:, 0] @ bins
                outside = table[:, 0] @ ~bins
                if not min(inside.sum(), outside.sum()) >= self.least:
                    continue
                if not ((bins & present).any() and (~bins & present).any()):
                    continue
                cost = self._cost(inside) + self._cost(outside)
                if best is None or cost < best.cost - 1e-9:
                    best = _Split(cost=cost, attribute=k, bins=bins, literal=literal, inside=inside, outside=outside)
        return best

    def _candidates(self, place: int, table: Array) -> Iterator[tuple[Bools, Literal]]:
        """Yield the splits of an attribute, each as the bins of its true side and the literal that holds there."""
        axis = self.axes[place]
        if axis.ordered:
            gaps = ~self.present(place)
            for bins, condition in _in_order(axis):
                yield bins, condition
                if gaps.any():
                    yield bins | gaps, replace(condition, missing=True)
            return
        totals = table.sum(axis=0)
        if self.levels is not None:
            rates = self.levels @ table / np.maximum(totals, 1e-12)
        else:
            rates = table[-1] / np.maximum(totals, 1e-12) if len(table) == 2 else _main_direction(table)
        order = np.argsort(rates, kind="stable")
        seen = set()
        for k in range(1, axis.n_bins):
            chosen = np.zeros(axis.n_bins, dtype=np.bool_)
            chosen[order[:k]] = True
            for bins in (chosen, ~chosen):
                literal = self._one_of(axis, bins)
                if literal is not None and literal not in seen:
                    seen.add(literal)
                    yield bins, literal
                    break

    def _one_of(self, axis: Axis, bins: Bools) -> Literal | None:
        """Return the literal of some bins of a category; None where no literal says so."""
        attribute = self.domain[axis.grid.attribute]
        cells = list(zip(axis.grid.groups or (), axis.bin_of[:-1], strict=True))
        listed = tuple(value for group, to in cells if bins[to] for value in group if value is not None)
        binary = isinstance(attribute, Binary)
        if binary and listed != (1,):
            return None
        if attribute.missing:
            # What is not declared reads as missing where a tree or a list is applied.
            missing = any(bins[to] and None in group for group, to in cells)
            return OneOf(axis.grid.attribute, listed, missing=missing, binary=binary) if listed else None
        # What is not declared satisfies no list: it belongs to the false side.
        captures = listed and not bins[axis.bin_of[-1]]
        return OneOf(axis.grid.attribute, listed, binary=binary) if captures else None


def _in_order(axis: Axis) -> Iterator[tuple[Bools, Literal]]:
    """Yield the conditions on a number: one for each cut between bins, and one for each special code."""
    cells = axis.bin_of[:-1]
    cuts = axis.grid.cuts if axis.grid.cuts is not None else np.zeros(0)
    for at in np.flatnonzero(np.diff(cells)).tolist():
        bins = np.isin(np.arange(axis.n_bins), cells[: at + 1])
        # What lies on both sides of a special code can be one bin, which no threshold parts.
        if not bins[cells[at + 1 :]].any():
            yield bins, Between(axis.grid.attribute, hi=float(cuts[at]))
    for code, cell in zip(axis.grid.codes, coded_cells(axis.grid), strict=True):
        yield np.arange(axis.n_bins) == cells[cell], OneOf(axis.grid.attribute, (code,))


def _main_direction(table: Array) -> Array:
    """Return one number for each bin along which the rates of several classes differ most."""
    totals = table.sum(axis=0)
    rates = (table / np.maximum(totals, 1e-12)).T
    centered = rates - totals @ rates / max(float(totals.sum()), 1e-12)
    return np.asarray(centered @ np.linalg.svd(centered * np.sqrt(totals)[:, None], full_matrices=False)[2][0])


def shares_of(counts: Sequence[float] | Array) -> tuple[float, ...]:
    """Return class probabilities of expected counts, with half a record added to each class."""
    values = np.asarray(counts, dtype=np.float64) + 0.5
    rounded = np.round(values / values.sum(), 6)
    return tuple((rounded / math.fsum(rounded)).tolist())
