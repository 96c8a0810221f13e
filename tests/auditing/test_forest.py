"""Membership attacks on a fitted forest as a whole."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from glassine import AuditSettings
from glassine.attacks.outcome import Measured
from glassine.auditing.inputs import MembershipSettings
from glassine.errors import InvalidDataError, UnsupportedModelError
from tests.auditing.test_membership import frames
from tests.policies import audit_by_bits as audit
from tests.policies import bits_policy


def forest(kind: Any = RandomForestClassifier) -> Any:
    """Return a forest that fits its training records closely."""
    members, _ = frames()
    return kind(10, random_state=0).fit(members.select("a", "b").to_pandas(), members["y"].to_numpy())


@pytest.mark.slow
def test_a_forest_is_attacked_as_a_whole_and_judged() -> None:
    members, others = frames()
    findings = audit(
        forest(),
        data=members,
        target="y",
        holdout=others,
        policy=bits_policy(largest_attack_advantage=0.01),
        settings=AuditSettings(only={"membership"}),
    )
    found = findings.value("membership")
    assert found.best.advantage > 0.1
    assert findings.model.kind == "forest"
    assert findings.model.n_parts == 10
    assert [check.rule for check in findings.checks] == ["largest_attack_advantage"]
    assert findings.verdict == "outside policy"
    assert findings.audience == "checker"
    assert any("membership alone" in note for note in findings.notes)


@pytest.mark.slow
def test_shadow_forests_are_of_its_own_kind() -> None:
    members, others = frames(200)
    settings_of = [MembershipSettings(), MembershipSettings(n_shadows=4)]
    n_measured = [
        [
            attack.status
            for attack in audit(
                forest(), members, "y", holdout=others, settings=AuditSettings(only={"membership"}, membership=asked)
            )
            .value("membership")
            .attacks
        ].count("measured")
        for asked in settings_of
    ]
    # Likelihood ratios and RMIA, each with shadows of both sides and with those of other records alone.
    assert n_measured[1] == n_measured[0] + 4


def test_everything_else_is_not_audited_of_a_forest() -> None:
    members, others = frames()
    for only in (None, {"membership", "parts"}):
        with pytest.raises(UnsupportedModelError):
            audit(forest(), data=members, target="y", holdout=others, settings=AuditSettings(only=only))
    with pytest.raises(InvalidDataError, match="is an attribute"):
        audit(forest(), data=members, target="a", holdout=others, settings=AuditSettings(only={"membership"}))
    number = audit(
        forest(RandomForestRegressor),
        data=members,
        target="y",
        holdout=others,
        settings=AuditSettings(only={"membership"}),
    )
    outcome = number.measured["membership"]
    assert isinstance(outcome, Measured)
    made = {attack.attack: attack.status for attack in outcome.value.attacks}
    assert made["best-loss threshold"] == "measured"
    assert made["gap attack"] == "not applicable"
