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

Row = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a script was asked for.

    Attributes
    ----------
    quick : bool
        Whether only what takes seconds is measured.
    results, images : Path
        Folders that are written to.
    page : Path
        The page whose tables are replaced.
    """

    quick: bool
    results: Path
    images: Path
    page: Path


def options(text: str | None, arguments: Sequence[str] | None = None) -> Options:
    """Read the arguments of a script."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only what takes seconds")
    parser.add_argument("--results", type=Path, default=FOLDER / "results", help="folder of the CSV files")
    parser.add_argument("--images", type=Path, default=IMAGES, help="folder of the plots")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page in the docs")
    given = parser.parse_args(arguments)
    for folder in (given.results, given.images):
        folder.mkdir(parents=True, exist_ok=True)
    return Options(quick=given.quick, results=given.results, images=given.images, page=given.page)


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
    for key in keys:
        rows = read(path)
        if any(all(row[name] == value for name, value in key.items()) for row in rows):
            continue
        new: Row = dict(key) | {name: text(value) for name, value in measure(key).items()}
        rows.append(new)
        order = [tuple(each.values()) for each in keys]
        rows.sort(key=lambda row: _place(tuple(row[name] for name in key), order))
        write(path, rows)
        say(", ".join(f"{name} {value}" for name, value in new.items() if value))
    return read(path)


def _place(key: tuple[str, ...], order: Sequence[tuple[str, ...]]) -> int:
    return order.index(key) if key in order else len(order)


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
