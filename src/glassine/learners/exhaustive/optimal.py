"""Optimal trees and rule lists: the model of least loss among all of a class, without privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.capacity import DeclaredClass
from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidParameterError, parameter
from glassine.learners.antecedents import asked
from glassine.learners.budget import check_number
from glassine.learners.estimator import OrdinaryLearner, TransparentModel, fitted
from glassine.learners.exhaustive.families import Lists, Numbers, RankedClasses, Tabulated, Trees
from glassine.learners.exhaustive.list_search import ListSearch, Room, SearchLimits
from glassine.learners.intake import Intake, metadata_of
from glassine.models import DecisionTree, Evidence, RuleList
from glassine.privacy.exact import decimal
from glassine.records.arrays import Indices, Ints
from glassine.records.bits import BitSets, truths
from glassine.sealed.list_family import DrawnList
from glassine.sealed.losses import MOST_STEPS, LeafCosts, base_rates
from glassine.sealed.model_class import check_size
from glassine.sealed.plan import Metadata
from glassine.sealed.weighting import Weighting


@dataclass(kw_only=True, eq=False, repr=False)
class Optimal(OrdinaryLearner, Tabulated):
    """A model of least cost among all of a class: a loss, and a penalty for each split or rule."""

    released = TransparentModel.released | {"objective_"}

    domain: Domain | None = None
    penalty: float = 0.0
    min_samples_leaf: int | float = 1

    objective_: float = field(init=False)

    def _learn(self, X: object, y: object, times: npt.ArrayLike | None) -> dict[str, Any]:
        self._check_parameters()
        smallest = _least(self.min_samples_leaf)
        penalty = check_number(self.penalty, "penalty", low=0.0, high=1.0)
        intake = self._read(X, y, times, private=False)
        conditions = asked(self._conditions(intake.domain), intake)
        n_classes, n = len(intake.classes), intake.n_records
        # Fractional weights are no numbers of records, of which a leaf could hold some.
        counted = n if intake.per_record == 1 else len(weighing(intake))
        fewest = math.ceil(smallest * counted) if isinstance(smallest, Fraction) else smallest
        if counted < fewest:
            raise InvalidParameterError(
                f"{parameter('min_samples_leaf')}={fewest:,} allows no leaf: there are {counted:,} training records.",
                remedy="Lower it, or give more records.",
            )
        members = self._members(intake.domain, conditions, self._public_loss(n_classes, MOST_STEPS))
        self._refuse_too_large(members, metadata_of(intake))
        bitsets = intake.pack(members.antecedents)
        if self._ranks(n_classes):
            rates = base_rates(bitsets.totals() / intake.per_record)
            members = members.with_loss(self._loss(rates, math.inf, members))
        loss, least = members.loss, fewest * members.loss.parts
        # A share of the records as a penalty becomes units of cost, in which the sums count.
        cost = penalty * n * loss.unit * loss.parts
        if intake.per_record > 1 and fewest > 1:
            members, bitsets, least = with_rows(members, intake, fewest)
        best, counts = self._best(members, intake, bitsets, cost, least)
        counts = counts[:, : loss.n_classes]
        values = members.values(best)

        def publish(cells: Sequence[Evidence]) -> DecisionTree | RuleList:
            return members.publish(
                best,
                cells,
                domain=intake.domain,
                classes=intake.classes or None,
                source=f"glassine.{type(self).__name__}",
            )

        model, mean_loss = self._exact(intake, loss, values, counts, publish)
        # A tree has one leaf more than splits, a list one part more than rules: the default rule's.
        objective = mean_loss + penalty * (len(counts) - 1)
        certificate = self._certificate(intake)
        return fitted(intake, model, certificate) | {"objective_": objective}

    def _best(self, members: Any, intake: Intake, bitsets: BitSets, penalty: float, fewest: int) -> tuple[Any, Ints]:
        """Return a member of least cost, and the class counts of its leaves or rules, shape (k, c)."""
        # fewest: least sum of the class counts of a leaf.
        sums = members.sums(bitsets, Weighting.optimal(penalty, fewest), self.progress)
        best = sums.best()
        return best, sums.class_counts(best)


def weighing(intake: Intake) -> Indices:
    """Return the rows whose weight is not zero, as places among all."""
    return np.arange(len(intake.labels)) if intake.multiplicities is None else np.flatnonzero(intake.multiplicities)


def with_rows(members: Any, intake: Intake, fewest: int) -> tuple[Any, BitSets, int]:
    """Return a class of models and its bit sets with one class more, and the least sum of counts of a leaf.

    The class costs nothing. Each row counts in it as more than all rows weigh, so that the counts of a leaf add up to
    the least sum if it holds ``fewest`` rows, and only then.
    """
    loss, rows = members.loss, weighing(intake)
    parts = np.zeros((len(rows), loss.n_classes + 1), dtype=np.int64)
    if loss.parts > 1:
        parts[:, 0], parts[:, 1] = loss.parts - intake.labels[rows], intake.labels[rows]
    else:
        parts[np.arange(len(rows)), intake.labels[rows]] = 1
    if intake.multiplicities is not None:
        parts *= intake.multiplicities[rows, None]
    heavy = 1 << int(parts.sum()).bit_length()
    parts[:, -1] = heavy
    bitsets = BitSets.pack_counts((truth[rows] for truth in truths(intake.columns, members.antecedents)), parts)
    free = np.zeros((loss.n_values, 1), dtype=np.int64)
    return members.with_loss(replace(loss, costs=np.hstack([loss.costs, free]))), bitsets, fewest * heavy


def _least(value: object) -> int | Fraction:
    """Return a least number of records, or their least share, or raise InvalidParameterError."""
    if not isinstance(value, bool) and isinstance(value, Real):
        if isinstance(value, Integral) and int(value) >= 1:
            return int(value)
        if 0 < float(value) < 1:
            return decimal(value, "min_samples_leaf")
    raise InvalidParameterError(
        f"{parameter('min_samples_leaf')} must be a whole number of at least 1, or a share above 0 and below 1, got "
        f"{value!r}."
    )


@dataclass(eq=False, repr=False)
class OptimalRuleListClassifier(RankedClasses, Optimal, Lists):
    """A rule list of least cost among all lists of at most K rules over a pool.

    The cost is the loss on the training records plus ``penalty`` times the number of records for each rule. Lists whose
    first rules leave the same records are searched together, and only as far as they may be better than a known one.

    Parameters
    ----------
    max_rules : int, default=3
        Largest number of rules besides the default rule, in [1, 12].
    domain : Domain, optional
        The attributes; inferred from the data by default. A number's ``thresholds`` are its literals.
    pool : {"literals", "pairs"} or sequence of sequences of Literal, default="literals"
        The antecedents, as for :class:`~.PrivateRuleListClassifier`.
    literals, classes, accuracy_share, n_quantiles
        As for :class:`~.OptimalTreeClassifier`.
    penalty : float, default=0.0
        Cost of a rule as a share of the records, in [0, 1].
    min_samples_leaf : int or float, default=1
        Fewest records that each rule captures, and that the default rule does, counted as for
        :class:`~.OptimalTreeClassifier`.
    memory_limit, time_limit
        Bytes and seconds that the search may take: how many it takes depends on the records.
    progress
        As for :class:`~.PrivateTreeClassifier`.

    Attributes
    ----------
    model_ : RuleList
        The rule list, with exact class counts.
    objective_ : float
        Its mean loss, plus ``penalty`` times its rules: with errors alone the objective of Angelino et
        al., *Learning Certifiably Optimal Rule Lists* (2018).
    certificate_ : Certificate
        Says that nothing is guaranteed: epsilon is infinite.
    domain_, classes_, n_features_in_, feature_names_in_
        As for :class:`~.PrivateTreeClassifier`.

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

    max_rules: int = 3
    _: KW_ONLY
    accuracy_share: float = 1.0
    n_quantiles: int = 15

    def _refuse_too_large(self, members: Any, metadata: Metadata, **weighing: Any) -> None:
        # The search itself ends at the limits; before it, only what they are is checked.
        check_size(
            members.text(),
            members.ways_out,
            table_bytes=0,
            steps=0,
            memory_limit=self.memory_limit,
            time_limit=self.time_limit,
        )

    def _best(self, members: Any, intake: Intake, bitsets: BitSets, penalty: float, fewest: int) -> tuple[Any, Ints]:
        search = ListSearch(
            bitsets,
            members.loss,
            fewest=fewest,
            fewest_left=fewest,
            limits=SearchLimits(
                what=members.text(), ways_out=members.ways_out, memory=self.memory_limit, time=self.time_limit
            ),
            room=Room.of(members.logic, [name for name in intake.domain if intake.domain[name].missing]),
            penalty=penalty,
            progress=self.progress,
        )
        rules = search.best(members.levels).rules
        counts = search.class_counts(rules)
        *values, default = (members.loss.costs @ counts.T).argmin(axis=0).tolist()
        return DrawnList(tuple(zip(rules, values, strict=True)), default), counts


