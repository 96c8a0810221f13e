"""Label disclosure and value leakage."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from glassine import Domain, Integer, Real, as_model, parse_rules
from glassine.attacks import Measured, NotApplicable
from glassine.attacks.label_disclosure import disclose_labels
from glassine.attacks.outcome import for_public
from glassine.attacks.value_leakage import leak_values, thresholds_of
from glassine.data import infer_domain
from glassine.data.record_table import columns
from glassine.domain import Between, Category, OneOf
from glassine.models import Branch, DecisionTree, Evidence, Node


def test_label_disclosure_of_a_small_tree() -> None:
    rules = parse_rules("if [a] then [true] ([0 ; 6] examples)\nelse [false] ([3 ; 1] examples)")
    outcome = disclose_labels(rules)
    assert isinstance(outcome, Measured)
    found = outcome.value
    assert (found.n_records, found.purest, found.n_certain) == (10, 1.0, 6)
    assert (found.guess_rate, found.base_rate) == (0.9, 0.7)
    prior = -0.3 * math.log2(0.3) - 0.7 * math.log2(0.7)
    left = 0.4 * (-0.75 * math.log2(0.75) - 0.25 * math.log2(0.25))
    assert found.bits_prior == pytest.approx(prior)
    assert found.bits_left == pytest.approx(left)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("if [a] then [true] (6 examples)\nelse [false] (4 examples)", "does not publish the class counts"),
        ("if [a] then [true] ([0 ; 0] examples)\nelse [false] ([0 ; 0] examples)", "all zero"),
    ],
)
def test_labels_that_cannot_be_judged(text: str, reason: str) -> None:
    outcome = disclose_labels(parse_rules(text))
    assert isinstance(outcome, NotApplicable)
    assert reason in outcome.reason


def cart(frame: pd.DataFrame, labels: np.ndarray, **options: object) -> DecisionTree:
    from sklearn.tree import DecisionTreeClassifier

    tree = as_model(DecisionTreeClassifier(random_state=0, **options).fit(frame, labels))
    assert isinstance(tree, DecisionTree)
    return tree


def test_every_threshold_of_cart_is_the_midpoint_of_two_training_values() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300), "y": rng.normal(size=300).round(2)})
    labels = ((frame["x"] + frame["y"] + 0.5 * rng.normal(size=300)) > 0).to_numpy().astype(int)
    tree = cart(frame, labels, max_depth=6)
    domain = Domain({"x": Real(-9.0, 9.0), "y": Real(-9.0, 9.0, 0.001)})
    leakage = leak_values(tree, domain, columns(frame))
    assert leakage.n_thresholds == len(thresholds_of(tree)) > 20
    assert leakage.n_midpoints == leakage.n_thresholds
    assert leakage.n_off_grid == leakage.n_thresholds
    assert isinstance(leakage.n_records_at_midpoints, int)
    assert leakage.n_records_at_midpoints >= 20


def _n_midpoints(tree: DecisionTree, frame: pd.DataFrame, step: float) -> int:
    """Count naively: walk every node's records, and leave out cuts between neighbors on a grid of this step."""
    found, stack = set(), [(0, frame)]
    while stack:
        node, rows = stack.pop()
        for branch in tree.nodes[node].branches:
            literal = branch.literal
            assert isinstance(literal, Between)
            stack.append((branch.child, rows[literal.holds(rows[literal.attribute].to_numpy())]))
            values = rows[literal.attribute]
            for bound in {literal.lo, literal.hi} - {-math.inf, math.inf}:
                low, high = values[values <= bound].max(), values[values > bound].min()
                if round((high - low) / step) > 1:
                    found.add((literal.attribute, bound))
    return len(found)


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize(("step", "inferred"), [(1, False), (1, True), (0.5, False)])
def test_a_cut_between_adjacent_values_of_the_domain_is_no_midpoint(n: int, step: float, inferred: bool) -> None:
    rng = np.random.default_rng(n)
    frame = pd.DataFrame({"x": rng.integers(0, 120, n) * step})
    tree = cart(frame, (frame["x"] / step + 30 * rng.normal(size=n) > 60).to_numpy(), max_depth=6)
    top = 119 * step
    attribute = (
        Integer(0, 119, thresholds=(0,), inferred=inferred) if step == 1 else Real(0, top, step, thresholds=(0,))
    )
    leakage = leak_values(tree, Domain({"x": attribute}), columns(frame))
    assert leakage.n_midpoints == _n_midpoints(tree, frame, step) < leakage.n_thresholds
    assert leakage.n_midpoints > 0 or n > 60


def test_an_inferred_resolution_excuses_no_midpoint() -> None:
    frame = pd.DataFrame({"x": [0.1] * 5 + [0.2] * 5 + [0.4] * 5})
    tree = cart(frame, (frame["x"] > 0.15).to_numpy())
    assert leak_values(tree, infer_domain(frame), columns(frame)).n_midpoints == 1
    assert leak_values(tree, Domain({"x": Real(0.0, 1.0, 0.1)}), columns(frame)).n_midpoints == 0


