"""The thresholds of all trees of an ensemble as splits of all records, by how its learner may have placed them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from glassine.attacks.membership.matching import ThresholdSplit, column_of_numbers, splits_of
from glassine.attacks.membership.outputs import LabelledRecords, as_fitted, asking
from glassine.domain.single import single_sides
from glassine.errors import UnsupportedModelError
from glassine.models import TreeEnsemble
from glassine.records.arrays import Array, Indices

MOST_SPLITS = 50_000
"""Splits at nodes that are searched, those of the first trees: of 500 leaves each, 100 trees, in about 15 seconds."""

Way: TypeAlias = Literal["at a value", "between", "halved"]
WAYS: dict[str, tuple[Way, ...]] = {
    "midpoints": ("between",),
    "values": ("at a value", "halved"),  # XGBoost halves where it sorts values exactly, which no file says
    "unknown": ("at a value", "between", "halved"),
}
"""Where learners place a threshold beside training values: by how an ensemble says that they were placed."""


def readings(
    model: TreeEnsemble, candidates: LabelledRecords, reach: Sequence[Indices] | None = None
) -> Iterator[Iterator[ThresholdSplit]]:
    """Yield the ways in which thresholds may have been placed, each as the splits that it makes of them."""
    if model.placed == "random":
        raise UnsupportedModelError(
            "extremely randomized trees draw their thresholds at random: no midpoints.",
            remedy="Attack its outputs instead: attack_membership.",
        )
    if model.placed in ("at nodes", "unknown"):
        kept = max(1, int(np.searchsorted(np.cumsum(model.leaves), MOST_SPLITS)))
        for whole in searched(model, kept):
            yield splits_of(whole, candidates, reach)
    if model.placed != "at nodes":
        for way in WAYS[model.placed]:
            yield splits_of_union(model, candidates, way=way)


def searched(model: TreeEnsemble, kept: int) -> list[Any]:
    """Return the first trees of an ensemble, as the attack at nodes takes them; none of one that holds none."""
    if model.scoring is not None:
        forest = model.scoring.forest
        return [list(forest.trees[:kept])] if kept < model.n_trees else [forest]
    if model.estimator is None or kept >= model.n_trees:
        return [] if model.estimator is None else [model.estimator]
    whole: Any = getattr(model.estimator, "best_estimator_", model.estimator)
    end = copy.copy(whole.steps[-1][1] if hasattr(whole, "steps") else whole)
    end.estimators_ = end.estimators_[:kept]
    if not hasattr(whole, "steps"):
        return [end]
    pipeline = copy.copy(whole)
    pipeline.steps = [*whole.steps[:-1], (whole.steps[-1][0], end)]
    return [pipeline]


def splits_of_union(model: TreeEnsemble, candidates: LabelledRecords, *, way: Way) -> Iterator[ThresholdSplit]:
    """Yield each threshold of any tree once, with all candidates: learners that bin values place them before a tree."""
    for name, bounds, column in _columns(model, candidates):
        present = np.flatnonzero(~np.isnan(column))
        with np.errstate(over="ignore"):
            single = column.astype(np.float32).astype(np.float64)
        for bound in bounds.tolist():
            # Of values below a bound of single precision, the least that is not below it is the threshold.
            sides = None if way == "between" else single_sides(bound)
            yield ThresholdSplit(
                tree=0,
                sample=0,
                attribute=name,
                threshold=bound if sides is None else sides[1],
                exact=True,
                rows=present,
                values=(column if sides is None else single)[present],
                at_value=way == "at a value",
                halved=way == "halved" and sides is not None,
            )


def _columns(model: TreeEnsemble, candidates: LabelledRecords) -> Iterator[tuple[str, Array, Array]]:
    """Yield each attribute with its thresholds and the candidates' values; behind steps of a pipeline, each column."""
    # What a step makes of two values has another middle than they have: it is searched where the learner saw it.
    whole = getattr(model.estimator, "best_estimator_", model.estimator)
    end: Any = whole.steps[-1][1] if len(getattr(whole, "steps", ())) > 1 else None
    if not hasattr(end, "_predictors"):
        inputs = candidates.columns(model.attributes)
        for name, bounds in model.thresholds.items():
            if name in inputs:
                yield name, bounds, column_of_numbers(inputs[name], name)
        return
    with asking(type(whole).__name__):
        matrix = whole[:-1].transform(as_fitted(whole, candidates.native))
        if getattr(end, "_preprocessor", None) is not None:
            matrix = end._preprocessor.transform(matrix)
    matrix = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=float)
    nodes = np.concatenate([np.asarray(tree.nodes) for each in end._predictors for tree in each])
    nodes = nodes[~(nodes["is_leaf"].astype(bool) | nodes["is_categorical"].astype(bool))]
    for place in np.unique(nodes["feature_idx"]).tolist():
        yield f"column {place}", np.unique(nodes["num_threshold"][nodes["feature_idx"] == place]), matrix[:, place]
