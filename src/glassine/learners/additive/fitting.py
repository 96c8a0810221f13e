"""One private additive fit, from records to the published model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.data.slices import Progress
from glassine.errors import InvalidParameterError
from glassine.learners.additive import boosting as ebm_boosting
from glassine.learners.additive.boosting import (
    ACCOUNTINGS,
    NO_INTERACTIONS,
    Boosting,
    Interactions,
    boost,
    check_interactions,
    stage_mu,
)
from glassine.learners.additive.budget import GaussianBudget
from glassine.learners.additive.descent import Rounds
from glassine.learners.additive.grids import Axis, Grid, bin_counted, public_grids
from glassine.learners.additive.marginals import QUANTILES, Marginals, release_marginals
from glassine.learners.additive.pairs import terms_of_pairs
from glassine.learners.additive.penalized import NO_PAIRS, FittedPairs, fit_rounds
from glassine.learners.additive.publishing import (
    Choices,
    Frame,
    Shapes,
    check_monotone,
    choices,
    in_order,
    publish,
    strength,
)
from glassine.learners.additive.targets import Base, Target, Training, release_base
from glassine.models import AdditiveModel, Term
from glassine.privacy.accounting import Event
from glassine.privacy.loss_distributions import GaussianFilter
from glassine.privacy.randomness import Randomness

__all__ = ["ALGORITHMS", "Fit", "Plan", "fit_model"]

ALGORITHMS = ("penalized", "boosting", "marginals")

BASE_SHARE = 0.01
"""Share of the squared mu for the first look at the target."""

MARGINAL_BINS = 0.15
"""Share of the squared mu for the bins of ``algorithm="marginals"``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is fixed before anything is released.

    Attributes
    ----------
    algorithm, accounting : str
        As in the estimators.
    grids : tuple of Grid
        Public cells of each attribute.
    monotone : dict of str to bool
        Numbers whose scores must be in order, and whether upwards.
    interactions : Interactions
        The public wish for pairs.
    override : Choices or None
        Choices of a penalised fit instead of those of the public rules, for studies.
    """

    algorithm: str
    accounting: str
    grids: tuple[Grid, ...]
    monotone: dict[str, bool]
    interactions: Interactions = NO_INTERACTIONS
    override: Choices | None = None

    @classmethod
    def of(
        cls, training: Training, *, algorithm: Any, accounting: Any, bins: Any, monotone: Any, interactions: Any = 0
    ) -> Plan:
        """Return the plan for parameters as given.

        Raises
        ------
        InvalidParameterError
            If a parameter is unknown or does not fit the domain.
        """
        for name, given, known in (("algorithm", algorithm, ALGORITHMS), ("accounting", accounting, ACCOUNTINGS)):
            if not isinstance(given, str) or given not in known:
                raise InvalidParameterError(f"{name} must be one of {', '.join(map(repr, known))}, got {given!r}.")
        if algorithm == "marginals" and len(training.domain) < 2:
            raise InvalidParameterError(
                "algorithm='marginals' needs two attributes or more, got 1. Use algorithm='penalized'."
            )
        directions = check_monotone(monotone, training.domain, training.target)
        pairs = check_interactions(interactions, training.domain, directions)
        if pairs.wanted and algorithm == "boosting":
            raise InvalidParameterError(
                f"interactions={interactions!r} with algorithm='boosting': it has none. Use algorithm='penalized'."
            )
        equal = 2 * Boosting().bins if algorithm == "boosting" else None
        return cls(
            algorithm=algorithm,
            accounting=accounting,
            grids=public_grids(training.domain, bins, equal=equal),
            monotone=directions,
            interactions=pairs,
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
        if training.target.bounds is not None:
            out["range of the target"] = list(training.target.bounds)
        return out | dict(training.weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What one fit releases: the model, the tables of ``algorithm="marginals"``, and the events."""

    model: AdditiveModel
    marginals: Marginals | None
    events: list[Event]


