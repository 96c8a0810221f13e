"""Effects of a regression: powers of numbers and equalities with categories, with their coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from glassine.domain import Binary, Domain, Integer, Real
from glassine.domain.attributes import Attribute, Scalar, is_scalar
from glassine.errors import InvalidModelError
from glassine.models.terms import LARGEST_SCORE, finite_array


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """A number to some power.

    Attributes
    ----------
    attribute : str
        The attribute; a column that a formula computes has the formula as its name.
    exponent : float
        The power.
    missing : float or None
        The value that replaces a missing one; without it, a record that lacks it has no prediction.
    """

    attribute: str
    exponent: float = 1.0
    missing: float | None = None

    @property
    def label(self) -> str:
        """Text of the factor."""
        return self.attribute if self.exponent == 1 else f"{self.attribute}^{self.exponent:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Equal:
    """A column of 0/1: 1 where an attribute has a value.

    Attributes
    ----------
    attribute : str
        The attribute.
    value : scalar or None
        The value; None stands for a missing one.
    """

    attribute: str
    value: Scalar | None

    @property
    def label(self) -> str:
        """Text of the factor."""
        return f"{self.attribute} = {'missing' if self.value is None else self.value}"


Factor: TypeAlias = Power | Equal


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A column of the design: a product of factors, with its coefficient for each output.

    Attributes
    ----------
    name : str
        The name, as the table prints it.
    factors : tuple of Power or Equal
        What is multiplied, at least one.
    coefficients : tuple of float
        One per output.
    errors : tuple of float or None
        Standard errors, one per output.
    rounding : float
        How far each printed error may be from the computed one: half of its last digit.
    """

    name: str
    factors: tuple[Factor, ...]
    coefficients: tuple[float, ...]
    errors: tuple[float, ...] | None = None
    rounding: float = 0.0

    def __post_init__(self) -> None:
        name: object = self.name
        if not isinstance(name, str) or not name:
            raise InvalidModelError(f"a column of a regression needs a name, got {self.name!r}.")
        if not self.factors or not all(isinstance(factor, Power | Equal) for factor in self.factors):
            raise InvalidModelError(f"column {self.name!r:.60} needs factors, each a power or an equality.")
        for factor in self.factors:
            numbers = () if isinstance(factor, Equal) else (factor.exponent, factor.missing or 0.0)
            if not all(abs(number) <= LARGEST_SCORE for number in numbers):
                raise InvalidModelError(f"the powers of column {self.name!r:.60} must be finite.")
            if isinstance(factor, Equal) and factor.value is not None and not is_scalar(factor.value):
                raise InvalidModelError(f"column {self.name!r:.60} compares with {factor.value!r:.60}, no value.")
        what = f"of column {self.name!r:.60}"
        object.__setattr__(self, "coefficients", numbers_of(self.coefficients, f"the coefficients {what}"))
        if self.errors is not None:
            errors = numbers_of(self.errors, f"the errors {what}")
            if len(errors) != len(self.coefficients) or not min(errors, default=0) >= 0:
                raise InvalidModelError(f"the errors {what} must be at least 0, one per coefficient.")
            object.__setattr__(self, "errors", errors)
        if not 0 <= self.rounding <= LARGEST_SCORE:
            raise InvalidModelError(f"the rounding {what} must be at least 0, got {self.rounding!r}.")

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that it reads."""
        return tuple(dict.fromkeys(factor.attribute for factor in self.factors))

    def is_indicator(self, domain: Domain | None = None) -> bool:
        """Return whether the file, or the domain, says that the column is of 0/1, or of two numbers: another unit."""
        declared = [_declared(factor, domain) for factor in self.factors]
        if len(declared) == 1 and isinstance(declared[0], Integer | Real):
            return has_two_values(declared[0])
        return all(
            isinstance(factor, Equal) or isinstance(attribute, Binary)
            for factor, attribute in zip(self.factors, declared, strict=True)
        )


def has_two_values(attribute: Attribute | None) -> bool:
    """Return whether an attribute is declared as a number of two values, a missing one aside."""
    return (
        isinstance(attribute, Integer | Real) and attribute.size is not None and attribute.size - attribute.missing == 2
    )


def _declared(factor: Factor, domain: Domain | None) -> Attribute | None:
    return domain[factor.attribute] if domain is not None and factor.attribute in domain else None


def numbers_of(values: object, what: str) -> tuple[float, ...]:
    """Return a list of finite numbers as a tuple."""
    array = finite_array(values, what)
    if array.ndim != 1:
        raise InvalidModelError(f"{what} must be a list of numbers.")
    return tuple(array.tolist())
