"""The header of a file of records: its columns, separator and encoding.

What is not stated is taken from the first line, which is public as the columns' names are, and never from records.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import narwhals as nw

from glassine.domain.attributes import Attribute, Category
from glassine.domain.prefixes import GAP_TEXTS
from glassine.errors import InvalidDataError, InvalidParameterError, UnreadableFileError, parameter
from glassine.records.lines import BLANK, WINDOWS, DelimitedText
from glassine.records.parquet_pages import check_plain
from glassine.records.purpose import Purpose
from glassine.tables.table_forms import check_form

if TYPE_CHECKING:
    import polars as pl
else:
    from glassine.records import frames as pl

PARQUET = b"PAR1"
"""What a Parquet file begins with."""

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""Separators that are looked for, and their names."""

WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", r"\t": "\t", "bar": "|", "space": " "}
"""Separators as words, where a shell makes it hard to write them."""

BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}

WIDE = {b"\1\0\0\0": "utf-32-le", b"\0\0\0\1": "utf-32-be", b"\1\0": "utf-16-le", b"\0\1": "utf-16-be"}
"""Encodings by which bytes of the first character are not 0."""

_PAGES = (437, 720, 737, 775, 850, 852, 855, 856, 857, 858, 860, 861, 862, 863, 864, 865, 866, 869, 874, 932, 949, 950)
_APPLE = ("arabic", "croatian", "cyrillic", "farsi", "greek", "iceland", "latin2", "roman", "romanian", "turkish")
_OTHERS = """
    ascii big5 big5hkscs charmap cp1006 cp1125 euc_jis_2004 euc_jisx0213 euc_jp euc_kr gb18030 gb2312 gbk hp-roman8
    johab koi8-r koi8-t koi8-u kz1048 palmos ptcp154 shift_jis shift_jis_2004 shift_jisx0213 tis-620 utf-8
"""
LINE_BY_LINE = frozenset(
    (
        *(f"cp{page}" for page in (*_PAGES, *range(1250, 1259))),
        *(f"iso8859-{part}" for part in range(1, 17) if part != 12),
        *(f"mac-{name}" for name in _APPLE),
        *re.findall(r"\S+", _OTHERS),
    )
)
"""Codecs of Python in which a line ends at the byte 0x0A and nowhere else, and nothing before it changes what follows.

All others, UTF-16 and those that shift, such as ISO-2022 and HZ, cannot be cut into lines that are read alone. A test
compares this list with what each codec of Python does.
"""

DATE = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3(\d{4}|\d{2}))([T ]\d{1,2}:\d{2}.*)?", flags=re.ASCII
)

VALUE = re.compile(
    r"\s*([+-]?((\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?|inf|infinity)|true|false)\s*", flags=re.ASCII | re.IGNORECASE
)
"""A number or a truth value, which no column is named."""

