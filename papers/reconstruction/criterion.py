"""What the learning algorithm reveals beyond the tree, in Dist_G: ``criterion.csv``.

An attacker who knows that each split was CART's best, or that no tree of this depth makes fewer errors, can rule out
every dataset on which that would not be so. Of all possible datasets the share p is left, and the joint entropy falls
by log2(1/p) bits: a generalized probabilistic dataset (Definition 3), whose records depend on each other.

Datasets are drawn uniformly from those with the tree's class counts. For the proof of optimality, p is the share of
them on which the search finds no tree of fewer errors. For the criterion it is a product over the splits: that of a
split is the share of the datasets below it, drawn given that the splits below are the best of their nodes, on which it
is the best of its own. That leaves are not split further is not used.
"""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
import tree_search
from fits import CART, TREE, fit
from scipy.stats import beta
from settings import DATA_SETS, Ints, split
from study import FOLDER, Row, one, options, resume, text

from glassine import Domain, reconstruct
from glassine.attacks.reconstruction.entropy import ProbabilisticDataset
from glassine.models import DecisionTree
from papers.common.judging import LEVEL
from papers.common.tables import markdown, place

PAGE = FOLDER.parents[1] / "docs" / "papers" / "beyond-one-tree.md"
SUPPORT = "0.01"
SEED = "0"
"""One split: the intervals are over drawn datasets."""

SIZES = ("1", "2", "3", "4")
READINGS = ("independent", "aware")
DRAWS = 100
MOST_TRIES = 3_000
"""Datasets that are drawn below one split at most."""

Drawn = tuple[Ints, Ints]
"""Attributes and labels of some records."""


class TooRareError(ValueError):
    """A split is hardly ever the best of its node."""


def is_best(X: Ints, y: Ints, attribute: int, least: int) -> bool:
    """Return whether no split with enough records on both sides has a lower weighted Gini impurity."""
    size, ones = X.sum(axis=0), y @ X
    impurity = np.zeros(X.shape[1])
    for total, positive in ((size, ones), (len(y) - size, y.sum() - ones)):
        impurity += positive * (total - positive) / np.maximum(total, 1)
    impurity[(size < least) | (len(y) - size < least)] = np.inf
    return bool(impurity[attribute] <= impurity.min() + 1e-9)


class Possible:
    """Datasets with a tree's class counts, drawn so that each of its splits is the best of its node.

    Attributes
    ----------
    tries, hits : dict of int to int
        By node: how many datasets were drawn given the splits below, and on how many its own is the best.
    """

    def __init__(self, known: ProbabilisticDataset, tree: DecisionTree, least: int, rng: np.random.Generator) -> None:
        self._known, self._tree, self._least, self._rng = known, tree, least, rng
        self._names = list(known.domain.names)
        self._pools: dict[int, deque[Ints]] = {cell.node: deque() for cell in tree.cells}
        self.tries: dict[int, int] = {}
        self.hits: dict[int, int] = {}

    def _leaf(self, node: int) -> Drawn:
        """Return records of a leaf; those of the others that are drawn with them are kept."""
        if not self._pools[node]:
            drawn = self._known.sample(random_state=self._rng)
            X = np.stack([drawn[name] for name in self._names], axis=1).astype(np.int64)
            ends = np.cumsum(self._known.supports)[:-1]
            for cell, part in zip(self._tree.cells, np.split(X, ends), strict=True):
                self._pools[cell.node].append(part)
        counts = self._tree.nodes[node].evidence.counts
        return self._pools[node].popleft(), np.repeat([0, 1], counts)

    def draw(self, node: int = 0) -> Drawn:
        """Return records of a node, given that its split and all splits below are the best of their nodes."""
        branches = self._tree.nodes[node].branches
        if not branches:
            return self._leaf(node)
        attribute = self._names.index(branches[0].literal.attribute)
        while self.tries.get(node, 0) < MOST_TRIES:
            sides = [self.draw(branch.child) for branch in branches]
            X, y = (np.concatenate(parts) for parts in zip(*sides, strict=True))
            best = is_best(X, y, attribute, self._least)
            self.tries[node] = self.tries.get(node, 0) + 1
            self.hits[node] = self.hits.get(node, 0) + best
            if best:
                return X, y
        raise TooRareError


def bits_between(hits: int, draws: int, level: float = LEVEL) -> tuple[float, float]:
    """Return log2(1/p) for the exact interval of a share; infinite where no draw agrees."""
    tail = (1 - level) / 2
    high = float(beta.ppf(1 - tail, hits + 1, draws - hits)) if hits < draws else 1.0
    low = float(beta.ppf(tail, hits, draws - hits + 1)) if hits else 0.0
    return -math.log2(high) + 0.0, -math.log2(low) if low else math.inf


