"""Labels outside the declared classes, and declared classes that no record has: one behavior of all classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import glassine
from glassine import Domain
from glassine.errors import InvalidDataError

DOMAIN = Domain.binary(["a", "b"])
PRIVATE: dict[str, Any] = {"domain": DOMAIN, "random_state": 0}
LEAVE_OUT: dict[str, Any] = {
    "private tree": glassine.learners.PrivateTreeClassifier(2, epsilon=5.0, **PRIVATE),
    "private list": glassine.learners.PrivateRuleListClassifier(2, epsilon=5.0, **PRIVATE),
    "private greedy list": glassine.learners.PrivateGreedyRuleListClassifier(2, epsilon=5.0, **PRIVATE),
    "private additive model": glassine.learners.PrivateEBMClassifier(epsilon=5.0, delta=1e-6, **PRIVATE),
    "private summary": glassine.learners.PrivateSummary(epsilon=5.0, **PRIVATE),
}
REFUSE: dict[str, Any] = {
    "optimal tree": glassine.learners.OptimalTreeClassifier(2, domain=DOMAIN),
    "optimal list": glassine.learners.OptimalRuleListClassifier(2, domain=DOMAIN),
    "greedy list": glassine.learners.GreedyRuleListClassifier(2, domain=DOMAIN),
    "multiway tree": glassine.learners.MultiwayTreeClassifier(domain=DOMAIN),
}
EVERY = LEAVE_OUT | REFUSE


def people(n: int = 200) -> tuple[pl.DataFrame, np.ndarray[Any, Any]]:
    X = np.random.default_rng(0).integers(0, 2, (n, 2))
    return pl.DataFrame(X, schema=["a", "b"]), X[:, 0].copy()


@pytest.mark.parametrize("name", EVERY)
def test_a_class_that_no_record_has_stays_a_class(name: str) -> None:
    fitted = EVERY[name].set_params(classes=(0, 1, 2)).fit(*people())
    assert fitted.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", LEAVE_OUT)
def test_a_private_fit_leaves_a_record_of_another_class_out_and_says_nothing_of_it(name: str) -> None:
    X, y = people()
    learner = LEAVE_OUT[name].set_params(classes=(0, 1))
    plain = learner.fit(X, y).certificate_.to_dict()
    more = pl.concat([X, X.head(7)]), np.append(y, [7] * 7)
    other = learner.fit(*more)
    assert other.classes_.tolist() == [0, 1]
    assert {**other.certificate_.to_dict(), "model": None} == {**plain, "model": None}


@pytest.mark.parametrize("name", REFUSE)
def test_a_fit_without_privacy_refuses_it(name: str) -> None:
    X, y = people()
    with pytest.raises(InvalidDataError, match="not one of the declared classes"):
        REFUSE[name].set_params(classes=(0, 1)).fit(X, np.append(y[:-1], 7))
