"""The convex-concave procedure: where E(T) is not known, the constraints do not describe a convex set.

The chosen split's impurity E(T) is concave in x too, so that ``E(W) >= E(T)`` is a difference of concave functions.
Each step replaces E(T) by its tangent at the last table, which is an upper bound: what satisfies the replaced
constraint satisfies the true one, the replaced set is convex, and outer approximation solves it. From a table that
satisfies all constraints the entropy can only rise; towards one, violations are allowed at a price that rises. The
result is a local optimum, and depends on where it starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glassine.attacks.disclosure.constraints import Constraints, Cut
from glassine.attacks.disclosure.cuts import Approximation, Engine, Point, outer_approximation
from glassine.attacks.disclosure.dual import TimeLimit
from glassine.attacks.disclosure.leaves import BoundedLeaves, LeafKnowledge
from glassine.domain.attributes import is_whole
from glassine.errors import InvalidParameterError
from glassine.records.arrays import Array

MOST_STEPS = 80
"""Steps of one start: the price of a violation reaches its largest in 14 of them, the rest climb."""
NOBODY = 1e-6
"""Expected people below which a class is taken to be absent from a leaf."""

MOST_ROUNDS = 4
"""Rounds of outer approximation in one step: the next step linearizes again in any case."""

GUESS_ROUNDS = 60
"""Rounds for a guess of the class counts: one that needs more is given up for the next."""
CLIMBING_STEPS, CLIMBING_ROUNDS, CLIMBING_PRICE = 8, 6, 100.0
SHORTEST = 1e-3
"""Share of the way to the next table below which climbing stops."""

FIRST_PRICE, LAST_PRICE = 1.0, 1e4
"""Price of a violation, in nats for each person of impurity. It doubles until nothing is violated: at a high price far
from a feasible table, the linearised problem has only absurd solutions."""

SETTLED = 1e-6
"""Change of the entropy, in nats per person, below which the procedure stops."""


@dataclass(frozen=True, slots=True)
class Starts:
    """From how many tables the convex-concave procedure climbs, and how far.

    Attributes
    ----------
    number : int, default=3
        Number of starts, at least 1.
    most_steps : int, default=80
        Most steps of each, at least 1.
    limit : TimeLimit, optional
        When the search ends; checked before each convex problem and each of its steps.

    Raises
    ------
    InvalidParameterError
        If one is not a whole number of at least 1.
    """

    number: int = 3
    most_steps: int = MOST_STEPS
    limit: TimeLimit | None = None

    def __post_init__(self) -> None:
        for name in ("number", "most_steps"):
            value = getattr(self, name)
            if not is_whole(value) or not value >= 1:
                raise InvalidParameterError(f"{name} of starts must be a whole number of at least 1, got {value!r}.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalOptimum:
    """Where the procedure ends from one start."""

    point: Point  # The table
    cuts: tuple[Cut, ...]  # The last linearised constraints
    steps: int  # Number of convex problems solved
    feasible: bool  # Whether the table satisfies every constraint to its tolerance
    settled: bool  # Whether the entropy had stopped changing


def starting_tables(
    engine: Engine, relaxed: Array, n_starts: int, rng: np.random.Generator, *, sampled: bool = False
) -> list[Array]:
    """Return tables to start from: that of the leaves alone, and random mixtures of it."""
    # In each of the others, the records of a leaf that are not of its label are spread unevenly over the other classes,
    # but in the same way for every person in the leaf.
    out = [relaxed]
    leaf, labels = engine.people.leaf, engine.leaves.labels
    sizes = engine.people.sizes.astype(np.float64)
    by_leaf = np.zeros((len(engine.leaves.sizes), relaxed.shape[1]))
    np.add.at(by_leaf, leaf, relaxed)
    for _ in range(1, n_starts):
        mixed = by_leaf * rng.gamma(2.0, 0.5, size=by_leaf.shape)
        if labels is not None:
            at = np.arange(len(mixed))
            kept = np.zeros(mixed.shape, dtype=bool)
            kept[at, labels] = True
            # Of a sample, the last column are the people outside.
            kept[:, -1] |= sampled
            mixed[kept] = 0.0
            rest = np.where(kept, 0.0, by_leaf).sum(axis=1)
            mixed = mixed * (rest / np.maximum(mixed.sum(axis=1), 1e-300))[:, None]
            mixed[kept] = by_leaf[kept]
        shares = mixed / np.maximum(mixed.sum(axis=1, keepdims=True), 1e-300)
        out.append(sizes[:, None] * shares[leaf])
    return out


def feasible_tables(engine: Engine, constraints: Constraints, tables: Sequence[Array]) -> list[Array]:
    """Return tables that keep all constraints, found by guessing the class counts of the leaves."""
    # Where those are given, E(T) is a number and the constraints are convex: outer approximation finds a table that
    # keeps them, or proves that there is none.
    # Shapes: tables (q, c).
    out, people = [], engine.people
    guesses = [engine.leaves.centre()] if isinstance(engine.leaves, BoundedLeaves) else []
    for table in tables:
        by_leaf = np.zeros((len(engine.leaves.sizes), table.shape[1]))
        np.add.at(by_leaf, people.leaf, table)
        guesses.append(by_leaf)
    for guess in guesses:
        sizes = engine.leaves.sizes
        counts = np.where(guess > NOBODY, guess, 0.0)
        counts = counts * (sizes / counts.sum(axis=1))[:, None]
        known = LeafKnowledge(
            told="leaf_counts", sizes=sizes, counts=counts, labels=None, correct=None, n_classes=guess.shape[1]
        )
        fixed = Engine(people, known, limit=engine.limit)
        alone = fixed.solve([], np.zeros(0), precision=1e-8 * people.n_people)
        result = outer_approximation(
            fixed, constraints, alone, at=constraints.terms(alone.table), precision=1e-8, most_rounds=GUESS_ROUNDS
        )
        if result.point.feasible and constraints.satisfied(result.point.table):
            out.append(result.point.table)
    return out


def convex_concave(
    engine: Engine, constraints: Constraints, start: Point, table: Array, *, most_steps: int = MOST_STEPS
) -> LocalOptimum:
    """Climb to a local maximum of the entropy from one table."""
    # Shapes: table (q, c).
    n = float(engine.people.n_people)
    allowance = constraints.allowance()
    centre, warm, price, last = table, None, FIRST_PRICE, np.inf
    approximation: Approximation | None = None
    for step in range(1, most_steps + 1):
        approximation = outer_approximation(
            engine, constraints, start, at=centre, ceiling=price, warm=warm, precision=1e-9, most_rounds=MOST_ROUNDS
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


def climb(engine: Engine, constraints: Constraints, start: Point, table: Array) -> LocalOptimum:
    """Climb from a table that satisfies every constraint, without ever violating one."""
    # Each step maximises the entropy under the linearised constraints, and goes towards that maximum as far as the true
    # ones allow. The entropy is concave, so that it rises all the way.
    # Shapes: table (q, c).
    n, offset = float(engine.people.n_people), engine.leaves.offset
    sizes = engine.people.sizes[:, None]

    def entropy(x: Array) -> float:
        shares = x / sizes
        return float((x * (offset - np.log(np.where(shares > 0, shares, 1.0)))).sum())

    at, last = table, entropy(table)
    warm: Approximation | None = None
    reached: Approximation | None = None
    settled, steps = False, 0
    for _ in range(CLIMBING_STEPS):
        steps += 1
        warm = outer_approximation(
            engine, constraints, start, at=at, ceiling=CLIMBING_PRICE, warm=warm, precision=1e-9,
            most_rounds=CLIMBING_ROUNDS,
        )  # fmt: skip
        if not warm.point.feasible:
            break
        length = 1.0
        while length > SHORTEST and not constraints.satisfied(at + length * (warm.point.table - at)):
            length *= 0.7
        if length <= SHORTEST:
            break
        at = at + length * (warm.point.table - at)
        reached, now = warm, entropy(at)
        settled, last = abs(now - last) / n < SETTLED, now
        if settled:
            break
    multipliers = np.zeros(0) if reached is None else reached.point.multipliers
    residual = 0.0 if reached is None else reached.point.residual
    point = Point(table=at, multipliers=multipliers, value=start.value, entropy=last, residual=residual, feasible=True)
    kept = bool((constraints.worst(at).slack >= -constraints.allowance()).all())
    cuts = () if reached is None else reached.cuts
    return LocalOptimum(point=point, cuts=cuts, steps=steps, feasible=kept, settled=settled)
