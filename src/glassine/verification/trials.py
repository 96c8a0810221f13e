"""Trials: runs in which coins decide which records are in, and what the guesses of these coins show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import special

from glassine.errors import InvalidParameterError
from glassine.models import DecisionTree, RuleList
from glassine.privacy.events import DiscreteLaplaceNoise
from glassine.records.arrays import AnyArray, Array, Bools
from glassine.verification.bounds import (
    EpsilonBound,
    GaussianBound,
    clopper_pearson_upper,
    delta_lower_bound,
    odds_bound,
)
from glassine.verification.scores import Distinguisher
from glassine.verification.statistical import LowerBound, VerificationPlan, kept_of, refuse_the_refused, seeds_of
from glassine.verification.statistical_phases import Event, OutputSource, Progress, Relation

__all__ = ["Crowd", "KeptRuns", "StatedNoise", "Trial", "draw", "guesses", "judge", "quality", "with_records"]


PARTS = 40
"""Parts into which the runs are cut for several processes."""


class Trial(Protocol):
    """Datasets that differ in canaries, each put in by its own coin."""

    @property
    def name(self) -> str:
        """Why it may be a bad case."""
        ...

    @property
    def canaries(self) -> int:
        """How many coins there are."""
        ...

    @property
    def distance(self) -> int:
        """How many records each canary has: what is claimed of one record is claimed so many times of a canary."""
        ...

    @property
    def records(self) -> Any:
        """One record of each canary, shape (canaries, d), at which a fitted learner may be asked; None for none."""
        ...

    def dataset(self, coins: Bools) -> Any:
        """Return the dataset in which the canaries are whose coins say so."""
        ...

    def differs(self, relation: Relation) -> str:
        """Return in words how the datasets differ, or raise if the relation does not allow it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """A background and several canaries, each a group of equal records, in cells of their own."""

    name: str  # Why it may be a bad case
    # ``(X, y)``, the records that are always in; tuple of ndarray.
    background: tuple[AnyArray, AnyArray]
    cells: AnyArray  # The record of each canary; shape (canaries, d)
    label: object  # The label of all of them
    distance: int  # Records of each canary

    @property
    def canaries(self) -> int:
        """How many coins there are."""
        return len(self.cells)

    @property
    def records(self) -> AnyArray:
        """One record of each canary."""
        return self.cells

    def dataset(self, coins: Bools) -> tuple[AnyArray, AnyArray]:
        """Return the background with the canaries whose coins say so."""
        X, y = self.background
        more = np.repeat(self.cells[coins], self.distance, axis=0)
        labels = np.empty(len(more), dtype=y.dtype)
        labels[:] = self.label
        return np.concatenate([X, more]), np.concatenate([y, labels])

    def differs(self, relation: Relation) -> str:
        """Return in words how the datasets differ."""
        return f"{self.canaries} canaries of {self.distance} records, each in by a coin"


@dataclass(frozen=True, slots=True)
class KeptRuns:
    """What was kept of some runs, and the coins of each, shape (runs, canaries)."""

    kept: list[Any]
    coins: Bools

    def __add__(self, other: KeptRuns) -> KeptRuns:
        return KeptRuns([*self.kept, *other.kept], np.concatenate([self.coins, other.coins]))

    def sides(self) -> tuple[list[Any], list[Any]]:
        """Return what was kept without and with a canary; of several canaries what the learner says of each."""
        kept, coins = self.kept, self.coins.ravel().tolist()
        if self.coins.shape[1] > 1:
            kept = [_said_of(j, row) for row in self.kept for j in range(self.coins.shape[1])]
        return (
            [row for row, coin in zip(kept, coins, strict=True) if not coin],
            [row for row, coin in zip(kept, coins, strict=True) if coin],
        )


def _said_of(canary: int, row: dict[str, float]) -> dict[str, float]:
    """Return the features of one canary under names that all canaries have."""
    start = f"record {canary} "
    return {f"record {name.removeprefix(start)}": value for name, value in row.items() if name.startswith(start)}


