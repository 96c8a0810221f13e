"""Membership attacks in an audit: what is measured, judged and shown."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import Domain, Integer, Real, as_model
from glassine.attacks.outcome import Below, Measured, NotApplicable
from glassine.auditing.schema import schema
from glassine.auditing.tree_figures import MISMATCH
from glassine.errors import InvalidDataError, InvalidPolicyError
from glassine.models import Guarantee
from glassine.report import attack_page, render_html, render_text
from tests.policies import audit_by_bits as audit
from tests.policies import bits_policy
from tests.report.builders import GAP, MEMBERSHIP, membership_checks

DOMAIN = Domain({"a": Real(-10, 10), "b": Real(-10, 10)})


def frames(seed: int = 0, n: int = 300) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Members and others of one population: two numbers, a noisy class, an identifier that separates the two."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 2))
    y = (X[:, 0] + rng.normal(size=2 * n) > 0).astype(int)
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "id": np.arange(2 * n)})
    return frame[:n], frame[n:]


def grown(members: pl.DataFrame, **given: Any) -> DecisionTreeClassifier:
    """Grow a tree of the members; without limits it knows each of them."""
    tree = DecisionTreeClassifier(random_state=0, **given)
    return tree.fit(members.select("a", "b").to_pandas(), members["y"].to_numpy())


@pytest.mark.slow
def test_an_overfitted_tree_gives_its_members_away() -> None:
    members, others = frames()
    found = audit(
        grown(members),
        domain=DOMAIN,
        data=members,
        target="y",
        holdout=others,
        policy=bits_policy(largest_attack_advantage=0.1),
    )
    assert isinstance(found.measured["membership"], Measured)
    membership = found.measured["membership"].value
    gap = membership.attacks[0]
    assert gap.detected
    assert gap.advantage is not None
    assert gap.advantage > 0.2
    # The identifier would tell members apart without the model: it is no attribute of it.
    assert membership.shifted is False
    assert [check.status for check in found.checks if check.rule == "largest_attack_advantage"] == ["fail"]
    assert found.verdict == "outside policy"
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    jsonschema.validate(plain, schema())


@pytest.mark.slow
def test_a_stump_leaves_open_what_few_records_cannot_tell() -> None:
    members, others = frames()
    found = audit(
        grown(members, max_depth=1),
        domain=DOMAIN,
        data=members,
        target="y",
        holdout=others,
        policy=bits_policy(largest_attack_advantage=0.05),
    )
    (check,) = [check for check in found.checks if check.rule == "largest_attack_advantage"]
    assert check.status == "unknown"
    assert any("Add held-out records" in advice.text for advice in found.advice)


def test_without_a_holdout_membership_is_unknown_and_not_safe() -> None:
    members, _ = frames()
    found = audit(grown(members), domain=DOMAIN, data=members, policy=bits_policy(largest_attack_advantage=0.5))
    assert isinstance(found.measured["membership"], NotApplicable)
    assert [check.status for check in found.checks if check.rule == "largest_attack_advantage"] == ["unknown"]
    assert all(check.rule != "largest_attack_advantage" for check in audit(grown(members), domain=DOMAIN).checks)


def test_a_target_that_a_frame_lacks_is_refused() -> None:
    members, others = frames()
    with pytest.raises(InvalidDataError, match="target 'y' must be a column"):
        audit(grown(members), domain=DOMAIN, data=members, target="y", holdout=others.drop("y"))


@pytest.mark.parametrize("limit", [0.0, -1.0, 1.5, float("nan"), True, "0.1"])
def test_an_impossible_limit_is_refused(limit: Any) -> None:
    with pytest.raises(InvalidPolicyError, match="largest_attack_advantage"):
        bits_policy(largest_attack_advantage=limit)


@pytest.mark.parametrize(
    ("low", "high", "shifted", "status"),
    [
        (0.06, 0.2, False, "fail"),
        (0.06, 0.2, None, "fail"),
        (0.06, 0.2, True, "unknown"),
        (0.26, 0.4, True, "fail"),
        (0.01, 0.05, False, "pass"),
        (0.01, 0.05, True, "unknown"),
        (-0.06, -0.01, False, "unknown"),
        (0.01, 0.06, False, "unknown"),
    ],
)
def test_confidence_bounds_judge(low: float, high: float, shifted: bool | None, status: str) -> None:
    attack = replace(GAP, advantage=(low + high) / 2, advantage_low=low, advantage_high=high)
    finding = replace(MEMBERSHIP, attacks=(attack, MEMBERSHIP.attacks[1]), shifted=shifted, shift_auc=0.6)
    (check,) = membership_checks(bits_policy(largest_attack_advantage=0.05), finding)
    assert check.status == status


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "seed"), [(4, 0), (6, 0), (6, 2), (6, 4)])
def test_text_json_and_verdict_give_the_same_strongest_attack(depth: int, seed: int) -> None:
    """On few members the attack of the largest advantage is not that of the largest lower bound."""
    members, others = frames()
    rng = np.random.default_rng(seed)
    some = members[rng.permutation(len(members))[:60].tolist()]
    tree = grown(some, max_depth=depth)
    found = audit(
        tree,
        domain=DOMAIN,
        data=some,
        target="y",
        holdout=others[:60],
        policy=bits_policy(largest_attack_advantage=0.3),
    )
    plain = found.to_dict()
    rows = {
        row["attack"]: row["advantage"]
        for row in plain["measured"]["membership"]["attacks"]
        if row["advantage"] is not None
    }
    assert len(rows) >= 3
    (check,) = [check for check in found.checks if check.rule == "largest_attack_advantage"]
    assert check.measured == rows[plain["measured"]["membership"]["strongest"]] == max(rows.values())
    assert isinstance(found.measured["membership"], Measured)
    finding = found.measured["membership"].value
    figure = f"{max(rows.values()):.3f}"
    assert attack_page(finding).figures[0].value == figure
    page = render_html(attack_page(finding, title="Attacks"))
    assert re.findall(r"Advantage of the strongest attack</dt><dd><b><bdi>([-0-9.]+)<", page) == [figure]
    said = re.findall(r"flags ([-0-9.]+) \(", render_text(finding))
    assert [float(points) for points in said] == [round(100 * float(figure), 1)] * len(said)


@pytest.mark.slow
def test_where_every_holdout_record_equals_a_member_the_midpoint_attack_says_so() -> None:
    """Members and holdout are given; what is missing is a record that could be accused wrongly."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    frame = pl.DataFrame({"a": a, "b": b, "y": np.where(a + b > 2, "yes", "no")})
    domain = Domain({"a": Integer(0, 2), "b": Integer(0, 2)})
    found = audit(grown(frame[:100]), domain=domain, data=frame[:100], target="y", holdout=frame[100:])
    assert isinstance(found.measured["membership"], Measured)
    (row,) = [attack for attack in found.measured["membership"].value.attacks if attack.attack == "midpoint attack"]
    assert row.status == "not applicable"
    assert row.reason is not None
    assert "every record of the holdout equals a training record" in row.reason
    assert "not given" not in row.reason


