"""Columns of a transformed frame as functions of one original attribute, so that a threshold can be mapped back."""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.domain import Between, Category, Domain, Integer, Literal, OneOf, Real
from glassine.domain.attributes import LARGEST, Scalar
from glassine.domain.literals import complement
from glassine.domain.prefixes import GAP_TEXTS
from glassine.domain.single import single
from glassine.errors import UnsupportedModelError
from glassine.formats.conditions import all_but, at_most, attribute_of, just_below, scalar, with_missing

Array = npt.NDArray[np.float64]

Step: TypeAlias = tuple[str, float]
"""One operation: ``add``, ``sub``, ``mul``, ``div``, ``at least`` or ``at most`` and its number; ``tolerance``, which
adds 1e-8 and a share of the number; or without one ``single``, which rounds to single precision, or ``whole``, which
drops what is behind the point."""

FORWARD: dict[str, Callable[[Any, float], Any]] = {
    "add": lambda x, c: x + c,
    "sub": lambda x, c: x - c,
    "mul": lambda x, c: x * c,
    "div": lambda x, c: x / c,
    "at least": max,
    "at most": min,
    "single": lambda x, _: single(x),
    "whole": lambda x, _: float(math.trunc(x)) if math.isfinite(x) else x,
    "tolerance": lambda x, c: x + (1e-8 + c * abs(x)),
}
ARRAYS: dict[str, Callable[[Any, float], Any]] = {
    **FORWARD,
    "at least": np.maximum,
    "at most": np.minimum,
    "single": lambda x, _: x.astype(np.float32).astype(np.float64),
    "whole": lambda x, _: np.trunc(x),
}


def run(value: float, steps: tuple[Step, ...]) -> float:
    """Return a number after the steps; NaN stays NaN."""
    for name, constant in steps:
        value = value if math.isnan(value) else FORWARD[name](value, constant)
    return value


def goes_left(code: float, bound: float, missing_left: bool, *, rounded: bool = True) -> bool:
    """Return where a tree sends a value: it compares it in single precision, and sends NaN where its node says."""
    return missing_left if math.isnan(code) else (single(code) if rounded else code) <= bound


def other_side(literal: Literal) -> Literal:
    """Return the literal that holds exactly where another does not, without negation where bounds can say it."""
    return with_missing(complement(literal, missing=False), not literal.missing)


