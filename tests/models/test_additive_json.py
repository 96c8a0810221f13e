"""Additive models as JSON: round trips, and files that are malformed or lie."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.attacks.reconstruction.entropy import reconstruct
from glassine.domain import Domain, Integer
from glassine.errors import GlassineError, InvalidModelError, UnreadableFileError, UnsupportedModelError
from glassine.formats import fingerprint, load_model, tree_or_rules, write_model
from glassine.formats.json import from_dict, layout, to_dict
from glassine.models import AdditiveModel, RuleList
from glassine.models.editing import edit, monotone, set_score, zero
from tests.models.additive_models import additive_models, income_model, simple_model


@st.composite
def edited_models(draw: st.DrawFn) -> AdditiveModel:
    """Draw a model and up to three edits."""
    model = draw(additive_models())
    for _ in range(draw(st.integers(0, 3)) if model.terms else 0):
        term = draw(st.sampled_from(model.terms))
        reason = draw(st.sampled_from(["", "weil", "</script>", "\u2028"]))
        if draw(st.booleans()):
            model = zero(model, term.name, reason=reason)
            continue
        where = {"first": 0, "last": 0} if len(term.bins) == 1 else {"row": 0, "column": 1}
        model = edit(model, "set", term.name, {**where, "value": draw(st.floats(-9, 9))}, reason=reason)
    return model


@pytest.mark.slow
@given(edited_models())
def test_a_model_comes_back_whole(model: AdditiveModel) -> None:
    for text in (json.dumps(to_dict(model)), layout(to_dict(model)), json.dumps(to_dict(model), indent=1)):
        back = from_dict(json.loads(text))
        assert back == model
        assert fingerprint(back) == fingerprint(model)
    assert json.loads(layout(to_dict(model))) == to_dict(model)


def test_a_file_is_read_by_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    model = monotone(income_model(), "age", reason="as expected")
    write_model(model, path, overwrite=True)
    assert load_model(path) == model
    lines = path.read_text().splitlines()
    assert any(line.strip().startswith('"scores": [') and line.count(",") > 20 for line in lines)
    (tmp_path / "rules.txt").write_text("if [age <= 40] then [a] (3 examples)\nelse [b] (5 examples)")
    assert isinstance(load_model(tmp_path / "rules.txt"), RuleList)
    with pytest.raises(UnreadableFileError):
        load_model(tmp_path / "absent.json")


def test_what_needs_leaves_refuses_an_additive_model(tmp_path: Path) -> None:
    write_model(income_model(), tmp_path / "model.json", overwrite=True)
    model = load_model(tmp_path / "model.json")
    for use in (tree_or_rules, lambda given: reconstruct(given, Domain({"age": Integer(0, 99)}))):
        with pytest.raises(UnsupportedModelError, match="has no leaves or rules"):
            use(model)


def put(*path: Any, value: Any) -> Callable[[Any], None]:
    """Return a change that puts a value in a place."""

    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


def drop(*path: Any) -> Callable[[Any], None]:
    """Return a change that removes a place."""

    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        del data[path[-1]]

    return change


HOSTILE: dict[str, tuple[Callable[[Any], None], str]] = {
    "no terms": (drop("terms"), "lacks the key 'terms'"),
    "no link": (drop("link"), "lacks the key 'link'"),
    "no intercept": (drop("intercept"), "lacks the key 'intercept'"),
    "unknown key": (put("nodes", value=[]), "unknown key 'nodes'"),
    "unknown key of a term": (put("terms", 0, "colour", value=1), "unknown key 'colour'"),
    "another schema": (put("schema", value="glassine.model/9"), "reads models of schema"),
    "another kind": (put("kind", value="gam"), "kind must be"),
    "terms of a kind": (put("terms", value={}), "the model, terms, must be a list, got an object"),
    "a term of a kind": (put("terms", 0, value=3), "must be an object"),
    "attributes of a kind": (put("attributes", value=[1]), r"attributes\[0\], must be a text"),
    "classes of a kind": (
        put("classes", value=["a", None]),
        r"classes\[1\], must be a text, a finite number or a Boolean, got null",
    ),
    "three classes": (put("classes", value=["a", "b", "c"]), "two classes"),
    "a text as link": (put("link", value=3), "link, must be a text"),
    "intercept as a number": (put("intercept", value=1.0), "must be a list"),
    "intercept true": (put("intercept", value=[True]), r"intercept\[0\], must be a finite number"),
    "huge intercept": (put("intercept", value=[10**400]), "one beyond 1e300"),
    "no scores": (drop("terms", 0, "scores"), "lacks the key 'scores'"),
    "scores null": (put("terms", 0, "scores", value=None), r"terms\[0\].scores, must be a list of numbers, got null"),
    "scores as a number": (put("terms", 0, "scores", value=1), "must be a list"),
    "a score too many": (lambda data: data["terms"][0]["scores"].append(0.0), "must have shape"),
    "a score as text": (put("terms", 0, "scores", 0, value="0"), "finite numbers"),
    "a score true": (put("terms", 0, "scores", 0, value=True), "finite numbers"),
    "a score null": (put("terms", 0, "scores", 0, value=None), "finite numbers"),
    "a score beyond doubles": (put("terms", 0, "scores", 0, value=10**400), "one beyond"),
    "a nested score": (put("terms", 0, "scores", 0, value=[[0.0]]), "lists of one length"),
    "a ragged score": (put("terms", 0, "scores", 0, value=[0.0]), "lists of one length"),
    "negative errors": (put("terms", 0, "errors", 0, value=-1), "at least 0"),
    "weights too short": (put("terms", 0, "weights", value=[1]), "must have shape"),
    "cuts out of order": (put("terms", 0, "bins", 0, "cuts", 0, value=50), "increase strictly"),
    "cuts as text": (put("terms", 0, "bins", 0, "cuts", value="12"), "must be a list"),
    "no side closed": (drop("terms", 0, "bins", 0, "closed"), "lacks the key 'closed'"),
    "cuts and groups": (put("terms", 0, "bins", 0, "groups", value=[["a"]]), "either cuts or groups"),
    "neither": (drop("terms", 0, "bins", 0, "cuts"), "either cuts or groups"),
    "bounds of groups": (put("terms", 3, "bins", 0, "bounds", value=[0, 1]), "unknown key 'bounds'"),
    "groups of no lists": (
        put("terms", 3, "bins", 0, "groups", value=["a"]),
        r"terms\[3\].bins\[0\].groups\[0\], must be a list",
    ),
    "a category twice": (put("terms", 3, "bins", 0, "groups", value=[["a"], ["a"]]), "twice"),
    "a category as a list": (
        put("terms", 3, "bins", 0, "groups", 0, value=[["a"]]),
        r"groups\[0\]\[0\], must be a text, a finite",
    ),
    "missing twice": (put("terms", 3, "bins", 0, "groups", value=[[None], [None]]), "twice"),
    "an attribute unnamed": (
        put("terms", 0, "bins", 0, "attribute", value=7),
        r"bins\[0\].attribute, must be a text, got a number",
    ),
    "bins as an object": (put("terms", 0, "bins", value={}), r"terms\[0\].bins, must be a list"),
    "bounds too long": (put("terms", 0, "bins", 0, "bounds", value=[1, 2, 3]), "bounds, must hold 2 values, got 3"),
    "a guarantee without relation": (drop("guarantee", "neighboring"), "lacks the key 'neighboring'"),
    "a negative epsilon": (put("guarantee", "epsilon", value=-1), "epsilon must lie"),
    "target bounds of classes": (put("target_bounds", value=[0, 1]), "regression"),
    "edits as an object": (put("edits", value={}), "edits, must be a list"),
    "an edit without cells": (drop("edits", 0, "cells"), "lacks the key 'cells'"),
    "an edit of another term": (put("edits", 0, "term", value="agee"), "model lacks"),
    "an edit renumbered": (put("edits", 0, "number", value=2), "numbered 1, 2, 3"),
    "an edit out of range": (put("edits", 0, "cells", -1, value=99), "out of range"),
    "an edit with a cell twice": (
        lambda data: put("edits", 0, "cells", 0, value=data["edits"][0]["cells"][1])(data),
        "increasing",
    ),
    "an edit with one cell less": (drop("edits", 0, "cells", 0), "one score before"),
    "an edit that leads elsewhere": (put("edits", 0, "after", 0, value=0.0), "does not lead"),
    "an action unknown": (put("edits", 0, "action", value="delete"), "must be one of"),
    "parameters as a list": (put("edits", 0, "parameters", value=[]), "must be an object"),
    "a parameter as a list": (put("edits", 0, "parameters", "first", value=[0]), "text or a finite number"),
    "a reason null": (put("edits", 0, "reason", value=None), r"edits\[0\].reason, must be a text, got null"),
    "scores changed below the log": (put("terms", 0, "scores", 5, value=9.0), "does not lead"),
}


@pytest.fixture(scope="module")
def plain() -> Any:
    return to_dict(set_score(monotone(income_model(), "age"), "age", (0, 20), 0.25))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused(name: str, plain: Any) -> None:
    data = copy.deepcopy(plain)
    change, message = HOSTILE[name]
    if name == "an edit out of range":
        data["edits"] = data["edits"][:1]
    change(data)
    with pytest.raises(InvalidModelError, match=message):
        from_dict(data)


def test_the_honest_twin_is_read(plain: Any) -> None:
    assert len(from_dict(copy.deepcopy(plain)).edits) == 2  # type: ignore[union-attr]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**20) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@pytest.mark.slow
@given(st.data(), VALUES)
def test_any_damage_is_refused_or_harmless(data: st.DataObject, value: Any) -> None:
    damaged = to_dict(monotone(simple_model([0.0, 3.0, 1.0, 2.0], weights=[5, 1, 2, 0]), "x"))
    place: Any = damaged
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        inner = place[key]
        if isinstance(inner, dict | list) and inner and data.draw(st.booleans()):
            place = inner
            continue
        place[key] = value
        break
    try:
        model = from_dict(damaged)
    except GlassineError:
        return
    assert from_dict(json.loads(json.dumps(to_dict(model)))) == model
