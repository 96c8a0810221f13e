"""Public cells and released bins of an additive fit, and the terms that are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from glassine.domain.attributes import Scalar
from glassine.records.arrays import Array, Ints

PARTS = 2**10
"""Parts of a record whose target is a number, among two levels; the units of all noise are multiples of it."""


Places: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The public cells of one attribute, the last for missing values of a number, or for undeclared categories."""

    attribute: str
    # Points between the cells of a number; a value on a cut is below it. None for a category; shape (cells - 1,), or
    # None.
    cuts: Array | None
    # Values of each cell of a category, None among them standing for missing values. None for a number.
    groups: tuple[tuple[Scalar | None, ...], ...] | None
    # Number of cells that one node covers, level by level, from coarse to the single cell. One level where cells are
    # not refined.
    sizes: tuple[int, ...]
    missing: bool  # Whether a record may be in the last cell
    fixed: bool  # Whether the cells are the bins: given by the user, and not merged
    bounds: tuple[float, float] | None  # Public range of a number
    codes: Mapping[float, str] = field(default_factory=dict)  # Special codes of a number, each alone in its cell
    # Cells that go on with those before special codes: the same bin of those that the user fixes.
    continued: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()  # Cells behind declared thresholds, at which nodes of the first level begin

    @property
    def n_cells(self) -> int:
        """Number of cells, without the last one."""
        return len(self.groups) if self.groups is not None else len(self.cuts if self.cuts is not None else ()) + 1


class Bins(Protocol):
    """Released bins of one attribute: public cells, merged."""

    @property
    def grid(self) -> Grid:
        """The public cells."""
        ...

    @property
    def bin_of(self) -> Ints:
        """Bin of each cell, the last one behind the others; shape (cells + 1,)."""
        ...

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        ...


class Crossed(Protocol):
    """Two terms and their coarse bins, from which the cells of a pair follow."""

    @property
    def first(self) -> int:
        """One of the terms."""
        ...

    @property
    def second(self) -> int:
        """The other."""
        ...

    @property
    def groups(self) -> tuple[Ints, Ints]:
        """Coarse bin of each bin of each."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Number of coarse bins of each."""
        ...

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Terms:
    """The released bins of all terms of a model, those of pairs last."""

    grids: tuple[Grid, ...]  # The public cells of all attributes
    axes: tuple[Bins, ...]  # The bins of each attribute that has a term
    pairs: tuple[Crossed, ...] = ()  # The cells of each pair that has one

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of bins of each term."""
        return (*(axis.n_bins for axis in self.axes), *(pair.n_cells for pair in self.pairs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """What is public of a target that counts events: the column of exposures and its range, if there is one."""

    exposure: str | None = None
    low: float = 1.0  # Least exposure, above 0
    high: float = 1.0  # Largest
