"""How much memory the tables of an additive fit take, from public quantities alone."""

from __future__ import annotations

from collections.abc import Sequence

from glassine.errors import ClassTooLargeError, parameter
from glassine.learners.additive.boosting import Boosting, Interactions
from glassine.learners.additive.choices import MOST_PAIRS, MOST_ROUNDS, PAIR_BINS
from glassine.learners.additive.grids import MOST_BINS
from glassine.learners.additive.targets import Target
from glassine.resources import human_bytes
from glassine.sealed.model_class import check_limit
from glassine.sealed.released_bins import Grid

NUMBER = 8
"""Bytes of a number."""

SMOOTHING = 20
"""Matrices of a numeric term and output: four priors with four each, and what one step works with."""

PASSES = 12
"""Arrays over all bins that rounds keep: sums, means, steps, totals."""

PAIR_CELLS = (PAIR_BINS + 1) ** 2
"""Most cells of a pair of attributes, with bins for missing values."""


def pairs_asked_for(wish: Interactions) -> int:
    """Return the most pairs that a fit can choose."""
    return len(wish.named) or (MOST_PAIRS if wish.number is None else wish.number)


def most_bins(grid: Grid) -> int:
    """Return the most bins that a term can get, those for missing values and for small groups included."""
    most = grid.n_cells
    if grid.cuts is not None and not grid.fixed:
        most = min(most, MOST_BINS + len(grid.codes))
    return most + 2


def table_bytes(grids: Sequence[Grid], target: Target, algorithm: str, pairs: int = 0) -> int:
    """Return the most bytes of the tables of a fit, besides the records."""
    bins = [most_bins(grid) for grid in grids]
    outputs = target.n_outputs
    counts = 2 * len(grids) * max((grid.n_cells + 1 for grid in grids), default=1)
    widest = max([*bins, PAIR_CELLS] if pairs else bins, default=1)
    passes = PASSES * (len(grids) + pairs) * widest * outputs
    smoothing = SMOOTHING * PAIR_CELLS**2 * pairs * outputs
    if algorithm != "boosting":
        smoothing += sum(
            SMOOTHING * outputs * size**2 for size, grid in zip(bins, grids, strict=True) if grid.cuts is not None
        )
    return NUMBER * (counts + passes + smoothing)


def most_released(grids: Sequence[Grid], target: Target, algorithm: str, pairs: int = 0) -> tuple[int, int]:
    """Return the most releases that a fit can make, and the most values that they can hold together.

    Guarantee
    ---------
    none: both follow from public quantities, for the slack of discrete noise; see ``additive_fit.md``.
    """
    # Of a number that is not cut by the user no more bins are made, whatever the noise; one more is for missing values.
    bins = [most_bins(grid) - 1 for grid in grids]
    outputs, n_classes = target.n_outputs, len(target.classes or ())
    levels = max((len(grid.sizes) for grid in grids), default=1)
    # The target is looked at twice at most.
    values = 2 * max(4, n_classes) + levels * sum(grid.n_cells + 1 for grid in grids)
    if algorithm == "boosting":
        steps = Boosting().epochs * len(grids)
        return levels + steps, values + steps * Boosting().leaves * outputs
    compared = len(grids) ** 2 if pairs else 0
    in_round = (sum(bins) + pairs * PAIR_CELLS) * outputs + 1
    return levels + 5 + MOST_ROUNDS, values + 1 + compared + pairs * PAIR_CELLS + MOST_ROUNDS * in_round


def check_memory(
    grids: Sequence[Grid], target: Target, algorithm: str, memory_limit: object, *, pairs: int = 0
) -> None:
    """Raise ClassTooLargeError if the tables exceed a limit, by public quantities alone."""
    limit = check_limit(memory_limit, "memory_limit")
    needed = table_bytes(grids, target, algorithm, pairs)
    if needed <= limit:
        return
    raise ClassTooLargeError(
        f"an additive fit of {len(grids)} attributes with {parameter('algorithm=')}{algorithm!r} needs up to "
        f"{human_bytes(needed)} of "
        f"tables, the limit is {parameter('memory_limit=')}{human_bytes(limit)}.",
        remedy="Give fewer bins or attributes, or raise the limit.",
        bytes_needed=needed,
        seconds_needed=0.0,
    )
