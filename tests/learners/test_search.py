"""The search over settings: scikit-learn's contracts, what is kept, its parts, refusals, and planted faults."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from glassine import Category, Domain, GlassineError, Integer, Ledger, as_model, audit
from glassine.data import CountTable
from glassine.errors import InvalidDataError, PrivacyLeakWarning
from glassine.formats import fingerprint
from glassine.learners import (
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateGreedyRuleListClassifier,
    PrivateRuleListClassifier,
    PrivateSearchCV,
    PrivateTreeClassifier,
)
from glassine.learners.intake import HeldIntake
from glassine.privacy import Parallel, RepeatedSelection, Selection
from glassine.privacy.certificate import Certificate
from glassine.privacy.private_selection import RunCount
from glassine.privacy.randomness import Randomness
from glassine.privacy.unit import PrivacyUnit
from glassine.records.identifiers import identifier
from glassine.records.undeclared import read_checked
from glassine.sealed.persons import CountedPersons
from glassine.sealed.scoring import n_correct
from glassine.sealed.selection import split

DOMAIN = Domain(
    {"age": Integer(18, 90, thresholds=(25, 40, 60)), "job": Category(("clerk", "baker", "pilot"), missing=True)}
)
DEPTHS = {"max_depth": [1, 2]}


def people(n: int = 600, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray[Any, Any]]:
    """Return records, and classes that a tree of depth 2 gives and one of depth 1 does not."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 91, n),
            "job": rng.choice(np.array(["clerk", "baker", "pilot", None], dtype=object), n).tolist(),
        }
    )
    return frame, np.where(
        (frame["age"].to_numpy() > 40) & (frame["job"].fill_null("") == "clerk").to_numpy(), "yes", "no"
    )


def tree(**more: Any) -> PrivateTreeClassifier:
    usual: dict[str, Any] = {"domain": DOMAIN, "classes": ("no", "yes")}
    return PrivateTreeClassifier(**(usual | more))


def search(**more: Any) -> PrivateSearchCV:
    """Return a seeded search over trees."""
    usual: dict[str, Any] = {"estimator": tree(), "grid": DEPTHS, "epsilon": 3.0, "shape": 1, "random_state": 0}
    return PrivateSearchCV(**(usual | more))


@pytest.mark.filterwarnings("ignore::glassine.errors.PrivacyLeakWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    [PrivateSearchCV(PrivateTreeClassifier(), {"max_depth": [2, 3]}, epsilon=3e4, expected_fits=2, random_state=0)]
)
def test_scikit_learn_contract(estimator: Any, check: Callable[[Any], None]) -> None:
    """No check is exempted; the search runs at an epsilon that leaves no noise to speak of."""
    check(estimator)
    assert not hasattr(estimator, "model_"), "checks work on clones"


def test_the_better_setting_is_chosen_and_its_fit_is_published() -> None:
    frame, y = people()
    found = search().fit(frame, y)
    assert found.best_params_ == {"max_depth": 2}
    assert found.score(frame, y) > 0.97
    assert found.best_estimator_.max_depth == 2
    assert found.predict(frame).tolist() == found.best_estimator_.predict(frame).tolist()
    assert found.predict_proba(frame).shape == (600, 2)
    assert not hasattr(found, "decision_function")
    assert as_model(found) == found.model_
    assert audit(found, domain=DOMAIN).subject is not None


def test_model_and_certificate_state_what_the_whole_search_spent() -> None:
    frame, y = people()
    found = search().fit(frame, y)
    certificate = found.certificate_
    assert found.best_estimator_.certificate_ is certificate
    assert found.best_estimator_.model_ is found.model_
    assert (certificate.epsilon, certificate.delta) == (3.0, 0.0)
    assert (found.model_.guarantee.epsilon, found.model_.guarantee.delta) == (3.0, 0.0)
    assert found.best_estimator_.epsilon == 1.0
    assert certificate.model == fingerprint(found.model_)
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert certificate.public["search"]["settings"] == ["max_depth=1", "max_depth=2"]
    additive = search(
        estimator=PrivateEBMClassifier(domain=DOMAIN, classes=("no", "yes")), grid={"interactions": [0, 1]}
    )
    additive.set_params(expected_fits=4, delta=1e-5).fit(frame, y)
    assert (additive.certificate_.epsilon, additive.certificate_.delta) == (3.0, 1e-5)
    assert additive.model_.guarantee.delta == 1e-5
    assert additive.best_estimator_.delta == 2.5e-6
    assert additive.decision_function(frame).shape == (600,)


