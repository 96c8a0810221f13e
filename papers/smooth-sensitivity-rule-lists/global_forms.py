"""What Figures 2 and 3 share: noisy Gini impurities against noisy counts, both under global sensitivity."""

from __future__ import annotations

from collections.abc import Sequence

from study import ACCURACY_KEY, Options, accuracy_cells, run

GRID = tuple(float(f"{10 ** (k / 2):.3g}") for k in range(-2, 9))
METHODS = ("GreedyRL", "gl-Laplace", "noisy counts")


def main(given: Options, settings: Sequence[str], figure: int) -> None:
    """Measure training accuracies against epsilon where they are not measured yet."""
    path = given.results / f"figure_{figure}.csv"
    run(path, ACCURACY_KEY, accuracy_cells(given.settings or settings, METHODS, given.grid or GRID, given.seeds))


__all__ = ["GRID", "main"]
