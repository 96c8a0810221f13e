"""What holds for every private fit: refused before it is charged, charged before it draws, recorded as certified.

A fit is watched from outside: what the ledger holds, and when random bits are fetched, from whatever stream. The watch
is proved by planted learners that draw too early, charge too early, too little or twice, or keep too much.
"""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator

import glassine
from glassine import Category, Domain, Integer, Ledger
from glassine.errors import GlassineError, PrivacyLeakWarning, ReleaseFailedError
from glassine.learners import (
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateGreedyRuleListClassifier,
    PrivateRuleListClassifier,
    PrivateScorecardClassifier,
    PrivateScorecardRegressor,
    PrivateSearchCV,
    PrivateSummary,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
)
from glassine.learners.greedy.greedy_plan import MECHANISMS
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import SEEDED, UNPAID, VOUCHED
from glassine.privacy.unit import RECORD, PrivacyUnit
from glassine.sealed.door import FAILED, PrivateLearner
from glassine.surrogates import SurrogateExplainer
from tests.repo.code_blocks import ROOT

DOMAIN = Domain(
    {
        "age": Integer(18, 90, thresholds=(40, 60)),
        "job": Category(("clerk", "baker"), missing=True),
        "size": Integer(0, 9),
    }
)
RNG = np.random.default_rng(3)
PEOPLE = pl.DataFrame(
    {
        "age": RNG.integers(18, 91, 120),
        "job": RNG.choice(np.array(["clerk", "baker", None], dtype=object), 120).tolist(),
        "size": RNG.integers(0, 10, 120),
    }
)
PERSONS = [None if i % 11 == 0 else i % 40 for i in range(120)]
"""Whose record each is: of forty persons, with some records that nobody is known to have."""

CLASSES = np.where(PEOPLE["age"].to_numpy() > 50, "yes", "no")
NUMBERS = PEOPLE["age"].to_numpy() / 10.0

Make = Callable[..., Any]


def classifier(kind: Any, *given: Any, **fixed: Any) -> Make:
    return lambda **more: kind(*given, **({"epsilon": 1.0, "domain": DOMAIN, "classes": ("no", "yes")} | fixed | more))


def greedy(mechanism: str, accounting: str) -> Make:
    delta = {"delta": 1e-6} if mechanism in ("smooth-laplace", "global-gaussian") else {}
    return classifier(
        PrivateGreedyRuleListClassifier, 2, mechanism=mechanism, accounting=accounting, literals="thresholds", **delta
    )


def regressor(kind: Any = PrivateEBMRegressor, **fixed: Any) -> Make:
    usual: dict[str, Any] = {"epsilon": 1.0, "domain": DOMAIN, "target_range": (0, 10)}
    return lambda **more: kind(**(usual | fixed | more))


def search(kind: Any, grid: dict[str, list[Any]], **fixed: Any) -> Make:
    """Return a search whose factory gives the estimator what is the estimator's."""

    def make(**more: Any) -> Any:
        values: dict[str, Any] = {"epsilon": 1.0, "domain": DOMAIN, "classes": ("no", "yes")} | fixed | more
        own = {name: values.pop(name) for name in set(values) - set(inspect.signature(PrivateSearchCV).parameters)}
        return PrivateSearchCV(kind(**own), grid, expected_fits=3, **values)

    return make


def decide(frame: Any) -> Any:
    """Decide by age: a black box that was trained on nobody."""
    return np.where(np.asarray(frame["age"], dtype=float) > 50, "yes", "no")


def explainer(**fixed: Any) -> Make:
    usual: dict[str, Any] = {
        "epsilon": 1.0,
        "domain": DOMAIN,
        "classes": ("no", "yes"),
        "distance": "gower",
        "partition": "public",
        "n_cells": 3,
        "max_depth": 1,
        "fixed_black_box": True,
    }
    return lambda **more: SurrogateExplainer(decide, **(usual | fixed | more))


LEARNERS: dict[str, Make] = {
    "tree": classifier(PrivateTreeClassifier, 2, literals="thresholds"),
    "regression tree": regressor(PrivateTreeRegressor, max_depth=2, literals="thresholds"),
    "rule list": classifier(PrivateRuleListClassifier, 2, literals="thresholds"),
    "greedy, counted-gini": greedy("counted-gini", "strict"),
    "additive, boosting": classifier(PrivateEBMClassifier, algorithm="boosting"),
    "regression, boosting": regressor(algorithm="boosting"),
    "scorecard": classifier(PrivateScorecardClassifier),
    "regression, scorecard": regressor(PrivateScorecardRegressor),
    "search over trees": search(PrivateTreeClassifier, {"max_depth": [1, 2]}, literals="thresholds"),
}
"""One form of every private learner."""

