"""Penalised additive models: few rounds of noisy residual sums for all terms at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from glassine.data.slices import Progress
from glassine.learners.additive.boosting import Interactions
from glassine.learners.additive.budget import Mechanism, Parts
from glassine.learners.additive.grids import Axis
from glassine.learners.additive.pairs import (
    COARSE,
    Pair,
    candidates,
    cells_of_pair,
    chance,
    codes_of,
    release_counts,
    release_gains,
)
from glassine.learners.additive.publishing import COUNT_SHARE, SELECT_SHARE, Shapes, most_pairs, ordered, pair_bins
from glassine.learners.additive.records import Binned
from glassine.learners.additive.smoothing import Cells, Descent, Rounds, cells_of
from glassine.learners.additive.sums import Packed, advance, pack, start_scores
from glassine.learners.additive.targets import Base
from glassine.records.arrays import AnyArray, Array, Ints

CURVATURE = 0.5
"""How much of its curvature a record adds to their sum, beside 1 to each term."""

NARROW = 0.6
"""Clip of the residuals for the choice of pairs, relative to that of the rounds."""

SELECT_UNITS = 2**30
"""Units of the clip for the choice of pairs."""

LACK_SHARE = 0.05
"""Share of the rounds' squared mu for the sum of residuals that sets the intercept: at epsilon 1 its noise is about
twenty records, less than half of a hundredth of 5,000."""

BLOCK = 2**32
"""Records whose residuals, of at most so many units, certainly add up within 64 bits."""

PROOF = "learners/additive/penalized.md"

EventT = TypeVar("EventT")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class FittedPairs:
    """The pairs of a fit, in the order of the last of its scores."""

    pairs: tuple[Pair, ...] = ()
    counts: tuple[Array, ...] = ()  # Noisy joint counts; shape (cells,) for each pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """Records of the second class that the predictions lack, with noise, and its standard deviation."""

    total: float
    deviation: float


NO_PAIRS: FittedPairs = FittedPairs()
"""A fit without pairs."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class _Passes:
    """The records that the passes read, and their scores, shape (outputs, n), which the passes change in place."""

    binned: Binned
    scores: Array
    classes: bool

    def packed(self, terms: Sequence[Cells], more: AnyArray | None = None) -> Packed:
        """Return the bins of all terms."""
        codes = self.binned.codes if more is None else np.concatenate([self.binned.codes.astype(np.uint16), more])
        return pack(codes, [cells.n_bins for cells in terms], len(self.scores))

    def advance(self, codes: AnyArray | Packed, step: Array, shift: Array, clip: float, units: int) -> tuple[Ints, int]:
        """Move the scores, and return the sums of residuals and of curvatures."""
        values = self.binned.values
        return advance(codes, self.scores, values, step, shift, classes=self.classes, clip=clip, units=units)

    def part(self, where: slice) -> _Passes:
        """Return some of the records; their scores are the same memory."""
        return replace(self, binned=self.binned.part(where), scores=self.scores[:, where])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage(Generic[EventT]):
    """Rounds with the same noise."""

    rounds: Rounds
    mechanism: Mechanism[EventT]
    progress: Progress | None
    done: int
    all: int

    def run(
        self, records: _Passes, terms: Sequence[Cells], codes: Packed, base: Base, before: Descent | None
    ) -> tuple[Descent, EventT]:
        """Run the rounds; the scores of the records are those after the last of them."""
        # Squares of mu add up over the rounds. In each a record adds at most 1 to one bin of every term, and half to
        # the curvature.
        noise = self.mechanism.sums(len(terms) + CURVATURE**2, times=self.rounds.number)
        clip, outputs = self.rounds.clip, len(base.start)
        descent = Descent(terms, base, self.rounds, (clip * noise.deviation) ** 2, before)
        there = descent.there
        step, shift = np.zeros((*there.shape, outputs)), np.zeros(outputs)
        # A record's curvature is relative to the largest that its loss can have.
        most_curved = 0.25 if records.classes and outputs == 1 else 1.0
        for number in range(self.rounds.number):
            # The step of the round before is made in the pass that sums the residuals of this one: one pass a round.
            exact, curvature = records.advance(codes, step, shift, clip, noise.units)
            released = noise.release(np.append(exact[there], curvature))
            sums = np.zeros_like(step)
            sums[there] = (released[:-1] * clip).reshape(-1, outputs)
            step, shift = descent.take(sums, float(released[-1]) / CURVATURE * most_curved)
            if self.progress is not None:
                self.progress(self.done + number + 1, self.all)
        # The scores after the last round are not read.
        if self.done + self.rounds.number < self.all:
            records.advance(codes, step, shift, clip, noise.units)
        event = noise.event("sums of residuals in bins", descent.size + 1, proof=PROOF, count=self.rounds.number)
        return descent, event


