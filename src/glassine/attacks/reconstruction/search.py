"""How a search for records may spend time and memory: one value for every reconstruction that solves a system."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from glassine.counting import MAX_STEPS
from glassine.domain import Domain
from glassine.domain.attributes import is_whole
from glassine.errors import InvalidDomainError, InvalidParameterError

__all__ = ["MAX_PARTS", "Search", "check_domain"]

MAX_PARTS = 200_000
"""Parts of the domain that models together may tell apart. Each is a variable of the solver and takes memory."""


def _silently(stage: str) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Limits of a search, and its callback for progress.

    Attributes
    ----------
    time_limit : float, default=60.0
        Seconds for the search and the proofs together.
    workers : int or None
        Threads of the solver; as many as there are processors by default.
    max_parts : int, default=200,000
        Largest number of parts of the domain that the models together may tell apart.
    max_steps : int, default=300,000
        Steps that the exact counts of the parts of rule lists may take.
    progress : callable
        Called with a short text at the beginning of each stage.

    Raises
    ------
    InvalidParameterError
        If the time is not positive and finite, or a limit is not a positive whole number.
    """

    time_limit: float = 60.0
    workers: int | None = None
    max_parts: int = MAX_PARTS
    max_steps: int = MAX_STEPS
    progress: Callable[[str], None] = _silently

    def __post_init__(self) -> None:
        seconds: object = self.time_limit
        number = isinstance(seconds, int | float | np.integer | np.floating) and not isinstance(seconds, bool)
        if not number or not 0 < float(self.time_limit) < math.inf:
            raise InvalidParameterError(
                f"time_limit must be a finite positive number of seconds, got {seconds!r}. Use 60."
            )
        for name in ("workers", "max_parts", "max_steps"):
            value = getattr(self, name)
            if (value is not None or name != "workers") and not (is_whole(value) and value > 0):
                raise InvalidParameterError(f"{name} must be a positive whole number, got {value!r}.")


def check_domain(domain: object) -> None:
    """Raise InvalidDomainError unless it is a domain."""
    if not isinstance(domain, Domain):
        raise InvalidDomainError(
            f"domain must be a Domain, got {type(domain).__name__}. Read one with Domain.from_json."
        )
