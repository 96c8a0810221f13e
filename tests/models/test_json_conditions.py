"""Every condition that a learner can choose is read back from a model's JSON."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from glassine import load_model, write_model
from glassine.domain import Between, Literal, OneOf
from glassine.models import Branch, DecisionTree, Evidence, Node

BOUNDS = ((-math.inf, math.inf), (-math.inf, 5.0), (5.0, math.inf), (1.0, 5.0))
FLAGS = tuple(itertools.product((False, True), repeat=2))
CONDITIONS: list[Literal] = [
    *(Between("x", lo, hi, negated=negated, missing=missing) for lo, hi in BOUNDS for negated, missing in FLAGS),
    *(OneOf("x", values, negated=negated, missing=missing) for values in ((), (1, 5)) for negated, missing in FLAGS),
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=repr)
def test_a_condition_reads_back(condition: Literal, tmp_path: Path) -> None:
    branches = (Branch(condition, 1), Branch(condition.negate(), 2))
    leaves = (Node(evidence=Evidence(label=0)), Node(evidence=Evidence(label=1)))
    tree = DecisionTree((Node(branches=branches), *leaves), ("x",), (0, 1))
    write_model(tree, tmp_path / "tree.json", overwrite=True)
    again = load_model(tmp_path / "tree.json")
    assert isinstance(again, DecisionTree)
    assert [branch.literal for branch in again.nodes[0].branches] == [condition, condition.negate()]
    values = np.array([0, 1, 3, 5, 9, np.nan])
    np.testing.assert_array_equal(again.nodes[0].branches[0].literal.holds(values), condition.holds(values))
