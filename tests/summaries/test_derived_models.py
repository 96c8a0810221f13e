"""Every model of a summary does what a direct one does: predict, audit, export, compare; with two classes and three."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Category, Domain, Integer, audit, load_model, write_model
from glassine.comparison.from_summary import compare_models
from glassine.errors import GlassineError, InvalidDataError
from glassine.formats import to_onnx, to_pmml
from glassine.learners import PrivateSummary
from glassine.learners.publishing import probabilities
from glassine.models import AdditiveModel
from glassine.records.reading import read_settled
from tests.formats.test_additive_files import answers
from tests.oracles import worlds
from tests.summaries.people import DOMAIN, people, summary

KINDS = ("tree", "rule_list", "additive", "scorecard")
CASES = [(kind, classes) for classes in (2, 3) for kind in KINDS if (kind, classes) != ("scorecard", 3)]


def model_of(kind: str, classes: int | None) -> Any:
    fitted = summary(classes=classes)
    return fitted.scorecard(max_items=4, max_points=3) if kind == "scorecard" else getattr(fitted, kind)()


@pytest.mark.parametrize(("kind", "classes"), CASES)
def test_it_predicts_its_classes_and_names_its_guarantee(kind: str, classes: int) -> None:
    frame, y = people(n=600, classes=classes, seed=2)
    model = model_of(kind, classes)
    predicted = model.predict(read_settled(frame, DOMAIN))
    # Five rules of one condition need not reach the third class.
    assert {0, 1} <= set(np.unique(predicted)) <= set(range(classes))
    assert (predicted == y).mean() > 0.8
    assert summary(classes=classes).certify(model).holds == summary(classes=classes).certificate_.holds


@pytest.mark.parametrize(("kind", "classes"), CASES)
def test_it_is_audited_as_a_private_model_without_records(kind: str, classes: int) -> None:
    result = audit(model_of(kind, classes), domain=DOMAIN)
    assert result.guarantee is not None
    assert (result.guarantee.epsilon, result.guarantee.delta) == (4.0, 1e-6)


@pytest.mark.parametrize(("kind", "classes"), CASES)
def test_it_is_exported_and_read_back(kind: str, classes: int, tmp_path: Path) -> None:
    model = model_of(kind, classes)
    columns = read_settled(people(n=200, classes=classes, seed=3)[0], DOMAIN)
    write_model(model, tmp_path / "m.json", overwrite=True)
    back = load_model(tmp_path / "m.json")
    assert back == model
    if isinstance(model, AdditiveModel):
        assert isinstance(back, AdditiveModel)
        assert np.allclose(back.predict_proba(columns), model.predict_proba(columns))


def test_missing_values_go_with_either_side_and_never_alone() -> None:
    rng = np.random.default_rng(0)
    pay, job = rng.integers(0, 10, 4000).astype(float), rng.choice(["clerk", "baker", "pilot"], 4000).astype(object)
    pay[rng.random(4000) < 0.3], job[rng.random(4000) < 0.3] = np.nan, None
    frame = pl.DataFrame({"pay": pl.Series(pay).fill_nan(None), "job": job.tolist()})
    y = (~(pay > 4) & ((job == None) | (job == "clerk"))).astype(int)  # noqa: E711 - of each entry
    domain = Domain({"pay": Integer(0, 9, missing=True), "job": Category(("clerk", "baker", "pilot"), missing=True)})
    fitted = PrivateSummary(epsilon=8.0, domain=domain, classes=(0, 1), random_state=0).fit(frame, y)
    full = [record for record in worlds.records(domain, domain_aware=True) if None not in record.values()]
    near = fitted.near_optimal(3, 0.02, bootstrap=2).sample(20)
    models: list[Any] = [fitted.tree(3), fitted.tree(3, "gini"), fitted.tree(3, "errors"), fitted.rule_list(3), *near]
    for model in models:
        held = model.apply(pl.DataFrame(full))
        assert set(held.tolist()) == set(range(len(model.cells))), "each leaf has room for a record without gaps"
        assert (model.predict(frame) == y).mean() > 0.95


def asked(n: int = 300) -> tuple[dict[str, list[Any]], Any]:
    """Return records as they are sent to a runtime, some with missing values, and in the domain."""
    frame = people(n=n, seed=4)[0]
    return frame.to_dict(as_series=False), read_settled(frame, DOMAIN)


def stated(model: Any, columns: Any) -> Any:
    """Return what a model predicts, with probabilities if it is of classes."""
    if model.classes is None or isinstance(model, AdditiveModel):
        return None if model.classes is None else model.predict_proba(columns)
    return probabilities(model)[model.apply(columns)]


@pytest.mark.parametrize(("kind", "classes"), [*CASES, *((kind, None) for kind in KINDS[:3])])
def test_a_runtime_answers_what_the_model_answers(kind: str, classes: int | None) -> None:
    model, (rows, columns) = model_of(kind, classes), asked()
    found = answers(to_onnx(model, DOMAIN), rows)
    predicted = model.predict(columns)
    if classes is None:
        assert np.abs(found[0][:, 0] - predicted).max() < 1e-5 * np.abs(predicted).max()
        return
    assert found[0].tolist() == predicted.tolist()
    assert np.abs(found[1] - stated(model, columns)).max() < 1e-6


@pytest.mark.parametrize(("kind", "classes"), [*CASES, *((kind, None) for kind in KINDS[:3])])
def test_pmml_is_read_back_with_its_predictions(kind: str, classes: int | None, tmp_path: Path) -> None:
    model, (_, columns) = model_of(kind, classes), asked()
    if kind == "rule_list":
        with pytest.raises(GlassineError, match="rule list"):
            to_pmml(model, DOMAIN)
        return
    write_model(model, tmp_path / "m.pmml", to="pmml", domain=DOMAIN, overwrite=True)
    back = load_model(tmp_path / "m.pmml", DOMAIN)
    assert back.predict(columns).tolist() == model.predict(columns).tolist()
    expected = stated(model, columns)
    if isinstance(back, AdditiveModel) and expected is not None:
        assert (back.predict_proba(columns) == expected).all()


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_all_are_compared_without_records(classes: int) -> None:
    rows = compare_models(summary(classes=classes))
    assert {row.model for row in rows} >= {"tree", "rule-list", "additive"}
    assert all(row.estimate is not None and 0.5 < row.estimate.accuracy <= 1 for row in rows)


def test_a_target_of_numbers_is_refused() -> None:
    frame, _ = people(n=200)
    with pytest.raises(InvalidDataError, match="on a regression target"):
        PrivateSummary(epsilon=1.0, domain=DOMAIN).fit(frame, np.linspace(0.0, 1.0, 200))
