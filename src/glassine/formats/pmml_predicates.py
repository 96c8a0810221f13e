"""Fields, predicates and spellings of PMML, in the terms of a domain."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from glassine.domain import Between, Binary, Category, Domain, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.builder import can_be_missing, sides
from glassine.formats.conditions import attribute_of, binary, damaged, near, require, with_missing
from glassine.formats.json import KEY, claim_of, guarantee_of
from glassine.models.guarantee import Guarantee

TARGET = "prediction"


def head_of(guarantee: Guarantee | None) -> str:
    """Return the start of a document, whose header states a guarantee in an extension."""
    claim = "" if guarantee is None else f"<Extension name={quoted(KEY)} value={quoted(claim_of(guarantee))}/>"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">\n'
        f'  <Header>{claim}<Application name="glassine"/></Header>\n'
    )


def stated_guarantee(root: Element) -> Guarantee | None:
    """Return the guarantee that the header of a document states."""
    beneath = [entry for header in root.below("Header") for entry in header.below("Extension") if holds_claim(entry)]
    claims = [entry.attributes.get("value", "") for entry in beneath]
    if len(claims) > 1:
        raise damaged("the PMML file states two guarantees.")
    return guarantee_of(claims[0]) if claims else None


def holds_claim(element: Element) -> bool:
    """Return whether an element is the extension that states a guarantee."""
    return element.tag == "Extension" and element.attributes.get("name") == KEY


def text_of(value: Scalar) -> str:
    """Return a value as PMML spells it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def quoted(text: str) -> str:
    """Return a text as an attribute, in quotes, or raise UnsupportedModelError where XML cannot hold it."""
    odd = next(
        (c for c in text if (c < " " and c not in "\t\n\r") or "\ud800" <= c <= "\udfff" or c in "\ufffe\uffff"), None
    )
    if odd is not None:
        raise UnsupportedModelError(
            f"the text {text!r:.60} holds the character {odd!r}, which XML has not.", remedy="Rename it."
        )
    # It imports the standard library's networking, which no reader of a model needs.
    from xml.sax.saxutils import quoteattr

    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def field_type(values: Sequence[Scalar], what: str) -> str:
    """Return the data type of values of one kind."""
    kinds = {
        bool if isinstance(v, bool) else str if isinstance(v, str) else int if isinstance(v, int) else float
        for v in values
    }
    if kinds <= {str}:
        return "string"
    if kinds == {bool}:
        return "boolean"
    if kinds <= {int, float}:
        return "integer" if kinds == {int} else "double"
    raise UnsupportedModelError(f"{what} of several types, which a field of PMML is not.", remedy="Recode them.")


