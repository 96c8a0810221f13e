"""Lines of delimited text: bytes to lines, each line decoded alone, then to fields; what a line is depends on no other.

What is not stated is taken from the header, which is public as the columns' names are, and never from records. For
whom a file is read is a value of :class:`Purpose`, without a default: a private fit takes each line for a record, and
refuses what cannot be split into lines without state; everything else reads quoted line breaks as CSV does.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntFlag
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from glassine.domain.attributes import GAP_TEXTS, Attribute, Category
from glassine.errors import InvalidDataError, InvalidParameterError, UnreadableFileError, parameter
from glassine.records.purpose import Purpose

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""Separators that are looked for, and their names."""

WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", r"\t": "\t", "bar": "|", "space": " "}
"""Separators as words, where a shell makes it hard to write them."""

BLANK = " "
"""What may follow a separator, as in the files of the UCI repository, where it is no part of a value."""

WINDOWS = "windows-1252"
"""What lines are in that are no UTF-8: Latin-1, with the letters and quotation marks that Windows adds."""

BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}

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

EXCEL = re.compile(rb'"?sep=(.)"?\r?\n', flags=re.IGNORECASE)
"""A first line that states the separator for Excel."""

BLOCK = 2**24
"""Bytes that polars parses at once: enough for its threads, and few beside a file."""

PIECE = 2**19
"""Bytes that are looked at at once, in a processor's cache."""

ROWS = 50_000
"""Rows of a file with quoted line breaks that are Python objects at once."""

NEWLINE, RETURN, QUOTE = 10, 13, 34


class LineFlag(IntFlag):
    """What is odd about a line.

    Attributes
    ----------
    RAGGED
        It has more or fewer fields than the header.
    REPAIRED
        Some of its bytes are no text in the encoding of the file.
    OPEN_QUOTE
        Its quotes are malformed, or one is not closed.
    """

    RAGGED = 1
    REPAIRED = 2
    OPEN_QUOTE = 4


Bytes: TypeAlias = npt.NDArray[np.uint8]

