"""Auditing in one run: canaries are put in or left out at random, and guessed from the one output."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from glassine.errors import InvalidDataError, InvalidParameterError, check_whole, parameter
from glassine.records.arrays import Indices
from glassine.verification.bounds import check_probability
from glassine.verification.same_records import check_seed, pair_of, source_of
from glassine.verification.statistical_phases import NO_CLAIM, Claim, verdict

__all__ = ["OneRunBound", "audit_one_run", "one_run_bound", "one_run_p_value"]

STEP = 0.01
"""Distance of the epsilons that are tested one after the other."""

HIGHEST = 30.0
"""Largest epsilon that is tested."""

ASSUMPTIONS = (
    "the claim is one for adding or removing any one canary, for any choice of the others",
    "each canary was put in or left out by its own fair coin, unknown to the learner otherwise",
    "guesses follow from the output, the canaries and other coins alone; their number was fixed beforehand",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRunBound:
    """What one run with canaries shows of epsilon. A bound from below is never a guarantee.

    Guarantee
    ---------
    With probability at least ``confidence`` over coins and run, ``epsilon`` is at most the true one at ``delta``,
    under the ``assumptions``; see ``canaries.md``.
    """

    # epsilon, delta: lower bound on epsilon, at this delta.
    epsilon: float
    delta: float
    claim: float | None  # The claimed epsilon
    confidence: float  # Of the bound
    method: str  # How it was found
    assumptions: tuple[str, ...]  # What it rests on
    # canaries, guesses, correct: all canaries, those that were guessed, and right guesses.
    canaries: int
    guesses: int
    correct: int

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted. False is no evidence of safety."""
        return self.claim is not None and self.epsilon > self.claim

    @property
    def verdict(self) -> str:
        """The result in words."""
        return verdict("epsilon", self.epsilon, self.claim, self.confidence)

    def __str__(self) -> str:
        return (
            f"{self.verdict}.\nepsilon >= {self.epsilon:.4g} at delta = {self.delta:g}, with confidence "
            f"{self.confidence:g}.\nMethod: {self.method}; {self.correct} of {self.guesses} guesses right, "
            f"{self.canaries} canaries.\nAssumes: {'; '.join(self.assumptions)}."
        )


def one_run_p_value(correct: int, guesses: int, canaries: int, epsilon: float, delta: float = 0.0) -> float:
    """Return an upper limit of the probability of so many right guesses under (epsilon, delta).

    Guarantee
    ---------
    See ``canaries.md``.

    References
    ----------
    Steinke, Nasr and Jagielski (2023), Privacy auditing with one (1) training run, Theorem 5.2.

    Examples
    --------
    >>> one_run_p_value(10, 10, 10, 0.0) == 2**-10
    True
    """
    if not 0 <= correct <= guesses <= canaries:
        raise InvalidParameterError(
            f"right guesses, guesses and canaries must increase, got {correct}, {guesses} and {canaries}."
        )
    check_probability(delta, "delta", zero=True)
    if not 0 <= epsilon < math.inf:
        raise InvalidParameterError(f"{parameter('epsilon')} must be a finite number of at least 0, got {epsilon!r}.")
    share = 1 / (1 + math.exp(-epsilon))
    tail = float(stats.binom.sf(correct - 1, guesses, share))
    if delta == 0 or correct == 0:
        return min(1.0, tail)
    below = stats.binom.pmf(np.arange(correct - 1, -1, -1), guesses, share)
    worst = float((np.cumsum(below) / np.arange(1, correct + 1)).max())
    return min(1.0, tail + 2 * canaries * delta * worst)


def one_run_bound(
    included: npt.ArrayLike,
    guessed: npt.ArrayLike,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
) -> OneRunBound:
    """Bound epsilon from below from guesses of which canaries were in.

    Guarantee
    ---------
    That of ``OneRunBound``; see ``canaries.md``.

    Parameters
    ----------
    included : array_like of bool, shape (m,)
        The coins: whether each canary was in.
    guessed : array_like of int, shape (m,)
        1 for "in", -1 for "out", 0 for no guess. How many are not 0 must not depend on the coins or the output.
    epsilon, delta : float, default None and 0
        The claim to test.
    confidence : float, default=0.95
        In (0, 1).

    Examples
    --------
    Randomised response with epsilon = 1 on each of a thousand coins, here with its mean number of truths:

    >>> coins = np.tile([True, False], 500)
    >>> answers = np.where(np.arange(1000) < 731, coins, ~coins) * 2 - 1
    >>> round(one_run_bound(coins, answers).epsilon, 2)
    0.88
    """
    coins, guesses = np.asarray(included), np.asarray(guessed)
    if coins.ndim != 1 or coins.shape != guesses.shape or not coins.size:
        raise InvalidDataError(
            f"coins and guesses must be two columns of one length, got {coins.shape}, {guesses.shape}."
        )
    if not np.isin(coins, (0, 1)).all() or not np.isin(guesses, (-1, 0, 1)).all():
        raise InvalidDataError(f"{parameter('coins')} must be 0 or 1 and guesses -1, 0 or 1, got something else.")
    check_probability(confidence, "confidence")
    check_probability(delta, "delta", zero=True)
    if epsilon is not None and not 0 <= epsilon < math.inf:
        raise InvalidParameterError(f"{parameter('epsilon')} must be a finite number of at least 0, got {epsilon!r}.")
    made = guesses != 0
    number, right = int(made.sum()), int((made & ((guesses > 0) == (coins > 0))).sum())
    return OneRunBound(
        epsilon=_largest_rejected(right, number, coins.size, delta, 1 - confidence),
        delta=float(delta),
        claim=epsilon,
        confidence=float(confidence),
        method="one run with canaries: binomial tail, with a term for delta",
        assumptions=ASSUMPTIONS,
        canaries=int(coins.size),
        guesses=number,
        correct=right,
    )


