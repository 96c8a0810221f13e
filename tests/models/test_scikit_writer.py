"""A model as a scikit-learn pipeline predicts the same, keeps its regions, and needs nothing of ours."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from sklearn.tree import DecisionTreeClassifier, export_text

from glassine import parse_rules
from glassine.domain import Between, Binary, Category, Domain, OneOf
from glassine.errors import InvalidDataError, InvalidModelError, UnsupportedModelError
from glassine.formats import as_model, to_sklearn
from glassine.models import Branch, DecisionTree, Evidence, Node, Rule, RuleList
from tests.models.test_scikit import columns_of, make_data
from tests.models.test_sql import frame_of
from tests.models.writing import HOSTILE, cases, chain, stump


def frames(columns: dict[str, npt.NDArray[Any]]) -> list[Any]:
    return [
        frame_of(columns),
        pd.DataFrame(dict(columns)),
        pd.DataFrame({k: v.astype(object) for k, v in columns.items()}),
    ]


def answered(model: DecisionTree | RuleList, columns: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Return the records for which the model has an answer."""
    kept = []
    for row in range(len(next(iter(columns.values())))):
        try:
            model.apply({name: values[row : row + 1] for name, values in columns.items()})
        except InvalidDataError:
            continue
        kept.append(row)
    return {name: values[kept] for name, values in columns.items()}


@pytest.mark.slow
@settings(max_examples=60)
@given(case=cases(predicts=True))
def test_the_pipeline_predicts_what_the_model_predicts(case: Any) -> None:
    model, domain, columns = case
    columns = answered(model, columns)
    if not len(next(iter(columns.values()))):
        return
    expected = model.predict(columns).tolist()
    for given_domain in (None, domain):
        presence = {lit.attribute for lit in model.literals if isinstance(lit, OneOf) and not lit.values}
        compared = {lit.attribute for lit in model.literals if isinstance(lit, Between) or lit.values}
        if given_domain is None and presence - compared:
            with pytest.raises(UnsupportedModelError, match="asks only whether"):
                to_sklearn(model)
            continue
        pipeline = to_sklearn(model, given_domain)
        for frame in frames(columns):
            assert pipeline.predict(frame).tolist() == expected


@pytest.mark.slow
@settings(max_examples=80)
@given(case=cases(predicts=True))
def test_probabilities_are_the_published_shares(case: Any) -> None:
    model, domain, columns = case
    columns = answered(model, columns)
    if model.classes is None or not len(next(iter(columns.values()))):
        return
    pipeline = to_sklearn(model, domain)
    order = [pipeline.classes_.tolist().index(label) for label in model.classes]
    found = pipeline.predict_proba(frame_of(columns))[:, order]
    cells = [model.cells[i].evidence for i in model.apply(columns)]
    for row, evidence, published in zip(found, cells, model.predict_proba(columns), strict=True):
        label = evidence.prediction
        if np.isnan(published).any() or published[label] < published.max():
            published = np.eye(len(row))[label]
        assert np.allclose(row, published, rtol=0, atol=1e-8)


@pytest.mark.slow
@settings(max_examples=100)
@given(case=cases(predicts=True, lists=False, multiway=False))
def test_nodes_keep_their_numbers(case: Any) -> None:
    model, domain, columns = case
    one_sided = all(not isinstance(lit, Between) or math.inf in (-lit.lo, lit.hi) for lit in model.literals)
    pipeline = to_sklearn(model, domain)
    tree, encoded = pipeline["tree"], pipeline[:-1].transform(frame_of(columns))
    leaves = tree.apply(encoded)
    paths = tree.decision_path(encoded).toarray().astype(bool)
    node_of = {i: cell.node for i, cell in enumerate(model.cells)}
    parents = {branch.child: i for i, node in enumerate(model.nodes) for branch in node.branches}
    if one_sided:
        assert tree.tree_.node_count == len(model.nodes)
    for row, part in enumerate(model.apply(columns)):
        if not one_sided:
            continue
        assert leaves[row] == node_of[int(part)]
        path, node = {node_of[int(part)]}, node_of[int(part)]
        while node in parents:
            node = parents[node]
            path.add(node)
        assert set(np.flatnonzero(paths[row])) == path


@pytest.mark.slow
@settings(max_examples=100)
@given(case=cases(predicts=True))
def test_what_is_read_back_has_the_same_regions(case: Any) -> None:
    model, domain, columns = case
    columns = answered(model, columns)
    if not len(next(iter(columns.values()))):
        return
    try:
        back = as_model(to_sklearn(model, domain), domain)
    except UnsupportedModelError as error:
        # An encoder cannot tell a category such as "" from a gap, where the domain does not list it.
        if "from a missing value" not in str(error):
            raise
        return
    assert back.predict(columns).tolist() == model.predict(columns).tolist()
    # Records of one leaf there lie in one leaf or rule here.
    home: dict[int, int] = {}
    for theirs, ours in zip(back.apply(columns).tolist(), model.apply(columns).tolist(), strict=True):
        assert home.setdefault(theirs, ours) == ours


def test_a_tree_of_scikit_learn_comes_back_as_it_was() -> None:
    frame, target = make_data(n=300)
    fitted = DecisionTreeClassifier(max_depth=5, random_state=0).fit(frame, target)
    model = as_model(fitted)
    pipeline = to_sklearn(model)
    copy, before = pipeline["tree"].tree_, fitted.tree_
    for name in ("children_left", "children_right", "threshold", "n_node_samples", "value"):
        assert np.allclose(getattr(copy, name), getattr(before, name)), name
    assert np.allclose(copy.impurity, before.impurity)
    assert copy.max_depth == before.max_depth
    assert as_model(pipeline).cells == model.cells
    assert pipeline.predict_proba(frame).tolist() == fitted.predict_proba(frame).tolist()
    assert "<=" in export_text(pipeline["tree"])
    assert columns_of(frame)


