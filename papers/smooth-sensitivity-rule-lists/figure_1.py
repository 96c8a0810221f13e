"""Figure 1: the noise on one Gini impurity at epsilon 1, by smooth and by global sensitivity.

The paper states neither the delta nor the minimum support of its figure. Here delta is 1e-6 and no support is taken for
granted, or a twentieth of a training set of Adult's size. The column ``strict`` counts removals too. At the smallest
sizes ``enumerated`` is the smooth sensitivity by its definition, over all datasets of two classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
from study import options, text, write

from glassine.privacy.sensitivity import local_gini, published_smooth_gini, smooth_gini

EPSILON = 1.0
DELTA = 1e-6
BETA = EPSILON / (2 * math.log(2 / DELTA))
SUPPORT = 1_709
"""A twentieth of the 34,189 training records of Adult."""

GLOBAL = 0.5 / EPSILON

MOST_ENUMERATED = 25
"""Largest dataset of which all are enumerated: they grow with the cube of the size."""

Counts = tuple[int, int, int, int]
"""Records of both classes that a rule captures, and of both that it leaves."""


def brute_force(n: int, least: int) -> float:
    """Return the maximum over k of Theorem IV.1 by trying each."""
    return max(math.exp(-BETA * k) * local_gini(max(least, n - k)) for k in range(max(1, n - least + 1)))


def weighted_gini(counts: Counts) -> float:
    """Return the Gini impurity of both parts, weighted by their records."""
    parts = (counts[:2], counts[2:])
    return sum(sum(part) - sum(n * n for n in part) / sum(part) for part in parts if sum(part)) / max(sum(counts), 1)


@cache
def largest_change(n: int) -> float:
    """Return the most that adding or removing one record changes the impurity of a dataset of n records."""
    out = 0.0
    for a, b, c in product(range(n + 1), repeat=3):
        if a + b + c > n:
            continue
        counts: Counts = (a, b, c, n - a - b - c)
        for cell, move in product(range(4), (1, -1)):
            other = list(counts)
            other[cell] += move
            if other[cell] >= 0:
                w, x, y, z = other
                out = max(out, abs(weighted_gini((w, x, y, z)) - weighted_gini(counts)))
    return out


def enumerated(n: int) -> float:
    """Return the largest smooth sensitivity of datasets of n records, by its definition: over all other datasets."""
    # Beyond one record more the change falls further, and its weight with it.
    return max(math.exp(-BETA * abs(n - m)) * largest_change(m) for m in range(n + 2))


def amplitudes(n: int) -> dict[str, float]:
    """Return the scale of the Laplace noise at n remaining records."""
    factor = 2 / EPSILON
    return {
        "global": GLOBAL,
        "smooth": factor * published_smooth_gini(n, 1, BETA),
        "smooth_support": factor * published_smooth_gini(n, SUPPORT, BETA),
        "strict": factor * smooth_gini(n, BETA),
        "local": factor * local_gini(n),
        "brute_force": factor * brute_force(n, 1),
        "enumerated": factor * enumerated(n) if n <= MOST_ENUMERATED else math.nan,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the numbers of the figure."""
    given = options(__doc__, arguments)
    sizes = np.unique(np.geomspace(10, 50_000, 60).astype(int))
    values = [amplitudes(int(n)) for n in sizes]
    rows = [
        {"remaining": str(n)} | {name: "" if math.isnan(v) else text(v) for name, v in row.items()}
        for n, row in zip(sizes, values, strict=True)
    ]
    write(given.results / "figure_1.csv", rows)


if __name__ == "__main__":
    main()
