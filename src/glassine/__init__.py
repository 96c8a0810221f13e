"""Glassine: the privacy of interpretable models."""

from __future__ import annotations

from glassine.exports import exports_of

__version__ = "0.1.0"

__getattr__, __dir__ = exports_of(__name__, __file__)
