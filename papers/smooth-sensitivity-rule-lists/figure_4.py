"""Figure 4: test accuracy of every method against epsilon; and what the paper says of it, checked.

The paper has 200 values of epsilon from 0.01 to 100; here are 17 on the same logarithmic axis. Two lines are not the
paper's: counted-gini, strict, and the exponential rule list.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from drawing import GREY, OURS, STYLE, Line, plot
from fitting import cells_of
from study import ACCURACY_KEY, Row, accuracy_cells, options, run, say, text, value, write

GRID = tuple(float(f"{10 ** (k / 4):.3g}") for k in range(-8, 9))
SETTINGS = ("german", "compas", "adult", "adult-pairs")
SMOOTH = ("sm-Laplace", "sm-Cauchy")
GLOBAL = ("gl-Laplace", "gl-Gaussian", "gl-Exponential")
METHODS = ("GreedyRL", *SMOOTH, *GLOBAL, *OURS)
LARGE = ("compas", "adult", "adult-pairs")
"""The paper's statements are about its larger data sets."""

TOLERANCE = 2.0
"""Standard errors of a difference below which two accuracies count as equal."""


def draw(rows: Sequence[Row], setting: str, grid: Sequence[float], path: Path) -> None:
    """Draw test accuracies of one setting."""
    x = np.array(grid, dtype=float)
    labels = cells_of(setting).setting.labels
    alone = np.full(len(x), max(labels.mean(), 1 - labels.mean()))
    lines = [Line(label="largest class alone", colour=GREY, dash=":", x=x, y=alone, error=np.zeros(len(x)))]
    for method in METHODS:
        epsilons = [None] * len(grid) if method == "GreedyRL" else list(grid)
        y, error = (
            np.array([value(rows, setting, method, epsilon, name) for epsilon in epsilons])
            for name in ("test", "test_error")
        )
        ours = method in OURS
        label = f"{method} (ours)" if ours else method
        colour, dash = STYLE[method]
        lines.append(Line(label=label, colour=colour, dash=dash, x=x, y=y, error=error, wide=ours))
    plot(lines, path, x_label="epsilon", y_label="test accuracy", title=cells_of(setting).setting.title)


def not_below(rows: Sequence[Row], setting: str, first: str, second: str, epsilon: float) -> bool:
    """Return whether a method is at least as accurate as another, up to chance."""
    one, two = (value(rows, setting, method, epsilon) for method in (first, second))
    error = math.hypot(*(value(rows, setting, method, epsilon, "test_error") for method in (first, second)))
    return one >= two - TOLERANCE * error


def statement(
    rows: Sequence[Row], setting: str, methods: Sequence[str], others: Sequence[str], grid: Sequence[float]
) -> Row:
    """Return at which values of epsilon one group of methods is at least as accurate as all of another."""
    held = [
        epsilon
        for epsilon in grid
        if all(not_below(rows, setting, one, two, epsilon) for one in methods for two in others)
    ]
    gains = [
        min(value(rows, setting, one, epsilon) for one in methods)
        - max(value(rows, setting, two, epsilon) for two in others)
        for epsilon in grid
    ]
    return {
        "setting": setting,
        "methods": "; ".join(methods),
        "at least as accurate as": "; ".join(others),
        "from epsilon": f"{min(grid):g}",
        "to epsilon": f"{max(grid):g}",
        "values": str(len(grid)),
        "held at": str(len(held)),
        "not at": " ".join(f"{epsilon:g}" for epsilon in grid if epsilon not in held),
        "least gain": text(min(gains)),
        "largest gain": text(max(gains)),
    }


def statements(rows: Sequence[Row], settings: Sequence[str], grid: Sequence[float]) -> list[Row]:
    """Return the paper's statements on the order of the methods, and ours, each checked on the measured figures."""
    high = [epsilon for epsilon in grid if epsilon >= 0.1]
    claims = [
        (("sm-Laplace",), GLOBAL, high),
        (("sm-Laplace",), ("sm-Cauchy",), high),
        (("sm-Cauchy",), GLOBAL, high),
        (("counted-gini, strict",), (*SMOOTH, *GLOBAL), list(grid)),
        (("exponential rule list",), ("counted-gini, strict",), list(grid)),
    ]
    return [statement(rows, setting, *claim) for setting in settings for claim in claims if claim[2]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the figure, its numbers and the statements."""
    given = options(__doc__, arguments)
    settings, grid = given.settings or SETTINGS, given.grid or GRID
    path = given.results / "figure_4.csv"
    rows = run(path, ACCURACY_KEY, accuracy_cells(settings, METHODS, grid, given.seeds))
    for setting in settings:
        draw(rows, setting, grid, given.images / f"figure-4-{setting}.svg")
    checked = statements(rows, settings, grid)
    write(given.results / "figure_4_statements.csv", checked)
    for row in checked:
        say(" | ".join(f"{name}: {entry}" for name, entry in row.items() if entry))


if __name__ == "__main__":
    main()
