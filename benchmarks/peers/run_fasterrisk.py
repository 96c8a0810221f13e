"""A card of FasterRisk: ``python run_fasterrisk.py TASK.npz``, in its own environment.

TASK.npz has a 0/1 matrix X (n, p), labels y of -1 and 1, and the numbers of items and of points of an item. The first
of the cards is printed as JSON: multiplier, intercept and coefficients, and the seconds of all cores.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from fasterrisk.fasterrisk import RiskScoreOptimizer
from protocol import stopwatch


def main(path: str) -> None:
    """Search for the cards and print the first."""
    with np.load(path, allow_pickle=False) as task:
        X, y, items, points = task["X"].astype(float), task["y"].astype(float), int(task["items"]), int(task["points"])
    search = RiskScoreOptimizer(X=X, y=y, k=items, lb=-points, ub=points)
    with stopwatch() as seconds:
        search.optimize()
    multipliers, intercepts, coefficients = search.get_models()
    card = {
        "multiplier": float(multipliers[0]),
        "intercept": float(intercepts[0]),
        "coefficients": np.asarray(coefficients[0], dtype=float).tolist(),
        "processor": seconds[1],
    }
    sys.stdout.write(json.dumps(card) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