def test_only_the_chosen_fit_is_kept_and_pickled() -> None:
    frame, y = people()
    grid = {"algorithm": ["boosting"]}
    estimator = PrivateEBMClassifier(domain=DOMAIN, classes=("no", "yes"))
    for found in (search(), search(estimator=estimator, grid=grid, expected_fits=2)):
        found.fit(frame, y)
        assert {name for name in vars(found) if name.endswith("_")} == found.released
        inner = {name for name in vars(found.best_estimator_) if name.endswith("_")}
        assert inner == found.best_estimator_.released
        back = pickle.loads(pickle.dumps(found))
        assert set(vars(back)) == set(vars(found))
        assert back.model_ == found.model_
        parameters = {name: value for name, value in found.best_estimator_.get_params().items() if name != "epsilon"}
        unset = clone(found.estimator).set_params(**found.best_params_).get_params()
        changed = {name for name, value in parameters.items() if value != unset[name]}
        assert changed <= {"delta"}


def test_every_container_gives_the_same_search() -> None:
    frame, y = people(200)
    both = frame.with_columns(y=pl.Series(y))
    named = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "y": Category(("no", "yes"))})
    rows = [list(row) for row in frame.rows()]
    sources: list[tuple[Any, Any]] = [
        (frame, y),
        (frame.to_pandas(), pl.Series(y)),
        (frame.to_dicts(), y.tolist()),
        (rows, y),
        (np.array(rows, dtype=object), y),
        (both, "y"),
        (both.lazy(), "y"),
        (duckdb.from_arrow(both.to_arrow()), "y"),
    ]
    models = [search(expected_fits=3).fit(X, labels).model_ for X, labels in sources]
    assert all(model == models[0] for model in models)
    with pytest.raises(InvalidDataError, match="CountTable"):
        search().fit(CountTable.from_frame(both, named), "y")


