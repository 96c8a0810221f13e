"""Have the chains converged? R-hat and effective sample size from what was kept of the draws.

The draws of a cell are small whole numbers, so that their histograms hold all that the rank-normalised split R-hat
needs, and no draw has to be kept.

References
----------
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, *Rank-normalization, folding, and localization: an
improved R-hat for assessing convergence of MCMC*, Bayesian Analysis 16 (2021).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

__all__ = ["batch_means", "split_r_hat"]

Floats = npt.NDArray[np.float64]


def split_r_hat(histograms: npt.NDArray[np.integer]) -> Floats:
    """Return the rank-normalised split R-hat, the larger of the plain and the folded one.

    Parameters
    ----------
    histograms : ndarray of int, shape (m, v, ...)
        How often each of m half chains, all equally long, had the values 0 to v - 1.

    Returns
    -------
    ndarray, shape (...)
        1 where all draws are equal, infinite where they differ between half chains alone.

    Examples
    --------
    Two half chains that agree, and two that do not:

    >>> import numpy as np
    >>> split_r_hat(np.array([[50, 50], [50, 50]])).round(3).item()
    0.995
    >>> split_r_hat(np.array([[90, 10], [10, 90]])).round(3).item()
    2.124
    """
    return np.maximum(_r_hat(histograms), _r_hat(_folded(histograms)))


def _r_hat(histograms: npt.NDArray[np.integer]) -> Floats:
    h = histograms.astype(np.float64)
    n = h.sum(axis=1)
    pooled = h.sum(axis=0)
    total = pooled.sum(axis=0)
    rank = np.cumsum(pooled, axis=0) - pooled + (pooled + 1) / 2
    z = np.where(pooled > 0, ndtri(np.clip((rank - 3 / 8) / (total + 1 / 4), 1e-12, 1 - 1e-12)), 0.0)
    mean = (h * z).sum(axis=1) / n
    within = ((h * (z - mean[:, None]) ** 2).sum(axis=1) / (n - 1)).mean(axis=0)
    between = mean.var(axis=0, ddof=1)
    length = n[0]
    positive = within > 1e-15
    squared = (length - 1) / length + between / np.where(positive, within, 1.0)
    stuck = np.where(between > 1e-15, np.inf, 1.0)
    return np.asarray(np.where(positive, np.sqrt(squared), stuck))


def _folded(histograms: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
    """Return the histograms of the distance from the median."""
    pooled = np.cumsum(histograms.sum(axis=0), axis=0)
    median = (2 * pooled < pooled[-1]).sum(axis=0)
    out = np.zeros_like(histograms)
    n_values = histograms.shape[1]
    for value in range(n_values):
        distance = np.abs(value - median)
        for d in range(n_values):
            out[:, d] += np.where(distance == d, histograms[:, value], 0)
    return out


def batch_means(sums: npt.NDArray[np.integer], length: int) -> tuple[Floats, Floats]:
    """Return the mean of all draws, and its standard error by batch means.

    The standard error is right where a batch is much longer than the draws depend on each other. As batches of all
    chains are compared with their common mean, chains that disagree make it larger.

    Parameters
    ----------
    sums : ndarray of int, shape (b, ...)
        Sums of the draws of each batch, at least two.
    length : int
        Draws of a batch.

    Examples
    --------
    >>> import numpy as np
    >>> mean, error = batch_means(np.array([4, 6]), 10)
    >>> mean.item(), round(error.item(), 3)
    (0.5, 0.1)
    """
    means = sums.astype(np.float64) / length
    return means.mean(axis=0), np.asarray(np.sqrt(means.var(axis=0, ddof=1) / len(means)))
