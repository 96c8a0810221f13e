"""Private summaries: ``python benchmarks/summaries.py [--data adult] [--epsilons 1 4] [--splits 3]``.

Prints, as CSV, AUC and accuracy on a fifth of the records that is kept aside, or RMSE and R squared of a number, of
models from one summary and of direct fits at the same budget, and processor seconds. With ``--shared 2 4`` also of one
of so many direct fits that share this budget. Noise comes from the operating system, or with ``--seed`` from a seed
and the split's number. ``GLASSINE_DATA`` names the data.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import public_data  # noqa: E402 - after the path is set
from benchmarks.additive_data import LOADERS, Additive  # noqa: E402
from glassine.learners import (  # noqa: E402
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateSummary,
    PrivateTreeRegressor,
)
from glassine.learners.publishing import probabilities  # noqa: E402
from glassine.models import AdditiveModel  # noqa: E402
from glassine.privacy.conversions import epsilon_from_mu, mu_from_epsilon  # noqa: E402
from glassine.records.reading import read_settled  # noqa: E402


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the processor seconds that it took."""
    used = time.process_time()
    result = work()
    return result, time.process_time() - used


def fitted(make: Callable[[], Any], frame: Any, target: Any) -> Any:
    """Return the model of a fit."""
    return make().fit(frame, target).model_


def german() -> Additive:
    """Return the German credit data, twelve of their attributes."""
    data = public_data.german()
    return Additive(
        name="german", frame=data.frame, target=data.labels, domain=data.domain, classes=tuple(data.classes)
    )


def direct(data: Additive, epsilon: float, **public: Any) -> dict[str, Callable[[], Any]]:
    """Return what fits an additive model, and of a number a tree of depth 3, at a budget of its own."""
    if data.target_range is None:
        return {"additive": lambda: PrivateEBMClassifier(epsilon=epsilon, delta=1e-6, classes=data.classes, **public)}
    public["target_range"] = data.target_range
    return {
        "additive": lambda: PrivateEBMRegressor(epsilon=epsilon, delta=1e-6, **public),
        "tree of depth 3": lambda: PrivateTreeRegressor(3, epsilon=epsilon, **public),
    }


def quality(model: Any, records: Any, truth: np.ndarray, *, number: bool) -> tuple[float, float]:
    """Return AUC and accuracy; or root mean squared error, and its square as a share of the variance, from one."""
    if number:
        errors = float(((model.predict(records) - truth) ** 2).mean())
        return errors**0.5, 1 - errors / float(truth.var())
    of_bins = isinstance(model, AdditiveModel)
    chances = model.predict_proba(records)[:, 1] if of_bins else probabilities(model)[model.apply(records), 1]
    return float(roc_auc_score(truth, chances)), float(((chances > 0.5) == truth).mean())


def main() -> None:
    """Print one line for each budget, split and model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", choices=[*LOADERS, "german"], default="adult")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 0.5, 1.0, 4.0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--shared", type=int, nargs="*", default=[], help="direct fits that share the budget")
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    data = german() if given.data == "german" else LOADERS[given.data]()
    number = data.target_range is not None
    figures = "rmse,r2" if number else "auc,accuracy"
    sys.stdout.write(f"epsilon,split,model,{figures},seconds\n")
    for split, epsilon in itertools.product(range(given.first, given.first + given.splits), given.epsilons):
        train, test = data.split(split)
        records, target = (
            read_settled(data.frame[test], data.domain, keep_undeclared=True),
            np.asarray(data.target[test]),
        )
        truth = target.astype(np.float64) if number else target == (data.classes or ())[1]
        seed = None if given.seed is None else given.seed + split
        public: dict[str, Any] = {"domain": data.domain, "random_state": seed}
        summary, spent = timed(
            partial(
                PrivateSummary(
                    epsilon=epsilon, delta=1e-6, classes=data.classes, target_range=data.target_range, **public
                ).fit,
                data.frame[train],
                data.target[train],
            )
        )
        sys.stdout.write(f"{epsilon:g},{split},summary,,,{spent:.2f}\n")
        makes: dict[str, Callable[[], Any]] = {
            "additive": summary.additive,
            "tree of depth 4": partial(summary.tree, 4),
            "list of 5 rules": partial(summary.rule_list, 5),
        }
        if number:
            makes["tree of depth 3"] = partial(summary.tree, 3)
        else:
            for measure in ("gini", "log_loss", "errors"):
                makes[f"tree of depth 4 for {measure}"] = partial(summary.tree, 4, measure)
            makes["scorecard"] = summary.scorecard
        for fits in (1, *given.shared):
            # Gaussian mechanisms compose by their squared mu: each of so many fits gets an equal share of it.
            own = epsilon if fits == 1 else epsilon_from_mu(mu_from_epsilon(epsilon, 1e-6) / fits**0.5, 1e-6)
            name = "direct" if fits == 1 else f"one of {fits} direct"
            for kind, make in direct(data, own, **public).items():
                makes[f"{kind} {name}"] = partial(fitted, make, data.frame[train], data.target[train])
        for name, make in makes.items():
            model, spent = timed(make)
            first, second = quality(model, records, truth, number=number)
            sys.stdout.write(f"{epsilon:g},{split},{name},{first:.6g},{second:.4f},{spent:.2f}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
