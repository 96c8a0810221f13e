"""Records of a prediction, in any supported form: which of them satisfy a literal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from glassine.data.conform import as_columns, check_width
from glassine.data.table import as_table
from glassine.domain import Literal
from glassine.domain.literals import attributes_of
from glassine.errors import InvalidDataError
from glassine.records.arrays import AnyArray, Bools, Indices
from glassine.records.columns import Columns

Holds: TypeAlias = Callable[[Literal, Indices], Bools]
"""Where some rows satisfy a literal."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """Records as a model asks for them."""

    n_records: int  # Number of records n
    holds: Holds  # Given a literal and the indices of some records, returns which of them satisfy it
    # The tested columns as they are; None of records that conform to a domain. A value that is not declared then
    # satisfies neither a literal nor its complement, and takes the last branch of a split. Otherwise it is an error
    # that a record satisfies no branch; shape (n,).
    arrays: Mapping[str, AnyArray] | None = None


def read_records(data: object, attributes: tuple[str, ...], literals: tuple[Literal, ...]) -> Records:
    """Return records in any form in which a model takes them.

    Parameters
    ----------
    data : data frame, mapping of str to ndarray of shape (n,), Table, Columns, or ndarray of shape (n, d)
        The records: a frame of any library that narwhals reads, a lazy one collected; an array has all attributes of
        the model in order. Values are taken as they are.
    attributes : tuple of str
        The model's attributes, in order.
    literals : tuple of Literal
        What the model tests.

    Raises
    ------
    InvalidDataError
        If a tested attribute is not a column, or data are none of these.
    """
    tested = attributes_of(literals)
    if isinstance(data, Columns):
        _check_present(tested, data.names)
        truths = {literal: data.holds(literal) for literal in literals}
        return Records(n_records=data.n_records, holds=lambda literal, rows: truths[literal][rows])
    if not isinstance(data, Mapping):
        data = as_columns(data, None)
    if isinstance(data, np.ndarray):
        check_width(data, len(attributes))
        n_records, arrays = len(data), dict(zip(attributes, data.T, strict=True))
    elif isinstance(data, Mapping):
        _check_present(tested, tuple(data))
        n_records = len(next(iter(data.values()), ()))
        arrays = {name: np.asarray(data[name]) for name in tested}
    else:
        table = as_table(data)
        _check_present(tested, table.names)
        n_records = len(table)
        arrays = dict(table.restrict(tested).arrays) if tested and n_records else {name: np.empty(0) for name in tested}
    return Records(
        n_records=n_records, holds=lambda literal, rows: literal.holds(arrays[literal.attribute][rows]), arrays=arrays
    )


def _check_present(tested: tuple[str, ...], names: tuple[str, ...]) -> None:
    """Raise InvalidDataError if a tested attribute is no column."""
    for name in tested:
        if name not in names:
            raise InvalidDataError(f"data lack the column {name!r}, which the model tests.", remedy="Add or rename it.")
