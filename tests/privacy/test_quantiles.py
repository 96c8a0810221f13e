"""Private quantiles: their exact distribution over every small neighbor, and that the draw follows it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from glassine.errors import GlassineError, InvalidDataError
from glassine.privacy import accounting
from glassine.privacy.accounting import Event, Parallel, Selection
from glassine.privacy.randomness import Randomness
from glassine.sealed import quantiles
from glassine.sealed.attribute_quantiles import private_quantiles_of_attributes
from glassine.sealed.exact_quantiles import quantile_distribution
from glassine.sealed.quantile_levels import quantile_events
from glassine.sealed.quantiles import private_quantiles, quantile_log_weights

UNIVERSE = (0.0, 1.0, 2.0, 3.0)
CANDIDATES = (0.0, 0.5, 1.0, 2.0)

Distribution = Callable[[tuple[float, ...]], dict[tuple[float, ...], float]]


def worst_loss(distribution: Distribution, most: int = 4) -> float:
    """Largest log-ratio over all columns of up to ``most`` values and all additions of one value."""
    worst = 0.0
    for size in range(most + 1):
        for column in combinations_with_replacement(UNIVERSE, size):
            here = distribution(column)
            for value in UNIVERSE:
                there = distribution((*column, value))
                assert here.keys() == there.keys()
                worst = max(worst, *(abs(math.log(here[key] / there[key])) for key in here))
    return worst


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.5, 3])
def test_the_loss_stays_within_epsilon(number: int, epsilon: float) -> None:
    loss = worst_loss(lambda column: quantile_distribution(column, CANDIDATES, number, epsilon))
    assert 0.4 * epsilon < loss <= epsilon * (1 + 1e-12)


def test_a_budget_spent_on_every_level_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantiles, "level_part", lambda number, epsilon: Fraction(epsilon))
    assert worst_loss(lambda column: quantile_distribution(column, CANDIDATES, 2, 1)) > 1.1


def test_a_forgotten_factor_of_two_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantiles, "quantile_score", lambda quantile: max(quantile, 1 - quantile) / 2)
    assert worst_loss(lambda column: quantile_distribution(column, CANDIDATES, 1, 1)) > 1.2


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 3])
def test_the_draw_follows_the_distribution(number: int) -> None:
    column = [0, 0, 1, 1, 2, 3, 3, 3]
    candidates = [0, 0.5, 1, 1.5, 2, 2.5]
    stream = Randomness.of(41)
    draws = Counter(private_quantiles(column, candidates, number, 2, stream)[0] for _ in range(5_000))

    def accepts(epsilon: float) -> bool:
        shares = quantile_distribution(column, candidates, number, epsilon)
        assert math.fsum(shares.values()) == pytest.approx(1)
        observed = np.array([draws[key] for key in shares])
        return bool(stats.chisquare(observed, np.array(list(shares.values())) * 5_000).pvalue > 1e-9)

    assert accepts(2)
    assert not accepts(1)
    assert not accepts(4)


@given(
    st.lists(st.integers(0, 20), max_size=30),
    st.sets(st.integers(-1, 21), max_size=9),
    st.integers(0, 6),
    st.integers(0, 1000),
)
def test_thresholds_are_distinct_increasing_candidates(
    column: list[int], candidates: set[int], number: int, seed: int
) -> None:
    ordered = sorted(candidates)
    thresholds, events = private_quantiles(column, ordered, number, 1, Randomness.of(seed))
    assert len(thresholds) == min(number, len(ordered))
    assert list(thresholds) == sorted(set(thresholds))
    assert set(thresholds) <= set(map(float, ordered))
    spent = accounting.epsilon(events)
    assert spent == pytest.approx(1 if 0 < number < len(ordered) else 0, abs=1e-12)


def test_many_records_give_the_quantiles() -> None:
    column = np.random.default_rng(1).permutation(np.arange(100_000)) / 1000
    thresholds, _ = private_quantiles(column, np.arange(1, 100).tolist(), 9, 1, Randomness.of(42))
    assert thresholds == (10, 20, 30, 40, 50, 60, 70, 80, 90)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 7, 8])
def test_events_cover_every_selection(number: int) -> None:
    events = quantile_events(100, number, 1)
    assert len(events) == number.bit_length()
    branches = [branch for event in events if isinstance(event, Parallel) for branch in event.branches]
    selections = [event for branch in branches for event in branch if isinstance(event, Selection)]
    assert len(selections) == number
    assert accounting.epsilon(events) == pytest.approx(1, abs=1e-12)
    assert accounting.epsilon(quantile_events(100, number, Fraction(1, 3))) == pytest.approx(1 / 3, abs=1e-12)


def test_log_weights_prefer_the_quantile() -> None:
    weights, denominator = quantile_log_weights([1, 2, 3, 4], [0, 1, 2, 3, 4], Fraction(1, 4), Fraction(3, 2))
    assert [Fraction(weight, denominator) for weight in weights] == [-1, 0, -1, -2, -3]


def test_empty_data_are_uniform() -> None:
    shares = quantile_distribution([], [1, 2, 3], 1, 5)
    assert list(shares.values()) == pytest.approx([1 / 3] * 3)
    assert private_quantiles([], [], 3, 1, Randomness.of(0)) == ((), ())
    assert private_quantiles([1, 2], [1, 2], 0, 1, Randomness.of(0)) == ((), ())


def test_attributes_share_epsilon() -> None:
    columns: dict[str, npt.ArrayLike] = {"a": np.arange(1000), "b": [0, 1] * 500, "c": np.arange(1000) * 2}
    candidates: dict[str, list[float]] = {"a": list(range(100, 1000, 100)), "b": [0], "c": [500, 1000, 1500]}
    thresholds, events = private_quantiles_of_attributes(columns, candidates, 1, 1, Randomness.of(43))
    assert thresholds == {"a": (500,), "b": (0,), "c": (1000,)}
    assert accounting.epsilon(events) == pytest.approx(1, abs=1e-12)
    names: list[str] = [event.name for event in events]
    assert names == ["quantiles of a, level 1", "quantiles of c, level 1"]
    nothing: tuple[dict[str, tuple[float, ...]], tuple[Event, ...]] = ({}, ())
    assert private_quantiles_of_attributes({}, {}, 1, 1, Randomness.of(43)) == nothing


def test_impossible_parameters_are_refused() -> None:
    stream = Randomness.of(0)
    for values in ([math.nan], [math.inf], [[1, 2]], ["a"], 3):
        with pytest.raises(GlassineError, match="values must be"):
            private_quantiles(values, [1, 2], 1, 1, stream)
    for candidates in ([2, 1], [1, 1], [math.nan, 1]):
        with pytest.raises(GlassineError, match="candidate"):
            private_quantiles([1], candidates, 1, 1, stream)
    for number in (-1, True, 1.5):
        with pytest.raises(GlassineError, match="number must be a whole number"):
            private_quantiles([1], [1, 2], number, 1, stream)  # type: ignore[arg-type]  # the mistake is the test
    for epsilon in (0, -1, math.nan):
        with pytest.raises(GlassineError, match="epsilon must be"):
            private_quantiles([1], [1, 2], 1, epsilon, stream)
    with pytest.raises(GlassineError, match="must name the same attributes"):
        private_quantiles_of_attributes({"a": [1]}, {"b": [1]}, 1, 1, stream)


@pytest.mark.parametrize("times", [[1, -1], [1], [[1, 1]]])
def test_multiplicities_that_do_not_fit_are_refused(times: list[int]) -> None:
    with pytest.raises(InvalidDataError, match="one whole number of at least 0 per value"):
        private_quantiles([1, 2], [1, 2], 1, 1, Randomness.of(0), multiplicities=np.array(times))
