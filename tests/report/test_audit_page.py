from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from glassine.attacks.outcome import About, Below, Hidden, Measured, NotApplicable
from glassine.attacks.record_matching import ErrorEstimate
from glassine.auditing.criterion import Status
from glassine.auditing.findings import Check, DomainSummary, Findings, SubgroupBitsFinding
from glassine.auditing.policy import Policy
from glassine.report import audit_page
from glassine.report.blocks import Fold, Outline, Paragraph, PartRow, Parts, Readings, RowNumbers, Table
from glassine.report.sections.parts import Scale, outline, part_rows, ranked, sizes_are_counted
from glassine.report.sections.parts import parts_of as parts_listed
from glassine.report.sections.policy import worded
from glassine.report.sections.reconstruction import curve, share_unit
from tests.report.blocks import all_of, facts, one_of, parts_of, rows_of, states, told
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


def rows_as_drawn(made: Findings) -> tuple[PartRow, ...]:
    return part_rows(made, Scale.of(made))


def test_the_verdict_says_why() -> None:
    page = audit_page(findings())
    refused = "The policy does not allow the release of this decision tree"
    assert page.sentence == f"{refused}: 2 of 4 checks failed, and 1 could not run."
    assert audit_page(findings(checks=())).sentence.endswith("it has no check for it.")
    kept = tuple(check for check in findings().checks if check.status == "pass")
    allowed = "The policy allows the release of this decision tree"
    assert audit_page(findings(verdict="within policy", checks=kept)).sentence == f"{allowed}: 1 check passed."
    assert "could not run" in audit_page(unknown_findings()).sentence


def test_checks_are_worded() -> None:
    rows = {check.rule: worded(check, Policy(), "decision tree") for check in findings().checks}
    assert rows["smallest_leaf"].measured == "fewer than 10 records"
    assert rows["smallest_leaf"].limit == "at least 10 records"
    assert rows["purest_leaf"].measured == "85%"
    assert rows["largest_bits_per_record"].measured == "10.004 bits"
    assert rows["thresholds_off_grid"].measured == "not known"
    assert rows["thresholds_off_grid"].status == "unknown"


@pytest.mark.parametrize(("status", "said"), [("pass", "not shown"), ("fail", "not shown"), ("unknown", "not known")])
def test_a_figure_that_can_be_the_value_of_a_person_is_not_shown_and_not_unknown(status: Status, said: str) -> None:
    check = Check(rule="dominance", limit=0.9, measured=None, status=status, meaning="")
    assert worded(check, Policy(), "decision tree").measured == said


def test_a_broken_share_that_was_rounded_down_to_its_limit_still_reads_as_more() -> None:
    check = Check(rule="purest_leaf", limit=0.9, measured=0.9, status="fail", meaning="")
    assert worded(check, Policy(), "decision tree").measured == "more than 90%"


def test_a_rule_that_the_report_does_not_know_is_shown_by_name() -> None:
    check = Check(rule="fewest_moons", limit=3, measured=2.0, status="fail", meaning="")
    row = worded(check, Policy(), "decision tree")
    assert (row.label, row.limit, row.measured) == ("fewest moons", "3", "2")


def test_nothing_measured_is_nowhere_a_figure() -> None:
    page = audit_page(unknown_findings())
    assert set(states(page.section("measured")).values()) == {"not measured", "failed"}
    assert [figure.value for figure in page.figures[:2]] == ["not known", "not known"]
    assert all(row.level is None and row.share is None and not row.bits for row in parts_of(page))
    assert {section.id for section in page.sections} == {"policy", "measured", "sign-off", "model"}
    assert all(len(row.meaning) > 20 for row in rows_of(page.section("measured")).values())


def test_what_needs_more_input_counts_as_partly_measured() -> None:
    partial = replace(VALUES, n_off_grid=None, n_midpoints=None, n_records_at_midpoints=None)
    page = audit_page(findings(values=Measured(partial)))
    assert states(page.section("measured"))["Value leakage"] == "partly measured"
    assert "not known" in [fact.value for fact in facts(page.section("values")).values()]


def test_an_undefined_measure_is_partly_measured_and_has_no_curve() -> None:
    undefined = replace(
        RECONSTRUCTION, dist=None, dist_g=None, dist_g_domain_aware=None, exposure_curve=(), undefined="a continuum."
    )
    page = audit_page(findings(reconstruction=Measured(undefined)))
    section = page.section("rebuild")
    assert states(page.section("measured"))["Reconstruction"] == "partly measured"
    assert [fold.summary for fold in all_of(section, Fold)] == ["Dist_G, and what it counts"]
    assert "of the uncertainty" not in told(section)
    assert [reading.value for reading in one_of(section, Readings).readings] == ["not defined", "not defined"]