@dataclass(frozen=True, slots=True)
class Number:
    """An attribute itself, or an increasing function of it."""

    attribute: str  # The original attribute
    steps: tuple[Step, ...] = ()  # The operations that turn the attribute into the column
    fill: Scalar | None = None  # What a missing value has become; None while it is still missing
    mark: tuple[Scalar, Scalar] | None = None  # A value that an imputer replaces, and what it has become

    @property
    def knows_gaps(self) -> bool:
        """Whether missing values are replaced."""
        return self.fill is not None

    def then(self, *steps: Step) -> Number:
        """Return the column after more operations."""
        fill = None if self.fill is None else run(float(self.fill), steps)
        mark = None if self.mark is None else (self.mark[0], run(float(self.mark[1]), steps))
        return Number(self.attribute, (*self.steps, *steps), fill, mark)

    def replaced(self, mark: Scalar, value: Scalar) -> Number:
        """Return the column with one of its values replaced."""
        if self.steps or self.fill is not None or self.mark is not None:
            raise UnsupportedModelError(
                f"{mark!r:.40} is replaced in {self.attribute!r:.60} after other steps.", remedy="Impute it first."
            )
        return dataclasses.replace(self, mark=(mark, value))

    def code_of(self, value: float) -> float:
        """Return the column of a present number."""
        return float(self.mark[1]) if self.mark is not None and value == self.mark[0] else run(value, self.steps)

    def filled(self, value: Scalar) -> Number:
        """Return the column with its missing values replaced."""
        return self if self.fill is not None else dataclasses.replace(self, fill=value)

    def codes_of(self, values: npt.NDArray[Any]) -> Array:
        """Return the column of present values, shape (v,); NaN for what is no number."""
        if values.dtype.kind not in "iufb":
            return np.full(len(values), math.nan)
        out = values.astype(np.float64)
        for name, constant in self.steps:
            out = ARRAYS[name](out, constant)
        return out if self.mark is None else np.where(values == self.mark[0], float(self.mark[1]), out)

    @property
    def gap_code(self) -> float:
        """The column of a missing value; NaN while it is still missing."""
        return math.nan if self.fill is None or isinstance(self.fill, str) else float(self.fill)

    def split(
        self, bound: float, missing_left: bool, domain: Domain | None, *, rounded: bool = True
    ) -> tuple[Literal, Literal]:
        """Return the conditions on the attribute under which the column is at most, or above, a bound.

        ``rounded`` says that the tree rounds the column to single precision.
        """
        missing = (
            missing_left if self.fill is None else goes_left(float(self.fill), bound, missing_left, rounded=rounded)
        )
        back = self.pulled_back(bound, rounded=rounded) if self.steps else bound
        if math.isinf(back):
            left: Literal = all_but(self.attribute, missing, none=back < 0)
            return left, left.negate()
        if self.steps and isinstance(attribute_of(self.attribute, domain), Integer):
            # Between two whole numbers every threshold is the same: the one of fewest digits is taken.
            texts = (f"{back:.{digits}g}" for digits in range(1, 18))
            back = next(short for text in texts if math.floor(short := float(text)) == math.floor(back))
        below, above = at_most(self.attribute, back, domain, single=rounded and not self.steps)
        if self.mark is not None:
            below, above = self._moved(below, above, goes_left(float(self.mark[1]), bound, missing_left), domain)
        return with_missing(below, missing), with_missing(above, not missing)

    def _moved(self, below: Literal, above: Literal, wanted: bool, domain: Domain | None) -> tuple[Literal, Literal]:
        """Return the two sides of a split with the value that an imputer replaces on the side where it is wanted."""
        value = float(self.mark[0]) if self.mark is not None else math.nan
        if isinstance(below, Between) and (value <= below.hi) == wanted:
            return below, above
        attribute = attribute_of(self.attribute, domain)
        if isinstance(below, Between) and isinstance(attribute, Integer | Real):
            values = (attribute.lo, attribute.hi, *attribute.codes)
            # No record has a value beyond the one that is replaced, so that one interval says the rest.
            if not wanted and min(values) >= value:
                inside = Between(self.attribute, value, below.hi)
                return inside, other_side(inside)
            if wanted and max(values) <= value:
                inside = Between(self.attribute, below.hi, just_below(self.attribute, value, domain))
                return other_side(inside), inside
        raise UnsupportedModelError(
            f"the tree tests {self.attribute!r:.60}, where {value:g} was replaced, and its other values may lie on "
            f"both sides of {value:g}.",
            remedy="Give a domain whose bounds and codes lie on one side of it, or mark gaps as NaN.",
        )

    def stepped(self, ends: Sequence[float], codes: Sequence[float], missing: float | None) -> Stepped:
        """Return the column that has one code up to each end, the last infinite, without intervals of no number."""
        if self.mark is not None:
            raise UnsupportedModelError(
                f"{self.attribute!r:.60} is divided into bins after {self.mark[0]!r:.40} was replaced in it.",
                remedy="Mark gaps as NaN before the pipeline.",
            )
        kept = [(end, code) for low, end, code in zip((-math.inf, *ends), ends, codes, strict=False) if end > low]
        return Stepped(self.attribute, tuple(end for end, _ in kept), tuple(code for _, code in kept), missing)

    def pulled_back(self, bound: float, *, rounded: bool = True, below: bool = False) -> float:
        """Return the largest number that the steps, and a rounding to single precision, take to a bound or below."""

        def inside(value: float) -> bool:
            code = run(float(value), self.steps)
            code = single(code) if rounded else code
            return code < bound or (code == bound and not below)

        low, high = _place(-LARGEST), _place(LARGEST)
        if not inside(-LARGEST):
            return -math.inf
        if inside(LARGEST):
            return math.inf
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if inside(_at(middle)) else (low, middle)
        return _at(low)


def _place(value: float) -> int:
    """Return the place of a number among all doubles, 0 for zero."""
    (bits,) = struct.unpack("<q", struct.pack("<d", abs(value)))
    return int(math.copysign(bits, value))


def _at(place: int) -> float:
    """Return the double at a place."""
    return math.copysign(struct.unpack("<d", struct.pack("<q", abs(place)))[0], place)


