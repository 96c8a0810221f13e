"""Private decision trees: one draw from all trees of a depth by the exponential mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glassine.counting.logic import LiteralLogic, RuleLogic
from glassine.data.slices import Progress
from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.learners.antecedents import LiteralPlan, PoolPlan, check_whole
from glassine.learners.base import TransparentClassifier, fitted
from glassine.learners.budget import certify, check_number, claim, selection_event
from glassine.learners.exhaustive.gibbs import Weighting
from glassine.learners.exhaustive.lists import ListClass
from glassine.learners.exhaustive.plan import ExponentialPlan, Extent
from glassine.learners.exhaustive.trees import TreeClass
from glassine.learners.intake import Intake, pack, take_in
from glassine.learners.persons import Persons
from glassine.learners.private_learner import PrivateLearner
from glassine.learners.publishing import leaf_nodes, list_model, noisy_histogram, tree_model
from glassine.privacy.certificate import Certificate
from glassine.privacy.randomness import Randomness

__all__ = ["PrivateRuleListClassifier", "PrivateTreeClassifier"]

# Private rule lists: one draw from all lists over a public pool by the exponential mechanism.


LIST_PROOF = "learners/exhaustive/private.md"

LIST_WAYS_OUT = "Lower max_rules, take a smaller pool, or raise the limits."


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
            ways_out=LIST_WAYS_OUT,
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
        events.append(selection_event(name, weighting.exact_epsilon, prepared.slack, budget, LIST_PROOF))
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


PROOF = "learners/exhaustive/private.md"

WAYS_OUT = "Lower max_depth, declare fewer thresholds or literals, or raise the limits."


class PrivateTreeClassifier(PrivateLearner[ExponentialPlan[LiteralPlan]], TransparentClassifier):
    """A differentially private decision tree, drawn exactly from all trees of a depth over public literals.

    A tree with e errors on the training records is drawn with probability proportional to
    ``split_weight ** splits * exp(-epsilon * e)``. The loss against the best tree is about the logarithm of the number
    of trees over epsilon, in records, so that with tens of thousands of records the tree is as accurate as an ordinary
    one at epsilon 0.1. A second release, the noisy class counts of the leaves, gives the probabilities.

    Parameters
    ----------
    max_depth : int, default=3
        Largest number of splits on a path, in [1, 8].
    epsilon : float, default=0.1
        Privacy budget of one fit, at least 1e-6.
    domain : Domain, optional
        What is publicly known about the attributes. A number's ``thresholds`` are its literals. It may declare the
        target, as a ``Category`` or ``Binary`` of the name of ``y``.
    literals : {"auto", "thresholds", "quantiles"} or sequence of Literal, default="auto"
        The conditions of splits. "thresholds": those that the domain declares. "quantiles": private quantiles for all
        numbers. "auto": declared thresholds, and private quantiles for numbers that have none. A sequence is used as
        it is.
    classes : sequence of scalars, optional
        The public classes, where the domain does not declare the target.
    leaf_counts_share : float, default=0.05
        Share of epsilon for the class counts of the leaves, in [0, 1); 0 publishes none, and ``predict_proba`` then
        knows only the labels.
    quantile_share : float, default=0.2
        Share of epsilon for private quantiles, spent only if there are any.
    n_quantiles : int, default=7
        Private quantiles for each number.
    split_weight : float, default=1.0
        Prior weight of each split: with 1 all trees are alike, below 1 smaller trees are preferred.
    ledger : Ledger or path, optional
        The budget book; the fit is charged to ``dataset`` before anything is drawn.
    dataset : str, optional
        Name of the data set, in the ledger or, without one, among the fits of this process: the second fit on one
        name warns, and its certificate and those of later ones do not hold.
    records_per_person : int, optional
        The most records of one person that count, in [1, 1,000,000]; then ``fit`` takes ``persons``, and epsilon
        covers all records of one person. It must not be chosen by looking at the records.
    person_weights : {"equal", "records"}, default="equal"
        With persons: "equal" repeats the records of a person until there are ``records_per_person``, so that each
        person counts as much as any other; "records" counts each kept record once.
    memory_limit : float, default=4e9
        Most bytes of the tables.
    time_limit : float, default=600
        Most seconds, by an estimate for one core; a larger class is refused.
    progress : callable, optional
        Called with the work done and in all.
    random_state : int, Generator or None, default=None
        None draws from the operating system's entropy. Anything else makes the fit repeatable, and not private.

    Attributes
    ----------
    model_ : DecisionTree
        The published tree. Released.
    certificate_ : Certificate
        Guarantee, events and assumptions. Public.
    domain_ : Domain
        Domain of the attributes. Public, unless inferred.
    classes_ : ndarray of shape (c,)
        Classes. Public, unless taken from the data.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Guarantee: ``epsilon``-differential privacy (pure) for adding or removing one record, or with ``persons`` all
    records of one person, of everything that is kept: the structure, the labels, the counts. See
    ``exponential_tree.md``, ``leaf_counts.md`` and :attr:`certificate_`.

    Assumptions: ``domain``, ``classes`` and all other parameters are public. What is taken from the data instead,
    with a ``PrivacyLeakWarning``, is a caveat of the certificate, as is a ``random_state``. Running time is not
    observed.

    Edge cases: Without any literal the tree is one leaf. Each further fit spends again. ``sample_weight`` is
    refused: a weight changes what one record can do.

    References
    ----------
    McSherry and Talwar, *Mechanism Design via Differential Privacy* (2007), for the mechanism.

    Examples
    --------
    >>> import numpy as np
    >>> from glassine import Domain
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (2000, 4))
    >>> y = X[:, 0] & X[:, 1]
    >>> domain = Domain.binary(["a", "b", "c", "d"])
    >>> tree = PrivateTreeClassifier(2, epsilon=1.0, domain=domain, classes=(0, 1), random_state=0)
    >>> tree.fit(X, y).score(X, y), tree.certificate_.epsilon
    (1.0, 1.0)
    """

    model_: Any
    certificate_: Certificate

    def __init__(
        self,
        max_depth: int = 3,
        epsilon: float = 0.1,
        domain: Domain | None = None,
        *,
        literals: str | Sequence[Literal] = "auto",
        classes: Sequence[Scalar] | None = None,
        leaf_counts_share: float = 0.05,
        quantile_share: float = 0.2,
        n_quantiles: int = 7,
        split_weight: float = 1.0,
        ledger: Any = None,
        dataset: str | None = None,
        records_per_person: int | None = None,
        person_weights: str = "equal",
        memory_limit: float = 4e9,
        time_limit: float = 600.0,
        progress: Progress | None = None,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.epsilon = epsilon
        self.domain = domain
        self.literals = literals
        self.classes = classes
        self.leaf_counts_share = leaf_counts_share
        self.quantile_share = quantile_share
        self.n_quantiles = n_quantiles
        self.split_weight = split_weight
        self.ledger = ledger
        self.dataset = dataset
        self.records_per_person = records_per_person
        self.person_weights = person_weights
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.progress = progress
        self.random_state = random_state

    def _prepare(self, X: Any, y: Any, persons: Persons | None = None) -> ExponentialPlan[LiteralPlan]:
        depth = check_whole(self.max_depth, "max_depth", 1, 8)
        split_weight = check_number(self.split_weight, "split_weight", low=1e-6, high=1e6)
        intake = take_in(self, X, y, domain=self.domain, classes=self.classes, persons=persons, private=True)
        plan = LiteralPlan.of(intake.domain, self.literals, self.n_quantiles)
        # Private quantiles can only merge, so that the class is at most as large as with all of them.
        widest = self._widest(intake.domain, len(intake.classes))
        n_literals = len(widest.logic.literals)
        extent = Extent(
            members=widest,
            levels=depth + 1,
            fan_out=2,
            n_terms=n_literals + len(intake.classes),
            what=f"trees of depth {depth} over {n_literals} literals",
            ways_out=WAYS_OUT,
        )
        note = f"private tree of depth {depth}"
        return ExponentialPlan.of(self, intake, plan, extent, prior=split_weight, note=note)

    def _rehearse(self, prepared: ExponentialPlan[LiteralPlan], caveats: tuple[str, ...]) -> None:
        claim(prepared.budget, caveats)

    def _draw(
        self, prepared: ExponentialPlan[LiteralPlan], caveats: tuple[str, ...], randomness: Randomness
    ) -> dict[str, Any]:
        intake, plan, budget = prepared.intake, prepared.source, prepared.budget
        literals, events = plan.release(intake, budget.per_record(budget.literals), randomness)
        trees = self._class(intake.domain, literals, len(intake.classes))
        weighting = Weighting.private(budget.per_record(prepared.epsilon), prepared.prior, intake.n_records)
        sums = trees.sums(pack(intake, [(literal,) for literal in trees.logic.literals]), weighting, self.progress)
        tree = sums.draw(randomness)
        name = "structure and labels of the tree"
        events.append(selection_event(name, weighting.exact_epsilon, prepared.slack, budget, PROOF))
        counts = None
        if budget.counts:
            exact = np.array([sums.class_counts(*leaf) for leaf in leaf_nodes(tree)])
            counts, event = noisy_histogram(
                exact, budget.per_record(budget.counts), budget.per_record(budget.total), randomness
            )
            events.append(event)
        model = tree_model(
            tree,
            trees.logic.literals,
            counts=counts,
            domain=intake.domain,
            classes=intake.classes,
            source="glassine.PrivateTreeClassifier",
            guarantee=claim(budget, caveats),
        )
        public = self._public(intake, plan, len(trees.logic.literals))
        return fitted(intake, model, certify(budget, events, model, caveats=caveats, public=public))

    def _class(self, domain: Domain, literals: Sequence[Literal], n_classes: int) -> TreeClass:
        logic = LiteralLogic.of(domain, literals, up_to_negation=True)
        return TreeClass(logic=logic, depth=int(self.max_depth), n_classes=n_classes)

    def _widest(self, domain: Domain, n_classes: int) -> TreeClass:
        plan = LiteralPlan.of(domain, self.literals, self.n_quantiles)
        return self._class(domain, plan.widest(), n_classes)

    def _public(self, intake: Intake, plan: LiteralPlan, n_distinct: int) -> dict[str, Any]:
        return {
            "model class": f"all trees of depth {self.max_depth} over the literals",
            "literals": plan.text(),
            "different splits": n_distinct,
            "prior weight of a split": float(self.split_weight),
            "classes": list(intake.classes),
            **intake.weights,
        }
