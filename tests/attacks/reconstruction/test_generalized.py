"""Dist_G under dependent attributes and records, against plain sums over all records and datasets."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Domain, as_model, parse_rules, reconstruct
from glassine.attacks import AttributeTree, generalized_dist_g
from glassine.domain import Binary, Category, Integer, Real, Shares
from glassine.errors import InvalidDataError, InvalidDomainError, InvalidParameterError, UndefinedMeasureError
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from glassine.models import DecisionTree

LIST = (
    "if [a] and [b] then [true] ([0 ; 2] examples)\n"
    "else if [size <= 2] and [c] then [false] ([1 ; 0] examples)\n"
    "else if [b] then [true] ([1 ; 1] examples)\nelse [false] ([2 ; 0] examples)"
)
DOMAIN = Domain(
    {"a": Binary(), "b": Binary(), "c": Binary(), "size": Integer(1, 4), "town": Category(("x", "y"), missing=True)}
)


def drawn_tree(seed: int) -> AttributeTree:
    rng = np.random.default_rng(seed)
    sizes = [2, 2, 2, 4, 3]
    parents = [None, "a", "size", "b", "a"]
    shapes: list[Any] = [(2,), (2, 2), (4, 2), (2, 4), (2, 3)]
    assert [shape[-1] for shape in shapes] == sizes
    return AttributeTree(DOMAIN, parents, [rng.dirichlet(np.ones(s[-1]), size=s[:-1] or None) for s in shapes])


def every_record(tree: AttributeTree) -> tuple[dict[str, Any], Any]:
    """Return all records of the domain, and their probabilities."""
    places = np.array(list(product(*(range(len(own)) for own in tree.values))))
    chance = np.ones(len(places))
    for k, (table, parent) in enumerate(zip(tree.tables, tree.parents, strict=True)):
        chance *= table[places[:, k]] if parent is None else table[places[:, parent], places[:, k]]
    return {name: own[places[:, k]] for k, (name, own) in enumerate(zip(tree.domain, tree.values, strict=True))}, chance


def entropy(chance: Any) -> float:
    shares = chance[chance > 0] / chance.sum()
    return float(-(shares * np.log2(shares)).sum())


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_of_attributes_is_the_sum_over_all_records(seed: int) -> None:
    tree, model = drawn_tree(seed), parse_rules(LIST, DOMAIN)
    known, (records, chance) = reconstruct(model, DOMAIN), every_record(drawn_tree(seed))
    assert chance.sum() == pytest.approx(1)
    part = model.apply(records)
    left = sum(size * entropy(chance[part == j]) for j, size in enumerate(known.supports))
    assert generalized_dist_g(known, tree) == pytest.approx(left / (known.n_records * entropy(chance)), abs=1e-12)
    assert tree.entropy == pytest.approx(entropy(chance))


def test_independent_attributes_give_the_figures_of_shares_and_of_equally_likely_records() -> None:
    names = ["a", "b", "c"]
    text = (
        "if [a] and [b] then [true] ([0 ; 2] examples)\nelse if [c] then [false] ([2 ; 0] examples)\n"
        "else [true] ([0 ; 1] example)"
    )
    plain = Domain.binary(names)
    even = AttributeTree(plain, [None] * 3, [[0.5, 0.5]] * 3)
    known = reconstruct(parse_rules(text, plain), plain)
    assert generalized_dist_g(known, even) == pytest.approx(known.dist_g(), abs=1e-12)
    assert generalized_dist_g(known, lambda columns: np.ones(len(columns["a"]))) == pytest.approx(known.dist_g())
    weights = {"a": (0.2, 0.8), "b": (0.5, 0.5), "c": (0.9, 0.1)}
    shares = {name: Shares(weights=each, source="made up") for name, each in weights.items()}
    public = Domain({name: Binary() for name in names}, shares=shares)
    skewed = AttributeTree(public, [None] * 3, [weights[name] for name in names])
    of_shares = reconstruct(parse_rules(text, public), public)
    assert generalized_dist_g(of_shares, skewed) == pytest.approx(of_shares.dist_g_by_shares(), abs=1e-12)


def test_weights_of_datasets_agree_with_a_tree_where_records_are_independent() -> None:
    domain = Domain({"a": Binary(), "size": Integer(1, 3)})
    tree = AttributeTree(domain, [None, "a"], [[0.3, 0.7], [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]])
    text = "if [a] then [true] ([0 ; 2] examples)\nelse if [size <= 2] then [false] ([1 ; 0] examples)\n"
    known = reconstruct(parse_rules(text + "else [true] ([0 ; 1] examples)", domain), domain)

    def weights(columns: Any) -> Any:
        a, size = columns["a"].astype(int), columns["size"].astype(int) - 1
        assert a.shape == size.shape == (6**4, 4)
        return (tree.tables[0][a] * tree.tables[1][a, size]).prod(axis=1)

    assert generalized_dist_g(known, weights) == pytest.approx(generalized_dist_g(known, tree), abs=1e-12)
    # All records are equal: four of one kind contradict the model, and nothing is left.
    with pytest.raises(UndefinedMeasureError, match="no dataset that agrees"):
        generalized_dist_g(known, lambda columns: (columns["a"] == columns["a"][:, :1]).all(axis=1).astype(float))


def test_the_learned_tree_finds_a_chain_and_its_tables() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 4000)
    b = a ^ (rng.random(4000) < 0.1)
    c = b ^ (rng.random(4000) < 0.1)
    domain = Domain.binary(["a", "c", "b"])
    tree = AttributeTree.of(pl.DataFrame({"a": a, "b": b, "c": c}), domain)
    names = list(domain)
    pairs = {frozenset((names[k], names[p])) for k, p in enumerate(tree.parents) if p is not None}
    assert pairs == {frozenset("ab"), frozenset("bc")}
    assert all(np.abs(np.diag(t) - 0.9).max() < 0.03 for t in tree.tables if t.ndim == 2)
    model = as_model(MultiwayTreeClassifier(min_samples_split=2000).fit(pl.DataFrame({"a": a, "b": b, "c": c}), c))
    assert isinstance(model, DecisionTree)
    known = reconstruct(model, domain)
    # Who knows that attributes go together knows more from one of them.
    assert generalized_dist_g(known, tree) < known.dist_g()


def test_a_continuum_is_the_limit_of_fine_resolutions() -> None:
    rng = np.random.default_rng(1)
    text = "if [x <= 0.3] and [a] then [true] ([0 ; 5] examples)\nelse if [y > 7] then [false] ([3 ; 1] examples)\n"
    text += "else [true] ([0 ; 4] examples)"
    wide = Domain({"a": Binary(), "x": Real(0.0, 1.0), "y": Real(0.0, 16.0)})
    known = reconstruct(parse_rules(text, wide), wide)
    gaps = []
    for step in (1 / 64, 1 / 1024, 1 / 16384):
        fine = Domain({"a": Binary(), "x": Real(0.0, 1.0, resolution=step), "y": Real(0.0, 16.0, resolution=4 * step)})
        counted = reconstruct(parse_rules(text, fine), fine).dist_g()
        gaps.append(abs(known.dist_g(units={"x": step, "y": 4 * step}) - counted))
    assert gaps[0] < 1e-2
    assert gaps[2] < gaps[1] < gaps[0]
    assert gaps[2] < 1e-5
    # A plain integral over draws: the share of the volume, by part.
    draws = {"a": rng.integers(0, 2, 200_000), "x": rng.random(200_000), "y": 16 * rng.random(200_000)}
    shares = np.bincount(known.model.apply(draws), minlength=3) / 200_000
    left = sum(n * (5 + math.log2(s)) for n, s in zip((5, 4, 4), shares, strict=True))
    assert known.dist_g(units={"x": 1.0, "y": 1.0}) == pytest.approx(left / (13 * 5), abs=2e-3)


def test_what_cannot_be_measured_is_refused() -> None:
    wide = Domain({"a": Binary(), "x": Real(0.0, 1.0)})
    text = "if [a] then [true] ([0 ; 5] examples)\nelse [false] ([3 ; 1] examples)"
    known = reconstruct(parse_rules(text, wide), wide)
    with pytest.raises(UndefinedMeasureError, match="no declared resolution"):
        known.dist_g()
    with pytest.raises(UndefinedMeasureError, match="'x' has no declared resolution"):
        known.dist_g(units={})
    for units in ({"x": 0.0}, {"a": 1.0, "x": 1.0}, {"x": math.nan}):
        with pytest.raises(InvalidParameterError, match="units must give numbers above 0"):
            known.dist_g(units=units)
    gaps = Domain({"a": Binary(), "x": Real(0.0, 1.0, missing=True)})
    with pytest.raises(UndefinedMeasureError, match="no density"):
        reconstruct(parse_rules(text, gaps), gaps).dist_g(units={"x": 0.1})
    with pytest.raises(UndefinedMeasureError, match="wider than the ranges"):
        known.dist_g(units={"x": 4.0})
    with pytest.raises(InvalidDomainError, match="'x' has no list"):
        AttributeTree.of(pl.DataFrame({"a": [0], "x": [0.5]}), wide)
    domain = Domain.binary(["a", "b"])
    with pytest.raises(InvalidParameterError, match="circle"):
        AttributeTree(domain, ["b", "a"], [np.full((2, 2), 0.5)] * 2)
    with pytest.raises(InvalidParameterError, match="table of 'b'"):
        AttributeTree(domain, [None, "a"], [[0.5, 0.5], [[0.5, 0.6], [0.5, 0.5]]])
    with pytest.raises(InvalidDataError, match="1 of 2 records have a value of 'a'"):
        AttributeTree.of(pl.DataFrame({"a": [0, 2], "b": [0, 1]}), domain)
    small = reconstruct(parse_rules(text, domain), domain)
    with pytest.raises(UndefinedMeasureError, match="impossible"):
        generalized_dist_g(small, AttributeTree(domain, [None, None], [[1.0, 0.0], [0.5, 0.5]]))
    with pytest.raises(InvalidParameterError, match="another domain"):
        generalized_dist_g(small, AttributeTree(Domain.binary(["a"]), [None], [[0.5, 0.5]]))
    many = reconstruct(parse_rules(text.replace("5", "50"), domain), domain)
    with pytest.raises(UndefinedMeasureError, match="more than 1,000,000 datasets"):
        generalized_dist_g(many, lambda columns: np.ones(len(columns["a"])))
    few = reconstruct(
        parse_rules("if [a] then [true] ([0 ; 1] examples)\nelse [false] ([1 ; 0] examples)", domain), domain
    )
    with pytest.raises(InvalidParameterError, match="weights must be 16 numbers"):
        generalized_dist_g(few, lambda columns: np.full(len(columns["a"]), -1.0))
