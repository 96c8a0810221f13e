"""Candidate splits: those that the learner compared, so that none excludes the true records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from glassine import Category, Domain, Integer, as_model
from glassine.attacks.disclosure import Adversary, ContradictionError, infer_sensitive
from glassine.attacks.disclosure.adversary import completed, read_hints
from glassine.attacks.disclosure.candidate_splits import ONE_VALUE
from glassine.attacks.disclosure.constraints import Constraints, derive_constraints
from glassine.attacks.disclosure.people import People, read_people, true_table
from glassine.data.record_table import columns
from glassine.errors import InvalidDataError
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from glassine.models import DecisionTree
from tests.attacks.disclosure.brute import assignments
from tests.attacks.disclosure.whole_worlds import infer_posterior

Training = tuple[pd.DataFrame, npt.NDArray[np.int64]]


def stated(estimator: Any, frame: Any) -> tuple[People, Constraints]:
    """Return the people and what the internal nodes imply by the estimator's own statement."""
    adversary, notes, unused = completed(None, read_hints(estimator))
    assert (notes, unused, adversary.internal_nodes) == ([], "", True)
    model = as_model(getattr(estimator, "model_", estimator))
    assert isinstance(model, DecisionTree)
    people = read_people(model, columns(frame))
    return people, derive_constraints(model, people, adversary)


def broken(estimator: Any, frame: Any, y: Any) -> tuple[str, ...]:
    people, constraints = stated(estimator, frame)
    table = true_table(people, tuple(estimator.classes_.tolist()), y)
    return tuple(map(str, constraints.violations(table)))


def assumed(estimator: Any, frame: Any, y: Any) -> bool:
    """Return whether the truth breaks what a reader assumes who takes every value for a candidate."""
    model = as_model(estimator)
    assert isinstance(model, DecisionTree)
    people = read_people(model, columns(frame))
    constraints = derive_constraints(model, people, Adversary(splits="binary", min_samples_leaf=1))
    return not constraints.satisfied(true_table(people, model.classes or (), y))


