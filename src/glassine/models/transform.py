"""Models whose conditions are moved: what no value reaches any more falls away."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate, chain, pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np

from glassine.domain import Attribute, Between, Binary, Category, Domain, Literal, OneOf, Real
from glassine.domain.grid import measures
from glassine.models.evidence import Evidence
from glassine.models.rule_list import Rule, RuleList
from glassine.models.tree import Branch, DecisionTree, Node
from glassine.records.arrays import AnyArray, Bools
from glassine.resources import current

Moves: TypeAlias = Mapping[Literal, Literal | None]
Kept: TypeAlias = tuple[Literal, int, "State"]
Where: TypeAlias = Callable[[str, Literal | None], int]

BETWEEN = 1024
"""Nodes between two looks at the clock."""
MOST_MASKS = 4096
"""Masks of conditions that are kept while a tree is moved: its nodes share most of them."""


def mask_of(flags: Bools) -> int:
    """Return flags as a bit mask, the first being the lowest bit."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


@dataclass(frozen=True, eq=False)
class AttributeParts:
    """An attribute in parts that no literal divides, one value for each; the last part is a missing value."""

    values: AnyArray
    possible: Bools

    def where(self, literal: Literal | None) -> Bools:
        """Return the possible parts that satisfy a literal; none for None."""
        if literal is None:
            return np.zeros(len(self.possible), dtype=bool)
        return np.asarray(literal.holds(self.values) & self.possible)

    def mask(self, literal: Literal | None) -> int:
        """Return :meth:`where` as a bit mask, the first part being the lowest bit: of thousands of parts in order."""
        if not isinstance(literal, Between) or literal.negated or self.values.dtype.kind != "f":
            return mask_of(self.where(literal))
        numbers = self.values[:-1]
        first = 0 if literal.lo == -math.inf else int(np.searchsorted(numbers, literal.lo, side="right"))
        last = max(first, int(np.searchsorted(numbers, literal.hi, side="right")))
        return ((1 << last) - (1 << first) | literal.missing << len(numbers)) & self.all_possible

    @cached_property
    def all_possible(self) -> int:
        """The possible parts as a bit mask."""
        return mask_of(self.possible)

    @property
    def gap(self) -> int:
        """A missing value, as a bit mask."""
        return 1 << len(self.values) - 1


Earlier: TypeAlias = dict[frozenset[str], list[dict[str, Bools]]]
"""What earlier rules leave possible of each attribute, by the attributes of which they leave something out."""

Stretches: TypeAlias = tuple[int, int, int, int]
"""Neighboring parts of a number, from the first to below the last: before and after the move."""

State: TypeAlias = Mapping[str, Any]
"""The possible parts of each number, before and after the move: :data:`Stretches`, or two bit masks."""


@dataclass(frozen=True, slots=True)
class NumberLine:
    """The parts of a number without a missing value that every condition cuts in two: what is left are neighbors.

    Of thousands of parts, the stretch that is left takes two comparisons, and a bit mask kilobytes.
    """

    numbers: list[float]
    before: list[int]  # How many of the parts before each one are possible

    @classmethod
    def of(cls, parts: AttributeParts) -> NumberLine:
        """Return an attribute's parts as such."""
        return cls(parts.values[:-1].tolist(), [0, *accumulate(parts.possible[:-1].tolist())])

    @property
    def whole(self) -> Stretches:
        """Everything."""
        return 0, len(self.numbers), 0, len(self.numbers)

    def _ends(self, literal: Literal | None) -> tuple[int, int]:
        if not isinstance(literal, Between):
            return 0, 0 if literal is None else len(self.numbers)
        first = 0 if literal.lo == -math.inf else bisect_right(self.numbers, literal.lo)
        return first, max(first, bisect_right(self.numbers, literal.hi))

    def split(self, left: Stretches, old: Literal, new: Literal | None) -> tuple[Stretches | None, Stretches]:
        """Return what a condition takes of what is left, None where nothing is after the move, and what it leaves."""
        first, last, start, stop = left
        low, high = self._ends(old)
        low, high = max(first, low), min(last, high)
        lowest, highest = self._ends(new)
        lowest, highest = max(start, lowest), min(stop, highest)
        rest = _outside(first, last, low, high)
        if lowest >= highest or self.before[highest] == self.before[lowest]:
            return None, (*rest, start, stop)
        return (low, high, lowest, highest), (*rest, *_outside(start, stop, lowest, highest))


