"""The space of possible records: a product of factors, cut into the atoms that literals can distinguish."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TypeAlias

import numpy as np

from glassine.domain import Between, Binary, Domain, Integer, Literal, OneOf, Real
from glassine.domain.attributes import Scalar, exact
from glassine.domain.domain import product
from glassine.domain.grid import measures
from glassine.domain.shares import Shares
from glassine.errors import InvalidModelError, first_of
from glassine.records.arrays import AnyArray, Indices

Measure: TypeAlias = int | Fraction
"""A number of records, or a volume where an attribute is a continuum."""

Box: TypeAlias = dict[int, int]
"""A product of sets: for each constrained factor the bit mask of its allowed atoms."""

Stretch: TypeAlias = tuple[int, int, bool]
"""Neighboring atoms of a number, from the first to below the last, and whether a missing value is among them."""

Part: TypeAlias = Stretch | int
"""The atoms of one factor that are allowed: neighbors of a number, or the bit mask of any."""


class NumberFactor:
    """An :class:`Integer` or :class:`Real` attribute; its atoms are the intervals between cut points."""

    def __init__(
        self, name: str, attribute: Integer | Real, literals: Iterable[Literal], shares: Shares | None = None
    ) -> None:
        self.attributes = (name,)
        self._attribute = attribute
        # Exact numbers: beyond 2**53, doubles cannot separate a value from its neighbors.
        cuts: set[float | Fraction] = set()
        for literal in literals:
            for lo, hi in self._pieces(literal):
                cuts |= {lo, hi}
        if shares is not None:
            # Every atom lies in one bin, so that values are uniform within it.
            cuts |= {float(edge) for edge in shares.edges[1:-1]}
        self._cuts = sorted(cuts - {-math.inf, math.inf})
        edges: list[float | Fraction] = [-math.inf, *self._cuts, math.inf]
        self._spans = list(pairwise(edges))
        weights: list[Measure] = measures(attribute, edges)
        if attribute.missing:
            # Among a continuum a missing value has no natural measure: it gets as much as all numbers together.
            continuum = isinstance(attribute, Real) and attribute.resolution is None
            weights.append(sum(weights, start=Fraction(0)) if continuum else 1)
        self.sizes: tuple[Measure, ...] = tuple(weights)
        self.weights: tuple[Measure, ...] = self.sizes
        if shares is not None:
            gap = shares.fractions[-1:] if attribute.missing else ()
            self.weights = (*(shares.between(attribute, lo, hi) for lo, hi in self._spans), *gap)

    @cached_property
    def possible(self) -> int:
        """Atoms that some record can have, as a bit mask."""
        attribute = self._attribute
        mask = _mask_of(atom for atom, weight in enumerate(self.weights) if weight > 0)
        if isinstance(attribute, Real) and attribute.resolution is None:
            # A bound, to which values are clipped, may be an atom of its own.
            mask |= _mask_of(i for i, (lo, hi) in enumerate(self._spans) if lo < attribute.hi and hi >= attribute.lo)
        return mask

    @cached_property
    def present(self) -> int:
        """The possible atoms in which no value is missing, as a bit mask."""
        return self.possible & (1 << len(self._spans)) - 1

    def _pieces(self, literal: Literal) -> list[tuple[float | Fraction, float]]:
        """Return the intervals ``(lo, hi]`` that a literal speaks of, before negation."""
        if isinstance(literal, Between):
            return [(literal.lo, literal.hi)]
        pieces: list[tuple[float | Fraction, float]] = []
        for value in literal.values:
            if isinstance(value, bool | str):
                raise InvalidModelError(f"{literal.attribute!r} is a number, but the model compares it with {value!r}.")
            if isinstance(self._attribute, Integer):
                # A single value is the interval from the value before it, left open.
                below: float | Fraction = math.ceil(value) - 1
            elif self._attribute.resolution is not None:
                below = exact(value) - exact(self._attribute.resolution) / 2
            else:
                raise InvalidModelError(
                    f"{literal.attribute!r} is a continuum, but the model compares it with the value {value!r}.",
                    remedy="Declare a resolution.",
                )
            low, high = self._attribute.ends
            if not low <= value <= high or not self._attribute.measure(below, value):
                raise InvalidModelError(
                    f"the model compares {literal.attribute!r} with {value!r}, which is not a value of its domain "
                    f"[{low}, {high}].",
                    remedy="Mend the domain or the model.",
                )
            pieces.append((below, value))
        return pieces

    def stretch(self, literal: Literal) -> Stretch | None:
        """Return the atoms on which a literal holds; None where they need not be neighbors."""
        if not isinstance(literal, Between) or literal.negated:
            return None
        first, last = self._ends(literal.lo, literal.hi)
        return first, last + 1, bool(self._attribute.missing and literal.missing)

    def _ends(self, lo: float | Fraction, hi: float) -> tuple[int, int]:
        """Return the first and the last atom of ``(lo, hi]``."""
        first = 0 if lo == -math.inf else bisect_left(self._cuts, lo) + 1
        return first, len(self._cuts) if hi == math.inf else bisect_left(self._cuts, hi)

    def mask(self, literal: Literal) -> int:
        """Return the atoms on which a literal holds, as a bit mask."""
        numbers = (1 << len(self._spans)) - 1
        mask = 0
        for lo, hi in self._pieces(literal):
            first, last = self._ends(lo, hi)
            mask |= (1 << (last + 1)) - (1 << first)
        if literal.negated:
            mask = numbers & ~mask
        if self._attribute.missing and literal.missing:
            mask |= 1 << len(self._spans)
        return mask

    def draw(self, atoms: Indices, rng: np.random.Generator) -> dict[str, AnyArray]:
        """Return one value per given atom, uniform within it."""
        attribute = self._attribute
        out = np.full(len(atoms), np.nan)
        for atom in np.unique(atoms):
            if atom == len(self._spans):
                continue
            rows = np.flatnonzero(atoms == atom)
            lo, hi = self._spans[atom]
            if isinstance(attribute, Real) and attribute.resolution is None:
                # From the right end, which an interval (lo, hi] includes.
                left, right = max(lo, attribute.lo), min(hi, attribute.hi)
                out[rows] = right - rng.random(len(rows)) * (right - left)
                continue
            step = exact(1 if isinstance(attribute, Integer) else attribute.resolution or 0)
            before = int(attribute.measure(-math.inf, lo)) if lo != -math.inf else 0
            places = before + _below(int(self.sizes[atom]), len(rows), rng)
            # Special codes below the bounds come before the values within them, the others behind.
            outer = [code for code in attribute.codes if not attribute.lo <= code <= attribute.hi]
            first = sum(code < attribute.lo for code in outer)
            within = int(attribute.measure(-math.inf, math.inf)) - len(outer)
            # A quotient of whole numbers is the nearest float of the decimal, so that 3 steps of 0.1 are 0.3.
            whole = math.lcm(step.denominator, exact(attribute.lo).denominator)
            out[rows] = (int(exact(attribute.lo) * whole) + int(step * whole) * (places - first)) / whole
            for place, code in enumerate(outer):
                out[rows[places == (place if place < first else place + within)]] = code
        if isinstance(attribute, Integer) and not attribute.missing and max(map(abs, attribute.ends)) < 2**53:
            return {self.attributes[0]: out.astype(np.int64)}
        return {self.attributes[0]: out}

    def holds_one(self, attribute: str) -> Sequence[Fraction]:
        """Not a block."""
        raise InvalidModelError(f"{attribute!r} is not binary.")


def _below(limit: int, size: int, rng: np.random.Generator) -> AnyArray:
    """Draw whole numbers from 0 to below a limit of any size, as Python integers."""
    if limit < 2**62:
        return rng.integers(limit, size=size).astype(object)
    words = -(-limit.bit_length() // 8) + 8  # eight bytes more make the remainder's bias smaller than 2^-64
    return np.array([int.from_bytes(rng.bytes(words)) % limit for _ in range(size)], dtype=object)


class ListFactor:
    """Attributes whose joint values are listed; its atoms are the classes that the literals distinguish."""

    def __init__(
        self,
        attributes: tuple[str, ...],
        items: Sequence[tuple[Scalar | None, ...]],
        literals: Iterable[Literal],
        shares: Shares | None = None,
    ) -> None:
        self.attributes = attributes
        self.sizes: tuple[Measure, ...]
        self.weights: tuple[Measure, ...]
        self._items = items
        literals = [*dict.fromkeys(literals)]
        if not literals and shares is None:
            # Of hundreds of attributes a model tests few: the values of another one are one atom.
            self._classes = [[*range(len(items))]]
            self.sizes = self.weights = (len(items),)
            self._masks = {}
            return
        places: dict[str, dict[Scalar | None, list[int]]] = {name: {} for name in attributes}
        for i, item in enumerate(items):
            for name, value in zip(attributes, item, strict=True):
                places[name].setdefault(value, []).append(i)
        named = {literal: _named(literal, items, places) for literal in literals}
        patterns: list[list[int]] = [[] for _ in items]
        for place, members in enumerate(named.values()):
            for i in members:
                patterns[i].append(place)
        classes: dict[tuple[object, ...], list[int]] = {}
        each: Sequence[Measure] = [1] * len(items) if shares is None else shares.fractions
        for i, pattern in enumerate(patterns):
            # Values on which all literals agree are one atom: no count depends on which of them it is. Values of
            # different shares are not, so that values are uniform within an atom.
            classes.setdefault((each[i], *pattern), []).append(i)
        self._classes = list(classes.values())
        self.sizes = tuple(len(members) for members in self._classes)
        self.weights = tuple(each[members[0]] * size for members, size in zip(self._classes, self.sizes, strict=True))
        atom_of = {i: atom for atom, members in enumerate(self._classes) for i in members}
        self._masks = {
            literal: _mask_of({atom_of[i] for i in members})
            ^ (self.possible if isinstance(literal, OneOf) and literal.negated else 0)
            for literal, members in named.items()
        }

    @cached_property
    def possible(self) -> int:
        """Atoms that some record can have, as a bit mask: all."""
        return (1 << len(self._classes)) - 1

    @cached_property
    def present(self) -> int:
        """The possible atoms in which no value is missing, as a bit mask."""
        return _mask_of(
            atom for atom, members in enumerate(self._classes) if any(None not in self._items[i] for i in members)
        )

    def mask(self, literal: Literal) -> int:
        """Return the atoms on which a literal holds, as a bit mask."""
        return self._masks[literal]

    def draw(self, atoms: Indices, rng: np.random.Generator) -> dict[str, AnyArray]:
        """Return one value per given atom, uniform within it, for each attribute."""
        sizes = np.array([len(members) for members in self._classes])
        starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        flat = np.array([i for members in self._classes for i in members])
        picked = flat[starts[atoms] + rng.integers(sizes[atoms])]
        out: dict[str, AnyArray] = {}
        for i, name in enumerate(self.attributes):
            values = [item[i] for item in self._items]
            whole = all(isinstance(v, int) and not isinstance(v, bool) and abs(v) < 2**63 for v in values)
            column = np.array(values, dtype=np.int64) if whole else np.array([*values, None], dtype=object)[:-1]
            out[name] = column[picked]
        return out

    def holds_one(self, attribute: str) -> Sequence[Fraction]:
        """Return for each atom the share of its combinations in which a binary attribute is 1."""
        at = self.attributes.index(attribute)
        return [Fraction(sum(self._items[i][at] == 1 for i in members), len(members)) for members in self._classes]


def _check_values(literal: Literal, domain: Domain, declared: dict[str, frozenset[Scalar]]) -> None:
    """Raise if a literal names a value that the domain lacks; ``declared`` keeps the values of each attribute."""
    attribute = domain[literal.attribute]
    if isinstance(literal, Between) or isinstance(attribute, Integer | Real):
        return
    values: tuple[Scalar, ...] = (0, 1) if isinstance(attribute, Binary) else attribute.values
    # Each of thousands of values has a literal of its own.
    if literal.attribute not in declared:
        declared[literal.attribute] = frozenset(values)
    for value in literal.values:
        if value not in declared[literal.attribute]:
            raise InvalidModelError(
                f"the model compares {literal.attribute!r} with {value!r}, which is not a value of its domain: "
                f"{first_of([repr(str(v)) for v in values], 8)}.",
                remedy="Mend the domain or the model.",
            )


def _named(
    literal: Literal,
    items: Sequence[tuple[Scalar | None, ...]],
    places: Mapping[str, Mapping[Scalar | None, Sequence[int]]],
) -> list[int]:
    """Return the items that a literal names: those on which it holds, or of a negated ``OneOf`` does not, in order."""
    # Of thousands of values a literal names few: what is done follows from these.
    own = places[literal.attribute]
    if isinstance(literal, OneOf):
        named = [i for value in dict.fromkeys(literal.values) for i in own.get(value, ())]
        return sorted([*named, *(own.get(None, ()) if literal.missing != literal.negated else ())])
    out: list[int] = []
    for entry, members in own.items():
        if isinstance(entry, str):
            raise InvalidModelError(
                f"{literal.attribute!r} is a category with the value {entry!r}, but the model has the threshold "
                f"condition {literal}.",
                remedy="Declare a number, or read the model with its encoder.",
            )
        inside = entry is not None and literal.lo < entry <= literal.hi
        if literal.missing if entry is None else inside ^ literal.negated:
            out += members
    return sorted(out)


def _mask_of(atoms: Iterable[int]) -> int:
    """Return the bit mask of some atoms."""
    # One conversion: a sum of powers would take time in the square of the number of atoms.
    places = np.fromiter(atoms, dtype=np.int64)
    if not len(places):
        return 0
    bits_of = np.zeros(int(places.max()) + 1, dtype=np.uint8)
    bits_of[places] = 1
    return int.from_bytes(np.packbits(bits_of, bitorder="little").tobytes(), "little")


Factor: TypeAlias = NumberFactor | ListFactor
"""One independent part of a record: an attribute, or a block of attributes tied by groups."""


class Space:
    """The possible records of a domain, as far as a set of literals can distinguish them.

    Parameters
    ----------
    domain : Domain
        The public domain.
    literals : iterable of Literal
        Every literal that will be asked for.
    domain_aware : bool
        Whether the groups of the domain count; otherwise attributes are taken as independent.
    by_shares : bool, default=False
        Whether atoms weigh by the domain's public shares, and not by their numbers of values.

    Attributes
    ----------
    factors : list of Factor
        The independent parts of a record.
    tested : frozenset of int
        The factors that some literal constrains. Of thousands of attributes a model tests a few, and what is counted
        of its regions is counted over these alone.
    full : list of int
        The mask of all atoms of each factor.
    totals : list of int or Fraction
        Measure of each factor.

    Raises
    ------
    InvalidModelError
        If a literal names an attribute or a value that the domain does not have.
    """

    def __init__(
        self, domain: Domain, literals: Iterable[Literal], *, domain_aware: bool, by_shares: bool = False
    ) -> None:
        used: dict[str, list[Literal]] = {}
        declared: dict[str, frozenset[Scalar]] = {}
        for literal in literals:
            if literal.attribute not in domain:
                raise InvalidModelError(
                    f"the model uses {literal.attribute!r}, which the domain lacks; the domain has "
                    f"{first_of(map(repr, domain.names), 8)}.",
                    remedy="Declare it or rename it.",
                )
            _check_values(literal, domain, declared)
            used.setdefault(literal.attribute, []).append(literal)
        self.factors: list[Factor] = []
        # Tied attributes are one factor, at the place of the first of them.
        blocks = {block[0]: (block, rows) for block, rows in domain.blocks} if domain_aware else {}
        tied = {name for block, _ in blocks.values() for name in block}
        for name in domain:
            if name in blocks:
                block, rows = blocks[name]
                wanted = [literal for member in block for literal in used.get(member, ())]
                self.factors.append(ListFactor(block, rows, wanted))
            elif name not in tied:
                shares = domain.shares.get(name) if by_shares else None
                self.factors.append(_factor(name, domain, used.get(name, ()), shares))
        self.factor_of = {name: i for i, factor in enumerate(self.factors) for name in factor.attributes}
        self.tested = frozenset(self.factor_of[name] for name in used)
        self._masks: dict[Literal, int] = {}
        self._measures: list[dict[int, Measure]] = [{} for _ in self.factors]
        self._before: dict[int, list[Measure]] = {}
        self.full = [(1 << len(factor.weights)) - 1 for factor in self.factors]
        self.totals: list[Measure] = [sum(factor.weights, start=0) for factor in self.factors]
        # Measures of the factors that no literal constrains, and of the whole space.
        self.untested = product([total for factor, total in enumerate(self.totals) if factor not in self.tested])
        self.total = self.untested * product([self.totals[factor] for factor in self.tested])

    def box(self, literals: Iterable[Literal]) -> Box:
        """Return the records that satisfy a conjunction; a factor with mask 0 makes it empty."""
        box: Box = {}
        for literal in literals:
            mask = self._masks.get(literal)
            index = self.factor_of[literal.attribute]
            if mask is None:
                mask = self._masks[literal] = self.factors[index].mask(literal)
            box[index] = box.get(index, self.full[index]) & mask
        return box

    def mask(self, factor: int, part: Part) -> int:
        """Return the atoms of a part of a factor as a bit mask."""
        if isinstance(part, int):
            return part
        first, last, gap = part
        return (1 << last) - (1 << first) | (self.full[factor] + 1 >> 1 if gap else 0)

    def weight(self, factor: int, part: Part) -> Measure:
        """Return the measure of a part of a factor."""
        if not isinstance(part, int):
            before, (first, last, gap) = self.sums_before(factor), part
            return before[last] - before[first] + (before[-1] - before[-2] if gap else 0)
        mask = part
        low, high = (mask & -mask).bit_length() - 1, mask.bit_length()
        if mask and mask.bit_count() == high - low:
            # A stretch of atoms, as the cuts of a number leave: of thousands none is looked at, and none is kept.
            before = self.sums_before(factor)
            return before[high] - before[low]
        measured = self._measures[factor]
        if mask not in measured:
            weights = self.factors[factor].weights
            measured[mask] = sum((weights[i] for i in bits(mask)), start=0)
        return measured[mask]

    def sums_before(self, factor: int) -> list[Measure]:
        """Return the measure of the atoms before each atom of a factor, and of all."""
        if factor not in self._before:
            self._before[factor] = list(accumulate(self.factors[factor].weights, initial=0))
        return self._before[factor]


def bits(mask: int) -> Iterable[int]:
    """Yield the positions of the ones of a mask, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _factor(name: str, domain: Domain, literals: Sequence[Literal], shares: Shares | None) -> Factor:
    attribute = domain[name]
    if isinstance(attribute, Integer | Real):
        return NumberFactor(name, attribute, literals, shares)
    values: tuple[Scalar, ...] = (0, 1) if isinstance(attribute, Binary) else attribute.values
    items: list[tuple[Scalar | None, ...]] = [(value,) for value in values]
    if attribute.missing:
        items.append((None,))
    return ListFactor((name,), items, literals, shares)
