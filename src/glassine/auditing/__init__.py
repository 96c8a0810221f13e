"""Audits: what is measured of a published model, and judged against a policy."""

from __future__ import annotations

from glassine.exports import exports_of

__getattr__, __dir__ = exports_of(__name__, __file__)
