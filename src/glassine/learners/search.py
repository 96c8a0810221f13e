"""A private search over hyperparameters: the best of a random number of private fits, judged on held-out records."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from glassine.errors import InvalidParameterError
from glassine.formats import fingerprint
from glassine.learners.budget import LARGEST_EPSILON, check_number, relation_of
from glassine.learners.estimator import PrivateParameters, Scored, tags_of_domain
from glassine.learners.intake import metadata_of, read_training
from glassine.learners.training_data import in_memory
from glassine.models.guarantee import LONGEST_SETTING
from glassine.privacy.certificate import Certificate
from glassine.privacy.exact import decimal
from glassine.privacy.private_selection import RunCount
from glassine.privacy.randomness import RandomState
from glassine.privacy.release import EXACT_DRAWS, Paid, Price
from glassine.records.alignment import target_name
from glassine.records.arrays import AnyArray, Array
from glassine.sealed.accounts import FitAccount
from glassine.sealed.door import PrivateLearner, keep
from glassine.sealed.oracle import Oracle, asking
from glassine.sealed.persons import CountedPersons
from glassine.sealed.plan import Metadata, Plan
from glassine.sealed.selection import BestOfRuns

PROOF = "learners/search.md"

SET_BY_THE_SEARCH = ("epsilon", "delta", "ledger", "dataset", "progress", "random_state")
"""Parameters of the estimator that the search sets, or takes for itself."""

NOT_SEARCHED = (*SET_BY_THE_SEARCH, "domain", "classes", "records_per_person", "person_weights")
"""Parameters that are the same in every setting: what is spent, and whose records and which classes there are."""

RUNS_PER_SETTING = 10
"""Mean number of fits for each setting of the grid: at the default shape one setting in seven is then never tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """A search that is planned: its candidates, and what each run and the choice may spend."""

    metadata: Metadata  # What is public of the records
    settings: tuple[dict[str, Any], ...]  # The grid; tuple of dict
    # One for each setting, not fitted, with the epsilon and delta of a run; tuple of estimators.
    candidates: tuple[Any, ...]
    plans: tuple[Plan, ...]  # One for each of them
    runs: RunCount  # The law of the number of runs
    fraction: Fraction  # Probability with which a record, or a person with all records, is held out
    # epsilon, delta: what the search claims.
    epsilon: Fraction
    delta: Fraction
    run: tuple[float, float]  # Epsilon and delta of each run

    @property
    def account(self) -> FitAccount:
        """What the search may spend."""
        return FitAccount(total=self.epsilon, delta=self.delta, unit=self.metadata.unit)

    @property
    def question(self) -> BestOfRuns:
        """The one question that it asks."""
        epsilon, delta = self.run
        # Of candidates that have no delta, none is lost.
        run = epsilon, delta if self.delta else 0.0
        return BestOfRuns(plans=self.plans, runs=self.runs, fraction=self.fraction, run=run)

    def claim(
        self, certificate: Certificate | None = None, paid: Paid | None = None, chosen: int | None = None
    ) -> Certificate:
        """Return the certificate of the whole search from that of the chosen fit; without one, a rehearsal."""
        search = {
            "settings": [_in_words(setting) for setting in self.settings],
            **({} if chosen is None else {"chosen": _in_words(self.settings[chosen])}),
            "expected number of fits": self.runs.mean,
            "shape of the number of fits": float(self.runs.shape),
            "held-out fraction": float(self.fraction),
            "epsilon of each fit": self.run[0],
        }
        return Certificate(
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            events=self.question.events(self.account.part(Fraction(1))),
            neighboring=relation_of(self.metadata.unit),
            unit=self.metadata.unit,
            assumptions=() if certificate is None else certificate.assumptions,
            caveats=() if paid is None else paid.caveats,
            public={**({} if certificate is None else certificate.public), "search": search},
            randomness="not stated" if paid is None else paid.origin,
            arithmetic=EXACT_DRAWS,
            receipt=None if paid is None else paid.receipt,
        )


def _in_words(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in setting.items())


def _has_scores(search: Any) -> bool:
    return hasattr(getattr(search, "best_estimator_", search.estimator), "decision_function")


