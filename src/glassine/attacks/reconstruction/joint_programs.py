"""Three models and more: whole-number tables with given margins, by linear and integer programs.

The solvers reckon with floating-point numbers. What is concluded from a linear program is therefore proved again, in
whole numbers, from its dual solution: for any weights y of the parts, every table has sum_o T_o (A'y)_o = y'C.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from glassine.attacks.reconstruction.joint_bounds import OptionBlock
from glassine.attacks.reconstruction.joint_cells import System, peel
from glassine.attacks.reconstruction.joint_flows import Graph, bridges, feasible_table, support
from glassine.attacks.reconstruction.joint_published import ClashError
from glassine.records.arrays import AnyArray, Array, Bools, Indices, Ints

FAR = 3.0
"""Cost of a record that is moved beyond the next whole number: more than any rounding up or down costs."""
INFEASIBLE = 2
"""The status of SciPy's milp for a program without a solution."""
SCALE = 720_720 * 1024
"""Weights are rounded to multiples of one over this: halves and thirds of a solver's vertices stay exact."""


def _margins(parts: Indices, counts: tuple[Ints, ...]) -> tuple[sparse.csr_matrix, Array]:
    """Return the matrix that sums options over the parts, and the sums."""
    n, m = parts.shape
    starts = np.cumsum([0, *(len(count) for count in counts)])
    rows = np.concatenate([parts[:, i] + starts[i] for i in range(m)])
    matrix = sparse.csr_matrix((np.ones(n * m), (rows, np.tile(np.arange(n), m))), shape=(int(starts[-1]), n))
    return matrix, np.concatenate(counts).astype(float)


def _in_units(weights: AnyArray) -> list[int]:
    """Return a dual solution in whole numbers."""
    return [round(float(weight) * SCALE) for weight in weights]


def _weighed(weights: list[int], parts: Indices, counts: tuple[Ints, ...]) -> tuple[list[int], int]:
    """Return the sum of the weights of each option's parts, and the sum of weights times counts."""
    per_option = [0] * len(parts)
    total, start = 0, 0
    for i, count in enumerate(counts):
        mine = weights[start : start + len(count)]
        per_option = [sum_ + mine[part] for sum_, part in zip(per_option, parts[:, i].tolist(), strict=True)]
        total += sum(weight * number for weight, number in zip(mine, count.tolist(), strict=True))
        start += len(count)
    return per_option, total


def _most(parts: Indices, counts: tuple[Ints, ...]) -> list[int]:
    """Return for each option the smallest count of its parts."""
    most = np.min([count[parts[:, i]] for i, count in enumerate(counts)], axis=0)
    return [int(number) for number in most]


def real_support(parts: Indices, counts: tuple[Ints, ...]) -> Bools:
    """Return which options are positive in some table of real numbers, and those that could not be proved not to be."""
    # One program finds all: of a multiple of a table, as many options as can be reach 1.
    matrix, totals = _margins(parts, counts)
    n = matrix.shape[1]
    # The variables are the multiple's entries beyond 1, what of them lies below 1, and the factor.
    equal = sparse.hstack([matrix, matrix, -totals[:, None]]).tocsr()
    cost = np.concatenate([np.zeros(n), -np.ones(n), [0.0]])
    bounds = [(0, None)] * n + [(0, 1)] * n + [(1, None)]
    result = linprog(cost, A_eq=equal, b_eq=np.zeros(len(totals)), bounds=bounds, method="highs")
    if result.status == INFEASIBLE and _is_impossible(parts, counts):
        raise ClashError("no numbers of records of the common parts of the domain meet all counts.")
    if result.status != 0:
        return np.ones(n, dtype=bool)
    weighed, total = _weighed(_in_units(-result.eqlin.marginals), parts, counts)
    total += sum(-sum_ * most for sum_, most in zip(weighed, _most(parts, counts), strict=True) if sum_ < 0)
    # T_o (A'y)_o is at most the total; whole numbers below 1 are 0.
    return np.array([not (sum_ > 0 and total < sum_) for sum_ in weighed], dtype=bool)


def _is_impossible(parts: Indices, counts: tuple[Ints, ...]) -> bool:
    """Return whether Farkas' lemma proves that there is no table."""
    matrix, totals = _margins(parts, counts)
    p = len(totals)
    identity = sparse.identity(p, format="csr")
    cost = np.concatenate([np.zeros(matrix.shape[1]), np.ones(2 * p)])
    result = linprog(cost, A_eq=sparse.hstack([matrix, identity, -identity]).tocsr(), b_eq=totals, method="highs")
    if result.status != 0:
        return False
    weighed, total = _weighed(_in_units(result.eqlin.marginals), parts, counts)
    return total > sum(max(0, sum_) * most for sum_, most in zip(weighed, _most(parts, counts), strict=True))


