"""One audit for every kind of subject: its measurements, what is asked for, and its one result."""

from __future__ import annotations

import json
import re
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import AuditSettings, Domain, as_model, write_model
from glassine.attacks import reconstruct_jointly
from glassine.attacks.outcome import Below, Measured, NotApplicable
from glassine.auditing.additive import AdditiveSubject
from glassine.auditing.api import KINDS
from glassine.auditing.findings import Findings, SeveralSummary
from glassine.auditing.release import ReleaseSubject
from glassine.auditing.schema import MEASURED, schema
from glassine.auditing.several import SeveralSubject
from glassine.auditing.several_models import SeveralModels
from glassine.auditing.subject import Subject
from glassine.auditing.tree_figures import TreeSubject
from glassine.domain import Between, Integer
from glassine.errors import InvalidDomainError, InvalidParameterError, PrivacyLeakWarning
from glassine.formats import load_file
from glassine.formats.sklearn import tree as sklearn_trees
from glassine.models import AdditiveModel, Branch, DecisionTree, Evidence, Guarantee, Node, NumericBins, Term
from glassine.surrogates import SurrogateExplainer
from tests.policies import audit_by_bits as audit
from tests.policies import bits_policy
from tests.surrogates.scenes import numbers, ring

DOMAIN = Domain({"age": Integer(0, 99), "height": Integer(100, 199)})
SUBJECTS: tuple[type[Subject], ...] = (TreeSubject, AdditiveSubject, ReleaseSubject, SeveralSubject)


def stump(name: str, cut: float, left: tuple[int, int], right: tuple[int, int]) -> DecisionTree:
    branches = Branch(Between(name, hi=cut), 1), Branch(Between(name, lo=cut), 2)
    leaves = Node(evidence=Evidence(counts=left)), Node(evidence=Evidence(counts=right))
    return DecisionTree((Node(branches=branches), *leaves), (name,), ("no", "yes"))


FIRST, FAR = stump("age", 40.5, (40, 10), (30, 20)), stump("age", 60.5, (60, 10), (10, 20))
NEAR = stump("age", 41.5, (40, 11), (30, 19))


def additive() -> AdditiveModel:
    age = Term(
        bins=(NumericBins("age", (30.5, 40.5)),),
        scores=np.array([0.1, 0.2, 0.3, 0]),
        weights=np.array([1.0, 20, 20, 0]),
    )
    return AdditiveModel(attributes=("age",), terms=(age,), intercept=(0,), link="identity")


def of_each_kind() -> list[Findings]:
    explainer = SurrogateExplainer(ring, 40, random_state=0).fit(numbers(200))
    return [
        audit(FIRST, domain=DOMAIN),
        audit(additive(), domain=DOMAIN),
        audit(explainer),
        audit([FIRST, FAR], domain=DOMAIN),
    ]


@pytest.mark.slow
def test_every_kind_of_subject_has_the_one_result_of_one_schema() -> None:
    for findings in of_each_kind():
        plain = findings.to_dict()
        jsonschema.validate(json.loads(json.dumps(plain, allow_nan=False)), schema())
        assert plain["subject"]["kind"] in repr(findings) or findings.subject.kind == "several models"
        assert list(plain["measured"]) == list(findings.measured)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_each_measurement_has_a_schema_and_a_name_of_its_own(subject: type[Subject]) -> None:
    names = [measurement.name for measurement in subject.measurements]
    assert len(set(names)) == len(names)
    assert set(names) <= set(MEASURED)
    # Titles are read by people: words, and no name of a class.
    assert all(re.fullmatch("[A-Z][a-z]+( [a-z]+)*", measurement.title) for measurement in subject.measurements)
    assert all(measurement.question.endswith("?") for measurement in subject.measurements)


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_subject_is_where_the_class_of_what_is_published_says(name: str) -> None:
    published, kind = (
        getattr(import_module(place.rpartition(".")[0]), place.rpartition(".")[2]) for place in (name, KINDS[name])
    )
    assert f"{published.__module__}.{published.__qualname__}" == name
    assert issubclass(kind, Subject)


def test_only_what_is_asked_for_is_measured_and_judged() -> None:
    findings = audit(FIRST, domain=DOMAIN, settings=AuditSettings(measurements={"values"}))
    assert list(findings.measured) == ["values"]
    assert {check.rule for check in findings.checks} <= {"thresholds_off_grid", "midpoints"}
    assert isinstance(findings.measured["labels"], NotApplicable)
    assert "not asked" in findings.measured["labels"].reason
    whole = audit(FIRST, domain=DOMAIN)
    assert findings.measured["values"] == whole.measured["values"]
    assert findings.checks == tuple(check for check in whole.checks if check in findings.checks) != ()
    with pytest.raises(InvalidParameterError, match="measurements names 'leaks'"):
        audit(FIRST, domain=DOMAIN, settings=AuditSettings(measurements={"leaks"}))


def test_an_audit_of_nothing_that_is_judged_is_inconclusive() -> None:
    findings = audit(FIRST, domain=DOMAIN, settings=AuditSettings(measurements={"subgroups"}))
    assert (findings.verdict, findings.checks, findings.exit_status) == ("inconclusive", (), 3)


def test_rows_are_rebuilt_on_request_and_never_shown() -> None:
    assert "rows" not in audit(FIRST, domain=DOMAIN).measured
    findings = audit(FIRST, domain=DOMAIN, settings=AuditSettings(measurements={"rows"}))
    rows = findings.value("rows")
    assert (rows.status, rows.n_records, rows.error) == ("drawn", 100, None)
    ages = [10] * 50 + [70] * 50
    data = pl.DataFrame({"age": ages, "height": [150] * 100})
    assert (
        audit(FIRST, domain=DOMAIN, data=data, settings=AuditSettings(measurements={"rows"}))
        .value("rows")
        .error.baseline
        > 0
    )


