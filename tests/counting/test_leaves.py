"""Leaves are measured by sums over neighboring atoms as masks are counted: one oracle over all kinds of attributes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from glassine.counting import Measure, Region, RegionCounter, Space
from glassine.counting.leaves import LeafRegions
from glassine.domain import (
    Attribute,
    Between,
    Binary,
    Category,
    Domain,
    Implies,
    Integer,
    Literal,
    OneOf,
    Real,
)
from glassine.domain.shares import Shares
from glassine.errors import CostLimitError
from glassine.resources import Budget

ATTRIBUTES: dict[str, Attribute] = {
    "age": Integer(0, 99, missing=True),
    "code": Integer(0, 9, codes={-9: "refused"}),
    "pay": Real(0.0, 10.0, 0.1, missing=True),
    "length": Real(0.0, 2.0),
    "job": Category(("a", "b", "c"), missing=True),
    "ill": Binary(),
    "treated": Binary(),
}
AGES = Shares(weights=(0.7, 0.2, 0.1), source="a census", edges=(0, 49, 99))
DOMAIN = Domain(ATTRIBUTES, groups=[Implies(("treated", "ill"))], shares={"age": AGES})


def conditions(rng: np.random.Generator) -> list[Literal]:
    """Return literals of every kind: bounds of numbers, both at once, negated, comparisons, with and without a gap."""
    cuts = {"age": rng.integers(0, 99, 6).tolist(), "code": [2.5, 6.5], "pay": [1.25, 3.3, 7.0], "length": [0.3, 1.7]}
    out: list[Literal] = [OneOf("job", ("a", "c")), OneOf("ill", (1,)), OneOf("treated", (1,)), OneOf("code", (3, -9))]
    for name, points in cuts.items():
        for point in points:
            out += [Between(name, hi=float(point)), Between(name, lo=float(point), missing=bool(rng.integers(2)))]
        out.append(Between(name, min(points), max(points) + 0.5, negated=bool(rng.integers(2))))
    return [*out, *(literal.negate() for literal in out)]


@pytest.mark.parametrize("aware", [False, True])
@pytest.mark.parametrize("by_shares", [False, True])
def test_leaves_are_measured_as_masks_are(aware: bool, by_shares: bool) -> None:
    rng = np.random.default_rng(0)
    measured = list[Measure]()
    for _ in range(20):
        literals = conditions(rng)
        tree = [literals[i] for i in rng.integers(0, len(literals), 9)]
        paths = [[*tree[:cut], *(literals[i] for i in rng.integers(0, len(literals), 2))] for cut in (0, 2, 5, 8, 4)]
        space = Space(DOMAIN, literals, domain_aware=aware, by_shares=by_shares)
        leaves, counter = LeafRegions(space, paths), RegionCounter(space)
        regions = [Region(space.box(path)) for path in paths]
        assert list(leaves) == regions
        assert leaves[1:3] == regions[1:3]
        assert leaves.measures == [counter.measure(region) for region in regions]
        shares = [Fraction(count, leaves.total) for count in leaves.counts]
        assert shares == [counter.share(region) for region in regions]
        assert leaves.covered == sum(leaves.measures)
        measured += leaves.measures
        for parts, region in zip(leaves.parts, regions, strict=True):
            assert {f: space.weight(f, part) for f, part in parts.items()} == {
                f: space.weight(f, mask) for f, mask in region.inside.items()
            }
    assert any(measured)


def test_a_leaf_without_a_condition_is_the_whole_space() -> None:
    space = Space(DOMAIN, (), domain_aware=True)
    leaves = LeafRegions(space, [()])
    assert (leaves.measures, leaves.counts) == ([space.total], [leaves.total])


def test_memory_and_time_are_asked_for() -> None:
    space = Space(DOMAIN, [Between("age", hi=3.0)], domain_aware=True)
    with Budget(memory=1000).applied(), pytest.raises(CostLimitError, match=r"^the regions of 10 leaves take 5 kB"):
        LeafRegions(space, [(Between("age", hi=3.0),)] * 10)
    with Budget(seconds=1e-9).applied(), pytest.raises(CostLimitError, match=r"^counting regions takes more than"):
        LeafRegions(space, [(Between("age", hi=3.0),)])
