"""From records to a release: groups, representatives, scales, trees."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from glassine.data.labels import check_lengths, class_codes
from glassine.data.person_counts import Persons
from glassine.domain import Category, Domain, Integer, Real
from glassine.domain.attributes import Scalar, exact, is_scalar
from glassine.errors import BlackBoxError, InvalidDataError, InvalidParameterError, parameter
from glassine.microaggregation import SemanticDistance
from glassine.records.arrays import AnyArray, Array, Bools, Ints
from glassine.records.columns import ConformedColumns, values_of
from glassine.surrogates.answers import distinct_records, plain_label
from glassine.surrogates.black_boxes import class_order
from glassine.surrogates.distances import DomainMetric, as_metric
from glassine.surrogates.query_input import round_numbers

FINENESS = 20
"""Into how many parts of a scale representatives are rounded."""

SMALLEST = 1e-300
"""A scale must be above it: its parts are written as powers of ten."""

DIGITS = 2
"""Significant digits of a published scale."""

MOST_NAMES = 20
"""Most different labels that need not be declared: more are taken for scores."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReleaseRecords:
    """The records behind a release. Private: it is never part of the release."""

    columns: ConformedColumns  # The records, n of them
    # Index of the class that the black box gave each record, or steps of a number above the lower bound; -1 for one
    # that the release does not hold; shape (n,).
    answers: Ints
    # The same of what the trees were trained on: the answers, or the true labels; shape (n,).
    targets: Ints
    groups: Ints  # Group of each record; shape (n,)
    persons: Persons | None = None  # Whose they are, where it was stated


def joined_groups(
    groups: Ints,
    k: int,
    columns: ConformedColumns,
    metric: DomainMetric,
    domain: Domain,
    persons: Persons | None,
    distinct_in: int = 0,
    strata: str = "",
) -> Ints:
    """Return groups joined until at least ``k`` people, or records, are behind each and behind each of its means.

    With ``strata``, an attribute that all records of a group share, groups of different values are not joined.
    """
    # Behind a mean are those alone whose value is not missing. The group with the fewest, the first of equals, is
    # joined with that whose exact middle is closest to its own. Of records without missing values no group is joined.
    # Shapes: groups (n,); the result (n,).
    n_groups = int(groups.max()) + 1
    fewest = _fewest_behind(columns, groups, n_groups, metric, domain, persons, distinct_in)
    if fewest.min() >= k:
        return groups
    middles = _middles(columns, groups, n_groups, metric, domain)
    members = [np.flatnonzero(groups == group) for group in range(n_groups)]
    whole = columns.array(strata) if strata else np.zeros(len(groups))
    while len(members) > 1 and fewest.min() < k:
        small = int(fewest.argmin())
        distances = metric.between(middles[small : small + 1], middles, domain)[0]
        distances[small] = np.inf
        distances[whole[[rows[0] for rows in members]] != whole[members[small][0]]] = np.inf
        if np.isinf(distances).all():
            raise InvalidDataError(
                f"a stratum of {strata!r:.40} has fewer than {k} people, or records, behind a representative or one of "
                "its means.",
                remedy=f"Join small strata, or use a smaller {parameter('k')}.",
            )
        low, high = sorted((small, int(np.argmin(distances))))
        members[low] = np.sort(np.concatenate([members[low], members.pop(high)]))
        middles, fewest = np.delete(middles, high, axis=0), np.delete(fewest, high)
        own, one = columns.take(members[low]), np.zeros(len(members[low]), dtype=np.int64)
        whose = None if persons is None else persons.take(members[low])
        middles[low] = _middles(own, one, 1, metric, domain)[0]
        fewest[low] = _fewest_behind(own, one, 1, metric, domain, whose, distinct_in)[0]
    out = np.empty_like(groups)
    for group, rows in enumerate(members):
        out[rows] = group
    return out


def _middles(columns: ConformedColumns, groups: Ints, n_groups: int, metric: DomainMetric, domain: Domain) -> Array:
    """Return the exact representatives, of however few records, as the distance sees them, shape (g, d)."""
    points = representatives_of(columns, groups, n_groups, metric, domain, rounded=False, k=1)
    return np.concatenate([metric.embed_one(domain, dict(zip(domain, point, strict=True))) for point in points])