def audit_one_run(
    learner: object,
    dataset: object,
    canaries: object,
    score: Callable[[Any, Any], npt.ArrayLike],
    claim: Claim = NO_CLAIM,
    *,
    guesses: int | None = None,
    seed: int | None = 0,
) -> OneRunBound:
    """Put each canary in by a fair coin, run a learner once, and guess from its output which were in.

    Guarantee
    ---------
    That of ``OneRunBound``; see ``canaries.md``.

    Parameters
    ----------
    learner : estimator, callable or Source
        As in ``glassine.verification.lower_bound``.
    dataset : tuple (X, y) or sequence of records
        The records that are always in; arrays, or a list for a mechanism.
    canaries : of the same kind
        Records that are each put in or left out; the more the learner can show of each, the better. Hundreds.
    score : callable
        From the output and all canaries to one number for each; the higher, the more likely it was in.
    claim : Claim, optional
        Of epsilon, with delta and the confidence; no other claim is tested by one run.
    guesses : int, optional
        How many are guessed: one half, those of the highest scores, to be in, the other, those of the lowest, to be
        out. By default a fifth of the canaries.
    seed : int or None, default=0
        Of coins and run. None draws both from the operating system.

    Examples
    --------
    >>> bits = [(i, 1) for i in range(1000)]
    >>> def response(records, seed):
    ...     truth = np.isin(np.arange(1000), [i for i, _ in records])
    ...     return np.where(np.random.default_rng(seed).random(1000) < 0.9, truth, ~truth)
    >>> audit_one_run(response, [], bits, lambda output, canaries: output, Claim(epsilon=1.0), guesses=1000).violated
    True
    """
    if (claim.mu, claim.bound, claim.value) != (None, None, None):
        raise InvalidParameterError("one run tests a claim of epsilon and delta alone, got another. Use lower_bound.")
    source = source_of(learner)
    number = _size(canaries)
    wanted = check_whole(max(2, number // 5) if guesses is None else guesses, "guesses", 1, number)
    rng = np.random.default_rng(check_seed(seed))
    coins = rng.random(number) < 0.5
    run_seed = None if seed is None else int(rng.integers(0, 2**31 - 1))
    output = source.draw(_with(dataset, canaries, np.flatnonzero(coins)), run_seed)
    scores = np.asarray(score(output, canaries), dtype=np.float64)
    if scores.shape != (number,) or np.isnan(scores).any():
        raise InvalidDataError(
            f"{parameter('score')} must return one number for each of {number} canaries, got shape {scores.shape}."
        )
    # Ties are broken by coins that have nothing to do with those of the canaries.
    order = np.lexsort((rng.random(number), scores))
    guessed = np.zeros(number, dtype=int)
    guessed[order[: wanted // 2]] = -1
    guessed[order[number - (wanted - wanted // 2) :]] = 1
    return one_run_bound(coins, guessed, epsilon=claim.epsilon, delta=claim.delta, confidence=claim.confidence)


def _largest_rejected(correct: int, guesses: int, canaries: int, delta: float, alpha: float) -> float:
    """Return the last epsilon of the grid up to which all are rejected; 0 where the first is not."""
    last = 0.0
    for i in range(int(HIGHEST / STEP) + 1):
        epsilon = i * STEP
        if not one_run_p_value(correct, guesses, canaries, epsilon, delta) <= alpha:
            return last
        last = epsilon
    return last


def _size(canaries: Any) -> int:
    number = len(canaries[0]) if isinstance(canaries, tuple) else len(canaries)
    if not number > 0:
        raise InvalidDataError("there must be at least one canary, got none.")
    return number


def _with(dataset: Any, canaries: Any, chosen: Indices) -> Any:
    """Return a dataset with some of the canaries added at its end."""
    if isinstance(canaries, tuple):
        (X, y), (more, labels) = pair_of(dataset), pair_of(canaries)
        return np.concatenate([np.asarray(X), np.asarray(more)[chosen]]), np.concatenate(
            [np.asarray(y), np.asarray(labels)[chosen]]
        )
    if isinstance(canaries, np.ndarray):
        return np.concatenate([np.asarray(dataset), canaries[chosen]])
    return [*dataset, *(canaries[i] for i in chosen.tolist())]
