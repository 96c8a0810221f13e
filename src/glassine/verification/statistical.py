"""Statistical verification: lower bounds on the privacy parameters of a learner or mechanism, from many runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassine.domain.attributes import is_whole
from glassine.errors import InvalidDataError, InvalidParameterError, check_whole, parameter
from glassine.exports import Displayed
from glassine.privacy.conversions import epsilon_from_mu, mu_from_epsilon
from glassine.privacy.release import fresh_count
from glassine.records.arrays import Array
from glassine.verification.bounds import (
    EpsilonBound,
    GaussianBound,
    check_probability,
    clopper_pearson_upper,
    delta_lower_bound,
)
from glassine.verification.features import REFUSED
from glassine.verification.same_records import check_neighbors, check_seed, source_of
from glassine.verification.scores import score_of
from glassine.verification.statistical_phases import (
    NO_CLAIM,
    RUNS,
    Claim,
    Event,
    OutputSource,
    PrivacyBound,
    Refusal,
    Relation,
    Runs,
    Score,
    verdict,
)

__all__ = [
    "LowerBound",
    "VerificationPlan",
    "draw_outputs",
    "kept_of",
    "lower_bound",
    "lower_bound_from_outputs",
    "refuse_the_refused",
    "seeds_of",
]


def draw_outputs(
    source: OutputSource, score: Score, datasets: tuple[Any, Any], runs: Runs
) -> tuple[list[Any], list[Any]]:
    """Return what a score keeps of independent outputs, half of them on each of two datasets."""
    each, workers, progress = (runs.number or 0) // 2, runs.workers, runs.progress
    if not is_whole(workers) or not (workers >= 1 or workers == -1):
        raise InvalidParameterError(
            f"{parameter('workers')} must be a whole number of at least 1, or -1 for all, got {workers!r}."
        )
    seeds = seeds_of(runs.seed, 2 * each)
    tasks = [(which, chunk) for which in (0, 1) for chunk in _chunks(seeds[which * each : (which + 1) * each], workers)]
    kept: tuple[list[Any], list[Any]] = ([], [])
    done = 0
    for (which, chunk), outputs in zip(tasks, _ran(source, score, datasets, tasks, workers), strict=True):
        kept[which].extend(outputs)
        done += len(chunk)
        if progress is not None:
            progress(done, 2 * each)
    refuse_the_refused([*kept[0], *kept[1]])
    return kept


def refuse_the_refused(kept: Sequence[Any]) -> None:
    """Raise InvalidDataError if every run was refused: nothing was released, so that nothing is learned of it."""
    if kept and all(isinstance(row, Mapping) and any(name.startswith(REFUSED) for name in row) for row in kept):
        raise InvalidDataError(
            "the learner refused both datasets in every run.", remedy="Fit it to one of them to see why."
        )


def _ran(
    source: OutputSource,
    score: Score,
    datasets: tuple[Any, Any],
    tasks: list[tuple[int, list[int | None]]],
    workers: int,
) -> Iterator[list[Any]]:
    if workers == 1:
        return (_run(source, score, datasets[which], chunk) for which, chunk in tasks)
    from sklearn.utils.parallel import Parallel, delayed

    chunks: Iterator[list[Any]] = Parallel(n_jobs=workers, return_as="generator")(
        delayed(_run)(source, score, datasets[which], chunk) for which, chunk in tasks
    )
    return chunks


def _run(source: OutputSource, score: Score, dataset: object, seeds: list[int | None]) -> list[Any]:
    kept = []
    for seed in seeds:
        # Each output is that of one fit: neighbors are made up, and a caveat that counts runs would distinguish them.
        with fresh_count():
            kept.append(kept_of(score, source.draw(dataset, seed)))
    return kept


def kept_of(score: Score, output: object) -> Any:
    """Return what a score keeps of an output; a refusal is an output only for a score that looks for it."""
    if isinstance(output, Refusal) and not getattr(score, "sees_refusals", False):
        raise output.error
    return score.keep(output)


def _chunks(seeds: list[int | None], workers: int) -> Iterator[list[int | None]]:
    # Enough parts for a steady progress, few enough to make their transport cheap.
    size = 1 if workers == 1 else max(1, len(seeds) // 40)
    for start in range(0, len(seeds), size):
        yield seeds[start : start + size]


def seeds_of(seed: int | None, number: int) -> list[int | None]:
    """Return different seeds of 31 bits, which every library takes."""
    if seed is None:
        return [None] * number
    rng = np.random.default_rng(check_seed(seed))
    seeds: dict[int | None, None] = {}
    while len(seeds) < number:
        seeds.update(dict.fromkeys(rng.integers(0, 2**31 - 1, size=number).tolist()))
    return list(seeds)[:number]


FEWEST_RUNS = 40
"""Runs below which no bound could say anything."""

GAUSSIAN = "the mechanism's trade-off curve is that of a Gaussian"


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerBound(Displayed):
    """What the runs on two neighboring datasets show of a privacy parameter. A bound from below is never a guarantee.

    Guarantee
    ---------
    With probability at least ``confidence`` over the runs, all of ``value``, ``epsilon``, ``mu`` and
    ``delta_at_claim`` are at most their true values for these two datasets, and so for the mechanism, under the
    stated ``assumptions``; see ``bounds.md``.

    Attributes
    ----------
    parameter : str
        What is bounded, and claimed: "epsilon", "mu", or that of a family of trade-off curves.
    value : float
        Lower bound on it.
    epsilon : float
        Lower bound on epsilon at ``delta``, without any assumption on the mechanism.
    mu : float
        Lower bound on mu (GDP), without any assumption on the mechanism.
    delta : float
        Delta of ``epsilon``.
    claim : float or None
        What is claimed of the parameter; None where nothing was tested.
    claimed_epsilon : float or None
        The claimed epsilon, if there is one.
    delta_at_claim : float or None
        Lower bound on delta at the claimed epsilon.
    confidence : float
        Of all bounds together.
    method : str
        How they were found.
    assumptions : tuple of str
        What they rest on.
    relation : str
        How the two datasets differ.
    event : str
        The test that was counted: its occurrence is the guess "second dataset".
    false_positives, false_negatives : int
        Its errors in the counted runs.
    counted0, counted1 : int
        Counted runs on the two datasets.
    runs : int
        All runs, those for choosing the event included.
    """

    parameter: str
    value: float
    epsilon: float
    mu: float
    delta: float
    claim: float | None
    claimed_epsilon: float | None
    delta_at_claim: float | None
    confidence: float
    method: str
    assumptions: tuple[str, ...]
    relation: str
    event: str
    false_positives: int
    false_negatives: int
    counted0: int
    counted1: int
    runs: int

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted. False is no evidence of safety."""
        return self.claim is not None and self.value > self.claim

    @property
    def verdict(self) -> str:
        """The result in words."""
        return verdict(self.parameter, self.value, self.claim, self.confidence)

    @property
    def advantage(self) -> float:
        """Share of true minus share of false positives in the counted runs; an estimate, not a bound."""
        return 1 - self.false_positives / self.counted0 - self.false_negatives / self.counted1

    def gaussian_epsilon(self, delta: float) -> float:
        """Return the epsilon at a delta that ``mu`` means for a mechanism whose trade-off curve is Gaussian."""
        check_probability(delta, "delta")
        return epsilon_from_mu(self.mu, delta)

    def __str__(self) -> str:
        lines = [
            f"{self.verdict}.",
            f"epsilon >= {self.epsilon:.4g} at delta = {self.delta:g}, mu >= {self.mu:.4g}, with confidence "
            f"{self.confidence:g}.",
            f"Method: {self.method}. Datasets: {self.relation}.",
            f"Event: {self.event}; it errs {self.false_positives} of {self.counted0} and {self.false_negatives} of "
            f"{self.counted1} times. Runs: {self.runs}.",
            f"Assumes: {'; '.join(self.assumptions)}.",
        ]
        if self.delta_at_claim is not None:
            lines.insert(2, f"At the claimed epsilon = {self.claimed_epsilon:g}, delta >= {self.delta_at_claim:.4g}.")
        return "\n".join(lines)