@pytest.mark.parametrize(
    ("models", "data", "verdict"),
    [
        ((FIRST, FAR), False, "within policy"),
        ((FIRST, NEAR), False, "outside policy"),
        ((FIRST, stump("height", 150.5, (40, 10), (30, 20))), False, "inconclusive"),
    ],
)
def test_several_models_have_a_verdict_in_python(models: tuple[Any, ...], data: bool, verdict: str) -> None:
    findings = audit(models, domain=DOMAIN)
    assert findings.verdict == verdict
    assert isinstance(findings.subject, SeveralSummary)
    assert findings.subject.models == ("model 1", "model 2")
    joint = reconstruct_jointly(models, DOMAIN)
    assert findings.value("joint").bits_alone == joint.bits_alone
    assert findings.value("joint").bits == (joint.bits_per_record.lower, joint.bits_per_record.upper)


def test_what_several_models_pin_down_is_suppressed() -> None:
    hidden, shown = (
        audit([FIRST, NEAR], domain=DOMAIN),
        audit([FIRST, NEAR], domain=DOMAIN, settings=AuditSettings(show_small_counts=True)),
    )
    measured = {check.rule: check.measured for check in hidden.checks}["smallest_intersection"]
    assert measured == Below(10)
    assert {check.rule: check.measured for check in shown.checks}["smallest_intersection"] == 1
    assert hidden.value("joint").n_small_groups == shown.value("joint").n_small_groups > 0


def test_models_that_contradict_each_other_are_inconclusive() -> None:
    other = stump("age", 40.5, (10, 10), (30, 50))
    findings = audit(SeveralModels(models=(FIRST, other), names=("a", "b")), domain=DOMAIN)
    assert findings.verdict == "inconclusive"
    assert findings.value("joint").status == "inconsistent"
    assert any("No dataset meets the counts" in note for note in findings.notes)
    # An audit that is inconclusive says what happened and what to do.
    (advice,) = findings.advice
    assert "trained on different records, or the domain leaves out some of their records" in advice.text
    assert "Widen the domain" in advice.text


def test_an_estimator_in_memory_is_judged_as_it_is_written_and_that_is_told(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(0, 99, 500), "height": rng.integers(100, 200, 500)})
    first, second = (DecisionTreeClassifier(max_depth=d, min_samples_leaf=20).fit(X, X["age"] > 50) for d in (1, 2))
    write_model(as_model(first), tmp_path / "first.json", overwrite=True)
    file = load_file(tmp_path / "first.json", DOMAIN)
    for models, told in (
        (second, True),
        (as_model(second), False),
        (file, False),
        ([as_model(first), as_model(second)], False),
        ([first, second], True),
        ([file, second], True),
    ):
        notes = audit(models, domain=DOMAIN).notes
        assert any("judged as the model that `write_model` writes" in note for note in notes) == told
    second.records_ = X.to_numpy()
    assert audit(second, domain=DOMAIN).checks == audit(as_model(second), domain=DOMAIN).checks


@pytest.mark.parametrize(
    ("domain", "data", "times"), [(None, False, 1), (DOMAIN, False, 1), (DOMAIN, True, 1), (None, True, 2)]
)
def test_a_tree_is_read_once_and_again_only_in_an_inferred_domain(
    domain: Domain | None, data: bool, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame({"age": [20, 30, 40, 50] * 5, "height": [150, 160, 170, 180] * 5})
    fitted = DecisionTreeClassifier(random_state=0).fit(frame, [0, 0, 1, 1] * 5)
    read: list[Any] = []
    arrays = sklearn_trees.TreeArrays

    def counted(estimator: Any) -> Any:
        read.append(estimator)
        return arrays(estimator)

    monkeypatch.setattr(sklearn_trees, "TreeArrays", counted)
    warned: AbstractContextManager[Any] = pytest.warns(PrivacyLeakWarning) if times > 1 else nullcontext()
    with warned:
        findings = audit(fitted, frame if data else None, domain=domain)
    assert read == [fitted] * times
    assert findings.model.n_parts == 2


def test_several_models_need_a_domain() -> None:
    with pytest.raises(InvalidDomainError, match="Pass domain="):
        audit([FIRST, FAR])


def test_an_explainer_and_its_release_with_the_records_have_the_same_findings() -> None:
    X = numbers(200)
    explainer = SurrogateExplainer(ring, 40, random_state=0).fit(X)
    from_file = audit(explainer.release_, data=X)
    assert from_file.value("groups") == audit(explainer).value("groups")
    assert isinstance(from_file.measured["groups"], Measured)
    with pytest.raises(InvalidParameterError, match="holds its own domain"):
        audit(explainer, domain=DOMAIN)


def test_a_policy_of_no_bits_leaves_their_measurement_in_the_findings() -> None:
    findings = audit(FIRST, domain=DOMAIN, policy=bits_policy(largest_bits_per_record=None))
    assert findings.value("reconstruction") is not None


@pytest.mark.parametrize("data", [pl.DataFrame({"height": [150]}), pl.DataFrame({"age": []}, schema={"age": pl.Int64})])
def test_records_that_cannot_be_measured_change_nothing_public_about_a_private_additive_model(
    data: pl.DataFrame,
) -> None:
    model = replace(additive(), guarantee=Guarantee(epsilon=0.5, count_scale=2.0))
    accepting = bits_policy(accept_guarantee=True)
    alone, beside = (audit(model, domain=DOMAIN, data=records, policy=accepting) for records in (None, data))
    assert beside.public().to_dict() == alone.public().to_dict()
    assert beside.holder is not None
    assert any("could not be measured" in note for note in beside.holder.notes)
