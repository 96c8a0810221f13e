"""What an attacker infers under assumptions that are stated."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

from glassine import AuditSettings, Category, Domain, Integer, Policy, audit, infer_sensitive, parse_rules, scrub
from glassine.attacks import Adversary
from glassine.auditing.audit_settings import DisclosureSettings
from glassine.auditing.findings.disclosure import DisclosureFinding
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.learners import MultiwayTreeClassifier
from glassine.models import AdditiveModel, NumericBins, Term


def people(n: int = 240) -> pl.DataFrame:
    """Return people whose level depends on age and town, with some noise."""
    rng = np.random.default_rng(0)
    age, town = rng.integers(18, 60, n), rng.choice(["a", "b", "c"], n)
    high = (age > 40) ^ (town == "a") ^ (rng.random(n) < 0.15)
    return pl.DataFrame({"age": age, "town": town, "level": np.where(high, "high", "low")})


FRAME = people()
TREE = MultiwayTreeClassifier(min_samples_split=80).fit(FRAME.drop("level"), FRAME["level"].to_numpy()).model_


def disclosed(settings: DisclosureSettings | None, data: pl.DataFrame = FRAME, **more: Any) -> DisclosureFinding:
    """Return what an audit finds of the level alone."""
    asked = AuditSettings(
        sensitive="level", measurements={"disclosure"}, disclosure=settings, criterion="gini", show_small_counts=True
    )
    findings = audit(TREE, data=data, settings=asked, **more)
    found = findings.value("disclosure")
    assert isinstance(found, DisclosureFinding), findings.measured["disclosure"]
    return found


@pytest.mark.parametrize("internal", [True, False])
def test_the_figures_are_those_of_the_attack(internal: bool) -> None:
    found = disclosed(DisclosureSettings(internal_nodes=internal))
    estimate = infer_sensitive(TREE, FRAME, "level", Adversary(internal_nodes=internal))
    assert found.readers[-1].entropy == pytest.approx(estimate.entropy / np.log(2), abs=1e-9)
    assert found.details is not None
    assert found.details.truth is not None
    distance = estimate.d_overall(FRAME["level"].to_numpy()) / np.log(2)
    assert found.details.truth.mean == pytest.approx(distance, abs=1e-9)


def test_details_are_for_those_who_state_what_they_assume() -> None:
    assert disclosed(None).details is None
    assert disclosed(DisclosureSettings()).details is not None


def test_people_without_the_attribute_need_a_target() -> None:
    bare = FRAME.drop("level")
    found = disclosed(DisclosureSettings(), bare, target="level")
    assert found.details is not None
    assert found.details.truth is None
    with pytest.raises(InvalidDataError, match="neither in the domain nor a column"):
        disclosed(DisclosureSettings(), bare)
    with pytest.raises(InvalidDataError, match="the data lack the sensitive column"):
        disclosed(DisclosureSettings(truth=True), bare, target="level")


def test_other_people_are_an_error_and_a_sample_is_not() -> None:
    everybody = pl.concat([FRAME, people(60)])
    with pytest.raises(InvalidDataError):
        disclosed(DisclosureSettings(), everybody)
    found = disclosed(DisclosureSettings(training="sample"), everybody)
    assert found.details is not None
    assert found.details.sample is not None
    assert found.details.sample.fraction == pytest.approx(240 / 300)
    with pytest.raises(InvalidParameterError, match="training='known'"):
        DisclosureSettings(training="sample", remedies=True)


@pytest.mark.parametrize(
    ("settings", "status"),
    [
        (DisclosureSettings(), "pass"),
        (DisclosureSettings(internal_nodes=False), "unknown"),
        (DisclosureSettings(leaves="labels_only", internal_nodes=False), "unknown"),
        (DisclosureSettings(training="sample"), "unknown"),
    ],
)
def test_a_weaker_attacker_proves_nothing_about_the_tree(settings: DisclosureSettings, status: str) -> None:
    policy = Policy(most_certain=240)
    findings = audit(
        TREE,
        data=FRAME,
        policy=policy,
        settings=AuditSettings(sensitive="level", criterion="gini", measurements={"disclosure"}, disclosure=settings),
    )
    assert [(check.rule, check.status) for check in findings.checks] == [("most_certain", status)]
    assert findings.audience == "checker"


DOMAIN = Domain({"age": Integer(18, 59), "town": Category(("a", "b", "c"))})
SILENT: dict[str, Any] = {
    "rule list": parse_rules("if [age <= 30] then [low]\nelse [high]", DOMAIN),
    "tree": scrub(TREE, DOMAIN, counts="remove").model,
    "additive model": AdditiveModel(
        attributes=("age",),
        terms=(Term(bins=(NumericBins("age", (30.0, 40.0)),), scores=np.array([0.0, 1.0, -1.0, 0.0])),),
        intercept=(0.0,),
        link="logit",
        classes=("high", "low"),
    ),
}


@pytest.mark.parametrize("kind", SILENT)
def test_of_people_among_whom_the_training_records_are_nothing_is_counted(kind: str) -> None:
    """Beside a population each check of a model that publishes no counts is what it is without records."""

    def checked(data: pl.DataFrame | None, training: Literal["known", "sample"]) -> dict[str, str]:
        settings = AuditSettings(disclosure=DisclosureSettings(training=training))
        holdout = None if data is None else people(300)[240:]
        target = None if data is None else "level"
        findings = audit(SILENT[kind], data=data, target=target, holdout=holdout, domain=DOMAIN, settings=settings)
        return {check.rule: check.status for check in findings.checks}

    without = checked(None, "known")
    assert "unknown" in without.values()
    assert checked(FRAME, "known") != without
    assert checked(FRAME, "sample") == without
