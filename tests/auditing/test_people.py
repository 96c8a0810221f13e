"""Audits by person: where persons are stated, every count is one of people, and membership is judged by person."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import AuditSettings, Category, Domain, Integer, Policy, as_model
from glassine.auditing.schema import schema
from glassine.auditing.several_models import SeveralModels
from glassine.auditing.statements import Statements
from glassine.data import Sample
from glassine.errors import InvalidDataError, InvalidParameterError
from glassine.models import Guarantee
from glassine.report import render_html, render_text
from tests.policies import audit_by_bits as audit
from tests.policies import bits_policy

DOMAIN = Domain({"age": Integer(0, 99), "visits": Integer(0, 9)})
SHOWN = AuditSettings(show_small_counts=True)
SACRO = Policy.named("sacro")


def visits(seed: int = 0, people: int = 60, most: int = 3) -> pl.DataFrame:
    """Return visits: each patient has one to a few rows of about the same values, and one class."""
    rng = np.random.default_rng(seed)
    number = rng.integers(1, most + 1, people)
    who = np.repeat(np.arange(people), number)
    age = np.clip(rng.integers(20, 80, people)[who] + rng.integers(0, 2, len(who)), 0, 99)
    ill = (rng.random(people) < 0.5)[who]
    return pl.DataFrame(
        {"patient": who, "age": age, "visits": number[who], "ill": np.where(ill, "yes", "no")},
    )


def grown(frame: pl.DataFrame, **given: Any) -> DecisionTreeClassifier:
    tree = DecisionTreeClassifier(random_state=0, **given)
    return tree.fit(frame.select("age", "visits").to_pandas(), frame["ill"].to_numpy())


def naive_sizes(tree: Any, frame: pl.DataFrame) -> list[int]:
    """People of each leaf, counted by hand."""
    model = as_model(tree, DOMAIN)
    cells = model.apply({name: frame[name].to_numpy() for name in ("age", "visits")})
    who = frame["patient"].to_list()
    return [len({who[i] for i in np.flatnonzero(cells == cell)}) for cell in range(len(model.cells))]


def parts_of(findings: Any) -> Any:
    return findings.value("parts").parts


def test_a_leaf_of_enough_records_but_of_too_few_people_fails() -> None:
    frame = pl.DataFrame(
        {"patient": [*range(9), 0, 1, *range(20, 40)], "age": [30] * 11 + [60] * 20, "visits": [1] * 31}
    ).with_columns(ill=pl.Series(["yes", "no"] * 15 + ["yes"]))
    tree = grown(frame, max_depth=1)
    policy = bits_policy(purest_leaf=None, largest_bits_per_record=None, thresholds_off_grid=None, midpoints=None)
    by_record = audit(tree, domain=DOMAIN, data=frame, target="ill", policy=policy)
    by_person = audit(tree, domain=DOMAIN, data=frame, target="ill", persons="patient", policy=policy, settings=SHOWN)
    assert [(check.rule, check.status) for check in by_record.checks] == [("smallest_leaf", "pass")]
    check = by_person.checks[0]
    assert (check.rule, check.status, check.measured) == ("smallest_leaf", "fail", 9)
    assert "fewer than 10 people" in check.meaning
    assert [part.size for part in parts_of(by_person)] == [9, 20]


def test_sizes_shares_and_counts_of_leaves_are_of_people() -> None:
    frame = visits()
    tree = grown(frame, max_leaf_nodes=6, min_samples_leaf=5)
    findings = audit(tree, domain=DOMAIN, data=frame, target="ill", persons="patient", settings=SHOWN)
    sizes = naive_sizes(tree, frame)
    model = as_model(tree, DOMAIN)
    cells = model.apply({name: frame[name].to_numpy() for name in ("age", "visits")})
    rows = list(zip(frame["patient"].to_list(), cells.tolist(), frame["ill"].to_list(), strict=True))
    assert [part.size for part in parts_of(findings)] == sizes
    assert sum(sizes) < frame.height
    for i, part in enumerate(parts_of(findings)):
        by_class = tuple(len({who for who, cell, ill in rows if (cell, ill) == (i, name)}) for name in ("no", "yes"))
        assert part.counts == by_class
        assert part.purity == pytest.approx(max(by_class) / sizes[i])
    purest = next(check for check in findings.checks if check.rule == "purest_leaf")
    assert purest.measured == pytest.approx(max(part.purity for part in parts_of(findings)))
    labels = findings.value("labels")
    assert labels.n_records == frame["patient"].n_unique()
    pure = {who for who, cell, _ in rows if parts_of(findings)[cell].purity == 1}
    # A leaf is certain only if it holds one class.
    single = {i for i in range(len(sizes)) if len({ill for _, cell, ill in rows if cell == i}) == 1}
    assert labels.n_certain == len({who for who, cell, _ in rows if cell in single})
    assert pure >= {who for who, cell, _ in rows if cell in single}


def test_degrees_of_freedom_count_each_person_once() -> None:
    """A person with records in both leaves, or of both classes, is one observation."""
    frame = pl.DataFrame({"patient": [*range(20)] * 2, "age": [30] * 20 + [60] * 20, "visits": [1] * 40})
    frame = frame.with_columns(ill=pl.Series(["yes", "no"] * 10 + ["no", "no", "no", "yes"] * 5))
    tree = grown(frame, max_depth=1)
    policy = replace(SACRO, degrees_of_freedom=17)
    by_record, by_person = (
        next(
            check
            for check in audit(tree, domain=DOMAIN, data=frame, target="ill", persons=persons, policy=policy).checks
            if check.rule == "degrees_of_freedom"
        )
        for persons in (None, "patient")
    )
    assert (by_record.status, by_record.measured) == ("pass", 40 - (2 + 2))
    assert (by_person.status, by_person.measured) == ("fail", 20 - (2 + 2))
    assert by_person.meaning.startswith("People less parameters")


def test_records_do_not_settle_limits_on_people_for_whom_a_guarantee_is() -> None:
    frame = pl.DataFrame({"patient": [*range(100)] * 2, "age": [*range(20, 70)] * 4, "visits": [1, 2] * 100})
    frame = frame.with_columns(ill=pl.Series(["yes", "no", "no", "yes", "yes"] * 40))
    model = as_model(grown(frame, max_depth=1, min_samples_leaf=60), DOMAIN)
    claim = Guarantee(epsilon=1.0, count_scale=2.0, neighboring="add-or-remove-one-person", records_per_person=3)
    noisy = replace(model, guarantee=claim)
    given: dict[str, Any] = {"domain": DOMAIN, "data": frame, "target": "ill", "policy": SACRO}

    def statuses(**more: Any) -> set[str]:
        checks = audit(noisy, **given, **more).checks
        return {check.status for check in checks if check.rule not in ("max_epsilon", "content_beside_model")}

    assert statuses() == {"unknown"}
    meaning = audit(noisy, **given).checks[1].meaning
    assert "for people, who may have several records each" in meaning
    # True sizes, which the model does not publish, do not decide while its claim stands.
    assert statuses(persons="patient") == {"unknown"}
    stated = AuditSettings(statements=Statements(one_record_per_person=True))
    assert statuses(settings=stated) == {"unknown"}


def test_one_record_a_person_gives_the_same_findings_as_records() -> None:
    frame = visits(most=1)
    tree = grown(frame, max_leaf_nodes=6)
    given: dict[str, Any] = {
        "data": frame.drop("patient"),
        "target": "ill",
        "settings": replace(SHOWN, sensitive="ill"),
    }
    plain, counted = (
        audit(tree, domain=DOMAIN, persons=persons, **given).to_dict()
        for persons in (None, frame["patient"].to_numpy())
    )
    assert (plain.pop("counted"), counted.pop("counted")) == ("records", "people")
    for check in (*plain["checks"], *counted["checks"]):
        check["meaning"] = check["meaning"].replace("people", "records")
    # The model's classes are those of subgroups of records; people are counted in the column.
    for name in ("subgroups",):
        groups = [
            {(g["value"], g["size"], round(g["bits_mean"], 9)) for g in found["measured"].pop(name)["value"]}
            for found in (plain, counted)
        ]
        assert groups[0] == groups[1]
    assert (plain["measured"]["parts"].pop("counted"), counted["measured"]["parts"].pop("counted")) == (False, True)
    for name in ("labels", "reconstruction"):
        # People are counted in the data, records in the model.
        assert (counted["measured"][name].pop("counted"), plain["measured"][name].pop("counted")) == (True, False)
    assert counted["measured"] == plain["measured"]
    assert counted["checks"] == plain["checks"]


def test_certain_outcomes_and_exposed_records_are_of_people() -> None:
    frame = visits(people=40)
    tree = grown(frame, max_leaf_nodes=8)
    policy = bits_policy(most_certain=5)
    given: dict[str, Any] = {
        "data": frame,
        "target": "ill",
        "policy": policy,
        "settings": replace(SHOWN, sensitive="ill"),
    }
    rows = audit(tree, domain=DOMAIN, **given)
    people = audit(tree, domain=DOMAIN, persons="patient", **given)
    disclosed = people.value("disclosure")
    assert disclosed.number == 40
    assert rows.value("disclosure").number == frame.height
    certain = [finding.value("disclosure").readers[-1].certain for finding in (rows, people)]
    assert certain[1] < certain[0]
    check = next(check for check in people.checks if check.rule == "most_certain")
    assert "people" in check.meaning
    assert check.measured == certain[1]
    who = frame["patient"].to_list()
    for name in ("exposed_rows",):
        listed = [who[row] for row in people.value(name)]
        assert len(set(listed)) == len(listed)
    listed = [who[row] for row in disclosed.exposed]
    assert len(set(listed)) == len(listed)


def test_subgroups_and_the_exposure_curve_are_of_people() -> None:
    frame = visits(people=80).with_columns(sex=pl.col("patient").mod(2).replace_strict({0: "f", 1: "m"}))
    domain = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "sex": Category(("f", "m"))})
    findings = audit(
        grown(frame, max_leaf_nodes=6), domain=domain, data=frame, target="ill", persons="patient", settings=SHOWN
    )
    sizes = {(group.attribute, group.value): group.size for group in findings.value("subgroups")}
    assert sizes["sex", "f"] == sizes["sex", "m"] == 40
    n_ill = frame.filter(pl.col("ill") == "yes")["patient"].n_unique()
    assert sizes["ill", "yes"] == n_ill
    shares = [share * 80 for share, _ in findings.value("reconstruction").exposure_curve]
    assert np.allclose(shares, np.round(shares))


def test_a_category_of_two_records_of_one_person_is_unique() -> None:
    frame = pl.DataFrame(
        {"patient": [0, 0, *range(1, 30)], "town": ["A", "A", *["B"] * 29], "age": [30, 31, *range(40, 69)]}
    ).with_columns(ill=pl.Series(["no"] * 15 + ["yes"] * 16))
    domain = Domain({"town": Category(("A", "B")), "age": Integer(0, 99)})
    tree = DecisionTreeClassifier(max_depth=1).fit(frame.select("age").to_pandas(), frame["ill"].to_numpy())
    lone = [
        audit(tree, domain=domain, data=frame, persons=persons).value("values").lone_categories
        for persons in (None, "patient")
    ]
    assert lone == [(), ("town",)]


def test_people_are_said_only_where_they_are_counted() -> None:
    frame = visits()
    tree = grown(frame, max_leaf_nodes=6)
    for persons, word in ((None, "records"), ("patient", "people")):
        findings = audit(
            tree,
            domain=DOMAIN,
            data=frame.drop("patient") if persons is None else frame,
            target="ill",
            persons=persons,
            settings=AuditSettings(sensitive="ill"),
        )
        assert findings.counted == word
        text, html = render_text(findings), render_html(findings)
        assert word in text
        if persons is None:
            assert "people" not in text.lower()
            # The list of terms is the same on every page.
            assert "people" not in html.split("<main", 1)[-1].split('id="terms"')[0].lower()


@pytest.mark.slow
def test_findings_by_person_keep_the_schema() -> None:
    frame = visits()
    findings = audit(grown(frame), domain=DOMAIN, data=frame, target="ill", persons="patient")
    jsonschema.validate(json.loads(json.dumps(findings.to_dict(), allow_nan=False)), schema())


def test_a_column_like_an_identifier_that_recurs_is_pointed_out() -> None:
    frame = visits()
    tree = grown(frame, max_leaf_nodes=6)
    notes = " ".join(audit(tree, domain=DOMAIN, data=frame, target="ill").notes)
    assert "patient looks like an identifier" in notes
    assert "persons='patient'" in notes
    assert "identifier" not in " ".join(audit(tree, domain=DOMAIN, data=frame, target="ill", persons="patient").notes)
    alone = frame.with_columns(patient=pl.int_range(pl.len()))
    assert "identifier" not in " ".join(audit(tree, domain=DOMAIN, data=alone, target="ill").notes)


def test_people_in_data_and_holdout_are_an_error_with_its_figure() -> None:
    frame = visits()
    tree = grown(frame)
    with pytest.raises(InvalidDataError, match=r"[\d]+ of [\d]+ people of the holdout have records in the data"):
        audit(tree, domain=DOMAIN, data=frame[::2], target="ill", holdout=frame[1::2], persons="patient")


def test_persons_of_one_side_alone_are_refused() -> None:
    frame = visits()
    tree = grown(frame)
    with pytest.raises(InvalidParameterError, match="whose records the holdout are must also be stated"):
        audit(tree, domain=DOMAIN, data=frame, target="ill", holdout=frame, persons=frame["patient"].to_list())
    with pytest.raises(InvalidParameterError, match="none are"):
        audit(tree, domain=DOMAIN, persons="patient")


def test_a_lazy_frame_with_persons_is_read() -> None:
    frame = visits()
    tree = grown(frame, max_leaf_nodes=4)
    both = [
        audit(tree, domain=DOMAIN, data=data, target="ill", persons="patient", settings=SHOWN).to_dict()
        for data in (frame, frame.lazy())
    ]
    assert both[0] == both[1]


def test_the_domain_may_declare_the_column_of_persons() -> None:
    frame = visits()
    domain = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "patient": Integer(0, 10_000)})
    tree = grown(frame, max_leaf_nodes=4)
    found = [audit(tree, domain=d, data=frame, target="ill", persons="patient").to_dict() for d in (domain, DOMAIN)]
    assert found[0] == found[1]


@pytest.mark.parametrize("many", [list, lambda models: SeveralModels(models=tuple(models))])
def test_several_models_are_refused_with_persons_as_they_are_judged_by_records(many: Any) -> None:
    frame = visits()
    models = many([grown(frame), grown(frame, max_depth=1)])
    with pytest.raises(InvalidParameterError, match="persons does not apply to several models") as refused:
        audit(models, domain=DOMAIN, data=frame, persons="patient")
    assert refused.value.remedy == "Leave it out, or audit each model separately."
    with pytest.raises(InvalidParameterError, match="persons does not apply to several models"):
        audit(models, domain=DOMAIN, data=frame, holdout=Sample(frame, persons=frame["patient"].to_list()))
    assert audit(models, domain=DOMAIN, data=frame.drop("patient", "ill")).counted == "records"
