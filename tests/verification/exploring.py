"""The exact law of a whole fit: every private choice is taken in every way, with its probability."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from glassine.sealed import door, draws, queries
from glassine.sealed.exact_quantiles import quantile_distribution
from glassine.sealed.lists import ListSums
from glassine.sealed.trees import TreeSums
from tests.oracles.laws import log_distribution

CUT = 3
"""Noisy counts from here on are told apart no further, which is post-processing."""


class _Open(Exception):
    """A choice that is not made yet, with the log-probability of each answer."""

    def __init__(self, law: Mapping[Any, float]) -> None:
        self.law = law


class _Script:
    """Answers to the choices of one fit, and the counts to which noise was added."""

    def __init__(self, answers: Sequence[Any]) -> None:
        self.answers = answers
        self.asked = 0
        self.noise: list[tuple[list[int], float]] = []
        self.drawn = False

    def choose(self, law: Mapping[Any, float]) -> Any:
        if self.asked == len(self.answers):
            raise _Open(law)
        self.asked += 1
        return self.answers[self.asked - 1]

    def draw(self, sums: Any, randomness: Any) -> Any:
        self.drawn = True
        return self.choose(log_distribution(sums))

    def quantiles(
        self, values: Any, candidates: Any, number: int, epsilon: Fraction, randomness: Any, *, multiplicities: Any
    ) -> tuple[Any, tuple[Any, ...]]:
        assert multiplicities is None, "records in memory occur once each"
        law = quantile_distribution(values, candidates, number, epsilon)
        return self.choose({cut: math.log(share) for cut, share in law.items()}), ()

    def laplace(self, values: Any, scale: Any, randomness: Any) -> Any:
        if not self.drawn:
            # The draw reads these counts: each way they may come is followed. Cut, they are post-processed.
            shares = [laplace_log_shares(count, float(scale)) for count in np.ravel(values).tolist()]
            ways = product(range(CUT + 1), repeat=len(shares))
            law = {way: math.fsum(s[n] for s, n in zip(shares, way, strict=True)) for way in ways}
            return np.array(self.choose(law), dtype=np.int64).reshape(np.shape(values))
        self.noise.append((np.ravel(values).tolist(), float(scale)))
        return np.asarray(values)


@contextmanager
def _scripted(answers: Sequence[Any]) -> Iterator[_Script]:
    script = _Script(answers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TreeSums, "draw", lambda sums, randomness: script.draw(sums, randomness))
        patch.setattr(ListSums, "draw", lambda sums, randomness: script.draw(sums, randomness))
        patch.setattr(queries, "private_quantiles", script.quantiles)
        patch.setattr(draws, "laplace", script.laplace)
        # An open choice leaves the fit as an exception, of which the door would say nothing.
        patch.setattr(door, "behind", lambda work: work())
        yield script


def laplace_log_shares(count: int, scale: float) -> list[float]:
    """Return the log-probabilities of a count with discrete Laplace noise: at most 0, 1, ..., at least CUT."""
    rate, normal = 1 / scale, math.log1p(math.exp(-1 / scale))

    def tail(steps: int) -> float:
        """Log-probability of noise of at least so many steps, in one direction."""
        if steps > 0:
            return -rate * steps - normal
        return math.log1p(-math.exp(-rate * (1 - steps) - normal))

    points = [math.log(-math.expm1(-rate)) - normal - rate * abs(k - count) for k in range(1, CUT)]
    return [tail(count), *points, tail(CUT - count)]


def law_of_fit(fit: Callable[[], Any], outcome: Callable[[Any], Hashable]) -> dict[Hashable, float]:
    """Return the log-probability of every result of a fit.

    Parameters
    ----------
    fit : callable
        Returns a fitted estimator.
    outcome : callable
        What is released besides the noisy counts, from the estimator; together with the answers to all choices, which
        are released, too, and the noisy counts, each cut at ``CUT``, it is the result.
    """
    found: dict[Hashable, float] = {}
    pending: list[tuple[list[Any], float]] = [([], 0.0)]
    while pending:
        answers, log = pending.pop()
        with _scripted(answers) as script:
            try:
                fitted = fit()
            except _Open as question:
                pending += [([*answers, answer], log + more) for answer, more in question.law.items()]
                continue
        shares = [laplace_log_shares(count, scale) for values, scale in script.noise for count in values]
        released = outcome(fitted), tuple(answers)
        for counts in product(range(CUT + 1), repeat=len(shares)):
            total = log + math.fsum(share[count] for share, count in zip(shares, counts, strict=True))
            # Two ways to the same result add up.
            found[released, counts] = float(np.logaddexp(found.get((released, counts), -math.inf), total))
    return found
