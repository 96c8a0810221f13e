"""Terms with few bins packed together: one cell of several terms at once, so that a pass reads fewer numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.counting.compiling import compiled

__all__ = ["Packed", "gathered", "pack", "spread"]

ROOM = 2048
"""Most cells of several terms together, over all outputs: their sums stay in the fastest cache."""

Ints = npt.NDArray[np.int64]
Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Packed:
    """The bins of the records in groups of terms.

    Attributes
    ----------
    codes : ndarray of uint8 or uint16, shape (groups, n)
        Cell of each record in each group: the bins of its terms as the digits of one number.
    places : ndarray of int64, shape (terms, 4)
        Group of each term, number of its bins, cells of the digits below it, and cells of the whole group.
    """

    codes: npt.NDArray[Any]
    places: Ints

    @property
    def n_cells(self) -> int:
        """Cells of the largest group."""
        return int(self.places[:, 3].max())

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.codes)


def pack(codes: npt.NDArray[Any], sizes: Sequence[int], outputs: int) -> Packed:
    """Return the bins of the records, terms with few bins packed together.

    The groups follow from the numbers of bins alone: were they to depend on the records, so would the rounding of
    scores.

    Parameters
    ----------
    codes : ndarray of uint8 or uint16, shape (terms, n)
        Bin of each record in each term.
    sizes : sequence of int
        Number of bins of each term.
    outputs : int
        Scores of each bin.
    """
    room, groups = ROOM // outputs, list[list[int]]()
    cells: list[int] = []
    for k in sorted(range(len(sizes)), key=lambda k: -sizes[k]):
        at = next((g for g, size in enumerate(cells) if size * sizes[k] <= room), len(groups))
        if at == len(groups):
            groups.append([])
            cells.append(1)
        groups[at].append(k)
        cells[at] *= sizes[k]
    places = np.zeros((len(sizes), 4), dtype=np.int64)
    for g, members in enumerate(groups):
        below = 1
        for k in members:
            places[k] = g, sizes[k], below, cells[g]
            below *= sizes[k]
    if len(groups) == len(sizes):
        places[:, 0] = np.arange(len(sizes))
        return Packed(codes=codes, places=places)
    joint = np.zeros((len(groups), codes.shape[1]), dtype=np.uint16)
    _join(codes, places, joint)
    return Packed(codes=joint, places=places)


@compiled
def _join(codes: Any, places: Any, out: Any) -> None:
    for k in range(len(places)):
        row, below = out[places[k, 0]], places[k, 2]
        for i in range(len(row)):
            row[i] += codes[k, i] * below


@compiled
def _spread(step: Any, places: Any, out: Any) -> None:
    for k in range(len(places)):
        group, size, below, cells = places[k, 0], places[k, 1], places[k, 2], places[k, 3]
        for high in range(cells // (size * below)):
            for b in range(size):
                first = (high * size + b) * below
                for i in range(first, first + below):
                    for c in range(step.shape[2]):
                        out[group, i, c] += step[k, b, c]


@compiled
def _gather(sums: Any, places: Any, out: Any) -> None:
    for k in range(len(places)):
        group, size, below, cells = places[k, 0], places[k, 1], places[k, 2], places[k, 3]
        for high in range(cells // (size * below)):
            for b in range(size):
                first = (high * size + b) * below
                for i in range(first, first + below):
                    for c in range(out.shape[2]):
                        out[k, b, c] += sums[group, i, c]


def spread(step: Array, packed: Packed) -> Array:
    """Return numbers of the terms' bins, shape (terms, bins, outputs), added up in the cells of the groups."""
    out = np.zeros((packed.n_groups, packed.n_cells, step.shape[2]))
    _spread(step, packed.places, out)
    return out


def gathered(sums: Ints, packed: Packed, bins: int) -> Ints:
    """Return sums over the groups' cells as sums over the terms' bins, shape (terms, bins, outputs)."""
    out = np.zeros((len(packed.places), bins, sums.shape[2]), dtype=np.int64)
    _gather(sums, packed.places, out)
    return out
