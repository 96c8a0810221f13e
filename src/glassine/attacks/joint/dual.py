"""The table of maximum entropy with given margins, by Newton's method on the dual.

With w the size of an option's cell, the table is ``T = w exp(sum of the potentials of its parts)``. The potentials of
one model, the reference, follow from those of the others; they minimise the convex function

    g(y) = sum_a C_a log sum_{o in a} w_o exp(y_o) - sum_b C_b y_b

over the potentials y of all other models' parts b, where a runs over the reference's parts and y_o is the sum of the
potentials of the parts in which option o lies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from glassine.attacks.joint.published import Whole

__all__ = ["Block", "Fit", "maximise_entropy"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

MOST_STEPS = 100
MOST_SWEEPS = 2000
SWEEPS = 30
DENSE = 4000
"""Largest number of potentials for which Newton's system is solved; beyond it, margins are fitted in turn."""
CLOSE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Free options that hang together, with parts numbered within each model.

    Attributes
    ----------
    options : ndarray of intp, shape (o,)
        Their places in the system.
    parts : ndarray of intp, shape (o, models)
        Part of each model.
    counts : tuple of ndarray of int64
        Records of each part, positive.
    log_sizes : ndarray, shape (o,)
        Natural logarithm of the size of each option's cell.
    """

    options: Indices
    parts: Indices
    counts: tuple[Whole, ...]
    log_sizes: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """Potentials and their table.

    Attributes
    ----------
    potentials : tuple of ndarray
        For each model the potentials of its parts.
    table : ndarray, shape (o,)
        Expected records of each option.
    residual : float
        Sum of the absolute differences of the table's margins from the counts.
    """

    potentials: tuple[Floats, ...]
    table: Floats
    residual: float


def maximise_entropy(block: Block) -> Fit:
    """Return the table of maximum entropy of a block; every option must be positive in some table."""
    sizes = [len(count) for count in block.counts]
    reference = int(np.argmax(sizes))
    potentials = [np.zeros(size) for size in sizes]
    # A start within reach of Newton's method.
    _fit_in_turn(block, potentials, SWEEPS)
    if sum(sizes) - sizes[reference] <= DENSE:
        _newton(block, potentials, reference)
    else:
        _fit_in_turn(block, potentials, MOST_SWEEPS)
    _scale(block, potentials, reference)
    table = np.exp(_scores(block, potentials))
    residual = sum(
        float(np.abs(np.bincount(block.parts[:, i], table, minlength=len(count)) - count).sum())
        for i, count in enumerate(block.counts)
    )
    return Fit(potentials=tuple(potentials), table=table, residual=residual)


def _scores(block: Block, potentials: list[Floats]) -> Floats:
    total = block.log_sizes.copy()
    for i, values in enumerate(potentials):
        total += values[block.parts[:, i]]
    return total


def _scale(block: Block, potentials: list[Floats], model: int) -> None:
    """Set the potentials of one model so that its margins are met."""
    scores = _scores(block, potentials)
    parts, count = block.parts[:, model], block.counts[model]
    top = np.full(len(count), -np.inf)
    np.maximum.at(top, parts, scores)
    held = np.bincount(parts, np.exp(scores - top[parts]), minlength=len(count))
    potentials[model] += np.log(count) - np.log(held) - top


def _fit_in_turn(block: Block, potentials: list[Floats], sweeps: int) -> None:
    """Fit the margins of each model in turn: iterative proportional fitting."""
    for _ in range(sweeps):
        before = [values.copy() for values in potentials]
        for model in range(len(potentials)):
            _scale(block, potentials, model)
        if max(float(np.abs(a - b).max()) for a, b in zip(before, potentials, strict=True)) < 1e-13:
            return


def _newton(block: Block, potentials: list[Floats], reference: int) -> None:
    """Minimise g over the potentials of all models but the reference."""
    others = [i for i in range(len(potentials)) if i != reference]
    if not others:
        return
    starts = np.concatenate([[0], np.cumsum([len(block.counts[i]) for i in others])])
    n_options = len(block.options)
    rows = np.tile(np.arange(n_options), len(others))
    columns = np.concatenate([block.parts[:, i] + start for i, start in zip(others, starts, strict=False)])
    member = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n_options, int(starts[-1])))
    known = np.concatenate([block.counts[i] for i in others]).astype(float)
    own, count = block.parts[:, reference], block.counts[reference].astype(float)
    total = float(count.sum())

    def table_of(y: Floats) -> tuple[Floats, float]:
        scores = block.log_sizes + member @ y
        top = np.full(len(count), -np.inf)
        np.maximum.at(top, own, scores)
        weights = np.exp(scores - top[own])
        held = np.bincount(own, weights, minlength=len(count))
        return weights * (count / held)[own], float(count @ (np.log(held) + top) - known @ y)

    y = np.concatenate([potentials[i] for i in others])
    table, value = table_of(y)
    for _ in range(MOST_STEPS):
        gradient = member.T @ table - known
        if float(np.abs(gradient).sum()) <= CLOSE * max(1.0, total * 1e-3):
            break
        by_own = sparse.csr_matrix((table, (own, np.arange(n_options))), shape=(len(count), n_options)) @ member
        hessian = (member.T @ member.multiply(table[:, None])).toarray()
        hessian -= (by_own.T @ by_own.multiply(1 / count[:, None])).toarray()
        hessian[np.diag_indices_from(hessian)] += 1e-11 * total / len(known) + 1e-13
        try:
            step = -cho_solve(cho_factor(hessian, check_finite=False), gradient, check_finite=False)
        except np.linalg.LinAlgError:
            # Any potentials give bounds; those of the last step are the best at hand.
            break
        slope = float(gradient @ step)
        length = 1.0
        new_table, new_value = table_of(y + step)
        while not new_value <= value + 1e-4 * length * slope + 1e-12 * abs(value) and length > 1e-8:
            length /= 2
            new_table, new_value = table_of(y + length * step)
        if not length > 1e-8:
            break
        y, table, value = y + length * step, new_table, new_value
    for i, start, end in zip(others, starts[:-1], starts[1:], strict=True):
        potentials[i] = y[start:end]
