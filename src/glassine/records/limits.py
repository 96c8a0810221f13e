"""How much memory records will take, by what stands before them in a file: rows and columns, read first."""

from __future__ import annotations

from collections.abc import Mapping
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING

from glassine.records.lines import BLOCK, DelimitedText
from glassine.records.parquet_pages import unpacked
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
WIDTHS: dict[str, float] = {"Boolean": 1 / 8, "Null": 1 / 8, "Int8": 1, "UInt8": 1, "Int16": 2, "UInt16": 2, "Date": 4}
WIDTHS |= {"Int32": 4, "UInt32": 4, "Float32": 4, "Decimal": 16, "Int128": 16, "String": FIELD}
"""Bytes of a value by its type, where they are not 8; of a text 16, if it is short."""


def check_file(path: Path, text: DelimitedText | None) -> None:
    """Raise what the size of a file and the form of its pages say, before a private fit of its records is charged.

    Of a text only its header was read; without one the file is of Parquet. What is looked at belongs to the table: how
    many records and columns there are, and whether a page is whole. It is no value, and not how long one is.

    Raises
    ------
    CostLimitError
        If its records take more memory than allowed, each text counted as a short one.
    UnreadableFileError
        If the footer or a page is damaged, as far as headers and checksums show.
    """
    with path.open("rb") as stream:
        if text is None:
            types = pl.read_parquet_schema(path)
            with mmap(stream.fileno(), 0, access=ACCESS_READ) as data:
                n, d, width = unpacked(data, path)[0], len(types), width_of(types)
        else:
            n, d = sum(piece.count(b"\n") for piece in iter(lambda: stream.read(BLOCK), b"")) + 1, len(text.names)
            width = d * (FIELD + CODED)
    # How many records a private fit has is not said. That they are too many for the machine cannot be hidden.
    check_memory(n, d, n * width, f"the records of {path}", figure=False)


def check_memory(n: int, d: int, values: float, records: str, *, figure: bool) -> None:
    """Raise CostLimitError if records and their columns, with so many bytes for the values, take more than allowed."""
    current().ask_memory(values + n * LOOKED_AT + d * COLUMN, records, figure=figure)


def width_of(types: Mapping[str, pl.DataType]) -> float:
    """Return the bytes of a record whose texts are short."""
    return sum(WIDTHS.get(str(kind.base_type()), 8) + CODED for kind in types.values())
