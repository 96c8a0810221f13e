"""Bounds of the number of datasets that meet the counts of several models; proofs in ``bounds.md``.

All functions speak of one block and of the natural logarithm of

    S = sum over the tables T with the block's margins of the product of w_o^T_o / T_o!
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.special import gammaln, ive, xlogy

from glassine.counting import Measure
from glassine.records.arrays import Array, Indices, Ints

# The table of maximum entropy with given margins, by Newton's method on the dual.
#
# With w the size of an option's cell, the table is ``T = w exp(sum of the potentials of its parts)``. The potentials
# of one model, the reference, follow from those of the others; they minimise the convex function
#
# g(y) = sum_a C_a log sum_{o in a} w_o exp(y_o) - sum_b C_b y_b
#
# over the potentials y of all other models' parts b, where a runs over the reference's parts and y_o is the sum of
# the potentials of the parts in which option o lies.


MOST_STEPS = 100
MOST_SWEEPS = 2000
SWEEPS = 30
DENSE = 4000
"""Largest number of potentials for which Newton's system is solved; beyond it, margins are fitted in turn."""
CLOSE = 1e-9
"""Residual of the margins, in records, at which a fit ends."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OptionBlock:
    """Free options that hang together, with parts numbered within each model."""

    options: Indices  # Their places in the system; shape (o,)
    parts: Indices  # Part of each model; shape (o, models)
    counts: tuple[Ints, ...]  # Records of each part, positive
    log_sizes: Array  # Natural logarithm of the size of each option's cell; shape (o,)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Potentials:
    """Potentials and their table."""

    potentials: tuple[Array, ...]  # For each model the potentials of its parts
    table: Array  # Expected records of each option; shape (o,)
    residual: float  # Sum of the absolute differences of the table's margins from the counts


def maximise_entropy(block: OptionBlock) -> Potentials:
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
    return Potentials(potentials=tuple(potentials), table=table, residual=residual)


def _scores(block: OptionBlock, potentials: list[Array]) -> Array:
    total = block.log_sizes.copy()
    for i, values in enumerate(potentials):
        total += values[block.parts[:, i]]
    return total


def _scale(block: OptionBlock, potentials: list[Array], model: int) -> None:
    """Set the potentials of one model so that its margins are met."""
    scores = _scores(block, potentials)
    parts, count = block.parts[:, model], block.counts[model]
    top = np.full(len(count), -np.inf)
    np.maximum.at(top, parts, scores)
    sums = np.bincount(parts, np.exp(scores - top[parts]), minlength=len(count))
    potentials[model] += np.log(count) - np.log(sums) - top


def _fit_in_turn(block: OptionBlock, potentials: list[Array], sweeps: int) -> None:
    """Fit the margins of each model in turn: iterative proportional fitting."""
    for _ in range(sweeps):
        before = [values.copy() for values in potentials]
        for model in range(len(potentials)):
            _scale(block, potentials, model)
        if max(float(np.abs(a - b).max()) for a, b in zip(before, potentials, strict=True)) < 1e-13:
            return


def _newton(block: OptionBlock, potentials: list[Array], reference: int) -> None:
    """Minimise g over the potentials of all models but the reference."""
    others = [i for i in range(len(potentials)) if i != reference]
    if not others:
        return
    starts = np.concatenate([[0], np.cumsum([len(block.counts[i]) for i in others])])
    n_options = len(block.options)
    rows = np.tile(np.arange(n_options), len(others))
    columns = np.concatenate([block.parts[:, i] + start for i, start in zip(others, starts, strict=False)])
    member = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n_options, int(starts[-1])))
    targets = np.concatenate([block.counts[i] for i in others]).astype(float)
    own, count = block.parts[:, reference], block.counts[reference].astype(float)
    total = float(count.sum())

    def table_of(y: Array) -> tuple[Array, float]:
        scores = block.log_sizes + member @ y
        top = np.full(len(count), -np.inf)
        np.maximum.at(top, own, scores)
        weights = np.exp(scores - top[own])
        sums = np.bincount(own, weights, minlength=len(count))
        return weights * (count / sums)[own], float(count @ (np.log(sums) + top) - targets @ y)

    y = np.concatenate([potentials[i] for i in others])
    table, value = table_of(y)
    for _ in range(MOST_STEPS):
        gradient = member.T @ table - targets
        if float(np.abs(gradient).sum()) <= CLOSE * max(1.0, total * 1e-3):
            break
        by_own = sparse.csr_matrix((table, (own, np.arange(n_options))), shape=(len(count), n_options)) @ member
        hessian = (member.T @ member.multiply(table[:, None])).toarray()
        hessian -= (by_own.T @ by_own.multiply(1 / count[:, None])).toarray()
        hessian[np.diag_indices_from(hessian)] += 1e-11 * total / len(targets) + 1e-13
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


State: TypeAlias = tuple[int, ...]

MOST_STATES = 20_000
MOST_SECONDS = 0.5
"""About how long the exact sum of a block may take."""
WIDEST = 2000
"""Options of a part beyond which the smallest are left out of the correction, which keeps it a bound."""
SHRINK = 1 - 1e-5
ROUNDING = 1e-12
"""What is taken for the rounding of a sum of floating-point numbers, as a share of the sum of their magnitudes."""


def counted(block: OptionBlock, sizes: Sequence[Measure]) -> tuple[float, float] | None:
    """Return the logarithm of S from whole numbers, part by part of one model; None where that takes too long."""
    # It is returned twice, moved downwards and upwards by the rounding of the last logarithms.
    #
    # The product of C_a! over the parts a of the reference times S is the coefficient of the other models' counts in
    # the product of (sum_{o in a} w_o z_o)^C_a.
    products = [math.fsum(math.log(c + 1) for c in count.tolist()) for count in block.counts]
    reference = int(np.argmax(products))
    if sum(products) - products[reference] > math.log(MOST_STATES):
        return None
    most_updates = MOST_SECONDS / _seconds_of_update(block, sizes)
    others = [i for i in range(len(block.counts)) if i != reference]
    starts = np.cumsum([0, *(len(block.counts[i]) for i in others)]).tolist()
    goal: State = tuple(int(c) for i in others for c in block.counts[i])
    places = [[starts[j] + int(row[i]) for j, i in enumerate(others)] for row in block.parts.tolist()]
    states: dict[State, Measure] = {goal: 1}
    updates = 0
    for part, count in enumerate(block.counts[reference].tolist()):
        mine = np.flatnonzero(block.parts[:, reference] == part).tolist()
        open_states: dict[tuple[State, int], Measure] = {(state, count): ways for state, ways in states.items()}
        for option in mine:
            following: dict[tuple[State, int], Measure] = {}
            for (state, rest), ways in open_states.items():
                most = min([rest, *(state[place] for place in places[option])])
                least = rest if option == mine[-1] else 0
                for number in range(least, most + 1):
                    after = list(state)
                    for place in places[option]:
                        after[place] -= number
                    key = (tuple(after), rest - number)
                    gain = ways * math.comb(rest, number) * sizes[option] ** number
                    following[key] = following.get(key, 0) + gain
                    updates += 1
                if updates > most_updates:
                    return None
            open_states = following
        states = {state: ways for (state, rest), ways in open_states.items() if rest == 0}
    total = states.get(tuple(0 for _ in goal), 0)
    if not total:
        return -math.inf, -math.inf
    top, bottom = (math.log(number) for number in total.as_integer_ratio())
    orders = float(gammaln(block.counts[reference] + 1.0).sum())
    slack = ROUNDING * (1 + top + bottom + orders)
    return top - bottom - orders - slack, top - bottom - orders + slack


def _seconds_of_update(block: OptionBlock, sizes: Sequence[Measure]) -> float:
    """Return about how long it takes to multiply numbers of the length of a block's sum."""
    words = (float(block.counts[0].sum()) * (1 + float(np.abs(block.log_sizes).max()) / math.log(2))) / 64
    whole = all(isinstance(size, int) for size in sizes)
    return (1e-6 + 5e-9 * math.pow(words, 1.6)) * (1 if whole else 30)


