"""Shapes of the six numbers of Adult, Figure 5: how much they jump with and without privacy; ``shapes.csv``.

``figure_5.csv`` holds those of the first split, with the least and the largest value, to be drawn.

A shape is the log-odds of one record as one attribute runs through 200 equally spaced values between the least and the
largest of the training records, as a plot draws it. *Variation* is the sum of its steps up and down, *range* its
largest value less its least one. Their ratio is 1 for a shape that only rises or only falls.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from study import HERE, LOADERS, Additive, Make, filled, ordinary, ours

from glassine import Integer
from papers.common.results import resume

DATA = "adult"
SEEDS = tuple(str(seed) for seed in range(5))
BAGGED = "EBM, 25 bags"
"""Drawn of the first split, and not measured on five: a fit takes eight processor minutes."""
POINTS = 200


def ebm(bags: int) -> Make:
    """Return a way to make interpret's learner without privacy, without pairs."""

    def make(data: Additive, epsilon: float, seed: int) -> Any:
        from interpret.glassbox import ExplainableBoostingClassifier

        return ExplainableBoostingClassifier(outer_bags=bags, interactions=0, random_state=seed, n_jobs=1)

    return make


METHODS = {
    "DP-EBM, epsilon 4": (ours("boosting"), 4.0),
    "DP-EBM, epsilon 1": (ours("boosting"), 1.0),
    "boosting without noise": (ordinary("boosting"), 0.0),
    "EBM, no bagging": (ebm(1), 0.0),
    BAGGED: (ebm(25), 0.0),
}
"""The figure's columns, the private algorithm with exact sums, and one bag."""


def span(frame: pl.DataFrame, attribute: str) -> tuple[float, float]:
    """Return the least and the largest value."""
    values = frame[attribute].cast(pl.Float64).drop_nulls().to_numpy()
    return float(values.min()), float(values.max())


def shape_of(model: Any, frame: pl.DataFrame, attribute: str, *, pandas: bool) -> np.ndarray:
    """Return the log-odds of the first record as an attribute runs through its values."""
    grid = np.linspace(*span(frame, attribute), POINTS)
    rows = frame[np.zeros(POINTS, dtype=np.int64)].with_columns(pl.Series(attribute, grid))
    chance = np.asarray(model.predict_proba(filled(rows) if pandas else rows))[:, 1]
    return np.log(chance) - np.log1p(-chance)


def shapes_of(seed: str, method: str) -> dict[str, tuple[tuple[float, float], np.ndarray]]:
    """Return the span of every number, and its shape."""
    data = LOADERS[DATA]()
    make, epsilon = METHODS[method]
    train, _ = data.split(int(seed))
    frame, peer = data.frame[train], method.startswith("EBM")
    model = make(data, epsilon, int(seed)).fit(filled(frame) if peer else frame, data.target[train])
    return {name: (span(frame, name), shape_of(model, frame, name, pandas=peer)) for name in numbers(data)}


def measured(key: Mapping[str, str]) -> dict[str, object]:
    """Return the variation and the range of every number's shape."""
    found: dict[str, object] = {}
    for name, (_, shape) in shapes_of(key["seed"], key["method"]).items():
        found[f"{name} variation"] = float(np.abs(np.diff(shape)).sum())
        found[f"{name} range"] = float(np.ptp(shape))
    return found


def drawn(key: Mapping[str, str]) -> dict[str, object]:
    """Return every number's span and its shape, less its mean, as text: values with how often each comes in a row."""
    found = {}
    for name, ((low, high), shape) in shapes_of(SEEDS[0], key["method"]).items():
        runs = groupby(f"{value:.4g}" for value in shape - shape.mean())
        found[name] = " ".join([f"{low:g}", f"{high:g}", *(f"{value}x{len(list(same))}" for value, same in runs)])
    return found


def read_shape(text: str) -> tuple[float, float, list[float]]:
    """Return the least and the largest value, and the shape, of what :func:`drawn` wrote."""
    low, high, *runs = text.split()
    pairs = (run.split("x") for run in runs)
    return float(low), float(high), [float(value) for value, times in pairs for _ in range(int(times))]


def numbers(data: Additive) -> list[str]:
    """Return the attributes that are numbers."""
    return [name for name in data.domain if isinstance(data.domain[name], Integer)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder of the CSV files")
    given, _ = parser.parse_known_args(arguments)
    keys = [{"seed": seed, "method": method} for method in METHODS if method != BAGGED for seed in SEEDS]
    resume(given.results / "shapes.csv", keys, measured)
    resume(given.results / "figure_5.csv", [{"method": method} for method in METHODS], drawn)


__all__ = [
    "BAGGED",
    "METHODS",
    "SEEDS",
    "drawn",
    "main",
    "measured",
    "numbers",
    "read_shape",
    "shape_of",
    "shapes_of",
    "span",
]

if __name__ == "__main__":
    main()
