"""The report on disclosure by a tree."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine.attacks.disclosure import Adversary, Disclosure, identified_disclosure, infer_sensitive
from glassine.attacks.disclosure.remedies import Remedies, measure_remedies
from glassine.attacks.outcome import About, Below
from glassine.attacks.remedy_table import RemedyTable
from glassine.auditing.describe_disclosure import describe_disclosure
from glassine.auditing.disclosure import Inferred
from glassine.auditing.findings import InputFile
from glassine.auditing.findings.disclosure import DisclosureDetails, DisclosureFinding
from glassine.auditing.suppression import Suppression
from glassine.data.record_table import as_table
from glassine.learners import MultiwayTreeClassifier
from glassine.report import disclosure_page, render_html, render_text
from glassine.report.blocks import Figure
from glassine.report.charts import Mark, draw_trade_off
from tests.report.blocks import facts, one_of

ALL, HIDDEN = Suppression(0), Suppression(10)


def people(n: int = 200) -> tuple[pl.DataFrame, np.ndarray[Any, Any]]:
    """Return people and their classes."""
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"a": rng.choice(["x", "y", "z"], n), "b": rng.choice(["u", "v"], n)})
    high = (frame["a"].to_numpy() == "x") | (rng.random(n) < 0.2)
    return frame, np.where(high, "high", "low")


@pytest.fixture(scope="module")
def estimate() -> Disclosure:
    """Return an estimate."""
    frame, y = people()
    return infer_sensitive(MultiwayTreeClassifier().fit(frame, y), frame)


@pytest.fixture(scope="module")
def remedies() -> RemedyTable:
    """Return some remedies."""
    frame, y = people()
    tree = MultiwayTreeClassifier().fit(frame, y)
    return measure_remedies(
        tree, frame, y, remedies=Remedies(merge_below=[60], purities=[], round_to=[5], epsilons=[1.0])
    )


def finding(estimate: Disclosure, shown: Suppression = ALL, **options: Any) -> DisclosureFinding:
    """Return an estimate as a finding that shows everything."""
    known = {"quasi_identifiers": (), "truth": None, "unused": estimate.unused, "doubt": "", "detailed": True}
    inferred = Inferred(
        estimate=estimate, sensitive="level", table=as_table(people(estimate.people.n_people)[0]), **(known | options)
    )
    return describe_disclosure(inferred, shown)


def details_of(found: DisclosureFinding) -> DisclosureDetails:
    """Return what only the holder of the data is to see."""
    assert found.details is not None
    return found.details


def test_what_is_learned_adds_up(estimate: Disclosure) -> None:
    found = finding(estimate, truth=people()[1])
    marginal, leaves, whole = found.readers
    assert found.learned_mean == pytest.approx(marginal.entropy - whole.entropy, abs=1e-9)
    assert leaves.entropy >= whole.entropy - 1e-9
    distance = details_of(found).truth
    assert distance is not None
    assert distance.mean == whole.d_overall
    largest = estimate.quasi_probabilities.max(axis=1)
    some = np.maximum(estimate.quasi_probabilities, 1e-300)
    each = (some * np.log2(some / estimate.marginal)).sum(axis=1)
    assert found.learned_most == pytest.approx(each.max())
    assert details_of(found).exposed[0].probability == pytest.approx(largest.max())


def test_hidden_counts_are_in_no_rendering(estimate: Disclosure) -> None:
    frame, y = people(8)
    few = infer_sensitive(MultiwayTreeClassifier().fit(frame, y), frame)
    found = finding(few, shown=HIDDEN, truth=y)
    assert (found.number, details_of(found).k) == (Below(10), Below(10))
    for rendered in (render_text(found), render_html(found, title="t")):
        assert " 8 people" not in rendered
        assert "fewer than 10" in rendered
    assert details_of(finding(estimate, shown=HIDDEN)).active == ()


def test_text_is_narrow_and_says_what_is_missing(estimate: Disclosure, remedies: RemedyTable) -> None:
    text = render_text(finding(estimate, remedies=remedies))
    assert max(map(len, text.splitlines())) <= 88
    assert "D_individual" not in text
    assert "Remedies" in text
    assert "private tree, epsilon 1: A private tree needs the public domain" in " ".join(text.split()).replace(
        "Private", "private"
    )


def test_a_local_optimum_is_called_one(estimate: Disclosure) -> None:
    local = replace(finding(estimate), optimum="local", gap=0.25)
    assert "local optimum" in render_text(local)
    assert "how much more is not known" in " ".join(render_text(local).split())
    assert "global optimum" in render_text(finding(estimate))


def test_the_reader_of_the_leaves_has_no_internal_nodes() -> None:
    frame, y = people()
    tree = MultiwayTreeClassifier().fit(frame, y)
    found = finding(infer_sensitive(tree, frame, adversary=Adversary(internal_nodes=False)))
    assert len(found.readers) == 2
    assert any(fact.value == "not used" for fact in facts(disclosure_page(found).section("estimate")).values())


class _Tags(HTMLParser):
    """Collect the ids and what is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.loads += [
            value or "" for name, value in attrs if name in ("src", "href") and not (value or "").startswith("#")
        ]
        self.scripts += tag == "script"


