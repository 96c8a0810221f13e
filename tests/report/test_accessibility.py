"""Pages meet the rules of axe-core, in both schemes, with everything unfolded."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassine import Policy, audit
from glassine.attacks.disclosure import infer_sensitive
from glassine.learners import MultiwayTreeClassifier
from glassine.report import render_editor, render_html
from glassine.server.app import render_page
from tests.models.additive_models import income_model
from tests.report.builders import balanced_tree, findings, near_optimal_trees, part
from tests.report.test_additive_report import model_of
from tests.report.test_comparison import BEST, CART, CHEAP, CONSTANT
from tests.report.test_comparison import page as comparison
from tests.report.test_disclosure import HIDDEN, finding, people
from tests.report.test_html import EVERY
from tests.server.releases import small_release

RUN = """() => {
  document.querySelectorAll("details").forEach(fold => { fold.open = true; });
  return axe.run().then(found => found.violations.map(one => [one.impact, one.id, one.nodes.map(node => node.html)]));
}"""


@pytest.mark.browser
def test_no_page_breaks_a_rule_of_accessibility(axe: str, chromium: Path, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    frame, y = people()
    disclosed = finding(infer_sensitive(MultiwayTreeClassifier().fit(frame, y), frame), shown=HIDDEN, truth=y)
    pages = {name: render_html(EVERY[name]) for name in ("tree", "rules", "private", "several models", "unknown")}
    pages["disclosure"] = render_html(disclosed, title="Disclosure")
    pages["comparison"] = comparison(CHEAP, BEST, CART, CONSTANT)
    pages["additive"] = render_html(audit(model_of()))
    pages["pairs"] = render_html(audit(income_model()))
    pages["near-optimal trees"] = render_html(near_optimal_trees(n_asked=3, disputed={1: ("no", "yes")}))
    pages["editor"] = render_editor(income_model())
    pages["service"], _ = render_page(small_release(), decides=True, title="Loans")
    parts = tuple(part(i, flags=("small",) * (i % 2)) for i in range(1, 121))
    pages["large tree"] = render_html(findings(parts=parts, tree=balanced_tree(120)))
    # What a notebook shows has the text and the ground of the notebook.
    for name, ground, ink in (("light notebook", "#fff", "#000"), ("dark notebook", "#111", "#ddd")):
        shown = "".join(made._repr_html_() for made in (findings(), income_model(), Policy(), EVERY["rules"]))
        body = f'<body style="background:{ground};color:{ink}"><main><h1>A notebook</h1><h2>Its cells</h2>'
        pages[name] = f'<!DOCTYPE html><html lang="en"><title>{name}</title>{body}{shown}</main></body></html>'
    path, broken = tmp_path / "page.html", {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        for name, text in pages.items():
            path.write_text(text, encoding="utf-8")
            for scheme in ("light", "dark"):
                page = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=scheme).new_page()
                page.goto(path.as_uri())
                page.evaluate(axe)
                if found := page.evaluate(RUN):
                    broken[name, scheme] = found
                page.context.close()
        browser.close()
    assert broken == {}
