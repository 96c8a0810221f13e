"""Microaggregation in plain NumPy, step by step as the literature states it; it shares no code with the package."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]


def standardized(X: FloatArray) -> FloatArray:
    """Columns with mean 0 and standard deviation 1; constant ones are 0."""
    X = np.ascontiguousarray(X, dtype=float)
    constant = X.min(axis=0) == X.max(axis=0)
    return np.asarray(np.where(constant, 0.0, (X - X.mean(axis=0)) / np.where(constant, 1.0, X.std(axis=0))))


def squared(Z: FloatArray, point: FloatArray) -> FloatArray:
    """Squared distances of records to a point, attribute by attribute; 2 from a missing value, 0 between two."""
    total = np.zeros(len(Z))
    for j in range(Z.shape[1]):
        absent = np.isnan(Z[:, j]).astype(int) + np.isnan(point[j])
        total = total + np.where(absent > 0, np.where(absent == 1, 2.0, 0.0), (Z[:, j] - point[j]) ** 2)
    return total


def mean_record(Z: FloatArray) -> FloatArray:
    """Mean of records, each sum rounded once; missing where more than half of them have no value."""
    columns = [column[~np.isnan(column)] for column in Z.T]
    return np.array([math.fsum(c) / len(c) if 2 * len(c) >= len(Z) else math.nan for c in columns])


def mdav(Z: FloatArray, k: int, *, strict: bool = False) -> IntArray:
    """Group of each record by MDAV; of equal distances the lowest record comes first.

    The strict loop wants more than 3k records, as the surrogate paper prints it.
    """
    rest = list(range(len(Z)))
    groups: list[list[int]] = []

    def take(seed: int) -> None:
        rest.remove(seed)
        distances = squared(Z[rest], Z[seed])
        near = np.argsort(distances, kind="stable")[: k - 1]
        groups.append([seed, *(rest[i] for i in near)])
        members = set(groups[-1])
        rest[:] = [record for record in rest if record not in members]

    def farthest(point: FloatArray) -> int:
        return rest[int(np.argmax(squared(Z[rest], point)))]

    while len(rest) >= 3 * k + strict:
        first = farthest(mean_record(Z[rest]))
        take(first)
        take(farthest(Z[first]))
    if len(rest) >= 2 * k:
        take(farthest(mean_record(Z[rest])))
    groups.append(rest)
    return as_labels(groups, len(Z))


def printed_mdav(Z: FloatArray, k: int) -> list[list[int]]:
    """Return the groups of Algorithm 2 of the surrogate paper, exactly as it is printed."""
    rest = list(range(len(Z)))
    groups: list[list[int]] = []

    def cluster(seed: int) -> list[int]:
        near = np.argsort(squared(Z[rest], Z[seed]), kind="stable")[:k]
        return [rest[i] for i in near]

    while len(rest) > 3 * k:
        first = rest[int(np.argmax(squared(Z[rest], mean_record(Z[rest]))))]
        second = rest[int(np.argmax(squared(Z[rest], Z[first])))]
        for seed in (first, second):
            groups.append(cluster(seed))
            rest = [record for record in rest if record not in groups[-1]]
    if 2 * k <= len(rest) < 3 * k:
        groups.append(cluster(rest[int(np.argmax(squared(Z[rest], mean_record(Z[rest]))))]))
    else:
        groups.append(rest)
    return groups


def v_mdav(Z: FloatArray, k: int, gamma: float) -> IntArray:
    """Group of each record by V-MDAV."""
    rest = list(range(len(Z)))
    groups: list[list[int]] = []
    middle = mean_record(Z)
    while len(rest) >= k:
        seed = rest[int(np.argmax(squared(Z[rest], middle)))]
        rest.remove(seed)
        near = np.argsort(squared(Z[rest], Z[seed]), kind="stable")[: k - 1]
        group = [seed, *(rest[i] for i in near)]
        rest = [record for record in rest if record not in group]
        while len(group) < 2 * k - 1 and rest:
            gaps = np.min([squared(Z[rest], Z[member]) for member in group], axis=0)
            chosen = rest[int(np.argmin(gaps))]
            others = [record for record in rest if record != chosen]
            if others and not gaps.min() < gamma * gamma * squared(Z[others], Z[chosen]).min():
                break
            group.append(chosen)
            rest = others
        groups.append(group)
    centers = np.array([mean_record(Z[group]) for group in groups])
    for record in rest:
        order = np.argsort(squared(centers, Z[record]), kind="stable")
        room = [group for group in order if len(groups[group]) < 2 * k - 1]
        groups[room[0] if room else order[0]].append(record)
    return as_labels(groups, len(Z))


def mixed_mdav(
    numbers: FloatArray, codes: IntArray, tables: list[FloatArray], k: int
) -> tuple[IntArray, list[tuple[FloatArray, list[int]]]]:
    """Group of each record by MDAV under Gower's distance with tables for the categories, and the groups' centers.

    The numbers are divided by their ranges already.
    """
    rest = list(range(len(codes)))
    groups: list[list[int]] = []

    def center(records: list[int]) -> tuple[FloatArray, list[int]]:
        kinds = []
        for j, table in enumerate(tables):
            counts = np.bincount(codes[records, j], minlength=len(table))
            kinds.append(int(np.argmin([sum(c * d * d for c, d in zip(counts, row, strict=True)) for row in table])))
        return mean_record(numbers[records]), kinds

    def far(point: FloatArray, kinds: list[int] | IntArray) -> FloatArray:
        total = np.zeros(len(rest))
        for j in range(numbers.shape[1]):
            total = total + np.abs(numbers[rest, j] - point[j])
        for j, table in enumerate(tables):
            total = total + table[kinds[j], codes[rest, j]]
        return total

    def take(seed: int) -> None:
        rest.remove(seed)
        near = np.argsort(far(numbers[seed], codes[seed]), kind="stable")[: k - 1]
        groups.append([seed, *(rest[i] for i in near)])
        rest[:] = [record for record in rest if record not in groups[-1]]

    while len(rest) >= 3 * k:
        first = rest[int(np.argmax(far(*center(rest))))]
        take(first)
        take(rest[int(np.argmax(far(numbers[first], codes[first])))])
    if len(rest) >= 2 * k:
        take(rest[int(np.argmax(far(*center(rest))))])
    groups.append(rest)
    return as_labels(groups, len(codes)), [center(group) for group in groups]


def as_labels(groups: list[list[int]], n: int) -> IntArray:
    labels = np.full(n, -1)
    for group, members in enumerate(groups):
        labels[members] = group
    return labels
