"""Measures of the probabilistic dataset against enumeration, and their edge cases."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from glassine import Binary, Category, Domain, Integer, Real, RuleList, parse_rules, reconstruct
from glassine.attacks.record_matching import distances, original_records
from glassine.domain import Between, ExactlyOne
from glassine.errors import InvalidDataError, InvalidModelError, UndefinedMeasureError
from glassine.models import Branch, DecisionTree, Evidence, Node, Rule
from tests.oracles import strategies
from tests.oracles.worlds import captured, records, worlds


@pytest.mark.slow
@settings(max_examples=100)
@given(st.data())
def test_measures_equal_enumeration(data: st.DataObject) -> None:
    domain = data.draw(strategies.domains())
    model = data.draw(st.one_of(strategies.rule_lists(domain), strategies.trees(domain)))
    known = reconstruct(model, domain)
    sizes = [cell.evidence.size or 0 for cell in model.cells]
    for domain_aware in (False, True):
        everything = list(records(domain, domain_aware=domain_aware))
        counts = worlds(model, domain, domain_aware=domain_aware)
        assert known.worlds(domain_aware=domain_aware) == counts
        possible = all(count for count, size in zip(counts, sizes, strict=True) if size)
        if not possible:
            with pytest.raises(UndefinedMeasureError):
                known.entropy(domain_aware=domain_aware)
            assert known.notes(domain_aware=domain_aware)
            continue
        entropy = sum(size * math.log2(count) for size, count in zip(sizes, counts, strict=True) if size)
        assert known.entropy(domain_aware=domain_aware) == pytest.approx(entropy)
        prior = sum(sizes) * math.log2(len(everything))
        assert known.prior_entropy(domain_aware=domain_aware) == pytest.approx(prior)
        learned = (prior - entropy) / sum(sizes)
        assert known.bits_per_record(domain_aware=domain_aware) == pytest.approx(learned, abs=1e-9)
        curve = known.exposure_curve(domain_aware=domain_aware)
        area = sum(
            (share - before) * bits for (before, _), (share, bits) in zip([(0.0, 0), *curve], curve, strict=False)
        )
        assert area == pytest.approx(learned, abs=1e-9)
        assert [bits for _, bits in curve] == sorted((bits for _, bits in curve), reverse=True)
        if prior:
            assert known.dist_g(domain_aware=domain_aware) == pytest.approx(entropy / prior)
            ratios = known.exposure_ratios(domain_aware=domain_aware)
            steps = zip([(0.0, 0), *ratios], ratios, strict=False)
            mean = sum((share - before) * left for (before, _), (share, left) in steps)
            assert mean == pytest.approx(entropy / prior)
            assert [left for _, left in ratios] == sorted(left for _, left in ratios)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.data())
def test_dist_and_attribute_leakage_equal_enumeration(data: st.DataObject) -> None:
    domain = data.draw(strategies.domains())
    model = data.draw(st.one_of(strategies.rule_lists(domain), strategies.trees(domain)))
    sizes = [cell.evidence.size or 0 for cell in model.cells]
    counts = worlds(model, domain, domain_aware=True)
    assume(all(count for count, size in zip(counts, sizes, strict=True) if size))
    known = reconstruct(model, domain)
    everything = {aware: list(records(domain, domain_aware=aware)) for aware in (False, True)}
    for aware, possible in everything.items():
        n_values = {name: len({record[name] for record in possible}) for name in domain}
        wide = [name for name in domain if n_values[name] > 1]
        ratios = []
        for cell, size in zip(model.cells, sizes, strict=True):
            inside = [record for record in possible if captured(record, cell)] if size else []
            for name in wide if size else ():
                left = len({record[name] for record in inside})
                ratios += [math.log2(left) / math.log2(n_values[name])] * size
        if wide:
            assert known.dist(domain_aware=aware) == pytest.approx(float(np.mean(ratios)))
            estimate = known.estimate(domain_aware=aware).dist
            assert estimate is not None
            assert estimate.lower - 1e-9 <= float(np.mean(ratios)) <= estimate.upper + 1e-9
    for leakage in known.by_attribute(domain_aware=True):
        before = Counter(record[leakage.attribute] for record in everything[True])
        mean = 0.0
        for cell, size in zip(model.cells, sizes, strict=True):
            inside = [record for record in everything[True] if captured(record, cell)]
            after = Counter(record[leakage.attribute] for record in inside)
            if size:
                mean += size * sum(
                    c / len(inside) * math.log2(c / len(inside) / (before[v] / len(everything[True])))
                    for v, c in after.items()
                )
        assert leakage.bits_learned == pytest.approx(mean / sum(sizes), abs=1e-9)


def test_a_dummy_tells_of_the_others_in_dist_where_the_domain_says_so() -> None:
    domain = Domain.binary(["red", "green", "blue"], groups=(ExactlyOne(("red", "green", "blue")),))
    rules = parse_rules("if [red] then [true] ([0 ; 3] examples)\nelse [false] ([1 ; 0] examples)", domain)
    known = reconstruct(rules, domain)
    # As bits, one of three is given. Of possible records three are red alone, and of one green or blue is open.
    assert known.dist() == pytest.approx(2 / 3)
    assert known.dist(domain_aware=True) == pytest.approx((3 * 0 + 1 * 2 / 3) / 4)
    estimate = known.estimate(domain_aware=True).dist
    assert estimate is not None
    assert (estimate.lower, estimate.upper) == pytest.approx((1 / 6, 1 / 6))


@pytest.mark.slow
@settings(max_examples=60)
@given(st.data(), st.booleans())
def test_samples_are_possible_data_sets(data: st.DataObject, domain_aware: bool) -> None:
    domain = data.draw(strategies.domains())
    model = data.draw(st.one_of(strategies.rule_lists(domain), strategies.trees(domain)))
    sizes = [cell.evidence.size or 0 for cell in model.cells]
    counts = worlds(model, domain, domain_aware=domain_aware)
    assume(all(count for count, size in zip(counts, sizes, strict=True) if size))
    drawn = reconstruct(model, domain).sample(random_state=0, domain_aware=domain_aware)
    expected = np.repeat(np.arange(len(sizes)), sizes)
    assert model.apply(drawn).tolist() == expected.tolist()
    possible = {tuple(record.values()) for record in records(domain, domain_aware=domain_aware)}
    for row in zip(*(drawn[name].tolist() for name in domain), strict=True):
        cleaned = tuple(None if v is None or v != v else round(v, 9) if isinstance(v, float) else v for v in row)
        assert cleaned in possible


def small_tree() -> DecisionTree:
    nodes = (
        Node(branches=(Branch(Between("age", hi=30), 1), Branch(Between("age", lo=30), 2))),
        Node(evidence=Evidence(counts=(30, 10))),
        Node(evidence=Evidence(counts=(0, 20))),
    )
    return DecisionTree(nodes, ("age", "sex"), ("no", "yes"))


DOMAIN = Domain({"age": Integer(21, 60), "sex": Category(("f", "m"))})


def frame(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ages = np.concatenate([rng.integers(21, 31, 40), rng.integers(31, 61, 20)])
    return pd.DataFrame({"age": ages, "sex": rng.choice(["f", "m"], 60)})


def test_error_lies_between_truth_and_chance() -> None:
    known = reconstruct(small_tree(), DOMAIN)
    estimate = known.error_to(frame(), random_state=0)
    assert 0 < estimate.error < estimate.baseline
    assert estimate.n_matched == 60
    pinned = Domain({"age": Integer(21, 60), "sex": Category(("f",))})
    rules = parse_rules("if [age = 21] then [no] (3 examples)\nelse [no] (0 examples)", pinned)
    exact = reconstruct(rules, pinned).error_to(pd.DataFrame({"age": [21] * 3, "sex": ["f"] * 3}), random_state=0)
    assert exact.error == 0


def test_error_to_other_data_is_refused() -> None:
    known = reconstruct(small_tree(), DOMAIN)
    with pytest.raises(InvalidDataError, match="holds 59 records, but the model counts 60"):
        known.error_to(frame().iloc[1:])
    with pytest.raises(InvalidDataError, match="lacks the column 'sex'"):
        known.error_to(frame()[["age"]])
    with pytest.raises(InvalidDataError, match="n_draws"):
        known.error_to(frame(), n_draws=0)


def test_subgroups_and_labels() -> None:
    known = reconstruct(small_tree(), DOMAIN)
    young, old = math.log2(40 / 10), math.log2(40 / 30)
    assert known.bits_learned() == pytest.approx((young, old))
    groups = {(g.attribute, g.value): g for g in known.by_subgroup(frame(), ["sex", "age"])}
    assert sum(g.size for (a, _), g in groups.items() if a == "sex") == 60
    assert groups["age", "quarter 1 of 4"].bits_mean == pytest.approx(young)
    assert groups["age", "quarter 4 of 4"].bits_mean == pytest.approx(old)
    labels = {g.value: g for g in known.by_label()}
    assert labels["no"].bits_mean == pytest.approx(young)
    assert labels["yes"].bits_mean == pytest.approx((10 * young + 20 * old) / 30)
    assert known.record_bits(frame()).tolist() == pytest.approx([young] * 40 + [old] * 20)
    with pytest.raises(InvalidDataError, match="defines subgroups"):
        known.by_subgroup(frame(), ["income"])


def test_shadowed_rules_and_an_empty_default_are_notes() -> None:
    domain = Domain.binary(["a", "b"])
    text = (
        "if [a] then [true] ([1 ; 2] examples)\n"
        "else if [a] and [b] then [false]{shadow}\n"
        "else if [not a] then [true] ([1 ; 1] examples)\n"
        "else [false] ([0 ; 0] examples)"
    )
    known = reconstruct(parse_rules(text.replace("{shadow}", " ([0 ; 0] examples)"), domain), domain)
    assert known.worlds() == (2, 0, 2, 0)
    assert known.entropy() == pytest.approx(5)
    assert known.bits_learned()[1] == math.inf
    assert known.notes() == [
        "rule 2 (a and b) can capture nothing: earlier rules cover it",
        "the default rule can capture nothing: earlier rules cover it",
    ]
    contradicted = reconstruct(parse_rules(text.replace("{shadow}", " ([1 ; 0] examples)"), domain), domain)
    assert "contradicts the model" in contradicted.notes()[0]
    with pytest.raises(UndefinedMeasureError, match="part 2 of the model holds records where the domain allows none"):
        contradicted.dist_g()


def test_a_continuum_has_bits_but_no_ratio() -> None:
    domain = Domain({"age": Real(20.0, 60.0), "sex": Category(("f", "m"))})
    known = reconstruct(small_tree(), domain)
    assert known.bits_learned() == pytest.approx((2, math.log2(4 / 3)))
    assert known.bits_per_record() == pytest.approx((40 * 2 + 20 * math.log2(4 / 3)) / 60)
    assert known.by_attribute()[0].bits_learned == pytest.approx(known.bits_per_record())
    for measure in (known.worlds, known.entropy, known.dist, known.dist_g):
        with pytest.raises(UndefinedMeasureError, match="'age' has no declared resolution"):
            measure()
    drawn = known.sample(random_state=0)
    assert (drawn["age"][:40] <= 30).all()
    assert (drawn["age"][40:] > 30).all()


def test_the_resolution_of_a_continuum_does_not_change_the_bits() -> None:
    fine = reconstruct(small_tree(), Domain({"age": Real(20.0, 60.0, 0.001), "sex": Binary()})).bits_learned()
    continuum = reconstruct(small_tree(), Domain({"age": Real(20.0, 60.0), "sex": Binary()})).bits_learned()
    assert fine == pytest.approx(continuum, abs=1e-3)


def test_groups_make_the_reader_know_more() -> None:
    names = ("red", "green", "blue", "size")
    domain = Domain.binary(names, groups=[ExactlyOne(names[:3])])
    rules = parse_rules("if [red] then [true] ([0 ; 4] examples)\nelse [false] ([4 ; 0] examples)", domain)
    known = reconstruct(rules, domain)
    assert known.worlds() == (8, 8)
    assert known.worlds(domain_aware=True) == (2, 4)
    assert known.dist_g() == pytest.approx(3 / 4)
    assert known.dist_g(domain_aware=True) == pytest.approx((1 + 2) / 2 / math.log2(6))
    learned = {entry.attribute: entry.bits_learned for entry in known.by_attribute(domain_aware=True)}
    assert learned["green"] == pytest.approx(
        0.5 * math.log2(3 / 2) + 0.5 * (0.5 * math.log2(3 / 2) + 0.5 * math.log2(3 / 4))
    )
    assert learned["size"] == 0


def test_counts_that_are_not_published() -> None:
    nodes = (
        Node(branches=(Branch(Between("age", hi=30), 1), Branch(Between("age", lo=30), 2))),
        Node(evidence=Evidence(label=0)),
        Node(evidence=Evidence(label=1)),
    )
    known = reconstruct(DecisionTree(nodes, ("age",), (0, 1)), DOMAIN)
    assert known.worlds() == (20, 60)
    assert known.bits_learned()[0] == pytest.approx(2)
    with pytest.raises(UndefinedMeasureError, match="does not publish how many records"):
        known.entropy()


def test_zero_counts_and_one_record_domains_have_no_ratio() -> None:
    domain = Domain({"a": Integer(3, 3)})
    rules = RuleList((Rule(evidence=Evidence(counts=(0, 0))),), ("a",), (0, 1))
    with pytest.raises(UndefinedMeasureError, match="all zero"):
        reconstruct(rules, domain).dist_g()
    rules = RuleList((Rule(evidence=Evidence(counts=(1, 0))),), ("a",), (0, 1))
    for measure in (reconstruct(rules, domain).dist_g, reconstruct(rules, domain).dist):
        with pytest.raises(UndefinedMeasureError, match="one record only"):
            measure()


def test_astronomic_domains() -> None:
    domain = Domain.binary([f"x{i}" for i in range(5000)])
    rules = parse_rules("if [x0] then [true] ([0 ; 2] examples)\nelse [false] ([3 ; 1] examples)", domain)
    known = reconstruct(rules, domain)
    assert known.worlds() == (2**4999, 2**4999)
    assert known.entropy() == 6 * 4999
    assert known.dist_g() == pytest.approx(4999 / 5000)


@pytest.mark.parametrize(("attribute", "message"), [("weight", "the domain lacks"), ("sex", "has the category")])
def test_a_model_of_another_domain_is_refused(attribute: str, message: str) -> None:
    nodes = (
        Node(branches=(Branch(Between(attribute, hi=30), 1), Branch(Between(attribute, lo=30), 2))),
        Node(),
        Node(),
    )
    with pytest.raises(InvalidModelError, match=message):
        reconstruct(DecisionTree(nodes, (attribute,)), DOMAIN)


def test_missing_values_are_worlds_of_their_own() -> None:
    domain = Domain({"age": Integer(21, 60, missing=True)})
    nodes = (
        Node(branches=(Branch(Between("age", hi=30), 1), Branch(Between("age", lo=30, missing=True), 2))),
        Node(evidence=Evidence(total=1)),
        Node(evidence=Evidence(total=1)),
    )
    known: Any = reconstruct(DecisionTree(nodes, ("age",), (0, 1)), domain)
    assert known.worlds() == (10, 31)


def test_overlapping_branches_go_to_the_first_that_holds() -> None:
    domain = Domain({"age": Integer(0, 99)})
    nodes = (
        Node(
            branches=(
                Branch(Between("age", hi=41.5), 1),
                Branch(Between("age", hi=81.5), 2),
                Branch(Between("age", lo=41.5), 3),
            )
        ),
        *(Node(evidence=Evidence(total=size)) for size in (42, 40, 18)),
    )
    tree = DecisionTree(nodes, ("age",), (0, 1))
    known = reconstruct(tree, domain)
    assert known.worlds() == (42, 40, 18)
    assert np.bincount(tree.apply({"age": np.arange(100)})).tolist() == [42, 40, 18]


def test_gaps_in_binary_attributes_are_matched() -> None:
    domain = Domain({"b": Binary(missing=True), "s": Category(("x",), missing=True)})
    rules = parse_rules("if [s = x] then [true] (2 examples)\nelse [false] (1 example)", domain)
    frame = pd.DataFrame({"b": [1.0, np.nan, 0.0], "s": ["x", "x", None]})
    assert 0 <= reconstruct(rules, domain).error_to(frame, random_state=0).error <= 1


def test_records_that_no_branch_takes_are_a_note() -> None:
    nodes = (
        Node(branches=(Branch(Between("age", hi=30), 1), Branch(Between("age", lo=40), 2))),
        Node(evidence=Evidence(total=1)),
        Node(evidence=Evidence(total=1)),
    )
    known = reconstruct(DecisionTree(nodes, ("age",), (0, 1)), Domain({"age": Integer(0, 99)}))
    assert known.notes() == ["some possible records satisfy no branch of a split"]


def test_leaves_that_contradict_the_domain_are_one_note() -> None:
    domain = Domain({"a": Integer(0, 9)})
    text = (
        "if [a > 10] then [true] ([1 ; 0] examples)\nelse if [a > 20] then [true] ([1 ; 0] examples)\n"
        "else if [a <= 4] then [true] ([2 ; 1] examples)\nelse [false] ([1 ; 3] examples)"
    )
    (note,) = reconstruct(parse_rules(text, domain), domain).notes()
    assert note.startswith("rule 1 (a > 10) and 1 more hold records, but the domain leaves no possible record there")


@pytest.mark.parametrize("odd", ["Canary", (1, 2)])
def test_a_value_that_is_no_number_lies_as_far_as_can_be(odd: Any) -> None:
    frame = pd.DataFrame({"age": pd.Series([30, None, odd], dtype=object)})
    domain = Domain({"age": Integer(18, 99, missing=True)})
    # From every number, and from a gap.
    originals = original_records(frame, domain, 3)
    assert originals["age"][0] == 30
    others = {"age": np.array([30.0, 99.0, math.nan])}
    assert distances(domain, originals, others)[2].tolist() == [1.0, 1.0, 1.0]
    # A number beyond all doubles is one, and a text is the number that it writes.
    frame.loc[2, "age"], frame.loc[0, "age"] = 10**400, "30"
    assert original_records(frame, domain, 3)["age"][[0, 2]].tolist() == [30.0, 1e300]
