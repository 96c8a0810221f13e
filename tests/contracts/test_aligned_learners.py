"""Contract: what stands beside records (targets, weights, persons, strata) is in their order, for all that take it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import glassine
from glassine import learners
from glassine.data import Sample
from glassine.errors import InvalidDataError, NotAlignedWarning
from glassine.microaggregation.microaggregate import microaggregate
from tests.contracts.test_parameters import ESTIMATORS, names_of
from tests.contracts.test_private_fits import DOMAIN, FITS, PEOPLE, target

N = len(PEOPLE)
INDEX = np.random.default_rng(0).permutation(N) + 100
X = PEOPLE.to_pandas().set_axis(INDEX)
WHO = pd.Series(np.arange(N) // 2, index=INDEX)
WORDS = pd.Series(np.where(X["age"] > 50, "yes", "no"), index=INDEX)
NUMBERS = X["age"] / 10.0
ONES = pd.Series(1.0, index=INDEX)
ORDINARY = [name for name in ESTIMATORS if "epsilon" not in names_of(name)]


def refused(call: Callable[[pd.Series], Any], beside: pd.Series) -> None:
    """Check that a series in another order, or with labels of another kind, is refused before it is used."""
    for changed, said in ((beside.sort_index(), "in another order"), (beside.set_axis(INDEX + 1), "another index")):
        with pytest.raises(InvalidDataError, match=said):
            call(changed)


def by_position(call: Callable[[pd.Series], Any], beside: pd.Series) -> Any:
    """Return what is made of a series with a default range; a note says that it goes by position."""
    with pytest.warns(NotAlignedWarning, match="they go by position"):
        return call(beside.reset_index(drop=True))


@pytest.mark.parametrize("name", FITS)
def test_private_fits_refuse_targets_and_persons_of_another_order(name: str) -> None:
    y = pd.Series(np.asarray(target(FITS[name]())), index=INDEX)
    if name != "explainer, public cells":  # It learns the answers of its black box alone
        refused(lambda one: FITS[name]().fit(X, one), y)
    more = {} if "explainer" in name else {"records_per_person": 2}
    refused(lambda one: FITS[name](**more).fit(X, y, persons=one), WHO)


def test_every_ordinary_learner_is_among_them() -> None:
    assert len(ORDINARY) >= 9
    assert all(hasattr(learners, name) for name in ORDINARY)


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_fits_and_scores_refuse_targets_and_weights_of_another_order(name: str) -> None:
    y = NUMBERS if "Regressor" in name else WORDS

    def made(domain: Any = DOMAIN) -> Any:
        return ESTIMATORS[name](domain=domain)

    for domain in (DOMAIN, None):
        refused(lambda one, domain=domain: made(domain).fit(X, one), y)  # type: ignore[misc]
        refused(lambda one, domain=domain: made(domain).fit(X, y, sample_weight=one), ONES)  # type: ignore[misc]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = made().fit(X, y)
    refused(lambda one: fitted.score(X, one), y)
    refused(lambda one: fitted.score(X, y, sample_weight=one), ONES)
    assert by_position(lambda one: fitted.score(X, one), y) == fitted.score(X, y) == fitted.score(X, y.to_numpy())
    assert fitted.score(X, y, ONES) == pytest.approx(fitted.score(X, y))


@pytest.mark.parametrize("name", ["tree", "regression tree", "additive, boosting", "search over trees"])
def test_scores_of_private_models_refuse_targets_of_another_order(name: str) -> None:
    y = pd.Series(np.asarray(target(FITS[name]())), index=INDEX)
    fitted = FITS[name]().fit(X, y)
    refused(lambda one: fitted.score(X, one), y)


def test_attacks_audits_and_groups_refuse_what_is_of_another_order() -> None:
    model = learners.OptimalTreeClassifier(max_depth=1, domain=DOMAIN).fit(X, WORDS).model_
    assert isinstance(model, glassine.models.DecisionTree)
    refused(lambda one: glassine.infer_sensitive(model, X, truth=one), WORDS)
    refused(lambda one: glassine.attack_membership(model, X, one, holdout=Sample(X, WORDS)), WORDS)
    refused(lambda one: glassine.attack_membership(model, X, WORDS, holdout=Sample(X, one)), WORDS)
    refused(lambda one: glassine.audit(model, X, one, domain=DOMAIN), WORDS)
    refused(lambda one: glassine.audit(model, X, WORDS, domain=DOMAIN, persons=one), WHO)
    refused(lambda one: microaggregate(X, 5, domain=DOMAIN, strata=one), WORDS)
    assert by_position(lambda one: microaggregate(X, 5, domain=DOMAIN, strata=one), WORDS).n_groups > 1


def test_figures_of_an_explainer_refuse_labels_of_another_order() -> None:
    explainer = FITS["explainer, public cells"]().fit(X)
    for figure in (explainer.accuracy, explainer.measures):
        refused(lambda one, figure=figure: figure(X, one), WORDS)  # type: ignore[misc]