def log_upper(block: OptionBlock, fit: Potentials, reference: int) -> float:
    """Return an upper bound: the dual at the fit's potentials, less what the torus integral leaves."""
    # Any potentials give a bound, so that it does not hang on how well they were fitted.
    own, count = block.parts[:, reference], block.counts[reference].astype(float)
    scores = block.log_sizes.copy()
    orders = float(gammaln(count + 1).sum())
    value, size = -orders, 1 + orders
    reach = np.abs(block.log_sizes)
    for i, potentials in enumerate(fit.potentials):
        if i != reference:
            scores += potentials[block.parts[:, i]]
            reach += np.abs(potentials[block.parts[:, i]])
            value -= float(block.counts[i] @ potentials)
            size += float(block.counts[i] @ np.abs(potentials))
    top = np.full(len(count), -np.inf)
    np.maximum.at(top, own, scores)
    most = np.zeros(len(count))
    np.maximum.at(most, own, reach)
    weights = np.exp(scores - top[own])
    sums = np.bincount(own, weights, minlength=len(count))
    value += float(count @ (np.log(sums) + top))
    size += float(count @ (np.log(sums) + most))
    bound = value + _torus(block, reference, weights / sums[own]) + ROUNDING * size
    return bound if bound == bound else math.inf


def _torus(block: OptionBlock, reference: int, shares: Array) -> float:
    """Return an upper bound of the logarithm of the chance that draws with these shares meet the other margins."""
    others = [i for i in range(len(block.counts)) if i != reference]
    # The phases of a model's parts count up to a common one: the first is left out.
    sizes = [len(block.counts[i]) - 1 for i in others]
    dimension = sum(sizes)
    if not 0 < dimension <= DENSE:
        return 0.0
    own, count = block.parts[:, reference], block.counts[reference].astype(float)
    n = len(block.options)
    rows, columns = [], []
    for i, start in zip(others, np.cumsum([0, *sizes[:-1]]), strict=True):
        kept = np.flatnonzero(block.parts[:, i] > 0)
        rows.append(kept)
        columns.append(block.parts[kept, i] - 1 + start)
    row, column = np.concatenate(rows), np.concatenate(columns)
    member = sparse.csr_matrix((np.ones(len(row)), (row, column)), shape=(n, dimension))
    table = shares * count[own]
    by_own = sparse.csr_matrix((table, (own, np.arange(n))), shape=(len(count), n)) @ member
    laplacian = (member.T @ member.multiply(table[:, None])).toarray()
    laplacian -= (by_own.T @ by_own.multiply(1 / count[:, None])).toarray()
    # A larger matrix gives smaller chances: this much covers the rounding of the differences.
    ridge = 1e-10 * np.trace(laplacian) / dimension + 1e-15 * (100 + dimension) * float(count.max())
    laplacian[np.diag_indices_from(laplacian)] += ridge
    try:
        inverse = cho_solve(cho_factor(laplacian, check_finite=False), np.eye(dimension), check_finite=False)
    except np.linalg.LinAlgError:
        return 0.0
    order = np.argsort(own, kind="stable")
    edges = np.searchsorted(own[order], np.arange(len(count) + 1))
    total = 0.0
    for part in range(len(count)):
        options = order[edges[part] : edges[part + 1]]
        if len(options) > WIDEST:
            options = options[np.argsort(-shares[options])[:WIDEST]]
        if len(options) > 1:
            mine = member[options]
            total += _pairs(mine @ (mine @ inverse).T, shares[options], float(count[part]))
    return total


