"""The figures that the reconstruction paper prints, and those published with it."""

from __future__ import annotations

import ast
import csv
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassine import Binary, Domain, Integer, RuleList, as_model, parse_rules, reconstruct
from glassine.data.outside import violations
from glassine.domain import Between, OneOf
from glassine.models import Branch, DecisionTree, Evidence, Node, Rule
from tests.oracles import compas


def test_table_2_and_figure_1() -> None:
    """The tree of Figure 1: Dist = 0.736 after Table II."""
    domain = Domain({"a1": Integer(10, 15), "a2": Binary(), "a3": Integer(1, 3)})
    nodes = (
        Node(branches=(Branch(Between("a3", hi=1.5), 1), Branch(Between("a3", lo=1.5), 2))),
        Node(evidence=Evidence(counts=(0, 1))),
        Node(branches=(Branch(Between("a1", hi=11.5), 3), Branch(Between("a1", lo=11.5), 4))),
        Node(evidence=Evidence(counts=(0, 1))),
        Node(evidence=Evidence(counts=(2, 0))),
    )
    known = reconstruct(DecisionTree(nodes, ("a1", "a2", "a3"), (0, 1)), domain)
    assert known.dist() == pytest.approx(0.7356, abs=5e-5)
    assert known.worlds() == (12, 8, 16)
    one_value = 1 - math.log2(2) / math.log2(6)
    assert one_value == pytest.approx(0.613, abs=5e-4)


def test_figure_1_is_what_scikit_learn_learns() -> None:
    from sklearn.tree import DecisionTreeClassifier

    domain = Domain({"a1": Integer(10, 15), "a2": Binary(), "a3": Integer(1, 3)})
    records = np.array([[12, 0, 3], [14, 1, 2], [11, 1, 2], [14, 0, 1]])
    values = {
        round(reconstruct(as_model(tree, domain), domain).dist(), 4)
        for seed in range(20)
        for tree in [DecisionTreeClassifier(random_state=seed).fit(records, [0, 0, 1, 1])]
    }
    assert 0.7356 in values


def test_rule_list_1() -> None:
    domain = Domain.binary(["a1", "a2", "a3"])
    rules = parse_rules(
        "if [a1] and [a2] then [true] ([0 ; 2] examples)\n"
        "else if [a3] then [false] ([2 ; 0] example)\n"
        "else [true] ([0 ; 1] example)",
        domain,
    )
    known = reconstruct(rules, domain)
    assert known.worlds() == (2, 3, 3)
    assert known.dist_g() == pytest.approx(0.4503, abs=5e-5)
    assert known.entropy() == pytest.approx(2 * 1 + 3 * math.log2(3))


@pytest.mark.parametrize(("attribute", "expected"), [("a1", 0.613), ("a2", 0.387)])
def test_toys_of_tables_5_to_7(attribute: str, expected: float) -> None:
    """One record of two attributes, of which one is known: Dist is one half for either, Dist_G is not."""
    domain = Domain({"a1": Binary(), "a2": Integer(1, 3)})
    rules = RuleList(
        (
            Rule(antecedent=(OneOf(attribute, (1,)),), evidence=Evidence(total=1)),
            Rule(evidence=Evidence(total=0)),
        ),
        ("a1", "a2"),
        (0, 1),
    )
    known = reconstruct(rules, domain)
    assert known.dist() == pytest.approx(0.5)
    assert known.dist_g() == pytest.approx(expected, abs=5e-4)