def test_the_page_loads_nothing_and_escapes_names(estimate: Disclosure, remedies: RemedyTable) -> None:
    found = replace(finding(estimate, truth=people()[1], remedies=remedies), sensitive="<script>x</script>\u202e")
    page = render_html(
        disclosure_page(found, title="a <b> & c", inputs=[InputFile(role="model", name="<i>.json", sha256="0" * 64)])
    )
    tags = _Tags()
    tags.feed(page)
    assert tags.loads == []
    assert tags.scripts == 0
    assert len(tags.ids) == len(set(tags.ids))
    assert {"learned", "exposed", "remedies", "trade-title"} <= set(tags.ids)
    assert "\u202e" not in page
    assert "a &lt;b&gt; &amp; c" in page


def test_without_remedies_there_is_no_plot(estimate: Disclosure) -> None:
    page = render_html(finding(estimate), title="t")
    assert 'class="chart' not in page
    assert "Guesses correctly" not in page


def test_points_at_one_place_share_their_numbers() -> None:
    drawn = str(
        draw_trade_off(
            [
                Mark(number=1, x=0.9, y=0.1),
                Mark(number=2, x=0.9, y=0.1),
                Mark(number=3, x=0.5, y=0.6),
            ]
        )
    )
    assert drawn.count("<circle") == 3
    assert ">1, 2<" in drawn
    assert ">3<" in drawn
    assert draw_trade_off([]) == ""


@pytest.mark.parametrize(("accuracy", "distance"), [(1.0, 0.0), (0.0, 0.0), (0.7, 3.0)])
def test_one_point_is_drawn_within_the_axes(accuracy: float, distance: float) -> None:
    drawn = str(draw_trade_off([Mark(number=1, x=accuracy, y=distance)]))
    assert "nan" not in drawn
    assert "inf" not in drawn
    x, y = (float(drawn.split(f'{name}="')[1].split('"')[0]) for name in ("cx", "cy"))
    assert 66 <= x <= 66 + 460
    assert 16 <= y <= 16 + 290


def test_subgroups_are_shown_with_their_distance(estimate: Disclosure) -> None:
    frame, y = people()
    found = finding(estimate, truth=y, frame=frame)
    assert {group.attribute for group in details_of(found).subgroups} == {"a", "b"}
    by_name = {(group.attribute, group.value): group for group in details_of(found).subgroups}
    rows = frame["a"].to_numpy() == "x"
    assert by_name["a", "x"].d_overall == pytest.approx(estimate.d_individual(y)[rows].mean())
    page = render_html(found, title="t")
    assert 'id="subgroups"' in page
    assert "a = x" in render_text(found)
    without = finding(estimate, frame=frame)
    assert all(group.d_overall is None for group in details_of(without).subgroups)
    assert "D_overall</th>" not in render_html(without, title="t")


def test_small_subgroups_are_left_out(estimate: Disclosure) -> None:
    frame, y = people()
    few = frame.with_columns(a=pl.when(pl.int_range(pl.len()) < 5).then(pl.lit("rare")).otherwise("a"))
    shown = finding(estimate, shown=HIDDEN, truth=y, frame=few)
    assert "rare" not in {group.value for group in details_of(shown).subgroups}
    assert "rare" in {group.value for group in details_of(finding(estimate, truth=y, frame=few)).subgroups}
    assert all(isinstance(group.size, About) for group in details_of(shown).subgroups)