SIMPLEST: dict[str, Make] = LEARNERS | {
    "summary": classifier(PrivateSummary),
    "regression, summary": regressor(PrivateSummary),
    "explainer, public cells": explainer(),
}
"""One form of everything that spends."""

FITS: dict[str, Make] = SIMPLEST | {
    "tree on quantiles": classifier(PrivateTreeClassifier, 2, n_quantiles=2),
    "tree without counts": classifier(PrivateTreeClassifier, 1, literals="thresholds", leaf_counts_share=0.0),
    "rule list on quantiles": classifier(PrivateRuleListClassifier, 1, n_quantiles=2),
    "pairs": classifier(PrivateRuleListClassifier, 1, pool="pairs", literals="thresholds"),
    **{f"greedy, {name}": greedy(name, "strict") for name in MECHANISMS},
    **{f"greedy, {name}, as published": greedy(name, "published") for name in MECHANISMS if name != "counted-gini"},
    "additive, penalized": classifier(PrivateEBMClassifier),
    "regression, penalized": regressor(),
    "regression, events": regressor(objective="poisson"),
    "regression, events with exposures": regressor(objective="poisson", exposure="age"),
    "additive with pairs": classifier(PrivateEBMClassifier, interactions=1),
    "explainer, true labels": explainer(labels="true"),
    "search over rule lists": search(PrivateRuleListClassifier, {"max_rules": [1, 2]}, literals="thresholds"),
    "search over greedy lists": search(
        partial(PrivateGreedyRuleListClassifier, delta=0.01), {"max_rules": [1, 2]}, mechanism="smooth-laplace"
    ),
    "search over additive models": search(PrivateEBMClassifier, {"algorithm": ["penalized", "boosting"]}),
}


def target(learner: Any) -> Any:
    of_numbers = isinstance(learner, PrivateEBMRegressor | PrivateTreeRegressor)
    return NUMBERS if of_numbers or getattr(learner, "target_range", None) is not None else CLASSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What one fit did: charges on disk at each fetch of random bits and in the end, and how it ended."""

    learner: Any
    fetches: list[int]
    charges: list[tuple[Any, Any, str]]
    error: BaseException | None


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Watched]:
    """Run a fit against a ledger of its own; all streams of random bits are watched."""
    fetches: list[int] = []
    books: list[Ledger] = []
    inside = False

    def spied(name: str) -> None:
        honest = getattr(Randomness, name)

        def fetch(self: Randomness, *given: Any) -> Any:
            if inside:
                fetches.append(len(books[-1].entries("people")) if not fetches or not fetches[-1] else fetches[-1])
            return honest(self, *given)

        monkeypatch.setattr(Randomness, name, fetch)

    for name in ("_word", "words"):
        spied(name)

    def run(
        make: Make,
        X: Any = PEOPLE,
        y: Any = None,
        *,
        budget: float = 10.0,
        unit: PrivacyUnit = RECORD,
        fit: Any = None,
        **given: Any,
    ) -> Watched:
        nonlocal inside
        fetches.clear()
        books.append(Ledger(tmp_path / f"{len(books)}.sqlite"))
        books[-1].budget("people", budget, 0.1, unit=unit)
        learner = make(**({"ledger": books[-1], "dataset": "people"} | given))
        error: BaseException | None = None
        inside = True
        try:
            learner.fit(X, target(learner) if y is None else y, **(fit or {}))
        except (GlassineError, TypeError, ValueError, RuntimeError) as refusal:
            error = refusal
        inside = False
        entries = [(entry.epsilon, entry.delta, entry.note) for entry in books[-1].entries("people")]
        return Watched(learner=learner, fetches=list(fetches), charges=entries, error=error)

    return run


def units(learner: Any, persons: Any) -> list[str]:
    """Return what is wrong with the unit that a fit states, in the certificate, the model and the events."""
    (guarantee,), certificate = claims(learner), learner.certificate_
    most = None if persons is None else learner.records_per_person
    found = []
    if certificate.unit.records_per_person != most:
        found.append(f"certifies the unit {certificate.unit}")
    if guarantee.records_per_person != most:
        found.append("the model states another unit")
    if certificate.neighboring != guarantee.neighboring:
        found.append("the model states another neighboring relation")
    if (certificate.neighboring == "add-or-remove-one-person") != (most is not None):
        found.append(f"the neighboring relation is {certificate.neighboring}")
    if most is None and any(word in certificate.text() for word in ("person", "people")):
        found.append("speaks of people without knowing of any")
    return found


READ = {"n_features_in_", "feature_names_in_"}
"""Fitted attributes that are read off the records' columns, and may outlive a refusal."""


