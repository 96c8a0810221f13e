"""Editing fitted additive estimators: new estimators, the same certificate, no budget."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from glassine import Domain, Integer, Ledger
from glassine.errors import InvalidModelError
from glassine.formats import fingerprint, write_model
from glassine.learners import PrivateEBMClassifier, PrivateEBMRegressor
from tests.formats.reading import read_additive

DOMAIN = Domain({"age": Integer(0, 99), "noise": Integer(0, 99)})
KINDS: tuple[Any, ...] = (PrivateEBMClassifier, PrivateEBMRegressor)


def fitted(kind: Any, seed: int = 0, **more: Any) -> Any:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, (2000, 2))
    public = {"classes": (0, 1)} if kind is PrivateEBMClassifier else {"target_range": (0, 1)}
    return kind(epsilon=1.0, domain=DOMAIN, random_state=seed, **public, **more).fit(X, (X[:, 0] > 60).astype(int))


X = np.array([[5, 50], [95, 50]])


@pytest.mark.parametrize("kind", KINDS)
def test_an_edited_estimator_predicts_with_the_edited_model_and_the_first_stays(kind: Any) -> None:
    model = fitted(kind)
    before = model.predict(X).tolist(), model.model_
    edited = model.with_model(model.edit().monotone("age", "decreasing", reason="a test").set("noise", (0, 2), 0.0))
    assert type(edited) is kind
    assert [edit.action for edit in edited.model_.edits] == ["monotone", "set"]
    low, high = (edited.predict_proba(X)[:, 1] if kind is PrivateEBMClassifier else edited.predict(X)).tolist()
    assert low >= high
    assert (model.predict(X).tolist(), model.model_) == before
    assert edited.certificate_ == model.certificate_
    assert edited.certificate_.model == fingerprint(edited.edit().revert().model)
    back = edited.with_model(edited.edit().revert())
    assert back.predict(X).tolist() == before[0]


@pytest.mark.parametrize("kind", KINDS)
def test_scikit_learn_sees_the_same_parameters(kind: Any) -> None:
    model = fitted(kind)
    edited = model.with_model(model.edit().zero("noise"))
    assert edited.get_params() == model.get_params()
    assert not hasattr(clone(edited), "model_")
    assert set(vars(edited)) == set(vars(model))
    kept = pickle.loads(pickle.dumps(edited))
    assert kept.predict(X).tolist() == edited.predict(X).tolist()
    assert kept.model_ == edited.model_


def test_no_budget_is_spent(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "b.sqlite")
    book.budget("people", 1.0, 1e-6)
    model = fitted(PrivateEBMClassifier, ledger=book, dataset="people")
    model.with_model(model.edit().flatten("age"))
    assert len(book.entries("people")) == 1


def test_an_edited_file_comes_back(tmp_path: Path) -> None:
    model = fitted(PrivateEBMRegressor)
    write_model(model.edit().smooth("age").model, tmp_path / "m.json", overwrite=True)
    edited = model.with_model(read_additive(tmp_path / "m.json"))
    assert len(edited.model_.edits) == 1


def test_what_is_no_edited_form_is_refused() -> None:
    model = fitted(PrivateEBMClassifier)
    other = fitted(PrivateEBMClassifier, seed=1)
    for wrong in (other.model_, other.edit().zero("age"), fitted(PrivateEBMRegressor).model_):
        with pytest.raises(InvalidModelError, match="not an edited form"):
            model.with_model(wrong)
    for wrong in (None, 3, other):
        with pytest.raises(InvalidModelError, match="takes an edited additive model"):
            model.with_model(wrong)
    with pytest.raises(NotFittedError):
        PrivateEBMClassifier().edit()
    with pytest.raises(NotFittedError):
        PrivateEBMRegressor().with_model(model.model_)
