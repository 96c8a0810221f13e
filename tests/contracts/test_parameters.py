"""What holds for the parameters of every estimator: scikit-learn's contracts, and one default everywhere."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import glassine
from glassine import Ledger, learners
from glassine.errors import InvalidParameterError
from glassine.learners.estimator import ORDER, Parameters, PublishedModel
from tests.contracts.test_private_fits import DOMAIN, LEARNERS, PEOPLE, SIMPLEST, decide, target

ESTIMATORS: dict[str, Any] = {
    name: value
    for room in (glassine, learners)
    for name in dir(room)
    if isinstance(value := getattr(room, name), type) and issubclass(value, BaseEstimator)
}
REQUIRED: dict[str, dict[str, Any]] = {
    "PrivateSearchCV": {"estimator": glassine.learners.PrivateTreeClassifier(), "grid": {"max_depth": [1, 2]}},
    "SurrogateExplainer": {"predict": None},
}
every = pytest.mark.parametrize("name", ESTIMATORS)


def made(name: str, **more: Any) -> Any:
    """Return an estimator with its defaults."""
    return ESTIMATORS[name](**REQUIRED.get(name, {}), **more)


@every
def test_defaults_are_those_of_the_signature_the_class_and_the_docstring(name: str) -> None:
    kind, values = ESTIMATORS[name], made(name).get_params(deep=False)
    for parameter in inspect.signature(kind).parameters.values():
        if parameter.name in REQUIRED.get(name, {}):
            continue
        assert values[parameter.name] is parameter.default
        assert getattr(kind, parameter.name, parameter.default) is parameter.default
        assert re.search(rf"^    .*\b{parameter.name}\b( :.*|,.*)?$", kind.__doc__ or "", re.MULTILINE)


POSITIONAL = {"estimator", "grid", "predict", "k", "max_depth", "max_rules"}
"""What is searched or explained, and the size of what is learned."""


def names_of(name: str) -> list[str]:
    """Return the parameters of an estimator as its signature lists them."""
    return list(inspect.signature(ESTIMATORS[name]).parameters)


@every
def test_all_but_the_size_is_passed_by_name(name: str) -> None:
    for parameter in inspect.signature(ESTIMATORS[name]).parameters.values():
        assert parameter.kind is parameter.KEYWORD_ONLY or parameter.name in POSITIONAL
    with pytest.raises(TypeError, match="positional argument"):
        ESTIMATORS[name](*[None] * 9)


def test_parameters_stand_in_one_order_in_all_learners() -> None:
    before: dict[tuple[str, str], str] = {}
    for name in ESTIMATORS:
        for pair in itertools.combinations(names_of(name), 2):
            assert pair[::-1] not in before, (pair, name, before[pair[::-1]])
            before[pair] = name
    assert ("epsilon", "domain") in before


@every
def test_a_learner_names_its_parameters_in_the_one_order(name: str) -> None:
    if issubclass(ESTIMATORS[name], Parameters):
        assert names_of(name) == sorted(names_of(name), key=ORDER.index)
    doc = inspect.cleandoc(ESTIMATORS[name].__doc__ or "").partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    said = [line.split(" : ")[0].split(", ") for line in doc.split("\n") if not line.startswith(" ")]
    assert list(itertools.chain.from_iterable(said)) == names_of(name)


SPENDING = [name for name in ESTIMATORS if "epsilon" in names_of(name)]
spending = pytest.mark.parametrize("name", SPENDING)


class Closed:
    """Records, targets or persons that nobody may look at."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"records are opened: {name}")


def closed(*_: object) -> Any:
    raise AssertionError("the black box is asked")


@spending
def test_epsilon_is_passed_by_name_and_has_no_default(name: str) -> None:
    parameter = inspect.signature(ESTIMATORS[name]).parameters["epsilon"]
    assert parameter.kind is parameter.KEYWORD_ONLY
    assert parameter.default is None
    estimator = made(name)
    assert estimator.epsilon is clone(estimator).epsilon is None
    assert clone(estimator.set_params(epsilon=0.5)).epsilon == 0.5


@pytest.mark.parametrize("name", [name for name in SPENDING if name != "SurrogateExplainer"])
def test_a_fit_without_epsilon_is_refused_before_it_is_charged_or_records_are_opened(name: str, tmp_path: Path) -> None:
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 10.0, 0.1)
    estimator = made(name, ledger=book, dataset="people")
    for given in ({}, {"persons": Closed()}):
        with pytest.raises(InvalidParameterError, match=r"epsilon must be stated.* got None\. Pass epsilon=, such as"):
            estimator.fit(Closed(), Closed(), **given)
    assert not book.entries("people")
    assert vars(estimator).keys() == estimator.get_params(deep=False).keys()


