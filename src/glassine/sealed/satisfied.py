"""How many rules of a public pool one record can satisfy: the sensitivity of the class counts of all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from glassine.domain import Domain, Integer, Literal, Real
from glassine.domain.attributes import Attribute
from glassine.domain.literals import attributes_of
from glassine.records.arrays import Bools
from glassine.records.columns import ConformedColumns

Antecedent: TypeAlias = tuple[Literal, ...]

Part: TypeAlias = tuple[Literal, ...]
"""The literals of a rule on one attribute."""


def most_satisfied(domain: Domain, antecedents: Sequence[Antecedent]) -> int:
    """Return a bound on how many of some rules one record can satisfy, of all that training records can hold.

    Groups are not enforced on records, numbers are not rounded and a value that is not declared becomes missing: so the
    attributes vary freely here, each over all its values. Exact among rules on the same one or two attributes, which
    are then added up; a rule on more attributes counts one.

    Examples
    --------
    >>> from glassine.domain import Between
    >>> most_satisfied(Domain({"a": Integer(0, 9)}), [(Between("a", hi=2.8),), (Between("a", lo=2.2),)])
    2
    """
    truths = _truths(domain, antecedents)
    alike: dict[tuple[str, ...], Counter[tuple[Part, ...]]] = defaultdict(Counter)
    for antecedent in antecedents:
        names = tuple(sorted(attributes_of(antecedent)))
        alike[names][tuple(_part(antecedent, name) for name in names)] += 1
    return sum(_most(rules, len(names), truths) for names, rules in alike.items())


def every_value(attribute: Attribute, name: str, literals: Iterable[Literal]) -> ConformedColumns:
    """Return a column with one value of each kind that some literals distinguish, a missing value always among them."""
    if not isinstance(attribute, Integer | Real):
        codes = np.arange(-1, len(getattr(attribute, "values", (0, 1))))
        return ConformedColumns(attributes={name: attribute}, numbers={}, codes={name: codes})
    low, high = map(float, attribute.ends)
    cuts = {low, high}
    for literal in literals:
        ends = literal.values if hasattr(literal, "values") else (literal.lo, literal.hi)
        cuts |= {float(end) for end in ends if not isinstance(end, str) and low <= end <= high}
    at = np.array(sorted(cuts))
    # Between two cuts all numbers are alike: the one beside a cut stands for them.
    neighbors = np.concatenate([at, np.nextafter(at, -np.inf), np.nextafter(at, np.inf)])
    numbers = np.append(np.unique(np.clip(neighbors, low, high)), np.nan)
    return ConformedColumns(attributes={name: attribute}, numbers={name: numbers}, codes={})


def _part(antecedent: Antecedent, name: str) -> Part:
    return tuple(literal for literal in antecedent if literal.attribute == name)


def _truths(domain: Domain, antecedents: Sequence[Antecedent]) -> dict[Literal, Bools]:
    """Return of each literal its truth on every kind of value of its attribute."""
    literals: dict[str, dict[Literal, None]] = defaultdict(dict)
    for antecedent in antecedents:
        for literal in antecedent:
            literals[literal.attribute][literal] = None
    out: dict[Literal, Bools] = {}
    for name, members in literals.items():
        column = every_value(domain[name], name, members)
        # Different conditions can hold alike; one value of each pattern is enough.
        patterns = np.unique(np.array([column.holds(literal) for literal in members]), axis=1)
        out |= dict(zip(members, patterns, strict=True))
    return out


def _most(rules: Counter[tuple[Part, ...]], n_attributes: int, truths: dict[Literal, Bools]) -> int:
    """Return how many of the rules on the same attributes one record can satisfy; a bound beyond two attributes."""
    if n_attributes > 2:
        return rules.total()
    sides = [list(dict.fromkeys(rule[i] for rule in rules)) for i in range(n_attributes)]
    tables = [
        np.array([np.logical_and.reduce([truths[literal] for literal in part]) for part in side], dtype=np.float64)
        for side in sides
    ]
    if n_attributes == 1:
        weights = np.array([rules[part,] for part in sides[0]], dtype=np.float64)
        return int((weights @ tables[0]).max())
    places = [{part: i for i, part in enumerate(side)} for side in sides]
    weights = np.zeros((len(sides[0]), len(sides[1])))
    for (first, second), number in rules.items():
        weights[places[0][first], places[1][second]] = number
    # Sums of whole numbers far below 2^53 are exact.
    return int((tables[0].T @ weights @ tables[1]).max())
