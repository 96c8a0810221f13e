"""Thresholds: the public candidates, private quantiles of the right values, quantiles of the data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.domain import Domain, Integer, Real
from glassine.domain.grid import CANDIDATES
from glassine.learners.antecedents import candidates
from glassine.learners.intake import HeldIntake
from glassine.privacy import accounting
from glassine.privacy.randomness import Randomness
from glassine.privacy.unit import RECORD
from glassine.records.undeclared import read_checked
from glassine.sealed import exact_quantiles, queries
from glassine.sealed.accounts import Allowance
from glassine.sealed.queries import Quantiles

DOMAIN = Domain({"n": Integer(0, 9, missing=True), "r": Real(0.0, 1.0), "b": Integer(0, 10**6)})


def intake(columns: dict[str, Any], times: Any = None) -> HeldIntake:
    size = len(columns["n"])
    return HeldIntake(
        columns=read_checked(columns, DOMAIN),
        labels=np.zeros(size, dtype=np.int64),
        multiplicities=times,
        domain=DOMAIN,
        classes=(0,),
        caveats=(),
    )


SMALL = {
    "n": np.array([1.0, np.nan, 4.0, 4.0]),
    "r": np.array([0.1, 0.2, 0.3, 0.9]),
    "b": np.array([5, 5, 5, 6]),
}


def test_candidates_follow_from_the_bounds() -> None:
    assert candidates(DOMAIN, "n") == tuple(i + 0.5 for i in range(9))
    for name in ("r", "b"):
        cuts = candidates(DOMAIN, name)
        assert CANDIDATES / 4 < len(cuts) <= CANDIDATES
        assert list(cuts) == sorted(set(cuts))
    assert candidates(Domain.binary(["x"]), "x") == ()


def asked(records: HeldIntake, names: list[str], number: int, epsilon: Fraction, seed: int) -> tuple[Any, Any]:
    """Return private quantiles of some numbers, and their events."""
    question = Quantiles(points={name: candidates(DOMAIN, name) for name in names}, number=number)
    part = Allowance(epsilon=epsilon, total=epsilon, unit=RECORD)
    return question.draw(records, part, Randomness.of(seed), None), question.events(part)


def of_data(records: HeldIntake, names: list[str], number: int) -> Any:
    return Quantiles(points=dict.fromkeys(names, ()), number=number).exact(records)


def test_private_quantiles_see_present_values_once_per_record(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def spy(values: Any, cuts: Any, number: int, epsilon: Fraction, _: Any, *, multiplicities: Any) -> Any:
        seen.append((np.repeat(values, multiplicities).tolist(), cuts, number, epsilon))
        return (), ()

    monkeypatch.setattr(queries, "private_quantiles", spy)
    times = np.array([2, 3, 1, 0], dtype=np.int64)
    asked(intake(SMALL, times), ["n", "r"], 3, Fraction(1, 7), 0)
    held = [[1.0, 1.0, 4.0], [0.1, 0.1, 0.2, 0.2, 0.2, 0.3]]
    cuts = [candidates(DOMAIN, name) for name in ("n", "r")]
    assert seen == [(values, points, 3, Fraction(1, 14)) for values, points in zip(held, cuts, strict=True)]


def test_private_quantiles_cost_their_budget_and_come_from_the_candidates() -> None:
    cuts, events = asked(intake(SMALL), ["n", "r", "b"], 2, Fraction(1, 2), 0)
    assert accounting.epsilon(events) == pytest.approx(0.5, rel=1e-12)
    for name, values in cuts.items():
        assert len(values) == 2
        assert set(values) <= set(candidates(DOMAIN, name))
        assert list(values) == sorted(values)


def test_private_quantiles_of_many_records_are_near_those_of_the_data() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    columns = {"n": rng.integers(0, 10, n).astype(float), "r": rng.beta(2, 5, n), "b": rng.integers(0, 10**6, n)}
    cuts, _ = asked(intake(columns), ["n", "r", "b"], 3, Fraction(2), 1)
    for name, values in cuts.items():
        shares = [float((columns[name] <= value).mean()) for value in values]
        assert shares == pytest.approx([0.25, 0.5, 0.75], abs=0.06)


def test_data_quantiles_lie_between_values() -> None:
    found = of_data(intake(SMALL), ["n", "r", "b"], 5)
    assert found["n"] == (2.5,)
    assert found["r"] == pytest.approx((0.15, 0.25, 0.6))
    assert found["b"] == (5.5,)


def test_data_quantiles_are_at_most_as_many_as_asked_for() -> None:
    values = np.arange(1000) / 999
    columns = {"n": np.zeros(1000), "r": values, "b": np.zeros(1000, dtype=np.int64)}
    found = of_data(intake(columns), ["n", "r"], 3)
    assert found["n"] == ()
    assert found["r"] == pytest.approx((0.25, 0.5, 0.75), abs=0.002)


def test_data_quantiles_without_values_are_none() -> None:
    columns = {"n": np.array([np.nan, np.nan]), "r": np.array([0.5, 0.5]), "b": np.array([1, 2])}
    assert of_data(intake(columns), ["n"], 3) == {"n": ()}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), min_size=1, max_size=12),
    st.integers(1, 6),
)
def test_quantiles_of_counted_values_are_those_of_repeated_ones(rows: list[tuple[int, int]], number: int) -> None:
    values, times = np.array([a for a, _ in rows]) / 3, np.array([b for _, b in rows], dtype=np.int64)
    counted = {"n": values, "r": np.zeros(len(rows)), "b": np.zeros(len(rows))}
    repeated = {name: np.repeat(column, times) for name, column in counted.items()}
    some, whole = intake(counted, times), intake(repeated)
    assert of_data(some, ["n"], number) == of_data(whole, ["n"], number)
    drawn = [asked(of, ["n"], number, Fraction(1), 3) for of in (some, whole)]
    assert drawn[0] == drawn[1]
    if times.sum():
        distinct, counts = np.unique(repeated["n"], return_counts=True)
        shares = np.arange(1, number + 1) / (number + 1)
        assert (
            exact_quantiles._of_shares(distinct, counts, shares).tolist() == np.quantile(repeated["n"], shares).tolist()
        )
