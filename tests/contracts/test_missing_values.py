"""Trees and lists choose where missing values go: learned, published, audited, exported and read back."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glassine
from glassine import Binary, Category, Domain, Integer
from glassine.domain import Between, OneOf
from glassine.errors import UnsupportedModelError
from glassine.formats import load_model, to_onnx, to_pmml, to_python, to_sklearn, to_sql, write_model
from glassine.models import RuleList
from tests.formats.test_onnx import run
from tests.oracles import worlds
from tests.policies import NORM

DOMAIN = Domain(
    {
        "pay": Integer(0, 9, thresholds=(2.5, 6.5), missing=True),
        "job": Category(("clerk", "baker", "pilot"), missing=True),
        "smoker": Binary(missing=True),
    }
)
PUBLIC: dict[str, Any] = {"domain": DOMAIN, "classes": (0, 1), "random_state": 3}
FITS: dict[str, Any] = {
    "private tree": glassine.learners.PrivateTreeClassifier(3, epsilon=20.0, **PUBLIC),
    "private tree of errors": glassine.learners.PrivateTreeClassifier(3, epsilon=20.0, accuracy_share=1.0, **PUBLIC),
    "private numbers": glassine.learners.PrivateTreeRegressor(
        3, epsilon=20.0, domain=DOMAIN, target_range=(0, 1), random_state=3
    ),
    "private list": glassine.learners.PrivateRuleListClassifier(3, epsilon=20.0, **PUBLIC),
    "private greedy list": glassine.learners.PrivateGreedyRuleListClassifier(4, epsilon=50.0, **PUBLIC),
    "optimal tree": glassine.learners.OptimalTreeClassifier(3, domain=DOMAIN, classes=(0, 1)),
    "optimal numbers": glassine.learners.OptimalTreeRegressor(3, domain=DOMAIN, target_range=(0, 1)),
    "optimal list": glassine.learners.OptimalRuleListClassifier(4, domain=DOMAIN, classes=(0, 1)),
    "greedy list": glassine.learners.GreedyRuleListClassifier(4, domain=DOMAIN, classes=(0, 1)),
}


def people(n: int = 1500) -> tuple[pl.DataFrame, np.ndarray[Any, Any]]:
    """Return records, a third of each value missing, and labels that follow missing pay and large pay alike."""
    rng = np.random.default_rng(0)
    gap = rng.random((3, n)) < 1 / 3
    pay = [None if g else int(v) for g, v in zip(gap[0], rng.integers(0, 10, n), strict=True)]
    job = [None if g else str(v) for g, v in zip(gap[1], rng.choice(["clerk", "baker", "pilot"], n), strict=True)]
    smoker = [None if g else int(v) for g, v in zip(gap[2], rng.integers(0, 2, n), strict=True)]
    label = [(p is None or p > 6) and (j is None or j == "clerk") for p, j in zip(pay, job, strict=True)]
    schema = {"pay": pl.Float64, "job": pl.String, "smoker": pl.Float64}
    return pl.DataFrame({"pay": pay, "job": job, "smoker": smoker}, schema=schema), np.array(label) ^ (
        rng.random(n) < 0.05
    )


@pytest.fixture(scope="module", params=FITS)
def fitted(request: pytest.FixtureRequest) -> Any:
    X, y = people()
    return FITS[request.param].fit(X, y.astype(int))


def everyone() -> pl.DataFrame:
    """Return every record of the domain once."""
    return pl.DataFrame(list(worlds.records(DOMAIN, domain_aware=True)), schema=people(1)[0].schema)


def test_every_leaf_and_rule_has_room_for_a_record_without_gaps(fitted: Any) -> None:
    full = everyone().drop_nulls()
    assert set(fitted.model_.apply(full).tolist()) == set(range(len(fitted.model_.cells)))


def test_missing_values_go_where_their_label_is(fitted: Any) -> None:
    X, y = people()
    # With missing pay on the side of smaller pay, or a missing job on that of other jobs, four in five are right.
    found = np.asarray(fitted.predict(X), dtype=float)
    assert ((found > 0.5) == y).mean() > 0.9
    conditions = {str(literal) for literal in fitted.model_.literals}
    assert {"pay > 6.5 or missing", "pay <= 6.5"} & conditions
    assert not any("is missing" in text for text in conditions)


def test_what_is_published_reads_back_and_answers_the_same_everywhere(fitted: Any, tmp_path: Path) -> None:
    X, model = everyone(), fitted.model_
    expected = model.predict(X).tolist()
    write_model(model, tmp_path / "model.json", overwrite=True)
    assert load_model(tmp_path / "model.json") == model
    space: dict[str, Any] = {}
    exec(to_python(model), space)  # noqa: S102 - our own text
    assert [space["predict"](record) for record in X.to_dicts()] == expected
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE records (pay REAL, job TEXT, smoker REAL)")
        connection.executemany("INSERT INTO records VALUES (?, ?, ?)", X.rows())
        assert [row[-1] for row in connection.execute(to_sql(model, "records"))] == pytest.approx(expected)
    answers = run(to_onnx(model, DOMAIN), {name: X[name].to_numpy() for name in DOMAIN})
    assert np.asarray(answers[0], dtype=float).ravel() == pytest.approx(expected, abs=1e-6)
    assert np.asarray(to_sklearn(model, DOMAIN).predict(X.to_pandas())).tolist() == pytest.approx(expected)
    if isinstance(model, RuleList):
        with pytest.raises(UnsupportedModelError):
            to_pmml(model, DOMAIN)
        return
    (tmp_path / "model.pmml").write_text(to_pmml(model, DOMAIN))
    assert load_model(tmp_path / "model.pmml", DOMAIN).predict(X).tolist() == pytest.approx(expected)


def test_a_domain_of_gaps_is_audited_like_any_other(fitted: Any) -> None:
    judged = {check.rule: check.status for check in glassine.audit(fitted.model_, domain=DOMAIN, policy=NORM).checks}
    assert judged["named_by_thresholds"] == "pass"
    private = "epsilon" in fitted.get_params()
    assert judged["smallest_leaf"] == ("unknown" if private else "pass")
    assert ("max_epsilon" in judged) == private


def test_a_condition_on_gaps_alone_is_used_where_it_is_listed() -> None:
    X, y = pl.DataFrame({"pay": [1.0, 5.0, 9.0, None] * 30}), [0, 0, 0, 1] * 30
    domain = Domain({"pay": DOMAIN["pay"]})
    plain = glassine.learners.OptimalTreeClassifier(2, domain=domain).fit(X, y)
    assert plain.objective_ == pytest.approx(1 / 4), "a leaf of missing values alone would make no error"
    for literal in (Between("pay", negated=True, missing=True), OneOf("pay", (), missing=True)):
        asked = glassine.learners.OptimalTreeClassifier(2, domain=domain, literals=[literal]).fit(X, y)
        assert asked.objective_ == 0
        assert {str(one) for one in asked.model_.literals} == {"pay is missing", "pay is not missing"}