def whole_table(parts: Indices, counts: tuple[Ints, ...], near: Array, *, seconds: float) -> Ints | None:
    """Return a table of whole numbers close to one of real numbers; None if none was found in time."""
    matrix, totals = _margins(parts, counts)
    n = len(near)
    base = np.floor(near + 1e-9)
    upward = 1 - 2 * np.clip(near - base, 0.0, 1.0)
    target = totals - matrix @ base
    options = {"time_limit": seconds / 2}
    result = milp(upward, constraints=LinearConstraint(matrix, target, target), integrality=1, bounds=Bounds(0, 1),
                 options=options)  # fmt: skip
    if result.x is not None:
        table = np.asarray(np.rint(base + result.x), dtype=np.int64)
        if _meets(table, parts, counts):
            return table
    wide = sparse.hstack([matrix, matrix, -matrix]).tocsr()
    cost = np.concatenate([upward, np.full(2 * n, FAR)])
    bounds = Bounds(0, np.concatenate([np.ones(n), np.full(n, totals.max()), base]))
    result = milp(
        cost, constraints=LinearConstraint(wide, target, target), integrality=1, bounds=bounds, options=options
    )
    if result.x is not None:
        moved = np.rint(result.x)
        table = np.asarray(base + moved[:n] + moved[n : 2 * n] - moved[2 * n :], dtype=np.int64)
        return table if _meets(table, parts, counts) else None
    if result.status == INFEASIBLE:
        return _in_whole_numbers(parts, counts, seconds / 2)
    return None


def _meets(table: Ints, parts: Indices, counts: tuple[Ints, ...]) -> bool:
    sums = [np.zeros(len(count), dtype=np.int64) for count in counts]
    for i, each in enumerate(sums):
        np.add.at(each, parts[:, i], table)
    return bool((table >= 0).all()) and all((a == b).all() for a, b in zip(sums, counts, strict=True))


def _in_whole_numbers(parts: Indices, counts: tuple[Ints, ...], seconds: float) -> Ints | None:
    """Return a table by a solver that reckons in whole numbers; None if it is not installed, or runs out of time."""
    try:
        cp = import_module("ortools.sat.python.cp_model")
    except ImportError:
        return None
    model = cp.CpModel()
    numbers = [model.new_int_var(0, most, "") for most in _most(parts, counts)]
    for i, count in enumerate(counts):
        for part, total in enumerate(count.tolist()):
            model.add(sum(numbers[option] for option in np.flatnonzero(parts[:, i] == part).tolist()) == total)
    solver = cp.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status == cp.INFEASIBLE:
        raise ClashError("no whole numbers of records of the common parts of the domain meet all counts.")
    if status not in (cp.OPTIMAL, cp.FEASIBLE):
        return None
    table = np.array([solver.value(number) for number in numbers], dtype=np.int64)
    return table if _meets(table, parts, counts) else None


def least_weight(parts: Indices, counts: tuple[Ints, ...], weights: Array) -> float:
    """Return a lower bound of the sum of weighted entries over the tables of real numbers."""
    matrix, totals = _margins(parts, counts)
    result = linprog(weights, A_eq=matrix, b_eq=totals, bounds=(0, None), method="highs")
    dual = result.eqlin.marginals if result.status == 0 else np.zeros(len(totals))
    short = np.minimum(0.0, weights - matrix.T @ dual)
    most = np.array(_most(parts, counts), dtype=float)
    size = float(np.abs(dual) @ totals + (np.abs(weights) + np.abs(matrix).T @ np.abs(dual)) @ most)
    return float(dual @ totals + short @ most) - 1e-12 * size


