"""The counting kernel of greedy rule lists: class counts of every rule of a pool among the records that remain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.counting.bitsets import BitSets
from glassine.counting.compiling import compiled
from glassine.counting.conjunctions import _popcount
from glassine.counting.slices import cuts, run
from glassine.domain import Literal
from glassine.learners.intake import Intake, pack
from glassine.learners.pools import Antecedent

__all__ = ["Remaining", "bit_set_bytes"]

CHUNK = 512
"""Words of one literal that are counted at a time: a hundred rows then stay in the second-level cache."""

SLICES = 16
"""Pieces in which the rules of a pool are counted."""


def bit_set_bytes(antecedents: Sequence[Antecedent], n_records: int) -> int:
    """Return about how many bytes the bit sets of a pool's distinct literals take."""
    return len({literal for antecedent in antecedents for literal in antecedent}) * (n_records // 8 + 8)


@dataclass(slots=True, kw_only=True, repr=False)
class Remaining:
    """The records that no rule of a growing list has captured, as one bit set beside those of the literals.

    A rule is kept as the rows of its literals and formed anew at each count, so that the memory is that of the distinct
    literals: a pool of all pairs of them costs no more than the literals.

    Attributes
    ----------
    bitsets : BitSets
        The truth of the distinct literals.
    rows : ndarray of int64
        Rows of the literals of all rules, one rule after the other.
    starts : ndarray of int64, shape (p + 1,)
        First place of each rule in ``rows``.
    words : ndarray of uint64, shape (w,)
        The records that remain.
    """

    bitsets: BitSets
    rows: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, intake: Intake, antecedents: Sequence[Antecedent]) -> Remaining:
        """Return the records of a fit, none captured yet."""
        row: dict[Literal, int] = {}
        for antecedent in antecedents:
            for literal in antecedent:
                row.setdefault(literal, len(row))
        bitsets = pack(intake, [(literal,) for literal in row])
        return cls(
            bitsets=bitsets,
            rows=np.array([row[literal] for antecedent in antecedents for literal in antecedent], dtype=np.int64),
            starts=np.cumsum([0, *(len(antecedent) for antecedent in antecedents)], dtype=np.int64),
            words=bitsets.valid.copy(),
        )

    def __repr__(self) -> str:
        return f"<Remaining of {len(self.starts) - 1} rules>"

    def totals(self) -> npt.NDArray[np.int64]:
        """Return the number of remaining records of each class, shape (c,)."""
        return self.bitsets.count(self.words)

    def counts(self, rules: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return the class counts of what each of some rules captures among the remaining records, shape (m, c)."""
        chosen = np.array(rules, dtype=np.int64)
        out = np.zeros((len(chosen), self.bitsets.n_classes), dtype=np.int64)
        sets = self.bitsets

        def work(start: int, stop: int) -> None:
            _count_rules(
                sets.words,
                sets.starts,
                sets.labels,
                sets.weights,
                self.words,
                self.rows,
                self.starts,
                chosen[start:stop],
                out[start:stop],
            )

        run(cuts(len(chosen), SLICES), work)
        return out

    def joint_counts(self, rules: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return the class counts of the remaining records that each two of some rules capture, shape (m, m, c)."""
        chosen = np.array(rules, dtype=np.int64)
        out = np.zeros((len(chosen), len(chosen), self.bitsets.n_classes), dtype=np.int64)
        sets = self.bitsets

        def work(start: int, stop: int) -> None:
            for i in range(start, stop):
                _count_rules(
                    sets.words,
                    sets.starts,
                    sets.labels,
                    sets.weights,
                    self._captured(int(chosen[i])),
                    self.rows,
                    self.starts,
                    chosen,
                    out[i],
                )

        run(cuts(len(chosen), SLICES), work)
        return out

    def _captured(self, rule: int) -> npt.NDArray[np.uint64]:
        captured = self.words.copy()
        for place in range(self.starts[rule], self.starts[rule + 1]):
            captured &= self.bitsets.words[self.rows[place]]
        return captured

    def take(self, rule: int) -> npt.NDArray[np.int64]:
        """Remove what a rule captures, and return its class counts, shape (c,)."""
        captured = self._captured(rule)
        self.words &= ~captured
        return self.bitsets.count(captured)


@compiled
def _count_rules(
    words: Any,
    segments: Any,
    labels: Any,
    weights: Any,
    remaining: Any,
    rows: Any,
    starts: Any,
    rules: Any,
    out: Any,
) -> None:  # pragma: no cover - compiled
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
                        ones += _popcount(rest[w] & one[w])
                elif last - first == 2:
                    two = words[rows[first + 1], lo:hi]
                    for w in range(size):
                        ones += _popcount(rest[w] & one[w] & two[w])
                else:
                    for w in range(size):
                        buffer[w] = rest[w] & one[w]
                    for place in range(first + 1, last):
                        more = words[rows[place], lo:hi]
                        for w in range(size):
                            buffer[w] &= more[w]
                    for w in range(size):
                        ones += _popcount(buffer[w])
                out[i, label] += weight * np.int64(ones)
