"""Records of persons: how identifiers are read, what is kept of a person, and what a fit makes of it."""

from __future__ import annotations

import datetime
import decimal
import uuid
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine import Category, Domain, Integer, Ledger
from glassine.data.count_table import CountTable
from glassine.errors import GlassineError, InvalidDataError, InvalidParameterError, PrivacyLeakWarning
from glassine.formats.json import from_dict, to_dict
from glassine.learners import (
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateGreedyRuleListClassifier,
    PrivateRuleListClassifier,
    PrivateTreeClassifier,
)
from glassine.learners.greedy.greedy_plan import MECHANISMS
from glassine.privacy import accounting
from glassine.privacy.unit import RECORD, PrivacyUnit
from glassine.records.identifiers import identifier
from glassine.records.undeclared import read_checked
from glassine.sealed.persons import CountedPersons

DOMAIN = Domain({"age": Integer(0, 9, thresholds=(3, 6)), "job": Category(("a", "b"), missing=True)})


@pytest.mark.parametrize(
    "same",
    [
        # Of one column, pandas reads some parts as numbers and others as texts.
        (1, 1.0, np.int8(1), np.uint64(1), np.float32(1), decimal.Decimal("1.00"), Fraction(1), "1", np.str_("1")),
        (-7, "-7", "-7.0", "-7.00"),
        (0, 0.0, -0.0, "0.0"),
        (2**53 + 1, np.int64(2**53 + 1), decimal.Decimal(2**53 + 1), str(2**53 + 1)),
        (0.5, Fraction(1, 2), decimal.Decimal("0.50")),
        ("a", np.str_("a")),
        (10**5000, 10**5000),
    ],
)
def test_equal_values_are_one_person(same: tuple[Any, ...]) -> None:
    assert len({identifier(value) for value in same}) == 1
    assert identifier(same[0]) is not None


def test_other_values_are_other_persons() -> None:
    number = uuid.UUID(int=1)
    different = [
        1,
        -1,
        "01",
        " 1",
        "1.",
        "01.0",
        "1.5",
        b"1",
        0.1,
        np.float32(0.1),
        2**53,
        2**53 + 1,
        number,
        str(number),
        "A",
        "a",
    ]
    assert len({identifier(value) for value in different}) == len(different)


@pytest.mark.parametrize(
    "value",
    [
        None,
        float("nan"),
        np.nan,
        pd.NA,
        pd.NaT,
        decimal.Decimal("NaN"),
        float("inf"),
        "",
        "  ",
        b"",
        True,
        np.False_,
        1j,
        datetime.date(2020, 1, 1),
        np.datetime64("2020-01-01"),
        (1, 2),
        [1],
        {1: 2},
        object(),
    ],
)
def test_what_identifies_no_one_is_no_identifier(value: object) -> None:
    assert identifier(value) is None


Rows = list[tuple[int, str | None, int]]


def times(ids: list[Any], rows: Rows, most: int, *, equal: bool) -> list[int]:
    columns = read_checked(pl.DataFrame({"age": [row[0] for row in rows], "job": [row[1] for row in rows]}), DOMAIN)
    persons = CountedPersons(
        identifiers=tuple(map(identifier, ids)), unit=PrivacyUnit.person(most), equal=equal, column=None
    )
    return [int(number) for number in persons.times(columns, np.array([row[2] for row in rows]))]


def kept(ids: list[Any], rows: Rows, most: int, *, equal: bool) -> dict[Any, dict[tuple[Any, ...], int]]:
    """Return how often each record of each person counts, whatever its place."""
    out: dict[Any, dict[tuple[Any, ...], int]] = {}
    for person, row, number in zip(ids, rows, times(ids, rows, most, equal=equal), strict=True):
        mine = out.setdefault(person, {})
        mine[row] = mine.get(row, 0) + number
    return out


