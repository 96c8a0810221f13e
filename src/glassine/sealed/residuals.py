"""The questions of additive fits and summaries: counts in released bins, sums of residuals under released scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glassine.privacy.fine_gaussian import wrapped
from glassine.records.arrays import AnyArray, Array, Ints
from glassine.sealed.binned import AdditiveStore, codes_of
from glassine.sealed.gains import gain, gain_reach
from glassine.sealed.gaussian import SumsQuery
from glassine.sealed.noisy_sums import Noise
from glassine.sealed.released_bins import Crossed, Grid, Places, Terms
from glassine.sealed.sums import ONCE, Leaves, Loss, Moves, advance, start_scores, visit

CURVATURE = 0.5
"""How much of its curvature a record adds to their sum, beside 1 to each term."""

BLOCK = 2**32
"""Records whose residuals, of at most 2^30 units, certainly add up within 64 bits."""

PAIR_UNITS = 2**30
"""Units of the clip for the choice of pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTarget(SumsQuery):
    """Numbers of records of each class; or the number of records, and the sums of the target and of its squares.

    Shape (classes,), or (3,); with the sum of the exposures last, (4,).
    """

    n_classes: int | None  # None of a number, which is in [-1, 1]
    exposed: bool = False  # Whether records have an exposure, which is in (0, 1]

    @property
    def size(self) -> int:
        """Number of counts, or of sums."""
        return self.n_classes or 3 + self.exposed

    @property
    def squared(self) -> float:
        """One count, or three or four sums of at most 1 in size."""
        return 1 if self.n_classes is not None else self.size

    def exact(self, records: AdditiveStore, units: int) -> Ints:
        """Return the counts, or the sums, where each number is rounded to whole units."""
        values = records.values
        if self.n_classes is not None:
            return np.bincount(values, minlength=self.n_classes).astype(np.int64) * units
        first = np.rint(values * units).astype(np.int64)
        # Modulo 2^64, as everywhere: see fine_gaussian.md.
        sums = [len(first) * units, int(first.sum()), _squares(values, units)]
        if self.exposed:
            sums.append(int(np.rint(records.exposures * units).astype(np.int64).sum()))
        return wrapped(sums)


@dataclass(frozen=True, slots=True)
class Squares(SumsQuery):
    """The sum of the squares of numbers in [-1, 1]; shape (1,)."""

    @property
    def squared(self) -> float:
        """A square is at most 1."""
        return 1

    def exact(self, records: AdditiveStore, units: int) -> Ints:
        """Return the sum of whole units, record by record."""
        return wrapped([_squares(records.values, units)])


