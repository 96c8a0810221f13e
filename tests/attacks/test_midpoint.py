"""The midpoint attack."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from glassine import DecisionTree, Domain, Integer, as_model, parse_rules
from glassine.attacks import Measured, MidpointResult, NotApplicable, midpoint_attack
from glassine.attacks.membership.matching import pairs_at
from glassine.attacks.membership.outputs import LabelledRecords
from glassine.data.record_table import as_table
from glassine.domain import Between
from glassine.domain.single import single_bound, single_sides
from glassine.errors import InvalidDataError, InvalidModelError, InvalidParameterError
from glassine.learners import PrivateTreeClassifier
from glassine.models import Branch, Evidence, Node, TreeEnsemble
from glassine.models.ensemble import Placement
from glassine.models.tree import Forest

Pool = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], list[bool]]
SINGLE = st.floats(width=32, allow_nan=False, allow_infinity=False)


def attack(model: Any, candidates: Any, **options: Any) -> MidpointResult:
    outcome = midpoint_attack(model, candidates, random_state=0, **options)
    assert isinstance(outcome, Measured), outcome
    return outcome.value


@pytest.fixture(scope="module")
def cancer() -> Pool:
    X, y = load_breast_cancer(return_X_y=True)
    X_in, X_out, y_in, _ = train_test_split(X, y, test_size=0.3, random_state=0)
    return X_in, y_in, np.vstack([X_in, X_out]), [True] * len(X_in) + [False] * len(X_out)


def continuous(n: int, seed: int) -> Pool:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(2 * n, 3)), rng.integers(0, 2, n)
    return X[:n], y, X, [True] * n + [False] * n


@given(st.lists(SINGLE, min_size=2, max_size=8, unique=True))
@example([1.0, 1.0 + 2**-23, 4.0])
@example([-1e10, 1e-10, 2e-10, 3e-10])
@example([1e-30, 2e-30, 3e-30, 1.0])
@example([-3e38, 3e38])
@example([0.0, 1e-8, 1.0])
def test_pairs_are_those_that_scikit_learn_could_have_split(values: list[float]) -> None:
    numbers = np.unique(np.array(values))
    for low in numbers:
        for high in numbers[numbers > low]:
            threshold = float(low) / 2.0 + float(high) / 2.0
            threshold = float(low) if threshold == high else threshold
            first, above = single_sides(threshold) or (threshold, math.nextafter(threshold, math.inf))
            expected, alike = [], []
            for a in numbers[numbers <= threshold]:
                for b in numbers[numbers > threshold]:
                    middle = float(a) / 2.0 + float(b) / 2.0
                    middle = float(a) if middle == b else middle
                    if np.float32(b) <= np.float32(a) + np.float32(1e-7):
                        continue
                    if middle == threshold:
                        expected.append((float(a), float(b)))
                    if first <= middle < above:
                        alike.append((float(a), float(b)))
            assert pairs_at(numbers, threshold, exact=True) == sorted(expected)
            assert pairs_at(numbers, threshold) == sorted(alike), "a bound stands for all thresholds beside it"
            some = pairs_at(numbers, threshold, most=2)
            assert len(some) >= min(2, len(alike))
            assert set(alike).issuperset(some)


@pytest.mark.slow
@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=4, max_size=12), st.integers(0, 3))
def test_the_true_pair_is_always_among_those_that_match(values: list[float], seed: int) -> None:
    X = np.array(values)[:, None]
    y = np.random.default_rng(seed).integers(0, 2, len(values))
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    if tree.tree_.node_count == 1:
        return
    found = attack(tree, X, complete=True)
    assert found.complete
    assert found.n_explained == found.n_thresholds


def test_a_single_tree_on_breast_cancer_records(cancer: Pool) -> None:
    X_in, y_in, pool, truth = cancer
    tree = DecisionTreeClassifier(random_state=0).fit(X_in, y_in)
    found = attack(tree, pool, truth=truth)
    assert found.precision is not None
    assert found.recall is not None
    assert found.precision.value == 1.0
    assert found.recall.value >= 0.02
    certain = attack(tree, pool, truth=truth, complete=True)
    assert certain.precision is not None
    assert certain.recall is not None
    assert certain.precision.value == 1.0
    assert certain.recall.value >= 0.07
    assert len(certain.cleared) >= 10
    assert not any(truth[row] for row in certain.cleared)
    # Of two candidates that share a value, at least one is a member.
    assert all(any(truth[row] for row in group) for group in certain.groups)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ensemble", "share"),
    [
        (RandomForestClassifier(50, random_state=0), 0.45),
        pytest.param(RandomForestClassifier(30, bootstrap=False, random_state=0), 0.3, marks=pytest.mark.slow),
        (GradientBoostingClassifier(n_estimators=50, subsample=0.8, random_state=0), 0.15),
        (BaggingClassifier(DecisionTreeClassifier(), 20, max_features=0.5, random_state=0), 0.2),
        (AdaBoostClassifier(n_estimators=20, random_state=0), 0.01),
    ],
    ids=lambda value: type(value).__name__,
)
def test_ensembles_find_more_and_accuse_nobody_wrongly(cancer: Pool, ensemble: Any, share: float) -> None:
    X_in, y_in, pool, truth = cancer
    found = attack(ensemble.fit(X_in, y_in), pool, truth=truth, complete=True)
    assert found.complete
    assert found.precision is not None
    assert found.recall is not None
    assert found.precision.value == 1.0
    assert found.recall.value >= share
    assert not any(truth[row] for row in found.cleared)
    assert all(any(truth[row] for row in group) for group in found.groups)


def test_small_trees_on_groups_of_records_find_more(cancer: Pool) -> None:
    X_in, y_in, pool, truth = continuous(400, 0)
    one = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X_in, y_in)
    groups = [DecisionTreeClassifier(max_depth=3, random_state=0).fit(X_in[i::20], y_in[i::20]) for i in range(20)]
    alone, together = attack(one, pool, truth=truth), attack(groups, pool, truth=truth)
    assert alone.precision is not None
    assert together.precision is not None
    assert alone.recall is not None
    assert together.recall is not None
    assert alone.precision.value == together.precision.value == 1.0
    assert together.recall.value > 5 * alone.recall.value
    assert together.cleared == ()


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 5))])
def test_continuous_data_have_no_chance_matches(seed: int) -> None:
    X_in, y_in, pool, truth = continuous(200, seed)
    tree = DecisionTreeClassifier(random_state=0).fit(X_in, y_in)
    found = attack(tree, pool, truth=truth)
    assert found.precision is not None
    assert found.precision.value == 1.0
    assert found.expected_by_chance == 0
    assert len(found.accused) > 80
    strangers = attack(tree, pool[200:], truth=[False] * 200)
    assert (strangers.n_explained, strangers.accused, strangers.recall) == (0, (), None)
    # Half of the members are missing from the candidates: those that are there are still found, and nobody else.
    half = attack(tree, pool[100:], truth=truth[100:])
    assert half.precision is not None
    assert half.precision.value == 1.0
    assert len(half.accused) > 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decimals", "complete"),
    [(0, True), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((0, False), (1, False), (1, True)))],
)
def test_whole_numbers_accuse_nobody_wrongly(decimals: int, complete: bool) -> None:
    rng = np.random.default_rng(decimals)
    X = (rng.integers(17, 90, (600, 3)) + rng.normal(size=(600, 3))).round(decimals)
    y = rng.integers(0, 2, 300)
    forest = RandomForestClassifier(6, random_state=0).fit(X[:300], y)
    strangers = attack(forest, X[300:], complete=complete)
    # Chance explains many thresholds of whole numbers, so that a naive rule would accuse.
    assert strangers.n_unique > 10
    assert strangers.accused == ()
    assert not strangers.complete
    everyone = attack(forest, X, truth=[True] * 300 + [False] * 300, complete=True)
    assert everyone.complete
    assert everyone.precision is None or everyone.precision.value == 1.0


@pytest.mark.slow
def test_the_control_is_what_keeps_whole_numbers_from_accusing() -> None:
    # Twin of the test above with the control switched off: many are accused wrongly.
    rng = np.random.default_rng(0)
    X = rng.integers(17, 90, (600, 3)).astype(float)
    forest = RandomForestClassifier(10, random_state=0).fit(X[:300], rng.integers(0, 2, 300))
    half = np.vstack([X[:150], X[300:]])
    truth = [True] * 150 + [False] * 300
    careless, careful = (attack(forest, half, truth=truth, max_chance=limit) for limit in (1.0, 0.05))
    assert careless.precision is not None
    assert careless.precision.high < 0.9
    assert careful.precision is None or careful.precision.high > 0.9


def test_a_shared_value_accuses_nobody_alone() -> None:
    X = np.array([[1.0, 0], [2.0, 0], [2.0, 1], [7.5, 0], [20.25, 0]])
    tree = DecisionTreeClassifier().fit(X[[1, 3]], [0, 1])
    found = attack(tree, X, complete=True)
    assert (found.accused, found.groups, found.cleared) == ((3,), ((1, 2),), ())
    assert found.pairs[0].threshold == 4.75


def test_values_that_single_precision_cannot_tell_apart_are_shared() -> None:
    X = np.array([[1.0], [1.0 + 1e-12], [3.0]])
    tree = DecisionTreeClassifier().fit(X[[0, 2]], [0, 1])
    assert attack(tree, X, complete=True).groups == ((0, 1),)


def test_candidates_between_the_two_values_are_cleared() -> None:
    X = np.array([[1.0], [2.0], [2.7], [4.0]])
    tree = DecisionTreeClassifier().fit(X[[0, 3]], [0, 1])
    found = attack(tree, X, complete=True)
    assert (found.accused, found.cleared) == ((0, 3), (1, 2))


def test_what_one_threshold_tells_helps_to_read_another() -> None:
    # The root's pair is (1, 9); of the second attribute both (0, 6) and (2, 4) match, but 4 is of a cleared record.
    X = np.array([[1.0, 0.0], [9.0, 6.0], [5.5, 4.0], [1.0, 2.0]])
    first = Node(branches=(Branch(Between("a", hi=5.0), 1), Branch(Between("a", lo=5.0), 2)))
    leaf = Node(evidence=Evidence(counts=(1, 0)))
    other = Node(branches=(Branch(Between("b", hi=3.0), 1), Branch(Between("b", lo=3.0), 2)))
    trees = [DecisionTree(nodes=(node, leaf, leaf), attributes=("a", "b"), classes=(0, 1)) for node in (first, other)]
    found = attack(Forest(trees=tuple(trees)), X, complete=True)
    assert (found.accused, found.cleared) == ((0, 1), (2, 3))
    apart = attack(trees[1:], X, complete=True)
    assert apart.accused == ()


def test_missing_values_follow_the_tree_and_are_no_evidence() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[rng.random((300, 2)) < 0.3] = np.nan
    tree = DecisionTreeClassifier(random_state=0).fit(X[:150], rng.integers(0, 2, 150))
    found = attack(tree, X, truth=[True] * 150 + [False] * 150, complete=True)
    assert found.complete
    assert found.precision is not None
    assert found.precision.value == 1.0
    assert len(found.accused) > 60


@pytest.mark.slow
def test_frames_pipelines_and_published_trees_agree(cancer: Pool) -> None:
    X_in, y_in, pool, _ = cancer
    names = [f"v{i}" for i in range(X_in.shape[1])]
    frame = pd.DataFrame(pool, columns=names)
    tree = DecisionTreeClassifier(random_state=0).fit(frame[: len(X_in)], y_in)
    expected = attack(tree, frame)
    assert expected.accused
    polars = pl.from_pandas(frame).select(list(reversed(names)))
    for records in (polars, polars.to_arrow()):
        assert attack(tree, records).accused == expected.accused
    # A model that was read says between which two numbers of single precision a threshold lies, not where.
    read = attack(as_model(tree), frame)
    assert read.n_explained == expected.n_explained == read.n_thresholds
    # More pairs match by chance, so that the control accepts fewer attributes; on those nobody is lost or added.
    kept = {rate.attribute for rate in read.chance if rate.accepted}
    assert {rate.attribute for rate in expected.chance if rate.accepted} - kept == {"v23"}
    named = {row for pair in expected.pairs if pair.attribute in kept for row in (*pair.below, *pair.above)}
    assert set(read.accused) == named < set(expected.accused)
    assert len(named) == len(expected.accused) - 2
    for records in (polars, pool):
        assert attack(as_model(tree), records).accused == read.accused
    scaled = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)).fit(X_in, y_in)
    assert attack(scaled, pool, complete=True).complete


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (ExtraTreesClassifier(3), "at random"),
        (ExtraTreeClassifier(), "at random"),
        (DecisionTreeClassifier(splitter="random"), "at random"),
        (HistGradientBoostingClassifier(max_iter=2), "no trees whose thresholds are midpoints"),
        (LogisticRegression(max_iter=10_000), "no trees whose thresholds are midpoints"),
        (DecisionTreeClassifier(min_samples_leaf=200), "no threshold on a number"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_models_without_midpoints_are_not_applicable(model: Any, reason: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.integers(0, 2, 100)
    outcome = midpoint_attack(model.fit(X, y), X)
    assert isinstance(outcome, NotApplicable)
    assert reason in outcome.reason


def test_lists_private_trees_and_nothing_are_not_applicable() -> None:
    domain = Domain({"age": Integer(0, 99, thresholds=(29.5, 59.5))})
    X = pl.DataFrame({"age": list(range(0, 100, 2))})
    learner = PrivateTreeClassifier(max_depth=1, epsilon=5.0, domain=domain, classes=(0, 1), random_state=0)
    private = learner.fit(X, [0] * 25 + [1] * 25)
    rules = parse_rules("if [age <= 29.5] then [true]\nelse [false]")
    models: list[Any] = [private, private.model_, rules, []]
    for model in models:
        assert isinstance(midpoint_attack(model, X), NotApplicable)


def test_thresholds_on_a_public_grid_are_no_evidence() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    nodes = (
        Node(branches=(Branch(Between("x0", hi=0.25), 1), Branch(Between("x0", lo=0.25), 2))),
        Node(evidence=Evidence(counts=(100, 0))),
        Node(evidence=Evidence(counts=(0, 100))),
    )
    grid = DecisionTree(nodes=nodes, attributes=("x0",), classes=(0, 1))
    found = attack(grid, X, complete=True)
    assert (found.n_explained, found.accused, found.complete) == (0, (), False)


def test_a_regression_tree_and_a_tree_that_nobody_reaches() -> None:
    X_in, y_in, pool, truth = continuous(100, 3)
    found = attack(DecisionTreeRegressor(random_state=0).fit(X_in, y_in), pool, truth=truth)
    assert found.precision is not None
    assert found.precision.value == 1.0


def test_bad_input_is_refused() -> None:
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    named = DecisionTreeClassifier().fit(pd.DataFrame({"a": [0.0, 1.0]}), [0, 1])
    with pytest.raises(InvalidDataError, match="fitted on 1 columns"):
        midpoint_attack(tree, [[0.0, 1.0]])
    with pytest.raises(InvalidDataError, match="lack the column 'a'"):
        midpoint_attack(named, pl.DataFrame({"b": [1.0]}))
    with pytest.raises(InvalidDataError, match="lack the column 'a'"):
        midpoint_attack(as_model(named), pl.DataFrame({"b": [1.0]}))
    with pytest.raises(InvalidDataError, match="hold text"):
        midpoint_attack(tree, [["high"]])
    with pytest.raises(InvalidDataError, match="truth must say"):
        midpoint_attack(tree, [[0.0], [1.0]], truth=[True])
    with pytest.raises(InvalidDataError, match="truth must say"):
        midpoint_attack(tree, [[0.0], [1.0]], truth=[True, None])
    with pytest.raises(InvalidParameterError, match="max_chance"):
        midpoint_attack(tree, [[0.0]], max_chance=float("nan"))
    with pytest.raises(InvalidModelError, match="not fitted"):
        midpoint_attack(DecisionTreeClassifier(), [[0.0]])
    with pytest.raises(InvalidModelError, match="not fitted"):
        midpoint_attack(RandomForestClassifier(), [[0.0]])


def test_the_verdict_names_the_figures(cancer: Pool) -> None:
    X_in, y_in, pool, truth = cancer
    found = attack(DecisionTreeClassifier(random_state=0).fit(X_in, y_in), pool, truth=truth)
    assert "18 of 18 thresholds are midpoints" in found.verdict
    assert "the share of members is 1.000" in found.verdict
    assert "sole matches may be chance" in found.verdict
    assert f"{len(found.accused)} of 569" in repr(found)


@pytest.mark.slow
@pytest.mark.parametrize("again", [1000, 167])
def test_copies_among_the_candidates_do_not_silence_the_attack(again: int) -> None:
    rng = np.random.default_rng(0)
    X, y, truth = rng.normal(size=(1000, 3)), rng.integers(0, 2, 1000), np.arange(1000) < 500
    tree = DecisionTreeClassifier(random_state=0).fit(X[:500], y[:500])
    alone = attack(tree, X, truth=truth)
    found = attack(tree, np.vstack([X, X[:again]]), truth=[*truth, *truth[:again]])
    assert len(alone.accused) > 100
    assert (found.accused, found.groups, found.precision) == (alone.accused, alone.groups, alone.precision)
    assert (found.n_candidates, found.n_distinct) == (1000 + again, 1000)
    frame = pd.DataFrame(np.vstack([X, X[:again]]), columns=["a", "b", "c"])
    named = DecisionTreeClassifier(random_state=0).fit(frame[:500], y[:500])
    # A column that the model does not know makes no copy another record.
    assert attack(named, frame.assign(id=np.arange(1000 + again))).accused == alone.accused
    assert attack(as_model(named), pl.DataFrame(frame).with_row_index("id")).accused == alone.accused


def test_all_copies_of_a_cleared_candidate_are_cleared() -> None:
    X = np.array([[1.0], [2.0], [4.0], [2.0]])
    tree = DecisionTreeClassifier().fit(X[[0, 2]], [0, 1])
    found = attack(tree, X, complete=True, truth=[True, False, True, False])
    assert (found.accused, found.cleared, found.n_distinct) == ((0, 2), (1, 3), 3)


def test_rates_and_advantage_are_given_with_the_truth() -> None:
    X = np.array([[1.0], [2.0], [4.0], [9.0]])
    tree = DecisionTreeClassifier().fit(X[[0, 2]], [0, 1])
    found = attack(tree, X, complete=True, truth=[True, False, True, False])
    assert found.tpr is not None
    assert found.fpr is not None
    assert found.advantage is not None
    assert (found.tpr.value, found.fpr.value, found.advantage.value, found.base_rate) == (1.0, 0.0, 1.0, 0.5)
    assert found.advantage.method == "Newcombe's hybrid score"
    wrong = attack(tree, X, complete=True, truth=[False, True, True, True])
    assert wrong.advantage is not None
    assert wrong.advantage.value == pytest.approx(1 / 3 - 1)
    assert wrong.not_beyond_base_rate
    assert "Accusing at random would reach 0.750" in wrong.verdict
    unknown = attack(tree, X, complete=True)
    assert (unknown.tpr, unknown.fpr, unknown.advantage, unknown.base_rate) == (None, None, None, None)
    assert attack(tree, X, complete=True, truth=[True] * 4).advantage is None


@pytest.mark.parametrize("placed", ["values", "unknown"])
def test_midpoints_that_a_learner_rounds_to_single_precision_are_found(placed: Placement) -> None:
    """XGBoost halves the sum of two values in single precision where it sorts them; what is below goes left."""
    values = np.sort(np.random.default_rng(3).lognormal(10, 1, 600))
    single = values.astype(np.float32)
    middles = (single[:-1:20] + single[1::20]) * np.float32(0.5)
    bounds = np.array([single_bound(float(middle), below=True) for middle in middles])
    ensemble = TreeEnsemble(
        combined="sum",
        learner="XGBoost",
        attributes=("x",),
        classes=(0, 1),
        leaves=np.array([len(bounds) + 1]),
        thresholds={"x": bounds},
        placed=placed,
    )
    records = LabelledRecords(as_table(pl.DataFrame({"x": values})), np.zeros(len(values)), None)
    attack = midpoint_attack(ensemble, records, random_state=0)
    assert isinstance(attack, Measured)
    found = attack.value
    beside = {i for start in range(0, 599, 20) for i in (start, start + 1)}
    assert len(found.accused) > len(beside) / 2
    assert set(found.accused) <= beside
