"""The class that an ordinary learner declares before its fit, and what no attack gets from a member on average."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassine.capacity import COUNTS, AverageCase, DeclaredClass, Published, average_case, people_needed
from glassine.data.labels import check_lengths, class_codes
from glassine.domain import Domain, Integer, Real
from glassine.domain.attributes import Scalar
from glassine.errors import ClassTooLargeError, InvalidDataError, InvalidParameterError, first_of, parameter
from glassine.learners.intake import Intake
from glassine.privacy.certificate import Certificate
from glassine.records.alignment import check_alignment

EXACT = "exact counts of the records"
"""Why an ordinary fit is not private."""

NOT_COUNTED = (
    "the models of this learning algorithm are not counted: they hold numbers with all digits, or thresholds that are "
    "values of the data."
)


class DeclaresItsClass:
    """A learner whose possible models are counted before the fit, where everything about them is public.

    Notes
    -----
    Guarantee: none; the class is what bounds of the average case rest on. See ``capacity/statement.md``.
    """

    def declared_class(self) -> DeclaredClass:
        """Return the class of models among which the fit chooses, from the parameters alone; it reads no record.

        Raises
        ------
        InvalidParameterError
            If ``domain`` or the classes are not given, thresholds are to be quantiles of the data, or the models of
            this learning algorithm are not counted.
        """
        domain, classes = getattr(self, "domain", None), self._stated_classes()
        if not isinstance(domain, Domain) or domain.inferred:
            raise InvalidParameterError(
                "a class that was fixed before the draw needs a public domain.",
                remedy=f"Pass {parameter('domain=')}, with the thresholds of its numbers.",
            )
        if classes is None:
            raise InvalidParameterError(
                "a class that was fixed before the draw needs the classes of the outcome.",
                remedy=f"Pass {parameter('classes=')}.",
            )
        return self._over(domain, len(classes))

    def capacity(
        self,
        n: int | None = None,
        population: int | None = None,
        *,
        published: Published = COUNTS,
        delta: float = 0.05,
        frame: tuple[object, object] | None = None,
    ) -> AverageCase:
        """Return what no attack exceeds on average, from the size of the class; it needs no data.

        Guarantee
        ---------
        As of :class:`glassine.capacity.AverageCase`, an average and no differential privacy: ``capacity/statement.md``.

        Parameters
        ----------
        n : int, optional
            People in the data, one record each. Without it, the answer is about the fit that was made; with it, about a
            fit with the present parameters.
        population : int, optional
            People of the list from which they were drawn at random, without replacement.
        published : Published, default=Published()
            What is published: exact counts by default, as a fit publishes them.
        delta : float, default=0.05
            Share of draws for which the bounds may fail, in (0, 1).
        frame : (data frame, array-like), optional
            Records and outcomes of everyone on the list, after the fit. Exact counts then cost less if exactly half was
            drawn; the smaller of two bounds is taken, each with half of ``delta``.

        Raises
        ------
        InvalidParameterError
            As :meth:`declared_class`; if ``n`` is left out before the fit; or if an answer about the fit is asked for,
            and parameters were changed since.

        Examples
        --------
        >>> from glassine import Domain, Integer
        >>> from glassine.learners import OptimalTreeClassifier
        >>> domain = Domain(
        ...     {"age": Integer(18, 90, thresholds=(30, 45, 60)), "children": Integer(0, 9, thresholds=(0,))}
        ... )
        >>> trees = OptimalTreeClassifier(max_depth=2, domain=domain, classes=(0, 1))
        >>> trees.capacity(5_000).strictest.mean_advantage
        0.0578
        """
        declared, cells = self.declared_class(), None
        if n is None or frame is not None:
            stated = self._stated_at_fit(declared)
            if n is not None and n != stated.n:
                raise InvalidParameterError(
                    f"{parameter('frame')} is for the fit that was made, of {stated.n:,} people, got "
                    f"{parameter('n=')}{n:,}.",
                    remedy=f"Leave {parameter('n=')} out.",
                )
            n = stated.n
        if frame is not None:
            cells = self._cells(*frame)
            population = sum(cells[1]) if population is None else population
        return average_case(declared, n, population, published=published, delta=delta, cells=cells)

    def people_needed(
        self,
        mean_advantage: float = 0.05,
        *,
        rate: float | None = None,
        published: Published = COUNTS,
        delta: float = 0.05,
    ) -> int:
        """Return how many people must be in the data so that the mean advantage is at most a limit.

        Parameters
        ----------
        mean_advantage : float, default=0.05
            In (0, 1].
        rate : float, optional
            Share of a known list that is drawn; without it, records are compared with fresh ones.
        published, delta
            As for :meth:`capacity`.
        """
        declared = self.declared_class()
        return people_needed(declared, mean_advantage, rate=rate, published=published, delta=delta)

    def _stated_at_fit(self, declared: DeclaredClass) -> AverageCase:
        """Return what the certificate of the fit states, or raise where there is none or it is of other parameters."""
        stated: AverageCase | None = getattr(getattr(self, "certificate_", None), "average_case", None)
        if stated is None:
            raise InvalidParameterError(
                "how many people are in the data is not known: before a fit, or after one with weights or of a class "
                "that was not public.",
                remedy=f"Pass {parameter('n=')}.",
            )
        if average_case(declared, stated.n) != stated:
            raise InvalidParameterError(
                f"parameters were changed since the fit, whose class is {stated.declared}: its bounds are those of "
                "`certificate_.average_case`.",
                remedy=f"Fit again, or pass {parameter('n=')} for a fit with the present parameters.",
            )
        return stated

    def _over(self, domain: Domain, n_classes: int) -> DeclaredClass:
        """Return the class over a public domain; a kind whose models are counted says how with ``_declared``."""
        declared: Callable[[Domain, int], DeclaredClass] | None = getattr(self, "_declared", None)
        if declared is None:
            raise InvalidParameterError(NOT_COUNTED, remedy="Take an optimal tree or a rule list of classes.")
        return declared(domain, n_classes)

    def _stated_classes(self) -> Sequence[Scalar] | None:
        """Return the classes where they are public: given, or of a fit to which the domain declared them."""
        stated: Sequence[Scalar] | None = getattr(self, "classes", None)
        certificate = getattr(self, "certificate_", None)
        if stated is None and certificate is not None and certificate.average_case is not None:
            return tuple(getattr(self, "classes_", ()))
        return stated

    def _certificate(self, intake: Intake) -> Certificate:
        """Return the certificate of a fit: nothing is guaranteed; the average case where the class was public."""
        statement = None
        # Weights are no people: a record that counts a thousand times is one.
        people = intake.n_records if intake.multiplicities is None else 0
        if not intake.caveats and people and not intake.domain.inferred:
            try:
                statement = average_case(self._over(intake.domain, len(intake.classes)), people)
            except (InvalidParameterError, ClassTooLargeError):
                statement = None  # Not counted, or beyond what is of use
        return Certificate.none(EXACT, average_case=statement)

    def _cells(self, X: object, y: object) -> tuple[list[int], list[int]]:
        """Return the published counts, and those of the frame, in the same leaves and classes."""
        learner: Any = self
        counts = [cell.evidence.counts for cell in learner.model_.cells]
        if any(row is None for row in counts):
            raise InvalidParameterError(f"{parameter('frame')} is for a model with class counts.")
        check_alignment(X, target=y)
        codes, leaves = class_codes(y, learner.model_.classes), learner.apply(X)
        check_lengths(len(leaves), len(codes))
        if (codes < 0).any():
            raise InvalidDataError(f"{int((codes < 0).sum()):,} people of the list have an undeclared outcome.")
        places = leaves * len(learner.classes_) + codes
        frame = np.bincount(places, minlength=len(counts) * len(learner.classes_))
        return [int(c) for row in counts for c in row or ()], [int(c) for c in frame]


def questions_are_public(conditions: Any) -> None:
    """Raise InvalidParameterError where thresholds are to be quantiles of the data."""
    if conditions.quantiled:
        raise InvalidParameterError(
            f"thresholds of {first_of(conditions.quantiled)} are to be quantiles of the data, which were not fixed "
            "before the draw.",
            remedy=f"Declare {parameter('thresholds')} in the domain, or pass {parameter('literals', 'coarse')}.",
        )


def multiway_values(domain: Domain) -> list[int]:
    """Return how many branches the split of each attribute can have; numbers are split at values of the data."""
    numbers = [name for name in domain if isinstance(domain[name], Integer | Real)]
    if numbers:
        raise InvalidParameterError(
            f"this tree splits {numbers[0]!r} between values of the data, which were not fixed before the draw.",
            remedy="Group its numbers in public categories first.",
        )
    return [len(getattr(domain[name], "values", (0, 1))) + bool(domain[name].missing) for name in domain]
