"""Counts of conjunctions against sums over the records."""

from __future__ import annotations

from itertools import combinations as itertools_combinations
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.compiling import slices
from glassine.records.bits import BitSets
from glassine.records.conjunctions import CHUNK, ConjunctionCounts, count_conjunctions
from glassine.records.subsets import binomials, combinations, rank

ENDS = [0, 1, 63, 64, 65, 64 * CHUNK - 1, 64 * CHUNK, 64 * CHUNK + 1]
"""Numbers of records around the ends of words, and of the chunks in which words are counted."""


def data(seed: int, n: int, p: int, n_classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.random((p, n)) < rng.random((p, 1)), rng.integers(n_classes, size=n)


def naive(truths: Any, labels: Any, n_classes: int, literals: tuple[int, ...], signs: tuple[bool, ...]) -> list[int]:
    rows = np.ones(len(labels), dtype=bool)
    for literal, sign in zip(literals, signs, strict=True):
        rows &= truths[literal] == sign
    return [int(n) for n in np.bincount(labels[rows], minlength=n_classes)]


def assert_counts(counts: ConjunctionCounts, truths: Any, labels: Any, n_classes: int, d: int) -> None:
    p = len(truths)
    for k in range(min(d, p) + 1):
        for literals in itertools_combinations(range(p), k):
            positive = (True,) * k
            assert counts.of(literals).tolist() == naive(truths, labels, n_classes, literals, positive)
            assert counts.signed(literals, positive).tolist() == counts.of(literals).tolist()


@pytest.mark.parametrize("n", ENDS)
@pytest.mark.parametrize("d", [0, 1, 2, 3])
def test_counts_at_the_ends_of_words_and_chunks(n: int, d: int) -> None:
    truths, labels = data(n, n, 5, 1)
    counts = count_conjunctions(BitSets.pack(truths, labels, 1), d)
    assert_counts(counts, truths, labels, 1, d)


@pytest.mark.parametrize("n", [200, 64 * CHUNK * 2 + 77])
def test_counts_over_several_segments(n: int) -> None:
    truths, labels = data(n, n, 6, 3)
    assert_counts(count_conjunctions(BitSets.pack(truths, labels, 3), 4), truths, labels, 3, 4)


def test_multiplicities_are_repetitions() -> None:
    truths, labels = data(1, 300, 5, 3)
    times = np.random.default_rng(2).integers(0, 20, size=300)
    counts = count_conjunctions(BitSets.pack(truths, labels, 3, times), 3)
    repeated = count_conjunctions(BitSets.pack(np.repeat(truths, times, axis=1), np.repeat(labels, times), 3), 3)
    assert np.array_equal(counts.table, repeated.table)
    assert_counts(counts, np.repeat(truths, times, axis=1), np.repeat(labels, times), 3, 3)


@pytest.mark.parametrize("p", [0, 1, 3])
def test_more_depth_than_literals(p: int) -> None:
    truths, labels = data(p, 40, p, 2)
    counts = count_conjunctions(BitSets.pack(truths, labels, 2), 5)
    assert len(counts.table) == 2**p
    assert_counts(counts, truths, labels, 2, 5)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 80), st.integers(1, 3))
@settings(max_examples=40)
def test_signed_counts_are_those_of_the_records(seed: int, p: int, n: int, n_classes: int) -> None:
    truths, labels = data(seed, n, p, n_classes)
    counts = count_conjunctions(BitSets.pack(truths, labels, n_classes), 3)
    for k in range(min(3, p) + 1):
        literals = tuple(sorted(np.random.default_rng(seed).choice(p, size=k, replace=False).tolist()))
        for signs in product((False, True), repeat=k):
            assert counts.signed(literals, signs).tolist() == naive(truths, labels, n_classes, literals, signs)


@pytest.mark.parametrize("small", [0.0, float("inf")], ids=["threads", "one by one"])
def test_many_literals_are_cut_into_slices(small: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SMALL", small)
    truths, labels = data(3, 500, 60, 2)
    told: list[tuple[int, int]] = []
    counts = count_conjunctions(BitSets.pack(truths, labels, 2), 2, lambda done, total: told.append((done, total)))
    for literals in [(0, 1), (0, 59), (58, 59), (17, 42), (31, 32)]:
        assert counts.of(literals).tolist() == naive(truths, labels, 2, literals, (True, True))
    assert counts.table[counts.offsets[2] :].sum() == sum(comb(int(n), 2) for n in truths.sum(axis=0))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2**30, 2**31 - 1, 2**31, 2**33])
def test_tables_are_equally_wide_for_any_number_of_records(times: int) -> None:
    counts = count_conjunctions(BitSets.pack([np.array([True])], np.array([0]), 1, np.array([times])), 1)
    assert counts.table.dtype == np.int64
    assert counts.of((0,)).tolist() == [times]


@pytest.mark.parametrize(("p", "k"), [(0, 0), (5, 0), (5, 1), (6, 3), (7, 7), (3, 4), (12, 5)])
def test_ranks_number_the_combinations(p: int, k: int) -> None:
    listed = [tuple(row) for row in combinations(p, k).tolist()]
    assert sorted(listed) == list(itertools_combinations(range(p), k))
    assert [rank(row) for row in listed] == list(range(comb(p, k)))
    # Colexicographic: the largest literal decides first.
    assert listed == sorted(listed, key=lambda row: row[::-1])


def test_binomials_are_those_of_the_standard_library() -> None:
    table = binomials(70, 5)
    assert table.shape == (71, 6)
    assert all(table[i, j] == comb(i, j) for i in range(71) for j in range(6))


def test_a_count_says_what_it_is() -> None:
    truths, labels = data(0, 3, 4, 2)
    assert (
        repr(count_conjunctions(BitSets.pack(truths, labels, 2), 2)) == "<ConjunctionCounts of up to 2 of 4 literals>"
    )
