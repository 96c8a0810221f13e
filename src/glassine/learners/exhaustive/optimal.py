"""Optimal decision trees: the tree of fewest errors among all trees of a depth, without privacy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from glassine.counting.logic import LiteralLogic, RuleLogic
from glassine.data.slices import Progress
from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.learners.antecedents import LiteralPlan, PoolPlan, check_whole
from glassine.learners.base import TransparentClassifier
from glassine.learners.budget import check_number
from glassine.learners.exhaustive.gibbs import Weighting
from glassine.learners.exhaustive.lists import ListClass
from glassine.learners.exhaustive.trees import TreeClass
from glassine.learners.intake import pack, take_in
from glassine.learners.limits import check_size
from glassine.learners.publishing import leaf_nodes, list_model, tree_model
from glassine.privacy.certificate import Certificate

__all__ = ["OptimalRuleListClassifier", "OptimalTreeClassifier"]

# Optimal rule lists: the list of fewest errors among all lists over a pool, without privacy.


class OptimalRuleListClassifier(TransparentClassifier):
    """A rule list of least cost among all lists of at most K rules over a pool.

    The cost is the number of errors on the training records plus ``penalty`` times the number of records for each
    rule. The same recursion as that of :class:`~glassine.PrivateRuleListClassifier`, with sums replaced by minima.

    Parameters
    ----------
    max_rules : int, default=3
        Largest number of rules besides the default rule, in [1, 12].
    domain : Domain, optional
        The attributes; inferred from the data by default. A number's ``thresholds`` are its literals.
    pool : {"literals", "pairs"} or sequence of sequences of Literal, default="literals"
        The antecedents, as for :class:`~glassine.PrivateRuleListClassifier`.
    literals, classes, n_quantiles
        As for :class:`~glassine.OptimalTreeClassifier`.
    penalty : float, default=0.0
        Cost of a rule as a share of the records, in [0, 1].
    memory_limit, time_limit, progress
        As for :class:`~glassine.PrivateTreeClassifier`.

    Attributes
    ----------
    model_ : RuleList
        The rule list, with exact class counts.
    objective_ : float
        Its errors over n, plus ``penalty`` times its rules: the objective of Angelino et al., *Learning Certifiably
        Optimal Rule Lists* (2018).
    certificate_ : Certificate
        Says that nothing is guaranteed: epsilon is infinite.
    domain_, classes_, n_features_in_, feature_names_in_
        As for :class:`~glassine.PrivateTreeClassifier`.

    Notes
    -----
    Guarantee: none: the list and its exact counts are those of the records. Audit it before it is published.

    Edge cases: Of lists of equal cost the one is taken that ends first, then the first rule in the pool's order, at
    every position.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> rules = OptimalRuleListClassifier(max_rules=2).fit(X, X[:, 0] | X[:, 1])
    >>> rules.objective_, len(rules.model_.rules)
    (0.0, 3)
    """

    released = TransparentClassifier.released | {"objective_"}

    model_: Any
    certificate_: Certificate

    def __init__(
        self,
        max_rules: int = 3,
        domain: Domain | None = None,
        *,
        pool: str | Sequence[Sequence[Literal]] = "literals",
        literals: str | Sequence[Literal] = "auto",
        classes: Sequence[Scalar] | None = None,
        penalty: float = 0.0,
        n_quantiles: int = 15,
        memory_limit: float = 4e9,
        time_limit: float = 600.0,
        progress: Progress | None = None,
    ) -> None:
        self.max_rules = max_rules
        self.domain = domain
        self.pool = pool
        self.literals = literals
        self.classes = classes
        self.penalty = penalty
        self.n_quantiles = n_quantiles
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find a rule list of least cost.

        Parameters
        ----------
        X : data frame, array-like of shape (n, d), or CountTable
            Training records.
        y : array-like of shape (n,), or str
            Classes, or the name of the column of ``X`` that holds them.
        sample_weight : array-like of shape (n,), optional
            How many records each row stands for; whole numbers.

        Raises
        ------
        InvalidParameterError, InvalidDataError, ClassTooLargeError
            As for :class:`~glassine.PrivateTreeClassifier`.
        """
        length = check_whole(self.max_rules, "max_rules", 1, 12)
        penalty = check_number(self.penalty, "penalty", low=0.0, high=1.0)
        intake = take_in(
            self, X, y, domain=self.domain, classes=self.classes, sample_weight=sample_weight, private=False
        )
        plan = PoolPlan.of(intake.domain, self.pool, self.literals, self.n_quantiles)
        lists = self._class(intake.domain, plan, plan.literals.from_data(intake), len(intake.classes))
        check_size(
            f"rule lists of up to {length} of {len(lists.logic.antecedents)} rules",
            "Lower max_rules, take a smaller pool, or raise the limits.",
            table_bytes=lists.table_bytes(),
            steps=lists.steps(),
            memory_limit=self.memory_limit,
            time_limit=self.time_limit,
        )
        n = intake.n_records
        sums = lists.sums(pack(intake, lists.logic.antecedents), Weighting.optimal(penalty * n), self.progress)
        drawn = sums.best()
        counts = sums.class_counts(drawn)
        self._publish(intake.classes, intake.domain)
        self.certificate_ = Certificate.none("exact counts of the records")
        self.model_ = list_model(
            drawn,
            lists.logic.antecedents,
            counts=counts,
            attributes=intake.domain.names,
            classes=intake.classes,
            source="glassine.OptimalRuleListClassifier",
        )
        errors = int(counts.sum() - counts.max(axis=1).sum())
        self.objective_ = errors / max(n, 1) + penalty * len(drawn.rules)
        return self

    def _class(self, domain: Domain, plan: PoolPlan, literals: Sequence[Literal], n_classes: int) -> ListClass:
        logic = RuleLogic.of(domain, plan.pool(literals))
        return ListClass(logic=logic, length=int(self.max_rules), n_classes=n_classes)

    def _widest(self, domain: Domain, n_classes: int) -> ListClass:
        plan = PoolPlan.of(domain, self.pool, self.literals, self.n_quantiles)
        return self._class(domain, plan, plan.literals.widest(), n_classes)