@dataclass(frozen=True, slots=True)
class Coded:
    """A number for each value of an attribute."""

    attribute: str  # The original attribute
    codes: tuple[tuple[Scalar, float], ...]  # The values that the encoder knows, and their codes
    missing: float | None  # Code of a missing value, NaN if it stays missing; None if the encoder refuses it
    other: float | None  # Code of every other value; None if the encoder refuses it
    knows_gaps: bool = True  # Whether missing values are of its making or were seen in training, and not just unknown
    # Codes of other marks of a missing value, where an encoder distinguishes None from NaN.
    also_missing: tuple[float, ...] = ()

    @property
    def numbers(self) -> tuple[float, ...]:
        """The codes of present values."""
        return (*(code for _, code in self.codes), *(() if self.other is None else (self.other,)))

    def mapped(self, change: Callable[[float], float]) -> Coded:
        """Return the column with every code changed."""
        codes = tuple((value, change(code)) for value, code in self.codes)
        missing, other = (None if c is None else change(c) for c in (self.missing, self.other))
        also = tuple(change(code) for code in self.also_missing)
        return Coded(self.attribute, codes, missing, other, self.knows_gaps, also)

    def then(self, *steps: Step) -> Coded:
        """Return the column after more operations."""
        return self.mapped(lambda code: run(code, steps))

    def filled(self, value: Scalar) -> Coded:
        """Return the column with its missing codes replaced."""
        return self.mapped(lambda code: float(value) if math.isnan(code) else code)

    def replaced(self, mark: Scalar, value: Scalar) -> Coded:
        """Return the column with one of its codes replaced."""
        return self.mapped(lambda code: float(value) if code == mark else code)

    def codes_of(self, values: npt.NDArray[Any]) -> Array:
        """Return the column of present values, shape (v,); NaN where the encoder refuses one."""
        codes, other = dict(self.codes), math.nan if self.other is None else self.other
        return np.array([codes.get(value, other) for value in values.tolist()], dtype=np.float64)

    @property
    def gap_code(self) -> float:
        """The column of a missing value; NaN where the encoder refuses it, or leaves it missing."""
        return math.nan if self.missing is None or self.also_missing else self.missing

    def split(
        self, bound: float, missing_left: bool, domain: Domain | None, *, rounded: bool = True
    ) -> tuple[Literal, Literal]:
        """Return the conditions on the attribute under which the column is at most, or above, a bound.

        ``rounded`` says that the tree rounds the column to single precision.
        """
        sides: dict[bool, list[Scalar]] = {True: [], False: []}
        for value, code in self.codes:
            sides[goes_left(code, bound, missing_left, rounded=rounded)].append(value)
        missing = self.missing is not None and goes_left(self.missing, bound, missing_left, rounded=rounded)
        if any(goes_left(code, bound, missing_left, rounded=rounded) != missing for code in self.also_missing):
            raise UnsupportedModelError(
                f"the tree distinguishes None from NaN in {self.attribute!r}, which are both missing.",
                remedy="Encode gaps one way.",
            )
        attribute = attribute_of(self.attribute, domain)
        codes = dict(self.codes)
        # Texts such as "?" are read as missing where no condition lists them, and the domain does not.
        texts = {left: [v for v in values if v in GAP_TEXTS] for left, values in sides.items()}
        if self.other is not None:
            listed_left = not goes_left(self.other, bound, missing_left, rounded=rounded)
        elif texts[True] or texts[False]:
            listed_left = bool(texts[True]) if self.missing is None else not missing
        else:
            # Both lists say the same of the values that the encoder knows: take the shorter.
            listed_left = 0 < len(sides[True]) <= len(sides[False]) or not sides[False]
        if texts[not listed_left]:
            values = set(attribute.values) if isinstance(attribute, Category) else set()
            if self.missing is None or missing != listed_left:
                missing = not listed_left
            elif not values.issuperset(texts[not listed_left]):
                raise UnsupportedModelError(
                    f"the tree distinguishes {texts[not listed_left][0]!r} from a missing value in {self.attribute!r}.",
                    remedy="Give a domain that lists it.",
                )
        # A constant that an imputer fills in is no value of the records: its condition speaks of the gaps.
        declared = set(attribute.values) if isinstance(attribute, Category) and self.missing is not None else set(codes)
        listed = tuple(v for v in sides[listed_left] if v in declared or codes[v] != self.missing)
        left = OneOf(self.attribute, listed, negated=not listed_left, missing=missing)
        return left, left.negate()


