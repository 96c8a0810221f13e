"""Work of diffprivlib: its private models, at default parameters but for what it asks to be told."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from diffprivlib import BudgetAccountant
from diffprivlib.models import (
    DecisionTreeClassifier,
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    RandomForestClassifier,
)
from protocol import stopwatch
from scoring import dummies, of_classes, of_numbers
from warm import Done, Work, split


def private(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the fit of a tree or a forest on numbers and dummies, with their public bounds and classes."""
    warnings.simplefilter("ignore")
    Z, y = arrays["Z"], arrays["y"]
    kind = {"tree": DecisionTreeClassifier, "forest": RandomForestClassifier}[settings["model"]]

    def work(seed: int) -> Done:
        train, test = split(len(y), seed)
        model = kind(
            epsilon=settings["epsilon"],
            bounds=(settings["lower"], settings["upper"]),
            classes=settings["classes"],
            # The default accountant adds up the fits of the whole process, and slows down with their number.
            accountant=BudgetAccountant(),
        )
        X, labels = Z[train], y[train]
        with stopwatch() as seconds:
            model.fit(X, labels)
        return seconds, {"quality": float((model.predict(Z[test]) == y[test]).mean())}

    return work


def columns(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the fit of one of its models on public dummies: classes, or numbers by its linear regression.

    Where ``clipped``, its numbers are brought into the public range: noise can take them anywhere.
    """
    warnings.simplefilter("ignore")
    Z, y = dummies(arrays, settings), arrays["y"]
    ends = ([0.0] * Z.shape[1], [1.0] * Z.shape[1])
    shared: dict[str, Any] = {"epsilon": settings["epsilon"]}
    # Each number is at most 1, and of each category's dummies at most one is 1.
    norm = float(np.sqrt(len(settings["names"])))

    def learner() -> Any:
        shared["accountant"] = BudgetAccountant()
        if settings["model"] == "linear":
            return LinearRegression(bounds_X=ends, bounds_y=tuple(settings["target_range"]), **shared)
        if settings["model"] == "logistic":
            return LogisticRegression(data_norm=norm, **shared)
        if settings["model"] == "naive Bayes":
            return GaussianNB(bounds=ends, **shared)
        kind = {"tree": DecisionTreeClassifier, "forest": RandomForestClassifier}[settings["model"]]
        return kind(bounds=ends, classes=[0, 1], **shared)

    def work(seed: int) -> Done:
        train, test = split(len(y), seed)
        model, X = learner(), Z[train]
        numbers = settings["model"] == "linear"
        target = y if numbers else (y == settings["classes"][1]).astype(int)
        with stopwatch() as seconds:
            model.fit(X, target[train])
        if numbers:
            ends_of = settings["target_range"] if settings.get("clipped") else (-np.inf, np.inf)
            return seconds, of_numbers(target[test], np.clip(model.predict(Z[test]), *ends_of))
        chances = model.predict_proba(Z[test])[:, list(model.classes_).index(1)]
        return seconds, of_classes(target[test] == 1, model.predict(Z[test]) == 1, chances)

    return work


WORKS = {"private": private, "columns": columns}
