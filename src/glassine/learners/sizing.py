"""How deep a private tree may be: a rule from public quantities alone."""

from __future__ import annotations

from math import comb, log

from glassine.learners.antecedents import check_whole
from glassine.learners.budget import check_number
from glassine.learners.limits import SECONDS_PER_STEP

__all__ = ["suggested_depth"]

DEEPEST = 7
"""A deeper tree has more leaves than a reader follows."""

AFFORDABLE = 0.1
"""Largest share of the records that the choice among trees may cost in errors, by the worst-case bound."""


def suggested_depth(n_records: int, epsilon: float, n_literals: int, *, time_limit: float = 60.0) -> int:
    """Return a depth for a private tree.

    The loss of a drawn tree against the best of its class is about the logarithm of the number of trees over epsilon,
    in records: ``(2 ** depth - 1) * log(n_literals) / epsilon``. The depth is the largest, from 3 to 7, for which that
    bound is at most a tenth of the records, and whose sums take no longer than a limit. The bound is pessimistic:
    where it just holds, the loss measured on the Adult data is about a hundredth.

    Guarantee
    ---------
    none: nothing is read from data. ``n_records`` must be public, such as a round figure from a code book.

    Parameters
    ----------
    n_records : int
        A public guess of the number of records, at least 1.
    epsilon : float
        Budget of the fit.
    n_literals : int
        Number of public literals, at least 1.
    time_limit : float, default=60
        Most seconds of the estimate for one core and two classes.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of its range.

    Examples
    --------
    >>> [suggested_depth(26_000, epsilon, 25) for epsilon in (0.01, 0.1, 1.0)]
    [3, 6, 7]
    """
    n = check_whole(n_records, "n_records", 1, 10**15)
    p = check_whole(n_literals, "n_literals", 1, 10**6)
    budget = check_number(epsilon, "epsilon", low=0.0, low_open=True) * n * AFFORDABLE
    limit = check_number(time_limit, "time_limit", low=0.0, low_open=True)
    depth = 3
    while depth < DEEPEST and (2 ** (depth + 1) - 1) * log(p) <= budget and _seconds(p, depth + 1) <= limit:
        depth += 1
    return depth


def _seconds(p: int, depth: int) -> float:
    levels = min(depth, p)
    return 2 * SECONDS_PER_STEP * float(sum(comb(p, k) * 2**k * (p - k + 1) for k in range(levels)))