def _outside(first: int, last: int, low: int, high: int) -> tuple[int, int]:
    """Return what is left of a stretch behind a condition, which takes what is above or below: or nothing."""
    if low >= high:
        return first, last
    return (high, last) if low == first else (first, low)


def _one_sided(literal: Literal) -> bool:
    """Return whether a condition cuts a number in two, or holds of each."""
    if isinstance(literal, OneOf):
        return literal.negated and not literal.values
    return not literal.negated and (literal.lo == -math.inf or literal.hi == math.inf)


def _parts(attribute: Attribute, literals: Iterable[Literal]) -> AttributeParts:
    """Return the parts of an attribute that literals on it distinguish."""
    if isinstance(attribute, Category | Binary):
        codes = (0, 1) if isinstance(attribute, Binary) else attribute.values
        values = np.array([*codes, None], dtype=object)
        return AttributeParts(values, np.array([*(True for _ in codes), attribute.missing]))
    cuts = {-math.inf, math.inf}
    for literal in literals:
        if isinstance(literal, Between):
            cuts |= {float(literal.lo), float(literal.hi)}
        else:
            points = [float(value) for value in literal.values if not isinstance(value, str)]
            cuts |= {side for point in points for side in (math.nextafter(point, -math.inf), point)}
    edges = sorted(cuts)
    bounds = list(pairwise(edges))
    inner = [hi if hi < math.inf else math.nextafter(lo, math.inf) if lo > -math.inf else 0.0 for lo, hi in bounds]
    if isinstance(attribute, Real) and attribute.resolution is None and not attribute.codes:
        # Of a continuum, doubles are compared: exact lengths of thousands of parts take long.
        possible = [max(lo, attribute.lo) < min(hi, attribute.hi) for lo, hi in bounds]
    else:
        possible = [measure > 0 for measure in measures(attribute, edges)]
    return AttributeParts(np.array([*inner, math.nan]), np.array([*possible, attribute.missing]))


def _space(moves: Moves, domain: Domain, *, numbers_only: bool) -> dict[str, AttributeParts]:
    """Return the parts of the attributes that are tested."""
    tested: dict[str, list[Literal]] = {}
    for old, new in moves.items():
        tested.setdefault(old.attribute, []).extend([old] if new is None else [old, new])
    return {
        name: _parts(domain[name], literals)
        for name, literals in tested.items()
        if not (numbers_only and isinstance(domain[name], Category | Binary))
    }


def _only_gap(mask: Bools) -> bool:
    """Return whether a missing value, and it alone, is possible."""
    return bool(mask[-1]) and not mask[:-1].any()


def _stays(old: int, new: int, gap: int) -> bool:
    """Return whether values are left after the move; a missing value alone counts only where it was alone before."""
    return bool(new & ~gap) or new == old == gap


def moved_tree(tree: DecisionTree, moves: Moves, domain: Domain) -> DecisionTree:
    """Return a tree with moved conditions, without the branches that no possible record can take any more."""
    # A branch that only missing values could still take falls away, too, unless it was so before: it would reveal that
    # the people there have no value. Missing values then take the branch that is left; of several, the one of most
    # records.
    space = _space(moves, domain, numbers_only=True)
    lines = {name: NumberLine.of(parts) for name, parts in space.items() if not domain[name].missing}
    for literal in chain.from_iterable(moves.items()):
        if literal is not None and not _one_sided(literal):
            lines.pop(literal.attribute, None)

    @lru_cache(maxsize=MOST_MASKS)
    def where(name: str, literal: Literal | None) -> int:
        return space[name].mask(literal)

    def settle(index: int, state: State) -> tuple[int, list[Kept]]:
        """Pass through nodes with one possible branch to the next leaf or true split."""
        while tree.nodes[index].branches:
            kept = _taken(tree, index, moves, (space, lines), where, state)
            if len(kept) != 1:
                return index, kept
            _, index, state = kept[0]
        return index, []

    root, open_branches = settle(0, {})
    nodes: dict[int, Node] = {}
    stack = [(root, open_branches)]
    while stack:
        index, kept = stack.pop()
        if len(nodes) % BETWEEN == 0:
            current().ask_time("moving the tree's conditions")
        branches = []
        for moved, child, inside in kept:
            settled = settle(child, inside)
            branches.append(Branch(moved, settled[0]))
            stack.append(settled)
        nodes[index] = Node(branches=tuple(branches), evidence=tree.nodes[index].evidence)
    moved_any = any(old != new for old, new in moves.items())
    return replace(tree, nodes=renumbered(nodes, root), approximate=tree.approximate or moved_any)


