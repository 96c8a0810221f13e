"""Work of Glassine: what ratios.py compares with other libraries, and what it follows as tasks grow.

Private fits draw their noise from the operating system, as the peers' do.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from protocol import stopwatch
from run_glassine import solve
from scoring import of_classes, of_numbers
from sklearn.tree import DecisionTreeClassifier
from warm import Done, Work, solving, split

import glassine
from glassine import Domain, RuleList
from glassine.domain import OneOf
from glassine.models import Rule


def records(arrays: dict[str, Any], domain: Domain) -> pl.DataFrame:
    """Return the columns of a dataset as a frame; a category that may be missing is where "?" stands."""
    columns = {name: pl.Series(name, arrays[f"column {name}"]) for name in domain}
    gaps = [name for name in domain if domain[name].missing and columns[name].dtype == pl.String]
    return pl.DataFrame(columns).with_columns(
        pl.when(pl.col(name) != "?").then(pl.col(name)).alias(name) for name in gaps
    )


def released(arrays: dict[str, Any], settings: dict[str, Any], kinds: tuple[Any, Any], head: tuple[Any, ...]) -> Work:
    """Return the fit of a private model: of classes by the first kind of learner, of numbers by the second."""
    domain = Domain.read(settings["domain"])
    frame, y = records(arrays, domain), arrays["y"]

    def classes(seed: int) -> Done:
        train, test = split(len(y), seed)
        known = settings["classes"]
        learner = kinds[0](*head, domain, classes=known)
        X = frame[train]
        with stopwatch() as seconds:
            learner.fit(X, y[train])
        truth, predicted = y[test] == known[1], learner.predict(frame[test]) == known[1]
        return seconds, of_classes(truth, predicted, learner.predict_proba(frame[test])[:, 1])

    def numbers(seed: int) -> Done:
        train, test = split(len(y), seed)
        learner = kinds[1](*head, domain, target_range=tuple(settings["target_range"]))
        X = frame[train]
        with stopwatch() as seconds:
            learner.fit(X, y[train])
        return seconds, of_numbers(y[test], learner.predict(frame[test]))

    return classes if "classes" in settings else numbers


def additive(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the fit of a private additive model by the default algorithm."""
    kinds = glassine.learners.PrivateEBMClassifier, glassine.learners.PrivateEBMRegressor
    return released(arrays, settings, kinds, (settings["epsilon"], settings["delta"]))


def tree(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the draw of a private tree of the default depth, at delta 0."""
    kinds = glassine.learners.PrivateTreeClassifier, glassine.learners.PrivateTreeRegressor
    return released(arrays, settings, kinds, (settings["depth"], settings["epsilon"]))


def private(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the draw of a private tree, from the array that the peer gets."""
    domain = Domain.read(settings["domain"])
    Z, y = arrays["Z"], arrays["y"]

    def work(seed: int) -> Done:
        train, test = split(len(y), seed)
        epsilon, depth = settings["epsilon"], settings["depth"]
        learner = glassine.learners.PrivateTreeClassifier(
            depth, epsilon=epsilon, domain=domain, classes=settings["classes"]
        )
        X, labels = Z[train], y[train]
        with stopwatch() as seconds:
            learner.fit(X, labels)
        return seconds, {"quality": float((learner.predict(Z[test]) == y[test]).mean())}

    return work


def rules(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the fit of a greedy rule list, or of an optimal one, on dummies."""
    X, y = arrays["X"], arrays["y"]
    frame = pd.DataFrame(X.astype(np.int64), columns=[f"x{i}" for i in range(X.shape[1])])
    domain = Domain.binary(list(frame))
    kind = {
        "greedy": glassine.learners.GreedyRuleListClassifier,
        "optimal": glassine.learners.OptimalRuleListClassifier,
    }[settings["model"]]

    def work(seed: int) -> Done:
        train, test = split(len(y), seed)
        learner = kind(max_rules=settings["max_rules"], domain=domain)
        part, labels = frame.iloc[train], y[train]
        with stopwatch() as seconds:
            learner.fit(part, labels)
        return seconds, {"quality": float((learner.predict(frame.iloc[test]) == y[test]).mean())}

    return work


def structural(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the audit of a tree of scikit-learn: of the model alone, or with its training records and a holdout."""
    warnings.simplefilter("ignore")
    domain = Domain.read(settings["domain"])
    Z, y = arrays["Z"], arrays["y"]
    frame = pd.DataFrame(Z, columns=list(domain)).assign(target=y)

    def work(seed: int) -> Done:
        train, test = split(len(y), seed)
        tree = DecisionTreeClassifier(random_state=0, **settings["tree"]).fit(frame.iloc[train, :-1], y[train])
        data, holdout = frame.iloc[train], frame.iloc[test]
        limits = glassine.AuditSettings(show_small_counts=True, only=settings["only"])
        given: dict[str, Any] = {} if settings["only"] else {"domain": domain}
        if settings["records"]:
            given |= {"data": data, "target": "target", "holdout": holdout}
        with stopwatch() as seconds:
            findings = glassine.audit(tree, settings=limits, **given)
        sizes = [part.size for part in findings.value("parts").parts if part.size]
        return seconds, {
            "leaves": findings.model.n_parts,
            "smallest": min(sizes),
            "in small leaves": sum(size for size in sizes if size < settings["small"]),
            "certain": findings.value("labels").n_certain,
            "says": {check.rule: check.status for check in findings.checks},
        }

    return work


def counting(lists: Any, n_attributes: int) -> Work:
    """Return the count of the possible records of the rules of a list; seeds go through the lists."""
    domain = Domain.binary([f"a{i}" for i in range(1, n_attributes + 1)])
    models = []
    for rows in lists:
        antecedents = [tuple(OneOf(f"a{abs(n)}", (1,), negated=bool(n < 0)) for n in row) for row in rows]
        rules = [Rule(antecedent=antecedent) for antecedent in antecedents]
        models.append(RuleList((*rules, Rule()), domain.names, (0, 1)))

    def work(seed: int) -> Done:
        with stopwatch() as seconds:
            counted = glassine.reconstruct(models[seed % len(models)], domain).worlds()
        return seconds, {"worlds": list(map(str, counted[: lists.shape[1]]))}

    return work


def count(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the count of random lists, given as numbers of attributes from 1 on, negative if negated."""
    return counting(arrays["lists"], settings["n_attributes"])


WORKS = {
    "additive": additive,
    "tree": tree,
    "private": private,
    "rules": rules,
    "structural": structural,
    "count": count,
    "solve": solving(solve),
}
