"""How much memory records will take, by what stands before them in a file: rows and columns, read first."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from glassine.records.lines import DelimitedText
from glassine.records.purpose import Purpose
from glassine.resources import current

if TYPE_CHECKING:
    import polars as pl
else:
    from glassine.records import frames as pl

FIELD = 16
"""Bytes of a field as text in memory, where it is short."""
CODED = 8
"""Bytes of a value that was read, beside the one in the file's type."""
LOOKED_AT = 16
"""Bytes of a record while one of its columns is looked at."""
COLUMN = 5_000
"""Bytes that a column takes in memory beside its values, the largest of what its readers were measured to take."""
WIDTHS: dict[str, float] = {
    "Boolean": 1 / 8,
    "Int8": 1,
    "UInt8": 1,
    "Int16": 2,
    "UInt16": 2,
    "Int32": 4,
    "UInt32": 4,
    "Float32": 4,
    "Date": 4,
    "Null": 1 / 8,
    "Decimal": 16,
    "Int128": 16,
    "String": FIELD,
}
"""Bytes of a value by its type, where they are not 8; of a text 16, if it is short."""


def check_parquet(data: bytes, path: Path, purpose: Purpose) -> None:
    """Raise CostLimitError if a Parquet file says in its footer that its records take more memory than allowed.

    Run-length encoding makes millions of equal rows a few bytes: the size of the file says nothing.
    """
    try:
        types = pl.read_parquet_schema(io.BytesIO(data))
        n = pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item()
    except (Exception, pl.exceptions.PanicException):
        return  # the reader says what is wrong
    width = sum(WIDTHS.get(str(kind.base_type()), 8) + CODED for kind in types.values())
    _check(n, len(types), n * width, path, purpose)


def check_text(text: DelimitedText) -> None:
    """Raise CostLimitError if the lines and the columns of a file of text take more memory than allowed."""
    n, d = text.data.count(b"\n", text.start) + 1, len(text.names)
    _check(n, d, n * d * (FIELD + CODED), text.path, text.purpose)


def _check(n: int, d: int, values: float, path: Path, purpose: Purpose) -> None:
    # How many records a private fit has is not said. That they are too many for the machine cannot be hidden.
    private = purpose is Purpose.PRIVATE
    records = f"the records of {path}" if private else f"the {n:,} records with {d:,} columns of {path}"
    current().ask_memory(values + n * LOOKED_AT + d * COLUMN, records, figure=not private)
