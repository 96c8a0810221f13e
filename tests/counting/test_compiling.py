"""Kernels compile also where nothing can be kept on disk."""

from __future__ import annotations

from typing import Any

import numba
import pytest

from glassine.compiling import compiled


def double(x: int) -> int:
    """Return twice a number."""
    return 2 * x


def test_compiled_functions_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiled(double)(21) == 42
    real = numba.njit

    def without_cache(**options: Any) -> Any:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(numba, "njit", without_cache)
    assert compiled(double)(21) == 42
