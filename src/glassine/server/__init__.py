"""A service that answers with decisions and explanations, and signed files of releases."""

from __future__ import annotations

from glassine.exports import exports_of

__getattr__, __dir__ = exports_of(__name__, __file__)