@dataclass(eq=False, repr=False)
class OptimalTreeClassifier(RankedClasses, Optimal, Trees):
    """A decision tree of least cost among all trees of a depth over given literals.

    The cost is the loss on the training records plus ``penalty`` times the number of records for each split. The same
    recursion as that of :class:`~.PrivateTreeClassifier`, with sums replaced by minima.

    Parameters
    ----------
    max_depth : int, default=3
        Largest number of splits on a path, in [1, 8].
    domain : Domain, optional
        The attributes; inferred from the data by default. A number's ``thresholds`` are its literals.
    literals : {"auto", "thresholds", "quantiles", "coarse"} or sequence of Literal, default="auto"
        The conditions of splits. "thresholds": those that the domain declares. "quantiles": quantiles of the data for
        all numbers. "auto": declared thresholds, and quantiles of the data for numbers that have none. "coarse": as for
        :class:`~.PrivateTreeClassifier`.
    classes : sequence of scalars, optional
        The classes; those of the domain's target or of the data by default.
    accuracy_share : float, default=1.0
        Share of errors in the loss, in [0, 1]: with 1 the model has the fewest errors. Below 1 the rest is log loss
        over values about the base rates of the records, as for :class:`~.PrivateTreeClassifier`.
    n_quantiles : int, default=15
        Quantiles for each number.
    penalty : float, default=0.0
        Cost of a split as a share of the records, in [0, 1].
    min_samples_leaf : int or float, default=1
        Fewest records of a leaf, at least 1. Below 1, their share of all records, above 0 and rounded up to records.
        The tree has least cost among all trees that satisfy it. With whole ``sample_weight`` each row counts as many
        records as it stands for. With fractional ones each row counts as one: a leaf of one row with a weight of 300
        holds one record.
    memory_limit, time_limit, progress
        As for :class:`~.PrivateTreeClassifier`.

    Attributes
    ----------
    model_ : DecisionTree
        The tree, with exact class counts.
    objective_ : float
        Its mean loss, plus ``penalty`` times its splits. A record costs at most 1.
    certificate_ : Certificate
        Says that nothing is guaranteed: epsilon is infinite.
    domain_, classes_, n_features_in_, feature_names_in_
        As for :class:`~.PrivateTreeClassifier`.

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

    _: KW_ONLY
    accuracy_share: float = 1.0
    n_quantiles: int = 15


FINE_STEPS = 64
"""Steps of the values between which optimal trees choose: a tree costs at most (range / 128)^2 more than the best."""


@dataclass(eq=False, repr=False)
class OptimalTreeRegressor(Numbers, Optimal, Trees):
    """A regression tree of least squared error among all trees of a depth over given literals.

    The cost is the squared error on the training records, plus ``penalty`` times the number of records for each split.
    The same recursion as that of :class:`~.PrivateTreeRegressor`, with sums replaced by minima.

    Parameters
    ----------
    max_depth, domain, literals
        As for :class:`~.OptimalTreeClassifier`.
    target_range : (float, float), optional
        The range of the target; that of the domain or of the data by default. Targets outside are clipped to it.
    n_quantiles
        As for :class:`~.OptimalTreeClassifier`.
    penalty : float, default=0.0
        Cost of a split as a share of the records times the squared range, in [0, 1].
    min_samples_leaf, memory_limit, time_limit, progress
        As for :class:`~.OptimalTreeClassifier`.

    Attributes
    ----------
    model_ : DecisionTree
        The tree, with the exact means and numbers of records of its leaves.
    objective_ : float
        Its mean squared error over the squared range, plus ``penalty`` times its splits.
    certificate_, domain_, n_features_in_, feature_names_in_
        As for :class:`~.OptimalTreeClassifier`.

    Notes
    -----
    Guarantee: none: the tree, its means and numbers of records are those of the records. Audit it before it is
    published.

    Edge cases: Trees are compared with targets rounded to 255 steps of the range, and with leaf values at 65 points of
    it: of trees that differ by less than (range / 128)^2 any may be taken. The published means are exact. Of trees of
    equal cost the one is taken that has a leaf rather than a split, then the first literal, at every node.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> tree = OptimalTreeRegressor(max_depth=2).fit(X, 10.0 * X[:, 0] + 5 * X[:, 0] * X[:, 1])
    >>> tree.objective_, str(tree.model_)
    (0.0, 'regression tree with 3 leaves, depth 2')
    """

    _: KW_ONLY
    n_quantiles: int = 15

    def _public_loss(self, n_classes: int, steps: int) -> LeafCosts:
        return LeafCosts.squares(FINE_STEPS, ends=True)

    def _declared(self, domain: Domain, n_classes: int) -> DeclaredClass:
        raise InvalidParameterError(
            "the published means of a regression tree have all digits, so that its models are not counted.",
            remedy="Group the outcome in public classes, or publish no means.",
        )

    def _stated_classes(self) -> Sequence[Scalar] | None:
        return ()
