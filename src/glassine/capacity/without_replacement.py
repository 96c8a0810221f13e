"""What a draw without replacement costs: membership bits that depend on each other reveal each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from glassine.capacity.divergences import LN2, SLACK, entropy
from glassine.capacity.frontiers import check_bits
from glassine.errors import InvalidParameterError, check_whole, parameter, quoted

MODE = 0.8792
"""Four times the square of the constant of Baillon, Cominetti and Vaisman (0.46882...), rounded up: the largest
probability of a sum of independent bits with variance v is at most sqrt(MODE / (4 v))."""

_HALF = 1 / math.log(4)
"""The exponent of h(p) <= (4 p (1 - p)) ** (1 / ln 4)."""


def draw_dependence(population: int, sample: int) -> float:
    """Return the total correlation of the membership bits of a sample without replacement, in bits, rounded up.

    It is N h(n / N) - log2 C(N, n).

    Parameters
    ----------
    population, sample : int
        N and n, with 0 < n < N.

    Examples
    --------
    >>> round(draw_dependence(12, 6), 4), round(draw_dependence(48_842, 24_421), 2)
    (2.1483, 8.11)
    """
    size, n = check_draw(population, sample)
    if size <= 2000:
        exact = size * entropy(n / size) - math.log2(math.comb(size, n))
        return max(exact, 0.0) + 1e-10  # Up to 2,000 bits cancel, each to 1e-16
    # Stirling's formula, whose remainder for m lies between 1 / (12 m + 1) and 1 / (12 m): nothing cancels.
    rest = (_remainder(n) + _remainder(size - n) - 1 / (12 * size + 1)) / LN2
    return (0.5 * math.log2(2 * math.pi * n * ((size - n) / size)) + rest) * (1 + SLACK)


def design_bits(bits: float, population: int, sample: int) -> float:
    """Return a bound on what a release reveals about membership, summed over the persons of a frame.

    Guarantee
    ---------
    If ``sample`` of ``population`` persons are drawn at random without replacement and I(U; M) is at most ``bits``,
    then sum_i I(U_i; M) is at most the result. The bits alone are no bound. See ``without_replacement.md``.

    Parameters
    ----------
    bits : float
        Of the release, at least 0.
    population, sample : int
        N and n, with 0 < n < N; persons.

    Examples
    --------
    >>> round(design_bits(39.6, 48_842, 24_421), 1)
    39.8
    """
    bits = check_bits(bits, "bits")
    size, n = check_draw(population, sample)
    cost = draw_dependence(size, n)
    plain = bits + cost
    each = entropy(n / size)
    width = size * math.pow(each, math.log(4)) / MODE
    if width <= 1:
        return plain
    refund, scale = 0.5 * math.log2(width), size * each * (1 - math.pow(width, -_HALF))
    if refund >= scale:
        return plain
    return min(plain, (plain - refund) / (1 - refund / scale)) * (1 + SLACK)


def strata_bits(bits: float, sizes: Sequence[int], samples: Sequence[int]) -> float:
    """Return a bound on what a release reveals about membership, where each stratum is drawn on its own.

    Guarantee
    ---------
    As for :func:`design_bits`, with the dependences of all strata added and nothing refunded. See
    ``without_replacement.md``.

    Parameters
    ----------
    bits : float
        Of the release.
    sizes, samples : sequence of int
        Persons of each stratum and how many of them are drawn.

    Examples
    --------
    >>> round(strata_bits(10, [100, 50], [50, 10]), 2)
    16.49
    """
    if not sizes or len(sizes) != len(samples):
        raise InvalidParameterError(
            f"{parameter('sizes')} and {parameter('samples')} must have one entry per stratum, got {len(sizes)} and "
            f"{len(samples)}."
        )
    return check_bits(bits, "bits") + sum(draw_dependence(a, b) for a, b in zip(sizes, samples, strict=True))


def conditional_bits(bits: float, delta: float) -> float:
    """Return the bits of *one published model*, from those of its class or its length in a code.

    Guarantee
    ---------
    For any class or code that was fixed before the draw, except with probability ``delta`` over the draw, the posterior
    of the data given the published model has at most 2 ** result times its prior density. Then every bound of this room
    that says so holds given the model, for all attacks at once. See ``without_replacement.md``.

    Parameters
    ----------
    bits : float
        log2 of the size of the class, or the length of this model in a code.
    delta : float
        In (0, 1).

    Examples
    --------
    >>> round(conditional_bits(39.6, 0.05), 2)
    43.92
    """
    bits = check_bits(bits, "bits")
    delta = check_delta(delta)
    return (bits - math.log2(delta)) * (1 + SLACK)


def check_delta(value: object) -> float:
    """Return the share of draws for which a bound may fail, or raise InvalidParameterError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise InvalidParameterError(
            f"{parameter('delta')} must be a number above 0 and below 1, got {quoted(value)}.", remedy="Use 0.05."
        )
    return float(value)


def check_draw(population: object, sample: object) -> tuple[int, int]:
    """Return N and n, or raise InvalidParameterError."""
    size = check_whole(population, "population", 2, 10**12)
    n = check_whole(sample, "sample", 1, 10**12)
    if not n < size:
        raise InvalidParameterError(
            f"{parameter('sample')} must be below {parameter('population=')}{size:,}, got {n:,}.",
            remedy="If everyone on the frame is a member, membership is no secret.",
        )
    return size, n


def _remainder(m: int) -> float:
    """Return an upper bound on ln m! less Stirling's main terms."""
    return 1 / (12 * m)
