"""The convex-concave procedure: where E(T) is not known, the constraints do not describe a convex set.

The chosen split's impurity E(T) is concave in x too, so that ``E(W) >= E(T)`` is a difference of concave functions.
Each step replaces E(T) by its tangent at the last table, which is an upper bound: what satisfies the replaced
constraint satisfies the true one, the replaced set is convex, and outer approximation solves it. From a table that
satisfies all constraints the entropy can only rise; towards one, violations are allowed at a price that rises. The
result is a local optimum, and depends on where it starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure.constraints import Constraints
from glassine.attacks.disclosure.cuts import Approximation, Cut, Engine, Point, outer_approximation

__all__ = ["LocalOptimum", "convex_concave", "starting_tables"]

Floats = npt.NDArray[np.float64]

MOST_STEPS = 80
MOST_ROUNDS = 4
"""Rounds of outer approximation in one step: the next step linearises anew in any case."""

FIRST_PRICE, LAST_PRICE = 1.0, 1e4
"""Price of a violation, in nats for each person of impurity. It doubles until nothing is violated: at a high price far
from a feasible table, the linearised problem has only absurd solutions."""

SETTLED = 1e-6
"""Change of the entropy, in nats a person, below which the procedure stops."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalOptimum:
    """Where the procedure ends from one start.

    Attributes
    ----------
    point : Point
        The table.
    cuts : tuple of Cut
        The last linearised constraints.
    steps : int
        Number of convex problems solved.
    feasible : bool
        Whether the table satisfies every constraint to its tolerance.
    settled : bool
        Whether the entropy had stopped changing.
    """

    point: Point
    cuts: tuple[Cut, ...]
    steps: int
    feasible: bool
    settled: bool


def starting_tables(engine: Engine, relaxed: Floats, n_starts: int, rng: np.random.Generator) -> list[Floats]:
    """Return tables to start from: that of the leaves alone, and random mixtures of it.

    In each of the others every leaf's records that are not of its label are spread unevenly, but alike for everybody in
    the leaf, over the other classes.
    """
    out = [relaxed]
    leaf, labels = engine.people.leaf, engine.leaves.labels
    sizes = engine.people.sizes.astype(np.float64)
    by_leaf = np.zeros((len(engine.leaves.sizes), relaxed.shape[1]))
    np.add.at(by_leaf, leaf, relaxed)
    for _ in range(1, n_starts):
        mixed = by_leaf * rng.gamma(2.0, 0.5, size=by_leaf.shape)
        if labels is not None:
            at = np.arange(len(mixed))
            rest = by_leaf.sum(axis=1) - by_leaf[at, labels]
            mixed[at, labels] = 0.0
            scale = rest / np.maximum(mixed.sum(axis=1), 1e-300)
            mixed = mixed * scale[:, None]
            mixed[at, labels] = by_leaf[at, labels]
        shares = mixed / np.maximum(mixed.sum(axis=1, keepdims=True), 1e-300)
        out.append(sizes[:, None] * shares[leaf])
    return out


def convex_concave(
    engine: Engine, constraints: Constraints, start: Point, table: Floats, *, most_steps: int = MOST_STEPS
) -> LocalOptimum:
    """Climb to a local maximum of the entropy from one table.

    Parameters
    ----------
    engine : Engine
        The problem without internal constraints.
    constraints : Constraints
        The internal constraints.
    start : Point
        The solution without them.
    table : ndarray, shape (q, c)
        Where to start.
    most_steps : int
        Limit of steps.
    """
    n = float(engine.people.n_people)
    allowance = constraints.allowance()
    centre, warm, price, last = table, None, FIRST_PRICE, np.inf
    approximation: Approximation | None = None
    for step in range(1, most_steps + 1):
        approximation = outer_approximation(
            engine, constraints, start, centre=centre, ceiling=price, warm=warm, precision=1e-9, most_rounds=MOST_ROUNDS
        )
        point = approximation.point
        change = abs(point.entropy - last) / n
        feasible = bool((constraints.worst(point.table).slack >= -allowance).all())
        if change < SETTLED and (feasible or price >= LAST_PRICE):
            return LocalOptimum(point=point, cuts=approximation.cuts, steps=step, feasible=feasible, settled=True)
        if not feasible:
            price = min(2 * price, LAST_PRICE)
        centre, warm, last = point.table, approximation, point.entropy
    point = start if approximation is None else approximation.point
    return LocalOptimum(
        point=point,
        cuts=() if approximation is None else approximation.cuts,
        steps=most_steps,
        feasible=bool((constraints.worst(point.table).slack >= -allowance).all()),
        settled=False,
    )
