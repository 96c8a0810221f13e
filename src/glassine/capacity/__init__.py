"""Bounds on what any attack gets, on average over people, from a model of few bits."""

from __future__ import annotations

from glassine.exports import exports_of

__getattr__, __dir__ = exports_of(__name__, __file__)
