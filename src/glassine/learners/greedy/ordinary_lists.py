"""Greedy rule lists without privacy: GreedyRL of Ly et al. (2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from glassine.capacity import rule_list_bits
from glassine.compiling.slices import Progress
from glassine.domain import Domain
from glassine.learners.antecedents import asked
from glassine.learners.budget import check_number
from glassine.learners.estimator import OrdinaryLearner, fitted
from glassine.learners.exhaustive.families import Classes, Lists
from glassine.learners.greedy.growth import GreedyPool, ListGrowth, count_bytes, pool_bytes
from glassine.learners.intake import read_training
from glassine.privacy.exact import decimal
from glassine.records.arrays import Ints
from glassine.sealed.gini import best_split
from glassine.sealed.list_family import DrawnList
from glassine.sealed.remaining import Remaining
from glassine.sealed.store import HeldIntake


@dataclass(kw_only=True, eq=False, repr=False)
class GreedyRuleListClassifier(OrdinaryLearner, Classes, Lists):
    """A rule list grown rule by rule by the Gini impurity, without privacy: GreedyRL.

    At each step the rule is chosen that makes the weighted Gini impurity of what it captures and what it leaves least.
    :class:`~.PrivateGreedyRuleListClassifier` chooses with noise.

    Parameters
    ----------
    max_rules : int, default=5
        Largest number of rules besides the default rule, in [1, 100].
    domain : Domain, optional
        The attributes; inferred from the data by default. A number's ``thresholds`` are its literals.
    min_support : float, default=0.05
        Least share of the records, in [0, 0.5]: a rule captures as many, and as many remain before it. With fractional
        ``sample_weight`` it holds for the weights and for the rows.
    pool : {"literals", "pairs"} or sequence of sequences of Literal, default="literals"
        The antecedents, as for :class:`~.PrivateRuleListClassifier`. Those that the domain makes always true,
        always false or equal to an earlier one are left out.
    literals, classes
        As for :class:`~.OptimalTreeClassifier`.
    n_quantiles : int, default=7
        Quantiles for each number.
    progress : callable, optional
        Called with the rules done and the total.

    Attributes
    ----------
    model_ : RuleList
        The rule list, with exact class counts.
    certificate_ : Certificate
        Says that nothing is guaranteed: epsilon is infinite.
    domain_, classes_, n_features_in_, feature_names_in_
        As for :class:`~.PrivateTreeClassifier`.

    Notes
    -----
    Guarantee: none: the list and its exact counts are those of the records. Audit it before it is published.

    Edge cases: Without any rule the list is its default rule. It has ``max_rules`` rules unless the pool, the support
    or the absence of a better rule ends it sooner. Rules that by the domain's logic can take or leave nothing are
    passed over.

    scikit-learn's estimator checks pass but for one with default arguments, ``check_classifiers_train``: it rounds two
    numbers to a few whole ones, on which rules of one literal, chosen one at a time, end at an accuracy of 0.77 for
    three classes where 0.83 is asked for. With ``pool="pairs"`` it passes.

    References
    ----------
    Ly, Ferry, Huguet, Gambs and Aivodji, *Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule
    Lists* (2024), Algorithm 1 without noise.

    Examples
    --------
    >>> import numpy as np
    >>> from glassine import Domain
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    >>> rules = GreedyRuleListClassifier(2, domain=Domain.binary(["a", "b"])).fit(X, X[:, 0] | X[:, 1])
    >>> len(rules.model_.rules), rules.certificate_.holds
    (3, False)
    """

    most_rules: ClassVar[int] = 100

    domain: Domain | None = None
    min_support: float = 0.05

    def _learn(self, X: object, y: object, times: npt.ArrayLike | None) -> dict[str, Any]:
        self._check_parameters()
        support = decimal(check_number(self.min_support, "min_support", low=0.0, high=0.5), "min_support")
        intake = read_training(self, X, y, domain=self.domain, classes=self.classes, times=times, private=False)
        pool = GreedyPool.of(intake.domain, asked(self._conditions(intake.domain), intake))
        remaining = Remaining.of(intake, pool.antecedents)
        rows = None
        if isinstance(intake, HeldIntake) and intake.per_record > 1:
            rows = Remaining.of(replace(intake, multiplicities=None), pool.antecedents)
        growth = grow(pool, remaining, int(self.max_rules), support, self.progress, rows)
        model = growth.model(pool, intake, source=f"glassine.{type(self).__name__}")
        return fitted(intake, model, self._certificate(intake))

    def log_class_size(self) -> float:
        """Return the log of the number of lists of distinct rules of the pool, by a closed form.

        As for :class:`~.OptimalRuleListClassifier`, but lists in which a rule captures nothing are counted too:
        the natural logarithm of an upper bound, of models with labels and without counts.
        """
        domain, n_classes = self._public_knowledge("size")
        return rule_list_bits(self._pool_size(domain), int(self.max_rules), n_classes) * math.log(2)

    def _pool_size(self, domain: Domain) -> int:
        return len(GreedyPool.of(domain, self._conditions(domain).widest()).antecedents)

    def memory_needed(self, n_records: int = 0) -> int:
        """Return the bytes of a fit: the class counts of all rules of the pool, and about what so many records take.

        Parameters
        ----------
        n_records : int, default=0
            Number of records, at least 0.
        """
        domain, n_classes = self._public_knowledge("memory")
        rules = self._conditions(domain).widest()
        return count_bytes(len(rules), n_classes) + pool_bytes(n_records, domain, rules)


def grow(
    pool: GreedyPool,
    remaining: Remaining,
    length: int,
    support: Fraction,
    progress: Progress | None = None,
    rows: Remaining | None = None,
) -> ListGrowth:
    """Grow a list by the least weighted Gini impurity, without privacy.

    Each rule captures at least ``ceil(support * n)`` records, and as many remain before it. Of equal rules the first of
    the pool is taken. The list ends at its length, when too few records remain, or when no rule lowers the impurity.
    With ``rows``, the same records without weights, as many of these are needed as well.

    Guarantee
    ---------
    none: rules and exact counts are those of the records.
    """
    needed = [(each, math.ceil(support * int(each.totals().sum()))) for each in (remaining, *([rows] if rows else []))]
    chosen: list[int] = []
    counts: list[Ints] = []
    while len(chosen) < length:
        totals = remaining.totals()
        rules = pool.admissible(chosen)
        if not rules or any(int(each.totals().sum()) < max(1, least) for each, least in needed):
            break
        captured = remaining.counts(rules)
        allowed = [each.counts(rules).sum(axis=1) >= least for each, least in needed]
        best = best_split(captured, totals, np.logical_and.reduce(allowed))
        if progress is not None:
            progress(len(chosen) + 1, length)
        if best is None:
            break
        chosen.append(rules[best])
        counts.append(remaining.take(rules[best]))
        if rows is not None:
            rows.take(rules[best])
    counts.append(remaining.totals())
    labels = [int(np.argmax(row)) for row in counts]
    drawn = DrawnList(tuple(zip(chosen, labels, strict=False)), labels[-1])
    return ListGrowth(drawn=drawn, counts=np.array(counts))
