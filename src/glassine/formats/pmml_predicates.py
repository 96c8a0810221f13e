"""Predicates of PMML as conditions on attributes, and their truth by the logic of three values."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TypeAlias

from glassine.domain import Binary, Domain, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.domain.literals import complement
from glassine.domain.single import single
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.builder import sides
from glassine.formats.conditions import attribute_of, binary, damaged, with_missing
from glassine.formats.pmml_derived import NUMBERS as NUMERIC
from glassine.formats.pmml_derived import same
from glassine.formats.pmml_documents import Element
from glassine.formats.pmml_fields import (
    Fields,
    Role,
    Values,
    number_of,
    tested_field,
    typed,
    value_of,
    values_of,
)
from glassine.formats.sklearn.encodings import Number
from glassine.formats.value_sets import NOTHING, NUMBERS, TEXTS, Region, literal_of_region, region_of, within

PREDICATES = ("True", "False", "SimplePredicate", "CompoundPredicate", "SimpleSetPredicate")
OPERATORS = {"lessThan": "<", "lessOrEqual": "<=", "greaterThan": ">", "greaterOrEqual": ">="}
COMPARED: dict[str, Callable[[Scalar, Scalar], bool]] = {
    "equal": lambda bound, value: same(value, bound),
    "notEqual": lambda bound, value: not same(value, bound),
    "lessThan": lambda bound, value: float(value) < float(bound),
    "lessOrEqual": lambda bound, value: float(value) <= float(bound),
    "greaterThan": lambda bound, value: float(value) > float(bound),
    "greaterOrEqual": lambda bound, value: float(value) >= float(bound),
}
"""Whether a value compares so with a bound, which comes first."""
ARRAY = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)', re.DOTALL)
MOST_CONJUNCTIONS = 1_000
"""Most conjunctions that one predicate is written as."""


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on one field: what present values satisfy it, and whether a missing one does, None if unknown."""

    literal: Literal
    gap: bool | None = None

    @property
    def name(self) -> str:
        """The field."""
        return self.literal.attribute


@dataclass(frozen=True, slots=True)
class Compound:
    """Predicates that an operator joins: ``and``, ``or``, ``xor`` or ``surrogate``."""

    operator: str
    parts: tuple[Predicate, ...]


Predicate: TypeAlias = Test | Compound | bool | None
"""A predicate, or what it comes to: true, false, or None where it is unknown."""
Known: TypeAlias = Mapping[str, Region | Role]
"""What is known of the value of some attributes: a set that it is in, or as what it is taken."""


def predicate_of(element: Element, fields: Fields, domain: Domain | None, level: int = 0) -> Predicate:
    """Return the predicate of an element."""
    if element.tag in ("True", "False"):
        return element.tag == "True"
    if element.tag == "SimplePredicate":
        return _simple(element, fields, domain)
    if element.tag == "SimpleSetPredicate":
        return _listed(element, fields, domain)
    operator = element.attributes.get("booleanOperator", "")
    inner = [child for child in element.children if child.tag != "Extension"]
    if element.tag != "CompoundPredicate" or operator not in ("and", "or", "xor", "surrogate") or level > 50:
        raise UnsupportedModelError(
            f"the predicate {element.tag[:40]} {operator[:40]!r} is not read.",
            remedy="Write it with and, or, xor or surrogate.",
        )
    if not inner:
        raise damaged(f"a CompoundPredicate {operator!r} joins nothing.")
    return Compound(operator, tuple(predicate_of(child, fields, domain, level + 1) for child in inner))


def the_predicate(element: Element) -> Element:
    """Return the one predicate of a node, a rule or an attribute of a scorecard."""
    predicates = [child for child in element.children if child.tag in PREDICATES]
    if len(predicates) != 1:
        raise InvalidModelError(f"a {element.tag} of the PMML file has {len(predicates)} predicates; it needs one.")
    return predicates[0]