def fit_model(
    training: Training,
    plan: Plan,
    budget: GaussianBudget,
    *,
    caveats: Sequence[str],
    source: str,
    randomness: Randomness,
    progress: Progress | None,
) -> Fit:
    """Release the target's base, the bins and the scores, and return the model.

    Guarantee
    ---------
    The budget's (epsilon, delta): a filter keeps the squared mu of all releases within the budget's, whatever is
    released; see ``fitting.md`` and ``privacy/loss_distributions.md``.
    """
    stages = {"penalized": _penalized, "boosting": _boosting, "marginals": _marginals}
    events: list[Event] = []
    given = _Given(
        training=training,
        plan=plan,
        budget=budget,
        spending=GaussianFilter(budget.mu),
        randomness=randomness,
        progress=progress,
    )
    # Matrices of a hundred rows are slower on several threads than on one, many times so where cores are shared.
    with _thread_pools().limit(limits=1, user_api="blas"):
        found = stages[plan.algorithm](given, events, caveats, source)
        if found.marginals is not None:
            directions = {name: "increasing" if up else "decreasing" for name, up in plan.monotone.items()}
            model = found.marginals.fit(monotone=directions, interactions=plan.interactions.given)
            return Fit(model=model, marginals=found.marginals, events=events)
    return Fit(model=_published(found, plan, _frame(given, found.axes, caveats, source)), marginals=None, events=events)


def _published(found: _Result, plan: Plan, frame: Frame) -> AdditiveModel:
    shapes, n_mains = found.shapes, len(found.axes)
    pairs: tuple[Term, ...] = terms_of_pairs(
        found.fitted.pairs, found.fitted.counts, shapes.scores[n_mains:], shapes.errors[n_mains:], frame
    )
    ordered = tuple(
        _ordered(axis, scores, plan.monotone) for axis, scores in zip(found.axes, shapes.scores, strict=False)
    )
    mains = Shapes(scores=ordered, errors=shapes.errors[:n_mains], intercept=shapes.intercept)
    return publish(found.axes, mains, frame, pairs)


@lru_cache(maxsize=1)
def _thread_pools() -> Any:
    return import_module("threadpoolctl").ThreadpoolController()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What every algorithm is given."""

    training: Training
    plan: Plan
    budget: GaussianBudget
    spending: GaussianFilter
    randomness: Randomness
    progress: Progress | None

    @property
    def classes(self) -> bool:
        """Whether the target is a class."""
        return self.training.target.classes is not None

    def passes(self, axes: Sequence[Axis]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the bins of the records, and the target as the passes read it: numbers, or indices of many classes."""
        found = self.training.records.binned(self.plan.grids, axes)
        kind = np.int64 if self.training.target.n_outputs > 1 else np.float64
        return found.codes, np.asarray(found.values, dtype=kind)

    def base(self, share: float, events: list[Event]) -> Base:
        """Release the target's base."""
        base, event = release_base(self.training.target, self.spending.share(share), share, self.randomness)
        events.append(event)
        return base

    def axes(
        self,
        mu: float,
        share: float,
        events: list[Event],
        *,
        quantiles: int | None = None,
        at_least: int = 0,
        faint: bool = False,
    ) -> list[Axis]:
        """Release the bins, and return those of the attributes that seem to vary; of all, if these are too few.

        With ``faint`` an attribute is kept if it has two bins, however few records they seem to hold.
        """
        counts = self.training.records.cell_counts(self.plan.grids)
        axes, event = bin_counted(counts, self.plan.grids, mu, share, self.randomness, quantiles=quantiles)
        events.append(event)
        kept = [k for k, axis in enumerate(axes) if (axis.n_bins > 1 if faint else axis.useful)]
        if len(kept) < at_least:
            kept = list(range(len(axes)))
        return [axes[k] for k in kept]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """What an algorithm has fitted: scores of the axes, then of the pairs; or the tables to fit them to."""

    shapes: Shapes
    axes: list[Axis]
    fitted: FittedPairs = NO_PAIRS
    marginals: Marginals | None = None