def _fewest_behind(
    columns: ConformedColumns,
    groups: Ints,
    n_groups: int,
    metric: DomainMetric,
    domain: Domain,
    persons: Persons | None,
    distinct_in: int,
) -> Ints:
    """Return how many people, or records, are behind each group, or that mean of it that has the fewest."""
    # Where a group has fewer distinct records than it needs, it is their number.
    sizes = np.bincount(groups, minlength=n_groups)
    fewest = sizes if persons is None else persons.counts(groups, n_groups)
    if distinct_in:
        distinct = distinct_records(columns).counts(groups, n_groups)
        fewest = np.where(distinct < distinct_in, np.minimum(distinct, fewest), fewest)
    for name in domain:
        present, counts, behind = _behind(_numbers(columns, name), groups, n_groups, persons)
        if present.all() or _has_modes(name, columns, metric):
            continue
        # Where most records have no value, there is no mean.
        fewest = np.where(2 * counts < sizes, fewest, np.minimum(fewest, behind))
    return fewest


def _numbers(columns: ConformedColumns, name: str) -> Array:
    """Return an attribute as numbers or codes, NaN for a missing value, shape (n,)."""
    array = np.asarray(columns.array(name), dtype=float)
    return np.where(array < 0, np.nan, array) if name in columns.codes else array


def _behind(values: Array, groups: Ints, n_groups: int, persons: Persons | None) -> tuple[Bools, Ints, Ints]:
    """Return which values are there, shape (n,), and of how many records and people they are, shape (n_groups,)."""
    present = ~np.isnan(values)
    counts = np.bincount(groups[present], minlength=n_groups)
    return present, counts, counts if persons is None else persons.counts(np.where(present, groups, -1), n_groups)


def _has_modes(name: str, columns: ConformedColumns, metric: DomainMetric) -> bool:
    """Return whether groups are represented by their most frequent value of an attribute, not by a mean."""
    attribute = columns.attributes[name]
    return name in columns.codes and (isinstance(attribute, Category) or metric.distance != "euclidean")


def metric_of(
    columns: ConformedColumns,
    domain: Domain,
    *,
    distance: str | SemanticDistance,
    scaling: str,
    rounded: bool,
    k: int,
    persons: Persons | None = None,
) -> DomainMetric:
    """Return the distance by which a reader seeks representatives."""
    scales = []
    for name in domain:
        attribute = domain[name]
        values = _numbers(columns, name)
        present, _, behind = _behind(values, np.zeros(len(values), dtype=np.int64), 1, persons)
        if distance == "euclidean" and scaling == "none" and attribute.missing:
            raise InvalidParameterError(
                f"{name!r} may be missing, and without scaling no unit says how far a missing value lies from others.",
                remedy=f"Use {parameter('scaling', 'standard')}.",
            )
        unscaled = isinstance(attribute, Category) or (distance == "euclidean" and scaling == "none")
        if unscaled or (behind[0] < k and not present.all()):
            scale = 1.0
        elif distance == "euclidean":
            scale = _rounded(_spread(values), rounded)
        elif rounded or not isinstance(attribute, Integer | Real):
            scale = float(attribute.hi) - float(attribute.lo) if isinstance(attribute, Integer | Real) else 1.0
        else:
            scale = float(values[present].max() - values[present].min())
        scales.append(_usable(scale))
    metric = as_metric(distance, tuple(scales))
    metric.check(domain)
    return metric


def _usable(scale: float) -> float:
    """Return a scale that numbers can be divided by; 1 where all are equal, or nearly so."""
    return scale if SMALLEST < scale < math.inf else 1.0


def _spread(values: Array) -> float:
    """Return the standard deviation of values, computed in a power of two near them, so that no square overflows."""
    values = values[~np.isnan(values)]
    if not len(values):
        return 0.0
    unit = math.ldexp(1.0, math.frexp(float(np.abs(values).max()))[1])
    return float((values / unit).std()) * unit


def _rounded(value: float, rounded: bool) -> float:
    return float(f"{value:.{DIGITS - 1}e}") if rounded else value


