"""What exact counts cost beside the structure that they stand in: tables, complexity, and a term free of n."""

from __future__ import annotations

import math
from collections.abc import Sequence

from glassine.capacity.divergences import LN2, SLACK
from glassine.capacity.frontiers import check_bits
from glassine.capacity.without_replacement import MODE, check_draw, conditional_bits, draw_dependence
from glassine.errors import InvalidParameterError, check_whole, first_of, parameter

MOST_CELLS = 10**6
"""Most cells of a table."""

MOST_SUMMED = 10**6
"""Up to so many records the complexity of two cells is summed; beyond, its bound is 0.002 bits above it."""

SMALLEST_REFUNDED = 64
"""Fewest persons of the frame in a cell that is refunded; fixed beforehand."""


def table_bits(cells: int, n: int) -> float:
    """Return log2 of the number of tables of ``cells`` counts that add up to n, rounded up.

    Examples
    --------
    >>> round(table_bits(4, 6), 4), round(table_bits(16, 24_421), 1)
    (6.3923, 178.4)
    """
    k, n = _check(cells, n)
    # C(n + k - 1, k - 1); of k - 1 and n the smaller one.
    small, large = sorted((k - 1, n))
    return sum(math.log2(1 + large / j) for j in range(1, small + 1)) * (1 + SLACK)


def rounded_table_bits(cells: int, n: int, step: int) -> float:
    """Return log2 of the number of tables of counts that are rounded to multiples of a step, rounded up.

    The counts add up to n. Each rounded one is above its count by at most half a step, so that their multiples add up
    to at most n / step + cells / 2; and there are no more rounded tables than exact ones.

    Examples
    --------
    >>> round(rounded_table_bits(16, 24_421, 100), 1), round(rounded_table_bits(16, 24_421, 1), 1)
    (84.8, 178.4)
    """
    k, n = _check(cells, n)
    step = check_whole(step, "step", 1, 10**12)
    most = n // step + k  # At least n / step + k / 2
    return min(table_bits(k, n), table_bits(k + 1, most))


def complexity_bits(cells: int, n: int) -> float:
    """Return log2 of the parametric complexity of the multinomial (its Shtarkov sum), rounded up.

    Guarantee
    ---------
    If a structure of L bits with ``cells`` cells is chosen by a symmetric rule on n independent records, and the exact
    counts of its cells are published, then sum_i I(X_i; M) is at most L plus the result. It also holds given one
    published model, with L from :func:`~glassine.capacity.conditional_bits`. See ``exact_counts.md``.

    Parameters
    ----------
    cells : int
        Cells whose counts are published: leaves times classes.
    n : int
        Records, which the counts add up to.

    Examples
    --------
    >>> round(complexity_bits(4, 6), 4), round(complexity_bits(16, 24_421), 1)
    (4.3991, 90.5)
    """
    k, n = _check(cells, n)
    if k == 1 or n == 0:
        return 0.0
    before, last = 0.0, math.log(_of_two(n))
    for i in range(3, k + 1):  # Kontkanen and Myllymaki: C(k) = C(k - 1) + n / (k - 2) C(k - 2)
        before, last = last, last + math.log1p(math.exp(math.log(n / (i - 2)) + before - last))
    return last / LN2 * (1 + k * 1e-15 + SLACK)


def _of_two(n: int) -> float:
    """Return the Shtarkov sum of two cells, rounded up."""
    if n > MOST_SUMMED:
        return 2 + math.sqrt(math.pi * n / 2)  # Each term is at most exp(-j (j - 1) / 2n)
    total, term, j = 1.0, 1.0, 0  # The terms n! / ((n - j)! n^j) fall like exp(-j^2 / 2n)
    while j < n and term * n >= 1e-16 * total * max(j, 1):
        term *= (n - j) / n
        j += 1
        total += term
    return total + (term * n / j if j < n else 0.0)  # The rest is below a geometric series


def mean_fit_bits(structure_bits: float, cells: int) -> float:
    """Return a bound on n times the mean divergence of published shares from the true ones, in bits, for every n.

    Guarantee
    ---------
    For a structure of mean length ``structure_bits`` that any rule selects on independent records. See
    ``exact_counts.md``.

    Parameters
    ----------
    structure_bits : float
        Mean length of the structure in a code that was fixed before the draw.
    cells : int
        Its cells.

    Examples
    --------
    >>> round(mean_fit_bits(31.7, 16), 1)
    82.2
    """
    k, nats = check_whole(cells, "cells", 1, MOST_CELLS), check_bits(structure_bits, "structure_bits") * LN2
    # Every m in (0, 1) gives a bound; the least one is found by thirds in ln(1 - m).
    low, high = 1e-9, 40.0
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if _fit(a, nats, k) <= _fit(b, nats, k) else (a, high)
    return _fit((low + high) / 2, nats, k) / LN2 * (1 + SLACK)


