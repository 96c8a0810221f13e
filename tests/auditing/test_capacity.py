"""The average case of a published model: measured, judged, worded, and unknown without a declared class."""

from __future__ import annotations

import itertools
import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import Domain, Policy, as_model, audit, parse_rules, scrub
from glassine.attacks.outcome import Measured, NotApplicable
from glassine.auditing import Findings
from glassine.auditing.audit_settings import AuditSettings
from glassine.auditing.capacity import figures_of, outside, question_of, questions_of, stated_class
from glassine.auditing.statements import StatedClass, Statements
from glassine.capacity import AverageCase, average_case, tree_bits
from glassine.data import Sample
from glassine.domain import Between, Binary, Category, Integer, OneOf, Real
from glassine.errors import InvalidParameterError
from glassine.formats import load_model, write_model
from glassine.learners import OptimalTreeClassifier
from glassine.models import Branch, DecisionTree, Evidence, Node, Rule, RuleList
from glassine.report import render_text

DOMAIN = Domain(
    {
        "age": Integer(18, 90, thresholds=(30, 45, 60)),
        "dose": Real(0, 10, thresholds=(2.5,)),
        "smoker": Binary(),
        "town": Category(("Bath", "Ely", "York")),
    }
)
POLICY = Policy.named("average")


def grown(n: int = 4_000, depth: int = 2) -> tuple[DecisionTree, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(18, 91, n), rng.random(n) * 10, rng.integers(0, 2, n)])
    y = (X[:, 0] + 20 * X[:, 2] + rng.integers(0, 40, n) > 85).astype(int)
    domain = Domain({name: DOMAIN[name] for name in ("age", "dose", "smoker")})
    learner = OptimalTreeClassifier(depth, domain=domain, classes=(0, 1)).fit(X, y)
    assert isinstance(learner.model_, DecisionTree)
    return learner.model_, X, y


def stating(**more: Any) -> AuditSettings:
    return AuditSettings(statements=Statements(stated_class=StatedClass(**more), one_record_per_person=True))


def bounds_of(findings: Findings) -> AverageCase:
    outcome = findings.measured["capacity"]
    assert isinstance(outcome, Measured), outcome
    assert isinstance(outcome.value, AverageCase)
    return outcome.value


def reason_of(findings: Findings) -> str:
    outcome = findings.measured["capacity"]
    assert isinstance(outcome, NotApplicable), outcome
    return outcome.reason


def published_by(model: Any) -> str | None:
    figures = figures_of(model)
    return None if figures is None else figures.figures


def check_of(findings: Any) -> Any:
    return next((check for check in findings.checks if check.rule == "largest_mean_advantage"), None)


def test_a_stated_class_is_measured_and_judged() -> None:
    model, _, _ = grown()
    findings = audit(model, domain=DOMAIN, policy=POLICY, settings=stating(depth=2, population=8_000))
    bounds = bounds_of(findings)
    assert bounds.of_design is not None
    # Four thresholds, one binary attribute and three towns; labels and exact counts are charged.
    assert bounds.structure_bits == pytest.approx(tree_bits(8, 2, 2), abs=0.1)
    assert (bounds.n, bounds.population) == (4_000, 8_000)
    assert bounds.figures_bits > 40
    check = check_of(findings)
    assert check.measured == bounds.of_design.mean_advantage
    assert check.status == ("pass" if check.measured <= 0.05 else "fail")
    assert f"at most {bounds.of_design.certain:,} can be identified" in check.meaning
    text = render_text(findings)
    assert f"at most {bounds.of_design.certain:,} can be identified" in text
    assert "The class was stated" in text
    json.dumps(findings.to_dict())
    assert bounds_of(findings.public()) == bounds


