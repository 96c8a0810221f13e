"""Compilation of the counting kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, update_wrapper
from threading import Lock
from typing import Any

STEPS = 150_000
"""Steps that a process interprets. They take about as long as importing Numba and loading kernels: a CPU second."""

LEFT = [STEPS]
"""Steps that are left of these."""

_INTERPRETED: ContextVar[bool] = ContextVar("interpreted", default=False)


@contextmanager
def interpreted(steps: float) -> Iterator[None]:
    """Interpret the kernels that are called meanwhile, if they take few steps and those before them took few."""
    # The same functions run, and return the same bits. A first small fit compiles nothing; many in one process compile.
    small = not _INTERPRETED.get() and steps <= LEFT[0]
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


CREATION = Lock()
"""Two threads that call a kernel for the first time wait for one compilation, instead of compiling twice."""


class Kernel:
    """A function that is compiled when it is first called, or when a kernel that calls it is compiled.

    Numba itself is imported no sooner: most commands call no kernel, and it takes longer to import than they run.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._dispatcher: Any = None
        update_wrapper(self, function)

    @property
    def dispatcher(self) -> Any:
        """Numba's function, which holds no interpreter's lock and is kept on disk where possible."""
        # Numba refuses to keep a function where neither the package's folder nor the user's cache can be written, as in
        # read-only containers; each process then compiles it again.
        if self._dispatcher is None:
            with CREATION:
                if self._dispatcher is None:
                    self._dispatcher = _dispatcher(self._function)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        # What Numba asks a value for whose type it does not know: so one kernel may call another by its name.
        return self.dispatcher._numba_type_

    def __call__(self, *values: Any) -> Any:
        """Call the function, compiled or interpreted."""
        return self._function(*values) if _INTERPRETED.get() else self.dispatcher(*values)


HEARERS: list[Callable[[str | None], None]] = []
"""What is called, once, when a kernel is compiled."""


def on_compilation(hear: Callable[[str | None], None]) -> None:
    """Call a function once, before the first kernel is compiled that is not on disk."""
    HEARERS.append(hear)


@cache
def _listen() -> None:
    """Ask Numba for its compilations; what it reads from disk is none."""
    from numba.core import event

    class Start(event.Listener):
        def on_start(self, started: Any) -> None:
            while HEARERS:
                HEARERS.pop()(started.data["dispatcher"].stats.cache_path)

        def on_end(self, ended: object) -> None:
            """Ignore the end."""

    register: Any = event.register
    register("numba:compile", Start())


def _dispatcher(function: Callable[..., Any]) -> Any:
    import numba

    _listen()
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)


def compiled(function: Callable[..., Any]) -> Any:
    """Return a function as a kernel, which is compiled at its first call."""
    return Kernel(function)
