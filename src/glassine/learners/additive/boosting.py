"""Explainable boosting as published: cyclic, of random splits in a form whose bound holds, or of the best ones."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from glassine.compiling.slices import Progress
from glassine.domain import Domain
from glassine.errors import InvalidParameterError, parameter
from glassine.learners.additive.additive_budget import RESERVED, GaussianBudget, usable
from glassine.learners.additive.choices import Pairs
from glassine.learners.additive.published_scores import Shapes
from glassine.privacy.conversions import mu_from_epsilon
from glassine.privacy.randomness import Randomness
from glassine.records.arrays import Array, Ints
from glassine.sealed.gaussian import Drawing, SumsOracle
from glassine.sealed.noisy_sums import Portion, SumsRelease
from glassine.sealed.released_bins import Terms
from glassine.sealed.residuals import InLeaves

# Which pairs of attributes a fit may give a term: named by the user, a number of them, or by a public rule.


MOST = 30
"""Largest number of pairs that may be asked for: more than are compared by default, and than a reader looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interactions:
    """The public wish for pairs."""

    number: int | None = 0  # How many pairs are chosen privately; None leaves it to the public rule
    named: tuple[tuple[str, str], ...] = ()  # Pairs that the user names; then none is chosen

    @property
    def wanted(self) -> bool:
        """Whether there may be any."""
        return self.number != 0 or bool(self.named)

    @property
    def kind(self) -> Pairs:
        """Whether there are any, and whether the rule chooses them."""
        return ("rule" if self.number is None else "stated") if self.wanted else "none"

    @property
    def stated(self) -> list[list[str]] | str | int:
        """What the certificate says of it."""
        if self.named:
            return [list(pair) for pair in self.named]
        return "auto" if self.number is None else self.number


NO_INTERACTIONS: Interactions = Interactions()
"""No pairs."""


def check_interactions(interactions: object, domain: Domain, ordered: Collection[str] = ()) -> Interactions:
    """Return the wish for pairs."""
    if isinstance(interactions, str):
        if interactions != "auto":
            raise InvalidParameterError(
                f"{parameter('interactions')} must be a number, 'auto' or pairs of attributes, got {interactions!r}."
            )
        return Interactions(number=None)
    if isinstance(interactions, int | np.integer) and not isinstance(interactions, bool):
        if not 0 <= interactions <= MOST:
            raise InvalidParameterError(
                f"{parameter('interactions')} must be a number in [0, {MOST}], got {interactions}.",
                remedy="Use 'auto'.",
            )
        return Interactions(number=int(interactions))
    if isinstance(interactions, bool | dict) or not isinstance(interactions, Iterable):
        raise InvalidParameterError(
            f"{parameter('interactions')} must be a number, 'auto' or pairs of attributes, got {interactions!r}."
        )
    named: list[tuple[str, str]] = []
    for pair in interactions:
        names = tuple(pair) if isinstance(pair, list | tuple) else ()
        if len(names) != 2 or not all(isinstance(name, str) and name in domain for name in names):
            raise InvalidParameterError(
                f"{parameter('interactions')} must name pairs of attributes of the domain, such as "
                f"({domain.names[0]!r}, ...), "
                f"got {pair!r}."
            )
        if names[0] == names[1] or any(set(names) == set(old) for old in named):
            raise InvalidParameterError(
                f"{parameter('interactions')} must name two attributes, each pair once, got {pair!r}."
            )
        barred = [name for name in names if name in ordered]
        if barred:
            raise InvalidParameterError(
                f"{parameter('interactions')} name {barred[0]!r}, whose scores must be in order: a pair would break "
                "the order.",
                remedy="Leave one of the two out.",
            )
        named.append((names[0], names[1]))
    return Interactions(number=0, named=tuple(named))


ACCOUNTINGS = ("gdp", "classic")

BIN_SHARE = 0.1
"""Share of the budget for the bins: what interpret, the authors' package, has by default."""