def test_a_reconstruction_says_how_much_is_about_these_people() -> None:
    model, _, _ = grown()
    domain = Domain({**{name: DOMAIN[name] for name in DOMAIN if name != "dose"}, "dose": Integer(0, 10)})
    stated = stating(depth=2)
    plain = render_text(audit(model, domain=domain))
    assert "are about these people" not in plain
    findings = audit(model, domain=domain, settings=stated)
    text = " ".join(render_text(findings).split())
    found = re.search(r"Of the ([\d.]+) bits .* at most ([\d.]+) \(([\d.]+)%\) are about these people", text)
    assert found, text
    learned, own, share = map(float, found.groups())
    bounds = bounds_of(findings)
    assert own >= bounds.games[0].bits / bounds.n
    assert own == pytest.approx(bounds.games[0].bits / bounds.n, rel=0.1)
    assert share == pytest.approx(100 * own / learned, rel=0.1)
    assert 0 < share < 100


def test_a_limit_above_or_below_the_bound_decides() -> None:
    model, _, _ = grown()
    for listed, within in (({"population": 8_000}, "pass"), ({"unlisted": True}, "pass"), ({}, "unknown")):
        settings = stating(depth=2, **listed)
        bound = bounds_of(audit(model, domain=DOMAIN, policy=POLICY, settings=settings)).strictest
        for limit, status in ((bound.mean_advantage, within), (bound.mean_advantage * 0.99, "fail")):
            findings = audit(model, domain=DOMAIN, policy=Policy(largest_mean_advantage=limit), settings=settings)
            assert check_of(findings).status == status
            assert ("neither its length is stated" in check_of(findings).meaning) == (status == "unknown")


def test_what_holds_against_fresh_records_alone_passes_no_limit() -> None:
    # A limit between the bounds of both games: who has the list exceeds what was proved without it.
    model, _, _ = grown()
    fresh = bounds_of(audit(model, domain=DOMAIN, policy=POLICY, settings=stating(depth=2))).strictest.mean_advantage
    listed = bounds_of(audit(model, domain=DOMAIN, policy=POLICY, settings=stating(depth=2, population=8_000)))
    assert fresh < listed.strictest.mean_advantage
    policy = Policy(largest_mean_advantage=(fresh + listed.strictest.mean_advantage) / 2)
    found = {
        str(more): check_of(audit(model, domain=DOMAIN, policy=policy, settings=stating(depth=2, **more))).status
        for more in ({}, {"unlisted": True}, {"population": 8_000})
    }
    assert list(found.values()) == ["unknown", "pass", "fail"]


def test_without_a_statement_it_is_unknown_and_off_by_default() -> None:
    model, _, _ = grown()
    findings = audit(model, domain=DOMAIN, policy=POLICY)
    assert check_of(findings).status == "unknown"
    assert findings.verdict != "within policy"
    plain = audit(model, domain=DOMAIN)
    assert check_of(plain) is None
    assert "capacity" not in plain.measured
    assert Policy().largest_mean_advantage is None


def test_labels_alone_are_charged_less_than_counts() -> None:
    model, _, _ = grown()
    labelled = scrub(model, DOMAIN, counts="remove").model
    assert published_by(model) == "counts"
    assert published_by(labelled) == "labels"
    counted = bounds_of(audit(model, domain=DOMAIN, policy=POLICY, settings=stating(depth=2, n=4_000)))
    named = bounds_of(audit(labelled, domain=DOMAIN, policy=POLICY, settings=stating(depth=2, n=4_000)))
    assert named.figures_bits == 0 < counted.figures_bits
    assert named.strictest.mean_advantage < counted.strictest.mean_advantage
    # One error rate is enough to need the counts.
    nodes = tuple(replace(node, evidence=replace(node.evidence, error_rate=0.1)) for node in labelled.nodes)
    assert published_by(replace(labelled, nodes=nodes)) == "counts"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (stating(depth=1), "of depth 2, and 1 was stated"),
        (stating(rules=3), "rule lists was stated"),
        (AuditSettings(), "no class was declared"),
    ],
)
def test_a_model_outside_the_stated_class_is_unknown(settings: AuditSettings, why: str) -> None:
    model, _, _ = grown()
    findings = audit(model, domain=DOMAIN, policy=POLICY, settings=settings)
    assert why in reason_of(findings)
    assert check_of(findings).status == "unknown"


