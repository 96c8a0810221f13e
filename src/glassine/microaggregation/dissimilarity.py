"""What makes two records close: the scaling of the numbers, and the dissimilarities of categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from glassine.domain import Category, Domain
from glassine.domain.attributes import Scalar, is_scalar
from glassine.errors import InvalidDataError, InvalidParameterError, check_choice, parameter
from glassine.microaggregation.record_encoding import Unscaled, read_unscaled
from glassine.records.arrays import Array, Bools

# Semantic distance: how far two values of an attribute lie apart in a taxonomy.


Tree: TypeAlias = "Mapping[Scalar, Tree | None] | Sequence[Scalar]"

ANY = "*"
"""The value above all others, where a tree has several roots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taxonomy:
    """The values of an attribute, each with the more general ones above it."""

    values: tuple[Scalar, ...]  # All values, the general ones included, each before those below it
    parents: tuple[int, ...]  # Index of the value directly above each; -1 at the root

    @classmethod
    def read(cls, tree: Tree, name: str) -> Taxonomy:
        """Return a nested mapping as a taxonomy."""
        values: list[Scalar] = []
        parents: list[int] = []
        roots = _children(tree, name)
        above = -1
        if len(roots) > 1:
            values.append(ANY)
            parents.append(-1)
            above = 0
        pending = [(value, below, above) for value, below in reversed(roots)]
        seen = set(values)
        while pending:
            value, below, parent = pending.pop()
            if value in seen:
                raise InvalidParameterError(
                    f"the taxonomy of {name!r} must hold each value once, got {value!r} twice.", remedy="Rename one."
                )
            seen.add(value)
            values.append(value)
            parents.append(parent)
            here = len(values) - 1
            pending += [(child, rest, here) for child, rest in reversed(_children(below, name, empty=True))]
        return cls(values=tuple(values), parents=tuple(parents))

    def table(self) -> Array:
        """Return the distance of each two values, shape (v, v)."""
        lines: list[frozenset[int]] = []
        for i, parent in enumerate(self.parents):
            lines.append((lines[parent] if parent >= 0 else frozenset()) | {i})
        size = len(lines)
        out = np.zeros((size, size))
        for i in range(size):
            for j in range(i):
                either = len(lines[i] | lines[j])
                out[i, j] = out[j, i] = np.log2(1 + (either - len(lines[i] & lines[j])) / either)
        return out


def _children(tree: object, name: str, *, empty: bool = False) -> list[tuple[Scalar, Any]]:
    if tree is None and empty:
        return []
    if isinstance(tree, Mapping):
        pairs = list(tree.items())
    elif isinstance(tree, Sequence) and not isinstance(tree, str | bytes):
        pairs = [(value, None) for value in tree]
    else:
        raise InvalidParameterError(
            f"the taxonomy of {name!r} must be nested mappings that end in lists of values, got {type(tree).__name__}.",
            remedy="Write {'any': {'general': ['value', 'value']}}.",
        )
    if not pairs and not empty:
        raise InvalidParameterError(
            f"the taxonomy of {name!r} must hold at least one value, got none.", remedy="Add values."
        )
    for value, _ in pairs:
        if not is_scalar(value):
            raise InvalidParameterError(
                f"the taxonomy of {name!r} must hold strings, numbers and Booleans, got {type(value).__name__}.",
                remedy="Convert it.",
            )
    return pairs


@dataclass(frozen=True, slots=True)
class SemanticDistance:
    """Gower's distance with taxonomies: categories lie the closer together, the more general values they share.

    Take each of two values with all values above it: of the u values in either list, s are in one list only. The two
    lie ``log2(1 + s / u)`` apart: 0 if they are equal, below 1 always. Numbers differ by their difference divided by
    the range, categories without a taxonomy by 0 or 1. The distance of two records is the mean over their attributes.

    Parameters
    ----------
    taxonomies : mapping of str to nested mapping
        For each attribute, its values: mappings from a general value to the values below it, ending in lists.

    Raises
    ------
    InvalidParameterError
        If it is no mapping, or a tree is empty, repeats a value or cannot be read.

    References
    ----------
    D. Sánchez, M. Batet, D. Isern and A. Valls: Ontology-based semantic similarity: a new feature-based approach.
    Expert Systems with Applications 39(9), 2012.

    Examples
    --------
    >>> jobs = SemanticDistance({"job": {"any": {"manual": ["mason", "joiner"], "office": ["clerk"]}}})
    >>> round(jobs.between("job", "mason", "joiner"), 3), round(jobs.between("job", "mason", "clerk"), 3)
    (0.585, 0.848)
    """

    taxonomies: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.taxonomies, Mapping):
            raise InvalidParameterError(
                f"{parameter('taxonomies')} must map attributes to trees, got {type(self.taxonomies).__name__}.",
                remedy="Write {'job': tree}.",
            )
        for name in self.taxonomies:
            self.taxonomy(name)

    def taxonomy(self, name: str) -> Taxonomy:
        """Return the taxonomy of an attribute."""
        return Taxonomy.read(self.taxonomies[name], name)

    def between(self, name: str, first: Scalar, second: Scalar) -> float:
        """Return the distance of two values of an attribute."""
        taxonomy = self.taxonomy(name)
        for value in (first, second):
            if value not in taxonomy.values:
                raise InvalidParameterError(f"the taxonomy of {name!r} has no value {value!r}.", remedy="Add it.")
        return float(taxonomy.table()[taxonomy.values.index(first), taxonomy.values.index(second)])


