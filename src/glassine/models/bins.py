"""Bins: how an additive model cuts the values of one attribute into cells."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, TypeAlias

import numpy as np

from glassine.domain.attributes import LARGEST, Scalar, is_name, is_scalar
from glassine.domain.literals import number
from glassine.domain.prefixes import Prefix
from glassine.domain.special_codes import NO_CODES, Labels, SpecialCodes
from glassine.errors import InvalidModelError, parameter
from glassine.records.arrays import Array, Indices

MISSING = "missing"
"""Label of missing values."""

OTHER = "other"
"""Label of the values of a category that are not declared."""


@dataclass(frozen=True, slots=True)
class NumericBins:
    """Intervals of a number, and one last bin for missing values.

    Parameters
    ----------
    attribute : str
        The attribute.
    cuts : tuple of float
        The k points between intervals, strictly increasing, each smaller than 1e300 in size. None for one interval.
    closed : {"right", "left"}, default="right"
        Which interval a value exactly on a cut belongs to: with ``"right"`` the lower one (``x <= cut``, as in
        :class:`~glassine.domain.Between` and scikit-learn), with ``"left"`` the upper one (``x < cut`` is below, as
        in interpret).
    bounds : (float, float), optional
        Published range of the values. It serves drawing only: smaller values fall into the first interval and larger
        ones into the last.
    codes : mapping of float to str, optional
        Special codes of the number, with labels. Each must be alone in its interval, which has no place in the order.

    Attributes
    ----------
    n_bins : int
        k + 2: the intervals, then the bin for missing values.
    coded : mapping of int to str
        The intervals that are those of special codes, and their texts.

    Raises
    ------
    InvalidModelError
        If the cuts do not increase strictly, a number is not finite, or two special codes are in one interval.

    Examples
    --------
    >>> bins = NumericBins("age", (30, 50))
    >>> bins.labels
    ('<= 30', '30 to 50', '> 50', 'missing')
    >>> bins.index(np.array([30, 30.5, np.nan, np.inf])).tolist()
    [0, 1, 3, 2]
    >>> NumericBins("income", (-8.5, 30), codes={-9: "refused"}).labels
    ('refused (-9)', '<= 30', '> 30', 'missing')
    """

    attribute: str
    cuts: tuple[float, ...] = ()
    closed: str = "right"
    bounds: tuple[float, float] | None = None
    codes: Labels = NO_CODES

    def __post_init__(self) -> None:
        _check_name(self.attribute)
        cuts = tuple(_finite(cut, f"a cut of {self.attribute!r}") for cut in _listed(self.cuts, "cuts"))
        if not all(low < high for low, high in pairwise(cuts)):
            raise InvalidModelError(
                f"the cuts of {self.attribute!r} must increase strictly.", remedy="Sort them, drop repeats."
            )
        object.__setattr__(self, "cuts", cuts)
        if self.closed not in ("right", "left"):
            raise InvalidModelError(
                f"{parameter('closed')} must be 'right' (x <= cut is below) or 'left' (x < cut is below), got "
                f"{self.closed!r}."
            )
        if self.bounds is not None:
            object.__setattr__(self, "bounds", checked_range(self.bounds, f"the bounds of {self.attribute!r}"))
        codes = self.codes if isinstance(self.codes, SpecialCodes) else SpecialCodes(self.codes)
        object.__setattr__(self, "codes", codes)
        if len(self.coded) < len(codes):
            raise InvalidModelError(
                f"each special code of {self.attribute!r} needs a separate interval.", remedy="Cut on both sides."
            )

    @property
    def coded(self) -> dict[int, str]:
        """The intervals that are those of special codes, and their texts."""
        places = self.index(np.array([*self.codes], dtype=np.float64)).tolist() if self.codes else []
        return {at: f"{label} ({number(code)})" for at, (code, label) in zip(places, self.codes.items(), strict=True)}

    def recut(self, cuts: Iterable[float]) -> NumericBins:
        """Return the bins with some of the cuts; a special code that is no longer alone is one no more."""
        fewer = NumericBins(self.attribute, tuple(cuts), self.closed, self.bounds)
        ends, left = (-math.inf, *self.cuts, math.inf), {-math.inf, math.inf, *fewer.cuts}
        kept = zip(self.codes.items(), self.coded, strict=True)
        return replace(fewer, codes=dict(pair for pair, at in kept if {ends[at], ends[at + 1]} <= left))

    @property
    def n_bins(self) -> int:
        """Number of bins, the last one for missing values."""
        return len(self.cuts) + 2

    @property
    def labels(self) -> tuple[str, ...]:
        """Text for each bin."""
        coded = self.coded
        plain = [place for place in range(len(self.cuts) + 1) if place not in coded]
        texts = {place: self.text_of(plain, place, place) for place in plain} | coded
        return (*(texts[place] for place in range(len(self.cuts) + 1)), MISSING)

    def text_of(self, plain: Sequence[int], first: int, last: int) -> str:
        """Return the text of neighboring intervals, of those in an order; special codes are in none."""
        below, above = ("<=", ">") if self.closed == "right" else ("<", ">=")
        lowest, highest = first == plain[0], last == plain[-1]
        if lowest and highest:
            return "any value"
        if lowest:
            return f"{below} {number(self.cuts[last])}"
        low = number(self.cuts[first - 1])
        return f"{above} {low}" if highest else f"{low} to {number(self.cuts[last])}"

    def index(self, values: Array) -> Indices:
        """Return the bin of each number, NaN being missing; same shape."""
        side: Any = "left" if self.closed == "right" else "right"
        places = np.searchsorted(np.asarray(self.cuts, dtype=np.float64), values, side=side)
        return np.where(np.isnan(values), self.n_bins - 1, places)


@dataclass(frozen=True, slots=True)
class CategoryBins:
    """Groups of declared values, missing ones among them or not, and one last bin for all others.

    Parameters
    ----------
    attribute : str
        The attribute.
    groups : tuple of tuple of scalars
        The values of each bin; no value twice. 1, 1.0 and True are one value, "1" is another. None stands for missing
        values; where no group holds it, the last bin takes them.

    Attributes
    ----------
    n_bins : int
        Number of groups plus one.

    Raises
    ------
    InvalidModelError
        If there is no group, a group is empty, a value stands twice, or None is the only one.

    Examples
    --------
    >>> bins = CategoryBins("job", (("clerk",), ("baker", "cook")))
    >>> bins.labels
    ('clerk', 'baker, cook', 'missing or other')
    >>> bins.find(["cook", None, "pope"]).tolist()
    [1, 2, 2]

    With a bin of their own for missing values:

    >>> bins = CategoryBins("job", (("clerk",), ("baker", "cook"), (None,)))
    >>> bins.labels
    ('clerk', 'baker, cook', 'missing', 'other')
    >>> bins.find(["cook", None, "pope"]).tolist()
    [1, 2, 3]
    """

    attribute: str
    groups: tuple[tuple[Scalar | None, ...], ...]

    def __post_init__(self) -> None:
        _check_name(self.attribute)
        groups = tuple(_listed(group, "groups") for group in _listed(self.groups, "groups"))
        if not groups or not all(groups):
            raise InvalidModelError(
                f"{self.attribute!r} needs at least one group, and each group a value.", remedy="Drop it."
            )
        listed = tuple(chain.from_iterable(groups))
        for value in listed:
            if value is not None and not is_scalar(value):
                raise InvalidModelError(
                    f"the groups of {self.attribute!r} must hold strings, finite numbers, Booleans or None for missing "
                    f"values, got {value!r}."
                )
            if isinstance(value, Prefix):
                raise InvalidModelError(
                    f"the groups of {self.attribute!r} must list values, got the prefix {str(value)!r}, which additive "
                    "models do not read.",
                    remedy="List the values.",
                )
        object.__setattr__(self, "groups", groups)
        if len(set(listed)) < len(listed):
            twice = next(v for i, v in enumerate(listed) if v in listed[:i])
            raise InvalidModelError(
                f"the groups of {self.attribute!r} must not repeat a value, got {twice!r} twice; 1, 1.0 and True are "
                "one value.",
                remedy="Drop the repeat.",
            )
        if listed == (None,):
            raise InvalidModelError(
                f"the groups of {self.attribute!r} name no value beside missing ones.", remedy="Add one."
            )

    @property
    def values(self) -> tuple[Scalar, ...]:
        """Every declared value, group by group."""
        return tuple(value for group in self.groups for value in group if value is not None)

    @property
    def n_bins(self) -> int:
        """Number of bins, the last one for undeclared values, and for missing ones where no group holds them."""
        return len(self.groups) + 1

    @property
    def missing(self) -> int:
        """The bin of missing values."""
        return next((i for i, group in enumerate(self.groups) if None in group), len(self.groups))

    @property
    def labels(self) -> tuple[str, ...]:
        """Text for each bin."""
        named = (", ".join(MISSING if value is None else str(value) for value in group) for group in self.groups)
        return (*named, OTHER if self.missing < len(self.groups) else f"{MISSING} or {OTHER}")

    def find(self, values: Iterable[Any]) -> Indices:
        """Return the bin of each value, None being missing, shape (n,)."""
        where = {value: i for i, group in enumerate(self.groups) for value in group}
        return np.fromiter((where.get(value, len(self.groups)) for value in values), dtype=np.intp)

    def lookup(self, values: Iterable[Scalar]) -> Indices:
        """Return the bin of each value, then those of an undeclared and of a missing one: at the codes -2 and -1."""
        return np.append(self.find(values), (len(self.groups), self.missing))


Bins: TypeAlias = NumericBins | CategoryBins


def checked_range(limits: object, what: str) -> tuple[float, float]:
    """Return two finite numbers in order, or raise InvalidModelError."""
    pair = _listed(limits, what)
    if len(pair) != 2:
        raise InvalidModelError(f"{what} must be a lowest and a highest number, got {len(pair)} values.")
    low, high = (_finite(value, what) for value in pair)
    if not low <= high:
        raise InvalidModelError(f"{what} must be in order, got {low} and {high}.", remedy="Swap them.")
    return low, high


def _check_name(name: object) -> None:
    if not is_name(name):
        raise InvalidModelError(
            f"bins need the name of an attribute, a non-empty string, got {name!r}.", remedy="Name it."
        )


def _listed(values: object, what: str) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidModelError(f"{what} must be a list, got {values!r}.")
    return tuple(values)


def _finite(value: object, what: str) -> float:
    plain = math.nan
    if not isinstance(value, bool) and isinstance(value, numbers.Real):
        try:
            plain = float(value)
        except OverflowError:
            plain = math.inf
    if not abs(plain) < LARGEST:
        raise InvalidModelError(f"{what} must be a finite number below 1e300 in size, got {_quoted(value)}.")
    return plain + 0.0


def _quoted(value: object) -> str:
    return "a larger one" if isinstance(value, int) and not isinstance(value, bool) else repr(value)
