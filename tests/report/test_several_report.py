"""The report on several models of the same records."""

from __future__ import annotations

import polars as pl
import pytest

from glassine.attacks.outcome import Below
from glassine.auditing import AuditSettings
from glassine.auditing.findings import Findings
from glassine.auditing.several_models import SeveralModels
from glassine.models import DecisionTree, Evidence, Node
from glassine.report import render_html, render_text, several_page
from glassine.report.blocks import Paragraph
from glassine.report.wording import CHECKER_ONLY, NOTICES
from tests.policies import audit_by_bits as audit
from tests.report.blocks import facts, one_of, rows_of, states, told
from tests.report.builders import AGES, HOSTILE, NEAR, several_findings, stump


@pytest.fixture(scope="module")
def near() -> Findings:
    return several_findings()


def test_the_page_names_the_models_and_what_each_and_all_reveal(near: Findings) -> None:
    section = several_page(near).section("joint")
    bars = rows_of(section)
    assert list(bars) == ["this year", "last year", "All together"]
    joint = near.value("joint")
    assert bars["this year"].cells[1:] == (f"{joint.bits_alone[0]:.3f}", f"{joint.bits_alone[0]:.3f}")
    assert bars["All together"].cells[1:] == ("1.060", "1.061")
    assert 1.060 <= joint.bits[0] <= joint.bits[1] <= 1.061
    assert "this year" in told(section)


def test_a_group_that_only_both_models_single_out_is_reported_and_its_size_suppressed(near: Findings) -> None:
    page = several_page(near)
    assert near.verdict == page.tone == "outside policy"
    groups = facts(page.section("groups"))
    assert groups["Small groups revealed only together"].value == str(near.value("joint").n_small_groups)
    row = rows_of(page.section("policy"))["Smallest intersection"]
    assert row.cells[1] == f"{Below(10)} records"
    assert "1 record" not in render_html(near)


def test_what_was_not_measured_is_named_with_what_it_needs(near: Findings) -> None:
    measured = states(several_page(near).section("measured"))
    assert measured == {}
    assert several_page(near).section("measured").folded == "the only question"
    asked = several_findings(settings=AuditSettings(measurements={"joint", "rows"}))
    section = several_page(asked).section("rows")
    assert facts(section)["Rows rebuilt"].value == "100 records"
    assert one_of(several_page(asked).section("measured"), Paragraph).text == "Measured: joint reconstruction, rows."


def test_models_that_contradict_one_another_are_not_judged_and_the_page_says_why() -> None:
    findings = audit(SeveralModels(models=(NEAR[0], stump(40.5, (10, 10), (30, 50))), names=("a", "b")), domain=AGES)
    page = several_page(findings)
    assert page.tone == "inconclusive"
    assert "contradict" in page.sentence
    assert "No dataset meets the counts" in render_text(findings)
    assert "joint" in {section.id for section in page.sections}


def test_models_that_were_left_out_are_named_with_the_reason() -> None:
    bare = DecisionTree((Node(evidence=Evidence(label=0)),), ("age",), ("no", "yes"))
    findings = audit(SeveralModels(models=(*NEAR, bare), names=("a", "b", "bare")), domain=AGES)
    rows = rows_of(several_page(findings).section("joint"))
    assert "bare" not in rows
    assert "bare" in render_text(findings)
    assert findings.value("joint").left_out[0].name == "bare"


def test_figures_that_were_measured_on_records_are_for_the_checker_only() -> None:
    ages = [20] * 50 + [41] + [70] * 49
    frame = pl.DataFrame({"age": ages, "height": [150] * 100})
    with_data, without = several_findings(data=frame), several_findings()
    assert several_page(with_data).notice == CHECKER_ONLY
    assert several_page(without).notice == NOTICES["checker"]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_models_cannot_break_the_page(name: str) -> None:
    findings = several_findings((name, "other"))
    page = render_html(findings)
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "\x1b" not in render_text(findings)
