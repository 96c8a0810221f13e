"""What holds for the parameters of every estimator: scikit-learn's contracts, and one default everywhere."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import glassine
from glassine import learners
from glassine.learners.estimator import Parameters, PublishedModel

ESTIMATORS: dict[str, Any] = {
    name: value
    for room in (glassine, learners)
    for name in dir(room)
    if isinstance(value := getattr(room, name), type) and issubclass(value, BaseEstimator)
}
REQUIRED: dict[str, dict[str, Any]] = {
    "PrivateSearchCV": {"estimator": glassine.PrivateTreeClassifier(), "grid": {"max_depth": [1, 2]}},
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


@pytest.mark.filterwarnings("ignore::glassine.PrivacyLeakWarning")
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