@pytest.mark.parametrize("labels", ["black-box", "true"])
@pytest.mark.parametrize("partition", ["public", "microaggregation"])
def test_private_trees_without_public_classes_are_refused_before_records_are_opened(
    partition: str, labels: str, tmp_path: Path
) -> None:
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 10.0, 0.1)
    paid: dict[str, Any] = {"ledger": book, "dataset": "people"} if partition == "public" else {}
    private = glassine.surrogates.SurrogateExplainer(
        closed, epsilon=1.0, domain=DOMAIN, partition=partition, labels=labels, **paid
    )  # fmt: skip
    with pytest.raises(InvalidParameterError, match="the answers of the black box must be public"):
        private.fit(Closed(), Closed())
    assert not book.entries("people")
    # Without epsilon nothing is claimed, and classes may be those that occur.
    plain = glassine.surrogates.SurrogateExplainer(decide, k=20, domain=DOMAIN, distance="gower", fixed_black_box=True)
    assert set(plain.fit(PEOPLE).classes_) == {"no", "yes"}


@pytest.mark.filterwarnings("ignore::glassine.errors.PrivacyLeakWarning")
@pytest.mark.parametrize("learner", LEARNERS | {"summary": SIMPLEST["summary"]})
def test_a_grid_search_states_epsilon(learner: str) -> None:
    estimator = (LEARNERS | SIMPLEST)[learner](epsilon=None, random_state=0)
    search = GridSearchCV(estimator, {"epsilon": [0.5, 1.0]}, cv=2, scoring=lambda fitted, *_: fitted.epsilon)
    chosen = search.fit(PEOPLE, target(estimator)).best_estimator_
    assert chosen.epsilon == chosen.certificate_.epsilon == 1.0


@every
def test_types_of_parameters_can_be_looked_up(name: str) -> None:
    kind = ESTIMATORS[name]
    assert typing.get_type_hints(kind.__init__).keys() == {*inspect.signature(kind).parameters, "return"}


@every
def test_an_estimator_is_itself_alone(name: str) -> None:
    one, other = made(name), made(name)
    assert one == one
    assert one != other
    assert len({one, other, one}) == 2
    assert type(one).__repr__ is BaseEstimator.__repr__


@every
def test_copies_have_the_parameters_and_nothing_else(name: str) -> None:
    estimator = made(name)
    copies = [copy.copy(estimator), copy.deepcopy(estimator), clone(estimator)]
    if name != "SurrogateExplainer":
        copies.append(pickle.loads(pickle.dumps(estimator)))
    for one in copies:
        assert type(one) is type(estimator)
        assert vars(one).keys() == vars(estimator).keys() == estimator.get_params(deep=False).keys()
        assert repr(one) == repr(estimator)


@pytest.mark.filterwarnings("ignore::glassine.errors.PrivacyLeakWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    [
        learners.GreedyRuleListClassifier(10, pool="pairs", min_support=0.01),
        learners.OptimalTreeRegressor(2),
        learners.PrivateGreedyRuleListClassifier(epsilon=1e4, random_state=0),
        learners.PrivateTreeRegressor(2, epsilon=1e4, random_state=0),
    ]
)
def test_scikit_learn_contract(estimator: Any, check: Callable[[Any], None]) -> None:
    """The checks of the other estimators stand with their own tests."""
    check(estimator)


@every
def test_what_is_no_parameter_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match="nonsense"):
        made(name, nonsense=1)
    with pytest.raises(ValueError, match="nonsense"):
        made(name).set_params(nonsense=1)


@every
def test_subclasses_may_have_a_constructor_of_their_own(name: str) -> None:
    required = REQUIRED.get(name, {})

    kind = ESTIMATORS[name]

    class Own(kind):  # type: ignore[misc, valid-type]  # of the parameter
        def __init__(self, extra: int = 3) -> None:
            super().__init__(**required)
            self.extra = extra

    assert Own(4).get_params() == {"extra": 4}
    assert clone(Own(4)).extra == 4
    assert vars(Own()).keys() == vars(made(name)).keys() | {"extra"}
    # And attributes of the class in the place of parameters.
    first = next(parameter for parameter in made(name).get_params(deep=False) if parameter not in required)
    assert issubclass(type("Second", (type("First", (kind,), {first: property(str)}),), {}), kind)


@dataclass(kw_only=True, eq=False, repr=False)
class Shared(PublishedModel):
    """A base with a parameter."""

    depth: int = 3


@dataclass(kw_only=True, eq=False, repr=False)
class Deep(Shared):
    """One that sets another default."""

    depth: int = 9


@dataclass(kw_only=True, eq=False, repr=False)
class Same(Shared):
    """One that inherits the default."""


def test_bases_that_differ_in_a_default_are_refused_unless_the_class_sets_one() -> None:
    # A dataclass would take the 3 that Same has inherited, where the attribute of the class is 9.
    with pytest.raises(TypeError, match="'depth'"):
        type("Both", (Same, Deep), {})
    both: Any = dataclass(kw_only=True, eq=False, repr=False)(
        type("Both", (Same, Deep), {"depth": 5, "__annotations__": {"depth": int}})
    )
    assert both().depth == both.depth == 5


def test_a_type_that_type_checkers_alone_know_stays_a_text() -> None:
    later = type("Later", (Parameters,), {"__annotations__": {"size": "Unheard"}})
    assert later.__annotations__ == {"size": "Unheard"}
