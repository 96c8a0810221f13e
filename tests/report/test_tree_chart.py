"""The drawing of a tree: what stands beside its leaves, what its colors mean, and how a large one is enlarged."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glassine.attacks.outcome import About, Below, Hidden
from glassine.report import render_html, wording
from tests.report.builders import balanced_tree, findings, part, private_findings


def drawing(made: Any) -> str:
    return re.search(r'(?s)<svg class="chart tree".*?</svg>', render_html(made))[0]  # type: ignore[index]


def boxes(svg: str) -> list[tuple[str, list[str], list[float]]]:
    """Return the color, the texts and the widths of the class bars of each box."""
    out = []
    svg = re.sub(r'<g class="boxes"[^>]*>', "", svg)
    for kind, inside in re.findall(r'(?s)<g class="([^"]+)"[^>]*>(.*?)</g>', svg):
        bars = [float(wide) for wide in re.findall(r'class="mix k\d" [^>]*?width="([\d.]+)"', inside)]
        out.append((kind, [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)<", inside)], bars))
    return out


def test_leaves_show_their_size_and_their_classes() -> None:
    parts = (part(1, 1200, counts=(300, 900)), part(2, Below(10)), part(3, Hidden()), part(4, About(14400)))
    leaves = [box for box in boxes(drawing(findings(parts=parts, tree=balanced_tree(4)))) if box[0] != "inner"]
    assert [texts[-1] for _, texts, _ in leaves] == ["1,200", str(Below(10)), "hidden", "about 14,400"]
    assert [bars for _, _, bars in leaves] == [pytest.approx([24.0, 72.0]), [], [], []]


def test_a_leaf_is_colored_by_the_limits_that_it_breaks() -> None:
    flags: tuple[tuple[str, ...], ...] = (("small",), ("small",), ("pure",), ("small", "pure"), ())
    parts = tuple(part(i, flags=broken) for i, broken in enumerate(flags, start=1))
    made = findings(parts=parts, tree=balanced_tree(5))
    kinds = [kind for kind, _, _ in boxes(drawing(made)) if kind != "inner"]
    assert kinds == ["wrong-1", "wrong-1", "wrong-2", "wrong-several", "wrong-none"]
    legend = re.findall(r'<i class="swatch (wrong[^"]*)" aria-hidden="true"></i>([^<]*)', render_html(made))
    assert legend == [
        ("wrong-1", "few records"),
        ("wrong-2", "one outcome"),
        ("wrong-several", "several of these"),
        ("wrong-none", "no check failed"),
    ]


def test_a_leaf_of_which_nothing_is_known_is_hatched() -> None:
    parts = tuple(part(i, None, purity=None, bits_learned=None) for i in (1, 2))
    assert [kind for kind, _, _ in boxes(drawing(findings(parts=parts, tree=balanced_tree(2))))] == ["unknown"] * 2


@pytest.mark.parametrize(
    ("name", "others", "width", "shown"),
    [
        ("worst concave points", ("mean area",), 12, "worst\u2026points"),
        ("months_since_payment", ("months_since_order",), 10, "mo\u2026payment"),
        ("months_since_payment", ("months_since_payments",), 10, "mo\u2026payment"),
        ("worst concave points", ("worst concave area",), 10, "wor\u2026points"),
        ("age", ("ages",), 10, "age"),
    ],
)
def test_a_name_that_is_cut_differs_from_those_that_begin_alike(
    name: str, others: tuple[str, ...], width: int, shown: str
) -> None:
    assert wording.shorten_name(name, width, others) == shown
    assert len(shown) <= width


def test_conditions_of_names_that_begin_alike_differ_in_the_drawing() -> None:
    names = ("a_long_beginning_of_payments", "a_long_beginning_of_orders")
    tree = tuple(
        replace(node, condition=f"{names[i % 2]} <= 0.5" if node.condition else "")
        for i, node in enumerate(balanced_tree(32))
    )
    parts = tuple(part(i) for i in range(1, 33))
    drawn = boxes(drawing(findings(tree=tree, parts=parts)))
    # A box with room for two lines has both.
    texts = [" ".join(texts) for kind, texts, _ in drawn if kind == "inner"]
    assert any("payme" in text for text in texts)
    assert any("orders" in text for text in texts)
    assert all("<= 0.5" in text for text in texts)


def test_a_noisy_count_that_disagrees_with_the_decision_is_explained() -> None:
    parts = (part(1, 228, counts=(150, 78), prediction="yes"), part(2, 228, counts=(78, 150), prediction="yes"))
    made = private_findings()
    shown = replace(made.model, classes=("no", "yes"), count_scale=40.0)
    text = render_html(findings(parts=parts, tree=balanced_tree(2), model=shown))
    assert re.sub(r"<title>[^<]*</title>", "", text).count("the decision was chosen apart from these counts") == 1
    exact = replace(shown, count_scale=None)
    assert "chosen apart" not in render_html(findings(parts=parts, tree=balanced_tree(2), model=exact))


@pytest.mark.parametrize(("n_leaves", "zoomed"), [(40, False), (41, True)])
def test_trees_of_more_than_forty_leaves_can_be_enlarged(n_leaves: int, zoomed: bool) -> None:
    made = findings(parts=tuple(part(i) for i in range(1, n_leaves + 1)), tree=balanced_tree(n_leaves))
    text = render_html(made)
    assert ('<div class="zoom" hidden>' in text) == zoomed
    assert ("data-shape" in drawing(made)) == zoomed


@pytest.fixture
def page(chromium: Path, tmp_path: Path) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = tmp_path / "report.html"
    made = findings(parts=tuple(part(i) for i in range(1, 121)), tree=balanced_tree(120))
    path.write_text(render_html(made), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        shown = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        shown.goto(path.as_uri())
        yield shown
        browser.close()


@pytest.mark.browser
def test_a_part_of_a_tree_fills_the_drawing_when_it_is_chosen(page: Any) -> None:
    tops = (
        "[...document.querySelectorAll('.tree g[data-at]:not([display]) > rect:first-of-type')]"
        ".filter(r => !r.matches('.mix')).map(r => [r.y.baseVal.value, r.height.baseVal.value])"
    )
    page.get_by_text("The whole tree of 120 leaves, drawn").click()
    whole = page.evaluate(tops)
    select = page.locator(".zoom select")
    select.select_option(index=2)
    part_of_it = page.evaluate(tops)
    assert len(part_of_it) < len(whole)
    # The part is as tall as the tree was.
    assert max(tall for _, tall in part_of_it) == pytest.approx(sum(tall + 2 for _, tall in whole[:1]) * 2 - 2, rel=0.1)
    page.get_by_role("button", name="The whole tree", exact=True).click()
    assert page.evaluate(tops) == whole
    page.locator(".tree g[data-at]:not([display])").first.click()
    assert page.evaluate(tops) != whole
    assert select.input_value() != ""


@pytest.mark.browser
def test_a_page_of_many_leaves_is_short_on_a_phone_until_it_is_unfolded(page: Any) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    assert page.evaluate("document.documentElement.scrollHeight") < 8_500
    # What to do is within the first view.
    advice = page.locator(".answer .advice li").first.bounding_box()
    assert advice["y"] + advice["height"] < 900
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    assert page.evaluate("document.documentElement.scrollHeight") > 16_000


@pytest.mark.browser
def test_a_link_to_a_section_that_is_folded_away_opens_it(page: Any) -> None:
    fold = page.locator("#terms > details")
    assert not fold.evaluate("e => e.open")
    page.locator("nav a[href='#terms']").click()
    assert fold.evaluate("e => e.open")
