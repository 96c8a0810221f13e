"""Losses of trees and rule lists: what a record costs in a leaf, by the leaf's value and the record's class.

A loss is a finite grid of leaf values, public or released before the draw, and a table of costs in whole numbers.
Errors alone are one loss: a value for each class, of cost one for every other class. A number is a record of many
parts, some of an upper and the others of a lower class, and its squared error is a cost of these. See ``losses.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glassine.models.evidence import with_mode
from glassine.privacy.budget_rules import BudgetRule
from glassine.records.arrays import Array, Indices, Ints

UNITS = 1024
"""Units into which the largest cost is divided. With 64 the Adult trees of depth 4 rank visibly worse (AUROC 0.818)."""

STEP = 0.5
"""Distance of neighboring values in log-odds: finer grids cost more in the draw than they gain."""

MOST_STEPS = 8
"""Most values on a ray of the grid: beyond, they lie further from each other. Public, so that the class is bounded."""

MOST_VALUES = 64
"""Values of a grid for many classes; each class has one at least."""

WIDTH = BudgetRule(knots=((150.0, 1.0), (3000.0, 2.0)))
"""By the rarer records times epsilon: how far values lie from the base rate, in log-odds. Fewer records reveal less."""

SUMMIT = BudgetRule(knots=((2000.0, 1.0), (4500.0, 2.0)))
"""The same: how far each class reaches beyond even odds."""

FARTHEST = 3.0
"""How far from the base rate values lie to reach log-odds above 1: a rare class is seldom likely in a leaf."""

PRIOR_SPREAD = 0.6
"""Standard deviation of the probabilities of leaves about the base rate, in units of its variance p (1 - p)."""

PARTS = 255
"""Parts of a record whose target is a number: it is rounded to so many equal steps of its range, a byte."""

MEAN_SPREAD = 0.2
"""Standard deviation of the means of leaves about that of all records, as a share of the range of the target."""

EXACT = 2**53
"""Whole numbers up to which doubles, in which costs are kept, are exact."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeafCosts:
    """What a record of each class costs in a leaf of each value."""

    costs: Ints  # Cost of a record of class y in a leaf of value i, at least 0; shape (v, c)
    labels: tuple[int, ...]  # The class that a leaf of each value predicts, v of them
    # The class probabilities of each value; None where a value is a label alone; shape (v, c), or None.
    probabilities: Array | None = None
    # Log loss, in nats, that is worth the largest cost; infinite where errors alone cost.
    log_loss_range: float = float("inf")
    # How many parts a record counts as, each of one class: one, or ``PARTS`` where its target is a number.
    parts: int = 1

    def __post_init__(self) -> None:
        if self.costs.ndim != 2 or self.costs.dtype != np.int64 or self.costs.shape[0] != len(self.labels):
            raise ValueError("a loss needs a whole cost for each value and class, and a label for each value")
        if not (self.costs >= 0).all():
            raise ValueError("a cost must be at least 0, so that one more record never weighs for a model")

    @property
    def n_values(self) -> int:
        """Number of values that a leaf can have."""
        return len(self.costs)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.costs.shape[1])

    @property
    def counts_errors(self) -> bool:
        """Whether errors alone cost: the values of leaves are then classes."""
        return self.probabilities is None

    @property
    def count_spread(self) -> float:
        """Spread of the noise of a number of records, where the noise of each count of a class has 1."""
        # A number of records of many parts is the sum of the counts of two classes: the variances of their noise add
        # up.
        return 1.0 if self.parts == 1 else 2**0.5

    @property
    def values(self) -> Array:
        """The values of numbers as shares of their range, shape (v,): the probabilities of the upper class."""
        if self.probabilities is None or self.parts == 1:
            raise ValueError("the values of this loss are classes or their probabilities")
        return self.probabilities[:, 1]

    @property
    def unit(self) -> int:
        """The most that one part of a record can cost: the sensitivity of the cost of every model to a part."""
        return max(1, int(self.costs.max()))

    @classmethod
    def errors(cls, n_classes: int) -> LeafCosts:
        """Return the loss of errors alone: the values are the classes."""
        costs = 1 - np.eye(n_classes, dtype=np.int64)
        return cls(costs=costs, labels=tuple(range(n_classes)))

    @classmethod
    def widest(cls, n_classes: int, steps: int = MOST_STEPS) -> LeafCosts:
        """Return a stand-in of as many values as a grid can have, before the base rates are released."""
        n_values = 1 + n_classes * _steps(n_classes, steps)
        even = np.full((n_values, n_classes), 1 / n_classes)
        return cls(costs=np.zeros((n_values, n_classes), dtype=np.int64), labels=(0,) * n_values, probabilities=even)

    @classmethod
    def ranking(cls, rates: Array, strength: float, accuracy_share: float, *, steps: int = MOST_STEPS) -> LeafCosts:
        """Return log loss with a share of errors, over values about the base rates."""
        # Shapes: rates (c,).
        grid = log_odds_grid(rates, strength, steps)
        labels = grid.argmax(axis=1)
        surprise = -np.log(grid)
        # A minimum over the values, for each class, is the same for every model: it may be taken without privacy.
        surprise -= surprise.min(axis=0)
        errors = np.arange(len(rates)) != labels[:, None]
        raw = (1 - accuracy_share) * surprise / surprise.max() + accuracy_share * errors
        raw -= raw.min(axis=0)
        costs = np.rint(UNITS * raw / raw.max()).astype(np.int64)
        spread = float(surprise.max() * raw.max() / (1 - accuracy_share))
        return cls(costs=costs, labels=tuple(labels.tolist()), probabilities=grid, log_loss_range=spread)

    @classmethod
    def squares(cls, steps: int, *, ends: bool = False) -> LeafCosts:
        """Return squared error of a number, over values at equal steps of its range.

        A record whose target is the share y of its range has y parts of the upper class and 1 - y of the lower. A leaf
        of value v costs v^2 for a part of the lower class and (1 - v)^2 for one of the upper, less their minimum over
        the values: for the record (v - y)^2, up to what is the same for all values.

        Examples
        --------
        >>> LeafCosts.squares(2).costs.tolist(), LeafCosts.squares(2, ends=True).costs.tolist()
        ([[0, 80], [24, 24], [80, 0]], [[0, 4], [1, 1], [4, 0]])
        """
        values = np.arange(steps + 1, dtype=np.int64)
        whole = steps
        if not ends:
            values, whole = steps + 8 * values, 10 * steps
        shared = np.gcd.reduce([*values.tolist(), whole])
        values, whole = values // shared, whole // shared
        costs = np.column_stack([values**2, (whole - values) ** 2])
        shares = values / whole
        return cls(
            costs=costs - costs.min(axis=0),
            labels=tuple((shares > 0.5).astype(int).tolist()),
            probabilities=np.column_stack([1 - shares, shares]),
            parts=PARTS,
        )


