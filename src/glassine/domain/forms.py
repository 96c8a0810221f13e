"""Domains as people write them: TOML with comments, code books, and forms to fill in."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from glassine.domain.codes import codes_of, compact
from glassine.domain.domain import VALUE, WIDTH, Domain, filled, from_dict, to_dict
from glassine.domain.literals import Between, Literal
from glassine.domain.toml import FILL_IN, SCHEMA, Entry
from glassine.errors import InvalidDomainError
from glassine.files import read_text

GAPS = "The model says where records without a value go: add missing = true if it can be missing."

MOST_NAMED = 6
"""Thresholds that a comment names."""


def to_toml(domain: Domain, comments: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return a domain as TOML, with comments on its attributes.

    Examples
    --------
    >>> from glassine.domain import Integer
    >>> print(to_toml(Domain({"age": Integer(18, 99)}), {"age": ["in years"]}))
    schema = "glassine.domain/1"
    <BLANKLINE>
    [attributes.age]
    # in years
    type = "integer"
    lo = 18
    hi = 99
    """
    plain = to_dict(domain)
    return toml_of(plain["attributes"], plain.get("groups", ()), comments)


def toml_of(
    entries: Sequence[Entry], groups: Sequence[Entry] = (), comments: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Return attributes and groups, as plain values, as TOML; what is to be filled in may stand among them."""
    parts = [f'schema = "{SCHEMA}"']
    for entry in entries:
        lines = [f"[attributes.{_key(entry['name'])}]"]
        lines += [f"# {line}" for text in (comments or {}).get(entry["name"], ()) for line in text.splitlines()]
        stated = dict(entry)
        if entry.get("type") == "category" and (codes := compact(entry["values"])) is not None:
            stated = {"codes" if key == "values" else key: codes if key == "values" else stated[key] for key in stated}
        lines += [f"{_key(key)} = {_value(value)}" for key, value in stated.items() if key != "name"]
        parts.append("\n".join(lines))
    for group in groups:
        parts.append("\n".join(["[[groups]]", *(f"{_key(key)} = {_value(value)}" for key, value in group.items())]))
    return "\n\n".join(parts)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: object) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        inner = (f"{_key(key)} = {_text(v) if isinstance(v, str) else _interval(v)}" for key, v in value.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list | tuple):
        return _wrapped([_value(one) for one in value])
    return repr(value)


def _interval(ends: Sequence[int | None]) -> str:
    low, high = ends
    return f"[{'-inf' if low is None else low}, {'inf' if high is None else high}]"


def _wrapped(parts: Sequence[str]) -> str:
    """Return a list, on several lines where it is long: as many values a line as fit."""
    whole = f"[{', '.join(parts)}]"
    if len(whole) <= WIDTH - 20:
        return whole
    return "[\n" + "".join(f"   {text}\n" for text in filled(parts)) + "]"


# From a model alone: what it tests, with the bounds to be filled in.


def form_of_literals(literals: Iterable[Literal]) -> tuple[list[Entry], dict[str, list[str]]]:
    """Return a form of the attributes that conditions test, and comments on what is known of them.

    Types are guessed from the conditions, and bounds are left open: thresholds are no bounds, and that a model names
    some values does not make them all.

    Examples
    --------
    >>> from glassine.domain import OneOf
    >>> entries, comments = form_of_literals([Between("age", hi=40.5), OneOf("job", ("clerk", "baker"))])
    >>> entries[0], entries[1]["values"]
    ({'name': 'age', 'type': 'integer', 'lo': '?', 'hi': '?'}, ['baker', 'clerk'])
    """
    cuts: dict[str, set[float]] = {}
    values: dict[str, set[Any]] = {}
    gaps = set()
    for literal in literals:
        if literal.missing:
            gaps.add(literal.attribute)
        if isinstance(literal, Between):
            cuts.setdefault(literal.attribute, set()).update(
                end for end in (literal.lo, literal.hi) if math.isfinite(end)
            )
        else:
            values.setdefault(literal.attribute, set()).update(literal.values)
    entries: list[Entry] = []
    comments: dict[str, list[str]] = {}
    for name in dict.fromkeys([*cuts, *values]):
        entry, comment = _form(cuts.get(name, set()), values.get(name, set()))
        entries.append({"name": name, **entry})
        comments[name] = [*comment, GAPS] if name in gaps else comment
    return entries, comments


def _form(cuts: set[float], values: set[Any]) -> tuple[Entry, list[str]]:
    """Return what is known of an attribute with some thresholds and values, and comments."""
    if values and not cuts:
        if all(not isinstance(value, str) and value in (0, 1) for value in values):
            return {"type": "binary"}, ["The model compares it with 0 and 1."]
        listed = sorted(values, key=lambda value: (isinstance(value, str), value))
        return {"type": "category", "values": [VALUE.encode(value) for value in listed]}, [
            "The model names these values. Add all others that are possible."
        ]
    if cuts == {0.5} and not values:
        return {"type": "binary"}, ["The model asks whether it is 0 or 1. If it is another number, give its bounds."]
    if not cuts:
        return {"type": "real", "lo": FILL_IN, "hi": FILL_IN}, [
            "The model states no value of it. Give the smallest and the largest value that are possible.",
            'type = "integer" is for whole numbers. Of 0 and 1: type = "binary", without lo and hi.',
        ]
    some = ", ".join(f"{cut:g}" for cut in sorted(cuts)[:MOST_NAMED])
    more = f" and {len(cuts) - MOST_NAMED} more" if len(cuts) > MOST_NAMED else ""
    whole = all((2 * cut).is_integer() for cut in cuts)
    comment = [f"The model compares it with {some}{more}. Give the smallest and the largest value that are possible."]
    if not whole:
        return {"type": "real", "lo": FILL_IN, "hi": FILL_IN}, [
            *comment,
            "resolution = 0.1 would be the step of values.",
        ]
    return {"type": "integer", "lo": FILL_IN, "hi": FILL_IN}, comment


# Code books: a row for each attribute.


TYPES = {
    "integer": "integer",
    "int": "integer",
    "whole number": "integer",
    "real": "real",
    "float": "real",
    "number": "real",
    "decimal": "real",
    "category": "category",
    "text": "category",
    "string": "category",
    "binary": "binary",
    "boolean": "binary",
    "": "",
}
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
RANGE = re.compile(rf"\s*({NUMBER})\s*(?:\.\.|-|–|to)\s*({NUMBER})\s*(?:step\s+({NUMBER})\s*)?")
YES = {"yes": True, "true": True, "1": True, "x": True, "no": False, "false": False, "0": False, "": False}


def read_codebook(path: str | os.PathLike[str]) -> Domain:
    """Read a domain from a code book: CSV with the columns name, type and values, and perhaps missing."""
    # Values are a range for numbers, such as 0-120, -5 to 5 or 0..1 step 0.01, perhaps with special codes behind it, as
    # in 0-120 | -9=refused, and a list for categories, separated by |, ; or ,. Of 1=yes|2=no the codes are the values.
    # E10..E14 stands for five codes, E1* for all texts that begin so and are not listed themselves. Whole numbers that
    # are written without leading zeros are numbers, other codes texts. Where the type is empty, the values decide.
    text = read_text(path)
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    header = [name.strip().lower() for name in next(rows, [])]
    if not {"name", "values"} <= set(header):
        raise InvalidDomainError(
            f"{os.fspath(path)} is not a code book: it must have the columns name, type and values.",
            remedy="Name them in its first line.",
        )
    entries: list[Entry] = []
    for row in rows:
        if any(row):
            cells = dict(zip(header, (cell.strip() for cell in row), strict=False))
            try:
                entries.append(_entry(cells))
            except ValueError as error:
                raise InvalidDomainError(f"line {rows.line_num} of {os.fspath(path)}: {error}") from None
    return from_dict({"schema": SCHEMA, "attributes": entries})


def _entry(cells: Mapping[str, str]) -> Entry:
    """Return the attribute of a row of a code book."""
    name, stated, values = cells.get("name", ""), cells.get("type", "").lower(), cells.get("values", "")
    # Behind the range of a number, special codes: 0-120 | -9=refused | -8=unknown.
    ranged, *special = (part.strip() for part in re.split(r"[|;,]", values))
    if stated not in TYPES:
        raise ValueError(f"the type {stated!r} is not known. Use integer, real, category or binary.")
    kind = TYPES[stated]
    bounds = RANGE.fullmatch(ranged)
    if not kind:
        kind = "category" if bounds is None else "real" if any(map(_fraction, bounds.groups())) else "integer"
    entry: Entry = {"name": name, "type": kind}
    if kind in ("integer", "real"):
        if bounds is None:
            raise ValueError(f"the values of {name!r} must be a range, such as 0-120 or 0..1 step 0.01.")
        number = int if kind == "integer" else float
        entry |= {"lo": number(bounds[1]), "hi": number(bounds[2])}
        if bounds[3] is not None and kind == "real":
            entry["resolution"] = float(bounds[3])
        pairs = [part.partition("=") for part in special]
        if any(not re.fullmatch(NUMBER, code.strip()) or not label.strip() for code, _, label in pairs):
            raise ValueError(f"behind the range of {name!r} must stand special codes and labels, such as -9=refused.")
        if pairs:
            entry["codes"] = {code.strip(): label.strip() for code, _, label in pairs}
    elif kind == "category":
        entry["values"] = codes_of(values)
        if not entry["values"]:
            raise ValueError(f"the values of {name!r} must be listed, such as A|B|C.")
    missing = YES.get(cells.get("missing", "").lower())
    if missing is None:
        raise ValueError(f"missing of {name!r} must be yes or no.")
    return {**entry, "missing": True} if missing else entry


def _fraction(text: str | None) -> bool:
    return text is not None and not re.fullmatch(r"[+-]?\d+", text)
