"""Sensitivities: the most that adding or removing one record changes a query, proved in the note."""

from __future__ import annotations

import math
from fractions import Fraction

from glassine.errors import InvalidMechanismError

# The smooth sensitivity of the weighted Gini impurity: Theorem IV.1 of the rule-list paper, and a form that holds.


ROUNDING = 1 + 2.0**-48
"""Factor that covers the rounding of the computed maximum."""


def local_gini(n: float) -> float:
    """Return g(n) = 1 - (n / (n + 1))**2 - (1 / (n + 1))**2 = 2 n / (n + 1)**2, the paper's local sensitivity."""
    return 2 * n / (n + 1) ** 2


def published_smooth_gini(n: int, min_support: int, beta: float) -> float:
    """Return the smooth sensitivity of Theorem IV.1: the largest exp(-beta k) g(max(support, n - k)) over k = 0, 1, ...

    The closed form compares k = 0, the two whole numbers next to the local maximum at t, and n - support, each brought
    into the range of k. As printed it is not: for n below the support, or t below 0, negative k enter it.

    Guarantee
    ---------
    none: the theorem's local sensitivity covers additions only; see ``sensitivity.md``.

    Raises
    ------
    InvalidMechanismError
        If a parameter is out of its range.

    References
    ----------
    Ly, Ferry, Huguet, Gambs and Aivodji (2024), Theorem IV.1.

    Examples
    --------
    >>> round(published_smooth_gini(1000, 50, 0.05), 6), round(published_smooth_gini(1000, 50, 0.001), 6)
    (0.001996, 0.014869)
    """
    return _largest(n, min_support, beta)


def smooth_gini(n: int, beta: float) -> float:
    """Return a beta-smooth upper bound of the local sensitivity of weighted Gini impurities, removals included.

    The local sensitivity at n records is g(max(1, n - 1)): removing a record is adding one to n - 1.

    Guarantee
    ---------
    For all neighboring datasets: it is at least the change between the two, and it changes by a factor of at most
    exp(beta). See ``sensitivity.md``.

    Raises
    ------
    InvalidMechanismError
        If a parameter is out of its range.

    Examples
    --------
    >>> round(smooth_gini(1000, 0.05), 6), round(smooth_gini(2, 0.05), 6)
    (0.001998, 0.5)
    """
    return _largest(max(n - 1, 0), 1, beta) * ROUNDING


def _largest(n: int, least: int, beta: float) -> float:
    """Return the largest exp(-beta k) g(max(least, n - k)) over whole k >= 0."""
    if not n >= 0 or not least >= 1 or not 0 < beta < math.inf:
        raise InvalidMechanismError(
            f"a smooth sensitivity needs n >= 0, a support of at least 1 and a positive beta, got {n}, {least}, {beta}."
        )
    last = max(0, n - least)
    # The largest lies at an end, or beside the smaller root of the derivative.
    steps = {0, last}
    square = (1 - beta) ** 2 - 4 * beta
    if square >= 0 and beta < 1:
        # The smaller root of -beta y**2 + (1 - beta) y - 1, in the form without cancellation.
        root = 2 / (1 - beta + math.sqrt(square))
        steps |= {min(max(step, 0), last) for step in (math.floor(n - root), math.ceil(n - root))}
    return max(math.exp(-beta * step) * local_gini(max(least, n - step)) for step in steps)


COUNT = 1
"""Sensitivity of a count of records; one record moves any set of counts in one direction (monotone)."""

ERRORS = 1
"""Sensitivity of the number of errors of a fixed model; monotone over any set of models."""

COUNTED_GINI = 2
"""Bound on the change of n times the Gini impurity of n records, which is monotone; approached, never reached."""

COUNTED_LOSS = 3
"""Bound on the change of errors plus counted Gini impurity over disjoint parts, and of minima of such; monotone."""


def gini_impurity(smallest: int) -> Fraction:
    """Return the most that adding one record to ``smallest`` records or more changes their Gini impurity.

    For a removal from n records it is ``gini_impurity(n - 1)``.

    Raises
    ------
    InvalidMechanismError
        If ``smallest`` is below 1.

    Examples
    --------
    >>> gini_impurity(1)
    Fraction(1, 2)
    """
    n = _at_least_one(smallest)
    return 1 - Fraction(n, n + 1) ** 2 - Fraction(1, n + 1) ** 2


def gini_spread(smallest: int, n_classes: int) -> Fraction:
    """Return how far apart the changes of the weighted Gini impurities of several splits can lie.

    Adding one record to ``smallest`` records or more changes the impurity of every split of them, and the changes lie
    within an interval of this length. Selections depend on differences of scores alone, so that for them it takes the
    place of a sensitivity of monotone scores.

    Parameters
    ----------
    smallest : int
        Least number of records before the addition, at least 1. With 0 records no impurity changes.
    n_classes : int
        Number of classes, at least 1.

    Raises
    ------
    InvalidMechanismError
        If a parameter is below 1.

    Examples
    --------
    >>> gini_spread(1, 2), float(gini_spread(999, 2))
    (Fraction(1, 2), 0.002498)
    """
    n, classes = _at_least_one(smallest), _at_least_one(n_classes)
    return min(Fraction(1, 2), Fraction(2 * n, (n + 1) ** 2) + (1 - Fraction(1, classes)) / (n + 1))


def quantile_score(quantile: Fraction) -> Fraction:
    """Return the sensitivity of ``-abs((1 - q) * left - q * right)``: the larger of q and 1 - q.

    Raises
    ------
    InvalidMechanismError
        If the quantile is not strictly between 0 and 1.

    Examples
    --------
    >>> quantile_score(Fraction(1, 2))
    Fraction(1, 2)
    """
    if not 0 < quantile < 1:
        raise InvalidMechanismError(f"a quantile must lie strictly between 0 and 1, got {quantile}.")
    return max(quantile, 1 - quantile)


def _at_least_one(number: int) -> int:
    if not number >= 1:
        raise InvalidMechanismError(f"a number of records or classes must be at least 1, got {number}.")
    return number
