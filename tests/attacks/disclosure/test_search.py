"""The search where constraints are not convex: tables that keep all constraints, and the way up from them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glassine.attacks.disclosure import Adversary, Disclosure, SearchError, infer_sensitive
from glassine.attacks.disclosure.constraints import derive_constraints
from glassine.attacks.disclosure.cutting_planes import Engine
from glassine.attacks.disclosure.lagrangian import MARGINS, Starts, _Climbing, augmented_lagrangian, starting_tables
from glassine.attacks.disclosure.logits import LogitProblem
from glassine.attacks.disclosure.preconditioner import Curvature
from tests.attacks.disclosure.instances import parity

Floats = npt.NDArray[np.float64]
SEED = 6
"""An instance in which internal nodes tell something beyond the error rates."""


@cache
def instance() -> tuple[Any, Any, list[str], Disclosure]:
    frame, y, tree = parity(SEED, n=26, values=2)
    return tree, frame, y, infer_sensitive(tree, frame, adversary=READER, starts=Starts(1))


READER = Adversary("error_rates", min_samples_leaf=1)


def posed(found: Disclosure, y: list[str]) -> tuple[Engine, Floats]:
    """Return the problem of an instance, and the true table."""
    return Engine(found.people, found.leaves), found.true_probabilities(y) * found.people.sizes[:, None]


def entropy(table: Floats, sizes: npt.NDArray[Any]) -> float:
    shares = table / sizes
    return -float((table * np.log(np.where(shares > 0, shares, 1))).sum())


def test_every_start_ends_at_a_table_that_keeps_all_constraints() -> None:
    _, _, y, found = instance()
    engine, truth = posed(found, y)
    start = engine.solve([], np.zeros(0), precision=1e-9)
    assert not found.constraints.satisfied(start.table)
    rng = np.random.default_rng(0)
    reached = []
    for table in (*starting_tables(engine, start.table, 3, rng), truth):
        one = augmented_lagrangian(engine, found.constraints, start, table, rng=rng, starts=Starts())
        assert one.feasible
        assert found.constraints.satisfied(one.point.table)
        assert one.point.residual < 1e-9
        np.testing.assert_allclose(one.point.table.sum(axis=1), found.people.sizes)
        assert one.point.entropy == pytest.approx(entropy(one.point.table, found.people.sizes[:, None]))
        assert one.point.entropy <= start.value + 1e-6
        assert one.active
        reached.append(one.point.entropy)
    assert max(reached) > entropy(truth, found.people.sizes[:, None]) + 0.1


def test_the_slope_in_logits_is_that_of_differences() -> None:
    # Prices, penalties and shifts of rates: everything that the slope holds takes part.
    for leaves, criterion in (("error_rates", "gini"), ("labels_only", "entropy"), ("error_rates", "gain_ratio")):
        frame, _, tree = parity(SEED, n=26, values=3, criterion=criterion)
        adversary = Adversary(leaves, criterion=criterion, min_samples_leaf=1)  # type: ignore[arg-type]
        found = infer_sensitive(tree, frame, adversary=replace(adversary, internal_nodes=False))
        constraints = derive_constraints(tree, found.people, adversary)
        engine, rng = Engine(found.people, found.leaves), np.random.default_rng(0)
        problem = LogitProblem(engine, constraints)
        climbing = _Climbing(problem, rng.normal(size=found.leaf_probabilities.size), rng)
        assert problem.candidates
        climbing.of_candidates = rng.random(len(problem.candidates))
        climbing.stiffness = 1 + rng.random(len(problem.candidates))
        climbing.of_rows = np.where(problem.rows.exists, rng.random(problem.rows.bounds.shape), 0.0)
        at, margin = 0.1 * rng.normal(size=len(climbing.z)), climbing.margins(0.1)
        metric = climbing._metric(margin)
        _, slope = climbing.value(at, margin, metric)
        for direction in rng.normal(size=(5, len(at))):
            ahead, behind = (climbing.value(at + h * direction, margin, metric)[0] for h in (1e-5, -1e-5))
            assert (ahead - behind) / 2e-5 == pytest.approx(slope @ direction, rel=1e-4, abs=1e-4)


def test_the_metric_has_the_slopes_of_the_constraints_and_makes_their_curvature_one() -> None:
    frame, _, tree = parity(SEED, n=26, values=3, criterion="gini")
    adversary = Adversary("error_rates", criterion="gini", min_samples_leaf=1)
    found = infer_sensitive(tree, frame, adversary=replace(adversary, internal_nodes=False))
    constraints = derive_constraints(tree, found.people, adversary)
    problem, rng = LogitProblem(Engine(found.people, found.leaves), constraints), np.random.default_rng(0)
    climbing = _Climbing(problem, rng.normal(size=found.leaf_probabilities.size), rng)
    n, k = len(climbing.z), len(problem.candidates)
    paid, bounded = np.arange(k), np.argwhere(problem.rows.bounded)
    metric = Curvature.of(problem, climbing.table(), (paid, np.ones(k)), (bounded, 1.0))

    def constrained(z: Any) -> Any:
        climbing.z = z
        _, slack, off, _ = climbing.parts()
        return np.concatenate([slack, off[bounded[:, 0], bounded[:, 1]]])

    start = climbing.z
    for direction in rng.normal(size=(5, n)):
        step = 1e-5 * metric.scale * direction
        ahead, behind = constrained(start + step), constrained(start - step)
        assert (ahead - behind) / 2e-5 == pytest.approx(metric.slopes @ direction, rel=1e-4, abs=1e-5)
    turned = np.column_stack([metric.moves(unit) / metric.scale for unit in np.eye(n)])
    curvature = np.eye(n) + (metric.slopes.T @ metric.slopes).toarray()
    np.testing.assert_allclose(turned.T @ curvature @ turned, np.eye(n), atol=1e-8)


def test_shifts_of_logits_make_rates_exact() -> None:
    _, _, _, found = instance()
    problem = LogitProblem(Engine(found.people, found.leaves), found.constraints)
    rng = np.random.default_rng(1)
    for spread in (0.1, 3.0, 30.0):
        shares = problem.shares(rng.normal(0, spread, found.leaf_probabilities.size))
        counts = problem.by_leaves(shares * problem.sizes[:, None])
        assert found.leaves.correct is not None
        assert found.leaves.labels is not None
        own = counts[np.arange(len(counts)), found.leaves.labels]
        np.testing.assert_allclose(own, found.leaves.correct, atol=1e-8)


def test_starts_keep_what_leaves_reveal_of_labels_and_differ_in_whole_branches() -> None:
    _, _, y, found = instance()
    engine, _ = posed(found, y)
    start = engine.solve([], np.zeros(0), precision=1e-9)
    first, *others = starting_tables(engine, start.table, 4, np.random.default_rng(0))
    assert first is start.table
    root = found.people.splits[0]
    labels = found.leaves.labels
    assert labels is not None
    at, own = np.arange(len(first)), labels[found.people.leaf]
    moved = []
    for other in others:
        np.testing.assert_allclose(other.sum(axis=1), found.people.sizes)
        np.testing.assert_allclose(other[at, own], first[at, own])
        moves = np.zeros((int(root.branch.max()) + 1, first.shape[1]))
        np.add.at(moves, root.branch, (other - first)[root.members])
        moved.append(float(np.abs(moves).max()))
    assert min(moved) > 0
    assert max(moved) > 0.3


def test_a_hop_keeps_the_better_end(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, y, found = instance()
    engine, truth = posed(found, y)
    problem = LogitProblem(engine, found.constraints)
    climbing = _Climbing(problem, problem.logits(truth), np.random.default_rng(0))
    climbing.climb(0.0, 24)
    optimum = climbing._score()
    assert optimum[0]
    best = climbing.z
    # A climb that ends lower, or settles nowhere: everything is as before.
    for end in (best * 0.5, np.zeros(len(best))):

        def lower(margin: float, most_steps: int, least: float, end: Floats = end) -> int:
            assert least == optimum[1]
            climbing.z, climbing.of_candidates = end, np.zeros(1)
            return most_steps

        monkeypatch.setattr(climbing, "climb", lower)
        assert climbing.hop(1) == 1
        assert climbing.z is best
        assert climbing._score() == optimum
    monkeypatch.undo()
    # From far off hops lead up, here to an optimum that the start did not reach. Which of them do depends on how the
    # processor rounds; none ends lower than it began.
    rises, ends = [], []
    for seed in range(4):
        climbing.z = best + np.random.default_rng(seed).normal(0.0, 2.0, len(best))
        low = climbing._score()
        climbing.hop(8)
        reached = climbing._score()
        assert reached > (low[0], low[1] - 1e-12)
        rises.append(reached > (low[0], low[1] + 1e-3))
        ends.append(reached)
    assert any(rises)
    assert max(ends) > (True, optimum[1] + 0.1)


@pytest.mark.parametrize(
    ("left", "margins", "kicked"), [(0.0, MARGINS, False), (0.02, (0.03, 0.1), False), (0.5, MARGINS, True)]
)
def test_what_a_margin_outweighs_is_left_to_it(
    left: float, margins: tuple[float, ...], kicked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among many people no kick follows a small violation, and no smaller margin is tried."""
    _, _, y, found = instance()
    engine, truth = posed(found, y)
    problem = LogitProblem(engine, found.constraints)
    real = _Climbing.parts

    def parts(climbing: _Climbing) -> Any:
        table, slack, off, totals = real(climbing)
        return table, np.full(len(slack), -left), off, totals

    kicks: list[int] = []
    monkeypatch.setattr(_Climbing, "parts", parts)
    monkeypatch.setattr(_Climbing, "_kick", lambda climbing, stuck: kicks.append(len(stuck)))
    climbing = _Climbing(problem, problem.logits(truth), np.random.default_rng(0))
    assert climbing.settled < climbing.spared < 0.02
    climbing.spared = 0.1  # As among 33,333 people or more
    assert climbing.margins_beyond() == margins
    climbing.climb(0.0, 8)
    assert bool(kicks) == kicked


