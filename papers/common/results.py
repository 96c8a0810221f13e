"""Results of the scripts as rows of CSV files: a row is written when it is measured, so that a run can be resumed."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Row = dict[str, str]

ROOT = Path(__file__).resolve().parents[2]


def images_of(folder: Path) -> Path:
    """Return the folder of a paper's plots."""
    return ROOT / "docs" / "images" / "papers" / folder.name


def page_of(folder: Path) -> Path:
    """Return a paper's page in the docs."""
    return ROOT / "docs" / "papers" / f"{folder.name}.md"


def parser_of(text: str | None, folder: Path) -> argparse.ArgumentParser:
    """Return a parser that knows the folders of a script's results and plots."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=folder / "results", help="folder of the CSV files")
    parser.add_argument("--images", type=Path, default=images_of(folder), help="folder of the plots")
    return parser


def make_folders(*folders: Path) -> None:
    """Make folders that are not there."""
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)


def say(text: str) -> None:
    """Write one line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def text(value: object, digits: int = 6) -> str:
    """Return a value as it stands in a CSV file, a fraction with so many significant digits."""
    return f"{value:.{digits}g}" if isinstance(value, float) else "" if value is None else str(value)


def read(path: Path) -> list[Row]:
    """Return the rows of a CSV file; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def write(path: Path, rows: Sequence[Mapping[str, object]], digits: int = 6) -> None:
    """Write rows as a CSV file, whole or not at all."""
    new = path.with_suffix(".new")
    with new.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows([{name: text(value, digits) for name, value in row.items()} for row in rows])
    new.replace(path)


def resume(
    path: Path,
    keys: Sequence[Mapping[str, str]],
    measure: Callable[[Mapping[str, str]], Mapping[str, object]],
    digits: int = 6,
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
    digits : int, default=6
        Significant digits of a fraction.
    """
    order = [tuple(key.values()) for key in keys]
    for key in keys:
        rows = read(path)
        if select(rows, **key):
            continue
        new: Row = dict(key) | {name: text(value, digits) for name, value in measure(key).items()}
        rows.append(new)
        rows.sort(key=lambda row: _place(tuple(row[name] for name in key), order))
        write(path, rows, digits)
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


__all__ = ["ROOT", "Row", "images_of", "make_folders", "one", "page_of", "parser_of", "read", "resume", "say",
           "select", "text", "write"]  # fmt: skip
