"""The verifier: closed forms, refusals, and what it must not let pass."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from math import comb
from typing import Any

import pytest

from glassine.errors import GlassineError
from glassine.verification import ExhaustiveResult, multisets, verify_exhaustively
from tests.oracles import model_classes as oracle

LOG = math.log


def response(share: float) -> Any:
    """Randomized response on whether a dataset holds "yes"."""

    def mechanism(dataset: tuple[str, ...]) -> dict[str, float]:
        said, other = ("yes", "no") if "yes" in dataset else ("no", "yes")
        return {said: LOG(share), other: LOG(1 - share)}

    return mechanism


def test_randomized_response_has_its_closed_form() -> None:
    result = verify_exhaustively(response(3 / 4), ["no", "yes"], max_records=3, epsilon=LOG(3))
    assert result.worst == pytest.approx(LOG(3), abs=1e-15)
    assert result.holds
    assert result.tightness == pytest.approx(1)
    assert (result.smaller, result.larger) == ((), ("yes",))
    assert not verify_exhaustively(response(3 / 4), ["no", "yes"], max_records=3, epsilon=1.0).holds


def test_every_data_set_and_every_neighbor_is_looked_at() -> None:
    asked: list[tuple[str, ...]] = []

    def mechanism(dataset: tuple[str, ...]) -> dict[int, float]:
        asked.append(dataset)
        return {0: 0.0}

    result = verify_exhaustively(mechanism, "abc", max_records=2, epsilon=0.0)
    sizes = [comb(3 + n - 1, n) for n in range(4)]
    assert len(asked) == len(set(asked)) == result.n_datasets == sum(sizes)
    assert result.n_pairs == 3 * sum(sizes[:3])
    assert result.worst == 0.0
    assert result.holds
    assert result.tightness == math.inf
    assert all(list(dataset) == sorted(dataset) for dataset in asked)
    assert [list(multisets("abc", n)) for n in (0, 1)] == [[()], [("a",), ("b",), ("c",)]]


def test_data_sets_below_the_smallest_size_are_left_out() -> None:
    sizes: set[int] = set()

    def mechanism(dataset: tuple[str, ...]) -> dict[int, float]:
        sizes.add(len(dataset))
        return {0: 0.0}

    verify_exhaustively(mechanism, "ab", min_records=2, max_records=3, epsilon=1.0)
    assert sizes == {2, 3, 4}


@pytest.mark.parametrize("missing", [{}, {"b": -math.inf}])
def test_an_output_possible_for_one_neighbor_only_is_infinitely_bad(missing: dict[str, float]) -> None:
    def mechanism(dataset: tuple[str, ...]) -> dict[str, float]:
        return {"a": LOG(0.999999), "b": LOG(1e-6)} if len(dataset) == 2 else {"a": 0.0, **missing}

    result = verify_exhaustively(mechanism, "xy", max_records=2, epsilon=10.0)
    assert result.worst == math.inf
    assert not result.holds
    assert result.output == "b"
    assert (len(result.smaller), len(result.larger)) == (1, 2)


def test_outputs_impossible_for_both_do_not_count() -> None:
    def mechanism(dataset: tuple[str, ...]) -> dict[str, float]:
        return {"a": 0.0, "b": -math.inf, **({"c": -math.inf} if dataset else {})}

    assert verify_exhaustively(mechanism, "xy", max_records=2, epsilon=0.0).worst == 0.0


@pytest.mark.parametrize("worse", [False, True])
def test_not_a_number_fails_whatever_else_there_is(worse: bool) -> None:
    def mechanism(dataset: tuple[str, ...]) -> dict[str, float]:
        if dataset == ("x",):
            return {"a": math.nan, "b": -1.0}
        return {"a": 0.0} if worse and len(dataset) == 2 else {"a": LOG(0.5), "b": LOG(0.5)}

    result = verify_exhaustively(mechanism, "xy", max_records=2, epsilon=1e6)
    assert math.isnan(result.worst)
    assert not result.holds
    assert result.output == "a"
    assert result.larger == ("x",)


@pytest.mark.parametrize(
    "law",
    [{}, {"a": LOG(0.5)}, {"a": 0.0, "b": -20.0}, {"a": math.inf}, {"a": 0.1}, {"a": 1000.0}],
)
def test_what_is_no_distribution_is_refused(law: Mapping[str, float]) -> None:
    with pytest.raises(GlassineError, match="must add up to 1"):
        verify_exhaustively(lambda dataset: law, "xy", max_records=1, epsilon=1.0)


@pytest.mark.parametrize(
    ("universe", "values", "message"),
    [
        ("", {}, "universe"),
        ("xx", {}, "universe"),
        ("x", {"max_records": -1}, "max_records"),
        ("x", {"min_records": 2}, "max_records"),
        ("x", {"min_records": -1}, "max_records"),
        ("x", {"epsilon": -0.1}, "epsilon"),
        ("x", {"epsilon": math.nan}, "epsilon"),
        ("x", {"epsilon": math.inf}, "epsilon"),
        ("x", {"slack": math.nan}, "slack"),
        ("x", {"slack": -1e-9}, "slack"),
    ],
)
def test_parameters_out_of_range_are_refused(universe: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(GlassineError, match=message):
        verify_exhaustively(lambda dataset: {0: 0.0}, universe, **{"max_records": 1, "epsilon": 1.0, **values})


def test_slack_is_what_the_claim_may_be_exceeded_by() -> None:
    mechanism = response(3 / 4)
    for slack, holds in ((1e-9, True), (0.0, False)):
        result = verify_exhaustively(mechanism, ["yes", "no"], max_records=1, epsilon=LOG(3) - 1e-10, slack=slack)
        assert result.holds is holds
        assert result.slack == slack


def test_a_result_says_what_was_found() -> None:
    result: ExhaustiveResult[str] = ExhaustiveResult(
        epsilon=1.0,
        slack=0.0,
        worst=1.5,
        smaller=("x",),
        larger=("x", "y"),
        output="leaf",
        n_datasets=3,
        n_pairs=2,
        n_outputs=1,
    )
    assert str(result) == (
        "epsilon = 1 BROKEN on 2 pairs of neighbors: worst log-ratio 1.5 at output 'leaf', ('x',) against ('x', 'y')"
    )
    assert "holds on" in str(verify_exhaustively(response(0.5), ["yes", "no"], max_records=1, epsilon=1.0))


@pytest.mark.parametrize("decay", [Fraction(1, 2), Fraction(9, 10)])
def test_it_agrees_with_exact_fractions(decay: Fraction) -> None:
    worlds = oracle.independent(2)
    records = oracle.universe(worlds, [0, 1])
    mechanism = oracle.exponential(oracle.trees(worlds, [0, 1], 1), records, decay)
    expected = oracle.worst_ratio(mechanism, records, 2)

    def logs(dataset: oracle.Dataset) -> dict[Any, float]:
        law = mechanism(*oracle.arrays(dataset, 2))
        return {output: float(oracle.log(share)) for output, share in law.items()}

    result = verify_exhaustively(logs, records, max_records=2, epsilon=-LOG(decay))
    assert isinstance(expected, Fraction)
    assert result.worst == pytest.approx(float(oracle.log(expected)), abs=1e-12)
    assert result.holds
