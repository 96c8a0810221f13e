"""Candidate splits: what a learner compared at a node, and the least slack of each family of candidates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure.adversary import Adversary
from glassine.attacks.disclosure.people import CLOSEST, People
from glassine.attacks.disclosure.people import PeopleColumn as Values
from glassine.compiling import compiled
from glassine.domain.literals import number
from glassine.formats.sklearn.encodings import Column, Number
from glassine.learners.greedy.impurity import Criterion
from glassine.models import DecisionTree
from glassine.records.arrays import AnyArray, Array, Bools, Ints

MULTIWAY, THRESHOLD, ONE_VALUE = 0, 1, 2
"""Kinds of families; whole numbers, as compiled functions read them."""

GINI, ENTROPY, MISCLASSIFICATION = 0, 1, 2

CODES: dict[Criterion, int] = {
    "gini": GINI,
    "entropy": ENTROPY,
    "gain_ratio": ENTROPY,
    "misclassification": MISCLASSIFICATION,
}

MULTIWAY_SOURCE = "glassine.MultiwayTreeClassifier"
"""What a tree of that learner says of where it came from."""

SHOWN = 3
"""Most values of a group that its name lists."""


class _Layout(Protocol):
    """The flat arrays of candidates."""

    @property
    def order(self) -> npt.NDArray[np.int32]: ...
    @property
    def groups(self) -> Ints: ...
    @property
    def families(self) -> Ints: ...
    @property
    def kinds(self) -> Ints: ...
    @property
    def splits(self) -> Ints: ...


@compiled
def _impurity(m: AnyArray, n: float, criterion: int) -> float:
    # In people: n times the impurity, so that the parts of a split simply add up. m has the shape (c,).
    if n <= 0:
        return 0.0
    if criterion == 0:
        squares = 0.0
        for c in range(len(m)):
            squares += m[c] * m[c]
        return n - squares / n
    if criterion == 2:
        largest = 0.0
        for c in range(len(m)):
            largest = max(largest, m[c])
        return n - largest
    total = 0.0
    for c in range(len(m)):
        if m[c] > 0:
            total -= m[c] * math.log(m[c] / n)
    return total


@compiled
def _log_term(part: float, whole: float) -> float:
    return -part / whole * math.log(part / whole) if part > 0 else 0.0


@compiled
def _scan(x: AnyArray, flat: Any, terms: Any, criterion: int, divides: bool, slack: AnyArray, at: AnyArray) -> None:
    # x has the shape (q, c). Of each family the class counts of its groups are summed first, shape (groups, c); then
    # its candidates are gone through in order, so that those of thresholds need one running sum.
    order, groups, families, sizes, kinds, splits, allowed = flat
    chosen, whole, divisors = terms
    n_classes = x.shape[1]
    widest = 1
    for f in range(len(kinds)):
        widest = max(widest, families[f + 1] - families[f])
    sums = np.empty((widest, n_classes))
    total, one, other = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for f in range(len(kinds)):
        first, last, v = families[f], families[f + 1], splits[f]
        n = 0.0
        total[:] = 0.0
        for g in range(first, last):
            row = sums[g - first]
            row[:] = 0.0
            for t in range(groups[g], groups[g + 1]):
                q = order[t]
                for c in range(n_classes):
                    row[c] += x[q, c]
            n += sizes[g]
            for c in range(n_classes):
                total[c] += row[c]
        target = chosen[v]
        slack[f], at[f] = np.inf, -1
        if kinds[f] == 0:
            left, information = 0.0, 0.0
            for g in range(first, last):
                left += _impurity(sums[g - first], sizes[g], criterion)
                information += _log_term(sizes[g], n)
            slack[f], at[f] = left - target, 0
            if divides:
                slack[f] = left - whole[v] + information / divisors[v] * (whole[v] - target)
            continue
        one[:] = 0.0
        part = 0.0
        for g in range(first, last - 1 if kinds[f] == 1 else last):
            row = sums[g - first]
            if kinds[f] == 2:
                one[:] = 0.0
                part = 0.0
            part += sizes[g]
            for c in range(n_classes):
                one[c] += row[c]
                # Rounding may leave less than nothing on the other side, whose logarithm is not a number.
                other[c] = max(total[c] - one[c], 0.0)
            if not allowed[g]:
                continue
            left = _impurity(one, part, criterion) + _impurity(other, n - part, criterion)
            value = left - target
            if divides:
                information = _log_term(part, n) + _log_term(n - part, n)
                value = left - whole[v] + information / divisors[v] * (whole[v] - target)
            if value < slack[f]:
                slack[f], at[f] = value, g - first


def worst_slacks(
    x: Array,
    layout: _Layout,
    chosen: Array,
    whole: Array,
    divisors: Array,
    criterion: Criterion,
    allowed: Bools,
    sizes: Array,
) -> tuple[Array, Ints]:
    """Return the least slack of each family of candidates, and at which of them it is."""
    # Shapes: x (q, c); chosen, whole, divisors (v,); allowed (g,); sizes (g,).
    slack = np.empty(len(layout.kinds))
    at = np.empty(len(layout.kinds), dtype=np.int64)
    if len(layout.kinds):
        flat = (layout.order, layout.groups, layout.families, sizes, layout.kinds, layout.splits, allowed)
        _scan(x, flat, (chosen, whole, divisors), CODES[criterion], criterion == "gain_ratio", slack, at)
    return slack, at


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """One attribute as a learner compared it.

    Of kind :data:`MULTIWAY` its groups are the branches of one candidate; of kind :data:`THRESHOLD` a candidate has the
    groups up to one of them on one side; of kind :data:`ONE_VALUE` it has one group there.
    """

    attribute: str
    kind: int  # How its groups make candidates
    values: Values  # The attribute of the people
    # The group of each value, in the order of thresholds; -1 where it is not known; shape (v,).
    group: npt.NDArray[np.int32]
    gap: int  # The group of missing values, -1 where it is not known
    # Which groups the learner compared: of kind ONE_VALUE those that had a column; shape (largest group + 1,).
    compared: Bools

    def of(self, members: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return the groups of some quasi-identifiers."""
        codes = self.values.codes[members]
        if not len(self.group):
            return np.full(len(members), self.gap, dtype=np.int32)
        return np.where(codes >= 0, self.group[np.maximum(codes, 0)], self.gap).astype(np.int32)

    def name(self, group: int) -> str:
        """Return the candidate at a group in words; of kind MULTIWAY there is one."""
        if self.kind == MULTIWAY:
            return f"a split by {self.attribute}"
        upper = self.group <= group if self.kind == THRESHOLD else self.group == group
        inside = np.flatnonzero(upper & (self.group >= 0))
        if not len(inside):
            return f"{self.attribute} is missing"
        if self.kind == THRESHOLD and self.values.levels is not None and int(inside[-1]) + 1 < len(self.group):
            # The members of a group have no larger value, those of the next no smaller one.
            low, high = (float(value) for value in self.values.values[inside[-1] : inside[-1] + 2])
            return f"{self.attribute} <= {number((low + high) / 2, 6)}"
        listed = [str(value) for value in self.values.values[inside[:SHOWN]]]
        if len(listed) == 1:
            return f"{self.attribute} = {listed[0]}"
        more = ", ..." if len(inside) > SHOWN else ""
        return f"{self.attribute} in {{{', '.join(listed)}{more}}}"


