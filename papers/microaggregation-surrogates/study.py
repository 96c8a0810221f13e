"""Options and results of the scripts: a row of a CSV file is written when it is done, so that a run can be resumed."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
IMAGES = FOLDER.parents[1] / "docs" / "images" / "papers" / FOLDER.name
PAGE = FOLDER.parents[1] / "docs" / "papers" / f"{FOLDER.name}.md"

QUICK_RECORDS = 3_000
FULL_RECORDS = 30_000

Row = dict[str, str]


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
    page : Path
        The page whose tables are replaced.
    """

    quick: bool
    cache: Path
    results: Path
    images: Path
    page: Path

    @property
    def n_records(self) -> int:
        """Number of records to generate."""
        return QUICK_RECORDS if self.quick else FULL_RECORDS


def options(text: str | None, arguments: Sequence[str] | None = None) -> Options:
    """Read the arguments of a script."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_RECORDS} records instead of {FULL_RECORDS}")
    parser.add_argument("--cache", type=Path, help="folder of the networks, by default ~/.cache/glassine")
    parser.add_argument("--results", type=Path, default=FOLDER / "results", help="folder of the CSV files")
    parser.add_argument("--images", type=Path, default=IMAGES, help="folder of the plots")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page in the docs")
    given = parser.parse_args(arguments)
    if given.quick and given.results == FOLDER / "results":
        parser.error("--quick needs --results: its figures are not those of the page")
    for folder in (given.results, given.images):
        folder.mkdir(parents=True, exist_ok=True)
    home = Path.home() / ".cache" / "glassine" / FOLDER.name
    cache = given.cache or (home / "quick" if given.quick else home)
    return Options(quick=given.quick, cache=cache, results=given.results, images=given.images, page=given.page)


def say(text: str) -> None:
    """Write one line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def text(value: object) -> str:
    """Return a value as it stands in a CSV file, a fraction with six significant digits."""
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)


def read(path: Path) -> list[Row]:
    """Return the rows of a CSV file; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows as a CSV file, whole or not at all."""
    new = path.with_suffix(".new")
    with new.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows([{name: text(value) for name, value in row.items()} for row in rows])
    new.replace(path)


def resume(
    path: Path, keys: Sequence[Mapping[str, str]], measure: Callable[[Mapping[str, str]], Mapping[str, object]]
) -> list[Row]:
    """Measure the rows that a CSV file lacks, in the order of the keys, and return all of its rows.

    Parameters
    ----------
    path : Path
        The file.
    keys : sequence of mapping
        What names each row.
    measure : callable
        Returns the figures of a row.
    """
    order = [tuple(key.values()) for key in keys]
    for key in keys:
        rows = read(path)
        if select(rows, **key):
            continue
        new: Row = dict(key) | {name: text(value) for name, value in measure(key).items()}
        rows.append(new)
        found = {tuple(row[name] for name in key): row for row in rows}
        write(path, [found[place] for place in order if place in found])
        say(", ".join(f"{name} {value}" for name, value in new.items() if value))
    return read(path)


def select(rows: Sequence[Row], **values: str) -> list[Row]:
    """Return the rows that have some values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def one(rows: Sequence[Row], **values: str) -> Row:
    """Return the one row that has some values."""
    found = select(rows, **values)
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows have {values}, not one. Run the script that writes them.")
    return found[0]


__all__ = ["FOLDER", "IMAGES", "PAGE", "Options", "Row", "one", "options", "read", "resume", "say", "select", "text",
           "write"]  # fmt: skip
