"""Naive oracles: possible records by enumeration, and the published recursion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from glassine.domain import Binary, Category, Domain, Integer, Literal, Real
from glassine.models import Cell, DecisionTree, RuleList


def values_of(attribute: Integer | Real | Category | Binary) -> list[Any]:
    """Every possible value of an attribute; a missing one is None."""
    values: list[Any]
    if isinstance(attribute, Integer):
        values = list(range(attribute.lo, attribute.hi + 1))
    elif isinstance(attribute, Real):
        assert attribute.resolution is not None
        steps = round((attribute.hi - attribute.lo) / attribute.resolution)
        values = [round(attribute.lo + i * attribute.resolution, 9) for i in range(steps + 1)]
    elif isinstance(attribute, Category):
        values = list(attribute.values)
    else:
        values = [0, 1]
    return [*values, None] if attribute.missing else values


def records(domain: Domain, *, domain_aware: bool) -> Iterator[dict[str, Any]]:
    """Every possible record, one by one."""
    for row in product(*(values_of(domain[name]) for name in domain)):
        record = dict(zip(domain, row, strict=True))
        allowed = all(
            tuple(record[name] for name in group.attributes) in set(group.patterns()) for group in domain.groups
        )
        if allowed or not domain_aware:
            yield record


def complete_records(domain: Domain, literals: Sequence[Literal], *, domain_aware: bool = True) -> list[dict[str, Any]]:
    """Return the records without missing values, but those of attributes that a literal asks for missing values."""
    asked = set()
    for literal in literals:
        attribute = domain[literal.attribute]
        truths = {bool(literal.holds([value])[0]) for value in values_of(attribute) if value is not None}
        if attribute.missing and truths == {not literal.missing}:
            asked.add(literal.attribute)
    everything = records(domain, domain_aware=domain_aware)
    return [record for record in everything if all(record[name] is not None or name in asked for name in domain)]


def satisfies(record: dict[str, Any], literals: Sequence[Literal]) -> bool:
    """Whether a record satisfies a conjunction."""
    return all(bool(literal.holds([record[literal.attribute]])[0]) for literal in literals)


def captured(record: dict[str, Any], cell: Cell) -> bool:
    """Whether a cell captures a record."""
    return satisfies(record, cell.inside) and not any(satisfies(record, other) for other in cell.outside)


def worlds(model: DecisionTree | RuleList, domain: Domain, *, domain_aware: bool) -> tuple[int, ...]:
    """Return the number of possible records of each cell, by enumeration."""
    everything = list(records(domain, domain_aware=domain_aware))
    return tuple(sum(captured(record, cell) for record in everything) for cell in model.cells)


def published_captures(antecedents: Sequence[frozenset[int]], n_attributes: int) -> list[int]:
    """Worlds of each rule over binary literals by the published recursion (equations 13 to 15), exponential in rules.

    Literals are 1-based attribute numbers, negative where negated; the empty antecedent is the default rule.
    """

    def number(conjunction: frozenset[int]) -> int:
        if any(-literal in conjunction for literal in conjunction):
            return 0
        return int(2 ** (n_attributes - len(conjunction)))

    def captures(upto: int, conjunction: frozenset[int]) -> int:
        overlap = antecedents[upto] | conjunction
        return number(overlap) - sum(captures(h, overlap) for h in range(upto))

    return [captures(j, antecedents[j]) for j in range(len(antecedents))]
