"""Rebuilt rows against every dataset found by enumeration, and what stands in their way."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from glassine import Binary, Category, Domain, Integer, Real, parse_rules
from glassine.attacks import Failed, Measured, NotApplicable
from glassine.attacks.outcome import Outcome
from glassine.attacks.reconstruction import row_result as checking
from glassine.attacks.reconstruction.record_reconstruction import reconstruct_records
from glassine.attacks.reconstruction.row_boxes import draw_rows
from glassine.attacks.reconstruction.row_result import RowReconstruction
from glassine.attacks.reconstruction.row_solving import refitting_of
from glassine.attacks.reconstruction.systems import Search
from glassine.domain import Between, ExactlyOne, OneOf
from glassine.errors import (
    InvalidDataError,
    InvalidDomainError,
    InvalidModelError,
    InvalidParameterError,
    UndefinedMeasureError,
    UnsupportedModelError,
)
from glassine.formats.sklearn import forest as scikit_forest
from glassine.formats.sklearn.forest import forest_from_sklearn
from glassine.models import Branch, DecisionTree, Evidence, Guarantee, Node
from glassine.models.tree import Forest
from tests.oracles import strategies
from tests.oracles.worlds import records

NAMES = ["a", "b", "c", "d"]
BITS = Domain.binary(NAMES, groups=[ExactlyOne(("c", "d"))])


def measured(outcome: Outcome[RowReconstruction]) -> RowReconstruction:
    assert isinstance(outcome, Measured), outcome
    return outcome.value


def failed(outcome: Outcome[RowReconstruction]) -> str:
    assert isinstance(outcome, Failed), outcome
    return outcome.reason


def bits(n: int, seed: int) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(0, 2, (3, n))
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": 1 - c})
    return frame, np.where((a ^ b) | c, "yes", "no")


def fitted(n: int, n_trees: int, seed: int = 0, **options: Any) -> tuple[Any, pd.DataFrame, Any]:
    frame, labels = bits(n, seed)
    forest = RandomForestClassifier(n_trees, random_state=seed, max_features=1, **options).fit(frame, labels)
    return forest, frame, labels


def keyed(columns: dict[str, Any], labels: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(np.asarray(column).tolist() for column in columns.values()), list(labels), strict=True))


def tables(forest: Forest, rows: dict[str, Any], codes: Any) -> list[list[int]]:
    """Class counts of every leaf, by brute force."""
    assert forest.classes is not None
    k = len(forest.classes)
    return [np.bincount(tree.apply(rows) * k + codes, minlength=len(tree.cells) * k).tolist() for tree in forest.trees]


def data_sets(domain: Domain, n: int, k: int) -> Iterator[list[tuple[Any, ...]]]:
    """Every dataset of n records and k classes, in no order."""
    everything = [tuple(record.values()) for record in records(domain, domain_aware=True)]
    yield from map(list, combinations_with_replacement(product(everything, range(k)), n))


def consistent(forest: Forest, domain: Domain, n: int) -> list[Counter[tuple[Any, ...]]]:
    """List the datasets with the forest's counts, as numbers of records of each tuple of leaves and class."""
    wanted = [[c for cell in tree.cells for c in cell.evidence.counts or ()] for tree in forest.trees]
    assert forest.classes is not None
    out = []
    for chosen in data_sets(domain, n, len(forest.classes)):
        rows = {name: np.array([row[i] for row, _ in chosen]) for i, name in enumerate(domain)}
        codes = np.array([code for _, code in chosen])
        if tables(forest, rows, codes) == wanted:
            leaves = zip(*(tree.apply(rows).tolist() for tree in forest.trees), codes.tolist(), strict=True)
            out.append(Counter(leaves))
    return out


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_trees", [2, 4])
def test_certain_rows_are_those_of_every_data_set(seed: int, n_trees: int) -> None:
    frame, labels = bits(4, seed)
    model = ExtraTreesClassifier(n_trees, random_state=seed, max_features=1, max_depth=2).fit(frame, labels)
    forest = forest_from_sklearn(model, BITS)
    assert forest.classes is not None
    rebuilt = measured(reconstruct_records(forest, BITS, random_state=0, search=Search(workers=1)))
    every = consistent(forest, BITS, 4)
    common = every[0]
    for other in every[1:]:
        common = common & other
    assert rebuilt.certain is not None
    assert rebuilt.labels is not None
    codes = [forest.classes.index(label) for label in rebuilt.labels]
    leaves = list(zip(*(tree.apply(rebuilt.rows).tolist() for tree in forest.trees), codes, strict=True))
    assert Counter(leaves) in every
    assert Counter(leaf for leaf, sure in zip(leaves, rebuilt.certain, strict=True) if sure) == common
    assert (rebuilt.status == "unique") == (len({frozenset(c.items()) for c in every}) == 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2, 4, 5, 6, 7])
