"""The attack as it is called: the paper's example, measures, outcomes and bad input."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import DecisionTree, GlassineError, parse_rules
from glassine.attacks import Failed, Measured, NotApplicable
from glassine.attacks.disclosure import Adversary, ContradictionError, Disclosure, infer_sensitive, measure_disclosure
from glassine.attacks.disclosure.lagrangian import Starts
from glassine.data import infer_domain
from glassine.domain import Between, OneOf
from glassine.errors import (
    InvalidDataError,
    InvalidModelError,
    InvalidParameterError,
    UndefinedMeasureError,
    UnsupportedModelError,
)
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from glassine.models import Branch, Evidence, Guarantee, Node
from tests.attacks.disclosure.instances import categories, disguised, mixed, parity


def example(**adversary: Any) -> tuple[Disclosure, list[str]]:
    frame, salary, _ = disguised()
    tree = (
        MultiwayTreeClassifier(criterion=adversary.get("criterion", "gini"), min_samples_split=3)
        .fit(frame, salary)
        .model_
    )
    return infer_sensitive(tree, frame, adversary=Adversary(**adversary)), salary


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio", "misclassification"])
def test_example_1_of_the_leaf_only_reader(criterion: str) -> None:
    disclosure, salary = example(criterion=criterion, internal_nodes=False)
    assert disclosure.d_overall(salary) == pytest.approx(math.log(2) / 3, abs=1e-12)
    assert round(disclosure.d_overall(salary), 3) == 0.231
    assert disclosure.d_individual(salary) == pytest.approx([0, 0, math.log(2), math.log(2), 0, 0], abs=1e-12)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_example_1_is_not_forced_by_the_internal_constraint(criterion: str) -> None:
    """The printed 0.815 is not the maximum-entropy estimate: one half satisfies the constraint, as by hand."""
    disclosure, salary = example(criterion=criterion)
    assert disclosure.counts.internal == 1
    assert disclosure.counts.active == 0
    assert disclosure.quasi_probabilities == pytest.approx(disclosure.leaf_probabilities, abs=1e-12)
    assert round(disclosure.d_overall(salary), 3) == 0.231


@pytest.mark.parametrize(("criterion", "largest"), [("gini", (math.sqrt(6) - 1) / 2), ("entropy", 0.81553)])
def test_what_the_constraint_of_example_1_does_force(criterion: Any, largest: float) -> None:
    """With a the probability that q3 earns little, Gini allows a <= (sqrt(6) - 1) / 2 = 0.7247.

    Information gain allows a <= 0.8155: the printed 0.815 is where education would be as good as age.
    """
    disclosure, _ = example(criterion=criterion)
    people = disclosure.people
    frame, _, _ = disguised()
    mid = [people.person[2], people.person[3]]

    def table(a: float) -> Any:
        out = disclosure.quasi_probabilities * people.sizes[:, None]
        out[mid[0]], out[mid[1]] = (1 - a, a), (a, 1 - a)
        return out

    for a in (0.0, 0.3, largest - 1e-3):
        assert disclosure.constraints.satisfied(table(a))
    for a in (largest + 1e-3, 0.9, 1.0):
        assert [str(clash) for clash in disclosure.constraints.violations(table(a))] == [
            "node 0 against a split by education"
        ]
    assert len(frame) == 6


def test_the_whole_numbers_of_example_1_leave_one_world() -> None:
    """The relaxation forgets that one of the two earns much and the other little: only one way round is possible."""
    disclosure, salary = example()
    person = disclosure.people.person
    table = disclosure.true_probabilities(salary) * disclosure.people.sizes[:, None]
    assert disclosure.constraints.satisfied(table)
    table[[person[2], person[3]]] = table[[person[3], person[2]]]
    assert not disclosure.constraints.satisfied(table)


def test_measures_of_a_disclosure() -> None:
    frame, y, tree = categories(3, n=60, attributes=2)
    disclosure = infer_sensitive(tree, frame, adversary=Adversary())
    assert disclosure.probabilities.shape == (60, 3)
    individual = disclosure.d_individual(y)
    assert disclosure.d_overall(y) == pytest.approx(individual.mean())
    assert disclosure.entropy == pytest.approx(disclosure.entropy_left().mean())
    rows = disclosure.most_exposed(5)
    assert [row for row, _ in rows] == np.argsort(disclosure.entropy_left(), kind="stable")[:5].tolist()
    readers = disclosure.compare(y)
    assert [r.reader for r in readers] == [
        "the class distribution", "the leaves", "the leaves and the internal nodes",
    ]  # fmt: skip
    assert readers[0].entropy > readers[1].entropy >= readers[2].entropy - 1e-12
    assert readers[0].d_overall is not None and readers[1].d_overall is not None  # noqa: PT018 - both at once
    assert readers[0].d_overall > readers[1].d_overall
    assert disclosure.compare()[0].d_overall is None
    groups = disclosure.by_subgroup(frame, "a0")
    assert sum(group.size for group in groups) == 60
    assert [g.entropy for g in groups] == sorted(g.entropy for g in groups)
    assert "60 people" in repr(disclosure)
    wrong = [{"c0": "c1", "c1": "c2", "c2": "c0"}[label] for label in y]
    assert disclosure.d_overall(wrong) >= disclosure.d_overall(y) or math.isinf(disclosure.d_overall(wrong))


def test_d_individual_of_a_pair_with_one_quasi_identifier_is_by_its_definition() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y", "y", "y"]})
    tree = MultiwayTreeClassifier().fit(frame, [0, 0, 0, 1, 1]).model_
    disclosure = infer_sensitive(tree, frame)
    assert disclosure.d_individual([0, 0, 0, 1, 1]) == pytest.approx([0] * 5, abs=1e-12)
    assert math.isinf(disclosure.d_overall([1, 0, 0, 1, 1]))
    assert disclosure.probabilities[2].tolist() == pytest.approx([1 / 3, 2 / 3])


def test_every_kind_of_frame_and_estimator_gives_the_same() -> None:
    frame, y = mixed(5, n=120)
    numbers = frame.select("age", "hours")
    fitted = DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=6, random_state=0).fit(numbers.to_pandas(), y)
    one = infer_sensitive(fitted, numbers)
    assert one.adversary.criterion == "entropy"
    for other in (numbers.to_pandas(), numbers.to_arrow(), numbers.lazy(), numbers.with_columns(extra=pl.lit("x"))):
        assert infer_sensitive(fitted, other).probabilities == pytest.approx(one.probabilities)
    some = DecisionTreeClassifier(max_features=1, max_leaf_nodes=6, random_state=0).fit(numbers.to_pandas(), y)
    assert not infer_sensitive(some, numbers).adversary.internal_nodes
    drawn = DecisionTreeClassifier(splitter="random", max_leaf_nodes=6, random_state=0).fit(numbers.to_pandas(), y)
    assert not infer_sensitive(drawn, numbers).adversary.internal_nodes
    weighted = DecisionTreeClassifier(class_weight="balanced", max_leaf_nodes=6).fit(numbers.to_pandas(), y)
    assert not infer_sensitive(weighted, numbers).adversary.internal_nodes
    learner = MultiwayTreeClassifier(criterion="gain_ratio", min_samples_split=30).fit(frame, y)
    assert infer_sensitive(learner, frame).adversary.criterion == "gain_ratio"


def test_the_sensitive_column_is_not_looked_at() -> None:
    frame, y, tree = categories(3)
    with_truth = frame.with_columns(a9=pl.Series(y))
    wider = DecisionTree(tree.nodes, (*tree.attributes, "a9"), tree.classes)
    hidden = infer_sensitive(wider, with_truth, sensitive="a9", adversary=Adversary(splits="multiway"))
    assert "a9" not in hidden.people.columns
    assert hidden.probabilities == pytest.approx(infer_sensitive(tree, frame, adversary=Adversary()).probabilities)


def irrelevant_root() -> tuple[DecisionTree, pl.DataFrame]:
    """Return a tree that splits first by what tells nothing, then by what tells everything."""
    leaves = [Node(evidence=Evidence(counts=counts)) for counts in ((2, 0), (0, 2), (2, 0), (0, 2))]
    by_b = [(Branch(OneOf("b", ("u",)), k), Branch(OneOf("b", ("v",)), k + 1)) for k in (3, 5)]
    root = Node(branches=(Branch(OneOf("a", ("x",)), 1), Branch(OneOf("a", ("y",)), 2)))
    tree = DecisionTree((root, Node(branches=by_b[0]), Node(branches=by_b[1]), *leaves), ("a", "b"), ("no", "yes"))
    return tree, pl.DataFrame({"a": ["x"] * 4 + ["y"] * 4, "b": ["u", "u", "v", "v"] * 2})


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
def test_a_contradiction_names_the_node_and_the_candidate(criterion: Any) -> None:
    tree, frame = irrelevant_root()
    adversary = Adversary(criterion=criterion, splits="multiway")
    with pytest.raises(ContradictionError, match="node 0 against a split by b") as caught:
        infer_sensitive(tree, frame, adversary=adversary)
    assert [str(clash) for clash in caught.value.clashes] == ["node 0 against a split by b"]
    outcome = measure_disclosure(tree, frame, adversary=adversary)
    assert isinstance(outcome, Failed)
    assert "node 0 against a split by b" in outcome.reason
    assert infer_sensitive(tree, frame, adversary=Adversary(internal_nodes=False)).status == "optimal"


def test_a_contradiction_among_people_of_whom_something_is_open() -> None:
    """As above, with leaves that hold two quasi-identifiers each: the cut that proves it has coefficients."""
    leaves = [Node(evidence=Evidence(counts=counts)) for counts in ((4, 0), (1, 3), (4, 0), (1, 3))]
    by_b = [(Branch(OneOf("b", ("u",)), k), Branch(OneOf("b", ("v",)), k + 1)) for k in (3, 5)]
    root = Node(branches=(Branch(OneOf("a", ("x",)), 1), Branch(OneOf("a", ("y",)), 2)))
    tree = DecisionTree((root, Node(branches=by_b[0]), Node(branches=by_b[1]), *leaves), ("a", "b", "c"), ("no", "yes"))
    frame = pl.DataFrame({"a": ["x"] * 8 + ["y"] * 8, "b": (["u"] * 4 + ["v"] * 4) * 2, "c": ["p", "q"] * 8})
    with pytest.raises(ContradictionError, match="node 0 against a split by b"):
        infer_sensitive(tree, frame, adversary=Adversary(splits="multiway"))


def test_outcomes() -> None:
    frame, _, tree = categories(0)
    assert isinstance(measure_disclosure(tree, frame), Measured)
    regression = DecisionTreeRegressor(max_depth=1).fit(pd.DataFrame({"x": [1.0, 2.0, 3.0]}), [1.0, 2.0, 3.5])
    assert isinstance(measure_disclosure(regression, pl.DataFrame({"x": [1.0, 2.0, 3.0]})), NotApplicable)
    rules = parse_rules("if [a] then [true] ([0 ; 20] examples)\nelse [false] ([30 ; 10] examples)")
    assert isinstance(measure_disclosure(rules, pl.DataFrame({"a": [1]})), NotApplicable)


def stump(**evidence: Any) -> DecisionTree:
    """Return a tree on one number with two leaves of three and two records."""
    left, right = evidence.get("left", {"counts": (2, 1)}), evidence.get("right", {"counts": (0, 2)})
    return DecisionTree(
        (
            Node(branches=(Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2))),
            Node(evidence=Evidence(**left)),
            Node(evidence=Evidence(**right)),
        ),
        ("age",),
        evidence.get("classes", ("no", "yes")),
        approximate=evidence.get("approximate", False),
        guarantee=evidence.get("guarantee"),
    )


AGES = pl.DataFrame({"age": [20, 30, 40, 50, 60]})
RATES = {"left": {"label": 0, "total": 3}, "right": {"label": 1, "total": 2}}
BAD: list[tuple[str, Callable[[], Any], type[GlassineError], str]] = [
    ("people of another set", lambda: infer_sensitive(stump(), AGES[:4]), InvalidDataError, "2 records, but 1 of"),
    ("nobody in a leaf", lambda: infer_sensitive(stump(), AGES[:3]), InvalidDataError, "no one reaches it"),
    (
        "no tested column",
        lambda: infer_sensitive(stump(), pl.DataFrame({"x": [1]})),
        InvalidDataError,
        "lack the column",
    ),
    (
        "outside every leaf",
        lambda: infer_sensitive(stump(), pl.DataFrame({"age": [20, 30, 40, 50, None]})),
        InvalidDataError,
        "row 4 .* in no leaf",
    ),
    ("no frame", lambda: infer_sensitive(stump(), [1, 2]), InvalidDataError, "must be a data frame"),
    ("no people", lambda: infer_sensitive(stump(), AGES[:0]), InvalidDataError, "at least one record"),
    (
        "text for a number",
        lambda: infer_sensitive(stump(), pl.DataFrame({"age": ["a"] * 5})),
        InvalidDataError,
        "row 0 .* no branch of node 0 on 'age'",
    ),
    ("not a model", lambda: infer_sensitive({"a": 1}, AGES), UnsupportedModelError, "supported are"),
    ("not fitted", lambda: infer_sensitive(DecisionTreeClassifier(), AGES), InvalidModelError, "not fitted"),
    (
        "a private tree",
        lambda: infer_sensitive(stump(guarantee=Guarantee(epsilon=1.0, delta=0.0)), AGES, adversary=Adversary()),
        UndefinedMeasureError,
        "internal_nodes=False",
    ),
    (
        "rounded counts",
        lambda: infer_sensitive(stump(approximate=True), AGES),
        UndefinedMeasureError,
        "noisy or rounded",
    ),
    ("counts not published", lambda: infer_sensitive(stump(**RATES), AGES), UndefinedMeasureError, "class counts"),
    (
        "rates not published",
        lambda: infer_sensitive(stump(**RATES), AGES, adversary=Adversary("error_rates")),
        UndefinedMeasureError,
        "labels_only",
    ),
    (
        "a rate too high for its label",
        lambda: infer_sensitive(
            stump(left={"label": 0, "total": 3, "error_rate": 1.0}, right={"label": 1, "total": 2, "error_rate": 0.0}),
            AGES,
            adversary=Adversary("error_rates"),
        ),
        InvalidModelError,
        "too high",
    ),
    (
        "a label that is not the mode",
        lambda: infer_sensitive(stump(left={"label": 1, "counts": (2, 1)}), AGES, adversary=Adversary("labels_only")),
        InvalidModelError,
        "not its most frequent",
    ),
    (
        "nothing published",
        lambda: infer_sensitive(stump(left={"total": 3}), AGES, adversary=Adversary("labels_only")),
        UndefinedMeasureError,
        "neither counts nor a class",
    ),
    ("the tested attribute", lambda: infer_sensitive(stump(), AGES, sensitive="age"), InvalidDataError, "tests 'age'"),
    (
        "sensitive values for a name",
        lambda: infer_sensitive(stump(), AGES, sensitive=["no"] * 5),  # type: ignore[arg-type]
        InvalidParameterError,
        "name of the class",
    ),
    ("no starts", lambda: infer_sensitive(stump(), AGES, starts=Starts(0)), InvalidParameterError, "number of starts"),
    (
        "starts by truth",
        lambda: infer_sensitive(stump(), AGES, starts=Starts(True)),
        InvalidParameterError,
        "number of starts",
    ),
    (
        "an adversary by name",
        lambda: infer_sensitive(stump(), AGES, adversary="leaf_counts"),  # type: ignore[arg-type]
        InvalidParameterError,
        "must be an Adversary",
    ),
    (
        "marginals of another set",
        lambda: infer_sensitive(stump(), AGES, adversary=Adversary("labels_only", marginals=[1, 1])),
        InvalidDataError,
        "add up to 2",
    ),
    (
        "marginals against the leaves",
        lambda: infer_sensitive(stump(), AGES, adversary=Adversary(marginals=[1, 4])),
        InvalidDataError,
        "not the sums",
    ),
    (
        "marginals of too many classes",
        lambda: infer_sensitive(stump(), AGES, adversary=Adversary("labels_only", marginals=[1, 1, 3])),
        InvalidParameterError,
        "2 numbers",
    ),
    (
        "marginals of unknown classes",
        lambda: infer_sensitive(stump(), AGES, adversary=Adversary("labels_only", marginals={"no": 2, "maybe": 3})),
        InvalidParameterError,
        "'maybe'",
    ),
    (
        "marginals that no labels allow",
        lambda: infer_sensitive(stump(), AGES, adversary=Adversary("labels_only", marginals=[5, 0])),
        ContradictionError,
        "class totals",
    ),
    ("unknown leaves", lambda: Adversary("counts"), InvalidParameterError, "leaf_counts"),  # type: ignore[arg-type]
    ("unknown criterion", lambda: Adversary(criterion="twoing"), InvalidParameterError, "gini"),  # type: ignore[arg-type]
    ("unknown splits", lambda: Adversary(splits="ternary"), InvalidParameterError, "multiway"),  # type: ignore[arg-type]
    ("unknown candidates", lambda: Adversary(candidates="few"), InvalidParameterError, "same"),  # type: ignore[arg-type]
    ("no truth value", lambda: Adversary(internal_nodes="no"), InvalidParameterError, "True or"),  # type: ignore[arg-type]
    (
        "negative marginals",
        lambda: Adversary(marginals=[-1, 2]).class_totals((0, 1)),
        InvalidParameterError,
        "at least 0",
    ),
    ("no tolerance", lambda: Adversary(tolerance=math.nan), InvalidParameterError, "tolerance"),
    ("a leaf of nothing", lambda: Adversary(min_samples_leaf=0), InvalidParameterError, "min_samples_leaf"),
    ("one category", lambda: Adversary(categories="age"), InvalidParameterError, "sequence"),
    (
        "an absent category",
        lambda: infer_sensitive(stump(), AGES, adversary=Adversary(categories=["job"])),
        InvalidDataError,
        "'job'",
    ),
    ("too few truths", lambda: infer_sensitive(stump(), AGES).d_overall(["no"]), InvalidDataError, "5 people"),
    (
        "a missing truth",
        lambda: infer_sensitive(stump(), AGES).d_overall(["no"] * 4 + [None]),
        InvalidDataError,
        "missing",
    ),
    (
        "an unknown truth",
        lambda: infer_sensitive(stump(), AGES).d_overall(["no"] * 4 + ["x"]),
        InvalidDataError,
        "row 4",
    ),
    ("nobody exposed", lambda: infer_sensitive(stump(), AGES).most_exposed(0), InvalidParameterError, "at least 1"),
    ("no such subgroup", lambda: infer_sensitive(stump(), AGES).by_subgroup(AGES, "job"), InvalidDataError, "'job'"),
]


@pytest.mark.parametrize(("call", "error", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_bad_input_has_a_clear_message(call: Callable[[], Any], error: type[GlassineError], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.slow
def test_progress_names_the_stages() -> None:
    frame, _, tree = next(
        t
        for seed in range(50)
        if infer_sensitive((t := parity(seed, n=26, values=2))[2], t[0], adversary=Adversary()).counts.active
    )
    stages: list[str] = []
    infer_sensitive(tree, frame, adversary=Adversary(), progress=stages.append)
    infer_sensitive(tree, frame, adversary=Adversary("error_rates"), starts=Starts(2), progress=stages.append)
    assert stages == [
        "cutting off what the internal nodes exclude", "climbing from start 1 of 2", "climbing from start 2 of 2",
    ]  # fmt: skip


def test_a_tree_of_one_leaf_and_one_class() -> None:
    leaf = DecisionTree((Node(evidence=Evidence(counts=(2, 1))),), ("age",), ("no", "yes"))
    assert infer_sensitive(leaf, AGES[:3]).probabilities == pytest.approx(np.array([[2 / 3, 1 / 3]] * 3))
    sure = DecisionTree((Node(evidence=Evidence(counts=(3,))),), ("age",), ("no",))
    one = infer_sensitive(sure, AGES[:3])
    assert one.entropy == 0
    assert one.d_overall(["no"] * 3) == 0
    assert infer_sensitive(sure, AGES[:3], adversary=Adversary("labels_only")).entropy == 0
    assert infer_domain(AGES).names == ("age",)
