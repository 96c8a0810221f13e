"""Splits class by class."""

from __future__ import annotations

import numpy as np
import pytest

from glassine.comparison.seeded_splits import check_classes, split
from glassine.errors import InvalidDataError

LABELS = np.repeat([0, 1, 2, 3], [700, 290, 2, 1])


def test_every_record_stands_on_one_side_and_classes_keep_their_shares() -> None:
    train, test = split(LABELS, 0, test_share=0.3, seed=0)
    assert sorted([*train.tolist(), *test.tolist()]) == list(range(len(LABELS)))
    assert np.bincount(LABELS[test]).tolist() == [210, 87, 1]
    assert np.bincount(LABELS[train]).tolist() == [490, 203, 1, 1]


def test_splits_follow_from_seed_and_number() -> None:
    first, again = (split(LABELS, 1, test_share=0.3, seed=5)[1].tolist() for _ in range(2))
    assert first == again
    others = [split(LABELS, number, test_share=0.3, seed=seed)[1].tolist() for number, seed in ((0, 5), (2, 5), (1, 6))]
    assert all(first != other for other in others)


def test_both_sides_hold_a_class_whatever_the_share() -> None:
    for share in (0.001, 0.999):
        train, test = split(LABELS, 0, test_share=share, seed=0)
        assert {0, 1, 2} <= set(LABELS[train]) & set(LABELS[test])


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 0, 1], [0, 1]])
def test_too_few_records_are_refused(labels: list[int]) -> None:
    with pytest.raises(InvalidDataError, match="two classes must have two records each"):
        check_classes(np.array(labels))


def test_two_classes_of_two_are_enough() -> None:
    labels = np.array([0, 0, 2, 2, 1])
    check_classes(labels)
    train, test = split(labels, 0, test_share=0.3, seed=0)
    assert sorted(labels[train].tolist()) == [0, 1, 2]
    assert sorted(labels[test].tolist()) == [0, 2]
