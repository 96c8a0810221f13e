"""Inference of a domain from data, and the check of data against a domain."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from glassine.data.person_counts import plain, spelled_alike, spelling_advice
from glassine.data.record_table import NO_RECORDS, as_table, frame_of
from glassine.domain.attributes import Attribute, Binary, Category, Integer, Real
from glassine.domain.domain import Domain
from glassine.domain.literals import is_missing
from glassine.errors import InvalidDataError, Text, parameter
from glassine.records.arrays import AnyArray, Array
from glassine.records.flags import reasons, wide
from glassine.records.headers import DATE
from glassine.records.reading import read, rows_outside

__all__ = [
    "Repeats",
    "broken_rules",
    "columns",
    "draft",
    "header_values",
    "identifying",
    "infer_domain",
    "is_identifier_name",
    "outside_of",
    "remarks",
    "repeats",
    "violations",
]

MAX_DECIMALS = 9

MANY_VALUES = 20
"""Values of a column beyond which they may name people."""

NEARLY_ALL = 0.95
"""Share of different values from which whole numbers look like numbers of records."""

DIGITS = 6
"""Digits from which whole numbers of one length may be those of people: postcodes have fewer."""

SHARE = 10
"""Texts with more different values than a tenth of the records may identify people, for any attribute name."""

CALENDARS = tuple(
    {name: place for place, name in enumerate(names.split())}
    for names in (
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "january february march april may june july august september october november december",
        "mon tue wed thu fri sat sun",
        "monday tuesday wednesday thursday friday saturday sunday",
    )
)
"""Names whose order everyone knows, by their places."""

ROWS_OF_A_PERSON = 5
"""Records of a value, in the mean, up to which numbers without such a name may be those of people."""

UNEVEN = 0.1
"""Largest gap between the distribution of numbers of people and an even one; of amounts it is .4 and more."""

FREQUENT = 10
"""Records from which a word of a column is quoted."""

FEW_CODES = 200
"""Different codes, such as postcodes of districts, from which a column of them may name people."""

WORDS = 3
"""Blanks of a value, in the mean, from which it is a sentence."""

SHARE_OF_WORDS = 20
"""A column of numbers has words, such as NA, for at most a twentieth of its different values, or one."""

COMMA = re.compile(r"\s*[+-]?(\d*|\d{1,3}([.'\u2019 \u00a0\u202f]\d{3})+),\d+\s*", flags=re.ASCII)
"""A number with a decimal comma."""

COMMAS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?\s*", flags=re.ASCII)
"""A number with a comma before each three digits."""

CODES = frozenset(sign * int(digit * n) for digit in "789" for n in range(1, 6) for sign in (1, -1)) | {-1}
"""Numbers that surveys write for answers that are missing."""

SCALE = 10
"""Most answers of a question, whole numbers in a row."""

ONE_VALUE = "one value only, which carries no information. Leave it out, or declare the values it can have."
NAMED = "{:,} different values, in a column that is named like an identifier? Leave it out."
"""Remarks on columns of texts and of numbers."""

LONG = re.compile(r"\s*[+-]?\d+\s*", flags=re.ASCII)

DATE_NUMBER = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])", flags=re.ASCII)


def eager(frame: object) -> nw.DataFrame[Any]:
    """Return any frame as an eager narwhals frame with at least one row."""
    data = as_table(frame).frame
    if len(data) == 0:
        raise InvalidDataError(NO_RECORDS)
    return data


def columns(frame: object) -> dict[str, AnyArray]:
    """Return the columns of any frame as NumPy arrays, shape (n,); gaps are NaN in numbers and None elsewhere."""
    return frame if isinstance(frame, dict) else as_table(frame).arrays


def _in_order(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return categories in order: months and days as the calendar has them, others by their letters.

    Examples
    --------
    >>> _in_order({"mar", "jan", "feb"}), _in_order({"may", "joan"})
    (('jan', 'feb', 'mar'), ('joan', 'may'))
    """
    texts = sorted(values)
    names = [str(text).strip().lower() for text in texts]
    calendar = next((one for one in CALENDARS if one.keys() >= set(names)), None)
    if calendar is None or len(set(names)) < len(names):
        return tuple(texts)
    return tuple(text for _, text in sorted(zip(map(calendar.__getitem__, names), texts, strict=True)))


def _decimals(values: Array) -> int | None:
    """Return the smallest number of decimals in which all values are written, or None beyond nine."""
    for decimals in range(MAX_DECIMALS + 1):
        if np.array_equal(np.round(values, decimals), values):
            return decimals
    return None


