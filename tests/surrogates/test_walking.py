from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine.domain import Between, Binary, Category, Domain, ExactlyOne, Integer, Literal, OneOf, Real
from glassine.errors import InvalidParameterError
from glassine.models import Branch, DecisionTree, Evidence, Node
from glassine.surrogates import ContrastConstraints
from glassine.surrogates.distances import DomainMetric
from glassine.surrogates.walking import conditions_of, contrasts_of, satisfies, way_of

SMALL = Domain({"a": Integer(0, 6), "b": Integer(0, 6), "c": Category(("u", "v", "w")), "d": Binary()})
METRIC = DomainMetric(distance="gower", scales=(6.0, 6.0, 1.0, 1.0))

bounds = st.one_of(st.floats(-9, 9), st.just(math.inf), st.just(-math.inf))


@given(bounds, bounds, st.booleans(), st.booleans(), st.one_of(st.none(), st.floats(-10, 10), st.integers(-10, 10)))
def test_a_single_value_satisfies_what_a_column_of_it_does(
    lo: float, hi: float, negated: bool, missing: bool, value: float | None
) -> None:
    literals: list[Literal] = [OneOf("a", (1, 2.5), negated=negated, missing=missing)]
    if lo < hi:
        literals.append(Between("a", lo, hi, negated=negated, missing=missing))
    for literal in literals:
        column = np.array([value], dtype=object if value is None else None)
        assert satisfies(literal, value) == bool(literal.holds(column)[0])


def split(literal: Literal, low: int, high: int) -> Node:
    return Node(branches=(Branch(literal, low), Branch(literal.negate(), high)))


def leaf(label: int) -> Node:
    return Node(evidence=Evidence(label=label))


def random_tree(rng: np.random.Generator) -> DecisionTree:
    """Return a tree of depth 3 over the small domain."""
    nodes: list[Node] = []

    def grow(depth: int) -> int:
        at = len(nodes)
        nodes.append(leaf(int(rng.integers(3))))
        if depth and rng.random() < 0.85:
            name = str(rng.choice(list(SMALL)))
            literal: Literal
            if name in "ab":
                literal = Between(name, hi=float(rng.integers(0, 6)) + 0.5)
            else:
                literal = OneOf(name, (str(rng.choice(["u", "v", "w"])),) if name == "c" else (1,))
            low, high = grow(depth - 1), grow(depth - 1)
            nodes[at] = split(literal, low, high)
        return at

    grow(3)
    return DecisionTree(tuple(nodes), SMALL.names, ("x", "y", "z"))


RECORDS = [
    dict(zip(SMALL, values, strict=True)) for values in itertools.product(range(7), range(7), ("u", "v", "w"), (0, 1))
]


def decides(tree: DecisionTree, record: dict[str, Any]) -> Any:
    label = tree.nodes[way_of(tree, record)[0][-1]].evidence.prediction
    assert label is not None
    assert tree.classes is not None
    return tree.classes[label]