PROOF = "learners/additive/boosting.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosting:
    """Public choices of boosting; the defaults are those of the paper."""

    # epochs, leaves, bins: rounds over all terms, leaves of each tree, bins of a number.
    epochs: int = 300
    leaves: int = 3
    bins: int = 32
    rate: float = 0.01  # Learning rate
    # Largest size of a residual: half the range of a number, which is in [-1, 1]; of classes it bounds the vector.
    clip: float = 1.0


def stage_mu(budget: GaussianBudget, accounting: str, share: float) -> float:
    """Return the mu, for one record, of all releases of a stage that may cost a share of the budget.

    Guarantee
    ---------
    none. As published, a stage gets its share of epsilon and half of delta. With ``"gdp"`` it may have the mu
    that these allow; with ``"classic"`` each of its k releases has the noise of Kairouz, Oh and Viswanath (2017),
    Theorem 4.3, whose k cancels in the mu of all of them. See ``boosting.md``.
    """
    epsilon, delta = usable(float(budget.epsilon)) * share, float(budget.delta) / 2 * (1 - RESERVED)
    mu = mu_from_epsilon(epsilon, delta)
    if accounting == "classic":
        mu = min(mu, epsilon / math.sqrt(8 * math.log(math.e + epsilon / delta)))
    return mu / budget.unit.most_records


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Visits:
    """What boosting visits: public or released of each term's bins, and what it may ask."""

    terms: Terms  # The bins
    boosting: Boosting
    start: Array  # Scores before any step, zeros; shape (outputs,)
    classes: bool  # Whether the target is a class
    counts: Array  # Released numbers of records, at least 0; shape (terms, bins)
    drawing: Drawing

    def ask(self, places: slice, leaf_of: Ints, sizes: Array, rate: float) -> Array:
        """Return the sums of residuals in the leaves of some terms, in ones; scores move at a rate."""
        question = InLeaves(
            terms=self.terms,
            start=self.start,
            places=places,
            leaf_of=leaf_of,
            sizes=sizes,
            rate=rate,
            classes=self.classes,
            clip=self.boosting.clip,
        )
        return self.drawing.ask(question) * self.boosting.clip


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSplits:
    """Line 14 of the paper's Algorithm 2: random splits, which look at no record."""

    randomness: Randomness

    def epoch(self, visits: Visits, leaves: int) -> Iterator[tuple[slice, Ints]]:
        """Yield terms that are visited next, all at once, and the leaf of each of their bins, shape (terms, bins)."""
        widest = visits.counts.shape[1]
        drawn = [_random_leaves(size, leaves, widest, self.randomness) for size in visits.terms.sizes]
        yield slice(None), np.stack(drawn)


@dataclass(frozen=True, slots=True)
class BestSplits:
    """Line 14 of the paper's Algorithm 1: the splits that explain most of the residuals, found one after the other.

    Guarantee
    ---------
    none: they are read off exact sums, and belong to fits without noise alone.
    """

    def epoch(self, visits: Visits, leaves: int) -> Iterator[tuple[slice, Ints]]:
        """Yield term by term, each by the residuals that the terms before it left."""
        for k, size in enumerate(visits.terms.sizes):
            place, widest = slice(k, k + 1), visits.counts.shape[1]
            # With a rate of nothing scores stay: these are the sums of each bin.
            sums = visits.ask(place, np.arange(widest)[None], np.ones((1, widest)), 0.0)[0, :size]
            leaf_of = np.zeros((1, widest), dtype=np.int64)
            leaf_of[0, :size] = _best_leaves(sums / visits.boosting.clip, visits.counts[k, :size], leaves)
            yield place, leaf_of


Splits: TypeAlias = RandomSplits | BestSplits
"""How the trees of an epoch get their leaves."""


