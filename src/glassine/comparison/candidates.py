"""The learners that are compared: those of the package, private and not, and ordinary ones to compare with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from glassine.comparison.records import Target
from glassine.comparison.values import Kind
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


@dataclass(frozen=True, slots=True, kw_only=True)
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
    private: bool
    make: Make
    readable: bool = True
    size: str = ""
    predicts: tuple[Kind, ...] = ("classes",)


def _private_tree(shape: Shape, epsilon: float, seed: int) -> Any:
    from glassine.learners.exhaustive.private import PrivateTreeClassifier
    from glassine.learners.exhaustive.regression import PrivateTreeRegressor

    learner = shape.either(PrivateTreeClassifier, PrivateTreeRegressor)
    return learner(shape.max_depth, epsilon, time_limit=shape.time_limit, random_state=seed, **shape.private)


def _private_list(shape: Shape, epsilon: float, seed: int) -> Any:
    from glassine.learners.exhaustive.private import PrivateRuleListClassifier

    return PrivateRuleListClassifier(
        shape.max_rules, epsilon, time_limit=shape.time_limit, random_state=seed, **shape.private
    )


def _private_greedy(shape: Shape, epsilon: float, seed: int) -> Any:
    from glassine.learners.greedy.estimator import PrivateGreedyRuleListClassifier

    return PrivateGreedyRuleListClassifier(shape.max_rules, epsilon, random_state=seed, **shape.private)


def _additive(shape: Shape, epsilon: float, seed: int) -> Any:
    from glassine.learners.additive.estimators import PrivateEBMClassifier, PrivateEBMRegressor

    learner = shape.either(PrivateEBMClassifier, PrivateEBMRegressor)
    return learner(epsilon, shape.delta, random_state=seed, **shape.private)


def _private_card(shape: Shape, epsilon: float, seed: int) -> Any:
    from glassine.learners.additive.scorecards import PrivateScorecardClassifier

    return PrivateScorecardClassifier(epsilon, shape.delta, random_state=seed, **shape.private)


def _card(shape: Shape, epsilon: float, seed: int) -> Any:
    from glassine.learners.additive.scorecards import ScorecardClassifier

    return ScorecardClassifier(**shape.public)


def _plain_additive(shape: Shape, epsilon: float, seed: int) -> Any:
    from glassine.learners.additive.ordinary import EBMClassifier, EBMRegressor

    return shape.either(EBMClassifier, EBMRegressor)(**shape.public)


def _optimal_tree(shape: Shape, epsilon: float, seed: int) -> Any:
    from glassine.learners.exhaustive.optimal import OptimalTreeClassifier
    from glassine.learners.exhaustive.regression import OptimalTreeRegressor

    learner = shape.either(OptimalTreeClassifier, OptimalTreeRegressor)
    return learner(shape.max_depth, time_limit=shape.time_limit, **shape.public)


def _optimal_list(shape: Shape, epsilon: float, seed: int) -> Any:
    from glassine.learners.exhaustive.optimal import OptimalRuleListClassifier

    return OptimalRuleListClassifier(shape.max_rules, time_limit=shape.time_limit, **shape.public)


def _plain_greedy(shape: Shape, epsilon: float, seed: int) -> Any:
    from glassine.learners.greedy.rule_list import GreedyRuleListClassifier

    return GreedyRuleListClassifier(shape.max_rules, **shape.public)


def _multiway(shape: Shape, epsilon: float, seed: int) -> Any:
    from glassine.learners.multiway_tree import MultiwayTreeClassifier

    return MultiwayTreeClassifier(max_depth=shape.max_depth, **shape.public)


def _constant(shape: Shape, epsilon: float, seed: int) -> Any:
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return shape.either(DummyClassifier, DummyRegressor)(strategy=shape.either("prior", "mean"))


def _cart(shape: Shape, epsilon: float, seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    learner = shape.either(DecisionTreeClassifier, DecisionTreeRegressor)
    return encoded(shape.domain, learner(max_depth=shape.max_depth, random_state=seed))


def _deep_cart(shape: Shape, epsilon: float, seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    learner = shape.either(DecisionTreeClassifier, DecisionTreeRegressor)
    return encoded(shape.domain, learner(random_state=seed))


def _logistic(shape: Shape, epsilon: float, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return encoded(shape.domain, LogisticRegression(max_iter=2000), scaled=True)


def _linear(shape: Shape, epsilon: float, seed: int) -> Any:
    from sklearn.linear_model import LinearRegression

    return encoded(shape.domain, LinearRegression(), scaled=True)


def _boosting(shape: Shape, epsilon: float, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    learner = shape.either(HistGradientBoostingClassifier, HistGradientBoostingRegressor)
    return encoded(shape.domain, learner(random_state=seed))


def encoded(domain: Domain, learner: object, *, scaled: bool = False, by_place: bool = False) -> Any:
    """Return a pipeline: gaps in numbers filled by the median, one column for each value of a category."""
    # Its columns are named, or are the places of the domain's attributes in a matrix.
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

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
        Candidate(name="tree", title="private tree", private=True, make=_private_tree, size="max_depth", predicts=BOTH),
        Candidate(name="rule-list", title="private rule list", private=True, make=_private_list, size="max_rules"),
        Candidate(
            name="greedy-rule-list",
            title="private greedy rule list",
            private=True,
            make=_private_greedy,
            size="max_rules",
        ),
        Candidate(name="additive", title="private additive model", private=True, make=_additive, predicts=BOTH),
        Candidate(name="scorecard", title="private scorecard", private=True, make=_private_card),
        Candidate(
            name="optimal-tree",
            title="optimal tree",
            private=False,
            make=_optimal_tree,
            size="max_depth",
            predicts=BOTH,
        ),
        Candidate(
            name="optimal-rule-list", title="optimal rule list", private=False, make=_optimal_list, size="max_rules"
        ),
        Candidate(
            name="plain-greedy-rule-list",
            title="greedy rule list",
            private=False,
            make=_plain_greedy,
            size="max_rules",
        ),
        Candidate(name="plain-additive", title="additive model", private=False, make=_plain_additive, predicts=BOTH),
        Candidate(name="plain-scorecard", title="scorecard", private=False, make=_card),
        Candidate(name="multiway-tree", title="multiway tree", private=False, make=_multiway, size="max_depth"),
        Candidate(name="cart", title="scikit-learn tree", private=False, make=_cart, size="max_depth", predicts=BOTH),
        Candidate(
            name="deep-cart", title="scikit-learn tree of any depth", private=False, make=_deep_cart, predicts=BOTH
        ),
        Candidate(name="logistic", title="logistic regression", private=False, make=_logistic),
        Candidate(name="linear", title="linear regression", private=False, make=_linear, predicts=("number",)),
        Candidate(
            name="boosting", title="gradient boosting", private=False, make=_boosting, readable=False, predicts=BOTH
        ),
        Candidate(name=CONSTANT, title="constant prediction", private=False, make=_constant, predicts=BOTH),
    )
}
"""The learners by name, in the order in which they are shown."""
