"""One release of all pairwise tables with the target, from which additive models are fitted as often as one likes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.compiling import AnyArray, compiled
from glassine.data.slices import Progress
from glassine.learners.additive.boosting import Interactions, check_interactions
from glassine.learners.additive.budget import Portion
from glassine.learners.additive.grids import Axis
from glassine.learners.additive.pairs import Pair, cells_of_pair, terms_of_pairs
from glassine.learners.additive.publishing import PAIR_BINS, Frame, Shapes, check_monotone, in_order, publish
from glassine.learners.additive.records import Binned, Tables
from glassine.learners.additive.smoothing import Smoother, cells_of
from glassine.learners.additive.targets import Base
from glassine.learners.budget import check_number
from glassine.models import AdditiveModel, Term
from glassine.privacy.accounting import DiscreteGaussianNoise
from glassine.privacy.fine_gaussian import FineNoise

__all__ = ["QUANTILES", "Marginals", "release_marginals"]

# Bins were tried on Adult, California and Pol, pairs on Adult, Telco and California: docs/papers/dp-ebm.md.

QUANTILES = 12
"""Bins of a number hold about one in so many records, so that the tables stay small."""

SWEEPS = 40
"""Rounds of fitting one term after the other; nothing is read from records, so that more cost time alone."""

BACKFITS = 30
"""Rounds in which both attributes of a table are fitted in turn."""

FARTHEST = 6.0
"""Largest size of what scores of both attributes add up to: a chance of one in four hundred."""

LEAST_CURVED = 0.01
"""Least variance of a class in a cell, that of a chance of one in a hundred: a step divides by it."""

CLEAR = 0.1
"""Least gain of twice the logarithm of the likelihood, for each record, for which the rule takes a pair."""

FLOOR = 0.1
"""Least eigenvalue of the correlations of bins: what is nearly the same is told apart no further."""

PROOF = "learners/additive/marginals.md"

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Marginals:
    """Noisy tables of every pair of attributes with the target.

    Guarantee: none by itself. The tables are released; every model that is fitted to them is post-processing.

    Attributes
    ----------
    axes : tuple of Axis
        The bins of each term.
    tables : dict of (int, int) to ndarray, shape (bins, bins, 1 + outputs)
        For each pair of terms the number of records in each cell, and the sums of the centred target.
    variance : float
        Variance of the noise in a count.
    target_variances : ndarray, shape (outputs,)
        Variance of the noise in a sum of the target.
    base : Base
        What is known of the target alone.
    frame : Frame
        What the models have in common: attributes, target, guarantee.
    """

    axes: tuple[Axis, ...]
    tables: Mapping[tuple[int, int], Array]
    variance: float
    target_variances: Array
    base: Base
    frame: Frame

    def fit(
        self, *, shrinkage: float = 1.0, monotone: Mapping[str, str] | None = None, interactions: Any = 0
    ) -> AdditiveModel:
        """Return an additive model; nothing is spent.

        Parameters
        ----------
        shrinkage : float, default=1.0
            Factor of the noise's variance that the penalty is set for: more shrinks and smooths more.
        monotone : mapping of str to {"increasing", "decreasing"}, optional
            Numbers whose scores must be in order.
        interactions : int, "auto" or sequence of pairs of str, default=0
            Pairs of attributes that get a term; they cost nothing here. "auto" takes one if its
            table is much likelier with the term than without.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of its range.
        """
        caution = check_number(shrinkage, "shrinkage", low=1e-6, high=1e6)
        directions = check_monotone(monotone, self.frame.domain, self.frame.target)
        wish = check_interactions(interactions, self.frame.domain, directions)
        shapes = self._fitted(caution, directions)
        return publish(self.axes, shapes, self.frame, self._pair_terms(wish, directions, caution))

    def _pair_terms(self, wish: Interactions, directions: Mapping[str, bool], caution: float) -> tuple[Term, ...]:
        """Return the terms of the pairs that are named, or stand out most."""
        if not wish.wanted:
            return ()
        named = {frozenset(pair) for pair in wish.named}
        fitted = []
        for j, k in self.tables:
            names = {self.axes[j].grid.attribute, self.axes[k].grid.attribute}
            # A pair that the rule takes must not undo an order that was asked for.
            if (frozenset(names) in named) if named else not names & set(directions):
                fitted.append(self._interaction(j, k, caution))
        if not named:
            fitted.sort(key=lambda term: -term.evidence)
            if wish.number is None:
                fitted = [term for term in fitted[:1] if term.evidence > CLEAR * self.base.n_records]
            else:
                fitted = fitted[: wish.number]
        return terms_of_pairs(
            [term.pair for term in fitted],
            [term.counts for term in fitted],
            [term.scores for term in fitted],
            [term.errors for term in fitted],
            self.frame,
        )

    def _interaction(self, j: int, k: int, caution: float) -> _Interaction:
        """Return what the table of a pair says beyond what both attributes add by themselves."""
        pair = Pair.of(self.axes, j, k, PAIR_BINS)
        table = np.zeros((*pair.shape, self.tables[j, k].shape[-1]))
        np.add.at(table, np.ix_(*pair.groups), self.tables[j, k])
        # Noise adds up where cells were joined.
        joined: Array = np.outer(*(np.bincount(groups) for groups in pair.groups)).astype(np.float64)
        counts = np.maximum(table[..., 0], np.maximum(np.sqrt(self.variance * joined), 1.0))
        shares = None if self.frame.target.classes is None else _shares(self.base)
        scores, errors, evidence = [], [], 0.0
        for c in range(len(self.base.start)):
            sums, curved = _beyond_both(table[..., 1 + c], counts, None if shares is None else float(shares[c]))
            noise: Array = joined.reshape(-1) * float(self.target_variances[c])
            weight = float(self.base.weights[c])
            # Of classes the curvature differs from cell to cell.
            smoother = Smoother(
                cells_of_pair(pair, curved.reshape(-1) / weight),
                weight=weight,
                noise=noise,
                final=caution * noise,
                spread=float(self.base.spreads[c]),
            )
            score = smoother.scores(sums.reshape(-1), 1.0)
            scores.append(score - np.outer(*pair.shares).reshape(-1) @ score)
            errors.append(smoother.deviations(noise))
            evidence += smoother.evidence(sums.reshape(-1), 1.0)
        return _Interaction(
            pair=pair,
            counts=table[..., 0].reshape(-1),
            scores=np.stack(scores, axis=1),
            errors=np.stack(errors, axis=1),
            evidence=evidence,
        )

    def _fitted(self, caution: float, directions: Mapping[str, bool]) -> Shapes:
        outputs = len(self.base.start)
        margins, noises = self._margins()
        classes = self.frame.target.classes is not None
        smoothers = [
            [
                Smoother(
                    cells_of(axis),
                    weight=1.0,
                    noise=float(noises[k, c]),
                    final=caution * float(noises[k, c]),
                    spread=float(self.base.spreads[c]),
                )
                for c in range(outputs)
            ]
            for k, axis in enumerate(self.axes)
        ]
        joint = self._dependence()
        ends = np.cumsum([0, *(axis.n_bins for axis in self.axes)])
        scores = [np.zeros((axis.n_bins, outputs)) for axis in self.axes]
        for _ in range(SWEEPS):
            for k, axis in enumerate(self.axes):
                # What the other terms explain of the sums in this term's bins, by the released joint counts.
                rest = joint[ends[k] : ends[k + 1]] @ np.concatenate(scores)
                up = directions.get(axis.grid.attribute)
                for c in range(outputs):
                    sums = margins[k][:, c] - rest[:, c]
                    # The intercept is the base's: a term says only how its bins differ.
                    sums = sums - sums.sum() * smoothers[k][c].counts / smoothers[k][c].counts.sum()
                    new = smoothers[k][c].scores(sums, 1.0)
                    scores[k][:, c] = new if up is None else in_order(new, axis.counts, axis, up)
        errors = [
            np.stack([s.deviations() * math.sqrt(float(noises[k, c])) for c, s in enumerate(row)], axis=1)
            for k, row in enumerate(smoothers)
        ]
        if not classes:
            return Shapes(scores=tuple(scores), errors=tuple(errors), intercept=self.base.start)
        return self._as_odds(scores, errors, margins, joint)

    def _margins(self) -> tuple[list[Array], Array]:
        """Return the sums of the target in each term's bins, from all its tables, and the variance of their noise."""
        outputs, terms = len(self.base.start), range(len(self.axes))
        margins, noises = [], np.zeros((len(self.axes), outputs))
        for k in terms:
            total, precision = np.zeros((self.axes[k].n_bins, outputs)), 0.0
            for j in terms:
                if j != k:
                    table = self.tables[min(j, k), max(j, k)][..., 1:]
                    # Every table with the term tells its margin; one over fewer cells does so with less noise, and
                    # weighs more.
                    total += table.sum(axis=1 if k < j else 0) / self.axes[j].n_bins
                    precision += 1.0 / self.axes[j].n_bins
            margins.append(total / precision)
            noises[k] = self.target_variances / precision
        return margins, noises

    def _dependence(self) -> Array:
        """Return the joint counts of all bins, shape (all bins, all bins), without those of a term with itself.

        What noise may explain is taken out pair by pair; then correlations are made possible ones.
        """
        counts = np.concatenate([np.maximum(axis.counts, 1.0) for axis in self.axes])
        ends = np.cumsum([0, *(axis.n_bins for axis in self.axes)])
        parts = [slice(a, b) for a, b in pairwise(ends.tolist())]
        roots, n = np.sqrt(counts), max(self.base.n_records, 1.0)
        excess = np.eye(len(counts))
        for (j, k), table in self.tables.items():
            left, right = roots[parts[j]], roots[parts[k]]
            residual = table[..., 0] / np.outer(left, right) - np.outer(left, right) / n
            # Singular values of pure noise stay below about the sum of the roots of both sizes: what is smaller is
            # taken for noise, what is larger shrinks by it.
            u, s, v = np.linalg.svd(residual, full_matrices=False)
            level = math.sqrt(self.variance * float(np.mean(1 / np.outer(left, right) ** 2)))
            level *= math.sqrt(len(left)) + math.sqrt(len(right))
            kept = np.minimum(np.sqrt(np.maximum(s**2 - level**2, 0.0)), 1.0)
            excess[parts[j], parts[k]] = (u * kept) @ v
            excess[parts[k], parts[j]] = excess[parts[j], parts[k]].T
        # Noise may leave a matrix of correlations with negative eigenvalues, with which the fit would diverge.
        values, vectors = np.linalg.eigh(excess)
        excess = (vectors * np.maximum(values, FLOOR)) @ vectors.T
        size = np.sqrt(np.diag(excess))
        joint = excess / np.outer(size, size) * np.outer(roots, roots) + np.outer(counts, counts) / n
        for part in parts:
            joint[part, part] = 0.0
        return np.asarray(joint)

    def _as_odds(self, scores: list[Array], errors: list[Array], margins: list[Array], joint: Array) -> Shapes:
        """Return linear scores of classes as log-odds, as in linear discriminant analysis."""
        n, weights = self.base.n_records, self.base.weights
        flat, sums = np.concatenate(scores), np.concatenate(margins)
        counts = np.concatenate([np.maximum(axis.counts, 1.0) for axis in self.axes])
        variance = np.maximum((flat * (joint @ flat + counts[:, None] * flat)).sum(axis=0) / n, 1e-12)
        # The slope of the target on the linear score, then the odds that follow from equal variances.
        slope = np.clip((flat * sums).sum(axis=0) / n / variance, 0.0, 2.0)
        explained = np.minimum(slope**2 * variance, 0.6 * weights)
        factor = slope / (weights - explained)
        shares = _shares(self.base)
        middle = 0.5 * explained * (1 / shares - 1 / (1 - shares)) / (weights - explained)
        return Shapes(
            scores=tuple(score * factor for score in scores),
            errors=tuple(error * factor for error in errors),
            intercept=self.base.start - middle,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class _Interaction:
    """What a pair's table says: scores and their errors, and how much likelier the table is with them."""

    pair: Pair
    counts: Array
    scores: Array
    errors: Array
    evidence: float


def _beyond_both(sums: Array, counts: Array, share: float | None) -> tuple[Array, Array]:
    """Return the sums of a table less what scores of both attributes explain of them, and the curvature of its cells.

    Scores of both attributes add up to a number, or to the log-odds of a class of the given share.
    """
    rows, columns = np.zeros((len(counts), 1)), np.zeros((1, counts.shape[1]))
    left, curved = sums, counts
    # Rows and columns in turn: a score of each attribute alone takes what it can, and what is left is the pair's own.
    for half in range(2 * BACKFITS):
        if half % 2:
            columns = columns + left.sum(axis=0, keepdims=True) / curved.sum(axis=0, keepdims=True)
        else:
            rows = rows + left.sum(axis=1, keepdims=True) / curved.sum(axis=1, keepdims=True)
        added = np.clip(rows + columns, -FARTHEST, FARTHEST)
        if share is None:
            left = sums - counts * added
            continue
        chance = 1.0 / (1.0 + (1.0 - share) / share * np.exp(-added))
        left, curved = sums - counts * (chance - share), counts * np.maximum(chance * (1.0 - chance), LEAST_CURVED)
    return np.asarray(left), np.asarray(curved)


@compiled
def _pair(left: AnyArray, right: AnyArray, first: AnyArray, second: AnyArray, out: AnyArray) -> None:
    # left, right: (n,); out: (bins, bins, channels): count and sum of a number, or the count of each class.
    # ``second`` is empty for classes.
    for i in range(len(left)):
        if len(second):
            out[left[i], right[i], 0] += second[i]
            out[left[i], right[i], 1] += first[i]
        else:
            out[left[i], right[i], first[i]] += 1


def release_marginals(
    counted: Binned | Tables,
    axes: Sequence[Axis],
    *,
    base: Base,
    frame: Frame,
    portion: Portion,
    progress: Progress | None,
) -> tuple[Marginals, DiscreteGaussianNoise]:
    """Release the tables of all pairs of terms.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise: in each pair's table a record is in one
    cell, where it adds 1 to the count of its class; or 1 to the count, and its target to a sum. See
    ``marginals.md``.

    Parameters
    ----------
    counted : Binned, or mapping of (int, int) to ndarray of int64
        The records in the bins, with their targets in [-1, 1] or indices of classes; or, of classes, the exact number
        of records of each in each cell of each pair of terms.
    axes : sequence of Axis
        The released bins, of at least two terms.
    base, frame
        What the fits need besides.
    portion : Portion
        What it may cost.
    progress : callable or None
        Called with the tables done and in all.
    """
    pairs = list(combinations(range(len(axes)), 2))
    classes = frame.target.classes
    # A record is in one cell of each table, to which it adds one count; of numbers, a sum of at most 1 besides.
    noise = FineNoise.of(portion.mu, len(pairs) * (1 if classes is not None else 2))
    channels = 2 if classes is None else len(classes)
    ones = first = np.zeros(0, dtype=np.int64)
    if isinstance(counted, Binned):
        first = np.rint(counted.values * noise.units).astype(np.int64) if classes is None else counted.values
        ones = np.full(len(first), noise.units, dtype=np.int64) if classes is None else ones
    tables, drawn = {}, 0
    for done, (j, k) in enumerate(pairs):
        if isinstance(counted, Binned):
            exact = np.zeros((axes[j].n_bins, axes[k].n_bins, channels), dtype=np.int64)
            _pair(counted.codes[j], counted.codes[k], first, ones, exact)
        else:
            exact = counted[j, k]
        noisy = noise.release(exact if classes is None else exact * noise.units, portion.randomness)
        tables[j, k] = _centred(noisy, base, classes is not None)
        drawn += exact.size
        if progress is not None:
            progress(done + 1, len(pairs))
    event = portion.event("tables of all pairs with the target", noise, drawn, proof=PROOF)
    variance = noise.deviation**2
    if classes is None:
        counts, targets = variance, variance * (1 + base.start**2)
    else:
        shares = _shares(base)
        counts = variance * channels
        targets = variance * ((1 - shares) ** 2 + shares**2 * (channels - 1))
    return (
        Marginals(axes=tuple(axes), tables=tables, variance=counts, target_variances=targets, base=base, frame=frame),
        event,
    )


def _shares(base: Base) -> Array:
    """Return the released share of each output's class."""
    if len(base.start) == 1:
        return np.asarray(1.0 / (1.0 + np.exp(-base.start)))
    return np.asarray(np.exp(base.start) / np.exp(base.start).sum())


def _centred(noisy: Array, base: Base, classes: bool) -> Array:
    """Return a table's counts, and its sums of the target less what the base rate explains."""
    if not classes:
        return np.stack([noisy[..., 0], noisy[..., 1] - base.start[0] * noisy[..., 0]], axis=-1)
    total = noisy.sum(axis=-1, keepdims=True)
    own = noisy[..., 1:] if len(base.start) == 1 else noisy
    return np.concatenate([total, own - _shares(base) * total], axis=-1)
