"""Regressions as R, statsmodels, scikit-learn and PMML write them: read as these programs predict and count."""

from __future__ import annotations

import csv
import re
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.errors import GlassineError, InvalidModelError, PrivacyLeakWarning, UnsupportedModelError
from glassine.files import FileContent
from glassine.formats import as_model, load_file, load_model
from glassine.formats.printed.coeftest import regression_from_coeftest
from glassine.formats.printed.r_regression import regression_from_r
from glassine.formats.printed.statsmodels import regression_from_statsmodels
from glassine.models import AdditiveModel, Equal, Power, RegressionModel
from glassine.models.indicators import indicator_bounds, not_bounded
from glassine.models.regression import UNPRINTED

FILES = Path(__file__).parent / "regressions"
DOMAIN = Domain(
    {
        "age": Integer(0, 120),
        "bmi": Real(0, 90),
        "sex": Category(("female", "male")),
        "town": Category(("east", "north", "south", "west")),
        "treated": Binary(),
    }
)
READ = sorted(
    path.name
    for path in FILES.iterdir()
    if path.suffix in (".txt", ".csv", ".pmml") and not path.stem.startswith(("records", "predicted", "broom_ratios"))
)


def table(name: str) -> dict[str, Any]:
    rows = list(csv.DictReader((FILES / name).read_text().splitlines()))
    texts = {column: np.array([row[column] for row in rows]) for column in rows[0]}
    return {
        column: values
        if column in ("sex", "town")
        else np.array([np.nan if v in ("", "NA") else float(v) for v in values])
        for column, values in texts.items()
    }


RECORDS = table("records.csv")


def read(name: str, domain: Domain | None = DOMAIN) -> RegressionModel:
    model = load_model(FILES / name, domain)
    assert isinstance(model, RegressionModel)
    return model


def text_of(text: str, name: str = "table.txt") -> RegressionModel:
    model = load_model(FileContent(path=Path(name), data=text.encode()), DOMAIN)
    assert isinstance(model, RegressionModel)
    return model


def means(model: RegressionModel) -> Any:
    return model.predict(RECORDS) if model.classes is None else model.predict_proba(RECORDS)[:, -1]


@pytest.mark.parametrize(
    ("name", "answers", "digits"),
    [
        *((f"{name}.txt", "predicted_r.csv", 2e-3) for name in ("r_lm", "r_logit", "r_poisson", "r_cox")),
        *(
            (f"{name}.txt", "predicted.csv", 2e-2)
            for name in ("sm_ols", "sm_ols_hc1", "sm_logit", "sm_glm", "sm_mnlogit")
        ),
        *((f"{name}.pmml", "predicted.csv", 1e-9) for name in ("linear", "logistic", "softmax")),
    ],
)
def test_a_file_is_read_as_its_program_predicts(name: str, answers: str, digits: float) -> None:
    expected = table(answers)[name.rpartition(".")[0]]
    there = ~np.isnan(expected)
    records = {column: values[there] for column, values in RECORDS.items()}
    model = read(name)
    predicted = model.predict(records) if model.classes is None else model.predict_proba(records)[:, -1]
    assert np.allclose(predicted, expected[there], rtol=digits, atol=digits)
    assert np.ptp(expected[there]) > 0.1


