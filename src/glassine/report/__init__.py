"""The report: findings as one page of HTML, or as text.

Findings become a :class:`Page` of sections, plain values that hold every word and figure that is shown; one renderer
lays it out as HTML, one as text.
"""

from __future__ import annotations

from glassine.exports import exports_of

__getattr__, __dir__ = exports_of(__name__, __file__)
