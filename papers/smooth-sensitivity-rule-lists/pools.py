"""Pools of rules: their sizes, what GreedyRL reaches on them, and the most that anything could.

The paper prints the sizes 49, 18 and 47 and the accuracies, and not the pools. For each reading of its pre-processing
this shows the number of rules, the mean test accuracy of GreedyRL and of sm-Laplace at epsilon 10, the largest
accuracy that any classifier of the columns has on all records (``ceiling``), and the least and the largest accuracy
that a greedy list has on all records, whichever of equal rules is taken (``ties from``, ``ties to``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
from fitting import MAX_RULES, METHODS, Cells, accuracy
from settings import (
    SETTINGS,
    SUPPORT,
    TARGET,
    Antecedent,
    Setting,
    adult_columns,
    compas_columns,
    fails,
    frequent,
    german_columns,
    holds,
    pairs,
    truth,
    varying,
    without,
)
from study import Key, Row, Work, options, run, say, spread

NAMES = ("setting", "pool")
EPSILON = 10.0

Truths = npt.NDArray[np.bool_]


def positive(setting: Setting, closed: str) -> Setting:
    """Return one of the two settings with quantile bins, with the other side of the bins closed."""
    columns = (german_columns if setting.name == "german" else compas_columns)(closed)[0]
    return replace(setting, columns=columns, rules=frequent(columns, [(holds(name),) for name in columns]))


def compas_without(closed: str, *, juvenile: bool) -> Setting:
    """Return COMPAS without age and sex: literals of either sign, and conjunctions of two columns.

    By quantiles alone the juvenile counts are constant.
    """
    setting = SETTINGS["compas"]()
    columns = without(compas_columns(closed)[0], "age", "sex", *(() if juvenile else ("juv",)))
    single = [(holds(name),) for name in columns]
    # The negation of one of two columns is the other.
    single += [(fails(name),) for name in columns if name.startswith("priors")]
    both = pairs([(holds(name),) for name in columns])
    return replace(setting, columns=columns, rules=frequent(columns, [*single, *both]), groups=())


def with_pairs(setting: Setting) -> Setting:
    """Return a setting with the frequent conjunctions of two of its rules besides the rules."""
    two = frequent(setting.columns, pairs(setting.rules))
    distinct: dict[bytes, Antecedent] = {}
    for rule in (*setting.rules, *two):
        distinct.setdefault(truth(setting.columns, rule).tobytes(), rule)
    return replace(setting, rules=tuple(distinct.values()))


def adult_without() -> Setting:
    """Return Adult without gender and age: frequent columns, and the negations of all."""
    columns = without(adult_columns()[0], "gender", "age")
    rules = (*frequent(columns, [(holds(name),) for name in columns]), *((fails(name),) for name in columns))
    return replace(SETTINGS["adult"](), columns=columns, rules=rules, groups=())


def both_signs(setting: Setting) -> Setting:
    """Return a setting with every column that varies and its negation."""
    rules = [(sign(name),) for name in varying(setting.columns) for sign in (holds, fails)]
    return replace(setting, rules=tuple(rules))


def most_frequent(setting: Setting, number: int) -> Setting:
    """Return a setting with the columns and conjunctions of two of them that most records satisfy."""
    single = [(holds(name),) for name in setting.columns]
    rules = sorted([*single, *pairs(single)], key=lambda rule: -float(truth(setting.columns, rule).mean()))
    return replace(setting, rules=tuple(rules[:number]))


POOLS: dict[tuple[str, str], Callable[[], Setting]] = {
    ("german", "columns, bins closed right"): SETTINGS["german"],
    ("german", "columns, bins closed left"): lambda: positive(SETTINGS["german"](), "left"),
    ("german", "columns and negations"): lambda: both_signs(SETTINGS["german"]()),
    ("german", "columns and conjunctions of two"): lambda: with_pairs(SETTINGS["german"]()),
    ("german", "the most frequent columns and conjunctions"): lambda: most_frequent(SETTINGS["german"](), 49),
    ("compas", "columns, bins closed right"): SETTINGS["compas"],
    ("compas", "columns, bins closed left"): lambda: positive(SETTINGS["compas"](), "left"),
    ("compas", "columns and conjunctions of two"): lambda: with_pairs(SETTINGS["compas"]()),
    ("compas", "no age or sex, closed right"): lambda: compas_without("right", juvenile=True),
    ("compas", "no age or sex, no juvenile counts, closed right"): lambda: compas_without("right", juvenile=False),
    ("compas", "no age or sex, no juvenile counts, closed left"): lambda: compas_without("left", juvenile=False),
    ("adult", "columns and negations"): SETTINGS["adult"],
    ("adult", "conjunctions of two"): lambda: with_pairs(SETTINGS["adult"]()),
    ("adult", "columns and negations, no gender or age"): adult_without,
    ("adult", "conjunctions of two, no gender or age"): SETTINGS["adult-pairs"],
    ("toy", "columns and negations"): SETTINGS["toy"],
}
"""Readings of the paper's pre-processing."""


