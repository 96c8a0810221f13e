"""The default policy, the named ones, and what an auditor who has the model alone must ask for."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import DecisionTree, Domain, Integer, Policy, Real, as_model, audit, parse_rules, render_text
from glassine.attacks.membership.midpoint import midpoint_attack
from glassine.attacks.outcome import Below, Measured
from glassine.attacks.value_leakage import leak_values, thresholds_of
from glassine.auditing.audit_settings import AuditSettings
from glassine.auditing.criterion import Check
from glassine.auditing.facts import Case, OutcomeCells
from glassine.auditing.findings import AttackFinding, Findings
from glassine.auditing.judging import judge
from glassine.auditing.policy import NAMED
from glassine.auditing.statements import Statements
from glassine.auditing.suppression import Suppression
from glassine.domain import Between, OneOf
from glassine.errors import InvalidParameterError, InvalidPolicyError
from glassine.formats import tree_from_export_text
from glassine.models import Branch, Evidence, Guarantee, Node
from glassine.models.implied import OutcomeCounts
from tests.policies import BITS_AND_SHARES, NORM
from tests.report.builders import MEMBERSHIP

PUBLIC = Domain({"age": Integer(0, 99, thresholds=(40,))})
SACRO = Policy.named("sacro")


def rules(*counts: tuple[int, ...], classes: str = "") -> DecisionTree:
    """Return a tree that splits age, without any attribute else, into leaves of these counts."""
    names = tuple("abcdefgh"[: len(counts[0])])
    nodes: list[Node] = []
    for i, leaf in enumerate(counts[:-1]):
        cut = 40 + i
        nodes.append(
            Node(branches=(Branch(Between("age", hi=cut), 2 * i + 1), Branch(Between("age", lo=cut), 2 * i + 2)))
        )
        nodes.append(Node(evidence=Evidence(counts=leaf)))
    nodes.append(Node(evidence=Evidence(counts=counts[-1])))
    return DecisionTree(tuple(nodes), ("age",), names)


def the(findings: Findings, rule: str) -> Check:
    (check,) = [check for check in findings.checks if check.rule == rule]
    return check


def statuses(findings: Findings) -> dict[str, str]:
    return {check.rule: check.status for check in findings.checks}


def stated(**statements: bool | int) -> AuditSettings:
    return AuditSettings(statements=Statements(**statements))  # type: ignore[arg-type]


# The fault of thresholds at the ends of a domain.


def test_thresholds_at_the_ends_of_the_domain_cut_nothing_and_are_not_counted() -> None:
    domain = Domain({"a": Integer(0, 3)})
    for value, cuts in ((0, [0.5]), (1, [0.5, 1.5]), (3, [2.5])):
        nodes = (
            Node(branches=(Branch(OneOf("a", (value,)), 1), Branch(OneOf("a", (value,), negated=True), 2))),
            Node(evidence=Evidence(counts=(30, 40))),
            Node(evidence=Evidence(counts=(30, 40))),
        )
        tree = DecisionTree(nodes, ("a",), ("no", "yes"))
        assert [threshold for _, threshold in thresholds_of(tree, domain)] == cuts
        assert leak_values(tree, domain).n_off_grid == 0
        assert the(audit(tree, domain=domain, policy=BITS_AND_SHARES), "thresholds_off_grid").status == "pass"


@pytest.mark.parametrize(
    ("attribute", "bound", "n"),
    [
        (Integer(0, 9), 9.0, 0),
        (Integer(0, 9), 9.5, 0),
        (Integer(0, 9), -0.5, 0),
        (Integer(0, 9), 10.5, 1),
        (Integer(0, 9), -1.5, 1),
        (Integer(0, 9), 4.5, 1),
        (Real(0.0, 1.0, resolution=0.1), 1.05, 0),
        (Real(0.0, 1.0, resolution=0.1), -0.05, 0),
        (Real(0.0, 1.0, resolution=0.1), 1.15, 1),
        (Real(0.0, 1.0), 1.0, 0),
        (Real(0.0, 1.0), 1.0001, 1),
    ],
)
def test_a_threshold_beyond_the_domain_still_says_that_a_training_value_was(
    attribute: Integer | Real, bound: float, n: int
) -> None:
    nodes = (
        Node(branches=(Branch(Between("a", hi=bound), 1), Branch(Between("a", lo=bound), 2))),
        Node(evidence=Evidence(counts=(30, 40))),
        Node(evidence=Evidence(counts=(30, 40))),
    )
    assert len(thresholds_of(DecisionTree(nodes, ("a",), ("no", "yes")), Domain({"a": attribute}))) == n


# The five rules.


def test_the_default_policy_is_the_calibrated_one() -> None:
    policy = Policy()
    assert (policy.share_in_small_leaves, policy.leaves_of_one, policy.smallest_leaf) == (0.01, 0, None)
    assert (policy.largest_advantage, policy.largest_measured_advantage) == (0.07, 0.10)
    assert (policy.certain_by_membership, policy.named_by_thresholds) == (0.04, 20)
    off = (policy.purest_leaf, policy.largest_bits_per_record, policy.thresholds_off_grid, policy.midpoints)
    assert off == (None,) * 4
    assert policy.name == "default"


def test_bits_are_a_fact_and_no_check() -> None:
    wide = Domain({"age": Integer(0, 10**9, thresholds=(40,)), "b": Integer(0, 10**9)})
    findings = audit(rules((300, 200), (250, 260)), domain=wide)
    assert findings.verdict == "within policy"
    assert findings.value("reconstruction").bits_largest > 20


@pytest.mark.parametrize(("size", "status"), [(9, "fail"), (10, "pass")])
def test_a_leaf_of_ten_is_the_smallest_where_a_policy_asks_for_it(size: int, status: str) -> None:
    findings = audit(rules((size - 4, 4), (300, 300)), domain=PUBLIC, policy=NORM)
    assert the(findings, "smallest_leaf").status == status


@pytest.mark.parametrize(
    ("counts", "share", "alone"),
    [
        (((5, 4), (500, 400)), "pass", "pass"),  # 9 of 909 records
        (((5, 4), (500, 390)), "fail", "pass"),  # 9 of 899
        (((1, 0), (500, 400)), "pass", "fail"),
        (((10, 0), (10, 10)), "pass", "pass"),
        (((0, 0), (500, 400)), "pass", "pass"),
    ],
)
def test_harm_is_the_share_in_small_leaves_and_a_leaf_of_one(
    counts: tuple[tuple[int, int], ...], share: str, alone: str
) -> None:
    findings = audit(rules(*counts), domain=PUBLIC)
    assert the(findings, "share_in_small_leaves").status == share
    assert the(findings, "leaves_of_one").status == alone


def test_a_figure_that_passes_is_not_beyond_its_limit() -> None:
    check = the(audit(rules((4, 1), (300, 260)), domain=PUBLIC), "share_in_small_leaves")
    # Rounded up to ten of 565 records it would be 1.8%.
    assert (check.status, check.measured) == ("pass", check.limit)


def test_each_named_policy_is_judged_in_one_line() -> None:
    findings = audit(rules((5, 4), (500, 400)), domain=PUBLIC)
    assert findings.verdict == "within policy"
    entries = {entry.name: entry for entry in findings.policies}
    assert list(entries) == list(NAMED)
    assert (entries["default"].verdict, entries["default"].against) == ("within policy", ())
    assert entries["tre"].verdict == "outside policy"
    assert entries["tre"].against[0] == "1 of 2 leaves holds fewer than 10 records."
    assert entries["tre"].remedy is not None
    assert entries["tre"].remedy.parameters == {"smallest_leaf": 10}
    text = render_text(findings)
    assert "Meets default." in text
    assert "Does not meet tre: 1 of 2 leaves holds fewer than 10 records." in text
    assert (
        audit(rules((5, 4), (500, 400)), domain=PUBLIC, settings=AuditSettings(measurements={"parts"})).policies == ()
    )


def test_many_small_leaves_imply_an_advantage_above_the_limit_and_large_ones_do_not() -> None:
    large, small = audit(rules(*[(33, 33)] * 6), domain=PUBLIC), audit(rules(*[(10, 10)] * 6), domain=PUBLIC)
    assert the(large, "largest_advantage").status == "pass"
    check = the(small, "largest_advantage")
    assert check.status == "fail"
    assert check.measured == pytest.approx(0.12, abs=0.01)
    assert "With only about 20 records per leaf" in check.meaning


def test_the_implied_advantage_needs_no_domain_and_does_not_depend_on_it() -> None:
    tree = rules((40, 30), (30, 50), (60, 50))
    wide = Domain({"age": Integer(0, 10**6), "b": Integer(0, 10**6)})
    figures = {the(audit(tree, domain=domain), "largest_advantage").measured for domain in (None, PUBLIC, wide)}
    assert len(figures) == 1


def test_pure_leaves_of_few_records_make_outcomes_certain_by_membership() -> None:
    pure = audit(rules((12, 0), (0, 12), (12, 0), (40, 30)), domain=PUBLIC)
    assert the(pure, "certain_by_membership").status == "fail"
    assert the(audit(rules((400, 0), (0, 500)), domain=PUBLIC), "certain_by_membership").status == "pass"
    assert the(audit(rules((40, 30), (20, 30)), domain=PUBLIC), "certain_by_membership").measured == 0


def test_no_small_count_follows_from_the_share_of_certain_outcomes() -> None:
    counts = [the(audit(rules((n, 0), (400, 590)), domain=PUBLIC), "certain_by_membership").measured for n in (1, 2, 3)]
    assert len(set(counts)) == 1


@pytest.mark.parametrize(
    ("attribute", "status", "most"),
    [
        # 1,440 records at two million values: each side of each of 11 thresholds expects fewer than ten.
        (Integer(-(10**6), 10**6), "fail", 22),
        # Of amounts, 50 is a public cut point.
        (Integer(0, 10**6), "pass", 20),
        # A continuum: nobody else is expected to hold the same value.
        (Real(0.0, 100.0, thresholds=(55.0,)), "fail", 22),
        # At 31 ages 46 records are expected at each, and at 100 ages 14.
        (Integer(30, 60, thresholds=(55,)), "pass", 0),
        (Integer(0, 99, thresholds=(55,)), "pass", 0),
        # Public cut points name nobody.
        (Integer(0, 10**6, thresholds=tuple(range(40, 51))), "pass", 0),
        (Integer(0, 10**6, thresholds=tuple(range(40, 50))), "pass", 2),
    ],
)
def test_each_side_of_a_threshold_in_a_sparse_range_names_up_to_one(
    attribute: Integer | Real, status: str, most: int
) -> None:
    domain = Domain({"age": attribute})
    tree = rules(*[(60, 60)] * 12)
    assert leak_values(tree, domain).n_nameable == most
    check = the(audit(tree, domain=domain), "named_by_thresholds")
    assert check.status == status
    # The sentence and the figure beside it are one: as it is shown.
    assert (f"can flag {check.measured} of all records" in check.meaning) == (most > 0)


def test_who_is_expected_to_be_alone_at_a_value_is_counted_in_the_node() -> None:
    """Of 100 ages, n records have n / 100 each: few are alone at theirs where many share it."""
    domain = Domain({"age": Integer(0, 99, thresholds=(55,))})
    for n in (10, 100, 300, 1000):
        tree = rules((n // 2, 0), (n // 4, n - n // 2 - n // 4))
        expected = 2 * (n / 100) / math.expm1(n / 100)
        assert leak_values(tree, domain).n_nameable == pytest.approx(expected, abs=0.5)


def test_a_node_of_few_records_names_people_on_a_grid_of_all_whole_numbers() -> None:
    """Every cut between whole numbers is public there, so that the file's share of them said that nobody is named."""
    domain = Domain({"age": Integer(30, 60)})
    few, many = rules(*[(1, 1)] * 12), rules(*[(600, 600)] * 12)
    assert leak_values(few, domain).n_off_grid == leak_values(many, domain).n_off_grid == 0
    assert leak_values(few, domain).n_nameable > 5  # type: ignore[operator]
    assert leak_values(many, domain).n_nameable == 0
    declared = Domain({"age": Integer(0, 100, thresholds=tuple(range(35, 60)))})
    assert leak_values(few, declared).n_nameable == 0


