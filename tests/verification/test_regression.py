"""Whole fits of regression trees, over all small datasets and neighbors; and the faults that this must find."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import pytest

from glassine.domain import Binary, Domain
from glassine.learners.exhaustive.private import PrivateTreeRegressor
from glassine.sealed import ingest
from glassine.sealed.ingest import scaled
from glassine.sealed.losses import LeafCosts
from glassine.sealed.queries import Counts
from glassine.verification import ExhaustiveResult, verify_exhaustively
from tests.verification.exploring import law_of_fit

private: Any = importlib.import_module("glassine.learners.exhaustive.private")
families: Any = importlib.import_module("glassine.learners.exhaustive.families")
squares = LeafCosts.squares

EPSILON = 2.0
RECORDS = [((b,), y) for b in (0, 1) for y in (0.0, 0.6, 1.0, 7.0)]
"""Targets at both ends of the range, within it, and outside."""

CROWD = [((b,), y) for b in (0, 1) for y in (0.0, 0.0, 1.0)] * 5
"""Beside many records the value of least cost is drawn almost for sure."""


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave two values, at the ends of the grid, so that all ways of a fit can be followed."""
    monkeypatch.setattr(families, "MOST_STEPS", 1)


def verified(background: Any = (), records: Any = RECORDS, **parameters: Any) -> ExhaustiveResult[Any]:
    """Compare the laws of whole fits on a background with at most one record more."""
    usual: dict[str, Any] = {"epsilon": EPSILON, "target_range": (0, 1), "leaf_counts_share": 0.0, "random_state": 0}

    def outcome(fitted: Any) -> Hashable:
        if fitted.leaf_counts_share:
            # The noisy parts are results of their own, and the value follows from them and from the drawn one.
            return int(fitted.model_.depth)
        return tuple((str(cell), cell.evidence.value) for cell in fitted.model_.cells)

    def mechanism(dataset: tuple[Any, ...]) -> dict[Hashable, float]:
        X, y = zip(*background, *dataset, strict=True)
        make = PrivateTreeRegressor(1, domain=Domain({"b": Binary()}), **usual | parameters)
        return law_of_fit(lambda: make.fit([list(row) for row in X], list(y)), outcome)

    fewest = 0 if background else 1
    return verify_exhaustively(
        mechanism, records, min_records=fewest, max_records=1 + fewest, epsilon=EPSILON, slack=1e-9
    )


@pytest.mark.slow
def test_a_whole_fit_keeps_epsilon_for_any_target() -> None:
    result = verified(CROWD)
    assert result.holds, str(result)
    assert result.tightness > 0.9


@pytest.mark.slow
def test_the_leaves_keep_epsilon_together_with_the_draw() -> None:
    result = verified(records=RECORDS[:4], literals=[], leaf_counts_share=0.5)
    assert result.holds, str(result)
    assert result.tightness > 0.4


def forget_the_range(patch: pytest.MonkeyPatch) -> None:
    """Draw as if a record were one part."""
    patch.setattr(LeafCosts, "squares", staticmethod(lambda steps, **more: replace(squares(steps, **more), parts=2)))


def take_the_range_from_the_data(patch: pytest.MonkeyPatch) -> None:
    """Divide targets by the range up to the largest of them."""
    patch.setattr(ingest, "scaled", lambda numbers, bounds: scaled(numbers, (bounds[0], max(bounds[1], *numbers))))


def do_not_clip(patch: pytest.MonkeyPatch) -> None:
    """Count as many parts as the target says, beyond its range."""
    patch.setattr(ingest, "scaled", lambda numbers, bounds: numbers * 2 / (bounds[1] - bounds[0]) - 1)


@pytest.mark.slow
@pytest.mark.parametrize("plant", [forget_the_range, take_the_range_from_the_data, do_not_clip])
def test_a_planted_fault_is_found(plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert not verified(CROWD).holds


@pytest.mark.slow
def test_noise_that_forgets_the_parts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counts, "sensitivity", 1)
    assert not verified(records=RECORDS[:4], literals=[], leaf_counts_share=0.5).holds
