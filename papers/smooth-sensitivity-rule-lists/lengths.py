"""Section V-D: test accuracy of the paper's methods against the most rules of a list, K; ``lengths.csv``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from figure_4 import GLOBAL, SMOOTH
from fitting import MAX_RULES, as_published
from study import ACCURACY_KEY, Key, Work, accuracies, options, run

SETTINGS = ("german", "compas", "adult")
LENGTHS = (2, 3, 4, MAX_RULES, 6, 7)
EPSILONS = (1.0, 10.0)
METHODS = (*SMOOTH, *GLOBAL)
KEY = (*ACCURACY_KEY, "K")


def cells(settings: Sequence[str], grid: Sequence[float], seeds: int) -> Iterable[tuple[Key, int, Work]]:
    """Return what is measured."""
    for setting in settings:
        for method in ("GreedyRL", *METHODS):
            for epsilon in (None,) if method == "GreedyRL" else grid:
                for length in LENGTHS:
                    key = (setting, method, "" if epsilon is None else f"{epsilon:g}", str(length))
                    yield key, seeds, partial(accuracies, setting, as_published(method, length), epsilon, seeds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    given = options(__doc__, arguments)
    work = cells(given.settings or SETTINGS, given.grid or EPSILONS, given.seeds)
    run(given.results / "lengths.csv", KEY, work)


__all__ = ["EPSILONS", "KEY", "LENGTHS", "METHODS", "SETTINGS", "cells", "main"]

if __name__ == "__main__":
    main()