def mixed(seed: int, n: int = 250) -> Training:
    """Return numbers and a category of eight values, some rare, and classes that depend on all of them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "dose": np.round(rng.normal(size=n), 2),
            "town": rng.choice([f"t{i}" for i in range(8)], n, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02]),
        }
    )
    score = (frame["age"] > 47) + (frame["dose"] > 0.31) + frame["town"].isin(["t0", "t3", "t6"])
    return frame, np.asarray((score + (rng.random(n) < 0.25)) % 2)


NUMBERS, TOWN = ["age", "dose"], ["town"]
ENCODERS: dict[str, Callable[[], Any]] = {
    "bins, ordinal": lambda: make_column_transformer(
        (KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf"), NUMBERS),
        (OneHotEncoder(), TOWN),
    ),
    "bins, one-hot": lambda: make_column_transformer(
        (KBinsDiscretizer(5, encode="onehot-dense", quantile_method="averaged_inverted_cdf"), NUMBERS),
        (OneHotEncoder(sparse_output=False), TOWN),
    ),
    "a dummy dropped": lambda: make_column_transformer((OneHotEncoder(drop="first"), TOWN), remainder="passthrough"),
    "rare ones pooled": lambda: make_column_transformer(
        (OneHotEncoder(min_frequency=30, drop="first", handle_unknown="infrequent_if_exist"), TOWN),
        remainder="passthrough",
    ),
    "few categories": lambda: make_column_transformer(
        (OneHotEncoder(max_categories=4), TOWN), remainder=StandardScaler()
    ),
    "ordinal codes": lambda: make_column_transformer((OrdinalEncoder(), TOWN), remainder="passthrough"),
    "ordinal codes, pooled": lambda: make_column_transformer(
        (OrdinalEncoder(min_frequency=30), TOWN), remainder="passthrough"
    ),
    "scaled dummies": lambda: make_pipeline(
        make_column_transformer((OneHotEncoder(drop="first", sparse_output=False), TOWN), remainder="passthrough"),
        StandardScaler(),
    ),
}


def runs(number: int) -> list[int]:
    return list(range(number))


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("seeds", [runs(4), pytest.param(runs(12), marks=pytest.mark.slow)], ids=len)
def test_the_truth_keeps_the_constraints_of_every_encoder(name: str, seeds: list[int]) -> None:
    excluded, candidates = 0, []
    for seed in seeds:
        frame, y = mixed(seed)
        tree = DecisionTreeClassifier(criterion=("gini", "entropy")[seed % 2], max_leaf_nodes=25, random_state=seed)
        pipeline = make_pipeline(ENCODERS[name](), tree).fit(frame, y)
        assert broken(pipeline, frame, y) == ()
        excluded += assumed(pipeline, frame, y)
        candidates.append(stated(pipeline, frame)[1].families.n_candidates)
    assert min(candidates) > 20
    assert excluded > 0 or name == "few categories", "an attacker who guesses the candidates must be wrong in some run"


@pytest.mark.parametrize("name", ENCODERS)
def test_the_candidates_are_the_splits_of_the_encoded_columns(name: str) -> None:
    """Every distinct partition of the root that some threshold on some encoded column makes, and no other."""
    frame, y = mixed(0, n=120)
    pipeline = make_pipeline(ENCODERS[name](), DecisionTreeClassifier(max_leaf_nodes=8, random_state=0)).fit(frame, y)
    people, constraints = stated(pipeline, frame)
    encoded = pipeline[0].transform(frame)
    matrix = np.asarray(encoded.todense() if hasattr(encoded, "todense") else encoded, dtype=np.float32)
    expected = set()
    for column in matrix.T:
        for bound in np.unique(column)[:-1]:
            expected.add(frozenset(np.flatnonzero(column <= bound).tolist()))
    found, families = set(), constraints.families
    everybody = np.arange(len(frame))
    for f in np.flatnonzero(families.splits == 0):
        first, last = int(families.families[f]), int(families.families[f + 1])
        for at in range(last - first):
            if constraints.allowed[first + at]:
                side = np.zeros(len(people.sizes), dtype=bool)
                side[families.members(int(f))] = families.branches(int(f), at) == 0
                found.add(frozenset(everybody[side[people.person]].tolist()))
    halves = {min(part, frozenset(everybody.tolist()) - part, key=sorted) for part in expected}
    assert {min(part, frozenset(everybody.tolist()) - part, key=sorted) for part in found} == halves


@pytest.mark.parametrize("seed", range(3))
def test_gaps_that_a_pipeline_fills_in_are_where_it_put_them(seed: int) -> None:
    frame, y = mixed(seed)
    rng = np.random.default_rng(seed)
    frame = frame.astype({"age": float}).mask(rng.random(frame.shape) < 0.15)
    encoder = make_column_transformer(
        (SimpleImputer(strategy="median"), NUMBERS),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(drop="first")), TOWN),
    )
    pipeline = make_pipeline(encoder, DecisionTreeClassifier(max_leaf_nodes=20, random_state=0)).fit(frame, y)
    people, constraints = stated(pipeline, frame)
    assert set(constraints.families.attributes) == {"age", "dose", "town"}
    assert constraints.notes == ()
    assert constraints.satisfied(true_table(people, (0, 1), y))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("leaves", [2, 3, 5, 9, 20])
def test_people_with_gaps_are_followed_as_scikit_learn_follows_them(seed: int, leaves: int) -> None:
    """Sixty trees that were trained with a tenth of the values missing, some of which show no gap in their arrays."""
    frame, y = mixed(seed)
    numbers = frame[NUMBERS].astype(float).mask(np.random.default_rng(seed).random((len(frame), 2)) < 0.1)
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(numbers, y)
    found = infer_sensitive(tree, numbers, truth=y)
    assert found.unused == ""
    nodes = np.array(found.people.leaf_nodes)[found.people.leaf[found.people.person]]
    assert np.array_equal(nodes, tree.apply(numbers))


SHAPES = ("nnc", "nrcc", "ccc", "nCC", "rc", "rrc", "wwn")


def various(seed: int, n: int, kinds: str) -> tuple[pl.DataFrame, npt.NDArray[np.int64], Domain | None]:
    """Return numbers, whole (n) or real (r), and categories: text of 4 (c) or 12 (C) values, declared numbers (w)."""
    rng = np.random.default_rng(seed)
    out, score, attributes = {}, np.zeros(n), {}
    for i, kind in enumerate(kinds):
        values = rng.normal(size=n) if kind == "r" else rng.integers(0, 12 if kind in "nC" else 4, n)
        score += values > (6 if kind in "nC" else 0 if kind == "r" else 2)
        out[f"{kind}{i}"] = [f"v{value}" for value in values] if kind in "cC" else values
        attributes[f"{kind}{i}"] = Category((0, 1, 2, 3)) if kind == "w" else Integer(0, 11)
    y = np.asarray((score + (rng.random(n) < 0.3)) % 2).astype(np.int64)
    return pl.DataFrame(out), y, Domain(attributes) if "w" in kinds else None


@pytest.mark.slow
@pytest.mark.parametrize("kinds", SHAPES)
def test_the_truth_keeps_the_constraints_of_our_own_gain_ratio_trees(kinds: str) -> None:
    # 7 shapes, 3 numbers of records, 3 depths, 4 sizes of a node: 504 trees with 2 seeds each
    for n in (30, 80, 200):
        for depth in (1, 2, None):
            for smallest in (2, 5, 12, 25):
                for seed in runs(2):
                    frame, y, domain = various(seed, n, kinds)
                    learner = MultiwayTreeClassifier(
                        criterion="gain_ratio", max_depth=depth, min_samples_split=smallest, domain=domain
                    ).fit(frame, y)
                    assert broken(learner, frame, y) == (), (n, depth, smallest, seed)
                    if domain is not None:
                        continue  # the tree alone does not say that whole numbers are categories
                    people = read_people(learner.model_, columns(frame))
                    for model in (learner.model_, replace(learner.model_, source="")):
                        constraints = derive_constraints(model, people, Adversary(criterion="gain_ratio"))
                        assert constraints.satisfied(true_table(people, tuple(learner.classes_.tolist()), y))


def test_a_learner_reads_undeclared_values_as_missing_and_clips_numbers() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"job": rng.choice(["a", "b", "x", "z"], 80), "n": rng.integers(-5, 20, 80)})
    y = (frame["n"].to_numpy() > 6).astype(int) ^ (rng.random(80) < 0.3)
    domain = Domain({"job": Category(("a", "b"), missing=True), "n": Integer(0, 10)})
    learner = MultiwayTreeClassifier(criterion="gain_ratio", min_samples_split=10, domain=domain).fit(frame, y)
    declared = frame.with_columns(job=pl.when(pl.col("job").is_in(["a", "b"])).then("job"), n=pl.col("n").clip(0, 10))
    people, constraints = stated(learner, declared)
    assert constraints.satisfied(true_table(people, (0, 1), y))
    hints = read_hints(learner)
    assert hints.columns is not None
    codes = {column.attribute: column.codes_of(frame[column.attribute].to_numpy()) for column in hints.columns}
    assert set(codes["job"][frame["job"].is_in(["x", "z"]).to_numpy()].tolist()) == {-1.0}
    assert (codes["n"].min(), codes["n"].max()) == (0.0, 10.0)


def forest_member() -> Any:
    frame, y = mixed(0)
    forest = RandomForestClassifier(n_estimators=1, max_features=None, random_state=0).fit(frame[NUMBERS], y)
    return forest.estimators_[0]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"splitter": "random"}, "splitter"),
        ({"max_features": 1}, "max_features"),
        ({"class_weight": "balanced"}, "class_weight"),
        ({"monotonic_cst": [1, 0]}, "monotonic_cst"),
    ],
)
def test_splits_that_were_not_the_best_of_all_say_nothing(options: dict[str, Any], why: str) -> None:
    frame, y = mixed(1)
    tree = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0, **options).fit(frame[NUMBERS], y)
    assert why in read_hints(tree).reason
    if why in ("class_weight", "monotonic_cst"):
        return  # such a tree publishes no class counts, or labels that are not the most frequent class
    for adversary in (None, Adversary(), Adversary("error_rates")):
        found = infer_sensitive(tree, frame[NUMBERS], adversary=adversary, truth=y)
        assert why in found.unused
        assert not found.adversary.internal_nodes
        assert found.counts.internal == 0


def test_weighted_records_and_bootstrapped_trees_say_nothing() -> None:
    frame, y = mixed(1)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    tree = DecisionTreeClassifier(max_leaf_nodes=9, random_state=0).fit(frame[NUMBERS], y, sample_weight=weights)
    assert "weighted" in read_hints(tree).reason
    assert "weighted" in read_hints(forest_member()).reason
    assert "splitter" in read_hints(ExtraTreeClassifier(random_state=0).fit(frame[NUMBERS], y)).reason
    same = DecisionTreeClassifier(max_features=2, random_state=0).fit(frame[NUMBERS], y)
    assert read_hints(same).reason == ""


@pytest.mark.parametrize(
    ("options", "smallest"),
    [({"min_samples_leaf": 7}, 7), ({"min_samples_leaf": 0.04}, 8), ({"min_weight_fraction_leaf": 0.05}, 11)],
)
def test_branches_that_were_too_small_for_the_learner_are_no_candidates(options: dict[str, Any], smallest: int) -> None:
    for seed in range(4):
        frame, y = mixed(seed, n=200)
        tree = DecisionTreeClassifier(random_state=0, **options).fit(frame[NUMBERS], y)
        assert broken(tree, frame[NUMBERS], y) == ()
        assert broken(GridSearchCV(tree, {"max_depth": [4]}, cv=2).fit(frame[NUMBERS], y), frame[NUMBERS], y) == ()
        assert read_hints(tree).min_samples_leaf == smallest


def test_a_truth_that_breaks_what_the_caller_says_is_an_error_that_names_the_node() -> None:
    frame, y = mixed(2)
    fitted = DecisionTreeClassifier(criterion="entropy", max_features=1, max_leaf_nodes=20, random_state=3)
    model = as_model(fitted.fit(frame[NUMBERS], y))
    with pytest.raises(ContradictionError, match=r"the true classes contradict .* node \d+ against (age|dose) <= "):
        infer_sensitive(model, frame[NUMBERS], adversary=Adversary(), truth=y)
    alone = infer_sensitive(model, frame[NUMBERS], truth=y)
    assert "does not state" in alone.unused
    assert alone.entropy == infer_sensitive(model, frame[NUMBERS], adversary=Adversary(internal_nodes=False)).entropy


def test_a_truth_that_breaks_what_the_model_states_leaves_the_leaves() -> None:
    """A tree that claims to be another learner's: its splits were drawn, but it says they were the best."""
    frame, y = mixed(2)
    drawn = DecisionTreeClassifier(splitter="random", max_leaf_nodes=20, random_state=3).fit(frame[NUMBERS], y)
    drawn.splitter = "best"
    found = infer_sensitive(drawn, frame[NUMBERS], truth=y)
    assert "the true classes contradict" in found.unused
    assert "nodes 0, " in found.unused
    assert "<=" not in found.unused
    assert found.status == "optimal"
    assert found.entropy == pytest.approx(
        infer_sensitive(drawn, frame[NUMBERS], adversary=Adversary(internal_nodes=False)).entropy
    )


