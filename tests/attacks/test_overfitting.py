"""Distributional overfitting and vulnerability."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binomtest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import as_model, parse_rules
from glassine.attacks import Measured, NotApplicable, Vulnerability, vulnerability
from glassine.attacks.variation import _ClassCounts
from glassine.data import Sample
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.learners import OptimalTreeClassifier
from tests.attacks.sides import sides

RULES = parse_rules(
    "if [a] then [true] ([1 ; 3] examples)\n"
    "else if [b] then [false] ([2 ; 0] examples)\n"
    "else [false] ([2 ; 1] examples)"
)


def measured(outcome: object) -> Any:
    assert isinstance(outcome, Measured), outcome
    return outcome.value


def test_a_rule_list_by_hand() -> None:
    # Rows are (a, b); the rules capture a, then b, then the rest.
    X_in = [[1, 0], [1, 0], [1, 1], [0, 1], [1, 1], [0, 1], [0, 1], [0, 0]]
    y_in = [1, 1, 1, 1, 0, 0, 0, 0]
    X_out = [[1, 0], [0, 1], [0, 0], [0, 0], [0, 1], [0, 0]]
    y_out = [1, 1, 1, 1, 0, 0]
    found: Vulnerability = measured(vulnerability(RULES, Sample(X_in, y_in), Sample(X_out, y_out), random_state=0))
    tau = {label.label: label.tau for label in found.labels}
    # Class 1: members 3/4, 1/4, 0; others 1/4, 1/4, 2/4. Class 0: members 1/4, 2/4, 1/4; others 0, 1/2, 1/2.
    assert tau == {"0": pytest.approx(0.25), "1": pytest.approx(0.5)}
    shares = [label.share for label in found.labels]
    assert shares == pytest.approx([(1 / 2 + 1 / 3) / 2, (1 / 2 + 2 / 3) / 2])
    assert found.vulnerability.value == pytest.approx(0.5 + 0.5 * (shares[0] * 0.25 + shares[1] * 0.5))
    assert (found.over, found.n_parts) == ("rules", 3)


def test_a_model_of_one_part_or_of_the_same_parts_has_one_half() -> None:
    X, y = np.array([[1, 0], [0, 1], [0, 0]] * 10), np.array([1, 0] * 15)
    single = parse_rules("if [a] and [b] and [not a] then [true] ([1 ; 1] examples)\nelse [false] ([1 ; 1] examples)")
    for model in (RULES, single):
        found = measured(vulnerability(model, Sample(X, y), Sample(X, y), random_state=0))
        assert found.vulnerability.value == 0.5
        assert found.p_value == 1.0


def noise(n: int, seed: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(2 * n, 3)), rng.integers(0, 2, 2 * n)
    return X[:n], y[:n], X[n:], y[n:]


def test_the_control_shows_the_bias_of_a_model_that_knows_nothing() -> None:
    other, data = noise(300, 0), noise(300, 1)
    tree = DecisionTreeClassifier(max_leaf_nodes=30, random_state=0).fit(*other[:2])
    found: Vulnerability = measured(vulnerability(tree, *sides(*data), random_state=0))
    # V alone looks like leakage.
    assert found.vulnerability.value > 0.55
    assert found.control == pytest.approx(found.vulnerability.value, abs=0.03)
    assert found.vulnerability.low == 0.5
    assert found.p_value > 0.05
    assert "no more than chance" in found.verdict
    assert found.excess == pytest.approx(0, abs=0.03)


def test_an_overfit_tree_is_caught() -> None:
    data = noise(300, 0)
    found: Vulnerability = measured(
        vulnerability(DecisionTreeClassifier(random_state=0).fit(*data[:2]), *sides(*data), random_state=0)
    )
    assert found.p_value == 0.001
    assert found.vulnerability.low > 0.53
    assert "it is more than chance" in found.verdict
    assert f"{found.vulnerability.value:.3f}" in repr(found)


@pytest.mark.parametrize(
    ("p_in", "p_out", "m", "n"),
    [
        ([0.25] * 4, [0.25] * 4, 100, 100),
        ([0.05] * 20, [0.05] * 20, 80, 40),
        ([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], 100, 100),
        ([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], 500, 30),
        ([0.06] * 10 + [0.04] * 10, [0.04] * 10 + [0.06] * 10, 200, 60),
        ([1.0, 0.0], [0.5, 0.5], 200, 50),
    ],
)
def test_the_interval_covers_the_vulnerability_of_the_population(
    p_in: list[float], p_out: list[float], m: int, n: int
) -> None:
    rng = np.random.default_rng(0)
    truth = 0.5 + 0.25 * np.abs(np.array(p_in) - p_out).sum()
    runs, hits = 250, 0
    for _ in range(runs):
        table = _ClassCounts(rng.multinomial(m, p_in)[None, :], rng.multinomial(n, p_out)[None, :])
        estimate = table.estimate(0.9, 100, rng)[0]
        hits += estimate.low - 1e-12 <= truth <= estimate.high + 1e-12
    assert binomtest(hits, runs, 0.88, alternative="less").pvalue > 1e-4, hits


def test_the_p_value_keeps_its_level_where_classes_have_different_rates() -> None:
    # Members and others differ in their classes alone: tau is conditional on the class, so there is nothing to find.
    rng = np.random.default_rng(0)
    runs = 200
    rejected = 0
    for _ in range(runs):
        rows = [rng.multinomial(size, [0.2, 0.3, 0.5]) for size in (90, 30, 30, 90)]
        table = _ClassCounts(np.array(rows[:2]), np.array(rows[2:]))
        rejected += table.estimate(0.9, 99, rng)[2] <= 0.1
    assert binomtest(rejected, runs, 0.1, alternative="greater").pvalue > 1e-4, rejected


def test_leaves_of_every_kind_of_tree_agree() -> None:
    X_in, y_in, X_out, y_out = noise(200, 2)
    names = ["a", "b", "c"]
    frames = [pd.DataFrame(X, columns=names) for X in (X_in, X_out)]
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frames[0], y_in)
    pipe = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4, random_state=0)).fit(frames[0], y_in)
    values = {
        measured(
            vulnerability(model, Sample(frames[0], y_in), Sample(given, y_out), random_state=0)
        ).vulnerability.value
        for model in (tree, as_model(tree), pipe)
        for given in (frames[1], frames[1][["c", "b", "a"]])
    }
    assert len(values) == 1


def test_black_boxes_are_measured_by_their_predictions() -> None:
    data = noise(200, 3)
    forest = RandomForestClassifier(20, random_state=0).fit(*data[:2])
    found = measured(vulnerability(forest, *sides(*data), random_state=0))
    assert (found.over, found.n_parts) == ("predictions", 2)
    assert found.vulnerability.low > 0.6
    outcome = vulnerability(forest, *sides(*data), over="parts")
    assert isinstance(outcome, NotApplicable)
    assert "over='predictions'" in outcome.reason
    tree = DecisionTreeClassifier(random_state=0).fit(*data[:2])
    # Predictions are a coarser view than leaves.
    coarse, fine = (
        measured(vulnerability(tree, *sides(*data), over=over, random_state=0)) for over in ("predictions", "parts")
    )
    assert coarse.vulnerability.value <= fine.vulnerability.value


def test_learners_of_the_package_show_their_leaves() -> None:
    X_in, y_in, X_out, y_out = noise(100, 4)
    binary = [pl.DataFrame((X > 0).astype(int), schema=["a", "b", "c"]) for X in (X_in, X_out)]
    learner = OptimalTreeClassifier(max_depth=2).fit(binary[0], y_in)
    values = [
        measured(vulnerability(model, Sample(binary[0], y_in), Sample(binary[1], y_out), random_state=0))
        for model in (learner, learner.model_)
    ]
    assert values[0] == values[1]
    assert values[0].over == "leaves"


def test_subgroups_are_judged_beside_their_own_control() -> None:
    rng = np.random.default_rng(0)
    n = 400
    X = rng.normal(size=(2 * n, 2))
    group = np.array(["large"] * (2 * n), dtype=object)
    group[:40] = group[n : n + 20] = "small"
    # The large group's class follows from the attributes; the small one's does not and is learnt by heart.
    y = np.where(group == "small", rng.integers(0, 2, 2 * n), (X[:, 0] > 0).astype(int))
    frame = pl.DataFrame({"group": group.astype(str), "y": y})
    tree = DecisionTreeClassifier(random_state=0).fit(X[:n], y[:n])
    by_name = measured(
        vulnerability(
            tree, Sample(X[:n], y[:n]), Sample(X[n:], y[n:]), by={"group": (group[:n], group[n:])}, random_state=0
        )
    )
    groups = {entry.value: entry for entry in by_name.subgroups}
    assert {name: (entry.n_members, entry.n_nonmembers) for name, entry in groups.items()} == {
        "large": (360, 380),
        "small": (40, 20),
    }
    assert groups["small"].vulnerability.value > groups["large"].vulnerability.value
    assert groups["small"].control > groups["large"].control
    assert groups["small"].p_value < 0.05
    constant = frame.select(pl.lit(1).alias("a"), pl.lit(0).alias("b"), "group", "y")
    predicted = measured(
        vulnerability(RULES, Sample(constant[:n], "y"), Sample(constant[n:], "y"), by="group", random_state=0)
    )
    assert [entry.value for entry in predicted.subgroups] == ["large", "small"]
    assert [entry.vulnerability.value for entry in predicted.subgroups] == [0.5, 0.5]


def test_a_class_of_one_side_alone_is_left_out() -> None:
    X = [[1, 0], [0, 1], [0, 0], [1, 1]]
    found = measured(vulnerability(RULES, Sample(X, [1, 0, 0, 1]), Sample(X, [1, 1, 1, 1]), random_state=0))
    assert [label.label for label in found.labels] == ["1"]
    assert found.labels[0].share == 1.0
    outcome = vulnerability(RULES, Sample(X, [0] * 4), Sample(X, [1] * 4))
    assert isinstance(outcome, NotApplicable)
    assert "no class has both" in outcome.reason


def test_regressions_are_not_applicable() -> None:
    data = noise(30, 5)
    for model in (DecisionTreeRegressor(max_depth=2), LinearRegression()):
        fitted = model.fit(*data[:2])
        assert isinstance(vulnerability(fitted, *sides(*data)), NotApplicable)
    assert isinstance(
        vulnerability(as_model(DecisionTreeRegressor(max_depth=1).fit(*data[:2])), *sides(*data)), NotApplicable
    )


def test_bad_input_is_refused() -> None:
    data = noise(30, 6)
    tree = DecisionTreeClassifier().fit(*data[:2])
    options: dict[str, Any]
    for options in ({"over": "leaves"}, {"n_permutations": 0}, {"confidence": 1.0}):
        with pytest.raises(InvalidParameterError):
            vulnerability(tree, *sides(*data), **options)
    with pytest.raises(InvalidDataError, match="lack the column 'sex'"):
        vulnerability(tree, *sides(*data), by="sex")
    with pytest.raises(InvalidDataError, match="one value for each"):
        vulnerability(tree, *sides(*data), by={"sex": ([1], [2])})
