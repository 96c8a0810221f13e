"""The rule that chooses a private model, on made-up figures."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.comparison import Comparison, Mean, Row, Task, compare, recommend
from glassine.comparison.recommending import beats, dominates
from glassine.errors import InvalidParameterError
from tests.comparison.builders import comparison, domain, records, refused, row

CONSTANT = row("constant", None, (0.6, 0.6, 0.6), bits=0.0, vulnerability=0.5, auroc=0.5)


def chosen(*rows: Row, measure: Any = None) -> tuple[str, float | None] | None:
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
    with pytest.raises(InvalidParameterError, match="one of accuracy, auroc, log_loss for classes, got 'f1'"):
        recommend(comparison(CONSTANT), cast("Any", "f1"))


def _naive(found: Comparison) -> tuple[str, float | None] | None:
    """Recompute the recommendation, figure by figure, from the rule as it is written."""
    lopsided = found.largest_class is not None and found.largest_class >= 0.8
    private = [row for row in found.rows if row.epsilon is not None and row.accuracy is not None]
    name = "accuracy"
    if lopsided:
        name = "auroc" if any(row.auroc for row in private) else "log_loss"
    sign = -1 if name == "log_loss" else 1
    base = next((getattr(row, name) for row in found.rows if row.model == "constant"), None)
    ranked = {id(row): np.array(getattr(row, name).values) * sign for row in private if getattr(row, name) is not None}
    if not ranked:
        return None

    def error(values: Any) -> float:
        return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0

    top = max(ranked.values(), key=lambda values: values.mean())
    kept = []
    for one in private:
        values = ranked.get(id(one))
        if values is None or values.mean() < top.mean() - error(top) - 1e-12:
            continue
        apart = values if base is None else values - sign * np.array(base.values)
        if base is None or apart.mean() > max(error(apart), 1e-12):
            kept.append(one)

    def costs(row: Row) -> list[float]:
        parts = (row.accuracy, row.auroc, row.log_loss, row.bits, row.vulnerability)
        signs = (-1, -1, 1, 1, 1)
        return [
            row.epsilon or 0.0,
            *(math.inf if p is None else s * p.value for p, s in zip(parts, signs, strict=True)),
        ]

    kept = [
        row
        for row in kept
        if not any(costs(o) != costs(row) and (np.array(costs(o)) <= np.array(costs(row))).all() for o in kept)
    ]
    if not kept:
        return None
    second, sign = "accuracy" if lopsided else "auroc", 1
    if second == "auroc" and all(row.auroc is None for row in kept):
        second, sign = "log_loss", -1
    kept = [row for row in kept if row.epsilon == min(other.epsilon or 0.0 for other in kept)]
    known = [sign * np.array(m.values) for row in kept if (m := getattr(row, second)) is not None]
    if known:
        best = max(known, key=lambda values: values.mean())
        floor = best.mean() - error(best) - 1e-12
        kept = [row for row in kept if (m := getattr(row, second)) is not None and sign * m.value >= floor]
    order = {id(row): place for place, row in enumerate(found.rows)}
    final = min(kept, key=lambda row: (*costs(row)[4:], -float(ranked[id(row)].mean()), order[id(row)]))
    return final.model, final.epsilon


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_recommendation_is_recomputed_and_never_dominated(data: st.DataObject) -> None:
    """Coarse figures make ties and dominated models frequent."""
    figure = st.integers(55, 95).map(lambda percent: percent / 100)
    # Few different accuracies tie models; no two differ by exactly a standard error, which rounding would decide.
    noise = data.draw(st.randoms(use_true_random=False))
    splits = st.sampled_from([[noise.uniform(0.55, 0.95) for _ in range(3)] for _ in range(4)])
    defined = data.draw(st.booleans())

    def drawn(model: str, epsilon: float | None) -> Row:
        return row(
            model,
            epsilon,
            data.draw(splits),
            bits=data.draw(st.none() | st.integers(1, 3).map(float)),
            vulnerability=data.draw(st.sampled_from([0.5, 0.51, 0.52])),
            auroc=data.draw(figure) if defined else None,
            log_loss=data.draw(figure),
        )

    names = [(model, epsilon) for model in ("tree", "rule-list", "additive") for epsilon in (0.1, 1.0)]
    rows = [drawn(*name) for name in data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1))]
    constant = row("constant", None, data.draw(splits), auroc=0.5 if defined else None, log_loss=0.9)
    found = comparison(*rows, constant, largest_class=data.draw(st.sampled_from([0.5, 0.79, 0.8, 0.95])))
    advice = recommend(found)
    assert (None if advice.chosen is None else (advice.chosen.model, advice.chosen.epsilon)) == _naive(found)
    if advice.chosen is not None:
        assert not any(dominates(other, advice.chosen) for other in advice.useful)


def test_at_equal_accuracy_and_epsilon_the_better_auroc_is_recommended() -> None:
    """A rule list that ranks hardly anybody right is not worth its few bits."""
    rules = row("rule-list", 1.0, (0.76, 0.77, 0.78), auroc=0.593, bits=0.4)
    for other in (
        row("tree", 1.0, (0.76, 0.77, 0.78), auroc=0.771, bits=3.0),
        row("additive", 1.0, (0.76, 0.77, 0.78), auroc=0.771, bits=None),
    ):
        assert chosen(rules, other, CONSTANT) == (other.model, 1.0)
        # At a smaller epsilon it is the more private one, and not dominated.
        cheap = replace(rules, epsilon=0.1)
        assert chosen(cheap, other, CONSTANT) == ("rule-list", 0.1)
        # Where the largest class has most records, accuracy does not rank.
        assert recommend(comparison(cheap, other, CONSTANT, largest_class=0.8)).chosen is other


def test_the_measure_follows_from_the_largest_class_of_the_records_that_are_compared() -> None:
    found = {share: recommend(comparison(CONSTANT, largest_class=share)).measure for share in (0.5, 0.7999, 0.8, 1.0)}
    assert found == {0.5: "accuracy", 0.7999: "accuracy", 0.8: "auroc", 1.0: "auroc"}
    assert recommend(comparison(CONSTANT, largest_class=0.9), "accuracy").measure == "accuracy"
    frame = records(400)
    made = compare(frame, "ill", domain=domain(), task=Task(models=("constant",), n_splits=1))
    assert made.largest_class == max(Counter(frame["ill"].to_list()).values()) / 400


def test_a_dominated_model_is_not_recommended() -> None:
    worse = row("tree", 0.1, (0.80, 0.80, 0.80), auroc=0.70, log_loss=0.50, bits=2.0, vulnerability=0.51)
    better = row("additive", 0.1, (0.80, 0.80, 0.80), auroc=0.71, log_loss=0.49, bits=2.0, vulnerability=0.51)
    assert dominates(better, worse)
    assert not dominates(worse, better)
    assert not dominates(worse, worse)
    assert chosen(worse, better, CONSTANT) == ("additive", 0.1)
    found = recommend(comparison(worse, better, CONSTANT))
    assert (len(found.useful), found.undominated) == (2, (better,))
