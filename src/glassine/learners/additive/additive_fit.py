"""One additive fit, private or ordinary, from records to the published model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import Any, ClassVar, Protocol

import numpy as np

from glassine.compiling.slices import Progress
from glassine.errors import InvalidParameterError, check_choice, parameter
from glassine.learners.additive.additive_budget import GaussianBudget
from glassine.learners.additive.boosting import (
    ACCOUNTINGS,
    BIN_SHARE,
    NO_INTERACTIONS,
    BestSplits,
    Boosting,
    Interactions,
    RandomSplits,
    Splits,
    boost,
    check_interactions,
    stage_mu,
)
from glassine.learners.additive.calibration import calibrate, release_totals
from glassine.learners.additive.choices import LEVELS_OF_DECLARED, MERGE_OF_DECLARED, Choices, choices, strength
from glassine.learners.additive.grids import MERGE, Axis, public_grids, release_bins
from glassine.learners.additive.pairs import terms_of_pairs
from glassine.learners.additive.penalized import NO_PAIRS, FittedPairs, PairWish, fit_rounds
from glassine.learners.additive.published_scores import (
    Frame,
    Shapes,
    check_monotone,
    declared_bins,
    leveled,
    matched,
    ordered,
    publish,
)
from glassine.learners.additive.smoothing import Rounds
from glassine.learners.additive.targets import FIRST, Base, Target, Training, release_base, second_look
from glassine.learners.budget import check_number
from glassine.models import AdditiveModel, CategoryBins, Guarantee, Term
from glassine.models.rounding import check_limits
from glassine.models.scorecard import bin_points
from glassine.records.arrays import Array
from glassine.sealed.gaussian import GaussianOracle, SumsOracle
from glassine.sealed.noisy_sums import Portion
from glassine.sealed.released_bins import Grid, Terms
from glassine.sealed.residuals import Totals

ALGORITHMS = ("penalized", "boosting")

MOST_CALIBRATION = 0.5
"""Largest share of the squared mu for the counts at each total: base, bins and rounds need some."""

CLIPS = (0.01, 1.0)
"""Least and largest clip of a number's residual. The rule's lie within: 0.85 of a deviation in [0.02, 1]; those of a
study may not, and a target in [-1, 1] needs none above half its range."""


OF_COUNTS, CLIPS_OF_COUNTS = 0.85, (1e-3, 1.0)
"""Clip of a count in released deviations, and its least and greatest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a model is rounded to, in public."""

    # max_items, max_points: as in :meth:`~glassine.models.AdditiveModel.to_scorecard`.
    max_items: int
    max_points: int
    share: float  # Share of the squared mu for the counts at each total; 0 for none

    @classmethod
    def of(cls, max_items: Any, max_points: Any, share: object) -> Card:
        """Return the card for parameters as given."""
        check_limits(max_items, max_points)
        checked = check_number(share, "calibration_share", low=0.0, high=MOST_CALIBRATION)
        return cls(max_items=max_items, max_points=max_points, share=checked)

    def most_values(self, n_attributes: int) -> int:
        """Return the most counts that can be released: of two classes at each total."""
        return 2 * (2 * self.max_points * min(self.max_items, n_attributes) + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditivePlan:
    """What is fixed before anything is released."""

    # algorithm, accounting: as in the estimators.
    algorithm: str
    accounting: str
    grids: tuple[Grid, ...]  # The public cells of each attribute
    monotone: dict[str, bool]  # Numbers whose scores must be in order, and whether upwards
    interactions: Interactions = NO_INTERACTIONS  # The public wish for pairs
    override: Choices | None = None  # Choices of a penalised fit instead of those of the public rules, for studies
    card: Card | None = None  # What the model is rounded to; None where it is published as fitted

    @classmethod
    def of(
        cls,
        training: Training,
        *,
        algorithm: Any,
        accounting: Any,
        bins: Any,
        monotone: Any,
        interactions: Any = 0,
        card: Card | None = None,
    ) -> AdditivePlan:
        """Return the plan for parameters as given."""
        for name, value, words in (("algorithm", algorithm, ALGORITHMS), ("accounting", accounting, ACCOUNTINGS)):
            check_choice(value, name, words)
        directions = check_monotone(monotone, training.domain, training.target)
        pairs = check_interactions(interactions, training.domain, directions)
        if pairs.wanted and algorithm == "boosting":
            raise InvalidParameterError(
                f"{parameter('interactions=')}{interactions!r} with {parameter('algorithm', 'boosting')}: it has none.",
                remedy=f"Use {parameter('algorithm', 'penalized')}.",
            )
        if training.target.events is not None and algorithm == "boosting":
            raise InvalidParameterError(
                f"{parameter('objective', 'poisson')} with {parameter('algorithm', 'boosting')}: it has none.",
                remedy=f"Use {parameter('algorithm', 'penalized')}.",
            )
        equal = 2 * Boosting().bins if algorithm == "boosting" else None
        return cls(
            algorithm=algorithm,
            accounting=accounting,
            grids=public_grids(training.domain, bins, equal=equal, declared=declared_bins(training.domain, None)),
            monotone=directions,
            interactions=pairs,
            card=card,
        )

    def public(self, training: Training) -> dict[str, Any]:
        """Return what the certificate names as public."""
        out: dict[str, Any] = {
            "algorithm": self.algorithm,
            "attributes": list(training.domain.names),
            "bins fixed by the user": [grid.attribute for grid in self.grids if grid.fixed],
            "monotone": {name: "increasing" if up else "decreasing" for name, up in self.monotone.items()},
        }
        if self.algorithm == "boosting":
            out["accounting"] = self.accounting
        else:
            out["interactions"] = self.interactions.stated
        if training.target.classes is not None:
            out["classes"] = list(training.target.classes)
        if self.card is not None:
            out |= {"items": self.card.max_items, "points": self.card.max_points, "calibration": self.card.share}
        if training.target.bounds is not None:
            out["range of the target"] = list(training.target.bounds)
        if (events := training.target.events) is not None:
            out["objective"] = "poisson"
            if events.exposure is not None:
                out |= {"exposure": events.exposure, "range of the exposure": [events.low, events.high]}
        return out | dict(training.weights)


UNCLIPPED = 2.0
"""No residual is larger: targets and mean predictions lie in [-1, 1], and shares of classes within a vector of 1.42."""


class Privacy(Protocol):
    """What a fit does for the people in its records: all in which a private fit and an ordinary one differ."""

    @property
    def oracle(self) -> SumsOracle:
        """What it may ask of the records."""
        ...

    @property
    def mu(self) -> float:
        """Gaussian differential privacy of the whole fit for one record."""
        ...

    @property
    def bins(self) -> float | None:
        """Most bins of about equal counts in a penalised fit, infinite for all filled ones; None by the noise."""
        ...

    @property
    def boosting(self) -> Boosting:
        """Choices of boosting."""
        ...

    @property
    def splits(self) -> Splits:
        """How trees of boosting are split."""
        ...

    def stage(self, accounting: str, part: float) -> Portion:
        """Return what a stage of boosting may spend, as the accounting divides the budget."""
        ...

    def clip(self, clip: float) -> float:
        """Return the largest size of a residual, where the rules for private fits say so much."""
        ...

    def claim(self, count_scale: float | None) -> Guarantee | None:
        """Return what the published model states of its guarantee."""
        ...

    def errors(self, deviations: Array) -> Array | None:
        """Return what is published of standard deviations of noise."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Private:
    """A fit within a budget, each release with noise."""

    bins: ClassVar[None] = None
    boosting: ClassVar[Boosting] = Boosting()

    budget: GaussianBudget  # What it may spend
    oracle: GaussianOracle  # The records, behind it

    @property
    def mu(self) -> float:
        """Gaussian differential privacy of the whole fit for one record."""
        return self.budget.mu

    @property
    def splits(self) -> RandomSplits:
        """Random splits: they look at no record."""
        return RandomSplits(randomness=self.oracle.paid.randomness)

    def stage(self, accounting: str, part: float) -> Portion:
        """Return what a stage of boosting may spend."""
        return Portion(mu=stage_mu(self.budget, accounting, part), share=part)

    def clip(self, clip: float) -> float:
        """Return the clip: it is what bounds a record's part."""
        return clip

    def claim(self, count_scale: float | None) -> Guarantee:
        """Return the budget's claim."""
        return self.budget.claim(self.oracle.paid.caveats, count_scale)

    def errors(self, deviations: Array) -> Array:
        """Return the deviations: they follow from what was released."""
        return deviations


