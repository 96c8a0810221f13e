"""Disclosure of a sensitive attribute by a published decision tree that predicts it."""

from __future__ import annotations

from glassine.exports import exports_of

__getattr__, __dir__ = exports_of(__name__, __file__)
