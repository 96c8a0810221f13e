"""Importances and noise bands, and their drawings."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given

from glassine.errors import InvalidParameterError
from glassine.models import AdditiveModel, CategoryBins, NumericBins, Term
from glassine.models.additive import summarize_model
from glassine.models.additive_scores import contributions_html
from glassine.models.editing import set_score
from glassine.models.shapes import bands, common_scale, draw_shape, term_importance
from glassine.models.svg import ticks
from tests.models.additive_models import additive_models, income_model, simple_model
from tests.models.writing import HOSTILE


def test_importance_is_the_mean_distance_from_the_mean() -> None:
    term = simple_model([1.0, 2.0, 5.0, -3.0], weights=[10, 30, 50, 10]).terms[0]
    scores = np.repeat([1.0, 2.0, 5.0, -3.0], [10, 30, 50, 10])
    assert term_importance(term) == pytest.approx(np.abs(scores - scores.mean()).mean())


def test_importance_with_noisy_or_no_weights() -> None:
    floored = simple_model([1.0, 3.0, 9.0], weights=[1, 1, -50]).terms[0]
    assert term_importance(floored) == 1.0
    unknown = simple_model([1.0, 3.0, 9.0]).terms[0]
    assert term_importance(unknown) == 1.0
    assert term_importance(simple_model([1.0, 3.0, 9.0], weights=[-1, -1, 0]).terms[0]) == 1.0
    assert term_importance(simple_model([1.0, 3.0, 9.0], weights=[1e300, 1e300, 0]).terms[0]) == 1.0
    several = Term(bins=(NumericBins("x", (1,)),), scores=np.array([[1.0, 0.0], [3.0, 8.0], [9.0, 9.0]]))
    assert term_importance(several) == 2.5


def test_importances_order_the_shape_functions() -> None:
    shapes = summarize_model(income_model())
    values = [shape.importance for shape in shapes]
    assert values == sorted(values, reverse=True)
    assert {shape.name for shape in shapes} == {term.name for term in income_model().terms}


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
def test_bands_cover_as_often_as_they_say(coverage: float) -> None:
    random = np.random.default_rng(11)
    truth, errors = random.normal(size=40_000), random.uniform(0.1, 3.0, size=40_000)
    bins = NumericBins("x", tuple(float(k) for k in range(39_998)))
    found = bands(Term(bins=(bins,), scores=truth + errors * random.normal(size=40_000), errors=errors), coverage)
    assert found is not None
    low, high = found
    share = float(((low[:, 0] <= truth) & (truth <= high[:, 0])).mean())
    # Five standard deviations of the share: bands of 0.9 or 1.1 times the width miss by more.
    assert abs(share - coverage) < 5 * np.sqrt(coverage * (1 - coverage) / 40_000)


def test_bands_belong_to_the_released_scores() -> None:
    model = income_model()
    before = {shape.name: shape for shape in summarize_model(model)}["age"]
    after = {shape.name: shape for shape in summarize_model(set_score(model, "age", 0, 5.0))}["age"]
    assert not before.edited
    assert after.edited
    assert after.low is not None
    assert before.low is not None
    assert np.array_equal(after.low, before.low)
    assert np.array_equal(after.released, before.term.scores)
    assert after.term.scores[0, 0] == 5.0


def test_no_errors_no_bands() -> None:
    shape = summarize_model(simple_model([1.0, 2.0, 3.0]))[0]
    assert shape.low is None
    assert shape.high is None
    assert "band" not in draw_shape(shape)


@pytest.mark.parametrize("coverage", [0, 1, -1, float("nan")])
def test_a_coverage_out_of_range_is_refused(coverage: float) -> None:
    with pytest.raises(InvalidParameterError, match="coverage must lie"):
        summarize_model(income_model(), coverage)


@pytest.mark.slow
@given(additive_models())
def test_every_drawing_is_well_formed(model: AdditiveModel) -> None:
    for shape in summarize_model(model):
        for output in range(model.n_outputs):
            svg = ElementTree.fromstring(draw_shape(shape, output=output))
            numbers = re.findall(r"-?\d+\.?\d*", " ".join(e.get("d", "") for e in svg.iter()))
            assert all(-1 <= float(n) <= 500 for n in numbers)
            assert "nan" not in draw_shape(shape, output=output)


def test_a_drawing_shows_what_there_is() -> None:
    shape = {shape.name: shape for shape in summarize_model(set_score(income_model(), "hours", 0, 2.0))}["hours"]
    svg = draw_shape(shape)
    for name in ("band", "released", "line", "weights"):
        assert svg.count(f'class="{name}"') == 1
    assert "&lt;= 20: +2" in svg
    with pytest.raises(InvalidParameterError, match="output must lie"):
        draw_shape(shape, output=1)


@pytest.mark.parametrize("text", [*HOSTILE, "<script>boom()</script>", "\x00\x08", '"onload="boom()'])
def test_texts_are_escaped(text: str) -> None:
    term = Term(bins=(CategoryBins(text, ((text + "!",),)),), scores=np.array([1.0, 2.0]), name=text)
    model = AdditiveModel(
        attributes=(text,), terms=(term,), intercept=(0.0,), link="logit", classes=("no", text), target=text
    )
    local = model.contributions({text: np.array([text + "!"], dtype=object)})
    for made in (contributions_html(local), draw_shape(summarize_model(model)[0])):
        assert "<script" not in made
        tree = ElementTree.fromstring(f"<div>{made}</div>".replace("&mdash;", "-"))
        assert not [key for e in tree.iter() for key in e.attrib if key.startswith("on")]


@pytest.mark.parametrize(("groups", "last"), [((("a",), ("b",)), "missing"), ((("a",), ("b",), (None,)), "other")])
def test_the_last_bin_of_a_category_is_named_for_what_is_in_it(groups: Any, last: str) -> None:
    scores = np.arange(len(groups) + 1.0)
    model = AdditiveModel(
        attributes=("x",),
        terms=(Term(bins=(CategoryBins("x", groups),), scores=scores),),
        intercept=(0.0,),
        link="identity",
    )
    marks = re.findall(r'class="tick"[^>]*text-anchor="middle"[^>]*>([^<]*)<', draw_shape(summarize_model(model)[0]))
    assert marks[-1] == last
    assert marks.count("missing") == 1


def test_thousands_of_bins_are_drawn() -> None:
    model = simple_model(np.sin(np.arange(5002) / 300))
    svg = draw_shape(summarize_model(model)[0])
    assert len(svg) < 200_000
    assert svg.count("<text") < 40


def test_notebooks_show_models_and_explanations() -> None:
    model = income_model()
    html = model._repr_html_()
    # Each term has its shape, and a bar of its importance.
    assert html.count('<svg class="shape"') == len(model.terms)
    assert "log-odds that income is &gt;50K" in html
    local = model.contributions({name: np.array(["x"] if name == "job" else [1.0]) for name in model.tested})
    assert local._repr_html_().count("<tr>") == 1 + len(model.terms)
    assert summarize_model(model)[0]._repr_html_().startswith("<svg")


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.0, 1e-9), (-1e9, 3.0), (5.0, 5.0), (-1e300, 1e300)])
def test_ticks_are_round_and_few(low: float, high: float) -> None:
    found = ticks(low, high, 5)
    assert 1 <= len(found) <= 5
    assert all(low - 1e-9 * abs(low) <= tick <= high + 1e-9 * abs(high) for tick in found)


@pytest.mark.parametrize("span", [5e-324, 1e-310, 1e-290, 1e-3, 1e300])
def test_any_span_of_scores_has_ticks(span: float) -> None:
    found = ticks(0.0, span, 5)
    assert 1 <= len(found) <= 5
    assert all(0 <= tick <= span for tick in found)


def shape_of(bins: Any, scores: Any, **more: Any) -> Any:
    term = Term(bins=bins, scores=np.array(scores, dtype=float), **more)
    names = tuple(entry.attribute for entry in bins)
    return summarize_model(AdditiveModel(attributes=names, terms=(term,), intercept=(0.0,), link="identity"))[0]


def drawn_line(svg: str) -> tuple[list[float], list[float]]:
    """Return where the steps of a drawing end, and how high they lie."""
    (path,) = re.findall(r'class="line" d="([^"]+)"', svg)
    starts = [float(x) for x, _ in re.findall(r"M([\d.]+) ([\d.]+)", path)]
    heights = [float(y) for y in re.findall(r"(?:M[\d.]+ |V)([\d.]+)", path)]
    return starts[:1] + [float(x) for x in re.findall(r"H([\d.]+)", path)], heights


def test_bins_of_a_number_lie_to_scale_between_its_bounds() -> None:
    shape = shape_of((NumericBins("age", (20.0, 30.0, 90.0), bounds=(0.0, 100.0)),), [1, 2, 3, 4, 0])
    ends, _ = drawn_line(draw_shape(shape))
    shares = [(end - ends[0]) / (ends[-1] - ends[0]) for end in ends]
    assert shares == pytest.approx([0, 0.2, 0.3, 0.9, 1], abs=1e-3)
    labels = re.findall(r'text-anchor="middle"[^>]*>([^<]*)<', draw_shape(shape))
    assert labels[:-1] == ["0", "20", "40", "60", "80", "100"]


def test_numbers_of_an_axis_have_thousands_separators() -> None:
    svg = draw_shape(shape_of((NumericBins("income", (5000.0,), bounds=(0.0, 20000.0)),), [1, 2, 0]))
    assert ">10,000<" in svg


def test_a_bin_for_missing_values_is_drawn_where_it_says_something() -> None:
    bins = (NumericBins("age", (40.0,)),)
    assert ">missing<" not in draw_shape(shape_of(bins, [1, 2, 0], weights=[5, 5, 0]))
    assert ">missing<" in draw_shape(shape_of(bins, [1, 2, 0], weights=[5, 5, 1]))
    assert ">missing<" in draw_shape(shape_of(bins, [1, 2, -1]))
    assert ">missing<" in draw_shape(shape_of(bins, [1, 2, 0], errors=np.array([0.1, 0.1, 0.1])))
    # A private model publishes a noisy score there, and a noisy count of nobody: noise that looked like a finding.
    noise = np.array([0.1, 0.1, 0.1])
    assert ">missing<" not in draw_shape(shape_of(bins, [1, 2, 0.01], weights=[5, 5, -1], errors=noise))
    assert ">missing<" in draw_shape(shape_of(bins, [1, 2, 0.9], weights=[5, 5, -1], errors=noise))
    assert ">missing<" in draw_shape(shape_of(bins, [1, 2, 0.01], weights=[5, 5, 3], errors=noise))


def test_one_scale_makes_equal_scores_equally_high() -> None:
    small = shape_of((NumericBins("a", (1.0,)),), [0, 1, 0])
    large = shape_of((NumericBins("b", (1.0,)),), [1, 5, 0])
    scale = common_scale((small, large))
    assert scale == (0.0, 5.0)
    assert drawn_line(draw_shape(small, scale=scale))[1][1] == drawn_line(draw_shape(large, scale=scale))[1][0]
    assert drawn_line(draw_shape(small))[1][1] != drawn_line(draw_shape(large))[1][0]


def test_a_strip_of_records_stands_only_where_the_model_has_counts() -> None:
    bins = (NumericBins("age", (40.0,), bounds=(0.0, 80.0)),)
    assert 'class="weights"' not in draw_shape(shape_of(bins, [1, 2, 0]))
    (path,) = re.findall(r'class="weights" d="([^"]+)"', draw_shape(shape_of(bins, [1, 2, 0], weights=[40, 10, 0])))
    floors, tops = ([float(y) for y in re.findall(pattern, path)] for pattern in (r"M[\d.]+ ([\d.]+)", r"V([\d.]+)"))
    tall = [floor - top for floor, top in zip(floors, tops, strict=True)]
    # A quarter of the records is half as tall: the strip shows square roots.
    assert tall[1] == pytest.approx(tall[0] / 2, abs=0.11)


def test_a_heat_map_has_a_legend_and_its_numbers_grow_upwards() -> None:
    bins = (NumericBins("age", (40.0,), bounds=(0.0, 80.0)), CategoryBins("job", (("a",), ("b",))))
    svg = draw_shape(shape_of(bins, [[-2, 1, 0], [0.5, 1, 0], [0, 0, 0]]))
    assert svg.count('class="key"') == 10
    assert re.findall(r'text-anchor="start"[^>]*>([^<]*)<', svg) == ["+2", "0", "-2"]
    cells = {title: float(y) for y, title in re.findall(r'class="cell"[^>]*? y="([\d.]+)"[^>]*><title>([^<]*)', svg)}
    assert len(cells) == 4
    young = next(y for title, y in cells.items() if title.startswith("&lt;= 40 &amp; a"))
    old = next(y for title, y in cells.items() if title.startswith("&gt; 40 &amp; a"))
    assert old < young
