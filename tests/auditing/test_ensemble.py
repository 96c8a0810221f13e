"""Ensembles of trees are judged as a whole: effective leaves, thresholds of all trees, attacks with shadow models."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from glassine import AuditSettings, Domain, Policy, Real, audit, scrub
from glassine.attacks.membership.midpoint import midpoint_attack
from glassine.attacks.outcome import Failed, Measured
from glassine.auditing.audit_settings import MembershipSettings
from glassine.auditing.ensemble import EnsembleSubject
from glassine.auditing.findings import Findings
from glassine.auditing.shadow_ensembles import MOST_TREES, describe_shadows, shadow_ensemble
from glassine.auditing.statements import Statements
from glassine.data.labels import Sample
from glassine.data.record_table import as_table
from glassine.domain import OneOf
from glassine.domain.single import single_sides
from glassine.errors import InvalidDataError, InvalidParameterError, UnsupportedModelError
from glassine.formats import EnsembleFile, as_ensemble, load_judged, write_clean
from glassine.formats.boosted.xgboost import ensemble_from_xgboost
from glassine.formats.canonical import as_written
from glassine.formats.ensembles import common_weight
from glassine.models import Branch, DecisionTree, Evidence, Node, TreeEnsemble
from glassine.models.implied import FIT, advantage_of_parameters
from glassine.report import render_html, render_text
from tests.formats.test_ensembles import FILES, TABLE, N

NAMES = ["x0", "x1", "x2"]
DOMAIN = Domain(dict.fromkeys(NAMES, Real(-10, 10, resolution=1e-6)))


def records(n: int, seed: int, classes: int = 2) -> pd.DataFrame:
    """Return records of three continuous columns and an outcome that they explain in part."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=NAMES)
    score = frame["x0"] + rng.normal(size=n)
    return frame.assign(y=(score > 0).astype(int) + (classes > 2) * (score > 1).astype(int))


def of_file(name: str) -> TreeEnsemble:
    file = load_judged(FILES / name)
    assert isinstance(file, EnsembleFile)
    return file.model


def statuses(findings: Findings) -> dict[str, str]:
    return {check.rule: check.status for check in findings.checks}


def meaning(findings: Findings, rule: str) -> str:
    return next(check.meaning for check in findings.checks if check.rule == rule)


def forest(least: int, n: int = 1_000, trees: int = 20) -> RandomForestClassifier:
    data = records(n, 0)
    return RandomForestClassifier(trees, min_samples_leaf=least, random_state=0).fit(data[NAMES], data["y"])


def test_the_law_has_one_limit_and_a_constant_for_the_kind() -> None:
    ensemble = as_ensemble(forest(20))
    q = ensemble.per_record(1_000)
    assert q == pytest.approx(ensemble.leaves.mean() / 1_000)
    rate = ensemble.base_rate or 0.0
    expected = advantage_of_parameters(q, "ensemble", 4 * rate * (1 - rate))
    finding = audit(forest(20)).value("ensemble")
    assert finding.advantage == pytest.approx(expected, abs=1e-3)
    assert (finding.n_records, finding.n_trees, finding.spread_by) == (1_000, 20, "the base rate")
    assert FIT["ensemble"] == 1.6


@pytest.mark.parametrize(("least", "status"), [(1, "fail"), (20, "fail"), (200, "pass")])
def test_leaves_decide_by_the_file_alone(least: int, status: str) -> None:
    findings = audit(forest(least))
    assert statuses(findings)["largest_advantage"] == status
    assert "effective leaf" in meaning(findings, "largest_advantage")
    # Without records nothing is attacked, and nothing asks for it.
    assert "largest_measured_advantage" not in statuses(findings)


def test_a_rare_outcome_reveals_less() -> None:
    data = records(2_000, 1)
    rare = data.assign(y=(data["x0"] > 2).astype(int))
    made = {
        name: RandomForestClassifier(20, max_leaf_nodes=30, random_state=0).fit(own[NAMES], own["y"])
        for name, own in (("even", data), ("rare", rare))
    }
    found = {name: audit(one).value("ensemble") for name, one in made.items()}
    assert found["rare"].spread < 0.2 < found["even"].spread
    assert found["rare"].advantage < found["even"].advantage


