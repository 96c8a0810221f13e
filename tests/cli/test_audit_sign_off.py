from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import Run

RULES = "if [smoker] then [true] ([10 ; 40] examples)\nelse [false] ([50 ; 10] examples)\n"


def test_options_and_a_file_fill_the_sign_off(tmp_path: Path, run: Run) -> None:
    (tmp_path / "rules.txt").write_text(RULES)
    (tmp_path / "signed.toml").write_text('who = "A. Checker"\npurpose = "triage"\n')
    command = ["audit", "rules.txt", "--statements", "signed.toml", "--purpose", "teaching", "--day", "2026-11-23"]
    plain = json.loads(run(*command, "--json", cwd=tmp_path).out)
    filled = {name: text for name, text in plain["sign_off"].items() if text}
    assert filled == {"who": "A. Checker", "purpose": "teaching", "day": "2026-11-23"}
    assert "  Purpose: teaching\n" in run(*command, cwd=tmp_path).out
    bare = run("audit", "rules.txt", cwd=tmp_path)
    assert "Empty, as only a person can state it: who, role" in bare.out


def test_a_statement_that_is_wrong_names_its_option_or_file(tmp_path: Path, run: Run) -> None:
    (tmp_path / "rules.txt").write_text(RULES)
    wrong = run("audit", "rules.txt", "--review-by", "soon", cwd=tmp_path)
    assert wrong.status == 2
    assert "--review-by must be a day, got 'soon'. Write it as 2026-11-23." in wrong.err
    (tmp_path / "signed.toml").write_text("approver = 1\n")
    wrong = run("audit", "rules.txt", "--statements", "signed.toml", cwd=tmp_path)
    assert wrong.status == 2
    assert "signed.toml states 'approver'" in wrong.err
    overwriting = run("audit", "rules.txt", "--statements", "signed.toml", "-o", "signed.toml", cwd=tmp_path)
    assert overwriting.status == 2
    assert (tmp_path / "signed.toml").read_text() == "approver = 1\n"