class OptimalTreeClassifier(TransparentClassifier):
    """A decision tree of least cost among all trees of a depth over given literals.

    The cost is the number of errors on the training records plus ``penalty`` times the number of records for each
    split. The same recursion as that of :class:`~glassine.PrivateTreeClassifier`, with sums replaced by minima.

    Parameters
    ----------
    max_depth : int, default=3
        Largest number of splits on a path, in [1, 8].
    domain : Domain, optional
        The attributes; inferred from the data by default. A number's ``thresholds`` are its literals.
    literals : {"auto", "thresholds", "quantiles"} or sequence of Literal, default="auto"
        The conditions of splits. "thresholds": those that the domain declares. "quantiles": quantiles of the data for
        all numbers. "auto": declared thresholds, and quantiles of the data for numbers that have none.
    classes : sequence of scalars, optional
        The classes; those of the domain's target or of the data by default.
    penalty : float, default=0.0
        Cost of a split as a share of the records, in [0, 1].
    n_quantiles : int, default=15
        Quantiles for each number.
    memory_limit, time_limit, progress
        As for :class:`~glassine.PrivateTreeClassifier`.

    Attributes
    ----------
    model_ : DecisionTree
        The tree, with exact class counts.
    objective_ : float
        Its errors over n, plus ``penalty`` times its splits.
    certificate_ : Certificate
        Says that nothing is guaranteed: epsilon is infinite.
    domain_, classes_, n_features_in_, feature_names_in_
        As for :class:`~glassine.PrivateTreeClassifier`.

    Notes
    -----
    Guarantee: none: the tree and its exact counts are those of the records. Audit it before it is published.

    Edge cases: Of trees of equal cost the one is taken that has a leaf rather than a split, then the first literal,
    at every node.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> tree = OptimalTreeClassifier(max_depth=2).fit(X, X[:, 0] ^ X[:, 1])
    >>> tree.objective_, str(tree.model_)
    (0.0, 'decision tree with 4 leaves, depth 2')
    """

    released = TransparentClassifier.released | {"objective_"}

    model_: Any
    certificate_: Certificate

    def __init__(
        self,
        max_depth: int = 3,
        domain: Domain | None = None,
        *,
        literals: str | Sequence[Literal] = "auto",
        classes: Sequence[Scalar] | None = None,
        penalty: float = 0.0,
        n_quantiles: int = 15,
        memory_limit: float = 4e9,
        time_limit: float = 600.0,
        progress: Progress | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.domain = domain
        self.literals = literals
        self.classes = classes
        self.penalty = penalty
        self.n_quantiles = n_quantiles
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find a tree of least cost.

        Parameters
        ----------
        X : data frame, array-like of shape (n, d), or CountTable
            Training records.
        y : array-like of shape (n,), or str
            Classes, or the name of the column of ``X`` that holds them.
        sample_weight : array-like of shape (n,), optional
            How many records each row stands for; whole numbers.

        Raises
        ------
        InvalidParameterError, InvalidDataError, ClassTooLargeError
            As for :class:`~glassine.PrivateTreeClassifier`.
        """
        depth = check_whole(self.max_depth, "max_depth", 1, 8)
        penalty = check_number(self.penalty, "penalty", low=0.0, high=1.0)
        intake = take_in(
            self, X, y, domain=self.domain, classes=self.classes, sample_weight=sample_weight, private=False
        )
        plan = LiteralPlan.of(intake.domain, self.literals, self.n_quantiles)
        trees = self._class(intake.domain, plan.from_data(intake), len(intake.classes))
        check_size(
            f"trees of depth {depth} over {len(trees.logic.literals)} literals",
            "Lower max_depth, declare fewer thresholds or literals, or raise the limits.",
            table_bytes=trees.table_bytes(),
            steps=trees.steps(),
            memory_limit=self.memory_limit,
            time_limit=self.time_limit,
        )
        n = intake.n_records
        bitsets = pack(intake, [(literal,) for literal in trees.logic.literals])
        sums = trees.sums(bitsets, Weighting.optimal(penalty * n), self.progress)
        tree = sums.best()
        counts = np.array([sums.class_counts(*leaf) for leaf in leaf_nodes(tree)])
        self._publish(intake.classes, intake.domain)
        self.certificate_ = Certificate.none("exact counts of the records")
        self.model_ = tree_model(
            tree,
            trees.logic.literals,
            counts=counts,
            domain=intake.domain,
            classes=intake.classes,
            source="glassine.OptimalTreeClassifier",
        )
        errors = int(counts.sum() - counts.max(axis=1).sum())
        self.objective_ = errors / max(n, 1) + penalty * (len(counts) - 1)
        return self

    def _class(self, domain: Domain, literals: Sequence[Literal], n_classes: int) -> TreeClass:
        logic = LiteralLogic.of(domain, literals, up_to_negation=True)
        return TreeClass(logic=logic, depth=int(self.max_depth), n_classes=n_classes)

    def _widest(self, domain: Domain, n_classes: int) -> TreeClass:
        plan = LiteralPlan.of(domain, self.literals, self.n_quantiles)
        return self._class(domain, plan.widest(), n_classes)
