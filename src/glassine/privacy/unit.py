"""The privacy unit: whose data a guarantee covers, one record or all records of one person."""

from __future__ import annotations

import re
from dataclasses import dataclass

from glassine.errors import InvalidParameterError, quoted

__all__ = ["LARGEST_RECORDS", "RECORD", "PrivacyUnit"]

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
                f"records_per_person must be a whole number in [1, {LARGEST_RECORDS:,}], got {quoted(value)}."
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
                f"a privacy unit is 'record' or 'person, at most N records each', got {quoted(text)}."
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
