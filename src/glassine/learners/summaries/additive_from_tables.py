"""Additive models from a summary: what its tables and rounds say of the scores, over representative records.

Each table, and each round, is a noisy measurement of how many records of a class are in each bin, which the scores must
explain. The representative records say how these move with the scores. Scores have a Gaussian prior, whose variance
follows from the measurements (empirical Bayes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from glassine.compiling import compiled
from glassine.learners.additive.published_scores import Frame, Shapes, in_order, publish
from glassine.learners.additive.smoothing import random_walk
from glassine.learners.additive.targets import SMALLEST_SPREAD
from glassine.learners.summaries.junction_tree import JunctionTree
from glassine.learners.summaries.released import ReleasedSummary, Round
from glassine.models import AdditiveModel
from glassine.records.arrays import AnyArray, Array, Ints

DRAWS = 40_000
"""Representative records: their sampling adds less to a score than noise at epsilon 4 on thirty thousand records."""

# The constants below were set on Adult; no guarantee rests on them.

PRIOR = 0.5, (1e-3, 9.0)
"""Variance of the scores of an attribute before anything is measured, and the range that it stays in.

Scores of a number are in standard deviations of the target here."""

OWN = 0.3
"""Share of the prior variance of a number's bins that is their own; the rest varies smoothly along the number."""

DOUBT = 0.02
"""Error of the tree's own sums, as a share of a bin's records, that tables are taken to have beside rounds."""

LEAST_RESIDUAL = 0.02
"""Least variance of a number's residuals, as a share of the target's variance: noise could make it vanish."""

STEPS, MOST_STEP = 8, 3.0
"""Newton steps, and the most that one moves a score: far from the solution they overshoot."""

DRIFT, LAST_DRIFT = 0.02, 0.01
"""By how much, as a share, the slopes of records may move before the curvature is formed again; for errors, at last."""

