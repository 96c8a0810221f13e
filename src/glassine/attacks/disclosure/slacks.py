"""The inner loop over candidate splits: the least slack of each family of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure.adversary import Adversary
from glassine.attacks.disclosure.leaves import LeafKnowledge, Rows
from glassine.attacks.disclosure.noise import CountNoise, expected_counts
from glassine.attacks.disclosure.people import People
from glassine.compiling import compiled
from glassine.errors import InvalidDataError, UndefinedMeasureError, parameter
from glassine.learners.greedy.impurity import Criterion
from glassine.models import DecisionTree

__all__ = [
    "MULTIWAY",
    "ONE_VALUE",
    "THRESHOLD",
    "BoundedLeaves",
    "ExpectedLeaves",
    "assumed_noise",
    "even_counts",
    "read_noisy",
    "worst_slacks",
]

# What noisy or rounded class counts tell of the leaves.


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExpectedLeaves(LeafKnowledge):
    """Leaves of which the class counts are means over what noise leaves possible: no whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundedLeaves(LeafKnowledge):
    """What the leaves tell by rounded class counts.

    Attributes
    ----------
    low, high : ndarray, shape (l, c)
        Bounds of the class counts, both included.
    """

    low: Floats
    high: Floats

    def centre(self) -> Floats:
        """Return class counts in the middle of their bounds, all shifted alike until they add up, shape (l, c)."""
        out = np.empty_like(self.low)
        for i, (low, high, n) in enumerate(zip(self.low, self.high, self.sizes, strict=True)):
            middle = (low + high) / 2
            corners = np.unique(np.concatenate([low - middle, high - middle]))
            sums = np.clip(corners[:, None] + middle, low, high).sum(axis=1)
            out[i] = np.clip(float(np.interp(n, sums, corners)) + middle, low, high)
        return out

    def class_bounds(self) -> tuple[Floats, Floats]:
        """Return the least and the largest number of people of each class in each leaf, shape (l, c) each."""
        return self.low, self.high

    def shares(self) -> Floats:
        """Return the estimate of the reader who uses the leaves alone, shape (l, c): as even as the bounds allow."""
        parts = zip(self.low, self.high, self.sizes.tolist(), strict=True)
        return np.array([even_counts(low, high, int(n)) / n for low, high, n in parts])

    def rows(self) -> Rows:
        """Return the rows of all leaves: a lower and an upper bound of each class, an equality where they meet."""
        n_leaves, c = self.low.shape
        eye = np.repeat(np.eye(c)[None], n_leaves, axis=0)
        # Whoever has all other counts has this one too.
        low = np.maximum(self.low, self.sizes[:, None] - (self.high.sum(axis=1, keepdims=True) - self.high))
        high = np.minimum(self.high, self.sizes[:, None] - (self.low.sum(axis=1, keepdims=True) - self.low))
        equal = low >= high
        exists = np.hstack([(low > 0) | equal, ~equal & (high < self.sizes[:, None])])
        exists[:, :c] &= high > 0
        all_equal = equal.all(axis=1)
        exists[np.flatnonzero(all_equal), high[all_equal].argmax(axis=1)] = False
        bounded = exists.copy()
        bounded[:, :c] &= ~equal
        return Rows(
            forms=np.concatenate([eye, -eye], axis=1),
            known=np.hstack([low, -high]),
            exists=exists,
            bounded=bounded,
            possible=high > 0,
        )


def assumed_noise(model: DecisionTree, adversary: Adversary) -> CountNoise | None:
    """Return the noise of a tree's counts as far as it is known: stated by the adversary, or claimed with the tree."""
    if model.counts_are_exact or adversary.leaves != "leaf_counts":
        return None
    if adversary.noise is not None:
        return adversary.noise
    scale = None if model.guarantee is None else model.guarantee.count_scale
    return None if scale is None else CountNoise("geometric", scale)


def read_noisy(model: DecisionTree, people: People, adversary: Adversary, noise: CountNoise) -> LeafKnowledge:
    """Return what a reader knows of leaves with noisy or rounded class counts; the sizes follow from the people.

    Raises
    ------
    UndefinedMeasureError
        If not all leaves publish class counts, or unbounded noise is combined with internal nodes.
    InvalidDataError
        If rounded counts cannot add up to the people of a leaf.
    """
    evidence = [model.nodes[node].evidence for node in people.leaf_nodes]
    told = [entry.counts for entry in evidence]
    if any(counts is None for counts in told):
        raise UndefinedMeasureError(
            "the tree does not publish the class counts of all its leaves.", remedy='Take Adversary("labels_only").'
        )
    counts = np.array(told, dtype=np.int64)
    sizes = people.leaf_sizes
    common = {"told": adversary.leaves, "sizes": sizes.astype(np.float64), "n_classes": counts.shape[1]}
    if noise.kind != "rounded":
        if adversary.internal_nodes:
            raise UndefinedMeasureError(
                "internal nodes are not combined with noisy counts: the impurity of a chosen split has no bounds then.",
                remedy=f"Take {parameter('internal_nodes', False)}.",
            )
        means = np.array([expected_counts(own, int(n), noise) for own, n in zip(counts, sizes, strict=True)])
        return ExpectedLeaves(**common, counts=means, labels=None, correct=None)
    bounds = noise.bounds(counts)
    low, high = bounds[..., 0], np.minimum(bounds[..., 1], sizes[:, None])
    wrong = np.flatnonzero((low.sum(axis=1) > sizes) | (high.sum(axis=1) < sizes) | (low > high).any(axis=1))
    if len(wrong):
        at = int(wrong[0])
        raise InvalidDataError(
            f"the counts {counts[at].tolist()} of the leaf at node {people.leaf_nodes[at]}, rounded to multiples of "
            f"{noise.scale:.0f}, cannot be those of the {sizes[at]} people who reach it.",
            remedy="Give the training records, or the step that was used.",
        )
    return BoundedLeaves(**common, counts=None, labels=None, correct=None, low=low, high=high)


