"""Models predict records in every form in which records come, by one walk that our own estimators share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator

import glassine
from glassine import AdditiveModel, Binary, DecisionTree, Domain, Integer, RuleList, as_model, audit
from glassine.auditing.findings.values import ModelSummary
from glassine.data.record_table import as_table
from glassine.domain import Between, OneOf
from glassine.errors import InvalidDataError, InvalidModelError
from glassine.models import Branch, Evidence, Node, NumericBins, Rule, Term
from glassine.records.reading import read_settled

TREE = DecisionTree(
    nodes=(
        Node(branches=(Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2))),
        Node(evidence=Evidence(counts=(1, 3))),
        Node(branches=(Branch(OneOf("job", ("baker",)), 3), Branch(OneOf("job", ("clerk",)), 4))),
        Node(evidence=Evidence(counts=(4, 0))),
        Node(evidence=Evidence(counts=(2, 6))),
    ),
    attributes=("age", "job", "height"),
    classes=("no", "yes"),
)
LIST = RuleList(
    (
        Rule(antecedent=(Between("age", lo=40), OneOf("job", ("baker",))), evidence=Evidence(counts=(4, 0))),
        Rule(evidence=Evidence(counts=(3, 9))),
    ),
    ("age", "job", "height"),
    ("no", "yes"),
)
ADDITIVE = AdditiveModel(
    attributes=("age", "job", "height"),
    terms=(Term(bins=(NumericBins("age", (40,)),), scores=np.array([1.0, -1.0, 0.0])),),
    intercept=(0.0,),
    link="logit",
    classes=("no", "yes"),
)
MODELS: dict[str, AdditiveModel | DecisionTree | RuleList] = {"tree": TREE, "rule list": LIST, "additive": ADDITIVE}
EXPECTED = {"tree": ["yes", "no", "yes"], "rule list": ["yes", "no", "yes"], "additive": ["yes", "no", "no"]}
VALUES: dict[str, list[Any]] = {"age": [30, 50, 60], "job": ["clerk", "baker", "clerk"], "height": [1.7, 1.8, 1.6]}
FORMS: dict[str, Callable[[], object]] = {
    "pandas": lambda: pd.DataFrame(VALUES),
    "polars": lambda: pl.DataFrame(VALUES),
    "polars lazy": lambda: pl.LazyFrame(VALUES),
    "arrow": lambda: pa.table(VALUES),
    "arrays by name": lambda: {name: np.array(values) for name, values in VALUES.items()},
    "a table": lambda: as_table(pl.DataFrame(VALUES)),
    "an array": lambda: np.array(list(zip(*VALUES.values(), strict=True)), dtype=object),
    "mappings": lambda: [dict(zip(VALUES, row, strict=True)) for row in zip(*VALUES.values(), strict=True)],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_predicts_records_in_every_form(name: str, form: str) -> None:
    model, data = MODELS[name], FORMS[form]()
    assert model.predict(data).tolist() == EXPECTED[name]
    probabilities = model.predict_proba(data)
    assert probabilities.shape == (3, 2)
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert model.predict(data).dtype == np.array(["yes"]).dtype


@pytest.mark.parametrize("form", FORMS)
def test_apply_takes_records_in_every_form(form: str) -> None:
    assert TREE.apply(FORMS[form]()).tolist() == [0, 1, 2]
    assert LIST.apply(FORMS[form]()).tolist() == [1, 0, 1]


@pytest.mark.parametrize("form", ["pandas", "polars", "arrays by name", "a table"])
@pytest.mark.parametrize("name", MODELS)
def test_a_column_that_a_model_tests_must_be_there(name: str, form: str) -> None:
    data: Any = FORMS[form]()
    if isinstance(data, dict):
        del data["age"]
    elif form == "pandas":
        data = data.drop(columns="age")
    else:
        data = as_table(data).restrict(["job", "height"]) if form == "a table" else data.drop("age")
    with pytest.raises(InvalidDataError, match="'age'"):
        MODELS[name].predict(data)


def test_an_array_has_all_attributes_of_the_model() -> None:
    for model in MODELS.values():
        with pytest.raises(InvalidDataError, match=r"shape \(n, 3\).*got \(2, 2\)"):
            model.predict(np.zeros((2, 2)))
    for refused in (3, "age", None):
        with pytest.raises(InvalidDataError, match="data frame"):
            TREE.apply(refused)


def test_what_a_model_does_not_test_is_not_needed() -> None:
    assert TREE.predict(pl.DataFrame(VALUES).drop("height")).tolist() == EXPECTED["tree"]
    alone = DecisionTree(nodes=(Node(evidence=Evidence(counts=(1, 2))),), attributes=("age",), classes=(0, 1))
    assert alone.predict(pd.DataFrame({"other": [1, 2, 3]})).tolist() == [1, 1, 1]
    assert alone.apply(pd.DataFrame({"age": []})).shape == (0,)


def test_a_cell_that_publishes_nothing_predicts_none() -> None:
    silent = RuleList(
        (Rule(antecedent=(OneOf("job", ("baker",)),), evidence=Evidence(total=3)), Rule(evidence=Evidence(label=1))),
        ("job",),
        (0, 1),
    )
    assert silent.predict(pl.DataFrame(VALUES)).tolist() == [1, None, 1]
    assert np.isnan(silent.predict_proba(pl.DataFrame(VALUES))[1]).all()


def test_a_regression_predicts_numbers_and_has_no_probabilities() -> None:
    leaves = [Node(evidence=Evidence(total=3, value=1.5)), Node(evidence=Evidence(total=2, value=2.5))]
    split = Node(branches=(Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2)))
    tree = DecisionTree(nodes=(split, *leaves), attributes=("age",))
    predicted = tree.predict(pd.DataFrame(VALUES))
    assert predicted.tolist() == [1.5, 2.5, 2.5]
    assert predicted.dtype == np.float64
    with pytest.raises(InvalidModelError, match="no probabilities"):
        tree.predict_proba(pd.DataFrame(VALUES))


def test_a_record_that_fits_no_branch_is_an_error_as_it_is_and_takes_the_last_branch_once_it_conforms() -> None:
    data = {"age": np.array([50, 50]), "job": np.array(["pope", "baker"])}
    for form in (data, pl.DataFrame(data)):
        with pytest.raises(InvalidDataError, match="1 record satisfies no branch on 'job'"):
            TREE.apply(form)
    domain = Domain({"age": Integer(18, 99), "job": glassine.Category(("baker", "clerk"))})
    assert TREE.apply(read_settled(data, domain)).tolist() == [2, 1]


DOMAIN = Domain({"age": Integer(18, 90, thresholds=(30, 50, 70)), "smoker": Binary()})
ILL: dict[str, Any] = {"classes": ("no", "yes")}
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "EBMClassifier": lambda: glassine.learners.EBMClassifier(domain=DOMAIN),
    "EBMRegressor": lambda: glassine.learners.EBMRegressor(domain=DOMAIN),
    "GreedyRuleListClassifier": lambda: glassine.learners.GreedyRuleListClassifier(domain=DOMAIN),
    "MultiwayTreeClassifier": lambda: glassine.learners.MultiwayTreeClassifier(domain=DOMAIN),
    "OptimalRuleListClassifier": lambda: glassine.learners.OptimalRuleListClassifier(2, domain=DOMAIN),
    "OptimalTreeClassifier": lambda: glassine.learners.OptimalTreeClassifier(2, domain=DOMAIN),
    "PrivateEBMClassifier": lambda: glassine.learners.PrivateEBMClassifier(
        epsilon=5.0, domain=DOMAIN, random_state=0, **ILL
    ),
    "PrivateEBMRegressor": lambda: glassine.learners.PrivateEBMRegressor(
        epsilon=5.0, domain=DOMAIN, target_range=(0, 1), random_state=0
    ),
    "PrivateGreedyRuleListClassifier": lambda: glassine.learners.PrivateGreedyRuleListClassifier(
        epsilon=5.0, domain=DOMAIN, random_state=0, **ILL
    ),
    "PrivateRuleListClassifier": lambda: glassine.learners.PrivateRuleListClassifier(
        2, epsilon=5.0, domain=DOMAIN, random_state=0, **ILL
    ),
    "PrivateSearchCV": lambda: glassine.learners.PrivateSearchCV(
        glassine.learners.PrivateTreeClassifier(domain=DOMAIN, **ILL),
        {"max_depth": [1, 2]},
        epsilon=5.0,
        random_state=0,
    ),
    "OptimalTreeRegressor": lambda: glassine.learners.OptimalTreeRegressor(2, domain=DOMAIN),
    "PrivateScorecardClassifier": lambda: glassine.learners.PrivateScorecardClassifier(
        epsilon=5.0, domain=DOMAIN, random_state=0, **ILL
    ),
    "PrivateScorecardRegressor": lambda: glassine.learners.PrivateScorecardRegressor(
        epsilon=5.0, domain=DOMAIN, target_range=(0, 1), random_state=0
    ),
    "ScorecardRegressor": lambda: glassine.learners.ScorecardRegressor(domain=DOMAIN),
    "PrivateTreeRegressor": lambda: glassine.learners.PrivateTreeRegressor(
        2, epsilon=5.0, domain=DOMAIN, target_range=(0, 1), random_state=0
    ),
    "ScorecardClassifier": lambda: glassine.learners.ScorecardClassifier(domain=DOMAIN),
    "PrivateTreeClassifier": lambda: glassine.learners.PrivateTreeClassifier(
        2, epsilon=5.0, domain=DOMAIN, random_state=0, **ILL
    ),
}


def people(n: int = 400) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 91, n), "smoker": rng.integers(0, 2, n)})
    return frame, np.where((frame["age"] > 50) | (frame["smoker"] == 1), "yes", "no")


def test_every_public_estimator_of_a_model_is_here() -> None:
    public = {name: getattr(glassine.learners, name) for name in glassine.learners.__all__}
    estimators = {n for n, kind in public.items() if isinstance(kind, type) and issubclass(kind, BaseEstimator)}
    # A summary gives many models.
    assert estimators - {"PrivateSummary"} == set(ESTIMATORS)


@pytest.mark.filterwarnings("ignore::glassine.errors.PrivacyLeakWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_audit_and_as_model_take_our_fitted_estimators_and_the_model_predicts_as_they_do(name: str) -> None:
    frame, ill = people()
    target = (ill == "yes").astype(float) if name.endswith("Regressor") else ill
    fitted = ESTIMATORS[name]().fit(frame, target)
    model = as_model(fitted)
    assert model is fitted.model_
    # Readers know models by it, of files that an earlier version wrote as well.
    assert model.source == f"glassine.{name.replace('PrivateSearchCV', 'PrivateTreeClassifier')}"
    assert model.predict(frame).tolist() == fitted.predict(frame).tolist()
    if not name.endswith("Regressor"):
        assert model.predict(frame).dtype == fitted.predict(frame).dtype
        known = ~np.isnan(model.predict_proba(frame))
        assert (model.predict_proba(frame)[known] == fitted.predict_proba(frame)[known]).all()
    if hasattr(fitted, "apply"):
        assert isinstance(model, DecisionTree | RuleList)
        assert model.apply(frame).tolist() == fitted.apply(frame).tolist()
    audited, plain = audit(fitted, domain=DOMAIN), audit(model, domain=DOMAIN)
    # An estimator holds more than its model, which is released in its place.
    beside = [note for note in audited.notes if note.startswith("The estimator is judged as the model ")]
    assert len(beside) == 1
    notes = tuple(note for note in audited.notes if note not in beside)
    # Estimators that keep a least leaf state it: a model alone states nothing.
    assert isinstance(audited.subject, ModelSummary)
    stated = audited.subject.parameters
    assert (stated is None) == (not name.startswith("Optimal"))
    assert stated is None or stated["min_samples_leaf"] == 1
    subject = replace(audited.subject, parameters=None)
    assert replace(audited, notes=notes, subject=subject).to_dict() == plain.to_dict()
