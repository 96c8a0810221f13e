"""From noisy tables to a junction tree: what noise may have made is taken out before anything is fitted to it.

Everything here is a function of what was released. A search over trees uses all noise that filled impossible
cells, so that denoising is part of correctness.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from glassine.learners.summaries.junction_tree import JunctionTree
from glassine.learners.summaries.merging import margins
from glassine.learners.summaries.released import Released

# The constants were set on Adult; no guarantee rests on them.

GONE = (2.0, 1 / 3)
"""A cell is empty whose noisy count is below so many standard deviations, and below this share of independence."""

SWEEPS = 25
"""Rounds of iterative proportional fitting: margins then agree to a thousandth."""

Array = npt.NDArray[np.float64]


@lru_cache(maxsize=32)
def junction_tree(released: Released) -> JunctionTree:
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
