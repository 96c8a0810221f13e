"""Records of a prediction, in any supported form: which of them satisfy a literal.

A model says nothing of its attributes but what it tests. That is a recipe: an attribute that is compared with bounds is
a number, and another one a category of the values and prefixes that literals list, and of others. So a cell is read
here by the rules by which a fit reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from glassine.domain import Category, Literal, Real
from glassine.domain.attributes import LARGEST, Attribute, Scalar
from glassine.domain.literals import Between, attributes_of
from glassine.domain.prefixes import Prefix, prefixes
from glassine.errors import InvalidDataError
from glassine.records.arrays import Bools, Indices
from glassine.records.cells import NUMBER, Flag
from glassine.records.columns import ConformedColumns, holds_of_numbers, values_of
from glassine.records.containers import batches, check_width, schema
from glassine.records.flags import settled
from glassine.records.reading import read
from glassine.records.undeclared import wide

Holds: TypeAlias = Callable[[Literal, Indices], Bools]
"""Where some rows satisfy a literal."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """Records as a model asks for them."""

    n_records: int  # Number of records n
    holds: Holds  # Given a literal and the indices of some records, returns which of them satisfy it
    # Whether a record lacks a value of an attribute; None of records that conform to a domain. A value that is not
    # declared then satisfies neither a literal nor its complement, and takes the last branch of a split. Otherwise it
    # is an error that a record satisfies no branch.
    lacks: Callable[[str, int], bool] | None = None
    columns: ConformedColumns | None = None  # Where the records are read as columns, which many nodes ask together


def read_records(data: object, attributes: Sequence[str], literals: Iterable[Literal]) -> Records:
    """Return records in any form in which a model takes them.

    Parameters
    ----------
    data : data frame, mapping of str to ndarray of shape (n,), RecordTable, Records, or ndarray of shape (n, d)
        The records: a frame of any library that narwhals reads, a lazy one collected; an array has all attributes of
        the model in order.
    attributes : sequence of str
        The model's attributes, in order.
    literals : iterable of Literal
        What the model tests.

    Raises
    ------
    InvalidDataError
        If a tested attribute is not a column, or data are none of these; if the column of a number holds something
        else.
    """
    if isinstance(data, Records):
        return data
    asked = tuple(literals)
    tested = attributes_of(asked)
    if isinstance(data, ConformedColumns):
        _check_present(tested, data.names)
        truths = {literal: data.holds(literal) for literal in asked}
        return Records(n_records=data.n_records, holds=lambda literal, rows: truths[literal][rows])
    records = named(data, attributes)
    _check_present(tested, schema(records).names or ())
    if not tested:
        return _untested(records)
    return of_literals(records, asked)


def _untested(data: object) -> Records:
    return Records(n_records=n_records(data), holds=lambda _, rows: np.ones(len(rows), dtype=bool))


def named(data: Any, attributes: Sequence[str]) -> Any:
    """Return records with the names of a model's attributes, which an array or a list of rows has in order."""
    if schema(data).names is not None:
        return data
    if isinstance(data, np.ndarray):
        check_width(data, len(attributes))
        return dict(zip(attributes, data.T, strict=True))
    return next(batches(data, attributes))


def of_literals(data: object, literals: Sequence[Literal]) -> Records:
    """Return records of named columns as literals ask for them: by the recipe that they imply, at least one."""
    recipe = implied(literals)
    raw, flags = read(data, recipe)
    columns = settled(raw, flags, keep_undeclared=True)
    for name in columns.numbers:
        odd = int((flags.arrays[name] == Flag.UNDECLARED).sum())
        if odd:
            records = (
                f"{odd:,} of {raw.n_records:,} records have" if odd != 1 else f"1 of {raw.n_records:,} records has"
            )
            raise InvalidDataError(
                f"{name!r} is compared with a number, but {records} something else there.",
                remedy=f"Recode or drop {'them' if odd != 1 else 'it'}.",
            )
    return of_columns(columns, lenient=False)


