"""Every model of the grid: size, accuracy, and what its reader learns: ``grid.csv``; without a split: ``roots.csv``.

Rows of DL8.5 are the published ones, of COMPAS alone. Optimal trees of more than eight splits on a path take up to a
minute each and are searched for one seed; the most telling ones are searched for up to six splits on a path.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from fits import DL85, LEARNERS, TELLING_TREE, TREE, Fitted, figures, fit, written
from settings import DATA_SETS, DEPTHS, SEEDS, SUPPORTS, published, split
from study import REFERENCE, Row, options, resume, text, write

from glassine import reconstruct
from glassine.domain import OneOf
from glassine.models import Branch, DecisionTree, Evidence, Node

DEEP = 8
DEEP_SEEDS = SEEDS[:1]
TELLING_DEPTH = 6

EMPTY = dict.fromkeys(("size", "train", "test", "dist_g", "dist_g aware", "known"), "")


def tree_of(depths: Sequence[int], supports: Sequence[int], names: Sequence[str]) -> DecisionTree:
    """Return a tree by the depths and supports of its leaves, depth first; what it tests is not told by them."""
    nodes: list[Node] = []
    leaves = list(zip(depths, supports, strict=True))

    def grow(depth: int) -> int:
        here = len(nodes)
        nodes.append(Node())
        if leaves[0][0] == depth:
            nodes[here] = Node(evidence=Evidence(total=leaves.pop(0)[1]))
            return here
        branches = tuple(Branch(OneOf(names[depth], (1,), negated=no), grow(depth + 1)) for no in (True, False))
        nodes[here] = Node(branches=branches)
        return here

    grow(0)
    return DecisionTree(tuple(nodes), tuple(names), (0, 1))


@cache
def _dl85() -> dict[tuple[str, str, str], Row]:
    return published(REFERENCE, "DL8.5")


def published_figures(key: Row) -> Row:
    """Return the figures of a published tree; Dist_G is computed anew, what it tests is not known."""
    row = _dl85().get((key["seed"], key["support"], key["depth"]))
    if row is None:
        return {"status": "not here", "seconds": ""} | EMPTY
    domain = split("compas", "0").domain
    bits = ast.literal_eval(row["sorted_leaves_single_example_entropy_list"])
    supports = [int(size) for size in ast.literal_eval(row["leaves_support"])]
    depths = [len(domain) - round(leaf) for leaf in bits]
    known: dict[int, int] = {}
    for depth, size in zip(depths, supports, strict=True):
        known[depth] = known.get(depth, 0) + size
    found = {
        "size": int(row["n_elementary_tokens"]),
        "train": float(row["train_acc"]),
        "test": float(row["test_acc"]),
        "dist_g": reconstruct(tree_of(depths, supports, domain.names), domain).dist_g(),
        "dist_g aware": "",
        "known": written(dict(sorted(known.items()))),
    }
    return {"status": "optimal", "seconds": text(float(row["duration"]))} | {
        name: text(value) for name, value in shortened(key, found).items()
    }


def measured(key: Row) -> Row:
    """Return the row of a model."""
    if key["learner"] == DL85:
        return key | published_figures(key)
    made: Fitted = fit(key["learner"], key["data"], key["seed"], key["support"], key["depth"])
    row = {"status": made.status, "seconds": f"{made.seconds:.2f}"}
    found = EMPTY if made.model is None else figures(made.model, split(key["data"], key["seed"]))
    return key | row | {name: text(value) for name, value in shortened(key, dict(found)).items()}


def shortened(key: Row, found: dict[str, Any]) -> dict[str, Any]:
    """Return figures with the curve of exposure for the largest models alone, which the plots show."""
    large = key["support"] == SUPPORTS[0] and int(key["depth"]) >= 6
    return found if large else found | {"known": ""}


def wanted(data: str, learner: str, seed: str, depth: str) -> bool:
    """Whether a model is part of the study."""
    if learner == DL85:
        return data == "compas"
    if learner == TELLING_TREE:
        return int(depth) <= TELLING_DEPTH
    return learner != TREE or int(depth) <= DEEP or seed in DEEP_SEEDS


def keys(quick: bool) -> list[list[Row]]:
    """Return what names each row, in groups that are measured at once; those that take longest come last."""
    seeds, supports = (SEEDS[:1], SUPPORTS[:1]) if quick else (SEEDS, SUPPORTS)
    groups, last = [], []
    for data in DATA_SETS:
        for learner in LEARNERS:
            for seed in seeds:
                for support in supports:
                    depths = DEPTHS[:3] if quick and learner in (TREE, TELLING_TREE) else DEPTHS
                    group = [
                        {"data": data, "learner": learner, "seed": seed, "support": support, "depth": depth}
                        for depth in depths
                        if wanted(data, learner, seed, depth)
                    ]
                    deep = [key for key in group if learner == TREE and int(key["depth"]) > DEEP]
                    groups.append([key for key in group if key not in deep])
                    last += [[key] for key in deep]
    last.sort(key=lambda group: (int(group[0]["depth"]), -float(group[0]["support"])))
    return [group for group in [*groups, *last] if group]


def trivial() -> list[Row]:
    """Return the accuracies of the model without a split."""
    rows = []
    for data in DATA_SETS:
        for seed in SEEDS:
            found = split(data, seed)
            label = int(2 * found.y.sum() > len(found.y))
            shares = {"train": float((found.y == label).mean()), "test": float((found.y_out == label).mean())}
            rows.append({"data": data, "seed": seed} | {name: text(value) for name, value in shares.items()})
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the models that are not in the results yet."""
    given = options(__doc__, arguments)
    write(given.results / "roots.csv", trivial())
    resume(given.results / "grid.csv", keys(given.quick), lambda wanted: [measured(key) for key in wanted])


__all__ = [
    "DEEP",
    "DEEP_SEEDS",
    "keys",
    "main",
    "measured",
    "published_figures",
    "shortened",
    "tree_of",
    "trivial",
    "wanted",
]

if __name__ == "__main__":
    main(sys.argv[1:])
