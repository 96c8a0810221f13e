"""Greedy rule lists: GreedyRL of Ly et al. (2024), its private forms as published and in strict form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from glassine.counting.logic import RuleLogic
from glassine.data.slices import Progress
from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidParameterError
from glassine.learners.antecedents import PoolPlan, check_whole
from glassine.learners.base import TransparentClassifier, fitted
from glassine.learners.budget import certificate_of, guarantee_of, relation_of
from glassine.learners.exhaustive.lists import ListClass
from glassine.learners.greedy.growth import GreedyPool, Growth, Remaining, grow
from glassine.learners.greedy.plan import GreedyPlan
from glassine.learners.greedy.published import (
    AS_PUBLISHED,
    Node,
    defects,
    grow_as_published,
    stated_events,
    whole_delta,
)
from glassine.learners.greedy.satisfied import most_satisfied
from glassine.learners.greedy.strict import LOOKAHEAD, grow_strictly, rehearse
from glassine.learners.intake import Intake, take_in
from glassine.learners.persons import Persons
from glassine.learners.private_learner import PrivateLearner
from glassine.learners.publishing import list_model
from glassine.models import Guarantee
from glassine.privacy.accounting import Event
from glassine.privacy.certificate import Certificate
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import Price
from glassine.privacy.unit import RECORD, PrivacyUnit, of_groups

__all__ = ["GreedyRuleListClassifier"]

PAIR_TABLES, PAIR_SUMS = 3, 8
"""Tables over all pairs of rules that looking ahead holds at a time, with the classes apart and summed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """A fit that is planned whole; ``lost`` is its delta."""

    intake: Intake
    pools: PoolPlan
    plan: GreedyPlan
    lost: float
    caveats: tuple[str, ...]

    @property
    def price(self) -> Price | None:
        """What the fit costs."""
        if self.plan.mechanism is None:
            return None
        said = ", as published: does not hold" if self.plan.published else ""
        note = f"greedy rule list of up to {self.plan.length} rules, {self.plan.mechanism}{said}"
        delta = Fraction(self.lost) if self.plan.delta is None else self.plan.delta
        if self.plan.published and self.plan.needs_delta and self.plan.delta is None:
            # The published default, 1 / n^2, would tell n on the certificates of later fits, which count this one.
            delta = Fraction(0)
        return Price(epsilon=self.plan.epsilon, delta=delta, note=note, unit=self.plan.unit)

    def claim(self, growth: Growth, caveats: tuple[str, ...]) -> Guarantee:
        """Return what the published list states of its guarantee."""
        return guarantee_of(
            self.plan.epsilon, self.lost, unit=self.plan.unit, count_scale=growth.scale, caveats=caveats
        )