RECORDS = st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None]), st.integers(0, 1))
DATA = st.lists(st.tuples(st.sampled_from(["p", "q", "r", 1, None]), RECORDS), min_size=1, max_size=25)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(DATA, st.integers(1, 6), st.booleans(), st.randoms())
def test_what_is_kept_of_a_person_looks_at_that_person_alone(
    data: list[tuple[Any, tuple[int, str | None, int]]], most: int, equal: bool, random: Any
) -> None:
    everyone = kept([person for person, _ in data], [row for _, row in data], most, equal=equal)
    for person in everyone:
        own: Rows = [row for who, row in data if who == person]
        counted = sum(everyone[person].values())
        if person is None:
            assert counted == 0
            continue
        assert counted == (most if equal else min(most, len(own)))
        # Alone, and with the rows in another order, the same records are kept as often.
        random.shuffle(own)
        assert kept([person] * len(own), own, most, equal=equal) == {person: everyone[person]}


@pytest.mark.parametrize(
    ("number", "most", "equal", "expected"),
    [
        (1, 1, True, [1]),
        (1, 5, True, [5]),
        (2, 5, True, [2, 3]),
        (5, 5, True, [1] * 5),
        (7, 5, True, [0, 0, 1, 1, 1, 1, 1]),
        (2, 5, False, [1, 1]),
        (7, 5, False, [0, 0, 1, 1, 1, 1, 1]),
    ],
)
def test_the_records_of_a_person_count_as_evenly_as_can_be(
    number: int, most: int, equal: bool, expected: list[int]
) -> None:
    rows: Rows = [(i, "a", 0) for i in range(number)]
    assert sorted(times(["p"] * number, rows, most, equal=equal)) == expected


def test_the_pick_is_spread_over_the_records() -> None:
    # Of three records, one is kept: no kind of record is preferred over all persons.
    ids = [f"person {i}" for i in range(3000) for _ in range(3)]
    kinds: Rows = [(i, "a", 0) for i in range(3)]
    rows = kinds * 3000
    counts = np.array(times(ids, rows, 1, equal=True)).reshape(3000, 3).sum(axis=0)
    # Binomial of 3,000 and 1/3: standard deviation 26.
    assert (abs(counts - 1000) < 5 * 26).all()


RNG = np.random.default_rng(5)
N = 240
PEOPLE = pl.DataFrame(
    {
        "age": RNG.integers(0, 10, N),
        "job": RNG.choice(np.array(["a", "b", None], dtype=object), N).tolist(),
        "person": [None if i % 17 == 0 else f"p{i % 50:02}" for i in range(N)],
    }
)
CLASSES = np.where(PEOPLE["age"].to_numpy() > 4, "yes", "no")
Make = Callable[..., Any]


def classifier(kind: Any, *given: Any, **fixed: Any) -> Make:
    usual: dict[str, Any] = {"epsilon": 1.0, "domain": DOMAIN, "classes": ("no", "yes"), "random_state": 0}
    return lambda **more: kind(*given, **(usual | fixed | more))


LEARNERS: dict[str, Make] = {
    "tree": classifier(PrivateTreeClassifier, 2),
    "tree on quantiles": classifier(PrivateTreeClassifier, 1, literals="quantiles", n_quantiles=1),
    "rule list": classifier(PrivateRuleListClassifier, 2),
    **{
        name: classifier(
            PrivateGreedyRuleListClassifier,
            2,
            mechanism=name,
            **({"delta": 1e-6} if name in ("smooth-laplace", "global-gaussian") else {}),
        )
        for name in MECHANISMS
    },
    "additive": classifier(PrivateEBMClassifier),
    "additive, boosting": classifier(PrivateEBMClassifier, algorithm="boosting"),
    "additive, classic": classifier(PrivateEBMClassifier, algorithm="boosting", accounting="classic"),
    "additive with pairs": classifier(PrivateEBMClassifier, interactions=1),
    "regression": lambda **more: PrivateEBMRegressor(
        **{"epsilon": 1.0, "domain": DOMAIN, "target_range": (0, 1), "random_state": 0, **more}
    ),
}


