"""Optimal rule lists: an exact search over what the first rules leave, level by level.

How a list goes on depends on the records that its first rules leave, so that of the beginnings that leave the same ones
the best alone is kept. A beginning is dropped if its cost, and what records on which all rules agree must cost, exceed
that of a known list (the equivalent points of Angelino et al., *Learning Certifiably Optimal Rule Lists*, 2018). It is
also dropped if its last rule saves less than it costs, at most. A beam finds the list that others must beat.

Where values may be missing, what the records leave does not say whether a complete record could still be captured. The
bits of a beginning then go on with what its rules leave of the domain: a :class:`Room`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from glassine.compiling import compiled
from glassine.compiling.interpretation import interpreted
from glassine.compiling.popcounts import popcount
from glassine.compiling.slices import Progress, cuts, run
from glassine.counting.logic import RuleLogic
from glassine.errors import ClassTooLargeError, parameter
from glassine.records.arrays import AnyArray, Bools, Indices, Ints
from glassine.records.bits import BitSets
from glassine.resources import human_bytes
from glassine.sealed.losses import LeafCosts
from glassine.sealed.tree_sums import refuse_inexact

Words = npt.NDArray[np.uint64]

BEAM = 200
"""Beginnings of each length that the first, inexact search keeps."""

ROOM = 2**22
"""Counts that are held at a time: beginnings times rules times classes."""

PIECES = 8
"""Pieces in which they are counted."""

SLACK = 1e-6
"""Units of cost below which penalties that are no whole numbers may be rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A list: its rules by their numbers in the pool, what its records cost, and how often rules are tested on them."""

    rules: tuple[int, ...]
    cost: int
    tested: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """Where the search ends with an error: bytes, and seconds from its start."""

    what: str
    ways_out: str
    memory: float = math.inf
    time: float = math.inf

    def check(self, size: int, seconds: float) -> None:
        """Raise ClassTooLargeError beyond one of them."""
        if size > self.memory or seconds > self.time:
            raise ClassTooLargeError(
                f"{self.what}: the search took {human_bytes(size)} and {seconds:.0f} s so far, the limits are "
                f"{parameter('memory_limit=')}{human_bytes(self.memory)} and {parameter('time_limit=')}"
                f"{self.time:g} s. {self.ways_out}",
                bytes_needed=size,
                seconds_needed=seconds,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What rules leave of the domain, as bits: what :func:`~glassine.sealed.lists.admissible` judges by.

    Rules on attributes without missing values need none: a record that they capture, or leave, is complete there.
    """

    full: Words  # Before the first rule: atoms of blocks, and a bit for each rule that others may cover; shape (e,)
    taken: Words  # What each rule takes; shape (p, e)
    needs: Words  # Of each of three rows, a rule needs one bit that is left, unless the row is empty; shape (3, p, e)

    @classmethod
    def of(cls, logic: RuleLogic, gaps: Collection[str]) -> Room:
        """Return the room of a pool of rules, of which the attributes in ``gaps`` may be missing."""
        touched = np.array([any(one.attribute in gaps for one in rule) for rule in logic.antecedents], dtype=bool)
        own, masks = logic.blocks[:, None] == np.arange(len(logic.full)), _bits(logic.masks)
        atoms = _bits(logic.full) & (own & touched[:, None]).any(axis=0)[:, None]
        taken, left = ((own[:, :, None] & half[:, None, :])[:, atoms] for half in (masks, ~masks))
        some = touched & bool(len(logic.covers))
        covers = logic.covers[:, some] if some.any() else np.zeros((len(some), 0), dtype=bool)
        no_atoms, no_covers = np.zeros_like(taken), np.zeros_like(covers)
        needs = [(taken, no_covers), (left, no_covers), (no_atoms, np.eye(len(some), dtype=bool)[:, some])]
        taken = np.column_stack([taken, covers])
        return cls(
            full=_words(np.ones((1, taken.shape[1]), dtype=bool))[0],
            taken=_words(taken),
            needs=np.stack([_words(np.column_stack(need)) for need in needs]),
        )

    def allows(self, left: Words) -> Bools:
        """Return whether each rule may follow where so much is left, (b, e); shape (b, p)."""
        out = np.ones((len(left), len(self.taken)), dtype=bool)
        for need in self.needs if len(self.full) else ():
            met = np.tile(~need.any(axis=1), (len(left), 1))
            for w in range(len(self.full)):
                met |= (left[:, None, w] & need[:, w]) != 0
            out &= met
        return out


