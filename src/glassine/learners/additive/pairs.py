"""Terms of two attributes: coarse bins, cells, noisy joint counts, and priors that hold interactions only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from glassine.learners.additive.grids import Axis, counted_once
from glassine.learners.additive.published_scores import Frame, within
from glassine.learners.additive.smoothing import TermCells, random_walk
from glassine.learners.additive.targets import Base
from glassine.models import Term
from glassine.records.arrays import Array, Ints
from glassine.sealed.gains import gain_reach
from glassine.sealed.gaussian import SumsOracle
from glassine.sealed.noisy_sums import Portion, SumsRelease
from glassine.sealed.released_bins import Terms
from glassine.sealed.residuals import GainsOfPairs, PairCounts

ROUGHNESS = (0.03, 0.2, 0.6, 0.95)
"""As for one attribute, the shares of the prior variance that are each bin's own."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Pair:
    """Two terms and their coarse bins."""

    # first, second: the terms.
    first: int
    second: int
    axes: tuple[Axis, Axis]  # The coarse bins of each
    groups: tuple[Ints, Ints]  # Coarse bin of each bin of each

    @classmethod
    def of(cls, axes: Sequence[Axis], first: int, second: int, most: int) -> Pair:
        """Return a pair of terms with at most so many coarse bins each, and one for missing values."""
        (left, ours), (right, others) = coarser(axes[first], most), coarser(axes[second], most)
        return cls(first=first, second=second, axes=(left, right), groups=(ours, others))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of coarse bins of each."""
        return self.axes[0].n_bins, self.axes[1].n_bins

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.axes[0].n_bins * self.axes[1].n_bins

    @property
    def names(self) -> tuple[str, str]:
        """The two attributes."""
        return self.axes[0].grid.attribute, self.axes[1].grid.attribute

    @property
    def shares(self) -> tuple[Array, Array]:
        """Released share of the records in each coarse bin of each."""
        return _shares(self.axes[0]), _shares(self.axes[1])


def _shares(axis: Axis) -> Array:
    counts = np.maximum(axis.counts, 1.0)
    return np.asarray(counts / counts.sum())


def coarser(axis: Axis, most: int) -> tuple[Axis, Ints]:
    """Return an axis of at most so many bins, and the coarse bin of each bin.

    Neighbouring bins of a number are joined until each has about the same noisy count; those of special codes and for
    missing values stay alone. Of a category the largest bins stay alone, and all others are one.

    Guarantee
    ---------
    none: a function of released counts.
    """
    counts = np.maximum(axis.counts, 0.0)
    groups = np.arange(axis.n_bins)
    if axis.ordered:
        ordered = axis.n_ordered
        groups[:ordered] = _even_runs(counts[:ordered], most)
        groups[ordered:] = groups[ordered - 1] + 1 + np.arange(len(groups) - ordered)
    elif axis.n_bins > most:
        largest = np.sort(np.argsort(-counts, kind="stable")[: most - 1])
        groups[:] = most - 1
        groups[largest] = np.arange(most - 1)
    merged: Array = np.bincount(groups, weights=axis.counts).astype(np.float64)
    spread: Array = np.bincount(groups, weights=axis.variances).astype(np.float64)
    return Axis(grid=axis.grid, bin_of=groups[axis.bin_of], counts=merged, variances=spread), groups


def _even_runs(counts: Array, most: int) -> Ints:
    """Return runs of neighbours of about equal count, at most so many."""
    if len(counts) <= most:
        return np.arange(len(counts))
    out = np.zeros(len(counts), dtype=np.int64)
    run, inside, left = 0, 0.0, float(counts.sum())
    for i, count in enumerate(counts.tolist()):
        if inside > 0 and run < most - 1 and inside + count / 2 >= left / (most - run):
            left -= inside
            run, inside = run + 1, 0.0
        out[i] = run
        inside += count
    return out


def cells_of_pair(pair: Pair, counts: Array) -> TermCells:
    """Return what the fit knows of a pair: cells, and priors under which a score is zero on average along either."""
    # Shapes: counts (cells,).
    rough = ROUGHNESS if any(axis.ordered and axis.n_ordered >= 3 for axis in pair.axes) else (1.0,)
    covariances: list[Array | None] = []
    for share in rough:
        product = np.kron(_centred(pair.axes[0], share), _centred(pair.axes[1], share))
        covariances.append(
            np.asarray(product * (len(product) / max(float(np.trace(product)), 1e-300)), dtype=np.float64)
        )
    return TermCells(counts=counts, covariances=tuple(covariances))


def _centred(axis: Axis, share: float) -> Array:
    """Return the prior covariance along one of the attributes, of scores whose weighted mean is zero."""
    size, shares = axis.n_bins, _shares(axis)
    covariance = np.eye(size)
    if axis.ordered and axis.n_ordered >= 3:
        covariance = share * covariance + (1 - share) * random_walk(shares, axis.n_ordered)
    centring = np.eye(size) - np.outer(np.ones(size), shares)
    return np.asarray(centring @ covariance @ centring.T)


def terms_of_pairs(
    pairs: Sequence[Pair], counts: Sequence[Array], scores: Sequence[Array], errors: Sequence[Array], frame: Frame
) -> tuple[Term, ...]:
    """Return the published terms of pairs, in units of the target."""
    factor = frame.target.scale[0]
    terms = []
    for pair, weight, score, error in zip(pairs, counts, scores, errors, strict=True):
        (left, ours), (right, others) = (axis.published() for axis in pair.axes)
        at = np.ix_(ours, others)
        there, own = np.outer(ours >= 0, others >= 0), np.outer(counted_once(ours), counted_once(others))
        shape = (*pair.shape, score.shape[-1])
        terms.append(
            Term(
                bins=(left, right),
                scores=np.where(there[..., None], within(score, frame.target).reshape(shape)[at], 0.0) * factor,
                errors=frame.errors(np.where(there[..., None], error.reshape(shape)[at], 0.0) * factor),
                weights=np.where(own, weight.reshape(pair.shape)[at], 0.0),
            )
        )
    return tuple(terms)


# The private choice of pairs: noisy scores of what the cells of two attributes would explain, and joint counts.


# The constants of the choice were set on California and Adult; no other data confirm them: docs/papers/dp-ebm.md.

COARSE = 8
"""Bins of each attribute for the choice."""

SCORE = 0.15
"""Largest score of a cell that counts for the choice, relative to the clip."""

CANDIDATES = 15
"""Pairs that are compared: those of the terms that matter most so far; more where more are asked for."""

WORTH = 2.0
"""A pair is taken by the rule if its gain exceeds so many times what chance gives, beside what noise does."""

PROOF = "learners/additive/penalized.md"


def candidates(
    axes: Sequence[Axis], scores: Sequence[Array], wanted: int, barred: Collection[str]
) -> list[tuple[int, int]]:
    """Return the pairs of terms to compare, from the released scores so far.

    Guarantee
    ---------
    none: a function of released scores.
    """
    matters = []
    for axis, score in zip(axes, scores, strict=True):
        shares = np.maximum(axis.counts, 0.0)
        centre = shares @ score / max(float(shares.sum()), 1e-300)
        matters.append(float((shares @ np.abs(score - centre)).sum()))
    order = [k for k in np.argsort(-np.array(matters), kind="stable") if axes[k].grid.attribute not in barred]
    most = 2
    while most * (most - 1) // 2 < max(CANDIDATES, 2 * wanted):
        most += 1
    return list(combinations(sorted(int(k) for k in order[:most]), 2))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Gains:
    """Noisy gains of pairs."""

    pairs: tuple[tuple[int, int], ...]  # The pairs of terms
    values: Array  # Noisy gains, in squares of the clip; shape (pairs,)
    deviation: float  # Standard deviation of their noise

    def best(self, number: int) -> list[tuple[int, int]]:
        """Return the pairs with the largest noisy gains."""
        return [self.pairs[i] for i in np.argsort(-self.values, kind="stable")[:number]]

    def clear(self, most: int, deviations: float, by_chance: Array) -> list[tuple[int, int]]:
        """Return at most so many pairs whose gain stands out from chance, by so many deviations of the noise."""
        # Shapes: by_chance (pairs,).
        stands_out = self.values > deviations * self.deviation + WORTH * by_chance
        order = np.argsort(-self.values, kind="stable")
        return [self.pairs[i] for i in order if stands_out[i]][:most]


def release_gains(oracle: SumsOracle, portion: Portion, question: GainsOfPairs) -> Gains:
    """Release the gains of all candidates.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise: a gain moves by at most four times
    ``SCORE``; see ``penalized.md``.
    """
    number = len(question.pairs)
    release = SumsRelease(name="gains of pairs", squared=question.squared, values=number, proof=PROOF)
    drawing, reach = oracle.release(release, portion), float(gain_reach(question.score))
    return Gains(
        pairs=tuple((pair.first, pair.second) for pair in question.pairs),
        values=drawing.ask(question) * (reach * drawing.units / (drawing.units - 2)),
        deviation=reach * drawing.deviation,
    )


def chance(pairs: Sequence[Pair], base: Base, clip: float) -> Array:
    """Return what the cells of pairs are expected to explain by chance, in squares of the clip."""
    return np.array([pair.n_cells for pair in pairs]) * (float(base.spreads.sum()) / clip**2)


def release_counts(
    oracle: SumsOracle, portion: Portion, terms: Terms, pairs: tuple[Pair, ...], outputs: int
) -> tuple[list[Array], list[Array]]:
    """Release the joint counts of pairs; return them, and what is not below their noise.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise: a record adds 1 to one count of each
    pair; see ``penalized.md``.
    """
    question = PairCounts(terms=terms, pairs=pairs, outputs=outputs)
    sizes = [pair.n_cells for pair in pairs]
    release = SumsRelease(
        name="numbers of records in cells of pairs", squared=question.squared, values=sum(sizes), proof=PROOF
    )
    drawing = oracle.release(release, portion)
    parts = np.split(drawing.ask(question), np.cumsum(sizes)[:-1])
    least = max(drawing.deviation, 1.0)
    return parts, [np.maximum(part, least) for part in parts]
