"""A table of people and classes as the softmax of logits: what is known of it, as sums and their slopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import expit

from glassine.attacks.disclosure.constraints import Constraints
from glassine.attacks.disclosure.cutting_planes import SMALLEST_SHARE, Engine
from glassine.learners.greedy.impurity import Criterion, split_information
from glassine.records.arrays import AnyArray, Array, Indices, Ints

NEWTON = 60
"""Most steps to the shift that makes a rate exact; the bracket halves where Newton's step leaves it."""

SCALINGS = 2000
"""Most rounds of proportional fitting of a leaf whose counts were repaired; they converge linearly."""


def impurity_slope(counts: Array, criterion: Criterion) -> tuple[Array, Array]:
    """Return the impurity of branches in records, shape (b,), and its slope in their class counts, (b, c)."""
    n = counts.sum(axis=1, keepdims=True)
    whole = np.where(n > 0, n, 1.0)
    shares = counts / whole
    if criterion == "gini":
        squares = (shares * shares).sum(axis=1, keepdims=True)
        return (n * (1 - squares))[:, 0], 1 - 2 * shares + squares
    if criterion == "misclassification":
        out = np.ones_like(counts)
        out[np.arange(len(out)), counts.argmax(axis=1)] = 0.0
        return n[:, 0] - counts.max(axis=1), out
    logs = -np.log(np.maximum(shares, SMALLEST_SHARE))
    return (counts * logs).sum(axis=1), logs


def _softmax(logits: Array) -> Array:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(slots=True, eq=False)
class _Rates:
    """Leaves whose number of people of the label is known: one shift of the label's logits makes it exact."""

    cells: tuple[Indices, Indices]  # Rows and labels of quasi-identifiers that can be of their label and of others
    place: Indices  # The leaf of each, among those; shape (m,)
    sizes: Array  # People of each, shape (m,)
    correct: Array  # People of the label in each leaf; shape (k,)
    shift: Array  # The shift of each leaf that was found last; shape (k,)

    @classmethod
    def of(cls, posed: LogitProblem, correct: Array, labels: Indices) -> _Rates:
        """Return the leaves of which both the label and another class occur."""
        inner = (correct > 0) & (correct < posed.engine.leaves.sizes)
        rows = np.flatnonzero(inner[posed.leaf])
        kept, place = np.unique(posed.leaf[rows], return_inverse=True)
        return cls(
            cells=(rows, labels[posed.leaf[rows]]),
            place=place,
            sizes=posed.sizes[rows],
            correct=correct[kept],
            shift=np.zeros(len(kept)),
        )

    def moved(self, logits: Array) -> Array:
        """Return logits, shape (q, c), with those of the labels shifted: Newton's method within a bracket."""
        rows, labels = self.cells
        if not len(rows):
            return logits
        own = logits[rows, labels]
        others = logits[rows].copy()
        others[np.arange(len(rows)), labels] = -np.inf
        top = others.max(axis=1)
        odds = own - top - np.log(np.exp(others - top[:, None]).sum(axis=1))
        k = len(self.correct)
        least, most = np.full(k, np.inf), np.full(k, -np.inf)
        np.minimum.at(least, self.place, odds)
        np.maximum.at(most, self.place, odds)
        size = np.bincount(self.place, weights=self.sizes, minlength=k)
        goal = np.log(self.correct / (size - self.correct))
        # At the rate of the whole leaf, the quasi-identifiers with the most and the least odds bracket the shift.
        low, high = goal - most, goal - least
        shift = np.clip(self.shift, low, high)
        for _ in range(NEWTON):
            share = expit(odds + shift[self.place])
            over = np.bincount(self.place, weights=self.sizes * share, minlength=k) - self.correct
            slope = np.bincount(self.place, weights=self.sizes * share * (1 - share), minlength=k)
            low, high = np.where(over < 0, shift, low), np.where(over > 0, shift, high)
            if np.abs(over).max() < 1e-12 * float(size.max()):
                break
            step = shift - over / np.maximum(slope, 1e-300)
            shift = np.where((step > low) & (step < high), step, (low + high) / 2)
        self.shift = shift
        out = logits.copy()
        out[rows, labels] += shift[self.place]
        return out

    def tangent(self, gradient: Array, shares: Array) -> Array:
        """Return a gradient by the moved logits, shape (q, c), as one by the logits: shifts follow them."""
        every = np.arange(len(shares))
        return self.tangents(gradient, shares, np.zeros(len(shares), dtype=np.int64), every)

    def tangents(self, slopes: Array, shares: Array, entry: Indices, q: Indices) -> Array:
        """Return several gradients so: row i of ``slopes``, shape (e, c), is of gradient ``entry[i]`` and row ``q[i]``.

        Each gradient has all rows of a leaf, or none.
        """
        rows, labels = self.cells
        share = shares[rows, labels]
        weight = self.sizes * share * (1 - share)
        k = len(self.correct)
        whole = np.maximum(np.bincount(self.place, weights=weight, minlength=k), 1e-300)
        # The people of the label rise with its logit, and fall with those of the other classes.
        turn = -shares[rows] * share[:, None]
        turn[np.arange(len(rows)), labels] += share
        at = np.full(len(shares), -1)
        at[rows] = np.arange(len(rows))
        inside = np.flatnonzero(at[q] >= 0)
        own = at[q[inside]]
        key = entry[inside] * k + self.place[own]
        along = np.bincount(key, weights=slopes[inside, labels[own]], minlength=1)[key] / whole[self.place[own]]
        out = slopes.copy()
        out[inside] -= (along * self.sizes[own])[:, None] * turn[own]
        return out


