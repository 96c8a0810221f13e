"""Models of a class that was declared before the draw: how they are trained, and what their bounds are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from questions import Bits, Frame
from sklearn.tree import DecisionTreeClassifier

from glassine import Domain
from glassine.capacity import (
    LearnedCode,
    complexity_bits,
    conditional_bits,
    counts_given_frame,
    design_advantage,
    design_bits,
    free_counts_bits,
    fresh_advantage,
    rule_list_bits,
    table_bits,
    tree_bits,
    tree_length,
)
from glassine.learners import GreedyRuleListClassifier, OptimalTreeClassifier

DELTA = 0.05

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Trained:
    """One model: the part of each person of the frame, what it predicts there, and its identity."""

    parts: Indices  # shape (N,)
    labels: Indices  # shape (parts,)
    key: tuple[object, ...]  # Structure and labels: what is published without counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A class of models and what of a member is published."""

    name: str
    counts: bool
    train: Callable[[Bits, Bits, Bits], Trained]  # answers and classes of the sample, answers of the frame
    structure: Callable[[int], float]  # bits of the structures over q questions
    labelled: Callable[[int], float]
    parts: Callable[[int], int]  # most parts over q questions
    grown: bool = False  # Whether the class has no end, so that the length of each model is charged
    quick: bool = False  # Whether it is retrained for a learned code


def cart(depth: int | None) -> Callable[[Bits, Bits, Bits], Trained]:
    """Return how scikit-learn trains a tree of a depth."""

    def train(answers: Bits, classes: Bits, frame: Bits) -> Trained:
        fit = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(answers, classes)
        tree = fit.tree_
        leaves = np.flatnonzero(tree.children_left < 0)
        place = np.zeros(tree.node_count, dtype=np.int64)
        place[leaves] = np.arange(len(leaves))
        labels = tree.value[leaves, 0, :].argmax(axis=1)
        key = (tuple(tree.feature.tolist()), tuple(labels.tolist()))
        return Trained(place[fit.apply(frame)], labels, key)

    return train


def own(make: Callable[[Domain], object]) -> Callable[[Bits, Bits, Bits], Trained]:
    """Return how a learner of this package trains."""

    def train(answers: Bits, classes: Bits, frame: Bits) -> Trained:
        learner: OptimalTreeClassifier | GreedyRuleListClassifier
        learner = make(Domain.binary([f"q{i}" for i in range(answers.shape[1])]))  # type: ignore[assignment]
        learner.fit(answers, classes)
        cells = learner.model_.cells
        labels = np.array([cell.evidence.prediction for cell in cells])
        key = (tuple(map(str, cells)), tuple(labels.tolist()))
        return Trained(learner.apply(frame).astype(np.int64), labels, key)

    return train


def trees(name: str, depth: int, train: Callable[[Bits, Bits, Bits], Trained]) -> list[Kind]:
    """Return a kind of tree with labels, and with counts."""
    return [
        Kind(
            name=f"{name} {depth}, {'counts' if counts else 'labels'}",
            counts=counts,
            train=train,
            structure=lambda q: tree_bits(q, depth),
            labelled=lambda q: tree_bits(q, depth, 2),
            parts=lambda q: 2**depth,
            quick=name == "CART" and depth < 4,
        )
        for counts in (False, True)
    ]


def lists(rules: int) -> list[Kind]:
    """Return greedy rule lists with labels, and with counts; a question and its negation are two rules."""

    def greedy(domain: Domain) -> object:
        return GreedyRuleListClassifier(rules, domain=domain, classes=(0, 1))

    return [
        Kind(
            name=f"rule list {rules}, {'counts' if counts else 'labels'}",
            counts=counts,
            train=own(greedy),
            structure=lambda q: rule_list_bits(2 * q, rules),
            labelled=lambda q: rule_list_bits(2 * q, rules, 2),
            parts=lambda q: rules + 1,
        )
        for counts in (False, True)
    ]


