"""Optimal against greedily built models at equal size and at equal accuracy: ``points.csv`` and ``comparisons.csv``.

Models are compared within a split into training and test set and within a least support. At an accuracy, a learner is
represented by the model of its own that tells least among those that reach it; at a size, by the one that tells most
among those that do not exceed it. The model without a split tells nothing and counts for both.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from statistics import fmean

from fits import CART, DL85, GREEDY, LIST, PURER, TELLING, TELLING_TREE, TREE
from settings import DATA_SETS, DEPTHS, SEEDS, SUPPORTS
from study import Row, options, read, say, text, write

PAIRS = ((CART, TREE), (CART, TELLING_TREE), (CART, DL85), (GREEDY, LIST), (GREEDY, TELLING), (PURER, LIST),
         (PURER, TELLING))  # fmt: skip
TINY = 1e-6
NUMBERS = ("size", "train", "test", "dist_g", "dist_g aware")


def solved(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that have figures."""
    return [row for row in rows if row["size"]]


def indexed(rows: Sequence[Row]) -> dict[tuple[str, str, str, str], list[Row]]:
    """Return the solved rows by data, learner, seed and support, shallow ones first."""
    found: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in solved(rows):
        found.setdefault((row["data"], row["learner"], row["seed"], row["support"]), []).append(row)
    return {key: sorted(some, key=lambda row: int(row["depth"])) for key, some in found.items()}


def roots(found: Sequence[Row]) -> dict[tuple[str, str], Row]:
    """Return the model without a split of each dataset and seed."""
    nothing = {"size": "0", "dist_g": "1", "dist_g aware": "1"}
    return {(row["data"], row["seed"]): nothing | row for row in found}


def levels(greedy: Sequence[Row], optimal: Sequence[Row], by: str) -> list[float]:
    """Return the sizes, or the accuracies of models, that both learners reach, above the model without a split."""
    top = min(max(float(row[by]) for row in some) for some in (greedy, optimal))
    if by == "size":
        return [float(size) for size in range(1, round(top) + 1)]
    low = float(greedy[0][by])
    return sorted({float(row[by]) for row in (*greedy, *optimal) if low + TINY < float(row[by]) <= top + TINY})


def told(rows: Sequence[Row], by: str, level: float, reading: str) -> float:
    """Return the Dist_G by which a learner is represented at a size or an accuracy."""
    if by == "size":
        return min(float(row[reading]) for row in rows if float(row[by]) <= level)
    return max(float(row[reading]) for row in rows if float(row[by]) >= level - TINY)


def smallest(rows: Sequence[Row], by: str, level: float, reading: str) -> float:
    """Return the size of the smallest model that reaches an accuracy, whatever the reading."""
    return min(float(row["size"]) for row in rows if float(row[by]) >= level - TINY)


def most_accurate(rows: Sequence[Row], by: str, level: float, reading: str) -> float:
    """Return the best training accuracy at a size, whatever the reading."""
    return max(float(row["train"]) for row in rows if float(row["size"]) <= level)


Measure = Callable[[Sequence[Row], str, float, str], float]
MEASURES: dict[str, tuple[Measure, tuple[str, ...], tuple[str, ...]]] = {
    "Dist_G": (told, ("size", "train", "test"), ("dist_g", "dist_g aware")),
    "size": (smallest, ("train", "test"), ("dist_g",)),
    "train": (most_accurate, ("size",), ("dist_g",)),
}
"""What is compared, at equal what, and in which readings."""


def comparisons(rows: Sequence[Row], trivial: Sequence[Row]) -> list[Row]:
    """Return how optimal and greedy models compare: the optimal ones' figure less that of the greedy ones."""
    found, starts = indexed(rows), roots(trivial)
    out = []
    for data in DATA_SETS:
        for greedy, optimal in PAIRS:
            for name, (_, ways, readings) in MEASURES.items():
                for by in ways:
                    for reading in readings:
                        gaps = [
                            gap
                            for seed in SEEDS
                            for support in SUPPORTS
                            for gap in gaps_of(
                                [found.get((data, one, seed, support), []) for one in (greedy, optimal)],
                                starts.get((data, seed)), name, by, reading,
                            )
                        ]  # fmt: skip
                        if gaps:
                            out.append(_row(data, greedy, optimal, name, by, reading, gaps))
    return out


def gaps_of(sides: Sequence[list[Row]], start: Row | None, name: str, by: str, reading: str) -> list[float]:
    """Return the differences of one split and support, level by level; none where a learner lacks figures."""
    if start is None or not all(sides) or not all(row[reading] for side in sides for row in side):
        return []
    measure = MEASURES[name][0]
    greedy, optimal = ([start, *side] for side in sides)
    return [
        measure(optimal, by, level, reading) - measure(greedy, by, level, reading)
        for level in levels(greedy, optimal, by)
    ]


def _row(data: str, greedy: str, optimal: str, name: str, by: str, reading: str, gaps: Sequence[float]) -> Row:
    return {
        "data": data,
        "greedy": greedy,
        "optimal": optimal,
        "compared": name,
        "at equal": by,
        "reading": reading,
        "levels": str(len(gaps)),
        "above": text(fmean(gap > TINY for gap in gaps)),
        "below": text(fmean(gap < -TINY for gap in gaps)),
        "mean": text(fmean(gaps)),
        "least": text(min(gaps)),
        "greatest": text(max(gaps)),
    }


def points(rows: Sequence[Row]) -> list[Row]:
    """Return means over the splits, for each dataset, learner, support and depth, with how many splits they are of."""
    out = []
    places: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in solved(rows):
        places.setdefault((row["data"], row["learner"], row["support"], row["depth"]), []).append(row)
    for (data, learner, support, depth), some in places.items():
        means = {
            name: text(round(fmean(float(row[name]) for row in some), 6)) if all(row[name] for row in some) else ""
            for name in NUMBERS
        }
        names = {"data": data, "learner": learner, "support": support, "depth": depth, "splits": str(len(some))}
        out.append(names | means)
    order = {depth: place for place, depth in enumerate(DEPTHS)}
    out.sort(key=lambda row: (row["data"], row["learner"], row["support"], order[row["depth"]]))
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    """Write means and comparisons."""
    given = options(__doc__, arguments)
    rows, trivial = (read(given.results / f"{name}.csv") for name in ("grid", "roots"))
    for name, found in (("points", points(rows)), ("comparisons", comparisons(rows, trivial))):
        write(given.results / f"{name}.csv", found)
        say(f"{name}: {len(found)} rows")


__all__ = [
    "NUMBERS",
    "PAIRS",
    "comparisons",
    "gaps_of",
    "indexed",
    "levels",
    "main",
    "points",
    "roots",
    "solved",
    "told",
]

if __name__ == "__main__":
    main(sys.argv[1:])