def test_thresholds_from_the_data_are_unknown() -> None:
    _, X, y = grown()
    foreign = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    findings = audit(foreign, domain=Domain({n: DOMAIN[n] for n in ("age", "dose", "smoker")}), policy=POLICY)
    assert check_of(findings).status == "unknown"
    domain = Domain({"x0": Integer(18, 90, thresholds=(30, 45, 60)), "x1": Real(0, 10), "x2": Binary()})
    findings = audit(as_model(foreign), domain=domain, policy=POLICY, settings=stating(depth=2))
    assert "does not have the condition" in reason_of(findings)
    # Over indicators of public cut points a foreign tree has no others.
    indicators = np.column_stack([X[:, 0] > 30, X[:, 0] > 45, X[:, 0] > 60, X[:, 2]]).astype(int)
    foreign = DecisionTreeClassifier(max_depth=2, random_state=0).fit(indicators, y)
    domain = Domain.binary([f"x{i}" for i in range(4)])
    findings = audit(as_model(foreign, domain), domain=domain, policy=POLICY, settings=stating(depth=2))
    assert bounds_of(findings).n > 0


def test_rule_lists_and_weights() -> None:
    rules = parse_rules("if [smoker] then [true] ([0 ; 200] examples)\nelse [false] ([300 ; 100] examples)")
    domain = Domain.binary(["smoker", "b"])
    findings = audit(rules, domain=domain, policy=POLICY, settings=stating(rules=1))
    assert bounds_of(findings).n > 0
    findings = audit(rules, domain=domain, policy=POLICY, settings=stating(rules=0))
    assert "more than was stated" in reason_of(findings)
    weighed = replace(rules, sizes="derived")
    assert published_by(weighed) is None
    mean = DecisionTree((replace(grown()[0].nodes[0], branches=(), evidence=Evidence(value=1.0)),), ("a",))
    assert published_by(mean) is None


def test_a_fitted_learner_declares_its_own_class() -> None:
    X = np.random.default_rng(0).integers(0, 2, (5_000, 3))
    learner = OptimalTreeClassifier(1, domain=Domain.binary(["a", "b", "c"]), classes=(0, 1)).fit(X, X[:, 0])
    findings = audit(learner, domain=learner.domain, policy=POLICY)
    assert bounds_of(findings) == learner.capacity() == learner.certificate_.average_case
    assert check_of(findings).status == "unknown"  # The fit knows of no list
    # What was stated at the fit stays, whatever parameters are afterwards.
    before = learner.capacity()
    learner.max_depth = 3
    assert bounds_of(audit(learner, domain=learner.domain, policy=POLICY)) == before


def test_two_statements_share_the_draws_that_may_fail() -> None:
    X = np.random.default_rng(0).integers(0, 2, (400, 3))
    frame = pl.DataFrame(np.column_stack([X, X[:, 0]]), schema=["a", "b", "c", "y"])
    inside = np.random.default_rng(1).permutation(400) < 200
    sample, rest = frame.filter(inside), frame.filter(~inside)
    learner = OptimalTreeClassifier(1, domain=Domain.binary(["a", "b", "c"]), classes=(0, 1))
    learner.fit(sample.drop("y"), sample["y"].to_numpy())
    settings = AuditSettings(stability=25, measurements={"capacity", "stability"})
    findings = audit(learner, sample, "y", domain=learner.domain, holdout=rest, policy=POLICY, settings=settings)
    outcome = findings.measured["stability"]
    assert isinstance(outcome, Measured)
    assert bounds_of(findings).delta + outcome.value.delta == 0.05
    assert bounds_of(findings).games[0].mean_advantage > learner.capacity().games[0].mean_advantage


