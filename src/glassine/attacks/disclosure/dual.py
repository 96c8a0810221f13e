"""Maximum entropy under linear constraints: the exponential family, solved in the dual.

People who are in one leaf and take the same side of every cut have the same distribution: they are one atom. With m_a
people in atom a, s_ac = sum over the leaf's rows and the cuts of multiplier times coefficient, the distribution of an
atom is proportional to exp(s_ac), and the dual

    D = sum_a m_a log sum_c exp(s_ac) - (multipliers times right-hand sides)

is convex, and at any multipliers, those of inequalities at least 0, an upper bound of the entropy. A primal-dual
interior-point Newton method minimises it. Its Hessian is block diagonal in the leaves, bordered by the cuts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy import sparse

from glassine.attacks.disclosure.leaf_constraints import Rows
from glassine.errors import GlassineError
from glassine.records.arrays import Array, Bools, Indices

MOST_STEPS = 300
"""Newton steps of one problem: ends it where rounding keeps the gap above what is aimed at."""

FRACTION = 0.995
"""Share of the way to a bound that a step may go: the usual choice of interior-point methods, short of the bound."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DualProblem:
    """Atoms, the rows of their leaves, and linear forms over all atoms."""

    mass: Array  # People of each atom, positive; atoms are sorted by leaf; shape (a,)
    leaf: Indices  # The leaf of each atom, every one from 0 to l - 1; shape (a,)
    rows: Rows  # The rows of the leaves
    # Coefficients of the cuts and class totals, row a c + j for class j of atom a; shape (a c, k).
    forms: sparse.csr_matrix
    bounds: Array  # Their right-hand sides: the forms are at least, or exactly, as large; shape (k,)
    bounded: Bools  # Which forms are inequalities; shape (k,)
    # Logarithm of what each class weighs before anything is known: a class that stands for several weighs more; shape
    # (c,).
    offset: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DualSolution:
    """A point of the dual and the table that belongs to it."""

    rows: Array  # Multipliers of the leaves' rows; shape (l, r)
    forms: Array  # Multipliers of the forms; shape (k,)
    table: Array  # Expected people of each atom and class; shape (a, c)
    # The dual: an upper bound of the entropy of every table that satisfies the constraints, in nats over all people.
    value: float
    entropy: float  # Entropy of the table
    residual: float  # Largest violation of a row or form by the table, in people
    # False if the dual fell below zero, which no entropy does: the constraints contradict each other.
    bounded_below: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Group:
    """Leaves that the same forms touch. A cut of a deep node touches few: most of the border is zeros."""

    leaves: Indices  # Shape (g,)
    atoms: Indices  # Their atoms, leaf by leaf; shape (m,)
    starts: Indices  # Where each leaf starts among the atoms; shape (g,)
    forms: Indices  # The forms that touch them; shape (f,)
    coefficients: Array  # Of the forms; shape (m, c, f)