def _pairs(inner: Array, shares: Array, count: float) -> float:
    """Return the sum over pairs of a part's options of leverage times the logarithm of their integral."""
    diagonal = np.diag(inner)
    first, second = np.triu_indices(len(shares), 1)
    resistance = np.maximum(diagonal[first] + diagonal[second] - 2 * inner[first, second], 1e-300)
    conductance = count * shares[first] * shares[second]
    leverage = np.minimum(conductance * resistance, 1.0) * SHRINK
    used = leverage > 0
    strength = np.minimum(conductance[used] / leverage[used], 1e15)
    return float(leverage[used] @ np.log(ive(0, strength)))


def log_lower(block: OptionBlock, fit: Potentials, reference: int, whole: Ints | None = None) -> float:
    """Return a lower bound for two models: the capacity by the fitted table, times Gurvits' factors."""
    # A table of whole numbers, if given, stands in for a fitted one whose margins are too far from the counts.
    if len(block.counts) != 2:
        raise ValueError("the lower bound is for two models.")
    fitted = _capacity(block, fit.table, reference) - _repair(block, fit)
    exact = -math.inf if whole is None else _capacity(block, whole.astype(float), reference)
    count = block.counts[reference].astype(float)
    orders = float(gammaln(count + 1).sum())
    factors, size = _factors(block, reference)
    bound = max(fitted if fitted == fitted else -math.inf, exact) - orders + factors
    return bound - ROUNDING * (1 + orders + size)


