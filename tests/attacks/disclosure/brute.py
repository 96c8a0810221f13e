"""The posterior by its definition: every assignment of classes to people, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure import Disclosure

Floats = npt.NDArray[np.float64]


def deals(hand: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the different ways to give people in turn the classes of a hand, a number of people for each class."""
    if not any(hand):
        return [()]
    out = []
    for c in np.flatnonzero(hand).tolist():
        rest = tuple(n - (k == c) for k, n in enumerate(hand))
        out += [(c, *others) for others in deals(rest)]
    return out


def assignments(disclosure: Disclosure) -> list[tuple[int, ...]]:
    """Return every assignment of classes to people with the class counts of the leaves."""
    people, counts = disclosure.people, disclosure.leaves.counts
    assert counts is not None
    rows = [np.flatnonzero(people.leaf[people.person] == leaf).tolist() for leaf in range(len(counts))]
    out = []
    for dealt in product(*(deals(tuple(row.astype(int).tolist())) for row in counts)):
        classes = [0] * people.n_people
        for leaf, hand in zip(rows, dealt, strict=True):
            for row, c in zip(leaf, hand, strict=True):
                classes[row] = c
        out.append(tuple(classes))
    return out


def posterior(disclosure: Disclosure, keeps: Callable[[list[Any]], bool]) -> tuple[Floats, int]:
    """Return P(class | person) over the assignments that keep all constraints, and how many they are."""
    classes = disclosure.classes
    kept = [a for a in assignments(disclosure) if keeps([classes[c] for c in a])]
    table = np.zeros((disclosure.people.n_people, len(classes)))
    for assignment in kept:
        table[np.arange(len(assignment)), list(assignment)] += 1 / len(kept)
    return table, len(kept)
