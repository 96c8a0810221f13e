"""Additive noise: both doors follow the claimed distribution, and refuse one that is a tenth off.

OpenDP draws from the operating system and takes no seed; a right mechanism fails here with probability 1e-9.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from glassine.errors import GlassineError
from glassine.privacy import mechanisms
from glassine.privacy.accounting import DiscreteGaussianNoise, DiscreteLaplaceNoise, GaussianNoise, LaplaceNoise, cost
from glassine.privacy.mechanisms import cauchy, discrete_gaussian, discrete_laplace, gaussian, geometric, laplace
from glassine.privacy.randomness import Randomness
from tests.privacy.fitting import CELLS, DRAWS, fits

Array = npt.NDArray[np.float64]
Mechanism = Callable[[npt.ArrayLike, float, Randomness], npt.NDArray[Any]]
QUANTILES = np.arange(1, CELLS) / CELLS


def discrete_cdf(weight: Callable[[Array], Array], reach: int = 4000) -> Callable[[Array], Array]:
    """Distribution function of the integers with weights, at points between them."""
    support = np.arange(-reach, reach + 1, dtype=np.float64)
    cumulative = np.cumsum(weight(support)) / weight(support).sum()
    return lambda x: cumulative[np.floor(x).astype(int) + reach]


# Name: mechanism, distribution function at a scale, and cells.
CASES: dict[str, tuple[Mechanism, Callable[[float], Callable[[Array], Array]], Callable[[float], Array]]] = {
    "laplace": (
        laplace,
        lambda scale: lambda x: stats.laplace(scale=scale).cdf(x),
        lambda scale: stats.laplace(scale=scale).ppf(QUANTILES),
    ),
    "gaussian": (
        gaussian,
        lambda scale: lambda x: stats.norm(scale=scale).cdf(x),
        lambda scale: stats.norm(scale=scale).ppf(QUANTILES),
    ),
    "discrete_laplace": (
        discrete_laplace,
        lambda scale: discrete_cdf(lambda k: np.exp(-np.abs(k) / scale)),
        lambda scale: np.floor(stats.laplace(scale=scale).ppf(QUANTILES)) + 0.5,
    ),
    "discrete_gaussian": (
        discrete_gaussian,
        lambda scale: discrete_cdf(lambda k: np.exp(-(k**2) / (2 * scale**2))),
        lambda scale: np.floor(stats.norm(scale=scale).ppf(QUANTILES)) + 0.5,
    ),
    "cauchy": (
        lambda values, scale, stream: cauchy(values, scale, stream, granularity=2**-50),
        lambda scale: lambda x: stats.cauchy(scale=scale).cdf(x),
        lambda scale: stats.cauchy(scale=scale).ppf(QUANTILES),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_noise_has_the_claimed_scale(name: str, seeded: bool) -> None:
    mechanism, cdf, edges = CASES[name]
    scale = 6.5
    stream = Randomness.of(21 if seeded else None)
    noise = mechanism(np.zeros(DRAWS[name], dtype=np.int64), scale, stream)
    assert fits(noise, cdf(scale), edges(scale))
    assert not fits(noise, cdf(0.9 * scale), edges(scale))
    assert not fits(noise, cdf(1.1 * scale), edges(scale))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["discrete_laplace", "discrete_gaussian"])
def test_small_discrete_noise_has_the_claimed_scale(name: str) -> None:
    mechanism, cdf, _ = CASES[name]
    noise = mechanism(np.zeros(60_000, dtype=np.int64), 0.7, Randomness.of(22))
    edges = np.arange(-3, 4) + 0.5
    assert fits(noise, cdf(0.7), edges)
    assert not fits(noise, cdf(0.63), edges)
    assert not fits(noise, cdf(0.77), edges)


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_noise_is_added_to_each_value(name: str, seeded: bool) -> None:
    mechanism = CASES[name][0]
    values = np.array([[0, 10**6, -(10**6)], [5, 10**9, 7]])
    noisy = mechanism(values, 0.01, Randomness.of(23 if seeded else None))
    assert noisy.shape == values.shape
    # The Cauchy tail beyond 1e5 scales holds 6e-6 of the mass of each value; seeded, it is fixed.
    tolerance = 1e-6 * 10**9 if name == "cauchy" else 1
    assert np.abs(noisy - values).max() <= tolerance
    assert noisy.dtype == (np.int64 if name.startswith("discrete") else np.float64)


@pytest.mark.parametrize("name", CASES)
def test_shapes_are_kept(name: str) -> None:
    mechanism = CASES[name][0]
    for seed in (None, 1):
        assert mechanism(3, 1.0, Randomness.of(seed)).shape == ()
        assert mechanism([], 1.0, Randomness.of(seed)).shape == (0,)


@pytest.mark.parametrize("name", CASES)
def test_a_seed_repeats_the_noise(name: str) -> None:
    mechanism = CASES[name][0]
    first, second = (mechanism([1, 2, 3], 4.0, Randomness.of(24)) for _ in range(2))
    assert first.tolist() == second.tolist()


def test_geometric_is_clamped_discrete_laplace() -> None:
    values = [0, 5, 10]
    clamped = geometric(values, 3, Randomness.of(25), lower=0, upper=10)
    assert clamped.tolist() == np.clip(discrete_laplace(values, 3, Randomness.of(25)), 0, 10).tolist()
    with pytest.raises(GlassineError, match="lower must not exceed upper"):
        geometric(values, 3, Randomness.of(25), lower=1, upper=0)


@pytest.mark.parametrize("seeded", [True, False])
def test_integers_saturate_at_64_bits(seeded: bool) -> None:
    largest = np.iinfo(np.int64).max
    noisy = discrete_laplace([largest] * 40, 1000, Randomness.of(26 if seeded else None))
    assert noisy.max() == largest
    assert noisy.min() > largest - 10**6


def test_opendp_states_the_same_guarantee() -> None:
    one_third = float(Fraction(1, 3))
    maps: dict[tuple[str, str], Any] = {
        (kind, carrier): mechanisms._measurement(kind, carrier, 3.0)
        for kind in ("laplace", "gaussian")
        for carrier in ("i64", "f64")
    }
    for carrier, sensitivity in (("i64", 1), ("f64", 1.0)):
        assert maps["laplace", carrier].map(sensitivity) == pytest.approx(one_third, rel=1e-12)
        assert maps["gaussian", carrier].map(1.0) == pytest.approx(1 / 18, rel=1e-12)
    for laplacian in (LaplaceNoise, DiscreteLaplaceNoise):
        assert cost(laplacian(name="x", l1_sensitivity=1, scale=3)).pure == pytest.approx(one_third)
    for normal in (GaussianNoise, DiscreteGaussianNoise):
        assert cost(normal(name="x", l2_sensitivity=1, sigma=3)).rho == pytest.approx(1 / 18)


def test_opendps_switch_is_left_as_it_was() -> None:
    code = """
