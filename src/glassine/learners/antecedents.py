"""Public literals: the conditions from which private models are built."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from glassine.domain import Between, Binary, Category, Domain, Integer, Literal, OneOf, Real
from glassine.domain.attributes import Attribute, Scalar, code_ends
from glassine.domain.grid import CANDIDATES, few_cuts, public_grid
from glassine.domain.literals import complement
from glassine.domain.prefixes import Prefix
from glassine.errors import InvalidParameterError, check_whole, parameter
from glassine.sealed.oracle import ExactOracle
from glassine.sealed.queries import Quantiles


def candidates(domain: Domain, name: str) -> tuple[float, ...]:
    """Return the public cut points of a number, from its bounds alone."""
    attribute = domain[name]
    if not isinstance(attribute, Integer | Real):
        return ()
    return public_grid(attribute, size=CANDIDATES)


def distinct_cuts(attribute: Attribute, cuts: Sequence[float]) -> tuple[float, ...]:
    """Return increasing cut points without those that split the values as the one before does, or not at all.

    Examples
    --------
    >>> distinct_cuts(Real(0.0, 1.0, resolution=0.5), (-1.0, 0.1, 0.2, 0.6, 0.7, 1.5))
    (0.1, 0.6)
    """
    kept: list[float] = []
    if isinstance(attribute, Integer | Real):
        for cut in cuts:
            if attribute.measure(kept[-1] if kept else -math.inf, cut) and attribute.measure(cut, math.inf):
                kept.append(cut)
    return tuple(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralPlan:
    """Where the literals of a fit come from, fixed before the data are looked at."""

    domain: Domain  # The public domain of the attributes
    public: tuple[Literal, ...]  # Literals known beforehand
    quantiled: tuple[str, ...]  # Numbers whose thresholds are to be quantiles
    n_quantiles: int
    listed: bool  # Whether the user listed the literals

    @classmethod
    def of(cls, domain: Domain, literals: object, n_quantiles: object) -> LiteralPlan:
        """Return the plan that the parameter ``literals`` asks for."""
        names = domain.names
        number = check_whole(n_quantiles, "n_quantiles", 1, 255)
        if isinstance(literals, str):
            if literals not in ("auto", "thresholds", "quantiles", "coarse"):
                raise InvalidParameterError(
                    f"{parameter('literals')} must be 'auto', 'thresholds', 'quantiles', 'coarse' or a sequence of "
                    f"literals, got {literals!r}."
                )
            quantiled: list[str] = []
            if literals in ("auto", "quantiles"):
                quantiled = [name for name in names if _is_number(domain[name], undeclared=literals == "auto")]
            stated = coarse if literals == "coarse" else declared
            public = stated(domain, [name for name in names if name not in quantiled])
            return cls(
                domain=domain, public=tuple(public), quantiled=tuple(quantiled), n_quantiles=number, listed=False
            )
        if not isinstance(literals, Sequence):
            raise InvalidParameterError(
                f"{parameter('literals')} must be a sequence of literals, got {type(literals).__name__}."
            )
        return cls(domain=domain, public=check_literals(literals), quantiled=(), n_quantiles=number, listed=True)

    def widest(self) -> list[Literal]:
        """Return literals that stand for the largest class that the plan can lead to."""
        out = list(self.public)
        for name in self.quantiled:
            # Cut points with no value between them are one condition: of those that stand for the largest class, none.
            out += self._cut(name, distinct_cuts(self.domain[name], candidates(self.domain, name))[: self.n_quantiles])
        return out

    def _cut(self, name: str, cuts: Sequence[float]) -> list[Literal]:
        return either_side(self.domain, [*of_thresholds(name, cuts), *of_codes(name, self.domain[name])])

    def query(self) -> Quantiles | None:
        """Return what is to be asked of the records first; None where all literals are public."""
        if not self.quantiled:
            return None
        points = {name: candidates(self.domain, name) for name in self.quantiled}
        numbers = {name: self.domain[name] for name in self.quantiled}
        special = {
            name: tuple(code_ends(number, code) for code in number.codes)
            for name, number in numbers.items()
            if isinstance(number, Integer | Real) and number.codes
        }
        return Quantiles(points=points, number=self.n_quantiles, special=special)

    def with_cuts(self, cuts: Mapping[str, Sequence[float]]) -> list[Literal]:
        """Return the literals, with thresholds at the quantiles that were asked for."""
        return [*self.public, *(literal for name in self.quantiled for literal in self._cut(name, cuts[name]))]

    def stated(self) -> dict[str, str]:
        """Return what a certificate names of it."""
        return {"literals": self.text()}

    def text(self) -> str:
        """Return where the literals come from, in words."""
        if self.listed:
            return f"{len(self.public)} literals given"
        text = f"{len(self.public)} literals of the domain"
        if self.quantiled:
            text += f", and {self.n_quantiles} quantiles of each of {len(self.quantiled)} numbers"
        return text


def _is_number(attribute: object, *, undeclared: bool) -> bool:
    if not isinstance(attribute, Integer | Real) or attribute.size == 1:
        return False
    return not (undeclared and attribute.thresholds)


def declared(domain: Domain, names: Sequence[str]) -> list[Literal]:
    """Return the literals that a domain declares for some attributes, in order."""
    # A number gives one literal x <= t per threshold and one x = c per special code, a binary attribute x = 1, a
    # category of two values or more one literal per value; of an attribute that may be missing each stands twice, as
    # either_side says. Nothing is read from data.
    out: list[Literal] = []
    for name in names:
        attribute = domain[name]
        if isinstance(attribute, Integer | Real):
            out += [*of_thresholds(name, attribute.thresholds), *of_codes(name, attribute)]
        elif isinstance(attribute, Binary):
            out.append(OneOf(name, (1,), binary=True))
        elif len(attribute.values) > 1:
            # The only value of an attribute says no more than that it is not missing.
            out += [OneOf(name, (value,)) for value in attribute.values]
    return either_side(domain, out)


def either_side(domain: Domain, literals: Iterable[Literal]) -> list[Literal]:
    """Return literals, each on an attribute that may be missing once without missing values and once with them.

    So a split or a rule chooses with its condition where missing values go. None holds for missing values alone: how
    many are missing may be few, and is not what the condition is about.

    Examples
    --------
    >>> domain = Domain({"age": Integer(18, 90, missing=True)})
    >>> print(*either_side(domain, [Between("age", hi=40)]), sep="; ")
    age <= 40; age <= 40 or missing
    """
    out: list[Literal] = []
    for literal in literals:
        out.append(literal)
        if domain[literal.attribute].missing:
            out.append(replace(literal, missing=not literal.missing))
    return out


COARSE_CUTS = 9
"""Most cut points of a number: tenths of its range, or three decades of amounts."""

COARSE_VALUES = 12
"""Most values of a category that have conditions of their own: about as many as a reader keeps apart."""


def coarse(domain: Domain, names: Sequence[str]) -> list[Literal]:
    """Return few literals of some attributes: round cut points, and codes by their hierarchy or first characters.

    As :func:`declared`, but a number without thresholds has at most :data:`COARSE_CUTS` cut points (:func:`few_cuts`).
    A category with a hierarchy has a literal for each group, and for each value in no group; the outermost groups and
    these values where they are more than :data:`COARSE_VALUES`. More texts than that in no group, or without a
    hierarchy, have one literal for all whose first characters are equal: as many characters as give at most so many
    groups. Nothing is read from data.

    Examples
    --------
    >>> codes = Category(tuple(f"{letter}{digit}" for letter in "AB" for digit in range(9)))
    >>> domain = Domain({"age": Integer(18, 69), "icd": codes})
    >>> for literal in coarse(domain, domain.names)[-3:]:
    ...     print(literal)
    age <= 59.5
    icd in {A0, A1, A2, A3, A4, A5, A6, A7, A8}
    icd in {B0, B1, B2, B3, B4, B5, B6, B7, B8}
    """
    out: list[Literal] = []
    for name in names:
        attribute = domain[name]
        if isinstance(attribute, Integer | Real):
            cuts = of_thresholds(name, few_cuts(attribute, size=COARSE_CUTS))
            out += either_side(domain, [*cuts, *of_codes(name, attribute)])
        elif isinstance(attribute, Category) and (groups := _together(attribute) or _begun_alike(attribute.values)):
            out += either_side(domain, (OneOf(name, group) for group in groups))
        else:
            out += declared(domain, (name,))
    return out


def _together(attribute: Category) -> list[tuple[Scalar, ...]]:
    """Return the groups of a hierarchy and the values in none; the outermost groups where all are too many."""
    grouped = {value for group in attribute.hierarchy for value in group}
    alone: list[tuple[Scalar, ...]] = (
        [(value,) for value in attribute.values if value not in grouped] if grouped else []
    )
    groups = list(attribute.hierarchy)
    if len(groups) + len(alone) > COARSE_VALUES:
        outer: dict[Scalar, tuple[Scalar, ...]] = {}
        for group in sorted(groups, key=len):
            outer |= dict.fromkeys(group, group)
        groups = list(dict.fromkeys(outer[value] for value in attribute.values if value in outer))
        alone = _begun_alike(tuple(value for one in alone for value in one)) or alone
    return [*groups, *alone]


def _begun_alike(values: tuple[Scalar, ...]) -> list[tuple[Scalar, ...]]:
    """Return many texts by their first characters; nothing where they are few or begin too differently."""
    starts = [value.start if isinstance(value, Prefix) else value for value in values if isinstance(value, str)]
    if len(values) <= COARSE_VALUES or len(starts) < len(values):
        return []
    groups: list[tuple[Scalar, ...]] = []
    for length in range(1, max(map(len, starts)) + 1):
        by_start: dict[str, list[Scalar]] = {}
        for start, value in zip(starts, values, strict=True):
            by_start.setdefault(start[:length], []).append(value)
        if len(by_start) > COARSE_VALUES:
            break
        groups = list(map(tuple, by_start.values()))
    return groups if len(groups) > 1 else []


def of_thresholds(name: str, thresholds: Sequence[float]) -> list[Literal]:
    """Return one literal ``name <= t`` per threshold."""
    return [Between(name, hi=float(threshold)) for threshold in thresholds]


def of_codes(name: str, attribute: Attribute) -> list[Literal]:
    """Return one literal ``name = c`` per special code of a number."""
    return [OneOf(name, (code,)) for code in getattr(attribute, "codes", ())]


def check_literals(literals: Sequence[object]) -> tuple[Literal, ...]:
    """Return literals given by the user, after checking that they are literals."""
    out: list[Literal] = []
    for literal in literals:
        if not isinstance(literal, Between | OneOf):
            raise InvalidParameterError(
                f"{parameter('literals')} must hold Between and OneOf literals, got {type(literal).__name__}.",
                remedy="Build them, or pass 'thresholds' to take those of the domain.",
            )
        out.append(literal)
    return tuple(out)


# Public pools of rules: the antecedents from which rule lists are built.


Antecedent = tuple[Literal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """How the pool of a fit is made of its literals, fixed before the data are looked at."""

    literals: LiteralPlan  # Where the literals come from
    kind: str  # "literals", "pairs" or "listed"
    rules: tuple[Antecedent, ...]  # The antecedents that the user listed

    @classmethod
    def of(cls, domain: Domain, pool: object, literals: object, n_quantiles: object) -> PoolPlan:
        """Return the plan that the parameters ``pool`` and ``literals`` ask for."""
        if isinstance(pool, str):
            if pool not in ("literals", "pairs"):
                raise InvalidParameterError(
                    f"{parameter('pool')} must be 'literals', 'pairs' or a sequence of antecedents, got {pool!r}."
                )
            return cls(literals=LiteralPlan.of(domain, literals, n_quantiles), kind=pool, rules=())
        if not isinstance(pool, Sequence) or not all(isinstance(antecedent, Sequence) for antecedent in pool):
            raise InvalidParameterError(
                f"{parameter('pool')} must be a sequence of antecedents, each a sequence of literals.",
                remedy="Put a single literal in a tuple.",
            )
        rules = tuple(check_literals(antecedent) for antecedent in pool)
        if not all(rules):
            raise InvalidParameterError("an antecedent needs at least one literal.", remedy="Leave the empty one out.")
        return cls(literals=LiteralPlan.of(domain, (), n_quantiles), kind="listed", rules=rules)

    @property
    def quantiled(self) -> tuple[str, ...]:
        """Numbers whose thresholds are to be quantiles."""
        return self.literals.quantiled

    def widest(self) -> list[Antecedent]:
        """Return antecedents that stand for the largest pool that the plan can lead to."""
        return self.pool(self.literals.widest())

    def query(self) -> Quantiles | None:
        """Return what is to be asked of the records first; None where all literals are public."""
        return self.literals.query()

    def with_cuts(self, cuts: Mapping[str, Sequence[float]]) -> list[Antecedent]:
        """Return the antecedents, with thresholds at the quantiles that were asked for."""
        return self.pool(self.literals.with_cuts(cuts))

    def pool(self, literals: Sequence[Literal]) -> list[Antecedent]:
        """Return the antecedents over some literals."""
        if self.kind == "listed":
            return list(self.rules)
        make = both_signs if self.kind == "literals" else pairs
        return make(self.literals.domain, literals)

    def stated(self) -> dict[str, str]:
        """Return what a certificate names of it."""
        return {"pool": self.text(), **self.literals.stated()}

    def text(self) -> str:
        """Return what the pool is, in words."""
        if self.kind == "listed":
            return f"{len(self.rules)} antecedents given"
        return "each literal and its negation" + (", and all pairs of them" if self.kind == "pairs" else "")


def both_signs(domain: Domain, literals: Sequence[Literal]) -> list[Antecedent]:
    """Return each literal and its complement in the domain, as antecedents of one literal."""
    out: list[Antecedent] = []
    for literal in literals:
        out += [(literal,), (complement(literal, missing=domain[literal.attribute].missing),)]
    return out


def pairs(domain: Domain, literals: Sequence[Literal]) -> list[Antecedent]:
    """Return all antecedents of one or two literals, of either sign, on different attributes."""
    single = both_signs(domain, literals)
    return single + [
        (first, second)
        for i, (first,) in enumerate(single)
        for (second,) in single[i + 1 :]
        if first.attribute != second.attribute
    ]


def asked(plan: LiteralPlan | PoolPlan, records: Any) -> list[Any]:
    """Return the literals or antecedents of an ordinary fit, with quantiles of the records themselves."""
    question = plan.query()
    return plan.with_cuts({} if question is None else ExactOracle(records).ask(question))