def tie_range(setting: Setting, cells: Cells) -> tuple[float, float]:
    """Return the least and the largest accuracy of a greedy list on all records, whichever of equal rules is taken."""
    counts = np.bincount(cells.index, minlength=len(cells.labels)).astype(float)
    truths = np.column_stack([truth({n: c == 1 for n, c in cells.columns.items()}, rule) for rule in setting.rules])
    search = Ties(
        truths=truths, weights=counts, labels=cells.labels, least=math.ceil(setting.min_support * counts.sum())
    )
    found = list(search.grow(np.ones(len(counts), dtype=bool), 0.0, MAX_RULES))
    return 1 - max(found) / counts.sum(), 1 - min(found) / counts.sum()


class Ties:
    """Greedy lists with every choice among equal rules, on weighted distinct records."""

    def __init__(
        self, truths: Truths, weights: npt.NDArray[np.float64], labels: npt.NDArray[np.int64], least: int
    ) -> None:
        self.truths, self.least = truths, least
        self.weights = np.column_stack([weights * (labels == label) for label in (0, 1)])

    def grow(self, remaining: Truths, errors: float, length: int) -> Iterable[float]:
        """Yield the numbers of errors of all lists that start here."""
        totals = self.weights[remaining].sum(axis=0)
        captured = (self.truths & remaining[:, None]).T.astype(float) @ self.weights
        impurity = counted_gini(captured) + counted_gini(totals - captured)
        impurity[captured.sum(axis=1) < self.least] = np.inf
        best = impurity.min() if len(impurity) else np.inf
        lowered = best < counted_gini(totals[None, :])[0] - 1e-9
        if not length or totals.sum() < self.least or not lowered:
            yield errors + totals.min()
            return
        seen = set()
        for rule in np.flatnonzero(impurity <= best + 1e-7):
            taken = self.truths[:, rule] & remaining
            if taken.tobytes() not in seen:
                seen.add(taken.tobytes())
                yield from self.grow(remaining & ~taken, errors + captured[rule].min(), length - 1)


def counted_gini(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return n times the Gini impurity of each row of class counts."""
    sizes = counts.sum(axis=1)
    return np.asarray(sizes - (counts**2).sum(axis=1) / np.where(sizes > 0, sizes, 1))


def measure(make: Callable[[], Setting], seeds: int) -> dict[str, float]:
    """Return the figures of one pool."""
    setting = make()
    cells = Cells.of(setting)
    greedy: list[float] = []
    private: list[float] = []
    for seed in range(seeds):
        train, test = cells.split(seed)
        table = cells.table(train, tied=False)
        for name, epsilon, scores in (("GreedyRL", None, greedy), ("sm-Laplace", EPSILON, private)):
            model = METHODS[name].make(setting, epsilon, seed).fit(table, TARGET).model_
            scores.append(accuracy(model, cells, test))
    least, largest = tie_range(setting, cells)
    return {
        "records": float(setting.n_records),
        "rules": float(len(setting.rules)),
        "GreedyRL": spread(greedy)[0],
        "GreedyRL error": spread(greedy)[1],
        "sm-Laplace": spread(private)[0],
        "sm-Laplace error": spread(private)[1],
        "ceiling": cells.ceiling(),
        "ties from": least,
        "ties to": largest,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table."""
    given = options(__doc__, arguments)
    chosen = given.settings or ("german", "compas", "adult")
    work: list[tuple[Key, int, Work]] = [
        (key, given.seeds, partial(measure, make, given.seeds)) for key, make in POOLS.items() if key[0] in chosen
    ]
    rows: list[Row] = run(given.results / "pools.csv", NAMES, work)
    for row in rows:
        say("; ".join(f"{name}: {entry}" for name, entry in row.items()))


__all__ = ["POOLS", "SUPPORT", "main", "tie_range"]

if __name__ == "__main__":
    main()
