"""Which leaf or rule captures each conforming record."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from glassine.domain.conforming import Columns
from glassine.models import DecisionTree, RuleList

__all__ = ["decision_path", "route"]


def route(model: DecisionTree | RuleList, records: Columns) -> npt.NDArray[np.intp]:
    """Return for each record the index of its cell in the model, shape (n,)."""
    if isinstance(model, RuleList):
        return _first_rule(model, records)
    where = {cell.node: i for i, cell in enumerate(model.cells)}
    out = np.empty(records.n_records, dtype=np.intp)
    for node, rows in _nodes(model, records):
        if node in where:
            out[rows] = where[node]
    return out


def _first_rule(model: RuleList, records: Columns) -> npt.NDArray[np.intp]:
    out = np.full(records.n_records, len(model.rules) - 1, dtype=np.intp)
    free = np.ones(records.n_records, dtype=bool)
    for i, rule in enumerate(model.rules[:-1]):
        captured = free.copy()
        for literal in rule.antecedent:
            captured &= records.holds(literal)
        out[captured] = i
        free &= ~captured
    return out


def _nodes(model: DecisionTree, records: Columns) -> list[tuple[int, npt.NDArray[np.intp]]]:
    """Return each node of a tree with the records that reach it."""
    holds = {literal: records.holds(literal) for literal in model.literals}
    out = []
    stack = [(0, np.arange(records.n_records))]
    while stack:
        index, rows = stack.pop()
        out.append((index, rows))
        branches = model.nodes[index].branches
        for branch in branches:
            # A value that is not declared satisfies neither a literal nor its complement: it takes the last branch.
            taken = np.ones(len(rows), dtype=bool) if branch is branches[-1] else holds[branch.literal][rows]
            stack.append((branch.child, rows[taken]))
            rows = rows[~taken]
    return out


def decision_path(model: DecisionTree | RuleList, records: Columns) -> sparse.csr_matrix:
    """Return which nodes or rules test each record, shape (n, nodes or rules)."""
    if isinstance(model, RuleList):
        captured = _first_rule(model, records)
        tested = np.arange(len(model.rules))[None, :] <= captured[:, None]
        return sparse.csr_matrix(tested.astype(np.int64))
    nodes = _nodes(model, records)
    columns = np.concatenate([np.full(len(rows), index) for index, rows in nodes])
    rows = np.concatenate([rows for _, rows in nodes])
    shape = (records.n_records, len(model.nodes))
    return sparse.csr_matrix((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=shape)