EXCEL = re.compile(rb'"?sep=([\t !#-~])"?\r?\n', flags=re.IGNORECASE)
"""A first line that states the separator for Excel, one character of ASCII and no quote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvDialect:
    r"""How a file of delimited text is written, where that is stated.

    Attributes
    ----------
    separator : str or None
        What stands between two fields: one character, or one of the words comma, semicolon, tab, bar and space; with a
        blank behind it, blanks after it are no part of a value. By default the one mark of ``, ; | \t`` in the header,
        with blanks after it, unless the domain declares a text that begins with one.
    encoding : str or None
        Name of the encoding. By default the byte order mark decides; without one it is UTF-8, and each line that is
        none is read as Windows-1252, a superset of Latin-1.
    decimal_comma : bool
        Whether numbers are written as 1,5 or 1.234,5. A point, a blank or an apostrophe before each three digits
        separates thousands: 1.234 is then 1234.
    missing : tuple of str
        Texts that stand for a missing value, beside the empty one, ``?``, ``NA``, ``NaN`` and ``nan``. What an
        attribute declares stays a value.
    missing_in : tuple of pairs of str
        A column, and a text that stands for a missing value in it alone. A name that ends in ``*`` is that of every
        column that begins so.
    header : bool
        Whether the first line holds names though they look like values.
    names : tuple of str
        The columns of a file without a header; empty if its first line names them.

    Raises
    ------
    InvalidParameterError
        If the separator is not one character, is a quote or a line's end, the encoding is unknown, or two of the names
        are equal.

    Examples
    --------
    >>> CsvDialect(separator="tab").separator, CsvDialect(separator=", ").separator
    ('\t', ', ')
    """

    separator: str | None = None
    encoding: str | None = None
    decimal_comma: bool = False
    missing: tuple[str, ...] = ()
    missing_in: tuple[tuple[str, str], ...] = ()
    header: bool = False
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.separator is not None:
            separator = WORDS.get(self.separator, self.separator)
            object.__setattr__(self, "separator", separator)
            mark = separator[:-1] if len(separator) == 2 and separator[1] == BLANK else separator
            if len(mark) != 1 or not mark.isascii() or mark in '"\r\n\0':
                raise InvalidParameterError(
                    f"{parameter('separator')} must be one character, alone or with a blank behind it, or comma, "
                    f"semicolon, tab, bar or space, got {separator!r}."
                )
        if self.encoding is not None:
            try:
                of_text = codecs.lookup(self.encoding)._is_text_encoding
            except LookupError:
                of_text = False
            if not of_text:
                raise InvalidParameterError(
                    f"{parameter('encoding')} must name an encoding, such as windows-1250, got {self.encoding!r}."
                )
        twice = next((name for name, count in Counter(self.names).items() if count > 1), None)
        if twice is not None:
            raise InvalidParameterError(f"{parameter('names')} must be different, but {twice!r} stands twice.")

    def stated(self, column: str) -> tuple[str, ...]:
        """Return the texts that are stated to stand for a missing value of a column."""
        return (*self.missing, *(text for name, text in self.missing_in if _names(name, column)))

    def gaps(self, column: str) -> tuple[str, ...]:
        """Return all texts that stand for a missing value of a column."""
        return (*GAP_TEXTS, *self.stated(column))

    def check_columns(self, columns: Collection[str], path: Path) -> None:
        """Raise if a text is stated for a column that a file lacks."""
        for name, _ in self.missing_in:
            if not any(_names(name, column) for column in columns):
                raise InvalidDataError(
                    f"{parameter('missing_in')} names {name!r}, which is not a column of {path}.",
                    remedy="Check its spelling.",
                )


def _names(name: str, column: str) -> bool:
    return name == column or (name.endswith("*") and column.startswith(name[:-1]))


PLAIN = CsvDialect()
"""Nothing is stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsFile:
    """A file of records that is not opened yet, CSV or Parquet.

    Attributes
    ----------
    path : Path
        The file.
    dialect : CsvDialect
        How it is written, where that is stated.
    declared : mapping of str to Attribute
        The public attributes, by which columns are read where the file is a container of records.
    columns : tuple of str, or None
        The columns that it offers as a container, in order; None for all.
    """

    path: Path
    dialect: CsvDialect = field(default=PLAIN)
    declared: Mapping[str, Attribute] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None


# What the header says.


def open_text(file: RecordsFile, data: bytes, declared: Mapping[str, Attribute], *, purpose: Purpose) -> DelimitedText:
    """Return a file of delimited text with its header read.

    Raises
    ------
    UnreadableFileError
        If the header cannot be read, or looks like a record; for a private fit also if the encoding is one whose
        lines cannot be read alone. Nothing of it depends on what stands below the header.
    """
    path, dialect = file.path, file.dialect
    # Without a header the first line is a record, of which a private fit takes nothing about others.
    headed = not dialect.names or purpose is not Purpose.PRIVATE
    skip, encoding = _encoding(data if headed else b"", dialect.encoding, path, purpose)
    if encoding is not None and encoding not in LINE_BY_LINE:
        data, skip, encoding = decoded(data[skip:], encoding, path, 0), 0, "utf-8"
    head = _Head(data=data[skip:], encoding=encoding, path=path, purpose=purpose)
    stated, lines = dialect.separator, 0
    if headed and (excel := EXCEL.match(head.data)) is not None:
        head, lines, skip = head.below(excel.end()), 1, skip + excel.end()
        stated = stated or excel[1].decode()
    separator = stated or _separator(head, dialect, declared)
    names, length, taken, unnamed = (dialect.names, 0, 0, 0) if dialect.names else head.names(separator, declared)
    _check_names(names, path, declared=declared, trusted=dialect.header or bool(dialect.names))
    return DelimitedText(
        path=path,
        names=names,
        data=data,
        start=skip + length,
        separator=separator,
        encoding=encoding,
        lines=lines + taken,
        purpose=purpose,
        unnamed=unnamed,
    )