def test_a_file_alone_says_under_which_assumption_it_would_pass() -> None:
    """A model over public cut points ended inconclusive, with a form to fill in as the first way out."""
    fine, memorized = rules((220, 300), (170, 180), (290, 252)), rules(*[(1, 0), (0, 1)] * 20)
    alone = audit(fine)
    assert alone.verdict == "inconclusive"
    assert alone.advice[0].text.startswith("If the cut points of the model are public, it is within this policy: ")
    stated = AuditSettings(statements=Statements(**alone.advice[0].parameters))  # type: ignore[arg-type]
    told = audit(fine, settings=stated)
    assert told.verdict == "within policy"
    assert the(told, "named_by_thresholds").meaning == "Every threshold is a public cut point, as the publisher states."
    # Where another check fails, the assumption would not help, and is not offered; what data show outweighs it.
    assert not any(advice.text.startswith("If the cut points") for advice in audit(memorized).advice)
    assert audit(memorized, settings=stated).verdict == "outside policy"


@pytest.mark.slow
def test_with_the_data_those_count_whom_the_midpoint_attack_flags() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = (X[:, 0] + rng.normal(size=3000) > 0).astype(int)
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    domain = Domain({"a": Real(-9.0, 9.0), "b": Real(-9.0, 9.0)})
    for size, status in ((10, "fail"), (400, "pass")):
        grown = DecisionTreeClassifier(min_samples_leaf=size, random_state=0).fit(frame[["a", "b"]].to_pandas(), y)
        check = the(audit(as_model(grown), frame, "y", domain=domain), "named_by_thresholds")
        assert check.status == status
        assert "flagged" in check.meaning


