"""Warnings of what is taken from the records name the line of the caller, however deep the learner reads them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Domain, Integer
from glassine.errors import PrivacyLeakWarning
from glassine.learners import (
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateGreedyRuleListClassifier,
    PrivateRuleListClassifier,
    PrivateTreeClassifier,
)
from glassine.learners.budget import CLASSES_FROM_DATA, RANGE_FROM_DATA, REMEDIES, warn_of
from glassine.models.guarantee import DOMAIN_FROM_DATA

X = np.random.default_rng(0).integers(0, 5, (80, 2))
Y = (X[:, 0] > 2).astype(int)
DOMAIN = Domain({"a": Integer(0, 4), "b": Integer(0, 4)})
LEARNERS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "tree": (lambda: PrivateTreeClassifier(1, epsilon=0.1, random_state=0), [CLASSES_FROM_DATA, DOMAIN_FROM_DATA]),
    "rule list": (
        lambda: PrivateRuleListClassifier(1, epsilon=0.1, random_state=0),
        [CLASSES_FROM_DATA, DOMAIN_FROM_DATA],
    ),
    "greedy": (
        lambda: PrivateGreedyRuleListClassifier(1, epsilon=1.0, random_state=0),
        [CLASSES_FROM_DATA, DOMAIN_FROM_DATA],
    ),
    "additive": (
        lambda: PrivateEBMClassifier(epsilon=1.0, algorithm="boosting", random_state=0),
        [CLASSES_FROM_DATA, DOMAIN_FROM_DATA],
    ),
    "regression": (
        lambda: PrivateEBMRegressor(epsilon=1.0, algorithm="boosting", random_state=0),
        [RANGE_FROM_DATA, DOMAIN_FROM_DATA],
    ),
}


def caught(fit: Callable[[], Any]) -> list[tuple[str, str]]:
    """Return the file and the beginning of each warning of a fit."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fit()
    assert all(each.category is PrivacyLeakWarning for each in found)
    return [(each.filename, str(each.message).split(";")[0]) for each in found]


@pytest.mark.parametrize("name", LEARNERS)
def test_a_warning_names_the_line_of_the_caller(name: str) -> None:
    make, caveats = LEARNERS[name]
    assert caught(lambda: make().fit(X, Y)) == [(__file__, caveat) for caveat in caveats]


def test_it_does_for_a_lazy_frame_too() -> None:
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y}).lazy()
    learner = PrivateTreeClassifier(1, epsilon=0.1, domain=DOMAIN, random_state=0)
    assert caught(lambda: learner.fit(frame, "y")) == [(__file__, CLASSES_FROM_DATA)]


def test_every_caveat_has_a_remedy_and_none_warns_of_nothing() -> None:
    assert set(REMEDIES) == {CLASSES_FROM_DATA, DOMAIN_FROM_DATA, RANGE_FROM_DATA}
    assert caught(lambda: warn_of((), DOMAIN)) == []