def test_a_truth_of_other_people_is_refused() -> None:
    frame, y = mixed(2)
    tree = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(frame[NUMBERS], y)
    with pytest.raises(InvalidDataError, match="other class counts"):
        infer_sensitive(tree, frame[NUMBERS], truth=1 - y)


def test_what_is_assumed_is_said() -> None:
    frame, y = mixed(0)
    model = as_model(DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(frame[NUMBERS], y))
    found = infer_sensitive(model, frame[NUMBERS], adversary=Adversary())
    assert any("Assumed" in note and "gini" in note for note in found.notes)
    silent = infer_sensitive(model, frame[NUMBERS])
    assert (silent.counts.internal, silent.adversary.internal_nodes) == (0, False)


def test_what_an_estimator_states_is_taken_instead_of_another_criterion() -> None:
    frame, y = mixed(0)
    tree = DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=15, random_state=0).fit(frame[NUMBERS], y)
    found = infer_sensitive(tree, frame[NUMBERS], adversary=Adversary("error_rates"), truth=y)
    assert found.adversary.criterion == "entropy"
    assert any("states the criterion entropy; gini was not used" in note for note in found.notes)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_a_pipeline_is_attacked_with_its_own_columns(criterion: str) -> None:
    frame, y = mixed(4)
    tree = DecisionTreeClassifier(criterion=criterion, max_leaf_nodes=15, random_state=0)
    pipeline = make_pipeline(ENCODERS["a dummy dropped"](), tree).fit(frame, y)
    found = infer_sensitive(pipeline, frame, truth=y)
    assert found.unused == ""
    assert found.counts.internal > 100
    assert found.constraints.satisfied(true_table(found.people, found.classes, y))
    assert np.isfinite(found.d_overall(y))


