"""Attributes that may identify people: judged by name and type from what is public, and by values from records."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from glassine.data.person_counts import spelled_alike, spelling_advice
from glassine.data.record_table import columns
from glassine.domain.attributes import Binary, Real
from glassine.domain.domain import Domain
from glassine.domain.literals import is_missing
from glassine.records.arrays import AnyArray
from glassine.records.headers import DATE

__all__ = ["Repeats", "identifies", "identifying", "is_identifier_name", "repeats"]

MANY_VALUES = 20
"""Values of a column beyond which they may name people."""

NEARLY_ALL = 0.95
"""Share of different values from which few whole numbers look like numbers of records."""

DIGITS, LONG_DIGITS = 6, 9
"""Digits from which whole numbers of one length may be those of people where they recur, and where none does: postcodes
have fewer than six, amounts and measurements fewer than nine."""

SHARE = 10
"""Texts with more different values than a tenth of the records may identify people, for any attribute name."""

ROWS_OF_A_PERSON = 5
"""Records of a value, in the mean, up to which numbers without such a name may be those of people."""

UNEVEN = 0.1
"""Largest gap between the distribution of numbers of people and an even one; of amounts it is .4 and more."""

CHANCE = 10
"""Pairs of equal numbers, or numbers left out, that chance must explain before more or fewer of them say anything."""

BEYOND, BELOW = 3, 4
"""Times that equal numbers must be more than chance makes them, or fewer, to be those of people."""

NEAR = 50
"""Parts of a range within which amounts are as frequent as one another, so that near ones say how many are equal."""

ROUND = 0.3
"""Share of numbers that do not end in 0 or 5 below which they are rounded amounts; of other numbers it is .8."""

PLACES = frozenset({"area", "commune", "district", "plz", "post", "postal", "postcode", "tract", "zip", "zipcode"})
"""A name with one of these words is that of a place, which many people share."""

FEW_CODES = 200
"""Different codes, such as postcodes of districts, from which a column of them may name people."""

SHARE_OF_WORDS = 20
"""A column of numbers has words, such as NA, for at most a twentieth of its different values, or one."""

COMMA = re.compile(r"\s*[+-]?(\d*|\d{1,3}([.'\u2019 \u00a0\u202f]\d{3})+),\d+\s*", flags=re.ASCII)
"""A number with a decimal comma."""

WHOLE = re.compile(r"\s*[+-]?(0|[1-9]\d{0,17})\s*", flags=re.ASCII)
"""A whole number of 64 bits in its usual spelling; with a zero before it, it is a code."""

DATE_NUMBER = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])", flags=re.ASCII)

IDENTIFIER_WORDS = frozenset(
    {"id", "ids", "identifier", "uid", "uuid", "guid", "ssn", "mrn", "pseudonym", "passport", "email"}
)
"""A name with one of these words is that of an identifier, such as patient_id or userId."""

QUANTITIES = frozenset(
    {
        "age",
        "amount",
        "balance",
        "charge",
        "charges",
        "cost",
        "costs",
        "count",
        "days",
        "income",
        "months",
        "pay",
        "price",
    }
    | {"rate", "salary", "score", "sum", "total", "value", "wage", "years"}
)
"""A name that ends with one of these words is that of a quantity."""

PEOPLE = frozenset(
    {"account", "client", "customer", "employee", "member", "name", "patient", "person", "pupil", "student"}
    | {"subject", "surname", "user"}
)
"""A name that is one of these words, or one of them with a number, is that of an identifier."""

NUMBERED = frozenset({"cliente", "fall", "kunden", "mitarbeiter", "paciente", "patienten", "personen", "versicherten"})
"""A name that is one of these words with a number is that of an identifier; alone it can be a number of people."""

NUMBERS = frozenset({"code", "id", "key", "nbr", "no", "nr", "num", "number", "numero", "nummer"})

JOINED = frozenset({f"{who}id" for who in PEOPLE} | {f"{who}{number}" for who in NUMBERED for number in NUMBERS})
"""Words of which two make one: a name that ends with one of these is that of an identifier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How often the values of a column recur."""

    column: str  # Its name
    # n_records, n_values, most: records with a value, different values, and the most records that share one.
    n_records: int
    n_values: int
    most: int
    alike: int  # How many values differ from another only as spelled_alike() says

    def __str__(self) -> str:
        return (
            f"{self.column}: {self.n_values:,} different values in {self.n_records:,} records; up to {self.most:,} "
            f"records share one.{spelling_advice(self.alike)}"
        )


def _words(name: str) -> list[str]:
    """Return the words of a name in small letters, without numbers."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def is_identifier_name(name: str) -> bool:
    """Return whether a column's name is that of an identifier.

    Examples
    --------
    >>> [is_identifier_name(name) for name in ("patient_id", "userId", "SSN", "customer no", "customer_age", "valid")]
    [True, True, True, True, False, False]
    >>> [is_identifier_name(name) for name in ("Patienten-Nr", "Kundennummer", "Personen")]
    [True, True, False]
    >>> [is_identifier_name(name) for name in ("income_id_total", "user_id_str", "id_total")]
    [False, True, False]
    """
    words = _words(name)
    if not words or words[-1] in QUANTITIES:
        return False
    if not IDENTIFIER_WORDS.isdisjoint(words) or words[-1] in JOINED:
        return True
    return words[0] in PEOPLE | (NUMBERED if words[1:] else set()) and set(words[1:]) <= NUMBERS


