"""Private quantiles of numeric attributes on public candidate cut points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidDataError, InvalidMechanismError, check_whole, parameter
from glassine.privacy.events import Event, Parallel, Selection
from glassine.privacy.exact import Number, finite_float, positive
from glassine.privacy.randomness import Randomness
from glassine.privacy.sensitivity import quantile_score
from glassine.records.arrays import Array, Ints
from glassine.sealed import draws

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
    column, times, cuts, part = _prepared(values, candidates, number, epsilon, multiplicities)
    thresholds = _selected(column, times, cuts, number, part, randomness)
    return thresholds, quantile_events(len(cuts), number, epsilon, name=name)


def private_quantiles_of_attributes(
    columns: Mapping[str, npt.ArrayLike],
    candidates: Mapping[str, Sequence[float]],
    number: int,
    epsilon: Number,
    randomness: Randomness,
    *,
    multiplicities: Mapping[str, npt.NDArray[np.integer]] | None = None,
) -> tuple[dict[str, Thresholds], tuple[Event, ...]]:
    """Choose cut points of several attributes, each with an equal part of epsilon.

    Guarantee
    ---------
    epsilon-differentially private under add-or-remove-one, by composition over the attributes. Only
    attributes that have more candidates than quantiles take a part.

    Parameters, errors and edge cases are those of :func:`private_quantiles`; both mappings have the same keys, and
    ``multiplicities`` some of them.

    Returns
    -------
    thresholds : dict of str to tuple of float
        Per attribute, in the order of ``columns``.
    events : tuple of Event
        What was spent.

    Examples
    --------
    >>> columns = {"age": [20, 30, 40, 50] * 100, "sex": [0, 1] * 200}
    >>> private_quantiles_of_attributes(columns, {"age": [20, 30, 40], "sex": [0]}, 1, 5, Randomness.of(0))[0]
    {'age': (30.0,), 'sex': (0.0,)}
    """
    if set(columns) != set(candidates):
        odd = sorted(set(columns) ^ set(candidates))
        raise InvalidMechanismError(f"columns and candidates must name the same attributes, differ in {odd}.")
    total = positive(epsilon, "epsilon")
    # Public: where there are no more candidates than quantiles, all are taken and nothing is spent.
    spending = sum(len(candidates[attribute]) > number for attribute in columns)
    thresholds: dict[str, Thresholds] = {}
    events: list[Event] = []
    for attribute, column in columns.items():
        thresholds[attribute], spent = private_quantiles(
            column,
            candidates[attribute],
            number,
            total / max(1, spending),
            randomness,
            name=f"quantiles of {attribute}",
            multiplicities=(multiplicities or {}).get(attribute),
        )
        events += spent
    return thresholds, tuple(events)


def quantile_events(n_candidates: int, number: int, epsilon: Number, *, name: str = "quantiles") -> tuple[Event, ...]:
    """Return the events of :func:`private_quantiles`, which depend on public parameters alone."""
    if number == 0 or n_candidates <= number:
        return ()
    part = _part(number, epsilon)
    levels: list[Event] = []
    wanted = [number]
    while wanted:
        # The quantiles of a level split disjoint parts of the column: a record pays once a level.
        branches = tuple(
            (_selection(_middle(count) / Fraction(count + 1), part, f"{name}, one of {count}"),) for count in wanted
        )
        levels.append(
            Parallel(name=f"{name}, level {len(levels) + 1}", branches=branches, proof="privacy/quantiles.md")
        )
        wanted = [side for count in wanted for side in (_middle(count) - 1, count - _middle(count)) if side]
    return tuple(levels)


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


def quantile_distribution(
    values: npt.ArrayLike, candidates: Sequence[float], number: int, epsilon: Number
) -> dict[Thresholds, float]:
    """Return the probability of every result of :func:`private_quantiles`, for small inputs.

    Examples
    --------
    >>> shares = quantile_distribution([1, 1, 2], [1, 2], 1, 1)
    >>> round(shares[(1.0,)] / shares[(2.0,)], 4)
    2.7183
    """
    column, _, cuts, part = _prepared(values, candidates, number, epsilon)
    return _distribution(column, cuts, part, number)


def _prepared(
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
    return column, times, cuts, _part(number, epsilon)


def _part(number: int, epsilon: Number) -> Fraction:
    count = check_whole(number, "number", 0, kind=InvalidMechanismError)
    # As many levels as the number has binary digits: each level halves what is left.
    return positive(epsilon, "epsilon") / max(1, count.bit_length())


def _middle(number: int) -> int:
    """Return which of ``number`` quantiles is selected first, from 1."""
    return (number + 1) // 2


def _selection(quantile: Fraction, part: Fraction, name: str) -> Selection:
    sensitivity = quantile_score(quantile)
    return Selection(
        name=name,
        inverse_temperature=float(part / (2 * sensitivity)),
        sensitivity=float(sensitivity),
        proof="privacy/quantiles.md",
    )


def _choices(
    column: Array, cuts: Array, number: int, part: Fraction, times: Times = None
) -> tuple[int, list[int], int]:
    """Return the first candidate that leaves enough on its left, and the log-weights of those that do on both sides."""
    middle = _middle(number)
    first, last = middle - 1, cuts.size - (number - middle)
    weights, denominator = quantile_log_weights(column, cuts[first:last], Fraction(middle, number + 1), part, times)
    return first, weights, denominator


def _selected(
    column: Array, times: Times, cuts: Array, number: int, part: Fraction, randomness: Randomness
) -> Thresholds:
    if number == 0 or cuts.size <= number:
        return tuple(cuts.tolist()) if number else ()
    first, weights, denominator = _choices(column, cuts, number, part, times)
    at = first + draws.select(weights, denominator, randomness)
    below = int(np.searchsorted(column, cuts[at], side="right"))
    middle = _middle(number)
    sides = (times, times) if times is None else (times[:below], times[below:])
    left = _selected(column[:below], sides[0], cuts[:at], middle - 1, part, randomness)
    right = _selected(column[below:], sides[1], cuts[at + 1 :], number - middle, part, randomness)
    return (*left, float(cuts[at]), *right)


def _distribution(column: Array, cuts: Array, part: Fraction, number: int) -> dict[Thresholds, float]:
    if number == 0 or cuts.size <= number:
        return {tuple(cuts.tolist()) if number else (): 1.0}
    first, weights, denominator = _choices(column, cuts, number, part)
    best = max(weights)
    shares = [math.exp(Fraction(weight - best, denominator)) for weight in weights]
    total = math.fsum(shares)
    out: dict[Thresholds, float] = {}
    for at, share in enumerate(shares, start=first):
        below = int(np.searchsorted(column, cuts[at], side="right"))
        lefts = _distribution(column[:below], cuts[:at], part, _middle(number) - 1)
        rights = _distribution(column[below:], cuts[at + 1 :], part, number - _middle(number))
        for left, p in lefts.items():
            for right, q in rights.items():
                out[(*left, float(cuts[at]), *right)] = share / total * p * q
    return out


def quantiles_of_data(values: Array, times: Times, number: int) -> Thresholds:
    """Return quantiles of some numbers, taken from the data without protection."""
    # A cut lies midway between two neighbouring values; at most number of them, all if there are fewer.
    distinct, place = np.unique(values, return_inverse=True)
    counts = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(counts, place, 1 if times is None else times)
    distinct, counts = distinct[counts > 0], counts[counts > 0]
    middles = (distinct[:-1] + distinct[1:]) / 2
    if len(middles) > number:
        at = _of_shares(distinct, counts, np.arange(1, number + 1) / (number + 1))
        middles = np.unique(middles[np.minimum(np.searchsorted(middles, at), len(middles) - 1)])
    return tuple(float(value) for value in middles)


def _of_shares(values: Array, counts: npt.NDArray[np.integer], shares: Array) -> Array:
    """Return quantiles of increasing values that occur often, as ``np.quantile`` does of one entry per record."""
    ends = np.cumsum(counts)
    at = shares * (ends[-1] - 1)
    below = np.floor(at)
    part = at - below
    low = values[np.searchsorted(ends, below, side="right")]
    high = values[np.searchsorted(ends, np.minimum(below + 1, ends[-1] - 1), side="right")]
    # From the nearer end, so that rounding is the same.
    return np.asarray(np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part)))
