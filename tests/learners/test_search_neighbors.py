"""The whole search on neighboring data: the chosen setting and its model, drawn many times, and planted faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from glassine import Domain
from glassine.errors import InvalidCertificateError
from glassine.learners import PrivateSearchCV, PrivateTreeClassifier
from glassine.learners.intake import HeldIntake
from glassine.privacy.private_selection import RunCount
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import SEEDED, Paid
from glassine.sealed import selection as searching
from glassine.sealed.selection import best_of_runs
from glassine.verification import Claim, Runs, lower_bound

EPSILON = 1.0
DOMAIN = Domain.binary(["a"])


def drawn() -> Callable[[Any, int | None], tuple[str, tuple[int, ...]]]:
    """Return what fits a whole search: the chosen setting, and what the model says of either value of the attribute."""
    plans: dict[bytes, Any] = {}

    def mechanism(dataset: Any, seed: int | None) -> tuple[str, tuple[int, ...]]:
        X, y = dataset
        key = X.tobytes() + b"|" + y.tobytes()
        if key not in plans:
            tree = PrivateTreeClassifier(domain=DOMAIN, classes=(0, 1), leaf_counts_share=0)
            search = PrivateSearchCV(tree, {"split_weight": [0.05, 1.0]}, epsilon=EPSILON, expected_fits=8, shape=1)
            known, opened = search._opening(X, y, None)
            plans[key] = search._plan(known), opened()
        plan, records = plans[key]
        released = plan.learn(records, Paid(randomness=Randomness.of(seed), caveats=(SEEDED,)))
        model = released["best_estimator_"]
        return str(released["best_params_"]), tuple(model.predict(np.array([[0], [1]])).tolist())

    return mechanism


def neighbors(n: int) -> tuple[Any, Any]:
    """Return records of which the last one, of another class than the others, is there or not."""
    X, y = np.zeros((n + 1, 1), dtype=int), np.array([0] * n + [1])
    return (X[:-1], y[:-1]), (X, y)


def loss_of(first: Any, second: Any, runs: int = 500) -> Any:
    """Return the lower bound on epsilon from how often the model gives class 1 to a record like that one."""
    options: dict[str, Any] = {"claim": Claim(epsilon=EPSILON), "runs": Runs(runs)}
    return lower_bound(drawn(), first, second, score=lambda result: float(result[1][0] == 1), **options)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3])
def test_no_draw_of_a_whole_search_contradicts_its_epsilon(n: int) -> None:
    """With no other record the training part is often empty; no output tells more of the last one than epsilon."""
    for pair in (neighbors(n), neighbors(n)[::-1])[: 2 if n == 1 else 1]:
        found = loss_of(*pair)
        assert not found.violated, str(found)


@pytest.mark.slow
def test_records_that_count_eight_times_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = HeldIntake.take

    def repeated(self: HeldIntake, rows: np.ndarray[Any, Any]) -> HeldIntake:
        return replace(honest(self, rows), multiplicities=np.full(int(rows.sum()), 8))

    monkeypatch.setattr(HeldIntake, "take", repeated)
    found = loss_of(*neighbors(1))
    assert found.violated, str(found)


def _whole(self: RunCount, epsilon: Fraction, delta: Fraction) -> tuple[float, float]:
    return 8 * float(epsilon), float(delta)


def test_fits_at_eight_times_the_budget_get_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunCount, "for_each_run", _whole)
    with pytest.raises(InvalidCertificateError, match="must claim what its events spend"):
        loss_of(*neighbors(1), 40)


@pytest.mark.slow
def test_a_choice_by_the_records_of_the_fits_at_many_times_the_budget_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def steep(*args: Any, epsilon: Fraction, **more: Any) -> Any:
        return best_of_runs(*args, epsilon=40 * epsilon, **more)

    monkeypatch.setattr(searching, "best_of_runs", steep)
    monkeypatch.setattr(searching, "split", lambda intake, fraction, randomness: np.zeros(len(intake.labels), bool))
    found = loss_of(*neighbors(1), 300)
    assert found.violated, str(found)