def test_the_attack_is_made_in_an_audit_even_where_every_threshold_is_a_public_cut_point() -> None:
    rng = np.random.default_rng(0)
    amount, y = rng.choice(10**6, 400, replace=False), rng.integers(0, 2, 400)
    frame = pl.DataFrame({"amount": amount, "y": y})
    grown = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(frame[["amount"]].to_pandas(), y)
    cuts = sorted(
        {int(cut) for cut, feature in zip(grown.tree_.threshold, grown.tree_.feature, strict=True) if feature >= 0}
    )
    tree, domain = as_model(grown), Domain({"amount": Integer(0, 10**6, thresholds=tuple(cuts))})
    attack = midpoint_attack(tree, frame[["amount"]], random_state=0)
    assert isinstance(attack, Measured)
    findings = audit(tree, frame, "y", domain=domain, settings=AuditSettings(show_small_counts=True))
    assert findings.value("values").n_off_grid == 0
    assert the(findings, "named_by_thresholds").measured == attack.value.n_named > 0


@pytest.mark.slow
def test_a_holdout_adds_a_check_and_none_is_asked_for() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1200, 2))
    y = (rng.random(1200) < 0.5).astype(int)
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    members, others = frame[:600], frame[600:]
    domain = Domain({"a": Real(-9.0, 9.0), "b": Real(-9.0, 9.0)})
    tree = DecisionTreeClassifier(random_state=0).fit(members[["a", "b"]].to_pandas(), members["y"].to_numpy())
    memorised = audit(as_model(tree), members, "y", holdout=others, domain=domain)
    assert the(memorised, "largest_measured_advantage").status == "fail"
    # A public report keeps every check that the verdict rests on, and nothing else that was measured on records.
    public = memorised.public()
    assert (public.verdict, public.checks) == (memorised.verdict, memorised.checks)
    assert not {"membership", "exposed_rows", "alignment"} & set(public.measured)
    assert "largest_measured_advantage" not in statuses(audit(as_model(tree), members, "y", domain=domain))
    stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(
        members[["a", "b"]].to_pandas(), members["y"].to_numpy()
    )
    few = audit(as_model(stump), members, "y", holdout=others[:60], domain=domain)
    check = the(few, "largest_measured_advantage")
    assert check.status == "pass"
    assert "It may be up to" in check.meaning


