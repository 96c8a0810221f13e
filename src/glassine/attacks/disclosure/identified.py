"""Identified disclosure: the least and the largest probability of each class, over all tables that agree with the tree.

The estimate of maximum entropy is one table of many. What holds for all of them needs no principle that selects one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from glassine.attacks.disclosure.constraints import NodeTerms
from glassine.attacks.disclosure.cutting_planes import cut_at
from glassine.attacks.disclosure.dual import TimeLimit, TimeLimitError
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.errors import InvalidParameterError, parameter
from glassine.records.arrays import AnyArray, Array, Bools, Indices, Ints

NEGLIGIBLE = 1e-9
"""People by which a table may be off and still show that a bound is attained: rounding of its sums."""

NEARLY = 1e-6
"""People by which the table of a linear program may violate an internal constraint: the solver's own rounding."""

FITTINGS = 400
"""Rounds of proportional fitting of one leaf; where they do not suffice, a linear program decides."""

MOST_ROUNDS = 60
"""Rounds of cuts for one bound; where they do not suffice, the bound is valid and not exact."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Identified:
    """What an attacker knows of each quasi-identifier by every table that agrees with the tree.

    Attributes
    ----------
    low, high : ndarray, shape (q, c)
        Least and largest P(class | quasi-identifier) of all tables that agree with leaves and internal nodes: expected
        numbers of people, which need not be whole. ``low`` is never above it, ``high`` never below it.
    exact : ndarray of bool, shape (q, c, 2)
        Whether ``low``, and ``high``, are attained.
    """

    low: Array
    high: Array
    exact: Bools

    def certain_of(self, probability: float) -> Bools:
        """Return of which quasi-identifiers one class has at least a probability in every table, shape (q,)."""
        if not 0 < probability <= 1:
            raise InvalidParameterError(f"{parameter('probability', probability)} must be in (0, 1].")
        return np.asarray((self.low >= probability - NEGLIGIBLE).any(axis=1))


def identified_disclosure(disclosure: Disclosure, *, search: bool = True, limit: TimeLimit | None = None) -> Identified:
    """Return the least and the largest probability of each class that the knowledge of an attacker allows.

    With class counts and no totals the bounds are exact, as far as the time suffices: first those of the leaves alone
    are computed, in closed form; then tables are sought that attain them and keep all internal constraints; the bounds
    that none attains are solved as linear programs with cuts. With less knowledge of the leaves the bounds are those of
    the leaves, which hold as well; noisy counts allow any classes, so that nothing is certain.

    Parameters
    ----------
    disclosure : Disclosure
        An estimate of all people of a training set, not of a sample.
    search : bool, default=True
        Whether to look for tables that attain the bounds of the leaves, and for better bounds where none does. Without
        it the bounds are those of the leaves, at once.
    limit : TimeLimit, optional
        When the search for exact bounds ends. Bounds that are not exact by then are those of the leaves or of the cuts
        so far.

    Raises
    ------
    InvalidParameterError
        If the disclosure is of a sample.

    Examples
    --------
    >>> import polars as pl
    >>> from glassine.attacks.disclosure import infer_sensitive
    >>> from glassine.learners.multiway_tree import MultiwayTreeClassifier
    >>> people = pl.DataFrame({"a": ["x", "x", "x", "y", "y"]})
    >>> tree = MultiwayTreeClassifier().fit(people, [0, 0, 1, 1, 1])
    >>> found = identified_disclosure(infer_sensitive(tree, people))
    >>> found.low.round(3).tolist(), bool(found.exact.all())
    ([[0.667, 0.333], [0.0, 1.0]], True)
    """
    if disclosure.sample is not None:
        raise InvalidParameterError(
            "identified disclosure is of people who all are training records, not of a sample.",
            remedy=f"Take {parameter('training', 'known')}.",
        )
    bounds = _Search(disclosure, limit)
    # What is not reached in time stays a bound.
    with suppress(TimeLimitError):
        if search:
            bounds.run()
    sizes = disclosure.people.sizes[:, None].astype(np.float64)
    return Identified(low=bounds.ends[..., 0] / sizes, high=bounds.ends[..., 1] / sizes, exact=bounds.exact)


@dataclass(slots=True, eq=False)
class _Search:
    """Bounds of the people of each quasi-identifier and class, and which of them are attained."""

    disclosure: Disclosure
    limit: TimeLimit | None
    ends: Array = field(init=False)  # Least and largest number of people; shape (q, c, 2)
    exact: Bools = field(init=False)

    def __post_init__(self) -> None:
        people, leaves = self.disclosure.people, self.disclosure.leaves
        low, high = leaves.class_bounds()
        if leaves.exact_counts is not None:
            low = high = leaves.exact_counts
        elif leaves.labels is not None:
            low, high = _of_labels(leaves.sizes, leaves.labels, leaves.correct, leaves.n_classes)
        sizes, of = people.sizes[:, None].astype(np.float64), people.leaf
        # The others of the leaf are too few, or too many, to hold all people of the class.
        least = np.maximum(low[of] - (leaves.sizes[of][:, None] - sizes), 0.0)
        self.ends = np.stack([least, np.minimum(sizes, high[of])], axis=2)
        alone = len(self.disclosure.constraints.families) == 0 and self.disclosure.class_totals is None
        self.exact = np.full(self.ends.shape, alone)
        has_outcomes = leaves.exact_counts is not None or leaves.labels is not None
        if not has_outcomes:
            self.exact[:] = False

    def run(self) -> None:
        """Make the bounds exact where class counts are known."""
        disclosure = self.disclosure
        if disclosure.leaves.exact_counts is None or self.exact.all():
            return
        pinned = self.ends[..., 0] >= self.ends[..., 1] - NEGLIGIBLE
        self.exact |= pinned[..., None]
        start = disclosure.quasi_probabilities * disclosure.people.sizes[:, None]
        for group in self._groups():
            self._attain(start, group)
        terms = disclosure.constraints.terms(start)
        problem = _Program(disclosure, terms, self.limit)
        for row, column, end in np.argwhere(~self.exact):
            value, attained = problem.extreme(int(row), int(column), bool(end))
            if value is not None:
                inner = max if not end else min
                self.ends[row, column, end] = inner(self.ends[row, column, end], value)
            self.exact[row, column, end] = attained

    def _groups(self) -> Iterator[list[tuple[int, int, int]]]:
        """Yield bounds that are not known to be attained, one of each leaf at a time: their tables do not meet."""
        left: dict[int, list[tuple[int, int, int]]] = {}
        for row, column, end in np.argwhere(~self.exact).tolist():
            left.setdefault(int(self.disclosure.people.leaf[row]), []).append((row, column, end))
        while left:
            yield [each.pop() for each in left.values()]
            left = {leaf: each for leaf, each in left.items() if each}

    def _attain(self, start: Array, group: list[tuple[int, int, int]]) -> None:
        """Mark the bounds of a group that one table attains; where it is not allowed, try each half."""
        if self.limit is not None:
            self.limit.check()
        table, kept = start.copy(), []
        for row, column, end in group:
            rows = np.flatnonzero(self.disclosure.people.leaf == self.disclosure.people.leaf[row])
            block = _block(start[rows], int(np.flatnonzero(rows == row)[0]), column, float(self.ends[row, column, end]))
            if block is not None:
                table[rows] = block
                kept.append((row, column, end))
        if kept and self.disclosure.constraints.satisfied(table):
            for row, column, end in kept:
                self.exact[row, column, end] = True
        elif len(kept) > 1:
            half = len(kept) // 2
            self._attain(start, kept[:half])
            self._attain(start, kept[half:])


def _of_labels(sizes: Array, labels: Indices, correct: Array | None, n_classes: int) -> tuple[Array, Array]:
    """Return bounds of class counts where the label is the most frequent class, shape (l, c) each."""
    at = np.arange(len(sizes))
    label_low = sizes / n_classes if correct is None else correct
    label_high = sizes if correct is None else correct
    high = np.minimum(sizes / 2 if correct is None else np.minimum(correct, sizes - correct), sizes)
    low, most = np.zeros((len(sizes), n_classes)), np.repeat(high[:, None], n_classes, axis=1)
    if correct is not None:
        # The others hold at most as many as the label each, so that one may have to hold some.
        low = np.repeat(np.maximum(sizes - correct - (n_classes - 2) * correct, 0.0)[:, None], n_classes, axis=1)
    low[at, labels], most[at, labels] = label_low, label_high
    return low, most


def _block(block: Array, row: int, column: int, value: float) -> Array | None:
    """Return a table of the same sums with one cell set, as even as fitting finds; None where it does not converge."""
    rows, columns = block.sum(axis=1), block.sum(axis=0)
    rows[row] -= value
    columns[column] -= value
    out = np.outer(np.maximum(rows, 0.0), np.maximum(columns, 0.0))
    out[row, column] = 0.0
    for _ in range(FITTINGS):
        totals = out.sum(axis=0)
        out *= np.where(totals > 0, columns / np.where(totals > 0, totals, 1.0), 0.0)
        sums = out.sum(axis=1)
        out *= np.where(sums > 0, rows / np.where(sums > 0, sums, 1.0), 0.0)[:, None]
        if np.abs(out.sum(axis=0) - columns).max() < NEGLIGIBLE and np.abs(out.sum(axis=1) - rows).max() < NEGLIGIBLE:
            out[row, column] = value
            return np.asarray(out)
    return None


class _Program:
    """Linear programs over the tables with the leaves' counts, under cuts that all bounds share."""

    def __init__(self, disclosure: Disclosure, terms: NodeTerms, limit: TimeLimit | None) -> None:
        self.disclosure, self.terms, self.limit = disclosure, terms, limit
        people, leaves = disclosure.people, disclosure.leaves
        counts = leaves.exact_counts
        if counts is None:
            raise InvalidParameterError("exact bounds need the class counts of the leaves.")
        q, c = len(people.sizes), leaves.n_classes
        cells = np.arange(q * c).reshape(q, c)
        rows = sparse.csr_matrix((np.ones(q * c), (np.repeat(np.arange(q), c), cells.ravel())), (q, q * c))
        place = (people.leaf[:, None] * c + np.arange(c)).ravel()
        of_leaves = sparse.csr_matrix((np.ones(q * c), (place, cells.ravel())), (len(leaves.sizes) * c, q * c))
        self.equal = sparse.vstack([rows, of_leaves]).tocsr()
        self.totals = np.concatenate([people.sizes.astype(np.float64), counts.ravel()])
        self.shape, self.cuts, self.right = (q, c), sparse.csr_matrix((0, q * c)), np.zeros(0)

    def extreme(self, row: int, column: int, largest: bool) -> tuple[float | None, bool]:
        """Return the extreme of one cell under the cuts so far, and whether an allowed table attains it."""
        constraints = self.disclosure.constraints
        goal = np.zeros(self.shape[0] * self.shape[1])
        goal[row * self.shape[1] + column] = -1.0 if largest else 1.0
        value = None
        for _ in range(MOST_ROUNDS):
            if self.limit is not None:
                self.limit.check()
            solved = linprog(
                goal,
                A_ub=-self.cuts if len(self.right) else None,
                b_ub=-self.right if len(self.right) else None,
                A_eq=self.equal,
                b_eq=self.totals,
                bounds=(0, None),
                method="highs",
            )
            if not solved.success:
                return value, False
            table = np.maximum(solved.x, 0.0).reshape(self.shape)
            value = float(table[row, column])
            worst = constraints.worst(table, self.terms)
            broken = np.flatnonzero(worst.slack < -constraints.allowance() - NEARLY)
            if not len(broken):
                return value, True
            self._cut(table, broken, worst.at)
        return value, False

    def _cut(self, table: Array, broken: Indices, at: Ints) -> None:
        """Add the tangents of violated constraints."""
        rows, columns, values, right = [], [], [], []
        for k, f in enumerate(broken.tolist()):
            cut = cut_at(self.disclosure.constraints, f, int(at[f]), table, self.terms)
            cells: AnyArray = (cut.members[:, None].astype(np.int64) * self.shape[1] + np.arange(self.shape[1])).ravel()
            rows.append(np.full(len(cells), k))
            columns.append(cells)
            values.append(cut.coefficients[cut.branch].ravel())
            right.append(cut.bound)
        shape = (len(right), self.cuts.shape[1])
        new = sparse.csr_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape)
        self.cuts = sparse.vstack([self.cuts, new]).tocsr()
        self.right = np.concatenate([self.right, np.array(right)])
