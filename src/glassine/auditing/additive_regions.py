"""What one bin, or several attributes at once, reveal of a record, in bits.

A bin that holds a record says that the record's value is one of those in the bin: log2 of all values over these, as a
leaf of a tree does for its region. One bin says nothing about several attributes, but published sizes do: if 90 of
100 records have one bin of the first attribute and 80 one of the second, at least 70 have both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.attacks.bin_leakage import BinLeakage, TermBins
from glassine.auditing.findings import AxisFinding, ShapeFinding
from glassine.auditing.suppression import Suppression
from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.domain.attributes import Attribute
from glassine.domain.groups import Pattern
from glassine.models import AdditiveModel, CategoryBins, NumericBins, Term
from glassine.models.bins import Bins
from glassine.models.shapes import ShapeFunction
from glassine.records.arrays import Array, Ints

# Shape functions as findings show them: rounded, with small and many bins joined.


MOST_BINS = {1: 64, 2: 14}
"""Intervals or groups of an axis that are drawn, for a term of one attribute and of two."""
MOST_OUTPUTS = 3
MOST_LETTERS = 40
DIGITS = 4
DENSITY_STEPS = 20
"""Heights that the strip of records has: a reader sees where most are, and no count."""

Joined = list[list[int]]
"""For each bin that is drawn, the bins that it joins."""


def show_shape(
    shape: ShapeFunction,
    sizes: TermBins,
    suppression: Suppression,
    classes: Sequence[str] | None,
    domain: Domain | None = None,
) -> ShapeFinding:
    """Return a shape function as it may be drawn."""
    # Neighbouring intervals are joined until each has as many records as may be shown, where sizes are known, and until
    # there are few enough to draw. The names of categories of fewer records are hidden, and so are the bounds of a
    # number that may be its extremes among the records: those that the domain does not declare.
    term = shape.term
    records = None if sizes.counts is None else np.array(sizes.counts).reshape(term.shape)
    axes, joins = [], []
    for axis, bins in enumerate(term.bins):
        margin = None if records is None else records.sum(axis=tuple(i for i in range(records.ndim) if i != axis))
        finding, joined = _axis(bins, margin, suppression, MOST_BINS[len(term.bins)])
        if suppression.below and not _is_declared(finding, domain):
            finding = replace(finding, bounds=None)
        axes.append(finding)
        joins.append(joined)

    def drawn(array: Array | None) -> tuple[tuple[float, ...], ...] | None:
        if array is None:
            return None
        for axis, joined in enumerate(joins):
            means = [np.take(array, group, axis=axis).mean(axis=axis) for group in joined]
            array = np.stack(means, axis=axis)
        outputs = range(min(term.n_outputs, MOST_OUTPUTS))
        return tuple(tuple(_rounded(value) for value in array[..., o].reshape(-1).tolist()) for o in outputs)

    names = [""] if term.n_outputs == 1 or classes is None else list(classes[:MOST_OUTPUTS])
    return ShapeFinding(
        axes=tuple(axes),
        outputs=tuple(names),
        scores=drawn(term.scores) or (),
        low=drawn(shape.low),
        high=drawn(shape.high),
        density=_density(term, joins, suppression) if len(joins) == 1 else None,
    )


def _is_declared(axis: AxisFinding, domain: Domain | None) -> bool:
    """Return whether the bounds of a number are public: extremes of the records are values of single people."""
    attribute = None if domain is None or axis.attribute not in domain else domain[axis.attribute]
    if not isinstance(attribute, Integer | Real) or attribute.inferred:
        return False
    return axis.bounds == (_rounded(attribute.lo), _rounded(attribute.hi))


def _density(term: Term, joins: Sequence[Joined], suppression: Suppression) -> tuple[float, ...] | None:
    """Return the published counts as they are drawn: too coarse to read off a number, nothing where there are few."""
    if term.weights is None:
        return None
    sums = [float(np.maximum(term.weights[group], 0.0).sum()) for group in joins[0]]
    sums = [size if size >= suppression.below else 0.0 for size in sums]
    largest = max(sums) or 1.0
    return tuple(round(size / largest * DENSITY_STEPS) / DENSITY_STEPS for size in sums)


def _axis(
    bins: Bins, sizes: npt.NDArray[np.int_] | None, suppression: Suppression, most: int
) -> tuple[AxisFinding, Joined]:
    """Return an axis in the form drawn; the bin for missing values is never joined."""

    def large_enough(group: list[int]) -> bool:
        return sizes is None or int(sizes[group].sum()) >= suppression.below

    if isinstance(bins, NumericBins):
        joined = _intervals(bins, large_enough, most)
        cuts = tuple(_rounded(bins.cuts[group[-1]]) for group in joined[:-1])
        kept = [i for i, (low, high) in enumerate(pairwise((-math.inf, *cuts))) if low < high]
        edges = [*kept, len(cuts)]
        merged = [[b for group in joined[start + 1 : end + 1] for b in group] for start, end in pairwise([-1, *edges])]
        bounds = None if bins.bounds is None else (_rounded(bins.bounds[0]), _rounded(bins.bounds[1]))
        finding = AxisFinding(attribute=bins.attribute, cuts=tuple(cuts[i] for i in kept), groups=None, bounds=bounds)
        return finding, [*merged, [bins.n_bins - 1]]
    alone = [[i] for i in range(min(len(bins.groups), most))]
    rest = list(range(len(alone), len(bins.groups)))
    if rest:
        rest = [*alone.pop(), *rest]
    names = []
    for number, group in enumerate(alone, start=1):
        label = bins.labels[group[0]]
        short = label if len(label) <= MOST_LETTERS else f"{label[:MOST_LETTERS]}..."
        names.append(short if large_enough(group) else f"hidden {number}")
    if rest:
        alone.append(rest)
        names.append(f"{len(rest)} other groups")
    finding = AxisFinding(attribute=bins.attribute, cuts=None, groups=tuple(names), bounds=None)
    return finding, [*alone, [bins.n_bins - 1]]


def _intervals(bins: NumericBins, large_enough: Callable[[list[int]], bool], most: int) -> Joined:
    """Return neighbouring intervals joined until each may be shown; what is left over joins the last one."""
    each = math.ceil((bins.n_bins - 1) / most)
    joined: Joined = []
    group: list[int] = []
    for i in range(bins.n_bins - 1):
        group.append(i)
        if len(group) >= each and large_enough(group):
            joined.append(group)
            group = []
    if group and joined:
        joined[-1] += group
    return joined or [group]


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


STEPS = 80
"""Halvings of the price of a record in the search for the best bound."""

SLACK = 1e-9
"""Relative error that a sum of shares may have."""

GRAIN = 1 / 32
"""Bits to which the upper bound distinguishes sides."""

Measure: TypeAlias = int | Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionBits:
    """Most bits that bins reveal of the attributes of a record.

    Examples
    --------
    >>> RegionBits(least=3.0, most=4.0).most
    4.0
    """

    # What they reveal for certain: some record is known to be in a region of so many bits. 0 if none is known, infinite
    # if it is where the domain allows none.
    least: float
    most: float | None  # No record is known to be in a region of more bits. None where that is not known.


def bits_of_bins(model: AdditiveModel, domain: Domain, leakage: BinLeakage) -> RegionBits:
    """Return how many bits an additive model's bins reveal about a training record.

    A region is a product of sets of values, one for each attribute. A record is known to be in it if it is one bin or
    cell that holds a record, or if published sizes leave no other way: fewer records than there are lie outside one of
    its sides. What the domain's constraints rule out is not a possible value. What published ranges other than the
    domain's reveal of all records at once is not computed: the upper bound is then unknown.

    Examples
    --------
    Nine in ten people are younger than 50 and nine in ten are clerks: at least eight in ten are both.

    >>> from glassine.attacks.bin_leakage import leak_bins
    >>> domain = Domain({"age": Integer(0, 99), "job": Category(("clerk", "cook"))})
    >>> age = Term(bins=(NumericBins("age", (49.5,)),), scores=[0.1, 0.2, 0], weights=[90, 10, 0])
    >>> job = Term(bins=(CategoryBins("job", (("clerk",), ("cook",))),), scores=[0.1, 0.2, 0], weights=[90, 10, 0])
    >>> model = AdditiveModel(attributes=("age", "job"), terms=(age, job), intercept=(0,), link="identity")
    >>> bits = bits_of_bins(model, domain, leak_bins(model, domain))
    >>> bits.least, bits.most < 2.1
    (2.0, True)
    """
    least, most = 0.0, 0.0
    groups: list[_Sides] = []
    sized = Counter[str]()
    tied = _Ties.of(domain)
    for term, entry in zip(model.terms, leakage.terms, strict=True):
        learned = _bits(term, domain, tied)
        # A cell that no record can be in reveals nothing, unless one is said to be in it.
        occupied = np.isfinite(learned) if entry.sizes is None else np.array(entry.sizes) > 0
        if not np.isfinite(learned[occupied]).all():
            return RegionBits(least=math.inf, most=None)
        if occupied.any():
            most = max(most, float(learned[occupied].max()))
            least = least if entry.sizes is None else max(least, float(learned[occupied].max()))
        if entry.origin == "published" and entry.sizes is not None:
            groups.append(_Sides.of(learned, np.array(entry.sizes)))
            sized.update({tied.first(name) for name in term.attributes})
    # Sizes with noise, two sizings of one attribute or group, and ranges of the data reveal more than is computed here.
    loose = any(entry.n_private_bounds for entry in leakage.attributes) or any(
        term.weights is not None and entry.origin != "published"
        for term, entry in zip(model.terms, leakage.terms, strict=True)
    )
    if max(sized.values(), default=0) > 1:
        return RegionBits(least=least, most=None)
    joint = _together(groups)
    bound = None if loose or joint.most is None else max(most, joint.most)
    return RegionBits(least=max(least, joint.least), most=bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ties:
    """The binary attributes that the domain's groups tie: their block, and its possible combinations."""

    blocks: dict[str, tuple[tuple[str, ...], list[Pattern]]]

    @classmethod
    def of(cls, domain: Domain) -> _Ties:
        return cls(blocks={name: (block, possible) for block, possible in domain.blocks for name in block})

    def first(self, name: str) -> str:
        """Return the first attribute of the block, or the attribute itself where it is in none."""
        return self.blocks[name][0][0] if name in self.blocks else name

    def ways(self, names: Sequence[str]) -> Counter[Pattern]:
        """Return how many combinations of a block have each combination of some of its attributes."""
        block, possible = self.blocks[names[0]]
        at = [block.index(name) for name in names]
        return Counter(tuple(row[i] for i in at) for row in possible)


