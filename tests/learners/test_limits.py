"""Refusals: what is too large is refused with its size and a way out, and nothing is spent."""

from __future__ import annotations

import math
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine.counting.logic import LiteralLogic
from glassine.domain import Binary, Category, Domain, Integer, OneOf, Real
from glassine.errors import ClassTooLargeError, InvalidParameterError
from glassine.learners import (
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateGreedyRuleListClassifier,
    PrivateRuleListClassifier,
    PrivateScorecardClassifier,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
)
from glassine.privacy.ledger import Ledger
from glassine.privacy.release import fresh_count
from glassine.records.subsets import binomials
from glassine.resources import human_bytes
from glassine.sealed.atoms import Atoms
from glassine.sealed.model_class import SECONDS_PER_STEP, check_limit, check_size
from glassine.sealed.tree_sums import Implied, SetCounts
from tests.learners import engine


def refused(**values: Any) -> ClassTooLargeError | None:
    try:
        check_size(
            "trees of depth 3",
            "Lower max_depth.",
            **{"table_bytes": 1000, "steps": 1000, "memory_limit": 1e9, "time_limit": 60.0, **values},
        )
    except ClassTooLargeError as error:
        return error
    return None


def test_what_fits_the_limits_is_accepted() -> None:
    assert refused() is None
    assert refused(table_bytes=10**9, steps=int(60 / SECONDS_PER_STEP), log_range=600.0) is None
    assert refused(memory_limit=math.inf, time_limit=math.inf, table_bytes=10**15, steps=10**15) is None


def test_a_refusal_states_the_estimate_the_limits_and_a_way_out() -> None:
    error = refused(table_bytes=5 * 10**12, steps=10**12)
    assert error is not None
    assert error.bytes_needed == 5 * 10**12
    assert error.seconds_needed == pytest.approx(10**12 * SECONDS_PER_STEP)
    for part in ("trees of depth 3", "5 TB", f"{10**12 * SECONDS_PER_STEP:.0f} s", "1 GB", "60 s", "Lower max_depth."):
        assert part in str(error)


@pytest.mark.parametrize(
    "values",
    [
        {"table_bytes": 10**9 + 1},
        {"steps": 10**20},
        {"steps": 10**12, "memory_limit": math.inf},
        {"table_bytes": 10**10, "time_limit": math.inf},
        {"log_range": 600.1},
        {"log_range": math.nan},
        {"log_range": math.inf},
    ],
)
def test_each_limit_is_kept_and_nan_fails(values: dict[str, Any]) -> None:
    assert isinstance(refused(**values), ClassTooLargeError)


@pytest.mark.parametrize("name", ["memory_limit", "time_limit"])
@pytest.mark.parametrize("limit", [math.nan, 0, -1.0, True, "4 GB", 1j, np.complex128(1)])
def test_a_limit_is_a_positive_number(name: str, limit: object) -> None:
    with pytest.raises(InvalidParameterError, match=f"{name} must be a positive number"):
        refused(**{name: limit})


@pytest.mark.parametrize("limit", [math.inf, 10**400, np.float32(1e9)])
def test_a_limit_may_be_beyond_all_floats(limit: Any) -> None:
    check_size("a class", "Lower it.", table_bytes=10, steps=1, memory_limit=limit, time_limit=limit)
    assert check_limit(limit, "memory_limit") == (1e9 if limit == 1e9 else math.inf)


def test_times_without_end_are_powers_of_ten() -> None:
    assert "10^13 s" in str(refused(steps=int(1e13 / SECONDS_PER_STEP)))


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (12_345, "12 kB"), (4e9, "4 GB"), (10**16, "far more than 1000 TB")]
)
def test_bytes_in_words(size: float, text: str) -> None:
    assert human_bytes(size) == text


@pytest.mark.parametrize("p", [0, 1, 5, 9])
@pytest.mark.parametrize("size", [0, 1, 3, 4])
def test_the_estimate_of_memory_covers_the_tables(p: int, size: int) -> None:
    domain, literals = engine.binary_domain(max(p, 1))
    trees, worlds = engine.trees_of(domain, literals[:p], size, 3)
    lists, _ = engine.lists_of(domain, engine.singles(literals[:p]), size, 3)
    truth, labels = engine.some_data(0, worlds, 50, 3)
    for models in (trees, lists):
        sums = engine.sums_of(models, truth, labels, engine.weighting_of(1, 50))
        held = sums.counts.table.nbytes + sum(table.nbytes for table in (*sums.costs, *sums.weights))
        assert held <= models.table_bytes() <= 2 * held + 1000
        assert models.steps() >= sum(table.size for table in sums.costs)


LEARNERS: list[Callable[..., Any]] = [
    lambda **given: PrivateTreeClassifier(4, epsilon=0.1, **given),
    lambda **given: PrivateRuleListClassifier(6, epsilon=0.1, **given),
]


@pytest.mark.parametrize("make", LEARNERS)
@pytest.mark.parametrize("limits", [{"memory_limit": 1e3}, {"time_limit": 1e-6}])
def test_a_refused_fit_charges_nothing(make: Callable[..., Any], limits: dict[str, float], tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "budget.sqlite")
    ledger.budget("people", 1.0)
    names = [f"b{i}" for i in range(30)]
    learner = make(domain=Domain.binary(names), classes=(0, 1), ledger=ledger, dataset="people", **limits)
    X, y = np.random.default_rng(0).integers(0, 2, (20, 30)), np.arange(20) % 2
    with pytest.raises(ClassTooLargeError, match="raise the limits"):
        learner.fit(X, y)
    assert ledger.spent("people") == 0.0
    assert ledger.entries("people") == ()
    assert not hasattr(learner, "model_")


