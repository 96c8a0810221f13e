"""The page of a comparison says what its figures say."""

from __future__ import annotations

import math
import re
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassine.auditing.findings import InputFile
from glassine.comparison import Comparison, Figures, Result, Row
from glassine.comparison.comparison_results import NO_PARTS
from glassine.report import Page, comparison_page, render_html, render_text
from glassine.report.advice import advice_of
from glassine.report.blocks import Command, Definitions, Figure, Table
from glassine.report.charts import Line, Mark, Point, Reference, draw_budget, draw_frontier
from tests.comparison.builders import comparison, numeric_row, refused, row
from tests.report.blocks import all_of, rows_of

CONSTANT = row("constant", None, (0.6, 0.6, 0.6), bits=0.0, vulnerability=0.5, auroc=0.5)
BEST = row("additive", 1.0, (0.79, 0.80, 0.81), bits=None)
CHEAP = row("tree", 0.1, (0.796, 0.796, 0.796))
CART = row("cart", None, (0.85, 0.85, 0.85), bits=6.0, vulnerability=0.6)


def page(*rows: Row, command: str = "glassine fit x.csv") -> str:
    files = [InputFile(role="data", name="x\u202e.csv", sha256="ab")]
    return render_html(comparison_page(comparison(*rows), title="Learners <compared>", command=command, inputs=files))


def commands(shown: Page) -> list[str]:
    return [block.text for block in shown.details if isinstance(block, Command)]


def missing(shown: Page) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return all_of(shown.section("table"), Definitions)[0].items


def test_the_recommendation_and_the_figures_that_it_follows_from() -> None:
    found = comparison(CHEAP, BEST, CART, CONSTANT)
    view, shown = advice_of(found), comparison_page(found, command="glassine fit x.csv")
    assert shown.headline == view.headline
    assert view.headline == "Fit the private tree at epsilon 0.1"
    for figure in ("0.796", "0.800 ± 0.006", "2 private models have 0.794 or more", "prediction, 0.600"):
        assert figure in view.why
    assert "the private additive model at epsilon 1" in view.why
    assert "smallest epsilon" in view.why
    assert commands(shown) == ["glassine fit x.csv"]
    assert [name for name, row in rows_of(shown.section("table")).items() if row.picked] == ["1. private tree"]
    assert [fact.value for fact in shown.figures] == ["0.796", "0.850", "0.600"]


def test_the_rule_comes_after_the_table() -> None:
    found = comparison(CHEAP, BEST, CART, CONSTANT)
    text, html = render_text(found), page(CHEAP, BEST, CART, CONSTANT)
    assert text.count("The rule: ") == 1
    assert text.index("* private tree") < text.index("The rule: ")
    assert html.index("1. private tree") < html.index("The rule")
    assert len(advice_of(found).rule.split()) <= 75


def test_a_cheaper_model_is_named_beside_the_recommended_one() -> None:
    found = comparison(row("tree", 0.1, (0.7, 0.7, 0.7)), BEST, CONSTANT)
    view = advice_of(found)
    assert view.headline == "Fit the private additive model at epsilon 1"
    assert ("Best at epsilon 0.1", "0.700", "private tree") in map(astuple, comparison_page(found).figures)
    assert "the highest of the private models" in view.why
    assert "No other private model is within its standard error (0.794 or more). It beats" in view.why


def test_what_decides_a_tie_is_said() -> None:
    same = (0.8, 0.8, 0.8)
    many = row("tree", 0.1, same, bits=2.0, vulnerability=0.505)
    few = row("rule-list", 0.1, same, bits=1.0)
    ranked = row("greedy-rule-list", 0.1, same, auroc=0.8, bits=3.0, vulnerability=0.52)
    seen = row("tree", 0.1, (0.79, 0.8, 0.81), vulnerability=0.509)
    better = row("rule-list", 0.1, (0.791, 0.8, 0.812))
    dear = row("tree", 1.0, same, bits=0.5)
    for rows, end in (
        ((many, dear), "Of these it has the smallest epsilon."),
        ((many, few, dear), "smallest epsilon, and of those with that epsilon the fewest bits learned."),
        (
            (many, few, ranked, dear),
            "smallest epsilon, and of those with that epsilon an AUROC within the standard error of the best.",
        ),
        ((better, seen), "smallest epsilon, and of those with that epsilon the lowest vulnerability."),
        ((few, row("tree", 0.1, same, bits=1.0)), "smallest epsilon, and stands first in the table."),
    ):
        assert advice_of(comparison(*rows, CONSTANT)).why.endswith(end)


