"""The text notation of rule lists."""

from __future__ import annotations

import dataclasses
import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.domain import Between, Binary, Category, Domain, Integer, Literal, OneOf, Real
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats import format_rules, load_model, parse_rules
from glassine.models import Evidence, Rule, RuleList
from tests.models.fuzzing import damaged, read_or_refused

DOMAIN = Domain(
    {
        "a": Binary(),
        "Age>=30": Binary(),
        "Age=18-20": Binary(),
        "not b": Binary(),
        "age": Integer(0, 99, missing=True),
        "dose": Real(0.0, 9.0),
        "colour": Category(("red", "green", "sky blue")),
        "grade": Category((1, 2, 3)),
    }
)
PAPER = """
# Rule list 1
if [a1] and [a2] then [true] ([0 ; 2] examples)
else if [a3] then [false] ([2 ; 0] example)
else [true] ([0 ; 1] example)
"""


def first(condition: str, domain: Domain | None = DOMAIN) -> Literal:
    return parse_rules(f"if {condition} then [true]\nelse [false]", domain).rules[0].antecedent[0]


def test_the_papers_rule_list() -> None:
    rules = parse_rules(PAPER)
    assert rules.attributes == ("a1", "a2", "a3")
    assert rules.classes == (False, True)
    assert [rule.evidence.counts for rule in rules.rules] == [(0, 2), (2, 0), (0, 1)]
    assert [rule.evidence.label for rule in rules.rules] == [1, 0, 1]
    assert rules == parse_rules(PAPER)


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("[a]", OneOf("a", (1,))),
        ("[not a]", OneOf("a", (1,), negated=True)),
        ("[Age>=30]", OneOf("Age>=30", (1,))),
        ("[not Age=18-20]", OneOf("Age=18-20", (1,), negated=True)),
        ("[not b]", OneOf("not b", (1,))),
        ("[a = 0]", OneOf("a", (0,))),
        ("[a <= 0.5]", OneOf("a", (1,), negated=True)),
        ("[age <= 40]", Between("age", hi=40)),
        ("[age<=40]", Between("age", hi=40)),
        ("[age > 40]", Between("age", lo=40)),
        ("[age < 40]", Between("age", hi=39)),
        ("[age < 40.5]", Between("age", hi=40)),
        ("[age >= 40]", Between("age", lo=39)),
        ("[dose < 4]", Between("dose", hi=math.nextafter(4, 0))),
        ("[dose >= 4]", Between("dose", lo=math.nextafter(4, 0))),
        ("[18 < age <= 25]", Between("age", 18, 25)),
        ("[18 <= age < 25]", Between("age", 17, 24)),
        ("[not (18 < age <= 25)]", Between("age", 18, 25, negated=True)),
        ("[colour = red]", OneOf("colour", ("red",))),
        ("[colour == sky blue]", OneOf("colour", ("sky blue",))),
        ("[colour != red]", OneOf("colour", ("red",), negated=True)),
        ("[colour in {red, sky blue}]", OneOf("colour", ("red", "sky blue"))),
        ("[colour not in {red}]", OneOf("colour", ("red",), negated=True)),
        ("[grade in {1, 3}]", OneOf("grade", (1, 3))),
        ("[age is missing]", OneOf("age", (), missing=True)),
        ("[age is not missing]", OneOf("age", (), negated=True)),
        ("[age <= 40 or missing]", Between("age", hi=40, missing=True)),
        ('["Age>=30"]', OneOf("Age>=30", (1,))),
        ('[colour = "red"]', OneOf("colour", ("red",))),
    ],
)
def test_conditions(text: str, literal: Literal) -> None:
    assert first(text) == literal


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("[Age <= 30]", Between("Age", hi=30)),
        ("[x y = 5 <= 6]", Between("x y = 5", hi=6)),
        ('["a <= b"]', OneOf("a <= b", (1,))),
        ('[not "]["]', OneOf("][", (1,), negated=True)),
        ("[not age <= 3]", Between("age", hi=3, negated=True)),
        ("[colour = red <= blue]", OneOf("colour", ("red <= blue",))),
        ("[flag = true]", OneOf("flag", (True,))),
    ],
)
def test_conditions_without_a_domain(text: str, literal: Literal) -> None:
    assert first(text, None) == literal


