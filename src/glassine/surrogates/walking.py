"""One query's way through a small tree, and the nearest ways to another decision."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from glassine.domain import Attribute, Between, Binary, Category, Domain, Integer, Literal, OneOf, Real
from glassine.domain.attributes import Scalar, exact
from glassine.domain.grid import public_grid
from glassine.domain.literals import complement, conjunction_text
from glassine.models.evidence import Cell
from glassine.models.tree import DecisionTree
from glassine.surrogates.answers import Answers, Names
from glassine.surrogates.distances import DomainMetric
from glassine.surrogates.explainer_values import UNCONSTRAINED, Change, Contrast, ContrastConstraints
from glassine.surrogates.query_input import Record

FINENESS = 1000
"""Into how many steps a range is divided where a value just above a threshold is named."""

SMALLEST = 1e-300
"""Steps below it are not powers of ten that a double holds in full."""


def satisfies(literal: Literal, value: Scalar | None) -> bool:
    """Return whether one value satisfies a literal, as ``literal.holds`` says of a column."""
    if value is None:
        return literal.missing
    if isinstance(literal, Between):
        inside = not isinstance(value, str) and literal.lo < value <= literal.hi
    else:
        inside = value in literal.values
    return inside != literal.negated


def way_of(tree: DecisionTree, record: Mapping[str, Scalar | None]) -> tuple[tuple[int, ...], tuple[Literal, ...]]:
    """Return the nodes from the root to the leaf of a record, and the literals that it satisfies on the way."""
    # Without arrays: of one record they cost more than the comparison.
    nodes, literals = [0], list[Literal]()
    while branches := tree.nodes[nodes[-1]].branches:
        ways = (one for one in branches[:-1] if satisfies(one.literal, record[one.literal.attribute]))
        branch = next(ways, branches[-1])
        literals.append(branch.literal)
        nodes.append(branch.child)
    return tuple(nodes), tuple(literals)


def conditions_of(literals: Sequence[Literal], domain: Domain) -> tuple[str, ...]:
    """Return a conjunction as one text an attribute, in order of first use."""
    return tuple(_text(part, domain[name]) for name, part in _by_name(literals).items())


def _text(literals: Sequence[Literal], attribute: Attribute) -> str:
    """Return the conditions on one attribute as text: a binary one is named, however the tree came to be read."""
    binary = isinstance(attribute, Binary)
    return conjunction_text([replace(one, binary=binary) if isinstance(one, OneOf) else one for one in literals])


def _by_name(literals: Iterable[Literal]) -> dict[str, list[Literal]]:
    by_name: dict[str, list[Literal]] = {}
    for literal in literals:
        by_name.setdefault(literal.attribute, []).append(literal)
    return by_name


def contrasts_of(
    tree: DecisionTree,
    record: Record,
    *,
    decision: Scalar,
    domain: Domain,
    metric: DomainMetric,
    constraints: ContrastConstraints = UNCONSTRAINED,
    answers: Answers | None = None,
    margins: Sequence[int] = (0,),
) -> tuple[Contrast, ...]:
    """Return the allowed changes that lead a tree to another decision than the given one, or to a sought one.

    The answers are the tree's classes by default. Where constraints state what a number is to be, one decision is as
    good as another that is so, and there is nothing to change if the given one is. Means that are within the tolerance
    of the given one are the same decision.

    One for each leaf of another decision that some possible record reaches by allowed changes of the attributes on its
    path, for each margin: how many public cut points a number lies beyond the tree's threshold, as far as the leaf
    reaches. Those of smallest cost first if costs are named, then of fewest attributes, then of smallest distance, then
    in order of the leaves.
    """
    answers = answers or Names(tree.classes or ())
    own = answers.places(np.array([decision], dtype=object))
    if constraints.seeks and constraints.sought(decision):
        return ()
    here = metric.embed_one(domain, record)
    candidates: list[tuple[float, int, float, int, Contrast]] = []
    for order, cell in enumerate(tree.cells):
        place = answers.given_by(cell.evidence)
        if place is None:
            continue
        other = answers.value(place)
        if not constraints.sought(other) if constraints.seeks else answers.agree(own, np.array([place]))[0]:
            continue
        nearest = _changes(cell, record, domain, metric, constraints)
        for changes in dict.fromkeys(_further(nearest, cell, domain, margin) for margin in margins if nearest):
            changed = {**record, **{change.attribute: change.after for change in changes}}
            possible = all(tuple(changed[name] for name in block) in set(rows) for block, rows in domain.blocks)
            if not possible or way_of(tree, changed)[0][-1] != cell.node:
                continue
            there = metric.embed_one(domain, changed)
            distance = float(metric.between(here, there, domain)[0, 0])
            cost = constraints.cost(metric.differences(here, there, domain))
            contrast = Contrast(decision=other, changes=changes, distance=distance, cost=cost)
            candidates.append((cost or 0.0, len(changes), distance, order, contrast))
    return tuple(entry[-1] for entry in sorted(candidates, key=lambda entry: entry[:4]))


def _further(changes: tuple[Change, ...], cell: Cell, domain: Domain, margin: int) -> tuple[Change, ...]:
    """Return changes whose numbers lie so many public cut points further from their old values, within the leaf."""
    if not margin:
        return changes
    by_name, out = _by_name(cell.inside), []
    for change in changes:
        attribute = domain[change.attribute]
        if isinstance(attribute, Integer | Real) and change.after is not None and change.before is not None:
            after, before = float(change.after), float(change.before)
            lo, hi = _bounds(by_name[change.attribute], attribute)
            cuts = public_grid(attribute)
            if after > before:
                at = min(bisect_left(cuts, after) + margin - 1, len(cuts) - 1)
                further = max(after, _below(attribute, min(cuts[at], hi))) if cuts else after
            else:
                at = bisect_left(cuts, after) - margin
                low = max(cuts[at] if at >= 0 else -math.inf, lo)
                further = min(after, _above(attribute, low, after)) if low > -math.inf else after
            change = replace(change, after=int(further) if isinstance(attribute, Integer) else further)
        out.append(change)
    return tuple(out)


def _bounds(literals: Iterable[Literal], attribute: Integer | Real) -> tuple[float, float]:
    """Return the bounds that literals put on numbers of an attribute: above the first, at most the second."""
    bounds = [_interval(literal) for literal in literals]
    lo = max((bound[0] for bound in bounds), default=-math.inf)
    hi = min((bound[1] for bound in bounds), default=math.inf)
    return lo, hi if attribute.inferred else min(hi, float(attribute.hi))


def _changes(
    cell: Cell, record: Record, domain: Domain, metric: DomainMetric, constraints: ContrastConstraints
) -> tuple[Change, ...]:
    """Return what has to change for a record to satisfy a leaf's condition; nothing where no allowed change does."""
    out = []
    for name, literals in _by_name(cell.inside).items():
        value = record[name]
        if all(satisfies(literal, value) for literal in literals):
            continue
        attribute = domain[name]
        listed = metric.ranked(name, attribute, value) if isinstance(attribute, Category) else (0, 1)
        choices = (_nearest(attribute, listed, literals, value), *((None,) if attribute.missing else ()))
        # The values of a number that satisfy a leaf are an interval without its own value: they lie on one side of it,
        # so that a direction allows the nearest of them or none. A binary attribute has one other value.
        fitting = [
            v
            for v in choices
            if all(satisfies(literal, v) for literal in literals) and constraints.allows(name, value, v)
        ]
        if not fitting or (fitting[0] is None and not attribute.missing):
            return ()
        after = fitting[0]
        out.append(Change(attribute=name, condition=_text(literals, attribute), before=value, after=after))
    return tuple(out)