def _best_leaves(sums: Array, counts: Array, leaves: int) -> Ints:
    """Return the leaf of each bin: of the runs so far, the one is cut that explains most by it, at its best place."""
    below, sizes = np.cumsum(sums, axis=0), np.cumsum(np.maximum(counts, 0.0))
    borders = [0, len(sums)]
    while len(borders) <= leaves:
        best = (0.0, 0)
        for start, end in pairwise(borders):
            if end - start < 2:
                continue
            before, none = (below[start - 1], sizes[start - 1]) if start else (np.zeros(sums.shape[1]), 0.0)
            left, left_size = below[start : end - 1] - before, sizes[start : end - 1] - none
            whole, size = below[end - 1] - before, sizes[end - 1] - none
            # Squares over records: what the mean of each side explains, beyond that of both.
            gains = (
                (left**2).sum(axis=1) / np.maximum(left_size, 1.0)
                + ((whole - left) ** 2).sum(axis=1) / np.maximum(size - left_size, 1.0)
                - (whole**2).sum() / max(float(size), 1.0)
            )
            place = int(gains.argmax())
            best = max(best, (float(gains[place]), start + place + 1), key=lambda pair: pair[0])
        if not best[1]:
            break
        borders = sorted([*borders, best[1]])
    return np.repeat(np.arange(len(borders) - 1), np.diff(borders))


def boost(
    oracle: SumsOracle,
    portion: Portion,
    terms: Terms,
    *,
    n_classes: int,
    boosting: Boosting,
    splits: Splits,
    progress: Progress | None,
) -> Shapes:
    """Fit the scores of all terms by the paper's Algorithm 2, or without noise and with the best splits Algorithm 1.

    Several classes have a score each.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise, with :class:`RandomSplits` of bits of
    their own: in each step one record is in one leaf, to whose sums it adds a residual, or a vector of residuals, no
    longer than the clip; see ``boosting.md``.
    """
    axes: tuple[Any, ...] = terms.axes
    widest, outputs = max(terms.sizes), n_classes if n_classes > 2 else 1
    # Squares of mu add up over the steps; in each a record adds at most 1, in one leaf.
    release = SumsRelease(
        name="sums of residuals in leaves",
        squared=1,
        values=boosting.leaves * outputs,
        proof=PROOF,
        times=boosting.epochs * len(axes),
    )
    counts = np.zeros((len(axes), widest))
    for k, axis in enumerate(axes):
        counts[k, : axis.n_bins] = np.maximum(axis.counts, 0.0)
    visits = Visits(
        terms=terms,
        boosting=boosting,
        start=np.zeros(outputs),
        classes=n_classes > 0,
        counts=counts,
        drawing=oracle.release(release, portion),
    )
    total, square = np.zeros((len(axes), widest, outputs)), np.zeros((len(axes), widest))
    for epoch in range(boosting.epochs):
        for part, leaf_of in splits.epoch(visits, boosting.leaves):
            sizes = np.zeros((len(leaf_of), boosting.leaves))
            np.add.at(sizes, (np.arange(len(leaf_of))[:, None], leaf_of), counts[part])
            at_least = np.maximum(sizes, 1.0)
            steps = boosting.rate * visits.ask(part, leaf_of, sizes, boosting.rate) / at_least[..., None]
            total[part] += np.take_along_axis(steps, leaf_of[..., None], axis=1)
            spread = boosting.rate * boosting.clip * visits.drawing.deviation / at_least
            square[part] += np.take_along_axis(spread, leaf_of, axis=1) ** 2
        if progress is not None:
            progress(epoch + 1, boosting.epochs)
    shapes, errors, intercept = [], [], np.zeros(outputs)
    for k, axis in enumerate(axes):
        weights = np.maximum(axis.counts, 1.0)
        score = total[k, : axis.n_bins]
        middle = weights @ score / weights.sum()
        shapes.append(score - middle)
        errors.append(np.repeat(np.sqrt(square[k, : axis.n_bins])[:, None], outputs, axis=1))
        intercept += middle
    return Shapes(scores=tuple(shapes), errors=tuple(errors), intercept=intercept)


def _random_leaves(bins: int, leaves: int, widest: int, randomness: Randomness) -> Ints:
    """Return the leaf of each bin of a tree with random different splits."""
    cuts: set[int] = set()
    while len(cuts) < min(leaves - 1, bins - 1):
        cuts.add(1 + randomness.below(bins - 1))
    out = np.zeros(widest, dtype=np.int64)
    for cut in cuts:
        out[cut:] += 1
    return out
