"""Multiway trees: scikit-learn's contract, the splits by their definition, and what is published."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from glassine import Category, Domain, GlassineError, Integer
from glassine.learners.greedy.impurity import CRITERIA, impurity, split_information
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from tests.attacks.disclosure.naive import score, splits

ATTRIBUTES = ("age", "job", "town")


def people(seed: int, n: int = 40, n_classes: int = 3) -> tuple[pl.DataFrame, list[str]]:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 26, n),
            "job": rng.choice(["clerk", "baker", "pilot"], n).tolist(),
            "town": rng.choice(["north", "south"], n).tolist(),
        }
    )
    return frame, [f"c{c}" for c in rng.integers(0, n_classes, n)]


@parametrize_with_checks([MultiwayTreeClassifier(), MultiwayTreeClassifier(criterion="gain_ratio")])  # type: ignore[untyped-decorator]  # scikit-learn ships no types
def test_scikit_learn_contract(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), criterion=st.sampled_from(CRITERIA), smallest=st.integers(2, 20))
@settings(max_examples=40)
def test_every_split_is_a_best_one_by_its_definition(seed: int, criterion: str, smallest: int) -> None:
    frame, y = people(seed)
    model = MultiwayTreeClassifier(criterion=criterion, min_samples_split=smallest).fit(frame, y).model_
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    rows = {0: np.arange(len(y))}
    for index, node in enumerate(model.nodes):
        inside = rows.get(index, np.zeros(0, dtype=int))
        own = [y[i] for i in inside]
        assert node.evidence.counts == tuple(own.count(c) for c in model.classes)
        best, chosen = 0.0, 0.0
        if own:
            found = [score(s, own, criterion) for name in ATTRIBUTES
                     for s in splits(columns[name][inside].tolist(), multiway=True, smallest=1)]  # fmt: skip
            best = max(found, default=0.0)
        if not node.branches:
            assert len(own) < smallest or best < 1e-9
            continue
        assert len(own) >= smallest
        way = np.full(len(inside), -1)
        for branch in node.branches:
            taken = (way < 0) & branch.literal.holds(columns[branch.literal.attribute][inside])
            way[taken] = branch.child
            rows[branch.child] = inside[taken]
        assert (way >= 0).all()
        chosen = score(way.tolist(), own, criterion)
        assert chosen == pytest.approx(best, abs=1e-9)


def test_without_pruning_people_who_differ_are_told_apart() -> None:
    frame, y = people(1)
    learner = MultiwayTreeClassifier(criterion="entropy").fit(frame, y)
    truth = pd.Series(y).groupby([frame[name].to_list() for name in frame.columns]).agg(lambda g: g.mode()[0])
    rows = list(zip(*(frame[name].to_list() for name in frame.columns), strict=True))
    right = sum(a == b for a, b in zip(learner.predict(frame), y, strict=True))
    assert right == sum(y[i] == truth[row] or y.count(y[i]) < 0 for i, row in enumerate(rows))


def test_prepruning() -> None:
    frame, y = people(2, n=200)
    sizes = [len(MultiwayTreeClassifier(min_samples_split=k).fit(frame, y).model_.cells) for k in (2, 20, 80, 201)]
    assert sizes[0] > sizes[1] > sizes[2] > sizes[3] == 1
    assert MultiwayTreeClassifier(max_depth=2).fit(frame, y).model_.depth == 2
    gains = [len(MultiwayTreeClassifier(min_impurity_decrease=g).fit(frame, y).model_.nodes) for g in (0.0, 0.005, 1.0)]
    assert gains[0] > gains[1] > gains[2] == 1


def test_values_that_a_node_lacks_have_a_branch_without_records() -> None:
    frame = pl.DataFrame({"job": ["clerk", "baker", "clerk", "baker"]})
    domain = Domain({"job": Category(("clerk", "baker", "pilot"), missing=True)})
    learner = MultiwayTreeClassifier(domain=domain, classes=("no", "yes")).fit(frame, ["no", "yes", "no", "yes"])
    assert [str(cell) for cell in learner.model_.cells] == [
        "job = clerk",
        "job = baker",
        "job not in {clerk, baker} or missing",
    ]
    assert learner.model_.cells[2].evidence.counts == (0, 0)
    new = pl.DataFrame({"job": ["pilot", None, "pope", "baker"]})
    assert learner.predict(new).tolist() == ["no", "no", "no", "yes"]
    assert learner.predict_proba(new).sum(axis=1) == pytest.approx(1)


def test_a_missing_category_is_a_value_and_a_missing_number_stops_a_split() -> None:
    domain = Domain({"job": Category(("clerk",), missing=True), "age": Integer(0, 99, missing=True)})
    frame = pl.DataFrame({"job": ["clerk", None, "clerk", None], "age": [1, 2, None, 4]})
    learner = MultiwayTreeClassifier(domain=domain).fit(frame, [0, 1, 0, 1])
    assert [str(cell) for cell in learner.model_.cells] == ["job is missing", "job = clerk"]
    assert learner.predict(frame).tolist() == [0, 1, 0, 1]
    alone = MultiwayTreeClassifier(domain=domain.restrict(["age"])).fit(frame.select("age"), [0, 1, 0, 1])
    assert len(alone.model_.cells) == 1


def test_weights_equal_repeated_rows() -> None:
    frame, y = people(4)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = MultiwayTreeClassifier().fit(frame, y, sample_weight=weights)
    repeated = MultiwayTreeClassifier(domain=weighted.domain_).fit(frame[rows], [y[i] for i in rows])
    assert replace(weighted.model_, sizes="stored") == repeated.model_


def test_frames_pickles_and_clones() -> None:
    frame, y = people(5)
    plain = MultiwayTreeClassifier(criterion="gain_ratio", min_samples_split=8).fit(frame, y)
    for other in (frame.to_pandas(), frame.to_arrow()):
        assert clone(plain).fit(other, y).model_ == plain.model_
    assert (
        MultiwayTreeClassifier(criterion="gain_ratio", min_samples_split=8)
        .fit(frame.with_columns(y=pl.Series(y)), "y")
        .model_
        == plain.model_
    )
    assert pickle.loads(pickle.dumps(plain)).predict(frame).tolist() == plain.predict(frame).tolist()
    assert {name for name in vars(plain) if name.endswith("_")} == plain.released
    assert plain.certificate_.epsilon == float("inf")
    assert cross_val_score(
        MultiwayTreeClassifier(domain=plain.domain_), frame.to_pandas(), np.array(y), cv=3
    ).shape == (3,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "twoing"}, "criterion must be one of"),
        ({"criterion": None}, "criterion must be one of"),
        ({"min_samples_split": 1}, "min_samples_split must be a whole number"),
        ({"min_samples_split": 2.5}, "min_samples_split must be a whole number"),
        ({"max_depth": 0}, "max_depth must be a whole number"),
        ({"min_impurity_decrease": float("nan")}, "min_impurity_decrease"),
        ({"min_impurity_decrease": -0.1}, "min_impurity_decrease"),
    ],
)
def test_bad_parameters_are_refused(options: dict[str, Any], message: str) -> None:
    frame, y = people(6)
    with pytest.raises(GlassineError, match=message):
        MultiwayTreeClassifier(**options).fit(frame, y)


def test_there_is_no_class_whose_size_could_be_told() -> None:
    frame, y = people(6)
    with pytest.raises(GlassineError, match="grown greedily"):
        MultiwayTreeClassifier().fit(frame, y).log_class_size()


def test_impurities_by_hand() -> None:
    assert impurity([1, 3], "gini") == pytest.approx(4 * (1 - 1 / 16 - 9 / 16))
    assert impurity([1, 3], "misclassification") == pytest.approx(1)
    assert impurity([1, 3], "entropy") == pytest.approx(-np.log(1 / 4) - 3 * np.log(3 / 4))
    assert impurity([[0, 0], [0, 5]], "gain_ratio") == pytest.approx([0, 0])
    assert split_information([1, 1, 2]) == pytest.approx(1.5 * np.log(2))
