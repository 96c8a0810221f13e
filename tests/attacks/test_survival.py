"""Membership attacks on Cox regressions: they find what few records per column leave, and little of many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from glassine import AuditSettings, audit
from glassine.attacks.membership.survival import (
    SLIGHT,
    SurvivalTimes,
    _likelihood,
    attack_survival,
    cox_coefficients,
)
from glassine.attacks.outcome import Failed, Measured, NotApplicable
from glassine.auditing import Check
from glassine.auditing.audit_settings import MembershipSettings
from glassine.data.labels import Sample
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.models import Effect, FitStatistics, Power, RegressionModel
from glassine.scrubbing.regression import scrub_regression


def drawn(n: int, p: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    time, censored = rng.exponential(np.exp(-0.5 * x[:, 0])), rng.exponential(2, n)
    columns = {f"x{j}": x[:, j] for j in range(p)}
    died = (time <= censored).astype(int)
    return pd.DataFrame({**columns, "time": np.minimum(time, censored).round(2) + 0.01, "died": died})


def times_of(frame: pd.DataFrame) -> SurvivalTimes:
    x = frame.drop(columns=["time", "died"]).to_numpy()
    return SurvivalTimes(design=x, time=frame["time"].to_numpy(), event=frame["died"].to_numpy() == 1)


def fitted(frame: pd.DataFrame, target: str = "Surv(time, died)", **fit: object) -> RegressionModel:
    names = [name for name in frame.columns if name.startswith("x")]
    b = cox_coefficients(times_of(frame[[*names, "time", "died"]]))
    return RegressionModel(
        attributes=tuple(names),
        effects=tuple(
            Effect(name=name, factors=(Power(attribute=name),), coefficients=(own,))
            for name, own in zip(names, b.tolist(), strict=True)
        ),
        intercept=(0.0,),
        link="cox",
        target=target,
        fit=FitStatistics(family="cox", n_records=len(frame), n_parameters=len(names), penalized=False, **fit),  # type: ignore[arg-type]
    )


def test_coefficients_are_those_of_the_naive_likelihood() -> None:
    own = times_of(drawn(60, 3, 0))
    b = cox_coefficients(own)

    def likelihood(c: np.ndarray) -> float:
        scores = own.design @ c
        terms = [scores[i] - np.log(np.exp(scores[own.time >= own.time[i]]).sum()) for i in np.flatnonzero(own.event)]
        return float(sum(terms) - SLIGHT * len(own.time) * ((c * own.design.std(axis=0)) ** 2).sum() / 2)

    for j in range(3):
        for move in (-1e-3, 1e-3):
            assert likelihood(b) > likelihood(b + move * np.eye(3)[j])
    gradient = [(likelihood(b + 1e-5 * e) - likelihood(b - 1e-5 * e)) / 2e-5 for e in np.eye(3)]
    assert np.abs(gradient).max() < 1e-4


def attacked(n: int, p: int, seed: int = 0) -> tuple[float, float]:
    frame = drawn(n + 2000, p, seed)
    sides = frame[:n], frame[n:].reset_index(drop=True)
    samples = [Sample(side.drop(columns="time"), side["time"].to_numpy()) for side in sides]
    found = attack_survival(fitted(sides[0]), samples[0], event="died", holdout=samples[1], random_state=0)
    assert isinstance(found.lira_offline, Measured)
    return found.lira_offline.value.advantage.value, found.lira_offline.value.advantage.low


def test_the_units_of_a_column_do_not_matter_and_a_gap_has_no_likelihood() -> None:
    own, units = times_of(drawn(200, 3, 1)), np.array([1.0, 1e-5, 1e4])
    scaled = SurvivalTimes(design=own.design * units, time=own.time, event=own.event)
    assert cox_coefficients(scaled) * units == pytest.approx(cox_coefficients(own), rel=1e-6)
    time = np.where(np.arange(200) < 2, np.nan, own.time)
    gaps = SurvivalTimes(design=own.design, time=time, event=own.event)
    assert np.flatnonzero(np.isnan(_likelihood(gaps, own, np.zeros(3)))).tolist() == [0, 1]
    constant = SurvivalTimes(design=np.full((200, 1), 0.1), time=own.time, event=own.event)
    assert abs(cox_coefficients(constant)) < 1e-6
    frame = drawn(40, 2, 0)
    model, members, blank = fitted(frame), Sample(frame, "time"), Sample(frame.assign(x0=np.nan), "time")
    with pytest.raises(InvalidDataError, match="no record of the attacker's half"):
        attack_survival(model, members, event="died", holdout=blank, random_state=0)


def test_few_records_per_column_are_found_and_many_are_not() -> None:
    advantage, low = attacked(150, 40)
    assert advantage > 0.12
    assert low > 0.05
    assert attacked(2000, 5)[1] < 0.02


def test_an_audit_attacks_by_the_columns_that_the_formula_names() -> None:
    frame = drawn(1200, 30, 3)
    inside, outside = frame[:150], frame[150:].reset_index(drop=True)
    findings = audit(fitted(inside), inside, "time", holdout=outside)
    made = {a.attack for a in findings.value("membership").attacks if a.status == "measured"}
    assert made == {"likelihood attack on times", "likelihood-ratio attack on times"}
    status = {check.rule: check.status for check in findings.checks}
    assert status["largest_measured_advantage"] in ("fail", "unknown")
    assert status["largest_advantage"] == "unknown"  # the law was not calibrated for them


def test_events_are_asked_for_where_no_formula_names_them() -> None:
    frame = drawn(400, 4, 1)
    inside, outside = frame[:200], frame[200:].reset_index(drop=True)
    model = fitted(inside, target="time")
    bare = audit(model, inside, "time", holdout=outside).measured["membership"]
    assert isinstance(bare, NotApplicable)
    assert "column of 0/1" in bare.reason
    stated = AuditSettings(membership=MembershipSettings(event="died"))
    assert isinstance(audit(model, inside, "time", holdout=outside, settings=stated).measured["membership"], Measured)
    read = AuditSettings(membership=MembershipSettings(event="x0"))
    with pytest.raises(InvalidDataError, match="must hold 0 and 1"):
        audit(model, inside, "time", holdout=outside, settings=read)


def test_strata_have_no_reference_models_and_odd_events_are_refused() -> None:
    frame = drawn(400, 4, 1)
    inside, outside = frame[:200], frame[200:].reset_index(drop=True)
    samples = [Sample(side.drop(columns="time"), side["time"].to_numpy()) for side in (inside, outside)]
    model = fitted(inside, special=("strata",))
    found = attack_survival(model, samples[0], event="died", holdout=samples[1], random_state=0)
    assert isinstance(found.lira_offline, Failed | NotApplicable)
    with pytest.raises(InvalidDataError, match="must hold 0 and 1"):
        attack_survival(model, samples[0], event="x0", holdout=samples[1])
    with pytest.raises(InvalidDataError, match="lack the column"):
        attack_survival(model, samples[0], event="gone", holdout=samples[1])


def with_baseline(frame: pd.DataFrame) -> RegressionModel:
    model = fitted(frame)
    died = frame[frame["died"] == 1]
    rows = tuple((float(time), float(place)) for place, time in enumerate(sorted(set(died["time"])), start=1))
    effects = tuple(replace(effect, errors=(0.1,)) for effect in model.effects)
    return replace(model, effects=effects, fit=replace(model.fit, baseline=rows, n_events=len(died)))


def fitted_values(model: RegressionModel, *given: object) -> Check:
    return next(one for one in audit(model, *given).checks if one.rule == "fitted_values")


def test_rows_of_a_baseline_are_those_of_one_event_each() -> None:
    frame = drawn(400, 2, 5)
    model, times = with_baseline(frame), frame.loc[frame["died"] == 1, "time"]
    assert fitted_values(model).measured == len(set(times))
    counted = fitted_values(model, frame, "time")
    assert (counted.status, counted.measured) == ("fail", int((times.value_counts() == 1).sum()))


def test_a_copy_keeps_the_baseline_at_declared_times_alone() -> None:
    frame = drawn(400, 2, 5)
    model = with_baseline(frame)
    grid = (0.25, 0.5, 1.0, 2.0)
    done = scrub_regression(model, times=grid)
    kept = done.model.fit.baseline
    assert [time for time, _ in kept] == list(grid)
    assert all(hazard == max(h for t, h in model.fit.baseline if t <= time) for time, hazard in kept)
    assert done.n_dropped == len(model.fit.baseline) - len(grid)
    assert fitted_values(done.model).status == "unknown"
    assert fitted_values(done.model, frame, "time").status == "pass"
    assert scrub_regression(model).model.fit.baseline == ()
    with pytest.raises(InvalidParameterError, match="finite"):
        scrub_regression(model, times=(1.0, float("nan")))