def escaped(text: str) -> str:
    """Return a text as it stands between tags."""
    quoted(text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


# XML without document types: nothing is expanded and nothing outside the file is read.

DEEPEST = 5000
MAX_ELEMENTS, MAX_ATTRIBUTES = 1_000_000, 2_000_000
"""An element takes about 300 bytes of memory, an attribute about 250."""
MAX_TEXT = 50_000_000
"""Most characters of text in the document, its tags aside."""


@dataclass(slots=True)
class Element:
    """An element: its name without a namespace, its attributes, the elements in it and its text."""

    tag: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def first(self, tag: str) -> Element | None:
        """Return the first element of a name directly in this one."""
        return next(iter(self.below(tag)), None)

    def below(self, tag: str) -> list[Element]:
        """Return the elements of a name directly in this one."""
        return [child for child in self.children if child.tag == tag]


def parsed_xml(data: bytes) -> Element:
    """Return the root of an XML document."""
    # Every attribute has a sign of equality, in each encoding. They are counted first: the parser hands over those
    # of an element at once.
    if data.count(b"=") > MAX_ATTRIBUTES:
        raise UnsupportedModelError(f"the XML file has more than {MAX_ATTRIBUTES:,} attributes.")
    top = Element("", {})
    path, texts, made, length = [top], [[""]], 0, 0

    def refuse(kind: str, *_: object) -> None:
        if kind.lower() == "html":
            raise UnsupportedModelError("the file is a page of HTML, not a model.", remedy="Give the model's own file.")
        raise UnsupportedModelError(
            "the XML file declares a document type, in which entities can hide.",
            remedy="Remove the line '<!DOCTYPE ...>'.",
        )

    def opened(name: str, attributes: dict[str, str]) -> None:
        nonlocal made
        made += 1
        if len(path) > DEEPEST or made > MAX_ELEMENTS:
            raise UnsupportedModelError(f"the XML file has more than {DEEPEST} levels or {MAX_ELEMENTS:,} elements.")
        element = Element(name.rpartition(":")[2], attributes)
        path[-1].children.append(element)
        path.append(element)
        texts.append([])

    def closed(_: str) -> None:
        path.pop().text = "".join(texts.pop())

    def written(text: str) -> None:
        nonlocal length
        length += len(text)
        if length > MAX_TEXT:
            raise UnsupportedModelError(f"the XML file has more than {MAX_TEXT:,} characters of text.")
        texts[-1].append(text)

    parser = expat.ParserCreate()
    parser.buffer_text = True  # else each line is a piece of its own
    parser.buffer_size = 1 << 16
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = opened
    parser.EndElementHandler = closed
    parser.CharacterDataHandler = written
    try:
        parser.Parse(data, True)
    except UnsupportedModelError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise UnsupportedModelError(
            f"the file is not well-formed XML: {str(error)[:100]}.", remedy="Export it again."
        ) from None
    return top.children[0]


OPERATORS = {"lessThan": "<", "lessOrEqual": "<=", "greaterThan": ">", "greaterOrEqual": ">="}
NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")
NUMERIC = ("integer", "float", "double")
ARRAY = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a model."""

    types: Mapping[str, str]  # Data type of each field
    values: Mapping[str, tuple[Scalar, ...]]  # The listed values of each categorical field
    active: tuple[str, ...]  # The fields that the model is given
    changed: frozenset[str]  # Fields whose values the model changes before it tests them
    labels: tuple[Scalar, ...]  # The listed values of the target
    target_type: str  # Its data type
    sources: Mapping[str, str]  # The field of the data dictionary that each derived field repeats, by its name

    @property
    def first(self) -> str | None:
        """The first field that the model is given."""
        return self.active[0] if self.active else None


def _sources(parts: Sequence[Element | None], types: Mapping[str, str]) -> dict[str, str]:
    """Return the field that each derived one repeats, as a number of another precision at most."""
    # A threshold on a number of single precision is read as in ONNX: numbers of single precision go where a runtime
    # sends them.
    sources: dict[str, str] = {}
    for derived in (child for part in parts if part is not None for child in part.children):
        name, kind = derived.attributes.get("name", ""), derived.attributes.get("dataType", "")
        inner = [child for child in derived.children if child.tag != "Extension"]
        if derived.tag != "DerivedField" or [child.tag for child in inner] != ["FieldRef"]:
            continue
        source = inner[0].attributes.get("field", "")
        source = sources.get(source, source)
        kind_there = types.get(source, "")
        same = kind == kind_there != "" or (kind in ("float", "double") and kind_there in NUMERIC)
        if name in types or sources.get(name, source) != source:
            raise InvalidModelError(f"two fields are named {name!r:.60}; each needs its own name.")
        if same and "mapMissingTo" not in inner[0].attributes:
            sources[name] = source
    return sources


def fields_of(root: Element, model: Element, domain: Domain | None, outer: Element | None = None) -> Fields:
    """Return the fields that the data dictionary, the transformations and the mining schema declare."""
    dictionary, schema = root.first("DataDictionary"), model.first("MiningSchema")
    if dictionary is None or schema is None:
        raise damaged("the PMML file lacks its DataDictionary or its MiningSchema.")
    types: dict[str, str] = {}
    values: dict[str, tuple[Scalar, ...]] = {}
    for entry in dictionary.below("DataField"):
        name = entry.attributes.get("name")
        if not name or name in types:
            raise InvalidModelError(f"a DataField is named {name!r:.60}; each needs its own name.")
        types[name] = entry.attributes.get("dataType", "string")
        texts = [c.attributes.get("value", "") for c in entry.below("Value")]
        if texts and all(c.attributes.get("property", "valid") == "valid" for c in entry.below("Value")):
            values[name] = tuple(dict.fromkeys(_value(name, text, types[name], domain) for text in texts))
    parts = [root.first("TransformationDictionary")]
    parts += [None if part is None else part.first("LocalTransformations") for part in (outer, model)]
    sources = _sources(parts, types)
    active, changed, target = [], set(), None
    for entry in schema.below("MiningField"):
        name = entry.attributes.get("name", "")
        usage = entry.attributes.get("usageType", "active")
        if usage in ("predicted", "target"):
            target = name
        elif usage == "active":
            active.append(name)
            name = sources.get(name, name)
            odd = {"missingValueReplacement", "invalidValueReplacement"} & set(entry.attributes)
            if odd or entry.attributes.get("outliers", "asIs") != "asIs":
                changed.add(name)
    if len(set(active)) < len(active):
        raise damaged("the MiningSchema names a field twice.")
    kind = types.get(target or "", "string")
    labels = () if target is None or target in (domain or ()) else values.get(target, ())
    names = tuple(dict.fromkeys(sources.get(name, name) for name in active))
    return Fields(types, values, names, frozenset(changed), labels, kind, sources)


def typed(text: str, kind: str) -> Scalar:
    """Return a text as a value of a data type of PMML."""
    if kind == "boolean" and text in ("true", "false", "1", "0"):
        return text in ("true", "1")
    if kind in NUMERIC:
        if NUMBER.fullmatch(text) is None or not abs(value := float(text)) <= 1e300:
            raise InvalidModelError(f"{text!r:.40} is not a finite number, which its {kind} field needs.")
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return text


def _value(name: str, text: str, kind: str, domain: Domain | None) -> Scalar:
    """Return a value of a field as the domain spells it."""
    attribute = attribute_of(name, domain)
    number = typed(text, kind)
    if not isinstance(attribute, Category | Binary):
        return number
    declared: Sequence[Scalar] = (0, 1) if isinstance(attribute, Binary) else attribute.values
    truth = {"true": 1, "false": 0}.get(text.lower(), number) if isinstance(attribute, Binary) else number
    for value in declared:
        if str(value) == text or (isinstance(value, str) == isinstance(truth, str) and value == truth):
            return value
    if not isinstance(number, str) and not any(isinstance(value, str) for value in declared):
        return number
    raise InvalidModelError(f"{text!r:.40} is not a value of {name!r}.{near(text, map(str, declared))}")


def anything(name: str, fields: Fields) -> Literal:
    """Return the condition that every value satisfies, even a missing one."""
    if fields.types.get(name) in NUMERIC:
        return Between(name, missing=True)
    return OneOf(name, (), negated=True, missing=True)


def literal_of(predicate: Element, fields: Fields, domain: Domain | None, level: int = 0) -> Literal | None:
    """Return the condition of a predicate, None if it is always true; compounds stand within one other at most."""
    if predicate.tag == "True":
        return None
    if predicate.tag == "SimplePredicate":
        return _simple(predicate, fields, domain)
    if predicate.tag == "SimpleSetPredicate":
        return _listed(predicate, fields, domain)
    if predicate.tag == "CompoundPredicate" and level < 2:
        return _compound(predicate, fields, domain, level + 1)
    raise UnsupportedModelError(f"the predicate {predicate.tag[:40]} is not read.")


def _field(predicate: Element, fields: Fields, domain: Domain | None) -> str:
    name = predicate.attributes.get("field", "")
    name = fields.sources.get(name, name)
    if name not in fields.types or name not in fields.active:
        raise UnsupportedModelError(
            f"the tree tests {name!r:.60}, which is no active field, nor one as a number of another precision.",
            remedy="Write the file without other transformations, or give the model as JSON or a skops file.",
        )
    require(name, domain, "the PMML tree tests")
    if name in fields.changed and can_be_missing(name, domain, True):
        raise UnsupportedModelError(
            f"the model replaces some values of {name!r:.60} before it tests them, which is not read.",
            remedy="Give a domain in which it cannot be missing, if these are missing ones only.",
        )
    return name


def _simple(predicate: Element, fields: Fields, domain: Domain | None) -> Literal:
    name, operator = _field(predicate, fields, domain), predicate.attributes.get("operator")
    if operator in ("isMissing", "isNotMissing"):
        return OneOf(name, (), negated=operator == "isNotMissing", missing=operator == "isMissing")
    text = predicate.attributes.get("value")
    if text is None:
        raise InvalidModelError(f"a SimplePredicate on {name!r:.60} has no value.")
    if operator in ("equal", "notEqual"):
        value = _value(name, text, fields.types[name], domain)
        if domain is not None and isinstance(domain[name], Binary) and value == 0:
            return binary(name, operator == "notEqual")
        return OneOf(name, (value,), negated=operator == "notEqual")
    if operator not in OPERATORS:
        raise UnsupportedModelError(f"the operator {operator!r:.40} of a SimplePredicate is not read.")
    bound = typed(text, "double")
    if isinstance(bound, str):
        raise InvalidModelError(f"{text!r:.40} is not a number, but {name!r:.60} is compared with it.")
    return sides(name, OPERATORS[operator], float(bound), domain)[0]


def _listed(predicate: Element, fields: Fields, domain: Domain | None) -> Literal:
    name, operator = _field(predicate, fields, domain), predicate.attributes.get("booleanOperator")
    array = predicate.first("Array")
    if operator not in ("isIn", "isNotIn") or array is None:
        raise UnsupportedModelError(f"a SimpleSetPredicate on {name!r:.60} is not isIn or isNotIn of an Array.")
    texts = [
        re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL) if match[1] is not None else match[2]
        for match in ARRAY.finditer(array.text)
    ]
    count = array.attributes.get("n")
    if count is not None and count != str(len(texts)):
        raise InvalidModelError(
            f"an Array of {name!r:.60} says that it has {count[:20]!r} values, but has {len(texts)}."
        )
    values = tuple(dict.fromkeys(_value(name, text, fields.types[name], domain) for text in texts))
    return OneOf(name, values, negated=operator == "isNotIn")


def _compound(predicate: Element, fields: Fields, domain: Domain | None, level: int) -> Literal:
    operator = predicate.attributes.get("booleanOperator")
    inner = [child for child in predicate.children if child.tag != "Extension"]
    first = literal_of(inner[0], fields, domain, level) if inner else None
    if first is None:
        raise UnsupportedModelError("a CompoundPredicate of nothing, or of True, is not read.")
    if operator == "surrogate":
        if can_be_missing(first.attribute, domain, False):
            raise UnsupportedModelError(
                f"{first.attribute!r} can be missing, and surrogates on other fields replace it, which are not read.",
                remedy="Export the tree without them.",
            )
        return first
    if operator not in ("and", "or") or len(inner) != 2:
        raise UnsupportedModelError(f"a CompoundPredicate {operator!r:.40} of {len(inner)} parts is not read.")
    second = literal_of(inner[1], fields, domain, level)
    joined = None if second is None else _both(first, second) if operator == "and" else _either(first, second)
    if joined is None:
        raise UnsupportedModelError(f"a CompoundPredicate {operator!r} of these two conditions is not read.")
    return joined


def _presence(literal: Literal) -> bool | None:
    """Return whether a literal says that the value is missing, or that it is not; None for others."""
    if isinstance(literal, OneOf) and not literal.values and literal.missing != literal.negated:
        return literal.missing
    return None


def _both(first: Literal, second: Literal) -> Literal | None:
    """Return the conjunction of two literals on one attribute, if it is one literal."""
    for one, other in ((first, second), (second, first)):
        if one.attribute == other.attribute and _presence(one) is False:
            return with_missing(other, False)
    if first.attribute != second.attribute or not isinstance(first, Between) or not isinstance(second, Between):
        return None
    if first.negated or second.negated:
        return None
    lo, hi = max(first.lo, second.lo), min(first.hi, second.hi)
    return Between(first.attribute, lo, hi, missing=first.missing and second.missing)


def _either(first: Literal, second: Literal) -> Literal | None:
    """Return the disjunction of two literals on one attribute, if it is one literal."""
    if first.attribute != second.attribute:
        return None
    for one, other in ((first, second), (second, first)):
        if _presence(one) is True:
            return dataclasses.replace(other, missing=True)
    if isinstance(first, Between) and isinstance(second, Between) and not (first.negated or second.negated):
        low, high = sorted((first, second), key=lambda part: part.lo)
        if low.lo == -math.inf and high.hi == math.inf and low.hi < high.lo:
            return Between(first.attribute, low.hi, high.lo, negated=True, missing=first.missing or second.missing)
    return None
