"""Events as the plain values of a certificate."""

from __future__ import annotations

from glassine.codec import decoded
from glassine.errors import InvalidMechanismError
from glassine.privacy.certificate import EVENT
from glassine.privacy.events import Event


def event_from_dict(values: object) -> Event:
    """Return the event that ``event_to_dict`` wrote, read as a certificate reads it."""
    event: Event = decoded(EVENT, values, "the event", InvalidMechanismError)
    return event