def claims(learner: Any) -> set[Any]:
    """Return what the published models say of their guarantee: that of a fit, or those of an explainer's trees."""
    return {model.guarantee for model in published(learner)}


def published(learner: Any) -> Any:
    if isinstance(learner, SurrogateExplainer):
        return learner.release_.trees
    return (learner.tree(1),) if isinstance(learner, PrivateSummary) else (learner.model_,)


HELD = {"release_", "certificate_", "domain_", "classes_", "training_", "information_loss_", "black_box_", "choice_"}
"""Fitted attributes of an explainer, which holds its training records, and says so."""


def kept(learner: Any) -> set[str]:
    return {name for name in vars(learner) if name.endswith("_")}


def permitted(learner: Any) -> set[str]:
    return HELD | READ if isinstance(learner, SurrogateExplainer) else set(learner.released)


def faults(seen: Watched) -> list[str]:
    """Return what is wrong with a fit that should have ended well."""
    if seen.error is not None:
        return [f"failed: {seen.error}"]
    found = []
    if not seen.fetches:
        found.append("drew nothing")
    if 0 in seen.fetches:
        found.append("drew before the charge")
    if len(seen.charges) != 1:
        found.append(f"was charged {len(seen.charges)} times")
    certificate = seen.learner.certificate_
    claimed = (certificate.epsilon, certificate.delta)
    if any((float(epsilon), float(delta)) != claimed for epsilon, delta, _ in seen.charges):
        found.append(f"claims {claimed}, which is not what was charged")
    if {(guarantee.epsilon, guarantee.delta) for guarantee in claims(seen.learner)} != {claimed}:
        found.append("the model claims another guarantee than the certificate")
    if not seen.learner.ledger.verify([certificate]).holds:
        found.append("has a certificate that the ledger did not pay for")
    if not kept(seen.learner) <= permitted(seen.learner):
        found.append(f"keeps {sorted(kept(seen.learner) - permitted(seen.learner))}")
    return found


def faults_of_refusal(seen: Watched) -> list[str]:
    """Return what is wrong with a fit that should have been refused."""
    found = ["was not refused"] if seen.error is None else []
    if seen.charges:
        found.append("was charged")
    if seen.fetches:
        found.append("drew")
    if kept(seen.learner) - READ:
        found.append(f"keeps {sorted(kept(seen.learner) - READ)}")
    return found


@pytest.mark.parametrize("name", FITS)
def test_a_fit_is_charged_once_before_it_draws_and_as_certified(name: str, watch: Callable[..., Watched]) -> None:
    seen = watch(FITS[name], random_state=0)
    assert faults(seen) == []
    # The note is read by others: it says what was fitted, from public parameters alone.
    ((_, _, note),) = seen.charges
    if isinstance(seen.learner, SurrogateExplainer):
        assert note == "3 surrogate trees of depth 1"
    else:
        fewer = FITS[name]()
        assert note == fewer._plan(fewer._opening(PEOPLE[:60], target(seen.learner)[:60], None)[0]).price.note


@pytest.mark.parametrize("name", [name for name in FITS if "as published" not in name and "explainer" not in name])
def test_a_fit_for_persons_is_charged_and_certified_in_that_unit(name: str, watch: Callable[..., Watched]) -> None:
    unit = PrivacyUnit.person(3)
    seen = watch(FITS[name], random_state=0, records_per_person=3, fit={"persons": PERSONS}, unit=unit)
    assert faults(seen) == []
    assert units(seen.learner, PERSONS) == []
    # A charge in another unit than the budget's is refused, and so is a fit for records on a budget for persons.
    assert faults_of_refusal(watch(FITS[name], random_state=0, records_per_person=3, fit={"persons": PERSONS})) == []
    assert faults_of_refusal(watch(FITS[name], random_state=0, unit=unit)) == []
    plain = watch(FITS[name], random_state=0)
    assert units(plain.learner, None) == []