@pytest.mark.parametrize("case", ["three classes", "numbers", "persons", "no number of records"])
def test_what_was_not_calibrated_is_unknown(case: str) -> None:
    data = records(400, 2, 3 if case == "three classes" else 2)
    model: Any = RandomForestClassifier(5, min_samples_leaf=100, random_state=0).fit(data[NAMES], data["y"])
    given: dict[str, Any] = {}
    if case == "numbers":
        model = RandomForestRegressor(5, min_samples_leaf=100, random_state=0).fit(data[NAMES], data["x0"])
    if case == "persons":
        given = {"data": data.assign(who=np.arange(400) // 2), "target": "y", "persons": "who"}
    if case == "no number of records":
        model = load_judged(FILES / "treelite.json")
    findings = audit(model, **given)
    assert statuses(findings)["largest_advantage"] == "unknown"
    assert findings.verdict != "within policy"
    assert findings.value("ensemble").advantage is None


def test_a_bound_passes_and_does_not_fail() -> None:
    file = load_judged(FILES / "treelite.json")
    for n, status in ((N, "unknown"), (10**7, "pass")):
        found = audit(file, settings=AuditSettings(statements=Statements(n_records=n)))
        assert statuses(found)["largest_advantage"] == status


def test_thresholds_of_all_trees_are_judged() -> None:
    deep, extra = forest(1), ExtraTreesClassifier(5, random_state=0).fit(records(300, 3)[NAMES], records(300, 3)["y"])
    assert statuses(audit(deep))["named_by_thresholds"] == "unknown"
    assert statuses(audit(deep, domain=DOMAIN))["named_by_thresholds"] == "fail"
    assert statuses(audit(extra, domain=DOMAIN))["named_by_thresholds"] == "pass"
    cuts = Domain(dict.fromkeys(NAMES, Real(-10, 10, thresholds=(0.0,))))
    data = records(300, 3)
    public = RandomForestClassifier(3, random_state=0).fit(data[NAMES] > 0, data["y"])
    assert audit(public).value("ensemble").n_thresholds == 3
    assert statuses(audit(deep, domain=cuts))["named_by_thresholds"] == "fail"


BOOSTED = {
    "histogram boosting": lambda x, y: HistGradientBoostingClassifier(max_iter=20, early_stopping=False).fit(x, y),
    "histogram boosting behind a scaler": lambda x, y: make_pipeline(
        StandardScaler(), HistGradientBoostingClassifier(max_iter=20, early_stopping=False)
    ).fit(x, y),
    "gradient boosting": lambda x, y: GradientBoostingClassifier(n_estimators=20, max_depth=4).fit(x, y),
}


@pytest.mark.parametrize("kind", BOOSTED)
def test_boosted_trees_with_midpoints_fail_by_thresholds(kind: str) -> None:
    data = records(800, 4)
    findings = audit(BOOSTED[kind](data[NAMES], data["y"]), data, "y")
    assert statuses(findings)["named_by_thresholds"] == "fail"
    assert statuses(findings)["largest_advantage"] == "fail"


@pytest.mark.parametrize("name", ["lightgbm.txt", "xgboost.json"])
def test_thresholds_of_a_file_accuse_members(name: str) -> None:
    ensemble = of_file(name)
    frame = pd.DataFrame(TABLE[:, :3], columns=list(ensemble.attributes))
    truth = np.arange(len(TABLE)) < N
    outcome = midpoint_attack(ensemble, frame, truth=truth, random_state=0)
    assert isinstance(outcome, Measured)
    found = outcome.value
    assert found.n_named > 20
    assert found.precision is not None
    assert found.precision.value > 0.95


def test_values_are_found_where_midpoints_are_not() -> None:
    ensemble = of_file("xgboost.json")
    bounds = np.concatenate(list(ensemble.thresholds.values()))
    single = np.unique(TABLE[:N, :3].astype(np.float32).astype(float))
    sides = [single_sides(bound) for bound in bounds.tolist()]
    assert np.mean([pair is not None and pair[1] in single for pair in sides]) > 0.9


@pytest.mark.slow
def test_shadow_models_belong_to_the_audit_of_a_forest() -> None:
    members, others = records(800, 5), records(800, 6)
    model = RandomForestClassifier(20, min_samples_leaf=3, random_state=0).fit(members[NAMES], members["y"])
    findings = audit(model, members, "y", holdout=others)
    made = {attack.attack: attack for attack in findings.value("membership").attacks}
    assert made["online likelihood-ratio attack"].status == "measured"
    assert statuses(findings)["largest_measured_advantage"] == "fail"
    finding = findings.value("ensemble")
    assert "16 shadow models" in finding.shadows
    assert finding.spread_by == "the holdout"
    assert finding.alone is not None
    page = render_html(findings)
    assert "This alone says nothing" in page
    assert "16 shadow models" in render_text(findings)
    assert findings.public().value("ensemble").alone is None


@pytest.mark.slow
@pytest.mark.parametrize("asked", [MembershipSettings(n_shadows=0), MembershipSettings(seconds=1e-6)])
def test_without_shadow_models_no_forest_passes_by_attacks(asked: MembershipSettings) -> None:
    members, others = records(600, 7), records(600, 8)
    model = RandomForestClassifier(5, min_samples_leaf=200, random_state=0).fit(members[NAMES], members["y"])
    findings = audit(model, members, "y", holdout=others, settings=AuditSettings(membership=asked))
    assert statuses(findings)["largest_measured_advantage"] == "unknown"
    assert "shadow models" in meaning(findings, "largest_measured_advantage")


def test_trees_that_cannot_be_asked_are_unknown_by_attacks() -> None:
    silent = dataclasses.replace(of_file("lightgbm.txt"), scoring=None)
    members = pd.DataFrame(TABLE[:N], columns=[*silent.attributes, "y"])
    others = pd.DataFrame(TABLE[N:], columns=members.columns)
    findings = audit(silent, members, "y", holdout=others)
    assert isinstance(findings.measured["membership"], Failed)
    assert statuses(findings)["largest_measured_advantage"] == "unknown"


def test_shadows_of_a_file_are_of_its_size() -> None:
    ensemble = of_file("lightgbm.txt")
    frame = as_table(pd.DataFrame(TABLE[:N, :3], columns=list(ensemble.attributes)))
    learner = shadow_ensemble(ensemble, frame)[-1]
    assert (learner.max_iter, learner.learning_rate, learner.max_leaf_nodes) == (12, 0.1, 6)
    said = describe_shadows(ensemble, 16)
    assert "histogram boosting of 12 trees with 6 leaves, rate 0.1" in said
    many = as_ensemble(forest(50, 200, MOST_TREES + 5))
    assert shadow_ensemble(many, frame).n_estimators == MOST_TREES
    assert f"each with {MOST_TREES} trees" in describe_shadows(many, 16)


def test_other_records_than_those_of_training_are_noticed() -> None:
    findings = audit(forest(200), records(999, 0), "y", domain=DOMAIN)
    assert statuses(findings)["largest_advantage"] == "unknown"
    assert "another number of records" in meaning(findings, "largest_advantage")


def test_rates_that_the_file_does_not_say_are_stated() -> None:
    bare = dataclasses.replace(of_file("lightgbm.txt"), rate=None, base_rate=None)
    assert statuses(audit(bare))["largest_advantage"] == "unknown"
    assert any("share of the rarer class" in one.text for one in audit(bare).advice)
    settled = AuditSettings(statements=Statements(learning_rate=0.001, base_rate=0.1))
    assert statuses(audit(bare, settings=settled))["largest_advantage"] == "pass"
    for wrong in (Statements(learning_rate=0.5), Statements(base_rate=0.05)):
        with pytest.raises(InvalidParameterError, match="contradicts the file"):
            audit(of_file("lightgbm.txt"), settings=AuditSettings(statements=wrong))
    with pytest.raises(InvalidParameterError, match="averaged"):
        audit(forest(20), settings=AuditSettings(statements=Statements(learning_rate=0.1)))
    with pytest.raises(InvalidParameterError, match=r"at most 0\.5"):
        Statements(base_rate=0.9)


def test_what_no_study_calibrates_asks_for_no_statement() -> None:
    data = records(300, 0, classes=3)
    three = RandomForestClassifier(5, min_samples_leaf=30, random_state=0).fit(data[NAMES], data["y"])
    said = " ".join(one.text for one in audit(three, data, "y").advice)
    assert "Nothing more can be done about this check" in said
    assert "Ask the publisher for the number" not in said


def test_the_smallest_leaf_is_that_of_any_tree() -> None:
    findings = audit(forest(20), policy=Policy(smallest_leaf=30))
    assert statuses(findings)["smallest_leaf"] == "fail"
    assert "leaves of all trees" in meaning(findings, "smallest_leaf")
    assert (
        statuses(audit(load_judged(FILES / "xgboost.json"), policy=Policy(smallest_leaf=5)))["smallest_leaf"]
        == "unknown"
    )


def test_leaves_are_counted_in_the_data_where_the_file_does_not_say_their_sizes() -> None:
    data = pd.DataFrame(TABLE[:N], columns=[*NAMES, "y"])
    file, limits = load_judged(FILES / "xgboost.json"), Policy(smallest_leaf=2)
    assert statuses(audit(file, data, "y", policy=limits))["smallest_leaf"] == "pass"
    # Two records of each of half as many people.
    of_people = audit(file, data, "y", persons=np.arange(N) // 200, policy=Policy(smallest_leaf=3))
    assert "people" in meaning(of_people, "smallest_leaf")
    assert statuses(of_people)["smallest_leaf"] == "fail"
    bagged = dataclasses.replace(as_ensemble(forest(20)), sizes=None)
    assert statuses(audit(bagged, records(1_000, 0), "y", policy=limits))["smallest_leaf"] == "unknown"


def test_outcomes_are_certain_in_deep_forests_and_not_in_scores() -> None:
    assert statuses(audit(forest(1)))["certain_by_membership"] == "fail"
    assert statuses(audit(load_judged(FILES / "xgboost.json")))["certain_by_membership"] == "not applicable"


def test_pure_leaves_were_measured_for_two_classes_alone() -> None:
    data = records(3_000, 2, 3)
    few = RandomForestClassifier(5, min_samples_leaf=40, max_depth=8, random_state=0)
    pure = few.fit(data[NAMES], np.where(data[NAMES[0]] > 1.2, 2, data["y"] % 2))
    figures = as_ensemble(pure)
    assert figures.certain is not None
    assert 0 < figures.certain[0] / figures.certain[1] < 0.04
    check = next(one for one in audit(pure).checks if one.rule == "certain_by_membership")
    assert check.status == "unknown"
    assert "3 classes" in check.meaning
    none = RandomForestClassifier(5, min_samples_leaf=300, random_state=0).fit(data[NAMES], data["y"])
    assert statuses(audit(none))["certain_by_membership"] in ("pass", "not applicable")
    assert statuses(audit(forest(1, trees=3)))["certain_by_membership"] == "fail"


def test_a_file_of_an_ensemble_is_released_as_its_clean_copy(tmp_path: Path) -> None:
    settings = AuditSettings(require_clean_copy=True)
    findings = audit(load_judged(FILES / "xgboost.json"), settings=settings)
    assert statuses(findings)["require_clean_copy"] == "fail"
    assert "Release only a clean copy, which is yet to be written." in " ".join(render_text(findings).split())
    assert "positive outcomes" in " ".join(findings.notes)
    done = audit(write_clean(load_judged(FILES / "xgboost.json"), tmp_path / "clean.json"), settings=settings)
    assert statuses(done)["require_clean_copy"] == "pass"
    again = audit(load_judged(tmp_path / "clean.json"), settings=settings)
    assert statuses(again)["require_clean_copy"] == "pass"
    assert "positive outcomes" not in " ".join(again.notes)


def test_trees_that_predict_in_a_way_that_is_not_read_have_no_clean_copy(tmp_path: Path) -> None:
    text = (FILES / "boosted.pmml").read_text().replace('normalizationMethod="logit"', 'normalizationMethod="cauchit"')
    (tmp_path / "boosted.pmml").write_text(text)
    file = load_judged(tmp_path / "boosted.pmml")
    findings = audit(file, settings=AuditSettings(require_clean_copy=True))
    assert "no clean copy can be written" in " ".join(render_text(findings).split())
    assert any("file that its library writes" in one.text for one in findings.advice)
    with pytest.raises(UnsupportedModelError, match="not read"):
        write_clean(file, tmp_path / "clean.json")


def test_pure_leaves_are_seen_in_shares() -> None:
    deep = dataclasses.replace(as_written(as_ensemble(forest(1))), sizes=None, certain=None)
    assert statuses(audit(deep))["certain_by_membership"] == "unknown"
    scrubbed = scrub(forest(1), DOMAIN).model
    assert statuses(audit(scrubbed))["certain_by_membership"] == "not applicable"


def test_a_scrubbed_forest_names_nobody_by_thresholds() -> None:
    data, fitted = records(1_000, 0), forest(5)
    assert statuses(audit(fitted, data, "y", domain=DOMAIN))["named_by_thresholds"] == "fail"
    done = audit(scrub(fitted, DOMAIN).model, data, "y", domain=DOMAIN)
    assert statuses(done)["named_by_thresholds"] == "pass"


def test_a_pipeline_of_categories_is_audited() -> None:
    data = records(500, 9).assign(town=np.where(np.arange(500) % 3, "a", "b"))
    encoder = ColumnTransformer([("town", OneHotEncoder(), ["town"])], remainder="passthrough")
    model = make_pipeline(encoder, RandomForestClassifier(5, min_samples_leaf=50, random_state=0))
    findings = audit(model.fit(data[[*NAMES, "town"]], data["y"]), data, "y")
    finding = findings.value("ensemble")
    assert finding.n_trees == 5
    assert set(findings.model.attributes) == {*NAMES, "town"}
    assert finding.alone is not None


def test_the_target_is_no_attribute() -> None:
    with pytest.raises(InvalidDataError, match="is an attribute"):
        audit(forest(50), records(1_000, 0), "x0")


def test_numbers_are_attacked_by_their_errors() -> None:
    members, others = records(300, 10), records(300, 11)
    model = RandomForestRegressor(5, random_state=0).fit(members[NAMES], members["x0"] ** 2 + members["y"])
    data, rest = (own.assign(y=own["x0"] ** 2 + own["y"]) for own in (members, others))
    findings = audit(model, data, "y", holdout=rest, settings=AuditSettings(measurements={"membership"}))
    made = {attack.attack: attack.status for attack in findings.value("membership").attacks}
    assert made["best-loss threshold"] == "measured"
    assert made["gap attack"] == "not applicable"


@pytest.mark.slow
def test_membership_alone_can_be_asked_for() -> None:
    members, others = records(300, 12), records(300, 13)
    asked = AuditSettings(measurements={"membership"}, membership=MembershipSettings(n_shadows=0))
    named = audit(forest(5, 300), members, "y", holdout=others, settings=asked)
    sample = audit(
        forest(5, 300), members[NAMES], members["y"], holdout=Sample(others[NAMES], others["y"]), settings=asked
    )
    assert set(statuses(named)) == {"largest_measured_advantage"}
    assert isinstance(sample.measured["membership"], Measured)
    assert EnsembleSubject.measurements[0].name == "membership"


def test_the_page_of_a_file_says_what_it_gives_away(tmp_path: Path) -> None:
    findings = audit(load_judged(FILES / "xgboost.json"))
    page = render_html(findings)
    assert "number of positive outcomes" in page
    assert "Learning rate" in page
    assert findings.model.kind == "ensemble"


@pytest.fixture
def weighted() -> EnsembleFile:
    """Trees of numbers with the same small leaf, of four records that weigh 5 each, as the sums of XGBoost's files."""
    data: Any = json.loads((FILES / "xgboost_counts.json").read_text())
    learner = data["learner"]
    learner["objective"] = {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}
    learner["learner_model_param"]["base_score"], learner["feature_names"] = "0", NAMES
    trees = learner["gradient_booster"]["model"]["trees"]
    for tree in trees:
        tree |= {"left_children": [1, -1, -1], "right_children": [2, -1, -1], "split_indices": [0, 0, 0]}
        tree |= {"split_conditions": [0.5, -0.1, 0.1], "default_left": [0, 0, 0], "split_type": [0, 0, 0]}
        tree |= {"base_weights": [0.0, -1.0, 1.0], "loss_changes": [2.0, 0, 0], "sum_hessian": [3000.0, 2980.0, 20.0]}
        tree |= {"parents": [2**31 - 1, 0, 0]}
    read, file = ensemble_from_xgboost(data), load_judged(FILES / "xgboost_counts.json")
    assert read is not None
    assert isinstance(file, EnsembleFile)
    return dataclasses.replace(file, model=read)


def test_sums_of_weights_of_few_leaves_are_no_records(weighted: EnsembleFile) -> None:
    rows = {"x0": np.repeat([0.0, 1.0], [596, 4]), "x1": np.zeros(600), "x2": np.zeros(600), "y": np.arange(600.0)}

    def found(data: Any = None, **stated: Any) -> str:
        settings = AuditSettings(statements=Statements(**stated))
        target = None if data is None else "y"
        findings = audit(weighted, data, target, policy=Policy(smallest_leaf=10), settings=settings)
        return statuses(findings)["smallest_leaf"]

    # Two sizes that share a factor prove nothing; another number of records than the file's says that they weigh more.
    assert weighted.model.weights == ""
    assert found() == found(n_records=600) == found(n_records=3000) == "unknown"
    assert found(rows, n_records=600) == "fail"
    assert found(unweighted=True) == "pass"


def test_sums_of_weights_of_many_leaves_contradict_that_there_were_none() -> None:
    assert common_weight([[20, 2980], [20, 2980]]) == 1  # what the same leaves say again is no evidence
    tree = DecisionTree(
        nodes=(
            Node(branches=tuple(Branch(OneOf("a", (str(i),)), i + 1) for i in range(8))),
            *(Node(evidence=Evidence(total=5 * (i + 2))) for i in range(8)),
        ),
        attributes=("a",),
        sizes="derived",
    )
    assert statuses(audit(tree, policy=Policy(smallest_leaf=10)))["smallest_leaf"] == "unknown"
    with pytest.raises(InvalidParameterError, match="multiples of 5"):
        audit(tree, settings=AuditSettings(statements=Statements(unweighted=True)))


def test_covers_of_xgboost_may_be_sums_of_weights() -> None:
    file = load_judged(FILES / "xgboost.json")
    assert isinstance(file.model, TreeEnsemble)
    n = file.model.n_records
    assert n is not None
    limits = Policy(largest_advantage=1.0)

    def found(**stated: Any) -> str:
        return statuses(audit(file, policy=limits, settings=AuditSettings(statements=Statements(**stated))))[
            "largest_advantage"
        ]

    assert found() == "unknown"
    assert found(unweighted=True) == found(n_records=n // 2) == "pass"
    assert "number of training records" in " ".join(one.text for one in audit(file, policy=limits).advice)


def test_boosting_on_a_frame_is_applied_without_a_warning() -> None:
    """Its trees were fitted without names, and it hands them what it is given."""
    data = records(600, 20)
    fitted = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(data[NAMES], data["y"])
    assert audit(fitted, data, "y").value("ensemble").alone is not None
