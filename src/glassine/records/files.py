"""Files of records as containers: columns from the header, and then the records, each line alone."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import narwhals as nw

from glassine.domain.attributes import Attribute, Integer, Real
from glassine.domain.prefixes import GAP_TEXTS
from glassine.errors import UnreadableFileError
from glassine.records.cells import Plain
from glassine.records.columns import is_column, values_of
from glassine.records.headers import EXCEL, RecordsFile, open_text
from glassine.records.limits import check_parquet, check_text, check_texts
from glassine.records.lines import DelimitedText
from glassine.records.purpose import Purpose
from glassine.records.scalars import number_of
from glassine.tables.parquet_pages import check_plain, texts_as_bytes
from glassine.tables.table_forms import check_form

if TYPE_CHECKING:
    import polars as pl
else:
    from glassine.records import frames as pl

THOUSANDS = r"^\s*[+-]?\d{1,3}([.'\u2019 \u00a0\u202f]\d{3})+(,\d+)?\s*$"
"""A number with a mark before each three digits, and perhaps a decimal comma."""

SEPARATOR = r"[.'\u2019 \u00a0\u202f](\d{3})"


def contents(path: Path) -> bytes:
    """Return the bytes of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> UnreadableFileError:
    return UnreadableFileError(f"cannot read {path}: {error.strerror or error}.", remedy="Check the path.", path=path)


# A file as a container of records: for a private fit, which names its columns before it opens the records.


def header_of(file: RecordsFile) -> DelimitedText | None:
    """Return a file of delimited text with its header alone; None of a Parquet file. No record is read.

    Raises
    ------
    UnreadableFileError
        If the file cannot be opened, or its header cannot be read or has no declared column.
    InvalidDataError
        If the dialect states missing values of a column that the file lacks.
    """
    if file.path.exists() and not (file.path.is_file() or file.path.is_dir()):
        raise UnreadableFileError(
            f"{file.path} is no file on a disk: a private fit reads the header first, and the records after its "
            "charge.",
            remedy="Save the records to a file.",
            path=file.path,
        )
    try:
        with file.path.open("rb") as stream:
            head = stream.readline()
            if EXCEL.match(head.removeprefix(b"\xef\xbb\xbf")):
                head += stream.readline()
    except OSError as error:
        raise _unreadable(file.path, error) from None
    if not file.dialect.names:
        # Without a header these are bytes of a record.
        check_form(head, file.path)
        if _is_parquet(head):
            return None
    text = open_text(file, head, file.declared, purpose=Purpose.PRIVATE)
    check_declared(text.names, file.declared, file.path)
    file.dialect.check_columns(text.names, file.path)
    return text


def check_declared(names: Sequence[str], declared: Mapping[str, Attribute], path: Path) -> None:
    """Raise UnreadableFileError if a header names nothing that is declared; it may be a record, and is not quoted."""
    if declared and not any(name in declared for name in names):
        raise UnreadableFileError(
            f"{path} has none of the columns that the domain declares, such as {next(iter(declared))!r}.",
            remedy="Let its first line hold their names, and check the separator.",
            path=path,
        )


def columns_of_file(file: RecordsFile) -> tuple[tuple[str, ...], Mapping[str, nw.dtypes.DType] | None]:
    """Return the columns that a file offers, and of a Parquet file their types; raise as :func:`header_of`."""
    text = header_of(file)
    if text is not None:
        return tuple(name for name in text.names if file.columns is None or name in file.columns), None
    try:
        types = pl.read_parquet_schema(file.path)
    except (Exception, pl.exceptions.PanicException) as error:
        raise _no_parquet(file.path, error) from None
    check_plain(file.path)
    file.dialect.check_columns(tuple(types), file.path)
    flat = {name: kind for name, kind in types.items() if not kind.is_nested()}
    own = {name: kind for name, kind in flat.items() if file.columns is None or name in file.columns}
    return tuple(own), dict(nw.from_native(pl.DataFrame(schema=own)).schema)


def batches_of_file(file: RecordsFile, names: Sequence[str]) -> Iterator[dict[str, Plain]]:
    """Yield some columns of a file, each cell as its own line holds it: texts, whole numbers, or values of Parquet.

    Raises
    ------
    UnreadableFileError, InvalidDataError
        As :func:`header_of`.
    """
    data = contents(file.path)
    if _is_parquet(data) and not file.dialect.names:
        present = check_parquet(data, file.path, Purpose.PRIVATE) or ()
        names = [name for name in names if is_column(name, present)]
        frame = read_parquet(data, file, Purpose.PRIVATE, file.declared, names)
        yield {name: frame[name] for name in names}
        return
    text = open_text(file, data, file.declared, purpose=Purpose.PRIVATE)
    check_text(text)
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


def _is_parquet(data: bytes) -> bool:
    return data[:4] == b"PAR1"


def read_parquet(
    data: bytes, file: RecordsFile, purpose: Purpose, declared: Mapping[str, Attribute], columns: Sequence[str] | None
) -> pl.DataFrame:
    """Return some columns of a Parquet file, None for all, with nulls for what is stated to be missing.

    Raises
    ------
    CostLimitError
        If they take more memory than allowed.
    """
    path, dialect = file.path, file.dialect
    try:
        frame = _frame(data, columns, purpose)
    except (Exception, pl.exceptions.PanicException) as error:
        raise _no_parquet(path, error) from None
    check_texts(frame, path, purpose)
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


def _no_parquet(path: Path, error: BaseException) -> UnreadableFileError:
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    # The value that cannot be read is one record's, and so are its places.
    first = re.sub(r"`[^`]*(`|$)", "a value", first)
    remedy = "Write its texts in UTF-8." if "UTF-8" in first else "Write it again."
    return UnreadableFileError(f"{path} is not a Parquet file that can be read: {first}.", remedy=remedy, path=path)


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
