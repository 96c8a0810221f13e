"""Scrubbing: what it removes, what it keeps, what it costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassine import Category, DecisionTree, Domain, Integer, Real, RuleList, as_model, audit, parse_rules, scrub
from glassine.domain import Between, OneOf
from glassine.domain.grid import on_grid
from glassine.errors import InvalidDataError, InvalidModelError, InvalidParameterError
from glassine.models import Branch, Evidence, Guarantee, Node, Rule
from glassine.models.guarantee import DOMAIN_FROM_DATA
from glassine.scrubbing.scrub import accuracy
from tests.oracles import strategies
from tests.oracles.worlds import captured, records
from tests.policies import NORM

DOMAIN = Domain({"x": Real(0.0, 1.0), "n": Integer(0, 100), "c": Category(("a", "b", "d"))})


def fitted(seed: int = 0, **options: Any) -> tuple[DecisionTree, pd.DataFrame]:
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.uniform(size=500), "n": rng.integers(0, 101, 500)})
    frame["y"] = np.where(frame["x"] + frame["n"] / 100 + 0.3 * rng.normal(size=500) > 1, "yes", "no")
    tree = as_model(DecisionTreeClassifier(random_state=0, **options).fit(frame[["x", "n"]], frame["y"]))
    assert isinstance(tree, DecisionTree)
    return tree, frame


def thresholds(model: DecisionTree | RuleList) -> set[tuple[str, float]]:
    bounds = {(lit.attribute, b) for lit in model.literals if isinstance(lit, Between) for b in (lit.lo, lit.hi)}
    return {(name, bound) for name, bound in bounds if np.isfinite(bound)}


@pytest.mark.parametrize("counts", ["keep", "coarsen", "remove"])
def test_scrubbed_thresholds_are_public_and_audited_again(counts: Any) -> None:
    tree, frame = fitted(max_depth=6)
    result = scrub(tree, DOMAIN, counts=counts, smallest_leaf=10)
    assert all(on_grid(DOMAIN[name], bound) for name, bound in thresholds(result.model))
    before = audit(tree, domain=DOMAIN, data=frame).to_dict()
    after = audit(result.model, domain=DOMAIN, data=frame).to_dict()
    assert before["measured"]["values"]["n_off_grid"] > 0 == after["measured"]["values"]["n_off_grid"]
    assert before["measured"]["values"]["n_midpoints"] > 0 == after["measured"]["values"]["n_midpoints"]
    assert result.n_rounded + result.n_dropped > 0
    assert result.model.approximate
    assert accuracy(tree, frame, "y") - accuracy(result.model, frame, "y") < 0.1


def test_coarsened_counts_are_multiples_and_removed_ones_are_gone() -> None:
    tree, _ = fitted(max_depth=4)
    coarse = scrub(tree, DOMAIN, counts="coarsen", base=5).model
    assert all(count % 5 == 0 for cell in coarse.cells for count in cell.evidence.counts or ())
    assert all(cell.evidence.counts for cell in coarse.cells)
    gone = scrub(tree, DOMAIN, counts="remove").model
    assert all(cell.evidence.size is None and cell.evidence.prediction is not None for cell in gone.cells)


@pytest.mark.slow
@settings(max_examples=100)
@given(st.data())
def test_scrubbed_trees_still_partition_the_records_and_keep_their_labels(data: st.DataObject) -> None:
    domain = data.draw(strategies.domains(ties=False))
    tree = data.draw(strategies.trees(domain))
    scrubbed = scrub(tree, domain, counts="keep").model
    again = scrub(scrubbed, domain, counts="keep").model
    assert again == scrubbed
    for record in records(domain, domain_aware=True):
        assert sum(captured(record, cell) for cell in scrubbed.cells) == 1
    labels = {cell.evidence for cell in tree.cells}
    assert {cell.evidence for cell in scrubbed.cells} <= labels


@pytest.mark.slow
@settings(max_examples=60)
@given(st.data())
def test_scrubbed_rule_lists_still_capture_every_record(data: st.DataObject) -> None:
    domain = data.draw(strategies.domains(ties=False))
    rules = data.draw(strategies.rule_lists(domain))
    scrubbed = scrub(rules, domain, counts="keep").model
    assert isinstance(scrubbed, RuleList)
    assert len(scrubbed.rules) <= len(rules.rules)
    for record in records(domain, domain_aware=True):
        assert sum(captured(record, cell) for cell in scrubbed.cells) == 1


def test_public_models_pass_unchanged() -> None:
    domain = Domain({"n": Integer(0, 100, thresholds=(40.0,)), "c": Category(("a", "b"))})
    nodes = (
        Node(branches=(Branch(Between("n", hi=40), 1), Branch(Between("n", lo=40), 2))),
        Node(evidence=Evidence(counts=(30, 10))),
        Node(branches=(Branch(OneOf("c", ("a",)), 3), Branch(OneOf("c", ("b",)), 4))),
        Node(evidence=Evidence(counts=(20, 10))),
        Node(evidence=Evidence(counts=(10, 20))),
    )
    tree = DecisionTree(nodes, ("n", "c"), (0, 1))
    result = scrub(tree, domain, counts="keep")
    assert result.model == tree
    assert (result.n_rounded, result.n_dropped, result.n_merged) == (0, 0, 0)


def test_small_leaves_are_merged_from_below() -> None:
    tree, frame = fitted()
    result = scrub(tree, DOMAIN, counts="keep", smallest_leaf=15)
    sizes = [cell.evidence.size or 0 for cell in result.model.cells]
    assert min(sizes) >= 15
    assert sum(sizes) == len(frame)
    assert result.n_merged == len(tree.cells) - len(sizes) > 0
    everything = scrub(tree, DOMAIN, counts="keep", smallest_leaf=10_000).model
    assert [cell.evidence.counts for cell in everything.cells] == [tuple(np.unique(frame["y"], return_counts=True)[1])]


def test_thresholds_that_meet_drop_their_split() -> None:
    nodes = (
        Node(branches=(Branch(Between("x", hi=0.504), 1), Branch(Between("x", lo=0.504), 2))),
        Node(branches=(Branch(Between("x", hi=0.496), 3), Branch(Between("x", lo=0.496), 4))),
        Node(evidence=Evidence(counts=(5, 15))),
        Node(evidence=Evidence(counts=(15, 5))),
        Node(evidence=Evidence(counts=(9, 11))),
    )
    result = scrub(DecisionTree(nodes, ("x",), (0, 1)), DOMAIN, counts="keep")
    assert [str(cell) for cell in result.model.cells] == ["x <= 0.5", "x > 0.5"]
    assert [cell.evidence.counts for cell in result.model.cells] == [(15, 5), (5, 15)]
    assert result.n_rounded == 2


@pytest.mark.slow
def test_a_deep_chain_needs_no_recursion() -> None:
    depth = 1100
    nodes: list[Node] = []
    for i in range(depth):
        cut = i + 0.5
        nodes.append(Node(branches=(Branch(Between("n", hi=cut), 2 * i + 1), Branch(Between("n", lo=cut), 2 * i + 2))))
        nodes.append(Node(evidence=Evidence(counts=(1, 0))))
    nodes.append(Node(evidence=Evidence(counts=(0, 1))))
    order = [nodes[2 * i] for i in range(depth)]
    flat: list[Node] = []
    for i, node in enumerate(order):
        flat.append(
            Node(branches=(Branch(node.branches[0].literal, 2 * i + 1), Branch(node.branches[1].literal, 2 * i + 2)))
        )
        flat.append(nodes[2 * i + 1])
    flat.append(nodes[-1])
    tree = DecisionTree(tuple(flat), ("n",), (0, 1))
    domain = Domain({"n": Integer(0, depth)})
    result = scrub(tree, domain, smallest_leaf=10)
    assert len(result.model.cells) < 200
    assert audit(tree, domain=domain).verdict == "outside policy"


def test_accuracy_compares_classes_as_text_and_r2() -> None:
    rules = parse_rules("if [a] then [true] ([0 ; 2] examples)\nelse [false] ([3 ; 1] examples)")
    frame = pd.DataFrame({"a": [1, 1, 0, 0], "y": [1, 0, 0, 0], "z": ["?"] * 4})
    assert accuracy(rules, frame, "y") == 0.75
    assert accuracy(rules, frame.assign(y=[True, True, False, False]), "y") == 1
    with pytest.raises(InvalidDataError, match="no value of 'z' is a class"):
        accuracy(rules, frame, "z")
    with pytest.raises(InvalidDataError, match="lack the target column 'w'"):
        accuracy(rules, frame, "w")
    nodes = (
        Node(branches=(Branch(Between("a", hi=0.5), 1), Branch(Between("a", lo=0.5), 2))),
        Node(evidence=Evidence(total=2, value=0.0)),
        Node(evidence=Evidence(total=2, value=0.5)),
    )
    assert accuracy(DecisionTree(nodes, ("a",)), frame, "y") == pytest.approx(1 - 0.5 / 0.75)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"counts": "hide"}, "counts must be"),
        ({"base": 1}, "base must be at least 2"),
        ({"smallest_leaf": float("nan")}, "smallest_leaf must be at least 0"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    tree, _ = fitted(max_depth=2)
    with pytest.raises(InvalidModelError, match=message):
        scrub(tree, DOMAIN, **options)


@pytest.mark.parametrize(("value", "cell"), [(20, Between("a", hi=40)), (70, Between("a", lo=40))])
def test_a_number_beyond_the_outer_cuts_becomes_its_open_cell(value: int, cell: Between) -> None:
    rules = RuleList(
        (
            Rule(antecedent=(OneOf("a", (value,)),), evidence=Evidence(counts=(14, 31))),
            Rule(evidence=Evidence(counts=(52, 9))),
        ),
        ("a",),
        ("no", "yes"),
    )
    domain = Domain({"a": Integer(0, 99, thresholds=(40,))})
    assert scrub(rules, domain, counts="keep").model.literals == (cell,)


def test_merging_needs_a_tree_with_counts() -> None:
    rules = parse_rules("if [a] then [true] ([0 ; 2] examples)\nelse [false] ([3 ; 1] examples)")
    with pytest.raises(InvalidModelError, match="only a tree's leaves"):
        scrub(rules, Domain.binary(["a"]), smallest_leaf=5)
    tree, _ = fitted(max_depth=2)
    bare = scrub(tree, DOMAIN, counts="remove").model
    with pytest.raises(InvalidModelError, match="publishes no counts"):
        scrub(bare, DOMAIN, smallest_leaf=5)


def test_with_data_leaves_are_counted_again_after_rounding() -> None:
    tree, frame = fitted(max_depth=7)
    result = scrub(tree, DOMAIN, counts="remove", smallest_leaf=12, data=frame)
    columns = {name: frame[name].to_numpy() for name in ("x", "n")}
    assert min(np.bincount(result.model.apply(columns), minlength=len(result.model.cells))) >= 12
    findings = audit(result.model, domain=DOMAIN, data=frame, policy=NORM)
    assert next(check for check in findings.checks if check.rule == "smallest_leaf").status == "pass"
    bare = scrub(tree, DOMAIN, counts="remove").model
    again = scrub(bare, DOMAIN, smallest_leaf=12, data=frame).model
    assert min(np.bincount(again.apply(columns), minlength=len(again.cells))) >= 12


@pytest.mark.slow
@settings(max_examples=80)
@given(st.data())
def test_every_scrubbed_model_can_be_written_and_read(data: st.DataObject) -> None:
    from glassine.formats.json import from_dict, to_dict

    domain = data.draw(strategies.domains(ties=False))
    model = data.draw(st.one_of(strategies.rule_lists(domain), strategies.trees(domain)))
    scrubbed = scrub(model, domain, counts=data.draw(st.sampled_from(["keep", "coarsen", "remove"]))).model
    assert from_dict(to_dict(scrubbed)) == scrubbed


def test_a_regression_on_a_constant_target_has_no_r2() -> None:
    tree = DecisionTree((Node(evidence=Evidence(total=3, value=1.0)),), ("a",))
    with pytest.raises(InvalidDataError, match="R\\^2 is undefined"):
        accuracy(tree, pd.DataFrame({"a": [1, 2], "y": [1.0, 1.0]}), "y")
    with pytest.raises(InvalidDataError, match="without gaps"):
        accuracy(tree, pd.DataFrame({"a": [1, 2], "y": ["u", "v"]}), "y")


def test_leaves_are_merged_until_each_holds_enough_people() -> None:
    """Both leaves of a split can hold the same people: added up they seem enough, counted together they are not."""
    who = [0, 1, 2, 3, 4, 5] * 2 + list(range(10, 30))
    frame = pl.DataFrame({"who": who, "x": [1] * 6 + [3] * 6 + [7] * 20, "y": [0] * 6 + [1] * 6 + [2] * 20})
    domain = Domain({"x": Integer(0, 9)})
    tree = DecisionTreeClassifier(max_leaf_nodes=3).fit(frame.select("x").to_numpy(), frame["y"].to_numpy())
    model = as_model(tree, domain)
    kept = [scrub(model, domain, smallest_leaf=10, data=frame, persons=who) for who in (None, "who")]
    assert [len(done.model.cells) for done in kept] == [2, 1]
    everyone = scrub(model, domain, smallest_leaf=6, data=frame, persons="who").model
    cells = everyone.apply({"x": frame["x"].to_numpy()})
    assert min(len({who[i] for i in np.flatnonzero(cells == c)}) for c in range(len(everyone.cells))) >= 6


def test_scrubbing_by_person_needs_what_is_counted() -> None:
    frame = pl.DataFrame({"who": [0, 1, None], "x": [1, 2, 3], "y": [0, 1, 1]})
    domain = Domain({"x": Integer(0, 9)})
    tree = DecisionTreeClassifier().fit(frame.select("x").to_numpy(), frame["y"].to_numpy())
    with pytest.raises(InvalidParameterError, match="Pass data and smallest_leaf"):
        scrub(tree, domain, persons="who")
    with pytest.raises(InvalidDataError, match="1 of 3 records of the data have no identifier"):
        scrub(tree, domain, smallest_leaf=2, data=frame, persons="who")


def split(*leaves: int) -> DecisionTree:
    """Return a tree on x <= 0.25, x <= 0.504 and n <= 30.5 with leaves of some sizes."""
    nodes = (
        Node(branches=(Branch(Between("x", hi=0.504), 1), Branch(Between("x", lo=0.504), 2))),
        Node(branches=(Branch(Between("x", hi=0.25), 3), Branch(Between("x", lo=0.25), 4))),
        Node(branches=(Branch(Between("n", hi=30.4), 5), Branch(Between("n", lo=30.4), 6))),
        *(Node(evidence=Evidence(counts=(size, 0))) for size in leaves),
    )
    return DecisionTree(nodes, ("x", "n"), (0, 1))


NOISY = Guarantee(epsilon=1.0, count_scale=4.0)
QUARTERS = Domain({"x": Real(0.0, 1.0, thresholds=(0.25, 0.5)), "n": Integer(0, 100, thresholds=(30.5,))})


def reported(result: Any) -> tuple[int, int, int]:
    return result.n_rounded, result.n_dropped, result.n_merged


def test_what_was_done_is_counted_by_its_kind() -> None:
    tree = split(40, 3, 30, 20)
    assert reported(scrub(tree, QUARTERS)) == (2, 0, 0)
    # The leaf of three is merged with its sibling.
    merged = scrub(tree, QUARTERS, counts="keep", smallest_leaf=10)
    assert reported(merged) == (2, 0, 1)
    assert [cell.evidence.counts for cell in merged.model.cells] == [(43, 0), (30, 0), (20, 0)]
    # Without 0.25 the public cut points are 0.5 alone: both thresholds move there, and one leaf falls away.
    halves = Domain({"x": Real(0.0, 1.0, thresholds=(0.5,)), "n": QUARTERS["n"]})
    assert reported(scrub(tree, halves)) == (3, 1, 0)
    # Published counts merge leaves before thresholds move; the data alone, after it.
    assert reported(scrub(tree, halves, smallest_leaf=25))[1:] == (0, 2)
    bare = replace(tree, nodes=tuple(replace(node, evidence=Evidence(label=0)) for node in tree.nodes))
    frame = pd.DataFrame({"x": [0.1] * 40 + [0.3] * 3 + [0.9] * 50, "n": [10] * 73 + [60] * 20})
    assert reported(scrub(bare, halves, smallest_leaf=25, data=frame)) == (3, 1, 1)
    assert reported(scrub(bare, halves, smallest_leaf=50, data=frame)) == (3, 1, 2)


def test_rules_that_fall_away_are_counted_and_none_is_merged() -> None:
    rules = parse_rules("if [x <= 0.2] then [0] ([4 ; 0] examples)\nelse [1] ([0 ; 3] examples)", QUARTERS)
    assert reported(scrub(rules, QUARTERS)) == (1, 0, 0)
    lines = [
        "if [x <= 0.2] then [0] ([4 ; 0] examples)",
        "else if [x > 0.26] and [x <= 0.27] then [1] ([1 ; 2] examples)",
    ]
    twice = parse_rules("\n".join([*lines, "else [1] ([0 ; 3] examples)"]), QUARTERS)
    assert reported(scrub(twice, QUARTERS)) == (3, 1, 0)


def test_merged_leaves_with_exact_counts_are_exact_and_noisy_ones_are_approximate() -> None:
    public = Domain({"x": Real(0.0, 1.0, thresholds=(0.25, 0.504)), "n": Integer(0, 100, thresholds=(30.4,))})
    tree = split(40, 3, 30, 20)
    merged = scrub(tree, public, counts="keep", smallest_leaf=10)
    assert reported(merged) == (0, 0, 1)
    assert not merged.model.approximate
    noisy = scrub(replace(tree, guarantee=NOISY), public, counts="keep", smallest_leaf=10)
    assert reported(noisy) == (0, 0, 1)
    assert noisy.model.approximate
    assert not scrub(replace(tree, guarantee=NOISY), public, counts="keep").model.approximate


def test_a_value_whose_cell_is_public_is_still_named_and_others_are_widened_to_their_cell() -> None:
    domain = Domain({"n": Integer(0, 100, thresholds=(39.5, 40.5, 60.5))})

    def scrubbed(value: int) -> list[str]:
        branches = (Branch(OneOf("n", (value,)), 1), Branch(OneOf("n", (value,), negated=True), 2))
        leaves = (Node(evidence=Evidence(counts=(30, 0))), Node(evidence=Evidence(counts=(0, 40))))
        return [
            str(cell)
            for cell in scrub(DecisionTree((Node(branches=branches), *leaves), ("n",), (0, 1)), domain).model.cells
        ]

    assert scrubbed(40) == ["n = 40", "n != 40"]
    # One side of the cell alone is next to the value.
    assert scrubbed(41) == ["40.5 < n <= 60.5", "not (40.5 < n <= 60.5)"]
    assert scrubbed(39) == ["n <= 39.5", "n > 39.5"]


def test_leaves_of_enough_people_stay_though_each_has_several_records() -> None:
    # The counts of a leaf are of records. Those of 40 people with three records each are more than 40.
    _, frame = fitted()
    tripled = pl.concat([pl.from_pandas(frame).with_columns(who=pl.Series(range(len(frame))))] * 3)
    grown = DecisionTreeClassifier(max_leaf_nodes=8, min_samples_leaf=120, random_state=0)
    tree = as_model(grown.fit(tripled.select("x", "n").to_pandas(), tripled["y"].to_numpy()), DOMAIN)
    for smallest, merges in ((10, False), (60, True)):
        found = scrub(tree, DOMAIN, smallest_leaf=smallest, counts="keep", data=tripled, persons="who")
        assert (found.n_merged > 0) == merges
        assert len(found.model.cells) > 1


def test_a_copy_in_a_domain_from_the_records_is_not_covered_by_a_guarantee() -> None:
    domain = Domain({"age": Integer(18, 73, inferred=True), "b": Integer(0, 9)})
    for text, caveats in (("age <= 40", (DOMAIN_FROM_DATA,)), ("b <= 4", ())):
        rules = parse_rules(f"if [{text}] then [true] ([30 ; 40] examples)\nelse [false] ([20 ; 50] examples)", domain)
        claim = Guarantee(epsilon=1.0, count_scale=2.0)
        copy = scrub(replace(rules, guarantee=claim), domain)
        assert copy.model.guarantee == replace(claim, caveats=caveats), text
        assert scrub(copy.model, domain).model.guarantee == copy.model.guarantee, "a reason is stated once"


def test_what_is_said_of_inner_nodes_does_not_give_sizes_of_leaves_away() -> None:
    """The mean of a node is that of its children by their sizes, so that three means give the share of each."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 300)})
    fit = DecisionTreeRegressor(max_depth=1, min_samples_leaf=30).fit(frame, 100.0 * frame["age"])
    domain = Domain({"age": Integer(18, 90)})
    left, right = (node.evidence for node in as_model(fit, domain).nodes[1:])
    assert left.size is not None
    expected: dict[Any, int | None] = {"remove": None, "coarsen": (left.size + 5) // 10 * 10}
    for counts, size in expected.items():
        root, *leaves = scrub(fit, domain, counts=counts).model.nodes
        assert root.evidence == Evidence(), counts
        assert [leaf.evidence.value for leaf in leaves] == [float(f"{side.value:.3g}") for side in (left, right)]
        assert leaves[0].evidence.size == size


@pytest.mark.parametrize("counts", ["remove", "coarsen"])
def test_means_of_whole_numbers_do_not_reveal_how_many(counts: Any) -> None:
    """Of seven records, one yes is 0.143, which is no mean of fewer, nor of 8 to 13."""
    domain = Domain({"a": Integer(0, 9)})

    def means(*sides: tuple[float, int]) -> list[float | None]:
        leaves = [Node(evidence=Evidence(total=n, value=total / n)) for total, n in sides]
        branches = (Branch(Between("a", hi=4.5), 1), Branch(Between("a", lo=4.5), 2))
        tree = DecisionTree((Node(branches=branches), *leaves), ("a",))
        return [cell.evidence.value for cell in scrub(tree, domain, counts=counts).model.cells]

    assert means((1, 7), (11, 30)) == [0.1, 0.4]
    # The unit of the targets counts: halves, or 0 and 100 in place of 0 and 1.
    assert means((1, 7), (11.5, 30)) == [0.15, 0.4]
    assert means((100, 7), (1_100, 30)) == [10.0, 40.0]
    # Single precision hides no unit.
    assert means((float(np.float32(1 / 7)) * 7, 7), (float(np.float32(11 / 30)) * 30, 30)) == [0.1, 0.4]
    # Numbers of no unit keep three digits, and means too near for the unit keep apart.
    assert means((1.02718281828, 7), (11.531415926, 30)) == [0.147, 0.384]
    assert means((100_000, 700), (100_000, 690)) == [143.0, 145.0]
    assert means((123_457, 7), (11, 30)) == [17600.0, 0.4]


def test_means_whose_sizes_are_gone_are_rounded_as_if_the_targets_were_few() -> None:
    branches = (Branch(Between("a", hi=4.5), 1), Branch(Between("a", lo=4.5), 2))
    leaves = [Node(evidence=Evidence(value=value)) for value in (0.143, 0.625)]
    tree = DecisionTree((Node(branches=branches), *leaves), ("a",))
    again = scrub(tree, Domain({"a": Integer(0, 9)}), counts="remove").model
    assert [cell.evidence.value for cell in again.cells] == [0.1, 0.6]
