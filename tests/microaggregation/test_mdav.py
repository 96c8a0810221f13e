from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from glassine.microaggregation import kd_tree, microaggregate, search_method
from glassine.microaggregation.dissimilarity import metric_of, read_records
from glassine.microaggregation.mdav import ScaledRecords
from tests.microaggregation.cases import KINDS, cases
from tests.microaggregation.reference import (
    FloatArray,
    IntArray,
    as_labels,
    mdav,
    mean_record,
    printed_mdav,
    squared,
    standardized,
    v_mdav,
)


def points(X: npt.ArrayLike, scaling: str = "standard") -> ScaledRecords:
    table, _ = read_records(np.asarray(X, dtype=float), "euclidean", None)
    metric = metric_of(table, scaling=scaling, distance="euclidean", domain=None)
    return ScaledRecords.scaled(table.numbers, table.codes, metric)


@pytest.mark.slow
@pytest.mark.parametrize("scaling", ["standard", "none"])
def test_both_searches_and_plain_numpy_agree(monkeypatch: pytest.MonkeyPatch, scaling: str) -> None:
    monkeypatch.setattr(kd_tree, "LEAF", 3)
    for kind, X, k in cases(160, seed=0):
        expected = mdav(standardized(X) if scaling == "standard" else X, k)
        assert microaggregate(X, k, scaling=scaling).labels.tolist() == expected.tolist(), (kind, X.shape, k)
        assert points(X, scaling).mdav(k, None, "kd-tree").tolist() == expected.tolist(), (kind, X.shape, k)
        assert points(X, scaling).mdav(k, None, "scan").tolist() == expected.tolist(), (kind, X.shape, k)


def test_a_tree_that_hands_over_to_the_scan_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kd_tree, "LEAF", 3)
    monkeypatch.setattr("glassine.microaggregation.mdav._fewest_in_tree", lambda k, p: 20.0)
    for kind, X, k in cases(80, seed=21):
        expected = mdav(standardized(X), k)
        assert microaggregate(X, k).labels.tolist() == expected.tolist(), (kind, X.shape, k)
        # The scan numbers its groups after those of the tree.
        assert points(X).mdav(k, None).tolist() == expected.tolist(), (kind, X.shape, k)


@pytest.mark.slow
@pytest.mark.parametrize("scaling", ["standard", "none"])
def test_both_searches_and_plain_numpy_agree_on_many(monkeypatch: pytest.MonkeyPatch, scaling: str) -> None:
    for leaf in (1, 4, 128):
        monkeypatch.setattr(kd_tree, "LEAF", leaf)
        for kind, X, k in cases(160, seed=leaf, largest=400):
            expected = mdav(standardized(X) if scaling == "standard" else X, k).tolist()
            assert points(X, scaling).mdav(k, None, "kd-tree").tolist() == expected, (kind, X.shape, k)
            assert points(X, scaling).mdav(k, None, "scan").tolist() == expected, (kind, X.shape, k)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p", "k"), [(20_000, 10, 20), (30_000, 2, 3), (10_000, 40, 50), (50_000, 3, 1000)])
def test_both_searches_agree_on_large_data(n: int, p: int, k: int) -> None:
    rng = np.random.default_rng(n)
    for X in (rng.normal(size=(n, p)), np.round(rng.normal(size=(n, p)))):
        tree, scan = points(X).mdav(k, None, "kd-tree"), points(X).mdav(k, None, "scan")
        assert np.array_equal(tree, scan)


def last_of_ties(Z: FloatArray, k: int) -> IntArray:
    return mdav(Z[::-1], k)[::-1]


def strict_loop(Z: FloatArray, k: int) -> IntArray:
    return mdav(Z, k, strict=True)


def always_from_the_mean(Z: FloatArray, k: int) -> IntArray:
    rest, groups = list(range(len(Z))), []
    while len(rest) >= 2 * k:
        seed = rest[int(np.argmax(squared(Z[rest], mean_record(Z[rest]))))]
        rest.remove(seed)
        near = np.argsort(squared(Z[rest], Z[seed]), kind="stable")[: k - 1]
        groups.append([seed, *(rest[i] for i in near)])
        rest = [record for record in rest if record not in groups[-1]]
    return as_labels([*groups, rest], len(Z))


@pytest.mark.slow
@pytest.mark.parametrize("mistaken", [last_of_ties, strict_loop, always_from_the_mean])
def test_the_comparison_sees_mistakes(mistaken: Callable[[FloatArray, int], IntArray]) -> None:
    differ = 0
    for _, X, k in cases(160, seed=0):
        Z = standardized(X)
        differ += mistaken(Z, k).tolist() != microaggregate(X, k).labels.tolist()
    assert differ > 3


def test_groups_hold_everyone_and_k_to_2k_less_1() -> None:
    for _, X, k in cases(64, seed=5):
        found = microaggregate(X, k)
        assert found.sizes.tolist() == np.bincount(found.labels).tolist()
        assert found.sizes.sum() == len(X)
        assert found.sizes.min() >= min(k, len(X))
        assert found.sizes.max() <= max(2 * k - 1, 1)
        # All but the last were formed around a record and have k exactly.
        assert (found.sizes[:-1] == k).all()


