"""Maximum entropy under linear constraints: the exponential family, solved in the dual, again as cuts come and go.

People who are in one leaf and take the same side of every cut have the same distribution: they are one atom. With m_a
people in atom a, s_ac = sum over the leaf's rows and the cuts of multiplier times coefficient, the distribution of an
atom is proportional to exp(s_ac), and the dual

    D = sum_a m_a log sum_c exp(s_ac) - (multipliers times right-hand sides)

is convex, and at any multipliers, those of inequalities at least 0, an upper bound of the entropy. A primal-dual
interior-point Newton method minimises it. Its Hessian is block diagonal in the leaves, bordered by the cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from glassine.attacks.disclosure.constraints import Cut
from glassine.attacks.disclosure.leaves import LeafKnowledge, Rows
from glassine.attacks.disclosure.people import People

__all__ = ["DualProblem", "DualSolution", "Engine", "Point", "minimise"]

Floats = npt.NDArray[np.float64]

MOST_STEPS = 300

FRACTION = 0.995


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DualProblem:
    """Atoms, the rows of their leaves, and linear forms over all atoms.

    Attributes
    ----------
    mass : ndarray, shape (a,)
        People of each atom, positive; atoms are sorted by leaf.
    leaf : ndarray of intp, shape (a,)
        The leaf of each atom, every one from 0 to l - 1.
    rows : Rows
        The rows of the leaves.
    forms : csr_matrix, shape (a c, k)
        Coefficients of the cuts and class totals, row a c + j for class j of atom a.
    known : ndarray, shape (k,)
        Their right-hand sides: the forms are at least, or exactly, as large.
    bounded : ndarray of bool, shape (k,)
        Which forms are inequalities.
    offset : ndarray, shape (c,)
        Logarithm of what each class weighs before anything is known: a class that stands for several weighs more.
    """

    mass: Floats
    leaf: npt.NDArray[np.intp]
    rows: Rows
    forms: sparse.csr_matrix
    known: Floats
    bounded: npt.NDArray[np.bool_]
    offset: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DualSolution:
    """A point of the dual and the table that belongs to it.

    Attributes
    ----------
    rows : ndarray, shape (l, r)
        Multipliers of the leaves' rows.
    forms : ndarray, shape (k,)
        Multipliers of the forms.
    table : ndarray, shape (a, c)
        Expected people of each atom and class.
    value : float
        The dual: an upper bound of the entropy of every table that satisfies the constraints, in nats over all people.
    entropy : float
        Entropy of the table.
    residual : float
        Largest violation of a row or form by the table, in people.
    bounded_below : bool
        False if the dual fell below zero, which no entropy does: the constraints contradict each other.
    """

    rows: Floats
    forms: Floats
    table: Floats
    value: float
    entropy: float
    residual: float
    bounded_below: bool


class _Dual:
    """The dual function with its derivatives; multipliers are one vector, the leaves' rows first."""

    def __init__(self, problem: DualProblem) -> None:
        self.p = problem
        self.n_leaves, self.per_leaf = problem.rows.known.shape
        self.n_rows = self.n_leaves * self.per_leaf
        a, c = len(problem.mass), problem.rows.possible.shape[1]
        self.n_classes = c
        self.starts = np.flatnonzero(np.concatenate([[True], np.diff(problem.leaf) > 0]))
        self.possible = problem.rows.possible[problem.leaf]
        self.known = np.concatenate([(problem.rows.known * problem.rows.exists).ravel(), problem.known])
        self.exists = np.concatenate([problem.rows.exists.ravel(), np.ones(len(problem.known), dtype=bool)])
        self.bounded = np.concatenate([(problem.rows.bounded & problem.rows.exists).ravel(), problem.bounded])
        cells = np.arange(a * c)
        self.by_atom = sparse.csr_matrix((np.ones(a * c), (cells // c, cells)), shape=(a, a * c))
        leaf_cell = problem.leaf[cells // c] * c + cells % c
        self.by_leaf = sparse.csr_matrix((np.ones(a * c), (leaf_cell, cells)), shape=(self.n_leaves * c, a * c))
        self.transposed = problem.forms.T.tocsr()

    def table(self, theta: Floats) -> tuple[Floats, float]:
        """Return the table and the dual value at some multipliers."""
        beta = theta[: self.n_rows].reshape(self.n_leaves, 1, self.per_leaf)
        scores = (beta @ self.p.rows.forms)[:, 0][self.p.leaf]
        scores = scores + (self.p.forms @ theta[self.n_rows :]).reshape(scores.shape)
        scores = np.where(self.possible, scores + self.p.offset, -np.inf)
        top = scores.max(axis=1, keepdims=True)
        weights = np.exp(scores - top)
        totals = weights.sum(axis=1, keepdims=True)
        logs = (top + np.log(totals))[:, 0]
        value = float(self.p.mass @ logs) - float(theta[self.exists] @ self.known[self.exists])
        return self.p.mass[:, None] * weights / totals, value

    def gradient(self, x: Floats) -> Floats:
        """Return by how much the table exceeds the right-hand sides."""
        columns = np.add.reduceat(x, self.starts, axis=0)
        rows = (self.p.rows.forms @ columns[:, :, None])[:, :, 0]
        out = np.concatenate([rows.ravel(), self.transposed @ x.ravel()]) - self.known
        out[~self.exists] = 0.0
        return np.asarray(out)

    def direction(self, x: Floats, right: Floats, diagonal: Floats) -> Floats:
        """Return the Newton direction: the Hessian plus a diagonal, against a right-hand side."""
        c, r, forms = self.n_classes, self.per_leaf, self.p.rows.forms
        columns = np.add.reduceat(x, self.starts, axis=0)
        shares = x / self.p.mass[:, None]
        outer = np.add.reduceat(x[:, :, None] * shares[:, None, :], self.starts, axis=0)
        block = -outer
        block[:, np.arange(c), np.arange(c)] += columns
        block = forms @ block @ forms.transpose(0, 2, 1)
        exists = self.p.rows.exists
        block = block * exists[:, :, None] * exists[:, None, :]
        ridge = 1e-12 * (1.0 + np.abs(block[:, np.arange(r), np.arange(r)]))
        extra = np.where(exists, diagonal[: self.n_rows].reshape(-1, r) + ridge, 1.0)
        block[:, np.arange(r), np.arange(r)] += extra
        first = right[: self.n_rows].reshape(-1, r, 1)
        if len(right) == self.n_rows:
            return np.asarray(np.linalg.solve(block, first)).ravel()
        border, corner = self._border(x, shares)
        border = (forms @ border.reshape(self.n_leaves, c, -1)) * exists[:, :, None]
        solved = np.linalg.solve(block, np.concatenate([first, border], axis=2))
        flat = border.reshape(self.n_rows, -1)
        schur = corner - flat.T @ solved[:, :, 1:].reshape(self.n_rows, -1)
        at = np.arange(len(schur))
        schur[at, at] += diagonal[self.n_rows :] + 1e-13 * (1.0 + np.abs(np.diag(corner)))
        rest = right[self.n_rows :] - flat.T @ solved[:, :, 0].ravel()
        last = _solve(schur, rest)
        rows = solved[:, :, 0] - solved[:, :, 1:] @ last
        return np.concatenate([rows.ravel(), last])

    def _border(self, x: Floats, shares: Floats) -> tuple[Floats, Floats]:
        """Return the Hessian between leaves' class counts and forms, shape (l c, k), and among forms, shape (k, k)."""
        weighted = sparse.diags(x.ravel()) @ self.p.forms
        sums = self.by_atom @ weighted
        spread = sparse.diags(shares.ravel()) @ self.by_atom.T
        border = np.asarray((self.by_leaf @ weighted - self.by_leaf @ (spread @ sums)).todense())
        corner = self.transposed @ weighted - sums.T @ (sparse.diags(1 / self.p.mass) @ sums)
        return border, np.asarray(corner.todense())


def _solve(matrix: Floats, right: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])


def minimise(
    problem: DualProblem,
    *,
    rows: Floats,
    forms: Floats,
    precision: float,
    ceiling: float = np.inf,
) -> DualSolution:
    """Minimise the dual.

    Parameters
    ----------
    problem : DualProblem
        The constraints.
    rows : ndarray, shape (l, r)
        Multipliers of the leaves' rows to start from.
    forms : ndarray, shape (k,)
        Multipliers of the forms to start from.
    precision : float
        Largest gap between the dual and the table's entropy that is aimed at, in nats over all people.
    ceiling : float
        Largest multiplier of an inequality among the forms; finite, it is the price of a violation per person.
    """
    dual = _Dual(problem)
    theta = np.where(dual.exists, np.concatenate([rows.ravel(), forms]), 0.0)
    low, high = dual.bounded, dual.bounded & np.isfinite(ceiling)
    high[: dual.n_rows] = False
    n_low = int(low.sum())
    mu = 1e-2
    theta[low] = np.maximum(theta[low], 1e-3)
    if high.any():
        theta[high] = np.minimum(theta[high], 0.9 * ceiling)
    goal = precision / max(n_low, 1)
    below, above = np.zeros_like(theta), np.zeros_like(theta)
    below[low] = mu / theta[low]
    above[high] = mu / (ceiling - theta[high])
    x, value = dual.table(theta)
    sound = True
    for _ in range(MOST_STEPS):
        gradient = dual.gradient(x)
        error = np.abs(gradient - below + above).max(initial=0.0)
        off = np.abs(theta[low] * below[low] - mu).max(initial=0.0)
        # At a finite price the dual bounds the entropy less the price of what is violated, which can be negative.
        if value < 0 and not high.any():
            sound = False
            break
        if error <= max(1e-9, 1e-12 * float(problem.mass.max())) and mu <= goal and off <= goal:
            break
        while mu > goal and error <= 10 * mu and off <= 10 * mu:
            mu = max(goal, min(0.1 * mu, mu**1.5))
        theta, below, above, x, value, moved = _step(
            dual, theta, below, above, x, value, gradient, mu, ceiling, low, high
        )
        if not moved and mu <= goal:
            break
        if not moved:
            mu = max(goal, 0.1 * mu)
    return _solution(dual, theta, x, value, sound)


def _step(
    dual: _Dual, theta: Floats, below: Floats, above: Floats, x: Floats, value: float, gradient: Floats, mu: float,
    ceiling: float, low: Any, high: Any,
) -> tuple[Floats, Floats, Floats, Floats, float, bool]:  # fmt: skip
    """Take one step of the interior-point method."""
    diagonal = np.zeros_like(theta)
    slope = gradient.copy()
    diagonal[low] += below[low] / theta[low]
    slope[low] -= mu / theta[low]
    room = ceiling - theta[high]
    diagonal[high] += above[high] / room
    slope[high] += mu / room
    step = dual.direction(x, -slope, diagonal)
    step[~dual.exists] = 0.0
    d_below, d_above = np.zeros_like(theta), np.zeros_like(theta)
    d_below[low] = mu / theta[low] - below[low] - below[low] / theta[low] * step[low]
    d_above[high] = mu / room - above[high] + above[high] / room * step[high]
    length = min(_longest(theta[low], step[low]), _longest(room, -step[high]))

    def barrier(point: Floats, value: float) -> float:
        total = value - mu * float(np.log(point[low]).sum())
        return total - mu * float(np.log(ceiling - point[high]).sum()) if high.any() else total

    old_value, old = value, barrier(theta, value)
    decrease = float(slope @ step)
    noise = 1e-13 * (abs(old) + float(np.abs(theta * dual.known).sum()) + 1.0)
    moved = False
    for _ in range(40):
        new = theta + length * step
        x_new, value = dual.table(new)
        if np.isfinite(value) and barrier(new, value) <= old + 1e-4 * length * decrease + noise:
            theta, x, moved = new, x_new, True
            break
        length *= 0.5
    if not moved:
        return theta, below, above, x, old_value, False
    below = below + min(1.0, _longest(below[low], d_below[low])) * d_below
    above = above + min(1.0, _longest(above[high], d_above[high])) * d_above
    # Bounds on the multipliers of bounds keep the primal-dual Hessian near that of the barrier.
    below[low] = np.clip(below[low], mu / theta[low] / 1e8, mu / theta[low] * 1e8)
    above[high] = np.clip(above[high], mu / (ceiling - theta[high]) / 1e8, mu / (ceiling - theta[high]) * 1e8)
    return theta, below, above, x, value, True


def _longest(values: Floats, steps: Floats) -> float:
    """Return the longest step, at most 1, that keeps values positive."""
    falling = steps < 0
    return float(min(1.0, (FRACTION * values[falling] / -steps[falling]).min(initial=np.inf)))


def _solution(dual: _Dual, theta: Floats, x: Floats, value: float, sound: bool) -> DualSolution:
    gradient = dual.gradient(x)
    excess = np.where(dual.bounded, np.minimum(gradient, 0.0), gradient)
    shares = x / dual.p.mass[:, None]
    entropy = float((x * (dual.p.offset - np.log(np.where(shares > 0, shares, 1.0)))).sum())
    return DualSolution(
        rows=theta[: dual.n_rows].reshape(dual.n_leaves, dual.per_leaf),
        forms=theta[dual.n_rows :],
        table=x,
        value=value,
        entropy=entropy,
        residual=float(np.abs(excess).max(initial=0.0)),
        bounded_below=sound,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Point:
    """A solution of the relaxation with some cuts.

    Attributes
    ----------
    table : ndarray, shape (q, c)
        Expected people of each quasi-identifier and class.
    multipliers : ndarray, shape (k,)
        Those of the cuts.
    value : float
        Upper bound of the entropy of what satisfies the leaves and the cuts, in nats over all people.
    entropy : float
        Entropy of the table.
    residual : float
        Largest violation of a linear row by the table, in people.
    feasible : bool
        False if the rows and cuts were proven to contradict each other.
    """

    table: Floats
    multipliers: Floats
    value: float
    entropy: float
    residual: float
    feasible: bool


@dataclass(slots=True, eq=False)
class Engine:
    """The maximum-entropy problem of one tree, solved again and again as cuts come and go.

    Attributes
    ----------
    people, leaves : People, LeafKnowledge
        What the reader knows.
    totals : ndarray, shape (c,), or None
        Number of people of each class, where it is known and the leaves do not tell it; NaN for a class of which it
        is not.
    """

    people: People
    leaves: LeafKnowledge
    totals: Floats | None = None
    _atom: npt.NDArray[np.intp] = field(init=False)
    _refined: set[tuple[int, int]] = field(init=False, default_factory=set)
    _rows: Floats = field(init=False)
    _totals: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._atom = self.people.leaf.copy()
        known = self.leaves
        weights = np.ones(known.n_classes)
        if self.totals is not None and not np.isnan(self.totals).any():
            weights = np.maximum(self.totals, 1e-3)
        weights = weights / weights.sum()
        self._totals = np.log(weights[self._known_totals()] / weights[-1])
        self._rows = np.zeros(known.rows().known.shape)
        at = np.arange(len(known.sizes))
        if known.counts is not None:
            logs = np.log(np.where(known.counts > 0, known.counts, 1.0))
            self._rows = logs - logs[at, known.counts.argmax(axis=1)][:, None]
        elif known.correct is not None and known.labels is not None:
            wrong = np.maximum(known.sizes - known.correct, 1e-6)
            odds = weights[known.labels] / np.maximum(1 - weights[known.labels], 1e-6)
            self._rows[at, known.labels] = np.log(np.maximum(known.correct, 1e-6) / wrong / odds)

    def _known_totals(self) -> npt.NDArray[np.intp]:
        """Return the classes whose totals are rows of the problem: the last is implied if all are known."""
        if self.totals is None:
            return np.zeros(0, dtype=np.intp)
        known = np.flatnonzero(~np.isnan(self.totals))
        return known[:-1] if len(known) == len(self.totals) else known

    def _refine(self, cut: Cut) -> None:
        """Split the atoms by the branches of a cut."""
        if (cut.family, cut.at) in self._refined:
            return
        self._refined.add((cut.family, cut.at))
        code = np.zeros(len(self._atom), dtype=np.int64)
        code[cut.members] = cut.branch + 1
        _, self._atom = np.unique(self._atom * (int(code.max()) + 1) + code, return_inverse=True)

    def _touched(self, leaf: npt.NDArray[np.intp], cuts: Sequence[Cut]) -> npt.NDArray[np.bool_]:
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

    def solve(self, cuts: Sequence[Cut], multipliers: Floats, *, precision: float, ceiling: float = np.inf) -> Point:
        """Return the table of most entropy under the leaves and some cuts.

        Parameters
        ----------
        cuts : sequence of Cut
            The cuts.
        multipliers : ndarray, shape (k,)
            Where to start.
        precision, ceiling : float
            As for :func:`~glassine.attacks.disclosure.dual.minimise`.
        """
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
        forms, known = self._forms(cuts, first, fixed, free)
        # A form without coefficients is about people of whom everything is known: it holds, or nothing does.
        empty = (np.diff(forms.tocsc().indptr) == 0) & (known > 1e-9)
        if empty.any() and not np.isfinite(ceiling):
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
                    known=known,
                    bounded=np.arange(len(known)) < len(cuts),
                    offset=offset,
                ),
                rows=self._rows[kept],
                forms=np.concatenate([multipliers, self._totals]),
                precision=precision,
                ceiling=ceiling,
            )
            table[free] = solution.table
            value, entropy, residual = value + solution.value, entropy + solution.entropy, solution.residual
            out, feasible = solution.forms[: len(cuts)], solution.bounded_below
            if feasible:
                self._rows[kept] = solution.rows
                self._totals = solution.forms[len(cuts) :]
        shares = table / mass[:, None]
        return Point(
            table=self.people.sizes[:, None] * shares[self._atom],
            multipliers=out,
            value=value,
            entropy=entropy,
            residual=residual,
            feasible=feasible,
        )

    def _forms(
        self, cuts: Sequence[Cut], first: npt.NDArray[np.intp], fixed: Floats, free: npt.NDArray[np.bool_]
    ) -> tuple[sparse.csr_matrix, Floats]:
        """Return the cuts and class totals as forms over the free atoms, what the fixed ones give taken off."""
        c = fixed.shape[1]
        place = np.cumsum(free) - 1
        rows, columns, values, known = [], [], [], []
        code = np.full(len(self._atom), -1, dtype=np.int64)
        for k, cut in enumerate(cuts):
            code[:] = -1
            code[cut.members] = cut.branch
            of_atom = code[first]
            held = np.flatnonzero(of_atom >= 0)
            coefficients = cut.coefficients[of_atom[held]]
            known.append(cut.known - float((coefficients * fixed[held]).sum()))
            open_ = free[held]
            cells = place[held[open_]][:, None] * c + np.arange(c)
            rows.append(cells.ravel())
            columns.append(np.full(cells.size, k))
            values.append(coefficients[open_].ravel())
        if self.totals is not None:
            for k, j in enumerate(self._known_totals()):
                rows.append(np.arange(int(free.sum())) * c + j)
                columns.append(np.full(int(free.sum()), len(cuts) + k))
                values.append(np.ones(int(free.sum())))
                known.append(float(self.totals[j] - fixed[:, j].sum()))
        shape = (int(free.sum()) * c, len(known))
        if not rows:
            return sparse.csr_matrix(shape), np.zeros(0)
        cells, at, data = np.concatenate(rows), np.concatenate(columns), np.concatenate(values)
        return sparse.csr_matrix((data, (cells, at)), shape=shape), np.array(known)
