"""Integer noise: the stated weights, at small and at large parameters."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from glassine.errors import GlassineError
from glassine.privacy.randomness import Randomness
from glassine.privacy.samplers import draw_discrete_cauchy, draw_discrete_gaussian, draw_discrete_laplace

Sampler = Callable[[Fraction, Randomness], int]

# Sampler, parameter, and the weight of an integer.
CASES: list[tuple[Sampler, Fraction, Callable[[int], float]]] = [
    (draw_discrete_laplace, Fraction(2, 3), lambda k: math.exp(-abs(k) * 1.5)),
    (draw_discrete_laplace, Fraction(2), lambda k: math.exp(-abs(k) / 2)),
    (draw_discrete_gaussian, Fraction(1, 2), lambda k: math.exp(-(k**2))),
    (draw_discrete_gaussian, Fraction(5, 2), lambda k: math.exp(-(k**2) / 5)),
    (draw_discrete_cauchy, Fraction(1), lambda k: 1 / (1 + k**2)),
    (draw_discrete_cauchy, Fraction(5, 2), lambda k: 1 / (1 + k**2 / 6.25)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("sampler", "parameter", "weight"), CASES)
def test_draws_follow_the_weights(sampler: Sampler, parameter: Fraction, weight: Callable[[int], float]) -> None:
    stream = Randomness.of(32)
    observed = np.array(list(Counter(sampler(parameter, stream) for _ in range(60_000)).items()))
    cells = np.arange(-3, 4)
    counts = np.array([observed[observed[:, 0] == k, 1].sum() for k in cells], dtype=float)

    def accepts(power: float) -> bool:
        """Compare, given a result within the cells."""
        shares = np.array([weight(k) for k in cells.tolist()]) ** power
        return bool(stats.chisquare(counts, shares / shares.sum() * counts.sum()).pvalue > 1e-9)

    assert accepts(1.0)
    assert not accepts(0.8)
    assert not accepts(1.25)


def test_large_parameters_are_fast_and_of_the_right_size() -> None:
    stream = Randomness.of(31)
    scale = Fraction(10**15, 7)
    for sampler, parameter, median in (
        (draw_discrete_laplace, scale, math.log(2)),
        (draw_discrete_gaussian, scale**2, 0.67449),
        (draw_discrete_cauchy, scale, 1.0),
    ):
        draws = np.array([sampler(parameter, stream) for _ in range(5000)], dtype=float)
        assert np.median(np.abs(draws)) / float(scale) == pytest.approx(median, rel=0.07)
        assert 2200 < int((draws > 0).sum()) < 2800


@pytest.mark.parametrize("sampler", [draw_discrete_laplace, draw_discrete_gaussian, draw_discrete_cauchy])
def test_parameters_must_be_positive(sampler: Sampler) -> None:
    with pytest.raises(GlassineError, match="must be positive"):
        sampler(Fraction(0), Randomness.of(0))
