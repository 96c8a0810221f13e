"""Penalties that follow from the noise: scores of bins from noisy sums, with the prior chosen by its likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.learners.binning import Axis

__all__ = ["Smoother"]

ROUGHNESS = (0.01, 0.1, 0.5, 0.95)
"""Shares of the prior variance of neighbouring bins that are their own; the rest varies smoothly along a number."""

SCALES = np.geomspace(1e-4, 30.0, 14)
"""Prior variances of a score that are compared."""

LEAST_SIGNAL = 0.4
"""Least ratio of the prior variance to that of the noise for which errors are told."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Prior:
    """A prior covariance of the scores, and its eigenvectors in units of the noise; None for independent scores."""

    covariance: Array | None
    values: Array
    vectors: Array | None


class Smoother:
    """The scores of one term and output as a function of its noisy sums.

    The sums are taken as ``curvature * score`` plus noise. The scores have a Gaussian prior, whose variance and
    roughness maximise the likelihood of the sums: neighbouring bins of a number are alike as far as the sums say so.

    Guarantee
    ---------
    none of its own: everything is a function of what was released.

    Parameters
    ----------
    axis : Axis
        The bins.
    weight : float
        Curvature of the loss for one record.
    noise : float
        Variance of the noise in the sums that the prior is judged by.
    final : float
        Variance of the noise that the scores will have in the end.
    spread : float
        Variance of one record's residual, which its own scatter adds to the sums.
    """

    def __init__(self, axis: Axis, *, weight: float, noise: float, final: float, spread: float) -> None:
        counts: Array = np.maximum(axis.counts, 1.0)
        self.counts = counts
        self.curvature = weight * counts
        self.final = final + spread * counts
        self._whitening = 1.0 / np.sqrt(noise + spread * counts)
        self._priors = [self._prior(covariance) for covariance in _covariances(axis, counts)]
        self._chosen = (float(SCALES[0]), self._priors[0], 1.0)
        self._known: Array | None = None

    def _prior(self, covariance: Array | None) -> _Prior:
        factor = self._whitening * self.curvature
        if covariance is None:
            return _Prior(None, factor**2, None)
        values, vectors = np.linalg.eigh(factor[:, None] * covariance * factor)
        return _Prior(covariance, np.maximum(values, 0.0), vectors)

    def scores(self, sums: Array, slope: float) -> Array:
        """Return the scores for sums ``slope * curvature * score + noise``, centred by the counts; keeps the gain."""
        scale, prior = self._choose(sums, slope)
        chosen = (scale, prior, slope)
        if self._known is None or chosen != self._chosen:
            self._known = self._gain(scale, prior, slope)
        self._chosen, gain = chosen, self._known
        found = gain * sums if gain.ndim == 1 else gain @ sums
        return np.asarray(found - self.counts @ found / self.counts.sum())

    def _gain(self, scale: float, prior: _Prior, slope: float) -> Array:
        """Return what the sums are multiplied by: a number for each bin, or a matrix."""
        curvature = slope * self.curvature
        if prior.covariance is None:
            return np.asarray(scale * curvature / (scale * curvature**2 + self.final))
        covariance = scale * prior.covariance
        inner = curvature[:, None] * covariance * curvature
        inner[np.diag_indices(len(inner))] += self.final
        return np.asarray(np.linalg.solve(inner, curvature[:, None] * covariance).T)

    def deviations(self) -> Array:
        """Return the standard deviation of each score for sums with noise of variance 1, the prior held fixed.

        The prior is taken to be at least so wide that it does not hide what noise may have hidden.
        """
        scale, prior, slope = self._chosen
        least = LEAST_SIGNAL * float(np.median(self.final / (slope * self.curvature) ** 2))
        gain = self._gain(max(scale, least), prior, slope)
        shares = self.counts / self.counts.sum()
        if gain.ndim == 1:
            square = gain**2
            return np.asarray(np.sqrt(np.maximum(square * (1 - 2 * shares) + shares**2 @ square, 0.0)))
        return np.asarray(np.sqrt(((gain - shares @ gain) ** 2).sum(axis=1)))

    def _choose(self, sums: Array, slope: float) -> tuple[float, _Prior]:
        best = (np.inf, 0, self._priors[0])
        white = self._whitening * sums
        for prior in self._priors:
            squares = (white if prior.vectors is None else prior.vectors.T @ white) ** 2
            spread = (slope**2 * SCALES)[:, None] * prior.values + 1.0
            misfit = (np.log(spread) + squares / spread).sum(axis=1)
            at = int(misfit.argmin())
            if misfit[at] < best[0]:
                best = (float(misfit[at]), at, prior)
        return float(SCALES[best[1]]), best[2]


def _covariances(axis: Axis, counts: Array) -> list[Array | None]:
    """Return prior covariances of unit mean variance: random walks along a number, plus independent parts.

    None stands for independent scores.
    """
    size, ordered = len(counts), axis.n_ordered
    if not axis.ordered or ordered < 3:
        return [None]
    steps = np.arange(ordered)
    shares = counts[:ordered] / counts[:ordered].sum()
    centring = np.eye(ordered) - np.outer(np.ones(ordered), shares)
    walk = centring @ np.minimum.outer(steps, steps) @ centring.T
    smooth = np.eye(size)
    smooth[:ordered, :ordered] = walk * (ordered / np.trace(walk))
    return [share * np.eye(size) + (1 - share) * smooth for share in ROUGHNESS]
