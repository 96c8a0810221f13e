"""Files of records: parsed into a table, with the digest of the bytes that were parsed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import narwhals as nw
import numpy as np
import polars as pl

from glassine.data.csv_records import differs, read_lines, texts_of
from glassine.data.memory_limits import check_parquet, check_text, check_texts
from glassine.data.record_table import ParsedFile, RecordTable
from glassine.domain import Domain
from glassine.domain.attributes import Attribute
from glassine.errors import InvalidDataError
from glassine.records.column_types import inferred, typed
from glassine.records.files import as_written, contents, read_parquet
from glassine.records.headers import CsvDialect, RecordsFile, check_declared, open_text
from glassine.records.lines import BLOCK, WINDOWS, DelimitedText, LineFlags
from glassine.records.purpose import Purpose
from glassine.tables.table_forms import check_form

NESTED = "holds lists or structures, which are no values of an attribute"
"""Why a column of a Parquet file is not read."""


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
        For whom it is read. A private fit takes each line for a record, and refuses none; an audit refuses none, and
        counts those that are not as the header says.
    domain : Domain, optional
        The public domain.
    attributes : mapping of str to Attribute, optional
        Further declared columns, or others in place of those of the domain.

    Raises
    ------
    UnreadableFileError
        If the file cannot be read; the message names the line of a CSV file, unless the purpose is private: then all
        that is refused follows from the header. Of an audit if half of its lines are not as the header says.
    InvalidDataError
        If the dialect states missing values of a column that the file lacks.
    """
    path, dialect = file.path, file.dialect
    # What a private fit may take was asked before its charge: one record's long text refuses none.
    data = contents(path, within_memory=purpose is not Purpose.PRIVATE)
    digest = hashlib.sha256(data).hexdigest()
    if not dialect.names:
        # Without a header these are bytes of a record.
        check_form(data, path)
    own = {} if domain is None else {name: domain[name] for name in domain}
    declared = {**own, **(attributes or {})}
    typed, encoding, separator = data[:4] == b"PAR1" and not dialect.names, None, None
    lines: LineFlags | None = None
    nested: tuple[str, ...] = ()
    if typed:
        kinds = check_parquet(data, path, purpose)
        nested = () if kinds is None else _nested(kinds, declared, path)
        flat = None if kinds is None else [name for name in kinds if name not in nested]
        frame = read_parquet(data, file, purpose, declared, flat)
        check_texts(frame, path, purpose)
        dialect.check_columns(frame.columns, path)
    else:
        text = open_text(file, data, declared, purpose=purpose)
        check_declared(text.names, own, path)
        check_text(text)
        encoding = text.encoding or ("utf-8" if purpose is Purpose.PRIVATE or text.is_utf8() else WINDOWS)
        separator = text.mark
        dialect.check_columns(text.names, path)
        blocks = _in_blocks(text, dialect) if _is_long(text, declared, dialect) else None
        if blocks is None:
            texts, lines = read_lines(text)
            frame = _read_csv(text, texts, lines, declared, dialect)
            del texts
        else:
            # A long file and all of its columns are not in memory together.
            del data, text
            frame = _joined(blocks)
    source = ParsedFile(path=path, digest=digest, typed=typed, encoding=encoding, separator=separator, nested=nested)
    return RecordTable(nw.from_native(frame, eager_only=True), source, lines=lines)


def _read_csv(
    text: DelimitedText,
    texts: pl.DataFrame,
    lines: LineFlags | None,
    declared: Mapping[str, Attribute],
    dialect: CsvDialect,
) -> pl.DataFrame:
    """Return the columns of a CSV file: declared ones value by value, the others by what all values have in common."""
    rest = [column for column in texts if column.name not in declared]
    if lines is None:
        own = iter(inferred(rest, dialect))
    else:
        # The type of a column follows from lines that are as the header says, and no other line changes it.
        plain = inferred([column.filter(lines == 0) for column in rest], dialect)
        own = iter([_completed(column, texts, lines) for column, texts in zip(plain, rest, strict=True)])
    return pl.DataFrame([_read(text, column, declared, dialect, own) for column in texts])