@pytest.mark.parametrize(("weight", "accepted"), [(1.0, True), (1e6, False), (1e-6, False)])
def test_weights_beyond_the_range_of_doubles_are_refused(weight: float, accepted: bool) -> None:
    learner = PrivateTreeClassifier(
        6, epsilon=1.0, domain=Domain.binary([f"b{i}" for i in range(8)]), classes=(0, 1), split_weight=weight
    )
    X, y = np.random.default_rng(0).integers(0, 2, (20, 8)), np.arange(20) % 2
    if accepted:
        learner.fit(X, y)
        return
    with pytest.raises(ClassTooLargeError, match=r"summed exactly \(e\^600\).*nearer to 1"):
        learner.fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("make", [PrivateTreeClassifier, PrivateRuleListClassifier])
def test_a_refusal_names_what_fits(make: Any) -> None:
    codes = Category(tuple(f"{letter}{digit:02}" for letter in "ABC" for digit in range(20)))
    domain = Domain({"icd": codes, "age": Integer(0, 99), "pay": Integer(0, 9_999), "b": Binary()})
    X = pl.DataFrame({"icd": ["A00", "C19"] * 10, "age": [1, 9] * 10, "pay": [5, 9] * 10, "b": [0, 1] * 10})
    settings: dict[str, Any] = {
        "epsilon": 1.0,
        "domain": domain,
        "classes": (0, 1),
        "memory_limit": 5e6,
        "random_state": 0,
    }
    with pytest.raises(ClassTooLargeError) as caught:
        make(4, **settings).fit(X, [0, 1] * 10)
    assert "The columns that cost most: 'icd', 'age', 'pay'." in str(caught.value)
    found = re.search(r"It fits with (\w+=\d), or with literals='coarse', or without 'icd'\.$", str(caught.value))
    assert found is not None, str(caught.value)
    name, _, size = found[1].partition("=")
    assert make(4, **settings, literals="coarse").fit(X, [0, 1] * 10).model_.cells
    assert make(**{name: int(size)}, **settings).fit(X, [0, 1] * 10).model_.cells
    with pytest.raises(ClassTooLargeError):
        make(**{name: int(size) + 1}, **settings).fit(X, [0, 1] * 10)


@pytest.mark.slow
def test_the_refusal_does_not_depend_on_the_records() -> None:
    texts = set()
    for n in (2, 50):
        learner = PrivateTreeClassifier(
            5, epsilon=0.1, domain=Domain.binary([f"b{i}" for i in range(40)]), classes=(0, 1), memory_limit=1e6
        )
        X, y = np.random.default_rng(n).integers(0, 2, (n, 40)), np.arange(n) % 2
        with pytest.raises(ClassTooLargeError) as caught:
            learner.fit(X, y)
        texts.add(str(caught.value))
    assert len(texts) == 1


def test_pairs_of_thousands_of_categories_are_compared_in_little_room() -> None:
    p = 1500
    domain = Domain({"c": Category(tuple(f"v{i}" for i in range(p)))})
    logic = LiteralLogic.of(domain, [OneOf("c", (f"v{i}",)) for i in range(p)], up_to_negation=True)
    offsets = np.cumsum([0, 1, p, p * (p - 1) // 2])
    counts = SetCounts(np.zeros((offsets[-1], 1), dtype=np.int64), offsets, binomials(p + 1, 4))
    tracemalloc.start()
    implied = Implied.of(counts, Atoms.of(logic))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The answers themselves take p * p bytes twice; all pairs at once took 2 GB.
    assert peak < 100e6
    # Of two values of one attribute each excludes the other: "not both" says nothing beside either.
    i, j = np.triu_indices(p, 1)
    assert (implied.pairs[i, j] == implied.pairs[0, 1]).all()
    assert implied.pairs[0, 1] == 0b0110


SIZES = Domain({"x": Real(0.0, 1.0), "w": Real(0.0, 1.0), "a": Category(tuple("abcdef")), "b": Category(("u", "v"))})
COARSE: dict[str, Any] = {"domain": SIZES, "literals": "coarse", "epsilon": 1.0, "random_state": 0}
OF_CLASSES: dict[str, Any] = {"classes": ("n", "p")}
ADDITIVE: dict[str, Any] = {"domain": SIZES, "epsilon": 1.0, "random_state": 0}


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: PrivateTreeClassifier(1, **COARSE, **OF_CLASSES),
        lambda: PrivateRuleListClassifier(1, **COARSE, **OF_CLASSES),
        lambda: PrivateTreeRegressor(1, **COARSE, target_range=(0, 1)),
        lambda: PrivateGreedyRuleListClassifier(2, **COARSE, **OF_CLASSES),
        lambda: PrivateEBMClassifier(**ADDITIVE, **OF_CLASSES),
        lambda: PrivateEBMRegressor(**ADDITIVE, target_range=(0, 1)),
        lambda: PrivateScorecardClassifier(**ADDITIVE, **OF_CLASSES),
    ],
)
def test_the_memory_that_is_needed_is_within_half_of_the_peak(make: Callable[[], Any]) -> None:
    n, rng = 200_000, np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            **{name: rng.random(n) for name in ("x", "w")},
            "a": rng.choice(list("abcdef"), n),
            "b": rng.choice(["u", "v"], n),
            "y": rng.random(n) if getattr(make(), "target_range", None) else rng.choice(["n", "p"], n),
        }
    )
    learner = make()
    needed = learner.memory_needed(n)
    assert needed > learner.memory_needed() > 0
    with fresh_count():
        # What is loaded and kept from then on is no fit's.
        learner.fit(frame.head(500), "y")
        tracemalloc.start()
        learner.fit(frame, "y")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert 1 / 1.5 < needed / peak < 1.5
    with pytest.raises(InvalidParameterError, match="n_records"):
        learner.memory_needed(-1)
