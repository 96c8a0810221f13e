"""Seeded splits into training and test records, class by class."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidDataError

__all__ = ["Rows", "check_classes", "split"]

Rows = npt.NDArray[np.intp]


def check_classes(labels: npt.NDArray[np.int64]) -> None:
    """Raise unless two classes at least have two records each, so that both sides of a split can hold them."""
    counts = np.bincount(labels)
    if not (counts >= 2).sum() >= 2:
        raise InvalidDataError(
            f"two classes must have two records each at least, got {counts[counts > 0].tolist()} records by class. "
            "Give more records."
        )


def split(labels: npt.NDArray[np.int64], number: int, *, test_share: float, seed: int) -> tuple[Rows, Rows]:
    """Return the rows that train and those that test, each class in the same shares.

    A class of two records or more stands on both sides; the only record of a class trains.

    Examples
    --------
    >>> train, test = split(np.array([0, 0, 0, 0, 1, 1]), 0, test_share=0.25, seed=0)
    >>> len(train), len(test)
    (4, 2)
    """
    rng = np.random.default_rng([seed, number])
    train, test = [], []
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        held = 0 if len(rows) < 2 else min(max(round(test_share * len(rows)), 1), len(rows) - 1)
        test.append(rows[:held])
        train.append(rows[held:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))
