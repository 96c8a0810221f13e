"""What every way of growing a rule list works on: the records that remain, the public pool, and the grown list."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.compiling import compiled
from glassine.counting.logic import complete_atoms, constrained
from glassine.counting.space import Box, Space
from glassine.data.bits import BitSets
from glassine.data.conjunctions import popcount
from glassine.data.slices import cuts, run
from glassine.domain import Domain, Integer, Literal, Real
from glassine.domain.attributes import Attribute
from glassine.domain.literals import attributes_of
from glassine.learners.antecedents import Antecedent
from glassine.learners.intake import Intake
from glassine.learners.publishing import evidence_of
from glassine.models import Guarantee, RuleList
from glassine.privacy.accounting import Event
from glassine.records.arrays import AnyArray, Bools, Ints
from glassine.records.columns import Columns
from glassine.sealed.lists import DrawnList, list_model
from glassine.sealed.plan import Metadata

Part: TypeAlias = tuple[Literal, ...]
"""The literals of a rule on one attribute."""


def most_satisfied(domain: Domain, antecedents: Sequence[Antecedent]) -> int:
    """Return a bound on how many of some rules one record can satisfy, of all that training records can hold.

    Groups are not enforced on records, numbers are not rounded and a value that is not declared becomes missing: so the
    attributes vary freely here, each over all its values. Exact among rules on the same one or two attributes, which
    are then added up; a rule on more attributes counts one.

    Examples
    --------
    >>> from glassine.domain import Between
    >>> most_satisfied(Domain({"a": Integer(0, 9)}), [(Between("a", hi=2.8),), (Between("a", lo=2.2),)])
    2
    """
    truths = _truths(domain, antecedents)
    alike: dict[tuple[str, ...], Counter[tuple[Part, ...]]] = defaultdict(Counter)
    for antecedent in antecedents:
        names = tuple(sorted(attributes_of(antecedent)))
        alike[names][tuple(_part(antecedent, name) for name in names)] += 1
    return sum(_most(rules, len(names), truths) for names, rules in alike.items())


def every_value(attribute: Attribute, name: str, literals: Iterable[Literal]) -> Columns:
    """Return a column with one value of each kind that some literals distinguish, a missing value always among them."""
    if not isinstance(attribute, Integer | Real):
        codes = np.arange(-1, len(getattr(attribute, "values", (0, 1))))
        return Columns(attributes={name: attribute}, numbers={}, codes={name: codes})
    low, high = float(attribute.lo), float(attribute.hi)
    cuts = {low, high}
    for literal in literals:
        ends = literal.values if hasattr(literal, "values") else (literal.lo, literal.hi)
        cuts |= {float(end) for end in ends if not isinstance(end, str) and low <= end <= high}
    at = np.array(sorted(cuts))
    # Between two cuts all numbers are alike: the one beside a cut stands for them.
    beside = np.concatenate([at, np.nextafter(at, -np.inf), np.nextafter(at, np.inf)])
    numbers = np.append(np.unique(np.clip(beside, low, high)), np.nan)
    return Columns(attributes={name: attribute}, numbers={name: numbers}, codes={})


def _part(antecedent: Antecedent, name: str) -> Part:
    return tuple(literal for literal in antecedent if literal.attribute == name)


def _truths(domain: Domain, antecedents: Sequence[Antecedent]) -> dict[Literal, Bools]:
    """Return of each literal its truth on every kind of value of its attribute."""
    literals: dict[str, dict[Literal, None]] = defaultdict(dict)
    for antecedent in antecedents:
        for literal in antecedent:
            literals[literal.attribute][literal] = None
    out: dict[Literal, Bools] = {}
    for name, members in literals.items():
        column = every_value(domain[name], name, members)
        # Different conditions can hold alike; one value of each pattern is enough.
        patterns = np.unique(np.array([column.holds(literal) for literal in members]), axis=1)
        out |= dict(zip(members, patterns, strict=True))
    return out


def _most(rules: Counter[tuple[Part, ...]], n_attributes: int, truths: dict[Literal, Bools]) -> int:
    """Return how many of the rules on the same attributes one record can satisfy; a bound beyond two attributes."""
    if n_attributes > 2:
        return rules.total()
    sides = [list(dict.fromkeys(rule[i] for rule in rules)) for i in range(n_attributes)]
    tables = [
        np.array([np.logical_and.reduce([truths[literal] for literal in part]) for part in side], dtype=np.float64)
        for side in sides
    ]
    if n_attributes == 1:
        weights = np.array([rules[part,] for part in sides[0]], dtype=np.float64)
        return int((weights @ tables[0]).max())
    places = [{part: i for i, part in enumerate(side)} for side in sides]
    weights = np.zeros((len(sides[0]), len(sides[1])))
    for (first, second), number in rules.items():
        weights[places[0][first], places[1][second]] = number
    # Sums of whole numbers far below 2^53 are exact.
    return int((tables[0].T @ weights @ tables[1]).max())


# The counting kernel of greedy rule lists: class counts of every rule of a pool among the records that remain.


CHUNK = 512
"""Words of one literal that are counted at a time: a hundred rows then stay in the second-level cache."""

SLICES = 16
"""Pieces in which the rules of a pool are counted: several for each core of a usual machine, so that none waits."""


def bit_set_bytes(antecedents: Sequence[Antecedent], n_records: int) -> int:
    """Return about how many bytes the bit sets of a pool's distinct literals take."""
    return len({literal for antecedent in antecedents for literal in antecedent}) * (n_records // 8 + 8)


def count_bytes(n_rules: int, n_classes: int, *, ahead: bool = False) -> int:
    """Return the bytes of a pool's class counts; ``ahead``: also those of all pairs."""
    # Eight bytes a number: the counts, their sums over classes, and the impurities; of pairs the counts of both, of
    # the first alone and of what is left, and the terms of the losses, which are summed over classes.
    tables, sums = 3, 8
    return 8 * ((n_classes + 2) * n_rules + (tables * n_classes + sums) * n_rules**2 * ahead)


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
    def of(cls, intake: Intake, antecedents: Sequence[Antecedent]) -> Remaining:
        """Return the records of a fit, none captured yet."""
        row: dict[Literal, int] = {}
        for antecedent in antecedents:
            for literal in antecedent:
                row.setdefault(literal, len(row))
        # One row a distinct literal, however many rules share it.
        bitsets = intake.pack([(literal,) for literal in row])
        return cls(
            bitsets=bitsets,
            rows=np.array([row[literal] for antecedent in antecedents for literal in antecedent], dtype=np.int64),
            starts=np.cumsum([0, *(len(antecedent) for antecedent in antecedents)], dtype=np.int64),
            words=bitsets.valid.copy(),
        )

    @classmethod
    def nothing(cls, n_classes: int) -> Remaining:
        """Return no records and no rules, for a rehearsal."""
        none = np.zeros(0, dtype=np.int64)
        bitsets = BitSets.pack([], none, n_classes)
        return cls(bitsets=bitsets, rows=none, starts=np.zeros(1, dtype=np.int64), words=bitsets.valid)

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


# What the domain alone says of a greedy list's pool: which rules differ, and which can still take something.


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GreedyPool:
    """A public pool of rules. Nothing of it is read from data.

    The domain's logic prunes the pool and no more: records need not obey it, so no guarantee rests on it.
    """

    domain: Domain  # What is publicly known about the attributes
    # The rules in order; those that are always true or always false for complete records, or equal to an earlier one,
    # are left out.
    antecedents: tuple[Antecedent, ...]
    # The atoms of complete records of each factor, as in :class:`~glassine.counting.logic.LiteralLogic`.
    full: tuple[int, ...]
    boxes: tuple[Box, ...]  # Of each rule the factors that it constrains, with what it allows of these atoms

    @classmethod
    def of(cls, domain: Domain, antecedents: Sequence[Antecedent]) -> GreedyPool:
        """Return the pool of some antecedents."""
        literals = [literal for rule in antecedents for literal in rule]
        space = Space(domain, literals, domain_aware=True)
        full = complete_atoms(space, literals)
        possible = [factor.possible for factor in space.factors]
        distinct: dict[tuple[tuple[int, int], ...], tuple[Antecedent, Box]] = {}
        for rule in antecedents:
            box = constrained(space.box(rule), full)
            if box and 0 not in box.values():
                # Rules that allow the same are equal, missing values included: the first one stays.
                allowed = constrained(space.box(rule), possible)
                distinct.setdefault(tuple(sorted(allowed.items())), (rule, box))
        return cls(
            domain=domain,
            antecedents=tuple(rule for rule, _ in distinct.values()),
            full=tuple(full),
            boxes=tuple(box for _, box in distinct.values()),
        )

    def __repr__(self) -> str:
        return f"<GreedyPool of {len(self.antecedents)} rules>"

    def admissible(self, chosen: Sequence[int]) -> list[int]:
        """Return the rules that, by the domain's logic, can take some and leave some of what the chosen rules leave."""
        # Rules on one factor are taken together exactly; of rules on several factors, one at a time is considered.
        left: dict[int, int] = {}
        wide: list[Box] = []
        for i in chosen:
            box = self.boxes[i]
            if len(box) > 1:
                wide.append(box)
                continue
            for factor, mask in box.items():
                left[factor] = left.get(factor, self.full[factor]) & ~mask
        if 0 in left.values():
            return []
        taken = set(chosen)
        return [j for j in range(len(self.boxes)) if j not in taken and self._open(self.boxes[j], left, wide)]

    def _open(self, box: Box, left: dict[int, int], wide: Sequence[Box]) -> bool:
        rest = {factor: mask & left.get(factor, mask) for factor, mask in box.items()}
        if 0 in rest.values():
            return False
        if all(not left.get(factor, self.full[factor]) & ~mask for factor, mask in box.items()):
            return False

        def allowed(factor: int) -> int:
            return rest.get(factor, left.get(factor, self.full[factor]))

        return not any(all(not allowed(factor) & ~mask for factor, mask in earlier.items()) for earlier in wide)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A grown list."""

    drawn: DrawnList  # Rules and labels by index
    # Class counts of the rules in order, the default rule last; noisy but in a fit without privacy; shape (k + 1, c).
    counts: Ints
    scale: float | None = None  # Scale of the noise on the counts
    events: tuple[Event, ...] = ()  # What was released

    def model(
        self, pool: GreedyPool, intake: Metadata | Intake, *, source: str, guarantee: Guarantee | None = None
    ) -> RuleList:
        """Return the list as a published model."""
        labels = [*(label for _, label in self.drawn.rules), self.drawn.default]
        return list_model(
            self.drawn,
            pool.antecedents,
            evidence_of(labels, self.counts),
            domain=intake.domain,
            classes=intake.classes,
            source=source,
            guarantee=guarantee,
        )