def _squares(values: AnyArray, units: int) -> int:
    return int(np.rint(values**2 * units).astype(np.int64).sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spans(SumsQuery):
    """Numbers of records in spans of public cells of each attribute, one attribute after another.

    Raises
    ------
    ValueError
        If two spans of one attribute overlap: a record would be in both.
    """

    grids: tuple[Grid, ...]
    spans: tuple[Ints, ...]  # First cell of each span of each attribute, and the cell behind its last; shape (spans, 2)

    def __post_init__(self) -> None:
        for own in self.spans:
            ordered = own[np.argsort(own[:, 0], kind="stable")]
            if (ordered[1:, 0] < ordered[:-1, 1]).any():
                raise ValueError("the spans of an attribute must not overlap")

    @property
    def squared(self) -> float:
        """A record is in at most one span of each attribute."""
        return sum(len(own) > 0 for own in self.spans)

    def exact(self, records: AdditiveStore, units: int) -> Ints:
        """Return the numbers of records."""
        below = records.below(self.grids)
        counted = [total[own[:, 1]] - total[own[:, 0]] for total, own in zip(below, self.spans, strict=True)]
        return np.concatenate(counted).astype(np.int64) * units


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tables(SumsQuery):
    """Numbers of records in the cells of one or two attributes each, by class; one table after another, flat.

    If the target is a number, a record counts in parts, which add up to 1, at the two levels next to it.
    """

    terms: Terms
    places: tuple[Places, ...]  # The attribute or the two attributes of each table
    n_classes: int  # Classes, or levels of a number
    parts: int  # One, or :data:`~glassine.sealed.released_bins.PARTS` of a number

    @property
    def squared(self) -> float:
        """A record is in one cell of each table, or has parts in two whose squares add up to less."""
        return len(self.places)

    def exact(self, records: AdditiveStore, units: int) -> Ints:
        """Return the numbers of records."""
        tables = records.tables(self.terms, self.places, self.n_classes)
        return np.concatenate([tables[place].reshape(-1) for place in self.places]) * (units // self.parts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Distances(SumsQuery):
    """The L1 distance of the table of each pair of attributes, by class, from released numbers; shape (pairs,)."""

    terms: Terms
    models: tuple[tuple[Places, Array], ...]  # Two attributes, and the numbers, shape (bins, bins, classes)
    n_classes: int
    parts: int

    @property
    def squared(self) -> float:
        """A record moves each distance by at most 1."""
        return len(self.models)

    def exact(self, records: AdditiveStore, units: int) -> Ints:
        """Return the distances; the released numbers are rounded to whole units first."""
        tables = records.tables(self.terms, [places for places, _ in self.models], self.n_classes)
        return wrapped([_distance(tables[places], model, units, self.parts) for places, model in self.models])


def _distance(table: Ints, model: Array, units: int, parts: int = 1) -> int:
    # Python's integers: exact, however many records there are.
    rounded = [round(float(value) * units) for value in model.ravel()]
    each = units // parts
    return sum(abs(count * each - value) for count, value in zip(table.ravel().tolist(), rounded, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairCounts(SumsQuery):
    """Numbers of records in the cells of pairs of terms, one pair after another, flat."""

    terms: Terms  # Without the pairs
    pairs: tuple[Crossed, ...]
    outputs: int

    @property
    def squared(self) -> float:
        """A record is in one cell of each pair."""
        return len(self.pairs)

    def exact(self, records: AdditiveStore, units: int) -> Ints:
        """Return the numbers of records."""
        codes = codes_of(self.pairs, records.repeated(self.terms, self.outputs).codes)
        return np.concatenate(_counts(self.pairs, codes)) * units


def _counts(pairs: Sequence[Crossed], codes: AnyArray) -> list[Ints]:
    counted = (np.bincount(row, minlength=pair.n_cells) for pair, row in zip(pairs, codes, strict=True))
    return [row.astype(np.int64) for row in counted]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Totals(SumsQuery):
    """Numbers of records of each of two classes at each total of released points; shape (2 totals,)."""

    terms: Terms
    points: tuple[Ints, ...]  # Points of each bin of each term, shape (bins,)
    first: int  # Total of no points, from the least that there can be
    size: int  # Number of totals

    @property
    def squared(self) -> float:
        """A record has one total and one class."""
        return 1

    def exact(self, records: AdditiveStore, units: int) -> Ints:
        """Return the numbers of records."""
        binned = records.repeated(self.terms, 1)
        totals = np.full(len(binned.values), self.first, dtype=np.int64)
        for codes, points in zip(binned.codes, self.points, strict=True):
            totals += points[codes]
        cells = 2 * totals + binned.values.astype(np.int64)
        return np.bincount(cells, minlength=2 * self.size).astype(np.int64) * units


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Residuals(SumsQuery):
    """Sums of clipped residuals in the bins of all terms, in ones of the clip, and last half the sum of curvatures.

    Scores are moved by released steps first, and stay moved: each question goes on from those before it.
    """

    terms: Terms
    start: Array  # Released scores before any step; shape (outputs,)
    # moves: what released answers add to the scores of the bins of each term, and to all of them.
    moves: Moves
    classes: bool  # Whether the target is a class
    clip: float
    curved: float = 0.0  # Of a count of events the largest curvature that counts in full

    @property
    def squared(self) -> float:
        """A record adds a vector of at most 1 to one bin of each term, and half to the curvature."""
        return len(self.terms.sizes) + CURVATURE**2

    def exact(self, records: AdditiveStore, units: int) -> Ints:
        """Return the sums, shape (bins of all terms * outputs + 1,)."""
        scores, values = records.scores(self.terms, self.start), records.repeated(self.terms, len(self.start)).values
        loss = Loss.of(len(scores), self.clip, units, classes=self.classes, curved=self.curved)
        sums, curvature = advance(records.packed(self.terms, len(scores)), scores, values, self.moves, loss)
        return np.append(sums[there(self.terms)], curvature)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moved(SumsQuery):
    """No sum: scores are moved by a last released step."""

    residuals: Residuals

    @property
    def squared(self) -> float:
        """Nothing is answered."""
        return 0

    def exact(self, records: AdditiveStore, units: int) -> Ints:
        """Return nothing."""
        self.residuals.exact(records, units)
        return np.zeros(0, dtype=np.int64)

    def draw(self, records: AdditiveStore, noise: Noise) -> Array:
        """Return nothing, for which nothing is drawn."""
        return self.exact(records, noise.units) / noise.units


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lacking(SumsQuery):
    """Sums of residuals under released scores, whole: of each bin, shape (bins of all terms, outputs), or of all."""

    terms: Terms
    scores: Moves  # The scores of the bins of each term, and of none of them
    classes: bool
    clip: float
    in_bins: bool  # Whether in each bin of each term; else one sum of all records, shape (outputs,)
    curved: float = 0.0  # As of :class:`Residuals`

    @property
    def squared(self) -> float:
        """A record adds a vector of at most 1 to one bin of each term, or to the one sum."""
        return len(self.terms.sizes) if self.in_bins else 1

    def exact(self, records: AdditiveStore, units: int) -> Ints:
        """Return the sums."""
        start, outputs = self.scores.shift, len(self.scores.shift)
        binned, times = records.binned(self.terms, outputs)
        codes = records.packed(self.terms, outputs)
        # In the same pass as the rounds, so that what a record adds cannot depend on where it stands.
        fresh = start_scores(len(binned.values), start) + records.offset
        loss = Loss.of(outputs, self.clip, units, classes=self.classes, curved=self.curved)
        moves = Moves(self.scores.step, np.zeros(outputs))
        sums, _ = advance(codes, fresh, binned.values, moves, loss, ONCE if times is None else times)
        # Each record is in one bin of the first term; the sum is right modulo 2^64, as that of the bins is.
        return sums[there(self.terms)] if self.in_bins else sums[0].sum(axis=0)


def there(terms: Terms) -> AnyArray:
    """Return which places of an array of shape (terms, bins) are bins of a term."""
    sizes = terms.sizes
    return np.arange(max(sizes)) < np.array(sizes)[:, None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GainsOfPairs(SumsQuery):
    """The squared error that the cells of pairs explain beyond either attribute, over :func:`gain_reach`."""

    terms: Terms
    start: Array
    pairs: tuple[Crossed, ...]
    classes: bool
    clip: float
    score: float  # Largest score of a cell that counts, relative to the clip
    curved: float = 0.0  # As of :class:`Residuals`

    @property
    def squared(self) -> float:
        """A record moves each gain by at most its reach."""
        return len(self.pairs)

    def exact(self, records: AdditiveStore, units: int) -> Ints:
        """Return the gains under the scores so far."""
        reach = gain_reach(self.score)
        # A little less than the units: what rounding of the gains may add.
        scale = units - 2
        exact = [
            math.floor(gain(sums, counts, PAIR_UNITS, self.score) / reach * scale)
            for sums, counts in self._coarse(records)
        ]
        return wrapped(exact)

    def _coarse(self, records: AdditiveStore) -> list[tuple[AnyArray, Ints]]:
        """Return the exact sums of residuals and numbers of records in the coarse cells of each pair."""
        # The gains are no linear functions of the sums, so that these must not wrap around: they are added up in blocks
        # of records, whose sums fit 64 bits, and then as Python's integers.
        outputs = len(self.start)
        scores, binned = records.scores(self.terms, self.start), records.repeated(self.terms, outputs)
        codes = codes_of(self.pairs, binned.codes)
        still = Moves(np.zeros((len(self.pairs), max(pair.n_cells for pair in self.pairs), outputs)), np.zeros(outputs))
        loss = Loss.of(outputs, self.clip, PAIR_UNITS, classes=self.classes, curved=self.curved)
        total = np.zeros(still.step.shape, object)
        for first in range(0, len(binned.values), BLOCK):
            part = slice(first, first + BLOCK)
            total += advance(codes[:, part], scores[:, part], binned.values[part], still, loss)[0]
        return [
            (sums[: pair.n_cells].reshape(*pair.shape, outputs), count.reshape(pair.shape))
            for pair, sums, count in zip(self.pairs, total, _counts(self.pairs, codes), strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InLeaves(SumsQuery):
    """Sums of residuals in the leaves of some terms, visited in turn: scores move by what each term's answer says.

    Shape (visited terms, leaves, outputs), in ones of the clip.
    """

    terms: Terms
    start: Array
    places: slice  # The terms that are visited
    leaf_of: Ints  # Leaf of each bin of these; shape (visited terms, bins)
    sizes: Array  # Released numbers of records of their leaves; shape (visited terms, leaves)
    rate: float  # What a mean residual is worth; with 0 scores stay
    classes: bool
    clip: float

    @property
    def squared(self) -> float:
        """In each step a record adds a vector of at most 1 to one leaf."""
        return len(self.leaf_of)

    def draw(self, records: AdditiveStore, noise: Noise) -> Array:
        """Return the sums, each with its noise before the next term is visited."""
        # Noise does not depend on the sums, so that it can be drawn before them.
        drawn = noise.draw((*self.sizes.shape, len(self.start)))
        return self._visited(records, drawn, noise.units) / noise.units

    def exact(self, records: AdditiveStore, units: int) -> Ints:
        """Return the sums without noise."""
        return self._visited(records, np.zeros((*self.sizes.shape, len(self.start)), dtype=np.int64), units)

    def _visited(self, records: AdditiveStore, drawn: Ints, units: int) -> Ints:
        scores, binned = records.scores(self.terms, self.start), records.repeated(self.terms, len(self.start))
        loss = Loss.of(len(scores), self.clip, units, classes=self.classes)
        out, factor = np.empty_like(drawn), self.rate * self.clip / units
        visit(
            binned.codes[self.places], scores, binned.values, Leaves(self.leaf_of, self.sizes, drawn), factor, loss, out
        )
        return out
