"""Neighboring datasets chosen against a learner: candidates for the worst pair, and a search among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidDataError, InvalidParameterError, check_whole, parameter
from glassine.records.arrays import AnyArray, Bools
from glassine.verification.same_records import (
    CONTAINERS,
    EstimatorSource,
    PlainRecords,
    check_neighbors,
    declared_values,
    odd_values,
    of_each_type,
    source_of,
)
from glassine.verification.statistical import FEWEST_RUNS, LowerBound, VerificationPlan
from glassine.verification.statistical_phases import NO_CLAIM, RUNS, Claim, Relation, Runs, Score
from glassine.verification.trials import Crowd, StatedNoise
from glassine.verification.worst_case_search import FEWEST, Hunt

__all__ = ["NeighborPair", "PairSearch", "search", "worst_pairs"]

OUTLIER = "held by one record"
"""A category that no other record has."""

ARRAY = "array"
"""Container of the pairs that are arrays of one type, or of objects."""

BRIEF = ("tuples", "mappings", "object array", "polars")
"""Containers with few of the odd values: readers of lists or pandas frames treat them equally."""

FEW_VALUES = ("a text", "a fraction", "None", "a number as text")

COPIES = 100
"""Records of each kind beside an odd one: so many that what a learner makes of them is nearly certain."""

IN_FRONT = 99
"""Odd records in front, to which one more is added: frames are typed by their first hundred values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighborPair:
    """Two neighboring datasets ``(X, y)``, the second with one record more."""

    name: str  # Why it may be a bad case
    # d0, d1: the datasets; tuple of ndarray, or what the container holds.
    d0: Any
    d1: Any
    container: str = ARRAY  # What holds the records: "array", or a name in ``glassine.verification.same_records``
    records: Any = None  # The new record, where a fitted learner may be asked about it; shape (1, d), optional

    @property
    def canaries(self) -> int:
        """One record is in by a coin."""
        return 1

    @property
    def distance(self) -> int:
        """The datasets differ by one record."""
        return 1

    def dataset(self, coins: Bools) -> Any:
        """Return the dataset with or without the record, as the coin says."""
        return self.d1 if coins[0] else self.d0

    def differs(self, relation: Relation) -> str:
        """Return in words how the datasets differ, or raise if they are not neighbors."""
        return check_neighbors(self.d0, self.d1, relation)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSearch:
    """The result of a search for the worst pair.

    Attributes
    ----------
    pair : NeighborPair, Crowd or StatedNoise
        What looked worst in the preliminary runs: a pair, a crowd of canaries, or the noise of published counts.
    bound : LowerBound
        Of it, from fresh runs.
    bounds : tuple of (str, LowerBound)
        The bounds of all that fresh runs tested: at most one pair of arrays, one with an odd record, one crowd and
        the noise of counts. They hold together at the stated confidence.
    preliminary : tuple of (str, float)
        What was tried, the worst first, with what its few runs would bound; no bounds, and not to be picked from.
        Empty where there was but one pair.
    refused : tuple of str
        Containers that the learner refused with any content, so that nothing was tried there.
    runs : int
        All runs, preliminary ones included.
    """

    pair: NeighborPair | Crowd | StatedNoise
    bound: LowerBound
    bounds: tuple[tuple[str, LowerBound], ...]
    preliminary: tuple[tuple[str, float], ...]
    refused: tuple[str, ...]
    runs: int


