"""Shapes of the six numbers of Adult, Figure 5: how much they jump with and without privacy; ``shapes.csv``.

A shape is the log-odds of one record as one attribute runs through 200 equally spaced values between the least and the
largest of the training records, as a plot draws it. *Variation* is the sum of its steps up and down, *range* its
largest value less its least one. Their ratio is 1 for a shape that only rises or only falls.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from study import HERE, LOADERS, Additive, filled, ordinary, ours

from glassine import Integer
from papers.common.results import resume

DATA = "adult"
SEEDS = tuple(str(seed) for seed in range(5))
POINTS = 200


def ebm(data: Additive, epsilon: float, seed: int) -> Any:
    """Return interpret's learner without privacy, without pairs and bagging."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(outer_bags=1, interactions=0, random_state=seed, n_jobs=1)


METHODS = {
    "DP-EBM, epsilon 4": (ours("boosting"), 4.0),
    "DP-EBM, epsilon 1": (ours("boosting"), 1.0),
    "boosting without noise": (ordinary("boosting"), 0.0),
    "EBM, no bagging": (ebm, 0.0),
}
"""Three of the figure's columns, and the private algorithm with exact sums; 25 bags are not run."""


def shape_of(model: Any, frame: pl.DataFrame, attribute: str, *, pandas: bool) -> np.ndarray:
    """Return the log-odds of the first record as an attribute runs through its values."""
    values = frame[attribute].cast(pl.Float64).drop_nulls().to_numpy()
    grid = np.linspace(values.min(), values.max(), POINTS)
    rows = frame[np.zeros(POINTS, dtype=np.int64)].with_columns(pl.Series(attribute, grid))
    chance = np.asarray(model.predict_proba(filled(rows) if pandas else rows))[:, 1]
    return np.log(chance) - np.log1p(-chance)


def measured(key: Mapping[str, str]) -> dict[str, object]:
    """Return the variation and the range of every number's shape."""
    data = LOADERS[DATA]()
    make, epsilon = METHODS[key["method"]]
    train, _ = data.split(int(key["seed"]))
    frame, peer = data.frame[train], key["method"].startswith("EBM")
    model = make(data, epsilon, int(key["seed"])).fit(filled(frame) if peer else frame, data.target[train])
    found: dict[str, object] = {}
    for name in numbers(data):
        shape = shape_of(model, frame, name, pandas=peer)
        found[f"{name} variation"] = float(np.abs(np.diff(shape)).sum())
        found[f"{name} range"] = float(np.ptp(shape))
    return found


def numbers(data: Additive) -> list[str]:
    """Return the attributes that are numbers."""
    return [name for name in data.domain if isinstance(data.domain[name], Integer)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder of the CSV files")
    given, _ = parser.parse_known_args(arguments)
    keys = [{"seed": seed, "method": method} for method in METHODS for seed in SEEDS]
    resume(given.results / "shapes.csv", keys, measured)


__all__ = ["METHODS", "SEEDS", "main", "measured", "numbers", "shape_of"]

if __name__ == "__main__":
    main()