def _simple(element: Element, fields: Fields, domain: Domain | None) -> Predicate:
    name, operator = tested_field(element, fields, domain), element.attributes.get("operator")
    field = element.attributes.get("field", "")
    if field in fields.pieces:
        return _of_pieces(name, element, fields, domain)
    rounded, steps = fields.single.get(field), fields.steps.get(field)
    if operator in ("isMissing", "isNotMissing"):
        return Test(OneOf(name, (), negated=operator == "isNotMissing"), operator == "isMissing")
    text = element.attributes.get("value")
    if text is None:
        raise InvalidModelError(f"a SimplePredicate on {name!r:.60} has no value.")
    if operator in ("equal", "notEqual") and steps is None:
        value = value_of(name, text, fields.types[name], domain)
        if rounded is not None and not isinstance(value, str):
            exact = single(value) if rounded else float(value)
            return Test(sides(name, "==" if operator == "equal" else "!=", exact, domain, single=True)[0])
        if isinstance(attribute_of(name, domain), Binary) and value == 0:
            return Test(binary(name, operator == "notEqual"))
        return Test(OneOf(name, (value,), negated=operator == "notEqual"))
    if operator not in OPERATORS:
        raise UnsupportedModelError(f"the operator {operator!r:.40} of a SimplePredicate is not read.")
    if steps is None and fields.types[name] not in NUMERIC:
        return Test(_levels(name, operator, text, fields, domain))
    bound = single(number_of(text)) if rounded else number_of(text)
    if steps is not None:
        below = operator in ("lessThan", "greaterOrEqual")
        back = Number(name, steps).pulled_back(bound, rounded=rounded is not None, below=below)
        return Test(sides(name, "<=" if operator.startswith("less") else ">", back, domain)[0])
    return Test(sides(name, OPERATORS[operator], bound, domain, single=rounded is not None)[0])


def _levels(name: str, operator: str, text: str, fields: Fields, domain: Domain | None) -> Literal:
    """Return the listed values of an ordinal field that stand on a side of one."""
    order = values_of(name, fields, domain, gaps=False).order
    listed = [value.attributes.get("value") for value in fields.entries[name].below("Value")]
    if fields.entries[name].attributes.get("optype") != "ordinal" or text not in listed or len(order) < len(listed):
        raise UnsupportedModelError(
            f"the model asks which values of {name!r:.60} are less or greater than {text!r:.40}, whose order is not "
            "stated.",
            remedy="List all values of an ordinal field in order, or write a SimpleSetPredicate.",
        )
    at = listed.index(text)
    sides_of = {"<": order[:at], "<=": order[: at + 1], ">": order[at + 1 :], ">=": order[at:]}
    chosen = sides_of[OPERATORS[operator]]
    return OneOf(name, tuple(chosen)) if chosen else OneOf(name, tuple(order), negated=True)


def _of_pieces(name: str, element: Element, fields: Fields, domain: Domain | None) -> Predicate:
    """Return a comparison of a field that is computed piece by piece of another, as a condition on that one."""
    (pieces, kind), operator = fields.pieces[element.attributes["field"]], element.attributes.get("operator", "")
    values, attribute = values_of(name, fields, domain, gaps=False), attribute_of(name, domain)
    lost = pieces.missing
    if operator in ("isMissing", "isNotMissing"):
        region = lost if operator == "isMissing" else (~NOTHING) - lost
        gap: bool | None = (pieces.gap is None) == (operator == "isMissing")
    else:
        if operator not in (*OPERATORS, "equal", "notEqual") or "value" not in element.attributes:
            raise UnsupportedModelError(f"the operator {operator!r:.40} of a SimplePredicate is not read.")
        bound = typed(element.attributes["value"], kind)
        bound = single(float(bound)) if kind == "float" else bound
        if isinstance(bound, str) and operator in OPERATORS:
            raise damaged(f"the model asks whether {name!r:.60} is less than a text.")
        holds = partial(COMPARED[operator], bound)
        ends = [] if isinstance(bound, str) else [(float(bound), True), (float(bound), False)]
        region, gap = pieces.where(holds, ends), None if pieces.gap is None else holds(pieces.gap)
        if not within(lost, values.universe, attribute).empty:
            raise UnsupportedModelError(
                f"some values of {name!r:.60} have no value in {element.attributes['field']!r:.60}.",
                remedy="Give a domain without them.",
            )
    whole = values.universe
    if attribute is None and whole not in (NUMBERS, TEXTS):
        region, whole = region & whole, ~NOTHING
    said = literal_of_region(name, region, whole, attribute, values.order)
    parts = [said] if said is not None else []
    if said is None:
        parts = [
            one for one in (literal_of_region(name, p, whole, attribute) for p in region.pieces()) if one is not None
        ]
    tests = tuple(Test(literal, gap) for literal in parts)
    return tests[0] if len(tests) == 1 else Compound("or", tests)


