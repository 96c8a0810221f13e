"""Rule sets and scorecards of PMML."""

from __future__ import annotations

import numpy as np
import pytest

from glassine.domain import Category, Domain, Integer, Real
from glassine.errors import GlassineError, UnsupportedModelError
from glassine.formats import load_model
from glassine.models import AdditiveModel, RuleList

HEAD = (
    '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>'
    '<DataField name="age" optype="continuous" dataType="integer"/>'
    '<DataField name="job" optype="categorical" dataType="string"/>'
    '<DataField name="y" optype="categorical" dataType="string"/></DataDictionary>'
)
SCHEMA = (
    '<MiningSchema><MiningField name="age"/><MiningField name="job"/><MiningField name="y" usageType="target"/>'
    "</MiningSchema>"
)
OLD = '<SimplePredicate field="age" operator="greaterThan" value="60"/>'
CLERK = '<SimplePredicate field="job" operator="equal" value="clerk"/>'
GONE = '<SimplePredicate field="{0}" operator="isMissing"/>'
RULES = (
    f'{HEAD}<RuleSetModel functionName="classification">{SCHEMA}<RuleSet defaultScore="no" recordCount="50">'
    '<RuleSelectionMethod criterion="firstHit"/>'
    f'<SimpleRule score="yes" recordCount="7"><CompoundPredicate booleanOperator="or">{OLD}{CLERK}</CompoundPredicate>'
    f"</SimpleRule><CompoundRule>{GONE.format('job')}<SimpleRule score='odd'>{OLD.replace('60', '40')}</SimpleRule>"
    "</CompoundRule></RuleSet></RuleSetModel></PMML>"
)
CARD = (
    f'{HEAD}<Scorecard functionName="regression" initialScore="5" useReasonCodes="true">{SCHEMA}<Characteristics>'
    '<Characteristic name="years" reasonCode="R1" baselineScore="1">'
    f'<Attribute partialScore="-1">{GONE.format("age")}</Attribute><Attribute partialScore="10">{OLD}</Attribute>'
    '<Attribute partialScore="20"><True/></Attribute></Characteristic>'
    '<Characteristic name="work">'
    f'<Attribute partialScore="3"><CompoundPredicate booleanOperator="and">{CLERK}{OLD}</CompoundPredicate></Attribute>'
    f'<Attribute partialScore="2">{CLERK}</Attribute><Attribute partialScore="0"><True/></Attribute></Characteristic>'
    "</Characteristics></Scorecard></PMML>"
)
PEOPLE = {
    "age": np.array([70, 50, 50, 70, np.nan]),
    "job": np.array(["cook", "clerk", None, None, "clerk"], dtype=object),
}


def read(text: str, tmp_path: object, domain: Domain | None = None) -> RuleList | AdditiveModel:
    path = tmp_path / "model.pmml"  # type: ignore[operator]
    path.write_text(text)
    model = load_model(path, domain)
    assert isinstance(model, RuleList | AdditiveModel)
    return model


def test_the_first_rule_that_holds_decides(tmp_path: object) -> None:
    rules = read(RULES, tmp_path)
    assert isinstance(rules, RuleList)
    assert [str(cell) for cell in rules.cells] == [
        "age > 60",
        "job = clerk",
        "job is missing and age > 40",
        "otherwise",
    ]
    assert rules.predict(PEOPLE).tolist() == ["yes", "yes", "odd", "yes", "yes"]
    # Whether a rule's recordCount holds records that earlier rules captured is not said.
    assert {cell.evidence.size for cell in rules.cells} == {None}


def test_a_card_adds_the_first_attribute_that_holds(tmp_path: object) -> None:
    card = read(CARD, tmp_path)
    assert isinstance(card, AdditiveModel)
    assert [term.name for term in card.terms] == ["age", "job & age"]
    assert card.predict(PEOPLE).tolist() == [5 + 10 + 0, 5 + 20 + 2, 5 + 20 + 0, 5 + 10 + 0, 5 - 1 + 2]


def test_values_without_points_are_refused(tmp_path: object) -> None:
    text = CARD.replace('<Attribute partialScore="20"><True/></Attribute>', "")
    with pytest.raises(UnsupportedModelError, match=r"'years' holds for some values of age.*Give a domain"):
        read(text, tmp_path)
    old = Domain({"age": Integer(61, 99), "job": Category(("clerk", "cook"))})
    assert read(text, tmp_path, old).predict(PEOPLE | {"age": np.full(5, 70)}).tolist() == [15, 18, 15, 15, 18]


def test_invalid_values_have_no_prediction(tmp_path: object) -> None:
    field = '<DataField name="age" optype="continuous" dataType="integer"'
    text = RULES.replace(
        f"{field}/>", f'{field}><Interval closure="closedClosed" leftMargin="0" rightMargin="65"/></DataField>'
    )
    domain = Domain({"age": Real(0, 99, missing=True), "job": Category(("clerk", "cook"), missing=True)})
    assert read(text, tmp_path, domain).predict(PEOPLE).tolist() == [None, "yes", "odd", None, "yes"]
    with pytest.raises(UnsupportedModelError, match="no score for values of 'age'"):
        read(CARD.replace(f"{field}/>", text[text.index(field) : text.index("</DataField>") + 12]), tmp_path, domain)


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (RULES, "firstHit", "weightedSum", "several rules decide together.*firstHit"),
        (RULES, 'score="yes" ', "", "has no score"),
        (RULES, '"or"', '"surrogate"', "in trees only"),
        (RULES, "RuleSet ", "Rules ", "no RuleSet|not well-formed"),
        (CARD, 'partialScore="10"', "", "no partialScore"),
        (CARD, 'partialScore="10"', 'partialScore="x"', "not a finite number"),
        (CARD, "<Characteristics>", "<Targets/><Characteristics>", "rescales"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: object, text: str, old: str, new: str, message: str) -> None:
    with pytest.raises(GlassineError, match=message):
        read(text.replace(old, new), tmp_path)
