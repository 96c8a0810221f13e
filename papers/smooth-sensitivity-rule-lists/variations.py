"""Other lists and a forest that the paper speaks of: wider rules (V-D), the support check and a forest (V-C).

``variations.csv``. *Support check*: sm-Laplace as printed, with another share of each rule's budget for the support
check; a third is the paper's. *Wider rules*: the pool's rules and all frequent conjunctions of up to two or three of
them. *Forest*: Fletcher and Islam, 2017: trees of random splits to half of the attributes, each on other records, whose
leaves draw their label by the exponential mechanism at a smooth sensitivity of exp(-epsilon j), j being the margin. Its
guarantee is not examined here. Without privacy, leaves have the most frequent label of all records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations

import fitting
import numpy as np
import numpy.typing as npt
from fitting import CONFIDENCE, MAX_RULES, Cells, Counts, Split, as_published, cells_of, split_of
from settings import SETTINGS, frequent, truth
from study import ACCURACY_KEY, SLOW_SEEDS, Key, Work, accuracies, options, run, spread

from glassine.learners.greedy.growth import GreedyPool
from glassine.learners.greedy.published import confidence_threshold
from glassine.privacy.mechanisms import discrete_laplace, laplace
from glassine.privacy.randomness import Randomness
from glassine.privacy.sensitivity import published_smooth_gini
from glassine.sealed.gini import weighted_impurities

CHECKED = ("german", "compas", "adult")
LOW = (0.01, 0.0316, 0.1, 0.316, 1.0)
"""Budgets of the support check's variants: V-C speaks of low ones."""

SHARES = {"a third": 1 / 3, "half": 1 / 2, "two thirds": 2 / 3, "five sixths": 5 / 6}
"""Shares of a rule's budget for its support check; the paper has a third."""

WIDE = ("german", "compas")
WIDTHS = (1, 2, 3)
WIDE_METHODS = ("GreedyRL", "sm-Laplace", "gl-Laplace")
WIDE_EPSILONS = (1.0, 10.0)

FOREST, EXACT_FOREST = "private forest", "the same forest without privacy"
FOREST_DATA, FOREST_EPSILON, TREES = "adult", 1.0, 100


def listed(cells: Cells, split: Split, epsilon: float, share: float, seed: int) -> Counts:
    """Return the class that sm-Laplace as printed gives to each distinct record, with a share for the support check."""
    randomness = Randomness.of(seed)
    pool = GreedyPool.of(cells.setting.domain(tied=False), cells.setting.rules)
    masks = np.array([truth(cells.columns, rule) for rule in pool.antecedents], dtype=np.int64)
    held = np.column_stack([split.train * (cells.labels == label) for label in (0, 1)])
    n, node = int(held.sum()), 3 * epsilon / (3 * MAX_RULES - 1)
    check, part = share * node, (1 - share) / 2 * node
    beta = part / (2 * math.log(2 * (MAX_RULES - 1) * n**2))
    least = int(cells.setting.min_support * n)
    enough = least + confidence_threshold(CONFIDENCE, check)
    scale = Fraction(1) / Fraction(part)
    rest, labels = np.ones(len(cells.labels), dtype=bool), np.zeros(len(cells.labels), dtype=np.int64)
    chosen: list[int] = []
    while len(chosen) < MAX_RULES:
        left = held * rest[:, None]
        size = int(discrete_laplace(left.sum()[None], Fraction(1) / Fraction(check), randomness)[0])
        if size < enough:
            break
        rules = [i for i in range(len(pool.antecedents)) if i not in chosen]
        captured = np.concatenate([np.zeros((1, 2), dtype=np.int64), masks[rules] @ left])
        smooth = published_smooth_gini(int(left.sum()), max(1, least), beta)
        noisy = laplace(weighted_impurities(captured, left.sum(axis=0)), 2 * smooth / part, randomness)
        if not (best := int(np.argmin(noisy))):
            break
        taken = rest & (masks[rules[best - 1]] == 1)
        labels[taken] = _larger(discrete_laplace(held[taken].sum(axis=0), scale, randomness))
        rest &= ~taken
        chosen.append(rules[best - 1])
    labels[rest] = _larger(discrete_laplace(held[rest].sum(axis=0), scale, randomness))
    return labels


def _larger(counts: Counts) -> int:
    """Return the class of the larger count; of equal ones the second, by Algorithm 2."""
    return int(counts[1] >= counts[0])


def checked(setting: str, share: float, epsilon: float, seeds: int) -> dict[str, float]:
    """Return the mean test accuracy of lists with a share of the budget for the support check."""
    cells = cells_of(setting)
    return _tested(setting, lambda seed: listed(cells, split_of(setting, seed), epsilon, share, seed), seeds)


def _tested(setting: str, labelled: Callable[[int], Counts], seeds: int) -> dict[str, float]:
    cells, found = cells_of(setting), []
    for seed in range(seeds):
        test = split_of(setting, seed).test
        found.append(float(test[labelled(seed) == cells.labels].sum() / test.sum()))
    mean, error = spread(found)
    return {"test": mean, "test_error": error}


