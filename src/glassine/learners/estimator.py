"""Scikit-learn's face of the learners: parameters, prediction from the published model, and the one private fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from inspect import Parameter, Signature, get_annotations, signature
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from glassine.compiling.slices import Progress
from glassine.data.labels import class_codes, declared_classes
from glassine.domain import Domain
from glassine.domain.domain import check_domain
from glassine.errors import InvalidDataError, InvalidParameterError, first_of, parameter
from glassine.exports import Displayed
from glassine.learners.budget import check_stated, warn_of
from glassine.learners.declared import DeclaresItsClass
from glassine.learners.intake import Intake, read_records
from glassine.learners.memory import record_bytes
from glassine.learners.person_column import take_persons
from glassine.learners.publishing import by_weight, decision_path, probabilities
from glassine.learners.ranges import public_range
from glassine.models import AdditiveModel, DecisionTree, RuleList
from glassine.models.evidence import class_array
from glassine.privacy.certificate import Certificate
from glassine.privacy.randomness import RandomState
from glassine.privacy.unit import PrivacyUnit
from glassine.records.alignment import check_alignment
from glassine.records.arrays import AnyArray, Array, Indices
from glassine.records.columns import ConformedColumns
from glassine.records.scalars import declared_numbers
from glassine.sealed.door import PrivateLearner, keep
from glassine.sealed.model_class import SECONDS_PER_STEP, ModelClass
from glassine.sealed.persons import CountedPersons
from glassine.sealed.plan import Metadata, TargetColumn

NO_CLASS_WEIGHT = (
    "class_weight is not a parameter of these learners: it would distort the predicted probabilities, and of a private "
    "fit the weight of one record. For a rare class, rank records by predict_proba, or choose a threshold below 1/2. "
    "Trees and rule lists rank better with a smaller accuracy_share; additive models and scorecards fit the log loss."
)
"""What serves the purpose of class weights: a loss that ranks."""


ORDER = (
    *("estimator", "grid"),
    *("max_depth", "max_rules", "max_items", "max_points"),
    *("epsilon", "delta", "domain"),
    *("algorithm", "criterion", "mechanism", "accounting"),
    *("min_support", "pool", "literals"),
    *("classes", "target_range", "objective", "exposure"),
    *("accuracy_share", "base_rate_share", "leaf_counts_share", "quantile_share", "n_quantiles"),
    *("split_weight", "rule_weight", "confidence", "penalty"),
    *("min_samples_split", "min_samples_leaf", "min_impurity_decrease"),
    *("calibration_share", "bins", "monotone", "interactions", "reserve", "follows", "sites"),
    *("validation_fraction", "expected_fits", "shape"),
    *("ledger", "dataset", "records_per_person", "person_weights"),
    *("memory_limit", "time_limit", "progress", "random_state"),
)
"""Parameters of all learners in the one order in which signatures and docstrings list them.

What is learned and how large it may be comes first, then what is spent and what is public, and who pays comes last.
"""


class InOneOrder:
    """The signature of a learner: parameters that are passed by name stand in one order, whichever base has them."""

    def __get__(self, learner: object, kind: Any) -> Signature:
        """Return the signature of a class."""
        own, place = signature(kind.__init__), {name: i for i, name in enumerate(ORDER)}
        _, *parameters = own.parameters.values()

        def at(one: Parameter) -> tuple[int, int]:
            by_name = one.kind is Parameter.KEYWORD_ONLY
            # What a subclass adds comes after what is known.
            return one.kind, place.get(one.name, len(place)) if by_name else 0

        # A dataclass lists the fields of its bases first.
        return own.replace(parameters=sorted(parameters, key=at))


class Parameters:
    """Parameters of an estimator: fields of a dataclass, which keeps them unchecked and unchanged as scikit-learn asks.

    A field that several learners share stands in a base of theirs. A default that differs is set in the last class.
    """

    released: ClassVar[frozenset[str]]
    """The fitted attributes; nothing else is kept or pickled."""

    keeps_undeclared: ClassVar[bool] = False
    """Whether categories that the domain does not declare are distinguished from missing ones."""

    def _html_repr(self) -> str:
        """Return what a notebook shows in place of scikit-learn's box: the model, or parameters before the fit."""
        return Displayed._repr_html_(cast("Displayed", self))

    __signature__ = InOneOrder()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        defaults: dict[str, object] = {}
        for base in filter(is_dataclass, cls.__bases__):
            for one in fields(base):
                # Of two bases the first would decide, although it may have inherited what the second has changed.
                if one.name not in vars(cls) and defaults.setdefault(one.name, one.default) != one.default:
                    raise TypeError(f"bases of {cls.__name__} differ in the default of {one.name!r}: it must set one")
        # Types as such, not as texts: a class that inherits a field has not imported what they name.
        with suppress(NameError):
            cls.__annotations__ = get_annotations(cls, eval_str=True)

    def __new__(cls, *_: object, **parameters: object) -> Self:
        """Refuse a parameter that other libraries have and that does harm here, with what to use instead."""
        if "class_weight" in parameters:
            raise TypeError(NO_CLASS_WEIGHT)
        return super().__new__(cls)


