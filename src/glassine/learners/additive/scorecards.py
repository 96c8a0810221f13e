"""Scorecards: private ones, and ordinary ones of the same form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from glassine.compiling.slices import Progress
from glassine.domain import Domain
from glassine.errors import InvalidParameterError, parameter
from glassine.learners.additive.additive_fit import Card
from glassine.learners.additive.calibration import calibrate
from glassine.learners.additive.estimators import AdditiveClassifier, PrivateEBMClassifier
from glassine.learners.additive.grids import public_grids
from glassine.learners.additive.published_scores import declared_bins
from glassine.learners.additive.ridge import Design, fit_cells, quantiles
from glassine.learners.additive.targets import Target, Training
from glassine.learners.estimator import OrdinaryLearner, fitted
from glassine.learners.intake import read_training
from glassine.models import AdditiveModel, Term
from glassine.models.scorecard import card_of
from glassine.privacy.certificate import Certificate
from glassine.records.alignment import target_name
from glassine.records.arrays import Array, Ints
from glassine.records.columns import ConformedColumns
from glassine.sealed.binned import read_cells

SWEEPS = 3
"""Most sweeps over the points that look for a smaller loss."""


class CardClassifier(AdditiveClassifier):
    """A classifier whose model is a card, of two classes."""

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: a card is of two classes, and takes the missing values that its domain allows."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateScorecardClassifier(CardClassifier, PrivateEBMClassifier):
    """A differentially private scorecard: few items worth whole points, and the risk at each total.

    A penalized additive model is fitted to public bins; its scores are rounded to points, which spends nothing; and a
    share of the budget counts the classes at each total, which sets the risks and their intervals.

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
    classes : sequence of scalars, optional
        The two public classes, where the domain does not declare the target. The card gives the risk of the second.
    calibration_share : float, default=0.15
        Share of the squared mu for the counts at each total, in [0, 0.5]; with 0 the risks follow from the scores.
    bins, monotone
        As for :class:`~.PrivateEBMClassifier`.
    ledger, dataset, records_per_person, person_weights, memory_limit, progress, random_state
        As for :class:`~.PrivateEBMClassifier`.

    Attributes
    ----------
    model_ : AdditiveModel
        The published card: whole points times a unit, and ``model_.scorecard``, the risk at each total. Released.
    certificate_ : Certificate
        Guarantee, events and assumptions. Public.
    domain_, classes_, n_features_in_, feature_names_in_
        As for :class:`~.PrivateEBMClassifier`.

    Notes
    -----
    Guarantee: ``(epsilon, delta)``-differential privacy for adding or removing one record, or with ``persons`` all
    records of one person, of items, points, risks and intervals. See ``additive_fit.md``, ``calibration.md`` and
    :attr:`certificate_`.

    Edge cases: With little budget no item may be found; the card is then the released base rate alone.

    References
    ----------
    Ustun and Rudin (2019), *Learning Optimized Risk Scores*, for the form of a card.

    Examples
    --------
    >>> import numpy as np
    >>> from glassine import Domain, Integer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 100, (4000, 2))
    >>> y = (X[:, 0] + rng.integers(0, 40, 4000) > 70).astype(int)
    >>> domain = Domain({"age": Integer(0, 99, thresholds=(30, 50, 70)), "noise": Integer(0, 99, thresholds=(50,))})
    >>> card = PrivateScorecardClassifier(epsilon=1.0, domain=domain, classes=(0, 1), random_state=0).fit(X, y)
    >>> card.score(X, y) > 0.85, len(card.model_.scorecard.risks) <= 16
    (True, True)
    """

    algorithm: str = field(default="penalized", init=False)
    accounting: str = field(default="gdp", init=False)
    interactions: object = field(default=0, init=False)

    max_items: int = 10
    max_points: int = 5
    calibration_share: float = 0.15

    def _card(self, training: Training) -> Card:
        _two_classes(training.target.classes or ())
        return Card.of(self.max_items, self.max_points, self.calibration_share)

    def _bins(self, domain: Domain) -> Mapping[str, Any] | None:
        return declared_bins(domain, self.bins)


@dataclass(kw_only=True, eq=False, repr=False)
class ScorecardClassifier(OrdinaryLearner, CardClassifier):
    """A scorecard without privacy: few items worth whole points, of little log loss, and the risk at each total.

    A ridge regression on bins is rounded to points as a private card is; then points are moved one at a time as long
    as the log loss falls, and the risks are calibrated on the counts at each total.

    Parameters
    ----------
    max_items : int, default=10
        Most items, in [1, 100].
    max_points : int, default=5
        Most points of an item, added or taken away, in [1, 100].
    domain : Domain, optional
        The attributes; inferred from the data by default. A number's ``thresholds`` are its bins; without, quantiles
        of the data are.
    classes : sequence of scalars, optional
        The two classes; those of the domain's target or of the data by default.
    bins : mapping of str to sequence, optional
        Bins fixed by the user, as for :class:`~.PrivateEBMClassifier`.
    monotone : mapping of str to {"increasing", "decreasing"}, or "auto", optional
        Numbers whose points must be in order, special codes and missing values left out; see :class:`~.EBMClassifier`.
    progress : callable, optional
        Called with the sweeps over the points that are done, and with the most that there are.

    Attributes
    ----------
    model_ : AdditiveModel
        The card.
    certificate_ : Certificate
        Says that nothing is guaranteed: epsilon is infinite.
    domain_, classes_, n_features_in_, feature_names_in_
        As for :class:`~.OptimalTreeClassifier`.

    Notes
    -----
    Guarantee: none: points, risks and counts are those of the records. Audit the card before it is published.

    References
    ----------
    Liu, Zhong, Li, Seltzer and Rudin (2022), *FasterRisk*, for cards of little log loss.

    Examples
    --------
    >>> import numpy as np
    >>> from glassine import Domain, Integer
    >>> X = np.arange(200).reshape(-1, 1) % 100
    >>> domain = Domain({"age": Integer(0, 99, thresholds=(50,))})
    >>> card = ScorecardClassifier(domain=domain).fit(X, X[:, 0] > 50)
    >>> card.score(X, X[:, 0] > 50), str(card.model_)
    (1.0, 'scorecard of 1 item on 1 attribute')
    """

    max_items: int = 10
    max_points: int = 5
    domain: Domain | None = None
    bins: Mapping[str, Any] | None = None
    monotone: Mapping[str, str] | Literal["auto"] | None = None
    progress: Progress | None = None

    def _learn(self, X: object, y: object, times: npt.ArrayLike | None) -> dict[str, Any]:
        intake = read_training(
            self, X, y, domain=self.domain, classes=self.classes, times=times, private=False, keep_undeclared=True
        )
        _two_classes(intake.classes)
        columns, labels = intake.columns, intake.labels
        weights = np.ones(len(labels)) if intake.multiplicities is None else intake.multiplicities / intake.per_record
        bins = {**quantiles(intake.domain, intake.numbers), **declared_bins(intake.domain, self.bins)}
        grids = public_grids(intake.domain, bins)
        cells = read_cells(columns, grids)
        design = Design.of(cells, grids, weights)
        target = Target(classes=intake.classes, bounds=None, name=target_name(y))
        terms, intercept = fit_cells(design, labels * weights, intake.domain, target, self.monotone)
        model = AdditiveModel(
            attributes=intake.domain.names,
            terms=terms,
            intercept=(intercept,),
            link="logit",
            classes=intake.classes,
            target=target_name(y),
            source=f"glassine.{type(self).__name__}",
        )
        card = model.to_scorecard(max_items=self.max_items, max_points=self.max_points)
        card = _polished(card, columns, labels, weights, self.max_points, self.progress)
        return fitted(intake, card, Certificate.none("exact counts of the records"))


def _two_classes(classes: Sequence[object]) -> None:
    if len(classes) != 2:
        raise InvalidParameterError(
            "Only binary classification is supported. "  # As scikit-learn has all say it
            f"A scorecard is of two classes, got {len(classes)} class{'es' * (len(classes) != 1)}.",
            remedy=f"Declare two with {parameter('classes=')}, or fit an additive model.",
        )


def _polished(
    card: AdditiveModel, columns: ConformedColumns, labels: Ints, times: Array, most: int, progress: Progress | None
) -> AdditiveModel:
    """Return the card calibrated on its counts, with points moved by one as long as the log loss falls."""
    best = _calibrated(card, columns, labels, times)
    for sweep in range(SWEEPS):
        if progress is not None:
            progress(sweep, SWEEPS)
        before = best[0]
        for k in range(len(card.terms)):
            for worth in np.unique(np.rint(best[1].terms[k].scores / _unit(best[1]))):
                for by in (-1, 1):
                    model = best[1]
                    points = np.rint(model.terms[k].scores / _unit(model))
                    # What most records are worth stays nothing, and no item becomes it or leaves the range.
                    if worth == 0 or worth + by == 0 or abs(worth + by) > most or (points == worth + by).any():
                        continue
                    scores = np.where(points == worth, worth + by, points) * _unit(model)
                    terms = list(model.terms)
                    terms[k] = replace(terms[k], scores=scores)
                    moved = _with_terms(model, terms)
                    best = min(best, _calibrated(moved, columns, labels, times), key=lambda pair: pair[0])
        if not best[0] < before:
            break
    return best[1]


def _unit(model: AdditiveModel) -> float:
    if model.scorecard is None:
        raise ValueError("the model must be a scorecard")
    return model.scorecard.unit


def _with_terms(model: AdditiveModel, terms: Sequence[Term]) -> AdditiveModel:
    return replace(model, terms=tuple(terms), scorecard=card_of(terms, model.intercept[0], _unit(model)))


def _calibrated(
    model: AdditiveModel, columns: ConformedColumns, labels: Ints, times: Array
) -> tuple[float, AdditiveModel]:
    """Return the log loss on the records, and the card calibrated on its counts."""
    unit, lowest = _unit(model), model.scorecard.risks[0].points if model.scorecard else 0
    totals = np.rint((model.scores(columns)[:, 0] - model.intercept[0]) / unit).astype(np.int64) - lowest
    size = len(model.scorecard.risks) if model.scorecard else 1
    counts = np.bincount(2 * totals + labels, weights=times, minlength=2 * size).astype(np.float64).reshape(size, 2)
    out = calibrate(model, counts, 0.0)
    risks = np.array([row.risk for row in out.scorecard.risks]) if out.scorecard else np.zeros(size)
    risks = np.clip(risks, 1e-12, 1 - 1e-12)
    return -float(counts[:, 1] @ np.log(risks) + counts[:, 0] @ np.log(1 - risks)), out
