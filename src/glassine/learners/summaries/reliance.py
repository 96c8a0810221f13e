"""How far near-optimal trees rely on an attribute: fronts of errors against gains, over all trees at once.

A tree's errors once an attribute is drawn independently of all else add up over its leaves, as its errors do.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from glassine.compiling import compiled
from glassine.learners.summaries.pair_regions import masks_of
from glassine.learners.summaries.tree_sets import TreeSet
from glassine.records.arrays import AnyArray, Array, Ints


class RelianceSearch:
    """The least and the greatest reliance of the trees of a set, by attribute."""

    def __init__(self, trees: TreeSet) -> None:
        self._trees = trees

    def of(self, attribute: int) -> tuple[float, float]:
        """Return the least and the greatest reliance of a near-optimal tree on an attribute, in the unit of its errors.

        Reliance is the errors once the attribute is drawn from its own distribution, independently of class
        and other attributes, less the tree's errors (Fisher, Rudin and Dominici 2019).
        """
        if not (self._trees.splits.attributes == attribute).any():
            return 0.0, 0.0
        leaf, stump = self._gains(attribute)
        return -self._greatest(-leaf, -stump), self._greatest(leaf, stump)

    def _gains(self, attribute: int) -> tuple[Array, Array]:
        """Return by how much errors grow once an attribute is drawn again: of leaves, and of splits of last regions."""
        trees = self._trees
        regions, last, splits = trees.regions, trees.last, trees.splits
        whole, inside, loss = trees.counts.whole, trees.counts.inside, trees.loss.losses
        none = 2 * splits.number
        mask, margin = masks_of(splits, attribute), trees.counts.margins[attribute]
        own = np.flatnonzero(splits.attributes == attribute)
        # The region without its conditions on the attribute, and the share of records that meet these.
        signed = regions.pairs
        on_it = np.append(np.repeat(splits.attributes == attribute, 2), [False])
        stripped = regions.at[tuple(np.where(on_it[signed], none, signed).T)]
        meets = mask[signed[:, 0]] * mask[signed[:, 1]]
        share = meets @ margin
        leaf = share * loss(whole[stripped], trees.labels) - trees.wrong
        stump = np.zeros((last.stop - last.start, splits.number))
        # Splits on another attribute move only where the region has a condition on this one.
        rows = last.start + np.flatnonzero(on_it[signed[last]].any(axis=1))
        bases = stripped[rows]
        for side in (0, 1):
            part = inside[bases] if side == 0 else whole[bases][:, None] - inside[bases]
            errors = share[rows][:, None] * loss(part, trees.side_labels[rows, :, side])
            stump[rows - last.start] += errors - trees.side_wrong[rows, :, side]
        # Splits on this attribute leave the region's other conditions alone.
        stump[:, own] = 0.0
        for side in (0, 1):
            shares = (meets[last] * margin) @ mask[2 * own + side].T
            part = np.broadcast_to(whole[stripped[last]][:, None], (len(stump), len(own), whole.shape[1]))
            errors = shares * loss(part, trees.side_labels[last, own, side])
            stump[:, own] += errors - trees.side_wrong[last, own, side]
        return leaf, stump

    def _greatest(self, leaf: Array, stump: Array) -> float:
        """Return the greatest sum of gains over the leaves of a near-optimal tree; fronts of errors against gains."""
        trees = self._trees
        last, best = trees.last, trees.lowest_below
        costs, order = self._sorted
        gains = np.take_along_axis(np.concatenate([leaf[last, None], stump], axis=1), order, axis=1)
        fronts = Fronts(*_last_fronts(costs, gains, best[last] + trees.reach[last]))
        for first in reversed(range(trees.depth - 1)):
            # Regions of the level above: their fronts join those of both sides of each split.
            level = range(trees.regions.starts[first], trees.regions.starts[first + 1])
            below = trees.regions.starts[first + 1]
            parts: list[tuple[Array, Array]] = []
            for region in level:
                true, false = trees.sides(region)
                limit = float(best[region] + trees.reach[region])
                usable = np.flatnonzero(trees.costs(best, region) <= limit)
                leaf_of = float(trees.wrong[region]), float(leaf[region])
                sides = true[usable] - below, false[usable] - below
                near, gain = _near_front(leaf_of, sides, fronts, float(best[region]), limit)
                order = np.argsort(near, kind="stable")
                near, gain = near[order], gain[order]
                on_it = np.diff(np.maximum.accumulate(gain), prepend=-np.inf) > 0
                parts.append((near[on_it], gain[on_it]))
            starts = np.cumsum([0, *(len(own) for own, _ in parts)])
            fronts = Fronts(starts, *(np.concatenate([part[i] for part in parts]) for i in (0, 1)))
        return float(fronts.gains[-1])

    @cached_property
    def _sorted(self) -> tuple[Array, Ints]:
        """Leaf and splits of each of the last regions by their errors, and which they are."""
        trees = self._trees
        costs = np.concatenate([trees.wrong[trees.last, None], trees.stumps], axis=1)
        order = np.argsort(costs, axis=1, kind="stable")
        return np.take_along_axis(costs, order, axis=1), order


class Fronts(NamedTuple):
    """Of each region the subtrees of which none has both fewer errors and a greater gain, by ascending errors.

    Fronts are exact: what they leave out is in no tree of the greatest gain.
    """

    starts: AnyArray  # Where the front of each region starts, shape (regions + 1,)
    # errors, gains: of the subtrees, region by region.
    errors: AnyArray
    gains: AnyArray


@compiled
def _last_fronts(costs: AnyArray, gains: AnyArray, limits: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return the fronts of rows whose costs ascend: their starts, errors and gains."""
    n_rows, width = costs.shape
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    errors, values = np.empty(costs.size), np.empty(costs.size)
    end = 0
    for row in range(n_rows):
        top = -np.inf
        for place in range(width):
            if not costs[row, place] <= limits[row]:
                break
            if gains[row, place] > top:
                top = gains[row, place]
                errors[end], values[end] = costs[row, place], top
                end += 1
        starts[row + 1] = end
    return starts, errors[:end].copy(), values[:end].copy()


