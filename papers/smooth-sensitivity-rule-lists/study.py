"""Runs that can be resumed: one row of a CSV file per finished cell, means over seeded splits."""

from __future__ import annotations

import csv
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fitting import METHODS, Method, accuracy, cells_of, fit, split_of
from settings import SETTINGS

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1]))

from papers.common.results import Row, make_folders, parser_of, read, say, text, write  # noqa: E402 - after the path

Key = tuple[str, ...]
Work = Callable[[], dict[str, float]]

FULL = 100
QUICK = 10
SLOW_SEEDS = 20
"""Seeds of the learner that sums over all lists, whose fits take longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a script was asked for.

    Attributes
    ----------
    seeds : int
        Number of splits; they are seeded 0, 1, ...
    settings : tuple of str
        Names of the settings, or none for those of the paper.
    grid : tuple of float
        Values of epsilon, or none for those of the script.
    results, images : Path
        Folders that are written to.
    """

    seeds: int
    settings: tuple[str, ...]
    grid: tuple[float, ...]
    results: Path
    images: Path


def options(about: str | None, arguments: Sequence[str] | None = None) -> Options:
    """Read the arguments of a script."""
    parser = parser_of(about, FOLDER)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} splits instead of {FULL}")
    parser.add_argument("--seeds", type=int, help="number of splits, at least 1")
    parser.add_argument("--settings", nargs="+", default=(), choices=[*SETTINGS], help="names of settings")
    parser.add_argument("--grid", nargs="+", type=float, default=(), help="values of epsilon")
    given = parser.parse_args(arguments)
    if given.seeds is not None and not given.seeds >= 1:
        parser.error(f"--seeds must be at least 1, got {given.seeds}")
    if not all(epsilon > 0 for epsilon in given.grid):
        parser.error(f"--grid must hold positive values, got {given.grid}")
    make_folders(given.results, given.images)
    return Options(
        seeds=given.seeds if given.seeds is not None else QUICK if given.quick else FULL,
        settings=tuple(given.settings),
        grid=tuple(given.grid),
        results=given.results,
        images=given.images,
    )


def published(quantity: str) -> dict[tuple[str, str, str], str]:
    """Return the published values of a quantity, by setting, method and epsilon."""
    rows = read(FOLDER / "published.csv")
    return {
        (row["setting"], row["method"], row["epsilon"]): row["value"] for row in rows if row["quantity"] == quantity
    }


def run(path: Path, names: Sequence[str], work: Iterable[tuple[Key, int, Work]]) -> list[Row]:
    """Do the cells that are not yet in a CSV file, and return the file's rows.

    Each cell has a key, one text per name, and a number of seeds; a cell is finished if the file has its key with at
    least as many. A row is appended when its cell is done, so that a run that was stopped goes on where it was.
    """
    rows = {tuple(row[name] for name in names): row for row in read(path)}
    cells = list(work)
    measured = False
    started = time.perf_counter()
    for number, (key, seeds, measure) in enumerate(cells, start=1):
        if key in rows and int(rows[key]["seeds"]) >= seeds:
            continue
        since = time.perf_counter()
        values = {name: text(value) for name, value in measure().items()}
        row = dict(zip(names, key, strict=True)) | {"seeds": str(seeds)} | values
        _append(path, row)
        rows[key], measured = row, True
        now = time.perf_counter()
        say(f"{number}/{len(cells)} {' '.join(key)}: {now - since:.1f} s, {(now - started) / 60:.1f} min in all")
    if not measured:
        return list(rows.values())
    tidy = [rows[key] for key, _, _ in cells] + [
        row for key, row in rows.items() if key not in {cell for cell, _, _ in cells}
    ]
    write(path, tidy)
    return tidy


def _append(path: Path, row: Row) -> None:
    new = not path.exists()
    with path.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(row), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error."""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return statistics.fmean(values), error


def accuracies(setting: str, method: Method, epsilon: float | None, seeds: int) -> dict[str, float]:
    """Return mean accuracies and number of rules over seeded splits, with standard errors."""
    cells = cells_of(setting)
    test, train, rules = [], [], []
    for seed in range(seeds):
        model = fit(setting, method, epsilon, seed).model_
        split = split_of(setting, seed)
        test.append(accuracy(model, cells, split.test))
        train.append(accuracy(model, cells, split.train))
        rules.append(float(len(model.rules) - 1))
    return {
        "test": spread(test)[0],
        "test_error": spread(test)[1],
        "train": spread(train)[0],
        "train_error": spread(train)[1],
        "rules": spread(rules)[0],
    }


def accuracy_cells(
    settings: Sequence[str], methods: Sequence[str], grid: Sequence[float], seeds: int
) -> Iterable[tuple[Key, int, Work]]:
    """Return the cells of a comparison of accuracies."""
    for setting in settings:
        for method in methods:
            few = min(seeds, SLOW_SEEDS) if method == "exponential rule list" else seeds
            for epsilon in grid if METHODS[method].private else (None,):
                key = (setting, method, "" if epsilon is None else f"{epsilon:g}")
                yield key, few, partial(accuracies, setting, METHODS[method], epsilon, few)


ACCURACY_KEY = ("setting", "method", "epsilon")


def value(rows: Iterable[Row], setting: str, method: str, epsilon: float | None, name: str = "test") -> float:
    """Return one figure of a comparison; NaN if it has not been measured."""
    key = (setting, method, "" if epsilon is None else f"{epsilon:g}")
    return next((float(row[name]) for row in rows if tuple(row[k] for k in ACCURACY_KEY) == key), float("nan"))


__all__ = [
    "ACCURACY_KEY",
    "Options",
    "Row",
    "accuracies",
    "accuracy_cells",
    "options",
    "published",
    "read",
    "run",
    "say",
    "spread",
    "text",
    "value",
    "write",
]
