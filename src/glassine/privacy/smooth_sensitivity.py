"""The smooth sensitivity of the weighted Gini impurity: Theorem IV.1 of the rule-list paper, and a form that holds."""

from __future__ import annotations

import math

from glassine.errors import InvalidMechanismError

__all__ = ["local_gini", "published_smooth_gini", "smooth_gini"]

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
    none: the theorem's local sensitivity covers additions only; see ``smooth_sensitivity.md``.

    Parameters
    ----------
    n : int
        Number of records, at least 0.
    min_support : int
        The support that is taken for granted, at least 1.
    beta : float
        Smoothness, positive.

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


def smooth_gini(n: int, beta: float, *, min_support: int = 1) -> float:
    """Return a beta-smooth upper bound of the local sensitivity of weighted Gini impurities, removals included.

    The local sensitivity at n records is g(max(1, n - 1)): removing a record is adding one to n - 1.

    Guarantee
    ---------
    For data sets of at least ``min_support`` records and all of their neighbors: it is at least the change between
    the two, and it changes by a factor of at most exp(beta). With the default that is every data set. See
    ``smooth_sensitivity.md``.

    Parameters
    ----------
    n : int
        Number of records, at least 0.
    beta : float
        Smoothness, positive.
    min_support : int, default=1
        A support that is known without looking at the data.

    Raises
    ------
    InvalidMechanismError
        If a parameter is out of its range.

    Examples
    --------
    >>> round(smooth_gini(1000, 0.05), 6), round(smooth_gini(2, 0.05), 6)
    (0.001998, 0.5)
    """
    if not min_support >= 1:
        raise InvalidMechanismError(f"min_support must be at least 1, got {min_support}.")
    return _largest(max(n - 1, 0), max(1, min_support - 1), beta) * ROUNDING


def _largest(n: int, least: int, beta: float) -> float:
    """Return the largest exp(-beta k) g(max(least, n - k)) over whole k >= 0."""
    if not n >= 0 or not least >= 1 or not 0 < beta < math.inf:
        raise InvalidMechanismError(
            f"a smooth sensitivity needs n >= 0, a support of at least 1 and a positive beta, got {n}, {least}, {beta}."
        )
    last = max(0, n - least)
    steps = {0, last}
    square = (1 - beta) ** 2 - 4 * beta
    if square >= 0 and beta < 1:
        # The smaller root of -beta y**2 + (1 - beta) y - 1, in the form without cancellation.
        root = 2 / (1 - beta + math.sqrt(square))
        steps |= {min(max(step, 0), last) for step in (math.floor(n - root), math.ceil(n - root))}
    return max(math.exp(-beta * step) * local_gini(max(least, n - step)) for step in steps)
