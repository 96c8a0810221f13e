"""Audits of regressions: what the file, statements and records say, and what is answered with unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import AuditSettings, Policy, audit
from glassine.auditing.findings import Findings
from glassine.auditing.findings.regression import RegressionFinding
from glassine.auditing.following import widest
from glassine.auditing.statements import Statements
from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.domain.attributes import Attribute
from glassine.errors import InvalidModelError
from glassine.formats import as_model, load_file, load_model
from glassine.models import Effect, Equal, FitStatistics, Power, RegressionModel
from glassine.models.effects import Factor
from glassine.models.indicators import CANONICAL, indicator_bounds
from glassine.records.arrays import AnyArray, Array
from glassine.report import render_html, render_text
from glassine.scrubbing.scrub import scrub
from tests.formats.test_regressions import DOMAIN, FILES, RECORDS

NORM = Policy(smallest_leaf=10)
FRAME = pl.DataFrame(RECORDS)


def audited(name: str, *, data: Any = None, target: str | None = None, **stated: Any) -> Findings:
    settings = AuditSettings(statements=Statements(**stated))
    return audit(load_file(FILES / name, DOMAIN), data, target, domain=DOMAIN, policy=NORM, settings=settings)


def status(findings: Findings) -> dict[str, str]:
    return {check.rule: check.status for check in findings.checks}


def made(n: int, columns: int, **fit: Any) -> RegressionModel:
    names = tuple(f"x{i}" for i in range(columns))
    effects = tuple(Effect(name=x, factors=(Power(attribute=x),), coefficients=(0.1,)) for x in names)
    facts: dict[str, Any] = {
        "family": "binomial",
        "n_records": n,
        "n_parameters": columns + 1,
        "penalized": False,
    } | fit
    return RegressionModel(
        attributes=names, effects=effects, intercept=(0,), link="logit", classes=(0, 1), fit=FitStatistics(**facts)
    )


@pytest.mark.parametrize(("n", "expected"), [(800, "pass"), (790, "fail"), (700, "fail"), (100, "fail")])
def test_about_thirteen_records_per_parameter_are_the_limit(n: int, expected: str) -> None:
    assert status(audit(made(n, 59)))["largest_advantage"] == expected


@pytest.mark.parametrize(
    ("fit", "reason"),
    [
        ({"n_records": None}, "how many training records"),
        ({"family": ""}, "of which family"),
        ({"special": ("weights",)}, "weights"),
        ({"special": ("records of intervals",)}, "records of intervals"),
        ({"penalized": True, "n_records": 100}, "a penalty leaves fewer"),
    ],
)
def test_what_was_not_calibrated_is_unknown_never_a_pass(fit: dict[str, Any], reason: str) -> None:
    check = next(c for c in audit(made(10_000, 59, **fit)).checks if c.rule == "largest_advantage")
    assert check.status == "unknown"
    assert reason in check.meaning


@pytest.mark.parametrize(
    ("domain", "advice"),
    [
        (None, ["Declare the values that each column can have in a domain"]),
        (Domain({"x1": Real(0, 100)}), ["Pass the training records, so that they can be counted"]),
        (Domain({"x0": Real(1, 100)}), []),
    ],
)
def test_a_range_is_asked_for_before_records(domain: Domain | None, advice: list[str]) -> None:
    effect = Effect(name="x0", factors=(Power(attribute="x0"),), coefficients=(0.1,), errors=(0.005,))
    fit = {"errors": "model", "converged": True, "dispersion": "fixed"}
    findings = audit(replace(made(10_000, 1, **fit), effects=(effect,), intercept_errors=(0.1,)), domain=domain)
    assert status(findings)["fitted_values"] == ("unknown" if advice else "pass")
    assert [one.text.partition(":")[0] for one in findings.advice] == advice


@pytest.mark.parametrize("name", ["r_cox.txt", "r_poisson.txt", "sm_mnlogit.txt", "r_weighted.txt", "sm_phreg.txt"])
def test_families_without_a_calibration_are_unknown(name: str) -> None:
    assert status(audited(name))["largest_advantage"] == "unknown"


def test_a_penalty_can_only_help() -> None:
    assert status(audit(made(10_000, 59, penalized=True)))["largest_advantage"] == "pass"


def test_errors_settle_the_norm_only_upward() -> None:
    # A bound below ten proves nothing. Five records are of the town east: R's reference, and a column of statsmodels.
    for name in ("r_logit.txt", "sm_logit.txt"):
        assert status(audited(name))["smallest_leaf"] == "unknown"
        counted = audited(name, data=FRAME, target="ill")
        assert next(c for c in counted.checks if c.rule == "smallest_leaf").status == "fail"
    north = FRAME.filter(pl.col("town").is_in(["north", "south"]))
    kept = load_model(FILES / "sm_glm.txt", DOMAIN)
    assert isinstance(kept, RegressionModel)
    bare = replace(kept, fit=replace(kept.fit, n_records=None))
    # Records that the file does not fix are taken for those of training where their number is stated.
    for n, expected in ((None, "unknown"), (len(north), "pass")):
        settings = AuditSettings(statements=Statements(n_records=n))
        findings = audit(bare, north, "visits", domain=DOMAIN, policy=NORM, settings=settings)
        assert status(findings)["smallest_leaf"] == expected
    assert status(audited("general_logit.pmml", n_records=200, errors="model"))["smallest_leaf"] == "pass"


@pytest.mark.parametrize("name", ["sm_ols_hc1.txt", "r_cox_robust.txt"])
def test_a_table_of_robust_errors_never_passes_by_them(name: str) -> None:
    assert status(audited(name))["smallest_leaf"] == "unknown"


def test_the_norm_is_unknown_where_nobody_says_which_columns_are_of_0_and_1() -> None:
    findings = audit(load_model(FILES / "sm_logit.txt"), policy=NORM)
    check = next(c for c in findings.checks if c.rule == "smallest_leaf")
    assert check.status == "unknown"
    assert "age" in check.meaning


@pytest.mark.parametrize(
    ("name", "number"),
    [("r_lm.txt", 2), ("general_cox.pmml", 61), ("r_saturated.txt", 46), ("sm_ols.txt", 0), ("r_cox.txt", 0)],
)
def test_values_of_single_records_are_counted(name: str, number: int) -> None:
    # Of a Cox regression, R does not say that it converged.
    settings = AuditSettings(statements=Statements(errors="model" if name == "r_cox.txt" else None))
    rows = load_model(FILES / name, DOMAIN)
    check = next(c for c in audit(rows, domain=DOMAIN, settings=settings).checks if c.rule == "fitted_values")
    assert isinstance(rows, RegressionModel)
    expected = len(rows.fit.baseline) if name == "general_cox.pmml" else number
    assert check.measured == expected
    assert check.status == ("fail" if expected else "pass")


def test_acro_counts_degrees_of_freedom_alone() -> None:
    harmful = made(100, 59)
    assert status(audit(harmful, policy=Policy.named("sacro")))["residual_degrees_of_freedom"] == "pass"
    assert status(audit(harmful))["largest_advantage"] == "fail"


def test_records_give_leverage_and_sizes_to_the_checker_alone() -> None:
    findings = audited("r_logit.txt", data=FRAME, target="ill")
    finding = findings.value("columns")
    assert isinstance(finding, RegressionFinding)
    assert finding.effective == pytest.approx(7)
    assert finding.largest_leverage is not None
    assert 0.2 < finding.largest_leverage <= 1
    public = findings.public().value("columns")
    assert isinstance(public, RegressionFinding)
    assert public.largest_leverage is None
    assert public.effective is None
    assert all(column.size is None for column in public.columns)


def test_other_records_are_no_training_records() -> None:
    findings = audited("r_logit.txt", data=FRAME[:100], target="ill")
    assert status(findings)["largest_advantage"] == "unknown"


def test_membership_is_attacked_with_a_holdout() -> None:
    from sklearn.linear_model import LogisticRegression

    frames = [FRAME[part].select("age", "bmi", "ill").to_pandas() for part in (slice(0, 100), slice(100, 200))]
    fitted = LogisticRegression(C=np.inf).fit(frames[0][["age", "bmi"]], frames[0]["ill"])
    findings = audit(as_model(fitted), frames[0], "ill", holdout=frames[1])
    assert findings.value("membership").attacks
    assert "largest_measured_advantage" in status(findings)


def test_a_contradicting_statement_is_refused() -> None:
    with pytest.raises(InvalidModelError, match="the file says 200 records"):
        audited("r_logit.txt", n_records=100)


def test_the_report_has_the_table_and_the_forest_plot() -> None:
    findings = audited("r_logit.txt")
    page = render_html(findings)
    assert "forest-plot" in page
    assert page.count("<circle") == 2 * 6  # once for a phone
    assert "Std. error" in page
    text = render_text(findings)
    assert "sexmale" in text
    assert "holds at least 9" in text


# Scrubbing.


@pytest.mark.parametrize("name", ["r_logit.txt", "sm_ols.txt", "general_logit.pmml", "broom_logit.csv"])
def test_a_scrubbed_copy_has_coefficients_of_half_an_error_and_nothing_beside(name: str) -> None:
    model = load_model(FILES / name, DOMAIN)
    assert isinstance(model, RegressionModel)
    copy = scrub(model, DOMAIN).model
    for before, after in zip(model.effects, copy.effects, strict=True):
        assert before.errors is not None
        assert after.errors is not None
        half = after.errors[0] / 2
        assert after.coefficients[0] / half == pytest.approx(round(after.coefficients[0] / half), abs=1e-6)
        assert abs(after.coefficients[0] - before.coefficients[0]) <= half / 2 * (1 + 1e-9)
        assert before.errors[0] <= after.errors[0] <= before.errors[0] * 1.1
    assert (copy.fit.published, copy.fit.n_residuals, copy.fit.baseline) == ((), 0, ())
    # The last two do not say of which kind their errors are, so that nothing bounds a column until it is stated.
    says = name in ("r_logit.txt", "sm_ols.txt")
    assert status(audit(copy, domain=DOMAIN)).get("fitted_values") == ("pass" if says else "unknown")
    settings = AuditSettings(statements=Statements(family=copy.fit.family or "binomial", errors="model"))
    assert status(audit(copy, domain=DOMAIN, settings=settings)).get("fitted_values") == "pass"


def test_a_scrubbed_cox_model_has_no_baseline_rows() -> None:
    model = load_model(FILES / "general_cox.pmml", DOMAIN)
    with pytest.raises(InvalidModelError, match="publishes no standard errors"):
        scrub(model, DOMAIN)
    by_text = load_model(FILES / "r_cox.txt", DOMAIN)
    assert isinstance(by_text, RegressionModel)
    assert scrub(by_text, DOMAIN).model.fit.baseline == ()


@pytest.mark.parametrize("rows", [((1, 0.3), (2, 0.1)), ((1, 0.1), (1, 0.1)), ((1, -0.1),)])
def test_a_baseline_that_is_no_cumulative_hazard_is_refused(rows: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(InvalidModelError, match="at least 0, with one row for each time, and cannot fall"):
        FitStatistics(baseline=rows)
    assert FitStatistics(baseline=((2, 0.3), (1, 0.1))).baseline == ((2, 0.3), (1, 0.1))
    # Rows of several strata have times in common.
    assert FitStatistics(special=("strata",), baseline=((1, 0.3), (1, 0.1), (2, 0.2))).baseline[2] == (2, 0.2)


def test_errors_that_are_not_published_follow_from_the_records() -> None:
    model = load_model(FILES / "logistic.pmml", DOMAIN)
    copy = scrub(model, DOMAIN, data=FRAME).model
    assert all(effect.errors is None for effect in copy.effects)
    assert sum(len(f"{effect.coefficients[0]}") for effect in copy.effects) < 60


def test_a_domain_need_not_declare_a_column_that_a_formula_computes() -> None:
    assert isinstance(load_model(FILES / "r_saturated.txt", Domain.binary(["age"])), RegressionModel)


def test_leverage_is_a_criterion_where_it_is_set() -> None:
    x = np.array([*np.linspace(0, 1, 40), 50.0])
    data = pl.DataFrame({"x": x, "y": 2 * x + np.sin(np.arange(41))})
    slope, start = np.polyfit(x, data["y"].to_numpy(), 1)
    effect = Effect(name="x", factors=(Power(attribute="x"),), coefficients=(float(slope),))
    fit = FitStatistics(family="gaussian", n_records=41, n_parameters=2, penalized=False)
    model = RegressionModel(attributes=("x",), effects=(effect,), intercept=(float(start),), link="identity", fit=fit)
    asked = Policy(largest_leverage=0.5)
    assert status(audit(model, data, "y", policy=asked))["largest_leverage"] == "fail"
    assert status(audit(model, policy=asked))["largest_leverage"] == "unknown"
    inner = data.filter(pl.col("x") < 2)
    whole = replace(model, fit=replace(fit, n_records=40))
    assert status(audit(whole, inner, "y", policy=asked))["largest_leverage"] == "pass"
    assert "largest_leverage" not in status(audit(model, data, "y"))


@pytest.mark.parametrize(
    ("name", "facts"),
    [("r_probit.txt", {}), ("r_logit.txt", {"special": ("clusters of records",)})],
)
def test_what_the_law_was_not_calibrated_for_is_unknown(name: str, facts: dict[str, Any]) -> None:
    model = load_model(FILES / name, DOMAIN)
    assert isinstance(model, RegressionModel)
    model = replace(model, fit=replace(model.fit, **facts))
    checks = {check.rule: check for check in audit(model, domain=DOMAIN).checks}
    assert checks["largest_advantage"].status == "unknown"
    assert "was not calibrated" in checks["largest_advantage"].meaning


def test_a_family_without_calibration_asks_for_nothing_that_the_file_says() -> None:
    findings = audit(load_file(FILES / "r_cox.txt", DOMAIN), domain=DOMAIN)
    said = " ".join(one.text for one in findings.advice)
    assert "number of training records" not in said
    assert "held-out records" in said
    assert "of 0 leaves" not in render_html(findings)


def fitted_line(columns: dict[str, np.ndarray], **fit: Any) -> tuple[RegressionModel, pl.DataFrame]:
    """Return least squares of numbers, with errors to four digits, and its records."""
    n = len(next(iter(columns.values())))
    design = np.column_stack([np.ones(n), *columns.values()])
    y = np.random.default_rng(3).normal(size=n)
    answer, *_ = np.linalg.lstsq(design, y, rcond=None)
    scale = float(((y - design @ answer) ** 2).sum() / (n - design.shape[1]))
    errors = np.sqrt(scale * np.diag(np.linalg.inv(design.T @ design)))
    effects = tuple(
        Effect(name=x, factors=(Power(attribute=x),), coefficients=(float(b),), errors=(float(f"{e:.4g}"),), rounding=0)
        for x, b, e in zip(columns, answer[1:], errors[1:], strict=True)
    )
    facts: dict[str, Any] = {"family": "gaussian", "dispersion": "estimated", "errors": "model", "penalized": False}
    facts |= {"n_records": n, "n_parameters": design.shape[1], "scale": scale, "converged": True} | fit
    model = RegressionModel(
        attributes=tuple(columns),
        effects=effects,
        intercept=(float(answer[0]),),
        link="identity",
        fit=FitStatistics(**facts),
    )
    return model, pl.DataFrame({**columns, "y": y})


@pytest.mark.parametrize(
    ("alone", "by_file", "by_records"),
    [(1, "unknown", "fail"), (2, "pass", "pass"), (40, "pass", "pass")],
)
def test_the_outcome_of_a_record_that_is_alone_in_a_column_follows(alone: int, by_file: str, by_records: str) -> None:
    age = np.linspace(0.0, 1.0, 400)
    model, data = fitted_line({"age": age, "clinic": (np.arange(400) < alone).astype(float)})
    domain = Domain({"age": Real(0, 1), "clinic": Binary()})
    assert status(audit(model, domain=domain))["fitted_values"] == by_file
    assert status(audit(model, data, "y", domain=domain))["fitted_values"] == by_records
    # Under a penalty it follows for someone who knows its strength, and no error bounds the column.
    for penalized in (True, None):
        shrunk = replace(model, fit=replace(model.fit, penalized=penalized))
        assert status(audit(shrunk, data, "y", domain=domain))["fitted_values"] == by_records
        assert status(audit(shrunk, domain=domain))["fitted_values"] == "unknown"


CODINGS: dict[str, tuple[Attribute | None, Factor]] = {
    "of 0/1": (Binary(), Power(attribute="few")),
    "a category": (Category((0, 1)), Equal(attribute="few", value=1)),
    "a whole number of two values": (Integer(0, 1), Power(attribute="few")),
    "a whole number": (Integer(0, 9), Power(attribute="few")),
    "a real number": (Real(0, 100), Power(attribute="few")),
    "with a step": (Real(-1, 1, resolution=0.5), Power(attribute="few")),
    "with a code": (Integer(1, 9, codes={0: "none"}), Power(attribute="few")),
    "not declared": (None, Power(attribute="few")),
}
FITS: dict[str, dict[str, Any]] = {
    "by the model": {},
    "robust": {"errors": "robust"},
    "of an unknown kind": {"errors": ""},
    "of a penalty": {"penalized": True},
    "of a fit that may have a penalty": {"penalized": None},
    "of a fit with weights": {"special": ("weights",)},
    "of no known convergence": {"converged": None},
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("with_errors", [True, False])
def test_no_file_passes_whose_column_may_hold_one_person(coding: str, fit: str, with_errors: bool) -> None:
    """However the column is declared, whatever the errors are; with many people, errors by the model pass it."""
    attribute, factor = CODINGS[coding]
    domain = Domain({"age": Real(17, 90)} | ({} if attribute is None else {"few": attribute}))
    age = np.linspace(17.0, 90.0, 2_000)
    passed = []
    for n in (1, 1_000):
        model, data = fitted_line({"age": age, "few": (np.arange(2_000) < n).astype(float)}, **FITS[fit])
        effects = tuple(replace(effect, errors=effect.errors if with_errors else None) for effect in model.effects)
        model = replace(model, effects=(effects[0], replace(effects[1], factors=(factor,))))
        check = next(c for c in audit(model, domain=domain).checks if c.rule == "fitted_values")
        passed.append(check.status == "pass")
        assert passed[-1] or (check.status == "unknown" and "few" in check.meaning)
        assert status(audit(model, data, "y", domain=domain))["fitted_values"] == ("fail" if n == 1 else "pass")
    # Of a range of 100, a thousand people at 1 are no proof: they weigh as much as one person at 32.
    proved = fit == "by the model" and with_errors and coding not in ("a real number", "not declared")
    assert passed == [False, proved]


@pytest.mark.parametrize("link", ["logit", "softmax", "log"])
@pytest.mark.parametrize(("n", "outcome", "expected"), [(1, 0, "fail"), (6, 0, "fail"), (6, None, "pass"), (6, 1, "")])
def test_people_of_a_column_who_share_an_outcome_are_counted_under_a_penalty(
    link: str, n: int, outcome: int | None, expected: str
) -> None:
    """The coefficient states the sum of their outcomes, less what the penalty adds."""
    rng = np.random.default_rng(0)
    y, few = rng.integers(0, 2, 400), np.arange(400) < n
    y[:n] = np.arange(n) % 2 if outcome is None else outcome
    outputs = 2 if link == "softmax" else 1
    effect = Effect(name="few", factors=(Power(attribute="few"),), coefficients=(-0.8,) * outputs)
    family = {"logit": "binomial", "softmax": "multinomial", "log": "poisson"}[link]
    model = RegressionModel(
        attributes=("few",),
        effects=(effect,),
        intercept=(0.1,) * outputs,
        link=link,
        classes=None if link == "log" else (0, 1),
        fit=FitStatistics(family=family, n_records=400, n_parameters=2, penalized=True),
    )
    data = pl.DataFrame({"few": few.astype(int), "y": y})
    check = next(c for c in audit(model, data, "y").checks if c.rule == "fitted_values")
    # Counts of 1 may be 0 and 2.
    assert check.status == (expected or ("pass" if link == "log" else "fail"))
    if check.status == "fail":
        assert check.measured == n
        assert "strength of a penalty" in check.meaning
    bare = replace(model, effects=(replace(effect, coefficients=(0.0,) * outputs),))
    assert status(audit(bare, data, "y"))["fitted_values"] == "pass"


def test_a_number_that_is_0_for_all_but_a_few_is_a_column_of_those() -> None:
    few = np.where(np.arange(400) < 4, np.arange(400) + 1.0, 0.0)
    model, data = fitted_line({"age": np.linspace(1, 2, 400), "gain": few})
    assert status(audit(model, data, "y", policy=NORM))["smallest_leaf"] == "fail"


@pytest.mark.parametrize(("n", "expected"), [(4, "unknown"), (200, "pass")])
def test_a_number_of_two_values_is_of_0_and_1_in_another_unit(n: int, expected: str) -> None:
    model, _ = fitted_line({"age": np.linspace(1, 2, 400), "sex": 1.0 + (np.arange(400) < n)})
    domain = Domain({"age": Real(1, 2), "sex": Integer(1, 2)})
    assert status(audit(model, domain=domain, policy=NORM))["smallest_leaf"] == expected


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_errors_bound_the_records_of_a_number_of_a_known_range(family: str) -> None:
    """As many are off its least value, and off its largest, as the bound says: of the rarer outcome, or of counts."""
    rng, tight = np.random.default_rng(11), 0
    for draw in range(120):
        n, low = 300, float(rng.choice([0.0, -3.0, 5.0]))
        share, span = float(rng.choice([0.02, 0.1, 0.6])), float(rng.choice([0.5, 1.0, 7.0]))
        x = np.where(rng.random(n) < share, low + span * rng.choice([rng.random(n), np.ones(n)]), low)
        design = np.column_stack([np.ones(n), rng.normal(size=n), x])
        b, y, errors, scale = newton(design, 0.4 * design[:, 1], family, rng)
        if b is None or np.linalg.matrix_rank(design) < 3:
            continue
        domain = Domain({"age": Real(-9, 9), "x": Real(low, low + span)})
        facts: dict[str, Any] = {"family": family, "errors": "model", "penalized": False, "converged": True}
        facts |= {"dispersion": "estimated", "scale": scale} if family == "gaussian" else {"dispersion": "fixed"}
        effects = tuple(
            Effect(name=name, factors=(Power(attribute=name),), coefficients=(float(value),), errors=(float(error),))
            for name, value, error in zip(("age", "x"), b[1:], errors[1:], strict=True)
        )
        model = RegressionModel(
            attributes=("age", "x"),
            effects=effects,
            intercept=(float(b[0]),),
            link=CANONICAL[family],
            classes=(0, 1) if family == "binomial" else None,
            fit=FitStatistics(**facts),
        )
        bound = indicator_bounds(model, domain, every=True)[1]
        assert bound is not None
        for own in (x > low, x < low + span):
            ones, of = y[own].sum(), own.sum()
            assert bound <= {"gaussian": of, "binomial": min(ones, of - ones), "poisson": ones}[family], draw
        tight += bound >= 2
        assert indicator_bounds(model, every=True) == (None, None)
    assert tight > 20


def newton(x: Array, center: Array, family: str, rng: np.random.Generator) -> tuple[Array | None, Array, Array, float]:
    """Return a fit by maximum likelihood to outcomes that are drawn, their errors and the residual variance."""
    n = len(x)
    if family == "gaussian":
        y = np.asarray(center + rng.normal(size=n), dtype=float)
        b = np.asarray(np.linalg.lstsq(x, y, rcond=None)[0])
        scale = float(((y - x @ b) ** 2).sum() / (n - x.shape[1]))
        return b, y, np.asarray(np.sqrt(scale * np.diag(np.linalg.pinv(x.T @ x)))), scale
    logistic = family == "binomial"
    drawn = rng.random(n) < 1 / (1 + np.exp(-center)) if logistic else rng.poisson(np.exp(center))
    y, b = np.asarray(drawn, dtype=float), np.zeros(x.shape[1])
    for _ in range(50):
        scores = np.clip(x @ b, -30, 30)
        mean = 1 / (1 + np.exp(-scores)) if logistic else np.exp(scores)
        weights = np.maximum(mean * (1 - mean) if logistic else mean, 1e-12)
        inverse = np.linalg.pinv((x * weights[:, None]).T @ x)
        step = inverse @ x.T @ (y - mean)
        b = np.asarray(b + np.clip(step, -3, 3))
        if np.abs(step).max() < 1e-10:
            return b, y, np.asarray(np.sqrt(np.diag(inverse))), 1.0
    return None, y, b, 1.0


@pytest.mark.parametrize("values", [(0.0, 3.7), (1.0, 2.0)])
def test_columns_of_two_values_are_counted_in_any_unit(values: tuple[float, float]) -> None:
    few = np.where(np.arange(400) < 4, values[1], values[0])
    model, data = fitted_line({"age": np.linspace(0, 1, 400), "few": few})
    assert status(audit(model, data, "y", policy=NORM))["smallest_leaf"] == "fail"


@pytest.mark.parametrize(("n", "expected"), [(1, "fail"), (4, "fail"), (40, "pass")])
def test_a_number_within_a_category_has_the_records_of_the_category(n: int, expected: str) -> None:
    age = np.linspace(1.0, 2.0, 400)
    town = np.where(np.arange(400) < n, "a", "b")
    model, data = fitted_line({"age": age, "x": age * (town == "a")})
    product = replace(model.effects[1], factors=(Equal(attribute="town", value="a"), Power(attribute="age")))
    model = replace(model, attributes=("age", "town"), effects=(model.effects[0], product))
    data = data.with_columns(town=pl.Series(town))
    domain = Domain({"age": Real(1, 2), "town": Category(("a", "b"))})
    # By the file alone nothing bounds how few they are.
    by_file = status(audit(model, domain=domain, policy=NORM))
    assert (by_file["smallest_leaf"], by_file["fitted_values"]) == ("unknown", "unknown")
    by_records = status(audit(model, data, "y", domain=domain, policy=NORM))
    assert by_records["smallest_leaf"] == expected
    assert by_records["fitted_values"] == ("fail" if n == 1 else "pass")


@pytest.mark.parametrize(("likelihood", "expected"), [(-0.6, "fail"), (-0.7, "pass"), (None, "pass")])
def test_a_likelihood_near_one_gives_every_outcome(likelihood: float | None, expected: str) -> None:
    # -log 2 is -.693: above it, no outcome has a fitted probability of one half or less.
    # Numbers that everyone has, so that no column is of a single record.
    domain = Domain({"x0": Real(1, 2), "x1": Real(-2, -1)})
    findings = audit(made(800, 2, log_likelihood=likelihood), domain=domain)
    assert status(findings)["fitted_values"] == expected


def test_a_fit_that_did_not_converge_may_give_outcomes() -> None:
    assert status(audit(made(800, 2, converged=False)))["fitted_values"] == "unknown"


def test_records_whose_outcome_is_certain_are_counted() -> None:
    model = made(800, 1)
    sure = replace(model, effects=(replace(model.effects[0], coefficients=(20.0,)),))
    data = pl.DataFrame({"x0": np.where(np.arange(800) < 30, 1.0, 0.0), "y": np.arange(800) % 2})
    assert status(audit(sure, data, "y"))["fitted_values"] == "fail"
    assert status(audit(model, data, "y"))["fitted_values"] == "pass"


@pytest.mark.parametrize("fit", [{"separated": True}, {"df_residual": 0}, {"log_likelihood": -0.1}])
def test_no_copy_is_advised_where_outcomes_follow_from_coefficients(fit: dict[str, Any]) -> None:
    said = " ".join(one.text for one in audit(made(800, 2, **fit)).advice)
    assert ("with categories joined" in said, "copy without them" in said) == (True, False)
    printed = " ".join(one.text for one in audit(made(800, 2, n_residuals=2)).advice)
    assert ("with categories joined" in printed, "copy without them" in printed) == (False, True)


def test_records_are_asked_for_where_a_column_may_hold_one() -> None:
    model, data = fitted_line({"age": np.linspace(0, 1, 400), "clinic": (np.arange(400) < 1).astype(float)})
    domain = Domain({"age": Real(0, 1), "clinic": Binary()})
    assert "Pass the training records" in " ".join(one.text for one in audit(model, domain=domain).advice)
    findings = audit(model, data, "y", domain=domain)
    assert "with categories joined" in " ".join(one.text for one in findings.advice)


def test_outcomes_are_needed_to_see_that_people_of_a_column_share_one() -> None:
    data = pl.DataFrame({"few": (np.arange(400) < 6).astype(int), "y": np.arange(400) % 2, "other": np.arange(400)})
    effect = Effect(name="few", factors=(Power(attribute="few"),), coefficients=(0.2,))
    fit = FitStatistics(family="binomial", n_records=400, n_parameters=2, penalized=True)
    model = RegressionModel(
        attributes=("few",), effects=(effect,), intercept=(0.1,), link="logit", classes=(0, 1), fit=fit
    )
    for target, expected in (("y", "pass"), (None, "unknown"), ("other", "unknown")):
        findings = audit(model, data, target)
        assert status(findings)["fitted_values"] == expected
        asks = "Name the column that the model predicts" in " ".join(one.text for one in findings.advice)
        assert asks == (expected == "unknown")


def test_a_reference_category_of_one_person_is_counted_under_a_penalty() -> None:
    """Its sum of outcomes is that of all records less those of the columns."""
    town = np.array(["a", "b"])[(np.arange(400) > 0).astype(int)]
    data = pl.DataFrame({"town": town, "y": np.arange(400) % 2})
    effect = Effect(name="b", factors=(Equal(attribute="town", value="b"),), coefficients=(0.2,))
    fit = FitStatistics(family="binomial", n_records=400, n_parameters=2, penalized=True)
    model = RegressionModel(
        attributes=("town",), effects=(effect,), intercept=(0.1,), link="logit", classes=(0, 1), fit=fit
    )
    check = next(c for c in audit(model, data, "y").checks if c.rule == "fitted_values")
    assert (check.status, check.measured) == ("fail", 1)
    # Where all coefficients were rounded to 0, no outcome is in them; a penalty of known strength bounds some.
    for penalized, expected in ((False, "pass"), (True, "unknown"), (None, "unknown")):
        zero = replace(
            model,
            effects=(replace(effect, coefficients=(0.0,)),),
            fit=replace(fit, penalized=penalized, converged=True),
        )
        assert status(audit(zero))["fitted_values"] == expected


FAMILY_OF = {"identity": "gaussian", "logit": "binomial", "log": "poisson", "softmax": "multinomial", "cox": "cox"}
ROWS = np.arange(400)
COMBINED: dict[str, tuple[dict[str, AnyArray], int]] = {
    "one column within another": ({"a": ROWS < 40, "b": ROWS < 41}, 1),
    "the complement of two": ({"a": ROWS < 200, "b": (ROWS > 200) & (ROWS < 400)}, 1),
    "in three columns, as all others in one": (
        {name: (k == ROWS % 3) | (ROWS == 0) for k, name in enumerate("abc")},
        1,
    ),
    "far from all others": ({"a": np.where(ROWS == 7, 1e9, ROWS % 50), "b": ROWS % 2}, 1),
    "beside a column of large numbers": ({"a": np.where(ROWS == 7, 1, 0), "b": 1e15 * (ROWS % 9)}, 1),
    "nobody": ({"a": ROWS < 40, "b": ROWS < 60}, 0),
    "skewed": ({"a": np.where(ROWS == 7, 500, ROWS % 50), "b": ROWS % 2}, 0),
}


@pytest.mark.parametrize("link", [*FAMILY_OF, "gamma"])
@pytest.mark.parametrize("penalized", [True, False])
@pytest.mark.parametrize("case", COMBINED)
def test_the_outcome_of_a_record_follows_from_columns_together(case: str, penalized: bool, link: str) -> None:
    """Score equations state it, whatever the link and the penalty, where columns together are of that record."""
    columns, expected = COMBINED[case]
    family, link = (link, "log") if link == "gamma" else (FAMILY_OF[link], link)
    outputs = 2 if link == "softmax" else 1
    effects = tuple(
        Effect(name=name, factors=(Power(attribute=name),), coefficients=(1e-200,) * outputs) for name in columns
    )
    model = RegressionModel(
        attributes=tuple(columns),
        effects=effects,
        intercept=(0.0 if link == "cox" else 0.3,) * outputs,
        link=link,
        classes=(0, 1) if link in ("logit", "softmax") else None,
        fit=FitStatistics(family=family, n_records=400, penalized=penalized),
    )
    numbers = {name: np.asarray(column, dtype=float) for name, column in columns.items()}
    data = pl.DataFrame({**numbers, "y": (ROWS // 5) % 2})
    check = next(c for c in audit(model, data, "y").checks if c.rule == "fitted_values")
    assert (check.status, check.measured) == (("fail", 1) if expected else ("pass", 0))


def test_people_who_share_an_outcome_are_counted_in_a_combination_of_columns() -> None:
    columns = {"a": ROWS < 40, "b": ROWS < 44}
    effects = tuple(Effect(name=n, factors=(Power(attribute=n),), coefficients=(0.2,)) for n in columns)
    fit = FitStatistics(family="binomial", n_records=400, n_parameters=3, penalized=True)
    model = RegressionModel(
        attributes=tuple(columns), effects=effects, intercept=(0.1,), link="logit", classes=(0, 1), fit=fit
    )
    for between, measured in (((0, 0, 0, 0), 4), ((0, 1, 0, 0), 0)):
        y = ROWS % 2
        y[40:44] = between
        data = pl.DataFrame({**{n: c.astype(int) for n, c in columns.items()}, "y": y})
        check = next(c for c in audit(model, data, "y").checks if c.rule == "fitted_values")
        assert check.measured == measured


def test_numbers_above_zero_pass_by_a_file_unless_their_errors_say_that_one_record_is_far() -> None:
    for far, expected in ((1e6, "unknown"), (40.0, "pass")):
        income = np.where(ROWS == 7, far, 1.0 + ROWS % 50)
        model, _ = fitted_line({"age": np.linspace(17.0, 90.0, 400), "income": income}, **FITS["by the model"])
        domain = Domain({"age": Real(17, 90), "income": Real(1, max(far, 50.0))})
        assert status(audit(model, domain=domain))["fitted_values"] == expected


def test_people_are_counted_in_a_column_where_they_are_stated() -> None:
    few = (np.arange(400) < 15).astype(float)
    model, data = fitted_line({"age": np.linspace(1, 2, 400), "few": few})
    people = data.with_columns(pl.Series("who", np.maximum(np.arange(400), 14).astype(str)))
    assert status(audit(model, data, "y", policy=NORM))["smallest_leaf"] == "pass"
    assert status(audit(model, people, "y", persons="who", policy=NORM))["smallest_leaf"] == "fail"
    alone = data.with_columns(pl.Series("who", np.arange(400).astype(str)))
    assert status(audit(model, alone, "y", persons="who", policy=NORM))["smallest_leaf"] == "pass"
    # All who are not in the column are one person.
    rest = data.with_columns(pl.Series("who", np.minimum(np.arange(400), 15).astype(str)))
    assert status(audit(model, rest, "y", persons="who", policy=NORM))["smallest_leaf"] == "fail"
    assert status(audit(model, data, "y"))["fitted_values"] == "pass"
    assert status(audit(model, people, "y", persons="who"))["fitted_values"] == "fail", "a person alone in the column"
    others = people.with_columns(pl.Series("who", (np.arange(400) // 2).astype(str)))
    assert status(audit(model, others, "y", persons="who"))["fitted_values"] == "pass"


@pytest.mark.parametrize("n_boxes", [2, 3, 5])
def test_boxes_of_which_all_but_one_person_tick_exactly_one_give_that_person_away(n_boxes: int) -> None:
    names = [f"box{i}" for i in range(n_boxes)]
    ticks = np.eye(n_boxes)[np.arange(600) % n_boxes]
    ticks[0] = 1.0
    domain = Domain({name: Binary() for name in names})
    model, data = fitted_line(dict(zip(names, ticks.T, strict=True)))
    # Each column holds a hundred people, and its error says no more than that together they have some one else.
    assert min(bound or 0 for bound in indicator_bounds(model, domain)) <= (n_boxes - 1) ** 2
    check = next(c for c in audit(model, domain=domain).checks if c.rule == "fitted_values")
    assert check.status == "unknown"
    assert status(audit(model, data, "y", domain=domain))["fitted_values"] == "fail"
    free = np.random.default_rng(0).integers(0, 2, (600, n_boxes)).astype(float)
    model, data = fitted_line(dict(zip(names, free.T, strict=True)))
    assert status(audit(model, domain=domain))["fitted_values"] == "pass"
    assert status(audit(model, data, "y", domain=domain))["fitted_values"] == "pass"


def test_no_columns_of_0_and_1_are_together_those_of_one_record_by_more_than_is_allowed_for() -> None:
    rng, tried = np.random.default_rng(0), 0
    while tried < 200:
        k = int(rng.integers(2, 7))
        others = np.unique(rng.integers(0, 2, (k, k)), axis=0)
        design = np.column_stack([np.ones(len(others) + 1), np.vstack([others, rng.integers(0, 2, k)])])
        if np.linalg.matrix_rank(design[:-1]) != k or np.linalg.matrix_rank(design) != k + 1:
            continue
        null = np.linalg.svd(design[:-1])[2][-1]
        effects = [Effect(name=f"x{i}", factors=(Power(attribute=f"x{i}"),), coefficients=(1.0,)) for i in range(k)]
        assert abs(design[-1] @ null) / np.abs(null[1:]).max() <= widest(effects) + 1e-9
        tried += 1


@pytest.mark.parametrize(("intercept", "expected"), [(2.5, "unknown"), (-2.5, "pass")])
def test_a_coefficient_that_a_penalty_made_0_may_say_an_outcome(intercept: float, expected: str) -> None:
    few, y = (np.arange(400) < 1).astype(int), np.ones(400, dtype=int)
    y[200:] = 0
    model = RegressionModel(
        attributes=("few",),
        effects=(Effect(name="few", factors=(Power(attribute="few"),), coefficients=(0.0,)),),
        intercept=(intercept,),
        link="logit",
        classes=(0, 1),
        fit=FitStatistics(family="binomial", n_records=400, n_parameters=2, penalized=True),
    )
    # At a probability of 0.92, an outcome of 0 would need a stronger penalty than one of 1.
    findings = audit(model, pl.DataFrame({"few": few, "y": y}), "y")
    check = next(c for c in findings.checks if c.rule == "fitted_values")
    assert check.status == expected
    if expected == "unknown":
        assert "a penalty made 0" in check.meaning
        assert "fewer columns" in render_text(findings)