def draw(
    source: OutputSource,
    plan: VerificationPlan,
    trial: Trial,
    runs: int,
    *,
    seed: int | None,
    balanced: bool = False,
    workers: int = 1,
    progress: Progress | None = None,
) -> KeptRuns:
    """Run a source on datasets that fair coins choose; ``balanced``, as many heads as tails, where none is counted."""
    rng = np.random.default_rng(None if seed is None else [seed, 1])
    if balanced:
        turns = np.arange(runs)[:, None] % 2 == np.zeros(trial.canaries)
        coins = rng.permuted(turns, axis=0)
    else:
        coins = rng.random((runs, trial.canaries)) < 0.5
    seeds = seeds_of(seed, runs)
    size = 1 if workers == 1 else max(1, math.ceil(runs / PARTS))
    parts = [range(start, min(start + size, runs)) for start in range(0, runs, size)]

    def run(part: range) -> list[Any]:
        return [kept_of(plan.score, source.draw(trial.dataset(coins[i]), seeds[i])) for i in part]

    kept: list[Any] = []
    if workers == 1:
        results = map(run, parts)
    else:
        from sklearn.utils.parallel import Parallel, delayed

        results = Parallel(n_jobs=workers, return_as="generator")(delayed(run)(part) for part in parts)
    for outputs in results:
        kept += outputs
        if progress is not None:
            progress(len(kept), runs)
    return KeptRuns(kept, coins)


@dataclass(frozen=True, slots=True)
class _Guess:
    """An event, and whether its occurrence is the guess "in", or its absence the guess "out"."""

    event: Event
    inside: bool

    def counts(self, outputs: list[Any], there: list[Any]) -> tuple[int, int]:
        """Return right and wrong guesses."""
        occurred0, occurred1 = _occurrences(self.event, outputs), _occurrences(self.event, there)
        if self.inside:
            return occurred1, occurred0
        return len(outputs) - occurred0, len(there) - occurred1


def _occurrences(event: Event, kept: list[Any]) -> int:
    return int(np.count_nonzero(event.occurs(kept))) if kept else 0


def _by_odds(plan: VerificationPlan, trial: Trial, runs: int) -> bool:
    """Whether guesses of coins may be counted: then delta is small, and canaries of several records have none."""
    small = runs * plan.delta <= (1 - plan.confidence) / 10
    return isinstance(plan.bound, EpsilonBound) and small and (trial.distance == 1 or not plan.delta)


def _chosen(plan: VerificationPlan, trial: Trial, train: KeptRuns) -> tuple[float, _Guess]:
    """Return the guess that is best on training runs, with its quality."""
    odds = _by_odds(plan, trial, len(train.kept))
    alpha = (1 - plan.confidence) / 2
    outputs, there = train.sides()
    rate = _odds_rate(len(outputs), len(there), alpha) if odds else plan.rate(len(outputs), len(there))
    candidates: list[tuple[float, _Guess]] = []
    for event in plan.score.events(outputs, there, rate):
        # An event that was fixed beforehand speaks for the second dataset.
        for inside in (True, False) if odds and plan.score.train_share else (True,):
            guess = _Guess(event, inside)
            right, wrong = guess.counts(outputs, there)
            if odds:
                value = float(odds_bound(right, wrong, alpha)) + 1e-3 * (right - wrong) / max(1, len(outputs))
            else:
                value = float(rate(np.array([wrong]), np.array([len(there) - right]))[0])
            candidates.append((value, guess))
    if not candidates:
        raise InvalidParameterError("a score must return at least one event, got none.")
    return max(candidates, key=lambda one: one[0])