def even_counts(low: Floats, high: Floats, n: int) -> Floats:
    """Return the class counts of most entropy within bounds: ``clip(level, low, high)`` where they add up to n.

    Parameters
    ----------
    low, high : ndarray, shape (c,)
        Bounds; n lies between their sums.
    n : int
        Number of people.
    """
    corners = np.unique(np.concatenate([low, high]))
    sums = np.clip(corners[:, None], low, high).sum(axis=1)
    out = np.clip(float(np.interp(n, sums, corners)), low, high)
    return np.asarray(out * n / out.sum() if out.any() else out)


MULTIWAY, THRESHOLD, ONE_VALUE = 0, 1, 2
GINI, ENTROPY, MISCLASSIFICATION = 0, 1, 2
CODES: dict[Criterion, int] = {
    "gini": GINI,
    "entropy": ENTROPY,
    "gain_ratio": ENTROPY,
    "misclassification": MISCLASSIFICATION,
}


class Layout(Protocol):
    """The flat arrays of candidates."""

    @property
    def order(self) -> npt.NDArray[np.int32]: ...
    @property
    def groups(self) -> npt.NDArray[np.int64]: ...
    @property
    def families(self) -> npt.NDArray[np.int64]: ...
    @property
    def kinds(self) -> npt.NDArray[np.int64]: ...
    @property
    def splits(self) -> npt.NDArray[np.int64]: ...


@compiled
def _impurity(m: Any, n: float, criterion: int) -> float:
    if n <= 0:
        return 0.0
    if criterion == 0:
        squares = 0.0
        for c in range(len(m)):
            squares += m[c] * m[c]
        return n - squares / n
    if criterion == 2:
        largest = 0.0
        for c in range(len(m)):
            largest = max(largest, m[c])
        return n - largest
    total = 0.0
    for c in range(len(m)):
        if m[c] > 0:
            total -= m[c] * math.log(m[c] / n)
    return total


@compiled
def _log_term(part: float, whole: float) -> float:
    return -part / whole * math.log(part / whole) if part > 0 else 0.0


@compiled
def _scan(
    x: Any, order: Any, groups: Any, families: Any, sizes: Any, kinds: Any, splits: Any, chosen: Any, whole: Any,
    divisors: Any, criterion: int, divides: bool, allowed: Any, slack: Any, at: Any,
) -> None:  # fmt: skip
    n_classes = x.shape[1]
    widest = 1
    for f in range(len(kinds)):
        widest = max(widest, families[f + 1] - families[f])
    sums = np.empty((widest, n_classes))
    total, one, other = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for f in range(len(kinds)):
        first, last, v = families[f], families[f + 1], splits[f]
        n = 0.0
        total[:] = 0.0
        for g in range(first, last):
            row = sums[g - first]
            row[:] = 0.0
            for t in range(groups[g], groups[g + 1]):
                q = order[t]
                for c in range(n_classes):
                    row[c] += x[q, c]
            n += sizes[g]
            for c in range(n_classes):
                total[c] += row[c]
        target = chosen[v]
        slack[f], at[f] = np.inf, -1
        if kinds[f] == 0:
            left, information = 0.0, 0.0
            for g in range(first, last):
                left += _impurity(sums[g - first], sizes[g], criterion)
                information += _log_term(sizes[g], n)
            slack[f], at[f] = left - target, 0
            if divides:
                slack[f] = left - whole[v] + information / divisors[v] * (whole[v] - target)
            continue
        one[:] = 0.0
        part = 0.0
        for g in range(first, last - 1 if kinds[f] == 1 else last):
            row = sums[g - first]
            if kinds[f] == 2:
                one[:] = 0.0
                part = 0.0
            part += sizes[g]
            for c in range(n_classes):
                one[c] += row[c]
                other[c] = max(total[c] - one[c], 0.0)
            if not allowed[g]:
                continue
            left = _impurity(one, part, criterion) + _impurity(other, n - part, criterion)
            value = left - target
            if divides:
                information = _log_term(part, n) + _log_term(n - part, n)
                value = left - whole[v] + information / divisors[v] * (whole[v] - target)
            if value < slack[f]:
                slack[f], at[f] = value, g - first


def worst_slacks(
    x: npt.NDArray[np.float64],
    layout: Layout,
    chosen: npt.NDArray[np.float64],
    whole: npt.NDArray[np.float64],
    divisors: npt.NDArray[np.float64],
    criterion: Criterion,
    allowed: npt.NDArray[np.bool_],
    sizes: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the least slack of each family of candidates, and at which of them it is.

    Parameters
    ----------
    x : ndarray, shape (q, c)
        People of each quasi-identifier and class.
    layout : Families
        The candidates.
    chosen, whole, divisors : ndarray, shape (v,)
        E(T), H and the split information of each split.
    criterion : str
        The measure.
    allowed : ndarray of bool, shape (g,)
        Whether the candidate at each group takes part; of families of thresholds and single values.
    sizes : ndarray, shape (g,)
        People of each group: those of the table.
    """
    slack = np.empty(len(layout.kinds))
    at = np.empty(len(layout.kinds), dtype=np.int64)
    if len(layout.kinds):
        _scan(
            x, layout.order, layout.groups, layout.families, sizes, layout.kinds, layout.splits, chosen, whole,
            divisors, CODES[criterion], criterion == "gain_ratio", allowed, slack, at,
        )  # fmt: skip
    return slack, at
