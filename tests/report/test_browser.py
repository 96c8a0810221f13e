from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glassine.auditing.api import audit
from glassine.auditing.policy import Policy
from glassine.report import render_html
from tests.models.additive_models import income_model
from tests.report.builders import balanced_tree, findings, large_findings, part, rule_findings, unknown_findings
from tests.report.test_html import EVERY

pytestmark = pytest.mark.browser

VIEWS = [(1280, 800), (390, 844), (360, 640)]
# Contrast of every visible text with the nearest opaque ground behind it; translucent grounds are laid over each other.
CONTRAST = """() => {
  const parse = c => {
    const m = c.match(/[\\d.]+/g).map(Number);
    return [m[0], m[1], m[2], m.length > 3 ? m[3] : 1];
  };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const linear = v => v / 255 <= .04045 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4;
  const light = c => .2126 * linear(c[0]) + .7152 * linear(c[1]) + .0722 * linear(c[2]);
  const contrast = (a, b) => (Math.max(light(a), light(b)) + .05) / (Math.min(light(a), light(b)) + .05);
  const ground = e => {
    const layers = [];
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] === 1) break;
    }
    return layers.reverse().reduce((below, c) => over(c, below), [255, 255, 255, 1]);
  };
  const low = [];
  let seen = 0;
  const judge = (name, fore, back) => {
    seen += 1;
    if (contrast(fore, back) < 4.5) low.push([name, contrast(fore, back)]);
  };
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest("svg, script, [hidden], .skip") || !e.getClientRects().length) continue;
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    const back = ground(e);
    judge(e.textContent.slice(0, 40), over(parse(getComputedStyle(e).color), back), back);
  }
  for (const t of document.querySelectorAll("svg.tree g text")) {
    if (t.matches(".beside")) {
      judge(t.textContent, parse(getComputedStyle(t).fill), ground(t.closest("figure")));
      continue;
    }
    const fill = getComputedStyle(t.parentElement.querySelector("rect")).fill;
    if (fill.startsWith("rgb")) judge(t.textContent, parse(getComputedStyle(t).fill), parse(fill));
  }
  return [seen, low];
}"""


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Open a report; whatever it complains of or asks for is an error."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def open_page(made: Any, *, width: int = 1280, height: int = 800, scheme: str = "light") -> Any:
        path = tmp_path / "report.html"
        path.write_text(render_html(made), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: None if request.url == path.as_uri() else complaints.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize(("width", "height"), VIEWS)
@pytest.mark.parametrize("made", [findings(), unknown_findings(), rule_findings()])
def test_the_verdict_is_in_the_first_view(show: Any, made: Any, width: int, height: int) -> None:
    page = show(made, width=width, height=height)
    heading = page.locator("#verdict")
    box = heading.bounding_box()
    assert heading.inner_text() == made.verdict.capitalize()
    assert box["y"] >= 0
    assert box["y"] + box["height"] < height
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width


@pytest.mark.parametrize("name", EVERY)
def test_nothing_runs_over_the_side(show: Any, name: str) -> None:
    page = show(EVERY[name])
    for width in (1280, 390, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        over = page.evaluate(
            "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll') && e.getClientRects().length"
            " && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + '.' + e.className)"
            ".filter(name => !name.startsWith('TR') && !name.startsWith('TH'))"
        )
        assert over == [], width


@pytest.mark.parametrize("name", ["tree", "rules", "private", "several models"])
@pytest.mark.parametrize("width", [360, 400, 1280])
def test_no_label_of_a_chart_is_cut_at_its_edge(show: Any, name: str, width: int) -> None:
    page = show(EVERY[name], width=width)
    cut = page.evaluate(
        "[...document.querySelectorAll('svg.chart text')].filter(t => t.getClientRects().length).filter(t => {"
        " const [s, r] = [t.ownerSVGElement, t].map(e => e.getBoundingClientRect());"
        " return r.left < s.left - 1 || r.right > s.right + 1 || r.top < s.top - 1 || r.bottom > s.bottom + 1;"
        "}).map(t => t.textContent)"
    )
    assert cut == []


def test_the_report_of_a_private_additive_model_is_not_long_on_a_phone(show: Any) -> None:
    made = audit(income_model(), policy=Policy(accept_guarantee=True))
    assert show(made, width=400).evaluate("document.documentElement.scrollHeight") < 8_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["tree", "unknown", "rules", "regression", "private", "private, in doubt"])
def test_text_contrasts_with_its_ground(show: Any, name: str, scheme: str) -> None:
    seen, low = show(EVERY[name], scheme=scheme).evaluate(CONTRAST)
    assert seen > 50
    assert low == []


def test_light_and_dark_differ_and_paper_is_always_light(show: Any) -> None:
    def ground(page: Any) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light, dark = show(findings()), show(findings(), scheme="dark")
    assert sum(map(int, re.findall(r"\d+", ground(light)))) > 600
    assert sum(map(int, re.findall(r"\d+", ground(dark)))) < 150
    dark.emulate_media(media="print")
    assert ground(dark) == "rgb(255, 255, 255)"
    assert light.screenshot() != dark.screenshot()


def test_the_keyboard_reaches_and_folds_a_subtree(show: Any) -> None:
    page = show(findings())
    first = page.locator(".outline details").first
    assert first.evaluate("e => e.open")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.outline summary')"):
            break
    assert page.evaluate("document.activeElement.parentElement === document.querySelector('.outline details')")
    assert page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)") >= 2
    page.keyboard.press("Enter")
    assert not first.evaluate("e => e.open")
    page.keyboard.press("Enter")
    assert first.evaluate("e => e.open")


