"""How well trees of means explain a black box that predicts numbers: ``python benchmarks/surrogate_means.py``.

Gradient boosting of house values of California's block groups, in GLASSINE_DATA, explained from 4,500 of them and
measured on 1,500 others: root mean squared error from the black box's predictions in thousands, of the closest tree, of
one of the three closest, of one of three random ones, and of the mean prediction. Means over three seeds, with their
standard errors. With ``private``: of private trees of depth 2 on public cells, by epsilon, in place of k.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import astuple
from typing import Any

import numpy as np
from public_data import DATA
from sklearn.ensemble import HistGradientBoostingRegressor
from surrogate_cuts import N_TRAINING, SEEDS, california

from glassine import SurrogateExplainer
from glassine.surrogates import NumericAnswer

VALUE = NumericAnswer(lo=0, hi=800, step=1)


CELLS = 8
"""Public cells of private trees."""


def measured(seed: int, k: int, **parameters: Any) -> list[float]:
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
        **parameters,
    ).fit(frame[:N_TRAINING])
    measures = explainer.measures(frame[N_TRAINING:])
    errors = () if measures.errors is None else astuple(measures.errors)
    return [*errors, measures.nodes.constant_share]


def main() -> None:
    """Print a row for each k."""
    private = sys.argv[1:] == ["private"]
    print(f"{'epsilon' if private else 'k'}: closest, guided, random, mean of all; R2 closest, R2 guided; one leaf")  # noqa: T201
    for size in (0.5, 1.0, 4.0) if private else (50, 200, 1000):
        with warnings.catch_warnings():
            # Each fit would count as a further one on the same records.
            warnings.simplefilter("ignore")
            several = [
                measured(seed, 100, epsilon=size, partition="public", n_cells=CELLS)
                if private
                else measured(seed, int(size))
                for seed in SEEDS
            ]
        mean, error = np.mean(several, axis=0), np.std(several, axis=0, ddof=1) / np.sqrt(len(SEEDS))
        print(f"{size:g}: " + "  ".join(f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True)), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
