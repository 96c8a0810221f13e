"""Naive oracle: shallow trees and short rule lists as nested tuples: listed, counted, scored, and their exact law.

A *world* is a possible truth vector of the p public literals; the list of worlds is the domain's own logic.

A tree is ``("leaf", y)`` or ``("split", l, true_subtree, false_subtree)``. Splitting a region on literal l is
admissible iff some world of the region satisfies l and some does not.

A rule list is ``(((l, y), (l, y), ...), default_y)``; the first literal that holds decides. Rule l may follow the set S
of earlier literals iff, of the worlds that satisfy none of S, some satisfy l and some do not.

Every split and rule is judged by the worlds alone, so the classes are the same for all datasets.

The weight of a model is ``prior(model) * decay ** errors(model)``, where decay stands for exp(-epsilon). Everything is
a Fraction: probabilities are exact for a rational decay, and right to 60 digits for a rational epsilon.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import inf
from typing import Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

World: TypeAlias = tuple[bool, ...]
Record: TypeAlias = tuple[World, int]
Dataset: TypeAlias = tuple[Record, ...]
Tree: TypeAlias = "tuple[Literal['leaf'], int] | tuple[Literal['split'], int, Tree, Tree]"
RuleList: TypeAlias = tuple[tuple[tuple[int, int], ...], int]
Model: TypeAlias = "Tree | RuleList"
Prior: TypeAlias = Callable[[Model], Fraction]
ModelT = TypeVar("ModelT", bound=Model)
Output = TypeVar("Output", bound=Hashable)
Truth: TypeAlias = npt.NDArray[np.bool_]
Labels: TypeAlias = npt.NDArray[np.int64]

DIGITS = 60


def independent(n_literals: int) -> list[World]:
    """Every truth vector: no literal says anything of another."""
    return list(product((False, True), repeat=n_literals))


def chain(n_literals: int) -> list[World]:
    """Worlds of ordered thresholds: each literal implies the one before it."""
    return [tuple(i < level for i in range(n_literals)) for level in range(n_literals + 1)]


def one_hot(n_literals: int) -> list[World]:
    """Worlds of the categories of one attribute: exactly one literal holds."""
    return [tuple(i == j for i in range(n_literals)) for j in range(n_literals)]


def divide(region: Sequence[World], literal: int) -> tuple[list[World], list[World]]:
    """Worlds of a region that satisfy a literal, and those that do not."""
    return [w for w in region if w[literal]], [w for w in region if not w[literal]]


def admissible(region: Sequence[World]) -> Iterator[tuple[int, list[World], list[World]]]:
    """Literals that divide a region into two non-empty sides, with the sides."""
    for literal in range(len(region[0])):
        true, false = divide(region, literal)
        if true and false:
            yield literal, true, false


def trees(worlds: Sequence[World], labels: Sequence[int], max_depth: int) -> list[Tree]:
    """Every tree of at most this depth."""
    found: list[Tree] = [("leaf", y) for y in labels]
    if max_depth > 0:
        for literal, true, false in admissible(worlds):
            sides = trees(true, labels, max_depth - 1), trees(false, labels, max_depth - 1)
            found += [("split", literal, left, right) for left, right in product(*sides)]
    return found


def count_trees(worlds: Sequence[World], n_labels: int, max_depth: int) -> int:
    """Return the number of trees of at most this depth, without listing them."""
    if max_depth == 0:
        return n_labels
    return n_labels + sum(
        count_trees(true, n_labels, max_depth - 1) * count_trees(false, n_labels, max_depth - 1)
        for _, true, false in admissible(worlds)
    )


def rule_lists(worlds: Sequence[World], labels: Sequence[int], max_rules: int) -> list[RuleList]:
    """Every rule list of at most this many rules."""
    found: list[RuleList] = [((), y) for y in labels]
    if max_rules > 0:
        for literal, _, rest in admissible(worlds):
            for rules, default in rule_lists(rest, labels, max_rules - 1):
                found += [(((literal, y), *rules), default) for y in labels]
    return found


def count_rule_lists(worlds: Sequence[World], n_labels: int, max_rules: int) -> int:
    """Return the number of rule lists of at most this many rules, without listing them."""
    if max_rules == 0:
        return n_labels
    following = (count_rule_lists(rest, n_labels, max_rules - 1) for _, _, rest in admissible(worlds))
    return n_labels + sum(n_labels * count for count in following)


def predict(model: Model, row: Sequence[bool]) -> int:
    """Return the label that a tree or a rule list gives a record."""
    if model[0] == "leaf":
        return model[1]
    if model[0] == "split":
        return predict(model[2] if row[model[1]] else model[3], row)
    return next((y for literal, y in model[0] if row[literal]), model[1])


def size(model: Model) -> int:
    """Return the number of splits of a tree, or of rules of a list without its default."""
    if model[0] == "leaf":
        return 0
    if model[0] == "split":
        return 1 + size(model[2]) + size(model[3])
    return len(model[0])


def errors(model: Model, truth: Truth, labels: Labels) -> int:
    """Return the number of records that a model misclassifies."""
    return sum(predict(model, row) != y for row, y in zip(truth.tolist(), labels.tolist(), strict=True))


def optimum(
    models: Sequence[ModelT], truth: Truth, labels: Labels, penalty: Fraction = Fraction(0)
) -> tuple[Fraction, list[ModelT]]:
    """Return the least errors + penalty * size, and every model that attains it."""
    objectives = [errors(model, truth, labels) + penalty * size(model) for model in models]
    least = min(objectives)
    return least, [model for model, objective in zip(models, objectives, strict=True) if objective == least]


def uniform(model: Model) -> Fraction:
    """Return the same prior weight for every model."""
    return Fraction(1)


def by_size(weight: Fraction) -> Prior:
    """Return the prior weight ** size."""
    return lambda model: weight ** size(model)


def growing_trees(worlds: Sequence[World], n_labels: int, max_depth: int, split: Fraction) -> Prior:
    """Return the probability that a tree grows by coins: split or not, which admissible literal, which label."""

    def weight(tree: Model, region: Sequence[World], depth: int) -> Fraction:
        n_options = len(list(admissible(region)))
        coin = split if depth and n_options else Fraction(0)
        if tree[0] == "leaf":
            return (1 - coin) / n_labels
        assert tree[0] == "split"
        true, false = divide(region, tree[1])
        return coin / n_options * weight(tree[2], true, depth - 1) * weight(tree[3], false, depth - 1)

    return lambda tree: weight(tree, worlds, max_depth)


def decay(epsilon: Fraction) -> Fraction:
    """Return exp(-epsilon), right to 60 digits."""
    with localcontext(prec=DIGITS + 5):
        return Fraction((-Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())


def log(value: Fraction) -> Decimal:
    """Return the natural logarithm of a positive number, to an absolute error below 1e-55."""
    with localcontext(prec=DIGITS + 5):
        return Decimal(value.numerator).ln() - Decimal(value.denominator).ln()


def partition(
    models: Sequence[Model], truth: Truth, labels: Labels, decay: Fraction, prior: Prior = uniform
) -> Fraction:
    """Return the sum of the weights of all models."""
    mass: dict[int, Fraction] = defaultdict(Fraction)
    for model in models:
        mass[errors(model, truth, labels)] += prior(model)
    return sum((prior_mass * decay**n_errors for n_errors, prior_mass in mass.items()), Fraction(0))


def distribution(
    models: Sequence[ModelT], truth: Truth, labels: Labels, decay: Fraction, prior: Prior = uniform
) -> dict[ModelT, Fraction]:
    """Return the probability of every model."""
    total = partition(models, truth, labels, decay, prior)
    return {model: prior(model) * decay ** errors(model, truth, labels) / total for model in models}


def greatest_ratio(first: Mapping[Output, Fraction], second: Mapping[Output, Fraction]) -> Fraction | float:
    """Return the greatest ratio, either way, of two probabilities; infinite where only one is possible."""
    ratios = [Fraction(1)]
    for output in first.keys() | second.keys():
        one, other = first.get(output, Fraction(0)), second.get(output, Fraction(0))
        if (one == 0) != (other == 0):
            return inf
        if one:
            ratios += [one / other, other / one]
    return max(ratios)


def universe(worlds: Sequence[World], labels: Sequence[int]) -> list[Record]:
    """Every possible record."""
    return list(product(worlds, labels))


def datasets(records: Sequence[Record], max_records: int) -> Iterator[Dataset]:
    """Every dataset of up to this many records, as sorted multisets, the empty one first."""
    for n in range(max_records + 1):
        yield from combinations_with_replacement(records, n)


def arrays(dataset: Dataset, n_literals: int) -> tuple[Truth, Labels]:
    """Return the truth matrix (n, p) and the labels (n,) of a dataset."""
    truth = np.array([world for world, _ in dataset], dtype=np.bool_).reshape(len(dataset), n_literals)
    return truth, np.array([y for _, y in dataset], dtype=np.int64)


def neighbours(records: Sequence[Record], max_records: int) -> Iterator[tuple[Dataset, Dataset]]:
    """Every dataset of up to this many records, with each that has one record more."""
    for dataset in datasets(records, max_records):
        for record in records:
            yield dataset, (*dataset, record)


def worst_ratio(
    mechanism: Callable[[Truth, Labels], Mapping[Output, Fraction]], records: Sequence[Record], max_records: int
) -> Fraction | float:
    """Return the greatest ratio between the output distributions of any two neighbouring datasets.

    A mechanism maps a truth matrix and labels to the probability of each output. It keeps epsilon-differential privacy
    on these datasets iff the ratio is at most exp(epsilon); up to max_records + 1 records are looked at.
    """
    n_literals = len(records[0][0])
    known: dict[Dataset, Mapping[Output, Fraction]] = {}

    def outputs(dataset: Dataset) -> Mapping[Output, Fraction]:
        key = tuple(sorted(dataset))
        if key not in known:
            known[key] = mechanism(*arrays(key, n_literals))
        return known[key]

    return max(greatest_ratio(outputs(one), outputs(more)) for one, more in neighbours(records, max_records))


def exponential(
    models: Sequence[ModelT], records: Sequence[Record], decay: Fraction, prior: Prior = uniform
) -> Callable[[Truth, Labels], dict[tuple[int, ...], Fraction]]:
    """Return the exponential mechanism over a class, its outputs merged by the labels they give to these records.

    Models that agree everywhere have the same ratio, so that merging them changes no ratio and saves most of the work.
    """
    rows = [row for row, _ in records]
    mass: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for model in models:
        mass[tuple(predict(model, row) for row in rows)] += prior(model)

    def mechanism(truth: Truth, labels: Labels) -> dict[tuple[int, ...], Fraction]:
        at = [rows.index(tuple(row)) for row in truth.tolist()]
        weights = {
            given: prior_mass * decay ** sum(given[i] != y for i, y in zip(at, labels.tolist(), strict=True))
            for given, prior_mass in mass.items()
        }
        total = sum(weights.values(), Fraction(0))
        return {given: weight / total for given, weight in weights.items()}

    return mechanism