def _listed(element: Element, fields: Fields, domain: Domain | None) -> Predicate:
    name, operator = tested_field(element, fields, domain), element.attributes.get("booleanOperator")
    array, computed = element.first("Array"), element.attributes.get("field", "") in fields.steps
    if operator not in ("isIn", "isNotIn") or array is None or computed:
        raise UnsupportedModelError(f"a SimpleSetPredicate on {name!r:.60} is not isIn or isNotIn of an Array.")
    texts = [
        re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL) if match[1] is not None else match[2]
        for match in ARRAY.finditer(array.text)
    ]
    count = array.attributes.get("n")
    if count is not None and count.strip() != str(len(texts)):
        raise InvalidModelError(f"an Array of {name!r:.60} states {count[:20]!r} values, but has {len(texts)}.")
    if element.attributes.get("field", "") in fields.pieces:
        field, equal = element.attributes["field"], "equal" if operator == "isIn" else "notEqual"
        each = [Element("SimplePredicate", {"field": field, "operator": equal, "value": text}) for text in texts]
        tests = tuple(_of_pieces(name, one, fields, domain) for one in each)
        return Compound("or" if operator == "isIn" else "and", tests)
    values = tuple(dict.fromkeys(value_of(name, text, fields.types[name], domain) for text in texts))
    return Test(OneOf(name, values, negated=operator == "isNotIn"))


def fields_in(predicate: Predicate) -> tuple[str, ...]:
    """Return the fields that a predicate tests, each once."""
    if isinstance(predicate, Test):
        return (predicate.name,)
    if isinstance(predicate, Compound):
        return tuple(dict.fromkeys(name for part in predicate.parts for name in fields_in(part)))
    return ()


def speaks_of_gaps(predicate: Predicate) -> set[str]:
    """Return the fields whose missing values a predicate tests."""
    if isinstance(predicate, Test):
        return set() if predicate.gap is None else {predicate.name}
    return set().union(*map(speaks_of_gaps, predicate.parts)) if isinstance(predicate, Compound) else set()


def holds_unknown(predicate: Predicate) -> bool:
    """Return whether a part of a compound is unknown, so that what present values satisfy is not all there is."""
    parts = predicate.parts if isinstance(predicate, Compound) else ()
    return any(part is None or holds_unknown(part) for part in parts)


def first_test(predicate: Predicate) -> Test:
    """Return the first condition of a predicate that tests something."""
    if isinstance(predicate, Test):
        return predicate
    parts = predicate.parts if isinstance(predicate, Compound) else ()
    return first_test(next(part for part in parts if isinstance(part, Test | Compound)))


