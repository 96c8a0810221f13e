from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from glassine.auditing.policy import Policy
from glassine.domain import Between, Binary, Category, Domain, ExactlyOne, Implies, Integer, Real
from glassine.domain.grid import on_grid, public_grid, with_cuts
from glassine.domain.single import single_sides
from glassine.errors import BlackBoxError, GlassineError, InvalidDataError, InvalidDomainError, InvalidParameterError
from glassine.microaggregation import SemanticDistance, microaggregate
from glassine.surrogates import ContrastConstraints, SurrogateExplainer
from glassine.surrogates.explainer_parameters import plan_of
from glassine.surrogates.explanation_measures import node_counts
from glassine.surrogates.group_trees import where_trees_split
from tests.surrogates.scenes import PEOPLE, lender, numbers, people, ring

SQUARE = Domain({f"x{i}": Real(-9.0, 9.0) for i in range(2)})


def plain_paper(
    X: npt.NDArray[Any], y: npt.NDArray[Any], k: int, queries: npt.NDArray[Any], seed: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any]]:
    """Return the order of the representatives and what each tree decides, with NumPy and scikit-learn alone."""
    labels = microaggregate(X, k).labels
    scale = X.std(axis=0)
    points = np.array([X[labels == g].mean(axis=0) for g in range(labels.max() + 1)])
    trees = [DecisionTreeClassifier(random_state=seed).fit(X[labels == g], y[labels == g]) for g in range(len(points))]
    apart = ((queries[:, None, :] / scale - points[None] / scale) ** 2).sum(axis=2)
    return apart.argsort(axis=1, kind="stable"), np.array([tree.predict(queries) for tree in trees]).T


@pytest.mark.slow
@pytest.mark.parametrize("k", [20, 90])
def test_the_papers_form_is_what_plain_code_gives(k: int) -> None:
    X, queries = numbers(400), numbers(150, seed=1)
    y = np.where(numbers(400, 1, seed=2)[:, 0] + X[:, 0] > 0, "far", "near")
    explainer = SurrogateExplainer(ring, k, form="paper", random_state=3).fit(X, y)
    seed = int(np.random.default_rng(3).integers(2**31))
    order, decided = plain_paper(X, y, k, queries, seed)
    answers = ring(queries)
    rows = np.arange(len(queries))
    assert explainer.fidelity(queries, guided=False) == (decided[rows, order[:, 0]] == answers).mean()
    agrees = np.take_along_axis(decided, order[:, :3], axis=1) == answers[:, None]
    assert explainer.fidelity(queries) == agrees.any(axis=1).mean()
    for i, told in enumerate(explainer.explain_many(queries)):
        place = int(agrees[i].argmax()) if agrees[i].any() else 0
        assert told.group == order[i, place]
        assert told.rank == (place + 1 if agrees[i].any() else None)
        assert told.agrees == agrees[i].any()
        assert told.tree_decision == decided[i, told.group]
    assert 0 < agrees.any(axis=1).mean() < 1


def test_protocols_differ_where_the_closest_tree_disagrees() -> None:
    explainer = SurrogateExplainer(ring, 40, goal=None).fit(numbers(400))
    queries = numbers(200, seed=1)
    first, guided = explainer.explain_many(queries, guided=False), explainer.explain_many(queries)
    seen = set()
    for a, b in zip(first, guided, strict=True):
        assert a.n_closest == 1
        if a.agrees:
            assert (a.group, a.rank) == (b.group, 1) == (b.group, b.rank)
            seen.add("first")
        elif b.agrees:
            assert b.rank is not None
            assert b.rank in (2, 3)
            assert b.group != a.group
            seen.add("later")
        else:
            assert b.rank is None
            assert b.group == a.group
            assert "none of the 3 closest" in str(b)
            seen.add("none")
    assert seen >= {"first", "later"}


def test_if_none_agrees_the_closest_is_returned_and_said() -> None:
    explainer = SurrogateExplainer(ring, 40).fit(numbers(400))
    told = explainer.release().explain([0.0, 0.0, 0.0], "a decision that no tree knows", n_closest=5)
    alone = explainer.release().explain([0.0, 0.0, 0.0], "a decision that no tree knows", guided=False)
    assert (told.agrees, told.rank, told.n_closest) == (False, None, 5)
    assert (told.group, told.tree) == (alone.group, alone.tree)


