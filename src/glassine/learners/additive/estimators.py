"""Additive estimators, and the private ones, whose shape functions are released with noise."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, InvalidParameterError, parameter
from glassine.formats import fingerprint
from glassine.learners.additive.additive_budget import GaussianBudget
from glassine.learners.additive.additive_fit import AdditivePlan, Card, Private, fit_model
from glassine.learners.additive.event_targets import CountsEvents, without_exposure
from glassine.learners.additive.smoothing import LoadedSmoothing
from glassine.learners.additive.table_memory import check_memory, most_bins, most_released, pairs_asked_for, table_bytes
from glassine.learners.additive.targets import Training, read_classes, read_numbers
from glassine.learners.estimator import PrivateEstimator, PublishedModel, Scored
from glassine.learners.memory import record_bytes
from glassine.models import AdditiveModel
from glassine.models.additive import summarize_model
from glassine.models.additive_scores import Contributions
from glassine.models.editing import Editor, revert, verify
from glassine.models.evidence import class_array
from glassine.models.shapes import ShapeFunction
from glassine.privacy.certificate import Certificate
from glassine.privacy.release import Price
from glassine.records.arrays import AnyArray, Array
from glassine.sealed.binned import AdditiveRecords
from glassine.sealed.gaussian import GaussianOracle, asking_sums
from glassine.sealed.persons import CountedPersons
from glassine.sealed.plan import Metadata
from glassine.sealed.plan import Plan as Sealed
from glassine.sealed.sum_kernels import Kernels


def check_two_classes(classes: Sequence[Scalar]) -> None:
    """Raise InvalidParameterError if there is no choice between classes."""
    if len(classes) < 2:
        raise InvalidParameterError(
            f"a classifier needs at least two classes, got {len(classes)} class.",
            remedy=f"Declare them with {parameter('classes=')}.",
        )


class Editable(PublishedModel):
    """A fitted additive estimator: its model is edited without spending budget."""

    keeps_undeclared: ClassVar[bool] = True

    model_: AdditiveModel

    def edit(self) -> Editor:
        """Return an editor of the released model; this estimator does not change.

        Guarantee
        ---------
        That of the fit: an edit reads the released model alone; see ``models/editing.md``.
        """
        check_is_fitted(self, "model_")
        return Editor(self.model_)

    def with_model(self, model: AdditiveModel | Editor) -> Self:
        """Return a new fitted estimator that predicts with an edited model, this one's certificate kept.

        Guarantee
        ---------
        That of the fit, for no record is read again; see ``models/editing.md``. The certificate names the model as
        it was released, to which the log of edits leads back.
        """
        check_is_fitted(self, "model_")
        edited = model.model if isinstance(model, Editor) else model
        if not isinstance(edited, AdditiveModel):
            raise InvalidModelError(
                f"with_model() takes an edited additive model, got {type(edited).__name__}.",
                remedy="Edit that of edit().",
            )
        verify(edited)
        if revert(edited) != revert(self.model_):
            raise InvalidModelError(
                "the model is not an edited form of what this estimator released: without its edits it differs from "
                "model_.",
                remedy="Start from edit(), or from the file that model_ was written to.",
            )
        new = copy.copy(self)
        new.model_ = edited
        return new


class AdditiveEstimator(Editable):
    """What private and ordinary additive estimators do besides: explain the model, and round it to a scorecard."""

    @abstractmethod
    def _read_training(
        self, X: object, y: object, times: CountedPersons | npt.ArrayLike | None, *, private: bool
    ) -> tuple[AdditiveRecords, Training]:
        """Read the arguments of a fit; ``times`` are persons or sample weights."""

    def summarize_model(self, coverage: float = 0.9) -> tuple[ShapeFunction, ...]:
        """Return the shape function of each term with its noise interval, the most important first.

        Parameters
        ----------
        coverage : float, default=0.9
            Share of the noise of the term's own sums that the interval holds, see :func:`~.summarize_model`.
        """
        check_is_fitted(self, "model_")
        return summarize_model(self.model_, coverage)

    def to_scorecard(self, *, max_items: int = 10, max_points: int = 5) -> Self:
        """Return a new fitted estimator whose model is a scorecard of this one's.

        Guarantee
        ---------
        That of the fit, for no record is read again; see ``models/rounding.md``. A private certificate has the same
        epsilon and events, and names the card as its model.

        Parameters
        ----------
        max_items, max_points : int
            As in :meth:`~glassine.models.AdditiveModel.to_scorecard`.

        Raises
        ------
        InvalidModelError, InvalidParameterError
            As there.
        """
        check_is_fitted(self, "model_")
        card = self.model_.to_scorecard(max_items=max_items, max_points=max_points)
        new = copy.copy(self)
        new.model_, new.certificate_ = card, self._certificate_of_card(card)
        return new

    def _certificate_of_card(self, card: AdditiveModel) -> Certificate:
        """Return the certificate of a scorecard that follows from the model."""
        return self.certificate_

    def contributions(self, X: object) -> Contributions:
        """Return what each term adds to the score of each record; the parts add up to the score exactly.

        Parameters
        ----------
        X : data frame or array-like of shape (n, d)
            Records; values outside the domain are brought into it as in ``fit``.
        """
        records = self._records(X)
        return self.model_.contributions(records)


@dataclass(kw_only=True, eq=False, repr=False)
class AdditiveClassifier(Scored, ClassifierMixin, Editable):  # type: ignore[misc]  # scikit-learn ships no types
    """An additive estimator whose model has classes."""

    classes: Sequence[Scalar] | None = None

    classes_: AnyArray = field(init=False)  # Classes; shape (c,)

    def _read_training(
        self, X: object, y: object, times: CountedPersons | npt.ArrayLike | None, *, private: bool
    ) -> tuple[AdditiveRecords, Training]:
        read = read_classes(self, X, y, domain=self.domain, classes=self.classes, times=times, private=private)
        check_two_classes(read[1].target.classes or ())
        return read

    def decision_function(self, X: object) -> Array:
        """Return the log-odds of the second of two classes, shape (n,); of more classes, their scores, shape (n, c)."""
        records = self._records(X)
        scores = self.model_.scores(records)
        return scores[:, 0] if self.model_.link == "logit" else scores

    def predict_proba(self, X: object) -> Array:
        """Return the probability of each class for each record, shape (n, c)."""
        records = self._records(X)
        return self.model_.predict_proba(records)


@dataclass(kw_only=True, eq=False, repr=False)
class AdditiveRegressor(Scored, RegressorMixin, Editable):  # type: ignore[misc]  # scikit-learn ships no types
    """An additive estimator whose model predicts a number."""

    released: ClassVar[frozenset[str]] = PublishedModel.released - {"classes_"}

    target_range: tuple[float, float] | None = None

    def _read_training(
        self, X: object, y: object, times: CountedPersons | npt.ArrayLike | None, *, private: bool
    ) -> tuple[AdditiveRecords, Training]:
        return read_numbers(self, X, y, domain=self.domain, bounds=self.target_range, times=times, private=private)


def attributes_of(training: Training, model: AdditiveModel, certificate: Certificate) -> dict[str, Any]:
    """Return the fitted attributes of an additive estimator by name."""
    classes = {} if training.target.classes is None else {"classes_": class_array(training.target.classes)}
    return {"model_": model, "certificate_": certificate, "domain_": training.domain, **classes}


@dataclass(kw_only=True, eq=False, repr=False)
class _PrivateEBM(PrivateEstimator, AdditiveEstimator):
    """What both estimators share."""

    delta: float = 1e-6
    domain: Domain | None = None
    algorithm: str = "penalized"
    accounting: str = "gdp"
    bins: Mapping[str, Any] | None = None
    monotone: Mapping[str, str] | None = None
    interactions: object = 0
    memory_limit: float = 4e9

    def _bins(self, domain: Domain) -> Any:
        """Return the bins that are fixed beforehand."""
        return self.bins

    def _card(self, training: Training) -> Card | None:
        """Return what the model is rounded to; None where it is published as fitted."""
        return None

    def _training(self, training: Training) -> Training:
        """Return what is public of a fit, with what its parameters say of the target."""
        return training

    def _read_at_once(self, X: object, y: object, persons: CountedPersons | None) -> tuple[AdditiveRecords, Metadata]:
        records, training = self._read_training(X, y, persons, private=True)
        return records, training.metadata(self)

    def _fixed(self, training: Training) -> AdditivePlan:
        """Return what is fixed before anything is released."""
        return AdditivePlan.of(
            training,
            algorithm=self.algorithm,
            accounting=self.accounting,
            bins=self._bins(training.domain),
            monotone=self.monotone,
            interactions=self.interactions,
            card=self._card(training),
        )

    def memory_needed(self, n_records: int = 0) -> int:
        """Return the most bytes that a fit holds at once: its tables, and about what so many records take.

        It follows from public quantities alone, and needs no fit where ``domain`` holds the attributes alone, and the
        classes or the range of the target are given. The container that is passed is not counted.

        Parameters
        ----------
        n_records : int, default=0
            Number of records, at least 0.
        """
        metadata = self._public_of_target()
        training = Training.of(metadata)
        if not hasattr(self, "model_"):
            # A fitted domain has no exposures any more.
            training = self._training(training)
        plan = self._fixed(training)
        pairs = pairs_asked_for(plan.interactions)
        tables = table_bytes(plan.grids, training.target, plan.algorithm, pairs)
        return tables + record_bytes(n_records, metadata.domain)

    def _public_of_target(self) -> Metadata:
        """Return the domain of the attributes, with the classes or the range of the target."""
        domain = self.domain_ if hasattr(self, "model_") else self.domain
        classes = getattr(self, "classes_", None) if hasattr(self, "model_") else getattr(self, "classes", None)
        limits = getattr(self, "target_range", None)
        if not isinstance(domain, Domain) or (classes is None and limits is None):
            raise InvalidParameterError(
                "the memory of a fit needs the domain of the attributes, and the classes or the range of the target.",
                remedy="Pass them, or fit a classifier first.",
            )
        if classes is None:
            return Metadata(domain=domain, target_range=limits)
        return Metadata(domain=domain, classes=tuple(getattr(classes, "tolist", lambda: classes)()))

    def _plan(self, metadata: Metadata) -> Sealed:
        if metadata.target_range is None:
            check_two_classes(metadata.classes)
        training = self._training(Training.of(metadata))
        budget = GaussianBudget.of(self.epsilon, self.delta, training.unit)
        plan = self._fixed(training)
        pairs = pairs_asked_for(plan.interactions)
        check_memory(plan.grids, training.target, plan.algorithm, self.memory_limit, pairs=pairs)
        releases, values = most_released(plan.grids, training.target, plan.algorithm, pairs)
        if plan.card is not None:
            releases, values = releases + 1, values + plan.card.most_values(len(plan.grids))
        budget.check_values(releases, values)
        note = f"private {'additive model' if plan.card is None else 'scorecard'}, {plan.algorithm}"
        return Sealed(
            price=Price(epsilon=budget.epsilon, delta=budget.delta, note=note, unit=budget.unit),
            caveats=training.caveats,
            check=partial(budget.claim, training.caveats, None),
            queries=(
                Kernels(
                    outputs=training.target.n_outputs,
                    classes=training.target.classes is not None,
                    bins=max(most_bins(grid) for grid in plan.grids),
                    boosting=plan.algorithm == "boosting",
                    pairs=pairs > 0,
                ),
                LoadedSmoothing,
            ),
            learn=asking_sums(
                partial(self._fitted, training, metadata.features, budget, plan),
                budget.mu,
                events=training.target.events,
            ),
        )

    def _fitted(
        self,
        training: Training,
        features: Mapping[str, Any],
        budget: GaussianBudget,
        plan: AdditivePlan,
        oracle: GaussianOracle,
    ) -> dict[str, Any]:
        source = f"glassine.{type(self).__name__}"
        privacy = Private(budget=budget, oracle=oracle)
        model = fit_model(training, plan, privacy, source=source, progress=self.progress)
        certificate = budget.certify(oracle.events, model, paid=oracle.paid, public=plan.public(training))
        return {**attributes_of(training, model, certificate), **without_exposure(features, training)}

    def _certificate_of_card(self, card: AdditiveModel) -> Certificate:
        public = {**self.certificate_.public, "rounded from": self.certificate_.model}
        return replace(self.certificate_, model=fingerprint(card), file=None, public=public)


@dataclass(eq=False, repr=False)
class PrivateEBMClassifier(AdditiveClassifier, _PrivateEBM):
    """A differentially private additive classifier: one shape function for each attribute.

    Parameters
    ----------
    epsilon : float
        Privacy budget of one fit, in [0.001, 1000]; ``fit`` needs it.
    delta : float, default=1e-6
        In [1e-100, 0.1]; well below one over the number of records.
    domain : Domain, optional
        What is publicly known about the attributes: bounds of numbers, names of categories. It may declare the target,
        as a ``Category`` or ``Binary`` of the name of ``y``.
    algorithm : {"penalized", "boosting"}, default="penalized"
        How the scores are trained. "penalized": few rounds of noisy residual sums, penalties set by the known noise.
        "boosting": as published, cyclic boosting of random splits.
    accounting : {"gdp", "classic"}, default="gdp"
        With "boosting" how much noise each step gets: what composition in Gaussian differential privacy asks for, or
        the advanced composition that the paper compares it to. All certificates are accounted in mu.
    classes : sequence of scalars, optional
        The public classes, where the domain does not declare the target.
    bins : mapping of str to sequence, optional
        Bins fixed by the user: increasing cut points of a number, groups of values of a category. All other attributes
        get private bins.
    monotone : mapping of str to {"increasing", "decreasing"}, optional
        Numbers whose scores must be in order.
    interactions : int, "auto" or sequence of pairs of str, default=0
        Pairs of attributes that get a term: how many, chosen privately; "auto", as many as stand out,
        none below epsilon 0.5; or their names, which costs nothing for the choice. Not with "boosting".
    ledger : Ledger or path, optional
        The budget book; the fit is charged to ``dataset`` before anything is drawn.
    dataset : str, optional
        Name of the dataset, in the ledger or, without one, among the fits of this process: the second fit on one
        name warns, and its certificate and those of later ones do not hold.
    records_per_person : int, optional
        The most records of one person that count, in [1, 1,000,000]; then ``fit`` takes ``persons``, and epsilon and
        delta cover all records of one person. It must not be chosen by looking at the records.
    person_weights : {"equal", "records"}, default="equal"
        With persons: "equal" repeats the records of a person until there are ``records_per_person``, so that each
        person counts as much as any other; "records" counts each kept record once.
    memory_limit : float, default=4e9
        Most bytes of the tables, besides the records; what may need more is refused before anything is spent.
    progress : callable, optional
        Called with the rounds done and the total.
    random_state : int, Generator or None, default=None
        None draws from the operating system's entropy. Anything else makes the fit repeatable, and not private.

    Attributes
    ----------
    model_ : AdditiveModel
        The published model. Released.
    certificate_ : Certificate
        Guarantee, events and assumptions. Public.
    domain_ : Domain
        Domain of the attributes. Public, unless inferred.
    classes_ : ndarray of shape (c,)
        Classes. Public, unless taken from the data.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Guarantee: ``(epsilon, delta)``-differential privacy for adding or removing one record, or with ``persons`` all
    records of one person, of everything that is kept: bins, counts, scores, errors. See ``penalized.md``,
    ``grids.md`` and :attr:`certificate_`.

    Assumptions: ``domain``, ``classes`` and all other parameters are public. What is taken from the data instead,
    with a ``PrivacyLeakWarning``, is a caveat of the certificate, as is a ``random_state``. Running time is not
    observed.

    Edge cases: An attribute whose values are all in one bin gets no term. Each further fit spends again.
    ``sample_weight`` is refused: a weight changes what one record can do.

    References
    ----------
    Nori, Caruana, Bu, Shen and Kulkarni (2021), *Accuracy, Interpretability, and Differential Privacy via Explainable
    Boosting*, for ``algorithm="boosting"``.

    Examples
    --------
    >>> import numpy as np
    >>> from glassine import Domain, Integer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 100, (4000, 2))
    >>> y = (X[:, 0] > 60).astype(int)
    >>> domain = Domain({"age": Integer(0, 99), "noise": Integer(0, 99)})
    >>> model = PrivateEBMClassifier(epsilon=1.0, domain=domain, classes=(0, 1), random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97, model.certificate_.epsilon
    (True, 1.0)
    """


@dataclass(eq=False, repr=False)
class PrivateEBMRegressor(CountsEvents, AdditiveRegressor, _PrivateEBM):
    """A differentially private additive regression: one shape function for each attribute.

    Parameters
    ----------
    epsilon, delta, domain, algorithm, accounting
        As in :class:`PrivateEBMClassifier`. The domain may declare the target, as ``Real`` or ``Integer`` of the name
        of ``y``.
    target_range : (float, float), optional
        The public range of the target, where the domain does not declare it. Targets outside are clipped to it, and so
        are predictions.
    objective : {"squared_error", "poisson"}, default="squared_error"
        "poisson": the target counts events, from 0 to the end of its range, and scores add up to the logarithm of its
        mean. It needs the algorithm "penalized".
    exposure : str, optional
        Of "poisson", the column of ``X`` that holds what a count is in proportion to, such as years under observation.
        The domain declares it as a number above 0. It is no attribute of the model, which predicts the mean of one
        unit of it.
    bins, monotone, interactions, ledger, dataset, records_per_person, person_weights, memory_limit, progress
        As in :class:`PrivateEBMClassifier`.
    random_state
        As in :class:`PrivateEBMClassifier`.

    Attributes
    ----------
    model_, certificate_, domain_, n_features_in_, feature_names_in_
        As in :class:`PrivateEBMClassifier`.

    Notes
    -----
    Guarantee: ``(epsilon, delta)``-differential privacy for adding or removing one record, or with ``persons`` all
    records of one person, of everything that is kept: bins, counts, scores, errors. Residuals are taken from the
    middle of the public range and clipped, so that the guarantee does not depend on how far from zero the target
    is. See ``penalized.md``, ``grids.md`` and :attr:`certificate_`.

    Assumptions, edge cases and references are those of :class:`PrivateEBMClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from glassine import Domain, Integer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 100, (4000, 2))
    >>> y = 1000.0 + X[:, 0]
    >>> domain = Domain({"age": Integer(0, 99), "noise": Integer(0, 99)})
    >>> model = PrivateEBMRegressor(epsilon=1.0, domain=domain, target_range=(1000, 1100), random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    """