@dataclass(frozen=True, slots=True)
class Ordinary:
    """A fit without noise, clip, budget and claim.

    Guarantee
    ---------
    none, and none can be stated: an oracle without noise has no events.
    """

    mu: ClassVar[float] = math.inf
    bins: ClassVar[float] = math.inf
    boosting: ClassVar[Boosting] = Boosting(clip=UNCLIPPED)
    splits: ClassVar[BestSplits] = BestSplits()

    oracle: SumsOracle  # The records

    def stage(self, accounting: str, part: float) -> Portion:
        """Return all: nothing is spent."""
        return self.oracle.whole

    def clip(self, clip: float) -> float:
        """Return a clip that no residual reaches."""
        return UNCLIPPED

    def claim(self, count_scale: float | None) -> None:
        """Claim nothing."""

    def errors(self, deviations: Array) -> None:
        """Publish none: there is no noise."""


def fit_model(
    training: Training, plan: AdditivePlan, privacy: Privacy, *, source: str, progress: Progress | None
) -> AdditiveModel:
    """Release the target's base, the bins and the scores, and return the model.

    Guarantee
    ---------
    Of :class:`Private` the budget's (epsilon, delta): for every outcome, a filter keeps the squared mu of all releases
    within the budget's; see ``additive_fit.md`` and ``privacy/loss_distributions.md``. Of :class:`Ordinary` none.
    """
    run = _Run(training=training, plan=plan, privacy=privacy, source=source, progress=progress)
    stage: Callable[[_Run], AdditiveModel] = _penalized if plan.algorithm == "penalized" else _boosting
    # Matrices of a hundred rows are slower on several threads than on one, many times so where cores are shared.
    with _thread_pools().limit(limits=1, user_api="blas"):
        return stage(run)