def test_small_amounts_under_wide_bounds_get_trees_that_split() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.lognormal(10, 1.0, 1500).round(), rng.lognormal(7.5, 1.4, 1500).round()])
    domain = Domain({"x0": Integer(0, 5_000_000), "x1": Integer(0, 10_000_000)})

    def box(X: Any) -> Any:
        return np.where(X[:, 1] > 0.12 * X[:, 0], "yes", "no")

    share, fidelity = {}, {}
    for name, known in (("both", domain), ("linear", with_cuts(domain, public_grid))):
        explainer = SurrogateExplainer(box, 100, domain=known, goal=None).fit(X)
        release = explainer.release()
        share[name], fidelity[name] = node_counts(release.trees).constant_share, explainer.fidelity(X, guided=False)
        # Where trees may split is declared, and follows from the declared domain alone.
        assert release.domain == (where_trees_split(domain) if name == "both" else known)
        for literal in (literal for tree in release.trees for literal in tree.literals):
            assert isinstance(literal, Between)
            declared = release.domain[literal.attribute]
            assert isinstance(declared, Integer)
            assert {b for b in (literal.lo, literal.hi) if np.isfinite(b)} <= set(declared.thresholds)
    assert share["both"] <= 0.6 < 0.9 <= share["linear"]
    assert fidelity["both"] > fidelity["linear"] + 0.03


def test_the_safe_form_publishes_cut_points_of_the_domain_and_no_counts() -> None:
    X = numbers(600)
    y = np.where(X[:, 0] + X[:, 1] > 0, "far", "near")
    safe, paper = (SurrogateExplainer(ring, 60, form=form).fit(X, y).release() for form in ("restricted", "paper"))
    assert any(tree.literals for tree in safe.trees)
    for tree in safe.trees:
        assert all(node.evidence.counts is None and node.evidence.total is None for node in tree.nodes)
        assert tree.depth <= 3
        for literal in tree.literals:
            assert isinstance(literal, Between)
            bounds = [b for b in (literal.lo, literal.hi) if np.isfinite(b)]
            assert all(on_grid(safe.domain[literal.attribute], bound) for bound in bounds)
    literals = [literal for tree in paper.trees for literal in tree.literals if isinstance(literal, Between)]
    assert any(not on_grid(paper.domain[lit.attribute], b) for lit in literals for b in (lit.lo, lit.hi) if abs(b) < 9)
    assert all(node.evidence.counts is not None for tree in paper.trees for node in tree.nodes)
    values = {float(v) for v in X.ravel()}
    assert not values & {float(v) for point in safe.representatives for v in point if v is not None}
    for name, column in zip(safe.domain, X.T, strict=True):
        attribute = safe.domain[name]
        assert isinstance(attribute, Real)
        assert attribute.lo < column.min() < column.max() < attribute.hi


def test_leaves_of_the_safe_form_hold_enough_records() -> None:
    X = numbers(600)
    explainer = SurrogateExplainer(ring, 60, min_samples_leaf=12, leaf_counts=True).fit(X)
    cells = [cell for tree in explainer.release_.trees for cell in tree.cells]
    assert min(cell.evidence.size or 0 for cell in cells) >= 12
    groups = explainer.training_.groups
    for group, tree in enumerate(explainer.release_.trees):
        rows = explainer.training_.columns.take(groups == group)
        counted = np.bincount(tree.apply({n: rows.values(n) for n in rows.names}), minlength=len(tree.cells))
        assert counted.tolist() == [cell.evidence.size for cell in tree.cells]


def test_a_fit_is_repeatable_bit_for_bit() -> None:
    X = np.round(numbers(300), 1)
    for form in ("restricted", "paper"):
        first, second = (SurrogateExplainer(ring, 30, form=form, labels="black-box").fit(X) for _ in range(2))
        assert first.release().to_dict() == second.release().to_dict()
        assert clone(first).fit(X).release().to_dict() == first.release().to_dict()


