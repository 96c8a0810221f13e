"""The same records in every container in which a learner may get them, each value as it is."""

from __future__ import annotations

import csv
import datetime
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.domain import Category, Integer, Real
from glassine.domain.attributes import Attribute, Scalar
from glassine.verification.sources import CsvRecords

__all__ = ["CONTAINERS", "ODD_VALUES", "Records", "declared_values", "odd_values", "of_each_type"]

Value: TypeAlias = object
"""A value of a record: whatever a file or a program may hold in its place."""

ODD_VALUES: Mapping[str, Value] = {
    "a text": "held by one record",
    "the empty text": "",
    "a fraction": 0.5,
    "2**53 + 1": 2**53 + 1,
    "2**63": 2**63,
    "2**64": 2**64,
    "NaN": math.nan,
    "infinity": math.inf,
    "None": None,
    "bytes": b"x",
    "a date": datetime.date(2000, 1, 1),
    "True": True,
}
"""Values that one record may hold where all others hold what was declared."""

TARGET = "target"
"""Name of the column of labels in a file, lengthened where an attribute has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Records as Python values, in no container yet.

    Attributes
    ----------
    names : tuple of str
        The attributes.
    rows : tuple of tuple
        The values of each record.
    labels : tuple
        Their labels, or numeric targets.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    labels: tuple[Value, ...]

    def with_record(self, row: Sequence[Value], label: Value, *, first: bool = False) -> Records:
        """Return the records and one more, at the end or in front."""
        rows, labels = (
            ((tuple(row), *self.rows), (label, *self.labels))
            if first
            else (
                (*self.rows, tuple(row)),
                (*self.labels, label),
            )
        )
        return Records(names=self.names, rows=rows, labels=labels)

    def column(self, j: int) -> list[Value]:
        """Return the values of one attribute."""
        return [row[j] for row in self.rows]


def _objects(values: Sequence[Value]) -> npt.NDArray[np.object_]:
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out


def _lists(records: Records) -> tuple[Any, Any]:
    return [list(row) for row in records.rows], list(records.labels)


def _tuples(records: Records) -> tuple[Any, Any]:
    return records.rows, records.labels


def _mappings(records: Records) -> tuple[Any, Any]:
    return [dict(zip(records.names, row, strict=True)) for row in records.rows], list(records.labels)


def _array(records: Records) -> tuple[Any, Any]:
    table = np.empty((len(records.rows), len(records.names)), dtype=object)
    for i, row in enumerate(records.rows):
        table[i] = row
    return table, _objects(records.labels)


def _pandas(records: Records) -> tuple[Any, Any]:
    import pandas as pd

    columns = {name: pd.Series(_objects(records.column(j))) for j, name in enumerate(records.names)}
    return pd.DataFrame(columns), pd.Series(_objects(records.labels))


def _polars(records: Records) -> tuple[Any, Any]:
    import polars as pl

    def series(name: str, values: list[Value]) -> pl.Series:
        try:
            return pl.Series(name, values, strict=True)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            # One type does not hold them all.
            return pl.Series(name, values, dtype=pl.Object)

    columns = [series(name, records.column(j)) for j, name in enumerate(records.names)]
    return pl.DataFrame(columns), series("", list(records.labels))


def _csv(records: Records) -> CsvRecords:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    target = TARGET
    while target in records.names:
        target += "_"
    writer.writerow([*records.names, target])
    for row, label in zip(records.rows, records.labels, strict=True):
        writer.writerow(["" if value is None else value for value in (*row, label)])
    return CsvRecords(text=out.getvalue(), target=target)


CONTAINERS: Mapping[str, Callable[[Records], Any]] = {
    "lists": _lists,
    "tuples": _tuples,
    "mappings": _mappings,
    "object array": _array,
    "pandas": _pandas,
    "polars": _polars,
    "CSV": _csv,
}
"""From records to a data set ``(X, y)``, or to a file."""


def declared_values(attribute: Attribute) -> tuple[Scalar, ...]:
    """Return the values that an attribute declares; of a number its bounds."""
    if isinstance(attribute, Category):
        return attribute.values
    return (attribute.lo, attribute.hi) if isinstance(attribute, Integer | Real) else (0, 1)


def of_each_type(values: Sequence[Scalar]) -> list[tuple[Scalar, ...]]:
    """Return the texts among some values, and the numbers, without those that are not there."""
    texts = tuple(value for value in values if isinstance(value, str))
    numbers = tuple(value for value in values if not isinstance(value, str))
    return [group for group in (numbers, texts) if group]


def odd_values(declared: Sequence[Scalar]) -> Iterator[tuple[str, Value]]:
    """Return odd values, each with its name, for a place where values like some declared ones stand."""
    for name, value in ODD_VALUES.items():
        if not any(type(value) is type(other) and value == other for other in declared):
            yield name, value
    numbers = [value for value in declared if not isinstance(value, str)]
    if numbers:
        yield "a number as text", str(numbers[0])
    digits = [value for value in declared if isinstance(value, str) and value.isdigit()]
    if digits:
        yield "a text as number", int(digits[0])