def _odds_rate(n0: int, n1: int, alpha: float) -> Any:
    """Return from false positives and false negatives to what guesses of either kind would bound."""

    def rate(positives: Array, negatives: Array) -> Array:
        a, b = np.asarray(positives, dtype=np.float64), np.asarray(negatives, dtype=np.float64)
        gap = 1 - a / max(1, n0) - b / max(1, n1)
        best = np.maximum(odds_bound(n1 - b, a, alpha), odds_bound(n0 - a, b, alpha))
        return np.asarray(best + 1e-3 * gap, dtype=np.float64)

    return rate


def guesses(plan: VerificationPlan, trial: Trial, train: KeptRuns) -> int:
    """Return how often a guess was made: of crowds with one claim the one with most guesses has most power."""
    _, guess = _chosen(plan, trial, train)
    return sum(guess.counts(*train.sides()))


def quality(plan: VerificationPlan, trial: Trial, train: KeptRuns) -> float:
    """Return what the runs that choose an event would bound, for one record; it is no bound."""
    return _chosen(plan, trial, train)[0] / trial.distance


def judge(
    plan: VerificationPlan, trial: Trial, train: KeptRuns, test: KeptRuns, relation: str, assumptions: Sequence[str]
) -> LowerBound:
    """Choose guesses on some runs, and count them on others.

    Guarantee
    ---------
    With probability at least the plan's confidence the bounds are at most the true parameters; see ``bounds.md``.
    """
    refuse_the_refused([*train.kept, *test.kept])
    _, guess = _chosen(plan, trial, train)
    odds, single, alpha = _by_odds(plan, trial, len(test.kept)), trial.canaries == 1, 1 - plan.confidence
    outputs, there = test.sides()
    positives = _occurrences(guess.event, outputs)
    negatives = len(there) - _occurrences(guess.event, there)
    epsilon = mu = value = 0.0
    at_claim = None
    method = []
    if odds:
        # Of one canary half of the error probability is left for the two error rates.
        part = (alpha / 2 if single else alpha) - len(test.kept) * plan.delta
        epsilon = value = float(odds_bound(*guess.counts(outputs, there), part))
        method.append("Clopper-Pearson limit of the share of right guesses of coins")
    if single:
        part = alpha / 4 if odds else alpha / 2
        a = clopper_pearson_upper([positives], max(1, len(outputs)), part)
        b = clopper_pearson_upper([negatives], max(1, len(there)), part)
        if trial.distance == 1 or not plan.delta:
            epsilon = max(epsilon, float(EpsilonBound(delta=plan.delta).values(a, b)[0]))
        mu = float(GaussianBound().values(a, b)[0])
        value = epsilon if isinstance(plan.bound, EpsilonBound) else float(plan.bound.values(a, b)[0])
        method.append(f"{plan.bound.method}, with Clopper-Pearson limits of the error rates of one event")
        if plan.claimed_epsilon is not None and trial.distance == 1:
            at_claim = delta_lower_bound(float(a[0]), float(b[0]), plan.claimed_epsilon)
    return LowerBound(
        parameter=plan.bound.parameter,
        value=value / trial.distance,
        epsilon=epsilon / trial.distance,
        mu=mu / trial.distance,
        delta=plan.delta,
        claim=plan.claim,
        claimed_epsilon=plan.claimed_epsilon,
        delta_at_claim=at_claim,
        confidence=plan.confidence,
        method=f"{'; '.join(method)}, chosen on {len(train.kept)} other runs",
        assumptions=(*assumptions, *plan.assumptions),
        relation=relation,
        event=guess.event.name,
        false_positives=positives,
        false_negatives=negatives,
        counted0=len(outputs),
        counted1=len(there),
        runs=len(train.kept) + len(test.kept),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedNoise:
    """The noise of published class counts, against what the certificate states of it.

    The exact counts follow from the records and the published leaves. Where a published count lies above the exact
    one, the excess less one is geometric under discrete Laplace noise, also with cuts at zero.
    """

    dataset: tuple[AnyArray, AnyArray]  # ``(X, y)``; tuple of ndarray
    scale: float  # Scale of the noise as stated

    @classmethod
    def stated_by(cls, fitted: object, dataset: Any) -> StatedNoise | None:
        """Return the noise that a fitted learner states of its counts; None where it states none of this kind."""
        model, certificate = getattr(fitted, "model_", None), getattr(fitted, "certificate_", None)
        if not isinstance(model, DecisionTree | RuleList) or certificate is None or not hasattr(fitted, "apply"):
            return None
        scale = None if model.guarantee is None else model.guarantee.count_scale
        noises = [event for event in certificate.events if isinstance(event, DiscreteLaplaceNoise)]
        stated = [event for event in noises if scale is not None and math.isclose(event.scale, scale, rel_tol=1e-9)]
        if len(stated) != 1 or stated[0].l1_sensitivity != 1 or any(c.evidence.counts is None for c in model.cells):
            return None
        return cls(dataset=dataset, scale=stated[0].scale)

    @property
    def name(self) -> str:
        """What is looked at."""
        return f"class counts and their noise of scale {self.scale:.4g}"

    @property
    def claim(self) -> float:
        """Epsilon of the counts, as their noise is stated."""
        return 1 / self.scale

    @property
    def train_share(self) -> float:
        """No runs are needed."""
        return 0.0

    def events(self, kept0: Sequence[Any], kept1: Sequence[Any], rate: object) -> tuple[Event, ...]:
        """Return none: the kept values are bounded directly, without events."""
        return ()

    def keep(self, fitted: Any) -> tuple[int, int]:
        """Return the sum of the excesses, each less one, and their number."""
        X, y = self.dataset
        at = {label: c for c, label in enumerate(fitted.classes_.tolist())}
        published = np.array([cell.evidence.counts for cell in fitted.model_.cells], dtype=np.int64)
        exact = np.zeros_like(published)
        np.add.at(exact, (fitted.apply(X), [at[label] for label in y.tolist()]), 1)
        excess = (published - exact)[published > exact]
        return int((excess - 1).sum()), len(excess)

    def bound(self, kept: Sequence[tuple[int, int]], plan: VerificationPlan, assumptions: Sequence[str]) -> LowerBound:
        """Return a lower bound on the epsilon of the counts: the inverse of an upper limit of the noise's scale.

        Guarantee
        ---------
        That of ``LowerBound`` for the epsilon of the counts, if their noise is discrete Laplace; see ``bounds.md``.
        """
        total, number = sum(excess for excess, _ in kept), sum(count for _, count in kept)
        # The sum of geometric numbers is negative binomial.
        stay = 1 - float(special.betaincinv(number, total + 1, 1 - plan.confidence)) if number else 1.0
        value = -math.log(stay) if stay > 0 else math.inf
        mean = total / number if number else math.nan
        return LowerBound(
            parameter="epsilon of the class counts",
            value=value,
            epsilon=0.0,
            mu=0.0,
            delta=plan.delta,
            claim=self.claim,
            claimed_epsilon=plan.claimed_epsilon,
            delta_at_claim=None,
            confidence=plan.confidence,
            method="negative binomial law of the excess of published over exact counts",
            assumptions=(*assumptions, "the noise of the counts is discrete Laplace, as the certificate states"),
            relation="one dataset, of which the exact counts are known",
            event=f"{number} published counts lie above the exact ones by {mean + 1:.4g} on average",
            false_positives=0,
            false_negatives=len(kept),
            counted0=len(kept),
            counted1=len(kept),
            runs=len(kept),
        )


def with_records(plan: VerificationPlan, trial: Trial) -> VerificationPlan:
    """Return the plan whose distinguisher asks a fitted learner about the canaries of a trial."""
    if not isinstance(plan.score, Distinguisher) or trial.records is None:
        return plan
    models = () if trial.canaries > 1 else plan.score.models
    return replace(plan, score=replace(plan.score, records=trial.records, models=models))
