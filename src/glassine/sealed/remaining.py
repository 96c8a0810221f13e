"""The records that no rule of a growing list has captured, and their class counts by the rules of a pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from glassine.compiling import compiled
from glassine.compiling.popcounts import popcount
from glassine.compiling.slices import cuts, run
from glassine.domain import Literal
from glassine.records.arrays import AnyArray, Ints
from glassine.records.bits import BitSets
from glassine.records.conjunctions import load_counting

# The counting kernel of greedy rule lists: class counts of every rule of a pool among the records that remain.


CHUNK = 512
"""Words of one literal that are counted at a time: a hundred rows then stay in the second-level cache."""

SLICES = 16
"""Pieces in which the rules of a pool are counted: several for each core of a usual machine, so that none waits."""


@dataclass(slots=True, kw_only=True, repr=False)
class Remaining:
    """The records that no rule of a growing list has captured, as one bit set beside those of the literals.

    A rule is kept as the rows of its literals and formed again at each count, so that the memory is that of the
    distinct literals: a pool of all pairs of them costs no more than the literals.
    """

    bitsets: BitSets  # The truth of the distinct literals
    rows: Ints  # Rows of the literals of all rules, one rule after the other
    starts: Ints  # First place of each rule in ``rows``; shape (p + 1,)
    words: npt.NDArray[np.uint64]  # The records that remain; shape (w,)

    @classmethod
    def of(cls, records: Any, antecedents: Sequence[tuple[Literal, ...]]) -> Remaining:
        """Return the records of a fit, none captured yet."""
        row: dict[Literal, int] = {}
        for antecedent in antecedents:
            for literal in antecedent:
                row.setdefault(literal, len(row))
        # One row a distinct literal, however many rules share it.
        bitsets = records.pack([(literal,) for literal in row])
        return cls(
            bitsets=bitsets,
            rows=np.array([row[literal] for antecedent in antecedents for literal in antecedent], dtype=np.int64),
            starts=np.cumsum([0, *(len(antecedent) for antecedent in antecedents)], dtype=np.int64),
            words=bitsets.valid.copy(),
        )

    @staticmethod
    def load(n_classes: int) -> None:
        """Load or compile the kernels of counting."""
        load_counting(n_classes)
        none = np.zeros(0, dtype=np.int64)
        bitsets = BitSets.pack([np.zeros(0, dtype=np.bool_)], none, n_classes)
        rows, table = np.zeros(1, dtype=np.int64), np.zeros((1, n_classes), dtype=np.int64)
        _count_rules.load(_Segments.of(bitsets), bitsets.valid.copy(), rows, rows, rows, table)

    def __repr__(self) -> str:
        return f"<Remaining of {len(self.starts) - 1} rules>"

    def totals(self) -> Ints:
        """Return the number of remaining records of each class, shape (c,)."""
        return self.bitsets.count(self.words)

    def counts(self, rules: Sequence[int]) -> Ints:
        """Return the class counts of what each of some rules captures among the remaining records, shape (m, c)."""
        chosen = np.array(rules, dtype=np.int64)
        out = np.zeros((len(chosen), self.bitsets.n_classes), dtype=np.int64)
        sets = _Segments.of(self.bitsets)

        def work(start: int, stop: int) -> None:
            _count_rules(sets, self.words, self.rows, self.starts, chosen[start:stop], out[start:stop])

        run(cuts(len(chosen), SLICES), work)
        return out

    def joint_counts(self, rules: Sequence[int]) -> Ints:
        """Return the class counts of the remaining records that each two of some rules capture, shape (m, m, c)."""
        chosen = np.array(rules, dtype=np.int64)
        out = np.zeros((len(chosen), len(chosen), self.bitsets.n_classes), dtype=np.int64)
        sets = _Segments.of(self.bitsets)

        def work(start: int, stop: int) -> None:
            for i in range(start, stop):
                _count_rules(sets, self._captured(int(chosen[i])), self.rows, self.starts, chosen, out[i])

        run(cuts(len(chosen), SLICES), work)
        return out

    def _captured(self, rule: int) -> npt.NDArray[np.uint64]:
        captured = self.words.copy()
        for place in range(self.starts[rule], self.starts[rule + 1]):
            captured &= self.bitsets.words[self.rows[place]]
        return captured

    def take(self, rule: int) -> Ints:
        """Remove what a rule captures, and return its class counts, shape (c,)."""
        captured = self._captured(rule)
        self.words &= ~captured
        return self.bitsets.count(captured)


class _Segments(NamedTuple):
    """Bit sets for the kernel: ``words`` (literals, w), and the first word, label and weight of each of s segments."""

    words: AnyArray
    starts: AnyArray
    labels: AnyArray
    weights: AnyArray

    @classmethod
    def of(cls, sets: BitSets) -> _Segments:
        return cls(sets.words, sets.starts, sets.labels, sets.weights)


@compiled
def _count_rules(
    sets: _Segments, remaining: AnyArray, rows: AnyArray, starts: AnyArray, rules: AnyArray, out: AnyArray
) -> None:  # pragma: no cover - compiled
    # remaining: (w,), a bit for each record; rules: (m,); out: (m, c). A chunk of words is counted for all rules before
    # the next, so that the literals' rows are read from the cache. One and two literals, the most frequent rules, are
    # formed without a buffer.
    words, segments, labels, weights = sets
    buffer = np.empty(CHUNK, dtype=np.uint64)
    for segment in range(len(labels)):
        label, weight = labels[segment], weights[segment]
        for lo in range(segments[segment], segments[segment + 1], CHUNK):
            hi = min(lo + CHUNK, segments[segment + 1])
            size = hi - lo
            rest = remaining[lo:hi]
            for i in range(len(rules)):
                first, last = starts[rules[i]], starts[rules[i] + 1]
                ones = np.uint64(0)
                one = words[rows[first], lo:hi]
                if last - first == 1:
                    for w in range(size):
                        ones += popcount(rest[w] & one[w])
                elif last - first == 2:
                    two = words[rows[first + 1], lo:hi]
                    for w in range(size):
                        ones += popcount(rest[w] & one[w] & two[w])
                else:
                    for w in range(size):
                        buffer[w] = rest[w] & one[w]
                    for place in range(first + 1, last):
                        more = words[rows[place], lo:hi]
                        for w in range(size):
                            buffer[w] &= more[w]
                    for w in range(size):
                        ones += popcount(buffer[w])
                out[i, label] += weight * np.int64(ones)
