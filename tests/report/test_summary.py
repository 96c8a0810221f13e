from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from glassine.attacks.alignment import ErrorEstimate
from glassine.attacks.outcome import About, Below, Hidden, Measured, NotApplicable
from glassine.auditing.findings import Check, DomainSummary, SubgroupFinding
from glassine.auditing.policy import Policy
from glassine.report import summarize
from glassine.report.statements import QUESTIONS
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
        "2 of 4 limits are broken: smallest leaf and bits about the most exposed record; 1 more could not be judged."
    )
    assert summarize(findings(checks=())).sentence.startswith("The policy holds no rule")
    kept = tuple(check for check in findings().checks if check.status == "pass")
    assert summarize(findings(verdict="within policy", checks=kept)).sentence == "The one limit of the policy is kept."
    assert "could not be judged" in summarize(unknown_findings()).sentence


def test_checks_are_worded() -> None:
    rows = {row.key: row for row in summarize(findings()).checks}
    assert rows["smallest_leaf"].measured == "<10 records"
    assert rows["smallest_leaf"].limit == "at least 10 records"
    assert rows["purest_leaf"].measured == "85%"
    assert rows["largest_bits_per_record"].measured == "10.004 bits"
    assert rows["thresholds_off_grid"].measured == "not known"
    assert rows["thresholds_off_grid"].status == "unknown"


def test_a_broken_share_that_was_rounded_down_to_its_limit_still_reads_as_more() -> None:
    check = Check(rule="purest_leaf", limit=0.9, measured=0.9, status="fail", meaning="")
    assert summarize(findings(checks=(check,))).checks[0].measured == "more than 90%"


def test_a_rule_that_the_report_does_not_know_is_shown_by_name() -> None:
    check = Check(rule="fewest_moons", limit=3, measured=2.0, status="fail", meaning="")
    row = summarize(findings(checks=(check,))).checks[0]
    assert (row.label, row.limit, row.measured) == ("fewest moons", "3", "2")


def test_nothing_measured_is_nowhere_a_figure() -> None:
    summary = summarize(unknown_findings())
    assert {row.state for row in summary.measures} == {"not measured", "failed"}
    assert [figure.value for figure in summary.figures[:2]] == ["not known", "not known"]
    assert all(row.level is None and row.share is None and row.bits == "not known" for row in summary.parts)
    assert set(summary.reasons) == set(QUESTIONS)


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
    summary = summarize(findings(labels=Measured(replace(LABELS, n_certain=Below(10)))))
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
    rows = summarize(findings(parts=(part(1, Below(10)), part(2, Hidden()), part(3, Below(10)), part(4, 12)))).parts
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
    assert summary.checks[0].label == "Smallest rule"


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
    assert summarize(findings()).rebuilt.endswith(
        "(Dist_G 0.720 with attributes independent, 0.500 with the domain's groups)."
    )


def test_a_reason_keeps_its_words() -> None:
    summary = summarize(findings(alignment=NotApplicable("no data were given.")))
    assert summary.reasons == {"alignment": "Not measured: no data were given."}
    assert summary.alignment == ""


def test_a_verdict_within_policy_claims_no_more_than_was_measured() -> None:
    kept = tuple(replace(check, status="pass") for check in findings().checks)

    def sentence(*checks: Check, **given: Any) -> str:
        return summarize(findings(verdict="within policy", checks=checks, **given)).sentence

    assert sentence(*kept[:3]) == "All 3 limits of the policy are kept."
    assert sentence(*kept[2:]) == "1 limit is kept; for 1 the model publishes nothing to judge."
    assert sentence(kept[3]) == "For the one limit of the policy the model publishes nothing to judge."
    partial = replace(VALUES, n_midpoints=None)
    missing = NotApplicable("not given.")
    assert sentence(*kept[:3], labels=missing, alignment=missing, values=Measured(partial)).endswith(
        "Not measured: outcomes, comparison with the data. Measured in part: exact values."
    )