def fit_rounds(
    binned: Binned,
    axes: Sequence[Axis],
    *,
    base: Base,
    classes: bool,
    rounds: Rounds,
    wish: PairWish,
    mechanism: Mechanism[EventT],
    progress: Progress | None,
) -> tuple[Shapes, FittedPairs, Lack | None, list[EventT]]:
    """Fit the scores of all terms, and of the pairs that are named or chosen.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise: in each round one record adds to one bin
    of each term and to one cell of each pair, a vector no longer than the clip; the choice of pairs and their counts
    are releases of their own, and a filter keeps all of them within ``mu``. See ``penalized.md``.
    """
    records = _Passes(binned=binned, scores=start_scores(len(binned.values), base.start), classes=classes)
    terms = [cells_of(axis) for axis in axes]
    # What is released later depends on what was released: the filter holds all of it within mu.
    packed, parts = records.packed(terms), mechanism.parts()

    def stage(number: int, part: float, done: int) -> _Stage[EventT]:
        own = replace(rounds, number=number)
        return _Stage(rounds=own, mechanism=parts.share(part), progress=progress, done=done, all=rounds.number)

    wanted = wish.interactions.wanted and len(axes) > 1
    early = rounds.number // 2
    spared = LACK_SHARE if classes and len(base.start) == 1 else 0.0
    if not early or (not wanted and rounds.early == 0.5):
        # Equal noise throughout.
        descent, event = stage(rounds.number, 1.0 - spared, 0).run(records, terms, packed, base, None)
        shapes = ordered(descent.shapes(), axes, wish.monotone)
        lack, more_events = _lack(records, packed, shapes, parts, spared)
        return shapes, NO_PAIRS, lack, [event, *more_events]
    descent, event = stage(early, rounds.early, 0).run(records, terms, packed, base, None)
    events, left = [event], 1 - rounds.early - spared
    fitted = NO_PAIRS
    if wanted:
        pairs, spent = wish.choose(axes, descent, records, base, parts, events)
        left -= spent
        if pairs:
            more = codes_of(pairs, binned.codes)
            counts, safe, event = release_counts(pairs, more, parts.share(COUNT_SHARE))
            events.append(event)
            left -= COUNT_SHARE
            terms += [cells_of_pair(pair, count) for pair, count in zip(pairs, safe, strict=True)]
            packed = records.packed(terms, more)
            fitted = FittedPairs(pairs=tuple(pairs), counts=tuple(counts))
    descent, event = stage(rounds.number - early, left, early).run(records, terms, packed, base, descent)
    shapes = ordered(descent.shapes(), axes, wish.monotone)
    lack, more_events = _lack(records, packed, shapes, parts, spared)
    return _centred(shapes, fitted.pairs), fitted, lack, [*events, event, *more_events]


