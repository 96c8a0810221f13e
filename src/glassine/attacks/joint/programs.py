"""Three models and more: whole-number tables with given margins, by linear and integer programs."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from glassine.attacks.joint.published import ClashError, Whole

__all__ = ["least_weight", "real_range", "real_support", "whole_table"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

FAR = 3.0
INFEASIBLE = 2
UNITS = 1e-7


def _margins(parts: Indices, counts: tuple[Whole, ...]) -> tuple[sparse.csr_matrix, Floats]:
    """Return the matrix that sums options over the parts, and the sums."""
    n, m = parts.shape
    starts = np.cumsum([0, *(len(count) for count in counts)])
    rows = np.concatenate([parts[:, i] + starts[i] for i in range(m)])
    matrix = sparse.csr_matrix((np.ones(n * m), (rows, np.tile(np.arange(n), m))), shape=(int(starts[-1]), n))
    return matrix, np.concatenate(counts).astype(float)


def real_support(parts: Indices, counts: tuple[Whole, ...]) -> npt.NDArray[np.bool_]:
    """Return which options are positive in some table of real numbers.

    One program finds all: of a multiple of a table, as many options as can be reach 1.

    Raises
    ------
    ClashError
        If there is no table.
    """
    matrix, known = _margins(parts, counts)
    n = matrix.shape[1]
    # The variables are the multiple's entries beyond 1, what of them lies below 1, and the factor.
    equal = sparse.hstack([matrix, matrix, -known[:, None]]).tocsr()
    cost = np.concatenate([np.zeros(n), -np.ones(n), [0.0]])
    bounds = [(0, None)] * n + [(0, 1)] * n + [(1, None)]
    found = linprog(cost, A_eq=equal, b_eq=np.zeros(len(known)), bounds=bounds, method="highs")
    if found.status == INFEASIBLE:
        raise ClashError("no numbers of records of the common parts of the domain meet all counts.")
    if found.x is None:
        return np.ones(n, dtype=bool)
    return np.asarray(found.x[n : 2 * n] > UNITS)


def whole_table(parts: Indices, counts: tuple[Whole, ...], near: Floats, *, seconds: float) -> Whole | None:
    """Return a table of whole numbers close to one of real numbers; None if none was found in time.

    Raises
    ------
    ClashError
        If it is proved that there is none.
    """
    matrix, known = _margins(parts, counts)
    n = len(near)
    base = np.floor(near + 1e-9)
    upward = 1 - 2 * np.clip(near - base, 0.0, 1.0)
    target = known - matrix @ base
    options = {"time_limit": seconds / 2}
    found = milp(upward, constraints=LinearConstraint(matrix, target, target), integrality=1, bounds=Bounds(0, 1),
                 options=options)  # fmt: skip
    if found.x is not None:
        return np.asarray(np.rint(base + found.x), dtype=np.int64)
    wide = sparse.hstack([matrix, matrix, -matrix]).tocsr()
    cost = np.concatenate([upward, np.full(2 * n, FAR)])
    bounds = Bounds(0, np.concatenate([np.ones(n), np.full(n, known.max()), base]))
    found = milp(
        cost, constraints=LinearConstraint(wide, target, target), integrality=1, bounds=bounds, options=options
    )
    if found.x is not None:
        moved = np.rint(found.x)
        return np.asarray(base + moved[:n] + moved[n : 2 * n] - moved[2 * n :], dtype=np.int64)
    if found.status == INFEASIBLE:
        raise ClashError("no whole numbers of records of the common parts of the domain meet all counts.")
    return None


def least_weight(parts: Indices, counts: tuple[Whole, ...], weights: Floats) -> float:
    """Return the smallest sum of weighted entries over the tables of real numbers."""
    matrix, known = _margins(parts, counts)
    found = linprog(weights, A_eq=matrix, b_eq=known, bounds=(0, None), method="highs")
    return float(found.fun) if found.status == 0 else -math.inf


def real_range(parts: Indices, counts: tuple[Whole, ...], options: Indices) -> tuple[int, int]:
    """Return whole bounds of the sum of some options over all tables; where it may be zero, a plain upper one."""
    matrix, known = _margins(parts, counts)
    cost = np.zeros(matrix.shape[1])
    cost[options] = 1.0
    most = int(min(min(int(count[np.unique(parts[options, i])].sum()) for i, count in enumerate(counts)), known.sum()))
    low = linprog(cost, A_eq=matrix, b_eq=known, bounds=(0, None), method="highs")
    below = max(0, math.ceil(low.fun - 1e-6)) if low.status == 0 else 0
    if not below:
        return 0, most
    high = linprog(-cost, A_eq=matrix, b_eq=known, bounds=(0, None), method="highs")
    return below, min(math.floor(-high.fun + 1e-6), most) if high.status == 0 else most
