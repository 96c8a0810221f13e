"""The augmented Lagrangian: where the impurity of the chosen splits is not known, the constraints are not convex.

A table is the softmax of logits, so that its rows add up by construction. What the leaves reveal and that no candidate
was better than the split that was chosen are penalized and priced: the prices rise until nothing is violated, and
L-BFGS maximizes the entropy in between. All branches of all candidates are sums of one sparse product, so that a step
costs milliseconds for thousands of people. The table is then repaired: rows of the leaves are made exact, and a margin
keeps the internal constraints. From there the search hops: classes of whole branches move, prices stay, and a better
optimum nearby is kept. The result is a local optimum, and depends on where it starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import minimize

from glassine.attacks.disclosure.constraints import Clash, Constraints
from glassine.attacks.disclosure.cutting_planes import CutSolution, Engine
from glassine.attacks.disclosure.dual import TimeLimit
from glassine.attacks.disclosure.logits import LogitProblem, impurity_slope
from glassine.attacks.disclosure.preconditioner import Curvature
from glassine.domain.attributes import is_whole
from glassine.errors import InvalidParameterError
from glassine.records.arrays import Array, Bools, Indices

MOST_STEPS = 24
"""Rises of the prices in one start: the penalty reaches its largest in eight, the rest settle the prices."""

FIRST_PENALTY, LAST_PENALTY = 0.5, 64.0
"""Nats per squared person. It doubles: a large one at once makes a narrow valley that L-BFGS follows slowly."""

INNER, MEMORY = 100, 12
"""Steps and memory of L-BFGS between two rises of the prices: few, as the next rise goes on where it stopped."""

SPARED = 3e-6
"""Largest violation at which no logits are kicked, per person, and at most the last margin: a margin outweighs it.

On a CART of 12,842 candidates kicks at smaller ones undid what prices had reached elsewhere, and no climb settled.
"""

SETTLED, ROUGH = 1e-6, 2e-3
"""Largest violation at which prices rise no more, per person and at most: the margin and the repair do the rest."""

ALLOWED = 1e-6
"""Largest violation of what the leaves reveal, in people, by a table that is started from."""

UNEVEN = 0.5
"""Deviation of the logits of a class in a branch, at starts after the first."""

MARGINS = (1e-4, 1e-3, 1e-2, 0.03, 0.1)
"""People by which candidates are kept worse than the split, one after the other, until the table is allowed."""

DEEPEST = -12.0
"""Smallest logit at which a rise starts, below the largest of its row: the softmax is flat beyond."""

SHALLOW, OFF = -3.0, 1e-2
"""The same in leaves whose rows are off by so many people: there a flat softmax held up the prices for good."""

PATIENCE, STUCK, MOST_KICKS, KICK = 2, 0.7, 10, 0.3
"""After so many rises without a violation falling to such a share, logits of the leaves move by such a deviation."""

HOP, HOP_PENALTY, HOP_STEPS = 1.0, 2.0, 8
"""Deviation of the logits that a hop moves, penalty from which it climbs, and its most rises.

