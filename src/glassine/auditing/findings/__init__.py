"""Findings: what an audit measured, as plain values; aggregates only, small counts suppressed."""

from __future__ import annotations

from glassine.exports import exports_of

__getattr__, __dir__ = exports_of(__name__, __file__)
