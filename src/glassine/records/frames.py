"""Polars, imported when something of it is first used: reading a model needs none of it, and it takes 20 MB."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import polars

    value = globals()[name] = getattr(polars, name)
    return value
