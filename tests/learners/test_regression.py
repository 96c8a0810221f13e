"""Regression trees: their loss, their leaves, optima against brute force, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Domain, Integer, Real, audit
from glassine.errors import InvalidParameterError, PrivacyLeakWarning
from glassine.formats import load_model, write_model
from glassine.learners import OptimalTreeRegressor, PrivateTreeRegressor
from glassine.privacy.accounting import DiscreteLaplaceNoise, Selection
from glassine.sealed.losses import PARTS, LeafCosts, released_means

RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, (400, 3))
Y = 10.0 + 20 * X[:, 0] + 8 * X[:, 1] * X[:, 0] + RNG.normal(0, 2, 400)
DOMAIN = Domain.binary(["a", "b", "c"])
RANGE = (0.0, 50.0)


def private(**more: Any) -> PrivateTreeRegressor:
    usual: dict[str, Any] = {"epsilon": 2.0, "domain": DOMAIN, "target_range": RANGE, "random_state": 0}
    return PrivateTreeRegressor(2, **usual | more).fit(X, Y)


@pytest.mark.parametrize("steps", [1, 3, 8])
def test_the_cost_of_the_parts_of_a_record_is_its_squared_error(steps: int) -> None:
    loss = LeafCosts.squares(steps)
    assert loss.values[[0, -1]].tolist() == pytest.approx([0.1, 0.9])
    for upper in (0, 60, 255):
        costs = loss.costs @ np.array([PARTS - upper, upper])
        errors = (loss.values - upper / PARTS) ** 2
        # A unit of cost is 0.8 of the squared range, up to what all values have in common.
        assert np.diff(costs) / (loss.unit * PARTS) == pytest.approx(np.diff(errors) / 0.8)
        assert costs.min() >= 0
        assert costs.max() <= loss.unit * PARTS


def test_a_record_at_an_end_of_the_range_costs_the_whole_unit() -> None:
    loss = LeafCosts.squares(8)
    assert (loss.costs @ np.array([PARTS, 0])).max() == loss.unit * PARTS == 80 * PARTS


def test_means_of_leaves_follow_the_counts_as_epsilon_grows_and_the_rest_as_it_falls() -> None:
    loss, counts = LeafCosts.squares(8), np.array([[60, 40], [5, 95]]) * PARTS
    values = np.array([3, 8])
    sharp = released_means(counts, values, loss, (50.0, 50.0))
    assert sharp == pytest.approx([0.4, 0.95], abs=0.01)
    faint = released_means(counts, values, loss, (1e-4, 1e-4))
    assert faint == pytest.approx([0.675, 0.675], abs=0.01)
    assert released_means(None, values, loss, (1.0, 0.0)) == pytest.approx([0.4, 0.9])


def test_a_private_tree_predicts_numbers_in_the_range_and_certifies_its_parts() -> None:
    tree = private()
    assert tree.score(X, Y) > 0.9
    assert tree.predict(X).min() >= RANGE[0]
    assert tree.predict(X).max() <= RANGE[1]
    assert not hasattr(tree, "classes_")
    selection, noise = tree.certificate_.events
    assert isinstance(selection, Selection)
    assert isinstance(noise, DiscreteLaplaceNoise)
    assert selection.inverse_temperature == pytest.approx(1.8, rel=1e-3)
    assert noise.l1_sensitivity == 255.0
    assert noise.scale == pytest.approx(255 / 0.2)
    assert tree.certificate_.public["range of the target"] == [0.0, 50.0]
    sizes = [cell.evidence.size or 0 for cell in tree.model_.cells]
    assert sum(sizes) == pytest.approx(400, abs=60)


def test_a_person_counts_as_at_most_as_many_records_as_the_unit_says() -> None:
    tree = PrivateTreeRegressor(1, epsilon=2.0, domain=DOMAIN, target_range=RANGE, records_per_person=2, random_state=0)
    tree.fit(X, Y, persons=np.arange(400) // 4)
    assert tree.certificate_.unit.records_per_person == 2
    assert tree.certificate_.epsilon == 2.0
    noise = tree.certificate_.events[1]
    assert isinstance(noise, DiscreteLaplaceNoise)
    assert noise.scale == pytest.approx(2 * 255 / 0.2)


def test_without_a_public_range_the_guarantee_is_void() -> None:
    with pytest.warns(PrivacyLeakWarning, match="range"):
        tree = private(target_range=None)
    assert not tree.certificate_.holds


def test_a_target_that_the_domain_declares_needs_no_range() -> None:
    frame = pl.DataFrame(X, schema=list(DOMAIN)).with_columns(pay=Y)
    domain = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "pay": Real(0.0, 50.0)})
    tree = PrivateTreeRegressor(2, epsilon=2.0, domain=domain, random_state=0).fit(frame, "pay")
    assert tree.certificate_.public["range of the target"] == [0.0, 50.0]
    assert tree.domain_.names == DOMAIN.names


def test_sizes_follow_from_public_figures_alone() -> None:
    tree = PrivateTreeRegressor(2, domain=DOMAIN)
    assert tree.log_class_size() > 0
    assert tree.memory_needed() > 0
    with pytest.raises(InvalidParameterError, match="needs the domain"):
        PrivateTreeRegressor(2).seconds_needed()


def test_a_private_regression_tree_goes_through_files_and_audits(tmp_path: Any) -> None:
    tree = private()
    path = tmp_path / "tree.json"
    write_model(tree.model_, path, overwrite=True)
    assert load_model(path, DOMAIN) == tree.model_
    findings = audit(tree.model_, domain=DOMAIN)
    assert findings.model.kind == "regression tree"


# The optimum.


def best_error(columns: Any, targets: Any, depth: int) -> float:
    """Return the least sum of squared errors of all trees of a depth, by trying every split at every node."""
    least = float(((targets - targets.mean()) ** 2).sum()) if len(targets) else 0.0
    if depth:
        for column in columns.T:
            true = column == 1
            parts = [best_error(columns[side], targets[side], depth - 1) for side in (true, ~true)]
            least = min(least, sum(parts))
    return least


@pytest.mark.parametrize("seed", range(4))
def test_an_optimal_tree_has_the_least_squared_error_up_to_the_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 2, (60, 4))
    targets = rng.uniform(0, 10, 60) + 5 * (columns[:, 0] ^ columns[:, 1])
    tree = OptimalTreeRegressor(2, domain=Domain.binary(list("abcd")), target_range=(0, 16)).fit(columns, targets)
    error = float(((tree.predict(columns) - targets) ** 2).sum())
    least = best_error(columns, targets, 2)
    assert least - 1e-9 <= error <= least + 60 * (16 / 128) ** 2
    assert tree.objective_ == pytest.approx(error / 60 / 16**2)
    assert all(
        cell.evidence.value == pytest.approx(targets[tree.apply(columns) == i].mean())
        for i, cell in enumerate(tree.model_.cells)
    )


def test_a_weight_is_that_many_records() -> None:
    columns = np.array(list(product((0, 1), repeat=2)))
    targets, weights = np.array([0.0, 3.0, 5.0, 9.0]), np.array([3, 1, 2, 0])
    domain = Domain.binary(["a", "b"])
    weighed = OptimalTreeRegressor(2, domain=domain, target_range=(0, 9)).fit(columns, targets, sample_weight=weights)
    repeated = OptimalTreeRegressor(2, domain=domain, target_range=(0, 9))
    repeated.fit(np.repeat(columns, weights, axis=0), np.repeat(targets, weights))
    assert replace(weighed.model_, sizes="stored") == repeated.model_


def test_a_penalty_takes_splits_away() -> None:
    domain = Domain({"n": Integer(0, 9, thresholds=(2, 4, 6))})
    n = np.arange(10)[:, None]
    full, none = (OptimalTreeRegressor(2, domain=domain, penalty=penalty).fit(n, n[:, 0]) for penalty in (0.0, 1.0))
    assert (len(full.model_.cells), len(none.model_.cells)) == (4, 1)


@pytest.mark.parametrize("power", [-1000, -600, 600, 900])
def test_the_unit_of_the_target_changes_no_tree(power: int) -> None:
    unit = 2.0**power
    own = OptimalTreeRegressor(2, domain=DOMAIN, target_range=RANGE).fit(X, Y)
    other = OptimalTreeRegressor(2, domain=DOMAIN, target_range=(0.0, 50 * unit)).fit(X, Y * unit)
    assert other.objective_ == own.objective_ > 0
    assert (other.predict(X) == own.predict(X) * unit).all()
    fitted = PrivateTreeRegressor(2, epsilon=2.0, domain=DOMAIN, target_range=(0.0, 50 * unit), random_state=0)
    assert (fitted.fit(X, Y * unit).predict(X) == private().predict(X) * unit).all()
