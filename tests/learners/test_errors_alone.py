"""With errors as the whole loss, private trees and lists are those drawn before there was any other loss."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Category, Domain, Integer
from glassine.formats import fingerprint
from glassine.learners import PrivateRuleListClassifier, PrivateTreeClassifier

DOMAIN = Domain(
    {
        "age": Integer(18, 90, thresholds=(25, 40, 60)),
        "weight": Integer(40, 150),
        "job": Category(("clerk", "baker", "pilot")),
        "smoker": Category(("no", "yes")),
    }
)


def people(n_classes: int, n: int = 500) -> tuple[pl.DataFrame, np.ndarray[Any, Any]]:
    """Return records and classes that follow age and smoking, with a fifth of noise."""
    rng = np.random.default_rng(n_classes)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 91, n),
            "weight": rng.integers(40, 151, n),
            "job": rng.choice(np.array(["clerk", "baker", "pilot"], dtype=object), n).tolist(),
            "smoker": rng.choice(["no", "yes"], n).tolist(),
        }
    )
    truth = (frame["age"].to_numpy() > 40).astype(int) + (frame["smoker"].to_numpy() == "yes")
    return frame, (truth + (rng.random(n) < 0.2)) % n_classes


# Hash of the model and of what the certificate states of its releases, as before there were losses, and sides of gaps.
SEEDED: dict[str, tuple[Callable[[], Any], int, str]] = {
    "tree of depth 2": (lambda: tree(2, 0.3), 2, "29345cfa8b4ff2ab"),
    "tree of depth 3 over quantiles": (lambda: tree(3, 2.0, literals="quantiles"), 2, "274c20ab2243e6a3"),
    "tree of three classes": (lambda: tree(2, 1.0), 3, "c628be1c97b98126"),
    "tree without counts": (lambda: tree(3, 0.1, leaf_counts_share=0.0), 2, "5f0bec9c0da3f4af"),
    "tree of persons": (lambda: tree(2, 1.0, records_per_person=2), 2, "6f3db8e31c0c65d7"),
    "rule list": (lambda: rules(3, 0.5), 2, "9cb6ca528ff70f1a"),
    "rule list of three classes": (lambda: rules(2, 1.0, rule_weight=0.1), 3, "491b090957534aff"),
}


def tree(depth: int, epsilon: float, **more: Any) -> Any:
    return PrivateTreeClassifier(depth, epsilon=epsilon, domain=DOMAIN, random_state=7, **ERRORS, **more)


def rules(length: int, epsilon: float, **more: Any) -> Any:
    return PrivateRuleListClassifier(length, epsilon=epsilon, domain=DOMAIN, random_state=7, **ERRORS, **more)


ERRORS: dict[str, Any] = {"accuracy_share": 1.0}


@pytest.mark.parametrize("name", SEEDED)
def test_a_seeded_fit_that_counts_errors_alone_is_as_it_was_before_there_were_other_losses(name: str) -> None:
    make, n_classes, expected = SEEDED[name]
    assert digest(make(), n_classes) == expected


def digest(learner: Any, n_classes: int) -> str:
    frame, y = people(n_classes)
    learner.set_params(classes=tuple(range(n_classes)))
    whose = {} if learner.records_per_person is None else {"persons": np.arange(len(y)) // 3}
    learner.fit(frame, y, **whose)
    stated = learner.certificate_.to_dict()
    kept = {name: stated[name] for name in ("epsilon", "delta", "events", "public", "caveats", "unit")}
    text = fingerprint(learner.model_) + json.dumps(kept, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
