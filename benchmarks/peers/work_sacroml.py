"""Work of SACRO-ML: its structural attack on a tree of scikit-learn."""

from __future__ import annotations

import logging
import os
import tempfile
import warnings
from typing import Any

import numpy as np
from protocol import stopwatch
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


WORKS = {"structural": structural}
