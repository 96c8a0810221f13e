"""Neighboring data sets chosen against a learner: candidates for the worst pair, and a search among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain import Domain
from glassine.domain.attributes import Category, Integer, Real, is_whole
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.verification.protocols import Progress
from glassine.verification.statistical import FEWEST_RUNS, LowerBound, lower_bound

__all__ = ["Pair", "Search", "search", "worst_pairs"]

OUTLIER = "held by one record"
"""A category that nobody else has."""

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two neighboring data sets ``(X, y)``, the second with one record more.

    Attributes
    ----------
    name : str
        Why it may be a bad case.
    d0, d1 : tuple of ndarray
        The data sets.
    """

    name: str
    d0: tuple[Array, Array]
    d1: tuple[Array, Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The result of a search for the worst pair.

    Attributes
    ----------
    pair : Pair
        The pair that looked worst in the preliminary runs.
    bound : LowerBound
        Of that pair, from fresh runs.
    preliminary : tuple of (str, LowerBound)
        All pairs, the worst first; bounds of few runs, each for itself, which must not be picked from. Empty where
        there was but one pair.
    """

    pair: Pair
    bound: LowerBound
    preliminary: tuple[tuple[str, LowerBound], ...]


def worst_pairs(
    X: Any,
    y: Any,
    *,
    domain: Domain | None = None,
    classes: Sequence[Any] | None = None,
    target_range: tuple[float, float] | None = None,
) -> tuple[Pair, ...]:
    """Propose neighboring data sets that a learner may fail to keep apart as it claims.

    They are: an empty cell, a category or a number that nobody else has, the same values everywhere, a record that
    tips a majority, a duplicate, a hardly populated data set, a target at either end of its range, and labels in turn
    with a record in front or at the end, which moves all others.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Background records, at least four; their values are used as they are.
    y : array_like of shape (n,)
        Their labels, or targets where ``target_range`` is given.
    domain : Domain, optional
        Tells the extreme values and the categories of the columns, in order.
    classes : sequence, optional
        The public classes; by default those of ``y``.
    target_range : (float, float), optional
        The declared range of a numeric target.

    Returns
    -------
    tuple of Pair
        Pairs, of which the second data set has one record more.

    Raises
    ------
    InvalidDataError
        If the background is not a table with one label for each of at least four records.

    Examples
    --------
    >>> pairs = worst_pairs([[0, 1], [1, 0], [0, 0], [1, 1]], [0, 1, 0, 1])
    >>> len(pairs), pairs[0].name
    (20, 'empty cell, column 0, label 0')
    """
    background, labels = _roomy(np.asarray(X)), _roomy(np.asarray(y))
    if background.ndim != 2 or labels.shape != background.shape[:1] or not len(labels) >= 4:
        raise InvalidDataError(
            f"X must be a table of at least 4 records with one label each, got shapes {background.shape} and "
            f"{labels.shape}."
        )
    if target_range is not None:
        labels, chosen = labels.astype(np.float64), [float(end) for end in target_range]
    else:
        targets = list(classes) if classes is not None else np.unique(labels).tolist()
        counts = {target: int((labels == target).sum()) for target in targets}
        # One label that is rare and one that is common say enough.
        chosen = list(dict.fromkeys([min(targets, key=counts.__getitem__), max(targets[::-1], key=counts.__getitem__)]))
    return tuple(_proposals(background, labels, domain, chosen))


def search(
    learner: Any,
    pairs: Sequence[Pair],
    *,
    runs: int = 1000,
    preliminary: int = 200,
    seed: int | None = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Search:
    """Find the pair that looks worst in a few runs each, and bound the parameter on it from fresh runs.

    Guarantee
    ---------
    That of ``lower_bound``: the preliminary runs choose the pair and are not counted; see ``bounds.md``.

    Parameters
    ----------
    learner : estimator, callable or Source
        As in ``lower_bound``.
    pairs : sequence of Pair
        Such as ``worst_pairs``.
    runs : int, default=1000
        Runs for the bound.
    preliminary : int, default=200
        Runs for each pair beforehand.
    seed : int or None, default=0
        Preliminary and final runs get different seeds.
    progress : callable, optional
        Called with the runs done and the runs in all, preliminary ones included.
    **options
        Everything else that ``lower_bound`` takes.

    Raises
    ------
    InvalidParameterError
        If there is no pair, or one of the numbers of runs is too small.

    Examples
    --------
    >>> def careless(dataset, seed):
    ...     return dataset[1].sum() + np.random.default_rng(seed).laplace(scale=0.5)
    >>> found = search(careless, worst_pairs([[0], [0], [1], [1]], [0, 1, 0, 1]), runs=1000, epsilon=1.0, score=float)
    >>> found.bound.violated, "label 1" in found.pair.name
    (True, True)
    """
    if not pairs:
        raise InvalidParameterError("there must be at least one pair, got none. See worst_pairs.")
    for name, number in (("runs", runs), ("preliminary", preliminary)):
        if not is_whole(number) or not number >= FEWEST_RUNS:
            raise InvalidParameterError(f"{name} must be a whole number of at least {FEWEST_RUNS}, got {number!r}.")
    # A single pair needs no choice.
    rounds = preliminary if len(pairs) > 1 else 0
    total = runs + rounds * len(pairs)
    tried = []
    for i, pair in enumerate(pairs if rounds else ()):
        found = lower_bound(
            learner,
            pair.d0,
            pair.d1,
            runs=rounds,
            seed=_other(seed, i + 1),
            progress=_shifted(progress, i * rounds, total),
            **options,
        )
        tried.append((found.value, abs(found.advantage), pair, found))
    tried.sort(key=lambda one: one[:2], reverse=True)
    best = tried[0][2] if tried else pairs[0]
    fresh = lower_bound(
        learner,
        best.d0,
        best.d1,
        runs=runs,
        seed=_other(seed, 0),
        progress=_shifted(progress, total - runs, total),
        **options,
    )
    return Search(pair=best, bound=fresh, preliminary=tuple((pair.name, found) for _, _, pair, found in tried))


def _other(seed: int | None, number: int) -> int | None:
    return None if seed is None else int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def _shifted(progress: Progress | None, done: int, total: int) -> Progress | None:
    return None if progress is None else lambda more, _: progress(done + more, total)


def _proposals(X: Array, y: Array, domain: Domain | None, labels: list[Any]) -> Iterator[Pair]:
    for label in labels:
        for j in range(X.shape[1]):
            yield from _empty_cell(X, y, domain, j, label)
        for j in range(X.shape[1]):
            yield _added(X, y, _outlier(X, domain, j), label, f"value that nobody has, column {j}, label {label!r}")
        same = np.repeat(X[:1], len(X), axis=0)
        yield _added(
            same,
            np.repeat([_other_label(label, labels, y)], len(y)).astype(y.dtype),
            X[0],
            label,
            f"one of all, label {label!r}",
        )
        yield from _tipped(X, y, labels, label)
        yield _added(X, y, X[0], label, f"duplicate of the first record, label {label!r}")
        yield _added(X[:2], y[:2], X[-1], label, f"two records and a third, label {label!r}")
        yield from _in_turn(X, y, labels, label)


def _roomy(values: Array) -> Array:
    """Return an array that holds texts of any length and any whole number."""
    if values.dtype.kind in "US":
        return np.array(values, dtype=object)
    return values.astype(np.int64) if values.dtype.kind in "iu" else values


def _added(X: Array, y: Array, record: Array, label: Any, name: str, *, first: bool = False) -> Pair:
    row, target = np.array(record, dtype=X.dtype).reshape(1, -1), np.array([label]).astype(y.dtype)
    parts, targets = ((row, X), (target, y)) if first else ((X, row), (y, target))
    return Pair(name=name, d0=(X, y), d1=(np.concatenate(parts), np.concatenate(targets)))


def _empty_cell(X: Array, y: Array, domain: Domain | None, j: int, label: Any) -> Iterator[Pair]:
    """Leave out all records that hold the rarest value of a column, and add one that does."""
    values = _extremes(X, domain, j)
    value = min(values, key=lambda candidate: int((X[:, j] == candidate).sum()))
    others = X[:, j] != value
    if others.sum() >= 2:
        record = X[0].copy()
        record[j] = value
        yield _added(X[others], y[others], record, label, f"empty cell, column {j}, label {label!r}")


def _extremes(X: Array, domain: Domain | None, j: int) -> list[Any]:
    attribute = None if domain is None else domain[list(domain)[j]]
    if isinstance(attribute, Category):
        return list(attribute.values)
    if isinstance(attribute, Integer | Real):
        return [attribute.lo, attribute.hi]
    if attribute is not None:
        return [0, 1]
    values = X[:, j].tolist()
    if all(isinstance(value, int | float) for value in values):
        return [min(values), max(values)]
    return list(dict.fromkeys(values))


def _outlier(X: Array, domain: Domain | None, j: int) -> Array:
    """Return the first record with a value that no other has; outside the domain where that is possible."""
    record: Array = X[0].copy()
    values = X[:, j].tolist()
    if any(isinstance(value, bool) for value in values):
        record[j] = not X[0, j]
    elif all(isinstance(value, int | float) for value in values):
        known = [*values, *(_extremes(X, domain, j) if domain is not None else [])]
        record[j] = max(known) + 1000 * ((max(known) - min(known)) or 1)
    else:
        record[j] = OUTLIER
    return record


def _other_label(label: Any, labels: list[Any], y: Array) -> Any:
    return next((other for other in [*labels, *y.tolist()] if other != label), label)


def _tipped(X: Array, y: Array, labels: list[Any], label: Any) -> Iterator[Pair]:
    other = _other_label(label, labels, y)
    half = len(y) // 2
    balanced = np.array([label, other] * half).astype(y.dtype)
    same = np.repeat(X[:1], 2 * half, axis=0)
    yield _added(same, balanced, X[0], label, f"tipped majority, label {label!r}")


def _in_turn(X: Array, y: Array, labels: list[Any], label: Any) -> Iterator[Pair]:
    other = _other_label(label, labels, y)
    turns = np.array([label, other] * len(y))[: len(y)].astype(y.dtype)
    same = np.repeat(X[:1], len(y), axis=0)
    yield _added(same, turns, X[0], other, f"labels in turn, a record in front, label {other!r}", first=True)
    yield _added(same, turns, X[0], turns[0], f"labels in turn, a record at the end, label {label!r}")
