"""Contract of all forms: training records are never taken for others, and others never for those of training."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    Ridge,
    RidgeCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from glassine import AuditSettings, audit
from glassine.auditing.findings import Findings
from glassine.auditing.following import on_records
from glassine.auditing.several_models import SeveralModels
from glassine.auditing.statements import Statements
from glassine.auditing.training_records import MISSED, Standing, beside_regression
from glassine.data.record_table import as_table
from glassine.errors import PrivacyLeakWarning
from glassine.formats import as_model, load_model
from glassine.formats.judged import as_ensemble
from glassine.models import RegressionModel
from tests.formats.test_regressions import DOMAIN, FILES, READ, RECORDS

NUMBERS = ["x0", "x1", "x2"]
N = 120
MANY = {"max_iter": 20_000}


def people(n: int, seed: int, unit: float = 1.0) -> pd.DataFrame:
    """Return records of one population: numbers, the second in another unit, a category, and outcomes of each kind."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.normal(size=n) for name in NUMBERS})
    score = 0.6 * frame["x0"] + 0.3 * frame["x1"] - 0.3
    frame["town"] = rng.choice(["east", "north", "south"], n)
    frame["two"] = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    frame["three"] = np.where(rng.random(n) < 0.3, 2, frame["two"])
    frame["number"] = score + rng.normal(size=n)
    frame["count"] = rng.poisson(np.exp(0.4 * score))
    frame["positive"] = rng.gamma(2, np.exp(0.4 * score) / 2) + 1e-6
    return frame.assign(x1=unit * (1 + frame["x1"]))


def forms() -> Iterator[tuple[str, Any, str, bool]]:
    """Yield each form by its name, with an unfitted estimator, what it predicts, and whether others are refuted."""
    for solver in ("lbfgs", "newton-cg", "newton-cholesky", "liblinear", "sag", "saga"):
        fixed = solver in ("lbfgs", "newton-cg", "newton-cholesky")
        for strength in (1.0, 0.05) if solver == "liblinear" else (np.inf, 1.0, 0.05):
            yield f"logistic {solver} C={strength}", LogisticRegression(C=strength, solver=solver, **MANY), "two", fixed
    yield "logistic liblinear l1", LogisticRegression(l1_ratio=1, solver="liblinear", C=0.5, **MANY), "two", False
    for share in (1, 0.5):
        yield (
            f"logistic saga l1={share}",
            LogisticRegression(l1_ratio=share, solver="saga", C=0.5, **MANY),
            "two",
            False,
        )
    yield "logistic CV", LogisticRegressionCV(Cs=3, l1_ratios=(0,), use_legacy_attributes=False, **MANY), "two", False
    yield "multinomial lbfgs", LogisticRegression(**MANY), "three", True
    yield "multinomial saga", LogisticRegression(solver="saga", **MANY), "three", False
    yield "linear", LinearRegression(), "number", True
    yield "linear through the origin", LinearRegression(fit_intercept=False), "number", True
    yield "linear of positive coefficients", LinearRegression(positive=True), "number", False
    for solver in ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag"):
        yield f"ridge {solver}", Ridge(3.0, solver=solver, tol=1e-8), "number", solver in ("auto", "svd", "cholesky")
    for other in (RidgeCV(), Lasso(0.05), LassoCV(), ElasticNet(0.05), ElasticNetCV()):
        yield type(other).__name__, other, "number", False
    for penalty in (0.0, 0.1):
        for solver in ("lbfgs", "newton-cholesky"):
            yield f"Poisson {solver} {penalty}", PoissonRegressor(alpha=penalty, solver=solver, **MANY), "count", True
            yield f"gamma {solver} {penalty}", GammaRegressor(alpha=penalty, solver=solver, **MANY), "positive", True


FORMS = {name: rest for name, *rest in forms()}


def in_pipeline(estimator: Any) -> Any:
    parts = [("number", "passthrough", NUMBERS), ("town", OneHotEncoder(), ["town"])]
    return make_pipeline(ColumnTransformer(parts), clone(estimator))


def standing(model: RegressionModel, frame: pd.DataFrame, target: str) -> Standing:
    table = as_table(frame)
    fitted = on_records(model, table, target)
    return beside_regression(model, fitted, table.arrays[target][fitted.complete])


def others(frame: pd.DataFrame, unit: float = 1.0) -> dict[str, pd.DataFrame]:
    return {
        "others, as many": people(len(frame), 2, unit),
        "many others": people(25 * len(frame), 3, unit),
        "half of them": frame.iloc[::2],
        "each twice": pd.concat([frame, frame]),
        "drawn with replacement": frame.sample(len(frame), replace=True, random_state=0),
        "with as many others": pd.concat([frame, people(len(frame), 4, unit)]),
    }


