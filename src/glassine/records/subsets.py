"""Sets of literals by rank, in colexicographic order: the combinatorial number system."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from itertools import combinations as subsets
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.records.arrays import Ints


def rank(literals: tuple[int, ...]) -> int:
    """Return the number of a conjunction among those of its size."""
    return sum(comb(literal, i) for i, literal in enumerate(literals, start=1))


def binomials(n: int, k: int) -> Ints:
    """Return the table of binom(i, j) for i up to n and j up to k, shape (n + 1, k + 1)."""
    return _pascal(n, k).copy()


@lru_cache(maxsize=64)
def _pascal(n: int, k: int) -> Ints:
    return np.array([[comb(i, j) for j in range(k + 1)] for i in range(n + 1)], dtype=np.int64)


def index_type(p: int) -> type[np.signedinteger[Any]]:
    """Return the smallest type that numbers p literals."""
    return np.int16 if p < 2**15 else np.int32


def combinations(p: int, k: int) -> npt.NDArray[np.signedinteger[Any]]:
    """Return all sets of k of p literals in the order of their ranks, shape (binom(p, k), k)."""
    # Sets of decreasing members in the order of dictionaries, read backwards.
    members = chain.from_iterable(subsets(range(p - 1, -1, -1), k))
    return np.fromiter(members, index_type(p), comb(p, k) * k).reshape(comb(p, k), k)[::-1, ::-1].copy()
