"""How much memory records will take, by what stands before them in a file: rows and columns, read first."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from glassine.records.lines import DelimitedText
from glassine.records.parquet_pages import unpacked
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
    **dict.fromkeys(("Boolean", "Null"), 1 / 8),
    **dict.fromkeys(("Int8", "UInt8"), 1),
    **dict.fromkeys(("Int16", "UInt16"), 2),
    **dict.fromkeys(("Int32", "UInt32", "Float32", "Date"), 4),
    **dict.fromkeys(("Decimal", "Int128"), 16),
    "String": FIELD,
}
"""Bytes of a value by its type, where they are not 8; of a text 16, if it is short."""


def check_parquet(data: bytes, path: Path, purpose: Purpose) -> Mapping[str, pl.DataType] | None:
    """Return the types of a Parquet file's columns, None where it is none.

    Raises
    ------
    CostLimitError
        If its footer and the headers of its pages say that its records take more memory than allowed.
    UnreadableFileError
        If they cannot be read.

    Notes
    -----
    Run-length encoding makes millions of equal rows a few bytes, and a long text, too: the size of the file says
    nothing.
    """
    try:
        types = pl.read_parquet_schema(io.BytesIO(data))
    except (Exception, pl.exceptions.PanicException):
        return None  # the reader says what is wrong
    n, pages = unpacked(data, path)
    width = sum(WIDTHS.get(str(kind.base_type()), 8) + CODED for kind in types.values())
    _check(n, len(types), n * width + pages, path, purpose)
    return types


def check_texts(frame: pl.DataFrame, path: Path, purpose: Purpose) -> None:
    """Raise CostLimitError if the texts of a Parquet file, each counted where it stands, take more than allowed.

    In memory equal texts are one, as in the dictionary of the file. What looks at each record meets them all.
    """
    texts = [column.str.len_bytes() for column in frame if column.dtype == pl.String]
    texts += [column.cat.len_bytes() for column in frame if column.dtype in (pl.Categorical, pl.Enum)]
    size = sum(int(lengths.cast(pl.Int64).sum()) for lengths in texts)
    _check(len(frame), frame.width, size, path, purpose)


def check_text(text: DelimitedText) -> None:
    """Raise CostLimitError if the lines and the columns of a file of text take more memory than allowed."""
    n, d = text.data.count(b"\n", text.start) + 1, len(text.names)
    _check(n, d, n * d * (FIELD + CODED), text.path, text.purpose)


def _check(n: int, d: int, values: float, path: Path, purpose: Purpose) -> None:
    # How many records a private fit has is not said. That they are too many for the machine cannot be hidden.
    private = purpose is Purpose.PRIVATE
    records = f"the records of {path}" if private else f"the {n:,} records with {d:,} columns of {path}"
    current().ask_memory(values + n * LOOKED_AT + d * COLUMN, records, figure=not private)
