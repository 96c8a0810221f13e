"""Private bins: noisy counts on grids that halve where there are enough records, merged where there are not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from glassine.learners.binning_cells import Grid, public_grids, read_cells
from glassine.learners.binning_merging import MERGE, Axis, CountTree
from glassine.learners.ebm_sums import count_cells
from glassine.privacy.accounting import DiscreteGaussianNoise
from glassine.privacy.fine_gaussian import FineNoise
from glassine.privacy.randomness import Randomness

__all__ = ["MERGE", "Axis", "Grid", "bin_axes", "bin_counted", "public_grids", "read_cells"]

PROOF = "learners/binning.md"

Codes = npt.NDArray[np.uint16]


def bin_axes(
    codes: Codes,
    grids: Sequence[Grid],
    mu: float,
    share: float,
    randomness: Randomness,
    *,
    quantiles: int | None = None,
) -> tuple[list[Axis], DiscreteGaussianNoise]:
    """Release the bins of records whose cells, shape (attributes, n), are given; see :func:`bin_counted`.

    Guarantee
    ---------
    That of :func:`bin_counted`; see ``binning.md``.
    """
    counts = count_cells(codes, [grid.n_cells + 1 for grid in grids])
    return bin_counted(counts, grids, mu, share, randomness, quantiles=quantiles)


def bin_counted(
    counts: Sequence[npt.NDArray[np.int64]],
    grids: Sequence[Grid],
    mu: float,
    share: float,
    randomness: Randomness,
    *,
    quantiles: int | None = None,
) -> tuple[list[Axis], DiscreteGaussianNoise]:
    """Release the bins and noisy counts of all attributes.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise: on each level of an attribute's tree a
    record is in at most one node; see ``binning.md``.

    Parameters
    ----------
    counts : sequence of ndarray of int64
        Exact number of records in each cell of each attribute, the last cell included.
    grids : sequence of Grid
        The public cells.
    mu : float
        Budget.
    share : float
        Its share of the whole, for the event.
    randomness : Randomness
        Source of the noise.
    quantiles : int, optional
        Merge cells of a number until each holds one in so many of the records, by their noisy total. By default as far
        as the noise asks for.

    Returns
    -------
    list of Axis
        The bins of each attribute.
    DiscreteGaussianNoise
        The event.
    """
    noise = FineNoise.of(mu, sum(len(grid.sizes) for grid in grids))
    exact = [np.append(0, np.cumsum(row)) for row in counts]
    trees = [CountTree(grid) for grid in grids]
    drawn = 0
    for level in range(max(len(grid.sizes) for grid in grids)):
        wanted = [tree.open(level, 2 * MERGE * noise.deviation) for tree in trees]
        sums = np.concatenate(
            [total[spans[:, 1]] - total[spans[:, 0]] for total, spans in zip(exact, wanted, strict=True)]
        )
        noisy = noise.release(sums.astype(np.int64) * noise.units, randomness)
        drawn += len(noisy)
        at = 0
        for tree, spans in zip(trees, wanted, strict=True):
            tree.take(noisy[at : at + len(spans)], level)
            at += len(spans)
    event = DiscreteGaussianNoise(
        name="numbers of records in cells",
        l2_sensitivity=noise.l2_sensitivity,
        sigma=noise.sigma,
        units=noise.units,
        values=drawn,
        share=share,
        proof=PROOF,
    )
    least = None
    if quantiles is not None:
        # Each attribute counts all records; those with fewer cells carry less noise.
        precision = np.array([1.0 / max(tree.first, 1) for tree in trees])
        totals = np.array([sum(tree.counts[: tree.first]) + (tree.gap or 0.0) for tree in trees])
        least = max(float(precision @ totals / precision.sum()) / quantiles, 1.0)
    return [tree.axis(noise.deviation, least) for tree in trees], event
