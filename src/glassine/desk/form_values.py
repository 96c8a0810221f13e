"""What a request of a page states: texts of it, checked, and plain values by their digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from glassine.errors import RefusedActionError

LONGEST_TEXT = 10_000
"""Characters of a reason, a note, a question or an answer."""


def text_of(asked: Mapping[str, Any], name: str) -> str:
    """Return a text of a request, without spaces around it.

    Raises
    ------
    RefusedActionError
        If it is no text, or too long.
    """
    value = asked.get(name, "")
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise RefusedActionError(f"{name} must be a text of at most {LONGEST_TEXT:,} characters.", field=name)
    # Line breaks and tabs are text; other control characters are none, and lone halves of pairs cannot be written.
    return "".join(char for char in value if char in "\n\t" or (char.isprintable())).strip()


def texts_of(asked: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts of a request by one name: none, one, or several.

    Raises
    ------
    RefusedActionError
        If they are no texts.
    """
    value = asked.get(name)
    several = value if isinstance(value, list) else [] if value is None else [value]
    return [text for one in several if (text := text_of({name: one}, name))]


def digest_of(value: object) -> str:
    """Return the SHA-256 of plain values, hexadecimal."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
