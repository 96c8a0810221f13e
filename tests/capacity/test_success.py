"""Success of any attack, by enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from glassine.capacity import design_success, fresh_success
from glassine.errors import InvalidParameterError
from tests.oracles.attacks_by_enumeration import Design, entropy_of, halves, kl


def test_no_guess_of_a_sensitive_value_exceeds_the_bound() -> None:
    # Three persons with laws of their own over two known and three sensitive values; the attacker knows the first.
    rng, closest = np.random.default_rng(2), 0.0
    for _ in range(40):
        laws = [rng.dirichlet(np.full(6, rng.choice([0.3, 1]))) for _ in range(3)]
        data = np.array(list(itertools.product(range(6), repeat=3)))
        weights = np.prod([laws[i][data[:, i]] for i in range(3)], axis=0)
        k = int(rng.integers(2, 9))
        models = rng.integers(0, k, len(data))
        bits = entropy_of(np.bincount(models, weights=weights, minlength=k).tolist())
        right = chance = whole = blind = 0.0
        for i in range(3):
            joint = np.zeros((k, 6))
            np.add.at(joint, (models, data[:, i]), weights)
            right += joint.reshape(k, 2, 3).max(axis=2).sum() / 3
            chance += laws[i].reshape(2, 3).max(axis=1).sum() / 3
            whole += joint.max(axis=1).sum() / 3
            blind += laws[i].max() / 3
        assert right <= fresh_success(chance, bits / 3) + 1e-12
        assert whole <= fresh_success(blind, bits / 3) + 1e-12
        if chance < 0.99:
            closest = max(closest, (right - chance) / (fresh_success(chance, bits / 3) - chance))
    assert closest > 0.5


def test_no_attack_has_more_true_positives() -> None:
    rng, samples = np.random.default_rng(4), halves(6)
    for _ in range(40):
        k = int(rng.integers(2, 12))
        seen = Design.of(samples, rng.dirichlet(np.full(k, 0.1), len(samples)))
        marks = rng.random(seen.posteriors.shape) < rng.random()
        joint = seen.posteriors * seen.masses
        true = float((marks * joint).sum(axis=1).mean() / 0.5)
        false = float((marks * (seen.masses - joint)).sum(axis=1).mean() / 0.5)
        assert true <= design_success(min(false, 1.0), float(seen.information.mean())) + 1e-9


def test_the_bound_is_the_root_of_its_divergence() -> None:
    for chance in (2**-16, 0.01, 0.5, 0.9):
        for bits in (1e-5, 0.001, 0.01):
            assert float(kl(fresh_success(chance, bits), chance)) == pytest.approx(bits, rel=1e-6)
    # The figures of a tree of 39.6 bits on 24,421 records.
    assert fresh_success(0.5, 40 / 24_421) == pytest.approx(0.524, abs=5e-4)
    assert fresh_success(2**-16, 40 / 24_421) == pytest.approx(4.6e-4, abs=1e-5)


def test_the_ends() -> None:
    assert fresh_success(0.3, 0.0) == pytest.approx(0.3)
    assert fresh_success(0.0, 5.0) == 0.0
    assert fresh_success(1.0, 0.0) == fresh_success(0.2, 100.0) == 1.0
    assert design_success(1.0, 0.0) == design_success(0.2, 1.0) == 1.0
    assert 0 < design_success(0.0, 0.01) < 0.1
    assert fresh_success(0.01, 1e-3) < design_success(0.01, 1e-3)


def test_records_that_are_matched_afterwards_are_not_bounded() -> None:
    # A constant model: the list of all of 1,000 values has most records of a uniform sample; a named one has 1/1,000.
    matched = 1 - (1 - 1 / 1000) ** 1000
    assert matched > 0.6 > fresh_success(1 / 1000, 0.0) * 100


@pytest.mark.parametrize("chance", [-0.1, 1.1, math.nan, True, "0.5"])
def test_bad_input_is_an_error_of_ours(chance: float) -> None:
    for bound in (fresh_success, design_success):
        with pytest.raises(InvalidParameterError):
            bound(chance, 0.1)
