"""Penalised additive models: few rounds of noisy residual sums for all terms at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassine.compiling.slices import Progress
from glassine.learners.additive.boosting import Interactions
from glassine.learners.additive.choices import (
    BINS_OF_PAIRS,
    CLEAR,
    COUNT_SHARE,
    NUMBER_OF_PAIRS,
    SELECT_SHARE,
    SHARE_BY_RULE,
)
from glassine.learners.additive.pairs import (
    COARSE,
    SCORE,
    Pair,
    candidates,
    cells_of_pair,
    chance,
    release_counts,
    release_gains,
)
from glassine.learners.additive.published_scores import Shapes, ordered
from glassine.learners.additive.smoothing import Descent, Rounds, TermCells, cells_of
from glassine.learners.additive.targets import Base
from glassine.records.arrays import Array
from glassine.sealed.gaussian import SumsOracle
from glassine.sealed.noisy_sums import Portion, SumsRelease
from glassine.sealed.released_bins import Terms
from glassine.sealed.residuals import CURVATURE, GainsOfPairs, Lacking, Moved, Residuals
from glassine.sealed.sums import Moves

NARROW = 0.6
"""Clip of the residuals for the choice of pairs, relative to that of the rounds."""

LACK_SHARE = 0.05
"""Share of the rounds' squared mu for the sum of residuals that sets the intercept: at epsilon 1 its noise is about
twenty records, less than half of a hundredth of 5,000."""

MOST_BENT, LEAST_BENT = 3.0, 0.1
"""Largest score by which a bin's curvature is bent, and the least records that a bin counts as."""

PROOF = "learners/additive/penalized.md"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class FittedPairs:
    """The pairs of a fit, in the order of the last of its scores."""

    pairs: tuple[Pair, ...] = ()
    counts: tuple[Array, ...] = ()  # Noisy joint counts; shape (cells,) for each pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """Records of the second class, or share of events, that the predictions lack, with noise, and its deviation."""

    total: float
    deviation: float