ONE_COLUMN: dict[str, Callable[[Any], Any]] = {
    "a list": list,
    "a column of an array": lambda values: np.asarray(values)[:, None],
    "a frame of pandas": lambda values: pd.Series(values, name="outcome").to_frame(),
    "a frame of Polars": lambda values: pl.DataFrame({"outcome": values}),
}
"""Targets in forms that are read."""

NO_COLUMN: dict[str, Callable[[Any], Any]] = {
    "a number": lambda values: 1,
    "a mapping": lambda values: dict(enumerate(values)),
    "a view of a mapping": lambda values: dict(enumerate(values)).values(),
    "an iterator": iter,
    "a set": set,
    "bytes": lambda values: bytes(len(values)),
    "a lazy frame": lambda values: pl.LazyFrame({"outcome": values}),
    "two columns": lambda values: pl.DataFrame({"outcome": values, "again": values}),
    "two columns of one name": lambda values: pd.DataFrame({"a": values, "b": values}).set_axis(["a", "a"], axis=1),
    "fewer": lambda values: values[:-1],
}
"""What stands for no target of each record, by its form."""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("name", SIMPLEST)
def test_the_form_of_a_target_decides_before_the_charge(name: str, watch: Callable[..., Watched]) -> None:
    values = target(SIMPLEST[name]())
    seen = {form: faults(watch(SIMPLEST[name], y=made(values), random_state=0)) for form, made in ONE_COLUMN.items()}
    assert seen == {form: [] for form in ONE_COLUMN}
    refused = {form: faults_of_refusal(watch(SIMPLEST[name], y=made(values))) for form, made in NO_COLUMN.items()}
    assert refused == {form: [] for form in NO_COLUMN}
    # The records of a lazy frame may come back in another order.
    assert faults_of_refusal(watch(SIMPLEST[name], PEOPLE.lazy(), values)) == []


@pytest.mark.parametrize("name", [name for name in SIMPLEST if "explainer" not in name])
def test_the_form_of_persons_decides_before_the_charge(name: str, watch: Callable[..., Watched]) -> None:
    unit = PrivacyUnit.person(3)
    refused = {
        form: faults_of_refusal(watch(SIMPLEST[name], records_per_person=3, fit={"persons": made(PERSONS)}, unit=unit))
        for form, made in NO_COLUMN.items()
    }
    assert refused == {form: [] for form in NO_COLUMN}


class ForgetsPersons(PrivateTreeClassifier):
    """Takes persons, and certifies for records."""

    def _plan(self, known: Any) -> Any:
        return super()._plan(replace(known, unit=RECORD, weights={}))


def test_a_planted_learner_that_forgets_the_persons_is_found(watch: Callable[..., Watched]) -> None:
    make = classifier(ForgetsPersons, 2, literals="thresholds")
    seen = watch(make, random_state=0, records_per_person=3, fit={"persons": PERSONS})
    assert units(seen.learner, PERSONS) == [
        "certifies the unit record",
        "the model states another unit",
        "the neighboring relation is add-or-remove-one",
    ]


REFUSALS: dict[str, dict[str, Any]] = {
    "a missing column": {"X": PEOPLE.drop("job")},
    "an undeclared column": {"X": PEOPLE.with_columns(name=pl.lit("Alice"))},
    "no records": {"X": PEOPLE[:0]},
    "too few targets": {"y": np.array(["no"])},
    "a missing target": {"y": np.array([np.nan] * 120)},
    "weights": {"fit": {"sample_weight": np.ones(120)}},
    "a misspelt argument": {"fit": {"sample_wieght": np.ones(120)}},
    "no epsilon": {"epsilon": 0.0},
    "no number": {"epsilon": float("nan")},
    "no domain": {"domain": "ages"},
    "a progress that cannot be called": {"progress": 3},
    "a seed that is none": {"random_state": -1},
    "no dataset": {"dataset": None},
    "a dataset without a budget": {"dataset": "others"},
    "a dataset without a name": {"ledger": None, "dataset": ""},
    "a dataset that is none": {"ledger": None, "dataset": 3},
    "a ledger that is none": {"ledger": 3},
    "an overdrawn budget": {"budget": 0.5},
    "too little memory": {"memory_limit": 1},
}


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("name", SIMPLEST)
def test_a_refused_fit_costs_nothing_and_draws_nothing(name: str, refusal: str, watch: Callable[..., Watched]) -> None:
    for parameter in REFUSALS[refusal]:
        if parameter in ("memory_limit", "progress") and parameter not in SIMPLEST[name]().get_params():
            pytest.skip("it has no such parameter")
    if (name, refusal) == ("explainer, public cells", "an undeclared column"):
        pytest.skip("the black box may take columns that the release does not tell of")
    if (name, refusal) == ("explainer, public cells", "a missing target"):
        pytest.skip("its trees are trained on the answers of the black box, and use no target")
    if "regression" in name and refusal == "a missing target":
        pytest.skip("it is fitted to no record")
    assert faults_of_refusal(watch(SIMPLEST[name], **REFUSALS[refusal])) == []


