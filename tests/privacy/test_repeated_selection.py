"""The best of a random number of runs: its exact law, and its price over every pair of small neighbors.

The oracle writes exponential weights as clocks: of results with weights w, the one whose exponential clock of rate w
rings first is chosen. So a result y is chosen with probability the integral over s in (0, 1) of
f'(sum over z of Q(z) s**w_z) Q(y) w_y s**(w_y - 1), where f generates the number of runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from dp_accounting.dp_event import LaplaceDpEvent, RepeatAndSelectDpEvent  # type: ignore[import-untyped]  # ships no types
from dp_accounting.rdp import RdpAccountant  # type: ignore[import-untyped]  # ships no types
from hypothesis import given
from hypothesis import strategies as st

from glassine.errors import InvalidMechanismError
from glassine.privacy.accounting import Parallel, RepeatedSelection, Selection, cost, delta, epsilon
from glassine.privacy.certificate import Certificate, event_to_dict
from glassine.privacy.private_selection import RunCount, mean_runs
from glassine.privacy.randomness import Randomness
from glassine.sealed.noisy_choice import draw
from glassine.sealed.selection import best_of_runs
from glassine.verification import Claim, Runs, lower_bound, verify_exhaustively
from tests.privacy.branching import explore
from tests.privacy.event_values import event_from_dict

Array = npt.NDArray[np.float64]
HALF = Fraction(1, 2)
SHAPES = [Fraction(1), Fraction(0), HALF, Fraction(-1, 2)]


def share(runs: RunCount, k: int) -> float:
    """Probability of k runs, from Definition 1 of Papernot and Steinke (2022)."""
    eta, gamma = float(runs.shape), float(runs.stop)
    if eta == 0:
        return (1 - gamma) ** k / (k * math.log(1 / gamma))
    shares = ((past + eta) / (past + 1) for past in range(k))
    return float((1 - gamma) ** k / (gamma**-eta - 1) * math.prod(shares))


@dataclass(frozen=True)
class Generated:
    """The derivative of the generating function of the number of runs."""

    slope: Callable[[Array], Array]

    @classmethod
    def of(cls, runs: RunCount) -> Generated:
        eta, gamma = float(runs.shape), float(runs.stop)
        scale = (1 - gamma) * (1 / math.log(1 / gamma) if eta == 0 else eta / (gamma**-eta - 1))
        return cls(lambda x: scale * (1 - (1 - gamma) * x) ** (-1 - eta))

    @classmethod
    def fixed(cls, number: int) -> Generated:
        return cls(lambda x: number * x ** (number - 1))


PLACES = np.linspace(-4.5, 4.5, 701)
LOGARITHMS = -np.log1p(np.exp(-math.pi * np.sinh(PLACES)))
"""Of s, by tanh-sinh quadrature, whose nodes crowd at 0 and at 1, where f' and high powers of s change."""
STEPS = math.pi * np.cosh(PLACES) / (1 + np.exp(math.pi * np.sinh(PLACES))) * (PLACES[1] - PLACES[0])
"""The differential of s over s."""


def chosen(results: Mapping[Any, float], scores: Mapping[Any, float], number: Generated) -> dict[Any, float]:
    """Probability that each result is chosen; scores are multiplied by the rate of the exponential mechanism."""
    least = min(scores.values())
    rates = {key: math.exp(scores[key] - least) for key in results}
    slopes = number.slope(np.sum([mass * np.exp(rates[key] * LOGARITHMS) for key, mass in results.items()], axis=0))
    return {
        key: float(np.sum(STEPS * slopes * mass * rates[key] * np.exp(rates[key] * LOGARITHMS)))
        for key, mass in results.items()
    }


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_number_of_runs_has_its_law(shape: Fraction) -> None:
    runs = RunCount(shape=shape, stop=Fraction(3, 4))
    law, left_out = explore(runs.draw, least=1e-7)
    assert left_out < 0.02
    for k in range(1, 6):
        assert law[k] == pytest.approx(share(runs, k), abs=left_out)
    # The law of another shape is told from it.
    other = RunCount(shape=Fraction(0) if shape > 0 else Fraction(1), stop=runs.stop)
    assert abs(law[1] - share(other, 1)) > 2 * left_out