def test_numbered_records_that_are_certain_are_those_of_every_data_set(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three records are too few to tell that the seeds are the true ones; here they are.
    monkeypatch.setattr(scikit_forest, "AGREED_BY_CHANCE", 1.0)
    model, _, _ = fitted(3, 2 + seed % 2, seed)
    forest = forest_from_sklearn(model, BITS)
    assert forest.classes is not None
    rebuilt = measured(reconstruct_records(forest, BITS, random_state=0, search=Search(workers=1)))
    possible = [tuple(record.values()) for record in records(BITS, domain_aware=True)]
    every = []
    for chosen in product(product(possible, range(len(forest.classes))), repeat=3):
        rows = {name: np.array([row[i] for row, _ in chosen]) for i, name in enumerate(BITS)}
        codes = np.array([code for _, code in chosen])
        if checking.forest_is_met(forest, rows, codes):
            every.append([part_of(forest, rows, codes, record) for record in range(3)])
    assert rebuilt.certain is not None
    assert rebuilt.labels is not None
    codes = np.array([-1 if name is None else forest.classes.index(name) for name in rebuilt.labels])
    shown = [part_of(forest, rebuilt.rows, codes, record) for record in range(3)]
    assert shown in every
    assert rebuilt.certain.tolist() == [all(row[i] == shown[i] for row in every) for i in range(3)]


def part_of(forest: Forest, rows: dict[str, Any], codes: Any, record: int) -> tuple[int, ...]:
    """Leaves of a record in the trees that drew it, and its class if there is one."""
    bag = [tree for tree, times in zip(forest.trees, forest.multiplicities or (), strict=True) if times[record]]
    one = {name: column[record : record + 1] for name, column in rows.items()}
    return (*(int(tree.apply(one)[0]) for tree in bag), int(codes[record]) if bag else -1)


def likelihood(forest: Forest, rows: dict[str, Any], codes: Any) -> float:
    """Bits of likelihood of the draws, up to a constant, where every leaf holds one class."""
    total = 0.0
    for tree, drawn, held in zip(forest.trees, forest.drawn or (), tables(forest, rows, codes), strict=True):
        counts = np.array(held).reshape(len(drawn), -1)
        for cell, row, count in zip(tree.cells, drawn, counts, strict=True):
            k = int(np.argmax(row))
            different = cell.evidence.size or 0
            assert sum(row) == row[k]
            total += sum(math.log2(count[k] - i) if count[k] > i else -math.inf for i in range(different))
    return total


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_draws_without_seeds_give_the_most_likely_data_set(seed: int) -> None:
    model, _, _ = fitted(4, 6, seed)
    forest = forest_from_sklearn(model, BITS, use_seeds=False)
    assert forest.classes is not None
    rebuilt = measured(reconstruct_records(forest, BITS, random_state=0, search=Search(workers=1)))
    assert rebuilt.labels is not None
    codes = np.array([forest.classes.index(name) for name in rebuilt.labels])
    best = -math.inf
    for chosen in data_sets(BITS, 4, 2):
        rows = {name: np.array([row[i] for row, _ in chosen]) for i, name in enumerate(BITS)}
        best = max(best, likelihood(forest, rows, np.array([code for _, code in chosen])))
    assert likelihood(forest, rebuilt.rows, codes) == pytest.approx(best, abs=0.02)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.data())
