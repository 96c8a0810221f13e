"""Literals: one Boolean condition on one attribute."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.domain.attributes import Scalar
from glassine.domain.prefixes import Prefix, prefixes
from glassine.domain.single import shortened
from glassine.errors import InvalidDataError, InvalidModelError, parameter


def number(value: float, digits: int | None = None) -> str:
    """Return a number in its shortest form, whole numbers without a point; rounded if ``digits`` is given.

    Rounded numbers are written without an exponent from 1e-9 to 1e15, and never to less than a whole number.

    Examples
    --------
    >>> number(12808.5, 7), number(12808.5, 2), number(0.000012345, 3)
    ('12808.5', '12808', '0.0000123')
    """
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    if digits is None:
        return repr(float(value))
    if not 1e-9 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    if abs(value) >= 10**digits:
        return f"{value:.0f}"
    text = f"{value:.{digits}g}"
    return f"{Decimal(text):f}" if "e" in text else text


def is_missing(column: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return where a column holds None or NaN."""
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind != "O":
        return np.zeros(len(column), dtype=bool)
    # A list of Python objects is walked about three times as fast as the array that holds them, and its types alone
    # three times as fast again: most columns of texts have no gap.
    values = column.tolist()
    kinds = set(map(type, values))
    if not any(issubclass(kind, float) for kind in kinds):
        if type(None) not in kinds:
            return np.zeros(len(column), dtype=bool)
        return np.array([v is None for v in values], dtype=bool)
    return np.array([v is None or (v != v if issubclass(type(v), float) else False) for v in values], dtype=bool)


def _is_number(value: Any) -> bool:
    """Return whether a value, a text of a number among others, can be a double."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class Between:
    """The condition ``lo < value <= hi`` on a number, or its negation.

    Parameters
    ----------
    attribute : str
        The attribute.
    lo, hi : float
        Bounds; infinite where there is none.
    negated : bool, default=False
        Whether the condition is that the value lies outside.
    missing : bool, default=False
        Whether a missing value satisfies the literal, for any ``negated``.

    Raises
    ------
    InvalidModelError
        If a bound is NaN or ``lo >= hi``.

    Examples
    --------
    >>> str(Between("age", hi=40)), str(Between("age", hi=40).negate())
    ('age <= 40', 'age > 40 or missing')
    """

    attribute: str
    lo: float = -math.inf
    hi: float = math.inf
    negated: bool = field(default=False, kw_only=True)
    missing: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        # Asking an abstract class takes ten times as long, and most bounds are floats.
        bounds: tuple[object, object] = (self.lo, self.hi)
        plain = type(self.lo) is type(self.hi) is float or all(isinstance(bound, numbers.Real) for bound in bounds)
        if not plain or not self.lo < self.hi:
            raise InvalidModelError(
                f"a condition on {self.attribute!r} needs lo < hi, got {parameter('lo=')}{self.lo} and "
                f"{parameter('hi=')}{self.hi}. "
                "Bounds must be numbers in order."
            )
        if not (self.lo and self.hi):  # one zero, as no comparison distinguishes two
            object.__setattr__(self, "lo", self.lo or 0.0)
            object.__setattr__(self, "hi", self.hi or 0.0)

    def negate(self) -> Between:
        """Return the literal that holds exactly where this one does not."""
        return Between(self.attribute, self.lo, self.hi, negated=not self.negated, missing=not self.missing)

    def holds(self, column: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Return where the values of a numeric column, shape (n,), satisfy the literal."""
        values = np.asarray(column)
        gaps = is_missing(values)
        try:
            numbers = np.where(gaps, np.nan, values).astype(float)
        except (TypeError, ValueError, OverflowError):
            odd = sum(not _is_number(value) for value in values[~gaps].tolist())
            records = f"{odd:,} of {values.size:,} records have" if odd != 1 else f"1 of {values.size:,} records has"
            raise InvalidDataError(
                f"{self.attribute!r} is compared with a number, but {records} something else there.",
                remedy=f"Recode or drop {'them' if odd != 1 else 'it'}.",
            ) from None
        # Without a lower bound, minus infinity is inside, too, as every export has it.
        inside = (numbers <= self.hi) & ((numbers > self.lo) | (self.lo == -math.inf))
        return np.asarray(np.where(gaps, self.missing, inside ^ self.negated), dtype=bool)

    def __str__(self) -> str:
        return self.text()

    def text(self, digits: int | None = None) -> str:
        """Return the condition as text, its numbers rounded to ``digits`` significant digits if given."""
        return between_text(self, lambda bound: _end(bound, digits))


