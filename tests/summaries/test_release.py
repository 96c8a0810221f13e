"""The releases of a summary cost what is certified, and faults that are planted in them are found."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glassine import Category, Domain
from glassine.errors import PrivacyLeakWarning
from glassine.learners import PrivateSummary
from glassine.learners.additive.additive_budget import GaussianBudget
from glassine.learners.additive.grids import public_grids
from glassine.learners.additive.targets import read_classes
from glassine.learners.summaries import released_tables
from glassine.learners.summaries.released_tables import release_summary, spanning_tree
from glassine.privacy import accounting
from glassine.privacy.fine_gaussian import FineNoise
from glassine.privacy.randomness import Randomness
from glassine.sealed.residuals import _distance
from glassine.verification import Claim, Runs, lower_bound
from tests.learners.sums import oracle_of
from tests.summaries.people import DOMAIN, people

SMALL = Domain({name: Category(("u", "v")) for name in ("a", "b", "c")})


def drawn(X: Any, y: Any, seed: int = 0, epsilon: float = 2.0, domain: Domain = SMALL) -> Any:
    """Return what one summary releases, and its events."""
    estimator = PrivateSummary(epsilon=epsilon, domain=domain, classes=(0, 1))
    records, training = read_classes(estimator, X, y, domain=domain, classes=(0, 1))
    oracle = oracle_of(records, GaussianBudget.of(epsilon, 1e-6).mu, Randomness.of(seed))
    return release_summary(oracle, public_grids(training.domain, None), training.target), oracle.events


def pair_of_records(n: int = 40) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    X = rng.choice(np.array(["u", "v"], dtype=object), (n, 3))
    X[:, 1] = X[:, 0]
    return X, (X[:, 0] == "v").astype(int)


def score_moves(distance: Callable[..., int]) -> float:
    """Return the largest move of a score that one record makes, in units."""
    rng = np.random.default_rng(0)
    units, worst = 1024, 0
    for _ in range(200):
        table = rng.integers(0, 4, (2, 3, 2))
        model = rng.random((2, 3, 2)) * 4
        base = distance(table, model, units)
        for cell in np.ndindex(table.shape):
            more = table.copy()
            more[cell] += 1
            worst = max(worst, abs(distance(more, model, units) - base))
    return worst / units


def unit_free(table: Any, model: Any, units: int) -> int:
    """Return a score whose model is taken from the table itself: a record moves more than its own cell."""
    totals = np.maximum(table.sum(axis=(0, 1)), 1)
    own = table.sum(axis=1)[:, None] * table.sum(axis=0)[None] / totals
    return _distance(table, own, units)


def doubled(table: Any, model: Any, units: int) -> int:
    """Return a score in units of half a record."""
    return int(2 * np.abs(table - model).sum() * units)


def test_a_record_moves_a_score_by_at_most_one_unit_and_faults_are_found() -> None:
    assert score_moves(_distance) <= 1.0
    assert score_moves(unit_free) > 1.2, "a model that follows the records moves with them"
    assert score_moves(doubled) > 1.9, "a score in other units than its noise"


def test_events_spend_the_budget_and_no_more() -> None:
    frame, y = people(800)
    fitted = PrivateSummary(epsilon=1.0, domain=DOMAIN, classes=(0, 1), random_state=0).fit(frame, y)
    events = fitted.certificate_.events
    assert accounting.epsilon(events, 1e-6) <= 1.0
    assert accounting.epsilon(events, 1e-6) > 0.99
    assert sum(getattr(event, "share", 0.0) for event in events) == pytest.approx(1.0)
    assert [getattr(event, "count", 0) for event in events] == [1, 1, 1, 1, 2], (
        "bins, tables, scores, edges, and two rounds"
    )


def test_persons_divide_the_budget_among_their_records() -> None:
    frame, y = people(800)
    given: dict[str, Any] = {"domain": DOMAIN, "classes": (0, 1), "random_state": 0}
    own = PrivateSummary(epsilon=1.0, records_per_person=4, **given).fit(frame, y, persons=np.arange(800) // 4)
    alone = PrivateSummary(epsilon=1.0, **given).fit(frame, y)
    assert own.certificate_.unit.records_per_person == 4
    assert own.released_.deviations[0] == pytest.approx(4 * alone.released_.deviations[0], rel=1e-6)
    guarantee = own.tree(1).guarantee
    assert guarantee is not None
    assert guarantee.records_per_person == 4


def test_tables_are_sized_by_public_cells_and_released_bins() -> None:
    """An empty cell is released like any other: the shape of a table tells nothing about the records."""
    X, y = pair_of_records()
    X[:, 2] = "u"
    released, _ = drawn(X, y, epsilon=900.0)
    for axis, table in zip(released.axes, released.tables, strict=True):
        assert table.shape == (axis.n_bins, 2)
        assert (table != np.rint(table)).all(), "each cell carries noise, also where no record is"
    for (a, b), table in released.edges.items():
        assert table.shape == (released.groups[a].max() + 1, released.groups[b].max() + 1, 2)


def test_a_table_sized_by_the_records_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def sized(oracle: Any, portion: Any, name: str, question: Any) -> Any:
        tables, deviation = honest(oracle, portion, name, question)
        (records,) = oracle._GaussianOracle__stores
        exact = records.tables(question.terms, question.places, question.n_classes)
        ends = [int(np.flatnonzero(exact[place].sum(axis=-1).ravel()).max()) + 1 for place in question.places]
        return [table[:end] for table, end in zip(tables, ends, strict=True)], deviation

    honest = released_tables._release_tables
    X, y = pair_of_records()
    fewer = X.copy()
    fewer[:, 2] = "u"
    shapes = [[t.shape for t in drawn(rows, y, epsilon=900.0)[0].tables] for rows in (X, fewer)]
    assert all(shape[1] == 2 for shape in shapes[0] + shapes[1])
    monkeypatch.setattr(released_tables, "_release_tables", sized)
    cut = False
    for rows in (X, fewer):
        try:
            found, _ = drawn(rows, y, epsilon=900.0)
            cut |= any(len(t) != axis.n_bins for t, axis in zip(found.tables, found.axes, strict=True))
        except (ValueError, IndexError):
            cut = True
    assert cut


def advantage(tree: Callable[[Any], Any], n: int = 300) -> float:
    """Return how far the choice of the edge alone tells two neighbors apart, over seeds."""
    shares = []
    for extra in (0, 1):
        count = 0
        for seed in range(n):
            scores = {(0, 1): 10.0 + extra, (0, 2): 10.5, (1, 2): 30.0}
            rng = np.random.default_rng(seed)
            noisy = {pair: score + rng.normal(0, 5) for pair, score in scores.items()}
            count += (0, 1) in tree((noisy, scores))
        shares.append(count / n)
    return abs(shares[1] - shares[0])


def test_an_edge_that_is_chosen_without_noise_is_found() -> None:
    """With noise of five, one record moves the chance of an edge by at most Phi(.1) - Phi(-.1) = .08."""
    assert advantage(lambda both: spanning_tree(both[0])) < 0.08 + 0.06
    assert advantage(lambda both: spanning_tree(both[1])) == 1.0


CELLS = {name: [["u"], ["v"]] for name in SMALL}
"""Bins that are fixed, so that each release has one shape."""


def told(dataset: Any, seed: int) -> float:
    """Return what the released tables say of a record with u everywhere and the second class."""
    X, y = dataset
    estimator = PrivateSummary(epsilon=2.0, domain=SMALL, classes=(0, 1), bins=CELLS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        released = estimator.fit(X, y).released_
    return float(sum(table[0, 1] for table in released.tables))


def quarter_of_sigma(noise: FineNoise, shape: Any, randomness: Any) -> Any:
    return HONEST(replace(noise, sigma=noise.sigma / 4), shape, randomness)


HONEST = FineNoise.draw


@pytest.mark.slow
@pytest.mark.parametrize("planted", [False, True])
def test_the_search_accuses_a_quarter_of_the_noise_and_not_the_release(
    planted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = pair_of_records(12)
    more = np.vstack([X, [["u", "u", "u"]]]), np.append(y, 1)
    if planted:
        monkeypatch.setattr(FineNoise, "draw", quarter_of_sigma)
    bound = lower_bound(told, (X, y), more, Claim(mu=GaussianBudget.of(2.0, 1e-6).mu), score=float, runs=Runs(500))
    assert bound.violated == planted, str(bound)