def drawn_half() -> tuple[OptimalTreeClassifier, pl.DataFrame, pl.DataFrame]:
    X = np.random.default_rng(0).integers(0, 2, (400, 3))
    frame = pl.DataFrame(np.column_stack([X, X[:, 0]]), schema=["a", "b", "c", "y"])
    inside = np.random.default_rng(1).permutation(400) < 200
    learner = OptimalTreeClassifier(1, domain=Domain.binary(["a", "b", "c"]), classes=(0, 1))
    learner.fit(frame.filter(inside).drop("y"), frame.filter(inside)["y"].to_numpy())
    return learner, frame.filter(inside), frame.filter(~inside)


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("stated", [None, StatedClass(depth=1, n=200, population=400)])
def test_records_of_which_a_person_has_several_are_no_people(most: int, stated: StatedClass | None) -> None:
    learner, sample, rest = drawn_half()
    settings = AuditSettings(
        stability=25, measurements={"capacity", "stability"}, statements=Statements(stated_class=stated)
    )
    whose = np.arange(200) // most
    holdout = Sample(rest.drop("y"), rest["y"], persons=whose + 200)
    findings = audit(
        learner, sample, "y", domain=learner.domain, holdout=holdout, persons=whose, policy=POLICY, settings=settings
    )
    for name in ("capacity", "stability"):
        outcome = findings.measured[name]
        assert isinstance(outcome, Measured if most == 1 else NotApplicable)
        assert most == 1 or "several records" in outcome.reason  # type: ignore[union-attr]
    assert check_of(findings).status == ("fail" if most == 1 else "unknown")


def test_an_audit_after_parameters_were_changed_is_unknown() -> None:
    learner, sample, rest = drawn_half()
    learner.max_depth = 2
    settings = AuditSettings(stability=25, measurements={"capacity", "stability"})
    findings = audit(learner, sample, "y", domain=learner.domain, holdout=rest, policy=POLICY, settings=settings)
    assert "changed since the fit" in reason_of(findings)


def test_all_trees_of_a_file_are_counted() -> None:
    tree = grown()[0]
    among = replace(tree, source="tree 1 of 3 of a forest")
    alone = bounds_of(audit(tree, domain=DOMAIN, policy=POLICY, settings=stating(depth=2)))
    assert "3 trees of the same people" in reason_of(
        audit(among, domain=DOMAIN, policy=POLICY, settings=stating(depth=2, models=2))
    )
    counted = bounds_of(audit(among, domain=DOMAIN, policy=POLICY, settings=stating(depth=2, models=3)))
    assert counted.figures_bits > 2.9 * alone.figures_bits


def test_other_kinds_stay_unknown() -> None:
    from tests.models.additive_models import income_model

    findings = audit(income_model(), policy=Policy(largest_mean_advantage=0.5))
    assert check_of(findings).status == "unknown"


@pytest.mark.parametrize(
    ("literal", "question"),
    [
        (Between("age", hi=45), ("age", 45.0, False)),
        (Between("age", lo=45.5), ("age", 45.0, False)),
        (Between("age", hi=45).negate(), ("age", 45.0, False)),
        (Between("age", lo=30, hi=45), None),
        (OneOf("smoker", (1,)), ("smoker", 1, False)),
        (OneOf("smoker", (0,)), ("smoker", 1, False)),
        (OneOf("town", ("Ely",)), ("town", "Ely", False)),
        (OneOf("town", ("Bath", "York")), ("town", "Ely", False)),
        (OneOf("town", ("Ely",), negated=True), ("town", "Ely", False)),
    ],
)
def test_conditions_and_their_negations_are_one_question(literal: Any, question: Any) -> None:
    assert question_of(literal, DOMAIN) == question
    assert question is None or question in questions_of(DOMAIN)


def test_missing_values_double_the_questions() -> None:
    domain = Domain({"age": Integer(18, 90, thresholds=(30,), missing=True)})
    assert len(questions_of(domain)) == 2
    with_gap, without = Between("age", hi=30, missing=True), Between("age", hi=30)
    assert question_of(with_gap, domain) != question_of(without, domain)
    assert question_of(with_gap.negate(), domain) == question_of(with_gap, domain)
    assert question_of(Between("age", lo=30), domain) == question_of(with_gap, domain)