def _taken(
    tree: DecisionTree,
    index: int,
    moves: Moves,
    spaces: tuple[Mapping[str, AttributeParts], Mapping[str, NumberLine]],
    where: Where,
    state: State,
) -> list[Kept]:
    """Return the branches of a node that stay, each with its moved literal and what is possible behind it."""
    kept: list[Kept] = []
    rest, (space, lines) = dict(state), spaces
    for branch in tree.nodes[index].branches:
        name, moved = branch.literal.attribute, moves[branch.literal]
        if (line := lines.get(name)) is not None:
            inside, rest[name] = line.split(rest.get(name) or line.whole, branch.literal, moved)
            if moved is not None and inside is not None:
                kept.append((moved, branch.child, {**state, name: inside}))
            continue
        if name not in space:
            kept.append((branch.literal if moved is None else moved, branch.child, state))
            continue
        possible, gap = space[name].all_possible, space[name].gap
        old, new = rest.get(name, (possible, possible))
        old_in, new_in = old & where(name, branch.literal), new & where(name, moved)
        if moved is not None and _stays(old_in, new_in, gap):
            kept.append((moved, branch.child, {**state, name: (old_in, new_in)}))
            rest[name] = (old & ~old_in, new & ~new_in)
        else:
            rest[name] = (old & ~old_in, new)
    for name in dict.fromkeys(moved.attribute for moved, _, _ in kept if moved.attribute in rest):
        if name in lines:
            continue
        old_left, new_left = rest[name]
        # Missing values that no branch of the original took are left as they were.
        if new_left & ~old_left & space[name].gap:
            _give_gap(kept, name, tree, space[name].gap)
    return kept


def _give_gap(kept: list[Kept], name: str, tree: DecisionTree, gap: int) -> None:
    """Let missing values of an attribute take the branch of most records, the first of several."""
    able = [i for i, (moved, _, _) in enumerate(kept) if moved.attribute == name]
    at = max(able, key=lambda i: tree.nodes[kept[i][1]].evidence.size or 0)
    moved, child, inside = kept[at]
    old, new = inside[name]
    kept[at] = (replace(moved, missing=True), child, {**inside, name: (old, new | gap)})


def renumbered(nodes: Mapping[int, Node], root: int) -> tuple[Node, ...]:
    """Return the nodes below a root, depth first, their children renumbered."""
    order, stack = [], [root]
    while stack:
        index = stack.pop()
        order.append(index)
        stack += [branch.child for branch in reversed(nodes[index].branches)]
    where = {index: i for i, index in enumerate(order)}
    return tuple(
        Node(branches=tuple(Branch(b.literal, where[b.child]) for b in own.branches), evidence=own.evidence)
        for own in map(nodes.__getitem__, order)
    )


