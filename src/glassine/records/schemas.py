"""What is public of a container of records before it is opened: its columns and their declared types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import narwhals as nw

from glassine.domain.attributes import LARGEST, Attribute, Integer, Real
from glassine.errors import InvalidDataError, first_of
from glassine.records.columns import values_of
from glassine.records.scalars import declared_numbers

if TYPE_CHECKING:
    pass
else:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """What is public about a container: its columns, before any record is looked at.

    Attributes
    ----------
    names : tuple of str, or None
        The columns, in order; None where their places alone distinguish them, as in an array.
    kinds : mapping of str to narwhals data type, or None
        The declared types; None where a type follows from the records, as in pandas and in lists.
    """

    names: tuple[str, ...] | None
    kinds: Mapping[str, nw.dtypes.DType] | None = None


MOST_TOLD = 5
"""Declared values that a sentence names."""


def is_number(attribute: Attribute) -> bool:
    """Return whether an attribute is a number, and no category."""
    return isinstance(attribute, Integer | Real)


def declared(attribute: Attribute) -> str:
    """Return up to five values of an attribute, or its bounds, as a sentence names them.

    Examples
    --------
    >>> from glassine.domain import Category
    >>> declared(Integer(18, 99)), declared(Category(("clerk", "baker", 3)))
    ('18 to 99', "'clerk', 'baker', 3")
    """
    if isinstance(attribute, Integer | Real):
        codes = "".join(f", {code} ({label})" for code, label in attribute.codes.items())
        return "numbers" if attribute.hi == LARGEST else f"{attribute.lo} to {attribute.hi}{codes}"
    values = [repr(str(value)) if isinstance(value, str) else str(value) for value in values_of(attribute)]
    return first_of(values, MOST_TOLD)


def check_types(schema: Schema, attributes: Mapping[str, Attribute]) -> None:
    """Raise InvalidDataError if the declared type of a column cannot hold values of its attribute.

    Nothing follows from records: a container whose types do has no declared ones.
    """
    kinds = schema.kinds or {}
    for name, attribute in attributes.items():
        kind = kinds.get(name)
        if kind is None or kind in (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Unknown):
            continue
        if kind.is_numeric() or kind == nw.Boolean:
            if is_number(attribute) or declared_numbers(values_of(attribute)):
                continue
        elif is_number(attribute):
            raise InvalidDataError(
                f"column {name!r} must hold numbers, got the type {kind}.", remedy="Convert it to a numeric type."
            )
        raise InvalidDataError(
            f"column {name!r} has the type {kind}, which cannot hold the values of its attribute: "
            f"{declared(attribute)}.",
            remedy="Convert the column, or declare its values as they are.",
        )
