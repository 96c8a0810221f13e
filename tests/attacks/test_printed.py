"""Thresholds that were rounded in print: midpoints to half a digit."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, export_text

from glassine import Domain, Real, audit
from glassine.attacks.membership.midpoint import midpoint_attack
from glassine.attacks.membership.printed import decimals_of, half_step, pairs_within
from glassine.attacks.outcome import Measured
from glassine.formats import tree_from_export_text

N = 600
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(0, 10, 2 * N).round(4), "b": RNG.normal(size=2 * N).round(5)})
Y = (RNG.random(2 * N) < 1 / (1 + np.exp(-FRAME["a"] / 5))).astype(int)


@given(
    st.lists(st.integers(0, 4000), min_size=2, max_size=12, unique=True),
    st.integers(0, 4000),
    st.sampled_from([0, 1, 5, 50]),
)
def test_pairs_are_those_whose_midpoint_is_near(values: list[int], threshold: int, half: int) -> None:
    own = np.array(sorted(values), dtype=float)
    near = [(a, b) for a, b in itertools.combinations(own.tolist(), 2) if abs((a + b) / 2 - threshold) <= half]
    assert pairs_within(own, threshold, half) == near
    assert pairs_within(own, threshold, half, most=2) == near[:2]


@pytest.mark.parametrize("decimals", [3, 4])
def test_rounded_thresholds_name_those_whom_they_lie_between(decimals: int) -> None:
    tree = DecisionTreeClassifier(random_state=0).fit(FRAME[:N], Y[:N])
    text = export_text(tree, feature_names=["a", "b"], decimals=decimals, max_depth=99)
    attacked = midpoint_attack(tree_from_export_text(text), FRAME, truth=[True] * N + [False] * N, random_state=0)
    assert isinstance(attacked, Measured)
    assert attacked.value.n_named > 100
    assert attacked.value.precision is not None
    assert attacked.value.precision.value > 0.95


def test_the_check_on_thresholds_fails_by_a_text_of_few_decimals() -> None:
    tree = DecisionTreeClassifier(random_state=0).fit(FRAME[:N], Y[:N])
    text = export_text(tree, feature_names=["a", "b"], decimals=3, max_depth=99, show_weights=True)
    domain = Domain({name: Real(-100, 100, resolution=1e-5) for name in "ab"})
    findings = audit(tree_from_export_text(text), FRAME[:N].assign(y=Y[:N]), "y", domain=domain)
    assert next(check.status for check in findings.checks if check.rule == "named_by_thresholds") == "fail"


def test_midpoints_that_print_has_in_full_stay_exact() -> None:
    assert half_step(decimals_of([0.5, 37.25]), np.array([0.5, 37.0, np.nan])) == 0
    assert half_step(decimals_of([0.1234567891]), np.array([0.12345])) == 0