@pytest.mark.parametrize("unit", [1.0, 1e5])
@pytest.mark.parametrize("name", FORMS)
def test_other_records_are_never_confirmed_and_those_of_training_never_refuted(name: str, unit: float) -> None:
    estimator, target, fixed = FORMS[name]
    frame = people(N, 1, unit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # large units keep solvers from converging
        model = as_model(in_pipeline(estimator).fit(frame[[*NUMBERS, "town"]], frame[target]))
    assert isinstance(model, RegressionModel)
    own = standing(model, frame, target)
    assert not own.mismatch
    if unit == 1.0:
        assert not own.unconfirmed
    for what, data in others(frame, unit).items():
        found = standing(model, data, target)
        assert found.mismatch or found.unconfirmed, what
        if fixed and unit == 1.0 and what != "each twice":
            assert found.mismatch == MISSED, what


@pytest.mark.parametrize("penalty", [1e-3, 3.0])
def test_a_known_penalty_says_that_each_record_stands_there_twice(penalty: float) -> None:
    frame = people(N, 1)
    model = as_model(Ridge(penalty).fit(frame[NUMBERS], frame["number"]))
    assert isinstance(model, RegressionModel)
    assert standing(model, pd.concat([frame, frame]), "number").mismatch == MISSED
    # The sums of no penalty are met by any number of copies.
    free = as_model(LinearRegression().fit(frame[NUMBERS], frame["number"]))
    assert isinstance(free, RegressionModel)
    assert "several times" in standing(free, pd.concat([frame, frame]), "number").unconfirmed


def test_a_scaled_pipeline_states_the_same_sums() -> None:
    frame = people(N, 1, 1e5)
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame[NUMBERS], frame["two"])
    model = as_model(fitted)
    assert isinstance(model, RegressionModel)
    assert model.fit.n_records == N
    bare = replace(model, fit=replace(model.fit, n_records=None))
    assert standing(bare, frame, "two") == Standing()
    assert standing(bare, people(N, 2, 1e5), "two").mismatch == MISSED


@pytest.mark.parametrize("how", ["class weights", "sample weights", "early end"])
def test_fits_that_fix_no_equation_are_not_compared_by_it(how: str) -> None:
    frame = people(N, 1)
    settings: Any = {"class weights": {"class_weight": {0: 1, 1: 5}}, "early end": {"max_iter": 1}}.get(how, {})
    weights = np.where(frame["two"], 5.0, 1.0) if how == "sample weights" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one round is meant
        fitted = LogisticRegression(**settings).fit(frame[NUMBERS], frame["two"], sample_weight=weights)
    model = as_model(fitted)
    assert isinstance(model, RegressionModel)
    found = standing(model, frame, "two")
    # Weights of records leave no trace in an estimator: the sentence names them beside other records.
    assert found.mismatch == (MISSED if how == "sample weights" else "")
    assert bool(found.unconfirmed) is (how != "sample weights")
    if how == "class weights":
        assert status(audit(model, frame[[*NUMBERS, "two"]], "two"))["largest_advantage"] == "unknown"


# Tables that R, statsmodels and PMML hold, beside their records.

TARGETS = {"ols": "cost", "linear": "cost", "singular": "cost"}
TABLES = [
    *(f"r_{of}.txt" for of in ("logit", "poisson", "quasi", "singular", "probit")),
    *(f"sm_{of}.txt" for of in ("ols", "ols_hc1", "logit", "logit_2", "poisson", "glm", "glm_scaled")),
    *("sm_ols.csv", "broom_logit.csv", "broom_interval.csv", "coeftest.txt", "coeftest_robust.txt"),
    *("general_logit.pmml", "linear.pmml", "logistic.pmml"),
]
UNCONFIRMED = ("r_probit.txt", "logistic.pmml")  # no canonical link; a penalty of unknown strength


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_compared_within_their_digits(name: str) -> None:
    assert name in READ
    model = load_model(FILES / name, DOMAIN)
    assert isinstance(model, RegressionModel)
    model = model if model.link else model.stated(family="binomial")
    target = next((t for of, t in TARGETS.items() if of in name), "visits" if model.link == "log" else "ill")
    frame = pd.DataFrame(RECORDS)
    bare = replace(model, fit=replace(model.fit, n_records=None))
    assert standing(model.stated(n=len(frame)), frame, target) == Standing()
    assert bool(standing(bare, frame, target).unconfirmed) is (name in UNCONFIRMED)
    for seed in range(3):
        drawn = frame.sample(len(frame), replace=True, random_state=seed)
        found = standing(bare, drawn, target)
        assert found.mismatch or found.unconfirmed
        if model.fit.converged and not model.fit.special and model.link != "probit":
            assert standing(model, drawn, target).mismatch == MISSED


def test_a_scrubbed_copy_is_not_refuted_by_the_records_of_training() -> None:
    from glassine.scrubbing.scrub import scrub

    model = load_model(FILES / "r_logit.txt", DOMAIN)
    copy = scrub(model, DOMAIN).model
    assert isinstance(copy, RegressionModel)
    assert standing(copy, pd.DataFrame(RECORDS), "ill") == Standing()


