"""What a file does not say of its fit permits nothing: each kind of regression is judged by the law of its parameters.

A model of categories alone is read as an additive model, whose scores are usually fitted one after another and shrunk;
those of a regression are fitted together, and reveal more.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import glassine
from glassine import AuditSettings
from glassine.auditing.statements import Statements
from glassine.formats import load_file
from glassine.formats.printed.r_regression import regression_from_r
from glassine.models import AdditiveModel, RegressionModel
from glassine.models.implied import advantage_of_parameters
from glassine.models.indicators import not_bounded
from glassine.models.regression import UNPRINTED

N, LETTERS = 60, list("abcdef")


def people(seed: int = 0, n: int = N) -> pl.DataFrame:
    """Return records of many categories, few by default, whose outcome is noise."""
    rng = np.random.default_rng(seed)
    columns = {f"c{place}": rng.choice(LETTERS, n) for place in range(6)}
    return pl.DataFrame({**columns, "ill": rng.integers(0, 2, n)})


FITS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(C=1e4, max_iter=5_000),
    "linear": LinearRegression,
}
FORMS: tuple[Any, ...] = ("json", "onnx", "pmml", "text")


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize("form", ["object", *FORMS])
def test_a_regression_of_categories_is_judged_as_a_regression_in_every_form(
    kind: str, form: Any, tmp_path: Path
) -> None:
    records = people()
    columns = records.drop("ill").to_pandas()
    fitted = make_pipeline(OneHotEncoder(), FITS[kind]()).fit(columns, records["ill"].to_numpy())
    model = glassine.as_model(fitted)
    assert isinstance(model, AdditiveModel)
    artefact: Any = fitted
    if form != "object":
        artefact = tmp_path / "model"
        glassine.write_model(model, artefact, to=form)
        artefact = load_file(artefact)
    audit = glassine.audit(artefact, data=records, target="ill")
    assert audit.verdict == "outside policy"
    (check,) = [check for check in audit.checks if check.rule == "largest_advantage"]
    # Six categories of six values have 30 columns that do not follow from others.
    assert check.status == "fail"
    assert check.measured == pytest.approx(advantage_of_parameters(30 / N, "regression"), rel=0.02)


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize("form", ["object", *FORMS])
def test_more_records_than_those_of_training_permit_no_regression_of_categories(
    kind: str, form: Any, tmp_path: Path
) -> None:
    records = people()
    columns = records.drop("ill").to_pandas()
    artefact: Any = make_pipeline(OneHotEncoder(), FITS[kind]()).fit(columns, records["ill"].to_numpy())
    if form != "object":
        glassine.write_model(glassine.as_model(artefact), tmp_path / "model", to=form)
        artefact = load_file(tmp_path / "model")
    for other in (people(1, 100 * N), pl.concat([records] * 100)):
        audit = glassine.audit(artefact, data=other, target="ill")
        (check,) = [check for check in audit.checks if check.rule == "largest_advantage"]
        assert check.status == "unknown"
        assert "is not confirmed" in check.meaning
    without_outcomes = glassine.audit(artefact, data=people(1, 100 * N).drop("ill"))
    assert without_outcomes.verdict == "inconclusive"
    # A number that is stated decides without any records, and refutes others.
    stated = [AuditSettings(statements=Statements(n_records=n)) for n in (N, 100 * N)]
    for settings, status in zip(stated, ("fail", "pass"), strict=True):
        alone = glassine.audit(artefact, settings=settings)
        assert {check.rule: check.status for check in alone.checks}["largest_advantage"] == status
    beside = glassine.audit(artefact, data=people(1, 50 * N), target="ill", settings=stated[-1])
    assert beside.verdict == "inconclusive"


SUMMARY = Path(__file__).parents[1] / "formats" / "regressions" / "r_logit.txt"


def called(change: Callable[[str], str]) -> RegressionModel:
    """Return the summary of R with another call."""
    text = SUMMARY.read_text()
    start = text.index("glm(")
    end = text.index("\n\n", start)
    return regression_from_r(text[:start] + change(text[start:end]) + text[end:])


@pytest.mark.parametrize("n", [1, 400])
def test_what_stands_at_the_end_of_a_long_call_is_read(n: int) -> None:
    long = ", data = list(" + ", ".join(f"column_{place} = x" for place in range(n)) + ")"
    assert called(lambda call: call).fit.special == ()
    assert called(lambda call: f"{call[:-1]}{long}, weights = w)").fit.special == ("weights",)
    assert called(lambda call: f"{call[:-1]}{long}, offset = log(t))").fit.special == ("offset",)


def test_a_formula_that_is_printed_as_a_variable_hides_what_it_says() -> None:
    def renamed(call: str) -> str:
        start = call.index("formula = ") + len("formula = ")
        return f"{call[:start]}f{call[call.index(', family') :]}"

    hidden = called(renamed)
    assert hidden.fit.special == (UNPRINTED,)
    assert not_bounded(hidden.stated(errors="model")) == not_bounded(called(lambda call: call))
    assert not_bounded(hidden)


def fitted(design: Any, outcome: Any, offset: Any, *, counts: bool) -> tuple[Any, Any]:
    """Return the coefficients and the standard errors of a logistic or a Poisson regression with an offset."""
    at, information = np.zeros(design.shape[1]), np.eye(design.shape[1])
    for _ in range(60):
        score = design @ at + offset
        means = np.exp(score) if counts else 1 / (1 + np.exp(-score))
        information = (design * (means if counts else means * (1 - means))[:, None]).T @ design
        at = at + np.linalg.solve(information, design.T @ (outcome - means))
    return at, np.sqrt(np.diag(np.linalg.inv(information)))


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_errors_bound_a_column_where_a_summary_hides_an_offset(seed: int, counts: bool) -> None:
    rng = np.random.default_rng(seed)
    n, offset = 400, rng.normal(0, 2, 400)
    design = np.column_stack([np.ones(n), rng.random((n, 3)) < [0.1, 0.3, 0.6], rng.normal(size=n)])
    score = offset - 0.5 + design[:, 1] + 0.5 * design[:, 4]
    outcome = rng.poisson(np.exp(score)) if counts else rng.random(n) < 1 / (1 + np.exp(-score))
    errors = fitted(design, outcome, offset, counts=counts)[1]
    for column, error in zip(design.T[1:4], errors[1:4], strict=True):
        ones = float(outcome[column == 1].sum())
        assert 1 / error**2 <= (ones if counts else min(ones, float((column == 1).sum()) - ones))