LineFlags: TypeAlias = npt.NDArray[np.uint8]
"""The :class:`LineFlag` of each line, shape (n,)."""


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
    """

    path: Path
    dialect: CsvDialect = field(default=PLAIN)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DelimitedText:
    """A file of delimited text whose header was read, and whose records were not."""

    path: Path
    names: tuple[str, ...]  # The columns, unique
    data: bytes  # All bytes of the file
    start: int  # Bytes above the records: the mark, and what the header takes
    separator: str  # One character, with a blank behind it if blanks after it are no part of a value
    encoding: str | None  # The encoding that was stated or marked, as Python calls it; None for UTF-8, or else Windows
    lines: int  # Lines above the records
    purpose: Purpose

    @property
    def mark(self) -> str:
        """The character between two fields."""
        return self.separator[0]

    @property
    def blank(self) -> bool:
        """Whether blanks after the mark are no part of a value."""
        return self.separator[1:] == BLANK

    def is_utf8(self) -> bool:
        """Return whether an encoding is stated, or all lines are UTF-8."""
        if self.encoding is not None or self.data.isascii():
            return True
        try:
            self.data.decode()
        except UnicodeDecodeError:
            return False
        return True

    def texts(self) -> pl.DataFrame:
        """Return the records, all fields as texts; a field that a line lacks is null."""
        blocks = list(self.blocks())
        if self.purpose is Purpose.ORDINARY and any(self._differs(flags) for _, flags in blocks):
            return self._as_csv()
        return pl.concat([frame for frame, _ in blocks], rechunk=False) if blocks else self._frame([])

    def _differs(self, flags: LineFlags) -> bool:
        """Return whether CSV may have other records than lines that are read alone, or refuse one of them."""
        odd = LineFlag.RAGGED | LineFlag.OPEN_QUOTE | (0 if self.encoding is None else LineFlag.REPAIRED)
        return bool((flags & np.uint8(odd)).any())

    def blocks(self) -> Iterator[tuple[pl.DataFrame, LineFlags]]:
        """Yield the lines below the header as records of texts, each read alone, with their flags.

        Guarantee
        ---------
        A line is read as it would be as the only one of a file. Where one block ends follows from the number of bytes.

        Edge cases
        ----------
        An empty line of several columns is no record.
        """
        start, end = self.start, len(self.data)
        while start < end:
            stop = self.data.find(b"\n", start + BLOCK) + 1 or end
            yield self._block(self.data[start:stop])
            start = stop

    def _block(self, body: bytes) -> tuple[pl.DataFrame, LineFlags]:
        if not body.endswith(b"\n"):
            body += b"\n"
        if b"\r" in body:
            body = body.replace(b"\r\n", b"\n")
        text, repaired = self._decoded(body)
        if not repaired and (frame := self._alike(text)) is not None:
            return frame, np.zeros(len(frame), np.uint8)
        lines = _Lines.of(text, ord(self.mark), len(self.names), blank=self.blank)
        flags = np.zeros(len(lines.ends), np.uint8)
        flags[np.array(repaired, int)] |= LineFlag.REPAIRED.value
        odd = np.flatnonzero(lines.odd)
        rows = []
        for i in odd.tolist():
            fields, flag = self._fields(text[lines.starts[i] : lines.ends[i]].decode(errors="replace"))
            rows.append(fields)
            flags[i] |= flag.value
        if not lines.plain.all():
            text = lines.buffer[np.repeat(lines.plain, lines.ends - lines.starts + 1)].tobytes()
        frame = self._parsed(text, '"' if QUOTE in text else None) if text else self._frame([])
        if len(odd):
            # In their order again.
            places = np.concatenate([np.flatnonzero(lines.plain), odd])
            frame = pl.concat([frame, self._frame(rows)])[np.argsort(places, kind="stable")]
        return frame, flags[lines.odd | lines.plain]

    def _alike(self, text: bytes) -> pl.DataFrame | None:
        """Return the records of a text whose lines are all plain and without quotes, None of any other."""
        n_lines, width = text.count(b"\n"), len(self.names)
        if QUOTE in text or b"\r" in text or text.count(self.mark.encode()) != (width - 1) * n_lines:
            return None
        if _follows(text, NEWLINE, b"\n"):
            return None
        try:
            # Polars refuses a line of more fields. If none has more, and all together have as many as they should,
            # none has fewer.
            return self._parsed(text, None)
        except pl.exceptions.PolarsError:
            return None

    def _decoded(self, body: bytes) -> tuple[bytes, list[int]]:
        """Return lines in UTF-8, each decoded alone, and the numbers of those with bytes that are no text."""
        if self.encoding in (None, "utf-8"):
            try:
                body.isascii() or body.decode()
            except UnicodeDecodeError:
                pass
            else:
                return body, []
        codec = self.encoding or "utf-8"
        out, repaired = [], []
        for i, line in enumerate(body[:-1].split(b"\n")):
            try:
                out.append(line if self.encoding is None and line.isascii() else line.decode(codec).encode())
            except UnicodeDecodeError:
                repaired.append(i)
                out.append(line.decode(self.encoding or WINDOWS, errors="replace").encode())
        return b"\n".join(out) + b"\n", repaired

    def _fields(self, line: str) -> tuple[list[str | None], LineFlag]:
        """Return the fields of one line, as many as there are columns, and what is odd about it."""
        flag, width = LineFlag(0), len(self.names)
        try:
            fields = next(csv.reader((line,), delimiter=self.mark, skipinitialspace=self.blank, strict=True)) or [""]
        except csv.Error:
            flag |= LineFlag.OPEN_QUOTE
            try:
                fields = next(csv.reader((line,), delimiter=self.mark, skipinitialspace=self.blank)) or [""]
            except csv.Error:
                # Longer than any field, or with a line's end of another kind within it.
                fields = []
        if len(fields) != width:
            flag |= LineFlag.RAGGED
        return [*fields[:width], *[None] * (width - len(fields))], flag

    def _parsed(self, text: bytes, quote: str | None) -> pl.DataFrame:
        """Return plain lines as polars reads them."""
        # Polars drops a mark from the beginning, and refuses a first line with more or fewer fields than the schema:
        # a record must not be it.
        first = b'""' if quote else b""
        frame: pl.DataFrame = pl.read_csv(
            first + self.mark.encode() * (len(self.names) - 1) + b"\n" + text,
            has_header=False,
            schema=dict.fromkeys(self.names, pl.String),
            separator=self.mark,
            quote_char=quote,
        )[1:]
        # Polars takes an empty field for none, and here each field is there. Quoted lines with such blanks are odd.
        if any(column.null_count() for column in frame):
            frame = frame.with_columns(pl.all().fill_null(""))
        if self.blank and quote is None and _follows(text, ord(BLANK), b"\n" + self.mark.encode()):
            frame = frame.with_columns(pl.all().str.strip_chars_start(BLANK))
        return frame

    def _frame(self, rows: list[list[str | None]]) -> pl.DataFrame:
        return pl.DataFrame(rows, schema=dict.fromkeys(self.names, pl.String), orient="row")

    def _as_csv(self) -> pl.DataFrame:
        """Return records as CSV has them: a quoted field may break its line; raise for what is malformed."""
        width, start = len(self.names), self.lines
        text = io.StringIO(self._whole().decode(errors="replace"), newline="")
        reader = csv.reader(text, delimiter=self.mark, skipinitialspace=self.blank, strict=True)
        frames: list[pl.DataFrame] = []
        rows: list[list[str | None]] = []
        # Of what is wrong, the line is said, and never what it holds.
        try:
            for row in reader:
                if len(row) > width:
                    raise self._fault(
                        f"line {start + 1:,} has {len(row):,} fields, and the header has {width:,}",
                        f"Mend that line, or state another {parameter('separator')}.",
                    )
                start = self.lines + reader.line_num
                if row or width == 1:
                    rows.append([*(row or [""]), *[None] * (width - max(1, len(row)))])
                if len(rows) == ROWS:
                    frames, rows = [*frames, self._frame(rows)], []
        except csv.Error:
            raise self._fault(
                f"the quotes of line {start + 1:,} are malformed", "Write it again with a program for tables."
            ) from None
        return pl.concat([*frames, self._frame(rows)], rechunk=False)

    def _fault(self, why: str, remedy: str) -> UnreadableFileError:
        return UnreadableFileError(f"{self.path} cannot be read: {why}.", remedy=remedy, path=self.path)

    def _whole(self) -> bytes:
        """Return the text below the header in UTF-8."""
        body = self.data[self.start :]
        if self.encoding is None:
            return body if self.is_utf8() else b"\n".join(map(_line, body.split(b"\n")))
        return _decoded(body, self.encoding, self.path, self.lines)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class _Lines:
    """Where the lines of some text are, and which of them polars reads together.

    A line is plain if it has as many fields as there are columns, and either no quote, or quotes around whole fields
    only. Each such line has one meaning for every reader of CSV, with any lines before it.
    """

    # Shapes: buffer (bytes,), all others (lines,).
    buffer: Bytes
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]  # of the newline
    plain: npt.NDArray[np.bool_]
    odd: npt.NDArray[np.bool_]  # neither plain nor empty

    @classmethod
    def of(cls, text: bytes, mark: int, width: int, *, blank: bool) -> _Lines:
        """Return the lines of a text that ends in a newline; in one with quotes, a line with blanks to drop is odd."""
        buffer, ends, right = np.frombuffer(text, np.uint8), [], []
        start = 0
        while start < len(text):
            stop = text.find(b"\n", start + PIECE) + 1 or len(text)
            end, good = _well_formed(buffer[start:stop], mark, width, blank=blank and QUOTE in text)
            ends.append(end + start)
            right.append(good)
            start = stop
        last = np.concatenate(ends)
        starts = np.concatenate(([0], last[:-1] + 1))
        empty = last == starts
        plain = np.concatenate(right) & ~empty
        return cls(buffer=buffer, starts=starts, ends=last, plain=plain, odd=~plain & (~empty if width > 1 else True))


def _follows(text: bytes, byte: int, others: bytes) -> bool:
    """Return whether a byte stands at the beginning of some lines, or behind one of some others."""
    # Twenty times as fast as a search for two bytes.
    if byte not in text:
        return False
    buffer = np.frombuffer(b"\n" + text, np.uint8)
    for start in range(0, len(text), PIECE):
        here = buffer[start + 1 : start + PIECE + 1] == byte
        if any((here & (buffer[start : start + len(here)] == other)).any() for other in others):
            return True
    return False


def _well_formed(
    buffer: Bytes, mark: int, width: int, *, blank: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return where lines end, and which have as many fields as wanted and no quotes but around whole fields."""
    newline, quote = buffer == NEWLINE, buffer == QUOTE
    ends = np.flatnonzero(newline)
    edge = buffer == mark
    edge |= newline
    # Of each byte, whether the quotes up to it are odd in number: a sum modulo 256 has the same last bit.
    inside = np.cumsum(quote, dtype=np.uint8)
    inside &= 1
    # Each line begins outside: where a line before it left a quote open, inside and outside change places.
    before = np.concatenate(([0], inside[ends[:-1]])).astype(np.uint8)
    if before.any():
        inside ^= np.repeat(before, np.diff(ends, prepend=-1))
    within = inside.view(np.bool_)
    right = ~within[ends]
    # An opening quote stands behind an edge, a closing one before an edge: where an edge is on the other side, or on
    # none, the exclusive or is 0.
    beside = np.empty_like(edge)
    beside[0], beside[1:] = True, edge[:-1]
    np.logical_and(beside, within, out=beside)
    ahead = np.empty_like(edge)
    ahead[-1], ahead[:-1] = True, edge[1:]
    np.greater(ahead, within, out=ahead)
    beside |= ahead
    np.greater(quote, beside, out=beside)
    if blank:
        # A blank behind an edge or an opening quote: what it belongs to is decided field by field.
        behind = np.empty_like(edge)
        behind[0], behind[1:] = True, (edge | quote)[:-1]
        beside |= behind & (buffer == ord(BLANK))
    beside |= buffer == RETURN
    right[np.searchsorted(ends, np.flatnonzero(beside))] = False
    # A newline within quotes ends its line all the same.
    np.greater(edge, within, out=edge)
    edge |= newline
    right &= np.diff(np.cumsum(edge, dtype=np.int32)[ends], prepend=0) == width
    return ends, right


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
        data, skip, encoding = _decoded(data[skip:], encoding, path, 0), 0, "utf-8"
    head = _Head(data=data[skip:], encoding=encoding, path=path, purpose=purpose)
    stated, lines = dialect.separator, 0
    if headed and (excel := EXCEL.match(head.data)) is not None:
        head, lines, skip = head.below(excel.end()), 1, skip + excel.end()
        stated = stated or excel[1].decode()
    separator = stated or _separator(head, dialect, declared)
    names, length, taken = (dialect.names, 0, 0) if dialect.names else head.names(separator)
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


