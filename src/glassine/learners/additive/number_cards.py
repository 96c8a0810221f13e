"""Scorecards of a number: points add up to it. Private ones, and ordinary ones of the same form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from glassine.compiling.slices import Progress
from glassine.domain import Domain
from glassine.learners.additive.additive_fit import Card
from glassine.learners.additive.estimators import (
    AdditiveEstimator,
    AdditiveRegressor,
    PrivateEBMRegressor,
    attributes_of,
)
from glassine.learners.additive.grids import public_grids
from glassine.learners.additive.published_scores import declared_bins
from glassine.learners.additive.ridge import Design, fit_cells, quantiles
from glassine.learners.additive.targets import Training
from glassine.learners.additive.weighted import WeightedRecords, per_record
from glassine.learners.estimator import OrdinaryLearner
from glassine.learners.publishing import by_weight
from glassine.models import AdditiveModel
from glassine.models.rounding import check_limits
from glassine.models.scorecard import Scorecard, binary, repointed
from glassine.privacy.certificate import Certificate
from glassine.records.arrays import Array, Ints
from glassine.records.columns import ConformedColumns
from glassine.sealed.binned import HeldRecords, read_cells


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateScorecardRegressor(PrivateEBMRegressor):
    """A differentially private scorecard of a number: few items worth whole points, which add up to it.

    A penalized additive model is fitted to public bins; rounding its scores to points spends nothing.

    Parameters
    ----------
    max_items : int, default=10
        Most items, in [1, 100].
    max_points : int, default=5
        Most points of an item, added or taken away, in [1, 100].
    epsilon : float
        Privacy budget of one fit, in [0.001, 1000]; ``fit`` needs it.
    delta : float, default=1e-6
        In [1e-100, 0.1]; well below one over the number of records.
    domain : Domain, optional
        What is publicly known about the attributes. A number's ``thresholds`` are its bins, at most twenty of them.
    target_range : (float, float), optional
        The public range of the target, where the domain does not declare it; targets and predictions are clipped to it.
    bins, monotone
        As for :class:`~.PrivateEBMClassifier`.
    ledger, dataset, records_per_person, person_weights, memory_limit, progress, random_state
        As for :class:`~.PrivateEBMClassifier`.

    Attributes
    ----------
    model_ : AdditiveModel
        The card: a prediction is the intercept and the points times ``model_.scorecard.unit``. Released.
    certificate_ : Certificate
        Guarantee, events and assumptions. Public.
    domain_, n_features_in_, feature_names_in_
        As for :class:`~.PrivateEBMRegressor`.

    Notes
    -----
    Guarantee: ``(epsilon, delta)``-differential privacy for adding or removing one record, or with ``persons`` all
    records of one person. It is that of the additive model, of which the card is a function: see ``additive_fit.md``
    and ``models/rounding.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from glassine import Domain, Integer
    >>> X = np.random.default_rng(0).integers(0, 100, (4000, 1))
    >>> y = np.where(X[:, 0] > 50, 30.0, 10.0)
    >>> domain = Domain({"age": Integer(0, 99, thresholds=(25, 50, 75))})
    >>> card = PrivateScorecardRegressor(epsilon=2.0, domain=domain, target_range=(0, 40), random_state=0).fit(X, y)
    >>> card.score(X, y) > 0.98, card.certificate_.epsilon
    (True, 2.0)
    """

    algorithm: str = field(default="penalized", init=False)
    accounting: str = field(default="gdp", init=False)
    interactions: object = field(default=0, init=False)
    objective: str = field(default="squared_error", init=False)
    exposure: str | None = field(default=None, init=False)

    max_items: int = 10
    max_points: int = 5

    def _card(self, training: Training) -> Card:
        # Nothing is counted at the totals: what a point adds follows from the scores.
        return Card.of(self.max_items, self.max_points, 0.0)

    def _bins(self, domain: Domain) -> Mapping[str, Any] | None:
        return declared_bins(domain, self.bins)


@dataclass(kw_only=True, eq=False, repr=False)
class ScorecardRegressor(OrdinaryLearner, AdditiveRegressor, AdditiveEstimator):
    """A scorecard of a number without privacy: few items worth whole points, which add up to it.

    A ridge regression on bins is rounded to points as a private card is; then the number at no points and what a point
    adds are those of least squared error on the records.

    Parameters
    ----------
    max_items : int, default=10
        Most items, in [1, 100].
    max_points : int, default=5
        Most points of an item, added or taken away, in [1, 100].
    domain : Domain, optional
        The attributes; inferred from the data by default. A number's ``thresholds`` are its bins; without, quantiles
        of the data are.
    target_range : (float, float), optional
        The range of the target; that of the domain or of the data by default.
    bins, monotone
        As for :class:`~.ScorecardClassifier`.
    progress : callable, optional
        Called once the card is made.

    Attributes
    ----------
    model_ : AdditiveModel
        The card: a prediction is the intercept and the points times ``model_.scorecard.unit``.
    certificate_ : Certificate
        Says that nothing is guaranteed: epsilon is infinite.
    domain_, n_features_in_, feature_names_in_
        As for :class:`~.OptimalTreeClassifier`.

    Notes
    -----
    Guarantee: none: points and counts are those of the records. Audit the card before it is published.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(200).reshape(-1, 1) % 100
    >>> card = ScorecardRegressor().fit(X, np.where(X[:, 0] > 50, 30.0, 10.0))
    >>> card.score(X, np.where(X[:, 0] > 50, 30.0, 10.0)) > 0.95, str(card.model_)
    (True, 'scorecard of 1 item on 1 attribute')
    """

    max_items: int = 10
    max_points: int = 5
    domain: Domain | None = None
    bins: Mapping[str, Any] | None = None
    monotone: Mapping[str, str] | Literal["auto"] | None = None
    progress: Progress | None = None

    def _learn(self, X: object, y: object, times: npt.ArrayLike | None) -> dict[str, Any]:
        check_limits(self.max_items, self.max_points)
        records, training = self._read_training(X, y, times, private=False)
        if not isinstance(records, HeldRecords):
            raise TypeError("an ordinary fit reads records into memory")
        columns, target = records.columns, training.target
        parts = records.parts if isinstance(records, WeightedRecords) else None
        weights = np.ones(columns.n_records) if parts is None else parts / per_record(records)

        def numbers(name: str) -> tuple[Array, Ints | None]:
            values = columns.numbers[name]
            present = ~np.isnan(values)
            return values[present], None if parts is None else parts[present]

        bins = {**quantiles(training.domain, numbers), **declared_bins(training.domain, self.bins)}
        grids = public_grids(training.domain, bins)
        factor, offset = target.scale
        values = np.asarray(records.values, dtype=np.float64) * factor + offset
        cells = read_cells(columns, grids)
        design = Design.of(cells, grids, weights)
        terms, intercept = fit_cells(design, values * weights, training.domain, target, self.monotone)
        model = AdditiveModel(
            attributes=training.domain.names,
            terms=terms,
            intercept=(intercept,),
            link="identity",
            target=target.name,
            target_bounds=target.bounds,
            source=f"glassine.{type(self).__name__}",
        )
        card = model.to_scorecard(max_items=self.max_items, max_points=self.max_points)
        card = by_weight(_fitted(card, columns, values, weights), per_record(records))
        if self.progress is not None:
            self.progress(1, 1)
        return attributes_of(training, card, Certificate.none("exact counts of the records"))


def _fitted(card: AdditiveModel, columns: ConformedColumns, values: Array, weights: Array) -> AdditiveModel:
    """Return the card with the intercept and the unit of least squares on the records."""
    if card.scorecard is None:
        raise ValueError("the model must be a scorecard")
    old = card.scorecard.unit
    totals = np.rint((card.scores(columns)[:, 0] - card.intercept[0]) / old)
    middle = np.average(totals, weights=weights)
    centered = (totals - middle) * weights
    spread = float(centered @ (totals - middle))
    slope = float(centered @ values) / spread if spread > 0 else old
    # A point that lowered the number would turn the card around.
    unit = binary(slope) if slope > 0 else old
    return replace(
        card,
        terms=repointed(card.terms, old, unit),
        intercept=(float(np.average(values, weights=weights) - unit * middle),),
        scorecard=Scorecard(unit=unit, risks=()),
    )
