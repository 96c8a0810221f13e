"""Options and results of the scripts: a row of a CSV file is written when it is done, so that a run can be resumed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1]))

from papers.common import results as kept  # noqa: E402 - after the path is set
from papers.common.results import Row, images_of, make_folders, one, parser_of, read, say, select  # noqa: E402

IMAGES = images_of(FOLDER)
DIGITS = 7
"""Significant digits of a fraction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a script was asked for.

    Attributes
    ----------
    quick : bool
        Whether only what takes seconds is measured.
    results, images : Path
        Folders that are written to.
    """

    quick: bool
    results: Path
    images: Path


def options(text: str | None, arguments: Sequence[str] | None = None) -> Options:
    """Read the arguments of a script."""
    parser = parser_of(text, FOLDER)
    parser.add_argument("--quick", action="store_true", help="only what takes seconds")
    given = parser.parse_args(arguments)
    make_folders(given.results, given.images)
    return Options(quick=given.quick, results=given.results, images=given.images)


def text(value: object) -> str:
    """Return a value as it stands in a CSV file."""
    return kept.text(value, DIGITS)


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows as a CSV file, whole or not at all."""
    kept.write(path, rows, DIGITS)


def resume(
    path: Path, keys: Sequence[Mapping[str, str]], measure: Callable[[Mapping[str, str]], Mapping[str, object]]
) -> list[Row]:
    """Measure the rows that a CSV file lacks, in the order of the keys, and return all of its rows."""
    return kept.resume(path, keys, measure, DIGITS)


__all__ = ["FOLDER", "IMAGES", "Options", "Row", "one", "options", "read", "resume", "say", "select", "text",
           "write"]  # fmt: skip
