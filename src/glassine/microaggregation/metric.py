"""What makes two records close: the scaling of the numbers, and the dissimilarities of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.microaggregation.reading import Table, read_table
from glassine.microaggregation.taxonomy import SemanticDistance

__all__ = ["Metric", "metric_of", "read_records"]

FloatArray: TypeAlias = npt.NDArray[np.float64]

LARGEST_UNSCALED = 1e150


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
        Their dissimilarities; rows beyond an attribute's values are infinite, columns beyond them zero.
    distance : str or SemanticDistance
        As given.
    domain : Domain or None
        As given.
    """

    names: tuple[str, ...]
    numeric: npt.NDArray[np.bool_]
    squared: bool
    shifts: FloatArray
    scales: FloatArray
    unit: float
    values: tuple[tuple[Scalar, ...], ...]
    tables: FloatArray
    distance: str | SemanticDistance
    domain: Domain | None

    def __repr__(self) -> str:
        kind = self.distance if isinstance(self.distance, str) else "semantic"
        return f"<Metric: {kind}, {len(self.names)} attributes>"

    def scaled(self, numbers: FloatArray) -> FloatArray:
        """Return numbers as they count in the distance, shape (n, p)."""
        return (numbers - self.shifts) / self.scales

    def read(self, X: Any) -> Table:
        """Read records that have the attributes of this metric, whatever the order of a frame's columns."""
        known = dict(zip(self._categories, self.values, strict=True))
        table = read_table(X, domain=self.domain, categorical=not self.squared, known=known, names=self.names)
        if len(table.names) != len(self.names):
            raise InvalidDataError(
                f"X must have {len(self.names)} attributes, got {len(table.names)}. Check its columns."
            )
        plain = tuple(f"x{i}" for i in range(len(self.names)))
        if table.names != self.names and plain not in (table.names, self.names):
            odd = next((name for name in self.names if name not in table.names), None)
            if odd is not None:
                raise InvalidDataError(f"X lacks the column {odd!r} of the groups. Rename or add it.")
            table = table.reorder(self.names)
        if not np.array_equal(table.numeric, self.numeric):
            raise InvalidDataError(
                "X holds categories where the groups have numbers, or the other way round. Convert it."
            )
        return table

    @property
    def _categories(self) -> tuple[str, ...]:
        return tuple(name for name, numeric in zip(self.names, self.numeric, strict=True) if not numeric)


def read_records(X: Any, distance: str | SemanticDistance, domain: Domain | None) -> Table:
    """Read records as a distance needs them."""
    known: dict[str, tuple[Scalar, ...]] = {}
    if isinstance(distance, SemanticDistance):
        known = {name: distance.taxonomy(name).values for name in distance.taxonomies}
    return read_table(X, domain=domain, categorical=distance != "euclidean", known=known)


def metric_of(table: Table, *, scaling: str, distance: str | SemanticDistance, domain: Domain | None) -> Metric:
    """Return the metric of a data set.

    Raises
    ------
    InvalidParameterError
        If the scaling or the distance is unknown, or they do not go together.
    InvalidDataError
        If unscaled numbers are too large to be squared.
    """
    if not isinstance(distance, SemanticDistance) and distance not in ("euclidean", "gower"):
        raise InvalidParameterError(
            f"distance must be 'euclidean', 'gower' or a SemanticDistance, got {distance!r}. Choose one of them."
        )
    if scaling not in ("standard", "none"):
        raise InvalidParameterError(f"scaling must be 'standard' or 'none', got {scaling!r}. Choose one of them.")
    squared = distance == "euclidean"
    if not squared and scaling == "none":
        raise InvalidParameterError(
            "scaling='none' goes with distance='euclidean' only: the others divide by the range. Leave it out."
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


def _standard(table: Table) -> tuple[FloatArray, FloatArray]:
    """Return means and standard deviations; computed in powers of two near the values, so that nothing overflows."""
    numbers = table.numbers
    constant = numbers.min(axis=0) == numbers.max(axis=0)
    units = np.ldexp(1.0, np.frexp(np.abs(numbers).max(axis=0))[1])
    units[units == 0] = 1.0
    near = numbers / units
    scales = near.std(axis=0) * units
    scales[constant | (scales == 0)] = np.inf
    return near.mean(axis=0) * units, scales


def _unscaled(table: Table) -> tuple[FloatArray, FloatArray]:
    """Return one power of two for all attributes: exact, and squares neither overflow nor vanish."""
    largest = float(np.abs(table.numbers).max(initial=0.0))
    if not largest <= LARGEST_UNSCALED:
        raise InvalidDataError(
            "scaling='none' squares the numbers, which must lie within 1e150. Use scaling='standard'."
        )
    unit = float(np.ldexp(1.0, np.frexp(largest)[1])) if largest else 1.0
    p = table.numbers.shape[1]
    return np.zeros(p), np.full(p, unit)


def _ranges(table: Table) -> tuple[FloatArray, FloatArray]:
    bounds = table.bounds
    if bounds is None:
        numbers = table.numbers
        bounds = np.array([numbers.min(axis=0), numbers.max(axis=0)])
    scales = bounds[1] - bounds[0]
    scales[scales == 0] = np.inf
    return bounds[0], scales


def _tables(table: Table, distance: str | SemanticDistance) -> FloatArray:
    size = max((len(values) for values in table.values), default=0)
    out = np.full((len(table.values), size, size), np.inf)
    names = [name for name, numeric in zip(table.names, table.numeric, strict=True) if not numeric]
    for j, (name, values) in enumerate(zip(names, table.values, strict=True)):
        c = len(values)
        out[j, :c] = 0.0
        out[j, :c, :c] = 1.0 - np.eye(c)
        if isinstance(distance, SemanticDistance) and name in distance.taxonomies:
            out[j, :c, :c] = distance.taxonomy(name).table()
    return out
