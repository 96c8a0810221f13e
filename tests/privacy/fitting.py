"""A goodness-of-fit test whose power is known.

With 16 cells, the numbers of draws below and a threshold of 1e-9, a scale that is off by a tenth has a non-centrality
of at least 190, so that it passes with probability below 1e-8; the right scale fails with probability 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import stats

DRAWS = {
    "gaussian": 15_000,
    "discrete_gaussian": 15_000,
    "laplace": 26_000,
    "discrete_laplace": 26_000,
    "cauchy": 43_000,
}
THRESHOLD = 1e-9
CELLS = 16


def p_value(
    draws: npt.ArrayLike,
    cdf: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
    edges: npt.ArrayLike,
) -> float:
    """p-value of the chi-squared test that the draws follow a distribution, over the cells between edges."""
    cuts = np.unique(np.asarray(edges, dtype=np.float64))
    observed = np.bincount(np.searchsorted(cuts, np.asarray(draws, dtype=np.float64)), minlength=len(cuts) + 1)
    shares = np.diff(np.concatenate([[0.0], cdf(cuts), [1.0]]))
    return float(stats.chisquare(observed, shares * observed.sum()).pvalue)


def fits(
    draws: npt.ArrayLike,
    cdf: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
    edges: npt.ArrayLike,
) -> bool:
    """Whether the draws may follow the distribution."""
    return p_value(draws, cdf, edges) > THRESHOLD