def _completed(plain: pl.Series, texts: pl.Series, lines: LineFlags) -> pl.Series:
    """Return a typed column with the cells of odd lines, null where they are none of its type."""
    odd = texts.filter(lines > 0)
    cells = pl.Series([None] * len(odd), dtype=pl.Boolean) if plain.dtype == pl.Boolean else odd
    places = np.argsort(np.concatenate([np.flatnonzero(lines == 0), np.flatnonzero(lines)]))
    return plain.extend(cells.alias(plain.name).cast(plain.dtype, strict=False))[places]


def _nested(types: Mapping[str, pl.DataType], declared: Mapping[str, Attribute], path: Path) -> tuple[str, ...]:
    """Return the columns of lists and structures of a Parquet file, whose size its footer does not say.

    They are not read; raise if one is declared, or if there is no other column.
    """
    nested = tuple(name for name, kind in types.items() if kind.is_nested())
    named = sorted(set(nested) & declared.keys())
    if named or len(nested) == len(types):
        raise InvalidDataError(
            f"column {[*named, *nested][0]!r} of {path} {NESTED}.",
            remedy=f"Write each part as a column{', or leave it out of the domain' if named else ''}.",
        )
    return nested


def _is_long(text: DelimitedText, declared: Mapping[str, Attribute], dialect: CsvDialect) -> bool:
    return len(text.data) > 2 * BLOCK and not dialect.decimal_comma and not declared


def _in_blocks(text: DelimitedText, dialect: CsvDialect) -> dict[str, list[pl.Series]] | None:
    """Return the columns of a long file in parts, never all of its texts; None where CSV has other records.

    What all texts of a column have in common follows from what those of its blocks do, but where some are numbers and
    others are not: then they are read again.
    """
    parts: dict[str, list[pl.Series]] = {name: [] for name in text.names}
    types: dict[str, set[pl.DataType]] = {name: set() for name in text.names}
    for frame, flags in text.blocks():
        if differs(text, flags):
            return None
        for column in inferred(list(frame), dialect):
            types[column.name].add(column.dtype)
            parts[column.name].append(_small(column, frame[column.name], dialect))
    if not all(parts.values()):
        return None  # a header alone
    again = [name for name, own in types.items() if len(own) > 1 and own != {pl.Int64(), pl.Float64()}]
    if again:
        parts |= {name: [] for name in again}
        for frame, _ in text.blocks():
            for name in again:
                parts[name].append(frame[name])
        parts |= {name: inferred([pl.concat(parts[name])], dialect) for name in again}
    return parts


def _small(column: pl.Series, texts: pl.Series, dialect: CsvDialect) -> pl.Series:
    """Return a part of a column in few bytes: of texts the own ones, since what was looked at holds other columns."""
    if column.dtype == pl.String:
        texts = texts.fill_null("")
        return texts.set(texts.is_in(list(dialect.gaps(texts.name))), None)
    return column.shrink_dtype() if column.dtype == pl.Int64 else column


def _joined(parts: dict[str, list[pl.Series]]) -> pl.DataFrame:
    """Return columns of parts, which are taken out of their lists one after another."""
    out = []
    for name in [*parts]:
        own = parts.pop(name)
        if any(part.dtype.is_float() for part in own):
            own = [part.cast(pl.Float64) for part in own]
        elif own[0].dtype.is_integer():
            own = [part.cast(pl.Int64) for part in own]
        out.append(pl.concat(own, rechunk=True))
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
        texts_of(open_text(file, data, declared, purpose=purpose)) for purpose in (Purpose.AUDIT, Purpose.PRIVATE)
    )
    if whole.equals(alone):
        return 0
    names = whole.columns
    one, other = (frame.group_by(names).len(name="\0") for frame in (whole, alone))
    both = one.join(other, on=names, how="left", suffix="\0", nulls_equal=True)
    position = pl.min_horizontal("\0", pl.col("\0\0").fill_null(0))
    return int(both.select((pl.col("\0") - position).sum()).item())
