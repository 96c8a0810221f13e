"""Representative records with the additive model's classes, and the trees and lists that are grown on them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from glassine import Domain, Integer
from glassine.learners import PrivateSummary
from glassine.learners.publishing import probabilities
from glassine.learners.summaries.additive_from_tables import Representatives, relabeled, representatives
from glassine.learners.summaries.estimates import _columns
from glassine.learners.summaries.junction_tree import junction_tree
from glassine.learners.summaries.splitting import shares_of
from tests.summaries.people import DOMAIN, summary


def test_regions_of_representative_records_are_sums_over_them() -> None:
    rng = np.random.default_rng(0)
    sizes = (3, 2)
    codes = np.stack([rng.integers(0, size, 50) for size in sizes])
    records = Representatives(codes=codes, classes=rng.random((50, 2)), n_bins=sizes)
    # Two regions, of which the second takes in half of a bin.
    weights = [np.array([[[1.0, 0.0, 1.0], [0.5, 1.0, 0.0]]]), None]
    share = np.array([[[1.0, 0.0, 1.0], [0.5, 1.0, 0.0]][r] for r in range(2)])[:, codes[0]]
    assert np.allclose(records.masses(weights), share @ records.classes)
    for k, table in enumerate(records.tables(weights)):
        for c, r, one in np.ndindex(2, 2, sizes[k]):
            expected = (share[r] * records.classes[:, c])[codes[k] == one].sum()
            assert table[c, r, one] == pytest.approx(expected)
    assert np.allclose(records.totals, records.classes.sum(axis=0))


@pytest.mark.slow
def test_representative_records_agree_with_the_exact_sums() -> None:
    tree = junction_tree(summary().released_)
    records = representatives(tree)
    everything = [None] * len(tree.n_bins)
    assert np.allclose(records.totals, tree.totals, rtol=0.01)
    for own, exact in zip(records.tables(everything), tree.tables(everything), strict=True):
        assert np.abs(own - exact).max() < 0.01 * tree.totals.sum()


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_leaves_have_the_mean_probabilities_of_the_additive_model(classes: int) -> None:
    fitted = summary(classes=classes)
    tree = junction_tree(fitted.released_)
    codes = representatives(tree).codes
    columns = _columns(fitted.released_, DOMAIN, codes)
    expected = fitted.additive().predict_proba(columns)
    records = relabeled(fitted.released_, tree)
    assert np.allclose(records.classes / records.classes.sum(axis=1, keepdims=True), expected, atol=1e-4)
    model = fitted.tree(2, "additive")
    leaves = model.apply(columns)
    for leaf in np.unique(leaves):
        held = leaves == leaf
        counts = records.classes[held].sum(axis=1) @ expected[held]
        assert np.allclose(probabilities(model)[leaf], shares_of(counts), atol=1e-4)
    assert model == fitted.tree(2)
    assert fitted.rule_list(2, "additive") == fitted.rule_list(2)
    assert model != fitted.tree(2, "gini")


@pytest.mark.slow
def test_an_interaction_is_seen_by_the_exact_counts_alone() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 10, 4000), rng.integers(0, 10, 4000)
    y = (a > 4) ^ (b > 6)
    frame = pl.DataFrame({"a": a, "b": b})
    domain = Domain({"a": Integer(0, 9), "b": Integer(0, 9)})
    fitted = PrivateSummary(epsilon=8.0, domain=domain, classes=(0, 1), random_state=0).fit(frame, y.astype(int))
    assert (fitted.tree(2, "gini").predict(frame) == y).mean() > 0.95
    assert (fitted.tree(2, "additive").predict(frame) == y).mean() < 0.8
