from __future__ import annotations

from dataclasses import replace

import pytest

from glassine.attacks.outcome import Measured, NotApplicable
from glassine.findings import Check
from glassine.policy import Policy
from glassine.report import summarize
from tests.report.builders import (
    LABELS,
    RECONSTRUCTION,
    VALUES,
    balanced_tree,
    chain,
    findings,
    large_findings,
    part,
    rule_findings,
    unknown_findings,
)


def test_the_verdict_says_why() -> None:
    summary = summarize(findings())
    assert summary.sentence == (
        "2 of 4 limits are broken: leaves made from too few people and records narrowed down too far; "
        "1 more could not be judged."
    )
    assert summarize(findings(checks=())).sentence.startswith("The policy holds no rule")
    kept = tuple(check for check in findings().checks if check.status == "kept")
    assert summarize(findings(verdict="within policy", checks=kept)).sentence == "The one limit of the policy is kept."
    assert "could not be judged" in summarize(unknown_findings()).sentence


def test_checks_are_worded() -> None:
    rows = {row.key: row for row in summarize(findings()).checks}
    assert rows["smallest_leaf"].measured == "<10 records"
    assert rows["smallest_leaf"].limit == "at least 10 records"
    assert rows["purest_leaf"].measured == "85%"
    assert rows["largest_bits_per_record"].measured == "10.004 bits"
    assert rows["thresholds_off_grid"].measured == "not known"
    assert rows["thresholds_off_grid"].status == "not known"


def test_a_broken_share_that_was_rounded_down_to_its_limit_still_reads_as_more() -> None:
    check = Check(rule="purest_leaf", limit=0.9, measured=0.9, status="broken", meaning="")
    assert summarize(findings(checks=(check,))).checks[0].measured == "more than 90%"


def test_a_rule_that_the_report_does_not_know_is_shown_by_name() -> None:
    check = Check(rule="fewest_moons", limit=3, measured=2.0, status="broken", meaning="")
    row = summarize(findings(checks=(check,))).checks[0]
    assert (row.rule, row.limit, row.measured) == ("fewest moons", "3", "2")


def test_nothing_measured_is_nowhere_a_figure() -> None:
    summary = summarize(unknown_findings())
    assert {row.state for row in summary.measures} == {"not measured", "failed"}
    assert [figure.value for figure in summary.figures[:2]] == ["not known", "not known"]
    assert all(row.level is None and row.share is None and row.bits == "not known" for row in summary.parts)
    assert set(summary.reasons) == {"reconstruction", "labels", "values", "subgroups", "exposed_rows", "alignment"}


def test_what_needs_more_input_counts_as_partly_measured() -> None:
    partial = replace(VALUES, n_off_grid=None, n_midpoints=None, n_records_at_midpoints=None)
    summary = summarize(findings(values=Measured(partial)))
    assert {row.name: row.state for row in summary.measures}["Value leakage"] == "partly measured"
    assert "not known" in [fact.value for fact in summary.value_facts]


def test_an_undefined_measure_is_partly_measured_and_has_no_curve() -> None:
    undefined = replace(
        RECONSTRUCTION, dist=None, dist_g=None, dist_g_domain_aware=None, exposure_curve=(), undefined="a continuum."
    )
    summary = summarize(findings(reconstruction=Measured(undefined)))
    assert summary.measures[0].state == "partly measured"
    assert summary.curve == ()
    assert summary.rebuilt == ""
    assert [reading.value for reading in summary.readings] == ["not defined", "not defined"]


@pytest.mark.parametrize("size", range(1, 10))
def test_small_numbers_of_people_are_not_told(size: int) -> None:
    labels = replace(LABELS, n_certain=size)
    values = replace(VALUES, n_records_at_midpoints=size, n_lone_targets=size)
    tree = replace(findings().model, kind="regression tree")
    summary = summarize(findings(model=tree, labels=Measured(labels), values=Measured(values)))
    facts = {fact.name: fact for fact in (*summary.label_facts, *summary.value_facts)}
    assert facts["Outcome certain"].value == "fewer than 10 records"
    assert facts["Midpoints of two training values"].meaning.endswith("fewer than 10 records.")
    assert facts["Leaves that publish one person's value"].value == "some leaves"


def test_suppressed_counts_of_the_findings_are_passed_on() -> None:
    summary = summarize(findings(labels=Measured(replace(LABELS, n_certain="<10"))))
    assert "they are certain for fewer than 10 records" in summary.label_sentence


