"""Persons: which records have one identifier, so that people are counted in place of records."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidDataError, parameter
from glassine.records.alignment import listed
from glassine.records.arrays import Array, Bools, Indices, Ints
from glassine.records.identifiers import identifier

ZEROS = re.compile(r"^0+(?=\d)|(?<=\d)\.0+$")
"""Zeros that do not change a number."""

LISTED = 20
"""Rows without an identifier that an error lists at most."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Persons:
    """Whose record each is.

    Attributes
    ----------
    keys : tuple of bytes or None
        The identifier of each record, equal for the records of one person; None where it has none.
    column : str or None
        The column of the records that holds them; it is no attribute.

    Examples
    --------
    >>> persons = Persons.of([7, 7, 3, "7"])
    >>> persons.number, persons.counts(np.array([0, 0, 0, 1]), 2).tolist(), persons.weights.round(2).tolist()
    (2, [2, 1], [0.33, 0.33, 1.0, 0.33])
    """

    keys: tuple[bytes | None, ...]
    column: str | None = None

    @classmethod
    def of(cls, values: object, column: str | None = None) -> Persons:
        """Return the persons of a column of identifiers: a list, an array or a series."""
        return cls(keys=tuple(identifier(value) for value in listed(values)), column=column)

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return "<Persons>"

    @cached_property
    def codes(self) -> Ints:
        """The person of each record, from 0 in the order of their first records, shape (n,); -1 for none."""
        places: dict[bytes, int] = {}
        return np.array([-1 if key is None else places.setdefault(key, len(places)) for key in self.keys], dtype=int)

    @cached_property
    def number(self) -> int:
        """How many people there are."""
        return int(self.codes.max(initial=-1)) + 1

    @cached_property
    def records(self) -> Ints:
        """How many records the person of each record has, shape (n,); 0 without one."""
        codes = self.codes
        return np.where(codes < 0, 0, np.bincount(codes[codes >= 0], minlength=self.number)[codes])

    @property
    def weights(self) -> Array:
        """What each record counts where every person counts once, shape (n,)."""
        return np.where(self.records > 0, 1.0 / np.maximum(self.records, 1), 0.0)

    def counts(self, by: npt.NDArray[np.integer], n: int) -> Ints:
        """Return how many people have a record in each part.

        Parameters
        ----------
        by : ndarray of int, shape (len(self),)
            The part of each record, in [0, n), or -1 for none.
        n : int
            Number of parts.
        """
        counted = (self.codes >= 0) & (by >= 0)
        # A person counts once in each part in which they have records, and in several parts if they do.
        pairs = np.unique(self.codes[counted] * np.int64(n) + by[counted])
        return np.bincount(pairs % n, minlength=n)

    def mean(self, values: npt.NDArray[np.floating]) -> Array:
        """Return the mean over the records of each person, shape (number,)."""
        counted = self.codes >= 0
        sums = np.bincount(self.codes[counted], weights=values[counted], minlength=self.number)
        return sums / np.bincount(self.codes[counted], minlength=self.number)

    def largest(self, values: npt.NDArray[np.floating]) -> Array:
        """Return the largest value among the records of each person, shape (number,)."""
        counted = self.codes >= 0
        out = np.full(self.number, -np.inf)
        np.maximum.at(out, self.codes[counted], values[counted])
        return out

    def take(self, rows: Bools | Indices) -> Persons:
        """Return the persons of some of the records, by a mask or by row numbers."""
        if rows.dtype == bool:
            return replace(self, keys=tuple(itertools.compress(self.keys, rows.tolist())))
        return replace(self, keys=tuple(self.keys[row] for row in rows.tolist()))

    def join(self, other: Persons) -> Persons:
        """Return the persons of these records followed by others."""
        return replace(self, keys=(*self.keys, *other.keys))


def stated_persons(values: object, n_records: int, what: str, column: str | None = None) -> Persons:
    """Return the persons of records, where each has one."""
    whose = Persons.of(values, column)
    if len(whose) != n_records:
        raise InvalidDataError(
            f"{parameter('persons')} must hold one identifier for each of the {n_records:,} records of the {what}, got "
            f"{len(whose):,}.",
            remedy="Pass as many.",
        )
    missing = np.flatnonzero(whose.codes < 0).tolist()
    if missing:
        rows = ", ".join(map(str, missing[:LISTED])) + (" and more" if len(missing) > LISTED else "")
        raise InvalidDataError(
            f"{len(missing):,} of {n_records:,} records of the {what} have no identifier, so it is not known whose "
            f"they are: {'row' if len(missing) == 1 else 'rows'} {rows} (counted from 0).",
            remedy="Add the identifiers, or leave these records out.",
        )
    return whose


def refuse_shared(data: Persons | None, holdout: Persons | None) -> None:
    """Raise if people have records both in the data and in the holdout: who is a member is then not defined."""
    if data is None or holdout is None:
        return
    keys = set(data.keys)
    n_shared = len(keys & set(holdout.keys))
    if n_shared:
        n_records = sum(key in keys for key in holdout.keys)
        have = "person of the holdout has" if holdout.number == 1 else "people of the holdout have"
        raise InvalidDataError(
            f"{n_shared:,} of {holdout.number:,} {have} records in the data too: {n_records:,} of the holdout's "
            f"{len(holdout):,} records. They are members, so an attack that finds them would count as wrong.",
            remedy="Split the records by person, so that all records of a person are on one side.",
        )


def spelling_advice(alike: int) -> str:
    """Return the advice on identifiers that differ little; nothing for none."""
    if not alike:
        return ""
    return (
        f" {alike:,} of them differ from another only by case, spaces, Unicode form or zeros around a number, "
        "and count as other people. Write each person in one way: a guarantee covers one spelling."
    )


def spelled_alike(values: Iterable[object]) -> int:
    """Return how many identifiers differ from another only by case, spaces, Unicode form or zeros around a number.

    Examples
    --------
    >>> spelled_alike(["p1", "P1 ", "p2", "7", "7.0", "007", "8", 8]), spelled_alike(["Andr\u00e9", "Andre\u0301"])
    (4, 2)
    """
    # Of several texts for one person, such as 7 and 7.0, any will do.
    texts = {identifier(value): plain(str(value)) for value in values}
    spellings = Counter(ZEROS.sub("", text) for key, text in texts.items() if key is not None)
    return sum(number for number in spellings.values() if number > 1)


def plain(text: str) -> str:
    """Return a text without what values of one meaning may differ in."""
    same = unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", text).casefold())
    return " ".join("".join(letter for letter in same if unicodedata.category(letter) != "Cf").split())
