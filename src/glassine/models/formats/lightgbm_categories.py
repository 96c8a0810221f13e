"""The categories of data frames that LightGBM writes at the end of its files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from glassine.domain import Category, Domain
from glassine.domain.attributes import LARGEST, Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.models.formats.conditions import scalar

__all__ = ["columns_of_categories"]

HALVES = re.compile("[\ud800-\udfff]")
NUMBERS, NOTHING = re.compile(r"\[.*\]"), "none"


def columns_of_categories(
    text: str, infos: Sequence[str], split: str | None, names: Sequence[str], domain: Domain | None
) -> list[tuple[Scalar, ...] | None]:
    """Return the categories of each feature, None for features that have none.

    The file lists the categories of the data frame's categorical columns in order, and not which these are: those whose
    values it splits as codes, or those that the domain declares as categories.

    Raises
    ------
    UnsupportedModelError
        If neither tells the columns: ordered categories are split like numbers.
    InvalidModelError
        If the list is damaged.
    """
    listed = _listed(text)
    columns: list[tuple[Scalar, ...] | None] = [None] * len(names)
    if not listed:
        return columns
    told = [int(entry) for entry in (split or "").split(",") if re.fullmatch(r"[0-9]{1,6}", entry)]
    if split is None:
        told = [i for i, info in enumerate(infos) if info != NOTHING and not NUMBERS.fullmatch(info)]
    told = sorted(place for place in set(told) if place < len(names))
    declared = [i for i, name in enumerate(names) if domain and name in domain and isinstance(domain[name], Category)]
    fitting = [places for places in (told, declared) if len(places) == len(listed)]
    if not fitting or fitting[0] != fitting[-1]:
        raise UnsupportedModelError(
            f"the LightGBM model lists the categories of {len(listed)} columns, but not which these are: it splits "
            "ordered categories like numbers. Give a domain that declares these columns, and no others, as a Category."
        )
    found = fitting[0]
    for place, values in zip(found, listed, strict=True):
        columns[place] = values
    return columns


def _listed(text: str) -> list[tuple[Scalar, ...]]:
    if not text.strip() or text.strip() == "null":
        return []
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, list) or not all(isinstance(entry, list) for entry in data):
        raise InvalidModelError(
            "the line pandas_categorical of the LightGBM model is no list of lists. Export it anew."
        )
    out = []
    for entry in data:
        numbers = [v for v in entry if isinstance(v, int | float) and not abs(v) <= LARGEST]
        odd = [v for v in entry if not isinstance(v, str | int | float)]
        if numbers or odd or any(isinstance(v, str) and HALVES.search(v) for v in entry):
            raise InvalidModelError(
                f"a category must be a text or a finite number, got {(numbers or odd or entry)[0]!r:.40}."
            )
        values = tuple(scalar(value, "a category") for value in entry)
        if len(set(values)) < len(values):
            raise InvalidModelError("the line pandas_categorical of the LightGBM model names a category twice.")
        out.append(values)
    return out
