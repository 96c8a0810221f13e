"""Worst pairs and the search among them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from glassine import Category, Domain, Integer, Real
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.learners import PrivateTreeClassifier
from glassine.verification import Claim, Runs
from glassine.verification.neighbors import OUTLIER, NeighborPair, search, worst_pairs
from glassine.verification.same_records import CONTAINERS, check_neighbors
from glassine.verification.scores import Distinguisher

FAST = Distinguisher(models=())
NUMBERS = np.array([[0, 5], [1, 5], [0, 6], [1, 6], [0, 5]])
TEXTS = np.array([["a", "x"], ["b", "x"], ["a", "y"], ["b", "y"], ["a", "x"]])
MIXED = np.array([["a", 1], ["b", 1], ["a", 2], ["b", 2], ["a", 3]], dtype=object)
LABELS: dict[str, Any] = {
    "numbers": np.array([0, 1, 0, 1, 0]),
    "texts": np.array(["no", "yes", "no", "yes", "no"]),
    "truths": np.array([True, False, True, False, True]),
    "three": np.array([2, 1, 0, 1, 0]),
    "one": np.zeros(5, dtype=int),
}


def odd(*containers: str) -> list[NeighborPair]:
    domain = Domain({"p": Category(("a", "b")), "n": Integer(0, 9)})
    found = worst_pairs(MIXED, LABELS["texts"], domain=domain, classes=("no", "yes", 1))
    return [pair for pair in found if pair.container in containers]


@pytest.mark.parametrize("container", CONTAINERS)
def test_odd_records_stand_in_every_container_as_they_are(container: str) -> None:
    pairs = odd(container)
    assert any("attribute 'p'" in pair.name for pair in pairs)
    assert any("attribute 'n'" in pair.name for pair in pairs)
    assert any("label: the class 1" in pair.name for pair in pairs)
    assert len({id(pair.d0) for pair in pairs}) < len(pairs)
    for pair in pairs:
        assert check_neighbors(pair.d0, pair.d1, "add-or-remove-one") == "0 records removed, 1 added"


def test_an_odd_value_is_not_cast_to_the_container_of_the_others() -> None:
    for pair in odd("lists", "tuples", "object array", "pandas", "polars"):
        if "attribute 'n': a fraction" in pair.name:
            X = pair.d1[0]
            rows = X.rows() if hasattr(X, "rows") else X.values.tolist() if hasattr(X, "values") else list(X)
            assert rows[-1][1] == 0.5
            assert type(rows[0][1]) is int or pair.container == "polars"
    (text,) = [pair for pair in odd("lists") if pair.name == "attribute 'n': a number as text"]
    assert text.d1[0][-1][1] == "0"
    assert text.d1[0][0][1] == 0
    # In arrays as well: a bound of the domain that an array of whole numbers does not hold.
    pairs = worst_pairs(NUMBERS, LABELS["numbers"], domain=Domain({"p": Real(0.25, 0.75), "q": Integer(0, 9)}))
    assert named(pairs, "empty cell, column 0").d1[0][-1, 0] in (0.25, 0.75)


@pytest.mark.parametrize("X", [NUMBERS, NUMBERS.astype(bool), NUMBERS.astype(float), TEXTS, MIXED])
@pytest.mark.parametrize("labels", LABELS)
def test_every_pair_is_one_of_neighbors(X: Any, labels: str) -> None:
    pairs = worst_pairs(X, LABELS[labels])
    assert len({pair.name for pair in pairs}) == len(pairs)
    for pair in pairs:
        assert check_neighbors(pair.d0, pair.d1, "add-or-remove-one") == "0 records removed, 1 added"
        for dataset in (pair.d0, pair.d1):
            assert set(np.unique(dataset[1]).tolist()) <= set(np.unique(LABELS[labels]).tolist())
    for kind in ("empty cell", "no record has", "one of all", "tipped", "duplicate", "two records", "in turn"):
        assert any(kind in pair.name for pair in pairs), kind


def named(pairs: tuple[NeighborPair, ...], *parts: str) -> NeighborPair:
    return next(pair for pair in pairs if all(part in pair.name for part in parts))


def test_pairs_are_what_their_names_say() -> None:
    domain = Domain({"p": Category(("a", "b", "c")), "q": Integer(1, 9)})
    pairs = worst_pairs(MIXED, LABELS["texts"], domain=domain)
    empty = named(pairs, "empty cell, column 0")
    assert "c" not in empty.d0[0][:, 0]
    assert empty.d1[0][-1, 0] == "c"
    highest = named(pairs, "empty cell, column 1")
    assert highest.d1[0][-1, 1] == 9
    assert named(pairs, "no record has, column 0").d1[0][-1, 0] == OUTLIER
    assert named(pairs, "no record has, column 1").d1[0][-1, 1] > 1000
    tipped = named(pairs, "tipped", "'yes'")
    assert (tipped.d0[1] == "yes").mean() == 0.5
    front = named(pairs, "in front")
    assert (front.d1[1][1:] == front.d0[1]).all()
    assert len(named(pairs, "two records").d0[1]) == 2


def test_a_target_goes_to_both_ends_of_its_range() -> None:
    pairs = worst_pairs(NUMBERS, [99, 99, 100, 100, 99], target_range=(99, 100.5))
    assert {pair.d1[1][-1] for pair in pairs if "duplicate" in pair.name} == {99.0, 100.5}


def test_labels_longer_than_those_of_the_background_stay_whole() -> None:
    pairs = worst_pairs(TEXTS, ["no"] * 5, classes=("no", "certainly"))
    assert any(pair.d1[1][-1] == "certainly" for pair in pairs)


def leaky(dataset: Any, seed: int | None) -> float:
    """Sum the labels with half of the noise, and notice nothing else."""
    return float(dataset[1].sum()) + float(np.random.default_rng(seed).laplace(scale=0.5))


def test_the_search_finds_the_pair_and_counts_fresh_runs_only() -> None:
    seeds: list[int | None] = []

    def noted(dataset: Any, seed: int | None) -> float:
        seeds.append(seed)
        return leaky(dataset, seed)

    progress: list[tuple[int, int]] = []
    pairs = worst_pairs(NUMBERS, LABELS["numbers"])
    found = search(
        noted,
        pairs,
        Claim(epsilon=1.0),
        preliminary=40,
        score=float,
        runs=Runs(1000, progress=lambda *at: progress.append(at)),
    )
    assert progress[-1] == (found.runs, found.runs)
    assert [done for done, _ in progress] == sorted(done for done, _ in progress)
    assert len(set(seeds)) == len(seeds) == found.runs <= 1000 + 40 * len(pairs)
    assert found.bound.violated
    # What was counted, and what chose the event.
    assert found.bound.counted0 + found.bound.counted1 >= 700
    assert found.bound.runs > found.bound.counted0 + found.bound.counted1
    assert isinstance(found.pair, NeighborPair)
    assert found.pair.d1[1].sum() == found.pair.d0[1].sum() + 1
    assert len(found.preliminary) == len(pairs)
    assert [name for name, _ in found.bounds] == [found.pair.name]
    again = search(leaky, pairs, Claim(epsilon=1.0), preliminary=40, score=float, runs=Runs(1000))
    assert again.bound == found.bound


def test_a_single_pair_needs_no_preliminary_runs() -> None:
    pair = worst_pairs(NUMBERS, LABELS["numbers"])[-1]
    progress: list[tuple[int, int]] = []
    found = search(
        leaky, [pair], Claim(epsilon=1.0), score=float, runs=Runs(100, progress=lambda *at: progress.append(at))
    )
    assert found.pair is pair
    assert found.preliminary == ()
    assert progress[-1] == (100, 100)


def test_a_category_that_is_told_is_found_by_the_default_distinguisher() -> None:
    def values(dataset: Any, seed: int | None) -> list[str]:
        told = np.random.default_rng(seed).random() < 0.5
        return sorted(set(dataset[0][:, 0])) if told else ["a"]

    found = search(
        values,
        worst_pairs(TEXTS, LABELS["texts"]),
        Claim(epsilon=1.0, delta=1e-6),
        preliminary=80,
        score=FAST,
        runs=Runs(400),
    )
    assert "no record has, column 0" in found.pair.name or "empty cell, column 0" in found.pair.name
    assert found.bound.violated


@pytest.mark.slow
def test_a_private_tree_is_not_accused() -> None:
    tree = PrivateTreeClassifier(1, epsilon=1.0, domain=Domain.binary(["p", "q"]), classes=(0, 1))
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 2)
    pairs = [
        pair for pair in worst_pairs(X, X[:, 0], domain=Domain.binary(["p", "q"])) if "column 0, label 1" in pair.name
    ]
    found = search(tree, pairs, Claim(epsilon=1.0), preliminary=40, score=FAST, runs=Runs(400))
    assert not found.bound.violated


@pytest.mark.parametrize(
    ("X", "y"), [([[0]] * 3, [0] * 3), ([0] * 5, [0] * 5), ([[0]] * 5, [0] * 4), ([[0]] * 5, [[0]] * 5), ([], [])]
)
def test_backgrounds_that_are_no_table_are_refused(X: Any, y: Any) -> None:
    with pytest.raises(InvalidDataError, match="X must be a table"):
        worst_pairs(X, y)


def test_a_search_checks_its_parameters() -> None:
    pairs = worst_pairs(NUMBERS, LABELS["numbers"])
    with pytest.raises(InvalidParameterError, match="at least one pair"):
        search(leaky, [])
    for number in (3, math.nan, 50.0):
        with pytest.raises(InvalidParameterError, match="preliminary must be"):
            search(leaky, pairs, preliminary=number)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameterError, match="runs must be"):
            search(leaky, pairs, runs=Runs(number))  # type: ignore[arg-type]