def test_other_data_show_no_midpoints() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=200)})
    tree = cart(frame, (frame["x"] + rng.normal(size=200) > 0).to_numpy(), max_depth=4)
    others = pd.DataFrame({"x": rng.normal(size=200)})
    assert leak_values(tree, None, columns(frame)).n_midpoints == leak_values(tree).n_thresholds > 0
    assert leak_values(tree, None, columns(others)).n_midpoints == 0


def test_values_beyond_single_precision_still_match() -> None:
    """scikit-learn takes midpoints of values rounded to float32."""
    values = np.array([16777217.0, 16777221.0, 1e-9, 3.3e7])
    frame = pd.DataFrame({"x": np.tile(values, 5)})
    tree = cart(frame, (frame["x"] > 16777218).to_numpy())
    assert leak_values(tree, None, columns(frame)).n_midpoints == len(thresholds_of(tree)) == 1


def test_public_cut_points_leak_nothing() -> None:
    nodes = (
        Node(branches=(Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2))),
        Node(),
        Node(branches=(Branch(Between("age", hi=47), 3), Branch(Between("age", lo=47), 4))),
        Node(),
        Node(),
    )
    tree = DecisionTree(nodes, ("age",))
    leakage = leak_values(tree, Domain({"age": Integer(0, 100, thresholds=(20, 40, 60))}))
    assert (leakage.n_thresholds, leakage.n_off_grid, leakage.n_midpoints) == (2, 1, None)
    assert leak_values(tree).n_off_grid is None


def test_exact_bounds_lone_categories_and_lone_targets() -> None:
    frame = pd.DataFrame({"age": [20, 30, 45, 61], "town": ["a", "a", "b", "b"], "job": ["x", "y", "y", "y"]})
    domain = Domain({"age": Integer(20, 99), "town": Category(("a", "b")), "job": Category(("x", "y"))})
    nodes = (
        Node(branches=(Branch(OneOf("job", ("x",)), 1), Branch(OneOf("job", ("y",)), 2))),
        Node(evidence=Evidence(total=1, value=1234.5)),
        Node(evidence=Evidence(total=3, value=17.0)),
    )
    leakage = leak_values(DecisionTree(nodes, ("job",)), domain, columns(frame))
    assert leakage.exact_bounds == ("age",)
    assert leakage.lone_categories == ("job",)
    assert leakage.n_lone_targets == 1


def test_rule_thresholds_are_compared_with_the_records_that_reach_the_rule() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0, 8.0, 16.0]})
    rules = parse_rules(
        "if [x <= 3] then [true] (2 examples)\nelse if [x <= 12] then [true] (2 examples)\nelse [false] (1 example)",
        Domain({"x": Real(0.0, 20.0)}),
    )
    assert leak_values(rules, None, columns(frame)).n_midpoints == 2


def regression(*values: float) -> DecisionTree:
    """Return a tree of two leaves that publishes two values and no numbers of records."""
    nodes = (
        Node(branches=(Branch(Between("x", hi=2), 1), Branch(Between("x", lo=2), 2))),
        *(Node(evidence=Evidence(value=value)) for value in values),
    )
    return DecisionTree(nodes, ("x",))


def test_dominance_is_the_largest_share_of_two_contributions_in_a_leaf() -> None:
    data = {"x": np.array([1, 1, 2, 3, 3, 3]), "y": np.array([50.0, 30.0, 20.0, 5.0, 5.0, 5.0])}
    leakage = leak_values(regression(33.0, 5.0), None, data, target="y")
    assert leakage.dominance == pytest.approx(0.8)
    # Together the records of one person are one contribution.
    people = leak_values(regression(33.0, 5.0), None, data, target="y", whose=np.array([0, 1, 0, 2, 2, 3]))
    assert people.dominance == pytest.approx(1.0)
    for large in (np.inf, -np.inf, 1.7e308):
        odd = {**data, "y": np.where(data["y"] == data["y"].max(), large, data["y"])}
        assert leak_values(regression(33.0, 5.0), None, odd, target="y").dominance == 1.0
    assert leak_values(regression(33.0, 5.0), None, data).dominance is None


def test_a_leaf_whose_value_is_that_of_one_record_publishes_it() -> None:
    data = {"x": np.array([1, 1, 1, 3, 3, 3]), "y": np.array([50.0, 30.0, 20.0, 5.0, 5.0, 8.0])}
    assert leak_values(regression(30.0, 5.0), None, data, target="y").n_lone_values == 1
    assert leak_values(regression(33.0, 6.0), None, data, target="y").n_lone_values == 0


def test_what_is_counted_in_the_data_stays_out_of_the_public_number_of_lone_targets() -> None:
    data = {"x": np.array([1, 1, 1, 3, 3, 3]), "y": np.array([50.0, 30.0, 20.0, 5.0, 5.0, 8.0])}
    other = {**data, "y": np.array([50.0, 31.0, 20.0, 5.0, 5.0, 8.0])}
    found = [leak_values(regression(30.0, 5.0), None, one, target="y") for one in (data, other)]
    assert [one.n_lone_values for one in found] == [1, 0]
    assert [for_public(one).n_lone_targets for one in found] == [0, 0]
    assert [for_public(one).n_lone_values for one in found] == [None, None]
