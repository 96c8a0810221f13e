"""Plots: models, results, domains and policies as drawings, in notebooks and on axes of matplotlib."""

from __future__ import annotations

from glassine.exports import exports_of

__getattr__, __dir__ = exports_of(__name__, __file__)
