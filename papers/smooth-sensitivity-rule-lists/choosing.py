"""Choices of a rule or a split from class counts: by noise of smooth sensitivity, and by inverse sensitivity.

The inverse-sensitivity mechanism of section VI draws a candidate with probability exp(-epsilon / 2 * length), where the
length bounds from below how many records must change before the candidate is the best. Three lengths are here;
``choosing.md`` proves that one record moves each by at most one. Two classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from glassine.privacy.mechanisms import laplace
from glassine.privacy.randomness import Randomness
from glassine.privacy.sensitivity import COUNTED_GINI, published_smooth_gini, smooth_gini
from glassine.sealed.gini import (
    COUNTED_GRID,
    GRID,
    counted_levels,
    impurity_levels,
    weighted_impurities,
)
from glassine.sealed.noisy_choice import cauchy_calibration, exponential_mechanism, smooth_cauchy_min

Counts = npt.NDArray[np.int64]
Choice = Callable[[Counts, Counts, float, float, Randomness], int]
"""Chooses a candidate from what each captures, all class counts, and the epsilon and delta of the choice."""

REACH = COUNTED_GINI * COUNTED_GRID + 2
"""Most steps by which one record moves a counted impurity, whose two parts are rounded down."""

STEPS = 2**20
"""Steps of a length that is a logarithm; one record moves it by one, and rounding by less than two steps more."""

SPREAD = 1.5
"""Bound on what one record moves a gap of impurities by, over what it moves an impurity by; of two classes."""

TURN = 1 / 8
"""Smoothness over epsilon: lengths that matter, of some 8 / epsilon records, lie before the logarithm's turn."""

NEVER = 60.0
"""Lengths are cut where a candidate has exp(-60) of the best one's probability."""


def smooth_cauchy(captured: Counts, totals: Counts, epsilon: float, delta: float, randomness: Randomness) -> int:
    """Choose by least impurity under Cauchy noise of a valid smooth bound: epsilon-differentially private."""
    smoothness, ratio = cauchy_calibration(epsilon, len(captured))
    bound = smooth_gini(int(totals.sum()), smoothness)
    return smooth_cauchy_min(impurity_levels(captured, totals), bound, ratio, GRID, randomness)


def smooth_laplace(captured: Counts, totals: Counts, epsilon: float, delta: float, randomness: Randomness) -> int:
    """Choose by least impurity under the paper's Laplace noise, without its support; its guarantee is not proved."""
    smooth = published_smooth_gini(int(totals.sum()), 1, epsilon / (2 * math.log(2 / delta)))
    return int(np.argmin(laplace(weighted_impurities(captured, totals), 2 * smooth / epsilon, randomness)))


def counted_lengths(captured: Counts, totals: Counts) -> list[int]:
    """Return half of each gap of counted impurities to the least, rounded up."""
    levels = counted_levels(captured, totals)
    least = min(levels)
    return [-((least - level) // REACH) for level in levels]


def smooth_lengths(captured: Counts, totals: Counts, smoothness: float) -> list[int]:
    """Return how many records close each gap of impurities to the least, in steps of 1 / 2^20.

    The smooth sensitivity bounds what the first record closes, and grows by exp(smoothness) with each further one.
    """
    levels = impurity_levels(captured, totals)
    least = min(levels)
    first = SPREAD * smooth_gini(int(totals.sum()), smoothness) + 2 / GRID
    growth = math.expm1(smoothness) / first
    return [math.floor(STEPS * math.log1p(growth * (level - least) / GRID) / smoothness) for level in levels]


def pair_lengths(captured: Counts, totals: Counts, most: int) -> list[int]:
    """Return how many records close the widest gap of each candidate to another, at most ``most``.

    A record of a class adds 2 q^2 to the counted impurity of a part of which others have a share q. So a pair's gap
    moves by the difference of two such, which is small where all parts are alike; each change so far widens the shares.
    """
    parts = np.stack([captured, totals - captured]).astype(np.float64)
    sizes = parts.sum(axis=2, keepdims=True)
    shares = np.divide(parts, sizes, out=np.full_like(parts, 0.5), where=sizes > 0)
    widths = np.divide(1.0, sizes, out=np.full_like(sizes, 0.5), where=sizes > 0)
    levels = np.array(counted_levels(captured, totals))
    left = levels[:, None] - levels[None, :]
    lengths = np.zeros(left.shape, dtype=np.int64)
    for radius in range(1, most + 1):
        lengths += left > 0
        high = np.minimum(shares + radius * widths, 1.0).max(axis=0) ** 2
        low = np.maximum(shares - radius * widths, 0.0).min(axis=0) ** 2
        rise = (high[:, None] - low[None, :]).max(axis=2)
        left = left - np.ceil(2 * np.maximum(rise, rise.T) * COUNTED_GRID).astype(np.int64) - 2
        if not (left > 0).any():
            break
    return [int(length) for length in lengths.max(axis=1)]


def by_length(lengths: Sequence[int], sensitivity: int, epsilon: float, randomness: Randomness) -> int:
    """Choose with probability exp(-epsilon / 2 * length / sensitivity): epsilon-differentially private."""
    return exponential_mechanism([-length for length in lengths], epsilon, sensitivity, randomness=randomness)


def inverse_smooth(captured: Counts, totals: Counts, epsilon: float, delta: float, randomness: Randomness) -> int:
    """Choose by the length that smooth sensitivity gives, as the paper proposes: epsilon-differentially private."""
    return by_length(smooth_lengths(captured, totals, TURN * epsilon), STEPS + 2, epsilon, randomness)


def inverse_counted(captured: Counts, totals: Counts, epsilon: float, delta: float, randomness: Randomness) -> int:
    """Choose by the length of counted gaps: epsilon-differentially private."""
    return by_length(counted_lengths(captured, totals), 1, epsilon, randomness)


def inverse_pairs(captured: Counts, totals: Counts, epsilon: float, delta: float, randomness: Randomness) -> int:
    """Choose by the length between pairs of candidates: epsilon-differentially private."""
    return by_length(pair_lengths(captured, totals, math.ceil(2 * NEVER / epsilon)), 1, epsilon, randomness)


def counted_gini(captured: Counts, totals: Counts, epsilon: float, delta: float, randomness: Randomness) -> int:
    """Choose by the exponential mechanism on counted impurities, which are monotone: epsilon-differentially private."""
    scores = [-level for level in counted_levels(captured, totals)]
    return exponential_mechanism(scores, epsilon, REACH, True, randomness=randomness)


SMOOTH_CAUCHY, COUNTED = "smooth-Gini, Cauchy", "counted Gini"

INVERSE: dict[str, Choice] = {
    "inverse sensitivity, smooth": inverse_smooth,
    "inverse sensitivity": inverse_counted,
    "inverse sensitivity, pairs": inverse_pairs,
}

CHOICES: dict[str, Choice] = {
    SMOOTH_CAUCHY: smooth_cauchy,
    "smooth-Gini, sm-Laplace": smooth_laplace,
    **INVERSE,
    COUNTED: counted_gini,
}