def rows_of(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row["supports"] = [int(size) for size in ast.literal_eval(row["leaves_support"])]
        row["bits"] = ast.literal_eval(row["sorted_leaves_single_example_entropy_list"])
    return rows


@pytest.mark.data
def test_all_published_cart_rows(data_dir: Path, reference_dir: Path) -> None:
    from sklearn.model_selection import train_test_split
    from sklearn.tree import DecisionTreeClassifier

    names, records, labels = compas.read(data_dir)
    domain = Domain.binary(names)
    rows = rows_of(reference_dir / "reconstruction" / "sklearn_DT_compas.csv")
    assert len(rows) == 250
    splits = {
        seed: train_test_split(records, labels, test_size=0.2, random_state=seed, shuffle=True) for seed in range(5)
    }
    for row in rows:
        seed, share, depth = int(row["random_state_value"]), float(row["min_support"]), int(row["max_depth"])
        train, _, train_labels, _ = splits[seed]
        least = int(share * len(train))
        tree = DecisionTreeClassifier(random_state=seed + 1, max_depth=depth, min_samples_leaf=least)
        known = reconstruct(as_model(tree.fit(train, train_labels), domain), domain)
        assert list(known.supports) == row["supports"]
        assert [math.log2(worlds) for worlds in known.worlds()] == row["bits"]
        assert known.entropy() == float(row["reconstructed_dataset_entropy"])
        assert known.prior_entropy() == float(row["no_knowledge_dataset_entropy"])
        assert known.dist_g() == pytest.approx(float(row["entropy_reduction_ratio"]), rel=1e-15)


def tree_of(depths: list[int], supports: list[int], domain: Domain) -> DecisionTree:
    """Rebuild a tree over binary attributes from the depths of its leaves, depth first, testing no attribute twice."""
    nodes: list[Node] = []
    leaves = list(zip(depths, supports, strict=True))

    def grow(depth: int) -> int:
        here = len(nodes)
        nodes.append(Node())
        if leaves[0][0] == depth:
            nodes[here] = Node(evidence=Evidence(total=leaves.pop(0)[1]))
            return here
        name = domain.names[depth]
        branches = tuple(Branch(OneOf(name, (1,), negated=negated), grow(depth + 1)) for negated in (True, False))
        nodes[here] = Node(branches=branches)
        return here

    grow(0)
    assert not leaves
    return DecisionTree(tuple(nodes), domain.names, (0, 1))


@pytest.mark.data
def test_all_published_dl85_rows_from_their_supports(reference_dir: Path) -> None:
    domain = Domain.binary([f"x{i}" for i in range(27)])
    rows = rows_of(reference_dir / "reconstruction" / "DL8.5_compas.csv")
    assert len(rows) == 250
    for row in rows:
        depths = [27 - int(bits) for bits in row["bits"]]
        known = reconstruct(tree_of(depths, row["supports"], domain), domain)
        assert known.entropy() == float(row["reconstructed_dataset_entropy"])
        assert known.dist_g() == pytest.approx(float(row["entropy_reduction_ratio"]), rel=1e-15)


def model_of(entry: dict[str, Any], names: list[str], train: Any, labels: Any, domain: Domain) -> Any:
    if "sklearn" in entry:
        from sklearn.tree import DecisionTreeClassifier

        return as_model(DecisionTreeClassifier(**entry["sklearn"]).fit(train, labels), domain)
    antecedents = [tuple(OneOf(names[abs(n) - 1], (1,), negated=n < 0) for n in rule) for rule in [*entry["rules"], []]]
    rules = [
        Rule(antecedent=antecedent, evidence=Evidence(total=size))
        for antecedent, size in zip(antecedents, entry["supports"], strict=True)
    ]
    return RuleList(tuple(rules), tuple(names), (0, 1))


@pytest.mark.data
def test_the_four_models_to_the_last_digit_and_with_true_groups(data_dir: Path, reference_dir: Path) -> None:
    from sklearn.model_selection import train_test_split

    names, records, labels = compas.read(data_dir)
    domain = compas.domain(names)
    assert domain.size() == 11_520
    assert math.log2(11_520) == pytest.approx(13.49, abs=5e-3)
    import pandas as pd

    assert violations(domain, pd.DataFrame(records, columns=names)) == {}
    train, _, train_labels, _ = train_test_split(records, labels, test_size=0.2, random_state=0)
    entries = json.loads((reference_dir / "reconstruction" / "models.json").read_text())["models"]
    aware = {"CART on COMPAS": 0.4908, "GreedyRL on COMPAS, width 1": 0.7989, "CORELS on COMPAS, width 1": 0.6942}
    for entry in entries:
        known = reconstruct(model_of(entry, names, train, train_labels, domain), domain)
        assert known.entropy() == entry["H"]
        assert known.prior_entropy() == entry["H0"]
        assert known.dist_g() == entry["dist_g"]
        if "worlds" in entry:
            assert known.worlds() == tuple(entry["worlds"])
        if "leaves" in entry:
            assert len(known.worlds()) == entry["leaves"]
        if entry["name"] in aware:
            assert known.dist_g(domain_aware=True) == pytest.approx(aware[entry["name"]], abs=5e-5)


@pytest.mark.data
def test_no_training_record_falls_outside_its_reconstruction(data_dir: Path) -> None:
    """Soundness: every true record is one of the possible records of its leaf."""
    from sklearn.tree import DecisionTreeClassifier

    names, records, labels = compas.read(data_dir)
    domain = compas.domain(names)
    tree = as_model(
        DecisionTreeClassifier(max_depth=10, min_samples_leaf=20, random_state=0).fit(records, labels), domain
    )
    columns = dict(zip(names, records.T, strict=True))
    cells = tree.apply(columns)
    assert np.bincount(cells, minlength=len(tree.cells)).tolist() == list(reconstruct(tree, domain).supports)
    for i, cell in enumerate(tree.cells):
        inside = np.all([lit.holds(columns[lit.attribute]) for lit in cell.inside], axis=0)
        assert np.array_equal(inside, cells == i)


@pytest.mark.slow
def test_hard_lists_are_counted_in_seconds() -> None:
    """A generous bound on a list that the published recursion cannot finish; benchmarks hold the figures."""
    rng = np.random.default_rng(0)
    domain = Domain.binary([f"x{i}" for i in range(100)])
    rules = [
        Rule(
            antecedent=tuple(OneOf(f"x{i}", (1,), negated=bool(rng.integers(2))) for i in rng.choice(100, 3, False)),
            evidence=Evidence(total=1),
        )
        for _ in range(40)
    ]
    started = time.monotonic()
    known = reconstruct(RuleList((*rules, Rule(evidence=Evidence(total=1))), domain.names, (0, 1)), domain)
    assert sum(known.worlds()) == 2**100
    assert time.monotonic() - started < 60