def test_general_regressions_are_what_r_fitted() -> None:
    logistic, cox = read("general_logit.pmml"), read("general_cox.pmml")
    assert logistic.link == "logit"
    assert logistic.classes == (0, 1)
    assert logistic.fit.errors == "model"
    assert logistic.fit.published == ("covariance matrix",)
    assert all(effect.errors is not None for effect in logistic.effects)
    by_text = read("r_cox.txt")
    assert [e.factors for e in cox.effects] == [e.factors for e in by_text.effects]
    assert np.allclose([e.coefficients for e in cox.effects], [e.coefficients for e in by_text.effects], atol=1e-5)
    events = np.unique(RECORDS["time"][RECORDS["status"] == 1])
    assert [time for time, _ in cox.fit.baseline] == events.tolist()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("r_lm.txt", {"family": "gaussian", "n_records": 196, "n_parameters": 7, "df_residual": 189, "n_residuals": 2}),
        ("r_logit.txt", {"family": "binomial", "n_records": 200, "converged": True, "dispersion": "fixed"}),
        ("r_quasi.txt", {"family": "poisson", "dispersion": "estimated"}),
        ("r_weighted.txt", {"special": ("weights",)}),
        ("r_separated.txt", {"converged": False}),
        ("r_cox.txt", {"family": "cox", "n_records": 200, "converged": None, "errors": "model"}),
        ("r_cox_robust.txt", {"errors": "robust"}),
        ("r_saturated.txt", {"df_residual": 0}),
        ("sm_ols.csv", {"family": "gaussian", "n_records": 200, "df_residual": 194, "errors": "model"}),
        ("sm_ols_hc1.txt", {"errors": "robust"}),
        ("sm_glm_scaled.txt", {"family": "poisson", "dispersion": "estimated"}),
        ("sm_logit_2.txt", {"family": "binomial", "errors": "", "converged": True}),
        ("sm_phreg.txt", {"family": "cox", "errors": ""}),
        ("broom_cox.csv", {"family": "", "n_records": None, "errors": ""}),
        ("sm_glm.txt", {"family": "poisson", "errors": "model", "special": (UNPRINTED,)}),
        ("coeftest.txt", {"family": "", "n_records": None, "n_parameters": 7, "errors": ""}),
        ("coeftest_robust.txt", {"family": "", "n_records": None, "n_parameters": 7, "errors": ""}),
    ],
)
def test_what_a_file_says_of_its_fit(name: str, expected: dict[str, object]) -> None:
    fit = read(name).fit
    assert {key: getattr(fit, key) for key in expected} == expected


def test_coeftest_prints_the_coefficients_of_the_summary() -> None:
    table, robust, summary = read("coeftest.txt"), read("coeftest_robust.txt"), read("r_logit.txt")
    for one, other, same in zip(table.effects, summary.effects, robust.effects, strict=True):
        assert one.factors == other.factors == same.factors
        assert one.coefficients == pytest.approx(other.coefficients, rel=1e-3)
        assert one.coefficients == same.coefficients
    errors = [effect.errors for effect in table.effects]
    assert errors != [effect.errors for effect in robust.effects]
    stated = table.stated(n=200, family="binomial", errors="model")
    assert indicator_bounds(stated, DOMAIN) == indicator_bounds(summary, DOMAIN)
    text = (FILES / "coeftest.txt").read_text()
    for damaged in (text * 2, text.rstrip("\n"), text.replace("0.", "a.")):
        with pytest.raises(GlassineError):
            regression_from_coeftest(damaged, DOMAIN)


def true_counts(model: RegressionModel) -> list[int]:
    """Return what each column of 0/1 holds: records of a linear regression, else its rarer outcome or its events."""
    outcome = {"gaussian": None, "binomial": "ill", "poisson": "visits", "cox": "status"}[model.fit.family]
    complete = {name: values[4:] if "bmi" in model.tested else values for name, values in RECORDS.items()}
    columns = model.design(complete)
    out = []
    for column in columns.T:
        if outcome is None:
            out.append(int(column.sum()))
            continue
        y = complete[outcome][column == 1]
        events = int(y.sum())
        out.append(min(events, len(y) - events) if model.fit.family == "binomial" else events)
    return out


BOUNDED = [
    name
    for name in READ
    if name.endswith(".txt") and name.startswith(("r_l", "r_p", "r_c", "sm_")) and "probit" not in name
]


@pytest.mark.parametrize("name", BOUNDED)
def test_errors_never_bound_more_than_a_column_holds(name: str) -> None:
    model = read(name)
    stated = model.stated(errors="model") if model.fit.errors != "robust" else model
    if model.fit.family == "multinomial":
        assert set(indicator_bounds(stated, DOMAIN)) == {None}
        return
    for bound, count in zip(indicator_bounds(stated, DOMAIN), true_counts(model), strict=True):
        assert bound is None or bound <= count


@pytest.mark.parametrize(
    "name", ["r_lm.txt", "r_logit.txt", "sm_ols.txt", "sm_logit.txt", "sm_glm.txt", "general_logit.pmml"]
)
def test_errors_confirm_a_column_of_many(name: str) -> None:
    model = read(name)
    if name in ("general_logit.pmml", "sm_glm.txt"):
        # Of weights and offsets, the summary of a GLM says nothing.
        assert not_bounded(model)
        model = model.stated(errors="model")
    assert max(bound or 0 for bound in indicator_bounds(model, DOMAIN)) >= 10