def _encoding(data: bytes, encoding: str | None, path: Path, purpose: Purpose) -> tuple[int, str | None]:
    """Return the length of a byte order mark, and the encoding that it or the caller states; None for none."""
    mark = next((mark for mark in BOMS if data.startswith(mark)), b"")
    stated = BOMS.get(mark) or encoding or _wide(data)
    name = None if stated is None else codecs.lookup(stated).name.removesuffix("-sig")
    if name is not None and purpose is Purpose.PRIVATE and name not in LINE_BY_LINE:
        raise UnreadableFileError(
            f"{path} is in the encoding {name}, whose lines cannot be read alone: one record could change how others "
            "are read.",
            remedy="For a private fit, save it as UTF-8 or as Parquet.",
            path=path,
        )
    # UTF-8 that is marked or stated is read as strictly as any encoding that is stated.
    return len(mark), name


def _wide(data: bytes) -> str | None:
    """Return UTF-16 or UTF-32 without a mark, which the first character of the header shows."""
    shape = bytes(map(bool, data[:4]))
    return WIDE.get(shape) or WIDE.get(shape[:2])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Head:
    """The beginning of a file, from the header on."""

    data: bytes
    encoding: str | None
    path: Path
    purpose: Purpose

    def below(self, length: int) -> _Head:
        return _Head(data=self.data[length:], encoding=self.encoding, path=self.path, purpose=self.purpose)

    def lines(self) -> Iterator[tuple[str, int]]:
        """Yield lines as texts, with how many bytes each takes; of a private fit the first alone."""
        start = 0
        while start < len(self.data):
            stop = self.data.find(b"\n", start) + 1 or len(self.data)
            line = self.data[start:stop]
            yield (
                (in_utf8(line) if self.encoding is None else line).decode(self.encoding or "utf-8", "replace"),
                len(line),
            )
            if self.purpose is Purpose.PRIVATE:
                return
            start = stop

    def names(self, separator: str, declared: Collection[str]) -> tuple[tuple[str, ...], int, int, int]:
        """Return the names of the columns, how many bytes and lines hold them, and how many empty fields follow.

        A quoted name may break its line.

        Blanks around a name are no part of it, unless it is declared with them or another column would have its name.
        """
        taken: list[int] = []
        first = ""

        def texts() -> Iterator[str]:
            nonlocal first
            for line, length in self.lines():
                first = first or line
                taken.append(length)
                yield line

        reader = csv.reader(texts(), delimiter=separator[0], skipinitialspace=separator[1:] == BLANK)
        try:
            names = tuple(next(reader, []))
        except csv.Error:
            if "\r" in first.rstrip("\r\n"):
                raise UnreadableFileError(
                    f"{self.path} ends its lines with CR alone.", remedy="Write LF or CRLF.", path=self.path
                ) from None
            names = ("\n",)
        # A quote that is not closed takes in all that follows.
        whole = self.purpose is Purpose.PRIVATE or names == ("\n",) or sum(taken) == len(self.data)
        if whole and any("\n" in name for name in names):
            raise UnreadableFileError(
                f"the header of {self.path} is malformed: a quote is not closed, or a name is too long.",
                remedy="Mend its first line.",
                path=self.path,
            )
        if any("\0" in name for name in names):
            raise UnreadableFileError(
                f"the header of {self.path} holds bytes that are no text.",
                remedy="Give a CSV file with a header, or a Parquet file.",
                path=self.path,
            )
        # Empty fields at the end are no part of the table, as in the lines below.
        bare = [name if name in declared else name.strip() for name in names]
        last = max((place for place, name in enumerate(bare, 1) if name), default=1)
        times = Counter(bare)
        own = tuple(one if times[one] == 1 else name for name, one in zip(names[:last], bare, strict=False))
        return own, sum(taken), len(taken), len(names) - len(own)


