"""What the reader of a published tree is taken to know besides everyone's quasi-identifiers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from glassine.attacks.disclosure.noise import CountNoise
from glassine.domain import Category, Domain, Integer, Real
from glassine.domain.attributes import Scalar, is_whole
from glassine.errors import GlassineError, InvalidParameterError, check_choice, check_whole, parameter
from glassine.formats.sklearn.encodings import Coded, Column, Number
from glassine.formats.sklearn.pipelines import sklearn_names
from glassine.formats.sklearn.tree import final_tree
from glassine.learners.greedy.impurity import CRITERIA, Criterion, check_criterion
from glassine.learners.multiway_tree import MultiwayTreeClassifier
from glassine.models.tree import DecisionTree

Leaves: TypeAlias = Literal["leaf_counts", "error_rates", "labels_only"]

Training: TypeAlias = Literal["known", "sample"]

LEAVES: tuple[Leaves, ...] = ("leaf_counts", "error_rates", "labels_only")


def shown_by_leaves(tree: DecisionTree) -> Leaves:
    """Return what all leaves of a tree publish of their classes."""
    evidences = [cell.evidence for cell in tree.cells if cell.evidence.size != 0]
    if all(evidence.counts is not None for evidence in evidences):
        return "leaf_counts"
    if all(evidence.counts is not None or evidence.error_rate is not None for evidence in evidences):
        return "error_rates"
    return "labels_only"


SPLITS = ("auto", "multiway", "binary")

CANDIDATES = ("all_attributes", "same_attribute")

TRAINING = ("known", "sample")

NOT_STATED = "the model does not state how its splits were selected."


@dataclass(frozen=True, slots=True)
class Hints:
    """How splits were selected, as far as an estimator states it.

    Attributes
    ----------
    reason : str
        Why splits are not known to be the best among known candidates; empty if they are.
    criterion : str or None
        The measure, ``log_loss`` as ``entropy``; None where none is stated.
    splits : {"auto", "multiway", "binary"}
        How categories were split.
    columns : tuple of Column, or None
        What thresholds were compared on: the columns that the tree was given, as functions of the attributes.
    min_samples_leaf : int or None
        Fewest records of a branch.
    """

    reason: str
    _: KW_ONLY
    criterion: Criterion | None = None
    splits: Literal["auto", "multiway", "binary"] = "auto"
    columns: tuple[Column, ...] | None = None
    min_samples_leaf: int | None = None


@dataclass(frozen=True, slots=True)
class Adversary:
    """What the reader of a tree is taken to know.

    The reader knows the tree, the quasi-identifiers of all training records (of more people, for a sample), and the
    classes. What is stated here about the learner must be true of it: a constraint that the learner did not keep can
    exclude the true records.

    Parameters
    ----------
    leaves : {"leaf_counts", "error_rates", "labels_only"}, default="leaf_counts"
        What the leaves reveal: the number of records of each class; the class and how many records are not of it; or
        the class alone. A tree that publishes more is read as if it did not.
    internal_nodes : bool, default=True
        Whether the reader uses that every split was the best one of its node.
    criterion : {"gini", "entropy", "gain_ratio", "misclassification"}, default="gini"
        The measure by which splits were selected.
    marginals : mapping of class to int, or sequence of int, optional
        How many records each class has, if that was also published. Leaf counts reveal it in any case.
    splits : {"auto", "multiway", "binary"}, default="auto"
        How a category can be split: into one branch for each value, or one value against all others. "auto" takes the
        first where a node of the tree has more than two branches, or the tree says that it comes from
        :class:`~.MultiwayTreeClassifier`; otherwise no split of a category is a candidate, since a tree does
        not show which splits its learner compared. A number is split at thresholds in any case.
    candidates : {"all_attributes", "same_attribute"}, default="all_attributes"
        Among which splits a node's was the best. "same_attribute" is for learners that look at a random part of the
        attributes at each node: other thresholds or values of the chosen attribute were looked at in any case. A
        learner that draws thresholds at random keeps no constraint: ``internal_nodes=False``.
    categories : sequence of str, default=()
        Columns of numbers that are codes of categories.
    stated : Hints, optional
        What the model states of its learner, for a plain model that was read from an estimator: the
        ``glassine.attacks.disclosure.hints.read_hints`` of that estimator. It replaces what is said here of the
        criterion and the candidates. An estimator that is attacked itself states it in any case.
    min_samples_leaf : int, optional
        Fewest records of a branch that the learner allowed. By default the size of the smallest leaf of the tree: it
        was allowed, so that candidates with smaller branches are left out and none is assumed that was not there.
    training : {"known", "sample"}, default="known"
        Whether the people whom the reader knows are the training records, or a superset of them: any of them may
        have been left out.
    sampling_fraction : float, optional
        Of a sample: which share of the people it is, in (0, 1]. Where the leaves reveal how many records they hold,
        they must agree with it.
    noise : CountNoise, optional
        How class counts were blurred, where the tree publishes noisy or rounded ones. By default what the tree's
        guarantee claims: discrete Laplace noise of its scale.
    tolerance : float, default=1e-9
        By how much of a node's size a candidate may have been better than the split, in [1e-10, 0.1]: learners compare
        rounded figures.

    Raises
    ------
    InvalidParameterError
        If a parameter is not one of its values.

    Examples
    --------
    >>> Adversary("error_rates", criterion="entropy").describe()
    'error rates and internal nodes (entropy)'
    """

    leaves: Leaves = "leaf_counts"
    _: KW_ONLY
    internal_nodes: bool = True
    criterion: Criterion = "gini"
    marginals: Mapping[Any, int] | Sequence[int] | None = None
    splits: Literal["auto", "multiway", "binary"] = "auto"
    candidates: Literal["all_attributes", "same_attribute"] = "all_attributes"
    categories: Sequence[str] = ()
    stated: Hints | None = None
    min_samples_leaf: int | None = None
    training: Training = "known"
    sampling_fraction: float | None = None
    noise: CountNoise | None = None
    tolerance: float = 1e-9

    def __post_init__(self) -> None:
        options: tuple[tuple[str, object, tuple[str, ...]], ...] = (
            ("leaves", self.leaves, LEAVES),
            ("splits", self.splits, SPLITS),
            ("candidates", self.candidates, CANDIDATES),
            ("training", self.training, TRAINING),
        )
        for name, value, choices in options:
            check_choice(value, name, choices, remedy="Name one.")
        used: object = self.internal_nodes
        if not isinstance(used, bool):
            raise InvalidParameterError(f"{parameter('internal_nodes')} must be True or False, got {used!r}.")
        check_criterion(self.criterion)
        listed: object = self.categories
        if isinstance(listed, str) or not isinstance(listed, Iterable):
            raise InvalidParameterError(
                f"{parameter('categories')} must be a sequence of column names, got {listed!r}.", remedy="List them."
            )
        object.__setattr__(self, "categories", tuple(self.categories))
        if self.min_samples_leaf is not None:
            check_whole(self.min_samples_leaf, "min_samples_leaf", 1)
        self._check_fraction()
        blurred: object = self.noise
        if blurred is not None and not isinstance(blurred, CountNoise):
            raise InvalidParameterError(
                f"{parameter('noise')} must be a CountNoise, got {type(blurred).__name__}.", remedy="Give one."
            )
        tolerance: object = self.tolerance
        if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 1e-10 <= tolerance <= 0.1:
            raise InvalidParameterError(
                f"{parameter('tolerance')} must be a number in [1e-10, 0.1], got {tolerance!r}."
            )

    def _check_fraction(self) -> None:
        share: object = self.sampling_fraction
        if share is None:
            return
        if self.training != "sample":
            raise InvalidParameterError(
                f"{parameter('sampling_fraction')} is for a sample.",
                remedy=f"Take {parameter('training', 'sample')} with it.",
            )
        if isinstance(share, bool) or not isinstance(share, int | float | np.floating) or not 0 < share <= 1:
            raise InvalidParameterError(f"{parameter('sampling_fraction')} must be a number in (0, 1], got {share!r}.")
        object.__setattr__(self, "sampling_fraction", float(share))

    def describe(self) -> str:
        """Return what the reader uses, in a few words."""
        leaves = self.leaves.replace("_", " ")
        sentence = (
            f"{leaves} and internal nodes ({self.criterion.replace('_', ' ')})" if self.internal_nodes else leaves
        )
        sentence = f"{sentence}, class totals known" if self.marginals is not None else sentence
        if self.training == "known":
            return sentence
        share = "unknown" if self.sampling_fraction is None else f"{self.sampling_fraction:.4g}"
        return f"{sentence}, of a sample of fraction {share}"

    def class_totals(self, classes: Sequence[Scalar]) -> tuple[int, ...] | None:
        """Return the number of records of each class in the order of ``classes``; None if it is not known.

        Raises
        ------
        InvalidParameterError
            If there is not one whole number of at least 0 for each class.
        """
        if self.marginals is None:
            return None
        marginals: object = self.marginals
        if isinstance(marginals, Mapping):
            odd = [c for c in (*marginals, *classes) if c not in marginals or c not in classes]
            if odd:
                raise InvalidParameterError(
                    f"{parameter('marginals')} must name every class and nothing else, but {odd[0]!r} is in one of "
                    "them only.",
                    remedy="Give the records of each class.",
                )
            values = [marginals[c] for c in classes]
        elif isinstance(marginals, str) or not isinstance(marginals, Iterable):
            raise InvalidParameterError(
                f"{parameter('marginals')} must hold one number per class, got {marginals!r}.", remedy="List them."
            )
        else:
            values = list(marginals)
        if len(values) != len(classes):
            raise InvalidParameterError(
                f"{parameter('marginals')} must hold {len(classes)} numbers, one per class, got {len(values)}."
            )
        for value in values:
            if not is_whole(value) or not value >= 0:
                raise InvalidParameterError(
                    f"{parameter('marginals')} must be whole numbers of at least 0, got {value!r}."
                )
        return tuple(int(value) for value in values)


def read_hints(model: Any, domain: Domain | None = None) -> Hints:
    """Return what an estimator, or the last step of a pipeline, states; nothing if it is a plain model."""
    own = getattr(model, "best_estimator_", model)
    if isinstance(own, MultiwayTreeClassifier):
        return _of_multiway(own)
    final = own.steps[-1][1] if getattr(own, "steps", None) else own
    if "DecisionTreeClassifier" not in sklearn_names(final):
        return Hints(NOT_STATED)
    named = "entropy" if final.criterion == "log_loss" else final.criterion
    criterion: Criterion | None = next((name for name in CRITERIA if name == named), None)
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
    criterion: Criterion | None = next((one for one in CRITERIA if one == tree.criterion), None)
    if criterion is None or not hasattr(tree, "model_"):
        return Hints(NOT_STATED)
    domain: Domain = tree.domain_
    columns: list[Column] = []
    for name in domain:
        attribute = domain[name]
        if isinstance(attribute, Integer | Real):
            # Values are clipped to the domain as they are read.
            low, high = map(float, attribute.ends)
            columns.append(Number(name, (("at least", low), ("at most", high))))
            continue
        values = attribute.values if isinstance(attribute, Category) else (0, 1)
        # A value that is not declared is read as a missing one.
        codes = tuple((value, float(code)) for code, value in enumerate(values))
        columns.append(Coded(name, codes, -1.0, -1.0))
    return Hints("", criterion=criterion, splits="multiway", columns=tuple(columns), min_samples_leaf=1)


def completed(adversary: Adversary | None, hints: Hints) -> tuple[Adversary, list[str], str]:
    """Return an adversary with what the model states, notes, and why the internal nodes are not used."""
    base = adversary or Adversary()
    if not base.internal_nodes:
        return base, [], ""
    stated = base.stated or hints
    if stated.criterion is None and adversary is not None and base.stated is None:
        published = (
            f"Assumed, because {stated.reason[:-1]}: each split was the best of its node by {_named(base.criterion)}, "
            "and numbers were split at thresholds."
        )
        return base, [published], ""
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
