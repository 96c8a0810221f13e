"""The JSON schema of findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from glassine.attacks.outcome import Hidden
from glassine.auditing.additive import AdditiveSubject
from glassine.auditing.ensemble import EnsembleSubject
from glassine.auditing.findings.root import SCHEMA, Findings
from glassine.auditing.regression import RegressionSubject
from glassine.auditing.release import ReleaseSubject
from glassine.auditing.several import SeveralSubject
from glassine.auditing.several_regressions import SeveralRegressionsSubject
from glassine.auditing.summaries import SummarySubject
from glassine.auditing.trees import TreeSubject
from glassine.codec import LARGEST

MEASURED: dict[str, Any] = {
    m.name: m.finding
    for kind in (
        ReleaseSubject,
        SeveralSubject,
        SeveralRegressionsSubject,
        SummarySubject,
        AdditiveSubject,
        RegressionSubject,
        EnsembleSubject,
        TreeSubject,
    )
    for m in kind.measurements
}
"""What findings hold of each measurement, by its name."""


def schema() -> dict[str, Any]:
    """Return the JSON schema of ``glassine.findings/12``."""
    hints = get_type_hints(Findings)
    names = [field.name for field in dataclasses.fields(Findings) if field.name not in ("holder", "measured")]
    properties: dict[str, Any] = {
        "schema": {"const": SCHEMA},
        "decision": {"type": "string"},
        **{name: _type_schema(hints[name]) for name in names},
    }
    properties["holder"] = {"anyOf": [{"type": "null"}, {"$ref": "#"}]}
    properties["measured"] = {
        "type": "object",
        "properties": {name: _outcome_schema(finding) for name, finding in MEASURED.items()},
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _outcome_schema(finding: object) -> dict[str, Any]:
    """Return the schema of an outcome: the finding's own fields where it is a record, else its value."""
    fields = {"value": _type_schema(finding)}
    if dataclasses.is_dataclass(finding):
        fields = _class_schema(cast("type[Any]", finding))["properties"]
    measured = _object({"status": {"const": "measured"}, **fields})
    reason = _object({"status": {"enum": ["not applicable", "failed"]}, "reason": {"type": "string"}})
    return {"oneOf": [measured, reason]}


def _class_schema(cls: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return _object({field.name: _type_schema(hints[field.name]) for field in dataclasses.fields(cls)})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _type_schema(hint: object) -> dict[str, Any]:
    if hint is Hidden:
        return {"type": "null"}
    if hint is object:
        return {}
    names = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}
    if hint in names:
        return {"type": names[hint]}
    if dataclasses.is_dataclass(hint):
        return _class_schema(cast("type[Any]", hint))
    origin, args = get_origin(hint), get_args(hint)
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _type_schema(args[1])}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is Sequence:
        return {"type": "array", "items": _type_schema(args[0])}
    if origin is tuple:
        if args[-1] is Ellipsis:
            return {"type": "array", "items": _type_schema(args[0])}
        return {"type": "array", "prefixItems": [_type_schema(arg) for arg in args], "minItems": len(args)}
    return {"anyOf": [_type_schema(arg) for arg in args]}


_schema = cache(schema)


def fault(plain: object, expected: Mapping[str, Any] | None = None, place: str = "findings") -> str | None:
    """Return the place where plain values are not as a schema says, that of findings by default; None if all are."""
    expected = _schema() if expected is None or expected.get("$ref") == "#" else expected
    for choices in filter(None, (expected.get("anyOf"), expected.get("oneOf"))):
        faults = [fault(plain, choice, place) for choice in choices]
        # The choice that goes deepest is the one that was meant.
        return None if None in faults else max(filter(None, faults), key=len)
    if ("const" in expected and plain != expected["const"]) or ("enum" in expected and plain not in expected["enum"]):
        return place
    if "type" in expected and not _is_type(plain, expected["type"]):
        return place
    inner: list[tuple[object, Any, str]] = []
    if isinstance(plain, Mapping):
        properties, rest = expected.get("properties", {}), expected.get("additionalProperties", {})
        if not plain.keys() >= set(expected.get("required", ())) or (
            rest is False and not plain.keys() <= properties.keys()
        ):
            return place
        inner = [(entry, properties.get(key, rest), f"{place}.{key:.40}") for key, entry in plain.items()]
    elif isinstance(plain, list | tuple):
        heads = expected.get("prefixItems", ())
        if len(plain) < expected.get("minItems", 0):
            return place
        kinds = heads or [expected.get("items", {})] * len(plain)
        inner = [(entry, kind, f"{place}[{i}]") for i, (entry, kind) in enumerate(zip(plain, kinds, strict=False))]
    return next(filter(None, (fault(*one) for one in inner)), None)


def _is_type(plain: object, name: str) -> bool:
    if name in ("integer", "number"):
        numbers = int if name == "integer" else int | float
        # What is not finite, or too large for a float, is no number of a report.
        return isinstance(plain, numbers) and not isinstance(plain, bool) and abs(plain) <= LARGEST
    kinds: dict[str, Any] = {
        "null": type(None),
        "boolean": bool,
        "string": str,
        "object": Mapping,
        "array": list | tuple,
    }
    return isinstance(plain, kinds[name])
