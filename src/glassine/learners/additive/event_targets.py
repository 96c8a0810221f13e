"""Targets that count events: the public objective, and exposures as a declared column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassine.domain import Domain, Integer, Real
from glassine.errors import InvalidParameterError, check_choice, parameter
from glassine.learners.additive.targets import Training
from glassine.sealed.released_bins import Events

OBJECTIVES = ("squared_error", "poisson")

LEAST_EXPOSURE = 1e-9
"""Least exposure relative to the largest: shares of smaller ones round to nothing."""


@dataclass(kw_only=True, eq=False, repr=False)
class CountsEvents:
    """What can be stated of the target of an additive regressor that counts events.

    Notes
    -----
    Guarantee: none; that of the fit.
    """

    objective: str = "squared_error"
    exposure: str | None = None

    def _training(self, training: Training) -> Training:
        """Return what is public of a fit, with the events that its target counts."""
        events = checked_events(self.objective, self.exposure, training)
        if events is None:
            return training
        names = [name for name in training.domain if name != events.exposure]
        if not names:
            raise InvalidParameterError(
                f"{parameter('exposure=')}{self.exposure!r} is the only attribute.",
                remedy="Add an attribute to learn from.",
            )
        return replace(training, domain=training.domain.restrict(names), target=replace(training.target, events=events))


def checked_events(objective: Any, exposure: Any, training: Training) -> Events | None:
    """Return what is public of the events that a target counts; None of a number that counts none.

    Raises
    ------
    InvalidParameterError
        If the objective is unknown, an exposure comes without it, is no number of the domain above 0 or may be
        missing, or if the range of the target does not begin at 0.
    """
    check_choice(objective, "objective", OBJECTIVES)
    if objective == "squared_error":
        if exposure is not None:
            raise InvalidParameterError(
                f"{parameter('exposure=')}{exposure!r} has no effect on {parameter('objective', 'squared_error')}.",
                remedy=f"Use {parameter('objective', 'poisson')}.",
            )
        return None
    low, high = training.target.bounds or (0.0, 0.0)
    if low != 0:
        raise InvalidParameterError(
            f"{parameter('objective', 'poisson')} counts from 0, but the range of the target begins at {low:g}.",
            remedy=f"Pass {parameter('target_range=')}(0, {high:g}).",
        )
    if exposure is None:
        return Events()
    return _exposed(exposure, training.domain)


def _exposed(exposure: Any, domain: Domain) -> Events:
    attribute = domain[exposure] if isinstance(exposure, str) and exposure in domain else None
    if not isinstance(attribute, Integer | Real):
        raise InvalidParameterError(
            f"{parameter('exposure')} must name a number of the domain, got {exposure!r}.",
            remedy="Declare the column with its public range.",
        )
    if not attribute.lo > 0 or attribute.missing or attribute.codes:
        raise InvalidParameterError(
            f"the exposure {exposure!r} must be above 0 for each record, without missing values or special codes.",
            remedy="Declare its least value, such as one day of a year.",
        )
    if attribute.lo < attribute.hi * LEAST_EXPOSURE:
        raise InvalidParameterError(
            f"the least exposure must be at least {LEAST_EXPOSURE:g} of the largest, got {attribute.lo:g} and "
            f"{attribute.hi:g} for {exposure!r}.",
            remedy="Declare a narrower range.",
        )
    return Events(exposure=exposure, low=float(attribute.lo), high=float(attribute.hi))


def without_exposure(features: Mapping[str, Any], training: Training) -> dict[str, Any]:
    """Return the fitted attributes by which scikit-learn knows the columns; a prediction needs no exposure."""
    events = training.target.events
    names = features.get("feature_names_in_")
    if events is None or events.exposure is None or names is None:
        return {}
    kept = np.array([name for name in names if name != events.exposure], dtype=object)
    return {"feature_names_in_": kept, "n_features_in_": len(kept)}
