"""Hyperparameters that a file states: read as a statement, used where counts are lacking, doubted where they clash."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import Domain, as_model, audit
from glassine.auditing.audit_settings import AuditSettings
from glassine.auditing.criterion import Check
from glassine.auditing.findings import Findings
from glassine.auditing.statements import Statements
from glassine.formats import load_file
from glassine.formats.sklearn.parameters import stated_parameters
from glassine.learners import OptimalRuleListClassifier, OptimalTreeClassifier, OptimalTreeRegressor
from tests.policies import NORM

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.integers(0, 2, 400), "b": RNG.integers(0, 2, 400)})
LABELS = (FRAME["a"] ^ (RNG.random(400) < 0.2)).to_numpy().astype(int)
DOMAIN = Domain.binary(["a", "b"])


class DL85Classifier:
    """What pydl8.5 leaves behind: leaves with labels, and the support that they had to have."""

    def __init__(self, min_sup: int, proba: Any = None, error: float | None = None) -> None:
        self.min_sup, self.classes_, self.max_depth = min_sup, [0, 1], 1
        known = {} if proba is None else {"proba": proba, "error": error}
        self.tree_ = {"feat": 0, "left": {"value": 1}, "right": {"value": 0, **known}}


def the(findings: Findings, rule: str) -> Check:
    (check,) = [check for check in findings.checks if check.rule == rule]
    return check


@pytest.mark.parametrize(
    ("support", "leaf", "advantage"), [(9, "unknown", "unknown"), (45, "pass", "unknown"), (200, "pass", "pass")]
)
def test_leaves_without_counts_hold_the_support_that_the_file_states(support: int, leaf: str, advantage: str) -> None:
    findings = audit(DL85Classifier(support), domain=DOMAIN, policy=NORM)
    assert the(findings, "smallest_leaf").status == leaf
    assert the(findings, "largest_advantage").status == advantage
    if leaf == "pass":
        assert f"as the file (min_sup={support}) states" in the(findings, "smallest_leaf").meaning
    if advantage == "pass":
        assert the(findings, "largest_advantage").meaning.startswith("With at least 200 records per leaf, as the file")
    # What is stated in words comes first; the model as a value states nothing.
    said = AuditSettings(statements=Statements(smallest_leaf=12))
    words = the(audit(DL85Classifier(support), domain=DOMAIN, settings=said, policy=NORM), "smallest_leaf")
    assert (words.status, words.meaning) == (
        "pass",
        "Every non-empty leaf holds at least 10 records, as the publisher states.",
    )
    assert (
        the(audit(as_model(DL85Classifier(support), DOMAIN), domain=DOMAIN, policy=NORM), "smallest_leaf").status
        == "unknown"
    )


def test_a_size_that_is_published_counts_more_than_what_is_stated() -> None:
    # One error in a share of a quarter: four records.
    small = DL85Classifier(50, proba=[0.75, 0.25], error=1.0)
    check = the(audit(small, domain=DOMAIN, policy=NORM), "smallest_leaf")
    assert check.status == "fail"
    (note,) = [note for note in audit(small, domain=DOMAIN, policy=NORM).notes if "was changed after training" in note]
    assert note.startswith("The file states min_sup=50, but a leaf publishes fewer records")


def test_a_parameter_that_was_set_after_training_is_noted_and_the_counts_judge() -> None:
    tree = DecisionTreeClassifier(random_state=0).fit(FRAME.assign(c=np.arange(400)), LABELS)
    tree.set_params(min_samples_leaf=500)
    findings = audit(tree, policy=NORM)
    assert the(findings, "smallest_leaf").status == "fail"
    assert any("min_samples_leaf=500" in note for note in findings.notes)
    honest = DecisionTreeClassifier(min_samples_leaf=0.1, random_state=0).fit(FRAME, LABELS)
    assert not any("states min_samples_leaf" in note for note in audit(honest, policy=NORM).notes)
    assert audit(honest, policy=NORM).to_dict()["subject"]["parameters"]["min_samples_leaf"] == 0.1


def test_a_regression_of_pystreed_states_its_least_leaf() -> None:
    pystreed = pytest.importorskip("pystreed")
    fitted = pystreed.STreeDRegressor(max_depth=2, min_leaf_node_size=40).fit(FRAME, LABELS + 0.0)
    check = the(audit(fitted, domain=DOMAIN, policy=NORM), "smallest_leaf")
    assert (check.status, "min_leaf_node_size=40" in check.meaning) == ("pass", True)


@pytest.mark.parametrize("learner", [OptimalTreeClassifier, OptimalRuleListClassifier, OptimalTreeRegressor])
def test_our_optimal_models_state_their_least_leaf(learner: Any) -> None:
    fitted = learner(2, domain=DOMAIN, min_samples_leaf=30).fit(FRAME, LABELS)
    stated = stated_parameters(fitted)
    assert stated is not None
    assert (stated.smallest_leaf, stated.stated_leaf) == (30, "min_samples_leaf=30")
    findings = audit(fitted, domain=DOMAIN, policy=NORM)
    assert findings.to_dict()["subject"]["parameters"]["min_samples_leaf"] == 30
    assert not any("was changed after training" in note for note in findings.notes)
    # A parameter that was set after training proves nothing, and the counts judge.
    fitted.min_samples_leaf = 399
    assert any("states min_samples_leaf=399" in note for note in audit(fitted, domain=DOMAIN, policy=NORM).notes)


def test_a_share_of_our_records_is_read_by_its_decimals() -> None:
    # In floating point, seven hundredths of 100 records are more than seven.
    assert 0.07 * 100 > 7
    stated = stated_parameters(
        OptimalTreeClassifier(2, domain=DOMAIN, min_samples_leaf=0.07).fit(FRAME[:100], LABELS[:100])
    )
    assert stated is not None
    assert stated.smallest_leaf == 7


def test_a_file_states_the_parameters_of_its_estimator(tmp_path: Path) -> None:
    (tmp_path / "tree.pickle").write_bytes(pickle.dumps(DL85Classifier(60)))
    findings = audit(load_file(tmp_path / "tree.pickle", DOMAIN, trust_pickle=True), domain=DOMAIN, policy=NORM)
    assert the(findings, "smallest_leaf").status == "pass"
    assert findings.to_dict()["subject"]["parameters"] == {"max_depth": 1, "min_sup": 60}


def test_parameters_are_those_of_the_tree_at_the_end_and_texts_of_a_file_are_not_repeated() -> None:
    tree = DecisionTreeClassifier(min_samples_leaf=7, max_features="sqrt")
    search = GridSearchCV(tree, {"max_depth": [2]}, cv=2).fit(FRAME, LABELS)
    for obj in (tree, make_pipeline(StandardScaler(), tree), search):
        stated = stated_parameters(obj)
        assert stated is not None
        assert (stated.smallest_leaf, stated.values["max_features"]) == (7, "sqrt")
    share = stated_parameters(DecisionTreeRegressor(min_samples_leaf=0.101).fit(FRAME, LABELS))
    assert share is not None
    assert share.smallest_leaf == 41
    odd = stated_parameters(DecisionTreeClassifier(max_features="Ada, 36, ill", min_samples_leaf="many"))
    assert odd is not None
    assert (odd.values["max_features"], odd.values["min_samples_leaf"], odd.smallest_leaf) == ("other", "other", None)
    # The trees of a bootstrap hold draws, and a model is no estimator.
    forest = stated_parameters(RandomForestClassifier(min_samples_leaf=9))
    assert forest is not None
    assert forest.smallest_leaf is None
    assert stated_parameters(as_model(search)) is None
