"""A claimed guarantee in the report: first, as a claim, its bounds rounded up, noisy counts marked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from glassine.auditing.policy import Policy
from glassine.report import audit_page, render_html, render_text
from glassine.report.blocks import Fold, Paragraph, Table
from glassine.report.section import Section
from glassine.report.sections.guarantee import guarantee_section
from glassine.report.sections.policy import worded
from tests.report.blocks import all_of, facts, parts_of, rows_of
from tests.report.builders import GUARANTEE, findings, private_findings
from tests.report.test_html import Page


def section(**given: Any) -> Section:
    found = private_findings(**given).guarantee
    assert found is not None
    return guarantee_section(found)


def test_it_stands_first_and_only_where_there_is_one() -> None:
    text = render_html(private_findings())
    places = [text.index(f'id="{name}"') for name in ("verdict", "guarantee", "policy", "measured")]
    assert places == sorted(places)
    assert 'href="#guarantee"' in text
    assert 'id="guarantee"' not in render_html(findings())
    assert 'href="#guarantee"' not in render_html(findings())
    assert "Guarantee" not in render_text(findings())
    plain = render_text(private_findings())
    assert plain.index("Guarantee") < plain.index("Policy")
    assert all(len(line) <= 88 for line in plain.splitlines())


def test_it_is_worded_as_a_claim() -> None:
    claim, standing = (block.text for block in section().blocks[:2] if isinstance(block, Paragraph))
    assert claim == (
        "The model's certificate claims differential privacy with epsilon 1, delta 1e-06, add-or-remove-one; "
        "unit: record."
    )
    assert "cannot verify" in standing
    assert "if the claim is true" in Page(render_html(private_findings())).text


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        ("too weak", "weaker than it allows"),
        ("not accepted", "does not accept it"),
        ("does not hold", "covers no check"),
    ],
)
def test_what_is_not_accepted_is_never_a_tick(standing: Any, words: str) -> None:
    text = render_html(private_findings(standing=standing))
    assert words in text
    assert f'class="status {standing.replace(" ", "-")}"' in text
    assert 'class="status accepted"' not in text


def test_bounds_are_rounded_up() -> None:
    """0.46212 is not at most 0.462, and 2.719% not at most 2.7%."""
    table, folded = all_of(section(), Table)
    assert [row.cells[0] for row in table.rows] == ["at most 0.463", "at most 2.9 bits"]
    assert all_of(section(), Fold)[-1].blocks == (folded,)
    assert [row.cells[0] for row in folded.rows] == ["at most 2.8%"]
    figures = [figure.value for figure in audit_page(private_findings()).figures]
    assert figures == ["epsilon 1", "at most 2.9 bits", "correct at most 73.2% of the time"]
    exact = replace(GUARANTEE.bounds[1], value=0.3)
    assert [row.cells[0] for row in rows_of(section(bounds=(exact,))).values()] == ["at most 30%"]


def test_without_a_guarantee_that_holds_nothing_is_bounded() -> None:
    doubt = private_findings(
        standing="does not hold", caveats=("seeded: not private",), bounds=(), bits_per_record=None
    )
    assert [figure.value for figure in audit_page(doubt).figures] == ["epsilon 1", "not known", "not known"]
    assert "at most 2.9 bits" not in Page(render_html(doubt)).text.split("The policy, check by check")[0]
    assert "The guarantee is void because: seeded: not private" in render_text(doubt)


def test_checks_say_what_answered_them() -> None:
    rows = {check.rule: worded(check, Policy(), "decision tree") for check in private_findings().checks}
    assert rows["smallest_leaf"].measured == "by the guarantee"
    assert rows["smallest_leaf"].status == "pass"
    assert rows["largest_bits_per_record"].measured == "at most 2.9 bits"
    assert rows["max_epsilon"].measured == "1"
    assert audit_page(private_findings()).sentence.partition(": ")[2].startswith("all 3 checks passed.")


def test_noisy_counts_are_marked() -> None:
    page = audit_page(private_findings())
    assert parts_of(page)[0].size == "4 records by a noisy count"
    assert "400 records by noisy counts" in page.described
    assert all(row.purity == row.bits == "" for row in parts_of(page))


@pytest.mark.parametrize(("epsilon", "factor"), [(0.0, "1"), (1.0, "2.72"), (25.0, "e^25"), (1e6, "e^1e+06")])
def test_any_epsilon_is_worded(epsilon: float, factor: str) -> None:
    assert facts(section(epsilon=epsilon))["Epsilon"].meaning.startswith(f"A factor of {factor}. Adding or removing")
