"""What a task may cost: seconds of processor time and bytes of memory, asked for before and while it runs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf, isfinite

from glassine.errors import CostLimitError, InvalidParameterError, parameter

SECONDS = 600.0
"""Processor seconds of a task by default: as long as a private fit of a tree may take."""
MEMORY = 4e9
"""Bytes that the records of a task, or its tables, may take by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a task may cost; its processor time counts from when the budget is made.

    Attributes
    ----------
    seconds : float, default=600
        Most processor seconds of the process, above 0.
    memory : float, default=4e9
        Most bytes that the task plans to take, above 0. What libraries take beside it is not counted.

    Raises
    ------
    InvalidParameterError
        If a limit is not above 0.

    Examples
    --------
    >>> with Budget(memory=1e6).applied():
    ...     current().ask_memory(8e6, "the records")
    Traceback (most recent call last):
        ...
    glassine.errors.CostLimitError: the records take 8 MB in memory, more than memory_limit=1 MB. Raise the limit.
    """

    seconds: float = SECONDS
    memory: float = MEMORY
    start: float = field(default_factory=time.process_time, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, value in (("cpu_limit", self.seconds), ("memory_limit", self.memory)):
            if not value > 0:
                raise InvalidParameterError(f"{parameter(name)} must be above 0, got {value!r}.")

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Let :func:`current` return this budget meanwhile."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    def ask_time(self, what: str) -> None:
        """Raise CostLimitError if the processor time is spent; ``what`` is the task in words."""
        if time.process_time() - self.start > self.seconds:
            raise CostLimitError(
                f"{what} takes more than {parameter('cpu_limit=')}{self.seconds:g} s of processor time.",
                remedy="Raise the limit.",
            )

    def ask_memory(self, needed: float, what: str, *, figure: bool = True) -> None:
        """Raise CostLimitError if more bytes are needed than there are; ``what`` takes them, in words.

        Without ``figure`` the error does not say how many are needed.
        """
        if needed > self.memory:
            limit = f"{parameter('memory_limit=')}{human_bytes(self.memory)}"
            taken = f"{human_bytes(needed)} in memory, more than {limit}" if figure else f"more memory than {limit}"
            raise CostLimitError(f"{what} take {taken}.", remedy="Raise the limit.")


UNLIMITED = Budget(seconds=inf, memory=MEMORY)
_CURRENT: ContextVar[Budget] = ContextVar("budget", default=UNLIMITED)


def current() -> Budget:
    """Return the budget of the task that runs: by default its time has no limit."""
    return _CURRENT.get()


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