@pytest.mark.parametrize(
    "name", ["r_cox_robust.txt", "sm_ols_hc1.txt", "r_weighted.txt", "r_quasi.txt", "sm_glm_scaled.txt", "r_probit.txt"]
)
def test_errors_of_another_kind_bound_nothing(name: str) -> None:
    model = read(name)
    assert set(indicator_bounds(model, DOMAIN)) == {None}
    assert not_bounded(model)


def test_robust_errors_stay_robust_whatever_is_stated() -> None:
    with pytest.raises(InvalidModelError, match="the file says robust"):
        read("sm_ols_hc1.txt").stated(errors="model")


def test_only_the_domain_says_that_a_column_of_r_is_of_0_or_1() -> None:
    assert set(indicator_bounds(read("r_lm.txt", None))) == {None}
    assert read("r_lm.txt", None).effects[2].factors == (Power(attribute="sexmale"),)
    assert read("r_lm.txt").effects[2].factors == (Equal(attribute="sex", value="male"),)
    assert Equal(attribute="town", value="south") in read("r_probit.txt", None).effects[2].factors


def test_a_table_of_ratios_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="the estimates are ratios"):
        load_model(FILES / "broom_ratios.csv")


def test_a_table_of_coefficients_needs_its_family() -> None:
    model = read("broom_logit.csv")
    with pytest.raises(InvalidModelError, match="does not say what the regression predicts"):
        model.predict(RECORDS)
    stated = model.stated(family="binomial", n=200, errors="model")
    assert np.allclose(means(stated), table("predicted_r.csv")["r_logit"], atol=1e-9)
    assert max(bound or 0 for bound in indicator_bounds(stated, DOMAIN)) >= 10
    with pytest.raises(InvalidModelError, match="n_records=5"):
        stated.stated(n=5)


def test_errors_of_an_interval_are_at_least_those_printed() -> None:
    exact, interval = read("broom_logit.csv"), read("broom_interval.csv")
    for one, other in zip(exact.effects, interval.effects, strict=True):
        assert one.errors is not None
        assert other.errors is not None
        assert one.errors[0] * (1 - 1e-12) < other.errors[0] < one.errors[0] * 1.001 + 1e-6


@pytest.mark.parametrize("name", READ)
def test_a_copy_in_json_is_the_same_model_without_what_lay_beside_it(name: str) -> None:
    file = load_file(FILES / name, DOMAIN)
    copy = load_file(FileContent(path=Path("copy.json"), data=file.copy), DOMAIN)
    assert copy.form.canonical
    assert isinstance(copy.model, RegressionModel)
    assert copy.model == file.model
    assert (copy.model.fit.published, copy.model.fit.n_residuals) == ((), 0)


@pytest.mark.parametrize("name", READ)
def test_a_damaged_file_is_read_or_refused(name: str) -> None:
    data = (FILES / name).read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        at, length = int(rng.integers(len(data))), int(rng.integers(1, 40))
        part = data[:at] + (data[at + length :] if rng.random() < 0.7 else b"")
        if not part.strip():
            continue
        # Any other error than one of this package fails the test.
        with suppress(GlassineError):
            assert load_model(FileContent(path=Path("damaged"), data=part), DOMAIN).attributes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("family = binomial", "family = f", "the call names a variable|does not name"),
        ("binomial", "inverse.gaussian", "not read|does not name"),
        ("Std. Error", "Error", "without its errors"),
        ("sexmale  ", "sexother ", "which the domain lacks"),
    ],
)
def test_a_changed_summary_of_r_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(GlassineError, match=message):
        text_of((FILES / "r_logit.txt").read_text().replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('modelType="generalizedLinear"', 'modelType="ordinalMultinomial"', "is not read"),
        ('linkFunction="logit"', 'linkFunction="loglog"', "which is not read"),
        ('parameterName="p1" df', 'parameterName="p9" df', "unknown parameter"),
        ('predictorName="age"', 'predictorName="size"', "does not declare"),
        ('value="male" predictorName', 'value="robot" predictorName', "not a value of 'sex'"),
    ],
)
def test_a_changed_general_regression_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(GlassineError, match=message):
        text_of((FILES / "general_logit.pmml").read_text().replace(old, new), "model.pmml")


