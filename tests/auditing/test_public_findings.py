"""With an accepted guarantee public findings follow from the model alone; what the data add is for the checker only."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

from glassine import AuditSettings, Binary, DecisionTree, Domain, Integer, Policy, audit, render_html, render_text
from glassine.attacks.outcome import Measured
from glassine.auditing.findings import Findings, InputFile
from glassine.auditing.schema import schema
from glassine.data import Sample
from glassine.domain import Between
from glassine.errors import InvalidDataError
from glassine.models import AdditiveModel, Branch, Evidence, Guarantee, Node, NumericBins, Term
from glassine.report.wording import NOTICES
from tests.policies import NORM

DOMAIN = Domain({"age": Integer(0, 99, thresholds=(40.0,)), "sex": Binary()})
ACCEPTING = Policy(accept_guarantee=True)
FEW = pd.DataFrame({"age": [20] * 3 + [50] * 70, "sex": [0] * 73, "ill": ["no"] * 70 + ["yes"] * 3})
MANY = pd.DataFrame({"age": [20] * 40 + [50, 120] * 150, "sex": [1] * 340, "ill": ["yes", "no"] * 170, "town": 3})


def tree(epsilon: float = 1.0, *, counts: bool = True, cut: float = 40.0) -> DecisionTree:
    leaves = (
        [Evidence(counts=(40, 20)), Evidence(counts=(12, 60))] if counts else [Evidence(label=0), Evidence(label=1)]
    )
    nodes = (
        Node(branches=(Branch(Between("age", hi=cut), 1), Branch(Between("age", lo=cut), 2))),
        *(Node(evidence=leaf) for leaf in leaves),
    )
    claim = Guarantee(epsilon=epsilon, count_scale=2.0 if counts else None)
    return DecisionTree(nodes, ("age", "sex"), ("no", "yes"), guarantee=claim)


def shown(findings: Findings) -> tuple[str, str, str, int]:
    public = findings.public()
    assert public.exit_status == findings.exit_status
    plain = json.dumps(public.to_dict(), allow_nan=False)
    return plain, render_html(public), render_text(public), public.exit_status


GIVEN: list[dict[str, Any]] = [
    {},
    {"data": FEW},
    {"data": MANY},
    {"data": FEW, "target": "ill"},
    {"data": MANY, "target": "ill"},
    {"data": MANY[:200], "target": "ill", "holdout": MANY[200:]},
    {"data": FEW, "target": "ill", "holdout": MANY},
    {"data": FEW, "settings": AuditSettings(sensitive="ill")},
    {"data": MANY, "settings": AuditSettings(sensitive="ill", quasi=["age", "town"])},
]


@pytest.mark.slow
@pytest.mark.parametrize("domain", [DOMAIN, None])
@pytest.mark.parametrize("model", [tree(), tree(counts=False), tree(cut=35.0), tree(epsilon=4.0)])
def test_nothing_public_depends_on_the_data(model: DecisionTree, domain: Domain | None) -> None:
    """A guarantee beyond the limits of the policy is no less one: the figures of the data stay out there, too."""
    public: dict[Any, set[Any]] = {}
    for given in GIVEN:
        # The public part is judged without records: that a domain was inferred from them is for the checker, too.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            findings = audit(model, domain=domain, policy=ACCEPTING, **given)
        public.setdefault("settings" in given, set()).add(shown(findings))
        assert (findings.holder is None) == (not given)
        added = findings.holder.notes if findings.holder is not None else ()
        assert any("inferred from the data" in note for note in added) == (domain is None and bool(given))
        assert not any("inferred from the data" in page for page in shown(findings)[:3])
    assert [len(same) for same in public.values()] == [1, 1]


@pytest.mark.parametrize("sensitive", [None, "ill", "sex"])
def test_that_there_is_no_record_is_for_the_checker_only(sensitive: str | None) -> None:
    model = AdditiveModel(
        attributes=("age",),
        terms=(Term(bins=(NumericBins("age", (40.0,)),), scores=np.array([1.0, -1.0, 0.0])),),
        intercept=(0.0,),
        link="logit",
        classes=("no", "yes"),
        guarantee=Guarantee(epsilon=1.0),
    )
    settings = AuditSettings(sensitive=sensitive)
    for published in (tree(), model):
        findings = [
            audit(published, domain=DOMAIN, policy=ACCEPTING, settings=settings, target="ill", data=data)
            for data in (FEW, FEW[:1], FEW[:0])
        ]
        assert len({shown(one) for one in findings}) == 1


@pytest.mark.slow
def test_the_checker_gets_what_the_data_add_and_it_is_marked() -> None:
    few, many = (audit(tree(), domain=DOMAIN, data=data, policy=ACCEPTING) for data in (FEW, MANY))
    for findings, smallest in ((few, "fewer than 10"), (many, "40")):
        text, page = render_text(findings), render_html(findings)
        assert text.startswith(NOTICES["checker"])
        assert NOTICES["checker"].partition("\u201c")[0] in page
        added = text[text.index("What the records add (checker only)\n") :]
        assert " ".join(added.split()).count("not these figures") == 1
        assert f"captures {smallest}." in " ".join(added.split())
        assert "The records change none of the checks." in added
        assert "[pass]" not in added
        assert '<span class="for-checker">checker only</span>' in page
        plain = json.loads(json.dumps(findings.to_dict(), allow_nan=False))
        assert next(iter(plain)) == "audience"
        assert plain["audience"] == "checker"
        assert any(f"captures {smallest}." in note for note in plain["holder"]["notes"])
        jsonschema.validate(plain, schema())
    assert "150 records lie outside the domain" in " ".join(render_text(many).split())
    public = many.public()
    for said in (render_text(public), render_html(public)):
        assert NOTICES["public"] in said
        assert "checker only\u201d" not in said
        assert "outside the domain" not in said
    plain = json.loads(json.dumps(public.to_dict(), allow_nan=False))
    assert (plain["audience"], plain["holder"]) == ("public", None)
    jsonschema.validate(plain, schema())


@pytest.mark.slow
def test_what_is_for_the_checker_is_left_out_of_the_public_report_of_any_model() -> None:
    """The verdict of a model without a guarantee may rest on records; their figures, notes and files are left out."""
    exact = replace(tree(), guarantee=None)
    bare = replace(exact, nodes=(exact.nodes[0], *(replace(n, evidence=Evidence(label=0)) for n in exact.nodes[1:])))
    given: dict[str, Any] = {"target": "ill", "holdout": MANY[200:], "settings": AuditSettings(sensitive="ill")}
    whole = audit(bare, domain=DOMAIN, data=MANY[:200], **given)
    whole = replace(whole, inputs=(InputFile(role="model", name="m", sha256="0"), InputFile(role="data", name="d")))
    public = whole.public()
    assert (public.verdict, public.checks) == (whole.verdict, whole.checks)
    made = {name for name, outcome in whole.measured.items() if isinstance(outcome, Measured)}
    assert made > {"membership", "exposed_rows", "subgroups", "alignment", "values", "parts"}
    assert public.measured.for_checker == frozenset()
    assert not {"membership", "exposed_rows", "subgroups", "alignment", "disclosure"} & set(public.measured)
    assert [part.size for part in whole.value("parts").parts] != [None, None]
    assert [part.size for part in public.value("parts").parts] == [None, None]
    assert whole.value("values").n_midpoints is not None
    assert public.value("values").n_midpoints is None
    assert any("outside the domain" in note for note in whole.notes)
    assert not any("outside the domain" in note for note in public.notes)
    assert [file.role for file in public.inputs] == ["model"]
    text = render_text(whole)
    assert "(checker only)" in text
    assert "(checker only)" not in render_text(public)
    jsonschema.validate(json.loads(json.dumps(public.to_dict())), schema())


def test_without_an_accepted_guarantee_sizes_are_unknown_and_a_note_says_what_is_not_covered() -> None:
    findings = audit(tree(), domain=DOMAIN, data=FEW, policy=NORM)
    assert findings.holder is None
    assert any("covers what is published, not these" in note for note in findings.notes)
    assert [check.status for check in findings.checks if check.rule == "smallest_leaf"] == ["unknown"]


def test_a_sensitive_attribute_that_nothing_has_is_refused() -> None:
    ways: list[dict[str, Any]] = [{}, {"data": FEW}]
    for given in ways:
        with pytest.raises(InvalidDataError, match="neither in the domain nor a column"):
            audit(tree(), domain=DOMAIN, policy=ACCEPTING, settings=AuditSettings(sensitive="town"), **given)


def test_additive_models_are_no_exception() -> None:
    age = Term(bins=(NumericBins("age", (40.0,)),), scores=np.array([0.1, -0.2, 0.0]))
    claim = Guarantee(epsilon=1.0)
    model = AdditiveModel(attributes=("age",), terms=(age,), intercept=(0,), link="identity", guarantee=claim)
    ways: list[dict[str, Any]] = [{}, {"data": FEW}, {"data": MANY}, {"data": FEW, "holdout": MANY}]
    found = [audit(model, domain=DOMAIN, policy=ACCEPTING, **given) for given in ways]
    assert found[0].guarantee is not None
    assert found[0].guarantee.standing == "accepted"
    assert len({shown(findings) for findings in found}) == 1
    holder = found[2].holder
    assert holder is not None
    assert "The smallest bin that holds any record of the data holds 40." in holder.notes
    assert any("outside the domain" in note for note in holder.notes)


def test_that_records_cannot_be_measured_is_for_the_checker_only() -> None:
    data = FEW.drop(columns="age")
    alone = audit(tree(), domain=DOMAIN, policy=ACCEPTING)
    found = audit(tree(), domain=DOMAIN, data=data, policy=ACCEPTING)
    assert shown(found) == shown(alone)
    assert found.holder is not None
    (note,) = (note for note in found.holder.notes if note.startswith("The records could not be measured: "))
    for page in shown(found)[:3]:
        assert note not in page
    # Where the policy does not accept the claim, it is an error as for any other model.
    with pytest.raises(InvalidDataError):
        audit(tree(), domain=DOMAIN, data=data)


@pytest.mark.parametrize(
    ("cell", "reason"), [("ancient", "texts that are no number"), (np.nan, "missing")], ids=["a text", "a gap"]
)
def test_a_record_that_the_domain_does_not_describe_is_counted(cell: object, reason: str) -> None:
    """No record is refused, and what depends on it is for the checker only."""
    alone = audit(tree(), domain=DOMAIN, policy=ACCEPTING)
    data = FEW.assign(age=pd.Series([cell, *[20] * 72], dtype=object))
    found = audit(tree(), domain=DOMAIN, data=data, policy=ACCEPTING)
    assert shown(found) == shown(alone)
    assert found.holder is not None
    said = f"age: fewer than 10 records lie outside the domain, which declares 0 to 99: {reason}."
    assert said in found.holder.notes
    open_ = audit(tree(), domain=DOMAIN, data=data)
    assert said in open_.notes
    assert open_.advice[0].text.startswith("Recode age in the records as the domain declares")
    assert "ancient" not in render_text(open_)


@pytest.mark.slow
def test_that_people_are_on_both_sides_is_for_the_checker_only() -> None:
    def audited(others: range, policy: Policy = ACCEPTING) -> Findings:
        sides = [pd.DataFrame({"age": [50] * 9, "ill": ["no"] * 9, "who": list(who)}) for who in (range(9), others)]
        data, holdout = sides[0], Sample(sides[1], persons="who")
        return audit(tree(), data, "ill", domain=DOMAIN, persons="who", holdout=holdout, policy=policy)

    apart, shared = audited(range(9, 18)), audited(range(4, 13))
    assert shown(apart) == shown(shared)
    assert shared.holder is not None
    assert any("5 of 9 people of the holdout" in note for note in shared.holder.notes)
    with pytest.raises(InvalidDataError, match="records in the data too"):
        audited(range(4, 13), Policy())


@pytest.mark.parametrize("persons", [None, "person"])
def test_reconstruction_and_labels_counted_in_the_data_are_for_the_checker(persons: str | None) -> None:
    rng = np.random.default_rng(0)
    domain = Domain({"age": Integer(0, 9, thresholds=(4,))})

    def published(n: int) -> dict[str, Any]:
        age = rng.integers(0, 10, n)
        frame = pd.DataFrame({"age": age, "ill": np.where(age > 4, "yes", "no"), "person": np.arange(n) // 2})
        nodes = (
            Node(branches=(Branch(Between("age", hi=4.0), 1), Branch(Between("age", lo=4.0), 2))),
            Node(evidence=Evidence(label=0, counts=None if persons is None else (60, 0))),
            Node(evidence=Evidence(label=1, counts=None if persons is None else (0, 50))),
        )
        tree = DecisionTree(nodes, ("age",), classes=("no", "yes"))
        given = frame if persons is not None else frame.drop(columns="person")
        found = audit(tree, given, "ill", domain=domain, persons=persons)
        assert isinstance(found.measured["reconstruction"], Measured)
        measured: dict[str, Any] = found.public().to_dict()["measured"]
        return {name: measured.get(name) for name in ("reconstruction", "labels")}

    assert published(110) == published(60)


@pytest.mark.parametrize("declared", ["nothing", "inferred", "declared", "other ends"])
def test_the_ends_of_a_shape_function_are_shown_where_a_domain_declares_them(declared: str) -> None:
    """An ordinary additive model publishes its extremes: the values of one or two people."""
    bins = NumericBins("income", (3000.0,), bounds=(1000.0, 98765.0))
    model = AdditiveModel(
        attributes=("income",),
        terms=(Term(bins=(bins,), scores=np.array([[-1.0], [1.0], [0.0]]), weights=np.array([200.0, 200.0, 0.0])),),
        intercept=(0.0,),
        link="logit",
        classes=("no", "yes"),
    )
    domains = {
        "nothing": None,
        "inferred": Domain({"income": Integer(1000, 98765, inferred=True)}),
        "declared": Domain({"income": Integer(1000, 98765)}),
        "other ends": Domain({"income": Integer(0, 100000)}),
    }
    findings = audit(model, domain=domains[declared])
    shows = declared == "declared"
    assert (findings.public().value("terms").terms[0].shape.axes[0].bounds is not None) == shows
    plain, page, text, _ = shown(findings)
    assert ("98760.0" in plain) == shows
    assert shows or "987" not in (page + text).replace(",", "")
    exact = audit(model, domain=domains[declared], settings=AuditSettings(show_small_counts=True))
    assert exact.value("terms").terms[0].shape.axes[0].bounds == (1000.0, 98760.0)
