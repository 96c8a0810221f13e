"""The report on a release of surrogate trees."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import pandas as pd
import pytest

from glassine.auditing.api import audit
from glassine.auditing.audit_settings import AuditSettings
from glassine.auditing.findings import Findings
from glassine.domain import Category, Domain, Real
from glassine.report import release_page, render_html, render_text
from glassine.report.blocks import RowNumbers
from glassine.surrogates import SurrogateExplainer
from tests.report.blocks import one_of
from tests.surrogates.scenes import PEOPLE, lender, numbers, people, ring

HOSTILE = "</title><script>alert(1)</script>\u202e"


@pytest.fixture(scope="module")
def explainer() -> SurrogateExplainer:
    return SurrogateExplainer(ring, 40, form="paper", random_state=0).fit(numbers(300), ring(numbers(300)))


@pytest.fixture(scope="module")
def found(explainer: SurrogateExplainer) -> Findings:
    return audit(explainer, settings=AuditSettings(sensitive="x0"))


def words(page: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)))


def test_the_page_says_what_was_found(found: Findings) -> None:
    page = render_html(found, title="Our explanations")
    text = words(page)
    assert page.startswith("<!DOCTYPE html>")
    assert "Our explanations" in text
    assert "Outside policy" in text
    for check in found.checks:
        assert check.meaning in text
    for advice in found.advice:
        assert advice.plain in text
        assert all(piece in text for piece in re.findall("`([^`]*)`", advice.text))
    assert "k-anonymity of the representative does not cover the tree" in text
    assert "They are exact means" in text


def test_public_cut_points_name_nobody_without_the_records() -> None:
    explainer = SurrogateExplainer(lender, 40, domain=PEOPLE, distance="gower").fit(pd.DataFrame(people(300)))
    released = audit(explainer.release_)
    thresholds = released.value("thresholds")
    assert thresholds is not None
    assert thresholds.n_off_grid == 0
    assert released.value("membership") is None
    shown = {fact.name: fact.value for fact in release_page(released).figures}["Members named by thresholds"]
    assert shown == "no record"


def test_the_page_loads_nothing_and_runs_nothing(found: Findings) -> None:
    page = render_html(found)
    assert "<script" not in page
    links = re.findall(r"""(?:src|href)\s*=\s*["']?([^"'\s>]*)""", page)
    assert links
    assert all(link.startswith("#") for link in links)
    assert "default-src 'none'" in page


def test_what_was_not_measured_is_said(explainer: SurrogateExplainer) -> None:
    seen = audit(replace(explainer.release_, trees=_bare(explainer)))
    text = words(render_html(seen))
    assert "Inconclusive" in text
    assert text.count("It needs the training records") >= 6
    assert "“Not measured” does not mean that nothing is revealed." in text
    plain = render_text(seen)
    assert "INCONCLUSIVE" in plain
    assert "disclosure, membership (not measured)" in " ".join(plain.split())


def _bare(explainer: SurrogateExplainer) -> tuple[Any, ...]:
    return SurrogateExplainer(ring, 40, goal=None, random_state=0).fit(numbers(300)).release_.trees


def test_the_text_is_narrow(found: Findings) -> None:
    assert max(map(len, render_text(found).splitlines())) <= 88


def test_names_cannot_break_the_page() -> None:
    frame = pd.DataFrame({"a": np.linspace(0, 1, 60), HOSTILE: ["x", HOSTILE] * 30})
    domain = Domain({"a": Real(0.0, 1.0), HOSTILE: Category(("x", HOSTILE))})
    explainer = SurrogateExplainer(
        lambda x: np.where(np.asarray(x["a"]) > 0.4, HOSTILE, "no"), 20, domain=domain, distance="gower"
    ).fit(frame)
    for page in (
        render_html(audit(explainer, settings=AuditSettings(sensitive=HOSTILE)), title=HOSTILE),
        render_text(audit(explainer, settings=AuditSettings(sensitive=HOSTILE))),
    ):
        assert "<script" not in page
        assert "\u202e" not in page


def test_row_numbers_are_listed_where_their_number_is_shown(explainer: SurrogateExplainer) -> None:
    shown = audit(explainer, settings=AuditSettings(show_small_counts=True))
    rows = one_of(release_page(shown).section("leaves"), RowNumbers).rows
    assert rows
    assert rows[0] in words(render_html(shown))