def test_clone_keeps_the_fitted_black_box() -> None:
    X = numbers(100)
    box = LogisticRegression().fit(X, X[:, 0] > 0)
    copied = clone(SurrogateExplainer(box, 20, n_closest=2))
    assert copied.get_params(deep=False)["n_closest"] == 2
    assert not hasattr(copied, "release_")
    assert copied.fit(X).fidelity(X) > 0.9
    assert SurrogateExplainer(box).set_params(k=7).k == 7


def test_frames_of_every_library_give_the_same_release() -> None:
    data = people()
    frames = [pd.DataFrame(data), pl.DataFrame(data), pa.table(data)]
    releases = []
    for frame in frames:
        explainer = SurrogateExplainer(lender, 30, domain=PEOPLE, distance="gower").fit(frame)
        releases.append(explainer.release())
        query = {"age": 30, "income": 70.5, "job": "b", "smoker": 1}
        told = explainer.explain(query)
        assert told == explainer.explain([30, 70.5, "b", 1])
        assert told.decision == "yes"
        assert explainer.feature_names_in_.tolist() == list(PEOPLE)
    assert releases[0] == releases[1] == releases[2]
    assert releases[0].classes == ("maybe", "no", "yes")
    one = SurrogateExplainer(lender, 30, domain=PEOPLE, distance="gower").fit(frames[0])
    first = frames[0].head(1)
    assert one.explain(first) == one.explain(first.iloc[0]) == one.explain(first.iloc[0].to_dict())
    assert one.fidelity(frames[0]) > 0.95


def test_categories_follow_a_taxonomy() -> None:
    data = pd.DataFrame(people())
    jobs = SemanticDistance({"job": {"any": {"manual": ["a", "b"], "office": ["c"]}}})
    explainer = SurrogateExplainer(lender, 40, domain=PEOPLE, distance=jobs).fit(data)
    found = microaggregate(data, 40, distance=jobs, domain=PEOPLE)
    assert explainer.training_.groups.tolist() == found.labels.tolist()
    assert explainer.release().metric.distance == "semantic"
    assert explainer.fidelity(data) > 0.95


def test_an_object_array_of_mixed_values_is_read() -> None:
    data = people(120)
    array = np.empty((120, 4), dtype=object)
    for i, name in enumerate(PEOPLE):
        array[:, i] = data[name]

    def box(X: Any) -> Any:
        return lender({name: X[:, i].astype(float if name != "job" else str) for i, name in enumerate(PEOPLE)})

    explainer = SurrogateExplainer(box, 30, domain=PEOPLE, distance="gower").fit(array)
    assert explainer.explain([40, 90.0, "c", 0]).decision == "yes"
    inferred = SurrogateExplainer(box, 30, distance="gower").fit(array)
    assert inferred.explain([40, 90.0, "c", 0]).decision == "yes"


def test_one_class_two_records_and_constant_columns() -> None:
    alike = np.ones((6, 2))
    explainer = SurrogateExplainer(lambda X: np.zeros(len(X), dtype=int), 2, classes=(0,)).fit(alike)
    told = explainer.explain([1.0, 1.0])
    assert (told.decision, told.agrees, told.conditions, told.contrasts) == (0, True, (), ())
    assert explainer.measures(alike).fidelity == 1.0
    two = SurrogateExplainer(ring, 2, classes=("far", "near")).fit(np.array([[0.0, 0.0], [3.0, 3.0]]))
    assert two.release().n_groups == 1
    assert two.measures(np.array([[1.0, 1.0]])).stability_group is None


def test_the_black_box_is_asked_once_a_record() -> None:
    X = numbers(90)
    explainer = SurrogateExplainer(ring, 30, goal=None).fit(X)
    assert (explainer.black_box_.n_queries, explainer.black_box_.n_calls) == (90, 1)
    explainer.explain_many(X[:7])
    assert (explainer.black_box_.n_queries, explainer.black_box_.n_calls) == (97, 2)
    explainer.explain(X[0], check=False)
    assert (explainer.black_box_.n_queries, explainer.black_box_.n_calls) == (98, 3)
    # Once more for all changes together.
    told = explainer.explain(X[0])
    assert told.contrasts or told.candidates
    assert explainer.black_box_.n_calls == 5