@lru_cache(maxsize=1)
def widened(name: str, width: int) -> str:
    """Return the name of a setting whose pool also has all frequent conjunctions of up to so many rules."""
    made = f"{name}, up to {width}"
    setting = SETTINGS[name]()
    joined = [
        tuple(literal for rule in some for literal in rule)
        for size in range(2, width + 1)
        for some in combinations(setting.rules, size)
        if len({literal.attribute for rule in some for literal in rule}) == size
    ]
    SETTINGS[made] = lambda: replace(setting, name=made, rules=(*setting.rules, *frequent(setting.columns, joined)))
    return made


def wide(name: str, width: int, method: str, epsilon: float | None, seeds: int) -> dict[str, float]:
    """Return the accuracies of lists over a widened pool."""
    found = accuracies(widened(name, width), as_published(method), epsilon, seeds)
    fitting.split_of.cache_clear()
    return {key: found[key] for key in ("test", "test_error")}


def forest(cells: Cells, split: Split, epsilon: float | None, seed: int) -> Counts:
    """Return the class that most trees of a forest give to each distinct record; without privacy if epsilon is None."""
    rng = np.random.default_rng(seed)
    X: npt.NDArray[np.bool_] = np.column_stack([column == 1 for column in cells.columns.values()])
    rows = rng.permutation(np.repeat(np.arange(len(X)), split.train))
    votes = np.zeros(len(X))
    for own in np.array_split(rows, TREES):
        leaf = _random_leaves(X, rng)
        counted = rows if epsilon is None else own
        held = np.stack(
            [np.bincount(leaf[counted[cells.labels[counted] == k]], minlength=leaf.max() + 1) for k in (0, 1)]
        )
        margin = (held[1] - held[0]).astype(float)
        chance = (margin > 0) + (margin == 0) / 2
        if epsilon is not None:
            # exp(epsilon u / (2 S)) with u = 1 for the most frequent label, 0 for the other, and S = exp(-epsilon j).
            strength = epsilon / 2 * np.exp(np.minimum(epsilon * np.abs(margin), 50.0))
            chance = 1 / (1 + np.exp(-np.sign(margin) * np.minimum(strength, 700.0)))
        votes += np.where(rng.random(len(chance)) < chance, 1, -1)[leaf]
    return (votes > 0).astype(np.int64)


def _random_leaves(X: npt.NDArray[np.bool_], rng: np.random.Generator) -> Counts:
    """Return the leaf of each record in a tree that tests half of the attributes, drawn node by node, on each path."""
    node, used = np.zeros(len(X), dtype=np.int64), np.zeros((1, X.shape[1]), dtype=bool)
    for _ in range(X.shape[1] // 2):
        chosen = np.where(used, np.inf, rng.random(used.shape)).argmin(axis=1)
        used[np.arange(len(used)), chosen] = True
        side = X[np.arange(len(X)), chosen[node]]
        # Only nodes with records go on.
        met, node = np.unique(2 * node + side, return_inverse=True)
        used = used[met // 2]
    return node.reshape(-1)


def forests(setting: str, epsilon: float | None, seeds: int) -> dict[str, float]:
    """Return the mean test accuracy of forests."""
    cells = cells_of(setting)
    return _tested(setting, lambda seed: forest(cells, split_of(setting, seed), epsilon, seed), seeds)


def cells(settings: Sequence[str], seeds: int) -> Iterable[tuple[Key, int, Work]]:
    """Return what is measured: of the paper's settings, or of others."""
    of_forest = settings[0] if settings else FOREST_DATA
    for method, spent in ((FOREST, FOREST_EPSILON), (EXACT_FOREST, None)):
        key = (of_forest, method, "" if spent is None else f"{spent:g}")
        yield key, seeds, partial(forests, of_forest, spent, seeds)
    for setting in settings or CHECKED:
        for name, share in SHARES.items():
            for epsilon in LOW:
                key = (setting, f"support check, {name}", f"{epsilon:g}")
                yield key, seeds, partial(checked, setting, share, epsilon, seeds)
    few = min(seeds, SLOW_SEEDS)
    for setting in settings or WIDE:
        for width in WIDTHS:
            for method in WIDE_METHODS:
                for epsilon in (None,) if method == "GreedyRL" else WIDE_EPSILONS:
                    key = (setting, f"{method}, up to {width}", "" if epsilon is None else f"{epsilon:g}")
                    yield key, few, partial(wide, setting, width, method, epsilon, few)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    given = options(__doc__, arguments)
    run(given.results / "variations.csv", ACCURACY_KEY, cells(given.settings, given.seeds))


__all__ = [
    "CHECKED",
    "EXACT_FOREST",
    "FOREST",
    "FOREST_DATA",
    "FOREST_EPSILON",
    "LOW",
    "SHARES",
    "WIDE",
    "WIDE_EPSILONS",
    "WIDE_METHODS",
    "WIDTHS",
    "cells",
    "forest",
    "listed",
    "main",
    "widened",
]

if __name__ == "__main__":
    main()
