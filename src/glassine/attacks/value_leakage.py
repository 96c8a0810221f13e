"""Leakage of values: exact attribute values of training records in a published model.

A threshold of scikit-learn is exactly the midpoint of two training values; bounds may be exact minima or
maxima; a category may be the value of one person; a regression leaf with one record publishes that record's target.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.attacks.magnitudes import LargestContributions, NumberInference, contributions_behind
from glassine.attacks.outcome import AttackTarget, Hiding, Measurement, ShownCount, for_checker
from glassine.domain import Attribute, Between, Category, Domain, Integer, OneOf, Real
from glassine.domain.grid import are_adjacent, grid_of, public_grid
from glassine.domain.literals import is_missing
from glassine.domain.prefixes import prefixes
from glassine.domain.single import is_bound_of, nominal
from glassine.models import DecisionTree, RuleList
from glassine.records.arrays import AnyArray, Array, Indices

__all__ = ["VALUES", "ValueLeakage", "leak_values", "nameable_sides", "thresholds_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueLeakage:
    """Exact training values that the model or its domain gives away; None where it needs what is not given."""

    n_thresholds: int  # Distinct thresholds on numbers
    # Those that are not public cut points: of an attribute whose domain was inferred from data, all. Needs a domain.
    n_off_grid: int | None
    # Those, public cut points aside, that are bit for bit the midpoint of two training values in their part of the
    # model; needs the data. Between adjacent values of the domain, such as 1 and 2 of whole numbers, there is only one
    # cut, and its place says nothing.
    n_midpoints: int | None = field(metadata=for_checker())
    # Training records whose value is one of the two and is held by no other record there, or people by no other person;
    # needs the data.
    n_records_at_midpoints: ShownCount | None = field(metadata=for_checker())
    # Attributes for which a bound of the domain is the smallest or largest training value; needs both.
    exact_bounds: tuple[str, ...] | None = field(metadata=for_checker())
    # Attributes with a category, in the domain or in the model, that one training record, or person, holds; needs the
    # data.
    lone_categories: tuple[str, ...] | None = field(metadata=for_checker())
    # Leaves of a regression whose published size is one: they publish the target of that record.
    n_lone_targets: ShownCount
    # Those of them that an inferred domain has as cut points: a public domain with its bounds would also have them.
    n_inferred: int = 0
    # People who are expected to hold alone, in a node, the value beside one of these thresholds, or of one on a grid of
    # all whole numbers, by the domain's shares: as many an attacker may name who has candidates. Needs a domain.
    n_nameable: int | None = None
    # The same with what the data show: leaves of one person, and those whose value is that of one record alone in the
    # leaf, as a median is. It needs the data with the target.
    n_lone_values: ShownCount | None = field(default=None, metadata=for_checker())
    # Largest share of a leaf's total, in size, that two records, or people, make up, in (0, 1]: who knows the one
    # infers the other within the rest. Of a regression, and it needs the data with the target.
    dominance: float | None = field(default=None, metadata=for_checker())
    # The thresholds, as (attribute, threshold), and what the largest contributions to each mean make up, as criteria
    # judge them; no finding holds them.
    thresholds: tuple[tuple[str, float], ...] | None = field(default=None, metadata=for_checker())
    contributions: tuple[LargestContributions, ...] | None = field(default=None, metadata=for_checker())
    # How closely a number follows from a regression, its attributes being known; needs the data with the target.
    inferred: NumberInference | None = field(default=None, metadata=for_checker())


def thresholds_of(model: DecisionTree | RuleList, domain: Domain | None = None) -> list[tuple[str, float]]:
    """Return the distinct thresholds on numbers, as (attribute, threshold), in order of first use.

    A comparison with one value of a number counts as the two thresholds around it. A threshold at a bound, or within
    one step beyond it, cuts nothing and does not count. Without a domain every threshold counts, and no comparison with
    a value does.
    """
    # Both sides of a split share a bound, which is looked at once.
    result: dict[tuple[str, float], None] = {}
    attributes: dict[str, Attribute | None] = {}
    for literal in model.literals:
        name = literal.attribute
        if name not in attributes:
            attributes[name] = None if domain is None else domain[name]
        attribute = attributes[name]
        if isinstance(literal, Between):
            result[name, literal.lo] = result[name, literal.hi] = None
        elif isinstance(attribute, Integer | Real):
            half = 0.5 if isinstance(attribute, Integer) else (attribute.resolution or 0.0) / 2
            values = [value for value in literal.values if not isinstance(value, str)]
            result |= {(name, float(value) + side): None for value in values for side in (-half, half)}
    cuts = {name: _cuts_of(attribute) for name, attribute in attributes.items()}
    return [(name, bound) for name, bound in result if cuts[name](bound)]


def _cuts_of(attribute: Attribute | None) -> Callable[[float], bool]:
    """Return whether a bound is a threshold of an attribute, and cuts something where its domain is known."""
    if attribute is None:
        return math.isfinite
    if not isinstance(attribute, Integer | Real):
        return lambda bound: False
    step, (low, high) = _step(attribute), attribute.ends
    # The number by which a bound is named differs from it by less than single precision does.
    slack = 1e-6 * max(abs(low), abs(high))

    def cuts(bound: float) -> bool:
        if low + slack < bound < high - slack:
            return True
        if not math.isfinite(bound):
            return False
        # One that lies further out says that a training value did, so it is none that cuts nothing.
        near = nominal(float(bound))
        return not (near == high or low - step <= near < low or high < near < high + step)

    return cuts


def _step(attribute: Integer | Real) -> float:
    """Return the distance between neighboring values; 0 for a continuum."""
    return 1.0 if isinstance(attribute, Integer) else attribute.resolution or 0.0


Placed: TypeAlias = tuple[float, float, float, float]
"""A threshold, how many records it was placed among, and the range in which these lie."""


def nameable_sides(domain: Domain, thresholds: Iterable[tuple[str, float]], n_records: int | None) -> int:
    """Return how many people alone hold a value beside thresholds, as is expected of so many records.

    Of records of which l are expected within one resolution on one side of a threshold, one is there, or the threshold
    would not be; that no other is has the probability l / (exp(l) - 1).
    """
    placed: dict[str, list[Placed]] = {}
    for name, bound in thresholds:
        placed.setdefault(name, []).append((bound, n_records or 0, -math.inf, math.inf))
    return round(sum(_alone(domain, name, own) for name, own in placed.items()))


def nameable_people(model: DecisionTree | RuleList, domain: Domain, secret: Collection[tuple[str, float]]) -> int:
    """Return how many people alone hold a value beside thresholds in the nodes that have them, as is expected.

    A threshold was placed among the records of its node: so many are expected there, within the node's own range.
    """
    if not secret:
        return 0
    placed: dict[str, list[Placed]] = {name: [] for name, _ in sorted(secret)}
    at_nodes = set[tuple[str, float]]()
    for name, own in _placed(model, placed.keys()):
        if (name, own[0]) in secret:
            placed[name].append(own)
            at_nodes.add((name, own[0]))
    # A comparison with one value of a number has the thresholds around it, at no one node.
    for name, bound in set(secret) - at_nodes:
        placed[name].append((bound, model.n_records or 0, -math.inf, math.inf))
    return round(sum(_alone(domain, name, own) for name, own in placed.items()))


def _alone(domain: Domain, name: str, placed: Sequence[Placed]) -> float:
    """Return how many of the two people beside each threshold of an attribute are expected to be alone at their value.

    Of shares that are not declared, numbers of values do as well, since they are divided by one another.
    """
    attribute = domain[name]
    if not isinstance(attribute, Integer | Real) or not placed:
        return 0.0
    step = _step(attribute)
    if not step:
        return 2.0 * len(placed)  # Single values of a continuum have no share: no other record is expected to hold one.
    bounds, records, low, high = np.array(placed, dtype=np.float64).T
    sides = (np.maximum(low, bounds - step), np.minimum(high, bounds), np.maximum(low, bounds))
    # Thousands of thresholds share ends. Differences of whole numbers, and of fractions, are exact.
    ends, places = np.unique(np.concatenate([low, *sides, np.minimum(high, bounds + step), high]), return_inverse=True)
    up_to = partial(domain.share, name, -math.inf) if name in domain.shares else partial(attribute.measure, -math.inf)
    sums = np.array([up_to(end) for end in ends.tolist()], dtype=object)[places].reshape(6, -1)
    whole = (sums[5] - sums[0]).astype(float)
    near = np.array([sums[2] - sums[1], sums[4] - sums[3]]).astype(float).clip(0)
    expected = np.divide(records * near, whole, out=np.zeros_like(near), where=whole > 0)
    alone = np.divide(expected, np.expm1(expected.clip(0, 700)), out=np.ones_like(near), where=expected > 0)
    return float(alone.sum())


def _placed(model: DecisionTree | RuleList, names: Collection[str]) -> Iterator[tuple[str, Placed]]:
    """Yield each threshold of each node on some attributes, with the node's records and the range that leads there."""
    everything = (-math.inf, math.inf)
    if isinstance(model, RuleList):
        sizes = [float(cell.evidence.size or 0) for cell in model.cells]
        reaching = [*accumulate(reversed(sizes))][::-1]
        for rule, size in zip(model.rules, reaching, strict=True):
            for literal in rule.antecedent:
                for bound in _bounds(literal):
                    yield literal.attribute, (bound, size, *everything)
        return
    records = {cell.node: float(cell.evidence.size or 0) for cell in model.cells}
    order, below = [], [0]
    while below:
        order.append(below.pop())
        below += [branch.child for branch in model.nodes[order[-1]].branches]
    for index in reversed(order):
        if branches := model.nodes[index].branches:
            records[index] = sum(records[branch.child] for branch in branches)
    stack: list[tuple[int, dict[str, tuple[float, float]]]] = [(0, {})]
    while stack:
        index, reach = stack.pop()
        # The branches of a node share their thresholds.
        ends = set[tuple[str, float]]()
        for branch in model.nodes[index].branches:
            own, literal = reach, branch.literal
            if isinstance(literal, Between) and literal.attribute in names:
                name, low, high = literal.attribute, literal.lo, literal.hi
                ends |= {(name, bound) for bound in (low, high) if math.isfinite(bound)}
                lo, hi = reach.get(name, everything)
                own = {**reach, name: (max(lo, low), min(hi, high))}
            if model.nodes[branch.child].branches:
                stack.append((branch.child, own))
        for name, bound in sorted(ends) if len(ends) > 1 else ends:
            yield name, (bound, records[index], *reach.get(name, everything))