@lru_cache(maxsize=1)
def _thread_pools() -> Any:
    return import_module("threadpoolctl").ThreadpoolController()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One fit under way: what is public, and what it may ask."""

    training: Training
    plan: AdditivePlan
    privacy: Privacy
    source: str
    progress: Progress | None

    @property
    def target(self) -> Target:
        """What is to be predicted."""
        return self.training.target

    def portion(self, share: float) -> Portion:
        """Return what may be spent at a share of the squared mu."""
        return self.privacy.oracle.whole.part(share)

    def base(self) -> tuple[Base, float]:
        """Release the target's base; of classes and events perhaps in two looks, as the first says."""
        # The second number is the share of the squared mu that it has cost.
        oracle = self.privacy.oracle
        looks = release_base(self.target, oracle, self.portion(FIRST))
        more = second_look(looks.reliable, self.privacy.mu) if looks.classes or looks.events is not None else 0.0
        if more > 0:
            looks = looks.and_then(release_base(self.target, oracle, self.portion(more)))
        return looks.base, FIRST + more

    def axes(self, portion: Portion, *, quantiles: float | None, merge: float = MERGE) -> list[Axis]:
        """Release the bins of all attributes."""
        return release_bins(self.privacy.oracle, portion, self.plan.grids, quantiles=quantiles, merge=merge)

    def terms(self, axes: Sequence[Axis]) -> Terms:
        """Return the terms of some attributes."""
        return Terms(grids=self.plan.grids, axes=tuple(axes))

    def frame(self, axes: Sequence[Axis]) -> Frame:
        """Return what is published beside the scores."""
        noise = [float(np.sqrt(axis.variances.max())) for axis in axes]
        return Frame(
            domain=self.training.domain,
            target=self.target,
            guarantee=self.privacy.claim(max(noise, default=None)),
            source=self.source,
            errors=self.privacy.errors,
        )

    def published(self, axes: Sequence[Axis], shapes: Shapes, pairs: FittedPairs = NO_PAIRS) -> AdditiveModel:
        """Return the model of the scores of the axes, then of the pairs; those of ordered numbers in their order."""
        frame, n_mains = self.frame(axes), len(axes)
        terms = terms_of_pairs(pairs.pairs, pairs.counts, shapes.scores[n_mains:], shapes.errors[n_mains:], frame)
        mains = Shapes(scores=shapes.scores[:n_mains], errors=shapes.errors[:n_mains], intercept=shapes.intercept)
        return publish(axes, mains, frame, terms)

    def _declared(self, term: Term) -> Term:
        """Return a term in which values outside the domain, if none show, are worth what most records are: no item."""
        bins = term.bins[0]
        if term.weights is None or not isinstance(bins, CategoryBins) or self.training.domain[bins.attribute].missing:
            return term
        if term.weights[-1] > 0:
            return term
        scores = term.scores.copy()
        scores[-1] = scores[term.weights[:-1].argmax()]
        return replace(term, scores=scores)

    def carded(self, model: AdditiveModel, terms: Terms | None) -> AdditiveModel:
        """Return the model in points, calibrated by released counts of each class at each total."""
        wish = self.plan.card
        if wish is None:
            return model
        declared = replace(model, terms=tuple(self._declared(term) for term in model.terms))
        card = declared.to_scorecard(max_items=wish.max_items, max_points=wish.max_points)
        if not wish.share or terms is None or card.scorecard is None:
            return card
        # What a bin is worth follows from the released card; a record's total is the sum of its own.
        worths, worth_of = {term.name: term for term in card.terms}, []
        for axis, fitted in zip(list[Any](terms.axes), model.terms, strict=False):
            by_bin = np.zeros(axis.n_bins, dtype=np.int64)
            if fitted.name in worths:
                points = bin_points(fitted, worths[fitted.name], card.scorecard.unit)
                index = axis.published()[1]
                # From the last on, so that a bin that missing values share has the worth of its own values.
                for place in reversed(range(len(index))):
                    if index[place] >= 0:
                        by_bin[index[place]] = points[place]
            worth_of.append(by_bin)
        risks = card.scorecard.risks
        question = Totals(terms=terms, points=tuple(worth_of), first=-risks[0].points, size=len(risks))
        return calibrate(card, *release_totals(self.privacy.oracle, self.portion(wish.share), question))


