"""Internal constraints: what is true satisfies them, and they say what the paper says."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from glassine import as_model
from glassine.attacks.disclosure import Adversary
from glassine.attacks.disclosure.constraints import Constraints, derive_constraints
from glassine.attacks.disclosure.cutting_planes import cut_at, tangent
from glassine.attacks.disclosure.people import People, read_people
from glassine.data.record_table import columns
from glassine.learners.greedy.impurity import CRITERIA, Criterion, impurity
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from glassine.models import DecisionTree
from tests.attacks.disclosure.instances import categories, mixed
from tests.attacks.disclosure.naive import broken


def known(tree: DecisionTree, frame: Any, adversary: Adversary) -> tuple[People, Constraints]:
    people = read_people(tree, columns(frame), categories=adversary.categories)
    return people, derive_constraints(tree, people, adversary)


def table_of(people: People, labels: list[Any], classes: tuple[Any, ...]) -> npt.NDArray[np.float64]:
    out = np.zeros((len(people.sizes), len(classes)))
    np.add.at(out, (people.person, np.array([classes.index(label) for label in labels])), 1.0)
    return out


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), criterion=st.sampled_from(CRITERIA), n=st.integers(6, 80))
@settings(max_examples=60)
@example(seed=0, criterion="gini", n=6)
def test_the_truth_satisfies_every_constraint_of_its_own_multiway_tree(seed: int, criterion: Criterion, n: int) -> None:
    frame, y, tree = categories(seed, criterion=criterion, n=n)
    people, constraints = known(tree, frame, Adversary(criterion=criterion))
    truth = table_of(people, y, tree.classes or ())
    assert constraints.violations(truth) == ()
    assert constraints.satisfied(truth)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(3))
def test_numbers_and_categories_of_a_multiway_tree(criterion: Criterion, seed: int) -> None:
    frame, y = mixed(seed)
    tree = MultiwayTreeClassifier(criterion=criterion, min_samples_split=8).fit(frame, y).model_
    people, constraints = known(tree, frame, Adversary(criterion=criterion, splits="multiway", min_samples_leaf=1))
    assert constraints.families.n_candidates > 10
    assert constraints.satisfied(table_of(people, y, tree.classes))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("smallest", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_the_truth_satisfies_the_constraints_of_scikit_learn(criterion: Criterion, smallest: int, seed: int) -> None:
    frame, y = mixed(seed, n=200, n_classes=3)
    data = frame.to_pandas()
    tree = DecisionTreeClassifier(criterion=criterion, min_samples_leaf=smallest, max_leaf_nodes=20, random_state=seed)
    encoder = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    model = as_model(make_pipeline(encoder, tree).fit(data, y))
    assert isinstance(model, DecisionTree)
    for assumed in (None, smallest):
        adversary = Adversary(criterion=criterion, splits="binary", min_samples_leaf=assumed)
        people, constraints = known(model, data, adversary)
        assert {"age", "hours", "job"} <= set(constraints.families.attributes)
        assert constraints.violations(table_of(people, y, model.classes or ())) == ()


def test_a_random_part_of_the_attributes_leaves_the_chosen_one() -> None:
    frame, y = mixed(3, n=300)
    numbers = frame.select("age", "hours").to_pandas()
    found = []
    for seed in range(10):
        model = as_model(DecisionTreeClassifier(max_features=1, max_leaf_nodes=8, random_state=seed).fit(numbers, y))
        assert isinstance(model, DecisionTree)
        people, all_of_them = known(model, numbers, Adversary(min_samples_leaf=1))
        truth = table_of(people, y, model.classes or ())
        found.append(all_of_them.satisfied(truth))
        own = known(model, numbers, Adversary(candidates="same_attribute", min_samples_leaf=1))[1]
        assert own.satisfied(truth)
        assert 0 < own.families.n_candidates < all_of_them.families.n_candidates
    assert not all(found), "a wrong assumption must be seen in some tree"


@pytest.mark.parametrize("criterion", CRITERIA)
def test_violations_are_those_of_the_definition(criterion: Criterion) -> None:
    """Random tables with the tree's leaf counts: broken nodes and attributes are those found person by person."""
    n_broken = 0
    for seed in range(12):
        frame, y, tree = categories(seed, criterion=criterion, n=30, min_samples_split=12)
        people, constraints = known(tree, frame, Adversary(criterion=criterion, min_samples_leaf=1))
        rng = np.random.default_rng(seed)
        for _ in range(4):
            labels = np.array(y)
            leaf = people.leaf[people.person]
            for i in range(int(leaf.max()) + 1):
                rows = np.flatnonzero(leaf == i)
                labels[rows] = labels[rng.permutation(rows)]
            found = constraints.violations(table_of(people, labels.tolist(), tree.classes or ()))
            expected = broken(tree, frame, labels.tolist(), criterion, multiway=True)
            assert sorted((c.node, c.candidate.removeprefix("a split by ")) for c in found) == sorted(expected)
            n_broken += len(expected)
    assert n_broken > 5