class LogitProblem:
    """The problem in logits: what is fixed, what is free, the rows of the leaves, and candidates as they are met."""

    def __init__(self, engine: Engine, constraints: Constraints) -> None:
        self.engine, self.constraints = engine, constraints
        people, leaves = engine.people, engine.leaves
        self.sizes = people.sizes.astype(np.float64)
        self.leaf = people.leaf
        q = len(self.sizes)
        self.rows = leaves.rows()
        self.open = self.rows.possible[self.leaf]  # Which cells have a logit; shape (q, c)
        self.rated: _Rates | None = None
        if leaves.correct is not None and leaves.labels is not None and not constraints.sampled:
            self.rated = _Rates.of(self, leaves.correct, leaves.labels)
        self.by_leaf = sparse.csr_matrix((np.ones(q), (self.leaf, np.arange(q))), (len(leaves.sizes), q))
        totals = engine.totals
        self.totals = None if totals is None or np.isnan(totals).all() else totals
        self.candidates: dict[tuple[int, int], int] = {}
        self.idle: set[tuple[int, int]] = set()  # Candidates that are never better
        self.loose: list[bool] = []  # Whether a candidate can be worse than the split by a margin
        self.n_blocks, self.entries = 0, _Entries()
        self.split_blocks = [self._block(split.members, split.branch) for split in people.splits]
        divides = constraints.divides
        none = [np.zeros(len(split.members), dtype=np.int64) for split in people.splits if divides]
        self.node_blocks = [self._block(s.members, zero) for s, zero in zip(people.splits, none, strict=False)]
        self.branches: sparse.csr_matrix = sparse.csr_matrix((0, q))
        self.signs: sparse.csr_matrix = sparse.csr_matrix((0, 0))

    def _block(self, members: AnyArray, branch: AnyArray) -> tuple[int, int]:
        """Add the sums of some branches, and return the first and the last of them."""
        first = self.n_blocks
        self.entries.sums.append((first + branch.astype(np.int64), members.astype(np.int64)))
        self.n_blocks += int(branch.max(initial=-1)) + 1
        return first, self.n_blocks

    def meet(self, table: Array, *, all_families: bool = False) -> int:
        """Add the candidates that a table violates, the worst of each family, and return how many are new."""
        worst = self.constraints.worst(table)
        wanted = np.isfinite(worst.slack) if all_families else worst.slack < 0
        new = [(int(f), int(worst.at[f])) for f in np.flatnonzero(wanted)]
        new = [key for key in new if key not in self.candidates and key not in self.idle]
        for key in new:
            self._candidate(*key)
        new = [key for key in new if key in self.candidates]
        if new or not self.branches.shape[0]:
            rows, columns = self.entries.flat(self.entries.sums)
            shape = (self.n_blocks, len(self.sizes))
            self.branches = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape)
            rows, columns = self.entries.flat(self.entries.terms)
            values = np.concatenate([np.zeros(0), *self.entries.weights])
            self.signs = sparse.csr_matrix((values, (rows, columns)), (len(self.candidates), self.n_blocks))
        return len(new)

    def _candidate(self, family: int, at: int) -> None:
        """Add one constraint: impurity of its branches, less that of the split that was chosen."""
        constraints, families = self.constraints, self.constraints.families
        k, i = len(self.candidates), int(families.splits[family])
        members, branch, split = families.members(family), families.branches(family, at), constraints.people.splits[i]
        place = np.zeros(len(self.sizes), dtype=np.int64)
        place[split.members] = split.branch
        pairs = np.unique(np.stack([branch, place[members]]), axis=1)
        if not constraints.divides and pairs.shape[1] == len(np.unique(pairs[1])):
            self.idle.add((family, at))  # It joins branches, so that its impurity is never less
            return
        self.candidates[family, at] = k
        self.loose.append(constraints.divides or pairs.shape[1] > len(np.unique(pairs[0])))
        ratio = 1.0
        if constraints.divides:
            sizes = families.branch_sizes(family, at)
            ratio = float(split_information(sizes)) / float(constraints.divisors[i])
        parts = [(self._block(members, branch), 1.0)]
        parts += [(self.split_blocks[i], -ratio)]
        parts += [(self.node_blocks[i], ratio - 1)] if constraints.divides else []
        for (first, last), sign in parts:
            self.entries.terms.append((np.full(last - first, k), np.arange(first, last)))
            self.entries.weights.append(np.full(last - first, sign))

    def shares(self, z: Array) -> Array:
        """Return the softmax of logits, after those of labels were moved to where rates are exact, shape (q, c)."""
        logits = np.where(self.open, z.reshape(self.open.shape), -np.inf)
        if self.rated is not None:
            logits = self.rated.moved(logits)
        return _softmax(logits)

    def logits(self, table: Array) -> Array:
        """Return logits of a table; cells without people get a few."""
        shares = np.maximum(table / self.sizes[:, None], 1e-3)
        return np.where(self.open, np.log(shares), 0.0).ravel()

    def by_leaves(self, table: Array) -> Array:
        """Return the people of each leaf and class, shape (l, c)."""
        return np.asarray(self.by_leaf @ table)

    def off(self, counts: Array) -> Array:
        """Return by how much the rows of the leaves are above what is known, shape (l, r); 0 where there is none."""
        return np.where(self.rows.exists, np.einsum("lrc,lc->lr", self.rows.forms, counts) - self.rows.bounds, 0.0)

    def off_totals(self, table: Array) -> Array:
        """Return by how much the class totals are above what is known, shape (c,); 0 where nothing is."""
        if self.totals is None:
            return np.zeros(table.shape[1])
        return np.where(np.isnan(self.totals), 0.0, table.sum(axis=0) - np.nan_to_num(self.totals))

    def residual(self, table: Array) -> float:
        """Return the largest violation of what is known of leaves and totals, in people."""
        off = self.off(self.by_leaves(table))
        off = np.where(self.rows.bounded, np.maximum(-off, 0.0), np.abs(off))
        return float(max(off.max(initial=0.0), np.abs(self.off_totals(table)).max(initial=0.0)))

    def entropy(self, table: Array) -> float:
        """Return the entropy of a table, in nats over all people."""
        shares = table / self.sizes[:, None]
        logs = np.log(np.where(shares > 0, shares, 1.0))
        return float((table * (self.engine.leaves.offset - logs)).sum())

    def repaired(self, table: Array) -> Array:
        """Return the table scaled to leaves whose rows are exact: the nearest class counts, then proportions."""
        counts = self._nearest(self.by_leaves(table))
        moved = np.flatnonzero(np.abs(counts - self.by_leaves(table)).max(axis=1) > 0)
        rows = np.flatnonzero(np.isin(self.leaf, moved))
        x, leaf = np.where(self.rows.possible[self.leaf[rows]], table[rows], 0.0), self.leaf[rows]
        place = np.full(len(counts), -1)
        place[moved] = np.arange(len(moved))
        own, goal = place[leaf], counts[moved]
        total = sparse.csr_matrix((np.ones(len(rows)), (own, np.arange(len(rows)))), (len(moved), len(rows)))
        for _ in range(SCALINGS if len(rows) else 0):
            amounts = np.asarray(total @ x)
            x = x * (goal / np.where(amounts > 0, amounts, 1.0))[own]
            sums = x.sum(axis=1)
            x = x * (self.sizes[rows] / np.where(sums > 0, sums, 1.0))[:, None]
            if np.abs(np.asarray(total @ x) - goal).max() < 1e-12 * max(1.0, float(goal.max())):
                break
        out = table.copy()
        out[rows] = x
        return out

    def _nearest(self, counts: Array) -> Array:
        """Return the class counts of leaves that keep all rows and totals, as near as a linear program finds."""
        off = self.off(counts)
        beyond: Array = np.where(self.rows.bounded, np.maximum(-off, 0.0), np.abs(off)).max(axis=1, initial=0.0)
        coupled = bool(np.abs(self.off_totals(counts)).max(initial=0.0) > 1e-12)
        which = np.arange(len(beyond)) if coupled else np.flatnonzero(beyond > 0)
        if not len(which):
            return counts
        rows, (m, c) = self.rows.take(which), counts[which].shape
        leaf, row = np.nonzero(rows.exists)
        places = (leaf[:, None] * c + np.arange(c)).ravel()
        matrix = sparse.csr_matrix(
            (rows.forms[leaf, row].ravel(), (np.repeat(np.arange(len(leaf)), c), places)), (len(leaf), m * c)
        )
        targets, bounded = rows.bounds[leaf, row], rows.bounded[leaf, row]
        sums = sparse.kron(sparse.eye(m), np.ones((1, c))).tocsr()
        equal, right = [matrix[~bounded], sums], [targets[~bounded], counts[which].sum(axis=1)]
        if self.totals is not None and coupled:
            stated = np.flatnonzero(~np.isnan(self.totals))
            equal.append(sparse.kron(np.ones((1, m)), sparse.eye(c)).tocsr()[stated])
            right.append(self.totals[stated])
        # Up and down are how far a count moves: their sum is least.
        both = sparse.hstack([sparse.eye(m * c), -sparse.eye(m * c)]).tocsr()
        amounts = counts[which].ravel()
        lower = np.where(rows.possible, 0.0, 0.0).ravel() - amounts
        upper = np.where(rows.possible, np.inf, 0.0).ravel() - amounts
        solved = linprog(
            np.ones(2 * m * c),
            A_ub=-(matrix[bounded] @ both) if bounded.any() else None,
            b_ub=matrix[bounded] @ amounts - targets[bounded] if bounded.any() else None,
            A_eq=sparse.vstack(equal) @ both,
            b_eq=np.concatenate(right) - sparse.vstack(equal) @ amounts,
            bounds=np.stack(
                [np.zeros(2 * m * c), np.concatenate([np.maximum(upper, 0.0), np.maximum(-lower, 0.0)])], axis=1
            ),
            method="highs",
        )
        if not solved.success:
            return counts
        out = counts.copy()
        out[which] = np.maximum(amounts + both @ solved.x, 0.0).reshape(m, c)
        return out


@dataclass(slots=True)
class _Entries:
    """Places of sparse matrices in the making."""

    sums: list[tuple[Indices, Indices]] = field(default_factory=list)
    terms: list[tuple[Indices, Indices]] = field(default_factory=list)
    weights: list[Array] = field(default_factory=list)

    @staticmethod
    def flat(parts: Sequence[tuple[Indices, Indices]]) -> tuple[Ints, Ints]:
        """Return rows and columns of all parts."""
        none = np.zeros(0, dtype=np.int64)
        rows, columns = (np.concatenate([none, *(part[i] for part in parts)]) for i in (0, 1))
        return rows, columns