@dataclass(eq=False, repr=False)
class PrivateSearchCV(Scored, PrivateParameters, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A search over hyperparameters of a private classifier that spends one epsilon.

    Each record, or each person with all records, is held out by a coin. From the others, a random number of private
    fits are made, each with a setting drawn from the grid. One of them is drawn by the exponential mechanism over how
    many held-out records they classify correctly, and is published. Nothing else is: neither scores, nor how many fits
    there were, nor what the others are.

    Parameters
    ----------
    estimator : private classifier
        :class:`~.PrivateTreeClassifier`, :class:`~.PrivateRuleListClassifier`,
        :class:`~.PrivateGreedyRuleListClassifier` or :class:`~.PrivateEBMClassifier`. The search sets
        its epsilon and delta. Its ``epsilon``, ``ledger``, ``dataset``, ``progress`` and ``random_state`` must be None.
    grid : dict of str to sequence, or sequence of such
        Values of each parameter to try, in every combination, as for scikit-learn's ``ParameterGrid``. It must not be
        chosen by looking at the records.
    epsilon : float
        Privacy budget of the whole search, the published model included; ``fit`` needs it. Each fit gets
        ``epsilon / (2 + shape)``.
    delta : float, default=1e-6
        Of the whole search; spent only if the estimator has a delta that is not None. Each fit gets it divided by the
        expected number of fits.
    validation_fraction : float, default=0.2
        Probability with which a record, or a person, is held out, in [0.01, 0.9].
    expected_fits : float, optional
        Mean number of fits, above 1. The default is ten times the number of settings.
    shape : float, default=0.5
        Eta of the truncated negative binomial number of fits, in (-1, 1]. Lower values leave more epsilon for each fit,
        and try few settings more often.
    ledger, dataset, random_state
        As for :class:`~.PrivateTreeClassifier`; the search is charged once.

    Attributes
    ----------
    best_params_ : dict
        The chosen setting. Released.
    best_estimator_ : estimator
        The chosen fit. Its model and its certificate state what the search spent. Released.
    model_ : DecisionTree, RuleList or AdditiveModel
        The model of ``best_estimator_``. Released.
    certificate_ : Certificate
        Guarantee, events and assumptions of the whole search. Public.
    classes_ : ndarray of shape (c,)
        Classes. Public, unless taken from the data.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Guarantee: ``(epsilon, delta)``-differential privacy for adding or removing one record, or with ``persons`` all
    records of one person, of everything that is kept; delta is 0 unless the estimator needs one. See ``search.md``,
    ``privacy/private_selection.md`` and :attr:`certificate_`.

    Assumptions: As for the estimator; the grid and all parameters are public. Running time, which depends on the number
    of fits, is not observed.

    Edge cases: Where no record is held out, the choice is uniform. Where all are, the fits have no records, and the
    published one is noise. A ``CountTable`` is refused; a lazy frame is brought
    into memory.

    References
    ----------
    Liu and Talwar, *Private Selection from Private Candidates* (2019); Papernot and Steinke, *Hyperparameter Tuning
    with Renyi Differential Privacy* (2022), Theorem 2.

    Examples
    --------
    >>> from glassine import Domain
    >>> from glassine.learners import PrivateTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (2000, 4))
    >>> y = X[:, 0] & X[:, 1]
    >>> tree = PrivateTreeClassifier(domain=Domain.binary(["a", "b", "c", "d"]), classes=(0, 1))
    >>> search = PrivateSearchCV(tree, {"max_depth": [1, 2]}, epsilon=1.0, random_state=0).fit(X, y)
    >>> search.best_params_, search.score(X, y), search.certificate_.epsilon
    ({'max_depth': 2}, 1.0, 1.0)
    """

    released: ClassVar[frozenset[str]] = frozenset(
        {"best_params_", "best_estimator_", "model_", "certificate_", "classes_", "n_features_in_", "feature_names_in_"}
    )
    """The fitted attributes; nothing else is kept or pickled."""

    takes_tables: ClassVar[bool] = False

    estimator: Any
    grid: Any
    _: KW_ONLY
    epsilon: float | None = None
    delta: float = 1e-6
    validation_fraction: float = 0.2
    expected_fits: float | None = None
    shape: float = 0.5
    ledger: Any = None
    dataset: str | None = None
    random_state: RandomState = None

    best_params_: dict[str, Any] = field(init=False)
    best_estimator_: Any = field(init=False)
    model_: Any = field(init=False)
    certificate_: Certificate = field(init=False)
    classes_: AnyArray = field(init=False)

    @property
    def progress(self) -> None:
        """None: progress would show how many fits there are."""

    @property
    def domain(self) -> Any:
        """The public domain of the estimator."""
        return getattr(self.estimator, "domain", None)

    @property
    def records_per_person(self) -> int | None:
        """The most records of one person that count, as the estimator has it."""
        most: int | None = getattr(self.estimator, "records_per_person", None)
        return most

    @property
    def person_weights(self) -> str:
        """How records of persons count, as the estimator has it."""
        return str(getattr(self.estimator, "person_weights", "equal"))

    @property
    def classes(self) -> Any:
        """The public classes of the estimator."""
        return getattr(self.estimator, "classes", None)

    @property
    def keeps_undeclared(self) -> bool:  # type: ignore[override]  # it is the estimator's
        """Whether categories that the domain does not declare are distinguished from missing ones."""
        return bool(self.estimator.keeps_undeclared)

    def _check_arguments(self, unsupported: Mapping[str, Any]) -> None:
        super()._check_arguments(unsupported)
        self._settings()

    def _reads_at_once(self) -> bool:
        own = getattr(self.estimator, "accounting", None)
        return any(setting.get("accounting", own) == "published" for setting in self._settings())

    def _read_at_once(self, X: object, y: object, persons: CountedPersons | None) -> tuple[Any, Metadata]:
        probe = clone(self.estimator)
        intake = read_training(
            probe,
            in_memory(X),
            y,
            domain=probe.domain,
            classes=probe.classes,
            times=persons,
            private=True,
            keep_undeclared=probe.keeps_undeclared,
        )
        return intake, metadata_of(intake, target_name(y), probe)

    def _plan(self, metadata: Metadata) -> Plan:
        settings = self._settings()
        plan, caveats = self._planned(metadata, settings)
        return Plan(
            price=Price(
                epsilon=plan.epsilon,
                delta=plan.delta,
                note=f"search over {len(settings)} settings of {type(self.estimator).__name__}",
                unit=metadata.unit,
            ),
            caveats=caveats,
            check=plan.claim,
            queries=(plan.question,),
            learn=asking(partial(self._learn, plan), plan.account, None),
        )

    def _settings(self) -> tuple[dict[str, Any], ...]:
        """Return the settings of the grid, or refuse the estimator or the grid."""
        if not isinstance(self.estimator, PrivateLearner) or not isinstance(self.estimator, ClassifierMixin):
            raise InvalidParameterError(
                f"estimator must be a private classifier, got {type(self.estimator).__name__}. A search without "
                "privacy is scikit-learn's GridSearchCV."
            )
        if isinstance(self.estimator, PrivateSearchCV):
            raise InvalidParameterError("estimator is a search itself. Search over one grid with all parameters.")
        # The default of delta is no statement of it.
        stated = [name for name in SET_BY_THE_SEARCH if name != "delta"]
        own = [name for name in stated if getattr(self.estimator, name, None) is not None]
        if own:
            raise InvalidParameterError(
                f"the estimator's {own[0]} has no effect in a search. Give the search what it takes, or leave it out."
            )
        settings = tuple(dict(setting) for setting in ParameterGrid(self.grid))
        for name in dict.fromkeys(itertools.chain.from_iterable(settings)):
            if name in NOT_SEARCHED:
                raise InvalidParameterError(f"grid holds {name!r}, which is the same for all settings. Take it out.")
        if not settings:
            raise InvalidParameterError("grid holds no setting. Give at least one value of each parameter.")
        return settings

    def _planned(self, metadata: Metadata, settings: tuple[dict[str, Any], ...]) -> tuple[_Plan, tuple[str, ...]]:
        """Return the plan and the caveats; nothing is drawn."""
        epsilon = decimal(
            check_number(self.epsilon, "epsilon", low=0.0, high=LARGEST_EPSILON, low_open=True), "epsilon"
        )
        delta = decimal(check_number(self.delta, "delta", low=1e-100, high=0.1), "delta")
        fraction = check_number(self.validation_fraction, "validation_fraction", low=0.01, high=0.9)
        runs = self._runs(len(settings))
        run = runs.for_each_run(epsilon, delta)
        candidates = tuple(self._candidate(setting, run, metadata.domain, metadata.classes) for setting in settings)
        caveats, lost, plans = dict.fromkeys(metadata.caveats), False, []
        for candidate in candidates:
            vars(candidate).update(metadata.features)
            planned = candidate._plan(metadata)
            planned.check()
            price = planned.price
            if not price.epsilon <= decimal(run[0], "epsilon") or not price.delta <= decimal(run[1], "delta"):
                raise InvalidParameterError(
                    f"{type(candidate).__name__} spends more than the search lets it: its epsilon or delta is fixed.",
                    remedy="Leave its epsilon and delta to the search.",
                )
            caveats |= dict.fromkeys(planned.caveats)
            lost = lost or price.delta > 0
            plans.append(planned)
        plan = _Plan(
            metadata=metadata,
            settings=settings,
            candidates=candidates,
            plans=tuple(plans),
            runs=runs,
            fraction=decimal(fraction, "validation_fraction"),
            epsilon=epsilon,
            delta=delta if lost else Fraction(0),
            run=run,
        )
        return plan, tuple(caveats)

    def _runs(self, n_settings: int) -> RunCount:
        """Return the law of the number of fits."""
        shape = check_number(self.shape, "shape", low=-1.0, high=1.0, low_open=True)
        wanted = RUNS_PER_SETTING * n_settings if self.expected_fits is None else self.expected_fits
        return RunCount.of_mean(check_number(wanted, "expected_fits", low=1.0, high=1e6, low_open=True), shape)

    def _candidate(self, setting: Mapping[str, Any], run: tuple[float, float], domain: object, classes: object) -> Any:
        """Return an estimator of a setting that spends what a run may."""
        candidate = clone(self.estimator).set_params(**setting, domain=domain, classes=classes, epsilon=run[0])
        if getattr(candidate, "delta", None) is not None:
            candidate.set_params(delta=run[1])
        return candidate

    def _learn(self, plan: _Plan, oracle: Oracle) -> dict[str, Any]:
        """Publish one of a random number of fits."""
        place, released = oracle.ask(plan.question, Fraction(1), plan.delta)
        return self._published(plan, place, released, oracle.paid)

    def _published(self, plan: _Plan, place: int, released: dict[str, Any], paid: Paid) -> dict[str, Any]:
        """Return the fitted attributes: the chosen fit, whose model and certificate state what the search spent."""
        claim = plan.claim(released["certificate_"], paid, place)
        model = released["model_"]
        guarantee = replace(
            model.guarantee,
            epsilon=claim.epsilon,
            delta=claim.delta,
            setting=_in_words(plan.settings[place])[:LONGEST_SETTING] or None,
            # Those of the search: what its payment and its seed void is not known to a run.
            caveats=paid.caveats,
        )
        model = replace(model, guarantee=guarantee)
        certificate = replace(claim, model=fingerprint(model))
        estimator = plan.candidates[place]
        keep(estimator, {**plan.metadata.features, **released} | {"model_": model, "certificate_": certificate})
        estimator.set_params(domain=self.estimator.domain, classes=self.estimator.classes)
        return {
            "best_params_": plan.settings[place],
            "best_estimator_": estimator,
            "model_": model,
            "certificate_": certificate,
            "classes_": estimator.classes_,
        }

    def memory_needed(self, n_records: int = 0) -> int:
        """Return the most bytes that a fit of any setting holds at once, with about what so many records take.

        Parameters
        ----------
        n_records : int, default=0
            Number of records, at least 0.
        """
        each = (clone(self.estimator).set_params(**setting) for setting in self._settings())
        return max(int(candidate.memory_needed(n_records)) for candidate in each)

    def predict(self, X: object) -> AnyArray:
        """Return the class of each record that the chosen fit predicts, shape (n,)."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict(X))

    def predict_proba(self, X: object) -> Array:
        """Return the class probabilities of each record by the chosen fit, shape (n, c)."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict_proba(X))

    @available_if(_has_scores)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def decision_function(self, X: object) -> Array:
        """Return what the chosen fit's ``decision_function`` does; only where the estimator has one."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.decision_function(X))

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: missing values are allowed where the estimator's domain allows them."""
        return tags_of_domain(super().__sklearn_tags__(), self.domain)
