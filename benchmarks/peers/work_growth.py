"""Work of Glassine on made records of any size, for how its time grows."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from protocol import stopwatch
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from warm import Done, Work
from work_glassine import counting

import glassine
from glassine import Domain, Real
from glassine.desk import Desk, Person


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


def numbers(n: int, p: int, draw: int = 0) -> tuple[pd.DataFrame, Any]:
    """Return records of numbers between 0 and 1, and classes that hang on three of them."""
    rng = np.random.default_rng([n, p, draw])
    X = pd.DataFrame(rng.random((n, p)), columns=[f"x{i}" for i in range(p)])
    y = (X["x0"] + X["x1"] * X["x2"] > 0.8).to_numpy() ^ (rng.random(n) < 0.2)
    return X, y.astype(np.int64)


def private_tree(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the draw of a private tree of depth 3 over quantiles of numbers."""
    X, y = numbers(settings["n"], settings["p"])
    domain = Domain({name: Real(0.0, 1.0) for name in X})
    return fitting(glassine.learners.PrivateTreeClassifier(3, epsilon=1.0, domain=domain, classes=(0, 1)), X, y)


def summary(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the fit of a private summary of numbers."""
    X, y = numbers(settings["n"], settings["p"])
    domain = Domain({name: Real(0.0, 1.0) for name in X})
    return fitting(glassine.learners.PrivateSummary(epsilon=1.0, domain=domain, classes=(0, 1)), X, y)


def auditing(fit: Callable[[int], Any], **asked: Any) -> Work:
    """Return the audit of a model that is fitted again with each number: of equal models some reading is kept."""
    warnings.simplefilter("ignore")
    numbered = count()

    def work(seed: int) -> Done:
        model = fit(next(numbered))
        with stopwatch() as seconds:
            glassine.audit(model, **asked)
        return seconds, {}

    return work


def audit(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the audit of a tree of scikit-learn with its records, and a quarter as many that were kept aside."""
    n, p = settings["n"], settings["p"]
    (X, y), (others, truth) = numbers(n, p), numbers(n // 4, p, draw=1)
    tree = DecisionTreeClassifier(max_leaf_nodes=settings["leaves"], random_state=0).fit(X, y)
    data, holdout = X.assign(target=y), others.assign(target=truth)
    return auditing(lambda _: tree, data=data, target="target", holdout=holdout)


def forest(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the audit of a forest of scikit-learn alone."""
    X, y = numbers(5_000, 10)

    def fit(number: int) -> Any:
        made = RandomForestClassifier(settings["trees"], max_leaf_nodes=settings["leaves"], random_state=number)
        return made.fit(X, y)

    return auditing(fit, domain=Domain({name: Real(0.0, 1.0) for name in X}))


def capacity(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return what no attack on a tree of a class exceeds on average."""

    def work(seed: int) -> Done:
        with stopwatch() as seconds:
            declared = glassine.capacity.tree_class(settings["questions"], settings["depth"], 2)
            glassine.capacity.average_case(declared, 1_000, 2_000 + seed)
        return seconds, {}

    return work


def desk(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the first look of a desk at a folder: every file is read, hashed and recorded."""
    rules = "if [age <= {}.5] then [true] ([23 ; 41] examples)\nelse [false] ([520 ; 90] examples)\n"

    def work(seed: int) -> Done:
        with tempfile.TemporaryDirectory() as scratch:
            for i in range(settings["files"]):
                (Path(scratch) / f"rules-{i}.txt").write_text(rules.format(i))
            with stopwatch() as seconds:
                opened = Desk(Path(scratch), Person(account="a", name="A", role="checker"))
                opened.scan()
        return seconds, {}

    return work


def explainer(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the fit of an explainer of a black box that looks at one number."""
    X, _ = numbers(settings["n"], settings["p"])

    def predict(frame: pd.DataFrame) -> Any:
        return (frame["x0"].to_numpy() > 0.5).astype(np.int64)

    def work(seed: int) -> Done:
        learner = glassine.surrogates.SurrogateExplainer(predict, k=settings["k"])
        with stopwatch() as seconds:
            learner.fit(X)
        return seconds, {}

    return work


WORKS = {
    "private tree": private_tree,
    "summary": summary,
    "audit": audit,
    "forest": forest,
    "capacity": capacity,
    "desk": desk,
    "explainer": explainer,
    "tree": tree,
    "rule list": rule_list,
    "additive": additive,
    "microaggregation": microaggregation,
    "worlds": worlds,
}