def test_shares_are_too_coarse_to_count_a_small_group_by() -> None:
    curves = []
    for size in range(1, 10):
        points = (((size + 40) / 400, 9.0), (1.0, 2.0))
        found = findings(reconstruction=Measured(replace(RECONSTRUCTION, exposure_curve=points)))
        curves.append(summarize(found).curve)
    assert len(set(curves)) == 1
    assert curves[0][-1] == (1.0, 2.0)


def test_rows_are_in_order_of_number() -> None:
    assert summarize(findings()).rows == (3, 77, 512)


def test_sizes_are_shown_as_given() -> None:
    assert [row.size for row in summarize(findings()).parts] == [
        "40 records",
        "<10 records",
        "size hidden",
        "300 records",
    ]


def test_all_suppressed_sizes_are_drawn_alike() -> None:
    rows = summarize(findings(parts=(part(1, "<10"), part(2, "hidden"), part(3, "<10"), part(4, 12)))).parts
    assert [row.weight for row in rows] == [5.0, 5.0, 5.0, 12.0]


def test_a_purity_that_was_rounded_down_says_so() -> None:
    rows = summarize(findings()).parts
    assert [row.purity for row in rows] == [
        "75% one outcome",
        "at least 75% one outcome",
        "at least 75% one outcome",
        "100% one outcome",
    ]


def test_the_five_levels_of_exposure() -> None:
    parts = tuple(part(i, bits_learned=bits) for i, bits in enumerate((0.0, 2.6, 7.4, 10.0, 10.1, None), start=1))
    tree = balanced_tree(6)
    assert [row.level for row in summarize(findings(parts=parts, tree=tree)).parts] == [0, 1, 2, 3, 4, None]
    free = summarize(findings(parts=parts, tree=tree, policy=Policy(largest_bits_per_record=None)))
    assert [row.level for row in free.parts] == [0, 1, 3, 4, 4, None]


def test_a_large_tree_lists_the_flagged_leaf_first_and_states_the_rest() -> None:
    summary = summarize(large_findings())
    assert summary.first_look[0].number == 1234
    assert summary.n_omitted == 2950
    assert sum(step.kind == "leaf" for step in summary.steps) == 50
    told = [step.summary for step in summary.steps if step.kind == "omitted"]
    assert sum(int(text.split(" ")[0].replace(",", "")) for text in told) == 2950


@pytest.mark.parametrize("n_leaves", [1, 2, 60, 400])
def test_subtrees_begin_and_end_in_pairs_and_never_nest_too_deep(n_leaves: int) -> None:
    parts = tuple(part(i) for i in range(1, n_leaves + 1))
    tree = chain(n_leaves) if n_leaves > 1 else balanced_tree(1)
    depth = deepest = 0
    for step in summarize(findings(parts=parts, tree=tree)).steps:
        depth += (step.kind == "begin") - (step.kind == "end")
        deepest = max(deepest, depth)
        assert depth >= 0
    assert depth == 0
    assert deepest <= 12


def test_a_rule_list_reads_if_else_if_else() -> None:
    summary = summarize(rule_findings())
    assert [row.lead for row in summary.parts] == ["if", "else if", "else"]
    assert [row.size for row in summary.parts][-1] == "no record"
    assert summary.parts[-1].bits == "no possible record"
    assert summary.listed
    assert summary.checks[0].rule == "Every rule is made from enough people"


def test_a_long_rule_list_states_what_is_left_out() -> None:
    summary = summarize(rule_findings(260))
    assert len(summary.parts) == 200
    assert summary.n_omitted == 60


def test_fifty_classes_show_the_most_frequent() -> None:
    model = replace(findings().model, classes=tuple(f"class {i}" for i in range(50)))
    counts = tuple(range(10, 60))
    row = summarize(findings(model=model, parts=(part(1, sum(counts), counts=counts),), tree=balanced_tree(1))).parts[0]
    assert row.classes == "59 class 49, 58 class 48, 57 class 47, 1,551 of other classes"


def test_equal_readings_are_told_once() -> None:
    same = replace(RECONSTRUCTION, dist_g_domain_aware=RECONSTRUCTION.dist_g)
    assert summarize(findings(reconstruction=Measured(same))).rebuilt.endswith("(Dist_G 0.720).")
    assert summarize(findings()).rebuilt.endswith("(Dist_G 0.720 as published, 0.500 with the domain's groups).")


def test_a_reason_keeps_its_words() -> None:
    summary = summarize(findings(alignment=NotApplicable("no data were given.")))
    assert summary.reasons == {"alignment": "Not measured: no data were given."}
    assert summary.alignment == ""