class Logic:
    """The truth of predicates over the values that the fields of a model can have."""

    def __init__(
        self, fields: Fields, domain: Domain | None, *, gaps: Callable[[str], bool], unknown_is_false: bool
    ) -> None:
        # gaps: whether the file speaks of missing values of a field.
        # unknown_is_false: whether a comparison with a missing value is false, by the strategy "none".
        self.fields, self.domain, self._gaps, self.unknown_is_false = fields, domain, gaps, unknown_is_false
        self._values: dict[str, Values] = {}

    def values(self, name: str) -> Values:
        """Return what the model does with the values of a field."""
        if name not in self._values:
            self._values[name] = values_of(name, self.fields, self.domain, gaps=self._gaps(name))
        return self._values[name]

    def within(self, name: str, region: Region) -> Region:
        """Return the part of a set that an attribute can have."""
        return within(region, self.values(name).universe, attribute_of(name, self.domain))

    def literal(self, name: str, region: Region) -> Literal | None:
        """Return the literal that says a set of present values, None where no single one does."""
        values = self.values(name)
        region = region & values.universe if self.closed(name) else region
        whole = ~NOTHING if self.closed(name) else values.universe
        return literal_of_region(name, region, whole, attribute_of(name, self.domain), values.order)

    def invalid(self, name: str) -> list[Literal]:
        """Return the literals of values for which there is no prediction, and last that of the others; none if none."""
        values, attribute = self.values(name), attribute_of(name, self.domain)
        if attribute is None or (values.invalid.empty and not values.needs_value):
            return []
        every = values.universe | values.invalid
        literals = [literal_of_region(name, part, every, attribute, values.order) for part in values.invalid.pieces()]
        out = [with_missing(literal, values.needs_value) for literal in literals if literal is not None]
        last = literal_of_region(name, ~NOTHING, every, attribute)
        always = [] if last is None else [with_missing(last, attribute.missing)]
        return [*(out or [OneOf(name, (), missing=True)]), *always]

    def closed(self, name: str) -> bool:
        """Return whether the file alone says which values of a field are valid: a condition holds of no other."""
        return name not in (self.domain or ()) and self.values(name).universe not in (NUMBERS, TEXTS)

    def exceeds(self, name: str, region: Region) -> bool:
        """Return whether a set holds values that a record cannot have."""
        return not (region - self.values(name).universe).empty

    def simplified(self, predicate: Predicate, states: Known, *, disputed: bool = False) -> Predicate:
        """Return a predicate as far as what is known leaves it open."""
        if isinstance(predicate, Test):
            return self._test(predicate, states, disputed)
        if not isinstance(predicate, Compound):
            return predicate
        operator = predicate.operator
        disputed = disputed or operator in ("xor", "surrogate")
        parts = [self.simplified(part, states, disputed=disputed) for part in predicate.parts]
        if operator == "surrogate":
            parts = [part for part in parts if part is not None]
            return parts[0] if parts and isinstance(parts[0], bool) else _joined(operator, parts, None)
        if operator == "xor":
            if any(part is None for part in parts):
                return None
            decided = all(isinstance(part, bool) for part in parts)
            return sum(map(bool, parts)) % 2 == 1 if decided else Compound(operator, tuple(parts))
        decisive = operator == "or"
        if any(part is decisive for part in parts):
            return decisive
        left = list(dict.fromkeys(part for part in parts if part is not (not decisive)))
        return None if left == [None] else _joined(operator, left, not decisive)

    def _test(self, test: Test, states: Known, disputed: bool) -> Predicate:
        state = states.get(test.name)
        if state == "missing":
            if test.gap is None and self.unknown_is_false:
                if disputed:
                    raise UnsupportedModelError(
                        f"{test.name!r} can be missing, and evaluators differ in what xor and surrogate then come to "
                        "under missingValueStrategy='none'.",
                        remedy="Write another strategy, or give a domain in which it cannot be missing.",
                    )
                return False
            return test.gap
        inside = region_of(test.literal)
        if isinstance(state, tuple):  # a value in its place
            return not (Region.of(state) & inside).empty
        if isinstance(state, Region):
            part, rest = self.within(test.name, state & inside), self.within(test.name, state - inside)
            return test if not (part.empty or rest.empty) else rest.empty
        return test

    def region(self, predicate: Predicate) -> Region:
        """Return the present values that satisfy a predicate on one field."""
        if isinstance(predicate, Test):
            return region_of(predicate.literal)
        if not isinstance(predicate, Compound):
            return ~NOTHING if predicate else NOTHING
        regions = [self.region(part) for part in predicate.parts]
        out = regions[0]
        for other in regions[1:] if predicate.operator != "surrogate" else ():
            either = (out - other) | (other - out)
            out = {"and": out & other, "or": out | other, "xor": either}[predicate.operator]
        return out

    def conjunctions(self, predicate: Predicate) -> list[tuple[Literal, ...]]:
        """Return conjunctions of literals, of which one at least holds where a predicate is true."""
        names = fields_in(predicate)
        if len(names) == 1:
            whole = self._said(names[0], predicate)
            if whole is not None:
                return [(whole,)]
        if isinstance(predicate, Test):
            raise UnsupportedModelError(
                f"{str(predicate.literal)!r:.60} holds of values that no single condition says, as the file replaces "
                f"some of {predicate.name!r:.60}.",
                remedy="Give a domain without those values.",
            )
        if not isinstance(predicate, Compound):
            return [()] if predicate else []
        parts = [self.conjunctions(part) for part in predicate.parts]
        if predicate.operator == "or":
            return [one for part in parts for one in part]
        if predicate.operator != "and":
            raise UnsupportedModelError(
                f"a CompoundPredicate {predicate.operator!r} of several fields is read in trees only.",
                remedy="Write it with and, and or.",
            )
        n_conjunctions = 1
        for part in parts:
            n_conjunctions *= len(part)
        if n_conjunctions > MOST_CONJUNCTIONS:
            raise UnsupportedModelError(f"a predicate comes to more than {MOST_CONJUNCTIONS:,} conjunctions.")
        return [tuple(dict.fromkeys(lit for one in chosen for lit in one)) for chosen in product(*parts)]

    def _said(self, name: str, predicate: Predicate) -> Literal | None:
        """Return the literal that holds where a predicate on one field is true, missing values among them."""
        values = self.values(name)
        gap = values.gap is not None and self.simplified(predicate, {name: values.gap}) is True
        if isinstance(predicate, Test) and not values.special:
            return with_missing(predicate.literal, gap)
        inside = self.region(predicate) & (values.plain if values.special else ~NOTHING)
        for region, role in values.special:
            if self.simplified(predicate, {name: role}) is True:
                inside = inside | region
        literal = self.literal(name, inside)
        return None if literal is None else with_missing(literal, gap)


def _joined(operator: str, parts: Sequence[Predicate], empty: bool | None) -> Predicate:
    if not parts:
        return empty
    return parts[0] if len(parts) == 1 and parts[0] is not None else Compound(operator, tuple(parts))


def opposite(literal: Literal) -> Literal:
    """Return the literal of the other present values."""
    return dataclasses.replace(complement(literal, missing=False), missing=False)
