"""Edits of a model: what each does, its log, undo and redo, and logs that lie."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from glassine.errors import InvalidModelError, InvalidParameterError
from glassine.formats.json import from_dict, to_dict
from glassine.models import AdditiveModel, NumericBins, Term, editing
from glassine.models.editing import (
    Editor,
    edit,
    flatten,
    monotone,
    redo,
    revert,
    set_score,
    shift,
    smooth,
    undo,
    verify,
    zero,
)
from tests.models.additive_models import additive_models, income_model, simple_model

ROW = [0.0, 3.0, 1.0, 2.0, 9.0]


def row_of(model: AdditiveModel, term: str = "x") -> list[float]:
    values: list[float] = model.term(term).scores[:, 0].tolist()
    return values


CASES: list[tuple[Callable[[AdditiveModel], AdditiveModel], list[float]]] = [
    (lambda m: set_score(m, "x", 1, -1.0), [0.0, -1.0, 1.0, 2.0, 9.0]),
    (lambda m: set_score(m, "x", (1, 2), -1), [0.0, -1.0, -1.0, 2.0, 9.0]),
    (lambda m: set_score(m, "x", "missing", 0.5), [0.0, 3.0, 1.0, 2.0, 0.5]),
    (lambda m: set_score(m, "x", ("<= 1", "2 to 3"), 7.0), [7.0, 7.0, 7.0, 2.0, 9.0]),
    (lambda m: shift(m, "x", (2, 4), 0.5), [0.0, 3.0, 1.5, 2.5, 9.5]),
    (lambda m: flatten(m, "x"), [1.5, 1.5, 1.5, 1.5, 9.0]),
    (lambda m: flatten(m, "x", (1, 2)), [0.0, 2.0, 2.0, 2.0, 9.0]),
    (lambda m: monotone(m, "x"), [0.0, 2.0, 2.0, 2.0, 9.0]),
    (lambda m: monotone(m, "x", "decreasing"), [1.5, 1.5, 1.5, 1.5, 9.0]),
    (lambda m: monotone(m, "x", "decreasing", (1, 3)), [0.0, 3.0, 1.5, 1.5, 9.0]),
    (lambda m: smooth(m, "x", strength=1.0), [1.5, 4 / 3, 2.0, 1.5, 9.0]),
    (lambda m: smooth(m, "x", (0, 1), strength=1.0, passes=2), [1.5, 1.5, 1.0, 2.0, 9.0]),
    (lambda m: zero(m, "x"), [0.0] * 5),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_each_edit_does_what_it_says_and_can_be_taken_back(number: int) -> None:
    change, expected = CASES[number]
    model = simple_model(ROW)
    after = change(model)
    assert row_of(after) == pytest.approx(expected)
    assert row_of(model) == ROW
    assert len(after.edits) == 1
    record = after.edits[0]
    assert [ROW[cell] for cell in record.cells] == list(record.before)
    assert [row_of(after)[cell] for cell in record.cells] == list(record.after)
    assert undo(after) == revert(after) == model
    assert redo(undo(after), record) == after
    assert from_dict(json.loads(json.dumps(to_dict(after)))) == after
    verify(after)


def test_monotone_weighs_noisy_counts_with_a_floor() -> None:
    random = np.random.default_rng(3)
    scores, weights = random.normal(size=41), random.normal(20, 40, size=41)
    model = monotone(simple_model(scores, weights), "x")
    expected = IsotonicRegression().fit_transform(np.arange(40), scores[:40], sample_weight=np.maximum(weights[:40], 1))
    assert (weights[:40] < 0).sum() > 5
    assert np.allclose(row_of(model)[:40], expected, rtol=1e-12)
    assert row_of(model)[40] == scores[40]
    falling = row_of(monotone(simple_model(scores, weights), "x", "decreasing"))[:40]
    assert all(a >= b for a, b in itertools.pairwise(falling))
    mirrored = IsotonicRegression(increasing=False).fit_transform(
        np.arange(40), scores[:40], sample_weight=np.maximum(weights[:40], 1)
    )
    assert np.allclose(falling, mirrored, rtol=1e-12)


def test_pairs_are_edited_cell_by_cell() -> None:
    model = income_model()
    after = set_score(model, "hours & married", ("38 to 42", "1"), 0.25)
    changed = after.term("hours & married").scores != model.term("hours & married").scores
    assert np.argwhere(changed).tolist() == [[3, 1, 0]]
    assert after.term("hours & married").scores[3, 1, 0] == 0.25
    moved = shift(after, "hours & married", (3, 1), 0.5)
    assert moved.term("hours & married").scores[3, 1, 0] == 0.75
    assert not zero(moved, "hours & married").term("hours & married").scores.any()
    verify(zero(moved, "hours & married"))


def test_one_output_or_all() -> None:
    bins = NumericBins("x", (1, 2))
    term = Term(bins=(bins,), scores=np.array([[3.0, 1.0], [1.0, 3.0], [2.0, 2.0], [0.0, 0.0]]))
    model = AdditiveModel(attributes=("x",), terms=(term,), intercept=(0.0, 0.0), link="softmax", classes=("a", "b"))
    one = monotone(model, "x", output=0)
    assert one.term("x").scores[:, 0].tolist() == [2.0, 2.0, 2.0, 0.0]
    assert one.term("x").scores[:, 1].tolist() == [1.0, 3.0, 2.0, 0.0]
    assert dict(one.edits[0].parameters)["output"] == 0
    both = monotone(model, "x")
    assert both.term("x").scores[:, 1].tolist() == [1.0, 2.5, 2.5, 0.0]
    assert zero(model, "x", output=1).term("x").scores.sum(axis=0).tolist() == [6.0, 0.0]
    for output in (2, -1, 0.5, True):
        with pytest.raises(InvalidParameterError, match="output"):
            zero(model, "x", output=output)  # type: ignore[arg-type]


def test_edits_spend_nothing_and_keep_everything_else() -> None:
    model = income_model()
    after = smooth(monotone(model, "age", reason="lore"), "gain")
    assert after.guarantee == model.guarantee
    for term, was in zip(after.terms, model.terms, strict=True):
        assert np.array_equal(term.errors, was.errors)  # type: ignore[arg-type]
        assert np.array_equal(term.weights, was.weights)  # type: ignore[arg-type]
        assert (term == was) == (term.name not in ("age", "gain"))
    assert replace(after, terms=model.terms, edits=()) == model
    assert [record.reason for record in after.edits] == ["lore", ""]


def test_an_edit_that_changes_nothing_is_logged_too() -> None:
    after = monotone(simple_model([0.0, 1.0, 2.0, 5.0]), "x")
    assert row_of(after) == [0.0, 1.0, 2.0, 5.0]
    assert after.edits[0].cells == ()
    assert undo(after).edits == ()


REFUSED: list[tuple[Callable[[AdditiveModel], Any], str]] = [
    (lambda m: set_score(m, "x", 5, 1.0), "first of set"),
    (lambda m: set_score(m, "x", -1, 1.0), "first of set"),
    (lambda m: set_score(m, "x", 1.0, 1.0), "first of set"),  # type: ignore[arg-type]
    (lambda m: set_score(m, "x", True, 1.0), "first of set"),
    (lambda m: set_score(m, "x", "4 to 5", 1.0), "no bin '4 to 5'"),
    (lambda m: set_score(m, "x", (2, 1), 1.0), "in order"),
    (lambda m: set_score(m, "x", (0, 1, 2), 1.0), "first and a last"),  # type: ignore[arg-type]
    (lambda m: set_score(m, "x", 1, math.nan), "finite number"),
    (lambda m: set_score(m, "x", 1, math.inf), "finite number"),
    (lambda m: set_score(m, "x", 1, True), "finite number"),
    (lambda m: set_score(m, "x", 1, "2"), "finite number"),  # type: ignore[arg-type]
    (lambda m: set_score(m, "x", 1, 1.0, reason=None), "reason must be a text"),  # type: ignore[arg-type]
    (lambda m: set_score(m, "x", 1, 1.0, output=0), "no parameter 'output'"),
    (lambda m: smooth(m, "x", strength=0.0), "strength must lie"),
    (lambda m: smooth(m, "x", strength=1.5), "strength must lie"),
    (lambda m: smooth(m, "x", strength=math.nan), "finite number"),
    (lambda m: smooth(m, "x", passes=0), "passes of smooth"),
    (lambda m: smooth(m, "x", passes=101), "passes of smooth"),
    (lambda m: smooth(m, "x", (0, 4)), "last of smooth"),
    (lambda m: monotone(m, "x", "up"), "direction must be"),
    (lambda m: monotone(m, "x", "increasing", (0, 4)), "last of monotone"),
    (lambda m: edit(m, "delete", "x", {}), "an edit must be one of"),
    (lambda m: edit(m, "set", "x", {"first": 0, "last": 0}), "lacks the parameter 'value'"),
    (lambda m: edit(m, "zero", "x", {"first": 0}), "no parameter 'first'"),
    (lambda m: undo(m, 1), "0 to 0 edits"),
    (lambda m: undo(m, -1), "0 to 0 edits"),
    (lambda m: Editor(m).redo(), "0 to 0 edits"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_impossible_edits_are_refused(number: int) -> None:
    act, message = REFUSED[number]
    with pytest.raises(InvalidParameterError, match=message):
        act(simple_model(ROW))


def test_refusals_by_kind_of_term() -> None:
    model = income_model()
    for act in (smooth, monotone):
        with pytest.raises(InvalidParameterError, match="no order"):
            act(model, "job")
        with pytest.raises(InvalidParameterError, match="two attributes"):
            act(model, "hours & married")
    with pytest.raises(InvalidParameterError, match="give the bin of each"):
        set_score(model, "hours & married", 3, 1.0)
    with pytest.raises(InvalidModelError, match="no term 'wage'"):
        zero(model, "wage")
    with pytest.raises(InvalidModelError, match="not finite"):
        smooth(simple_model([1e300, 1e300, 1.0], weights=[1e300, 1e300, 0]), "x")


def test_redo_only_where_it_was_undone() -> None:
    model = monotone(simple_model(ROW), "x")
    record = model.edits[0]
    with pytest.raises(InvalidModelError, match="does not follow"):
        redo(model, record)
    with pytest.raises(InvalidModelError, match="other scores"):
        redo(simple_model([5.0, 4.0, 3.0, 2.0, 1.0]), record)
    with pytest.raises(InvalidModelError, match="does not follow"):
        redo(simple_model([5.0, 4.0]), record)


@st.composite
def scripts(draw: st.DrawFn) -> tuple[AdditiveModel, list[AdditiveModel]]:
    """Draw a model and what it becomes edit by edit."""
    model = draw(additive_models())
    steps = [model]
    for _ in range(draw(st.integers(0, 5)) if model.terms else 0):
        term = draw(st.sampled_from(model.terms))
        options: list[tuple[str, dict[str, Any]]] = [("zero", {})]
        if len(term.bins) == 2:
            cell = {"row": draw(st.integers(0, term.shape[0] - 1)), "column": draw(st.integers(0, term.shape[1] - 1))}
            options += [("set", {**cell, "value": draw(st.floats(-9, 9))}), ("shift", {**cell, "by": 0.1})]
        else:
            first = draw(st.integers(0, term.shape[0] - 1))
            where = {"first": first, "last": draw(st.integers(first, term.shape[0] - 1))}
            options += [("set", {**where, "value": 1}), ("shift", {**where, "by": 1e-3}), ("flatten", where)]
            if isinstance(term.bins[0], NumericBins):
                whole = {"first": 0, "last": term.shape[0] - 2}
                options += [("monotone", {**whole, "direction": "decreasing"})]
                options += [("smooth", {**whole, "strength": 0.3, "passes": 3})]
        action, parameters = draw(st.sampled_from(options))
        output = draw(st.sampled_from([None, 0])) if model.n_outputs > 1 else None
        try:
            steps.append(edit(steps[-1], action, term.name, parameters, output=output))
        except InvalidModelError:
            break
    return model, steps


@pytest.mark.slow
@settings(max_examples=80)
@given(scripts())
def test_any_sequence_can_be_taken_back_and_made_again(script: tuple[AdditiveModel, list[AdditiveModel]]) -> None:
    model, steps = script
    final = steps[-1]
    verify(final)
    for n in range(len(steps)):
        assert undo(final, n) == steps[len(steps) - 1 - n]
    assert revert(final) == model
    again = model
    for record in final.edits:
        again = redo(again, record)
    assert again == final
    editor = Editor(final).revert()
    assert editor.model == model
    assert editor.redo(len(final.edits)).model == final


def test_the_editor_forgets_undone_edits_when_a_new_one_is_made() -> None:
    editor = Editor(simple_model(ROW)).set("x", 0, 1.0).shift("x", 0, 1.0).undo()
    assert [record.action for record in editor.undone] == ["shift"]
    editor.flatten("x").smooth("x").monotone("x").zero("x")
    assert not editor.undone
    assert [record.action for record in editor.model.edits] == ["set", "flatten", "smooth", "monotone", "zero"]
    assert repr(editor) == "<editor of an additive model of 1 term on 1 attribute, 5 edits>"
    with pytest.raises(InvalidParameterError):
        editor.undo(6)


def lie(model: AdditiveModel, **changes: Any) -> AdditiveModel:
    """Return the model with its last edit described in another way."""
    return replace(model, edits=(*model.edits[:-1], replace(model.edits[-1], **changes)))


def test_a_log_that_lies_is_found_out() -> None:
    model = monotone(set_score(simple_model(ROW), "x", 0, 5.0), "x")
    verify(model)
    with pytest.raises(InvalidModelError, match="in another way"):
        verify(lie(model, action="flatten", parameters=(("first", 0), ("last", 2))))
    with pytest.raises(InvalidModelError, match="in another way"):
        verify(lie(model, parameters=(("first", 0), ("last", 3), ("direction", "decreasing"))))
    with pytest.raises(InvalidModelError, match="cannot be done"):
        verify(lie(model, parameters=(("first", 0), ("last", 9), ("direction", "increasing"))))
    with pytest.raises(InvalidModelError, match="cannot be done"):
        verify(lie(model, parameters=()))
    nothing = lie(undo(model), action="zero", parameters=())
    with pytest.raises(InvalidModelError, match="in another way"):
        verify(nothing)


def test_every_public_name_is_there() -> None:
    assert {"monotone", "set_score", "undo", "verify"} <= set(editing.__all__)
    assert all(hasattr(editing, name) for name in editing.__all__)
