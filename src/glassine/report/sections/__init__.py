"""One function for each kind of finding: it returns what a report says of it, as a section."""

from __future__ import annotations

from glassine.exports import exports_of

__getattr__, __dir__ = exports_of(__name__, __file__)
