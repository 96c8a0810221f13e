"""Events as neighbors by several records see them: every sensitivity times the number of records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from glassine.errors import InvalidMechanismError
from glassine.privacy.events import (
    CountBound,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianMax,
    GaussianNoise,
    LaplaceNoise,
    NoisyMax,
    Parallel,
    Selection,
    SmoothCauchyMax,
)

__all__ = ["of_group", "of_groups"]


def of_groups(events: Iterable[Event], records: int) -> tuple[Event, ...]:
    """Return :func:`of_group` of each event."""
    return tuple(of_group(event, records) for event in events)


def of_group(event: Event, records: int) -> Event:
    """Return what a release costs where neighbors differ by up to so many records.

    Guarantee
    ---------
    If the event states what a mechanism costs for adding or removing one record, the result states what it costs for
    adding or removing up to ``records`` of them at once. See ``group.md``.

    Parameters
    ----------
    event : Event
        Of a mechanism for neighbors that differ by one record.
    records : int
        At least 1; with 1 the event is returned as it is.

    Raises
    ------
    InvalidMechanismError
        If there is no rule for the event.

    Examples
    --------
    >>> from glassine.privacy.accounting import epsilon
    >>> noise = DiscreteLaplaceNoise(name="counts", l1_sensitivity=1, scale=10)
    >>> epsilon([noise]), epsilon([of_group(noise, 3)])
    (0.1, 0.3)
    """
    if records == 1:
        return event
    if isinstance(event, Selection | NoisyMax):
        return replace(event, sensitivity=event.sensitivity * records)
    if isinstance(event, LaplaceNoise | DiscreteLaplaceNoise):
        return replace(event, l1_sensitivity=event.l1_sensitivity * records)
    if isinstance(event, GaussianNoise | DiscreteGaussianNoise):
        return replace(event, l2_sensitivity=event.l2_sensitivity * records)
    if isinstance(event, GaussianMax):
        return replace(event, spread=event.spread * records)
    if isinstance(event, SmoothCauchyMax):
        return replace(event, records=event.records * records, slack=event.slack * records)
    if isinstance(event, CountBound):
        return event
    if isinstance(event, Parallel) and all(_simple(inner) for branch in event.branches for inner in branch):
        branches = tuple(of_groups(branch, records) for branch in event.branches)
        return replace(event, branches=branches)
    raise InvalidMechanismError(
        f"the event {event.name!r} has no rule for {records} records at once. State its cost for them."
    )


def _simple(event: Event) -> bool:
    """Return whether the records of a group may fall into several branches: a choice without slack or delta."""
    return isinstance(event, Selection | NoisyMax) and event.slack == 0
