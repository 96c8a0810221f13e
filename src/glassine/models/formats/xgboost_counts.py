"""How many records of each class a leaf of XGBoost holds: what its published figures determine.

In the first tree of a logistic model every record has the second derivative p (1 - p). A node of n records, k of them
of the second class, has the sum of gradients G = n p - k and the weight -G / (H + lambda); the weight of a leaf is
multiplied by the learning rate. Neither the rate nor lambda is in the file, but gradients add up over the branches
of each split, and its gain is the sum of G^2 / (H + lambda) over its branches less that of the split itself: two
equations for each split. Where a penalty or a bound on the steps was in force besides, they do not hold.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

__all__ = ["binary_counts"]

USUAL = (0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
WIDEST = 1e4
NEAR = 1e-4
WHOLE = 1e-3
NONE = 1e-5


def binary_counts(
    chance: float,
    totals: Sequence[int],
    hessians: Sequence[float],
    weights: Sequence[float],
    gains: Sequence[float],
    children: Sequence[tuple[int, ...]],
) -> list[tuple[int, int]] | None:
    """Return the class counts of every node; None where the figures do not determine whole numbers that agree.

    Parameters
    ----------
    chance : float
        The probability of the second class before the tree.
    totals, hessians, weights, gains : sequence of numbers
        Of each node the number of records, sum of second derivatives, weight and gain.
    children : sequence of tuple of int
        Children of each node.
    """
    reached, stack = [], [0]
    while stack:
        reached.append(stack.pop())
        stack += children[reached[-1]]
    # An L1 penalty brings every gradient closer to 0 by as much, which shows only where three are none of them 0.
    shown = any(min(abs(weights[i]) for i in (node, *children[node])) > NONE for node in reached if children[node])
    if not shown or not 0 < chance < 1:
        return None
    system = _System(reached, hessians, weights, gains, children)
    found: list[tuple[int, int]] | None = None
    for penalty in dict.fromkeys((*USUAL, *system.penalties())):
        gradients = system.gradients(penalty)
        counts = None if gradients is None else _counts(chance, totals, gradients)
        if counts is not None:
            if found is not None and counts != found:
                return None
            found = counts
    return found


def _counts(chance: float, totals: Sequence[int], gradients: dict[int, float]) -> list[tuple[int, int]] | None:
    out = [(0, 0)] * len(totals)
    for node, gradient in gradients.items():
        n = totals[node]
        ones = n * chance - gradient
        if not abs(ones - round(ones)) <= min(0.1, WHOLE + 2e-6 * n) or not 0 <= round(ones) <= n:
            return None
        out[node] = (n - round(ones), round(ones))
    return out


class _System:
    """The equations of a tree."""

    def __init__(
        self,
        reached: Sequence[int],
        hessians: Sequence[float],
        weights: Sequence[float],
        gains: Sequence[float],
        children: Sequence[tuple[int, ...]],
    ) -> None:
        self.reached, self.hessians, self.weights = reached, hessians, weights
        self.gains, self.children = gains, children
        self.leaves = [i for i in reached if not children[i]]
        self.splits = [i for i in reached if children[i]]
        self.leaf_weights = np.array([weights[i] for i in self.leaves], dtype=float)
        self.leaf_hessians = np.array([hessians[i] for i in self.leaves], dtype=float)
        self.gain = sum(gains[i] for i in self.splits)

    def rate(self, penalty: float) -> float | None:
        """Return the learning rate under which the gains add up to those of the leaves."""
        top = float(np.sum(self.leaf_weights**2 * (self.leaf_hessians + penalty)))
        below = self.gain + self.weights[0] ** 2 * (self.hessians[0] + penalty)
        rate = math.sqrt(top / below) if below > 0 and top > 0 else 0.0
        return rate if 0 < rate <= 10 else None

    def _excess(self, penalty: float) -> float:
        """Return by how much the gradient of the root exceeds the sum of those of the leaves, up to a factor."""
        rate = self.rate(penalty)
        if rate is None:
            return math.nan
        whole = self.weights[0] * (self.hessians[0] + penalty) * rate
        return whole - float(np.sum(self.leaf_weights * (self.leaf_hessians + penalty)))

    def penalties(self) -> list[float]:
        """Return values of lambda under which gradients add up, rounded as people choose them."""
        steps = [0.0, *(10 ** (k / 10) for k in range(-30, 41))]
        signs = [(step, self._excess(step)) for step in steps]
        out: list[float] = []
        for (low, before), (high, after) in itertools.pairwise(signs):
            if before * after >= 0 or not math.isfinite(before * after):
                continue
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if self._excess(middle) * before > 0 else (low, middle)
            out += [float(f"{low:.{digits}g}") for digits in (1, 2, 3)]
        return [value for value in out if value <= WIDEST]

    def gradients(self, penalty: float) -> dict[int, float] | None:
        """Return the sum of gradients of each node; None where an equation does not hold."""
        rate = self.rate(penalty)
        if rate is None or any(self.hessians[i] + penalty <= 0 for i in self.reached):
            return None
        out = {
            i: -self.weights[i] * (self.hessians[i] + penalty) / (1 if self.children[i] else rate) for i in self.reached
        }
        part = {i: out[i] ** 2 / (self.hessians[i] + penalty) for i in self.reached}
        for i in self.splits:
            below = self.children[i]
            size = sum(abs(out[child]) for child in below) + abs(out[i])
            if not abs(out[i] - sum(out[child] for child in below)) <= NEAR * (size + 1):
                return None
            gain = sum(part[child] for child in below) - part[i]
            if not abs(gain - self.gains[i]) <= 10 * NEAR * (sum(part[child] for child in below) + part[i] + 0.1):
                return None
        return out