import sys
from glassine.privacy.mechanisms import laplace
from glassine.privacy.randomness import Randomness
assert "opendp" not in sys.modules
laplace([0.0], 1, Randomness.of(0))
assert "opendp" not in sys.modules
laplace([0.0], 1, Randomness.of(None))
from opendp import mod
assert mod.GLOBAL_FEATURES == set(), mod.GLOBAL_FEATURES
mod.enable_features("contrib")
laplace([0.0], 2, Randomness.of(None))
assert mod.GLOBAL_FEATURES == {"contrib"}, mod.GLOBAL_FEATURES
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_cauchy_lies_on_its_public_grid() -> None:
    noisy = cauchy([0.3] * 200, 2.0, Randomness.of(27), granularity=2**-31)
    assert all((value * 2**31).is_integer() for value in noisy.tolist())


def test_cauchy_raises_a_scale_that_is_too_fine_for_its_grid() -> None:
    noise = cauchy(np.zeros(2000), 1e-9, Randomness.of(28), granularity=1)
    assert np.median(np.abs(noise)) == pytest.approx(2**31, rel=0.1)


def test_cauchy_survives_its_tail() -> None:
    assert math.isfinite(mechanisms._nearest_float(Fraction(10**400)))
    assert mechanisms._nearest_float(Fraction(-(10**400))) == -sys.float_info.max


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf, 10**400, True, "1"])
@pytest.mark.parametrize("name", CASES)
def test_impossible_scales_are_refused(name: str, scale: Any) -> None:
    with pytest.raises(GlassineError):
        CASES[name][0]([1], scale, Randomness.of(0))


def test_values_of_the_wrong_kind_are_refused() -> None:
    stream = Randomness.of(0)
    for discrete in (discrete_laplace, discrete_gaussian):
        for values in ([0.5], [True], ["a"], [2**63], [math.nan]):
            with pytest.raises(GlassineError, match="values must"):
                discrete(values, 1, stream)
    for continuous in (laplace, gaussian):
        for wrong in ([math.nan], [math.inf], ["a"], [1j]):
            with pytest.raises(GlassineError, match="values must"):
                continuous(wrong, 1, stream)
    with pytest.raises(GlassineError, match="sigma must be at least"):
        gaussian([1.0], 1e-300, stream)
    with pytest.raises(GlassineError, match="granularity must be positive"):
        cauchy([1.0], 1, stream, granularity=0)


def test_the_slack_of_cauchy_noise_is_above_what_one_step_of_its_grid_adds() -> None:
    # A step adds at most 1 / s of epsilon at a scale of s steps, and the sum over the grid a little more.
    assert 2.0**-mechanisms.FINENESS < mechanisms.CAUCHY_SLACK < 2.0**-29
