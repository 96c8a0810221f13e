"""Near-optimal trees: dynamic programming against all trees one by one, and what is said of them."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import chisquare

from glassine import Domain, Integer, Ledger
from glassine.domain import Between, OneOf
from glassine.errors import InvalidModelError, InvalidParameterError
from glassine.learners import PrivateSummary
from glassine.learners.summaries import near_optimal
from glassine.learners.summaries.estimates import replicates
from glassine.learners.summaries.junction_tree import JunctionTree, junction_tree
from glassine.learners.summaries.near_optimal import NearOptimalTrees
from glassine.learners.summaries.pair_regions import RegionCounts, Regions, Splits
from glassine.learners.summaries.reliance import RelianceSearch
from glassine.learners.summaries.splitting import SplitNode
from glassine.learners.summaries.tree_sets import LeafLoss, TreeSet, sample_trees
from glassine.records.reading import read_settled
from glassine.records.undeclared import read_checked
from tests.summaries.people import DOMAIN, RANGE, people, summary

SIZES = (3, 2, 3)
LEAST = 5.0


def planted(seed: int, classes: int = 2, gaps: bool = False) -> tuple[JunctionTree, np.ndarray, Splits]:
    """Return a distribution, its joint table of shape (classes, *bins), and literals on three attributes.

    With gaps, the last bin of the last attribute is of missing values, which a sixth literal holds for.
    """
    rng = np.random.default_rng(seed)
    pair = rng.gamma(0.5, 60.0, (classes, 3, 2))
    third = rng.gamma(0.5, 1.0, (classes, 3, 3))
    third /= third.sum(axis=2, keepdims=True)
    joint = pair[..., None] * third[:, :, None]
    totals = joint.sum(axis=(1, 2, 3))
    margins = [joint.sum(axis=(2, 3)).T, joint.sum(axis=(1, 3)).T, joint.sum(axis=(1, 2)).T]
    edges = {(0, 1): np.moveaxis(pair, 0, 2), (0, 2): np.moveaxis(joint.sum(axis=2), 0, 2)}
    where = [(0, 1), (0, 2), (1, 1), (2, 1), (2, 2)]
    bins = [np.arange(SIZES[k]) < cut for k, cut in where]
    literals = [Between(f"x{k}", hi=cut) for k, cut in where]
    if gaps:
        where.append((2, 1))
        bins.append(np.array([True, False, True]))
        literals.append(Between("x2", hi=1, missing=True))
    splits = Splits(
        sizes=SIZES,
        attributes=np.array([k for k, _ in where]),
        bins=tuple(bins),
        literals=tuple(literals),
        present=tuple(np.arange(size) < size - (gaps and k == 2) for k, size in enumerate(SIZES)),
    )
    return JunctionTree.of(totals, margins, edges), joint, splits


LEVELS = np.array([-1.0, 0.0, 1.0])

# All trees, one by one: a leaf is a class or a mean, a split (literal, tree, tree).
Plain = Any


@dataclass
class Brute:
    joint: np.ndarray
    splits: Splits
    number: bool = False

    def leaf(self, counts: np.ndarray) -> tuple[Plain, float]:
        if not self.number:
            return int(counts.argmax()), float(counts.sum() - counts.max())
        mean = float(counts @ LEVELS / counts.sum())
        return round(mean, 9), float(counts @ (LEVELS - mean) ** 2)

    def mask(self, literal: int) -> np.ndarray:
        shape = [1, 1, 1, 1]
        shape[1 + self.splits.attributes[literal]] = -1
        return np.asarray(self.splits.bins[literal].reshape(shape))

    def trees(self, depth: int, table: np.ndarray) -> Iterator[tuple[Plain, float]]:
        yield self.leaf(table.sum(axis=(1, 2, 3)))
        for literal in range(self.splits.number) if depth else ():
            true, false = table * self.mask(literal), table * ~self.mask(literal)
            if min(true.sum(), false.sum()) < LEAST:
                continue
            attribute = self.splits.attributes[literal]
            present = self.splits.present[attribute].reshape([-1 if a == 1 + attribute else 1 for a in range(4)])
            if not (true * present).any() or not (false * present).any():
                continue
            others = list(self.trees(depth - 1, false))
            for (left, a), (right, b) in itertools.product(self.trees(depth - 1, true), others):
                if isinstance(left, tuple) or left != right:
                    yield (literal, left, right), a + b

    def predicted(self, tree: Plain) -> np.ndarray:
        """Return the class, or mean, of each cell, shape of the joint table without classes."""
        if not isinstance(tree, tuple):
            return np.full(SIZES, tree)
        literal, true, false = tree
        return np.where(self.mask(literal)[0], self.predicted(true), self.predicted(false))

    def errors(self, predicted: np.ndarray, table: np.ndarray) -> float:
        if self.number:
            return float(
                sum((part * (level - predicted) ** 2).sum() for level, part in zip(LEVELS, table, strict=True))
            )
        return float(sum(part[predicted != label].sum() for label, part in enumerate(table)))

    def without(self, attribute: int) -> np.ndarray:
        """Return the table in which an attribute is independent of all else."""
        margin = self.joint.sum(axis=tuple(a for a in range(4) if a != 1 + attribute), keepdims=True)
        return np.asarray(self.joint.sum(axis=1 + attribute, keepdims=True) * margin / self.joint.sum())


def attributes_of(tree: Plain, splits: Splits) -> set[int]:
    if not isinstance(tree, tuple):
        return set()
    return {int(splits.attributes[tree[0]])} | attributes_of(tree[1], splits) | attributes_of(tree[2], splits)


def plain(node: SplitNode, brute: Brute) -> Plain:
    if node.true is None or node.false is None:
        return brute.leaf(node.counts)[0]
    literal = next(i for i, one in enumerate(brute.splits.literals) if one is node.literal)
    return literal, plain(node.true, brute), plain(node.false, brute)


def search(
    distribution: JunctionTree, splits: Splits, depth: int, slack: float, loss: LeafLoss | None = None
) -> TreeSet:
    counts = RegionCounts.of(distribution, splits, Regions.of(splits.number, depth))
    return TreeSet(splits, counts, depth=depth, slack=slack, least=LEAST, loss=loss)


@pytest.mark.parametrize(
    ("seed", "depth", "slack", "classes", "gaps"),
    [
        (0, 3, 0.02, 2, False),
        (1, 2, 0.1, 3, False),
        (2, 1, 0.2, 2, False),
        (3, 3, 0.0, 2, False),
        (4, 2, 0.05, 2, False),
        (5, 1, 0.2, 3, False),
        (6, 2, 0.05, 2, True),
        (7, 3, 0.01, 2, True),
        (8, 3, 0.02, None, False),
        (9, 2, 0.1, None, True),
        (10, 1, 0.2, None, False),
        (11, 2, 0.0, None, False),
    ],
)
def test_dynamic_programming_gives_what_all_trees_one_by_one_give(
    seed: int, depth: int, slack: float, classes: int | None, gaps: bool
) -> None:
    number = classes is None
    distribution, joint, splits = planted(seed, classes or 3, gaps)
    brute = Brute(joint, splits, number)
    every = list(brute.trees(depth, joint))
    lowest = min(errors for _, errors in every)
    whole = joint.sum() if not number else brute.leaf(joint.sum(axis=(1, 2, 3)))[1]
    loss = LeafLoss(levels=LEVELS, variance=whole / joint.sum()) if number else LeafLoss()
    trees = search(distribution, splits, depth, slack, loss)
    near = [(tree, errors) for tree, errors in every if errors <= lowest + slack * whole + 1e-6]
    assert trees.lowest_share == pytest.approx(lowest / whole, rel=1e-6)
    assert trees.lowest == pytest.approx(lowest, rel=1e-6)
    predicted = [brute.predicted(tree) for tree, _ in near]
    for attribute in range(3):
        anew = brute.without(attribute)
        gains = [brute.errors(own, anew) - errors for own, (_, errors) in zip(predicted, near, strict=True)]
        assert RelianceSearch(trees).of(attribute) == pytest.approx((min(gains), max(gains)), abs=1e-4)
        lean = min(errors for tree, errors in every if attribute not in attributes_of(tree, splits))
        assert trees.lowest_without(attribute) == pytest.approx(lean, rel=1e-6)
    cells = np.array(list(itertools.product(*map(range, SIZES)))).T
    decisions = trees.decisions(cells)
    for cell, row in zip(cells.T, decisions, strict=True):
        values = {own[tuple(cell)] for own in predicted}
        if number:
            assert row == pytest.approx((min(values), max(values)), abs=1e-6)
        else:
            assert set(np.flatnonzero(row)) == values
    assert trees.loss.of_tree(trees.best()) == pytest.approx(lowest, rel=1e-6)
    sample, n_trees = sample_trees(trees, 100, np.random.default_rng(seed))
    assert {plain(tree, brute) for tree in sample} <= {tree for tree, _ in near}
    assert n_trees == pytest.approx(len(near), rel=0.3)


@pytest.mark.slow
def test_every_near_optimal_tree_is_sampled_equally_often() -> None:
    distribution, joint, splits = planted(0)
    brute = Brute(joint, splits)
    every = list(brute.trees(3, joint))
    limit = min(errors for _, errors in every) + 0.02 * joint.sum()
    near = [tree for tree, errors in every if errors <= limit]
    sample, _ = sample_trees(search(distribution, splits, 3, 0.02), 1500, np.random.default_rng(7))
    seen = Counter(plain(tree, brute) for tree in sample)
    assert set(seen) == set(near)
    assert len(near) > 20
    assert chisquare([seen[tree] for tree in near]).pvalue > 0.001


# Of a summary.


def test_a_tree_of_errors_finds_splits_that_pay_only_together() -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 10, (4000, 3))
    # Most records on either side of any single split are of the class 0.
    y = ((X[:, 0] > 5) & (X[:, 1] > 5)).astype(int)
    domain = Domain({name: Integer(0, 9) for name in "cab"})
    fitted = PrivateSummary(epsilon=4.0, domain=domain, classes=(0, 1), random_state=0).fit(X[:, [2, 0, 1]], y)
    for depth in (2, 3, 4):
        tree = fitted.tree(depth, "errors")
        assert (tree.predict(read_checked({"c": X[:, 2], "a": X[:, 0], "b": X[:, 1]}, domain)) == y).mean() > 0.97
        assert fitted.certify(tree).holds == fitted.certificate_.holds
    rules = fitted.rule_list(2, "errors")
    assert (rules.predict(read_checked({"c": X[:, 2], "a": X[:, 0], "b": X[:, 1]}, domain)) == y).mean() > 0.97
    assert len(summary().tree(4, "errors").cells) > len(summary().tree(2, "errors").cells)


@pytest.mark.slow
def test_trees_of_errors_grow_greedily_where_bins_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = summary().tree(3, "errors")
    monkeypatch.setattr("glassine.learners.summaries.tree_sets.MOST_COUNTS", 1000)
    two = summary().tree(3, "errors")
    monkeypatch.setattr("glassine.learners.summaries.tree_sets.MOST_COUNTS", 0)
    none = summary().tree(3, "errors")
    lowest = [1 - summary().reported(tree, bootstrap=2).accuracy for tree in (exact, two, none)]
    # Estimates of single trees are computed from draws.
    assert lowest[0] <= min(lowest) + 0.005
    assert all(2 <= len(tree.cells) <= 8 for tree in (exact, two, none))


@cache
def near() -> NearOptimalTrees:
    found: NearOptimalTrees = summary().near_optimal(2, 0.05, bootstrap=3)
    return found


@pytest.mark.slow
def test_trees_of_a_set_are_models_of_the_summary_and_near_the_best() -> None:
    fitted = summary()
    trees = near().sample(3, random_state=1)
    lowest = 1 - near().lowest_errors
    for tree in (near().best, *trees):
        certificate = fitted.certify(tree)
        assert (certificate.epsilon, certificate.holds) == (4.0, fitted.certificate_.holds)
        # What a summary reports is computed from draws; the search computes sums.
        assert fitted.reported(tree, bootstrap=2).accuracy > lowest - 0.05 - 0.01
    assert near().sample(3, random_state=1) == trees
    assert near().count() >= len(set(trees))


def test_importance_intervals_hold_those_of_the_summary_itself() -> None:
    reliances = {one.attribute: one for one in near().reliances}
    own = RelianceSearch(near()._trees)
    for place, (name, one) in enumerate(reliances.items()):
        low, high = (value / near()._trees.total for value in own.of(place))
        assert one.low <= low <= high <= one.high, name
        assert one.loss_without >= -1e-9
        assert one.indispensable == (one.agreement == 1.0)
        assert one.indispensable == (one.loss_without > 0.05) == (name in near().indispensable)
    # Age and grade stand for each other; the job has no substitute, and noise is no use.
    assert reliances["job"].indispensable
    assert reliances["job"].low > 0.08
    assert reliances["noise"].high < 0.02
    assert not reliances["noise"].indispensable


def test_an_interval_reaches_beyond_the_mirrored_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    places = len(DOMAIN)
    figures = iter(
        [([0.2] * places, [0.5] * places, [0.1] * places), ([0.25] * places, [0.4] * places, [0.0] * places)]
    )
    monkeypatch.setattr(
        near_optimal, "_figures", lambda _: next(figures, ([0.21] * places, [0.45] * places, [0.2] * places))
    )
    one = summary().near_optimal(1, 0.05, bootstrap=3).reliances[0]
    beyond = [near_optimal.BEYOND * np.std(again, ddof=1) for again in ((0.25, 0.21, 0.21), (0.4, 0.45, 0.45))]
    assert (one.low, one.high) == pytest.approx((0.15 - beyond[0], 0.6 + beyond[1]))
    assert min(beyond) > 0.01
    assert (one.loss_without, one.indispensable, one.agreement) == (0.0, False, 0.75)


def test_bounds_of_what_is_decided_differently_reach_beyond_the_mirrored_replicates() -> None:
    found = replace(near(), _offsets=np.array([[0.1], [-0.03], [0.0]]) * np.ones(1 + len(near().regions())))
    stated = found.multiplicity()
    area = near_optimal.Area.of(found._released, found._domain, ())
    mean, error = area.ambiguity(found._trees, found._target)
    assert mean == stated.ambiguous == near().ambiguity()
    assert error == pytest.approx(math.sqrt(mean * (1 - mean) / len(area.weights)), rel=1e-6)
    width = 0.1 + near_optimal.BEYOND * math.hypot(np.std([0.1, -0.03, 0.0], ddof=1), error)
    assert stated.ambiguous_between == pytest.approx((max(mean - width, 0.0), mean + width))
    for leaf in (*stated.leaves, *near().regions()):
        assert 0.0 <= leaf.low <= leaf.ambiguous <= leaf.high <= 1.0
    whole = stated.to_dict()
    assert whole["decided_differently_between"] == list(stated.ambiguous_between)
    assert whole["leaves"][0]["decided_differently_between"] == [stated.leaves[0].low, stated.leaves[0].high]


def test_replicates_move_what_is_decided_differently() -> None:
    trees, released = near()._trees, near()._released
    area = near_optimal.Area.of(released, near()._domain, ())
    own = area.ambiguity(trees, near()._target)[0]
    assert near()._offsets.shape == (3, 1 + len(near().regions()))
    again = replicates(released, 3)
    growth = summary()._growth("errors")
    for one, offset in zip(again, near()._offsets[:, 0], strict=True):
        distribution = junction_tree(one)
        counts = RegionCounts.of(distribution, trees.splits, trees.regions)
        anew = TreeSet(trees.splits, counts, depth=2, slack=0.05, least=growth.least)
        assert area.ambiguity(anew, near()._target)[0] - own == pytest.approx(offset)
    assert np.abs(near()._offsets).max() > 0


def test_records_on_which_near_optimal_trees_disagree_are_those_near_a_border() -> None:
    frame = pl.DataFrame(
        {"age": [5, 95, 60, 30], "job": ["clerk", "clerk", "clerk", "judge"], "grade": [0, 9, 6, 3], "noise": 2}
    )
    decided = near().decisions(frame)
    assert decided.shape == (4, 2)
    assert decided[0].tolist() == [True, False]
    assert decided[1].tolist() == decided[3].tolist() == [False, True]
    assert near().decisions(frame[[2, 0]]).tolist() == decided[[2, 0]].tolist()
    wholly = near().ambiguity()
    assert 0 < wholly < 0.5
    assert near().ambiguity([Between("age", hi=20.0), OneOf("job", ("clerk",))]) < wholly
    regions = near().regions()
    assert sum(region.share for region in regions) == pytest.approx(1.0)
    assert sum(region.share * region.ambiguous for region in regions) == pytest.approx(wholly, abs=0.06)
    with pytest.raises(InvalidModelError, match="no attribute 'salary'"):
        near().ambiguity([Between("salary", hi=3.0)])


def test_near_optimal_trees_read_no_record_and_charge_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = Ledger(tmp_path / "b.sqlite")
    book.budget("people", 4.0, 1e-6)
    fitted = PrivateSummary(epsilon=4.0, domain=DOMAIN, classes=(0, 1), ledger=book, dataset="people").fit(
        *people(2000)
    )
    fitted.write(tmp_path / "s.json")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("records were read, or randomness of a release was used")

    for place in ("read_classes", "release_summary"):
        monkeypatch.setattr(f"glassine.learners.summaries.private_summary.{place}", refuse)
    here, there = (one.near_optimal(1, 0.02, bootstrap=2) for one in (fitted, PrivateSummary.read(tmp_path / "s.json")))
    assert here.reliances == there.reliances
    assert here.sample(3, random_state=0) == there.sample(3, random_state=0)
    assert len(book.entries("people")) == 1


def test_multiplicity_states_what_the_set_states() -> None:
    frame = people(40, seed=9)[0]
    plain = near().multiplicity(frame)
    decided = near().decisions(frame)
    assert plain.n_asked == 40
    assert set(plain.disputed) == set(np.flatnonzero(decided.sum(axis=1) == 2).tolist())
    assert len(plain.disputed) > 0
    assert set(plain.disputed.values()) == {(0, 1)}
    assert (plain.n_trees, plain.ambiguous, plain.leaves) == (near().count(), near().ambiguity(), near().regions())
    assert (plain.reliances, plain.n_replicates) == (near().reliances, 3)
    assert plain.guarantee == near().best.guarantee
    assert plain.tested == tuple(one.attribute for one in plain.reliances if one.high > 0)
    written = json.loads(json.dumps(plain.to_dict(), allow_nan=False))
    assert [row["row"] for row in written["records"]["disputed"]] == list(plain.disputed)
    assert written["attributes"][1]["indispensable"] == near().reliances[1].indispensable
    alone = near().multiplicity()
    assert (alone.n_asked, alone.disputed, alone.to_dict()["records"]) == (None, {}, None)


@pytest.mark.slow
def test_near_optimal_trees_of_a_number_say_how_far_apart_they_predict() -> None:
    fitted = summary(classes=None)
    found = fitted.near_optimal(2, 0.02, bootstrap=3)
    reliances = {one.attribute: one for one in found.reliances}
    assert reliances["job"].indispensable
    assert reliances["noise"].high < 0.02
    # Noise of 5 of a standard deviation of about 13 remains, and what two conditions leave of the age.
    assert 0.15 < found.lowest_errors < 0.45
    greedy = fitted.tree(2)
    frame, y = people(classes=None, seed=1)
    kept = np.isfinite(y)
    columns, numbers = read_settled(frame.filter(kept), DOMAIN), np.clip(y[kept], *RANGE)
    left = [((tree.predict(columns) - numbers) ** 2).mean() / numbers.var() for tree in (found.best, greedy)]
    assert left[0] < left[1] + 0.01
    assert left[0] == pytest.approx(found.lowest_errors, abs=0.05)
    trees = found.sample(40, random_state=0)
    assert max(((tree.predict(columns) - numbers) ** 2).mean() / numbers.var() for tree in trees) < left[0] + 0.04
    decided = found.decisions(frame[:200])
    predicted = np.array([tree.predict(read_checked(frame[:200], DOMAIN)) for tree in trees])
    assert (predicted >= decided[:, 0] - 1e-6).all()
    assert (predicted <= decided[:, 1] + 1e-6).all()
    apart = (decided[:, 1] - decided[:, 0]).mean()
    assert found.ambiguity() == pytest.approx(apart, rel=0.2)
    assert sum(one.share for one in found.regions()) == pytest.approx(1.0)
    plain_values = json.loads(json.dumps(found.multiplicity(frame[:5]).to_dict(), allow_nan=False))
    assert plain_values["number"] == "target"
    assert plain_values["predictions_apart"] == found.ambiguity()
    assert plain_values["records"]["disputed"][0]["predictions"] == decided[0].tolist()
    assert "decided_differently" not in plain_values
    weak = PrivateSummary(epsilon=0.2, domain=DOMAIN, target_range=RANGE, random_state=0).fit(
        *people(300, classes=None)
    )
    with pytest.raises(InvalidParameterError, match="noise is too strong"):
        weak.near_optimal(1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"max_depth": 4}, r"max_depth must be a whole number in \[1, 3\]"),
        ({"slack": -0.1}, r"slack must be a number in \[0, 0.2\]"),
        ({"bootstrap": 1}, r"bootstrap must be a whole number in \[2, 200\]"),
    ],
)
def test_what_a_set_of_trees_cannot_be_asked_for_is_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        summary().near_optimal(**arguments)


def test_a_summary_that_is_noise_or_too_wide_has_no_set(monkeypatch: pytest.MonkeyPatch) -> None:
    weak = PrivateSummary(epsilon=0.2, domain=DOMAIN, classes=(0, 1), random_state=0).fit(*people(300))
    with pytest.raises(InvalidParameterError, match="noise is too strong for an estimate"):
        weak.near_optimal(1)
    monkeypatch.setattr("glassine.learners.summaries.near_optimal.MOST_COUNTS", 1000)
    with pytest.raises(InvalidParameterError, match="need more than 1,000 counts"):
        summary().near_optimal(3)


def test_a_summary_without_signal_has_one_near_optimal_tree() -> None:
    rng = np.random.default_rng(0)
    domain = Domain({"x": Integer(0, 9)})
    flat = PrivateSummary(epsilon=4.0, domain=domain, classes=(0, 1), random_state=0)
    trees = flat.fit(rng.integers(0, 10, (2000, 1)), rng.random(2000) < 0.3).near_optimal(2, bootstrap=2)
    assert trees.count() == 1
    assert trees.reliances[0].high == pytest.approx(0.0, abs=1e-9)
    assert trees.ambiguity() == 0
