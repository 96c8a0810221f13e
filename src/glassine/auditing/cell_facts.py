"""What the counts and the thresholds of a tree or a rule list say, as criteria on membership read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from glassine.attacks.outcome import NotApplicable, Outcome
from glassine.attacks.values import thresholds_of
from glassine.auditing.inputs import Statements
from glassine.data.labels import class_places
from glassine.data.table import Table
from glassine.errors import InvalidParameterError, parameter
from glassine.models import DecisionTree, RuleList
from glassine.models.implied import RULE_OF_THREE, Bounds, OutcomeCounts, made_certain
from glassine.records.arrays import AnyArray, Indices, Ints

if TYPE_CHECKING:
    from glassine.attacks.labels import Occupants
    from glassine.attacks.membership.midpoint import MidpointResult

MANY = 1e15
"""Records of a part of which only the fewest are known: more than there are people."""


def outcome_counts(
    model: DecisionTree | RuleList,
    statements: Statements,
    *,
    occupants: Occupants | None,
    counted: Ints | None,
    sizes: Sequence[int | None],
    noisy: bool,
) -> OutcomeCounts | None:
    """Return who of each outcome is in each part, by the best that is known; None where nothing is."""
    # Shapes: counted (parts, classes), or None.
    n_outcomes = len(model.classes or ()) or 1
    if occupants is not None:
        return _known(occupants.counts if occupants.counts.any() else occupants.sizes[:, None], n_outcomes)
    published = [cell.evidence.counts for cell in model.cells]
    if model.counts_are_exact and None not in published:
        return _known(published, n_outcomes)
    if counted is not None:
        return _known(counted, n_outcomes)
    if None not in sizes:
        return _known([[size] for size in sizes], n_outcomes)
    return counts_by_statement(model, statements, noisy=noisy)


def count_classes(
    model: DecisionTree | RuleList, rows: Indices, columns: Mapping[str, AnyArray] | None, target: str | None
) -> Ints | None:
    """Return how many records of each class are in each part; None where a record's class is not known."""
    if columns is None or target is None or target not in columns or not model.classes:
        return None
    labels = class_places(columns[target], model.classes)
    if (labels < 0).any():
        return None
    counts = np.zeros((len(model.cells), len(model.classes)), dtype=np.int64)
    np.add.at(counts, (rows, labels), 1)
    return counts


def _known(counts: object, n_outcomes: int) -> OutcomeCounts:
    """Return counts that are known, shape (parts, outcomes), or (parts, 1) where only sizes are."""
    known = np.array(counts, dtype=np.float64)
    return OutcomeCounts(lower=known, upper=known, n_outcomes=n_outcomes)


def counts_by_statement(model: DecisionTree | RuleList, statements: Statements, *, noisy: bool) -> OutcomeCounts | None:
    """Return counts within what the publisher states of them: the step of rounding, or the smallest leaf; else None."""
    n_outcomes, cells = len(model.classes or ()) or 1, model.cells
    if statements.smallest_leaf is not None:
        known = [None if noisy or model.approximate else cell.evidence.size for cell in cells]
        least = [float(statements.smallest_leaf) if size is None else float(size) for size in known]
        most = [MANY if size is None else float(size) for size in known]
        return OutcomeCounts(lower=np.array(least)[:, None], upper=np.array(most)[:, None], n_outcomes=n_outcomes)
    published = [cell.evidence.counts for cell in cells]
    counts: Any = published if None not in published else [cell.evidence.size for cell in cells]
    if noisy or statements.rounded_to is None or None in counts:
        return None
    rounded = np.array(counts, dtype=np.float64).reshape(len(cells), -1)
    half = statements.rounded_to / 2
    return OutcomeCounts(lower=np.maximum(rounded - half, 0), upper=rounded + half, n_outcomes=n_outcomes)


def rounded(model: DecisionTree | RuleList, step: int | None) -> DecisionTree | RuleList:
    """Return a model whose counts the publisher states to be rounded to a step; the same without a step."""
    if step is None:
        return model
    counts = [count for cell in model.cells for count in cell.evidence.counts or (cell.evidence.size or 0,)]
    if model.counts_are_exact and any(count % step for count in counts):
        raise InvalidParameterError(
            f"{parameter('rounded_to', step)} contradicts the model: it publishes counts that are not multiples of it.",
            remedy="Ask the publisher to which step counts were rounded.",
        )
    return replace(model, approximate=True)


def certain_of_cells(model: DecisionTree | RuleList, counts: OutcomeCounts) -> Bounds | None:
    """Return how many are certain of their outcome only as members; None where no share of an outcome is published."""
    n_classes = None if model.classes is None else len(model.classes)
    shares = [cell.evidence.purity(n_classes) for cell in model.cells]
    if n_classes is None or not any(share is not None for share in shares):
        return None
    if counts.by_outcome:
        return made_certain(counts)
    # Without counts of outcomes, a part of which no other outcome is published may be pure.
    most = sum(
        min(float(size), RULE_OF_THREE)
        for size, share in zip(counts.sizes[1].tolist(), shares, strict=True)
        if share is None or share[1] == 1
    )
    return Bounds(0.0, most)


def splits_of_model(model: DecisionTree | RuleList) -> int:
    """Return the number of splits of a tree, each into two, or of conditions of a rule list."""
    if isinstance(model, DecisionTree):
        return sum(max(0, len(node.branches) - 1) for node in model.nodes)
    return sum(len(rule.antecedent) for rule in model.rules)


def numbers_of(model: DecisionTree | RuleList) -> tuple[str, ...]:
    """Return the attributes that have thresholds, in order of first use."""
    return tuple(dict.fromkeys(name for name, _ in thresholds_of(model)))


def flag_by_midpoints(
    model: DecisionTree | RuleList, table: Table, random_state: int | np.random.Generator | None
) -> Outcome[MidpointResult]:
    """Let the midpoint attack search among the training records for those that thresholds name."""
    # Its readers of forests take a second to import.
    from glassine.attacks.membership.midpoint import midpoint_attack
    from glassine.attacks.membership.outputs import Records

    kept = [name for name in model.attributes if name in table.names]
    if not isinstance(model, DecisionTree) or not kept:
        return NotApplicable("the midpoint attack is made on trees.")
    tested = table.restrict(kept)
    # The table itself, which has converted its columns already.
    records = Records(tested, np.zeros(len(tested)), tested.persons)
    return midpoint_attack(model, records, random_state=random_state)
