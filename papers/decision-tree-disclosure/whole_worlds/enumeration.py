"""The posterior by enumeration: every world of a small instance, from the leaves upwards.

The tables of each leaf are listed first. At each internal node, deepest first, the tables of its branches are
combined, and those that break one of its constraints are dropped: a constraint concerns no one outside its node. Nodes
without candidates combine nothing, so that what is independent is never multiplied out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from glassine.attacks.disclosure.candidate_splits import MULTIWAY, THRESHOLD
from glassine.attacks.disclosure.constraints import Constraints
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.leaf_constraints import BoundedLeaves, LeafKnowledge
from glassine.attacks.disclosure.uncertain_membership import SampledLeaves
from glassine.attacks.disclosure.worlds import ROUNDING, NoWorldError, known_totals
from glassine.errors import CountingLimitError, parameter
from glassine.learners.greedy.impurity import impurity, split_information
from glassine.records.arrays import Array, Bools, Indices, Ints

Sums = dict[tuple[int, ...], tuple[float, int]]
Tables = npt.NDArray[np.int16]

AT_ONCE = 20_000
"""Tables that are checked together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableBlock:
    """All tables of some quasi-identifiers that nothing so far excludes."""

    members: Indices  # The quasi-identifiers; shape (m,)
    tables: Tables  # Their tables; shape (k, m, c)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Enumeration:
    """The posterior over all worlds."""

    table: Array  # P(class | quasi-identifier); of a sample with a last column for those outside; shape (q, c)
    n_worlds: int  # Number of tables
    log_assignments: float  # Natural logarithm of the number of assignments of classes to people
    possible: Bools  # Which cells are positive in some world; shape (q, c)


def enumerate_worlds(disclosure: Disclosure, *, most_worlds: int = 200_000) -> Enumeration:
    """Return the posterior by listing every world."""
    people, constraints = disclosure.people, disclosure.constraints
    blocks = [_leaf_block(disclosure, leaf, most_worlds) for leaf in range(len(people.leaf_nodes))]
    place = people.leaf.copy()
    for v in reversed(range(len(people.splits))):
        families = np.flatnonzero(constraints.families.splits == v)
        if not len(families):
            continue
        split = people.splits[v]
        parts = np.unique(place[split.members])
        merged = _product([blocks[i] for i in parts], split.node, most_worlds)
        blocks[int(parts[0])] = _filtered(constraints, merged, v, families)
        place[merged.members] = parts[0]
    return _mean(disclosure, [blocks[int(i)] for i in np.unique(place)], most_worlds)


def _mean(disclosure: Disclosure, blocks: list[TableBlock], most_worlds: int) -> Enumeration:
    """Return the mean of the worlds that consist of one table of each block and have the class totals."""
    people, leaves = disclosure.people, disclosure.leaves
    shape = (len(people.sizes), leaves.n_classes)
    table, possible, n_worlds, log_assignments = np.zeros(shape), np.zeros(shape, dtype=bool), 1, 0.0
    weights = []
    for block in blocks:
        logs = log_weights(block.tables, people.sizes[block.members])
        logs = logs + (block.tables.sum(axis=1, dtype=np.int64) * leaves.offset).sum(axis=1)
        weights.append(np.exp(logs - logs.max()))
        n_worlds *= len(block.tables)
        log_assignments += float(logs.max())
    totals = known_totals(disclosure)
    if totals is None:
        log_assignments += sum(math.log(float(weight.sum())) for weight in weights)
    else:
        sums = [block.tables.sum(axis=1, dtype=np.int64) for block in blocks]
        combined = combine(sums, weights, totals, most_worlds)
        if not combined.number:
            raise NoWorldError(
                "no table of whole people has these leaves and these class totals. Check the marginals, or the "
                "sampling fraction.",
                clashes=(),
            )
        weights = [weight * factor for weight, factor in zip(weights, combined.factors, strict=True)]
        n_worlds, log_assignments = combined.number, log_assignments + math.log(combined.weight)
    for block, weight in zip(blocks, weights, strict=True):
        mean = np.tensordot(weight, block.tables, axes=(0, 0)) / weight.sum()
        table[block.members] = mean / people.sizes[block.members][:, None]
        possible[block.members] = (block.tables[weight > 0] > 0).any(axis=0)
    return Enumeration(table=table, n_worlds=n_worlds, log_assignments=log_assignments, possible=possible)


