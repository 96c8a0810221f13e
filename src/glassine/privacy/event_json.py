"""Events as plain values, and back: a certificate's JSON."""

from __future__ import annotations

import dataclasses
from typing import Any

from glassine.errors import InvalidMechanismError, UnknownEventError
from glassine.privacy.events import KINDS, Event, Parallel, refuse

__all__ = ["LARGEST", "event_from_dict", "event_to_dict"]

LARGEST = 1e300
"""Largest size of a number in an event: beyond it, whole numbers have no floating-point form."""


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return an event as plain values, its kind under ``event``.

    Raises
    ------
    UnknownEventError
        If it is of no known kind.
    """
    if type(event).__name__ not in KINDS or type(event) is not KINDS[type(event).__name__]:
        raise refuse(event)
    if isinstance(event, Parallel):
        branches = [[event_to_dict(inner) for inner in branch] for branch in event.branches]
        return {"event": "Parallel", "name": event.name, "branches": branches, "proof": event.proof}
    values = {"event": type(event).__name__, **dataclasses.asdict(event)}
    if values.get("records") == 1:
        del values["records"]  # so that certificates for one record read as they always did
    return values


def event_from_dict(values: object) -> Event:
    """Return the event that :func:`event_to_dict` wrote; unknown, missing and mistyped fields are errors.

    Raises
    ------
    InvalidMechanismError
        If a field is unknown, missing or of the wrong type.
    UnknownEventError
        If the kind is unknown.
    """
    if not isinstance(values, dict):
        raise InvalidMechanismError(f"an event must be an object, got {values!r}. Use event_to_dict.")
    given = dict(values)
    kind = KINDS.get(str(given.pop("event", None)))
    if kind is None:
        raise UnknownEventError(
            f"an event must name its kind, one of {', '.join(KINDS)}, got {values.get('event')!r}.", event=values
        )
    fields = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    for field in ("units", "records"):
        if field in fields:
            given.setdefault(field, 1)  # certificates of earlier versions do not tell it
    wrong = sorted(set(map(str, given)) ^ set(fields))
    if wrong:
        raise InvalidMechanismError(f"{kind.__name__} has the fields {sorted(fields)}; unknown or missing: {wrong}.")
    for field, declared in fields.items():
        if not _fits(given[field], declared):
            raise InvalidMechanismError(f"{kind.__name__}.{field} must be {declared}, got {given[field]!r}.")
    if kind is Parallel:
        given["branches"] = tuple(tuple(event_from_dict(inner) for inner in branch) for branch in given["branches"])
    return kind(**given)


def _fits(value: object, declared: str) -> bool:
    if declared.startswith("tuple"):
        return isinstance(value, list) and all(isinstance(inner, list) for inner in value)
    if declared == "bool":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if declared == "str":
        return isinstance(value, str)
    if value is None:
        return "None" in declared
    return isinstance(value, int if declared == "int" else int | float) and abs(value) <= LARGEST
