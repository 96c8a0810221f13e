"""What the best attack gets, by enumeration of every sample of a small frame and every dataset of a small universe."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def h(p: Array | float) -> Array:
    """Binary entropy, elementwise."""
    p = np.asarray(p, dtype=float)
    inside = (p > 0) & (p < 1)
    safe = np.where(inside, p, 0.5)
    return np.where(inside, -safe * np.log2(safe) - (1 - safe) * np.log2(1 - safe), 0.0)


def kl(b: Array | float, a: Array | float) -> Array:
    """Divergence of two bits, elementwise."""
    b, a = np.broadcast_arrays(np.asarray(b, dtype=float), np.asarray(a, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        ones, zeros = b * np.log2(b / a), (1 - b) * np.log2((1 - b) / (1 - a))
    out: Array = np.where(b > 0, ones, 0.0) + np.where(b < 1, zeros, 0.0)
    return out


def entropy_of(masses: Iterable[float]) -> float:
    """Entropy of a distribution, in bits."""
    return -math.fsum(p * math.log2(p) for p in masses if p > 0)


def halves(persons: int, sample: int | None = None) -> Array:
    """All samples of a frame as rows of membership bits; with independent fair coins where no size is given."""
    rows = np.array(list(itertools.product((0.0, 1.0), repeat=persons)))
    return rows if sample is None else rows[rows.sum(axis=1) == sample]


@dataclass(frozen=True)
class Design:
    """What models reveal about membership: posteriors of every person, shape (persons, models)."""

    masses: Array  # Probability of each model
    posteriors: Array
    rates: Array  # Sampling rate of each person

    @classmethod
    def of(cls, samples: Array, kernel: Array, weights: Array | None = None) -> Design:
        """Enumerate a learner, given as the probabilities of its models for each sample."""
        w = np.full(len(samples), 1 / len(samples)) if weights is None else weights
        masses = w @ kernel
        seen = masses > 0
        posteriors = (samples.T * w) @ kernel[:, seen] / masses[seen]
        return cls(masses=masses[seen], posteriors=posteriors, rates=samples.T @ w)

    @property
    def entropy(self) -> float:
        """H(M)."""
        return entropy_of(self.masses.tolist())

    @property
    def information(self) -> Array:
        """I(U_i; M) of each person."""
        return np.asarray(h(self.rates) - h(self.posteriors) @ self.masses)

    @property
    def advantages(self) -> Array:
        """Advantage of the best attack on each person."""
        q = self.rates[:, None]
        joint = self.posteriors * self.masses
        return np.asarray(np.abs(joint / q - (self.masses - joint) / (1 - q)).sum(axis=1) / 2)

    @property
    def information_given(self) -> Array:
        """Sum over persons of kl(posterior || rate), of each model."""
        return np.asarray(kl(self.posteriors, self.rates[:, None]).sum(axis=0))


def deterministic(models: Sequence[Hashable]) -> Array:
    """Kernel of a learner without coins."""
    names = {model: i for i, model in enumerate(dict.fromkeys(models))}
    return np.eye(len(names))[[names[model] for model in models]]


def types(n: int, values: int) -> list[tuple[int, ...]]:
    """All histograms of n records over so many values."""
    if values == 1:
        return [(n,)]
    return [(first, *rest) for first in range(n + 1) for rest in types(n - first, values - 1)]


def multinomial(counts: Sequence[int], law: Sequence[float]) -> float:
    """Probability of a histogram."""
    ways = math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))
    return ways * math.prod(p**c for p, c in zip(law, counts, strict=True))


@dataclass(frozen=True)
class Fresh:
    """What models reveal about one of n exchangeable records."""

    n: int
    law: Array
    masses: dict[Hashable, float]
    joint: dict[Hashable, Array]  # P(X_1 = v, M = m), shape (values,)

    @classmethod
    def of(cls, n: int, law: Sequence[float], learner: Callable[[tuple[int, ...]], Hashable]) -> Fresh:
        """Enumerate a learner that sees histograms."""
        masses: dict[Hashable, float] = defaultdict(float)
        joint: dict[Hashable, Array] = defaultdict(lambda: np.zeros(len(law)))
        for counts in types(n, len(law)):
            weight, model = multinomial(counts, law), learner(counts)
            masses[model] += weight
            joint[model] = joint[model] + weight * np.array(counts) / n
        return cls(n, np.asarray(law), dict(masses), dict(joint))

    def information_given(self, model: Hashable) -> float:
        """Sum over the records of KL(X_i given m || X_i)."""
        seen = self.joint[model] / self.masses[model]
        inside = seen > 0
        return self.n * float((seen[inside] * np.log2(seen[inside] / self.law[inside])).sum())

    @property
    def information(self) -> float:
        """sum_i I(X_i; M)."""
        return math.fsum(mass * self.information_given(m) for m, mass in self.masses.items() if mass > 0)

    @property
    def advantage(self) -> float:
        """Advantage of the best attack on a fresh record."""
        return math.fsum(float(np.abs(self.joint[m] - self.law * mass).sum()) / 2 for m, mass in self.masses.items())