def _decoded(body: bytes, encoding: str, path: Path, above: int) -> bytes:
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
                (_line(line) if self.encoding is None else line).decode(self.encoding or "utf-8", "replace"),
                len(line),
            )
            if self.purpose is Purpose.PRIVATE:
                return
            start = stop

    def names(self, separator: str) -> tuple[tuple[str, ...], int, int]:
        """Return the names of the columns, and how many bytes and lines hold them; a quoted name may break its line."""
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
        if any("\n" in name for name in names) and (self.purpose is Purpose.PRIVATE or names == ("\n",)):
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
        return names, sum(taken), len(taken)


def _separator(head: _Head, dialect: CsvDialect, declared: Mapping[str, Attribute]) -> str:
    """Return the mark of the header that may be a separator; of several, the one that gives declared names."""
    first = "" if dialect.names else re.sub(r'"[^"]*("|$)', "", next((line for line, _ in head.lines()), ""))
    marks = [mark for mark in SEPARATORS if mark in first]
    if len(marks) > 1:
        hits = {mark: len({*head.names(mark + BLANK)[0]} & {*declared}) for mark in marks}
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
    found = pl.min_horizontal("\0", pl.col("\0\0").fill_null(0))
    return int(both.select((pl.col("\0") - found).sum()).item())
