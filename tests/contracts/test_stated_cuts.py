"""That all cut points are public is believed where they can be: of every kind of model that has thresholds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from glassine import AuditSettings, Domain, Real, audit
from glassine.auditing.statements import Statements
from glassine.domain import Between
from glassine.models import (
    AdditiveModel,
    Branch,
    DecisionTree,
    Evidence,
    Node,
    NumericBins,
    Rule,
    RuleList,
    Term,
    TreeEnsemble,
)

MANY = Evidence(counts=(400, 600))
STATED = AuditSettings(statements=Statements(public_cuts=True))


def tree(cut: float) -> DecisionTree:
    branches = (Branch(Between("age", hi=cut), 1), Branch(Between("age", lo=cut), 2))
    return DecisionTree((Node(branches=branches), Node(evidence=MANY), Node(evidence=MANY)), ("age",), ("no", "yes"))


def rule_list(cut: float) -> RuleList:
    return RuleList(
        rules=(Rule(antecedent=(Between("age", hi=cut),), evidence=MANY), Rule(antecedent=(), evidence=MANY)),
        attributes=("age",),
        classes=("no", "yes"),
    )


def additive(cut: float) -> AdditiveModel:
    term = Term(bins=(NumericBins("age", (cut,)),), scores=np.array([0.1, 0.2, 0]), weights=np.array([900.0, 1000, 0]))
    return AdditiveModel(attributes=("age",), terms=(term,), intercept=(0.0,), link="logit", classes=("no", "yes"))


def ensemble(cut: float) -> TreeEnsemble:
    return TreeEnsemble(
        combined="mean",
        learner="random forest",
        attributes=("age",),
        classes=("no", "yes"),
        leaves=np.array([2, 2]),
        thresholds={"age": np.array([cut])},
        placed="unknown",
        n_records=2000,
        base_rate=0.4,
    )


KINDS: dict[str, Callable[[float], Any]] = {
    "tree": tree,
    "rule list": rule_list,
    "additive model": additive,
    "ensemble": ensemble,
}


def status(model: object, *, settings: AuditSettings = STATED, domain: Domain | None = None) -> str:
    checks = audit(model, domain=domain, settings=settings).checks
    return next(check.status for check in checks if check.rule == "named_by_thresholds")


@pytest.mark.parametrize("kind", KINDS)
def test_cuts_that_people_choose_are_believed_to_be_public(kind: str) -> None:
    for cut in (40.0, 37.5, 49_999.5, 0.25):
        assert status(KINDS[kind](cut), settings=AuditSettings()) == "unknown"
        assert status(KINDS[kind](cut)) == "pass"


@pytest.mark.parametrize("kind", KINDS)
def test_cuts_of_many_digits_are_not_unless_a_domain_lists_them(kind: str) -> None:
    for cut in (37.4183, 189_233.5, 1 / 3, -122.2449):
        model = KINDS[kind](cut)
        findings = audit(model, settings=STATED)
        check = next(check for check in findings.checks if check.rule == "named_by_thresholds")
        assert check.status == "unknown"
        assert "age have more digits than people choose" in check.meaning
        # Nor is the statement asked for.
        assert not any("public_cuts" in one.parameters for one in audit(model).advice)
        assert status(model, domain=Domain({"age": Real(-200, 200_000, thresholds=(cut,))})) == "pass"


@pytest.mark.parametrize("kind", KINDS)
def test_a_domain_that_lists_others_does_not_help(kind: str) -> None:
    assert status(KINDS[kind](37.4183), domain=Domain({"age": Real(0, 100, thresholds=(40.0,))})) == "unknown"