def test_checked_contrasts_say_what_the_black_box_says() -> None:
    explainer = SurrogateExplainer(ring, 40).fit(numbers(400))
    seen = set()
    for x in numbers(40, seed=1):
        told = explainer.explain(x)
        assert all(contrast.confirmed for contrast in told.contrasts)
        for contrast in (*told.contrasts, *told.candidates):
            changed = dict(zip(explainer.domain_, x.tolist(), strict=True))
            changed |= {change.attribute: change.after for change in contrast.changes}
            truth = ring(np.array([list(changed.values())], dtype=float))[0]
            assert contrast.confirmed == (truth == contrast.decision)
            seen.add(contrast.confirmed)
        plain = explainer.explain(x, check=False)
        assert plain.contrasts == ()
        assert all(c.confirmed is None for c in plain.candidates)
    assert seen == {True, False}


BOUNDED = Domain({"a": Real(-5.0, 5.0), "b": Real(-5.0, 5.0)})


@pytest.mark.parametrize(
    ("x", "said"),
    [
        ([0.0, float("nan")], "'b', which cannot be missing"),
        ([0.0, None], "'b', which cannot be missing"),
        ([0.0, 5.1], "'b' must lie in"),
        ([0.0, float("inf")], "finite"),
        ([0.0, "one"], "finite number"),
        ([0.0, b"1"], "finite number"),
        ([0.0, 10**400], "finite number"),
        ([0.0], "needs 2 values"),
        ([], "needs 2 values"),
        ({"a": 1.0}, "lacks the attribute 'b'"),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, "not an attribute"),
        ({"a": 1.0, "b": [1.0]}, "finite number"),
        ("ab", "mapping or a sequence"),
        (None, "mapping or a sequence"),
        (np.zeros((2, 2)), "finite number"),
        (pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]}), "one record"),
    ],
)
def test_a_query_outside_the_domain_is_refused(x: Any, said: str) -> None:
    explainer = SurrogateExplainer(lambda X: X[:, 0] > 0, 10, domain=BOUNDED).fit(numbers(60, 2))
    with pytest.raises(InvalidDataError, match=said):
        explainer.explain(x)


def test_many_queries_outside_the_domain_are_refused_and_not_quoted() -> None:
    explainer = SurrogateExplainer(lambda X: X[:, 0] > 0, 10, domain=BOUNDED).fit(numbers(60, 2))
    with pytest.raises(InvalidDataError, match="records lie outside the domain in 'a'") as error:
        explainer.explain_many(np.array([[7.125, 0.0], [8.125, 0.0], [1.0, 1.0]]))
    assert "125" not in str(error.value)
    with pytest.raises(InvalidDataError, match="missing value"):
        explainer.explain_many(np.array([[np.nan, 0.0]]))
    people_of = SurrogateExplainer(lender, 30, domain=PEOPLE, distance="gower").fit(pd.DataFrame(people()))
    odd = pd.DataFrame({**people(3), "job": ["a", "q", "q"]})
    with pytest.raises(InvalidDataError, match="the records hold a value of 'job'"):
        people_of.fidelity(odd)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.array([[1.0, np.inf], [1.0, 2.0], [0.0, 1.0]]), "infinite|infinity"),
        (np.zeros((0, 2)), "shape"),
        (np.zeros(5), "shape"),
        (np.zeros((3, 2, 2)), "shape"),
        ([[1.0], [1.0, 2.0]], "rectangle"),
        (np.zeros((3, 2), dtype=complex), "complex"),
        (None, "shape"),
        (pd.DataFrame({"a": ["u", "v", "u"]}), "gower"),
    ],
)
def test_records_that_cannot_be_grouped_are_refused(X: Any, said: str) -> None:
    with pytest.raises(GlassineError, match=said):
        SurrogateExplainer(lambda X: np.zeros(len(X)), 2, classes=(0,), distance="euclidean").fit(X)


