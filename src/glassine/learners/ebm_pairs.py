"""Terms of two attributes: coarse bins, cells, noisy joint counts, and priors that hold interactions only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.counting.compiling import compiled
from glassine.learners.binning import Axis
from glassine.learners.binning_merging import counted_once
from glassine.learners.ebm_publishing import Frame
from glassine.learners.ebm_smoothing import Cells, random_walk
from glassine.models import Term

__all__ = ["Pair", "cells_of_pair", "coarser", "codes_of", "terms_of_pairs"]

ROUGHNESS = (0.03, 0.2, 0.6, 0.95)
"""As for one attribute, the shares of the prior variance that are each bin's own."""

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Pair:
    """Two terms and their coarse bins.

    Attributes
    ----------
    first, second : int
        The terms.
    axes : tuple of two Axis
        The coarse bins of each.
    groups : tuple of two ndarray of int
        Coarse bin of each bin of each.
    """

    first: int
    second: int
    axes: tuple[Axis, Axis]
    groups: tuple[Ints, Ints]

    @classmethod
    def of(cls, axes: Sequence[Axis], first: int, second: int, most: int) -> Pair:
        """Return a pair of terms with at most so many coarse bins each, and one for missing values."""
        (left, ours), (right, others) = coarser(axes[first], most), coarser(axes[second], most)
        return cls(first=first, second=second, axes=(left, right), groups=(ours, others))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of coarse bins of each."""
        return self.axes[0].n_bins, self.axes[1].n_bins

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.axes[0].n_bins * self.axes[1].n_bins

    @property
    def names(self) -> tuple[str, str]:
        """The two attributes."""
        return self.axes[0].grid.attribute, self.axes[1].grid.attribute

    @property
    def shares(self) -> tuple[Array, Array]:
        """Released share of the records in each coarse bin of each."""
        return _shares(self.axes[0]), _shares(self.axes[1])


def _shares(axis: Axis) -> Array:
    counts = np.maximum(axis.counts, 1.0)
    return np.asarray(counts / counts.sum())


def coarser(axis: Axis, most: int) -> tuple[Axis, Ints]:
    """Return an axis of at most so many bins, and the coarse bin of each bin.

    Neighbouring bins of a number are joined until each has about the same noisy count; those for missing values stay
    alone. Of a category the largest bins stay alone, and all others are one.

    Guarantee
    ---------
    none of its own: a function of released counts.
    """
    counts = np.maximum(axis.counts, 0.0)
    groups = np.arange(axis.n_bins)
    if axis.ordered:
        ordered = axis.n_ordered
        groups[:ordered] = _even_runs(counts[:ordered], most)
        groups[ordered:] = groups[ordered - 1] + 1
    elif axis.n_bins > most:
        largest = np.sort(np.argsort(-counts, kind="stable")[: most - 1])
        groups[:] = most - 1
        groups[largest] = np.arange(most - 1)
    merged: Array = np.bincount(groups, weights=axis.counts).astype(np.float64)
    spread: Array = np.bincount(groups, weights=axis.variances).astype(np.float64)
    return Axis(grid=axis.grid, bin_of=groups[axis.bin_of], counts=merged, variances=spread), groups


def _even_runs(counts: Array, most: int) -> Ints:
    """Return runs of neighbours of about equal count, at most so many."""
    if len(counts) <= most:
        return np.arange(len(counts))
    out = np.zeros(len(counts), dtype=np.int64)
    run, inside, left = 0, 0.0, float(counts.sum())
    for i, count in enumerate(counts.tolist()):
        if inside > 0 and run < most - 1 and inside + count / 2 >= left / (most - run):
            left -= inside
            run, inside = run + 1, 0.0
        out[i] = run
        inside += count
    return out


@compiled
def _cells(left: Any, right: Any, ours: Any, others: Any, width: int, out: Any) -> None:
    for i in range(len(left)):
        out[i] = ours[left[i]] * width + others[right[i]]


def codes_of(pairs: Sequence[Pair], codes: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    """Return the cell of each record in each pair, shape (pairs, n), from its bins in each term."""
    out = np.empty((len(pairs), codes.shape[1]), dtype=np.uint16)
    for row, pair in zip(out, pairs, strict=True):
        _cells(codes[pair.first], codes[pair.second], *pair.groups, pair.shape[1], row)
    return out


def cells_of_pair(pair: Pair, counts: Array) -> Cells:
    """Return what the fit knows of a pair: cells, and priors under which a score is zero on average along either.

    Parameters
    ----------
    pair : Pair
        The pair.
    counts : ndarray, shape (cells,)
        Released joint counts, at least 1.
    """
    rough = ROUGHNESS if any(axis.ordered and axis.n_ordered >= 3 for axis in pair.axes) else (1.0,)
    found: list[Array | None] = []
    for share in rough:
        product = np.kron(_centred(pair.axes[0], share), _centred(pair.axes[1], share))
        found.append(np.asarray(product * (len(product) / max(float(np.trace(product)), 1e-300)), dtype=np.float64))
    return Cells(counts=counts, covariances=tuple(found))


def _centred(axis: Axis, share: float) -> Array:
    """Return the prior covariance along one of the attributes, of scores whose weighted mean is zero."""
    size, shares = axis.n_bins, _shares(axis)
    covariance = np.eye(size)
    if axis.ordered and axis.n_ordered >= 3:
        covariance = share * covariance + (1 - share) * random_walk(shares, axis.n_ordered)
    centring = np.eye(size) - np.outer(np.ones(size), shares)
    return np.asarray(centring @ covariance @ centring.T)


def terms_of_pairs(
    pairs: Sequence[Pair], counts: Sequence[Array], scores: Sequence[Array], errors: Sequence[Array], frame: Frame
) -> tuple[Term, ...]:
    """Return the published terms of pairs, in units of the target."""
    factor = frame.target.scale[0]
    terms = []
    for pair, weight, score, error in zip(pairs, counts, scores, errors, strict=True):
        (left, ours), (right, others) = (axis.published() for axis in pair.axes)
        at = np.ix_(ours, others)
        there, own = np.outer(ours >= 0, others >= 0), np.outer(counted_once(ours), counted_once(others))
        shape = (*pair.shape, score.shape[-1])
        terms.append(
            Term(
                bins=(left, right),
                scores=np.where(there[..., None], score.reshape(shape)[at], 0.0) * factor,
                errors=np.where(there[..., None], error.reshape(shape)[at], 0.0) * factor,
                weights=np.where(own, weight.reshape(pair.shape)[at], 0.0),
            )
        )
    return tuple(terms)
