"""Statements that look true, and figures that were recomputed on their own; the bounds take the side of the proof."""

from __future__ import annotations

import math

import pytest
from scipy.optimize import brentq

from glassine.capacity import (
    complexity_bits,
    conditional_bits,
    design_advantage,
    design_bits,
    design_success,
    free_counts_bits,
    fresh_advantage,
    fresh_success,
    rule_list_bits,
    table_bits,
    tree_bits,
)

N, n = 48_842, 24_421
LABELS = 39.6


def test_a_rule_that_depends_on_the_order_of_records_breaks_the_refund() -> None:
    # Fair bits; partitions are numbered, and the first is taken under which the records read 1..10..0. With the count
    # all n records are known, yet the structure and the complexity have fewer than n bits on average.
    records = 60
    p = (records + 1) / 2.0**records
    structure = (-(1 - p) * math.log1p(-p) / math.log(2) - p * math.log2(p)) / p
    revealed = float(records)
    assert structure + complexity_bits(2, records) < revealed <= structure + table_bits(2, records)


def test_epsilon_bounds_an_advantage_for_replacement_alone() -> None:
    # Frame {A, B}, one is drawn. P(1 | no record) = 1/2, and each record shifts the odds by at most e^0.1.
    epsilon = 0.1
    with_a = 1 - 0.5 * math.exp(-epsilon)
    advantage = 2 * with_a - 1
    assert max(with_a / 0.5, 0.5 / (1 - with_a)) <= math.exp(epsilon) + 1e-12
    assert advantage > math.tanh(epsilon / 2)
    # Replacing A by B is then two steps.
    assert advantage <= math.tanh(epsilon)


def test_figures_of_a_tree_with_labels() -> None:
    bits = design_bits(LABELS, N, n)
    assert fresh_advantage(LABELS / n) == pytest.approx(0.0237, abs=5e-5)
    assert design_advantage(bits / N) == pytest.approx(0.0336, abs=5e-5)
    assert fresh_success(0.01, LABELS / n) == pytest.approx(0.0150, abs=5e-4)
    assert design_success(0.01, bits / N) == pytest.approx(0.0178, abs=5e-5)
    # Of one published model, except for one draw in 20.
    given = design_advantage(design_bits(conditional_bits(LABELS, 0.05), N, n) / N)
    assert 0.517 < (1 + given) / 2 <= 0.518


def test_figures_of_a_tree_with_counts() -> None:
    structure, cells = 31.7, 16
    full = design_bits(structure + table_bits(cells, n), N, n)
    assert design_advantage(full / N) == pytest.approx(0.0772, abs=2e-4)
    assert fresh_advantage((structure + free_counts_bits(structure, cells)) / n) == pytest.approx(0.034, abs=5e-4)
    stump = design_bits(math.log2(25) + table_bits(4, n), N, n)
    assert design_advantage(stump / N) == pytest.approx(0.0361, abs=1e-4)


@pytest.mark.parametrize(
    ("bits", "at_five", "at_two"),
    [
        (tree_bits(50, 3, 2), 6_550, 40_970),
        (tree_bits(50, 4, 2), 13_825, 86_442),
        (rule_list_bits(100, 5, 2), 5_416, 33_865),
    ],
)
def test_records_that_a_class_needs(bits: float, at_five: int, at_two: int) -> None:
    for limit, expected in ((0.05, at_five), (0.02, at_two)):
        needed = brentq(lambda m, limit=limit: fresh_advantage(bits / m) - limit, 100, 1e7)
        assert needed == pytest.approx(expected, rel=2e-3)


def test_records_that_a_design_needs() -> None:
    bits = tree_bits(50, 3, 2)
    for limit, expected in ((0.05, 13_170), (0.02, 82_336)):
        assert design_advantage(design_bits(bits, 2 * expected, expected) / (2 * expected)) == pytest.approx(
            limit, rel=1e-3
        )