@dataclass(frozen=True, slots=True)
class _Level:
    """Beginnings of some rules, in the order of their rules; ``parent`` and ``rule`` are the last step to each.

    ``words`` are the records and the room that they leave, ``whole`` is what a list would cost that ended there.
    """

    words: Words
    costs: Ints
    tested: Ints
    whole: Ints
    parent: Ints
    rule: Ints

    def take(self, rows: Indices) -> _Level:
        """Return some of them."""
        return _Level(*(getattr(self, name)[rows] for name in self.__slots__))

    @property
    def n_bytes(self) -> int:
        """Bytes that they take."""
        return sum(getattr(self, name).nbytes for name in self.__slots__)


@compiled
def _count(
    left: AnyArray, rules: AnyArray, starts: AnyArray, labels: AnyArray, weights: AnyArray, out: AnyArray
) -> None:  # pragma: no cover - compiled
    """Add the records of each class that each rule takes of each set."""
    # left: (b, w or more); rules: (p, w); starts: (s + 1,); labels, weights: (s,); out: (b, p, c).
    for b in range(len(left)):
        for rule in range(len(rules)):
            for segment in range(len(labels)):
                ones = np.uint64(0)
                for w in range(starts[segment], starts[segment + 1]):
                    ones += popcount(left[b, w] & rules[rule, w])
                out[b, rule, labels[segment]] += weights[segment] * np.int64(ones)


