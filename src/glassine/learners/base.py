"""What all learners of trees and rule lists share: prediction from the published model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from glassine.data.conform import Columns
from glassine.domain import Domain
from glassine.errors import InvalidParameterError
from glassine.learners.exhaustive.lists import ListClass
from glassine.learners.exhaustive.trees import TreeClass
from glassine.learners.intake import Intake, read_records
from glassine.learners.publishing import decision_path, probabilities, route
from glassine.models import DecisionTree, RuleList
from glassine.privacy.certificate import Certificate

__all__ = ["TransparentClassifier", "class_array", "fitted", "keep", "tags_of_domain"]

OF_THE_INTAKE = frozenset({"n_features_in_", "feature_names_in_"})
"""Fitted attributes that are set while records are read, as scikit-learn does."""


class TransparentClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier whose fitted state is the published model.

    Attributes
    ----------
    model_ : DecisionTree or RuleList
        The published model.
    domain_ : Domain
        The domain of the attributes, in which records are read.
    classes_ : ndarray of shape (c,)
        The classes, in the order of the columns of :meth:`predict_proba`.

    Notes
    -----
    Guarantee: none of its own: prediction is post-processing of :attr:`model_`.
    """

    released: ClassVar[frozenset[str]] = frozenset(
        {"model_", "certificate_", "domain_", "classes_", "n_features_in_", "feature_names_in_"}
    )
    """The fitted attributes; nothing else is kept or pickled."""

    model_: DecisionTree | RuleList
    domain_: Domain
    classes_: npt.NDArray[Any]

    def _records(self, X: Any) -> Columns:
        check_is_fitted(self, "model_")
        return read_records(self, X, self.domain_)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predicted class of each record, shape (n,).

        Parameters
        ----------
        X : data frame or array-like of shape (n, d)
            Records; values outside the domain are brought into it as in ``fit``.
        """
        records = self._records(X)
        labels = np.array([cell.evidence.prediction for cell in self.model_.cells])
        return np.asarray(self.classes_[labels[route(self.model_, records)]])

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the class probabilities of each record, shape (n, c), from the published counts."""
        records = self._records(X)
        return np.asarray(probabilities(self.model_)[route(self.model_, records)])

    def apply(self, X: Any) -> npt.NDArray[np.intp]:
        """Return for each record the index of its leaf or rule among ``model_.cells``, shape (n,)."""
        return route(self.model_, self._records(X))

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Return which nodes, or rules, each record is tested by, as a sparse matrix of zeros and ones.

        Returns
        -------
        csr_matrix of shape (n, nodes of the tree) or (n, rules with the default rule)
            Of a tree the nodes from the root to the leaf; of a list the rules up to the one that captures the record.
        """
        return decision_path(self.model_, self._records(X))

    def log_class_size(self) -> float:
        """Return the natural logarithm of the number of models among which the fit chose, labels told apart.

        It needs no fit where ``domain`` holds the attributes alone and ``classes`` is given. Thresholds that are to be
        quantiles count as many as there can be, so that the figure depends on public quantities alone. Divided by
        epsilon it is about the largest loss, in errors, of a private model against the best. It takes as long as a
        fit without records.
        """
        return self._public_class("size").log_count()

    def memory_needed(self) -> int:
        """Return the most bytes of the tables that a fit holds at once, besides the records.

        It follows from public quantities alone, and needs no fit: see :meth:`log_class_size`.
        """
        return self._public_class("memory").table_bytes()

    def _public_class(self, what: str) -> TreeClass | ListClass:
        domain, classes = getattr(self, "domain", None), getattr(self, "classes", None)
        if hasattr(self, "model_"):
            domain, classes = self.domain_, self.classes_
        if not isinstance(domain, Domain) or classes is None:
            raise InvalidParameterError(
                f"the {what} of a class needs the domain of the attributes and the classes. Pass domain= and "
                "classes=, or fit first."
            )
        return self._widest(domain, len(classes))

    @abstractmethod
    def _widest(self, domain: Domain, n_classes: int) -> TreeClass | ListClass:
        """Return the largest class that the parameters can lead to."""

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: missing values are allowed where the domain allows them."""
        return tags_of_domain(super().__sklearn_tags__(), getattr(self, "domain", None))

    def _publish(self, classes: tuple[Any, ...], domain: Domain) -> None:
        self.classes_ = class_array(classes)
        self.domain_ = domain


def fitted(intake: Intake, model: DecisionTree | RuleList, certificate: Certificate) -> dict[str, Any]:
    """Return the fitted attributes of a classifier by name."""
    return {
        "model_": model,
        "certificate_": certificate,
        "domain_": intake.domain,
        "classes_": class_array(intake.classes),
    }


def keep(estimator: Any, attributes: Mapping[str, Any]) -> None:
    """Set fitted attributes, all at once, and forget those that an earlier fit had besides."""
    vars(estimator).update(attributes)
    for name in estimator.released - OF_THE_INTAKE - set(attributes):
        vars(estimator).pop(name, None)


def tags_of_domain(tags: Any, domain: object) -> Any:
    """Return scikit-learn's tags of an estimator that reads records in a domain, which may allow missing values."""
    tags.input_tags.allow_nan = isinstance(domain, Domain) and any(domain[name].missing for name in domain)
    tags.input_tags.categorical = True
    return tags


def class_array(classes: tuple[Any, ...]) -> npt.NDArray[Any]:
    """Return classes as an array of one type; of objects where they are mixed."""
    kinds = {type(value) for value in classes}
    if len(kinds) > 1:
        out = np.empty(len(classes), dtype=object)
        out[:] = classes
        return out
    return np.array(classes)
