"""Refusal of classes that are too large to be summed exactly."""

from __future__ import annotations

from math import isfinite, log10

import numpy as np

from glassine.errors import ClassTooLargeError, InvalidParameterError
from glassine.learners.exhaustive.gibbs import LOG_RANGE

__all__ = ["check_size", "human_bytes"]

SECONDS_PER_STEP = 7e-9
"""Time of one choice of one node and class on one core of a 2020s server; the estimate's only constant."""


def human_bytes(size: float) -> str:
    """Return a number of bytes in words; a limit may be infinite."""
    if not isfinite(size):
        return f"{size:g}"
    size = int(size)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000:
            return f"{size} {unit}"
        size //= 1000
    return "far more than 1000 TB"


def check_size(
    what: str,
    ways_out: str,
    *,
    table_bytes: int,
    steps: int,
    memory_limit: float,
    time_limit: float,
    log_range: float = 0.0,
) -> None:
    """Raise ClassTooLargeError if the tables, the steps or the weights of a class exceed the limits.

    Both follow from public quantities alone, so that the refusal tells nothing about the records.
    """
    for name, limit in (("memory_limit", memory_limit), ("time_limit", time_limit)):
        given: object = limit
        if isinstance(given, bool) or not isinstance(given, int | float | np.number):
            raise InvalidParameterError(f"{name} must be a number, got {given!r}.")
    seconds = steps * SECONDS_PER_STEP
    if not log_range <= LOG_RANGE:
        raise ClassTooLargeError(
            f"{what}: the sum of the weights of this class can reach e^{log_range:.0f} or its inverse, beyond what is "
            f"summed exactly (e^{LOG_RANGE:.0f}). {ways_out} A prior weight nearer to 1 helps too.",
            bytes_needed=table_bytes,
            seconds_needed=seconds,
        )
    if table_bytes <= memory_limit and seconds <= time_limit:
        return
    time = f"{seconds:.0f} s" if seconds < 1e6 else f"10^{log10(seconds):.0f} s"
    raise ClassTooLargeError(
        f"{what}: summing this class needs {human_bytes(table_bytes)} and about {time} on one core, the limits are "
        f"memory_limit={human_bytes(memory_limit)} and time_limit={time_limit:g} s. {ways_out}",
        bytes_needed=table_bytes,
        seconds_needed=seconds,
    )
