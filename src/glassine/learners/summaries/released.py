"""What a summary released: noisy numbers, of which all else is a function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.learners.additive.grids import Axis
from glassine.learners.summaries.merging import coarse_axis

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Round:
    """What the records added to an additive model that followed from earlier releases.

    Attributes
    ----------
    scores : ndarray, shape (bins + 1, outputs)
        The model: scores of the merged bins of the useful attributes, one after another, and the intercept. A function
        of earlier releases, kept so that a file is read as it was written.
    sums : ndarray, shape (bins, outputs)
        Noisy sums of the records' residuals under that model, in each bin.
    deviation : float
        Standard deviation of the noise in each sum.
    """

    scores: Array
    sums: Array
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Released:
    """What a summary released, as it was drawn. All else follows from it.

    Attributes
    ----------
    axes : tuple of Axis
        The fine bins of each attribute, and their noisy counts.
    tables : tuple of ndarray, shape (bins, classes)
        Noisy counts by fine bin and class.
    groups : tuple of ndarray of int, shape (bins,)
        The merged bin of each fine bin: a function of the tables, kept so that a file is read as it was written.
    scores : mapping of (int, int) to float
        Noisy dependence of pairs of attributes, in records: the L1 distance of their table by class from independence.
    edges : mapping of (int, int) to ndarray, shape (bins, bins, classes)
        Noisy counts of the merged bins of the pairs along the spanning tree, by class.
    deviations : tuple of float
        Standard deviation of the noise in each count of the tables, in each score, and in each count of the edges.
    rounds : tuple of Round
        Noisy sums of residuals, round by round; none where no attribute has two merged bins.
    squares : (float, float), or None
        Of a target that is a number, brought to [-1, 1]: noisy sum of its squares over all records, and the standard
        deviation of the noise. None of classes. In the tables, levels of the number stand for classes.
    """

    axes: tuple[Axis, ...]
    tables: tuple[Array, ...]
    groups: tuple[Ints, ...]
    scores: Mapping[tuple[int, int], float]
    edges: Mapping[tuple[int, int], Array]
    deviations: tuple[float, float, float]
    rounds: tuple[Round, ...] = ()
    squares: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        self._freeze()

    def __setstate__(self, state: list[Any]) -> None:
        for one, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, one.name, value)
        self._freeze()

    def _freeze(self) -> None:
        """Make the arrays read-only: models of one summary share what was computed from them."""
        of_axes = (part for axis in self.axes for part in (axis.bin_of, axis.counts, axis.variances))
        of_rounds = (part for one in self.rounds for part in (one.scores, one.sums))
        for array in (*of_axes, *self.tables, *self.groups, *self.edges.values(), *of_rounds):
            array.flags.writeable = False

    @property
    def levels(self) -> Array | None:
        """The levels of a target that is a number, in [-1, 1]; None of classes."""
        return None if self.squares is None else np.linspace(-1.0, 1.0, self.n_classes)

    @property
    def n_classes(self) -> int:
        """Number of classes, or of levels."""
        return int(self.tables[0].shape[1])

    @property
    def coarse(self) -> tuple[Axis, ...]:
        """The merged bins of each attribute."""
        return tuple(coarse_axis(axis, groups) for axis, groups in zip(self.axes, self.groups, strict=True))

    @property
    def useful(self) -> tuple[int, ...]:
        """Places of the attributes that have two merged bins or more: models use no others."""
        return tuple(k for k, groups in enumerate(self.groups) if groups.max() > 0)

    @property
    def ends(self) -> Ints:
        """Where the merged bins of each useful attribute begin, one after another, and where the last ends."""
        return np.cumsum([0, *(int(self.groups[k].max()) + 1 for k in self.useful)])
