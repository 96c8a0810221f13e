"""Numbers as exact fractions: parameters as the decimals they print as, scores as the values they are."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from fractions import Fraction
from typing import SupportsFloat, TypeAlias

import numpy as np

from glassine.errors import InvalidMechanismError, parameter

Number: TypeAlias = int | float | Fraction | np.integer | np.floating


def _refuse(value: object, name: str, rule: str) -> InvalidMechanismError:
    return InvalidMechanismError(
        f"{parameter(name)} must be {rule}, got {value!r}.", remedy="Give an int, a Fraction or a finite float."
    )


def _is_real(value: object) -> bool:
    # A Boolean is a number to Python, and a mistake here.
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def rational(value: object, name: str) -> Fraction:
    """Return a number as the fraction it is; a float is its binary value, to the last bit."""
    # By type first: to ask an abstract class or a protocol takes ten times as long, and a fit asks thousands of times.
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return Fraction(value)
    if type(value) is Fraction:
        return value
    if _is_real(value):
        if isinstance(value, numbers.Rational):
            return Fraction(int(value.numerator), int(value.denominator))
        if isinstance(value, SupportsFloat) and math.isfinite(number := float(value)):
            return Fraction(number)
    raise _refuse(value, name, "a finite number")


def decimal(value: object, name: str) -> Fraction:
    """Return a number as a fraction; a float is the decimal that it prints as, so that 0.1 is 1/10."""
    if type(value) is float and math.isfinite(value):
        return Fraction(repr(value))
    exact = rational(value, name)
    if not isinstance(value, numbers.Rational) and isinstance(value, SupportsFloat):
        return Fraction(repr(float(value)))
    return exact


def finite_float(value: object, name: str) -> float:
    """Return a finite number as the float nearest to its decimal: a float unchanged."""
    return value if type(value) is float and math.isfinite(value) else float(decimal(value, name))


def positive(value: object, name: str) -> Fraction:
    """Return a positive number as by :func:`decimal`."""
    number = decimal(value, name)
    if not number > 0:
        raise _refuse(value, name, "positive")
    return number


def float_above(value: Fraction) -> float:
    """Return the smallest float that is not below a fraction."""
    try:
        number = float(value)
    except OverflowError:
        raise InvalidMechanismError(
            "a parameter must be below 1.8e308, got a larger one.", remedy="Rescale the data."
        ) from None
    return number if Fraction(number) >= value else math.nextafter(number, math.inf)


def common_denominator(values: Iterable[Fraction]) -> tuple[list[int], int]:
    """Return integers and one denominator that denote the same numbers."""
    listed = list(values)
    denominator = math.lcm(*(value.denominator for value in listed))
    return [value.numerator * (denominator // value.denominator) for value in listed], denominator


def decimal_above(amount: Fraction) -> float:
    """Return a float whose decimal is not below an amount."""
    number = float(amount)
    while decimal(number, "amount") < amount:
        number = math.nextafter(number, math.inf)
    return number


def decimal_below(amount: Fraction) -> float:
    """Return a float whose decimal is not above an amount."""
    number = float(amount)
    while decimal(number, "amount") > amount:
        number = math.nextafter(number, -math.inf)
    return number
