"""Domains in TOML, as the values of their JSON form."""

from __future__ import annotations

import math
import os
import tomllib
from typing import Any

from glassine.domain.codes import codes_of
from glassine.errors import InvalidDomainError, UnreadableFileError
from glassine.files import read_text

SCHEMA = "glassine.domain/1"
"""The schema of a domain's file, in both formats."""

FILL_IN = "?"
"""Stands in a form for what a person is to fill in."""

Entry = dict[str, Any]
"""An attribute as plain values; its name is among them."""


def toml_values(path: str | os.PathLike[str]) -> Entry:
    """Return what a TOML file says of a domain as the values of its JSON form.

    The file has a table for each attribute, and an array of tables for the groups.
    """
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
    return {**plain, "attributes": entries, "groups": groups}


def _listed(name: str, table: Entry) -> Entry:
    """Return an attribute with the list of its values, which TOML may have as codes."""
    if not isinstance(codes := table.get("codes"), str) or table.get("type") != "category":
        return table
    if "values" in table:
        raise ValueError(f"the attribute {name!r} has both values and codes. Delete one of them.")
    return {key: value for key, value in table.items() if key != "codes"} | {"values": codes_of(codes)}


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
