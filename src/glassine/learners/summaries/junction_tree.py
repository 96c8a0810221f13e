"""From noisy tables to a junction tree, and exact inference in it: attributes given the class, by message passing.

What noise may have made is taken out before anything is fitted. A search over trees uses all noise that filled
impossible cells, so that denoising is part of correctness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from glassine.learners.summaries.released import ReleasedSummary, margins
from glassine.records.arrays import Array, Ints

# The constants were set on Adult; no guarantee rests on them.

GONE = (2.0, 1 / 3)
"""A cell is empty whose noisy count is below so many standard deviations, and below this share of independence."""

SWEEPS = 25
"""Rounds of iterative proportional fitting: margins then agree to a thousandth."""


class Distribution(Protocol):
    """What trees are grown on: expected records by class, of regions and of their parts, as of a junction tree."""

    @property
    def totals(self) -> Array:
        """Records of each class."""

    def masses(self, weights: Sequence[Array | None]) -> Array:
        """Return the expected number of records of each class in regions, shape (regions, classes)."""

    def tables(self, weights: Sequence[Array | None]) -> list[Array]:
        """Return the expected records in regions by each attribute's bins, shape (classes, regions, bins) each."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class JunctionTree:
    """Expected numbers of records: class totals, and of each attribute its distribution given the class and its parent.

    A clique is an attribute, its parent and the class; that of all attributes' joint table is never made. An attribute
    without a parent depends on the class alone. Friedman, Geiger and Goldszmidt (1997) call it a tree-augmented naive
    Bayes network.
    """

    totals: Array  # Records of each class, shape (classes,)
    parents: tuple[int, ...]  # Parent of each attribute; -1 where there is none
    # Distribution of each attribute given class and parent; rows add up to 1, shape (classes, parent's bins or 1,
    # bins).
    conditionals: tuple[Array, ...]
    order: tuple[int, ...]  # The attributes, parents before children

    @classmethod
    def of(cls, totals: Array, margins: Sequence[Array], edges: dict[tuple[int, int], Array]) -> JunctionTree:
        """Return the tree of counts that agree with each other."""
        # Shapes: totals (classes,); each of margins (bins, classes); each of edges, whose pairs are a forest, (bins,
        # bins, classes).
        parents = [-1] * len(margins)
        order: list[int] = []
        # In one order, whichever that of the pairs is: a file gives the same models.
        left = dict(sorted(edges.items()))
        conditionals: list[Array] = [np.zeros(0)] * len(margins)
        for root in range(len(margins)):
            if root in order:
                continue
            conditionals[root] = _normalized(margins[root].T[:, None, :])
            order.append(root)
            ahead = [root]
            while ahead:
                parent = ahead.pop()
                for pair in [pair for pair in left if parent in pair]:
                    table = left.pop(pair)
                    child = pair[1] if pair[0] == parent else pair[0]
                    by_parent = table if pair[0] == parent else table.swapaxes(0, 1)
                    # Where the parent's bin is empty, the child is as in all records of the class.
                    by_parent = by_parent + 1e-9 * margins[child][None] / np.maximum(totals, 1.0)
                    parents[child] = parent
                    conditionals[child] = _normalized(np.moveaxis(by_parent, 2, 0))
                    order.append(child)
                    ahead.append(child)
        return cls(totals=totals, parents=tuple(parents), conditionals=tuple(conditionals), order=tuple(order))

    @property
    def n_bins(self) -> tuple[int, ...]:
        """Number of bins of each attribute."""
        return tuple(conditional.shape[2] for conditional in self.conditionals)

    def masses(self, weights: Sequence[Array | None]) -> Array:
        """Return the expected number of records of each class in regions, shape (regions, classes); one pass upwards.

        Shapes: each of ``weights``, the share of each bin that is in each region, (classes or 1, regions, bins); None
        for all of it.
        """
        _, masses = self._upward(weights)
        product: Array = self.totals[:, None] * np.ones_like(next(iter(masses.values())))
        for mass in masses.values():
            product = product * mass
        return np.asarray(product.T)

    def tables(self, weights: Sequence[Array | None]) -> list[Array]:
        """Return the expected records in regions by each attribute's bins, shape (classes, regions, bins) each."""
        # One pass upwards and one downwards; weights as for masses.
        inside, masses = self._upward(weights)
        outside: list[Array] = [np.zeros(0)] * len(self.parents)
        messages = {j: inside[j] @ self.conditionals[j].swapaxes(1, 2) for j in self.order if self.parents[j] >= 0}
        children: dict[int, list[int]] = {j: [] for j in self.order}
        for j in messages:
            children[self.parents[j]].append(j)
        for j in self.order:
            if self.parents[j] < 0:
                others: Array = self.totals[:, None] * np.ones_like(masses[j])
                for root, mass in masses.items():
                    others = others if root == j else others * mass
                outside[j] = others[..., None] * self.conditionals[j]
            for child in children[j]:
                # Siblings are multiplied anew: dividing by a message fails where it is zero.
                weight = weights[j]
                cavity = outside[j] if weight is None else outside[j] * weight
                for sibling in children[j]:
                    cavity = cavity if sibling == child else cavity * messages[sibling]
                outside[child] = cavity @ self.conditionals[child]
        return [outside[j] * inside[j] for j in range(len(self.parents))]

    def _upward(self, weights: Sequence[Array | None]) -> tuple[list[Array], dict[int, Array]]:
        """Return what lies below each attribute, by its bins, and the mass of each root, shape (classes, regions)."""
        shape = next((weight.shape for weight in weights if weight is not None), (1, 1, 1))
        n_regions = shape[1]
        inside: list[Array] = [
            np.ones((len(self.totals), n_regions, size))
            if weights[j] is None
            else np.broadcast_to(np.asarray(weights[j]), (len(self.totals), n_regions, size)).copy()
            for j, size in enumerate(self.n_bins)
        ]
        masses = {}
        for j in reversed(self.order):
            message = inside[j] @ self.conditionals[j].swapaxes(1, 2)
            if self.parents[j] < 0:
                masses[j] = message[..., 0]
            else:
                inside[self.parents[j]] *= message
        return inside, masses

    def draws(self, n: int) -> Ints:
        """Return representative records, shape (attributes, n), each class's share of them that of its total."""
        # They are the same each time: a fixed stream, of which nothing is secret, replaces the sum over all records.
        rng = np.random.default_rng(20_261_123)
        sizes = np.diff(np.rint(np.cumsum(np.append(0.0, self.totals)) / self.totals.sum() * n).astype(np.int64))
        labels = np.repeat(np.arange(len(sizes)), sizes)
        out = np.zeros((len(self.parents), n), dtype=np.int64)
        for j in self.order:
            below = np.cumsum(self.conditionals[j], axis=2)
            rows = below[labels, out[self.parents[j]] if self.parents[j] >= 0 else 0]
            # Evenly spread in shuffled places: the share of each bin of a root is right but for one record.
            places = (rng.permutation(n) + rng.random(n)) / n if self.parents[j] < 0 else rng.random(n)
            out[j] = np.minimum((rows < places[:, None] * rows[:, -1:]).sum(axis=1), below.shape[2] - 1)
        return out

    def posteriors(self, codes: Ints) -> Array:
        """Return the probability of each class for records, given by their bins: shape (n, classes)."""
        logs = np.tile(np.log(np.maximum(self.totals, 1e-300)), (codes.shape[1], 1))
        for j, conditional in enumerate(self.conditionals):
            above = codes[self.parents[j]] if self.parents[j] >= 0 else np.zeros(codes.shape[1], dtype=np.int64)
            logs += np.log(np.maximum(conditional, 1e-300))[:, above, codes[j]].T
        logs -= logs.max(axis=1, keepdims=True)
        odds = np.exp(logs)
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _normalized(table: Array) -> Array:
    sums = table.sum(axis=2, keepdims=True)
    return np.asarray(np.where(sums > 0, table / np.where(sums > 0, sums, 1.0), 1.0 / table.shape[2]))


