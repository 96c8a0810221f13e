"""What every environment shares to score a private model: a matrix of public dummies, and figures on test records.

NumPy and scikit-learn alone: it runs in the environment of a peer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score


def dummies(arrays: dict[str, Any], settings: dict[str, Any]) -> Any:
    """Return numbers scaled to [0, 1] by their public bounds, and one column for each public category."""
    parts = []
    for name in settings["names"]:
        values = arrays[f"column {name}"]
        if name in settings["bounds"]:
            low, high = settings["bounds"][name]
            # Of an attribute with one possible value the column is 0.
            parts.append(np.clip((values.astype(np.float64) - low) / ((high - low) or 1.0), 0.0, 1.0))
        else:
            parts += [(values == value).astype(np.float64) for value in settings["categories"][name]]
    return np.column_stack(parts)


def of_classes(truth: Any, predicted: Any, chances: Any = None) -> dict[str, float | None]:
    """Return accuracy, AUROC and log loss in bits; of a model that publishes labels alone, or as chances, no log loss.

    ``truth`` says which records are of the second class, ``predicted`` which are so predicted, ``chances`` how likely.
    """
    scores = predicted.astype(np.float64) if chances is None else np.nan_to_num(chances, nan=0.5)
    auroc = float(roc_auc_score(truth, scores))
    labels = bool(np.isin(scores, (0.0, 1.0)).all())
    loss = None if labels else float(log_loss(truth, scores, labels=[False, True])) / math.log(2)
    return {"quality": auroc, "accuracy": float(np.mean(truth == predicted)), "AUROC": auroc, "log loss": loss}


def of_numbers(truth: Any, predicted: Any) -> dict[str, float]:
    """Return the root of the mean squared error."""
    error = float(np.sqrt(np.mean((truth - predicted) ** 2)))
    return {"quality": error, "RMSE": error}
