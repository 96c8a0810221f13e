"""Membership attacks in words, as a chart and as a page."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from glassine.attacks.outcome import Below, Measured
from glassine.auditing.findings import NO_HOLDOUT
from glassine.auditing.policy import Policy
from glassine.report import attack_page, audit_page, render_html, render_text
from glassine.report.blocks import Figure
from glassine.report.charts import draw_roc
from glassine.report.sections.membership import membership_sentence
from tests.report.blocks import all_of, facts, one_of, rows_of, states
from tests.report.builders import GAP, HOSTILE, MEMBERSHIP, findings, membership_checks


def test_the_sentence_names_the_strongest_attack() -> None:
    page = attack_page(MEMBERSHIP)
    assert page.sentence == (
        "The gap attack flags 8.8 (3.1 to 15.2) percentage points more of the members than of the non-members. That is "
        "beyond chance (p = 0.001 after correction for 1 attack). Within a class, no attack "
        "on the leaf of one record exceeds 6.0 points on average (V = 0.530). Thresholds identify 60 records of the "
        "training data, none wrongly."
    )
    section = page.section("members")
    assert list(states(section).values()) == ["found members", "not measured"]
    assert rows_of(section)["Gap attack"].cells[0] == "0.088 (0.031 to 0.152)"


def test_the_advantage_of_the_strongest_attack_is_one_figure_everywhere() -> None:
    """The strongest attack is the one of the largest advantage, whatever the others' lower bounds are."""
    sure = replace(GAP, advantage=0.004, advantage_low=0.003, advantage_high=0.005)
    wide = replace(
        GAP, attack="midpoint attack", advantage=0.01, advantage_low=0.0, advantage_high=0.02, detected=False
    )
    finding = replace(MEMBERSHIP, attacks=(sure, wide), strongest="midpoint attack", accused=None)
    (check,) = membership_checks(Policy(largest_advantage=0.5), finding)
    view = attack_page(finding)
    assert check.measured == 0.01
    assert view.figures[0].value == "0.010"
    assert view.figures[0].meaning == "midpoint attack; 0 is guessing"
    assert view.sentence == (
        "The strongest of 2 attacks is the midpoint attack. It flags 1.0 (0.0 to 2.0) percentage "
        "points more of the members than of the non-members. That is beyond chance (p = 0.002 after correction for 2 "
        "attacks). What is beyond chance is what the gap attack finds. Within a class, no "
        "attack on the leaf of one record exceeds 6.0 points on average (V = 0.530)."
    )
    for text in (render_text(finding), render_html(attack_page(finding, title="Attacks"))):
        assert "0.004 (" in text
        assert not re.search(r"strongest attack\W+0\.004", text)
    # The curve is that of an attack that has one, under its own name.
    assert one_of(view.section("members"), Figure).title.startswith("The gap attack,")
    assert "The gap attack, at low false positive rates" in render_html(attack_page(finding, title="Attacks"))


def test_a_shifted_holdout_takes_the_finding_back() -> None:
    assert "which may explain the difference" in membership_sentence(replace(MEMBERSHIP, shifted=True))


def test_an_attack_that_finds_nothing_is_not_called_safe() -> None:
    quiet = replace(GAP, detected=False, advantage=0.01, advantage_low=-0.02, advantage_high=0.04)
    view = attack_page(replace(MEMBERSHIP, attacks=(quiet,)))
    assert "flags 1.0 (-2.0 to 4.0) percentage points more" in view.sentence
    assert "That is not beyond chance" in view.sentence
    assert list(states(view.section("members")).values()) == ["found none beyond chance"]
    assert "safe" not in view.sentence


def test_an_advantage_that_one_of_six_attacks_finds_by_chance_is_not_said_to_be_found() -> None:
    """1.8 points at p = 0.02 are one attack's luck where six were made, and six attacks at p = 0.001 are not."""
    lucky = replace(GAP, advantage=0.018, advantage_low=0.001, advantage_high=0.035, p_value=0.02)
    none = replace(GAP, advantage=0.001, advantage_low=-0.01, advantage_high=0.01, p_value=0.4, detected=False)
    finding = replace(MEMBERSHIP, attacks=(lucky, *[none] * 5), accused=None)
    assert finding.corrected_p_value == 0.12
    assert not finding.beyond_chance
    sentence = membership_sentence(finding)
    assert "1.8 (0.1 to 3.5) percentage points" in sentence
    assert "That is not beyond chance (p = 0.12 after correction for 6 attacks)." in sentence
    assert "can tell" not in sentence
    assert attack_page(finding).headline == "No attack found members beyond chance"
    sure = replace(finding, attacks=(replace(lucky, p_value=0.001), *[none] * 5))
    assert sure.beyond_chance
    assert "That is beyond chance (p = 0.006 after correction for 6 attacks)." in membership_sentence(sure)


def test_without_any_attack_nothing_is_claimed() -> None:
    view = attack_page(replace(MEMBERSHIP, attacks=(), strongest=None, roc=()))
    assert view.sentence == "No attack that flags records as members could run."
    assert draw_roc((), "") == ""
    assert all_of(view.section("members"), Figure) == []


def test_wrongly_accused_are_told_beside_the_accused() -> None:
    def values(**given: Any) -> list[str]:
        section = attack_page(replace(MEMBERSHIP, **given)).section("holdout")
        return [fact.value for fact in facts(section).values()]

    assert values()[1] == "60 records flagged, none wrongly"
    assert values(accused_wrongly=Below(10))[1] == "60 records flagged, fewer than 10 wrongly"
    assert values(accused=None, vulnerability=None, shifted=None) == ["not tested", "not known", "not known"]


def test_the_chart_puts_guessing_on_the_diagonal() -> None:
    chart = ElementTree.fromstring(draw_roc([(0.01, 0.01), (0.1, 0.1), (1.0, 1.0)], "gap attack"))
    path = next(node for node in chart.iter() if node.get("class") == "line" and node.tag.endswith("path"))
    guess = next(node for node in chart.iter() if node.get("class") == "guess")
    first, *_, last = [tuple(map(float, point.split())) for point in (path.get("d") or "")[1:].split("L")]
    assert first == (float(guess.get("x1") or 0), float(guess.get("y1") or 0))
    assert last == (float(guess.get("x2") or 0), float(guess.get("y2") or 0))


def test_the_report_shows_the_attacks() -> None:
    made = findings()
    page = render_html(made)
    assert 'id="members-h"' in page
    assert "0.088 (0.031 to 0.152)" in page
    assert "True positive rate against false positive rate" in page
    assert "flags 8.8 (3.1 to 15.2) percentage points" in " ".join(render_text(made).split())


def test_hostile_names_are_escaped_on_the_page_of_attacks() -> None:
    for text in (text for text in HOSTILE if "<" in text):
        hostile = replace(MEMBERSHIP, shift=text, midpoints=text, attacks=(replace(GAP, statement=text, attack=text),))
        page = render_html(attack_page(hostile, title=text))
        assert text not in page
        assert "<script" not in page
        assert text not in render_html(findings(membership=Measured(hostile)))


def test_the_text_fits_the_terminal() -> None:
    text = render_text(MEMBERSHIP)
    assert max(map(len, text.splitlines())) <= 88
    assert "[found members] Gap attack: 0.088 (0.031 to 0.152)" in text


def test_membership_counts_as_a_question_of_the_audit() -> None:
    assert audit_page(findings()).section("measured").folded == "all 8 questions"
    open_ = audit_page(findings(membership=NO_HOLDOUT)).section("measured")
    assert states(open_) == {"Membership": "not measured"}
    assert open_.folded == "1 of 8 questions: membership"
