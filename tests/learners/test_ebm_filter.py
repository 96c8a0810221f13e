"""Whatever is drawn, an additive fit spends no more than was fixed before it: every branch, and values at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from glassine import Category, Domain, Integer
from glassine.errors import InvalidMechanismError, InvalidParameterError, ReleaseFailedError
from glassine.learners import PrivateEBMClassifier, PrivateEBMRegressor
from glassine.learners.additive import penalized as ebm_penalized
from glassine.learners.additive.additive_budget import GaussianBudget, usable
from glassine.learners.additive.additive_fit import AdditivePlan
from glassine.learners.additive.table_memory import most_released, pairs_asked_for
from glassine.privacy import accounting
from glassine.privacy.conversions import mu_from_epsilon
from glassine.privacy.fine_gaussian import UNITS, FineNoise, slack_of
from glassine.sealed import door

from .sums import through

DOMAIN = Domain({"x": Integer(0, 30), "z": Integer(0, 3), "job": Category(("a", "b", "c"), missing=True)})
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.integers(0, 31, 60), RNG.integers(0, 4, 60), RNG.integers(0, 3, 60)]).astype(object)
X[:, 2] = [("a", "b", "c")[int(k)] for k in X[:, 2]]
EPSILON, DELTA = 2.0, 1e-5

FITS: dict[str, Callable[[], Any]] = {
    "two classes": lambda: classifier(),
    "three classes": lambda: classifier(classes=(0, 1, 2)),
    "numbers": lambda: regressor(),
    "pairs that stand out": lambda: regressor(interactions="auto"),
    "two pairs": lambda: classifier(interactions=2),
    "a named pair": lambda: regressor(interactions=[("x", "z")]),
    "counts of events": lambda: regressor(objective="poisson"),
    "boosting": lambda: regressor(algorithm="boosting"),
    "classic boosting": lambda: classifier(algorithm="boosting", accounting="classic"),
}


def classifier(**given: Any) -> Any:
    usual: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "domain": DOMAIN, "classes": (0, 1)}
    return PrivateEBMClassifier(**(usual | given))


def regressor(**given: Any) -> Any:
    usual: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "domain": DOMAIN, "target_range": (0, 3)}
    return PrivateEBMRegressor(**(usual | given))


def target(learner: Any) -> Any:
    y = X[:, 1].astype(int)
    return y if isinstance(learner, PrivateEBMRegressor) else y % len(learner.classes)


SCALES = (0.0, 30.0, 1e4, 1e9)


def scripted(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put other noise in place of what is drawn: of every size, of one sign or both, different at each release."""
    rng = np.random.default_rng(seed)

    def noise(shape: tuple[int, ...]) -> Any:
        scale = rng.choice(SCALES)
        return rng.choice([scale * rng.normal(size=shape), np.full(shape, scale), np.full(shape, -scale)])

    def release(self: FineNoise, sums: Any, randomness: Any) -> Any:
        return sums / self.units + noise(np.shape(sums))

    def draw(self: FineNoise, shape: tuple[int, ...], randomness: Any) -> Any:
        return np.rint(noise(shape) * self.units).astype(np.int64)

    through(monkeypatch, release)
    monkeypatch.setattr(FineNoise, "draw", draw)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::glassine.errors.PrivacyLeakWarning")
@pytest.mark.parametrize("name", FITS)
def test_no_draw_makes_a_fit_spend_more_than_was_fixed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    total = mu_from_epsilon(usable(EPSILON), DELTA)
    ways = set()
    for seed in range(14):
        scripted(seed, monkeypatch)
        learner = FITS[name]()
        _, training = learner._read_training(X, target(learner), None, private=True)
        names = ("algorithm", "accounting", "bins", "monotone", "interactions")
        plan = AdditivePlan.of(training, **{name: getattr(learner, name) for name in names})
        pairs = pairs_asked_for(plan.interactions)
        releases, values = most_released(plan.grids, training.target, plan.algorithm, pairs)
        events = learner.fit(X, target(learner)).certificate_.events
        spent = sum(event.count * (event.l2_sensitivity / event.sigma) ** 2 for event in events)
        assert spent <= total**2
        assert accounting.epsilon(events, DELTA) <= EPSILON
        assert sum(event.count * event.values for event in events) <= values
        assert sum(event.count for event in events) <= releases
        assert all(event.sigma >= UNITS for event in events)
        ways.add(tuple((event.name, event.count, event.values) for event in events))
    # The draws do decide what is run: otherwise nothing was tried.
    assert len(ways) > 2


def test_a_stage_that_takes_more_than_its_share_is_stopped_before_it_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ebm_penalized, "SELECT_SHARE", 0.9)
    greedy = regressor(epsilon=300.0, interactions=1, random_state=0)
    with pytest.raises(ReleaseFailedError):
        greedy.fit(X, target(greedy))
    assert not hasattr(greedy, "model_")
    # What is said outside is constant; inside, it is the filter that stops the stage.
    monkeypatch.setattr(door, "behind", lambda work: work())
    with pytest.raises(InvalidMechanismError, match="exceeds what is left"):
        greedy.fit(X, target(greedy))


def test_a_fit_that_may_draw_too_many_values_is_refused_beforehand() -> None:
    budget = GaussianBudget.of(1.0, 1e-6)
    budget.check_values(10**4, 10**9)
    with pytest.raises(InvalidParameterError, match="more than epsilon=1 and delta=1e-06 keep"):
        budget.check_values(10**4, 10**13)
    with pytest.raises(InvalidParameterError, match="keep for discrete noise"):
        GaussianBudget.of(1e-3, 1e-6).check_values(10**9, 10**9)
    assert slack_of(10**9, UNITS) < 1e-9
