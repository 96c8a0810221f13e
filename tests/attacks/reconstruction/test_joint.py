"""Several models of the same records, against every dataset of toy domains."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from glassine import Domain, Integer, Real, reconstruct
from glassine.attacks.reconstruction.joint_result import JointReconstruction
from glassine.attacks.reconstruction.joint_rows import reconstruct_jointly
from glassine.attacks.reconstruction.systems import Search
from glassine.domain import Between, OneOf
from glassine.errors import (
    CountingLimitError,
    InvalidDataError,
    InvalidDomainError,
    InvalidModelError,
    InvalidParameterError,
    UndefinedMeasureError,
    UnsupportedModelError,
)
from glassine.models import Branch, DecisionTree, Evidence, Guarantee, Node, Rule, RuleList
from glassine.models.tree import Forest
from tests.attacks.reconstruction.toys import Toy, toy
from tests.oracles.joint import data_sets, places


def stump(
    attribute: str, cut: float, below: Any, above: Any, classes: tuple[Any, ...] | None = (0, 1), **more: Any
) -> DecisionTree:
    """Return a tree with one split; counts are tuples, sizes are numbers."""
    sides = Branch(Between(attribute, hi=cut), 1), Branch(Between(attribute, lo=cut), 2)
    leaves = [Evidence(counts=c) if isinstance(c, tuple) else Evidence(total=c) for c in (below, above)]
    return DecisionTree((Node(branches=sides), *(Node(evidence=e) for e in leaves)), ("age", "height"), classes, **more)


DOMAIN = Domain({"age": Integer(0, 99), "height": Integer(100, 199)})


def tells_classes(case: Toy) -> bool:
    """Whether some model publishes class counts."""
    return any(all(cell.evidence.counts is not None for cell in model.cells) for model in case.models)


def without_classes(model: DecisionTree | RuleList) -> DecisionTree | RuleList:
    """Return the model with its sizes alone."""
    if isinstance(model, RuleList):
        rules = tuple(replace(rule, evidence=Evidence(total=rule.evidence.size)) for rule in model.rules)
        return replace(model, rules=rules)
    nodes = tuple(replace(n, evidence=Evidence(total=n.evidence.size)) for n in model.nodes)
    return replace(model, nodes=nodes)


@pytest.mark.parametrize("n_models", [1, 2, 3, 4])
def test_the_number_of_data_sets_and_the_ranges_are_those_of_enumeration(n_models: int) -> None:
    for seed in range(8):
        case = toy(100 * n_models + seed, n_models)
        known = reconstruct_jointly(case.models, case.domain)
        labels = case.labels if tells_classes(case) else [0] * len(case.labels)
        sets = data_sets(case.models, case.domain, labels)
        assert known.status == "consistent"
        assert known.log2_data_sets.lower <= math.log2(len(sets)) + 1e-12 <= known.log2_data_sets.upper + 2e-12
        assert known.log2_data_sets.width < 1e-8
        if len(known.readings) > 1:
            bare = [without_classes(model) for model in case.models]
            plain = len(data_sets(bare, case.domain, [0] * len(case.labels)))
            assert known.readings[1].log2_data_sets.middle == pytest.approx(math.log2(plain), abs=1e-8)
        assert known.cells is not None
        where = places(case.models, case.domain)
        wanted = [tuple(row) for row in known.cells.leaves.tolist()]
        held = np.array([[sum(where[row] == cell for row in rows) for cell in wanted] for rows in sets])
        exact = known.cells.exact
        assert (known.cells.low <= held.min(axis=0)).all()
        assert (known.cells.high >= held.max(axis=0)).all()
        assert (known.cells.low[exact] == held.min(axis=0)[exact]).all()
        assert (known.cells.high[exact] == held.max(axis=0)[exact]).all()
        assert exact.all() or n_models > 2
        assert held.sum() == len(sets) * len(case.labels), "every record lies in a cell"


@pytest.mark.slow
def test_groups_and_labels_hold_in_every_data_set() -> None:
    n_small = n_pure = 0
    for seed in range(30):
        case = toy(seed, 2 + seed % 2, told=seed % 3 > 0)
        known = reconstruct_jointly(case.models, case.domain, smallest_group=1, names=["x", "y", "z"][: 2 + seed % 2])
        labels = case.labels if tells_classes(case) else [0] * len(case.labels)
        sets = data_sets(case.models, case.domain, labels)
        where = places(case.models, case.domain)
        assert known.cells is not None
        for group in known.small_groups:
            assert group.alone > 1
            assert 1 <= group.low <= group.high <= 1
            n_small += 1
        for group in [*known.certain_labels, *known.small_groups]:
            if group.kind != "cell" or group.label is None or len(case.models) > 2:
                continue
            cell = next(
                tuple(row)
                for row, worlds in zip(known.cells.leaves.tolist(), known.cells.worlds, strict=True)
                if worlds == group.worlds
                and group.where
                == "; ".join(f"{n}: {rule(m, leaf)}" for n, m, leaf in zip("xy", case.models, row, strict=True))
            )
            n_pure += 1
            for rows in sets:
                mine = [label for row, label in zip(rows, labels, strict=True) if where[row] == cell]
                assert group.low <= len(mine) <= group.high
                assert set(mine) == {group.label}
    assert n_small > 2
    assert n_pure > 2


def rule(model: DecisionTree | RuleList, part: int) -> str:
    """Return the words for a leaf or rule."""
    cell = model.cells[part]
    return str(cell) if isinstance(model, DecisionTree) else f"rule {part + 1} ({cell})"


def test_one_model_is_the_papers_measure() -> None:
    for seed in range(10):
        case = toy(seed, 1)
        alone = reconstruct(case.models[0], case.domain).bits_per_record()
        known = reconstruct_jointly(case.models, case.domain, data=case.frame)
        bits = known.bits_per_record
        assert bits.lower == bits.upper == known.bits_alone[0] == alone
        assert known.bits_if_independent == pytest.approx(alone)
        assert known.bits_aligned == pytest.approx(alone)
        reading = known.readings[0]
        told = known.domain_bits - (reading.log2_data_sets.middle / known.n_records - reading.best_order)
        assert told == pytest.approx(alone), "the same by the general way"


@pytest.mark.slow
def test_order_does_not_matter_and_more_models_never_tell_less() -> None:
    for seed in range(6):
        case = toy(seed, 3)
        together = reconstruct_jointly(case.models, case.domain, data=case.frame)
        turned = reconstruct_jointly(case.models[::-1], case.domain)
        fewer = reconstruct_jointly(case.models[:2], case.domain)
        assert turned.bits_per_record.middle == pytest.approx(together.bits_per_record.middle)
        assert together.bits_per_record.upper >= fewer.bits_per_record.lower - 1e-9
        assert fewer.bits_per_record.upper >= max(fewer.bits_alone) - 1e-12
        assert together.bits_aligned is not None
        assert together.bits_aligned >= together.bits_per_record.lower - 1e-9
        twice = reconstruct_jointly([case.models[0], case.models[0]], case.domain)
        assert twice.bits_per_record.middle == pytest.approx(twice.bits_alone[0], abs=1e-9)


def test_a_refinement_tells_what_it_tells_alone() -> None:
    coarse = stump("age", 40, (3, 1), (2, 4))
    first = Branch(Between("age", hi=40), 1), Branch(Between("age", lo=40), 2)
    second = Branch(Between("age", hi=60), 3), Branch(Between("age", lo=60), 4)
    leaves = [Node(evidence=Evidence(counts=counts)) for counts in ((3, 1), (1, 2), (1, 2))]
    fine = DecisionTree(
        (Node(branches=first), leaves[0], Node(branches=second), *leaves[1:]), ("age", "height"), (0, 1)
    )
    both = reconstruct_jointly([coarse, fine], DOMAIN, smallest_group=3)
    assert both.bits_per_record.lower == pytest.approx(both.bits_alone[1])
    assert both.bits_per_record.upper == pytest.approx(both.bits_alone[1])
    assert not both.small_groups


def test_models_of_different_attributes_are_independent() -> None:
    models = [stump("age", 49, (3, 1), (2, 4)), stump("height", 119, 4, 6)]
    known = reconstruct_jointly(models, DOMAIN)
    assert known.bits_per_record.middle == pytest.approx(known.bits_if_independent)


def test_exposures_average_to_what_the_dual_tells() -> None:
    case = toy(3, 2, told=True)
    known = reconstruct_jointly(case.models, case.domain)
    assert {e.model for e in known.exposures} == {"model 1", "model 2"}
    for model, alone in zip(known.models, known.bits_alone, strict=True):
        mine = [e for e in known.exposures if e.model == model]
        assert sum(e.size for e in mine) == known.n_records
        assert sum(e.size * e.bits_alone for e in mine) / known.n_records == pytest.approx(alone)
        assert all(e.bits_jointly >= e.bits_alone for e in mine)


def test_a_leaf_inside_another_gives_the_difference_away() -> None:
    models = [stump("age", 40, (30, 2), (20, 9)), stump("age", 43, (30, 4), (20, 7))]
    known = reconstruct_jointly(models, DOMAIN, smallest_group=2)
    assert [(g.low, g.high, g.label, g.worlds) for g in known.small_groups] == [(2, 2, 1, 300)]
    assert known.small_groups[0].alone == 29
    assert not reconstruct_jointly(models[:1], DOMAIN, smallest_group=50).small_groups


def test_a_difference_of_inner_nodes_is_found() -> None:
    def three(cut: float, height: float, left: int, middle: int, right: int) -> DecisionTree:
        first = Branch(Between("age", hi=cut), 1), Branch(Between("age", lo=cut), 2)
        second = Branch(Between("height", hi=height), 3), Branch(Between("height", lo=height), 4)
        leaves = [Node(evidence=Evidence(total=n)) for n in (right, left, middle)]
        return DecisionTree((Node(branches=first), Node(branches=second), *leaves), ("age", "height"))

    known = reconstruct_jointly([three(40, 150, 20, 30, 50), three(41, 160, 25, 26, 49)], DOMAIN, smallest_group=1)
    assert [(group.kind, group.size, group.worlds) for group in known.small_groups] == [("difference", "1 record", 100)]
    assert known.small_groups[0].where == "model 1: age > 40; not model 2: age > 41"


def test_pairs_of_three_models_betray_groups() -> None:
    models = [stump("age", 40, 50, 50), stump("age", 41, 51, 49), stump("height", 150, 40, 60)]
    known = reconstruct_jointly(models, DOMAIN)
    assert "1 record" in [group.size for group in known.small_groups]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (stump("age", 40, (3, 1), (2, 5)), "counts 10 records, model 2 counts 11"),
        (stump("age", 40, (4, 2), (2, 2)), "5 records of class 0, model 2 counts 6"),
        (stump("age", 30, (5, 0), (0, 5)), "part 2 of model 1 holds 2 records"),
        (stump("age", 30, (4, 1), (1, 4)), "no numbers of records|fewer"),
        (stump("age", 40, (2, 1), (3, 4)), "model 1 counts 3 records where model 2 counts 2"),
    ],
)
def test_models_of_other_records_are_a_finding(second: DecisionTree, said: str) -> None:
    known = reconstruct_jointly([stump("age", 40, (3, 1), (2, 4)), second], DOMAIN)
    assert known.status == "inconsistent"
    assert known.contradiction is not None
    assert re.search(said, known.contradiction)
    assert "not trained on the same records" in str(known)
    with pytest.raises(UndefinedMeasureError, match="nothing can be measured"):
        _ = known.bits_per_record
    assert json.loads(json.dumps(known.to_dict(), allow_nan=False))["bits"] is None


def test_a_contradiction_of_three_that_no_two_show() -> None:
    # Each two of the three halvings can be met, by records in opposite corners; all three cannot.
    names = ["a", "b"]
    domain = Domain.binary(names)
    a = RuleList((Rule(antecedent=(OneOf("a", (1,)),), evidence=Evidence(total=1)), Rule(evidence=Evidence(total=1))),
                 tuple(names))  # fmt: skip
    b = replace(a, rules=(replace(a.rules[0], antecedent=(OneOf("b", (1,)),)), a.rules[1]))
    both = replace(
        a,
        rules=(
            Rule(antecedent=(OneOf("a", (1,)), OneOf("b", (1,))), evidence=Evidence(total=1)),
            Rule(antecedent=(OneOf("a", (1,)),), evidence=Evidence(total=1)),
            Rule(evidence=Evidence(total=0)),
        ),
    )
    assert reconstruct_jointly([a, b], domain).status == "consistent"
    assert reconstruct_jointly([a, b, both], domain).status == "inconsistent"


def test_what_tells_nothing_exact_is_left_out() -> None:
    noisy = stump("age", 30, (4, 1), (1, 4), guarantee=Guarantee(epsilon=1.0, count_scale=1.0))
    rounded = stump("age", 30, (5, 0), (0, 5), approximate=True)
    silent = DecisionTree((Node(),), ("age",), (0, 1))
    exact = stump("age", 40, (3, 1), (2, 4))
    known = reconstruct_jointly([noisy, exact, rounded, silent], DOMAIN, names=["n", "e", "r", "s"])
    assert known.models == ("e",)
    assert [entry.name for entry in known.left_out] == ["n", "r", "s"]
    assert "noise" in known.left_out[0].reason
    assert [entry.counts for entry in known.left_out] == ["noisy", "rounded", "none"]
    assert ["noise" in entry.reason for entry in known.left_out] == [True, False, False]
    with pytest.raises(UndefinedMeasureError, match=r"r publishes rounded counts.* use the data and counts='data'"):
        reconstruct_jointly([rounded, silent], DOMAIN, names=["r", "s"])
    told = reconstruct_jointly([noisy], DOMAIN, names=["n"])
    assert (told.status, told.models) == ("unmeasured", ())
    with pytest.raises(UndefinedMeasureError, match="no model has exact counts: n carries noise"):
        _ = told.bits_per_record


def test_classes_in_another_order_and_without_some() -> None:
    first = stump("age", 40, (3, 1), (2, 4), classes=("no", "yes"))
    second = stump("height", 150, (1, 2, 0), (4, 3, 0), classes=("yes", "no", "maybe"))
    plain = stump("height", 150, (2, 1), (3, 4), classes=("no", "yes"))
    mixed, same = (reconstruct_jointly([first, other], DOMAIN) for other in (second, plain))
    assert mixed.status == "consistent"
    assert mixed.bits_per_record == same.bits_per_record
    renamed = replace(plain, classes=("tall", "small"))
    with pytest.raises(InvalidParameterError, match="share no class"):
        reconstruct_jointly([first, renamed], DOMAIN)
    apart = reconstruct_jointly([first, renamed], DOMAIN, same_labels=False)
    assert apart.status == "consistent"
    assert apart.classes is None


def test_fitted_estimators_forests_and_a_continuum() -> None:
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"x": rng.random(60), "y": rng.random(60)}).to_pandas()
    y = np.array(["no", "yes"], dtype=object)[(X["x"] + rng.random(60) > 1).to_numpy().astype(int)]
    domain = Domain({"x": Real(0.0, 1.0), "y": Real(0.0, 1.0)})
    trees = [DecisionTreeClassifier(max_depth=3, max_features=1, random_state=s).fit(X, y) for s in range(2)]
    known = reconstruct_jointly(trees, domain, data=X)
    assert known.status == "consistent"
    assert known.cells is not None
    assert set(known.cells.worlds) == {None}
    assert known.bits_aligned is not None
    assert max(known.bits_alone) <= known.bits_per_record.lower <= known.bits_aligned
    with pytest.raises(UndefinedMeasureError, match="finite number"):
        _ = known.dist_g
    forest = RandomForestClassifier(2, bootstrap=False, max_depth=3, max_features=1, random_state=0).fit(X, y)
    of_forest = reconstruct_jointly([forest], domain)
    assert of_forest.models == ("model 1, tree 1", "model 1, tree 2")
    bagged = RandomForestClassifier(2, random_state=0).fit(X, y)
    with pytest.raises(UndefinedMeasureError, match="with replacement"):
        reconstruct_jointly([bagged], domain)
    alone = Forest(trees=(stump("age", 40, (3, 1), (2, 4)),))
    assert reconstruct_jointly([alone], DOMAIN).models == ("model 1",)


def test_a_continuum_can_clash_or_need_single_points() -> None:
    domain = Domain({"age": Real(0.0, 1.0), "height": Real(0.0, 1.0)})
    half = stump("age", 0.5, 4, 2)
    assert reconstruct_jointly([half, stump("age", 0.4, 5, 1)], domain).status == "inconsistent"
    outer = Rule(antecedent=(Between("age", 0.0, 0.5, negated=True),), evidence=Evidence(total=3))
    rules = RuleList((outer, Rule(evidence=Evidence(total=3))), ("age", "height"), (0, 1))
    with pytest.raises(UndefinedMeasureError, match="single points"):
        reconstruct_jointly([half, rules], domain)


def test_over_a_continuum_the_bits_have_no_end() -> None:
    # The volume of the unit square is 1: its domain has 0 bits, and the models tell more.
    domain = Domain({"age": Real(0.0, 1.0), "height": Real(0.0, 1.0)})
    n = 1000
    known = reconstruct_jointly([stump("age", 0.1, 500, 500), stump("height", 0.1, 500, 500)], domain)
    assert known.domain_bits == 0.0
    ways = math.comb(n, n // 2)
    # The volumes are products, so that the chances are: of each model's counts alone.
    chance = 2 * (math.log2(ways) + 500 * math.log2(0.1 * 0.9))
    truth = (math.log2(ways) - chance) / n
    bits = known.bits_per_record
    assert bits.lower <= truth <= bits.upper
    assert 0 < bits.width < 1e-4


def test_single_points_of_a_continuum_can_hold_records() -> None:
    domain = Domain({"age": Real(0.0, 1.0), "height": Real(0.0, 1.0)})
    rule = Rule(antecedent=(Between("age", 0.0), Between("height", hi=0.5)), evidence=Evidence(total=50))
    rules = RuleList((rule, Rule(evidence=Evidence(total=50))), ("age", "height"), (0, 1))
    known = reconstruct_jointly([rules, stump("height", 0.3, 49, 51)], domain)
    assert known.cells is not None
    # Records of age 0 exactly, at any height, follow the second rule.
    numbers = zip(known.cells.low.tolist(), known.cells.high.tolist(), strict=True)
    held = dict(zip(map(tuple, known.cells.leaves.tolist()), numbers, strict=True))
    assert held == {(0, 0): (0, 49), (0, 1): (1, 50), (1, 0): (0, 49), (1, 1): (1, 50)}
    assert not known.cells.exact.any()
    assert not known.small_groups
    assert known.bits_per_record.width < 1e-9
    whole = Domain({"age": Real(0.0, 1.0, resolution=0.1), "height": Real(0.0, 1.0, resolution=0.1)})
    assert not reconstruct_jointly([rules, stump("height", 0.3, 49, 51)], whole).small_groups
    data = pl.DataFrame({"age": [0.5] * 50 + [0.0] + [0.5] * 49, "height": [0.2] * 48 + [0.4] * 2 + [0.2] + [0.7] * 49})
    with pytest.raises(UndefinedMeasureError, match="single point"):
        reconstruct_jointly([rules, stump("height", 0.3, 49, 51)], domain, data=data)


@pytest.mark.slow
def test_telling_classes_never_tells_less() -> None:
    for seed in range(8):
        case = toy(seed, 2, n_records=5, told=True)
        told = reconstruct_jointly(case.models, case.domain).bits_per_record
        for some in ([True, False], [False, True], [False, False]):
            models = [without_classes(m) if less else m for m, less in zip(case.models, some, strict=True)]
            assert reconstruct_jointly(models, case.domain).bits_per_record.lower <= told.upper


def test_a_contradiction_comes_before_the_data() -> None:
    models = [stump("age", 40, (3, 1), (2, 4)), stump("age", 40, (2, 1), (3, 4))]
    assert call(models=models, data=pl.DataFrame({"age": [1] * 10, "height": [150] * 10})).status == "inconsistent"


def test_counts_beyond_all_machine_numbers_are_refused() -> None:
    for below, above in ((2**70, 1), (2**62, 2**62), (2**30, 2**30)):
        with pytest.raises(UndefinedMeasureError, match="model 2 counts 2,147,483,648 records or more"):
            call(models=[stump("age", 40, 5, 5), stump("height", 150, below, above)])
    many = call(models=[stump("age", 40, 2**30, 2**30 - 1), stump("height", 150, 2**30, 2**30 - 1)])
    assert many.status == "consistent"
    assert many.bits_per_record.width < 1e-6


def test_dist_g_is_the_share_that_is_left() -> None:
    known = reconstruct_jointly([stump("age", 40, (3, 1), (2, 4)), stump("height", 150, 4, 6)], DOMAIN)
    assert known.dist_g.middle == pytest.approx(1 - known.bits_per_record.middle / known.domain_bits)


def call(**more: Any) -> JointReconstruction:
    """Reconstruct from two stumps with some arguments replaced."""
    given: dict[str, Any] = {"models": [stump("age", 40, (3, 1), (2, 4)), stump("height", 150, 4, 6)], "domain": DOMAIN}
    given |= more
    if "search" in given:
        given["search"] = Search(**given["search"])
    return reconstruct_jointly(given.pop("models"), given.pop("domain"), **given)


@pytest.mark.parametrize(
    ("more", "error", "said"),
    [
        ({"models": []}, InvalidParameterError, "at least one"),
        ({"models": stump("age", 40, (3, 1), (2, 4))}, InvalidParameterError, "sequence"),
        ({"models": ["nonsense"]}, UnsupportedModelError, "got a text"),
        ({"domain": {"age": 1}}, InvalidDomainError, "Domain"),
        ({"domain": Domain({"age": Integer(0, 99)})}, InvalidModelError, "height"),
        (
            {"domain": Domain({"age": Integer(0, 40), "height": Integer(100, 199)})},
            UndefinedMeasureError,
            "model 1: .*allows none",
        ),
        ({"names": ["one"]}, InvalidParameterError, "names"),
        ({"smallest_group": 0}, InvalidParameterError, "smallest_group"),
        ({"smallest_group": float("nan")}, InvalidParameterError, "smallest_group"),
        ({"search": {"max_parts": 3}}, CountingLimitError, "max_parts"),
        ({"search": {"max_steps": True}}, InvalidParameterError, "max_steps"),
        ({"search": {"time_limit": float("nan")}}, InvalidParameterError, "time_limit"),
        ({"data": pl.DataFrame({"age": [1] * 10})}, InvalidDataError, "height"),
        ({"data": pl.DataFrame({"age": [1] * 10, "height": [150] * 10})}, InvalidDataError, "which counts"),
        ({"models": [stump("age", 40, (0, 0), (0, 0))]}, UndefinedMeasureError, "no record"),
    ],
)
def test_bad_input_is_refused(more: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call(**more)


@pytest.mark.slow
def test_bounds_hold_where_no_data_set_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassine.attacks.reconstruction.joint_intervals.whole_table", lambda *a, **k: None)
    monkeypatch.setattr("glassine.attacks.reconstruction.joint_intervals.counted", lambda *a: None)
    seen = 0
    for seed in range(10):
        case = toy(seed, 3, told=False)
        known = reconstruct_jointly(case.models, case.domain)
        truth = math.log2(len(data_sets(case.models, case.domain, [0] * len(case.labels))))
        assert known.log2_data_sets.lower <= truth + 1e-9 <= known.log2_data_sets.upper + 2e-9
        seen += known.status == "open"
    assert seen
