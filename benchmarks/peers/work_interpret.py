"""Work of interpret: its explainable boosting machines, differentially private at default parameters, and ordinary."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor
from protocol import stopwatch
from scoring import of_classes, of_numbers
from warm import Done, Work, split


def additive(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return a fit with the bounds of Glassine's domain; a missing category is "?", as its binning takes no gaps."""
    names = settings["names"]
    bounds = {i: tuple(settings["bounds"][name]) for i, name in enumerate(names) if name in settings["bounds"]}
    options: dict[str, Any] = {
        "epsilon": settings["epsilon"],
        "delta": settings["delta"],
        "feature_types": ["continuous" if i in bounds else "nominal" for i in range(len(names))],
        "privacy_bounds": bounds,
        "n_jobs": 1,
    }
    kinds = (DPExplainableBoostingClassifier, DPExplainableBoostingRegressor)
    return _fits(arrays, settings, lambda seed, numbers: kinds[numbers](**options))


def ordinary(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return a fit without privacy and without pairs, of so many bags."""
    names, bounds = settings["names"], settings["bounds"]
    options: dict[str, Any] = {
        "feature_types": ["continuous" if name in bounds else "nominal" for name in names],
        "outer_bags": settings["bags"],
        "interactions": 0,
        "n_jobs": 1,
    }
    kinds = (ExplainableBoostingClassifier, ExplainableBoostingRegressor)
    return _fits(arrays, settings, lambda seed, numbers: kinds[numbers](random_state=seed, **options))


def _fits(arrays: dict[str, Any], settings: dict[str, Any], make: Callable[[int, bool], Any]) -> Work:
    """Return fits of machines that are made by seed, of numbers or of classes."""
    warnings.simplefilter("ignore")
    frame = pd.DataFrame({name: arrays[f"column {name}"] for name in settings["names"]})
    y = arrays["y"]

    def classes(seed: int) -> Done:
        train, test = split(len(y), seed)
        machine = make(seed, False)
        X = frame.iloc[train]
        with stopwatch() as seconds:
            machine.fit(X, y[train])
        positive = list(machine.classes_).index(settings["classes"][1])
        chances = machine.predict_proba(frame.iloc[test])[:, positive]
        return seconds, of_classes(y[test] == settings["classes"][1], chances > 0.5, chances)

    def numbers(seed: int) -> Done:
        train, test = split(len(y), seed)
        machine = make(seed, True)
        X = frame.iloc[train]
        with stopwatch() as seconds:
            machine.fit(X, y[train])
        return seconds, of_numbers(y[test], machine.predict(frame.iloc[test]))

    return classes if "classes" in settings else numbers


WORKS = {"additive": additive, "ordinary": ordinary}