@lru_cache(maxsize=32)
def junction_tree(released: ReleasedSummary) -> JunctionTree:
    """Return the distribution that trees, lists and additive models are fitted to."""
    totals, rows = margins(released.tables, released.groups, released.deviations[0])
    edges = {
        (a, b): _denoised(noisy, rows[a], rows[b], totals, released.deviations[2])
        for (a, b), noisy in released.edges.items()
    }
    return JunctionTree.of(totals, rows, edges)


def _denoised(noisy: Array, left: Array, right: Array, totals: Array, deviation: float) -> Array:
    """Return the table of a pair by class, which agrees with both margins, shape (bins, bins, classes)."""
    counts = _pair_counts(noisy.sum(axis=2), left, right, totals, deviation * np.sqrt(len(totals)))
    # Without an interaction of all three, what both attributes say of the class is all that is known.
    smooth: Array = left[:, None] * right[None] / totals
    for _ in range(SWEEPS):
        smooth = _scaled(smooth, counts, 2)
        smooth = _scaled(smooth, left, 1)
        smooth = _scaled(smooth, right, 0)
    smooth = _scaled(smooth, counts, 2)
    table = counts[..., None] * _class_rates(noisy, counts, smooth, deviation)
    for _ in range(SWEEPS):
        table = _scaled(table, left, 1)
        table = _scaled(table, right, 0)
    return table