def between_text(literal: Between, end: Callable[[float], tuple[str, bool]]) -> str:
    """Return the text of a condition; ``end`` writes a bound and says whether it lies just below what is written."""
    name, negated, missing = literal.attribute, literal.negated, literal.missing
    lo, over = end(literal.lo) if literal.lo != -math.inf else ("", False)
    hi, under = end(literal.hi) if literal.hi != math.inf else ("", False)
    if not lo and not hi:
        return f"{name} is {'' if negated else 'not '}missing" if missing == negated else f"{name} is anything"
    if not lo:
        text = f"{name} {ABOVE[under] if negated else AT_MOST[under]} {hi}"
    elif not hi:
        text = f"{name} {AT_MOST[over] if negated else ABOVE[over]} {lo}"
    else:
        text = f"{lo} {AT_MOST[not over]} {name} {AT_MOST[under]} {hi}"
        text = f"not ({text})" if negated else text
    return f"{text} or missing" if missing else text


AT_MOST, ABOVE = ("<=", "<"), (">", ">=")
"""The operators of the two sides of a bound; the second ones where the bound lies just below the number written."""


def _end(bound: float, digits: int | None) -> tuple[str, bool]:
    """Return a bound as text, and whether it lies just below the number written: bounds of single precision may."""
    side = shortened(float(bound))
    if side is None or digits is not None:
        return number(bound if side is None else float(side[0]), digits), side is not None and side[1]
    return side


