"""Section VI's future work on rule lists: rules chosen by inverse sensitivity, beside other choices: ``lists.csv``.

A quarter of epsilon pays for the class counts, which are one histogram whatever rules are chosen; the rest is divided
among the choices. All lists have pure guarantees, but sm-Laplace's: its choices are charged as the paper charges them,
without a proof. Lists of the package at the same epsilon are in ``figure_4.csv``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from choosing import CHOICES, Choice
from fitting import MAX_RULES, Cells, Counts, Split, cells_of, split_of
from settings import truth
from study import ACCURACY_KEY, SLOW_SEEDS, Key, Work, options, run, spread
from trees import EPSILONS, SETTINGS

from glassine.learners.greedy.greedy_plan import COUNTS_SHARE
from glassine.learners.greedy.growth import GreedyPool
from glassine.privacy.mechanisms import discrete_laplace
from glassine.privacy.randomness import Randomness


def listed(cells: Cells, split: Split, choice: Choice, epsilon: float, seed: int) -> Counts:
    """Return the class that a grown list gives to each distinct record."""
    randomness = Randomness.of(seed)
    whole = Fraction(str(epsilon))
    part = float(whole * (1 - COUNTS_SHARE) / MAX_RULES)
    delta = 1 / (MAX_RULES * int(split.train.sum()) ** 2)
    pool = GreedyPool.of(cells.setting.domain(tied=True), cells.setting.rules)
    masks = np.array([truth(cells.columns, rule) for rule in pool.antecedents], dtype=np.int64)
    held = np.column_stack([split.train * (cells.labels == label) for label in (0, 1)])
    rest = np.ones(len(cells.labels), dtype=bool)
    labels = np.zeros(len(cells.labels), dtype=np.int64)
    chosen: list[int] = []
    for _ in range(MAX_RULES):
        rules = pool.admissible(chosen)
        if not rules:
            break
        left = held * rest[:, None]
        rule = rules[choice(masks[rules] @ left, left.sum(axis=0), part, delta, randomness)]
        taken = rest & (masks[rule] == 1)
        labels[taken] = np.argmax(discrete_laplace(held[taken].sum(axis=0), 1 / (whole * COUNTS_SHARE), randomness))
        rest &= ~taken
        chosen.append(rule)
    labels[rest] = np.argmax(discrete_laplace(held[rest].sum(axis=0), 1 / (whole * COUNTS_SHARE), randomness))
    return labels


def measured(setting: str, method: str, epsilon: float, seeds: int) -> dict[str, float]:
    """Return the mean test accuracy over seeded splits, with its standard error."""
    cells, found = cells_of(setting), []
    for seed in range(seeds):
        split = split_of(setting, seed)
        labels = listed(cells, split, CHOICES[method], epsilon, seed)
        found.append(float(split.test[labels == cells.labels].sum() / split.test.sum()))
    mean, error = spread(found)
    return {"test": mean, "test_error": error}


def cells(settings: Sequence[str], grid: Sequence[float], seeds: int) -> Iterable[tuple[Key, int, Work]]:
    """Return what is measured."""
    for setting in settings:
        for method in CHOICES:
            for epsilon in grid:
                yield (setting, method, f"{epsilon:g}"), seeds, partial(measured, setting, method, epsilon, seeds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    given = options(__doc__, arguments)
    work = cells(given.settings or SETTINGS, given.grid or EPSILONS, min(given.seeds, SLOW_SEEDS))
    run(given.results / "lists.csv", ACCURACY_KEY, work)


if __name__ == "__main__":
    main()
