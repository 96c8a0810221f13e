"""Sets of literals by rank, in colexicographic order: the combinatorial number system."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from itertools import combinations as subsets
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.compiling import compiled
from glassine.records.arrays import AnyArray, Ints


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


def combination(rank: int, size: int) -> AnyArray:
    """Return the set of a rank: the increasing x_1, x_2, ... of which binom(x_i, i) add up to it."""
    out = np.empty(size, dtype=np.int64)
    for i in range(size, 0, -1):
        member = i - 1
        while comb(member + 1, i) <= rank:
            member += 1
        out[i - 1] = member
        rank -= comb(member, i)
    return out


@compiled
def advance(chosen: AnyArray) -> None:  # pragma: no cover - compiled
    """Turn a set into the next one by rank: raise the first member that can be raised, reset those before it."""
    at = 0
    while at < len(chosen) - 1 and chosen[at] + 1 == chosen[at + 1]:
        chosen[at] = at
        at += 1
    if len(chosen):
        chosen[at] += 1