def lower_bound(
    learner: object,
    d0: object,
    d1: object,
    claim: Claim = NO_CLAIM,
    *,
    score: Score | Callable[[Any], float] | None = None,
    relation: Relation = "add-or-remove-one",
    runs: Runs = RUNS,
) -> LowerBound:
    """Run a learner or mechanism many times on two neighboring datasets, and bound its privacy parameter from below.

    An event is chosen on one part of the runs and counted on the rest; its two error rates, with Clopper-Pearson
    limits, exclude every smaller parameter.

    Guarantee
    ---------
    With probability at least ``confidence`` the bounds are at most the true parameters for these datasets, in finite
    samples, under the result's assumptions; see ``bounds.md``. A claim that is not rejected is not shown to hold.

    Parameters
    ----------
    learner : estimator, callable or OutputSource
        A private estimator, fitted to datasets ``(X, y)``; or a function ``mechanism(dataset, seed)``.
    d0, d1 : dataset
        Two neighbors: tuples ``(X, y)``, frames, arrays or sequences of records.
    claim : Claim, optional
        What is to be refuted, and with which confidence. By default nothing: the bounds are computed all the same.
    score : Score or callable, optional
        What distinguishes outputs: a function from an output to a number, whose threshold is chosen on training runs,
        or an object of ``glassine.verification.scores``. By default a learned distinguisher.
    relation : {"add-or-remove-one", "replace-one"}, default="add-or-remove-one"
        The relation for which the claim is made; other pairs are refused.
    runs : Runs, optional
        How many runs, at least 40, one half on each dataset; by default 1000.

    Returns
    -------
    LowerBound
        Bounds, claim and verdict.

    Raises
    ------
    InvalidDataError
        If the datasets are not neighbors.
    InvalidParameterError
        If a parameter is out of its range.

    Examples
    --------
    A count with Laplace noise of half the scale that epsilon = 1 needs:

    >>> def careless(records, seed):
    ...     return len(records) + np.random.default_rng(seed).laplace(scale=0.5)
    >>> found = lower_bound(careless, ["a"], ["a", "b"], Claim(epsilon=1.0), score=float, runs=Runs(2000))
    >>> found.violated, round(found.epsilon, 2)
    (True, 1.57)
    """
    number = 1000 if runs.number is None else runs.number
    plan = VerificationPlan.of(claim, score, number)
    source = source_of(learner)
    how = f"{check_neighbors(d0, d1, relation)} ({relation})"
    kept0, kept1 = draw_outputs(source, plan.score, (d0, d1), replace(runs, number=number))
    assumptions = ("runs are independent",)
    if runs.seed is not None:
        assumptions = ("seeded runs are like independent ones",)
    return plan.judge(kept0, kept1, how, assumptions)


