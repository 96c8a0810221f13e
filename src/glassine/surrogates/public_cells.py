"""Cells of a public partition, and queries drawn from the public domain: nothing here sees a training record."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from glassine.domain import Category, Domain, Integer, Real
from glassine.domain.attributes import Attribute, Scalar
from glassine.errors import InvalidDomainError
from glassine.microaggregation import SemanticDistance
from glassine.surrogates.distances import Metric, as_metric
from glassine.surrogates.reading import Record

__all__ = ["draw_queries", "public_metric", "public_points"]


def public_metric(domain: Domain, distance: str | SemanticDistance) -> Metric:
    """Return a distance whose scales follow from the public bounds: the standard deviation of a uniform number."""
    divisor = math.sqrt(12.0) if distance == "euclidean" else 1.0
    scales = [_range(domain[name]) / divisor if not isinstance(domain[name], Category) else 1.0 for name in domain]
    metric = as_metric(distance, tuple(scales))
    metric.check(domain)
    return metric


def _range(attribute: Attribute) -> float:
    if isinstance(attribute, Integer | Real):
        return float(attribute.hi) - float(attribute.lo) or 1.0
    return 1.0


def public_points(domain: Domain, n_points: int) -> list[Record]:
    """Return points spread evenly over the domain, the same for everybody: a Halton sequence without its origin.

    Ties between attributes (the domain's groups) are respected.
    """
    from scipy.stats import qmc

    width = len(_free(domain)) + len(domain.blocks)
    uniform = qmc.Halton(d=width, scramble=False).random(n_points + 1)[1:]
    return _records(domain, uniform)


def draw_queries(domain: Domain, n_queries: int, rng: np.random.Generator) -> list[Record]:
    """Return records drawn uniformly from the domain; attributes tied by groups take possible combinations only."""
    return _records(domain, rng.random((n_queries, len(_free(domain)) + len(domain.blocks))))


def _free(domain: Domain) -> list[str]:
    tied = {name for block, _ in domain.blocks for name in block}
    return [name for name in domain if name not in tied]


def _records(domain: Domain, uniform: npt.NDArray[np.float64]) -> list[Record]:
    if domain.inferred:
        name = next(name for name in domain if domain[name].inferred)
        raise InvalidDomainError(f"a public domain is needed, but {name!r} was inferred from data. Declare it by hand.")
    free = _free(domain)
    columns: dict[str, list[Scalar]] = {name: _values(domain[name], uniform[:, i]) for i, name in enumerate(free)}
    for i, (block, rows) in enumerate(domain.blocks, start=len(free)):
        at = np.minimum((uniform[:, i] * len(rows)).astype(int), len(rows) - 1)
        for j, name in enumerate(block):
            columns[name] = [rows[index][j] for index in at.tolist()]
    return [{name: columns[name][i] for name in domain} for i in range(len(uniform))]


def _values(attribute: Attribute, uniform: npt.NDArray[np.float64]) -> list[Scalar]:
    """Return values that stand at uniform numbers of [0, 1); a gap is never drawn."""
    if isinstance(attribute, Real):
        if attribute.resolution is None:
            return [float(v) for v in attribute.lo + uniform * (attribute.hi - attribute.lo)]
        steps = attribute.size or 1
        at = np.minimum((uniform * (steps - attribute.missing)).astype(np.int64), steps - attribute.missing - 1)
        return [float(min(attribute.lo + i * attribute.resolution, attribute.hi)) for i in at.tolist()]
    if isinstance(attribute, Integer):
        size = attribute.hi - attribute.lo + 1
        return [attribute.lo + min(int(u * size), size - 1) for u in uniform.tolist()]
    values: tuple[Scalar, ...] = attribute.values if isinstance(attribute, Category) else (0, 1)
    return [values[min(int(u * len(values)), len(values) - 1)] for u in uniform.tolist()]
