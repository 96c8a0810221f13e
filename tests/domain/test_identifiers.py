"""Attributes that may identify people."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from glassine.data.identifiers import identifies, identifying, is_identifier_name, repeats
from glassine.data.inference import draft
from glassine.data.remarks import remarks
from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.records.arrays import AnyArray


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "ID",
        "patient_id",
        "patientID",
        "userId",
        "userid",
        "customer no",
        "SSN",
        "mrn",
        "person",
        "Patient Nr.",
        "Patienten-Nr",
        "Kundennummer",
        "fall_id",
    ],
)
def test_names_of_identifiers(name: str) -> None:
    assert is_identifier_name(name)


@pytest.mark.parametrize(
    "name",
    ["Personen", "Mitarbeiter", "age", "valid", "customer_age", "ideas", "idle", "number", "", "7", "paid", "humidity"],
)
def test_other_names(name: str) -> None:
    assert not is_identifier_name(name)


def test_an_attribute_is_told_by_its_name_and_its_declared_type() -> None:
    domain = Domain(
        {
            "id": Integer(0, 10**6),
            "user": Category(("a", "b")),
            "person": Binary(),
            "uid": Real(0, 1),
            "uuid": Real(0, 1, inferred=True),
            "age": Integer(0, 99),
        }
    )
    assert identifying(domain) == ("id", "user", "uuid")


def test_repeats_of_columns_that_look_like_identifiers_are_counted() -> None:
    frame = pl.DataFrame(
        {
            "patient_id": [1, 1, 1, 2, 2, None] * 10,
            "visit_id": range(60),
            "pseudonymous": [f"p{i % 30}" for i in range(60)],
            "town": ["a", "b"] * 30,
            "age": [i % 40 for i in range(60)],
        }
    )
    found = {repeat.column: (repeat.n_records, repeat.n_values, repeat.most) for repeat in repeats(frame)}
    assert found == {"patient_id": (50, 2, 30), "pseudonymous": (60, 30, 2)}
    assert "up to 30 records share one" in str(next(iter(repeats(frame))))


RNG, N = np.random.default_rng(0), 10_000
AREAS = RNG.integers(1000, 99_999, 8000)
QUANTITIES: dict[str, AnyArray] = {
    "days_since": RNG.integers(0, 3651, N),
    "days_since_visit": RNG.integers(0, 3651, 3000),
    "year": RNG.integers(1930, 2024, N),
    "age": RNG.integers(18, 99, N),
    "seconds": RNG.integers(0, 86_400, N),
    "steps": RNG.integers(0, 20_000, N),
    "birth_weight": RNG.normal(3400, 500, N).astype(int),
    "salary_in_cents": RNG.integers(1_500_000, 9_999_999, N),
    "salary": RNG.lognormal(15, 0.4, N).astype(int),
    "rounded": RNG.lognormal(15, 0.4, N).astype(int) // 10_000 * 10_000,
    "partly_rounded": np.where(RNG.random(N) < 0.5, RNG.integers(20, 99, N) * 1000, RNG.integers(20_000, 99_999, N)),
    "postcode": RNG.choice(AREAS, N),
    "weights": RNG.lognormal(12, 0.5, N).astype(int)[RNG.integers(0, N, N)],
    "intake_type_id": RNG.integers(1, 9, N),
    "kind_nbr": RNG.integers(1, 9, N),
}
PEOPLE: dict[str, AnyArray] = {
    "client_nbr": RNG.integers(1000, 2 * 10**8, 7000)[RNG.integers(0, 7000, N)],
    "kd_nbr": RNG.integers(0, 7000, N),
    "x": RNG.integers(1000, 2 * 10**8, 7000)[RNG.integers(0, 7000, N)],
    "row": RNG.permutation(N),
    "counted up": RNG.permutation(N) + 500_000,
    "two each": RNG.permutation(np.repeat(np.arange(N // 2), 2)),
    "visits": np.repeat(np.arange(N), RNG.geometric(0.5, N))[:N],
    "hash": RNG.integers(2**50, 2**62, N),
    "hash of a person": RNG.integers(2**50, 2**62, 6000)[RNG.integers(0, 6000, N)],
    "phone": RNG.choice([151, 160, 171], N) * 10**8 + RNG.integers(10**7, 10**8, N),
    "called": (RNG.choice([151, 160, 171], 6000) * 10**8 + RNG.integers(10**7, 10**8, 6000))[RNG.integers(0, 6000, N)],
}


def accused(name: str, values: object) -> bool:
    frame = pl.DataFrame({name: values})
    return "identifier" in remarks(frame).get(name, "") or [one.column for one in repeats(frame)] == [name]


@pytest.mark.parametrize("name", QUANTITIES)
def test_quantities_are_no_numbers_of_people(name: str) -> None:
    values = QUANTITIES[name]
    assert not accused(name, values)
    assert not accused(name, [*values.tolist()[:-1], None])
    assert not accused(name, values.astype(str))
    assert not identifies(name, values)
    assert name in draft(pl.DataFrame({name: values}))[0]


@pytest.mark.parametrize("name", PEOPLE)
def test_numbers_that_are_handed_out_are_those_of_people(name: str) -> None:
    values = PEOPLE[name]
    assert accused(name, values)
    assert accused(name, [*values.tolist()[:-1], None]) or name.startswith("hash")
    assert identifies(name, values) == name.endswith("nbr")
