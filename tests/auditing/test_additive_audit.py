"""The audit of additive models: verdicts, unknowns, guarantees, and what findings show."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest

from glassine import audit as by_default
from glassine import parse_rules
from glassine.attacks.outcome import About, Below
from glassine.auditing.audit_settings import AuditSettings, MembershipSettings
from glassine.auditing.findings import Findings
from glassine.auditing.schema import schema
from glassine.data import infer_domain
from glassine.domain import Category, Domain, Integer, Real
from glassine.errors import InvalidDataError, InvalidDomainError, InvalidModelError, InvalidPolicyError
from glassine.models import AdditiveModel, CategoryBins, Guarantee, NumericBins, Term
from glassine.scrubbing.scrub import scrub
from tests.attacks import test_counts as published
from tests.policies import audit_by_bits as audit
from tests.policies import bits_policy

DOMAIN = Domain({"age": Integer(0, 100, thresholds=(29.5, 49.5)), "job": Category(("clerk", "baker", "cook"))})
NO_BITS = bits_policy(largest_bits_per_record=None)


def term_of(**parts: Any) -> Term:
    """Return a term of plain lists."""
    return Term(**parts)


def model_of(
    cuts: tuple[float, ...] = (29.5, 49.5),
    sizes: Any = (20, 20, 20, 0),
    jobs: Any = (30, 30, 0),
    guarantee: Guarantee | None = None,
) -> AdditiveModel:
    age = term_of(bins=(NumericBins("age", cuts),), scores=np.linspace(-1, 1, len(cuts) + 2), weights=sizes)
    groups = CategoryBins("job", (("clerk",), ("baker", "cook")))
    job = term_of(bins=(groups,), scores=[0.1, -0.1, 0.0], weights=jobs)
    return AdditiveModel(
        attributes=("age", "job"),
        terms=(age, job),
        intercept=(0.2,),
        link="logit",
        classes=("no", "yes"),
        guarantee=guarantee,
    )


def status(findings: Findings) -> dict[str, str]:
    return {check.rule: check.status for check in findings.checks}


def test_the_audit_is_reached_from_glassine_audit() -> None:
    findings = audit(model_of(), domain=DOMAIN)
    assert findings == audit(model_of(), domain=DOMAIN)
    assert findings.model.kind == "additive model"
    assert findings.model.n_records == 60
    assert findings.value("terms") is not None
    assert findings.value("terms").n_bins == 7


def test_large_public_bins_are_within_a_policy_that_asks_for_no_bits() -> None:
    findings = audit(model_of(), domain=DOMAIN, policy=NO_BITS)
    assert (findings.verdict, findings.exit_status) == ("within policy", 0)


def bits_check(findings: Findings) -> Any:
    """Return the check of the bits."""
    return next(check for check in findings.checks if check.rule == "largest_bits_per_record")


def test_large_public_bins_are_within_the_default_policy() -> None:
    findings = audit(model_of(), domain=DOMAIN)
    assert (findings.verdict, findings.exit_status) == ("within policy", 0)
    # Of 60 people 40 are below 50 and 30 are clerks: at least 10 are both.
    assert math.log2(101 / 50 * 3) < bits_check(findings).measured < 3.5


def test_bits_are_judged_like_those_of_other_models() -> None:
    tight = bits_policy(largest_bits_per_record=2)
    assert bits_check(audit(model_of(), domain=DOMAIN, policy=tight)).status == "fail"
    unsized = model_of(sizes=None, jobs=None)
    assert bits_check(audit(unsized, domain=DOMAIN, policy=tight)).status == "unknown", "nobody need be in a bin"
    frame = pl.DataFrame({"age": [60] * 40, "job": ["clerk"] * 40})
    assert bits_check(audit(unsized, domain=DOMAIN, data=frame, policy=tight)).status == "pass"
    young = frame.with_columns(age=pl.lit(40))
    assert bits_check(audit(unsized, domain=DOMAIN, data=young, policy=tight)).status == "fail"
    assert bits_check(audit(model_of())).status == "unknown", "no domain"
    noisy = model_of(guarantee=Guarantee(epsilon=1.0, count_scale=3.0))
    assert bits_check(audit(noisy, domain=DOMAIN)).status == "unknown"
    narrow = Domain({"age": Integer(60, 100), "job": DOMAIN["job"]})
    assert bits_check(audit(model_of(), domain=narrow)).status == "unknown", "the domain contradicts the sizes"
    inferred = infer_domain(pl.DataFrame({"age": [0, 100] * 20, "job": ["clerk", "baker", "cook", "cook"] * 10}))
    assert bits_check(audit(model_of(), domain=inferred)).status == "unknown"


@pytest.mark.parametrize("pairs", [0, 2])
def test_a_scrubbed_machine_of_interpret_passes_and_the_machine_itself_does_not(pairs: int) -> None:
    glassbox = pytest.importorskip("interpret.glassbox")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(0, 101, 500), "job": rng.choice(["clerk", "baker", "cook"], 500)})
    X["size"] = rng.normal(170, 9, 500).round(1)
    y = (X["age"] + rng.normal(0, 20, 500) > 50).astype(int)
    domain = Domain({"age": Integer(0, 100), "job": DOMAIN["job"], "size": Real(100.0, 250.0, resolution=0.1)})
    machine = glassbox.ExplainableBoostingClassifier(
        interactions=pairs, outer_bags=2, max_rounds=20, n_jobs=1, random_state=0
    ).fit(X, y)
    assert audit(machine, domain=domain, data=X).verdict == "outside policy"
    copy = scrub(machine, domain, smallest_leaf=10, data=X).model
    assert isinstance(copy, AdditiveModel)
    assert len(copy.terms) > 2
    assert audit(copy, domain=domain, data=X).verdict == "within policy"
    assert audit(copy, domain=domain).verdict == "inconclusive", "without data the sizes are not known"


@pytest.mark.parametrize("sizes", [(9, 31, 20, 0), (20, 20, 19, 1)])
def test_a_small_bin_breaks_the_policy(sizes: tuple[int, ...]) -> None:
    findings = audit(model_of(sizes=sizes), domain=DOMAIN, policy=NO_BITS)
    assert findings.exit_status == 1
    assert status(findings)["smallest_leaf"] == "fail"
    assert status(findings)["purest_leaf"] == "unknown"
    measured = next(check.measured for check in findings.checks if check.rule == "smallest_leaf")
    assert measured == Below(10)


def test_without_sizes_and_data_nothing_is_known_of_them() -> None:
    assert status(audit(model_of(sizes=None), domain=DOMAIN))["smallest_leaf"] == "unknown"


def test_data_answer_for_sizes_that_are_not_published() -> None:
    age = np.repeat([20, 40, 60], [12, 14, 3])
    frame = pl.DataFrame({"age": age, "job": ["clerk"] * 15 + ["cook"] * 14})
    findings = audit(model_of(sizes=None, jobs=None), domain=DOMAIN, data=frame)
    assert status(findings)["smallest_leaf"] == "fail"
    assert any("counted in the data" in note for note in findings.notes)
    enough = pl.concat([frame] * 4)
    assert status(audit(model_of(sizes=None, jobs=None), domain=DOMAIN, data=enough))["smallest_leaf"] == "pass"


def test_data_that_are_not_the_training_records_leave_it_open() -> None:
    frame = pd.DataFrame({"age": [20] * 30 + [60] * 30, "job": ["clerk", "baker"] * 30})
    findings = audit(model_of(), domain=DOMAIN, data=frame, policy=NO_BITS)
    assert status(findings)["smallest_leaf"] == status(findings)["midpoints"] == "unknown"
    assert any("not the training records" in note for note in findings.notes)


def test_private_cuts_ranges_and_categories_are_counted() -> None:
    model = model_of(cuts=(29.5, 44.0))
    assert status(audit(model, domain=DOMAIN))["thresholds_off_grid"] == "fail"
    assert status(audit(model))["thresholds_off_grid"] == "unknown"
    fewer = Domain({"age": DOMAIN["age"], "job": Category(("clerk", "baker"))})
    assert status(audit(model_of(), domain=fewer))["thresholds_off_grid"] == "fail"
    bounded = replace(model_of(), terms=(term_of(bins=(NumericBins("age", (), bounds=(3, 97)),), scores=[0, 0]),))
    assert status(audit(bounded, domain=DOMAIN))["thresholds_off_grid"] == "fail"


def test_an_inferred_domain_makes_nothing_public() -> None:
    frame = pl.DataFrame({"age": [20, 40, 60] * 20, "job": ["clerk", "baker", "cook"] * 20})
    model = replace(model_of(), terms=(term_of(bins=(NumericBins("age"),), scores=[0, 0], weights=[60, 0]),))
    findings = audit(model, domain=infer_domain(frame), policy=NO_BITS)
    assert status(findings)["thresholds_off_grid"] == "unknown"


def test_midpoints_need_data_unless_the_values_follow_by_arithmetic() -> None:
    assert status(audit(model_of(cuts=(31.0, 44.0))))["midpoints"] == "unknown"
    frame = pl.DataFrame({"age": [30, 32, 56] * 20, "job": ["clerk", "baker", "cook"] * 20})
    assert status(audit(model_of(cuts=(31.0, 44.0)), data=frame))["midpoints"] == "fail"
    chained = term_of(bins=(NumericBins("age", (31.0, 44.0, 58.0), "left", (30, 60)),), scores=[0, 0, 0, 0, 0])
    findings = audit(replace(model_of(), terms=(chained,)))
    assert status(findings)["midpoints"] == "fail"
    assert next(check.measured for check in findings.checks if check.rule == "midpoints") == 4


def test_the_range_of_a_target_is_public_if_the_domain_declares_it() -> None:
    model = replace(model_of(), link="identity", classes=None, target="pay", target_bounds=(11.5, 961.25))
    ages = {name: DOMAIN[name] for name in DOMAIN}
    for pay, ends in (
        (Real(11.5, 961.25), 0),
        (Real(11.5, 1000), 1),
        (Real(11.5, 961.25, inferred=True), 2),
        (None, 2),
    ):
        domain = Domain(ages if pay is None else {**ages, "pay": pay})
        check = next(c for c in audit(model, domain=domain).checks if c.rule == "thresholds_off_grid")
        assert (check.measured, check.status) == (ends, "fail" if ends else "pass")
    declared = replace(model, guarantee=Guarantee(epsilon=1.0))
    assert status(audit(declared, domain=DOMAIN))["thresholds_off_grid"] == "pass"


@pytest.mark.parametrize(
    ("accept", "epsilon", "caveats", "verdict"),
    [
        (True, 1.0, (), "within policy"),
        (True, 3.0, (), "outside policy"),
        (False, 1.0, (), "inconclusive"),
        (True, 1.0, ("seeded: not private",), "outside policy"),
    ],
)
def test_a_guarantee_answers_if_the_policy_accepts_it(
    accept: bool, epsilon: float, caveats: tuple[str, ...], verdict: str
) -> None:
    claim = Guarantee(epsilon=epsilon, count_scale=3.0, caveats=caveats)
    model = model_of(cuts=(28.0, 47.0), sizes=(1, 2, 57, 0), guarantee=claim)
    findings = audit(model, domain=DOMAIN, policy=bits_policy(accept_guarantee=accept))
    assert findings.verdict == verdict
    if verdict == "inconclusive":
        assert status(findings)["thresholds_off_grid"] == "unknown"
    assert findings.value("terms") is not None
    assert all(term.smallest is None for term in findings.value("terms").terms)


def test_an_accepted_guarantee_keeps_true_sizes_out_of_the_findings() -> None:
    model = model_of(guarantee=Guarantee(epsilon=1.0, count_scale=3.0))
    frame = pl.DataFrame({"age": [20] * 59 + [60], "job": ["clerk"] * 60})
    findings = audit(
        model,
        domain=DOMAIN,
        data=frame,
        policy=bits_policy(accept_guarantee=True),
        settings=AuditSettings(show_small_counts=True),
    )
    assert findings.value("terms") is not None
    assert all(term.smallest is None and term.origin is None for term in findings.value("terms").terms)


def test_sizes_without_noise_contradict_a_guarantee() -> None:
    findings = audit(
        model_of(guarantee=Guarantee(epsilon=1.0)), domain=DOMAIN, policy=bits_policy(accept_guarantee=True)
    )
    assert findings.guarantee is not None
    assert findings.guarantee.standing == "does not hold"


MEMBERS = pl.DataFrame({"age": [20, 40, 60] * 20, "job": ["clerk", "baker", "cook"] * 20, "t": ["no", "yes"] * 30})
OTHERS = pl.DataFrame({"age": [25, 80] * 30, "job": ["cook", "baker", "clerk"] * 20, "t": ["no", "yes"] * 30})


def test_membership_is_attacked_by_answers_and_by_counts() -> None:
    policy = bits_policy(largest_attack_advantage=0.5)
    findings = audit(model_of(), domain=DOMAIN, data=MEMBERS, target="t", holdout=OTHERS, policy=policy)
    attacks = {attack.attack: attack.status for attack in findings.value("membership").attacks}
    made = {"gap attack", "best-loss threshold", "black-box attack", "label-only attack", "published-counts attack"}
    assert {name for name, found in attacks.items() if found == "measured"} == made
    judged = next(check for check in findings.checks if check.rule == "largest_attack_advantage")
    assert judged.measured is not None
    assert attacks["midpoint attack"] == "not applicable"


def test_shadow_models_of_an_additive_model_are_additive() -> None:
    settings = AuditSettings(measurements=["membership"], membership=MembershipSettings(n_shadows=4))
    findings = audit(model_of(), domain=DOMAIN, data=MEMBERS, target="t", holdout=OTHERS, settings=settings)
    attacks = {attack.attack: attack for attack in findings.value("membership").attacks}
    assert [attacks[f"{mode} RMIA"].status for mode in ("online", "offline")] == ["measured"] * 2


def test_an_attack_that_beats_a_guarantee_voids_it() -> None:
    # Exact counts of forty attributes, said to be noisy at a small epsilon.
    inside, outside = published.people(published.N, 0), published.people(published.N, 1)
    model = replace(published.model_of(inside), guarantee=Guarantee(epsilon=0.1, count_scale=0.1))
    members, others = (pl.DataFrame(side).with_columns(t=pl.Series([0, 1] * 30)) for side in (inside, outside))
    findings = audit(model, data=members, target="t", holdout=others, policy=bits_policy())
    assert findings.guarantee is not None
    assert findings.guarantee.standing == "does not hold"
    assert any("contradicted by the data" in caveat for caveat in findings.guarantee.caveats)


def test_membership_is_not_attacked_without_a_holdout_or_a_target() -> None:
    for more, reason in (({"target": "t"}, "holdout"), ({"holdout": OTHERS}, "name of the target")):
        findings = audit(model_of(), domain=DOMAIN, data=MEMBERS, **more)
        assert reason in getattr(findings.measured["membership"], "reason", "")


def test_small_counts_are_hidden_and_their_categories_too() -> None:
    model = model_of(jobs=(3, 57, 0), sizes=(2, 38, 20, 0))
    findings = audit(model, domain=DOMAIN)
    assert findings.value("terms") is not None
    told = json.dumps(findings.to_dict())
    assert "hidden 1" in told
    age = next(term for term in findings.value("terms").terms if term.name == "age")
    assert age.smallest == Below(10)
    assert age.shape is not None
    # The bin of two records joins its neighbour before it is drawn.
    assert age.shape.axes[0].cuts == (49.5,)
    shown = audit(model, domain=DOMAIN, settings=AuditSettings(show_small_counts=True))
    assert shown.value("terms") is not None
    assert {term.smallest for term in shown.value("terms").terms} == {2, 3}


@pytest.mark.slow
def test_findings_keep_their_schema() -> None:
    for findings in (audit(model_of(), domain=DOMAIN), audit(model_of(sizes=(1, 1, 58, 0)))):
        plain = json.loads(json.dumps(findings.to_dict()))
        jsonschema.validate(plain, schema())
        assert {term["name"] for term in plain["measured"]["terms"]["terms"]} == {"age", "job"}
    rules = parse_rules("if [a] then [true] ([9 ; 20] examples)\nelse [false] ([30 ; 10] examples)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = json.loads(json.dumps(audit(rules).to_dict()))
    jsonschema.validate(plain, schema())
    assert "terms" not in plain["measured"]


def test_a_sensitive_attribute_is_noted_or_refused() -> None:
    assert any(
        "age: read by age" in note
        for note in audit(model_of(), domain=DOMAIN, settings=AuditSettings(sensitive="age")).notes
    )
    with pytest.raises(InvalidDataError, match="sensitive"):
        audit(model_of(), domain=DOMAIN, settings=AuditSettings(sensitive="income"))


def test_many_classes_pairs_and_constant_models_are_audited() -> None:
    pair = term_of(
        bins=(NumericBins("age", tuple(range(30))), CategoryBins("job", (("a",), ("b",)))),
        scores=np.random.default_rng(0).normal(size=(32, 3, 4)),
    )
    several = AdditiveModel(
        attributes=("age", "job"), terms=(pair,), intercept=(0,) * 4, link="softmax", classes=tuple("wxyz")
    )
    shape = audit(several).value("terms")
    assert shape is not None
    drawn = shape.terms[0].shape
    assert drawn is not None
    assert drawn.outputs == ("w", "x", "y")
    constant = AdditiveModel(attributes=("age",), terms=(), intercept=(0,), link="identity")
    assert status(audit(constant))["thresholds_off_grid"] == "pass"


def test_wrong_input_is_refused() -> None:
    for wrong, error in (
        ({"domain": {"age": 1}}, InvalidDomainError),
        ({"domain": Domain({"age": Integer(0, 9)})}, InvalidModelError),
        ({"policy": {"smallest_leaf": 3}}, InvalidPolicyError),
        ({"data": pl.DataFrame({"age": [], "job": []}, schema={"age": pl.Int64, "job": pl.String})}, InvalidDataError),
        ({"data": pl.DataFrame({"age": [1]})}, InvalidDataError),
    ):
        arguments: dict[str, Any] = dict(wrong)
        with pytest.raises(error):
            audit(model_of(), **arguments)


def test_frames_of_several_kinds_give_one_result() -> None:
    columns = {"age": [20, 40, 60] * 20, "job": ["clerk", "baker", "cook"] * 20}
    found = [
        audit(model_of(), domain=DOMAIN, data=kind(columns)) for kind in (pl.DataFrame, pd.DataFrame, pl.LazyFrame)
    ]
    assert found[0] == found[1] == found[2]


def test_the_drawn_names_of_long_lists_stay_few() -> None:
    many = CategoryBins("job", tuple((f"job {i}",) for i in range(200)))
    term = term_of(bins=(many,), scores=np.arange(201.0))
    model = AdditiveModel(attributes=("job",), terms=(term,), intercept=(0,), link="identity")
    findings = audit(model)
    assert findings.value("terms") is not None
    shape = findings.value("terms").terms[0].shape
    assert shape is not None
    assert len(shape.axes[0].groups or ()) == 64
    assert len(shape.scores[0]) == 65


def test_a_private_learner_is_judged_by_its_guarantee() -> None:
    from glassine.learners.additive.estimators import PrivateEBMClassifier

    rng = np.random.default_rng(0)
    X = pl.DataFrame({"age": rng.integers(0, 101, 600), "job": rng.choice(["clerk", "baker", "cook"], 600)})
    y = (X["age"].to_numpy() > 50).astype(int)
    learner = PrivateEBMClassifier(epsilon=1.0, delta=1e-6, domain=DOMAIN, classes=(0, 1), random_state=0).fit(X, y)
    policy = bits_policy(accept_guarantee=True)
    seeded = audit(learner, domain=DOMAIN, policy=policy)
    assert seeded.guarantee is not None
    assert seeded.guarantee.standing == "does not hold"
    assert seeded.exit_status != 0
    claim = learner.model_.guarantee
    assert claim is not None
    # What the same fit without a seed publishes.
    honest = replace(learner.model_, guarantee=replace(claim, caveats=()))
    found = audit(honest, domain=DOMAIN, policy=policy)
    assert (found.verdict, found.exit_status) == ("within policy", 0)
    assert {check.basis for check in found.checks if check.rule == "smallest_leaf"} == {"guarantee"}
    assert found.value("terms") is not None
    assert all(term.shape is not None and term.shape.low is not None for term in found.value("terms").terms)


def test_bins_count_people_where_persons_are_stated() -> None:
    """Twenty records of four people fill the first bin."""
    ages = [20] * 20 + [40] * 20 + [60] * 20
    frame = pl.DataFrame({"age": ages, "job": (["clerk"] * 30 + ["baker"] * 30), "who": [*range(4)] * 5 + [*range(40)]})
    policy = bits_policy(largest_bits_per_record=None)
    by_record = audit(model_of(), domain=DOMAIN, data=frame, policy=policy)
    by_person = audit(
        model_of(),
        domain=DOMAIN,
        data=frame,
        persons="who",
        policy=policy,
        settings=AuditSettings(show_small_counts=True),
    )
    sizes = [next(c for c in found.checks if c.rule == "smallest_leaf") for found in (by_record, by_person)]
    assert sizes[0].status == "pass"
    assert (sizes[1].status, sizes[1].measured) == ("fail", 4)
    assert "people" in sizes[1].meaning
    assert by_person.value("terms").terms[0].smallest == 4
    assert not any("not the training records" in note for note in by_person.notes)


def test_with_the_records_cuts_that_no_training_value_places_name_nobody() -> None:
    """Of a plain copy of a private model, whose cuts come from a grid and noise; midpoints of values are counted."""
    domain = Domain({"age": Real(0, 100, thresholds=(50.0,)), "job": DOMAIN["job"]})
    ages = np.arange(60) + 0.25
    data = {"age": ages, "job": ["clerk"] * 30 + ["baker"] * 30, "y": ["no", "yes"] * 30}
    for shift, status, named in ((0.1, "pass", 0), (0.5, "fail", About(about=40))):
        model = model_of(tuple(np.arange(20) * 2 + 20.25 + shift), sizes=None, jobs=None)
        alone, found = (
            next(check for check in findings.checks if check.rule == "named_by_thresholds")
            for findings in (by_default(model, domain=domain), by_default(model, data, "y", domain=domain))
        )
        assert (alone.status, alone.measured) == ("fail", About(about=40))
        assert (found.status, found.measured) == (status, named)


@pytest.mark.parametrize("source", ["glassine.PrivateEBMClassifier", "interpret.EBMClassifier"])
def test_a_plain_copy_of_a_private_model_is_sent_back_for_its_guarantee(source: str) -> None:
    copy = replace(model_of((17.3, 61.7), sizes=None, jobs=None), source=source)
    texts = [entry.text for entry in by_default(copy, domain=DOMAIN).advice]
    assert ("released with its certificate" in texts[0]) == source.startswith("glassine.Private")
    assert sum("private additive model" in text for text in texts) == (not source.startswith("glassine.Private"))
