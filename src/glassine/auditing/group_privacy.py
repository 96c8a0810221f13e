"""Who stands behind representatives and leaves: sizes, l-diversity and t-closeness, people who are alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from glassine.attacks.magnitudes import LargestContributions
from glassine.attacks.membership.matching import codes_of_rows
from glassine.attacks.membership.outputs import LabelledRecords
from glassine.attacks.outcome import Measured, Outcome
from glassine.attacks.value_leakage import ValueLeakage, leak_values
from glassine.auditing.findings import DiversityFinding, GroupsFinding, LeavesFinding, RepresentativesFinding
from glassine.auditing.release_inputs import ReleaseInputs, ReleaseLeaves, Side
from glassine.auditing.suppression import Suppression
from glassine.data.labels import quartiles
from glassine.domain import Category
from glassine.domain.attributes import Scalar
from glassine.records.arrays import Array, Indices, Ints
from glassine.records.columns import ConformedColumns
from glassine.surrogates.answers import distinct_records
from glassine.surrogates.surrogate_release import SurrogateRelease

# A mean of a few whole numbers has few digits by chance; of more than these, it was not rounded.
EXACT_DIGITS = 6
# Row numbers are for the holder to look up; more are not looked up by hand.
MOST_ROWS = 100
MOST_PEOPLE = 2000
"""Most people of whom distances to all representatives are taken."""
MOST_VALUES = 10
"""Numbers of more values are cut at their quartiles."""


def native_of(columns: ConformedColumns) -> Array | object:
    """Return records as attacks take them: an array where all are numbers, else a data frame."""
    if not any(isinstance(attribute, Category) for attribute in columns.attributes.values()):
        return np.column_stack([_float(columns, name) for name in columns.names])

    lists = {name: columns.values(name).tolist() for name in columns.names}
    return pl.DataFrame({name: pl.Series(name, values, strict=False) for name, values in lists.items()})


def _float(columns: ConformedColumns, name: str) -> Array:
    array = np.asarray(columns.array(name), dtype=float)
    return array if name in columns.numbers else np.where(array < 0, np.nan, array)


def sizes_of(inputs: ReleaseInputs, leaves: ReleaseLeaves | None) -> Ints | None:
    """Return the people of each group, if they are known or published."""
    return None if leaves is None else leaves.groups


def groups_of(inputs: ReleaseInputs, leaves: ReleaseLeaves | None, suppression: Suppression) -> Outcome[GroupsFinding]:
    """Return how many people stand behind each representative."""
    sizes = sizes_of(inputs, leaves)
    if leaves is None or sizes is None or not sizes.any():
        return inputs.lacks()
    occupied = sizes[sizes > 0]
    distinct = None
    if inputs.people is not None and inputs.groups is not None:
        rows = LabelledRecords(native_of(inputs.people.columns), np.zeros(len(inputs.groups)))
        pairs = np.unique(np.column_stack([inputs.groups, codes_of_rows(rows)]), axis=0)[:, 0]
        distinct = suppression.count(int(np.unique(pairs, return_counts=True)[1].min()))
    return Measured(
        GroupsFinding(
            number=suppression.count(leaves.number),
            smallest=suppression.count(int(occupied.min())),
            largest=suppression.count(int(occupied.max())),
            n_empty=int((sizes == 0).sum()),
            fewest_distinct=distinct,
            origin=leaves.origin,
        )
    )


def coded(columns: ConformedColumns, name: str) -> Ints:
    """Return an attribute as classes, shape (n,): numbers of many values are cut at their quartiles."""
    array = np.asarray(columns.array(name), dtype=float)
    if name in columns.codes:
        return np.unique(array, return_inverse=True)[1].astype(np.int64)
    cuts = edges_of(array)
    return np.where(np.isnan(array), len(cuts) + 1, np.searchsorted(cuts, array, side="left")).astype(np.int64)


def edges_of(values: Array) -> Array:
    """Return the cuts that make classes of numbers: none within a class lie further apart than a quarter of them."""
    different = np.unique(values[~np.isnan(values)])
    if len(different) <= MOST_VALUES:
        return different[:-1]
    return np.unique(quartiles(values[~np.isnan(values)]))


def diversity_of(name: str, groups: Ints, codes: Ints, people: Side, suppression: Suppression) -> DiversityFinding:
    """Return l-diversity and t-closeness of the groups in one attribute.

    Of people, one with records of several classes counts for each of them.

    References
    ----------
    Machanavajjhala et al., *l-diversity* (2006); Li, Li and Venkatasubramanian, *t-closeness* (2007), with classes
    equally far apart.
    """
    _, own = np.unique(groups, return_inverse=True)
    _, classes = np.unique(codes, return_inverse=True)
    shape = (int(own.max()) + 1, int(classes.max()) + 1)
    table = people.counts(own * shape[1] + classes, shape[0] * shape[1]).reshape(shape).astype(float)
    sizes = people.counts(own, shape[0])
    shares = table / table.sum(axis=1, keepdims=True)
    # A class that a group lacks adds 0; the logarithm of 1 in its place keeps it so.
    entropy = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1)
    # Half the summed differences is the earth mover's distance between classes that are equally far apart.
    away = np.abs(shares - table.sum(axis=0) / table.sum()).sum(axis=1) / 2
    single = (table > 0).sum(axis=1) == 1
    n = people.number
    return DiversityFinding(
        attribute=name,
        n_classes=table.shape[1],
        distinct_l=int((table > 0).sum(axis=1).min()),
        entropy_l=round(math.exp(float(entropy.min())), 2 if suppression.below else 15) + 0.0,
        alpha=suppression.share(float((table / sizes[:, None]).max())),
        t=suppression.proportion(float(away.max()), n),
        n_one_class=int(single.sum()),
        share_one_class=suppression.proportion(float(people.counts(np.where(single[own], 0, -1), 1)[0] / n), n),
    )


def leaves_of(
    inputs: ReleaseInputs, leaves: ReleaseLeaves | None, limit: int | None, suppression: Suppression
) -> Outcome[LeavesFinding]:
    """Return how many people stand behind each leaf."""
    if leaves is None or not leaves.sizes.any():
        return inputs.lacks()
    n = leaves.number
    occupied = leaves.sizes[leaves.sizes > 0]
    alone = int((occupied == 1).sum())
    rows: Sequence[int] = ()
    if leaves.of_record is not None and isinstance(suppression.count(alone), int):
        rows = np.flatnonzero(leaves.sizes[leaves.of_record] == 1)[:MOST_ROWS].tolist()
    purest = certain = None
    means = inputs.release.answer is not None and not inputs.release.drawn
    equal = equal_answers(inputs, leaves) if means else None
    if leaves.counts is not None:
        counts = leaves.counts[leaves.sizes > 0]
        purest = suppression.share(float((counts.max(axis=1) / occupied).max()))
        single = (counts.max(axis=1) == occupied) & ((counts > 0).sum(axis=1) == 1)
        n_certain = int(occupied[single].sum())
        if leaves.of_record is not None and inputs.people is not None:
            pure = np.zeros(len(leaves.sizes), dtype=bool)
            pure[leaves.sizes > 0] = single
            n_certain = int(inputs.people.counts(np.where(pure[leaves.of_record], 0, -1), 1)[0])
        certain = suppression.proportion(n_certain / n, n)
    return Measured(
        LeavesFinding(
            n_held=len(occupied),
            smallest=suppression.count(int(occupied.min())),
            n_small=None if limit is None else int((occupied < limit).sum()),
            n_alone=suppression.count(alone),
            share_alone=suppression.proportion(alone / n, n),
            rows_alone=tuple(rows),
            purest=purest if equal is None else suppression.share(float(equal.max())),
            share_certain=certain,
            origin=leaves.origin,
        )
    )


def equal_answers(inputs: ReleaseInputs, leaves: ReleaseLeaves | None) -> Array | None:
    """Return the largest share of the people, or distinct records, of each occupied leaf that gave one answer."""
    # Answers are equal within a step. Where a leaf's all are, its mean is the answer of each. None where answers, or
    # the people behind the release, are not known.
    targets, people = inputs.targets(), inputs.people
    if leaves is None or leaves.of_record is None or targets is None or people is None:
        return None
    pairs = np.column_stack([leaves.of_record, targets])
    kinds, which = np.unique(pairs, axis=0, return_inverse=True)
    sizes = people.counts(which.reshape(-1), len(kinds), distinct=True)
    most = np.zeros(len(leaves.sizes))
    np.maximum.at(most, kinds[:, 0], sizes)
    occupied = leaves.sizes > 0
    return np.asarray(most[occupied] / leaves.sizes[occupied])


def widths_left(inputs: ReleaseInputs, leaves: ReleaseLeaves | None) -> Array | None:
    """Return how wide the mean of each occupied leaf leaves the answer to one record, as a share of the range."""
    # A mean is known to within half a step, and so the answer to a record of weight w in it, the others being known, to
    # within half a step over w. The record of the largest weight counts. With n distinct records w is 1/n; with
    # persons, each has an equal share, and it is that of all who have the record. A mean at an end of the range leaves
    # one side of it alone, even if no answer is known. None where the records are not known.
    answer, people = inputs.release.answer, inputs.people
    if answer is None or people is None or leaves is None or leaves.of_record is None:
        return None
    of_leaf, weights = _by_unit(leaves.of_record, distinct_records(people.columns).codes, _weights(people, leaves))
    heaviest = np.zeros(len(leaves.sizes))
    np.maximum.at(heaviest, of_leaf, weights)
    at_end = np.array(
        [cell.evidence.value in (answer.lo, answer.hi) for tree in inputs.release.trees for cell in tree.cells]
    )
    steps = np.where(at_end, 0.5, 1.0)[leaves.sizes > 0] / heaviest[leaves.sizes > 0]
    # Rounded, so that a tenth of the range is one however it is added up.
    return np.asarray(np.round(np.minimum(steps / answer.n_steps, 1.0), 12), dtype=float)


def _weights(people: Side, leaves: ReleaseLeaves) -> Array:
    """Return the weight of the answer to each record in the mean of its leaf, shape (n,); those of a leaf add up to 1.

    Each person has an equal share of a leaf, and their records there equal ones of it; each distinct record without.
    """
    at = np.zeros(0, dtype=np.intp) if leaves.of_record is None else leaves.of_record
    whose = distinct_records(people.columns).codes if people.persons is None else people.persons.codes
    _, inside, times = np.unique(np.column_stack([at, whose]), axis=0, return_inverse=True, return_counts=True)
    first = np.unique(inside.reshape(-1), return_index=True)[1]
    behind = np.bincount(at[first], minlength=len(leaves.sizes))
    return np.asarray(1 / (behind[at] * times[inside.reshape(-1)]))


def _by_unit(at: Indices, units: Ints, amounts: Array) -> tuple[Indices, Array]:
    """Return the leaf and the sum of amounts of each unit in each leaf, all of shape (n,) but the two of (pairs,)."""
    kinds, which = np.unique(np.column_stack([at, units]), axis=0, return_inverse=True)
    sums = np.bincount(which.reshape(-1), weights=amounts, minlength=len(kinds))
    return kinds[:, 0], np.asarray(sums, dtype=float)


def dominance_of(inputs: ReleaseInputs, leaves: ReleaseLeaves | None) -> tuple[LargestContributions, ...] | None:
    """Return what the largest contributions to the total of each occupied leaf make up."""
    # Answers count by their distance from an end of the public range: someone who knows one contribution, and the size
    # of the leaf, knows the other to within the rest, as no answer lies beyond the end. The larger share of both ends
    # counts, by distinct records and, where they are stated, by persons. 0 where all answers lie at the end. None where
    # the answers are not known.
    answer, people, targets = inputs.release.answer, inputs.people, inputs.targets()
    if answer is None or people is None or targets is None or leaves is None or leaves.of_record is None:
        return None
    weights = _weights(people, leaves)
    units = [distinct_records(people.columns).codes]
    if people.persons is not None:
        units.append(people.persons.codes)
    n_leaves = len(leaves.sizes)
    one, most, rest = np.zeros(n_leaves), np.zeros(n_leaves), np.full(n_leaves, np.inf)
    for amounts in (weights * targets, weights * (answer.n_steps - targets)):
        totals = np.bincount(leaves.of_record, weights=amounts, minlength=n_leaves)
        for codes in units:
            of_leaf, parts = _by_unit(leaves.of_record, codes, amounts)
            order = np.lexsort((-parts, of_leaf))
            # The first two of each leaf, the largest first.
            rank = np.arange(len(order)) - np.searchsorted(of_leaf[order], of_leaf[order])
            two = order[rank < 2]
            pair = np.bincount(of_leaf[two], weights=parts[two], minlength=n_leaves)
            first = order[rank < 1]
            largest = np.bincount(of_leaf[first], weights=parts[first], minlength=n_leaves)
            positive = totals > 0
            one = np.maximum(one, np.divide(largest, totals, out=np.zeros(n_leaves), where=positive))
            most = np.maximum(most, np.divide(pair, totals, out=np.zeros(n_leaves), where=positive))
            left = np.maximum(totals - pair, 0.0)
            rest = np.minimum(rest, np.divide(left, largest, out=np.full(n_leaves, np.inf), where=positive))
    occupied = zip(*(np.round(figure[leaves.sizes > 0], 12).tolist() for figure in (one, most, rest)), strict=True)
    return tuple(LargestContributions(one=a, two=b, rest=c) for a, b, c in occupied)


def measure_representatives(inputs: ReleaseInputs, suppression: Suppression) -> RepresentativesFinding:
    """Return what representatives reveal: digits, copies, values that all share, and whose is the closest."""
    release = inputs.release
    numbers = [v for p in release.representatives for v in p if isinstance(v, int | float) and not isinstance(v, bool)]
    digits = [_digits(value) for value in numbers]
    near = min(max(release.n_closest, 3), release.n_groups)
    copies = uniform = matched = matched_near = closeness = None
    if inputs.people is not None and inputs.groups is not None and release.provenance.partition != "public":
        columns, groups = inputs.people.columns, inputs.groups
        copies, uniform = _shared(release, columns, groups)
        hits = release.closest(columns, near) == groups[:, None]
        n = len(groups)
        matched = suppression.proportion(float(hits[:, 0].mean()), n)
        matched_near = suppression.proportion(float(hits.any(axis=1).mean()), n)
        closeness = _closeness(release, columns, groups)
    return RepresentativesFinding(
        n_numbers=len(numbers),
        digits=max(digits, default=0),
        n_exact=sum(count > EXACT_DIGITS for count in digits),
        n_copies=None if copies is None else suppression.count(copies),
        n_uniform=None if uniform is None else suppression.count(uniform),
        matched=matched,
        matched_near=matched_near,
        n_near=near,
        closeness=closeness,
    )


def _digits(value: float) -> int:
    """Return the number of significant digits with which a number is written."""
    mantissa = repr(float(value)).split("e")[0].replace("-", "").replace(".", "").strip("0")
    return len(mantissa)


def _shared(release: SurrogateRelease, columns: ConformedColumns, groups: Ints) -> tuple[int, int]:
    """Return how many representatives are a record of their group, and how many values all of a group share."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    own = groups[order][starts]
    same = np.ones(len(groups), dtype=bool)
    uniform = 0
    for j, name in enumerate(release.domain):
        values = np.asarray(columns.array(name), dtype=float)
        if name in columns.numbers:
            # Missing is one value more, larger than any number.
            values = np.where(np.isnan(values), np.inf, values)
        low, high = (np.minimum.reduceat(values[order], starts), np.maximum.reduceat(values[order], starts))
        points = [point[j] for point in release.representatives]
        if name in columns.numbers:
            stated = np.array([np.inf if v is None else float(v) for v in points])
        else:
            attribute = columns.attributes[name]
            listed: list[Scalar | None] = list(attribute.values) if isinstance(attribute, Category) else [0, 1]
            stated = np.array([listed.index(v) if v in listed else -1.0 for v in points])
        same &= values == stated[groups]
        uniform += int(((low == high) & (low == stated[own])).sum())
    return len(np.unique(groups[same])), uniform


