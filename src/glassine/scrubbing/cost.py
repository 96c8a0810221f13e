"""What a copy costs: how well a model predicts given records, beside what predicts without any attribute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from glassine.models.quality import Quality

if TYPE_CHECKING:
    from glassine.formats import PublishedModel
    from glassine.models import TreeEnsemble

NAMES = {"accuracy": "Accuracy", "auroc": "AUROC", "log_loss": "Log loss", "r2": "R²", "rmse": "RMSE"}

BASELINES = {
    "accuracy": "the largest class alone",
    "auroc": "chance",
    "log_loss": "the base rates alone",
    "r2": "the mean alone",
    "rmse": "the mean alone",
}
"""What each measure is compared with."""

NO_SHARES = "a leaf or an outcome has no published probability."

Measured = dict[str, dict[str, float | None]]


def quality(model: PublishedModel | TreeEnsemble, data: Any, target: str) -> Measured:
    """Return each measure of a model on records, and its ``baseline``: that of a prediction without any attribute."""
    # Of classes accuracy, AUROC and log loss; of numbers R² and the root mean squared error. AUROC and log loss are
    # None where the model publishes no probabilities, or where the data has an outcome that is no class of the model.

    from glassine.data.labels import class_places
    from glassine.data.record_table import columns as read_columns
    from glassine.scrubbing.scrub import accuracy

    value = accuracy(model, data, target)  # Refuses what cannot be measured.
    columns = read_columns(data)
    truth = columns[target]
    if model.classes is None:
        spread = float(np.std(truth.astype(float)))
        rmse = spread * float(max(0.0, 1 - value)) ** 0.5
        return {"r2": {"value": value, "baseline": 0.0}, "rmse": {"value": rmse, "baseline": spread}}
    own = class_places(truth, model.classes)
    base = Quality.baseline(own, len(model.classes))
    # Classes are compared as text for the accuracy, which is that above.
    foretold = model.predict_proba(columns) if (own >= 0).all() else None
    measured = Quality.measured(own, own, foretold)
    return {
        "accuracy": {"value": value, "baseline": base.accuracy},
        "auroc": {"value": measured.auroc, "baseline": base.auroc},
        "log_loss": {"value": measured.log_loss, "baseline": base.log_loss},
    }


def changed(before: Measured, after: Measured) -> Measured:
    """Return each measure ``before`` and ``after`` a change, and of the baseline."""
    return {
        name: {"before": own["value"], "after": after[name]["value"], "baseline": own["baseline"]}
        for name, own in before.items()
    }


def sentences(measures: Mapping[str, Mapping[str, float | None]], records: str = "data") -> list[str]:
    """Return a line a measure that has a value, and which ones have none.

    >>> sentences({"auroc": {"before": 0.81, "after": None, "baseline": 0.5}})[0].partition("0.5000. ")[2]
    'After: none, as a leaf or an outcome has no published probability.'
    >>> sentences({"auroc": {"value": None, "baseline": 0.5}, "log_loss": {"value": None, "baseline": 0.69}})
    ['AUROC and log loss: none, as not every outcome of the data has a published probability.']
    """
    out: list[str] = []
    lacking: list[str] = []
    for name, values in measures.items():
        figures = [value for key, value in values.items() if key != "baseline" and value is not None]
        if not figures or values["baseline"] is None:
            lacking.append(NAMES[name] if not lacking else NAMES[name].lower())
            continue
        digits = ".6g" if name == "rmse" else ".4f"
        each = {key: f"{value:{digits}}" for key, value in values.items() if value is not None}
        own = "; ".join(f"{key}: {each[key]}" for key in ("before", "after") if key in each)
        own = f" {own}" if own else f": {each['value']}"
        silent = next((key for key in ("before", "after") if key in values and key not in each), "")
        why = f" {silent.capitalize()}: none, as {NO_SHARES}" if silent else ""
        out.append(f"{NAMES[name]} on the {records}{own}; {BASELINES[name]}: {each['baseline']}.{why}")
    if lacking:
        out.append(f"{' and '.join(lacking)}: none, as not every outcome of the {records} has a published probability.")
    return out
