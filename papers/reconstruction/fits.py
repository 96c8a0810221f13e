"""Models of the experiments, each as the plain value that its reader sees."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import log2

import numpy as np
import numpy.typing as npt
import tree_search
from settings import DEPTHS, Ints, Split, split
from tree_search import Nested

from glassine import Domain, as_model, reconstruct
from glassine.domain import OneOf
from glassine.learners import GreedyRuleListClassifier
from glassine.learners.exhaustive.list_search import ListSearch, SearchLimits
from glassine.models import Branch, DecisionTree, Evidence, Node, Rule, RuleList
from glassine.records.bits import BitSets
from glassine.sealed.losses import LeafCosts

Model = DecisionTree | RuleList
Rules = tuple[tuple[int, int], ...]
"""Attribute and value of the literal of each rule of a list, in order."""

CART, TREE, DL85 = "CART", "optimal tree", "DL8.5, published"
TELLING_TREE = "optimal tree, most telling"
GREEDY, PURER = "GreedyRL", "GreedyRL, purer part"
LIST, TELLING = "optimal rule list", "optimal rule list, most telling"
LEARNERS = (CART, TREE, TELLING_TREE, DL85, GREEDY, PURER, LIST, TELLING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A rule list of single literals, its errors, and how often a rule is tested on a record."""

    rules: Rules
    errors: int
    bits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A model, or why there is none, and the processor seconds of its fit."""

    model: Model | None
    status: str
    seconds: float


def cart(name: str, seed: str, support: str, depth: str) -> Fitted:
    """Return the CART of the paper."""
    from sklearn.tree import DecisionTreeClassifier

    data, started = split(name, seed), time.process_time()
    learner = DecisionTreeClassifier(
        random_state=int(seed) + 1, max_depth=int(depth), min_samples_leaf=data.in_a_leaf(support)
    )
    model = as_model(learner.fit(data.X, data.y), data.domain)
    if not isinstance(model, DecisionTree):
        raise TypeError("a CART is a decision tree")
    return Fitted(model=model, status="greedy", seconds=time.process_time() - started)


def planted(nested: Nested, data: Split) -> DecisionTree:
    """Return a tree that was searched for, with the class counts of its leaves."""
    nodes: list[Node] = []

    def grow(part: Nested, rows: npt.NDArray[np.bool_]) -> int:
        here = len(nodes)
        nodes.append(Node())
        if isinstance(part, int):
            counts = np.bincount(data.y[rows], minlength=2)
            nodes[here] = Node(evidence=Evidence(counts=tuple(counts.tolist()), label=part))
            return here
        attribute, *below = part
        name, holds = data.domain.names[attribute], data.X[:, attribute] == 1
        sides = zip((False, True), below, (rows & holds, rows & ~holds), strict=True)
        branches = tuple(Branch(OneOf(name, (1,), negated=no), grow(one, some)) for no, one, some in sides)
        nodes[here] = Node(branches=branches)
        return here

    grow(nested, np.ones(len(data.y), dtype=bool))
    return DecisionTree(tuple(nodes), data.domain.names, (0, 1))


def optimal_tree(name: str, seed: str, support: str, depth: str, *, most: bool = False) -> Fitted:
    """Return the tree of fewest errors, of these of fewest splits, and of these the one that tells least, or most.

    Support "0" is one record.
    """
    data, started = split(name, seed), time.process_time()
    try:
        least = max(1, data.in_a_leaf(support))
        nested, *_ = tree_search.optimal_tree(data.X, data.y, least=least, depth=int(depth), most=most)
    except tree_search.TooManyError as error:
        return Fitted(model=None, status=f"refused: {error}", seconds=time.process_time() - started)
    seconds = time.process_time() - started
    return Fitted(model=planted(nested, data), status="optimal", seconds=seconds)


@cache
def _greedy(name: str, seed: str, support: str) -> Fitted:
    data, started = split(name, seed), time.process_time()
    learner = GreedyRuleListClassifier(
        int(DEPTHS[-1]), domain=Domain.binary(data.domain.names), min_support=float(support)
    )
    model = learner.fit(data.frame(), data.y).model_
    return Fitted(model=model, status="greedy", seconds=time.process_time() - started)


@cache
def _purer(name: str, seed: str, support: str) -> Fitted:
    """Return the list of a GreedyRL that, of a literal and its negation, takes the one that captures the purer part.

    Both have the same weighted impurity, at every step; ours takes the literal, and the paper does not say.
    """
    data, started = split(name, seed), time.process_time()
    left, rules = np.ones(len(data.y), dtype=bool), []
    while len(rules) < int(DEPTHS[-1]) and left.sum() >= data.in_a_rule(support):
        options = []
        for attribute, value in product(range(data.X.shape[1]), (1, 0)):
            taken = data.X[left, attribute] == value
            if not data.in_a_rule(support) <= taken.sum() < len(taken):
                continue
            parts = [np.bincount(data.y[left][some], minlength=2) for some in (taken, ~taken)]
            # Twice the numerator of an impurity that is weighted with numbers of records.
            weighted, own = (sum(a * b / (a + b) for a, b in some) for some in (parts, parts[:1]))
            options.append((round(weighted, 9), round(own / taken.sum(), 12), attribute, value))
        a, b = np.bincount(data.y[left], minlength=2)
        if not options or not min(options)[0] < round(a * b / (a + b), 9):
            break
        rules.append(min(options)[2:])
        left &= data.X[:, rules[-1][0]] != rules[-1][1]
    return Fitted(model=rule_list(tuple(rules), data), status="greedy", seconds=time.process_time() - started)


def cut(model: RuleList, n_rules: int) -> RuleList:
    """Return a greedily grown list that was stopped after so many rules."""
    if len(model.rules) - 1 <= n_rules:
        return model
    counts = np.array([rule.evidence.counts for rule in model.rules[n_rules:]]).sum(axis=0)
    default = Rule(evidence=Evidence(counts=tuple(counts.tolist()), label=int(counts.argmax())))
    return replace(model, rules=(*model.rules[:n_rules], default))


def greedy(name: str, seed: str, support: str, depth: str, *, purer: bool = False) -> Fitted:
    """Return the first rules of the list that GreedyRL grows."""
    whole = (_purer if purer else _greedy)(name, seed, support)
    if not isinstance(whole.model, RuleList):
        raise TypeError("GreedyRL learns rule lists")
    return replace(whole, model=cut(whole.model, int(depth)))


def optimal_lists(X: Ints, y: Ints, *, least: int, most_rules: int, tests: int = 1) -> list[Listed]:
    """Return lists of fewest errors, of these of fewest rules, of at most 0, 1, ..., ``most_rules`` rules.

    Every rule captures at least ``least`` of the records that earlier rules leave, and leaves one at least to the
    default rule. Of equally good lists the one is taken that tells least, or with ``tests`` -1 most: with independent
    attributes a record tells as many bits as rules are tested on it.
    """
    pool = list(product(range(X.shape[1]), (1, 0)))
    bitsets = BitSets.pack([X[:, attribute] == value for attribute, value in pool], y, 2)
    limits = SearchLimits(what="optimal lists", ways_out="Take fewer rules.")
    search = ListSearch(bitsets, LeafCosts.errors(2), fewest=least, fewest_left=1, limits=limits)
    return [
        Listed(rules=tuple(pool[rule] for rule in found.rules), errors=found.cost, bits=found.tested)
        for found in search.by_length(most_rules, tests)
    ]


@cache
def _optima(name: str, seed: str, support: str, tests: int) -> tuple[list[Listed], float]:
    data, started = split(name, seed), time.process_time()
    least = max(1, data.in_a_rule(support))
    found = optimal_lists(data.X, data.y, least=least, most_rules=int(DEPTHS[-1]), tests=tests)
    return found, time.process_time() - started


def rule_list(searched: Rules, data: Split) -> RuleList:
    """Return a list that was searched for, with its class counts."""
    left, rules = np.ones(len(data.y), dtype=bool), []
    for attribute, value in (*searched, (-1, 0)):
        taken = left & (data.X[:, attribute] == value) if attribute >= 0 else left
        counts = np.bincount(data.y[taken], minlength=2)
        name = data.domain.names[attribute]
        antecedent = (OneOf(name, (1,), negated=value == 0),) if attribute >= 0 else ()
        evidence = Evidence(counts=tuple(counts.tolist()), label=int(counts.argmax()))
        rules.append(Rule(antecedent=antecedent, evidence=evidence))
        left = left & ~taken
    return RuleList(tuple(rules), data.domain.names, (0, 1))


def optimal_list(name: str, seed: str, support: str, depth: str, *, most: bool = False) -> Fitted:
    """Return the list of fewest errors and rules that tells least, or most."""
    found, seconds = _optima(name, seed, support, -1 if most else 1)
    model = rule_list(found[int(depth)].rules, split(name, seed))
    return Fitted(model=model, status="optimal", seconds=seconds)


def fit(learner: str, name: str, seed: str, support: str, depth: str) -> Fitted:
    """Return a model of the experiments."""
    key = (name, seed, support, depth)
    if learner in (TREE, TELLING_TREE):
        return optimal_tree(*key, most=learner == TELLING_TREE)
    if learner in (LIST, TELLING):
        return optimal_list(*key, most=learner == TELLING)
    return cart(*key) if learner == CART else greedy(*key, purer=learner == PURER)


def accuracy(model: Model, data: Split, out: bool = False) -> float:
    """Return the share of training or test records that a model labels rightly."""
    return float(np.mean(model.predict(data.columns(out)) == (data.y_out if out else data.y)))


def tested(model: Model, data: Split) -> dict[int, int]:
    """Return how many records there are of each number of known attributes, all attributes taken as independent."""
    known, width = reconstruct(model, data.domain), len(data.domain)
    found: Counter[int] = Counter()
    for size, worlds in zip(known.supports, known.worlds(), strict=True):
        found[width - round(log2(worlds))] += size
    return dict(sorted(found.items()))


def figures(model: Model, data: Split) -> dict[str, object]:
    """Return size, accuracy and what a reader learns."""
    known = reconstruct(model, data.domain)
    return {
        "size": len(known.supports) - 1,
        "train": accuracy(model, data),
        "test": accuracy(model, data, out=True),
        "dist_g": known.dist_g(),
        "dist_g aware": known.dist_g(domain_aware=True),
        "known": written(tested(model, data)),
    }


def written(counts: dict[int, int]) -> str:
    """Return how many records there are of each number of known attributes, as text."""
    return " ".join(f"{bits}:{size}" for bits, size in counts.items() if size)


def counted(text: str) -> dict[int, int]:
    """Return what :func:`written` wrote."""
    return {int(bits): int(size) for bits, size in (part.split(":") for part in text.split())}


__all__ = ["CART", "DL85", "GREEDY", "LEARNERS", "LIST", "PURER", "TELLING", "TELLING_TREE", "TREE", "Fitted",
           "Listed", "Model", "accuracy", "counted", "cut", "figures", "fit", "optimal_lists", "planted", "rule_list",
           "tested", "written"]  # fmt: skip