def lower_bound_from_outputs(
    outputs0: Sequence[Any],
    outputs1: Sequence[Any],
    claim: Claim = NO_CLAIM,
    *,
    score: Score | Callable[[Any], float] | None = None,
    relation: str = "neighbors, as stated by the caller",
) -> LowerBound:
    """Bound a privacy parameter from below from outputs that were drawn elsewhere.

    Guarantee
    ---------
    That of ``lower_bound``, if the outputs are those of independent runs on two neighboring datasets; see
    ``bounds.md``.

    Parameters
    ----------
    outputs0, outputs1 : sequence
        Outputs on the first and on the second dataset, at least 20 of each.
    claim, score
        As in ``lower_bound``.
    relation : str
        How the datasets differ, for the result.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = lower_bound_from_outputs(rng.normal(0, 1, 2000), rng.normal(2, 1, 2000), Claim(mu=1.0), score=float)
    >>> found.violated, round(found.mu, 2)
    (True, 1.94)
    """
    plan = VerificationPlan.of(claim, score, 2 * min(len(outputs0), len(outputs1)))
    kept0, kept1 = ([plan.score.keep(output) for output in outputs] for outputs in (outputs0, outputs1))
    return plan.judge(kept0, kept1, relation, ("outputs are those of independent runs",))


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationPlan:
    """The checked parameters of a verification."""

    score: Score  # What distinguishes outputs
    bound: PrivacyBound  # What bounds the parameter
    delta: float  # Delta of the claim
    # claim, claimed_epsilon: what is claimed of the bound's parameter, and of epsilon.
    claim: float | None
    claimed_epsilon: float | None
    confidence: float  # In (0, 1)
    assumptions: tuple[str, ...]  # What the claim supposes

    @classmethod
    def of(cls, claim: Claim, score: object, runs: int) -> VerificationPlan:
        """Return the plan of a verification with so many runs, or raise."""
        check_probability(claim.confidence, "confidence")
        check_whole(runs, "runs", FEWEST_RUNS)
        for name, value in (("epsilon", claim.epsilon), ("mu", claim.mu), ("value", claim.value)):
            if value is not None and not 0 <= value < np.inf:
                raise InvalidParameterError(f"{parameter(name)} must be a finite number of at least 0, got {value!r}.")
        if claim.epsilon is not None and claim.mu is not None:
            raise InvalidParameterError("a claim is either epsilon, with delta, or mu, got both.", remedy="Drop one.")
        check_probability(claim.delta, "delta", zero=True)
        bound = claim.bound or (EpsilonBound(delta=claim.delta) if claim.mu is None else GaussianBound())
        stated, assumptions = _claim(bound, claim)
        return cls(
            score=score_of(score),
            bound=bound,
            delta=float(claim.delta),
            claim=stated,
            claimed_epsilon=claim.epsilon,
            confidence=float(claim.confidence),
            assumptions=assumptions,
        )

    def judge(self, kept0: list[Any], kept1: list[Any], relation: str, assumptions: tuple[str, ...]) -> LowerBound:
        """Choose events on the first part of the runs and count them on the rest."""
        share = self.score.train_share
        trained0, trained1 = (int(share * len(kept)) for kept in (kept0, kept1))
        test0, test1 = kept0[trained0:], kept1[trained1:]
        events = self.score.events(kept0[:trained0], kept1[:trained1], self.rate(trained0, trained1))
        if not events:
            raise InvalidParameterError("a score must return at least one event, got none.")
        alpha = (1 - self.confidence) / (2 * len(events))
        errors = [_errors(event, test0, test1) for event in events]
        a = clopper_pearson_upper([positive for positive, _ in errors], len(test0), alpha)
        b = clopper_pearson_upper([negative for _, negative in errors], len(test1), alpha)
        values = self.bound.values(a, b)
        best = int(np.argmax(values))
        method = f"{self.bound.method}; Clopper-Pearson limits of the error rates of one event"
        if len(events) > 1:
            method += f", or {len(events)} by a union bound"
        if trained0:
            method += f", chosen on {trained0 + trained1} other runs"
        at_claim = None
        if self.claimed_epsilon is not None:
            pairs = zip(a.tolist(), b.tolist(), strict=True)
            at_claim = max(delta_lower_bound(one, other, self.claimed_epsilon) for one, other in pairs)
        return LowerBound(
            parameter=self.bound.parameter,
            value=float(values[best]),
            epsilon=float(EpsilonBound(delta=self.delta).values(a, b).max()),
            mu=float(GaussianBound().values(a, b).max()),
            delta=self.delta,
            claim=self.claim,
            claimed_epsilon=self.claimed_epsilon,
            delta_at_claim=at_claim,
            confidence=self.confidence,
            method=method,
            assumptions=(*assumptions, *self.assumptions),
            relation=relation,
            event=events[best].name,
            false_positives=errors[best][0],
            false_negatives=errors[best][1],
            counted0=len(test0),
            counted1=len(test1),
            runs=len(kept0) + len(kept1),
        )

    def rate(self, n0: int, n1: int) -> Callable[..., Array]:
        """Return what training counts would bound; where they bound nothing, the wider gap wins."""
        alpha = (1 - self.confidence) / 2
        upper0 = clopper_pearson_upper(np.arange(n0 + 1), n0, alpha)
        upper1 = clopper_pearson_upper(np.arange(n1 + 1), n1, alpha)

        def rate(positives: Array, negatives: Array) -> Array:
            i, j = np.asarray(positives, dtype=int), np.asarray(negatives, dtype=int)
            gap = 1 - i / max(1, n0) - j / max(1, n1)
            return np.asarray(self.bound.values(upper0[i], upper1[j]) + 1e-3 * gap, dtype=np.float64)

        return rate


