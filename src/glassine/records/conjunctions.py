"""Class counts of every conjunction of up to d public literals, by popcounts over bit sets.

Conjunctions of k literals are numbered in colexicographic order: literals ``c_1 < ... < c_k`` have the rank
``binom(c_1, 1) + ... + binom(c_k, k)`` (the combinatorial number system), so that tables need no keys.
Only positive conjunctions are counted; negated literals follow by inclusion-exclusion.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from glassine.compiling import compiled
from glassine.compiling.popcounts import popcount
from glassine.compiling.slices import Progress, cuts, run
from glassine.records.arrays import AnyArray, Ints
from glassine.records.bits import BitSets
from glassine.records.subsets import binomials, rank

CHUNK = 256
"""Words of one literal that are counted at a time: the rows of 75 literals then stay in the second-level cache."""


SLICES = 16
"""Pieces in which conjunctions of one size are counted."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConjunctionCounts:
    """Class counts of all positive conjunctions of up to d of p literals.

    Attributes
    ----------
    n_literals : int
        Number of literals p.
    table : ndarray of int, shape (sum of binom(p, k) for k = 0, ..., d; c)
        Row ``offsets[k] + r``: the number of records of each class in the conjunction of k literals of rank r.
    offsets : ndarray of int64, shape (d + 2,)
        First row of the conjunctions of k literals, and the number of rows.

    Examples
    --------
    >>> truths = [np.array([True, True, False]), np.array([True, False, False])]
    >>> counts = count_conjunctions(BitSets.pack(truths, np.array([0, 1, 1]), 2), 2)
    >>> counts.of((0, 1)).tolist(), counts.of((0,)).tolist(), counts.of(()).tolist()
    ([1, 0], [1, 1], [1, 2])
    >>> counts.signed((0, 1), (True, False)).tolist()
    [0, 1]
    """

    n_literals: int
    table: AnyArray
    offsets: Ints

    def __repr__(self) -> str:
        return f"<ConjunctionCounts of up to {len(self.offsets) - 2} of {self.n_literals} literals>"

    def of(self, literals: tuple[int, ...]) -> Ints:
        """Return the class counts, shape (c,), of the conjunction of some literals, in increasing order."""
        return np.asarray(self.table[self.offsets[len(literals)] + rank(literals)], dtype=np.int64)

    def signed(self, literals: tuple[int, ...], signs: tuple[bool, ...]) -> Ints:
        """Return the class counts of a conjunction in which the literals whose sign is False are negated."""
        if all(signs):
            return self.of(literals)
        at = signs.index(False)
        rest, others = literals[:at] + literals[at + 1 :], signs[:at] + signs[at + 1 :]
        both = (*signs[:at], True, *signs[at + 1 :])
        return self.signed(rest, others) - self.signed(literals, both)


def count_steps(bitsets: BitSets, d: int) -> int:
    """Return how many words are counted for the conjunctions of up to d literals."""
    p = len(bitsets.words)
    return sum(comb(p, k) for k in range(d + 1)) * int(bitsets.starts[-1])


def count_conjunctions(bitsets: BitSets, d: int, progress: Progress | None = None) -> ConjunctionCounts:
    """Count the records of each class in every conjunction of up to d literals."""
    # The time is proportional to binom(p, d) n / 64; the table is the memory it takes besides the bit sets.
    p = len(bitsets.words)
    offsets = np.cumsum([0, *(comb(p, k) for k in range(d + 1))], dtype=np.int64)
    table = np.zeros((int(offsets[-1]), bitsets.n_classes), dtype=np.int64)
    table[0] = bitsets.totals()
    segments = (bitsets.words, bitsets.starts, bitsets.labels, bitsets.weights)
    for k in range(1, min(d, p) + 1):
        own = table[offsets[k] : offsets[k + 1]]
        # The largest literal of a conjunction decides where in the table it stands, so that slices do not meet.
        tops = _spread(p - k + 1) + k - 1
        binom = binomials(p, k)

        def work(
            start: int, stop: int, tops: AnyArray = tops, k: int = k, binom: AnyArray = binom, own: AnyArray = own
        ) -> None:
            _count(*segments, k, tops[start:stop], binom, own)

        run(cuts(len(tops), SLICES), work, progress if k == d else None)
    return ConjunctionCounts(n_literals=p, table=table, offsets=offsets)


def _spread(n: int) -> Ints:
    """Return 0, ..., n - 1 in an order that mixes small and large in each slice."""
    return np.concatenate([np.arange(start, n, SLICES) for start in range(min(n, SLICES))]).astype(np.int64)


@compiled
def _count(
    words: AnyArray,
    starts: AnyArray,
    labels: AnyArray,
    weights: AnyArray,
    k: int,
    tops: AnyArray,
    binom: AnyArray,
    table: AnyArray,
) -> None:  # pragma: no cover - compiled
    # masks, chosen, base: what _count_below writes on the way, here once for all calls; shape (k + 2, ...).
    scratch = (
        np.empty((k + 2, CHUNK), dtype=np.uint64),
        np.empty(k + 2, dtype=np.int64),
        np.zeros(k + 2, dtype=np.int64),
    )
    for segment in range(len(labels)):
        weighed = (labels[segment], weights[segment])
        for start in range(starts[segment], starts[segment + 1], CHUNK):
            span = (start, min(start + CHUNK, starts[segment + 1]))
            for top in tops:
                _count_below(words, span, weighed, k, top, binom, table, scratch)


@compiled
def _count_below(
    words: AnyArray,
    span: tuple[int, int],
    weighed: tuple[int, int],
    k: int,
    top: int,
    binom: AnyArray,
    table: AnyArray,
    scratch: tuple[AnyArray, AnyArray, AnyArray],
) -> None:  # pragma: no cover - compiled
    """Add the counts of one chunk of words to all conjunctions whose largest literal is ``top``."""
    start, stop = span
    label, weight = weighed
    masks, chosen, base = scratch
    size = stop - start
    if k == 1:
        ones = np.uint64(0)
        for w in range(start, stop):
            ones += popcount(words[top, w])
        table[top, label] += weight * np.int64(ones)
        return
    chosen[k] = top
    base[k] = binom[top, k]
    for w in range(size):
        masks[k, w] = words[top, start + w]
    at = k - 1
    chosen[at] = top
    while True:
        if at == 1:
            mask = masks[2]
            for literal in range(chosen[2]):
                row = words[literal, start:stop]
                ones = np.uint64(0)
                for w in range(size):
                    ones += popcount(mask[w] & row[w])
                table[base[2] + literal, label] += weight * np.int64(ones)
            at = 2
            if at == k:
                return
            continue
        chosen[at] -= 1
        if chosen[at] < at - 1:
            at += 1
            if at == k:
                return
            continue
        some = np.uint64(0)
        row = words[chosen[at], start:stop]
        for w in range(size):
            masks[at, w] = masks[at + 1, w] & row[w]
            some |= masks[at, w]
        if some == 0:
            continue
        base[at] = base[at + 1] + binom[chosen[at], at]
        at -= 1
        chosen[at] = chosen[at + 1]


def load_counting(n_classes: int) -> None:
    """Load or compile the kernel that counts: its types are the same for any records."""
    whole, table = np.zeros(1, dtype=np.int64), np.zeros((1, n_classes), dtype=np.int64)
    _count.load(np.zeros((1, 1), dtype=np.uint64), whole, whole, whole, 1, whole, binomials(1, 1), table)
