"""Files of records: parsed into a table, with the digest of the bytes that were parsed."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import narwhals as nw
import numpy as np
import polars as pl

from glassine.data.table import Source, Table
from glassine.domain import Domain
from glassine.domain.attributes import GAP_TEXTS, Attribute, Integer, Real
from glassine.domain.literals import EXACT
from glassine.errors import CostLimitError, UnreadableFileError
from glassine.records.arrays import Bools, Ints
from glassine.records.cells import BLANKS, NUMERAL, number_of, numbers_of_texts
from glassine.records.columns import values_of
from glassine.records.limits import check_parquet, check_text
from glassine.records.lines import WINDOWS, CsvDialect, DelimitedText, RecordsFile, open_text
from glassine.records.purpose import Purpose

DIGITS = r"^\s*[+-]?\d+\s*$"
PADDED = r"^\s*0\d+\s*$"
"""A whole number that begins with 0: a code, such as a postcode."""

THOUSANDS = r"^\s*[+-]?\d{1,3}([.'\u2019 \u00a0\u202f]\d{3})+(,\d+)?\s*$"
"""A number with a mark before each three digits, and perhaps a decimal comma."""

SEPARATOR = r"[.'\u2019 \u00a0\u202f](\d{3})"
POINTED = r"^\s*[+-]?\d*\.\d*([eE][+-]?\d+)?\s*$"
"""A number with a decimal point."""

TOGETHER = 2**20
"""Texts that are looked at together, or those of one column."""

OTHER_FORMS = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
    b"\x1f\x8b": "a gzip file",
    b"ARROW1": "an Arrow file",
    b"SQLite format 3\0": "a SQLite database",
}
"""How other files of records begin, none of which is text."""


def read_table(
    file: RecordsFile,
    purpose: Purpose,
    domain: Domain | None = None,
    *,
    attributes: Mapping[str, Attribute] | None = None,
) -> Table:
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
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableFileError(
            f"cannot read {path}: {error.strerror or error}.", remedy="Check the path.", path=path
        ) from None
    if not dialect.names:
        # Without a header these are bytes of a record.
        _check_form(data, path)
    declared = {**({} if domain is None else {name: domain[name] for name in domain}), **(attributes or {})}
    typed, encoding, separator = data[:4] == b"PAR1" and not dialect.names, None, None
    if typed:
        frame = _read_parquet(data, declared, file, purpose)
    else:
        text = open_text(file, data, declared, purpose=purpose)
        if domain is not None and not any(name in domain for name in text.names):
            # None of the names is quoted: without a header, they are a record.
            raise UnreadableFileError(
                f"{path} has none of the columns that the domain declares, such as {domain.names[0]!r}.",
                remedy="Let its first line hold their names, and check the separator.",
                path=path,
            )
        check_text(text)
        frame = _read_csv(text, declared, dialect)
        encoding = text.encoding or ("utf-8" if purpose is Purpose.PRIVATE or text.is_utf8() else WINDOWS)
        separator = text.mark
    digest = hashlib.sha256(data).hexdigest()
    source = Source(path=path, digest=digest, typed=typed, encoding=encoding, separator=separator)
    return Table(nw.from_native(frame, eager_only=True), source)


def _check_form(data: bytes, path: Path) -> None:
    """Refuse what begins as no table of text does."""
    if not data[:4].strip():
        raise UnreadableFileError(
            f"{path} is empty.", remedy="Give a CSV file with a header, or a Parquet file.", path=path
        )
    form = next((form for start, form in OTHER_FORMS.items() if data.startswith(start)), None)
    if data.lstrip()[:1] in (b"{", b"[") and path.suffix.lower() in (".json", ".jsonl", ".ndjson"):
        form = "JSON"
    if form is not None:
        raise UnreadableFileError(
            f"{path} is {form}, from which no records are read.",
            remedy="Write them as a CSV file with a header, or as a Parquet file.",
            path=path,
        )


def _read_parquet(data: bytes, declared: Mapping[str, Attribute], file: RecordsFile, purpose: Purpose) -> pl.DataFrame:
    path, dialect = file.path, file.dialect
    try:
        check_parquet(data, path, purpose)
        frame = pl.read_parquet(io.BytesIO(data))
    except CostLimitError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        # The value that cannot be read is one record's, and so are its places.
        first = re.sub(r"`[^`]*(`|$)", "a value", first)
        raise UnreadableFileError(
            f"{path} is not a Parquet file that can be read: {first}.", remedy="Write it again.", path=path
        ) from None
    dialect.check_columns(frame.columns, path)
    columns = []
    for column in frame:
        stated = dialect.stated(column.name)
        attribute = declared.get(column.name)
        kept = () if attribute is None or isinstance(attribute, Integer | Real) else values_of(attribute)
        if column.dtype == pl.String:
            gaps = column.is_in([text for text in stated if text not in kept])
        elif column.dtype.is_numeric():
            numbers = [number for number in map(number_of, stated) if number is not None]
            gaps = column.cast(pl.Float64, strict=False).is_in([float(n) for n in numbers if n not in kept])
        else:
            continue
        columns.append(
            pl.select(pl.when(gaps.fill_null(False)).then(None).otherwise(column)).to_series().alias(column.name)
        )
    return frame.with_columns(columns)


def _read_csv(text: DelimitedText, declared: Mapping[str, Attribute], dialect: CsvDialect) -> pl.DataFrame:
    """Return the columns of a CSV file: declared ones value by value, the others by what all values have in common."""
    dialect.check_columns(text.names, text.path)
    texts = text.texts()
    inferred = iter(_inferred([column for column in texts if column.name not in declared], dialect))
    return pl.DataFrame([_read(text, column, declared, dialect, inferred) for column in texts])


def _read(
    text: DelimitedText,
    column: pl.Series,
    declared: Mapping[str, Attribute],
    dialect: CsvDialect,
    inferred: Iterator[pl.Series],
) -> pl.Series:
    """Return one column of a file: without a type for a private fit, whose reader looks at each text alone."""
    if column.name not in declared:
        return next(inferred)
    attribute, gaps = declared[column.name], dialect.gaps(column.name)
    if text.purpose is Purpose.PRIVATE:
        return _as_written(column, attribute, gaps, dialect.decimal_comma)
    return _typed(column, attribute, gaps, dialect.decimal_comma)


def _as_written(texts: pl.Series, attribute: Attribute, missing: Collection[str], comma: bool) -> pl.Series:
    """Return a column of texts with nulls for what stands for a missing value, and points for decimal commas."""
    values = () if isinstance(attribute, Integer | Real) else values_of(attribute)
    if not comma and isinstance(attribute, Integer | Real) and set(missing) <= {*GAP_TEXTS}:
        # Whole numbers are read as the same values, and faster.
        whole = texts.cast(pl.Int64, strict=False)
        if not whole.null_count():
            return whole
    if missing := [gap for gap in missing if gap not in values]:
        texts = texts.set(texts.is_in(missing).fill_null(False), None)
    if comma and not any(isinstance(value, str) for value in values):
        texts = texts.to_frame().select(_with_points(pl.first())).to_series()
    return texts


def _typed(texts: pl.Series, attribute: Attribute, missing: Collection[str], comma: bool) -> pl.Series:
    """Return a column of texts as numbers where each of them is one, with nulls for gaps."""
    numeric = isinstance(attribute, Integer | Real)
    values = () if numeric else values_of(attribute)
    # Polars takes an empty field for none.
    texts = texts.fill_null("")
    gaps = texts.is_in([gap for gap in missing if gap not in values])
    texts = texts.set(gaps, None)
    if any(isinstance(value, str) for value in values):
        return texts
    texts = texts.to_frame().select(_with_points(pl.first())).to_series() if comma else texts
    whole = texts.cast(pl.Int64, strict=False)
    if (whole.is_null() == gaps).all():
        return whole
    words = texts.str.to_lowercase()
    if not numeric and (words.is_in(["true", "false"]) | gaps).all():
        return (words == "true").alias(texts.name)
    numbers = numbers_of_texts(texts)
    if (np.isnan(numbers) == gaps.to_numpy()).all() and (
        numeric or all(not isinstance(v, str) and abs(v) < EXACT for v in values)
    ):
        return pl.Series(texts.name, numbers, nan_to_null=True)
    return texts


def _inferred(columns: Sequence[pl.Series], dialect: CsvDialect) -> list[pl.Series]:
    """Return columns of texts, each in the type that all its texts have in common, with nulls for gaps."""
    # Columns are looked at one below the other: files have thousands of short ones, and each question takes its time.
    out: list[pl.Series] = []
    group: list[pl.Series] = []
    for column in columns:
        if group and (
            len(column) * (len(group) + 1) > TOGETHER or dialect.gaps(group[0].name) != dialect.gaps(column.name)
        ):
            out += _inferred_alike(group, dialect)
            group = []
        group.append(column)
    return out + (_inferred_alike(group, dialect) if group else [])


def _inferred_alike(columns: Sequence[pl.Series], dialect: CsvDialect) -> list[pl.Series]:
    """Return columns with the same gaps, each in its type; see :func:`_inferred`."""
    n = len(columns[0])
    # Of a name such as ^a$ polars makes a pattern.
    below = [column.alias("") for column in columns]
    texts = pl.concat(below).rechunk() if len(below) > 1 else below[0]
    texts = texts.fill_null("")
    texts = texts.set(texts.is_in(list(dialect.gaps(columns[0].name))), None)
    out = [texts.slice(i * n, n) for i in range(len(columns))]
    if n == 0:
        return list(columns)
    stack = _Stack(texts, n, np.arange(len(columns)))
    rest = stack.where(lambda texts: texts.is_not_null(), some=True)
    written = rest
    if dialect.decimal_comma:
        pointed = rest.where(_pointed, some=True)
        comma = rest.without(pointed)
        points = _Stack(_evaluated(comma.texts, _with_points), n, comma.places)
        written = _Stack.merged(pointed, points)
    wholes = written.where(lambda texts: texts.cast(pl.Int64, strict=False).is_null() == texts.is_null())
    rest = rest.without(wholes)
    padded = wholes.where(lambda texts: texts.str.contains(PADDED), some=True)
    truths = rest.where(lambda texts: _is_truth(texts) | texts.is_null())
    rest = rest.without(truths)
    rest = rest.without(rest.where(_is_truth, some=True))
    rest = written.only(rest)
    # Whole numbers beyond 64 bits name things: as doubles, two of them would be one.
    rest = rest.without(rest.where(lambda texts: texts.str.contains(DIGITS) | texts.is_null()))
    plain = rest.where(lambda texts: _is_numeral(texts) | texts.is_null())
    converted = (
        wholes.without(padded).converted(lambda texts: texts.cast(pl.Int64, strict=False)),
        truths.converted(lambda texts: texts.str.to_lowercase() == "true"),
        plain.converted(lambda texts: texts.str.strip_chars(BLANKS).cast(pl.Float64)),
    )
    for place, column in (pair for pairs in converted for pair in pairs):
        out[place] = column
    for place, column in rest.without(plain).converted(lambda texts: texts):
        # Most other columns show in their first word that they are texts.
        if all(text is None or number_of(text) is not None for text in column.to_list()):
            out[place] = pl.Series("", numbers_of_texts(column), nan_to_null=True)
    return [column.alias(given.name) for column, given in zip(out, columns, strict=True)]


def _evaluated(texts: pl.Series, of: Callable[[pl.Expr], pl.Expr]) -> pl.Series:
    return texts.alias("texts").to_frame().select(of(pl.col("texts"))).to_series()


@dataclass(frozen=True, slots=True)
class _Stack:
    """Columns of texts, one below the other."""

    texts: pl.Series
    n: int  # Rows of a column
    places: Ints  # Of the columns, among those that were given, increasing

    def where(self, holds: Callable[[pl.Expr], pl.Expr], *, some: bool = False) -> _Stack:
        """Return the columns of whose texts something holds: of all, or of some."""
        answers = _evaluated(self.texts, lambda texts: holds(texts).fill_null(False)).to_numpy().reshape(-1, self.n)
        return self._filtered(np.asarray(answers.any(axis=1) if some else answers.all(axis=1)))

    def without(self, others: _Stack) -> _Stack:
        """Return the columns that are not among others."""
        return self._filtered(~np.isin(self.places, others.places))

    def only(self, others: _Stack) -> _Stack:
        """Return the columns that are among others."""
        return self._filtered(np.isin(self.places, others.places))

    def _filtered(self, kept: Bools) -> _Stack:
        if kept.all():
            return self
        return _Stack(self.texts.filter(pl.Series(np.repeat(kept, self.n))), self.n, self.places[kept])

    @classmethod
    def merged(cls, one: _Stack, other: _Stack) -> _Stack:
        """Return the columns of both, in order."""
        places = np.concatenate([one.places, other.places])
        order = np.argsort(places)
        texts = pl.concat([one.texts.alias(""), other.texts.alias("")])
        rows = (order[:, None] * one.n + np.arange(one.n)).ravel()
        return cls(texts.gather(rows), one.n, places[order])

    def converted(self, how: Callable[[pl.Expr], pl.Expr]) -> Iterator[tuple[int, pl.Series]]:
        """Yield the place of each column, and what becomes of its texts."""
        values = _evaluated(self.texts, how)
        for number, place in enumerate(self.places.tolist()):
            yield place, values.slice(number * self.n, self.n)


def _is_numeral(texts: pl.Expr) -> pl.Expr:
    """Return where polars reads the number that a text writes."""
    words = texts.str.strip_chars(BLANKS)
    return words.str.contains(NUMERAL) & words.cast(pl.Float64, strict=False).is_not_null()


def _is_truth(texts: pl.Expr) -> pl.Expr:
    return texts.str.to_lowercase().is_in(["true", "false"]).fill_null(False)


def _pointed(texts: pl.Expr) -> pl.Expr:
    """Return which texts, such as 1.5, show that points are decimal in their column: so that 1.234 is a fraction."""
    return texts.str.contains(r"\.") & ~texts.str.contains(THOUSANDS) & texts.str.contains(POINTED)


def _with_points(texts: pl.Expr) -> pl.Expr:
    """Return numbers with decimal points in place of their one comma, thousands joined; other texts stay."""
    grouped = texts.str.contains(THOUSANDS).fill_null(False)
    texts = pl.when(grouped).then(texts.str.replace_all(SEPARATOR, "${1}")).otherwise(texts)
    return texts.str.replace(r"^(\s*[+-]?\d*),(\d+([eE][+-]?\d+)?\s*)$", "${1}.${2}")
