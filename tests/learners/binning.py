"""Bins of records whose cells are given, for the tests of binning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassine.learners.additive.grids import Axis, release_bins
from glassine.privacy.randomness import Randomness
from glassine.sealed.binned import Codes
from glassine.sealed.released_bins import Grid
from glassine.sealed.sums import count_cells

from .sums import Given, oracle_of

__all__ = ["bin_axes"]


def bin_axes(
    codes: Codes, grids: Sequence[Grid], mu: float, seed: int = 0, *, quantiles: int | None = None
) -> tuple[list[Axis], Any]:
    """Release the bins of records whose cells, shape (attributes, n), are given."""
    counts = count_cells(codes, [grid.n_cells + 1 for grid in grids])
    oracle = oracle_of(Given(counts=counts), mu, Randomness.of(seed))
    axes = release_bins(oracle, oracle.whole, tuple(grids), quantiles=quantiles)
    return axes, oracle.events[0]