def test_what_ranks_the_models_is_said_on_every_face() -> None:
    rows = (row("tree", 0.1, (0.9, 0.9, 0.9), auroc=0.9), row("constant", None, (0.9, 0.9, 0.9), auroc=0.5))
    for share, told in (
        (0.799, "Ranked by accuracy: the largest class has 80% of the records"),
        (0.8, "Ranked by AUROC: the largest class has 80% of the records"),
        (
            0.93,
            "Ranked by AUROC: the largest class has 93% of the records, and always predicting that class is",
        ),
    ):
        found = comparison(*rows, largest_class=share)
        assert advice_of(found).ranked_by.startswith(told)
        for text in (render_text(found), render_html(found, title="x")):
            assert told[:40] in " ".join(text.split())
    asked = advice_of(comparison(*rows, largest_class=0.93), "accuracy")
    assert asked.ranked_by == (
        "Ranked by accuracy, as asked. But the largest class has 93% of the records: AUROC says more."
    )
    assert asked.headline == "No private model is worth fitting"
    assert advice_of(comparison(*rows, largest_class=0.93)).headline == "Fit the private tree at epsilon 0.1"


def test_a_ranking_by_log_loss_puts_the_lowest_first() -> None:
    rows = (
        row("tree", 0.1, (0.9, 0.9, 0.9), auroc=None, log_loss=0.3),
        row("additive", 0.1, (0.9, 0.9, 0.9), auroc=None, log_loss=0.2, bits=None),
        row("constant", None, (0.9, 0.9, 0.9), auroc=None, log_loss=0.4),
    )
    found = comparison(*rows, largest_class=0.9)
    view = advice_of(found)
    assert view.headline == "Fit the private additive model at epsilon 0.1"
    assert view.ranked_by.endswith("AUROC is not defined on every split.")
    assert "Its mean log-loss on held-out records is 0.200, the lowest of the private models." in view.why
    assert "No other private model is within its standard error (0.200 or less)." in view.why
    assert [fact.value for fact in comparison_page(found).figures] == ["0.200", "0.400"]


def test_a_comparison_of_numbers_shows_errors_in_units_of_the_target() -> None:
    rows = (
        numeric_row("tree", 0.1, (50_000.0, 51_000.0, 52_000.0)),
        numeric_row("cart", None, (49_000.0, 49_100.0, 49_200.0), bits=5.0),
        numeric_row("constant", None, (90_000.0, 90_000.0, 90_000.0), bits=0.0),
    )
    found = comparison(*rows, target_range=(0.0, 500_000.0))
    view, shown = advice_of(found), comparison_page(found)
    assert view.headline == "Fit the private tree at epsilon 0.1"
    assert view.ranked_by == "Ranked by RMSE, the default for numbers."
    assert "Its mean RMSE on held-out records is 51,000 ± 577, the lowest of the private models." in view.why
    assert "No other private model is within its standard error (51,577 or less)." in view.why
    assert "1 parts" not in render_html(shown), "the head names what is counted"
    assert "AUROC" not in view.rule
    assert "vulnerability" not in view.rule
    (table,) = all_of(shown.section("table"), Table)
    heads = ["Model", "Epsilon", "RMSE", "MAE", "R²", "Bits", "Advantage", "Leaves", "CPU s"]
    assert [column.name for column in table.columns] == heads
    assert table.rows[0].cells[:3] == ("0.1", "51,000 ± 577", "40,800 ± 462")
    assert "the constant prediction is the mean of the training records" in shown.described
    text, page = render_text(found), render_html(found, title="x")
    assert "51,000 ± 577" in text
    assert "R² against bits learned per record" in page
    assert "Membership inference" not in page


