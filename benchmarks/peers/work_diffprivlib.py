"""Work of diffprivlib: its private tree and forest, at default parameters but for what it asks to be told."""

from __future__ import annotations

import warnings
from typing import Any

from diffprivlib import BudgetAccountant
from diffprivlib.models import DecisionTreeClassifier, RandomForestClassifier
from protocol import stopwatch
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


WORKS = {"private": private}