def test_a_trimmed_table_of_statsmodels_counts_as_penalized() -> None:
    text = (FILES / "sm_logit.txt").read_text()
    row = next(line for line in text.splitlines() if line.startswith("sex[T.male]"))
    figures = re.findall(r"-?[0-9.]+", row.partition("]")[2])
    trimmed = row.replace(figures[0], "0").replace(figures[1], "nan".rjust(len(figures[1])), 1)
    assert text_of(text.replace(row, trimmed)).fit.penalized is True


# scikit-learn.


def pipeline(model: Any, names: list[str]) -> Any:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    parts = [
        ("number", numbers, ["age"]),
        ("category", OneHotEncoder(handle_unknown="ignore", min_frequency=20), names),
    ]
    return make_pipeline(ColumnTransformer(parts), model)


@pytest.mark.parametrize(
    ("model", "target"),
    [(LinearRegression(), "cost"), (LogisticRegression(), "ill"), (PoissonRegressor(), "visits"), (Lasso(0.5), "cost")],
)
def test_a_pipeline_is_read_as_it_predicts(model: Any, target: str) -> None:
    import pandas as pd

    frame = pd.DataFrame({name: RECORDS[name] for name in ("age", "sex", "town")})
    frame.loc[:5, "age"] = np.nan
    fitted = pipeline(model, ["sex", "town"]).fit(frame, RECORDS[target])
    read = as_model(fitted)
    assert isinstance(read, RegressionModel)
    asked = frame.assign(town=["elsewhere", *frame["town"][1:]])
    if read.classes is None:
        assert np.allclose(read.predict(asked), fitted.predict(asked))
    else:
        assert np.allclose(read.predict_proba(asked), fitted.predict_proba(asked))
    # One of two sexes, and three towns of which two are rare and coded as one, have two columns that do not follow.
    assert read.fit.n_parameters == 1 + 1 + 1 + 2
    assert read.fit.n_records == 200
    assert read.fit.published == ("scaler",)
    assert read.fit.penalized is (not isinstance(model, LinearRegression))


def test_a_model_of_categories_alone_is_an_additive_model() -> None:
    import pandas as pd

    frame = pd.DataFrame({name: RECORDS[name] for name in ("sex", "town")})
    fitted = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(frame, RECORDS["visits"].clip(0, 2))
    read = as_model(fitted)
    assert isinstance(read, AdditiveModel)
    assert np.allclose(read.predict_proba(frame), fitted.predict_proba(frame))


def test_what_clips_a_column_is_refused() -> None:
    from sklearn.preprocessing import KBinsDiscretizer

    fitted = make_pipeline(KBinsDiscretizer(3), LinearRegression()).fit(RECORDS["age"][:, None], RECORDS["cost"])
    with pytest.raises(UnsupportedModelError, match="cut into intervals"):
        as_model(fitted)
    with pytest.raises(InvalidModelError, match="'coef_'"):
        as_model(LinearRegression())


# Results of statsmodels, which the test environment does not have: objects with the same parts.


def results(exog: object, model: str = "Logit", kind: str = "LogitResults", base: str = "object") -> Any:
    module = ModuleType("statsmodels.stand_in")
    bases = () if base == "object" else (type(base, (), {"__module__": module.__name__}),)
    made = {name: type(name, bases, {"__module__": module.__name__}) for name in (model, kind)}
    out, out.model = made[kind](), made[model]()
    parts = SimpleNamespace(
        params=np.array([-1.0, 0.5]), bse=np.array([0.3, 0.2]), nobs=200.0, df_resid=198.0, scale=1.0, llf=-130.5,
        cov_type="nonrobust", mle_retvals={"converged": True},
    )  # fmt: skip
    out.__dict__.update(parts.__dict__)
    out.model.__dict__.update(exog_names=["Intercept", "sex[T.male]"], endog_names="ill", exog=exog)
    return out