@pytest.mark.parametrize("domain", [None, PEOPLE])
def test_the_default_distance_takes_categories(domain: Domain | None) -> None:
    frame = pd.DataFrame(people())
    found = SurrogateExplainer(lender, 30, domain=domain).fit(frame).release()
    named = SurrogateExplainer(lender, 30, domain=domain, distance="gower").fit(frame).release()
    assert found.metric.distance == "gower"
    assert found.to_dict() == named.to_dict()
    assert SurrogateExplainer(ring, 30).fit(numbers()).release_.metric.distance == "euclidean"


@pytest.mark.parametrize("distance", ["euclidean", "gower"])
def test_representatives_are_possible_records(distance: str) -> None:
    rng = np.random.default_rng(3)
    n, town = 600, ("north", "south", "west")
    at = rng.integers(3, size=n)
    records = {"age": rng.integers(18, 91, n), "debt": np.round(rng.exponential(9.0, n) * 4) / 4}
    records |= {f"in {name}": (at == i).astype(int) for i, name in enumerate(town)}
    records["student"] = (rng.random(n) < 0.4).astype(int)
    records["grant"] = records["student"] * (rng.random(n) < 0.7)
    tied = tuple(f"in {name}" for name in town)
    described: dict[str, Any] = {"age": Integer(18, 90), "debt": Real(0.0, 100.0, resolution=0.25)}
    domain = Domain(
        described | dict.fromkeys([*tied, "student", "grant"], Binary()),
        groups=[ExactlyOne(tied), Implies(("grant", "student"))],
    )
    explainer = SurrogateExplainer(lambda X: X["age"] > 50, 25, domain=domain, distance=distance)
    release = explainer.fit(pd.DataFrame(records)).release()
    assert release.n_groups > 10
    for group in range(release.n_groups):
        one = release.representative(group)
        own = explainer.training_.groups == group
        assert isinstance(one["age"], int)
        assert (float(one["debt"] or 0) / 0.25).is_integer()
        assert all(one[name] in (0, 1) for name in (*tied, "student", "grant"))
        assert sum(int(one[name] or 0) for name in tied) == 1
        assert not one["grant"] or one["student"]
        # Of three towns, the one where most of the group are.
        counts = [int(records[name][own].sum()) for name in tied]
        assert one[tied[int(np.argmax(counts))]] == 1
        # A release reads its own representatives as records.
        release.query(one)


@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 1},
        {"k": 2.5},
        {"k": float("nan")},
        {"k": 61},
        {"form": "published"},
        {"labels": "guessed"},
        {"scaling": "minmax"},
        {"distance": "cosine"},
        {"gamma": "v-mdav"},
        {"max_depth": 0},
        {"max_depth": "deep"},
        {"min_samples_leaf": 0},
        {"min_samples_leaf": float("nan")},
        {"leaf_counts": 1},
        {"epsilon": -1.0},
        {"epsilon": float("nan")},
        {"epsilon": 1.0, "form": "paper"},
        {"epsilon": 1.0, "leaf_counts": True},
        {"epsilon": 1.0, "max_depth": None},
        {"partition": "grid"},
        {"partition": "public"},
        {"n_cells": 0},
        {"n_closest": 0},
        {"random_state": -1},
        {"random_state": "seed"},
        {"classes": (0, 0)},
        {"classes": ()},
        {"classes": 3},
        {"classes": "ab"},
        {"classes": [[0], [1]]},
        {"fixed_black_box": "yes"},
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, Any]) -> None:
    X = numbers(60, 2)
    given: dict[str, Any] = {"k": 10, **parameters}
    with pytest.raises(InvalidParameterError):
        SurrogateExplainer(lambda X: X[:, 0] > 0, **given).fit(X, X[:, 0] > 0)


def test_a_domain_that_is_none_is_refused() -> None:
    X = numbers(60, 2)
    with pytest.raises(InvalidDomainError, match="domain must be a Domain or None, got dict"):
        SurrogateExplainer(lambda X: X[:, 0] > 0, k=10, domain={"a": 1}).fit(X, X[:, 0] > 0)  # type: ignore[arg-type]