def _groups(problem: DualProblem, n_classes: int) -> list[_Group]:
    """Return the leaves that any form touches, those with the same forms together."""
    entries = problem.forms.tocoo()
    shape = (len(problem.rows.bounds), problem.forms.shape[1])
    touched = sparse.csr_matrix((np.ones(entries.nnz), (problem.leaf[entries.row // n_classes], entries.col)), shape)
    touched.sum_duplicates()
    alike: dict[bytes, list[int]] = {}
    for i, forms in enumerate(np.split(touched.indices, touched.indptr[1:-1])):
        if len(forms):
            alike.setdefault(forms.tobytes(), []).append(i)
    first = np.searchsorted(problem.leaf, np.arange(shape[0] + 1))
    out = []
    for members in alike.values():
        leaves = np.array(members, dtype=np.intp)
        sizes = first[leaves + 1] - first[leaves]
        starts = np.cumsum(sizes) - sizes
        atoms = np.arange(sizes.sum()) + np.repeat(first[leaves] - starts, sizes)
        forms = touched.indices[touched.indptr[members[0]] : touched.indptr[members[0] + 1]].astype(np.intp)
        block = problem.forms[(atoms[:, None] * n_classes + np.arange(n_classes)).ravel()]
        coefficients = np.zeros((len(atoms) * n_classes, len(forms)))
        cells = np.repeat(np.arange(len(coefficients)), np.diff(block.indptr))
        coefficients[cells, np.searchsorted(forms, block.indices)] = block.data
        shaped = coefficients.reshape(len(atoms), n_classes, len(forms))
        out.append(_Group(leaves=leaves, atoms=atoms, starts=starts, forms=forms, coefficients=shaped))
    return out


class _Dual:
    """The dual function with its derivatives; multipliers are one vector, the leaves' rows first."""

    def __init__(self, problem: DualProblem) -> None:
        self.p = problem
        self.n_leaves, self.per_leaf = problem.rows.bounds.shape
        self.n_rows = self.n_leaves * self.per_leaf
        self.n_classes = c = problem.rows.possible.shape[1]
        self.starts = np.flatnonzero(np.concatenate([[True], np.diff(problem.leaf) > 0]))
        self.possible = problem.rows.possible[problem.leaf]
        self.bounds = np.concatenate([(problem.rows.bounds * problem.rows.exists).ravel(), problem.bounds])
        self.exists = np.concatenate([problem.rows.exists.ravel(), np.ones(len(problem.bounds), dtype=bool)])
        self.bounded = np.concatenate([(problem.rows.bounded & problem.rows.exists).ravel(), problem.bounded])
        self.groups = _groups(problem, c)
        self.transposed = problem.forms.T.tocsr()

    def table(self, theta: Array) -> tuple[Array, float]:
        """Return the table and the dual value at some multipliers."""
        beta = theta[: self.n_rows].reshape(self.n_leaves, 1, self.per_leaf)
        scores = (beta @ self.p.rows.forms)[:, 0][self.p.leaf]
        scores = scores + (self.p.forms @ theta[self.n_rows :]).reshape(scores.shape)
        scores = np.where(self.possible, scores + self.p.offset, -np.inf)
        top = scores.max(axis=1, keepdims=True)
        weights = np.exp(scores - top)
        totals = weights.sum(axis=1, keepdims=True)
        logs = (top + np.log(totals))[:, 0]
        value = float(self.p.mass @ logs) - float(theta[self.exists] @ self.bounds[self.exists])
        return self.p.mass[:, None] * weights / totals, value

    def gradient(self, x: Array) -> Array:
        """Return by how much the table exceeds the right-hand sides."""
        columns = np.add.reduceat(x, self.starts, axis=0)
        rows = (self.p.rows.forms @ columns[:, :, None])[:, :, 0]
        out = np.concatenate([rows.ravel(), self.transposed @ x.ravel()]) - self.bounds
        out[~self.exists] = 0.0
        return np.asarray(out)

    def direction(self, x: Array, right: Array, diagonal: Array) -> Array:
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
        # Rows that imply each other would leave the matrix singular.
        ridge = 1e-12 * (1.0 + np.abs(block[:, np.arange(r), np.arange(r)]))
        extra = np.where(exists, diagonal[: self.n_rows].reshape(-1, r) + ridge, 1.0)
        block[:, np.arange(r), np.arange(r)] += extra
        rows = np.linalg.solve(block, right[: self.n_rows].reshape(-1, r, 1))[:, :, 0]
        if len(right) == self.n_rows:
            return np.asarray(rows.ravel())
        rest, schur, scale = right[self.n_rows :].copy(), np.diag(diagonal[self.n_rows :]), np.ones(len(self.p.bounds))
        borders = []
        for group in self.groups:
            border, corner = self._border(group, x, shares)
            border = (forms[group.leaves] @ border) * exists[group.leaves][:, :, None]
            solved = np.linalg.solve(block[group.leaves], border)
            flat = border.reshape(-1, len(group.forms))
            schur[np.ix_(group.forms, group.forms)] += corner - flat.T @ solved.reshape(flat.shape)
            scale[group.forms] += np.diag(corner)
            rest[group.forms] -= flat.T @ rows[group.leaves].ravel()
            borders.append(solved)
        at = np.arange(len(schur))
        schur[at, at] += 1e-13 * scale
        last = _solve(schur, rest)
        for group, solved in zip(self.groups, borders, strict=True):
            rows[group.leaves] -= solved @ last[group.forms]
        return np.concatenate([rows.ravel(), last])

    def _border(self, group: _Group, x: Array, shares: Array) -> tuple[Array, Array]:
        """Return the Hessian between a group's class counts and its forms, shape (g, c, f), and among these, (f, f)."""
        weighted = x[group.atoms][:, :, None] * group.coefficients
        sums = weighted.sum(axis=1)
        corner = np.tensordot(group.coefficients, weighted, axes=([0, 1], [0, 1]))
        corner -= sums.T @ (sums / self.p.mass[group.atoms][:, None])
        weighted -= shares[group.atoms][:, :, None] * sums[:, None, :]
        return np.add.reduceat(weighted, group.starts, axis=0), corner


def _solve(matrix: Array, right: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])


class TimeLimitError(GlassineError):
    """The search took longer than it may."""


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """Until when a search may go on.

    Attributes
    ----------
    seconds : float
        Most seconds, above 0.
    started : float
        When it began, by the monotonic clock.
    """

    seconds: float
    started: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """Raise TimeLimitError if the time is over."""
        if time.monotonic() - self.started > self.seconds:
            raise TimeLimitError(f"not measured in {self.seconds:g} s.")


def minimise(
    problem: DualProblem,
    *,
    rows: Array,
    forms: Array,
    precision: float,
    limit: TimeLimit | None = None,
) -> DualSolution:
    """Minimise the dual."""
    # Shapes: rows (l, r); forms (k,).
    dual = _Dual(problem)
    theta = np.where(dual.exists, np.concatenate([rows.ravel(), forms]), 0.0)
    low = dual.bounded
    n_low = int(low.sum())
    # The barrier starts at the size of new multipliers, and falls as the residual does.
    mu = 1e-2
    theta[low] = np.maximum(theta[low], 1e-3)
    goal = precision / max(n_low, 1)
    below = np.zeros_like(theta)
    below[low] = mu / theta[low]
    x, value = dual.table(theta)
    sound = True
    for _ in range(MOST_STEPS):
        if limit is not None:
            limit.check()
        gradient = dual.gradient(x)
        error = np.abs(gradient - below).max(initial=0.0)
        off = np.abs(theta[low] * below[low] - mu).max(initial=0.0)
        if value < 0:
            sound = False
            break
        if error <= max(1e-9, 1e-12 * float(problem.mass.max())) and mu <= goal and off <= goal:
            break
        while mu > goal and error <= 10 * mu and off <= 10 * mu:
            mu = max(goal, min(0.1 * mu, mu**1.5))
        at, moved = _step(dual, _Iterate(theta, below, x, value), gradient, mu, low)
        theta, below, x, value = at
        if not moved and mu <= goal:
            break
        if not moved:
            mu = max(goal, 0.1 * mu)
    return _solution(dual, theta, x, value, sound)


class _Iterate(NamedTuple):
    """Multipliers, those of their bounds, and the table and dual value at them."""

    theta: Array
    below: Array
    x: Array
    value: float


def _step(dual: _Dual, at: _Iterate, gradient: Array, mu: float, low: Bools) -> tuple[_Iterate, bool]:
    """Take one step of the interior-point method; return where it ends, and whether it moved."""
    theta, below, x, value = at
    diagonal = np.zeros_like(theta)
    slope = gradient.copy()
    diagonal[low] += below[low] / theta[low]
    slope[low] -= mu / theta[low]
    step = dual.direction(x, -slope, diagonal)
    step[~dual.exists] = 0.0
    d_below = np.zeros_like(theta)
    d_below[low] = mu / theta[low] - below[low] - below[low] / theta[low] * step[low]
    length = _longest(theta[low], step[low])

    def barrier(point: Array, value: float) -> float:
        return value - mu * float(np.log(point[low]).sum())

    old = barrier(theta, value)
    decrease = float(slope @ step)
    noise = 1e-13 * (abs(old) + float(np.abs(theta * dual.bounds).sum()) + 1.0)
    moved = False
    for _ in range(40):
        new = theta + length * step
        x_new, value = dual.table(new)
        # Armijo's rule; the noise lets steps through that only rounding makes look worse.
        if np.isfinite(value) and barrier(new, value) <= old + 1e-4 * length * decrease + noise:
            theta, x, moved = new, x_new, True
            break
        length *= 0.5
    if not moved:
        return at, False
    below = below + min(1.0, _longest(below[low], d_below[low])) * d_below
    # Bounds on the multipliers of bounds keep the primal-dual Hessian near that of the barrier.
    below[low] = np.clip(below[low], mu / theta[low] / 1e8, mu / theta[low] * 1e8)
    return _Iterate(theta, below, x, value), True


def _longest(values: Array, steps: Array) -> float:
    """Return the longest step, at most 1, that keeps values positive."""
    falling = steps < 0
    with np.errstate(over="ignore"):  # A step of next to nothing has no bound
        return float(min(1.0, (FRACTION * values[falling] / -steps[falling]).min(initial=np.inf)))


def _solution(dual: _Dual, theta: Array, x: Array, value: float, sound: bool) -> DualSolution:
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