# A yes with the model alone.


def test_a_file_with_exact_counts_and_public_cuts_gets_a_yes_and_a_memorised_one_a_no() -> None:
    tree = rules((52, 60), (70, 80), (90, 52))
    public = Domain({"age": Integer(0, 99, thresholds=(40, 41))})
    assert audit(tree, domain=public).verdict == "within policy"
    assert audit(rules(*[(1, 0), (0, 1)] * 20)).verdict == "outside policy"
    tested = parse_rules("if [a] then [true] ([140 ; 105] examples)\nelse [false] ([152 ; 160] examples)")
    assert audit(tested, domain=Domain.binary(["a"])).verdict == "within policy"


def test_what_is_missing_is_a_list_to_send_to_the_publisher() -> None:
    tree = rules((152, 160), (70, 80))
    findings = audit(tree)
    assert findings.verdict == "inconclusive"
    assert findings.requests == (
        "The public cut points, or public shares of values, of age.",
        "Whether any person can have several training records. If so, the same counts in persons.",
    )
    assert audit(tree, domain=PUBLIC, settings=stated(one_record_per_person=True)).requests == ()
    labels = replace(tree, nodes=tuple(replace(n, evidence=Evidence(label=0)) for n in tree.nodes))
    asked = audit(labels, domain=PUBLIC).requests
    assert asked[0].startswith("How many training records of each class every leaf holds.")
    assert audit(rules((1, 0), (0, 1))).requests == ()


