"""Private quantiles of numeric attributes on public candidate cut points."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidDataError, InvalidMechanismError, parameter
from glassine.privacy.events import Event
from glassine.privacy.exact import Number, finite_float
from glassine.privacy.randomness import Randomness
from glassine.privacy.sensitivity import quantile_score
from glassine.records.arrays import Array, Ints
from glassine.sealed import draws
from glassine.sealed.quantile_levels import level_part, middle_of, quantile_events

Thresholds: TypeAlias = tuple[float, ...]
Times: TypeAlias = Ints | None


def private_quantiles(
    values: npt.ArrayLike,
    candidates: Sequence[float],
    number: int,
    epsilon: Number,
    randomness: Randomness,
    *,
    name: str = "quantiles",
    multiplicities: npt.NDArray[np.integer] | None = None,
) -> tuple[Thresholds, tuple[Event, ...]]:
    """Choose cut points that split one numeric column into parts of about equal size.

    The middle quantile is selected by the exponential mechanism; then the two sides, recursively, each from the
    candidates on its side.

    Guarantee
    ---------
    epsilon-differentially private under add-or-remove-one; exact. See ``privacy/quantiles.md``.

    Assumptions
    -----------
    Candidates, number and epsilon are public; the running time is not observed.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        The column, finite; clipped to the domain beforehand.
    candidates : sequence of float
        Public cut points, finite, strictly increasing. A cut point v separates values <= v from values > v.
    number : int
        How many quantiles, at least 0.
    epsilon : int, float or Fraction
        Positive; each of the ``number.bit_length()`` levels of the recursion gets an equal part.
    randomness : Randomness
        The stream to draw from.
    name : str, default="quantiles"
        What is released, for the events.
    multiplicities : ndarray of int, shape (n,), optional
        How many records have each value, at least 0; 1 by default.

    Returns
    -------
    thresholds : tuple of float
        ``min(number, len(candidates))`` distinct candidates, increasing.
    events : tuple of Event
        What was spent: one event a level; none when there are not more candidates than quantiles, for then
        all candidates are returned. They depend on the public parameters alone.

    Raises
    ------
    InvalidDataError
        If the values are not a column of finite numbers.
    InvalidMechanismError
        If a public parameter is out of its range.

    References
    ----------
    Kaplan, Schnapp and Stemmer (2022), Differentially private approximate quantiles, Algorithm 1.

    Examples
    --------
    >>> column = [1, 2, 3, 4, 5, 6, 7, 8] * 100
    >>> private_quantiles(column, range(10), 3, 10, Randomness.of(0))[0]
    (2.0, 4.0, 6.0)
    """
    column, times, cuts, part = prepared(values, candidates, number, epsilon, multiplicities)
    thresholds = _selected(column, times, cuts, number, part, randomness)
    return thresholds, quantile_events(len(cuts), number, epsilon, name=name)


def quantile_log_weights(
    values: npt.ArrayLike,
    candidates: npt.ArrayLike,
    quantile: Fraction,
    epsilon: Fraction,
    multiplicities: Ints | None = None,
) -> tuple[list[int], int]:
    """Return the log-weights of the selection of one quantile, as integers over one denominator."""
    # They are epsilon * score / (2 * max(q, 1 - q)) with the score -abs((1 - q) * left - q * right), where left and
    # right count the values at or below and above a candidate.
    # Shapes: values, sorted, and multiplicities, 1 by default, (n,); candidates, increasing, (m,).
    rate = epsilon / (2 * quantile_score(quantile))
    column = np.asarray(values, dtype=np.float64)
    places = np.searchsorted(column, np.asarray(candidates, dtype=np.float64), side="right")
    ends = None if multiplicities is None else np.concatenate(([0], np.cumsum(multiplicities, dtype=np.int64)))
    left = places.tolist() if ends is None else ends[places].tolist()
    # (1 - q) left - q right = left - q n.
    target = quantile.numerator * (column.size if ends is None else int(ends[-1]))
    numerators = [-abs(quantile.denominator * count - target) * rate.numerator for count in left]
    return numerators, quantile.denominator * rate.denominator


def prepared(
    values: npt.ArrayLike,
    candidates: Sequence[float],
    number: int,
    epsilon: Number,
    multiplicities: npt.NDArray[np.integer] | None = None,
) -> tuple[Array, Times, Array, Fraction]:
    """Return the sorted column and its multiplicities, the candidates, and epsilon of one level."""
    column = np.asarray(values)
    if column.ndim != 1 or (column.size and column.dtype.kind not in "iufb"):
        raise InvalidDataError(
            f"{parameter('values')} must be one column of numbers, got {column.dtype} of shape {column.shape}."
        )
    times: Times = None
    if multiplicities is None:
        column = np.sort(column.astype(np.float64))
    else:
        if np.shape(multiplicities) != column.shape or (multiplicities < 0).any():
            raise InvalidDataError(f"{parameter('multiplicities')} must hold one whole number of at least 0 per value.")
        order = np.argsort(column, kind="stable")
        column, times = column[order].astype(np.float64), multiplicities[order].astype(np.int64)
    if not np.isfinite(column).all():
        raise InvalidDataError(
            f"{parameter('values')} must be finite, got one that is not.", remedy="Clip them to the domain first."
        )
    cuts = np.array([finite_float(cut, "a candidate") for cut in candidates], dtype=np.float64)
    if (cuts[1:] <= cuts[:-1]).any():
        raise InvalidMechanismError(
            f"{parameter('candidates')} must increase strictly.", remedy="Sort them and drop repeats."
        )
    return column, times, cuts, level_part(number, epsilon)


def quantile_choices(
    column: Array, cuts: Array, number: int, part: Fraction, times: Times = None
) -> tuple[int, list[int], int]:
    """Return the first candidate that leaves enough on its left, and the log-weights of those that do on both sides."""
    middle = middle_of(number)
    first, last = middle - 1, cuts.size - (number - middle)
    weights, denominator = quantile_log_weights(column, cuts[first:last], Fraction(middle, number + 1), part, times)
    return first, weights, denominator


def _selected(
    column: Array, times: Times, cuts: Array, number: int, part: Fraction, randomness: Randomness
) -> Thresholds:
    if number == 0 or cuts.size <= number:
        return tuple(cuts.tolist()) if number else ()
    first, weights, denominator = quantile_choices(column, cuts, number, part, times)
    at = first + draws.select(weights, denominator, randomness)
    below = int(np.searchsorted(column, cuts[at], side="right"))
    middle = middle_of(number)
    sides = (times, times) if times is None else (times[:below], times[below:])
    left = _selected(column[:below], sides[0], cuts[:at], middle - 1, part, randomness)
    right = _selected(column[below:], sides[1], cuts[at + 1 :], number - middle, part, randomness)
    return (*left, float(cuts[at]), *right)