def test_true_labels_are_needed_where_they_are_used_and_checked() -> None:
    X = numbers(60, 2)
    explainer = SurrogateExplainer(lambda X: X[:, 0] > 0, 10, labels="true")
    for y, said in ((None, "needs y"), (np.zeros(59), "one label a record"), ([float("nan")] * 60, "missing")):
        with pytest.raises(InvalidDataError, match=said):
            explainer.fit(X, y)
    with pytest.raises(InvalidDataError, match="not declared as classes"):
        SurrogateExplainer(ring, 10, classes=("near",)).fit(X)


@pytest.mark.parametrize(
    ("box", "said"),
    [
        (lambda X: 1 / 0, "ZeroDivisionError"),
        (lambda X: np.zeros((len(X), 2)), "one label a record"),
        (lambda X: np.zeros((len(X), 1)), "one label a record"),
        (lambda X: np.zeros(len(X) + 1), "one label a record"),
        (lambda X: "yes", "one label a record"),
        (lambda X: None, "one label a record"),
        (lambda X: np.full(len(X), np.nan), "none of these"),
        (lambda X: [{} for _ in X], "none of these"),
        (lambda X: [None] * len(X), "none of these"),
    ],
)
def test_a_black_box_that_misbehaves_is_named(box: Any, said: str) -> None:
    with pytest.raises(BlackBoxError, match=said):
        SurrogateExplainer(box, 10).fit(numbers(40, 2))


def test_an_error_of_the_black_box_does_not_quote_records() -> None:
    def box(X: Any) -> Any:
        raise ValueError(f"cannot decide on {X[0, 0]}")

    X = np.full((40, 2), 12.375)
    with pytest.raises(BlackBoxError) as error:
        SurrogateExplainer(box, 10).fit(X)
    assert "12.375" not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def test_a_label_that_appears_after_the_fit_is_a_decision_no_tree_gives() -> None:
    news = {"label": "old"}
    explainer = SurrogateExplainer(lambda X: np.full(len(X), news["label"]), 10).fit(numbers(40, 2))
    assert explainer.explain([0.0, 0.0]).agrees
    news["label"] = "new"
    told = explainer.explain([0.0, 0.0])
    assert (told.decision, told.tree_decision, told.agrees, told.rank) == ("new", "old", False, None)
    # On records that it was not asked about in the fit.
    assert explainer.fidelity(numbers(5, 2, seed=1)) == 0.0


def test_a_black_box_cannot_write_into_the_records() -> None:
    def box(X: Any) -> Any:
        X[:] = 0
        return np.zeros(len(X))

    X = numbers(40, 2)
    before = X.copy()
    SurrogateExplainer(box, 10).fit(X)
    assert np.array_equal(X, before)


def test_a_black_box_cannot_write_into_a_frame() -> None:
    def box(frame: Any) -> Any:
        frame["x0"] = 0.0
        return np.zeros(len(frame))

    frame = pd.DataFrame(numbers(40, 2), columns=["x0", "x1"])
    before = frame.copy()
    groups = SurrogateExplainer(box, 10).fit(frame).training_.groups
    pd.testing.assert_frame_equal(frame, before)
    assert np.array_equal(groups, microaggregate(before, 10).labels)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
def test_representatives_are_as_coarse_without_scaling(unit: float) -> None:
    X = numbers(400, 2) * 0.9 * unit
    for scaling in ("standard", "none"):
        points = SurrogateExplainer(lambda X: X[:, 0] > 0, 20, scaling=scaling).fit(X).release_.representatives
        steps = np.array(points, dtype=float) / (0.02 * unit)
        np.testing.assert_allclose(steps, steps.round(), atol=1e-6)


@pytest.mark.parametrize("unit", [1e-310, 1e299])
def test_spreads_whose_squares_a_double_does_not_hold(unit: float) -> None:
    X = numbers(60, 2) * unit / 10
    release = SurrogateExplainer(lambda X: X[:, 0] > 0, 20).fit(X).release_
    assert release.metric.scales[0] == pytest.approx(
        float(f"{(X / unit).std(axis=0)[0] * unit:.1e}") if unit > 1 else 1.0
    )
    assert len(set(release.representatives)) == (release.n_groups if unit > 1 else 1)