def test_rows_meet_every_count_of_any_forest(data: st.DataObject) -> None:
    domain = data.draw(strategies.domains())
    shapes = [data.draw(strategies.trees(domain, max_splits=3)) for _ in range(data.draw(st.integers(2, 3)))]
    possible = list(records(domain, domain_aware=True))
    picked = data.draw(st.lists(st.sampled_from(possible), min_size=1, max_size=6))
    codes = np.array([data.draw(st.integers(0, 1)) for _ in picked])
    rows: dict[str, Any] = {}
    for name in domain:
        values = [record[name] for record in picked]
        rows[name] = np.array([*values, None], dtype=object)[:-1]
    trees = []
    for shape in shapes:
        held = tables(Forest(trees=(shape,)), rows, codes)[0]
        counts = {cell.node: (held[2 * i], held[2 * i + 1]) for i, cell in enumerate(shape.cells)}
        nodes = [
            Node(branches=node.branches, evidence=Evidence(counts=counts[i]) if i in counts else Evidence())
            for i, node in enumerate(shape.nodes)
        ]
        trees.append(DecisionTree(tuple(nodes), shape.attributes, shape.classes))
    forest = Forest(trees=tuple(trees))
    rebuilt = measured(reconstruct_records(forest, domain, random_state=0, search=Search(workers=1)))
    assert rebuilt.labels is not None
    assert rebuilt.n_records == len(picked)
    assert tables(forest, rebuilt.rows, rebuilt.labels.astype(int)) == tables(forest, rows, codes)
    # What is said to be known of a certain row, some true record has.
    assert rebuilt.certain is not None
    for i in np.flatnonzero(rebuilt.certain):
        fixed = [name for name, sure in zip(domain, rebuilt.determined[i], strict=True) if sure]
        shown = [rebuilt.rows[name][i] for name in fixed]
        assert any(
            all(same(record[name], value) for name, value in zip(fixed, shown, strict=True)) for record in picked
        )


def same(left: Any, right: Any) -> bool:
    gaps = [v is None or v != v for v in (left, right)]
    if any(gaps):
        return all(gaps)
    return bool(abs(left - right) < 1e-9) if isinstance(left, float) else bool(left == right)


def test_a_forest_gives_its_records_back() -> None:
    forest, frame, labels = fitted(20, 20, bootstrap=False)
    rebuilt = measured(reconstruct_records(forest, BITS, random_state=0))
    assert rebuilt.status == "unique"
    assert rebuilt.labels is not None
    assert Counter(keyed(rebuilt.rows, rebuilt.labels)) == Counter(keyed({name: frame[name] for name in NAMES}, labels))
    assert rebuilt.n_whole == rebuilt.n_certain == 20
    assert rebuilt.share_certain == 1
    assert rebuilt.reproduced
    estimate = rebuilt.error_to(frame, random_state=0)
    assert estimate.error == 0 < estimate.baseline
    assert "No other dataset meets the counts" in str(rebuilt)
    with pytest.raises(UndefinedMeasureError, match="order"):
        rebuilt.error_in_order(frame)


def test_seeds_of_the_bootstrap_give_the_records_in_their_order() -> None:
    forest, frame, labels = fitted(20, 30)
    rebuilt = measured(reconstruct_records(forest, BITS, random_state=0))
    assert rebuilt.ordered
    assert rebuilt.labels is not None
    assert keyed(rebuilt.rows, rebuilt.labels) == keyed({name: frame[name] for name in NAMES}, labels)
    assert rebuilt.error_in_order(frame) == 0
    assert "order of the training records" in str(rebuilt)
    with pytest.raises(InvalidDataError, match="19 records"):
        rebuilt.error_in_order(frame.iloc[1:])


def test_bootstrap_without_seeds_beats_chance() -> None:
    forest, frame, _ = fitted(12, 40)
    rebuilt = measured(reconstruct_records(forest, BITS, use_seeds=False, random_state=0))
    assert rebuilt.status in ("most likely", "unique")
    assert not rebuilt.ordered
    assert rebuilt.reproduced is None
    estimate = rebuilt.error_to(frame, random_state=0, n_draws=20)
    assert estimate.error < 0.5 * estimate.baseline


def test_a_record_that_no_tree_drew_stays_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    # One tree does not tell that its seed is the true one; here it is.
    monkeypatch.setattr(scikit_forest, "AGREED_BY_CHANCE", 1.0)
    forest, _, _ = fitted(12, 1)
    rebuilt = measured(reconstruct_records(forest, BITS, random_state=0))
    assert rebuilt.labels is not None
    absent = np.setdiff1d(np.arange(12), forest.estimators_samples_[0])
    assert len(absent)
    assert [rebuilt.labels[i] for i in absent] == [None] * len(absent)
    assert not rebuilt.determined[absent].any()


def test_time_that_does_not_suffice_shows_no_rows() -> None:
    for options in ({"bootstrap": False}, {}):
        forest, _, _ = fitted(20, 20, **options)
        assert "not solved within 1e-09 s" in failed(reconstruct_records(forest, BITS, search=Search(time_limit=1e-9)))


