"""How well trees of means explain a black box that predicts numbers: ``python benchmarks/surrogate_means.py [--page]``.

Gradient boosting of house values of California's block groups, in GLASSINE_DATA, explained from 4,500 of them and
measured on 1,500 others. A row of ``surrogate_means.csv`` is one seed, with a k, or with an epsilon of private trees of
depth 2 on public cells: root mean squared error from the black box's predictions in thousands, of the closest tree, of
one of the three closest, of one of three random ones, and of the mean prediction.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from benchmarks.public_data import DATA  # noqa: E402
from benchmarks.surrogate_cuts import N_TRAINING, SEEDS, california  # noqa: E402
from glassine.surrogates import (  # noqa: E402
    NumericAnswer,
    SurrogateExplainer,
)
from papers.common.results import Row, select  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

VALUE = NumericAnswer(lo=0, hi=800, step=1)
SHOWN, LARGE = "200", "1000"
KEYS = [
    {"k": k, "epsilon": epsilon, "seed": seed}
    for k, epsilon in (("50", ""), (SHOWN, ""), (LARGE, ""), ("", "0.5"), ("", "1"), ("", "4"))
    for seed in SEEDS
]
CELLS = 8
"""Public cells of private trees."""


def errors_of(seed: int, k: int, **parameters: Any) -> dict[str, object]:
    """Return the errors of a release, by Protocol 1 and 2, at random, and of the mean; R² of the first two."""
    frame = california(seed).frame
    columns = np.loadtxt(DATA / "california" / "cal_housing.data", delimiter=",")
    columns = columns[np.random.default_rng(seed).permutation(len(columns))]
    box = HistGradientBoostingRegressor(random_state=0).fit(columns[:N_TRAINING, :8], columns[:N_TRAINING, 8] / 1000)
    explainer = SurrogateExplainer(
        lambda X: np.clip(box.predict(X.to_numpy()), 0, 800),
        k,
        domain=california(seed).domain,
        answer=VALUE,
        goal=None,
        **parameters,
    ).fit(frame[:N_TRAINING])
    measures = explainer.measures(frame[N_TRAINING:])
    if measures.errors is None:
        raise TypeError("answers that are numbers have errors")
    return {**asdict(measures.errors), "one leaf": measures.nodes.constant_share}


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the errors of one row."""
    with warnings.catch_warnings():
        # Each fit would count as a further one on the same records.
        warnings.simplefilter("ignore")
        if key["k"]:
            return errors_of(int(key["seed"]), int(key["k"]))
        private = {"epsilon": float(key["epsilon"]), "partition": "public", "n_cells": CELLS}
        return errors_of(int(key["seed"]), 100, **private)


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page, and the sentences beside it."""

    def values(k: str, name: str) -> list[float]:
        return [float(row[name]) for row in select(rows, k=k)]

    names = {
        "closest tree": "rmse",
        "guided": "rmse_guided",
        "random groups": "rmse_null",
        "mean of all": "rmse_baseline",
    }
    shown = [values(SHOWN, name) for name in names.values()]
    cells = [f"{fmean(each):.1f} ± {stdev(each) / len(each) ** 0.5:.1f}" for each in shown]
    explained, random = fmean(values(SHOWN, "r2")), fmean(values(LARGE, "rmse_null"))
    return {
        "means": markdown(list(names), [cells]),
        "variance": f"The closest tree explains {explained:.0%} of the variance. At k = {int(LARGE):,} there are four "
        f"groups, and three random ones reach {random:.1f}.",
    }


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