def test_results_that_hold_the_design_matrix_are_read_with_a_warning() -> None:
    with pytest.warns(PrivacyLeakWarning, match="a figure of every training record"):
        model = as_model(results(np.ones((200, 2))), DOMAIN)
    assert isinstance(model, RegressionModel)
    assert model.fit.published == ("design matrix",)
    assert indicator_bounds(model) == (25,)
    assert means(model)[RECORDS["sex"] == "male"].max() == pytest.approx(1 / (1 + np.exp(0.5)))


def test_a_design_matrix_of_fewer_records_than_parameters_is_one() -> None:
    with pytest.warns(PrivacyLeakWarning, match="a figure of every training record"):
        model = as_model(results(np.ones((2, 2))), DOMAIN)
    assert isinstance(model, RegressionModel)
    assert model.fit.published == ("design matrix",)


HIDDEN: dict[str, dict[str, Any]] = {
    "offset": {"offset": np.linspace(0, 1, 200)},
    "exposure": {"exposure": np.linspace(0, 1, 200)},
    "strata": {"strata": np.arange(200) % 2},
    "grouped outcome": {"n_trials": np.full(200, 5)},
    "grouped outcome without data": {"n_trials": None, "family": SimpleNamespace(n=np.full(200, 5))},
    "no weights": {"freq_weights": np.ones(200), "var_weights": np.ones(200), "offset": None, "n_trials": None},
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_a_summary_of_statsmodels_hides_is_read_from_its_model(name: str) -> None:
    fitted = results(None)
    fitted.model.__dict__.update(HIDDEN[name])
    # What removing the data leaves is a figure of every record all the same, except numbers of trials of a family that
    # is none of the library's.
    holds = any(np.shape(part) == (200,) for part in HIDDEN[name].values())
    with pytest.warns(PrivacyLeakWarning) if holds else nullcontext():
        model = as_model(fitted, DOMAIN)
    assert isinstance(model, RegressionModel)
    assert (model.fit.published == ("design matrix",)) == holds
    assert model.fit.special == {"exposure": ("offset",), "no weights": ()}.get(
        name, (name.removesuffix(" without data"),)
    )
    # With any of them, errors bound no count.
    assert (indicator_bounds(model) == (None,)) == bool(model.fit.special)


@pytest.mark.parametrize("of", ["freq", "var"])
@pytest.mark.parametrize("removed", [True, False])
def test_weights_of_a_glm_are_seen_with_its_data_and_without(of: str, removed: bool) -> None:
    fitted = results(None, "GLM", "GLMResults")
    families = ("Binomial", "Logit")
    own, link = (type(name, (), {"__module__": "statsmodels.stand_in"})() for name in families)
    own.link = link
    fitted.model.__dict__.update({"family": own, f"_has_{of}_weights": True})
    if not removed:
        fitted.model.__dict__.update({f"_has_{of}_weights": False, f"{of}_weights": np.array([1.0, 2.0] * 100)})
    with nullcontext() if removed else pytest.warns(PrivacyLeakWarning):
        model = as_model(fitted, DOMAIN)
    assert isinstance(model, RegressionModel)
    assert model.fit.special == ("weights",)


@pytest.mark.parametrize("kind", ["L1BinaryResults", "RegularizedResults", "with pen_weight", "by its own word"])
def test_penalties_of_statsmodels_are_seen(kind: str) -> None:
    fitted = results(None, kind=kind if kind.endswith("Results") else "LogitResults")
    if kind == "RegularizedResults":
        del fitted.bse
    fitted.model.pen_weight = float(kind == "with pen_weight")
    fitted.regularized = kind == "by its own word"
    model = as_model(fitted, DOMAIN)
    assert isinstance(model, RegressionModel)
    assert model.fit.penalized
    assert indicator_bounds(model) == (None,)
    assert (model.effects[0].errors is None) == (kind == "RegularizedResults")


@pytest.mark.parametrize(("model", "special"), [("GLMGam", "smooth terms"), ("GEE", "clusters of records")])
def test_models_that_extend_a_glm_are_none(model: str, special: str) -> None:
    fitted = results(None, model, f"{model}Results", base="GLM")
    own, link = (type(name, (), {"__module__": "statsmodels.stand_in"})() for name in ("Binomial", "Logit"))
    own.link = link
    fitted.model.family = own
    read = as_model(fitted, DOMAIN)
    assert isinstance(read, RegressionModel)
    assert read.fit.special == (special,)
    with pytest.raises(UnsupportedModelError, match="OrdinalGEE"):
        as_model(results(None, "OrdinalGEE", "GEEResults", base="GLM"))


def test_results_without_data_are_read_in_silence() -> None:
    model = as_model(results(None), DOMAIN)
    assert isinstance(model, RegressionModel)
    assert model.fit.published == ()
    assert model.fit.n_records == 200


@pytest.mark.parametrize("name", ["r_lm.txt", "r_cox.txt", "sm_ols.txt", "sm_logit.txt"])
def test_two_summaries_in_a_file_are_refused(name: str) -> None:
    text = (FILES / name).read_text()
    with pytest.raises(UnsupportedModelError, match="several"):
        text_of(f"{text}\n{text}")


@pytest.mark.parametrize("name", ["r_lm.txt", "r_saturated.txt", "sm_ols.txt", "sm_ols.csv", "broom_logit.csv"])
def test_the_minus_of_a_word_processor_is_a_minus(name: str) -> None:
    text = (FILES / name).read_text()
    assert text_of(text.replace("-", "\u2212"), name).effects == text_of(text, name).effects


def test_commas_of_another_country_are_refused() -> None:
    for name in ("r_lm.txt", "sm_ols.txt", "sm_ols.csv"):
        with pytest.raises(UnsupportedModelError):
            text_of(re.sub(r"(?<=[0-9])\.(?=[0-9])", ",", (FILES / name).read_text()), name)


def test_what_a_summary_says_between_the_lines() -> None:
    glm, cox = (FILES / "sm_glm.txt").read_text(), (FILES / "sm_phreg.txt").read_text()
    rounds = re.sub(r"(No\. Iterations: +)[0-9]+", r"\g<1>1", glm)
    assert text_of(rounds).fit.converged is None
    strata = text_of(cox.replace("Sample size:       200", "Sample size:       200  Num strata:  2"))
    assert "strata" in strata.fit.special
    groups = text_of(cox.replace("Sample size:       200", "Sample size:       200  Num groups:  2"))
    assert groups.fit.errors == "robust"
    mixed = glm.replace("GLM ", "MixedLM ")
    with pytest.raises(UnsupportedModelError, match="MixedLM"):
        text_of(mixed)


OF_ONE_TABLE = sorted(
    path.name
    for path in FILES.glob("*.txt")
    if path.name != "r_saturated.txt" and not path.stem.endswith(("_hazard", "_curve", "_strata"))
)


@pytest.mark.parametrize("name", OF_ONE_TABLE)
def test_a_table_with_a_gap_is_refused(name: str) -> None:
    lines = (FILES / name).read_text().splitlines(keepends=True)
    ends = next((at for at, line in enumerate(lines) if "exp(-coef)" in line), len(lines))
    rows = {at for at, line in enumerate(lines[:ends]) if len(re.findall(r" -?[0-9]+\.[0-9]+", line)) >= 3}
    gaps = [at for at in rows if at - 1 in rows]
    for at in gaps:
        with pytest.raises(UnsupportedModelError):
            text_of("".join([*lines[:at], "\n", *lines[at:]]))
    assert gaps


@pytest.mark.parametrize("name", ["r_lm.txt", "r_logit.txt", "sm_ols.txt", "sm_glm.txt", "sm_ols.csv"])
def test_a_table_that_lacks_a_row_is_refused(name: str) -> None:
    lines = (FILES / name).read_text().splitlines(keepends=True)
    whole = "".join(line for line in lines if not line.startswith("age"))
    with pytest.raises(UnsupportedModelError, match="degrees of freedom"):
        text_of(whole, name)


def test_a_row_that_stands_twice_is_refused() -> None:
    lines = (FILES / "r_cox.txt").read_text().splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if line.startswith("age"))
    with pytest.raises(UnsupportedModelError, match="two rows of 'age'"):
        text_of("".join([*lines[: at + 2], lines[at], *lines[at + 2 :]]))


