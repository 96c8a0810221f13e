"""The posterior by Markov chains: the classes of two people of a leaf are swapped, again and again.

A swap keeps the class counts of the leaf. The pair is drawn evenly, so that the chain is symmetric on assignments of
classes to people, and its stationary distribution is even on those that are worlds: moves that would break an internal
constraint are rejected. A share of the moves are larger ones: two to four swaps at once among the people of one node,
of which only the result is checked. Where class counts are unknown, half of the moves give one person another class,
and moves that contradict the label or error rate of a leaf are also rejected. Where class totals are known as well, two
people of any leaves swap their classes.

Under constraints such moves need not connect all worlds. Chains that are caught in different parts show in R-hat;
parts that no chain started in do not show at all.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from glassine.attacks.disclosure.board import Board, State, lay_out
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.first_world import SHORTEST_SWEEP, first_world, share_of_larger
from glassine.attacks.disclosure.swaps import MOST_PARTS, run
from glassine.compiling import compiled
from glassine.errors import UndefinedMeasureError, parameter
from glassine.records.arrays import AnyArray, Array, Bools, Ints

# Have the chains converged? R-hat and effective sample size from what was kept of the draws.
#
# The draws of a cell are small whole numbers, so that their histograms hold all that the rank-normalised split R-hat
# needs, and no draw has to be kept.
#
# References ---------- A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, *Rank-normalization,
# folding, and localization: an improved R-hat for assessing convergence of MCMC*, Bayesian Analysis 16 (2021).


BATCHES = 20
"""Batches of a chain; a chain's draws are a multiple of it."""


def split_r_hat(histograms: npt.NDArray[np.integer]) -> Array:
    """Return the rank-normalised split R-hat, the larger of the plain and the folded one.

    Shapes: ``histograms`` (m, v, ...); the result (...).

    Examples
    --------
    Two half chains that agree, and two that do not:

    >>> import numpy as np
    >>> split_r_hat(np.array([[50, 50], [50, 50]])).round(3).item()
    0.995
    >>> split_r_hat(np.array([[90, 10], [10, 90]])).round(3).item()
    2.124
    """
    return np.maximum(_r_hat(histograms), _r_hat(_folded(histograms)))


def _r_hat(histograms: npt.NDArray[np.integer]) -> Array:
    h = histograms.astype(np.float64)
    n = h.sum(axis=1)
    pooled = h.sum(axis=0)
    total = pooled.sum(axis=0)
    rank = np.cumsum(pooled, axis=0) - pooled + (pooled + 1) / 2
    z = np.where(pooled > 0, ndtri(np.clip((rank - 3 / 8) / (total + 1 / 4), 1e-12, 1 - 1e-12)), 0.0)
    mean = (h * z).sum(axis=1) / n
    within = ((h * (z - mean[:, None]) ** 2).sum(axis=1) / (n - 1)).mean(axis=0)
    between = mean.var(axis=0, ddof=1)
    length = n[0]
    positive = within > 1e-15
    squared = (length - 1) / length + between / np.where(positive, within, 1.0)
    stuck = np.where(between > 1e-15, np.inf, 1.0)
    return np.asarray(np.where(positive, np.sqrt(squared), stuck))