def test_the_strongest_attack_decides() -> None:
    weak = replace(GAP, advantage=0.0, advantage_low=-0.01, advantage_high=0.01)
    finding = replace(MEMBERSHIP, attacks=(weak, GAP))
    (check,) = membership_checks(bits_policy(largest_attack_advantage=0.02), finding)
    assert (check.status, check.measured) == ("fail", 0.088)


def test_strangers_and_an_overlapping_holdout_keep_nothing() -> None:
    weak = replace(GAP, advantage=0.0, advantage_low=-0.01, advantage_high=0.01)
    finding = replace(MEMBERSHIP, attacks=(weak,))
    limit = bits_policy(largest_attack_advantage=0.05)
    assert membership_checks(limit, finding)[0].status == "pass"
    assert membership_checks(limit, finding, mismatch=MISMATCH)[0].status == "unknown"
    overlapping = replace(finding, overlap="9 records of the holdout are members.")
    assert membership_checks(limit, overlapping)[0].status == "unknown"


@pytest.mark.slow
def test_members_as_their_own_holdout_are_not_safe() -> None:
    members, _ = frames()
    found = audit(
        grown(members),
        domain=DOMAIN,
        data=members,
        target="y",
        holdout=members,
        policy=bits_policy(largest_attack_advantage=0.3),
    )
    (check,) = [check for check in found.checks if check.rule == "largest_attack_advantage"]
    assert check.status == "unknown"


@pytest.mark.slow
def test_attacks_that_find_more_than_a_guarantee_allows_contradict_it() -> None:
    members, others = frames()
    claim = Guarantee(epsilon=0.1, count_scale=1.0)
    model = replace(as_model(grown(members)), guarantee=claim)
    policy = bits_policy(accept_guarantee=True, largest_attack_advantage=0.2)
    honest = audit(model, domain=DOMAIN, data=members, policy=policy)
    assert honest.guarantee is not None
    assert honest.guarantee.standing == "accepted"
    public = audit(model, domain=DOMAIN, data=members, target="y", holdout=others, policy=policy)
    # What the data say against it is for the checker: the public verdict follows from the model alone.
    assert public.public().to_dict() == audit(model, domain=DOMAIN, policy=policy, target="y").public().to_dict()
    found = public.holder
    assert found is not None
    assert found.audience == "checker"
    assert found.guarantee is not None
    assert found.guarantee.standing == "does not hold"
    assert "contradicted by the data" in found.guarantee.caveats[-1]
    assert found.verdict == "outside policy"
    assert [check.status for check in found.checks if check.rule == "largest_attack_advantage"] == ["fail"]


def test_few_records_are_told_as_few() -> None:
    members, others = frames(n=6)
    found = audit(grown(members), domain=DOMAIN, data=members, target="y", holdout=others)
    assert isinstance(found.measured["membership"], Measured)
    membership = found.measured["membership"].value
    assert (membership.n_members, membership.n_nonmembers, membership.roc) == (Below(10), Below(10), ())
    assert "6 non-members" not in json.dumps(found.to_dict()["measured"]["membership"])


@pytest.mark.parametrize(
    ("target", "said"), [("a", "is an attribute that the model tests"), ("z", "column of the data")]
)
def test_a_wrong_target_is_told_even_without_a_holdout(target: str, said: str) -> None:
    members, _ = frames()
    with pytest.raises(InvalidDataError, match=said):
        audit(grown(members), domain=DOMAIN, data=members, target=target)
