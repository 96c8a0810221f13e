"""Cut points of private models follow from the domain, as audits say; those taken from records are flagged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Domain, Integer, Policy, Real, audit
from glassine.attacks.bin_leakage import are_candidates
from glassine.attacks.value_leakage import thresholds_of
from glassine.auditing.criterion import Check
from glassine.auditing.findings import Findings
from glassine.domain.grid import finest_cuts, is_candidate, on_grid
from glassine.learners import (
    EBMClassifier,
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateGreedyRuleListClassifier,
    PrivateRuleListClassifier,
    PrivateScorecardClassifier,
    PrivateScorecardRegressor,
    PrivateSummary,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
)
from glassine.models import AdditiveModel, Guarantee, NumericBins, Term

N = 600
DOMAIN = Domain(
    {
        "few": Integer(0, 9),
        "age": Integer(18, 90, thresholds=(30, 45.5, 60)),
        "years": Integer(18, 90),
        "amount": Integer(0, 100_000, missing=True),
        "step": Real(0.0, 90.0, resolution=0.25),
        "declared": Real(0.0, 20_000.0, thresholds=(1_000.0, 2_500.0, 5_000.0)),
        "real": Real(-3.0, 4.1),
        "coded": Integer(0, 500, thresholds=(100, 200), codes={-9: "refused", 999: "unknown"}),
    }
)
RNG = np.random.default_rng(5)
DATA: dict[str, Any] = {
    "few": RNG.integers(0, 10, N),
    "age": RNG.integers(18, 91, N),
    "years": RNG.integers(18, 91, N),
    "amount": RNG.integers(0, 100_001, N),
    "step": RNG.integers(0, 361, N) / 4,
    "declared": RNG.gamma(2.0, 1_500.0, N).clip(0, 20_000),
    "real": RNG.normal(size=N).clip(-3, 4.1),
    "coded": np.where(RNG.random(N) < 0.1, -9, RNG.integers(0, 501, N)),
}
FRAME = pl.DataFrame(DATA)
RANKS = np.argsort(np.argsort(np.column_stack([DATA[name] for name in DATA]), axis=0), axis=0)
LABELS = (RANKS.mean(axis=1) > N / 2).astype(int)

STRICT = Policy(thresholds_off_grid=0, named_by_thresholds=0)


def the(findings: Findings, rule: str) -> Check:
    """Return the check by one rule."""
    (check,) = [check for check in findings.checks if check.rule == rule]
    return check


def of_classes(kind: Any, *given: Any, **fixed: Any) -> Callable[[], list[Any]]:
    usual = {"epsilon": 50.0, "domain": DOMAIN, "classes": (0, 1), "random_state": 0}
    return lambda: [kind(*given, **(usual | fixed)).fit(FRAME, LABELS).model_]


def of_numbers(kind: Any, **fixed: Any) -> Callable[[], list[Any]]:
    usual = {"epsilon": 50.0, "domain": DOMAIN, "target_range": (0, 1), "random_state": 0}
    return lambda: [kind(**(usual | fixed)).fit(FRAME, LABELS).model_]


def of_summary() -> list[Any]:
    summary = PrivateSummary(epsilon=50.0, domain=DOMAIN, classes=(0, 1), random_state=0).fit(FRAME, LABELS)
    return [summary.additive(), summary.scorecard(), summary.tree(), summary.rule_list()]


MODELS: dict[str, Callable[[], list[Any]]] = {
    "tree, quantiles": of_classes(PrivateTreeClassifier, 2, literals="quantiles", n_quantiles=3),
    "tree, coarse": of_classes(PrivateTreeClassifier, 2, literals="coarse"),
    "regression tree": of_numbers(PrivateTreeRegressor, max_depth=2),
    "rule list": of_classes(PrivateRuleListClassifier, 2),
    "greedy list": of_classes(PrivateGreedyRuleListClassifier, 3),
    "additive, penalized": of_classes(PrivateEBMClassifier, interactions=2),
    "additive, boosting": of_classes(PrivateEBMClassifier, algorithm="boosting"),
    "regression, penalized": of_numbers(PrivateEBMRegressor),
    "regression, boosting": of_numbers(PrivateEBMRegressor, algorithm="boosting"),
    "scorecard": of_classes(PrivateScorecardClassifier),
    "regression, scorecard": of_numbers(PrivateScorecardRegressor),
    "summary": of_summary,
}


@pytest.mark.parametrize("kind", MODELS)
def test_an_audit_says_that_cut_points_of_a_private_model_follow_from_the_domain(kind: str) -> None:
    for fitted in MODELS[kind]():
        # The seed is a caveat, under which no claim counts.
        model = replace(fitted, guarantee=replace(fitted.guarantee, caveats=()))
        if isinstance(model, AdditiveModel):
            assert are_candidates(model, DOMAIN)
            numeric = [bins for term in model.terms for bins in term.bins if isinstance(bins, NumericBins)]
            cuts = {(bins.attribute, cut) for bins in numeric for cut in bins.cuts}
        else:
            cuts = set(thresholds_of(model, DOMAIN))
        assert cuts
        assert all(is_candidate(DOMAIN[name], cut) for name, cut in cuts)
        private = any(not on_grid(DOMAIN[name], cut) for name, cut in cuts)
        found = audit(model, domain=DOMAIN, policy=STRICT)
        checks = [the(found, rule) for rule in ("thresholds_off_grid", "named_by_thresholds")]
        assert (checks[0].status == "unknown") == private
        for check in checks:
            assert check.status in ("pass", "unknown")
            assert (check.status == "pass") or "none was taken from a record" in check.meaning
        # Nothing but the claim distinguishes the cut points from those of an ordinary model.
        bare = the(audit(replace(model, guarantee=None), domain=DOMAIN, policy=STRICT), "thresholds_off_grid")
        assert bare.status == ("fail" if private else "pass")


def test_some_private_fit_cuts_beside_declared_thresholds() -> None:
    (model,) = MODELS["additive, penalized"]()
    for name in ("age", "declared", "coded"):
        cuts = {cut for term in model.terms for bins in term.bins if bins.attribute == name for cut in bins.cuts}
        assert any(not on_grid(DOMAIN[name], cut) for cut in cuts), name


def of_midpoints(name: str) -> AdditiveModel:
    """Return an ordinary model whose cuts are midpoints of neighboring values of the data."""
    values = np.unique(np.asarray(DATA[name], dtype=float))
    cuts = tuple((values[i] + values[i + 1]) / 2 for i in range(len(values) // 4, len(values) // 4 + 15))
    term = Term(bins=(NumericBins(name, cuts),), scores=np.linspace(-1, 1, len(cuts) + 2))
    return AdditiveModel(attributes=(name,), terms=(term,), intercept=(0.0,), link="logit", classes=(0, 1))


@pytest.mark.parametrize("name", ["age", "declared", "real"])
def test_midpoints_of_records_beside_declared_thresholds_are_flagged(name: str) -> None:
    model = of_midpoints(name)
    for policy in (Policy(), STRICT):
        assert the(audit(model, domain=DOMAIN, policy=policy), "named_by_thresholds").status == "fail"
    # A claim alone does not make midpoints of real numbers cut points that the domain offers.
    claimed = audit(replace(model, guarantee=Guarantee(epsilon=1.0)), domain=DOMAIN, policy=STRICT)
    said = "none was taken from a record" in the(claimed, "named_by_thresholds").meaning
    assert said == isinstance(DOMAIN[name], Integer)


def test_an_ordinary_fit_is_flagged_where_no_threshold_is_declared() -> None:
    model = EBMClassifier(domain=DOMAIN, classes=(0, 1)).fit(FRAME, LABELS).model_
    assert the(audit(model, domain=DOMAIN), "named_by_thresholds").status == "fail"


def test_finest_cuts_are_no_public_cut_points() -> None:
    for name in ("age", "years", "declared", "real", "coded"):
        attribute = DOMAIN[name]
        assert isinstance(attribute, Integer | Real)
        off = [cut for cut in finest_cuts(attribute) if not on_grid(attribute, cut)]
        assert len(off) >= len(finest_cuts(attribute)) / 3, name