def _too_many(where: str, needed: int, limit: int) -> CountingLimitError:
    return CountingLimitError(
        f"{where} has up to {needed:,} tables of people and classes, more than {parameter('most_worlds=')}{limit:,}.",
        remedy='Raise the limit, or take method="chain".',
        max_steps=limit,
    )


def _rows(n: int, capacity: Ints) -> Tables:
    """Return all ways to give n people one of the classes, none more often than its capacity, shape (k, c)."""
    if len(capacity) == 1:
        return np.full((int(n <= capacity[0]), 1), n, dtype=np.int16)
    out = []
    for first in range(min(n, int(capacity[0])) + 1):
        rest = _rows(n - first, capacity[1:])
        out.append(np.hstack([np.full((len(rest), 1), first, dtype=np.int16), rest]))
    return np.concatenate(out)


def _leaf_block(disclosure: Disclosure, leaf: int, most_worlds: int) -> TableBlock:
    """Return the tables of one leaf."""
    people, leaves = disclosure.people, disclosure.leaves
    members = np.flatnonzero(people.leaf == leaf)
    name = f"the leaf at node {people.leaf_nodes[leaf]}"
    size, c = int(people.sizes[members].sum()), leaves.n_classes
    capacity = np.full(c, size, dtype=np.int64)
    if leaves.counts is not None:
        capacity = leaves.counts[leaf].astype(np.int64)
    tables = np.zeros((1, 0, c), dtype=np.int16)
    for q in members:
        n = int(people.sizes[q])
        ways = math.comb(n + int((capacity > 0).sum()) - 1, n)
        if ways > most_worlds or n > np.iinfo(np.int16).max:
            raise _too_many(name, ways, most_worlds)
        rows = _rows(n, capacity)
        if len(tables) * len(rows) > 5 * most_worlds:
            raise _too_many(name, len(tables) * len(rows), most_worlds)
        left = np.repeat(tables, len(rows), axis=0)
        tables = np.concatenate([left, np.tile(rows, (len(tables), 1))[:, None]], axis=1)
        tables = tables[(tables.sum(axis=1) <= capacity).all(axis=1)]
    tables = tables[agrees_with_leaves(leaves, tables.sum(axis=1, dtype=np.int64), leaf)]
    if len(tables) > most_worlds:
        raise _too_many(name, len(tables), most_worlds)
    if not len(tables):
        raise NoWorldError(
            f"no table of whole people agrees with what {name} states. Check its counts and error rate.", clashes=()
        )
    return TableBlock(members=members, tables=tables)


def _product(blocks: list[TableBlock], node: int, most_worlds: int) -> TableBlock:
    """Return all combinations of the tables of several blocks."""
    needed = math.prod(len(block.tables) for block in blocks)
    if needed > most_worlds:
        raise _too_many(f"node {node}", needed, most_worlds)
    tables = blocks[0].tables
    for block in blocks[1:]:
        k = len(tables)
        left = np.repeat(tables, len(block.tables), axis=0)
        tables = np.concatenate([left, np.tile(block.tables, (k, 1, 1))], axis=1)
    return TableBlock(members=np.concatenate([block.members for block in blocks]), tables=tables)


