"""The editor page as text: what it holds, what it does not, and that nothing in a model can break out of it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from glassine.errors import InvalidParameterError
from glassine.formats.json import from_dict
from glassine.models import AdditiveModel, CategoryBins, NumericBins, Term
from glassine.models.editing import monotone
from glassine.report.editor_page import render_editor
from tests.models.additive_models import additive_models, income_model, simple_model


def data_of(page: str) -> Any:
    """Return what the page's script reads."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def written(page: str) -> str:
    """Return the JSON that the page would export without an edit."""
    data = data_of(page)
    text = data["pieces"][0]
    for term, piece in zip(data["terms"], data["pieces"][1:], strict=False):
        shape = (*term["shape"], term["outputs"]) if term["outputs"] > 1 else tuple(term["shape"])
        text += json.dumps(np.array(term["scores"]).reshape(shape).tolist()) + piece
    return str(text + json.dumps(data["edits"]) + data["pieces"][-1])


@pytest.mark.slow
@settings(max_examples=50)
@given(additive_models())
def test_the_pieces_make_up_the_model(model: AdditiveModel) -> None:
    assert from_dict(json.loads(written(render_editor(model)))) == model


def test_the_log_travels_along() -> None:
    model = monotone(income_model(), "age", reason="lore")
    assert from_dict(json.loads(written(render_editor(model)))) == model


class Elements(HTMLParser):
    """Collects elements and what they refer to."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.references: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.names.append(tag)
        self.references += [value or "" for key, value in attrs if key in ("src", "href", "action", "data", "srcset")]
        self.handlers += [key for key, _ in attrs if key.startswith("on")]


def test_the_page_loads_nothing_and_is_small() -> None:
    page = render_editor(simple_model([1.0, 2.0, 3.0]))
    assert len(page.encode()) < 100_000
    parser = Elements()
    parser.feed(page)
    assert parser.references == ["#plot"]
    assert parser.handlers == []
    assert parser.names.count("script") == 2
    assert not {"link", "img", "iframe", "object", "embed", "form", "base"} & set(parser.names)
    assert "default-src 'none'" in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|importScripts|eval|innerHTML|document\.write)\b", page)


@pytest.mark.parametrize(
    "text",
    ["</script><script>boom()</script>", "<!--", "]]>", "\u2028", "scores and edits go here", "&lt;", "{{ 7 * 7 }}"],
)
def test_texts_cannot_break_out(text: str) -> None:
    term = Term(bins=(CategoryBins(text, ((text + "!",),)),), scores=np.array([1.0, 2.0]), name=text)
    model = AdditiveModel(
        attributes=(text,),
        terms=(term,),
        intercept=(0.0,),
        link="logit",
        classes=("no", text),
        target=text,
        source=text,
    )
    page = render_editor(model)
    parser = Elements()
    parser.feed(page)
    assert parser.names.count("script") == 2
    assert from_dict(json.loads(written(page))) == model
    assert data_of(page)["terms"][0]["name"] == text


def test_the_page_says_what_is_claimed() -> None:
    assert "epsilon 1, delta 1e-06 (add-or-remove-one)" in render_editor(income_model())
    assert "claims no differential privacy" in render_editor(simple_model([1.0, 2.0, 3.0]))
    assert "95% of the noise of the term" in render_editor(income_model(), coverage=0.95)
    assert "<title>Editor: Ours</title>" in render_editor(income_model(), title="Ours")
    with pytest.raises(InvalidParameterError, match="coverage"):
        render_editor(income_model(), coverage=1.0)


def test_a_model_without_terms_has_a_page() -> None:
    model = AdditiveModel(attributes=("x",), terms=(), intercept=(0.5,), link="identity")
    assert from_dict(json.loads(written(render_editor(model)))) == model


def test_an_example_of_a_whole_number_is_whole_and_in_its_bin() -> None:
    bins = NumericBins("age", (39.5, 40.5, 12345.0), bounds=(18.0, 20000.0))
    for common in range(4):
        weights = [float(i == common) for i in range(5)]
        term = Term(bins=(bins,), scores=np.arange(5.0), weights=np.array(weights))
        model = AdditiveModel(attributes=("age",), terms=(term,), intercept=(0.0,), link="identity")
        shown = data_of(render_editor(model))["attributes"]["age"]
        assert shown["whole"]
        assert float(shown["start"]).is_integer()
        assert bins.index(np.array([float(shown["start"])])).tolist() == [common]
    fraction = Term(bins=(NumericBins("x", (0.25,), bounds=(0.0, 1.0)),), scores=np.arange(3.0))
    model = AdditiveModel(attributes=("x",), terms=(fraction,), intercept=(0.0,), link="identity")
    assert not data_of(render_editor(model))["attributes"]["x"]["whole"]
