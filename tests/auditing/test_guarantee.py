"""The audit of a model that claims differential privacy: what it may answer, and what it must not present as fact."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pandas as pd
import pytest

from glassine import (
    AuditSettings,
    Binary,
    DecisionTree,
    Domain,
    Integer,
    Policy,
    parse_rules,
    render_html,
    render_text,
    scrub,
)
from glassine.attacks import Measured, NotApplicable
from glassine.attacks.outcome import Below, Hidden
from glassine.attacks.reconstruction.joint_published import LeftOut
from glassine.attacks.reconstruction.joint_result import compose
from glassine.auditing.findings import Findings
from glassine.auditing.schema import schema
from glassine.domain import Between
from glassine.models import Branch, Evidence, Guarantee, Node
from tests.policies import audit_by_bits as audit
from tests.policies import bits_policy

DOMAIN = Domain({"age": Integer(0, 99, thresholds=(40.0,)), "sex": Binary()})
CLAIM = Guarantee(epsilon=1.0, count_scale=2.0)
ACCEPTING = bits_policy(accept_guarantee=True)
FRAME = pd.DataFrame({"age": [20] * 3 + [50] * 70, "sex": [0] * 73})


def tree(guarantee: Guarantee | None, *counts: tuple[int, int], labels: bool = False) -> DecisionTree:
    leaves = [Evidence(label=0) if labels else Evidence(counts=c) for c in counts or ((4, 0), (12, 60))]
    nodes = (
        Node(branches=(Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2))),
        *(Node(evidence=leaf) for leaf in leaves),
    )
    return DecisionTree(nodes, ("age", "sex"), ("no", "yes"), guarantee=guarantee)


def statuses(findings: Findings) -> dict[str, str]:
    return {check.rule: check.status for check in findings.checks}


def test_without_a_guarantee_nothing_changes() -> None:
    findings = audit(tree(None), domain=DOMAIN, policy=ACCEPTING)
    assert findings.guarantee is None
    assert findings.verdict == "outside policy"
    assert set(statuses(findings)) == {
        "smallest_leaf",
        "purest_leaf",
        "largest_bits_per_record",
        "thresholds_off_grid",
    }
    assert {check.basis for check in findings.checks} == {"measurement"}
    assert findings.to_dict()["guarantee"] is None


def test_an_accepted_guarantee_answers_the_rules_on_counts() -> None:
    findings = audit(tree(CLAIM), domain=DOMAIN, policy=ACCEPTING)
    assert findings.verdict == "within policy"
    assert findings.guarantee is not None
    assert findings.guarantee.standing == "accepted"
    by_guarantee = {check.rule for check in findings.checks if check.basis == "guarantee"}
    assert by_guarantee == {"smallest_leaf", "purest_leaf", "largest_bits_per_record", "thresholds_off_grid"}
    bits = next(check for check in findings.checks if check.rule == "largest_bits_per_record")
    assert bits.measured == 2.9
    assert findings.advice == ()


def test_bits_are_judged_by_the_bound() -> None:
    policy = replace(ACCEPTING, largest_bits_per_record=2.8)
    findings = audit(tree(CLAIM), domain=DOMAIN, policy=policy)
    assert statuses(findings)["largest_bits_per_record"] == "fail"
    assert any("smaller privacy budget" in line.text for line in findings.advice)
    replacing = replace(CLAIM, neighboring="replace-one")
    assert audit(tree(replacing), domain=DOMAIN, policy=policy).verdict == "within policy"


def test_a_claim_is_not_believed_unless_the_policy_says_so() -> None:
    findings = audit(tree(CLAIM), domain=DOMAIN)
    assert findings.guarantee is not None
    assert findings.guarantee.standing == "not accepted"
    assert findings.verdict == "inconclusive"
    assert statuses(findings) == {
        "max_epsilon": "unknown",
        "smallest_leaf": "unknown",
        "purest_leaf": "unknown",
        "largest_bits_per_record": "pass",
        "thresholds_off_grid": "pass",
    }
    assert any("accept_guarantee = true" in line.text for line in findings.advice)
    assert "cannot prove it" in next(check.meaning for check in findings.checks if check.rule == "max_epsilon")
    off = audit(tree(CLAIM), domain=DOMAIN, policy=replace(ACCEPTING, max_epsilon=None))
    assert off.guarantee is not None
    assert off.guarantee.standing == "not accepted"
    assert off.verdict == "inconclusive"


def test_a_caveat_outweighs_the_policy() -> None:
    findings = audit(tree(replace(CLAIM, caveats=("seeded: not private",))), domain=DOMAIN, policy=ACCEPTING)
    assert findings.guarantee is not None
    assert findings.guarantee.standing == "does not hold"
    assert findings.guarantee.bounds == ()
    assert findings.guarantee.bits_per_record is None
    assert findings.verdict == "inconclusive"
    assert statuses(findings)["smallest_leaf"] == statuses(findings)["purest_leaf"] == "unknown"
    assert "seeded: not private" in next(check.meaning for check in findings.checks if check.rule == "max_epsilon")
    assert isinstance(findings.measured["reconstruction"], NotApplicable)
    assert "nothing limits" in findings.measured["reconstruction"].reason


@pytest.mark.parametrize(
    ("claim", "rule"),
    [
        (replace(CLAIM, epsilon=1.01), "max_epsilon"),
        (replace(CLAIM, delta=1e-3), "max_delta"),
        (replace(CLAIM, epsilon=1.01, caveats=("seeded",)), "max_epsilon"),
    ],
)
@pytest.mark.parametrize("policy", [ACCEPTING, bits_policy()])
def test_a_guarantee_beyond_the_limits_breaks_them_and_answers_nothing(
    claim: Guarantee, rule: str, policy: Policy
) -> None:
    findings = audit(tree(claim), domain=DOMAIN, policy=policy)
    assert statuses(findings)[rule] == "fail"
    assert statuses(findings)["smallest_leaf"] == "unknown"
    assert findings.verdict == "outside policy"


def test_delta_is_judged_where_there_is_one() -> None:
    small = audit(tree(replace(CLAIM, delta=1e-7)), domain=DOMAIN, policy=ACCEPTING)
    assert statuses(small)["max_delta"] == "pass"
    assert small.verdict == "within policy"
    assert "max_delta" not in statuses(audit(tree(CLAIM), domain=DOMAIN, policy=ACCEPTING))
    loose = replace(ACCEPTING, max_delta=None)
    assert "max_delta" not in statuses(audit(tree(replace(CLAIM, delta=0.1)), domain=DOMAIN, policy=loose))
    pure_only = replace(ACCEPTING, max_delta=0.0)
    assert statuses(audit(tree(replace(CLAIM, delta=1e-9)), domain=DOMAIN, policy=pure_only))["max_delta"] == "fail"


def test_counts_that_claim_to_be_exact_contradict_a_guarantee() -> None:
    findings = audit(tree(Guarantee(epsilon=0.1)), domain=DOMAIN, policy=ACCEPTING)
    assert findings.guarantee is not None
    assert findings.guarantee.standing == "does not hold"
    assert any("exact counts" in text for text in findings.guarantee.caveats)
    assert findings.verdict == "outside policy"  # 4 records, all of one class
    rules = replace(
        parse_rules("if [sex] then [true] (20 examples)\nelse [false] (30 examples)", DOMAIN),
        guarantee=Guarantee(epsilon=0.1),
    )
    total = audit(rules, domain=DOMAIN, policy=ACCEPTING).guarantee
    assert total is not None
    assert total.standing == "does not hold"
    inner = tree(Guarantee(epsilon=0.1), labels=True)
    inner = replace(inner, nodes=(replace(inner.nodes[0], evidence=Evidence(total=76)), *inner.nodes[1:]))
    found = audit(inner, domain=DOMAIN, policy=ACCEPTING).guarantee
    assert found is not None
    assert found.standing == "does not hold"


def test_labels_without_counts_need_no_scale() -> None:
    findings = audit(tree(Guarantee(epsilon=0.5), labels=True), domain=DOMAIN, policy=ACCEPTING)
    assert findings.verdict == "within policy"


@pytest.mark.parametrize("policy", [ACCEPTING, bits_policy()])
@pytest.mark.parametrize("frame", [None, FRAME])
def test_noisy_counts_are_never_presented_as_measured(policy: Policy, frame: Any) -> None:
    findings = audit(tree(CLAIM), domain=DOMAIN, data=frame, policy=policy, settings=AuditSettings(sensitive="sex"))
    for name in ("reconstruction", "labels", "subgroups", "exposed_rows", "alignment"):
        assert isinstance(findings.measured[name], NotApplicable), name
    assert isinstance(findings.measured["reconstruction"], NotApplicable)
    assert "noisy (scale 2 records)" in findings.measured["reconstruction"].reason
    assert isinstance(findings.measured["values"], Measured)
    assert findings.model.count_scale == 2.0
    assert [part.purity for part in findings.value("parts").parts] == [None, None]
    assert [part.bits_learned for part in findings.value("parts").parts] == [None, None]
    assert not any(part.flags for part in findings.value("parts").parts)
    assert not any("not the training records" in note for note in findings.notes)


def test_published_noisy_counts_are_shown_where_the_guarantee_covers_them() -> None:
    assert [part.counts for part in audit(tree(CLAIM), domain=DOMAIN, policy=ACCEPTING).value("parts").parts] == [
        (4, 0),
        (12, 60),
    ]
    assert [part.size for part in audit(tree(CLAIM), domain=DOMAIN).value("parts").parts] == [Below(10), Hidden()]


def test_true_sizes_that_are_not_published_do_not_decide_while_a_claim_stands() -> None:
    """The holder of the data has the true sizes, 3 and 70: if the claim holds, it covers them."""
    findings = audit(tree(CLAIM, (40, 20), (12, 60)), domain=DOMAIN, data=FRAME)
    assert statuses(findings)["smallest_leaf"] == "unknown"
    assert not any("not by the model's noisy counts" in note for note in findings.notes)
    harm = statuses(audit(tree(CLAIM, (40, 20), (12, 60)), domain=DOMAIN, data=FRAME, policy=Policy()))
    names = ("share_in_small_leaves", "leaves_of_one", "largest_advantage", "certain_by_membership")
    assert {harm[name] for name in names} == {"unknown"}
    void = replace(CLAIM, caveats=("seeded",))
    assert statuses(audit(tree(void, (40, 20), (12, 60)), domain=DOMAIN, data=FRAME))["smallest_leaf"] == "fail"
    assert [part.size for part in findings.value("parts").parts] == [60, 72]
    accepted = audit(tree(CLAIM, (40, 20), (12, 60)), domain=DOMAIN, data=FRAME, policy=ACCEPTING)
    assert statuses(accepted)["smallest_leaf"] == "pass"
    assert accepted.notes == ()
    assert accepted.holder is not None
    assert "The smallest leaf that captures any record of the data captures fewer than 10." in accepted.holder.notes
    assert any("covers what is published, not these" in note for note in findings.notes)


def test_thresholds_are_covered_with_the_rest_of_the_model() -> None:
    """Half way between 36 and 39 two other cuts would have done: whoever chose this one, it is a midpoint."""
    nodes = list(tree(CLAIM).nodes)
    nodes[0] = Node(branches=(Branch(Between("age", hi=37.5), 1), Branch(Between("age", lo=37.5), 2)))
    model = DecisionTree(tuple(nodes), ("age", "sex"), ("no", "yes"), guarantee=CLAIM)
    frame = pd.DataFrame({"age": [36] * 30 + [39] * 40, "sex": [0] * 70})
    public = audit(model, domain=DOMAIN, data=frame, policy=ACCEPTING)
    assert public.verdict == "within policy"
    assert "midpoints" not in statuses(public)  # no midpoint is looked for without the data
    accepted = public.holder
    assert accepted is not None
    assert accepted.verdict == "within policy"
    measured = {check.rule: check.measured for check in accepted.checks}
    assert (measured["thresholds_off_grid"], measured["midpoints"]) == (1, 1)
    claimed = audit(model, domain=DOMAIN, data=frame)
    assert statuses(claimed)["thresholds_off_grid"] == statuses(claimed)["midpoints"] == "fail"
    assert audit(model, policy=ACCEPTING).verdict == "within policy"


def test_a_part_that_no_record_can_reach_is_still_marked() -> None:
    rules = replace(
        parse_rules(
            "if [sex] then [true] ([10 ; 20] examples)\nelse if [sex] then [true] ([0 ; 2] examples)\n"
            "else [false] ([3 ; 1] examples)",
            DOMAIN,
        ),
        guarantee=CLAIM,
    )
    assert [part.flags for part in audit(rules, domain=DOMAIN).value("parts").parts] == [(), ("empty",), ()]


def test_the_bounds_name_their_proofs_and_their_figures_are_right() -> None:
    found = audit(tree(CLAIM), domain=DOMAIN).guarantee
    assert found is not None
    assert all(bound.method for bound in found.bounds)
    figures = {bound.name: round(bound.value, 4) for bound in found.bounds}
    assert figures == {
        "membership advantage": 0.4621,
        "true positive rate at 1% false positives": 0.0272,
        "guess that would be right 1 time in 100": 0.0272,
        "guess that would be right 1 time in 1,000": 0.0027,
        "belief about one record, even odds before": 0.8808,
        "bits about one record": 2.8854,
    }
    approximate = audit(tree(replace(CLAIM, delta=1e-6)), domain=DOMAIN).guarantee
    assert approximate is not None
    assert not any(bound.name.startswith("belief") for bound in approximate.bounds)
    assert "plus delta" in approximate.bounds[-1].statement


@pytest.fixture(scope="module")
def described() -> Any:
    """Return the validator of findings; their schema is checked once, which takes longest."""
    return jsonschema.validators.validator_for(schema())(schema())


@pytest.mark.parametrize(
    "claim",
    [CLAIM, replace(CLAIM, delta=1e-6), replace(CLAIM, caveats=("a <b> caveat",)), Guarantee(epsilon=300), None],
)
def test_findings_fit_their_schema(claim: Guarantee | None, described: Any) -> None:
    for policy in (bits_policy(), ACCEPTING, bits_policy(accept_guarantee=True, max_epsilon=1000.0)):
        plain = json.loads(json.dumps(audit(tree(claim), domain=DOMAIN, policy=policy).to_dict(), allow_nan=False))
        described.validate(plain)
        assert plain["schema"] == "glassine.findings/12"
        if plain["guarantee"] is not None:
            with pytest.raises(jsonschema.ValidationError):
                described.validate({**plain, "guarantee": {**plain["guarantee"], "standing": "safe"}})


def test_scrubbing_keeps_a_guarantee_unless_it_reads_the_data_again() -> None:
    model = tree(CLAIM, (40, 20), (12, 60))
    kept = scrub(model, DOMAIN).model.guarantee
    assert kept == CLAIM
    bare = scrub(model, DOMAIN, counts="remove").model
    assert bare.guarantee == replace(CLAIM, count_scale=None)
    assert audit(bare, domain=DOMAIN, policy=ACCEPTING).verdict == "within policy"
    assert scrub(model, DOMAIN, smallest_leaf=70).model.guarantee == CLAIM
    again = scrub(tree(Guarantee(epsilon=1.0), labels=True), DOMAIN, smallest_leaf=10, data=FRAME).model.guarantee
    assert again is not None
    assert not again.holds
    assert "merged by their counts in the training data" in again.caveats[0]


def test_reports_say_what_is_claimed() -> None:
    for policy, word in ((ACCEPTING, "accepted"), (bits_policy(), "not accepted")):
        findings = audit(tree(CLAIM), domain=DOMAIN, policy=policy)
        assert f"[{word}]" in render_text(findings)
        assert "claims differential privacy with epsilon 1, delta 0, add-or-remove-one" in render_html(findings)


PERSONS = replace(CLAIM, neighboring="add-or-remove-one-person", records_per_person=3)


@pytest.mark.slow
def test_reports_speak_of_records_unless_the_unit_is_a_person() -> None:
    for claim, subject, unit in ((CLAIM, "record", "record"), (PERSONS, "person", "person, at most 3 records each")):
        findings = audit(tree(claim), domain=DOMAIN, policy=ACCEPTING)
        found = findings.guarantee
        assert found is not None
        assert (found.unit, found.subject) == (unit, subject)
        jsonschema.validate(json.loads(json.dumps(findings.to_dict())), schema())
        assert found.bounds[-1].name == f"bits about one {subject}"
        assert f"Revealed about one {subject}" in render_html(findings)
        assert all(f"any one {subject}" in check.meaning for check in findings.checks if "covered" in check.meaning)
        other = "person" if subject == "record" else "record"
        said = " ".join(bound.name + bound.statement + bound.method for bound in found.bounds)
        assert f"one {other}" not in said
        assert "people" not in said
        page = render_html(findings)
        assert f"because one {subject} was included" in page
        assert f"unit: {unit}" in page


def test_guarantees_of_persons_and_of_records_add_up_to_replacing() -> None:
    both = [LeftOut(name=name, reason="private", guarantee=claim) for name, claim in (("a", CLAIM), ("b", PERSONS))]
    mixed, same = compose(both), compose([both[1], both[1]])
    assert mixed is not None
    assert same is not None
    assert (mixed.neighboring, mixed.epsilon) == ("replace-one", 4.0)
    assert (same.neighboring, same.epsilon) == ("add-or-remove-one-person", 2.0)
