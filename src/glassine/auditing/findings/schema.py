"""The JSON schema of findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from glassine.attacks.alignment import ErrorEstimate
from glassine.attacks.labels import LabelDisclosure
from glassine.attacks.outcome import Hidden
from glassine.attacks.values import ValueLeakage
from glassine.auditing.findings.membership import MembershipFinding
from glassine.auditing.findings.sensitive import SensitiveFinding
from glassine.auditing.findings.values import SCHEMA, Findings, ReconstructionFinding, SubgroupFinding

__all__ = ["schema"]


def schema() -> dict[str, Any]:
    """Return the JSON schema of ``glassine.findings/6``."""
    outcomes = {
        "reconstruction": ReconstructionFinding,
        "labels": LabelDisclosure,
        "values": ValueLeakage,
        "alignment": ErrorEstimate,
        "membership": MembershipFinding,
        "disclosure": SensitiveFinding,
    }
    properties: dict[str, Any] = {"schema": {"const": SCHEMA}}
    hints = get_type_hints(Findings)
    for field in dataclasses.fields(Findings):
        if field.name == "holder":
            continue
        if field.name in outcomes:
            properties[field.name] = _outcome_schema(_class_schema(outcomes[field.name]))
        elif field.name in ("subgroups", "exposed_rows"):
            items = _class_schema(SubgroupFinding) if field.name == "subgroups" else {"type": "integer"}
            properties[field.name] = _outcome_schema({"properties": {"value": {"type": "array", "items": items}}})
        else:
            properties[field.name] = _type_schema(hints[field.name])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _outcome_schema(measured: dict[str, Any]) -> dict[str, Any]:
    value = {key: entry for key, entry in measured.items() if key != "additionalProperties"}
    properties = {"status": {"const": "measured"}, **measured["properties"]}
    reason = {
        "type": "object",
        "properties": {"status": {"enum": ["not applicable", "failed"]}, "reason": {"type": "string"}},
        "required": ["status", "reason"],
        "additionalProperties": False,
    }
    whole = {**value, "type": "object", "properties": properties, "required": list(properties)}
    return {"oneOf": [{**whole, "additionalProperties": False}, reason]}


def _class_schema(cls: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    properties = {field.name: _type_schema(hints[field.name]) for field in dataclasses.fields(cls)}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _type_schema(hint: Any) -> dict[str, Any]:
    names = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}
    if hint is Hidden:
        return {"type": "null"}
    if hint in names:
        return {"type": names[hint]}
    if dataclasses.is_dataclass(hint):
        return _class_schema(cast("type[Any]", hint))
    origin, args = get_origin(hint), get_args(hint)
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _type_schema(args[1])}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is tuple:
        if args[-1] is Ellipsis:
            return {"type": "array", "items": _type_schema(args[0])}
        return {"type": "array", "prefixItems": [_type_schema(arg) for arg in args], "minItems": len(args)}
    return {"anyOf": [_type_schema(arg) for arg in args]}
