"""Records of delimited text as CSV has them, for all but private fits: a quoted field may break its line."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from glassine.domain.prefixes import GAP_TEXTS
from glassine.errors import UnreadableFileError, parameter
from glassine.records.headers import decoded, in_utf8
from glassine.records.lines import BLANK, DelimitedText, LineFlag, LineFlags
from glassine.records.purpose import Purpose

ROWS = 50_000
"""Rows of a file with quoted line breaks that are Python objects at once."""

REPLACED = "\ufffd"
"""What stands for bytes that are no text."""


def texts_of(text: DelimitedText) -> pl.DataFrame:
    """Return the records of a file, all fields as texts; parameters and errors as for :func:`read_lines`."""
    return read_lines(text)[0]


def read_lines(text: DelimitedText) -> tuple[pl.DataFrame, LineFlags | None]:
    """Return the records of a file, all fields as texts, and what is odd about the line of each.

    Returns
    -------
    DataFrame
        A field that a line lacks is null; those that it has too many are left out.
    ndarray of uint8, shape (n,), or None
        The :class:`~glassine.records.lines.LineFlag` of each record of an audit, None if no line is odd.

    Raises
    ------
    UnreadableFileError
        If a line is not as the header says, and the file is read for an ordinary fit; if half of the lines are not,
        and it is read for an audit: then it is the header that is wrong, or the encoding.
    """
    blocks = list(text.blocks())
    if text.purpose is not Purpose.PRIVATE and any(differs(text, flags) for _, flags in blocks):
        flags = np.concatenate([flags for _, flags in blocks])
        trailing = (flags & LineFlag.TRAILING) > 0
        # Where most lines end in separators, these mean nothing. At the end of few, a field may have been two.
        moved = bool(2 * np.count_nonzero(trailing) <= len(trailing))
        odd = np.where(trailing & moved, flags | LineFlag.RAGGED.value, flags) & _odd(text)
        if text.purpose is Purpose.ORDINARY or 2 * np.count_nonzero(odd) >= len(odd) or _may_join(text):
            return _AsCsv(text, moved=moved).read()
        return pl.concat([frame for frame, _ in blocks], rechunk=False), odd.astype(np.uint8)
    return pl.concat([frame for frame, _ in blocks], rechunk=False) if blocks else _frame(text, []), None


def gap_texts(text: DelimitedText, names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the texts of some columns that are read as missing though they are not empty, such as ``?``, by column."""
    seen: dict[str, set[str]] = {}
    for frame, _ in text.blocks():
        for name in names:
            own = frame[name].filter(frame[name].is_in([gap for gap in GAP_TEXTS if gap]))
            seen.setdefault(name, set()).update(own.unique().to_list())
    return {name: tuple(sorted(texts)) for name, texts in seen.items() if texts}


def differs(text: DelimitedText, flags: LineFlags) -> bool:
    """Return whether CSV may have other records than lines that are read alone, or refuse one of them."""
    trailing = (flags & LineFlag.TRAILING) > 0
    return bool((flags & _odd(text)).any() or (trailing.any() and not trailing.all()))


def _odd(text: DelimitedText) -> int:
    """Return the flags of lines that are not as the header says; without a stated encoding, a line may be in two."""
    return int(LineFlag.RAGGED | LineFlag.OPEN_QUOTE | (0 if text.encoding is None else LineFlag.REPAIRED))


def _may_join(text: DelimitedText) -> bool:
    """Return whether CSV may have records that are no lines: of several, in quotes, or with an end of another kind."""
    body = text.data[text.start :]
    return b'"' in body or body.count(b"\r") != body.count(b"\r\n")