def _bounds(literal: Between | OneOf) -> list[float]:
    return [bound for bound in (literal.lo, literal.hi) if math.isfinite(bound)] if isinstance(literal, Between) else []


def _is_fine(attribute: object) -> bool:
    """Return whether every cut between neighboring values is on the grid that follows from the bounds.

    A threshold is public then even if it is the midpoint of two training values.
    """
    if not isinstance(attribute, Integer) or attribute.thresholds or attribute.size is None:
        return False
    return len(public_grid(attribute)) >= attribute.size - 1 > 1


def _is_midpoint(below: float, above: float, threshold: float) -> bool:
    """Return whether scikit-learn, which trains on float32, places a threshold between two values just there."""
    # Where the midpoint rounds to one of the two values, and in extremely randomized trees, it may be the value itself.
    with np.errstate(over="ignore"):
        low, high = float(np.float32(below)), float(np.float32(above))
    return any(is_bound_of(threshold, at) for at in (low / 2.0 + high / 2.0, below / 2.0 + above / 2.0, low, high))


def _midpoints(
    model: DecisionTree | RuleList,
    domain: Domain | None,
    data: Mapping[str, AnyArray],
    numbers: set[tuple[str, float]],
    places: tuple[Indices, npt.NDArray[np.integer] | None],
) -> tuple[int, int]:
    """Count the thresholds that are midpoints, and the records, or people, that alone hold a value next to one."""
    hits: set[tuple[str, float]] = set()
    exposed: set[int] = set()
    cells, whose = places
    for literals, rows in _parts(model, cells):
        # Both sides of a split have its threshold, which is looked at once.
        placed = dict.fromkeys((one.attribute, bound) for one in literals for bound in (one.lo, one.hi))
        for name, bound in placed:
            if (name, bound) not in numbers:
                continue
            values = data[name][rows]
            present = ~is_missing(values)
            column, at = values[present].astype(float), rows[present]
            below, above = column[column <= bound], column[column > bound]
            if not len(below) or not len(above):
                continue
            left, right = float(below.max()), float(above.min())
            if domain is not None and are_adjacent(domain[name], left, right):
                continue
            if _is_midpoint(left, right, bound):
                hits.add((name, bound))
                for value in (left, right):
                    holders = at[column == value]
                    if whose is not None:
                        holders = np.unique(whose[holders])
                    if len(holders) == 1:
                        exposed.add(int(holders[0]))
    return len(hits), len(exposed)