def _capacity(block: OptionBlock, table: Array, reference: int) -> float:
    """Return a lower bound of the log-capacity from a table with the margins."""
    count = block.counts[reference].astype(float)
    terms = xlogy(count, count), -xlogy(table, table), table * block.log_sizes
    return float(sum(each.sum() for each in terms) - ROUNDING * sum(np.abs(each).sum() for each in terms))


def _repair(block: OptionBlock, fit: Potentials) -> float:
    """Return what the fitted table's bound may lose when the table is mended to have the margins."""
    # What the margins lack is sent along a spanning tree of large entries, none of which may change by more than half.
    missing = fit.residual + ROUNDING * float(block.counts[0].sum())
    rank = np.empty(len(fit.table))
    rank[np.argsort(-fit.table, kind="stable")] = np.arange(1, len(rank) + 1)
    shape = (len(block.counts[0]) + len(block.counts[1]),) * 2
    ends = block.parts[:, 0], block.parts[:, 1] + len(block.counts[0])
    tree = np.rint(minimum_spanning_tree(sparse.csr_matrix((rank, ends), shape=shape)).data).astype(np.intp)
    entries = np.argsort(rank)[tree - 1]
    used = fit.table[entries]
    if not len(entries) or not (2 * missing <= used).all():
        return math.inf
    return float(missing * (np.abs(block.log_sizes[entries] - np.log(used)) + 2).sum())


def _factors(block: OptionBlock, reference: int) -> tuple[float, float]:
    """Return the logarithm of the product of binomial chances, one for each part of the other model, and its magnitude.

    The variables are taken one by one, those of few records first; the degree of a variable is at most the records of
    the parts that it meets, and at most what is left of the whole degree.
    """
    other = 1 - reference
    wanted = block.counts[other].astype(float)
    met = np.bincount(block.parts[:, other], block.counts[reference][block.parts[:, reference]], minlength=len(wanted))
    order = np.argsort(wanted, kind="stable")
    wanted, met = wanted[order], met[order]
    rest = wanted.sum() - np.concatenate([[0.0], np.cumsum(wanted)[:-1]])
    degree = np.minimum(met, rest)
    more = degree - wanted
    chance = gammaln(degree + 1) - gammaln(wanted + 1) - gammaln(more + 1)
    value = chance + xlogy(wanted, wanted) + xlogy(more, more) - xlogy(degree, degree)
    return float(value.sum()), float((gammaln(degree + 1) + xlogy(degree, degree)).sum()) * 2
