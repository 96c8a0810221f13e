"""The privacy unit."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.errors import InvalidParameterError
from glassine.privacy.unit import LARGEST_RECORDS, RECORD, PrivacyUnit


def test_a_unit_says_whose_data_is_covered() -> None:
    assert str(RECORD) == "record"
    assert str(PrivacyUnit.person(1)) == "person, at most 1 record each"
    assert str(PrivacyUnit.person(28)) == "person, at most 28 records each"
    assert not RECORD.is_person
    assert PrivacyUnit.person(1).is_person
    assert PrivacyUnit.person(1) != RECORD


@given(st.integers(1, LARGEST_RECORDS))
def test_a_unit_is_read_back_from_its_text(most: int) -> None:
    unit = PrivacyUnit.person(most)
    assert PrivacyUnit.parse(str(unit)) == unit
    assert unit.records_per_person == most


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Record",
        "records",
        "person",
        "person, at most 0 records each",
        "person, at most 1 records each",
        "person, at most 2 record each",
        "person, at most 02 records each",
        "person, at most 9999999 records each",
        "person, at most ٣ records each",
        "person, at most 2 records each\n",
        None,
        3,
    ],
)
def test_a_text_that_names_no_unit_is_refused(text: object) -> None:
    with pytest.raises(InvalidParameterError, match="a privacy unit is 'record' or 'person, at most N records each'"):
        PrivacyUnit.parse(text)


@pytest.mark.parametrize("most", [0, -1, LARGEST_RECORDS + 1, 1.0, True, "3", None])
def test_a_person_keeps_a_whole_number_of_records(most: object) -> None:
    with pytest.raises(InvalidParameterError, match="records_per_person must be a whole number"):
        PrivacyUnit.person(most)  # type: ignore[arg-type]  # the check is what is tested


def test_a_unit_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RECORD.records_per_person = 2  # type: ignore[misc]  # the refusal is what is tested