def worst_pairs(
    X: object,
    y: object,
    *,
    domain: Domain | None = None,
    classes: Sequence[Any] | None = None,
    target_range: tuple[float, float] | None = None,
) -> tuple[NeighborPair, ...]:
    """Propose neighboring datasets that a learner may fail to keep apart as it claims.

    They are: an empty cell, a category or a number that no other record has, the same values everywhere, a record that
    tips a majority, a duplicate, a hardly populated dataset, a target at either end of its range, and labels in turn
    with a record in front or at the end, which moves all others.

    With a domain one record more also holds an odd value, such as a text among numbers, 2**64, NaN, None or a date, in
    an attribute or as its label; in lists, tuples, mappings, object arrays, frames and CSV files.

    Shapes: ``X`` (n, d); ``y`` (n,).

    Examples
    --------
    >>> pairs = worst_pairs([[0, 1], [1, 0], [0, 0], [1, 1]], [0, 1, 0, 1])
    >>> len(pairs), pairs[0].name
    (20, 'empty cell, column 0, label 0')
    >>> odd = worst_pairs([[0], [1], [0], [1]], [0, 1, 0, 1], domain=Domain.binary(["a"]))[-1]
    >>> odd.container, odd.name
    ('CSV', 'label: a number as text')
    """
    background, labels = _roomy(np.asarray(X)), _roomy(np.asarray(y))
    if background.ndim != 2 or labels.shape != background.shape[:1] or not len(labels) >= 4:
        raise InvalidDataError(
            f"{parameter('X')} must be a table of at least 4 records with one label each, got shapes "
            f"{background.shape} and "
            f"{labels.shape}."
        )
    if target_range is not None:
        labels, chosen = labels.astype(np.float64), [float(end) for end in target_range]
        targets = chosen
    else:
        targets = list(classes) if classes is not None else np.unique(labels).tolist()
        counts = {target: int((labels == target).sum()) for target in targets}
        # One label that is rare and one that is common say enough.
        chosen = list(dict.fromkeys([min(targets, key=counts.__getitem__), max(targets[::-1], key=counts.__getitem__)]))
    plain = tuple(_proposals(background, labels, domain, chosen))
    return plain if domain is None else (*plain, *_odd_pairs(domain, background.shape[1], targets))


def search(
    learner: object,
    pairs: Sequence[NeighborPair],
    claim: Claim = NO_CLAIM,
    *,
    score: Score | Callable[[Any], float] | None = None,
    preliminary: int | None = None,
    read: Callable[[Path, str], tuple[Any, Any]] | None = None,
    relation: Relation = "add-or-remove-one",
    runs: Runs = RUNS,
) -> PairSearch:
    """Find what looks worst in few runs, and bound the privacy parameter on it from fresh ones.

    Of an estimator more is tried than the pairs: a crowd of canaries in cells of their own, several equal records at
    once where the certificate states Gaussian noise, and the noise of published counts against its stated scale.

    Guarantee
    ---------
    That of ``LowerBound``: the preliminary runs choose what is tested, and are not counted; see ``bounds.md``.

    Parameters
    ----------
    learner : estimator, callable or Source
        As in ``lower_bound``. What is no estimator gets the pairs of arrays alone.
    pairs : sequence of NeighborPair
        Such as ``worst_pairs``.
    claim : Claim, optional
        As in ``lower_bound``.
    score : Score or callable, optional
        As in ``lower_bound``; with a score of your own only the pairs of arrays are tried.
    preliminary : int, optional
        Runs for each pair beforehand, on average: what looks harmless gets fewer. By default 3/4 of ``runs`` in total.
        Odd records have a least number of their own, which may be more.
    read : callable, optional
        From the path of a CSV file and the name of its target to ``(X, y)``. Without it no files are tried.
    relation
        As in ``lower_bound``.
    runs : Runs, optional
        Runs for the bound, by default 1600, those that help to choose the event included; preliminary ones, with seeds
        of their own, come on top.

    Examples
    --------
    >>> def careless(dataset, seed):
    ...     return dataset[1].sum() + np.random.default_rng(seed).laplace(scale=0.5)
    >>> found = search(careless, worst_pairs([[0], [0], [1], [1]], [0, 1, 0, 1]), Claim(epsilon=1.0), score=float)
    >>> found.bound.violated, "label 1" in found.pair.name
    (True, True)
    """
    wanted = 1600 if runs.number is None else runs.number
    for name, number, least in (("runs", wanted, FEWEST_RUNS), ("preliminary", preliminary, FEWEST)):
        if number is not None:
            check_whole(number, name, least)
    plan = VerificationPlan.of(claim, score, wanted)
    source = source_of(learner)
    if isinstance(source, EstimatorSource) and read is not None:
        source = EstimatorSource(source.estimator, read)
    own = score is not None
    plain = [pair for pair in pairs if pair.container == ARRAY]
    odd = (
        []
        if own or not isinstance(source, EstimatorSource)
        else [
            pair for pair in pairs if pair.container != ARRAY and (pair.container != "CSV" or source.read is not None)
        ]
    )
    if not plain and not odd:
        raise InvalidParameterError("there must be at least one pair, got none.", remedy="See worst_pairs.")
    for pair in plain:
        check_neighbors(pair.d0, pair.d1, relation)
    hunt = Hunt(
        source=source,
        plan=plan,
        relation=relation,
        runs=wanted,
        budget=3 * wanted // 4 if preliminary is None else preliminary * len(pairs),
        seed=runs.seed,
        workers=runs.workers,
        progress=runs.progress,
    )
    hunted = hunt.find(plain, odd, extras=not own and relation == "add-or-remove-one")
    return PairSearch(
        pair=hunted.case,
        bound=hunted.bound,
        bounds=hunted.bounds,
        preliminary=hunted.tried,
        refused=hunted.refused,
        runs=hunt.done,
    )