def compared_views(model: DecisionTree, people: People, adversary: Adversary) -> tuple[list[View], list[str]]:
    """Return the attributes of the people as the learner compared them, and notes on what was left out."""
    if adversary.stated is not None and adversary.stated.columns is not None:
        multiway = adversary.stated.splits == "multiway"
        return list(_of_columns(adversary.stated.columns, people, multiway=multiway)), []
    splits, notes = adversary.splits, []
    if splits == "auto":
        splits = "multiway" if _splits_all_values(model) else "auto"
    by_sets = _split_by_sets(model) if splits == "binary" else ()
    notes += [
        f"Categories of {name} are split by sets; none of its splits is among the candidates." for name in by_sets
    ]
    views, silent = [], []
    for name, column in people.columns.items():
        if column.levels is not None:
            views.append(_view(name, THRESHOLD, column, column.levels, -1))
        elif splits == "auto":
            silent.append(name)
        elif name not in by_sets:
            codes = np.arange(1, len(column.values) + 1, dtype=np.int32)
            views.append(_view(name, MULTIWAY if splits == "multiway" else ONE_VALUE, column, codes, 0))
    if silent:
        notes.append(
            f"Nothing states how categories were split: none of the splits of {', '.join(silent)} is among the "
            "candidates."
        )
    return views, notes


