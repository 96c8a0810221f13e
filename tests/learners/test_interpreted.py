"""Kernels that are interpreted return the bits of the compiled ones, so that no draw depends on which of them ran."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Category, Domain, Integer, compiling
from glassine.compiling import interpretation
from glassine.learners import (
    OptimalTreeClassifier,
    PrivateRuleListClassifier,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
)
from glassine.records.bits import BitSets
from glassine.sealed.losses import LeafCosts
from glassine.sealed.weighting import Weighting
from tests.learners import engine

N = 400
RNG = np.random.default_rng(0)
TRUTH = RNG.random((N, 8)) < 0.4
LABELS = np.where(RNG.random(N) < 0.2, 1, TRUTH[:, 0].astype(np.int64) + (TRUTH[:, 1] & TRUTH[:, 2]))
RANKING = LeafCosts.ranking(np.array([0.6, 0.3, 0.1]), 100.0, 0.3, steps=3)
WEIGHTINGS = [
    Weighting.private(Fraction(1, 10), 0.5, RANKING.unit),
    Weighting.private(Fraction(5), 2.0, RANKING.unit),
    Weighting.optimal(1.0, 5),
]
AGES = Domain({"age": Integer(0, 90), "region": Category(("a", "b", "c"), missing=True)})


def in_both_ways(monkeypatch: pytest.MonkeyPatch, work: Callable[[], Any]) -> tuple[Any, Any]:
    """Return what some work gives with all kernels interpreted, none of them compiled; and with all compiled."""

    def refuse(_function: Callable[..., Any]) -> Any:
        raise AssertionError("a kernel was compiled")

    monkeypatch.setattr(interpretation, "LEFT", [10**9])
    with monkeypatch.context() as patch:
        patch.setattr(compiling.Kernel, "dispatcher", property(refuse))
        interpreted = work()
    monkeypatch.setattr(interpretation, "LEFT", [0])
    return interpreted, work()


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("maker", [engine.binary_domain, engine.threshold_domain, engine.gapped_domain])
@pytest.mark.parametrize("kind", [engine.trees_of, engine.lists_of])
def test_sums_are_equal_bit_for_bit(
    kind: Any, maker: engine.Maker, weighting: Weighting, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain, literals = maker(8)
    rules = [(literal,) for literal in literals] if kind is engine.lists_of else literals
    members, _ = kind(domain, rules, 3, RANKING)
    bitsets = BitSets.pack([TRUTH[:, i] for i in range(len(members.antecedents))], LABELS, 3)

    def tables() -> list[bytes]:
        sums = members.sums(bitsets, weighting)
        return [sums.counts.table.tobytes(), *(level.tobytes() for level in (*sums.costs, *sums.weights))]

    interpreted, compiled = in_both_ways(monkeypatch, tables)
    assert interpreted == compiled


RECORDS = pl.DataFrame({"age": RNG.integers(0, 91, N), "region": RNG.choice(["a", "b", "c"], N)})


def some_fit(learner: Any) -> Any:
    fitted = learner.fit(RECORDS, (RECORDS["age"].to_numpy() > 50).astype(np.int64))
    return fitted.model_, getattr(fitted, "certificate_", None)


def test_ordinary_fits_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = OptimalTreeClassifier(2, domain=AGES, classes=(0, 1), min_samples_leaf=20)
    interpreted, compiled = in_both_ways(monkeypatch, lambda: some_fit(learner))
    assert interpreted == compiled
    assert len(interpreted[0].cells) > 1


@pytest.mark.parametrize(
    "learner",
    [
        PrivateTreeClassifier(2, epsilon=1.0, domain=AGES, classes=(0, 1), random_state=0),
        PrivateRuleListClassifier(2, epsilon=1.0, domain=AGES, classes=(0, 1), random_state=0),
        PrivateTreeRegressor(2, epsilon=1.0, domain=AGES, target_range=(0, 1), random_state=0),
    ],
)
def test_private_fits_run_compiled_kernels_alone(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whether a kernel is compiled or interpreted would show by seconds, files and messages how many records there are.
    called, seen = compiling.Kernel.__call__, list[bool]()

    def watched(kernel: compiling.Kernel, *values: Any) -> Any:
        seen.append(interpretation.interpreting())
        return called(kernel, *values)

    monkeypatch.setattr(compiling.Kernel, "__call__", watched)
    monkeypatch.setattr(interpretation, "LEFT", [10**9])
    model, _ = some_fit(learner)
    assert seen
    assert not any(seen)
    assert interpretation.LEFT == [10**9]
    assert len(model.cells) > 1


def test_a_process_interprets_so_many_steps_and_then_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpretation, "LEFT", [10])
    seen = []
    for steps in (11, 6, 6, 4, 1):
        with interpretation.interpreted(steps):
            seen.append(interpretation.interpreting())
            with interpretation.interpreted(100):
                assert interpretation.interpreting() == seen[-1]
        assert not interpretation.interpreting()
    assert seen == [False, True, False, True, False]
