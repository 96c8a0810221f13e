"""The constraints written as the paper writes them, person by person, and a general solver on small instances."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.linalg import null_space
from scipy.optimize import minimize

from glassine.models import DecisionTree

Floats = npt.NDArray[np.float64]


def impurity(labels: list[Any], criterion: str) -> float:
    """Return the impurity of one branch, by its definition."""
    n = len(labels)
    shares = [Fraction(k, n) for k in Counter(labels).values()]
    if criterion == "gini":
        return float(1 - sum(p * p for p in shares))
    if criterion == "misclassification":
        return float(1 - max(shares))
    return -math.fsum(float(p) * math.log(p) for p in shares)


def expected(branches: list[Any], labels: list[Any], criterion: str) -> float:
    """Return the expected impurity of a split (equation 2)."""
    groups: dict[Any, list[Any]] = {}
    for branch, label in zip(branches, labels, strict=True):
        groups.setdefault(branch, []).append(label)
    return sum(len(group) / len(labels) * impurity(group, criterion) for group in groups.values())


def score(branches: list[Any], labels: list[Any], criterion: str) -> float:
    """Return what a learner maximises: the gain, or the gain ratio."""
    measure = "entropy" if criterion == "gain_ratio" else criterion
    gain = impurity(labels, measure) - expected(branches, labels, measure)
    return gain / impurity(branches, "entropy") if criterion == "gain_ratio" else gain


def splits(values: list[Any], *, multiway: bool, smallest: int) -> list[list[Any]]:
    """Return every candidate split by one attribute, as the branch of each person."""
    known = sorted(set(values), key=str) if not isinstance(values[0], int | float) else sorted(set(values))
    if isinstance(values[0], int | float):
        found = [[value > cut for value in values] for cut in known[:-1]]
    elif multiway:
        found = [list(values)] if len(known) > 1 else []
    else:
        found = [[value == one for value in values] for one in known] if len(known) > 1 else []
    return [split for split in found if min(Counter(split).values()) >= smallest]


def broken(
    tree: DecisionTree, frame: pl.DataFrame, labels: list[Any], criterion: str, *, multiway: bool, smallest: int = 1
) -> list[tuple[int, str]]:
    """Return the nodes and attributes whose candidates were better than the chosen split."""
    rows = frame.to_dicts()
    out = []

    def visit(index: int, people: list[int]) -> None:
        node = tree.nodes[index]
        if not node.branches or not people:
            return
        way = []
        for i in people:
            values = {name: np.array([rows[i][name]]) for name in frame.columns}
            way.append(next(b.child for b in node.branches if b.literal.holds(values[b.literal.attribute])[0]))
        own = [labels[i] for i in people]
        chosen = score(way, own, criterion)
        for name in tree.attributes:
            for split in splits([rows[i][name] for i in people], multiway=multiway, smallest=smallest):
                if score(split, own, criterion) > chosen + 1e-8:
                    out.append((index, name))
                    break
        for branch in node.branches:
            visit(branch.child, [i for i, child in zip(people, way, strict=True) if child == branch.child])

    visit(0, list(range(len(rows))))
    return out


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Maximum entropy over tables, as functions that a general solver takes."""

    sizes: Floats
    equal: list[tuple[Floats, float]]
    at_least: list[tuple[Floats, float]]
    slack: Callable[[Floats], Floats]

    def maximise(self, start: Floats, seed: int = 0) -> float:
        """Return the largest entropy in nats over all people that the solver finds, from two starts.

        It searches the null space of the equalities; cells that are zero at the start are taken to be so.
        """
        shape, n = start.shape, float(self.sizes.sum())
        free = start.ravel() > 0
        rows = [(np.repeat(np.eye(shape[0])[q][:, None], shape[1], axis=1), float(s)) for q, s in enumerate(self.sizes)]
        rows += self.equal
        equal = np.array([a.ravel()[free] for a, _ in rows])
        right = np.array([b for _, b in rows])
        centre = start.ravel()[free]
        centre = centre + np.linalg.lstsq(equal, right - equal @ centre, rcond=None)[0]
        basis = null_space(equal, rcond=1e-10)
        whole = np.repeat(self.sizes[:, None], shape[1], axis=1).ravel()[free]
        least = np.array([a.ravel()[free] for a, _ in self.at_least]).reshape(-1, int(free.sum())) @ basis
        limits = np.array([b - a.ravel()[free] @ centre for a, b in self.at_least])

        def table(z: Floats) -> Floats:
            out = np.zeros(start.size)
            out[free] = np.maximum(centre + basis @ z, 0)
            return out.reshape(shape)

        def negative(z: Floats) -> tuple[float, Floats]:
            x = np.maximum(centre + basis @ z, 1e-12)
            logs = np.log(x / whole)
            return float(x @ logs) / n, basis.T @ (logs + 1) / n

        constraints = [
            {"type": "ineq", "fun": lambda z: centre + basis @ z, "jac": lambda z: basis},
            {"type": "ineq", "fun": lambda z: self.slack(table(z))},
        ]
        if len(limits):
            constraints.append({"type": "ineq", "fun": lambda z: least @ z - limits, "jac": lambda z: least})
        best = -np.inf
        rng = np.random.default_rng(seed)
        for attempt in range(2):
            first = np.zeros(basis.shape[1]) if attempt == 0 else rng.normal(0, 0.05, basis.shape[1])
            options = {"maxiter": 200, "ftol": 1e-10}
            found = minimize(negative, first, jac=True, method="SLSQP", constraints=constraints, options=options)
            z = found.x
            held = min((least @ z - limits).min(initial=0.0), self.slack(table(z)).min(initial=0.0))
            if held > -1e-5 and (centre + basis @ z).min(initial=0.0) > -1e-6:
                best = max(best, -float(found.fun) * n)
        return best
