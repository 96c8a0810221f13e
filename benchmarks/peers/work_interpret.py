"""Work of interpret: its differentially private explainable boosting machines, at default parameters."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor
from protocol import stopwatch
from scoring import of_classes, of_numbers
from warm import Done, Work, split


def additive(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return a fit with the bounds of Glassine's domain; a missing category is "?", as its binning takes no gaps."""
    warnings.simplefilter("ignore")
    names = settings["names"]
    frame = pd.DataFrame({name: arrays[f"column {name}"] for name in names})
    y = arrays["y"]
    bounds = {i: tuple(settings["bounds"][name]) for i, name in enumerate(names) if name in settings["bounds"]}
    options: dict[str, Any] = {
        "epsilon": settings["epsilon"],
        "delta": settings["delta"],
        "feature_types": ["continuous" if i in bounds else "nominal" for i in range(len(names))],
        "privacy_bounds": bounds,
        "n_jobs": 1,
    }

    def classes(seed: int) -> Done:
        train, test = split(len(y), seed)
        machine = DPExplainableBoostingClassifier(**options)
        X = frame.iloc[train]
        with stopwatch() as seconds:
            machine.fit(X, y[train])
        positive = list(machine.classes_).index(settings["classes"][1])
        chances = machine.predict_proba(frame.iloc[test])[:, positive]
        return seconds, of_classes(y[test] == settings["classes"][1], chances > 0.5, chances)

    def numbers(seed: int) -> Done:
        train, test = split(len(y), seed)
        low, high = settings["target_range"]
        machine = DPExplainableBoostingRegressor(privacy_target_min=low, privacy_target_max=high, **options)
        X = frame.iloc[train]
        with stopwatch() as seconds:
            machine.fit(X, y[train])
        return seconds, of_numbers(y[test], machine.predict(frame.iloc[test]))

    return classes if "classes" in settings else numbers


WORKS = {"additive": additive}
