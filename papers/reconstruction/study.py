"""Options and results of the scripts: a row of a CSV file is written when it is done, so that a run can be resumed."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1]))
IMAGES = FOLDER.parents[1] / "docs" / "images" / "papers" / FOLDER.name

PEERS = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "glassine-peers"
REFERENCE = Path(os.environ.get("GLASSINE_REFERENCE", FOLDER.parents[2] / "shared" / "reference"))
"""Folder of the published rows."""

Row = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a script was asked for.

    Attributes
    ----------
    quick : bool
        Whether only what takes seconds is measured.
    limit : float
        Seconds of the clock that one fit of a peer may take.
    peers : Path
        Folder of their environments.
    results, images : Path
        Folders that are written to.
    """

    quick: bool
    limit: float
    peers: Path
    results: Path
    images: Path


def options(text: str | None, arguments: Sequence[str] | None = None) -> Options:
    """Read the arguments of a script."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only what takes seconds")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of the clock for one fit of a peer")
    parser.add_argument("--peers", type=Path, default=PEERS, help="folder of the environments of the peers")
    parser.add_argument("--results", type=Path, default=FOLDER / "results", help="folder of the CSV files")
    parser.add_argument("--images", type=Path, default=IMAGES, help="folder of the plots")
    given = parser.parse_args(arguments)
    if given.quick and given.results == FOLDER / "results":
        parser.error("--quick needs --results: its figures are not those of the page")
    for folder in (given.results, given.images):
        folder.mkdir(parents=True, exist_ok=True)
    return Options(**vars(given))


def say(text: str) -> None:
    """Write one line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def text(value: object) -> str:
    """Return a value as it stands in a CSV file, a fraction with seven significant digits."""
    return f"{value:.7g}" if isinstance(value, float) else "" if value is None else str(value)


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
    path: Path, groups: Sequence[Sequence[Mapping[str, str]]], measure: Callable[[list[Row]], Sequence[Row]]
) -> list[Row]:
    """Measure the rows that a CSV file lacks, group by group in the order of the keys, and return all of its rows.

    Parameters
    ----------
    path : Path
        The file.
    groups : sequence of sequences of mapping
        What names each row. A group is measured at once, and the file is written after each.
    measure : callable
        Returns the rows, with their names, of some keys of a group.
    """
    order = {tuple(key.values()): place for place, key in enumerate(key for group in groups for key in group)}
    names = list(groups[0][0])
    for group in groups:
        rows = read(path)
        found = {tuple(row[name] for name in names) for row in rows}
        wanted = [dict(key) for key in group if tuple(key.values()) not in found]
        if not wanted:
            continue
        rows += measure(wanted)
        rows.sort(key=lambda row: order.get(tuple(row[name] for name in names), len(order)))
        write(path, rows)
        say(f"{path.stem}: {', '.join(wanted[0].values())} and {len(wanted) - 1} more")
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


__all__ = ["FOLDER", "IMAGES", "Options", "Row", "one", "options", "read", "resume", "say", "select", "text",
           "write"]  # fmt: skip