def unpruned() -> Kind:
    """Return trees of any size with counts, whose own length is charged."""
    return Kind(
        name="CART unpruned, counts",
        counts=True,
        train=cart(None),
        structure=lambda q: math.nan,
        labelled=lambda q: math.nan,
        parts=lambda q: 0,
        grown=True,
    )


def optimal(domain: Domain) -> object:
    """Return the learner of optimal trees of depth 2."""
    return OptimalTreeClassifier(2, domain=domain, classes=(0, 1), time_limit=60.0)


KINDS: Sequence[Kind] = [
    *(kind for depth in (2, 3, 4, 5) for kind in trees("CART", depth, cart(depth))),
    *trees("optimal", 2, own(optimal)),
    *lists(5),
    unpruned(),
]


def shown(kind: Kind, model: Trained) -> tuple[object, ...]:
    """Return the structure of a model, with its labels unless they follow from counts."""
    return model.key[:1] if kind.counts else model.key


def cells_of(model: Trained, frame: Frame, drawn: npt.NDArray[np.bool_]) -> tuple[Indices, Indices, Indices]:
    """Return the cell of each person, leaf and class, the counts of the sample and those of the frame."""
    cell = model.parts * 2 + frame.classes
    size = 2 * len(model.labels)
    return cell, np.bincount(cell[drawn], minlength=size), np.bincount(cell, minlength=size)


Runs = Sequence[tuple[Trained, npt.NDArray[np.bool_]]]


def proved(kind: Kind, frame: Frame, n: int, models: Runs, batch: Sequence[Trained]) -> dict[str, float]:
    """Return the bounds: fresh and design on average over draws, and given each model, except for one draw in 20.

    Given the model, counts are refunded by those of the frame. The structure, with labels if those are published, has
    its length in a code that was learned from a batch of retrained models, where there is one. Each model has its own
    bound: ``given`` is their mean, and ``given_largest`` the one that all of these models keep.
    """
    size, q = len(frame.classes), frame.answers.shape[1]
    of_class = kind.structure(q) if kind.counts else kind.labelled(q)
    code = LearnedCode([shown(kind, model) for model in batch], of_class) if batch and not kind.grown else None
    given = []
    for model, drawn in models:
        length = tree_length(len(model.labels), q) if kind.grown else of_class
        length = length if code is None else code.length(shown(kind, model))
        if kind.counts:
            _, held, known = cells_of(model, frame, drawn)
            bits = counts_given_frame(length, held.tolist(), known.tolist(), DELTA)
        else:
            bits = design_bits(conditional_bits(length, DELTA), size, n)
        given.append(design_advantage(bits / size))
    out = {"given": float(np.mean(given)), "given_largest": max(given)}
    if kind.grown:
        # No class bounds them: each model is charged its own length and its counts in full.
        bits = [conditional_bits(tree_length(len(m.labels), q), DELTA) for m, _ in models]
        fresh = [b + complexity_bits(2 * len(m.labels), n) for b, (m, _) in zip(bits, models, strict=True)]
        full = [
            design_bits(b + table_bits(2 * len(m.labels), n), size, n) for b, (m, _) in zip(bits, models, strict=True)
        ]
        return out | {
            "bits": float(np.mean(bits)),
            "fresh": float(np.mean([fresh_advantage(b / n) for b in fresh])),
            "design": float(np.mean([design_advantage(b / size) for b in full])),
        }
    if not kind.counts:
        labelled = kind.labelled(q)
        return out | {
            "bits": labelled,
            "fresh": fresh_advantage(labelled / n),
            "design": design_advantage(design_bits(labelled, size, n) / size),
        }
    structure, cells = kind.structure(q), 2 * kind.parts(q)
    refunded = structure + min(complexity_bits(cells, n), free_counts_bits(structure, cells))
    full_bits = structure + table_bits(cells, n)
    return out | {
        "bits": full_bits,
        "fresh": fresh_advantage(refunded / n),
        "design": design_advantage(design_bits(full_bits, size, n) / size),
    }
