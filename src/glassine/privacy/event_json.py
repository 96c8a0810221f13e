"""Events as plain values, and back: a certificate's JSON."""

from __future__ import annotations

import dataclasses
from typing import Any

from glassine.codec import Codec, Field, decoded, lazily, listed, record, tagged
from glassine.errors import InvalidMechanismError, UnknownEventError
from glassine.privacy.events import KINDS, Event, Parallel, refuse

# Certificates that do not tell the steps of a grid, or the records by which neighbors differ, speak of one; the latter
# is left out, so that certificates for one record read as they always did.
_ONE = {"units": Field(required=False), "records": Field(required=False, omit=1)}


def _event_codec(kind: type[Event]) -> Codec[Any]:
    """Return the codec of a kind of event, every figure of which must be stated."""
    names = [field.name for field in dataclasses.fields(kind)]
    said = {name: _ONE.get(name, Field(required=True)) for name in names}
    if kind is Parallel:
        said["branches"] = Field(codec=listed(listed(lazily(lambda: EVENT))), required=True)
    return record(kind, said)


EVENT: Codec[Any] = tagged("event", {name: (kind, _event_codec(kind)) for name, kind in KINDS.items()})


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return an event as plain values, its kind under ``event``.

    Raises
    ------
    UnknownEventError
        If it is of no known kind.
    """
    if KINDS.get(type(event).__name__) is not type(event):
        raise refuse(event)
    out: dict[str, Any] = EVENT.encode(event)
    return out


def event_from_dict(values: object) -> Event:
    """Return the event that :func:`event_to_dict` wrote; unknown, missing and mistyped fields are errors.

    Raises
    ------
    InvalidMechanismError
        If a field is unknown, missing or of the wrong type.
    UnknownEventError
        If the kind is unknown.
    """
    if isinstance(values, dict) and values.get("event") not in KINDS:
        raise UnknownEventError(
            f"an event must name its kind, one of {', '.join(KINDS)}, got {values.get('event')!r:.60}.", event=values
        )
    event: Event = decoded(EVENT, values, "the event", InvalidMechanismError)
    return event
