"""Shape functions as findings show them: rounded, with small and many bins joined."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from glassine.attacks.bins import TermBins
from glassine.findings import AxisFinding, ShapeFinding
from glassine.models import NumericBins
from glassine.models.bins import Bins
from glassine.models.shapes import ShapeFunction
from glassine.suppression import Suppression

__all__ = ["show_shape"]

MOST_BINS = {1: 64, 2: 14}
"""Intervals or groups of an axis that are drawn, for a term of one attribute and of two."""
MOST_OUTPUTS = 3
MOST_LETTERS = 40
DIGITS = 4

Array = npt.NDArray[np.float64]
Joined = list[list[int]]
"""For each bin that is drawn, the bins that it joins."""


def show_shape(
    shape: ShapeFunction, sizes: TermBins, shown: Suppression, classes: Sequence[str] | None
) -> ShapeFinding:
    """Return a shape function as it may be drawn.

    Neighbouring intervals are joined until each has as many records as may be shown, where sizes are known, and until
    there are few enough to draw. The names of categories of fewer records are hidden.

    Parameters
    ----------
    shape : ShapeFunction
        The shape function.
    sizes : TermBins
        How many records its bins hold, if that is known.
    shown : Suppression
        What may be shown of counts.
    classes : sequence of str, optional
        Names of the outputs, where there are several.
    """
    term = shape.term
    held = None if sizes.sizes is None else np.array(sizes.sizes).reshape(term.shape)
    axes, joins = [], []
    for axis, bins in enumerate(term.bins):
        margin = None if held is None else held.sum(axis=tuple(i for i in range(held.ndim) if i != axis))
        finding, joined = _axis(bins, margin, shown, MOST_BINS[len(term.bins)])
        axes.append(finding)
        joins.append(joined)

    def drawn(array: Array | None) -> tuple[tuple[float, ...], ...] | None:
        if array is None:
            return None
        for axis, joined in enumerate(joins):
            means = [np.take(array, group, axis=axis).mean(axis=axis) for group in joined]
            array = np.stack(means, axis=axis)
        outputs = range(min(term.n_outputs, MOST_OUTPUTS))
        return tuple(tuple(_rounded(value) for value in array[..., o].reshape(-1).tolist()) for o in outputs)

    names = [""] if term.n_outputs == 1 or classes is None else list(classes[:MOST_OUTPUTS])
    return ShapeFinding(
        axes=tuple(axes),
        outputs=tuple(names),
        scores=drawn(term.scores) or (),
        low=drawn(shape.low),
        high=drawn(shape.high),
    )


def _axis(bins: Bins, sizes: npt.NDArray[np.int_] | None, shown: Suppression, most: int) -> tuple[AxisFinding, Joined]:
    """Return an axis as it is drawn; its last bin, for missing values, is never joined."""

    def known(group: list[int]) -> bool:
        return sizes is None or int(sizes[group].sum()) >= shown.below

    if isinstance(bins, NumericBins):
        joined = _intervals(bins, known, most)
        cuts = tuple(_rounded(bins.cuts[group[-1]]) for group in joined[:-1])
        kept = [i for i, (low, high) in enumerate(pairwise((-math.inf, *cuts))) if low < high]
        edges = [*kept, len(cuts)]
        merged = [[b for group in joined[start + 1 : end + 1] for b in group] for start, end in pairwise([-1, *edges])]
        finding = AxisFinding(attribute=bins.attribute, cuts=tuple(cuts[i] for i in kept), groups=None)
        return finding, [*merged, [bins.n_bins - 1]]
    alone = [[i] for i in range(min(len(bins.groups), most))]
    rest = list(range(len(alone), len(bins.groups)))
    if rest:
        rest = [*alone.pop(), *rest]
    names = []
    for number, group in enumerate(alone, start=1):
        label = bins.labels[group[0]]
        short = label if len(label) <= MOST_LETTERS else f"{label[:MOST_LETTERS]}..."
        names.append(short if known(group) else f"hidden {number}")
    if rest:
        alone.append(rest)
        names.append(f"{len(rest)} other groups")
    return AxisFinding(attribute=bins.attribute, cuts=None, groups=tuple(names)), [*alone, [bins.n_bins - 1]]


def _intervals(bins: NumericBins, known: Callable[[list[int]], bool], most: int) -> Joined:
    """Return neighbouring intervals joined until each may be shown; what is left over joins the last one."""
    each = math.ceil((bins.n_bins - 1) / most)
    joined: Joined = []
    group: list[int] = []
    for i in range(bins.n_bins - 1):
        group.append(i)
        if len(group) >= each and known(group):
            joined.append(group)
            group = []
    if group and joined:
        joined[-1] += group
    return joined or [group]


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