def _nearest(
    attribute: Attribute, listed: Sequence[Scalar], literals: Sequence[Literal], value: Scalar | None
) -> Scalar | None:
    """Return a value close to another that satisfies literals, if there is one; the caller checks it."""
    if isinstance(attribute, Category | Binary):
        return next((v for v in listed if all(satisfies(literal, v) for literal in literals)), None)
    lo, top = _bounds(literals, attribute)
    if not lo < top or (not attribute.inferred and not top >= attribute.lo):
        return None
    start = (attribute.lo + attribute.hi) / 2 if value is None or isinstance(value, str) else float(value)
    if start > top:
        return _below(attribute, top)
    return _above(attribute, lo, top) if start <= lo else _below(attribute, start)


def _interval(literal: Literal) -> tuple[float, float]:
    """Return the bounds that a literal puts on numbers; a literal of another kind puts none."""
    if isinstance(literal, OneOf):
        return -math.inf, math.inf
    plain = complement(literal.negate(), missing=False) if literal.negated else literal
    return (plain.lo, plain.hi) if isinstance(plain, Between) and not plain.negated else (-math.inf, math.inf)


def _below(attribute: Integer | Real, top: float) -> float:
    """Return the largest value of an attribute that is at most a bound."""
    if isinstance(attribute, Integer):
        return math.floor(top)
    if attribute.resolution is None:
        return top
    step = exact(attribute.resolution)
    return float(exact(attribute.lo) + math.floor((exact(top) - exact(attribute.lo)) / step) * step)


def _above(attribute: Integer | Real, lo: float, top: float) -> float:
    """Return a value of an attribute just above a bound, and at most another."""
    if isinstance(attribute, Integer):
        return math.floor(lo) + 1
    if attribute.resolution is not None:
        step = exact(attribute.resolution)
        return float(exact(attribute.lo) + (math.floor((exact(lo) - exact(attribute.lo)) / step) + 1) * step)
    width = (attribute.hi - attribute.lo) / FINENESS
    if not width > SMALLEST:
        return lo + (top - lo) / 2 if top < math.inf else math.nextafter(lo, math.inf)
    size = exact(10.0 ** math.floor(math.log10(width)))
    after = float((math.floor(exact(lo) / size) + 1) * size)
    return after if after <= top else lo + (top - lo) / 2
