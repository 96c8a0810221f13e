"""Memory limits of additive fits: what may need more is refused, and nothing is spent."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassine import Domain, Ledger, Real
from glassine.errors import ClassTooLargeError, InvalidParameterError
from glassine.learners import PrivateEBMClassifier, PrivateEBMRegressor
from glassine.learners.additive.grids import public_grids
from glassine.learners.additive.table_memory import table_bytes
from glassine.learners.additive.targets import Target

DOMAIN = Domain({f"x{i}": Real(0, 1) for i in range(4)})
RNG = np.random.default_rng(0)
X = RNG.random((3000, 4))
Y = X[:, 0] + X[:, 1]


@pytest.mark.parametrize("algorithm", ["penalized", "boosting"])
def test_a_fit_beyond_the_limit_is_refused_before_the_ledger_is_charged(algorithm: str, tmp_path: Path) -> None:
    book = Ledger(tmp_path / "b.sqlite")
    book.budget("people", 5.0, 1e-5)
    public: dict[str, Any] = {"domain": DOMAIN, "target_range": (0, 2), "ledger": book, "dataset": "people"}
    learner = PrivateEBMRegressor(epsilon=1.0, algorithm=algorithm, memory_limit=1e4, **public)
    with pytest.raises(ClassTooLargeError, match=r"the limit is memory_limit=10 kB\. Give fewer bins") as refused:
        learner.fit(X, Y)
    assert refused.value.bytes_needed > 1e4
    assert book.entries("people") == ()
    learner.set_params(memory_limit=refused.value.bytes_needed).fit(X, Y)
    assert len(book.entries("people")) == 1


@pytest.mark.parametrize("limit", [0, -1, float("nan"), True, "4 GB", None])
def test_a_limit_must_be_a_positive_number(limit: Any) -> None:
    with pytest.raises(InvalidParameterError, match="memory_limit must be"):
        PrivateEBMClassifier(epsilon=1.0, domain=DOMAIN, classes=(False, True), memory_limit=limit).fit(X, Y > 1)


@pytest.mark.parametrize("bins", [20, 120])
def test_the_estimate_is_not_below_what_a_fit_takes(bins: int) -> None:
    cuts = {name: (np.arange(1, bins) / bins).tolist() for name in list(DOMAIN)[:2]}
    domain = DOMAIN.restrict(list(cuts))
    target = Target(classes=None, bounds=(0.0, 2.0), name="")
    needed = table_bytes(public_grids(domain, cuts), target, "penalized")
    learner = PrivateEBMRegressor(epsilon=1000.0, domain=domain, target_range=(0, 2), bins=cuts)
    learner.fit(X[:300, :2], Y[:300])
    learner.set_params(dataset="of the second fit")
    tracemalloc.start()
    learner.fit(X[:300, :2], Y[:300])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < needed + 3e6
    assert needed < 12 * peak


@pytest.mark.slow
def test_the_estimate_counts_pairs() -> None:
    """Cells of a pair are the largest tables, however many bins each attribute has."""
    cuts = {name: (np.arange(1, 60) / 60).tolist() for name in list(DOMAIN)[:2]}
    domain = DOMAIN.restrict(list(cuts))
    target = Target(classes=None, bounds=(0.0, 2.0), name="")
    needed = table_bytes(public_grids(domain, cuts), target, "penalized", 1)
    learner = PrivateEBMRegressor(epsilon=1000.0, domain=domain, target_range=(0, 2), bins=cuts, interactions=1)
    tracemalloc.start()
    learner.fit(X[:, :2], Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert learner.model_.terms[-1].shape == (21, 21)
    assert peak < needed + 3e6
    assert needed < 12 * peak


def test_a_pair_of_many_outputs_is_refused_before_anything_is_spent() -> None:
    """Thirty pairs of ten classes take more than the default limit."""
    target = Target(classes=tuple(range(10)), bounds=None, name="")
    grids = public_grids(DOMAIN, None)
    assert table_bytes(grids, target, "penalized", 30) > 4e9