def test_numbers_beyond_single_precision_grow_no_exact_tree() -> None:
    X = numbers(60, 2) * 1e100
    SurrogateExplainer(lambda X: X[:, 0] > 0, 20).fit(X)
    with pytest.raises(InvalidDataError, match="single precision"):
        SurrogateExplainer(lambda X: X[:, 0] > 0, 20, form="paper").fit(X, X[:, 0] > 0)


def test_larger_groups_get_deeper_trees() -> None:
    depths = []
    for k in (999, 1000, 4999, 5000):
        explainer = SurrogateExplainer(ring, k, domain=SQUARE)
        depths.append(plan_of(explainer, "training").growth.max_depth)
    assert depths == [3, 5, 5, 6]
    private = SurrogateExplainer(ring, 9999, domain=SQUARE, classes=("in", "out"), epsilon=1.0)
    assert plan_of(private, "training").growth.max_depth == 2


def test_the_default_leaves_are_as_large_as_the_default_policy_asks() -> None:
    for k in (2, 100, 5000):
        explainer = SurrogateExplainer(ring, k, domain=SQUARE)
        assert plan_of(explainer, "training").growth.min_samples_leaf == Policy().smallest_group
    assert plan_of(SurrogateExplainer(ring, 100, form="paper"), "training").growth.min_samples_leaf == 1


def test_no_more_trees_are_asked_than_there_are() -> None:
    X = numbers(60, 2)
    explainer = SurrogateExplainer(lambda X: ["a"] * len(X), 60).fit(X)
    told = explainer.release_.explain([0.0, 0.0], "b")
    assert (told.agrees, told.n_closest) == (False, 1)


def test_an_unfitted_explainer_says_so() -> None:
    explainer = SurrogateExplainer(ring, 10)
    asks: list[Callable[[], object]] = [
        lambda: explainer.explain([1.0]),
        lambda: explainer.fidelity([[1.0]]),
        explainer.release,
    ]
    for ask in asks:
        with pytest.raises(NotFittedError, match="not fitted"):
            ask()


def test_a_release_holds_no_record() -> None:
    X = numbers(200)
    explainer = SurrogateExplainer(ring, 50).fit(X)
    blob = pickle.dumps(explainer.release())
    assert X[0, 0].tobytes() in pickle.dumps(explainer.training_.columns)
    assert not any(float(value).hex().encode() in blob or value.tobytes() in blob for value in X.ravel())


def test_inferred_categories_and_integers_are_read_back() -> None:
    explainer = SurrogateExplainer(lender, 30, distance="gower").fit(pd.DataFrame(people()))
    assert isinstance(explainer.domain_["job"], Category)
    assert explainer.domain_.inferred
    assert any("taken from the records" in note for note in explainer.release().provenance.notes)
    assert explainer.explain({"age": 200, "income": 1e4, "job": "b", "smoker": 0}).decision == "yes"


def test_columns_beside_the_domain_are_not_shown_to_the_black_box() -> None:
    seen: list[list[str]] = []

    def box(X: Any) -> Any:
        seen.append(list(X.columns))
        return lender(X)

    data = pd.DataFrame(people())[["smoker", "job", "income", "age"]].assign(name="somebody")
    explainer = SurrogateExplainer(box, 30, domain=PEOPLE, distance="gower").fit(data)
    explainer.explain(data.head(1))
    assert {tuple(names) for names in seen} == {PEOPLE.names}
    with pytest.raises(InvalidDataError, match="lack the column 'age'"):
        explainer.fidelity(data.drop(columns="age"))


def midpoint_share(explainer: SurrogateExplainer) -> float:
    """Return the share of thresholds that lie midway between two values of records of their group."""
    hits = []
    columns, groups = explainer.training_.columns, explainer.training_.groups
    for group, tree in enumerate(explainer.release().trees):
        rows = columns.take(groups == group)
        for literal in tree.literals:
            if isinstance(literal, Between) and np.isfinite(literal.hi):
                values = rows.numbers[literal.attribute].astype(np.float32).astype(float)
                # Where rounding to single precision crosses a threshold there lies a bound of the model.
                below, above = single_sides(literal.hi) or (literal.hi, literal.hi)
                midway = (values[:, None] + values) / 2
                hits.append(bool(((midway > below - 1e-12) & (midway < above + 1e-12)).any()))
    return float(np.mean(hits))


