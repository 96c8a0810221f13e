"""Figure 1: the noise on one Gini impurity at epsilon 1, by smooth and by global sensitivity.

The paper states neither the delta nor the minimum support of its figure. Here delta is 1e-6 and no support is taken for
granted, or a twentieth of a training set of Adult's size. The column ``strict`` counts removals too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from study import options, text, write

from glassine.privacy.sensitivity import local_gini, published_smooth_gini, smooth_gini

EPSILON = 1.0
DELTA = 1e-6
BETA = EPSILON / (2 * math.log(2 / DELTA))
SUPPORT = 1_709
"""A twentieth of the 34,189 training records of Adult."""

GLOBAL = 0.5 / EPSILON


def brute_force(n: int, least: int) -> float:
    """Return the maximum over k of Theorem IV.1 by trying each."""
    return max(math.exp(-BETA * k) * local_gini(max(least, n - k)) for k in range(max(1, n - least + 1)))


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
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the numbers of the figure."""
    given = options(__doc__, arguments)
    sizes = np.unique(np.geomspace(10, 50_000, 60).astype(int))
    values = [amplitudes(int(n)) for n in sizes]
    rows = [
        {"remaining": str(n)} | {name: text(v) for name, v in row.items()} for n, row in zip(sizes, values, strict=True)
    ]
    write(given.results / "figure_1.csv", rows)


if __name__ == "__main__":
    main()
