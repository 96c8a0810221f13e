"""What follows from a private summary: models, counts and estimates. Nothing here reads a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias
from typing import Literal as Choice

import numpy as np
from sklearn.utils.validation import check_is_fitted

from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, check_choice, check_whole
from glassine.formats import fingerprint
from glassine.learners.additive.published_scores import Frame, check_monotone
from glassine.learners.additive.targets import Target
from glassine.learners.budget import check_number, guarantee_of
from glassine.learners.summaries.additive_from_tables import additive_model, relabeled
from glassine.learners.summaries.estimates import (
    Dependence,
    SummaryEstimate,
    check_strength,
    count_region,
    dependences,
    estimate,
)
from glassine.learners.summaries.junction_tree import junction_tree
from glassine.learners.summaries.near_optimal import NearOptimalTrees, near_optimal_trees
from glassine.learners.summaries.released import ReleasedSummary
from glassine.learners.summaries.released_tables import mu_of
from glassine.learners.summaries.sampling import MOST_ROWS, rows_of
from glassine.learners.summaries.splitting import Growth, Measure, SplitNode, shares_of
from glassine.learners.summaries.tree_sets import tree_of_lowest_errors
from glassine.models import AdditiveModel, DecisionTree, Evidence, Guarantee, RuleList
from glassine.models.table import framed
from glassine.privacy.certificate import Certificate
from glassine.records.arrays import AnyArray, Array
from glassine.sealed.list_family import DrawnList, list_model
from glassine.sealed.tree_family import Leaf, Split, Tree, tree_model

MOST_DEPTH: int = 12
"""Largest depth of a tree: beyond it noise alone is fitted."""

MOST_RULES: int = 100
"""Largest number of rules of a list, for the same reason."""

RESERVED, MEASURED = "epsilon of one measurement", "measured model"
"""What a certificate calls the part of epsilon that is reserved, and the model that it measured."""

SplitMeasure: TypeAlias = Measure | Choice["additive"]

OF_CLASSES: tuple[SplitMeasure, ...] = ("additive", "gini", "errors", "log_loss")
OF_NUMBERS: tuple[SplitMeasure, ...] = ("squared_error",)
"""What splits may lower, the default first."""

AS_RETURNED = (
    "the model is as the summary gave it; one that was changed since by a look at records names the same summary"
)
"""What no comparison of a model with its summary can reveal."""

NOISE = 2.0
"""A part of a split must hold so many standard deviations of the noise in a count of a pair by class."""


class SummaryModels:
    """What a fitted summary gives without spending again.

    **Guarantee**: the summary's, for all that is returned, together and however often.

    Attributes
    ----------
    released_, certificate_, domain_, classes_, target_range_, target_
        As of :class:`~.PrivateSummary`.
    """

    released_: ReleasedSummary
    certificate_: Certificate
    domain_: Domain
    classes_: AnyArray
    target_range_: tuple[float, float]
    target_: str

    @property
    def _target(self) -> Target:
        check_is_fitted(self, "released_")
        if self.released_.squares is not None:
            return Target(classes=None, bounds=self.target_range_, name=self.target_)
        return Target(classes=tuple(self.classes_.tolist()), bounds=None, name=self.target_)

    def _guarantee(self, count_scale: float | None = None) -> Guarantee:
        certificate = self.certificate_
        epsilon, delta, unit, caveats = certificate.epsilon, certificate.delta, certificate.unit, certificate.caveats
        return guarantee_of(epsilon, delta, unit=unit, count_scale=count_scale, caveats=caveats)

    def additive(self, *, shrinkage: float = 1.0, monotone: Mapping[str, str] | None = None) -> AdditiveModel:
        """Return an additive model; nothing is spent.

        Parameters
        ----------
        shrinkage : float, default=1.0
            Factor of the penalty that follows from the summary: more shrinks more. In [1e-6, 1e6].
        monotone : mapping of str to {"increasing", "decreasing"}, optional
            Numbers whose scores must be in order; of two classes alone.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of its range.
        """
        target = self._target
        factor = check_number(shrinkage, "shrinkage", low=1e-6, high=1e6)
        directions = check_monotone(monotone, self.domain_, target)
        coarse = self.released_.coarse
        scale = max(float(np.sqrt(axis.variances.max())) for axis in coarse)
        frame = Frame(
            domain=self.domain_, target=target, guarantee=self._guarantee(scale), source=self._source, errors=np.asarray
        )
        tree = junction_tree(self.released_)
        return additive_model(self.released_, tree, frame, shrinkage=factor, monotone=directions)

    def scorecard(
        self,
        max_items: int = 10,
        max_points: int = 5,
        *,
        shrinkage: float = 1.0,
        monotone: Mapping[str, str] | None = None,
    ) -> AdditiveModel:
        """Return a scorecard: an additive model rounded to few items worth whole points; nothing is spent.

        The risks at each total follow from the scores, and their intervals from the noise of these.

        Parameters
        ----------
        max_items, max_points
            As for :class:`~.PrivateScorecardClassifier`.
        shrinkage, monotone
            As for :meth:`additive`.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of its range.
        InvalidModelError
            If the summary has more than two classes, or a number as its target.
        """
        if self._target.classes is None:
            raise InvalidModelError(
                "a scorecard is of two classes: the interval at a total needs the variance there, which follows from a "
                "risk, but not from the mean of a number; the summary has one sum of squares for all records.",
                remedy="Use the additive model: its scores add up in units of the target.",
            )
        model = self.additive(shrinkage=shrinkage, monotone=monotone)
        return model.to_scorecard(max_items=max_items, max_points=max_points)

    def tree(self, max_depth: int = 4, measure: SplitMeasure | None = None) -> DecisionTree:
        """Return a decision tree; nothing is spent.

        Its leaves publish a class and probabilities, or a number, and no counts. Trees are grown greedily (CART), but
        for errors: their first three levels have the lowest errors of all trees, since a split that pays only with the
        next lowers none.
        Of more than some 150 conditions, fewer levels do.

        Parameters
        ----------
        max_depth : int, default=4
            Most splits on a path, in [0, 12].
        measure : {"additive", "gini", "errors", "log_loss", "squared_error"}, optional
            What each split lowers most, or, with errors, the tree. With "additive" it is Gini, but classes and leaves
            are as the summary's additive model has them on 40,000 representative records: most often the most accurate
            tree. The others use exact counts of the summary's tree of attributes. By default "additive", and
            "squared_error" of a number, which has no other.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of its range.
        """
        growth = self._growth(measure)
        depth = check_whole(max_depth, "max_depth", 0, MOST_DEPTH)
        by_errors = growth.measure == "errors" and depth > 0
        return self._published(tree_of_lowest_errors(growth, depth) if by_errors else growth.grow(depth))

    def _published(self, root: SplitNode) -> DecisionTree:
        return _published_tree(root, self.domain_, self._target, source=self._source, guarantee=self._guarantee())

    def rule_list(self, max_rules: int = 5, measure: SplitMeasure | None = None) -> RuleList:
        """Return a rule list of one condition a rule, grown rule by rule; nothing is spent.

        Parameters
        ----------
        max_rules : int, default=5
            Most rules besides the default rule, in [0, 100].
        measure : {"additive", "gini", "errors", "log_loss", "squared_error"}, optional
            What each rule lowers most, as for :meth:`tree`.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of its range.
        """
        rules, rest = self._growth(measure).rules(check_whole(max_rules, "max_rules", 0, MOST_RULES))
        return _published_rules(
            rules, rest, self.domain_, self._target, source=self._source, guarantee=self._guarantee()
        )

    def count(self, literals: Sequence[Literal]) -> dict[Scalar, float]:
        """Return the expected number of records of each class that satisfy all literals; nothing is spent.

        If the target is a number: how many ``records`` satisfy them, and the ``mean`` of the target there.

        Numbers within a bin are taken to be spread as the released fine bins say, and evenly within these.

        Raises
        ------
        InvalidModelError
            If a literal names an attribute that the domain lacks.
        """
        counts, target = count_region(self.released_, self.domain_, literals), self._target
        if target.bounds is not None:
            return {"records": float(counts.sum()), "mean": _mean_of_levels(counts, target.bounds)}
        return dict(zip(target.classes or (), counts.tolist(), strict=True))

    def sample(self, n: int, *, random_state: int | np.random.Generator | None = None, backend: Any = "polars") -> Any:
        """Return rows drawn from the summary's distribution, as a data frame; nothing is spent.

        The distribution is that of :meth:`count`: a tree of attributes for each class. Constraints between attributes
        that the domain declares are not enforced. Rows are no records, and more of them say no more than the summary.

        Guarantee
        ---------
        The summary's; see ``sampling.md``. Its certificate is that of the rows.

        Parameters
        ----------
        n : int
            Rows, in [1, 10,000,000].
        random_state : int, Generator or None, default=None
            Makes the rows repeatable. The guarantee rests on no bit of it.
        backend : str or module, default="polars"
            The library of the frame, as narwhals names it: "polars", "pandas", "pyarrow" and so on.

        Returns
        -------
        data frame
            The attributes, then the target, under its name or ``target``; what is missing is null.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of range, or the library of the frame is not installed.
        """
        target = self._target
        number = check_whole(n, "n", 1, MOST_ROWS)
        if random_state is not None and not isinstance(random_state, np.random.Generator):
            check_whole(random_state, "random_state", 0, 2**63 - 1)
        rng = np.random.default_rng(random_state)
        return framed(rows_of(self.released_, self.domain_, target, number, rng), backend)

    @property
    def pairs_(self) -> tuple[Dependence, ...]:
        """The pairs of attributes, the most dependent first, as far as the noisy scores say."""
        check_is_fitted(self, "released_")
        return dependences(self.released_)

    def reported(self, model: DecisionTree | RuleList | AdditiveModel, *, bootstrap: int = 10) -> SummaryEstimate:
        """Return the summary's own estimate of a model's accuracy, AUC or error, which is no test on records.

        It is about the distribution that models are fitted to, so that it flatters them. Each replicate releases the
        summary again from its own distribution.

        Raises
        ------
        InvalidParameterError
            If the released number of records times mu is below 500, or the spread of an error is above a tenth of it.
        InvalidModelError
            If the model has other classes than the summary.
        """
        target = self._target
        if model.classes != target.classes:
            raise InvalidModelError("the model has other classes than the summary.", remedy="Pass a model of it.")
        n_replicates = check_whole(bootstrap, "bootstrap", 2, 200)
        return estimate(self.released_, self.domain_, model, target.scale, mu=self._mu, n_replicates=n_replicates)

    def near_optimal(self, max_depth: int = 3, slack: float = 0.01, *, bootstrap: int = 20) -> NearOptimalTrees:
        """Return all trees whose expected errors are near the lowest; no budget is used.

        It says how far such trees rely on each attribute, draws them at random, and finds records and regions
        that they decide differently. Noise moves these figures: intervals cover the summary and its replicates.

        Parameters
        ----------
        max_depth : int, default=3
            Most splits on a path, in [1, 3].
        slack : float, default=0.01
            Most errors beyond the lowest, as a share of the records, in [0, 0.2]. Of a number squared errors, as a
            share of its variance.
        bootstrap : int, default=20
            Replicates, in [2, 200]. Each releases the summary again from its own distribution.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of its range; if the summary has too many bins for the depth; or if noise is too
            strong: the released number of records times mu is below 500.

        References
        ----------
        Fisher, Rudin and Dominici (2019), *All Models are Wrong, but Many are Useful*, for reliance; Xin, Zhong, Chen,
        Takagi, Seltzer and Rudin (2022), *Exploring the Whole Rashomon Set of Sparse Decision Trees*; Marx, Calmon and
        Ustun (2020), *Predictive Multiplicity in Classification*.
        """
        growth = self._growth(None if self._target.classes is None else "errors")
        depth = check_whole(max_depth, "max_depth", 1, 3)
        share = check_number(slack, "slack", low=0.0, high=0.2)
        n_replicates = check_whole(bootstrap, "bootstrap", 2, 200)
        check_strength(growth.tree, self._mu)
        return near_optimal_trees(
            self.released_,
            self._target,
            growth,
            self._published,
            guarantee=self._guarantee(),
            max_depth=depth,
            slack=share,
            bootstrap=n_replicates,
        )

    def certify(self, model: DecisionTree | RuleList | AdditiveModel) -> Certificate:
        """Return the summary's certificate for one of its models, tied to that model.

        Source and guarantee of the model are compared. That it was not changed since is assumed, and stated.
        """
        claimed = model.guarantee
        whole = None if claimed is None else replace(claimed, count_scale=None)
        if whole != self._guarantee() or model.source != self._source:
            raise InvalidModelError(
                "the model is not of this summary, or does not claim its guarantee.",
                remedy="Pass a model that its methods return.",
            )
        certificate = self.certificate_
        public = {**certificate.public, "summary": certificate.model}
        assumptions = (*certificate.assumptions, AS_RETURNED)
        return replace(certificate, model=fingerprint(model), public=public, assumptions=assumptions)

    @property
    def _mu(self) -> float:
        return mu_of(self.released_, self.certificate_)

    @property
    def _source(self) -> str:
        # With the summary's digest, so that certify() knows its own models from those of other fits.
        return f"glassine.{type(self).__name__} {self.certificate_.model}"

    def _growth(self, measure: SplitMeasure | None) -> Growth:
        classes, released = self._target.classes, self.released_
        measures = OF_CLASSES if classes is not None else OF_NUMBERS
        if measure is not None:
            check_choice(measure, "measure", measures)
        least = NOISE * (released.deviations[2] or released.deviations[0])
        asked, tree = measure or measures[0], junction_tree(released)
        return Growth(
            tree=relabeled(released, tree) if asked == "additive" else tree,
            axes=released.coarse,
            domain=self.domain_,
            measure="gini" if asked == "additive" else asked,
            least=least,
            levels=released.levels,
        )


def _mean_of_levels(counts: Array, bounds: tuple[float, float]) -> float:
    """Return the mean of a number whose levels, evenly spaced from one bound to the other, count so often."""
    weights = np.maximum(counts, 1e-12)
    return float(np.linspace(*bounds, len(counts)) @ (weights / weights.sum()))


def _published_tree(
    root: SplitNode, domain: Domain, target: Target, *, source: str, guarantee: Guarantee
) -> DecisionTree:
    """Return a grown tree as a model."""
    literals: list[Literal] = []
    cells: list[Evidence] = []

    def convert(node: SplitNode) -> Tree:
        if node.literal is None or node.true is None or node.false is None:
            cells.append(_evidence(node.counts, target))
            return Leaf(int(np.argmax(node.counts)))
        literals.append(node.literal)
        number = len(literals) - 1
        return Split(number, convert(node.true), convert(node.false))

    return tree_model(
        convert(root), literals, cells, domain=domain, classes=target.classes, source=source, guarantee=guarantee
    )


def _published_rules(
    rules: Sequence[tuple[Literal, Array]],
    rest: Array,
    domain: Domain,
    target: Target,
    *,
    source: str,
    guarantee: Guarantee,
) -> RuleList:
    """Return grown rules as a model: conditions with the class counts where they decide, and those of the rest."""
    labels = [int(np.argmax(counts)) for _, counts in rules]
    return list_model(
        DrawnList(tuple(enumerate(labels)), int(np.argmax(rest))),
        [(literal,) for literal, _ in rules],
        [_evidence(counts, target) for counts in (*(counts for _, counts in rules), rest)],
        domain=domain,
        classes=target.classes,
        source=source,
        guarantee=guarantee,
    )


def _evidence(counts: Array, target: Target) -> Evidence:
    if target.bounds is not None:
        return Evidence(value=_mean_of_levels(counts, target.bounds))
    return Evidence(label=int(np.argmax(counts)), probabilities=shares_of(counts))
