from __future__ import annotations

import pytest

from glassine.report import render_rich, render_text
from tests.report.builders import HOSTILE, findings, large_findings, part, rule_findings, unknown_findings


@pytest.mark.parametrize("made", [findings(), unknown_findings(), rule_findings(), large_findings()])
def test_the_text_is_short_and_narrow(made: object) -> None:
    text = render_text(made)  # type: ignore[arg-type]
    lines = text.splitlines()
    assert text.endswith("\n")
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 88


def test_the_text_says_the_verdict_first_and_what_is_missing() -> None:
    text = render_text(unknown_findings())
    assert text.startswith("Glassine 9.9.9: COULD NOT TELL\n")
    assert "Reconstruction (not measured): No domain was given." in text
    assert "[not known] Smallest leaf: not known (limit: at least 10 records)" in text


def test_no_name_can_send_a_control_sequence_to_the_terminal() -> None:
    parts = tuple(part(i, condition=name, prediction=name) for i, name in enumerate(HOSTILE, start=1))
    text = render_text(findings(parts=parts, notes=tuple(HOSTILE), advice=tuple(HOSTILE), sensitive=HOSTILE[6]))
    assert "\x1b" not in text
    assert "\x00" not in text
    assert "\u202e" not in text


def test_colour_changes_no_word() -> None:
    rich = render_rich(findings())
    assert rich.plain == render_text(findings()).rstrip("\n")
    assert rich.spans
