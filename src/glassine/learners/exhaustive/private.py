"""Private trees and rule lists: one draw from all models of a class by the exponential mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

from glassine.domain import Domain
from glassine.learners.budget import FitBudget, certify, check_number, claim, refuse_small_rate
from glassine.learners.estimator import PrivateEstimator, fitted
from glassine.learners.exhaustive.families import Conditions, Drawn, Lists, Numbers, RankedClasses, Tabulated, Trees
from glassine.learners.intake import metadata_of
from glassine.privacy.certificate import LOSS_BOUND
from glassine.privacy.release import Price
from glassine.records.alignment import target_name
from glassine.records.arrays import Array
from glassine.sealed.losses import UNITS, base_rates
from glassine.sealed.model_class import ModelClass
from glassine.sealed.oracle import Oracle, asking
from glassine.sealed.persons import CountedPersons
from glassine.sealed.plan import Metadata, Plan
from glassine.sealed.queries import Cells, Counts, Gibbs, Label
from glassine.sealed.weighting import powers_bytes


@dataclass(kw_only=True, eq=False, repr=False)
class _Exponential(PrivateEstimator, Tabulated):
    """A model drawn from all of a class with probability proportional to prior * exp(-epsilon cost)."""

    part: ClassVar[str]
    """The parameter that holds the prior weight of each split or rule."""

    drawn: ClassVar[str]
    """What is drawn, for the event."""

    values_drawn: ClassVar[tuple[str, str]]
    """What is drawn of leaves or rules, as labels alone and as probabilities."""

    domain: Domain | None = None
    leaf_counts_share: float | None = None
    quantile_share: float = 0.2

    def _rate_share(self) -> float:
        """Return the share of epsilon for base rates, where there are any."""
        return 0.0

    def _public(self, conditions: Conditions, n_distinct: int) -> dict[str, Any]:
        """Return what the certificate names as public, of so many different conditions."""
        part = self.part.removesuffix("_weight")
        return {
            "model class": f"all {self.noun}s {self._size()} {self.made_of}",
            **conditions.stated(),
            f"different {part}s": n_distinct,
            f"prior weight of a {part}": float(getattr(self, self.part)),
        }

    def _read_at_once(self, X: object, y: object, persons: CountedPersons | None) -> tuple[Any, Metadata]:
        intake = self._read(X, y, persons, private=True)
        return intake, metadata_of(intake, target_name(y), self)

    def _plan(self, metadata: Metadata) -> Plan:
        self._check_parameters()
        # Beyond a millionfold either way the draw is from the smallest or from the largest models alone.
        prior = check_number(getattr(self, self.part), self.part, low=1e-6, high=1e6)
        conditions = self._conditions(metadata.domain)
        ranks = self._ranks(len(metadata.classes))
        rate_share = self._rate_share()
        budget = FitBudget.split(
            self.epsilon,
            literals_share=self.quantile_share,
            counts_share=self.counts_share[ranks] if self.leaf_counts_share is None else self.leaf_counts_share,
            with_literals=bool(conditions.quantiled),
            base_rate_share=rate_share if ranks else 0.0,
            unit=metadata.unit,
        )
        # Private quantiles can only merge, so that the class is at most as large as with all of them.
        widest = self._widest(metadata.domain, len(metadata.classes), prior)
        # What rounding may add to the draw is taken off epsilon beforehand, for the largest class that may come.
        slack = widest.rounding()
        # The values of a loss that ranks lie about base rates, but what they cost is a public scale.
        unit = UNITS if ranks else widest.loss.unit
        refuse_small_rate(budget, slack, widest.loss.parts * unit)
        self._refuse_too_large(
            widest,
            metadata,
            more_bytes=powers_bytes(budget.per_record(budget.total) / widest.loss.parts, unit),
            part_weight=prior,
        )
        question = conditions.query()
        largest = Gibbs(members=widest, prior=prior, slack=slack, name=self.drawn)
        return Plan(
            price=Price(epsilon=budget.total, note=f"private {self.noun} {self._size()}", unit=budget.unit),
            caveats=metadata.caveats,
            check=partial(claim, budget, metadata.caveats),
            queries=(*([] if question is None else [question]), largest),
            learn=asking(
                partial(self._learn, metadata, conditions, budget, widest, prior), budget.account, self.progress
            ),
        )

    def _learn(
        self,
        metadata: Metadata,
        conditions: Conditions,
        budget: FitBudget,
        widest: ModelClass[Any],
        prior: float,
        oracle: Oracle,
    ) -> dict[str, Any]:
        """Ask for thresholds, base rates, the model, and its class counts: each is asked given those before it."""
        # The order is public, and each release is paid for by itself.
        quantiles = conditions.query()
        cuts = {} if quantiles is None else oracle.ask(quantiles, budget.literals / budget.total)
        members = self._members(metadata.domain, conditions.with_cuts(cuts), widest.loss)
        rates = None
        if budget.base_rate:
            rates = self._base_rates(oracle, budget)
            members = members.with_loss(self._loss(rates.shares, rates.strength, widest))
        loss = members.loss
        # A record is so many parts, which a neighbor has more together: each part is drawn at its share of epsilon.
        name = self.drawn.format(self.values_drawn[not loss.counts_errors])
        draw = Gibbs(members=members, prior=prior, slack=widest.rounding(), name=name)
        share = budget.model / budget.total
        spent = draw.spent(oracle.part(share))
        drawn = oracle.ask(draw, share)
        counts = None
        if budget.counts:
            # One record is in one leaf or rule: the histogram has its parts as sensitivity, whatever model was drawn.
            counts = oracle.ask(Counts(key=Cells(members, drawn)), budget.counts / budget.total)
        shares = None if rates is None else rates.shares
        epsilons = float(spent), float(budget.per_record(budget.counts))
        model = members.publish(
            drawn,
            self._released(metadata, loss, Drawn(members.values(drawn), counts, shares, epsilons)),
            domain=metadata.domain,
            classes=metadata.classes or None,
            source=f"glassine.{type(self).__name__}",
            guarantee=claim(budget, oracle.caveats, loss.count_spread),
        )
        if loss.parts > 1 and counts is not None:
            # Records are rounded from noisy parts: their noise has no law that could be used to infer them.
            model = replace(model, approximate=True)
        public = self._public(conditions, len(members.antecedents)) | self._target(metadata) | {**metadata.weights}
        # A model that costs t more than the best is drawn with a probability below W exp(-epsilon t), where W is the
        # weight of the class over that of the best: for 1/20, epsilon t is log W + log 20, and what rounding adds.
        # The widest grid is public; how many values lie about the released base rates is not.
        excess = (members.with_loss(widest.loss).log_weight(prior) + math.log(20) + draw.slack) / float(spent)
        errors = math.floor(excess) if loss.counts_errors else None
        if not loss.counts_errors:
            # Of errors alone nothing follows: a model may make more of them and rank better.
            public[LOSS_BOUND] = math.ceil(excess)
        certificate = certify(budget, oracle.events, model, paid=oracle.paid, public=public, error_bound=errors)
        return fitted(metadata, model, certificate)

    def _base_rates(self, oracle: Oracle, budget: FitBudget) -> _Rates:
        """Ask for the share of each class among all records, about which the values of leaves lie."""
        question = Counts(key=Label(), name="class counts of all records, for the base rates")
        counts = oracle.ask(question, budget.base_rate / budget.total)
        shares = base_rates(counts[0], float(1 / budget.per_record(budget.base_rate)))
        # How many records speak for the rarer classes, at this epsilon: so far may values lie from the base rates.
        strength = float(counts.sum() * budget.per_record(budget.total)) * (1 - float(shares.max()))
        return _Rates(shares, strength)


class _Rates(NamedTuple):
    """Released base rates, shape (c,), and the number of records that are not of the commonest class times epsilon."""

    shares: Array
    strength: float


@dataclass(kw_only=True, eq=False, repr=False)
class _PrivateClasses(RankedClasses, _Exponential):
    """Classes whose base rates are released first."""

    base_rate_share: float = 0.05

    def _rate_share(self) -> float:
        return check_number(self.base_rate_share, "base_rate_share", low=0.0, high=1.0, low_open=True)


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateRuleListClassifier(_PrivateClasses, Lists):
    """A differentially private rule list, drawn exactly from all lists of at most K rules over a public pool.

    A list of cost e on the training records is drawn with probability proportional to
    ``rule_weight ** rules * exp(-epsilon * e)``; the cost is that of :class:`~.PrivateTreeClassifier`. What a
    set of rules leaves does not depend on their order, so that the sum over all ordered lists runs over sets. A last
    release, the noisy class counts of the rules, makes their probabilities sharper.

    Parameters
    ----------
    max_rules : int, default=5
        Largest number of rules besides the default rule, in [1, 12].
    epsilon : float
        Privacy budget of one fit, at least 1e-6; ``fit`` needs it.
    domain : Domain, optional
        What is publicly known about the attributes. A number's ``thresholds`` are its literals. It may declare the
        target, as a ``Category`` or ``Binary`` of the name of ``y``.
    pool : {"literals", "pairs"} or sequence of sequences of Literal, default="literals"
        The antecedents. "literals": each literal and its negation. "pairs": also all conjunctions of two of them on
        different attributes. A sequence is used as is.
    literals : {"auto", "thresholds", "quantiles", "coarse"} or sequence of Literal, default="auto"
        The literals of the pool, as for :class:`~.PrivateTreeClassifier`.
    classes : sequence of scalars, optional
        The public classes, where the domain does not declare the target.
    accuracy_share, base_rate_share
        As for :class:`~.PrivateTreeClassifier`.
    leaf_counts_share : float, optional
        Share of epsilon for the class counts of the rules, in [0, 1); 0.095 by default, and 0.05 where errors alone
        count. 0 publishes none.
    quantile_share, n_quantiles
        As for :class:`~.PrivateTreeClassifier`.
    rule_weight : float, default=1.0
        Prior weight of each rule: with 1 all lists have equal weight, below 1 shorter lists are preferred.
    ledger, dataset, records_per_person, person_weights, memory_limit, time_limit, progress, random_state
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
    Guarantee: ``epsilon``-differential privacy (pure) for adding or removing one record, or with ``persons`` all
    records of one person, of everything that is kept: rules, order, consequents, counts,
    probabilities. See ``private.md``, ``losses.md``, ``publishing.md`` and :attr:`certificate_`.

    Assumptions: As for :class:`~.PrivateTreeClassifier`.

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

    part = "rule_weight"
    drawn = "rules, order and {} of the list"
    values_drawn = ("consequents", "values")

    rule_weight: float = 1.0


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateTree(_Exponential, Trees):
    """A tree drawn from all trees of a depth."""

    part = "split_weight"
    drawn = "structure and {} of the tree"
    values_drawn = ("labels", "leaf values")

    split_weight: float = 1.0