Fixed: TypeAlias = Mapping[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Representatives:
    """Records that stand for those of a summary, with the probabilities of their classes."""

    codes: Ints  # Merged bin of each attribute, shape (attributes, n)
    classes: Array  # Expected number of records of each class that each stands for, shape (n, classes)
    n_bins: tuple[int, ...]  # Number of bins of each attribute

    @property
    def totals(self) -> Array:
        """Expected records of each class, shape (classes,)."""
        return np.asarray(self.classes.sum(axis=0))

    def masses(self, weights: Sequence[Array | None]) -> Array:
        """Return the expected records of each class in regions, shape (regions, classes)."""
        return np.asarray(self._inside(weights).sum(axis=2).T)

    def tables(self, weights: Sequence[Array | None]) -> list[Array]:
        """Return the expected records in regions by each attribute's bins, shape (classes, regions, bins) each."""
        inside = self._inside(weights)
        used = inside.any(axis=(0, 1))
        inside = inside[..., used]
        return [
            np.array([[np.bincount(row, own, minlength=size) for own in of_class] for of_class in inside])
            for row, size in zip(self.codes[:, used], self.n_bins, strict=True)
        ]

    def _inside(self, weights: Sequence[Array | None]) -> Array:
        """Return how much of each record is in regions, shape (classes, regions, n); weights as of a junction tree."""
        out = self.classes.T[:, None]
        for row, weight in zip(self.codes, weights, strict=True):
            out = out if weight is None else out * weight[..., row]
        return out


# Those of a summary and of the ten replicates that an estimate draws by default, for every model that is asked about.
@lru_cache(maxsize=12)
def representatives(tree: JunctionTree) -> Representatives:
    """Return the records that stand for a tree's; classes by their exact probabilities rather than drawn."""
    codes = tree.draws(DRAWS)
    classes = tree.posteriors(codes) * (float(tree.totals.sum()) / DRAWS)
    return Representatives(codes=codes, classes=classes, n_bins=tree.n_bins)


def relabeled(released: ReleasedSummary, tree: JunctionTree) -> Representatives:
    """Return the representative records with the classes that the additive model expects: a tree of these distills it.

    The rounds corrected that model by the records, and not the junction tree.
    """
    # Called as for the additive model itself, so that both share what is cached.
    scores, _ = fitted_scores(released, tree, 1.0)
    records, design = representatives(tree), _design(released, tree)
    chances = design.means(scores)
    both = np.hstack([1.0 - chances, chances]) if chances.shape[1] == 1 else chances
    return replace(records, classes=design.totals * both)


def additive_model(
    released: ReleasedSummary, tree: JunctionTree, frame: Frame, *, shrinkage: float, monotone: Fixed
) -> AdditiveModel:
    """Return the additive model of a summary."""
    fitted, noise = fitted_scores(released, tree, shrinkage)
    flat, intercept, ends = fitted[:-1], fitted[-1], released.ends
    axes = [released.coarse[k] for k in released.useful]
    scores, errors = [], []
    for i, (k, own) in enumerate(zip(released.useful, axes, strict=True)):
        part = slice(ends[i], ends[i + 1])
        weights = np.bincount(representatives(tree).codes[k], minlength=own.n_bins) / DRAWS
        centered = flat[part] - weights @ flat[part]
        intercept = intercept + weights @ flat[part]
        up = monotone.get(own.grid.attribute)
        scores.append(centered if up is None else in_order(centered[:, 0], own.counts, own, up)[:, None])
        errors.append(noise[part])
    return publish(axes, Shapes(scores=tuple(scores), errors=tuple(errors), intercept=intercept), frame)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Design:
    """The representative records by the bins of the useful attributes.

    ``codes`` is of shape (attributes, n), ``ends`` of (attributes + 1,), ``totals`` of (n, 1). ``targets`` is the sum
    of a number over the records that each stands for, shape (n,), and None of classes; ``squares`` that of its squares
    over all, and ``scale`` its variance, 1 of classes.
    """

    codes: Ints
    ends: Ints
    totals: Array
    targets: Array | None
    squares: float
    scale: float

    def means(self, scores: Array) -> Array:
        """Return what scores make of each record, shape (n, outputs): a number, or probabilities of classes."""
        total = np.tile(scores[-1], (self.codes.shape[1], 1))
        for row in self.codes:
            total += scores[row]
        return total if self.targets is not None else _probabilities(total)

    def slopes(self, means: Array) -> Array:
        """Return by how much the sums of records that each stands for move with their scores, shape (n,)."""
        totals = self.totals[:, 0]
        return totals * means * (1 - means) if self.targets is None else totals

    def dispersion(self, means: Array) -> float:
        """Return the variance of a residual, relative to the slope of its mean."""
        if self.targets is None:
            return 1.0
        squares = self.squares - 2 * self.targets @ means + self.totals[:, 0] @ means**2
        return float(np.clip(squares / self.totals.sum(), LEAST_RESIDUAL * self.scale, self.scale))

    def sums(self, values: Array) -> Array:
        """Return the sums of values, shape (n, outputs), in each bin, and their total: (bins + 1, outputs)."""
        size = int(self.ends[-1])
        out = np.zeros((size + 1, values.shape[1]))
        for c, column in enumerate(values.T):
            for row in self.codes:
                out[:size, c] += np.bincount(row, weights=column, minlength=size)
        out[size] = values.sum(axis=0)
        return out

    def products(self, values: Array) -> Array:
        """Return the sums of one value a record in each pair of bins, each bin and over all: (bins + 1, bins + 1)."""
        size = int(self.ends[-1])
        out = np.zeros((size + 1, size + 1))
        _pair_sums(self.codes, values, out)
        out[size] = out[:, size] = np.append(out.diagonal()[:size], values.sum())
        return out

    def balanced(self, sums: Array, counts: Array, total: Array | None = None) -> Array:
        """Return sums by bin with the same total over each attribute, and that total: (bins + 1, outputs)."""
        # By default the total is the mean of the attributes', weighted by precision: few bins carry little noise.
        parts = [slice(*ends) for ends in pairwise(self.ends.tolist())]
        own = np.stack([sums[part].sum(axis=0) for part in parts])
        if total is None:
            total = np.average(own, axis=0, weights=1.0 / np.diff(self.ends))
        out = np.append(sums, total[None], axis=0)
        for part, excess in zip(parts, own - total, strict=True):
            out[part] -= counts[part, None] / counts[-1] * excess
        return out


@compiled
def _pair_sums(codes: AnyArray, values: AnyArray, out: AnyArray) -> None:  # pragma: no cover - compiled
    """Add the value of each record to each pair of its bins."""
    # codes: (attributes, n); the places of one record lie apart, and are gathered once for all of its pairs.
    n_attributes, n = codes.shape
    own = np.empty(n_attributes, dtype=np.int64)
    for r in range(n):
        value = values[r]
        for i in range(n_attributes):
            own[i] = codes[i, r]
        for i in range(n_attributes):
            row = out[own[i]]
            for j in range(i, n_attributes):
                row[own[j]] += value
    for i in range(len(out)):
        for j in range(i):
            out[i, j] = out[j, i]


class LoadedPairs:
    """The kernel of the products, for a plan that loads all of its kernels."""

    @staticmethod
    def load() -> None:
        """Load or compile it."""
        _pair_sums.load(np.zeros((1, 1), dtype=np.intp), np.zeros(1), np.zeros((1, 1)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Measured:
    """Records of each class in each bin, and in total, as measured once; variances of its noise and of other errors.

    ``target`` is of shape (bins + 1, outputs), the variances of (bins + 1,). Of a number, sums stand for records.
    """

    target: Array
    noise: Array
    doubt: Array | float = 0.0


@lru_cache(maxsize=4)
def fitted_scores(released: ReleasedSummary, tree: JunctionTree, shrinkage: float = 1.0) -> tuple[Array, Array]:
    """Return scores and intercept, shape (bins + 1, outputs), and standard deviations of their noise."""
    # The scores are linear in the measurements at each Newton step, so that their noise follows. Of several classes,
    # classes are taken one by one, and steps are shorter by as much as these overshoot together.
    intercept = _intercept(released, tree)
    if not released.useful:
        return intercept[None], np.zeros((1, len(intercept)))
    design = _design(released, tree)
    measured = _measurements(released, tree, design)
    shapes = [_prior_precision(released, k) for k in released.useful]
    scores = np.zeros((int(design.ends[-1]) + 1, len(intercept)))
    scores[-1] = intercept
    variances = np.full(len(shapes), PRIOR[0] * design.scale)
    curves: list[_Curve] | None = None
    for _ in range(STEPS):
        curves = _curves(design, measured, scores, curves)
        scores, _, variances = _stepped(design, measured, shapes, variances, scores, curves)
    # The prior's variance follows from the measurements alone, whatever shrinkage is asked for.
    for _ in range(STEPS if shrinkage != 1.0 else 0):
        curves = _curves(design, measured, scores, curves)
        scores, _, _ = _stepped(design, measured, shapes, variances / shrinkage, scores, curves)
    curves = _curves(design, measured, scores, curves, LAST_DRIFT)
    _, errors, _ = _stepped(design, measured, shapes, variances / shrinkage, scores, curves)
    return scores, errors


def _design(released: ReleasedSummary, tree: JunctionTree) -> _Design:
    records, ends = representatives(tree), released.ends
    return _Design(
        codes=records.codes[list(released.useful)] + ends[:-1, None],
        ends=ends,
        totals=records.classes.sum(axis=1, keepdims=True),
        targets=None if released.levels is None else records.classes @ released.levels,
        squares=0.0 if released.squares is None else released.squares[0],
        scale=variance_of(released, tree),
    )


def _intercept(released: ReleasedSummary, tree: JunctionTree) -> Array:
    """Return the intercept that all records have in common, shape (outputs,)."""
    if released.levels is not None:
        return np.asarray([tree.totals @ released.levels / tree.totals.sum()])
    base = np.log(np.maximum(tree.totals, 0.5) / tree.totals.sum())
    return np.asarray(base[1:] - base[0] if len(base) == 2 else base)


def variance_of(released: ReleasedSummary, tree: JunctionTree) -> float:
    """Return the variance of a target that is a number, in [-1, 1]; 1 of classes."""
    if released.squares is None or released.levels is None:
        return 1.0
    n_records = float(tree.totals.sum())
    mean = float(tree.totals @ released.levels) / n_records
    return min(max(released.squares[0] / n_records - mean**2, SMALLEST_SPREAD**2), 1.0)


def _measurements(released: ReleasedSummary, tree: JunctionTree, design: _Design) -> list[_Measured]:
    counts = design.sums(design.totals)[:, 0]
    tables, sizes = [], []
    for k in released.useful:
        rows = np.zeros((int(released.groups[k].max()) + 1, released.n_classes))
        np.add.at(rows, released.groups[k], released.tables[k])
        tables.append(rows)
        sizes.append(np.bincount(released.groups[k]))
    # What each class, or level, adds to each output.
    weights = np.eye(released.n_classes)[:, 1 if released.n_classes == 2 else 0 :]
    if released.levels is not None:
        weights = released.levels[:, None]
    variance = released.deviations[0] ** 2 * float((weights[:, 0] ** 2).sum())
    first = _Measured(
        target=design.balanced(np.concatenate(tables) @ weights, counts, tree.totals @ weights),
        noise=np.append(np.concatenate(sizes) * variance, variance),
        doubt=design.scale * (DOUBT * counts) ** 2 if released.rounds else 0.0,
    )
    return [first, *(_of_round(one, design, counts) for one in released.rounds)]


def _of_round(one: Round, design: _Design, counts: Array) -> _Measured:
    """Return what a round measured: what its model expected, and what the records were found to have beyond it."""
    expected = design.sums(design.totals * design.means(one.scores))
    variance = one.deviation**2
    noise = np.append(np.full(len(one.sums), variance), variance / (1.0 / np.diff(design.ends)).sum())
    return _Measured(target=expected + design.balanced(one.sums, counts), noise=noise)


def _prior_precision(released: ReleasedSummary, place: int) -> Array:
    """Return the inverse of the prior covariance of an attribute's scores, for a mean variance of one."""
    axis = released.coarse[place]
    covariance = np.eye(axis.n_bins)
    if axis.ordered and axis.n_ordered > 2:
        covariance = OWN * covariance + (1 - OWN) * random_walk(np.maximum(axis.counts, 1.0), axis.n_ordered)
    return np.asarray(np.linalg.inv(covariance))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Curve:
    """How the sums of one output move with its scores, (bins + 1, bins + 1), and what that gives each measurement."""

    slopes: Array  # Of the records, shape (n,)
    moves: Array
    gains: Sequence[AnyArray]


def _curves(
    design: _Design,
    measured: Sequence[_Measured],
    scores: Array,
    before: Sequence[_Curve] | None,
    most: float = DRIFT,
) -> list[_Curve]:
    """Return the curve of each output at some scores; that of a step before where it has not drifted."""
    # Most of the time goes into the products. A step needs the direction alone: where the next one starts, its sums are
    # those of its scores. Of a number the slopes never move, but the variance of its residuals does.
    out, means = [], design.means(scores)
    for c, own in enumerate(means.T):
        slopes = design.slopes(own)
        if before is not None and design.targets is None:
            drift = float(np.abs(slopes - before[c].slopes).sum())
            if drift <= most * float(slopes.sum()):
                out.append(before[c])
                continue
        # Sums of residuals move by the curvature with the scores; their sampling variance is the curvature as well, of
        # a number times the variance of its residuals.
        curvature = design.products(slopes) if before is None or design.targets is None else before[c].moves
        sampled = curvature * design.dispersion(own)
        gains = [np.linalg.solve(sampled + np.diag(one.noise + one.doubt + 1e-3), curvature) for one in measured]
        out.append(_Curve(slopes=slopes, moves=curvature, gains=gains))
    return out


def _stepped(
    design: _Design,
    measured: Sequence[_Measured],
    shapes: Sequence[Array],
    variances: Array,
    scores: Array,
    curves: Sequence[_Curve],
) -> tuple[Array, Array, Array]:
    """Return scores after a Newton step, the standard deviation of their noise, and the prior variances that fit."""
    size, outputs = int(design.ends[-1]), scores.shape[1]
    parts = [slice(*ends) for ends in pairwise(design.ends.tolist())]
    prior = np.zeros((size + 1, size + 1))
    for part, shape, variance in zip(parts, shapes, variances, strict=True):
        prior[part, part] = shape / variance
    means = design.means(scores)
    expected = design.sums(design.totals * means)
    wanted, errors = np.empty_like(scores), np.empty((size + 1, outputs))
    squares = np.zeros((len(parts), outputs))
    for c, curve in enumerate(curves):
        curvature, gains = curve.moves, curve.gains
        inverse = np.linalg.inv(prior + sum(curvature @ gain for gain in gains) + 1e-9 * np.eye(size + 1))
        moves = curvature @ scores[:, c] - expected[:, c]
        wanted[:, c] = inverse @ sum(
            gain.T @ (one.target[:, c] + moves) for gain, one in zip(gains, measured, strict=True)
        )
        noise = sum((inverse @ gain.T) ** 2 @ one.noise for gain, one in zip(gains, measured, strict=True))
        errors[:, c] = np.sqrt(noise)
        for i, (part, shape) in enumerate(zip(parts, shapes, strict=True)):
            own = wanted[part, c]
            squares[i, c] = (own @ shape @ own + np.trace(shape @ inverse[part, part])) / len(own)
    # Classes that are moved one by one move a probability once too often, all together.
    pace = 1.0 if outputs == 1 else 1.0 - 1.0 / outputs
    moved = scores + np.clip(pace * (wanted - scores), -MOST_STEP, MOST_STEP)
    return moved, errors, np.clip(squares.mean(axis=1) / design.scale, *PRIOR[1]) * design.scale


def _probabilities(total: Array) -> Array:
    """Return the probabilities of outputs for their scores, shape (n, outputs): of two classes that of the second."""
    if total.shape[1] == 1:
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(total, -30.0, 30.0))))
    odds = np.exp(total - total.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
