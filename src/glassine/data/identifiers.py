"""Attributes that may identify people: judged by name and type from what is public, and by values from records."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from glassine.data.person_counts import spelled_alike, spelling_advice
from glassine.data.record_table import columns
from glassine.domain.attributes import Binary, Real
from glassine.domain.domain import Domain
from glassine.domain.literals import is_missing
from glassine.records.arrays import AnyArray, Array
from glassine.records.headers import DATE

__all__ = ["Repeats", "identifies", "identifying", "is_identifier_name", "repeats"]

MANY_VALUES = 20
"""Values of a column beyond which they may name people."""

NEARLY_ALL = 0.95
"""Share of different values from which whole numbers look like numbers of records."""

DIGITS = 6
"""Digits from which whole numbers of one length may be those of people: postcodes have fewer."""

SHARE = 10
"""Texts with more different values than a tenth of the records may identify people, for any attribute name."""

ROWS_OF_A_PERSON = 5
"""Records of a value, in the mean, up to which numbers without such a name may be those of people."""

UNEVEN = 0.1
"""Largest gap between the distribution of numbers of people and an even one; of amounts it is .4 and more."""

FEW_CODES = 200
"""Different codes, such as postcodes of districts, from which a column of them may name people."""

SHARE_OF_WORDS = 20
"""A column of numbers has words, such as NA, for at most a twentieth of its different values, or one."""

COMMA = re.compile(r"\s*[+-]?(\d*|\d{1,3}([.'\u2019 \u00a0\u202f]\d{3})+),\d+\s*", flags=re.ASCII)
"""A number with a decimal comma."""

DATE_NUMBER = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])", flags=re.ASCII)

IDENTIFIER_WORDS = frozenset(
    {"id", "ids", "identifier", "uid", "uuid", "guid", "ssn", "mrn", "pseudonym", "passport", "email"}
)
"""A name with one of these words is that of an identifier, such as patient_id or userId."""

PEOPLE = frozenset(
    {"account", "client", "customer", "employee", "member", "name", "patient", "person", "pupil", "student"}
    | {"subject", "surname", "user"}
)
"""A name that is one of these words, or one of them with a number, is that of an identifier."""

NUMBERED = frozenset({"cliente", "fall", "kunden", "mitarbeiter", "paciente", "patienten", "personen", "versicherten"})
"""A name that is one of these words with a number is that of an identifier; alone it can be a number of people."""

NUMBERS = frozenset({"code", "id", "key", "nbr", "no", "nr", "num", "number", "numero", "nummer"})


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


def is_identifier_name(name: str) -> bool:
    """Return whether a column's name is that of an identifier.

    Examples
    --------
    >>> [is_identifier_name(name) for name in ("patient_id", "userId", "SSN", "customer no", "customer_age", "valid")]
    [True, True, True, True, False, False]
    >>> [is_identifier_name(name) for name in ("Patienten-Nr", "Kundennummer", "Personen")]
    [True, True, False]
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)
    words = [part.lower() for part in parts if not part.isdigit()]
    if not words:
        return False
    if IDENTIFIER_WORDS & set(words) or any(words[-1] == f"{who}id" for who in PEOPLE):
        return True
    if any(words[-1] == f"{who}{number}" for who in NUMBERED for number in NUMBERS):
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


def are_handed_out(values: Array, n_records: int) -> bool:
    """Return whether different whole numbers look like those of people: many, and evenly spread, as amounts are not.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> are_handed_out(np.unique(rng.integers(100, 2 * 10**8, 12_000)), 20_000)
    True
    >>> are_handed_out(np.unique((rng.lognormal(12, 0.5, 12_000)).astype(int)), 20_000)
    False
    """
    # Shapes: values (v,), rising.
    n_values = len(values)
    if n_values <= FEW_CODES or n_values * ROWS_OF_A_PERSON < n_records:
        return False
    # How far their distribution is from that of numbers which were drawn or counted up.
    places = (values - values[0]) / (values[-1] - values[0])
    return bool(np.abs(places - np.linspace(0, 1, n_values)).max() <= UNEVEN)


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


def _are_numbers_of_people(column: AnyArray) -> bool:
    """Return whether whole numbers look handed out: all as long as one another, and longer than most quantities."""
    if column.dtype.kind != "i" or len(column) == 0 or column.min() < 10 ** (DIGITS - 1):
        return False
    least, most = str(column.min()), str(column.max())
    return len(least) == len(most) and not (DATE_NUMBER.fullmatch(least) and DATE_NUMBER.fullmatch(most))


def repeats(frame: object) -> Iterator[Repeats]:
    """Yield the columns with repeated values that look like identifiers: by name, or by many texts or long numbers.

    Guarantee
    ---------
    none: this is for those who hold the records, and must not be published.
    """
    for name, column in columns(frame).items():
        named = is_identifier_name(name)
        numbered = _are_numbers_of_people(column)
        if column.dtype.kind == "i" and not numbered:
            numbered = are_handed_out(np.unique(column).astype(float), len(column))
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
        likely = numbered or (all(isinstance(value, str) for value in counts) and not _are_measured(counts))
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
    """
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
