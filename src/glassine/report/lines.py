"""Lines of plain text, none wider than a terminal."""

from __future__ import annotations

import textwrap

__all__ = ["WIDTH", "wrap"]

WIDTH = 88


def wrap(text: str, hang: str = "", first: str | None = None) -> list[str]:
    """Return a text in lines; ``hang`` stands before all but the first, which is indented by two where it hangs."""
    lead = first if first is not None else ("  " if hang else "")
    return textwrap.wrap(text, WIDTH, initial_indent=lead, subsequent_indent=hang, break_on_hyphens=False)