class PublishedModel(Parameters, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """An estimator whose fitted state is a published model.

    Notes
    -----
    Guarantee: none; prediction is post-processing of :attr:`model_`.
    """

    released: ClassVar[frozenset[str]] = frozenset(
        {"model_", "certificate_", "domain_", "classes_", "n_features_in_", "feature_names_in_"}
    )

    domain: Domain | None

    model_: DecisionTree | RuleList | AdditiveModel  # The published model
    certificate_: Certificate  # Guarantee, events and assumptions
    domain_: Domain  # The domain of the attributes, in which records are read

    def _records(self, X: object) -> ConformedColumns:
        check_is_fitted(self, "model_")
        return read_records(self, X, self.domain_, keep_undeclared=self.keeps_undeclared)

    def predict(self, X: object) -> AnyArray:
        """Return the predicted class, or number, of each record, shape (n,).

        Parameters
        ----------
        X : data frame or array-like of shape (n, d)
            Records; values outside the domain are brought into it as in ``fit``.
        """
        records = self._records(X)
        return self.model_.predict(records)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: missing values are allowed where the domain allows them."""
        return tags_of_domain(super().__sklearn_tags__(), getattr(self, "domain", None))


class Scored:
    """An estimator whose targets and weights are those of the records: scikit-learn's score goes by position alone."""

    def score(self, X: object, y: object, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the accuracy of the predicted classes, or the coefficient of determination of predicted numbers.

        Parameters
        ----------
        X : data frame or array-like of shape (n, d)
            Records.
        y : array-like of shape (n,)
            Their true classes or numbers.
        sample_weight : array-like of shape (n,), optional
            How many records each row stands for.

        Raises
        ------
        InvalidDataError
            If targets or weights have the index of the records in another order, or another index; if ``y`` is a name.
        """
        if isinstance(y, str):
            raise InvalidDataError(
                f"{parameter('y')} must hold the true classes or numbers, got the name {y!r}.",
                remedy="Pass the column itself, and leave it out of X.",
            )
        check_alignment(X, y=y, sample_weight=sample_weight)
        by_position: Any = super()
        return float(by_position.score(X, y, sample_weight=sample_weight))


class TransparentModel(PublishedModel, ABC):
    """A learner of trees or rules."""

    model_: DecisionTree | RuleList

    def apply(self, X: object) -> Indices:
        """Return for each record the index of its leaf or rule among ``model_.cells``, shape (n,)."""
        records = self._records(X)
        return self.model_.apply(records)

    def decision_path(self, X: object) -> sparse.csr_matrix:
        """Return which nodes, or rules, each record is tested by, as a sparse matrix of zeros and ones.

        Returns
        -------
        csr_matrix of shape (n, nodes of the tree) or (n, rules with the default rule)
            Of a tree the nodes from the root to the leaf; of a list the rules up to the one that captures the record.
        """
        records = self._records(X)
        return decision_path(self.model_, records)

    def log_class_size(self) -> float:
        """Return the log of the number of models among which the fit chose.

        The logarithm is natural, and models with different leaf values are different models. Class counts are not
        counted: a fitted ordinary model also publishes them exactly, which :meth:`capacity` of such a learner counts.
        It needs no fit where ``domain`` holds the attributes alone and ``classes`` is given. Thresholds that are to be
        quantiles, and values about released base rates, count as many as there can be, so that the figure depends on
        public quantities alone. Divided by epsilon it is about the largest loss, in records of the largest cost, of a
        private model against the best. It takes as long as a
        fit without records.
        """
        return self._widest(*self._public_knowledge("size")).log_count()

    def memory_needed(self, n_records: int = 0) -> int:
        """Return the most bytes that a fit holds at once: its tables, and about what so many records take.

        It follows from public quantities alone, and needs no fit: see :meth:`log_class_size`. The container that is
        passed is not counted.

        Parameters
        ----------
        n_records : int, default=0
            Number of records, at least 0.
        """
        domain, n_classes = self._public_knowledge("memory")
        widest = self._widest(domain, n_classes)
        records = record_bytes(n_records, domain, n_conditions=len(widest.antecedents), numeric=widest.loss.parts > 1)
        return widest.table_bytes() + records

    def seconds_needed(self) -> float:
        """Return about how many seconds a fit takes on one core.

        It follows from public quantities alone, and needs no fit: see :meth:`log_class_size`.
        """
        return self._widest(*self._public_knowledge("time")).steps() * SECONDS_PER_STEP

    def n_conditions(self) -> int:
        """Return the most conditions that a model may test, a condition and its negation being one.

        It follows from public quantities alone, and needs no fit: see :meth:`log_class_size`.
        """
        return len(self._widest(*self._public_knowledge("number of conditions")).antecedents)

    def _public_knowledge(self, what: str) -> tuple[Domain, int]:
        """Return the domain of the attributes and the number of classes, from which a size follows."""
        domain, n_classes = (
            self.domain_ if hasattr(self, "model_") else getattr(self, "domain", None),
            self._n_classes(),
        )
        if not isinstance(domain, Domain) or n_classes is None:
            raise InvalidParameterError(
                f"the {what} of a class needs the domain of the attributes and the classes.",
                remedy=f"Pass {parameter('domain=')} and {parameter('classes=')}, or fit first.",
            )
        return domain, n_classes

    @abstractmethod
    def _n_classes(self) -> int | None:
        """Return the number of classes by which records are counted, if it is public or fitted."""

    @abstractmethod
    def _widest(self, domain: Domain, n_classes: int) -> ModelClass[Any]:
        """Return the largest class that the parameters can lead to."""


class TransparentClassifier(Scored, ClassifierMixin, TransparentModel):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier whose fitted state is the published model.

    Attributes
    ----------
    model_, domain_
        As for :class:`PublishedModel`.
    classes_ : ndarray of shape (c,)
        The classes, in the order of the columns of :meth:`predict_proba`.
    """

    classes_: AnyArray

    def predict_proba(self, X: object) -> Array:
        """Return the class probabilities of each record, shape (n, c), from the published counts."""
        records = self._records(X)
        return np.asarray(probabilities(self.model_)[self.model_.apply(records)])

    def _n_classes(self) -> int | None:
        classes = self.classes_ if hasattr(self, "model_") else getattr(self, "classes", None)
        return None if classes is None else len(classes)


def fitted(
    metadata: Metadata | Intake, model: DecisionTree | RuleList | AdditiveModel, certificate: Certificate
) -> dict[str, Any]:
    """Return the fitted attributes of a learner by name."""
    classes = {"classes_": class_array(metadata.classes)} if metadata.classes else {}
    # Of a private fit, what is public says nothing of weights: it has none.
    model = by_weight(model, getattr(metadata, "per_record", 1))
    return {"model_": model, "certificate_": certificate, "domain_": metadata.domain, **classes}


def tags_of_domain(tags: Any, domain: object) -> Any:
    """Return scikit-learn's tags of an estimator that reads records in a domain, which may allow missing values."""
    tags.input_tags.allow_nan = isinstance(domain, Domain) and any(domain[name].missing for name in domain)
    tags.input_tags.categorical = True
    return tags


class OrdinaryLearner(DeclaresItsClass, ABC):
    """An estimator whose fit reads the records without noise; each kind of model is learned in its own way.

    Notes
    -----
    Guarantee: none; the model and its exact counts are those of the records.
    """

    def fit(self, X: object, y: object, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn a model.

        Parameters
        ----------
        X : data frame, array-like of shape (n, d), or CountTable
            Training records. A regressor takes no table.
        y : array-like of shape (n,), or str
            Classes, of a regressor numbers, or the name of the column of ``X`` that holds them.
        sample_weight : array-like of shape (n,), optional
            How many records each row counts as, in the objective and in every published sum; numbers of at least 0.
            A whole weight is worth as many copies of its row. If some weights are fractions, limits on numbers of
            records, such as ``min_samples_leaf``, count rows, and counts are rounded. Where some weight is neither 0
            nor 1, counts are sums of weights, which the model says (``model_.sizes``), so that no audit takes them for
            numbers of records; whose weights are numbers of records passes a CountTable or says so. Fractions that
            are no sums of halves, quarters and so on are rounded: each by at most ``n / 2^31`` of the mean weight.
            Penalties and priors are in records: scale weights so that their mean is 1, unless they are counts.

        Raises
        ------
        InvalidParameterError, InvalidDataError
            If a parameter is out of its range, there are too few records for a leaf, the data do not fit the domain
            or the model, or weights are negative, missing, infinite, all zero, or add up to too much: 2^53, of
            fractions 2^31.
        ClassTooLargeError
            If what has to be tabulated may exceed a limit.
        """
        check_alignment(X, y=y, sample_weight=sample_weight)
        fitted = self._learn(X, y, sample_weight)
        if sample_weight is not None and not np.isin(np.asarray(sample_weight), (0, 1)).all():
            # A row that counts as several records may be of one: sums of weights are no numbers of records.
            fitted["model_"] = replace(fitted["model_"], sizes="derived")
        keep(self, fitted)
        return self

    @abstractmethod
    def _learn(self, X: object, y: object, times: npt.ArrayLike | None) -> dict[str, Any]:
        """Read the records and return the fitted attributes by name; ``times`` are the weights of ``fit``."""


class PrivateParameters(Parameters, PrivateLearner):
    """A private fit with scikit-learn's parameters: what is public of the target follows from them and the domain."""

    def _check_arguments(self, unsupported: Mapping[str, Any]) -> None:
        _refuse_unsupported(unsupported)
        check_stated(self.epsilon)
        check_domain(self.domain, optional=True)
        _check_progress(self.progress)

    def _predicts_number(self, name: str) -> bool:
        """Return whether the target is a number, by the parameters and its name alone."""
        return hasattr(self, "target_range")

    def _declared_target(self, target: TargetColumn, domain: Domain) -> dict[str, Any] | None:
        name = target.name
        if self._predicts_number(name):
            if target.counted:
                return None
            limits = public_range(getattr(self, "target_range", None), domain, name)
            return None if limits is None else {"target_range": limits, "target": name}
        classes = declared_classes(domain, name, getattr(self, "classes", None), booleans=target.booleans)
        if classes is None:
            return None
        if not target.named:
            # Whether an array's type can hold these classes is public.
            empty = target.empty
            class_codes([] if empty is None else empty, classes)
            if empty is not None and empty.dtype.kind in "fb" and not declared_numbers(classes):
                raise InvalidDataError(
                    f"the target is an array of {empty.dtype}, and the declared classes are texts: "
                    f"{first_of(classes, 6)}.",
                    remedy="Pass the texts.",
                )
        return {"classes": classes, "target": name}

    def _warn(self, metadata: Metadata) -> None:
        warn_of(metadata.caveats, metadata.domain)

    def _read_unsealed(self, X: object, y: object, persons: object, unit: PrivacyUnit) -> tuple[Any, Metadata]:
        whose: CountedPersons | None = None
        if unit.is_person:
            X, whose = take_persons(X, persons, unit, self.person_weights, y=y, domain=self.domain)
        return self._read_at_once(X, y, whose)

    @abstractmethod
    def _read_at_once(self, X: object, y: object, persons: CountedPersons | None) -> tuple[Any, Metadata]:
        """Read the records, and what is public of them from the records as well."""


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateEstimator(PrivateParameters):
    """A private learner with the parameters that all but the search have."""

    # A constructor has to work without arguments, for scikit-learn; fit refuses None.
    epsilon: float | None = None
    ledger: Any = None
    dataset: str | None = None
    records_per_person: int | None = None
    person_weights: str = "equal"
    progress: Progress | None = None
    random_state: RandomState = None


def _refuse_unsupported(unsupported: Mapping[str, Any]) -> None:
    """Raise TypeError for any further argument of a private fit."""
    if unsupported.get("sample_weight") is not None:
        raise TypeError(
            "a private fit takes no sample_weight: a weight changes how much one record can do, and so the guarantee. "
            "Leave it out. Where persons have several records, pass persons and records_per_person."
        )
    if "class_weight" in unsupported:
        raise TypeError(NO_CLASS_WEIGHT)
    for name in unsupported:
        if name != "sample_weight":
            raise TypeError(f"fit() got an unexpected argument {name!r}.")


def _check_progress(progress: object) -> None:
    """Raise InvalidParameterError if progress cannot be called."""
    if progress is not None and not callable(progress):
        raise InvalidParameterError(f"{parameter('progress')} must be callable or None, got {type(progress).__name__}.")
