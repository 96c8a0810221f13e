"""Records that weigh fractions of one, and the questions of ordinary additive fits answered by weight.

Sums are of whole parts of a record, as many as a row weighs: so many copies of the row in a fit without weights, each
a part of a record, have the same sums exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import ClassVar

import numpy as np

from glassine.learners.training_data import Weights
from glassine.privacy.fine_gaussian import UNITS
from glassine.records.arrays import AnyArray, Array, Ints
from glassine.records.columns import ConformedColumns
from glassine.sealed.binned import AdditiveRecords, AdditiveStore, Binned, HeldRecords, codes_of, read_cells
from glassine.sealed.gains import gain, gain_reach
from glassine.sealed.gaussian import Drawing, ExactSumsOracle, SumsQuery
from glassine.sealed.noisy_sums import ExactSums, Portion, SumsRelease
from glassine.sealed.released_bins import Bins, Crossed, Events, Grid, Terms
from glassine.sealed.residuals import (
    PAIR_UNITS,
    GainsOfPairs,
    InLeaves,
    Lacking,
    Moved,
    OfTarget,
    PairCounts,
    Residuals,
    Spans,
    there,
)
from glassine.sealed.sums import Loss, Moves, advance


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WeightedRecords(HeldRecords):
    """Records in memory, each of which counts as many parts of one."""

    weights: Weights

    @property
    def parts(self) -> Ints:
        """Parts of a record that each counts as, shape (n,)."""
        return self.weights.parts

    def cell_counts(self, grids: Sequence[Grid]) -> list[Ints]:
        """Return the parts of records in each public cell of each attribute."""
        self.cells[:] = [read_cells(self.columns, grids)]
        pairs = zip(self.cells[0], grids, strict=True)
        return [_counted(row, self.parts, grid.n_cells + 1) for row, grid in pairs]

    def distinct(self, grids: Sequence[Grid], axes: Sequence[Bins]) -> tuple[Binned, Ints]:
        """Return all records in the released bins of some attributes, and the parts that each counts as."""
        binned, _ = HeldRecords.distinct(self, grids, axes)
        return binned, self.parts


def _counted(codes: AnyArray, parts: Ints, size: int) -> Ints:
    # Exact: sums of whole numbers below 2^53.
    return np.bincount(codes, parts, size).astype(np.int64)


def weigh(columns: ConformedColumns, values: AnyArray, weights: Weights) -> HeldRecords:
    """Return records, each as often as it counts; where weights are fractions each once, with its weight."""
    if weights.per_record > 1:
        return WeightedRecords(columns=columns, values=values, weights=weights)
    rows = np.repeat(np.arange(len(values)), weights.parts)
    return HeldRecords(columns=columns.take(rows), values=values[rows])


def oracle_of(records: AdditiveRecords, events: Events | None = None) -> ExactSumsOracle | WeightedSumsOracle:
    """Return what an ordinary fit may ask of records."""
    if isinstance(records, WeightedRecords):
        return WeightedSumsOracle(_WeightedStore(records, events), records.weights)
    return ExactSumsOracle.of(records, events)


def per_record(records: AdditiveRecords) -> int:
    """Return the parts of one record."""
    return records.weights.per_record if isinstance(records, WeightedRecords) else 1


class _WeightedStore(AdditiveStore):
    """Weighted records with their bins; none is written out several times."""

    __slots__ = ()

    def repeated(self, terms: Terms, outputs: int) -> Binned:
        """Return the records in bins, each once."""
        return self.binned(terms, outputs)[0]


@dataclass(frozen=True, slots=True, repr=False)
class WeightedSumsOracle:
    """The questions of an additive fit, answered by weight and without noise.

    Guarantee
    ---------
    none: answers are those of the records.
    """

    whole: ClassVar[Portion] = ExactSumsOracle.whole

    store: AdditiveStore
    weights: Weights

    def release(self, release: SumsRelease, portion: Portion) -> Drawing:
        """Return a release without noise."""
        return _WeightedDrawing(self.store, self.weights)


class _WeightedDrawing(Drawing):
    """Answers in parts of a record, as multiples of one record."""

    __slots__ = ("_store", "_weights")

    def __init__(self, store: AdditiveStore, weights: Weights) -> None:
        super().__init__([store], ExactSums(), math.inf)
        self._store, self._weights, self.parts = store, weights, weights.per_record

    def ask(self, query: SumsQuery) -> Array:
        """Return the answer to a question."""
        return answered(query, self._store, self._weights) / (UNITS * self.parts)


@singledispatch
def answered(query: SumsQuery, store: AdditiveStore, weights: Weights) -> Ints:
    """Return sums over weighted records, in units of a part of a record."""
    raise TypeError(f"an ordinary additive fit does not ask for {type(query).__name__}")


@answered.register
def _(query: Spans | Lacking | Moved, store: AdditiveStore, weights: Weights) -> Ints:
    # They read counts by weight, pass weights on, or sum nothing.
    return query.exact(store, UNITS)


@answered.register
def _(query: OfTarget, store: AdditiveStore, weights: Weights) -> Ints:
    values, parts = store.values, weights.parts
    if query.n_classes is not None:
        return _counted(values, parts, query.n_classes) * UNITS
    summed = [np.ones(len(values)), values, values**2, *([store.exposures] if query.exposed else [])]
    return np.array([parts @ np.rint(each * UNITS).astype(np.int64) for each in summed])


@answered.register
def _(query: PairCounts, store: AdditiveStore, weights: Weights) -> Ints:
    codes = codes_of(query.pairs, store.repeated(query.terms, query.outputs).codes)
    return np.concatenate(_of_pairs(query.pairs, codes, weights.parts)) * UNITS


def _of_pairs(pairs: Sequence[Crossed], codes: AnyArray, parts: Ints) -> list[Ints]:
    return [_counted(row, parts, pair.n_cells) for pair, row in zip(pairs, codes, strict=True)]


@answered.register
def _(query: Residuals, store: AdditiveStore, weights: Weights) -> Ints:
    scores, outputs = store.scores(query.terms, query.start), len(query.start)
    values = store.repeated(query.terms, outputs).values
    loss = Loss.of(outputs, query.clip, UNITS, classes=query.classes, curved=query.curved)
    packed = store.packed(query.terms, outputs)
    sums, _ = advance(packed, scores, values, query.moves, loss, weights.parts)
    # The kernel adds up curvatures unweighted: once for each binary digit of the weights, it adds up those of its rows.
    none, still = np.zeros((0, 0), dtype=np.uint8), Moves(np.zeros((0, 1, outputs)), np.zeros(outputs))
    curvature = 0
    for bit in range(int(weights.parts.max()).bit_length()):
        rows = np.flatnonzero(weights.parts >> bit & 1)
        curvature += advance(none, scores[:, rows], values[rows], still, loss)[1] << bit
    return np.append(sums[there(query.terms)], curvature)


@answered.register
def _(query: GainsOfPairs, store: AdditiveStore, weights: Weights) -> Ints:
    outputs = len(query.start)
    scores, binned = store.scores(query.terms, query.start), store.repeated(query.terms, outputs)
    codes = codes_of(query.pairs, binned.codes)
    still = Moves(np.zeros((len(query.pairs), max(pair.n_cells for pair in query.pairs), outputs)), np.zeros(outputs))
    loss = Loss.of(outputs, query.clip, PAIR_UNITS, classes=query.classes, curved=query.curved)
    sums, _ = advance(codes, scores, binned.values, still, loss, weights.parts)
    reach, out = gain_reach(query.score), []
    for pair, own, counts in zip(query.pairs, sums, _of_pairs(query.pairs, codes, weights.parts), strict=True):
        cells = own[: pair.n_cells].reshape(*pair.shape, outputs)
        out.append(gain(cells, counts.reshape(pair.shape), PAIR_UNITS, query.score) / reach)
    # As many units as :class:`~glassine.sealed.residuals.GainsOfPairs` gives its own.
    return np.array([math.floor(each * (UNITS - 2)) for each in out])


@answered.register
def _(query: InLeaves, store: AdditiveStore, weights: Weights) -> Ints:
    outputs = len(query.start)
    scores, binned = store.scores(query.terms, query.start), store.repeated(query.terms, outputs)
    loss = Loss.of(outputs, query.clip, UNITS, classes=query.classes)
    out = np.zeros((*query.sizes.shape, outputs), dtype=np.int64)
    still = Moves(np.zeros((1, query.leaf_of.shape[1], outputs)), np.zeros(outputs))
    factor = query.rate * query.clip / (UNITS * weights.per_record)
    for k, codes in enumerate(binned.codes[query.places]):
        sums, _ = advance(codes[None], scores, binned.values, still, loss, weights.parts)
        np.add.at(out[k], query.leaf_of[k], sums[0])
        if query.rate:
            step = factor * out[k] / np.maximum(query.sizes[k], 1.0)[:, None]
            scores += step[query.leaf_of[k]][codes].T
    return out
