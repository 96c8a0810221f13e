"""What the publisher of a model states of its training data and of the class of its models; it is believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from glassine.capacity.without_replacement import check_delta, check_draw
from glassine.domain.attributes import is_whole
from glassine.errors import InvalidParameterError, check_choice, check_whole, parameter
from glassine.models.regression import ERRORS, FAMILIES, OF_FAMILIES

ASKED = {
    "smallest_leaf": "Give the fewest training records of any leaf, as the publisher states it, or leave it out.",
    "n_records": "Give the number of training records, or leave it out.",
    "rounded_to": "Give the step to which the publisher rounded counts, such as 5, or leave it out.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedClass:
    """The class of models that a publisher states: fixed before the training data were drawn, over a public domain.

    Its conditions are the thresholds that the domain declares, each value of a category against the rest, and binary
    attributes. It is believed, as far as the model is a member of it.

    Attributes
    ----------
    depth : int or None
        Of trees: most splits on a path.
    rules : int or None
        Of rule lists: most rules besides the default rule.
    longest : int
        Of rule lists: most conditions of a rule, in [1, 8].
    n : int or None
        People in the training data; as the model or the data say by default.
    population : int or None
        People of the list from which they were drawn at random, without replacement.
    unlisted : bool
        Whether no list exists of the people from whom they were drawn, so that training records are compared with fresh
        ones alone.
    options : int
        Number of settings among which one was chosen on the data.
    models : int
        Models of this class that are published of the same people.
    delta : float
        Share of draws for which the bounds may fail, in (0, 1).

    Raises
    ------
    InvalidParameterError
        If not exactly one of ``depth`` and ``rules`` is stated, or a number is out of its range.
    """

    depth: int | None = None
    rules: int | None = None
    longest: int = 1
    n: int | None = None
    population: int | None = None
    unlisted: bool = False
    options: int = 1
    models: int = 1
    delta: float = 0.05

    def __post_init__(self) -> None:
        if (self.depth is None) == (self.rules is None):
            raise InvalidParameterError(
                f"a stated class has either {parameter('depth')}, of trees, or {parameter('rules')}, of rule lists.",
                remedy="State one of them.",
            )
        for name, low, high in (
            *(("depth", 0, 64), ("rules", 0, 5000), ("longest", 1, 8), ("n", 1, 10**12)),
            *(("population", 2, 10**12), ("options", 1, 10**12), ("models", 1, 10**6)),
        ):
            value = getattr(self, name)
            if value is not None:
                check_whole(value, name, low, high)
        check_delta(self.delta)
        if self.unlisted and self.population is not None:
            raise InvalidParameterError(
                f"a list of {parameter('population=')}{self.population:,} people is stated, and that there is none.",
                remedy="State one of them.",
            )
        if self.n is not None and self.population is not None:
            check_draw(self.population, self.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """What the publisher of a model states of its training data, for an auditor who has the model alone.

    Attributes
    ----------
    one_record_per_person : bool
        Whether no person has several training records, so that records are people.
    smallest_leaf : int or None
        At least so many training records are in every leaf or rule, as ``min_samples_leaf`` guarantees.
    rounded_to : int or None
        The step to whose multiples published counts are rounded: each true count is within half a step.
    unweighted : bool
        Whether no weights were used in training, so that sums of weights are numbers of records.
    public_cuts : bool
        Whether all cut points were fixed without the training data, so that none of them is a value of a record.
    stated_class : StatedClass or None
        The class of models among which training chose, for bounds on the average case.
    n_records : int or None
        Number of training records of a regression or an ensemble.
    family : str or None
        Family of its outcome: gaussian, binomial, poisson, gamma, cox or multinomial.
    errors : str or None
        Of which kind its standard errors are: ``model``, of a fit by maximum likelihood that converged, without weights
        or a penalty; or ``robust``.
    learning_rate : float or None
        Of boosted trees, the rate by which leaves were shrunk, in (0, 1].
    base_rate : float or None
        Of an ensemble, the share of the rarer of two classes among the training records, in (0, 0.5].
    by : str
        Who states the smallest leaf, in words.

    Raises
    ------
    InvalidParameterError
        If a number is not whole, or not at least 1, or a rate is out of its range.
    """

    one_record_per_person: bool = False
    smallest_leaf: int | None = None
    rounded_to: int | None = None
    unweighted: bool = False
    public_cuts: bool = False
    stated_class: StatedClass | None = None
    n_records: int | None = None
    family: str | None = None
    errors: str | None = None
    learning_rate: float | None = None
    base_rate: float | None = None
    by: str = "the publisher"

    @property
    def cuts_stated_by(self) -> str:
        """Who states that the cut points are public, in words; empty without a statement."""
        return self.by if self.public_cuts else ""

    def __post_init__(self) -> None:
        check_kind("stated_class", self.stated_class, StatedClass | None, "StatedClass or None")
        for name, choices, advice in (("family", tuple(FAMILIES), OF_FAMILIES), ("errors", ERRORS, None)):
            if getattr(self, name) is not None:
                check_choice(getattr(self, name), name, choices, remedy=advice)
        for name, most in (("learning_rate", 1.0), ("base_rate", 0.5)):
            rate = getattr(self, name)
            if rate is not None and not 0 < rate <= most:
                raise InvalidParameterError(
                    f"{parameter(name, rate)} must be above 0 and at most {most:g}.", remedy="Give it, or leave it out."
                )
        for name in ASKED:
            value = getattr(self, name)
            if value is not None and (not is_whole(value) or value < 1):
                raise InvalidParameterError(
                    f"{parameter(name, value)} must be a whole number of at least 1.", remedy=ASKED[name]
                )


def check_kind(name: str, value: object, kind: Any, wanted: str) -> None:
    """Raise InvalidParameterError unless a value is of a type; ``wanted`` says of which."""
    if not isinstance(value, kind):
        raise InvalidParameterError(f"{parameter(name)} must be {wanted}, got {type(value).__name__}.")


NOTHING_STATED = Statements()