def names_people(name: str, n_values: int, n_records: int) -> bool:
    """Return whether a column with so many different values is named like an identifier, and can be one.

    Examples
    --------
    >>> [names_people("intake_type_id", 8, 20_000), names_people("visit_id", 8, 20), names_people("patient", 30, 9_000)]
    [False, True, True]
    >>> [
    ...     names_people("member", 2, 9_000),
    ...     names_people("account_type_id", 8, 20_000),
    ...     names_people("patient_id", 8, 20_000),
    ... ]
    [False, False, True]
    """
    if not is_identifier_name(name):
        return False
    # A few codes in many records are no people, unless the name says so.
    parts = {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    people = PEOPLE | NUMBERED
    of_few = len(parts & people) == 1 and len(parts & (NUMBERS - {"code", "key"})) == 1 and len(parts) == 2
    of_people = of_few or (bool(parts & people) and n_values > MANY_VALUES)
    return of_people or n_values > FEW_CODES or n_values * SHARE >= n_records


def are_handed_out(values: AnyArray, name: str = "") -> bool:
    """Return whether whole numbers, shape (n,), look like those of people or records, and not like a quantity.

    Numbers that are handed out are many and even, and chance does not explain how often they recur: none of a range is
    left out, none is used twice, or they recur for the records of a person. The name decides what could be either:
    ``days_since`` from 0 to 3,650 is a quantity, ``policy_nbr`` is none.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> are_handed_out(rng.choice(rng.integers(100, 2 * 10**8, 12_000), 20_000))
    True
    >>> are_handed_out(rng.lognormal(12, 0.5, 20_000).astype(int)), are_handed_out(rng.permutation(20_000))
    (False, True)
    >>> days = rng.integers(0, 3651, 10_000)
    >>> are_handed_out(days, "days_since"), are_handed_out(days, "policy_nbr")
    (False, True)
    """
    # Shapes: distinct, counts and places (k,).
    if (n := len(values)) <= MANY_VALUES:
        return False
    distinct, counts = np.unique(values, return_counts=True)
    k = len(distinct)
    if k <= MANY_VALUES or k * ROWS_OF_A_PERSON < n or PLACES & set(_words(name)):
        return False
    # Unsigned, as a range of 64 bits has no signed length.
    places = distinct.astype(np.uint64) - distinct.astype(np.uint64)[0]
    span = int(places[-1]) + 1
    left_out = span * math.exp(-n / span)
    if left_out >= CHANCE and (span - k) * 2 < left_out and (k > FEW_CODES or k >= NEARLY_ALL * n):
        return True
    even = bool(np.abs(places / (span - 1) - np.linspace(0, 1, k)).max() <= UNEVEN)
    length = _common_length(distinct)
    if k <= FEW_CODES and length < DIGITS:
        return False
    if is_numbered(name):
        return even or length >= DIGITS
    # Amounts recur because people round them; what is not round recurs by chance alone.
    unround = ~np.isin(distinct % 10, (0, 5))
    places, counts = places[unround], counts[unround]
    if counts.sum() < ROUND * n:
        return False
    equal, near = float((counts * (counts - 1) / 2).sum()), max(CHANCE, span // NEAR)
    until, below = np.searchsorted(places, places + np.uint64(near), "right"), np.append(0, np.cumsum(counts))
    # Two numbers are equal half as often as they are at a certain distance; of ten endings eight are looked at.
    expected = float((counts * (below[until] - below[1:])).sum()) / near / 2 / 0.8
    if expected >= CHANCE and equal * BELOW < expected:
        return True
    if equal > BEYOND * expected + CHANCE:
        return even or length >= DIGITS
    return expected < 1 and int(distinct[-1]) >= 10 ** (LONG_DIGITS - 1) and (even or length >= LONG_DIGITS)


def is_numbered(name: str) -> bool:
    """Return whether a name ends as that of a number which something is known by.

    Examples
    --------
    >>> [is_numbered(name) for name in ("KD_NR", "policy_nbr", "Vertragsnummer", "number_of_visits", "postcode")]
    [True, True, True, False, False]
    """
    last = _words(name)[-1:]
    return bool((NUMBERS - {"code"}) & set(last)) or any(word.endswith(("nummer", "number")) for word in last)


def _common_length(distinct: AnyArray) -> int:
    """Return how many digits all whole numbers have, 0 if they differ or one is negative; rising, shape (k,)."""
    least, most = str(distinct[0]), str(distinct[-1])
    return len(most) if len(least) == len(most) and distinct[0] >= 0 else 0


def written_numbers(counts: Mapping[str, int]) -> AnyArray:
    """Return the whole numbers that texts write, each as often as its text; shape (n,)."""
    return np.repeat(np.array([int(text) for text in counts], dtype=np.int64), list(counts.values()))


def whole_numbers(column: AnyArray) -> AnyArray | None:
    """Return the present values of a column of whole numbers, None of another one."""
    if column.dtype.kind == "i":
        return column
    present = column[~is_missing(column)] if column.dtype.kind == "f" else column[:0]
    if not len(present) or np.abs(present).max() >= 2**53 or not np.array_equal(present, np.trunc(present)):
        return None
    return present.astype(np.int64)


def identifying(domain: Domain) -> tuple[str, ...]:
    """Return the attributes that are named like identifiers, and whose declared type an identifier can have.

    An inferred type says nothing, because it follows from records: then the name alone decides.
    """
    return tuple(
        name
        for name in domain
        if is_identifier_name(name) and (domain[name].inferred or not isinstance(domain[name], Binary | Real))
    )


def _are_measured(texts: Iterable[str]) -> bool:
    """Return whether nearly all texts are numbers with a fraction, or dates, which identify no person by themselves."""
    listed = list(texts)
    n = sum(bool(COMMA.fullmatch(t) or DATE.fullmatch(t)) or ("." in t and is_number(t)) for t in listed)
    return len(listed) - n <= max(1, len(listed) // SHARE_OF_WORDS)


def are_dates(whole: AnyArray) -> bool:
    """Return whether whole numbers, shape (n,), are all dates such as 20260131; the ends of other columns say so."""
    if not len(whole) or (least := whole.min()) == (most := whole.max()):
        return False
    if not all(DATE_NUMBER.fullmatch(str(end)) for end in (least, most)):
        return False
    return all(DATE_NUMBER.fullmatch(str(value)) for value in np.unique(whole).tolist())


def repeats(frame: object) -> Iterator[Repeats]:
    """Yield the columns with repeated values that look like identifiers: by name, or by many texts or long numbers.

    Guarantee
    ---------
    none: this is for those who hold the records, and must not be published.
    """
    for name, column in columns(frame).items():
        named, whole = is_identifier_name(name), whole_numbers(column)
        numbered = whole is not None and are_handed_out(whole, name) and not are_dates(whole)
        if column.dtype.kind != "O" and not named and not numbered:
            continue
        listed = column[~is_missing(column)].tolist()
        if any(kind.__hash__ is None for kind in set(map(type, listed))):
            continue  # lists, which identify no one
        # Most columns of texts have few values, and need no counts.
        if not named and len(set(listed)) <= MANY_VALUES:
            continue
        counts = Counter(listed)
        n_records, most = sum(counts.values()), max(counts.values(), default=0)
        named = named and names_people(name, len(counts), n_records)
        many = len(counts) > max(MANY_VALUES, n_records // SHARE)
        texts = all(isinstance(value, str) for value in counts)
        if texts and all(WHOLE.fullmatch(value) for value in counts):
            # Whole numbers that a file keeps as texts are judged as numbers.
            numbered, texts = are_handed_out(written_numbers(counts), name), False
        likely = numbered or (texts and not _are_measured(counts))
        if len(counts) > 1 and (named or (many and likely)) and ((alike := spelled_alike(counts)) or most > 1):
            yield Repeats(column=name, n_records=n_records, n_values=len(counts), most=most, alike=alike)


def is_number(text: str) -> bool:
    """Return whether a text writes a finite number that readers of records read."""
    try:
        # Python reads digits of other scripts and underscores between them, and no reader of records does.
        return text.isascii() and "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False


def identifies(name: str, column: AnyArray) -> bool:
    """Return whether a column holds identifiers of people: by how its values are distributed, and by its name.

    Whole numbers or texts, more than 20 different ones, of which each stands for few records, or for the records of a
    person by its name. Amounts and measurements are none, however many values they have.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> clients, amounts = rng.integers(1000, 2 * 10**8, 9_000), rng.lognormal(8, 1, 9_000).round()
    >>> identifies("client_nbr", clients), identifies("credit_amount", amounts), identifies("client_nbr", clients % 8)
    (True, False, False)
    >>> identifies("KD_NR", clients), identifies("KD_NR", clients % 8)
    (True, False)
    """
    whole = whole_numbers(column)
    if whole is not None and is_numbered(name) and are_handed_out(whole, name):
        return True
    if not is_identifier_name(name):
        return False
    present = column[~is_missing(column)]
    if present.dtype.kind == "f" and not np.array_equal(present, np.round(present)):
        return False
    values = set(present.tolist())
    few_rows = len(values) * SHARE >= len(present)
    return (
        len(values) > MANY_VALUES and names_people(name, len(values), len(present)) and (few_rows or _of_people(name))
    )


def _of_people(name: str) -> bool:
    """Return whether a name says that it is of people, such as patient_id, and not of visits."""
    return bool({part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)} & (PEOPLE | NUMBERED))
