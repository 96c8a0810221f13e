"""How PMML spells values, names and texts."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from glassine.domain.attributes import Scalar
from glassine.errors import UnsupportedModelError

__all__ = ["HEAD", "TARGET", "escaped", "field_type", "quoted", "text_of"]

HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
  <Header><Application name="glassine"/></Header>
"""
TARGET = "prediction"


def text_of(value: Scalar) -> str:
    """Return a value as PMML spells it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def quoted(text: str) -> str:
    """Return a text as an attribute, in quotes, or raise UnsupportedModelError where XML cannot hold it."""
    odd = next(
        (c for c in text if (c < " " and c not in "\t\n\r") or "\ud800" <= c <= "\udfff" or c in "\ufffe\uffff"), None
    )
    if odd is not None:
        raise UnsupportedModelError(
            f"the text {text!r:.60} holds the character {odd!r}, which XML has not.", remedy="Rename it."
        )
    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def field_type(values: Sequence[Scalar], what: str) -> str:
    """Return the data type of values of one kind."""
    kinds = {
        bool if isinstance(v, bool) else str if isinstance(v, str) else int if isinstance(v, int) else float
        for v in values
    }
    if kinds <= {str}:
        return "string"
    if kinds == {bool}:
        return "boolean"
    if kinds <= {int, float}:
        return "integer" if kinds == {int} else "double"
    raise UnsupportedModelError(f"{what} of several types, which a field of PMML is not.", remedy="Recode them.")


def escaped(text: str) -> str:
    """Return a text as it stands between tags."""
    quoted(text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
