"""Records as bit sets: for each literal, one bit per record that says whether the record satisfies it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.domain import Literal
from glassine.records.arrays import Bools, Indices, Ints
from glassine.records.columns import ConformedColumns

WORD = 64


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BitSets:
    """The truth of public literals on records, packed into words of 64 records.

    Records are sorted into segments. All records of a segment have one class and stand for the same number of records,
    a power of two, so that a weighted class count is a sum of popcounts. A record of multiplicity 5 is in two segments.
    """

    words: npt.NDArray[np.uint64]  # Row l holds the bits of literal l; shape (p, w)
    # The bits that belong to records; the others pad a segment to whole words; shape (w,).
    valid: npt.NDArray[np.uint64]
    starts: Ints  # First word of each segment, and w; shape (s + 1,)
    # labels, weights: class and number of records per bit, of each segment; shape (s,).
    labels: Ints
    weights: Ints
    n_classes: int  # Number of classes

    @classmethod
    def pack(
        cls,
        truths: Iterable[Bools],
        labels: npt.NDArray[np.integer],
        n_classes: int,
        multiplicities: npt.NDArray[np.integer] | None = None,
    ) -> BitSets:
        """Pack truth columns."""
        # Shapes: truths (n,); labels (n,); multiplicities (n,), optional.
        planes: list[Plane] = []
        for label in range(n_classes):
            rows = np.flatnonzero(labels == label)
            planes += [(label, 1, rows)] if multiplicities is None else _planes(label, rows, multiplicities[rows])
        return cls._packed(truths, planes, len(labels), n_classes)

    @classmethod
    def pack_counts(cls, truths: Iterable[Bools], counts: npt.NDArray[np.integer]) -> BitSets:
        """Pack truth columns of rows that stand for records of several classes."""
        # Shapes: truths (n,); counts (n, c).
        n, n_classes = counts.shape
        rows = np.arange(n)
        planes = [plane for label in range(n_classes) for plane in _planes(label, rows, counts[:, label])]
        return cls._packed(truths, planes, n, n_classes)

    @classmethod
    def _packed(cls, truths: Iterable[Bools], planes: Sequence[Plane], n_rows: int, n_classes: int) -> BitSets:
        order, starts, segments = _segments(planes)
        width = int(starts[-1])
        padding = np.flatnonzero(order < 0)
        packed = [_pack_row(np.asarray(column), order, padding, width) for column in truths]
        words = np.array(packed, dtype=np.uint64).reshape(len(packed), width)
        valid = _pack_row(np.ones(n_rows, dtype=bool), order, padding, width)
        return cls(
            words=words,
            valid=valid,
            starts=starts,
            labels=np.array([label for label, _ in segments], dtype=np.int64),
            weights=np.array([weight for _, weight in segments], dtype=np.int64),
            n_classes=n_classes,
        )

    def __repr__(self) -> str:
        return f"<BitSets of {len(self.words)} literals and {self.n_classes} classes>"

    def complement(self) -> BitSets:
        """Return the bit sets of the negated literals."""
        return replace(self, words=~self.words & self.valid)

    def totals(self) -> Ints:
        """Return the number of records of each class, shape (c,)."""
        return self.count(self.valid)

    def count(self, words: npt.NDArray[np.uint64]) -> Ints:
        """Return the number of records of each class, shape (c,), in one bit set, shape (w,)."""
        totals = np.zeros(self.n_classes, dtype=np.int64)
        if words.size:
            bits = np.concatenate(([0], np.cumsum(np.bitwise_count(words), dtype=np.int64)))
            np.add.at(totals, self.labels, self.weights * np.diff(bits[self.starts]))
        return totals


Plane: TypeAlias = tuple[int, int, Indices]
"""A class, a number of records per row, and the rows that stand for so many records of that class."""


def _planes(label: int, rows: Indices, counts: npt.NDArray[np.integer]) -> list[Plane]:
    """Return the rows of a class by the binary digits of the number of records that each stands for."""
    return [(label, 1 << bit, rows[(counts >> bit) & 1 == 1]) for bit in range(int(counts.max(initial=0)).bit_length())]


def _segments(planes: Sequence[Plane]) -> tuple[Ints, Ints, list[tuple[int, int]]]:
    """Return the record at each bit (-1 for padding), the first word of each segment, and its class and weight."""
    planes = [plane for plane in planes if len(plane[2])]
    sizes = [-(-len(rows) // WORD) for _, _, rows in planes]
    starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64)
    order = np.full(int(starts[-1]) * WORD, -1, dtype=np.int64)
    for (_, _, rows), start in zip(planes, starts, strict=False):
        order[start * WORD : start * WORD + len(rows)] = rows
    return order, starts, [(label, weight) for label, weight, _ in planes]


def _pack_row(column: Bools, order: Ints, padding: Indices, width: int) -> npt.NDArray[np.uint64]:
    if not width:
        return np.zeros(0, dtype=np.uint64)
    # What stands at the padding does not matter: it is cleared.
    bits = column.take(order, mode="wrap")
    bits[padding] = False
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def truths(columns: ConformedColumns, antecedents: Sequence[Sequence[Literal]]) -> Iterator[Bools]:
    """Return where records satisfy each of some conjunctions, one at a time."""
    for antecedent in antecedents:
        truth = columns.holds(antecedent[0])
        for literal in antecedent[1:]:
            truth &= columns.holds(literal)
        yield truth
