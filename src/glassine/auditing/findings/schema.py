"""The JSON schema of findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from glassine.attacks.alignment import ErrorEstimate
from glassine.attacks.labels import LabelDisclosure
from glassine.attacks.outcome import Hidden
from glassine.attacks.values import ValueLeakage
from glassine.auditing.findings.additive import AdditiveFinding
from glassine.auditing.findings.disclosure import DisclosureFinding
from glassine.auditing.findings.joint import JointFinding
from glassine.auditing.findings.membership import MembershipFinding
from glassine.auditing.findings.root import SCHEMA, Findings
from glassine.auditing.findings.rows import RowsFinding
from glassine.auditing.findings.surrogates import (
    DiversityFinding,
    FormsFinding,
    GapFinding,
    GroupsFinding,
    GuessFinding,
    LeavesFinding,
    RepresentativesFinding,
    ThresholdsFinding,
    TogetherFinding,
)
from glassine.auditing.findings.values import PartsFinding, ReconstructionFinding, SubgroupFinding

__all__ = ["MEASURED", "schema"]

MEASURED: dict[str, Any] = {
    "parts": PartsFinding,
    "reconstruction": ReconstructionFinding,
    "labels": LabelDisclosure,
    "values": ValueLeakage,
    "subgroups": tuple[SubgroupFinding, ...],
    "exposed_rows": tuple[int, ...],
    "alignment": ErrorEstimate,
    "membership": MembershipFinding,
    "disclosure": DisclosureFinding,
    "rows": RowsFinding,
    "terms": AdditiveFinding,
    "representatives": RepresentativesFinding,
    "thresholds": ThresholdsFinding,
    "groups": GroupsFinding,
    "diversity": tuple[DiversityFinding, ...],
    "leaves": LeavesFinding,
    "together": TogetherFinding,
    "guesses": tuple[GuessFinding, ...],
    "gaps": tuple[GapFinding, ...],
    "forms": FormsFinding,
    "joint": JointFinding,
}
"""What each measurement finds, by its name."""


def schema() -> dict[str, Any]:
    """Return the JSON schema of ``glassine.findings/6``."""
    hints = get_type_hints(Findings)
    names = [field.name for field in dataclasses.fields(Findings) if field.name not in ("holder", "measured")]
    properties: dict[str, Any] = {"schema": {"const": SCHEMA}, **{name: _type_schema(hints[name]) for name in names}}
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


def _outcome_schema(finding: Any) -> dict[str, Any]:
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
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _type_schema(hint: Any) -> dict[str, Any]:
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
    if origin is tuple:
        if args[-1] is Ellipsis:
            return {"type": "array", "items": _type_schema(args[0])}
        return {"type": "array", "prefixItems": [_type_schema(arg) for arg in args], "minItems": len(args)}
    return {"anyOf": [_type_schema(arg) for arg in args]}
