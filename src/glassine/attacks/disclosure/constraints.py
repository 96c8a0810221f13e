"""What the internal nodes reveal: no candidate split was better than the one that was chosen.

With x the number of people of each quasi-identifier and class, E(W) the impurity that a candidate W leaves at a node,
in people, and T the split that was chosen there, the constraint is ``E(W) - E(T) >= 0``; of the gain ratio it is
``E(W) - H + (S_W / S_T) (H - E(T)) >= 0``, with H the impurity of the node and S the split information, which
depends on the sizes of the branches alone. E and H are concave in x. Where the reader knows the class counts of the
leaves, E(T) and H are known numbers, so that both forms describe a convex set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure.adversary import Adversary
from glassine.attacks.disclosure.candidate_splits import (
    MULTIWAY,
    ONE_VALUE,
    THRESHOLD,
    View,
    compared_views,
    worst_slacks,
)
from glassine.attacks.disclosure.people import People, PeopleSplit
from glassine.learners.greedy.impurity import Criterion, impurity, split_information
from glassine.models import DecisionTree
from glassine.records.arrays import AnyArray, Array, Bools, Ints

# Which candidate splits the learner is known to have looked at: those it had, with enough people in every branch.


def allowed_candidates(families: Families, people: People, smallest: int | None, members: Array | None) -> Bools:
    """Return which candidates are known to have been allowed, shape (g,): that at each group of the families."""
    # Shapes: members (l,), or None.
    out = families.compared.copy()
    if smallest == 1 and members is not None:
        # A branch that is empty gains nothing, so that its constraint holds by itself.
        return out
    for f in range(len(families)):
        first, last = int(families.families[f]), int(families.families[f + 1])
        if smallest is None:
            out[first:last] = False
            continue
        kind = families.kinds[f]
        if members is None:
            parts = families.sizes[first:last].astype(np.float64)
            whole = parts.sum()
            one = np.cumsum(parts) if kind == THRESHOLD else parts
            least = parts if kind == MULTIWAY else np.minimum(one, whole - one)
        else:
            least = _certain(families, people, f, members)
        out[first:last] &= (least >= smallest).all() if kind == MULTIWAY else least >= smallest
    return out


def _certain(families: Families, people: People, f: int, members: Array) -> Array:
    """Return the training records that are certain to be in the smaller branch of each candidate of a family."""
    first, last = int(families.families[f]), int(families.families[f + 1])
    own_members = families.members(f)
    group = np.repeat(np.arange(last - first), np.diff(families.groups[first : last + 1]))
    leaves, leaf = np.unique(people.leaf[own_members], return_inverse=True)
    table = np.zeros((last - first, len(leaves)))
    np.add.at(table, (group, leaf), people.sizes[own_members])
    whole, own = table.sum(axis=0), members[leaves]
    one = np.cumsum(table, axis=0) if families.kinds[f] == THRESHOLD else table
    inside = np.maximum(own - (whole - one), 0.0).sum(axis=1)
    if families.kinds[f] == MULTIWAY:
        return np.asarray(inside)
    return np.asarray(np.minimum(inside, np.maximum(own - one, 0.0).sum(axis=1)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cut:
    """A linear inequality: the sum of ``coefficients[branch, c] * x[member, c]`` is at least ``bound``."""

    # family, at: the candidate that it stands for.
    family: int
    at: int
    # members, branch: quasi-identifiers, and the row of the coefficients of each; shape (m,).
    members: npt.NDArray[np.int32]
    branch: npt.NDArray[np.int32]
    coefficients: Array  # The tangent; shape (b, c)
    bound: float  # The right-hand side
    slackness: float  # By how much the constraint is looser than the right-hand side says, in people


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Families:
    """Candidate splits, one family for each node and view of an attribute, as flat arrays.

    A family holds the quasi-identifiers of its node, grouped as the view says. Of kind :data:`MULTIWAY` it is
    one candidate, a branch for each group; of kind :data:`THRESHOLD` the candidate at g has the groups up to g on one
    side; of kind :data:`ONE_VALUE` the candidate g has that group alone on one side.
    """

    order: npt.NDArray[np.int32]  # Quasi-identifiers, family by family and group by group; shape (t,)
    groups: Ints  # Where each group starts in ``order``; shape (g + 1,)
    families: Ints  # Where each family starts among the groups; shape (f + 1,)
    sizes: Ints  # Number of people of each group; shape (g,)
    # kinds, splits: the kind of each family, and the split, among those of the people, with which it competes; shape
    # (f,).
    kinds: Ints
    splits: Ints
    views: tuple[View, ...]  # The attribute of each family, as the learner compared it
    values: npt.NDArray[np.int32]  # Number of each group in its view; shape (g,)
    compared: Bools  # Whether the learner had the candidate at each group; shape (g,)

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attribute of each family, length f."""
        return tuple(view.attribute for view in self.views)

    def members(self, family: int) -> npt.NDArray[np.int32]:
        """Return the quasi-identifiers of a family, group by group."""
        first, last = self.families[family], self.families[family + 1]
        return self.order[self.groups[first] : self.groups[last]]

    def branches(self, family: int, at: int) -> npt.NDArray[np.int32]:
        """Return the branch that each member takes in one candidate of a family."""
        first, last = int(self.families[family]), int(self.families[family + 1])
        spans = np.diff(self.groups[first : last + 1])
        group = np.repeat(np.arange(last - first, dtype=np.int32), spans)
        if self.kinds[family] == MULTIWAY:
            return group
        return (group > at if self.kinds[family] == THRESHOLD else group != at).astype(np.int32)

    def branch_sizes(self, family: int, at: int) -> Ints:
        """Return the number of people in each branch of one candidate."""
        sizes = self.sizes[self.families[family] : self.families[family + 1]]
        if self.kinds[family] == MULTIWAY:
            return sizes
        one = sizes[: at + 1].sum() if self.kinds[family] == THRESHOLD else sizes[at]
        return np.array([one, sizes.sum() - one])

    @property
    def n_candidates(self) -> int:
        """Number of candidates: the chosen split is one where thresholds or single values compete with their like."""
        groups = np.diff(self.families)
        # The last group of a family of thresholds is no candidate, nor are the values without a column of their own.
        had = np.add.reduceat(self.compared.astype(np.int64), self.families[:-1]) if len(self) else groups
        each = np.where(self.kinds == MULTIWAY, 1, np.where(self.kinds == THRESHOLD, groups - 1, had))
        two = (self.kinds == ONE_VALUE) & (groups == 2)
        return int(np.where(two, 1, each).sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeTerms:
    """What the splits' own side of the constraints comes to, each of shape (v,)."""

    chosen: Array  # E(T), in people
    whole: Array  # H, the impurity of the node, in people


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Worst:
    """The candidate of each family with the least slack."""

    # By how much the chosen split is better, in people; negative where a constraint is violated, infinite where no
    # candidate is allowed; shape (f,).
    slack: Array
    at: Ints  # Which candidate of the family it is; shape (f,)


@dataclass(frozen=True, slots=True)
class Clash:
    """A node and a candidate split of it.

    Attributes
    ----------
    node : int
        Index of the node in the tree.
    candidate : str
        The split that it competes with.
    """

    node: int
    candidate: str

    def __str__(self) -> str:
        return f"node {self.node} against {self.candidate}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Constraints:
    """The internal constraints of a tree as functions of x, the people of each quasi-identifier and class.

    Of a sample, x has one more column: the people who are not in it.
    """

    people: People  # The people and the splits
    criterion: Criterion  # The measure by which splits were selected
    families: Families  # The candidates
    divisors: Array  # Split information of the chosen splits; 1 where the criterion does not divide; shape (v,)
    smallest: int | None  # Fewest training records of a branch of a candidate; None if it is not known
    allowed: Bools  # Which candidates are known to have been looked at; shape (g,)
    sampled: bool  # Whether the training records are an unknown sample of the people
    tolerance: float  # By how much of a node's size a candidate may be better
    notes: tuple[str, ...]  # Which candidates were left out, and why
    node_sizes: Array

    @property
    def divides(self) -> bool:
        """Whether the criterion divides gains by split information."""
        return self.criterion == "gain_ratio"

    def counted(self, x: AnyArray) -> AnyArray:
        """Return the training records of a table, shape (..., c): its columns of classes."""
        return x[..., :-1] if self.sampled else x

    def terms(self, x: Array) -> NodeTerms:
        """Return E(T) and H of every split at x, shape (q, c)."""
        chosen, whole = [], []
        for split in self.people.splits:
            table = branch_counts(self.counted(x), split.members, split.branch)
            chosen.append(float(impurity(table, self.criterion).sum()))
            whole.append(float(impurity(table.sum(axis=0), self.criterion)))
        return NodeTerms(chosen=np.array(chosen), whole=np.array(whole))

    def worst(self, x: Array, terms: NodeTerms | None = None) -> Worst:
        """Return the candidate of least slack in every family at x, shape (q, c); ``terms`` are those of x by default.

        Where the class counts of the leaves are known, the terms are the same for every x that has them.
        """
        own_terms = terms or self.terms(x)
        records = np.ascontiguousarray(self.counted(x), dtype=np.float64)
        slack, at = worst_slacks(
            records, self.families, own_terms.chosen, own_terms.whole, self.divisors, self.criterion, self.allowed,
            self._group_sizes(records),
        )  # fmt: skip
        return Worst(slack=slack, at=at)

    def _group_sizes(self, records: Array) -> Array:
        """Return the training records of each group of the families."""
        if not self.sampled or not len(self.families):
            return self.families.sizes.astype(np.float64)
        # No group is empty.
        return np.asarray(np.add.reduceat(records.sum(axis=1)[self.families.order], self.families.groups[:-1]))

    def allowance(self) -> Array:
        """Return for every family how much better than the split its candidates may be, in people."""
        return np.asarray(self.tolerance * self.node_sizes[self.families.splits])

    def violations(self, x: npt.ArrayLike) -> tuple[Clash, ...]:
        """Return the constraints that a table breaks, the worst candidate of each node and attribute, worst first."""
        # Shapes: x (q, c).
        table = np.asarray(x, dtype=np.float64)
        worst = self.worst(table)
        broken = np.flatnonzero(worst.slack < -self.allowance())
        return tuple(self.clash(int(f), int(worst.at[f])) for f in broken[np.argsort(worst.slack[broken])])

    def satisfied(self, x: npt.ArrayLike) -> bool:
        """Return whether a table of people, shape (q, c), satisfies every internal constraint."""
        table = np.asarray(x, dtype=np.float64)
        return bool((self.worst(table).slack >= -self.allowance()).all())

    def clash(self, family: int, at: int) -> Clash:
        """Return a candidate by name."""
        split = self.people.splits[int(self.families.splits[family])]
        first = int(self.families.families[family])
        return Clash(split.node, self.families.views[family].name(int(self.families.values[first + at])))


def branch_counts(x: Array, members: AnyArray, branch: AnyArray) -> Array:
    """Return the people of each branch and class, shape (b, c)."""
    out = np.zeros((int(branch.max()) + 1, x.shape[1]))
    np.add.at(out, branch, x[members])
    return out


def derive_constraints(
    model: DecisionTree, people: People, adversary: Adversary, *, sampled: bool = False, members: Array | None = None
) -> Constraints:
    """Return the constraints that the internal nodes of a tree impose."""
    # Shapes: members (l,), optional.
    notes: list[str] = []
    sizes_of = members if sampled else people.leaf_sizes.astype(np.float64)
    smallest = adversary.min_samples_leaf
    if smallest is None and sizes_of is not None:
        # An empty leaf was allowed too, and says nothing of the others.
        smallest = int(sizes_of[sizes_of > 0].min(initial=np.inf)) if (sizes_of > 0).any() else 1
    if smallest is None and adversary.internal_nodes:
        notes.append("Without the sizes of the leaves no candidate is known to have been allowed: min_samples_leaf=1.")
    splits: tuple[PeopleSplit, ...] = people.splits if adversary.internal_nodes else ()
    building = _Building(people)
    divisors = np.ones(len(people.splits))
    views: list[View] = []
    if adversary.internal_nodes:
        views, left_out = compared_views(model, people, adversary)
        absent = [name for name in model.attributes if name not in people.columns]
        if absent:
            notes.append(f"Nothing is known about {', '.join(absent)}: its splits are not among the candidates.")
        notes += left_out
    for i, split in enumerate(splits):
        sizes = _branch_sizes(people, split, members if sampled else None)
        if adversary.criterion == "gain_ratio":
            divisors[i] = split_information(sizes[sizes > 0]) if (sizes > 0).sum() > 1 else 0.0
            if not divisors[i] > 0:
                notes.append(f"Node {split.node} sends everyone into one branch: its gain ratio is not defined.")
                continue
        for view in views:
            if adversary.candidates == "all_attributes" or view.attribute == split.attribute:
                building.add(i, split, view, smallest=None if sampled else smallest)
    notes += [f"{name} is missing for some: where it is, its splits are not among the candidates."
              for name in sorted(building.gappy)]  # fmt: skip
    families = building.finish()
    if sampled and smallest is not None and smallest > 1:
        notes.append(
            f"Candidates take part where at least {smallest} training records are certain to be in each branch."
        )
    return Constraints(
        people=people,
        criterion=adversary.criterion,
        families=families,
        divisors=divisors,
        smallest=smallest,
        allowed=allowed_candidates(families, people, smallest, _members(people, sampled, members)),
        sampled=sampled,
        tolerance=adversary.tolerance,
        notes=tuple(notes),
        node_sizes=np.array([people.sizes[s.members].sum() for s in people.splits], dtype=np.float64),
    )


def _members(people: People, sampled: bool, members: Array | None) -> Array | None:
    """Return how many of each leaf's people are in the sample at least; None where all are."""
    return None if not sampled else np.zeros(len(people.leaf_nodes)) if members is None else members


def _branch_sizes(people: People, split: PeopleSplit, members: Array | None) -> Array:
    """Return the people of each branch of a split, or the training records among them."""
    if members is None:
        return np.bincount(split.branch, weights=people.sizes[split.members]).astype(np.float64)
    pairs = np.unique(np.stack([split.branch, people.leaf[split.members]]), axis=1)
    return np.bincount(pairs[0], weights=members[pairs[1]]).astype(np.float64)


class _Building:
    """The flat arrays of candidates in the making."""

    def __init__(self, people: People) -> None:
        self.people = people
        self.gappy: set[str] = set()
        self.orders: list[npt.NDArray[np.int32]] = []
        self.spans: list[Ints] = []
        self.sizes: list[Ints] = []
        self.values: list[npt.NDArray[np.int32]] = []
        self.heads: list[tuple[int, int, View]] = []

    def add(self, i: int, split: PeopleSplit, view: View, *, smallest: int | None) -> None:
        """Add the candidates of one attribute at one split, if there are any."""
        codes = view.of(split.members)
        if codes.min() < 0:
            self.gappy.add(view.attribute)
            return
        order = np.argsort(codes, kind="stable")
        ordered = codes[order]
        starts = np.concatenate([[0], np.flatnonzero(np.diff(ordered)) + 1])
        if len(starts) < 2 or (view.kind == MULTIWAY and view.attribute == split.attribute):
            return
        if view.kind == ONE_VALUE and not view.compared[ordered[starts]].any():
            return
        members = split.members[order]
        sizes = np.add.reduceat(self.people.sizes[members], starts)
        if view.kind == MULTIWAY and smallest is not None and sizes.min() < smallest:
            return
        ends = np.concatenate([starts[1:], [len(members)]])
        self.orders.append(members)
        self.spans.append((ends - starts).astype(np.int64))
        self.sizes.append(sizes)
        self.values.append(ordered[starts])
        self.heads.append((len(starts), i, view))

    def finish(self) -> Families:
        """Return the arrays."""
        none = np.zeros(0, dtype=np.int64)
        groups = np.concatenate([none, *self.spans])
        views = [head[2] for head in self.heads]
        return Families(
            order=np.concatenate([none.astype(np.int32), *self.orders]),
            groups=np.concatenate([[0], np.cumsum(groups)]).astype(np.int64),
            families=np.concatenate([[0], np.cumsum([head[0] for head in self.heads])]).astype(np.int64),
            sizes=np.concatenate([none, *self.sizes]),
            kinds=np.array([view.kind for view in views], dtype=np.int64),
            splits=np.array([head[1] for head in self.heads], dtype=np.int64),
            views=tuple(views),
            values=np.concatenate([none.astype(np.int32), *self.values]),
            compared=np.concatenate(
                [none.astype(bool), *(v.compared[at] for v, at in zip(views, self.values, strict=True))]
            ),
        )
