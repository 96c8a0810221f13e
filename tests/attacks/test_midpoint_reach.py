"""The midpoint attack against several trees, each learnt from some of the candidates only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import as_model
from glassine.attacks import Measured, midpoint_attack
from glassine.errors import InvalidDataError

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(240, 2)), rng.integers(0, 2, 240)
PARTS = [np.arange(0, 80), np.arange(80, 160)]
TRUTH = [True] * 160 + [False] * 80


def trees(published: bool) -> list[Any]:
    fitted = [DecisionTreeClassifier(random_state=0).fit(X[rows], Y[rows]) for rows in PARTS]
    return [as_model(tree) for tree in fitted] if published else fitted


@pytest.mark.parametrize("published", [False, True])
def test_every_pair_is_found_among_those_a_tree_was_learnt_from(published: bool) -> None:
    outcome = midpoint_attack(trees(published), X, truth=TRUTH, reach=PARTS, complete=True, random_state=0)
    assert isinstance(outcome, Measured)
    found = outcome.value
    assert found.n_explained == found.n_thresholds
    assert found.precision is not None
    assert found.precision.value == 1
    for pair in found.pairs:
        assert {*pair.below, *pair.above} <= set(PARTS[pair.tree].tolist())


def test_who_is_out_of_reach_is_not_accused() -> None:
    model = trees(published=True)
    outcome = midpoint_attack(model, X, truth=TRUTH, reach=[PARTS[0], []], complete=True, random_state=0)
    assert isinstance(outcome, Measured)
    assert outcome.value.accused
    assert max(outcome.value.accused) < 80
    crossed = midpoint_attack(model, X, truth=TRUTH, reach=PARTS[::-1], random_state=0)
    assert isinstance(crossed, Measured)
    assert crossed.value.accused == ()


def test_rows_are_those_of_the_candidates_where_some_are_equal() -> None:
    frame = pd.DataFrame(np.vstack([X[:5], X]), columns=["x0", "x1"])
    shifted = [np.concatenate([PARTS[0] + 5, np.arange(5)]), PARTS[1] + 5]
    outcome = midpoint_attack(trees(published=True), frame, reach=shifted, complete=True, random_state=0)
    assert isinstance(outcome, Measured)
    plain = midpoint_attack(trees(published=True), X, reach=PARTS, complete=True, random_state=0)
    assert isinstance(plain, Measured)
    # The first of equal candidates is named.
    expected = {row if row < 5 else row + 5 for row in plain.value.accused}
    assert set(outcome.value.accused) == expected


@pytest.mark.parametrize("reach", [PARTS[:1], [[0.5], [1]], [[-1], [1]], [[0], [240]], [[[0]], [1]]])
def test_reach_must_hold_rows_for_each_tree(reach: Any) -> None:
    with pytest.raises(InvalidDataError, match="reach must hold"):
        midpoint_attack(trees(published=False), X, reach=reach)
    with pytest.raises(InvalidDataError, match="reach must hold"):
        midpoint_attack(trees(published=False)[0], X, reach=PARTS)