@dataclass(eq=False, repr=False)
class PrivateTreeClassifier(_PrivateClasses, PrivateTree):
    """A differentially private decision tree, drawn exactly from all trees of a depth over public literals.

    A tree of cost e on the training records is drawn with probability proportional to
    ``split_weight ** splits * exp(-epsilon * e)``. The cost is a mean of log loss and errors, in which one record
    counts at most one. It needs values for the leaves: class probabilities about the base rates, which are released
    first. The loss against the best tree is about the logarithm of the number of trees over epsilon, in records, so
    that with tens of thousands of records the tree ranks as an ordinary one at epsilon 0.1. A last release, the noisy
    class counts of the leaves, makes their probabilities sharper.

    Parameters
    ----------
    max_depth : int, default=3
        Largest number of splits on a path, in [1, 8].
    epsilon : float
        Privacy budget of one fit, at least 1e-6; ``fit`` needs it.
    domain : Domain, optional
        What is publicly known about the attributes. A number's ``thresholds`` are its literals. It may declare the
        target, as a ``Category`` or ``Binary`` of the name of ``y``.
    literals : {"auto", "thresholds", "quantiles", "coarse"} or sequence of Literal, default="auto"
        The conditions of splits. "thresholds": those that the domain declares. "quantiles": private quantiles for all
        numbers. "auto": declared thresholds, and private quantiles for numbers that have none. "coarse": declared
        thresholds, else a few round numbers within the bounds; the hierarchy of a category, else codes of many by their
        first characters; free. Of an attribute that may be missing each condition is offered twice, with missing values
        on either side. A sequence is used unchanged.
    classes : sequence of scalars, optional
        The public classes, where the domain does not declare the target.
    accuracy_share : float, default=0.3
        Share of errors in the loss, in [0, 1]; the rest is log loss, so that 0 ranks best. With 1 errors alone count:
        leaves have labels for values, no base rate is released, and a rare class is rarely predicted.
    base_rate_share : float, default=0.05
        Share of epsilon for the class counts of all records, in (0, 1); spent only if ``accuracy_share`` is below 1.
    leaf_counts_share : float, optional
        Share of epsilon for the class counts of the leaves, in [0, 1); 0.095 by default, and 0.05 where errors alone
        count. 0 publishes none, and ``predict_proba`` then knows only the drawn values or labels.
    quantile_share : float, default=0.2
        Share of epsilon for private quantiles, spent only if there are any.
    n_quantiles : int, default=7
        Private quantiles for each number.
    split_weight : float, default=1.0
        Prior weight of each split: with 1 all trees have equal weight, below 1 smaller trees are preferred.
    ledger : Ledger or path, optional
        The budget book; the fit is charged to ``dataset`` before anything is drawn.
    dataset : str, optional
        Name of the dataset, in the ledger or, without one, among the fits of this process: the second fit on one
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
        Called with the work done and the total.
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
    records of one person, of everything that is kept: the structure, the labels, the counts, the
    probabilities. See ``private.md``, ``losses.md``, ``publishing.md`` and :attr:`certificate_`.

    Assumptions: ``domain``, ``classes`` and all other parameters are public. What is taken from the data instead,
    with a ``PrivacyLeakWarning``, is a caveat of the certificate, as is a ``random_state``. Running time is not
    observed.

    Edge cases: Without any literal the tree is one leaf. Leaves have fewer values where the weights of very deep trees
    could not be summed otherwise. Each further fit spends again. ``sample_weight`` is
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


@dataclass(eq=False, repr=False)
class PrivateTreeRegressor(Numbers, PrivateTree):
    """A differentially private regression tree, drawn exactly from all trees of a depth over public literals.

    A tree is drawn as by :class:`~.PrivateTreeClassifier`. The cost is the squared error of leaf values at nine
    points of the public range of the target, from a tenth to nine tenths of it; one record counts at most one. A last
    release, noisy numbers of records and sums of targets in the leaves, makes their values sharper.

    Parameters
    ----------
    max_depth : int, default=3
        Largest number of splits on a path, in [1, 8].
    epsilon : float
        Privacy budget of one fit, at least 1e-5; ``fit`` needs it.
    domain : Domain, optional
        What is publicly known about the attributes. A number's ``thresholds`` are its literals. It may declare the
        target, as a ``Real`` or ``Integer`` of the name of ``y``.
    literals
        As for :class:`~.PrivateTreeClassifier`.
    target_range : (float, float), optional
        The public range of the target, where the domain does not declare it. Targets outside are clipped to it, and
        predictions lie within it. Noise grows with the range: choose it as narrow as public knowledge allows.
    leaf_counts_share : float, optional
        Share of epsilon for the leaves, in [0, 1); 0.1 by default. With 0 they have the drawn values, and no numbers of
        records.
    quantile_share, n_quantiles, split_weight, ledger, dataset, records_per_person, person_weights
        As for :class:`~.PrivateTreeClassifier`.
    memory_limit, time_limit, progress, random_state
        As for :class:`~.PrivateTreeClassifier`.

    Attributes
    ----------
    model_ : DecisionTree
        The published tree: its leaves have values and noisy numbers of records. Released.
    certificate_, domain_, n_features_in_, feature_names_in_
        As for :class:`~.PrivateTreeClassifier`.

    Notes
    -----
    Guarantee: ``epsilon``-differential privacy (pure) for adding or removing one record, or with ``persons`` all
    records of one person, of everything that is kept: the structure, the values, the numbers of records. See
    ``private.md``, ``losses.md``, ``publishing.md`` and :attr:`certificate_`.

    Assumptions: As for :class:`~.PrivateTreeClassifier`, the range of the target in the place of the classes.

    Edge cases: Targets are rounded to 255 steps of the range. A record whose target is no number is left out. A table
    of counts is not supported.

    Examples
    --------
    >>> import numpy as np
    >>> from glassine import Domain
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (2000, 4))
    >>> y = 100.0 + 40 * X[:, 0] + 20 * X[:, 1]
    >>> domain = Domain.binary(["a", "b", "c", "d"])
    >>> tree = PrivateTreeRegressor(2, epsilon=1.0, domain=domain, target_range=(90, 170), random_state=0)
    >>> tree.fit(X, y).score(X, y) > 0.99, tree.certificate_.epsilon
    (True, 1.0)
    """
