"""Persons: which records have one identifier, and how often a private fit counts each of them; see ``persons.md``."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from glassine.data.count_table import CountTable
from glassine.domain import Domain
from glassine.errors import InvalidDataError, InvalidParameterError, check_choice, parameter
from glassine.privacy.unit import RECORD, PrivacyUnit
from glassine.records.arrays import AnyArray, Bools, Indices, Ints
from glassine.records.columns import ConformedColumns

WEIGHTS = ("equal", "records")
"""Whether each person counts as much as any other, or as many records as are kept."""

Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CountedPersons:
    """Whose record each is, and how many records a person counts as."""

    identifiers: tuple[bytes | None, ...]  # One for each record; None where it has none
    unit: PrivacyUnit  # One person, with the most records
    equal: bool  # Whether the records of a person are repeated until they are as many as that
    column: str | None  # The column of the records that holds them; it is no attribute

    @property
    def weights(self) -> dict[str, str]:
        """What a certificate says of the weights."""
        how = "repeated until there are as many" if self.equal else "each counted once"
        return {"records of each person": f"at most {self.unit.most_records}, {how}"}

    def without_column(self, domain: Domain | None) -> Domain | None:
        """Return a domain without the column of identifiers, which is no attribute."""
        if domain is None or self.column not in domain:
            return domain
        return domain.restrict([name for name in domain if name != self.column])

    def take(self, rows: Bools) -> CountedPersons:
        """Return the identifiers of some of the records."""
        if len(self.identifiers) != len(rows):
            raise InvalidDataError(
                f"{parameter('persons')} must hold one identifier for each record.", remedy="Pass as many."
            )
        return replace(self, identifiers=tuple(itertools.compress(self.identifiers, rows)))

    def times(self, columns: ConformedColumns, labels: AnyArray) -> Ints:
        """Return how often each record counts, shape (n,): at most m times for all records of one person together."""
        # What is kept of a person follows from the identifier, the records and the targets of that person alone, not
        # from their order, nor from any other person.
        # columns: the records that may be used, n in number, as they conform to the domain.
        # labels: their targets, as the fit reads them, shape (n,).
        places: dict[bytes, int] = {}
        person = np.array(
            [-1 if key is None else places.setdefault(key, len(places)) for key in self.identifiers], dtype=np.int64
        )
        out = np.zeros(len(person), dtype=np.int64)
        there = np.flatnonzero(person >= 0)
        whose, most = person[there], self.unit.most_records
        # number: (n,), how many records the person of each record has.
        number = np.bincount(whose, minlength=len(places))[whose]
        # Of k records each counts m // k times, and the first m % k of them once more.
        whole, more = np.divmod(most, number)
        if not self.equal:
            whole, more = np.minimum(whole, 1), np.where(number > most, most, 0)
        out[there] = whole
        some = more > 0
        if some.any():
            rows = there[some]
            # Which records count once more depends on the data of the person alone, through hashes: not on the order
            # of the records, nor on other persons.
            keys = np.array([_hash(key) for key in places], dtype=np.uint64)
            rank = _ranks(whose[some], keys[whose[some]], _contents(columns, labels, rows))
            out[rows] += rank < more[some]
        return out


def unit_of(records_per_person: object, persons: object) -> PrivacyUnit:
    """Return the privacy unit of a fit."""
    if records_per_person is None and persons is None:
        return RECORD
    if records_per_person is None:
        raise InvalidParameterError(
            f"{parameter('persons')} needs {parameter('records_per_person')}: how many records of one person count.",
            remedy="Take a public bound, such as the yearly visits that a study plans, or 1. The largest number in the "
            "data is private. Of a person with more records, only a part counts, so that the guarantee still holds.",
        )
    if persons is None:
        raise InvalidParameterError(
            f"{parameter('records_per_person=')}{records_per_person!r} needs {parameter('persons')}: whose record each "
            "is.",
            remedy=f"Name the column of identifiers with {parameter('persons')}, or leave "
            f"{parameter('records_per_person')} out.",
        )
    number = int(records_per_person) if isinstance(records_per_person, np.integer) else records_per_person
    return PrivacyUnit.person(number)  # type: ignore[arg-type]  # it checks the type


def check_persons(X: object, person_weights: object) -> None:
    """Raise if records of persons cannot be distinguished, or a weight is none; nothing is looked at."""
    check_choice(person_weights, "person_weights", WEIGHTS)
    if isinstance(X, CountTable):
        raise InvalidDataError(
            "a CountTable does not say whose its records are.",
            remedy=f"Pass the records, with {parameter('persons=')}.",
        )


def _hash(key: bytes) -> int:
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "little")


def _contents(columns: ConformedColumns, labels: AnyArray, rows: Indices) -> Bits:
    """Return a hash of each record with its target, equal for equal ones, shape (rows,)."""
    out = np.zeros(len(rows), dtype=np.uint64)
    for values in (*(columns.array(name) for name in columns.names), labels):
        out = _mixed(out ^ _bits(np.asarray(values)[rows]))
    return out


def _bits(values: AnyArray) -> Bits:
    if values.dtype.kind == "f":
        # One zero, and one missing value.
        values = np.where(np.isnan(values), np.nan, values.astype(np.float64) + 0.0)
        return np.ascontiguousarray(values).view(np.uint64)
    return values.astype(np.int64).view(np.uint64)


def _ranks(person: Ints, keys: Bits, contents: Bits) -> Ints:
    """Return the place of each record among those of its person, in an order that only that person's data decide."""
    # Equal records of one person are distinguished by a number, as which is which makes no difference.
    order = np.lexsort((contents, person))
    same = (person[order][1:] == person[order][:-1]) & (contents[order][1:] == contents[order][:-1])
    copy = _within(order, np.concatenate(([True], ~same)))
    mixed = _mixed(contents ^ _mixed(keys ^ _mixed(copy.astype(np.uint64))))
    order = np.lexsort((mixed, person))
    return _within(order, np.concatenate(([True], person[order][1:] != person[order][:-1])))


def _within(order: Indices, first: Bools) -> Ints:
    """Return the place of each entry within its run; ``first`` marks where, in the order, a run begins."""
    starts = np.flatnonzero(first)
    places = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    out = np.empty(len(order), dtype=np.int64)
    out[order] = places
    return out


def _mixed(values: Bits) -> Bits:
    """Return values with their bits mixed, one to one (Steele, Lea and Flood 2014, SplitMix)."""
    with np.errstate(over="ignore"):
        values = values + np.uint64(0x9E3779B97F4A7C15)
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return values ^ (values >> np.uint64(31))
