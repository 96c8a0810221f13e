"""Cuts: each violated constraint adds its tangent, a linear inequality that it implies, until none is violated.

The maximum-entropy problem is solved in the dual, again and again as cuts come and go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from glassine.attacks.disclosure.constraints import Constraints, Cut, NodeTerms, branch_counts
from glassine.attacks.disclosure.dual import DualProblem, TimeLimit, minimise
from glassine.attacks.disclosure.leaf_constraints import LeafKnowledge
from glassine.attacks.disclosure.people import People
from glassine.learners.greedy.impurity import Criterion, split_information
from glassine.records.arrays import Array, Bools, Indices

SMALLEST_SHARE = 1e-12
"""Shares below it are raised to it before a logarithm: the tangent of entropy stays an upper bound."""

MOST_ROUNDS = 200
"""Rounds of cuts; where they do not do, the gap says how far the estimate is off."""

IDLE_ROUNDS = 3
"""A cut whose multiplier is nothing for so many rounds is dropped."""

NOTHING = 1e-7
"""A multiplier below it counts as none: an interior point never makes it exactly that."""


def tangent(counts: Array, criterion: Criterion) -> tuple[Array, float]:
    """Return the tangent of the impurity of branches at their class counts: coefficients, shape (b, c), and a constant.

    With m the counts of a table of the same branch sizes, the impurity is at most ``sum(coefficients * m) + constant``:
    it is concave. Of entropy this is Gibbs' inequality, which holds for any positive shares.
    """
    n = counts.sum(axis=1)
    whole = np.where(n > 0, n, 1.0)
    if criterion == "gini":
        return -2 * counts / whole[:, None], float((n + (counts * counts).sum(axis=1) / whole).sum())
    if criterion == "misclassification":
        out = np.zeros_like(counts)
        out[np.arange(len(out)), counts.argmax(axis=1)] = -1.0
        return out, float(n.sum())
    shares = np.maximum(counts / whole[:, None], SMALLEST_SHARE)
    return -np.log(shares / shares.sum(axis=1, keepdims=True)), 0.0


def linear_tangent(counts: Array, criterion: Criterion) -> Array:
    """Return the tangent of the impurity of branches whose sizes are not known, shape (b, c)."""
    # Impurity in records is concave and homogeneous of degree one, so that its tangent needs no constant: with m the
    # counts of any table, the impurity is at most sum(coefficients * m).
    n = counts.sum(axis=1, keepdims=True)
    shares = counts / np.where(n > 0, n, 1.0)
    if criterion == "gini":
        return np.asarray(1 - 2 * shares + (shares * shares).sum(axis=1, keepdims=True))
    if criterion == "misclassification":
        out = np.ones_like(counts)
        out[np.arange(len(out)), counts.argmax(axis=1)] = 0.0
        return out
    return tangent(counts, "entropy")[0]


def cut_at(constraints: Constraints, family: int, at: int, x: Array, terms: NodeTerms) -> Cut:
    """Return the tangent of one constraint at x, shape (q, c), where the chosen splits' terms are known numbers."""
    if constraints.sampled:
        return _sampled_cut(constraints, family, at, x, terms)
    families, criterion = constraints.families, constraints.criterion
    i = int(families.splits[family])
    members, branch = families.members(family), families.branches(family, at)
    ratio = 1.0
    if constraints.divides:
        ratio = float(split_information(families.branch_sizes(family, at))) / float(constraints.divisors[i])
    slackness = constraints.tolerance * float(constraints.node_sizes[i]) / 2
    coefficients, constant = tangent(branch_counts(x, members, branch), criterion)
    chosen, whole = float(terms.chosen[i]), float(terms.whole[i])
    target = whole - ratio * (whole - chosen) if constraints.divides else chosen
    return Cut(
        family=family, at=at, members=members, branch=branch, coefficients=coefficients,
        bound=target - constant - slackness, slackness=slackness,
    )  # fmt: skip


