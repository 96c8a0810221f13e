"""The desk: people check, ask, vote, sign and release in a browser; what they decide is a chained log.

The process that serves the browser imports neither readers of models nor estimators: every file is audited by another
process, whose memory and time are limited.
"""

from __future__ import annotations

from glassine.exports import exports_of

__getattr__, __dir__ = exports_of(__name__, __file__)
