"""Plain values as Python source."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable

from glassine.domain.attributes import Scalar
from glassine.errors import UnsupportedModelError

__all__ = ["source", "tuple_source"]


def source(value: object) -> str:
    """Return the value as Python source of ASCII characters, by its plain type: no object's own ``repr`` is trusted."""
    if value is None:
        return "None"
    if isinstance(value, str):
        return ascii("".join(value))  # of a subclass, too, the characters
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "True" if value else "False"
    if isinstance(value, numbers.Integral):
        return int.__repr__(int(value))
    if isinstance(value, numbers.Real):
        plain = float(value)
        if not math.isfinite(plain):
            return f'float("{plain}")'
        return str(int(plain)) if plain.is_integer() and abs(plain) < 1e15 else float.__repr__(plain)
    raise UnsupportedModelError(f"Python source holds texts, numbers and Booleans, got {value!r}. Recode it.")


def tuple_source(values: Iterable[Scalar | None]) -> str:
    """Return values as the source of a tuple."""
    sources = [source(value) for value in values]
    return f"({', '.join(sources)}{',' if len(sources) == 1 else ''})"