def fitted(name: str, X: Any = PEOPLE, persons: Any = "person", y: Any = None, **given: Any) -> Any:
    learner = LEARNERS[name](**given)
    target = CLASSES if y is None else y
    if isinstance(learner, PrivateEBMRegressor):
        target = (np.asarray(target) == "yes").astype(float)
    return learner.fit(X, target, persons=persons)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_certificate_for_persons_is_what_its_events_spend_on_a_person(name: str) -> None:
    # At epsilon 1 an additive model of so few records has no term, and spends little.
    claimed = 20.0 if name.startswith(("additive", "regression")) else 1.0
    learner = fitted(name, records_per_person=3, epsilon=claimed)
    certificate, guarantee = learner.certificate_, learner.model_.guarantee
    assert certificate.unit == PrivacyUnit.person(3)
    assert certificate.neighboring == "add-or-remove-one-person"
    assert (guarantee.records_per_person, guarantee.neighboring) == (3, "add-or-remove-one-person")
    assert certificate.public["records of each person"] == "at most 3, repeated until there are as many"
    # The accountant starts from sensitivities of a person, and comes to the claim by itself, with little to spare.
    spent = accounting.epsilon(certificate.events, certificate.delta)
    assert spent <= claimed * (1 + 1e-12)
    wasteful = {"additive, boosting": 0.8, "additive, classic": 0.1}
    assert spent > claimed * wasteful.get(name, 0.999)
    assert list(learner.feature_names_in_) == ["age", "job"]
    assert learner.domain_.names == ("age", "job")
    assert "privacy unit: person, at most 3 records each" in certificate.text().lower()


# A delta does not become that of a person by a factor: those with one have costs of their own.
@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in ("global-gaussian", "smooth-laplace")])
def test_the_noise_is_for_all_records_of_a_person(name: str) -> None:
    # The same fit for records at a third of epsilon or of mu, accounted for persons: so are the events.
    events = fitted(name, records_per_person=3).certificate_.events
    single = fitted(name, records_per_person=1).certificate_.events
    for three, one in zip(events, single, strict=True):
        assert accounting.cost(three).pure == pytest.approx(accounting.cost(one).pure)
        assert accounting.cost(three).mu_squared == pytest.approx(accounting.cost(one).mu_squared)


@pytest.mark.parametrize("name", ["tree", "rule list", "counted-gini", "additive", "regression"])
def test_one_record_per_person_is_the_fit_for_records_but_for_the_unit(name: str) -> None:
    plain = LEARNERS[name]()
    target = CLASSES if name != "regression" else (CLASSES == "yes").astype(float)
    plain.fit(PEOPLE.drop("person"), target)
    single = fitted(name, persons=list(range(N)), X=PEOPLE.drop("person"), records_per_person=1)
    assert plain.certificate_.unit == RECORD
    assert plain.certificate_.events == single.certificate_.events
    said, counted = to_dict(plain.model_), to_dict(single.model_)
    assert from_dict(counted) == single.model_
    claimed = counted["guarantee"]
    assert (claimed.pop("records_per_person"), claimed.pop("neighboring")) == (1, "add-or-remove-one-person")
    assert said["guarantee"].pop("neighboring") == "add-or-remove-one"
    assert said == counted


CONTAINERS: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "a column of a Polars frame": lambda: (PEOPLE, CLASSES, "person"),
    "a column of a lazy frame": lambda: (PEOPLE.with_columns(y=pl.Series(CLASSES)).lazy(), "y", "person"),
    "a column of a pandas frame": lambda: (PEOPLE.to_pandas(), CLASSES, "person"),
    "a column of objects": lambda: (
        pd.DataFrame({name: pd.Series(PEOPLE[name].to_list(), dtype=object) for name in PEOPLE.columns}),
        CLASSES,
        "person",
    ),
    "a column of an Arrow table": lambda: (PEOPLE.to_arrow(), CLASSES, "person"),
    "a key of mappings": lambda: (PEOPLE.to_dicts(), CLASSES, "person"),
    "a list": lambda: (PEOPLE.drop("person"), CLASSES, PEOPLE["person"].to_list()),
    "a tuple": lambda: (PEOPLE.drop("person"), CLASSES, tuple(PEOPLE["person"].to_list())),
    "an array of objects": lambda: (
        PEOPLE.drop("person"),
        CLASSES,
        np.array(PEOPLE["person"].to_list(), dtype=object),
    ),
    "an array of texts": lambda: (PEOPLE.drop("person"), CLASSES, np.array([p or "" for p in PEOPLE["person"]])),
    "a series": lambda: (PEOPLE.drop("person"), CLASSES, PEOPLE["person"]),
    "a series whose column is there too": lambda: (PEOPLE, CLASSES, PEOPLE["person"]),
    "a pandas category": lambda: (
        PEOPLE.drop("person").to_pandas(),
        CLASSES,
        pd.Series(PEOPLE["person"].to_list(), dtype="category"),
    ),
    "an Arrow column": lambda: (PEOPLE.drop("person"), CLASSES, pa.chunked_array([PEOPLE["person"].to_list()])),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_identifiers_are_read_alike_from_every_container(container: str) -> None:
    X, y, persons = CONTAINERS[container]()
    found = fitted("tree", X, persons, y, records_per_person=2)
    assert found.model_ == fitted("tree", records_per_person=2).model_
    assert list(found.feature_names_in_) == ["age", "job"]


