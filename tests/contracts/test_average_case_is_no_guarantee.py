"""A certificate with a statement of the average case is taken for a guarantee by nothing that accepts guarantees."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glassine import Domain, Ledger, Policy, audit
from glassine.capacity import LABELS, average_case, tree_class
from glassine.errors import InvalidCertificateError
from glassine.learners import OptimalTreeClassifier
from glassine.privacy.certificate import Certificate
from glassine.report.evidence import evidence

LARGE = average_case(tree_class(3, 1, 2), 10**9, 2 * 10**9, published=LABELS)
"""Bounds far below any policy's limits: were they taken for a guarantee, it would be accepted."""


@pytest.fixture
def learner() -> OptimalTreeClassifier:
    """Return a fitted tree, whose certificate carries a statement."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 3))
    learner = OptimalTreeClassifier(1, domain=Domain.binary(["a", "b", "c"]), classes=(0, 1)).fit(X, X[:, 0])
    assert learner.certificate_.average_case is not None
    return learner


def test_the_certificate_claims_no_epsilon(learner: OptimalTreeClassifier) -> None:
    certificate = replace(learner.certificate_, average_case=LARGE)
    assert LARGE.strictest.mean_advantage < 1e-3
    assert not certificate.holds
    assert certificate.epsilon == math.inf
    assert certificate.variant == "none"
    assert certificate.text().startswith("Not differentially private")
    assert "Average case, which is no differential privacy:" in certificate.text()
    plain = certificate.to_dict()
    assert plain["epsilon"] is None
    assert plain["holds"] is False
    assert "average_case" in plain
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert "average_case" not in Certificate.none("exact counts").to_dict()


def test_a_statement_alone_makes_no_certificate_that_holds() -> None:
    with pytest.raises(InvalidCertificateError, match="no guarantee"):
        Certificate(epsilon=0.1, events=(), average_case=LARGE)
    with pytest.raises(InvalidCertificateError, match="must be an AverageCase"):
        Certificate.none("exact counts", average_case="bounds")  # type: ignore[arg-type]
    odd = replace(Certificate.none("exact counts"), average_case=LARGE).to_dict()
    odd["caveats"] = []
    odd["holds"] = True
    with pytest.raises(InvalidCertificateError):
        Certificate.from_dict(odd)


def test_an_audit_accepts_none(learner: OptimalTreeClassifier) -> None:
    learner.certificate_ = replace(learner.certificate_, average_case=LARGE)
    for accept in (True, False):
        policy = Policy(accept_guarantee=accept)
        for subject in (learner, learner.model_):
            findings = audit(subject, domain=learner.domain, policy=policy)
            plain = audit(learner.model_, domain=learner.domain, policy=Policy())
            assert findings.guarantee is None
            assert findings.verdict == plain.verdict
            assert {check.rule for check in findings.checks if check.basis == "guarantee"} == set()


@pytest.mark.parametrize("which", ["tre", "edpb", "nist"])
def test_evidence_states_no_bound_of_it(learner: OptimalTreeClassifier, which: str) -> None:
    with_it = evidence(which, certificate=replace(learner.certificate_, average_case=LARGE))
    without = evidence(which, certificate=replace(learner.certificate_, average_case=None))
    assert with_it.to_dict() == without.to_dict()


def test_a_ledger_has_no_charge_of_it(learner: OptimalTreeClassifier, tmp_path: Path) -> None:
    book = Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 1.0)
    book.charge("people", 0.5)
    (payment,) = book.verify([replace(learner.certificate_, average_case=LARGE)]).payments
    assert payment.status != "paid"
    assert payment.entry is None