@pytest.mark.parametrize("size", range(1, 10))
def test_small_numbers_of_people_are_not_told(size: int) -> None:
    labels = replace(LABELS, n_certain=size)
    values = replace(VALUES, n_records_at_midpoints=size, n_lone_targets=size)
    tree = replace(findings().model, kind="regression tree")
    page = audit_page(findings(model=tree, labels=Measured(labels), values=Measured(values)))
    shown = facts(page.section("labels")) | facts(page.section("values"))
    assert shown["Outcome certain"].value == "fewer than 10 records"
    assert shown["Midpoints of two training values"].meaning.endswith("fewer than 10 records.")
    assert shown["Leaves that publish one record's value"].value == "some leaves"


def test_suppressed_counts_of_the_findings_are_passed_on() -> None:
    page = audit_page(findings(labels=Measured(replace(LABELS, n_certain=Below(10)))))
    assert "For fewer than 10 records the outcome is certain." in told(page.section("labels"))


def test_shares_are_too_coarse_to_count_a_small_group_by() -> None:
    curves = []
    for size in range(1, 10):
        points = (((size + 40) / 400, 9.0), (1.0, 2.0))
        curves.append(curve(replace(RECONSTRUCTION, exposure_curve=points), share_unit(findings())))
    assert len(set(curves)) == 1
    assert curves[0][-1] == (1.0, 2.0)


def test_rows_are_in_order_of_number() -> None:
    assert one_of(audit_page(findings()).section("records"), RowNumbers).rows == ("row 5", "row 79", "row 514")


def test_sizes_are_shown_as_given() -> None:
    assert [row.size for row in parts_of(audit_page(findings()))] == [
        "40 records",
        "fewer than 10 records",
        "size hidden",
        "300 records",
    ]


def test_all_suppressed_sizes_are_drawn_alike() -> None:
    rows = rows_as_drawn(findings(parts=(part(1, Below(10)), part(2, Hidden()), part(3, Below(10)), part(4, 12))))
    assert [row.weight for row in rows] == [5.0, 5.0, 5.0, 12.0]


def test_a_purity_that_was_rounded_down_says_so() -> None:
    rows = rows_as_drawn(findings())
    assert [row.purity for row in rows] == [
        "75% one outcome",
        "at least 75% one outcome",
        "at least 75% one outcome",
        "100% one outcome",
    ]


def test_the_five_levels_of_exposure() -> None:
    parts = tuple(part(i, bits_learned=bits) for i, bits in enumerate((0.0, 2.6, 7.4, 10.0, 10.1, None), start=1))
    tree = balanced_tree(6)
    assert [row.level for row in rows_as_drawn(findings(parts=parts, tree=tree))] == [0, 1, 2, 3, 4, None]
    free = findings(parts=parts, tree=tree, policy=Policy(largest_bits_per_record=None))
    assert [row.level for row in rows_as_drawn(free)] == [0, 1, 3, 4, 4, None]


def test_a_large_tree_lists_the_flagged_leaf_first_and_states_the_rest() -> None:
    section = audit_page(large_findings()).section("model")
    assert one_of(section, Parts).parts[0].number == 1234
    assert any("2,950 more leaves" in block.text for block in all_of(section, Paragraph))
    steps = one_of(section, Outline).steps
    assert sum(step.kind == "leaf" for step in steps) == 50
    omitted = [step.summary for step in steps if step.kind == "omitted"]
    assert sum(int(text.split(" ")[0].replace(",", "")) for text in omitted) == 2950


@pytest.mark.parametrize("n_leaves", [1, 2, 60, 400])
def test_subtrees_begin_and_end_in_pairs_and_never_nest_too_deep(n_leaves: int) -> None:
    parts = tuple(part(i) for i in range(1, n_leaves + 1))
    tree = chain(n_leaves) if n_leaves > 1 else balanced_tree(1)
    depth = deepest = 0
    made = findings(parts=parts, tree=tree)
    for step in outline(parts_listed(made).nodes, rows_as_drawn(made), ranked(parts_listed(made).parts))[0]:
        depth += (step.kind == "begin") - (step.kind == "end")
        deepest = max(deepest, depth)
        assert depth >= 0
    assert depth == 0
    assert deepest <= 12


