"""Worlds under known class totals: parts that nothing else ties together, weighed by what the others can add up to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.sample import SampledLeaves
from glassine.errors import CountingLimitError

__all__ = ["Combined", "combine", "known_totals"]

Floats = npt.NDArray[np.float64]
Sums = dict[tuple[int, ...], tuple[float, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """What the totals leave of some parts.

    Attributes
    ----------
    factors : tuple of ndarray, shape (k,)
        For each part what the others weigh beside each of its tables; 0 for tables that no others complete.
    weight : float
        Weight of all combinations.
    number : int
        How many combinations there are.
    """

    factors: tuple[Floats, ...]
    weight: float
    number: int


def known_totals(disclosure: Disclosure) -> npt.NDArray[np.int64] | None:
    """Return the people of each class, -1 where it is not known; None where the leaves tell it, or nothing does.

    Of a sample the last class is outside it.
    """
    leaves, n = disclosure.leaves, disclosure.people.n_people
    if leaves.counts is not None:
        return None
    out = np.full(leaves.n_classes, -1, dtype=np.int64)
    if disclosure.class_totals is not None:
        totals = np.rint(disclosure.class_totals).astype(np.int64)
        out[: len(totals)] = totals
        if len(totals) < len(out):
            out[-1] = n - totals.sum()
    elif isinstance(leaves, SampledLeaves) and leaves.members is None and leaves.fraction is not None:
        out[-1] = n - round(n * leaves.fraction)
    return None if (out < 0).all() else out


def combine(
    sums: Sequence[npt.NDArray[np.int64]], weights: Sequence[Floats], totals: npt.NDArray[np.int64], limit: int
) -> Combined:
    """Return what known totals leave of parts that are independent of each other.

    Parameters
    ----------
    sums : sequence of ndarray of int64, shape (k, c)
        People of each class in each table of each part.
    weights : sequence of ndarray, shape (k,)
        Weights of the tables.
    totals : ndarray of int64, shape (c,)
        People of each class, -1 where it is not known.
    limit : int
        Most different sums that are held at once.

    Raises
    ------
    CountingLimitError
        If there are more.
    """
    known = np.flatnonzero(totals >= 0)
    aim = tuple(totals[known].tolist())
    keys = [[tuple(row) for row in part[:, known].tolist()] for part in sums]
    parts: list[Sums] = []
    for own, weight in zip(keys, weights, strict=True):
        grouped: Sums = {}
        for key, w in zip(own, weight.tolist(), strict=True):
            own_weight, own_number = grouped.get(key, (0.0, 0))
            grouped[key] = (own_weight + w, own_number + 1)
        parts.append(grouped)
    nothing: Sums = {(0,) * len(known): (1.0, 1)}
    after = [nothing]
    for part in reversed(parts):
        after.append(_add(part, after[-1], aim, limit))
    after.reverse()
    before, factors = nothing, []
    for i, part in enumerate(parts):
        rest = _add(before, after[i + 1], aim, limit)
        missing = {key: rest.get(_less(aim, key), (0.0, 0))[0] for key in part}
        factors.append(np.array([missing[key] for key in keys[i]]))
        before = _add(before, part, aim, limit)
    total, number = after[0].get(aim, (0.0, 0))
    return Combined(factors=tuple(factors), weight=total, number=number)


def _less(aim: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a - b for a, b in zip(aim, key, strict=True))


def _add(one: Sums, other: Sums, aim: tuple[int, ...], limit: int) -> Sums:
    """Return the sums of two independent parts that do not exceed the totals."""
    if len(one) * len(other) > 50 * limit:
        raise _too_many(limit)
    out: dict[tuple[int, ...], list[float]] = {}
    numbers: dict[tuple[int, ...], int] = {}
    for key, (weight, number) in one.items():
        for more, (weight_more, number_more) in other.items():
            joint = tuple(a + b for a, b in zip(key, more, strict=True))
            if any(a > b for a, b in zip(joint, aim, strict=True)):
                continue
            out.setdefault(joint, []).append(weight * weight_more)
            numbers[joint] = numbers.get(joint, 0) + number * number_more
    if len(out) > limit:
        raise _too_many(limit)
    return {key: (math.fsum(found), numbers[key]) for key, found in out.items()}


def _too_many(limit: int) -> CountingLimitError:
    return CountingLimitError(
        f"the class totals can be reached in more ways than most_worlds={limit:,} allows. Raise the limit, or take "
        'method="chain".',
        max_steps=limit,
    )
