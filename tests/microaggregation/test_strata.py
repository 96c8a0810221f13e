"""Microaggregation within strata: no group of two, each as if it were alone in the metric of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from glassine.errors import InvalidParameterError
from glassine.microaggregation import microaggregate

RNG = np.random.default_rng(4)
X = RNG.normal(size=(300, 3)) * (1, 5, 0.2)
WARD = RNG.choice(["north", "east", "south"], 300, p=(0.5, 0.3, 0.2))


@pytest.mark.parametrize("gamma", [None, 0.2])
def test_each_stratum_is_partitioned_by_itself(gamma: float | None) -> None:
    groups = microaggregate(X, 7, strata=WARD, gamma=gamma)
    assert groups.strata is not None
    assert groups.sizes.min() >= 7
    scaled = X / X.std(axis=0)
    for ward in np.unique(WARD):
        inside = ward == WARD
        own = np.unique(groups.labels[inside])
        assert set(groups.strata[own]) == {ward}
        assert not set(own) & set(groups.labels[~inside])
        # Alone, in the scaled units of all records, the same groups are formed.
        alone = microaggregate(scaled[inside], 7, gamma=gamma, scaling="none")
        pairs = set(zip(groups.labels[inside].tolist(), alone.labels.tolist(), strict=True))
        assert len(pairs) == len(own) == alone.n_groups
    for group in range(groups.n_groups):
        assert np.allclose(groups.representatives[group], X[groups.labels == group].mean(axis=0))
    assert groups.information_loss > microaggregate(X, 7, gamma=gamma).information_loss - 0.05


def test_strata_can_have_sizes_of_their_own() -> None:
    sizes = {"north": 20, "east": 10, "south": 3}
    groups = microaggregate(X, sizes, strata=WARD)  # type: ignore[arg-type]
    assert groups.strata is not None
    assert groups.k == 3
    for ward, least in sizes.items():
        assert groups.sizes[groups.strata == ward].min() >= least
        assert groups.sizes[groups.strata == ward].max() < 2 * least


@pytest.mark.parametrize(
    "column", [WARD, WARD.tolist(), pl.Series(WARD), pd.Series(WARD), np.array(WARD, dtype=object)]
)
def test_strata_of_every_kind_are_alike(column: Any) -> None:
    assert np.array_equal(microaggregate(X, 5, strata=column).labels, microaggregate(X, 5, strata=WARD).labels)


def test_one_stratum_is_no_strata_and_progress_reaches_the_end() -> None:
    plain, one = microaggregate(X, 5), microaggregate(X, 5, strata=["all"] * 300)
    assert np.array_equal(plain.labels, one.labels)
    assert plain.strata is None
    assert plain.information_loss == one.information_loss
    told: list[tuple[int, int]] = []
    microaggregate(X, 5, strata=WARD, progress=lambda done, n: told.append((done, n)))
    assert told[-1] == (300, 300)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_what_are_no_strata_is_refused() -> None:
    wrong: list[tuple[Any, Any, str]] = [
        (5, WARD[:-1], "one for each of 300 records"),
        (5, [None, *WARD[1:]], "none of them missing"),
        (5, np.where(np.arange(300) < 3, "few", "many"), "fewer than k"),
        ({"north": 5}, WARD, "one size for each stratum"),
        ({"north": 5}, None, "there are none"),
        ({"north": 0, "east": 5, "south": 5}, WARD, "k must be"),
    ]
    for k, strata, said in wrong:
        with pytest.raises(InvalidParameterError, match=said):
            microaggregate(X, k, strata=strata)
