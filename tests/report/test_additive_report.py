"""The report on an additive model."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassine.auditing.api import audit
from glassine.auditing.policy import Policy
from glassine.domain import Category, Domain, Integer
from glassine.models import AdditiveModel, CategoryBins, Guarantee, NumericBins, Term
from glassine.report import audit_page, render_html, render_text
from tests.policies import NORM
from tests.report.blocks import rows_of


def term_of(**parts: Any) -> Term:
    """Return a term of plain lists."""
    return Term(**parts)


def model_of(name: str = "age", **options: Any) -> AdditiveModel:
    cuts = (31.0, 44.0, 58.0)
    age = term_of(
        bins=(NumericBins(name, cuts, "left", (30, 60)),),
        scores=[-0.5, 0.1, 0.4, 0.5, 0.0],
        errors=[0.1, 0.1, 0.2, 0.2, 0.0],
        weights=options.pop("weights", [1, 20, 30, 40, 0]),
    )
    job = term_of(
        bins=(CategoryBins("job", (("<b>clerk</b>",), ("baker",))),), scores=[0.1, -0.1, 0], weights=[40, 51, 0]
    )
    pair = term_of(bins=(NumericBins(name, (44.0,)), job.bins[0]), scores=np.ones((3, 3)), weights=np.full((3, 3), 11))
    return AdditiveModel(
        attributes=(name, "job"),
        terms=(age, job, pair),
        intercept=(0.1,),
        link="logit",
        classes=("no", "yes"),
        target="ill",
        **options,
    )


class Ids(HTMLParser):
    """Collects the identifiers of a page, and what its links inside it point to."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read one start tag."""
        for key, value in attrs:
            if key == "id" and value:
                self.ids.append(value)
            if key == "href" and value and value.startswith("#"):
                self.links.append(value[1:])


def test_the_page_shows_shapes_importances_and_what_the_bins_tell() -> None:
    page = render_html(audit(model_of()))
    assert page.count('<svg class="shape"') == 3
    assert page.count('class="band"') == 1
    assert "log-odds that ill is yes" in page
    assert "4 training values of 1 attribute can be computed" in page
    assert "Small bins" in page
    assert "The tree, and" not in page


def test_ranges_of_the_domain_are_no_finding() -> None:
    domain = Domain({"age": Integer(30, 60), "job": Category(("<b>clerk</b>", "baker"))})
    assert "A range of values is published" in render_html(audit(model_of()))
    assert "A range of values is published" not in render_html(audit(model_of(), domain=domain))


def test_links_lead_somewhere_and_identifiers_are_unique() -> None:
    found = Ids()
    found.feed(render_html(audit(model_of())))
    assert len(set(found.ids)) == len(found.ids)
    assert set(found.links) <= set(found.ids)


def test_names_are_escaped_and_exact_cuts_are_rounded() -> None:
    model = model_of('age"><script>alert(1)</script>')
    bins = NumericBins("income", (1234.56789, 5678.91234))
    extra = term_of(bins=(bins,), scores=[1, 2, 3, 0], weights=[30, 30, 31, 0])
    wide = AdditiveModel(
        attributes=(*model.attributes, "income"),
        terms=(*model.terms, extra),
        intercept=(0,),
        link="logit",
        classes=("no", "yes"),
    )
    page = render_html(audit(wide))
    assert "<script>alert" not in page
    assert "<b>clerk" not in page
    assert "1234.56" not in page
    assert "1235" in page


def test_small_counts_stay_out_of_the_page() -> None:
    findings = audit(model_of(weights=[7, 20, 30, 34, 0]))
    terms = rows_of(audit_page(findings).section("model"))
    assert any("smallest fewer than 10, 1 too small" in str(row.cells[-1]) for row in terms.values())
    assert "smallest 7" not in render_html(findings)


def test_the_text_names_bins_and_stays_narrow() -> None:
    text = render_text(audit(model_of(), policy=NORM))
    assert "Smallest bin" in text
    assert "Additive model, 3 terms, 17 bins, 91 records, 2 classes" in text
    assert max(map(len, text.splitlines())) <= 88


def test_a_guarantee_has_its_section() -> None:
    model = model_of(guarantee=Guarantee(epsilon=1.0, count_scale=4.0))
    page = render_html(audit(model, policy=Policy(accept_guarantee=True)))
    assert "The guarantee that is claimed" in page
    assert "91 records by noisy counts" in page


@pytest.mark.parametrize("n_terms", [0, 150])
def test_small_and_large_models_have_a_page(n_terms: int) -> None:
    cuts = tuple(float(i) for i in range(300))
    terms = tuple(
        term_of(bins=(NumericBins(f"a{i}", cuts),), scores=np.sin(np.arange(302.0 * 3)).reshape(302, 3) * i)
        for i in range(n_terms)
    )
    names = tuple(f"a{i}" for i in range(max(n_terms, 1)))
    model = AdditiveModel(attributes=names, terms=terms, intercept=(0, 0, 0), link="softmax", classes=("a", "b", "c"))
    page = render_html(audit(model))
    assert len(page) < 1_000_000
    assert ("50 more terms: see" in page) == (n_terms == 150)


@pytest.mark.slow
def test_the_page_fits_a_phone(chromium: Path, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    path = tmp_path / "report.html"
    path.write_text(render_html(audit(model_of())), encoding="utf-8")
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 360, "height": 740})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.locator("svg.shape").count() == 3
        browser.close()
    assert complaints == []
