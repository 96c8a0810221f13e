"""What the service takes and gives: queries of a domain as JSON, and their schema for OpenAPI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from glassine.codec import LARGEST, decoded
from glassine.domain import Attribute, Binary, Category, Domain, Integer, Real
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.surrogates.explainer_values import CONSTRAINTS, UNCONSTRAINED, ContrastConstraints
from glassine.surrogates.surrogate_release import MAX_CLOSEST, SurrogateRelease

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRequest:
    """One request for a decision or an explanation."""

    query: dict[str, Scalar | None]  # The record, checked against the domain
    guided: bool = True  # Protocol 2 or Protocol 1
    n_closest: int | None = None  # Representatives that Protocol 2 tries; None for the release's own number
    decision: Scalar | None = None  # The decision to explain, where the service has no black box
    constraints: ContrastConstraints = UNCONSTRAINED  # What contrasts may change


def read_asked(value: object, release: SurrogateRelease, *, explained: bool, decides: bool) -> ServiceRequest:
    """Return a request's JSON as plain values, or refuse it."""
    if not isinstance(value, dict):
        raise InvalidDataError(f"the request must be a JSON object, got {_kind(value)}.")
    keys = {"query"}
    if explained:
        keys |= {"constraints", "guided", "n_closest"} | (set() if decides else {"decision"})
    for name in value:
        if name not in keys:
            raise InvalidDataError(f"the request has the unknown key {_short(name)}. Known: {', '.join(sorted(keys))}.")
    if "query" not in value:
        raise InvalidDataError("the request lacks the key 'query', the record as an object.", remedy="Add it.")
    guided, n_closest = value.get("guided", True), value.get("n_closest")
    if not isinstance(guided, bool):
        raise InvalidDataError("'guided' must be true or false.")
    if "n_closest" in value and not (_whole(n_closest) and 1 <= value["n_closest"] <= MAX_CLOSEST):
        raise InvalidDataError(f"'n_closest' must be a whole number from 1 to {MAX_CLOSEST}.")
    decision = None
    if explained and not decides:
        decision = _decision(value.get("decision"), release)
    return ServiceRequest(
        query=_query(value["query"], release),
        guided=guided,
        n_closest=None if n_closest is None else int(n_closest),
        decision=decision,
        constraints=_constraints(value["constraints"], release) if "constraints" in value else UNCONSTRAINED,
    )


def _decision(value: object, release: SurrogateRelease) -> Scalar:
    """Return the class that a request names, or its number."""
    if release.answer is None:
        return _listed(value, release.classes, "'decision'")
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise InvalidDataError(f"'decision' must be a number, got {_kind(value)}.")
    return value


def _constraints(value: object, release: SurrogateRelease) -> ContrastConstraints:
    constraints = decoded(CONSTRAINTS, value, "'constraints'", InvalidDataError)
    try:
        constraints.check(release.domain, numeric=release.answer is not None)
    except InvalidParameterError as error:
        raise InvalidDataError(str(error)) from None
    return constraints


def _query(value: object, release: SurrogateRelease) -> dict[str, Scalar | None]:
    if not isinstance(value, dict):
        raise InvalidDataError(f"'query' must be an object of values by attribute, got {_kind(value)}.")
    for name, entry in value.items():
        # Numbers in texts are read, as web forms send them.
        number = name in release.domain and isinstance(release.domain[name], Integer | Real)
        if number and entry is not None and (isinstance(entry, bool) or not isinstance(entry, int | float | str)):
            raise InvalidDataError(f"{name!r} must be a finite number, got {_kind(entry)}.")
    record = release.query(value)
    # Bounds that were inferred are bounds here: the release says nothing of what lies beyond them.
    for name in release.domain:
        number = isinstance(release.domain[name], Integer | Real)
        if record[name] is not None:
            _check_value(name, release.domain[name], record[name] if number else value[name])
    return record


def _check_value(name: str, attribute: Attribute, value: Any) -> None:
    if isinstance(attribute, Category):
        _listed(value, attribute.values, repr(name))
    elif isinstance(attribute, Binary):
        _listed(value, (0, 1, False, True), repr(name))
    elif not attribute.lo <= value <= attribute.hi:
        raise InvalidDataError(f"{name!r} must lie in [{attribute.lo}, {attribute.hi}], got {_short(value)}.")
    elif isinstance(attribute, Integer) and value != int(value):
        raise InvalidDataError(f"{name!r} must be a whole number, got {_short(value)}.")


def _listed(value: object, values: tuple[Scalar, ...], what: str) -> Scalar:
    """Return the listed value that a JSON value is; true and 1 are different values there."""
    for entry in values:
        if isinstance(entry, bool) == isinstance(value, bool) and entry == value:
            return entry
    some = ", ".join(map(repr, values[:8])) + (" and others" if len(values) > 8 else "")
    raise InvalidDataError(f"{what} must be one of {some}.")