def _separator(head: _Head, dialect: CsvDialect, declared: Mapping[str, Attribute]) -> str:
    """Return the mark of the header that may be a separator; of several, the one that gives declared names."""
    first = "" if dialect.names else re.sub(r'"[^"]*("|$)', "", next((line for line, _ in head.lines()), ""))
    marks = [mark for mark in SEPARATORS if mark in first]
    if len(marks) > 1:
        hits = {mark: len({*head.names(mark + BLANK, declared)[0]} & {*declared}) for mark in marks}
        most = max(hits.values())
        best = [mark for mark in marks if hits[mark] == most > 0]
        if len(best) != 1:
            raise UnreadableFileError(
                f"the header of {head.path} holds {' and '.join(SEPARATORS[mark] for mark in marks)}, each of which "
                "may separate its columns.",
                remedy=f"State the {parameter('separator')}.",
                path=head.path,
            )
        marks = best
    mark = marks[0] if marks else ","
    # What is declared is public; what stands behind the marks of records is not.
    led = any(
        isinstance(value, str) and value.startswith(BLANK)
        for attribute in declared.values()
        if isinstance(attribute, Category)
        for value in attribute.values
    ) or any(name.startswith(BLANK) for name in declared)
    return mark if led or mark == "\t" else mark + BLANK


def _check_names(names: tuple[str, ...], path: Path, *, declared: Collection[str], trusted: bool) -> None:
    """Refuse a header that looks like a record, and names that are not unique; quote none that may be a value."""
    certain = trusted or any(name in declared for name in names)
    if not any(names):
        raise UnreadableFileError(f"the first line of {path} names no column.", remedy="Name each there.", path=path)
    # An empty name is that of the row numbers which data frames write.
    values = sum(bool(name) and bool(VALUE.fullmatch(name) or DATE.fullmatch(name)) for name in names)
    if values and not certain:
        raise UnreadableFileError(
            f"{path} seems to have no header: {values} of the {len(names)} names in its first line look like values, "
            "such as numbers or dates.",
            remedy=f"Add a line with the names of the columns, state them as {parameter('names')}, or pass "
            f"{parameter('header', True)} if these are names.",
            path=path,
        )
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        first, second = [place + 1 for place, name in enumerate(names) if name == twice][:2]
        raise UnreadableFileError(
            f"{path} has two columns {f'named {twice!r}' if certain else 'of one name'}, columns {first} and {second}.",
            remedy="Rename one. If the file has no header, add a line with the names of its columns.",
            path=path,
        )


def unreadable(path: Path, error: OSError) -> UnreadableFileError:
    """Return the error of a file that cannot be opened."""
    return UnreadableFileError(f"cannot read {path}: {error.strerror or error}.", remedy="Check the path.", path=path)


def first_lines(stream: BinaryIO) -> bytes:
    """Return what stands above the records: the first line, and that below a line that states the separator."""
    head = stream.readline()
    return head + stream.readline() if EXCEL.match(head.removeprefix(codecs.BOM_UTF8)) else head


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
            head = first_lines(stream)
    except OSError as error:
        raise unreadable(file.path, error) from None
    if not file.dialect.names:
        # Without a header these are bytes of a record.
        check_form(head, file.path)
        if head[:4] == PARQUET:
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
        raise no_parquet(file.path, error) from None
    check_plain(file.path)
    file.dialect.check_columns(tuple(types), file.path)
    flat = {name: kind for name, kind in types.items() if not kind.is_nested()}
    own = {name: kind for name, kind in flat.items() if file.columns is None or name in file.columns}
    return tuple(own), dict(nw.from_native(pl.DataFrame(schema=own)).schema)


def no_parquet(path: Path, error: BaseException) -> UnreadableFileError:
    """Return the error of a Parquet file that an engine refuses, without what its message quotes."""
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    # The value that cannot be read is one record's, and so are its places.
    first = re.sub(r"`[^`]*(`|$)", "a value", first)
    remedy = "Write its texts in UTF-8." if "UTF-8" in first else "Write it again."
    return UnreadableFileError(f"{path} is not a Parquet file that can be read: {first}.", remedy=remedy, path=path)


def decoded(body: bytes, encoding: str, path: Path, above: int) -> bytes:
    """Return a whole text in UTF-8; raise for bytes that are none, some lines below the beginning of the file."""
    try:
        return body.decode(encoding).encode(errors="replace")
    except UnicodeDecodeError as error:
        # Not the bytes, which are a record's.
        line = above + body[: error.start].decode(encoding, errors="replace").count("\n") + 1
        raise UnreadableFileError(
            f"line {line:,} of {path} is no text in the encoding {encoding}.",
            remedy=f"Save the file as UTF-8, or state its {parameter('encoding')}.",
            path=path,
        ) from None


def in_utf8(line: bytes) -> bytes:
    """Return a line in UTF-8; one that is none was written by Windows."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return line.decode(WINDOWS, errors="replace").encode()
    return line
