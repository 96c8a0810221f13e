"""Datasets and their relation; what draws outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier

from glassine import Domain
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.learners import PrivateTreeClassifier
from glassine.verification.same_records import check_neighbors, records_of, source_of

X = np.array([[0, 1], [1, 1], [0, 1]])
Y = np.array(["a", "b", "a"])


def test_records_of_every_kind_of_data_set_are_the_same() -> None:
    expected = {((0, 1), "a"): 2, ((1, 1), "b"): 1}
    frame = {"p": X[:, 0], "q": X[:, 1]}
    for table in (X, X.tolist(), X.astype(float), X.astype(object), pl.DataFrame(frame), pd.DataFrame(frame)):
        for labels in (Y, Y.tolist(), pd.Series(Y), pl.Series(Y)):
            assert records_of((table, labels)) == expected
    whole = pl.DataFrame(frame).with_columns(y=pl.Series(Y))
    assert records_of((whole, "y")) == records_of(whole) == {(0, 1, "a"): 2, (1, 1, "b"): 1}
    assert records_of(["u", "v", "u"]) == {"u": 2, "v": 1}
    assert records_of(np.array([1.0, 2.0, 1.0])) == {1.0: 2, 2.0: 1}
    assert records_of(((0, "a"), (1, "b"))) == {(0, "a"): 1, (1, "b"): 1}
    assert records_of(pl.Series([1, 1])) == {1: 2}
    assert records_of([]) == {}


def test_missing_values_are_equal_to_each_other() -> None:
    frame = pl.DataFrame({"p": [1.0, None]})
    assert check_neighbors(([[np.nan]], [0]), ([[np.nan], [np.nan]], [0, 1]), "add-or-remove-one")
    assert check_neighbors(frame, pl.DataFrame({"p": [None, 1.0, None]}), "add-or-remove-one")
    assert records_of(pd.DataFrame({"p": pd.array([1, None], dtype="Int64")})).total() == 2


def test_neighbors_are_told_with_what_differs() -> None:
    assert check_neighbors([1, 2], [2, 1, 3], "add-or-remove-one") == "0 records removed, 1 added"
    assert check_neighbors([1, 2, 2], [2, 1], "add-or-remove-one") == "1 records removed, 0 added"
    assert check_neighbors([1, 2], [2, 3], "replace-one") == "1 records removed, 1 added"


@pytest.mark.parametrize(
    ("d0", "d1", "relation", "message"),
    [
        ([1], [1], "add-or-remove-one", "0 records are in the first alone and 0 in the second"),
        ([1], [1], "replace-one", "0 records"),
        ([1], [1, 2, 3], "add-or-remove-one", "2 in the second alone. Take two"),
        ([1], [1, 2], "replace-one", "1 in the second alone"),
        ([1, 2], [1, 3], "add-or-remove-one", 'relation="replace-one" is for those'),
        (([[0]], [0]), ([[0]], [1]), "add-or-remove-one", "replace-one"),
        (([[0]], [0]), ([[0], [1]], [1, 0]), "add-or-remove-one", "1 records are in the first alone and 2"),
    ],
)
def test_other_pairs_are_refused(d0: Any, d1: Any, relation: Any, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        check_neighbors(d0, d1, relation)


def test_what_holds_no_records_is_refused() -> None:
    for dataset in (5, "text", {"a": [1]}, sparse.eye(2, format="csr")):
        with pytest.raises(InvalidDataError, match="a dataset must"):
            records_of(dataset)
    with pytest.raises(InvalidDataError, match="one length"):
        records_of(([[0]], [0, 1]))
    with pytest.raises(InvalidParameterError, match="relation must be one of"):
        check_neighbors([1], [1, 2], "bounded")  # type: ignore[arg-type]


def test_an_estimator_is_cloned_seeded_and_fitted() -> None:
    tree = PrivateTreeClassifier(1, epsilon=1.0, domain=Domain.binary(["p", "q"]), classes=("a", "b"))
    source = source_of(tree)
    one, same, other = (source.draw((X, Y), seed) for seed in (1, 1, 2))
    assert not hasattr(tree, "model_")
    assert one.random_state == 1
    assert one.model_ == same.model_ != other.model_
    unseeded = source.draw((X, Y), None)
    assert unseeded.certificate_.holds
    tree.random_state = 0
    with pytest.raises(InvalidParameterError, match="all runs would be one"):
        source.draw((X, Y), None)
    assert hasattr(source_of(DummyClassifier()).draw((X, Y), 0), "classes_")
    with pytest.raises(InvalidDataError, match=r"must be a tuple \(X, y\)"):
        source.draw(X, 0)


def test_what_draws_nothing_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="Construct it"):
        source_of(PrivateTreeClassifier)
    with pytest.raises(InvalidParameterError, match="learner must be"):
        source_of(5)
    source = source_of(lambda dataset, seed: (dataset, seed))
    assert source_of(source) is source
    assert source.draw("d", 3) == ("d", 3)
