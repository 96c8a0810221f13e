"""The systems of row reconstruction, solved by OR-Tools' CP-SAT."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.attacks.reconstruction.row_boxes import TimeOutError
from glassine.attacks.reconstruction.row_problem import InconsistentCountsError, Problem, Total
from glassine.attacks.record_matching import Records
from glassine.domain import Binary, Domain
from glassine.formats.sklearn.forest import is_sklearn_forest
from glassine.models.tree import Forest
from glassine.records.arrays import Indices

# Training a forest again on rebuilt rows, with its own seeds: only the training records give the same trees.
#
# scikit-learn keeps each tree's seed and parameters in the fitted forest. The features that a split looks at are
# drawn from that seed, and how many are drawn depends on which are constant among the node's records. A value that no
# split distinguishes, even of an attribute that no tree tests, therefore still decides whether the same trees come out.


Table: TypeAlias = npt.NDArray[np.float32]

COMPARED = ("feature", "threshold", "children_left", "n_node_samples")
MOST_MOVES = 5_000
"""Moves of single rows; each trains the forest again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refitting:
    """A fitted scikit-learn forest over binary attributes that can be trained again."""

    members: list[Any]  # Its trees; list of fitted trees
    forest: Forest  # The same as a value
    domain: Domain  # The public domain

    def improve(self, rows: Records, codes: Indices, deadline: float) -> tuple[Records, bool | None]:
        """Return rows in the same leaves from which more of the forest comes out, and whether all of it does."""
        # Moves are made one at a time while they help: another value of one attribute, or block of tied attributes, in
        # one row or in every row where it changes no leaf. None where there is no time for a single training.
        if not len(codes) or (codes < 0).any() or time.monotonic() > deadline:
            return rows, None
        table = np.column_stack([rows[name] for name in self.forest.attributes]).astype(np.float32)
        score = self._score(table, codes)
        moves = list(self._moves(rows, table))
        improved = True
        while improved and score < len(self.members):
            improved = False
            for at, columns, pattern in moves:
                if time.monotonic() > deadline:
                    break
                trial = table.copy()
                trial[at[:, None], columns] = pattern
                if np.array_equal(trial, table):
                    continue
                reached = self._score(trial, codes)
                if reached > score:
                    table, score, improved = trial, reached, True
                if score >= len(self.members):
                    break
        better = dict(rows)
        for i, name in enumerate(self.forest.attributes):
            better[name] = table[:, i].astype(rows[name].dtype)
        return better, score >= len(self.members)

    def _score(self, table: Table, codes: Indices) -> float:
        """Return the number of trees that come out again, of others the share of nodes before the first difference."""
        target = codes.astype(float)[:, None]
        weights = self.forest.multiplicities or [None] * len(self.members)
        total = 0.0
        for member, times in zip(self.members, weights, strict=True):
            drawn = None if times is None else np.array(times)
            again = type(member)(**member.get_params()).fit(table, target, sample_weight=drawn, check_input=False)
            new, old = again.tree_, member.tree_
            n = min(new.node_count, old.node_count)
            same = np.ones(n, dtype=bool)
            for name in COMPARED:
                same &= np.asarray(getattr(new, name))[:n] == np.asarray(getattr(old, name))[:n]
            if same.all() and new.node_count == old.node_count:
                total += 1
            else:
                total += (n if same.all() else int(np.argmin(same))) / (old.node_count + 1)
        return total

    def _moves(self, rows: Records, table: Table) -> Iterator[tuple[Indices, list[int], tuple[int, ...]]]:
        """Yield the changes that leave rows in the leaves of the trees that drew them: of many at once, then single."""
        blocks = {name: (block, patterns) for block, patterns in self.domain.blocks for name in block}
        leaves = [tree.apply(rows) for tree in self.forest.trees]
        drawn = np.array(self.forest.multiplicities or [[1] * len(table)] * len(leaves))
        single = []
        seen: set[str] = set()
        for name in self.forest.attributes:
            if name in seen:
                continue
            block, patterns = blocks.get(name, ((name,), [(0,), (1,)]))
            seen |= set(block)
            columns = [self.forest.attributes.index(member) for member in block]
            tested = {literal.attribute for literal in self.forest.literals} & set(block)
            for pattern in patterns:
                changed = {**rows, **{m: np.full(len(table), v) for m, v in zip(block, pattern, strict=True)}}
                free = np.ones(len(table), dtype=bool)
                for tree, leaf, times in zip(self.forest.trees, leaves, drawn, strict=True) if tested else ():
                    free &= (tree.apply(changed) == leaf) | (times == 0)
                places = np.flatnonzero(free)
                if len(places):
                    yield places, columns, pattern
                single += [(places[i : i + 1], columns, pattern) for i in range(len(places))]
        yield from single[:MOST_MOVES]