def test_no_counts_are_asked_for_of_a_private_model() -> None:
    tree = rules((152, 160), (70, 80))
    private = replace(tree, guarantee=Guarantee(epsilon=1.0, delta=0.0, count_scale=10.0))
    asked = audit(private, domain=PUBLIC).requests
    assert "Whether any person can have several training records." in asked
    assert not any("counts" in request or "holds" in request for request in asked), asked


def test_the_statement_that_nobody_occurs_twice_makes_records_people() -> None:
    settings = stated(one_record_per_person=True)
    findings = audit(rules((152, 160), (70, 80)), domain=PUBLIC, policy=NORM, settings=settings)
    assert findings.counted == "people"
    assert "people" in the(findings, "smallest_leaf").meaning
    assert "records" in the(audit(rules((152, 160), (70, 80)), domain=PUBLIC, policy=NORM), "smallest_leaf").meaning


@pytest.mark.parametrize(("leaf", "status"), [(10, "unknown"), (60, "unknown"), (66, "pass"), (100, "pass")])
def test_without_counts_the_stated_smallest_leaf_bounds_the_advantage(leaf: int, status: str) -> None:
    tree = rules(*[(152, 160)] * 8)
    labels = replace(tree, nodes=tuple(replace(n, evidence=Evidence(label=0)) for n in tree.nodes))
    findings = audit(labels, domain=PUBLIC, policy=NORM, settings=stated(smallest_leaf=leaf))
    assert the(findings, "largest_advantage").status == status
    assert the(findings, "smallest_leaf").status == "pass"
    assert the(findings, "certain_by_membership").status == "not applicable"
    assert the(findings, "share_in_small_leaves").status == "pass"
    few = audit(labels, domain=PUBLIC, policy=NORM, settings=stated(smallest_leaf=9))
    assert the(few, "smallest_leaf").status == the(few, "share_in_small_leaves").status == "unknown"
    assert the(few, "leaves_of_one").status == "pass"


@pytest.mark.parametrize(
    ("counts", "step", "status"),
    [((10, 5), 5, "pass"), ((10, 0), 5, "unknown"), ((4, 0), 2, "fail"), ((0, 0), 2, "unknown")],
)
def test_rounded_counts_answer_by_the_worst_case_within_the_stated_step(
    counts: tuple[int, int], step: int, status: str
) -> None:
    tree = replace(rules(counts, (1000, 2000)), approximate=True)
    assert the(audit(tree, domain=PUBLIC, policy=NORM), "smallest_leaf").status == "unknown"
    findings = audit(tree, domain=PUBLIC, policy=NORM, settings=stated(rounded_to=step))
    assert the(findings, "smallest_leaf").status == status
    assert the(findings, "largest_advantage").status == "pass"


def test_rounded_counts_leave_purity_open_where_a_zero_may_be_a_record() -> None:
    tree = replace(rules(*[(30, 0)] * 4, (30, 40)), approximate=True)
    assert the(audit(tree, domain=PUBLIC, settings=stated(rounded_to=5)), "certain_by_membership").status == "unknown"


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True])
def test_impossible_statements_are_refused(wrong: float) -> None:
    with pytest.raises(InvalidParameterError, match="must be a whole number of at least 1"):
        stated(rounded_to=wrong)  # type: ignore[arg-type]


# Named policies.


@pytest.mark.parametrize(
    ("counts", "failed"),
    [
        (((40, 5), (300, 200)), "smallest_class_count"),
        (((30, 30, 0), (100, 90, 80)), "zero_classes"),
        (((9, 0), (300, 200)), "smallest_leaf"),
    ],
)
def test_what_sacro_rejects_fails_its_policy(counts: tuple[tuple[int, ...], ...], failed: str) -> None:
    findings = audit(rules(*counts), policy=SACRO)
    assert the(findings, failed).status == "fail"
    assert findings.verdict == "outside policy"
    assert audit(rules(counts[1], counts[1]), policy=SACRO).verdict == "within policy"


