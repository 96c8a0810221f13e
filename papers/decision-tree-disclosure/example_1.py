"""Figure 5: Example 1, six people and one split, by each reader and by counting worlds; needs no data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
from scipy.optimize import brentq
from study import options, write
from whole_worlds import infer_posterior

from glassine.attacks.disclosure import Adversary, infer_sensitive
from glassine.learners.greedy.impurity import Criterion
from glassine.learners.multiway_tree import MultiwayTreeClassifier

PEOPLE = pl.DataFrame(
    {
        "education": ["phd", "phd", "msc", "phd", "msc", "msc"],
        "age": ["young", "young", "mid", "mid", "old", "old"],
    }
)
SALARY = ["<=50K", "<=50K", "<=50K", ">50K", ">50K", ">50K"]
Q1, Q2, Q3, Q4 = 0, 2, 3, 4
"""A row of each of the paper's quasi-identifiers q1 to q4."""

PRINTED = {
    "S_O, printed": (1.0, 1.0, 0.0, 0.0, None, None, None),
    "S_A, printed": (1.0, 0.5, 0.5, 0.0, 0.231, 0.693, 0.693),
    "S_B, printed": (1.0, 0.815, 0.815, 0.0, 0.068, 0.205, 0.205),
}
COLUMNS = ("q1 <=50K", "q2 <=50K", "q3 <=50K", "q4 <=50K", "D_overall", "D_individual q2", "D_individual q3")


def education_left(a: float, criterion: str) -> float:
    """Return the impurity that a split by education leaves, in people, if q3 earns little with probability a.

    The three with a doctorate are two of q1 and q3, the three with a master's degree are q2 and two of q4.
    """
    out = 0.0
    for low in (2 + a, 1 - a):
        shares = (low / 3, 1 - low / 3)
        if criterion == "gini":
            out += 3 * (1 - sum(p * p for p in shares))
        else:
            out -= 3 * sum(p * math.log(p) for p in shares if p > 0)
    return out


AGE_LEFT = {"gini": 1.0, "entropy": 2 * math.log(2)}
"""The impurity that the split by age leaves, in people: one of two in the middle."""


def largest(criterion: str) -> float:
    """Return the largest probability that q3 earns little with which the split by age is the better one."""
    slack: Callable[[float], float] = lambda a: education_left(a, criterion) - AGE_LEFT[criterion]  # noqa: E731
    return float(brentq(slack, 0.5, 1.0 - 1e-12))


def row(case: str, shares: Sequence[float | None], more: Sequence[float | None]) -> dict[str, object]:
    """Return a row of the figure."""
    return {"case": case} | dict(zip(COLUMNS, (*shares, *more), strict=True))


def of(case: str, probabilities: np.ndarray, distances: np.ndarray) -> dict[str, object]:
    """Return the row of an estimate."""
    shares = [float(probabilities[at, 0]) for at in (Q1, Q2, Q3, Q4)]
    return row(case, shares, [float(distances.mean()), float(distances[Q2]), float(distances[Q3])])


def rows() -> list[dict[str, object]]:
    """Return the printed cases, and the same by each criterion."""
    out = [row(case, values[:4], values[4:]) for case, values in PRINTED.items()]
    criteria: tuple[tuple[str, Criterion], ...] = (("Gini", "gini"), ("information gain", "entropy"))
    for name, criterion in criteria:
        tree = MultiwayTreeClassifier(criterion=criterion, min_samples_split=3).fit(PEOPLE, SALARY)
        alone = infer_sensitive(tree.model_, PEOPLE, adversary=Adversary(internal_nodes=False, criterion=criterion))
        if criterion == "gini":
            out.append(of("leaves alone", alone.probabilities, alone.d_individual(SALARY)))
        found = infer_sensitive(tree.model_, PEOPLE, adversary=Adversary(criterion=criterion))
        out.append(of(f"leaves and internal nodes, {name}", found.probabilities, found.d_individual(SALARY)))
        posterior = infer_posterior(found, method="enumeration")
        out.append(of(f"whole people, {name}", posterior.probabilities, posterior.d_individual(SALARY)))
        end = largest(criterion)
        # The wrong way round: q3 of the truth earns much.
        wrong = np.array([0.0, 0.0, -math.log(1 - end), -math.log(1 - end), 0.0, 0.0])
        out.append(
            row(f"end of the constraint, {name}", [1.0, 1 - end, end, 0.0], [float(wrong.mean()), wrong[2], wrong[3]])
        )
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the figure's numbers."""
    given = options(__doc__, arguments)
    write(given.results / "figure_5.csv", rows())


__all__ = ["COLUMNS", "PEOPLE", "SALARY", "education_left", "largest", "main", "rows"]

if __name__ == "__main__":
    main()