def of_criterion(known: ProbabilisticDataset, tree: DecisionTree, least: int, seed: int) -> tuple[float, float, float]:
    """Return the estimated bits that the criterion reveals, and an interval: the sum of those of the splits."""
    possible = Possible(known, tree, least, np.random.default_rng(seed))
    try:
        for _ in range(DRAWS):
            possible.draw()
    except TooRareError:
        return math.inf, 0.0, math.inf
    level = 1 - (1 - LEVEL) / len(possible.tries)
    parts = [bits_between(possible.hits[node], tries, level) for node, tries in possible.tries.items()]
    estimate = math.fsum(math.log2(tries / possible.hits[node]) for node, tries in possible.tries.items())
    return estimate, math.fsum(low for low, _ in parts), math.fsum(high for _, high in parts)


def of_proof(
    known: ProbabilisticDataset, tree: DecisionTree, least: int, depth: int, seed: int
) -> tuple[float, float, float]:
    """Return the estimated bits that a proof of optimality reveals, and their interval."""
    counts = [cell.evidence.counts for cell in tree.cells]
    labels = np.concatenate([np.repeat([0, 1], each) for each in counts])
    errors, rng, hits = sum(min(each) for each in counts), np.random.default_rng(seed), 0
    for _ in range(DRAWS):
        drawn = known.sample(random_state=rng)
        X: npt.NDArray[np.int64] = np.stack([drawn[name] for name in known.domain.names], axis=1).astype(np.int64)
        hits += tree_search.optimal_tree(X, labels, least=least, depth=depth)[1] == errors
    return math.log2(DRAWS / hits) if hits else math.inf, *bits_between(hits, DRAWS)


def measured(key: Row) -> Row:
    """Return a row: the bits that the algorithm reveals, with 95 % confidence, and Dist_G without and with them."""
    started = time.process_time()
    data, seed, depth = split(key["data"], key["seed"]), int(key["seed"]), int(key["depth"])
    tree = fit(key["known"], key["data"], key["seed"], SUPPORT, key["depth"]).model
    if not isinstance(tree, DecisionTree):
        raise SystemExit(f"{key['known']} on {key['data']}: no tree.")
    aware, least = key["reading"] == "aware", max(1, data.in_a_leaf(SUPPORT))
    known = reconstruct(tree, data.domain if aware else Domain.binary(data.domain.names))
    if key["known"] == CART:
        bits, low, high = of_criterion(known, tree, least, seed)
    else:
        bits, low, high = of_proof(known, tree, least, depth, seed)
    prior, left = known.prior_entropy(domain_aware=aware), known.entropy(domain_aware=aware)
    return key | {
        "leaves": str(len(known.supports)),
        "draws": str(DRAWS),
        "bits": text(bits),
        "from": text(low),
        "to": text(high),
        "dist_g": text(left / prior),
        "dist_g given the algorithm": text((left - bits) / prior if math.isfinite(bits) else math.nan),
        "seconds": f"{time.process_time() - started:.1f}",
    }


def keys(quick: bool) -> list[list[Row]]:
    """Return what names each row."""
    return [
        [{"data": data, "seed": SEED, "known": known, "depth": depth, "reading": reading}]
        for data in DATA_SETS
        for known in (CART, TREE)
        for depth in (SIZES[:1] if quick else SIZES)
        for reading in READINGS
    ]


def table(rows: Sequence[Row]) -> str:
    """Return the bits by data, algorithm, reading and depth, with their intervals."""
    lines = []
    for data, known, reading in product(DATA_SETS, (CART, TREE), READINGS):
        cells = [data, "best splits (CART)" if known == CART else "fewest errors (optimal tree)", reading]
        for depth in SIZES:
            row = one(rows, data=data, known=known, depth=depth, reading=reading)
            bits, low, high = (float(row[name]) for name in ("bits", "from", "to"))
            cells.append(f"{bits:.2f} [{low:.2f}, {high:.2f}]" if math.isfinite(bits) else "not measured")
        lines.append(cells)
    return markdown(["data", "what is known", "reading", *(f"depth {depth}" for depth in SIZES)], lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not in the results yet."""
    given = options(__doc__, arguments)
    rows = resume(given.results / "criterion.csv", keys(given.quick), lambda some: [measured(some[0])])
    if given.results == FOLDER / "results":
        PAGE.write_text(place(PAGE.read_text(), "criterion", table(rows)))


__all__ = ["DRAWS", "SIZES", "Possible", "TooRareError", "bits_between", "is_best", "keys", "main", "measured",
           "of_criterion", "of_proof", "table"]  # fmt: skip

if __name__ == "__main__":
    main(sys.argv[1:])
