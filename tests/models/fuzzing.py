"""What fuzz tests share."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from glassine.errors import GlassineError


def read_or_refused(read: Callable[[], object]) -> None:
    """Demand that reading gives a model, or one of our errors in one line."""
    message = ""
    try:
        assert read() is not None
    except GlassineError as error:
        message = str(error)
    assert len(message.splitlines()) <= 1


@st.composite
def damaged(draw: st.DrawFn, text: str) -> str:
    """Return a text with a few pieces replaced."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.text(max_size=3)) + text[at + draw(st.integers(0, 9)) :]
    return text