@pytest.mark.parametrize("name", SIMPLEST)
def test_every_fit_after_the_first_is_counted_on_its_certificate_and_its_model(name: str) -> None:
    first = SIMPLEST[name]().fit(PEOPLE, target(SIMPLEST[name]()))
    assert first.certificate_.holds
    with pytest.warns(PrivacyLeakWarning, match="second private fit .* without a ledger: 2 fits spend epsilon 2"):
        second = SIMPLEST[name]().fit(PEOPLE, target(first))
    third = SIMPLEST[name]().fit(PEOPLE, target(first))
    for number, later in ((2, second), (3, third)):
        (caveat,) = later.certificate_.caveats
        assert caveat.startswith(f"private fit number {number} on the unnamed dataset")
        assert f"all {number} spend epsilon {number} and delta" in caveat
        assert {guarantee.caveats for guarantee in claims(later)} == {(caveat,)}


class Broken(RuntimeError):
    pass


def broken(size: int) -> bytes:
    raise Broken("planted")


@pytest.mark.parametrize("name", SIMPLEST)
def test_a_fit_that_breaks_while_it_draws_stays_charged_and_keeps_nothing(
    name: str, watch: Callable[..., Watched]
) -> None:
    seen = watch(SIMPLEST[name], random_state=Randomness(broken))
    assert isinstance(seen.error, ReleaseFailedError)
    assert str(seen.error) == FAILED
    assert seen.error.__cause__ is None
    assert seen.error.__context__ is None
    assert len(seen.charges) == 1
    assert kept(seen.learner) <= READ


@pytest.mark.parametrize("name", SIMPLEST)
def test_a_certificate_holds_only_with_the_operating_systems_bits_or_those_that_the_caller_vouches_for(
    name: str, watch: Callable[..., Watched]
) -> None:
    seeded = watch(SIMPLEST[name], random_state=Randomness(np.random.default_rng(0).bytes)).learner.certificate_
    assert SEEDED in seeded.caveats
    assert not seeded.holds
    own = Randomness(lambda size: os.urandom(size), seeded=False)
    vouched = watch(SIMPLEST[name], random_state=own).learner.certificate_
    assert vouched.holds
    assert VOUCHED in vouched.assumptions
    assert VOUCHED not in seeded.assumptions


LARGE = [(-1e300, 1e300), (-9e299, 9e299), (0.0, 1e290), (-1e281, 0.0)]


@pytest.mark.parametrize("algorithm", ["penalized", "boosting"])
@pytest.mark.parametrize("bounds", LARGE)
def test_a_range_that_no_model_can_hold_is_refused_before_the_charge(
    algorithm: str, bounds: tuple[float, float], watch: Callable[..., Watched]
) -> None:
    assert faults_of_refusal(watch(regressor(algorithm=algorithm, target_range=bounds))) == []
    largest = watch(regressor(algorithm=algorithm, target_range=(-1e280, 1e280), epsilon=0.001), random_state=0)
    assert largest.error is None


@pytest.mark.parametrize("name", SIMPLEST)
def test_each_fit_spends_again_and_one_that_fails_leaves_the_last(name: str, tmp_path: Path) -> None:
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 2.5, 0.1)
    learner = SIMPLEST[name](ledger=book, dataset="people", random_state=0)
    learner.fit(PEOPLE, target(learner)).fit(PEOPLE, target(learner))
    assert len(book.entries("people")) == 2
    before = (published(learner), learner.certificate_)
    with pytest.raises(GlassineError, match="not enough budget for 'people'"):
        learner.fit(PEOPLE, target(learner))
    assert (published(learner), learner.certificate_) == before
    assert len(book.entries("people")) == 2


def test_nothing_can_be_drawn_unpaid() -> None:
    with pytest.raises(RuntimeError, match="before a fit is paid for"):
        UNPAID.below(3)