def _view(name: str, kind: int, column: Values, group: npt.NDArray[np.int32], gap: int) -> View:
    size = max(int(group.max(initial=-1)), gap) + 1
    return View(attribute=name, kind=kind, values=column, group=group, gap=gap, compared=np.ones(size, dtype=bool))


def _splits_all_values(model: DecisionTree) -> bool:
    """Return whether a tree shows that its learner makes one branch for each value of a category."""
    if model.source == MULTIWAY_SOURCE:
        return True
    if not any(len(node.branches) > 2 for node in model.nodes):
        return False
    listed = [literal for literal in model.literals if hasattr(literal, "values") and not literal.negated]
    return all(len(literal.values) <= 1 for literal in listed)


def _split_by_sets(model: DecisionTree) -> tuple[str, ...]:
    """Return the categories that a binary tree splits otherwise than one value against the rest."""
    out = []
    for node in model.nodes:
        sizes = [len(getattr(branch.literal, "values", (0,))) for branch in node.branches]
        if node.branches and min(sizes) > 1:
            out.append(node.branches[0].literal.attribute)
    return tuple(dict.fromkeys(out))


def _of_columns(columns: Sequence[Column], people: People, *, multiway: bool) -> Iterator[View]:
    """Yield what was compared on the columns of a tree."""
    # Columns of two values, of which at most one has the larger value for each value of the attribute, are the dummies
    # of one code: they are one view, each of its groups a candidate, but for the values that have no dummy.
    for name, values in people.columns.items():
        dummies: list[npt.NDArray[np.int32]] = []
        for column in columns:
            if column.attribute != name:
                continue
            codes = _groups(column, values)
            if multiway and not isinstance(column, Number):
                yield _view(name, MULTIWAY, values, codes[:-1], int(codes[-1]))
                continue
            if isinstance(column, Number) or codes.max() != 1 or (codes[:-1] < 0).any():
                yield _view(name, THRESHOLD, values, codes[:-1], int(codes[-1]))
                continue
            free = next((pool for pool in dummies if not (pool[codes == 1] > 0).any()), None)
            if free is None:
                free = np.zeros(len(codes), dtype=np.int32)
                dummies.append(free)
            free[codes == 1] = free.max() + 1
            if codes[-1] < 0:
                free[-1] = -1
        for pool in dummies:
            view = _view(name, ONE_VALUE, values, pool[:-1], int(pool[-1]))
            view.compared[0] = False
            yield view


def _groups(column: Column, values: Values) -> npt.NDArray[np.int32]:
    """Return which values, and a missing one, a tree cannot distinguish on a column, shape (v + 1,); -1 for NaN."""
    codes = np.append(column.codes_of(values.values), column.gap_code).astype(np.float32)
    out = np.full(len(codes), -1, dtype=np.int32)
    present = ~np.isnan(codes)
    distinct, inverse = np.unique(codes[present], return_inverse=True)
    margin = np.full(max(len(distinct) - 1, 0), CLOSEST)
    if isinstance(column, Number) and column.steps:
        # The pipeline may have computed in single precision: values that are only just apart may have been equal to it.
        margin = margin + 4 * np.spacing(np.abs(distinct[1:]))
    levels = np.concatenate([[0], np.cumsum(np.diff(distinct) > margin)]).astype(np.int32)
    out[present] = levels[inverse]
    return out
