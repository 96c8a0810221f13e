"""What follows for membership from the counts of leaves alone: an expected advantage, and outcomes made certain.

Nothing here reads a record or a domain: the counts that a model publishes, or its publisher states, are enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassine.records.arrays import Array

RULE_OF_THREE = 3
"""Of an outcome that n records do not show, at most 3 / n of the population may have it, at 95 % confidence."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A figure, or the bounds between which it lies.

    Attributes
    ----------
    lower, upper : float
        Equal where the figure is known.
    """

    lower: float
    upper: float

    @property
    def exact(self) -> bool:
        """Whether the figure is known."""
        return self.lower == self.upper


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomeCounts:
    """Records, or people, of each outcome in each leaf or rule, as far as they are known.

    Attributes
    ----------
    lower, upper : ndarray of float, shape (parts, outcomes)
        Bounds on the count of each outcome in each part; equal where counts are exact, rounded counts lie between.
        Where only sizes are known, there is one column, which holds them.
    n_outcomes : int
        Number of outcomes: 1 for a regression, of which a leaf has no counts of outcomes.
    """

    lower: Array
    upper: Array
    n_outcomes: int

    @property
    def by_outcome(self) -> bool:
        """Whether the counts of outcomes are known, and not the sizes of leaves alone."""
        return int(self.lower.shape[1]) == self.n_outcomes

    @property
    def exact(self) -> bool:
        """Whether counts are known exactly."""
        return bool((self.lower == self.upper).all())

    @property
    def sizes(self) -> tuple[Array, Array]:
        """Bounds on the size of each part, shape (parts,) each."""
        return self.lower.sum(axis=1), self.upper.sum(axis=1)


def implied_advantage(counts: OutcomeCounts) -> Bounds:
    """Return the membership advantage that the counts imply on average, `A`.

    ``A = sum_jk sqrt(p_jk (1 - p_jk) / (2 pi n))`` for the share p_jk of outcome k in leaf j among n records. It is the
    expectation of the total variation between members and population over the cells (leaf, outcome), which no attack on
    the cell of a record exceeds on average. Trees fit their data, so that measured advantages are larger: by a factor
    of 1.26 in the median.

    **Guarantee**: of cells fixed without the data, up to the normal approximation (`implied.md`); none for cells that
    the same data chose.

    Examples
    --------
    >>> exact = np.array([[40.0, 25.0], [20.0, 45.0]])
    >>> round(implied_advantage(OutcomeCounts(lower=exact, upper=exact, n_outcomes=2)).upper, 3)
    0.059
    """
    lower, upper = counts.lower, counts.upper
    if not counts.by_outcome:
        # The root of p (1 - p) is concave: equal shares have the largest sum, leaves of one outcome the smallest.
        even = implied_advantage(
            OutcomeCounts(
                lower=np.repeat(lower / counts.n_outcomes, counts.n_outcomes, axis=1),
                upper=np.repeat(upper / counts.n_outcomes, counts.n_outcomes, axis=1),
                n_outcomes=counts.n_outcomes,
            )
        )
        pure = implied_advantage(OutcomeCounts(lower=lower, upper=upper, n_outcomes=1))
        return Bounds(pure.lower, even.upper)
    fewest, most = float(lower.sum()), float(upper.sum())
    if not fewest > 0:
        return Bounds(0.0, 1.0)
    # The smallest and the largest share that a cell can have: its own bound against the opposite one of all others.
    least = lower / np.maximum(lower + most - upper, 1e-300)
    greatest = upper / (upper + fewest - lower)
    ends = np.stack([_deviation(least), _deviation(greatest)])
    highest = np.where((least <= 0.5) & (greatest >= 0.5), 0.5, ends.max(axis=0))
    low = float(ends.min(axis=0).sum()) / math.sqrt(2 * math.pi * most)
    # Of K cells, equal shares have the largest sum: K times the deviation of 1 / K, which is the root of K - 1.
    high = min(float(highest.sum()), math.sqrt(max(0, lower.size - 1))) / math.sqrt(2 * math.pi * fewest)
    return Bounds(low, low) if counts.exact and high < 1 else Bounds(min(low, 1.0), min(high, 1.0))


FIT = {"additive model": 0.55, "additive model without counts": 0.35, "regression": 0.64, "ensemble": 1.6}
"""By kind of model, advantage over the root of the law below: calibrated, so that one limit stands for every kind."""


def advantage_of_parameters(per_record: float, kind: str, spread: float = 1.0) -> float:
    """Return the membership advantage that fitted values imply, of effective parameters per record.

    ``A = k sqrt(q v / (2 pi))``: an attack on a fitted value has a signal of h, what a record's own outcome weighs in
    it, against a noise of about the root of h, and q is the mean of h. Leaves have the same law by their counts, where
    k is 1. Bins of an additive model that hold shares p of n records have ``q = sum (1 - p) / n``, a regression its
    parameters per record; under a penalty, :func:`effective_parameters`. Of averaged trees q is the mean of their
    leaves per record, of boosted ones ``1 - prod_t (1 - rate leaves_t / n)``: averaging removes the noise around a
    member and not the member, hence the larger k.

    **Guarantee**: none; k is calibrated on measured advantages. Of a linear regression with normal errors it is at most
    0.80, to first order in q (`implied.md`).

    Parameters
    ----------
    per_record : float
        Effective parameters per record, q >= 0.
    kind : str
        Kind of model, a key of :data:`FIT`, which gives k.
    spread : float, default=1.0
        Spread v of the outcome, in [0, 1]: 4 e (1 - e) for an error e on a holdout; 1 for a number.

    Examples
    --------
    >>> round(advantage_of_parameters(0.1, "additive model"), 3)
    0.069
    >>> round(advantage_of_parameters(0.075, "regression"), 3)
    0.07
    """
    return min(1.0, FIT[kind] * math.sqrt(per_record * spread / (2 * math.pi)))


def effective_parameters(design: Array, weights: Array, penalty: Array) -> float:
    """Return the effective parameters of a penalized fit, trace(H (H + R)^-1) of its information H.

    Parameters
    ----------
    design : ndarray, shape (n, p)
        The columns, the intercept among them.
    weights : ndarray, shape (n,)
        Variance of each record's outcome at its fitted value: 1 for a number, p (1 - p) for two classes.
    penalty : ndarray, shape (p,)
        Diagonal of R, the second derivative of half the penalty; 0 for columns without one.

    Examples
    --------
    >>> effective_parameters(np.ones((4, 1)), np.ones(4), np.array([4.0]))
    0.5
    """
    information = (design * weights[:, None]).T @ design
    solved: Any = np.linalg.lstsq(information + np.diag(penalty), information, rcond=None)[0]
    return float(np.trace(solved))


def _deviation(shares: Array) -> Array:
    """Return the standard deviation of one draw that has each share as its probability."""
    return np.sqrt(np.clip(shares * (1 - shares), 0, None))


def made_certain(counts: OutcomeCounts) -> Bounds:
    """Return of how many the outcome is certain only because they are members, by an upper estimate.

    Everyone in a leaf of one outcome is said to have it. By the rule of three, at most 3 / C of the population behind C
    records may have another outcome, so about ``min(C, 3)`` of them are certain beyond what the population shows.

    Examples
    --------
    >>> exact = np.array([[2.0, 0.0], [0.0, 30.0], [12.0, 40.0]])
    >>> made_certain(OutcomeCounts(lower=exact, upper=exact, n_outcomes=2))
    Bounds(lower=5.0, upper=5.0)
    """
    lower, upper = counts.lower, counts.upper
    surely = ((lower > 0).sum(axis=1) == 1) & ((upper > 0).sum(axis=1) == 1)
    possibly = ((lower > 0).sum(axis=1) <= 1) & (upper.sum(axis=1) > 0)
    # A possibly pure leaf is of the outcome that it surely holds; without one, of any.
    holds = np.where(lower > 0, upper, np.where((lower > 0).any(axis=1, keepdims=True), 0, upper)).max(axis=1)
    return Bounds(
        float(np.minimum(lower.sum(axis=1), RULE_OF_THREE)[surely].sum()),
        float(np.minimum(holds, RULE_OF_THREE)[possibly].sum()),
    )