def representatives_of(
    columns: ConformedColumns,
    groups: Ints,
    n_groups: int,
    metric: DomainMetric,
    domain: Domain,
    *,
    rounded: bool,
    k: int,
    persons: Persons | None = None,
) -> tuple[tuple[Scalar | None, ...], ...]:
    """Return the representative of each group: means of numbers, most frequent categories, the first of equals."""
    # Missing is a category like others, the last of them. A mean is one of the values that are there; it is missing if
    # they are of fewer than half of the records, or of fewer than k people, or records.
    #
    # Rounded means are multiples of 1, 2 or 5 times a power of ten, the largest that is at most a twentieth of the
    # attribute's spread (the standard deviation, or the range where the distance divides by it): an exact mean of k
    # values would give the last one to an attacker who knows the others. They are values of a possible record: whole
    # where the attribute is, within declared bounds and on the declared steps; attributes that groups of the domain tie
    # are the possible combination from which the group's records differ least, the first of equals.
    sizes = np.bincount(groups, minlength=n_groups)
    out: list[list[Scalar | None]] = []
    for name, scale in zip(domain, metric.scales, strict=True):
        attribute, array = domain[name], columns.array(name)
        if _has_modes(name, columns, metric):
            out.append(_modes(array, groups, n_groups, values_of(attribute)))
            continue
        array = _numbers(columns, name)
        present, counts, behind = _behind(array, groups, n_groups, persons)
        with np.errstate(invalid="ignore"):
            means = np.bincount(groups[present], weights=array[present], minlength=n_groups) / counts
        gaps = (2 * counts < sizes) | (behind < k)
        # Without scaling the distance's divisor is 1 whatever the attribute's unit.
        spread = _usable(_rounded(_spread(array), rounded)) if metric.distance == "euclidean" else scale
        most = Fraction(spread) / FINENESS
        step = max(one for one in round_numbers(most) if one <= most) if rounded else None
        if step is not None and not isinstance(attribute, Real):
            step = max(step, Fraction(1))
        out.append([None if gap else _value(float(m), step, attribute) for m, gap in zip(means, gaps, strict=True)])
    for tied, rows in domain.blocks if rounded else ():
        at = [domain.names.index(name) for name in tied]
        ones = np.column_stack([np.bincount(groups, weights=columns.array(name), minlength=n_groups) for name in tied])
        possible = np.array(rows, dtype=float)
        # Of each group and combination, how many values of its records differ from it.
        differ = ones @ (1 - possible.T) + (sizes[:, None] - ones) @ possible.T
        for group, best in enumerate(differ.argmin(axis=1).tolist()):
            for place, value in zip(at, rows[best], strict=True):
                out[place][group] = int(value)
    return tuple(zip(*out, strict=True))


def _modes(codes: AnyArray, groups: Ints, n_groups: int, values: Sequence[Scalar]) -> list[Scalar | None]:
    table = np.zeros((n_groups, len(values) + 1), dtype=np.int64)
    np.add.at(table, (groups, codes), 1)
    listed: list[Scalar | None] = [*values, None]
    return [listed[i] for i in table.argmax(axis=1).tolist()]


def _value(mean: float, step: Fraction | None, attribute: object) -> Scalar:
    value = mean
    if step is not None:
        value = float(round(exact(mean) / step) * step)
        if isinstance(attribute, Real) and attribute.resolution is not None:
            grain, lo, hi = exact(attribute.resolution), exact(attribute.lo), exact(attribute.hi)
            value = float(lo + min(round((exact(value) - lo) / grain), math.floor((hi - lo) / grain)) * grain)
        if isinstance(attribute, Integer | Real) and not attribute.inferred:
            value = min(max(value, float(attribute.lo)), float(attribute.hi))
    whole = not isinstance(attribute, Real) and value.is_integer()
    return int(value) if whole else value


