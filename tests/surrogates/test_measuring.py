from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from glassine.auditing.api import audit
from glassine.domain import Category, Domain, Real
from glassine.errors import GlassineError, InvalidParameterError
from glassine.microaggregation import SemanticDistance, microaggregate
from glassine.models.quality import Quality
from glassine.records.undeclared import read_checked
from glassine.surrogates import Measures, SurrogateExplainer
from glassine.surrogates.distances import DomainMetric, as_metric
from glassine.surrogates.explanation_measures import choose
from glassine.surrogates.query_input import Record
from tests.surrogates.scenes import PEOPLE, numbers, people, ring


@pytest.fixture(scope="module")
def fitted() -> SurrogateExplainer:
    return SurrogateExplainer(ring, 60).fit(numbers(420))


def decided(explainer: SurrogateExplainer, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return what every tree decides on every record, shape (n, groups), as its reader finds it."""
    columns = {name: X[:, i] for i, name in enumerate(explainer.domain_)}
    return np.array([tree.predict(columns) for tree in explainer.release().trees]).T


def test_measures_are_what_loops_give(fitted: SurrogateExplainer) -> None:
    X = numbers(150, seed=1)
    truth, answers = ring(X + 0.2), ring(X)
    every, release = decided(fitted, X), fitted.release()
    scales = np.array(release.metric.scales)
    points = np.array(release.representatives, dtype=float) / scales
    first, guided = [], []
    for x, row, answer in zip(X, every, answers, strict=True):
        order = np.argsort(((points - x / scales) ** 2).sum(axis=1), kind="stable")[:3]
        first.append(row[order[0]])
        guided.append(next((row[g] for g in order if row[g] == answer), row[order[0]]))
    found = fitted.measures(X, truth)
    assert found.fidelity == np.mean(np.array(first) == answers) == fitted.fidelity(X, guided=False)
    assert found.fidelity_guided == np.mean(np.array(guided) == answers) == fitted.fidelity(X)
    assert found.accuracy == np.mean(np.array(first) == truth) == fitted.accuracy(X, truth, guided=False)
    assert found.accuracy_guided == np.mean(np.array(guided) == truth) == fitted.accuracy(X, truth)
    assert found.black_box_accuracy == np.mean(answers == truth)
    assert found.reach == pytest.approx(np.mean(every == answers[:, None]))
    sizes = [len(tree.nodes) for tree in release.trees]
    assert (found.nodes.median, found.nodes.largest, found.nodes.total) == (np.median(sizes), max(sizes), sum(sizes))
    assert found.comprehensibility == pytest.approx(np.mean([1 / size for size in sizes]))
    assert found.information_loss == microaggregate(numbers(420), 60).information_loss
    own = decided(fitted, numbers(420))[np.arange(420), fitted.training_.groups]
    assert found.representativeness == np.mean(own == ring(numbers(420)))
    assert 0 < found.fidelity < found.fidelity_guided < 1
    # These trees publish labels alone.
    assert found.quality == Quality(accuracy=float(np.mean(np.array(first) == truth)))
    assert found.quality_guided == Quality(accuracy=float(np.mean(np.array(guided) == truth)))
    assert found.quality_baseline is not None
    near = (truth == release.classes[0]).mean()
    assert found.quality_baseline.accuracy == pytest.approx(max(near, 1 - near))
    data = json.loads(found.to_json())
    assert data["schema"] == "glassine.surrogate-measures/1"
    assert data["fidelity"] == found.fidelity
    assert isinstance(found, Measures)


def test_trees_with_counts_rank() -> None:
    X = numbers(420)
    explainer = SurrogateExplainer(ring, 60, min_samples_leaf=12, leaf_counts=True).fit(X)
    columns = {name: X[:, i] for i, name in enumerate(explainer.domain_)}
    release, truth = explainer.release(), ring(X + 0.2)
    points = np.array(release.representatives, dtype=float) / np.array(release.metric.scales)
    at = X / np.array(release.metric.scales)
    closest = ((at[:, None] - points[None]) ** 2).sum(axis=2).argmin(axis=1)
    chances = np.stack([tree.predict_proba(columns) for tree in release.trees])[closest, np.arange(len(X))]
    found = explainer.measures(X, truth).quality
    assert found is not None
    assert found.auroc == pytest.approx(roc_auc_score(truth == release.classes[1], chances[:, 1]))
    right = np.where(truth == release.classes[1], chances[:, 1], chances[:, 0])
    assert found.log_loss == pytest.approx(-np.log(right.clip(1e-6)).mean())


@pytest.mark.slow
def test_the_null_is_the_chance_that_one_of_random_groups_agrees(fitted: SurrogateExplainer) -> None:
    X = numbers(60, seed=2)
    agrees = decided(fitted, X) == ring(X)[:, None]
    n_groups = agrees.shape[1]
    for m in (1, 2, 3):
        subsets = list(itertools.combinations(range(n_groups), m))
        exact = np.mean([agrees[:, list(subset)].any(axis=1).mean() for subset in subsets])
        drawn = fitted.fidelity_null(X, n_closest=m, n_draws=300)
        # One record's draw has a standard deviation of at most a half: 18,000 draws give at most 0.004.
        assert abs(drawn - exact) < 0.016
    assert fitted.fidelity_null(X, n_draws=2) == fitted.fidelity_null(X, n_draws=2)
    assert fitted.fidelity_null(X, n_closest=100) == pytest.approx(agrees.any(axis=1).mean())


def test_random_groups_agree_less_often_than_the_closest(fitted: SurrogateExplainer) -> None:
    X = numbers(300, seed=3)
    assert fitted.fidelity_null(X) < fitted.fidelity(X)


def test_stability_counts_pairs_of_nearest_records(fitted: SurrogateExplainer) -> None:
    X = numbers(90, seed=4)
    release = fitted.release()
    scaled = X / np.array(release.metric.scales)
    apart = ((scaled[:, None] - scaled[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    other = apart.argmin(axis=1)
    told = fitted.explain_many(X, guided=False)
    same = [told[i].group == told[j].group for i, j in enumerate(other)]
    trees = [told[i].tree.nodes == told[j].tree.nodes for i, j in enumerate(other)]
    paths = [t and told[i].path == told[j].path for t, (i, j) in zip(trees, enumerate(other), strict=True)]
    found = fitted.measures(X)
    assert found.stability_group == pytest.approx(np.mean(same))
    assert found.stability_tree == pytest.approx(np.mean(trees))
    assert found.stability_path == pytest.approx(np.mean(paths))


def test_the_first_that_agrees_is_chosen() -> None:
    rows = np.array([[0, 1, 1], [1, 0, 1], [2, 2, 2]])
    assert choose(rows, np.array([1, 1, 0])).tolist() == [1, 1, 2]


@pytest.mark.parametrize("bad", [{"n_closest": 0}, {"n_closest": 1.5}, {"n_draws": 0}, {"random_state": -1}])
def test_measures_refuse_what_they_cannot_draw(fitted: SurrogateExplainer, bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        fitted.fidelity_null(numbers(5), **bad)


@pytest.mark.parametrize("distance", ["gower", SemanticDistance({"job": {"*": {"m": ["a", "b"], "o": ["c"]}}})])
def test_distances_are_those_of_the_groups(distance: Any) -> None:
    records, queries = people(200), people(50, seed=1)
    groups = microaggregate(_frame(records), 20, distance=distance, domain=PEOPLE)
    metric = as_metric(distance, (72.0, 100.0, 1.0, 1.0))
    metric.check(PEOPLE)
    centers = {name: groups.representatives[:, i] for i, name in enumerate(PEOPLE)}
    plain = all(value in ("a", "b", "c") for value in centers["job"])
    whole = {"smoker": np.round(centers["smoker"].astype(float)).astype(int)}
    points = metric.embed(read_checked({**centers, **whole, "age": centers["age"].astype(float)}, PEOPLE))
    found = metric.closest(metric.embed(read_checked(queries, PEOPLE)), points, 1, PEOPLE)[:, 0]
    expected, _ = groups.nearest(_frame(queries))
    if plain:
        assert (found == expected[:, 0]).mean() > 0.9
    first: Record = {"age": 18, "income": 0.0, "job": "a", "smoker": 0}
    second: Record = {"age": 90, "income": 50.0, "job": "b", "smoker": 0}
    one = metric.between(metric.embed_one(PEOPLE, first), metric.embed_one(PEOPLE, second), PEOPLE)
    job = 1.0 if isinstance(distance, str) else distance.between("job", "a", "b")
    assert one[0, 0] == pytest.approx((1 + 0.5 + job) / 4)


def _frame(data: dict[str, npt.NDArray[Any]]) -> Any:
    import pandas as pd

    return pd.DataFrame(data)


def test_gaps_differ_by_one_from_values_and_not_from_gaps() -> None:
    domain = Domain({"n": Real(0.0, 10.0, missing=True), "c": Category(("u", "v"), missing=True)})
    metric = DomainMetric(distance="gower", scales=(10.0, 1.0))
    records: list[Record] = [{"n": None, "c": None}, {"n": 1.0, "c": "u"}, {"n": None, "c": "u"}]
    points = np.concatenate([metric.embed_one(domain, record) for record in records])
    assert metric.between(points, points, domain).tolist() == [[0, 1, 0.5], [1, 0, 0.5], [0.5, 0.5, 0]]
    numbers = Domain({"n": domain["n"], "m": Real(0.0, 1.0)})
    euclidean = DomainMetric(distance="euclidean", scales=(10.0, 1.0))
    some: list[Record] = [{"n": None, "m": 0.0}, {"n": 1.0, "m": 0.0}, {"n": None, "m": 3.0}, {"n": 21.0, "m": 0.0}]
    points = np.concatenate([euclidean.embed_one(numbers, record) for record in some])
    wanted = np.sqrt([[0, 2, 9, 2], [2, 0, 11, 4], [9, 11, 0, 11], [2, 4, 11, 0]])
    assert euclidean.between(points, points, numbers) == pytest.approx(wanted)
    assert euclidean.differences(points[:1], points[1:2], numbers) == {"n": math.sqrt(2), "m": 0.0}
    with pytest.raises(GlassineError, match="is a category"):
        euclidean.check(domain)


@pytest.mark.parametrize("framed", [True, False])
def test_the_black_box_is_asked_on_each_record_once(framed: bool) -> None:
    seen: list[tuple[Any, ...]] = []

    def box(X: Any) -> Any:
        rows = X.to_numpy() if framed else X
        seen.extend(tuple(row) for row in rows.tolist())
        return ring(rows)

    X = np.vstack([numbers(200), numbers(200)[:50]])
    others = numbers(60, seed=1)
    as_given = (lambda A: pl.DataFrame(A, schema=["a", "b", "c"], orient="row")) if framed else (lambda A: A)
    explainer = SurrogateExplainer(box, 30, goal=None).fit(as_given(X))
    assert len(seen) == 200
    first = explainer.measures(as_given(X))
    assert explainer.fidelity(as_given(X)) == first.fidelity_guided
    audit(explainer)
    assert len(seen) == 200
    explainer.measures(as_given(others), ring(others))
    explainer.accuracy(as_given(others), ring(others))
    explainer.fidelity_null(as_given(np.vstack([X[:40], others])))
    assert len(seen) == len(set(seen)) == 260 == explainer.black_box_.n_queries
