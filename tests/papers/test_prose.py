"""Sentences of the pages that count or compare what is stored."""

from __future__ import annotations

from statistics import fmean

from papers.common.judging import compared
from papers.common.results import read
from tests.conftest import ROOT

RESULTS, NOTES = ROOT / "papers", ROOT / "docs" / "papers"


def test_published_forms_end_near_the_majority_class_on_german_and_ours_above() -> None:
    rows = read(RESULTS / "smooth-sensitivity-rule-lists" / "results" / "figure_4.csv")
    late = [row for row in rows if row["setting"] == "german" and row["epsilon"] and float(row["epsilon"]) > 1.7]
    published = [row for row in late if row["method"].startswith(("sm-", "gl-"))]
    assert published
    assert max(abs(float(row["test"]) - 0.7) for row in published) < 0.01
    assert any(float(row["test"]) > 0.71 for row in late)
    cases = compared(RESULTS / "smooth-sensitivity-rule-lists" / "results", "exponential")
    better, tied, below = (sum(getattr(case, name) for case in cases) for name in ("better", "tied", "below"))
    text = (NOTES / "smooth-sensitivity-rule-lists.md").read_text()
    assert f"in {better} of {better + tied} cases and tied in {tied}" in text
    assert f"below in mean in {below}" in text


def test_intervals_that_include_losses_are_those_that_the_page_names() -> None:
    cases = compared(RESULTS / "smooth-sensitivity-rule-lists" / "results", "exact_trees")
    names = {case.name for case in cases if case.low <= 0}
    assert names == {"German: smooth-Gini, Cauchy", "German: smooth-Gini, sm-Laplace"}
    text = (NOTES / "smooth-sensitivity-rule-lists.md").read_text()
    assert "On German the intervals against Cauchy noise and sm-Laplace include losses" in text
    least, most = (end(case.mean for case in cases) for end in (min, max))
    assert f"more accurate, by {least:.3f} to {most:.3f} on average" in text
    different = compared(RESULTS / "smooth-sensitivity-rule-lists" / "results", "vulnerable")
    assert {case.tied for case in different} == {1}


def test_an_attacker_who_links_records_has_what_the_page_says() -> None:
    rows = [row for row in read(RESULTS / "reconstruction" / "results" / "rashomon.csv") if row["data"] == "adult"]
    ratios = [
        fmean(float(row["which is which"]) for row in of) / fmean(float(row["to"]) for row in of)
        for n in ("2", "16")
        if (of := [row for row in rows if row["trees"] == n])
    ]
    text = (NOTES / "beyond-one-tree.md").read_text()
    assert "has {:.1f} times as much on Adult at two trees, and {:.1f} times at sixteen".format(*ratios) in text
