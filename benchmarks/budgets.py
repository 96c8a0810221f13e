"""Losses over twelve budgets, of fits that are paired by split and seed: ``python benchmarks/budgets.py [--page]``.

A row of ``budgets.csv`` is the losses of one model on one dataset at one epsilon, one for each split: the area above
the ROC curve on a fifth of the records that is kept aside, or the root mean squared error over the standard deviation
of a number. A larger budget is worse where the mean loss rises from one epsilon to any larger one by more than a 95%
interval for all pairs of a model together: on a dataset, or over all of them, whose splits find smaller rises.
GLASSINE_DATA names the folder of the datasets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import roc_auc_score

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.additive_data import LOADERS, Additive  # noqa: E402 - after the path is set
from benchmarks.kept_rows import kept  # noqa: E402
from glassine import Domain, Integer, Real  # noqa: E402
from glassine.learners import (  # noqa: E402
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateScorecardClassifier,
    PrivateScorecardRegressor,
    PrivateSummary,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
)
from glassine.learners.publishing import probabilities  # noqa: E402
from glassine.models import AdditiveModel  # noqa: E402
from glassine.records.reading import read_settled  # noqa: E402
from papers.common.results import Row, one  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

SPLITS = 5
EPSILONS = ("0.1", "0.15", "0.25", "0.35", "0.5", "0.75", "1", "1.5", "2", "3", "5", "8")
DATA = {"adult": "Adult", "telco": "Telco", "compas": "COMPAS", "california": "California"}
MODELS = {
    "additive": "additive model",
    "declared": "additive model, declared thresholds",
    "card": "scorecard",
    "tree": "tree of depth 3",
    "pairs": "additive model, pairs by the rule",
    "summary": "summary's additive model",
}
KEYS = [{"data": data, "model": model, "epsilon": epsilon} for model in MODELS for data in DATA for epsilon in EPSILONS]
CUTS = 9
"""Thresholds of a number at equal steps of its range, where the domain is to declare some."""


@lru_cache(maxsize=1)
def loaded(name: str, *, declared: bool) -> Additive:
    """Return a dataset; thresholds at equal steps of the public ranges are declared, or none."""
    data = LOADERS[name]()
    if not declared:
        return data
    made: dict[str, Any] = {}
    for attribute in data.domain:
        own = data.domain[attribute]
        if isinstance(own, Integer | Real):
            cuts = np.linspace(own.lo, own.hi, CUTS + 2)[1:-1]
            cuts = np.unique(np.floor(cuts)) if isinstance(own, Integer) else cuts
            own = replace(own, thresholds=tuple(float(cut) for cut in cuts if own.lo <= cut < own.hi))
        made[attribute] = own
    return replace(data, domain=Domain(made))


def learner_of(model: str, data: Additive, epsilon: float, seed: int) -> Any:
    """Return what is fitted: a learner, or of a summary the function that fits and takes its model."""
    number = data.target_range is not None
    target: dict[str, Any] = {"target_range": data.target_range} if number else {"classes": data.classes}
    public = {"epsilon": epsilon, "domain": data.domain, "random_state": seed, **target}
    if model == "tree":
        return (PrivateTreeRegressor if number else PrivateTreeClassifier)(3, literals="coarse", **public)
    if model == "card":
        return (PrivateScorecardRegressor if number else PrivateScorecardClassifier)(**public)
    if model == "summary":
        return PrivateSummary(**public)
    interactions: object = "auto" if model == "pairs" else 0
    return (PrivateEBMRegressor if number else PrivateEBMClassifier)(interactions=interactions, **public)


def loss(data: Additive, model: str, epsilon: float, split: int) -> float:
    """Return the loss of one fit on the records that its split keeps aside."""
    train, test = data.split(split)
    fitted = learner_of(model, data, epsilon, split).fit(data.frame[train], data.target[train])
    published = fitted.additive() if model == "summary" else fitted.model_
    records = read_settled(data.frame[test], data.domain, keep_undeclared=isinstance(published, AdditiveModel))
    truth = data.target[test]
    if data.classes is None:
        return float(np.sqrt(((published.predict(records) - truth) ** 2).mean()) / truth.std())
    if isinstance(published, AdditiveModel):
        risk = published.predict_proba(records)[:, 1]
    else:
        risk = probabilities(published)[published.apply(records), 1]
    return 1.0 - float(roc_auc_score(truth == data.classes[1], risk))


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the losses of a model at one budget, split by split."""
    data = loaded(key["data"], declared=key["model"] in ("declared", "card", "tree"))
    found = [loss(data, key["model"], float(key["epsilon"]), split) for split in range(SPLITS)]
    return {"losses": " ".join(f"{value:.5f}" for value in found)}


def losses(rows: Sequence[Row], data: str, model: str) -> Any:
    """Return the losses of a model, shape (budgets, splits)."""
    return np.array(
        [[float(v) for v in one(rows, data=data, model=model, epsilon=e)["losses"].split()] for e in EPSILONS]
    )


def rises(found: Any, steps: Sequence[tuple[int, int]]) -> list[tuple[float, float]]:
    """Return by how much the mean loss rises between pairs of budgets, and half of its interval for all of them."""
    factor = float(stats.t.ppf(1 - 0.025 / len(steps), found.shape[1] - 1))
    out = []
    for before, after in steps:
        rise = found[after] - found[before]
        out.append((float(rise.mean()), factor * float(rise.std(ddof=1)) / len(rise) ** 0.5))
    return out


ALL = "all"


def relative(rows: Sequence[Row], model: str) -> Any:
    """Return the losses of a model on all datasets, each over its mean loss, shape (budgets, datasets * splits)."""
    every = [losses(rows, data, model) for data in DATA]
    return np.hstack([found / found.mean() for found in every])


def worse(rows: Sequence[Row]) -> list[tuple[str, str, str, str]]:
    """Return where a larger budget is worse beyond its interval: data, or all of them, model, and both epsilons."""
    pairs = list(combinations(range(len(EPSILONS)), 2))
    compared = [(data, model, losses(rows, data, model)) for data in DATA for model in MODELS]
    compared += [(ALL, model, relative(rows, model)) for model in MODELS]
    return [
        (data, model, EPSILONS[before], EPSILONS[after])
        for data, model, found in compared
        for (before, after), (rise, half) in zip(pairs, rises(found, pairs), strict=True)
        if rise > half
    ]


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""
    shown = ("0.1", "0.5", "1", "2", "8")
    lines = []
    for data, name in DATA.items():
        for model, words in MODELS.items():
            found = losses(rows, data, model)
            rise, half = max(rises(found, list(pairwise(range(len(EPSILONS))))), key=lambda step: step[0])
            means = [f"{found[EPSILONS.index(epsilon)].mean():.4f}" for epsilon in shown]
            lines.append([name, words, *means, f"{rise:+.4f} ± {half:.4f}"])
    head = ["data", "model", *(f"loss at {shown[0]}", *shown[1:]), "largest rise of 11 steps"]
    return {"budgets": markdown(head, lines)}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