# What follows for an audit.


def status(findings: Findings) -> dict[str, str]:
    return {check.rule: check.status for check in findings.checks}


def stated(n: int) -> AuditSettings:
    return AuditSettings(statements=Statements(n_records=n))


@pytest.mark.parametrize("solver", ["lbfgs", "saga"])
def test_no_audit_permits_a_regression_by_records_that_are_not_those_of_training(solver: str) -> None:
    frame, many = people(80, 1)[[*NUMBERS, "two"]], people(2_000, 2)[[*NUMBERS, "two"]]
    model = LogisticRegression(solver=solver, **MANY).fit(frame[NUMBERS], frame["two"])
    assert audit(model, frame, "two").verdict == "within policy"
    for data, target in ((many, "two"), (many[NUMBERS], None), (pd.concat([frame] * 25), "two")):
        findings = audit(model, data, target)
        assert {findings.checks[0].status, status(findings)["fitted_values"]} == {"unknown"}
        assert findings.verdict == "inconclusive"
    held = audit(model, many, "two", holdout=people(2_000, 3)[[*NUMBERS, "two"]])
    assert status(held)["largest_measured_advantage"] == "unknown"


def test_a_number_that_is_stated_settles_what_no_equation_does() -> None:
    frame = people(400, 1)[[*NUMBERS, "two"]]
    model = LogisticRegression(class_weight=None, max_iter=2, solver="saga")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two rounds are meant
        model.fit(frame[NUMBERS], frame["two"])
    findings = audit(model, frame, "two")
    assert status(findings)["largest_advantage"] == "unknown"
    assert any("n_records" in one.parameters for one in findings.advice)
    assert status(audit(model, frame, "two", settings=stated(400)))["largest_advantage"] == "pass"
    assert status(audit(model, frame, "two", settings=stated(300)))["largest_advantage"] == "unknown"


def test_several_tables_are_of_the_samples_that_are_stated_only_if_these_meet_their_sums() -> None:
    frame = people(600, 1)[[*NUMBERS, "number"]].assign(first=np.arange(600) % 3 > 0, second=1)
    frame["first"] = frame["first"].astype(int)
    tables = tuple(
        as_model(LinearRegression().fit(own[NUMBERS], own["number"]))
        for own in (frame[frame["first"] == 1], frame[frame["second"] == 1])
    )
    together = SeveralModels(models=tables, samples=("first", "second"))
    assert status(audit(together, frame, "number"))["largest_advantage"] == "pass"
    other = people(600, 2)[[*NUMBERS, "number"]].assign(first=frame["first"], second=1)
    findings = audit(together, other, "number")
    assert status(findings)["largest_advantage"] == "unknown"
    assert any(note.startswith("Of model 1: The data is not the training data") for note in findings.notes)


ENSEMBLES: dict[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestClassifier(10, random_state=0),
    "forest of parts": lambda: RandomForestClassifier(10, max_samples=0.5, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(10, min_samples_leaf=3, random_state=0),
    "boosted": lambda: GradientBoostingClassifier(random_state=0),
    "boosted of parts": lambda: GradientBoostingClassifier(subsample=0.5, random_state=0),
    "boosted with an early end": lambda: GradientBoostingClassifier(n_iter_no_change=3, random_state=0),
    "histograms with an early end": lambda: HistGradientBoostingClassifier(early_stopping=True, random_state=0),
    "forest of numbers": lambda: RandomForestRegressor(10, random_state=0),
    "pipeline": lambda: make_pipeline(StandardScaler(), RandomForestClassifier(10, random_state=0)),
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_leaves_of_more_records_than_reach_them_are_of_others(name: str) -> None:
    target = "number" if "numbers" in name else "two"
    frame, other = (people(300, seed).round(1)[[*NUMBERS, target]] for seed in (1, 2))
    model = ENSEMBLES[name]().fit(frame[NUMBERS], frame[target])
    said = [check.meaning for check in audit(model, frame, target).checks]
    assert not any("not the training data" in meaning for meaning in said)
    if not name.startswith("histograms"):  # does not say which leaf a record reaches
        assert "leaves were made from more records" in " ".join(c.meaning for c in audit(model, other, target).checks)


def test_an_ensemble_without_numbers_is_not_permitted_by_records_that_nothing_confirms() -> None:
    frame, other = (people(n, n)[[*NUMBERS, "two"]] for n in (400, 4_000))
    forest = RandomForestClassifier(20, min_samples_leaf=40, random_state=0).fit(frame[NUMBERS], frame["two"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        file = replace(as_ensemble(forest), n_records=None, sizes=None, certain=None)
        for data in (frame, other):
            findings = audit(file, data, "two")
            assert status(findings)["largest_advantage"] == "unknown"
            assert any("n_records" in one.parameters for one in findings.advice)
        assert status(audit(file, frame, "two", settings=stated(400)))["largest_advantage"] != "unknown"