def test_hostile_summaries_are_read_in_linear_time() -> None:
    text = (FILES / "r_lm.txt").read_text()
    started = time.process_time()
    with pytest.raises(UnsupportedModelError):
        text_of(re.sub(r"(?m)^age .*$", "age" + "   1" * 40 + " !", text))
    text_of(text + "\nCall:\nlm(" * 50_000 + "\nx")
    assert time.process_time() - started < 5


GLM_OF_SUMMARY2 = """\
              Results: Generalized linear model
==============================================================
Model:              GLM              AIC:            209.2036
Link Function:      Probit           BIC:            -530.3492
Dependent Variable: b                Log-Likelihood: -100.60
No. Observations:   150              Deviance:       201.20
Df Residuals:       147              Scale:          1.0000
Method:             IRLS
---------------------------------------------------------------
            Coef.   Std.Err.     z     P>|z|    [0.025   0.975]
---------------------------------------------------------------
Intercept  -1.4148    0.6602  -2.1430  0.0321  -2.7089  -0.1208
sex[T.male] -0.3812    0.3478  -1.0962  0.2730  -1.0629   0.3004
age         0.0334    0.0139   2.3946  0.0166   0.0061   0.0607
==============================================================
"""


def test_a_glm_of_summary2_is_read_and_needs_its_family() -> None:
    model = text_of(GLM_OF_SUMMARY2)
    assert (model.link, model.fit.family, model.fit.n_records) == ("probit", "", 150)
    assert model.stated(family="binomial").fit.family == "binomial"
    with pytest.raises(InvalidModelError):
        model.stated(family="poisson")


