"""Fields of PMML: which values each can have, and as what a model takes those that are missing, invalid or extreme."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal as OneOfTexts
from typing import TypeAlias

from glassine.domain import Binary, Category, Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.conditions import attribute_of, damaged, near, require
from glassine.formats.pmml_derived import NUMBERS as NUMERIC
from glassine.formats.pmml_derived import STEPS, DerivedFields, Pieces
from glassine.formats.pmml_documents import Element
from glassine.formats.sklearn.encodings import Step
from glassine.formats.value_sets import NOTHING, NUMBERS, TEXTS, Region, declared, within

NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")

Role: TypeAlias = OneOfTexts["missing"] | tuple[Scalar]
"""As what a model takes a value: a missing one, or the value in its place."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a model."""

    entries: Mapping[str, Element]  # The DataField of each field
    schema: Mapping[str, Element]  # The MiningField of each field that the model is given
    types: Mapping[str, str]  # Data type of each field
    active: tuple[str, ...]  # The fields that the model is given
    labels: tuple[Scalar, ...]  # The listed values of the target
    target_type: str  # Its data type
    sources: Mapping[str, str]  # The field of the data dictionary that each derived field repeats, by its name
    # Fields, derived ones among them, whose values are rounded to single precision; and whether what they are compared
    # with is rounded, too.
    single: Mapping[str, bool]
    steps: Mapping[str, tuple[Step, ...]]  # What turns the field of the data dictionary into each derived number
    pieces: Mapping[str, tuple[Pieces, str]]  # Other derived fields, piece by piece, and their data types

    @property
    def first(self) -> str | None:
        """The first field that the model is given."""
        return self.active[0] if self.active else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What a model does with the values of a field."""

    universe: Region  # The values that conditions test, as far as the domain or the file says it
    plain: Region  # Those that are tested as they are
    special: tuple[tuple[Region, Role], ...]  # The others, and as what they are taken
    gap: Role | None  # As what a missing value is taken; None where there is none
    invalid: Region  # Values of the domain for which the model gives no prediction
    needs_value: bool  # Whether it gives none where a value is missing, and the domain allows that
    order: tuple[Scalar, ...]  # The listed values


def check_targets(model: Element, what: str, *, classes: bool = False) -> None:
    """Raise UnsupportedModelError if Targets change what a model predicts, or say what stands for no prediction."""
    for target in model.below("Targets"):
        stated = {
            name for entry in target.below("Target") for part in entry.below("TargetValue") for name in part.attributes
        }
        if not classes or stated & {"priorProbability", "defaultValue"}:
            raise UnsupportedModelError(
                f"the {what} rescales or fills its predictions in Targets, which is not read.",
                remedy="Write the file without Targets.",
            )


def rescaling(model: Element, what: str) -> tuple[float, float]:
    """Return by what a model multiplies the number that it predicts, and what it adds then.

    Raises
    ------
    UnsupportedModelError
        If it rounds or bounds the number besides, or names one that stands for no prediction.
    """
    targets = [target for part in model.below("Targets") for target in part.below("Target")]
    rescaling = {"field", "optype", "rescaleFactor", "rescaleConstant"}
    if len(targets) > 1 or any(set(t.attributes) - rescaling or t.below("TargetValue") for t in targets):
        raise UnsupportedModelError(
            f"the {what} rounds, bounds or fills its predictions in Targets, which is not read.",
            remedy="Write the file without Targets.",
        )
    said = targets[0].attributes if targets else {}
    return number_of(said.get("rescaleFactor", "1")), number_of(said.get("rescaleConstant", "0"))


def _computed(element: Element) -> tuple[str, tuple[Step, ...]] | None:
    """Return the field and the steps of increasing arithmetic on one field, as scalers have it; None of all else."""
    if element.tag == "FieldRef":
        return None if "mapMissingTo" in element.attributes else (element.attributes.get("field", ""), ())
    parts = [child for child in element.children if child.tag != "Extension"]
    step = STEPS.get(element.attributes.get("function", ""))
    if element.tag != "Apply" or set(element.attributes) != {"function"} or len(parts) != 2 or step is None:
        return None
    if parts[0].tag == "Constant" and step in ("add", "mul", "at least", "at most"):
        parts.reverse()
    inner = _computed(parts[0])
    # Whole constants would divide whole numbers otherwise.
    if inner is None or parts[1].tag != "Constant" or parts[1].attributes.get("dataType") != "double":
        return None
    constant = number_of(parts[1].text)
    return None if step in ("mul", "div") and not constant > 0 else (inner[0], (*inner[1], (step, constant)))


def _sources(
    parts: Sequence[Element | None], types: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, bool], dict[str, tuple[Step, ...]]]:
    """Return the field of each derived one, those that are rounded, and steps, as :class:`Fields` has them."""
    sources: dict[str, str] = {}
    steps: dict[str, tuple[Step, ...]] = {}
    rounded = {name: True for name, kind in types.items() if kind == "float"}
    for derived in (child for part in parts if part is not None for child in part.children):
        name, kind = derived.attributes.get("name", ""), derived.attributes.get("dataType", "")
        inner = [child for child in derived.children if child.tag != "Extension"]
        computed = _computed(inner[0]) if derived.tag == "DerivedField" and len(inner) == 1 else None
        if computed is None:
            continue
        origin, own = computed
        source = sources.get(origin, origin)
        kind_there = types.get(source, "")
        number = kind in ("float", "double") and kind_there in NUMERIC
        if name in types or sources.get(name, source) != source:
            raise InvalidModelError(f"two fields are named {name!r:.60}; each needs its own name.")
        # Arithmetic on what is rounded before is left out.
        if (number or (kind == kind_there != "" and not own)) and not (own and origin in rounded):
            sources[name] = source
            if own or origin in steps:
                steps[name] = (*steps.get(origin, ()), *own)
            if kind == "float" or origin in rounded:
                rounded[name] = kind == "float"
    return sources, rounded, steps


def fields_of(root: Element, model: Element, domain: Domain | None, around: Sequence[Element] = ()) -> Fields:
    """Return the fields that the data dictionary, the transformations and the mining schema declare.

    ``around`` are the models around it, the outermost first.
    """
    dictionary, schema = root.first("DataDictionary"), model.first("MiningSchema")
    if dictionary is None or schema is None:
        raise damaged("the PMML file lacks its DataDictionary or its MiningSchema.")
    entries: dict[str, Element] = {}
    for entry in dictionary.below("DataField"):
        name = entry.attributes.get("name")
        if not name or name in entries:
            raise InvalidModelError(f"a DataField is named {name!r:.60}; each needs its own name.")
        entries[name] = entry
    types = {name: entry.attributes.get("dataType", "string") for name, entry in entries.items()}
    parts = [root.first("TransformationDictionary")]
    parts += [part.first("LocalTransformations") for part in (*around, model)]
    sources, rounded, steps = _sources(parts, types)
    pieces = _pieces(parts, types, sources)
    sources |= {name: str(own.source) for name, (own, _) in pieces.items()}
    active: list[str] = []
    by_name: dict[str, Element] = {}
    target = None
    for part in (schema, *(own.first("MiningSchema") for own in reversed(around))):
        for entry in part.below("MiningField") if part is not None else ():
            name = entry.attributes.get("name", "")
            usage = entry.attributes.get("usageType", "active")
            if usage in ("predicted", "target") and part is schema:
                target = name
            elif usage == "active":
                active += [name] if part is schema else []
                # What the model around does to a value comes first; the schema inside repeats it, or leaves it out.
                if (
                    name not in by_name
                    or TREATMENTS & set(entry.attributes)
                    or not TREATMENTS & set(by_name[name].attributes)
                ):
                    by_name[name] = entry
    if len(set(active)) < len(active):
        raise damaged("the MiningSchema names a field twice.")
    names = tuple(dict.fromkeys(sources.get(name, name) for name in active))
    labels: tuple[Scalar, ...] = ()
    if target is not None and target in entries and target not in (domain or ()):
        listed = entries[target].below("Value")
        if all(value.attributes.get("property", "valid") == "valid" for value in listed):
            texts = [value.attributes.get("value", "") for value in listed]
            labels = tuple(dict.fromkeys(typed(text, types[target]) for text in texts))
    kind = types.get(target or "", "string")
    by_name = {sources.get(name, name): entry for name, entry in by_name.items()}
    return Fields(entries, by_name, types, names, labels, kind, sources, rounded, steps, pieces)


def _pieces(
    parts: Sequence[Element | None], types: Mapping[str, str], sources: Mapping[str, str]
) -> dict[str, tuple[Pieces, str]]:
    """Return the derived fields that are computed piece by piece of one field, as :class:`Fields` has them."""
    listed = [child for part in parts if part is not None for child in part.children]
    derived, functions = (
        {child.attributes.get("name", ""): child for child in listed if child.tag == tag}
        for tag in ("DerivedField", "DefineFunction")
    )
    reader, out = DerivedFields(derived, functions, types, typed), {}
    for name in derived.keys() - sources.keys() - types.keys():
        with suppress(UnsupportedModelError):  # Where it is tested, the model is refused.
            own = reader.field(name)
            if own.source is not None:
                out[name] = own, derived[name].attributes.get("dataType", "string")
    return out


def typed(text: str, kind: str) -> Scalar:
    """Return a text as a value of a data type of PMML."""
    bare = text.strip()
    if kind == "boolean" and bare in ("true", "false", "1", "0"):
        return bare in ("true", "1")
    if kind in NUMERIC:
        if NUMBER.fullmatch(bare) is None or not abs(value := float(bare)) <= 1e300:
            raise InvalidModelError(f"{text!r:.40} is not a finite number, which its {kind} field needs.")
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return text


def number_of(text: str) -> float:
    """Return the number that an attribute of the file holds."""
    return float(typed(text, "double"))


def value_of(name: str, text: str, kind: str, domain: Domain | None) -> Scalar:
    """Return a value of a field as the domain spells it."""
    attribute = attribute_of(name, domain)
    number = typed(text, kind)
    if not isinstance(attribute, Category | Binary):
        return number
    values: Sequence[Scalar] = (0, 1) if isinstance(attribute, Binary) else attribute.values
    truth = {"true": 1, "false": 0}.get(text.lower(), number) if isinstance(attribute, Binary) else number
    for value in values:
        if str(value) == text or (isinstance(value, str) == isinstance(truth, str) and value == truth):
            return value
    if not isinstance(number, str) and not any(isinstance(value, str) for value in values):
        return number
    raise InvalidModelError(f"{text!r:.40} is not a value of {name!r}.{near(text, map(str, values))}")


TREATMENTS = frozenset(("outliers", "missingValueReplacement", "missingValueTreatment", "invalidValueTreatment"))
DATA_FIELD = frozenset(("name", "displayName", "optype", "dataType", "isCyclic"))
MINING_FIELD = TREATMENTS | {"name", "usageType", "optype", "importance", "lowValue", "highValue"}
MINING_FIELD |= {"invalidValueReplacement"}
CLOSED = {
    "openOpen": (False, False),
    "openClosed": (False, True),
    "closedOpen": (True, False),
    "closedClosed": (True, True),
}


def tested_field(predicate: Element, fields: Fields, domain: Domain | None) -> str:
    """Return the field that a predicate tests."""
    name = predicate.attributes.get("field", "")
    name = fields.sources.get(name, name)
    if name not in fields.types or name not in fields.active:
        raise UnsupportedModelError(
            f"the model tests {name!r:.60}, which is no active field, nor computed of one in a way that is read.",
            remedy="Write the file without such transformations, or give the model as JSON or a skops file.",
        )
    require(name, domain, "the PMML model tests")
    return name


def values_of(name: str, fields: Fields, domain: Domain | None, *, gaps: bool) -> Values:
    """Return what a model does with the values of a field.

    ``gaps`` says whether the file speaks of missing values, so that without a domain there can be some.
    """
    entry, use = fields.entries[name], fields.schema[name].attributes
    _check_known(entry, DATA_FIELD, ("Extension", "Interval", "Value"))
    _check_known(fields.schema[name], MINING_FIELD, ("Extension",))
    attribute, kind = attribute_of(name, domain), fields.types[name]
    everything = NUMBERS if kind in NUMERIC or kind == "boolean" else TEXTS
    universe = everything if attribute is None else declared(attribute)
    listed: dict[str, list[Scalar]] = {"valid": [], "invalid": [], "missing": []}
    for value in entry.below("Value"):
        sort = value.attributes.get("property", "valid")
        if sort not in listed:
            raise damaged(f"a Value of {name!r:.60} has the property {sort!r:.40}.")
        if sort == "missing" and kind in NUMERIC and value.attributes.get("value", "").strip() == "NaN":
            continue  # which is how records hold a missing number
        listed[sort] += _listed_value(name, value.attributes.get("value", ""), kind, domain, must=sort == "valid")
    valid = Region.of(listed["valid"])
    for interval in entry.below("Interval"):
        valid = valid | _interval(name, interval, fields.types[name])
    valid = (valid if entry.below("Interval") or listed["valid"] else ~NOTHING) - Region.of(listed["invalid"])
    missing = Region.of(listed["missing"])
    text = use.get("missingValueReplacement")
    role: Role = "missing" if text is None else (value_of(name, text, kind, domain),)
    refused = use.get("missingValueTreatment") == "returnInvalid"
    special, invalid = [(missing, role)], missing if refused else NOTHING
    treatment = use.get("invalidValueTreatment", "returnInvalid")
    replaced = use.get("invalidValueReplacement")
    left = ~NOTHING - missing
    if within(left - valid, universe, attribute).empty or (treatment == "asIs" and replaced is None):
        pass  # no value is invalid, or those that are count as they are
    elif treatment == "asMissing" and replaced is None:
        special.append((left - valid, role))
        invalid = invalid | (left - valid) if refused else invalid
    elif treatment == "asValue" and replaced is not None:
        special.append((left - valid, (value_of(name, replaced, kind, domain),)))
    elif treatment == "returnInvalid" and replaced is None:
        invalid = invalid | (left - valid)
    else:
        raise UnsupportedModelError(
            f"the MiningField {name!r:.60} treats invalid values by {treatment!r:.40}"
            f"{' with' if replaced is not None else ' without'} a replacement, which evaluators read in several ways.",
            remedy="Give a domain that allows valid values only, or write returnInvalid, asIs or asMissing.",
        )
    special += _extremes(name, use, valid & left, role)
    if refused and use.get("outliers") == "asMissingValues":
        invalid = invalid.union(region for region, _ in special)
    # Nothing is two things: what a value is taken as first counts.
    tested = universe - invalid
    plain, kept = tested, []
    for region, taken in special:
        part = within(region & plain, universe, attribute)
        if not part.empty:
            kept.append((part, taken))
            plain = plain - part
    possible = attribute.missing if attribute is not None else gaps or role != "missing"
    return Values(
        universe=tested,
        plain=plain,
        special=tuple(kept),
        gap=role if possible and not refused else None,
        invalid=NOTHING if attribute is None else within(invalid & universe, universe, attribute),
        needs_value=refused and attribute is not None and attribute.missing,
        order=tuple(listed["valid"]),
    )


def _check_known(element: Element, attributes: frozenset[str], inside: Sequence[str]) -> None:
    """Raise UnsupportedModelError if a field says something that is not known, which may change its values."""
    odd = [name for name in element.attributes if name not in attributes]
    odd += [child.tag for child in element.children if child.tag not in inside]
    if odd:
        raise UnsupportedModelError(
            f"the {element.tag} {element.attributes.get('name', '')!r:.60} states {odd[0]!r:.40}, which is not read.",
            remedy="Write the file without it, if it does not change values.",
        )


def _listed_value(name: str, text: str, kind: str, domain: Domain | None, *, must: bool) -> list[Scalar]:
    """Return a listed value; nothing where the domain has no such value, unless it must have it."""
    try:
        return [value_of(name, text, kind, domain)]
    except InvalidModelError:
        if attribute_of(name, domain) is None or must:
            raise
        return []


def _interval(name: str, element: Element, kind: str) -> Region:
    closed = CLOSED.get(element.attributes.get("closure", ""))
    if closed is None:
        raise damaged(f"an Interval of {name!r:.60} has the closure {element.attributes.get('closure')!r:.40}.")
    margins = [element.attributes.get(key) for key in ("leftMargin", "rightMargin")]
    lo = -math.inf if margins[0] is None else number_of(margins[0])
    hi = math.inf if margins[1] is None else number_of(margins[1])
    if closed[0] and lo > -math.inf:
        lo = math.ceil(lo) - 1.0 if kind == "integer" else math.nextafter(lo, -math.inf)
    if not closed[1] and hi < math.inf:
        hi = math.nextafter(hi, -math.inf)
    return Region(((lo, hi),)) if lo < hi else NOTHING


def _extremes(name: str, use: Mapping[str, str], valid: Region, missing: Role) -> Iterator[tuple[Region, Role]]:
    """Yield the extreme values that the model does not take as they are."""
    outliers = use.get("outliers", "asIs")
    if outliers == "asIs":
        return
    if outliers not in ("asMissingValues", "asExtremeValues"):
        raise damaged(f"the MiningField {name!r:.60} treats outliers by {outliers!r:.40}.")
    ends = [use.get(key) for key in ("lowValue", "highValue")]
    if None in ends:
        raise damaged(f"the MiningField {name!r:.60} treats outliers, but does not say which values are.")
    low, high = (number_of(str(end)) for end in ends)
    for region, end in (
        (Region(((-math.inf, math.nextafter(low, -math.inf)),)), low),
        (Region(((high, math.inf),)), high),
    ):
        yield region & valid, missing if outliers == "asMissingValues" else (end,)
