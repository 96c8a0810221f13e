"""Columns are cut at their quartiles, whatever numbers they hold."""

from __future__ import annotations

import numpy as np
import pytest

from glassine.auditing.group_privacy import edges_of
from glassine.data.labels import quartiles, subgroups

LARGEST = np.finfo(float).max


@pytest.mark.parametrize("values", [range(12), [0, 0, 0, 0, *range(12)], np.linspace(-3, 7, 41)])
def test_quartiles_of_finite_numbers_are_those_of_numpy(values: object) -> None:
    numbers = np.array(values, dtype=float)
    assert quartiles(numbers) == pytest.approx(np.quantile(numbers, [0.25, 0.5, 0.75]), abs=0)


@pytest.mark.parametrize("odd", [[np.inf], [-np.inf], [np.inf] * 30, [-np.inf, np.inf] * 10, [LARGEST, -LARGEST]])
def test_infinite_and_large_numbers_are_cut_as_well(odd: list[float]) -> None:
    column = np.array([*range(12), *odd, np.nan])
    found = subgroups(column)
    assert sorted(np.concatenate(list(found.values())).tolist()) == list(range(len(column)))
    assert found["missing"].tolist() == [len(column) - 1]
    groups = list(found)
    for number, group in ((-np.inf, groups[0]), (np.inf, groups[-2])):
        rows = np.flatnonzero(column == number)
        assert set(rows) <= set(found[group].tolist())
    assert np.isfinite(edges_of(column)).all()
