"""How figures and names are worded: never more digits than a reader needs, never a character that breaks the page."""

from __future__ import annotations

import math
import unicodedata

__all__ = ["amount", "bits", "candidates", "clean", "percent", "plural", "shorten"]

# Overrides of the direction of writing, which could reorder the text around a name.
_DIRECTIONS = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}


def clean(text: str) -> str:
    """Return a name with control characters, lone surrogates and direction overrides made visible as U+FFFD."""
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") or c in _DIRECTIONS else c for c in text)


def shorten(text: str, width: int) -> str:
    """Return the text cut to at most ``width`` characters, an ellipsis at its end if it was cut."""
    return text if len(text) <= width else text[: max(width - 1, 0)].rstrip() + "…"


def plural(count: int, noun: str) -> str:
    """Return ``1 leaf``, ``2 leaves``, ``1,000 records``."""
    many = f"{noun[:-1]}ves" if noun.endswith("leaf") else f"{noun}es" if noun.endswith("ss") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"


def percent(share: float, *, digits: int = 0) -> str:
    """Return a share as a percentage; only an exact 0 or 1 reads as 0% or 100%."""
    if not math.isfinite(share):
        return "not known"
    step = 10.0**-digits
    shown = round(share * 100, digits)
    if share > 0 and shown <= 0:
        return f"under {step:g}%"
    if share < 1 and shown >= 100:
        return f"over {100 - step:g}%"
    return f"{shown:.{digits}f}%"


def bits(value: float | None, *, beyond: float | None = None) -> str:
    """Return bits to one decimal, to more where that is needed to tell them from the limit ``beyond``."""
    if value is None or not math.isfinite(value):
        return "not known"
    value = 0.0 if abs(value) < 0.05 else value
    digits = 1
    while beyond is not None and digits < 6 and (round(value, digits) > beyond) != (value > beyond):
        digits += 1
    return f"{value:,.{digits}f}"


def amount(value: float) -> str:
    """Return a large quantity to three significant digits."""
    if abs(value) < 100:
        return f"{value:.1f}"
    exponent = math.floor(math.log10(abs(value))) - 2
    return f"{round(value, -exponent):,.0f}"


def candidates(value: float) -> str:
    """Return how far ``value`` bits narrow the possible records down: ``1 in 8``, ``1 in 1,020``, ``1 in 2^64``."""
    if value >= 40:
        return f"1 in 2^{value:.0f}"
    count = 2.0 ** max(value, 0.0)
    if count >= 100:
        return f"1 in {amount(count)}"
    return f"1 in {count:.0f}" if count >= 10 else f"1 in {count:.1f}".removesuffix(".0")