@pytest.mark.parametrize(
    ("rows", "headline", "why"),
    [
        ((row("tree", 1.0, (0.5, 0.6, 0.7)), CONSTANT), "No private model is worth fitting", "of 0.600"),
        ((refused("tree", 1.0), CONSTANT), "No private model was measured", "reasons are below"),
        ((CART, CONSTANT), "No private model was measured", "reasons are below"),
        ((CHEAP,), "Fit the private tree at epsilon 0.1", "whether they beat it is not known"),
        ((CHEAP, refused("constant", None)), "Fit the private tree at epsilon 0.1", "is not known"),
    ],
)
def test_what_is_missing_is_said(rows: tuple[Row, ...], headline: str, why: str) -> None:
    found = comparison(*rows)
    view, shown = advice_of(found), comparison_page(found, command="glassine fit x.csv")
    assert view.headline == headline
    assert why in view.why
    assert bool(commands(shown)) == headline.startswith("Fit")
    for text in (page(*rows), render_text(comparison(*rows))):
        assert headline in text
        assert "not private" in text


def test_refused_learners_stand_with_their_reason() -> None:
    rows = (refused("tree", 0.1), refused("tree", 1.0), CHEAP, refused("rule-list", 1.0, "it is <too> large."))
    assert missing(comparison_page(comparison(*rows))) == (
        ("private tree at epsilon 0.1, 1", ("not applicable: it needs two classes.",)),
        ("private rule list at epsilon 1", ("not applicable: it is <too> large.",)),
    )
    html = page(*rows)
    assert "it is &lt;too&gt; large." in html
    assert "<too>" not in html


def test_bits_that_a_tree_lacks_are_explained() -> None:
    figures = Figures(accuracy=0.7, bits=None, bits_unknown="part 1 is empty.", n_parts=4)
    lacking = Row.of([Result(model="cart", epsilon=None, split=0, status="measured", figures=figures)])
    other = Figures(accuracy=0.7, bits=None, bits_unknown=NO_PARTS)
    none = Row.of([Result(model="boosting", epsilon=None, split=0, status="measured", figures=other)])
    found = comparison(lacking, none, row("tree", 1.0, (math.nan,)))
    assert missing(comparison_page(found)) == (
        ("scikit-learn tree", ("no bits: part 1 is empty.",)),
        ("private tree at epsilon 1", ("failed: its accuracy is not a finite number.",)),
    )


def test_the_page_stands_alone_and_escapes_names() -> None:
    html = page(CHEAP, BEST, CART, CONSTANT)
    assert "Learners &lt;compared&gt;" in html
    assert "\u202e" not in html
    assert not re.search(r"(?:src|href)=\"(?!#)", html)
    assert "http" not in html.replace("http-equiv", "")
    assert html.count('<svg class="chart versus"') == 12  # each for a wide page and for a phone
    assert len(set(re.findall(r'id="([^"]+)"', html))) == len(re.findall(r' id="([^"]+)"', html))
    assert "Not drawn, as their bits are not known: 2." in html
    assert html == page(CHEAP, BEST, CART, CONSTANT)


def test_a_page_without_any_figure() -> None:
    html = page(refused("tree", 1.0))
    assert '<svg class="chart' not in html
    assert "No private model was measured" in html


def test_the_caveats_of_the_comparison_are_notes() -> None:
    bare = comparison(CHEAP)
    owned = Comparison(**{**{name: getattr(bare, name) for name in bare.__dataclass_fields__}, "caveats": ("Told.",)})
    assert "Told." in comparison_page(owned).notes
    assert "Told." in render_text(owned)


def test_text_is_at_most_88_wide_but_for_table_and_command() -> None:
    text = render_text(comparison_page(comparison(CHEAP, BEST, CART, CONSTANT), command="glassine fit x.csv"))
    assert "* private tree" in text
    assert "log-loss" in next(line for line in text.splitlines() if line.startswith("  model "))
    assert "  glassine fit x.csv" in text.splitlines()
    prose = [line for line in text.splitlines() if "±" not in line and "glassine fit" not in line]
    assert max(map(len, prose)) <= 88


def test_the_frontier_passes_through_what_nothing_exceeds() -> None:
    marks = [
        Mark(number=1, x=0.0, y=0.6, filled=False),
        Mark(number=2, x=2.0, y=0.8, filled=True, chosen=True),
        Mark(number=3, x=3.0, y=0.7, filled=True),
        Mark(number=4, x=2.0, y=0.75, filled=True),
        Mark(number=5, x=9.0, y=0.9, filled=False),
        Mark(number=6, x=10.0, y=0.9, filled=False),
    ]
    svg = draw_frontier(marks, title="Accuracy", leak="bits", nothing=0.0, ident="x")
    assert "On the line, from the left: 1, 2, 5." in svg
    assert svg.count('class="spot"') == 3
    assert svg.count('class="open"') == 3
    assert svg.count('class="chosen"') == 1
    spots = [float(x) for x in re.findall(r'class="spot" cx="([\d.]+)"', svg)]
    assert spots[0] == spots[2] < spots[1]


