"""Fitted scikit-learn forests, alone or at the end of a pipeline."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain import Domain
from glassine.errors import UnsupportedModelError
from glassine.formats.builder import place_of, source_of
from glassine.formats.conditions import not_fitted
from glassine.formats.format import BY_LINE, of_object
from glassine.formats.sklearn.ensembles import ensemble_from_sklearn, is_sklearn_ensemble
from glassine.formats.sklearn.pipelines import end_of, sklearn_names
from glassine.formats.sklearn.tree import best_of, is_sklearn_tree, tree_from_sklearn
from glassine.models.evidence import Evidence
from glassine.models.transform import rewritten
from glassine.models.tree import DecisionTree, Forest, Table

FORESTS = ("ForestClassifier", "ForestRegressor")
TOLERANCE = 1e-6
AGREED_BY_CHANCE = 1e-4
"""Largest chance that random seeds would give the same numbers of different records in every tree."""


def is_sklearn_forest(obj: object) -> bool:
    """Return whether an object is a scikit-learn forest, or a pipeline or search that ends with one."""
    return not set(FORESTS).isdisjoint(sklearn_names(end_of(obj)))


def _member(estimator: Any, forest: Any, member: Any) -> Any:
    """Return one tree of a forest as if it had been fitted alone, with the forest's names, classes and weights."""
    alone = copy.copy(member)
    names = getattr(forest, "feature_names_in_", None)
    if names is not None:
        alone.feature_names_in_ = names
    if "ForestClassifier" in sklearn_names(forest):
        alone.classes_ = forest.classes_
        alone.class_weight = forest.class_weight
    if estimator is forest:
        return alone
    pipeline = copy.copy(estimator)
    pipeline.steps = [*estimator.steps[:-1], (estimator.steps[-1][0], alone)]
    return pipeline


def _draws(member: Any, tree: DecisionTree) -> Table | None:
    """Return how many draws of each class each leaf captured; None where weights hide it."""
    nodes = [cell.node for cell in tree.cells]
    weights = np.asarray(member.tree_.weighted_n_node_samples, dtype=float)[nodes, None]
    masses: npt.NDArray[np.float64] = weights
    if tree.classes is not None:
        values = np.asarray(member.tree_.value, dtype=float)[nodes, 0, :]
        masses = values / values.sum(axis=1, keepdims=True) * weights
    whole = np.round(masses)
    if not np.all(np.abs(masses - whole) <= TOLERANCE * np.maximum(1, masses)):
        return None
    table = tuple(tuple(int(v) for v in row) for row in whole)
    for cell, row in zip(tree.cells, table, strict=True):
        size = cell.evidence.size
        if size is not None and not sum(1 for v in row if v) <= size <= sum(row):
            return None
    return table


def _of_draws(tree: DecisionTree, member: Any) -> DecisionTree:
    """Return a tree of drawn records with its number of different records."""
    sizes = np.asarray(member.tree_.n_node_samples)

    def drawn(place: int, own: Evidence) -> Evidence:
        weighted = tree.classes is not None
        return Evidence(total=int(sizes[place]), label=own.prediction, value=own.value, weighted=weighted)

    return rewritten(tree, evidence=drawn)


def _multiplicities(
    forest: Any, n_records: int | None, trees: Sequence[DecisionTree], drawn: Sequence[Table]
) -> Table | None:
    """Return how often each tree drew each record, if the trees' seeds give the numbers of records that they hold."""
    # Seeds that have nothing to do with the draws, of a forest that was changed after it was fitted, agree with a tree
    # by chance as often as random draws hold so many different records. All trees together must make that unlikely.
    if n_records is None:
        return None
    out, doubt = [], 0.0
    for member, tree, table in zip(forest.estimators_, trees, drawn, strict=True):
        seed = getattr(member, "random_state", None)
        draws = int(np.sum(table))
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            return None
        rows = np.random.RandomState(int(seed)).randint(0, n_records, draws)
        times = np.bincount(rows, minlength=n_records)
        if int((times > 0).sum()) != tree.n_records:
            return None
        doubt += _log_chance(n_records, draws, int((times > 0).sum()))
        out.append(tuple(int(v) for v in times))
    return tuple(out) if doubt <= math.log(AGREED_BY_CHANCE) else None


@lru_cache(maxsize=256)
def _log_chance(n: int, draws: int, different: int) -> float:
    """Return the log of the chance that so many draws, with replacement, of n records hold so many different ones."""
    if n * draws > 4_000_000:
        # The normal law with the moments of the occupancy problem.
        once, twice = (1 - 1 / n) ** draws, (1 - 2 / n) ** draws
        variance = max(n * once + n * (n - 1) * twice - n * n * once * once, 1.0)
        return min(0.0, -math.log(2 * math.pi * variance) / 2 - (different - n + n * once) ** 2 / (2 * variance))
    chance = np.zeros(n + 1)
    chance[0] = 1.0
    again = np.arange(n + 1) / n
    for _ in range(draws):
        chance[1:] = chance[1:] * again[1:] + chance[:-1] * (1 - again[:-1])
        chance[0] = 0.0
    return math.log(chance[different]) if chance[different] > 0 else -math.inf


