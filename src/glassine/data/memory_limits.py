"""How much memory records of a file will take, by their header or footer and their pages, before they are read."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from glassine.errors import plural
from glassine.records.limits import CODED, FIELD, check_memory, width_of
from glassine.records.lines import DelimitedText
from glassine.records.parquet_pages import unpacked
from glassine.records.purpose import Purpose

if TYPE_CHECKING:
    import polars as pl
else:
    from glassine.records import frames as pl


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
    _check(n, len(types), n * width_of(types) + pages, path, purpose)
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
    private = purpose is Purpose.PRIVATE
    records = f"the records of {path}" if private else f"the {plural(n, 'record')} with {plural(d, 'column')} of {path}"
    check_memory(n, d, values, records, figure=not private)
