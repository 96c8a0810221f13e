"""Section VI's future work: trees by noisy Gini impurities, beside trees drawn by exact sampling: ``trees.csv``.

A tree is grown level by level. Nodes of a level hold disjoint records, so that a level costs what one choice costs;
each of the levels, and the counts of the leaves, get an equal part of epsilon. All trees have pure guarantees, but
sm-Laplace: its choices are charged as the paper charges them, without a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from choosing import CHOICES, Choice
from fitting import Cells, Split, accuracy, cells_of, split_of
from settings import TARGET, truth
from study import ACCURACY_KEY, SLOW_SEEDS, Key, Work, options, run, spread

from glassine.learners import PrivateTreeClassifier
from glassine.privacy.mechanisms import discrete_laplace
from glassine.privacy.randomness import Randomness

DEPTH = 3
EPSILONS = (0.1, 0.316, 1.0, 3.16, 10.0)
SETTINGS = ("german", "compas", "adult")
EXACT = "exact sampling"

Counts = npt.NDArray[np.int64]


def grown(cells: Cells, split: Split, choice: Choice, epsilon: float, seed: int) -> Counts:
    """Return the class that a grown tree gives to each distinct record."""
    randomness = Randomness.of(seed)
    part = epsilon / (DEPTH + 1)
    delta = 1 / (DEPTH * int(split.train.sum()) ** 2)
    singles = [rule for rule in cells.setting.rules if len(rule) == 1]
    masks = np.array([truth(cells.columns, rule) for rule in singles], dtype=np.int64)
    classes = np.column_stack([split.train * (cells.labels == label) for label in (0, 1)])
    leaf = np.zeros(len(cells.labels), dtype=np.int64)
    for _ in range(DEPTH):
        below = np.zeros_like(leaf)
        for node in range(leaf.max() + 1):
            inside = leaf == node
            held = classes * inside[:, None]
            chosen = choice(masks @ held, held.sum(axis=0), part, delta, randomness)
            below += inside * (2 * node + masks[chosen])
        leaf = below
    counts = np.array([[classes[leaf == node, label].sum() for label in (0, 1)] for node in range(2**DEPTH)])
    noisy = discrete_laplace(counts, Fraction(1) / Fraction(part), randomness)
    return np.asarray(np.argmax(noisy, axis=1)[leaf], dtype=np.int64)


def drawn(cells: Cells, split: Split, epsilon: float, seed: int) -> float:
    """Return the test accuracy of a tree of the same depth and literals, drawn by exact sampling."""
    literals = [rule[0] for rule in cells.setting.rules if len(rule) == 1]
    domain = cells.setting.domain(tied=True)
    learner: Any = PrivateTreeClassifier(DEPTH, epsilon=epsilon, domain=domain, literals=literals, random_state=seed)
    return accuracy(learner.fit(split.tables[True], TARGET).model_, cells, split.test)


def measured(setting: str, method: str, epsilon: float, seeds: int) -> dict[str, float]:
    """Return the mean test accuracy over seeded splits, with its standard error."""
    cells, found = cells_of(setting), []
    for seed in range(seeds):
        split = split_of(setting, seed)
        if method == EXACT:
            found.append(drawn(cells, split, epsilon, seed))
        else:
            labels = grown(cells, split, CHOICES[method], epsilon, seed)
            found.append(float(split.test[labels == cells.labels].sum() / split.test.sum()))
    mean, error = spread(found)
    return {"test": mean, "test_error": error}


def cells(settings: Sequence[str], grid: Sequence[float], seeds: int) -> Iterable[tuple[Key, int, Work]]:
    """Return what is measured."""
    for setting in settings:
        for method in (EXACT, *CHOICES):
            for epsilon in grid:
                yield (setting, method, f"{epsilon:g}"), seeds, partial(measured, setting, method, epsilon, seeds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    given = options(__doc__, arguments)
    work = cells(given.settings or SETTINGS, given.grid or EPSILONS, min(given.seeds, SLOW_SEEDS))
    run(given.results / "trees.csv", ACCURACY_KEY, work)


if __name__ == "__main__":
    main()
