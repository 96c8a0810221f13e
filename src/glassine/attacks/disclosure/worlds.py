"""Worlds: whole-number tables of people and classes that agree with everything that the reader knows.

A world says how many people of each quasi-identifier have each class. It agrees with the sizes of the
quasi-identifiers, with what the leaves reveal, and with every internal constraint up to the adversary's tolerance. Of
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
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.special import gammaln

from glassine.attacks.disclosure.constraints import Clash
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.leaves import BoundedLeaves, LeafKnowledge
from glassine.attacks.disclosure.sample import SampledLeaves
from glassine.errors import CountingLimitError, GlassineError, parameter
from glassine.records.arrays import Array, Bools, Ints

Sums = dict[tuple[int, ...], tuple[float, int]]


ROUNDING = 1e-6
"""By how much a published rate may differ from that of whole numbers."""

TIME_LIMIT = 60.0
"""Seconds to find class counts of all leaves; the message says a minute."""

INFEASIBLE = 2
"""The status of SciPy's milp for a program without a solution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """What the totals leave of some parts."""

    # For each part what the others weigh beside each of its tables; 0 for tables that no others complete; shape (k,).
    factors: tuple[Array, ...]
    weight: float  # Weight of all combinations
    number: int  # How many combinations there are


def known_totals(disclosure: Disclosure) -> Ints | None:
    """Return the people of each class, -1 where it is not known; None where the leaves reveal it, or nothing does."""
    # Of a sample the last class is outside it.
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


def combine(sums: Sequence[Ints], weights: Sequence[Array], totals: Ints, limit: int) -> Combined:
    """Return what known totals leave of parts that are independent of each other."""
    # Shapes: sums (k, c); weights (k,); totals (c,).
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
        missing = {key: rest.get(tuple(a - b for a, b in zip(aim, key, strict=True)), (0.0, 0))[0] for key in part}
        factors.append(np.array([missing[key] for key in keys[i]]))
        before = _add(before, part, aim, limit)
    total, number = after[0].get(aim, (0.0, 0))
    return Combined(factors=tuple(factors), weight=total, number=number)


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
    return {key: (math.fsum(result), numbers[key]) for key, result in out.items()}


def _too_many_totals(limit: int) -> CountingLimitError:
    return CountingLimitError(
        f"the class totals can be reached in more ways than {parameter('most_worlds=')}{limit:,} allows.",
        remedy='Raise the limit, or take method="chain".',
        max_steps=limit,
    )


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


def log_weights(tables: npt.NDArray[np.integer], sizes: npt.NDArray[np.integer]) -> Array:
    """Return the logarithm of the number of assignments that tables stand for.

    Shapes: ``tables`` (..., q, c); ``sizes`` (q,).

    Examples
    --------
    Two people who share their quasi-identifiers have one class each in two ways:

    >>> import numpy as np
    >>> np.exp(log_weights(np.array([[1, 1]]), np.array([2]))).round(6).item()
    2.0
    """
    return np.asarray(gammaln(np.asarray(sizes) + 1.0).sum() - gammaln(np.asarray(tables) + 1.0).sum(axis=(-2, -1)))


def agrees_with_leaves(leaves: LeafKnowledge, counts: npt.NDArray[np.integer], leaf: int) -> Bools:
    """Return which class counts of a leaf, shape (..., c), agree with the evidence."""
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


def _agrees_with_sample(leaves: SampledLeaves, counts: npt.NDArray[np.integer], leaf: int) -> Bools:
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


def leaf_tables(disclosure: Disclosure, rng: np.random.Generator) -> Ints:
    """Return class counts of all leaves, shape (l, c), that agree with the evidence."""
    # Where class totals tie the leaves together, an integer program finds them, with random costs, so that chains start
    # from different ones.
    leaves = disclosure.leaves
    if leaves.counts is not None:
        return leaves.counts.astype(np.int64)
    totals = known_totals(disclosure)
    if totals is None:
        return np.array([_one(disclosure, leaf, rng) for leaf in range(len(leaves.sizes))])
    n_leaves, c = len(leaves.sizes), leaves.n_classes
    by_leaf = sparse.kron(sparse.identity(n_leaves), np.ones((1, c)))
    by_class = sparse.kron(np.ones((1, n_leaves)), sparse.identity(c))
    rows = [LinearConstraint(by_leaf, leaves.sizes, leaves.sizes), LinearConstraint(by_class, totals, totals)]
    least, most = (bound.copy() for bound in leaves.class_bounds())
    if leaves.labels is not None:
        at = np.arange(n_leaves)
        if leaves.correct is not None:
            most = np.minimum(most, leaves.correct[:, None])
            least[at, leaves.labels] = leaves.correct
        ahead = sparse.lil_matrix((n_leaves * c, n_leaves * c))
        cells = np.arange(n_leaves * c)
        ahead[cells, np.repeat(at * c + leaves.labels, c)] = 1.0
        ahead = ahead.tocsr() - sparse.identity(n_leaves * c)
        rows.append(LinearConstraint(ahead, 0.0, np.inf))
    result = milp(
        rng.random(n_leaves * c),
        integrality=np.ones(n_leaves * c),
        bounds=Bounds(least.ravel(), most.ravel()),
        constraints=rows,
        options={"time_limit": TIME_LIMIT, "mip_rel_gap": 1.0},
    )
    if result.x is None:
        if result.status == INFEASIBLE:
            raise NoWorldError(
                "no table of whole people has these leaves and these class totals. Check the marginals.", clashes=()
            )
        raise StartError(
            "no class counts of the leaves with these totals were found in a minute. Take the relaxation.", clashes=()
        )
    return np.asarray(np.rint(result.x).astype(np.int64).reshape(n_leaves, c))


def _one(disclosure: Disclosure, leaf: int, rng: np.random.Generator) -> Ints:
    """Return class counts of one leaf that agree with its label and error rate."""
    leaves = disclosure.leaves
    c, size = leaves.n_classes, int(leaves.sizes[leaf])
    label = 0 if leaves.labels is None else int(leaves.labels[leaf])
    others = rng.permutation([k for k in range(c) if k != label])
    if isinstance(leaves, BoundedLeaves):
        return _within(leaves.low[leaf].astype(np.int64), leaves.high[leaf].astype(np.int64), size, rng)
    out = np.zeros(c, dtype=np.int64)
    order = [label, *others.tolist()]
    if leaves.correct is not None:
        out[label] = int(leaves.correct[leaf])
        order = others.tolist()
    for i in range(size - int(out.sum())):
        out[order[i % len(order)]] += 1
    return out


def _within(low: Ints, high: Ints, size: int, rng: np.random.Generator) -> Ints:
    """Return counts within bounds that add up: places left are drawn without regard to the class."""
    places = np.repeat(np.arange(len(low)), high - low)
    chosen = rng.permutation(places)[: size - int(low.sum())]
    return np.asarray(low + np.bincount(chosen, minlength=len(low)))
