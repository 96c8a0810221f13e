"""Whether rows meet the counts that a model publishes, found by sending the rows through it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.alignment import Records
from glassine.models import DecisionTree, RuleList
from glassine.models.forest import Forest

__all__ = ["forest_is_met", "model_is_met"]

Codes = npt.NDArray[np.intp]


def _tables(model: DecisionTree | RuleList, rows: Records, classes: Codes, width: int) -> npt.NDArray[np.intp]:
    """Return the number of rows of each cell and class."""
    out = np.zeros((len(model.cells), width), dtype=np.intp)
    np.add.at(out, (model.apply(rows), classes), 1)
    return out


def model_is_met(model: DecisionTree | RuleList, rows: Records, classes: Codes | None) -> bool:
    """Return whether rows have the published size, and class counts where classes are given, of every cell."""
    n = len(next(iter(rows.values())))
    width = 1 if classes is None or model.classes is None else len(model.classes)
    table = _tables(model, rows, np.zeros(n, dtype=np.intp) if classes is None else classes, width)
    published: list[Any] = [[cell.evidence.size] if classes is None else cell.evidence.counts for cell in model.cells]
    return all(entry is not None and list(entry) == row for entry, row in zip(published, table.tolist(), strict=True))


def forest_is_met(forest: Forest, rows: Records, classes: Codes | None) -> bool:
    """Return whether rows meet every count of a forest.

    Without bootstrap the counts must be equal. With it, the draws must be those of the rows where it is known how often
    each was drawn; elsewhere there must be as many rows of a class as the draws hold different ones at least.
    """
    if not forest.bootstrap:
        return all(model_is_met(tree, rows, classes) for tree in forest.trees)
    n = len(next(iter(rows.values())))
    codes = np.zeros(n, dtype=np.intp) if classes is None else classes
    for i, (tree, drawn) in enumerate(zip(forest.trees, forest.drawn or (), strict=True)):
        table = np.array(drawn, dtype=np.intp)
        sizes = np.array([cell.evidence.size for cell in tree.cells], dtype=np.intp)
        if forest.multiplicities is None:
            held = _tables(tree, rows, codes, table.shape[1])
            if (held < (table > 0)).any() or (np.minimum(held, table).sum(axis=1) < sizes).any():
                return False
            continue
        times = np.array(forest.multiplicities[i], dtype=np.intp)
        bag = np.flatnonzero(times)
        cells = tree.apply({name: column[bag] for name, column in rows.items()})
        held = np.zeros_like(table)
        np.add.at(held, (cells, codes[bag]), times[bag])
        if not np.array_equal(held, table) or not np.array_equal(np.bincount(cells, minlength=len(sizes)), sizes):
            return False
    return True