def _claim(bound: PrivacyBound, claim: Claim) -> tuple[float | None, tuple[str, ...]]:
    """Return what is claimed of the bound's parameter, and what that supposes."""
    epsilon, delta, mu = claim.epsilon, claim.delta, claim.mu
    if claim.value is not None:
        return float(claim.value), ()
    if bound.parameter == "epsilon" and epsilon is not None:
        if isinstance(bound, EpsilonBound) and bound.delta != delta:
            raise InvalidParameterError(
                f"{parameter('delta')} must be that of the bound, {bound.delta:g}, got {delta:g}."
            )
        return float(epsilon), ()
    if bound.parameter == "mu" and mu is not None:
        return float(mu), ()
    if bound.parameter == "mu" and epsilon is not None:
        if not (epsilon > 0 and delta > 0):
            raise InvalidParameterError(
                "a claim with delta = 0 is none of mu-GDP.", remedy=f"Pass {parameter('mu=')}, or another bound."
            )
        return mu_from_epsilon(epsilon, delta), (GAUSSIAN,)
    if epsilon is not None or mu is not None:
        raise InvalidParameterError(
            f"the bound is on {bound.parameter}.", remedy=f"State the claim on it with {parameter('value=')}."
        )
    return None, ()


def _errors(event: Event, test0: list[Any], test1: list[Any]) -> tuple[int, int]:
    if not (test0 and test1):
        raise InvalidDataError(
            "no runs are left to be counted.", remedy=f"Lower {parameter('train_share')}, or raise runs."
        )
    occurred0, occurred1 = event.occurs(test0), event.occurs(test1)
    if (len(occurred0), len(occurred1)) != (len(test0), len(test1)):
        raise InvalidDataError(f"the event {event.name!r} must give one bool for each output, got another number.")
    return int(np.count_nonzero(occurred0)), len(test1) - int(np.count_nonzero(occurred1))
