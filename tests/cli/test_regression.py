"""Regressions at the command line: what is stated, and what a scrubbed copy changed."""

from __future__ import annotations

from pathlib import Path

from glassine.formats import load_file
from tests.cli.running import Run
from tests.formats.test_regressions import DOMAIN, FILES


def test_scrub_says_how_many_coefficients_were_rounded(tmp_path: Path, run: Run) -> None:
    DOMAIN.to_json(tmp_path / "domain.json")
    done = run("scrub", str(FILES / "r_logit.txt"), "--domain", "domain.json", "-o", "copy.json", cwd=tmp_path)
    assert done.status == 0
    assert "Coefficients rounded: 7; rows of a baseline dropped: 0." in done.out
    assert load_file(tmp_path / "copy.json", DOMAIN).form.canonical


def test_statements_settle_a_table_of_coefficients(tmp_path: Path, run: Run) -> None:
    table = str(FILES / "broom_logit.csv")
    assert run("audit", table, cwd=tmp_path).status == 3
    stated = ("--n", "200", "--family", "binomial", "--errors", "model")
    assert run("audit", table, *stated, cwd=tmp_path).status == 0
    assert "must be one of gaussian" in run("audit", table, "--family", "beta", cwd=tmp_path).err