@pytest.mark.parametrize("shape", [1, 0, 0.5, -0.5])
@pytest.mark.parametrize("mean", [1.5, 20, 300])
def test_the_mean_number_of_runs_is_the_one_asked_for(mean: float, shape: float) -> None:
    runs = RunCount.of_mean(mean, shape)
    most = math.ceil(40 / float(runs.stop))
    if most < 200_000:
        shares = [share(runs, 1)]
        for k in range(1, most):
            shares.append(shares[-1] * (1 - float(runs.stop)) * (k + shape) / (k + 1))
        assert math.fsum(shares) == pytest.approx(1)
        assert math.fsum(k * mass for k, mass in enumerate(shares, 1)) == pytest.approx(mean)
    assert runs.mean == pytest.approx(mean)
    assert mean_runs(1e-9, 0.01) == pytest.approx(mean_runs(0.0, 0.01))


def test_a_number_that_no_law_has_is_refused() -> None:
    for mean, shape in ((1, 1), (0.5, 0), (math.nan, 1), (10, 1.5), (10, -1), (10**10, 1)):
        with pytest.raises(InvalidMechanismError):
            RunCount.of_mean(mean, shape)


@given(
    st.fractions(min_value=Fraction(1, 10**6), max_value=1000),
    st.sampled_from([0.0, 1e-6, 0.01]),
    st.floats(1.5, 1000),
    st.sampled_from([1, 0, 0.25, -0.5]),
)
def test_runs_together_cost_no_more_than_the_whole(whole: Fraction, lost: float, mean: float, shape: float) -> None:
    runs = RunCount.of_mean(mean, shape)
    one, failure = runs.for_each_run(whole, Fraction(lost))
    event = RepeatedSelection(
        name="fit",
        candidates=3,
        epsilon=one,
        delta=failure,
        shape=float(runs.shape),
        stop=float(runs.stop),
    )
    assert cost(event).pure <= float(whole) * (1 + 1e-15)
    assert cost(event).pure >= float(whole) * (1 - 1e-12)
    assert cost(event).delta <= lost * (1 + 1e-12)
    assert cost(event).delta >= lost * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [Fraction(1), Fraction(0)], ids=str)
def test_the_chosen_result_has_its_law(shape: Fraction) -> None:
    runs = RunCount(shape=shape, stop=Fraction(3, 4))
    scores = {0: 0, 1: 4, 2: 4}

    def release(randomness: Randomness) -> int:
        return best_of_runs(
            runs, lambda: randomness.below(3), scores.__getitem__, epsilon=1, sensitivity=2, randomness=randomness
        )

    law, left_out = explore(release, least=1e-6)
    assert left_out < 0.03
    expected = chosen(dict.fromkeys(range(3), 1 / 3), {key: s / 2 for key, s in scores.items()}, Generated.of(runs))
    assert math.fsum(expected.values()) == pytest.approx(1, abs=1e-12)
    assert all(expected[key] - left_out <= law[key] <= expected[key] + 1e-12 for key in law)
    wrong = chosen(dict.fromkeys(range(3), 1 / 3), dict.fromkeys(range(3), 0.0), Generated.of(runs))
    assert abs(wrong[0] - expected[0]) > 2 * left_out


@pytest.mark.parametrize("shape", [1.0, 0.5, 0.0, -0.5])
def test_the_price_of_a_run_is_tight(shape: float) -> None:
    # Better than y: rare, and rarer on the neighbor; y as well. All else is worse.
    e, least = 0.5, 1e-6
    runs = RunCount(shape=Fraction(shape), stop=Fraction(1, 10**7))
    slope = Generated.of(runs).slope
    at, beside = (
        float(mass * slope(np.array(1 - tail)))
        for mass, tail in ((least, 1e-3), (least * math.exp(-e), 1e-3 * math.exp(e)))
    )
    assert math.log(at / beside) <= (2 + shape) * e
    assert math.log(at / beside) > 0.99 * (2 + shape) * e


Background = tuple[tuple[int, int], tuple[int, int]]
BACKGROUNDS: list[Background] = list(product([(0, 0), (5, 0), (0, 3)], [(0, 0), (0, 14), (14, 0)]))
"""Numbers of records with each label that are always in the training part and always held out."""


