"""Every reader of estimators states the attributes in the order of the training columns: the array that was fitted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import skops.io
from imodels import GreedyRuleListClassifier, OneRClassifier
from interpret.glassbox import ExplainableBoostingClassifier
from pystreed import STreeDClassifier, STreeDRegressor
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from glassine import audit
from glassine.cli.main import main
from glassine.domain import Binary, Domain, Real
from glassine.errors import InvalidModelError
from glassine.formats import as_model

RNG = np.random.default_rng(0)
# A column of numbers, one of two values, noise, and one of few values: kinds alternate.
ROWS = np.c_[
    np.round(RNG.normal(0, 2, 400), 1), RNG.integers(0, 2, 400), RNG.normal(0, 1, 400), RNG.integers(0, 4, 400)
].astype(float)
BITS = RNG.integers(0, 2, (400, 4)).astype(float)
TARGET = ((ROWS[:, 0] > 0.5) ^ (ROWS[:, 1] > 0) ^ (ROWS[:, 3] > 2)).astype(int)
OF_BITS = ((BITS[:, 2] > 0) | ((BITS[:, 0] > 0) & (BITS[:, 3] > 0))).astype(int)


def turned(rest: str) -> Any:
    """Return a pipeline that takes the columns in another order, and drops those that are left or keeps them."""
    front = ColumnTransformer([("late", "passthrough", [3, 1]), ("first", StandardScaler(), [0])], remainder=rest)
    return make_pipeline(front, DecisionTreeClassifier(max_depth=4, random_state=0))


def forest_member() -> Any:
    return RandomForestClassifier(1, bootstrap=False, max_depth=4, random_state=0).fit(ROWS, TARGET).estimators_[0]


CASES: dict[str, tuple[Callable[[], Any], Any, Any]] = {
    "tree": (lambda: DecisionTreeClassifier(max_depth=4, random_state=0), ROWS, TARGET),
    "regression tree": (lambda: DecisionTreeRegressor(max_depth=4, random_state=0), ROWS, ROWS[:, 0] * ROWS[:, 3]),
    "extra tree": (lambda: ExtraTreeClassifier(max_depth=4, random_state=0), ROWS, TARGET),
    "scaled": (lambda: make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4)), ROWS, TARGET),
    "turned": (lambda: turned("drop"), ROWS, TARGET),
    "turned, with the rest": (lambda: turned("passthrough"), ROWS, TARGET),
    "search": (lambda: GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [3]}, cv=2), ROWS, TARGET),
    "imodels list": (lambda: GreedyRuleListClassifier(max_depth=4), ROWS, TARGET),
    "imodels OneR": (lambda: OneRClassifier(), ROWS, TARGET),
    "pystreed": (lambda: STreeDClassifier(max_depth=2), ROWS, TARGET),
    "pystreed on bits": (lambda: STreeDClassifier(max_depth=3), BITS, OF_BITS),
    "pystreed regression": (lambda: STreeDRegressor(max_depth=2), ROWS, ROWS[:, 0] * ROWS[:, 1]),
    "EBM": (lambda: ExplainableBoostingClassifier(interactions=0, outer_bags=2, max_rounds=50), ROWS, TARGET),
}


@pytest.mark.parametrize("name", CASES)
def test_a_model_predicts_the_array_that_was_fitted(name: str) -> None:
    make, rows, target = CASES[name]
    estimator = make().fit(rows, target)
    model = as_model(estimator)
    if name != "EBM":
        assert tuple(map(str.lower, model.attributes)) == tuple(f"x{place}" for place in range(rows.shape[1]))
    ours, theirs = model.predict(rows), estimator.predict(rows)
    if np.asarray(theirs).dtype.kind == "f" and not name.startswith("imodels"):
        assert np.allclose(ours.astype(float), theirs)
    else:
        assert (ours == theirs).all()
    assert len(set(np.asarray(ours).tolist())) > 1


def test_a_member_of_a_forest_predicts_the_array() -> None:
    member = forest_member()
    assert (as_model(member).predict(ROWS) == member.predict(ROWS)).all()


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, RandomForestClassifier])
def test_the_target_that_the_domain_declares_is_no_feature(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("a", "b", "c", "d")
    domain = Domain({"ill": Binary(), **{name: Real(-20, 20) for name in names}, "b": Binary()})
    fitted = kind(max_depth=3, random_state=0).fit(ROWS, TARGET)
    records = pl.DataFrame(dict(zip(names, ROWS.T, strict=True))).with_columns(ill=pl.Series(TARGET))
    with pytest.raises(InvalidModelError, match=r"does not name its 4 features.*state the target"):
        audit(fitted, records, domain=domain)
    rest = domain.restrict(names)
    whole, features = (audit(fitted, records, "ill", domain=own) for own in (domain, rest))
    assert whole.checks == features.checks
    domain.to_json(tmp_path / "domain.json")
    skops.io.dump(fitted, tmp_path / "model.skops")
    given = ["glassine", "audit", str(tmp_path / "model.skops"), "--domain", str(tmp_path / "domain.json")]
    for options, statuses in (([], (2,)), (["--target", "ill"], (0, 1, 3))):
        monkeypatch.setattr(sys, "argv", [*given, *options])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code in statuses
