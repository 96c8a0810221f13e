"""Work of Glassine on made records of any size, for how its time grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from protocol import stopwatch
from warm import Done, Work
from work_glassine import counting

import glassine
from glassine import Domain, Real


def dummies(n: int, p: int) -> tuple[pd.DataFrame, Any]:
    """Return records of dummies, and classes that hang on three of them."""
    rng = np.random.default_rng([n, p])
    X = (rng.random((n, p)) < rng.uniform(0.2, 0.8, p)).astype(np.int64)
    y = ((X[:, 0] & X[:, 1]) | X[:, 2]) ^ (rng.random(n) < 0.1)
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(p)]), y.astype(np.int64)


def fitting(learner: Any, X: Any, y: Any) -> Work:
    """Return the fit of a learner."""

    def work(seed: int) -> Done:
        with stopwatch() as seconds:
            learner.fit(X, y)
        return seconds, {}

    return work


def tree(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the fit of an optimal tree."""
    X, y = dummies(settings["n"], settings["p"])
    return fitting(
        glassine.learners.OptimalTreeClassifier(max_depth=settings["depth"], domain=Domain.binary(list(X))), X, y
    )


def rule_list(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the fit of an optimal rule list."""
    X, y = dummies(settings["n"], settings["p"])
    return fitting(
        glassine.learners.OptimalRuleListClassifier(max_rules=settings["rules"], domain=Domain.binary(list(X))), X, y
    )


def additive(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the fit of a private additive model of numbers."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"x{i}": rng.random(settings["n"]) for i in range(settings["p"])})
    y = np.sin(3.0 * frame["x0"].to_numpy()) + rng.normal(0, 0.2, settings["n"])
    domain = Domain({name: Real(0.0, 1.0) for name in frame.columns})
    return fitting(
        glassine.learners.PrivateEBMRegressor(epsilon=1.0, delta=1e-6, domain=domain, target_range=(-1, 2)), frame, y
    )


def microaggregation(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the microaggregation of normal numbers."""
    X = np.random.default_rng(0).normal(size=(settings["n"], settings["p"]))

    def work(seed: int) -> Done:
        with stopwatch() as seconds:
            glassine.microaggregation.microaggregate(X, settings["k"])
        return seconds, {}

    return work


def worlds(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the count of the possible records of random rules of three literals over binary attributes."""
    p = settings["p"]
    rng = np.random.default_rng(settings["rules"])
    lists = np.array(
        [
            [(1 + rng.permutation(p)[:3]) * rng.choice((-1, 1), 3) for _ in range(settings["rules"])]
            for _ in range(settings["lists"])
        ]
    )
    return counting(lists, p)


WORKS = {
    "tree": tree,
    "rule list": rule_list,
    "additive": additive,
    "microaggregation": microaggregation,
    "worlds": worlds,
}
