"""A target, persons or weights in another order than the records are refused at every door."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import glassine
from glassine import Domain, Integer
from glassine.comparison import compare
from glassine.data import CountTable, Sample
from glassine.errors import InvalidDataError, NotAlignedWarning
from glassine.records.alignment import check_alignment

N = 60
RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.integers(18, 90, N), "pay": RNG.integers(0, 9, N)}, index=RNG.permutation(N) + 100)
Y = pd.Series(np.where(X["age"] > 50, 1, 0), index=X.index)
WHO = pd.Series(np.arange(N) // 2, index=X.index)
ONES = pd.Series(1, index=X.index)
DOMAIN = Domain({"age": Integer(18, 90), "pay": Integer(0, 9)})
RULES = glassine.parse_rules("classes: [a] [b]\nif [age <= 22] then [a]\nelse [b]", DOMAIN)

Beside = dict[str, Any]
DOORS: dict[str, Callable[[Beside], Any]] = {
    "ordinary fit": lambda b: glassine.learners.OptimalTreeClassifier(
        max_depth=1, domain=DOMAIN, classes=(0, 1), min_samples_leaf=5
    ).fit(X, b["y"], sample_weight=b["weights"]),
    "private fit": lambda b: glassine.learners.PrivateTreeClassifier(
        1, epsilon=1.0, domain=DOMAIN, classes=(0, 1), records_per_person=2, random_state=0
    ).fit(X, b["y"], persons=b["persons"]),
    "audit": lambda b: glassine.audit(RULES, domain=DOMAIN, data=X, persons=b["persons"]),
    "scrub": lambda b: glassine.scrub(RULES, DOMAIN, data=X, smallest_leaf=2, persons=b["persons"]),
    "compare": lambda b: compare(
        X.assign(ill=Y), "ill", domain=DOMAIN, classes=(0, 1), persons=b["persons"], task=None
    ),
    "count table": lambda b: CountTable.from_frame(X, DOMAIN, weights=b["weights"]),
    "sample": lambda b: Sample(X, b["y"], persons=b["persons"]),
    "explainer": lambda b: glassine.surrogates.SurrogateExplainer(
        lambda Z: np.where(Z["age"] > 50, 1, 0), k=5, domain=DOMAIN, random_state=0
    ).fit(X, b["y"], persons=b["persons"]),
}
TAKES = {
    "ordinary fit": ("y", "weights"),
    "private fit": ("y", "persons"),
    "audit": ("persons",),
    "scrub": ("persons",),
    "compare": ("persons",),
    "count table": ("weights",),
    "sample": ("y", "persons"),
    "explainer": ("y", "persons"),
}
ALIGNED: Beside = {"y": Y, "persons": WHO, "weights": ONES}


@pytest.mark.parametrize("door", DOORS)
def test_another_order_is_refused_and_says_nothing_of_records(door: str) -> None:
    for name in TAKES[door]:
        said = set()
        for values in (ALIGNED[name], ALIGNED[name] * 0):
            with pytest.raises(InvalidDataError, match="index of the records in another order") as caught:
                DOORS[door]({**ALIGNED, name: values.sort_index()})
            said.add(str(caught.value))
        assert len(said) == 1
        with pytest.raises(InvalidDataError, match="another index than the records"):
            DOORS[door]({**ALIGNED, name: ALIGNED[name].set_axis(X.index + 1)})


def test_what_has_no_index_or_the_same_one_is_aligned() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for beside in (Y, Y.copy(), Y.to_numpy(), Y.tolist(), pl.Series(Y.to_numpy()), "age", None):
            check_alignment(X, y=beside)
        check_alignment(X.to_numpy(), y=Y)
        check_alignment(pl.DataFrame(X), y=Y)
        twice = X.set_axis([0] * N)
        check_alignment(twice, y=Y.set_axis([0] * N))


@pytest.mark.parametrize("default", ["records", "target"])
def test_beside_a_default_range_another_index_goes_by_position_with_a_note(default: str) -> None:
    frame = X.reset_index(drop=True) if default == "records" else X
    beside = Y if default == "records" else Y.reset_index(drop=True)
    with pytest.warns(NotAlignedWarning, match="they go by position"):
        check_alignment(frame, y=beside)


def test_a_permutation_of_a_default_range_is_another_order() -> None:
    shuffled = X.reset_index(drop=True).sample(frac=1, random_state=0)
    with pytest.raises(InvalidDataError, match="another order"):
        check_alignment(shuffled, y=Y.reset_index(drop=True))
    check_alignment(shuffled, y=Y.reset_index(drop=True)[shuffled.index])


def test_labels_that_equal_nothing_and_of_several_types_are_compared() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=pd.Index([float("nan"), "x", 3], dtype=object))
    with pytest.raises(InvalidDataError, match="another order"):
        check_alignment(frame, y=pd.Series([1, 2, 3], index=pd.Index(["x", float("nan"), 3], dtype=object)))


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(lambda i: pd.Index(i + 7, dtype="Int64"), id="nullable"),
        pytest.param(lambda i: pd.Index((i + 7).astype(float)), id="floats"),
        pytest.param(lambda i: pd.Index([*map(np.int64, i + 7)], dtype=object), id="objects"),
    ],
)
def test_labels_are_compared_by_value_whatever_the_type_of_the_index(labels: Callable[[Any], pd.Index]) -> None:
    order = np.arange(3)
    frame = pd.DataFrame({"a": order}, index=order + 7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_alignment(frame, y=pd.Series(order, index=labels(order)))
    with pytest.raises(InvalidDataError, match="another order"):
        check_alignment(frame, y=pd.Series(order, index=labels(order[::-1])))


@pytest.mark.parametrize("odd", [pd.NA, None, pd.NaT, [1], {"a": 1}])
def test_labels_that_have_no_truth_value_or_hash_are_compared_as_all_others(odd: object) -> None:
    def index(*labels: object) -> pd.Index:
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
        return pd.Index(array)

    frame = pd.DataFrame({"a": [1, 2]}, index=index("x", odd))
    check_alignment(frame, y=pd.Series([1, 2], index=index("x", odd)))
    with pytest.raises(InvalidDataError, match="another order"):
        check_alignment(frame, y=pd.Series([1, 2], index=index(odd, "x")))
    with pytest.raises(InvalidDataError, match="another index"):
        check_alignment(frame, y=pd.Series([1, 2], index=index("x", "y")))


def test_labels_of_several_records_cannot_be_sorted_by() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=[5, 5, 6])
    with pytest.raises(InvalidDataError, match="another order") as raised:
        check_alignment(frame, y=pd.Series([1, 2, 3], index=[5, 6, 5]))
    assert ".loc" not in str(raised.value)
    assert "a label that no other has" in str(raised.value)
