"""CORELS rule lists."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given

from glassine.domain import Domain, OneOf
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats import as_model, rules_from_corels, rules_from_corels_text
from glassine.models import RuleList
from tests.models.fuzzing import damaged, read_or_refused

FEATURES = ["Mac User", "Likes Pie", "Age < 20"]
RULES: list[dict[str, Any]] = [
    {"antecedents": [-1, 3], "prediction": True, "train_labels": [0, 2]},
    {"antecedents": [2], "prediction": False, "train_labels": [3, 1]},
    {"antecedents": [0], "prediction": True, "train_labels": [0, 4]},
]
TEXT = """RULELIST:
if [not Mac User && Age < 20]:
  Has a dirty computer = True
else if [Likes Pie]:
  Has a dirty computer = False
else
  Has a dirty computer = True
""".replace("else\n", "else \n")
DOMAIN = Domain.binary(FEATURES)


class CorelsClassifier:
    """Stands for the classifier of the package of the same name."""

    def __init__(self, rules: Any = None, features: Any = None) -> None:
        if rules is not None:
            self.rl_ = SimpleNamespace(
                rules=rules, features=FEATURES if features is None else features, prediction_name="y"
            )


def test_a_classifier_its_list_and_its_saved_fields_are_one_model() -> None:
    fitted = CorelsClassifier(RULES)
    model = as_model(fitted, DOMAIN)
    assert isinstance(model, RuleList)
    assert model.classes == (False, True)
    assert model.attributes == tuple(FEATURES)
    assert model.rules[0].antecedent == (OneOf("Mac User", (1,), negated=True), OneOf("Age < 20", (1,)))
    assert [rule.evidence.counts for rule in model.rules] == [(0, 2), (3, 1), (0, 4)]
    assert as_model(fitted.rl_) == model
    assert as_model({"r": RULES, "f": FEATURES, "p": "y"}) == model
    assert as_model({"rules": RULES, "features": FEATURES, "prediction_name": "y"}) == model


def test_the_printed_list_is_the_same_without_counts() -> None:
    printed = rules_from_corels_text(TEXT, DOMAIN)
    whole = rules_from_corels(CorelsClassifier(RULES))
    assert [r.antecedent for r in printed.rules] == [r.antecedent for r in whole.rules]
    assert [r.evidence.label for r in printed.rules] == [r.evidence.label for r in whole.rules]
    assert len(rules_from_corels_text("RULELIST:\ny = True\n").rules) == 1


def changed(number: int, **fields: Any) -> list[dict[str, Any]]:
    return [rule | fields if i == number else rule for i, rule in enumerate(RULES)]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([], "at least its default rule"),
        (changed(0, antecedents=[4]), "features are 1 to 3"),
        (changed(0, antecedents=[0]), "features are 1 to 3"),
        (changed(0, antecedents=["a"]), "features are 1 to 3"),
        (changed(0, antecedents=7), "are not a list"),
        (changed(0, antecedents=[]), "has no condition"),
        (changed(2, antecedents=[1]), "must be the default rule"),
        (changed(0, prediction="yes"), "not a Boolean"),
        (changed(0, train_labels=[1, -1]), "two counts"),
        (changed(0, train_labels=[1]), "two counts"),
        ([{"antecedents": [0]}], "lacks"),
        (["x"], "lacks"),
    ],
)
def test_bad_lists(rules: Any, message: str) -> None:
    with pytest.raises(InvalidModelError, match=message):
        as_model(CorelsClassifier(rules))


def test_other_refusals() -> None:
    with pytest.raises(InvalidModelError, match="not fitted"):
        as_model(CorelsClassifier())
    with pytest.raises(InvalidModelError, match="list of names"):
        as_model(CorelsClassifier(RULES, features=[1, 2, 3]))
    with pytest.raises(InvalidModelError, match="'Mac User', which the domain lacks"):
        as_model(CorelsClassifier(RULES), Domain.binary(["Age < 20", "Likes Pie"]))
    binned = CorelsClassifier(RULES)
    binned.discretizer = object()  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedModelError, match="Bin them before fit"):
        as_model(binned)


@given(damaged(TEXT))
def test_damaged_text_raises_only_our_errors(text: str) -> None:
    for domain in (None, DOMAIN):
        read_or_refused(lambda domain=domain: rules_from_corels_text(text, domain))  # type: ignore[misc]
