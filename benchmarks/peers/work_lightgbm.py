"""Work of LightGBM: boosted trees without privacy, at default parameters."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier, LGBMRegressor
from protocol import stopwatch
from scoring import of_classes, of_numbers
from warm import Done, Work, split


def ordinary(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return a fit on numbers and on categories as numbers, which it is told are categories; others are missing."""
    warnings.simplefilter("ignore")
    names, categories = settings["names"], settings["categories"]
    coded = [i for i, name in enumerate(names) if name in categories]
    columns = []
    for name in names:
        values = arrays[f"column {name}"]
        if name in categories:
            place = {value: float(at) for at, value in enumerate(categories[name])}
            columns.append(np.array([place.get(value, np.nan) for value in values.tolist()]))
        else:
            columns.append(values.astype(np.float64))
    X, y = np.column_stack(columns), arrays["y"]
    shared: dict[str, Any] = {"n_jobs": 1, "verbosity": -1, "deterministic": True}

    def classes(seed: int) -> Done:
        train, test = split(len(y), seed)
        target = y == settings["classes"][1]
        model = LGBMClassifier(random_state=seed, **shared)
        with stopwatch() as seconds:
            model.fit(X[train], target[train], categorical_feature=coded)
        chances = model.predict_proba(X[test])[:, 1]
        return seconds, of_classes(target[test], chances > 0.5, chances)

    def numbers(seed: int) -> Done:
        train, test = split(len(y), seed)
        model = LGBMRegressor(random_state=seed, **shared)
        with stopwatch() as seconds:
            model.fit(X[train], y[train], categorical_feature=coded)
        return seconds, of_numbers(y[test], model.predict(X[test]))

    return classes if "classes" in settings else numbers


WORKS = {"ordinary": ordinary}
