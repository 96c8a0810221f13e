"""Compiled kernels on disk: Numba's files, made safe."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import cache
from hashlib import sha256
from typing import Any

LOADED: ContextVar[bool] = ContextVar("loaded", default=False)
"""Whether kernels are loaded beforehand, and nothing is kept on disk meanwhile."""


class Traced:
    """What is compiled of a function of Python, which it holds."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function


def _parts(function: Callable[..., Any]) -> list[str]:
    """Return what is compiled into a function: its code, that of the kernels that it calls, and their constants."""
    parts, kernels = list[str](), dict[Traced, None]()
    reached = [function]
    for one in reached:
        code, names = one.__code__, one.__globals__
        for value in (code.co_code, code.co_consts, *map(names.get, code.co_names)):
            if isinstance(value, Traced) and value not in kernels:
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
def files_of_kernels() -> Any:
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
            if LOADED.get():
                return
            # A full disk must not end a fit whose budget is charged.
            with suppress(Exception):
                super().save_overload(sig, data)

    return Disk