def test_numbers_of_crowded_points_do_not_cover_one_another() -> None:
    marks = [Mark(number=i, x=0.5 + i * 1e-4, y=0.8 + i * 1e-3, filled=True) for i in range(1, 13)]
    svg = draw_frontier(marks, title="Accuracy", leak="vulnerability", nothing=0.5, ident="x")
    places = [(float(x), float(y)) for x, y in re.findall(r'class="name mid" x="([\d.]+)" y="([\d.]+)"', svg)]
    assert len(places) == 12
    for i, (x, y) in enumerate(places):
        for u, v in places[:i]:
            assert abs(x - u) >= 8 or abs(y - v) >= 13, (x, y, u, v)


def _boxes(svg: str) -> list[tuple[float, float, float, float]]:
    """Return the boxes that the numbers of a frontier fill."""
    found = re.findall(r'class="name mid" x="([\d.]+)" y="([\d.]+)" dy="4">(\d+)<', svg)
    return [(float(x) - 4 * len(n), float(y) - 6, float(x) + 4 * len(n), float(y) + 6) for x, y, n in found]


@pytest.mark.parametrize("nothing", [0.0, 0.5])
def test_numbers_stand_apart_and_off_the_frontier(nothing: float) -> None:
    rng = np.random.default_rng(3)
    leaks, values = nothing + 0.3 * rng.random(18) ** 3, 0.7 + 0.05 * rng.random(18)
    marks = [
        Mark(number=i + 1, x=float(leak), y=float(value), filled=i % 2 == 0)
        for i, (leak, value) in enumerate(zip(leaks, values, strict=True))
    ]
    svg = draw_frontier(marks, title="Accuracy", leak="vulnerability", nothing=nothing, ident="x")
    assert ("square-root scale" in svg) == (nothing > 0)
    boxes = _boxes(svg)
    assert len(boxes) == 18
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert one[0] - other[2] >= 4 or other[0] - one[2] >= 4 or one[1] >= other[3] or other[1] >= one[3]
    (path,) = re.findall(r'class="frontier" d="M([^"]+)"', svg)
    across, down = map(float, path[: path.index("H")].split())
    for letter, text in re.findall(r"([HV])([\d.]+)", path):
        before = across, down
        across, down = (float(text), down) if letter == "H" else (across, float(text))
        low, high = (min(before[0], across), min(before[1], down)), (max(before[0], across), max(before[1], down))
        for left, top, right, bottom in boxes:
            assert right < low[0] or left > high[0] or bottom < low[1] or top > high[1]


def test_points_are_named_and_colored_by_model_and_stand_in_a_table() -> None:
    shown = comparison_page(comparison(CHEAP, BEST, CART, CONSTANT), command="glassine fit x.csv")
    section = shown.section("membership")
    svg = str(all_of(section, Figure)[0].drawings[0])
    assert re.findall(r'class="name mid k1"[^>]*>([^<]*)<', svg) == ["tree 0.1"]
    assert re.findall(r'class="name mid"[^>]*>([^<]*)<', svg) == ["scikit-learn tree", "constant prediction"]
    assert len(re.findall(r'class="spot k\d"', svg)) == 2
    rows = rows_of(section)
    assert list(rows) == [
        "4. constant prediction",
        "1. private tree at epsilon 0.1",
        "2. private additive model at epsilon 1",
        "3. scikit-learn tree",
    ]
    assert rows["1. private tree at epsilon 0.1"].cells == ("0.510", "0.796", "0.700")


