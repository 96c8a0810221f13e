"""The Gibbs distribution over a class of models: weight times exp(-epsilon cost), and exact draws from it.

Shared by trees and rule lists. A choice (a split, a rule, a leaf, its value) has a cost, the least cost of the models
that it leaves, and a weight, their sum relative to exp(-epsilon cost).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glassine.privacy.randomness import Randomness
from glassine.records.arrays import Array, Ints
from glassine.sealed import draws
from glassine.sealed.losses import LeafCosts
from glassine.sealed.weighting import Weighting

LOG_BITS = 48
"""Logarithms of weights are multiples of 2^-48: eight bits finer, so that their rounding is below that of epsilon."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of several."""

    number: int  # What is chosen
    cost: float  # Least cost of the models that remain
    scaled: int  # Logarithm of the choice's weight, relative to a constant of the list, in units of 2^-48


def choices(numbers: Sequence[int], costs: Array, weights: Array, weighting: Weighting) -> list[Choice]:
    """Return the choices of finite cost, with log-weights as whole numbers."""
    # The product of epsilon and a difference of costs is exact; the logarithm of the weight is rounded to 2^-48.
    options = zip(numbers, costs.tolist(), weights.tolist(), strict=True)
    finite = [option for option in options if option[1] < math.inf]
    if weighting.epsilon is None:
        return [Choice(number, cost, 0) for number, cost, _ in finite]
    # Costs are whole numbers: only the logarithm of the weight is rounded.
    least_cost = min(cost for _, cost, _ in finite)
    step = int(weighting.epsilon * 2**LOG_BITS)
    return [
        Choice(number, cost, round(math.log(weight) * 2**LOG_BITS) - step * int(cost - least_cost))
        for number, cost, weight in finite
    ]


def values(counts: Ints, loss: LeafCosts, weighting: Weighting) -> list[Choice]:
    """Return the values that a leaf or rule with these class counts, shape (c,), can have."""
    costs = (loss.costs @ counts).astype(float)
    return choices(range(loss.n_values), costs, np.ones(loss.n_values), weighting)


def log_total(options: Sequence[Choice], weighting: Weighting) -> float:
    """Return the natural logarithm of the sum of exp(-epsilon cost) times weight over the choices."""
    epsilon = float(weighting.epsilon) if weighting.epsilon is not None else math.inf
    logs = [math.ldexp(option.scaled, -LOG_BITS) for option in options]
    most = max(logs)
    total = math.log(math.fsum(math.exp(log - most) for log in logs)) + most
    return total - epsilon * min(option.cost for option in options)


def draw(options: Sequence[Choice], randomness: Randomness) -> int:
    """Draw a choice with probability exactly proportional to exp(scaled / 2^48)."""
    return options[draws.select([option.scaled for option in options], 2**LOG_BITS, randomness)].number


def least(options: Sequence[Choice]) -> int:
    """Return the first choice of least cost."""
    return min(options, key=lambda option: option.cost).number
