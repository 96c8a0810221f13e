"""Ridge regressions on bins, in order where that is asked for: what ordinary scorecards are rounded from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain import Domain, Integer, Real
from glassine.learners.additive.grids import coded_cells, joined_cells
from glassine.learners.additive.published_scores import AUTO, check_monotone, voted
from glassine.learners.additive.targets import Target
from glassine.models import CategoryBins, NumericBins, Term
from glassine.models.terms import isotonic
from glassine.records.arrays import Array, Ints
from glassine.sealed.released_bins import Grid

RIDGE = 1.0
"""Records that each bin counts as having beside its own, of even odds: scores of rare bins are drawn to zero."""

QUANTILES = 8
"""Bins of a number without declared thresholds, of about equal numbers of records."""

NEWTON = 25
"""Newton's steps of the ordinary fit; it is convex, and about eight are enough."""


def quantiles(domain: Domain, numbers: Callable[[str], tuple[Array, Ints | None]]) -> dict[str, list[float]]:
    """Return cut points at quantiles of each number, from its values that are not missing and how often each occurs."""
    out = {}
    for name in domain:
        attribute = domain[name]
        if isinstance(attribute, Integer | Real):
            values, times = numbers(name)
            plain = ~np.isin(values, [*attribute.codes])
            values, times = values[plain], None if times is None else times[plain]
            order = np.argsort(values)
            ends = np.cumsum(np.ones(len(values)) if times is None else times[order])
            if len(ends) and ends[-1] > 0:
                at = np.floor(np.arange(1, QUANTILES) / QUANTILES * (ends[-1] - 1))
                cuts = np.unique(values[order][np.searchsorted(ends, at, side="right")])
                out[name] = [float(cut) for cut in cuts if attribute.lo <= cut < attribute.hi]
    return out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """Distinct records by their cells, and which cells have one score."""

    grids: Sequence[Grid]
    rows: Ints  # Cell of each distinct record in each attribute; shape (rows, attributes)
    inverse: Ints  # The distinct record of each record; shape (n,)
    records: Array  # How many records each stands for; shape (rows,)
    counts: tuple[Array, ...]  # Number of records in each cell of each attribute
    joined: tuple[Ints, ...]  # For each cell the first of those that have its score

    @classmethod
    def of(cls, cells: npt.NDArray[np.uint16], grids: Sequence[Grid], times: Array) -> Design:
        """Return the design of records in cells; a step on it costs no more than there are distinct records."""
        rows, inverse = np.unique(cells.T, axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        return cls(
            grids=grids,
            rows=rows.astype(np.int64),
            inverse=inverse,
            records=np.bincount(inverse, weights=times, minlength=len(rows)).astype(np.float64),
            counts=tuple(
                np.bincount(row, weights=times, minlength=grid.n_cells + 1).astype(np.float64)
                for row, grid in zip(cells, grids, strict=True)
            ),
            # Around a special code, the cells of one interval have one score.
            joined=tuple(joined_cells(grid) for grid in grids),
        )

    def fitted(self, values: Array, loss: CellLoss) -> tuple[tuple[Array, ...], float]:
        """Return the score of each cell of each attribute and the intercept of a ridge regression on cells."""
        sizes = [grid.n_cells + 1 for grid in self.grids]
        first = np.cumsum([1, *sizes])
        totals = np.bincount(self.inverse, weights=values, minlength=len(self.rows))
        places = np.column_stack([own[row] for own, row in zip(self.joined, self.rows.T, strict=True)]) + first[:-1]
        size = int(first[-1])
        design = np.zeros((len(self.rows), size))
        design[:, 0] = 1.0
        design[np.arange(len(self.rows))[:, None], places] = 1.0
        ridge = np.append(1e-6, np.full(size - 1, RIDGE * loss.curve))
        now = np.zeros(size)
        for _ in range(NEWTON):
            mean, curve = loss.at(design @ now)
            gradient = design.T @ (totals - self.records * mean) - ridge * now
            step = np.linalg.solve((design * (self.records * curve)[:, None]).T @ design + np.diag(ridge), gradient)
            now += step
            if float(np.abs(step).max()) < 1e-6 * loss.scale:
                break
        return tuple(now[start + own] for start, own in zip(first[:-1], self.joined, strict=True)), float(now[0])

    def terms(self, scores: Sequence[Array]) -> tuple[Term, ...]:
        """Return the terms of the attributes whose records are in two cells or more."""
        out = []
        for grid, own, counts in zip(self.grids, scores, self.counts, strict=True):
            if (counts > 0).sum() < 2:
                continue
            bins: NumericBins | CategoryBins = (
                CategoryBins(grid.attribute, grid.groups or ())
                if grid.cuts is None
                else NumericBins(grid.attribute, tuple(grid.cuts.tolist()), bounds=grid.bounds, codes=grid.codes)
            )
            out.append(Term(bins=(bins,), scores=own, weights=counts))
        return tuple(out)

    def pooled(self, scores: Sequence[Array], order: Mapping[str, bool]) -> Design | None:
        """Return the design in which neighbors that are out of order have one score; None where all are in order."""
        joined, moved = list(self.joined), False
        for k, grid in enumerate(self.grids):
            if grid.attribute not in order:
                continue
            coded = coded_cells(grid)
            plain = np.array([cell for cell in range(grid.n_cells) if cell not in coded])
            weights = np.maximum(self.counts[k][plain], 1e-9)
            own_scores, up = scores[k][plain], order[grid.attribute]
            nearest = np.array(isotonic(own_scores.tolist(), weights.tolist(), increasing=up))
            if np.allclose(nearest, own_scores, rtol=0, atol=1e-9 * max(1.0, float(np.abs(scores[k]).max()))):
                continue
            own, moved = joined[k].copy(), True
            for before, cell, same in zip(plain[:-1], plain[1:], np.diff(nearest) == 0, strict=True):
                if same:
                    own[own == own[cell]] = own[before]
            joined[k] = own
        return replace(self, joined=tuple(joined)) if moved else None


@dataclass(frozen=True, slots=True)
class CellLoss:
    """What a ridge regression on bins makes small: log loss, or squares."""

    classes: bool
    scale: float  # Unit of the scores

    @property
    def curve(self) -> float:
        """Largest curvature of one record."""
        return 0.25 if self.classes else 1.0

    def at(self, scores: Array) -> tuple[Array, Array]:
        """Return the mean target at some scores, and the curvature of the loss."""
        if not self.classes:
            return scores, np.ones(len(scores))
        risk = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
        return risk, risk * (1 - risk)


def fit_cells(
    design: Design, values: Array, domain: Domain, target: Target, monotone: Any
) -> tuple[tuple[Term, ...], float]:
    """Return the terms and the intercept; neighbors are pooled until scores of monotone numbers are in order."""
    loss = CellLoss(
        target.classes is not None, 1.0 if target.classes is not None else max(float(np.std(values)), 1e-300)
    )
    scores, intercept = design.fitted(values, loss)
    order = check_monotone(voted(design.terms(scores)) if monotone == AUTO else monotone, domain, target)
    # Each pooling leaves fewer scores, so that it ends.
    while (pooled := design.pooled(scores, order)) is not None:
        design = pooled
        scores, intercept = design.fitted(values, loss)
    return design.terms(scores), intercept