NO_PAIRS: FittedPairs = FittedPairs()
"""A fit without pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    """Rounds with the same noise."""

    rounds: Rounds
    oracle: SumsOracle
    portion: Portion
    classes: bool
    curved: float  # As of the target's base
    progress: Progress | None
    done: int
    all: int

    def run(self, terms: Terms, cells: Sequence[TermCells], base: Base, before: Descent | None) -> Descent:
        """Run the rounds; the scores of the records are those after the last of them."""
        # Squares of mu add up over the rounds. In each a record adds at most 1 to one bin of every term, and half to
        # the curvature.
        outputs, number = len(base.start), self.rounds.number
        release = SumsRelease(
            name="sums of residuals in bins",
            squared=len(cells) + CURVATURE**2,
            values=sum(terms.sizes) * outputs + 1,
            proof=PROOF,
            times=number,
        )
        drawing = self.oracle.release(release, self.portion)
        clip = self.rounds.clip
        descent = Descent(cells, base, self.rounds, (clip * drawing.deviation) ** 2, before)
        there = descent.there
        moves = Moves(np.zeros((*there.shape, outputs)), np.zeros(outputs))
        # A record's curvature is relative to the largest that its loss can have, or that counts in full.
        most_curved = self.curved or (0.25 if self.classes and outputs == 1 else 1.0)

        def question() -> Residuals:
            return Residuals(
                terms=terms, start=base.start, moves=moves, classes=self.classes, clip=clip, curved=self.curved
            )

        for place in range(number):
            # The step of the round before is made in the pass that sums the residuals of this one: one pass a round.
            released = drawing.ask(question())
            sums = np.zeros_like(moves.step)
            sums[there] = (released[:-1] * clip).reshape(-1, outputs)
            moves = Moves(*descent.take(sums, float(released[-1]) / CURVATURE * most_curved))
            if self.progress is not None:
                self.progress(self.done + place + 1, self.all)
        # The scores after the last round are not read.
        if self.done + number < self.all:
            drawing.ask(Moved(residuals=question()))
        return descent


def fit_rounds(
    oracle: SumsOracle,
    portion: Portion,
    terms: Terms,
    *,
    base: Base,
    rounds: Rounds,
    wish: PairWish,
    progress: Progress | None,
) -> tuple[Shapes, FittedPairs, Lack | None]:
    """Fit the scores of all terms, and of the pairs that are named or chosen.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise: in each round one record adds to one bin
    of each term and to one cell of each pair, a vector no longer than the clip; the choice of pairs and their counts
    are releases of their own, and a filter keeps all of them within ``mu``. See ``penalized.md``.
    """
    axes: tuple[Any, ...] = terms.axes
    cells, classes = [cells_of(axis) for axis in axes], base.shares is not None

    def stage(number: int, part: float, done: int) -> _Stage:
        return _Stage(
            rounds=replace(rounds, number=number),
            oracle=oracle,
            portion=portion.part(part),
            classes=classes,
            curved=base.curved,
            progress=progress,
            done=done,
            all=rounds.number,
        )

    wanted = wish.interactions.wanted and len(axes) > 1
    early = rounds.number // 2
    spared = LACK_SHARE if (classes or base.curved) and len(base.start) == 1 else 0.0
    if not early or (not wanted and rounds.early == 0.5 and not base.curved):
        # Equal noise throughout.
        descent = stage(rounds.number, 1.0 - spared, 0).run(terms, cells, base, None)
        shapes = ordered(descent.shapes(), axes, wish.monotone)
        return shapes, NO_PAIRS, _lack(oracle, portion.part(spared), terms, shapes, base)
    descent = stage(early, rounds.early, 0).run(terms, cells, base, None)
    if base.curved:
        # Of counts a bin's curvature is its sum of means, which the scores so far say.
        cells = [bent(one, now) for one, now in zip(cells, descent.now, strict=True)]
    # What is released later depends on what was released: a filter holds all of it within mu.
    left = 1 - rounds.early - spared
    fitted = NO_PAIRS
    if wanted:
        pairs, spent = wish.choose(terms, descent, base, oracle, portion)
        left -= spent
        if pairs:
            counts, positive = release_counts(oracle, portion.part(COUNT_SHARE), terms, pairs, len(base.start))
            left -= COUNT_SHARE
            cells += [cells_of_pair(pair, count) for pair, count in zip(pairs, positive, strict=True)]
            terms = replace(terms, pairs=pairs)
            fitted = FittedPairs(pairs=pairs, counts=tuple(counts))
    descent = stage(rounds.number - early, left, early).run(terms, cells, base, descent)
    shapes = ordered(descent.shapes(), axes, wish.monotone)
    lack = _lack(oracle, portion.part(spared), terms, shapes, base)
    return _centred(shapes, fitted.pairs), fitted, lack


def bent(cells: TermCells, scores: Array) -> TermCells:
    """Return the cells of a term with counts that stand for the curvature of counts of events under released scores.

    Guarantee
    ---------
    none: a function of what was released.
    """
    growth = np.exp(np.clip(scores[:, 0], -MOST_BENT, MOST_BENT))
    growth /= cells.counts @ growth / cells.counts.sum()
    return replace(cells, counts=np.maximum(cells.counts * growth, LEAST_BENT))


def _lack(oracle: SumsOracle, portion: Portion, terms: Terms, shapes: Shapes, base: Base) -> Lack | None:
    """Release the sum of all residuals under the published scores, none of them clipped.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise: a residual of two classes, or of a
    count, is at most 1 in size. See ``penalized.md``.
    """
    if not portion.share:
        return None
    widest = max(terms.sizes)
    step = np.stack([np.pad(scores, ((0, widest - len(scores)), (0, 0))) for scores in shapes.scores])
    scores = Moves(step, np.asarray(shapes.intercept, dtype=np.float64))
    question = Lacking(
        terms=terms, scores=scores, classes=base.shares is not None, clip=1.0, in_bins=False, curved=base.curved
    )
    release = SumsRelease(name="sum of residuals", squared=question.squared, values=1, proof=PROOF)
    drawing = oracle.release(release, portion)
    return Lack(total=float(drawing.ask(question)[0]), deviation=drawing.deviation)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairWish:
    """Which pairs a fit may give a term."""

    interactions: Interactions  # The parameter of the estimator
    # Numbers whose scores must be in order, and whether upwards; none of them is in a chosen pair.
    monotone: Mapping[str, bool]
    strength: float  # Of the released signal: see :func:`~glassine.learners.additive.choices.strength`

    def choose(
        self, terms: Terms, descent: Descent, base: Base, oracle: SumsOracle, portion: Portion
    ) -> tuple[tuple[Pair, ...], float]:
        """Return the pairs, and the share of the squared mu that their choice has cost."""
        most = BINS_OF_PAIRS.whole(self.strength)
        interactions, axes = self.interactions, list[Any](terms.axes)
        if interactions.named:
            where = {axis.grid.attribute: k for k, axis in enumerate(axes)}
            named = [(where[a], where[b]) for a, b in interactions.named if a in where and b in where]
            return tuple(Pair.of(axes, a, b, most) for a, b in named), 0.0
        number = interactions.number
        compared = [Pair.of(axes, j, k, COARSE) for j, k in candidates(axes, descent.now, number or 0, self.monotone)]
        if not compared:
            return (), 0.0
        clip = NARROW * descent.rounds.clip
        question = GainsOfPairs(
            terms=terms,
            start=base.start,
            pairs=tuple(compared),
            classes=base.shares is not None,
            clip=clip,
            score=SCORE,
            curved=base.curved,
        )
        share = SHARE_BY_RULE(self.strength) if number is None else SELECT_SHARE
        gains = release_gains(oracle, portion.part(share), question)
        by_chance = chance(compared, base, clip)
        if number is None:
            pairs = gains.clear(NUMBER_OF_PAIRS.whole(self.strength), CLEAR(self.strength), by_chance)
        else:
            pairs = gains.best(number)
        return tuple(Pair.of(axes, j, k, most) for j, k in pairs), share


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
