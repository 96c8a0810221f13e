"""The sign-off holds what a person stated, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from glassine.auditing.findings import SignOff
from glassine.auditing.schema import schema
from glassine.errors import InvalidParameterError
from glassine.report import render_html, render_text
from tests.report.builders import findings


def test_nothing_is_filled_in_that_nobody_stated() -> None:
    made = findings()
    assert made.sign_off.empty == SignOff.names()
    assert len(SignOff.names()) == 8
    text, page = render_text(made), render_html(made)
    assert "Empty, as only a person can state it: who, role, decision, day, review by" in text
    assert page.count("(empty)") == 8
    assert set(made.to_dict()["sign_off"].values()) == {""}
    public = made.public()
    assert "Sign-off" not in render_text(public)
    assert "sign-off" not in render_html(public)


@pytest.mark.slow
def test_what_was_stated_stands_in_text_page_and_json() -> None:
    signed = SignOff(who="A. Checker <b>", decision="released", day="2026-11-23", conditions="Only to B.")
    made = replace(findings(), sign_off=signed)
    text, page, plain = render_text(made), render_html(made), made.to_dict()
    assert "  Who: A. Checker <b>\n  Decision: released\n  Day: 2026-11-23\n  Conditions: Only to B.\n" in text
    assert "state it: role, review by, purpose, recipient." in text
    assert "A. Checker &lt;b&gt;" in page
    assert page.count("(empty)") == 4
    assert plain["sign_off"]["who"] == "A. Checker <b>"
    jsonschema.validate(json.loads(json.dumps(plain)), schema())
    public = render_text(made.public())
    assert "Who: A. Checker" in public
    assert "Empty" not in public


def test_a_file_states_fields_and_days(tmp_path: Path) -> None:
    file = tmp_path / "statements.toml"
    file.write_text('who = "A. Checker"\nday = 2026-11-23\nreview_by = "2027-11-23"\n')
    signed = SignOff.from_toml(file)
    assert (signed.who, signed.day, signed.review_by) == ("A. Checker", "2026-11-23", "2027-11-23")
    assert "purpose" in signed.empty
    for wrong, said in (
        ('whom = "A."', "no field of a sign-off"),
        ("who = [", "not valid TOML"),
        ("who = 3", "must be a text"),
        ('day = "23.11.2026"', "must be a day"),
        ("day = 2026-11-23T10:00:00", "must be a text"),
    ):
        file.write_text(wrong)
        with pytest.raises(InvalidParameterError, match=said):
            SignOff.from_toml(file)


def test_a_day_is_one_and_a_statement_is_short() -> None:
    for wrong in ("2026-02-30", "20261123", "tomorrow"):
        with pytest.raises(InvalidParameterError, match="must be a day"):
            SignOff(day=wrong)
    with pytest.raises(InvalidParameterError, match="at most 2,000"):
        SignOff(purpose="x" * 2001)