@dataclass(frozen=True, slots=True)
class Stepped:
    """A number for each interval of an attribute."""

    attribute: str  # The original attribute
    tops: tuple[float, ...]  # The intervals' upper ends, which belong to them; the last is infinite
    codes: tuple[float, ...]  # The intervals' codes
    missing: float | None  # As in :class:`Coded`

    @property
    def knows_gaps(self) -> bool:
        """Whether missing values were replaced."""
        return self.missing is not None

    @property
    def numbers(self) -> tuple[float, ...]:
        """The codes of present values."""
        return self.codes

    def mapped(self, change: Callable[[float], float]) -> Stepped:
        """Return the column with every code changed."""
        missing = None if self.missing is None else change(self.missing)
        return Stepped(self.attribute, self.tops, tuple(map(change, self.codes)), missing)

    def then(self, *steps: Step) -> Stepped:
        """Return the column after more operations."""
        return self.mapped(lambda code: run(code, steps))

    def filled(self, value: Scalar) -> Stepped:
        """Return the column with its missing codes replaced."""
        return self.mapped(lambda code: float(value) if math.isnan(code) else code)

    def replaced(self, mark: Scalar, value: Scalar) -> Stepped:
        """Return the column with one of its codes replaced."""
        return self.mapped(lambda code: float(value) if code == mark else code)

    def codes_of(self, values: npt.NDArray[Any]) -> Array:
        """Return the column of present values, shape (v,); NaN for what is no number."""
        if values.dtype.kind not in "iufb":
            return np.full(len(values), math.nan)
        return np.asarray(self.codes)[np.searchsorted(self.tops, values.astype(np.float64), side="left")]

    @property
    def gap_code(self) -> float:
        """The column of a missing value; NaN where the encoder refuses it."""
        return math.nan if self.missing is None else self.missing

    def split(
        self, bound: float, missing_left: bool, domain: Domain | None, *, rounded: bool = True
    ) -> tuple[Literal, Literal]:
        """Return the conditions on the attribute under which the column is at most, or above, a bound.

        ``rounded`` says that the tree rounds the column to single precision.
        """
        left = [goes_left(code, bound, missing_left, rounded=rounded) for code in self.codes]
        missing = self.missing is not None and goes_left(self.missing, bound, missing_left, rounded=rounded)
        if len(set(left)) == 1:
            literal: Literal = all_but(self.attribute, missing, none=not left[0])
            return literal, literal.negate()
        turns = [i for i in range(1, len(left)) if left[i] != left[i - 1]]
        if len(turns) > 2:
            raise UnsupportedModelError(
                f"a threshold on the bins of {self.attribute!r} joins several intervals.",
                remedy="Use ordinal or one-hot bins.",
            )
        side = left[turns[0]] if len(turns) == 2 else True
        first, last = (turns[0], turns[1]) if len(turns) == 2 else (0, turns[0]) if left[0] else (turns[0], len(left))
        lo = self.tops[first - 1] if first else -math.inf
        literal = Between(self.attribute, lo, self.tops[last - 1], missing=missing == side)
        return (literal, other_side(literal)) if side else (other_side(literal), literal)


Column: TypeAlias = Number | Coded | Stepped


def is_gap(value: object) -> bool:
    """Return whether a category stands for missing values: None, NaN or their kind."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def coded(source: Number, categories: list[object], codes: list[float], other: float | None) -> Coded:
    """Return a column of codes, given those of an encoder's categories."""
    pairs: list[tuple[Scalar, float]] = []
    gaps: list[float] = []
    for value, code in zip(categories, codes, strict=True):
        if is_gap(value):
            gaps.append(code)
        else:
            pairs.append((scalar(value, f"a category of {source.attribute!r}"), code))
    missing = gaps[0] if gaps else other
    if source.fill is not None:
        missing = dict(pairs).get(source.fill, other)
    if source.mark is not None:
        moved = dict(pairs).get(source.mark[1], other)
        own = [] if moved is None else [(source.mark[0], moved)]
        pairs = [*(pair for pair in pairs if pair[0] != source.mark[0]), *own]
    also = tuple(gaps[1:]) if source.fill is None else ()
    knows_gaps = bool(gaps) or source.fill is not None or any(value in GAP_TEXTS for value, _ in pairs)
    return Coded(source.attribute, tuple(pairs), missing, other, knows_gaps, also)