def _lack(
    records: _Passes, codes: Packed, shapes: Shapes, parts: Parts[EventT], share: float
) -> tuple[Lack | None, list[EventT]]:
    """Release the sum of all residuals under the published scores, none of them clipped.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise: a residual of two classes is at most 1 in
    size. See ``penalized.md``.
    """
    if not share:
        return None, []
    noise = parts.share(share).sums(1)
    widest = max(len(scores) for scores in shapes.scores)
    step = np.stack([np.pad(scores, ((0, widest - len(scores)), (0, 0))) for scores in shapes.scores])
    fresh = start_scores(len(records.binned.values), shapes.intercept)
    still = np.zeros(1)
    values = records.binned.values
    # In the same pass as the rounds, so that what a record adds cannot depend on where it stands.
    sums, _ = advance(codes, fresh, values, step, still, classes=True, clip=1.0, units=noise.units)
    # Each record is in one bin of the first term; the sum is right modulo 2^64, as that of the bins is.
    released = noise.release(sums[0].sum(axis=0))
    event = noise.event("sum of residuals", 1, proof=PROOF)
    return Lack(total=float(released[0]), deviation=noise.deviation), [event]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairWish:
    """Which pairs a fit may give a term."""

    interactions: Interactions  # The parameter of the estimator
    # Numbers whose scores must be in order, and whether upwards; none of them is in a chosen pair.
    monotone: Mapping[str, bool]
    strength: float  # Of the released signal: see :func:`~glassine.learners.additive.publishing.strength`

    def choose(
        self,
        axes: Sequence[Axis],
        descent: Descent,
        records: _Passes,
        base: Base,
        parts: Parts[EventT],
        events: list[EventT],
    ) -> tuple[list[Pair], float]:
        """Return the pairs, and the share of the squared mu that their choice has cost."""
        most = pair_bins(self.strength)
        interactions = self.interactions
        if interactions.named:
            where = {axis.grid.attribute: k for k, axis in enumerate(axes)}
            named = [(where[a], where[b]) for a, b in interactions.named if a in where and b in where]
            return [Pair.of(axes, a, b, most) for a, b in named], 0.0
        number = interactions.number
        compared = [Pair.of(axes, j, k, COARSE) for j, k in candidates(axes, descent.now, number or 0, self.monotone)]
        if not compared:
            return [], 0.0
        clip = NARROW * descent.rounds.clip
        sums, counts = _coarse_sums(records, compared, clip)
        gains, event = release_gains(compared, sums, counts, SELECT_UNITS, parts.share(SELECT_SHARE))
        events.append(event)
        by_chance = chance(compared, base, clip)
        pairs = gains.clear(most_pairs(self.strength), by_chance) if number is None else gains.best(number)
        return [Pair.of(axes, j, k, most) for j, k in pairs], SELECT_SHARE


def _coarse_sums(
    records: _Passes, compared: Sequence[Pair], clip: float
) -> tuple[list[npt.NDArray[np.object_]], list[Ints]]:
    """Return the exact sums of residuals and numbers of records in the coarse cells of some pairs."""
    # The gains are no linear functions of the sums, so that these must not wrap around: they are added up in blocks of
    # records, whose sums fit 64 bits, and then as Python's integers.
    codes, (outputs, n) = codes_of(compared, records.binned.codes), records.scores.shape
    still = np.zeros((len(compared), max(pair.n_cells for pair in compared), outputs))
    total = np.zeros(still.shape, dtype=object)
    for first in range(0, n, BLOCK):
        part = records.part(slice(first, first + BLOCK))
        total += part.advance(codes[:, first : first + BLOCK], still, np.zeros(outputs), clip, SELECT_UNITS)[0]
    cells = [(pair, part[: pair.n_cells]) for pair, part in zip(compared, total, strict=True)]
    counts = [np.bincount(row, minlength=pair.n_cells) for pair, row in zip(compared, codes, strict=True)]
    return (
        [part.reshape(*pair.shape, outputs) for pair, part in cells],
        [count.astype(np.int64).reshape(pair.shape) for pair, count in zip(compared, counts, strict=True)],
    )


def _centred(shapes: Shapes, pairs: Sequence[Pair]) -> Shapes:
    """Return the shapes with each pair's mean, under independence, in the intercept."""
    if not pairs:
        return shapes
    scores, intercept = list(shapes.scores), shapes.intercept.copy()
    for at, pair in enumerate(pairs, start=len(scores) - len(pairs)):
        mean = np.outer(*pair.shares).reshape(-1) @ scores[at]
        scores[at] = scores[at] - mean
        intercept += mean
    return Shapes(scores=tuple(scores), errors=shapes.errors, intercept=intercept)
