"""The measures of a model on given records, beside those of a prediction without any attribute."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from glassine import Domain, Integer
from glassine.learners import OptimalTreeClassifier, OptimalTreeRegressor
from glassine.scrubbing.cost import changed, quality, sentences

DOMAIN = Domain({"age": Integer(0, 99, thresholds=(30, 60))})


def records(n_classes: int) -> tuple[pl.DataFrame, list[str]]:
    rng = np.random.default_rng(n_classes)
    ages = rng.integers(0, 100, 400)
    names = [f"c{k}" for k in range(n_classes)]
    chosen = (ages * n_classes // 100 + (rng.random(400) < 0.3)) % n_classes
    return pl.DataFrame({"age": ages, "y": [names[k] for k in chosen]}), names


@pytest.mark.parametrize("n_classes", [2, 3])
def test_measures_of_classes_are_those_of_scikit_learn(n_classes: int) -> None:
    frame, names = records(n_classes)
    fitted = OptimalTreeClassifier(2, domain=DOMAIN, classes=names, accuracy_share=0.0).fit(frame, "y")
    found = quality(fitted.model_, frame, "y")
    truth = frame["y"].to_numpy()
    chances = fitted.model_.predict_proba(frame)
    several: Any = {"multi_class": "ovr"} if n_classes > 2 else {}
    area = roc_auc_score(truth, chances if n_classes > 2 else chances[:, 1], **several)
    assert found["auroc"] == {"value": pytest.approx(area), "baseline": 0.5}
    assert found["log_loss"]["value"] == pytest.approx(log_loss(truth, chances))
    shares = np.array([(truth == name).mean() for name in names])
    assert found["log_loss"]["baseline"] == pytest.approx(-(shares * np.log(shares)).sum())
    right = (fitted.model_.predict(frame) == truth).mean()
    assert found["accuracy"] == {"value": pytest.approx(right), "baseline": pytest.approx(shares.max())}
    assert right > shares.max()


def test_outcomes_that_are_no_class_leave_accuracy_alone() -> None:
    frame, names = records(2)
    fitted = OptimalTreeClassifier(2, domain=DOMAIN, classes=names, accuracy_share=0.0).fit(frame, "y")
    odd = pl.concat([frame, pl.DataFrame({"age": [5], "y": ["other"]})])
    found = quality(fitted.model_, odd, "y")
    assert found["auroc"]["value"] is None
    assert found["log_loss"]["value"] is None
    lines = sentences(changed(found, found))
    assert [line.split(" on ")[0] for line in lines] == [
        "Accuracy",
        "AUROC and log loss: none, as not every outcome of the data has a published probability.",
    ]


def test_measures_of_numbers() -> None:
    rng = np.random.default_rng(0)
    ages = rng.integers(0, 100, 300)
    frame = pl.DataFrame({"age": ages, "y": 10.0 * (ages > 60) + rng.random(300)})
    model = OptimalTreeRegressor(1, domain=DOMAIN, target_range=(0.0, 11.0)).fit(frame, "y").model_
    found = quality(model, frame, "y")
    off = model.predict(frame).astype(float) - frame["y"].to_numpy()
    assert found["rmse"]["value"] == pytest.approx(np.sqrt((off**2).mean()))
    assert found["rmse"]["baseline"] == pytest.approx(frame["y"].to_numpy().std())
    assert found["r2"]["value"] == pytest.approx(1 - (off**2).mean() / frame["y"].to_numpy().var())
    assert sentences(found, "holdout")[0].startswith("R² on the holdout: 0.9")