@pytest.mark.slow
def test_it_unpickles_without_glassine(tmp_path: Path) -> None:
    model = as_model(DecisionTreeClassifier(max_depth=3, random_state=0).fit(*make_data(n=100)))
    text = "if [colour in {red, blue} or missing] and [not smoker] then [yes] (3 examples)\nelse [no] (4 examples)"
    for i, made in enumerate((model, parse_rules(text))):
        (tmp_path / f"{i}.pickle").write_bytes(pickle.dumps(to_sklearn(made)))
    code = (
        "import sys; sys.modules['glassine'] = None\n"
        "import pickle, pandas as pd\n"
        "rules = pickle.load(open('1.pickle', 'rb')); pickle.load(open('0.pickle', 'rb'))\n"
        "frame = pd.DataFrame({'colour': ['red', 'green', None, 'blue'], 'smoker': [0, 0, 0, 1]})\n"
        "print(rules.predict(frame).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['yes', 'no', 'yes', 'no']"


def test_a_number_that_equals_the_threshold_stays_on_its_side() -> None:
    """0.3 is larger in single precision than in double: a tree that kept the threshold would send it right."""
    rules = RuleList(
        (Rule(antecedent=(Between("x", hi=0.3),), evidence=Evidence(label=1)), Rule(evidence=Evidence(label=0))),
        ("x",),
        (0, 1),
    )
    assert to_sklearn(rules).predict(pl.DataFrame({"x": [0.3, 0.2999, 0.3001]})).tolist() == [1, 1, 0]


def test_the_label_wins_over_the_counts() -> None:
    rules = RuleList(
        (
            Rule(antecedent=(OneOf("a", (1,)),), evidence=Evidence(counts=(5, 3), label=1)),
            Rule(evidence=Evidence(counts=(4, 4), label=1)),
        ),
        ("a",),
        ("no", "yes"),
    )
    pipeline = to_sklearn(rules)
    frame = pl.DataFrame({"a": [1, 0]})
    assert pipeline.predict(frame).tolist() == ["yes", "yes"]
    assert np.allclose(pipeline.predict_proba(frame), np.array([[0.5, 0.5], [0.5, 0.5]]), atol=1e-8)


@pytest.mark.parametrize("text", HOSTILE)
def test_any_name_is_a_column(text: str) -> None:
    pipeline = to_sklearn(stump(text, text, (text, "other")))
    assert pipeline.predict(pl.DataFrame({text: [text, "no", None]})).tolist() == [text, "other", "other"]


def test_a_tree_without_splits_and_a_deep_one() -> None:
    single = DecisionTree((Node(evidence=Evidence(counts=(1, 3))),), ("x",), (0, 1))
    assert to_sklearn(single).predict(pl.DataFrame({"x": ["a", "b"]})).tolist() == [1, 1]
    deep = chain(500)
    values = np.array([-1.0, 70.5, 1000.0, np.nan])
    found = to_sklearn(deep).predict(pl.DataFrame({"x": values}))
    assert found.tolist() == deep.predict({"x": values}).tolist()


def test_what_scikit_learn_cannot_hold_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="needs an attribute"):
        to_sklearn(DecisionTree((Node(evidence=Evidence(label=0)),), (), (0, 1)))
    with pytest.raises(UnsupportedModelError, match="part 2 predicts nothing"):
        to_sklearn(parse_rules("if [a] then [true]\nelse [?]"))
    mixed = Rule(antecedent=(OneOf("x", ("a", 1)),), evidence=Evidence(label=0))
    with pytest.raises(UnsupportedModelError, match="both texts and numbers"):
        to_sklearn(RuleList((mixed, Rule(evidence=Evidence(label=1))), ("x",), (0, 1)))
    with pytest.raises(UnsupportedModelError, match="the classes are texts and numbers"):
        to_sklearn(stump("x", "a", (0, "a")))
    wide = Rule(antecedent=tuple(OneOf(f"b{i}", (1,)) for i in range(3)), evidence=Evidence(label=0))
    rules = RuleList((*[wide] * 40, Rule(evidence=Evidence(label=1))), ("b0", "b1", "b2"), (0, 1))
    with pytest.raises(UnsupportedModelError, match="more than 100,000 nodes"):
        to_sklearn(rules)
    with pytest.raises(InvalidModelError, match="the domain lacks"):
        to_sklearn(stump("x", "a", (0, 1)), Domain({"y": Category(("a",))}))


def test_binary_attributes_pass_through_as_numbers() -> None:
    rules = parse_rules("if [smoker] then [ill] (3 examples)\nelse [well] (5 examples)")
    for domain in (None, Domain({"smoker": Binary()})):
        encoder = to_sklearn(rules, domain)["encode"]
        assert [name for name, _, _ in encoder.transformers_] == ["numbers"]


def test_splits_of_three_branches() -> None:
    nodes = (
        Node(branches=tuple(Branch(OneOf("c", (v,)), i) for i, v in enumerate("abc", start=1))),
        *(Node(evidence=Evidence(label=i)) for i in range(3)),
    )
    model = DecisionTree(nodes, ("c",), ("A", "B", "C"))
    frame = pl.DataFrame({"c": ["a", "b", "c", "zz"]})
    assert to_sklearn(model).predict(frame).tolist() == ["A", "B", "C", "C"]