@compiled
def _near_front(
    leaf: tuple[float, float], sides: tuple[AnyArray, AnyArray], fronts: Fronts, lowest: float, limit: float
) -> tuple[AnyArray, AnyArray]:
    """Return what may be on the front of a region: as a leaf, or divided into two regions with fronts of their own."""
    (true, false), (starts, errors, values) = sides, fronts
    if not lowest <= limit:
        return np.empty(0), np.empty(0)
    # The greatest gain in each interval of errors: what does not exceed that of the intervals before is on no front.
    n_intervals = 512
    width = max((limit - lowest) / n_intervals, 1e-12)
    tops = np.full(n_intervals + 1, -np.inf)
    n_kept = 0
    kept_errors, kept_gains = np.empty(0), np.empty(0)
    for sweep in range(3):
        # Sums are looked at three times, to find the tops, to count what is kept, and to keep it.
        if sweep == 1:
            before = -np.inf
            for k in range(n_intervals + 1):
                top = tops[k]
                tops[k] = before
                before = max(before, top)
        elif sweep == 2:
            kept_errors, kept_gains = np.empty(n_kept), np.empty(n_kept)
            n_kept = 0
        for j in range(-1, len(true)):
            first = starts[true[j]] if j >= 0 else 0
            for a in range(first, starts[true[j] + 1] if j >= 0 else 1):
                second = starts[false[j]] if j >= 0 else 0
                for b in range(second, starts[false[j] + 1] if j >= 0 else 1):
                    cost = errors[a] + errors[b] if j >= 0 else leaf[0]
                    if not cost <= limit:
                        break
                    gain = values[a] + values[b] if j >= 0 else leaf[1]
                    k = min(max(int((cost - lowest) / width), 0), n_intervals)
                    if sweep == 0:
                        tops[k] = max(tops[k], gain)
                    elif gain > tops[k]:
                        if sweep == 2:
                            kept_errors[n_kept], kept_gains[n_kept] = cost, gain
                        n_kept += 1
    return kept_errors, kept_gains
