"""What only a person can state of a release: who decided what, on which day, for which purpose and recipient."""

from __future__ import annotations

import dataclasses
import os
import tomllib
from dataclasses import dataclass
from datetime import date

from glassine.errors import InvalidParameterError, parameter
from glassine.files import read_text

LONGEST = 2000
"""Most characters of a statement: a page of text."""
DAYS = ("day", "review_by")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOff:
    """What a person states of a release. Glassine never fills a field itself.

    Attributes
    ----------
    who, role : str
        Who decided, and as what.
    decision : str
        What was decided, such as ``released`` or ``refused``.
    day, review_by : str
        When, and until when it holds: days as ``2026-11-23``.
    purpose, recipient, conditions : str
        What for, for whom, and under which conditions.

    Raises
    ------
    InvalidParameterError
        If a statement is no text of at most 2,000 characters, or a day is none.

    Examples
    --------
    >>> SignOff(who="A. Checker", decision="released", day="2026-11-23").empty
    ('role', 'review_by', 'purpose', 'recipient', 'conditions')
    """

    who: str = ""
    role: str = ""
    decision: str = ""
    day: str = ""
    review_by: str = ""
    purpose: str = ""
    recipient: str = ""
    conditions: str = ""

    def __post_init__(self) -> None:
        for name in self.names():
            value: object = getattr(self, name)
            if not isinstance(value, str) or len(value) > LONGEST:
                raise InvalidParameterError(
                    f"{parameter(name)} must be a text of at most {LONGEST:,} characters.", remedy="Shorten it."
                )
            if name in DAYS and value and not _is_day(value):
                raise InvalidParameterError(
                    f"{parameter(name)} must be a day, got {value!r}.", remedy="Write it as 2026-11-23."
                )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the fields, in the order of a form."""
        return tuple(entry.name for entry in dataclasses.fields(cls))

    @property
    def empty(self) -> tuple[str, ...]:
        """The fields that are not filled."""
        return tuple(name for name in self.names() if not getattr(self, name).strip())

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> SignOff:
        """Read the statements of a TOML file: one key for each field, days as text or as dates.

        Raises
        ------
        UnreadableFileError
            If the file cannot be read.
        InvalidParameterError
            If it is not TOML, or names another field.
        """
        name = os.fspath(path)
        try:
            entries = tomllib.loads(read_text(path))
        except (ValueError, RecursionError):
            raise InvalidParameterError(
                f"{name} is not valid TOML.", remedy='Write one field a line, such as: who = "A. Checker".'
            ) from None
        for key in entries:
            if key not in cls.names():
                raise InvalidParameterError(
                    f"{name} states {key!r}, which is no field of a sign-off.", remedy=f"Use {', '.join(cls.names())}."
                )
        return cls(**{key: value.isoformat() if type(value) is date else value for key, value in entries.items()})


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
