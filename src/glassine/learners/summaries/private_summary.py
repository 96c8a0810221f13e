"""The private summary: one release, and every model below it without spending again; and what a fit may reserve."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from glassine.domain import Domain, Integer, Real
from glassine.domain.attributes import Scalar
from glassine.errors import GlassineError, InvalidParameterError, check_whole, parameter
from glassine.files import write_text
from glassine.learners.additive.additive_budget import GaussianBudget
from glassine.learners.additive.grids import public_grids
from glassine.learners.additive.merging import MOST_SITES, Persons
from glassine.learners.additive.table_memory import most_bins
from glassine.learners.additive.targets import Target, Training, read_classes, read_numbers
from glassine.learners.estimator import PrivateEstimator, tags_of_domain
from glassine.learners.summaries.additive_from_tables import LoadedPairs
from glassine.learners.summaries.derived import MEASURED, RESERVED, SummaryModels
from glassine.learners.summaries.estimates import score_cuts
from glassine.learners.summaries.file import SummaryFile, digest, file_text, read_file
from glassine.learners.summaries.measured_figures import (
    AccuracyMeasurement,
    Asked,
    Figure,
    check_figures,
    check_model,
    plan_measurement,
    questions_of,
    release_measurement,
)
from glassine.learners.summaries.released_tables import (
    most_released,
    n_cells_of,
    plan_named,
    release_following,
    release_summary,
)
from glassine.learners.summaries.reserve import Reserve, check_reserve, reserved_model
from glassine.learners.summaries.sites import FollowedPlan, checked_plan, merged
from glassine.models import AdditiveModel, DecisionTree, RuleList
from glassine.models.evidence import class_array
from glassine.privacy.certificate import Certificate
from glassine.privacy.exact import decimal
from glassine.privacy.release import Price
from glassine.records.alignment import target_name
from glassine.sealed.accounts import FitAccount
from glassine.sealed.binned import AdditiveRecords
from glassine.sealed.door import seal
from glassine.sealed.gaussian import GaussianOracle, asking_sums
from glassine.sealed.oracle import Oracle
from glassine.sealed.persons import CountedPersons
from glassine.sealed.plan import Metadata, Plan
from glassine.sealed.released_bins import Grid
from glassine.sealed.sum_kernels import Kernels


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateSummary(SummaryModels, PrivateEstimator, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """One differentially private summary of records with a target, from which models follow without spending again.

    The summary holds noisy counts of every attribute by class, a noisy ranking of all pairs of attributes, the
    counts by class of the pairs along a spanning tree of that ranking, and noisy sums of residuals of two additive
    models. Trees, rule lists, additive models and scorecards follow: any number of them, with any settings. If the
    target is a number, a record counts in parts at the two nearest of a few levels of it, and there is a noisy sum of
    squares; there are no scorecards.

    Parameters
    ----------
    epsilon : float
        Privacy budget of one fit, in [0.001, 1000]; ``fit`` needs it.
    delta : float, default=1e-6
        In [1e-100, 0.1]; well below one over the number of records.
    domain : Domain, optional
        What is publicly known about the attributes, as for :class:`~.PrivateEBMClassifier`.
    classes : sequence of scalars, optional
        The public classes, where the domain does not declare the target.
    target_range : (float, float), optional
        The public range of a target that is a number, where the domain does not declare it. Targets are clipped to it.
    bins : mapping of str to sequence, optional
        Bins fixed by the user, as for :class:`~.PrivateEBMClassifier`.
    reserve : Reserve, optional
        A part of epsilon that measures one model on the same records, within the fit. Which model is fixed beforehand:
        what is kept for a later choice could be spent twice by who copies the file.
    follows : plan of a summary, optional
        :attr:`plan_` of a released summary of the same domain and target, such as that of the first of several sites.
        Its bins, pairs and models of the rounds are taken over, so that the whole budget goes to counts, and
        :meth:`merge` can add the tables of all sites.
    sites : int, default=1
        How many sites will share the plan of this summary, itself counted, in [1, 1000]: its bins are then as fine as
        the records of all allow.
    ledger, dataset, records_per_person, person_weights, progress, random_state
        As for :class:`~.PrivateEBMClassifier`.

    Attributes
    ----------
    released_ : Released
        The noisy tables. Released.
    plan_ : SummaryFile
        What other summaries can follow: the summary without its certificate. Released.
    certificate_ : Certificate
        Guarantee, events and assumptions; its ``model`` is the SHA-256 of the summary. Public.
    measurement_ : AccuracyMeasurement
        How right the model of the reserve is on these records, with a certificate of its part of epsilon; only with a
        reserve. Released.
    domain_ : Domain
        Domain of the attributes. Public, unless inferred.
    classes_ : ndarray of shape (c,)
        Classes. Public, unless taken from the data. Not of a number.
    target_range_ : (float, float)
        Range of a number. Public.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Guarantee: ``(epsilon, delta)``-differential privacy for adding or removing one record, or with ``persons`` all
    records of one person, of the summary and of all that its methods return, together and however often they are
    called: see ``learners/summaries/released_tables.md`` and :attr:`certificate_`.

    Assumptions: as for :class:`~.PrivateEBMClassifier`.

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
    >>> summary = PrivateSummary(epsilon=1.0, domain=domain, classes=(0, 1), random_state=0).fit(X, y)
    >>> tree, additive = summary.tree(max_depth=1), summary.additive()
    >>> str(tree.literals[0])[:6], additive.guarantee.epsilon, tree.guarantee.epsilon
    ('age <=', 1.0, 1.0)
    """

    released: ClassVar[frozenset[str]] = frozenset(
        {
            "released_",
            "certificate_",
            "measurement_",
            "domain_",
            "classes_",
            "target_range_",
            "target_",
            "n_features_in_",
            "feature_names_in_",
        }
    )
    """The fitted attributes; nothing else is kept or pickled."""

    keeps_undeclared: ClassVar[bool] = True

    delta: float = 1e-6
    domain: Domain | None = None
    classes: Sequence[Scalar] | None = None
    target_range: tuple[float, float] | None = None
    bins: Mapping[str, Any] | None = None
    reserve: Reserve | None = None
    follows: SummaryFile | None = None
    sites: int = 1

    def _predicts_number(self, name: str) -> bool:
        return self._numeric(name)

    def _read_at_once(self, X: object, y: object, persons: CountedPersons | None) -> tuple[AdditiveRecords, Metadata]:
        if self._numeric(y):
            read = read_numbers(self, X, y, domain=self.domain, bounds=self.target_range, times=persons)
        else:
            read = read_classes(self, X, y, domain=self.domain, classes=self.classes, times=persons)
        records, training = read
        return records, training.metadata(self)

    def _plan(self, metadata: Metadata) -> Plan:
        training = Training.of(metadata)
        target = training.target
        if n_cells_of(target) < 2:
            raise InvalidParameterError(
                f"a summary needs at least two classes, got {n_cells_of(target)}.",
                remedy=f"Declare them with {parameter('classes=')}.",
            )
        whole, kept = GaussianBudget.of(self.epsilon, self.delta, training.unit), Fraction(0)
        if self.reserve is not None:
            kept = self._reserved(self.reserve, training, whole)
        budget = GaussianBudget.of(float(whole.epsilon - kept), self.delta, training.unit) if kept else whole
        check_whole(self.sites, "sites", 1, MOST_SITES)
        plan = None if self.follows is None else self._followed(training)
        grids = (
            public_grids(training.domain, self.bins)
            if plan is None
            else tuple(axis.grid for axis in plan.released.axes)
        )
        budget.check_values(*most_released(grids, target))
        return Plan(
            price=Price(epsilon=whole.epsilon, delta=whole.delta, note=_note(kept), unit=whole.unit),
            caveats=training.caveats,
            check=partial(budget.claim, training.caveats, None),
            queries=(
                Kernels(
                    outputs=target.n_outputs,
                    classes=target.classes is not None,
                    bins=max(most_bins(grid) for grid in grids),
                ),
                LoadedPairs,
            ),
            learn=asking_sums(
                partial(self._fitted, training, grids, plan, replace(budget, epsilon=whole.epsilon)),
                budget.mu,
                FitAccount(total=kept, unit=training.unit) if kept else None,
            ),
        )

    def _followed(self, training: Training) -> FollowedPlan:
        """Return the plan that is followed; raise if it is not of this domain and target."""
        for name, default in (("bins", None), ("sites", 1)):
            if getattr(self, name) != default:
                raise InvalidParameterError(
                    f"{parameter(name)} are those of the summary that {parameter('follows')} names.",
                    remedy="Leave one of them out.",
                )
        return checked_plan(self.follows, training)

    def _reserved(self, reserve: object, training: Training, budget: GaussianBudget) -> Fraction:
        """Return the part of epsilon that is reserved; raise if its model cannot be measured on these records."""
        if not isinstance(reserve, Reserve):
            raise InvalidParameterError(f"{parameter('reserve')} must be a Reserve, got {type(reserve).__name__}.")
        check_reserve(reserve, training.target, training.unit)
        if training.unit.is_person and self.person_weights != "equal":
            raise InvalidParameterError(
                f"{parameter('reserve')} gives each person the same weight.", remedy="Set person_weights to 'equal'."
            )
        return budget.epsilon * decimal(reserve.share, "share")

    def _numeric(self, y: Any) -> bool:
        """Return whether the target is a number, as far as parameters and domain say."""
        if self.target_range is not None and self.classes is not None:
            raise InvalidParameterError(
                f"{parameter('classes')} and {parameter('target_range')} contradict each other.",
                remedy="Leave one of them out.",
            )
        name = target_name(y)
        declared = self.domain[name] if isinstance(self.domain, Domain) and name in self.domain else None
        return self.target_range is not None or (self.classes is None and isinstance(declared, Integer | Real))

    def _fitted(
        self,
        training: Training,
        grids: tuple[Grid, ...],
        plan: FollowedPlan | None,
        budget: GaussianBudget,
        oracle: GaussianOracle,
        kept: Oracle | None = None,
    ) -> dict[str, Any]:
        target = training.target
        if plan is None:
            released = release_summary(oracle, grids, target, self.sites)
        else:
            released = release_following(oracle, grids, target, plan.released, plan.clip)
        file = SummaryFile(domain=training.domain, target=target, released=released)
        public = {
            "released": "a summary, and every model that is fitted to it",
            "attributes": list(training.domain.names),
            "bins fixed by the user": [grid.attribute for grid in grids if grid.fixed],
            **(
                {"range of the target": list(target.bounds)}
                if target.bounds
                else {"classes": list(target.classes or ())}
            ),
            **({RESERVED: float(kept.account.total), MEASURED: str(self.reserve)} if kept is not None else {}),
            **training.weights,
            **({} if plan is None else plan.stated),
        }
        fitted = {
            "released_": released,
            "certificate_": budget.certify(oracle.events, digest(file), paid=oracle.paid, public=public),
            "domain_": training.domain,
            **_of_target(target),
        }
        if self.reserve is None or kept is None:
            return fitted
        return {**fitted, **self._measured(self.reserve, training, fitted, kept)}

    def _measured(
        self, reserve: Reserve, training: Training, fitted: Mapping[str, Any], kept: Oracle
    ) -> dict[str, Any]:
        """Return the measurement that a reserve pays for, and the certificate with it."""
        maker, certificate = copy(self), fitted["certificate_"]
        for name, value in fitted.items():
            setattr(maker, name, value)
        try:
            model = reserved_model(reserve, maker)
        except GlassineError:
            # What the summary released gives no such model: the part stays unspent.
            return {}
        asked = maker._asked(model, check_figures(reserve.figures, training.target, training.unit))
        questions = questions_of(training, model, asked)
        measurement = release_measurement(training, questions, {"summary": certificate.model}, kept)
        events = (*certificate.events, *measurement.certificate.events)
        return {"certificate_": replace(certificate, events=events), "measurement_": measurement}

    def measure(
        self,
        model: DecisionTree | RuleList | AdditiveModel,
        X: Any,
        y: Any,
        *,
        epsilon: float,
        figures: Sequence[Figure] | None = None,
        persons: Any = None,
        dataset: str | None = None,
    ) -> AccuracyMeasurement:
        """Return how right a model is on records: a second release, with its own charge and certificate.

        For classes accuracy, log loss and AUROC, for a number the mean absolute and the root mean squared error, each
        with an interval for noise and chance together. Records that the model was fitted to, or chosen by, flatter it:
        keep some aside.

        **Guarantee**: ``epsilon``-differential privacy of the measurement alone, for one record or, as in the summary,
        one person; on the summary's records it adds to what the summary spent. See ``measured_figures.md``.

        Parameters
        ----------
        model : DecisionTree, RuleList or AdditiveModel
            A published model of the same attributes and target. It must not follow from these records in any other
            way than through what was released of them.
        X, y, persons
            The records, as for :meth:`fit`. Targets are clipped to the summary's range. Each person counts as much as
            any other. A lazy frame is counted in place if ``y`` is a name and there are no persons; else collected.
        epsilon : float
            Privacy budget of the measurement, in [0.001, 1000]; figures share it evenly. Noise in a count has a
            standard deviation of about 1.4 / epsilon records, times the figures and the records per person.
        figures : sequence of {"accuracy", "log_loss", "auroc"}, optional
            What is measured of classes: "accuracy" by default. "auroc" needs two classes, and no ``persons``.
        dataset : str, optional
            Whose records are charged to the summary's ledger; those of the summary by default. Records of other people,
            kept aside, are another dataset. ``set_params(ledger=...)`` names a ledger to a summary that was read.
        """
        # A copy: records are read as in a fit, and the summary does not change.
        reader = copy(self)
        reader.domain, reader.classes, reader.target_range = self.domain_, self._target.classes, self._target.bounds
        reader.person_weights = "equal"
        metadata, opened = reader._opening(X, y, persons)
        asked = self._asked(model, check_figures(figures, self._target, metadata.unit))
        measurement: AccuracyMeasurement = seal(
            plan_measurement(metadata, model, epsilon, asked, {"summary": self.certificate_.model}),
            opened,
            ledger=self.ledger,
            dataset=self.dataset if dataset is None else dataset,
            random_state=self.random_state,
        )
        return measurement

    def _asked(self, model: DecisionTree | RuleList | AdditiveModel, figures: tuple[Figure, ...]) -> Asked:
        """Return what is measured of a model; cells of its score follow from the summary."""
        cuts = np.zeros(0)
        if "auroc" in figures:
            check_model(model, self._target, list(self.domain_))
            cuts = score_cuts(self.released_, self.domain_, model)
        return Asked(figures=figures, cuts=cuts)

    # Files.

    @property
    def plan_digest_(self) -> str:
        """SHA-256 of the summary whose plan this one follows; its own where it follows none."""
        return plan_named(self.certificate_)

    @property
    def digest_(self) -> str:
        """SHA-256 of the released numbers at this moment; the certificate names it."""
        return digest(self.plan_)

    @property
    def plan_(self) -> SummaryFile:
        """What another summary may follow; a function of what was released."""
        return SummaryFile(domain=self.domain_, target=self._target, released=self.released_)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the summary with its certificate to a JSON file: noisy numbers, from which all models follow."""
        write_text(self._text, path)

    @property
    def _text(self) -> str:
        return file_text(self.plan_, self.certificate_, getattr(self, "measurement_", None))

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
        return cls._of_file(*read_file(path))

    @classmethod
    def merge(cls, summaries: Sequence[Self], *, persons: Persons = "shared") -> Self:
        """Return one summary of those of several sites that follow one plan: tables are added.

        **Guarantee**: as of :func:`~glassine.learners.merge`, which takes additive models: the sum of epsilons and
        deltas, or with ``persons="disjoint"`` the largest of them. No record is read.

        Parameters
        ----------
        summaries : sequence of PrivateSummary
            Two or more, of which all but one have the ``plan_`` of that one as ``follows``; or all of them the plan of
            another.
        persons : {"shared", "disjoint"}, default="shared"
            Whether a person may have records at several sites.

        Raises
        ------
        InvalidParameterError
            If they follow different plans or are for different privacy units, or there are fewer than two.
        """
        file, certificate = merged([one.plan_ for one in summaries], [one.certificate_ for one in summaries], persons)
        return cls._of_file(file, certificate, None)

    @classmethod
    def _of_file(cls, file: SummaryFile, certificate: Certificate, measurement: AccuracyMeasurement | None) -> Self:
        out = cls(
            epsilon=certificate.epsilon,
            delta=certificate.delta,
            domain=file.domain,
            classes=file.target.classes,
            target_range=file.target.bounds,
            bins=file.bins,
            records_per_person=certificate.unit.records_per_person,
        )
        out.released_, out.certificate_ = file.released, certificate
        out.domain_ = file.domain
        if measurement is not None:
            out.measurement_ = measurement
        for name, value in _of_target(file.target).items():
            setattr(out, name, value)
        out.n_features_in_, out.feature_names_in_ = len(file.domain), np.array(file.domain.names, dtype=object)
        return out

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: missing values are allowed where the domain allows them."""
        return tags_of_domain(super().__sklearn_tags__(), getattr(self, "domain", None))


def _of_target(target: Target) -> dict[str, Any]:
    """Return the fitted attributes that say what is predicted."""
    if target.bounds is not None:
        return {"target_range_": target.bounds, "target_": target.name}
    return {"classes_": class_array(target.classes or ()), "target_": target.name}


def _note(kept: Fraction) -> str:
    """Return what a ledger says of a fit."""
    return f"private summary, epsilon {float(kept):g} of it for a measurement" if kept else "private summary"
