"""Trees of many nodes are columns in JSON: the same model, in a file that can be read again."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import as_model, load_model, write_model
from glassine.codec import Refused
from glassine.errors import InvalidModelError
from glassine.formats import json_nodes
from glassine.formats.json import from_dict, to_dict

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
TREES = {
    "classes": as_model(DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, RNG.integers(0, 3, 300))),
    "numbers": as_model(DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, X[:, 0])),
    "gaps": as_model(
        DecisionTreeClassifier(max_depth=4, random_state=0).fit(
            np.where(RNG.random((300, 3)) < 0.2, np.nan, X), RNG.integers(0, 2, 300)
        )
    ),
    "leaf": as_model(DecisionTreeClassifier(max_depth=1).fit(np.zeros((3, 1)), [0, 0, 0])),
}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_nodes, "MOST_ROWS", 0)


@pytest.mark.parametrize("kind", TREES)
def test_columns_hold_the_same_tree(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = TREES[kind]
    write_model(tree, tmp_path / "tree.json")
    plain = json.loads((tmp_path / "tree.json").read_text())
    assert isinstance(plain["nodes"], dict)
    assert load_model(tmp_path / "tree.json") == tree
    monkeypatch.setattr(json_nodes, "MOST_ROWS", 10_000)
    assert load_model(tmp_path / "tree.json") == tree


@pytest.mark.parametrize("kind", TREES)
def test_keys_stand_in_the_order_of_their_first_use(kind: str) -> None:
    # By the order of a set, another process would write other bytes, and take the file for none of Glassine.
    nodes, literals = TREES[kind].nodes, [branch.literal for node in TREES[kind].nodes for branch in node.branches]
    plain = to_dict(TREES[kind])["nodes"]
    assert list(plain["if"]) == list(dict.fromkeys(key for one in literals for key in json_nodes.LITERAL.encode(one)))
    own = dict.fromkeys(key for node in nodes for key in json_nodes.EVIDENCE.encode(node.evidence))
    assert list(plain) == ["branches", "if", "child", *own]


@pytest.mark.parametrize("bound", [1.5, -1e300, 1, True, "1", 1e301, float("inf"), float("nan")])
@pytest.mark.parametrize("keys", [("above",), ("at_most",), ("above", "at_most"), ("above", "missing")])
def test_conditions_in_columns_are_read_as_those_of_nodes(keys: tuple[str, ...], bound: object) -> None:
    plain = {
        "attribute": "x",
        **{key: True if key == "missing" else 2e9 if at else bound for at, key in enumerate(keys)},
    }
    node = {"branches": [{"if": plain, "child": 1}, {"if": {"attribute": "x", "missing": True}, "child": 2}]}
    columns = {key: [plain[key], True if key == "missing" else None] for key in plain}
    columns |= {"attribute": ["x", "x"], "missing": [plain.get("missing"), True]}
    rows, in_columns = [node, {}, {}], {"branches": [2, 0, 0], "if": columns, "child": [1, 2]}

    def outcome(value: object) -> object:
        try:
            return json_nodes.read_nodes(value)
        except Refused as refused:
            return str(refused), refused.path

    assert outcome(in_columns) == outcome(rows)


def _lengths(nodes: dict[str, Any]) -> None:
    nodes["branches"][0] = 10**12


def _sum(nodes: dict[str, Any]) -> None:
    nodes["branches"][-1] += 1


def _short(nodes: dict[str, Any]) -> None:
    nodes["counts"].pop()


def _conditions(nodes: dict[str, Any]) -> None:
    nodes["if"]["attribute"].pop()


def _unknown(nodes: dict[str, Any]) -> None:
    nodes["secret"] = [1] * len(nodes["branches"])


def _of_nothing(nodes: dict[str, Any]) -> None:
    nodes["John Smith of 12 High Street is ill"] = [None] * len(nodes["branches"])


def _no_list(nodes: dict[str, Any]) -> None:
    nodes["child"] = {"a": 1}


def _text(nodes: dict[str, Any]) -> None:
    nodes["branches"][0] = "2"


def _far(nodes: dict[str, Any]) -> None:
    nodes["child"][0] = 10**6


@pytest.mark.parametrize("damage", [_lengths, _sum, _short, _conditions, _unknown, _of_nothing, _no_list, _text, _far])
def test_damaged_columns_are_refused(damage: Callable[[dict[str, Any]], None]) -> None:
    plain = copy.deepcopy(to_dict(TREES["classes"]))
    damage(plain["nodes"])
    with pytest.raises(InvalidModelError):
        from_dict(plain)
