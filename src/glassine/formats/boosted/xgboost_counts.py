"""How many records of each class the leaves of an XGBoost model hold: what its published figures determine."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# In the first tree of a logistic model every record has the second derivative p (1 - p). A node of n records, k of
# them of the second class, has the sum of gradients G = n p - k and the weight -G / (H + lambda); the weight of a
# leaf is multiplied by the learning rate. Neither the rate nor lambda is in the file, but gradients add up over the
# branches of each split, and its gain is the sum of G^2 / (H + lambda) over its branches less that of the split
# itself: two equations for each split. Where a penalty or a bound on the steps was in force besides, they do not
# hold.

USUAL = (0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
WIDEST = 1e4
NEAR = 1e-4
WHOLE_COUNT = 1e-3
NONE = 1e-5


def binary_counts(
    chance: float,
    totals: Sequence[int],
    hessians: Sequence[float],
    weights: Sequence[float],
    gains: Sequence[float],
    children: Sequence[tuple[int, ...]],
) -> list[tuple[int, int]] | None:
    """Return the class counts of every node; None where the figures do not determine whole numbers that agree."""
    reached, stack = [], [0]
    while stack:
        reached.append(stack.pop())
        stack += children[reached[-1]]
    # An L1 penalty brings every gradient closer to 0 by as much, which shows only where three are none of them 0.
    visible = any(min(abs(weights[i]) for i in (node, *children[node])) > NONE for node in reached if children[node])
    if not visible or not 0 < chance < 1:
        return None
    system = _System(reached, hessians, weights, gains, children)
    sizes = np.array(totals)[reached]
    consistent: list[tuple[int, int]] | None = None
    for penalty in dict.fromkeys((*USUAL, *system.penalties())):
        gradients = system.gradients(penalty)
        if gradients is None:
            continue
        exact = sizes * chance - gradients
        ones = np.rint(exact)
        near = np.abs(exact - ones) <= np.minimum(0.1, WHOLE_COUNT + 2e-6 * sizes)
        if not (near & (ones >= 0) & (ones <= sizes)).all():
            continue
        counts = [(0, 0)] * len(totals)
        for node, k in zip(reached, ones.astype(int).tolist(), strict=True):
            counts[node] = (totals[node] - k, k)
        if consistent is not None and counts != consistent:
            return None
        consistent = counts
    return consistent


class _System:
    """The equations of a tree: arrays over the nodes that the root leads to, the root first."""

    def __init__(
        self,
        reached: Sequence[int],
        hessians: Sequence[float],
        weights: Sequence[float],
        gains: Sequence[float],
        children: Sequence[tuple[int, ...]],
    ) -> None:
        place = {node: i for i, node in enumerate(reached)}
        self.hessians, self.weights, self.gains = (np.array(all_)[reached] for all_ in (hessians, weights, gains))
        self.leaf = np.array([not children[node] for node in reached])
        # The places of the two children of each split, shape (splits, 2).
        self.below = np.array([[place[child] for child in children[node]] for node in reached if children[node]])

    def rate(self, penalty: float) -> float | None:
        """Return the learning rate under which the gains add up to those of the leaves."""
        own = self.weights**2 * (self.hessians + penalty)
        top, below = float(own[self.leaf].sum()), float(self.gains[~self.leaf].sum() + own[0])
        rate = math.sqrt(top / below) if below > 0 and top > 0 else 0.0
        return rate if 0 < rate <= 10 else None

    def _excess(self, penalty: float) -> float:
        """Return by how much the gradient of the root exceeds the sum of those of the leaves, up to a factor."""
        rate = self.rate(penalty)
        own = self.weights * (self.hessians + penalty)
        return math.nan if rate is None else float(own[0] * rate - own[self.leaf].sum())

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

    def gradients(self, penalty: float) -> npt.NDArray[np.float64] | None:
        """Return the sum of gradients of each node; None where an equation does not hold."""
        rate, curves = self.rate(penalty), self.hessians + penalty
        if rate is None or (curves <= 0).any():
            return None
        with np.errstate(all="ignore"):  # what is not finite fits no equation
            out = -self.weights * curves / np.where(self.leaf, rate, 1.0)
            part = out**2 / curves
            own, below, split = out[~self.leaf], out[self.below], part[~self.leaf]
            fits = np.abs(own - below.sum(axis=1)) <= NEAR * (np.abs(below).sum(axis=1) + np.abs(own) + 1)
            gains = part[self.below].sum(axis=1)
            error = np.abs(gains - split - self.gains[~self.leaf])
            fits &= error <= 10 * NEAR * (gains + split + 0.1)
        return out if fits.all() else None