def _whole(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1


def _kind(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "true or false", type(None): "null", dict: "an object"}
    return names.get(type(value), "a number")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def contract_of(release: SurrogateRelease, *, decides: bool) -> dict[str, Json]:
    """Return the JSON schemas of the service's values by name, for OpenAPI."""
    query = _object({name: _attribute(release.domain[name]) for name in release.domain})
    labels = {"enum": list(release.classes)} if release.answer is None else {"type": "number"}
    asked: Json = {"query": {"$ref": "#/components/schemas/Query"}}
    wanted: Json = {
        **asked,
        "guided": {"type": "boolean", "default": True, "description": "Protocol 2, else Protocol 1."},
        "n_closest": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_CLOSEST,
            "default": release.n_closest,
            "description": "Closest representatives that Protocol 2 tries.",
        },
        "constraints": {"$ref": "#/components/schemas/Constraints"},
    }
    needed = ["query"]
    if not decides:
        wanted["decision"] = labels
        needed = ["query", "decision"]
    return {
        "Query": {**query, "description": "One record: a value for each attribute."},
        "DecisionRequest": _object(asked),
        "ExplanationRequest": _object(wanted, needed),
        "Constraints": _constraints_schema(release),
        "Decision": _object({"decision": _scalar()}),
        "Explanation": _explanation(release.domain),
        "Problem": {
            **_object({"title": {"type": "string"}, "status": {"type": "integer"}, "detail": {"type": "string"}}),
            "description": "What is wrong with the request.",
        },
    }


def _constraints_schema(release: SurrogateRelease) -> Json:
    domain = release.domain

    def some(names: list[str], text: str) -> Json:
        return {"type": "array", "items": {"enum": names}, "description": text}

    names = list(domain)
    ordered = [name for name in names if not isinstance(domain[name], Category)]
    cost: Json = {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST}
    bound: Json = {"type": ["number", "null"], "minimum": -LARGEST, "maximum": LARGEST}
    sought: Json = {
        "at_least": {**bound, "description": "Smallest answer that contrasts lead to."},
        "at_most": {**bound, "description": "Largest answer that contrasts lead to."},
    }
    schema = _object(
        {
            "fixed": some(names, "Attributes that keep their value."),
            "only_up": some(ordered, "Attributes that may only rise."),
            "only_down": some(ordered, "Attributes that may only fall."),
            "costs": {
                **_object(dict.fromkeys(names, cost), []),
                "description": "Cost of a change by one unit of the distance; 1 for others.",
            },
            **({} if release.answer is None else sought),
        },
        [],
    )
    return {**schema, "description": "What contrasts may change."}


def _explanation(domain: Domain) -> Json:
    whole: Json = {"type": "integer", "minimum": 0}
    texts: Json = {"type": "array", "items": {"type": "string"}}
    change = _object(
        {"attribute": {"type": "string"}, "condition": {"type": "string"}, "from": _scalar(True), "to": _scalar(True)}
    )
    contrast = _object(
        {
            "decision": _scalar(),
            "changes": {"type": "array", "items": change, "minItems": 1},
            "distance": {"type": "number", "minimum": 0},
            "confirmed": {"type": ["boolean", "null"], "description": "Whether the black box decides so, if asked."},
            "cost": {"type": ["number", "null"], "minimum": 0, "description": "By the costs of the constraints."},
        }
    )
    return _object(
        {
            "decision": _scalar(),
            "tree_decision": _scalar(),
            "agrees": {"type": "boolean"},
            "group": whole,
            "rank": {"type": ["integer", "null"], "minimum": 1},
            "guided": {"type": "boolean"},
            "n_closest": {"type": "integer", "minimum": 1},
            "distance": {"type": "number", "minimum": 0},
            "representative": _object({name: _scalar(True) for name in domain}),
            "tree": {"type": "object", "description": "The small tree, schema glassine.model/1."},
            "path": {"type": "array", "items": whole, "minItems": 1},
            "conditions": texts,
            "contrasts": {
                "type": "array",
                "items": contrast,
                "description": "Changes that lead the black box elsewhere; none where it is not asked.",
            },
            "candidates": {
                "type": "array",
                "items": contrast,
                "description": "Changes that lead the small tree alone elsewhere: the black box refutes them, or was "
                "not asked.",
            },
            "tolerance": {"type": ["number", "null"], "description": "Of numbers: what is taken for agreement."},
            "goal": {
                "enum": ["met", "within reach", "out of reach", None],
                "description": "Of a number that is sought: whether the mean is so, or allowed changes lead there.",
            },
            "reveals": {**texts, "description": "What this answer reveals about the records behind it."},
        }
    )


def _object(properties: Json, required: list[str] | None = None) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


def _scalar(missing: bool = False) -> Json:
    return {"type": ["string", "number", "boolean", *(["null"] if missing else [])]}


def _attribute(attribute: Attribute) -> Json:
    if isinstance(attribute, Category):
        listed = [*attribute.values, *([None] if attribute.missing else [])]
        return {"enum": listed}
    if isinstance(attribute, Binary):
        return {"enum": [0, 1, False, True, *([None] if attribute.missing else [])]}
    kind = "integer" if isinstance(attribute, Integer) else "number"
    return {"type": [kind, "null"] if attribute.missing else kind, "minimum": attribute.lo, "maximum": attribute.hi}
