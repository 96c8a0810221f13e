"""Figures that checkers ask for: expected records of a leaf, parameters of additive models, numbers of rows."""

from __future__ import annotations

import re

from glassine import Domain, Integer, audit
from glassine.report import render_html, wording
from glassine.report.evidence import evidence
from tests.auditing.test_default_policy import rules
from tests.report.test_additive_report import model_of


def test_a_leaf_says_how_many_records_the_public_shares_expect_there() -> None:
    domain = Domain({"age": Integer(0, 99, thresholds=(40, 41))})
    page = re.sub(r"<[^>]+>", "", render_html(audit(rules((22, 30), (170, 180), (290, 252)), domain=domain)))
    # Ages up to 40 are 41 of 100 values, and 41 alone is one of them.
    assert "about 387 of 944 expected by the domain" in page
    assert "about 9 of 944 expected by the domain" in page


def test_an_additive_model_has_degrees_of_freedom_by_its_bins() -> None:
    findings = audit(model_of()).to_dict()
    lines = {line.item.id: str(line.answers) for line in evidence("tre", findings=findings).lines}
    n, bins = findings["subject"]["n_records"], findings["measured"]["terms"]["n_bins"]
    assert f"residual degrees of freedom: {n:,} - {bins:,} = {n - bins:,}" in lines["T5"]
    assert "scores of each bin" in lines["T5"]


def test_the_first_record_stands_in_row_two() -> None:
    assert wording.row_name(0) == "row 2"