def test_the_share_of_records_that_still_fit() -> None:
    def told(largest: float | None, mean: float | None = 4.0, bits: float | None = 500.0) -> list[str]:
        domain = DomainSummary(n_attributes=3, n_groups=0, inferred=(), bits_independent=bits, bits_domain_aware=bits)
        measured = replace(RECONSTRUCTION, bits_largest=largest, bits_mean=mean)
        summary = summarize(findings(domain=domain, reconstruction=Measured(measured)))
        return [summary.narrowed, *(figure.meaning for figure in summary.figures[:2])]

    assert told(15.327807) == [
        "It tells 15.3 bits about the most exposed record (4.0 on average): "
        "1 of every 41,100 possible records still fits, about 2^485 in all.",
        "1 of every 16 possible records still fits, about 2^496 in all",
        "1 of every 41,100 possible records still fits, about 2^485 in all",
    ]
    assert told(5.0, 4.0, 8.0)[1] == "1 of every 16 possible records still fits, about 16 in all"
    assert told(5.0, 4.0, None)[1] == "1 of every 16 possible records still fits"
    assert told(0.0, 0.0) == ["", "", ""]
    assert told(9.0, 4.0, 8.0) == ["", "", ""]
    assert told(None)[:2] == ["", ""]
    assert told(None, None)[0] == ""


def test_a_merged_first_step_of_the_curve_is_stated() -> None:
    assert summarize(findings()).curve_note == ""
    merged = replace(RECONSTRUCTION, bits_largest=15.3)
    note = summarize(findings(reconstruction=Measured(merged))).curve_note
    assert "at 15.3 bits" in note
    assert note.endswith("at their mean, 11.3.")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (0.49, "On average no nearer than random."),
        (0.465, "On average 7% nearer than random: little gain (below 10%)."),
        (0.4, "On average 20% nearer than random: some gain (10% to 30%)."),
        (0.3, "On average 40% nearer than random: much gain (30% to 60%)."),
        (0.1, "On average 80% nearer than random: very much gain (60% or more)."),
        (0.6, "On average no nearer than random."),
    ],
)
def test_the_comparison_with_the_data_in_words(error: float, text: str) -> None:
    found = ErrorEstimate(error=error, error_sd=0.01, baseline=0.5, baseline_sd=0.01, n_draws=3, n_matched=9)
    assert summarize(findings(alignment=Measured(found))).alignment.startswith(f"{text} Records drawn")


def test_sensitive_subgroups_come_first_then_the_most_exposed() -> None:
    groups = tuple(
        SubgroupFinding(attribute=name, value=str(i), size=90, bits_mean=float(i), bits_largest=9.0)
        for name in ("region", "sex")
        for i in range(7)
    )
    summary = summarize(findings(subgroups=Measured(groups), sensitive="sex"))
    assert [bar.group for bar in summary.subgroups] == ["sex"] * 7 + ["region"] * 5
    assert [bar.name for bar in summary.subgroups[7:]] == ["6", "5", "4", "3", "2"]
    assert [bar.name for bar in summary.other_subgroups] == ["1", "0"]
    assert len(summarize(findings(subgroups=Measured(groups))).subgroups) == 5


def test_sizes_that_were_counted_in_the_data_say_so() -> None:
    parts = (part(1, 40, purity=None), part(2, Below(10), purity=None), part(3, Hidden(), purity=None), part(4, 60))
    model = replace(findings().model, n_records=None)
    summary = summarize(findings(model=model, parts=parts))
    assert summary.counted
    assert [row.size for row in summary.parts] == [
        "40 records, counted in the data",
        "<10 records, counted in the data",
        "size hidden",
        "60 records",
    ]
    assert "; sizes counted in the data, not published" in summary.described
    assert not summarize(findings(model=model, parts=(part(1, None), *parts[1:]))).counted
    rounded = replace(findings().model, approximate=True)
    noted = summarize(findings(model=rounded, notes=("they were counted in the data.",)))
    assert noted.parts[0].size == "40 records, counted in the data"
    assert "; counts are not exact; sizes counted" in noted.described


def test_no_threshold_off_the_grid_reads_as_none() -> None:
    rows = [
        Check(rule=rule, limit=0, measured=0, status="pass", meaning="")
        for rule in ("thresholds_off_grid", "midpoints")
    ]
    told = summarize(findings(checks=tuple(rows))).checks
    assert [(row.limit, row.measured) for row in told] == [("none allowed", "none")] * 2


def test_bounds_may_be_harmless() -> None:
    facts = {fact.name: fact for fact in summarize(findings()).value_facts}
    assert "harmless where the bound is public, such as 0." in facts["Bounds that are a training value"].meaning


@pytest.mark.parametrize(
    ("count", "text"),
    [(About(240), "about 240 records"), (Below(10), "fewer than 10 records")],
)
def test_rounded_label_figures_are_not_told_as_exact(count: About | Below, text: str) -> None:
    labels = replace(LABELS, n_certain=count, guess_rate=1.0018)
    summary = summarize(findings(labels=Measured(labels)))
    assert summary.label_facts[0].value == "about 100%"
    assert summary.label_facts[1].value == text
    assert summary.label_sentence.endswith(f"they are certain for {text}.")
