from __future__ import annotations

import re
from dataclasses import replace

import pytest

from glassine.attacks.outcome import NotApplicable
from glassine.auditing.findings import Findings, InputFile
from glassine.auditing.remedy import Remedy
from glassine.report import render_text
from glassine.report.rendering import BRIEF, page_of, render_brief
from glassine.report.wording import MARKED, NOTICES
from tests.report.builders import HOSTILE, findings, large_findings, part, rule_findings, unknown_findings


@pytest.mark.parametrize("made", [findings(), unknown_findings(), rule_findings(), large_findings()])
def test_the_text_is_short_and_narrow(made: object) -> None:
    text = render_text(made)  # type: ignore[arg-type]
    lines = text.splitlines()
    assert text.endswith("\n")
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 88


@pytest.mark.parametrize("made", [findings(), unknown_findings(), rule_findings(), large_findings()])
def test_a_terminal_shows_the_verdict_ten_lines_and_where_the_rest_is(made: Findings) -> None:
    first, *between, last = render_brief(made, "The rest is there.").splitlines()
    assert first == f"Glassine 9.9.9: {made.verdict.upper()}"
    assert last == "The rest is there."
    assert 2 <= len(between) <= BRIEF
    # A command is on one line, however long.
    assert all(len(line) <= 88 for line in between if "`glassine" not in line)
    assert between[0].startswith(NOTICES["checker"])


def test_what_fails_comes_before_what_to_do_in_a_terminal() -> None:
    lines = render_brief(findings(), "").splitlines()
    fails = [i for i, line in enumerate(lines) if line.startswith("  [fail]")]
    steps = [i for i, line in enumerate(lines) if line.startswith("  1. ")]
    assert fails
    assert steps
    assert max(fails) < min(steps)


def test_the_text_says_the_verdict_first_and_what_is_missing() -> None:
    text = render_text(unknown_findings())
    assert text.startswith(f"{NOTICES['checker']}\nGlassine 9.9.9: INCONCLUSIVE\n")
    (missing,) = re.findall(r"Reconstruction[a-z, ]*\(not measured\): No domain was given\.", " ".join(text.split()))
    assert "," in missing, "questions that lack the same share a line"
    assert text.count("(not measured): No domain was given.") <= 1
    assert "[unknown] Smallest leaf: not known (limit: at least 10 records)" in text


def test_the_first_line_speaks_of_marked_parts_only_where_there_are_some() -> None:
    page = page_of(unknown_findings())
    assert MARKED not in page.opening()
    marked = replace(page, sections=(*page.sections[1:], replace(page.sections[0], audience="checker")))
    assert marked.opening() == f"{page.notice} {MARKED}"


def test_notes_stand_under_the_verdict() -> None:
    lines = render_text(findings(notes=("first.", "many words " * 20))).splitlines()
    first = lines.index("Note: first.")
    assert lines.index("What to do") < first < lines.index("The other checks")
    assert lines[first + 1].startswith("Note: many words")
    assert lines[first + 2].startswith("      words many")


def test_the_files_are_named_with_their_digest() -> None:
    digest = "1234abcd5678" + "0" * 52
    files = (
        InputFile(role="model", name="tree.json", sha256=digest),
        InputFile(role="domain", name="d\x1b.json", sha256=digest),
    )
    text = render_text(findings(inputs=files))
    assert f"\nNot to be released: tree.json\n  sha256 {digest}\n" in text
    assert "\ndomain  d\ufffd.json  sha256 1234abcd5678…\n" in text
    assert "sha256" not in render_text(findings(inputs=()))


def test_no_heading_stands_over_nothing() -> None:
    assert "What an attacker learns" in render_text(findings())
    assert "What an attacker learns" not in render_text(unknown_findings())


def test_a_limit_without_anything_to_judge_is_not_called_kept() -> None:
    kept = [replace(check, status="pass") for check in findings().checks]
    kept = [replace(check, status="not applicable") if check.measured is None else check for check in kept]
    made = findings(verdict="within policy", checks=tuple(kept), labels=NotApplicable("no counts."), notes=())
    text = render_text(made)
    assert "3 checks passed; 1 does not apply. Not measured: outcomes." in " ".join(text.split())
    row = "[not applicable] Thresholds that are not public cut points: nothing published (limit: none allowed)"
    assert row in " ".join(text.split())


def test_no_name_can_send_a_control_sequence_to_the_terminal() -> None:
    parts = tuple(part(i, condition=name, prediction=name) for i, name in enumerate(HOSTILE, start=1))
    text = render_text(
        findings(
            parts=parts, notes=tuple(HOSTILE), advice=tuple(Remedy(text=name) for name in HOSTILE), sensitive=HOSTILE[6]
        )
    )
    assert "\x1b" not in text
    assert "\x00" not in text
    assert "\u202e" not in text
