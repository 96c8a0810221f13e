"""Naive oracle: optimal trees and rule lists by search over sets of records, with big integers as bit sets.

Nothing but the records is looked at: a split or a rule that captures no record, or all of them, is never better than
the model without it. So these optima are those of the classes that a domain's logic allows, if it allows the records.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.oracles.model_classes import RuleList, Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Records as bits: a set for each literal and each label, the set of all, and of those that no model gets right.

    Of records that no literal tells apart, all but the most frequent label are hopeless.
    """

    literals: tuple[int, ...]
    labels: dict[int, int]
    everything: int
    hopeless: int

    def leaf(self, region: int) -> tuple[int, int]:
        """Return the fewest errors of one label on a region, and the label."""
        y, most = max(((y, (region & where).bit_count()) for y, where in self.labels.items()), key=lambda pair: pair[1])
        return region.bit_count() - most, y


def bits(column: npt.NDArray[np.bool_]) -> int:
    """Return a Boolean column as an integer whose bit i is the i-th entry."""
    return int.from_bytes(np.packbits(column, bitorder="little").tobytes(), "little")


def count(truth: npt.NDArray[Any], labels: npt.NDArray[Any]) -> Counts:
    """Return the bit sets of a truth matrix (n, p) and its labels."""
    alike: dict[bytes, Counter[int]] = defaultdict(Counter)
    for row, y in zip(truth.astype(bool), labels.tolist(), strict=True):
        alike[row.tobytes()][y] += 1
    usual = {row: tally.most_common(1)[0][0] for row, tally in alike.items()}
    return Counts(
        hopeless=bits(np.array([usual[row.tobytes()] for row in truth.astype(bool)]) != labels),
        literals=tuple(bits(column.astype(bool)) for column in truth.T),
        labels={int(y): bits(labels == y) for y in np.unique(labels)},
        everything=(1 << len(labels)) - 1,
    )


def optimal_tree(
    truth: npt.NDArray[Any], labels: npt.NDArray[Any], max_depth: int, penalty: int = 0, fewest: int = 1
) -> tuple[int, Tree]:
    """Return the least errors + penalty * splits of trees of at most this depth, and a tree that attains it.

    Each leaf holds ``fewest`` records at least, of which there are as many.
    """
    counts = count(truth, labels)

    @cache
    def best(region: int, depth: int) -> tuple[int, Tree]:
        least, y = counts.leaf(region)
        tree: Tree = ("leaf", y)
        if depth == 0:
            return least, tree
        for i, literal in enumerate(counts.literals):
            if least <= penalty:
                break
            true, false = region & literal, region & ~literal
            if min(true.bit_count(), false.bit_count()) >= fewest:
                left, right = best(true, depth - 1), best(false, depth - 1)
                objective = left[0] + right[0] + penalty
                if objective < least:
                    least, tree = objective, ("split", i, left[1], right[1])
        return least, tree

    return best(counts.everything, max_depth)


def optimal_rule_list(
    truth: npt.NDArray[Any], labels: npt.NDArray[Any], max_rules: int, penalty: int = 0, fewest: int = 1
) -> tuple[int, RuleList]:
    """Return the least errors + penalty * rules of lists of at most this many rules, and a list that attains it.

    Depth first, most promising rule first. A prefix is left when its errors, its penalties and the hopeless records
    that remain reach the best list found, or when the same set of rules was reached before at no more errors. Each rule
    captures ``fewest`` records at least, and so does the default rule.
    """
    counts = count(truth, labels)
    least, default = counts.leaf(counts.everything)
    found: RuleList = ((), default)
    reached: dict[frozenset[int], int] = {}

    def extend(prefix: tuple[tuple[int, int], ...], so_far: int, rest: int) -> None:
        nonlocal least, found
        options = []
        for i, literal in enumerate(counts.literals):
            captured = rest & literal
            if min(captured.bit_count(), (rest & ~literal).bit_count()) >= fewest:
                wrong, y = counts.leaf(captured)
                objective = so_far + wrong + penalty
                remaining, default = counts.leaf(rest & ~literal)
                if objective + remaining < least:
                    least, found = objective + remaining, ((*prefix, (i, y)), default)
                options.append((objective + remaining, objective, i, y))
        if len(prefix) + 1 == max_rules:
            return
        for _, objective, i, y in sorted(options):
            rules = frozenset({i, *(literal for literal, _ in prefix)})
            after = rest & ~counts.literals[i]
            # One more rule costs its penalty, whatever it saves.
            floor = objective + penalty + (after & counts.hopeless).bit_count()
            if floor >= least or reached.get(rules, objective + 1) <= objective:
                continue
            reached[rules] = objective
            extend((*prefix, (i, y)), objective, after)

    if max_rules > 0:
        extend((), 0, counts.everything)
    return least, found


def with_negations(truth: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return the truth matrix of the literals and, after them, their negations."""
    return np.concatenate([truth.astype(bool), ~truth.astype(bool)], axis=1)
