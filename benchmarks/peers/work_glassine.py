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
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier
from warm import Done, Work, solving, split

import glassine
from glassine import Domain, RuleList
from glassine.domain import OneOf
from glassine.models import Rule


def records(arrays: dict[str, Any], domain: Domain) -> pl.DataFrame:
    """Return the columns of a data set as a frame; a category that may be missing is where "?" stands."""
    columns = {name: pl.Series(name, arrays[f"column {name}"]) for name in domain}
    gaps = [name for name in domain if domain[name].missing and columns[name].dtype == pl.String]
    return pl.DataFrame(columns).with_columns(
        pl.when(pl.col(name) != "?").then(pl.col(name)).alias(name) for name in gaps
    )


def additive(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the fit of a private additive model by the default algorithm."""
    domain = Domain.from_json(settings["domain"])
    frame, y = records(arrays, domain), arrays["y"]

    def classes(seed: int) -> Done:
        train, test = split(len(y), seed)
        known = settings["classes"]
        learner = glassine.PrivateEBMClassifier(settings["epsilon"], settings["delta"], domain, classes=known)
        X = frame[train]
        with stopwatch() as seconds:
            learner.fit(X, y[train])
        scores = learner.predict_proba(frame[test])[:, 1]
        return seconds, {"quality": roc_auc_score(y[test] == known[1], scores)}

    def numbers(seed: int) -> Done:
        train, test = split(len(y), seed)
        bounds = tuple(settings["target_range"])
        learner = glassine.PrivateEBMRegressor(settings["epsilon"], settings["delta"], domain, target_range=bounds)
        X = frame[train]
        with stopwatch() as seconds:
            learner.fit(X, y[train])
        return seconds, {"quality": float(np.sqrt(np.mean((learner.predict(frame[test]) - y[test]) ** 2)))}

    return classes if "classes" in settings else numbers


def private(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the draw of a private tree, from the array that the peer gets."""
    domain = Domain.from_json(settings["domain"])
    Z, y = arrays["Z"], arrays["y"]

    def work(seed: int) -> Done:
        train, test = split(len(y), seed)
        epsilon, depth = settings["epsilon"], settings["depth"]
        learner = glassine.PrivateTreeClassifier(depth, epsilon, domain, classes=settings["classes"])
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
    kind = {"greedy": glassine.GreedyRuleListClassifier, "optimal": glassine.OptimalRuleListClassifier}[
        settings["model"]
    ]

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
    domain = Domain.from_json(settings["domain"])
    Z, y = arrays["Z"], arrays["y"]
    frame = pd.DataFrame(Z, columns=list(domain)).assign(target=y)

    def work(seed: int) -> Done:
        train, test = split(len(y), seed)
        tree = DecisionTreeClassifier(random_state=0, **settings["tree"]).fit(frame.iloc[train, :-1], y[train])
        data, holdout = frame.iloc[train], frame.iloc[test]
        with stopwatch() as seconds:
            if settings["records"]:
                findings = glassine.audit(
                    tree,
                    domain=domain,
                    data=data,
                    target="target",
                    holdout=holdout,
                    settings=glassine.AuditSettings(show_small_counts=True),
                )
            else:
                findings = glassine.audit(tree, domain=domain, settings=glassine.AuditSettings(show_small_counts=True))
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
    "private": private,
    "rules": rules,
    "structural": structural,
    "count": count,
    "solve": solving(solve),
}
