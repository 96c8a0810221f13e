"""What a fitted estimator states of how its splits were selected: by which measure, among which candidates."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from glassine.attacks.disclosure.adversary import Adversary, Hints
from glassine.domain import Category, Domain, Integer, Real
from glassine.errors import GlassineError
from glassine.formats.sklearn.encodings import Coded, Column, Number
from glassine.formats.sklearn.pipelines import sklearn_names
from glassine.formats.sklearn.tree import final_tree
from glassine.learners.greedy.impurity import CRITERIA, Criterion
from glassine.learners.multiway_tree import MultiwayTreeClassifier

__all__ = ["NOT_STATED", "Hints", "completed", "read_hints"]

NOT_STATED = "the model does not state how its splits were selected."


def read_hints(model: Any, domain: Domain | None = None) -> Hints:
    """Return what an estimator, or the last step of a pipeline, states; nothing if it is a plain model.

    Parameters
    ----------
    model : object
        A :class:`~glassine.MultiwayTreeClassifier`, or a classification tree of scikit-learn, alone, at the end of a
        pipeline or in a search. Of every other object it is not known how it selects splits.
    domain : Domain, optional
        It names the features of estimators that were fitted on bare arrays, as for :func:`glassine.as_model`.
    """
    own = getattr(model, "best_estimator_", model)
    if isinstance(own, MultiwayTreeClassifier):
        return _of_multiway(own)
    final = own.steps[-1][1] if getattr(own, "steps", None) else own
    if "DecisionTreeClassifier" not in sklearn_names(final):
        return Hints(NOT_STATED)
    named = "entropy" if final.criterion == "log_loss" else final.criterion
    criterion: Criterion | None = next((known for known in CRITERIA if known == named), None)
    if criterion is None:
        return Hints("its criterion is none that is modelled.")
    reason = _unlike(final)
    if reason or not hasattr(final, "tree_"):
        return Hints(reason, criterion=criterion, splits="binary")
    try:
        columns = tuple(final_tree(own, domain)[2])
    except GlassineError as error:
        return Hints(f"its columns are not known: {error}", criterion=criterion, splits="binary")
    return Hints("", criterion=criterion, splits="binary", columns=columns, min_samples_leaf=_smallest(final))


def _unlike(tree: Any) -> str:
    """Return why the splits of a tree of scikit-learn are not the best of all candidates by the counts of records."""
    if tree.splitter != "best":
        return "its thresholds were drawn at random (splitter)."
    if tree.class_weight is not None:
        return "its records were weighted by class (class_weight)."
    if tree.monotonic_cst is not None and np.any(np.asarray(tree.monotonic_cst) != 0):
        return "some splits were ruled out by what they predict (monotonic_cst)."
    if not hasattr(tree, "tree_"):
        return "" if tree.max_features is None else "each node looked at some columns only (max_features)."
    if tree.max_features_ < tree.n_features_in_:
        return "each node looked at some columns only (max_features)."
    if not np.array_equal(tree.tree_.weighted_n_node_samples, tree.tree_.n_node_samples):
        return "its records were weighted."
    return ""


def _smallest(tree: Any) -> int:
    """Return the fewest records of a branch that a tree of scikit-learn allowed."""
    n, least = int(tree.tree_.n_node_samples[0]), tree.min_samples_leaf
    own = int(least) if isinstance(least, int | np.integer) else math.ceil(least * n)
    # One more than needed where the share is a whole number: scikit-learn compares it in floating point.
    return max(own, math.floor(float(tree.min_weight_fraction_leaf) * n) + 1)


def _of_multiway(tree: MultiwayTreeClassifier) -> Hints:
    criterion: Criterion | None = next((known for known in CRITERIA if known == tree.criterion), None)
    if criterion is None or not hasattr(tree, "model_"):
        return Hints(NOT_STATED)
    domain: Domain = tree.domain_
    columns: list[Column] = []
    for name in domain:
        attribute = domain[name]
        if isinstance(attribute, Integer | Real):
            # Values are clipped to the domain as they are read.
            columns.append(Number(name, (("at least", float(attribute.lo)), ("at most", float(attribute.hi)))))
            continue
        values = attribute.values if isinstance(attribute, Category) else (0, 1)
        # A value that is not declared is read as a missing one.
        codes = tuple((value, float(code)) for code, value in enumerate(values))
        columns.append(Coded(name, codes, -1.0, -1.0))
    return Hints("", criterion=criterion, splits="multiway", columns=tuple(columns), min_samples_leaf=1)


def completed(adversary: Adversary | None, hints: Hints) -> tuple[Adversary, list[str], str]:
    """Return an adversary with what the model states, notes, and why the internal nodes are not used.

    Parameters
    ----------
    adversary : Adversary or None
        What the reader is taken to know. Without it, only what the model states is used.
    hints : Hints
        What the model states; what the adversary has read from an estimator goes before.
    """
    base = adversary or Adversary()
    if not base.internal_nodes:
        return base, [], ""
    stated = base.stated or hints
    if stated.criterion is None and adversary is not None and base.stated is None:
        told = (
            f"Assumed, because {stated.reason[:-1]}: each split was the best of its node by {_named(base.criterion)}, "
            "and numbers were split at thresholds."
        )
        return base, [told], ""
    if stated.criterion is None or stated.reason:
        return replace(base, internal_nodes=False), [], stated.reason
    notes = []
    if adversary is not None and adversary.criterion != stated.criterion:
        notes.append(
            f"The model states the criterion {_named(stated.criterion)}; {_named(base.criterion)} was not used."
        )
    smallest = stated.min_samples_leaf
    return replace(base, criterion=stated.criterion, min_samples_leaf=smallest, stated=stated), notes, ""


def _named(criterion: str) -> str:
    return criterion.replace("_", " ")