def test_a_rule_list_reads_if_else_if_else() -> None:
    page = audit_page(rule_findings())
    parts = one_of(page.section("model"), Parts).parts
    assert [row.lead for row in parts] == ["if", "else if", "else"]
    assert [row.size for row in parts][-1] == "no record"
    assert parts[-1].bits == "no possible record"
    assert page.section("model").link == "Rules"
    assert "Smallest rule" in rows_of(page.section("policy"))


def test_a_long_rule_list_states_what_is_left_out() -> None:
    section = audit_page(rule_findings(260)).section("model")
    assert len(one_of(section, Parts).parts) == 200
    assert any("60 more rules" in block.text for block in all_of(section, Paragraph))


def test_fifty_classes_show_the_most_frequent() -> None:
    model = replace(findings().model, classes=tuple(f"class {i}" for i in range(50)))
    counts = tuple(range(10, 60))
    (row,) = rows_as_drawn(findings(model=model, parts=(part(1, sum(counts), counts=counts),), tree=balanced_tree(1)))
    assert row.classes == "59 class 49, 58 class 48, 57 class 47, 1,551 of other classes"


def test_equal_readings_are_told_once() -> None:
    same = replace(RECONSTRUCTION, dist_g_domain_aware=RECONSTRUCTION.dist_g)
    assert "(Dist_G 0.720)." in told(audit_page(findings(reconstruction=Measured(same))).section("rebuild"))
    assert "(Dist_G 0.720 with attributes independent, 0.500 with the domain's groups)." in told(
        audit_page(findings()).section("rebuild")
    )


def test_a_reason_keeps_its_words() -> None:
    page = audit_page(findings(alignment=NotApplicable("no data were given.")))
    assert rows_of(page.section("measured"))["Comparison with the data"].meaning.endswith(" No data were given.")
    assert "Comparison with the data (not measured): No data were given." in told(page.section("measured"))
    assert "alignment" not in [section.id for section in page.sections]


def test_a_verdict_within_policy_claims_no_more_than_was_measured() -> None:
    statuses: tuple[Status, ...] = ("pass", "pass", "pass", "not applicable")
    kept = tuple(replace(check, status=status) for check, status in zip(findings().checks, statuses, strict=True))

    def sentence(*checks: Check, **given: Any) -> str:
        return audit_page(findings(verdict="within policy", checks=checks, **given)).sentence

    allowed = "The policy allows the release of this decision tree"
    assert sentence(*kept[:3]) == f"{allowed}: all 3 checks passed."
    assert sentence(*kept[2:]) == f"{allowed}: 1 check passed; 1 does not apply."
    assert sentence(kept[3]) == f"{allowed}: no check applies."
    partial = replace(VALUES, n_midpoints=None)
    missing = NotApplicable("not given.")
    assert sentence(*kept[:3], labels=missing, alignment=missing, values=Measured(partial)).endswith(
        "Not measured: outcomes, comparison with the data. Measured in part: exact values."
    )


def test_the_share_of_records_that_still_fit() -> None:
    def said(largest: float | None, mean: float | None = 4.0, bits: float | None = 500.0) -> list[str]:
        domain = DomainSummary(n_attributes=3, n_groups=0, inferred=(), bits_independent=bits, bits_domain_aware=bits)
        measured = replace(RECONSTRUCTION, bits_largest=largest, bits_mean=mean)
        page = audit_page(findings(domain=domain, reconstruction=Measured(measured)))
        narrowed = [str(text) for text in page.section("rebuild").text if str(text).startswith("Most exposed")]
        return [*(narrowed or [""]), *(figure.meaning for figure in page.figures[:2])]

    assert said(15.327807) == [
        "Most exposed record: about 2^485 of 2^500 possible records remain (15.3 bits; average 4.0).",
        "about 2^496 of 2^500 possible records remain",
        "about 2^485 of 2^500 possible records remain",
    ]
    assert said(5.0, 4.0, 8.0)[1] == "about 16 of 256 possible records remain"
    assert said(5.0, 4.0, None)[1] == "1 of every 16 possible records remains"
    assert said(0.0, 0.0) == ["", "", ""]
    assert said(9.0, 4.0, 8.0) == ["", "", ""]
    assert said(None)[:2] == ["", ""]
    assert said(None, None)[0] == ""


