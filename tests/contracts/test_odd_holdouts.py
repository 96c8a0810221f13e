"""Contract: an audit of every kind of model refuses no record of the training data or of a holdout for a value."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import glassine
from glassine import Binary, Category, Domain, Integer
from glassine.attacks.outcome import Measured
from glassine.data import Sample
from glassine.domain import OneOf
from glassine.learners import EBMClassifier, GreedyRuleListClassifier, OptimalTreeClassifier
from glassine.models import DecisionTree, Evidence
from glassine.models.tree import Branch, Node

N = 60
RNG = np.random.default_rng(0)
X = pd.DataFrame({"x": RNG.integers(0, 50, N), "k": RNG.integers(0, 2, N)})
Y = (X["x"] > 25).astype(int).to_numpy()
DOMAIN = Domain({"x": Integer(0, 50), "k": Binary()})


def with_cell(cell: Any) -> pd.DataFrame:
    """Return the records with one odd value among the numbers."""
    frame = X.astype({"x": object})
    frame.loc[3, "x"] = cell
    return frame


RECORDS: dict[str, pd.DataFrame] = {
    "a text": with_cell("abc"),
    "a text of a number": with_cell("7"),
    "a mark of a gap": with_cell("?"),
    "a list": with_cell([1]),
    "texts of numbers": X.astype({"x": str}),
}
MODELS: dict[str, Any] = {
    "tree": OptimalTreeClassifier(max_depth=2, domain=DOMAIN).fit(X, Y).model_,
    "rule list": GreedyRuleListClassifier(domain=DOMAIN, classes=(0, 1)).fit(X, Y).model_,
    "additive model": EBMClassifier(domain=DOMAIN, classes=(0, 1)).fit(X, Y).model_,
    "scikit-learn's tree": DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y),
    "forest": RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, Y),
    "boosted trees": GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0).fit(X, Y),
    "regression": LogisticRegression().fit(X, Y),
}


@pytest.mark.parametrize("kind", RECORDS)
@pytest.mark.parametrize("name", MODELS)
def test_an_audit_refuses_no_odd_value(name: str, kind: str) -> None:
    odd = RECORDS[kind]
    for domain in (DOMAIN, None):
        for holdout in (None, Sample(X, Y), Sample(odd, Y)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                findings = glassine.audit(MODELS[name], odd, Y, domain=domain, holdout=holdout)
            unread = kind in ("a text", "a list") or (kind == "a mark of a gap" and domain is not None)
            assert not (unread and findings.verdict == "within policy")
            assert any("x: " in str(note) and "outside" in str(note) for note in findings.notes) >= (
                unread and domain is not None
            )


@pytest.mark.parametrize("spelled", ["?", "NA", "NaN"])
def test_membership_is_attacked_on_the_records_as_the_domain_reads_them(spelled: str) -> None:
    """A value that a domain declares is a value to every attack, however else it would be read."""
    rng = np.random.default_rng(1)
    job = rng.choice(["a", "b", "other"], 400)
    ill = np.where(rng.random(400) < np.where(job == "a", 0.8, 0.3), 1, 0)

    def measured(name: str) -> Any:
        frame = pd.DataFrame({"job": np.where(job == "other", name, job)})
        split = Node(branches=(Branch(OneOf("job", ("a",)), 1), Branch(OneOf("job", ("a",), negated=True), 2)))
        leaves = (Node(evidence=Evidence(label=1)), Node(evidence=Evidence(label=0)))
        tree = DecisionTree(nodes=(split, *leaves), attributes=("job",), classes=(0, 1))
        domain = Domain({"job": Category(("a", "b", name))})
        holdout = Sample(frame[200:], ill[200:])
        outcome = glassine.audit(tree, frame[:200], ill[:200], domain=domain, holdout=holdout).measured["membership"]
        assert isinstance(outcome, Measured)
        return outcome.value

    advantages = [[one.advantage for one in measured(name).attacks] for name in (spelled, "q")]
    assert advantages[0] == advantages[1]
    assert any(advantages[0])
