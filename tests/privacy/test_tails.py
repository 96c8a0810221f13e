"""Tails of sums of discrete Laplace noise: exact for one variable, above the truth for several."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from glassine.errors import InvalidMechanismError
from glassine.privacy.accounting import CountBound, cost
from glassine.privacy.conversions import discrete_laplace_tail, least_threshold


def law(scale: float, reach: int) -> npt.NDArray[np.float64]:
    """Return the probabilities of -reach, ..., reach."""
    q = math.exp(-1 / scale)
    return np.asarray((1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1)), dtype=np.float64)


def exact_tail(threshold: int, terms: list[tuple[float, int]]) -> float:
    total = np.ones(1)
    for scale, number in terms:
        for _ in range(number):
            total = np.convolve(total, law(scale, 400))
    return float(total[len(total) // 2 + threshold :].sum())


@pytest.mark.parametrize("scale", [0.3, 1.0, 8.0])
@pytest.mark.parametrize("threshold", [1, 5, 20])
def test_one_variable_is_exact(scale: float, threshold: int) -> None:
    assert discrete_laplace_tail(threshold, [(scale, 1)]) == pytest.approx(
        exact_tail(threshold, [(scale, 1)]), rel=1e-6, abs=1e-18
    )


@pytest.mark.parametrize("terms", [[(3.0, 2)], [(3.0, 1), (6.0, 4)], [(10.0, 1), (0.5, 3)]])
@pytest.mark.parametrize("threshold", [1, 20, 60, 110])
def test_several_are_bounded_and_not_by_much(terms: list[tuple[float, int]], threshold: int) -> None:
    truth, bound = exact_tail(threshold, terms), discrete_laplace_tail(threshold, terms)
    assert truth <= bound <= max(1e-12, 60 * truth)


def test_the_least_threshold_is_least() -> None:
    terms = [(5.0, 1), (9.0, 4)]
    for probability in (0.3, 1e-3, 1e-12):
        found = least_threshold(probability, terms)
        assert discrete_laplace_tail(found, terms) <= probability < discrete_laplace_tail(found - 1, terms)


def test_noise_without_extent_and_noise_without_end_are_no_trouble() -> None:
    assert least_threshold(1e-9, [(1e-5, 1), (1e-5, 6)]) == 1
    assert 1e12 < least_threshold(1e-9, [(1e11, 1), (1e11, 6)]) < 1e14


def test_the_event_costs_its_tail_and_nothing_else() -> None:
    event = CountBound(name="records", scale=5.0, other_scale=9.0, others=4, threshold=120)
    assert cost(event).delta == discrete_laplace_tail(120, [(5.0, 1), (9.0, 4)])
    assert (cost(event).pure, cost(event).rho, cost(event).mu_squared) == (0.0, 0.0, 0.0)


def test_impossible_parameters_are_refused() -> None:
    for call in (
        lambda: discrete_laplace_tail(0, [(1.0, 1)]),
        lambda: discrete_laplace_tail(1, []),
        lambda: discrete_laplace_tail(1, [(1.0, 0)]),
        lambda: discrete_laplace_tail(1, [(math.nan, 1)]),
        lambda: least_threshold(0.0, [(1.0, 1)]),
        lambda: least_threshold(1.0, [(1.0, 1)]),
    ):
        with pytest.raises(InvalidMechanismError):
            call()
