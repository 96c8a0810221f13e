"""Remarks on columns of which a domain is drafted: identifiers, dates, free text, numbers read as text, codes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from glassine.data.identifiers import (
    COMMA,
    FEW_CODES,
    MANY_VALUES,
    ROWS_OF_A_PERSON,
    SHARE,
    SHARE_OF_WORDS,
    are_dates,
    are_handed_out,
    is_identifier_name,
    is_number,
    names_people,
    whole_numbers,
    written_numbers,
)
from glassine.data.inference import extremes
from glassine.data.person_counts import plain
from glassine.data.record_table import columns
from glassine.domain.literals import is_missing
from glassine.errors import Text, parameter
from glassine.records.arrays import AnyArray
from glassine.records.headers import DATE

__all__ = ["header_values", "remarks"]

FREQUENT = 10
"""Records from which a word of a column is quoted."""

WORDS = 3
"""Blanks of a value, in the mean, from which it is a sentence."""

COMMAS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?\s*", flags=re.ASCII)
"""A number with a comma before each three digits."""

CODES = frozenset(sign * int(digit * n) for digit in "789" for n in range(1, 6) for sign in (1, -1)) | {-1}
"""Numbers that surveys write for answers that are missing."""

IN_ORDER = sorted(CODES)

SCALE = 10
"""Most answers of a question, whole numbers in a row."""

ONE_VALUE = "one value only, which carries no information. Leave it out, or declare the values it can have."
NAMED = "{:,} different values, in a column that is named like an identifier? Leave it out."
"""Remarks on columns of texts and of numbers."""

LONG = re.compile(r"\s*[+-]?\d+\s*", flags=re.ASCII)


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
    present = column if column.dtype.kind in "iub" else column[~is_missing(column)]
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
    odd = sorted(value for value in values if not is_number(value))
    if odd and all(COMMAS.fullmatch(value) for value in odd):
        return Text(
            "numbers with commas before three digits, read as texts. If they separate thousands, take them out of the "
            f"file; if they are decimal commas, read the file with {parameter('decimal_comma', True)}."
        )
    words = sorted(value for value in values if not COMMA.fullmatch(value) and not is_number(value))
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
        amounts = not zeros and not are_handed_out(written_numbers(by_text), name)
        accused = len(values) > FEW_CODES and not amounts
        many = f": {len(values):,} different values, an identifier? Leave it out" if accused else ""
        return f"{what} kept as texts{many}. Declare an integer by hand if they are quantities."
    if odd and len(odd) <= max(1, len(values) // SHARE_OF_WORDS) and len(odd) < len(values):
        return Text(
            f"numbers but for {_frequent(odd, by_text)}, read as texts. State those that mean a missing value in "
            f"{parameter('missing')} and correct the others, or declare a number by hand."
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
    lo, hi = extremes(present)
    if lo == hi and n > 1:
        return ONE_VALUE
    if n > MANY_VALUES and is_identifier_name(name):
        number = len(np.unique(present))
        if number > MANY_VALUES and names_people(name, number, n):
            return NAMED.format(number)
    if codes := _codes(present):
        return _of_codes(codes, "far from the other values")
    if not (math.isfinite(lo) and math.isfinite(hi)):
        return ""
    whole = whole_numbers(present)
    if whole is None:
        return ""
    if lo != hi and are_dates(whole):
        return "dates written as numbers? Leave it out, or keep a number instead, such as a year or an age."
    # Whole numbers of a short range are in too many records each to be handed out.
    if (hi - lo + 1) * ROWS_OF_A_PERSON >= n and are_handed_out(whole, name):
        n_values = len(np.unique(whole))
        return f"{n_values:,} different whole numbers in {n:,} records, an identifier? Leave it out."
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
    if len(present) < FREQUENT:
        return []
    least, most = present.min().item(), present.max().item()
    within = [code for code in IN_ORDER if least <= code <= most]
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
