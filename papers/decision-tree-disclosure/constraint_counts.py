"""Internal constraints of trees of the published sizes, by pre-pruning rule and by what counts as a candidate.

The paper prints 518 leaves and 1,097 internal constraints for Gini, 2,983 and 3,307 for information gain, and says
neither how the trees were pruned nor which candidates were counted. ``constraint_counts.csv`` has a row for each
rule and depth limit, at the threshold whose number of leaves is nearest to the printed one, and a column for each way
of counting:

- *dividing*: attributes that no node above tests and that divide the people of the node, other than the chosen one;
- *binding*: the same, at nodes of which a branch is split again; the estimate by class counts keeps the others;
- *unused*: attributes that no node above tests, whether or not they divide its people;
- *with the chosen one*: the same, the chosen split counted too;
- *all others*: seven at each node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from settings import PUBLISHED, QUASI, Criterion, Facts, Grown, binary, codes, grown, records
from study import options, resume

from glassine.data.record_table import columns
from glassine.models import DecisionTree

DEPTHS = (8, 6, 5, 4, 3)
"""Largest number of splits on a path; there are eight attributes."""

RULES: dict[str, Callable[[Facts], float]] = {
    "records of the node": lambda facts: float(facts.size),
    "errors of the node": lambda facts: float(facts.errors),
    "share of other classes": lambda facts: 1 - facts.share,
    "records of the second largest branch": lambda facts: float(facts.second),
    "gain per record of the node": lambda facts: facts.gain,
    "gain in relation to the node's impurity": lambda facts: facts.relative,
    "gain per record of all": lambda facts: facts.weighted,
}
BINARY = "CART on dummies, best first"
READINGS = ("dividing", "binding", "unused", "unused with the chosen one", "dividing with the chosen one", "all others")

Codes = dict[str, npt.NDArray[Any]]


def threshold(whole: Grown, value: Callable[[Facts], float], deepest: int, leaves: int) -> float:
    """Return the least value of a rule at which a tree is split, so that its leaves are nearest to a number."""
    branches = {index: [branch.child for branch in whole.tree.nodes[index].branches] for index in whole.facts}
    held = {index: bool(counts.any()) for index, counts in whole.counts.items()}

    def size(least: float) -> int:
        n, stack = 0, [0]
        while stack:
            index = stack.pop()
            facts = whole.facts.get(index)
            if facts is not None and facts.depth < deepest and value(facts) >= least:
                stack += branches[index]
            else:
                n += held[index]
        return n

    values = np.unique([value(facts) for facts in whole.facts.values()])
    low, high = 0, len(values) - 1
    while low < high:
        # Fewer leaves the larger the threshold.
        middle = (low + high) // 2
        if size(float(values[middle])) > leaves:
            low = middle + 1
        else:
            high = middle
    near = values[max(0, low - 1) : low + 1].tolist()
    return min(near, key=lambda least: abs(size(least) - leaves))


def count(tree: DecisionTree, values: Codes) -> dict[str, int]:
    """Return the internal constraints of a tree by each way of counting, and its nodes and leaves that hold people."""
    out = dict.fromkeys(("leaves", "internal nodes", *READINGS), 0)
    rows = dict(columns(records()[0]))
    stack: list[tuple[int, npt.NDArray[np.intp], frozenset[str]]] = [(0, np.arange(len(rows[QUASI[0]])), frozenset())]
    while stack:
        index, members, above = stack.pop()
        branches = tree.nodes[index].branches
        if not branches or not len(members):
            out["leaves"] += bool(len(members))
            continue
        chosen = branches[0].literal.attribute
        unused = [name for name in QUASI if name not in above and name != chosen]
        dividing = [name for name in unused if np.ptp(values[name][members]) > 0]
        deeper = any(tree.nodes[branch.child].branches for branch in branches)
        found = (
            len(dividing), len(dividing) * deeper, len(unused), len(unused) + 1, len(dividing) + 1, len(QUASI) - 1
        )  # fmt: skip
        out["internal nodes"] += 1
        for name, number in zip(READINGS, found, strict=True):
            out[name] += number
        for branch in branches:
            holds = branch.literal.holds(rows[branch.literal.attribute][members])
            stack.append((branch.child, members[holds], above | {chosen}))
    return out


def measure(criterion: Criterion, rule: str, deepest: str) -> dict[str, object]:
    """Return the counts of the tree that one rule gives, and the published ones."""
    leaves, _, internal = PUBLISHED[criterion]
    least: float | None = None
    if rule == BINARY:
        tree = binary(criterion, leaves)
    else:
        value, limit = RULES[rule], int(deepest or len(QUASI))
        least = threshold(grown(criterion), value, limit, leaves)
        tree = grown(criterion).cut(lambda facts: facts.depth < limit and value(facts) >= least)
    return {"threshold": least, **count(tree, codes()), "published leaves": leaves, "published internal": internal}


def main(arguments: Sequence[str] | None = None) -> None:
    """Count."""
    given = options(__doc__, arguments)
    criteria: tuple[Criterion, ...] = ("gini", "entropy")
    keys = [
        {"criterion": criterion, "rule": rule, "depth": "" if depth == len(QUASI) else str(depth)}
        for criterion in criteria
        for rule in (*RULES, BINARY)
        for depth in (DEPTHS if rule != BINARY else (len(QUASI),))
    ]
    if given.quick:
        keys = [key for key in keys if key["rule"] == "records of the node" and not key["depth"]]
    resume(
        given.results / "constraint_counts.csv",
        keys,
        lambda key: measure("gini" if key["criterion"] == "gini" else "entropy", key["rule"], key["depth"]),
    )


__all__ = ["BINARY", "DEPTHS", "READINGS", "RULES", "count", "main", "measure", "threshold"]

if __name__ == "__main__":
    main()