def _folded(histograms: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
    """Return the histograms of the distance from the median."""
    pooled = np.cumsum(histograms.sum(axis=0), axis=0)
    median = (2 * pooled < pooled[-1]).sum(axis=0)
    out = np.zeros_like(histograms)
    n_values = histograms.shape[1]
    for value in range(n_values):
        distance = np.abs(value - median)
        for d in range(n_values):
            out[:, d] += np.where(distance == d, histograms[:, value], 0)
    return out


def batch_means(sums: npt.NDArray[np.integer], length: int) -> tuple[Array, Array]:
    """Return the mean of all draws, and its standard error by batch means.

    The standard error is right where a batch is much longer than the draws depend on each other. As batches of all
    chains are compared with their common mean, chains that disagree make it larger.

    Shapes: ``sums`` (b, ...).

    Examples
    --------
    >>> import numpy as np
    >>> mean, error = batch_means(np.array([4, 6]), 10)
    >>> mean.item(), round(error.item(), 3)
    (0.5, 0.1)
    """
    means = sums.astype(np.float64) / length
    return means.mean(axis=0), np.asarray(np.sqrt(means.var(axis=0, ddof=1) / len(means)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chains:
    """What the chains found."""

    # table, standard_errors: mean share of each class among the people of each quasi-identifier, and its standard
    # error; shape (q, c).
    table: Array
    standard_errors: Array
    # r_hat, effective_size: R-hat, and number of independent draws that would give the standard error; NaN where the
    # draws are all equal; shape (q, c).
    r_hat: Array
    effective_size: Array
    constant: Bools  # Where all draws are equal; shape (q, c)
    # accepted, accepted_larger: share of the single and of the larger moves, of those that would change the table, that
    # were accepted.
    accepted: float
    accepted_larger: float
    searched: int  # Chains whose random start was no world, so that one was searched
    tables: Ints  # The last world of each chain; shape (m, q, c)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Run:
    """What is kept of one chain."""

    histograms: npt.NDArray[np.int32]
    batches: Ints
    tally: Ints
    searched: bool
    table: Ints


def run_chains(
    disclosure: Disclosure, *, n_chains: int = 4, draws: int = 500, burn_in: int = 100, thin: int = 1,
    random_state: int | np.random.Generator | None = 0,
) -> Chains:  # fmt: skip
    """Run chains from different starts."""
    if disclosure.sample is not None:
        raise UndefinedMeasureError(
            "the worlds of a sample are listed, not sampled by chains.",
            remedy=f'Take method="enumeration" and a larger {parameter("most_worlds")}, or the relaxation.',
        )
    board = lay_out(disclosure)
    rngs = np.random.default_rng(random_state).spawn(n_chains)

    def one(k: int) -> _Run:
        return _chain(disclosure, board, k, rngs[k], draws, burn_in, thin)

    with ThreadPoolExecutor(max_workers=min(n_chains, os.cpu_count() or 1)) as pool:
        runs = list(pool.map(one, range(n_chains)))
    return _summary(disclosure, runs, draws)


def _chain(
    disclosure: Disclosure, board: Board, k: int, rng: np.random.Generator, draws: int, burn_in: int, thin: int
) -> _Run:
    sizes, c = disclosure.people.sizes, len(disclosure.classes)
    state, searched = first_world(disclosure, board, rng, from_estimate=k % 2 == 1)
    offsets = np.concatenate([[0], np.cumsum(sizes + 1)]).astype(np.int64)
    histograms = np.zeros((2, int(offsets[-1]), c), dtype=np.int32)
    batches = np.zeros((BATCHES, len(sizes), c), dtype=np.int64)
    parts, tally = np.zeros((MOST_PARTS, 4), dtype=np.int64), np.zeros(4, dtype=np.int64)
    sweep, share = max(len(board.person), SHORTEST_SWEEP), share_of_larger(board)
    run(board, state, burn_in * sweep, share, -1.0, rng, parts, tally)
    tally[:] = 0
    sample(board, state, thin * sweep, share, rng, parts, tally, Kept(offsets, histograms, batches, draws))
    return _Run(histograms=histograms, batches=batches, tally=tally, searched=searched, table=state.x)


def _summary(disclosure: Disclosure, runs: list[_Run], draws: int) -> Chains:
    sizes = disclosure.people.sizes
    halves = np.concatenate([run_.histograms for run_ in runs])
    offsets = np.concatenate([[0], np.cumsum(sizes + 1)])
    shape = (len(sizes), len(disclosure.classes))
    r_hat, variance, constant = np.ones(shape), np.zeros(shape), np.ones(shape, dtype=bool)
    for size in np.unique(sizes):
        held = np.flatnonzero(sizes == size)
        values = np.arange(size + 1)
        own = halves[:, offsets[held][None, :] + values[:, None]]
        r_hat[held] = split_r_hat(own)
        pooled = own.sum(axis=0) / (len(runs) * draws)
        shares = values[:, None, None] / size
        mean = (pooled * shares).sum(axis=0)
        variance[held] = (pooled * (shares - mean) ** 2).sum(axis=0)
        constant[held] = pooled.max(axis=0) >= 1
    sums = np.concatenate([run_.batches for run_ in runs])
    mean, error = batch_means(sums, draws // BATCHES)
    table, errors = mean / sizes[:, None], error / sizes[:, None]
    total = float(len(runs) * draws)
    varied = ~constant & (errors > 0)
    effective = np.where(varied, np.minimum(variance / np.where(varied, errors, 1.0) ** 2, total), np.nan)
    tally = np.sum([run_.tally for run_ in runs], axis=0)
    return Chains(
        table=table,
        standard_errors=errors,
        r_hat=np.where(constant, np.nan, r_hat),
        effective_size=effective,
        constant=constant,
        accepted=float(tally[1] / max(tally[0], 1)),
        accepted_larger=float(tally[3] / max(tally[2], 1)),
        searched=sum(run_.searched for run_ in runs),
        tables=np.stack([run_.table for run_ in runs]),
    )


@compiled
def _record(x: AnyArray, offsets: AnyArray, histogram: AnyArray, batch: AnyArray) -> None:
    """Add a draw to the histogram of each cell's values, shape (rows, c), and to the sums of a batch."""
    for q in range(x.shape[0]):
        for c in range(x.shape[1]):
            histogram[offsets[q] + x[q, c], c] += 1
            batch[q, c] += x[q, c]


class Kept(NamedTuple):
    """What is kept of the draws of a chain.

    ``offsets``, shape (q + 1,), say where the values of a quasi-identifier begin in ``histograms``, shape (2, v, c),
    one for each half of the chain; ``batches``, shape (b, q, c), are sums.
    """

    offsets: AnyArray
    histograms: AnyArray
    batches: AnyArray
    draws: int


@compiled
def sample(
    board: Board,
    state: State,
    moves: int,
    larger: float,
    rng: np.random.Generator,
    parts: AnyArray,
    tally: AnyArray,
    kept: Kept,
) -> None:
    """Draw worlds, some moves apart, into two histograms, one for each half of the chain, and sums of batches."""
    draws = kept.draws
    for draw in range(draws):
        run(board, state, moves, larger, -1.0, rng, parts, tally)
        batch = kept.batches[draw * len(kept.batches) // draws]
        _record(state.x, kept.offsets, kept.histograms[2 * draw // draws], batch)
