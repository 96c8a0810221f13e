"""The explainer: microaggregated groups of records, a small tree for each, and queries explained by them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np

from glassine.attacks.membership.outputs import generator
from glassine.data.labels import check_lengths, class_codes, column_of
from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.domain.refusals import refuse_codes, refuse_prefixes
from glassine.errors import (
    BlackBoxError,
    InvalidDataError,
    InvalidParameterError,
    PrivacyLeakWarning,
    check_whole,
    parameter,
    warn_caller,
)
from glassine.microaggregation import SemanticDistance
from glassine.microaggregation.metric import distance_in
from glassine.models.evidence import class_array
from glassine.privacy.randomness import RandomState
from glassine.records.alignment import check_alignment
from glassine.records.arrays import AnyArray
from glassine.surrogates import settings
from glassine.surrogates.answers import Answers, Names, NumericAnswer, index_of
from glassine.surrogates.black_boxes import BlackBox, is_regression
from glassine.surrogates.building import Material, build, draw_queries
from glassine.surrogates.fitting import check_words, classes_of, declared_places, label_array
from glassine.surrogates.group_trees import where_trees_split
from glassine.surrogates.measuring import MeasuredExplainer
from glassine.surrogates.reading import (
    Layout,
    Query,
    Record,
    coarse_domain,
    of_persons,
    open_each,
    open_records,
    query_of,
    read,
    row,
)
from glassine.surrogates.release import confirmed
from glassine.surrogates.values import UNCONSTRAINED, ContrastConstraints, Explanation

LEAST_SHARING = settings.RESTRICTED_LEAF
"""Fewest records of a class whose name is not declared: as of a leaf in the restricted form."""


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
        Fewest records of a group, at least 2; at least 3 with ``answer``.
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
        Without it a guarantee on trees that were trained on its labels has a caveat.
    n_closest : int, default=3
        Closest representatives among which a release answers by default.
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
    scaling: str = "standard"
    distance: str | SemanticDistance = "auto"
    min_samples_leaf: int | str = "auto"
    leaf_counts: bool | None = None
    partition: str = "microaggregation"
    n_cells: int = 64
    fixed_black_box: bool = False
    n_closest: int = 3
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
        settings.check_third_party(explainer, parameters, takes)
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
        plan = settings.plan_of(self, records)
        check_alignment(X, y=y, persons=persons)
        declared, whose = self.domain, None
        if isinstance(declared, Domain):
            refuse_prefixes(declared, "explanations")
            refuse_codes(declared, "explanations")
        if persons is not None:
            settings.check_persons(plan)
            X, declared, whose = of_persons(X, persons, declared, plan.k)
        # With epsilon, classes or the range of the answers are public.
        each = plan.epsilon is not None
        if each and plan.private_partition and declared is not None:
            domain, data = declared, None
            layout, columns, asked = open_each(X, domain)
            n, native = columns.n_records, layout.of_columns(columns.take(np.flatnonzero(asked)))
        else:
            layout, native, data = open_records(X, declared)
            n = len(next(iter(data.values()))) if isinstance(data, dict) else len(data)
            if plan.private_partition is False and not plan.k <= n:
                raise InvalidParameterError(
                    f"{parameter('k')} must be at most the number of records, {n:,}, got {plan.k}.",
                    remedy="Use a smaller k.",
                )
            domain = coarse_domain(data) if declared is None else declared
            if plan.growth.on_grid and plan.epsilon is None:
                domain = where_trees_split(domain)
            columns, asked = read(data, domain, refuse_outside=False), np.ones(n, dtype=bool)
        plan = replace(plan, distance=distance_in(plan.distance, domain))
        if plan.labels == "true" and y is None:
            raise InvalidDataError(
                f'labels="true" needs {parameter("y")}, the true labels, got None.',
                remedy='Pass y, or labels="black-box".',
            )
        truth = None if y is None or each else label_array(y, n)
        if self.classes is None and plan.answer is None and is_regression(self.predict):
            raise BlackBoxError(
                "the black box is a regression: it answers with scores, and each would be published as a class.",
                remedy=f"Declare the range and step of the numbers with {parameter('answer=')}, pass a function that "
                f"returns a class for each record, or declare {parameter('classes=')}.",
            )
        box = BlackBox(self.predict)
        answered = np.full(n, None, dtype=object)
        if asked.any():
            answered[asked] = box.ask_once(native, int(asked.sum()), lenient=each)
        learned = None if plan.labels == "black-box" else truth
        # Queries that were drawn belong to no person.
        least = 1 if records == "queries" else LEAST_SHARING
        outcome: Answers = plan.answer or Names(classes_of(self.classes, answered, learned, least=least, persons=whose))
        if each:
            answers = outcome.places(answered)
            named = outcome.tree_classes or ()
            targets = answers if plan.labels == "black-box" else declared_places(y, n, named)
            if plan.labels == "black-box" and y is not None:
                # Trees do not use them: that they are as many as the records is all that is asked.
                check_lengths(n, len(class_codes(y, named) if named else column_of(y)))
        else:
            if truth is not None and isinstance(outcome, Names):
                check_words(truth, answered.tolist())
            answers = index_of(answered, outcome, "the black box")
            targets = answers if plan.labels == "black-box" or truth is None else index_of(truth, outcome, "y")
        if each and domain.inferred:
            warn_caller(
                "the domain is taken from the data, which the guarantee does not cover; pass domain=.",
                PrivacyLeakWarning,
            )
        material = Material(
            native=data, columns=columns, domain=domain, outcome=outcome, answers=answers, targets=targets,
            domain_declared=declared is not None, persons=whose,
            classes_declared=self.classes is not None or plan.answer is not None,
        )  # fmt: skip
        self.release_, self.certificate_, self.training_, self.information_loss_ = build(plan, material)
        self.n_features_in_ = len(domain)
        if layout.backend is not None:
            self.feature_names_in_ = np.array(domain.names, dtype=object)
        self.domain_, self.classes_ = domain, class_array(self.release_.classes)
        self.black_box_, self._layout = box, layout

    def explain(
        self,
        x: Query,
        guided: bool = True,
        n_closest: int | None = None,
        *,
        n_contrasts: int = 3,
        check: bool = False,
        constraints: ContrastConstraints = UNCONSTRAINED,
    ) -> Explanation:
        """Ask the black box on one query and explain its decision.

        Parameters
        ----------
        x : mapping, sequence, or one-row frame or array
            The query, by name or in the order of the attributes.
        guided : bool, default=True
            Protocol 2, or Protocol 1.
        n_closest : int, optional
            How many representatives Protocol 2 tries; the parameter of the explainer by default.
        n_contrasts : int, default=3
            Largest number of contrasts.
        check : bool, default=False
            Whether the black box is asked on each contrast too, and what it says noted.
        constraints : ContrastConstraints, optional
            What contrasts may change. There are none if no allowed change leads the tree to another decision.

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
        how = {"guided": guided, "n_closest": n_closest, "n_contrasts": n_contrasts, "constraints": constraints}
        explanation = self._explained([record], **how)[0]
        if not check or not explanation.contrasts:
            return explanation
        changed = [{**record, **{c.attribute: c.after for c in contrast.changes}} for contrast in explanation.contrasts]
        return confirmed(explanation, self._ask(changed), release, constraints)

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
            As in :meth:`explain`.
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
