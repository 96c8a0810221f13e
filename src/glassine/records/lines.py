"""Lines of delimited text: bytes to lines, each line decoded alone, then to fields; what a line is depends on no other.

For whom a file is read is a value of :class:`Purpose`, without a default: a private fit takes each line for a record;
everything else reads quoted line breaks as CSV does.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.records.purpose import Purpose

if TYPE_CHECKING:
    import polars as pl
else:
    from glassine.records import frames as pl

BLANK = " "
"""What may follow a separator, as in the files of the UCI repository, where it is no part of a value."""

WINDOWS = "windows-1252"
"""What lines are in that are no UTF-8: Latin-1, with the letters and quotation marks that Windows adds."""

BLOCK = 2**24
"""Bytes that polars parses at once: enough for its threads, and few beside a file."""

PIECE = 2**19
"""Bytes that are looked at at once, in a processor's cache."""

NEWLINE, RETURN, QUOTE = 10, 13, 34


class LineFlag(IntFlag):
    """What is odd about a line.

    Attributes
    ----------
    RAGGED
        It has fewer fields than the header, or more that are not empty.
    REPAIRED
        Some of its bytes are no text in the encoding of the file.
    OPEN_QUOTE
        Its quotes are malformed, or one is not closed.
    TRAILING
        It has more fields than the header, all empty: separators at its end, or fields that have moved.
    """

    RAGGED = 1
    REPAIRED = 2
    OPEN_QUOTE = 4
    TRAILING = 8


Bytes: TypeAlias = npt.NDArray[np.uint8]

LineFlags: TypeAlias = npt.NDArray[np.uint8]
"""The :class:`LineFlag` of each line, shape (n,)."""


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
    unnamed: int = 0  # Empty fields at the end of the header

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
        text, repaired = self.decoded(body)
        if not repaired and (frame := self._alike(text)) is not None:
            return frame, np.zeros(len(frame), np.uint8)
        lines = _Lines.of(text, ord(self.mark), len(self.names), blank=self.blank)
        flags = np.zeros(len(lines.ends), np.uint8)
        flags[np.array(repaired, int)] |= LineFlag.REPAIRED.value
        odd = np.flatnonzero(lines.odd)
        rows = []
        for i in odd.tolist():
            fields, flag = self.fields(text[lines.starts[i] : lines.ends[i]].decode(errors="replace"))
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

    def decoded(self, body: bytes) -> tuple[bytes, list[int]]:
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

    def fields(self, line: str) -> tuple[list[str | None], LineFlag]:
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
        # Empty fields behind the last column hold nothing, as separators at the end of all lines leave them.
        flag |= self.width_flag(fields)
        return [*fields[:width], *[None] * (width - len(fields))], flag

    def width_flag(self, fields: list[str]) -> LineFlag:
        """Return what is odd about how many fields a line has."""
        if len(fields) < len(self.names) or any(fields[len(self.names) :]):
            return LineFlag.RAGGED
        return LineFlag.TRAILING if len(fields) > len(self.names) + self.unnamed else LineFlag(0)

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
    adjacent = np.empty_like(edge)
    adjacent[0], adjacent[1:] = True, edge[:-1]
    np.logical_and(adjacent, within, out=adjacent)
    ahead = np.empty_like(edge)
    ahead[-1], ahead[:-1] = True, edge[1:]
    np.greater(ahead, within, out=ahead)
    adjacent |= ahead
    np.greater(quote, adjacent, out=adjacent)
    if blank:
        # A blank behind an edge or an opening quote: what it belongs to is decided field by field.
        behind = np.empty_like(edge)
        behind[0], behind[1:] = True, (edge | quote)[:-1]
        adjacent |= behind & (buffer == ord(BLANK))
    adjacent |= buffer == RETURN
    right[np.searchsorted(ends, np.flatnonzero(adjacent))] = False
    # A newline within quotes ends its line all the same.
    np.greater(edge, within, out=edge)
    edge |= newline
    right &= np.diff(np.cumsum(edge, dtype=np.int32)[ends], prepend=0) == width
    return ends, right
