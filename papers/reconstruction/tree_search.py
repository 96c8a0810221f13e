"""Optimal trees under a least support: every tree of a depth, on the package's counts of conjunctions.

The ways in which STreeD and pydl8.5 search the last two levels at once pass over trees when there is a least support.
This search leaves nothing out: what is best below a node depends on the conjunction that leads to it, so that every
conjunction is weighed once, the longest first. ``OptimalTreeClassifier`` takes the first of equally good trees.

Of the trees of fewest errors it returns one of fewest splits, and of these one that reveals least, or most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.compiling import compiled
from glassine.records.bits import BitSets
from glassine.records.conjunctions import ConjunctionCounts, count_conjunctions
from glassine.records.subsets import binomials, combinations
from glassine.sealed.tree_sums import SetCounts, signed_insides

Ints = npt.NDArray[np.int64]
Nested = int | list[Any]
"""A tree: a label, or an attribute, the tree where it is 1, and the tree where it is 0."""

ERROR, SPLIT, NEVER = 2**36, 2**24, 2**60
"""Costs of an error and of a split; each record costs, or with ``most`` saves, one for every split that tests it. None
adds up to the next one for fewer than 2^20 records and ten splits on a path."""

MOST_CONJUNCTIONS = 80_000_000
"""Signed conjunctions of one length that are kept, 8 bytes each."""


class TooManyError(ValueError):
    """The search would keep more conjunctions than it may."""


@compiled
def signed_counts(chosen: Any, counts: Any, inside: Any, beside: Any) -> None:  # pragma: no cover - compiled
    """Fill the class counts of a set of m literals under all signs, alone and with each further literal.

    Bit i of a sign pattern s says that literal i of the set is true. ``inside[s]`` becomes the counts of the pattern,
    shape (c,), ``beside[s, :, l]`` those of the pattern with literal l true.
    """
    table, offsets, binom = counts
    m, n_classes, p = len(chosen), beside.shape[1], beside.shape[2]
    signed_insides(chosen, counts, inside)
    for subset in range(1 << m):
        size = 0
        for i in range(m):
            size += subset >> i & 1
        # The rank of subset + {l}: members below l keep their place, those above move up by one.
        below = offsets[size + 1]
        place = 0
        for i in range(m):
            if subset >> i & 1:
                place += 1
                below += binom[chosen[i], place + 1]
        place = 0
        start = 0
        for i in range(m + 1):
            stop = chosen[i] if i < m else p
            for literal in range(start, stop):
                row = below + binom[literal, place + 1]
                for c in range(n_classes):
                    beside[subset, c, literal] = table[row, c]
            if i < m:
                for c in range(n_classes):
                    beside[subset, c, stop] = 0
                if subset >> i & 1:
                    place += 1
                    below += binom[chosen[i], place] - binom[chosen[i], place + 1]
            start = stop + 1
    # Until here a pattern's counts are those of its true literals alone, the others free. One literal at a time, what
    # has it true is subtracted from what leaves it free: after step i the patterns of literals 0 to i are exact.
    for i in range(m):
        for subset in range(1 << m):
            if not subset >> i & 1:
                fewer = beside[subset]
                more = beside[subset | 1 << i]
                for c in range(n_classes):
                    for literal in range(p):
                        fewer[c, literal] -= more[c, literal]


@compiled
def leaf_errors(counts: Any) -> Any:  # pragma: no cover - compiled
    """Return the least number of errors of one label, given class counts."""
    total = 0
    most = counts[0]
    for c in range(len(counts)):
        total += counts[c]
        most = max(most, counts[c])
    return total - most


@compiled
def _choice(
    chosen: Any,
    m: int,
    signs: int,
    inside: Any,
    beside: Any,
    binom: Any,
    least: int,
    last: bool,
    test: int,
    below: Any,
    other: Any,
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return the least cost at a conjunction, and the literal to split on; -1 is a leaf."""
    total = 0
    for c in range(len(inside)):
        total += inside[c]
    if total < least:
        return NEVER, -1
    best, literal = leaf_errors(inside) * ERROR, -1
    place, rank = 0, 0
    for i in range(m):
        rank += binom[chosen[i], i + 2]
    for new in range(beside.shape[1]):
        if place < m and chosen[place] == new:
            rank += binom[new, place + 1] - binom[new, place + 2]
            place += 1
            continue
        part = 0
        for c in range(len(inside)):
            part += beside[c, new]
            other[c] = inside[c] - beside[c, new]
        if part < least or total - part < least:
            continue
        if last:
            cost = (leaf_errors(beside[:, new]) + leaf_errors(other)) * ERROR
        else:
            low = signs & ((1 << place) - 1)
            row = ((rank + binom[new, place + 1]) << (m + 1)) + low + ((signs >> place) << (place + 1))
            cost = below[row] + below[row + (1 << place)]
        cost += SPLIT + test * total
        if cost < best:
            best, literal = cost, new
    return best, literal


