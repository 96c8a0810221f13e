"""The private choice of pairs: noisy scores of what the cells of two attributes would explain, and joint counts."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidMechanismError
from glassine.learners.binning import Axis
from glassine.learners.ebm_pairs import Pair
from glassine.learners.ebm_targets import Base
from glassine.privacy.accounting import DiscreteGaussianNoise
from glassine.privacy.exact import Number, decimal
from glassine.privacy.fine_gaussian import FineNoise, wrapped
from glassine.privacy.randomness import Randomness

__all__ = ["COARSE", "Gains", "candidates", "chance", "gain", "gain_reach", "release_counts", "release_gains"]

COARSE = 8
"""Bins of each attribute for the choice."""

SCORE = 0.15
"""Largest score of a cell that counts for the choice, relative to the clip."""

CANDIDATES = 15
"""Pairs that are compared: those of the terms that matter most so far; more where more are asked for."""

CLEAR, WORTH = 2.5, 2.0
"""A pair is taken by the rule if its gain exceeds so many standard deviations plus so many times what chance gives."""

STEPS = 2**80
"""Parts of one in which gains are reckoned."""

PROOF = "learners/ebm_penalized.md"

Array = npt.NDArray[np.float64]
Whole: TypeAlias = "npt.NDArray[np.int64] | npt.NDArray[np.object_]"


def candidates(
    axes: Sequence[Axis], scores: Sequence[Array], wanted: int, barred: Collection[str]
) -> list[tuple[int, int]]:
    """Return the pairs of terms to compare, from the released scores so far.

    Guarantee
    ---------
    none of its own: a function of released scores.
    """
    matters = []
    for axis, score in zip(axes, scores, strict=True):
        shares = np.maximum(axis.counts, 0.0)
        centre = shares @ score / max(float(shares.sum()), 1e-300)
        matters.append(float((shares @ np.abs(score - centre)).sum()))
    order = [k for k in np.argsort(-np.array(matters), kind="stable") if axes[k].grid.attribute not in barred]
    most = 2
    while most * (most - 1) // 2 < max(CANDIDATES, 2 * wanted):
        most += 1
    return list(combinations(sorted(int(k) for k in order[:most]), 2))


def gain(sums: Whole, counts: Whole, units: int) -> Fraction:
    """Return the squared error that the cells of a pair explain beyond either attribute, in squares of the clip.

    What bins with sums S and counts N explain is the sum over them of the largest 2 S s - N s s over scores s of at
    most ``SCORE`` in size. It is reckoned in whole numbers, so that its error, below 2^-60, does not grow with the
    number of records.

    Parameters
    ----------
    sums : ndarray of int, shape (bins, bins, outputs)
        Sums of residuals in units.
    counts : ndarray of int, shape (bins, bins)
        Records.
    units : int
        Units of the clip.
    """
    sums, counts = sums.astype(object), counts.astype(object)
    alone = max(_explained(sums.sum(axis=axis), counts.sum(axis=axis), units) for axis in (0, 1))
    return Fraction(_explained(sums, counts, units) - alone, STEPS)


def _explained(sums: Whole, counts: Whole, units: int) -> int:
    """Return what bins explain, each rounded down to 1 / ``STEPS``."""
    top, bottom = decimal(SCORE, "SCORE").as_integer_ratio()
    total, one = 0, units * STEPS
    for vector, count in zip(sums.reshape(-1, sums.shape[-1]), counts.reshape(-1), strict=True):
        # The length of the sums, in parts of a unit.
        size = math.isqrt(sum(int(part) ** 2 for part in vector) * STEPS**2)
        if size * bottom <= top * count * one:
            total += size * size * STEPS // (max(count, 1) * one * one)
        else:
            total += (2 * top * bottom * size * STEPS - top * top * count * one * STEPS) // (bottom * bottom * one)
    return total


def gain_reach(score: Number) -> Fraction:
    """Return how far one record moves a gain at most, where scores are at most so large in size.

    Guarantee
    ---------
    none by itself: four times the score, which ``ebm_penalized.md`` proves for scores of at most 1.

    Raises
    ------
    InvalidMechanismError
        If the score is not in (0, 1].
    """
    largest = decimal(score, "the largest score of a cell")
    if not 0 < largest <= 1:
        raise InvalidMechanismError(
            f"the largest score of a cell must be in (0, 1], got {score}. The bound is proved for these."
        )
    return 4 * largest


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Gains:
    """Noisy gains of pairs.

    Attributes
    ----------
    pairs : tuple of (int, int)
        The pairs of terms.
    values : ndarray, shape (pairs,)
        Noisy gains, in squares of the clip.
    deviation : float
        Standard deviation of their noise.
    """

    pairs: tuple[tuple[int, int], ...]
    values: Array
    deviation: float

    def best(self, number: int) -> list[tuple[int, int]]:
        """Return the pairs with the largest noisy gains."""
        return [self.pairs[i] for i in np.argsort(-self.values, kind="stable")[:number]]

    def clear(self, most: int, by_chance: Array) -> list[tuple[int, int]]:
        """Return at most so many pairs whose gain stands out from noise and from chance.

        Parameters
        ----------
        most : int
            How many at most.
        by_chance : ndarray, shape (pairs,)
            What each would gain if nothing were to be found.
        """
        stands_out = self.values > CLEAR * self.deviation + WORTH * by_chance
        order = np.argsort(-self.values, kind="stable")
        return [self.pairs[i] for i in order if stands_out[i]][:most]


def release_gains(
    pairs: Sequence[Pair],
    sums: Sequence[Whole],
    counts: Sequence[Whole],
    units: int,
    *,
    mu: float,
    share: float,
    randomness: Randomness,
) -> tuple[Gains, DiscreteGaussianNoise]:
    """Release the gains of all candidates.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise, if a record adds a vector of at most
    ``units`` to one cell's sums and 1 to its count: a gain moves by at most four times ``SCORE``; see
    ``ebm_penalized.md``.

    Parameters
    ----------
    pairs : sequence of Pair
        The candidates.
    sums, counts : sequence of ndarray of int
        Exact sums of residuals, shape (bins, bins, outputs), and numbers of records in the cells of each; objects
        where they may not fit 64 bits.
    units : int
        Units of the clip.
    mu, share : float
        Budget, and its share of the whole.
    randomness : Randomness
        Source of the noise.
    """
    reach, noise = gain_reach(SCORE), FineNoise.of(mu, len(pairs))
    # A little less than the units: what rounding of the gains may add.
    scale = noise.units - 2
    exact = [math.floor(gain(s, c, units) / reach * scale) for s, c in zip(sums, counts, strict=True)]
    noisy = noise.release(wrapped(exact), randomness)
    event = DiscreteGaussianNoise(
        name="gains of pairs",
        l2_sensitivity=noise.l2_sensitivity,
        sigma=noise.sigma,
        units=noise.units,
        values=len(noisy),
        share=share,
        proof=PROOF,
    )
    found = Gains(
        pairs=tuple((pair.first, pair.second) for pair in pairs),
        values=noisy * (float(reach) * noise.units / scale),
        deviation=float(reach) * noise.deviation,
    )
    return found, event


def chance(pairs: Sequence[Pair], base: Base, clip: float) -> Array:
    """Return what the cells of pairs are expected to explain by chance, in squares of the clip."""
    return np.array([pair.n_cells for pair in pairs]) * (float(base.spreads.sum()) / clip**2)


def release_counts(
    pairs: Sequence[Pair], codes: npt.NDArray[Any], *, mu: float, share: float, randomness: Randomness
) -> tuple[list[Array], list[Array], DiscreteGaussianNoise]:
    """Release the joint counts of pairs.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise: a record adds 1 to one count of each
    pair; see ``ebm_penalized.md``.

    Returns
    -------
    list of ndarray
        The noisy counts of each pair's cells.
    list of ndarray
        The same, but at least a standard deviation of the noise: a count that is too small would make steps too large.
    DiscreteGaussianNoise
        The event.
    """
    noise = FineNoise.of(mu, len(pairs))
    exact = [np.bincount(row, minlength=pair.n_cells) for pair, row in zip(pairs, codes, strict=True)]
    noisy = noise.release(np.concatenate(exact).astype(np.int64) * noise.units, randomness)
    parts = np.split(noisy, np.cumsum([pair.n_cells for pair in pairs])[:-1])
    event = DiscreteGaussianNoise(
        name="numbers of records in cells of pairs",
        l2_sensitivity=noise.l2_sensitivity,
        sigma=noise.sigma,
        units=noise.units,
        values=len(noisy),
        share=share,
        proof=PROOF,
    )
    least = max(noise.deviation, 1.0)
    return parts, [np.maximum(part, least) for part in parts], event