def _filtered(constraints: Constraints, block: TableBlock, v: int, families: Indices) -> TableBlock:
    """Return the tables of a block that satisfy the constraints of one node."""
    place = np.full(len(constraints.people.sizes), -1, dtype=np.intp)
    place[block.members] = np.arange(len(block.members))
    allowance = constraints.allowance()[families]
    slacks, at = np.empty((len(block.tables), len(families))), np.empty((len(block.tables), len(families)), dtype=int)
    for first in range(0, len(block.tables), AT_ONCE):
        rows = slice(first, first + AT_ONCE)
        some = constraints.counted(block.tables[rows].astype(np.int64))
        chosen, whole = _own_terms(constraints, some, v, place)
        for k, f in enumerate(families):
            slacks[rows, k], at[rows, k] = _slack(constraints, some, int(f), place, chosen, whole)
    broken = slacks < -allowance
    kept = ~broken.any(axis=1)
    if not kept.any():
        worst = int(broken.sum(axis=0).argmax())
        clash = constraints.clash(int(families[worst]), int(np.bincount(at[broken[:, worst], worst]).argmax()))
        raise NoWorldError(
            f"no table of whole people agrees with the leaves if every split was the best by {constraints.criterion}: "
            f"{clash} excludes {int(broken[:, worst].sum()):,} of the {len(broken):,} tables of the node's people, "
            "other candidates the rest. The learner used another criterion or looked at fewer candidates: mend the "
            "adversary.",
            clashes=(clash,),
        )
    return TableBlock(members=block.members, tables=block.tables[kept])


def _own_terms(constraints: Constraints, tables: Ints, v: int, place: Indices) -> tuple[Array, Array]:
    """Return E(T) and H of one split for each table, in people."""
    split = constraints.people.splits[v]
    some = tables[:, place[split.members]]
    chosen = np.zeros(len(tables))
    for b in np.unique(split.branch):
        chosen += impurity(some[:, split.branch == b].sum(axis=1), constraints.criterion)
    return chosen, impurity(some.sum(axis=1), constraints.criterion)


def _slack(
    constraints: Constraints, tables: Ints, f: int, place: Indices, chosen: Array,
    whole: Array,
) -> tuple[Array, Indices]:  # fmt: skip
    """Return the least slack of one family for each table, and at which candidate it is."""
    families = constraints.families
    first, last = int(families.families[f]), int(families.families[f + 1])
    starts = families.groups[first:last] - families.groups[first]
    sums = np.add.reduceat(tables[:, place[families.members(f)]], starts, axis=1)
    total, kind, sizes = sums.sum(axis=1, keepdims=True), families.kinds[f], families.sizes[first:last]
    if kind == MULTIWAY:
        parts, branch_sizes = sums[:, None], sizes[None]
    else:
        one = np.cumsum(sums, axis=1)[:, :-1] if kind == THRESHOLD else sums
        parts = np.stack([one, total - one], axis=2)
        own = np.cumsum(sizes)[:-1] if kind == THRESHOLD else sizes
        branch_sizes = np.stack([own, sizes.sum() - own], axis=1)
    if constraints.sampled:
        branch_sizes = parts.sum(axis=-1)
    left = impurity(parts, constraints.criterion).sum(axis=2)
    slack = left - chosen[:, None]
    if constraints.divides:
        ratio = split_information(branch_sizes) / constraints.divisors[families.splits[f]]
        slack = left - whole[:, None] + ratio * (whole - chosen)[:, None]
    # Of a sample, the sizes of the branches differ from world to world; an empty branch is none.
    small = (branch_sizes < (constraints.smallest or 1)) & ((branch_sizes > 0) | (not constraints.sampled))
    if constraints.smallest is None:
        slack[:] = np.inf
    elif kind != MULTIWAY or constraints.sampled:
        slack[np.broadcast_to(small.any(axis=-1), slack.shape)] = np.inf
    if kind != MULTIWAY:
        slack[:, ~families.compared[first:last][: slack.shape[1]]] = np.inf
    at = slack.argmin(axis=1)
    return slack[np.arange(len(slack)), at], at


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """What the totals leave of some parts."""

    # For each part what the others weigh beside each of its tables; 0 for tables that no others complete; shape (k,).
    factors: tuple[Array, ...]
    weight: float  # Weight of all combinations
    number: int  # How many combinations there are


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
