"""Bits of bins: of one, of several attributes at once, against every region of small models."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.attacks.bin_leakage import leak_bins
from glassine.auditing.additive_regions import RegionBits, bits_of_bins
from glassine.domain import Binary, Category, Domain, ExactlyOne, Integer, Real
from glassine.models import AdditiveModel, CategoryBins, Guarantee, NumericBins, Term


def model_of(*bins: Any, sizes: Any = None, guarantee: Guarantee | None = None) -> AdditiveModel:
    """Return a model of one term for each of the bins, with their sizes."""
    terms = []
    for i, entry in enumerate(bins):
        pair = entry if isinstance(entry, tuple) else (entry,)
        shape = tuple(one.n_bins for one in pair)
        weights = None if sizes is None or sizes[i] is None else np.reshape(sizes[i], shape)
        terms.append(Term(bins=pair, scores=np.zeros(shape), weights=weights, name=f"term {i}"))
    names = dict.fromkeys(one.attribute for term in terms for one in term.bins)
    return AdditiveModel(
        attributes=tuple(names), terms=tuple(terms), intercept=(0.0,), link="identity", guarantee=guarantee
    )


def told(model: AdditiveModel, domain: Domain, data: Any = None) -> RegionBits:
    return bits_of_bins(model, domain, leak_bins(model, domain, data))


@pytest.mark.parametrize(
    ("attribute", "bins", "shares"),
    [
        (Integer(0, 9), NumericBins("x", (2.5, 4.5)), [0.3, 0.2, 0.5, 0]),
        (Integer(0, 9), NumericBins("x", (3, 5), "left"), [0.3, 0.2, 0.5, 0]),
        (Integer(0, 9, missing=True), NumericBins("x", (2.5,)), [3 / 11, 7 / 11, 1 / 11]),
        (Real(0.0, 1.0, resolution=0.1), NumericBins("x", (0.3,), "left"), [3 / 11, 8 / 11, 0]),
        (Real(0.0, 1.0, resolution=0.1), NumericBins("x", (0.3,)), [4 / 11, 7 / 11, 0]),
        (Real(0.0, 2.0), NumericBins("x", (0.5,)), [0.25, 0.75, 0]),
        (Real(0.0, 2.0, missing=True), NumericBins("x", (0.5,)), [0.125, 0.375, 0.5]),
        (Category(("a", "b", "c")), CategoryBins("x", (("a",), ("b",))), [1 / 3, 1 / 3, 1 / 3]),
        (Category(("a", "b"), missing=True), CategoryBins("x", (("a",), ("b",), (None,))), [1 / 3, 1 / 3, 1 / 3, 0]),
        (Category(("a", "b"), missing=True), CategoryBins("x", (("a", "b"),)), [2 / 3, 1 / 3]),
        (Binary(), NumericBins("x", (0.5,)), [0.5, 0.5, 0]),
        (Binary(), CategoryBins("x", ((0,), (1,))), [0.5, 0.5, 0]),
        (Integer(1, 4, missing=True), CategoryBins("x", ((1,), (2, 7), (None,))), [0.2, 0.2, 0.2, 0.4]),
    ],
)
def test_one_bin_tells_as_much_as_its_share_of_the_values(attribute: Any, bins: Any, shares: list[float]) -> None:
    domain = Domain({"x": attribute})
    for i, share in enumerate(shares):
        sizes = [0] * bins.n_bins
        sizes[i] = 12
        found = told(model_of(bins, sizes=[sizes]), domain)
        if not share:
            assert found == RegionBits(least=math.inf, most=None), "the domain contradicts the sizes"
            continue
        assert found.least == pytest.approx(-math.log2(share))
        assert found.most is not None
        assert found.least <= found.most <= found.least + 0.1
    finest = -math.log2(min(share for share in shares if share))
    unsized = told(model_of(bins), domain)
    assert unsized.least == 0.0
    assert unsized.most == pytest.approx(finest)


def test_without_sizes_nothing_follows_of_several_attributes() -> None:
    domain = Domain({"x": Integer(0, 99), "y": Integer(0, 99)})
    bins = NumericBins("x", (9.5,)), NumericBins("y", (24.5,))
    found = told(model_of(*bins), domain)
    assert found.least == 0.0
    assert found.most == pytest.approx(math.log2(10))
    frame = pl.DataFrame({"x": [5] * 20, "y": [50] * 20})
    counted = told(model_of(*bins), domain, frame)
    assert counted.least == counted.most == pytest.approx(math.log2(10))
    pair = told(model_of(bins), domain)
    assert pair.most == pytest.approx(math.log2(40))
    published = told(model_of(*bins, sizes=[(20, 0, 0), (0, 20, 0)]), domain)
    assert published.least == pytest.approx(math.log2(10 / 0.75))


def test_what_is_not_computed_is_not_known() -> None:
    domain = Domain({"x": Integer(0, 99), "y": Integer(0, 99)})
    bins = NumericBins("x", (9.5,)), NumericBins("y", (24.5,))
    assert told(model_of(*bins, sizes=[(12.5, 7.5, 0), None]), domain).most is None
    noisy = model_of(*bins, sizes=[(20, 5, 0), (20, 5, 0)], guarantee=Guarantee(epsilon=1.0, count_scale=3.0))
    assert told(noisy, domain).most is None
    twice = told(model_of(bins[0], NumericBins("x", (49.5,)), sizes=[(20, 5, 0), (22, 3, 0)]), domain)
    assert twice.least == pytest.approx(math.log2(10))
    assert twice.most is None
    unlike = told(model_of(*bins, sizes=[(20, 5, 0), (20, 6, 0)]), domain)
    assert unlike.most is None


def by_force(domain: Domain, model: AdditiveModel) -> float:
    """Return the most bits of any region in which sizes leave at least one record, trying every set of bins."""
    sides = []
    total = 0
    for term in model.terms:
        assert term.weights is not None
        sizes, cuts = term.weights[:-1], term.bins[0].cuts  # type: ignore[union-attr]  # numbers
        total = int(sizes.sum())
        n_values = int(domain[term.attributes[0]].size or 0)
        widths = np.diff([-0.5, *cuts, n_values - 0.5])
        options = []
        for r in range(1, len(sizes) + 1):
            for chosen in itertools.combinations(range(len(sizes)), r):
                share = widths[list(chosen)].sum() / n_values
                options.append((total - sizes[list(chosen)].sum(), -math.log2(share)))
        sides.append(options)
    best = 0.0
    for region in itertools.product(*sides):
        if sum(outside for outside, _ in region) < total:
            best = max(best, sum(bits for _, bits in region))
    return best


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 3))
def test_the_bounds_hold_the_truth(seed: int, n_terms: int) -> None:
    rng = np.random.default_rng(seed)
    domain = Domain({f"x{k}": Integer(0, 39) for k in range(n_terms)})
    bins, sizes = [], []
    for k in range(n_terms):
        cuts = np.sort(rng.choice(39, rng.integers(1, 5), replace=False)) + 0.5
        bins.append(NumericBins(f"x{k}", tuple(cuts.tolist())))
        sizes.append([*rng.multinomial(60, rng.dirichlet(np.full(len(cuts) + 1, 0.4))).tolist(), 0])
    model = model_of(*bins, sizes=sizes)
    found, truth = told(model, domain), by_force(domain, model)
    assert found.most is not None
    assert found.least <= truth + 1e-9
    assert truth <= found.most + 1e-9
    # A side is taken or not: the price leaves open what one attribute tells, log2 40 at most.
    assert found.most - found.least < 5.5


def one_of_ten(*names: str, sizes: Any = None) -> tuple[AdditiveModel, Domain]:
    """Return a model of some of ten attributes of which exactly one is 1, and their domain."""
    every = [f"a{i}" for i in range(10)]
    domain = Domain.binary(every, groups=ExactlyOne(tuple(every)))
    return model_of(*(CategoryBins(name, ((0,), (1,))) for name in names), sizes=sizes), domain


def test_what_groups_rule_out_is_no_possible_value() -> None:
    """To be the one in ten tells 3.3 bits, though the attribute by itself has two values."""
    model, domain = one_of_ten("a0", sizes=[(20, 5, 0)])
    found = told(model, domain)
    assert found.least == pytest.approx(math.log2(10))
    assert found.most is not None
    assert found.most >= found.least
    assert told(model_of(CategoryBins("a0", ((0,), (1,)))), domain).most == pytest.approx(math.log2(10))
    zeros = told(one_of_ten("a0", sizes=[(20, 0, 0)])[0], domain)
    assert zeros.least == pytest.approx(math.log2(10 / 9))
    pair = CategoryBins("a0", ((0,), (1,))), CategoryBins("a1", ((0,), (1,)))
    cells = [[8, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert told(model_of(pair, sizes=[cells]), domain).least == pytest.approx(math.log2(10))
    cells[1][1] = 1
    assert told(model_of(pair, sizes=[cells]), domain).least == math.inf


def test_of_two_attributes_of_a_group_nothing_is_added_up() -> None:
    model, domain = one_of_ten("a0", "a1", sizes=[(20, 0, 0), (20, 0, 0)])
    found = told(model, domain)
    assert found.least == pytest.approx(math.log2(10 / 9))
    assert found.most is None


def test_a_range_of_the_data_tells_of_all_records_at_once() -> None:
    """Twenty ranges of half the domain each tell a bit apiece of everybody, however wide the bins are."""
    domain = Domain({f"x{k}": Integer(0, 99) for k in range(20)})

    def ranged(bounds: tuple[float, float]) -> RegionBits:
        return told(model_of(*(NumericBins(name, (24.5,), "right", bounds) for name in domain)), domain)

    assert ranged((0, 99)).most == pytest.approx(2.0)
    assert ranged((0, 49)).most is None