def _frame(text: DelimitedText, rows: list[list[str | None]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(text.names, pl.String), orient="row")


@dataclass(slots=True, repr=False, eq=False)
class _AsCsv:
    """A reader of records as CSV has them, and of a line alone where CSV has none."""

    text: DelimitedText
    moved: bool  # Whether empty fields behind the last column say that others have moved
    # Of what is wrong, the line is said, and never what it holds.
    fault: UnreadableFileError | None = None  # The first
    widths: Counter[int] = field(default_factory=Counter)  # Fields of lines with more or fewer than the header
    n: int = 0  # Records so far

    def read(self) -> tuple[pl.DataFrame, LineFlags | None]:
        frames, rows, flags = list[pl.DataFrame](), list[list[str | None]](), list[int]()
        for row, flag in self._records():
            rows.append(row)
            flags.append(flag.value)
            if flag and self.fault is not None and self.text.purpose is Purpose.ORDINARY:
                raise self.fault
            if len(rows) == ROWS:
                frames, rows = [*frames, _frame(self.text, rows)], []
        odd = np.array(flags, np.uint8)
        n_odd = int(np.count_nonzero(odd))
        if self.fault is not None and 2 * n_odd >= len(odd):
            raise self._of_all(n_odd, len(odd))
        return pl.concat([*frames, _frame(self.text, rows)], rechunk=False), odd if n_odd else None

    def _records(self) -> Iterator[tuple[list[str | None], LineFlag]]:
        text, width = self.text, len(self.text.names)
        whole, repaired = _whole(text)
        lines = io.StringIO(whole.decode(errors="replace"), newline="")
        above = start = text.lines
        while True:
            at = lines.tell()
            reader = csv.reader(lines, delimiter=text.mark, skipinitialspace=text.blank, strict=True)
            try:
                for fields in reader:
                    if fields or width == 1:
                        row, flag = self._row(fields or [""], start + 1, repaired=repaired)
                        yield row, flag
                    at, start = lines.tell(), above + reader.line_num
                return
            except csv.Error:
                # Of the record that begins here, the first line alone; what follows is read as if it were not there.
                lines.seek(at)
                line = lines.readline().rstrip("\r\n")
                if '"' not in line:
                    # A field is longer than Python's reader takes; without quotes there is one way to read it.
                    fields = [one.lstrip(BLANK) if text.blank else one for one in line.split(text.mark)]
                    yield self._row(fields, start + 1, repaired=repaired)
                    above = start = start + 1
                    continue
                row, flag = text.fields(line)
                self._keep_fault(
                    f"{text.path} cannot be read: the quotes of line {start + 1:,} are malformed",
                    "Write it again with a program for tables.",
                )
                yield row, flag | LineFlag.OPEN_QUOTE
                above = start = start + 1

    def _row(self, fields: list[str], line: int, *, repaired: bool) -> tuple[list[str | None], LineFlag]:
        flag, width = LineFlag(0), len(self.text.names)
        if self.text.width_flag(fields) & (LineFlag.RAGGED | (LineFlag.TRAILING if self.moved else 0)):
            flag |= LineFlag.RAGGED
            self.widths[len(fields)] += 1
            n = "1 field" if len(fields) == 1 else f"{len(fields):,} fields"
            self._keep_fault(
                f"{self.text.path} cannot be read: line {line:,} has {n}, and the header has {width:,}",
                f"Mend that line, or state another {parameter('separator')}.",
            )
        if repaired and any(REPLACED in text for text in fields):
            flag |= LineFlag.REPAIRED
            self._keep_fault(
                f"line {line:,} of {self.text.path} is no text in the encoding {self.text.encoding}",
                f"Save the file as UTF-8, or state its {parameter('encoding')}.",
            )
        return [*fields[:width], *[None] * (width - len(fields))], flag

    def _keep_fault(self, why: str, remedy: str) -> None:
        if self.fault is None:
            self.fault = UnreadableFileError(f"{why}.", remedy=remedy, path=self.text.path)

    def _of_all(self, n_odd: int, n: int) -> UnreadableFileError:
        """Return what is said of a file of which most lines are not as the header says."""
        width, most = len(self.text.names), self.widths.most_common(1)
        if self.fault is None or not most or 2 * most[0][1] < n_odd:
            return self.fault or UnreadableFileError(f"{self.text.path} cannot be read.", path=self.text.path)
        fields = "1 field" if most[0][0] == 1 else f"{most[0][0]:,} fields"
        return UnreadableFileError(
            f"{self.text.path} cannot be read: {most[0][1]:,} of its {n:,} lines have {fields}, and the header has "
            f"{width:,}.",
            remedy=f"Let the first line name each column, row numbers among them, or state another "
            f"{parameter('separator')}.",
            path=self.text.path,
        )


def _whole(text: DelimitedText) -> tuple[bytes, bool]:
    """Return the text below the header in UTF-8, and whether some bytes are no text in an encoding that is stated."""
    body = text.data[text.start :]
    if text.encoding is None:
        return (body if text.is_utf8() else b"\n".join(map(in_utf8, body.split(b"\n")))), False
    if text.purpose is Purpose.AUDIT:
        whole, repaired = text.decoded(body if body.endswith(b"\n") else body + b"\n")
        return whole, bool(repaired)
    return decoded(body, text.encoding, text.path, text.lines), False