def test_the_column_of_persons_may_be_declared_and_is_no_attribute() -> None:
    declared = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "person": Category(("p01", "p02"))})
    found = fitted("tree", records_per_person=2, domain=declared)
    assert found.domain_.names == ("age", "job")
    assert found.model_ == fitted("tree", records_per_person=2).model_
    assert found.predict(PEOPLE).shape == found.predict(PEOPLE.drop("person")).shape


def test_the_column_of_persons_may_have_no_name_as_that_of_a_pandas_index() -> None:
    frame = pl.DataFrame({"": np.arange(40) % 10, "age": np.arange(40) % 10, "job": ["a", "b"] * 20})
    learner = PrivateTreeClassifier(1, epsilon=0.1, domain=DOMAIN, classes=(0, 1), records_per_person=4, random_state=0)
    assert learner.fit(frame, np.arange(40) % 2, persons="").domain_.names == ("age", "job")


def test_the_order_of_records_does_not_matter() -> None:
    order = RNG.permutation(N)
    shuffled = PEOPLE[order.tolist()]
    for name in ("tree", "counted-gini", "additive"):
        found = fitted(name, shuffled, y=CLASSES[order], records_per_person=2)
        assert found.model_ == fitted(name, records_per_person=2).model_


def test_records_without_an_identifier_are_left_out() -> None:
    there = PEOPLE["person"].is_not_null().to_numpy()
    found = fitted("tree", PEOPLE.filter(there), y=CLASSES[there], records_per_person=2)
    assert found.model_ == fitted("tree", records_per_person=2).model_
    assert found.certificate_ == fitted("tree", records_per_person=2).certificate_