def moved_rules(rules: RuleList, moves: Moves, domain: Domain) -> RuleList:
    """Return a rule list with moved conditions, without the rules that no possible record can satisfy any more."""
    # A rule that only missing values of an attribute could still reach falls away, too, unless it was so before; they
    # go on to the next rule. If it is the default, the rule before it becomes the default. Of earlier rules those count
    # that hold for all values of the other attributes.
    space = _space(moves, domain, numbers_only=False)
    numbers = [name for name in space if not isinstance(domain[name], Category | Binary)]
    # Only where a value may be missing can a missing value alone be left.
    gaps = [name for name in numbers if space[name].possible[-1]]
    earlier: Earlier = {}
    before: Earlier = {}
    kept: list[Rule] = []
    for rule in rules.rules:
        current().ask_time("moving the rules' conditions")
        moved = [moves[literal] for literal in rule.antecedent]
        old = _inside(rule.antecedent, rule.antecedent, space)
        new = _inside(rule.antecedent, moved, space)
        lost = any(
            _only_gap(_rest(name, new, earlier, space)) and not _only_gap(_rest(name, old, before, space))
            for name in gaps
        )
        _add(before, old, space)
        if any(not new[name].any() for name in numbers if name in new) or (lost and rule.antecedent):
            continue
        evidence = rule.evidence
        if lost and kept:
            # The earlier rules hold every number, so the last of them can stand for all that is left.
            evidence = kept.pop().evidence
        _add(earlier, new, space)
        antecedent = tuple(dict.fromkeys(literal for literal in moved if literal is not None))
        kept.append(replace(rule, antecedent=antecedent, evidence=evidence))
    changed = any(k != v for k, v in moves.items())
    return replace(rules, rules=tuple(kept), approximate=rules.approximate or changed)


def _inside(
    antecedent: Iterable[Literal], literals: Iterable[Literal | None], space: Mapping[str, AttributeParts]
) -> dict[str, Bools]:
    """Return what a conjunction leaves possible of each attribute that it tests."""
    inside: dict[str, Bools] = {}
    for literal, moved in zip(antecedent, literals, strict=True):
        parts = space[literal.attribute]
        inside[literal.attribute] = inside.get(literal.attribute, parts.possible) & parts.where(moved)
    return inside


def _add(earlier: Earlier, inside: Mapping[str, Bools], space: Mapping[str, AttributeParts]) -> None:
    """Add what a rule leaves possible to that of earlier ones, by the attributes of which it leaves something out."""
    own = {name: mask for name, mask in inside.items() if (space[name].possible & ~mask).any()}
    earlier.setdefault(frozenset(own), []).append(own)


def _rest(name: str, inside: Mapping[str, Bools], earlier: Earlier, space: Mapping[str, AttributeParts]) -> Bools:
    """Return what is possible of an attribute under a rule and under no earlier one."""
    rest = inside.get(name, space[name].possible).copy()
    for tested, rules in earlier.items():
        others = tested - {name}
        # Of an attribute that this rule does not test, what an earlier one leaves out stays possible.
        if others <= inside.keys():
            for one in rules:
                if not any((inside[other] & ~one[other]).any() for other in others):
                    rest &= ~one.get(name, space[name].possible)
    return rest


# Trees whose leaves of too few, or too similar, records are merged.


def merge_leaves(
    tree: DecisionTree, sizes: Mapping[int, int], below: int, *, purity: float = 1.0, exact: bool = True
) -> DecisionTree:
    """Return a tree without the splits that have a leaf that fails, the deepest undone first.

    A leaf without records does not fail. A merged leaf publishes what its split published, completed
    by the sums of its leaves.

    Parameters
    ----------
    tree : DecisionTree
        The tree.
    sizes : mapping of int to int
        Records of each leaf, by the index of its node.
    below : int
        Leaves of fewer records fail.
    purity : float, default=1.0
        Leaves of which one class has a larger share fail; 1 allows all. It needs class counts at every leaf.
    exact : bool, default=True
        Whether the sizes are those of the records. If not, a leaf of size 0 may hold records, and fails.
    """
    order, stack = [], [0]
    while stack:
        index = stack.pop()
        order.append(index)
        stack += [branch.child for branch in tree.nodes[index].branches]
    nodes, sizes_now = dict(enumerate(tree.nodes)), dict(sizes)

    def fails(index: int) -> bool:
        node, size = nodes[index], sizes_now[index]
        if node.branches or (exact and not size):
            return False
        counts = node.evidence.counts or (0,)
        # Sizes may be numbers of people, of whom one has several of the records that counts have.
        return size < below or (purity < 1 and max(counts) > purity * sum(counts))

    for index in reversed(order):
        children = [branch.child for branch in nodes[index].branches]
        if not children:
            continue
        sizes_now[index] = sum(sizes_now[child] for child in children)
        if any(fails(child) for child in children):
            # What is below was merged before: its leaves are the children, and splits that stayed.
            parts = [(nodes[i].evidence, sizes_now[i]) for i in _leaves(nodes, index)]
            nodes[index] = Node(evidence=_joined(parts, nodes[index].evidence))
    return replace(tree, nodes=renumbered(nodes, 0))


