"""The explainer: microaggregated groups of records, a small tree for each, and queries explained by them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from glassine.attacks.membership.outputs import generator
from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.domain.refusals import refuse_codes, refuse_prefixes
from glassine.errors import check_whole
from glassine.microaggregation import SemanticDistance
from glassine.models.evidence import class_array
from glassine.privacy.randomness import RandomState
from glassine.records.alignment import check_alignment, one_column
from glassine.records.arrays import AnyArray
from glassine.surrogates import explainer_parameters
from glassine.surrogates.answers import NumericAnswer
from glassine.surrogates.building import build, draw_queries
from glassine.surrogates.explainer_intake import Intake, planned_in
from glassine.surrogates.explainer_values import UNCONSTRAINED, ContrastConstraints, Explanation
from glassine.surrogates.explaining import explain_checked
from glassine.surrogates.explanation_measures import MeasuredExplainer
from glassine.surrogates.goals import ExplanationGoal
from glassine.surrogates.private_release import build_private
from glassine.surrogates.query_input import (
    Layout,
    Query,
    Record,
    open_records,
    query_of,
    read,
    row,
)


@dataclass(eq=False, repr=False)
class SurrogateExplainer(MeasuredExplainer):
    """Explanations of a black box by the small trees of microaggregated groups.

    The records are put into groups of at least k that lie close together. Of each group a representative and a small
    decision tree are published. A query gets the black box's decision, the representative closest to it and that
    group's tree (Protocol 1); or, of the closest representatives, the first whose tree decides as the black box does
    (Protocol 2, "guided").

    Parameters
    ----------
    predict : callable or estimator
        The black box: maps records, in the form in which ``fit`` gets them, to one label each, or to one number.
    k : int, default=100
        Smallest number of records of a group that you allow, at least 2; at least 3 with ``answer``. A goal may choose
        a larger one, and none below.
    max_depth : int, None or "auto", default="auto"
        Largest number of splits on a path, None for no limit. "auto": in the restricted form 3, from k = 1000 on 5 and
        from k = 5000 on 6; 2 for private trees, None in the paper's form.
    epsilon : float, optional
        Budget of each group's tree, drawn by the exponential mechanism; it needs ``classes`` or ``answer``. What it
        gives for the whole release depends on ``partition``: see Notes. Without it nothing is guaranteed.
    domain : Domain, optional
        What is publicly known about the attributes. Without it, bounds are taken from the records and moved outward to
        round numbers, which the release notes.
    classes : sequence of scalars, optional
        The public labels. Without it, those that trees use, of at most 20 that occur; fractions, more labels, a label
        of fewer than 10 records (see Notes) and regressors are refused, because each name is published.
    answer : NumericAnswer, optional
        The public range and step of a black box that answers with numbers. Leaves then hold means, or with ``epsilon``
        drawn numbers: see Notes. It goes with the restricted form and the black box's answers, not with ``classes``.
    form : {"restricted", "paper"}, default="restricted"
        "restricted": trees on the black box's labels, shallow, with a minimum leaf, public thresholds and no
        counts; representatives and scales rounded. "paper": trees on the true labels, as large as CART makes them, with
        exact thresholds and counts; representatives and scales exact.
    labels : {"black-box", "true"}, optional
        What trees are trained on; by default as the form says.
    gamma : float, optional
        As in :func:`~.microaggregate`: by default MDAV, with a number V-MDAV.
    strata : str, optional
        An attribute, such as the sex or the hospital, that all records of a group share: a category or a column of 0
        and 1. Every stratum then needs at least k records. A query is explained by groups of the same stratum
        before all others.
    scaling : {"standard", "none"}, default="standard"
        As in :func:`~.microaggregate`.
    distance : {"auto", "euclidean", "gower"} or SemanticDistance, default="auto"
        Of the groups and of the closest representatives. "auto": Gower's where an attribute is a category, else the
        Euclidean one. A :class:`~glassine.microaggregation.SemanticDistance` holds
        taxonomies of categories, which the release publishes.
    min_samples_leaf : int or "auto", default="auto"
        Fewest records of a leaf. "auto": 10 in the restricted form, 1 in the paper's. Private trees have no such bound.
        With ``answer``, fewest distinct records, at least 3.
    leaf_counts : bool, optional
        Whether trees publish class counts; by default not in the restricted form, and in the paper's.
    partition : {"microaggregation", "public"}, default="microaggregation"
        "public": cells around ``n_cells`` points that follow from the public domain alone, instead of groups of the
        records. It needs a declared domain.
    n_cells : int, default=64
        Number of cells of a public partition.
    fixed_black_box : bool, default=False
        You state that the black box was not trained on these records (or is itself private with respect to them).
        Without it a guarantee has a caveat where trees are trained on its labels, or a goal is measured by its answers.
    n_closest : int, default=3
        Closest representatives among which a release answers by default.
    goal : ExplanationGoal, "auto" or None, default="auto"
        What share of explanations is to have a condition, and of proposed changes to be confirmed by the black box.
        k, depth (unless ``max_depth`` states it), the number of closest representatives and the protocol are chosen for
        it: see Notes. "auto": the default goal of training records in the restricted form without ``epsilon``, else
        none: a third party pays for each query. With ``epsilon`` it needs ``partition="public"``.
    ledger : Ledger or path, optional
        The budget book, for ``epsilon`` with ``partition="public"``; the fit is charged to ``dataset`` before any tree
        is drawn.
    dataset : str, optional
        Name of the dataset, in the ledger or, without one, among the private fits of this process: the second fit on
        one name warns, and its certificate and those of later ones do not hold.
    random_state : int, Generator, Randomness or None, default=None
        For the choice among equally good splits, for which None means a fixed seed; and for private trees, for which
        None means the operating system's entropy, and a seed voids the guarantee. A
        ``Randomness`` is for private trees alone.

    Attributes
    ----------
    release_ : SurrogateRelease
        What may be published. Released.
    certificate_ : Certificate
        What is claimed of the release's privacy; a certificate that does not hold where nothing is. Released.
    domain_ : Domain
        The domain of the release. Released.
    classes_ : ndarray of shape (c,)
        The labels, none of numeric answers. Released.
    training_ : Training
        The records, their labels and groups. Private.
    choice_ : ExplanationChoice or None
        Which k, depth and protocol were chosen for the goal, and whether it is reached; None without a goal. Private
        without ``epsilon``; with it, it follows from public queries and the release.
    information_loss_ : float or None
        Of the microaggregation; None for a public partition.
    black_box_ : BlackBox
        The black box with its count of queries. ``fit`` and every measure ask it on a record once, and keep
        the answer; queries are asked each time. Private.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Guarantee: none by default. A representative stands for at least k records, which is k-anonymity of the
    representative alone: the group's tree is itself a model of k people, and the restricted form limits what it
    reveals without proving it. With ``epsilon`` and ``partition="public"`` the release is ``epsilon``-differentially
    private for adding or removing one record; with ``epsilon``, microaggregation and ``labels="true"`` it is
    ``2 * epsilon``-differentially private in the labels alone; with ``epsilon``, microaggregation and the black box's
    labels nothing holds for the whole.
    See ``private_trees.md`` and :attr:`certificate_`.

    Where values are missing, groups are joined until each mean of a representative is one of at least k records (or
    people) that have a value. A mean is missing where most of the records have none. How far a missing value lies from
    others is public: see :func:`~.microaggregate`. Without scaling the Euclidean distance does not know it.

    Names of classes are published. Declared ones are public. Of others, a release holds those alone that a tree uses,
    and each was given to at least 10 records: by the black box, or as true label where trees are trained on them. Of
    drawn queries, which belong to no person, any number will do.

    Numeric answers: a leaf holds the mean of the black box's answers over at least ``min_samples_leaf`` distinct
    records, or over all of a smaller group, rounded to a public step. Equal records count once; where persons are
    stated, the leaf also holds so many people, each with the mean of their own records. Nodes above leaves hold
    nothing, and no count is published. Where all answers behind a leaf are equal, its mean is the answer of each.
    Someone who knows all of m answers behind a mean but one learns that one up to about ``m * step / 2``. With
    ``epsilon`` a leaf holds no mean, but one of at most nine numbers from a tenth to nine tenths of the range, drawn
    with the tree by squared error and put on the nearest step; an answer outside the range is left out. An explanation
    agrees with the black box if its number is at most ``answer.tolerance`` away.

    Goal: the first combination that reaches it is released, protocols before depths before k, which rises only while
    too few explanations have a condition; if none does, that which comes closest. :attr:`choice_` says which, before
    anything is published. The black box is asked on changed records for it, a few hundred to a few thousand. With
    ``epsilon`` it is asked on 2,000 queries drawn from the public domain instead: choices and shares follow from them
    and the released trees, and from no record.

    A pickle of the explainer holds the training records. Publish :meth:`release`.

    References
    ----------
    A. Blanco-Justicia and J. Domingo-Ferrer, *Machine Learning Explainability Through Comprehensible Decision Trees*,
    CD-MAKE 2019.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 10, (400, 2))
    >>> explainer = SurrogateExplainer(lambda X: np.where(X[:, 0] > 5, "high", "low"), k=50).fit(X)
    >>> answer = explainer.explain([7.2, 1.0])
    >>> answer.decision, answer.agrees, explainer.fidelity(X) > 0.95
    ('high', True, True)
    """

    predict: Any
    k: int = 100
    _: KW_ONLY
    max_depth: int | str | None = "auto"
    epsilon: float | None = None
    domain: Domain | None = None
    classes: Sequence[Scalar] | None = None
    answer: NumericAnswer | None = None
    form: str = "restricted"
    labels: str | None = None
    gamma: float | None = None
    strata: str | None = None
    scaling: str = "standard"
    distance: str | SemanticDistance = "auto"
    min_samples_leaf: int | str = "auto"
    leaf_counts: bool | None = None
    partition: str = "microaggregation"
    n_cells: int = 64
    fixed_black_box: bool = False
    n_closest: int = 3
    goal: ExplanationGoal | str | None = "auto"
    ledger: Any = None
    dataset: str | None = None
    random_state: RandomState = None

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy that asks the same black box: a copy of a fitted estimator would be unfitted."""
        own = self.get_params(deep=False)
        return type(self)(**{name: own[name] if name == "predict" else copy.deepcopy(own[name]) for name in own})

    @classmethod
    def from_queries(
        cls,
        predict: object,
        domain: Domain,
        k: int = 100,
        *,
        n_queries: int = 10_000,
        queries: object = None,
        takes: str = "array",
        random_state: RandomState = None,
        **parameters: Any,
    ) -> Self:
        """Return an explainer for a third party, who has query access and a public domain but no training records.

        Queries are drawn uniformly from the domain, or are those that the third party already has; groups,
        representatives and trees are of these. If they were drawn, a release reveals nothing about any record beyond
        what the black box answers. About queries that are people's records it reveals what any release reveals.

        Parameters
        ----------
        predict : callable or estimator
            The black box.
        domain : Domain
            The public domain.
        k : int, default=100
            Fewest queries of a group.
        n_queries : int, default=10000
            Queries to draw, each asked once: the budget of calls of ``fit``.
        queries : data frame or array, optional
            Records to ask on instead of drawn ones. They count as people's: the release is audited, and speaks, as one
            of training records.
        takes : {"array", "pandas", "polars"}, default="array"
            The form in which the black box takes drawn records.
        random_state : int, Generator or None
            For the draw; None draws differently each time.
        **parameters
            Further parameters of the explainer; ``epsilon``, ``partition``, ``ledger`` and ``dataset`` are refused,
            there is no one to protect.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of its range.
        InvalidDomainError
            If the domain was inferred from data.
        """
        explainer = cls(predict, k, domain=domain, **parameters)
        explainer_parameters.check_third_party(explainer, parameters, takes)
        source = "queries" if queries is None else "given"
        if queries is None:
            number = check_whole(n_queries, "n_queries", 2, 10_000_000)
            drawn = draw_queries(domain, number, generator(random_state))
            queries = Layout(names=domain.names, backend=None if takes == "array" else takes).build(domain, drawn)
        explainer._fit(queries, None, records=source)
        return explainer

    def fit(self, X: object, y: object = None, *, persons: object = None) -> Self:
        """Group the records and grow a tree for each group.

        Parameters
        ----------
        X : data frame or array-like of shape (n, d)
            The training records. Numbers outside a declared domain are clipped. Values may be missing where the domain
            declares so, or is inferred. With epsilon and ``partition="public"``,
            each record is read independently and no value refuses a fit. The black box is asked
            on records as the domain describes them; one that it does not describe is not asked on.
        y : array-like of shape (n,), optional
            True labels; needed if trees are trained on them. With epsilon, trees leave out a
            record whose label is missing or not declared; how many is not stated.
        persons : str, or array-like of shape (n,), optional
            Whose record each is: the column of ``X`` that holds identifiers, or one identifier for each record. Groups
            then hold the records of at least k people, leaves those of at least ``min_samples_leaf``, and a class name
            that is not declared is shared by so many people. The column is no attribute.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of its range or without effect, or k exceeds the number of records or of people;
            if ``persons`` comes with ``epsilon``, which covers one record.
        BudgetExceededError
            If the ledger does not allow the fit. Nothing is released.
        InvalidDataError
            If the records do not fit the domain, have no identifier, or labels are absent where they are needed; if a
            declared answer is not a number or lies outside its range, or too few records are distinct.
        BlackBoxError
            If the black box fails, answers with something else than labels, or with scores or rare labels that are not
            declared as classes.
        """
        self._fit(X, y, records="training", persons=persons)
        return self

    def _fit(self, X: object, y: object, *, records: str, persons: object = None) -> None:
        plan = explainer_parameters.plan_of(self, records)
        y, persons = one_column(X, y, "y"), one_column(X, persons, "persons")
        check_alignment(X, y=y, persons=persons)
        if isinstance(self.domain, Domain):
            refuse_prefixes(self.domain, "explanations")
            refuse_codes(self.domain, "explanations")
        if persons is not None:
            explainer_parameters.check_persons(plan)
        intake = Intake(self, plan, X, y, persons)
        if plan.epsilon is None:
            attributes = intake.attributes()
            domain = attributes.domain
            built = build(planned_in(plan, domain), intake.judged(attributes), intake.ask(domain))
        else:
            built = build_private(plan, intake)
            domain = built.release.domain
        self.release_, self.certificate_, self.training_ = built.release, built.certificate, built.training
        self.information_loss_, self.choice_ = built.loss, built.choice
        self.n_features_in_ = len(domain)
        if intake.layout.backend is not None:
            self.feature_names_in_ = np.array(domain.names, dtype=object)
        self.domain_, self.classes_ = domain, class_array(self.release_.classes)
        self.black_box_, self._layout = intake.box, intake.layout

    def explain(
        self,
        x: Query,
        guided: bool = True,
        n_closest: int | None = None,
        *,
        n_contrasts: int = 3,
        check: bool = True,
        constraints: ContrastConstraints = UNCONSTRAINED,
    ) -> Explanation:
        """Ask the black box on one query, explain its decision, and ask it on what would change that.

        Parameters
        ----------
        x : mapping, sequence, or one-row frame or array
            The query, by name or in the order of the attributes.
        guided : bool, default=True
            Protocol 2, or Protocol 1.
        n_closest : int, optional
            How many representatives Protocol 2 tries; the parameter of the explainer by default.
        n_contrasts : int, default=3
            Largest number of contrasts, and of candidates that the black box refutes.
        check : bool, default=True
            Whether the black box is asked on changed records, in one call: those that it confirms are contrasts. If
            not, all changes that lead the tree elsewhere are candidates.
        constraints : ContrastConstraints, optional
            What may change. Nothing is found if no allowed change leads the tree to another decision.

        Raises
        ------
        InvalidParameterError
            If a constraint does not fit the domain. Nothing is asked then.
        InvalidDataError
            If the query is no record of the domain.
        BlackBoxError
            If the black box fails.
        """
        release = self.release()
        constraints.check(release.domain, numeric=release.answer is not None)
        record = query_of(x, release.domain)
        how: dict[str, Any] = {
            "guided": guided, "n_closest": n_closest, "n_contrasts": n_contrasts, "constraints": constraints,
        }  # fmt: skip
        if not check:
            return self._explained([record], **how)[0]
        decision = self._ask([record])[0]
        return explain_checked(release, record, decision, lambda changed: self._ask(changed).tolist(), **how)

    def explain_many(
        self,
        X: object,
        guided: bool = True,
        n_closest: int | None = None,
        *,
        n_contrasts: int = 0,
        constraints: ContrastConstraints = UNCONSTRAINED,
    ) -> list[Explanation]:
        """Explain the decisions on several queries, with one call of the black box.

        Parameters
        ----------
        X : data frame, array-like of shape (n, d), or list of mappings
            The queries.
        guided, n_closest, n_contrasts, constraints
            As in :meth:`explain`. The black box is not asked on changed records, so that changes are candidates.
        """
        release = self.release()
        constraints.check(release.domain, numeric=release.answer is not None)
        how = {"guided": guided, "n_closest": n_closest, "n_contrasts": n_contrasts, "constraints": constraints}
        return self._explained(self._queries(X), **how)

    def _explained(self, records: Sequence[Record], **how: Any) -> list[Explanation]:
        decisions = self._ask(records).tolist()
        return [self.release_.explain(*one, **how) for one in zip(records, decisions, strict=True)]

    def _queries(self, X: object) -> list[Record]:
        domain = self.release_.domain
        if isinstance(X, list | tuple) and X and all(isinstance(x, dict) for x in X):
            return [query_of(x, domain) for x in X]
        _, _, data = open_records(X, domain)
        columns = read(data, domain, refuse_outside=True)
        return [row(columns, i) for i in range(columns.n_records)]

    def _ask(self, records: Sequence[Record]) -> AnyArray:
        return self.black_box_(self._layout.build(self.release_.domain, records), len(records))