class DrawsEarly(PrivateTreeClassifier):
    """Draws while it prepares, from a stream of its own."""

    def _plan(self, known: Any) -> Any:
        Randomness.of(0).below(3)
        return super()._plan(known)


class ChargesEarly(PrivateTreeClassifier):
    """Charges by itself before it looks at the records."""

    def _plan(self, known: Any) -> Any:
        self.ledger.charge("people", 1.0)
        return super()._plan(known)


class PaysHalf(PrivateTreeClassifier):
    """Charges half of what it claims."""

    def _plan(self, known: Any) -> Any:
        honest = super()._plan(known)
        return replace(honest, price=replace(honest.price, epsilon=honest.price.epsilon / 2))


class KeepsRecords(PrivateTreeClassifier):
    """Keeps the records among its fitted attributes."""

    def _plan(self, known: Any) -> Any:
        honest = super()._plan(known)
        return replace(honest, learn=lambda records, paid: honest.learn(records, paid) | {"records_": records})


PLANTED: Mapping[Any, list[str]] = {
    DrawsEarly: ["drew before the charge"],
    ChargesEarly: ["was charged 2 times"],
    PaysHalf: [
        "claims (1.0, 0.0), which is not what was charged",
        "has a certificate that the ledger did not pay for",
    ],
    KeepsRecords: ["keeps ['records_']"],
}


@pytest.mark.parametrize("kind", PLANTED, ids=lambda kind: kind.__name__)
def test_planted_learners_are_found(kind: Any, watch: Callable[..., Watched]) -> None:
    assert faults(watch(classifier(kind, 2, literals="thresholds"), random_state=0)) == PLANTED[kind]


def test_planted_refusals_are_found(watch: Callable[..., Watched]) -> None:
    refused: dict[str, Any] = {"literals": "no such word", "random_state": 0}
    assert faults_of_refusal(watch(classifier(DrawsEarly, 2), **refused)) == ["drew"]
    assert faults_of_refusal(watch(classifier(ChargesEarly, 2), **refused)) == ["was charged"]
    assert faults_of_refusal(watch(classifier(PrivateTreeClassifier, 1))) == [
        "was not refused",
        "was charged",
        "drew",
        "keeps ['certificate_', 'classes_', 'domain_', 'model_']",
    ]


def test_everything_that_takes_a_ledger_is_among_them() -> None:
    public = [getattr(room, name) for room in (glassine.learners, glassine.surrogates) for name in room.__all__]
    estimators = [kind for kind in public if inspect.isclass(kind) and issubclass(kind, BaseEstimator)]
    spending = {kind for kind in estimators if "ledger" in inspect.signature(kind).parameters}
    assert {type(make()) for make in SIMPLEST.values()} == spending
    assert {kind for kind in spending if not issubclass(kind, PrivateLearner)} == {SurrogateExplainer}


SOURCE = ROOT / "src" / "glassine"
DOOR = "privacy/release.py"
UNCLAIMED = ["surrogates/private_release.py: Randomness.of"]
"""Trees of groups that follow from all records: nothing is claimed of them, and nothing paid for."""


def side_doors(sources: Mapping[str, str]) -> list[str]:
    """Return calls that make a stream of random bits or charge a ledger outside the place that does both in order."""
    doors = []
    for name, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and name != DOOR:
                called = ast.unparse(node.func)
                if called.split(".")[0] in ("Randomness", "Ledger") or called.endswith((".charge", "urandom")):
                    doors.append(f"{name}: {called}")
    return doors


@pytest.mark.slow
def test_only_one_place_charges_and_makes_randomness() -> None:
    rooms = [path for room in ("learners", "surrogates", "microaggregation") for path in (SOURCE / room).rglob("*.py")]
    sources = {str(path.relative_to(SOURCE)): path.read_text() for path in (SOURCE / DOOR, *rooms)}
    assert len(sources) > 40
    assert side_doors(sources) == UNCLAIMED
    assert sorted(side_doors({"twin.py": sources[DOOR]})) == [
        "twin.py: Ledger", "twin.py: Randomness", "twin.py: Randomness.of", "twin.py: book.charge"
    ]  # fmt: skip
    planted = "def fit(self):\n    self.ledger.charge('people', 1)\n    Randomness.of(None)\n"
    assert side_doors({"twin.py": planted}) == ["twin.py: self.ledger.charge", "twin.py: Randomness.of"]