def test_search_that_is_cut_short_shows_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    from ortools.sat.python import cp_model

    forest, _, _ = fitted(20, 20, bootstrap=False)
    monkeypatch.setattr(cp_model.CpSolver, "solve", lambda *_: cp_model.UNKNOWN)
    assert "not solved within 60 s" in failed(reconstruct_records(forest, BITS))


def test_bootstrap_without_proof_shows_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    from ortools.sat.python import cp_model

    forest, _, _ = fitted(12, 10)
    honest = cp_model.CpSolver.solve

    def unproved(solver: Any, model: Any) -> Any:
        status = honest(solver, model)
        return cp_model.FEASIBLE if status == cp_model.OPTIMAL else status

    monkeypatch.setattr(cp_model.CpSolver, "solve", unproved)
    assert "not solved" in failed(reconstruct_records(forest, BITS, use_seeds=False))


def test_rows_that_do_not_meet_the_counts_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug in the drawing of rows is caught by the check, which knows nothing of the solver."""
    forest, _, _ = fitted(20, 20, bootstrap=False)

    def planted(*arguments: Any) -> Any:
        rows = draw_rows(*arguments)
        return {**rows, "a": np.append(1 - rows["a"][:1], rows["a"][1:])}

    monkeypatch.setattr("glassine.attacks.reconstruction.record_reconstruction.draw_rows", planted)
    assert "do not meet" in failed(reconstruct_records(forest, BITS))


@pytest.mark.parametrize("options", [{"bootstrap": False}, {}])
@pytest.mark.parametrize("use_seeds", [True, False])
def test_the_check_tells_true_rows_from_others(options: Any, use_seeds: bool) -> None:
    model, frame, labels = fitted(20, 20, **options)
    forest = forest_from_sklearn(model, BITS, use_seeds=use_seeds)
    assert forest.classes is not None
    codes = np.array([forest.classes.index(label) for label in labels])
    rows = {name: frame[name].to_numpy() for name in NAMES}
    assert checking.forest_is_met(forest, rows, codes)
    assert not checking.forest_is_met(forest, {**rows, "a": 1 - rows["a"]}, codes)
    assert not checking.forest_is_met(forest, rows, 1 - codes)


def test_counts_that_contradict_each_other_fail() -> None:
    def stump(name: str, *counts: tuple[int, int]) -> DecisionTree:
        sides = Branch(OneOf(name, (1,), negated=True), 1), Branch(OneOf(name, (1,)), 2)
        leaves = [Node(evidence=Evidence(counts=entry)) for entry in counts]
        return DecisionTree((Node(branches=sides), *leaves), tuple(NAMES), (0, 1))

    unequal = Forest(trees=(stump("a", (1, 0), (0, 2)), stump("b", (1, 0), (0, 1))))
    assert "counts [1, 2]" in failed(reconstruct_records(unequal, BITS))
    # Exactly one of c and d is 1, so that as many records have c as have not d.
    tied = Forest(trees=(stump("c", (2, 0), (1, 0)), stump("d", (3, 0), (0, 0))))
    assert "contradict" in failed(reconstruct_records(tied, BITS))
    assert isinstance(reconstruct_records(tied, Domain.binary(NAMES)), Measured)
    empty = Forest(trees=(stump("a", (0, 0), (0, 0)), stump("b", (0, 0), (0, 0))))
    assert isinstance(reconstruct_records(empty, BITS), NotApplicable)


def test_models_without_exact_counts_are_not_attacked() -> None:
    forest, _, _ = fitted(20, 3, bootstrap=False)
    read = forest_from_sklearn(forest, BITS)
    noise = Guarantee(epsilon=1.0, count_scale=1.0)
    noisy = [DecisionTree(t.nodes, t.attributes, t.classes, guarantee=noise) for t in read.trees]
    for model in (Forest(trees=tuple(noisy)), noisy[0]):
        outcome = reconstruct_records(model, BITS)
        assert isinstance(outcome, NotApplicable)
        assert "noise" in outcome.reason
    silent = [
        DecisionTree(tuple(Node(branches=n.branches, evidence=Evidence(label=0)) for n in t.nodes), t.attributes, (0,))
        for t in read.trees
    ]
    for model in (Forest(trees=tuple(silent)), silent[0]):
        outcome = reconstruct_records(model, BITS)
        assert isinstance(outcome, NotApplicable)
        assert "publish" in outcome.reason
    weighted, _, _ = fitted(20, 3, class_weight="balanced_subsample")
    assert isinstance(reconstruct_records(weighted, BITS), NotApplicable)
    part, _, _ = fitted(20, 3, max_samples=10)
    del part._n_samples
    assert isinstance(reconstruct_records(part, BITS), NotApplicable)


def test_sizes_alone_are_attacked_too() -> None:
    frame, _ = bits(15, 3)
    target = frame["a"] + 2.0 * frame["b"] + frame["c"]
    model = RandomForestRegressor(8, bootstrap=False, max_features=1, random_state=0).fit(frame, target)
    rebuilt = measured(reconstruct_records(model, BITS, random_state=0))
    assert rebuilt.labels is None
    assert rebuilt.reproduced is None
    assert rebuilt.error_to(frame, random_state=0).error == 0


def test_a_missing_solver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    forest, _, _ = fitted(20, 3, bootstrap=False)
    for name in [m for m in sys.modules if m.split(".")[0] == "ortools"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ortools", None)
    assert "glassine[solver]" in failed(reconstruct_records(forest, BITS))
    assert isinstance(reconstruct_records(forest.estimators_[0], BITS), Measured)


def test_bad_input_is_refused() -> None:
    forest, _, _ = fitted(20, 3, bootstrap=False)
    given_domain: Any = NAMES
    with pytest.raises(InvalidDomainError, match="must be a Domain"):
        reconstruct_records(forest, given_domain)
    with pytest.raises(InvalidModelError):
        reconstruct_records(forest_from_sklearn(forest, BITS), Domain.binary(["a", "b"]))
    with pytest.raises(UnsupportedModelError):
        reconstruct_records(3, BITS)
    for value in (0, -1, float("nan"), float("inf"), "5", True, None):
        wrong: Any = value
        with pytest.raises(InvalidParameterError, match="finite positive number of seconds"):
            reconstruct_records(forest, BITS, search=Search(time_limit=wrong))
    for options in ({"workers": 0}, {"workers": "2"}, {"max_parts": -1}, {"max_parts": 1.5}):
        given: Any = options
        with pytest.raises(InvalidParameterError, match="must be a positive whole number"):
            reconstruct_records(forest, BITS, search=Search(**given))
    rebuilt = measured(reconstruct_records(forest, BITS))
    frame, _ = bits(20, 0)
    with pytest.raises(InvalidDataError, match="lacks the column 'b'"):
        rebuilt.error_to(frame.drop(columns="b"))
    with pytest.raises(InvalidDataError, match="n_draws"):
        rebuilt.error_to(frame, n_draws=0)


def test_too_many_boxes_are_refused() -> None:
    for options in ({"bootstrap": False}, {}):
        forest, _, _ = fitted(20, 10, **options)
        assert "more than 2 regions" in failed(reconstruct_records(forest, BITS, search=Search(max_parts=2)))


def test_numbers_are_known_up_to_intervals() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 60, 12), "size": rng.random(12).round(3)})
    frame["blue"] = rng.integers(0, 2, 12)
    labels = (frame["age"] > 40) ^ (frame["blue"] == 1)
    domain = Domain({"age": Integer(18, 60), "size": Real(0.0, 1.0), "blue": Binary()})
    model = make_pipeline(StandardScaler(), RandomForestClassifier(6, bootstrap=False, random_state=0, max_features=1))
    rebuilt = measured(reconstruct_records(model.fit(frame, labels), domain, random_state=0))
    assert set(rebuilt.worlds) == {None}
    assert not rebuilt.determined[:, 1].any()
    assert rebuilt.reproduced is None
    assert rebuilt.rows["age"].dtype.kind == "i"
    estimate = rebuilt.error_to(frame, random_state=0)
    assert estimate.error < estimate.baseline


def test_one_tree_or_rule_list_is_drawn_from() -> None:
    nodes = (
        Node(branches=(Branch(Between("age", hi=30), 1), Branch(Between("age", lo=30), 2))),
        Node(evidence=Evidence(counts=(3, 1))),
        Node(evidence=Evidence(counts=(0, 2))),
    )
    domain = Domain({"age": Integer(30, 60), "sex": Category(("f", "m"))})
    rebuilt = measured(reconstruct_records(DecisionTree(nodes, ("age",), ("no", "yes")), domain, random_state=0))
    assert rebuilt.status == "drawn"
    assert rebuilt.labels is not None
    assert Counter(rebuilt.labels[:4].tolist()) == {"no": 3, "yes": 1}
    assert rebuilt.rows["age"][:4].tolist() == [30] * 4
    assert rebuilt.determined[:, 0].tolist() == [True] * 4 + [False] * 2
    assert rebuilt.worlds == (2, 2, 2, 2, 60, 60)
    assert rebuilt.n_whole == 0
    text = (
        "classes: [no] [yes]\nif [a] then [yes] ([0 ; 2] examples)\n"
        "else if [b] then [yes] ([0 ; 1] examples)\nelse [no] ([4 ; 0] examples)"
    )
    rules = parse_rules(text, BITS)
    listed = measured(reconstruct_records(rules, BITS, random_state=0))
    assert rules.apply(listed.rows).tolist() == [0, 0, 1, 2, 2, 2, 2]
    assert listed.determined[:, :2].tolist() == [[True, False]] * 2 + [[True, True]] * 5
    outcome = reconstruct_records(DecisionTree(nodes, ("age",), ("no", "yes")), Domain({"age": Integer(31, 60)}))
    assert "part 1 of the model holds records where the domain allows none" in failed(outcome)


def test_training_again_tells_right_rows_from_wrong_ones() -> None:
    """The twin: a wrong value that no count contradicts is found, and put right."""
    forest, frame, labels = fitted(20, 20, bootstrap=False)
    domain = Domain.binary(NAMES)
    read = forest_from_sklearn(forest, domain)
    again = refitting_of(forest, read, domain)
    assert again is not None
    codes = (labels == "yes").astype(np.intp)
    rows = {name: frame[name].to_numpy().copy() for name in NAMES}
    assert again.improve(rows, codes, float("inf"))[1] is True
    wrong = {**rows, "a": np.roll(rows["a"], 3)}
    assert again.improve(wrong, codes, float("inf"))[1] is False
    assert again.improve(wrong, codes, 0.0) == (wrong, None)


@pytest.mark.slow
def test_the_most_likely_numbers_are_those_of_most_data_sets() -> None:
    """Of two stumps over many records, most datasets have the products of their shares."""

    def stump(name: str, zeros: int, ones: int) -> DecisionTree:
        sides = Branch(OneOf(name, (1,), negated=True), 1), Branch(OneOf(name, (1,)), 2)
        leaves = Node(evidence=Evidence(counts=(zeros,))), Node(evidence=Evidence(counts=(ones,)))
        return DecisionTree((Node(branches=sides), *leaves), ("a", "b"), ("all",))

    forest = Forest(trees=(stump("a", 700, 300), stump("b", 400, 600)))
    rebuilt = measured(reconstruct_records(forest, Domain.binary(["a", "b"]), random_state=0))
    assert rebuilt.status == "most likely"
    held = Counter(zip(rebuilt.rows["a"].tolist(), rebuilt.rows["b"].tolist(), strict=True))
    expected = {(0, 0): 280, (0, 1): 420, (1, 0): 120, (1, 1): 180}
    assert all(abs(held[key] - count) <= 25 for key, count in expected.items())
    assert rebuilt.n_certain == 400  # of (0, 0) 700 + 400 - 1000 at least, of (0, 1) 700 + 600 - 1000


@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_any_number_of_classes(n_classes: int, bootstrap: bool) -> None:
    frame, _ = bits(20, 1)
    labels = np.array(["low", "middle", "high"])[(frame["a"] + frame["b"]) % n_classes]
    model = ExtraTreesClassifier(25, random_state=0, bootstrap=bootstrap, max_features=1).fit(frame, labels)
    rebuilt = measured(reconstruct_records(model, BITS, random_state=0))
    assert rebuilt.labels is not None
    if n_classes == 1:  # no tree has a split
        assert set(rebuilt.labels) == {"low"}
        assert rebuilt.n_whole == 0
    else:
        rows = keyed({name: rebuilt.rows[name] for name in "ab"}, rebuilt.labels)
        assert Counter(rows) == Counter(keyed({name: frame[name] for name in "ab"}, labels))


def test_errors_of_many_rows_are_those_of_a_sample() -> None:
    forest, frame, _ = fitted(60, 20, bootstrap=False)
    rebuilt = measured(reconstruct_records(forest, BITS, random_state=0))
    estimate = rebuilt.error_to(frame.astype(bool), max_records=20, n_draws=3, random_state=0)
    assert (estimate.n_matched, estimate.n_draws) == (20, 3)
    assert 0 <= estimate.error < estimate.baseline


def test_stages_are_reported() -> None:
    forest, _, _ = fitted(20, 3, bootstrap=False)
    stages: list[str] = []
    reconstruct_records(forest, BITS, search=Search(progress=stages.append))
    assert stages[:4] == [
        "reading the model",
        "cutting the domain into boxes",
        "building the constraints",
        "looking for a dataset",
    ]


def test_sums_of_weights_are_not_taken_for_draws() -> None:
    forest = SimpleNamespace(_n_samples=20, _n_samples_bootstrap=20, max_samples=None)
    assert scikit_forest._are_draws(forest, [((12, 8),), ((5, 5), (5, 5))])
    assert not scikit_forest._are_draws(forest, [((12, 9),), ((5, 5), (5, 6))])
    assert not scikit_forest._are_draws(forest, [((12, 8),), ((5, 5), (5, 6))])
    older = SimpleNamespace(_n_samples=20, max_samples=None)
    assert not scikit_forest._are_draws(older, [((40,),), ((40,),)])
    assert scikit_forest._are_draws(SimpleNamespace(max_samples=0.5), [((10,),), ((10,),)])


@pytest.mark.slow
def test_forests_fitted_with_weights_make_no_false_claim_in_order() -> None:
    measured_ones = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.integers(0, 2, (8, 4)), columns=list(NAMES))
        weights = rng.integers(1, 4, 8)
        model = RandomForestClassifier(2, random_state=seed).fit(frame, rng.integers(0, 2, 8), sample_weight=weights)
        assert forest_from_sklearn(model, BITS).multiplicities is None
        outcome = reconstruct_records(model, BITS, random_state=0, search=Search(workers=1))
        measured_ones += isinstance(outcome, Measured) and not outcome.value.ordered
        assert not (isinstance(outcome, Measured) and outcome.value.ordered)
    # Older versions of scikit-learn sum up the weights, newer ones draw by them.
    assert measured_ones == 0 or measured_ones > 20


@pytest.mark.slow
def test_seeds_that_agree_by_chance_are_not_used() -> None:
    # Over two trees of eight records other seeds often agree; over thirty trees of twenty records hardly ever.
    few, *_ = fitted(8, 2)
    many, *_ = fitted(20, 30)
    assert forest_from_sklearn(few, BITS).multiplicities is None
    assert forest_from_sklearn(many, BITS).multiplicities is not None
    agreed = 0
    for change in range(1, 200):
        for member in few.estimators_:
            member.random_state += change
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scikit_forest, "AGREED_BY_CHANCE", 1.0)
            agreed += forest_from_sklearn(few, BITS).multiplicities is not None
        assert forest_from_sklearn(few, BITS).multiplicities is None
    assert agreed >= 5


def test_the_chance_of_so_many_different_records_is_exact_or_nearly_so() -> None:
    laws = [scikit_forest._log_chance(3, 2, d) for d in (1, 2)]
    assert np.exp(laws) == pytest.approx([1 / 3, 2 / 3])
    assert scikit_forest._log_chance(3, 2, 3) == -np.inf
    assert np.exp([scikit_forest._log_chance(40, 25, d) for d in range(1, 26)]).sum() == pytest.approx(1.0)
    n, middle = 1_990, 1_258
    exact = scikit_forest._log_chance(n, n, middle)
    once, twice = (1 - 1 / n) ** n, (1 - 2 / n) ** n
    variance = n * once + n * (n - 1) * twice - (n * once) ** 2
    assert exact == pytest.approx(-np.log(2 * np.pi * variance) / 2, abs=0.01)
    assert scikit_forest._log_chance(3_000, 3_000, 1_896) == pytest.approx(exact, abs=0.3)


def test_rows_that_are_no_closer_than_random_ones_say_so() -> None:
    forest, frame, _ = fitted(20, 30, bootstrap=False)
    near = measured(reconstruct_records(forest, BITS, random_state=0)).error_to(frame, random_state=0, n_draws=20)
    assert not near.no_better_than_random
    assert "are closer" in near.statement
    far = replace(near, error=near.baseline)
    assert far.no_better_than_random
    assert "no closer" in far.statement
