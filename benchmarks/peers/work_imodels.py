"""Work of imodels: its rule lists, at default parameters but for their length."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from imodels import GreedyRuleListClassifier, OneRClassifier
from protocol import stopwatch
from warm import Done, Work, split


def rules(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the fit of a rule list on dummies."""
    warnings.simplefilter("ignore")
    X, y = arrays["X"], arrays["y"]
    names = [f"x{i}" for i in range(X.shape[1])]
    frame = pd.DataFrame(X.astype(np.int64), columns=names)
    kind = {"greedy": GreedyRuleListClassifier, "one attribute": OneRClassifier}[settings["model"]]

    def work(seed: int) -> Done:
        train, test = split(len(y), seed)
        model = kind(max_depth=settings["max_rules"])
        part, labels = frame.iloc[train], y[train]
        with stopwatch() as seconds:
            model.fit(part, labels, feature_names=names)
        return seconds, {"quality": float((model.predict(frame.iloc[test].to_numpy()) == y[test]).mean())}

    return work


WORKS = {"rules": rules}