@pytest.mark.parametrize("criterion", CRITERIA)
def test_thresholds_and_single_values_are_those_of_the_definition(criterion: Criterion) -> None:
    n_broken = 0
    for seed in range(12):
        frame, y = mixed(seed, n=40)
        tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(frame.select("age", "hours").to_pandas(), y)
        model = as_model(tree)
        assert isinstance(model, DecisionTree)
        model = DecisionTree(model.nodes, ("age", "hours", "job"), model.classes)
        for smallest in (1, 5):
            adversary = Adversary(criterion=criterion, splits="binary", min_samples_leaf=smallest)
            people, constraints = known(model, frame, adversary)
            found = constraints.violations(table_of(people, y, model.classes or ()))
            expected = broken(model, frame, y, criterion, multiway=False, smallest=smallest)
            attributes = {name for c in found for name in ("age", "hours", "job") if c.candidate.startswith(name)}
            assert {(c.node, c.candidate.split()[0]) for c in found} == set(expected), attributes
            n_broken += len(expected)
    assert n_broken > 5


@given(seed=st.integers(0, 10**6), criterion=st.sampled_from(CRITERIA))
@settings(max_examples=60)
def test_a_tangent_lies_above_the_impurity_and_touches_it(seed: int, criterion: Criterion) -> None:
    rng = np.random.default_rng(seed)
    here = rng.integers(0, 6, (3, 4)) + rng.random((3, 4)) * (rng.random((3, 4)) < 0.7)
    here[0] += 1e-3
    sizes = here.sum(axis=1)
    there = rng.dirichlet(np.ones(4) * 0.3, 3) * sizes[:, None]
    coefficients, constant = tangent(here, criterion)
    assert float((coefficients * here).sum()) + constant == pytest.approx(
        float(impurity(here, criterion).sum()), abs=1e-6
    )
    assert float((coefficients * there).sum()) + constant >= float(impurity(there, criterion).sum()) - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_cut_keeps_what_the_constraint_allows_and_cuts_off_where_it_was_drawn(criterion: Criterion) -> None:
    cuts = 0
    for seed in range(40):
        frame, y, tree = categories(seed, criterion=criterion, n=30, min_samples_split=12)
        people, constraints = known(tree, frame, Adversary(criterion=criterion, min_samples_leaf=1))
        truth = table_of(people, y, tree.classes or ())
        rng = np.random.default_rng(seed)
        labels, leaf = np.array(y), people.leaf[people.person]
        for i in range(int(leaf.max()) + 1):
            rows = np.flatnonzero(leaf == i)
            labels[rows] = labels[rng.permutation(rows)]
        other = table_of(people, labels.tolist(), tree.classes or ())
        terms, worst = constraints.terms(other), constraints.worst(other)
        for f in np.flatnonzero(worst.slack < -1e-6).tolist():
            at = int(worst.at[f])
            cut = cut_at(constraints, f, at, other, terms)
            sums = [float((cut.coefficients[cut.branch] * x[cut.members]).sum()) for x in (other, truth)]
            assert cut.bound - sums[0] == pytest.approx(-worst.slack[f] - cut.slackness, abs=1e-7)
            assert sums[1] >= cut.bound
            cuts += 1
    assert cuts > 3


def test_candidates_are_left_out_and_the_notes_say_why() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "v", "u", "v"], "c": [1.0, 2.0, None, 1.0]})
    tree = MultiwayTreeClassifier().fit(frame.select("a", "b"), [0, 0, 1, 1]).model_
    tree = DecisionTree(tree.nodes, ("a", "b", "c", "d"), tree.classes)
    constraints = known(tree, frame, Adversary(splits="multiway"))[1]
    assert constraints.families.attributes == ("b",)
    assert [note.split(":")[0] for note in constraints.notes] == ["Nothing is known about d", "c is missing for some"]
    assert not len(known(tree, frame, Adversary(internal_nodes=False))[1].families)
    assert not len(known(tree, frame, Adversary(splits="multiway", min_samples_leaf=3))[1].families)
    silent = known(tree, frame, Adversary())[1]
    assert not len(silent.families)
    assert any("Nothing states how categories were split" in note for note in silent.notes)


def test_sets_of_categories_are_no_candidates() -> None:
    frame, y = mixed(1)
    frame = frame.select("job").with_columns(town=pl.Series(["a", "b", "c", "d", "e", "f"] * 10))
    from glassine.domain import OneOf
    from glassine.models import Branch, Evidence, Node

    counts = [[sum(v == c and (t in "abc") == s for v, t in zip(y, frame["town"], strict=True)) for c in ("c0", "c1")]
              for s in (True, False)]  # fmt: skip
    tree = DecisionTree(
        (
            Node(branches=(Branch(OneOf("town", ("a", "b", "c")), 1), Branch(OneOf("town", ("d", "e", "f")), 2))),
            Node(evidence=Evidence(counts=tuple(counts[0]))),
            Node(evidence=Evidence(counts=tuple(counts[1]))),
        ),
        ("town", "job"),
        ("c0", "c1"),
    )
    constraints = known(tree, frame, Adversary(splits="binary"))[1]
    assert set(constraints.families.attributes) == {"job"}
    assert any("split by sets" in note for note in constraints.notes)