def _sampled_cut(constraints: Constraints, family: int, at: int, x: Array, terms: NodeTerms) -> Cut:
    """Return the tangent of one constraint on a sample: branch sizes are not known, and the last column is outside."""
    families, criterion = constraints.families, constraints.criterion
    i = int(families.splits[family])
    members, branch = families.members(family), families.branches(family, at)
    slackness = constraints.tolerance * float(constraints.node_sizes[i]) / 2
    counts = branch_counts(constraints.counted(x), members, branch)
    coefficients, bound = linear_tangent(counts, criterion), float(terms.chosen[i])
    if constraints.divides:
        # n S(W) is the entropy of the branch sizes, which is concave in them, and n is known at the node.
        gain = (float(terms.whole[i]) - bound) / float(constraints.divisors[i])
        sizes = counts.sum(axis=1)
        part = tangent(sizes[None], "entropy")[0][0] / max(float(sizes.sum()), 1.0)
        coefficients, bound = coefficients + gain * part[:, None], float(terms.whole[i])
    outside = np.zeros((len(coefficients), 1))
    return Cut(
        family=family, at=at, members=members, branch=branch, coefficients=np.hstack([coefficients, outside]),
        bound=bound - slackness, slackness=slackness,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CutSolution:
    """A solution of the relaxation with some cuts."""

    table: Array  # Expected people of each quasi-identifier and class; shape (q, c)
    multipliers: Array  # Those of the cuts; shape (k,)
    value: float  # Upper bound of the entropy of what satisfies the leaves and the cuts, in nats over all people
    entropy: float  # Entropy of the table
    residual: float  # Largest violation of a linear row by the table, in people
    feasible: bool  # False if the rows and cuts were proven to contradict each other


@dataclass(slots=True, eq=False)
class Engine:
    """The maximum-entropy problem of one tree, solved again and again as cuts come and go."""

    # people, leaves: what the reader knows.
    people: People
    leaves: LeafKnowledge
    # Number of people of each class, where it is known and the leaves do not reveal it; NaN for a class of which it is
    # not; shape (c,), or None.
    totals: Array | None = None
    limit: TimeLimit | None = None  # When the search ends
    _atom: Indices = field(init=False)
    _refined: set[tuple[int, int]] = field(init=False, default_factory=set)
    _rows: Array = field(init=False)
    _totals: Array = field(init=False)

    def __post_init__(self) -> None:
        self._atom = self.people.leaf.copy()
        leaves = self.leaves
        weights = np.ones(leaves.n_classes)
        if self.totals is not None and not np.isnan(self.totals).any():
            weights = np.maximum(self.totals, 1e-3)
        weights = weights / weights.sum()
        self._totals = np.log(weights[self._known_totals()] / weights[-1])
        self._rows = np.zeros(leaves.rows().bounds.shape)
        at = np.arange(len(leaves.sizes))
        if leaves.counts is not None:
            logs = np.log(np.where(leaves.counts > 0, leaves.counts, 1.0))
            self._rows = logs - logs[at, leaves.counts.argmax(axis=1)][:, None]
        elif leaves.correct is not None and leaves.labels is not None:
            wrong = np.maximum(leaves.sizes - leaves.correct, 1e-6)
            odds = weights[leaves.labels] / np.maximum(1 - weights[leaves.labels], 1e-6)
            self._rows[at, leaves.labels] = np.log(np.maximum(leaves.correct, 1e-6) / wrong / odds)

    def _known_totals(self) -> Indices:
        """Return the classes whose totals are rows of the problem: the last is implied if all are known."""
        if self.totals is None:
            return np.zeros(0, dtype=np.intp)
        stated = np.flatnonzero(~np.isnan(self.totals))
        return stated[:-1] if len(stated) == len(self.totals) else stated

    def _refine(self, cut: Cut) -> None:
        """Split the atoms by the branches of a cut."""
        if (cut.family, cut.at) in self._refined:
            return
        self._refined.add((cut.family, cut.at))
        code = np.zeros(len(self._atom), dtype=np.int64)
        code[cut.members] = cut.branch + 1
        _, self._atom = np.unique(self._atom * (int(code.max()) + 1) + code, return_inverse=True)

    def _touched(self, leaf: Indices, cuts: Sequence[Cut]) -> Bools:
        """Return which leaves have no closed form."""
        n_leaves = len(self.leaves.sizes)
        if self.totals is not None:
            return np.ones(n_leaves, dtype=bool)
        if self.leaves.counts is not None:
            return np.bincount(leaf, minlength=n_leaves) > 1
        out = np.zeros(n_leaves, dtype=bool)
        for cut in cuts:
            out[self.people.leaf[cut.members]] = True
        return out

    def solve(self, cuts: Sequence[Cut], multipliers: Array, *, precision: float) -> CutSolution:
        """Return the table of most entropy under the leaves and some cuts."""
        # Shapes: multipliers (k,).
        if self.limit is not None:
            self.limit.check()
        for cut in cuts:
            self._refine(cut)
        mass = np.bincount(self._atom, weights=self.people.sizes)
        first = np.zeros(len(mass), dtype=np.intp)
        first[self._atom[::-1]] = np.arange(len(self._atom))[::-1]
        leaf = self.people.leaf[first]
        touched = self._touched(leaf, cuts)
        free = touched[leaf]
        closed = self.leaves.shares()[leaf]
        fixed = np.where(free, 0.0, mass)[:, None] * closed
        table = fixed.copy()
        logs = np.log(np.where(closed > 0, closed, 1.0))
        offset = self.leaves.offset
        value = entropy = float((fixed * (offset - logs)).sum())
        residual, out, feasible = 0.0, np.zeros(len(cuts)), True
        forms, bounds = self._forms(cuts, first, fixed, free)
        # A form without coefficients is about people of whom everything is known: it holds, or nothing does.
        empty = (np.diff(forms.tocsc().indptr) == 0) & (bounds > 1e-9)
        if empty.any():
            out, feasible = empty[: len(cuts)].astype(np.float64), False
        elif free.any():
            kept = np.flatnonzero(touched)
            place = np.cumsum(touched) - 1
            solution = minimise(
                DualProblem(
                    mass=mass[free].astype(np.float64),
                    leaf=place[leaf[free]],
                    rows=self.leaves.rows().take(kept),
                    forms=forms,
                    bounds=bounds,
                    bounded=np.arange(len(bounds)) < len(cuts),
                    offset=offset,
                ),
                rows=self._rows[kept],
                forms=np.concatenate([multipliers, self._totals]),
                precision=precision,
                limit=self.limit,
            )
            table[free] = solution.table
            value, entropy, residual = value + solution.value, entropy + solution.entropy, solution.residual
            out, feasible = solution.forms[: len(cuts)], solution.bounded_below
            if feasible:
                self._rows[kept] = solution.rows
                self._totals = solution.forms[len(cuts) :]
        shares = table / mass[:, None]
        return CutSolution(
            table=self.people.sizes[:, None] * shares[self._atom],
            multipliers=out,
            value=value,
            entropy=entropy,
            residual=residual,
            feasible=feasible,
        )

    def _forms(self, cuts: Sequence[Cut], first: Indices, fixed: Array, free: Bools) -> tuple[sparse.csr_matrix, Array]:
        """Return the cuts and class totals as forms over the free atoms, what the fixed ones give taken off."""
        c = fixed.shape[1]
        place = np.cumsum(free) - 1
        rows, columns, values, bounds = [], [], [], []
        code = np.full(len(self._atom), -1, dtype=np.int64)
        for k, cut in enumerate(cuts):
            code[:] = -1
            code[cut.members] = cut.branch
            of_atom = code[first]
            atoms = np.flatnonzero(of_atom >= 0)
            coefficients = cut.coefficients[of_atom[atoms]]
            bounds.append(cut.bound - float((coefficients * fixed[atoms]).sum()))
            open_ = free[atoms]
            cells = place[atoms[open_]][:, None] * c + np.arange(c)
            rows.append(cells.ravel())
            columns.append(np.full(cells.size, k))
            values.append(coefficients[open_].ravel())
        if self.totals is not None:
            for k, j in enumerate(self._known_totals()):
                rows.append(np.arange(int(free.sum())) * c + j)
                columns.append(np.full(int(free.sum()), len(cuts) + k))
                values.append(np.ones(int(free.sum())))
                bounds.append(float(self.totals[j] - fixed[:, j].sum()))
        shape = (int(free.sum()) * c, len(bounds))
        if not rows:
            return sparse.csr_matrix(shape), np.zeros(0)
        cells, at, data = np.concatenate(rows), np.concatenate(columns), np.concatenate(values)
        return sparse.csr_matrix((data, (cells, at)), shape=shape), np.array(bounds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Approximation:
    """What outer approximation ends with."""

    point: CutSolution  # The last table
    # Upper bound of the entropy of every table that the linearised constraints allow, in nats over all people.
    bound: float
    cuts: tuple[Cut, ...]  # The cuts that the table was solved with
    rounds: int  # How often the dual was solved
    converged: bool  # Whether every constraint holds to its tolerance


def outer_approximation(
    engine: Engine,
    constraints: Constraints,
    start: CutSolution,
    terms: NodeTerms,
    *,
    precision: float = 1e-10,
    most_rounds: int = MOST_ROUNDS,
) -> Approximation:
    """Maximise the entropy under internal constraints, by tangents at one solution after the other."""
    n, allowance = float(engine.people.n_people), constraints.allowance()
    cuts: list[Cut] = []
    multipliers, idle = np.zeros(0), np.zeros(0, dtype=int)
    point, bound, rounds, aimed = start, start.value, 0, precision
    while point.feasible:
        worst = constraints.worst(point.table, terms)
        broken = np.flatnonzero(worst.slack < -allowance)
        done = not len(broken) and aimed <= precision
        if done or rounds >= most_rounds:
            return Approximation(point=point, bound=bound, cuts=tuple(cuts), rounds=rounds, converged=done)
        for f in broken[np.argsort(worst.slack[broken])]:
            cuts.append(cut_at(constraints, int(f), int(worst.at[f]), point.table, terms))
        # A rough solution is enough to cut far; the dual is solved to the end only once nothing is violated.
        aimed = min(1e-4, max(precision, 1e-3 * float(-worst.slack[broken].min(initial=0.0)) / n))
        # New cuts start inside the cone of positive multipliers, old ones where they were.
        multipliers = np.concatenate([multipliers, np.full(len(cuts) - len(multipliers), 1e-2)])
        idle = np.concatenate([idle, np.zeros(len(cuts) - len(idle), dtype=int)])
        point = engine.solve(cuts, multipliers, precision=aimed * n)
        bound = point.value + sum(m * cut.slackness for m, cut in zip(point.multipliers, cuts, strict=True))
        rounds += 1
        idle = np.where(point.multipliers > NOTHING, 0, idle + 1)
        keep = idle < IDLE_ROUNDS
        if point.feasible:
            cuts = [cut for cut, kept in zip(cuts, keep, strict=True) if kept]
            multipliers, idle = point.multipliers[keep], idle[keep]
            point = replace(point, multipliers=multipliers)
    return Approximation(point=point, bound=bound, cuts=tuple(cuts), rounds=rounds, converged=False)
