"""Compilation of the counting kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, update_wrapper
from hashlib import sha256
from threading import Lock
from typing import Any

STEPS = 150_000
"""Steps that a process interprets. They take about as long as importing Numba and loading kernels: a CPU second."""

LEFT = [STEPS]
"""Steps that are left of these."""

_INTERPRETED: ContextVar[bool] = ContextVar("interpreted", default=False)

_LOADED: ContextVar[bool] = ContextVar("loaded", default=False)


@contextmanager
def loaded() -> Iterator[None]:
    """Run compiled kernels alone meanwhile, say nothing, and keep nothing on disk.

    What a private fit does with its records must not show how many they are: its kernels are loaded beforehand.
    """
    token = _LOADED.set(True)
    try:
        yield
    finally:
        _LOADED.reset(token)


@contextmanager
def interpreted(steps: float) -> Iterator[None]:
    """Interpret the kernels that are called meanwhile, if they take few steps and those before them took few."""
    # The same functions run, and return the same bits. A first small fit compiles nothing; many in one process compile.
    small = not _LOADED.get() and not _INTERPRETED.get() and steps <= LEFT[0]
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
        return self._function(*values) if _INTERPRETED.get() else self.dispatcher(*values)


def _kind(value: Any) -> Any:
    """Return what the type of a value follows from: of an array also how it lies in memory."""
    if isinstance(value, tuple):
        return type(value), tuple(map(_kind, value))
    flags = getattr(value, "flags", None)
    if flags is None:
        return type(value)
    return value.dtype.str, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned


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
            while HEARERS and not _LOADED.get():
                HEARERS.pop()(started.data["dispatcher"].stats.cache_path)

        def on_end(self, ended: object) -> None:
            """Ignore the end."""

    register: Any = event.register
    register("numba:compile", Start())


def _parts(function: Callable[..., Any]) -> list[str]:
    """Return what is compiled into a function: its code, that of the kernels that it calls, and their constants."""
    parts, kernels = list[str](), dict[Kernel, None]()
    reached = [function]
    for one in reached:
        code, names = one.__code__, one.__globals__
        for value in (code.co_code, code.co_consts, *map(names.get, code.co_names)):
            if isinstance(value, Kernel) and value not in kernels:
                kernels[value] = None
                reached.append(value._function)
            else:
                parts.append(repr(value if isinstance(value, bytes | tuple | int | float) else _names(value)))
    return parts


def _names(kind: Any) -> Any:
    """Return the names of a named tuple's fields, given it or Numba's type of it, and of those of its fields."""
    inner = getattr(kind, "types", ())
    return getattr(kind, "_fields", getattr(kind, "fields", ())), [*map(_names, inner)] if inner else []


@cache
def _disk() -> Any:
    """Return Numba's files of compiled functions, made safe: what was compiled of other code is not loaded."""
    from numba.core import caching

    base: Any = caching.FunctionCache

    class Disk(base):  # type: ignore[misc]  # Numba's own is not typed
        def _index_key(self, sig: Any, codegen: Any) -> Any:
            # Numba compares a function's own file alone, and would keep old code of what it calls in others, or places
            # of fields by names that others have now.
            parts = [*_parts(self._py_func), *map(repr, map(_names, getattr(sig, "args", sig)))]
            return (*super()._index_key(sig, codegen), sha256("\n".join(parts).encode()).hexdigest())

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                return super().load_overload(sig, target_context)
            except Exception:
                # Files that are cut off, or name a type that is called otherwise now, hold nothing: what is compiled
                # next replaces them.
                with suppress(OSError):
                    self.flush()
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            # One file for each signature: of two processes that compile at once neither writes into the other's.
            name = f"{self._impl.filename_base}.{sha256(repr(sig).encode()).hexdigest()[:8]}"
            self._cache_file._data_name_pattern = f"{name}.{{number:d}}.nbc"
            if _LOADED.get():
                return
            # A full disk must not end a fit whose budget is charged.
            with suppress(Exception):
                super().save_overload(sig, data)

    return Disk


def _dispatcher(function: Callable[..., Any]) -> Any:
    import numba

    _listen()
    # No C function calls kernels: what would let one takes a fifteenth of the compilation.
    compiling: Any = numba.njit
    dispatcher: Any = compiling(nogil=True, no_cfunc_wrapper=True)(function)
    with suppress(RuntimeError):
        dispatcher._cache = _disk()(function)
    return dispatcher


def compiled(function: Callable[..., Any]) -> Any:
    """Return a function as a kernel, which is compiled at its first call."""
    return Kernel(function)
