"""PMML by its meaning: what is read predicts as the specification scores each record, for random files and records."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from glassine.domain import Category, Domain, Real
from glassine.errors import InvalidDataError, UnsupportedModelError
from glassine.formats import tree_from_pmml
from tests.formats.pmml_evaluator import Disputed, Document

DOMAIN = Domain(
    {
        "a": Real(-2000, 2000, missing=True),
        "b": Real(-2000, 2000, missing=True),
        "c": Category(("p", "q", "r", "s"), missing=True),
    }
)
NUMBERS = [-999.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, math.nan]
STRATEGIES = ("none", "nullPrediction", "lastPrediction", "defaultChild")
FIELDS = {
    "a": (
        "",
        '<Value value="-999" property="missing"/>',
        '<Value value="2" property="invalid"/>',
        '<Interval closure="closedOpen" leftMargin="0" rightMargin="5"/>',
        '<Interval closure="openClosed" leftMargin="0" rightMargin="3"/><Value value="5"/>'
        '<Value value="-999" property="missing"/>',
    ),
    "c": (
        "",
        '<Value value="p"/><Value value="q"/><Value value="r"/>',
        '<Value value="q" property="invalid"/><Value value="r" property="missing"/>',
    ),
}
USES = {
    "a": (
        "",
        'missingValueReplacement="3"',
        'invalidValueTreatment="asMissing"',
        'invalidValueTreatment="asIs"',
        'invalidValueTreatment="asValue" invalidValueReplacement="1"',
        'missingValueTreatment="returnInvalid"',
        'outliers="asExtremeValues" lowValue="1" highValue="3"',
        'outliers="asMissingValues" lowValue="1" highValue="3" missingValueReplacement="4"',
    ),
    "c": ("", 'missingValueReplacement="p"', 'invalidValueTreatment="asMissing"', 'invalidValueTreatment="asIs"'),
}


def predicate(rng: random.Random, level: int = 0) -> str:
    kind = rng.random()
    if level < 2 and kind < 0.35:
        inner = "".join(predicate(rng, level + 1) for _ in range(rng.randint(1, 3)))
        return f'<CompoundPredicate booleanOperator="{rng.choice(OPERATORS)}">{inner}</CompoundPredicate>'
    if kind < 0.4:
        return rng.choice(("<True/>", "<False/>"))
    name = rng.choice("abc")
    if rng.random() < 0.1:
        return f'<SimplePredicate field="{name}" operator="{rng.choice(("isMissing", "isNotMissing"))}"/>'
    if rng.random() < 0.2:
        values = rng.sample(["p", "q", "r"] if name == "c" else ["1", "3", "5"], 2)
        operator = rng.choice(("isIn", "isNotIn"))
        return (
            f'<SimpleSetPredicate field="{name}" booleanOperator="{operator}"><Array n="2" type="string">'
            f"{' '.join(values)}</Array></SimpleSetPredicate>"
        )
    if name == "c":
        return (
            f'<SimplePredicate field="c" operator="{rng.choice(("equal", "notEqual"))}" value="{rng.choice("pqr")}"/>'
        )
    operator = rng.choice(("lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual", "equal", "notEqual"))
    return f'<SimplePredicate field="{name}" operator="{operator}" value=" {rng.choice((0, 1, 3, 5))} "/>'


OPERATORS = ("and", "or", "or", "xor", "surrogate")


def node(rng: random.Random, number: int, test: str, depth: int) -> str:
    children = [] if depth == 0 else [number * 10 + k for k in range(1, rng.randint(2, 4))]
    default = f' defaultChild="{rng.choice(children)}"' if children else ""
    inner = "".join(node(rng, child, predicate(rng), depth - 1) for child in children)
    return f'<Node id="{number}" score="n{number}"{default}>{test}{inner}</Node>'


def document(rng: random.Random) -> str:
    fields = {name: rng.choice(FIELDS[name]) if rng.random() < 0.6 else "" for name in "ac"}
    uses = {name: rng.choice(USES[name]) if rng.random() < 0.6 else "" for name in "ac"}
    last = rng.choice(("returnLastPrediction", "returnNullPrediction"))
    return (
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>'
        f'<DataField name="a" optype="continuous" dataType="double">{fields["a"]}</DataField>'
        '<DataField name="b" optype="continuous" dataType="double"/>'
        f'<DataField name="c" optype="categorical" dataType="string">{fields["c"]}</DataField>'
        '<DataField name="y" optype="categorical" dataType="string"/></DataDictionary>'
        f'<TreeModel functionName="classification" missingValueStrategy="{rng.choice(STRATEGIES)}" '
        f'noTrueChildStrategy="{last}"><MiningSchema><MiningField name="a" {uses["a"]}/><MiningField name="b"/>'
        f'<MiningField name="c" {uses["c"]}/><MiningField name="y" usageType="target"/></MiningSchema>'
        f"{node(rng, 1, '<True/>', rng.choice((1, 1, 2)))}</TreeModel></PMML>"
    )


def records(rng: random.Random) -> dict[str, Any]:
    n = 60
    return {
        "a": np.array(rng.choices(NUMBERS, k=n)),
        "b": np.array(rng.choices(NUMBERS, k=n)),
        "c": np.array(rng.choices(["p", "q", "r", "s", None], k=n), dtype=object),
    }


def outcomes(text: str, domain: Domain | None, data: dict[str, Any]) -> list[Any]:
    """Return what the model that is read predicts of each record; where it refuses a record, no prediction."""
    tree = tree_from_pmml(text.encode(), domain)
    out = []
    for i in range(len(data["a"])):
        try:
            out.append(tree.predict({name: column[i : i + 1] for name, column in data.items()})[0])
        except InvalidDataError:
            out.append(None)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("first", range(8))
def test_random_trees_predict_as_the_specification_scores_them(first: int) -> None:
    n_read = 0
    for seed in range(first * 50, first * 50 + 50):
        rng = random.Random(seed)
        text, data = document(rng), records(rng)
        scored = Document(text)
        try:
            read = outcomes(text, DOMAIN, data)
        except UnsupportedModelError:
            continue
        n_read += 1
        for i, ours in enumerate(read):
            record = {name: column[i] for name, column in data.items()}
            try:
                theirs = scored.score(record)
            except Disputed:
                pytest.fail(f"seed {seed}: read, though evaluators differ on {record}")
            assert ours == theirs, (seed, record)
    assert n_read > 35


LEVELS = '<Value value="low"/><Value value="mid"/><Value value="high"/>'


def ordinal(optype: str, operator: str, opposite: str, value: str) -> bytes:
    """Return a tree that compares a text with a level of an ordinal field."""
    nodes = "".join(
        f'<Node score="{score}"><SimplePredicate field="o" operator="{test}" value="{value}"/></Node>'
        for score, test in (("no", operator), ("yes", opposite))
    )
    return (
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>'
        f'<DataField name="o" optype="{optype}" dataType="string">{LEVELS}</DataField>'
        '<DataField name="y" optype="categorical" dataType="string"/></DataDictionary>'
        '<TreeModel functionName="classification"><MiningSchema><MiningField name="o"/>'
        '<MiningField name="y" usageType="target"/></MiningSchema>'
        f'<Node score="no"><True/>{nodes}</Node></TreeModel></PMML>'
    ).encode()


@pytest.mark.parametrize("value", ["low", "mid", "high"])
@pytest.mark.parametrize(("operator", "opposite"), [("lessOrEqual", "greaterThan"), ("lessThan", "greaterOrEqual")])
def test_levels_of_an_ordinal_field_stand_in_the_order_of_the_file(operator: str, opposite: str, value: str) -> None:
    levels = ["low", "mid", "high"]
    tree = tree_from_pmml(ordinal("ordinal", operator, opposite, value))
    below = [at < levels.index(value) or (at == levels.index(value) and "Equal" in operator) for at in range(3)]
    assert tree.predict({"o": np.array(levels, dtype=object)}).tolist() == ["no" if low else "yes" for low in below]


def test_values_without_an_order_are_not_compared() -> None:
    with pytest.raises(UnsupportedModelError, match="whose order is not stated"):
        tree_from_pmml(ordinal("categorical", "lessOrEqual", "greaterThan", "mid"))
