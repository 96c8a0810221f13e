"""Options and results of the scripts: a row of a CSV file is written when it is done, so that a run can be resumed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1]))

from papers.common.results import (  # noqa: E402 - after the path is set
    Row,
    images_of,
    make_folders,
    one,
    parser_of,
    read,
    resume,
    say,
    select,
    text,
    write,
)

IMAGES = images_of(FOLDER)

QUICK_RECORDS = 3_000
FULL_RECORDS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a script was asked for.

    Attributes
    ----------
    quick : bool
        Whether a tenth of the records and a fast network are used.
    cache : Path
        Folder of the networks.
    results, images : Path
        Folders that are written to.
    """

    quick: bool
    cache: Path
    results: Path
    images: Path

    @property
    def n_records(self) -> int:
        """Number of records to generate."""
        return QUICK_RECORDS if self.quick else FULL_RECORDS


def options(about: str | None, arguments: Sequence[str] | None = None) -> Options:
    """Read the arguments of a script."""
    parser = parser_of(about, FOLDER)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_RECORDS} records instead of {FULL_RECORDS}")
    parser.add_argument("--cache", type=Path, help="folder of the networks, by default ~/.cache/glassine")
    given = parser.parse_args(arguments)
    if given.quick and given.results == FOLDER / "results":
        parser.error("--quick needs --results: its figures are not those of the page")
    make_folders(given.results, given.images)
    home = Path.home() / ".cache" / "glassine" / FOLDER.name
    cache = given.cache or (home / "quick" if given.quick else home)
    return Options(quick=given.quick, cache=cache, results=given.results, images=given.images)


__all__ = ["FOLDER", "IMAGES", "Options", "Row", "one", "options", "read", "resume", "say", "select", "text",
           "write"]  # fmt: skip
