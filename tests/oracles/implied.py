"""Total variation between a sample and its population, by enumeration and by de Moivre's closed form."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

__all__ = ["compositions", "de_moivre", "enumerated", "normal"]


def compositions(n: int, k: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to distribute n records over k cells."""
    for bars in itertools.combinations(range(n + k - 1), k - 1):
        edges = (-1, *bars, n + k - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(edges))


def enumerated(n: int, q: Sequence[float]) -> float:
    """Return the expectation of TV(p, q) over all multinomial samples of n records, each with its probability."""
    total = 0.0
    for counts in compositions(n, len(q)):
        chance = math.factorial(n) * math.prod(s**c / math.factorial(c) for s, c in zip(q, counts, strict=True))
        total += chance * sum(abs(c / n - s) for c, s in zip(counts, q, strict=True)) / 2
    return total


def de_moivre(n: int, q: Sequence[float]) -> float:
    """Return the same by de Moivre's mean absolute deviation of the binomial distribution."""
    total = 0.0
    for s in q:
        m = math.floor(n * s)
        if m < n:
            logarithm = math.lgamma(n + 1) - math.lgamma(m + 2) - math.lgamma(n - m)
            total += (m + 1) / n * math.exp(logarithm + (m + 1) * math.log(s) + (n - m) * math.log1p(-s))
    return total


def normal(n: int, q: Sequence[float]) -> float:
    """Return the normal approximation."""
    return sum(math.sqrt(s * (1 - s) / (2 * math.pi * n)) for s in q)
