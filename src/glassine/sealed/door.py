"""The door of every private fit: refuse, load the kernels, charge, and only then open the records.

What is refused follows from the parameters and the schema of the records. After the charge there is one outcome besides
the released model: one constant error, which says nothing of the records.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from glassine.compiling.interpretation import loaded
from glassine.data.sources import read_table
from glassine.errors import InvalidDataError, ReleaseFailedError
from glassine.privacy.release import Paid, Planned, release
from glassine.records import schema
from glassine.records.alignment import check_alignment, one_column
from glassine.records.containers import is_lazy
from glassine.records.headers import RecordsFile
from glassine.records.purpose import Purpose
from glassine.sealed.ingest import Source, target_column
from glassine.sealed.persons import check_persons, unit_of
from glassine.sealed.plan import Metadata, Plan, TargetColumn

FAILED = "the fit failed after it was charged; nothing is released."
"""The one error of a private fit after its charge."""

OF_THE_INTAKE = frozenset({"n_features_in_", "feature_names_in_"})
"""Fitted attributes that say which columns there were."""

R = TypeVar("R")


def keep(estimator: Any, attributes: Mapping[str, Any]) -> None:
    """Set fitted attributes, all at once, and forget those that an earlier fit had besides."""
    vars(estimator).update(attributes)
    # A second fit must not leave a certificate of the first beside its own model.
    for name in estimator.released - OF_THE_INTAKE - set(attributes):
        vars(estimator).pop(name, None)


class PrivateLearner(ABC):
    """An estimator whose fit spends privacy budget; each kind of model plans its release in its own way.

    A learner sees what is public of the records (``Metadata``) and the answers of an oracle.

    Notes
    -----
    Guarantee: none; each draw has its own.
    """

    released: ClassVar[frozenset[str]]
    keeps_undeclared: ClassVar[bool]
    takes_tables: ClassVar[bool] = True
    """Whether a table of counts is as good as its records."""

    domain: Any
    epsilon: float | None
    ledger: Any
    dataset: Any
    progress: Any
    random_state: Any
    records_per_person: Any
    person_weights: Any

    def fit(self, X: object, y: object, *, persons: object = None, **unsupported: Any) -> Self:
        """Learn a model; each fit spends again.

        Parameters
        ----------
        X : data frame, array-like of shape (n, d), RecordsFile, or CountTable
            Training records, the attributes of the domain; there may be none. Values outside it are clipped, or count
            as missing. A file is opened after the charge, but for its header. A regressor takes no table.
        y : array-like of shape (n,), or str
            Classes, of a regressor numbers, or the name of the column of ``X`` that holds them.
        persons : array-like of shape (n,), series, or str, optional
            Whose record each is: identifiers, or the name of the column of ``X`` that holds them, which is then no
            attribute. With it, and ``records_per_person``, epsilon and delta cover all records of one person. Records
            without an identifier are left out. Numbers of equal value are one identifier, and texts of the same
            characters; a missing value, an empty text, a truth value and a date are none. A lazy frame is brought
            into memory.
        **unsupported
            Nothing is accepted; ``sample_weight`` gets a separate error.

        Raises
        ------
        InvalidParameterError
            If ``epsilon`` is not stated; if a parameter is out of its range, missing, or without effect; if
            ``persons`` comes without ``records_per_person``, or the other way round.
        InvalidDataError
            If the columns do not fit the domain. Without a public domain, classes or range, also if the records do not.
        ClassTooLargeError
            If what has to be summed or tabulated may exceed the limits. Nothing is spent.
        BudgetExceededError
            If the ledger does not allow the fit. Nothing is released.
        GlassineError
            If literals or a pool do not fit the domain, or a choice cannot be calibrated. Nothing is spent.
        ReleaseFailedError
            If anything fails after the charge. Nothing is released, and the charge stays.
        """
        self._check_arguments(unsupported)
        metadata, opened = self._opening(X, y, persons)
        plan = self._plan(metadata)
        released = seal(plan, opened, ledger=self.ledger, dataset=self.dataset, random_state=self.random_state)
        keep(self, {**metadata.features, **released})
        return self

    def _opening(self, X: object, y: object, persons: object) -> tuple[Metadata, Callable[[], Any]]:
        """Return what is public of the records, and what opens them."""
        y, persons = one_column(X, y, "y"), one_column(X, persons, "persons")
        check_alignment(X, y=y, persons=persons)
        unit = unit_of(self.records_per_person, persons)
        if unit.is_person:
            check_persons(X, self.person_weights)
        described = self._describe(X, y, persons, unit)
        if described is None:
            if isinstance(X, RecordsFile):
                X = read_table(X, Purpose.PRIVATE, attributes=X.declared).restrict(schema(X).names or ())
            # Something is not public, and taken from the records: the guarantee is void, and says so.
            intake, metadata = self._read_unsealed(X, y, persons, unit)
            return metadata, lambda: intake
        source, metadata = described
        self._warn(metadata)
        equal = self.person_weights == "equal"
        if is_lazy(X) and isinstance(y, str) and not unit.is_person and getattr(self, "exposure", None) is None:
            # An engine counts where its records are; exposures are read record by record.
            return metadata, lambda: self._read_unsealed(X, y, None, unit)[0]
        return metadata, lambda: source.open(metadata, keep_undeclared=self.keeps_undeclared, equal=equal)

    def _describe(self, X: object, y: object, persons: object, unit: Any) -> tuple[Source, Metadata] | None:
        """Return the unopened records and what is public of them; None where something is taken from them."""
        if not self.takes_tables and type(X).__name__ == "CountTable":
            raise InvalidDataError("a CountTable cannot be split into parts record by record. Pass the records.")
        if self._reads_at_once():
            return None
        domain = getattr(X, "domain", None) if type(X).__name__ == "CountTable" else self.domain
        if domain is None or domain.inferred:
            return None
        source = Source.of(X, y, persons, domain)
        if source is None:
            return None
        target = self._declared_target(target_column(X, y), domain)
        if target is None:
            return None
        metadata = Metadata(
            domain=source.attributes(domain),
            unit=unit,
            weights=weights_of(unit, self),
            features=_names_of(source),
            **target,
        )
        source.check_types(metadata)
        return source, metadata

    @abstractmethod
    def _check_arguments(self, unsupported: Mapping[str, Any]) -> None:
        """Raise what parameters alone raise."""

    def _reads_at_once(self) -> bool:
        """Return whether the fit follows from the number of records, so that nothing is guaranteed."""
        return False

    @abstractmethod
    def _declared_target(self, target: TargetColumn, domain: Any) -> dict[str, Any] | None:
        """Return the public classes or the public range of the target, its name and caveats; None where it has none."""

    @abstractmethod
    def _warn(self, metadata: Metadata) -> None:
        """Warn of what is not public, and of columns named like identifiers."""

    @abstractmethod
    def _read_unsealed(self, X: object, y: object, persons: object, unit: Any) -> tuple[Any, Metadata]:
        """Read the records where something of them is not public, or where an engine counts them in place."""

    @abstractmethod
    def _plan(self, metadata: Metadata) -> Plan:
        """Plan the fit, or refuse it; no record is open."""


def weights_of(unit: Any, learner: Any) -> dict[str, str]:
    """Return what a certificate says of the weights of persons."""
    if not unit.is_person:
        return {}
    how = "repeated until there are as many" if learner.person_weights == "equal" else "each counted once"
    return {"records of each person": f"at most {unit.most_records}, {how}"}


def _names_of(source: Source) -> dict[str, Any]:
    """Return the fitted attributes by which scikit-learn knows the columns."""
    names: dict[str, Any] = {"n_features_in_": len(source.names)}
    if source.named:
        names["feature_names_in_"] = np.array(source.names, dtype=object)
    return names


def seal(plan: Plan, opened: Callable[[], Any], *, ledger: object, dataset: object, random_state: Any) -> Any:
    """Charge a plan, open the records, and return what is released; everything after the charge has one outcome.

    Guarantee
    ---------
    none on its own: it is that of the draws. What is refused follows from the plan, and what fails afterwards is the
    same error for any records.
    """

    def check() -> None:
        plan.check()
        plan.load()

    def draw(paid: Paid) -> Any:
        return behind(lambda: plan.learn(opened(), paid))

    planned = Planned(price=plan.price, caveats=plan.caveats, check=check, draw=draw)
    return release(planned, ledger=ledger, dataset=dataset, random_state=random_state)


def behind(work: Callable[[], R]) -> R:
    """Return what is released; for any failure raise one constant error, with no cause and no frame of the records."""
    outcome = _outcome(work)
    if not outcome:
        raise ReleaseFailedError(FAILED)
    return outcome[0]


def _outcome(work: Callable[[], R]) -> tuple[R, ...]:
    try:
        # Nothing is said meanwhile: a warning, a compilation or a floating-point error may depend on records.
        with warnings.catch_warnings(), np.errstate(all="ignore"), loaded():
            warnings.simplefilter("ignore")
            return (work(),)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # an engine's panic is no Exception, and names what it met
        # Raised by the caller, outside of this handler: an error in flight would become its context.
        return ()