@pytest.mark.slow
def test_the_worlds_of_a_pipeline_are_those_of_its_own_candidates() -> None:
    """Listed and sampled worlds keep the constraints that the estimate keeps, and no others."""
    fewer, narrower = 0, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({"town": rng.choice(["a", "b", "c"], 12), "flag": rng.integers(0, 2, 12)})
        y = np.asarray((frame["town"] == "a") ^ ((frame["flag"] == 1) & (rng.random(12) < 0.5))).astype(int)
        encoder = make_column_transformer((OneHotEncoder(drop="first"), ["town"]), remainder="passthrough")
        pipeline = make_pipeline(encoder, DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)).fit(frame, y)
        found = infer_sensitive(pipeline, frame)
        tables = {
            true_table(found.people, found.classes, [found.classes[code] for code in codes]).tobytes()
            for codes in assignments(found)
        }
        worlds = [table for table in tables if found.constraints.satisfied(np.frombuffer(table, int).reshape(-1, 2))]
        assert true_table(found.people, found.classes, y).tobytes() in worlds
        listed = infer_posterior(found, method="enumeration")
        assert listed.n_worlds == len(worlds)
        chained = infer_posterior(found, method="chain", draws=2000, random_state=0)
        assert np.abs(chained.probabilities - listed.probabilities).max() < 0.08
        assert ONE_VALUE in found.constraints.families.kinds
        every = replace(found.constraints.families, compared=np.ones_like(found.constraints.families.compared))
        stricter = replace(found.constraints, families=every, allowed=np.ones_like(found.constraints.allowed))
        fewer += len(worlds) < len(tables)
        narrower += len(worlds) > sum(stricter.satisfied(np.frombuffer(w, int).reshape(-1, 2)) for w in worlds)
    assert fewer > 0, "some constraint must exclude something"
    assert narrower > 0, "a dropped category must have been able to exclude something"