class GreedyRuleListClassifier(PrivateLearner[_Prepared], TransparentClassifier):
    """A rule list grown rule by rule by the Gini impurity, without privacy or by one of seven private mechanisms.

    At each step the rule is chosen that makes the weighted Gini impurity of what it captures and what it leaves least.
    ``mechanism=None`` is GreedyRL. The mechanisms choose with noise. With ``accounting="strict"`` their guarantees
    hold; with ``accounting="published"`` they are those of the paper, for comparison with its tables.

    Parameters
    ----------
    max_rules : int, default=5
        Largest number of rules besides the default rule, in [1, 100].
    min_support : float, default=0.05
        Least share of the records, in [0, 0.5]. Without privacy a rule must capture as many, and as many must remain
        before it. The smooth mechanisms as published, and strict smooth-laplace, end the list when a noisy number of
        the remaining records falls below it; the other mechanisms do not use it.
    mechanism : {None, "smooth-laplace", "smooth-cauchy", "global-laplace", "global-gaussian", "global-exponential", \
"noisy-counts", "counted-gini"}, default=None
        How a rule is chosen. "counted-gini" is this package's own, and the one to use.
    epsilon : float, optional
        Privacy budget of one fit, at least 1e-6; needed with a mechanism.
    delta : float, optional
        Needed by "smooth-laplace" and "global-gaussian", refused by the others. As published its default is 1 / n^2,
        and with a ledger it is needed too, since that default would tell n.
    accounting : {"strict", "published"}, default="strict"
        Whether the guarantee holds, or is the paper's. "published" needs a mechanism.
    random_state : None, int, numpy Generator or RandomState
        None for a private release.
    pool : {"literals", "pairs"} or sequence of sequences of Literal, default="literals"
        The antecedents, as for :class:`~glassine.PrivateRuleListClassifier`. Those that the domain makes always true,
        always false or equal to an earlier one are left out.
    domain : Domain, optional
        What is publicly known about the attributes; inferred from the data by default, which voids a guarantee.
    literals, classes, n_quantiles, quantile_share
        As for :class:`~glassine.PrivateRuleListClassifier`. Without privacy, quantiles are those of the data.
    leaf_counts_share : float, optional
        Share of epsilon for the class counts of the rules, from which the predictions follow, in (0, 1). The default is
        a quarter of what private thresholds leave. As published the split is the paper's.
    confidence : float, default=0.99
        The paper's C: how surely the support check of the smooth mechanisms as published holds; without effect on the
        other forms.
    ledger, dataset, records_per_person, person_weights, progress
        As for :class:`~glassine.PrivateTreeClassifier`.

    Attributes
    ----------
    model_ : RuleList
        The published rule list. Released.
    certificate_ : Certificate
        Guarantee, events and assumptions. Public.
    domain_, classes_, n_features_in_, feature_names_in_
        As for :class:`~glassine.PrivateTreeClassifier`.

    Notes
    -----
    Guarantee: with a mechanism and ``accounting="strict"``: ``(epsilon, delta)``-differential privacy for adding or
    removing one record, or with ``persons`` all records of one person, of everything that is kept; delta is 0
    unless the mechanism needs one. With ``accounting="published"`` or ``mechanism=None``: none. See
    ``greedy_rule_list.md`` and :attr:`certificate_`.

    Assumptions: As for :class:`~glassine.PrivateTreeClassifier`.

    Edge cases: Without any rule the list is its default rule. Private lists have ``max_rules`` rules unless the pool,
    the noisy support or the absence of a better rule ends them sooner; "counted-gini" never stops early. In strict
    form, and without privacy, a rule that by the domain's logic can take nothing or leave nothing is passed over.

    scikit-learn's estimator checks pass but for one with default arguments, ``check_classifiers_train``: it rounds two
    numbers to a few whole ones, on which rules of one literal, chosen one at a time, end at an accuracy of 0.77 for
    three classes where 0.83 is asked for. With ``pool="pairs"`` it passes.

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
    >>> rules = GreedyRuleListClassifier(
    ...     2, mechanism="counted-gini", epsilon=1.0, domain=domain, classes=(0, 1), random_state=0
    ... )
    >>> rules.fit(X, y).score(X, y), rules.certificate_.epsilon
    (1.0, 1.0)
    """

    model_: Any
    certificate_: Certificate

    def __init__(
        self,
        max_rules: int = 5,
        min_support: float = 0.05,
        mechanism: str | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        accounting: str = "strict",
        random_state: Any = None,
        *,
        pool: str | Sequence[Sequence[Literal]] = "literals",
        domain: Domain | None = None,
        literals: str | Sequence[Literal] = "auto",
        classes: Sequence[Scalar] | None = None,
        leaf_counts_share: float | None = None,
        quantile_share: float = 0.2,
        n_quantiles: int = 7,
        confidence: float = 0.99,
        ledger: Any = None,
        dataset: str | None = None,
        records_per_person: int | None = None,
        person_weights: str = "equal",
        progress: Progress | None = None,
    ) -> None:
        self.max_rules = max_rules
        self.min_support = min_support
        self.mechanism = mechanism
        self.epsilon = epsilon
        self.delta = delta
        self.accounting = accounting
        self.random_state = random_state
        self.pool = pool
        self.domain = domain
        self.literals = literals
        self.classes = classes
        self.leaf_counts_share = leaf_counts_share
        self.quantile_share = quantile_share
        self.n_quantiles = n_quantiles
        self.confidence = confidence
        self.ledger = ledger
        self.dataset = dataset
        self.records_per_person = records_per_person
        self.person_weights = person_weights
        self.progress = progress

    def _prepare(self, X: Any, y: Any, persons: Persons | None = None) -> _Prepared:
        unit = RECORD if persons is None else persons.unit
        self._plan(with_literals=False, unit=unit)
        private = self.mechanism is not None
        intake = take_in(self, X, y, domain=self.domain, classes=self.classes, persons=persons, private=private)
        pools = PoolPlan.of(intake.domain, self.pool, self.literals, self.n_quantiles)
        plan = self._plan(with_literals=bool(pools.literals.quantiled), unit=unit)
        published = (AS_PUBLISHED, *defects(plan, default_delta=self.delta is None)) if plan.published else ()
        return _Prepared(
            intake=intake,
            pools=pools,
            plan=plan,
            lost=whole_delta(plan, intake.n_records),
            caveats=(*intake.caveats, *published),
        )

    def _draw(self, prepared: _Prepared, caveats: tuple[str, ...], randomness: Randomness) -> dict[str, Any]:
        plan, pools, intake = prepared.plan, prepared.pools, prepared.intake
        literals, events = self._literals(plan, pools, intake, randomness)
        pool = GreedyPool.of(intake.domain, pools.pool(literals))
        remaining = Remaining.of(intake, pool.antecedents)
        growth = self._grow(plan, pool, remaining, randomness)
        model = list_model(
            growth.drawn,
            pool.antecedents,
            counts=growth.counts,
            attributes=intake.domain.names,
            classes=intake.classes,
            source="glassine.GreedyRuleListClassifier",
            guarantee=None if plan.mechanism is None else prepared.claim(growth, caveats),
        )
        if plan.mechanism is None:
            return fitted(intake, model, Certificate.none("exact counts of the records"))
        certificate = certificate_of(
            [*events, *growth.events],
            model,
            epsilon=plan.epsilon,
            delta=prepared.lost,
            unit=plan.unit,
            caveats=caveats,
            public=self._public(intake, pools, pool),
        )
        return fitted(intake, model, certificate)

    def memory_needed(self) -> int:
        """Return the bytes of a fit's tables besides the records: the class counts of all rules of the pool.

        With "counted-gini" also those of all pairs of rules, where it looks one rule ahead. The bit sets of the
        distinct literals come to an eighth of a byte for each record and literal.
        """
        domain, classes = getattr(self, "domain_", self.domain), getattr(self, "classes_", self.classes)
        if not isinstance(domain, Domain) or classes is None:
            return int(self._public_class("memory").table_bytes())
        pools = PoolPlan.of(domain, self.pool, self.literals, self.n_quantiles)
        n_rules, n_classes = len(pools.pool(pools.literals.widest())), len(classes)
        ahead = self.mechanism == "counted-gini" and self.max_rules > 1 and n_rules <= LOOKAHEAD
        return 8 * ((n_classes + 2) * n_rules + (PAIR_TABLES * n_classes + PAIR_SUMS) * n_rules**2 * ahead)

    def _plan(self, *, with_literals: bool, unit: PrivacyUnit) -> GreedyPlan:
        return GreedyPlan.of(
            mechanism=self.mechanism,
            accounting=self.accounting,
            epsilon=self.epsilon,
            delta=self.delta,
            length=check_whole(self.max_rules, "max_rules", 1, 100),
            min_support=self.min_support,
            confidence=self.confidence,
            counts_share=self.leaf_counts_share,
            literals_share=self.quantile_share,
            with_literals=with_literals,
            unit=unit,
        )

    def _rehearse(self, prepared: _Prepared, caveats: tuple[str, ...]) -> None:
        """Raise what a fit with the largest pool would raise, before anything is charged."""
        plan, pools, intake = prepared.plan, prepared.pools, prepared.intake
        if plan.mechanism is None:
            self._refuse_ledger()
            return
        if plan.published and plan.needs_delta and self.delta is None and self.ledger is not None:
            raise InvalidParameterError(
                "delta is needed with a ledger: the published default, 1 / n^2, would write the number of records "
                "into it. Give delta, such as 1e-6."
            )
        # Private quantiles can only merge, so that the pool is at most as large as with all of them.
        widest = pools.pool(pools.literals.widest())
        pool = GreedyPool.of(intake.domain, widest)
        most_satisfied(intake.domain, widest)
        if plan.published:
            events = stated_events(plan, Node.of(plan, intake.n_records))
        else:
            events = rehearse(plan, pool, Remaining.of(intake, ()), len(widest) + 1)
        Certificate(
            epsilon=float(plan.epsilon),
            delta=prepared.lost,
            events=of_groups(events, plan.unit.most_records),
            neighboring=relation_of(plan.unit),
            unit=plan.unit,
            caveats=caveats,
            public=self._public(intake, pools, pool),
        )

    def _refuse_ledger(self) -> None:
        if self.ledger is not None or self.dataset is not None:
            raise InvalidParameterError(
                "ledger and dataset have no effect without a mechanism: nothing is spent where nothing is private. "
                "Leave them out, or name a mechanism."
            )

    def _literals(
        self, plan: GreedyPlan, pools: PoolPlan, intake: Intake, randomness: Randomness
    ) -> tuple[list[Literal], list[Event]]:
        if plan.mechanism is None:
            return pools.literals.from_data(intake), []
        return pools.literals.release(intake, plan.literals, randomness)

    def _grow(self, plan: GreedyPlan, pool: GreedyPool, remaining: Remaining, randomness: Randomness) -> Growth:
        if plan.mechanism is None:
            return grow(pool, remaining, plan.length, plan.support, self.progress)
        how = grow_as_published if plan.published else grow_strictly
        return how(plan, pool, remaining, randomness, self.progress)

    def _public(self, intake: Intake, pools: PoolPlan, pool: GreedyPool) -> dict[str, Any]:
        return {
            "model class": f"rule lists of up to {self.max_rules} rules of the pool",
            "mechanism": self.mechanism,
            "accounting": self.accounting,
            "minimum support": float(self.min_support),
            "pool": pools.text(),
            "literals": pools.literals.text(),
            "different rules": len(pool.antecedents),
            "classes": list(intake.classes),
            **intake.weights,
        }

    def _widest(self, domain: Domain, n_classes: int) -> ListClass:
        pools = PoolPlan.of(domain, self.pool, self.literals, self.n_quantiles)
        logic = RuleLogic.of(domain, pools.pool(pools.literals.widest()))
        return ListClass(logic=logic, length=int(self.max_rules), n_classes=n_classes)
