"""Fits of one table: datasets, budgets and algorithms over seeded splits; a run that was stopped goes on."""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.additive_data import LOADERS, Additive  # noqa: E402 - after the path is set
from glassine.learners.additive.estimators import PrivateEBMClassifier, PrivateEBMRegressor  # noqa: E402
from glassine.learners.additive.ordinary import EBMClassifier, EBMRegressor  # noqa: E402
from papers.common.results import make_folders, read, say, write  # noqa: E402

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
NON_PRIVATE = math.inf
DELTA = 1e-6

Model = Any
Make = Callable[[Additive, float, int], Model]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A row of a table: its name, how it is made, its name in the published table, and whether it is private."""

    name: str
    make: Make
    published: str | None = None
    private: bool = True


def ours(algorithm: str, **more: Any) -> Make:
    """Return how one of this package's learners is made; seeded, so that a table can be repeated."""

    def make(data: Additive, epsilon: float, seed: int) -> Model:
        common: dict[str, Any] = {"domain": data.domain, "algorithm": algorithm, "random_state": seed, **more}
        if data.classes is not None:
            return PrivateEBMClassifier(epsilon=epsilon, delta=DELTA, classes=data.classes, **common)
        return PrivateEBMRegressor(epsilon=epsilon, delta=DELTA, target_range=data.target_range, **common)

    return make


def ordinary(algorithm: str) -> Make:
    """Return how one of this package's learners without privacy is made."""

    def make(data: Additive, epsilon: float, seed: int) -> Model:
        if data.classes is not None:
            return EBMClassifier(domain=data.domain, algorithm=algorithm, classes=data.classes)
        return EBMRegressor(domain=data.domain, algorithm=algorithm, target_range=data.target_range)

    return make


def interpret(data: Additive, epsilon: float, seed: int) -> Model:
    """Return interpret's learner with the same public bounds."""
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    bounds = {
        i: (float(attribute.lo), float(attribute.hi))
        for i, attribute in enumerate(data.domain[name] for name in data.domain)
        if hasattr(attribute, "lo")
    }
    kinds = ["continuous" if i in bounds else "nominal" for i in range(len(data.domain))]
    common = {
        "epsilon": epsilon,
        "delta": DELTA,
        "feature_types": kinds,
        "privacy_bounds": bounds,
        "random_state": None,
    }
    if data.classes is not None:
        return DPExplainableBoostingClassifier(**common)
    lo, hi = data.target_range or (0.0, 1.0)
    return DPExplainableBoostingRegressor(privacy_target_min=lo, privacy_target_max=hi, **common)


METHODS = (
    Method(name="penalized", make=ours("penalized")),
    Method(name="boosting gdp", make=ours("boosting"), published="DP-EBM GDP"),
    Method(name="boosting classic", make=ours("boosting", accounting="classic"), published="DP-EBM classic"),
    Method(name="interpret", make=interpret, published="DP-EBM GDP"),
    Method(name="ordinary penalized", make=ordinary("penalized"), private=False),
    Method(name="ordinary boosting", make=ordinary("boosting"), published="DP-EBM GDP", private=False),
)


def filled(frame: pl.DataFrame) -> Any:
    """Return records as interpret's private binning takes them: without gaps, as in the raw files, in pandas."""
    return frame.with_columns(pl.col(pl.String).fill_null("?"), pl.col(pl.Float64).fill_null(0.0)).to_pandas()


def measures(data: Additive, model: Model, rows: np.ndarray, *, pandas: bool) -> dict[str, float]:
    """Return the test figures of a fitted model."""
    frame: Any = filled(data.frame[rows]) if pandas else data.frame[rows]
    truth = data.target[rows]
    if data.classes is None:
        return {"rmse": float(np.sqrt(np.mean((model.predict(frame) - truth) ** 2)))}
    chance = np.asarray(model.predict_proba(frame))[:, 1]
    positive = truth == data.classes[1]
    return {
        "auroc": float(roc_auc_score(positive, chance)),
        "accuracy": float(accuracy_score(positive, chance > 0.5)),
        "log-loss": float(log_loss(positive, chance)),
    }


def cell(data: Additive, method: Method, epsilon: float, splits: int) -> list[dict[str, str]]:
    """Return the rows of one dataset, budget and method: mean and standard deviation of each measure."""
    found: dict[str, list[float]] = {}
    seconds = 0.0
    for seed in range(splits):
        train, test = data.split(seed)
        model = method.make(data, epsilon, seed)
        frame: Any = filled(data.frame[train]) if method.make is interpret else data.frame[train]
        start = time.process_time()
        model.fit(frame, data.target[train])
        seconds += time.process_time() - start
        for name, value in measures(data, model, test, pandas=method.make is interpret).items():
            found.setdefault(name, []).append(value)
    return [
        {
            "dataset": data.name,
            "epsilon": f"{epsilon:g}",
            "method": method.name,
            "measure": name,
            "mean": f"{statistics.fmean(values):.6g}",
            "sd": f"{statistics.stdev(values):.3g}",
            "splits": str(splits),
            "seconds": f"{seconds / splits:.3f}",
            "values": " ".join(f"{value:.6g}" for value in values),
        }
        for name, values in found.items()
    ]


def published(table: int, measure: str) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Return the paper's means and standard deviations by dataset, epsilon and method."""
    rows = read(HERE / f"published_table_{table}.csv")
    return {
        (row["dataset"], row["epsilon"], row["method"]): (float(row[f"{measure}_mean"]), float(row[f"{measure}_sd"]))
        for row in rows
    }


def run(table: int, measure: str, names: Sequence[str], arguments: Sequence[str] | None, about: str) -> None:
    """Measure a table and print it beside the published one."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--full", action="store_true", help="25 splits, as published, instead of 5")
    parser.add_argument("--datasets", nargs="*", default=list(names), help="some of the datasets")
    parser.add_argument("--methods", nargs="*", help="some of the methods")
    parser.add_argument("--epsilons", nargs="*", type=float, default=[*EPSILONS, NON_PRIVATE])
    given = parser.parse_args(arguments)
    splits = 25 if given.full else 5
    path = HERE / "results" / f"table_{table}.csv"
    make_folders(path.parent)
    rows = read(path)
    printed = published(table, measure)
    for name in given.datasets:
        data = LOADERS[name]()
        for epsilon in given.epsilons:
            for method in METHODS:
                if method.private == math.isinf(epsilon) or (given.methods and method.name not in given.methods):
                    continue
                key = {"dataset": name, "epsilon": f"{epsilon:g}", "method": method.name}
                old = [row for row in rows if all(row[field] == value for field, value in key.items())]
                if not old or int(old[0]["splits"]) < splits:
                    rows = [row for row in rows if row not in old]
                    old = cell(data, method, epsilon, splits)
                    rows += old
                    write(path, rows)
                _show(old, measure, method, printed)


def _show(
    rows: Sequence[dict[str, str]], measure: str, method: Method, printed: dict[Any, tuple[float, float]]
) -> None:
    row = next(row for row in rows if row["measure"] == measure)
    paper = printed.get((row["dataset"], row["epsilon"], method.published or "DP-EBM GDP"))
    beside = "" if paper is None else f"   published {paper[0]:g} +- {paper[1]:g}"
    say(f"{row['dataset']:11} {row['epsilon']:>4} {method.name:17} {row['mean']:>9} +- {row['sd']:<8}{beside}")
