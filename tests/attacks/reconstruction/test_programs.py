"""What is concluded from a solver's floating-point numbers is proved again in whole numbers."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from glassine.attacks.reconstruction import joint_programs as programs
from glassine.attacks.reconstruction.joint_programs import least_weight, real_range, real_support, whole_table
from glassine.attacks.reconstruction.joint_published import ClashError
from tests.attacks.reconstruction.test_bounds import tables

HONEST = linprog
System = tuple[np.ndarray, tuple[np.ndarray, ...], np.ndarray]


def systems(number: int, *, broken: bool = False) -> list[System]:
    """Return options, counts and all tables of random systems of three models; some have no table where so wished."""
    rng = np.random.default_rng(0)
    out: list[System] = []
    while len(out) < number:
        parts = np.array([part for part in product(range(2), range(2), range(3)) if rng.random() < 0.5], dtype=np.intp)
        held = rng.integers(0, 2, len(parts))
        counts = tuple(
            np.bincount(parts[:, i], held, minlength=size).astype(np.int64) for i, size in enumerate((2, 2, 3))
        )
        if broken and len(counts[0]) == 2 and counts[0][0]:
            counts[0][:] += [-1, 1]
        if len(parts) and all(
            (np.bincount(parts[:, i], minlength=len(count)) > 0).all() for i, count in enumerate(counts)
        ):
            out.append((parts, counts, np.array(list(tables(parts, [count.tolist() for count in counts])))))
    return out


def optimist(*given: Any, **more: Any) -> Any:
    """Solve a program, and overstate its value and its dual solution."""
    found = HONEST(*given, **more)
    if found.status == 0:
        found.fun = found.fun * 2 + 3
        found.eqlin.marginals = found.eqlin.marginals * 2 + 0.3
    return found


@pytest.mark.slow
@pytest.mark.parametrize("solver", [HONEST, optimist])
def test_ranges_hold_whatever_the_solver_says(monkeypatch: pytest.MonkeyPatch, solver: Any) -> None:
    monkeypatch.setattr(programs, "linprog", solver)
    rng = np.random.default_rng(1)
    tight = excluded = 0
    for parts, counts, every in systems(40):
        options = np.flatnonzero(rng.random(len(parts)) < 0.4)
        if len(options):
            sums = every[:, options].sum(axis=1)
            low, high = real_range(parts, counts, options)
            assert low <= sums.min() <= sums.max() <= high
            tight += 0 < low == sums.min()
        able = real_support(parts, counts)
        assert not (every[:, ~able] > 0).any()
        excluded += int((~able).sum())
        weights = rng.normal(size=len(parts))
        assert least_weight(parts, counts, weights) <= float((every @ weights).min())
    assert solver is optimist or (tight > 5 and excluded > 5)


def test_a_contradiction_is_proved() -> None:
    proved = 0
    for parts, counts, every in systems(40, broken=True):
        try:
            real_support(parts, counts)
            table = whole_table(parts, counts, np.zeros(len(parts)), seconds=10)
        except ClashError:
            assert not len(every)
            proved += 1
        else:
            assert table is not None
            assert table.tolist() in every.tolist()
    assert proved > 2


def test_a_solver_that_calls_possible_counts_impossible_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = HONEST

    def liar(cost: Any, *given: Any, **more: Any) -> Any:
        found = honest(cost, *given, **more)
        if (np.asarray(cost) < 0).any():
            found.status, found.x = programs.INFEASIBLE, None
        return found

    def stubborn(*given: Any, **more: Any) -> Any:
        return type("Found", (), {"x": None, "status": programs.INFEASIBLE})()

    monkeypatch.setattr(programs, "linprog", liar)
    monkeypatch.setattr(programs, "milp", stubborn)
    for parts, counts, every in systems(5):
        assert real_support(parts, counts).all()
        table = whole_table(parts, counts, np.zeros(len(parts)), seconds=10)
        assert table is None or table.tolist() in every.tolist()


def test_numbers_that_miss_the_counts_are_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(cost: Any, **more: Any) -> Any:
        return type("Found", (), {"x": np.zeros(len(cost)), "status": 0})()

    monkeypatch.setattr(programs, "milp", careless)
    some = [(parts, counts) for parts, counts, _ in systems(3) if sum(int(count.sum()) for count in counts)]
    assert len(some) > 0
    for parts, counts in some:
        assert whole_table(parts, counts, np.zeros(len(parts)), seconds=10) is None
