"""The rule that chooses a private model, on made-up figures."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest

from glassine.comparing import Mean, Row, recommend
from glassine.comparing.recommending import beats
from glassine.errors import InvalidParameterError
from tests.comparing.builders import comparison, refused, row

CONSTANT = row("constant", None, (0.6, 0.6, 0.6), bits=0.0, vulnerability=0.5, auroc=0.5)


def chosen(*rows: Row, measure: Any = "accuracy") -> tuple[str, float | None] | None:
    found = recommend(comparison(*rows), measure).chosen
    return None if found is None else (found.model, found.epsilon)


def test_the_smallest_epsilon_within_a_standard_error_of_the_best() -> None:
    # The best has mean 0.80 and standard error 0.01 * sqrt(1/3): the floor is 0.79423.
    best = row("tree", 1.0, (0.79, 0.80, 0.81))
    assert recommend(comparison(best, CONSTANT)).floor == pytest.approx(0.80 - 0.01 / math.sqrt(3))
    inside, outside = (0.795, 0.795, 0.795), (0.794, 0.794, 0.794)
    assert chosen(row("rule-list", 0.1, inside), best, CONSTANT) == ("rule-list", 0.1)
    assert chosen(row("rule-list", 0.1, outside), best, CONSTANT) == ("tree", 1.0)
    assert chosen(row("rule-list", 0.01, outside), row("tree", 0.1, inside), best, CONSTANT) == ("tree", 0.1)


def test_ties_of_epsilon_go_to_what_leaks_less() -> None:
    same = (0.8, 0.8, 0.8)
    few, many = row("rule-list", 0.1, same, bits=1.0), row("tree", 0.1, same, bits=2.0)
    assert chosen(many, few, CONSTANT) == ("rule-list", 0.1)
    unknown = row("additive", 0.1, same, bits=None, vulnerability=0.5)
    assert chosen(unknown, many, CONSTANT) == ("tree", 0.1)
    seen = row("greedy-rule-list", 0.1, same, bits=2.0, vulnerability=0.509)
    assert chosen(many, seen, CONSTANT) == ("greedy-rule-list", 0.1)
    # Alike in everything: the order of the rows decides, not chance.
    twin = row("rule-list", 0.1, same, bits=2.0)
    assert chosen(many, twin, CONSTANT) == ("tree", 0.1)
    assert chosen(twin, many, CONSTANT) == ("rule-list", 0.1)


def test_the_better_one_of_those_that_leak_alike() -> None:
    better, worse = row("rule-list", 0.1, (0.7, 0.8, 0.9)), row("tree", 0.1, (0.7, 0.8, 0.88))
    assert chosen(worse, better, CONSTANT) == ("rule-list", 0.1)


def test_what_is_not_private_is_never_recommended() -> None:
    ordinary = row("cart", None, (0.9, 0.9, 0.9), bits=0.1)
    assert chosen(row("tree", 1.0, (0.7, 0.7, 0.7)), ordinary, CONSTANT) == ("tree", 1.0)
    assert chosen(ordinary, CONSTANT) is None


def test_none_where_the_constant_prediction_is_not_beaten() -> None:
    found = recommend(comparison(row("tree", 1.0, (0.6, 0.6, 0.6)), row("rule-list", 1.0, (0.5, 0.5, 0.5)), CONSTANT))
    assert found.chosen is None
    assert found.best is not None
    assert (found.best.model, found.useful) == ("tree", ())
    # A mean above the constant's is not enough: the difference must exceed its standard error on the same splits.
    assert chosen(row("tree", 1.0, (0.5, 0.6, 0.71)), CONSTANT) is None
    assert chosen(row("tree", 1.0, (0.61, 0.62, 0.63)), CONSTANT) == ("tree", 1.0)
    # The best varies too much; another one as good beats the constant reliably.
    steady = row("rule-list", 1.0, (0.602, 0.602, 0.602))
    assert chosen(row("tree", 0.1, (0.5, 0.6, 0.71)), steady, CONSTANT) == ("rule-list", 1.0)


def test_the_difference_is_taken_split_by_split() -> None:
    varying = row("constant", None, (0.5, 0.6, 0.7))
    assert chosen(row("tree", 1.0, (0.51, 0.61, 0.71)), varying) == ("tree", 1.0)
    mean, base = Mean.of((0.51, 0.61, 0.71)), Mean.of((0.71, 0.61, 0.45))
    assert mean is not None
    assert base is not None
    assert not beats(mean, base)


def test_what_was_not_measured_on_every_split_does_not_count() -> None:
    nan = row("tree", 0.01, (0.9, math.nan, 0.9))
    assert nan.accuracy is None
    assert chosen(nan, row("rule-list", 1.0, (0.8, 0.8, 0.8)), CONSTANT) == ("rule-list", 1.0)
    infinite = row("additive", 0.01, (0.9, math.inf, 0.9))
    assert chosen(refused("tree", 0.1), infinite, CONSTANT) is None
    assert recommend(comparison(refused("tree", 0.1), CONSTANT)).best is None


def test_without_a_constant_prediction_the_rest_of_the_rule_holds() -> None:
    found = recommend(comparison(row("tree", 1.0, (0.3, 0.3, 0.3))))
    assert found.chosen is not None
    assert found.constant is None
    assert chosen(row("tree", 1.0, (0.3, 0.3, 0.3)), refused("constant", None)) == ("tree", 1.0)


def test_a_single_split_has_no_standard_error() -> None:
    best, close = row("tree", 1.0, (0.8,)), row("tree", 0.1, (0.799,))
    floor = row("constant", None, (0.6,))
    assert chosen(close, best, floor) == ("tree", 1.0)
    assert chosen(row("tree", 0.1, (0.8,)), best, floor) == ("tree", 0.1)
    assert chosen(row("tree", 0.1, (0.6,)), floor) is None


def test_the_measure_may_be_auroc() -> None:
    ranked, right = row("additive", 1.0, (0.7,) * 3, auroc=0.9), row("tree", 1.0, (0.8,) * 3, auroc=0.7)
    assert chosen(ranked, right, CONSTANT, measure="auroc") == ("additive", 1.0)
    assert chosen(ranked, right, CONSTANT) == ("tree", 1.0)
    unranked = row("tree", 0.1, (0.8,) * 3, auroc=None)
    assert chosen(unranked, ranked, CONSTANT, measure="auroc") == ("additive", 1.0)


def test_another_measure_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="accuracy or auroc, got 'f1'"):
        recommend(comparison(CONSTANT), cast("Any", "f1"))
