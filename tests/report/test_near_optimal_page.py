"""The report on near-optimal trees: intervals to scale, who may see it, and nothing that others wrote as markup."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from glassine.models import Guarantee
from glassine.report import near_optimal_page, render_html, render_text
from glassine.report.sections.near_optimal import NamedInterval, draw_intervals, outward
from tests.report.builders import HOSTILE, near_optimal_trees
from tests.report.test_html import Page


def bars(drawing: str) -> list[dict[str, str]]:
    rects = [
        {key: value or "" for key, value in attrs.items()} for tag, attrs in Page(drawing).elements if tag == "rect"
    ]
    return [rect for rect in rects if "interval" in rect["class"]]


def test_bars_reach_from_the_least_to_the_greatest_reliance() -> None:
    intervals = [
        NamedInterval(name="age", low=0.1, high=0.3, strong=True),
        NamedInterval(name="job", low=-0.1, high=0.0),
    ]
    first, second = bars(draw_intervals(intervals, title="t", unit="u", ident="i"))
    left, width = float(first["x"]), float(first["width"])
    assert first["class"] == "interval strong"
    assert second["class"] == "interval"
    # One scale: the second is half as wide, and ends at 0, half of the first's width before it begins.
    assert float(second["width"]) == pytest.approx(width / 2, abs=0.02)
    assert float(second["x"]) + float(second["width"]) == pytest.approx(left - width / 2, abs=0.03)
    assert draw_intervals([], title="t", unit="u", ident="i") == ""


def test_ends_are_rounded_outward_and_stand_beside_the_bars() -> None:
    assert outward(-0.00001, 0.00001) == ("-0.1%", "0.1%")
    assert outward(0.3, 0.7) == ("30.0%", "70.0%")
    assert outward(-4e-17, 4e-17) == ("0.0%", "0.0%")
    text = render_html(near_optimal_trees())
    drawing = re.findall(r'<svg class="chart intervals".*?</svg>', text, flags=re.DOTALL)
    assert len(drawing) == 1
    for end in ("3.1%", "20.3%", "-0.1%", "10.0%"):
        assert f">{end}</text>" in drawing[0]


def test_attributes_stand_by_their_greatest_reliance_and_those_of_one_bin_are_named() -> None:
    found = near_optimal_trees()
    page = near_optimal_page(replace(found, reliances=found.reliances[::-1]))
    table = [row for row in page.section("reliance").text if isinstance(row, tuple)]
    assert [row[0] for row in table] == ["age", "job"]
    assert "No tree can test town." in render_text(page)
    indispensable = page.section("indispensable").text
    assert indispensable[1] == "age"
    assert indispensable[-1] == "job: in 75% of them"
    leaves = page.section("differently").text
    assert leaves[1] == "age <= 30: 30.0% of its 25.0% of all records; bounds 12.0% to 50.0%"
    assert str(leaves[2]).endswith("; bounds 0.0% to 12.4%")
    assert "12.0% of the expected records differently (between 5.1% and 31.0%)." in page.sentence


def test_the_guarantee_stands_in_one_sentence_and_says_who_may_see_the_page() -> None:
    page = near_optimal_page(near_optimal_trees())
    (covered,) = page.notes
    assert covered == (
        "This is post-processing of the summary: its guarantee of epsilon 1 and delta 1e-06 for each record covers it, "
        "and nothing further is spent."
    )
    assert page.notice.startswith("For everyone who may see the summary")
    persons = Guarantee(epsilon=1.0, neighboring="add-or-remove-one-person", records_per_person=2)
    assert "for each person covers it" in near_optimal_page(near_optimal_trees(guarantee=persons)).notes[0]
    void = Guarantee(epsilon=1.0, caveats=("seeded: not private",))
    page = near_optimal_page(near_optimal_trees(guarantee=void))
    assert page.notice == "Do not publish it: the guarantee of the summary does not hold."
    assert page.notes[1] == "The guarantee does not hold: seeded: not private."
    asked = near_optimal_page(near_optimal_trees(n_asked=2))
    assert asked.opening().startswith("Do not publish it. Parts marked “checker only” describe the records")
    assert asked.section("records").audience == "checker"
    assert "decide 0 of your 2 records differently" in render_text(asked)


def test_disputed_records_are_named_by_row_with_their_classes_and_the_list_ends() -> None:
    few = render_text(near_optimal_trees(n_asked=9, disputed={4: ("no", "yes")}))
    assert "decide 1 of your 9 records differently" in few
    assert "row 6: no or yes" in few
    many = render_html(near_optimal_trees(n_asked=900, disputed=dict.fromkeys(range(900), (0, 1))))
    assert many.count("<li>row ") == 500
    assert "400 more rows are left out." in many


def test_a_set_of_one_tree_on_no_attribute_has_a_page() -> None:
    found = near_optimal_trees(n_trees=1.0, ambiguous=0.0, tested=())
    text = render_html(found)
    assert "One tree is near-optimal" in text
    assert 'class="chart intervals"' not in text
    assert "No tree can test age, job, town." in text


def test_names_are_text_in_drawing_table_and_list() -> None:
    base = near_optimal_trees().reliances[0]
    reliances = tuple(replace(base, attribute=name) for name in HOSTILE)
    found = near_optimal_trees(
        reliances=reliances, tested=tuple(HOSTILE), n_asked=1, disputed={0: ("<b>no</b>", "\u202eyes")}
    )
    page = Page(render_html(found))
    assert not [tag for tag, _ in page.elements if tag in ("script", "img")]
    assert "<b>no</b>" not in render_html(found)
    assert "\u202e" not in render_html(found) + render_text(found)


def test_a_page_of_many_attributes_draws_the_first_and_stays_small() -> None:
    base = near_optimal_trees().reliances[0]
    reliances = tuple(replace(base, attribute=f"a{i}", high=0.2 + i / 1000) for i in range(200))
    text = render_html(near_optimal_trees(reliances=reliances, tested=tuple(one.attribute for one in reliances)))
    assert len(bars(text)) == 30
    assert len(re.findall(r'<th scope="row"><bdi>a\d', text)) == 200
    assert len(text) < 300_000


def test_lines_of_the_drawing_stand_beside_bars_and_never_cross_a_name() -> None:
    intervals = [NamedInterval(name=name, low=-0.1, high=0.2) for name in ("first", "second")]
    drawn = draw_intervals(intervals, title="Reliance", unit="rise", ident="x")
    names = [float(y) for y in re.findall(r'class="name"[^>]* y="([0-9.]+)"', drawn)]
    lines = re.findall(r'<line class="(?:grid|zero)"[^>]* y1="([0-9.]+)" y2="([0-9.]+)"', drawn)
    assert len(names) == 2
    assert len(lines) > 4
    assert not any(float(top) <= name <= float(bottom) for top, bottom in lines for name in names)


def test_what_nearly_all_decide_differently_reads_as_all() -> None:
    found = near_optimal_trees()
    leaves = tuple(replace(leaf, ambiguous=0.99997) for leaf in found.leaves)
    text = render_text(near_optimal_page(replace(found, leaves=leaves, ambiguous=0.99997)))
    assert "100.0% of the expected records" in " ".join(text.split())
    assert "over 99.9%" not in text


def test_trees_of_a_number_are_told_by_how_far_apart_they_predict() -> None:
    found = near_optimal_trees(
        target="<b>fee</b>",
        lowest_errors=0.3521,
        ambiguous=3.217,
        ambiguous_between=(2.5, 4.125),
        n_asked=3,
        disputed={1: (10.5, 12.25)},
    )
    text = " ".join(render_text(found).split())
    assert "squared errors exceed the lowest, 35.2% of the variance, by at most 1 point" in text
    assert "Their predictions for a record are 3.217 apart on average (between 2.5 and 4.125)." in text
    assert "rise in a tree's squared errors" in text
    assert "as a share of the variance" in text
    assert "age <= 30: 0.3 apart; 25.0% of all records; bounds 0.12 to 0.5" in text
    assert "row 3: 10.5 to 12.25" in text
    assert "least and greatest number" in text
    html = render_html(found)
    assert "rise in squared errors, of the variance" in html
    assert "<b>fee</b>" not in html
    for of_classes in ("decided differently", "another class", "Adult"):
        assert of_classes.lower() not in html.lower(), of_classes