def _are_draws(forest: object, tables: Sequence[Table]) -> bool:
    """Return whether the trees' weights add up to the number of draws, so that they can be numbers of draws."""
    # With sample_weight they are sums of weights, which whole weights make whole.
    totals = {int(np.sum(table)) for table in tables}
    asked = getattr(forest, "_n_samples_bootstrap", None)
    if not isinstance(asked, int | np.integer):
        asked = _n_records(forest, tables) if getattr(forest, "max_samples", None) is None else None
    return len(totals) == 1 and (asked is None or totals == {int(asked)})


def _n_records(forest: object, drawn: Sequence[Table]) -> int | None:
    """Return the number of records from which a forest drew."""
    n_samples = getattr(forest, "_n_samples", None)
    if isinstance(n_samples, int | np.integer):
        return int(n_samples)
    return int(np.sum(drawn[0])) if getattr(forest, "max_samples", None) is None else None


def forest_from_sklearn(estimator: Any, domain: Domain | None = None, *, use_seeds: bool = True) -> Forest:
    """Return a fitted scikit-learn forest, alone or at the end of a pipeline or search, as a plain value.

    With bootstrap, its trees reveal the number of different records of each leaf, and ``drawn`` the draws. Every fitted
    forest holds the seeds of its bootstrap, which reveal how often each tree drew each training record. With
    ``use_seeds`` they are used if they give, for every tree, the number of records that it holds, and if random seeds
    would do so in every tree with a chance of at most one in 10,000.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> forest = forest_from_sklearn(ExtraTreesClassifier(2, random_state=0).fit([[1], [2], [5]], [0, 0, 1]))
    >>> [tree.n_records for tree in forest.trees]
    [3, 3]
    """
    if not is_sklearn_forest(estimator):
        raise UnsupportedModelError(
            f"a random forest or a pipeline that ends with one is expected, got {type(estimator).__name__}."
        )
    if "BaseSearchCV" in sklearn_names(estimator):
        return forest_from_sklearn(best_of(estimator), domain, use_seeds=use_seeds)
    forest = estimator.steps[-1][1] if "Pipeline" in sklearn_names(estimator) else estimator
    members = getattr(forest, "estimators_", None)
    if not members:
        raise not_fitted(forest, "trees")
    if int(getattr(forest, "n_outputs_", 1)) != 1:
        raise UnsupportedModelError(
            f"the forest predicts {forest.n_outputs_} outputs at once; one is supported.",
            remedy="Fit one forest an output.",
        )
    trees = tuple(tree_from_sklearn(_member(estimator, forest, member), domain) for member in members)
    source = f"scikit-learn {type(forest).__name__}"
    if not forest.bootstrap:
        return Forest(trees=trees, source=source)
    trees = tuple(_of_draws(tree, member) for tree, member in zip(trees, members, strict=True))
    tables = [_draws(member, tree) for tree, member in zip(trees, members, strict=True)]
    drawn = tuple(table for table in tables if table is not None)
    if len(drawn) < len(trees) or not _are_draws(forest, drawn):
        return Forest(trees=trees, bootstrap=True, source=source)
    n = _n_records(forest, drawn)
    times = _multiplicities(forest, n, trees, drawn) if use_seeds else None
    return Forest(trees=trees, bootstrap=True, n_records=n, drawn=drawn, multiplicities=times, source=source)


def _one_of(estimator: object, domain: Domain | None, tree: int | None) -> DecisionTree:
    """Return one tree of a forest; without a place the reader of single trees says what it takes."""
    if tree is None:
        return tree_from_sklearn(estimator, domain)
    members = forest_from_sklearn(estimator, domain).trees
    place = place_of(len(members), tree, "the forest")
    return dataclasses.replace(members[place], source=source_of(members[place].source, place, len(members)))


FORMATS = (
    of_object(
        name="scikit-learn tree",
        again="skops.io.dump(model, 'model.skops')",
        reads="scikit-learn decision tree, or a pipeline or search that ends with one, also in a skops file or pickle",
        reveals="conditions, and class counts where weights do not hide them",
        leaves_out="class counts that sample weights hide",
        extensions=(".skops", ".pkl", ".joblib"),
        sniff=is_sklearn_tree,
        read=tree_from_sklearn,
    ),
    of_object(
        name="scikit-learn forest",
        again="skops.io.dump(model, 'model.skops')",
        sniff=is_sklearn_forest,
        # Its members are trees of scikit-learn, whose reader refuses a forest.
        rank=BY_LINE - 1,
        read=_one_of,
        read_all=forest_from_sklearn,
        read_ensemble=ensemble_from_sklearn,
    ),
    of_object(
        name="scikit-learn boosting",
        again="skops.io.dump(model, 'model.skops')",
        sniff=lambda obj: is_sklearn_ensemble(obj) and not is_sklearn_forest(obj),
        rank=BY_LINE - 1,
        read=tree_from_sklearn,
        read_ensemble=ensemble_from_sklearn,
    ),
)
