"""Delimited text as people have it: its encoding, its separator, its header, and the line at fault.

What is not stated is taken from the header, which is public as the columns' names are, and never from records: a
private fit reads each record independently of the others. Bytes that are no UTF-8 are decoded line by line, so
that a record decides about its own line alone.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from glassine.domain.attributes import GAP_TEXTS
from glassine.errors import InvalidDataError, InvalidParameterError, UnreadableFileError, parameter
from glassine.records.cells import number_of

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""Separators that are looked for, and their names."""

WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", r"\t": "\t", "bar": "|", "space": " "}
"""Separators as words, where a shell makes it hard to write them."""

WINDOWS = "windows-1252"
"""What lines are in that are no UTF-8: Latin-1, with the letters and quotation marks that Windows adds."""

BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}

DATE = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3(\d{4}|\d{2}))([T ]\d{1,2}:\d{2}.*)?", flags=re.ASCII
)

EXCEL = re.compile(rb'"?sep=(.)"?\r?\n', flags=re.IGNORECASE)
"""A first line that states the separator for Excel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvDialect:
    r"""How a file of delimited text is written, where that is stated.

    Attributes
    ----------
    separator : str or None
        What stands between two fields: one character, or one of the words comma, semicolon, tab, bar and space. By
        default the one mark of ``, ; | \t`` in the header.
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

    Raises
    ------
    InvalidParameterError
        If the separator is not one character, is a quote or a line's end, or the encoding is unknown.

    Examples
    --------
    >>> CsvDialect(separator="tab").separator
    '\t'
    """

    separator: str | None = None
    encoding: str | None = None
    decimal_comma: bool = False
    missing: tuple[str, ...] = ()
    missing_in: tuple[tuple[str, str], ...] = ()
    header: bool = False

    def __post_init__(self) -> None:
        if self.separator is not None:
            separator = WORDS.get(self.separator, self.separator)
            object.__setattr__(self, "separator", separator)
            if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
                raise InvalidParameterError(
                    f"{parameter('separator')} must be one character, or comma, semicolon, tab, bar or space, got "
                    f"{separator!r}."
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Delimited:
    """A file of delimited text after its header was read."""

    names: tuple[str, ...]  # The columns, unique
    body: bytes  # The lines below the header, UTF-8
    separator: str  # What stands between two fields
    encoding: str  # The encoding that was stated or marked; ``windows-1252`` if some lines were no UTF-8
    lines: int  # Lines above the body


def delimited(
    data: bytes, dialect: CsvDialect, *, path: Path, declared: Collection[str] = (), lenient: bool = False
) -> Delimited:
    """Return the names of a file of delimited text and its body."""
    text, encoding = _utf8(data, dialect.encoding, path=path, lenient=lenient)
    stated, skipped = dialect.separator, 0
    if (excel := EXCEL.match(text)) is not None:
        text, skipped = text[excel.end() :], 1
        stated = stated or excel[1].decode()
    separator = stated or _separator(text, declared, path)
    names, length, lines = _header(text, separator, path)
    _check_names(names, path, declared=declared, trusted=dialect.header)
    body = text[length:]
    if len(names) > 1:
        # Of one column an empty line may be a missing value.
        body = body.rstrip(b"\r\n")
    return Delimited(names=names, body=body, separator=separator, encoding=encoding, lines=lines + skipped)


def _utf8(data: bytes, encoding: str | None, *, path: Path, lenient: bool) -> tuple[bytes, str]:
    """Return a text in UTF-8 without a mark, and the encoding that it has."""
    mark = next((mark for mark in BOMS if data.startswith(mark)), b"")
    stated = BOMS.get(mark) or encoding or _wide(data)
    if stated is None:
        if data.isascii():
            return data, "utf-8"
        try:
            data.decode()
        except UnicodeDecodeError:
            return b"\n".join(map(_line, data.split(b"\n"))), WINDOWS
        return data, "utf-8"
    data = data[len(mark) :]
    try:
        text = data.decode(stated, errors="replace" if lenient else "strict")
    except UnicodeDecodeError as error:
        # Not the bytes, which are a record's.
        line = data[: error.start].decode(stated, errors="replace").count("\n") + 1
        raise UnreadableFileError(
            f"line {line:,} of {path} is no text in the encoding {stated}.",
            remedy=f"Save the file as UTF-8, or state its {parameter('encoding')}.",
            path=path,
        ) from None
    return text.encode(errors="replace"), stated


def _wide(data: bytes) -> str | None:
    """Return UTF-16 without a mark, which the first character of the header shows."""
    if len(data) < 2 or (data[0] == 0) == (data[1] == 0):
        return None
    return "utf-16-be" if data[0] == 0 else "utf-16-le"


def _line(line: bytes) -> bytes:
    """Return a line in UTF-8; one that is none was written by Windows."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return line.decode(WINDOWS, errors="replace").encode()
    return line


