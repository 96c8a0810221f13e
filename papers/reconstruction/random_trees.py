"""How unevenly the largest trees leave entropy, beside trees of as many leaves that are drawn at random.

A tree is drawn on the same records: a leaf at random is split by an attribute at random, until there are as many
leaves, no deeper than the learner was allowed, and none with less than a least support. That is the learner's, halved
until random trees reach as many leaves: splits that do not look for balance use support up. ``random_trees.csv``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np
from fits import CART, DL85, TREE, counted
from settings import DATA_SETS, SEEDS, SUPPORTS, Ints, split
from study import Row, options, read, resume, select, text

LEARNERS = (CART, TREE, DL85)
DRAWS = 100
MOST_TRIES = 10
"""Trees that are drawn for one: some end where no leaf can be split."""

FIGURES = ("span", "deviation")


def largest(grid: Sequence[Row], data: str, learner: str) -> dict[str, Row]:
    """Return the largest model of each split: of the depth that most splits have one of, the deepest."""
    rows = {
        (row["seed"], int(row["depth"])): row
        for row in select(grid, data=data, learner=learner, support=SUPPORTS[0])
        if row["known"]
    }
    depths = [depth for _, depth in rows]
    deepest = max(depths, key=lambda depth: (depths.count(depth), depth), default=0)
    return {seed: row for (seed, depth), row in rows.items() if depth == deepest}


def unevenness(known: Mapping[int, int], width: int) -> tuple[float, float]:
    """Return the span and the standard deviation of the shares of the entropy that are left of the records."""
    left = 1 - np.array([*known]) / width
    weights = np.array([*known.values()], dtype=float)
    mean = float(np.average(left, weights=weights))
    return float(left.max() - left.min()), float(np.sqrt(np.average((left - mean) ** 2, weights=weights)))


def drawn(X: Ints, leaves: int, depth: int, least: int, rng: np.random.Generator) -> dict[int, int] | None:
    """Return how many records a tree drawn at random has by their number of known attributes; None if none is met."""
    for _ in range(MOST_TRIES):
        ends = [(np.arange(len(X)), 0)]
        final: list[tuple[Ints, int]] = []
        while ends and len(ends) + len(final) < leaves:
            rows, known = ends.pop(int(rng.integers(len(ends))))
            ones = X[rows].sum(axis=0)
            able = np.flatnonzero(np.minimum(ones, len(rows) - ones) >= least)
            if known == depth or not len(able):
                final.append((rows, known))
                continue
            side = X[rows, rng.choice(able)] == 1
            ends += [(rows[side], known + 1), (rows[~side], known + 1)]
        if len(ends) + len(final) == leaves:
            out: dict[int, int] = {}
            for rows, known in (*ends, *final):
                out[known] = out.get(known, 0) + len(rows)
            return out
    return None


def several(X: Ints, leaves: int, depth: int, least: int, rng: np.random.Generator) -> tuple[list[dict[int, int]], int]:
    """Return random trees, and the least support at which they reach as many leaves."""
    while least:
        found: list[dict[int, int]] = []
        while len(found) < DRAWS and (tree := drawn(X, leaves, depth, least, rng)) is not None:
            found.append(tree)
        if len(found) == DRAWS:
            return found, least
        least //= 2
    raise RuntimeError(f"no random tree of depth {depth} has {leaves} leaves.")


def measured(key: Row, row: Row) -> Row:
    """Return the unevenness of a tree, the mean of random ones, and the share of these that are no less uneven."""
    data = split(key["data"], key["seed"])
    rng, width = np.random.default_rng(int(key["seed"])), data.X.shape[1]
    leaves, depth = int(row["size"]) + 1, int(row["depth"])
    least = max(1, data.in_a_leaf(SUPPORTS[0]))
    own = unevenness(counted(row["known"]), width)
    trees, reached = several(data.X, leaves, depth, least, rng)
    random = [unevenness(tree, width) for tree in trees]
    out = key | {"leaves": str(leaves), "least": str(least), "least, random": str(reached), "draws": str(DRAWS)}
    for name, figure, others in zip(FIGURES, own, zip(*random, strict=True), strict=True):
        no_less = fmean(other >= figure for other in others)
        out |= {name: text(figure), f"{name}, random": text(fmean(others)), f"{name}, no less": text(no_less)}
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the trees that are not in the results yet."""
    given = options(__doc__, arguments)
    grid = read(given.results / "grid.csv")
    rows = {(data, learner): largest(grid, data, learner) for data in DATA_SETS for learner in LEARNERS}
    keys = [
        [{"data": data, "learner": learner, "seed": seed}]
        for (data, learner), found in rows.items()
        for seed in SEEDS[: 1 if given.quick else None]
        if seed in found
    ]
    path = given.results / "random_trees.csv"
    resume(path, keys, lambda some: [measured(some[0], rows[some[0]["data"], some[0]["learner"]][some[0]["seed"]])])


__all__ = ["DRAWS", "FIGURES", "LEARNERS", "drawn", "largest", "main", "measured", "unevenness"]

if __name__ == "__main__":
    main(sys.argv[1:])