def test_the_first_tab_stop_skips_to_the_report(show: Any) -> None:
    page = show(findings())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0


def test_the_buttons_unfold_and_fold_everything(show: Any) -> None:
    page = show(large_findings())
    # All leaves stand in a fold of their own, behind the ten to look at first.
    page.evaluate("document.querySelectorAll('details:has(.outline)').forEach(d => d.open = true)")
    page.get_by_role("button", name="Unfold all").click()
    assert page.locator(".outline details:not([open])").count() == 0
    page.get_by_role("button", name="Fold all", exact=True).click()
    assert page.locator(".outline details[open]").count() == 0


def test_everything_is_unfolded_on_paper(show: Any) -> None:
    page = show(findings())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = false)")
    page.emulate_media(media="print")
    assert page.locator(".outline .part").first.evaluate("e => e.getBoundingClientRect().height") > 10
    assert page.locator("nav").evaluate("e => getComputedStyle(e).display") == "none"
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0


@pytest.mark.parametrize("made", [findings(), large_findings()])
def test_it_prints_to_one_pdf(show: Any, made: Any) -> None:
    pdf = show(made, scheme="dark").pdf(prefer_css_page_size=True)
    pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))
    assert pdf.startswith(b"%PDF")
    assert 2 <= pages <= 20
    assert re.search(rb"/MediaBox\s*\[0 0 59[45]", pdf)
    assert 20_000 < len(pdf) < 3_000_000


@pytest.mark.parametrize("width", [390, 400])
def test_a_phone_has_the_list_of_leaves_in_place_of_the_drawing(show: Any, width: int) -> None:
    page = show(findings(), width=width)
    assert not page.locator("svg.tree").is_visible()
    assert page.get_by_text("The list below has every leaf.").is_visible()
    assert page.locator(".outline .part").first.is_visible()
    assert not show(findings(), width=1280).get_by_text("The list below has every leaf.").is_visible()


@pytest.mark.parametrize("width", [700, 1280])
def test_the_drawing_of_a_tree_begins_with_whole_labels_and_scrolls_to_the_others(show: Any, width: int) -> None:
    page = show(findings(), width=width)
    region = page.locator(".scroll:has(svg.tree)")
    side = "(e) => { const b = e.getBoundingClientRect(); return [b.left, b.right]; }"
    left, right = region.evaluate(side)
    labels = [text.evaluate(side) for text in page.locator("svg.tree g text").all()]
    # No label begins out of reach on the left, where no reader looks for it.
    assert labels
    assert min(start for start, _ in labels) >= left
    assert any(end <= right for _, end in labels)
    assert region.evaluate("e => e.scrollWidth > e.clientWidth") == (width < 1280)
    region.evaluate("e => { e.scrollLeft = e.scrollWidth; }")
    assert max(text.evaluate(side)[1] for text in page.locator("svg.tree g text").all()) <= right


def test_labels_stay_within_their_boxes(show: Any) -> None:
    tree = tuple(replace(node, condition="worst concave points <= 0.1358") for node in balanced_tree(32))
    page = show(findings(tree=tree, parts=tuple(part(i) for i in range(1, 33))))
    over = page.evaluate(
        "[...document.querySelectorAll('svg.tree g text:not(.beside)')]"
        ".filter(t => t.getBoundingClientRect().right > t.previousElementSibling.getBoundingClientRect().right)"
        ".map(t => t.textContent)"
    )
    assert over == []
