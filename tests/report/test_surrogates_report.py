"""The report on a release of surrogate trees."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import pandas as pd
import pytest

from glassine.attacks.outcome import Below, Measured
from glassine.auditing.api import audit
from glassine.auditing.findings import Findings, FormFinding, FormsFinding
from glassine.auditing.inputs import AuditSettings
from glassine.domain import Category, Domain, Real
from glassine.models.quality import Quality
from glassine.report import release_page, render_html, render_text
from glassine.report.blocks import RowNumbers
from glassine.surrogates import SurrogateExplainer
from tests.report.blocks import one_of, rows_of
from tests.surrogates.scenes import PEOPLE, lender, numbers, people, ring

HOSTILE = "</title><script>alert(1)</script>\u202e"


@pytest.fixture(scope="module")
def explainer() -> SurrogateExplainer:
    return SurrogateExplainer(ring, 40, form="paper", random_state=0).fit(numbers(300), ring(numbers(300)))


@pytest.fixture(scope="module")
def found(explainer: SurrogateExplainer) -> Findings:
    return audit(explainer, settings=AuditSettings(sensitive="x0"))


def form(name: str, **values: Any) -> FormFinding:
    plain: dict[str, Any] = {
        "form": name, "labels": "true labels", "fidelity": 0.9061, "fidelity_guided": 0.983, "fidelity_null": 0.9045,
        "accuracy": None, "accuracy_guided": None, "nodes_median": 11.0, "nodes_mean": 14.72,
        "smallest_leaf": Below(10), "share_alone": 0.02, "share_small": 0.15, "small": 10, "share_constant": 0.119,
        "off_grid": 1379, "n_thresholds": 1379, "bits_mean": 2.794, "gap_true": 0.0645, "gap_decisions": None,
        "accused": 2007, "accused_wrongly": 0, "share_accused": 0.09,
    }  # fmt: skip
    return FormFinding(**{**plain, **values})


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
        assert all(piece.strip() in text for piece in advice.text.split("`"))
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
    return SurrogateExplainer(ring, 40, random_state=0).fit(numbers(300)).release_.trees


def with_forms(found: Findings, *forms: FormFinding) -> Findings:
    compared = Measured(FormsFinding(forms=forms, measured_on="the holdout"))
    return replace(found, measured=found.measured.beside({"forms": compared}))


def test_auroc_log_loss_and_the_baseline_stand_beside_accuracy(found: Findings) -> None:
    base = Quality(accuracy=0.61, auroc=0.5, log_loss=0.6687)
    bare = Quality(accuracy=0.8)
    ranked = Quality(accuracy=0.82, auroc=0.91, log_loss=0.4123)
    shown = {"accuracy": 0.8, "accuracy_guided": 0.82, "quality_baseline": base}
    paper = form("paper", quality=bare, quality_guided=bare, **shown)
    other = form("restricted", quality=ranked, quality_guided=ranked, **shown)
    section = release_page(with_forms(found, paper, other)).section("forms")
    rows = {name: row.cells for name, row in rows_of(section).items()}
    assert rows["Accuracy"] == ("0.800, 0.820 (0.610 without the model)",) * 2
    none = "none: leaves publish no probabilities"
    assert rows["AUROC"] == (f"{none} (0.500 without the model)", "0.910, 0.910 (0.500 without the model)")
    assert rows["Log loss"] == (f"{none} (0.669 without the model)", "0.412, 0.412 (0.669 without the model)")


def test_both_forms_stand_side_by_side(found: Findings) -> None:
    other = form(
        "restricted", accused=0, share_accused=0.0, gap_true=0.015, off_grid=0, n_thresholds=308, fidelity=0.923,
        share_alone=0.0, labels="black box's decisions",
    )  # fmt: skip
    both = with_forms(found, form("paper"), other)
    rows = {name: row.cells for name, row in rows_of(release_page(both).section("forms")).items()}
    assert rows["Members named by thresholds"] == ("2,007 (9%), no others", "no record")
    assert rows["Advantage of the gap attack"] == ("0.065", "0.015")
    assert rows["Fidelity"] == ("0.906", "0.923")
    assert rows["Accuracy"] == ("not known, not known",) * 2
    assert "AUROC" not in rows
    assert rows["Thresholds that are not public cut points"] == ("1,379 of 1,379", "0 of 308")
    text = words(render_html(both))
    assert "Paper's form (this release)" in text
    assert "2,007 (9%), no others" in text
    assert "were measured on the holdout" in text
    assert "2,007 (9%), no others | no record" in re.sub(r"\s+", " ", render_text(both))
    wrong = with_forms(found, form("paper", accused_wrongly=Below(10)), form("restricted", accused=None))
    rows = {name: row.cells for name, row in rows_of(release_page(wrong).section("forms")).items()}
    assert rows["Members named by thresholds"] == ("2,007 (9%), fewer than 10 others", "not known")


def test_the_text_is_narrow(found: Findings) -> None:
    both = with_forms(found, form("paper"), form("restricted"))
    assert max(map(len, render_text(both).splitlines())) <= 88


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
