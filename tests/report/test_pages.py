"""Every kind of page is built alike."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from glassine.attacks.disclosure import infer_sensitive
from glassine.attacks.disclosure.remedies import Remedies, measure_remedies
from glassine.auditing.api import audit
from glassine.auditing.audit_settings import AuditSettings
from glassine.auditing.findings import Check, InputFile
from glassine.auditing.policy import Policy
from glassine.learners import MultiwayTreeClassifier
from glassine.models.svg import ticks
from glassine.report import (
    attack_page,
    audit_page,
    comparison_page,
    disclosure_page,
    near_optimal_page,
    release_page,
    render_html,
    render_text,
)
from glassine.report.section import Page as Report
from glassine.report.sections.policy import worded
from glassine.report.terms import TERMS
from glassine.report.wording import marked
from glassine.surrogates import SurrogateExplainer
from tests.comparison.builders import comparison
from tests.report.builders import (
    CHECKS,
    GAP,
    MEMBERSHIP,
    findings,
    near_optimal_trees,
    private_findings,
    rule_findings,
    unknown_findings,
)
from tests.report.test_additive_report import model_of
from tests.report.test_browser import CONTRAST
from tests.report.test_comparison import BEST, CART, CHEAP, CONSTANT
from tests.report.test_disclosure import finding, people
from tests.report.test_html import Page
from tests.surrogates.scenes import numbers, ring

FILES = (InputFile(role="model", name="tree.json", sha256="0f" * 32),)


def disclosure() -> Report:
    frame, y = people()
    tree = MultiwayTreeClassifier().fit(frame, y)
    table = measure_remedies(
        tree, frame, y, remedies=Remedies(merge_below=[60], purities=[], round_to=[5], epsilons=[1.0])
    )
    found = finding(infer_sensitive(tree, frame), truth=y, remedies=table, frame=frame)
    return disclosure_page(found, title="What a tree discloses", inputs=FILES)


def surrogates() -> Report:
    explainer = SurrogateExplainer(ring, 40, form="paper", random_state=0).fit(numbers(300), ring(numbers(300)))
    return release_page(replace(audit(explainer, settings=AuditSettings(sensitive="x0")), inputs=FILES))


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    quiet = replace(GAP, detected=False)
    return {
        "audit": audit_page(findings(inputs=FILES)),
        "rules": audit_page(rule_findings(inputs=FILES)),
        "unknown": audit_page(replace(unknown_findings(), inputs=FILES)),
        "private": audit_page(replace(private_findings(), inputs=FILES)),
        "additive": audit_page(replace(audit(model_of()), inputs=FILES)),
        "attack": attack_page(MEMBERSHIP, title="Attacks", inputs=FILES),
        "quiet attack": attack_page(replace(MEMBERSHIP, attacks=(quiet,), accused=0), title="Attacks", inputs=FILES),
        "no attack": attack_page(
            replace(MEMBERSHIP, attacks=(), strongest=None, roc=(), accused=None), title="Attacks", inputs=FILES
        ),
        "disclosure": disclosure(),
        "comparison": comparison_page(
            comparison(CHEAP, BEST, CART, CONSTANT), title="Learners", command="glassine fit x.csv", inputs=FILES
        ),
        "surrogates": surrogates(),
        "near-optimal trees": near_optimal_page(
            near_optimal_trees(n_asked=3, disputed={1: ("no", "yes")}), title="Trees", inputs=FILES
        ),
    }


@pytest.fixture(scope="module")
def pages(reports: dict[str, Report]) -> dict[str, str]:
    return {name: render_html(report) for name, report in reports.items()}


def test_text_and_page_hold_the_same_sections_in_one_order(reports: dict[str, Report]) -> None:
    for name, report in reports.items():
        lines = render_text(report).splitlines()
        heads = [
            marked(section.text_title or section.title, section.audience) for section in report.sections if section.text
        ]
        # A heading that is too long for a line is broken.
        places = [
            next(
                i for i, line in enumerate(lines) if line == head or (line and len(line) > 60 and head.startswith(line))
            )
            for head in heads
        ]
        assert places == sorted(places), name
        assert len(set(places)) == len(set(heads)) > 0, name
        assert lines[0] == report.opening(), name
        assert lines[1].startswith(f"Glassine {report.version}: "), name


def test_the_parts_stand_in_one_order(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        page = Page(text)
        tags = [tag for tag, _ in page.elements]
        assert [tags.count(tag) for tag in ("h1", "main", "header", "footer", "nav")] == [1] * 5, name
        marks = [
            "<h1>",
            'id="verdict"',
            'class="figures"',
            "<nav",
            'id="terms"',
            "<footer>",
            "What was read",
        ]
        places = [text.index(mark) for mark in marks]
        assert places == sorted(places), name
        assert 'class="described"' in text, name
        assert tags.count("caption") == tags.count("table"), name


def test_links_lead_to_sections_in_the_order_of_the_page(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        links = re.findall(r'<a href="#([^"]+)"', text[text.index("<nav") : text.index("</nav>")])
        ids = [attrs.get("id") for _, attrs in Page(text).elements if attrs.get("id")]
        assert len(set(ids)) == len(ids), name
        places = [ids.index(link) for link in links]
        assert places == sorted(places), name
        assert set(re.findall(r'<section id="([^"]+)"', text)) == set(links), name


def test_all_load_nothing_and_are_small(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in text, name
        assert ("script-src" in text) == ("<script" in text), name
        # The namespace of a drawing that can be saved by itself is a name, and nothing loads it.
        plain = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not re.search(r"https?:|url\((?!#)|@import|//[a-z]", plain), name
        assert len(text.encode()) < 1_000_000, name


def test_an_attack_that_finds_nothing_is_told_apart_from_none_and_from_one_that_finds(pages: dict[str, str]) -> None:
    heads = {name: re.findall(r'<h2 id="verdict">([^<]+)</h2>', text) for name, text in pages.items()}
    assert heads["attack"] == ["Members were found"]
    assert heads["quiet attack"] == ["No attack found members beyond chance"]
    assert heads["no attack"] == ["Inconclusive"]
    for name in ("quiet attack", "no attack"):
        assert 'class="verdict within-policy' not in pages[name]


def test_every_term_of_a_report_is_defined_and_every_definition_stands_once(reports: dict[str, Report]) -> None:
    names = [term.name.casefold() for term in TERMS.values()]
    assert len(set(names)) == len(names)
    assert {term for report in reports.values() for term in report.terms} <= set(TERMS)


def test_every_page_of_a_finding_can_be_made_from_the_finding_alone() -> None:
    compared = comparison(CHEAP, BEST, CART, CONSTANT)
    for found, page in (
        (findings(), audit_page(findings(), title="A")),
        (MEMBERSHIP, attack_page(MEMBERSHIP, title="A")),
        (compared, comparison_page(compared, title="A")),
    ):
        assert render_html(found, title="A") == render_html(page)
        assert render_text(found) == render_text(page)


def test_units_stand_beside_limits_and_figures() -> None:
    small, pure = CHECKS[0], CHECKS[1]

    def shown(check: Check) -> tuple[str, str]:
        row = worded(check, Policy(), "decision tree")
        return row.limit, row.measured

    assert shown(small) == ("at least 10 records", "fewer than 10 records")
    assert shown(replace(small, rule="declared_k", measured=1234.0))[1] == "1,234 records"
    assert shown(pure) == ("at most 90%", "85%")
    assert shown(CHECKS[2])[0] == "at most 10 bits"
    assert worded(replace(pure, measured=None, status="not applicable"), Policy(), "release").status == "not applicable"
    assert worded(CHECKS[3], Policy(), "release").status == "unknown"


def test_a_check_that_does_not_apply_counts_neither_as_passed_nor_as_failed() -> None:
    small, pure = CHECKS[0], replace(CHECKS[1], status="pass")
    silent, open_ = replace(pure, measured=None, status="not applicable"), replace(pure, status="unknown")
    failing = replace(small, status="fail")
    words = {
        kind: findings(checks=checks)
        .decision.removeprefix("The policy ")
        .replace(" the release of this decision tree", "")
        for kind, checks in {
            "failed": (failing, pure, silent),
            "open": (open_, pure, silent),
            "open alone": (open_, silent),
            "none": (silent, silent),
        }.items()
    }
    assert words == {
        "failed": "does not allow: 1 of 2 checks failed.",
        "open": "does not allow yet: 1 of 2 checks could not run; the other passed.",
        "open alone": "does not allow yet: 1 of 1 check could not run.",
        "none": "allows: no check applies.",
    }
    row = worded(silent, Policy(), "decision tree")
    assert (row.measured, row.status) == ("nothing published", "not applicable")


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 0.49), (0.755, 0.775), (0.0, 12.0), (0.0, 5000.0)])
def test_ticks_are_few_and_round(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 3 <= len(found) <= 8
    assert low <= found[0]
    assert found[-1] <= high
    steps = {round(b - a, 9) for a, b in pairwise(found)}
    assert len(steps) == 1
    assert f"{steps.pop():.0e}"[0] in "125"


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("media", ["screen", "print"])
def test_no_page_is_wider_than_a_phone_or_paper(
    browser: Any, pages: dict[str, str], tmp_path: Path, scheme: Any, media: Any
) -> None:
    context = browser.new_context(viewport={"width": 360 if media == "screen" else 694, "height": 800})
    shown = context.new_page()
    shown.emulate_media(media=media, color_scheme=scheme)
    for name, text in pages.items():
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        shown.goto(path.as_uri())
        over = shown.evaluate(
            "[...document.querySelectorAll('main *, footer *')].filter(e => !e.closest('.scroll, svg, thead')"
            " && e.getClientRects().length && e.getBoundingClientRect().right > innerWidth + 1)"
            ".map(e => e.tagName + '.' + e.className)"
        )
        assert over == [], name
        if media == "screen":
            assert shown.evaluate("document.documentElement.scrollWidth") <= 360, name
            seen, low = shown.evaluate(CONTRAST)
            assert seen > 25, name
            assert low == [], name
    context.close()


@pytest.mark.browser
def test_what_scrolls_sideways_can_be_reached_by_keyboard(browser: Any, pages: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    shown = browser.new_page(viewport={"width": 360, "height": 800})
    for name, text in pages.items():
        path.write_text(text, encoding="utf-8")
        shown.goto(path.as_uri())
        without = shown.evaluate(
            "[...document.querySelectorAll('main *')].filter(e => e.scrollWidth > e.clientWidth + 1"
            " && getComputedStyle(e).overflowX === 'auto' && e.tabIndex < 0).map(e => e.className)"
        )
        assert without == [], name
