"""Seeded fits of every learner, and of the explainer: the model, its certificate and what it predicts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import glassine as g

from .scene import JOBS, NAMES, NUMBERS, attributes, decide, domain, people

__all__ = ["FITS", "fit"]

Make = Callable[[], Any]
USUAL: dict[str, Any] = {"classes": ("no", "yes"), "random_state": 0}


def classifier(kind: str, *parameters: Any, **options: Any) -> Make:
    """Return a maker of a private classifier, by its public name."""
    return lambda: getattr(g.learners, kind)(*parameters, **({"epsilon": 1.0, "domain": domain(), **USUAL} | options))


def regressor(**options: Any) -> Make:
    """Return a maker of a private additive regression."""
    usual: dict[str, Any] = {"epsilon": 1.0, "target_range": (0, 15), "random_state": 0}
    return lambda: g.learners.PrivateEBMRegressor(**({"domain": domain()} | usual | options))


def numbers(kind: str, **options: Any) -> Make:
    """Return a maker of a regression tree, by its public name."""
    usual: dict[str, Any] = {"max_depth": 2, "domain": domain(), "target_range": (0, 15), "literals": "thresholds"}
    return lambda: getattr(g.learners, kind)(**usual, **options)


def explainer(**options: Any) -> Make:
    """Return a maker of an explainer of the black box."""
    usual: dict[str, Any] = {"classes": ("no", "yes"), "distance": "gower", "random_state": 0}
    return lambda: g.surrogates.SurrogateExplainer(decide, **({"k": 40, "domain": domain()} | usual | options))


def older(frame: Any) -> Any:
    """Decide by numbers alone."""
    return np.where((np.asarray(frame["age"]) > 50) & (np.asarray(frame["hours"]) < 60), "yes", "no")


def greedy(mechanism: str, **options: Any) -> Make:
    """Return a maker of a greedy rule list."""
    return classifier("PrivateGreedyRuleListClassifier", 2, mechanism=mechanism, literals="thresholds", **options)


FITS: dict[str, Make] = {
    "private tree": classifier("PrivateTreeClassifier", 2, literals="thresholds"),
    "private tree, quantiles": classifier("PrivateTreeClassifier", 2, n_quantiles=3, quantile_share=0.3),
    "private tree, no counts": classifier("PrivateTreeClassifier", 2, literals="thresholds", leaf_counts_share=0.0),
    "private tree, split weight": classifier("PrivateTreeClassifier", 2, literals="thresholds", split_weight=0.5),
    "private tree, persons": classifier("PrivateTreeClassifier", 1, literals="thresholds", records_per_person=3),
    "private tree, gaps": classifier(
        "PrivateTreeClassifier", 1, domain=g.Domain(attributes(job=g.Category(JOBS, missing=True)))
    ),
    "regression, private tree": numbers("PrivateTreeRegressor", epsilon=1.0, random_state=0),
    "regression, optimal tree": numbers("OptimalTreeRegressor"),
    "private scorecard": classifier("PrivateScorecardClassifier"),
    "scorecard": lambda: g.learners.ScorecardClassifier(domain=domain()),
    "regression, private scorecard": lambda: g.learners.PrivateScorecardRegressor(
        domain=domain(), target_range=(0, 15), epsilon=1.0, random_state=0
    ),
    "regression, scorecard": lambda: g.learners.ScorecardRegressor(domain=domain()),
    "private rules": classifier("PrivateRuleListClassifier", 2, literals="thresholds"),
    "private rules, pairs": classifier("PrivateRuleListClassifier", 1, pool="pairs", literals="thresholds"),
    "private rules, quantiles": classifier("PrivateRuleListClassifier", 1, n_quantiles=2, rule_weight=0.5),
    "greedy, counted gini": greedy("counted-gini"),
    "greedy, smooth laplace": greedy("smooth-laplace", delta=1e-6),
    "greedy, smooth cauchy": greedy("smooth-cauchy"),
    "greedy, global laplace": greedy("global-laplace"),
    "greedy, global gaussian": greedy("global-gaussian", delta=1e-6),
    "greedy, global exponential": greedy("global-exponential"),
    "greedy, noisy counts": greedy("noisy-counts"),
    "greedy, as published": greedy("smooth-cauchy", accounting="published"),
    "greedy, persons": greedy("counted-gini", records_per_person=3),
    "additive, penalized": classifier("PrivateEBMClassifier"),
    "additive, boosting": classifier("PrivateEBMClassifier", algorithm="boosting"),
    "additive, boosting, classic": classifier("PrivateEBMClassifier", algorithm="boosting", accounting="classic"),
    "additive, pairs": classifier("PrivateEBMClassifier", interactions=1, epsilon=4.0),
    "additive, chosen pairs": classifier("PrivateEBMClassifier", interactions="auto", epsilon=4.0),
    "additive, monotone": classifier("PrivateEBMClassifier", monotone={"age": "increasing"}),
    "additive, persons": classifier("PrivateEBMClassifier", records_per_person=3),
    "additive, not private": lambda: g.learners.EBMClassifier(domain=domain()),
    "regression, not private": lambda: g.learners.EBMRegressor(domain=domain()),
    "regression, penalized": regressor(),
    "regression, boosting": regressor(algorithm="boosting"),
    "regression, pairs": regressor(interactions=1, epsilon=4.0),
    "optimal tree": lambda: g.learners.OptimalTreeClassifier(2, domain=domain(), n_quantiles=4),
    "optimal tree, penalty": lambda: g.learners.OptimalTreeClassifier(
        3, domain=domain(), literals="thresholds", penalty=0.02
    ),
    "optimal rules": lambda: g.learners.OptimalRuleListClassifier(2, domain=domain(), literals="thresholds"),
    "optimal rules, pairs": lambda: g.learners.OptimalRuleListClassifier(
        1, domain=domain(), pool="pairs", literals="thresholds"
    ),
    "greedy, not private": lambda: g.learners.GreedyRuleListClassifier(3, domain=domain()),
    "multiway tree": lambda: g.learners.MultiwayTreeClassifier(min_samples_split=60, domain=domain()),
    "multiway tree, entropy": lambda: g.learners.MultiwayTreeClassifier(
        criterion="entropy", max_depth=2, domain=domain()
    ),
    "explainer": explainer(),
    "explainer, paper": explainer(form="paper", min_samples_leaf=1),
    "explainer, v-mdav": explainer(gamma=0.2, k=30),
    "explainer, numbers": explainer(distance="euclidean", scaling="none", max_depth=2, k=60),
    "explainer, private": explainer(epsilon=1.0, partition="public", n_cells=4),
    "explainer, private, microaggregation": explainer(epsilon=1.0, k=60, fixed_black_box=True),
}
"""Learners by name, each with its seed."""


def text(learner: Any, X: Any) -> str:
    """Return what a learner answers about records, as JSON."""
    answers = {"predict": np.asarray(learner.predict(X)).tolist()}
    for name in ("predict_proba", "decision_function"):
        if hasattr(learner, name):
            answers[name] = np.asarray(getattr(learner, name)(X)).tolist()
    return json.dumps(answers)


def fit(name: str, folder: Path) -> dict[str, str]:
    """Fit a learner, and return its model, its certificate and its predictions."""
    learner = FITS[name]()
    frame, others = people(), people(30, seed=2).select(NAMES)
    X = frame.select(NAMES)
    if name.startswith("explainer"):
        if name.endswith("numbers"):
            X, others = X.select(NUMBERS), others.select(NUMBERS)
            learner.set_params(predict=older, domain=domain().restrict(NUMBERS))
        release = learner.fit(X, learner.predict(X)).release_
        release.to_json(folder / "release.json")
        query = others.row(0, named=True)
        return {
            "release.json": (folder / "release.json").read_text(encoding="utf-8"),
            "explanation.json": json.dumps(release.explain(query, "yes").to_dict()),
        }
    y = frame["cost" if name.startswith("regression") else "ill"].to_numpy()
    options = {"persons": np.arange(len(y)) % 120} if name.endswith("persons") else {}
    learner.fit(X, y, **options)
    (folder / "model.json").unlink(missing_ok=True)
    g.write_model(learner.model_, folder / "model.json")
    drawn = {
        "model.json": (folder / "model.json").read_text(encoding="utf-8"),
        "predictions.json": text(learner, others),
    }
    if hasattr(learner, "certificate_"):
        drawn["certificate.json"] = learner.certificate_.to_json()
        drawn["certificate.txt"] = learner.certificate_.text()
    return drawn