def test_weights_are_a_choice_that_the_certificate_states() -> None:
    found = fitted("tree", records_per_person=3, person_weights="records", random_state=1)
    assert found.certificate_.public["records of each person"] == "at most 3, each counted once"


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], type[GlassineError], str]] = {
    "no number": ({}, {"persons": "person"}, InvalidParameterError, "persons needs records_per_person"),
    "no persons": ({"records_per_person": 2}, {}, InvalidParameterError, "records_per_person=2 needs persons"),
    "a number of none": ({"records_per_person": 0}, {"persons": "person"}, InvalidParameterError, "whole number in"),
    "a fraction": ({"records_per_person": 1.5}, {"persons": "person"}, InvalidParameterError, "whole number in"),
    "unknown weights": (
        {"records_per_person": 2, "person_weights": "all"},
        {"persons": "person"},
        InvalidParameterError,
        "person_weights must be",
    ),
    "an absent column": ({"records_per_person": 2}, {"persons": "who"}, InvalidDataError, "which X lacks"),
    "too few": ({"records_per_person": 2}, {"persons": ["p"]}, InvalidDataError, "one identifier for each record"),
    "two columns": (
        {"records_per_person": 2},
        {"persons": np.zeros((N, 2))},
        InvalidDataError,
        r"must have shape \(n,\)",
    ),
    "a number alone": ({"records_per_person": 2}, {"persons": 3}, InvalidDataError, "must be a list, an array"),
    "an epsilon too small for so many": (
        {"records_per_person": 10**6, "epsilon": 1e-3},
        {"persons": "person"},
        GlassineError,
        "too small|too little|summing this class needs",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
@pytest.mark.parametrize("name", ["tree", "rule list", "counted-gini", "additive", "regression"])
def test_what_is_refused_is_refused_before_the_charge(name: str, why: str, tmp_path: Any) -> None:
    parameters, arguments, error, message = REFUSED[why]
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 10.0, 0.1, unit=PrivacyUnit.person(2))
    learner = LEARNERS[name](**parameters, ledger=book, dataset="people")
    X = PEOPLE if isinstance(arguments.get("persons"), str) else PEOPLE.drop("person")
    y = CLASSES if name != "regression" else (CLASSES == "yes").astype(float)
    with pytest.raises(error, match=message):
        learner.fit(X, y, **arguments)
    assert book.entries("people") == ()


def test_a_table_of_counts_knows_no_persons() -> None:
    frame = PEOPLE.drop("person").with_columns(y=pl.Series(CLASSES))
    whole = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "y": Category(("no", "yes"))})
    table = CountTable.from_frame(frame, whole)
    with pytest.raises(InvalidDataError, match="does not say whose its records are"):
        LEARNERS["tree"](records_per_person=2, domain=None, classes=None).fit(table, "y", persons=list(range(N)))


def test_the_target_is_not_the_column_of_persons() -> None:
    frame = PEOPLE.with_columns(y=pl.Series(CLASSES))
    with pytest.raises(InvalidDataError, match="is the target, and cannot also hold the persons"):
        LEARNERS["tree"](records_per_person=2).fit(frame, "y", persons="y")


def test_a_fit_without_a_guarantee_takes_no_persons() -> None:
    learner = PrivateGreedyRuleListClassifier(
        2,
        epsilon=1.0,
        domain=DOMAIN,
        classes=("no", "yes"),
        records_per_person=2,
        mechanism="noisy-counts",
        accounting="published",
    )
    with pytest.raises(InvalidParameterError, match="needs accounting='strict'"):
        learner.fit(PEOPLE, CLASSES, persons="person")


def test_a_charge_is_in_the_unit_of_the_fit(tmp_path: Any) -> None:
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 10.0, 0.1, unit=PrivacyUnit.person(2))
    fitted("tree", records_per_person=2, ledger=book, dataset="people")
    (entry,) = book.entries("people")
    assert entry.unit == PrivacyUnit.person(2)
    with pytest.raises(GlassineError):
        LEARNERS["tree"](ledger=book, dataset="people").fit(PEOPLE.drop("person"), CLASSES)
    assert len(book.entries("people")) == 1


IDENTIFIED = Domain({"patient_id": Integer(0, 10**6), "age": Integer(0, 9)})


@pytest.mark.parametrize("name", ["tree", "rule list", "counted-gini", "additive", "regression"])
@pytest.mark.parametrize("repeats", [True, False])
def test_an_attribute_named_like_an_identifier_is_warned_of_whatever_it_holds(name: str, repeats: bool) -> None:
    X = pl.DataFrame({"patient_id": [1] * 60 if repeats else list(range(60)), "age": [i % 10 for i in range(60)]})
    y = np.array([0.0, 1.0] * 30) if name == "regression" else np.array(["no", "yes"] * 30)
    learner = LEARNERS[name](domain=IDENTIFIED)
    with pytest.warns(PrivacyLeakWarning, match="named like an identifier: 'patient_id'") as found:
        learner.fit(X, y)
    assert [warning.filename for warning in found] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LEARNERS[name](domain=IDENTIFIED, records_per_person=1).fit(X, y, persons="patient_id")


def test_without_persons_a_certificate_speaks_of_records() -> None:
    for name in ("tree", "counted-gini", "additive"):
        certificate = LEARNERS[name]().fit(PEOPLE.drop("person"), CLASSES).certificate_
        text = certificate.text()
        assert "Privacy unit: record." in text
        assert "people" not in text
        assert "person" not in text
