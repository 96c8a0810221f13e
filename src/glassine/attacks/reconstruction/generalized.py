"""Dist_G under any joint distribution: a generalized probabilistic dataset (Definition 3 of the paper).

Attributes that depend on each other along a tree are exact for any number of records. A distribution over whole
datasets is exact, too, and enumerates them: it is for small ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations

import numpy as np

from glassine.attacks.reconstruction.entropy import ProbabilisticDataset
from glassine.data.record_table import as_table
from glassine.domain import Between, Binary, Category, Domain, Integer, Literal
from glassine.domain.attributes import Scalar
from glassine.domain.domain import check_domain
from glassine.errors import (
    InvalidDataError,
    InvalidDomainError,
    InvalidParameterError,
    UndefinedMeasureError,
    parameter,
)
from glassine.records.arrays import AnyArray, Array, Bools, Indices

MOST_VALUES = 2_000
"""Most values of an attribute: a table of two attributes has the square of it."""

MOST_WORLDS = 1_000_000
"""Most datasets, or records, that are enumerated."""

NOTHING = 1e-9
"""Probability of a region below which rounding of the sums that leave others out could be all of it."""

Weights = Callable[[Mapping[str, AnyArray]], Array]
"""Returns a weight of each of w datasets of n records, shape (w,), from their columns, shape (w, n) each."""


class AttributeTree:
    """A joint distribution of the attributes of a record in which each depends on one other at most.

    Made by :meth:`of`, or from tables of one's own. Values of an attribute are in the domain's order, a missing one
    last.

    Parameters
    ----------
    domain : Domain
        Binary attributes, categories and whole numbers of at most 2,000 values each.
    parents : sequence of str or None
        On which attribute each of the domain depends; None for one that depends on none. No circles.
    tables : sequence of array-like
        Probabilities of each attribute's values: shape (v,), or (v of the parent, v). Rows add up to 1.

    Raises
    ------
    InvalidDomainError
        If an attribute has no values to list, or too many.
    InvalidParameterError
        If parents or tables do not fit the domain.
    """

    def __init__(self, domain: Domain, parents: Sequence[str | None], tables: Sequence[object]) -> None:
        check_domain(domain)
        self.domain = domain
        self.values = tuple(_values(domain, name) for name in domain)
        names = list(domain)
        if len(parents) != len(names) or any(parent is not None and parent not in names for parent in parents):
            raise InvalidParameterError(f"{parameter('parents')} must name an attribute or None for each attribute.")
        self.parents = tuple(None if parent is None else names.index(parent) for parent in parents)
        self.order = self._ordered()
        self.tables = tuple(np.asarray(table, dtype=np.float64) for table in tables)
        for k, (table, parent) in enumerate(zip(self.tables, self.parents, strict=True)):
            shape = (len(self.values[k]),) if parent is None else (len(self.values[parent]), len(self.values[k]))
            if table.shape != shape or not (table >= 0).all() or not np.allclose(table.sum(axis=-1), 1, atol=1e-9):
                raise InvalidParameterError(
                    f"the table of {names[k]!r} must have shape {shape} and rows of probabilities that add up to 1."
                )

    @classmethod
    def of(cls, records: object, domain: Domain, *, prior: float = 0.5) -> AttributeTree:
        """Return the tree of most mutual information of public records, which are not the training records.

        Parameters
        ----------
        records : data frame
            A public sample of the population, with every attribute of the domain.
        domain : Domain
            Their domain.
        prior : float, default=0.5
            Added to each count, so that no value is impossible; at least 0.

        References
        ----------
        Chow, Liu: Approximating discrete probability distributions with dependence trees, 1968.
        """
        check_domain(domain)
        if not prior >= 0 or not math.isfinite(prior):
            raise InvalidParameterError(f"{parameter('prior')} must be a number of at least 0, got {prior!r}.")
        names = list(domain)
        columns = as_table(records).by({name: domain[name] for name in names}).arrays
        values = [_values(domain, name) for name in names]
        codes = [_codes(name, columns[name], own) for name, own in zip(names, values, strict=True)]
        if not len(codes[0]):
            raise InvalidDataError("there are no records.", remedy="Pass a public sample.")
        pairs = {
            (i, j): _joint(codes[i], codes[j], len(values[i]), len(values[j]), prior)
            for i, j in combinations(range(len(names)), 2)
        }
        parents = _spanning(len(names), {pair: _information(joint) for pair, joint in pairs.items()})
        tables = []
        for k, parent in enumerate(parents):
            if parent is None:
                table = np.bincount(codes[k], minlength=len(values[k])) + prior
                tables.append(table / table.sum())
                continue
            joint = pairs[parent, k] if parent < k else pairs[k, parent].T
            sums = joint.sum(axis=1, keepdims=True)
            tables.append(np.where(sums > 0, joint / np.where(sums > 0, sums, 1.0), 1 / joint.shape[1]))
        return cls(domain, [None if parent is None else names[parent] for parent in parents], tables)

    def _ordered(self) -> list[int]:
        """Return the attributes, each before those that depend on it."""
        order: list[int] = []
        while len(order) < len(self.parents):
            ready = [k for k, p in enumerate(self.parents) if k not in order and (p is None or p in order)]
            if not ready:
                raise InvalidParameterError(f"{parameter('parents')} go round in a circle.", remedy="Break it.")
            order += ready
        return order

    @cached_property
    def entropy(self) -> float:
        """Entropy of one record, in bits."""
        mass, logs = self._sums({})
        return -logs / mass

    def entropy_within(self, inside: Sequence[Literal], outside: Sequence[Sequence[Literal]] = ()) -> float:
        """Return the entropy in bits of a record that satisfies some conditions, and fails each of some conjunctions.

        Raises
        ------
        UndefinedMeasureError
            If such a record is impossible, or has a probability below 1e-9.
        """
        mass, logs = self._region(self._box(inside), [self._box(conjunction) for conjunction in outside])
        if not mass > NOTHING:
            raise UndefinedMeasureError(
                "a part of the model that holds records is impossible under the distribution.",
                remedy="Give each value some probability.",
            )
        return max(math.log2(mass) - logs / mass, 0.0)

    def _box(self, literals: Sequence[Literal]) -> dict[int, Bools]:
        names, box = list(self.domain), dict[int, Bools]()
        for literal in literals:
            k = names.index(literal.attribute)
            holding = _satisfies(literal, self.values[k])
            box[k] = box[k] & holding if k in box else holding
        return box

    def _region(self, box: dict[int, Bools], outside: Sequence[dict[int, Bools]]) -> tuple[float, float]:
        """Return the sums of a box without others: the box, less what each of them adds to those before it."""
        if not all(mask.any() for mask in box.values()):
            return 0.0, 0.0
        mass, logs = self._sums(box)
        for i, other in enumerate(outside):
            both = box | {k: mask & box[k] if k in box else mask for k, mask in other.items()}
            less = self._region(both, outside[:i])
            mass, logs = mass - less[0], logs - less[1]
        return mass, logs

    def _sums(self, box: Mapping[int, Bools]) -> tuple[float, float]:
        """Return the sums of p and of p log2 p over the records of a box."""
        below = {k: (np.ones(len(own)), np.zeros(len(own))) for k, own in enumerate(self.values)}
        mass, logs = 1.0, 0.0
        for k in reversed(self.order):
            table = self.tables[k] * box[k] if k in box else self.tables[k]
            surprise = table * np.log2(np.where(self.tables[k] > 0, self.tables[k], 1.0))
            own, own_logs = below[k]
            up, up_logs = table @ own, surprise @ own + table @ own_logs
            parent = self.parents[k]
            if parent is None:
                mass, logs = mass * float(up), logs * float(up) + mass * float(up_logs)
            else:
                before, before_logs = below[parent]
                below[parent] = before * up, before_logs * up + before * up_logs
        return mass, logs


def generalized_dist_g(published: ProbabilisticDataset, joint: AttributeTree | Weights) -> float:
    r"""Return Dist_G under a joint distribution: the share of the joint entropy that the model leaves.

    Parameters
    ----------
    known : ProbabilisticDataset
        What a model reveals, of :func:`reconstruct`, with exact counts.
    joint : AttributeTree or callable
        What is known before the model is read. An :class:`AttributeTree` makes records independent of each other, and
        their attributes dependent along the tree. A callable gives each dataset a weight of at least 0, on which
        everything may depend: it gets the columns of w datasets of n records, shape (w, n) each, and returns shape
        (w,). The records of the first leaf or rule come first; a missing value is None.

    Returns
    -------
    float
        At least 0. A model that contradicts the distribution can leave more than 1.

    Raises
    ------
    UndefinedMeasureError
        If counts are not exact, a part that holds records is impossible, one dataset alone is possible, or there are
        more than 1,000,000 datasets to enumerate.
    InvalidParameterError
        If the distribution has another domain, or its weights are not numbers of at least 0.

    Examples
    --------
    >>> from glassine import Domain, parse_rules, reconstruct
    >>> domain = Domain.binary(["a", "b"])
    >>> known = reconstruct(
    ...     parse_rules("if [a] then [true] ([0 ; 2] examples)\nelse [false] ([1 ; 0] examples)"), domain
    ... )
    >>> joined = AttributeTree(domain, [None, "a"], [[0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]]])
    >>> known.dist_g(), round(generalized_dist_g(known, joined), 3)
    (0.5, 0.319)

    No two records are equal:

    >>> def distinct(columns):
    ...     codes = np.sort(2 * columns["a"].astype(int) + columns["b"].astype(int), axis=1)
    ...     return (np.diff(codes, axis=1) > 0).all(axis=1)
    >>> round(generalized_dist_g(known, distinct), 3)
    0.436
    """
    if isinstance(joint, AttributeTree):
        if joint.domain != published.domain:
            raise InvalidParameterError(
                "the distribution has another domain than the model's.", remedy="Use one domain."
            )
        parts = zip(published.model.cells, published.supports, strict=True)
        left = math.fsum(size * joint.entropy_within(cell.inside, cell.outside) for cell, size in parts if size)
        return published.share_left(left, published.n_records * joint.entropy)
    return _of_worlds(published, joint)


def _of_worlds(published: ProbabilisticDataset, weights: Weights) -> float:
    names, n = list(published.domain), published.n_records
    values = [_values(published.domain, name) for name in names]
    size = math.prod(len(own) for own in values)
    if n * math.log2(max(size, 2)) > math.log2(MOST_WORLDS):
        raise UndefinedMeasureError(
            f"there are more than {MOST_WORLDS:,} datasets of {n:,} records of {size:,} possible ones.",
            remedy="Use an AttributeTree.",
        )
    places = np.stack(np.meshgrid(*[np.arange(len(own)) for own in values], indexing="ij"), axis=-1)
    places = places.reshape(size, len(names))
    record = {name: own[places[:, k]] for k, (name, own) in enumerate(zip(names, values, strict=True))}
    part = published.model.apply(record)
    worlds = np.stack(np.meshgrid(*[np.arange(size)] * n, indexing="ij"), axis=-1).reshape(size**n, n)
    weighed = np.asarray(weights({name: column[worlds] for name, column in record.items()}), dtype=np.float64)
    if weighed.shape != (len(worlds),) or not (weighed >= 0).all() or not np.isfinite(weighed).all():
        raise InvalidParameterError(f"weights must be {len(worlds):,} numbers of at least 0, one for each dataset.")
    agrees = (part[worlds] == np.repeat(np.arange(len(published.supports)), published.supports)).all(axis=1)
    if not weighed[agrees].sum() > 0:
        raise UndefinedMeasureError(
            "no dataset that agrees with the model has a weight above 0.", remedy="Give one such dataset a weight."
        )
    return published.share_left(_entropy(weighed[agrees]), _entropy(weighed))


def _entropy(weights: Array) -> float:
    """Return the entropy of a distribution, in bits, from weights in proportion to it."""
    shares = weights[weights > 0] / weights.sum()
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def _values(domain: Domain, name: str) -> AnyArray:
    """Return the values of an attribute as objects, a missing one last as None."""
    attribute = domain[name]
    own: Iterator[Scalar]
    if isinstance(attribute, Binary):
        own = iter((0, 1))
    elif isinstance(attribute, Category):
        own = iter(attribute.values)
    elif isinstance(attribute, Integer) and attribute.size <= MOST_VALUES and not attribute.codes:
        own = iter(range(attribute.lo, attribute.hi + 1))
    else:
        raise InvalidDomainError(
            f"{name!r} has no list of at most {MOST_VALUES:,} values.",
            remedy="Declare a binary attribute, a category or a whole number with fewer.",
        )
    listed: list[Scalar | None] = [*own, *([None] if attribute.missing else [])]
    if len(listed) > MOST_VALUES:
        raise InvalidDomainError(f"{name!r} has more than {MOST_VALUES:,} values.", remedy="Group its values.")
    out = np.empty(len(listed), dtype=object)
    out[:] = listed
    return out


def _satisfies(literal: Literal, values: AnyArray) -> Bools:
    if isinstance(literal, Between):
        return literal.holds(np.array([math.nan if value is None else float(value) for value in values.tolist()]))
    return literal.holds(values)


def _codes(name: str, column: AnyArray, values: AnyArray) -> Indices:
    """Return the place of each record's value among those of an attribute."""
    places = {value: i for i, value in enumerate(values.tolist())}
    plain = [None if value is None or value != value else value for value in np.asarray(column).tolist()]
    odd = sum(value not in places for value in plain)
    if odd:
        raise InvalidDataError(
            f"{odd:,} of {len(plain):,} records have a value of {name!r} that the domain lacks.",
            remedy="Declare it, or drop them.",
        )
    return np.array([places[value] for value in plain], dtype=np.intp)


def _joint(one: Indices, other: Indices, rows: int, columns: int, prior: float) -> Array:
    counts = np.bincount(one * columns + other, minlength=rows * columns).reshape(rows, columns)
    return np.asarray(counts + prior, dtype=np.float64)


def _information(joint: Array) -> float:
    """Return the mutual information of two attributes, from their counts."""
    shares = joint / joint.sum()
    independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    inside = shares > 0
    return float((shares[inside] * np.log2(shares[inside] / independent[inside])).sum())


def _spanning(n: int, gains: Mapping[tuple[int, int], float]) -> list[int | None]:
    """Return the parent of each node in the spanning tree of most gain, grown from the first."""
    parents: list[int | None] = [None] * n
    inside = {0}
    while len(inside) < n:
        near, far = max(
            ((i, j) for i in sorted(inside) for j in range(n) if j not in inside),
            key=lambda pair: gains[min(pair), max(pair)],
        )
        parents[far] = near
        inside.add(far)
    return parents


__all__ = ["AttributeTree", "generalized_dist_g"]