def test_a_file_is_answered_within_ten_milliseconds(tmp_path: Path) -> None:
    model, _, _ = grown()
    write_model(model, tmp_path / "tree.json", overwrite=True)
    read = load_model(tmp_path / "tree.json")
    settings = replace(stating(depth=2, population=8_000), measurements={"capacity"})
    audit(read, domain=DOMAIN, policy=POLICY, settings=settings)

    times = []
    for _ in range(5):
        start = time.process_time()
        stated = settings.statements.stated_class
        assert stated is not None
        assert published_by(read) is not None
        assert isinstance(read, DecisionTree)
        assert outside(read, stated, DOMAIN, None) == ""
        average_case(stated_class(stated, DOMAIN, 2), 4_000, stated.population)
        times.append(time.process_time() - start)
    assert min(times) < 0.01


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"depth": 2, "rules": 2},
        {"depth": -1},
        {"depth": 2, "delta": 0.0},
        {"depth": 2, "n": 10, "population": 10},
        {"rules": 2, "longest": 9},
        {"depth": 2, "options": 0},
        {"depth": 2, "population": 10, "unlisted": True},
    ],
)
def test_bad_statements_are_errors_of_ours(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        StatedClass(**wrong)
    with pytest.raises(InvalidParameterError, match="StatedClass"):
        Statements(stated_class=4)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cuts", "why"),
    [
        ((30.0, 45.5), "in several ways"),
        ((30.137, 45.137), "in several ways"),
        ((30.5, 45.5), ""),
        ((30.0, 45.0), ""),
    ],
)
def test_several_spellings_of_one_question_are_not_counted_as_one(cuts: tuple[float, float], why: str) -> None:
    lines = [f"if [age <= {cuts[0]}] then [true] ([30 ; 41] examples)"]
    lines += [f"else if [age <= {cuts[1]}] then [true] ([9 ; 9] examples)", "else [false] ([52 ; 19] examples)"]
    found = outside(parse_rules("\n".join(lines)), StatedClass(rules=2, longest=1), DOMAIN, None)
    assert why in found if why else found == ""


def split(literal: Any, other: Any = None, children: tuple[int, int] = (1, 2)) -> Node:
    """Return a node of two branches: a condition, and its negation unless another one is passed."""
    return Node(branches=(Branch(literal, children[0]), Branch(other or literal.negate(), children[1])))


def leaves(n: int) -> tuple[Node, ...]:
    return tuple(Node(evidence=Evidence(label=i % 2)) for i in range(n))


ELY, BATH = OneOf("town", ("Ely",)), OneOf("town", ("Bath",))
SMOKER, AGE = OneOf("smoker", (1,)), Between("age", hi=45)
SPELLED: dict[str, tuple[tuple[Node, ...], str]] = {
    "one split": ((split(ELY), *leaves(2)), ""),
    "two of one order": ((split(ELY, None, (1, 2)), split(BATH, None, (3, 4)), *leaves(3)), ""),
    "the other branch first": ((split(ELY), split(BATH.negate(), None, (3, 4)), *leaves(3)), "in several ways"),
    "a set, and one value": (
        (split(ELY), split(OneOf("town", ("Ely", "York")).negate(), None, (3, 4)), *leaves(3)),
        "in several ways",
    ),
    "its values in another order": ((split(OneOf("town", ("York", "Bath"))), *leaves(2)), "in several ways"),
    "a number upside down": (
        (split(AGE), split(Between("age", lo=30), Between("age", hi=30), (3, 4)), *leaves(3)),
        "in several ways",
    ),
    "kinds with orders of their own": ((split(AGE), split(SMOKER.negate(), None, (3, 4)), *leaves(3)), ""),
    "a question twice": ((split(ELY), split(ELY, None, (3, 4)), *leaves(3)), "twice"),
    "branches of two questions": ((split(AGE, Between("age", lo=60)), *leaves(2)), "twice"),
}


@pytest.mark.parametrize(("nodes", "why"), SPELLED.values(), ids=SPELLED)
def test_trees_that_the_class_does_not_count_are_outside(nodes: tuple[Node, ...], why: str) -> None:
    tree = DecisionTree(nodes, tuple(DOMAIN), classes=(0, 1))
    found = outside(tree, StatedClass(depth=2), DOMAIN, None)
    assert why in found if why else found == ""