def test_a_merged_first_step_of_the_curve_is_stated() -> None:
    def notes(**given: Any) -> list[str]:
        section = audit_page(findings(**given)).section("rebuild")
        return [block.text for block in all_of(section, Paragraph) if "higher than the curve" in block.text]

    assert notes() == []
    (note,) = notes(reconstruction=Measured(replace(RECONSTRUCTION, bits_largest=15.3)))
    assert "at 15.3 bits" in note
    assert note.endswith("so the curve starts at 11.3 bits.")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (0.49, "no closer to the real ones than"),
        (0.465, "7% closer to the real ones than"),
        (0.4, "20% closer to the real ones than"),
        (0.3, "40% closer to the real ones than"),
        (0.1, "80% closer to the real ones than"),
        (0.6, "no closer to the real ones than"),
    ],
)
def test_the_comparison_with_the_data_in_words(error: float, text: str) -> None:
    found = ErrorEstimate(error=error, error_sd=0.01, baseline=0.5, baseline_sd=0.01, n_draws=3, n_matched=9)
    section = audit_page(findings(alignment=Measured(found))).section("alignment")
    assert one_of(section, Paragraph).text.startswith(f"On average, reconstructed records are {text} random")


def test_sensitive_subgroups_come_first_then_the_most_exposed() -> None:
    groups = tuple(
        SubgroupBitsFinding(attribute=name, value=str(i), size=90, bits_mean=float(i), bits_largest=9.0)
        for name in ("region", "sex")
        for i in range(7)
    )
    first, folded = all_of(audit_page(findings(subgroups=Measured(groups), sensitive="sex")).section("groups"), Table)
    assert [row.group for row in first.rows] == ["sex"] * 7 + ["region"] * 5
    assert [row.name for row in first.rows[7:]] == ["6", "5", "4", "3", "2"]
    assert [row.name for row in folded.rows] == ["1", "0"]
    assert len(one_of(audit_page(findings(subgroups=Measured(groups))).section("groups"), Table).rows) == 5


def test_sizes_that_were_counted_in_the_data_say_so() -> None:
    parts = (part(1, 40, purity=None), part(2, Below(10), purity=None), part(3, Hidden(), purity=None), part(4, 60))
    model = replace(findings().model, n_records=None)
    made = findings(model=model, parts=parts, sizes_counted=True)
    assert sizes_are_counted(made)
    assert "counted in the data" in one_of(audit_page(made).section("model"), Paragraph).text
    assert [row.size for row in rows_as_drawn(made)] == [
        "40 records, counted in the data",
        "fewer than 10 records, counted in the data",
        "size hidden",
        "60 records",
    ]
    assert "; sizes counted in the data, not published" in audit_page(made).described
    assert not sizes_are_counted(findings(model=model, parts=(part(1, None), *parts[1:])))
    rounded = replace(findings().model, approximate=True)
    noted = findings(model=rounded, sizes_counted=True)
    assert rows_as_drawn(noted)[0].size == "40 records, counted in the data"
    assert "; counts are not exact; sizes counted" in audit_page(noted).described


def test_no_threshold_off_the_grid_reads_as_none() -> None:
    rows = [
        Check(rule=rule, limit=0, measured=0, status="pass", meaning="")
        for rule in ("thresholds_off_grid", "midpoints")
    ]
    assert [(row.limit, row.measured) for row in (worded(check, Policy(), "decision tree") for check in rows)] == [
        ("none allowed", "none")
    ] * 2


def test_bounds_may_be_harmless() -> None:
    shown = facts(audit_page(findings()).section("values"))
    assert "harmless where the bound is public, such as 0." in shown["Bounds that are a training value"].meaning


@pytest.mark.parametrize(
    ("count", "text"),
    [(About(240), "about 240 records"), (Below(10), "fewer than 10 records")],
)
def test_rounded_label_figures_are_not_told_as_exact(count: About | Below, text: str) -> None:
    labels = replace(LABELS, n_certain=count, guess_rate=1.0018)
    section = audit_page(findings(labels=Measured(labels))).section("labels")
    assert facts(section)["Guessed right with the model"].value == "about 100%"
    assert facts(section)["Outcome certain"].value == text
    assert told(section).endswith(f"For {text} the outcome is certain.")
    nobody = audit_page(findings(labels=Measured(replace(LABELS, n_certain=0)))).section("labels")
    assert told(nobody).endswith("without it). No outcome is certain.")