def _steps(n_classes: int, steps: int) -> int:
    """Return the most values on each ray, so that many classes have no more than some values each."""
    return max(1, min(steps, (MOST_VALUES - 1) // n_classes))


def log_odds_grid(rates: Array, strength: float, steps: int = MOST_STEPS) -> Array:
    """Return class probabilities about base rates, shape (v, c): the rates, and a ray toward each class.

    On the ray toward a class its odds against each other class grow in equal steps, so that the other classes keep
    their proportions. It reaches as far as ``WIDTH`` and ``SUMMIT`` say, and at least to log-odds of 1 for the class
    against the commonest other one: every class can be predicted.

    Examples
    --------
    >>> log_odds_grid(np.array([0.75, 0.25]), 100.0)[:, 1].round(2).tolist()
    [0.27, 0.18, 0.12, 0.38, 0.5, 0.62, 0.73]
    """
    width, summit = WIDTH(strength), SUMMIT(strength)
    n_classes = len(rates)
    # Relative to the first class and in quarters, so that close base rates have one grid.
    logs = np.rint(4 * np.log(rates / rates[0])) / 4
    rows = [logs]
    for k in range(n_classes if n_classes > 1 else 0):
        gap = float(np.delete(logs, k).max() - logs[k])
        reach = max(width, 1.0 + gap, min(summit + gap, FARTHEST))
        number = min(_steps(n_classes, steps), max(1, round(reach / STEP)))
        rows += [logs + reach * i / number * (np.arange(n_classes) == k) for i in range(1, number + 1)]
    odds = np.exp(np.array(rows) - np.max(rows, axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def base_rates(counts: Ints | Array, scale: float = 0.0) -> Array:
    """Return the share of each class from counts, shape (c,), with noise of a scale or without."""
    # To each count the scale is added, at least one half of a record, so that no class seems impossible.
    smoothed = np.maximum(counts, 0) + max(0.5, scale)
    return np.asarray(smoothed / smoothed.sum())


def released_probabilities(
    counts: Ints | None, values: Indices, loss: LeafCosts, rates: Array, epsilons: tuple[float, float]
) -> tuple[tuple[float, ...], ...]:
    """Return the class probabilities of leaves, from all that was released of them.

    The mean of three estimates, weighted by their inverse variances: the shares of the noisy counts, the probabilities
    of the drawn value, and the base rates. The class that the value predicts stays a most probable one.

    Guarantee
    ---------
    Post-processing: what it reads was released or is public.
    """
    # counts: noisy class counts, (k, c), None for the probabilities of the drawn values alone; values: (k,), in the
    # grid of the loss; rates: (c,); epsilons: per record, of the draw and of the counts.
    if loss.probabilities is None:
        raise ValueError("the values of this loss are labels alone")
    drawn = loss.probabilities[values]
    means = drawn
    if counts is not None:
        means = _mean(np.maximum(counts, 0).astype(float), drawn, loss.log_loss_range, rates, epsilons)
    return tuple(
        _rounded(with_mode(mean / mean.sum(), loss.labels[value]), loss.labels[value])
        for mean, value in zip(means, values, strict=True)
    )


def _mean(counts: Array, drawn: Array, log_loss_range: float, rates: Array, epsilons: tuple[float, float]) -> Array:
    """Return the mean by inverse variances of the shares of counts, the drawn values and the base rates."""
    n = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(n, 1)
    draw, count = epsilons
    spread = rates * (1 - rates)
    # Variances: 2 / (e n)^2 of the noise and s / n of sampling; of the draw, by the curvature of log loss, s r / (e n).
    of_counts = (count * n) ** 2 / (2 + spread * n * count**2)
    of_draw = n / (spread * (1 + log_loss_range / draw))
    of_rates = 1 / (PRIOR_SPREAD * spread) ** 2
    total = of_counts + of_draw + of_rates
    return np.asarray((of_counts * shares + of_draw * drawn + of_rates * rates) / total)


def released_means(counts: Ints | None, values: Indices, loss: LeafCosts, epsilons: tuple[float, float]) -> Array:
    """Return the means of leaves, as shares of the range of the target, from all that was released of them.

    As for :func:`released_probabilities`: the mean of the shares of the noisy counts of parts, of the drawn values and
    of the share of all leaves together, by inverse variances.

    Guarantee
    ---------
    Post-processing: what it reads was released or is public.
    """
    # As there; counts are those of the parts of the lower and the upper class, (k, 2).
    grid = loss.values
    drawn = grid[values]
    if counts is None:
        return drawn
    draw, count = epsilons
    n = counts.sum(axis=1) / loss.parts
    shares = counts[:, 1] / np.maximum(counts.sum(axis=1), 1)
    overall = float(counts[:, 1].sum() / max(1, counts.sum()))
    # Variances: of the share of two counts with noise of variance 2 / e^2 each; of a draw, by the curvature of its
    # cost, (v - y)^2 over the width of the grid, and by a step s, s^2 / 12; of the means of leaves about that of all.
    step, curvature = float(np.diff(grid).max(initial=0.0)), 2 / max(float(np.ptp(grid)), 1e-9)
    of_counts = (count * n) ** 2 / (2 * (shares**2 + (1 - shares) ** 2))
    of_draw = 1 / (1 / np.maximum(draw * curvature * n, 1e-9) + step**2 / 12)
    of_all = 1 / MEAN_SPREAD**2
    return np.asarray((of_counts * shares + of_draw * drawn + of_all * overall) / (of_counts + of_draw + of_all))


def _rounded(shares: Array, mode: int) -> tuple[float, ...]:
    """Return probabilities of six decimals that add up to one, of which that of one class is the largest."""
    whole = np.maximum(np.floor(shares * 1e6).astype(np.int64), 1)
    whole[mode] = 10**6 - (whole.sum() - whole[mode])
    # A class as probable as the mode gives one step to it: the likeliest class predicts as the model.
    ties = (whole >= whole[mode]) & (np.arange(len(whole)) != mode)
    whole[ties] -= 1
    whole[mode] += int(ties.sum())
    return tuple((whole / 1e6).tolist())
