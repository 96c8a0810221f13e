"""Private rule lists: one draw from all lists over a public pool by the exponential mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassine.counting.rule_logic import RuleLogic
from glassine.counting.slices import Progress
from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.learners.base import TransparentClassifier, fitted
from glassine.learners.budget import certify, check_number, claim, selection_event
from glassine.learners.exponential_plan import ExponentialPlan, Extent
from glassine.learners.gibbs import Weighting
from glassine.learners.intake import Intake, pack, take_in
from glassine.learners.leaf_counts import noisy_histogram
from glassine.learners.list_class import ListClass
from glassine.learners.literals import check_whole
from glassine.learners.persons import Persons
from glassine.learners.pools import PoolPlan
from glassine.learners.private_learner import PrivateLearner
from glassine.learners.publishing import list_model
from glassine.privacy.certificate import Certificate
from glassine.privacy.randomness import Randomness

__all__ = ["PrivateRuleListClassifier"]

PROOF = "learners/exponential_rule_list.md"

WAYS_OUT = "Lower max_rules, take a smaller pool, or raise the limits."


class PrivateRuleListClassifier(PrivateLearner[ExponentialPlan[PoolPlan]], TransparentClassifier):
    """A differentially private rule list, drawn exactly from all lists of at most K rules over a public pool.

    A list with e errors on the training records is drawn with probability proportional to
    ``rule_weight ** rules * exp(-epsilon * e)``. What a set of rules leaves does not depend on their order, so that the
    sum over all ordered lists runs over sets. A second release, the noisy class counts of the rules, gives the
    probabilities.

    Parameters
    ----------
    max_rules : int, default=5
        Largest number of rules besides the default rule, in [1, 12].
    epsilon : float, default=0.1
        Privacy budget of one fit, at least 1e-6.
    domain : Domain, optional
        What is publicly known about the attributes. A number's ``thresholds`` are its literals. It may declare the
        target, as a ``Category`` or ``Binary`` of the name of ``y``.
    pool : {"literals", "pairs"} or sequence of sequences of Literal, default="literals"
        The antecedents. "literals": each literal and its negation. "pairs": also all conjunctions of two of them on
        different attributes. A sequence is used as is.
    literals : {"auto", "thresholds", "quantiles"} or sequence of Literal, default="auto"
        The literals of the pool, as for :class:`~glassine.PrivateTreeClassifier`.
    classes : sequence of scalars, optional
        The public classes, where the domain does not declare the target.
    leaf_counts_share : float, default=0.05
        Share of epsilon for the class counts of the rules, in [0, 1); 0 publishes none.
    quantile_share, n_quantiles
        As for :class:`~glassine.PrivateTreeClassifier`.
    rule_weight : float, default=1.0
        Prior weight of each rule: with 1 all lists are alike, below 1 shorter lists are preferred.
    ledger, dataset, records_per_person, person_weights, memory_limit, time_limit, progress, random_state
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
    Guarantee: ``epsilon``-differential privacy (pure) for adding or removing one record, or with ``persons`` all
    records of one person, of everything that is kept: rules, order, consequents, counts. See
    ``exponential_rule_list.md``, ``leaf_counts.md`` and :attr:`certificate_`.

    Assumptions: As for :class:`~glassine.PrivateTreeClassifier`.

    Edge cases: Without any literal the list is its default rule. A rule that by the domain's logic can take nothing
    after the earlier ones, or leaves nothing, is left out; for antecedents of several literals only one earlier
    rule at a time is considered.

    References
    ----------
    The model class is that of Ly, Ferry, Huguet, Gambs and Aivodji, *Smooth Sensitivity for Learning
    Differentially-Private yet Accurate Rule Lists* (2024), section II-A; the mechanism is McSherry and Talwar's (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from glassine import Domain
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (2000, 4))
    >>> y = X[:, 0] & X[:, 1]
    >>> domain = Domain.binary(["a", "b", "c", "d"])
    >>> rules = PrivateRuleListClassifier(2, epsilon=1.0, domain=domain, classes=(0, 1), random_state=0)
    >>> rules.fit(X, y).score(X, y), rules.certificate_.epsilon
    (1.0, 1.0)
    """

    model_: Any
    certificate_: Certificate

    def __init__(
        self,
        max_rules: int = 5,
        epsilon: float = 0.1,
        domain: Domain | None = None,
        *,
        pool: str | Sequence[Sequence[Literal]] = "literals",
        literals: str | Sequence[Literal] = "auto",
        classes: Sequence[Scalar] | None = None,
        leaf_counts_share: float = 0.05,
        quantile_share: float = 0.2,
        n_quantiles: int = 7,
        rule_weight: float = 1.0,
        ledger: Any = None,
        dataset: str | None = None,
        records_per_person: int | None = None,
        person_weights: str = "equal",
        memory_limit: float = 4e9,
        time_limit: float = 600.0,
        progress: Progress | None = None,
        random_state: Any = None,
    ) -> None:
        self.max_rules = max_rules
        self.epsilon = epsilon
        self.domain = domain
        self.pool = pool
        self.literals = literals
        self.classes = classes
        self.leaf_counts_share = leaf_counts_share
        self.quantile_share = quantile_share
        self.n_quantiles = n_quantiles
        self.rule_weight = rule_weight
        self.ledger = ledger
        self.dataset = dataset
        self.records_per_person = records_per_person
        self.person_weights = person_weights
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.progress = progress
        self.random_state = random_state

    def _prepare(self, X: Any, y: Any, persons: Persons | None = None) -> ExponentialPlan[PoolPlan]:
        length = check_whole(self.max_rules, "max_rules", 1, 12)
        rule_weight = check_number(self.rule_weight, "rule_weight", low=1e-6, high=1e6)
        intake = take_in(self, X, y, domain=self.domain, classes=self.classes, persons=persons, private=True)
        plan = PoolPlan.of(intake.domain, self.pool, self.literals, self.n_quantiles)
        # Private quantiles can only merge, so that the class is at most as large as with all of them.
        widest = self._widest(intake.domain, len(intake.classes))
        n_rules = len(widest.logic.antecedents)
        extent = Extent(
            members=widest,
            levels=2 * length + 2,
            fan_out=1,
            n_terms=n_rules + len(intake.classes),
            what=f"rule lists of up to {length} of {n_rules} rules",
            ways_out=WAYS_OUT,
        )
        note = f"private rule list of up to {length} rules"
        return ExponentialPlan.of(self, intake, plan, extent, prior=rule_weight, note=note)

    def _rehearse(self, prepared: ExponentialPlan[PoolPlan], caveats: tuple[str, ...]) -> None:
        claim(prepared.budget, caveats)

    def _draw(
        self, prepared: ExponentialPlan[PoolPlan], caveats: tuple[str, ...], randomness: Randomness
    ) -> dict[str, Any]:
        intake, plan, budget = prepared.intake, prepared.source, prepared.budget
        literals, events = plan.literals.release(intake, budget.per_record(budget.literals), randomness)
        lists = self._class(intake.domain, plan, literals, len(intake.classes))
        weighting = Weighting.private(budget.per_record(prepared.epsilon), prepared.prior, intake.n_records)
        sums = lists.sums(pack(intake, lists.logic.antecedents), weighting, self.progress)
        drawn = sums.draw(randomness)
        name = "rules, order and consequents of the list"
        events.append(selection_event(name, weighting.exact_epsilon, prepared.slack, budget, PROOF))
        counts = None
        if budget.counts:
            counts, event = noisy_histogram(
                sums.class_counts(drawn), budget.per_record(budget.counts), budget.per_record(budget.total), randomness
            )
            events.append(event)
        model = list_model(
            drawn,
            lists.logic.antecedents,
            counts=counts,
            attributes=intake.domain.names,
            classes=intake.classes,
            source="glassine.PrivateRuleListClassifier",
            guarantee=claim(budget, caveats),
        )
        public = self._public(intake, plan, len(lists.logic.antecedents))
        return fitted(intake, model, certify(budget, events, model, caveats=caveats, public=public))

    def _class(self, domain: Domain, plan: PoolPlan, literals: Sequence[Literal], n_classes: int) -> ListClass:
        logic = RuleLogic.of(domain, plan.pool(literals))
        return ListClass(logic=logic, length=int(self.max_rules), n_classes=n_classes)

    def _widest(self, domain: Domain, n_classes: int) -> ListClass:
        plan = PoolPlan.of(domain, self.pool, self.literals, self.n_quantiles)
        return self._class(domain, plan, plan.literals.widest(), n_classes)

    def _public(self, intake: Intake, plan: PoolPlan, n_distinct: int) -> dict[str, Any]:
        return {
            "model class": f"all rule lists of up to {self.max_rules} rules of the pool",
            "pool": plan.text(),
            "literals": plan.literals.text(),
            "different rules": n_distinct,
            "prior weight of a rule": float(self.rule_weight),
            "classes": list(intake.classes),
            **intake.weights,
        }