def _proposals(X: AnyArray, y: AnyArray, domain: Domain | None, labels: list[Any]) -> Iterator[NeighborPair]:
    for label in labels:
        for j in range(X.shape[1]):
            yield from _empty_cell(X, y, domain, j, label)
        for j in range(X.shape[1]):
            yield _added(X, y, _outlier(X, domain, j), label, f"value that no record has, column {j}, label {label!r}")
        same = np.repeat(X[:1], len(X), axis=0)
        yield _added(
            same,
            np.repeat([_other_label(label, labels, y)], len(y)).astype(y.dtype),
            X[0].tolist(),
            label,
            f"one of all, label {label!r}",
        )
        yield from _tipped(X, y, labels, label)
        yield _added(X, y, X[0].tolist(), label, f"duplicate of the first record, label {label!r}")
        yield _added(X[:2], y[:2], X[-1].tolist(), label, f"two records and a third, label {label!r}")
        yield from _in_turn(X, y, labels, label)


def _odd_pairs(domain: Domain, width: int, targets: Sequence[Scalar]) -> Iterator[NeighborPair]:
    """Yield pairs of which the second has one record more with an odd value, in every container."""
    names = tuple(domain)[:width]
    declared = [declared_values(domain[name]) for name in names]
    for container in CONTAINERS:
        for j, name in enumerate(names):
            for values in of_each_type(declared[j])[:1]:
                records = _two_kinds(names, declared, j, values, targets)
                yield from _with_odd(container, records, j, [*declared[j]], f"attribute {name!r}")
        for group in of_each_type(targets):
            records = _two_kinds(names, declared, 0, declared[0], group)
            others = [target for target in targets if target not in group]
            yield from _with_odd(container, records, None, [*group], "label", others)


def _two_kinds(
    names: tuple[str, ...],
    declared: Sequence[Sequence[Scalar]],
    j: int,
    values: Sequence[Scalar],
    targets: Sequence[Scalar],
) -> PlainRecords:
    """Return records of two kinds, which differ in one attribute and in their labels."""
    group = of_each_type(targets)[0]
    first = tuple(column[0] for column in declared)
    kinds = [(*first[:j], value, *first[j + 1 :]) for value in (values[0], values[-1])]
    return PlainRecords(
        names=names,
        rows=tuple(kind for kind in kinds for _ in range(COPIES)),
        labels=tuple(label for label in (group[0], group[-1]) for _ in range(COPIES)),
    )


def _with_odd(
    container: str,
    records: PlainRecords,
    j: int | None,
    declared: list[Scalar],
    where: str,
    others: Sequence[Scalar] = (),
) -> Iterator[NeighborPair]:
    build = CONTAINERS[container]
    d0 = build(records)
    odd = [(f"the class {other!r}", other) for other in others] + list(odd_values(declared))
    for name, value in odd:
        if container in BRIEF and value not in others and name not in FEW_VALUES:
            continue
        row, label = list(records.rows[0]), records.labels[0]
        if j is None:
            label = value
        else:
            row[j] = value
        yield NeighborPair(
            name=f"{where}: {name}", d0=d0, d1=build(records.with_record(row, label)), container=container
        )
        if j is not None and name == "a number as text" and container in ("object array", "pandas"):
            front = records
            for _ in range(IN_FRONT):
                front = front.with_record(row, label, first=True)
            yield NeighborPair(
                name=f"{where}: {IN_FRONT} of {name} in front, and one more",
                d0=build(front),
                d1=build(front.with_record(row, label, first=True)),
                container=container,
            )


