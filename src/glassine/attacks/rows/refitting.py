"""Training a forest again on rebuilt rows, with its own seeds: only the training records give the same trees.

scikit-learn keeps each tree's seed and parameters in the fitted forest. The features that a split looks at are drawn
from that seed, and how many are drawn depends on which are constant among the node's records. A value that no split
tells apart, even of an attribute that no tree tests, therefore still decides whether the same trees come out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.attacks.alignment import Records
from glassine.domain import Binary, Domain
from glassine.models.forest import Forest
from glassine.models.formats.scikit_forest import is_sklearn_forest

__all__ = ["Refitting", "refitting_of"]

Table: TypeAlias = npt.NDArray[np.float32]

COMPARED = ("feature", "threshold", "children_left", "n_node_samples")
MOST_MOVES = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Refitting:
    """A fitted scikit-learn forest over binary attributes that can be trained again.

    Attributes
    ----------
    members : list of fitted trees
        Its trees.
    forest : Forest
        The same as a value.
    domain : Domain
        The public domain.
    """

    members: list[Any]
    forest: Forest
    domain: Domain

    def improve(self, rows: Records, codes: npt.NDArray[np.intp], deadline: float) -> tuple[Records, bool | None]:
        """Return rows in the same leaves from which more of the forest comes out, and whether all of it does.

        Moves are made one at a time while they help: another value of one attribute, or block of tied attributes, in
        one row or in all rows where it changes no leaf. None where there is no time for a single training.
        """
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

    def _score(self, table: Table, codes: npt.NDArray[np.intp]) -> float:
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

    def _moves(self, rows: Records, table: Table) -> Iterator[tuple[npt.NDArray[np.intp], list[int], tuple[int, ...]]]:
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