def _least_sum(parts: Indices, counts: tuple[Ints, ...], cost: Array) -> int | None:
    """Return a lower bound of the sum of entries times whole costs over the whole tables, near the least real one."""
    matrix, totals = _margins(parts, counts)
    result = linprog(cost, A_eq=matrix, b_eq=totals, bounds=(0, None), method="highs")
    if result.status != 0:
        return None
    weighed, total = _weighed(_in_units(result.eqlin.marginals), parts, counts)
    for sum_, price, most in zip(weighed, cost.tolist(), _most(parts, counts), strict=True):
        total -= max(0, sum_ - int(price) * SCALE) * most
    return -(-total // SCALE)


def real_range(parts: Indices, counts: tuple[Ints, ...], options: Indices) -> tuple[int, int]:
    """Return whole bounds of the sum of some options over all tables; where it may be zero, a plain upper one."""
    cost = np.zeros(len(parts))
    cost[options] = 1.0
    most = min(int(count[np.unique(parts[options, i])].sum()) for i, count in enumerate(counts))
    low = _least_sum(parts, counts, cost)
    if low is None or low < 1:
        return 0, most
    high = _least_sum(parts, counts, -cost)
    return low, most if high is None else min(-high, most)


# What the counts settle before any bound: parts with one option, impossible options, bridges, blocks.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Settled:
    """A system without what is known of it."""

    system: System  # Its free options are positive in some table of real numbers, and not the same in every one
    table: Ints | None  # A table with all counts; None for three models and more, where finding one is a search


def settle(system: System, names: Sequence[str]) -> Settled:
    """Return a system with everything fixed that is the same in each of its tables."""
    # For three models and more, some numbers that are the same in every table may stay free.
    system = peel(system, names)
    if len(system.counts) == 1 or not len(system.free):
        return Settled(system=system, table=system.fixed)
    if len(system.counts) == 2:
        return _settle_two(system, names)
    for first, second in combinations(range(len(system.counts)), 2):
        system = _agree(system, first, second, names)
    system = peel(system, names)
    free = system.free
    if len(free):
        possible = real_support(system.parts[free], tuple(system.left(i) for i in range(len(system.counts))))
        system = peel(_impossible(system, free[~possible]), names)
    return Settled(system=system, table=None if len(system.free) else system.fixed)


def graph_of(system: System) -> Graph:
    """Return the free options of two models as a graph."""
    free = system.free
    return Graph(system.parts[free, 0], system.parts[free, 1], len(system.counts[0]), len(system.counts[1]))


def _settle_two(system: System, names: Sequence[str]) -> Settled:
    free, graph = system.free, graph_of(system)
    flow = feasible_table(graph, system.left(0), system.left(1))
    if flow is None:
        raise _clash(names[0], names[1])
    table = system.fixed.copy()
    table[free] = flow
    system = peel(_impossible(system, free[~support(graph, flow)]), names)
    free = system.free
    same = free[bridges(graph_of(system))]
    fixed = system.fixed.copy()
    fixed[same] = table[same]
    return Settled(system=peel(replace(system, fixed=fixed), names), table=table)


def _agree(system: System, first: int, second: int, names: Sequence[str]) -> System:
    """Rule out options by two of the models, whose common parts are the edges of a graph."""
    free = system.free
    if not len(free):
        return system
    pairs, edge = np.unique(system.parts[free][:, [first, second]], axis=0, return_inverse=True)
    graph = Graph(pairs[:, 0], pairs[:, 1], len(system.counts[first]), len(system.counts[second]))
    flow = feasible_table(graph, system.left(first), system.left(second))
    if flow is None:
        raise _clash(names[first], names[second])
    return _impossible(system, free[~support(graph, flow)[edge.ravel()]])


def _impossible(system: System, options: Indices) -> System:
    fixed = system.fixed.copy()
    fixed[options] = 0
    return replace(system, fixed=fixed)


def _clash(first: str, second: str) -> ClashError:
    return ClashError(f"no numbers of records of their common parts meet the counts of both {first} and {second}.")


def blocks(system: System, log_sizes: Array) -> Iterator[OptionBlock]:
    """Yield the free options in sets that share no part with each other."""
    free, m = system.free, len(system.counts)
    if not len(free):
        return
    starts = np.cumsum([len(free), *(len(count) for count in system.counts)])
    rows = np.tile(np.arange(len(free)), m)
    columns = np.concatenate([system.parts[free, i] + starts[i] for i in range(m)])
    size = int(starts[-1])
    _, label = connected_components(csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(size, size)), False)
    left = [system.left(i) for i in range(m)]
    order = np.argsort(label[: len(free)], kind="stable")
    ends = np.flatnonzero(np.diff(label[: len(free)][order])) + 1
    for members in np.split(order, ends):
        options = free[members]
        parts = np.empty((len(options), m), dtype=np.intp)
        counts = []
        for i in range(m):
            own_parts, place = np.unique(system.parts[options, i], return_inverse=True)
            parts[:, i] = place.ravel()
            counts.append(left[i][own_parts])
        yield OptionBlock(options=options, parts=parts, counts=tuple(counts), log_sizes=log_sizes[options])