def _pair_counts(noisy: Array, left: Array, right: Array, totals: Array, noise: float) -> Array:
    """Return the joint counts of a pair: the noisy ones, shrunk towards independence by what noise explains."""
    independent: Array = np.einsum("ac,bc->ab", left, right / totals)
    excess = noisy - independent
    # Relative deviations have one variance, that of the noise taken out (empirical Bayes).
    spread = max(float((excess**2 - noise**2).sum() / (independent**2).sum()), 1e-6)
    weight = spread * independent**2 / (spread * independent**2 + noise**2)
    # A cell that holds far more than independence allows is believed by its own count.
    weight = np.maximum(weight, 1 - np.minimum(1.0, (noise / np.maximum(np.abs(excess), 1e-9)) ** 2 * 4))
    counts = np.maximum(independent + weight * excess, 0.0)
    gone = (noisy < GONE[0] * noise) & (noisy < GONE[1] * independent)
    counts = np.where(gone, 0.0, counts) + 1e-9
    for _ in range(SWEEPS):
        counts = counts * (left.sum(axis=1) / counts.sum(axis=1))[:, None]
        counts = counts * (right.sum(axis=1) / counts.sum(axis=0))[None]
    return np.asarray(counts)


def _class_rates(noisy: Array, counts: Array, smooth: Array, deviation: float) -> Array:
    """Return the class rates of each cell: noisy ones, shrunk to those without an interaction."""
    expected = smooth / np.maximum(smooth.sum(axis=2, keepdims=True), 1e-12)
    sizes = np.maximum(counts, 1e-9)[..., None]
    believed = np.maximum(sizes, 2 * deviation)
    # The noisy counts may add up to something else than the denoised one: only their differences from it count.
    residual = noisy - expected * noisy.sum(axis=2, keepdims=True)
    moved = residual / believed
    variances = deviation**2 / believed**2 + expected * (1 - expected) / believed
    spread = float((sizes * (moved**2 - variances)).sum() / sizes.sum() / noisy.shape[2])
    weight = max(spread, 1e-9) / (max(spread, 1e-9) + variances)
    rates = np.maximum(expected + weight * moved, 1e-4 * expected + 1e-12)
    return np.asarray(rates / rates.sum(axis=2, keepdims=True))


def _scaled(table: Array, target: Array, axis: int) -> Array:
    """Return a table scaled so that its sums along an axis are those of a target."""
    sums = table.sum(axis=axis)
    factor = np.where(sums > 1e-12, target / np.maximum(sums, 1e-12), 1.0)
    return np.asarray(table * np.expand_dims(factor, axis))
