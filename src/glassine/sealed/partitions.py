"""Trees on the groups of a partition: one draw of the exponential mechanism on each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from glassine.compiling.slices import Progress
from glassine.privacy.accounting import Event, Parallel, Stated
from glassine.privacy.randomness import Randomness
from glassine.records.arrays import Bools, Ints
from glassine.records.bits import BitSets
from glassine.records.columns import ConformedColumns
from glassine.sealed.accounts import Allowance
from glassine.sealed.losses import LeafCosts
from glassine.sealed.queries import Gibbs
from glassine.sealed.questions import Query
from glassine.sealed.tree_family import Tree
from glassine.sealed.trees import TreeClass
from glassine.sealed.weighting import Weighting

PROOF = "surrogates/private_trees.md"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Grouped:
    """Records in groups.

    Shapes: ``targets``, the class, and ``groups``, both (n,); a record of class -1 is left out. Of a number the class
    is that of its parts: how many of ``PARTS`` equal steps it lies above the lower end of its public range.
    """

    columns: ConformedColumns
    targets: Ints
    groups: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTrees(Query[tuple[Tree, ...]]):
    """One private tree a group, those without records included.

    Guarantee
    ---------
    Where the group of a record follows from that record and public knowledge alone, all trees together cost what one
    does. Where it follows from all records, they cost twice as much for the label of one record, with ``labels_only``;
    for more than the labels nothing follows for all of them together. See ``surrogates/private_trees.md``.
    """

    members: TreeClass  # The trees of one group: public conditions
    n_groups: int
    labels_only: bool = False  # Whether the neighbors differ in one label, and the groups are the same

    def of_one(self) -> Gibbs[Tree]:
        """Return the draw of one tree."""
        drawn = "labels" if self.members.loss.counts_errors else "leaf values"
        name = f"structure and {drawn} of a group's tree"
        return Gibbs(members=self.members, prior=1.0, slack=self.members.rounding(), name=name)

    def _each(self, part: Allowance) -> Allowance:
        """Return what one tree may spend: another label is one record less, and one more."""
        return replace(part, epsilon=part.epsilon / 2, total=part.total / 2) if self.labels_only else part

    def events(self, part: Allowance) -> tuple[Event, ...]:
        """Return what all trees cost; it is the same for any records."""
        if self.labels_only:
            name = "one tree on each group, the groups and representatives public"
            return (Stated(name=name, epsilon=float(part.epsilon), proof=PROOF),)
        one = self.of_one().events(part)
        return (Parallel(name="one tree on each group", branches=(one,) * self.n_groups, proof=PROOF),)

    def draw(
        self, records: Grouped, part: Allowance, randomness: Randomness, progress: Progress | None
    ) -> tuple[Tree, ...]:
        """Draw a tree for each group in turn."""
        weighting = Weighting.private(self.of_one().rate(self._each(part)), 1.0, self.members.loss.unit)
        return tuple(self.members.sums(bitsets, weighting).draw(randomness) for bitsets in self._groups(records))

    def exact(self, records: Grouped) -> tuple[Tree, ...]:
        """Return a tree of least cost for each group."""
        return tuple(self.members.sums(bitsets, Weighting.optimal(0.0)).best() for bitsets in self._groups(records))

    def _groups(self, records: Grouped) -> Iterator[BitSets]:
        """Yield the bit sets of the records of each group."""
        truths = [records.columns.holds(literal) for literal in self.members.logic.literals]
        for group in range(self.n_groups):
            rows = np.flatnonzero((records.groups == group) & (records.targets >= 0))
            yield packed([truth[rows] for truth in truths], records.targets[rows], self.members.loss)

    def load(self) -> None:
        """Load the kernels of the class."""
        self.members.load()


def packed(truths: Sequence[Bools], targets: Ints, loss: LeafCosts) -> BitSets:
    """Return the records of a group as bit sets: of classes, shape (n,), or of the parts of numbers."""
    if loss.parts == 1:
        return BitSets.pack(truths, targets, loss.n_classes)
    return BitSets.pack_counts(truths, np.column_stack([loss.parts - targets, targets]))
