"""Table III: how many of GreedyRL's seven most important attributes a private list keeps, on Adult.

A list of five rules uses at most five of 24 attributes, or ten with conjunctions; the others all have importance 0. How
ties are broken decides the figure: at random, or by the order of the columns as sorting does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from fitting import METHODS as ALL
from fitting import cells_of, fit, split_of
from importance import importance_preservation
from study import ACCURACY_KEY, Key, Row, Work, options, published, run, say, spread, text, value, write

from glassine.attacks.outcome import Measured

SETTINGS = ("adult", "adult-pairs")
METHODS = ("sm-Laplace", "gl-Laplace")
GRID = (1.0, 10.0)
TOP = 7
REPEATS = 2
RECORDS = 5_000
"""Test records of each split on which importance is measured, drawn at random."""


def measure(setting: str, method: str, epsilon: float, seeds: int, k: int) -> dict[str, float]:
    """Return mean feature intersection ratios over seeded splits."""
    cells = cells_of(setting)
    columns = np.column_stack(list(cells.columns.values()))
    found: dict[str, list[float]] = {name: [] for name in ("value", "in_column_order", "low", "high", "chance")}
    for seed in range(seeds):
        reference = fit(setting, ALL["GreedyRL"], None, seed).model_
        model = fit(setting, ALL[method], epsilon, seed).model_
        counts = split_of(setting, seed).test
        rows = np.repeat(np.arange(len(counts)), counts)
        rows = np.random.default_rng(seed).choice(rows, min(RECORDS, len(rows)), replace=False)
        outcome = importance_preservation(
            reference, model, columns[rows], cells.labels[rows], k=k, n_repeats=REPEATS, random_state=seed
        )
        if not isinstance(outcome, Measured):
            raise TypeError(f"the importance of attributes in a rule list must be measurable, got {outcome}.")
        for name, entries in found.items():
            entries.append(float(getattr(outcome.value, name)))
    means = {name: spread(entries)[0] for name, entries in found.items()}
    return means | {f"{name}_error": spread(found[name])[1] for name in ("value", "in_column_order")}


def cells(settings: Sequence[str], grid: Sequence[float], seeds: int) -> Iterable[tuple[Key, int, Work]]:
    """Return the cells of the table."""
    for setting in settings:
        for epsilon in grid:
            for method in METHODS:
                k = min(TOP, len(cells_of(setting).columns))
                key = (setting, method, f"{epsilon:g}")
                yield key, seeds, partial(measure, setting, method, epsilon, seeds, k)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table."""
    given = options(__doc__, arguments)
    settings, grid = given.settings or SETTINGS, given.grid or GRID
    measured = run(given.results / "table_3_measured.csv", ACCURACY_KEY, cells(settings, grid, given.seeds))
    printed = published("feature intersection")
    names = ("value", "value_error", "in_column_order", "in_column_order_error", "low", "high", "chance")
    rows: list[Row] = []
    for setting in settings:
        for epsilon in grid:
            for method in METHODS:
                row = {"setting": setting, "epsilon": f"{epsilon:g}", "method": method}
                row["published"] = printed.get((setting, method, f"{epsilon:g}"), "")
                rows.append(row | {name: text(value(measured, setting, method, epsilon, name)) for name in names})
    write(given.results / "table_3.csv", rows)
    for row in rows:
        say("; ".join(f"{name}: {entry}" for name, entry in row.items() if entry))


if __name__ == "__main__":
    main()