def _penalized(given: _Given, events: list[Event], caveats: Sequence[str], source: str) -> _Result:
    base = given.base(BASE_SHARE, events)
    chosen = given.plan.override or choices(
        classes=given.classes,
        n_terms=len(given.plan.grids),
        n_records=base.n_records,
        mu=given.budget.mu,
        pairs=given.plan.interactions.wanted,
    )
    axes = given.axes(given.spending.share(chosen.bin_share), chosen.bin_share, events)
    if not axes:
        return _Result(shapes=Shapes(scores=(), errors=(), intercept=base.start), axes=[])
    left = 1 - BASE_SHARE - chosen.bin_share
    clip = chosen.clip if given.classes else float(np.clip(chosen.clip * base.deviation, 0.01, 1.0))
    rounds = Rounds(number=chosen.rounds, rate=chosen.rate, clip=clip, caution=chosen.caution, early=chosen.early)
    codes, values = given.passes(axes)
    shapes, fitted, released = fit_rounds(
        codes,
        values,
        axes,
        base=base,
        classes=given.classes,
        rounds=rounds,
        interactions=given.plan.interactions,
        barred=given.plan.monotone,
        strength=strength(n_terms=len(given.plan.grids), n_records=base.n_records, mu=given.budget.mu),
        mu=given.spending.share(left),
        share=left,
        randomness=given.randomness,
        progress=given.progress,
    )
    events += released
    return _Result(shapes=shapes, axes=axes, fitted=fitted)


def _boosting(given: _Given, events: list[Event], caveats: Sequence[str], source: str) -> _Result:
    boosting, share = Boosting(), ebm_boosting.BIN_SHARE
    mu = given.spending.spend(stage_mu(given.budget, given.plan.accounting, share))
    axes = given.axes(mu, share, events, quantiles=boosting.bins, faint=True)
    if not axes:
        return _Result(
            shapes=Shapes(scores=(), errors=(), intercept=np.zeros(given.training.target.n_outputs)), axes=[]
        )
    codes, values = given.passes(axes)
    shapes, event = boost(
        codes,
        values,
        axes,
        n_classes=len(given.training.target.classes or ()),
        boosting=boosting,
        mu=given.spending.spend(stage_mu(given.budget, given.plan.accounting, 1 - share)),
        share=1 - share,
        randomness=given.randomness,
        progress=given.progress,
    )
    events.append(event)
    return _Result(shapes=shapes, axes=axes)


def _marginals(given: _Given, events: list[Event], caveats: Sequence[str], source: str) -> _Result:
    base = given.base(BASE_SHARE, events)
    part = given.spending.share(MARGINAL_BINS)
    axes = given.axes(part, MARGINAL_BINS, events, at_least=2, quantiles=QUANTILES)
    left = 1 - BASE_SHARE - MARGINAL_BINS
    records = given.training.records
    marginals, event = release_marginals(
        records.pair_tables(axes) or records.binned(given.plan.grids, axes),
        axes,
        base=base,
        frame=_frame(given, axes, caveats, source),
        mu=given.spending.share(left),
        share=left,
        randomness=given.randomness,
        progress=given.progress,
    )
    events.append(event)
    shapes = Shapes(scores=(), errors=(), intercept=base.start)
    return _Result(shapes=shapes, axes=axes, marginals=marginals)


def _frame(given: _Given, axes: Sequence[Axis], caveats: Sequence[str], source: str) -> Frame:
    target = given.training.target
    bare = Target(values=np.empty(0), classes=target.classes, bounds=target.bounds, name=target.name)
    found = [float(np.sqrt(axis.variances.max())) for axis in axes]
    guarantee = given.budget.claim(caveats, max(found, default=None))
    return Frame(domain=given.training.domain, target=bare, guarantee=guarantee, source=source)


def _ordered(axis: Axis, scores: npt.NDArray[np.float64], monotone: dict[str, bool]) -> npt.NDArray[np.float64]:
    up = monotone.get(axis.grid.attribute)
    return scores if up is None else in_order(scores[:, 0], axis.counts, axis, up)[:, None]
