"""Random toy models of the same records."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from glassine import Domain
from glassine.formats.conditions import binary
from glassine.models import Branch, DecisionTree, Evidence, Node, Rule, RuleList

Rows = list[list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy:
    """Records, and models that were learnt from them."""

    models: list[DecisionTree | RuleList]
    domain: Domain
    frame: pl.DataFrame
    labels: list[int]


def evidence(labels: Sequence[int], members: Sequence[int], n_classes: int, told: bool) -> Evidence:
    """Return what is published about some records."""
    if not told:
        return Evidence(total=len(members))
    return Evidence(counts=tuple(sum(labels[i] == k for i in members) for k in range(n_classes)))


def tree(
    rng: random.Random, names: list[str], rows: Rows, labels: list[int], n_classes: int, told: bool, depth: int = 2
) -> DecisionTree:
    """Return a tree of random splits with the counts of the records."""
    nodes: list[Node] = []

    def grow(members: list[int], left: list[int], depth: int) -> int:
        place = len(nodes)
        nodes.append(Node())
        if not depth or not left or rng.random() < 0.15:
            nodes[place] = Node(evidence=evidence(labels, members, n_classes, told))
            return place
        column = rng.choice(left)
        rest = [c for c in left if c != column]
        zero = grow([i for i in members if not rows[i][column]], rest, depth - 1)
        one = grow([i for i in members if rows[i][column]], rest, depth - 1)
        off, on = binary(names[column], False), binary(names[column], True)
        nodes[place] = Node(branches=(Branch(off, zero), Branch(on, one)))
        return place

    grow(list(range(len(rows))), list(range(len(names))), depth)
    return DecisionTree(tuple(nodes), tuple(names), tuple(range(n_classes)))


def rule_list(
    rng: random.Random, names: list[str], rows: Rows, labels: list[int], n_classes: int, told: bool
) -> RuleList:
    """Return a list of two random rules with the counts of the records."""
    rules, left = [], list(range(len(rows)))
    for _ in range(2):
        a, b = rng.sample(range(len(names)), 2)
        wanted = {a: rng.randrange(2), b: rng.randrange(2)}
        members = [i for i in left if all(rows[i][c] == v for c, v in wanted.items())]
        left = [i for i in left if i not in members]
        antecedent = tuple(binary(names[c], v == 1) for c, v in wanted.items())
        rules.append(Rule(antecedent=antecedent, evidence=evidence(labels, members, n_classes, told)))
    rules.append(Rule(evidence=evidence(labels, left, n_classes, told)))
    return RuleList(tuple(rules), tuple(names), tuple(range(n_classes)))


def toy(seed: int, n_models: int, *, n_records: int = 4, told: bool | None = None) -> Toy:
    """Return random models of random records of three binary attributes; some models tell sizes alone."""
    rng = random.Random(seed)
    names = ["a", "b", "c"]
    rows = [[rng.randrange(2) for _ in names] for _ in range(n_records)]
    n_classes = rng.choice([2, 2, 3])
    labels = sorted(rng.randrange(n_classes) for _ in rows)
    models: list[DecisionTree | RuleList] = []
    for _ in range(n_models):
        tells = rng.random() < 0.6 if told is None else told
        kind = rule_list if rng.random() < 0.3 else tree
        models.append(kind(rng, names, rows, labels, n_classes, tells))
    frame = pl.DataFrame({name: [row[i] for row in rows] for i, name in enumerate(names)})
    return Toy(models=models, domain=Domain.binary(names), frame=frame, labels=labels)
