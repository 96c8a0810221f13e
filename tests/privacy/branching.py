"""A stream that is explored instead of drawn from: the exact distribution of whatever reads it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import TypeVar

from glassine.privacy.randomness import Randomness

T = TypeVar("T", bound=Hashable)


class _Open(Exception):
    """A choice that is not made yet, with the probability of each answer."""

    def __init__(self, shares: list[float]) -> None:
        self.shares = shares


class Branching(Randomness):
    """Answers from a list; the first question beyond it is raised."""

    def __init__(self, answers: list[int], most_geometric: int) -> None:
        super().__init__()
        self.answers = answers
        self.asked = 0
        self.most_geometric = most_geometric

    def _ask(self, shares: list[float]) -> int:
        if self.asked == len(self.answers):
            raise _Open(shares)
        self.asked += 1
        return self.answers[self.asked - 1]

    def below(self, limit: int) -> int:
        return self._ask([1 / limit] * limit)

    def bits(self, k: int) -> int:
        return self.below(2**k)

    def bernoulli_exp_ratio(self, numerator: int, denominator: int) -> bool:
        share = math.exp(-numerator / denominator)
        return self._ask([1 - share, share]) == 1

    def geometric(self, numerator: int, denominator: int) -> int:
        ratio = math.exp(-numerator / denominator)
        return self._ask([(1 - ratio) * ratio**k for k in range(self.most_geometric)])


def explore(
    function: Callable[[Randomness], T], *, least: float = 1e-9, most_geometric: int = 60
) -> tuple[dict[T, float], float]:
    """Return the probability of each result, and the mass of the branches that were given up at ``least`` or below."""
    found: dict[T, float] = {}
    left_out = 0.0
    pending: list[tuple[list[int], float]] = [([], 1.0)]
    while pending:
        answers, mass = pending.pop()
        try:
            result = function(Branching(answers, most_geometric))
        except _Open as question:
            left_out += mass * max(0.0, 1 - math.fsum(question.shares))
            for answer, share in enumerate(question.shares):
                if mass * share > least:
                    pending.append(([*answers, answer], mass * share))
                else:
                    left_out += mass * share
        else:
            found[result] = found.get(result, 0.0) + mass
    return found, left_out