def _bits(term: Term, domain: Domain, tied: _Ties) -> Array:
    """Return the bits that each cell of a term reveals; infinite if no record can be."""
    names = term.attributes
    if len(names) > 1 and names[0] in tied.blocks and tied.first(names[0]) == tied.first(names[1]):
        return _bits_of_two(term, tied.ways(names))
    learned = np.zeros(1)
    for bins in term.bins:
        attribute = domain[bins.attribute]
        ways = tied.ways((bins.attribute,)) if bins.attribute in tied.blocks else None
        sizes = _sizes(bins, attribute) if ways is None else _tied_sizes(bins, ways)
        total = sum(sizes, start=Fraction(0))
        each = [math.log2(total / size) if size else math.inf for size in sizes]
        learned = np.add.outer(learned, each).reshape(-1)
    return learned


def _places(bins: Bins, values: Sequence[object]) -> list[int]:
    """Return the bin of each value of a category."""
    if isinstance(bins, CategoryBins):
        return [int(at) for at in bins.find(values)]
    numbers = [float(value) if isinstance(value, int | float) else math.nan for value in values]
    return [int(at) for at in bins.index(np.array(numbers))]


def _tied_sizes(bins: Bins, ways: Counter[Pattern]) -> list[Measure]:
    """Return in how many combinations of its block a tied attribute's value is in each bin."""
    out: list[Measure] = [0] * bins.n_bins
    for value, at in enumerate(_places(bins, (0, 1))):
        out[at] += ways[(value,)]
    return out