def test_degrees_of_freedom_are_records_less_parameters() -> None:
    """As SACRO-ML: 2 parameters a split, and one a leaf of two classes; 24 records, 1 split, 2 leaves leave 20."""
    limits = replace(SACRO, degrees_of_freedom=20, smallest_class_count=None)
    check = the(audit(rules((6, 6), (6, 6)), policy=limits), "degrees_of_freedom")
    assert (check.status, check.measured) == ("pass", 20)
    assert the(audit(rules((6, 6), (6, 5)), policy=limits), "degrees_of_freedom").status == "fail"
    three = the(audit(rules((6, 6, 9), (6, 6, 9)), policy=limits), "degrees_of_freedom")
    assert three.measured == 42 - (2 + 2 * 2)


def test_counts_that_the_publisher_calls_rounded_are_not_exact() -> None:
    """Class counts of 10 that were rounded to 10 may be 5; without the statement they pass as they stand."""
    model = rules((10, 300), (300, 200))
    assert the(audit(model, policy=SACRO), "smallest_class_count").status == "pass"
    check = the(audit(model, policy=SACRO, settings=stated(rounded_to=10)), "smallest_class_count")
    assert (check.status, "rounded" in check.meaning) == ("unknown", True)
    assert the(audit(model, policy=SACRO, settings=stated(rounded_to=10)), "smallest_leaf").measured == 300
    with pytest.raises(InvalidParameterError, match="not multiples"):
        audit(rules((12, 300), (300, 200)), settings=stated(rounded_to=10))


def test_counts_of_zero_leave_no_check_failed_by_them() -> None:
    assert set(statuses(audit(rules((0, 0), (0, 0)), policy=SACRO)).values()) == {"unknown"}


def test_a_tree_of_numbers_is_asked_for_no_classes() -> None:
    tree = tree_from_export_text(
        "|--- age <= 40.50\n|   |--- value: [12.3]\n|--- age >  40.50\n|   |--- value: [77.0]\n"
    )
    findings = audit(tree, policy=SACRO)
    for rule in ("smallest_class_count", "zero_classes", "degrees_of_freedom"):
        assert the(findings, rule).status == "not applicable"
    assert findings.requests[0] == "The public range of the numbers that the model predicts."
    assert findings.requests[1].startswith("How many training records every leaf holds.")
    asked = audit(parse_rules("if [a] then [x]\nelse [y]")).requests[0]
    assert asked.startswith("How many training records of each class every rule holds.")


def test_many_classes_are_named_beside_the_advantage() -> None:
    check = the(audit(rules((10,) * 8, (10,) * 8)), "largest_advantage")
    assert check.status == "fail"
    assert "records of 8 classes per leaf" in check.meaning


def test_a_class_of_few_records_is_not_quoted() -> None:
    check = the(audit(rules((40, 5), (300, 200)), policy=SACRO), "smallest_class_count")
    assert check.measured == Below(10)
    assert "5" not in check.meaning.replace("5 of", "")


def test_named_policies_say_their_name_and_source_and_changed_ones_do_not_keep_it() -> None:
    for name, entry in NAMED.items():
        assert Policy.named(name).name == name
        assert audit(rules((30, 30), (30, 30)), policy=entry.policy).policy_source.startswith(f"{name}: ")
    assert replace(SACRO, smallest_leaf=5).name == "own"
    assert replace(SACRO, accept_guarantee=True).name == "sacro"
    assert NAMED["strict"].policy.smallest_leaf == 50
    with pytest.raises(InvalidPolicyError, match="no policy named 'sacros'"):
        Policy.named("sacros")


def test_an_audit_of_a_file_alone_takes_less_than_two_seconds() -> None:
    tree = rules(*[(52, 60)] * 200)
    start = time.process_time()
    assert audit(tree).verdict == "inconclusive"
    assert time.process_time() - start < 2


# Identifiers.