def _leaves(nodes: Mapping[int, Node], root: int) -> list[int]:
    out, stack = [], [root]
    while stack:
        index = stack.pop()
        if not nodes[index].branches:
            out.append(index)
        stack += [branch.child for branch in nodes[index].branches]
    return out


def _joined(parts: list[tuple[Evidence, int]], own: Evidence) -> Evidence:
    """Return the evidence of merged leaves and their sizes: what the split published, completed by their sums."""
    published = [(evidence.counts, evidence.size) for evidence, _ in parts]
    counts: tuple[int, ...] | None = None
    if all(c is not None for c, _ in published):
        counts = tuple(map(sum, zip(*(c or () for c, _ in published), strict=True)))
    total = sum(size or 0 for _, size in published) if all(size is not None for _, size in published) else None
    weight = sum(size for _, size in parts)
    value = own.value
    if value is None and weight and all(evidence.value is not None for evidence, _ in parts):
        value = math.fsum(size * (evidence.value or 0.0) for evidence, size in parts) / weight
    if counts is not None:
        return Evidence(counts=counts, label=counts.index(max(counts)))
    votes: dict[int, int] = {}
    for evidence, size in parts:
        if evidence.label is not None:
            votes[evidence.label] = votes.get(evidence.label, 0) + size
    label = max(sorted(votes), key=votes.__getitem__) if votes else own.label
    return Evidence(total=total, label=label, value=value)


# Models with the numbers of records that are counted in data.


def with_sizes(model: DecisionTree | RuleList, sizes: Sequence[int]) -> DecisionTree | RuleList:
    """Return a model that publishes these numbers of records in its leaves or rules, as exact ones, and no others."""
    size_of = dict(zip((cell.node for cell in model.cells), map(int, sizes), strict=True))
    claim = None if model.guarantee is None else replace(model.guarantee, count_scale=None)

    def resized(index: int, evidence: Evidence) -> Evidence:
        return Evidence(
            total=size_of.get(index), label=evidence.prediction, value=evidence.value, weighted=evidence.weighted
        )

    return replace(rewritten(model, evidence=resized), approximate=False, guarantee=claim, sizes="stored")


# Models whose parts are replaced one by one.

M = TypeVar("M", bound=DecisionTree | RuleList)


def rewritten(
    model: M,
    *,
    literals: Mapping[Literal, Literal] | None = None,
    evidence: Callable[[int, Evidence], Evidence] | None = None,
    approximate: bool | None = None,
) -> M:
    """Return a model with other conditions, and other evidence of the node or rule at each place.

    A condition stays one on its attribute. ``approximate`` says whether counts are rounded then, by default as before.
    """
    moved = literals or {}
    names = {own.attribute for own in moved}
    exactness = model.approximate if approximate is None else approximate
    if isinstance(model, DecisionTree):
        nodes = []
        for place, node in enumerate(model.nodes):
            own = node.evidence if evidence is None else evidence(place, node.evidence)
            branches = node.branches
            # Most nodes of a large tree stay as they are.
            if names and branches and not names.isdisjoint([branch.literal.attribute for branch in branches]):
                branches = tuple(Branch(moved.get(b.literal, b.literal), b.child) for b in branches)
            unchanged = own is node.evidence and branches is node.branches
            nodes.append(node if unchanged else Node(branches=branches, evidence=own))
        if evidence is None and exactness is model.approximate:
            return model.with_nodes(nodes)
        return replace(model, nodes=tuple(nodes), approximate=exactness)
    rules = (
        replace(
            rule,
            antecedent=tuple(moved.get(literal, literal) for literal in rule.antecedent),
            evidence=rule.evidence if evidence is None else evidence(place, rule.evidence),
        )
        for place, rule in enumerate(model.rules)
    )
    return replace(model, rules=tuple(rules), approximate=exactness)