@dataclass(frozen=True)
class Search:
    """A search over two settings, each of which draws one of two models by the exponential mechanism.

    "vote" gives the constant 1 or 0. "split" gives a split, which is right for half of the records with label 1, or the
    constant 0; its prior is against the split. One more record with label 0 makes the best model rarer, where the
    held-out part prefers 1, and the second best more frequent: the case in which runs cost most.
    """

    one: float
    number: Generated
    rate: float = 1.0

    def given(self, training: tuple[int, int], held_out: tuple[int, int]) -> dict[tuple[str, int], float]:
        """Law of setting and label for numbers of records with each label in each part."""
        lead = self.one * (training[0] - training[1])
        ones, splits = 1 / (1 + math.exp(lead)), 1 / (1 + math.exp(9 - lead))
        fits = {
            ("vote", 1): ones / 2,
            ("vote", 0): (1 - ones) / 2,
            ("split", 1): splits / 2,
            ("split", 0): (1 - splits) / 2,
        }
        right = {("vote", 1): held_out[1], ("split", 1): held_out[1] // 2}
        return chosen(fits, {fit: self.rate * right.get(fit, held_out[0]) for fit in fits}, self.number)

    def law(self, dataset: tuple[int, ...], part: str, beside: Background) -> dict[Hashable, float]:
        """Logarithms of the law where all records fall into one part, or each by a coin, beside those of others."""
        n = (len(dataset) - sum(dataset), sum(dataset))
        parts: dict[tuple[int, int], float] = {}
        for held in product(range(n[0] + 1), range(n[1] + 1)):
            mass = math.prod(math.comb(most, some) / 2**most for most, some in zip(n, held, strict=True))
            at_once = {"training": (0, 0), "held out": n}.get(part)
            if at_once is None or held == at_once:
                parts[held] = mass if at_once is None else 1.0
        out: dict[Hashable, float] = {}
        for held, mass in parts.items():
            training = (n[0] - held[0] + beside[0][0], n[1] - held[1] + beside[0][1])
            held_out = (held[0] + beside[1][0], held[1] + beside[1][1])
            for fit, probability in self.given(training, held_out).items():
                out[fit] = out.get(fit, 0.0) + mass * probability
        return {fit: math.log(mass) for fit, mass in out.items()}

    def verify(self, part: str) -> float:
        """Return the worst log-ratio over all small datasets, on several backgrounds."""
        results = [
            verify_exhaustively(
                partial(self.law, part=part, beside=beside),
                (0, 1),
                max_records=3,
                epsilon=1.0,
                slack=1e-9,
            )
            for beside in BACKGROUNDS
        ]
        assert all(result.n_pairs == 20 for result in results)
        return max(result.worst for result in results)


LAWS = [RunCount.of_mean(20), RunCount.of_mean(20, 0), RunCount.of_mean(2000), RunCount.of_mean(6, -0.5)]
PARTS = ["training", "held out", "coins"]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("runs", LAWS, ids=lambda runs: f"{runs.mean:.0f} runs of shape {float(runs.shape)}")
def test_a_search_keeps_its_epsilon_over_all_small_data_sets(runs: RunCount, part: str) -> None:
    one, _ = runs.for_each_run(Fraction(1), Fraction(0))
    worst = Search(one, Generated.of(runs)).verify(part)
    assert worst <= 1 + 1e-9
    assert worst > 0.25, f"the check has teeth: {worst}"


PLANTED = {
    "a fixed number of runs": ("training", Search(1 / 3, Generated.fixed(60))),
    "the best of as many as there are settings, at the price of one": ("training", Search(1.0, Generated.fixed(2))),
    "runs at the whole epsilon": ("training", Search(1.0, Generated.of(LAWS[2]))),
    "half the sensitivity": ("held out", Search(1 / 3, Generated.of(LAWS[0]), rate=2.0)),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_faults_break_the_epsilon(fault: str) -> None:
    part, search = PLANTED[fault]
    assert search.verify(part) > 1.1


def drawn(one: float, rate: float, *, training: bool) -> Callable[[Any, int | None], int]:
    """Return what draws the result of that search by the code, where all records are in one part."""
    runs = RunCount.of_mean(200)

    def mechanism(dataset: Any, seed: int | None) -> int:
        stream = Randomness.of(seed)
        n = np.bincount(dataset[1], minlength=2).tolist()
        lead = Fraction(one) * (n[0] - n[1]) if training else Fraction(0)
        held_out = [0, 14] if training else n

        def run() -> str:
            if stream.below(2):
                return ("one", "zero")[draw([Fraction(0), lead], stream)]
            return ("split", "zero")[draw([lead - 9, Fraction(0)], stream)]

        right = {"one": held_out[1], "split": held_out[1] // 2, "zero": held_out[0]}
        chosen = best_of_runs(runs, run, right.__getitem__, epsilon=rate, sensitivity=1, randomness=stream)
        return ("one", "split", "zero").index(chosen)

    return mechanism


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d0", "d1", "told", "training", "planted"),
    [
        ([0] * 5, [0] * 5 + [1], 1, True, (1.0, 1.0)),
        ([0], [0, 1], 0, False, (1 / 3, 2.0)),
    ],
    ids=["runs at the whole epsilon", "half the sensitivity"],
)
def test_draws_of_the_code_show_planted_faults_and_no_others(
    d0: list[int], d1: list[int], told: int, training: bool, planted: tuple[float, float]
) -> None:
    before, after = ((np.zeros((len(labels), 1)), np.array(labels)) for labels in (d0, d1))
    options: dict[str, Any] = {
        "claim": Claim(epsilon=1.0),
        "score": lambda result: float(result == told),
        "runs": Runs(2000),
    }
    one, _ = RunCount.of_mean(200).for_each_run(Fraction(1), Fraction(0))
    honest = lower_bound(drawn(one, 1.0, training=training), before, after, **options)
    assert not honest.violated, str(honest)
    fault = lower_bound(drawn(*planted, training=training), before, after, **options)
    assert fault.violated, str(fault)


EVENT = RepeatedSelection(name="the fit", candidates=4, epsilon=0.25, delta=1e-8, shape=1.0, stop=0.02)


def test_the_event_is_accounted_and_written() -> None:
    assert cost(EVENT).pure == 0.75
    assert cost(EVENT).delta == pytest.approx(50e-8)
    assert epsilon([EVENT], 50.1e-8) == pytest.approx(0.75, abs=1e-3)
    assert epsilon([EVENT], 49e-8) == math.inf
    assert delta([EVENT], 0.75) == pytest.approx(50e-8)
    assert event_from_dict(event_to_dict(EVENT)) == EVENT
    choice = Selection(name="choice", inverse_temperature=0.75, sensitivity=1.0, monotone=True)
    certificate = Certificate(
        epsilon=0.75, delta=50e-8, events=(Parallel(name="search", branches=((EVENT,), (choice,))),)
    )
    assert "one of a random number of runs, 50 in the mean, of 4 candidates" in certificate.text()
    assert Certificate.from_json(certificate.to_json()) == certificate


@pytest.mark.parametrize(
    "values",
    [
        {"shape": -1.0},
        {"shape": 1.5},
        {"shape": math.nan},
        {"stop": 0.0},
        {"stop": 1.0},
        {"delta": 2.0},
        {"candidates": 0},
        {"candidates": 1.5},
        {"epsilon": -0.1},
        {"epsilon": math.inf},
    ],
)
def test_an_event_that_no_search_has_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(InvalidMechanismError):
        event_from_dict({**event_to_dict(EVENT), **values})


@pytest.mark.parametrize("shape", [0.0, 1.0])
def test_the_pure_price_is_the_limit_of_the_renyi_bound_of_another_library(shape: float) -> None:
    one, mean = 0.25, 50.0
    accountant = RdpAccountant(orders=[2.0**k for k in range(1, 40)])
    accountant.compose(RepeatAndSelectDpEvent(LaplaceDpEvent(1 / one), mean, shape))
    theirs = float(accountant.get_epsilon(1e-12))
    runs = RunCount.of_mean(mean, shape)
    ours = cost(RepeatedSelection(name="fit", candidates=1, epsilon=one, shape=shape, stop=float(runs.stop))).pure
    assert theirs == pytest.approx(ours, rel=1e-4)
