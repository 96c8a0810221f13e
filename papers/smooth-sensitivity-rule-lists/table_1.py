"""Table I: standard errors of the mean test accuracy, beside the published ones. Measured by ``figure_4.py``."""

from __future__ import annotations

from collections.abc import Sequence

from figure_4 import METHODS as COMPARED
from study import ACCURACY_KEY, Row, accuracy_cells, options, published, run, say, text, value, write

GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
SETTINGS = ("german", "compas", "adult")
METHODS = ("sm-Laplace", "sm-Cauchy", "gl-Laplace")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table."""
    given = options(__doc__, arguments)
    settings, grid = given.settings or SETTINGS, given.grid or GRID
    methods = [method for method in COMPARED if method in METHODS]
    measured = run(given.results / "figure_4.csv", ACCURACY_KEY, accuracy_cells(settings, methods, grid, given.seeds))
    printed = published("standard error")
    rows: list[Row] = [
        {
            "method": method,
            "epsilon": f"{epsilon:g}",
            "setting": setting,
            "published": printed.get((setting, method, f"{epsilon:g}"), ""),
            "standard error": text(value(measured, setting, method, epsilon, "test_error")),
        }
        for method in methods
        for epsilon in grid
        for setting in settings
    ]
    write(given.results / "table_1.csv", rows)
    for row in rows:
        say("  ".join(row.values()))


if __name__ == "__main__":
    main()
