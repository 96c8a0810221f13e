"""Kernels that are interpreted while they are small, and kernels that run only if they are loaded beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from glassine.compiling.disk import LOADED

STEPS = 150_000
"""Steps that a process interprets. They take about as long as importing Numba and loading kernels: a CPU second."""

LEFT = [STEPS]
"""Steps that are left of these."""

_INTERPRETED: ContextVar[bool] = ContextVar("interpreted", default=False)


@contextmanager
def loaded() -> Iterator[None]:
    """Run compiled kernels alone meanwhile, say nothing, and keep nothing on disk.

    What a private fit does with its records must not show how many they are: its kernels are loaded beforehand.
    """
    token = LOADED.set(True)
    try:
        yield
    finally:
        LOADED.reset(token)


@contextmanager
def interpreted(steps: float) -> Iterator[None]:
    """Interpret the kernels that are called meanwhile, if they take few steps and those before them took few."""
    # The same functions run, and return the same bits. A first small fit compiles nothing; many in one process compile.
    small = not LOADED.get() and not _INTERPRETED.get() and steps <= LEFT[0]
    if not small:
        yield
        return
    LEFT[0] -= int(steps)
    token = _INTERPRETED.set(True)
    try:
        yield
    finally:
        _INTERPRETED.reset(token)


def interpreting() -> bool:
    """Return whether kernels are interpreted: they hold the interpreter's lock then."""
    return _INTERPRETED.get()