def test_held_out_accuracy_is_drawn_where_there_is_one(estimate: Disclosure) -> None:
    frame, y = people()
    tree = MultiwayTreeClassifier().fit(frame, y)
    table = measure_remedies(
        tree,
        frame,
        y,
        evaluation=(frame[:100], y[:100]),
        remedies=Remedies(merge_below=[60], purities=[], round_to=[], epsilons=[]),
    )
    assert table.n_holdout == 100
    found = finding(estimate, remedies=table)
    page = render_html(found, title="t")
    assert "Held out" in page
    assert "accuracy on held-out records" in page
    drawn = one_of(disclosure_page(found).section("remedies"), Figure).drawings
    alike = [
        Mark(number=i, x=row.holdout_accuracy, y=row.d_overall)
        for i, row in enumerate(details_of(found).remedies, start=1)
        if row.holdout_accuracy is not None and row.d_overall is not None
    ]
    assert drawn == (draw_trade_off(alike, held_out=True),)
    assert len(alike) == len(table.rows)
    text = render_text(found)
    assert "of those held out" in text
    # AUROC, log loss and the baseline stand beside accuracy, and labels alone have none.
    counts, labels = (next(row for row in table.rows if row.name.startswith(name)) for name in ("class", "labels"))
    assert counts.holdout_auroc is not None
    said = " ".join(text.split())
    assert f"AUROC {counts.holdout_auroc:.3g}, log loss {counts.holdout_log_loss:.3g}" in said
    assert (labels.holdout_auroc, "AUROC none, log loss none" in said) == (None, True)
    assert table.holdout_baseline is not None
    assert f"AUROC is 0.5 and log loss {table.holdout_baseline.log_loss:.3g}" in said
    assert "AUROC and log loss are those on held-out records." in said
    assert max(map(len, text.splitlines())) <= 88


def test_the_report_says_of_which_class_people_are_certain_how_many_and_where(estimate: Disclosure) -> None:
    found = finding(estimate, truth=people()[1])
    everybody = [one for one in found.certain if not one.attribute]
    groups = [one for one in found.certain if one.attribute]
    assert {one.outcome for one in everybody} == {"high", "low"}
    assert sum(one.certain for one in everybody if isinstance(one.certain, int)) == found.readers[-1].certain
    assert sum(one.base_rate for one in everybody) == pytest.approx(1.0)
    # All who are x are high, and nobody else is certain.
    frame, _ = people()
    (all_x,) = [one for one in groups if (one.attribute, one.value) == ("a", "x")]
    assert (all_x.outcome, all_x.certain, all_x.number) == ("high", *[int((frame["a"] == "x").sum())] * 2)
    assert {one.value for one in groups if one.attribute == "a"} == {"x"}
    text = " ".join(render_text(found).split())
    assert f"Practically certain values of level: high for {all_x.certain} records (base rate " in text
    assert f"Most of them are in: a = x: high for {all_x.certain} records of {all_x.certain}" in text
    page = render_html(found, title="t")
    assert "Practically certain, in the subgroups where most are" in page
    assert page.count('class="mean"') >= len(groups)


def test_the_report_says_for_how_many_a_value_is_probable_in_every_dataset(estimate: Disclosure) -> None:
    found = finding(estimate)
    low = identified_disclosure(estimate, search=False).low[estimate.people.person].max(axis=1)
    counts = {p: int((low >= p - 1e-9).sum()) for p in (0.99, 0.9, 0.5)}
    assert {one.probability: one.people for one in found.identified} == counts
    assert 0 < counts[0.99] < estimate.people.n_people
    line = f"In every possible dataset, some value has a probability of at least 0.99 for {counts[0.99]} records"
    assert line in " ".join(render_text(found).split())
    assert line in render_html(found, title="t")
    assert "In every possible dataset" not in render_text(replace(found, identified=()))


def test_small_numbers_of_certain_people_are_rounded(estimate: Disclosure) -> None:
    found = finding(estimate, shown=HIDDEN)
    assert found.certain
    assert all(isinstance(one.certain, About) or one.certain == 0 for one in found.certain)
    assert all(isinstance(one.number, About) for one in found.certain)


def test_the_remedy_that_costs_least_is_named_with_its_cost(estimate: Disclosure, remedies: RemedyTable) -> None:
    found = finding(estimate, remedies=remedies, truth=people()[1])
    rows = {row.name: row for row in details_of(found).remedies}
    before = details_of(found).remedies[0]
    text = " ".join(render_text(found).split())
    named = text.split("Costs least for what it removes: ")[1].split(". D_overall grows")[0]
    reached = {name: row.d_overall for name, row in rows.items() if row.d_overall is not None}
    base = before.d_overall or 0.0
    assert reached[named] > base

    def price(name: str) -> float:
        return max((before.accuracy or 0.0) - (rows[name].accuracy or 0.0), 0.0) / (reached[name] - base)

    better = [name for name, value in reached.items() if value > base]
    assert price(named) == min(map(price, better))
    assert "Without the model " in text
