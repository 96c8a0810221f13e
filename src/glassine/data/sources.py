"""Files of records: parsed into a table, with the digest of the bytes that were parsed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import narwhals as nw
import polars as pl

from glassine.data.record_table import ParsedFile, RecordTable
from glassine.domain import Domain
from glassine.domain.attributes import Attribute
from glassine.records.column_types import inferred, typed
from glassine.records.files import (
    as_written,
    check_declared,
    check_form,
    contents,
    read_parquet,
)
from glassine.records.headers import CsvDialect, RecordsFile, open_text
from glassine.records.limits import check_parquet, check_text
from glassine.records.lines import BLOCK, WINDOWS, DelimitedText
from glassine.records.purpose import Purpose


def read_table(
    file: RecordsFile,
    purpose: Purpose,
    domain: Domain | None = None,
    *,
    attributes: Mapping[str, Attribute] | None = None,
) -> RecordTable:
    """Return the records of a CSV or Parquet file, read once and by content.

    Declared columns of a CSV file are texts for a private fit. Elsewhere their type is at most a convenience: where
    some text is no number, it stays text, which is read as the same value. Categories of words stay as they are
    written, so that 01 stays 01. Columns that nothing declares get the type that all their values have in common;
    whole numbers beyond 64 bits stay text, and so do columns in which one begins with 0, such as postcodes.

    Parameters
    ----------
    file : RecordsFile
        The file, and how it is written; of a Parquet file only the texts that stand for missing values count.
    purpose : Purpose
        For whom it is read. A private fit takes each line for a record, and refuses none.
    domain : Domain, optional
        The public domain.
    attributes : mapping of str to Attribute, optional
        Further declared columns, or others in place of those of the domain.

    Raises
    ------
    UnreadableFileError
        If the file cannot be read; the message names the line of a CSV file, unless the purpose is private: then all
        that is refused follows from the header.
    InvalidDataError
        If the dialect states missing values of a column that the file lacks.
    """
    path, dialect = file.path, file.dialect
    data = contents(path)
    if not dialect.names:
        # Without a header these are bytes of a record.
        check_form(data, path)
    own = {} if domain is None else {name: domain[name] for name in domain}
    declared = {**own, **(attributes or {})}
    typed, encoding, separator = data[:4] == b"PAR1" and not dialect.names, None, None
    if typed:
        check_parquet(data, path, purpose)
        frame = read_parquet(data, file, declared)
    else:
        text = open_text(file, data, declared, purpose=purpose)
        check_declared(text.names, own, path)
        check_text(text)
        frame = _read_csv(text, declared, dialect)
        encoding = text.encoding or ("utf-8" if purpose is Purpose.PRIVATE or text.is_utf8() else WINDOWS)
        separator = text.mark
    digest = hashlib.sha256(data).hexdigest()
    source = ParsedFile(path=path, digest=digest, typed=typed, encoding=encoding, separator=separator)
    return RecordTable(nw.from_native(frame, eager_only=True), source)


def _read_csv(text: DelimitedText, declared: Mapping[str, Attribute], dialect: CsvDialect) -> pl.DataFrame:
    """Return the columns of a CSV file: declared ones value by value, the others by what all values have in common."""
    dialect.check_columns(text.names, text.path)
    long = len(text.data) > 2 * BLOCK and not dialect.decimal_comma
    if long and not declared and (frame := _in_blocks(text, dialect)) is not None:
        return frame
    texts = text.texts()
    own = iter(inferred([column for column in texts if column.name not in declared], dialect))
    return pl.DataFrame([_read(text, column, declared, dialect, own) for column in texts])


def _in_blocks(text: DelimitedText, dialect: CsvDialect) -> pl.DataFrame | None:
    """Return the columns of a long file, whose texts are never all in memory; None where CSV has other records.

    What all texts of a column have in common follows from what those of its blocks do, but where some are numbers and
    others are not: then they are read again.
    """
    typed: dict[str, list[pl.Series]] = {name: [] for name in text.names}
    for frame, flags in text.blocks():
        if text.differs(flags):
            return None
        for column in inferred(list(frame), dialect):
            # Of texts the own ones are kept: what was looked at holds those of other columns, too.
            typed[column.name].append(column if column.dtype != pl.String else frame[column.name])
    if not all(typed.values()):
        return None  # a header alone
    own = {name: {str(part.dtype) for part in parts} for name, parts in typed.items()}
    again = {name for name, types in own.items() if len(types) > 1 and types != {"Int64", "Float64"}}
    if again:
        typed |= {name: [] for name in again}
        for frame, _ in text.blocks():
            for name in again:
                typed[name].append(frame[name])
    out = []
    for name in text.names:
        parts = typed.pop(name)
        several = len({part.dtype for part in parts}) > 1
        column = pl.concat([part.cast(pl.Float64) for part in parts] if several else parts, rechunk=True)
        out.append(column if column.dtype != pl.String else inferred([column], dialect)[0])
    return pl.DataFrame(out)


def _read(
    text: DelimitedText,
    column: pl.Series,
    declared: Mapping[str, Attribute],
    dialect: CsvDialect,
    own: Iterator[pl.Series],
) -> pl.Series:
    """Return one column of a file: without a type for a private fit, whose reader looks at each text alone."""
    if column.name not in declared:
        return next(own)
    attribute, gaps = declared[column.name], dialect.gaps(column.name)
    if text.purpose is Purpose.PRIVATE:
        return as_written(column, attribute, gaps, dialect.decimal_comma)
    return typed(column, attribute, gaps, dialect.decimal_comma)


def differing(file: RecordsFile, data: bytes, declared: Mapping[str, Attribute]) -> int:
    """Return how many records of a file, as CSV has them, are not among those that a private fit reads."""
    whole, alone = (
        open_text(file, data, declared, purpose=purpose).texts() for purpose in (Purpose.ORDINARY, Purpose.PRIVATE)
    )
    if whole.equals(alone):
        return 0
    names = whole.columns
    one, other = (frame.group_by(names).len(name="\0") for frame in (whole, alone))
    both = one.join(other, on=names, how="left", suffix="\0", nulls_equal=True)
    position = pl.min_horizontal("\0", pl.col("\0\0").fill_null(0))
    return int(both.select((pl.col("\0") - position).sum()).item())