def refitting_of(model: Any, forest: Forest, domain: Domain) -> Refitting | None:
    """Return how to train a model again; None unless it is a plain forest over binary attributes without weights."""
    if not is_sklearn_forest(model) or not hasattr(model, "estimators_") or forest.classes is None:
        return None
    names = forest.attributes
    if set(names) != set(domain) or any(not isinstance(domain[n], Binary) or domain[n].missing for n in names):
        return None
    if forest.bootstrap and forest.multiplicities is None:
        return None
    if model.class_weight is not None or any(
        not isinstance(m.random_state, int | np.integer) for m in model.estimators_
    ):
        return None
    return Refitting(members=list(model.estimators_), forest=forest, domain=domain)


STEPS_PER_BIT = 1000
"""The solver reckons in whole numbers: logarithms are rounded to a thousandth of a bit."""
SINGLE_STEPS = 32
"""Records of an option that are rewarded one by one; beyond, steps widen by an eighth to keep the variables few."""


class MissingSolverError(Exception):
    """OR-Tools is not installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Numbers of records for each option."""

    numbers: Indices  # The chosen dataset
    # For each option the number of records that it has in every dataset that meets the counts; None if not proved.
    certain: Indices | None
    most_likely: bool  # Whether it is proved that no dataset that meets the counts is likelier


def _cp_model() -> Any:
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise MissingSolverError from None
    return cp_model


