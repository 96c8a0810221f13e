"""Searches of scikit-learn around estimators of Glassine: the chosen model, without a guarantee for the choice."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from glassine import Domain, Ledger, Policy, as_model, audit
from glassine.errors import PrivacyLeakWarning, UnsupportedModelError
from glassine.formats import load_file, write_model
from glassine.formats.sklearn.searches import CHOSEN_BY_SCORES
from glassine.learners import OptimalTreeClassifier, PrivateTreeClassifier

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.integers(0, 2, 200), "b": RNG.integers(0, 2, 200)})
LABELS = (FRAME["a"] ^ (RNG.random(200) < 0.2)).to_numpy().astype(int)
DOMAIN = Domain.binary(["a", "b"])


def test_a_search_gives_the_model_that_it_chose() -> None:
    search = GridSearchCV(OptimalTreeClassifier(domain=DOMAIN), {"max_depth": [1, 2]}, cv=2).fit(FRAME, LABELS)
    assert as_model(search) == search.best_estimator_.model_
    assert audit(search, domain=DOMAIN).subject.kind == "decision tree"


def test_a_private_model_that_was_chosen_by_exact_scores_has_no_guarantee(tmp_path: Path) -> None:
    # A ledger adds up all fits, so that no other caveat hides that of the choice.
    book = Ledger(tmp_path / "book.sqlite")
    book.budget("here", 100)
    private = PrivateTreeClassifier(epsilon=0.1, domain=DOMAIN, classes=(0, 1), ledger=book, dataset="here")
    search = GridSearchCV(private, {"max_depth": [1, 2]}, cv=2).fit(FRAME, LABELS)
    alone, chosen = search.best_estimator_.model_.guarantee, as_model(search).guarantee
    assert alone is not None
    assert alone.caveats == ()
    assert chosen is not None
    assert chosen.caveats == (CHOSEN_BY_SCORES,)
    nested = GridSearchCV(GridSearchCV(private, {"max_depth": [1]}, cv=2), {"estimator__epsilon": [0.1]}, cv=2)
    assert as_model(nested.fit(FRAME, LABELS)).guarantee == chosen, "of a search of searches"
    findings = audit(search, domain=DOMAIN, policy=Policy(accept_guarantee=True))
    assert findings.guarantee is not None
    assert findings.guarantee.standing == "does not hold"


def test_of_the_file_of_a_search_only_the_model_is_released(tmp_path: Path) -> None:
    halves = [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))]
    search = GridSearchCV(OptimalTreeClassifier(domain=DOMAIN), {"max_depth": [1, 2]}, cv=halves).fit(FRAME, LABELS)
    (tmp_path / "search.pkl").write_bytes(pickle.dumps(search))
    file = load_file(tmp_path / "search.pkl", trust_pickle=True)
    assert not file.form.canonical
    write_model(file.model, tmp_path / "model.json", overwrite=True)
    assert file.copy == (tmp_path / "model.json").read_bytes(), "without the scores and the splits"


def test_a_warning_of_a_fit_within_a_search_points_at_the_line_of_the_user() -> None:
    search = GridSearchCV(
        PrivateTreeClassifier(epsilon=0.1, domain=DOMAIN, classes=(0, 1), dataset="searched"), {}, cv=2
    )
    with pytest.warns(PrivacyLeakWarning, match="second private fit") as warned:
        search.fit(FRAME, LABELS)
    assert [Path(one.filename).name for one in warned] == [Path(__file__).name]


def test_a_search_over_anything_else_is_refused() -> None:
    search = GridSearchCV(SVC(), {"C": [1.0]}, cv=2).fit(FRAME, LABELS)
    with pytest.raises(UnsupportedModelError, match="GridSearchCV of SVC is not supported"):
        as_model(search)


def test_a_pipeline_may_end_with_another() -> None:
    rows = RNG.normal(0, 1, (200, 2))
    inner = make_pipeline(MinMaxScaler(), make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)))
    search = GridSearchCV(make_pipeline(StandardScaler(), inner), {}, cv=2).fit(rows, rows[:, 0] > rows[:, 1])
    model = as_model(search)
    assert model.predict(rows).tolist() == search.predict(rows).tolist()