def test_of_two_ends_that_are_not_allowed_the_nearer_one_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted temptation: the further a table is beyond the constraints, the more entropy it has."""
    _, _, y, found = instance()
    engine, truth = posed(found, y)
    problem = LogitProblem(engine, found.constraints)
    climbing = _Climbing(problem, problem.logits(truth), np.random.default_rng(0))
    climbing.climb(0.0, 24)
    uniform, optimum = np.zeros(len(climbing.z)), climbing.z
    shares = np.linspace(0.0, 1.0, 9)
    scores = []
    for share in shares:
        climbing.z = optimum + share * (uniform - optimum)
        table, slack, off, totals = climbing.parts()
        scores.append((climbing._score(), climbing._violation(slack, off, totals), problem.entropy(table)))
    beyond = [(score, violated, nats) for score, violated, nats in scores if not score[0]]
    assert len(beyond) > 1
    nearest = min(beyond, key=lambda each: each[1])
    assert max(beyond, key=lambda each: each[0]) == nearest
    assert max(beyond, key=lambda each: each[2]) != nearest


def test_a_leaf_that_is_off_gets_logits_from_which_a_step_leads_back() -> None:
    frame, _, tree = parity(SEED, n=26, values=3, criterion="gini")
    adversary = Adversary("labels_only", criterion="gini", min_samples_leaf=1)
    found = infer_sensitive(tree, frame, adversary=replace(adversary, internal_nodes=False))
    problem = LogitProblem(Engine(found.people, found.leaves), derive_constraints(tree, found.people, adversary))
    # Everybody in one class that is not the label, which then is no longer the most frequent.
    assert found.leaves.labels is not None
    other = (found.leaves.labels[found.people.leaf] + 1) % found.leaf_probabilities.shape[1]
    z = np.full(problem.open.shape, -40.0)
    z[np.arange(len(z)), other] = 0.0
    climbing = _Climbing(problem, np.where(problem.open, z, 0.0).ravel(), np.random.default_rng(0))
    off = climbing.parts()[2]
    beyond = np.where(problem.rows.bounded, np.maximum(-off, 0.0), np.abs(off)).max(axis=1) > 0.01
    assert beyond.any()
    climbing._level()
    logits = np.where(problem.open, climbing.z.reshape(problem.open.shape), np.nan)
    lowest = np.nanmin(logits, axis=1)
    assert (lowest[beyond[problem.leaf]] >= -3.0).all()
    assert (lowest >= -12.0).all()


def test_other_optima_say_how_far_apart_equal_entropies_are() -> None:
    tree, frame, y, _ = instance()
    found = infer_sensitive(tree, frame, adversary=READER, starts=Starts(4))
    assert found.status == "local"
    assert math.isnan(found.gap)
    low, high = found.d_overall_spread(y)
    assert low <= found.d_overall(y) <= high
    assert len(found.other_optima) <= 3
    for other in found.other_optima:
        assert found.constraints.satisfied(other * found.people.sizes[:, None])
        assert entropy(other * found.people.sizes[:, None], found.people.sizes[:, None]) <= (
            found.entropy * found.people.n_people + 1e-9
        )


def test_where_no_start_leads_anywhere_the_truth_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted failure of every other way: without the truth it is an error, with it a note says so."""
    tree, frame, y, honest = instance()
    infer: Any = import_module("glassine.attacks.disclosure.infer")
    tried: list[Floats] = []

    def fails(engine: Any, constraints: Any, start: Any, table: Floats, **more: Any) -> Any:
        tried.append(table)
        reached = augmented_lagrangian(engine, constraints, start, table, **(more | {"starts": Starts(1, 1, hops=0)}))
        return reached if constraints.satisfied(table) else replace(reached, feasible=False)

    monkeypatch.setattr(infer, "augmented_lagrangian", fails)
    worlds = infer_sensitive(tree, frame, adversary=READER, starts=Starts(1))
    assert worlds.constraints.satisfied(tried[-1])
    assert worlds.constraints.satisfied(worlds.quasi_probabilities * worlds.people.sizes[:, None])
    monkeypatch.setattr(infer, "_worlds", lambda *arguments: [])
    with pytest.raises(SearchError, match="furthest off"):
        infer_sensitive(tree, frame, adversary=READER, starts=Starts(1))
    told = infer_sensitive(tree, frame, adversary=READER, starts=Starts(1), truth=y)
    assert any("from the true classes" in note for note in told.notes)
    assert told.constraints.satisfied(told.quasi_probabilities * told.people.sizes[:, None])
    for other in (worlds, told):
        assert other.entropy <= honest.bound + 1e-9
