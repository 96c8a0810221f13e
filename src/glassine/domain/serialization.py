"""Domains as JSON, schema ``glassine.domain/1``."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from glassine.domain.attributes import Attribute, Binary, Category, Integer, Real
from glassine.domain.domain import Domain
from glassine.domain.groups import AtMostOne, Combinations, ExactlyOne, Group, Implies, Intervals
from glassine.errors import GlassineError, InvalidDomainError
from glassine.files import read_json, write_json

__all__ = ["SCHEMA", "from_dict", "read", "schema", "to_dict", "write"]

SCHEMA = "glassine.domain/1"
ATTRIBUTES: Mapping[str, type[Attribute]] = {"integer": Integer, "real": Real, "category": Category, "binary": Binary}
GROUPS: Mapping[str, type[Group]] = {
    "exactly-one": ExactlyOne,
    "at-most-one": AtMostOne,
    "implies": Implies,
    "intervals": Intervals,
    "combinations": Combinations,
}
FIELDS = {
    cls: {field.name: field.default is dataclasses.MISSING for field in dataclasses.fields(cls)}
    for cls in (*ATTRIBUTES.values(), *GROUPS.values())
    if dataclasses.is_dataclass(cls)
}
"""Of each class its fields, and whether each must be given."""


def _encode(kinds: Mapping[str, type[Any]], value: Any) -> dict[str, Any]:
    kind = next(name for name, cls in kinds.items() if type(value) is cls)
    out: dict[str, Any] = {"type": kind}
    for field in dataclasses.fields(value):
        entry = getattr(value, field.name)
        if field.default is dataclasses.MISSING or entry != field.default:
            out[field.name] = entry
    return out


def to_dict(domain: Domain) -> dict[str, Any]:
    """Return a domain as plain JSON values."""
    return {
        "schema": SCHEMA,
        "attributes": [{"name": name, **_encode(ATTRIBUTES, domain[name])} for name in domain],
        "groups": [_encode(GROUPS, group) for group in domain.groups],
    }


def _decode(kinds: Mapping[str, type[Any]], entry: Any, what: str) -> Any:
    if not isinstance(entry, dict):
        raise InvalidDomainError(f"{what} must be an object, got {type(entry).__name__}.")
    kind = entry.get("type")
    if not isinstance(kind, str) or kind not in kinds:
        raise InvalidDomainError(f"{what} has type {kind!r}. Use one of {', '.join(kinds)}.")
    cls = kinds[kind]
    given = {key: value for key, value in entry.items() if key not in ("type", "name")}
    fields = FIELDS[cls]
    for key in given:
        if key not in fields:
            raise InvalidDomainError(f"{what} has an unknown key {key!r}. Known: {', '.join(fields)}.")
    for key, required in fields.items():
        if required and key not in given:
            raise InvalidDomainError(f"{what} lacks the key {key!r}.")
        if key in ("missing", "inferred") and not isinstance(given.get(key, False), bool):
            raise InvalidDomainError(f"{what}: {key!r} must be true or false, got {given[key]!r}.")
        if key in ("values", "thresholds", "attributes", "rows") and not isinstance(given.get(key, []), list):
            raise InvalidDomainError(f"{what}: {key!r} must be a list, got {given[key]!r}.")
    if "intervals" in given:
        spans = given["intervals"]
        if not isinstance(spans, dict) or not all(isinstance(span, list) for span in spans.values()):
            raise InvalidDomainError(f"{what}: 'intervals' must map names to two bounds, got {spans!r}.")
        given["intervals"] = {name: tuple(span) for name, span in spans.items()}
    try:
        return cls(**given)
    except GlassineError as error:
        raise InvalidDomainError(f"{what}: {error}") from None
    except TypeError as error:
        raise InvalidDomainError(f"{what} holds a value of the wrong kind: {error}.") from None


def from_dict(data: Any) -> Domain:
    """Return the domain that plain JSON values describe.

    Raises
    ------
    InvalidDomainError
        If a key is missing, unknown or of the wrong kind, or the schema version is another.
    """
    if not isinstance(data, dict) or "schema" not in data:
        raise InvalidDomainError(f'a domain must be a JSON object with "schema": "{SCHEMA}".')
    if data["schema"] != SCHEMA:
        raise InvalidDomainError(f"this version reads domains of schema {SCHEMA!r}, got {data['schema']!r}.")
    extra = set(data) - {"schema", "attributes", "groups"}
    if extra:
        raise InvalidDomainError(f"a domain has an unknown key {min(extra)!r}. Known: schema, attributes, groups.")
    entries, groups = data.get("attributes"), data.get("groups", [])
    if not isinstance(entries, list) or not isinstance(groups, list):
        raise InvalidDomainError("a domain's attributes and groups must be lists.")
    attributes: dict[str, Attribute] = {}
    for position, entry in enumerate(entries):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise InvalidDomainError(f"attribute {position} needs a name, a string, got {name!r}.")
        if name in attributes:
            raise InvalidDomainError(f"attribute {name!r} is declared twice. Drop one.")
        attributes[name] = _decode(ATTRIBUTES, entry, f"attribute {name!r}")
    return Domain(attributes, groups=[_decode(GROUPS, g, f"group {i}") for i, g in enumerate(groups)])


def read(path: str | os.PathLike[str]) -> Domain:
    """Read a domain from a file."""
    return from_dict(read_json(path))


def write(domain: Domain, path: str | os.PathLike[str]) -> None:
    """Write a domain to a file, whole or not at all."""
    write_json(to_dict(domain), path)


def schema() -> dict[str, Any]:
    """Return the JSON schema of ``glassine.domain/1``."""
    number, flag = {"type": "number"}, {"type": "boolean"}
    numbers, names = {"type": "array", "items": number}, {"type": "array", "items": {"type": "string"}}
    common = {"missing": flag, "inferred": flag}
    whole = {"type": "integer"}

    def entry(kind: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {"type": {"const": kind}, **properties},
            "required": ["type", *required],
            "additionalProperties": False,
        }

    name = {"name": {"type": "string", "minLength": 1}}
    values = {"type": "array", "items": {"type": ["string", "number", "boolean"]}, "minItems": 1, "uniqueItems": True}
    bound = {"type": ["integer", "null"]}
    attributes = [
        entry("integer", {**name, "lo": whole, "hi": whole, "thresholds": numbers, **common}, ["name", "lo", "hi"]),
        entry(
            "real",
            {
                **name,
                "lo": number,
                "hi": number,
                "resolution": {"type": ["number", "null"]},
                "thresholds": numbers,
                **common,
            },
            ["name", "lo", "hi"],
        ),
        entry("category", {**name, "values": values, **common}, ["name", "values"]),
        entry("binary", {**name, **common}, ["name"]),
    ]
    spans = {"type": "object", "additionalProperties": {"type": "array", "items": bound, "minItems": 2, "maxItems": 2}}
    rows = {"type": "array", "items": {"type": "array", "items": {"enum": [0, 1]}}}
    groups = [
        *(entry(kind, {"attributes": names}, ["attributes"]) for kind in ("exactly-one", "at-most-one", "implies")),
        entry("intervals", {"lo": whole, "hi": whole, "intervals": spans}, ["lo", "hi", "intervals"]),
        entry("combinations", {"attributes": names, "rows": rows}, ["attributes", "rows"]),
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "type": "object",
        "properties": {
            "schema": {"const": SCHEMA},
            "attributes": {"type": "array", "items": {"oneOf": attributes}, "minItems": 1},
            "groups": {"type": "array", "items": {"oneOf": groups}},
        },
        "required": ["schema", "attributes"],
        "additionalProperties": False,
    }
