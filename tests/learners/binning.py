"""Bins of records whose cells are given, for the tests of binning."""

from __future__ import annotations

from collections.abc import Sequence

from glassine.learners.additive.budget import Portion
from glassine.learners.additive.grids import Axis, Codes, Grid, bin_counted
from glassine.learners.additive.sums import count_cells
from glassine.privacy.accounting import DiscreteGaussianNoise

__all__ = ["bin_axes"]


def bin_axes(
    codes: Codes, grids: Sequence[Grid], portion: Portion, *, quantiles: int | None = None
) -> tuple[list[Axis], DiscreteGaussianNoise]:
    """Release the bins of records whose cells, shape (attributes, n), are given."""
    counts = count_cells(codes, [grid.n_cells + 1 for grid in grids])
    return bin_counted(counts, grids, portion, quantiles=quantiles)
