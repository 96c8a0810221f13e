"""Compilation of the counting kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numba
import numpy.typing as npt

__all__ = ["AnyArray", "compiled"]

AnyArray: TypeAlias = npt.NDArray[Any]
"""An array of a kernel, which is compiled anew for each type of its numbers; a comment says shape and kind."""


def compiled(function: Callable[..., Any]) -> Any:
    """Return a function compiled at its first call, without the interpreter's lock, and kept on disk where possible.

    Numba refuses to keep a function where neither the package's folder nor the user's cache can be written, as in
    read-only containers; it is then compiled anew in each process.
    """
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)
