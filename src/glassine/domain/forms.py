"""Domains as people write them: TOML with comments, code books, and forms to fill in."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from glassine.domain.domain import SCHEMA, VALUE, WIDTH, Domain, filled, from_dict, to_dict
from glassine.domain.literals import Between, Literal
from glassine.errors import InvalidDomainError, UnreadableFileError
from glassine.files import read_text

FILL_IN = "?"
"""Stands in a form for what a person is to fill in."""

GAPS = "The model says where records without a value go: add missing = true if it can be missing."

MOST_NAMED = 6
"""Thresholds that a comment names."""

MOST_CODES = 100_000
"""Most values of a list: more are a number, or a mistake."""

SHORTEST_RUN = 4
"""Fewest codes that are written as a run: three are as quickly read one by one."""

Entry = dict[str, Any]
"""An attribute as plain values; its name is among them."""


def read_toml(path: str | os.PathLike[str]) -> Domain:
    """Read a domain from a TOML file: a table for each attribute, an array of tables for the groups."""
    # The keys are those of the JSON form. In place of values a category may have codes, a text such as "1..9 | 11..17 |
    # 99", in which E10..E14 stands for all five codes, and E1* for all texts that begin so. In the intervals of a group
    # -inf and inf stand for no bound.
    try:
        plain = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, UnreadableFileError):
            raise
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
        raise UnreadableFileError(
            f"{os.fspath(path)} is not valid TOML: {reason}.",
            remedy="Correct that place; texts stand in quotes.",
            path=path,
        ) from None
    tables = plain.get("attributes")
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise InvalidDomainError(
            f"{os.fspath(path)} must hold a table for each attribute, such as [attributes.age], and "
            f'schema = "{SCHEMA}".'
        )
    for name, table in tables.items():
        for key, value in table.items():
            if value == FILL_IN or (isinstance(value, list) and FILL_IN in value and len(value) == 1):
                raise InvalidDomainError(
                    f"the attribute {name!r} of {os.fspath(path)} has no {key} yet.",
                    remedy=f'Replace "{FILL_IN}" by what is public of it.',
                )
    groups = [_bounded(group) if isinstance(group, dict) else group for group in plain.get("groups", [])]
    try:
        entries = [{"name": name, **_listed(name, table)} for name, table in tables.items()]
    except ValueError as error:
        raise InvalidDomainError(f"{os.fspath(path)}: {error}") from None
    return from_dict({**plain, "attributes": entries, "groups": groups})


def _listed(name: str, table: Entry) -> Entry:
    """Return an attribute with the list of its values, which TOML may have as codes."""
    if not isinstance(codes := table.get("codes"), str) or table.get("type") != "category":
        return table
    if "values" in table:
        raise ValueError(f"the attribute {name!r} has both values and codes. Delete one of them.")
    return {key: value for key, value in table.items() if key != "codes"} | {"values": _codes(codes)}


def _bounded(group: Entry) -> Entry:
    """Return a group with null for infinite bounds, which TOML has in its place."""
    intervals = group.get("intervals")
    if not isinstance(intervals, dict):
        return group
    named = {
        name: [None if isinstance(end, float) and math.isinf(end) else end for end in ends]
        for name, ends in intervals.items()
        if isinstance(ends, list)
    }
    return {**group, "intervals": {**intervals, **named}}


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
        if entry.get("type") == "category" and (codes := _compact(entry["values"])) is not None:
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
    # Values are a range for numbers, such as 0-120, -5 to 5 or 0..1 step 0.01, and a list for categories, separated by
    # |, ; or ,. Of 1=yes|2=no the codes are the values. E10..E14 stands for five codes, E1* for all texts that begin so
    # and are not listed themselves. Whole numbers that are written without leading zeros are numbers, other codes
    # texts. Where the type is empty, the values decide.
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
    if stated not in TYPES:
        raise ValueError(f"the type {stated!r} is not known. Use integer, real, category or binary.")
    kind = TYPES[stated]
    bounds = RANGE.fullmatch(values)
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
    elif kind == "category":
        entry["values"] = _codes(values)
        if not entry["values"]:
            raise ValueError(f"the values of {name!r} must be listed, such as A|B|C.")
    missing = YES.get(cells.get("missing", "").lower())
    if missing is None:
        raise ValueError(f"missing of {name!r} must be yes or no.")
    return {**entry, "missing": True} if missing else entry


def _fraction(text: str | None) -> bool:
    return text is not None and not re.fullmatch(r"[+-]?\d+", text)


def _codes(text: str) -> list[Any]:
    """Return listed codes, without their labels; ``E10..E14`` stands for all five, ``E1*`` is a prefix."""
    separator = next((mark for mark in "|;," if mark in text), "|")
    codes: list[str] = []
    for part in text.split(separator):
        if part.strip():
            codes += _run(part.partition("=")[0].strip())
            if len(codes) > MOST_CODES:
                raise ValueError(f"a list of values has more than {MOST_CODES:,}. Declare a number, or fewer values.")
    if any("*" in code[:-1] for code in codes):
        raise ValueError("a star must stand behind what codes begin with, such as E1* or E10*..E14*.")
    whole = all(re.fullmatch(r"0|-?[1-9]\d{0,17}", code) for code in codes)
    return [int(code) if whole else {"prefix": code[:-1]} if code.endswith("*") else code for code in codes]


RUN = re.compile(r"(?P<start>.*?)(?P<first>[0-9]+)[.]{2}(?P<again>.*?)(?P<last>[0-9]+)")
"""Two codes that end in digits."""


def _run(text: str) -> list[str]:
    """Return the codes that a part of a list stands for: itself, or all of a run such as ``E10..E14``."""
    bounds = [part.strip() for part in text.split("..")]
    star = "*" if len(bounds) == 2 and all(bound.endswith("*") for bound in bounds) else ""
    ends = RUN.fullmatch("..".join(bound.removesuffix(star) for bound in bounds))
    if ends is None:
        return [text]
    first, last, width = int(ends["first"]), int(ends["last"]), len(ends["first"])
    padded = width > len(str(first)) or len(ends["last"]) > len(str(last))
    if ends["start"] != ends["again"] or first > last or (padded and width != len(ends["last"])):
        raise ValueError(
            f"the run {text!r} must lead up from one code to another that differs in its last digits alone, such as "
            "E10..E14, 1..9 or 001..120."
        )
    if last - first >= MOST_CODES:
        raise ValueError(f"the run {text!r} has more than {MOST_CODES:,} values. Declare a number, or fewer values.")
    return [f"{ends['start']}{number:0{width if padded else 1}}{star}" for number in range(first, last + 1)]


def _compact(values: Sequence[Any]) -> str | None:
    """Return values as a text of codes and runs, which reads back as the same values.

    None where it is not shorter, unless there are prefixes, which are written with a star.

    Examples
    --------
    >>> _compact(["E10", "E11", "E12", "E13", "E14", "other"]), _compact([1, 2, 3, 4, 5, 9]), _compact(["a", "b"])
    ('E10..E14 | other', '1..5 | 9', None)
    >>> _compact(["E10", {"prefix": "E"}])
    'E10 | E*'
    """
    texts = [f"{value['prefix']}*" if isinstance(value, dict) else str(value) for value in values]
    parts, at = [], 0
    while at < len(texts):
        end = at
        while end + 1 < len(texts) and _follows(texts[end], texts[end + 1]):
            end += 1
        parts += texts[at : end + 1] if end - at < SHORTEST_RUN - 1 else [f"{texts[at]}..{texts[end]}"]
        at = end + 1
    if len(parts) == len(texts) and not any(isinstance(value, dict) for value in values):
        return None
    text = " | ".join(parts)
    try:
        again = _codes(text)
    except ValueError:
        return None
    same = again == list(values) and list(map(type, again)) == list(map(type, values))
    return text if same else None


def _follows(code: str, after: str) -> bool:
    """Return whether one code stands behind another in a run."""
    star = "*" if code.endswith("*") else ""
    code = code.removesuffix(star)
    stem = code.rstrip("0123456789")
    digits = code[len(stem) :]
    if not digits or not digits.isascii():
        return False
    padded = len(digits) > len(str(int(digits)))
    return after == f"{stem}{int(digits) + 1:0{len(digits) if padded else 1}}{star}"