LARGEST_UNSCALED = 1e150

GAP = 1.0
"""How far a missing value lies from any value in Gower's distance: as far as two values can."""

SQUARED_GAP = 2.0
"""The same in squares of standard deviations: what two records differ by on average. Missing ones do not differ."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Metric:
    """A distance between records.

    Attributes
    ----------
    names : tuple of str
        The attributes, in order.
    numeric : ndarray of bool, shape (d,)
        Which of them are numbers.
    squared : bool
        Whether squares of differences are added up (Euclidean) or differences (Gower and semantic).
    shifts, scales : ndarray of float64, shape (p,)
        A number x counts as ``(x - shift) / scale``; an infinite scale leaves the attribute out.
    unit : float
        Size of one step of the scaled numbers in the distances that are reported; 1 unless numbers are not scaled.
    values : tuple of tuples of scalars, length q
        The values of each category attribute.
    tables : ndarray of float64, shape (q, c, c)
        Their dissimilarities; rows beyond an attribute's values are infinite, columns beyond them zero. The last value
        may be None, for a missing one.
    distance : str or SemanticDistance
        As given.
    domain : Domain or None
        As given.
    """

    names: tuple[str, ...]
    numeric: Bools
    squared: bool
    shifts: Array
    scales: Array
    unit: float
    values: tuple[tuple[Scalar | None, ...], ...]
    tables: Array
    distance: str | SemanticDistance
    domain: Domain | None

    def __repr__(self) -> str:
        kind = self.distance if isinstance(self.distance, str) else "semantic"
        return f"<Metric: {kind}, {len(self.names)} attributes>"

    def scaled(self, numbers: Array) -> Array:
        """Return numbers as they count in the distance, shape (n, p)."""
        return (numbers - self.shifts) / self.scales

    def read(self, X: object) -> Unscaled:
        """Read records that have the attributes of this metric, in any order of a frame's columns."""
        categories = dict(zip(self._categories, self.values, strict=True))
        table = read_unscaled(
            X, domain=self.domain, categorical=not self.squared, categories=categories, names=self.names
        )
        if len(table.names) != len(self.names):
            raise InvalidDataError(
                f"{parameter('X')} must have {len(self.names)} attributes, got {len(table.names)}.",
                remedy="Check its columns.",
            )
        plain = tuple(f"x{i}" for i in range(len(self.names)))
        if table.names != self.names and plain not in (table.names, self.names):
            odd = next((name for name in self.names if name not in table.names), None)
            if odd is not None:
                raise InvalidDataError(f"X lacks the column {odd!r} of the groups.", remedy="Rename or add it.")
            table = table.reorder(self.names)
        if table.values != self.values and len(table.values) == len(self.values):
            raise InvalidDataError(
                "X lacks values of categories that no record of the groups lacks.",
                remedy="Declare them as missing in the domain.",
            )
        if not np.array_equal(table.numeric, self.numeric):
            raise InvalidDataError(
                "X holds categories where the groups have numbers, or the other way round.", remedy="Convert it."
            )
        return table

    @property
    def _categories(self) -> tuple[str, ...]:
        return tuple(name for name, numeric in zip(self.names, self.numeric, strict=True) if not numeric)


def checked_distance(distance: object) -> str | SemanticDistance:
    """Return a distance, or "auto"; raise InvalidParameterError if it is none."""
    named = isinstance(distance, str) and distance in ("auto", "euclidean", "gower")
    if named or isinstance(distance, SemanticDistance):
        return distance  # type: ignore[return-value]  # a text, as was seen
    raise InvalidParameterError(
        f"{parameter('distance')} must be 'auto', 'euclidean', 'gower' or a SemanticDistance, got {distance!r}.",
        remedy="Choose one of them.",
    )


def distance_in(distance: str | SemanticDistance, domain: Domain) -> str | SemanticDistance:
    """Return a distance on records of a domain: "auto" is Gower's where an attribute is a category."""
    if distance != "auto":
        return distance
    return "gower" if any(isinstance(domain[name], Category) for name in domain) else "euclidean"


