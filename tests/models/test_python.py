"""Python source gives what the model predicts, and runs nothing else."""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from glassine.domain import Between, OneOf
from glassine.errors import InvalidDataError, UnsupportedModelError
from glassine.formats import to_python
from glassine.models import DecisionTree, Evidence, Rule, RuleList
from tests.models.writing import HOSTILE, cases, chain, stump


def run(model: DecisionTree | RuleList) -> dict[str, Any]:
    """Functions of the written source; a name that it does not define is an error, and it must import nothing."""
    source = to_python(model)
    source.encode("ascii")
    tree = ast.parse(source)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {type(node) for node in tree.body[1:]} <= {ast.Assign, ast.FunctionDef}
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert calls <= own | {"float", "dict", "zip", "ValueError"}
    space: dict[str, Any] = {}
    exec(compile(source, "model.py", "exec"), space)  # noqa: S102, the source is what is tested
    return space


@pytest.mark.slow
@settings(max_examples=250)
@given(case=cases())
def test_the_source_predicts_what_the_model_predicts(case: Any) -> None:
    model, _, columns = case
    space = run(model)
    for row in range(12):
        one = {name: values[row : row + 1] for name, values in columns.items()}
        record = {name: values[0] for name, values in one.items()}
        try:
            expected = model.predict(one).tolist()[0]
        except InvalidDataError:
            with pytest.raises(ValueError, match="no branch"):
                space["predict"](record)
            continue
        found = space["predict"](record)
        assert found == expected
        assert type(found) is type(expected) or isinstance(expected, float)
        assert space["part"](record) == model.apply(one)[0]
        if model.classes is None:
            assert "predict_proba" not in space
            continue
        shares, published = space["predict_proba"](record), model.predict_proba(one)[0]
        assert (shares is None) == bool(np.isnan(published).any())
        if shares is not None:
            assert list(shares) == list(model.classes)
            assert list(shares.values()) == published.tolist()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_stay_texts(text: str) -> None:
    for name in (text, f"x{text}"):
        space = run(stump(name, text, (text, "other")))
        assert [space["predict"]({name: value}) for value in (text, "no", None)] == [text, "other", "other"]


def test_an_object_that_prints_as_code_is_written_as_what_it_is() -> None:
    class Sly(str):
        __slots__ = ()

        def __repr__(self) -> str:
            return "__import__('os').abort()"

        __str__ = __repr__

        def replace(self, *args: Any, **kwargs: Any) -> str:
            return repr(self)

    source = to_python(stump(Sly("x"), Sly("a"), (Sly("yes"), "no")))
    assert "abort" not in source
    assert run(stump(Sly("x"), Sly("a"), (Sly("yes"), "no")))["predict"]({"x": "a"}) == "yes"


def test_names_that_the_source_uses_are_not_taken() -> None:
    names = ("record", "part", "float", "ValueError", "class", "match", "_x0", "age", "AGE")
    tests = tuple(Between(name, hi=1.0) for name in names)
    rules = RuleList(
        (Rule(antecedent=tests, evidence=Evidence(label=1)), Rule(evidence=Evidence(label=0))), names, (0, 1)
    )
    space = run(rules)
    assert space["predict"](dict.fromkeys(names, 0)) == 1
    for name in names:
        assert space["predict"]({**dict.fromkeys(names, 0), name: 2}) == 0


def test_one_attribute_as_number_and_as_value() -> None:
    tests = (Between("x", lo=0.0, hi=9.0), OneOf("x", (3, 4), negated=True))
    rules = RuleList(
        (Rule(antecedent=tests, evidence=Evidence(label=1)), Rule(evidence=Evidence(label=0))), ("x",), (0, 1)
    )
    assert [run(rules)["predict"]({"x": x}) for x in (1, 3, 4.0, 9, 10, None, math.nan)] == [1, 0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("depth", [1, 39, 40, 41, 42, 130, 3000])
def test_any_depth_compiles(depth: int) -> None:
    space, model = run(chain(depth)), chain(depth)
    values = [-1.0, depth / 2, depth - 1.5, depth + 1.0, math.nan]
    assert [space["predict"]({"x": x}) for x in values] == model.predict({"x": np.array(values)}).tolist()


def test_a_missing_column_is_an_error() -> None:
    with pytest.raises(KeyError):
        run(stump("x", "a", ("no", "yes")))["predict"]({"y": "a"})


def test_numbers_of_numpy_and_beyond() -> None:
    classes: tuple[Any, ...] = (np.int64(7), 8)
    values: tuple[Any, ...] = (np.float64(0.5), np.int64(3), np.bool_(True), math.inf)
    rules = RuleList(
        (Rule(antecedent=(OneOf("x", values),), evidence=Evidence(label=0)), Rule(evidence=Evidence(label=1))),
        ("x",),
        classes,
    )
    space = run(rules)
    assert [space["predict"]({"x": x}) for x in (0.5, 3, 1, math.inf, 2)] == [7, 7, 7, 7, 8]
    odd: Any = (object(),)
    with pytest.raises(UnsupportedModelError, match="texts, numbers and Booleans"):
        to_python(RuleList((Rule(antecedent=(OneOf("x", odd),)), Rule()), ("x",), (0, 1)))


def test_other_objects_are_refused() -> None:
    wrong: Any = {"schema": "glassine.model/1"}
    with pytest.raises(UnsupportedModelError, match="not a model"):
        to_python(wrong)