def _parts(model: DecisionTree | RuleList, cells: Indices) -> list[tuple[list[Between], Indices]]:
    """Return the records among which thresholds were chosen: those of a node, or those that reach a rule."""
    if isinstance(model, RuleList):
        return [
            ([lit for lit in rule.antecedent if isinstance(lit, Between)], np.flatnonzero(cells >= i))
            for i, rule in enumerate(model.rules)
        ]
    members: dict[int, Indices] = {cell.node: np.flatnonzero(cells == i) for i, cell in enumerate(model.cells)}
    out: list[tuple[list[Between], Indices]] = []
    order, stack = [], [0]
    while stack:
        index = stack.pop()
        order.append(index)
        stack += [branch.child for branch in model.nodes[index].branches]
    for index in reversed(order):
        branches = model.nodes[index].branches
        if branches:
            members[index] = np.sort(np.concatenate([members[branch.child] for branch in branches]))
            out.append(([b.literal for b in branches if isinstance(b.literal, Between)], members[index]))
    return out


def _exact_bounds(domain: Domain, data: Mapping[str, AnyArray]) -> tuple[str, ...]:
    out = []
    for name in domain:
        attribute = domain[name]
        if not isinstance(attribute, Integer | Real) or name not in data:
            continue
        present = data[name][~is_missing(data[name])]
        if len(present) and (attribute.lo == present.min() or attribute.hi == present.max()):
            out.append(name)
    return tuple(out)


