"""The law by which sums over all trees, or all rule lists, draw a model, choice by choice: for small classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from glassine.sealed.gibbs import LOG_BITS, Choice
from glassine.sealed.list_family import DrawnList
from glassine.sealed.lists import DEFAULT, ListSums
from glassine.sealed.tree_family import Leaf, Split, Tree
from glassine.sealed.trees import LEAF, TreeSums, children

Node = tuple[tuple[int, ...], int]


def log_probabilities(options: Sequence[Choice]) -> list[float]:
    """Return the logarithms of the probabilities with which :func:`gibbs.draw` takes each choice."""
    most = max(option.scaled for option in options)
    logs = [math.ldexp(option.scaled - most, -LOG_BITS) for option in options]
    total = math.log(math.fsum(math.exp(log) for log in logs))
    return [log - total for log in logs]


def log_distribution(sums: Any) -> dict[Any, float]:
    """Return the logarithm of the probability with which ``sums.draw`` returns each model."""
    return _of_lists(sums) if isinstance(sums, ListSums) else dict(_of_trees(sums, ((), 0), {}))


def _of_trees(sums: TreeSums, node: Node, known: dict[Node, list[tuple[Tree, float]]]) -> list[tuple[Tree, float]]:
    if node in known:
        return known[node]
    out: list[tuple[Tree, float]] = []
    options = sums._options(*node)
    for option, log in zip(options, log_probabilities(options), strict=True):
        if option.number == LEAF:
            values = sums._values(*node)
            logs = log_probabilities(values)
            out += [(Leaf(value.number), log + more) for value, more in zip(values, logs, strict=True)]
            continue
        true, false = (_of_trees(sums, child, known) for child in children(*node, option.number))
        out += [(Split(option.number, a, b), log + p + q) for a, p in true for b, q in false]
    known[node] = out
    return out


def _of_lists(sums: ListSums) -> dict[DrawnList, float]:
    out: dict[DrawnList, float] = {}
    stack: list[tuple[tuple[tuple[int, int], ...], float]] = [((), 0.0)]
    # What follows depends on the set of rules before, whatever their order and values.
    following: dict[tuple[int, ...], list[tuple[int, int, float]]] = {}
    while stack:
        rules, so_far = stack.pop()
        chosen = tuple(sorted(rule for rule, _ in rules))
        if chosen not in following:
            options = sums._options(chosen)
            following[chosen] = [
                (option.number, value.number, log + more)
                for option, log in zip(options, log_probabilities(options), strict=True)
                for values in [sums._values(chosen, option.number)]
                for value, more in zip(values, log_probabilities(values), strict=True)
            ]
        for rule, value, log in following[chosen]:
            if rule == DEFAULT:
                out[DrawnList(rules, value)] = so_far + log
            else:
                stack.append(((*rules, (rule, value)), so_far + log))
    return out