def _fit(log_rest: float, nats: float, cells: int) -> float:
    """Return (L + (k - 1) ln 1 / (1 - m)) / m at m = 1 - exp(-log_rest), in nats."""
    return (nats + (cells - 1) * log_rest) / -math.expm1(-log_rest)


def free_counts_bits(structure_bits: float, cells: int) -> float:
    """Return what exact counts cost at most for any number of records, on average over the draws, in bits.

    Guarantee
    ---------
    As for :func:`complexity_bits`, with L the mean length of the structure. It holds on average only, not given one
    published model. See ``exact_counts.md``.

    Parameters
    ----------
    structure_bits : float
        Mean length of the structure, at least 0.
    cells : int
        Cells whose counts are published.

    Examples
    --------
    >>> round(free_counts_bits(31.7, 16), 1)
    50.5
    """
    k = check_whole(cells, "cells", 1, MOST_CELLS)
    if k == 1:
        return 0.0
    ratio = mean_fit_bits(structure_bits, k) * LN2 / (k - 1)
    return (k - 1) * (1 + math.log(ratio)) / LN2 * (1 + SLACK)


def counts_given_frame(structure_bits: float, members: Sequence[int], frame: Sequence[int], delta: float) -> float:
    """Return a bound on what one published model with exact counts reveals about membership, in bits.

    Guarantee
    ---------
    Half of the persons of a frame are drawn without replacement. Except with probability ``delta`` over the draw, the
    bits about membership given the published model, summed over the persons, are at most the result, for any learner.
    See ``exact_counts.md``.

    Parameters
    ----------
    structure_bits : float
        log2 of the number of structures, or the length of this one in a code that was fixed before the draw.
    members : sequence of int
        The published counts of the cells.
    frame : sequence of int
        How many persons of the frame fall in each cell.
    delta : float
        In (0, 1).

    Raises
    ------
    InvalidParameterError
        If the sample is not half of the frame, or a count exceeds that of the frame.

    Examples
    --------
    >>> round(counts_given_frame(31.7, [1526] * 16, [3052] * 16, 0.05), 0)
    42.0
    """
    inside, of_frame = [int(count) for count in members], [int(count) for count in frame]
    if (
        len(inside) != len(of_frame)
        or not inside
        or any(not 0 <= c <= m for c, m in zip(inside, of_frame, strict=True))
    ):
        raise InvalidParameterError(
            f"{parameter('members')} must be one count per cell of {parameter('frame')}, at most the count there; got "
            f"{first_of(inside)} of {first_of(of_frame)}."
        )
    size, n = check_draw(sum(of_frame), sum(inside))
    if 2 * n != size:
        raise InvalidParameterError(
            f"the refund of counts needs a sample of exactly half of the frame, got {n:,} of {size:,}.",
            remedy="Leave one person out of an odd frame, or charge the counts in full.",
        )
    length = _log_choose(size, n, up=True) - sum(
        _log_choose(m, c, up=False) for c, m in zip(inside, of_frame, strict=True)
    )
    full = conditional_bits(structure_bits + max(length, 0.0), delta) + draw_dependence(size, n)
    refund = sum(0.5 * math.log2(m / MODE) for m in of_frame if m >= SMALLEST_REFUNDED)
    least = SMALLEST_REFUNDED
    share = 0.5 * math.log2(least / MODE) / (least * (1 - math.pow(MODE / least, 1 / math.log(4))))
    return min(full, max(full - refund, 0.0) / (1 - share)) * (1 + SLACK)


def _log_choose(m: int, c: int, *, up: bool) -> float:
    """Return log2 C(m, c), rounded up or down."""
    value = (math.lgamma(m + 1) - math.lgamma(c + 1) - math.lgamma(m - c + 1)) / LN2
    slip = 1e-15 * 8 * (math.lgamma(m + 1) + 1)  # Three terms of a few units in the last place each
    return value + slip if up else max(value - slip, 0.0)


def _check(cells: object, n: object) -> tuple[int, int]:
    return check_whole(cells, "cells", 1, MOST_CELLS), check_whole(n, "n", 0, 10**12)
