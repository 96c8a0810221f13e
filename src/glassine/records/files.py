"""Files of records as containers: columns from the header, and then the records, each line alone."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from glassine.domain.attributes import Attribute, Integer, Real
from glassine.domain.prefixes import GAP_TEXTS
from glassine.records.cells import Plain
from glassine.records.columns import is_column, values_of
from glassine.records.headers import PARQUET, RecordsFile, first_lines, header_of, no_parquet, open_text, unreadable
from glassine.records.limits import check_file
from glassine.records.lines import BLOCK
from glassine.records.parquet_pages import texts_as_bytes
from glassine.records.purpose import Purpose
from glassine.records.scalars import number_of
from glassine.resources import current

if TYPE_CHECKING:
    import polars as pl
else:
    from glassine.records import frames as pl

THOUSANDS = r"^\s*[+-]?\d{1,3}([.'\u2019 \u00a0\u202f]\d{3})+(,\d+)?\s*$"
"""A number with a mark before each three digits, and perhaps a decimal comma."""

SEPARATOR = r"[.'\u2019 \u00a0\u202f](\d{3})"


def contents(path: Path, *, within_memory: bool = False) -> bytes:
    """Return the bytes of a file; raise CostLimitError before more are read than memory allows, if asked to.

    A device or a pipe may have no end.
    """
    try:
        with path.open("rb") as stream:
            status = os.fstat(stream.fileno())
            if within_memory:
                current().ask_memory(status.st_size, f"the bytes of {path}")
            if not within_memory or stat.S_ISREG(status.st_mode):
                return stream.read()
            out = io.BytesIO()
            for piece in iter(lambda: stream.read(BLOCK), b""):
                out.write(piece)
                current().ask_memory(out.tell(), f"the bytes that were read of {path} so far")
            return out.getvalue()
    except OSError as error:
        raise unreadable(path, error) from None


# A file as a container of records: for a private fit, which names its columns before it opens the records.


def check_before_charge(container: object) -> None:
    """Raise what can be refused of a file of records without a value of them; nothing of another container.

    Raises
    ------
    CostLimitError, UnreadableFileError
        As ``glassine.records.limits.check_file``.
    """
    if isinstance(container, RecordsFile):
        check_file(container.path, header_of(container))


def batches_of_file(file: RecordsFile, names: Sequence[str]) -> Iterator[dict[str, Plain]]:
    """Yield some columns of a file, each cell as its own line holds it: texts, whole numbers, or values of Parquet.

    The memory limit was asked before (:func:`check_before_charge`): a fit must not fail by one record's long text.

    Raises
    ------
    UnreadableFileError, InvalidDataError
        As :func:`header_of`.
    """
    data = contents(file.path)
    if data[:4] == PARQUET and not file.dialect.names:
        names = [name for name in names if is_column(name, pl.read_parquet_schema(io.BytesIO(data)))]
        frame = read_parquet(data, file, Purpose.PRIVATE, file.declared, names)
        yield {name: frame[name] for name in names}
        return
    # The header is read from its own lines, as before the charge.
    head = open_text(file, first_lines(io.BytesIO(data)), file.declared, purpose=Purpose.PRIVATE)
    text = replace(head, data=data)
    names = [name for name in names if is_column(name, text.names)]
    block = None
    for block, _ in text.blocks():
        yield {
            # What nothing declares holds identifiers, which are texts: `1,234` and `1234` are two.
            name: as_written(
                block[name],
                file.declared.get(name),
                file.dialect.gaps(name),
                file.dialect.decimal_comma and name in file.declared,
            )
            for name in names
        }
    if block is None:
        yield {name: pl.Series(name, [], dtype=pl.String) for name in names}


def read_parquet(
    data: bytes, file: RecordsFile, purpose: Purpose, declared: Mapping[str, Attribute], columns: Sequence[str] | None
) -> pl.DataFrame:
    """Return some columns of a Parquet file, None for all, with nulls for what is stated to be missing."""
    path, dialect = file.path, file.dialect
    try:
        frame = _frame(data, columns, purpose)
    except (Exception, pl.exceptions.PanicException) as error:
        raise no_parquet(path, error) from None
    out = []
    for column in frame:
        stated = dialect.stated(column.name)
        attribute = declared.get(column.name)
        kept = () if attribute is None or isinstance(attribute, Integer | Real) else values_of(attribute)
        column = column.cast(pl.String) if stated and column.dtype in (pl.Categorical, pl.Enum) else column
        if stated and column.dtype == pl.String:
            gaps = column.is_in([text for text in stated if text not in kept])
        elif stated and column.dtype.is_numeric():
            numbers = [number for number in map(number_of, stated) if number is not None]
            gaps = column.cast(pl.Float64, strict=False).is_in([float(n) for n in numbers if n not in kept])
        else:
            continue
        out.append(column.set(gaps.fill_null(False), None))
    return frame.with_columns(out)


def _frame(data: bytes, columns: Sequence[str] | None, purpose: Purpose) -> pl.DataFrame:
    names = None if columns is None else list(columns)
    try:
        return pl.read_parquet(io.BytesIO(data), columns=names)
    except (Exception, pl.exceptions.PanicException):
        if purpose not in (Purpose.PRIVATE, Purpose.AUDIT):
            raise
    # An engine reads no text where one is not UTF-8. Each is decoded alone, so that no record changes another.
    types = pl.read_parquet_schema(io.BytesIO(data))
    wanted = [name for name in types if names is None or name in names]
    texts = [name for name in wanted if types[name] in (pl.String, pl.Categorical, pl.Enum)]
    coded = pl.read_parquet(io.BytesIO(texts_as_bytes(data)), columns=texts)
    others = pl.read_parquet(io.BytesIO(data), columns=[name for name in wanted if name not in texts])
    decoded = [
        pl.Series(name, [None if one is None else one.decode(errors="replace") for one in coded[name]], dtype=pl.String)
        for name in texts
    ]
    return pl.DataFrame([*others, *decoded]).select(wanted)


def as_written(texts: pl.Series, attribute: Attribute | None, missing: Collection[str], comma: bool) -> pl.Series:
    """Return a column of texts with nulls for what stands for a missing value, and points for decimal commas."""
    values = () if attribute is None or isinstance(attribute, Integer | Real) else values_of(attribute)
    if not comma and isinstance(attribute, Integer | Real) and set(missing) <= {*GAP_TEXTS}:
        # Whole numbers are read as the same values, and faster.
        whole = texts.cast(pl.Int64, strict=False)
        if not whole.null_count():
            return whole
    if missing := [gap for gap in missing if gap not in values]:
        texts = texts.set(texts.is_in(missing).fill_null(False), None)
    if comma and not any(isinstance(value, str) for value in values):
        texts = texts.to_frame().select(with_points(pl.first())).to_series()
    return texts


def with_points(texts: pl.Expr) -> pl.Expr:
    """Return numbers with decimal points in place of their one comma, thousands joined; other texts stay."""
    grouped = texts.str.contains(THOUSANDS).fill_null(False)
    texts = pl.when(grouped).then(texts.str.replace_all(SEPARATOR, "${1}")).otherwise(texts)
    return texts.str.replace(r"^(\s*[+-]?\d*),(\d+([eE][+-]?\d+)?\s*)$", "${1}.${2}")
