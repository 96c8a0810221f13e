"""Attributes that may identify people: told by name and type from what is public, and by repeats from records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from glassine.domain.attributes import Binary, Real
from glassine.domain.domain import Domain
from glassine.domain.inference import MANY_VALUES, columns
from glassine.domain.literals import is_missing

__all__ = ["Repeats", "identifying", "is_identifier_name", "repeats"]

WORDS = frozenset({"id", "ids", "identifier", "uid", "uuid", "guid", "ssn", "mrn", "pseudonym", "passport", "email"})
"""A name with one of these words is that of an identifier, such as patient_id or userId."""

PEOPLE = frozenset(
    {"account", "client", "customer", "employee", "member", "name", "patient", "person", "pupil", "student"}
    | {"subject", "surname", "user"}
)
"""A name that is one of these words, or one of them with a number, is that of an identifier."""

NUMBERS = frozenset({"code", "key", "no", "nr", "num", "number"})

SHARE = 10
"""Texts with more different values than a tenth of the records may identify people whatever their name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How often the values of a column recur.

    Attributes
    ----------
    column : str
        Its name.
    n_records, n_values, most : int
        Records with a value, different values, and the most records that share one.
    """

    column: str
    n_records: int
    n_values: int
    most: int

    def __str__(self) -> str:
        return (
            f"{self.column}: {self.n_values:,} different values in {self.n_records:,} records; up to {self.most:,} "
            "records share one. If they identify people, a guarantee for one record covers one of these, not all."
        )


def is_identifier_name(name: str) -> bool:
    """Return whether a column's name is that of an identifier.

    Examples
    --------
    >>> [is_identifier_name(name) for name in ("patient_id", "userId", "SSN", "customer no", "customer_age", "valid")]
    [True, True, True, True, False, False]
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)
    words = [part.lower() for part in parts if not part.isdigit()]
    if not words:
        return False
    if WORDS & set(words) or any(words[-1] == f"{who}id" for who in PEOPLE):
        return True
    return words[0] in PEOPLE and set(words[1:]) <= NUMBERS


def identifying(domain: Domain) -> tuple[str, ...]:
    """Return the attributes that are named like identifiers, and whose declared type an identifier can have.

    An inferred type says nothing, because it follows from records: then the name alone decides.
    """
    return tuple(
        name
        for name in domain
        if is_identifier_name(name) and (domain[name].inferred or not isinstance(domain[name], Binary | Real))
    )


def repeats(frame: Any) -> Iterator[Repeats]:
    """Yield the columns that look like identifiers, by name or by many different texts, and have repeated values.

    Guarantee
    ---------
    none: this is for those who hold the records, and must not be published.
    """
    for name, column in columns(frame).items():
        present = column[~is_missing(column)].tolist()
        counts = Counter(present)
        most = max(counts.values(), default=0)
        texts = all(isinstance(value, str) for value in counts) and len(counts) > max(
            MANY_VALUES, len(present) // SHARE
        )
        if most > 1 and len(counts) > 1 and (is_identifier_name(name) or texts):
            yield Repeats(column=name, n_records=len(present), n_values=len(counts), most=most)