def _bits_of_two(term: Term, ways: Counter[Pattern]) -> Array:
    """Return the bits that each cell of two attributes of one block reveals."""
    left, right = (_places(bins, (0, 1)) for bins in term.bins)
    out = np.zeros(term.shape)
    for (a, b), number in ways.items():
        out[left[a], right[b]] += number
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(out.sum()) - np.log2(out)).reshape(-1)


def _sizes(bins: Bins, attribute: Attribute) -> list[Measure]:
    """Return how many of the possible values are in each bin; of a continuum, their length."""
    out: list[Measure] = [0] * bins.n_bins
    if isinstance(bins, NumericBins) and isinstance(attribute, Integer | Real):
        # What is below an open cut is what is at most the number next to it.
        inner = [float(np.nextafter(cut, -math.inf)) if bins.closed == "left" else cut for cut in bins.cuts]
        edges = [-math.inf, *inner, math.inf]
        out[:-1] = [attribute.measure(low, high) for low, high in pairwise(edges)]
        continuum = isinstance(attribute, Real) and attribute.resolution is None
        gap: Measure = sum(out, start=Fraction(0)) if continuum else 1
        out[-1] = gap if attribute.missing else 0
        return out
    if isinstance(attribute, Category | Binary):
        values = attribute.values if isinstance(attribute, Category) else (0, 1)
        gap_bin = bins.n_bins - 1 if isinstance(bins, NumericBins) else bins.missing
        for at in [*_places(bins, values), *([gap_bin] if attribute.missing else [])]:
            out[at] += 1
        return out
    if isinstance(bins, CategoryBins):
        for i, group in enumerate(bins.groups):
            out[i] = sum(_one(attribute, value) for value in group if value is not None)
        out[-1] = attribute.measure(-math.inf, math.inf) - sum(out, start=Fraction(0))
        out[bins.missing] += 1 if attribute.missing else 0
    return out


