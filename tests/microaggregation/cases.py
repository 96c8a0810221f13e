"""Random and degenerate records on which partitions are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]

KINDS = ("normal", "grid", "coarse", "duplicates", "constant", "magnitudes", "one value", "skewed")


def cases(count: int, *, seed: int, largest: int = 70) -> Iterator[tuple[str, FloatArray, int]]:
    """Yield kinds, records and group sizes; every third group size is anything up to n."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        kind = KINDS[i % len(KINDS)]
        n, p = int(rng.integers(1, largest)), int(rng.integers(1, 12))
        k = int(rng.integers(1, (n if i % 3 == 0 else min(n, 8)) + 1))
        X = np.asarray(rng.normal(size=(n, p)), dtype=np.float64)
        if kind == "grid":
            X = rng.integers(0, 3, (n, p)).astype(float)
        elif kind == "coarse":
            X = rng.integers(-5, 6, (n, p)).astype(np.float64) / 10
        elif kind == "duplicates":
            X = X[rng.integers(0, max(1, n // 4), n)]
        elif kind == "constant":
            X[:, rng.integers(0, p)] = 0.1
            X = np.round(X, 1)
        elif kind == "magnitudes":
            X = X * np.power(10.0, rng.integers(-20, 20, p)) + np.power(10.0, rng.integers(-5, 5, p))
        elif kind == "one value":
            X = np.full((n, p), 0.3)
        elif kind == "skewed":
            X = np.exp(4 * X)
        yield kind, X, k
