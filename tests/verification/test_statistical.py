"""The runner: power against planted bugs, no false alarm, coverage, wording, and what is refused."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from glassine.errors import InvalidDataError, InvalidParameterError, UnsupportedModelError
from glassine.privacy.mechanisms import gaussian, laplace
from glassine.privacy.randomness import Randomness
from glassine.records.arrays import Array
from glassine.sealed.noisy_choice import exponential_mechanism
from glassine.verification import Claim, LowerBound, Runs, lower_bound, lower_bound_from_outputs
from glassine.verification.bounds import EpsilonBound, GaussianBound, TradeOffBound, clopper_pearson_upper
from glassine.verification.scores import Distinguisher, FixedEvent, FixedThresholds, Statistic
from glassine.verification.statistical_phases import Event

ONE, TWO = ["a"], ["a", "b"]


def laplace_count(scale: float) -> Callable[[list[str], int | None], float]:
    return lambda records, seed: float(laplace(len(records), scale, Randomness.of(seed)))


def gaussian_count(sigma: float) -> Callable[[list[str], int | None], float]:
    return lambda records, seed: float(gaussian(len(records), sigma, Randomness.of(seed)))


def selection(epsilon: float) -> Callable[[list[str], int | None], int]:
    """Return a choice among four candidates, of which records vote for those of their names."""

    def choose(records: list[str], seed: int | None) -> int:
        scores = [records.count(name) for name in "abcd"]
        return exponential_mechanism(scores, epsilon, 1, monotone=True, randomness=Randomness.of(seed))

    return choose


VOTES = ["b", "c", "d"]

# The claim, its mechanism with the noise that it needs, and with half of it; two datasets.
PLANTED: dict[str, tuple[dict[str, Any], Any, Any, list[str], list[str]]] = {
    "Laplace": ({"claim": Claim(epsilon=1.0), "score": float}, laplace_count(1.0), laplace_count(0.5), ONE, TWO),
    "Gaussian": ({"claim": Claim(mu=1.0), "score": float}, gaussian_count(1.0), gaussian_count(0.5), ONE, TWO),
    "exponential mechanism": (
        {"claim": Claim(epsilon=1.0), "score": lambda choice: choice == 0},
        selection(1.0),
        selection(2.0),
        VOTES,
        [*VOTES, "a"],
    ),
    "Laplace, learned": ({"claim": Claim(epsilon=1.0)}, laplace_count(1.0), laplace_count(0.5), ONE, TWO),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "Laplace, learned")) for name in PLANTED]
)
def test_half_the_noise_is_caught_within_2000_runs(name: str) -> None:
    claim, honest, planted, d0, d1 = PLANTED[name]
    for seed in range(1 if "learned" in name else 2):
        found = lower_bound(planted, d0, d1, **claim, runs=Runs(2000, seed=seed))
        assert found.violated, str(found)
        assert found.verdict.startswith("violated: ")
        assert not lower_bound(honest, d0, d1, **claim, runs=Runs(2000, seed=seed)).violated


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Laplace", "Gaussian", "exponential mechanism"])
def test_half_the_noise_is_caught_nineteen_times_of_twenty(name: str) -> None:
    claim, _, planted, d0, d1 = PLANTED[name]
    caught = sum(lower_bound(planted, d0, d1, **claim, runs=Runs(2000, seed=seed)).violated for seed in range(60))
    assert caught >= 57


def fast_laplace(records: list[str], seed: int | None) -> float:
    return len(records) + float(np.random.default_rng(seed).laplace())


HONEST: dict[str, Any] = {
    # At the cut the likelihood ratio is e on the whole event: nothing is easier to accuse.
    "one event, at its worst": FixedEvent(holds=lambda output: output >= 2),
    "thresholds": FixedThresholds(statistic=float, thresholds=(0.5, 1.0, 1.5, 2.0, 2.5)),
    "chosen threshold": Statistic(statistic=float),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "thresholds")) for name in HONEST]
)
def test_no_false_alarm_in_200_honest_repetitions(name: str) -> None:
    # 200 repetitions at confidence 0.999: 0.2 false alarms expected at most, more than 2 in one of 800 such tests.
    found = [
        lower_bound(
            fast_laplace, ONE, TWO, Claim(epsilon=1.0, confidence=0.999), score=HONEST[name], runs=Runs(400, seed=seed)
        )
        for seed in range(200)
    ]
    assert sum(bound.violated for bound in found) == 0
    assert stats.binom.sf(2, 200, 0.001) < 1 / 800
    # The same outputs at confidence 0.8 would be accused 40 times at most, on average.
    rng = np.random.default_rng(0)
    alarms = sum(
        lower_bound_from_outputs(
            (1 + rng.laplace(size=200)).tolist(),
            (2 + rng.laplace(size=200)).tolist(),
            Claim(epsilon=1.0, confidence=0.8),
            score=HONEST[name],
        ).violated
        for _ in range(200)
    )
    assert alarms <= stats.binom.isf(1e-6, 200, 0.2)


@pytest.mark.slow
def test_events_that_are_counted_on_the_runs_that_chose_them_raise_false_alarms() -> None:
    # The planted twin of the split: thirty features of pure noise, the best of which is counted where it was chosen.
    rng = np.random.default_rng(1)
    score = Distinguisher(models=())
    upper = clopper_pearson_upper(np.arange(61), 60, 0.05)

    def rate(i: Any, j: Any) -> Array:
        return EpsilonBound().values(*(upper[np.asarray(k, dtype=int)] for k in (i, j)))

    alarms = {"honest": 0, "peeking": 0}
    for _ in range(30):
        first, second = rng.normal(size=(2, 60, 30))
        honest = lower_bound_from_outputs(first, second, Claim(epsilon=0.0, confidence=0.9), score=score)
        alarms["honest"] += honest.violated
        kept0, kept1 = ([score.keep(output) for output in outputs] for outputs in (first, second))
        (event,) = score.events(kept0, kept1, rate)
        errors = np.count_nonzero(event.occurs(kept0)), 60 - np.count_nonzero(event.occurs(kept1))
        alarms["peeking"] += bool(rate([errors[0]], [errors[1]])[0] > 0)
    assert alarms["honest"] <= stats.binom.isf(1e-4, 30, 0.1)
    assert alarms["peeking"] > 20


def test_bounds_approach_the_truth_from_below() -> None:
    def response(records: list[str], seed: int | None) -> bool:
        truth = "b" in records
        return truth if np.random.default_rng(seed).random() < math.e / (1 + math.e) else not truth

    found = lower_bound(response, ONE, TWO, Claim(epsilon=1.0), score=FixedEvent(holds=bool), runs=Runs(4000))
    assert 0.8 < found.epsilon <= 1.0
    assert not found.violated
    assert 0 < found.mu < 2 * stats.norm.isf(1 / (1 + math.e))
    # Without a word on the direction the same runs give a little less.
    both = lower_bound(response, TWO, ONE, score=FixedEvent(holds=bool, either_way=True), runs=Runs(4000))
    assert 0.75 < both.epsilon <= found.epsilon
    assert both.event == "not: the event"
    assert "2 by a union bound" in both.method


@pytest.mark.slow
def test_a_violation_through_delta_is_found() -> None:
    # The name of one record is told with probability 0.4, else nothing: (0, 0.4), claimed (1, 1e-6).
    def leaky(records: list[str], seed: int | None) -> list[str]:
        told = np.random.default_rng(seed).random() < 0.4
        return sorted(set(records)) if told else ["a"]

    found = lower_bound(leaky, ONE, TWO, Claim(epsilon=1.0, delta=1e-6), runs=Runs(1000))
    assert found.violated
    assert found.delta_at_claim is not None
    assert 0.25 < found.delta_at_claim <= 0.4
    assert not lower_bound(leaky, ONE, TWO, Claim(epsilon=1.0, delta=0.4), runs=Runs(1000)).violated


@pytest.mark.slow
def test_a_claim_of_epsilon_and_delta_is_tested_as_gaussian_only_with_that_assumption() -> None:
    claim = Claim(epsilon=4.3766, delta=1e-5, bound=GaussianBound())
    options: dict[str, Any] = {"runs": Runs(2000), "score": float}
    found = lower_bound(gaussian_count(0.5), ONE, TWO, claim, **options)
    assert found.claim == pytest.approx(1.0, abs=1e-3)
    assert found.violated
    assert "trade-off curve is that of a Gaussian" in found.assumptions[-1]
    assert found.gaussian_epsilon(1e-5) > 4.3766
    plain = lower_bound(gaussian_count(0.5), ONE, TWO, dataclasses.replace(claim, bound=None), **options)
    assert not plain.violated
    assert len(plain.assumptions) == 1
    assert plain.epsilon < found.gaussian_epsilon(1e-5)


@pytest.mark.slow
def test_a_family_of_curves_is_a_bound_like_any_other() -> None:
    family = TradeOffBound(curve=lambda mu, x: stats.norm.cdf(stats.norm.isf(x) - mu), parameter="m")
    found = lower_bound(gaussian_count(0.5), ONE, TWO, Claim(bound=family, value=1.0), score=float, runs=Runs(2000))
    assert found.violated
    assert found.parameter == "m"
    assert found.value == pytest.approx(found.mu, abs=1e-9)


@pytest.mark.slow
def test_runs_can_be_repeated_and_spread_over_processes() -> None:
    progress: list[tuple[int, int]] = []
    options: dict[str, Any] = {"claim": Claim(epsilon=1.0), "score": float}
    one = lower_bound(fast_laplace, ONE, TWO, **options, runs=Runs(200))
    two = lower_bound(
        fast_laplace, ONE, TWO, **options, runs=Runs(200, workers=2, progress=lambda *at: progress.append(at))
    )
    assert one == two
    assert one != lower_bound(fast_laplace, ONE, TWO, **options, runs=Runs(200, seed=1))
    assert progress[-1] == (200, 200)
    assert progress == sorted(progress)
    unseeded = lower_bound(fast_laplace, ONE, TWO, **options, runs=Runs(200, seed=None))
    assert unseeded.assumptions == ("runs are independent",)
    assert "seeded" in one.assumptions[0]


def test_no_seed_serves_both_data_sets() -> None:
    seen: dict[int, list[int | None]] = {1: [], 2: []}

    def noted(records: list[str], seed: int | None) -> float:
        seen[len(records)].append(seed)
        return 0.0

    lower_bound(noted, ONE, TWO, score=float, runs=Runs(500))
    assert len(seen[1]) == len(seen[2]) == 250
    assert len({*seen[1], *seen[2]}) == 500


def result(**changes: Any) -> LowerBound:
    found = lower_bound(fast_laplace, ONE, TWO, Claim(epsilon=1.0), score=float, runs=Runs(100))
    return dataclasses.replace(found, **changes)


def test_the_words_of_a_result_never_say_safe() -> None:
    honest = result(value=0.5)
    assert honest.verdict == "not rejected at confidence 0.95 (this is no evidence of safety)"
    assert result(value=1.5).verdict == "violated: epsilon is at least 1.5 at confidence 0.95, claimed 1"
    unclaimed = result(claim=None, value=1.5)
    assert "no claim was tested" in unclaimed.verdict
    assert not unclaimed.violated
    for found in (honest, unclaimed, result(value=3.0)):
        words = str(found)
        assert not re.search(r"\bsafe\b|\bprivate\b|\bholds\b|\bpass", words)
        for part in ("confidence", "delta", "Method: ", "Assumes: ", "add-or-remove-one"):
            assert part in words
    with pytest.raises(dataclasses.FrozenInstanceError):
        honest.value = 0.0  # type: ignore[misc]


def test_a_result_that_is_not_a_number_is_no_violation_and_no_claim_of_one() -> None:
    assert not result(value=math.nan).violated


def how(number: Any = None, **values: Any) -> Runs:
    """Return runs as a caller without types may ask for them."""
    return Runs(number, **values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": how(39)}, "runs must be"),
        ({"runs": how(math.nan)}, "runs must be"),
        ({"runs": how(True)}, "runs must be"),
        ({"claim": Claim(epsilon=math.nan)}, "epsilon must be"),
        ({"claim": Claim(epsilon=-1.0)}, "epsilon must be"),
        ({"claim": Claim(mu=math.inf)}, "mu must be"),
        ({"claim": Claim(value=math.nan)}, "value must be"),
        ({"claim": Claim(epsilon=1.0, mu=1.0)}, "either epsilon"),
        ({"claim": Claim(delta=1.0)}, "delta must lie"),
        ({"claim": Claim(delta=math.nan)}, "delta must lie"),
        ({"claim": Claim(confidence=1.0)}, "confidence must lie"),
        ({"claim": Claim(confidence=math.nan)}, "confidence must lie"),
        ({"runs": how(seed=-1)}, "seed must be"),
        ({"runs": how(seed=1.5)}, "seed must be"),
        ({"runs": how(workers=0)}, "workers must be"),
        ({"runs": how(workers=math.nan)}, "workers must be"),
        ({"score": "learned"}, "score must be"),
        ({"claim": Claim(epsilon=1.0, bound=GaussianBound())}, "delta = 0 is none of mu-GDP"),
        ({"claim": Claim(mu=1.0, bound=EpsilonBound())}, "the bound is on epsilon"),
        ({"claim": Claim(epsilon=1.0, delta=0.1, bound=EpsilonBound())}, "delta must be that of the bound"),
    ],
)
def test_parameters_out_of_range_are_refused_before_any_run(options: dict[str, Any], message: str) -> None:
    def never(records: list[str], seed: int | None) -> float:
        raise AssertionError

    with pytest.raises(InvalidParameterError, match=message):
        lower_bound(never, ONE, TWO, **options)


def test_pairs_and_outputs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidDataError, match="must be neighbors"):
        lower_bound(fast_laplace, ONE, [*TWO, "c"])
    with pytest.raises(InvalidDataError, match="must be neighbors"):
        lower_bound(fast_laplace, ONE, ["b"])
    assert lower_bound(fast_laplace, ONE, ["b"], relation="replace-one", score=float, runs=Runs(40)).epsilon == 0
    with pytest.raises(UnsupportedModelError, match="there are no features"):
        lower_bound(lambda records, seed: object(), ONE, TWO)
    with pytest.raises(InvalidParameterError, match="runs must be"):
        lower_bound_from_outputs([1.0] * 19, [1.0] * 100)


def test_scores_of_others_are_held_to_the_protocol() -> None:
    @dataclasses.dataclass(frozen=True)
    class Own:
        found: tuple[Event, ...]
        train_share: float = 0.5

        def keep(self, output: Any) -> Any:
            return output

        def events(self, kept0: Any, kept1: Any, rate: Any) -> tuple[Event, ...]:
            assert len(kept0) == len(kept1) == 25
            assert rate(np.array([0]), np.array([0]))[0] > rate(np.array([20]), np.array([20]))[0]
            return self.found

    right = Event(name="above 1.5", occurs=lambda kept: np.array(kept) > 1.5)
    wrong = Event(name="one bool", occurs=lambda kept: np.array([True]))
    assert lower_bound(fast_laplace, ONE, TWO, score=Own((right,)), runs=Runs(100)).event == "above 1.5"
    with pytest.raises(InvalidParameterError, match="at least one event"):
        lower_bound(fast_laplace, ONE, TWO, score=Own(()), runs=Runs(100))
    with pytest.raises(InvalidDataError, match="one bool for each output"):
        lower_bound(fast_laplace, ONE, TWO, score=Own((wrong,)), runs=Runs(100))


def test_scores_check_their_parameters() -> None:
    for share in (0.0, 1.0, math.nan):
        with pytest.raises(InvalidParameterError, match="train_share"):
            Distinguisher(train_share=share)
        with pytest.raises(InvalidParameterError, match="train_share"):
            Statistic(statistic=float, train_share=share)
    with pytest.raises(InvalidParameterError, match="models must be among"):
        Distinguisher(models=("forest",))
    for cuts in ((), (math.nan,)):
        with pytest.raises(InvalidParameterError, match="thresholds must be"):
            FixedThresholds(statistic=float, thresholds=cuts)


def test_a_statistic_that_is_not_a_number_is_an_outcome_like_others() -> None:
    def sometimes(records: list[str], seed: int | None) -> float:
        return math.nan if len(records) == 1 else 1.0

    found = lower_bound(sometimes, ONE, TWO, Claim(epsilon=1.0), score=float, runs=Runs(400))
    assert found.violated
    nothing = lower_bound(lambda records, seed: math.nan, ONE, TWO, Claim(epsilon=0.0), score=float, runs=Runs(400))
    assert nothing.epsilon == 0


def test_an_identical_output_gives_nothing() -> None:
    for score in (None, float):
        found = lower_bound(lambda records, seed: 1.0, ONE, TWO, Claim(epsilon=0.0), score=score, runs=Runs(100))
        assert found.epsilon == 0
        assert not found.violated
