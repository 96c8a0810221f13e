"""Work of SACRO-ML: its structural attack, and its membership attacks, on a tree of scikit-learn."""

from __future__ import annotations

import logging
import os
import tempfile
import warnings
from typing import Any

import numpy as np
from protocol import stopwatch
from sacroml.attacks.likelihood_attack import LIRAAttack
from sacroml.attacks.meta_attack import MetaAttack
from sacroml.attacks.qmia_attack import QMIAAttack
from sacroml.attacks.structural_attack import StructuralAttack
from sacroml.attacks.target import Target
from sklearn.tree import DecisionTreeClassifier
from warm import Done, Work, split


def structural(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the attack, without the report that it may write; the tree is learnt beforehand."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    # A folder for its output is made wherever it runs.
    os.chdir(tempfile.mkdtemp())
    Z, y = arrays["Z"], arrays["y"]

    def work(seed: int) -> Done:
        train, test = split(len(y), seed)
        tree = DecisionTreeClassifier(random_state=0, **settings["tree"]).fit(Z[train], y[train])
        target = Target(model=tree, X_train=Z[train], y_train=y[train], X_test=Z[test], y_test=y[test])
        with stopwatch() as seconds:
            attack = StructuralAttack(write_report=False, report_individual=True)
            attack.attack(target)
        sizes = np.array(attack.record_level_results.k_anonymity)
        certain = np.array(attack.record_level_results.class_disclosure)
        return seconds, {
            "leaves": int(np.count_nonzero(tree.tree_.children_left < 0)),
            "smallest": int(sizes.min()),
            "in small leaves": int((sizes < settings["small"]).sum()),
            "certain": int(certain.sum()),
            "says": {
                "k-anonymity": attack.results.k_anonymity_risk,
                "class disclosure": attack.results.class_disclosure_risk,
                "small groups": attack.results.smallgroup_risk,
            },
        }

    return work


def membership(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the attacks with the scores of members and others; the tree is learnt beforehand."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    os.chdir(tempfile.mkdtemp())
    Z, y, side = arrays["Z"], arrays["y"], settings["side"]

    def work(seed: int) -> Done:
        order = np.random.default_rng(seed).permutation(len(y))
        members, others, _, apart = (order[i * side : (i + 1) * side] for i in range(4))
        learnt = apart if settings["target"] == "control" else members
        tree = DecisionTreeClassifier(random_state=0, **settings["tree"]).fit(Z[learnt], y[learnt])
        target = Target(model=tree, X_train=Z[members], y_train=y[members], X_test=Z[others], y_test=y[others])
        with stopwatch() as seconds:
            scores = MEMBERSHIP[settings["attack"]](target, settings["shadows"])
        return seconds, {"scores": [float(score) for score in scores]}

    return work


def by_likelihood(target: Any, shadows: int) -> Any:
    """Return the scores of its likelihood ratio attack, online."""
    attack = LIRAAttack(write_report=False, report_individual=True, mode="online-carlini", n_shadow_models=shadows)
    attack.attack(target)
    return attack.attack_metrics[0]["individual"]["member_prob"]


def by_quantiles(target: Any, shadows: int) -> Any:
    """Return the margins of its quantile attack, which has no shadow models."""
    attack = QMIAAttack(write_report=False, report_individual=True)
    attack.attack(target)
    if not attack.attack_metrics:
        raise ValueError("it calls its regressor degenerate")
    return attack.attack_metrics[0]["individual"]["margin"]


def by_all(target: Any, shadows: int) -> Any:
    """Return the mean membership score of its meta attack."""
    attacks = [("lira", {"n_shadow_models": shadows}), ("qmia", {}), ("structural", {})]
    attack = MetaAttack(attacks, write_report=False)
    attack.attack(target)
    return attack.vulnerability_df["mia_mean"]


MEMBERSHIP = {"SACRO-ML LiRA": by_likelihood, "SACRO-ML QMIA": by_quantiles, "SACRO-ML meta": by_all}

WORKS = {"structural": structural, "membership": membership}
