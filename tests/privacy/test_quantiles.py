"""Private quantiles: their exact distribution over every small neighbor, and that the draw follows it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from glassine.errors import GlassineError, InvalidDataError
from glassine.privacy import accounting
from glassine.privacy.accounting import Parallel, Selection
from glassine.privacy.randomness import Randomness
from glassine.privacy.unit import RECORD
from glassine.sealed import quantiles
from glassine.sealed.accounts import Allowance
from glassine.sealed.exact_quantiles import quantile_distribution
from glassine.sealed.quantile_levels import quantile_events
from glassine.sealed.quantiles import private_quantiles, quantile_log_weights
from glassine.sealed.queries import Quantiles

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


class Columns:
    """Numbers by name, as a query asks for them."""

    def __init__(self, columns: dict[str, list[float]]) -> None:
        self.columns = columns

    def numbers(self, name: str, cuts: object = None) -> tuple[npt.NDArray[np.float64], None]:
        return np.array(self.columns[name], dtype=float), None


def test_attributes_share_epsilon() -> None:
    columns = {"a": list(np.arange(1000.0)), "b": [0.0, 1.0] * 500, "c": list(np.arange(1000.0) * 2)}
    points = {"a": tuple(range(100, 1000, 100)), "b": (0,), "c": (500, 1000, 1500)}
    query = Quantiles(points={name: tuple(map(float, own)) for name, own in points.items()}, number=1)
    whole = Allowance(epsilon=Fraction(1), total=Fraction(1), unit=RECORD)
    records: Any = Columns(columns)
    assert query.draw(records, whole, Randomness.of(43), None) == {"a": (500,), "b": (0,), "c": (1000,)}
    events = query.events(whole)
    assert accounting.epsilon(events) == pytest.approx(1, abs=1e-12)
    assert [event.name for event in events] == ["quantiles of a, level 1", "quantiles of c, level 1"]
    assert Quantiles(points={}, number=1).events(whole) == ()


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


@pytest.mark.parametrize("times", [[1, -1], [1], [[1, 1]]])
def test_multiplicities_that_do_not_fit_are_refused(times: list[int]) -> None:
    with pytest.raises(InvalidDataError, match="one whole number of at least 0 per value"):
        private_quantiles([1, 2], [1, 2], 1, 1, Randomness.of(0), multiplicities=np.array(times))