With twice the deviation climbs of the paper's trees did not settle; from the first penalty they forget the prices.
"""

STIFFER, STIFFEST = 4.0, 1024.0
"""By how much the penalty of a constraint that holds up the search grows, and its most."""


@dataclass(frozen=True, slots=True)
class Starts:
    """From how many tables the search climbs, and how far.

    Attributes
    ----------
    number : int, default=2
        Number of starts, at least 1.
    most_steps : int, default=24
        Most rises of the prices of each, at least 1.
    hops : int, default=3
        Number of hops from where each start led, to optima nearby; at least 0.
    limit : TimeLimit, optional
        When the search ends; checked at each evaluation.

    Raises
    ------
    InvalidParameterError
        If one is not a whole number, or too small.
    """

    number: int = 2
    most_steps: int = MOST_STEPS
    limit: TimeLimit | None = None
    hops: int = 3

    def __post_init__(self) -> None:
        for name, least in (("number", 1), ("most_steps", 1), ("hops", 0)):
            value = getattr(self, name)
            if not is_whole(value) or not value >= least:
                raise InvalidParameterError(
                    f"{name} of starts must be a whole number of at least {least}, got {value!r}."
                )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalOptimum:
    """Where the search ends from one start."""

    point: CutSolution  # The table
    active: tuple[Clash, ...]  # The internal constraints that have a price
    steps: int  # Number of rises of the prices
    feasible: bool  # Whether the table satisfies every constraint to its tolerance


def starting_tables(
    engine: Engine, relaxed: Array, n_starts: int, rng: np.random.Generator, *, sampled: bool = False
) -> list[Array]:
    """Return tables to start from: that of the leaves alone, and random mixtures of it."""
    # In each of the others, the records of a leaf that are not of its label are spread unevenly over the other classes,
    # but in the same way for every person in the leaf. Branches are uneven as wholes: of leaves that are drawn one by
    # one the sums over branches, which the internal nodes are about, would hardly differ from start to start.
    out = [relaxed]
    leaf, labels = engine.people.leaf, engine.leaves.labels
    sizes = engine.people.sizes.astype(np.float64)
    by_leaf = np.zeros((len(engine.leaves.sizes), relaxed.shape[1]))
    np.add.at(by_leaf, leaf, relaxed)
    for _ in range(1, n_starts):
        moves = np.zeros(relaxed.shape)
        for split in engine.people.splits:
            n_branches = int(split.branch.max(initial=-1)) + 1
            moves[split.members] += rng.normal(0.0, UNEVEN, (n_branches, relaxed.shape[1]))[split.branch]
        mixed = by_leaf.copy()
        mixed[leaf] *= np.exp(moves)
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


def augmented_lagrangian(
    engine: Engine,
    constraints: Constraints,
    start: CutSolution,
    table: Array,
    *,
    rng: np.random.Generator,
    starts: Starts,
) -> LocalOptimum:
    """Climb to a local maximum of the entropy from one table, which need not be allowed, and hop from there."""
    # Shapes: table (q, c).
    posed = LogitProblem(engine, constraints)
    climbing = _Climbing(posed, posed.logits(table), rng)
    most = starts.most_steps
    steps = climbing.climb(0.0, most) + sum(climbing.hop(min(most, HOP_STEPS)) for _ in range(starts.hops))
    best = free = posed.repaired(climbing.table())
    feasible = constraints.satisfied(best)
    for margin in () if feasible else climbing.margins_beyond():
        steps += climbing.climb(margin, most)
        best = posed.repaired(climbing.table())
        feasible = constraints.satisfied(best)
        if feasible:
            # Between a table with a margin and one that is a little beyond, go as far as is allowed.
            best = _furthest(constraints, best, free)
            break
    if not feasible and constraints.satisfied(table) and posed.residual(table) < ALLOWED:
        # A world of whole people, or the truth, is allowed itself.
        best, feasible = _furthest(constraints, table, free), True
    point = CutSolution(
        table=best,
        multipliers=np.zeros(0),
        value=start.value,
        entropy=posed.entropy(best),
        residual=posed.residual(best),
        feasible=feasible,
    )
    return LocalOptimum(point=point, active=climbing.active(), steps=steps, feasible=feasible)


def _furthest(constraints: Constraints, inside: Array, beyond: Array) -> Array:
    """Return the last table on the way from an allowed one to another that bisection finds allowed."""
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        allowed = constraints.satisfied(inside + middle * (beyond - inside))
        low, high = (middle, high) if allowed else (low, middle)
    return np.asarray(inside + low * (beyond - inside))


class _Climbing:
    """Logits and prices of one start."""

    def __init__(self, posed: LogitProblem, z: Array, rng: np.random.Generator) -> None:
        self.posed, self.z, self.rng = posed, z, rng
        shape = posed.rows.bounds.shape
        self.of_rows, self.of_totals = np.zeros(shape), np.zeros(posed.open.shape[1])
        self.of_candidates, self.penalty = np.zeros(0), FIRST_PENALTY
        self.stiffness = np.zeros(0)  # Penalty of each candidate, in penalties; shape (k,)
        people = float(posed.sizes.sum())
        self.settled, self.spared = min(ROUGH, SETTLED * people), min(MARGINS[-1], SPARED * people)
        self.posed.meet(self.table(), all_families=True)

    def table(self) -> Array:
        """Return the people of each cell, shape (q, c)."""
        return self.posed.sizes[:, None] * self.posed.shares(self.z)

    def _allowed(self) -> bool:
        return self.posed.constraints.satisfied(self.posed.repaired(self.table()))

    def active(self) -> tuple[Clash, ...]:
        """Return the internal constraints that have a price."""
        keys = list(self.posed.candidates)
        paid = np.flatnonzero(self.of_candidates[: len(keys)] > 1e-6)
        return tuple(self.posed.constraints.clash(*keys[k]) for k in paid)

    def climb(self, margin: float, most_steps: int, least: float = -np.inf) -> int:
        """Raise prices until candidates are worse than the split by a margin, and return how often.

        It gives up where the entropy falls below ``least``: prices that rise rarely bring it back.
        """
        posed, before, kicks = self.posed, np.inf, 0
        for step in range(1, most_steps + 1):
            new = len(posed.candidates) - len(self.of_candidates)
            self.of_candidates = np.concatenate([self.of_candidates, np.zeros(new)])
            self.stiffness = np.concatenate([self.stiffness, np.ones(new)])
            metric = self._metric(self.margins(margin))
            done = minimize(
                partial(self.value, margin=self.margins(margin), metric=metric), np.zeros(len(self.z)), jac=True,
                method="L-BFGS-B",
                options={"maxiter": INNER, "maxcor": MEMORY, "ftol": 1e-13, "gtol": 1e-6, "maxfun": 2 * INNER},
            )  # fmt: skip
            self.z = self.z + metric.moves(done.x)
            table, slack, off, off_totals = self.parts()
            if posed.entropy(table) < least:
                return step
            slack = slack - self.margins(margin)
            violated = self._violation(slack, off, off_totals)
            self.of_candidates = np.maximum(0.0, self.of_candidates - self.penalty * self.stiffness * slack)
            self.of_rows = self.of_rows - self.penalty * off
            self.of_rows = np.where(posed.rows.bounded, np.maximum(0.0, self.of_rows), self.of_rows)
            self.of_totals = self.of_totals - self.penalty * off_totals
            new = posed.meet(self.table())
            if not new and (violated < self.settled or (margin and self._allowed())):
                return step
            self.penalty = min(2 * self.penalty, LAST_PENALTY)
            self._level()
            internal = -float(slack.min(initial=0.0))
            if step % PATIENCE == 0:
                if self.spared < internal > STUCK * before and kicks < MOST_KICKS:
                    self._kick(np.flatnonzero(slack < -self.settled))
                    kicks += 1
                before = internal
        return most_steps

    def hop(self, most_steps: int) -> int:
        """Climb from where classes of whole branches were moved, and return after how many rises.

        The end is kept if it has more entropy, or is nearer to an allowed table where the beginning was not settled.
        """
        # The moved branches are those below some of the splits whose constraints have a price: these shape the optimum.
        priced = np.flatnonzero(self.of_candidates > 1e-6).tolist()
        keys = list(self.posed.candidates)
        splits = sorted({int(self.posed.constraints.families.splits[keys[k][0]]) for k in priced})
        if not splits:
            return 0
        before, score = self._state(), self._score()
        drawn = [i for i in splits if self.rng.random() < 0.5] or splits
        logits = self.z.reshape(self.posed.open.shape).copy()
        for i in drawn:
            split = self.posed.constraints.people.splits[i]
            moves = self.rng.normal(0.0, HOP, (int(split.branch.max()) + 1, self.posed.open.shape[1]))
            logits[split.members] += moves[split.branch]
        self.z = np.where(self.posed.open, logits, 0.0).ravel()
        self.penalty = HOP_PENALTY
        steps = self.climb(0.0, most_steps, least=score[1] if score[0] else -np.inf)
        if not self._score() > score:
            self.z, self.of_rows, self.of_totals, self.of_candidates, self.stiffness = before
        return steps

    def _state(self) -> tuple[Array, Array, Array, Array, Array]:
        """Return logits, prices and stiffness; climbs replace them, and change none in place but in a kick."""
        return self.z, self.of_rows, self.of_totals, self.of_candidates.copy(), self.stiffness.copy()

    def _score(self) -> tuple[bool, float]:
        """Return whether the prices are settled, and the entropy; where they are not, less the largest violation."""
        # The entropy of a table that is not allowed says nothing: the further off it is, the larger it can be.
        table, slack, off, off_totals = self.parts()
        violated = self._violation(slack, off, off_totals)
        return violated < self.settled, self.posed.entropy(table) if violated < self.settled else -violated

    def _violation(self, slack: Array, off: Array, off_totals: Array) -> float:
        """Return by how many people a constraint is violated at most."""
        beyond = np.where(self.posed.rows.bounded, np.maximum(-off, 0.0), np.abs(off)).max(initial=0.0)
        totals = np.abs(off_totals).max(initial=0.0)
        return max(-float(slack.min(initial=0.0)), float(beyond), float(totals))

    def margins_beyond(self) -> tuple[float, ...]:
        """Return the margins to climb with: from the first that outweighs what is violated, all if none does."""
        off = -float(self.parts()[1].min(initial=0.0))
        return tuple(margin for margin in MARGINS if margin >= off) or MARGINS

    def _kick(self, stuck: Indices) -> None:
        """Move the classes of each leaf below the splits of some candidates, and double the prices of these."""
        # Where all classes of a leaf are equally likely, the slope of its split's impurity is zero. A high price makes
        # this a saddle, which any move leaves.
        constraints, keys = self.posed.constraints, list(self.posed.candidates)
        splits = {int(constraints.families.splits[keys[k][0]]) for k in stuck}
        below = np.unique(np.concatenate([constraints.people.splits[i].members for i in splits]))
        leaf = self.posed.leaf[below]
        logits = self.z.reshape(self.posed.open.shape)
        moves: Array = self.rng.normal(0.0, KICK, (len(self.posed.rows.bounds), self.posed.open.shape[1]))
        logits[below] += moves[leaf]
        self.of_candidates[stuck] *= 2
        # Off the saddle the constraint must outweigh its own curvature, or the next rise leads back to it.
        self.stiffness[stuck] = np.minimum(STIFFER * self.stiffness[stuck], STIFFEST)

    def _level(self) -> None:
        """Bring logits near each other: from where the softmax is flat no step leads back."""
        logits = np.where(self.posed.open, self.z.reshape(self.posed.open.shape), -np.inf)
        off = self.parts()[2]
        beyond: Array = np.where(self.posed.rows.bounded, np.maximum(-off, 0.0), np.abs(off)).max(axis=1, initial=0.0)
        deepest = np.where(beyond > OFF, SHALLOW, DEEPEST)[self.posed.leaf]
        logits = np.maximum(logits - logits.max(axis=1, keepdims=True, initial=-1e300), deepest[:, None])
        self.z = np.where(self.posed.open, logits, 0.0).ravel()

    def parts(self) -> tuple[Array, Array, Array, Array]:
        """Return the table, slacks of the candidates, and how far rows and totals are off."""
        table = self.table()
        counted = self.posed.branches @ self.posed.constraints.counted(table)
        impurities, _ = impurity_slope(np.asarray(counted), self.posed.constraints.criterion)
        return (
            table,
            np.asarray(self.posed.signs @ impurities),
            self.posed.off(self.posed.by_leaves(table)),
            self.posed.off_totals(table),
        )

    def margins(self, margin: float) -> Array:
        """Return by how much each candidate is kept worse than the split: one that divides its branches cannot be."""
        return margin * np.array(self.posed.loose, dtype=np.float64)

    def _metric(self, margin: Array) -> Curvature:
        """Return the coordinates in which the curvature of the augmented Lagrangian is near 1."""
        posed, table = self.posed, self.table()
        _, slack, off, _ = self.parts()
        stiff = self.penalty * self.stiffness
        paid = np.flatnonzero(self.of_candidates - stiff * (slack - margin) > 0)
        # Of inequalities alone: equalities are exact by their shift, or too many.
        pushed = posed.rows.bounded & (_pushed(self.of_rows, off, self.penalty, posed.rows.bounded) > 0)
        return Curvature.of(posed, table, (paid, stiff[paid]), (np.argwhere(pushed), self.penalty))

    def value(self, moved: Array, margin: Array, metric: Curvature) -> tuple[float, Array]:
        """Return the augmented Lagrangian of the negative entropy, and its gradient in the coordinates of a metric."""
        posed, penalty = self.posed, self.penalty
        z = self.z + metric.moves(moved)
        if posed.engine.limit is not None:
            posed.engine.limit.check()
        shares = posed.shares(z)
        table = posed.sizes[:, None] * shares
        logs = np.log(np.maximum(table / posed.sizes[:, None], 1e-300)) - posed.engine.leaves.offset
        out, slope = float((table * logs).sum()), logs + 1
        counted = posed.constraints.counted(table)
        impurities, slopes = impurity_slope(np.asarray(posed.branches @ counted), posed.constraints.criterion)
        slack = posed.signs @ impurities - margin
        stiff = penalty * self.stiffness
        price = np.maximum(0.0, self.of_candidates - stiff * slack)
        out += float(((price**2 - self.of_candidates**2) / stiff).sum()) / 2
        pull = posed.branches.T @ ((posed.signs.T @ -price)[:, None] * slopes)
        slope[:, : counted.shape[1]] += pull
        off = posed.off(posed.by_leaves(table))
        own, bounded = self.of_rows, posed.rows.bounded
        push = _pushed(own, off, penalty, bounded)
        out += float((push**2 - own**2).sum()) / (2 * penalty)
        slope += np.einsum("lr,lrc->lc", -push, posed.rows.forms)[posed.leaf]
        if posed.totals is not None:
            off = posed.off_totals(table)
            push = self.of_totals - penalty * off
            out += float((push**2 - self.of_totals**2).sum()) / (2 * penalty)
            slope -= np.where(np.isnan(posed.totals), 0.0, push)
        of_cells = slope * shares
        gradient = posed.sizes[:, None] * (of_cells - shares * of_cells.sum(axis=1, keepdims=True))
        if posed.rated is not None:
            gradient = posed.rated.tangent(gradient, shares)
        return out, metric.slope(gradient.ravel())


def _pushed(prices: Array, off: Array, penalty: float, bounded: Bools) -> Array:
    """Return the prices after a rise: of an inequality none is below zero."""
    push = prices - penalty * off
    return np.where(bounded, np.maximum(0.0, push), push)