@pytest.mark.parametrize("joined", ["[a] and [age > 3]", "[a] AND [age > 3]", "[a] && [age > 3]", "[a && age > 3]"])
def test_conjunctions(joined: str) -> None:
    rules = parse_rules(f"IF {joined} THEN [true]  # why not\n\nELSE [false]", DOMAIN)
    assert rules.rules[0].antecedent == (OneOf("a", (1,)), Between("age", lo=3))
    assert rules.attributes == DOMAIN.names


def test_totals_errors_and_values() -> None:
    rules = parse_rules("if [a] then [true] (5 examples, error 12.5%)\nelse [false] (error 0.25)")
    assert rules.rules[0].evidence == Evidence(total=5, label=1, error_rate=0.125)
    assert rules.rules[1].evidence == Evidence(label=0, error_rate=0.25)
    values = parse_rules("if [a] then value 3.5 (5 examples)\nelse value -1e3")
    assert values.classes is None
    assert [rule.evidence.value for rule in values.rules] == [3.5, -1000.0]


def test_headers() -> None:
    headers = "classes: [no] [yes] [2]\nattributes: [a] [b c]\ncounts: rounded\n"
    rules = parse_rules(headers + "if [a] then [yes] ([0;5;0] examples)\nelse [?]")
    assert rules.classes == ("no", "yes", 2)
    assert rules.attributes == ("a", "b c")
    assert rules.approximate
    assert rules.rules[1].evidence.label is None
    assert parse_rules("if [a] then [no]\nelse [yes]").classes == ("no", "yes")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ends with a default rule"),
        ("if [a] then [true]", "ends with a default rule"),
        ("else [false]\nelse [true]", "line 2 .* nothing may follow"),
        ("else if [a] then [true]\nelse [false]", "line 1 .* starts with 'if'"),
        ("hello\nelse [true]", "line 1 .* starts with neither"),
        ("if [a then [true]\nelse [true]", "is not closed"),
        ("if [] then [true]\nelse [true]", "empty"),
        ("if [a] [b] then [true]\nelse [true]", "'and' or 'then' is expected"),
        ("if [a] then true\nelse [true]", "bracket .* is expected"),
        ("if [a] then [true] ([1 ; x] examples)\nelse [true]", "counts must be whole numbers"),
        ("if [a] then [true] ([-1 ; 2] examples)\nelse [true]", "counts must be whole numbers"),
        ("if [a] then [true] (many examples)\nelse [true]", "is neither"),
        ("if [a] then [true] (error 120%)\nelse [true]", "between 0 and 1"),
        ("if [a] then [true] ([1 ; 2 ; 3] examples)\nelse [true]", "gives 3 counts, but the list has 2 classes"),
        ("if [a] then [true] ([1 ; 2] examples, 4 examples)\nelse [true]", "must add up"),
        ("if [a] then [x] ([1 ; 2] examples)\nelse [y]", "Add a first line such as 'classes:"),
        ("classes: [x]\nif [a] then [y]\nelse [x]", "is not in the header"),
        ("if [a] then value 3\nelse [x]", "not both"),
        ("if [18 < x <= 18] then [true]\nelse [false]", "line 1 .* needs lo < hi"),
        ("attributes: [b]\nif [a] then [true]\nelse [false]", "lacks"),
        ("counts: none\nelse [true]", "can only say 'rounded'"),
        ("classes: [a] [a]\nelse [a]", "must differ"),
    ],
)
def test_bad_lists(text: str, message: str) -> None:
    with pytest.raises((UnsupportedModelError, InvalidModelError), match=message) as caught:
        parse_rules(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[colou = red]", "'colou', which the domain lacks. Did you mean 'colour'"),
        ("[nonsense]", "'nonsense', which the domain lacks"),
        ("[colour = rad]", "'rad' is not a value of 'colour'. Did you mean 'red'"),
        ("[age]", "is not binary"),
        ("[colour <= 3]", "has no order"),
        ("[age = old]", "is a number"),
        ("[a = 2]", "is not a value of 'a'"),
    ],
)
def test_conditions_that_the_domain_lacks(text: str, message: str) -> None:
    with pytest.raises(InvalidModelError, match=message):
        first(text)


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8) | st.sampled_from(
    [
        "a",
        "not",
        "not a",
        "a <= 3",
        "x]",
        "[x",
        "a && b",
        '"q"',
        "in {x}",
        "x is missing",
        "classes: [a]",
        "# c",
        "then",
    ]
)
SCALARS = st.booleans() | st.integers(-5, 10**6) | st.floats(-1e3, 1e3) | NAMES
BOUNDS = st.floats(-1e6, 1e6) | st.integers(-100, 100).map(float)