@pytest.mark.parametrize("seed", range(25))
def test_the_first_contrast_is_the_nearest_of_all_records(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    decided = {tuple(record.values()): decides(tree, record) for record in RECORDS}
    columns: dict[str, Any] = {name: np.array([r[name] for r in RECORDS], dtype=object) for name in SMALL}
    labels = [cell.evidence.prediction for cell in tree.cells]
    assert [("x", "y", "z")[labels[i] or 0] for i in tree.apply(columns)] == list(decided.values())
    for i in rng.integers(len(RECORDS), size=6).tolist():
        record = RECORDS[i]
        own = decides(tree, record)
        found = contrasts_of(tree, record, decision=own, domain=SMALL, metric=METRIC)
        best = min(
            (
                (sum(other[n] != record[n] for n in SMALL), distance(record, other))
                for other in RECORDS
                if decided[tuple(other.values())] != own
            ),
            default=None,
        )
        if best is None:
            assert found == ()
            continue
        assert len(found[0].changes) == best[0]
        assert found[0].distance == pytest.approx(best[1])
        ranks = [(len(c.changes), c.distance) for c in found]
        assert ranks == sorted(ranks)
        for contrast in found:
            changed = {**record, **{change.attribute: change.after for change in contrast.changes}}
            assert decides(tree, changed) == contrast.decision != own
            assert all(change.before == record[change.attribute] != change.after for change in contrast.changes)


CONSTRAINED = (
    ContrastConstraints(fixed=("c",)),
    ContrastConstraints(only_up=("a",), only_down=("b",)),
    ContrastConstraints(fixed=("a", "c"), only_up=("d",)),
    ContrastConstraints(fixed=("c",), only_up=("a", "b"), only_down=("a",)),
    ContrastConstraints(costs={"a": 10.0, "c": 0.25}),
    ContrastConstraints(fixed=("d",), only_up=("b",), costs={"b": 3.5, "c": 0.01}),
)


def allowed(constraints: ContrastConstraints, record: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether a change keeps to the constraints, said attribute by attribute."""
    return (
        all(other[n] == record[n] for n in constraints.fixed)
        and all(other[n] >= record[n] for n in constraints.only_up)
        and all(other[n] <= record[n] for n in constraints.only_down)
    )


def cost(constraints: ContrastConstraints, record: dict[str, Any], other: dict[str, Any]) -> float:
    parts = {n: abs(record[n] - other[n]) / 6 if n in "ab" else float(record[n] != other[n]) for n in SMALL}
    return sum(constraints.costs.get(n, 1.0) * part for n, part in parts.items())


@pytest.mark.parametrize("constraints", CONSTRAINED)
def test_the_first_contrast_is_the_nearest_of_all_allowed_records_or_there_is_none(
    constraints: ContrastConstraints,
) -> None:
    rng = np.random.default_rng(7)
    n_none = n_moved = 0
    for _ in range(12):
        tree = random_tree(rng)
        decided = {tuple(record.values()): decides(tree, record) for record in RECORDS}
        for i in rng.integers(len(RECORDS), size=5).tolist():
            record = RECORDS[i]
            own = decided[tuple(record.values())]
            asked: Any = {"decision": own, "domain": SMALL, "metric": METRIC}
            contrasts = contrasts_of(tree, record, constraints=constraints, **asked)
            others = [r for r in RECORDS if decided[tuple(r.values())] != own and allowed(constraints, record, r)]
            if not others:
                assert contrasts == ()
                n_none += set(decided.values()) != {own}
                continue
            changed = [{**record, **{change.attribute: change.after for change in c.changes}} for c in contrasts]
            assert all(allowed(constraints, record, r) for r in changed)
            if constraints.costs:
                best = min(cost(constraints, record, r) for r in others)
                assert contrasts[0].cost == pytest.approx(best)
                assert [c.cost for c in contrasts] == sorted(c.cost or 0.0 for c in contrasts)
            else:
                nearest = min((sum(r[n] != record[n] for n in SMALL), distance(record, r)) for r in others)
                assert len(contrasts[0].changes) == nearest[0]
                assert contrasts[0].distance == pytest.approx(nearest[1])
                assert all(c.cost is None for c in contrasts)
            free = contrasts_of(tree, record, **asked)
            n_moved += free[0].changes != contrasts[0].changes
    # The scenes are such that constraints matter.
    assert n_none + n_moved > 0


def test_a_direction_neither_takes_a_value_away_nor_gives_one() -> None:
    domain = Domain({"n": Real(0.0, 10.0, missing=True), "m": Binary()})
    gap = Between("n", negated=True, missing=True)
    tree = DecisionTree((split(gap, 1, 2), leaf(0), leaf(1)), domain.names, ("x", "y"))
    metric = DomainMetric(distance="gower", scales=(10.0, 1.0))
    for value in (None, 3.0):
        record: dict[str, Any] = {"n": value, "m": 0}
        asked: Any = {"decision": decides(tree, record), "domain": domain, "metric": metric}
        assert len(contrasts_of(tree, record, **asked)) == 1
        for constraints in (
            ContrastConstraints(only_up=("n",)),
            ContrastConstraints(only_down=("n",)),
            ContrastConstraints(fixed=("n",)),
        ):
            assert contrasts_of(tree, record, constraints=constraints, **asked) == ()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"fixed": "age"}, "must be a list"),
        ({"only_up": 3}, "must be a list"),
        ({"fixed": (3,)}, "must be a list"),
        ({"costs": ("a", 2)}, "must map attributes"),
        *(({"costs": {"a": cost}}, "positive finite") for cost in (0, -1.0, math.nan, math.inf, "2", True)),
        ({"fixed": ("z",)}, "'z', which is not an attribute"),
        ({"costs": {"z": 1.0}}, "'z', which is not an attribute"),
        ({"only_up": ("c",)}, "no order"),
        ({"only_down": ("c",)}, "no order"),
    ],
)
def test_constraints_that_do_not_fit_the_domain_are_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        ContrastConstraints(**parts).check(SMALL)


def distance(one: dict[str, Any], other: dict[str, Any]) -> float:
    numbers: float = sum(abs(one[name] - other[name]) / 6 for name in "ab")
    categories = (one["c"] != other["c"]) + (one["d"] != other["d"])
    return (numbers + int(categories)) / 4


def contrast_of(domain: Domain, literal: Literal, value: Any, metric: DomainMetric | None = None) -> Any:
    name = domain.names[0]
    tree = DecisionTree((split(literal, 1, 2), leaf(0), leaf(1)), domain.names, ("x", "y"))
    record = {name: value, **dict.fromkeys(domain.names[1:], 0)}
    own = decides(tree, record)
    metric = metric or DomainMetric(distance="gower", scales=(1.0,) * len(domain))
    found = contrasts_of(tree, record, decision=own, domain=domain, metric=metric)
    return found[0].changes[0].after if found else None


@pytest.mark.parametrize(
    ("attribute", "bound", "value", "after"),
    [
        (Integer(0, 10), 4.5, 2, 5),
        (Integer(0, 10), 4.5, 9, 4),
        (Integer(0, 10), 4.0, 2, 5),
        (Real(0.0, 10.0), 4.5, 9.0, 4.5),
        (Real(0.0, 10.0), 4.5, 1.0, 4.51),
        (Real(0.0, 10.0, 0.25), 4.5, 1.0, 4.75),
        (Real(0.0, 10.0, 0.25), 4.6, 9.0, 4.5),
        (Real(0.0, 10.0), 9.9999, 1.0, 10.0),
        (Real(0.0, 8.125), 8.123, 1.0, 8.124),
        (Real(0.0, 10.0), 11.0, 1.0, None),
        (Integer(0, 10), 10.5, 3, None),
        (Real(0.0, 10.0), -1.0, 3.0, None),
        # Steps of ranges that tiny are no powers of ten.
        (Real(0.0, 1e-321), 5e-322, 0.0, 7.46e-322),
    ],
)
def test_the_changed_value_lies_in_the_domain(attribute: Any, bound: float, value: Any, after: Any) -> None:
    assert contrast_of(Domain({"n": attribute}), Between("n", hi=bound), value) == after


def test_a_value_may_have_to_be_missing_or_present() -> None:
    domain = Domain({"n": Real(0.0, 10.0, missing=True), "m": Binary()})
    gap = Between("n", negated=True, missing=True)
    tree = DecisionTree((split(gap, 1, 2), leaf(0), leaf(1)), domain.names, ("x", "y"))
    metric = DomainMetric(distance="gower", scales=(10.0, 1.0))
    for value, after in ((None, 5.0), (3.0, None)):
        record: dict[str, Any] = {"n": value, "m": 0}
        own = decides(tree, record)
        found = contrasts_of(tree, record, decision=own, domain=domain, metric=metric)
        assert found[0].changes[0].after == after


def test_the_category_that_a_taxonomy_puts_closest_is_named() -> None:
    jobs = {"any": {"manual": ["mason", "joiner"], "office": ["clerk", "judge"]}}
    domain = Domain({"job": Category(("clerk", "mason", "joiner", "judge"))})
    metric = DomainMetric(distance="semantic", scales=(1.0,), taxonomies={"job": jobs})
    for value, after in (("mason", "joiner"), ("joiner", "mason"), ("judge", "clerk"), ("clerk", "judge")):
        assert contrast_of(domain, OneOf("job", (value,)), value, metric) == after


def test_impossible_combinations_are_no_contrast() -> None:
    free = Domain({"u": Binary(), "v": Binary()})
    tied = Domain({"u": Binary(), "v": Binary()}, groups=ExactlyOne(("u", "v")))
    tree = DecisionTree((split(OneOf("u", (1,)), 1, 2), leaf(0), leaf(1)), free.names, ("x", "y"))
    metric = DomainMetric(distance="gower", scales=(1.0, 1.0))
    found = [contrasts_of(tree, {"u": 1, "v": 0}, decision="x", domain=d, metric=metric) for d in (free, tied)]
    assert [len(contrasts) for contrasts in found] == [1, 0]


def test_conditions_are_merged_by_attribute() -> None:
    literals = (Between("a", lo=1), OneOf("c", ("u",), negated=True), Between("a", hi=5))
    assert conditions_of(literals, SMALL) == ("1 < a <= 5", "c != u")


@pytest.mark.parametrize("binary", [True, False])
def test_conditions_are_worded_by_the_domain_whatever_a_reader_knew_of_an_attribute(binary: bool) -> None:
    """A release read from a file said "smoker = 1" where the explainer said "smoker"."""
    domain = Domain({"smoker": Binary(), "code": Category((0, 1))})
    smoker, code = (OneOf(name, (1,), binary=binary) for name in domain)
    assert conditions_of((smoker, code), domain) == ("smoker", "code = 1")
    other = OneOf("smoker", (1,), negated=True, binary=binary)
    root = Node(branches=(Branch(smoker, 1), Branch(other, 2)))
    tree = DecisionTree((root, leaf(0), leaf(1)), domain.names, ("x", "y"))
    metric = DomainMetric(distance="gower", scales=(1.0, 1.0))
    found = contrasts_of(tree, {"smoker": 1, "code": 0}, decision="x", domain=domain, metric=metric)
    assert found[0].changes[0].condition == "not smoker"
