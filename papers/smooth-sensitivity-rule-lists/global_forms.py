"""What Figures 2 and 3 share: noisy Gini impurities against noisy counts, both under global sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from drawing import GREY, STYLE, Line, plot
from fitting import cells_of
from study import ACCURACY_KEY, Options, Row, accuracy_cells, run, value

GRID = tuple(float(f"{10 ** (k / 2):.3g}") for k in range(-2, 9))
METHODS = ("GreedyRL", "gl-Laplace", "noisy counts")
NAMES = {"gl-Laplace": "noisy Gini (gl-Laplace)"}


def measure(given: Options, settings: Sequence[str], figure: int) -> list[Row]:
    """Return training accuracies against epsilon, measured where they are not yet."""
    path = given.results / f"figure_{figure}.csv"
    return run(path, ACCURACY_KEY, accuracy_cells(settings, METHODS, given.grid or GRID, given.seeds))


def draw(rows: Sequence[Row], setting: str, grid: Sequence[float], path: Path) -> None:
    """Draw training accuracies of one setting."""
    x = np.array(grid, dtype=float)
    lines = []
    for method in METHODS:
        epsilons = [None] * len(grid) if method == "GreedyRL" else list(grid)
        y, error = (
            np.array([value(rows, setting, method, epsilon, name) for epsilon in epsilons])
            for name in ("train", "train_error")
        )
        colour, dash = STYLE[method] if method != "GreedyRL" else (GREY, "--")
        lines.append(Line(label=NAMES.get(method, method), colour=colour, dash=dash, x=x, y=y, error=error))
    plot(
        lines,
        path,
        x_label="epsilon",
        y_label="training accuracy",
        title=cells_of(setting).setting.title,
    )


def main(given: Options, settings: Sequence[str], figure: int) -> None:
    """Measure and draw one figure."""
    chosen = given.settings or settings
    rows = measure(given, chosen, figure)
    for setting in chosen:
        draw(rows, setting, given.grid or GRID, given.images / f"figure-{figure}-{setting}.svg")


__all__ = ["GRID", "main"]
