"""Names of classes: scores and rare names are refused, and a release holds those that a tree uses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from glassine.auditing.api import audit
from glassine.auditing.audit_settings import AuditSettings
from glassine.data import Sample
from glassine.domain import Domain, Integer
from glassine.errors import BlackBoxError, InvalidDataError
from glassine.surrogates import SurrogateExplainer
from tests.surrogates.scenes import numbers, ring

X = numbers(600)


def thirds(X: Any) -> Any:
    """Return three classes of many records each."""
    return np.digitize(np.asarray(X)[:, 0], [-0.5, 0.5])


@pytest.mark.parametrize(
    ("box", "said"),
    [
        (lambda X: X[:, 0], "fractions, which are scores"),
        (lambda X: np.round(X[:, 0], 1), "fractions, which are scores"),
        (lambda X: np.where(X[:, 0] > 0, 0.5, 1.5), "fractions, which are scores"),
        (lambda X: np.round(1000 * X[:, 0]).astype(int), "more than 20 different labels"),
        (lambda X: np.arange(len(X)) % 30, "more than 20 different labels"),
        (lambda X: np.array([f"score {x:.3f}" for x in X[:, 0]]), "more than 20 different labels"),
        (lambda X: np.where(np.arange(len(X)) < 9, "rare", "common"), "1 of 2 labels are given to fewer than 10"),
        (lambda X: np.where(np.arange(len(X)) < 5, np.arange(len(X)), 7), "5 of 6 labels are given to fewer than 10"),
    ],
)
def test_scores_and_rare_names_are_refused_unless_declared(box: Any, said: str) -> None:
    with pytest.raises(BlackBoxError, match=said) as refused:
        SurrogateExplainer(box, 50).fit(X)
    assert "declare classes=" in str(refused.value).lower()
    declared = tuple(dict.fromkeys(v.item() for v in np.asarray(box(X))))
    declared = tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in declared)
    if len(declared) <= 10:
        assert SurrogateExplainer(box, 50, classes=declared).fit(X).release().classes == declared


def test_a_name_of_ten_records_is_published() -> None:
    explainer = SurrogateExplainer(lambda X: np.where(X[:, 0] >= np.sort(X[:, 0])[-10], "rare", "common"), 50).fit(X)
    assert set(explainer.release().classes) <= {"rare", "common"}


@pytest.mark.parametrize(
    "regressor", [LinearRegression(), make_pipeline(StandardScaler(), LinearRegression()), RandomForestRegressor(3)]
)
def test_regressors_are_refused_whatever_they_answer(regressor: Any) -> None:
    regressor.fit(X, thirds(X))
    for box in (regressor, regressor.predict):
        with pytest.raises(BlackBoxError, match="the black box is a regression"):
            SurrogateExplainer(box, 50).fit(X)
    constant = LinearRegression().fit(X, np.full(len(X), 3.0))
    with pytest.raises(BlackBoxError, match="the black box is a regression"):
        SurrogateExplainer(constant, 50).fit(X)


def test_a_function_of_a_regressor_that_gives_classes_is_explained() -> None:
    fitted = LinearRegression().fit(X, X[:, 0])
    explainer = SurrogateExplainer(lambda X: np.where(fitted.predict(X) > 0, "high", "low"), 50).fit(X)
    assert explainer.release().classes == ("high", "low")


def test_true_labels_are_names_too_where_trees_are_trained_on_them() -> None:
    y: Any = thirds(X).astype(object)
    y[:4] = 9
    with pytest.raises(BlackBoxError, match="1 of 4 labels are given to fewer than 10"):
        SurrogateExplainer(thirds, 50, labels="true").fit(X, y)
    assert SurrogateExplainer(thirds, 50).fit(X, y).release().classes == (0, 1, 2)
    with pytest.raises(BlackBoxError, match="y holds fractions"):
        SurrogateExplainer(thirds, 50, labels="true").fit(X, np.where(np.arange(600) < 300, 0, 0.5))


def test_a_release_holds_no_name_that_no_tree_uses() -> None:
    def box(X: Any) -> Any:
        # Twelve records, spread over all groups, get a label that no leaf of ten records can have.
        return np.where(np.arange(len(X)) % 50 == 0, "spread", ring(X))

    explainer = SurrogateExplainer(box, 50, max_depth=1).fit(X)
    release = explainer.release()
    assert "spread" not in str(release.to_dict())
    assert release.classes == ("far", "near")
    assert all(tree.classes == release.classes for tree in release.trees)
    assert (explainer.training_.answers == -1).sum() == 12
    found = audit(explainer, holdout=numbers(200, seed=1), settings=AuditSettings(random_state=0))
    assert "spread" not in str(found.to_dict())
    assert explainer.measures(X).fidelity <= 588 / 600
    declared = SurrogateExplainer(box, 50, max_depth=1, classes=("near", "far", "spread")).fit(X)
    assert declared.release().classes == ("near", "far", "spread")


def test_queries_that_nobody_made_may_have_rare_answers_but_no_scores() -> None:
    domain = Domain({"a": Integer(0, 99), "b": Integer(0, 99)})
    asked: list[str] = []

    def rare(X: Any) -> Any:
        asked.extend(np.where(X[:, 0] > 96, "rare", "common").tolist())
        return np.array(asked)

    made = SurrogateExplainer.from_queries(rare, domain, 50, n_queries=200, random_state=0)
    assert 0 < asked.count("rare") < 10
    assert "common" in made.release().classes
    with pytest.raises(BlackBoxError, match="more than 20 different labels"):
        SurrogateExplainer.from_queries(lambda X: X[:, 0].astype(int), domain, 50, n_queries=200, random_state=0)


@pytest.mark.parametrize("labels", ["black-box", "true"])
def test_true_labels_in_other_words_are_an_error_that_says_so(labels: str) -> None:
    words = np.array(["no", "pays", "late"])[thirds(X)]
    with pytest.raises(InvalidDataError, match="holds texts, the black box answers with numbers") as refused:
        SurrogateExplainer(thirds, 50, labels=labels).fit(X, words)
    assert "Translate the labels" in str(refused.value)
    assert "pays" not in str(refused.value)
    fitted = SurrogateExplainer(thirds, 50).fit(X)
    for compare in (
        lambda: fitted.measures(X, words),
        lambda: fitted.accuracy(X, words),
        lambda: audit(fitted, target=words),
        lambda: audit(fitted, holdout=Sample(X, words)),
    ):
        with pytest.raises(InvalidDataError, match="other words than the black box"):
            compare()
    for same in (thirds(X), thirds(X).astype(float), pd.Series(thirds(X))):
        assert fitted.accuracy(X, same) > 0.8
