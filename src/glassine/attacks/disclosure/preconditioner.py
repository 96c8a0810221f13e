"""Coordinates of logits in which the curvature of the augmented Lagrangian is near 1 in every direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from glassine.attacks.disclosure.logits import LogitProblem, impurity_slope
from glassine.records.arrays import Array, Indices

FEW = 0.05
"""Fewest people by which the curvature of a cell is estimated."""

FLAT = 1e-9
"""Curvature of the penalties below which a direction is not scaled: that of the entropy is 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    """A linear map from coordinates, shape (q * c,), to moves of logits.

    The curvature of the entropy in a logit is near the people of its cell. That of the penalties is a sum of squares of
    the slopes of the constraints that have a price, which are few: the inverse root of one plus that sum is one plus a
    small matrix between the slopes.
    """

    scale: Array  # Logits per coordinate by the entropy alone; shape (q * c,)
    slopes: (
        sparse.csr_matrix
    )  # Slopes of constraints in scaled logits, times the root of their penalty; shape (k, q * c)
    inner: Array  # Shape (k, k)

    @classmethod
    def of(
        cls,
        posed: LogitProblem,
        table: Array,
        candidates: tuple[Indices, Array],
        rows: tuple[Indices, float],
    ) -> Curvature:
        """Return the metric at a table, by the candidates and rows of leaves that have a price, and their penalties."""
        scale = 1 / np.sqrt(np.maximum(table, FEW)).ravel()
        paid, stiff = candidates
        at, penalty = rows
        roots = np.sqrt(np.concatenate([stiff, np.full(len(at), penalty)]))
        slopes = sparse.vstack([_of_candidates(posed, table, paid), _of_rows(posed, table, at)]).tocsr()
        slopes = sparse.diags(roots) @ slopes @ sparse.diags(scale)
        curvature, directions = np.linalg.eigh((slopes @ slopes.T).toarray())
        steep = curvature > FLAT
        curvature, directions = curvature[steep], directions[:, steep]
        factor = (1 / np.sqrt(1 + curvature) - 1) / curvature
        return cls(scale=scale, slopes=slopes.tocsr(), inner=(directions * factor) @ directions.T)

    def moves(self, coordinates: Array) -> Array:
        """Return the moves of logits."""
        return np.asarray(self.scale * self._turned(coordinates))

    def slope(self, gradient: Array) -> Array:
        """Return a gradient by logits as one by coordinates."""
        return self._turned(self.scale * gradient)

    def _turned(self, vector: Array) -> Array:
        if not self.slopes.shape[0]:
            return vector
        return np.asarray(vector + self.slopes.T @ (self.inner @ (self.slopes @ vector)))


def _of_candidates(posed: LogitProblem, table: Array, paid: Indices) -> sparse.csr_matrix:
    """Return the slopes of the slack of some candidates in the logits, shape (k, q * c)."""
    counted = posed.constraints.counted(table)
    _, by_count = impurity_slope(np.asarray(posed.branches @ counted), posed.constraints.criterion)
    signs = posed.signs[paid].tocsr()
    members = posed.branches[signs.indices].tocsr()
    each = np.diff(members.indptr)
    constraint = np.repeat(np.repeat(np.arange(len(paid)), np.diff(signs.indptr)), each)
    slopes = np.repeat(signs.data[:, None] * by_count[signs.indices], each, axis=0)
    # A row in several branches of one constraint is one entry: shifts of rates follow the sum.
    keys, place = np.unique(constraint * len(table) + members.indices, return_inverse=True)
    values = np.zeros((len(keys), table.shape[1]))
    np.add.at(values[:, : counted.shape[1]], place.reshape(-1), slopes)
    return _by_logits(posed, table, keys // len(table), keys % len(table), values)


def _of_rows(posed: LogitProblem, table: Array, at: Indices) -> sparse.csr_matrix:
    """Return the slopes of some rows of leaves in the logits, shape (k, q * c)."""
    members = posed.by_leaf[at[:, 0]].tocsr()
    entry = np.repeat(np.arange(len(at)), np.diff(members.indptr))
    return _by_logits(posed, table, entry, members.indices, posed.rows.forms[at[entry, 0], at[entry, 1]])


def _by_logits(posed: LogitProblem, table: Array, entry: Indices, q: Indices, values: Array) -> sparse.csr_matrix:
    """Return slopes by cells, shape (e, c), as slopes by logits: each of e entries is of a constraint and a row."""
    shares = table / posed.sizes[:, None]
    own = values * shares[q]
    slopes = posed.sizes[q][:, None] * (own - shares[q] * own.sum(axis=1, keepdims=True))
    if posed.rated is not None:
        slopes = posed.rated.tangents(slopes, shares, entry, q)
    c = table.shape[1]
    columns = (q.astype(np.int64)[:, None] * c + np.arange(c)).ravel()
    shape = (int(entry.max(initial=-1)) + 1, len(posed.sizes) * c)
    return sparse.csr_matrix((slopes.ravel(), (np.repeat(entry, c), columns)), shape)
