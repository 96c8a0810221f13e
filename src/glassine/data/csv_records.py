"""Records of delimited text as CSV has them, for all but private fits: a quoted field may break its line."""

from __future__ import annotations

import csv
import io

import polars as pl

from glassine.errors import UnreadableFileError, parameter
from glassine.records.lines import DelimitedText, LineFlag, LineFlags, decoded, in_utf8
from glassine.records.purpose import Purpose

ROWS = 50_000
"""Rows of a file with quoted line breaks that are Python objects at once."""


def texts_of(text: DelimitedText) -> pl.DataFrame:
    """Return the records of a file, all fields as texts; a field that a line lacks is null.

    Raises
    ------
    UnreadableFileError
        If a line has too many fields or malformed quotes, and the file is not read for a private fit.
    """
    blocks = list(text.blocks())
    if text.purpose is Purpose.ORDINARY and any(differs(text, flags) for _, flags in blocks):
        return _as_csv(text)
    return pl.concat([frame for frame, _ in blocks], rechunk=False) if blocks else _frame(text, [])


def differs(text: DelimitedText, flags: LineFlags) -> bool:
    """Return whether CSV may have other records than lines that are read alone, or refuse one of them."""
    odd = LineFlag.RAGGED | LineFlag.OPEN_QUOTE | (0 if text.encoding is None else LineFlag.REPAIRED)
    return bool((flags & odd.value).any())


def _frame(text: DelimitedText, rows: list[list[str | None]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(text.names, pl.String), orient="row")


def _as_csv(text: DelimitedText) -> pl.DataFrame:
    """Return records as CSV has them; raise for what is malformed."""
    width, start = len(text.names), text.lines
    lines = io.StringIO(_whole(text).decode(errors="replace"), newline="")
    reader = csv.reader(lines, delimiter=text.mark, skipinitialspace=text.blank, strict=True)
    frames: list[pl.DataFrame] = []
    rows: list[list[str | None]] = []
    # Of what is wrong, the line is said, and never what it holds.
    try:
        for row in reader:
            if len(row) > width:
                raise _fault(
                    text,
                    f"line {start + 1:,} has {len(row):,} fields, and the header has {width:,}",
                    f"Mend that line, or state another {parameter('separator')}.",
                )
            start = text.lines + reader.line_num
            if row or width == 1:
                rows.append([*(row or [""]), *[None] * (width - max(1, len(row)))])
            if len(rows) == ROWS:
                frames, rows = [*frames, _frame(text, rows)], []
    except csv.Error:
        raise _fault(
            text, f"the quotes of line {start + 1:,} are malformed", "Write it again with a program for tables."
        ) from None
    return pl.concat([*frames, _frame(text, rows)], rechunk=False)


def _fault(text: DelimitedText, why: str, remedy: str) -> UnreadableFileError:
    return UnreadableFileError(f"{text.path} cannot be read: {why}.", remedy=remedy, path=text.path)


def _whole(text: DelimitedText) -> bytes:
    """Return the text below the header in UTF-8."""
    body = text.data[text.start :]
    if text.encoding is None:
        return body if text.is_utf8() else b"\n".join(map(in_utf8, body.split(b"\n")))
    return decoded(body, text.encoding, text.path, text.lines)