def test_a_name_without_room_gives_way_to_its_number() -> None:
    marks = [Mark(number=i, x=0.5, y=0.8, filled=True, name=f"a model of a long name {i}") for i in range(1, 13)]
    svg = draw_frontier(marks, title="Accuracy", leak="vulnerability", nothing=0.5, ident="x")
    labels = re.findall(r'class="name mid"[^>]*>([^<]*)<', svg)
    assert len(labels) == 12
    assert any(label.isdigit() for label in labels)
    assert any(not label.isdigit() for label in labels)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_charts_of_one_point(value: float) -> None:
    mark = Mark(number=1, x=0.5, y=value, filled=True)
    line = Line(name="tree", style=1, points=(Point(epsilon=0.1, value=value, error=None),))
    svg = draw_frontier([mark], title="A", leak="v", nothing=0.5, ident="x")
    svg += draw_budget([line], [Reference(name="constant", value=value)], title="A", ident="y")
    assert "nan" not in svg
    assert "inf" not in svg.replace("infer", "")
    assert draw_frontier([], title="A", leak="v", nothing=0.5, ident="x") == ""
    assert draw_budget([], [Reference(name="constant", value=value)], title="A", ident="y") == ""


def test_a_better_mean_is_drawn_higher() -> None:
    points = tuple(Point(epsilon=e, value=v, error=0.01) for e, v in ((0.1, 0.7), (1.0, 0.8), (10.0, 0.9)))
    svg = draw_budget([Line(name="tree", style=1, points=points)], [], title="A", ident="y")
    dots = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="4"', svg)]
    (x1, y1), (x2, y2), (x3, y3) = dots
    assert x1 < x2 < x3
    assert y1 > y2 > y3
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2)  # the axis is logarithmic


def test_the_name_of_an_axis_has_room_beside_labels_of_three_places() -> None:
    points = tuple(Point(epsilon=epsilon, value=value, error=0.001) for epsilon, value in ((0.1, 0.794), (1.0, 0.796)))
    svg = draw_budget([Line(name="tree", style=1, points=points)], [], title="Accuracy", ident="y")
    ends = {label: float(x) for x, label in re.findall(r'class="tick end" x="([\d.]+)"[^>]*>([\d.]+)<', svg)}
    # Seven units a letter; the turned name stands at eighteen, and its descenders end at 24.
    assert min(end - 7 * len(label) for label, end in ends.items()) > 24
    assert any(len(label) == 5 for label in ends)


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (360, "dark")])
def test_the_page_in_a_browser(chromium: Path, tmp_path: Path, width: int, scheme: Any) -> None:
    from playwright.sync_api import sync_playwright

    from tests.report.test_browser import CONTRAST

    path = tmp_path / "comparison.html"
    path.write_text(page(CHEAP, BEST, CART, CONSTANT, refused("rule-list", 1.0), command="glassine fit " + "x" * 90))
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        shown = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
        shown.on("console", lambda message: complaints.append(message.text))
        shown.on("request", lambda request: None if request.url == path.as_uri() else complaints.append(request.url))
        shown.goto(path.as_uri())
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        seen, low = shown.evaluate(CONTRAST)
        browser.close()
    assert complaints == []
    assert seen > 50
    assert low == []


def test_the_recommended_model_is_drawn_though_its_bits_are_not_known() -> None:
    level = Reference(name="2 recommended", value=0.9)
    mark = Mark(number=1, x=1.0, y=0.8)
    svg = draw_frontier([mark], title="Accuracy", leak="bits", nothing=0.0, ident="x", unknown=level)
    assert svg.count('class="level"') == 1
    assert "2 recommended" in svg
    # It lies above the point, as the model predicts better.
    at = float(re.search(r'class="level"[^>]*y1="([\d.]+)"', svg)[1])  # type: ignore[index]
    assert at < float(re.search(r'class="spot"[^>]*cy="([\d.]+)"', svg)[1])  # type: ignore[index]
    assert "level" not in draw_frontier([mark], title="Accuracy", leak="bits", nothing=0.0, ident="x")


def test_a_recommended_model_of_unknown_bits_is_in_legend_and_table() -> None:
    shown = comparison_page(comparison(BEST, CART, CONSTANT))
    for name, key, cell in (("bits", 'class="level"', "not known"), ("membership", 'class="chosen"', "0.510")):
        figure, table = all_of(shown.section(name), Figure)[0], all_of(shown.section(name), Table)[0]
        assert figure.legend is not None
        keys = {text: str(drawn) for drawn, text in figure.legend.entries}
        assert key in keys["recommended"]
        assert ("private additive model" in keys) == (name == "membership")
        assert [row.cells[0] for row in table.rows if row.picked] == [cell]