def _roomy(values: AnyArray) -> AnyArray:
    """Return an array that holds texts of any length and any whole number."""
    if values.dtype.kind in "US":
        return np.array(values, dtype=object)
    return values.astype(np.int64) if values.dtype.kind in "iu" else values


def _joined(values: AnyArray, value: object, *, first: bool) -> AnyArray:
    """Return an array with one more entry, of its type if that holds it, else object."""
    entry = np.empty((1, *values.shape[1:]), dtype=object)
    entry[0] = value
    parts = (values.astype(object), entry)
    try:
        same = entry.astype(values.dtype)
        if bool((same == entry).all()):
            parts = (values, same)
    except (TypeError, ValueError, OverflowError):
        pass
    return np.concatenate(parts[::-1] if first else parts)


def _added(
    X: AnyArray, y: AnyArray, record: Sequence[Any], label: object, name: str, *, first: bool = False
) -> NeighborPair:
    d1 = _joined(X, record, first=first), _joined(y, label, first=first)
    return NeighborPair(name=name, d0=(X, y), d1=d1, records=d1[0][:1] if first else d1[0][-1:])


def _empty_cell(X: AnyArray, y: AnyArray, domain: Domain | None, j: int, label: object) -> Iterator[NeighborPair]:
    """Leave out all records that hold the rarest value of a column, and add one that does."""
    values = _extremes(X, domain, j)
    value = min(values, key=lambda candidate: int((X[:, j] == candidate).sum()))
    others = X[:, j] != value
    if others.sum() >= 2:
        record = X[0].tolist()
        record[j] = value
        yield _added(X[others], y[others], record, label, f"empty cell, column {j}, label {label!r}")


def _extremes(X: AnyArray, domain: Domain | None, j: int) -> list[Any]:
    if domain is not None:
        return list(declared_values(domain[list(domain)[j]]))
    values = X[:, j].tolist()
    if all(isinstance(value, int | float) for value in values):
        return [min(values), max(values)]
    return list(dict.fromkeys(values))


def _outlier(X: AnyArray, domain: Domain | None, j: int) -> list[Any]:
    """Return the first record with a value that no other has; outside the domain where that is possible."""
    record: list[Any] = X[0].tolist()
    values = X[:, j].tolist()
    if any(isinstance(value, bool) for value in values):
        record[j] = not record[j]
    elif all(isinstance(value, int | float) for value in values):
        finite = [*values, *(v for v in _extremes(X, domain, j) if not isinstance(v, str))]
        record[j] = max(finite) + 1000 * ((max(finite) - min(finite)) or 1)
    else:
        record[j] = OUTLIER
    return record


def _other_label(label: object, labels: list[Any], y: AnyArray) -> Any:
    return next((other for other in [*labels, *y.tolist()] if other != label), label)


def _tipped(X: AnyArray, y: AnyArray, labels: list[Any], label: object) -> Iterator[NeighborPair]:
    other = _other_label(label, labels, y)
    half = len(y) // 2
    balanced = np.array([label, other] * half).astype(y.dtype)
    same = np.repeat(X[:1], 2 * half, axis=0)
    yield _added(same, balanced, X[0].tolist(), label, f"tipped majority, label {label!r}")


def _in_turn(X: AnyArray, y: AnyArray, labels: list[Any], label: object) -> Iterator[NeighborPair]:
    other = _other_label(label, labels, y)
    turns = np.array([label, other] * len(y))[: len(y)].astype(y.dtype)
    same = np.repeat(X[:1], len(y), axis=0)
    yield _added(same, turns, X[0].tolist(), other, f"labels in turn, a record in front, label {other!r}", first=True)
    yield _added(
        same,
        turns,
        X[0].tolist(),
        turns[0].item() if hasattr(turns[0], "item") else turns[0],
        f"labels in turn, a record at the end, label {label!r}",
    )
