"""Private greedy rule lists: the private forms of GreedyRL of Ly et al. (2024), strict and as published."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from glassine.domain import Domain
from glassine.errors import InvalidParameterError, parameter
from glassine.learners.antecedents import PoolPlan
from glassine.learners.budget import certificate_of, guarantee_of, relation_of
from glassine.learners.estimator import PrivateEstimator, fitted
from glassine.learners.exhaustive.families import Classes, Lists
from glassine.learners.greedy.greedy_plan import GreedyPlan, GreedyWish
from glassine.learners.greedy.growth import GreedyPool, ListGrowth, count_bytes, pool_bytes
from glassine.learners.greedy.published import (
    AS_PUBLISHED,
    RuleGrant,
    defects,
    grow_as_published,
    stated_events,
    whole_delta,
)
from glassine.learners.intake import metadata_of
from glassine.privacy.accounting import Event
from glassine.privacy.certificate import Certificate
from glassine.privacy.release import Paid, Price
from glassine.privacy.unit import RECORD, PrivacyUnit, of_groups
from glassine.records.alignment import target_name
from glassine.sealed.accounts import FitAccount
from glassine.sealed.oracle import Oracle, asking
from glassine.sealed.persons import CountedPersons
from glassine.sealed.plan import Metadata, Plan
from glassine.sealed.questions import Query
from glassine.sealed.rule_choices import LOOKAHEAD, RuleChoices
from glassine.sealed.satisfied import most_satisfied


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateGreedyRuleListClassifier(PrivateEstimator, Classes, Lists):
    """A rule list grown rule by rule by the Gini impurity, each rule chosen by one of seven private mechanisms.

    At each step the rule is chosen that, but for noise, makes the weighted Gini impurity of what it captures and what
    it leaves least. With ``accounting="strict"`` the mechanisms' guarantees hold; with ``accounting="published"`` they
    are those of the paper, for comparison with its tables. :class:`~.GreedyRuleListClassifier` is the same
    without privacy.

    Parameters
    ----------
    max_rules : int, default=5
        Largest number of rules besides the default rule, in [1, 100].
    epsilon : float
        Privacy budget of one fit, at least 1e-6; ``fit`` needs it.
    delta : float, optional
        Needed by "smooth-laplace" and "global-gaussian", refused by the others. As published its default is 1 / n^2,
        and with a ledger it is needed too, since that default would reveal n.
    domain : Domain, optional
        What is publicly known about the attributes; inferred from the data by default, which voids the guarantee.
    mechanism : {"counted-gini", "smooth-laplace", "smooth-cauchy", "global-laplace", "global-gaussian", \
"global-exponential", "noisy-counts"}, default="counted-gini"
        How a rule is chosen. "counted-gini" is this package's own, and the one to use.
    accounting : {"strict", "published"}, default="strict"
        Whether the guarantee holds, or is the paper's.
    min_support : float, default=0.05
        Least share of the records, in [0, 0.5]. The smooth mechanisms as published, and strict smooth-laplace, end the
        list when a noisy number of the remaining records falls below it; the other mechanisms do not use it.
    pool : {"literals", "pairs"} or sequence of sequences of Literal, default="literals"
        The antecedents, as for :class:`~.PrivateRuleListClassifier`. Those that the domain makes always true,
        always false or equal to an earlier one are left out.
    literals, classes
        As for :class:`~.PrivateRuleListClassifier`.
    leaf_counts_share : float, optional
        Share of epsilon for the class counts of the rules, from which the predictions follow, in (0, 1). The default is
        a quarter of what private thresholds leave. As published the split is the paper's.
    quantile_share, n_quantiles
        As for :class:`~.PrivateRuleListClassifier`.
    confidence : float, default=0.99
        The paper's C: how surely the support check of the smooth mechanisms as published holds; without effect on the
        other forms.
    ledger, dataset, records_per_person, person_weights, progress, random_state
        As for :class:`~.PrivateTreeClassifier`.

    Attributes
    ----------
    model_ : RuleList
        The published rule list. Released.
    certificate_ : Certificate
        Guarantee, events and assumptions. Public.
    domain_, classes_, n_features_in_, feature_names_in_
        As for :class:`~.PrivateTreeClassifier`.

    Notes
    -----
    Guarantee: with ``accounting="strict"``: ``(epsilon, delta)``-differential privacy for adding or removing one
    record, or with ``persons`` all records of one person, of everything that is kept; delta is 0 unless the mechanism
    needs one. With ``accounting="published"``: none. See ``private_lists.md`` and :attr:`certificate_`.

    Assumptions: As for :class:`~.PrivateTreeClassifier`.

    Edge cases: Without any rule the list is its default rule. A list has ``max_rules`` rules unless the pool, the noisy
    support or the absence of a better rule ends it sooner; "counted-gini" never stops early. In strict form a rule that
    by the domain's logic can take nothing or leave nothing is passed over.

    References
    ----------
    Ly, Ferry, Huguet, Gambs and Aivodji, *Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule
    Lists* (2024), Algorithms 1 to 3.

    Examples
    --------
    >>> import numpy as np
    >>> from glassine import Domain
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (2000, 4))
    >>> y = X[:, 0] & X[:, 1]
    >>> domain = Domain.binary(["a", "b", "c", "d"])
    >>> rules = PrivateGreedyRuleListClassifier(2, epsilon=1.0, domain=domain, classes=(0, 1), random_state=0)
    >>> rules.fit(X, y).score(X, y), rules.certificate_.epsilon
    (1.0, 1.0)
    """

    most_rules: ClassVar[int] = 100

    domain: Domain | None = None
    mechanism: str = "counted-gini"
    delta: float | None = None
    accounting: str = "strict"
    min_support: float = 0.05
    leaf_counts_share: float | None = None
    quantile_share: float = 0.2
    confidence: float = 0.99

    def _reads_at_once(self) -> bool:
        # The published forms follow from the number of records: what they claim is void.
        return self.accounting == "published"

    def _read_at_once(self, X: object, y: object, persons: CountedPersons | None) -> tuple[Any, Metadata]:
        # Parameters that contradict each other are refused before the records are read.
        self._budget(with_literals=False, unit=RECORD if persons is None else persons.unit)
        intake = self._read(X, y, persons, private=True)
        return intake, metadata_of(intake, target_name(y), self)

    def _plan(self, metadata: Metadata) -> Plan:
        self._budget(with_literals=False, unit=metadata.unit)
        pools = self._conditions(metadata.domain)
        plan = self._budget(with_literals=bool(pools.quantiled), unit=metadata.unit)
        caveats = metadata.caveats
        if plan.published:
            caveats = (*caveats, AS_PUBLISHED, *defects(plan, default_delta=self.delta is None))
        lost = whole_delta(plan, metadata.n_records or 0)
        said = ", as published: does not hold" if plan.published else ""
        return Plan(
            price=Price(
                epsilon=plan.epsilon,
                # The published default, 1 / n^2, would show n on the certificates of later fits, which count this one.
                delta=Fraction(0) if plan.delta is None else plan.delta,
                note=f"greedy rule list of up to {plan.length} rules, {plan.mechanism}{said}",
                unit=plan.unit,
            ),
            caveats=caveats,
            check=partial(self._check, metadata, pools, plan, lost, caveats),
            queries=() if plan.published else self._questions(metadata, pools, plan),
            learn=partial(self._learn_as_published, metadata, pools, plan)
            if plan.published
            else asking(partial(self._learn, metadata, pools, plan), plan.account, self.progress),
        )

    def _budget(self, *, with_literals: bool, unit: PrivacyUnit) -> GreedyPlan:
        self._check_parameters()
        parameters = {field.name: getattr(self, field.name) for field in fields(GreedyWish)}
        wish = GreedyWish(**parameters | {"max_rules": int(self.max_rules)})
        return GreedyPlan.of(wish, with_literals=with_literals, unit=unit)

    def _check(
        self, metadata: Metadata, pools: PoolPlan, plan: GreedyPlan, lost: float, caveats: tuple[str, ...]
    ) -> None:
        """Raise what a fit with the largest pool would raise, before anything is charged."""
        if plan.delta is None and self.ledger is not None:
            raise InvalidParameterError(
                f"{parameter('delta')} is needed with a ledger: the published default, 1 / n^2, would write the "
                "number of records "
                "into it.",
                remedy="Give delta, such as 1e-6.",
            )
        # Private quantiles can only merge, so that the pool is at most as large as with all of them.
        widest = pools.widest()
        pool = GreedyPool.of(metadata.domain, widest)
        most_satisfied(metadata.domain, widest)
        if plan.published:
            events = stated_events(plan, RuleGrant.of(plan, metadata.n_records or 0))
        else:
            question = self._question(metadata, plan, pool, candidates=len(widest) + 1)
            events = question.events(plan.account.part(plan.rules_share, plan.delta or Fraction(0)))
        Certificate(
            epsilon=float(plan.epsilon),
            delta=lost,
            events=of_groups(events, plan.unit.most_records),
            neighboring=relation_of(plan.unit),
            unit=plan.unit,
            caveats=caveats,
            public=self._public(metadata, pools, pool),
        )

    def _questions(self, metadata: Metadata, pools: PoolPlan, plan: GreedyPlan) -> tuple[Query[Any], ...]:
        """Return what a fit asks, with the largest pool."""
        widest = self._question(metadata, plan, GreedyPool.of(metadata.domain, pools.widest()))
        return *filter(None, [pools.query()]), widest

    def _question(
        self, metadata: Metadata, plan: GreedyPlan, pool: GreedyPool, candidates: int | None = None
    ) -> RuleChoices:
        return RuleChoices(
            mechanism=plan.mechanism,
            pool=pool,
            n_classes=len(metadata.classes),
            support=plan.support,
            records=plan.records,
            steps=plan.steps,
            counts=plan.counts,
            candidates=candidates,
        )

    def _learn(self, metadata: Metadata, pools: PoolPlan, plan: GreedyPlan, oracle: Oracle) -> dict[str, Any]:
        """Ask for thresholds, then for rules and their class counts in turn, each given the others."""
        thresholds = pools.query()
        cuts = {} if thresholds is None else oracle.ask(thresholds, plan.literals / plan.total)
        pool = GreedyPool.of(metadata.domain, pools.with_cuts(cuts))
        question = self._question(metadata, plan, pool)
        drawn, counts = oracle.ask(question, plan.rules_share, plan.delta or Fraction(0))
        grown = ListGrowth(drawn=drawn, counts=counts), question.scale, oracle.events
        return self._published(metadata, pools, plan, pool, grown, oracle.paid)

    def _learn_as_published(
        self, metadata: Metadata, pools: PoolPlan, plan: GreedyPlan, intake: Any, paid: Paid
    ) -> dict[str, Any]:
        """Release as the paper does, from the records themselves: nothing of it is guaranteed."""
        thresholds, cuts = pools.query(), dict[str, tuple[float, ...]]()
        events: tuple[Event, ...] = ()
        if thresholds is not None:
            part = plan.account.part(plan.literals / plan.total)
            events, cuts = thresholds.events(part), thresholds.draw(intake, part, paid.randomness, None)
        pool = GreedyPool.of(metadata.domain, pools.with_cuts(cuts))
        growth, scale, stated = grow_as_published(plan, pool, intake, paid.randomness, self.progress)
        return self._published(metadata, pools, plan, pool, (growth, scale, (*events, *stated)), paid)

    def _published(
        self,
        metadata: Metadata,
        pools: PoolPlan,
        plan: GreedyPlan,
        pool: GreedyPool,
        grown: tuple[ListGrowth, float, tuple[Event, ...]],
        paid: Paid,
    ) -> dict[str, Any]:
        """Return the fitted attributes of a grown list, with the scale of its noise and what it spent."""
        growth, scale, events = grown
        lost = whole_delta(plan, metadata.n_records or 0)
        claim = guarantee_of(plan.epsilon, lost, unit=plan.unit, count_scale=scale, caveats=paid.caveats)
        model = growth.model(pool, metadata, source=f"glassine.{type(self).__name__}", guarantee=claim)
        certificate = certificate_of(
            events,
            model,
            account=FitAccount(total=plan.epsilon, delta=Fraction(lost), unit=plan.unit),
            paid=paid,
            public=self._public(metadata, pools, pool),
            sealed=not plan.published,
        )
        return fitted(metadata, model, certificate)

    def memory_needed(self, n_records: int = 0) -> int:
        """Return the bytes of a fit: the class counts of all rules of the pool, and about what so many records take.

        With "counted-gini" also those of all pairs of rules, where it looks one rule ahead.

        Parameters
        ----------
        n_records : int, default=0
            Number of records, at least 0.
        """
        domain, n_classes = self._public_knowledge("memory")
        rules = self._conditions(domain).widest()
        n_rules = len(rules)
        ahead = self.mechanism == "counted-gini" and self.max_rules > 1 and n_rules <= LOOKAHEAD
        return count_bytes(n_rules, n_classes, ahead=ahead) + pool_bytes(n_records, domain, rules)

    def _public(self, metadata: Metadata, pools: PoolPlan, pool: GreedyPool) -> dict[str, Any]:
        return {
            "model class": f"{self.noun}s {self._size()} {self.made_of}",
            "mechanism": self.mechanism,
            "accounting": self.accounting,
            "minimum support": float(self.min_support),
            **pools.stated(),
            "different rules": len(pool.antecedents),
            "classes": list(metadata.classes),
            **metadata.weights,
        }