REFUSED: dict[str, dict[str, Any]] = {
    "a learner without privacy": {"estimator": clone(tree()).__class__},
    "a regressor": {"estimator": PrivateEBMRegressor()},
    "a search of searches": {"estimator": search()},
    "a ledger of the estimator": {"estimator": tree(ledger="budget.sqlite")},
    "a seed of the estimator": {"estimator": tree(random_state=1)},
    "epsilon in the grid": {"grid": {"epsilon": [1.0, 2.0]}},
    "classes in the grid": {"grid": {"classes": [("no", "yes")]}},
    "an unknown parameter": {"grid": {"max_dept": [1]}},
    "an empty grid": {"grid": {"max_depth": []}},
    "an impossible setting": {"grid": {"max_depth": [1, 99]}},
    "no number": {"epsilon": "1"},
    "no delta": {"delta": 0.0},
    "all held out": {"validation_fraction": 1.0},
    "none held out": {"validation_fraction": 0.0},
    "one fit": {"expected_fits": 1},
    "a shape beyond": {"shape": 2.0},
    "a shape at the end": {"shape": -1.0},
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_searched_is_refused_before_the_charge(case: str, tmp_path: Any) -> None:
    book = Ledger(tmp_path / "ledger.sqlite")
    book.budget("people", 10.0, 0.1)
    frame, y = people(60)
    with pytest.raises((GlassineError, ValueError)):
        search(**REFUSED[case], ledger=book, dataset="people").fit(frame, y)
    assert not book.entries("people")


def test_a_search_without_a_public_domain_warns_once_and_says_so() -> None:
    X, y = np.arange(80).reshape(-1, 1) % 10, np.arange(80) % 2
    with pytest.warns(PrivacyLeakWarning) as caught:
        found = search(estimator=PrivateTreeClassifier(), expected_fits=5).fit(X, y)
    assert len(caught) == len({str(one.message) for one in caught}) == 2
    assert len([caveat for caveat in found.certificate_.caveats if "from the data" in caveat]) == 2
    assert not found.certificate_.holds
    assert found.model_.guarantee.caveats == found.certificate_.caveats
    assert found.best_estimator_.domain is None


def taken(n: int, persons: CountedPersons | None = None, times: Any = None) -> HeldIntake:
    """Return records as a fit takes them."""
    frame, y = people(n)
    return HeldIntake(
        columns=read_checked(frame, DOMAIN),
        labels=np.where(y == "yes", 1, 0),
        multiplicities=times,
        domain=DOMAIN,
        classes=("no", "yes"),
        caveats=(),
        persons=persons,
    )


def test_the_records_of_one_person_fall_into_one_part() -> None:
    keys = [i % 50 for i in range(400)]
    known = tuple(identifier(key) for key in keys)
    whose = CountedPersons(identifiers=known, unit=PrivacyUnit.person(3), equal=True, column=None)
    sides = split(taken(400, whose), Fraction(1, 5), Randomness.of(0))
    by_person = {key: {bool(side) for side, other in zip(sides, keys, strict=True) if other == key} for key in keys}
    assert all(len(found) == 1 for found in by_person.values())
    assert {side for found in by_person.values() for side in found} == {True, False}
    alone = split(taken(400), Fraction(1, 5), Randomness.of(0))
    assert any(len({bool(side) for side, other in zip(alone, keys, strict=True) if other == key}) == 2 for key in keys)


def test_one_more_record_moves_no_other_to_another_part() -> None:
    for n in (1, 7, 50):
        fewer, more = (split(taken(size), Fraction(1, 5), Randomness.of(3)) for size in (n, n + 1))
        assert (more[:n] == fewer).all()
    many = split(taken(20_000), Fraction(1, 5), Randomness.of(1))
    assert abs(many.mean() - 0.8) < 4 * (0.16 / 20_000) ** 0.5


def test_one_more_record_raises_a_score_by_its_weight_or_not_at_all() -> None:
    frame, y = people(80)
    fitted = tree(max_depth=1, epsilon=5.0, random_state=0).fit(frame, y)
    weights = np.random.default_rng(0).integers(1, 4, 80)
    held_out = taken(80, times=weights)
    whole = n_correct(fitted.model_, held_out)
    assert whole == int(weights[fitted.predict(frame) == y].sum())
    raised = set()
    for i in range(80):
        raised.add((whole - n_correct(fitted.model_, held_out.take(np.arange(80) != i))) / weights[i])
    assert raised == {0.0, 1.0}
    assert n_correct(fitted.model_, held_out.take(np.zeros(80, dtype=bool))) == 0


LEARNERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "trees": (tree(), DEPTHS),
    "trees with private thresholds": (tree(literals="quantiles"), DEPTHS),
    "rule lists": (PrivateRuleListClassifier(domain=DOMAIN, classes=("no", "yes")), {"max_rules": [1, 2]}),
    "greedy rule lists": (PrivateGreedyRuleListClassifier(domain=DOMAIN, classes=("no", "yes")), {"max_rules": [1, 2]}),
    "additive models": (PrivateEBMClassifier(domain=DOMAIN, classes=("no", "yes")), {"interactions": [0, 1]}),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_search_publishes_a_model_even_where_all_records_are_held_out(name: str, tmp_path: Any) -> None:
    """A refusal after the charge would spend epsilon for nothing, and tell that the training part is empty."""
    estimator, grid = LEARNERS[name]
    frame, y = people(1)
    book = Ledger(tmp_path / "ledger.sqlite")
    book.budget("people", 1000.0, 0.1)
    made = search(estimator=estimator, grid=grid, validation_fraction=0.9, expected_fits=2)
    made.set_params(ledger=book, dataset="people")
    empty = 0
    for seed in range(6):
        made.set_params(random_state=seed).fit(frame, y)
        assert made.certificate_.epsilon == 3.0
        stream = Randomness.of(seed)
        empty += not split(taken(1), Fraction(9, 10), stream).any()
    assert empty >= 3
    assert len(book.entries("people")) == 6


@pytest.mark.slow
def test_the_number_of_fits_and_their_scores_are_told_by_nothing_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, y = people(200)
    numbers = []
    honest = RunCount.draw

    def spied(self: RunCount, randomness: Randomness) -> int:
        numbers.append(honest(self, randomness))
        return numbers[-1]

    monkeypatch.setattr(RunCount, "draw", spied)
    texts = set()
    for seed in range(6):
        found = search(grid={"max_depth": [2]}, random_state=seed, expected_fits=20).fit(frame, y)
        public = dict(found.certificate_.to_dict(), model=None)
        texts.add(str(public))
    assert len(set(numbers)) > 3
    assert len(texts) == 1


def test_a_rule_list_can_be_searched_for_persons() -> None:
    frame, y = people(300)
    rules = PrivateRuleListClassifier(domain=DOMAIN, classes=("no", "yes"), records_per_person=3)
    found = search(estimator=rules, grid={"max_rules": [1, 2]}, epsilon=9.0, expected_fits=4)
    found.fit(frame, y, persons=[i // 4 for i in range(300)])
    assert found.certificate_.unit == PrivacyUnit.person(3)
    assert found.model_.guarantee.records_per_person == 3
    (event,) = found.certificate_.events
    assert isinstance(event, Parallel)
    ((fits,), (choice,)) = event.branches
    assert isinstance(fits, RepeatedSelection)
    assert isinstance(choice, Selection)
    assert (fits.epsilon, choice.inverse_temperature, choice.sensitivity) == (3.0, 3.0, 3.0)
