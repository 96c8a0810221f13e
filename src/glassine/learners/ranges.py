"""The public range of a target that is a number."""

from __future__ import annotations

from typing import Any

from glassine.domain import Domain, Integer, Real
from glassine.errors import InvalidDataError, InvalidParameterError, parameter
from glassine.learners.budget import check_number

LARGEST_TARGET = 1e280
"""Largest size of a bound of the target: a model's numbers end at 1e300, and noise can make scores leave the range."""


def checked_bounds(bounds: Any, *, widen: bool = False) -> tuple[float, float]:
    """Return a range of a target as two numbers, the lower first; one value is widened if that is asked for."""
    try:
        lo, hi = bounds
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"{parameter('target_range')} must be a lowest and a highest number, got {bounds!r}."
        ) from None
    low = check_number(lo, "the lowest target", low=-LARGEST_TARGET, high=LARGEST_TARGET)
    high = check_number(hi, "the highest target", low=-LARGEST_TARGET, high=LARGEST_TARGET)
    if widen and low == high:
        # A target of one value still needs a range; any will do, as all lies in its middle.
        low, high = low - 0.5, high + 0.5
    if not low < high or not high / 2 - low / 2 > 0:
        raise InvalidParameterError(
            f"{parameter('target_range')} must be (lo, hi) with lo < hi, got {bounds!r}.", remedy="Widen it."
        )
    return low, high


def declared_bounds(domain: Domain | None, name: str) -> tuple[float, float] | None:
    """Return the range of a target that the domain declares; None where it does not."""
    if domain is None or name not in domain:
        return None
    attribute = domain[name]
    if not isinstance(attribute, Integer | Real):
        raise InvalidDataError(
            f"the target {name!r} is not a number in the domain.", remedy="Declare it as Real or Integer."
        )
    if attribute.codes:
        raise InvalidDataError(
            f"the target {name!r} has special codes in the domain, which are no numbers to predict.",
            remedy="Drop the records that hold them, and declare the target without.",
        )
    return checked_bounds((attribute.lo, attribute.hi), widen=True)


def public_range(bounds: Any, domain: Domain, name: str) -> tuple[float, float] | None:
    """Return the range of a target as it was given, or as the domain declares it; None where neither does."""
    return declared_bounds(domain, name) if bounds is None else checked_bounds(bounds)
