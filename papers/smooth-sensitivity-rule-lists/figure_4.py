"""Figure 4: test accuracy of every method against epsilon.

The paper has 200 values of epsilon from 0.01 to 100; here are 17 on the same logarithmic axis. Two lines are not the
paper's: counted-gini, strict, and the exponential rule list.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from drawing import GREY, OURS, STYLE, Line, plot
from fitting import cells_of
from study import ACCURACY_KEY, Row, accuracy_cells, options, run, value

GRID = tuple(float(f"{10 ** (k / 4):.3g}") for k in range(-8, 9))
SETTINGS = ("german", "compas", "adult", "adult-pairs")
SMOOTH = ("sm-Laplace", "sm-Cauchy")
GLOBAL = ("gl-Laplace", "gl-Gaussian", "gl-Exponential")
METHODS = ("GreedyRL", *SMOOTH, *GLOBAL, *OURS)
DRAWN = ("german", "compas", "adult")
"""The paper's own datasets; conjunctions are ours."""


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the figure and its numbers."""
    given = options(__doc__, arguments)
    settings, grid = given.settings or SETTINGS, given.grid or GRID
    path = given.results / "figure_4.csv"
    rows = run(path, ACCURACY_KEY, accuracy_cells(settings, METHODS, grid, given.seeds))
    for setting in [name for name in settings if name in DRAWN or given.settings]:
        draw(rows, setting, grid, given.images / f"figure-4-{setting}.svg")


if __name__ == "__main__":
    main()