def _infer_column(name: str, column: AnyArray) -> Attribute:
    gaps = is_missing(column)
    present = column[~gaps]
    missing = bool(gaps.any())
    if len(present) == 0:
        raise InvalidDataError(
            f"column {name!r} has no value at all.", remedy="Drop it, or declare its attribute by hand."
        )
    # Types are few, and asked for once: most of the time of a long column would go into asking each value.
    kinds = set(map(type, present.tolist())) if column.dtype.kind == "O" else set()
    whole = column.dtype.kind == "i" or (bool(kinds) and all(issubclass(k, int) and k is not bool for k in kinds))
    if whole and not (present.min() >= 0 and present.max() <= 1):
        return Integer(int(present.min()), int(present.max()), missing=missing, inferred=True)
    if column.dtype.kind in "if":
        numbers = present.astype(float)
        if not np.isfinite(numbers).all():
            raise InvalidDataError(f"column {name!r} holds an infinite value.", remedy="Clip it to its public bounds.")
        if np.isin(numbers, (0, 1)).all():
            return Binary(missing=missing, inferred=True)
        decimals = _decimals(numbers)
        lo, hi = float(numbers.min()), float(numbers.max())
        if decimals == 0:
            return Integer(int(lo), int(hi), missing=missing, inferred=True)
        if lo == hi:
            return Category((lo,), missing=missing, inferred=True)
        resolution = None if decimals is None else 10.0**-decimals
        return Real(lo, hi, resolution, missing=missing, inferred=True)
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return Binary(missing=missing, inferred=True)
    if all(issubclass(kind, str) for kind in kinds):
        return Category(_in_order(set(present.tolist())), missing=missing, inferred=True)
    odd = next(v for v in present if not isinstance(v, str))
    raise InvalidDataError(
        f"column {name!r} holds values of type {type(odd).__name__}, which are neither numbers, Booleans nor texts.",
        remedy="Convert or drop it.",
    )


def infer_domain(frame: object) -> Domain:
    """Return a domain read off a data frame, every attribute marked ``inferred``.

    Numbers become ``Binary`` (only 0 and 1), ``Integer`` (whole) or ``Real`` with the decimal step in which the data
    are written, if nine decimals are enough. Strings become ``Category``. Columns with gaps allow missing values.
    Bounds, categories and resolutions are those of the data: they are not public knowledge, and a measure taken in
    an inferred domain understates what an attacker learns.

    Parameters
    ----------
    frame : data frame
        Any eager frame that narwhals reads, shape (n, d), n at least 1.
    """
    return Domain({name: _infer_column(name, column) for name, column in columns(frame).items()})


def draft(frame: object, codes: Mapping[str, Mapping[float, str]] | None = None) -> tuple[Domain, dict[str, str]]:
    """Return the inferred domain of the columns that can be declared, and why the others cannot.

    ``codes`` are special codes of some columns, with labels: bounds are those of the other numbers.
    """
    attributes: dict[str, Attribute] = {}
    undeclared: dict[str, str] = {}
    for name, column in columns(frame).items():
        try:
            attributes[name] = _infer_column(name, column) if name not in (codes or {}) else _coded(name, column, codes)
        except InvalidDataError as error:
            undeclared[name] = str(error)
    if not attributes:
        raise InvalidDataError("no column can be declared.", remedy="Convert one to numbers, Booleans or texts.")
    return Domain(attributes), undeclared


def _coded(name: str, column: AnyArray, codes: Mapping[str, Mapping[float, str]] | None) -> Attribute:
    """Return the attribute of a column with special codes; what is missing keeps its place."""
    own = (codes or {})[name]
    attribute = _infer_column(name, column[~np.isin(column, [*own])])
    if isinstance(attribute, Binary):
        attribute = Integer(0, 1, missing=attribute.missing, inferred=True)
    if isinstance(attribute, Category):
        raise InvalidDataError(f"column {name!r} has special codes, but is no number.", remedy="Leave them out.")
    return replace(attribute, codes=own)


def remarks(frame: object) -> dict[str, str]:
    """Return what looks wrong about inferring a domain from a frame: a remark for each column that has one.

    Remarks are made on identifiers, dates, free text, columns of one value, numbers read as text, and values that
    differ only by case or spaces. Most begin their advice with "Leave it out".
    """
    remarks_by_name = {name: _remark(name, column) for name, column in columns(frame).items()}
    return {name: remark for name, remark in remarks_by_name.items() if remark}


def _frequent(words: Iterable[str], counts: Mapping[str, int]) -> str:
    """Return words of a column of numbers to quote: those of few records can be what one person said."""
    listed = list(words)
    quotable = [repr(word) for word in listed if counts[word] >= FREQUENT][:3]
    few = sum(counts[word] < FREQUENT for word in listed)
    rare = [f"{few:,} {'text' if few == 1 else 'texts'} of fewer than {FREQUENT} records"] if few else []
    return ", ".join(quotable + rare)