def _lone_categories(
    model: DecisionTree | RuleList,
    domain: Domain | None,
    data: Mapping[str, AnyArray],
    whose: npt.NDArray[np.integer] | None,
) -> tuple[str, ...]:
    named: dict[str, set[Any]] = {}
    for literal in model.literals:
        if isinstance(literal, OneOf) and literal.values != (1,):
            named.setdefault(literal.attribute, set()).update(literal.values)
    for name in domain or ():
        attribute = domain[name] if domain is not None else None
        if isinstance(attribute, Category):
            named.setdefault(name, set()).update(attribute.values)
    out = []
    for name, values in named.items():
        column = data[name].tolist() if name in data else []
        if grouped := prefixes(values):
            group = {text: next((one for one in grouped if one.covers(text)), text) for text in set(column)}
            column = [group[text] for text in column]
        counts = Counter(column)
        if whose is not None:
            counts = Counter(value for value, _ in set(zip(column, whose.tolist(), strict=bool(column))))
        if any(counts[value] == 1 for value in values):
            out.append(name)
    return tuple(out)


def leak_values(
    model: DecisionTree | RuleList,
    domain: Domain | None = None,
    data: Mapping[str, AnyArray] | None = None,
    *,
    whose: npt.NDArray[np.integer] | None = None,
    sizes: Sequence[int | None] | None = None,
    target: str | None = None,
    cells: Indices | None = None,
) -> ValueLeakage:
    """Return the exact training values that a model, or the domain published with it, gives away.

    Shapes: ``data`` (n,), optional; ``whose`` (n,), optional; ``cells`` (n,), where each record is, optional.
    """
    numbers = thresholds_of(model, domain)
    names = {name for name, _ in numbers}
    public = {} if domain is None else {name: grid_of(domain[name]) for name in names}
    off_grid = {(a, t) for a, t in numbers if not public or not public[a](t)}
    # The grid of an inferred attribute follows from the data, so its cut points are not public.
    drafted = {name for name in names if domain is not None and domain[name].inferred}
    guessed = {(a, t) for a, t in numbers if a in drafted} - off_grid
    secret = off_grid | guessed
    counted = any(cell.evidence.size for cell in model.cells)
    dense = {name for name in names if domain is not None and _is_fine(domain[name])}
    fine = {(a, t) for a, t in numbers if counted and a in dense}
    cells = model.apply(dict(data)) if data is not None and cells is None else cells
    midpoints = exposed = None
    if data is not None and cells is not None:
        midpoints, exposed = _midpoints(model, domain, data, secret, (cells, whose))
    valued = [cell.evidence.value is not None for cell in model.cells]
    lone = {i for i, cell in enumerate(model.cells) if valued[i] and cell.evidence.size == 1}
    contributions, inferred, alone = None, None, None
    targets = None if data is None or target is None or model.classes is not None else data.get(target)
    if cells is not None and targets is not None and targets.dtype.kind in "iuf":
        numbers_of = targets.astype(float)
        contributions = contributions_behind(cells, numbers_of, whose, len(model.cells))
        if all(valued):
            means = np.array([float(cell.evidence.value or 0.0) for cell in model.cells])
            inferred = NumberInference.of(means[cells], numbers_of)
        alone = _lone_values(model, cells, numbers_of, whose)
        alone |= lone | {i for i, size in enumerate(sizes or ()) if valued[i] and size == 1}
    return ValueLeakage(
        n_thresholds=len(numbers),
        n_off_grid=None if domain is None else len(secret),
        n_inferred=len(guessed),
        n_nameable=None if domain is None else nameable_people(model, domain, secret | fine),
        n_midpoints=midpoints,
        n_records_at_midpoints=exposed,
        exact_bounds=None if domain is None or data is None else _exact_bounds(domain, data),
        lone_categories=None if data is None else _lone_categories(model, domain, data, whose),
        n_lone_targets=len(lone) if model.classes is None else 0,
        n_lone_values=None if alone is None else len(alone),
        dominance=None if contributions is None else max((one.two for one in contributions), default=None),
        contributions=contributions,
        inferred=inferred,
        thresholds=tuple(numbers),
    )