@pytest.mark.parametrize(
    ("antecedents", "why"),
    [
        (([AGE], [SMOKER]), ""),
        (([AGE], [AGE]), "one antecedent"),
        (([AGE, AGE],), "one antecedent"),
        (([AGE, SMOKER], [SMOKER, AGE]), ""),  # The pool counts conjunctions in order
        (([AGE], [Between("age", lo=45, negated=True)]), "in several ways"),
    ],
)
def test_rule_lists_that_the_class_does_not_count_are_outside(antecedents: Any, why: str) -> None:
    rules = [Rule(antecedent=tuple(one), evidence=Evidence(label=1)) for one in antecedents]
    default = Rule(evidence=Evidence(label=0))
    model = RuleList((*rules, default), tuple(DOMAIN), classes=(0, 1))
    found = outside(model, StatedClass(rules=2, longest=2), DOMAIN, None)
    assert why in found if why else found == ""


def test_every_tree_within_is_counted() -> None:
    # Trees over all spellings of two questions: in one way and order, those within are no more than counted.
    domain = Domain({"smoker": Binary(), "town": Category(("Bath", "Ely"))})
    asked = [OneOf("smoker", (1,)), OneOf("smoker", (0,)), OneOf("town", ("Ely",)), OneOf("town", ("Bath",))]
    literals = [*asked, *(one.negate() for one in asked)]
    within: dict[Any, set[tuple[Node, ...]]] = {}
    whole = 0
    for root, below, labels in itertools.product(literals, literals, itertools.product((0, 1), repeat=3)):
        parts = [Node(evidence=Evidence(label=label)) for label in labels]
        nodes = (split(root, None, (1, 4)), split(below, None, (2, 3)), *parts)
        whole += 1
        if outside(DecisionTree(nodes, tuple(domain), classes=(0, 1)), StatedClass(depth=2), domain, None) == "":
            yes = root.negated == (root.values in ((0,), ("Bath",)))
            within.setdefault((yes, root.negated), set()).add(nodes)
    # A root, the other question on its first side, and three labels.
    assert {len(nodes) for nodes in within.values()} == {2 * 1 * 8}
    assert len(within) == 4
    assert len(questions_of(domain)) == 2
    assert 16 <= 2 ** stated_class(StatedClass(depth=2), domain, 2).labelled_bits < whole


def test_classes_that_did_not_occur_are_no_part_of_the_class() -> None:
    rules = parse_rules("if [smoker] then [true] ([30 ; 41] examples)\nelse [false] ([52 ; 19] examples)")
    stated = StatedClass(rules=1, longest=1)
    for values, why in (((False, True), ""), ((False, True, "unknown"), "not those that the domain declares")):
        domain = Domain({**{name: DOMAIN[name] for name in DOMAIN}, "ill": Category(tuple(map(str, values)))})
        found = outside(rules, stated, domain, "ill")
        assert why in found if why else found == ""


def test_a_class_of_summed_weights_asks_for_what_settles_it() -> None:
    """Each step of the advice leads to the next, and the last one to a bound; the same statement twice is not asked."""
    model = replace(grown()[0], sizes="derived")
    stated = StatedClass(depth=2, population=8_000)
    steps = (
        (Statements(stated_class=stated), "unweighted=True"),
        (Statements(stated_class=stated, unweighted=True), "one_record_per_person=True"),
    )
    for statements, step in steps:
        findings = audit(model, domain=DOMAIN, policy=POLICY, settings=AuditSettings(statements=statements))
        assert check_of(findings).status == "unknown"
        assert any(step in one.python for one in findings.advice)
        assert not any("as it was stated" in one.text for one in findings.advice)
    statements = Statements(stated_class=stated, unweighted=True, one_record_per_person=True)
    findings = audit(model, domain=DOMAIN, policy=POLICY, settings=AuditSettings(statements=statements))
    assert bounds_of(findings).n == 4_000
    # Labels alone are no sums of weights: how many people there are is what is open.
    labelled = replace(scrub(model, DOMAIN, counts="remove").model, sizes="derived")
    assert published_by(labelled) == "labels"
    statements = Statements(stated_class=stated)
    findings = audit(labelled, domain=DOMAIN, policy=POLICY, settings=AuditSettings(statements=statements))
    assert any("StatedClass(depth=4, n=3000)" in one.python for one in findings.advice)
