"""Draws from trees and rule lists, over all small datasets and all neighbors; and the bugs that this must find."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pytest

from glassine.domain import Between, Binary, Domain, Integer, Literal, OneOf
from glassine.learners.antecedents import both_signs, pairs
from glassine.sealed import gibbs
from glassine.sealed.lists import ListClass
from glassine.sealed.tree_family import Leaf
from glassine.sealed.trees import TreeClass
from glassine.sealed.weighting import rounding
from glassine.verification import ExhaustiveResult, verify_exhaustively
from tests.learners import engine
from tests.oracles import model_classes as oracle
from tests.oracles.laws import log_distribution

FLOATS = 1e-11
"""Slack of the logarithms as floats, besides that of the draws."""

TIGHT = 0.95
"""With a background the worst ratio must come this near to epsilon, so that the check has teeth."""

Law: TypeAlias = dict[Any, float]
Mechanism: TypeAlias = Callable[[tuple[oracle.Record, ...]], Law]
Models: TypeAlias = tuple[TreeClass | ListClass, list[oracle.World]]


def trees(make: engine.Maker, p: int, depth: int, n_classes: int) -> Models:
    return engine.trees_of(*make(p), depth, n_classes)


def lists(make: engine.Maker, p: int, length: int, n_classes: int) -> Models:
    domain, literals = make(p)
    return engine.lists_of(domain, engine.singles(literals), length, n_classes)


def lists_with_negations(make: engine.Maker, p: int, length: int) -> Models:
    domain, literals = make(p)
    return engine.lists_of(domain, both_signs(domain, literals), length, 2)


def lists_of_pairs(length: int) -> Models:
    domain = Domain({"n": Integer(0, 2), "b": Binary()})
    literals: list[Literal] = [Between("n", hi=0.5), Between("n", hi=1.5), OneOf("b", (1,))]
    return engine.lists_of(domain, pairs(domain, literals)[3:10], length, 2)


CLASSES: dict[str, tuple[Callable[[], Models], int]] = {
    "trees, depth 1, 2 literals, 2 classes": (lambda: trees(engine.binary_domain, 2, 1, 2), 2),
    "trees, depth 2, 2 literals, 2 classes": (lambda: trees(engine.binary_domain, 2, 2, 2), 2),
    "trees, depth 1, 3 literals, 2 classes": (lambda: trees(engine.binary_domain, 3, 1, 2), 1),
    "trees, depth 2, 3 literals, 2 classes": (lambda: trees(engine.binary_domain, 3, 2, 2), 1),
    "trees, depth 1, 2 literals, 3 classes": (lambda: trees(engine.binary_domain, 2, 1, 3), 1),
    "trees, depth 2, 2 literals, 3 classes": (lambda: trees(engine.binary_domain, 2, 2, 3), 1),
    "trees, depth 2, 3 thresholds": (lambda: trees(engine.threshold_domain, 3, 2, 2), 2),
    "trees, depth 2, one of three": (lambda: trees(engine.one_hot_domain, 3, 2, 2), 2),
    "trees, depth 2, a number and a category with gaps": (lambda: trees(engine.gapped_domain, 4, 2, 2), 1),
    "lists, 1 rule, 3 literals": (lambda: lists(engine.binary_domain, 3, 1, 2), 1),
    "lists, 2 rules, 3 literals": (lambda: lists(engine.binary_domain, 3, 2, 2), 1),
    "lists, 3 rules, 3 literals": (lambda: lists(engine.binary_domain, 3, 3, 2), 1),
    "lists, 2 rules, 2 literals, 3 classes": (lambda: lists(engine.binary_domain, 2, 2, 3), 1),
    "lists, 3 rules, 3 thresholds": (lambda: lists(engine.threshold_domain, 3, 3, 2), 2),
    "lists, 2 rules, one of three": (lambda: lists(engine.one_hot_domain, 3, 2, 2), 2),
    "lists, 2 rules, 2 literals and negations": (lambda: lists_with_negations(engine.binary_domain, 2, 2), 2),
    "lists, 2 rules, either side of gaps": (lambda: lists_with_negations(engine.gapped_domain, 2, 2), 1),
    "lists, 2 rules of up to two literals": (lambda: lists_of_pairs(2), 1),
}


def width_of(models: TreeClass | ListClass) -> int:
    """Return the number of literals or rules."""
    return len(models.logic.literals if isinstance(models, TreeClass) else models.logic.antecedents)


def slack_of(models: TreeClass | ListClass) -> float:
    """Return what the learners state for rounding, and what the logarithms need."""
    if isinstance(models, TreeClass):
        return rounding(models.depth + 1, 2, len(models.logic.literals) + models.loss.n_values) + FLOATS
    n_terms = len(models.logic.antecedents) + models.loss.n_values
    return rounding(2 * models.length + 2, 1, n_terms) + FLOATS


def mechanism_of(
    models: TreeClass | ListClass,
    epsilon: Fraction | float,
    *,
    background: Sequence[tuple[oracle.Record, int]] = (),
    part_weight: float = 1.0,
) -> Mechanism:
    """Return the law of a draw, on a dataset that is added to a fixed background of repeated records."""

    def mechanism(dataset: tuple[oracle.Record, ...]) -> Law:
        rows = [*((record, 1) for record in dataset), *background]
        truth, labels = oracle.arrays(tuple(record for record, _ in rows), width_of(models))
        times = np.array([n for _, n in rows], dtype=np.int64)
        weighting = engine.weighting_of(Fraction(epsilon), int(times.sum()), part_weight, models.loss.unit)
        law: Law = log_distribution(engine.sums_of(models, truth, labels, weighting, times))
        return law

    return mechanism


def verify(
    models: Models, mechanism: Mechanism, epsilon: float, max_records: int, **more: Any
) -> ExhaustiveResult[oracle.Record]:
    records = oracle.universe(models[1], range(models[0].n_classes))
    return verify_exhaustively(
        mechanism, records, max_records=max_records, epsilon=epsilon, slack=slack_of(models[0]), **more
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_draws_keep_epsilon(name: str) -> None:
    make, max_records = CLASSES[name]
    models = make()
    result = verify(models, mechanism_of(models[0], 3.0), 3.0, max_records)
    assert result.holds, str(result)
    # The ratio of a few records stays well below a small epsilon; at 3 it comes near.
    assert result.tightness > 0.6


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_epsilon_is_reached(name: str, epsilon: float) -> None:
    models = CLASSES[name][0]()
    world = models[1][0]
    mechanism = mechanism_of(models[0], epsilon, background=[((world, 0), int(20 / epsilon))])
    result = verify(models, mechanism, epsilon, 0)
    assert result.holds, str(result)
    assert result.tightness > TIGHT


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize(("epsilon", "part_weight"), [(0.1, 0.2), (5.0, 30.0)])
def test_draws_keep_epsilon_on_larger_data_sets(name: str, epsilon: float, part_weight: float) -> None:
    make, max_records = CLASSES[name]
    models = make()
    mechanism = mechanism_of(models[0], epsilon, part_weight=part_weight)
    result = verify(models, mechanism, epsilon, max_records + 1)
    assert result.holds, str(result)


@pytest.mark.parametrize("part_weight", [1e-6, 0.2, 30.0, 1e6])
@pytest.mark.parametrize("name", ["trees, depth 2, 2 literals, 2 classes", "lists, 2 rules, one of three"])
def test_draws_keep_epsilon_under_any_prior(name: str, part_weight: float) -> None:
    models = CLASSES[name][0]()
    result = verify(models, mechanism_of(models[0], 1.0, part_weight=part_weight), 1.0, 1)
    assert result.holds, str(result)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trees, depth 2, 2 literals, 2 classes", "lists, 2 rules, one of three"])
@pytest.mark.parametrize("n", [10**6, 10**9])
def test_draws_keep_epsilon_beside_many_records(name: str, n: int) -> None:
    models = CLASSES[name][0]()
    background = [((world, i % 2), n + i) for i, world in enumerate(models[1])]
    epsilon = 1e-3
    result = verify_exhaustively(
        mechanism_of(models[0], epsilon, background=background),
        oracle.universe(models[1], [0, 1]),
        max_records=0,
        epsilon=epsilon,
        # Logarithms near -10^6 have 1e-10 less.
        slack=slack_of(models[0]) + epsilon * n * 1e-15,
    )
    assert result.holds, str(result)
    assert result.tightness > 0.3


# Bugs, each beside the mechanism that it was made from: the same check passes the one and fails the other.

N_PUBLIC = 3
"""A public number of records, as a careless mechanism would take it."""

PLANTED = ["trees, depth 1, 2 literals, 2 classes", "lists, 2 rules, one of three"]


def conditioned(law: Law, allowed: Callable[[Any], bool]) -> Law:
    """Return a law given that the output is allowed."""
    kept = {output: log for output, log in law.items() if allowed(output)}
    total = math.log(math.fsum(math.exp(log) for log in kept.values()))
    return {output: log - total for output, log in kept.items()}


def forgets_a_factor(models: TreeClass | ListClass, epsilon: float) -> Mechanism:
    return mechanism_of(models, 2 * epsilon)


def divides_by_n(models: TreeClass | ListClass, epsilon: float) -> Mechanism:
    # The score is the error rate, its sensitivity one over a public number of records.
    def mechanism(dataset: tuple[oracle.Record, ...]) -> Law:
        return mechanism_of(models, epsilon * N_PUBLIC / max(1, len(dataset)))(dataset)

    return mechanism


def prunes_empty_splits(models: TreeClass | ListClass, epsilon: float) -> Mechanism:
    # Splits and rules are left out that no record, or every record, satisfies.
    honest = mechanism_of(models, epsilon)

    def mechanism(dataset: tuple[oracle.Record, ...]) -> Law:
        def kept(model: Any, rows: list[oracle.World]) -> bool:
            if model[0] == "leaf":
                return True
            if model[0] == "split":
                true, false = oracle.divide(rows, model[1])
                return bool(true and false) and kept(model[2], true) and kept(model[3], false)
            for rule, _ in model[0]:
                true, rows = oracle.divide(rows, rule)
                if not (true and rows):
                    return False
            return True

        rows = [world for world, _ in dataset]
        return conditioned(honest(dataset), lambda model: kept(engine.named(model), rows))

    return mechanism


def takes_labels_from_data(models: TreeClass | ListClass, epsilon: float) -> Mechanism:
    honest = mechanism_of(models, epsilon)

    def used(model: Any) -> set[int]:
        if model[0] == "leaf":
            return {model[1]}
        if model[0] == "split":
            return used(model[2]) | used(model[3])
        return {y for _, y in model[0]} | {model[1]}

    def mechanism(dataset: tuple[oracle.Record, ...]) -> Law:
        seen = {y for _, y in dataset} or {0}
        return conditioned(honest(dataset), lambda model: used(engine.named(model)) <= seen)

    return mechanism


def drops_tiny_weights(models: TreeClass | ListClass, epsilon: float) -> Mechanism:
    honest = mechanism_of(models, epsilon, background=[(((False,) * width_of(models), 0), 9)])

    def mechanism(dataset: tuple[oracle.Record, ...]) -> Law:
        law = honest(dataset)
        return conditioned(law, lambda model: law[model] > math.log(1e-8))

    return mechanism


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize(
    ("bug", "worst"),
    [
        (forgets_a_factor, None),
        (divides_by_n, None),
        (prunes_empty_splits, math.inf),
        (takes_labels_from_data, math.inf),
        (drops_tiny_weights, math.inf),
    ],
)
def test_planted_bugs_are_found(
    name: str, bug: Callable[[TreeClass | ListClass, float], Mechanism], worst: float | None
) -> None:
    models = CLASSES[name][0]()
    epsilon = 1.5
    honest = verify(models, mechanism_of(models[0], epsilon), epsilon, 2)
    assert honest.holds
    assert honest.tightness > 0.6
    found = verify(models, bug(models[0], epsilon), epsilon, 2)
    assert not found.holds
    assert found.worst > 1.2 * epsilon
    assert worst is None or found.worst == worst


def test_a_side_that_is_offered_only_for_gaps_in_the_data_is_found() -> None:
    # "n <= 0.5" and "n <= 0.5 or missing" are one condition of records without gaps: a careless learner drops the one.
    models, complete = CLASSES["trees, depth 2, a number and a category with gaps"][0]()
    assert isinstance(models, TreeClass)
    conditions = {str(literal): i for i, literal in enumerate(models.logic.literals)}
    without, either = conditions["n <= 0.5"], conditions["n <= 0.5 or missing"]
    missing = tuple(name.endswith("or missing") for name in conditions)
    assert missing not in complete
    honest = mechanism_of(models, 1.5)

    def careless(dataset: tuple[oracle.Record, ...]) -> Law:
        gaps = any(world[either] and not world[without] for world, _ in dataset)
        return conditioned(honest(dataset), lambda model: gaps or getattr(model, "literal", None) != either)

    def result(mechanism: Mechanism) -> ExhaustiveResult[oracle.Record]:
        records = oracle.universe([*complete, missing], range(2))
        return verify_exhaustively(mechanism, records, max_records=1, epsilon=1.5, slack=slack_of(models))

    assert result(honest).holds
    assert result(careless).worst == math.inf


@pytest.mark.parametrize("name", PLANTED)
def test_planted_cut_of_log_weights_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The engine's own choices, with those of tiny weight left out, as a naive softmax in doubles would.
    models = CLASSES[name][0]()
    world = models[1][0]
    mechanism = mechanism_of(models[0], 1.0, background=[((world, 0), 745)])
    assert verify(models, mechanism, 1.0, 0).holds
    choices = gibbs.choices

    def cut(numbers: Any, costs: Any, weights: Any, weighting: Any) -> Any:
        return [choice for choice in choices(numbers, costs, weights, weighting) if choice.scaled > -745 * 2**48]

    monkeypatch.setattr(gibbs, "choices", cut)
    result = verify(models, mechanism, 1.0, 0)
    assert result.worst == math.inf
    assert not result.holds


def test_no_label_is_cut_off_however_unlikely() -> None:
    models = CLASSES["trees, depth 1, 2 literals, 2 classes"][0]()
    law = mechanism_of(models[0], 5.0, background=[((models[1][0], 0), 10**4)])(())
    leaves = {model.value: log for model, log in law.items() if isinstance(model, Leaf)}
    assert leaves[1] == pytest.approx(leaves[0] - 5e4, abs=1e-6)