def _penalized(run: _Run) -> AdditiveModel:
    (base, spent), classes = run.base(), run.target.classes is not None
    signal = strength(n_terms=len(run.plan.grids), n_records=base.n_records, mu=run.privacy.mu)
    plan = run.plan
    levels = LEVELS_OF_DECLARED.whole(signal)
    # By released figures: how finely records are counted is post-processing.
    grids = tuple(replace(grid, sizes=grid.sizes[:levels]) if grid.starts else grid for grid in plan.grids)
    run = replace(run, plan=replace(plan, grids=grids))
    chosen = plan.override or choices(
        classes=classes or base.curved > 0,
        n_terms=len(plan.grids),
        n_records=base.n_records,
        mu=run.privacy.mu,
        pairs=plan.interactions.kind,
    )
    merge = MERGE_OF_DECLARED(signal)
    axes = run.axes(run.portion(chosen.bin_share), quantiles=run.privacy.bins, merge=merge)
    axes = [axis for axis in axes if axis.useful]
    if not axes:
        return run.carded(run.published([], Shapes(scores=(), errors=(), intercept=base.start)), None)
    left = 1 - spent - chosen.bin_share - (plan.card.share if plan.card is not None else 0.0)
    clip = run.privacy.clip(chosen.clip if classes else clip_of(base, chosen))
    terms = run.terms(axes)
    shapes, pairs, lack = fit_rounds(
        run.privacy.oracle,
        run.portion(left),
        terms,
        base=base,
        rounds=Rounds(number=chosen.rounds, rate=chosen.rate, clip=clip, caution=chosen.caution, early=chosen.early),
        wish=PairWish(interactions=plan.interactions, monotone=plan.monotone, strength=signal),
        progress=run.progress,
    )
    model = run.published(axes, shapes, pairs)
    if base.shares is not None and lack is not None:
        n = base.n_records
        model = matched(
            model,
            share=float(base.shares[1]),
            error=base.share_error,
            lack=lack.total / n,
            deviation=lack.deviation / n,
        )
    if base.curved and lack is not None:
        model = leveled(model, total=base.n_records * float(base.weights[0]), lack=lack.total)
    return run.carded(model, terms)


def clip_of(base: Base, chosen: Choices) -> float:
    """Return the largest size of a residual of a number, or of a count, by what was released of the target."""
    if not base.curved:
        return float(np.clip(chosen.clip * base.deviation, *CLIPS))
    # Of rare events the variance over the mean is about one event; of many, deviations are larger.
    size = max(OF_COUNTS * base.deviation, base.deviation**2 / float(base.weights[0]))
    return float(np.clip(size, *CLIPS_OF_COUNTS))


def _boosting(run: _Run) -> AdditiveModel:
    privacy, accounting = run.privacy, run.plan.accounting
    axes = run.axes(privacy.stage(accounting, BIN_SHARE), quantiles=privacy.boosting.bins)
    # As published: an attribute takes part if it has two bins, however few records they seem to hold.
    axes = [axis for axis in axes if axis.n_bins > 1]
    if not axes:
        return run.published([], Shapes(scores=(), errors=(), intercept=np.zeros(run.target.n_outputs)))
    shapes = boost(
        privacy.oracle,
        privacy.stage(accounting, 1 - BIN_SHARE),
        run.terms(axes),
        n_classes=len(run.target.classes or ()),
        boosting=privacy.boosting,
        splits=privacy.splits,
        progress=run.progress,
    )
    return run.published(axes, ordered(shapes, axes, run.plan.monotone))