def _lone_values(
    model: DecisionTree | RuleList, cells: Indices, targets: Array, whose: npt.NDArray[np.integer] | None
) -> set[int]:
    """Return the leaves whose published value is that of one record, or person, alone in the leaf."""
    alone = set()
    for i, cell in enumerate(model.cells):
        same = (cells == i) & (targets == cell.evidence.value)
        people = np.flatnonzero(same) if whose is None else np.unique(whose[same])
        if cell.evidence.value is not None and len(people) == 1:
            alone.add(i)
    return alone


def _hide(leakage: ValueLeakage, hiding: Hiding) -> ValueLeakage:
    """Return what values leak, small counts hidden."""
    exposed = leakage.n_records_at_midpoints
    return replace(
        leakage,
        n_records_at_midpoints=None if exposed is None else hiding.count(exposed),
        n_lone_targets=hiding.count(leakage.n_lone_targets),
        n_lone_values=None if leakage.n_lone_values is None else hiding.count(leakage.n_lone_values),
        dominance=None if leakage.dominance is None else hiding.share(leakage.dominance),
        thresholds=None,
        contributions=None,
    )


VALUES = Measurement[AttackTarget, ValueLeakage](
    "values",
    "Value leakage",
    "Does the model contain exact training values?",
    ValueLeakage,
    short="exact values",
    hide=_hide,
)
