"""Class counts that were published with noise: what an attacker who knows its scale makes of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidParameterError
from glassine.records.arrays import Array, Ints

KINDS = ("geometric", "laplace", "gaussian", "rounded")
LARGEST = 1e9
HALVINGS = 80
"""Of the bisection of a tilt: more than a floating-point number has digits."""


@dataclass(frozen=True, slots=True)
class CountNoise:
    """How the class counts of the leaves were blurred before they were published.

    Parameters
    ----------
    kind : {"geometric", "laplace", "gaussian", "rounded"}
        Discrete Laplace, as the private learners add it, the continuous forms, or rounding to the nearest multiple,
        halves upwards. A count that noise made negative is published as 0.
    scale : float
        In records: the Laplace scale (sensitivity over epsilon), the standard deviation, or, a whole number of at
        least 2, what counts are multiples of.

    Raises
    ------
    InvalidParameterError
        If the kind is unknown or the scale out of its range.

    Examples
    --------
    >>> CountNoise("rounded", 5).bounds([10, 0]).tolist()
    [[8.0, 12.0], [0.0, 2.0]]
    """

    kind: Literal["geometric", "laplace", "gaussian", "rounded"]
    scale: float

    def __post_init__(self) -> None:
        kind: object = self.kind
        if not isinstance(kind, str) or kind not in KINDS:
            raise InvalidParameterError(
                f"the noise must be one of {', '.join(KINDS)}, got {self.kind!r}.", remedy="Name one."
            )
        value: object = self.scale
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not 0 < self.scale <= LARGEST:
            raise InvalidParameterError(f"the scale of the noise must be a positive number, got {value!r}.")
        if self.kind == "rounded" and not (self.scale >= 2 and self.scale == int(self.scale)):
            raise InvalidParameterError(
                f"counts are rounded to a whole number of at least 2, got {value!r}.",
                remedy="Leave it out if counts are exact.",
            )
        object.__setattr__(self, "scale", float(self.scale))

    def log_likelihood(self, published: int, counts: Ints) -> Array:
        """Return the logarithm of how likely each true count gives a published one, up to a constant.

        Parameters
        ----------
        published : int
            The published count.
        counts : ndarray of int64, shape (k,)
            True counts.
        """
        if self.kind == "rounded":
            low, high = self.bounds([published])[0]
            return np.where((counts >= low) & (counts <= high), 0.0, -np.inf)
        away = (counts - published) / self.scale
        if self.kind == "gaussian":
            # importing it takes longer than the audit of a tree, whose noise is mostly geometric
            from scipy.special import log_ndtr

            # Of a count of 0 it is only known that the noisy one was not positive.
            return np.asarray(log_ndtr(-away)) if published == 0 else -0.5 * away * away
        return -np.abs(away)

    def bounds(self, published: npt.ArrayLike) -> Array:
        """Return the least and the largest count that is rounded to each published one, shape (..., 2).

        Parameters
        ----------
        published : array-like of int
            Counts, rounded to the nearest multiple.
        """
        step = int(self.scale)
        counts = np.asarray(published, dtype=np.float64)
        low = np.maximum(counts - step // 2, 0.0)
        return np.stack([low, counts + step - 1 - step // 2], axis=-1)


def expected_counts(published: npt.ArrayLike, size: int, noise: CountNoise) -> Array:
    """Return the mean of the class counts of a leaf of known size, given its noisy ones, shape (c,).

    Before the tree is read, all class counts that add up to the size are equally likely. After it each weighs as much
    as the noise makes it likely, and the mean over all is exact up to rounding. Assignments of classes to people would
    be another prior: it holds nearly even counts for nearly certain, more so the larger the leaf, and would explain
    what is published by noise.

    Shapes: ``published`` (c,).

    Examples
    --------
    >>> expected_counts([9, 1], 10, CountNoise("geometric", 0.1)).round(2).tolist()
    [9.0, 1.0]
    """
    noisy = np.asarray(published, dtype=np.int64)
    values = np.arange(size + 1)
    if len(noisy) == 1 or size == 0:
        return np.full(len(noisy), float(size))
    logs = np.stack([noise.log_likelihood(int(count), values) for count in noisy])
    weights = _tilted(logs, values, size)
    length = 1 << math.ceil(math.log2(len(noisy) * (size + 1)))
    waves = np.fft.rfft(weights, length)
    out = np.zeros(len(noisy))
    after = np.ones_like(waves)
    for c in range(len(noisy) - 2, -1, -1):
        after[c] = after[c + 1] * waves[c + 1]
    before = np.ones_like(waves[0])
    for c in range(len(noisy)):
        others = np.maximum(np.fft.irfft(before * after[c], length)[: size + 1], 0.0)[::-1]
        joint = weights[c] * others
        out[c] = (joint @ values) / joint.sum()
        before = before * waves[c]
    return np.asarray(out * size / out.sum())


def _tilted(logs: Array, values: Ints, size: int) -> Array:
    """Return weights of each class's counts, shifted by one factor to the power of the count so that means add up."""
    # The factor cancels where the sum is fixed, and it keeps what matters far above the rounding of the transform.
    # Beyond the steepest likelihood, all weight is at one end.
    high = 50.0 + float(np.abs(np.diff(logs, axis=1)).max(initial=0.0))
    low = -high
    weights = np.zeros_like(logs)
    for _ in range(HALVINGS):
        tilt = (low + high) / 2
        shifted = logs + tilt * values
        weights = np.exp(shifted - shifted.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        if float((weights @ values).sum()) < size:
            low = tilt
        else:
            high = tilt
    return weights
