"""Private group trees: one draw of the exponential mechanism on each of several disjoint groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from glassine.counting.logic import LiteralLogic
from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.domain.grid import few_cuts, with_cuts
from glassine.learners.antecedents import declared
from glassine.learners.budget import ONE_FIT, RECORDS, REFUSALS, TIMING, FitBudget, refuse_small_rate
from glassine.models.guarantee import DOMAIN_FROM_DATA
from glassine.privacy.accounting import Event
from glassine.privacy.certificate import Certificate
from glassine.privacy.release import EXACT_DRAWS, Paid
from glassine.sealed.losses import MOST_STEPS, LeafCosts
from glassine.sealed.model_class import as_fine_as_summed
from glassine.sealed.trees import TreeClass
from glassine.sealed.weighting import powers_bytes

CUTS = 7
"""Most public cut points of a number that is declared without thresholds: they cut its range into eight.

A group's tree is drawn from few records, and its loss grows with the logarithm of the number of cut points."""

MEMORY_LIMIT, TIME_LIMIT = 4e9, 3600.0
"""Bytes and seconds that all trees may take; the memory is that of the learners' default, the time six of theirs."""

LABELS_ONLY = "change the true label of one record; all other attributes are public"

FIXED = "the black box answers each record independently, and is the same function for all datasets"

ANSWERED = "the black box answers every record of the domain with one label, or one number"
"""On records it is asked after the charge alone; a fit in which it fails there ends with the one constant error."""


def where_private_trees_split(domain: Domain) -> Domain:
    """Return a domain that declares as thresholds where private trees may split: its own, or few cut points."""
    return with_cuts(domain, partial(few_cuts, size=CUTS))


def tree_class_of(domain: Domain, classes: Sequence[Scalar] | None, depth: int) -> TreeClass:
    """Return all trees of a depth over the public cut points and values of a domain; without classes, of numbers."""
    literals = declared(where_private_trees_split(domain), domain.names)
    logic = LiteralLogic.of(domain, literals, up_to_negation=True)
    if classes is not None:
        return TreeClass(logic=logic, depth=depth, loss=LeafCosts.errors(len(classes)))
    members = TreeClass(logic=logic, depth=depth, loss=LeafCosts.squares(MOST_STEPS))
    return as_fine_as_summed(members, LeafCosts.squares)


def tree_budget(epsilon: float, trees: TreeClass, n_groups: int) -> FitBudget:
    """Return the budget of each tree, or refuse the draw; nothing is drawn."""
    # Nothing is spent on thresholds or counts: a tree has public ones, and publishes none.
    budget = FitBudget.split(epsilon, literals_share=0.2, counts_share=0.0, with_literals=False)
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


def certify_partition(
    epsilon: float, events: tuple[Event, ...], paid: Paid, public: dict[str, Any], *, asks_black_box: bool
) -> Certificate:
    """Return the certificate of trees on a partition into public cells."""
    assumptions = (RECORDS, *REFUSALS, ANSWERED, TIMING, ONE_FIT, *((FIXED,) if asks_black_box else ()))
    return Certificate(
        epsilon=float(epsilon),
        events=events,
        assumptions=(*assumptions, *paid.assumptions),
        caveats=paid.caveats,
        public=public,
        randomness=paid.origin,
        arithmetic=EXACT_DRAWS,
        receipt=paid.receipt,
    )


def certify_labels(epsilon: float, events: tuple[Event, ...], paid: Paid, public: dict[str, Any]) -> Certificate:
    """Return the certificate of trees on groups that follow from all attributes: it covers the true labels alone.

    Guarantee
    ---------
    ``2 * epsilon``-differential privacy of the true labels: for changing the label of one record, where the records'
    attributes are public. See ``private_trees.md``.
    """
    return Certificate(
        epsilon=2 * float(epsilon),
        events=events,
        neighboring=LABELS_ONLY,
        assumptions=(RECORDS, *REFUSALS, TIMING, ONE_FIT, *paid.assumptions),
        # With attributes public, so are the bounds that were taken from them.
        caveats=tuple(caveat for caveat in paid.caveats if caveat != DOMAIN_FROM_DATA),
        public=public,
        randomness=paid.origin,
        arithmetic=EXACT_DRAWS,
        receipt=paid.receipt,
    )
