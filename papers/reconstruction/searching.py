"""Optimal rule lists of single literals under a least support: an exact search, level by level.

CORELS knows no least support within the list and no largest number of rules; the paper's authors changed it for both.
``OptimalRuleListClassifier`` has both, for fewer rules, and binds the default rule as well. This search has both, and
tells how much the choice among equally good lists matters: of the lists of fewest errors, and of these with fewest
rules, the one that tells least about the records and the one that tells most.

What the first m rules leave depends on the set of records alone, so that lists that leave the same records are merged.
A set is dropped if the errors so far and those that no model can avoid, two records alike with different labels, exceed
the errors of a list that is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

BATCH = 4_000
BEAM = 1_000
"""Sets kept at each level by the first, inexact search, which finds the errors that the exact one must beat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A rule list of single literals.

    Attributes
    ----------
    rules : tuple of (int, int)
        Attribute and value of the literal of each rule, in order.
    errors : int
        Records that it labels wrongly.
    bits : int
        Rules that records are tested by, over all records: what the list tells with independent attributes.
    """

    rules: tuple[tuple[int, int], ...]
    errors: int
    bits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Optima:
    """The optimal lists of at most so many rules that tell least and most."""

    least: Listed
    most: Listed


class _Records:
    """Distinct records with their numbers, and the literals that differ on them."""

    def __init__(self, X: Ints, y: Ints) -> None:
        rows, inverse = np.unique(X, axis=0, return_inverse=True)
        total = np.bincount(inverse.ravel())
        positive = np.bincount(inverse.ravel(), weights=y).astype(np.int64)
        seen: set[bytes] = set()
        literals, columns = [], []
        for attribute in range(rows.shape[1]):
            for value in (1, 0):
                column = rows[:, attribute] == value
                if column.any() and not column.all() and column.tobytes() not in seen:
                    seen.add(column.tobytes())
                    literals.append((attribute, value))
                    columns.append(column)
        self.n_rows = len(rows)
        self.literals = literals
        truth = np.array(columns, dtype=bool).reshape(len(columns), len(rows))
        self.words = pack(truth)
        held = truth.T.astype(np.float32)
        # Whole numbers below 2^24 are exact as float32.
        weights = [counts.astype(np.float32) for counts in (total, positive, np.minimum(positive, total - positive))]
        self.whole = np.stack(weights, axis=1)
        self.parts = [weight[:, None] * held for weight in weights]


def pack(truth: npt.NDArray[np.bool_]) -> Words:
    """Return rows of truth values as words of 64 bits."""
    packed = np.packbits(truth, axis=1, bitorder="little")
    out = np.zeros((len(truth), -(-truth.shape[1] // 64) * 8), dtype=np.uint8)
    out[:, : packed.shape[1]] = packed
    return out.view(np.uint64)


def unpack(words: Words, width: int) -> npt.NDArray[np.float32]:
    """Return words as rows of zeros and ones."""
    return np.unpackbits(words.view(np.uint8), axis=1, count=width, bitorder="little").astype(np.float32)


@dataclass(slots=True)
class _Level:
    """Sets of records that so many rules leave; first rows are of the lists that tell least, second of most."""

    words: Words
    errors: Ints
    bits: Ints
    parent: Ints
    literal: Ints


def _distinct(words: Words) -> Ints:
    """Return the number of the distinct row that each row is."""
    factors = np.random.default_rng(0).integers(2**63, size=words.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(
        1
    )
    mixed = words ^ (words >> np.uint64(29))
    keys = (mixed * factors).sum(axis=1, dtype=np.uint64)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    group = group.ravel()
    if not np.array_equal(words[first[group]], words):
        group = np.unique(words, axis=0, return_inverse=True)[1].ravel()
    return group.astype(np.int64)


def _best(group: Ints, errors: Ints, second: Ints) -> Ints:
    """Return the row of each group that has the fewest errors, and of these the least second number."""
    order = np.lexsort((second, errors, group))
    return order[np.flatnonzero(np.diff(group[order], prepend=-1))]


def _merged(parts: Sequence[_Level], width: int | None) -> _Level:
    """Return sets without repetition; of two equal ones that of fewer errors, and of more and fewer bits."""
    words = np.concatenate([part.words for part in parts])
    errors = np.concatenate([part.errors for part in parts])
    bits, parent, literal = (
        np.concatenate([getattr(part, name) for part in parts], axis=1) for name in ("bits", "parent", "literal")
    )
    group = _distinct(words)
    low, high = _best(group, errors, bits[0]), _best(group, errors, -bits[1])
    out = _Level(
        words[low],
        errors[low],
        np.stack([bits[0, low], bits[1, high]]),
        np.stack([parent[0, low], parent[1, high]]),
        np.stack([literal[0, low], literal[1, high]]),
    )
    if width is None or len(out.errors) <= width:
        return out
    kept = np.argsort(out.errors, kind="stable")[:width]
    return _Level(out.words[kept], out.errors[kept], out.bits[:, kept], out.parent[:, kept], out.literal[:, kept])


Ending = tuple[int, int, int, int]
"""Errors, bits (negative where many are wanted), the set before the last rule, and that rule."""

NO_END: Ending = (2**62, 0, -1, -1)


def _expand(records: _Records, level: _Level, start: int, least: int, bound: float) -> tuple[_Level, Ending, Ending]:
    """Add every rule to some sets; return the sets that may be continued, and the best two lists that end here."""
    some = slice(start, start + BATCH)
    inside = unpack(level.words[some], records.n_rows)
    size, positive, floor = (inside @ records.whole).T
    taken, taken_positive, taken_floor = (inside @ part for part in records.parts)
    rows, rules = np.nonzero((taken >= least) & (taken < size[:, None]))
    at = start + rows
    taken, taken_positive = taken[rows, rules], taken_positive[rows, rules]
    left, left_positive = size[rows] - taken, positive[rows] - taken_positive
    errors = level.errors[at] + np.minimum(taken_positive, taken - taken_positive).astype(np.int64)
    bits = level.bits[:, at] + size[rows].astype(np.int64)
    whole = errors + np.minimum(left_positive, left - left_positive).astype(np.int64)
    ends = [NO_END, NO_END]
    for side, sign in enumerate((1, -1)) if len(whole) else ():
        fewest = np.flatnonzero(whole == whole.min())
        pick = fewest[np.argmin(sign * bits[side, fewest])]
        ends[side] = (int(whole[pick]), sign * int(bits[side, pick]), int(at[pick]), int(rules[pick]))
    keep = np.flatnonzero(errors + floor[rows] - taken_floor[rows, rules] <= bound)
    words = level.words[at[keep]] & ~records.words[rules[keep]]
    parent, literal = (np.stack([array, array]) for array in (at[keep], rules[keep]))
    return _Level(words, errors[keep], bits[:, keep], parent, literal), ends[0], ends[1]


def _levels(
    records: _Records, least: int, most_rules: int, bounds: Sequence[float], width: int | None
) -> tuple[list[_Level], list[tuple[Ending, Ending]]]:
    """Search level by level; ``bounds[m]`` is what a list of m rules may cost at most to be of interest."""
    one = np.zeros(1, dtype=np.int64)
    none = np.zeros((2, 1), dtype=np.int64)
    root = _Level(pack(np.ones((1, records.n_rows), dtype=bool)), one, none, none, none)
    levels, ends = [root], []
    for m in range(most_rules):
        parts, low, high = [], NO_END, NO_END
        # A list that is continued has two rules more at least than this level.
        bound = bounds[m + 2] if m + 2 <= most_rules else -1.0
        for start in range(0, len(levels[m].errors), BATCH):
            part, *found = _expand(records, levels[m], start, least, bound)
            low, high = min(low, found[0]), min(high, found[1])
            parts.append(_merged([part], None))
        ends.append((low, high))
        if not parts or not any(len(part.errors) for part in parts):
            break
        levels.append(_merged(parts, width))
    return levels, ends


def _listed(records: _Records, levels: Sequence[_Level], m: int, end: Ending, side: int) -> Listed:
    """Follow a list of m rules back to its first rule."""
    errors, bits, at, rule = end
    rules = [rule]
    for level in reversed(levels[1:m]):
        rules.append(int(level.literal[side, at]))
        at = int(level.parent[side, at])
    literals = tuple(records.literals[rule] for rule in reversed(rules))
    return Listed(rules=literals, errors=errors, bits=abs(bits))


def optimal_lists(X: Ints, y: Ints, *, least: int, most_rules: int) -> list[Optima]:
    """Return the optimal lists of at most 0, 1, ..., ``most_rules`` rules.

    Every rule captures at least ``least`` of the records that earlier rules leave, and leaves one at least to the
    default rule. Attributes and labels are 0 and 1.

    Parameters
    ----------
    X : ndarray, shape (n, p)
        Records.
    y : ndarray, shape (n,)
        Labels.
    least : int
        Least support of a rule, at least 1.
    most_rules : int
        Largest number of rules besides the default rule.
    """
    records = _Records(X, y)
    alone = Listed(rules=(), errors=int(min(y.sum(), len(y) - y.sum())), bits=0)
    _, rough = _levels(records, least, most_rules, [np.inf] * (most_rules + 1), BEAM)
    bounds = [float(alone.errors)]
    for m in range(1, most_rules + 1):
        bounds.append(min(bounds[-1], rough[m - 1][0][0] if m <= len(rough) else np.inf))
    levels, ends = _levels(records, least, most_rules, bounds, None)
    out = [Optima(least=alone, most=alone)]
    for m in range(1, most_rules + 1):
        best = out[-1]
        if m <= len(ends) and ends[m - 1][0][0] < best.least.errors:
            low, high = (_listed(records, levels, m, end, side) for side, end in enumerate(ends[m - 1]))
            best = Optima(least=low, most=high)
        out.append(best)
    return out


__all__ = ["Listed", "Optima", "optimal_lists"]
