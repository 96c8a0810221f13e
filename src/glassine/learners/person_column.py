"""The column of identifiers, taken from records that are read where something of them is not public."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from glassine.data.record_table import RecordTable, collected, frame_of
from glassine.domain import Domain
from glassine.errors import InvalidDataError, parameter
from glassine.privacy.unit import PrivacyUnit
from glassine.records.alignment import listed, target_name
from glassine.records.identifiers import identifier
from glassine.records.object_columns import as_columns
from glassine.sealed.persons import CountedPersons, check_persons


def take_persons(
    X: object, persons: object, unit: PrivacyUnit, person_weights: object, *, y: object, domain: object
) -> tuple[Any, CountedPersons]:
    """Return the records without the column of identifiers, and the identifiers."""
    # Shapes: X (n, d); persons (n,), series, or str; y (n,), or str.
    check_persons(X, person_weights)
    name = persons if isinstance(persons, str) else getattr(persons, "name", None)
    if isinstance(persons, str):
        if persons and persons == target_name(y):
            raise InvalidDataError(
                f"the column {persons!r} is the target, and cannot also hold the persons.", remedy="Name another."
            )
        X = as_columns(X, _names(persons, y, domain))
    frame = _frame(X)
    if isinstance(persons, str):
        if frame is None or persons not in frame.columns:
            raise InvalidDataError(
                f"{parameter('persons')} names the column {persons!r}, which X lacks.",
                remedy="Pass a data frame that has it, or one identifier for each record.",
            )
        values = frame[persons].to_list()
    else:
        values = list(listed(persons))
    column = name if isinstance(name, str) and frame is not None and name in frame.columns else None
    keys = tuple(identifier(value) for value in values)
    if frame is not None:
        X = RecordTable(frame if column is None else frame.drop(column))
    return X, CountedPersons(identifiers=keys, unit=unit, equal=person_weights == "equal", column=column)


def _names(persons: str, y: object, domain: object) -> list[str] | None:
    """Return the columns of records that are mappings, from what is public; None where nothing is."""
    if not isinstance(domain, Domain):
        return None
    target = target_name(y)
    declared = [name for name in domain if name not in (persons, target)]
    return [*declared, persons, *([y] if isinstance(y, str) else [])]


def _frame(X: object) -> nw.DataFrame[Any] | None:
    """Return a frame in memory; None for anything but a frame."""
    frame = frame_of(X)
    return None if frame is None else collected(frame)
