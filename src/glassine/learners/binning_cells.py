"""The public cells of each attribute, before anything is counted, and the cell that each record is in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain import Binary, Domain, Integer, Real
from glassine.domain.attributes import Attribute, Scalar
from glassine.domain.conforming import Columns
from glassine.errors import InvalidParameterError
from glassine.learners.ebm_sums import grid_cells

__all__ = ["Grid", "public_grids", "read_cells"]

FINEST = 4096
"""Most cells of the public grid of one number."""

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The public cells of one attribute, the last for missing values of a number, or for undeclared categories.

    Attributes
    ----------
    attribute : str
        The attribute.
    cuts : ndarray, shape (cells - 1,), or None
        Points between the cells of a number; a value on a cut is below it. None for a category.
    groups : tuple of tuple of scalars, or None
        Values of each cell of a category, None among them standing for missing values. None for a number.
    sizes : tuple of int
        Number of cells that one node covers, level by level, from coarse to the single cell. One level where cells are
        not refined.
    missing : bool
        Whether a record may be in the last cell.
    fixed : bool
        Whether the cells are the bins: given by the user, and not merged.
    bounds : (float, float), or None
        Public range of a number.
    """

    attribute: str
    cuts: Array | None
    groups: tuple[tuple[Scalar | None, ...], ...] | None
    sizes: tuple[int, ...]
    missing: bool
    fixed: bool
    bounds: tuple[float, float] | None

    @property
    def n_cells(self) -> int:
        """Number of cells, without the last one."""
        return len(self.groups) if self.groups is not None else len(self.cuts if self.cuts is not None else ()) + 1


def public_grids(domain: Domain, given: Mapping[str, Any] | None, *, equal: int | None = None) -> tuple[Grid, ...]:
    """Return the public cells of each attribute.

    Guarantee
    ---------
    none: nothing is read from data.

    Parameters
    ----------
    domain : Domain
        The public domain.
    given : mapping of str to sequence, optional
        Bins that the user fixes: increasing cut points of a number, lists of values of a category; None stands for
        missing ones, which have a bin of their own where no list holds it.
    equal : int, optional
        Number of cells of equal width of each number, without refinement. By default cells are refined.

    Raises
    ------
    InvalidParameterError
        If the bins name an unknown attribute, or do not fit it.
    """
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise InvalidParameterError(f"bins must map attributes to cut points or groups, got {type(given).__name__}.")
    for name in given:
        if name not in domain:
            raise InvalidParameterError(f"bins name {name!r}, which is not an attribute of the domain. Declare it.")
    return tuple(_grid(name, domain[name], given.get(name), equal) for name in domain)


def _grid(name: str, attribute: Attribute, given: Any, equal: int | None) -> Grid:
    if isinstance(attribute, Integer | Real):
        bounds = (float(attribute.lo), float(attribute.hi))
        cuts = _finest(attribute, equal or FINEST) if given is None else _given_cuts(name, attribute, given)
        sizes = _sizes(len(cuts) + 1) if given is None and equal is None else (1,)
        return Grid(
            attribute=name,
            cuts=cuts,
            groups=None,
            sizes=sizes,
            missing=attribute.missing,
            fixed=given is not None,
            bounds=bounds,
        )
    values: tuple[Scalar, ...] = (0, 1) if isinstance(attribute, Binary) else attribute.values
    # Missing values are a category like the others; what is not declared is in the last cell.
    listed = (*values, None) if attribute.missing else values
    groups = tuple((value,) for value in listed) if given is None else _given_groups(name, listed, given)
    return Grid(
        attribute=name, cuts=None, groups=groups, sizes=(1,), missing=True, fixed=given is not None, bounds=None
    )


def _finest(attribute: Integer | Real, most: int) -> Array:
    """Return the points between the finest cells: one per value where there are few, else of equal width."""
    lo, hi = float(attribute.lo), float(attribute.hi)
    size = attribute.hi - attribute.lo + 1 if isinstance(attribute, Integer) else attribute.size
    if isinstance(attribute, Real) and size is not None:
        size -= attribute.missing
    if size is not None and size <= most:
        step = 1.0 if isinstance(attribute, Integer) else float(attribute.resolution or 1.0)
        return np.asarray(lo + step * (np.arange(1, int(size)) - 0.5))
    cuts = lo + (hi - lo) * (np.arange(1, most) / most)
    if isinstance(attribute, Integer):
        cuts = np.floor(cuts) + 0.5
    return np.unique(cuts)


def _sizes(n_cells: int) -> tuple[int, ...]:
    """Return the widths of nodes, level by level: about eight nodes first, then each in four."""
    bits = max(0, math.ceil(math.log2(n_cells)))
    depth = min(3, bits)
    sizes = [2 ** (bits - depth)]
    while depth < bits:
        depth = min(bits, depth + 2)
        sizes.append(2 ** (bits - depth))
    return tuple(sizes)


def _given_cuts(name: str, attribute: Integer | Real, given: Any) -> Array:
    try:
        cuts = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        cuts = np.array([np.nan])
    inside = cuts.ndim == 1 and bool(((cuts >= attribute.lo) & (cuts < attribute.hi)).all())
    if not inside or not all(a < b for a, b in pairwise(cuts.tolist())) or not len(cuts) <= FINEST:
        raise InvalidParameterError(
            f"bins of {name!r} must be strictly increasing cut points in [{attribute.lo}, {attribute.hi}), at most "
            f"{FINEST}, got {given!r}."
        )
    return cuts


def _given_groups(name: str, values: tuple[Scalar | None, ...], given: Any) -> tuple[tuple[Scalar | None, ...], ...]:
    try:
        groups = tuple(tuple(group) if not isinstance(group, str) else (group,) for group in given)
    except TypeError:
        groups = ()
    if None in values and not any(value is None for group in groups for value in group):
        groups = (*groups, (None,))
    listed = [value for group in groups for value in group]
    if not groups or not all(groups) or len(listed) != len(values) or set(listed) != set(values):
        raise InvalidParameterError(
            f"bins of {name!r} must be groups that hold each declared value once, got {given!r}. None stands for "
            "missing values, where the domain allows them."
        )
    return groups


def read_cells(columns: Columns, grids: Sequence[Grid]) -> Codes:
    """Return the cell of each record in each attribute, shape (attributes, n).

    Records that do not tell undeclared categories from missing ones have them all in the cell for missing values.
    """
    out = np.empty((len(grids), columns.n_records), dtype=np.uint16)
    for row, grid in zip(out, grids, strict=True):
        if grid.cuts is not None:
            grid_cells(columns.numbers[grid.attribute], grid.cuts, row)
            continue
        attribute = columns.attributes[grid.attribute]
        values: tuple[Scalar, ...] = (0, 1) if isinstance(attribute, Binary) else getattr(attribute, "values", ())
        where = {value: i for i, group in enumerate(grid.groups or ()) for value in group}
        # Undeclared values have the code -2 and missing ones -1: the last two entries.
        last = grid.n_cells, where.get(None, grid.n_cells)
        lookup = np.array([*(where[value] for value in values), *last], dtype=np.uint16)
        row[:] = lookup[columns.codes[grid.attribute]]
    return out
