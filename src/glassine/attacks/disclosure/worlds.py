"""Worlds: whole-number tables of people and classes that agree with everything that the reader knows.

A world says how many people of each quasi-identifier have each class. It agrees with the sizes of the
quasi-identifiers, with what the leaves tell, and with every internal constraint up to the adversary's tolerance. Of
a sample, it also says how many people of each quasi-identifier were left out.

The prior is that every assignment of classes to *people* is equally likely. A table x stands for
``prod_q n_q! / prod_c x_qc!`` assignments, which is its weight: without the factor, people who share their
quasi-identifiers would count as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from glassine.attacks.disclosure.constraints import Clash
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.leaves import LeafKnowledge
from glassine.attacks.disclosure.people import true_table
from glassine.attacks.disclosure.sample import SampledLeaves
from glassine.attacks.disclosure.slacks import BoundedLeaves
from glassine.errors import CountingLimitError, GlassineError, parameter

__all__ = [
    "Combined",
    "NoWorldError",
    "StartError",
    "agrees_with_leaves",
    "combine",
    "is_world",
    "known_totals",
    "log_weights",
    "true_world",
]

# Worlds under known class totals: parts that nothing else ties together, weighed by what the others can add up to.


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
        raise _too_many_totals(limit)
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
        raise _too_many_totals(limit)
    return {key: (math.fsum(found), numbers[key]) for key, found in out.items()}


def _too_many_totals(limit: int) -> CountingLimitError:
    return CountingLimitError(
        f"the class totals can be reached in more ways than {parameter('most_worlds=')}{limit:,} allows.",
        remedy='Raise the limit, or take method="chain".',
        max_steps=limit,
    )


Table = npt.NDArray[np.int64]

ROUNDING = 1e-6
"""By how much a published rate may differ from that of whole numbers."""


class NoWorldError(GlassineError):
    """No whole-number table agrees with what the reader is taken to know.

    Attributes
    ----------
    clashes : tuple of Clash
        The node and the candidate that no table of the people below the node satisfies; empty if leaves alone clash.
    """

    def __init__(self, message: str, *, clashes: tuple[Clash, ...]) -> None:
        super().__init__(message)
        self.clashes = clashes


class StartError(GlassineError):
    """The search for a first world ended without one; there may be one.

    Attributes
    ----------
    clashes : tuple of Clash
        The constraints that the last table breaks, the worst first.
    """

    def __init__(self, message: str, *, clashes: tuple[Clash, ...]) -> None:
        super().__init__(message)
        self.clashes = clashes


def log_weights(tables: npt.NDArray[np.integer], sizes: npt.NDArray[np.integer]) -> Floats:
    """Return the logarithm of the number of assignments that tables stand for.

    Parameters
    ----------
    tables : ndarray of int, shape (..., q, c)
        People of each quasi-identifier and class.
    sizes : ndarray of int, shape (q,)
        People of each quasi-identifier.

    Examples
    --------
    Two people who share their quasi-identifiers have one class each in two ways:

    >>> import numpy as np
    >>> np.exp(log_weights(np.array([[1, 1]]), np.array([2]))).round(6).item()
    2.0
    """
    return np.asarray(gammaln(np.asarray(sizes) + 1.0).sum() - gammaln(np.asarray(tables) + 1.0).sum(axis=(-2, -1)))


def agrees_with_leaves(leaves: LeafKnowledge, counts: npt.NDArray[np.integer], leaf: int) -> npt.NDArray[np.bool_]:
    """Return which class counts of one leaf, shape (..., c), agree with what is told of it."""
    if leaves.counts is not None:
        return np.asarray((counts == leaves.counts[leaf]).all(axis=-1))
    if isinstance(leaves, SampledLeaves):
        return _agrees_with_sample(leaves, counts, leaf)
    held = np.ones(counts.shape[:-1], dtype=bool)
    if isinstance(leaves, BoundedLeaves):
        held &= ((counts >= leaves.low[leaf]) & (counts <= leaves.high[leaf])).all(axis=-1)
    if leaves.labels is not None:
        own = counts[..., int(leaves.labels[leaf])]
        held &= own >= counts.max(axis=-1)
        if leaves.correct is not None:
            held &= own == leaves.correct[leaf]
    return held


def _agrees_with_sample(leaves: SampledLeaves, counts: npt.NDArray[np.integer], leaf: int) -> npt.NDArray[np.bool_]:
    inside = counts[..., :-1]
    records = inside.sum(axis=-1)
    held = np.ones(counts.shape[:-1], dtype=bool)
    if leaves.members is not None:
        held &= records == leaves.members[leaf]
    if leaves.labels is not None:
        own = inside[..., int(leaves.labels[leaf])]
        held &= own >= inside.max(axis=-1)
        if leaves.correct is not None:
            held &= own == leaves.correct[leaf]
        elif leaves.rates is not None:
            held &= np.abs(own - leaves.rates[leaf] * records) <= ROUNDING * np.maximum(records, 1)
    return held


def is_world(disclosure: Disclosure, table: npt.ArrayLike) -> bool:
    """Return whether a table is a world.

    Parameters
    ----------
    disclosure : Disclosure
        What the reader knows.
    table : array-like, shape (q, c)
        People of each quasi-identifier and class; of a sample with a last column of those outside.
    """
    given = np.asarray(table, dtype=np.float64)
    people = disclosure.people
    if given.shape != (len(people.sizes), disclosure.leaves.n_classes) or not np.isfinite(given).all():
        return False
    x = np.rint(given).astype(np.int64)
    if not ((x == given).all() and (x >= 0).all() and np.array_equal(x.sum(axis=1), people.sizes)):
        return False
    counts = np.zeros((len(people.leaf_nodes), x.shape[1]), dtype=np.int64)
    np.add.at(counts, people.leaf, x)
    told = all(bool(agrees_with_leaves(disclosure.leaves, row, i)) for i, row in enumerate(counts))
    totals = known_totals(disclosure)
    if totals is not None:
        told = told and bool((counts.sum(axis=0) == totals)[totals >= 0].all())
    return told and disclosure.constraints.satisfied(x)


def true_world(disclosure: Disclosure, truth: npt.ArrayLike) -> Table:
    """Return the table of everybody's true class, shape (q, c).

    Parameters
    ----------
    disclosure : Disclosure
        Whom the reader knows.
    truth : array-like, shape (n,)
        Everybody's class.
    """
    return true_table(disclosure.people, disclosure.classes, truth)