def below_the_summary(text: str) -> int:
    """Return where a summary ends: a baseline below it can be cut between rows without a sign of it."""
    starts = [text.find(mark) for mark in ("hazard time", "Call: survfit", "\n[[array") if mark in text]
    return min(starts, default=len(text)) - 12


CUT = [
    path for path in sorted(FILES.iterdir()) if path.suffix == ".txt" or path.name in ("sm_ols.csv", "broom_logit.csv")
]


@pytest.mark.parametrize("path", CUT, ids=lambda path: path.name)
def test_a_table_that_is_cut_off_is_refused(path: Path, tmp_path: Path) -> None:
    text, whole, cut = path.read_text(), load_model(path), tmp_path / path.name
    assert isinstance(whole, RegressionModel)
    whole = replace(whole, fit=replace(whole.fit, baseline=()))
    end = below_the_summary(text)
    places = range(10, len(text.rstrip()[:end]), max(1, end // 60))
    # A table without a summary can be cut between two rows: nothing in it says how many there are.
    for place in [place for place in places if not (path.suffix == ".csv" and text[:place].endswith("\n"))]:
        cut.write_text(text[:place])
        with suppress(GlassineError):
            model = load_model(cut)
            assert isinstance(model, RegressionModel)
            assert replace(model, fit=replace(model.fit, baseline=())) == whole


def test_a_table_without_the_row_of_its_intercept_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lm.txt"
    text = re.sub(r"\(Intercept\).*\n", "", (FILES / "r_lm.txt").read_text())
    path.write_text(text)
    with pytest.raises(UnsupportedModelError, match="lacks the row of the intercept"):
        load_model(path)
    path.write_text(text.replace("cost ~ age", "cost ~ 0 + age"))
    model = load_model(path)
    assert isinstance(model, RegressionModel)
    assert not model.has_intercept
    assert read("r_lm.txt").has_intercept


@pytest.mark.parametrize(
    "said",
    [
        "Possibly complete quasi-separation: A fraction 0.17 of observations can be\nperfectly predicted.",
        "Complete Separation: The results show that there iscomplete separation or perfect prediction.",
    ],
)
def test_statsmodels_says_where_outcomes_are_certain(said: str) -> None:
    text = (FILES / "sm_logit.txt").read_text()
    assert not regression_from_statsmodels(text, DOMAIN).fit.separated
    assert regression_from_statsmodels(f"{text}\n\n{said}\n", DOMAIN).fit.separated


def test_the_likelihood_of_outcomes_of_0_and_1_follows_from_the_deviance() -> None:
    text = (FILES / "r_logit.txt").read_text()
    model = regression_from_r(text, DOMAIN)
    found = re.search(r"Residual deviance: *(\S+)", text)
    assert found is not None
    assert model.fit.log_likelihood == pytest.approx(-float(found[1]) / 2)
    weighted = text.replace("family = binomial,", "family = binomial, weights = w,", 1)
    assert regression_from_r(weighted, DOMAIN).fit.log_likelihood is None
