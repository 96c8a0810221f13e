from __future__ import annotations

import copy
import json
import pickle
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from glassine.domain import Domain, Real
from glassine.errors import GlassineError, InvalidDataError, InvalidModelError, InvalidParameterError
from glassine.microaggregation import SemanticDistance
from glassine.models import DecisionTree, Evidence, Node
from glassine.surrogates import Protocol, Provenance, SurrogateExplainer, SurrogateRelease
from glassine.surrogates.distances import DomainMetric
from tests.surrogates.scenes import PEOPLE, lender, numbers, people, ring

JOBS = SemanticDistance({"job": {"any": {"manual": ["a", "b"], "office": ["c"]}}})


@pytest.fixture(scope="module")
def mixed() -> SurrogateRelease:
    explainer = SurrogateExplainer(lender, 60, domain=PEOPLE, distance=JOBS, classes=("no", "maybe", "yes"))
    return explainer.fit(pd.DataFrame(people())).release()


def test_json_brings_back_the_same_release(mixed: SurrogateRelease, tmp_path: Path) -> None:
    path = tmp_path / "release.json"
    paper = SurrogateExplainer(ring, 40, form="paper").fit(numbers(), ring(numbers())).release()
    private = SurrogateExplainer(
        lender,
        domain=PEOPLE,
        distance="gower",
        classes=("no", "maybe", "yes"),
        epsilon=1.0,
        partition="public",
        n_cells=9,
    )
    for release in (mixed, paper, private.fit(pd.DataFrame(people())).release()):
        release.to_json(path)
        again = SurrogateRelease.from_json(path)
        assert again == release
        assert again.to_dict() == release.to_dict()
        assert hash(again) == hash(release)
        query = release.representative(0) if release is mixed else None
        if query is not None:
            query = {**query, "age": int(query["age"] or 0), "smoker": round(float(query["smoker"] or 0))}
            assert again.explain(query, "no") == release.explain(query, "no")
        assert pickle.loads(pickle.dumps(release)) == release


def test_the_file_says_what_it_is(mixed: SurrogateRelease) -> None:
    data = mixed.to_dict()
    assert data["schema"] == "glassine.surrogates/1"
    assert data["provenance"]["form"] == "restricted"
    assert data["certificate"]["holds"] is False
    assert "labels" not in data
    assert "sizes" not in json.dumps(data)


def test_the_explainer_and_its_release_explain_alike() -> None:
    explainer = SurrogateExplainer(ring, 40).fit(numbers())
    assert explainer.release_.protocol != Protocol()
    for x in numbers(30, seed=1):
        for guided in (True, False):
            told = explainer.release().explain(x, ring(x[None])[0], guided=guided)
            assert told == explainer.explain(x, guided=guided, check=False)


