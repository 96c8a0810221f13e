"""Bit sets against the truth columns that they are packed from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.records.bits import BitSets

SIZES = [0, 1, 63, 64, 65, 128, 200]


def data(seed: int, n: int, p: int, n_classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.random((p, n)) < 0.4, rng.integers(n_classes, size=n)


def counted(truth: Any, labels: Any, n_classes: int, times: Any = None) -> list[int]:
    return [int(n) for n in np.bincount(labels[truth], None if times is None else times[truth], n_classes)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_counts_are_those_of_the_columns(n: int, n_classes: int) -> None:
    truths, labels = data(n, n, 4, n_classes)
    bitsets = BitSets.pack(truths, labels, n_classes)
    everything = np.ones(n, dtype=bool)
    assert bitsets.totals().tolist() == counted(everything, labels, n_classes)
    for truth, words in zip(truths, bitsets.words, strict=True):
        assert bitsets.count(words).tolist() == counted(truth, labels, n_classes)
    assert bitsets.count(bitsets.words[0] & bitsets.words[1]).tolist() == counted(
        truths[0] & truths[1], labels, n_classes
    )


@pytest.mark.parametrize("n", SIZES)
def test_complements_hold_no_padding(n: int) -> None:
    truths, labels = data(n, n, 3, 2)
    bitsets = BitSets.pack(truths, labels, 2)
    others = bitsets.complement()
    for truth, words in zip(truths, others.words, strict=True):
        assert others.count(words).tolist() == counted(~truth, labels, 2)
    assert int(np.bitwise_count(bitsets.valid).sum()) == n
    assert not (others.words & ~others.valid).any()
    assert np.array_equal(others.complement().words, bitsets.words)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.integers(0, 40)), max_size=70),
    st.sampled_from([1, 2**20, 2**33]),
)
@settings(max_examples=60)
def test_multiplicities_are_repetitions(rows: list[tuple[bool, int, int]], factor: int) -> None:
    truth = np.array([row[0] for row in rows], dtype=bool)
    labels = np.array([row[1] for row in rows], dtype=np.int64)
    times = np.array([row[2] for row in rows], dtype=np.int64) * factor
    bitsets = BitSets.pack([truth], labels, 3, times)
    expected = np.zeros(3, dtype=object)
    for holds, label, n in zip(truth, labels, times.tolist(), strict=True):
        expected[label] += n if holds else 0
    assert bitsets.count(bitsets.words[0]).tolist() == expected.tolist()
    assert bitsets.totals().sum() == times.sum()


def test_a_segment_has_one_class_and_one_weight() -> None:
    labels = np.array([0, 1, 0, 1, 1])
    bitsets = BitSets.pack([np.array([1, 1, 0, 1, 0], dtype=bool)], labels, 2, np.array([5, 1, 4, 0, 2]))
    segments = list(zip(bitsets.labels.tolist(), bitsets.weights.tolist(), strict=True))
    # 5 = 1 + 4 and 4 of class 0; 1 and 2 of class 1.
    assert segments == [(0, 1), (0, 4), (1, 1), (1, 2)]
    assert bitsets.starts.tolist() == [0, 1, 2, 3, 4]
    assert bitsets.count(bitsets.words[0]).tolist() == [5, 1]


def test_columns_are_taken_one_at_a_time() -> None:
    truths, labels = data(0, 100, 5, 2)
    bitsets = BitSets.pack((truth for truth in truths), labels, 2)
    assert np.array_equal(bitsets.words, BitSets.pack(truths, labels, 2).words)
    assert repr(bitsets) == "<BitSets of 5 literals and 2 classes>"


@pytest.mark.parametrize("n", [0, 5])
def test_no_literals(n: int) -> None:
    bitsets = BitSets.pack([], np.zeros(n, dtype=np.int64), 3)
    assert bitsets.words.shape == (0, 1 if n else 0)
    assert bitsets.totals().tolist() == [n, 0, 0]
    assert len(bitsets.complement().words) == 0