@dataclass(frozen=True, slots=True)
class OneOf:
    """The condition that a value is one of a list, or its negation.

    Parameters
    ----------
    attribute : str
        The attribute.
    values : tuple of str, int, float, bool or Prefix
        The listed values; may be empty when the literal only speaks of missing values.
    negated, missing
        As in :class:`Between`.
    binary : bool, default=False
        Whether the attribute is binary, so that its name alone says that it is 1. It decides how the condition is
        written, not what it means: the code 1 of a category is written ``job = 1``. Literals are equal without it.

    Examples
    --------
    >>> str(OneOf("colour", ("red", "green")))
    'colour in {red, green}'
    >>> str(OneOf("smoker", (1,), binary=True).negate()), str(OneOf("job", (1,)))
    ('not smoker or missing', 'job = 1')
    """

    attribute: str
    values: tuple[Scalar, ...]
    negated: bool = field(default=False, kw_only=True)
    missing: bool = field(default=False, kw_only=True)
    binary: bool = field(default=False, kw_only=True, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if any(v != v for v in self.values):
            raise InvalidModelError(
                f"a condition on {self.attribute!r} lists NaN.", remedy="Say that missing values satisfy it instead."
            )

    def negate(self) -> OneOf:
        """Return the literal that holds exactly where this one does not."""
        return replace(self, negated=not self.negated, missing=not self.missing)

    def holds(self, column: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Return where the values of a column, shape (n,), satisfy the literal."""
        values = np.asarray(column)
        gaps = is_missing(values)
        listed = set(self.values)
        if grouped := prefixes(self.values):
            if values.dtype.kind in "biuf" and not gaps.all():
                raise InvalidDataError(
                    f"{self.attribute!r} is compared with what texts begin with, but its column holds numbers.",
                    remedy="Store its codes as texts, with their leading zeros.",
                )
            listed |= {text for text in set(values[~gaps].tolist()) if any(one.covers(text) for one in grouped)}
        return np.asarray(np.where(gaps, self.missing, _are_listed(values, listed) ^ self.negated), dtype=bool)

    def __str__(self) -> str:
        return self.text()

    def text(self, digits: int | None = None) -> str:
        """Return the condition as text; ``digits`` is for numbers with bounds and has no effect here."""
        if self.binary and self.values == (1,):
            text = f"not {self.attribute}" if self.negated else self.attribute
        elif not self.values:
            if self.negated and self.missing:
                return f"{self.attribute} is anything"
            return f"{self.attribute} is {'not ' if self.negated else ''}missing"
        elif len(self.values) == 1:
            text = f"{self.attribute} {'!=' if self.negated else '='} {self.values[0]}"
        else:
            listed = ", ".join(str(v) for v in self.values)
            text = f"{self.attribute} {'not in' if self.negated else 'in'} {{{listed}}}"
        return f"{text} or missing" if self.missing else text


EXACT = 2**53
"""Whole numbers below it are doubles, and no other number is rounded to them."""


def _are_listed(values: npt.NDArray[Any], listed: set[Scalar]) -> npt.NDArray[np.bool_]:
    """Return where values, shape (n,), equal a listed one as Python compares them."""
    kind = values.dtype.kind
    if kind == "U":
        texts = [v for v in listed if isinstance(v, str) and not isinstance(v, Prefix)]
        return np.isin(values, np.array(texts, dtype=np.str_))
    numeric = [v for v in listed if not isinstance(v, str)]
    if kind in "bif" and all(abs(v) < EXACT for v in numeric):
        return np.isin(values.astype(np.float64), np.array(numeric, dtype=np.float64))
    return np.fromiter(map(listed.__contains__, values.tolist()), dtype=bool, count=len(values))


Literal: TypeAlias = Between | OneOf


def complement(literal: Literal, *, missing: bool) -> Literal:
    """Return the literal that holds on the other values of an attribute, which can be missing or not."""
    # Where nothing can be missing, x > 5 is the complement of x <= 5, rather than x > 5 or missing.
    if missing:
        return literal.negate()
    if isinstance(literal, Between) and not literal.negated:
        if literal.lo == -math.inf and literal.hi < math.inf:
            return Between(literal.attribute, lo=literal.hi)
        if literal.hi == math.inf and literal.lo > -math.inf:
            return Between(literal.attribute, hi=literal.lo)
    return replace(literal, negated=not literal.negated, missing=False)


def attributes_of(literals: Iterable[Literal]) -> tuple[str, ...]:
    """Return the attributes that literals speak of, each once, in order of first use."""
    return tuple(dict.fromkeys(literal.attribute for literal in literals))


def are_disjoint(left: Literal, right: Literal) -> bool:
    """Return whether it is plain that no value satisfies both literals on one attribute."""
    if left.attribute != right.attribute or (left.missing and right.missing):
        return False
    if isinstance(left, Between) and isinstance(right, Between):
        if left.negated or right.negated:
            return left.negated != right.negated and (left.lo, left.hi) == (right.lo, right.hi)
        return left.hi <= right.lo or right.hi <= left.lo
    if isinstance(left, OneOf) and isinstance(right, OneOf):
        if prefixes((*left.values, *right.values)) and not _are_parted(left.values, right.values):
            return False
        if left.negated or right.negated:
            inner, outer = (right, left) if left.negated else (left, right)
            return not inner.negated and set(inner.values) <= set(outer.values)
        return not set(left.values) & set(right.values)
    return False


def _are_parted(left: Iterable[Scalar], right: Iterable[Scalar]) -> bool:
    """Return whether no text belongs to two different values; to those of one category none does."""
    values = {*left, *right}
    grouped = prefixes(values)
    starts = {one.start for one in grouped}
    if len(starts) < len(grouped):
        return False
    for one in grouped:
        for other in values - {one}:
            longer = other.start if isinstance(other, Prefix) else other
            if not isinstance(longer, str) or not longer.startswith(one.start):
                continue
            if isinstance(other, Prefix) and not any(longer.startswith(start) for start in one.starts):
                return False
            if one.covers(longer):
                return False
    return True


def _only_missing(literals: Sequence[Literal]) -> bool:
    """Return whether it is plain that only a missing value satisfies some literals on an attribute, as it does each."""
    lo, hi = -math.inf, math.inf
    listed: set[Scalar] | None = None
    named = [value for literal in literals if isinstance(literal, OneOf) for value in literal.values]
    if named and prefixes(named) and not _are_parted(named, ()):
        return False
    for literal in literals:
        if isinstance(literal, Between):
            if not literal.negated:
                lo, hi = max(lo, literal.lo), min(hi, literal.hi)
            elif literal.lo == -math.inf:
                lo = max(lo, literal.hi)
            elif literal.hi == math.inf:
                hi = min(hi, literal.lo)
        elif not literal.negated:
            listed = set(literal.values) & (set(literal.values) if listed is None else listed)
    return not lo < hi or listed == set()


def without_closed(literals: Iterable[Literal]) -> list[Literal]:
    """Return literals, those on an attribute that only a missing value satisfies together as one that says so."""
    listed = list(literals)
    present = {literal.attribute for literal in listed if not literal.missing}
    on: dict[str, list[Literal]] = {}
    for literal in listed:
        if literal.attribute not in present:
            on.setdefault(literal.attribute, []).append(literal)
    closed = {name for name, own in on.items() if _only_missing(own)}
    plain = (OneOf(one.attribute, (), missing=True) if one.attribute in closed else one for one in listed)
    return list(dict.fromkeys(plain)) if closed else listed


def all_of(texts: Iterable[str]) -> str:
    """Return conditions joined by ``and``, in brackets where they say ``or``."""
    parts = list(texts)
    text = " and ".join(parts)
    if len(parts) < 2 or " or missing" not in text:
        return text
    return " and ".join(f"({part})" if part.endswith(" or missing") else part for part in parts)


MOST_SHARED = 100
"""Most literals of a conjunction whose beginning is kept for the next one: what is kept grows with their square."""


def conjunction_text(literals: Iterable[Literal], digits: int | None = None) -> str:
    """Return a conjunction as text, the bounds on one attribute merged; empty for no literal.

    Examples
    --------
    >>> conjunction_text([Between("age", hi=40), Between("age", 18), OneOf("job", ("cook",), missing=True)])
    '18 < age <= 40 and (job = cook or missing)'
    >>> conjunction_text([Between("age", hi=40, missing=True), Between("age", 40, missing=True)])
    'age is missing'
    """
    own: dict[str, list[Literal]] = {}
    for literal in literals:
        own.setdefault(literal.attribute, []).append(literal)
    return all_of(dict.fromkeys(text for some in own.values() for text in _texts_on_one(some, digits)))


def conjunction_texts(conjunctions: Iterable[Sequence[Literal]], digits: int | None = None) -> Iterator[str]:
    """Yield :func:`conjunction_text` of each conjunction; what begins as the one before is not worded again."""
    before: list[Literal] = []
    ends: dict[float, tuple[str, bool]] = {}
    # For the first literals of the one before: those on each attribute, and their texts as soon as they are needed.
    shared: list[dict[str, tuple[tuple[Literal, ...], list[str]]]] = [{}]
    for literals in conjunctions:
        if len(literals) > MOST_SHARED:
            yield conjunction_text(literals, digits)
            continue
        same = 0
        for old, new in zip(before, literals, strict=False):
            if old is not new:
                break
            same += 1
        del before[same:], shared[same + 1 :]
        for literal in literals[same:]:
            before.append(literal)
            own, _ = shared[-1].get(literal.attribute, ((), []))
            shared.append(shared[-1] | {literal.attribute: ((*own, literal), [])})
        texts: list[str] = []
        for own, written in shared[-1].values():
            if not written:
                written += _texts_on_one(own, digits, ends)
            texts += written
        yield all_of(dict.fromkeys(texts))


def _texts_on_one(
    literals: Sequence[Literal], digits: int | None, ends: dict[float, tuple[str, bool]] | None = None
) -> tuple[str, ...]:
    """Return the texts of literals on one attribute, bounds merged; ``ends`` keeps those of bounds, used many times."""
    merged: tuple[float, float, bool] | None = None
    others: list[Literal] = []
    for literal in without_closed(literals) if all(literal.missing for literal in literals) else literals:
        if not isinstance(literal, Between) or (literal.negated and math.inf not in (literal.hi, -literal.lo)):
            others.append(literal)
            continue
        lo, hi = literal.lo, literal.hi
        if literal.negated:
            lo, hi = (hi, math.inf) if lo == -math.inf else (-math.inf, lo)
        above, below, missing = merged or (lo, hi, True)
        lo, hi = above if above > lo else lo, below if below < hi else hi
        if not lo < hi:
            others.append(literal)
            continue
        merged = lo, hi, literal.missing and missing
    first: tuple[str, ...] = ()
    if merged is not None:
        lo, hi, missing = merged
        words: dict[float, tuple[str, bool]] = {} if ends is None else ends
        words |= {bound: _end(bound, digits) for bound in (lo, hi) if bound not in words and math.isfinite(bound)}
        first = (between_text(Between(literals[0].attribute, lo, hi, missing=missing), words.__getitem__),)
    return (*first, *(literal.text(digits) for literal in others))
