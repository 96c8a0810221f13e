"""Facts of a tree or a rule list: what its measurements find, as criteria read it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from glassine.attacks.magnitudes import ContributionBounds
from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.attacks.value_leakage import ValueLeakage
from glassine.auditing.facts import (
    Bits,
    Fact,
    Inapplicable,
    LargestShares,
    NamedPeople,
    OutcomeCells,
    Sizes,
    Thresholds,
    is_unclaimed,
)
from glassine.auditing.statements import Statements
from glassine.domain import Integer, Real
from glassine.domain.grid import is_candidate, unround
from glassine.errors import InvalidDataError
from glassine.models import DecisionTree, Evidence, RuleList
from glassine.models.implied import Bounds, OutcomeCounts, made_certain, unseen

if TYPE_CHECKING:
    from glassine.attacks.label_disclosure import LabelDisclosure
    from glassine.auditing.disclosure import Inferred
    from glassine.auditing.policy import Policy
    from glassine.auditing.subject import Raw
    from glassine.auditing.tree_figures import TreeSubject
    from glassine.data.person_counts import Persons

EMPTY_MODEL = "all published counts are zero, so the model says nothing about any record."
CONTRADICTION = "the domain allows no record where the model counts some, so one of the two is wrong."
MORE_THAN_PEOPLE = 1e15
"""Records of a part of which only the fewest are known: more than there are people."""


def _outcome_counts(tree: TreeSubject) -> OutcomeCounts | None:
    """Return who of each outcome is in each part, by the best that is known; None where nothing is."""
    model, occupancy = tree.model, tree.occupancy
    people, classes = (None, None) if tree.accepted else (occupancy.people, occupancy.classes)
    published, counts = [cell.evidence.counts for cell in model.cells], None
    if people is not None:
        counts = people.counts if people.counts.any() else people.sizes[:, None]
    elif model.counts_are_exact and None not in published:
        counts = np.array(published)
    elif classes is not None:
        counts = classes
    elif None not in tree.record_sizes:
        counts = np.array(tree.record_sizes)[:, None]
    if counts is None:
        return counts_by_statement(model, tree.inputs.statements, noisy=tree.noise is not None)
    exact = counts.astype(np.float64)
    return OutcomeCounts(lower=exact, upper=exact, n_outcomes=len(model.classes or ()) or 1)


def counts_by_statement(model: DecisionTree | RuleList, statements: Statements, *, noisy: bool) -> OutcomeCounts | None:
    """Return counts within what the publisher states of them: the step of rounding, or the smallest leaf; else None."""
    n_outcomes, cells = len(model.classes or ()) or 1, model.cells
    if statements.smallest_leaf is not None:
        sizes = [None if noisy or model.approximate else cell.evidence.size for cell in cells]
        least = [float(statements.smallest_leaf) if size is None else float(size) for size in sizes]
        most = [MORE_THAN_PEOPLE if size is None else float(size) for size in sizes]
        return OutcomeCounts(lower=np.array(least)[:, None], upper=np.array(most)[:, None], n_outcomes=n_outcomes)
    published = [cell.evidence.counts for cell in cells]
    counts: Any = published if None not in published else [cell.evidence.size for cell in cells]
    if noisy or statements.rounded_to is None or None in counts:
        return None
    rounded = np.array(counts, dtype=np.float64).reshape(len(cells), -1)
    half = statements.rounded_to / 2
    return OutcomeCounts(lower=np.maximum(rounded - half, 0), upper=rounded + half, n_outcomes=n_outcomes)


def _purities(evidences: Sequence[Evidence], n_classes: int | None) -> list[tuple[float, float] | None]:
    """Return bounds on the largest share of each; of thousands of leaves, many are of one evidence."""
    bounds = {id(own): own.purity(n_classes) for own in {id(own): own for own in evidences}.values()}
    return [bounds[id(own)] for own in evidences]


def certain_of_cells(model: DecisionTree | RuleList, counts: OutcomeCounts) -> Bounds | None:
    """Return how many are certain of their outcome only as members; None where no share of an outcome is published."""
    n_classes = None if model.classes is None else len(model.classes)
    shares = _purities([cell.evidence for cell in model.cells], n_classes)
    if n_classes is None or not any(share is not None for share in shares):
        return None
    if counts.by_outcome:
        return made_certain(counts)
    # Without counts of outcomes, a part of which no other outcome is published may be pure.
    reach = unseen(int((counts.sizes[1] > 0).sum()))
    most = sum(
        min(float(size), reach)
        for size, share in zip(counts.sizes[1].tolist(), shares, strict=True)
        if share is None or share[1] == 1
    )
    return Bounds(0.0, most)


def flagged(
    named: NamedPeople,
    attacks: Outcome[Any] | None,
    model: object,
    columns: Callable[[], Any],
    persons: Persons | None,
    random_state: int | np.random.Generator | None,
) -> NamedPeople:
    """Return those whom the midpoint attack flags among the training records; the same where it flags none."""
    # attacks are those on membership, where they were made. columns returns what the model reads of the records.
    if isinstance(attacks, Measured):
        outcome = attacks.value.midpoint
    else:
        # Its readers of forests take a second to import.
        from glassine.attacks.membership.midpoint import midpoint_attack
        from glassine.attacks.membership.outputs import LabelledRecords

        own = columns()
        records = LabelledRecords(own, np.zeros(len(own)), persons)
        try:
            outcome = midpoint_attack(model, records, random_state=random_state)
        except InvalidDataError:
            # What the model tests is no number there, so that what rests on the records is unknown.
            return named
    return replace(named, number=outcome.value.n_named, flagged=True) if isinstance(outcome, Measured) else named


# What measurements find, as criteria read it.


def facts_of_parts(tree: TreeSubject, outcome: object, raw: Raw) -> dict[str, Fact[Any]]:
    """Return how many records, and of which classes, are in each leaf or rule."""
    cells = _cells(tree)
    of_numbers = Inapplicable("The model predicts a number, so that it has no classes.")
    return {
        "identifiers": Measured(tree.identifiers.tested),
        "unclaimed": Measured(is_unclaimed(tree.model)),
        "sizes": _sizes(tree),
        "cells": cells,
        "implied": cells,
        "classes": cells if tree.of_classes else of_numbers,
    }


STANDS = (
    "a guarantee is claimed and the policy does not accept it. If it holds, it covers true sizes, which the model does "
    "not publish."
)


def _sizes(tree: TreeSubject) -> Fact[Sizes]:
    if tree.claim_stands:
        return NotApplicable(tree.doubt or STANDS)
    one, more = tree.part, tree.parts
    stated = tree.inputs.statements
    parts, unsettled, fewest, stated_by = tuple(size for size in tree.sizes if size), tree.doubt, None, ""
    if None in tree.sizes:
        counts = counts_by_statement(tree.model, stated, noisy=tree.model.guarantee is not None)
        if counts is None:
            unsettled = f"The model does not publish exactly how many records each {one} holds. Pass the training data."
        else:
            lower, upper = counts.sizes
            fewest = math.floor(lower.min())
            if stated.smallest_leaf is None:
                sure = zip(lower.tolist(), upper.tolist(), strict=True)
                parts = tuple(int(high) for low, high in sure if low > 0)
            else:
                # Sizes that are published are counts, whatever is stated of the others.
                stated_by = stated.by
    return Measured(Sizes(parts={(one, more): parts}, unsettled=unsettled, fewest=fewest, stated_by=stated_by))


def _cells(tree: TreeSubject) -> Fact[OutcomeCells]:
    """Return who of each outcome is in each part: people where persons are stated, else records."""
    if tree.claim_stands:
        return NotApplicable(tree.doubt or STANDS)
    stated, people = tree.inputs.statements, None if tree.accepted else tree.occupancy.people
    counts = _outcome_counts(tree)
    if counts is None:
        return NotApplicable(tree.noise or f"the model does not publish how many records its {tree.parts} hold.")
    # The splits of a tree, each into two, or the conditions of a rule list.
    if isinstance(tree.model, DecisionTree):
        n_splits = sum(max(0, len(node.branches) - 1) for node in tree.model.nodes)
    else:
        n_splits = sum(len(rule.antecedent) for rule in tree.model.rules)
    by = stated.by if stated.smallest_leaf is not None and (counts.lower < counts.upper).any() else ""
    cells = OutcomeCells(
        counts=counts,
        certain=certain_of_cells(tree.model, counts),
        n_splits=n_splits,
        unsettled=tree.doubt,
        stated_by=by,
        n_people=None if people is None else people.number,
        people=None if people is None else people.sizes,
    )
    return Measured(cells)


def shares_fact(tree: TreeSubject, labels: Outcome[LabelDisclosure]) -> Fact[LargestShares]:
    """Return the largest share of a class in each leaf or rule, as the model publishes it: no others can be seen."""
    # Where the counts of a leaf are published, its share is that of the people with a record of the class there.
    model, people = tree.model, tree.occupancy.people
    if tree.noise is not None:
        return NotApplicable(tree.noise)
    evidences = [cell.evidence for cell in model.cells if cell.evidence.size != 0]
    if isinstance(model, DecisionTree) and any(evidence.counts is None for evidence in evidences):
        evidences += [node.evidence for node in model.nodes if node.branches and node.evidence.size != 0]
    if not evidences:
        return NotApplicable(EMPTY_MODEL)
    n_classes = None if model.classes is None else len(model.classes)
    bounds = _purities(evidences, n_classes)
    if model.classes is None:  # Of numbers only a part of one single value has a share: 1.
        bounds = [pair for pair in bounds if pair is not None and pair[0] == 1]
    weighted = any(evidence.weighted for evidence in evidences)
    if people is not None and model.classes is not None and any(pair is not None for pair in bounds):
        if not people.counts.any():
            return labels if isinstance(labels, NotApplicable) else NotApplicable(EMPTY_MODEL)
        held_by = zip(model.cells, people.purest.tolist(), people.sizes.tolist(), strict=True)
        own = tuple((share, share) for cell, share, size in held_by if size and cell.evidence.shares(n_classes))
        bounds, weighted = [*own, *(pair for pair in bounds if pair is None)], False
    if not weighted and all(pair is None for pair in bounds):
        reason = labels.reason if isinstance(labels, NotApplicable | Failed) else "there is none."
        return Inapplicable(f"No share of an outcome is published: {reason}")
    unsettled = "The model publishes shares by weight, so the shares of records are not known." if weighted else ""
    return Measured(LargestShares(bounds=tuple(bounds), unsettled=unsettled, rounded=model.approximate))


def bits_fact(tree: TreeSubject, outcome: Outcome[Any]) -> Fact[Bits]:
    """Return the bits about the most exposed record."""
    if tree.learned is None:
        return NotApplicable(getattr(outcome, "reason", ""))
    # An empty region of unknown size can hold no record; one that claims records contradicts the domain.
    pairs = zip(tree.learned, tree.sizes, strict=True)
    finite = [b for b, size in pairs if size or (size is None and math.isfinite(b))]
    if not finite:
        return NotApplicable(EMPTY_MODEL)
    largest, domain, tested = max(finite), tree.domain, tree.model.tested
    if math.isinf(largest):
        return NotApplicable(CONTRADICTION)
    inferred = [name for name in tested if domain is not None and domain[name].inferred]
    return Measured(
        Bits(
            lower=largest,
            upper=largest,
            inferred=(*inferred, *tree.trained_shares),
            possible=None if tree.domain_summary is None else tree.domain_summary.bits_domain_aware,
        )
    )


def facts_of_values(tree: TreeSubject, outcome: Outcome[ValueLeakage], raw: Raw) -> dict[str, Fact[Any]]:
    """Return the thresholds, whom they can name, and how much of a mean two contributions make up."""
    if not isinstance(outcome, Measured):
        return {}
    values, facts = outcome.value, dict[str, Fact[Any]]()
    if not tree.of_classes:
        facts["contributions"] = NotApplicable(STANDS) if tree.claim_stands else Measured(_contributions(tree, values))
    cuts, domain = values.thresholds or (), tree.domain
    names = tuple(dict.fromkeys(name for name, _ in cuts))
    inferred = () if domain is None else tuple(name for name in names if domain[name].inferred)
    bounded = tree.guarantee is not None and not tree.guarantee.caveats
    # Whether private fits can choose every threshold.
    drawn = domain is not None and bounded and not inferred and all(is_candidate(domain[name], at) for name, at in cuts)
    thresholds = thresholds_fact(tree.inputs.policy, values, inferred)
    about = list(dict.fromkeys([*inferred, *tree.trained_shares]))
    named = named_fact(values, about, names if domain is None else (), bounded=bounded)
    named = replace(named, unround=unround(cuts, domain))
    # Records show which thresholds are midpoints, whatever is claimed.
    return facts | {
        "thresholds": Measured(replace(thresholds, bounded=bounded and tree.table is None, drawn=drawn)),
        "named": Measured(_by_records(tree, replace(named, drawn=drawn), values.n_records_at_midpoints, raw)),
    }


def _contributions(tree: TreeSubject, values: ValueLeakage) -> ContributionBounds:
    """Return what the largest values behind each mean make up: by the records, else by the declared range."""
    if values.contributions is not None:
        return ContributionBounds.exactly(values.contributions)
    target, cells = tree.inputs.target, tree.model.cells
    attribute = None if tree.declared is None or target not in tree.declared else tree.declared[target or ""]
    # The bounds of an inferred range are the values of two people, of whom no more is asked.
    public = attribute.ends if isinstance(attribute, Integer | Real) and not attribute.inferred else None
    exact = tree.model.counts_are_exact and not tree.doubt
    return ContributionBounds.of_means(
        [cell.evidence.size if exact else None for cell in cells],
        [cell.evidence.value for cell in cells],
        public,
    )


def thresholds_fact(policy: Policy, values: ValueLeakage, inferred: Sequence[str]) -> Thresholds:
    """Return the thresholds; ``inferred`` names the attributes with thresholds whose domain was inferred from data."""
    n, off, limit = values.n_thresholds, values.n_off_grid, policy.thresholds_off_grid
    # Public cut points are no midpoints; where the check on them fails, or is unknown, it says enough.
    public = off == 0 and not inferred
    decided = limit is not None and (off is None or off > limit or bool(inferred))
    return Thresholds(
        n=n,
        n_private=off or 0,
        complete=off is not None or not n,
        n_inferred=values.n_inferred,
        inferred=tuple(inferred) if n else (),
        n_midpoints=values.n_midpoints,
        wants_data=bool(n) and not public and not decided,
    )


def named_fact(
    values: ValueLeakage, inferred: Sequence[str], lacking: Sequence[str] = (), *, bounded: bool = False
) -> NamedPeople:
    """Return whom thresholds can name without the data; ``lacking`` names attributes of which no domain is known."""
    public = values.n_off_grid == 0 or not values.n_thresholds
    return NamedPeople(
        number=0 if not values.n_thresholds else values.n_nameable,
        n=values.n_thresholds,
        n_private=values.n_thresholds if values.n_off_grid is None else values.n_off_grid,
        lacking=tuple(lacking),
        inferred=() if public else tuple(inferred),
        bounded=bounded,
    )


def _by_records(tree: TreeSubject, named: NamedPeople, exposed: object, raw: Raw) -> NamedPeople:
    """Return whom thresholds can name, by the midpoint attack where there are records; ``exposed`` beside midpoints."""
    # Where the values of a number lie close, all its thresholds are public, and name people all the same.
    table = tree.table
    if table is None:
        return replace(named, stated_by=tree.inputs.statements.cuts_stated_by)
    kept = [name for name in tree.model.attributes if name in table.names]
    if isinstance(tree.model, DecisionTree) and kept:
        attacks, seed = raw.get("membership"), tree.inputs.settings.random_state
        named = flagged(named, attacks, tree.model, lambda: table.restrict(kept), table.persons, seed)
    # The attack is made on trees alone: of rule lists those count who alone hold a value beside a midpoint.
    return replace(named, number=exposed, flagged=True) if not named.flagged and isinstance(exposed, int) else named


def certain_fact(outcome: Outcome[Inferred]) -> Fact[tuple[int, str]]:
    """Return of how many the sensitive value can be inferred, and why more may be."""
    if not isinstance(outcome, Measured):
        return outcome
    return Measured((outcome.value.n_certain, outcome.value.doubt))
