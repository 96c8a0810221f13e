"""Compilation of the counting kernels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import update_wrapper
from threading import Lock
from typing import Any

from glassine.compiling.disk import Traced, files_of_kernels
from glassine.compiling.interpretation import interpreting
from glassine.compiling.listening import listen

CREATION = Lock()
"""Two threads that call a kernel for the first time wait for one compilation, instead of compiling twice."""


class Kernel(Traced):
    """A function that is compiled when it is first called, or when a kernel that calls it is compiled.

    Numba itself is imported no sooner: most commands call no kernel, and it takes longer to import than they run.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._dispatcher: Any = None
        self._loaded: set[Any] = set()
        update_wrapper(self, function)

    @property
    def dispatcher(self) -> Any:
        """Numba's function, which holds no interpreter's lock and is kept on disk where possible."""
        # Numba refuses to keep a function where neither the package's folder nor the user's cache can be written, as in
        # read-only containers; each process then compiles it again.
        if self._dispatcher is None:
            with CREATION:
                if self._dispatcher is None:
                    self._loaded.clear()
                    self._dispatcher = _dispatcher(self._function)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        # What Numba asks a value for whose type it does not know: so one kernel may call another by its name.
        return self.dispatcher._numba_type_

    def load(self, *examples: Any) -> None:
        """Load or compile the function for values of the types of examples, without a call."""
        # Numba takes longer to name the types of a fit's kernels than their draw takes.
        kinds = tuple(map(_kind, examples))
        if self._dispatcher is not None and kinds in self._loaded:
            return
        from numba import typeof

        self.dispatcher.compile(tuple(map(typeof, examples)))
        self._loaded.add(kinds)

    def __call__(self, *values: Any) -> Any:
        """Call the function, compiled or interpreted."""
        return self._function(*values) if interpreting() else self.dispatcher(*values)


def _kind(value: Any) -> Any:
    """Return what the type of a value follows from: of an array also how it lies in memory."""
    if isinstance(value, tuple):
        return type(value), tuple(map(_kind, value))
    flags = getattr(value, "flags", None)
    if flags is None:
        return type(value)
    return value.dtype.str, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned


def _dispatcher(function: Callable[..., Any]) -> Any:
    import numba

    listen()
    # No C function calls kernels: what would let one takes a fifteenth of the compilation.
    compiling: Any = numba.njit
    dispatcher: Any = compiling(nogil=True, no_cfunc_wrapper=True)(function)
    with suppress(RuntimeError):
        dispatcher._cache = files_of_kernels()(function)
    return dispatcher


def compiled(function: Callable[..., Any]) -> Any:
    """Return a function as a kernel, which is compiled at its first call."""
    return Kernel(function)
