"""How many persons can be exposed, by enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from glassine.capacity import certain_persons, conditional_bits, design_bits, exposed_persons
from glassine.errors import InvalidParameterError
from tests.oracles.attacks_by_enumeration import Design, deterministic, halves

SHOWN = {
    "one person": lambda row: row[0],
    "parity": lambda row: row.sum() % 2,
    "four persons": lambda row: tuple(row[:4]),
    "one half alone": lambda row: row.sum() == 0,
    "three at zero": lambda row: row[:3].sum() == 0,
    "majority": lambda row: row.sum() > 5,
}


@pytest.mark.parametrize("shown", SHOWN.values(), ids=SHOWN)
def test_the_profile_holds_on_average_over_the_draws(shown) -> None:  # type: ignore[no-untyped-def]
    samples = halves(10)
    seen = Design.of(samples, deterministic([shown(row) for row in samples]))
    for advantage in (0.1, 0.25, 0.5, 0.75, 1.0):
        assert (seen.advantages >= advantage - 1e-12).sum() <= exposed_persons(seen.entropy, advantage)


@pytest.mark.parametrize("shown", SHOWN.values(), ids=SHOWN)
@pytest.mark.parametrize("sample", [None, 5, 3])
def test_given_one_model_the_certain_persons_are_bounded_but_for_delta(shown, sample) -> None:  # type: ignore[no-untyped-def]
    samples = halves(10, sample)
    rate = 0.5 if sample is None else sample / 10
    seen = Design.of(samples, deterministic([shown(row) for row in samples]))
    for delta in (0.5, 0.1, 0.01):
        bits = conditional_bits(math.log2(len(seen.masses)), delta)
        bits = bits if sample is None else design_bits(bits, 10, sample)
        for probability in (0.8, 0.9, 1.0):
            certain = (np.maximum(seen.posteriors, 1 - seen.posteriors) >= probability - 1e-12).sum(axis=0)
            assert seen.masses[certain > certain_persons(bits, rate, probability)].sum() <= delta


def test_the_profile_is_not_one_of_the_published_model() -> None:
    # Two models: one appears for one half alone, and tells all ten persons for certain.
    samples = halves(10)
    seen = Design.of(samples, deterministic([bool(row.sum() == 0) for row in samples]))
    told = (np.abs(2 * seen.posteriors - 1) == 1).sum(axis=0).max()
    assert exposed_persons(1.0, 1.0) == 1 < told == 10
    assert told <= certain_persons(conditional_bits(1.0, 2**-10.5))


def test_the_figures_of_a_tree_on_48_842_people() -> None:
    # 39.6 bits, half of the frame, one draw in 20.
    bits = design_bits(conditional_bits(39.6, 0.05), 48_842, 24_421)
    assert certain_persons(bits) == 44
    assert exposed_persons(40, 0.5) / 40 == pytest.approx(5.3, abs=0.03)


@pytest.mark.parametrize("probability", [0.5, 0.2, 1.1, math.nan, True])
def test_bad_input_is_an_error_of_ours(probability: float) -> None:
    with pytest.raises(InvalidParameterError):
        certain_persons(1.0, 0.5, probability)


@pytest.mark.parametrize("advantage", [0.0, -0.1, 1.1, math.nan, True])
def test_a_bad_advantage_is_an_error_of_ours(advantage: float) -> None:
    with pytest.raises(InvalidParameterError):
        exposed_persons(1.0, advantage)