class _Search:
    """The CP-SAT model of a problem; its first variables are the options' numbers of records."""

    def __init__(self, problem: Problem, *, workers: int, seed: int, deadline: float) -> None:
        self.cp, self.problem = _cp_model(), problem
        self.workers, self.seed, self.deadline = workers, seed, deadline
        self.model = self.cp.CpModel()
        self.variables = [self.model.new_int_var(0, int(top), "") for top in problem.upper]
        self.gaining: list[tuple[Any, Total]] = []
        places = np.array([*self.variables, None], dtype=object)[:-1]
        for total in problem.totals:
            self._check_time()
            picked = places[total.options].tolist()
            if not picked:
                if total.low > 0:
                    raise InconsistentCountsError(
                        "a leaf holds records, but the other trees and the domain allow none."
                    )
                continue
            if total.weights is None:
                total_weight = self.cp.LinearExpr.sum(picked)
            else:
                total_weight = self.cp.LinearExpr.weighted_sum(picked, total.weights.tolist())
            if total.gains:
                count = self.model.new_int_var(total.low, total.high, "")
                self.model.add(total_weight == count)
                self.gaining.append((count, total))
            else:
                self.model.add_linear_constraint(total_weight, total.low, total.high)

    def _check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise TimeOutError

    def run(self, model: object, seconds: float) -> tuple[Indices, bool] | None:
        """Return a solution and whether it is proved the best; None if there is none."""
        if not seconds > 0:
            raise TimeOutError
        solver = self.cp.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.num_workers = self.workers
        solver.parameters.random_seed = self.seed
        status = solver.solve(model)
        if status == self.cp.INFEASIBLE:
            return None
        if status not in (self.cp.OPTIMAL, self.cp.FEASIBLE):
            raise TimeOutError
        numbers = np.array([solver.value(variable) for variable in self.variables], dtype=np.intp)
        return numbers, status == self.cp.OPTIMAL

    def left(self) -> float:
        """Seconds left."""
        return self.deadline - time.monotonic()

    def maximize_likelihood(self) -> None:
        """Make the model look for what is likeliest when all datasets are equally likely beforehand."""
        # Where counts are exact, every dataset that meets them is as likely as another: the likeliest numbers of
        # records are those of most datasets. Of n records in no order, n_b of them in box b, there are n! times the
        # product of size(b)^n_b / n_b!, whose logarithm is concave in each n_b. Numbered records are drawn instead, as
        # far as the counts let them. Where records were drawn unseen, the likelihood of the draws decides.
        gains: list[Any] = []
        weights: list[int] = []
        for count, total in self.gaining:
            self._check_time()
            self._add_steps(count, total.low, list(total.gains), gains, weights)
        if self.problem.ordered:
            # The likeliest place of each record is the largest: all together would be a dataset like no other. With
            # Gumbel noise the best choice of a record is a draw, here kept to those that meet the counts.
            noise = np.random.default_rng(self.seed).gumbel(size=len(self.variables)) / np.log(2)
            gains = list(self.variables)
            weights = np.rint(STEPS_PER_BIT * (self.problem.bits + noise)).astype(int).tolist()
        elif not self.gaining:
            for variable, top, bits in zip(self.variables, self.problem.upper, self.problem.bits, strict=True):
                if top > 1:
                    steps = [float(bits - np.log2(k)) for k in range(1, int(top) + 1)]
                    self._add_steps(variable, 0, steps, gains, weights)
                else:
                    gains.append(variable)
                    weights.append(round(STEPS_PER_BIT * bits))
        self.model.maximize(self.cp.LinearExpr.weighted_sum(gains, weights))

    def _add_steps(self, total: object, low: int, steps: list[float], gains: list[Any], weights: list[int]) -> None:
        """Add a concave gain: unit by unit at first, then in pieces that grow by an eighth."""
        units = []
        start = 0
        while start < len(steps):
            width = min(1 if start < SINGLE_STEPS else start // 8, len(steps) - start)
            units.append(self.model.new_int_var(0, width, ""))
            gains.append(units[-1])
            weights.append(round(STEPS_PER_BIT * sum(steps[start : start + width]) / width))
            start += width
        self.model.add(total == low + self.cp.LinearExpr.sum(units))


class _Certainty:
    """What every solution has: the smallest number of records of each option over all solutions.

    Each round demands a solution that has fewer records than known so far somewhere. When there is none, the numbers
    known are those of every solution.
    """

    def __init__(self, search: _Search) -> None:
        self._search = search
        self._model = search.model.clone()

    def shrink(self, least: Indices, seconds: float) -> Indices | None:
        """Return a solution below ``least`` somewhere, or None if there is none."""
        search, model = self._search, self._model
        below = []
        model.clear_hints()
        for option in np.flatnonzero(least):
            number = model.get_int_var_from_proto_index(int(option))
            fewer = model.new_bool_var("")
            model.add(number < int(least[option])).only_enforce_if(fewer)
            model.add_hint(number, int(least[option]) - 1)
            below.append(fewer)
        model.add_bool_or(below)
        result = search.run(model, seconds)
        return None if result is None else result[0]


def solve(
    problem: Problem, *, workers: int, seed: int, deadline: float, proofs_until: float, progress: Callable[[str], None]
) -> Solution:
    """Return a dataset that meets every count, as likely as can be proved in time."""
    # Once there is one, the search for a likelier one and the proofs end at proofs_until.
    progress("building the constraints")
    search = _Search(problem, workers=workers, seed=seed, deadline=deadline)
    certainty = _Certainty(search)
    if any(total.gains for total in problem.totals):
        # The counts alone hardly bound the rows here: without the likeliest dataset there is nothing to show.
        progress("looking for the most likely dataset")
        search.maximize_likelihood()
        result = search.run(search.model, search.left())
        if result is None:
            raise InconsistentCountsError("no dataset of the domain meets all counts.")
        if not result[1]:
            raise TimeOutError
        search.deadline = proofs_until
        return Solution(numbers=result[0], certain=_prove(certainty, search, result[0], progress), most_likely=True)
    progress("looking for a dataset")
    result = search.run(search.model, search.left())
    if result is None:
        raise InconsistentCountsError("no dataset of the domain meets all counts.")
    first = result[0]
    search.deadline = proofs_until
    progress("looking for another one")
    try:
        other = certainty.shrink(first, search.left())
    except TimeOutError:
        return Solution(numbers=first, certain=None, most_likely=False)
    if other is None:
        return Solution(numbers=first, certain=first, most_likely=True)
    progress("looking for the most likely dataset")
    chosen, best = first, False
    try:
        search.maximize_likelihood()
        for variable, number in zip(search.variables, first.tolist(), strict=True):
            search.model.add_hint(variable, number)
        result = search.run(search.model, search.left() / 2)
        chosen, best = result or (first, False)
        best &= not problem.ordered
    except TimeOutError:
        pass
    least = np.minimum(np.minimum(first, other), chosen)
    return Solution(numbers=chosen, certain=_prove(certainty, search, least, progress), most_likely=best)


def _prove(certainty: _Certainty, search: _Search, least: Indices, progress: Callable[[str], None]) -> Indices | None:
    """Return the numbers of records that every solution has, or None if the time does not suffice."""
    while least.any():
        progress(f"proving records certain: at most {int(least.sum())}")
        try:
            other = certainty.shrink(least, search.left())
        except TimeOutError:
            return None
        if other is None:
            return least
        least = np.minimum(least, other)
    return least
