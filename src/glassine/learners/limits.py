"""How large a class of models may be: refusal of what cannot be summed exactly, and a depth that can."""

from __future__ import annotations

from math import comb, isfinite, log, log10

import numpy as np

from glassine.errors import ClassTooLargeError, InvalidParameterError, parameter
from glassine.learners.antecedents import check_whole
from glassine.learners.budget import check_number
from glassine.learners.exhaustive.gibbs import LOG_RANGE

__all__ = ["check_size", "human_bytes", "suggested_depth"]

SECONDS_PER_STEP = 7e-9
"""Time of one choice of one node and class on one core of a 2020s server; the estimate's only constant."""


def human_bytes(size: float) -> str:
    """Return a number of bytes in words; a limit may be infinite."""
    if not isfinite(size):
        return f"{size:g}"
    size = int(size)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000:
            return f"{size} {unit}"
        size //= 1000
    return "far more than 1000 TB"


def check_size(
    what: str,
    ways_out: str,
    *,
    table_bytes: int,
    steps: int,
    memory_limit: float,
    time_limit: float,
    log_range: float = 0.0,
) -> None:
    """Raise ClassTooLargeError if the tables, the steps or the weights of a class exceed the limits.

    Both follow from public quantities alone, so that the refusal reveals nothing about the records.
    """
    for name, limit in (("memory_limit", memory_limit), ("time_limit", time_limit)):
        bound: object = limit
        if isinstance(bound, bool) or not isinstance(bound, int | float | np.number):
            raise InvalidParameterError(f"{parameter(name)} must be a number, got {bound!r}.")
    seconds = steps * SECONDS_PER_STEP
    if not log_range <= LOG_RANGE:
        raise ClassTooLargeError(
            f"{what}: the sum of the weights of this class can reach e^{log_range:.0f} or its inverse, beyond what is "
            f"summed exactly (e^{LOG_RANGE:.0f}). {ways_out} A prior weight nearer to 1 also helps.",
            bytes_needed=table_bytes,
            seconds_needed=seconds,
        )
    if table_bytes <= memory_limit and seconds <= time_limit:
        return
    time = f"{seconds:.0f} s" if seconds < 1e6 else f"10^{log10(seconds):.0f} s"
    raise ClassTooLargeError(
        f"{what}: summing this class needs {human_bytes(table_bytes)} and about {time} on one core, the limits are "
        f"{parameter('memory_limit=')}{human_bytes(memory_limit)} and {parameter('time_limit=')}{time_limit:g} s. "
        f"{ways_out}",
        bytes_needed=table_bytes,
        seconds_needed=seconds,
    )


# How deep a private tree may be: a rule from public quantities alone.


DEEPEST = 7
"""A deeper tree has more leaves than a reader follows: 128 at depth 7."""

AFFORDABLE = 0.1
"""Largest share of the records that the choice among trees may cost in errors, by the worst-case bound.

Where it just holds, the loss measured on Adult is about a hundredth: the bound is pessimistic by a factor of ten."""


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