def read_records(
    X: object, distance: str | SemanticDistance, domain: Domain | None
) -> tuple[Unscaled, str | SemanticDistance]:
    """Read records as a distance needs them; return which it is, where that follows from them."""
    distance = checked_distance(distance)
    if isinstance(domain, Domain):
        distance = distance_in(distance, domain)
    categories: dict[str, tuple[Scalar | None, ...]] = {}
    if isinstance(distance, SemanticDistance):
        categories = {name: distance.taxonomy(name).values for name in distance.taxonomies}
    table = read_unscaled(X, domain=domain, categorical=distance != "euclidean", categories=categories)
    if distance != "auto":
        return table, distance
    # Nothing is declared: words are categories, truth values are 0 and 1 as in a domain.
    if any(isinstance(value, str) for values in table.values for value in values):
        return table, "gower"
    return (table if table.numeric.all() else read_records(X, "euclidean", None)[0]), "euclidean"


def metric_of(table: Unscaled, *, scaling: str, distance: str | SemanticDistance, domain: Domain | None) -> Metric:
    """Return the metric of a dataset."""
    check_choice(scaling, "scaling", ("standard", "none"))
    squared = distance == "euclidean"
    if not squared and scaling == "none":
        raise InvalidParameterError(
            f"{parameter('scaling', 'none')} goes with {parameter('distance', 'euclidean')} only: the others divide "
            "by the range.",
            remedy="Leave it out.",
        )
    shifts, scales = _ranges(table) if not squared else _standard(table) if scaling == "standard" else _unscaled(table)
    return Metric(
        names=table.names,
        numeric=table.numeric,
        squared=squared,
        shifts=shifts,
        scales=scales,
        unit=float(scales[0]) if squared and scaling == "none" else 1.0,
        values=table.values,
        tables=_tables(table, distance),
        distance=distance,
        domain=domain,
    )


def _standard(table: Unscaled) -> tuple[Array, Array]:
    """Return means and standard deviations; computed in powers of two near the values, so that nothing overflows."""
    numbers, mean, deviation = table.numbers, np.mean, np.std
    gaps = np.isnan(numbers)
    if gaps.any():
        # A column without any value is one of equal values: only the distance to missing ones is left of it.
        numbers, mean, deviation = np.where(gaps.all(axis=0), 0.0, numbers), np.nanmean, np.nanstd
    constant = np.fmin.reduce(numbers, axis=0) == np.fmax.reduce(numbers, axis=0)
    units = np.ldexp(1.0, np.frexp(np.fmax.reduce(np.abs(numbers), axis=0))[1])
    units[units == 0] = 1.0
    near = numbers / units
    scales = deviation(near, axis=0) * units
    scales[constant | (scales == 0)] = np.inf
    return mean(near, axis=0) * units, scales


def _unscaled(table: Unscaled) -> tuple[Array, Array]:
    """Return one power of two for all attributes: exact, and squares neither overflow nor vanish."""
    if np.isnan(table.numbers).any():
        raise InvalidDataError(
            f"{parameter('scaling', 'none')} has no unit in which a missing value could lie from others.",
            remedy=f"Use {parameter('scaling', 'standard')}.",
        )
    largest = float(np.abs(table.numbers).max(initial=0.0))
    if not largest <= LARGEST_UNSCALED:
        raise InvalidDataError(
            f"{parameter('scaling', 'none')} squares the numbers, which must lie within 1e150.",
            remedy=f"Use {parameter('scaling', 'standard')}.",
        )
    unit = float(np.ldexp(1.0, np.frexp(largest)[1])) if largest else 1.0
    p = table.numbers.shape[1]
    return np.zeros(p), np.full(p, unit)


def _ranges(table: Unscaled) -> tuple[Array, Array]:
    bounds = table.bounds
    if bounds is None:
        numbers = table.numbers
        bounds = np.array([np.fmin.reduce(numbers, axis=0), np.fmax.reduce(numbers, axis=0)])
    scales = bounds[1] - bounds[0]
    scales[~(scales > 0)] = np.inf
    return bounds[0], scales


def _tables(table: Unscaled, distance: str | SemanticDistance) -> Array:
    size = max((len(values) for values in table.values), default=0)
    out = np.full((len(table.values), size, size), np.inf)
    names = [name for name, numeric in zip(table.names, table.numeric, strict=True) if not numeric]
    for j, (name, values) in enumerate(zip(names, table.values, strict=True)):
        c = len(values)
        out[j, :c] = 0.0
        out[j, :c, :c] = 1.0 - np.eye(c)
        if isinstance(distance, SemanticDistance) and name in distance.taxonomies:
            # A missing value has no place in a taxonomy: it is as far as categories can be.
            own = distance.taxonomy(name).table()
            out[j, : len(own), : len(own)] = own
    return out