def of_columns(columns: ConformedColumns, *, lenient: bool) -> Records:
    """Return settled columns, which keep what is not declared, as literals ask for them.

    Of a lenient reading no record is refused: one that satisfies no branch of a split takes the last.
    """
    truths: dict[Literal, Bools] = {}

    def holds(literal: Literal, rows: Indices) -> Bools:
        array = columns.array(literal.attribute)[rows]
        if literal.attribute in columns.numbers:
            return holds_of_numbers(literal, array)
        if literal not in truths:
            truths[literal] = truths_of(literal, values_of(columns.attributes[literal.attribute]))
        # The last two entries stand for another value, of code -2, and for a missing one, of code -1.
        return truths[literal][array]

    def lacks(name: str, row: int) -> bool:
        value = columns.array(name)[row]
        return bool(np.isnan(value)) if name in columns.numbers else bool(value == -1)

    return Records(n_records=columns.n_records, holds=holds, lacks=None if lenient else lacks, columns=columns)


def counted_records(data: object, recipe: Mapping[str, Attribute]) -> Records:
    """Return records as an audit counts them: where a model sends each, for all cells.

    Parameters
    ----------
    data : data frame, mapping of str to ndarray of shape (n,), Table, or other container of named columns
        The records.
    recipe : mapping of str to Attribute
        The tested attributes: of a domain, else what :func:`implied` says. A number beyond its bounds
        stays what it is, and what is no number is missing; a value that is not declared is another one than all that
        are.

    Raises
    ------
    InvalidDataError
        If an attribute is not a column.
    """
    if not recipe:
        return _untested(data)
    columns, flags = read(data, {name: wide(attribute) for name, attribute in recipe.items()})
    return of_columns(settled(columns, flags, keep_undeclared=True), lenient=True)


def implied(literals: Iterable[Literal]) -> Mapping[str, Category | Real]:
    """Return what literals imply about their attributes: any number, or one of the values that they list.

    A value of a category belongs wholly to each listed prefix or not at all.

    Examples
    --------
    >>> from glassine.domain import OneOf
    >>> implied([Between("age", hi=40), OneOf("code", (Prefix("E", but=("E10",)),))])["code"].values
    (Prefix('E', but=('E10',)), 'E10')
    """
    own: dict[str, list[Literal]] = {}
    for literal in literals:
        own.setdefault(literal.attribute, []).append(literal)
    return {name: _implied(some) for name, some in own.items()}


def _implied(literals: Sequence[Literal]) -> Category | Real:
    listed: dict[Any, None] = {}
    for literal in literals:
        if isinstance(literal, Between):
            return NUMBER
        for value in literal.values:
            for one in (Prefix(value.start), *value.but) if isinstance(value, Prefix) else (value,):
                listed[Prefix(one.start) if isinstance(one, Prefix) else one] = None
    if prefixes(listed):
        listed = {value: None for value in listed if isinstance(value, str)}
    # A literal that speaks of missing values alone lists none.
    # A number beyond those that a category can list is the value of no record.
    possible = tuple(value for value in listed if isinstance(value, str) or abs(value) <= LARGEST)
    return Category(possible or (0,), missing=True)


def truths_of(literal: Literal, values: Sequence[Scalar]) -> Bools:
    """Return where the values of a category satisfy a literal, then any other value, then a missing one."""
    if isinstance(literal, Between):
        # No bound is put to a value that is not declared: it satisfies neither the literal nor its complement.
        inside = literal.holds(np.array(values, dtype=object)).tolist()
        return np.array([*inside, False, literal.missing], dtype=bool)
    listed = set(literal.values)
    grouped = prefixes(literal.values)
    inside = [
        value in listed or any(_belongs(value, one) for one in grouped) if isinstance(value, str) else value in listed
        for value in values
    ]
    return np.array([*(one != literal.negated for one in inside), literal.negated, literal.missing], dtype=bool)


def _belongs(value: str, group: Prefix) -> bool:
    """Return whether all texts of a value begin as a prefix says; those of a prefix whose exceptions are values do."""
    if not isinstance(value, Prefix):
        return group.covers(value)
    return value.start.startswith(group.start) and not value.start.startswith(group.starts)


def n_records(data: Any) -> int:
    """Return the number of records of which no column is asked for."""
    data = next(iter(data.values()), ()) if isinstance(data, dict) else data
    try:
        return len(data)
    except TypeError:
        raise InvalidDataError(
            f"the model reads no attribute, so data need a length, got {type(data).__name__}.", remedy="Collect it."
        ) from None


def _check_present(tested: Sequence[str], names: Sequence[str]) -> None:
    """Raise InvalidDataError if a tested attribute is no column."""
    for name in tested:
        if name not in names:
            raise InvalidDataError(f"data lack the column {name!r}, which the model tests.", remedy="Add or rename it.")
