"""What holds in every table that agrees with a tree: by enumeration, by a general solver, and never too narrow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy.linalg import null_space
from scipy.optimize import minimize

from glassine.attacks.disclosure import (
    Adversary,
    CountNoise,
    Disclosure,
    Identified,
    identified_disclosure,
    infer_sensitive,
)
from glassine.attacks.disclosure.dual import TimeLimit
from glassine.attacks.disclosure.lagrangian import Starts
from glassine.errors import InvalidParameterError
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from tests.attacks.disclosure.brute import assignments
from tests.attacks.disclosure.instances import categories, parity
from tests.attacks.disclosure.test_solver import problem

Floats = npt.NDArray[np.float64]


def worlds(disclosure: Disclosure) -> Floats:
    """Return the table of every assignment of whole people, shape (w, q, c)."""
    people, (q, c) = disclosure.people, disclosure.quasi_probabilities.shape
    out = []
    for classes in assignments(disclosure):
        table = np.zeros((q, c))
        np.add.at(table, (people.person, np.array(classes)), 1)
        out.append(table)
    return np.array(out)


def small(seed: int, **more: Any) -> Disclosure:
    frame, _, tree = categories(seed, n=9, n_classes=2, values=2, attributes=3, min_samples_split=6)
    return infer_sensitive(tree, frame, adversary=Adversary(min_samples_leaf=1, **more))


@pytest.mark.parametrize("seed", range(4))
def test_by_the_leaves_alone_bounds_are_those_of_all_assignments(seed: int) -> None:
    disclosure = small(seed, internal_nodes=False)
    found, every = identified_disclosure(disclosure), worlds(disclosure)
    sizes = disclosure.people.sizes[:, None]
    np.testing.assert_allclose(found.low * sizes, every.min(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.high * sizes, every.max(axis=0), atol=1e-9)
    assert found.exact.all()


@pytest.mark.parametrize("seed", range(4))
def test_no_allowed_assignment_is_outside(seed: int) -> None:
    disclosure = small(seed)
    found, every = identified_disclosure(disclosure), worlds(disclosure)
    allowed = np.array([table for table in every if disclosure.constraints.satisfied(table)])
    sizes = disclosure.people.sizes[:, None]
    assert len(allowed)
    assert (found.low * sizes <= allowed.min(axis=0) + 1e-6).all()
    assert (found.high * sizes >= allowed.max(axis=0) - 1e-6).all()


def extreme(disclosure: Disclosure, row: int, column: int, sign: float) -> float:
    """Return the largest ``sign`` times people of a cell that a general solver finds."""
    posed, start = problem(disclosure), disclosure.quasi_probabilities * disclosure.people.sizes[:, None]
    shape = start.shape
    rows = [np.repeat(np.eye(shape[0])[q][:, None], shape[1], axis=1).ravel() for q in range(shape[0])]
    basis = null_space(np.array([*rows, *(a.ravel() for a, _ in posed.equal)]), rcond=1e-10)
    at = row * shape[1] + column

    def table(z: Floats) -> Floats:
        return np.asarray((start.ravel() + basis @ z).reshape(shape))

    limits: Any = [
        {"type": "ineq", "fun": lambda z: table(z).ravel(), "jac": lambda z: basis},
        {"type": "ineq", "fun": lambda z: posed.slack(table(z))},
    ]
    best = -np.inf
    for first in (np.zeros(basis.shape[1]), np.random.default_rng(0).normal(0, 0.1, basis.shape[1])):
        done = minimize(
            lambda z: -sign * table(z).ravel()[at], first, method="SLSQP", constraints=limits, options={"maxiter": 300}
        )
        if posed.slack(table(done.x)).min() > -1e-5 and table(done.x).min() > -1e-6:
            best = max(best, sign * float(table(done.x).ravel()[at]))
    return best


def shaped() -> Disclosure:
    """Return an instance in which internal nodes narrow a bound of the leaves."""
    for seed in range(40):
        frame, _, tree = parity(seed, n=14, values=2, n_classes=2)
        disclosure = infer_sensitive(tree, frame, adversary=Adversary(min_samples_leaf=1))
        alone = infer_sensitive(tree, frame, adversary=Adversary(internal_nodes=False))
        found, before = identified_disclosure(disclosure), identified_disclosure(alone)
        if (found.low - before.low).max() > 0.01:
            return disclosure
    raise AssertionError("no such instance")


def test_with_internal_nodes_bounds_are_those_of_a_general_solver() -> None:
    disclosure = shaped()
    found, sizes = identified_disclosure(disclosure), disclosure.people.sizes
    assert found.exact.all()
    open_cells = np.argwhere(found.high - found.low > 0.01)
    assert len(open_cells)
    for row, column in open_cells[:: max(1, len(open_cells) // 4)]:
        for sign, value in ((-1.0, -found.low[row, column]), (1.0, found.high[row, column])):
            assert extreme(disclosure, row, column, sign) == pytest.approx(value * sizes[row], abs=1e-3)


def test_the_estimate_lies_within_the_bounds_of_every_attacker() -> None:
    frame, y, tree = parity(6, n=26, values=2)
    kinds: tuple[Any, ...] = ("leaf_counts", "error_rates", "labels_only")
    for leaves in kinds:
        adversary = Adversary(leaves, min_samples_leaf=1)
        disclosure = infer_sensitive(tree, frame, adversary=adversary, starts=Starts(1))
        found = identified_disclosure(disclosure)
        for table in (disclosure.quasi_probabilities, disclosure.true_probabilities(y)):
            assert (found.low <= table + 1e-6).all()
            assert (found.high >= table - 1e-6).all()
        assert (found.low <= found.high + 1e-9).all()
        assert found.exact.all() == (leaves == "leaf_counts")


@pytest.mark.parametrize("kind", ["geometric", "laplace", "gaussian", "rounded"])
def test_counts_with_noise_prove_no_more_than_is_certain(kind: Any) -> None:
    # Whatever the noise made of the counts, the truth lies within the bounds; a mean of them is no bound.
    people = pl.DataFrame({"a": ["x"] * 3 + ["y"] * 3})
    tree = MultiwayTreeClassifier().fit(people, [0, 0, 0, 1, 1, 1]).model_
    counts = iter([(4, 2), (4, 0), (0, 4)])
    nodes = [replace(node, evidence=replace(node.evidence, counts=next(counts))) for node in tree.nodes]
    noisy = replace(tree, nodes=tuple(nodes), approximate=True)
    adversary = Adversary(internal_nodes=False, noise=CountNoise(kind, 4.0))
    disclosure = infer_sensitive(noisy, people, adversary=adversary)
    found = identified_disclosure(disclosure)
    true = disclosure.true_probabilities([0, 0, 0, 1, 1, 1])
    assert (found.low <= true).all()
    assert (found.high >= true).all()
    assert not found.exact.any()
    if kind != "rounded":
        assert not found.low.any()
        assert (found.high == 1).all()


def test_without_time_the_bounds_hold_and_are_not_called_exact() -> None:
    disclosure = shaped()
    none, full = identified_disclosure(disclosure, limit=TimeLimit(1e-9)), identified_disclosure(disclosure)
    assert not none.exact.all()
    assert (none.low <= full.low + 1e-9).all()
    assert (none.high >= full.high - 1e-9).all()


def test_without_a_search_the_bounds_are_those_of_the_leaves() -> None:
    disclosure = shaped()
    leaves, full = identified_disclosure(disclosure, search=False), identified_disclosure(disclosure)
    counts, of = disclosure.leaves.counts, disclosure.people.leaf
    assert counts is not None
    sizes = disclosure.people.sizes[:, None]
    others = disclosure.leaves.sizes[of][:, None] - sizes
    assert leaves.low == pytest.approx(np.maximum(counts[of] - others, 0) / sizes)
    assert leaves.high == pytest.approx(np.minimum(counts[of], sizes) / sizes)
    assert (leaves.low <= full.low + 1e-9).all()
    assert (leaves.low < full.low - 1e-6).any()


def test_how_many_are_certain_whatever_else_is_true() -> None:
    low = np.array([[0.9, 0.0], [0.2, 0.5]])
    found = Identified(low=low, high=1 - low[:, ::-1], exact=np.ones((2, 2, 2), dtype=bool))
    assert found.certain_of(0.9).tolist() == [True, False]
    assert found.certain_of(0.5).tolist() == [True, True]
    for wrong in (0.0, 1.1, float("nan")):
        with pytest.raises(InvalidParameterError, match="probability"):
            found.certain_of(wrong)


def test_a_sample_is_refused() -> None:
    frame, _, tree = categories(0, n=30)
    sample = infer_sensitive(tree, frame, adversary=Adversary(training="sample", internal_nodes=False))
    with pytest.raises(InvalidParameterError, match="not of a sample"):
        identified_disclosure(sample)
