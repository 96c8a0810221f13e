"""The distance between a query and representatives, as a reader of the release computes it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from glassine.codec import Codec, checked
from glassine.domain import Attribute, Category, Domain, Integer, Real
from glassine.domain.attributes import Scalar, is_scalar
from glassine.errors import InvalidModelError, InvalidParameterError, check_choice, parameter
from glassine.microaggregation import SemanticDistance
from glassine.microaggregation.dissimilarity import GAP, SQUARED_GAP
from glassine.records.arrays import Array, Indices
from glassine.records.columns import ConformedColumns

DISTANCES = ("euclidean", "gower", "semantic")

Table: TypeAlias = tuple[Mapping[Scalar, int], Array]
"""The values of a taxonomy by index, and their distances, shape (v, v)."""

BLOCK = 2_000_000
"""Most distances that are held at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainMetric:
    """A distance on records of a domain.

    "euclidean" is the root of the sum of squared differences, each divided by the attribute's scale; it knows numbers
    and binary attributes. A missing value differs from any other by the root of 2 scales. "gower" is the mean over the
    attributes of the difference divided by the scale, at most 1, of numbers, and of 0 or 1 for equal or different
    categories; a missing value differs by 1 from any other. "semantic" is the same, with the distance in a taxonomy for
    some categories. Missing values do not differ. None needs the attributes' centers, which cancel.
    """

    distance: str  # The distance
    scales: tuple[float, ...]  # Positive divisor of each attribute of the domain, in order; 1 for a category
    # As in :class:`~glassine.microaggregation.SemanticDistance`.
    taxonomies: Mapping[str, Any] = field(default_factory=dict, hash=False)
    _tables: Mapping[str, Table] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_choice(self.distance, "distance", DISTANCES)
        scales = tuple(float(scale) for scale in self.scales)
        if not all(0 < scale < math.inf for scale in scales):
            raise InvalidParameterError(f"{parameter('scales')} must be positive finite numbers, got {list(scales)}.")
        object.__setattr__(self, "scales", scales)
        if self.taxonomies and self.distance != "semantic":
            raise InvalidParameterError("taxonomies go with the semantic distance.", remedy="Leave them out.")
        # Its constructor checks the trees.
        semantic = SemanticDistance(self.taxonomies)
        object.__setattr__(self, "taxonomies", {name: _nested(tree) for name, tree in semantic.taxonomies.items()})
        trees = {name: semantic.taxonomy(name) for name in self.taxonomies}
        tables = {name: ({v: i for i, v in enumerate(t.values)}, t.table()) for name, t in trees.items()}
        object.__setattr__(self, "_tables", tables)

    def check(self, domain: Domain) -> None:
        """Raise InvalidParameterError if the distance does not know an attribute of the domain."""
        if len(self.scales) != len(domain):
            raise InvalidParameterError(
                f"{parameter('scales')} must be {len(domain)}, one per attribute, got {len(self.scales)}."
            )
        if self.distance == "euclidean":
            for name in domain:
                if isinstance(domain[name], Category):
                    raise InvalidParameterError(
                        f"the Euclidean distance needs numbers, but {name!r} is a category.",
                        remedy='Use distance="gower", or encode it.',
                    )
        for name in self.taxonomies:
            attribute = domain[name]
            if not isinstance(attribute, Category):
                raise InvalidParameterError(
                    f"{name!r} has a taxonomy, but is no category of the domain.", remedy="Drop it."
                )
            self._table(attribute, name)

    def _table(self, attribute: Category, name: str) -> Array:
        """Return the distance in a taxonomy of each two values of a category, shape (c, c)."""
        where, table = self._tables[name]
        absent = [value for value in attribute.values if value not in where]
        if absent:
            raise InvalidParameterError(f"the taxonomy of {name!r} has no value {absent[0]!r}.", remedy="Add it.")
        at = [where[value] for value in attribute.values]
        return np.asarray(table[np.ix_(at, at)])

    def ranked(self, name: str, attribute: Category, value: Scalar | None) -> tuple[Scalar, ...]:
        """Return the values of a category, those closest to one of them first, equally close ones in their order."""
        if name not in self.taxonomies or value is None:
            return attribute.values
        distances = self._table(attribute, name)[attribute.values.index(value)]
        return tuple(attribute.values[i] for i in np.argsort(distances, kind="stable").tolist())

    def embed(self, columns: ConformedColumns) -> Array:
        """Return records as scaled coordinates, one an attribute, shape (n, d): codes of categories, NaN for a gap."""
        out = []
        for (name, attribute), scale in zip(columns.attributes.items(), self.scales, strict=True):
            values = np.asarray(columns.array(name), dtype=float)
            if not isinstance(attribute, Integer | Real):
                values = np.where(values < 0, np.nan, values)
            out.append(values if isinstance(attribute, Category) else values / scale)
        return np.column_stack(out)

    def embed_one(self, domain: Domain, record: Mapping[str, Scalar | None]) -> Array:
        """Return one record as :meth:`embed` does, shape (1, d)."""
        out = []
        for name, scale in zip(domain, self.scales, strict=True):
            attribute, value = domain[name], record[name]
            if value is None:
                out.append(math.nan)
            elif isinstance(attribute, Category):
                out.append(float(attribute.values.index(value)))
            else:
                out.append(float(value) / scale)
        return np.array([out])

    def between(self, left: Array, right: Array, domain: Domain) -> Array:
        """Return the distances between embedded records, shape (n, m)."""
        if self.distance == "euclidean":
            return _euclidean(left, right)
        total = np.zeros((len(left), len(right)))
        for j, name in enumerate(domain):
            total += self._dissimilarities(name, domain[name], left[:, j, None], right[None, :, j])
        return total / len(self.scales)

    def _dissimilarities(self, name: str, attribute: Attribute, first: Array, second: Array) -> Array:
        """Return how far values of one attribute lie apart, from 0 to 1, in the shape that both broadcast to."""
        gaps = np.isnan(first) | np.isnan(second)
        if isinstance(attribute, Category) and name not in self.taxonomies:
            distances = np.where(first != second, 1.0, 0.0)
        elif isinstance(attribute, Category):
            codes = (np.where(np.isnan(part), 0, part).astype(np.intp) for part in (first, second))
            distances = self._table(attribute, name)[tuple(codes)]
        else:
            distances = np.minimum(np.abs(first - second), 1.0)
        alike = np.isnan(first) & np.isnan(second)
        return np.asarray(np.where(gaps, np.where(alike, 0.0, GAP), distances))

    def differences(self, one: Array, other: Array, domain: Domain) -> dict[str, float]:
        """Return how far two embedded records, each of shape (1, d), lie apart in each attribute, in its scale."""
        if self.distance == "euclidean":
            differences = np.where(np.isnan(one - other), np.sqrt(_squares(one, other)), np.abs(one - other))
            return dict(zip(domain, differences[0].tolist(), strict=True))
        return {
            name: float(self._dissimilarities(name, domain[name], one[0, j : j + 1], other[0, j : j + 1])[0])
            for j, name in enumerate(domain)
        }

    def closest(
        self, queries: Array, points: Array, n_closest: int, domain: Domain, strata: str | None = None
    ) -> Indices:
        """Return for each embedded query the indices of its closest points, nearest first, ties by lowest index.

        Points of the query's stratum, which have its value of the attribute ``strata``, come before all others.
        """
        n = min(n_closest, len(points))
        out = np.empty((len(queries), n), dtype=np.intp)
        step = max(1, BLOCK // len(points))
        for start in range(0, len(queries), step):
            distances = self.between(queries[start : start + step], points, domain)
            if strata is None:
                order = np.argsort(distances, axis=1, kind="stable")
            else:
                j = domain.names.index(strata)
                order = np.lexsort((distances, queries[start : start + step, j, None] != points[:, j]), axis=1)
            out[start : start + step] = order[:, :n]
        return out


def _euclidean(left: Array, right: Array) -> Array:
    """Return the Euclidean distances of records, shape (n, m)."""
    # How those of a record are computed follows from it and right alone: one with missing values changes no digit of
    # another's.
    whole = ~np.isnan(left).any(axis=1) & (not np.isnan(right).any())
    out = np.empty((len(left), len(right)))
    if whole.all():
        return np.asarray(cdist(left, right, "euclidean"))
    out[whole] = cdist(left[whole], right, "euclidean")
    squares = np.zeros((int((~whole).sum()), len(right)))
    for mine, theirs in zip(left[~whole].T, right.T, strict=True):
        squares += _squares(mine[:, None], theirs[None, :])
    out[~whole] = np.sqrt(squares)
    return out


def _squares(first: Array, second: Array) -> Array:
    """Return squared differences, those from and between missing values as they count."""
    squares = (first - second) ** 2
    alike = np.isnan(first) & np.isnan(second)
    return np.asarray(np.where(np.isnan(squares), np.where(alike, 0.0, SQUARED_GAP), squares))


def _nested(tree: Any) -> Any:
    """Return a taxonomy as nested mappings; equal ones are written equally."""
    if isinstance(tree, Mapping):
        return {value: _nested(below) for value, below in tree.items()}
    return None if tree is None else dict.fromkeys(tree)


def as_metric(distance: str | SemanticDistance, scales: tuple[float, ...]) -> DomainMetric:
    """Return the metric of a distance as a microaggregation names it."""
    if isinstance(distance, SemanticDistance):
        return DomainMetric(distance="semantic", scales=scales, taxonomies=distance.taxonomies)
    return DomainMetric(distance=distance, scales=scales)


# Taxonomies as a file has them.

MAX_TAXONOMY_DEPTH = 100
MAX_TAXONOMY_VALUES = 2000


def _plain_tree(tree: Any) -> Any:
    """Return a taxonomy as JSON has it: mappings have names for keys, so that each level is a list of pairs."""
    if isinstance(tree, Mapping):
        return [[value, _plain_tree(below)] for value, below in tree.items()]
    return None if tree is None else [[value, None] for value in tree]


def _tree_of(pairs: object, left: list[int], depth: int = 0) -> Any:
    """Return pairs as a nested mapping; ``left`` holds how many values may still come."""
    if pairs is None:
        return None
    if depth > MAX_TAXONOMY_DEPTH:
        raise InvalidModelError(
            f"a taxonomy of the release is deeper than {MAX_TAXONOMY_DEPTH} levels.",
            remedy="Merge levels of the taxonomy.",
        )
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise InvalidModelError("a taxonomy of the release must be a list of pairs of a value and what is below it.")
    left[0] -= len(pairs)
    if left[0] < 0:
        raise InvalidModelError(
            f"the taxonomies of a release have at most {MAX_TAXONOMY_VALUES} values.",
            remedy="Merge values of the taxonomies.",
        )
    if not all(is_scalar(pair[0]) for pair in pairs):
        raise InvalidModelError("a taxonomy of the release must hold texts, finite numbers or Booleans.")
    if len({pair[0] for pair in pairs}) < len(pairs):
        raise InvalidModelError("a taxonomy of the release names a value twice.", remedy="Name each value once.")
    return {value: _tree_of(below, left, depth + 1) for value, below in pairs}


def _taxonomies(entry: object) -> dict[str, Any]:
    tree = _tree_of(entry, [MAX_TAXONOMY_VALUES])
    if not isinstance(tree, dict) or not all(isinstance(name, str) for name in tree):
        raise InvalidModelError("the release's taxonomies must be a list of pairs of an attribute and its tree.")
    return tree


TAXONOMIES: Codec[dict[str, Any]] = checked(_plain_tree, _taxonomies)
