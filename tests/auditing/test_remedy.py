"""Remedies have words for people without a shell; those that make a copy are tried on the bytes of a model."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import Category, Domain, Integer, Policy, as_model, audit
from glassine.auditing.criterion import Check
from glassine.auditing.facts import Case, Kind
from glassine.auditing.judging import advise
from glassine.auditing.remedy import Remedy, remedy
from glassine.auditing.trying import can_be_tried, remedies_to_try, try_remedy
from glassine.cli.naming import in_commands
from glassine.data import Sample
from glassine.errors import InvalidModelError, InvalidParameterError
from glassine.files import FileContent
from glassine.formats import load_file
from glassine.formats.canonical import written
from glassine.formats.registry import writer

CODE = re.compile(r"`|--|=|\{|[a-z]_[a-z]|\bglassine |Classifier")


@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize("status", ["fail", "unknown"])
@pytest.mark.parametrize("given", [False, True], ids=["model alone", "with data"])
def test_every_remedy_has_words_without_code(kind: Kind, status: Literal["fail", "unknown"], given: bool) -> None:
    checks = tuple(
        Check(rule=criterion.name, limit=1, measured=None, status=status, meaning="") for criterion in Policy().criteria
    )
    advice = advise(Policy(), Case(kind=kind, has_domain=False, has_data=given, retrainable=given), checks)
    for one in advice:
        assert one.plain.endswith(".")
        assert not CODE.search(one.plain), one.plain
        # Whoever reads either wording is asked for the same: no sentence is lost.
        assert one.plain.count(". ") == one.text.count(". "), one.text
        assert bool(one.python) == bool(one.action)
        assert one.command == ""


def test_a_remedy_with_code_but_without_plain_words_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="plain words"):
        remedy("Set `accept_guarantee = true`.")
    with pytest.raises(ValueError, match="plain words"):
        remedy("Train it with {step} instead.", "fit")


def test_a_command_is_beside_the_call_in_python() -> None:
    findings = in_commands(audit(SMALL, domain=DOMAIN, policy=LIMITS), {"model": "tree.json", "domain": "d.toml"})
    one = findings.advice[0]
    assert one.python == "`scrub(model, domain, smallest_leaf=10, counts='remove')`"
    assert one.command.startswith("`glassine scrub tree.json --domain d.toml")
    assert one.step == one.command
    assert one.command in one.text
    assert one.plain.startswith("Merge leaves with fewer than 10 records.")
    plain = findings.to_dict()["advice"][0]
    assert {"plain", "action", "parameters", "python", "command"} <= plain.keys()


# A tree of 200 records, of which a leaf holds four.
AGES = [*range(20, 40)] * 5 + [*range(60, 80)] * 4 + [40] * 4 + [50] * 16
PEOPLE = pl.DataFrame({"age": AGES, "ill": ["yes" if 30 <= age <= 40 or age >= 70 else "no" for age in AGES]})
DOMAIN = Domain({"age": Integer(0, 99, thresholds=(29, 39, 45, 69))})
SMALL = as_model(
    DecisionTreeClassifier(random_state=0, max_depth=6).fit(
        [[age] for age in AGES], ["yes" if age == 40 else "no" for age in AGES]
    ),
    DOMAIN,
)
LIMITS = Policy(smallest_leaf=10, purest_leaf=0.99, thresholds_off_grid=0)
FILE = FileContent(path=Path("tree.json"), data=written(SMALL, writer("json", SMALL)))
MEMBERS = Sample(PEOPLE.with_columns(ill=pl.Series(["yes" if age == 40 else "no" for age in AGES])), "ill")


def test_a_copy_is_tried_on_the_bytes_and_costs_are_for_checkers() -> None:
    before = audit(load_file(FILE, DOMAIN), *(MEMBERS.data, "ill"), domain=DOMAIN, policy=Policy(smallest_leaf=10))
    assert before.verdict == "outside policy"
    (one,) = remedies_to_try(before.advice)
    tried = try_remedy(FILE, one, domain=DOMAIN, members=MEMBERS, policy=Policy(smallest_leaf=10))
    # The four people of age 40 are no leaf of their own any more.
    assert tried.findings.verdict == "within policy"
    assert tried.note.startswith("Tried: within policy; accuracy 100.0% to 98.0%; ")
    assert "; 1 leaf merged." in tried.note
    assert "Measured on the training records." in tried.note
    assert tried.measures["accuracy"]["after"] == pytest.approx(196 / 200)
    # The copy is what would be written, and its verdict is that of an audit of the file.
    again = audit(load_file(tried.file, DOMAIN), MEMBERS.data, "ill", domain=DOMAIN, policy=Policy(smallest_leaf=10))
    assert again.to_dict() == tried.findings.to_dict()
    assert tried.reply == (
        f"A copy with thresholds at public cut points and leaves of at least 10 records, without counts. {one.plain}"
    )


def test_the_reply_does_not_depend_on_the_records() -> None:
    before = audit(load_file(FILE, DOMAIN), domain=DOMAIN, policy=Policy(smallest_leaf=10))
    (one,) = remedies_to_try(before.advice)
    half = Sample(MEMBERS.data.filter(pl.col("age") < 60), "ill")
    tried = [
        try_remedy(FILE, one, domain=DOMAIN, members=members, policy=Policy(smallest_leaf=10))
        for members in (None, MEMBERS, half)
    ]
    assert len({one.note for one in tried}) == 3
    assert len({one.reply for one in tried}) == 1
    assert not re.search(r"\d%|policy", tried[0].reply)


def test_quality_is_measured_on_held_out_records_where_there_are_any() -> None:
    before = audit(load_file(FILE, DOMAIN), domain=DOMAIN, policy=Policy(smallest_leaf=10))
    (one,) = remedies_to_try(before.advice)
    held = Sample(MEMBERS.data.filter(pl.col("age").is_in([40, 50])))
    tried = try_remedy(FILE, one, domain=DOMAIN, members=MEMBERS, holdout=held, policy=Policy(smallest_leaf=10))
    assert "accuracy 100.0% to 80.0%" in tried.note
    assert "Measured on the held-out records." in tried.note


def test_a_clean_copy_is_tried_as_well() -> None:
    dirty = FileContent(path=Path("rules.txt"), data=b"# Ada, 36\nif [age <= 39] then [a]\nelse [b]\n")
    limits = Policy(require_clean_copy=True)
    before = audit(load_file(dirty, DOMAIN), domain=DOMAIN, policy=limits)
    one = next(one for one in remedies_to_try(before.advice) if "clean_copy" in one.parameters)
    tried = try_remedy(dirty, one, domain=DOMAIN, policy=limits)
    assert b"Ada" not in tried.file.data
    assert tried.findings.files[0].canonical
    assert tried.does == "A copy that holds the model and nothing else."


@pytest.mark.parametrize(
    ("one", "domain", "said"),
    [
        (remedy("Pass the training records: {step}.", "audit", data=None), DOMAIN, "no copy can be tried"),
        (remedy("Merge more: {step}.", "scrub", smallest_leaf=None), DOMAIN, "smallest_leaf is for the user to choose"),
        (remedy("Merge small leaves: {step}.", "scrub", smallest_leaf=10), None, "no domain says which"),
    ],
    ids=["no copy", "open parameter", "no domain"],
)
def test_what_cannot_be_tried_is_said(one: Remedy, domain: Domain | None, said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        try_remedy(FILE, one, domain=domain)


def test_a_parameter_that_is_left_to_the_user_can_be_chosen() -> None:
    one = remedy("Merge more: {step}.", "scrub", smallest_leaf=None)
    tried = try_remedy(FILE, one, domain=DOMAIN, chosen={"smallest_leaf": 150})
    assert tried.remedy.parameters == {"smallest_leaf": 150}
    assert tried.findings.model.n_parts == 1


def test_records_of_a_model_with_an_accepted_guarantee_do_not_decide_on_the_copy() -> None:
    from glassine.learners import PrivateTreeClassifier

    domain = Domain({"age": Integer(0, 99, thresholds=tuple(range(9, 99, 10))), "ill": Category(("no", "yes"))})
    model = as_model(
        PrivateTreeClassifier(epsilon=1, max_depth=2, classes=["no", "yes"], domain=domain.restrict(["age"])).fit(
            MEMBERS.data.select("age"), MEMBERS.data["ill"]
        )
    )
    file = FileContent(path=Path("private.json"), data=written(model, writer("json", model)))
    limits = replace(LIMITS, accept_guarantee=True)
    one = remedy("Round thresholds: {step}.", "scrub")
    public = domain.restrict(["age"])
    tried = [
        try_remedy(file, one, domain=public, members=members, policy=limits)
        for members in (MEMBERS, Sample(MEMBERS.data.head(50), "ill"))
    ]
    assert tried[0].file.data == tried[1].file.data
    assert tried[0].findings.public().to_dict() == tried[1].findings.public().to_dict()
    assert not can_be_tried(remedy("Ask."))
    if any(cell.evidence.size is None for cell in model.cells):
        with pytest.raises(InvalidModelError, match="would void its guarantee"):
            try_remedy(file, one, domain=public, members=MEMBERS, policy=limits, chosen={"smallest_leaf": 10})
