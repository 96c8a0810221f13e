"""Attributes that may identify people."""

from __future__ import annotations

import polars as pl
import pytest

from glassine.data.identifiers import identifying, is_identifier_name, repeats
from glassine.domain import Binary, Category, Domain, Integer, Real


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
