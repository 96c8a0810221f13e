"""Draws outputs of diffprivlib's forest on two neighboring datasets: ``python run_diffprivlib.py OUTPUTS [--runs N]``.

Arguments are the defaults, but for the bounds and classes that it asks to be told: epsilon = 1, ten trees. Rows are
split among the trees in their order, so that one more row moves the others from tree to tree. Of ten rows each tree has
one, and the labels are in turn; after an eleventh row every tree but the first has the row that the next one had.

An output is the prediction of each tree, flipped for every other tree, so that all speak in one direction.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from diffprivlib import BudgetAccountant
from diffprivlib.models import RandomForestClassifier

ROWS = 10


def outputs(n: int, runs: int, first_seed: int) -> list[list[int]]:
    """Return the votes of the trees in so many fits on n rows."""
    X = np.zeros((n, 1))
    y = np.arange(n) % 2
    turns = np.arange(ROWS) % 2
    found = []
    for seed in range(first_seed, first_seed + runs):
        # The default accountant adds up the fits of the whole process, and slows down with their number.
        forest = RandomForestClassifier(
            epsilon=1.0,
            bounds=([0.0], [1.0]),
            classes=[0, 1],
            accountant=BudgetAccountant(),
            random_state=np.random.RandomState(seed),
        )
        forest.fit(X, y)
        votes = np.array([int(np.argmax(tree.predict_proba(X[:1])[0])) for tree in forest.estimators_])
        found.append((votes == turns).astype(int).tolist())
    return found


def main() -> None:
    """Write the outputs on both datasets as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("outputs", type=Path)
    parser.add_argument("--runs", type=int, default=10_000, help="in all, one half on each dataset")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    each = given.runs // 2
    drawn = {"d0": outputs(ROWS, each, 0), "d1": outputs(ROWS + 1, each, each)}
    given.outputs.write_text(json.dumps(drawn))


if __name__ == "__main__":
    main()