def _one(attribute: Integer | Real, value: object) -> Measure:
    """Return the measure of one value of a number: 1 if it is possible, 0 in a continuum."""
    if isinstance(value, str) or not isinstance(value, int | float):
        return 0
    continuum = isinstance(attribute, Real) and attribute.resolution is None
    # Beyond 2**53, several whole numbers lie between two doubles: they are read as one value.
    return 0 if continuum else min(1, attribute.measure(float(np.nextafter(value, -math.inf)), value))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """Sides of a region in one attribute or pair: records outside, bits revealed."""

    total: float  # Number of records
    real: Array  # Some sides, among them each single bin: records outside, and bits; shape (sides, 2)
    bound: Array  # For every side one that has no more records outside and reveals no fewer bits; shape (sides, 2)

    @classmethod
    def of(cls, learned: Array, sizes: Ints) -> _Sides:
        """Return the sides of a term, from the bits and the sizes of its bins."""
        total = float(sizes.sum())
        occupied = sizes > 0
        share, inside = np.exp2(-learned[occupied]), sizes[occupied].astype(np.float64)
        # Densest first: most records for the share of the domain that a side takes up. The floor guards a share of 0.
        order = np.argsort(-inside / np.maximum(share, 1e-300), kind="stable")
        share, inside = share[order], inside[order]
        # Sides that take the densest bins whole are real; every bin by itself is one, too.
        densest = np.column_stack([total - np.cumsum(inside), -np.log2(np.minimum(np.cumsum(share), 1.0))])
        alone = np.column_stack([total - inside, -np.log2(share)])
        least = max(0.0, float(-np.log2(share.max())))
        levels = np.arange(least, float(-np.log2(share.min())) + GRAIN, GRAIN)
        # Below the bits of the largest bin no bin fits whole, but a part of one may: bounds need these levels as well.
        whole = np.arange(0.0, least, GRAIN)
        bits = np.concatenate([whole, levels])
        # Wider by the slack, so that rounding can only loosen the bound.
        rooms = 2.0**-bits * (1 + SLACK)
        inner = [_most_inside(share, inside, room) for room in rooms.tolist()]
        # Each level stands for all bits up to the next one: it counts with the bits of its upper end.
        bound = np.column_stack([total - np.array(inner), bits + GRAIN])
        return cls(total=total, real=np.vstack([densest, alone, [[0.0, 0.0]]]), bound=np.vstack([bound, [[0.0, 0.0]]]))


def _most_inside(share: Array, inside: Array, room: float) -> float:
    """Return a bound on the records in bins, the densest first, that together take up no more than a share."""
    fits = share <= room
    room_left = np.clip((room - np.cumsum(share[fits]) + share[fits]) / share[fits], 0.0, 1.0)
    return float(inside[fits] @ room_left)


def _together(groups: Sequence[_Sides]) -> RegionBits:
    """Return the most bits of a region that certainly holds a record."""
    # Fewer records than the total are outside its sides, added up. For any price of a record outside, the bits of the
    # best sides less their cost bound the optimum from above. If real sides are affordable, they are a region.
    if not groups:
        return RegionBits(least=0.0, most=0.0)
    # A record is certainly inside all sides if fewer than all records are outside one of them.
    budget = groups[0].total - 1
    if budget < 0 or any(group.total != groups[0].total for group in groups):
        return RegionBits(least=0.0, most=None)
    least, most = 0.0, math.inf
    for name in ("real", "bound"):
        # A price of 64 bits for one record outside exceeds what any side reveals, so that nothing is bought there.
        low, high = 0.0, 64.0
        for _ in range(STEPS):
            price = (low + high) / 2
            sides = [getattr(group, name) for group in groups]
            chosen = np.array([side[int(np.argmax(side[:, 1] - price * side[:, 0]))] for side in sides])
            cost, bits = float(chosen[:, 0].sum()), float(chosen[:, 1].sum())
            if name == "bound":
                # Weak duality: every price gives a bound from above, the best one is kept.
                most = min(most, price * budget + bits - price * cost)
            elif cost <= budget:
                least = max(least, bits)
            low, high = (low, price) if cost <= budget else (price, high)
    return RegionBits(least=least, most=max(least, most))
