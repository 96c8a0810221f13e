"""Magnitudes behind published means: how much single contributions make up, and how closely a value is bounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.records.arrays import Array, Indices

CLOSE = 0.10
"""Relative error within which an inferred value counts as close: the p of the p % rule."""
MOST = 0.90
"""Share of people whom the range around a prediction covers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargestContributions:
    """What the largest contributions to one published number make up.

    Attributes
    ----------
    one, two : float
        Share of the total, in [0, 1], that the largest makes up, and that the two largest do: the (1, k) and the (2, k)
        rule limit it.
    rest : float
        The other contributions over the largest: by so much the second contributor, who knows the total, can miss the
        largest. The p % rule asks for at least p.
    """

    one: float
    two: float
    rest: float

    @classmethod
    def of(cls, amounts: Array) -> LargestContributions | None:
        """Return what the largest of some amounts of at least 0 make up, shape (n,); None where all are 0."""
        each = np.sort(amounts)[::-1]
        total = float(each.sum())
        if not total > 0:
            return None
        first, pair = float(each[0]), float(each[:2].sum())
        return cls(one=first / total, two=pair / total, rest=max(0.0, total - pair) / first)


ALL = LargestContributions(one=1.0, two=1.0, rest=0.0)
"""Of a published extreme: it is the value of one."""
NONE = LargestContributions(one=0.0, two=0.0, rest=math.inf)
"""Of nothing, or of too many values for one to count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributionBounds:
    """What the largest contributions to each published number make up, where it can be known.

    Attributes
    ----------
    least : tuple of LargestContributions
        What is certain.
    most : tuple of LargestContributions or None
        What is possible, of the same numbers; None where that is not known.
    """

    least: tuple[LargestContributions, ...]
    most: tuple[LargestContributions, ...] | None

    @classmethod
    def exactly(cls, contributions: tuple[LargestContributions, ...]) -> ContributionBounds:
        """Return what the values themselves show."""
        return cls(least=contributions, most=contributions)

    @classmethod
    def of_means(
        cls, sizes: Sequence[int | None], means: Sequence[float | None], ends: tuple[float, float] | None
    ) -> ContributionBounds:
        """Return what follows from published means, the sizes of their leaves, and the public range of one value.

        Two values make up all of a mean of two. No value is larger in size than the larger end of its range, so that a
        leaf of n values of mean m has a largest share of at most ``end / (n |m|)``. Without a range, or with one that a
        mean is out of, nothing bounds it. A mean of 0 may be rounded, unless another mean has all of its digits: then
        values of at least 0 are all 0.

        Examples
        --------
        >>> bounds = ContributionBounds.of_means([100], [50.0], (0.0, 200.0))
        >>> bounds.most[0].two
        0.08
        """
        counted = [(size, mean) for size, mean in zip(sizes, means, strict=True) if size != 0]
        few = tuple(
            LargestContributions(one=1 / size, two=1.0, rest=0.0) if size in (1, 2) and mean else NONE
            for size, mean in counted
        )
        if ends is None or not all(map(math.isfinite, ends)) or any(None in pair for pair in counted):
            return cls(least=few, most=None)
        slack = 1e-9 * max(map(abs, ends))  # of the arithmetic of a mean
        if not all(ends[0] - slack <= (mean or 0.0) <= ends[1] + slack for _, mean in counted):
            return cls(least=few, most=None)  # The values have another range than the one that is stated
        unrounded = any(mean is not None and float(f"{mean:.14g}") != mean for _, mean in counted)
        possible = (cls._possible(size or 0, mean or 0.0, ends, unrounded) for size, mean in counted)
        return cls(least=few, most=tuple(possible))

    @staticmethod
    def _possible(size: int, mean: float, ends: tuple[float, float], unrounded: bool) -> LargestContributions:
        largest, total = max(map(abs, ends)), size * abs(mean)
        if not mean and ends[0] >= 0 and unrounded:
            return NONE
        if size < 3 or not 0 < largest < total:
            return ALL
        one, two = largest / total, min(1.0, 2 * largest / total)
        return LargestContributions(one=one, two=two, rest=max(0.0, total / largest - 2))


def contributions_behind(
    cells: Indices, targets: Array, whose: npt.NDArray[np.integer] | None, n_cells: int
) -> tuple[LargestContributions, ...]:
    """Return the contributions behind the mean of each leaf that has any, by size; of people, the sum of their records.

    Shapes: ``cells`` and ``targets`` (n,), a missing target is NaN; ``whose`` (n,), optional.
    """
    present, out = ~np.isnan(targets), list[LargestContributions]()
    for i in range(n_cells):
        inside = (cells == i) & present
        own = np.abs(targets[inside])
        people = np.arange(len(own)) if whose is None else np.unique(whose[inside], return_inverse=True)[1]
        contributions = LargestContributions.of(np.bincount(people, relative(own)).astype(float) if len(own) else own)
        out += [] if contributions is None else [contributions]
    return tuple(out)


def relative(amounts: Array) -> Array:
    """Return amounts over the largest, shape (n,), so that no sum of them overflows; infinite ones are all there is."""
    largest = amounts.max(initial=0.0)
    return np.asarray(np.isinf(amounts).astype(float) if math.isinf(largest) else amounts / (largest or 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberInference:
    """How closely a known person's number follows from a regression.

    Attributes
    ----------
    within_tenth, within_tenth_without : float
        Share of people whose value the prediction meets within 10 %, and the median of all values does.
    half_width : float
        Half the width of the range around a prediction that holds the value of 90 % of people, in units of the target.
    """

    within_tenth: float
    within_tenth_without: float
    half_width: float

    @classmethod
    def of(cls, predicted: Array, targets: Array) -> NumberInference | None:
        """Return it for predictions and true values, shape (n,) each; None without any."""
        present = np.isfinite(targets) & np.isfinite(predicted)
        if not present.any():
            return None
        truth, answers = targets[present], predicted[present]
        errors = np.abs(answers - truth)
        return cls(
            within_tenth=float(np.mean(errors <= CLOSE * np.abs(truth))),
            within_tenth_without=float(np.mean(np.abs(np.median(truth) - truth) <= CLOSE * np.abs(truth))),
            half_width=float(np.quantile(errors, MOST)),
        )
