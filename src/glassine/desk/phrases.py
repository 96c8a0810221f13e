"""Words of the desk that no template has, such as those of statuses and events: ``texts.toml`` is their only home."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files

PLACE = re.compile(r"\{(\d+)\}")
"""Where a value stands in a text."""
PHRASES: Mapping[str, Mapping[str, str]] = tomllib.loads(
    files("glassine.desk").joinpath("texts.toml").read_text(encoding="utf-8")
)
"""The words, by what they are of and by name."""


def filled(text: str, *values: object) -> str:
    """Return a text with its values.

    Examples
    --------
    >>> filled("{2} of {1}", 3, 1)
    '1 of 3'
    """
    return PLACE.sub(lambda match: str(values[int(match[1]) - 1]), text)