def _remark(name: str, column: AnyArray) -> str:
    present = column[~is_missing(column)]
    n = len(present)
    if column.dtype.kind != "O":
        return _remark_on_numbers(name, present)
    by_text: Counter[str] = Counter()
    n_texts: dict[str, int] = {}
    for (kind, value), count in _counted(present).items():
        by_text[str(value)] += count
        if issubclass(kind, str):
            n_texts[value] = n_texts.get(value, 0) + count
    values = set(by_text)
    if len(values) == 1 and n > 1:
        return ONE_VALUE
    if len(values) > MANY_VALUES and names_people(name, len(values), n):
        return NAMED.format(len(values))
    odd = sorted(value for value in values if not _is_number(value))
    if odd and all(COMMAS.fullmatch(value) for value in odd):
        return Text(
            "numbers with commas before three digits, read as texts. If they separate thousands, take them out of the "
            f"file; if they are decimal commas, read the file with {parameter('decimal_comma', True)}."
        )
    words = sorted(value for value in values if not COMMA.fullmatch(value) and not _is_number(value))
    if any("," in value for value in values - set(words)) and len(words) <= max(1, len(values) // SHARE_OF_WORDS):
        but = f" but for {_frequent(words, by_text)}" if words else ""
        also = f", and state the words in {parameter('missing')}" if words else ""
        return Text(
            f"numbers with decimal commas{but}, read as texts. "
            f"Read the file with {parameter('decimal_comma', True)}{also}, or declare a number by hand."
        )
    if values and all(LONG.fullmatch(value) for value in values):
        if any(abs(float(value)) >= 2**63 for value in values):
            return (
                "whole numbers beyond 64 bits, read as texts: an identifier? Leave it out, or declare a number by hand."
            )
        zeros = any(re.match("0[0-9]", value.strip()) for value in values)
        what = "whole numbers that begin with 0, such as postcodes," if zeros else "whole numbers"
        many = f": {len(values):,} different values, an identifier? Leave it out" if len(values) > FEW_CODES else ""
        return f"{what} kept as texts{many}. Declare an integer by hand if they are quantities."
    if odd and len(odd) <= max(1, len(values) // SHARE_OF_WORDS) and len(odd) < len(values):
        return Text(
            f"numbers but for {_frequent(odd, by_text)}. State what means a missing value in {parameter('missing')}, "
            "or declare a number by hand."
        )
    if values and all(DATE.fullmatch(value) for value in values):
        return "dates, which can name people. Leave it out, or keep a number instead, such as a year or an age."
    blanks = sum(value.count(" ") * count for value, count in n_texts.items())
    if len(values) > MANY_VALUES and blanks >= WORDS * n:
        return "free text, which can name people. Leave it out, or code it in a few categories."
    if len(values) > max(MANY_VALUES, n // SHARE):
        return f"{len(values):,} different values in {n:,} records, an identifier? Leave it out."
    numbers = values.difference(odd)
    if (
        len(odd) > 1
        and numbers
        and all(float(value) in CODES and n_texts.get(value, 0) >= FREQUENT for value in numbers)
    ):
        return _of_codes(sorted(map(float, numbers)), "among texts")
    spellings = Counter(map(plain, values))
    alike = sorted(value for value in values if spellings[plain(value)] > 1)
    if alike:
        return (
            f"{len(alike):,} of its values differ from another only by case or spaces, "
            f"such as {_frequent(alike, by_text)}. "
            "Write those that mean the same in one way, or each counts as a category."
        )
    return ""


def header_values(frame: object) -> int:
    """Return how many columns hold their own name as a value, as those of a file without a header do."""
    return sum(name in column.tolist() for name, column in columns(frame).items() if column.dtype.kind == "O")


def _counted(present: AnyArray) -> Counter[tuple[type, Any]]:
    """Return how often each value of a column of objects occurs; 1, 1.0 and True are different values."""
    listed = present.tolist()
    kinds = set(map(type, listed))
    if len(kinds) == 1:
        (kind,) = kinds
        return Counter({(kind, value): count for value, count in Counter(listed).items()})
    return Counter(zip(map(type, listed), listed, strict=True))


def _remark_on_numbers(name: str, present: AnyArray) -> str:
    """Return what looks wrong about numbers, shape (n,): different ones are counted only where a remark asks for it."""
    n = len(present)
    if not n:
        return ""
    present = present.astype(np.int8) if present.dtype.kind == "b" else present
    lo, hi = present.min().item(), present.max().item()
    if lo == hi and n > 1:
        return ONE_VALUE
    if is_identifier_name(name):
        number = len(np.unique(present))
        if number > MANY_VALUES and names_people(name, number, n):
            return NAMED.format(number)
    if codes := _codes(present):
        return _of_codes(codes, "far from the other values")
    if not (math.isfinite(lo) and math.isfinite(hi) and np.array_equal(present, np.trunc(present))):
        return ""
    dated = lo != hi and DATE_NUMBER.fullmatch(str(int(lo))) and DATE_NUMBER.fullmatch(str(int(hi)))
    # Whole numbers of a short range are in too many records each to be handed out.
    few = hi - lo + 1
    if not dated and few * ROWS_OF_A_PERSON < n and few < NEARLY_ALL * n:
        return ""
    distinct = np.unique(present)
    if dated and all(DATE_NUMBER.fullmatch(str(int(value))) for value in distinct.tolist()):
        return "dates written as numbers? Leave it out, or keep a number instead, such as a year or an age."
    handed_out = are_handed_out(distinct.astype(float), n)
    if handed_out or (len(distinct) > MANY_VALUES and len(distinct) >= NEARLY_ALL * n):
        return f"{len(distinct):,} different whole numbers in {n:,} records, an identifier? Leave it out."
    return ""


def _of_codes(codes: Sequence[float], where: str) -> str:
    listed = " and ".join(f"{code:g}" for code in codes)
    stated = ",".join(f"COLUMN={code:g}" for code in codes)
    return Text(
        f"{listed}, {where}. If {'it stands' if len(codes) == 1 else 'they stand'} for a missing value, state "
        f"{'it' if len(codes) == 1 else 'them'}: {parameter('missing_in')}={stated}."
    )


def _codes(present: AnyArray) -> list[Any]:
    """Return numbers of many records that look like codes for missing values: apart from the others, and of a form."""
    within = [code for code in sorted(CODES) if present.min() <= code <= present.max()]
    likely = [code for code in within if np.count_nonzero(present == code) >= FREQUENT]
    others = present[~np.isin(present, likely)] if likely else present[:0]
    if len(others) == 0 or others.min() == others.max():
        return []
    lo, hi = others.min().item(), others.max().item()
    # A scale, such as 1 to 5, is left by a step of more than one.
    steps = hi - lo if hi - lo < SCALE else 0
    wide = 1 if steps and len(np.unique(others)) == steps + 1 else hi - lo
    # Codes that follow one another, such as 97 to 99, stand as far from the others as the first of them: with 7 in
    # place, 8 is the next step of a scale.
    first: dict[Any, Any] = {}
    for value in likely:
        first[value] = first.get(value - 1, value)
    return [value for value in likely if value < 0 <= lo or first[value] - hi > wide]


def _is_number(text: str) -> bool:
    try:
        # Python reads digits of other scripts and underscores between them, and no reader of records does.
        return text.isascii() and "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False


TIES = "no combination of the group"
"""The reason of records that ties between attributes forbid."""


def violations(domain: Domain, frame: object) -> dict[str, int]:
    """Return how many records break the domain, by attribute or block of tied attributes; only those above zero.

    Parameters
    ----------
    domain : Domain
        The public domain; each attribute must be a column.
    frame : data frame, or another container of named columns
        The records, shape (n, at least d).
    """
    return {name: sum(numbers.values()) for name, numbers in outside_of(domain, frame).items()}


def outside_of(domain: Domain, frame: object) -> dict[str, dict[str, int]]:
    """Return how many records break the domain, by attribute or block of tied attributes and by reason."""
    return {name: {why: len(rows) for why, rows in own.items()} for name, own in broken_rules(domain, frame).items()}


def broken_rules(domain: Domain, frame: object) -> dict[str, dict[str, list[int]]]:
    """Return which records break the domain and why: rows by reason, by attribute or block of tied attributes.

    It is for the holder of the records: rows reveal which they are. A record has one reason at most for each attribute.
    Parameters and errors as for :func:`violations`.
    """
    table: object = frame
    if frame_of(frame) is not None:
        table = as_table(frame)
        eager(table)
    broken: dict[str, dict[str, list[int]]] = {}
    for name, why in rows_outside(table, domain).items():
        own = enumerate(reasons(domain[name]), 1) if why.any() else ()
        broken[name] = {reason: np.flatnonzero(why == i).tolist() for i, reason in own}
    for block, possible in domain.blocks:
        codes = read(table, {name: wide(domain[name]) for name in block})[0].codes
        allowed = set(possible)
        rows = enumerate(zip(*(codes[name].tolist() for name in block), strict=True))
        broken[" + ".join(block)] = {TIES: [i for i, row in rows if row not in allowed]}
    kept = {name: {why: rows for why, rows in own.items() if rows} for name, own in broken.items()}
    return {name: own for name, own in kept.items() if own}


# Attributes that may identify people: judged by name and type from what is public, and by repeats from records.


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
    n = sum(bool(COMMA.fullmatch(t) or DATE.fullmatch(t)) or ("." in t and _is_number(t)) for t in listed)
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
