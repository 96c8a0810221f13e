"""The privacy unit: whose data a guarantee covers, one record or all records of one person."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from glassine.errors import InvalidMechanismError, InvalidParameterError, parameter, quoted
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

# Events as neighbors by several records see them: every sensitivity times the number of records.


def of_groups(events: Iterable[Event], records: int) -> tuple[Event, ...]:
    """Return :func:`of_group` of each event."""
    return tuple(of_group(event, records) for event in events)


def of_group(event: Event, records: int) -> Event:
    """Return what a release costs where neighbors differ by up to so many records.

    Guarantee
    ---------
    If the event states what a mechanism costs for adding or removing one record, the result states what it costs for
    adding or removing up to ``records`` of them at once. See ``unit.md``.

    Parameters
    ----------
    event : Event
        Of a mechanism for neighbors that differ by one record.
    records : int
        At least 1; with 1 the event is returned unchanged.

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
        f"the event {event.name!r} has no rule for {records} records at once.", remedy="State its cost for them."
    )


def _simple(event: Event) -> bool:
    """Return whether the records of a group may fall into several branches: a choice without slack or delta."""
    return isinstance(event, Selection | NoisyMax) and event.slack == 0


LARGEST_RECORDS = 10**6
"""Most records per person that a unit may allow; at more, no useful epsilon is left for one record."""

PERSON = re.compile(r"person, at most ([1-9][0-9]{0,6}) records? each")


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """What neighboring datasets differ by: one record, or one person with all their records.

    Its text is its form in JSON: see :meth:`parse`.

    Parameters
    ----------
    records_per_person : int, optional
        The most records that a release uses of each person, in [1, 1,000,000]. None: the unit is one record.

    Raises
    ------
    InvalidParameterError
        If the number of records is not a whole number in its range.

    Examples
    --------
    >>> unit = PrivacyUnit.person(3)
    >>> str(RECORD), str(unit), PrivacyUnit.parse(str(unit)) == unit
    ('record', 'person, at most 3 records each', True)
    """

    records_per_person: int | None = None

    def __post_init__(self) -> None:
        value: object = self.records_per_person
        if value is None:
            return
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_RECORDS:
            raise InvalidParameterError(
                f"{parameter('records_per_person')} must be a whole number in [1, {LARGEST_RECORDS:,}], got "
                f"{quoted(value)}."
            )

    @classmethod
    def person(cls, records: int) -> PrivacyUnit:
        """Return the unit of one person, of whom a release uses at most so many records."""
        number: object = records
        # None is the unit of one record, and must not come from a number that is missing.
        return cls(0 if number is None else records)

    @classmethod
    def parse(cls, text: object) -> PrivacyUnit:
        """Return the unit that a text names, as ``str()`` writes it.

        Raises
        ------
        InvalidParameterError
            If the text names no unit.
        """
        if text == "record":
            return RECORD
        person = PERSON.fullmatch(text) if isinstance(text, str) else None
        unit = PrivacyUnit.person(int(person[1])) if person and int(person[1]) <= LARGEST_RECORDS else None
        if unit is None or str(unit) != text:
            raise InvalidParameterError(
                f"a privacy unit is 'record' or 'person, at most N records each', got {quoted(text)}.",
                remedy="Write it so.",
            )
        return unit

    @property
    def is_person(self) -> bool:
        """Whether the unit is one person."""
        return self.records_per_person is not None

    @property
    def most_records(self) -> int:
        """The most records, as a release counts them, by which neighboring datasets differ: 1 or ``m``."""
        return self.records_per_person or 1

    def __str__(self) -> str:
        most = self.records_per_person
        if most is None:
            return "record"
        return f"person, at most {most} record{'s' * (most > 1)} each"


RECORD = PrivacyUnit()
"""One record."""
