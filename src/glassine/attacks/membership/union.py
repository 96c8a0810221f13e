"""The thresholds of all trees of an ensemble as splits of all records, by how its learner may have placed them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from glassine.attacks.membership.matching import ThresholdSplit, column_of_numbers, splits_of
from glassine.attacks.membership.outputs import LabelledRecords
from glassine.domain.single import single_sides
from glassine.errors import UnsupportedModelError
from glassine.models import TreeEnsemble
from glassine.records.arrays import Indices


def readings(
    model: object, candidates: LabelledRecords, reach: Sequence[Indices] | None = None
) -> Iterator[Iterator[ThresholdSplit]]:
    """Yield the ways in which thresholds may have been placed, each as the splits that it makes of them."""
    if not isinstance(model, TreeEnsemble):
        yield splits_of(model, candidates, reach)
        return
    if model.placed == "random":
        raise UnsupportedModelError(
            "extremely randomized trees draw their thresholds at random: no midpoints.",
            remedy="Attack its outputs instead: attack_membership.",
        )
    if model.placed in ("at nodes", "unknown"):
        whole = model.estimator if model.scoring is None else model.scoring.forest
        if whole is not None:
            yield splits_of(whole, candidates, reach)
    if model.placed != "at nodes":
        # Versions of XGBoost that sort values exactly place thresholds between two.
        for at_value in {"midpoints": (False,)}.get(model.placed, (True, False)):
            yield splits_of_union(model, candidates, at_value=at_value)


def splits_of_union(model: TreeEnsemble, candidates: LabelledRecords, *, at_value: bool) -> Iterator[ThresholdSplit]:
    """Yield each threshold of any tree once, with all candidates: learners that bin values place them before a tree."""
    given = candidates.columns(model.attributes)
    for name, bounds in model.thresholds.items():
        if name not in given:
            continue
        column = column_of_numbers(given[name], name)
        present = np.flatnonzero(~np.isnan(column))
        with np.errstate(over="ignore"):
            single = column.astype(np.float32).astype(np.float64)
        for bound in bounds.tolist():
            # Of values below a bound of single precision, the least that is not below it is the value.
            sides = single_sides(bound) if at_value else None
            yield ThresholdSplit(
                tree=0,
                sample=0,
                attribute=name,
                threshold=bound if sides is None else sides[1],
                exact=True,
                rows=present,
                values=(column if sides is None else single)[present],
                at_value=at_value,
            )
