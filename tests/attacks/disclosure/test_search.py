"""The search where constraints are not convex: tables that keep all constraints, and the way up from them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse

from glassine.attacks.disclosure import Adversary, Disclosure, SearchError, infer_sensitive
from glassine.attacks.disclosure.concave import Starts, climb, convex_concave, feasible_tables
from glassine.attacks.disclosure.cuts import Engine
from glassine.attacks.disclosure.dual import DualProblem, minimise
from glassine.attacks.disclosure.leaves import Rows
from tests.attacks.disclosure.instances import parity

Floats = npt.NDArray[np.float64]
SEED = 6
"""An instance in which internal nodes tell something beyond the error rates."""


@cache
def instance() -> tuple[Any, Any, list[str], Disclosure]:
    frame, y, tree = parity(SEED, n=26, values=2)
    return tree, frame, y, infer_sensitive(tree, frame, adversary=READER, starts=Starts(1))


READER = Adversary("error_rates", min_samples_leaf=1)


def test_a_price_that_exceeds_the_entropy_is_no_contradiction() -> None:
    """One person, of whom two are asked: at a finite price the dual is far below zero, and still solved."""
    nothing = np.zeros((1, 2))
    rows = Rows(
        forms=np.eye(2)[None], known=nothing, exists=nothing > 0, bounded=nothing > 0, possible=np.ones((1, 2), bool)
    )
    problem = DualProblem(
        mass=np.ones(1),
        leaf=np.zeros(1, dtype=np.intp),
        rows=rows,
        forms=sparse.csr_matrix(np.array([[1.0], [0.0]])),
        known=np.array([2.0]),
        bounded=np.array([True]),
        offset=np.zeros(2),
    )
    priced = minimise(problem, rows=nothing, forms=np.full(1, 0.1), precision=1e-8, ceiling=1e3)
    assert priced.bounded_below
    assert priced.value == pytest.approx(-1e3, rel=1e-3)
    assert priced.table == pytest.approx(np.array([[1.0, 0.0]]), abs=1e-6)
    assert not minimise(problem, rows=nothing, forms=np.full(1, 0.1), precision=1e-8).bounded_below


@pytest.mark.slow
def test_climbing_from_the_truth_keeps_all_constraints_and_only_rises() -> None:
    _, _, y, found = instance()
    engine = Engine(found.people, found.leaves)
    start = engine.solve([], np.zeros(0), precision=1e-9)
    sizes = found.people.sizes[:, None]
    truth = found.true_probabilities(y) * sizes
    reached = climb(engine, found.constraints, start, truth)
    assert reached.feasible
    assert found.constraints.satisfied(reached.point.table)
    shares = truth / sizes
    entropy = -float((truth * np.log(np.where(shares > 0, shares, 1))).sum())
    assert reached.point.entropy > entropy + 0.1
    assert reached.point.entropy <= start.value + 1e-6
    assert reached.point.residual < 1e-5


def test_guessed_counts_lead_to_tables_that_keep_all_constraints() -> None:
    _, _, y, found = instance()
    engine = Engine(found.people, found.leaves)
    truth = found.true_probabilities(y) * found.people.sizes[:, None]
    tables = feasible_tables(engine, found.constraints, [truth])
    assert len(tables) == 1
    assert found.constraints.satisfied(tables[0])
    counts, true = np.zeros((len(found.leaves.sizes), 3)), np.zeros((len(found.leaves.sizes), 3))
    np.add.at(counts, found.people.leaf, tables[0])
    np.add.at(true, found.people.leaf, truth)
    assert counts == pytest.approx(true, abs=1e-5)


@pytest.mark.slow
def test_where_no_start_leads_anywhere_the_truth_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted failure of every other way: without the truth it is an error, with it a note says so."""
    tree, frame, y, honest = instance()
    infer: Any = import_module("glassine.attacks.disclosure.infer")

    def fails(*arguments: Any, **more: Any) -> Any:
        return replace(convex_concave(*arguments, **(more | {"most_steps": 1})), feasible=False)

    monkeypatch.setattr(infer, "convex_concave", fails)
    found = infer_sensitive(tree, frame, adversary=READER, starts=Starts(1))
    assert found.constraints.satisfied(found.quasi_probabilities * found.people.sizes[:, None])
    monkeypatch.setattr(infer, "feasible_tables", lambda *arguments: [])
    worlds = infer_sensitive(tree, frame, adversary=READER, starts=Starts(1))
    assert worlds.constraints.satisfied(worlds.quasi_probabilities * worlds.people.sizes[:, None])
    monkeypatch.setattr(infer, "_worlds", lambda *arguments: [])
    with pytest.raises(SearchError, match="furthest off"):
        infer_sensitive(tree, frame, adversary=READER, starts=Starts(1))
    told = infer_sensitive(tree, frame, adversary=READER, starts=Starts(1), truth=y)
    assert any("from the true classes" in note for note in told.notes)
    assert told.constraints.satisfied(told.quasi_probabilities * told.people.sizes[:, None])
    for other in (found, worlds, told):
        assert other.entropy <= honest.bound + 1e-9