@compiled
def _level(
    sets: Any, table: Any, offsets: Any, binom: Any, least: int, last: bool, test: int, below: Any, out: Any
) -> None:  # pragma: no cover - compiled
    """Fill the least cost of every signed conjunction of some length."""
    m, n_classes, p = sets.shape[1], table.shape[1], binom.shape[0] - 2
    counts = SetCounts(table, offsets, binom)
    inside = np.empty((1 << m, n_classes), dtype=np.int64)
    beside = np.empty((1 << m, n_classes, p), dtype=np.int64)
    other = np.empty(n_classes, dtype=np.int64)
    for r in range(sets.shape[0]):
        signed_counts(sets[r], counts, inside, beside)
        for signs in range(1 << m):
            found = _choice(sets[r], m, signs, inside[signs], beside[signs], binom, least, last, test, below, other)
            out[(r << m) + signs] = found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """The least costs below every conjunction, by length; those of the longest are not kept."""

    counts: ConjunctionCounts
    binom: Ints
    least: int
    depth: int
    test: int
    costs: tuple[Ints, ...]

    def at(self, chosen: tuple[int, ...], signs: int) -> tuple[Ints, int, int]:
        """Return the class counts of a conjunction, its least cost, and the literal to split on."""
        m, p = len(chosen), self.counts.n_literals
        n_classes = self.counts.table.shape[1]
        inside, beside = np.empty((1 << m, n_classes), np.int64), np.empty((1 << m, n_classes, p), np.int64)
        literals = np.array(chosen, dtype=np.int64)
        if m == self.depth:
            held = tuple(bool(signs >> i & 1) for i in range(m))
            counts = self.counts.signed(chosen, held)
            return counts, leaf_errors(counts) * ERROR, -1
        signed_counts(literals, SetCounts(self.counts.table, self.counts.offsets, self.binom), inside, beside)
        last = m == self.depth - 1
        below = np.zeros(0, np.int64) if last else self.costs[m + 1]
        found = _choice(literals, m, signs, inside[signs], beside[signs], self.binom, self.least, last, self.test,
                        below, np.empty(n_classes, np.int64))  # fmt: skip
        return inside[signs], *found

    def tree(self, chosen: tuple[int, ...], signs: int, attributes: list[int]) -> Nested:
        """Return the best tree below a conjunction."""
        counts, _, literal = self.at(chosen, signs)
        if literal < 0:
            return int(counts.argmax())
        place = sum(each < literal for each in chosen)
        more = (*chosen[:place], literal, *chosen[place:])
        rest = (signs & ((1 << place) - 1)) + ((signs >> place) << (place + 1))
        return [attributes[literal], *(self.tree(more, rest + bit, attributes) for bit in (1 << place, 0))]


def usable(X: Ints, least: int) -> list[int]:
    """Return the attributes that can be split on, without those that equal another one or its negation."""
    seen: set[bytes] = set()
    found = []
    for attribute, column in enumerate(X.T):
        key = min(column.tobytes(), (1 - column).tobytes())
        if key not in seen and least <= column.sum() <= len(column) - least:
            found.append(attribute)
        seen.add(key)
    return found


def optimal_tree(X: Ints, y: Ints, *, least: int, depth: int, most: bool = False) -> tuple[Nested, int, int]:
    """Return a tree of fewest errors of at most a depth, its errors and its splits.

    Parameters
    ----------
    X : ndarray, shape (n, p)
        Records, of attributes 0 and 1.
    y : ndarray, shape (n,)
        Labels 0 and 1.
    least : int
        Least records of a leaf, at least 1.
    depth : int
        Largest number of splits on a path.
    most : bool, default=False
        Of the trees of fewest errors and splits, whether to return one that reveals most instead of least.

    Raises
    ------
    TooManyError
        If more than ``MOST_CONJUNCTIONS`` would have to be kept.
    """
    attributes = usable(X, least)
    depth = min(depth, len(attributes))
    binom = binomials(len(attributes) + 1, depth + 2)
    kept = max((int(binom[len(attributes), m]) << m for m in range(depth)), default=0)
    if kept > MOST_CONJUNCTIONS:
        raise TooManyError(f"{kept:,} conjunctions of {len(attributes)} attributes, more than {MOST_CONJUNCTIONS:,}")
    bitsets = BitSets.pack([X[:, attribute] == 1 for attribute in attributes], y, 2)
    counts = count_conjunctions(bitsets, depth)
    test = -1 if most else 1
    costs: list[Ints] = []
    for m in reversed(range(depth)):
        sets = combinations(len(attributes), m)
        out = np.empty(len(sets) << m, dtype=np.int64)
        _level(sets, counts.table, counts.offsets, binom, least, not costs, test, costs[0] if costs else out[:0], out)
        costs.insert(0, out)
    search = _Search(counts=counts, binom=binom, least=least, depth=depth, test=test, costs=tuple(costs))
    _, cost, _ = search.at((), 0)
    # Tests count against splits with ``most``, so that the splits are rounded up there.
    splits = -(-(cost % ERROR) // SPLIT) if most else cost % ERROR // SPLIT
    return search.tree((), 0, attributes), cost // ERROR, splits


__all__ = ["Nested", "TooManyError", "optimal_tree", "usable"]