@st.composite
def literals(draw: st.DrawFn) -> Literal:
    name, flags = draw(NAMES), {"negated": draw(st.booleans()), "missing": draw(st.booleans())}
    if draw(st.booleans()):
        return OneOf(name, tuple(draw(st.lists(SCALARS, max_size=3))), **flags)
    lo, hi = sorted(draw(st.lists(BOUNDS, min_size=2, max_size=2, unique=True)))
    open_end = draw(st.sampled_from(["lo", "hi", "neither"]))
    return Between(name, -math.inf if open_end == "lo" else lo, math.inf if open_end == "hi" else hi, **flags)


@st.composite
def rule_lists(draw: st.DrawFn) -> RuleList:
    antecedents = [tuple(draw(st.lists(literals(), min_size=1, max_size=3))) for _ in range(draw(st.integers(0, 3)))]
    kind = draw(st.sampled_from(["Boolean", "named", "value"]))
    classes = {
        "Boolean": (False, True),
        "named": tuple(draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))),
    }.get(kind)
    rules = []
    for antecedent in [*antecedents, ()]:
        if classes is None:
            evidence = Evidence(total=draw(st.none() | st.integers(0, 99)), value=draw(st.floats(-9, 9)))
        else:
            counts = st.tuples(*(st.integers(0, 99) for _ in classes))
            evidence = Evidence(
                counts=draw(st.none() | counts),
                label=draw(st.none() | st.integers(0, len(classes) - 1)),
                error_rate=draw(st.none() | st.floats(0, 1)),
            )
        rules.append(Rule(antecedent=antecedent, evidence=evidence))
    names = dict.fromkeys(lit.attribute for antecedent in antecedents for lit in antecedent)
    attributes = tuple(names | dict.fromkeys(draw(st.lists(NAMES, max_size=2))))
    return RuleList(tuple(rules), attributes or ("a",), classes, approximate=draw(st.booleans()))


@pytest.mark.slow
@given(rule_lists())
def test_what_is_written_is_read_back(model: RuleList) -> None:
    read = parse_rules(format_rules(model))
    assert read.sizes == "stated", "a text is all that says where its sizes come from"
    assert dataclasses.replace(read, source=model.source, sizes=model.sizes) == model
    assert format_rules(read) == format_rules(model)


def test_what_is_written_is_read_back_in_the_domain() -> None:
    text = "if [age = 1] and [colour = red] then [true] ([0 ; 2] examples)\nelse if [Age>=30] then [true]\nelse [false]"
    model = parse_rules(text, DOMAIN)
    assert parse_rules(format_rules(model, DOMAIN), DOMAIN) == model


@given(damaged("classes: [no] [yes]\n" + PAPER.replace("true", "yes").replace("false", "no") + "# end\n"))
def test_damaged_text_raises_only_our_errors(text: str) -> None:
    for domain in (None, Domain.binary(["a1", "a2", "a3"])):
        read_or_refused(lambda domain=domain: parse_rules(text, domain))  # type: ignore[misc]


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(UnsupportedModelError):
        first("[" + "not " * 5000 + "a]", None)


