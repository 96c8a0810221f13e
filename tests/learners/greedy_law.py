"""The exact law of a greedy fit: every private choice is taken in every way, with its probability."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glassine.sealed import door, draws
from glassine.sealed.noisy_choice import exponential_log_weights
from tests.verification.exploring import CUT, laplace_log_shares

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def permute_and_flip_law(scores: Sequence[int], epsilon: Any, sensitivity: Any, monotone: bool) -> dict[int, float]:
    """Return log-probabilities: each candidate is heads with probability q, and a uniform one of the heads wins."""
    numerators, denominator = exponential_log_weights(scores, epsilon, sensitivity, monotone=monotone)
    heads = np.array([math.exp(value / denominator) for value in numerators])
    times, weights = (_NODES + 1) / 2, _WEIGHTS / 2
    tails = 1 - heads[:, None] * times[None, :]
    # The best is heads for certain, so that some other factor may vanish at the end of the interval only.
    shares = heads * ((np.prod(tails, axis=0)[None, :] / tails) @ weights)
    return {i: math.log(share / shares.sum()) for i, share in enumerate(shares)}


def exponential_law(scores: Sequence[int], epsilon: Any, sensitivity: Any, monotone: bool) -> dict[int, float]:
    """Return the log-probabilities of the exponential mechanism."""
    numerators, denominator = exponential_log_weights(scores, epsilon, sensitivity, monotone=monotone)
    logs = [value / denominator for value in numerators]
    total = math.log(math.fsum(math.exp(log) for log in logs))
    return {i: log - total for i, log in enumerate(logs)}


class _Open(Exception):
    """A choice that is not made yet, with the log-probability of each answer."""

    def __init__(self, law: Mapping[int, float]) -> None:
        self.law = law


class _Script:
    def __init__(self, answers: Sequence[int]) -> None:
        self.answers = answers
        self.asked = 0
        self.noise: list[tuple[int, float]] = []

    def choose(self, law: Mapping[int, float]) -> int:
        if self.asked == len(self.answers):
            raise _Open(law)
        self.asked += 1
        return self.answers[self.asked - 1]

    def laplace(self, values: npt.NDArray[np.int64], scale: Any, randomness: Any) -> npt.NDArray[np.int64]:
        self.noise += [(int(value), float(scale)) for value in values.ravel()]
        return values


@contextmanager
def _scripted(answers: Sequence[int]) -> Iterator[_Script]:
    script = _Script(answers)
    with pytest.MonkeyPatch.context() as patch:
        # An open choice leaves the fit as an exception, of which the door would say nothing.
        patch.setattr(door, "behind", lambda work: work())
        for name, law in (("permute_and_flip", permute_and_flip_law), ("exponential_mechanism", exponential_law)):
            patch.setattr(
                draws,
                name,
                lambda scores, epsilon, sensitivity, monotone=False, *, randomness, law=law: script.choose(
                    law(scores, epsilon, sensitivity, monotone)
                ),
            )
        patch.setattr(draws, "laplace", script.laplace)
        yield script


def law_of_fit(fit: Callable[[], Any], *, with_counts: bool) -> dict[Hashable, float]:
    """Return the log-probability of every list that a fit can release, with or without its noisy counts."""
    found: dict[Hashable, float] = {}
    pending: list[tuple[list[int], float]] = [([], 0.0)]
    while pending:
        answers, log = pending.pop()
        with _scripted(answers) as script:
            try:
                fitted = fit()
            except _Open as question:
                pending += [([*answers, answer], log + more) for answer, more in question.law.items()]
                continue
        rules = tuple(str(rule.antecedent) for rule in fitted.model_.rules)
        shares = [laplace_log_shares(count, scale) for count, scale in script.noise] if with_counts else []
        for counts in product(range(CUT + 1), repeat=len(shares)):
            total = log + math.fsum(share[count] for share, count in zip(shares, counts, strict=True))
            found[rules, counts] = float(np.logaddexp(found.get((rules, counts), -math.inf), total))
    return found