class ListSearch:
    """All lists of rules of a pool on some records."""

    def __init__(
        self,
        bitsets: BitSets,
        loss: LeafCosts,
        *,
        fewest: int,
        fewest_left: int,
        limits: SearchLimits,
        room: Room | None = None,
        penalty: float = 0.0,
        progress: Progress | None = None,
    ) -> None:
        # bitsets: the truth of the rules on the records.
        # loss: what a record costs.
        # fewest, fewest_left: fewest records that a rule captures, and that the default rule does; at least 1.
        # room: what rules leave of the domain; nothing to judge by where no value is missing.
        # progress: called with the rules of the beginnings done, and the largest number.
        refuse_inexact(loss, bitsets.totals())
        truth, counts = _patterns(bitsets)
        if room is None:
            none = np.zeros((3, len(truth), 0), dtype=np.uint64)
            room = Room(full=np.zeros(0, dtype=np.uint64), taken=none[0], needs=none)
        some, first = truth.any(axis=1) & ~truth.all(axis=1), np.zeros(len(truth), dtype=bool)
        # Of rules that capture the same records, and as much of the domain, the first is as good as the others.
        domain = [np.ascontiguousarray(words).view(np.uint8) for words in (room.taken, *room.needs)]
        same = np.column_stack([np.packbits(truth, axis=1), *domain])
        first[np.unique(same, axis=0, return_index=True)[1]] = True
        self._numbers = np.flatnonzero(some & first)
        self._prices, self._most = loss.costs.astype(np.float64), loss.costs.max(axis=0).astype(np.float64)
        # One more class of "records": what those on which all rules agree cost at least.
        floor = self._cost(counts)
        self._sets = BitSets.pack_counts(truth[self._numbers], np.column_stack([counts, floor]))
        # What rules leave of the records, then of the domain.
        self._room = Room(full=room.full, taken=room.taken[self._numbers], needs=room.needs[:, self._numbers])
        self._words = np.column_stack([self._sets.words, self._room.taken])
        self._fewest, self._fewest_left, self._penalty = fewest, fewest_left, penalty
        self._limits, self._progress, self._started = limits, progress, time.monotonic()

    def best(self, most_rules: int) -> Found:
        """Return a list of least cost, penalties included, of at most so many rules."""
        # Of lists of equal cost the one is taken that ends first, then the first rule of the pool, at every position.
        ends, every = self._ends(most_rules, [math.inf] * (most_rules + 1), 0, BEAM)
        # Where rules are dear, no beginning goes far: the beam has kept all of them, and nothing is left to search.
        if every and self._progress is not None:
            self._progress(most_rules, most_rules)
        if not every:
            least = self._least(ends)
            bounds = [least - self._penalty * m for m in range(most_rules + 1)]
            ends = [*ends, *self._ends(most_rules, bounds, 0, None)[0]]
        return min(ends, key=lambda one: (one.cost + Fraction(self._penalty) * len(one.rules), one.rules))

    def by_length(self, most_rules: int, tests: int = 0) -> list[Found]:
        """Return a list of least cost, without penalties, of at most 0, 1, ..., ``most_rules`` rules."""
        # Of lists of equal cost the one of fewest rules is taken, then, with tests 1 or -1, the one whose rules are
        # tested on records least or most often, then the first rule of the pool, at every position.
        rough = self._ends(most_rules, [math.inf] * (most_rules + 1), 0, BEAM)[0]
        bounds = [self._least([one for one in rough if len(one.rules) <= m]) for m in range(most_rules + 1)]
        ends = self._ends(most_rules, bounds, tests, None)[0]
        return [
            min((one for one in ends if len(one.rules) <= m), key=lambda one: (one.cost, len(one.rules)))
            for m in range(most_rules + 1)
        ]

    def class_counts(self, rules: Sequence[int]) -> Ints:
        """Return the class counts of what each rule captures, and of what the default rule does, shape (k + 1, c)."""
        left, out = self._sets.valid.copy(), []
        places = {number: place for place, number in enumerate(self._numbers.tolist())}
        for number in rules:
            words = self._sets.words[places[number]]
            out.append(self._sets.count(left & words))
            left &= ~words
        return np.array([*out, self._sets.count(left)])[:, :-1]

    def _cost(self, counts: npt.NDArray[np.integer]) -> Ints:
        """Return what records cost at least under one value, by class counts in the last axis."""
        # Products of doubles are fast, and exact below 2^53.
        least = (counts.astype(np.float64) @ self._prices.T).min(axis=-1)
        return np.asarray(least.astype(np.int64))

    def _least(self, ends: Sequence[Found]) -> float:
        """Return what the cheapest of some lists costs, penalties included."""
        return min(one.cost + self._penalty * len(one.rules) for one in ends)

    def _ends(
        self, most_rules: int, bounds: Sequence[float], tests: int, width: int | None
    ) -> tuple[list[Found], bool]:
        """Return the best list of each number of rules; ``bounds[m]`` is what one of m rules may cost at most."""
        # Lists beyond the bound, or dearer than one of fewer rules, may be left out. With a width only so many
        # beginnings are kept, by what they cost if they end; the second result says whether that left none out.
        every = True
        whole = self._sets.totals()[:-1]
        alone = self._cost(whole)[None]
        nothing = np.zeros(1, dtype=np.int64)
        everything = np.concatenate([self._sets.valid, self._room.full])[None]
        levels = [_Level(everything, nothing, nothing, alone, nothing, nothing)]
        best_lists = [Found(rules=(), cost=int(alone[0]), tested=0)]
        for m in range(most_rules if len(self._numbers) else 0):
            # A beginning that goes on has at least one rule more, and must not cost more than a list that ends.
            bound = (
                min(bounds[m + 2], self._least(best_lists) - self._penalty * (m + 2)) if m + 2 <= most_rules else -1.0
            )
            level, ends, parts = levels[-1], [], []
            batch = max(1, ROOM // (len(self._numbers) * self._sets.n_classes))
            for start in range(0, len(level.costs), batch):
                part, end = self._expand(level, slice(start, start + batch), bound, tests)
                parts.append(_merged(part, tests))
                ends += end
                size = sum(one.n_bytes for one in (*levels, *parts))
                self._limits.check(size, time.monotonic() - self._started)
            if ends:
                cost, tested, place = min(ends)
                rules = self._rules(levels, *divmod(place, len(self._numbers)))
                best_lists.append(Found(rules=rules, cost=cost, tested=abs(tested)))
            following = _merged(parts[0] if len(parts) == 1 else _joined(parts), tests)
            if width is not None and len(following.costs) > width:
                every = False
                following = following.take(np.sort(np.argsort(following.whole, kind="stable")[:width]))
            if self._progress is not None and width is None:
                self._progress(m + 1, most_rules)
            if not len(following.costs):
                break
            levels.append(following)
        return best_lists, every

    def _expand(
        self, level: _Level, some: slice, bound: float, tests: int
    ) -> tuple[_Level, list[tuple[int, int, int]]]:
        """Add every rule to some beginnings; return those that may go on, and the best list that ends here."""
        sets, p = self._sets, len(self._numbers)
        left = level.words[some]
        taken = np.zeros((len(left), p, sets.n_classes), dtype=np.int64)

        def work(start: int, stop: int) -> None:
            _count(left[start:stop], sets.words, sets.starts, sets.labels, sets.weights, taken[start:stop])

        own = np.zeros((len(left), 1, sets.n_classes), dtype=np.int64)
        with interpreted(left.size * (p + 1)):
            run(cuts(len(left), PIECES), work)
            _count(left, sets.valid[None], sets.starts, sets.labels, sets.weights, own)
        rest, size = own - taken, own[:, :, :-1].sum(axis=2)
        sizes, sizes_left = (counts[:, :, :-1].sum(axis=2) for counts in (taken, rest))
        allowed = (sizes >= self._fewest) & (sizes_left >= self._fewest_left)
        allowed &= self._room.allows(left[:, len(sets.valid) :])
        cost = self._cost(taken[:, :, :-1])
        if self._penalty:
            # Without the rule its records would cost no more than the most that each can.
            allowed &= taken[:, :, :-1].astype(np.float64) @ self._most - cost >= self._penalty - SLACK
        rows, rules = np.nonzero(allowed)
        at = some.start + rows
        costs = level.costs[at] + cost[rows, rules]
        whole = costs + self._cost(rest[rows, rules, :-1])
        tested = level.tested[at] + size[rows, 0]
        ends: list[tuple[int, int, int]] = []
        if len(rows):
            fewest = np.flatnonzero(whole == whole.min())
            pick = fewest[np.argmin(tests * tested[fewest])]
            ends.append((int(whole[pick]), tests * int(tested[pick]), int(at[pick] * p + rules[pick])))
            # Another rule has its price.
            bound = min(bound, float(whole[pick]) - self._penalty)
        on = costs + rest[rows, rules, -1] <= bound + SLACK
        on &= sizes_left[rows, rules] >= self._fewest + self._fewest_left
        at, rows, rules = at[on], rows[on], rules[on]
        words = left[rows] & ~self._words[rules]
        return _Level(words, costs[on], tested[on], whole[on], at, rules), ends

    def _rules(self, levels: Sequence[_Level], at: int, rule: int) -> tuple[int, ...]:
        """Follow a list back to its first rule; return its rules by their numbers in the pool."""
        rules = [rule]
        for level in reversed(levels[1:]):
            rules.append(int(level.rule[at]))
            at = int(level.parent[at])
        return tuple(int(self._numbers[each]) for each in reversed(rules))


def _patterns(bitsets: BitSets) -> tuple[Bools, Ints]:
    """Return the truth of rules on groups of records on which all agree, (p, n), and classes of these, (n, c)."""
    bits = _bits(bitsets.valid[None])[0]
    truth = _bits(bitsets.words)[:, bits]
    segment = np.repeat(np.arange(len(bitsets.labels)), np.diff(bitsets.starts) * 64)[bits]
    # As words of 64 rules, so that few numbers are compared.
    _, first, place = np.unique(_keys(_words(truth.T)), return_index=True, return_inverse=True)
    counts = np.zeros((len(first), bitsets.n_classes), dtype=np.int64)
    np.add.at(counts, (place.ravel(), bitsets.labels[segment]), bitsets.weights[segment])
    return truth[:, first], counts


def _bits(words: Words) -> Bools:
    """Return the bits of words, least first; shape (n, 64 w)."""
    return np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little").astype(bool)


def _words(bits: Bools) -> Words:
    """Return rows of bits as words, least first; shape (n, w)."""
    packed = np.zeros((len(bits), -(-bits.shape[1] // 64) * 8), dtype=np.uint8)
    packed[:, : -(-bits.shape[1] // 8)] = np.packbits(bits, axis=1, bitorder="little")
    return packed.view("<u8").astype(np.uint64, copy=False)


def _keys(words: Words) -> Ints | Words:
    """Return a number for each row, equal where rows are; shape (n,)."""
    if words.shape[1] < 2:
        return words[:, 0] if words.shape[1] else np.zeros(len(words), dtype=np.int64)
    factors = np.random.default_rng(0).integers(2**63, size=words.shape[1], dtype=np.uint64) | np.uint64(1)
    keys = ((words ^ (words >> np.uint64(29))) * factors).sum(axis=1, dtype=np.uint64)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(words[first[group.ravel()]], words):
        group = np.unique(words, axis=0, return_inverse=True)[1]
    return np.asarray(group.ravel(), dtype=np.int64)


def _joined(parts: Sequence[_Level]) -> _Level:
    return _Level(*(np.concatenate([getattr(part, name) for part in parts]) for name in _Level.__slots__))


def _merged(level: _Level, tests: int) -> _Level:
    """Return the best of the beginnings that leave the same records, in the order of their rules."""
    if len(level.costs) < 2:
        return level
    group = _keys(level.words)
    # They come in the order of their rules, which decides where all else is equal: the sort is stable.
    order = np.lexsort((tests * level.tested, level.costs, group))
    firsts = np.flatnonzero(np.concatenate(([True], np.diff(group[order].view(np.int64)) != 0)))
    return level.take(np.sort(order[firsts]))


__all__ = ["Found", "ListSearch", "Room", "SearchLimits"]
