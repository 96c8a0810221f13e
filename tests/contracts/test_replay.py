"""A replay adversary: every draw of a fit is recorded on one dataset and forced on a neighboring one.

Then the loss of each draw is known exactly, and whatever else is published, said or warned of must be the same.
"""

from __future__ import annotations

import json
import math
import random
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl
import pytest

import glassine
from glassine.domain import Category, Domain, Integer, Real
from glassine.formats.json import to_dict
from glassine.learners.greedy.greedy_plan import MECHANISMS, WITH_DELTA
from glassine.privacy.conversions import mu_from_epsilon
from glassine.privacy.fine_gaussian import FineNoise
from glassine.privacy.release import fresh_count
from glassine.sealed import draws, noisy_choice

FLOATS = 1e-6
"""Relative slack of losses, which are sums of doubles."""


class Tape:
    """The draws of one fit: what was public, what was exact, and what came out."""

    def __init__(self, seed: int, records: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.records = records
        self.calls: list[tuple[Any, Any, Any]] = []
        self.at = -1
        self.signed = self.epsilon = self.squared_mu = 0.0
        self.exceeded: list[str] = []

    def door(self, public: Any, exact: Any, draw: Callable[[], Any], loss: Callable[[Any, Any, Any], None]) -> Any:
        if self.at < 0:
            out = draw()
            self.calls.append((public, exact, out))
            return out
        assert self.at < len(self.calls), "a neighbor draws more often"
        known, before, out = self.calls[self.at]
        self.at += 1
        assert known == public, "what is public of a draw differs"
        loss(before, exact, out)
        return out

    def laplace(self, exact: Any, scale: Any, randomness: Any) -> Any:
        counts = np.asarray(exact, dtype=np.int64)
        share = 1 - math.exp(-1 / float(scale))

        def draw() -> Any:
            return counts + self.rng.geometric(share, counts.shape) - self.rng.geometric(share, counts.shape)

        def loss(one: Any, two: Any, _: Any) -> None:
            self.epsilon += float(np.abs(one - two).sum()) / float(scale)

        return self.door(("laplace", counts.shape, float(scale)), counts.copy(), draw, loss)

    def select(self, numerators: Any, denominator: int, randomness: Any) -> int:
        own = list(numerators)

        def shares(given: tuple[list[int], int]) -> Any:
            values, under = given
            logs = np.array([float(Fraction(value - max(values), under)) for value in values])
            return logs - math.log(math.fsum(np.exp(logs)))

        def loss(one: Any, two: Any, out: int) -> None:
            self.signed += float(shares(one)[out] - shares(two)[out])

        def draw() -> int:
            weights = np.exp(shares((own, denominator)))
            return int(self.rng.choice(len(own), p=weights / weights.sum()))

        return int(self.door(("select", len(own)), (own, denominator), draw, loss))

    def flip(self, scores: Any, epsilon: Any, sensitivity: Any, monotone: bool = False, *, randomness: Any) -> int:
        own = [Fraction(score) for score in scores]
        rate = Fraction(epsilon) / Fraction(sensitivity) / (1 if monotone else 2)

        def loss(one: Any, two: Any, _: int) -> None:
            steps = [b - a for a, b in zip(one, two, strict=True)]
            if max(steps) - min(steps) > Fraction(sensitivity) * self.records:
                self.exceeded.append("permute and flip")
            self.epsilon += float(Fraction(epsilon) * (max(max(steps), 0) - min(min(steps), 0)) / Fraction(sensitivity))

        def draw() -> int:
            noise = self.rng.exponential(size=len(own))
            return int(np.argmax([float((score - max(own)) * rate) for score in own] + noise))

        return int(self.door(("flip", len(own), epsilon, sensitivity), own, draw, loss))

    def cauchy(self, scores: Any, bound: float, ratio: float, grid: int, randomness: Any) -> int:
        def loss(one: Any, two: Any, _: int) -> None:
            moved = max(abs(a - b) for a, b in zip(one[0], two[0], strict=True))
            if moved > min(one[1], two[1]) * grid + 1:
                self.exceeded.append("smooth bound")

        def draw() -> int:
            wide = max(float(ratio) * (float(bound) * grid + 1), 1024.0)
            return int(np.argmin(np.array(scores, float) + self.rng.standard_cauchy(len(scores)) * wide))

        return int(self.door(("cauchy", len(scores), ratio, grid), (list(scores), bound), draw, loss))

    def gaussian_least(self, scores: Any, sigma: float, grid: int, randomness: Any) -> int:
        def loss(one: Any, two: Any, _: int) -> None:
            steps = [b - a for a, b in zip(one, two, strict=True)]
            if (max(steps) - min(steps)) / grid > 0.5 * self.records * (1 + 2**-13):
                self.exceeded.append("gaussian choice")

        def draw() -> int:
            return int(np.argmin(np.array(scores, float) / grid + self.rng.normal(size=len(scores)) * sigma))

        return int(self.door(("least", len(scores), sigma, grid), list(scores), draw, loss))

    def gaussian(self, noise: FineNoise, sums: Any) -> Any:
        exact = np.asarray(sums, dtype=np.int64)

        def loss(one: Any, two: Any, _: Any) -> None:
            moved = math.sqrt(sum(int(value) ** 2 for value in np.ravel((one - two).astype(object))))
            if moved > noise.l2_sensitivity * self.records:
                self.exceeded.append("gaussian sums")
            self.squared_mu += (moved / noise.sigma) ** 2

        def draw() -> Any:
            return (exact + np.rint(self.rng.normal(size=exact.shape) * noise.sigma).astype(np.int64)) / noise.units

        return self.door(("gaussian", exact.shape, noise.sigma, noise.units), exact.copy(), draw, loss)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(draws, "laplace", self.laplace)
        patch.setattr(draws, "permute_and_flip", self.flip)
        patch.setattr(draws, "smooth_cauchy_min", self.cauchy)
        patch.setattr(draws, "gaussian_min", self.gaussian_least)
        patch.setattr(noisy_choice, "draw_scaled", self.select)
        patch.setattr(draws, "gaussian", lambda sums, noise, randomness: self.gaussian(noise, sums))


DOMAIN = Domain(
    {
        "age": Integer(0, 100, missing=True),
        "income": Real(0.0, 1000.0),
        "sex": Category(("f", "m"), missing=True),
        "job": Category(("a", "b", "c", "d")),
    }
)
CLASSES: dict[str, Any] = {"domain": DOMAIN, "classes": ("n", "p"), "random_state": 1}
NUMBERS: dict[str, Any] = {"domain": DOMAIN, "target_range": (0, 100), "random_state": 1}
EXPOSED = {**NUMBERS, "domain": Domain({**{name: DOMAIN[name] for name in DOMAIN}, "income": Real(1.0, 1000.0)})}


@cache
def plan() -> Any:
    """Return the plan of another site, whose records stay the same."""
    chance = random.Random(4)
    frame = pl.DataFrame([record(chance) for _ in range(400)], schema={**SCHEMA, "id": pl.String}).drop("z", "id")
    with fresh_count(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return glassine.learners.PrivateSummary(epsilon=20.0, **CLASSES).fit(frame, "y").plan_


Make = Callable[..., Any]
TREE, LIST = glassine.learners.PrivateTreeClassifier, glassine.learners.PrivateRuleListClassifier
GREEDY = glassine.learners.PrivateGreedyRuleListClassifier
LEARNERS: dict[str, tuple[Make, str]] = {
    "tree": (lambda **p: TREE(2, epsilon=1.0, **CLASSES, **p), "y"),
    "tree, errors": (lambda **p: TREE(2, epsilon=1.0, accuracy_share=1.0, literals="coarse", **CLASSES, **p), "y"),
    "tree, quantiles": (
        lambda **p: TREE(2, epsilon=2.0, literals="quantiles", n_quantiles=2, split_weight=0.5, **CLASSES, **p),
        "y",
    ),
    "rule list": (lambda **p: LIST(2, epsilon=1.0, literals="coarse", **CLASSES, **p), "y"),
    "regression tree": (
        lambda **p: glassine.learners.PrivateTreeRegressor(2, epsilon=1.0, literals="coarse", **NUMBERS, **p),
        "z",
    ),
    "additive": (lambda **p: glassine.learners.PrivateEBMClassifier(epsilon=1.0, **CLASSES, **p), "y"),
    "additive, pairs": (
        lambda **p: glassine.learners.PrivateEBMClassifier(epsilon=3.0, interactions=2, **CLASSES, **p),
        "y",
    ),
    "additive, number": (lambda **p: glassine.learners.PrivateEBMRegressor(epsilon=1.0, **NUMBERS, **p), "z"),
    "additive, events": (
        lambda **p: glassine.learners.PrivateEBMRegressor(
            epsilon=1.0, objective="poisson", exposure="income", **EXPOSED, **p
        ),
        "z",
    ),
    "scorecard": (lambda **p: glassine.learners.PrivateScorecardClassifier(epsilon=1.0, **CLASSES, **p), "y"),
    "scorecard, number": (lambda **p: glassine.learners.PrivateScorecardRegressor(epsilon=1.0, **NUMBERS, **p), "z"),
    "summary": (lambda **p: glassine.learners.PrivateSummary(epsilon=1.0, **CLASSES, **p), "y"),
    "summary that follows": (
        lambda **p: glassine.learners.PrivateSummary(epsilon=1.0, follows=plan(), **CLASSES, **p),
        "y",
    ),
    **{
        f"greedy, {mechanism}": (
            lambda mechanism=mechanism, **p: GREEDY(
                3,
                epsilon=2.0,
                literals="coarse",
                mechanism=mechanism,
                **{**({"delta": 1e-5} if mechanism in WITH_DELTA else {}), **CLASSES, **p},
            ),
            "y",
        )
        for mechanism in MECHANISMS
    },
}


def record(chance: random.Random) -> dict[str, Any]:
    def odd(value: Any) -> Any:
        return None if chance.random() < 0.05 else value

    return {
        "age": odd(chance.choice([chance.randint(0, 100), -5, 250])),
        "income": odd(chance.choice([chance.uniform(0, 1000), 0.0, 1e9])),
        "sex": odd(chance.choice(["f", "m", "x"])),
        "job": odd(chance.choice("abcde")),
        "y": odd(chance.choice(["n", "p", "p", "q"])),
        "z": odd(chance.uniform(-20, 120)),
        "id": odd(f"u{chance.randint(0, 7)}"),
    }


SCHEMA = {"age": pl.Int64, "income": pl.Float64, "sex": pl.String, "job": pl.String, "y": pl.String, "z": pl.Float64}


def published(make: Callable[[], Any], records: list[Any], columns: list[str], **fit: Any) -> dict[str, Any]:
    """Return all that a fit publishes and says."""
    frame = pl.DataFrame(records, schema={**SCHEMA, "id": pl.String}).select(columns)
    out: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as said, fresh_count():
        warnings.simplefilter("always")
        learner = make().fit(frame, columns[4], **fit)
    out["warnings"] = [str(one.message) for one in said]
    out["certificate"] = json.dumps(learner.certificate_.to_dict())
    if hasattr(learner, "model_"):
        out["model"] = json.dumps(to_dict(learner.model_))
    out["claims"] = float(learner.certificate_.epsilon), float(learner.certificate_.delta)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_a_fit_tells_nothing_but_what_it_draws(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, label = LEARNERS[name]
    plan()  # before draws are replaced
    for seed in range(6):
        chance = random.Random(7 * seed + 1)
        persons = seed % 3 == 2
        records = [record(chance) for _ in range(chance.choice([0, 1, 5, 40]))]
        extra = [{**record(chance), "id": "new"} for _ in range(chance.randint(1, 4) if persons else 1)]
        place = chance.randint(0, len(records))
        parameters = {"records_per_person": 3, "person_weights": chance.choice(["equal", "records"])} if persons else {}
        fit = {"persons": "id"} if persons else {}
        columns = ["age", "income", "sex", "job", label, *(["id"] if persons else [])]
        tape = Tape(seed, 3 if persons else 1)
        with monkeypatch.context() as patch:
            tape.install(patch)
            one = published(partial(make, **parameters), records, columns, **fit)
            tape.at = 0
            wider = [*records[:place], *extra, *records[place:]]
            two = published(partial(make, **parameters), wider, columns, **fit)
        assert one == two, (seed, [key for key in one if one[key] != two[key]])
        assert tape.at == len(tape.calls)
        assert not tape.exceeded
        epsilon, delta = one["claims"]
        if not delta:
            assert tape.epsilon + abs(tape.signed) <= epsilon * (1 + FLOATS)
        elif "greedy" not in name:
            assert math.sqrt(tape.squared_mu) <= mu_from_epsilon(epsilon, delta) * (1 + FLOATS)


@pytest.mark.slow
def test_counts_that_enter_the_certificate_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from glassine.learners.exhaustive import private

    honest: Any = private._Exponential._learn

    def planted(self: Any, known: Any, conditions: Any, *rest: Any) -> Any:
        *others, oracle = rest
        out = honest(self, known, conditions, *others, oracle)
        size = oracle._Oracle__records.n_records
        model = out["model_"]
        return out | {"model_": type(model)(model.nodes, model.attributes, model.classes, source=f"of {size} records")}

    monkeypatch.setattr(private._Exponential, "_learn", planted)
    with pytest.raises(AssertionError, match="model"):
        test_a_fit_tells_nothing_but_what_it_draws("tree", monkeypatch)
