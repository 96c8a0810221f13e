"""Exact counts against enumeration and against the published recursion."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine import parse_rules
from glassine.counting import Region, RegionCounter, Space
from glassine.counting.regions import measured_in_order
from glassine.counting.space import NumberFactor
from glassine.domain import Between, Binary, Category, Domain, ExactlyOne, Integer, Literal, OneOf, Real, Shares
from glassine.errors import CostLimitError, CountingLimitError, InvalidModelError, UndefinedMeasureError
from glassine.models import DecisionTree, RuleList
from glassine.resources import Budget
from tests.oracles import strategies
from tests.oracles.worlds import captured, published_captures, records


def regions_of(model: DecisionTree | RuleList, space: Space) -> list[Region]:
    return [Region(space.box(c.inside), tuple(space.box(o) for o in c.outside)) for c in model.cells]


@pytest.mark.slow
@settings(max_examples=150)
@given(st.data(), st.booleans())
def test_measures_and_marginals_equal_enumeration(data: st.DataObject, domain_aware: bool) -> None:
    domain = data.draw(strategies.domains())
    model = data.draw(st.one_of(strategies.rule_lists(domain), strategies.trees(domain)))
    space = Space(domain, model.literals, domain_aware=domain_aware)
    counter = RegionCounter(space)
    everything = list(records(domain, domain_aware=domain_aware))
    assert space.total == len(everything)
    for cell, region in zip(model.cells, regions_of(model, space), strict=True):
        inside = [record for record in everything if captured(record, cell)]
        assert counter.measure(region) == len(inside)
        for factor in range(len(space.factors)):
            marginal = counter.marginal(region, factor)
            assert sum(marginal) == counter.share(region) == Fraction(len(inside), len(everything))
            weights, total = space.factors[factor].weights, space.totals[factor]
            assert all(0 <= m <= Fraction(w) / total for m, w in zip(marginal, weights, strict=True))


@pytest.mark.slow
@settings(max_examples=60)
@given(st.data())
def test_marginal_of_a_single_attribute_equals_enumeration(data: st.DataObject) -> None:
    domain = data.draw(strategies.domains(ties=False))
    model = data.draw(strategies.rule_lists(domain))
    space = Space(domain, model.literals, domain_aware=True)
    counter = RegionCounter(space)
    region, cell = regions_of(model, space)[-1], model.cells[-1]
    inside = [record for record in records(domain, domain_aware=True) if captured(record, cell)]
    name = domain.names[0]
    held = Counter(record[name] for record in inside)
    weights, marginal = space.factors[0].weights, counter.marginal(region, 0)
    held_atoms = np.array([atom for atom, weight in enumerate(weights) if weight])
    drawn = space.factors[0].draw(held_atoms, np.random.default_rng(0))[name].tolist()
    for value, atom in zip(drawn, held_atoms, strict=True):
        weight, measure = weights[atom], marginal[atom] * space.total
        key = None if value is None or value != value else value
        matches = [count for other, count in held.items() if other == key or _close(other, key)]
        assert sum(matches) == measure / weight


class _Counted(int):
    """A whole number that counts the multiplications it takes part in."""

    n_products = 0

    def __mul__(self, other: Any) -> Any:
        type(self).n_products += 1
        return _Counted(int(self) * other) if isinstance(other, int) else NotImplemented

    __rmul__ = __mul__


def test_every_bin_of_public_shares_is_an_interval_of_its_own() -> None:
    """Values are drawn uniformly from an interval, which no bin of another share may belong to."""
    shares = Shares(weights=(1, 8, 3), edges=(0, 2, 4, 9), source="census")
    factor = NumberFactor("x", Integer(0, 9), [Between("x", hi=4)], shares)
    assert factor.weights == (Fraction(1, 12), Fraction(8, 12), Fraction(3, 12))
    assert factor.sizes == (3, 2, 5)


@pytest.mark.parametrize("missing", [False, True])
def test_the_contrary_of_an_interval_holds_for_missing_values_if_it_says_so(missing: bool) -> None:
    literal = Between("x", hi=4, negated=True, missing=missing)
    factor = NumberFactor("x", Integer(0, 9, missing=True), [literal])
    assert factor.mask(literal) == (0b110 if missing else 0b010)


def test_the_share_of_a_region_does_not_multiply_attributes_that_the_model_does_not_test() -> None:
    """What is counted of a few tested attributes costs the same, however many others the domain has."""
    products, shares = [], []
    for n_others in (10, 3000):
        domain = Domain({"a": Integer(0, 9), "b": Binary(), **{f"c{i}": Integer(0, 6) for i in range(n_others)}})
        rules = parse_rules("if [a <= 3] and [b] then [1]\nelse if [a > 6] then [1]\nelse [0]", domain)
        space = Space(domain, rules.literals, domain_aware=True)
        space.totals = [_Counted(total) for total in space.totals]
        counter = RegionCounter(space)
        _Counted.n_products = 0
        shares.append([counter.share(region) for region in regions_of(rules, space)])
        marginals = [counter.marginal(region, 0) for region in regions_of(rules, space)]
        assert [sum(marginal) for marginal in marginals] == shares[-1]
        products.append(_Counted.n_products)
        assert [counter.measure(r) for r in regions_of(rules, space)] == [s * space.total for s in shares[-1]]
    assert shares[0] == shares[1] == [Fraction(4, 20), Fraction(6, 20), Fraction(10, 20)]
    assert products[0] == products[1] > 0


def test_the_measure_of_a_box_may_constrain_attributes_that_no_literal_names() -> None:
    domain = Domain({"a": Integer(0, 9), "b": Integer(0, 4, missing=True), "c": Integer(0, 6)})
    space = Space(domain, [Between("a", hi=3)], domain_aware=True)
    counter = RegionCounter(space)
    inside = Region({**space.box([Between("a", hi=3)]), 1: 0b10})
    assert (counter.measure(inside), counter.share(inside)) == (4 * 1 * 7, Fraction(4, 60))
    outside = Region({}, (inside.inside,))
    assert (counter.measure(outside), counter.share(outside)) == (60 * 7 - 28, Fraction(56, 60))


def _close(a: object, b: object) -> bool:
    return isinstance(a, float) and isinstance(b, float) and abs(a - b) < 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_published_recursion_agrees(seed: int) -> None:
    rng = random.Random(seed)
    antecedents = [
        frozenset(rng.choice((-1, 1)) * a for a in rng.sample(range(1, 9), rng.randint(1, 3))) for _ in range(8)
    ]
    domain = Domain.binary([f"a{i}" for i in range(1, 9)])

    def literal(number: int) -> Literal:
        return OneOf(f"a{abs(number)}", (1,), negated=number < 0)

    boxes = [[literal(n) for n in antecedent] for antecedent in antecedents]
    space = Space(domain, [lit for box in boxes for lit in box], domain_aware=True)
    counter = RegionCounter(space)
    ours = [
        counter.measure(Region(space.box(box), tuple(space.box(b) for b in boxes[:j]))) for j, box in enumerate(boxes)
    ]
    assert ours == published_captures(antecedents, 8)


def test_astronomic_counts_are_exact() -> None:
    domain = Domain.binary([f"x{i}" for i in range(5000)])
    first, second = OneOf("x0", (1,)), OneOf("x1", (1,))
    space = Space(domain, [first, second], domain_aware=True)
    counter = RegionCounter(space)
    assert counter.measure(Region({})) == 2**5000
    assert counter.measure(Region({}, (space.box([first, second]),))) == 2**5000 - 2**4998


@pytest.mark.slow
def test_rules_on_one_attribute_in_a_long_chain() -> None:
    """Chained clauses of width two: Fibonacci-like counts, far beyond enumeration."""
    n = 300
    domain = Domain.binary([f"x{i}" for i in range(n)])
    pairs = [[OneOf(f"x{i}", (1,)), OneOf(f"x{i + 1}", (1,))] for i in range(n - 1)]
    space = Space(domain, [lit for pair in pairs for lit in pair], domain_aware=True)
    count = RegionCounter(space).measure(Region({}, tuple(space.box(pair) for pair in pairs)))
    a, b = 1, 2
    for _ in range(n - 1):
        a, b = b, a + b
    assert count == b


ALIKE = [[Between("a", hi=1), OneOf("c", ("x",))], [OneOf("b", (1,)), OneOf("c", ("x", "y"))]]
UNLIKE = [[Between("a", hi=0), OneOf("c", ("x", "v"))], [OneOf("b", (1,)), OneOf("c", ("x",))], [Between("a", 8)]]


@pytest.mark.parametrize(
    ("most", "values", "inside", "outside"),
    [
        (3, "xyz", [], ALIKE),
        # Atoms, and classes of atoms, of sizes far apart: their chances are not those of a fair die.
        (9, "xyzuvw", [], UNLIKE),
        (9, "xyzuvw", [OneOf("c", ("x", "y", "z", "u"))], UNLIKE),
        (9, "xyzuvw", [Between("a", lo=2), OneOf("b", (1,))], []),
    ],
)
def test_sampling_is_uniform_on_the_region(
    most: int, values: str, inside: list[Literal], outside: list[list[Literal]]
) -> None:
    domain = Domain({"a": Integer(0, most), "c": Category(tuple(values)), "b": Binary()})
    space = Space(domain, [*inside, *(lit for box in outside for lit in box)], domain_aware=True)
    region = Region(space.box(inside), tuple(space.box(box) for box in outside))
    rng = np.random.default_rng(1)
    n = 20_000
    atoms = RegionCounter(space).sample(region, n, rng)
    columns: dict[str, list[object]] = {}
    for factor, part in enumerate(space.factors):
        columns |= {name: values.tolist() for name, values in part.draw(atoms[:, factor], rng).items()}
    drawn = Counter(zip(columns["a"], columns["c"], columns["b"], strict=True))
    size = RegionCounter(space).measure(region)
    assert len(drawn) == size
    expected = n / int(size)
    chi2 = sum((count - expected) ** 2 / expected for count in drawn.values())
    # Mean size - 1, standard deviation sqrt(2 (size - 1)): five of them are a false alarm in 10^-5.
    assert chi2 < size - 1 + 5 * (2 * (size - 1)) ** 0.5


@pytest.mark.parametrize(
    "attribute", [Integer(0, 10**30), Real(0.0, 1e6, 1e-15), Integer(-(10**20), 10**20, missing=True)]
)
def test_attributes_beyond_64_bits_are_drawn(attribute: Integer | Real) -> None:
    literal = Between("x", hi=1e5)
    space = Space(Domain({"x": attribute}), [literal], domain_aware=True)
    rng = np.random.default_rng(0)
    atoms = RegionCounter(space).sample(Region(space.box([literal.negate()])), 200, rng)
    drawn = space.factors[0].draw(atoms[:, 0], rng)["x"].astype(float)
    present = drawn[~np.isnan(drawn)]
    assert (present > 1e5).all()
    assert (present <= attribute.hi).all()
    assert present.std() > 0.1 * (attribute.hi - 1e5)


@pytest.mark.parametrize("attribute", [Integer(0, 2**60), Real(-1.0, 2.0**64, resolution=0.5)])
@pytest.mark.parametrize("value", [2**53, 2**53 + 1, 2**59 + 1])
def test_a_value_that_doubles_cannot_tell_from_its_neighbors_is_one_value(
    attribute: Integer | Real, value: int
) -> None:
    literals = (OneOf("x", (value,)), OneOf("x", (value + 1,)))
    space = Space(Domain({"x": attribute}), literals, domain_aware=False)
    counter = RegionCounter(space)
    assert [counter.measure(Region(space.box([literal]))) for literal in literals] == [1, 1]
    # The two are neighbors, and no record has both.
    assert counter.measure(Region(space.box([literal.negate() for literal in literals]))) == (attribute.size or 0) - 2


def test_an_empty_region_has_nothing_to_draw() -> None:
    literal = OneOf("a", (1,))
    space = Space(Domain.binary(["a", "b"]), [literal, literal.negate()], domain_aware=True)
    both = Region(space.box([literal, literal.negate()]))
    with pytest.raises(UndefinedMeasureError, match="region is empty"):
        RegionCounter(space).sample(both, 3, np.random.default_rng(0))


def test_a_long_list_of_pairs_is_counted_in_few_steps() -> None:
    rng = random.Random(0)
    domain = Domain({f"x{i}": Integer(0, 99) for i in range(12)})
    rules = [
        (Between(f"x{a}", hi=rng.randrange(5, 95)), Between(f"x{b}", lo=rng.randrange(5, 95)))
        for a, b in (rng.sample(range(12), 2) for _ in range(150))
    ]
    space = Space(domain, [literal for rule in rules for literal in rule], domain_aware=True)
    boxes = [space.box(rule) for rule in rules]
    # Without propagation fifty such rules take fifteen thousand steps.
    counter = RegionCounter(space, max_steps=3_000)
    captures = [counter.measure(Region(box, tuple(boxes[:i]))) for i, box in enumerate(boxes)]
    shorter = list(measured_in_order(boxes, counter))
    assert [measure for _, measure in shorter] == captures
    assert len(shorter[-1][0].outside) < len(boxes) - 1
    assert sum(captures) + counter.measure(Region({}, tuple(boxes))) == space.total == 100**12
    assert 0 <= min(captures) < max(captures) < space.total


def test_boxes_that_others_cover_together_are_not_left_out_again() -> None:
    domain = Domain({"x": Integer(0, 9), "y": Integer(0, 9)})
    literals: list[list[Literal]] = [
        [Between("x", hi=4)],
        [Between("x", 4)],
    ]
    literals += [[Between("x", n), Between("y", hi=n)] for n in range(1, 8)]
    space = Space(domain, [lit for box in literals for lit in box], domain_aware=True)
    regions = list(measured_in_order([space.box(box) for box in literals], RegionCounter(space)))
    assert [measure for _, measure in regions] == [50, 50, *[0] * 7]
    assert {len(region.outside) for region, _ in regions[2:]} == {2}


def test_too_hard_a_count_is_refused() -> None:
    rng = random.Random(0)
    domain = Domain.binary([f"x{i}" for i in range(60)])
    boxes = [[OneOf(f"x{i}", (1,), negated=rng.random() < 0.5) for i in rng.sample(range(60), 3)] for _ in range(80)]
    space = Space(domain, [lit for box in boxes for lit in box], domain_aware=True)
    counter = RegionCounter(space, max_steps=50)
    with pytest.raises(CountingLimitError, match="more than 50 steps") as caught:
        counter.measure(Region({}, tuple(space.box(box) for box in boxes)))
    assert caught.value.max_steps == 50


def test_groups_are_one_factor() -> None:
    domain = Domain.binary(["a", "b", "c"], groups=[ExactlyOne(("a", "b"))])
    space = Space(domain, [OneOf("a", (1,))], domain_aware=True)
    assert [factor.attributes for factor in space.factors] == [("a", "b"), ("c",)]
    assert space.total == 4
    assert Space(domain, [], domain_aware=False).total == 8


def test_a_continuum_has_volumes() -> None:
    domain = Domain({"x": Real(0.0, 1.0)})
    literal = Between("x", hi=0.1)
    space = Space(domain, [literal], domain_aware=True)
    assert RegionCounter(space).measure(Region(space.box([literal]))) == Fraction(1, 10)


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        (OneOf("nowhere", (1,)), "the domain lacks"),
        (OneOf("c", ("mauve",)), "not a value of its domain"),
        (OneOf("a", (7,)), "not a value of its domain"),
        (OneOf("a", ("x",)), "is a number"),
        (OneOf("r", (0.5,)), "is a continuum"),
        (Between("c", hi=2), "is a category"),
    ],
)
def test_conditions_outside_the_domain_are_refused(literal: Literal, message: str) -> None:
    domain = Domain({"a": Integer(0, 3), "c": Category(("x", "y")), "r": Real(0.0, 1.0)})
    with pytest.raises(InvalidModelError, match=message):
        Space(domain, [literal], domain_aware=True)


def test_a_count_ends_with_the_processor_time_of_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassine.counting.regions.BETWEEN", 1)
    domain = Domain({name: Binary() for name in "abcdef"})
    rules = parse_rules("if [a = 1 && b = 1] then [yes]\nelse if [b = 1 && c = 1] then [yes]\nelse [no]\n", domain)
    space = Space(domain, rules.literals, domain_aware=True)
    region = regions_of(rules, space)[-1]
    counted = RegionCounter(space).measure(region)
    with Budget(seconds=1e-9).applied(), pytest.raises(CostLimitError, match="counting regions takes more than"):
        RegionCounter(space).measure(region)
    with Budget(seconds=100).applied():
        assert RegionCounter(space).measure(region) == counted
