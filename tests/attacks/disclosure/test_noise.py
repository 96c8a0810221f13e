"""Readers of noisy and of rounded class counts."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy.optimize import minimize

from glassine import DecisionTree
from glassine.attacks.disclosure import (
    Adversary,
    CountNoise,
    infer_sensitive,
    measure_disclosure,
)
from glassine.attacks.disclosure.lagrangian import Starts
from glassine.attacks.disclosure.leaf_constraints import even_counts
from glassine.attacks.disclosure.noise import expected_counts
from glassine.attacks.outcome import NotApplicable
from glassine.errors import InvalidDataError, InvalidParameterError, UndefinedMeasureError
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from glassine.models import Evidence, Guarantee, Node
from tests.attacks.disclosure.instances import parity
from tests.attacks.disclosure.whole_worlds import infer_posterior, measure_posterior

Floats = npt.NDArray[np.float64]


def told(tree: DecisionTree, change: Any, **more: Any) -> DecisionTree:
    """Return a tree whose leaves publish other counts."""
    nodes = [
        Node(branches=node.branches, evidence=Evidence() if node.branches else Evidence(counts=change(node.evidence)))
        for node in tree.nodes
    ]
    return replace(tree, nodes=tuple(nodes), **more)


def rounded(tree: DecisionTree, step: int) -> DecisionTree:
    """Return a tree with rounded counts."""
    return told(tree, lambda e: tuple((c + step // 2) // step * step for c in e.counts), approximate=True)


def by_definition(noisy: list[int], n: int, likely: Any) -> Floats:
    """Return the mean of all class counts of n people, weighed by the likelihood of the noisy ones."""
    every = np.array([k for k in product(range(n + 1), repeat=len(noisy)) if sum(k) == n])
    logs = np.array([sum(likely(y, int(k)) for y, k in zip(noisy, row, strict=True)) for row in every])
    weights = np.exp(logs - logs.max())
    return np.asarray(weights @ every / weights.sum())


@pytest.mark.parametrize("kind", ["geometric", "laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.4, 3.0, 25.0])
def test_expected_counts_are_their_definition(kind: Any, scale: float) -> None:
    def likely(y: int, k: int) -> float:
        if kind != "gaussian":
            return -abs(y - k) / scale
        if y:
            return -0.5 * ((y - k) / scale) ** 2
        return math.log(max(math.erfc(k / scale / math.sqrt(2)), 1e-300))

    rng = np.random.default_rng(0)
    for _ in range(5):
        noisy = rng.integers(0, 15, rng.integers(2, 5)).tolist()
        n = int(rng.integers(1, 12))
        found = expected_counts(noisy, n, CountNoise(kind, scale))
        assert found.sum() == pytest.approx(n)
        assert found == pytest.approx(by_definition(noisy, n, likely), abs=1e-7)


def test_expected_counts_of_half_the_noise_are_another_reader() -> None:
    """A planted fault, to see that the comparison above has power."""
    right = expected_counts([9, 2, 0], 10, CountNoise("geometric", 3.0))
    wrong = expected_counts([9, 2, 0], 10, CountNoise("geometric", 1.5))
    assert np.abs(right - wrong).max() > 0.3


def test_expected_counts_of_extremes() -> None:
    for noisy, n in (([50, 0], 3), ([0, 0], 5), ([500_000, 0, 3], 3000), ([4], 7), ([1, 2], 0)):
        found = expected_counts(noisy, n, CountNoise("geometric", 1.0))
        assert found.sum() == pytest.approx(n)
        assert (found >= 0).all()
    many = expected_counts([9000, 1000], 10_000, CountNoise("geometric", 20.0))
    assert many == pytest.approx([9000, 1000], abs=1)


def test_a_reader_of_a_private_tree_uses_its_counts() -> None:
    frame, y, tree = parity(3, n=40, values=2)
    noisy = told(tree, lambda e: e.counts, guarantee=Guarantee(epsilon=1.0, count_scale=2.0))
    found = infer_sensitive(noisy, frame, adversary=Adversary(internal_nodes=False))
    for leaf, node in enumerate(found.people.leaf_nodes):
        held = found.people.leaf[found.people.person] == leaf
        n = int(held.sum())
        own = expected_counts(noisy.nodes[node].evidence.counts or (), n, CountNoise("geometric", 2.0))
        assert found.probabilities[held] == pytest.approx(np.tile(own / n, (n, 1)))
    assert any("geometric noise of scale 2" in note for note in found.notes)
    exact = infer_sensitive(tree, frame, adversary=Adversary(internal_nodes=False))
    assert found.d_overall(y) > exact.d_overall(y)
    sharp = Adversary(internal_nodes=False, noise=CountNoise("geometric", 0.05))
    assert infer_sensitive(noisy, frame, adversary=sharp).probabilities == pytest.approx(exact.probabilities, abs=1e-6)
    assert isinstance(measure_posterior(found), NotApplicable)


@pytest.mark.parametrize(("counts", "step"), [((7, 0, 1), 5), ((12, 3, 3, 2), 4), ((1, 0), 20), ((0, 9), 2)])
def test_rounded_counts_leave_the_most_entropy_within_their_bounds(counts: tuple[int, ...], step: int) -> None:
    n = sum(counts)
    rounded = [(c + step // 2) // step * step for c in counts]
    bounds = [(low, min(high, n)) for low, high in CountNoise("rounded", step).bounds(rounded).tolist()]
    shares = even_counts(np.array([b[0] for b in bounds]), np.array([b[1] for b in bounds]), n) / n
    for low, high in bounds:
        # The bounds are those of the whole numbers that round to the same.
        assert all((c + step // 2) // step * step in rounded for c in (int(low), int(high)) if c < n)
    for share, count, (low, high) in zip(shares, counts, bounds, strict=True):
        assert low <= count <= high
        assert low - 1e-9 <= share * n <= high + 1e-9
    assert shares.sum() == pytest.approx(1)

    def negative_entropy(x: np.ndarray[Any, Any]) -> float:
        p = np.maximum(x, 1e-12) / n
        return float((p * np.log(p)).sum())

    best = minimize(
        negative_entropy,
        np.array(counts, dtype=float),
        bounds=bounds,
        constraints=[{"type": "eq", "fun": lambda x: x.sum() - n}],
    )
    assert negative_entropy(shares * n) == pytest.approx(float(best.fun), abs=1e-4)


@pytest.mark.slow
def test_rounded_counts_with_internal_nodes_tell_more_and_exclude_nothing_true() -> None:
    more = 0
    for seed in (0, 4, 6):
        frame, y, tree = parity(seed, n=26, values=2, n_classes=2 + seed % 2)
        step = 2 + seed % 2
        alone, whole = (
            infer_sensitive(
                rounded(tree, step),
                frame,
                adversary=Adversary(internal_nodes=used, noise=CountNoise("rounded", step), min_samples_leaf=1),
                starts=Starts(1),
            )
            for used in (False, True)
        )
        assert whole.entropy <= alone.entropy + 1e-9
        assert whole.bound == pytest.approx(alone.entropy, abs=1e-9) or whole.status == "optimal"
        table = whole.quasi_probabilities * whole.people.sizes[:, None]
        assert whole.constraints.satisfied(table)
        assert whole.constraints.satisfied(whole.true_probabilities(y) * whole.people.sizes[:, None])
        counts = np.zeros((len(whole.leaves.sizes), len(whole.classes)))
        np.add.at(counts, whole.people.leaf, table)
        again = [tree.nodes[node].evidence.counts or () for node in whole.people.leaf_nodes]
        bounds = CountNoise("rounded", step).bounds([[(c + step // 2) // step * step for c in row] for row in again])
        assert (counts >= bounds[..., 0] - 1e-6).all()
        assert (counts <= bounds[..., 1] + 1e-6).all()
        assert math.isfinite(whole.d_overall(y))
        more += whole.status == "local"
    assert more


def test_worlds_of_rounded_counts_hold_the_truth() -> None:
    frame, salary = pl.DataFrame({"a": ["x"] * 3 + ["y"] * 4}), [0, 0, 1, 1, 1, 1, 1]
    tree = MultiwayTreeClassifier().fit(frame, salary).model_
    found = infer_sensitive(rounded(tree, 2), frame, adversary=Adversary(noise=CountNoise("rounded", 2)))
    posterior = infer_posterior(found)
    # 2 or 1 of the first three, the other way round for the rest; of the last four 4 or 3 have the second class.
    assert posterior.n_worlds is not None
    truth = np.array([[float(s == c) for c in (0, 1)] for s in salary])
    assert ((posterior.probabilities > 0) | (truth == 0)).all()


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: CountNoise("uniform", 1.0), InvalidParameterError, "one of geometric"),  # type: ignore[arg-type]
        (lambda: CountNoise("laplace", 0.0), InvalidParameterError, "positive"),
        (lambda: CountNoise("laplace", math.nan), InvalidParameterError, "positive"),
        (lambda: CountNoise("laplace", True), InvalidParameterError, "positive"),
        (lambda: CountNoise("laplace", "2"), InvalidParameterError, "positive"),  # type: ignore[arg-type]
        (lambda: CountNoise("rounded", 1), InvalidParameterError, "at least 2"),
        (lambda: CountNoise("rounded", 2.5), InvalidParameterError, "at least 2"),
        (lambda: Adversary(noise=3.0), InvalidParameterError, "CountNoise"),  # type: ignore[arg-type]
    ],
)
def test_bad_noise_is_refused(make: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        make()


def test_noise_that_cannot_be_used_is_refused() -> None:
    frame, _, tree = parity(1, n=20, values=2)
    laplace = Adversary(noise=CountNoise("laplace", 1.0))
    blurred = rounded(tree, 5)
    with pytest.raises(UndefinedMeasureError, match="not combined with noisy counts"):
        infer_sensitive(blurred, frame, adversary=laplace)
    assert isinstance(measure_disclosure(blurred, frame, adversary=laplace), NotApplicable)
    with pytest.raises(UndefinedMeasureError, match="noisy or rounded"):
        infer_sensitive(blurred, frame, adversary=Adversary())
    with pytest.raises(UndefinedMeasureError, match="noisy or rounded"):
        infer_sensitive(blurred, frame, adversary=Adversary(training="sample"))
    wrong = Adversary(noise=CountNoise("rounded", 2), internal_nodes=False)
    tripled = told(tree, lambda e: tuple(3 * c + 9 for c in e.counts), approximate=True)
    with pytest.raises(InvalidDataError, match="cannot be those of the"):
        infer_sensitive(tripled, frame, adversary=wrong)
    labels = told(tree, lambda e: None, approximate=True)
    with pytest.raises(UndefinedMeasureError, match="class counts"):
        infer_sensitive(labels, frame, adversary=wrong)
    totals = Adversary(noise=CountNoise("laplace", 1.0), internal_nodes=False, marginals=[1, 1, 18])
    with pytest.raises(InvalidParameterError, match="marginals"):
        infer_sensitive(blurred, frame, adversary=totals)


def test_exact_counts_are_read_exactly_whatever_noise_is_stated() -> None:
    frame, _, tree = parity(1, n=20, values=2)
    one = infer_sensitive(tree, frame, adversary=Adversary())
    other = infer_sensitive(tree, frame, adversary=Adversary(noise=CountNoise("gaussian", 3.0)))
    assert other.probabilities == pytest.approx(one.probabilities)
