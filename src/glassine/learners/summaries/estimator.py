"""The private summary: one release, and every model below it without spending again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self, get_args

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from glassine.data.slices import Progress
from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, InvalidParameterError, parameter
from glassine.formats import fingerprint
from glassine.learners.additive.budget import GaussianBudget
from glassine.learners.additive.grids import Grid, public_grids
from glassine.learners.additive.publishing import Frame, check_monotone
from glassine.learners.additive.targets import Target, Training, read_classes
from glassine.learners.antecedents import check_whole
from glassine.learners.budget import check_number
from glassine.learners.estimator import Parameters, PrivateLearner, tags_of_domain
from glassine.learners.persons import Persons
from glassine.learners.summaries.additive import additive_model
from glassine.learners.summaries.denoising import junction_tree
from glassine.learners.summaries.estimates import Dependence, Estimate, check_strength, count_region, estimate
from glassine.learners.summaries.file import SummaryFile, digest, read_file, write_file
from glassine.learners.summaries.near_optimal import NearOptimalTrees, near_optimal_trees
from glassine.learners.summaries.publishing import published_rules, published_tree
from glassine.learners.summaries.release import by_chance, most_released, release_summary
from glassine.learners.summaries.released import Released
from glassine.learners.summaries.splitting import Growth, Measure, Node
from glassine.learners.summaries.tree_sets import tree_of_lowest_errors
from glassine.models import AdditiveModel, DecisionTree, Guarantee, RuleList
from glassine.models.evidence import class_array
from glassine.privacy.certificate import Certificate
from glassine.privacy.release import Paid, Planned, Price

__all__ = ["PrivateSummary"]

MOST_DEPTH, MOST_RULES = 12, 100
"""Largest depth of a tree, and largest number of rules of a list: beyond them noise alone is fitted."""

NOISE = 2.0
"""A part of a split must hold so many standard deviations of the noise in a count of a pair by class."""


class PrivateSummary(Parameters, PrivateLearner, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """One differentially private summary of records with classes, from which models follow without spending again.

    The summary holds noisy counts of every attribute by class, a noisy ranking of all pairs of attributes, the
    counts by class of the pairs along a spanning tree of that ranking, and noisy sums of residuals of two additive
    models. Trees, rule lists, additive models and scorecards follow: any number of them, with any settings.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit, in [0.001, 1000].
    delta : float, default=1e-6
        In [1e-100, 0.1]; well below one over the number of records.
    domain : Domain, optional
        What is publicly known about the attributes, as for :class:`~glassine.PrivateEBMClassifier`.
    classes : sequence of scalars, optional
        The public classes, where the domain does not declare the target.
    bins : mapping of str to sequence, optional
        Bins fixed by the user, as for :class:`~glassine.PrivateEBMClassifier`.
    ledger, dataset, records_per_person, person_weights, progress, random_state
        As for :class:`~glassine.PrivateEBMClassifier`.

    Attributes
    ----------
    released_ : Released
        The noisy tables. Released.
    certificate_ : Certificate
        Guarantee, events and assumptions; its ``model`` is the SHA-256 of the summary. Public.
    domain_ : Domain
        Domain of the attributes. Public, unless inferred.
    classes_ : ndarray of shape (c,)
        Classes. Public, unless taken from the data.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Guarantee: ``(epsilon, delta)``-differential privacy for adding or removing one record, or with ``persons`` all
    records of one person, of the summary and of all that its methods return, together and however often they are
    called: see ``learners/summaries/release.md`` and :attr:`certificate_`.

    Assumptions: as for :class:`~glassine.PrivateEBMClassifier`.

    Edge cases: an attribute whose class rates do not differ beyond noise is in one bin, and no model uses it. One model
    at one setting, or an epsilon of at most 0.1, is better fitted directly.

    References
    ----------
    Chow and Liu (1968), *Approximating Discrete Probability Distributions with Dependence Trees*; Friedman, Geiger and
    Goldszmidt (1997), *Bayesian Network Classifiers*; McKenna, Miklau and Sheldon (2021), *Winning the NIST Contest*,
    for a spanning tree of noisy scores; Efron and Morris (1973), *Stein's Estimation Rule and Its Competitors*, for
    priors that follow from what was measured.

    Examples
    --------
    >>> import numpy as np
    >>> from glassine import Domain, Integer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 100, (4000, 2))
    >>> y = (X[:, 0] > 60).astype(int)
    >>> domain = Domain({"age": Integer(0, 99), "noise": Integer(0, 99)})
    >>> summary = PrivateSummary(1.0, domain=domain, classes=(0, 1), random_state=0).fit(X, y)
    >>> tree, additive = summary.tree(max_depth=1), summary.additive()
    >>> str(tree.literals[0])[:6], additive.guarantee.epsilon, tree.guarantee.epsilon
    ('age <=', 1.0, 1.0)
    """

    released: ClassVar[frozenset[str]] = frozenset(
        {"released_", "certificate_", "domain_", "classes_", "target_", "n_features_in_", "feature_names_in_"}
    )
    """The fitted attributes; nothing else is kept or pickled."""

    keeps_undeclared: ClassVar[bool] = True

    released_: Released
    certificate_: Certificate
    domain_: Domain
    classes_: npt.NDArray[Any]
    target_: str

    epsilon: float
    delta: float
    domain: Domain | None
    classes: Sequence[Scalar] | None
    bins: Mapping[str, Any] | None

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        domain: Domain | None = None,
        *,
        classes: Sequence[Scalar] | None = None,
        bins: Mapping[str, Any] | None = None,
        ledger: Any = None,
        dataset: str | None = None,
        records_per_person: int | None = None,
        person_weights: str = "equal",
        progress: Progress | None = None,
        random_state: Any = None,
    ) -> None:
        self._store(locals())

    def _plan(self, X: Any, y: Any, persons: Persons | None = None) -> Planned[dict[str, Any]]:
        training = read_classes(self, X, y, domain=self.domain, classes=self.classes, times=persons)
        n_classes = len(training.target.classes or ())
        if n_classes < 2:
            raise InvalidParameterError(
                f"a summary needs at least two classes, got {n_classes}.",
                remedy=f"Declare them with {parameter('classes=')}.",
            )
        budget = GaussianBudget.of(self.epsilon, self.delta, training.unit)
        grids = public_grids(training.domain, self.bins)
        budget.check_values(*most_released(grids, n_classes))
        return Planned(
            price=Price(epsilon=budget.epsilon, delta=budget.delta, note="private summary", unit=budget.unit),
            caveats=training.caveats,
            check=partial(budget.claim, training.caveats, None),
            draw=partial(self._draw, training, grids, budget),
        )

    def _draw(self, training: Training, grids: tuple[Grid, ...], budget: GaussianBudget, paid: Paid) -> dict[str, Any]:
        classes = training.target.classes or ()
        released, events = release_summary(training.records, grids, len(classes), budget, paid)
        name = training.target.name
        file = SummaryFile(domain=training.domain, classes=classes, target=name, released=released)
        public = {
            "released": "a summary, and every model that is fitted to it",
            "attributes": list(training.domain.names),
            "bins fixed by the user": [grid.attribute for grid in grids if grid.fixed],
            "classes": list(classes),
            **training.weights,
        }
        return {
            "released_": released,
            "certificate_": budget.certify(events, digest(file), paid=paid, public=public),
            "domain_": training.domain,
            "classes_": class_array(classes),
            "target_": name,
        }

    # Models. Nothing below reads a record.

    @property
    def _classes(self) -> tuple[Scalar, ...]:
        check_is_fitted(self, "released_")
        return tuple(self.classes_.tolist())

    def _guarantee(self, count_scale: float | None = None) -> Guarantee:
        certificate = self.certificate_
        return Guarantee(
            epsilon=certificate.epsilon,
            delta=certificate.delta,
            neighboring=certificate.neighboring,
            records_per_person=certificate.unit.records_per_person,
            count_scale=count_scale,
            caveats=certificate.caveats,
        )

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
        target = Target(classes=self._classes, bounds=None, name=self.target_)
        factor = check_number(shrinkage, "shrinkage", low=1e-6, high=1e6)
        directions = check_monotone(monotone, self.domain_, target)
        coarse = self.released_.coarse
        scale = max(float(np.sqrt(axis.variances.max())) for axis in coarse)
        frame = Frame(
            domain=self.domain_,
            target=target,
            guarantee=self._guarantee(scale),
            source=self._source,
            errors=np.asarray,
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
        max_items : int, default=10
            Most items, in [1, 100].
        max_points : int, default=5
            Most points of an item, added or taken away, in [1, 100].
        shrinkage, monotone
            As for :meth:`additive`.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of its range.
        InvalidModelError
            If the summary has more than two classes.
        """
        model = self.additive(shrinkage=shrinkage, monotone=monotone)
        return model.to_scorecard(max_items=max_items, max_points=max_points)

    def tree(self, max_depth: int = 4, measure: Measure = "gini") -> DecisionTree:
        """Return a decision tree, from exact counts of the summary's distribution; nothing is spent.

        Its leaves publish a class and probabilities, no counts. Trees are grown greedily (CART), but for errors: their
        first three levels have the lowest errors of all trees, since a split that pays only with the next lowers none.
        Of more than some 150 conditions, fewer levels do.

        Parameters
        ----------
        max_depth : int, default=4
            Most splits on a path, in [0, 12].
        measure : {"errors", "gini", "log_loss"}, default="gini"
            What each split lowers most, or, with errors, the tree. Errors give the better classes, the other
            measures the better probabilities.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of its range.
        """
        growth = self._growth(measure)
        depth = check_whole(max_depth, "max_depth", 0, MOST_DEPTH)
        by_errors = measure == "errors" and depth > 0
        return self._published(tree_of_lowest_errors(growth, depth) if by_errors else growth.grow(depth))

    def _published(self, root: Node) -> DecisionTree:
        return published_tree(root, self.domain_, self._classes, source=self._source, guarantee=self._guarantee())

    def rule_list(self, max_rules: int = 5, measure: Measure = "gini") -> RuleList:
        """Return a rule list of one condition a rule, grown rule by rule; nothing is spent.

        Parameters
        ----------
        max_rules : int, default=5
            Most rules besides the default rule, in [0, 100].
        measure : {"errors", "gini", "log_loss"}, default="gini"
            What each rule lowers most.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of its range.
        """
        rules, rest = self._growth(measure).rules(check_whole(max_rules, "max_rules", 0, MOST_RULES))
        return published_rules(
            rules, rest, self.domain_, self._classes, source=self._source, guarantee=self._guarantee()
        )

    def count(self, literals: Sequence[Literal]) -> dict[Scalar, float]:
        """Return the expected number of records of each class that satisfy all literals; nothing is spent.

        Numbers within a bin are taken to be spread as the released fine bins say, and evenly within these.

        Raises
        ------
        InvalidModelError
            If a literal names an attribute that the domain lacks.
        """
        counts = count_region(self.released_, self.domain_, literals)
        return dict(zip(self._classes, counts.tolist(), strict=True))

    @property
    def pairs_(self) -> tuple[Dependence, ...]:
        """The pairs of attributes, the most dependent first, as far as the noisy scores say."""
        check_is_fitted(self, "released_")
        released, tree = self.released_, junction_tree(self.released_)
        coarse = released.coarse
        rows = [np.asarray(mass[:, 0]) for mass in tree.tables([None] * len(coarse))]
        out = []
        for (a, b), score in released.scores.items():
            independent = rows[a][:, :, None] * rows[b][:, None] / tree.totals[:, None, None]
            out.append(
                Dependence(
                    attributes=(coarse[a].grid.attribute, coarse[b].grid.attribute),
                    score=score - by_chance(independent),
                    deviation=released.deviations[1],
                    in_tree=(a, b) in released.edges,
                )
            )
        return tuple(sorted(out, key=lambda pair: -pair.score))

    def reported(self, model: DecisionTree | RuleList | AdditiveModel, *, bootstrap: int = 10) -> Estimate:
        """Return the summary's own estimate of a model's accuracy and AUC, which is no test on records.

        It is about the distribution that models are fitted to, so that it flatters them. Each replicate releases the
        summary again from its own distribution.

        Parameters
        ----------
        model : DecisionTree, RuleList or AdditiveModel
            A model of the same attributes and classes.
        bootstrap : int, default=10
            Replicates, in [2, 200].

        Raises
        ------
        InvalidModelError
            If the model's classes are others.
        InvalidParameterError
            If the noise is too strong for an estimate: the released number of records times mu is below 500.
        """
        if tuple(model.classes or ()) != self._classes:
            raise InvalidModelError("the model has other classes than the summary.", remedy="Pass a model of it.")
        n_replicates = check_whole(bootstrap, "bootstrap", 2, 200)
        return estimate(self.released_, self.domain_, model, mu=self._mu, n_replicates=n_replicates)

    def near_optimal(self, max_depth: int = 3, slack: float = 0.01, *, bootstrap: int = 20) -> NearOptimalTrees:
        """Return all trees whose expected errors are near the lowest; no budget is used.

        It says how far such trees rely on each attribute, draws them at random, and finds records and regions
        that they decide differently. Noise moves these figures: intervals cover the summary and its replicates.

        Parameters
        ----------
        max_depth : int, default=3
            Most splits on a path, in [1, 3].
        slack : float, default=0.01
            Most errors beyond the lowest, as a share of the records, in [0, 0.2].
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
        growth = self._growth("errors")
        depth = check_whole(max_depth, "max_depth", 1, 3)
        share = check_number(slack, "slack", low=0.0, high=0.2)
        n_replicates = check_whole(bootstrap, "bootstrap", 2, 200)
        check_strength(growth.tree, self._mu)
        return near_optimal_trees(
            self.released_,
            self.domain_,
            growth,
            self._published,
            guarantee=self._guarantee(),
            max_depth=depth,
            slack=share,
            bootstrap=n_replicates,
        )

    def certify(self, model: DecisionTree | RuleList | AdditiveModel) -> Certificate:
        """Return the summary's certificate for one of its models, tied to that model.

        Raises
        ------
        InvalidModelError
            If the model is not of this summary, or claims another guarantee.
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
        return replace(certificate, model=fingerprint(model), public=public)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the summary with its certificate to a JSON file: noisy numbers, from which all models follow."""
        file = SummaryFile(domain=self.domain_, classes=self._classes, target=self.target_, released=self.released_)
        write_file(file, self.certificate_, path)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Return the fitted summary of a file that :meth:`write` wrote.

        Raises
        ------
        InvalidModelError
            If the file is no summary, a part is missing or contradicts another, or it is not what the certificate is
            of.
        UnreadableFileError
            If the file cannot be read, or is not whole JSON.
        """
        file, certificate = read_file(path)
        out = cls(
            certificate.epsilon,
            certificate.delta,
            file.domain,
            classes=file.classes,
            bins=file.bins,
            records_per_person=certificate.unit.records_per_person,
        )
        out.released_, out.certificate_ = file.released, certificate
        out.domain_, out.classes_, out.target_ = file.domain, class_array(file.classes), file.target
        out.n_features_in_, out.feature_names_in_ = len(file.domain), np.array(file.domain.names, dtype=object)
        return out

    @property
    def _mu(self) -> float:
        certificate = self.certificate_
        return GaussianBudget.of(certificate.epsilon, certificate.delta, certificate.unit).mu

    @property
    def _source(self) -> str:
        # With the summary's digest, so that certify() knows its own models from those of other fits.
        return f"glassine.{type(self).__name__} {self.certificate_.model}"

    def _growth(self, measure: Measure) -> Growth:
        check_is_fitted(self, "released_")
        if measure not in get_args(Measure):
            raise InvalidParameterError(
                f"{parameter('measure')} must be one of {', '.join(map(repr, get_args(Measure)))}, got {measure!r}."
            )
        released = self.released_
        least = NOISE * (released.deviations[2] or released.deviations[0])
        tree = junction_tree(released)
        return Growth(tree=tree, axes=released.coarse, domain=self.domain_, measure=measure, least=least)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: missing values are allowed where the domain allows them."""
        return tags_of_domain(super().__sklearn_tags__(), getattr(self, "domain", None))