@pytest.mark.parametrize("condition", ["18 < age <= {}x", "{} < age", "age <= {}x", "{}=" * 3 + "1"])
def test_long_numbers_take_no_time(condition: str) -> None:
    start = time.process_time()
    with pytest.raises((InvalidModelError, UnsupportedModelError)):
        parse_rules(f"if [{condition.replace('{}', '9' * 20_000)}] then [x]\nelse if [y")
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "text",
    [
        "IF age > 60 AND smoker = yes THEN risk = high\nELSE IF priors >= 3 THEN risk = high\nELSE risk = low\n",
        "Rule 1: IF age > 60\n  AND smoker = 'yes'\nTHEN high\n\n"
        "Rule 2: If (priors \u2265 3) then predict high.\nOtherwise low\n",
        "1. if age > 60 && smoker = yes, then class high;\n2. if priors >= 3 then high\ndefault: low\n",
    ],
)
def test_rules_as_papers_print_them(text: str) -> None:
    rules = parse_rules(text)
    assert str(rules.cells[0]) == "age > 60 and smoker = yes"
    assert [str(literal).startswith("priors > 2.99") for literal in rules.rules[1].antecedent] == [True]
    assert rules.classes == ("high", "low")
    assert [rule.evidence.label for rule in rules.rules] == [0, 0, 1]


def test_rules_that_give_the_risk_of_an_outcome_predict_its_share(tmp_path: Path) -> None:
    text = (
        "if hemiplegia and age > 60 then stroke risk 58.9% (53.8%\u201363.8%)\n"
        "else if transient attack then stroke risk 23.8 %\nelse stroke risk 8.7% (7.9%-9.6%)\n"
    )
    (tmp_path / "list.txt").write_text(text)
    rules = load_model(tmp_path / "list.txt")
    assert isinstance(rules, RuleList)
    assert rules.classes is None
    assert [rule.evidence.value for rule in rules.rules] == [0.589, 0.238, 0.087]
    with pytest.raises(UnsupportedModelError, match=r"line 2 .* a share of 'death', and the rules above of 'stroke'"):
        parse_rules("if a then stroke 10%\nelse death 20%")
    with pytest.raises(InvalidModelError, match="classes or values, not both"):
        parse_rules("if a then stroke 10%\nelse healthy")
    for apart in ("if a then stroke: 10%\nelse death: 20%", "if a then risk of stroke = 10%\nelse risk of death = 20%"):
        with pytest.raises(UnsupportedModelError, match="the rules above of"):
            parse_rules(apart)
    for odd in ("stroke risk 158.9%", "stroke risk 58,9%", "stroke risk 58.9 percent"):
        with pytest.raises(UnsupportedModelError, match="line 1 of the rule list"):
            parse_rules(f"if a then {odd}\nelse stroke risk 10%")


def test_a_number_before_a_rule_does_not_make_it_a_printed_tree(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("R1: IF a <= 0.8 THEN x (50/0)\nR2: IF a > 0.8 THEN y (46/1)\n")
    with pytest.raises(UnsupportedModelError, match=r"line 1 of the rule list .* '50/0' is neither"):
        load_model(tmp_path / "list.txt")


def test_plain_rules_that_mean_something_else_are_refused() -> None:
    with pytest.raises(UnsupportedModelError, match=r"line 1 .* joins conditions by 'or'; write a rule for each"):
        parse_rules("if a > 3 or b = 2 then x\nelse y\n")
    with pytest.raises(UnsupportedModelError, match="ends with a default rule"):
        parse_rules("if a > 3 then x\nif b > 2 then y\n")
    with pytest.raises(UnsupportedModelError, match="line 2"):
        parse_rules("if a > 3 then x\nAda was ill\nelse y\n")