def _closeness(release: SurrogateRelease, columns: ConformedColumns, groups: Ints) -> float | None:
    n = len(groups)
    rows = np.arange(n) if n <= MOST_PEOPLE else np.linspace(0, n - 1, MOST_PEOPLE).astype(np.intp)
    points = release.metric.embed(columns.take(rows))
    stand = np.concatenate(
        [release.metric.embed_one(release.domain, release.representative(i)) for i in range(release.n_groups)]
    )
    distances = release.metric.between(points, stand, release.domain)
    own = float(distances[np.arange(len(rows)), groups[rows]].mean())
    weights = np.bincount(groups, minlength=release.n_groups) / n
    any_other = float((distances @ weights).mean())
    return round(own / any_other, 3) if any_other > 0 else None


def leak_all(inputs: ReleaseInputs) -> ValueLeakage:
    """Return what the thresholds of all trees give away, added up."""
    release = inputs.release
    out = []
    for index, tree in enumerate(release.trees):
        data = None
        if inputs.people is not None and inputs.groups is not None:
            own = inputs.people.columns.take(np.flatnonzero(inputs.groups == index))
            data = {name: own.values(name) for name in own.names}
        out.append(leak_values(tree, release.domain, data))
    midpoints = [leakage.n_midpoints for leakage in out]
    return ValueLeakage(
        n_thresholds=sum(leakage.n_thresholds for leakage in out),
        n_off_grid=sum(leakage.n_off_grid or 0 for leakage in out),
        n_inferred=sum(leakage.n_inferred for leakage in out),
        n_nameable=sum(leakage.n_nameable or 0 for leakage in out),
        n_midpoints=None if any(count is None for count in midpoints) else sum(count or 0 for count in midpoints),
        n_records_at_midpoints=None,
        exact_bounds=None,
        lone_categories=None,
        n_lone_targets=0,
    )