def _separator(text: bytes, declared: Collection[str], path: Path) -> str:
    """Return the one mark of the header that may be a separator; of several, the one that gives declared names."""
    first = re.sub(r'"[^"]*("|$)', "", text.partition(b"\n")[0].decode(errors="replace"))
    marks = [mark for mark in SEPARATORS if mark in first]
    if len(marks) > 1:
        hits = {mark: len({*_header(text, mark, path)[0]} & {*declared}) for mark in marks}
        most = max(hits.values())
        best = [mark for mark in marks if hits[mark] == most > 0]
        if len(best) != 1:
            raise UnreadableFileError(
                f"the header of {path} holds {' and '.join(SEPARATORS[mark] for mark in marks)}, each of which may "
                "separate its columns.",
                remedy=f"State the {parameter('separator')}.",
                path=path,
            )
        marks = best
    return marks[0] if marks else ","


def _header(text: bytes, separator: str, path: Path) -> tuple[tuple[str, ...], int, int]:
    """Return the names of the first line, and how many bytes and lines hold them; a quoted name may break its line."""
    taken: list[int] = []

    def lines() -> Iterator[str]:
        for line in io.BytesIO(text):
            taken.append(len(line))
            yield line.decode(errors="replace")

    try:
        names = tuple(next(csv.reader(lines(), delimiter=separator), []))
    except csv.Error:
        if taken and b"\r" in text[: taken[0]].rstrip(b"\r\n"):
            raise UnreadableFileError(
                f"{path} ends its lines with CR alone.", remedy="Write LF or CRLF.", path=path
            ) from None
        raise UnreadableFileError(
            f"the header of {path} is malformed: a quote is not closed, or a name is too long.",
            remedy="Mend its first line.",
            path=path,
        ) from None
    if any("\0" in name for name in names):
        raise UnreadableFileError(
            f"the header of {path} holds bytes that are no text.",
            remedy="Give a CSV file with a header, or a Parquet file.",
            path=path,
        )
    return names, sum(taken), len(taken)


def _check_names(names: tuple[str, ...], path: Path, *, declared: Collection[str], trusted: bool) -> None:
    """Refuse a header that looks like a record, and names that are not unique; quote none that may be a value."""
    certain = trusted or any(name in declared for name in names)
    values = sum(_is_value(name) for name in names)
    if values and not certain:
        raise UnreadableFileError(
            f"{path} seems to have no header: {values} of the {len(names)} names in its first line look like values, "
            "such as numbers or dates.",
            remedy=f"Add a line with the names of the columns, or pass {parameter('header', True)} if these are names.",
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


def _is_value(name: str) -> bool:
    # An empty name is that of the row numbers which data frames write.
    return bool(name) and (number_of(name.replace(",", ".")) is not None or bool(DATE.fullmatch(name)))


def fault(text: Delimited, path: Path) -> UnreadableFileError:
    """Return what is wrong with the rows of a text that cannot be read: the line, and never what it holds."""
    reader = csv.reader(
        io.StringIO(text.body.decode(errors="replace"), newline=""), delimiter=text.separator, strict=True
    )
    start, width = text.lines, len(text.names)
    why, remedy = "its rows or quotes are malformed", "Write it again with a program for tables."
    try:
        for row in reader:
            end = text.lines + reader.line_num
            if len(row) > width:
                why = f"line {start + 1:,} has {len(row):,} fields, and the header has {width:,}"
                remedy = f"Mend that line, or state another {parameter('separator')}."
                break
            start = end
    except csv.Error:
        why = f"the quotes of line {start + 1:,} are malformed"
    return UnreadableFileError(f"{path} cannot be read: {why}.", remedy=remedy, path=path)