def classes_of(
    declared: Sequence[Scalar] | None,
    answered: AnyArray,
    truth: AnyArray | None = None,
    *,
    least: int,
    persons: Persons | None = None,
) -> tuple[Scalar, ...]:
    """Return the classes: those that are declared, or those that occur."""
    # Names that are not declared are published as values of the records that have them, so that scores and rare names
    # are refused: fractions, more than 20 different names, and a name of fewer than least records.
    #
    # A name is shared by people, not by the records of one. Shapes: answered (n,); truth (n,), optional.
    if declared is None:
        of_truth = None if truth is None else _once_each(truth, persons)
        return _occurring(_once_each(answered, persons), of_truth, least)
    several: object = declared
    listed = () if isinstance(several, str | bytes) or not isinstance(several, Iterable) else tuple(several)
    classes: tuple[Scalar, ...] = tuple(v.item() if isinstance(v, np.generic) else v for v in listed)
    if not classes or not all(map(is_scalar, classes)) or len(set(classes)) < len(classes):
        raise InvalidParameterError(
            f"{parameter('classes')} must be different plain values, at least one.", remedy="List each once."
        )
    return classes


def _once_each(labels: AnyArray, persons: Persons | None) -> AnyArray:
    """Return labels with each of a person's once, so that a count is one of people; as they are without persons."""
    if persons is None:
        return labels
    first = {(whose, repr(label)): i for i, (whose, label) in enumerate(zip(persons.codes, labels, strict=True))}
    return labels[sorted(first.values())]


def _occurring(answered: AnyArray, truth: AnyArray | None, least: int) -> tuple[Scalar, ...]:
    counts: Counter[Scalar] = Counter()
    for what, labels in (("the black box answers", answered), ("y holds", truth)):
        own: Counter[Scalar] = Counter() if labels is None else Counter(labels.tolist())
        if any(isinstance(name, float) for name in own):
            raise BlackBoxError(
                f"{what} fractions, which are scores and no classes: each would be published.",
                remedy="Return a class for each "
                f"record, such as whether the score is above a limit, declare {parameter('classes=')}, or declare the "
                f"range and step of the numbers with {parameter('answer=')}.",
            )
        if len(own) > MOST_NAMES:
            raise BlackBoxError(
                f"{what} more than {MOST_NAMES} different labels, and all would be published. If they are scores, "
                "return a class for each record, such as a range of the score, or declare "
                f"{parameter('answer=')}; if they are public classes, declare {parameter('classes=')}."
            )
        for name, count in own.items():
            counts[name] = max(counts[name], count)
    rare = sum(count < least for count in counts.values())
    if rare:
        raise BlackBoxError(
            f"{rare} of {len(counts)} labels are given to fewer than {least} records each: a name that so few share "
            "would be published as theirs.",
            remedy=f"Declare {parameter('classes=')} if the names are public, or join rare ones in the black box.",
        )
    return class_order(set(counts))


def label_array(y: object, n_records: int, name: str = "y") -> AnyArray:
    """Return true labels as an array of plain scalars, shape (n,)."""
    array = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if array.shape != (n_records,):
        raise InvalidDataError(
            f"{parameter(name)} must hold one label a record, shape ({n_records},), got {array.shape}."
        )
    out = np.empty(n_records, dtype=object)
    for i, value in enumerate(array.tolist()):
        out[i] = plain_label(value)
        if out[i] is None:
            raise InvalidDataError(
                f"{parameter(name)} holds a missing value, or one that is no label.",
                remedy="Label or drop these records.",
            )
    return out


def declared_places(y: object, n_records: int, classes: tuple[Scalar, ...]) -> Ints:
    """Return the index of each true label among declared classes, shape (n,)."""
    # Each is read independently; any other label has -1.
    places = np.maximum(class_codes(y, classes), -1)
    check_lengths(n_records, len(places))
    return places


def check_words(truth: AnyArray, names_: Iterable[Scalar]) -> None:
    """Raise InvalidDataError where no true label is one of the names that the black box or the release uses."""
    # Such labels are other words for the same classes, and every figure that compares them would be 0.
    names = set(names_)
    if not len(truth) or any(value in names for value in truth.tolist()):
        return
    kinds = [" and ".join(sorted({_kind(v) for v in values})) for values in (truth.tolist(), names)]
    raise InvalidDataError(
        f"{parameter('y')} uses other words than the black box: it holds {kinds[0]}, the black box answers with "
        f"{kinds[1]}, and no label is common to both.",
        remedy=f"Translate the labels of one into those of the other, or declare numbers with {parameter('answer')}.",
    )


def _kind(value: object) -> str:
    return "texts" if isinstance(value, str) else "Booleans" if isinstance(value, bool) else "numbers"
