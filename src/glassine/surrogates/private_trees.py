"""Private group trees: one draw of the exponential mechanism on each of several disjoint groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from glassine.counting.logic import LiteralLogic
from glassine.data.bits import BitSets
from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.domain.grid import few_cuts, with_cuts
from glassine.learners.antecedents import declared
from glassine.learners.budget import ONE_FIT, RECORDS, REFUSALS, TIMING, Budget, refuse_small_rate, selection_event
from glassine.models.guarantee import DOMAIN_FROM_DATA
from glassine.privacy.accounting import Parallel, Stated
from glassine.privacy.certificate import Certificate
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import EXACT_DRAWS, Paid
from glassine.records.arrays import Bools, Ints
from glassine.records.columns import Columns
from glassine.sealed.gibbs import Weighting, exact_rate, powers_bytes
from glassine.sealed.losses import MOST_STEPS, Loss
from glassine.sealed.model_class import as_fine_as_summed
from glassine.sealed.trees import Tree, TreeClass

CUTS = 7
"""Most public cut points of a number that is declared without thresholds: they cut its range into eight.

A group's tree is drawn from few records, and its loss grows with the logarithm of the number of cut points."""

MEMORY_LIMIT, TIME_LIMIT = 4e9, 3600.0
"""Bytes and seconds that all trees may take; the memory is that of the learners' default, the time six of theirs."""

PROOF = "surrogates/private_trees.md"

LABELS_ONLY = "change the true label of one record; all other attributes are public"

FIXED = "the black box answers each record independently, and is the same function for all datasets"

ANSWERED = "the black box answers every record of the domain with one label, or one number"
"""It is asked on no other record; a fit in which it fails is refused."""


def where_private_trees_split(domain: Domain) -> Domain:
    """Return a domain that declares as thresholds where private trees may split: its own, or few cut points."""
    return with_cuts(domain, partial(few_cuts, size=CUTS))


def tree_class_of(domain: Domain, classes: Sequence[Scalar] | None, depth: int) -> TreeClass:
    """Return all trees of a depth over the public cut points and values of a domain; without classes, of numbers."""
    literals = declared(where_private_trees_split(domain), domain.names)
    logic = LiteralLogic.of(domain, literals, up_to_negation=True)
    if classes is not None:
        return TreeClass(logic=logic, depth=depth, loss=Loss.errors(len(classes)))
    members = TreeClass(logic=logic, depth=depth, loss=Loss.squares(MOST_STEPS))
    return as_fine_as_summed(members, Loss.squares)


def tree_budget(epsilon: float, trees: TreeClass, n_groups: int) -> Budget:
    """Return the budget of each tree, or refuse the draw; nothing is drawn."""
    # Nothing is spent on thresholds or counts: a tree has public ones, and publishes none.
    budget = Budget.split(epsilon, literals_share=0.2, counts_share=0.0, with_literals=False)
    slack = trees.rounding()
    refuse_small_rate(budget, slack, trees.loss.parts * trees.loss.unit)
    trees.refuse_too_large(
        memory_limit=MEMORY_LIMIT,
        time_limit=TIME_LIMIT,
        more_bytes=powers_bytes(budget.total / trees.loss.parts, trees.loss.unit),
        part_weight=1.0,
        times=n_groups,
    )
    return budget


def partition_event(budget: Budget, trees: TreeClass, n_groups: int) -> Parallel:
    """Return the event of one tree on each group; it is the same for any records."""
    slack, units = trees.rounding(), trees.loss.parts * trees.loss.unit
    spent = exact_rate(budget.selection(slack) / units) * units
    name = f"structure and {'labels' if trees.loss.counts_errors else 'leaf values'} of a group's tree"
    event = selection_event(name, spent, slack, budget, "learners/exhaustive/private.md")
    return Parallel(name="one tree on each group", branches=((event,),) * n_groups, proof=PROOF)


def draw_trees(
    columns: Columns,
    targets: Ints,
    groups: Ints,
    n_groups: int,
    *,
    budget: Budget,
    trees: TreeClass,
    randomness: Randomness,
) -> tuple[Tree, ...]:
    """Draw one private tree a group, those without records included.

    Shapes: ``targets``, the class, and ``groups``, both (n,); a record of class -1 is left out. Of a number the class
    is that of its parts: how many of ``PARTS`` equal steps it lies above the lower end of its public range.

    Guarantee
    ---------
    Where the group of a record follows from that record and public knowledge alone, all trees together are
    ``budget.total``-differentially private for adding or removing one record. Where it does not, each tree is so as a
    function of its group's records, and nothing follows for all of them together. See ``private_trees.md``.
    """
    loss = trees.loss
    epsilon = budget.selection(trees.rounding()) / loss.parts
    truths = [columns.holds(literal) for literal in trees.logic.literals]
    drawn = []
    for group in range(n_groups):
        rows = np.flatnonzero((groups == group) & (targets >= 0))
        bitsets = _packed([truth[rows] for truth in truths], targets[rows], loss)
        weighting = Weighting.private(epsilon, 1.0, len(rows) * loss.parts, loss.unit)
        drawn.append(trees.sums(bitsets, weighting).draw(randomness))
    return tuple(drawn)


def _packed(truths: Sequence[Bools], targets: Ints, loss: Loss) -> BitSets:
    """Return the records of a group as bit sets: of classes, shape (n,), or of the parts of numbers."""
    if loss.parts == 1:
        return BitSets.pack(truths, targets, loss.n_classes)
    return BitSets.pack_counts(truths, np.column_stack([loss.parts - targets, targets]))


def certify_partition(
    epsilon: float, event: Parallel, paid: Paid, public: dict[str, Any], *, black_box_labels: bool
) -> Certificate:
    """Return the certificate of trees on a partition into public cells."""
    assumptions = (RECORDS, REFUSALS, ANSWERED, TIMING, ONE_FIT, *((FIXED,) if black_box_labels else ()))
    return Certificate(
        epsilon=float(epsilon),
        events=(event,),
        assumptions=(*assumptions, *paid.assumptions),
        caveats=paid.caveats,
        public=public,
        randomness=paid.origin,
        arithmetic=EXACT_DRAWS,
        receipt=paid.receipt,
    )


def certify_labels(epsilon: float, paid: Paid, public: dict[str, Any]) -> Certificate:
    """Return the certificate of trees on groups that follow from all attributes: it covers the true labels alone.

    Guarantee
    ---------
    ``2 * epsilon``-differential privacy of the true labels: for changing the label of one record, where the records'
    attributes are public. See ``private_trees.md``.
    """
    event = Stated(
        name="one tree on each group, the groups and representatives public", epsilon=2 * epsilon, proof=PROOF
    )
    return Certificate(
        epsilon=2 * float(epsilon),
        events=(event,),
        neighboring=LABELS_ONLY,
        assumptions=(RECORDS, REFUSALS, TIMING, ONE_FIT, *paid.assumptions),
        # With attributes public, so are the bounds that were taken from them.
        caveats=tuple(caveat for caveat in paid.caveats if caveat != DOMAIN_FROM_DATA),
        public=public,
        randomness=paid.origin,
        arithmetic=EXACT_DRAWS,
        receipt=paid.receipt,
    )
