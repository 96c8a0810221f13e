"""The audit: checks, verdicts, suppression, and what it says when it cannot tell."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest

from glassine import (
    AuditSettings,
    Binary,
    Category,
    DecisionTree,
    Domain,
    Integer,
    Policy,
    Real,
    RuleList,
    as_model,
    parse_rules,
    scrub,
)
from glassine.attacks import Failed, Measured, NotApplicable
from glassine.attacks.outcome import Below, Hidden
from glassine.auditing.findings import Findings
from glassine.auditing.schema import schema
from glassine.auditing.suppression import Suppression
from glassine.auditing.trees import TREE_MEASUREMENTS
from glassine.data import infer_domain
from glassine.domain import Between, ExactlyOne, OneOf
from glassine.errors import (
    InvalidDataError,
    InvalidDomainError,
    InvalidModelError,
    InvalidPolicyError,
    PrivacyLeakWarning,
    UnsupportedModelError,
)
from glassine.learners import OptimalTreeRegressor
from glassine.models import Branch, Evidence, Guarantee, Node, Rule
from glassine.report import render_html, render_text
from tests.policies import audit_by_bits as audit
from tests.policies import bits_policy

DOMAIN = Domain({"age": Integer(0, 99, thresholds=(40.0,)), "sex": Category(("f", "m"))})


def tree_of(*counts: tuple[int, int], approximate: bool = False) -> DecisionTree:
    nodes = (
        Node(branches=(Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2))),
        Node(evidence=Evidence(counts=counts[0])),
        Node(evidence=Evidence(counts=counts[1])),
    )
    return DecisionTree(nodes, ("age", "sex"), ("no", "yes"), approximate=approximate)


def statuses(findings: Findings) -> dict[str, str]:
    return {check.rule: check.status for check in findings.checks}


def test_a_model_within_policy() -> None:
    findings = audit(tree_of((30, 20), (20, 40)), domain=DOMAIN)
    assert findings.verdict == "within policy"
    assert findings.exit_status == 0
    assert set(statuses(findings).values()) == {"pass"}
    assert isinstance(findings.measured["reconstruction"], Measured)
    plain = findings.to_dict()
    assert plain["measured"]["reconstruction"]["dist_g"] == pytest.approx(
        (50 * math.log2(82) + 60 * math.log2(118)) / (110 * math.log2(200))
    )
    assert plain["verdict"] == "within policy"


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        (tree_of((30, 20), (4, 3)), "smallest_leaf"),
        (tree_of((30, 20), (2, 40)), "purest_leaf"),
    ],
)
def test_each_rule_is_broken_alone(model: DecisionTree, rule: str) -> None:
    findings = audit(model, domain=DOMAIN)
    assert findings.verdict == "outside policy"
    assert [name for name, status in statuses(findings).items() if status == "fail"] == [rule]
    assert findings.advice


def test_thresholds_and_bits_are_judged() -> None:
    domain = Domain({"age": Integer(0, 10**6), "sex": Binary()})
    findings = audit(tree_of((30, 20), (20, 40)), domain=domain)
    assert statuses(findings)["thresholds_off_grid"] == "fail"
    assert statuses(findings)["largest_bits_per_record"] == "fail"
    loose = bits_policy(thresholds_off_grid=1, largest_bits_per_record=20.0)
    assert statuses(audit(tree_of((30, 20), (20, 40)), domain=domain, policy=loose))["midpoints"] == "unknown"
    looser = replace(loose, midpoints=None)
    assert audit(tree_of((30, 20), (20, 40)), domain=domain, policy=looser).verdict == "within policy"


def test_limits_are_inclusive() -> None:
    limits = bits_policy(smallest_leaf=50, purest_leaf=2 / 3, largest_bits_per_record=math.log2(200 / 82))
    assert audit(tree_of((30, 20), (20, 40)), domain=DOMAIN, policy=limits).verdict == "within policy"
    tighter = bits_policy(smallest_leaf=51)
    assert statuses(audit(tree_of((30, 20), (20, 40)), domain=DOMAIN, policy=tighter))["smallest_leaf"] == "fail"


def test_without_a_domain_it_cannot_tell() -> None:
    findings = audit(tree_of((30, 20), (20, 40)))
    assert findings.verdict == "inconclusive"
    assert findings.exit_status == 3
    assert isinstance(findings.measured["reconstruction"], NotApplicable)
    assert statuses(findings)["largest_bits_per_record"] == "unknown"
    assert any("domain=" in line.text for line in findings.advice)


def test_a_broken_rule_outweighs_an_unknown_one() -> None:
    assert audit(tree_of((30, 20), (0, 3))).verdict == "outside policy"


def test_no_rule_at_all_cannot_tell() -> None:
    nothing = bits_policy(
        smallest_leaf=None, purest_leaf=None, largest_bits_per_record=None, thresholds_off_grid=None, midpoints=None
    )
    assert audit(tree_of((30, 20), (20, 40)), domain=DOMAIN, policy=nothing).verdict == "inconclusive"


def test_unpublished_counts_are_unknown_until_data_are_given() -> None:
    nodes = (
        Node(branches=(Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2))),
        Node(evidence=Evidence(label=0)),
        Node(evidence=Evidence(label=1)),
    )
    tree = DecisionTree(nodes, ("age", "sex"), ("no", "yes"))
    assert statuses(audit(tree, domain=DOMAIN))["smallest_leaf"] == "unknown"
    frame = pd.DataFrame({"age": [20] * 30 + [50] * 4, "sex": ["f"] * 34})
    findings = audit(tree, domain=DOMAIN, data=frame)
    assert statuses(findings)["smallest_leaf"] == "fail"
    assert next(c for c in findings.checks if c.rule == "smallest_leaf").measured == Below(10)


def test_a_contradicted_domain_is_never_safe() -> None:
    domain = Domain({"age": Integer(50, 99), "sex": Binary()})
    findings = audit(tree_of((30, 20), (20, 40)), domain=domain, policy=bits_policy(thresholds_off_grid=None))
    assert findings.verdict == "inconclusive"
    assert any("contradicts the model" in note for note in findings.notes)
    assert findings.to_dict()["measured"]["reconstruction"]["dist_g"] is None


def test_counting_that_is_too_hard_is_a_failure() -> None:
    domain = Domain.binary(["a", "b", "c"])
    text = (
        "if [a] and [b] then [true] ([10 ; 20] examples)\n"
        "else if [b] and [c] then [true] ([10 ; 20] examples)\n"
        "else [false] ([20 ; 10] examples)"
    )
    findings = audit(parse_rules(text, domain), domain=domain, settings=AuditSettings(max_steps=0))
    assert isinstance(findings.measured["reconstruction"], Failed)
    assert findings.verdict == "inconclusive"


@pytest.mark.slow
def test_data_sharpen_the_findings() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": 2 * rng.integers(0, 50, 400), "sex": rng.choice(["f", "m"], 400)})
    from sklearn.tree import DecisionTreeClassifier

    fitted = DecisionTreeClassifier(max_depth=3, min_samples_leaf=10, random_state=0)
    fitted.fit(frame[["age"]], (frame["age"] + 30 * rng.normal(size=400) > 50))
    findings = audit(fitted, domain=DOMAIN, data=frame, settings=AuditSettings(sensitive="sex"))
    plain = findings.to_dict()
    assert plain["measured"]["values"]["n_midpoints"] == plain["measured"]["values"]["n_thresholds"] > 0
    assert plain["measured"]["exposed_rows"]["status"] == "measured"
    rows = plain["measured"]["exposed_rows"]["value"]
    assert len(rows) == 10
    bits = {part["number"]: part["bits_learned"] for part in plain["measured"]["parts"]["parts"]}
    tree = as_model(fitted)
    where = tree.apply({"age": frame["age"].to_numpy()})
    assert {bits[int(where[row]) + 1] for row in rows} == {max(bits.values())}
    assert {group["attribute"] for group in plain["measured"]["subgroups"]["value"]} == {"class", "sex"}
    assert plain["measured"]["alignment"]["error"] < plain["measured"]["alignment"]["baseline"]
    jsonschema.validate(plain, schema())


def test_other_data_are_noticed() -> None:
    frame = pd.DataFrame({"age": [10] * 49 + [50] * 61, "sex": ["f"] * 110})
    findings = audit(tree_of((30, 20), (20, 40)), domain=DOMAIN, data=frame)
    assert any("not the training data" in note for note in findings.notes)
    assert statuses(findings)["smallest_leaf"] == "unknown"
    assert statuses(findings)["midpoints"] == "unknown"
    assert findings.verdict == "inconclusive"


def test_records_outside_the_domain_are_noticed() -> None:
    frame = pd.DataFrame({"age": [10] * 50 + [50] * 40 + [150] * 20, "sex": ["f"] * 110})
    notes = audit(tree_of((30, 20), (20, 40)), domain=DOMAIN, data=frame).notes
    assert "age: 20 records lie outside the domain, which declares 0 to 99: above 99." in notes


def test_an_inferred_domain_is_a_lower_bound() -> None:
    domain = Domain({"age": Integer(0, 99, thresholds=(40.0,), inferred=True), "sex": Binary()})
    findings = audit(tree_of((30, 20), (20, 40)), domain=domain)
    assert statuses(findings)["largest_bits_per_record"] == "unknown"
    assert statuses(findings)["thresholds_off_grid"] == "unknown"
    assert findings.verdict == "inconclusive"
    strict = audit(tree_of((30, 20), (20, 40)), domain=domain, policy=bits_policy(largest_bits_per_record=0.1))
    assert strict.verdict == "outside policy"
    untested = Domain({"age": Integer(0, 99, thresholds=(40.0,)), "sex": Binary(inferred=True)})
    assert audit(tree_of((30, 20), (20, 40)), domain=untested).verdict == "within policy"


def test_no_threshold_is_public_in_an_inferred_domain() -> None:
    domain = Domain({"age": Integer(0, 99, thresholds=(40.0,), inferred=True), "sex": Binary()})
    for data in (None, pd.DataFrame({"age": [40] * 50 + [41] * 60, "sex": [0, 1] * 55})):
        findings = audit(tree_of((30, 20), (20, 40)), domain=domain, data=data)
        assert isinstance(findings.measured["values"], Measured)
        assert (findings.measured["values"].value.n_off_grid, findings.measured["values"].value.n_inferred) == (1, 1)
        check = next(check for check in findings.checks if check.rule == "thresholds_off_grid")
        assert (check.status, check.measured) == ("unknown", 1)
        assert check.meaning == (
            "1 of 1 threshold is not a public cut point: the domain of age was inferred from data."
        )
        for text in (render_text(findings), render_html(findings)):
            assert "public cut point" in text
            assert not re.search("all are public cut|it is a public cut|Every threshold is a public cut", text)
            assert "They can be known without" not in text
    # A threshold that not even the inferred domain has is not public in any domain with its bounds.
    other = Domain({"age": Integer(0, 99, thresholds=(50.0,), inferred=True), "sex": Binary()})
    assert statuses(audit(tree_of((30, 20), (20, 40)), domain=other))["thresholds_off_grid"] == "fail"


def test_the_only_cut_between_adjacent_whole_numbers_is_no_midpoint() -> None:
    """1.5 lies between 1 and 2 whoever trains, whatever the others have."""
    from sklearn.tree import DecisionTreeClassifier

    frame = pd.DataFrame({"visits": [1] * 60 + [2] * 60 + [3] * 30})
    fitted = DecisionTreeClassifier(max_depth=1).fit(frame, [0] * 40 + [1] * 20 + [1] * 70 + [0] * 20)
    for domain in (infer_domain(frame), Domain({"visits": Integer(0, 200)})):
        findings = audit(fitted, domain=domain, data=frame)
        assert isinstance(findings.measured["values"], Measured)
        assert findings.measured["values"].value.n_midpoints == 0
        assert statuses(findings)["midpoints"] == "pass"
        assert "none are the midpoint of two training values" in " ".join(render_text(findings).split())


def test_data_without_a_domain_infer_one_and_say_so() -> None:
    frame = pd.DataFrame({"age": [10] * 50 + [50] * 60, "sex": ["f"] * 110})
    with pytest.warns(PrivacyLeakWarning, match="inferred from the data") as warned:
        findings = audit(tree_of((30, 20), (20, 40)), data=frame)
    assert [Path(one.filename).name for one in warned] == ["policies.py"], "it points at the line that calls audit"
    assert findings.domain is not None
    assert findings.domain.inferred == ("age", "sex")
    assert any("inferred" in note for note in findings.notes)
    assert any("inferred" in line.text for line in findings.advice)


@pytest.mark.parametrize("size", range(1, 10))
def test_small_counts_are_suppressed_everywhere(size: int) -> None:
    nodes = [Node(branches=(Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2)))]
    nodes += [Node(evidence=Evidence(counts=(size, 0)))]
    nodes += [Node(branches=(Branch(Between("age", hi=60), 3), Branch(Between("age", lo=60), 4)))]
    nodes += [Node(evidence=Evidence(counts=(1000, 3000))), Node(evidence=Evidence(counts=(2000, 5000 + size)))]
    findings = audit(DecisionTree(tuple(nodes), ("age", "sex"), ("no", "yes")), domain=DOMAIN)
    sizes = [part.size for part in findings.value("parts").parts]
    assert sizes == [Below(10), Hidden(), 7000 + size]
    assert [part.counts for part in findings.value("parts").parts] == [None, None, (2000, 5000 + size)]
    assert findings.value("parts").parts[0].purity is None
    assert next(c for c in findings.checks if c.rule == "smallest_leaf").measured == Below(10)
    text = json.dumps(findings.to_dict())
    shares = [share for share, _ in findings.to_dict()["measured"]["reconstruction"]["exposure_curve"]]
    assert all(min(abs(share * (11000 + 2 * size) - k) for k in range(1, 10)) > 1e-6 for share in shares)
    assert not re.search(rf'"(size|n_certain)": {size}\b', text)
    shown = audit(
        DecisionTree(tuple(nodes), ("age", "sex"), ("no", "yes")),
        domain=DOMAIN,
        settings=AuditSettings(show_small_counts=True),
    )
    assert shown.value("parts").parts[0].size == size
    assert shown.value("parts").parts[0].counts == (size, 0)


def test_class_counts_with_a_small_one_are_hidden_whole() -> None:
    findings = audit(tree_of((30, 3), (20, 40)), domain=DOMAIN)
    assert findings.value("parts").parts[0].size == 33
    assert findings.value("parts").parts[0].counts is None
    assert findings.value("parts").parts[0].purity == 0.9
    assert findings.value("parts").parts[1].counts == (20, 40)


def test_conditions_are_rounded_and_merged() -> None:
    nodes = (
        Node(branches=(Branch(Between("x", hi=0.123456789), 1), Branch(Between("x", lo=0.123456789), 2))),
        Node(branches=(Branch(Between("x", hi=0.0123456), 3), Branch(Between("x", lo=0.0123456), 4))),
        Node(),
        Node(),
        Node(),
    )
    findings = audit(DecisionTree(nodes, ("x",)), domain=Domain({"x": Real(0.0, 1.0)}))
    assert [part.condition for part in findings.value("parts").parts] == [
        "x <= 0.0123456",
        "0.0123456 < x <= 0.1234568",
        "x > 0.1234568",
    ]
    assert "0.123456789" not in json.dumps(findings.to_dict())


def test_groups_give_both_figures() -> None:
    names = ("red", "green", "blue")
    domain = Domain.binary(names, groups=[ExactlyOne(names)])
    text = "if [red] then [true] ([10 ; 30] examples)\nelse [false] ([30 ; 10] examples)"
    plain = audit(parse_rules(text, domain), domain=domain).to_dict()["measured"]["reconstruction"]
    assert plain["dist_g"] == pytest.approx(2 / 3)
    assert plain["dist_g_domain_aware"] == pytest.approx(0.5 / math.log2(3))


@pytest.mark.slow
def test_a_regression_tree_and_a_continuum() -> None:
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(0)
    x = rng.uniform(size=(200, 1))
    fitted = DecisionTreeRegressor(max_depth=3, random_state=0).fit(x, x[:, 0] + rng.normal(size=200))
    findings = audit(fitted, domain=Domain({"x0": Real(0.0, 1.0)}))
    plain = findings.to_dict()
    assert plain["subject"]["kind"] == "regression tree"
    assert plain["measured"]["labels"]["status"] == "not applicable"
    assert plain["measured"]["reconstruction"]["dist_g"] is None
    assert "no declared resolution" in plain["measured"]["reconstruction"]["undefined"]
    assert plain["measured"]["reconstruction"]["bits_mean"] > 0
    jsonschema.validate(plain, schema())


def test_an_empty_default_and_a_shadowed_rule_are_notes() -> None:
    domain = Domain.binary(["a", "b"])
    text = (
        "if [a] then [true] ([10 ; 20] examples)\n"
        "else if [a] and [b] then [true] ([0 ; 0] examples)\n"
        "else if [not a] then [false] ([20 ; 10] examples)\n"
        "else [false] ([0 ; 0] examples)"
    )
    findings = audit(parse_rules(text, domain), domain=domain)
    assert findings.verdict == "within policy"
    assert len(findings.notes) == 2
    assert [part.flags for part in findings.value("parts").parts] == [(), ("empty",), (), ("empty",)]


def test_bad_input_is_refused() -> None:
    tree = tree_of((30, 20), (20, 40))
    with pytest.raises(InvalidDataError, match="sensitive attribute 'income'"):
        audit(tree, domain=DOMAIN, settings=AuditSettings(sensitive="income"))
    with pytest.raises(InvalidDataError, match="lack the column 'age'"):
        audit(tree, domain=DOMAIN, data=pd.DataFrame({"sex": ["f"]}))
    with pytest.raises(InvalidDataError, match="at least one record"):
        audit(tree, domain=DOMAIN, data=pd.DataFrame({"age": [], "sex": []}))
    with pytest.raises(InvalidModelError, match="the domain lacks"):
        audit(tree, domain=Domain({"weight": Integer(0, 9)}))
    with pytest.raises(UnsupportedModelError):
        audit(object())
    wrong: Any = {}
    with pytest.raises(InvalidDomainError, match="domain must be a Domain, got dict"):
        audit(tree, domain=wrong)
    with pytest.raises(InvalidPolicyError, match="policy must be a Policy, got dict"):
        audit(tree, domain=DOMAIN, policy=wrong)


def test_rounded_counts_never_pass_the_smallest_leaf() -> None:
    """A 7 rounds to 10 and a 4 to 0: neither tells that the leaf is large enough."""
    domain = Domain.binary(["a", "b", "c"])
    text = (
        "if [a] and [b] then [true] ([0 ; 7] examples)\n"
        "else if [b] then [false] ([3 ; 1] examples)\n"
        "else [true] ([200 ; 300] examples)"
    )
    rules = scrub(parse_rules(text, domain), domain).model
    assert statuses(audit(rules, domain=domain))["smallest_leaf"] == "unknown"
    frame = pd.DataFrame([(1, 1, 0)] * 7 + [(0, 1, 0)] * 4 + [(0, 0, 0)] * 500, columns=["a", "b", "c"])
    assert statuses(audit(rules, domain=domain, data=frame))["smallest_leaf"] == "fail"


def test_shares_by_weight_are_unknown() -> None:
    """Random sample weights hide the counts of a tree, and its shares are not those of people."""
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    x = rng.integers(0, 100, (400, 1))
    y = np.where(rng.uniform(size=400) < 0.02, x[:, 0] < 40, x[:, 0] >= 40)
    fitted = DecisionTreeClassifier(max_depth=1).fit(x, y, sample_weight=rng.uniform(size=400))
    findings = audit(fitted, domain=Domain({"age": Integer(0, 99)}))
    assert findings.to_dict()["measured"]["labels"]["status"] == "not applicable"
    assert statuses(findings)["purest_leaf"] == "unknown"


def test_shares_of_some_parts_only_are_unknown() -> None:
    nodes = (
        Node(branches=(Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2))),
        Node(evidence=Evidence(counts=(30, 20))),
        Node(evidence=Evidence(total=60, label=1)),
    )
    tree = DecisionTree(nodes, ("age", "sex"), ("no", "yes"))
    assert statuses(audit(tree, domain=DOMAIN))["purest_leaf"] == "unknown"


def test_two_lone_records_are_not_told_by_their_sum() -> None:
    nodes = (
        Node(branches=(Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2))),
        Node(branches=(Branch(OneOf("sex", ("f",)), 3), Branch(OneOf("sex", ("m",)), 4))),
        Node(branches=(Branch(OneOf("sex", ("f",)), 5), Branch(OneOf("sex", ("m",)), 6))),
        *(Node(evidence=Evidence(counts=counts)) for counts in ((1, 0), (0, 1), (50, 50), (60, 60))),
    )
    findings = audit(DecisionTree(nodes, ("age", "sex"), ("no", "yes")), domain=DOMAIN)
    assert [part.size for part in findings.value("parts").parts] == [Below(10), Below(10), Hidden(), 120]
    plain = findings.to_dict()
    assert [group["size"] for group in plain["measured"]["subgroups"]["value"]] == [{"about": 110}, {"about": 110}]


def test_the_last_step_of_the_curve_is_never_a_small_one() -> None:
    nodes = (
        Node(branches=(Branch(Between("age", hi=90), 1), Branch(Between("age", lo=90), 2))),
        Node(evidence=Evidence(counts=(0, 3))),
        Node(evidence=Evidence(counts=(50, 50))),
    )
    findings = audit(DecisionTree(nodes, ("age", "sex"), ("no", "yes")), domain=DOMAIN)
    curve = findings.to_dict()["measured"]["reconstruction"]["exposure_curve"]
    assert len(curve) == 1
    assert curve[0][0] == 1


def test_exposed_rows_are_in_order_of_number() -> None:
    frame = pd.DataFrame({"age": [50] * 5 + [10] * 3 + [50] * 55 + [10] * 47, "sex": ["f"] * 110})
    rows = audit(tree_of((30, 20), (20, 40)), domain=DOMAIN, data=frame).to_dict()["measured"]["exposed_rows"]["value"]
    assert rows == sorted(rows)


def test_gaps_that_only_the_data_show_are_read_into_the_model() -> None:
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    x = rng.integers(0, 100, 300).astype(float)
    y = x > 50
    x[rng.uniform(size=300) < 0.1] = np.nan
    frame = pd.DataFrame({"age": x})
    fitted = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame, y)
    with pytest.warns(PrivacyLeakWarning):
        findings = audit(fitted, data=frame)
    assert findings.to_dict()["measured"]["alignment"]["status"] == "measured"


def test_unpublished_counts_are_counted_in_the_data() -> None:
    frame = pd.DataFrame({"age": [10] * 50 + [50] * 60, "sex": ["f", "m"] * 55})
    tree = tree_of((30, 20), (20, 40))
    bare = scrub(tree, DOMAIN, counts="remove").model
    plain, full = (audit(m, domain=DOMAIN, data=frame).to_dict() for m in (bare, tree))
    assert plain["measured"]["reconstruction"]["dist_g"] == full["measured"]["reconstruction"]["dist_g"]
    assert any("counted in the data" in note for note in plain["notes"])


def test_the_stages_are_told() -> None:
    seen: list[str] = []
    audit(tree_of((30, 20), (20, 40)), domain=DOMAIN, settings=AuditSettings(progress=seen.append))
    assert seen == [measurement.title.lower() for measurement in TREE_MEASUREMENTS if measurement.asked]


def test_an_approximate_model_is_marked() -> None:
    findings = audit(tree_of((30, 20), (20, 40), approximate=True), domain=DOMAIN)
    assert findings.model.approximate


def test_a_rich_representation_escapes_names() -> None:
    rules = RuleList((Rule(evidence=Evidence(counts=(10, 10))),), ("<b>",), ("x", "y"))
    html = audit(rules, domain=Domain.binary(["<b>"]))._repr_html_()
    assert "Within policy" in html
    assert html.count("<b>") == html.count("</b>")


def judged(text: str, domain: Domain, **options: Any) -> dict[str, str]:
    return statuses(audit(parse_rules(text, domain), domain=domain, **options))


def test_weights_that_make_the_minority_heavy_do_not_hide_purity() -> None:
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    x = np.repeat([25, 50, 75], 200)[:, None]
    y = rng.uniform(size=600) < np.repeat([0.03, 0.06, 0.02], 200)
    weights = np.where(y, 25, 1) * rng.uniform(0.8, 1.2, 600)
    fitted = DecisionTreeClassifier(min_samples_leaf=50, random_state=0).fit(x, y, sample_weight=weights)
    domain = Domain({"age": Integer(0, 99, thresholds=(37.5, 62.5))})
    assert audit(fitted, domain=domain).verdict == "inconclusive"


def test_an_error_rate_beyond_a_half_is_the_share_of_the_other_class() -> None:
    domain = Domain.binary(["a"])
    nodes = (
        Node(branches=(Branch(OneOf("a", (1,)), 1), Branch(OneOf("a", (1,), negated=True), 2))),
        Node(evidence=Evidence(total=100, label=0, error_rate=0.95)),
        Node(evidence=Evidence(total=100, label=1, error_rate=0.4)),
    )
    assert statuses(audit(DecisionTree(nodes, ("a",), ("x", "y")), domain=domain))["purest_leaf"] == "fail"
    three = audit(DecisionTree(nodes, ("a",), ("x", "y", "z")), domain=domain)
    assert statuses(three)["purest_leaf"] == "unknown"


def test_counts_that_are_all_zero_tell_nothing() -> None:
    text = "if [a] then [true] ([0 ; 0] examples)\nelse [false] ([0 ; 0] examples)"
    assert judged(text, Domain.binary(["a"]))["smallest_leaf"] == "unknown"
    assert audit(parse_rules(text), domain=Domain.binary(["a"])).verdict == "inconclusive"


def test_comparing_with_one_value_of_a_number_is_two_thresholds() -> None:
    domain = Domain({"age": Integer(0, 120)})
    text = "if [age = 57] then [true] ([20 ; 30] examples)\nelse [false] ([300 ; 200] examples)"
    assert judged(text, domain)["thresholds_off_grid"] == "fail"
    scrubbed = scrub(parse_rules(text, domain), domain, counts="keep").model
    assert statuses(audit(scrubbed, domain=domain))["thresholds_off_grid"] == "pass"


def test_pure_inner_nodes_are_seen_where_leaves_publish_labels_only() -> None:
    nodes = (
        Node(branches=(Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2))),
        Node(
            branches=(Branch(OneOf("sex", ("f",)), 3), Branch(OneOf("sex", ("m",)), 4)),
            evidence=Evidence(counts=(60, 0)),
        ),
        *(Node(evidence=Evidence(label=label)) for label in (1, 0, 0)),
    )
    assert statuses(audit(DecisionTree(nodes, ("age", "sex"), ("no", "yes")), domain=DOMAIN))["purest_leaf"] == "fail"


def test_data_outside_the_domain_do_not_decide() -> None:
    domain = Domain({"c": Category(("1", "2"))})
    nodes = (
        Node(branches=(Branch(OneOf("c", ("1",)), 1), Branch(OneOf("c", ("1",), negated=True), 2))),
        Node(evidence=Evidence(label=0)),
        Node(evidence=Evidence(label=1)),
    )
    tree = DecisionTree(nodes, ("c",), (0, 1))
    findings = audit(tree, domain=domain, data=pd.DataFrame({"c": ["Yes"] * 3 + ["2"] * 60}))
    assert findings.verdict == "inconclusive"
    assert statuses(findings)["smallest_leaf"] == "unknown"
    assert findings.advice[0].text.startswith("Recode c in the records as the domain declares")
    # A number is the text that writes it.
    assert statuses(audit(tree, domain=domain, data=pd.DataFrame({"c": [1] * 3 + [2] * 60})))["smallest_leaf"] == "fail"


def test_a_constant_leaf_of_a_regression_is_pure() -> None:
    from sklearn.tree import DecisionTreeRegressor

    x = np.repeat([20, 60], 30)[:, None]
    y = np.where(x[:, 0] == 20, 61234.0, np.linspace(1, 2, 60))
    fitted = DecisionTreeRegressor(max_depth=1).fit(x, y)
    domain = Domain({"age": Integer(0, 99, thresholds=(40.0,))})
    assert statuses(audit(fitted, domain=domain))["purest_leaf"] == "fail"
    noisy = DecisionTreeRegressor(max_depth=1).fit(x, np.linspace(1, 2, 60))
    assert statuses(audit(noisy, domain=domain))["purest_leaf"] == "not applicable"


def test_without_a_domain_one_half_is_a_threshold() -> None:
    nodes = (
        Node(branches=(Branch(Between("x", hi=0.5), 1), Branch(Between("x", lo=0.5), 2))),
        Node(evidence=Evidence(counts=(30, 20))),
        Node(evidence=Evidence(counts=(20, 30))),
    )
    policy = bits_policy(largest_bits_per_record=None)
    assert audit(DecisionTree(nodes, ("x",), (0, 1)), policy=policy).verdict == "inconclusive"


@pytest.mark.parametrize("n", [13, 20, 50])
def test_hidden_sizes_cannot_be_had_by_subtraction(n: int) -> None:
    """For every hidden small size there is another that gives the same shown sizes and sum, and the same hiding."""
    shown = Suppression(10)
    for small in range(1, 10):
        sizes = [small, 19 - small + n - 13, 11, 80]
        hidden = shown.hidden(sizes)
        total = sum(size for size, hide in zip(sizes, hidden, strict=True) if hide)
        feasible = set()
        for other in range(1, 10):
            moved = [other, sizes[0] + sizes[1] - other, *sizes[2:]]
            same = shown.hidden(moved) == hidden and moved[1] >= 10
            if same and sum(size for size, hide in zip(moved, hidden, strict=True) if hide) == total:
                feasible.add(other)
        assert len(feasible) >= 4


def test_the_guess_rate_is_too_coarse_to_solve_for_a_small_count() -> None:
    shown = {
        json.dumps(audit(tree_of((30, 10), (50 - small, small)), domain=DOMAIN).to_dict()["measured"]["labels"])
        for small in range(1, 6)
    }
    assert len(shown) < 5


def test_the_policy_shown_says_what_is_suppressed() -> None:
    assert audit(tree_of((30, 10), (47, 3)), domain=DOMAIN).policy.suppress_below == 10
    assert (
        audit(
            tree_of((30, 10), (47, 3)), domain=DOMAIN, settings=AuditSettings(show_small_counts=True)
        ).policy.suppress_below
        == 0
    )


def test_many_notes_are_cut() -> None:
    domain = Domain({"age": Integer(0, 9)})
    flat: list[Node] = []
    for i in range(100):
        cut = 120.5 - i
        left = 2 * i + 2
        flat.append(Node(branches=(Branch(Between("age", hi=cut), left), Branch(Between("age", lo=cut), 2 * i + 1))))
        flat.append(Node(evidence=Evidence(label=0)))
    flat.append(Node(evidence=Evidence(label=0)))
    findings = audit(DecisionTree(tuple(flat), ("age",), (0, 1)), domain=domain)
    assert len(findings.notes) == 21


def test_an_inferred_grid_does_not_decide_about_midpoints() -> None:
    domain = Domain({"age": Integer(0, 99, thresholds=(40.0,), inferred=True), "sex": Binary()})
    policy = bits_policy(thresholds_off_grid=None, largest_bits_per_record=None)
    assert statuses(audit(tree_of((30, 20), (20, 40)), domain=domain, policy=policy))["midpoints"] == "unknown"
    frame = pd.DataFrame({"age": [39] * 50 + [41] * 60, "sex": [0, 1] * 55})
    found = audit(tree_of((30, 20), (20, 40)), domain=domain, data=frame, policy=policy)
    assert statuses(found)["midpoints"] == "fail"


def test_a_target_that_the_domain_declares_is_no_attribute_of_a_record() -> None:
    domain = Domain({"a": Binary(), "b": Binary()})
    wider = Domain({"a": Binary(), "b": Binary(), "ill": Category(("no", "yes"))})
    rules = parse_rules("if [a] then [true] ([0 ; 20] examples)\nelse [false] ([30 ; 10] examples)")
    alone, told = audit(rules, domain=domain), audit(rules, domain=wider, target="ill")
    assert told.measured["reconstruction"] == alone.measured["reconstruction"]
    assert audit(rules, domain=wider).measured["reconstruction"] != alone.measured["reconstruction"]


def test_two_large_values_in_a_leaf_of_a_regression_fail_and_a_guarantee_covers_them() -> None:
    frame = pl.DataFrame({"a": [0, 1] * 100, "pay": [1.0, 2.0] * 99 + [5_000.0, 4_000.0]})
    domain = Domain({"a": Integer(0, 1), "pay": Real(0, 6_000)})
    model = OptimalTreeRegressor(1, domain=domain).fit(frame, "pay").model_
    policy = Policy(dominance=0.9)

    def status(model: Any, policy: Policy = policy, **more: Any) -> str:
        found = audit(model, domain=domain, policy=policy, **more)
        return next((check.status for check in found.checks if check.rule == "dominance"), "not judged")

    assert status(model, data=frame, target="pay") == "fail"
    assert status(model, Policy(), data=frame, target="pay") == "fail"
    assert status(model, data=frame[:190], target="pay") == "pass"
    assert status(model) == "unknown"
    assert "values: `data=`" in str(audit(model, domain=domain).advice)
    private = replace(model, guarantee=Guarantee(epsilon=1.0, count_scale=1.0))
    assert status(private, replace(policy, accept_guarantee=True)) == "pass"


def test_a_declared_range_bounds_what_one_value_makes_up_of_a_mean_and_two_records_make_up_all_of_theirs() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.integers(0, 2, 200), "pay": rng.uniform(800, 1_000, 200)})

    def statuses(frame: pl.DataFrame, most: float, **more: Any) -> set[str]:
        domain = Domain({"a": Integer(0, 2), "pay": Real(0, most)})
        model = OptimalTreeRegressor(2, domain=domain).fit(frame, "pay").model_
        found = audit(model, domain=domain, **more)
        return {check.status for check in found.checks if check.rule in ("dominance", "p_percent")}

    assert statuses(frame, 2_000, target="pay") == {"pass"}
    assert statuses(frame, 2_000) == {"unknown"}, "which of the attributes is predicted was not said"
    assert statuses(frame, 1e6, target="pay") == {"unknown"}
    pair = pl.concat([frame, pl.DataFrame({"a": [2, 2], "pay": [900.0, 950.0]})])
    assert statuses(pair, 2_000, target="pay") == {"fail"}


def test_a_model_written_with_a_domain_that_declares_its_target_is_attacked() -> None:
    frame = pl.DataFrame({"a": [0, 1] * 100, "pay": [1.0, 2.0] * 100})
    domain = Domain({"a": Integer(0, 1), "pay": Real(0, 6_000)})
    model = OptimalTreeRegressor(1, domain=domain).fit(frame, "pay").model_
    written = replace(model, attributes=("a", "pay"))
    found = audit(written, frame, "pay", domain=domain, holdout=frame)
    assert isinstance(found.measured["membership"], Measured)


def test_a_tree_of_one_leaf_is_not_to_be_merged() -> None:
    model = DecisionTree((Node(evidence=Evidence(counts=(3, 11))),), ("a",), ("well", "ill"))
    found = audit(model, domain=Domain.binary(["a"]), policy=Policy(largest_advantage=0.01))
    assert found.verdict == "outside policy"
    assert not any("smallest_leaf" in one.parameters or "largest_advantage" in one.parameters for one in found.advice)
    assert any("more records: there is one leaf" in one.text for one in found.advice)


OF_OUTCOMES = {
    "purest_leaf": 0.9,
    "largest_advantage": 0.9,
    "certain_by_membership": 0.5,
    "smallest_class_count": 1,
    "zero_classes": 2,
}


@pytest.mark.parametrize("change", ["none", "swapped", "of no class", "missing", "another spelling"])
def test_outcomes_that_contradict_published_counts_do_not_decide(change: str) -> None:
    ages = [20] * 100 + [60] * 100
    outcomes: list[Any] = ["no"] * 40 + ["yes"] * 60 + ["no"] * 50 + ["yes"] * 50
    if change == "another spelling":
        outcomes[:] = [{"no": "healthy", "yes": "ill"}[str(outcome)] for outcome in outcomes]
    elif change != "none":
        outcomes[0] = {"swapped": "yes", "of no class": "maybe", "missing": None}[change]
    data = pd.DataFrame({"age": ages, "sex": "f", "ill": outcomes})
    policy = bits_policy(**OF_OUTCOMES, smallest_leaf=10, degrees_of_freedom=1)
    findings = audit(tree_of((40, 60), (50, 50)), policy=policy, domain=DOMAIN, data=data, target="ill")
    lazy = audit(
        tree_of((40, 60), (50, 50)), policy=policy, domain=DOMAIN, data=pl.from_pandas(data).lazy(), target="ill"
    )
    assert {rule: status for rule, status in statuses(lazy).items() if rule in OF_OUTCOMES} == {
        rule: status for rule, status in statuses(findings).items() if rule in OF_OUTCOMES
    }
    assert ("The outcomes are not those" in str(lazy.notes)) == (change != "none")
    noted = [note for note in findings.notes if note.startswith("The outcomes are not those of training: ")]
    expected = "pass" if change == "none" else "unknown"
    assert {rule: status for rule, status in statuses(findings).items() if rule in OF_OUTCOMES} == dict.fromkeys(
        OF_OUTCOMES, expected
    )
    # Sizes agree, and what follows from them stays known.
    assert {
        statuses(findings)[rule] for rule in ("smallest_leaf", "degrees_of_freedom", "largest_bits_per_record")
    } == {"pass"}
    if change == "none":
        assert not noted
    else:
        n = 2 if change == "another spelling" else 1
        assert noted == [
            f"The outcomes are not those of training: {n} of 2 leaves or rules hold other numbers of some class than "
            "the model says."
        ]
        assert findings.verdict == "inconclusive"
        assert "exactly the records" in findings.advice[0].text


def test_what_fails_by_published_counts_fails_whatever_the_outcomes() -> None:
    data = pd.DataFrame({"age": [20] * 100 + [60] * 100, "sex": "f", "ill": ["no"] * 100 + ["yes"] * 100})
    findings = audit(tree_of((99, 1), (50, 50)), domain=DOMAIN, data=data, target="ill")
    assert statuses(findings)["purest_leaf"] == "fail"


@pytest.mark.filterwarnings("ignore:No domain was given")
@pytest.mark.parametrize("number", [9, 10])
def test_a_text_that_ten_records_hold_is_named_beside_the_declared_values(number: int) -> None:
    domain = Domain({"smoker": Binary()})
    tree = DecisionTree(
        nodes=(
            Node(branches=(Branch(OneOf("smoker", (1,)), 1), Branch(OneOf("smoker", (1,), negated=True), 2))),
            Node(evidence=Evidence(label=0)),
            Node(evidence=Evidence(label=1)),
        ),
        attributes=("smoker",),
        classes=(0, 1),
    )
    data = pd.DataFrame({"smoker": ["Yes"] * number + ["No"] * 30 + ["Ann Smith"]})
    for given in (domain, None):
        (note,) = [str(note) for note in audit(tree, domain=given, data=data).notes if note.startswith("smoker: ")]
        assert "texts that are not declared, such as " + ("No/Yes" if number == 10 else "No") in note
        assert "Ann" not in note
        assert ("Yes" in note) == (number == 10)
    whose = [0] * (number + 31)
    (note,) = [str(n) for n in audit(tree, domain=domain, data=data, persons=whose).notes if n.startswith("smoker: ")]
    assert "such as" not in note
