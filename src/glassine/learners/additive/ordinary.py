"""Ordinary additive models: the private algorithms without noise, clip and budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy.typing as npt

from glassine.compiling.slices import Progress
from glassine.domain import Domain
from glassine.learners.additive.additive_fit import AdditivePlan, Ordinary, fit_model
from glassine.learners.additive.estimators import (
    AdditiveClassifier,
    AdditiveEstimator,
    AdditiveRegressor,
    attributes_of,
)
from glassine.learners.additive.event_targets import CountsEvents, without_exposure
from glassine.learners.additive.grids import MOST_BINS
from glassine.learners.additive.published_scores import AUTO, declared_bins, voted
from glassine.learners.additive.table_memory import check_memory, pairs_asked_for
from glassine.learners.additive.targets import Training
from glassine.learners.additive.weighted import oracle_of, per_record
from glassine.learners.estimator import OrdinaryLearner
from glassine.learners.publishing import by_weight
from glassine.models import AdditiveModel
from glassine.privacy.certificate import Certificate


@dataclass(kw_only=True, eq=False, repr=False)
class _OrdinaryEBM(OrdinaryLearner, AdditiveEstimator):
    """What both estimators share."""

    domain: Domain | None = None
    algorithm: str = "penalized"
    bins: Mapping[str, Any] | None = None
    monotone: Mapping[str, str] | Literal["auto"] | None = None
    interactions: object = 0
    memory_limit: float = 4e9
    progress: Progress | None = None

    def _learn(self, X: object, y: object, times: npt.ArrayLike | None) -> dict[str, Any]:
        records, training = self._read_training(X, y, times, private=False)
        training = self._training(training)
        # The vote is that of the same fit without an order.
        orders = (None, AUTO) if self.monotone == AUTO else (self.monotone,)
        model: AdditiveModel | None = None
        for order in orders:
            plan = AdditivePlan.of(
                training,
                algorithm=self.algorithm,
                accounting="gdp",
                # Without noise, what the records decide of the cuts would be published.
                bins=declared_bins(training.domain, self.bins, MOST_BINS),
                monotone=voted(model.terms) if model is not None else order,
                interactions=self.interactions,
            )
            pairs = pairs_asked_for(plan.interactions)
            check_memory(plan.grids, training.target, plan.algorithm, self.memory_limit, pairs=pairs)
            privacy = Ordinary(oracle_of(records, training.target.events))
            model = fit_model(training, plan, privacy, source=f"glassine.{type(self).__name__}", progress=self.progress)
        assert model is not None  # noqa: S101 - there is at least one order
        model = by_weight(model, per_record(records))
        fitted = attributes_of(training, model, Certificate.none("exact counts of the records"))
        return {**fitted, **without_exposure(vars(self), training)}

    def _training(self, training: Training) -> Training:
        """Return what is known of a fit, with what its parameters say of the target."""
        return training


@dataclass(eq=False, repr=False)
class EBMClassifier(AdditiveClassifier, _OrdinaryEBM):
    """An additive classifier without privacy: one shape function for each attribute.

    The code is that of :class:`~.PrivateEBMClassifier`, with sums as they are: the difference of the two is the
    price of privacy.

    Parameters
    ----------
    domain : Domain, optional
        The attributes; inferred from the data by default.
    algorithm : {"penalized", "boosting"}, default="penalized"
        "penalized": few rounds over all shape functions, with penalties set by the scatter of the residuals.
        "boosting": Algorithm 1 of the paper, cyclic boosting of the best splits.
    classes : sequence of scalars, optional
        The classes; those of the domain's target or of the data by default.
    bins : mapping of str to sequence, optional
        Bins fixed by the user, as for :class:`~.PrivateEBMClassifier`. A number's ``thresholds`` in the domain
        are its bins, at most 128 of them. All other numbers get a bin for each cell of the finest grid with a record,
        as a private fit of large budget; neighbors are merged until at most 128 are left. With "boosting" 32 of about
        equal counts.
    monotone : mapping of str to {"increasing", "decreasing"}, or "auto", optional
        Numbers whose scores must be in order. "auto" takes all numbers, each in the direction nearer to which a fit
        without an order has its scores. It is not for private fits: it reads the records.
    interactions
        As for :class:`~.PrivateEBMClassifier`.
    memory_limit : float, default=4e9
        Most bytes of the tables, besides the records.
    progress : callable, optional
        Called with the rounds done and the total.

    Attributes
    ----------
    model_ : AdditiveModel
        The model, with exact numbers of records in its bins, and no errors.
    certificate_ : Certificate
        Says that nothing is guaranteed: epsilon is infinite.
    domain_, classes_, n_features_in_, feature_names_in_
        As for :class:`~.OptimalTreeClassifier`.

    Notes
    -----
    Guarantee: none: scores and counts are those of the records. Audit the model before it is published.

    Edge cases: An attribute whose values are all in one bin gets no term.

    References
    ----------
    Nori, Caruana, Bu, Shen and Kulkarni (2021), *Accuracy, Interpretability, and Differential Privacy via Explainable
    Boosting*, Algorithm 1, for ``algorithm="boosting"``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(400).reshape(-1, 1) % 100
    >>> model = EBMClassifier().fit(X, X[:, 0] > 60)
    >>> model.score(X, X[:, 0] > 60) > 0.97, model.certificate_.holds
    (True, False)
    """


@dataclass(eq=False, repr=False)
class EBMRegressor(CountsEvents, AdditiveRegressor, _OrdinaryEBM):
    """An additive regression without privacy: one shape function for each attribute.

    The code is that of :class:`~.PrivateEBMRegressor`, with sums as they are.

    Parameters
    ----------
    domain, algorithm
        As for :class:`EBMClassifier`.
    target_range : (float, float), optional
        The range of the target; that of the domain or of the data by default. Targets and predictions outside are
        clipped to it.
    objective, exposure
        As for :class:`~.PrivateEBMRegressor`.
    bins, monotone, interactions, memory_limit, progress
        As for :class:`EBMClassifier`.

    Attributes
    ----------
    model_, certificate_, domain_, n_features_in_, feature_names_in_
        As for :class:`EBMClassifier`.

    Notes
    -----
    Guarantee: none: scores and counts are those of the records. Audit the model before it is published.

    Edge cases and references are those of :class:`EBMClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(400).reshape(-1, 1) % 100
    >>> EBMRegressor().fit(X, 1000.0 + X[:, 0]).score(X, 1000.0 + X[:, 0]) > 0.99
    True
    """