def paths(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value inside a JSON value."""
    yield here
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield from paths(below, (*here, key))


def put(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """Return a copy with another value at a place."""
    if not place:
        return new
    out = copy.deepcopy(value)
    inner = out
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = new
    return out


HOSTILE: list[Any] = [None, True, -1, 0, 2, 1e308, 10**400, "", "x", [], {}, [None], [[]], {"a": 1}, "0" * 1000]


@pytest.mark.slow
def test_no_hostile_release_brings_anything_but_our_errors(mixed: SurrogateRelease) -> None:
    data = mixed.to_dict()
    data["groups"] = data["groups"][:2]
    rng = random.Random(0)
    places = list(paths(data))
    assert SurrogateRelease.from_dict(data).n_groups == 2
    refused = 0
    for _ in range(1500):
        place = rng.choice(places)
        try:
            release = SurrogateRelease.from_dict(put(data, place, rng.choice(HOSTILE)))
            release.explain({"age": 30, "income": 1.0, "job": "a", "smoker": 0}, "no")
            json.dumps(release.to_dict(), allow_nan=False)
        except GlassineError:
            refused += 1
    assert 1000 < refused < 1500


def chain(depth: int) -> dict[str, Any]:
    """Return a tree of a long chain of splits as JSON."""
    nodes: list[dict[str, Any]] = []
    for i in range(depth):
        low = {"if": {"attribute": "x0", "at_most": float(-i)}, "child": 2 * i + 1}
        nodes += [
            {"branches": [low, {"if": {"attribute": "x0", "above": float(-i)}, "child": 2 * i + 2}]},
            {"branches": [], "label": 0},
        ]
    # Node 2i + 2 is the next split, so that leaves and splits alternate.
    return {
        "schema": "glassine.model/1",
        "kind": "decision-tree",
        "attributes": ["x0"],
        "classes": ["a"],
        "nodes": [*nodes, {"branches": [], "label": 0}],
    }


def small() -> SurrogateRelease:
    tree = DecisionTree((Node(evidence=Evidence(label=0)),), ("x0",), ("a",))
    return SurrogateRelease(
        domain=Domain({"x0": Real(-1e9, 1.0)}),
        classes=("a",),
        metric=DomainMetric(distance="euclidean", scales=(1.0,)),
        representatives=((0.0,),),
        trees=(tree,),
        k=3,
        n_closest=1,
        provenance=Provenance(
            form="restricted", labels="true", records="training", partition="microaggregation", method="mdav",
            scaling="standard", max_depth=3, min_samples_leaf=5,
        ),
    )  # fmt: skip


def test_what_would_take_long_to_read_is_refused_by_size() -> None:
    data = small().to_dict()
    assert SurrogateRelease.from_dict(put(data, ("groups", 0, "tree"), chain(150))).trees[0].depth == 150
    with pytest.raises(InvalidModelError, match="deeper than 200"):
        SurrogateRelease.from_dict(put(data, ("groups", 0, "tree"), chain(5000)))
    with pytest.raises(InvalidModelError, match="at most 100000 groups"):
        SurrogateRelease.from_dict(put(data, ("groups",), [None] * 100_001))
    deep: Any = None
    for _ in range(300):
        deep = [["v", deep]]
    with pytest.raises(InvalidModelError, match="deeper than 100"):
        SurrogateRelease.from_dict(put(data, ("taxonomies",), deep))
    wide = [["x0", [[str(i), [[f"{i}.{j}", None] for j in range(50)]] for i in range(50)]]]
    with pytest.raises(InvalidModelError, match="at most 2000 values"):
        SurrogateRelease.from_dict(put(data, ("taxonomies",), wide))


def broken(change: Callable[[SurrogateRelease], dict[str, Any]]) -> Any:
    release = small()
    return lambda: replace(release, **change(release))


LEAF = Node(evidence=Evidence(label=0))


@pytest.mark.parametrize(
    "change",
    [
        lambda r: {"trees": ()},
        lambda r: {"trees": (*r.trees, *r.trees)},
        lambda r: {"classes": ()},
        lambda r: {"classes": ("a", "a")},
        lambda r: {"classes": ("b",)},
        lambda r: {"representatives": ((),)},
        lambda r: {"representatives": ((None,),)},
        lambda r: {"representatives": (("zero",),)},
        lambda r: {"representatives": ((float("nan"),),)},
        lambda r: {"metric": DomainMetric(distance="euclidean", scales=(1.0, 1.0))},
        lambda r: {"k": 0},
        lambda r: {"k": True},
        lambda r: {"n_closest": 0},
        lambda r: {"n_closest": 10**6},
        lambda r: {"provenance": replace(r.provenance, form="other")},
        lambda r: {"provenance": replace(r.provenance, notes=("",))},
        lambda r: {"provenance": replace(r.provenance, min_samples_leaf=0)},
        lambda r: {"trees": (DecisionTree((Node(),), ("x0",), ("a",)),)},
        lambda r: {"trees": (DecisionTree((LEAF,), ("x0",), ("a", "b")),)},
        lambda r: {"trees": (DecisionTree((Node(evidence=Evidence(value=1.0)),), ("x0",)),)},
    ],
)
def test_parts_that_contradict_each_other_are_refused(change: Any) -> None:
    assert small().explain([0.5], "a").agrees
    with pytest.raises(InvalidModelError):
        broken(change)()


@pytest.mark.parametrize(
    ("distance", "scales"), [("cosine", (1.0,)), ("euclidean", (0.0,)), ("gower", (float("nan"),))]
)
def test_a_metric_needs_positive_scales(distance: str, scales: tuple[float, ...]) -> None:
    with pytest.raises(InvalidParameterError):
        DomainMetric(distance=distance, scales=scales)


def test_a_decision_must_be_a_label() -> None:
    for decision in (None, float("nan"), [1], {"a": 1}):
        with pytest.raises(InvalidDataError, match="a decision must be"):
            small().explain([0.0], decision)
    assert small().explain([0.0], np.str_("a")).agrees
    with pytest.raises(InvalidParameterError):
        small().explain([0.0], "a", n_closest=0)
    with pytest.raises(InvalidParameterError):
        small().explain([0.0], "a", n_contrasts=-1)


def test_an_explanation_is_json(mixed: SurrogateRelease) -> None:
    told = mixed.explain({"age": 30, "income": 50.2, "job": "b", "smoker": 0}, "yes")
    data = json.loads(told.to_json())
    assert data["decision"] == "yes"
    assert data["path"][0] == 0
    assert data["tree"]["schema"] == "glassine.model/1"
    assert set(data["representative"]) == set(PEOPLE)
