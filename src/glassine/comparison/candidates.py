"""The learners that are compared: those of the package, private and not, and ordinary ones to compare with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine.comparison.comparison_results import Kind
from glassine.comparison.seeded_splits import Target
from glassine.domain import Category, Domain

CONSTANT = "constant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The public parameters that learners share.

    Attributes
    ----------
    domain : Domain
        The attributes, without the target.
    target : Classes or Number
        What is predicted.
    max_depth, max_rules : int
        Splits on a path of a tree, and rules of a list, at most.
    delta : float
        Delta of the additive models.
    time_limit : float
        Seconds that a fit of a tree or a list may take, by an estimate.
    records_per_person : int or None
        Most records of a person that a private learner uses; None where it is fitted for records.
    """

    domain: Domain
    target: Target
    max_depth: int = 3
    max_rules: int = 3
    delta: float = 1e-6
    time_limit: float = 60.0
    records_per_person: int | None = None

    @property
    def private(self) -> dict[str, Any]:
        """The same, with the most records per person, as parameters of a private learner."""
        unit = {} if self.records_per_person is None else {"records_per_person": self.records_per_person}
        return {**self.public, **unit}

    @property
    def public(self) -> dict[str, Any]:
        """Domain and classes or range, as parameters of a learner of the package."""
        return {"domain": self.domain, **self.target.parameters}

    def either(self, classifier: object, regressor: object) -> Any:
        """Return which of two estimators predicts the target."""
        return regressor if self.target.kind == "number" else classifier


Make = Callable[[Shape, float, int], Any]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A learner.

    Attributes
    ----------
    name : str
        What it is called on the command line.
    title : str
        What it is, in words.
    private : bool
        Whether it takes an epsilon.
    make : callable
        Returns the unfitted estimator from the shape, epsilon (not read where there is none) and a seed.
    readable : bool
        Whether people can read the model.
    size : {"max_depth", "max_rules", ""}
        The parameter of a shape that bounds it.
    predicts : tuple of {"classes", "number"}
        The targets that it can have.
    """

    name: str
    title: str
    make: Make
    private: bool = False
    readable: bool = True
    size: str = ""
    predicts: tuple[Kind, ...] = ("classes",)


def _own(takes: str, classifier: str, regressor: str = "") -> Make:
    """Return how a learner of the package is made, by its name and the parameters that it takes beside its domain."""

    def make(shape: Shape, epsilon: float, seed: int) -> Any:
        # Imported by name when it is made: all learners together take longer than a small fit.
        learner = getattr(import_module("glassine.learners"), shape.either(classifier, regressor))
        arguments = {"epsilon": epsilon, "random_state": seed}
        parameters = {name: arguments[name] if name in arguments else getattr(shape, name) for name in takes.split()}
        return learner(**parameters, **(shape.private if "epsilon" in parameters else shape.public))

    return make


def _constant(shape: Shape, epsilon: float, seed: int) -> Any:
    return shape.either(DummyClassifier, DummyRegressor)(strategy=shape.either("prior", "mean"))


def _cart(shape: Shape, epsilon: float, seed: int) -> Any:
    learner = shape.either(DecisionTreeClassifier, DecisionTreeRegressor)
    return encoded(shape.domain, learner(max_depth=shape.max_depth, random_state=seed))


def _deep_cart(shape: Shape, epsilon: float, seed: int) -> Any:
    learner = shape.either(DecisionTreeClassifier, DecisionTreeRegressor)
    return encoded(shape.domain, learner(random_state=seed))


def _logistic(shape: Shape, epsilon: float, seed: int) -> Any:
    return encoded(shape.domain, LogisticRegression(max_iter=2000), scaled=True)


def _linear(shape: Shape, epsilon: float, seed: int) -> Any:
    return encoded(shape.domain, LinearRegression(), scaled=True)


def _boosting(shape: Shape, epsilon: float, seed: int) -> Any:
    learner = shape.either(HistGradientBoostingClassifier, HistGradientBoostingRegressor)
    return encoded(shape.domain, learner(random_state=seed))


def encoded(domain: Domain, learner: object, *, scaled: bool = False, by_place: bool = False) -> Any:
    """Return a pipeline: gaps in numbers filled by the median, one column for each value of a category."""
    # Its columns are named, or are the places of the domain's attributes in a matrix.

    places: dict[str, Any] = {name: place if by_place else name for place, name in enumerate(domain)}
    text = [places[name] for name in domain if isinstance(domain[name], Category)]
    numbers = [places[name] for name in domain if places[name] not in text]
    filled: Any = SimpleImputer(strategy="median", keep_empty_features=True)
    if scaled:
        filled = make_pipeline(filled, StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(ColumnTransformer([("numbers", filled, numbers), ("text", one_hot, text)]), learner)


BOTH: tuple[Kind, ...] = ("classes", "number")

CANDIDATES: dict[str, Candidate] = {
    candidate.name: candidate
    for candidate in (
        Candidate(
            "tree",
            "private tree",
            _own("max_depth epsilon time_limit random_state", "PrivateTreeClassifier", "PrivateTreeRegressor"),
            private=True,
            size="max_depth",
            predicts=BOTH,
        ),
        Candidate(
            "rule-list",
            "private rule list",
            _own("max_rules epsilon time_limit random_state", "PrivateRuleListClassifier"),
            private=True,
            size="max_rules",
        ),
        Candidate(
            "greedy-rule-list",
            "private greedy rule list",
            _own("max_rules epsilon random_state", "PrivateGreedyRuleListClassifier"),
            private=True,
            size="max_rules",
        ),
        Candidate(
            "additive",
            "private additive model",
            _own("epsilon delta random_state", "PrivateEBMClassifier", "PrivateEBMRegressor"),
            private=True,
            predicts=BOTH,
        ),
        Candidate(
            "scorecard",
            "private scorecard",
            _own("epsilon delta random_state", "PrivateScorecardClassifier"),
            private=True,
        ),
        Candidate(
            "optimal-tree",
            "optimal tree",
            _own("max_depth time_limit", "OptimalTreeClassifier", "OptimalTreeRegressor"),
            size="max_depth",
            predicts=BOTH,
        ),
        Candidate(
            "optimal-rule-list",
            "optimal rule list",
            _own("max_rules time_limit", "OptimalRuleListClassifier"),
            size="max_rules",
        ),
        Candidate(
            "plain-greedy-rule-list",
            "greedy rule list",
            _own("max_rules", "GreedyRuleListClassifier"),
            size="max_rules",
        ),
        Candidate("plain-additive", "additive model", _own("", "EBMClassifier", "EBMRegressor"), predicts=BOTH),
        Candidate("plain-scorecard", "scorecard", _own("", "ScorecardClassifier")),
        Candidate("multiway-tree", "multiway tree", _own("max_depth", "MultiwayTreeClassifier"), size="max_depth"),
        Candidate("cart", "scikit-learn tree", _cart, size="max_depth", predicts=BOTH),
        Candidate("deep-cart", "scikit-learn tree of any depth", _deep_cart, predicts=BOTH),
        Candidate("logistic", "logistic regression", _logistic),
        Candidate("linear", "linear regression", _linear, predicts=("number",)),
        Candidate("boosting", "gradient boosting", _boosting, readable=False, predicts=BOTH),
        Candidate(CONSTANT, "constant prediction", _constant, predicts=BOTH),
    )
}
"""The learners by name, in the order in which they are shown."""