def clients(name: str, n: int = 4000) -> tuple[pl.DataFrame, Domain, DecisionTree]:
    """Return records with the numbers of clients, and a tree that splits on them alone."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(1000, 2 * 10**8, n * 3 // 5)[rng.integers(0, n * 3 // 5, n)]
    frame = pl.DataFrame({name: numbers, "y": rng.integers(0, 2, n)})
    grown = DecisionTreeClassifier(max_leaf_nodes=3, min_samples_leaf=500, random_state=0)
    tree = as_model(grown.fit(frame.select(name).to_pandas(), frame["y"].to_numpy()))
    assert isinstance(tree, DecisionTree)
    return frame, Domain({name: Integer(0, 2 * 10**8)}), tree


@pytest.mark.parametrize(("name", "fails"), [("client_nbr", True), ("patient id", True), ("balance", False)])
def test_a_model_that_tests_an_identifier_fails_and_looks_alone_are_a_note(name: str, fails: bool) -> None:
    frame, domain, tree = clients(name)
    findings = audit(tree, frame, "y", domain=domain)
    assert ("tested_identifiers" in statuses(findings)) == fails
    assert (findings.verdict == "outside policy") == fails
    assert any("looks like an identifier. Retrain" in note for note in findings.notes) == (not fails)


def test_the_stated_column_of_persons_must_not_be_tested() -> None:
    frame, domain, tree = clients("balance")
    check = the(audit(tree, frame, "y", domain=domain, persons="balance"), "tested_identifiers")
    assert (check.status, check.measured) == ("fail", 1)


def test_amounts_and_codes_are_no_identifiers() -> None:
    rng = np.random.default_rng(0)
    amounts = rng.lognormal(8, 1, 4000).round()
    for name, values in (("credit_amount", amounts), ("intake_type_id", amounts % 8)):
        frame = pl.DataFrame({name: values.astype(int), "y": rng.integers(0, 2, 4000)})
        grown = DecisionTreeClassifier(max_depth=1, random_state=0)
        tree = as_model(grown.fit(frame.select(name).to_pandas(), frame["y"].to_numpy()))
        findings = audit(tree, frame, "y", domain=Domain({name: Integer(0, 10**7)}))
        assert "tested_identifiers" not in statuses(findings)


# Two facts: what the records are, and what the domain declares.


def test_a_record_off_the_declared_step_is_noted_and_leaves_sizes_known() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"limit": rng.integers(1, 100, 3000) * 10_000.0, "y": rng.integers(0, 2, 3000)})
    frame[0, "limit"] = 16_000.0
    domain = Domain({"limit": Real(0, 1_000_000, 10_000, thresholds=(100_000, 500_000))})
    grown = DecisionTreeClassifier(max_depth=1, min_samples_leaf=100, random_state=0)
    tree = as_model(grown.fit(frame.select("limit").to_pandas(), frame["y"].to_numpy()))
    findings = audit(tree, frame, "y", domain=domain)
    assert the(findings, "share_in_small_leaves").status == "pass"
    assert any("limit: fewer than 10 records lie off the step" in note for note in findings.notes)
    assert not any("lie outside the domain" in note or "not the training data" in note for note in findings.notes)
    other = audit(tree, frame[:-1], "y", domain=domain)
    assert the(other, "share_in_small_leaves").status == "unknown"


# Attacks that count and that do not.


@pytest.mark.parametrize(
    ("attack", "implied", "status", "said"),
    [
        ((0.05, 0.02, 0.08), 60, "pass", "above 0.1."),
        ((0.05, -0.03, 0.12), 60, "pass", "more held-out records would settle it"),
        ((0.12, 0.05, 0.19), 60, "unknown", "about 0.12, above the limit"),
        ((0.05, -0.03, 0.12), 10, "unknown", "the counts let expect it"),
        ((0.2, 0.15, 0.25), 60, "fail", "at least 0.15"),
    ],
)
def test_an_attack_passes_by_its_estimate_only_where_the_counts_agree(
    attack: tuple[float, float, float], implied: int, status: str, said: str
) -> None:
    value, low, high = attack
    found = replace(
        MEMBERSHIP,
        n_members=500,
        n_nonmembers=200,
        attacks=(
            AttackFinding(
                attack="gap attack", status="measured", advantage=value, advantage_low=low, advantage_high=high
            ),
        ),
    )
    counts = np.full((12, 2), float(implied))
    cells = OutcomeCells(counts=OutcomeCounts(lower=counts, upper=counts, n_outcomes=2), certain=None, n_splits=11)
    facts: dict[str, Any] = {"attacks": Measured(found), "implied": Measured(cells)}
    (check,) = (
        check
        for check in judge(Policy(), Case(kind="tree", facts=facts), Suppression(10))
        if check.rule == "largest_measured_advantage"
    )
    assert check.status == status
    assert said in check.meaning