@pytest.mark.parametrize(("n", "lost"), [(10, 5), (14, 9), (40, 5), (41, 6), (44, 9), (46, 0)])
def test_the_printed_algorithm_loses_the_last_k_to_2k_less_1_records(n: int, lost: int) -> None:
    Z = np.random.default_rng(n).normal(size=(n, 2))
    assert n - sum(map(len, printed_mdav(Z, 5))) == lost
    assert microaggregate(Z, 5, scaling="none").sizes.sum() == n


def test_the_printed_algorithm_has_a_group_of_3k() -> None:
    Z = np.random.default_rng(0).normal(size=(15, 2))
    assert [len(group) for group in printed_mdav(Z, 5)] == [15]
    assert microaggregate(Z, 5, scaling="none").sizes.tolist() == [5, 5, 5]


@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.1, 3.0])
def test_v_mdav_agrees_with_plain_numpy(gamma: float) -> None:
    for kind, X, k in cases(48, seed=7, largest=50):
        found = microaggregate(X, k, gamma=gamma)
        assert found.labels.tolist() == v_mdav(standardized(X), k, gamma).tolist(), (kind, X.shape, k)
        assert found.sizes.min() >= k
        assert found.sizes.max() <= 3 * k - 2 or k == 1


def test_v_mdav_follows_the_data_where_mdav_cannot() -> None:
    rng = np.random.default_rng(0)
    # Clusters of 5 records: MDAV with k = 4 must tear them apart.
    X = np.repeat(rng.normal(size=(8, 2)) * 100, 5, axis=0) + rng.normal(size=(40, 2))
    fixed, variable = microaggregate(X, 4), microaggregate(X, 4, gamma=1.1)
    assert variable.sizes.tolist() == [5] * 8
    assert variable.information_loss < fixed.information_loss / 100
    assert microaggregate(X, 4, gamma=0).sizes.tolist() == [4] * 10


def test_one_record_can_change_all_groups() -> None:
    ages = np.arange(40.0)[:, None]
    before = microaggregate(ages, 4)
    after = microaggregate(np.vstack([ages, [[-1.0]]]), 4)
    kept = {tuple(np.flatnonzero(before.labels == g)) for g in range(before.n_groups)}
    assert sum(tuple(np.flatnonzero(after.labels[:40] == g)) in kept for g in range(after.n_groups)) <= 5
    values = set(before.representatives.ravel().tolist()), set(after.representatives.ravel().tolist())
    assert len(values[0] & values[1]) <= 5


def test_the_order_of_columns_units_and_shifts_do_not_matter() -> None:
    X = np.random.default_rng(3).normal(size=(200, 4))
    labels = microaggregate(X, 7).labels.tolist()
    assert microaggregate(X[:, ::-1], 7).labels.tolist() == labels
    assert microaggregate(X * [2.0**-60, 1.0, 2.0**40, 0.25], 7).labels.tolist() == labels
    assert microaggregate(np.asfortranarray(X), 7).labels.tolist() == labels
    assert microaggregate(np.column_stack([X, np.full(200, 7.7)]), 7).labels.tolist() == labels


def test_the_rule_picks_both_searches() -> None:
    assert search_method(1_000_000, 100, 10) == "kd-tree"
    assert search_method(20_000, 20, 10) == "scan"
    assert search_method(1_000_000, 400_000, 10) == "scan"


def recorder(told: list[int]) -> Callable[[int, int], None]:
    def tell(done: int, total: int) -> None:
        assert total == 300
        told.append(done)

    return tell


def test_progress_ends_with_all_records() -> None:
    X = np.random.default_rng(0).normal(size=(300, 3))
    for gamma in (None, 0.2):
        told: list[int] = []
        microaggregate(X, 5, gamma=gamma, progress=recorder(told))
        assert told[-1] == 300
        assert told == sorted(told)
    seen: list[int] = []
    points(X).mdav(5, recorder(seen), "kd-tree")
    assert seen[-1] == 300
    assert len(seen) > 5
    assert seen == sorted(seen)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_rounded_once_whatever_left(kind: str) -> None:
    from glassine.microaggregation.scan import add, means, on_grid, word_bits

    rng = np.random.default_rng(0)
    for found, X, _ in cases(48, seed=11):
        if found != kind:
            continue
        n, p = X.shape
        bits = word_bits(n)
        rows, factors = on_grid(X, bits)
        sums, out = np.zeros((3, p), dtype=np.int64), np.empty(p)
        for row in rows:
            add(sums, row, factors, bits, 1)
        order = rng.permutation(n)
        for gone, record in enumerate(order):
            means(sums, factors, bits, n - gone, out)
            assert out.tolist() == [math.fsum(column) / (n - gone) for column in rows[order[gone:]].T]
            add(sums, rows[record], factors, bits, -1)
        assert not sums.any()


def test_rounding_to_units_leaves_ordinary_numbers_alone() -> None:
    from glassine.microaggregation.scan import on_grid

    X = np.random.default_rng(0).normal(size=(1000, 3)) * [1.0, 1e200, 1e-200]
    assert np.array_equal(on_grid(X, 42)[0], X)
    assert on_grid(np.array([[1.0], [1e-30]]), 42)[0].tolist() == [[1.0], [0.0]]