@pytest.mark.slow
def test_the_default_is_smaller_more_faithful_and_shows_no_midpoint() -> None:
    X, y = make_classification(
        n_samples=9000,
        n_features=10,
        n_informative=5,
        n_redundant=3,
        n_repeated=2,
        n_clusters_per_class=4,
        random_state=42,
    )
    box = RandomForestClassifier(60, min_samples_leaf=3, random_state=0).fit(X[:6000], y[:6000])
    safe, paper = (SurrogateExplainer(box, 100, form=form).fit(X[:6000], y[:6000]) for form in ("restricted", "paper"))
    ours, theirs = (explainer.measures(X[6000:], y[6000:]) for explainer in (safe, paper))
    assert ours.fidelity > theirs.fidelity
    assert 2 * ours.nodes.mean < theirs.nodes.mean
    assert ours.fidelity_null < ours.fidelity_guided
    assert midpoint_share(paper) > 0.9
    assert midpoint_share(safe) < 0.01


def test_missing_values_are_explained_in_groups_and_public_cells() -> None:
    domain = Domain({"age": Real(0.0, 90.0, missing=True), "job": Category(("a", "b"), missing=True)})

    def box(X: Any) -> Any:
        return np.where(X["age"].isna(), "gap", np.where(X["age"] > 50, "old", "young"))

    rng = np.random.default_rng(0)
    data = pd.DataFrame({"age": rng.uniform(0, 90, 300), "job": rng.choice(["a", "b"], 300)})
    told = SurrogateExplainer(box, 30, domain=domain, distance="gower").fit(data).explain({"age": None, "job": "a"})
    assert (told.decision, told.agrees) == ("gap", False)
    data.loc[:59, "age"] = np.nan
    public = SurrogateExplainer(box, domain=domain, distance="gower", partition="public", n_cells=8).fit(data)
    assert public.fidelity(data) > 0.95
    told = public.explain({"age": None, "job": "a"})
    assert told.agrees
    assert "age is missing" in told.conditions
    assert {contrast.changes[0].before for contrast in told.contrasts} == {None}
    grouped = SurrogateExplainer(box, 30, domain=domain, distance="gower", goal=None).fit(data)
    assert grouped.fidelity(data) > 0.95
    told = grouped.explain({"age": None, "job": "a"})
    assert (told.decision, told.agrees, told.representative["age"]) == ("gap", True, None)


def test_constraints_reach_every_way_to_ask_for_an_explanation() -> None:
    asked: list[int] = []

    def box(X: Any) -> Any:
        asked.append(len(X))
        return lender(X)

    frame = pd.DataFrame(people())
    explainer = SurrogateExplainer(box, 40, domain=PEOPLE, distance="gower", random_state=0).fit(frame)
    query = {"age": 40, "income": 49.0, "job": "b", "smoker": 0}
    free = explainer.explain(query)
    assert free.contrasts
    name = free.contrasts[0].changes[0].attribute
    constraints = ContrastConstraints(fixed=(name,))
    one = explainer.explain(query, constraints=constraints)
    several = explainer.explain_many([query], n_contrasts=3, constraints=constraints)
    released = explainer.release().explain(query, free.decision, constraints=constraints)
    assert one == several[0] == released
    assert all(change.attribute != name for contrast in one.contrasts for change in contrast.changes)
    assert explainer.explain(query, constraints=ContrastConstraints(fixed=PEOPLE.names)).contrasts == ()
    before = len(asked)
    for ask in (explainer.explain, explainer.explain_many):
        with pytest.raises(InvalidParameterError, match="not an attribute"):
            ask([query] if ask == explainer.explain_many else query, constraints=ContrastConstraints(fixed=("z",)))
    assert len(asked) == before
